"""How beliefs move from before to after, by transition: entropy, surprise, who is on top.

Each is taken in every setting (channel cell, wave, and replicate where the reducer keeps it) and
then averaged over the settings. Logarithms are natural. In the surprise

    KL(after ‖ before) = Σ [p_after (log p_after − log p_before) − p_after + p_before]

no term is negative, so that rounding cannot make the sum so.

Invariant: a constant added to every score of an endpoint, or another order of the candidates,
changes nothing; every value is finite, and the surprise is 0 where the beliefs are the same and
above it elsewhere. A share below e⁻⁷⁴⁵ counts as none. Pinned by `tests/test_beliefs.py`.
"""

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.contrasts import Contrast
from fourcorner.design.cohort import Sample
from fourcorner.scores import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Rule = Callable[[Floats, Floats, Codes], Floats]

NO_OPTIONS = "no_options"
WITHOUT = {
    "reason": NO_OPTIONS,
    "message": (
        "these scores are margins, which do not say how the other candidates fared; beliefs need "
        "the score of every candidate: declare option_score, candidate and target"
    ),
}
LIMITED = "an exact gain and no belief, since the score of some candidate is only an upper limit"


def endpoints(data: Sample, gain: Contrast, wave: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Reduced option scores of each transition before and after, in every setting.

    Parameters
    ----------
    data : Sample
        With option scores.
    gain : Contrast
        Its channel cells are those that count.
    wave : tuple of str
        The waves that count; empty for all.

    Returns
    -------
    before, after : ndarrays of shape (transitions, settings, candidates)
        As `fourcorner.scores.reduced_options`.
    """
    after = (names.STATE, names.AFTER)
    cells = sorted(sorted(cell - {after}) for cell in gain.weights if after in cell)
    found = [scores.reduced_options(data.scores.sel(dict(cell)), wave) for cell in cells]
    first, second = (
        np.concatenate([_settings(of.sel({names.STATE: state})) for of in found], axis=1)
        for state in names.STATES
    )
    return first, second


def _settings(options: xr.DataArray) -> Floats:
    """Shape (transitions, settings, candidates)."""
    last = options.transpose(names.TRANSITION, ..., names.OPTION)
    rows, candidates = last.sizes[names.TRANSITION], last.sizes[names.OPTION]
    settings = int(np.prod(last.shape[1:-1]))
    return np.asarray(last.values).reshape(rows, settings, candidates)


def values(before: Floats, after: Floats, target: Codes, kind: str) -> Floats:
    """A measure of each transition, averaged over its settings.

    Parameters
    ----------
    before, after : ndarrays of shape (transitions, settings, candidates)
        Option scores in nats; NaN where one is missing or only a limit, minus infinity where there
        is no candidate.
    target : ndarray of shape (transitions,)
        Place of the target among the candidates.
    kind : str
        One of `fourcorner.measures.BELIEFS` but the margin gain, which is the gain itself.

    Returns
    -------
    ndarray of shape (transitions,)
        NaN unless every score is there.

    Examples
    --------
    A belief that swaps two candidates keeps its entropy:

    >>> before, after = np.array([[[0.0, -9.0]]]), np.array([[[-9.0, 0.0]]])
    >>> values(before, after, np.array([0]), "entropy_movement").tolist()
    [0.0]
    >>> values(before, after, np.array([0]), "surprise").round(3).tolist()
    [8.998]
    """
    there = complete(before, after)
    found = np.full(len(target), np.nan)
    found[there] = RULES[kind](before[there], after[there], target[there]).mean(axis=1)
    return found


def complete(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Which transitions have every score at both endpoints in every setting."""
    return ~(np.isnan(before) | np.isnan(after)).any(axis=(1, 2))


def size(before: Floats, after: Floats) -> float:
    """The largest score that a belief is made of, beside which rounding is nothing."""
    there = complete(before, after)
    reach = [_reach(of[there]).max(initial=0.0) for of in (before, after)]
    return float(max(reach))


def _surprise(before: Floats, after: Floats, target: Codes) -> Floats:  # noqa: ARG001 - as others
    first, second = (scores.log_softmax(of) for of in (before, after))
    candidate = np.isfinite(second)
    first, second = (np.where(candidate, of, 0.0) for of in (first, second))
    share, moved = np.exp(second) * candidate, second - first
    rounding = ROUNDING * (_reach(before) + _reach(after))
    moved = np.where(np.abs(moved) <= rounding[..., None], 0.0, moved)
    # of a candidate that loses much, the exponential of its loss would overflow
    near = share * (np.expm1(-np.maximum(moved, -1.0)) + moved)
    far = np.exp(first) - share + share * moved
    return np.where(moved > -1.0, near, far).sum(axis=-1)


def _entropy_movement(before: Floats, after: Floats, target: Codes) -> Floats:  # noqa: ARG001
    moved = _entropy(after) - _entropy(before)
    rounding = ROUNDING * (_reach(before) + _reach(after))
    return np.where(np.abs(moved) <= rounding, 0.0, moved)


def _entropy(options: Floats) -> Floats:
    logs = scores.log_softmax(options)
    candidate = np.isfinite(logs)
    logs = np.where(candidate, logs, 0.0)
    return -(np.exp(logs) * logs).sum(axis=-1)


def _reach(options: Floats) -> Floats:
    """How large the numbers are that a belief is made of: what rounding is relative to."""
    sizes = np.where(np.isfinite(options), np.abs(options), 0.0)
    return np.asarray(sizes.max(axis=-1) + np.log(options.shape[-1]))


def _pivot(before: Floats, after: Floats, target: Codes) -> Floats:  # noqa: ARG001 - as others
    first, second = _leader(before), _leader(after)
    return ((first != second) & (first >= 0) & (second >= 0)).astype(float)


def _leader(options: Floats) -> Codes:
    """Place of the candidate that is alone on top; -1 where none is."""
    two = np.partition(options, -2, axis=-1)[..., -2:]
    alone = _gap(two[..., 1], two[..., 0]) > 0
    return np.where(alone, options.argmax(axis=-1), -1)


def _fallen(before: Floats, after: Floats, target: Codes) -> Floats:
    """Whether the target is alone on top before, and below another candidate after."""
    return ((_margin(before, target) > 0) & (_margin(after, target) < 0)).astype(float)


def _margin(options: Floats, target: Codes) -> Floats:
    """Target's score less its nearest rival's."""
    is_target = np.arange(options.shape[-1]) == target[:, None, None]
    own = np.where(is_target, options, -np.inf).max(axis=-1)
    rival = np.where(is_target, -np.inf, options).max(axis=-1)
    return _gap(own, rival)


def _gap(high: Floats, low: Floats) -> Floats:
    """A difference, 0 where it is but rounding."""
    gap = high - low
    return np.where(np.abs(gap) <= ROUNDING * (np.abs(high) + np.abs(low)), 0.0, gap)


RULES: Mapping[str, Rule] = {
    names.ENTROPY_MOVEMENT: _entropy_movement,
    names.SURPRISE: _surprise,
    names.PIVOT: _pivot,
    names.DAMAGE: _fallen,
    names.REPAIR: lambda before, after, target: _fallen(after, before, target),
}
