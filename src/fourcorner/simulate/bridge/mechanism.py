"""The mechanism of the bridge: one retrieval's beliefs, read by three evaluators.

A stack (model and serving) holds beliefs over four options, which evidence and the generated view's
assertion move. A readout turns beliefs into option scores: the joint one asks for one of the
options, so its scores are the beliefs; the binary one asks of each candidate by itself, with a
slope and candidate intercepts of its own that nothing calibrates.

Invariant: what layouts add sums to zero but for noise, retry noise is small against what differs
between trajectories, and no draw is from a normal model of cells with stratum means. Pinned by
`tests/test_bridge.py` (`test_truth_is_the_scores_without_layouts_and_retries`,
`test_retry_noise_is_small_against_the_spread_of_trajectories`,
`test_interactions_are_heavy_tailed_and_no_sample_of_a_normal_model`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.layouts import layout_effects
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import NEI, TARGETS, Latents, draw_targets
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

VIEWS = ("quote", "generated")
WAVES = ("w1", "w2", "w3", "w4")
BEFORE, AFTER = range(2)
QUOTE, GENERATED = range(2)


class _Stack(NamedTuple):
    """How an evaluator's model forms beliefs."""

    evidence: float
    """Weight of evidence that was read."""
    assertion: float
    """Weight of what a view asserts."""
    own: float
    """Size of beliefs that no other stack shares, nats."""


class _Readout(NamedTuple):
    """How beliefs become option scores."""

    slope: float
    """Score per nat of belief."""
    intercepts: tuple[float, ...]
    """What each candidate gets whatever is believed, in the order of the targets."""
    noise: float
    """Size of what a candidate adds in one cell, nats of belief."""


class Vertex(NamedTuple):
    """A readout on a stack."""

    readout: str
    stack: str


_STACKS = {"deepseek": _Stack(1.0, 1.0, 0.25), "gpt4o": _Stack(0.9, 1.7, 0.5)}
VERTICES = {
    "A": Vertex("joint", "deepseek"),
    "B": Vertex("binary", "deepseek"),
    "C": Vertex("binary", "gpt4o"),
}
"""The three of four corners that were scored; a joint readout of gpt4o was not."""
_READOUTS = {
    "A": _Readout(1.0, (0.0, 0.0, 0.0, 0.0), 0.15),
    "B": _Readout(0.45, (0.3, -0.1, -0.4, 0.2), 0.25),
    "C": _Readout(3.2, (1.5, 0.5, -3.0, 1.0), 0.25),
}
"""By vertex: what a binary readout makes of beliefs differs by stack."""


def draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, evidence and assertions; strata and evidence counts are fixed."""
    target, found = draw_targets(rng)
    rival = (target + rng.integers(1, len(TARGETS), UNITS)) % len(TARGETS)
    # where the target is no plain answer, a view that asserts one mostly gets it wrong
    right = np.where(target < 2, 0.95, np.where(target == NEI, 0.0, 0.15))
    asserted = np.where(rng.random(UNITS) < right, target, rival)
    favoured = np.where(rng.random(UNITS) < np.where(target == NEI, 0.2, 0.9), target, rival)
    asserts = rng.random(UNITS) < np.where(target < 2, 0.62, 0.85)
    return Latents(
        target=target,
        found=found,
        favoured=favoured,
        evidence=np.where(found, rng.lognormal(0.7, 0.5, UNITS), 0.0),
        asserts=asserts,
        asserted=asserted,
        assertion=np.where(asserts, rng.lognormal(1.25, 0.5, UNITS), 0.0),
        kept=rng.beta(2.0, 2.5, UNITS),
    )


def draw_cells(latents: Latents, rng: np.random.Generator) -> Floats:
    """Draw noise-free margins of all cells: (n, state, view, vertex), nats of each vertex."""
    shared = _beliefs(latents, rng)
    stacks = {name: _weighed(shared, latents, stack, rng) for name, stack in _STACKS.items()}
    read = [_read(stacks[vertex.stack], _READOUTS[name], rng) for name, vertex in VERTICES.items()]
    return margins(np.stack(read, axis=-2), latents.target)


class _Shared(NamedTuple):
    """What all stacks start from."""

    prior: Floats
    """Beliefs before evidence and assertions, (n, state, view, option)."""
    evidence: Floats
    """Evidence that reaches the evaluator after retrieval, (n, view)."""
    assertion: Floats
    """Assertion in the generated view, (n, state)."""


def _beliefs(latents: Latents, rng: np.random.Generator) -> _Shared:
    """Draw what all stacks start from."""
    options = len(TARGETS)
    prior = np.zeros((UNITS, len(STATES), len(VIEWS), options))
    prior += 0.6 * rng.standard_t(4, (UNITS, 1, 1, options))
    pull = rng.gamma(4.0, 0.35, UNITS)  # "not enough information" is the default answer
    gives_way = np.where(latents.found, 0.35, 0.95)
    prior[..., NEI] += np.stack([pull, gives_way * pull], axis=1)[..., None]
    echo = rng.gamma(0.6, 1.0, UNITS)  # the quoted question already sounds like an answer
    credit(prior[:, :, QUOTE], latents.target, echo[:, None] * np.array([1.0, 0.5]))
    quoted = rng.beta(8.0, 1.5, UNITS)
    # a view that has already answered passes little of the evidence on
    passed_on = np.where(latents.asserts, rng.beta(2.0, 5.0, UNITS), rng.uniform(0.5, 1.4, UNITS))
    shares = np.stack([quoted, passed_on], axis=1)
    still = np.stack([np.ones(UNITS), latents.kept], axis=1)
    return _Shared(prior, latents.evidence[:, None] * shares, latents.assertion[:, None] * still)


def _weighed(shared: _Shared, latents: Latents, stack: _Stack, rng: np.random.Generator) -> Floats:
    """Beliefs of one stack, (n, state, view, option)."""
    beliefs = shared.prior.copy()
    beliefs += stack.own * rng.standard_t(4, (UNITS, 1, 1, len(TARGETS)))
    trust = stack.evidence * rng.gamma(8.0, 1 / 8, (UNITS, 1))
    credit(beliefs[:, AFTER], latents.favoured, trust * shared.evidence)
    sway = stack.assertion * rng.gamma(8.0, 1 / 8, (UNITS, 1))
    credit(beliefs[:, :, GENERATED], latents.asserted, sway * shared.assertion)
    return beliefs


def _read(beliefs: Floats, readout: _Readout, rng: np.random.Generator) -> Floats:
    """Option scores that a readout makes of beliefs, (n, state, view, option)."""
    noisy = beliefs + readout.noise * rng.standard_t(4, beliefs.shape)
    return readout.slope * noisy + np.array(readout.intercepts)


def acquisition(cells: Floats, rng: np.random.Generator) -> Floats:
    """What layouts and retries add: (n, state, view, vertex, layout, wave), nats of each vertex.

    A layout adds the same in each wave, offsets and noise; a retry adds noise to each score.
    """
    slope = np.array([readout.slope for readout in _READOUTS.values()])
    beliefs = cells / slope
    by_state = np.array([1.0, 0.4])[:, None, None]
    by_view = np.array([0.8, 2.0])[:, None]
    offsets = layout_effects(beliefs, by_state * by_view, rng)[..., None]
    spread = 0.03 + 0.015 * np.abs(beliefs)[..., None, None]
    retries = spread * rng.standard_t(5, (*cells.shape, len(LAYOUTS), len(WAVES)))
    return slope[:, None, None] * (offsets + retries)


def draw_success(cells: Floats, latents: Latents, rng: np.random.Generator) -> Bools:
    """Success asks for grounded answers: a coin for each trajectory, (n,).

    Its odds rise with the quote margins after retrieval, the vertices counting alike. They fall
    where the view had asserted the right answer before anything was read: such a workflow goes on
    without grounding it.
    """
    grounded = cells[:, AFTER, QUOTE]
    standard = ((grounded - grounded.mean(axis=0)) / grounded.std(axis=0)).mean(axis=1)
    ungrounded = np.where(latents.asserted == latents.target, latents.assertion, 0.0)
    odds = 0.2 + 0.5 * standard - 0.6 * (ungrounded - ungrounded.mean())
    return rng.random(UNITS) < 1 / (1 + np.exp(-odds))
