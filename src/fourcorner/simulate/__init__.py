"""Seeded generators of synthetic cohorts with known truth, one module per cohort.

`COHORTS` lists, for each bundled cohort, a function that gives its files by name, each a
text or bytes.
"""

from collections.abc import Callable

from fourcorner.simulate import global_replay, protocol, retrieval_cube

COHORTS: tuple[Callable[[], dict[str, str | bytes]], ...] = (
    retrieval_cube.files,
    global_replay.files,
    protocol.files,
)
