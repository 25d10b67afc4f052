"""The mechanism of the face: what a state says by itself, and beside either frozen view.

Invariant: no draw is from a normal model of cells with stratum means, and what layouts add to a
cell sums to zero but for noise. Pinned by `tests/test_retrieval_face.py`
(`test_shares_are_heavy_tailed_and_skewed`, `test_layout_offsets_sum_to_zero_but_for_noise`).
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate import layouts
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import NEI, Latents, draw_targets
from fourcorner.simulate.study import STATES, UNITS

Floats = NDArray[np.float64]

VIEWS = ("direct", "from_before", "from_after")
"""No view; the view made from the state before retrieval; the one made from the state after it."""

BEFORE, AFTER = range(2)
DIRECT, FROM_BEFORE, FROM_AFTER = range(3)
OPTIONS = 4


def draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, evidence and assertions; strata and evidence counts are fixed."""
    target, found = draw_targets(rng)
    rival = (target + rng.integers(1, OPTIONS, UNITS)) % OPTIONS
    # where the target is no plain answer, a view that asserts one mostly gets it wrong
    right = np.where(target < 2, 0.85, np.where(target == NEI, 0.0, 0.3))
    asserts = rng.random(UNITS) < 0.85
    asserted = np.where(rng.random(UNITS) < right, target, rival)
    favoured = np.where(rng.random(UNITS) < np.where(target == NEI, 0.2, 0.9), target, rival)
    return Latents(
        target=target,
        found=found,
        favoured=favoured,
        evidence=np.where(found, rng.lognormal(1.3, 0.5, UNITS), 0.0),
        asserts=asserts,
        asserted=asserted,
        assertion=np.where(asserts, rng.lognormal(1.45, 0.5, UNITS), 0.0),
        kept=rng.beta(2.0, 3.0, UNITS),
    )


def default_answer(latents: Latents, rng: np.random.Generator) -> Floats:
    """Pull towards "not enough information", (n, state): it gives way where evidence is found."""
    pull = rng.gamma(4.0, 0.3, UNITS)
    return np.stack([pull, np.where(latents.found, 0.35, 0.95) * pull], axis=1)


def draw_cells(latents: Latents, rng: np.random.Generator) -> Floats:
    """Draw noise-free margins of all cells: (n, state, view), nats."""
    scores = np.zeros((UNITS, len(STATES), len(VIEWS), OPTIONS))
    scores += 0.7 * rng.standard_t(4, (UNITS, 1, 1, OPTIONS))
    # a state's wording counts whatever it holds, and much the same beside every view
    scores += 0.4 * rng.standard_t(4, (UNITS, len(STATES), 1, OPTIONS))
    scores += 0.15 * rng.standard_t(4, scores.shape)
    pull = default_answer(latents, rng)
    scores[:, :, DIRECT, NEI] += pull
    # beside a view the default answer gives way less, whatever the state holds
    scores[:, :, FROM_BEFORE:, NEI] += (0.6 * pull[:, :1] + 0.4 * pull)[..., None]
    # a state is read in full by itself, and beside a view that has answered only a little
    heeded = np.where(latents.asserts, rng.beta(1.0, 8.0, UNITS), rng.uniform(0.1, 0.6, UNITS))
    credit(scores[:, AFTER, DIRECT], latents.favoured, latents.evidence)
    # and a little more beside the view that tells of the same evidence
    echoed = heeded + (1 - heeded) * rng.beta(1.0, 6.0, UNITS)
    beside = latents.evidence[:, None] * np.stack([heeded, echoed], axis=1)
    credit(scores[:, AFTER, FROM_BEFORE:], latents.favoured, beside)
    # what the views say themselves, beside whichever state
    told = latents.evidence * rng.beta(2.0, 5.0, UNITS)
    kept = latents.assertion * latents.kept
    credit(scores[:, :, FROM_BEFORE], latents.asserted, latents.assertion[:, None])
    credit(scores[:, :, FROM_AFTER], latents.asserted, kept[:, None])
    credit(scores[:, :, FROM_AFTER], latents.favoured, told[:, None])
    return margins(scores, latents.target)


def layout_effects(cells: Floats, rng: np.random.Generator) -> Floats:
    """Offsets and noise that the layouts add: (n, state, view, layout), nats."""
    by_state = np.array([1.0, 0.5])[:, None]
    by_view = np.array([0.5, 1.2, 1.2])
    return layouts.layout_effects(cells, by_state * by_view, rng)
