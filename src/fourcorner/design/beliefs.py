"""How beliefs move from before to after, by transition: entropy, surprise, who is on top.

Each is taken in every setting (channel cell, wave, and replicate where the reducer keeps it) and
then averaged over the settings. Logarithms are natural. In the surprise

    KL(after ‖ before) = Σ [p_after (log p_after − log p_before) − p_after + p_before]

no term is negative, so that rounding cannot make the sum so.

Invariant: a constant added to every score of an endpoint, or another order of the candidates,
changes nothing; every value is finite, and the surprise is 0 where the beliefs are the same and
above it elsewhere. A share below e⁻⁷⁴⁵ counts as none. Pinned by `tests/test_beliefs.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.contrasts import Contrast
from fourcorner.design.cohort import Sample
from fourcorner.scores import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

NO_OPTIONS = "no_options"
WITHOUT = {
    "reason": NO_OPTIONS,
    "message": (
        "these scores are margins, which do not say how the other candidates fared; beliefs need "
        "the score of every candidate: declare option_score, candidate and target"
    ),
}


class Endpoint(NamedTuple):
    """Option scores of each transition before, or after, in every setting.

    Attributes
    ----------
    options : ndarray of shape (transitions, settings, candidates)
        In nats; NaN where one is missing or only a limit, minus infinity where there is no
        candidate.
    size : ndarray of shape (transitions, settings)
        How large the numbers are that they are made of: what rounding is relative to.
    """

    options: Floats
    size: Floats

    @property
    def reach(self) -> Floats:
        """How large the numbers are that a belief is made of."""
        return self.size + np.log(self.options.shape[-1])


Rule = Callable[[Endpoint, Endpoint, Codes], Floats]


def endpoint(options: Floats) -> Endpoint:
    """Options that were scored as they are, not made of larger numbers."""
    sizes = np.where(np.isfinite(options), np.abs(options), 0.0)
    return Endpoint(options, sizes.max(axis=-1))


def endpoints(data: Sample, gain: Contrast, wave: tuple[str, ...]) -> tuple[Endpoint, Endpoint]:
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
    before, after : Endpoint
        As `fourcorner.scores.reduced_options` and `fourcorner.scores.reduced_sizes`.
    """
    after = (names.STATE, names.AFTER)
    cells = sorted(sorted(cell - {after}) for cell in gain.weights if after in cell)
    found = [data.scores.sel(dict(cell)) for cell in cells]
    options = [scores.reduced_options(of, wave) for of in found]
    sizes = [scores.reduced_sizes(of, wave).expand_dims(names.OPTION) for of in found]
    first, second = (
        Endpoint(_settings(options, state), _settings(sizes, state)[..., 0])
        for state in names.STATES
    )
    return first, second


def _settings(found: Sequence[xr.DataArray], state: str) -> Floats:
    """Those of one state in all settings: shape (transitions, settings, candidates)."""
    each = []
    for array in found:
        last = array.sel({names.STATE: state}).transpose(names.TRANSITION, ..., names.OPTION)
        settings = int(np.prod(last.shape[1:-1]))
        each.append(np.asarray(last.values).reshape(last.shape[0], settings, last.shape[-1]))
    return np.concatenate(each, axis=1)


def values(before: Endpoint, after: Endpoint, target: Codes, kind: str) -> Floats:
    """A measure of each transition, averaged over its settings.

    Parameters
    ----------
    before, after : Endpoint
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

    >>> before, after = (endpoint(np.array([[of]])) for of in ([0.0, -9.0], [-9.0, 0.0]))
    >>> values(before, after, np.array([0]), "entropy_movement").tolist()
    [0.0]
    >>> values(before, after, np.array([0]), "surprise").round(3).tolist()
    [8.998]
    """
    there = complete(before, after)
    found = np.full(len(target), np.nan)
    first, second = (Endpoint(of.options[there], of.size[there]) for of in (before, after))
    found[there] = RULES[kind](first, second, target[there]).mean(axis=1)
    return found


def complete(before: Endpoint, after: Endpoint) -> NDArray[np.bool_]:
    """Which transitions have every score at both endpoints in every setting."""
    return ~(np.isnan(before.options) | np.isnan(after.options)).any(axis=(1, 2))


def size(before: Endpoint, after: Endpoint) -> float:
    """The largest number that a belief is made of, beside which rounding is nothing."""
    there = complete(before, after)
    return float(max(of.reach[there].max(initial=0.0) for of in (before, after)))


def _surprise(before: Endpoint, after: Endpoint, target: Codes) -> Floats:  # noqa: ARG001
    first, second = (scores.log_softmax(of.options) for of in (before, after))
    candidate = np.isfinite(second)
    first, second = (np.where(candidate, of, 0.0) for of in (first, second))
    share, moved = np.exp(second) * candidate, second - first
    rounding = ROUNDING * (before.reach + after.reach)
    moved = np.where(np.abs(moved) <= rounding[..., None], 0.0, moved)
    # of a candidate that loses much, the exponential of its loss would overflow
    near = share * (np.expm1(-np.maximum(moved, -1.0)) + moved)
    far = np.exp(first) - share + share * moved
    return np.where(moved > -1.0, near, far).sum(axis=-1)


def _entropy_movement(before: Endpoint, after: Endpoint, target: Codes) -> Floats:  # noqa: ARG001
    moved = _entropy(after.options) - _entropy(before.options)
    rounding = ROUNDING * (before.reach + after.reach)
    return np.where(np.abs(moved) <= rounding, 0.0, moved)


def _entropy(options: Floats) -> Floats:
    logs = scores.log_softmax(options)
    candidate = np.isfinite(logs)
    logs = np.where(candidate, logs, 0.0)
    return -(np.exp(logs) * logs).sum(axis=-1)


def _pivot(before: Endpoint, after: Endpoint, target: Codes) -> Floats:  # noqa: ARG001
    first, second = _leader(before), _leader(after)
    return ((first != second) & (first >= 0) & (second >= 0)).astype(float)


def _leader(of: Endpoint) -> Codes:
    """Place of the candidate that is alone on top; -1 where none is."""
    two = np.partition(of.options, -2, axis=-1)[..., -2:]
    alone = _gap(two[..., 1], two[..., 0], of.size) > 0
    return np.where(alone, of.options.argmax(axis=-1), -1)


def _fallen(before: Endpoint, after: Endpoint, target: Codes) -> Floats:
    """Whether the target is alone on top before, and below another candidate after."""
    return ((_margin(before, target) > 0) & (_margin(after, target) < 0)).astype(float)


def _margin(of: Endpoint, target: Codes) -> Floats:
    """Target's score less its nearest rival's."""
    is_target = np.arange(of.options.shape[-1]) == target[:, None, None]
    own = np.where(is_target, of.options, -np.inf).max(axis=-1)
    rival = np.where(is_target, -np.inf, of.options).max(axis=-1)
    return _gap(own, rival, of.size)


def _gap(high: Floats, low: Floats, size: Floats) -> Floats:
    """A difference, 0 where it is but rounding: as small as makes a margin 0."""
    gap = high - low
    rounding = ROUNDING * (np.abs(high) + np.abs(low) + 2 * size)
    return np.where(np.abs(gap) <= rounding, 0.0, gap)


RULES: Mapping[str, Rule] = {
    names.ENTROPY_MOVEMENT: _entropy_movement,
    names.SURPRISE: _surprise,
    names.PIVOT: _pivot,
    names.DAMAGE: _fallen,
    names.REPAIR: lambda before, after, target: _fallen(after, before, target),
}
