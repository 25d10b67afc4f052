"""Seeded generators of synthetic cohorts with known truth, one module per cohort.

`COHORTS` lists, for each bundled cohort, a function that gives its files as texts by name.
"""

from collections.abc import Callable

from fourcorner.simulate import retrieval_cube

COHORTS: tuple[Callable[[], dict[str, str]], ...] = (retrieval_cube.files,)
