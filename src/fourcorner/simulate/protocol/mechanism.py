"""The mechanism of the probing study: evidence read directly, and rationales that lose it.

Evidence arrives in gamma lumps on one candidate while the pull towards none of the above fades. A
rationale asserts one candidate far above the rest; each kind of step has a probability of losing
the target from it and of finding it again, and without the target it wanders between rivals.

Invariant: an endpoint has one score for each protocol and candidate, whatever the step that it is
read from, and a trace has at most one audited step. Pinned by `tests/test_protocol.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.study import STRATUM_SIZES, UNITS, CalibrationError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = (
    "classification", "planning", "retrieval", "extraction", "retrieval", "extraction",
    "drafting", "audit", "revision", "audit", "finalization",
)  # fmt: skip
PROTOCOLS = (
    "direct",
    "full_state_direct",
    "generated_128",
    "generated_128_permuted",
    "generated_512",
    "extract_buffer",
)
CANDIDATES = ("c1", "c2", "c3", "none")
TARGETS = ("supported", "refuted", "mixed", "none_of_the_above")
AUDITED = (19, 14, 4, 3)
"""Traces per target with an audited step: 40 in all, and some of every target."""

DIRECT, FULL, SHORT, PERMUTED, LONG, EXTRACTS = range(len(PROTOCOLS))
_NONE = CANDIDATES.index("none")
_NONE_TARGET = TARGETS.index("none_of_the_above")
ENDPOINTS = len(STEPS) + 1
_NOTICED = 4.0  # nats that a rationale must lose for its step to be audited


class _Step(NamedTuple):
    """What a step of a kind does: to evidence read directly, and to a rationale."""

    arrives: float
    """Probability that evidence arrives."""
    lump: float
    """Mean size of what arrives, nats."""
    loses: float
    """Probability that a rationale loses the target."""
    finds: float
    """Probability that a rationale finds it again."""


_KINDS = {
    "classification": _Step(0.3, 2.5, 0.02, 0.02),
    "planning": _Step(0.3, 2.5, 0.02, 0.02),
    "retrieval": _Step(0.65, 9.0, 0.04, 0.10),
    "extraction": _Step(0.6, 6.5, 0.30, 0.04),
    "drafting": _Step(0.7, 6.5, 0.04, 0.08),
    "audit": _Step(0.5, 4.0, 0.50, 0.04),
    "revision": _Step(0.5, 4.0, 0.04, 0.20),
    "finalization": _Step(0.3, 2.5, 0.02, 0.02),
}


class Latents(NamedTuple):
    """What the mechanism draws for each of the n traces."""

    stratum: Ints
    """Index into TARGETS."""
    target: Ints
    """Index into CANDIDATES."""
    evidence: Ints
    """Candidate on which evidence arrives."""
    favoured: Ints
    """Candidate that the 128-token rationale asserts: (n, endpoint)."""
    strength: Floats
    """How far a rationale puts what it asserts above the others: (n, endpoint), nats."""


class Traces(NamedTuple):
    """Noise-free scores and how they came about."""

    scores: Floats
    """(n, endpoint, protocol, candidate), nats; NaN where a protocol was not used."""
    audited: Ints
    """Index of each trace's audited step, -1 where none."""
    latents: Latents


def draw_traces(seed: np.random.SeedSequence) -> Traces:
    """Draw every trace.

    Raises
    ------
    CalibrationError
        If too few traces of some target have a step to audit.
    """
    latent_rng, direct_rng, rationale_rng, audit_rng = map(np.random.default_rng, seed.spawn(4))
    latents = _draw_latents(latent_rng)
    scores = np.full((UNITS, ENDPOINTS, len(PROTOCOLS), len(CANDIDATES)), np.nan)
    scores[:, :, DIRECT], evidence = _direct_scores(latents, direct_rng)
    # nothing in a rationale without the target speaks against the rival that it asserts
    bold = np.where(latents.favoured == latents.target[:, None], 0.75, 1.25)
    scores[:, :, SHORT] = _rationale_scores(
        latents.favoured, bold * latents.strength, rationale_rng
    )
    levels = margins(scores[:, :, SHORT], latents.target)
    audited = _draw_audited(levels, latents.stratum, audit_rng)
    _replay(scores, audited, evidence, latents, audit_rng)
    return Traces(scores, audited, latents)


def _draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, where evidence arrives, and what rationales assert; strata are fixed."""
    stratum = rng.permutation(np.repeat(np.arange(len(TARGETS)), STRATUM_SIZES))
    target = np.where(stratum == _NONE_TARGET, _NONE, rng.integers(0, _NONE, UNITS))
    misleads = rng.random(UNITS) < 0.06
    evidence = np.where(misleads, (target + rng.integers(1, 4, UNITS)) % 4, target)
    favoured = _favoured(target, rng)
    strength = rng.gamma(8.0, 18.0 / 8.0, (UNITS, 1)) * rng.lognormal(0.0, 0.25, favoured.shape)
    return Latents(stratum, target, evidence, favoured, strength)


def _favoured(target: Ints, rng: np.random.Generator) -> Ints:
    """What the rationale asserts at each endpoint: a chain with losses, finds and wandering."""
    frailty = rng.uniform(0.4, 1.6, UNITS)
    found = np.empty((UNITS, ENDPOINTS), dtype=np.int64)
    found[:, 0] = np.where(rng.random(UNITS) < 0.9, target, _another(target, target, rng))
    for step, name in enumerate(STEPS):
        kind, held = _KINDS[name], found[:, step]
        luck = rng.random(UNITS)
        other = _another(held, target, rng)
        without = np.where(luck < kind.finds, target, np.where(luck > 0.98, other, held))
        found[:, step + 1] = np.where(
            held == target, np.where(luck < frailty * kind.loses, other, held), without
        )
    return found


def _another(held: Ints, target: Ints, rng: np.random.Generator) -> Ints:
    """A candidate that is neither held nor the target, each as likely."""
    ticket = rng.random((held.size, len(CANDIDATES)))
    ticket[np.arange(held.size), held] = ticket[np.arange(held.size), target] = -1.0
    return ticket.argmax(axis=1)


def _direct_scores(latents: Latents, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Scores read directly, (n, endpoint, candidate), and the evidence in them, (n, endpoint)."""
    kinds = [_KINDS[name] for name in STEPS]
    comes = rng.random((UNITS, len(STEPS))) < [kind.arrives for kind in kinds]
    lumps = comes * rng.gamma(2.0, [kind.lump / 2 for kind in kinds], (UNITS, len(STEPS)))
    faded = np.where(comes, rng.beta(3.0, 7.0, (UNITS, len(STEPS))), 0.0)
    evidence = np.pad(lumps.cumsum(axis=1), ((0, 0), (1, 0)))
    left = np.pad((1 - faded).cumprod(axis=1), ((0, 0), (1, 0)), constant_values=1.0)
    scores = 1.5 * rng.standard_t(4, (UNITS, 1, len(CANDIDATES)))
    scores = scores + 0.5 * rng.standard_t(4, (UNITS, ENDPOINTS, len(CANDIDATES)))
    scores[:, :, _NONE] += rng.gamma(8.0, 20.0 / 8.0, (UNITS, 1)) * left
    credit(scores, latents.evidence, evidence)
    return scores, evidence


def _rationale_scores(favoured: Ints, strength: Floats, rng: np.random.Generator) -> Floats:
    """Scores of candidates through a rationale: one far above, the others behind each other.

    Parameters
    ----------
    favoured, strength
        Any shape; the candidates become the last axis.
    """
    scores = -rng.exponential(2.0, (*favoured.shape, len(CANDIDATES)))
    is_favoured = np.arange(len(CANDIDATES)) == favoured[..., None]
    scores = np.where(is_favoured, strength[..., None], scores)
    # now and then a rationale leaves a second candidate open
    second = (favoured + rng.integers(1, 4, favoured.shape)) % 4
    is_open = (rng.random(favoured.shape) < 0.15)[..., None]
    near = strength - rng.exponential(2.0, favoured.shape)
    is_second = np.arange(len(CANDIDATES)) == second[..., None]
    return np.where(is_second & is_open, near[..., None], scores)


def _draw_audited(levels: Floats, stratum: Ints, rng: np.random.Generator) -> Ints:
    """The audited step of each trace, -1 where none: levels are the rationale's margins."""
    aimed = np.isin(STEPS, ["extraction", "audit"])
    lost = (np.diff(levels, axis=1) < -_NOTICED) & aimed
    ticket = np.where(lost, rng.random(lost.shape), -1.0)
    order = np.where(lost.any(axis=1), rng.random(UNITS), -1.0)
    audited = np.full(UNITS, -1, dtype=np.int64)
    for code, size in enumerate(AUDITED):
        inside = np.flatnonzero((stratum == code) & lost.any(axis=1))
        if inside.size < size:
            raise CalibrationError(
                f"{inside.size} traces of {TARGETS[code]} have a step to audit, expected {size}; "
                "take another seed"
            )
        chosen = inside[np.argsort(-order[inside])[:size]]
        audited[chosen] = ticket[chosen].argmax(axis=1)
    return audited


def _replay(
    scores: Floats, audited: Ints, evidence: Floats, latents: Latents, rng: np.random.Generator
) -> None:
    """Score both ends of the audited steps under the other protocols, in place."""
    rows = np.flatnonzero(audited >= 0)[:, None]
    ends = audited[rows] + np.arange(2)
    target = np.broadcast_to(latents.target[rows], ends.shape)
    direct, short = scores[rows, ends, DIRECT], scores[rows, ends, SHORT]
    full = direct + 0.5 * rng.standard_t(4, direct.shape)
    more = rng.uniform([0.3, 0.45], [0.7, 0.85], ends.shape) * evidence[rows, ends]
    is_evident = np.arange(len(CANDIDATES)) == latents.evidence[rows][..., None]
    full += is_evident * more[..., None]
    scores[rows, ends, FULL] = full
    scores[rows, ends, PERMUTED] = short + 0.6 * rng.standard_t(4, short.shape)
    # more room keeps most of the cues that 128 tokens lose
    kept = np.where(rng.random(ends.shape) < 0.96, target, latents.favoured[rows, ends])
    grown = latents.strength[rows, ends] * rng.lognormal(0.0, 0.1, ends.shape) + 0.5 * more
    scores[rows, ends, LONG] = _rationale_scores(kept, grown, rng)
    share = rng.beta(12.0, 1.5, rows.shape)[..., None]
    scores[rows, ends, EXTRACTS] = share * full + (1 - share) * short
