"""Retrieval in the cohorts that have one: evidence that is found or not, a view that asserts.

Invariant: how many trajectories of each target find evidence is fixed; where they stand is drawn.
Pinned by `tests/test_simulate.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.study import STRATUM_SIZES, UNITS
from fourcorner.simulate.tables import rounded

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

TARGETS = ("supported", "refuted", "mixed", "not_enough_information")
NEI = TARGETS.index("not_enough_information")
EVIDENCE_FOUND = (34, 25, 4, 2)
"""Trajectories per target whose retrieval finds evidence: 65 in all."""


class Latents(NamedTuple):
    """What the mechanism draws for each of the n trajectories."""

    target: Ints
    """Index into TARGETS, and of the target among the options."""
    found: Bools
    """Retrieval finds evidence."""
    favoured: Ints
    """Option that the evidence favours."""
    evidence: Floats
    """Strength of the evidence, nats; 0 where none is found."""
    asserts: Bools
    """The generated view asserts an answer before retrieval."""
    asserted: Ints
    """Option that it asserts."""
    assertion: Floats
    """Strength of the assertion, nats; 0 where there is none."""
    kept: Floats
    """Share of the assertion that outlives retrieval."""


def draw_targets(rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Spread the strata, each with its count of found evidence, over the trajectories."""
    sizes = zip(STRATUM_SIZES, EVIDENCE_FOUND, strict=True)
    found = np.concatenate([np.arange(size) < hits for size, hits in sizes])
    target = np.repeat(np.arange(len(TARGETS), dtype=np.int64), STRATUM_SIZES)
    order = rng.permutation(UNITS)
    return target[order], found[order]


def columns(latents: Latents, options: Sequence[str]) -> dict[str, NDArray[np.generic]]:
    """Columns of the truth that tell of evidence and assertion, a value for each trajectory."""
    words = np.array(options, dtype=object)
    return {
        "evidence_found": latents.found,
        "evidence_favours": np.where(latents.found, words[latents.favoured], "nothing"),
        "evidence_strength": rounded(latents.evidence),
        "view_asserts": np.where(latents.asserts, words[latents.asserted], "nothing"),
        "assertion_strength": rounded(latents.assertion),
    }
