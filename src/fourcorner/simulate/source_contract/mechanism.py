"""The mechanism of the source contract: support that a view claims, and support that it was shown.

Invariant: what layouts add to a cell sums to zero but for noise, claims touch the ungrounded view
alone, and no draw is from a normal model of cells with stratum means. Pinned by
`tests/test_source_contract.py` (`test_truth_is_the_scores_without_layout_effects`,
`test_claims_raise_the_margin_before_retrieval_and_the_contract_takes_that_away`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate import layouts
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import NEI, draw_targets
from fourcorner.simulate.source_contract.claims import CANDIDATES, Claims, draw_claims, draw_rivals
from fourcorner.simulate.study import UNITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

VIEWS = ("ungrounded", "source_only", "quote")
AUDITED = VIEWS[:2]
"""Views that are generated, and that the parser reads."""

BEFORE, AFTER = range(2)
UNGROUNDED, SOURCE_ONLY, QUOTE = range(3)

TOWARDS_TARGET = np.array([0.97, 0.97, 0.1, 0.1])
"""By target: how often an artifact that is found favours it."""

STRONG = np.array([1.0, 1.0, 1.5, 0.9])
"""By target: how strong artifacts are."""


class Latents(NamedTuple):
    """What the mechanism draws for each of the n trajectories.

    Attributes
    ----------
    target : ndarray of shape (n,)
        Index of the target among the options, and of the stratum.
    found : ndarray of shape (n,)
        Retrieval finds an artifact.
    favoured : ndarray of shape (n,)
        Option that the artifact favours.
    evidence : ndarray of shape (n,)
        Strength of the artifact, nats; 0 where there is none.
    claims : Claims
    """

    target: Ints
    found: Bools
    favoured: Ints
    evidence: Floats
    claims: Claims


def draw_cells(
    latent_rng: np.random.Generator, belief_rng: np.random.Generator
) -> tuple[Floats, Latents]:
    """Draw noise-free margins of all cells, (n, state, view) in nats, and latents."""
    latents = _draw_latents(latent_rng)
    return margins(_option_scores(latents, belief_rng), latents.target), latents


def _draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, artifacts and claims; strata, artifacts and numbers of claims are fixed."""
    target, found = draw_targets(rng)
    towards = rng.random(UNITS) < TOWARDS_TARGET[target]
    return Latents(
        target=target,
        found=found,
        favoured=np.where(towards, target, draw_rivals(target, rng)),
        evidence=np.where(found, STRONG[target] * rng.lognormal(1.25, 0.45, UNITS), 0.0),
        claims=draw_claims(target, found, rng),
    )


def _option_scores(latents: Latents, rng: np.random.Generator) -> Floats:
    """Score every option in every cell: (n, state, view, option), nats."""
    scores = np.zeros((UNITS, 2, len(VIEWS), NEI + 1))
    scores += 0.7 * rng.standard_t(4, (UNITS, 1, 1, NEI + 1))
    scores += 0.25 * rng.standard_t(4, scores.shape)
    scores[..., NEI] += _default_answer(latents, rng)
    credit(scores[:, AFTER], latents.favoured, _credited_evidence(latents, rng))
    for state, claims in ((BEFORE, latents.claims.before), (AFTER, latents.claims.after)):
        scores[:, state, UNGROUNDED, :CANDIDATES] += claims
    return scores


def _default_answer(latents: Latents, rng: np.random.Generator) -> Floats:
    """Pull towards "not enough information", (n, state, view); it gives way to an artifact."""
    pull = rng.gamma(4.0, 0.35, UNITS)
    after = np.where(latents.found, 0.35, 0.95) * pull
    by_view = np.array([1.0, 1.4, 1.0])  # absent support is to be marked as missing
    return np.stack([pull, after], axis=1)[..., None] * by_view


def _credited_evidence(latents: Latents, rng: np.random.Generator) -> Floats:
    """Strength with which the artifact counts in each view: (n, view)."""
    passed_on = rng.uniform(0.4, 1.1, UNITS)
    quoted = rng.beta(3.0, 4.5, UNITS)
    shares = np.stack([passed_on, np.ones(UNITS), quoted], axis=1)
    return latents.evidence[:, None] * shares


def layout_effects(cells: Floats, rng: np.random.Generator) -> Floats:
    """Offsets and noise that the layouts add: (n, state, view, layout), nats.

    Offsets sum to zero over the layouts of a cell; noise does not.
    """
    by_state = np.array([1.0, 0.5])[:, None]
    by_view = np.array([1.6, 0.7, 0.8])
    return layouts.layout_effects(cells, by_state * by_view, rng)
