"""Means of strata and cohort, mixed by target weights, as ratios of resampled sums.

θ(w) = empirical × pooled mean + Σ w_g × stratum mean, and for a group contrast the second group's
less the first's. Each draw is told as its deviation from the estimate: sums are taken about the
strata's own means, so a large level costs no digits.

Invariant: the draw in which every unit is taken once deviates by nothing. Pinned by
`tests/test_means.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import Part
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Centred:
    """Sums of each unit's values about the mean of its stratum, for P groups.

    Attributes
    ----------
    sign : ndarray of shape (P,)
    sums, counts : ndarray of shape (units, P)
    means, numbers, units : ndarray of shape (strata, P)
        Mean, number of values and number of units; the mean of nothing is written 0.
    pooled : ndarray of shape (P,)
        Mean of all values.
    """

    sign: Floats
    sums: Floats
    counts: Floats
    means: Floats
    numbers: Floats
    units: Floats
    pooled: Floats

    @property
    def columns(self) -> Floats:
        """Sums, then counts: shape (units, 2 P)."""
        return np.hstack([self.sums, self.counts])

    def pooled_columns(self, stratum: NDArray[np.int64]) -> Floats:
        """Sums about the mean of all values, then counts: shape (units, 2 P)."""
        moved = (self.means - self.pooled)[stratum] * self.counts
        return np.hstack([self.sums + moved, self.counts])


class Totals(NamedTuple):
    """Sums and counts of some draws, for P groups.

    Attributes
    ----------
    strata : ndarray of shape (draws, strata, 2 P)
        Of `Centred.columns`; not looked at where no stratum's mean is weighed.
    pooled : sequence of 2 P arrays of shape (draws,)
        Of `Centred.pooled_columns`; not looked at where the pooled mean is not weighed.
    """

    strata: Floats
    pooled: Sequence[Floats]


@dataclass(frozen=True)
class Mixing:
    """What the pooled mean and each stratum's mean weigh.

    Attributes
    ----------
    pooled : float
    strata : ndarray of shape (strata, P)
    """

    pooled: float
    strata: Floats


def centred(data: Sample, parts: Sequence[Part]) -> Centred:
    """Sums by unit, with the means that they are about."""
    sums = np.stack([part.sums(data.units) for part in parts], axis=1)
    counts = np.stack([part.counts(data.units) for part in parts], axis=1)
    units = np.stack([part.sizes(data) for part in parts], axis=1).astype(float)
    once = totals(
        by_stratum(np.ones((1, data.units)), data.stratum, len(data.strata)),
        np.hstack([sums, counts]),
    )
    total, numbers = once[0, :, : len(parts)], once[0, :, len(parts) :]
    means = _ratio(total, numbers)
    return Centred(
        sign=np.array([float(part.sign) for part in parts]),
        sums=sums - means[data.stratum] * counts,
        counts=counts,
        means=means,
        numbers=numbers,
        units=units,
        pooled=_ratio(total.sum(axis=0), numbers.sum(axis=0)),
    )


def mixing(mixture: TargetWeights, about: Centred, plan: str) -> Mixing:
    """What a mixture weighs under a resampling plan.

    Resampling within strata holds the cohort's own mixture as it is, so the pooled mean is then
    the strata's means weighted by their numbers of values.
    """
    empirical = mixture.empirical
    fixed = np.zeros(len(about.means)) if mixture.shares is None else mixture.shares
    strata = np.repeat(fixed[:, None], len(about.sign), axis=1)
    if plan == names.WITHIN_STRATA and empirical > 0:
        strata = strata + empirical * _ratio(about.numbers, about.numbers.sum(axis=0))
        empirical = 0.0
    return Mixing(empirical, strata)


def estimate(about: Centred, mix: Mixing) -> float:
    """θ(w) of the cohort as it is; needed strata have values."""
    by_part = mix.pooled * about.pooled + (mix.strata * about.means).sum(axis=0)
    return float(about.sign @ by_part)


class Drawn(NamedTuple):
    """One stratum of some draws.

    Attributes
    ----------
    units : ndarray of shape (units of the stratum,)
        Codes.
    times : ndarray of shape (units of the stratum, draws)
        How often each is drawn.
    """

    units: NDArray[np.int64]
    times: Floats


def by_stratum(multiplicity: Floats, stratum: NDArray[np.int64], strata: int) -> list[Drawn]:
    """Split draws of shape (draws, units) into those of each stratum."""
    if strata == 1:
        return [Drawn(np.arange(len(stratum)), multiplicity.T)]
    inside = [np.flatnonzero(stratum == code) for code in range(strata)]
    return [Drawn(units, multiplicity.T[units]) for units in inside]


def totals(drawn: Sequence[Drawn], columns: Floats) -> Floats:
    """Sum columns over the units drawn, by stratum.

    Parameters
    ----------
    drawn : sequence of Drawn
        All strata of some draws.
    columns : ndarray of shape (units, columns)

    Returns
    -------
    ndarray of shape (draws, strata, columns)
        Each column of each stratum lies together in memory.
    """
    found = np.empty((len(drawn), columns.shape[1], drawn[0].times.shape[1]))
    for of_stratum, (units, times) in zip(found, drawn, strict=True):
        np.matmul(columns[units].T, times, out=of_stratum)
    return np.transpose(found, (2, 0, 1))


def deviations(drawn: Totals, about: Centred, mix: Mixing, *, rescale: bool = False) -> Floats:
    """How far θ(w) of each draw is from the estimate.

    Parameters
    ----------
    drawn : Totals
    about : Centred
    mix : Mixing
    rescale : bool
        Stretch each mean's deviation by √(n / (n − 1)) for its n units, which makes the variance
        over draws the unbiased one.

    Returns
    -------
    ndarray of shape (draws,)
        NaN where a needed stratum has no value in the draw.
    """
    found = np.float64(0.0)
    if mix.strata.any():
        strata = ratios(drawn.strata)
        if rescale:
            strata = strata * _stretch(about.units)
        found = (weighed(strata, mix.strata).sum(axis=1) * about.sign).sum(axis=1)
    if mix.pooled > 0:
        stretch = _stretch(about.units.sum(axis=0)) if rescale else np.ones(len(about.sign))
        shares = mix.pooled * about.sign * stretch
        for share, moved in zip(shares, pooled_ratios(drawn.pooled), strict=True):
            moved *= share
            found = found + moved if np.ndim(found) else moved
    return np.asarray(found)


def ratios(totals: Floats) -> Floats:
    """Sums over counts: the last axis goes from 2 P to P; NaN of nothing."""
    size = totals.shape[-1] // 2
    with np.errstate(invalid="ignore"):
        return np.asarray(totals[..., :size] / totals[..., size:])


def pooled_ratios(totals: Sequence[Floats]) -> list[Floats]:
    """Sums over counts of P groups; NaN of nothing."""
    size = len(totals) // 2
    with np.errstate(invalid="ignore"):
        return [sums / counts for sums, counts in zip(totals[:size], totals[size:], strict=True)]


def weighed(values: Floats, weights: Floats) -> Floats:
    """Weights times values, nothing where the weight is zero, whatever the value."""
    return weights * np.where(weights > 0, values, 0.0)


def _ratio(totals: Floats, numbers: Floats) -> Floats:
    return np.divide(totals, numbers, out=np.zeros_like(totals), where=numbers > 0)


def _stretch(units: Floats) -> Floats:
    """√(n / (n − 1)), and 1 where there is no second unit: such a stratum has no interval."""
    return np.sqrt(np.divide(units, units - 1, out=np.ones_like(units), where=units > 1))
