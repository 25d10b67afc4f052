"""The mechanism of the controls: whose view is shown, in which order and under which rule.

Invariant: no draw is from a normal model of cells with stratum means; tasks, and so donors, are
drawn apart from beliefs. Pinned by `tests/test_controls.py`
(`test_shifts_are_heavy_tailed_and_skewed`, `test_donors_are_those_of_the_tasks`).
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.donors import match_donors
from fourcorner.simulate import layouts
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import NEI, Latents
from fourcorner.simulate.retrieval_face.mechanism import OPTIONS, default_answer
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS
from fourcorner.simulate.tables import ids

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CONTROLS = ("own", "donor", "state_last", "evidence_primary")
OWN, DONOR, LAST, PRIMARY = range(4)
BEFORE, AFTER = range(2)

FAMILIES = {
    "treatment": 24,
    "mechanism": 20,
    "risk_factor": 17,
    "diagnosis": 14,
    "prognosis": 11,
    "prevention": 8,
    "genetics": 6,
}
"""Trajectories of each task family."""

LONGEST_VIEW = 95
"""Words that 128 tokens hold."""

INCOMPLETE = 4


def draw_tasks(found: Bools, rng: np.random.Generator) -> pd.DataFrame:
    """Draw families and words, and match donors: one row for each trajectory, in order.

    Words are those of the view made before retrieval and of the one made after it together; where
    evidence is found there is more to say after it.
    """
    family = rng.permutation(np.repeat(list(FAMILIES), list(FAMILIES.values())))
    before = LONGEST_VIEW * rng.beta(6.0, 3.0, UNITS)
    after = LONGEST_VIEW * rng.beta(np.where(found, 9.0, 6.0), 3.0)
    tasks = pd.DataFrame(
        {
            "trajectory": ids("t", UNITS, 3, first=1),
            "task_family": family.astype(object),
            "words": np.rint(before + after).astype(np.int64),
        }
    )
    donor = match_donors(tasks, unit="trajectory", family="task_family", words="words")
    return tasks.assign(donor=donor)


def draw_cells(latents: Latents, donor: Ints, rng: np.random.Generator) -> Floats:
    """Draw noise-free margins of all cells: (n, state, control), nats.

    Parameters
    ----------
    latents : Latents
    donor : ndarray of shape (n,)
        Position of each trajectory's donor.
    rng : numpy.random.Generator
    """
    scores = np.zeros((UNITS, len(STATES), len(CONTROLS), OPTIONS))
    scores += 0.7 * rng.standard_t(4, (UNITS, 1, 1, OPTIONS))
    scores += 0.15 * rng.standard_t(4, scores.shape)
    scores[..., NEI] += default_answer(latents, rng)[..., None]

    asserted = np.stack([latents.assertion, latents.assertion * latents.kept], axis=1)
    believed = np.ones((UNITS, len(CONTROLS)))
    believed[:, LAST] = rng.lognormal(0.04, 0.3, UNITS)
    believed[:, PRIMARY] = rng.beta(1.5, 5.0, UNITS)
    own = asserted[:, :, None] * believed[:, None]
    own[:, :, DONOR] = 0.0
    credit(scores, latents.asserted, own)
    # an answer to another question sounds a little like one to this
    doubted = rng.beta(1.2, 10.0, UNITS)[:, None]
    credit(scores[:, :, DONOR], latents.asserted[donor], asserted[donor] * doubted)

    credit(scores[:, AFTER], latents.favoured, latents.evidence[:, None] * _heeded(latents, rng))
    return margins(scores, latents.target)


def _heeded(latents: Latents, rng: np.random.Generator) -> Floats:
    """Share of the evidence that counts beside each view: (n, control)."""
    # beside a view that has already answered, evidence hardly counts
    dulled = np.where(latents.asserts, rng.beta(2.0, 6.0, UNITS), rng.uniform(0.5, 1.0, UNITS))
    restored = rng.beta(4.0, 2.0, UNITS)
    primary = dulled + (1 - dulled) * restored
    last = dulled ** rng.lognormal(-0.05, 0.2, UNITS)
    return np.stack([dulled, rng.beta(5.0, 3.0, UNITS), last, primary], axis=1)


def layout_effects(cells: Floats, rng: np.random.Generator) -> Floats:
    """Offsets and noise that the layouts add: (n, state, control, layout), nats."""
    by_state = np.array([1.0, 0.5])[:, None]
    by_control = np.array([1.2, 1.0, 1.4, 0.7])
    return layouts.layout_effects(cells, by_state * by_control, rng)


def draw_missing(rng: np.random.Generator) -> Bools:
    """Draw which scores are missing: (n, state, control, layout), apart from what any score is.

    Four trajectories lack one own-view score, two of them before and two after; three of these lack
    one score under another control too, each under another one.
    """
    unit = rng.permutation(UNITS)[:INCOMPLETE]
    state = rng.permutation([BEFORE, BEFORE, AFTER, AFTER])
    missing = np.zeros((UNITS, len(STATES), len(CONTROLS), len(LAYOUTS)), dtype=bool)
    missing[unit, state, OWN, rng.integers(len(LAYOUTS), size=INCOMPLETE)] = True
    others = np.array([DONOR, LAST, PRIMARY])
    place = rng.integers([len(STATES), len(LAYOUTS)], size=(others.size, 2))
    missing[unit[1:], place[:, 0], others, place[:, 1]] = True
    return missing
