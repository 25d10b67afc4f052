"""Signs of two gains over waves: how often they disagree, and how often one disagrees with itself.

A transition has G₀ and G₁ in each of W waves of one session. Across channels all W² pairings of a
wave of one with a wave of the other count, within a channel the W (W − 1) / 2 pairs of waves.
Zeros have no sign: they disagree with nothing and stay in the count.

Invariant: multiplying a channel's scores by a positive number, or swapping the channels, changes
no rate but the orientations. Pinned by `tests/test_signs.py`.
"""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fourcorner import contrasts, names, scores
from fourcorner.contrasts import ROUNDING, Contrast
from fourcorner.design.cohort import Sample
from fourcorner.measures import Measure

Floats = NDArray[np.float64]
Sizes = tuple[float, float]

ZONE_ACROSS = (
    "a dead zone is in the units of one scale, and the two gains are on scales that nothing links; "
    "the rows without a dead zone compare their signs"
)


def values(gains: Floats, measure: Measure, sizes: Sizes = (0.0, 0.0)) -> Floats:
    """A measure of each transition.

    Parameters
    ----------
    gains : ndarray of shape (transitions, waves, 2)
        Of the first channel and of the second; NaN where incomplete.
    measure : Measure
        One of `fourcorner.measures.SIGNS`; those that compare waves need two.
    sizes : (float, float)
        Of the scores that each channel's gains are made of: a gain that is further from zero than
        a dead zone by their rounding alone is on its edge.

    Returns
    -------
    ndarray of shape (transitions,)
        NaN unless both gains are complete in every wave.

    Examples
    --------
    >>> gains = np.array([[[0.4, -0.2], [0.1, 0.3]]])
    >>> values(gains, Measure("cross_channel")).tolist()
    [0.5]
    """
    complete = np.isfinite(gains).all(axis=(1, 2))
    found = np.full(len(gains), np.nan)
    found[complete] = _values(gains[complete], measure, ROUNDING * np.array(sizes))
    return found


def size(measure: Measure, sizes: Sizes) -> float:
    """Of the scores that a measure is made of; 1 for shares."""
    if measure.limits is not None:
        return 1.0
    first, second = sizes
    return {names.FIRST_GAIN: first, names.SECOND_GAIN: second}.get(measure.kind, first + second)


def mean_gains(gains: Floats) -> Floats:
    """Both gains of each transition, averaged over waves: shape (transitions, 2)."""
    kinds = (names.FIRST_GAIN, names.SECOND_GAIN)
    return np.stack([values(gains, Measure(kind)) for kind in kinds], axis=1)


def _values(gains: Floats, measure: Measure, nothing: Floats) -> Floats:
    if measure.kind in MEANS_OF:
        return MEANS_OF[measure.kind](gains[..., 0].mean(axis=1), gains[..., 1].mean(axis=1))
    sign = np.sign(gains)
    if measure.kind == names.BEYOND:
        opposite = sign[..., 0] * sign[..., 1] < 0
        return ((np.abs(gains) > measure.zone + nothing).all(axis=2) & opposite).mean(axis=1)
    return RATES[measure.kind](sign[..., 0], sign[..., 1])


def _crossed(first: Floats, second: Floats) -> Floats:
    """Share of pairings of a wave of one channel with a wave of the other that disagree."""
    return (first[:, :, None] * second[:, None, :] < 0).mean(axis=(1, 2))


def _opposite(positive: Floats, negative: Floats) -> Floats:
    """Share of those pairings in which one is positive and the other negative."""
    return (positive > 0).mean(axis=1) * (negative < 0).mean(axis=1)


def _retried(first: Floats, second: Floats) -> Floats:
    """Share of pairs of waves of one channel that disagree, over both channels."""
    pairs = list(combinations(range(first.shape[1]), 2))
    found = [(of[:, i] * of[:, j] < 0).astype(float) for of in (first, second) for i, j in pairs]
    return np.mean(found, axis=0)


def _always(positive: Floats, negative: Floats) -> Floats:
    """Whether one is positive and the other negative in every wave."""
    return ((positive > 0).all(axis=1) & (negative < 0).all(axis=1)).astype(float)


def _zero(first: Floats, second: Floats) -> Floats:
    return ((first == 0) | (second == 0)).any(axis=1).astype(float)


MEANS_OF: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    names.FIRST_GAIN: lambda first, _: first,
    names.SECOND_GAIN: lambda _, second: second,
    names.OMEGA: lambda first, second: second - first,
}
RATES: Mapping[str, Callable[[Floats, Floats], Floats]] = {
    names.CROSS_CHANNEL: _crossed,
    names.CROSS_CHANNEL_DOWN: _opposite,
    names.CROSS_CHANNEL_UP: lambda first, second: _opposite(second, first),
    names.SAME_CHANNEL: _retried,
    names.EXCESS: lambda first, second: _crossed(first, second) - _retried(first, second),
    names.PERSISTENT: lambda first, second: _always(first, second) + _always(second, first),
    names.PERSISTENT_DOWN: _always,
    names.PERSISTENT_UP: lambda first, second: _always(second, first),
    names.ZERO: _zero,
}


def unlinked(data: Sample, both: Contrast, measure: Measure) -> dict[str, Any] | None:
    """Why a measure says nothing of two gains on scales that nothing links.

    Signs need no link; a dead zone has the units of one scale, and a difference of gains too.
    """
    factors = scores.scale_factors(data.scores)
    if measure.kind == names.OMEGA:
        return contrasts.scale_refusal(both, factors)
    within = (contrasts.scale_refusal(gain, factors) for gain in both.parts)
    if (refused := next(filter(None, within), None)) is not None:
        return refused
    across = contrasts.scale_refusal(both, factors) if measure.zone else None
    return None if across is None else {**across, "message": ZONE_ACROSS}
