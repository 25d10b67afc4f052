"""Weighted means over transitions, as ratios of resampled sums.

Invariant: the point estimate is the draw in which every unit is taken once, so estimate and
bootstrap are one computation. Pinned by `tests/test_design.py`.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def stratum_totals(
    multiplicity: Floats, sums: Floats, counts: Floats, stratum: NDArray[np.int64], strata: int
) -> tuple[Floats, Floats]:
    """Sum values and counts over the units drawn, by stratum.

    Parameters
    ----------
    multiplicity : ndarray of shape (draws, units)
    sums, counts : ndarray of shape (units, estimands)
        Sum and number of a unit's complete transitions.
    stratum : ndarray of shape (units,)
        Code of each unit's stratum.
    strata : int

    Returns
    -------
    tuple of ndarray of shape (draws, strata, estimands)
    """
    both = np.hstack([sums, counts])
    drawn = np.empty((multiplicity.shape[0], strata, both.shape[1]))
    for code in range(strata):
        inside = np.flatnonzero(stratum == code)
        drawn[:, code] = np.take(multiplicity, inside, axis=1) @ both[inside]
    return drawn[:, :, : sums.shape[1]], drawn[:, :, sums.shape[1] :]


def weighted(totals: Floats, numbers: Floats, shares: Floats | None) -> Floats:
    """Compute θ(w) of each draw: the pooled mean, or Σ w_g × stratum mean.

    Parameters
    ----------
    totals, numbers : ndarray of shape (draws, strata, estimands)
    shares : ndarray of shape (strata,), or None
        None for the empirical mixture, resampled with the units.

    Returns
    -------
    ndarray of shape (draws, estimands)
        NaN where a stratum that is needed has no transition in the draw: an undefined draw.
    """
    with np.errstate(invalid="ignore"):
        if shares is None:
            return np.asarray(totals.sum(axis=1) / numbers.sum(axis=1))
        needed = shares > 0
        means = totals[:, needed] / numbers[:, needed]
        return np.asarray(np.einsum("g,bge->be", shares[needed], means))
