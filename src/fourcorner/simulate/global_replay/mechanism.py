"""The mechanism of the global replay: states and how they are scored, before any calibration.

An evaluator scores four options at each of the 12 endpoints of a workflow, from the state alone
(direct) or beside a generated view of it. Retrieval, read in part and in full after extraction,
finds evidence or does not; the generated view asserts an answer from the start and mostly gives it
up when something was read. Between endpoints the support for the target wanders in each view, in
Weibull steps up or down of which a part is taken back. A margin is the target's score minus its
nearest rival's. Four cyclic layouts favour their positions unequally, in the generated view ever
more so; sessions differ a little in what they make of a state, and retries by a little noise.

Invariant: position effects and layout slopes cancel in scores averaged over layouts, and no draw is
from a normal model of cells, gains or signs. Pinned by ``tests/test_global_replay.py``
(``test_positions_cancel_over_layouts``).
"""

import math

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.options import credit
from fourcorner.simulate.retrieval import NEI, Latents, draw_targets
from fourcorner.simulate.study import LAYOUTS, UNITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CANDIDATES = ("answer-a", "answer-b", "answer-c", "answer-d")
"""The candidate that is the target, in the order of TARGETS; the last is "none of the above"."""
STEPS = (
    *("classification", "planning", "planning", "retrieval", "extraction", "drafting"),
    *("audit", "revision", "audit", "revision", "finalization"),
)
VIEWS = ("direct", "generated")
WAVES = ("w0", "w1", "w2")
SESSIONS = ("first", "retry", "retry")
ENDPOINTS = len(STEPS) + 1
OPTIONS = len(CANDIDATES)

RETRIEVAL = STEPS.index("retrieval")
READ = np.arange(ENDPOINTS) > RETRIEVAL
"""Endpoints after retrieval."""
DIRECT, GENERATED = range(2)

_EXTRACTED = np.arange(ENDPOINTS) > RETRIEVAL + 1


def draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, evidence and assertions; strata and evidence counts are fixed."""
    target, found = draw_targets(rng)
    rival = (target + rng.integers(1, OPTIONS, UNITS)) % OPTIONS
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
        assertion=np.where(asserts, rng.lognormal(1.65, 0.45, UNITS), 0.0),
        kept=rng.beta(2.0, 3.0, UNITS),
    )


def option_scores(latents: Latents, rng: np.random.Generator) -> Floats:
    """Score every option of every endpoint, noise-free: (n, endpoint, view, option), nats."""
    scores = np.zeros((UNITS, ENDPOINTS, len(VIEWS), OPTIONS))
    scores += 0.7 * rng.standard_t(4, (UNITS, 1, 1, OPTIONS))
    scores += 0.03 * rng.standard_t(5, scores.shape)
    pull = rng.gamma(4.0, 0.3, UNITS)[:, None]  # "not enough information" is the default answer
    share = np.where(latents.found, 0.35, 0.95)[:, None]  # and gives way where evidence is found
    scores[..., NEI] += (np.where(READ, share, 1.0) * pull)[..., None]

    read = np.where(_EXTRACTED, 1.0, np.where(READ, 0.85, 0.0))
    # a view that has already answered passes little of the evidence on
    passed = np.where(latents.asserts, rng.beta(2.0, 5.0, UNITS), rng.uniform(0.5, 1.2, UNITS))
    wander = _support(rng)
    for view, share in enumerate((np.ones(UNITS), passed)):
        seen = (latents.evidence * share)[:, None] * read
        credit(scores[:, :, view], latents.favoured, seen)
        credit(scores[:, :, view], latents.target, wander[..., view])
    asserted = latents.assertion[:, None] * (1 - (1 - latents.kept)[:, None] * read)
    credit(scores[:, :, GENERATED], latents.asserted, asserted)
    return scores


def _support(rng: np.random.Generator) -> Floats:
    """Support for the target that moves between endpoints: (n, endpoint, view).

    Steps go down more often in the direct reading, up more often in the generated view, which also
    takes over a fifth of what moves the direct one; retrieval apart, the one fades and the other
    grows firmer.
    """
    direct, generated = _wander(rng, 0.36, up=0.42), _wander(rng, 0.45, up=0.525)
    trend = np.arange(ENDPOINTS) - READ
    return np.stack([direct - 0.05 * trend, generated + 0.2 * direct + 0.045 * trend], axis=-1)


def _wander(rng: np.random.Generator, size: float, up: float) -> Floats:
    """Steps up with probability `up`, each a quarter taken back at the next: (n, endpoint).

    Their sizes are Weibull with mean `size`, so very small ones are rare; the direction that is
    taken less often is taken further, so that they come to nothing on average.
    """
    shape = (UNITS, ENDPOINTS)
    direction = np.where(rng.random(shape) < up, 0.5 / up, -0.5 / (1 - up))
    moved = direction * size / math.gamma(1 + 1 / 3.2) * rng.weibull(3.2, shape)
    for endpoint in range(1, ENDPOINTS):
        moved[:, endpoint] += 0.75 * moved[:, endpoint - 1]
    return moved


def acquisition(rng: np.random.Generator) -> Floats:
    """What sessions, waves and layouts add: (n, endpoint, view, wave, layout, option), nats.

    A layout shows option c at position c + layout, so what positions add cancels over layouts.
    """
    shape = (UNITS, ENDPOINTS, len(VIEWS), len(WAVES), len(LAYOUTS), OPTIONS)
    between = 0.04 * rng.standard_t(5, (UNITS, ENDPOINTS, len(VIEWS), 2, 1, OPTIONS))
    position = (np.arange(OPTIONS) + np.arange(len(LAYOUTS))[:, None]) % OPTIONS
    favour = np.array([0.3, 0.1, -0.1, -0.3])[position]
    sensitivity = rng.gamma(3.0, 1 / 3.0, (UNITS, 1, 1, 1, 1, 1))
    length = np.stack([np.ones(ENDPOINTS), 0.5 + 0.2 * np.arange(ENDPOINTS)], axis=1)
    offsets = sensitivity * length[:, :, None, None, None] * favour
    noise = 0.005 * rng.standard_t(5, shape)
    return between[:, :, :, [0, 1, 1]] + offsets + noise


def draw_success(final: Floats, rng: np.random.Generator) -> Bools:
    """Success goes with the direct margin of the final state."""
    return rng.random(UNITS) < 1 / (1 + np.exp(-0.3 - 0.4 * (final - final.mean())))
