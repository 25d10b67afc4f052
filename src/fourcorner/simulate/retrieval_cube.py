"""The synthetic retrieval cube: 100 retrievals × 3 views × 2 authority policies × 4 layouts.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism.* Every trajectory holds beliefs over four options. Retrieval finds evidence or does
   not; the generated view may assert an answer before any evidence was read; the strengths of
   evidence and assertion are log-normal, gamma and Student draws that multiply. A cell's noise-free
   margin is the target's score minus its nearest rival's. Layouts then add an offset of their own,
   scaled by trajectory, and heavy-tailed noise that grows with the margin. No step draws from a
   normal model of cells with stratum means, which is the model this package fits.
2. *Calibration.* The finished draws are shifted and scaled by constants solved in closed form, so
   that the *sample*, layout noise included, has the published means, and the bootstrap standard
   errors that the published intervals imply. Each map is affine within its stratum, so shapes and
   ties to the latents stay. For the generated-versus-quote interaction the two large strata share
   one shift and one spread, and so do the two small ones: four constants for two means and two
   standard errors. Quote-versus-empty takes a shift and a scale; the authority shift and the quote
   gain a shift each. The published figures below are thus put in, not found: agreement with them
   checks an estimator and is no evidence about the study.

Invariant: for every seed the sample has the calibrated means exactly (before rounding to four
decimals), and the same seed gives the same bytes. Pinned by ``tests/test_retrieval_cube.py``
(``test_published_figures_are_found``, ``test_means_hold_for_every_seed``,
``test_committed_files_are_regenerated_byte_for_byte``).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.errors import FourcornerError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STATES = ("before", "after")
VIEWS = ("empty", "quote", "generated")
AUTHORITIES = ("neutral", "evidence_primary")
LAYOUTS = ("L0", "L1", "L2", "L3")
TARGETS = ("supported", "refuted", "mixed", "not_enough_information")
STRATUM_SIZES = (50, 38, 7, 5)
EVIDENCE_FOUND = (34, 25, 4, 2)
"""Trajectories per target whose retrieval finds evidence: 65 in all."""

DEFAULT_SEED = 1575
"""Picked among 0 to 2,999: interval ends within 0.02, skewed Ω, the bridge's AUC difference."""
DECIMALS = 4

_BEFORE, _AFTER = range(2)
_EMPTY, _QUOTE, _GENERATED = range(3)
_NEUTRAL, _PRIMARY = range(2)
_NEI = TARGETS.index("not_enough_information")
_Z95 = 1.959963984540054


class Published(NamedTuple):
    """A published mean with its 95 % trajectory-bootstrap percentile interval, in nats."""

    mean: float
    low: float
    high: float

    @property
    def variance(self) -> float:
        """Squared standard error that the interval's width implies."""
        return ((self.high - self.low) / (2 * _Z95)) ** 2


OMEGA_GENERATED_VS_QUOTE = Published(-1.306, -1.822, -0.797)
OMEGA_QUOTE_VS_EMPTY = Published(-0.411, -0.632, -0.184)
EQUAL_TARGET_OMEGA_GENERATED_VS_QUOTE = Published(-0.262, -0.981, 0.445)
AUTHORITY_SHIFT_GENERATED_GAIN = -0.243
QUOTE_GAIN = 0.55
"""Ours: published only as positive beside a negative generated-view gain.

The two interactions fix the other gains: empty is 0.411 above it, generated 1.306 below.
"""


class CalibrationError(FourcornerError, ValueError):
    """Draws that no shift and scale brings to the published figures."""


class Cohort(NamedTuple):
    """The scores as acquired, and the noise-free cells and latents behind them."""

    scores: pd.DataFrame
    truth: pd.DataFrame


class Latents(NamedTuple):
    """What the mechanism draws for each of the n trajectories."""

    target: Ints
    """Index into TARGETS."""
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
    """Share of the assertion that survives retrieval."""
    advisory: Floats
    """Share of the view credited after retrieval when the evidence is primary."""


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Cohort
        ``scores`` (4,800 rows: trajectory, target, success, state, view, authority, layout, margin
        in nats) and ``truth`` (1,200 rows: the noise-free ``true_margin`` of each cell, and the
        trajectory's latents).

    Raises
    ------
    CalibrationError
        If the seed's draws cannot be brought to the figures (in none of the first 3,000).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.truth.shape
    ((4800, 8), (1200, 11))
    """
    latent_rng, belief_rng, layout_rng, success_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)
    )
    latents = _draw_latents(latent_rng)
    cells = _target_margins(_option_scores(latents, belief_rng), latents.target)
    layouts = _layout_effects(cells, layout_rng)
    cells = _calibrate(cells, layouts.mean(axis=-1), latents.target)
    success = _draw_success(cells, latents, success_rng)
    return Cohort(
        _score_frame(cells[..., None] + layouts, latents, success),
        _truth_frame(cells, latents),
    )


def to_csv_text(frame: pd.DataFrame) -> str:
    r"""Return the exact text of a frame's CSV file: ``\n`` line ends, booleans in lower case.

    Examples
    --------
    >>> to_csv_text(pd.DataFrame({"a": [True], "b": [0.5]}))
    'a,b\ntrue,0.5\n'
    """
    flags = frame.select_dtypes("bool").columns
    words = {name: frame[name].map({True: "true", False: "false"}) for name in flags}
    return frame.assign(**words).to_csv(index=False, lineterminator="\n")


# --- mechanism ---------------------------------------------------------------------------------


def _draw_latents(rng: np.random.Generator) -> Latents:
    """Draw targets, evidence and assertions; strata and evidence counts are fixed."""
    target, found = _assign_targets(rng)
    n = target.size
    rival = (target + rng.integers(1, 4, n)) % 4
    # where the target is no plain answer, a view that asserts one mostly gets it wrong
    right = np.where(target < 2, 0.9, np.where(target == _NEI, 0.0, 0.3))
    asserted = np.where(rng.random(n) < right, target, rival)
    favoured = np.where(rng.random(n) < np.where(target == _NEI, 0.2, 0.9), target, rival)
    asserts = rng.random(n) < 0.48
    return Latents(
        target=target,
        found=found,
        favoured=favoured,
        evidence=np.where(found, rng.lognormal(0.8, 0.55, n), 0.0),
        asserts=asserts,
        asserted=asserted,
        assertion=np.where(asserts, rng.lognormal(1.6, 0.65, n), 0.0),
        kept=rng.beta(2.0, 2.0, n),
        advisory=rng.beta(6.0, 2.0, n),
    )


def _assign_targets(rng: np.random.Generator) -> tuple[Ints, Bools]:
    """Spread the strata, each with its count of found evidence, over the trajectories."""
    sizes = zip(STRATUM_SIZES, EVIDENCE_FOUND, strict=True)
    found = np.concatenate([np.arange(size) < hits for size, hits in sizes])
    target = np.repeat(np.arange(len(TARGETS), dtype=np.int64), STRATUM_SIZES)
    order = rng.permutation(target.size)
    return target[order], found[order]


def _option_scores(latents: Latents, rng: np.random.Generator) -> Floats:
    """Score every option in every cell: (n, state, view, authority, option), nats."""
    n = latents.target.size
    scores = np.zeros((n, 2, 3, 2, 4))
    scores += 0.7 * rng.standard_t(4, (n, 1, 1, 1, 4))
    scores += 0.15 * rng.standard_t(4, (n, 2, 3, 2, 4))
    scores[..., _NEI] += _default_answer(latents, rng)[:, :, None, None]
    _credit(scores[:, _AFTER], latents.favoured, _credited_evidence(latents, rng))
    echo = rng.gamma(0.6, 1.0, n)[:, None]  # the quoted question already sounds like an answer
    for state, echoed in ((_BEFORE, 1.0), (_AFTER, 0.4)):
        _credit(scores[:, state, _QUOTE], latents.target, echoed * echo)
        _credit(scores[:, state, _GENERATED], latents.asserted, _credited_assertion(latents, state))
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


def _credited_assertion(latents: Latents, state: int) -> Floats:
    """Strength with which the generated view's assertion counts in a state: (n, authority)."""
    if state == _BEFORE:
        return latents.assertion[:, None]
    kept = latents.assertion * latents.kept
    return np.stack([kept, kept * latents.advisory], axis=1)


def _credit(scores: Floats, option: Ints, strength: Floats) -> None:
    """Add ``strength`` to one option (last axis) per trajectory (first axis), in place."""
    scores[np.arange(option.size), ..., option] += strength


def _target_margins(scores: Floats, target: Ints) -> Floats:
    """Target's score minus its nearest rival's, over the last axis."""
    is_target = np.arange(scores.shape[-1]) == target[:, None, None, None, None]
    own = np.where(is_target, scores, -np.inf).max(axis=-1)
    return own - np.where(is_target, -np.inf, scores).max(axis=-1)


def _layout_effects(cells: Floats, rng: np.random.Generator) -> Floats:
    """Offsets and noise that the layouts add: (n, state, view, authority, layout), nats.

    Offsets sum to zero over the layouts of a cell; noise does not.
    """
    profile = np.array([0.32, 0.08, -0.12, -0.28])
    by_state = np.array([1.0, 0.4])[:, None, None, None]
    by_view = np.array([0.6, 0.8, 2.0])[:, None, None]
    sensitivity = rng.gamma(3.0, 1 / 3.0, (cells.shape[0], 1, 1, 1, 1))
    offsets = sensitivity * by_state * by_view * -profile
    spread = 0.12 + 0.06 * np.abs(cells)[..., None]
    return offsets + spread * rng.standard_t(5, (*cells.shape, len(LAYOUTS)))


def _draw_success(cells: Floats, latents: Latents, rng: np.random.Generator) -> Bools:
    """Success goes with grounded after-margins, and against what a view merely asserts."""
    grounded = cells[:, _AFTER, [_EMPTY, _QUOTE], _NEUTRAL].mean(axis=1)
    logit = 0.9 + 0.3 * (grounded - grounded.mean()) - 0.6 * latents.assertion * latents.kept
    return rng.random(logit.size) < 1 / (1 + np.exp(-logit))


# --- calibration -------------------------------------------------------------------------------


def _gain(cells: Floats, view: int, authority: int = _NEUTRAL) -> Floats:
    """After minus before, per trajectory."""
    return cells[:, _AFTER, view, authority] - cells[:, _BEFORE, view, authority]


def _omega(cells: Floats, reference: int, view: int) -> Floats:
    """Gain under ``view`` minus gain under ``reference``, neutral authority, per trajectory."""
    return _gain(cells, view) - _gain(cells, reference)


def _add_to_gain(cells: Floats, view: int, amount: Floats) -> None:
    """Raise a view's gain by ``amount``, half at each end, in place.

    Parameters
    ----------
    cells
        (n, state, view, authority).
    view
        Whose gain to raise.
    amount
        (n, authority), or anything that broadcasts to it.
    """
    cells[:, _AFTER, view] += amount / 2
    cells[:, _BEFORE, view] -= amount / 2


def _calibrate(cells: Floats, noise: Floats, target: Ints) -> Floats:
    """Shift and scale noise-free cells so that cells plus layout noise match the figures.

    Parameters
    ----------
    cells, noise
        (n, state, view, authority): noise-free margins, and what the mean over layouts adds.
    target
        Stratum of each trajectory.
    """
    cells = cells.copy()
    cells[:, _AFTER] += QUOTE_GAIN - _gain(cells + noise, _QUOTE).mean()

    truth, added = _omega(cells, _QUOTE, _EMPTY), _omega(noise, _QUOTE, _EMPTY)
    wanted = _match_cohort(-truth, -added, OMEGA_QUOTE_VS_EMPTY)
    _add_to_gain(cells, _EMPTY, (-wanted - truth)[:, None])

    truth, added = _omega(cells, _QUOTE, _GENERATED), _omega(noise, _QUOTE, _GENERATED)
    wanted = _match_strata(truth, added, target)
    _add_to_gain(cells, _GENERATED, (wanted - truth)[:, None])

    observed = cells + noise
    shift = (_gain(observed, _GENERATED, _PRIMARY) - _gain(observed, _GENERATED)).mean()
    missing = np.array([0.0, AUTHORITY_SHIFT_GENERATED_GAIN - shift])
    _add_to_gain(cells, _GENERATED, missing)
    return cells


def _match_cohort(truth: Floats, noise: Floats, figure: Published) -> Floats:
    """Affine image of ``truth`` whose sum with ``noise`` has the figure's mean and spread."""
    return _rescale(truth, noise, figure.mean, truth.size * figure.variance)


def _match_strata(truth: Floats, noise: Floats, target: Ints) -> Floats:
    """Affine images of ``truth``, one per stratum, that fit both target mixtures at once."""
    groups = [target == g for g in range(len(TARGETS))]
    means = _match_means(np.array([(truth + noise)[group].mean() for group in groups]))
    wanted = np.empty_like(truth)
    for group, mean, variance in zip(groups, means, _match_variances(means), strict=True):
        wanted[group] = _rescale(truth[group], noise[group], mean, variance)
    return wanted


def _match_means(means: Floats) -> Floats:
    """Shift the large and the small strata, each by one constant, to fit both mixtures."""
    published = np.array(
        [OMEGA_GENERATED_VS_QUOTE.mean, EQUAL_TARGET_OMEGA_GENERATED_VS_QUOTE.mean]
    )
    weights = np.stack([_shares(), np.full(len(TARGETS), 1 / len(TARGETS))])
    return means + _solve_by_size(weights, published - weights @ means)


def _match_variances(means: Floats) -> Floats:
    """Within-stratum variances, one for the large and one for the small strata.

    The two squared standard errors to fit are the bootstrap's: Σ p_g (v_g + (m_g − m)²) / n for
    the cohort's mixture, and Σ v_g E[1/N_g | N_g > 0] / S² for equal weights, where N_g is the
    binomial number of draws from stratum g.
    """
    shares, n = _shares(), sum(STRATUM_SIZES)
    between = shares @ (means - shares @ means) ** 2
    published = np.array(
        [
            OMEGA_GENERATED_VS_QUOTE.variance - between / n,
            EQUAL_TARGET_OMEGA_GENERATED_VS_QUOTE.variance,
        ]
    )
    inverse_counts = np.array([mean_inverse_count(size, n) for size in STRATUM_SIZES])
    return _solve_by_size(np.stack([shares / n, inverse_counts / len(TARGETS) ** 2]), published)


def _shares() -> Floats:
    """Each stratum's share of the cohort."""
    return np.array(STRATUM_SIZES) / sum(STRATUM_SIZES)


def _solve_by_size(coefficients: Floats, right: Floats) -> Floats:
    """Solve two equations for one value per large and one per small stratum; spread to strata."""
    member = np.array([[size >= 10, size < 10] for size in STRATUM_SIZES], dtype=np.float64)
    return member @ np.linalg.solve(coefficients @ member, right)


def mean_inverse_count(size: int, n: int) -> float:
    """E[1/N | N > 0] for N ~ Binomial(n, size / n)."""
    k = np.arange(1, n + 1)
    steps = (n - k + 1) / k * (size / (n - size))
    weights = np.cumprod(steps)
    return float((weights / k).sum() / weights.sum())


def _rescale(truth: Floats, noise: Floats, mean: float, variance: float) -> Floats:
    """Affine image of ``truth`` whose sum with ``noise`` has this mean and variance (ddof 0).

    The scale k is the positive root of k² Var(truth) + 2k Cov(truth, noise) + Var(noise).
    """
    spare = variance - noise.var()
    if spare <= 0:
        raise CalibrationError(
            f"layout noise has variance {noise.var():.3g}, but the figures leave {variance:.3g} "
            "for it and the trajectories together; take another seed"
        )
    deviation = truth - truth.mean()
    a = deviation @ deviation / truth.size
    b = deviation @ noise / truth.size
    scale = (np.sqrt(b * b + a * spare) - b) / a
    return mean - noise.mean() + scale * deviation


# --- frames ------------------------------------------------------------------------------------


def _score_frame(margins: Floats, latents: Latents, success: Bools) -> pd.DataFrame:
    """One row per trajectory, state, view, authority and layout."""
    attributes = {"target": np.array(TARGETS)[latents.target], "success": success}
    factors = {"state": STATES, "view": VIEWS, "authority": AUTHORITIES, "layout": LAYOUTS}
    return _long(attributes, factors).assign(margin=_rounded(margins))


def _truth_frame(cells: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state, view and authority; the latents stand last."""
    options = np.array(TARGETS)
    drawn = {
        "evidence_found": latents.found,
        "evidence_favours": np.where(latents.found, options[latents.favoured], "nothing"),
        "evidence_strength": _rounded(latents.evidence),
        "view_asserts": np.where(latents.asserts, options[latents.asserted], "nothing"),
        "assertion_strength": _rounded(latents.assertion),
    }
    factors = {"state": STATES, "view": VIEWS, "authority": AUTHORITIES}
    frame = _long({"target": options[latents.target], **drawn}, factors)
    order = ["trajectory", "target", *factors, "true_margin", *drawn]
    return frame.assign(true_margin=_rounded(cells))[order]


def _long(
    attributes: Mapping[str, NDArray[np.generic]], factors: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Cross trajectories with factors, the last varying fastest; attributes go by trajectory."""
    ids = [f"t{i:03d}" for i in range(1, sum(STRATUM_SIZES) + 1)]
    cells = pd.DataFrame(product(*factors.values()), columns=list(factors))
    units = pd.DataFrame({"trajectory": ids, **attributes})
    return units.merge(cells, how="cross")


def _rounded(values: Floats) -> Floats:
    """Flatten and round to the declared decimals, without negative zeros."""
    return values.ravel().round(DECIMALS) + 0.0


def files() -> dict[str, str | bytes]:
    """The cohort's files as texts, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "retrieval_cube.csv": to_csv_text(cohort.scores),
        "retrieval_cube_truth.csv": to_csv_text(cohort.truth),
    }
