"""The mechanism of the cube: beliefs over four options, and what views and layouts make of them.

Invariant: what layouts add to a cell sums to zero but for noise, and no draw is from a normal model
of cells with stratum means. Pinned by `tests/test_retrieval_cube.py`
(`test_truth_is_the_scores_without_layout_effects`,
`test_omega_is_heavy_tailed_and_negative_through_magnitudes`).
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate import layouts
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import NEI, Latents, draw_targets
from fourcorner.simulate.study import UNITS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VIEWS = ("empty", "quote", "generated")
AUTHORITIES = ("neutral", "evidence_primary")

BEFORE, AFTER = range(2)
EMPTY, QUOTE, GENERATED = range(3)
NEUTRAL, PRIMARY = range(2)


def draw_cells(
    latent_rng: np.random.Generator, belief_rng: np.random.Generator
) -> tuple[Floats, Latents]:
    """Draw noise-free margins of all cells, (n, state, view, authority) in nats, and latents."""
    latents = _draw_latents(latent_rng)
    # share of the view credited after retrieval when the evidence is primary
    advisory = latent_rng.beta(6.0, 2.0, UNITS)
    return margins(_option_scores(latents, advisory, belief_rng), latents.target), latents


def _draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, evidence and assertions; strata and evidence counts are fixed."""
    target, found = draw_targets(rng)
    rival = (target + rng.integers(1, 4, UNITS)) % 4
    # where the target is no plain answer, a view that asserts one mostly gets it wrong
    right = np.where(target < 2, 0.9, np.where(target == NEI, 0.0, 0.3))
    asserted = np.where(rng.random(UNITS) < right, target, rival)
    favoured = np.where(rng.random(UNITS) < np.where(target == NEI, 0.2, 0.9), target, rival)
    asserts = rng.random(UNITS) < 0.48
    return Latents(
        target=target,
        found=found,
        favoured=favoured,
        evidence=np.where(found, rng.lognormal(0.8, 0.55, UNITS), 0.0),
        asserts=asserts,
        asserted=asserted,
        assertion=np.where(asserts, rng.lognormal(1.6, 0.65, UNITS), 0.0),
        kept=rng.beta(2.0, 2.0, UNITS),
    )


def _option_scores(latents: Latents, advisory: Floats, rng: np.random.Generator) -> Floats:
    """Score every option in every cell: (n, state, view, authority, option), nats."""
    n = latents.target.size
    scores = np.zeros((n, 2, 3, 2, 4))
    scores += 0.7 * rng.standard_t(4, (n, 1, 1, 1, 4))
    scores += 0.15 * rng.standard_t(4, (n, 2, 3, 2, 4))
    scores[..., NEI] += _default_answer(latents, rng)[:, :, None, None]
    credit(scores[:, AFTER], latents.favoured, _credited_evidence(latents, rng))
    echo = rng.gamma(0.6, 1.0, n)[:, None]  # the quoted question already sounds like an answer
    for state, echoed in ((BEFORE, 1.0), (AFTER, 0.4)):
        credit(scores[:, state, QUOTE], latents.target, echoed * echo)
        asserted = _credited_assertion(latents, advisory, state)
        credit(scores[:, state, GENERATED], latents.asserted, asserted)
    return scores


def _default_answer(latents: Latents, rng: np.random.Generator) -> Floats:
    """Pull towards "not enough information", (n, state): it gives way where evidence is found."""
    pull = rng.gamma(4.0, 0.35, latents.target.size)
    after = np.where(latents.found, 0.35, 0.95) * pull
    return np.stack([pull, after], axis=1)


def _credited_evidence(latents: Latents, rng: np.random.Generator) -> Floats:
    """Strength with which found evidence counts in each view: (n, view, 1)."""
    n = latents.target.size
    quoted = rng.beta(8.0, 1.5, n)
    # a view that has already answered passes little of the evidence on
    passed_on = np.where(latents.asserts, rng.beta(2.0, 5.0, n), rng.uniform(0.5, 1.5, n))
    shares = np.stack([np.ones(n), quoted, passed_on], axis=1)
    return (latents.evidence[:, None] * shares)[..., None]


def _credited_assertion(latents: Latents, advisory: Floats, state: int) -> Floats:
    """Strength with which the generated view's assertion counts in a state: (n, authority)."""
    if state == BEFORE:
        return latents.assertion[:, None]
    kept = latents.assertion * latents.kept
    return np.stack([kept, kept * advisory], axis=1)


def layout_effects(cells: Floats, rng: np.random.Generator) -> Floats:
    """Offsets and noise that the layouts add: (n, state, view, authority, layout), nats.

    Offsets sum to zero over the layouts of a cell; noise does not.
    """
    by_state = np.array([1.0, 0.4])[:, None, None]
    by_view = np.array([0.6, 0.8, 2.0])[:, None]
    return layouts.layout_effects(cells, by_state * by_view, rng)


def draw_success(cells: Floats, latents: Latents, rng: np.random.Generator) -> Bools:
    """Success goes with grounded after-margins, and against what a view merely asserts."""
    grounded = cells[:, AFTER, [EMPTY, QUOTE], NEUTRAL].mean(axis=1)
    logit = 0.9 + 0.3 * (grounded - grounded.mean()) - 0.6 * latents.assertion * latents.kept
    return rng.random(logit.size) < 1 / (1 + np.exp(-logit))
