"""Seeded generators of synthetic cohorts with known truth, one package per cohort.

Each has a `mechanism`, a `calibration` to published figures and a `cohort`, its tables; what they
share stands beside them.

`COHORTS` lists, for each bundled cohort, a function that gives its files by name, each a
text or bytes.
"""

from collections.abc import Callable

from fourcorner.simulate import (
    bridge,
    controls,
    global_replay,
    protocol,
    retrieval_cube,
    retrieval_face,
    source_contract,
)

COHORTS: tuple[Callable[[], dict[str, str | bytes]], ...] = (
    retrieval_face.files,
    retrieval_cube.files,
    controls.files,
    bridge.files,
    source_contract.files,
    global_replay.files,
    protocol.files,
)
