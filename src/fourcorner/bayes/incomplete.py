"""Units with missing cells: grouped by what they miss, and completed for a first look.

Units alike in stratum and in the cells that they miss are one group, so the cost of a fit grows
with the number of patterns, not of units. The completion serves to choose the sampler's
coordinates and to stand in the place of missing cells; the density does not depend on it.

Invariant: what is not observed never enters the density. Pinned by `tests/test_patterns.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

ROUNDS = 20  # of expectation and maximisation; the estimate need not be exact


@dataclass(frozen=True)
class Groups:
    """Units alike in stratum and in what they miss.

    Attributes
    ----------
    stratum : ndarray of int, shape (groups,)
        Position of each group's stratum, ascending.
    missing : ndarray of int, shape (groups, cells)
        1 where the group's units lack a cell.
    count : ndarray of shape (groups,)
    mean : ndarray of shape (groups, effects)
        With missing cells filled in.
    scatter : ndarray of shape (scatters, effects, effects)
        Sum of squares and products about the group's mean, of groups with several units.
    place : ndarray of int, shape (groups,)
        Position of a group's scatter; -1 for a group of one unit.
    """

    stratum: Whole
    missing: Whole
    count: Floats
    mean: Floats
    scatter: Floats
    place: Whole

    def standardised(self, location: Floats, scale: Floats) -> "Groups":
        """The same groups of effects less `location` and divided by `scale`, by effect."""
        return replace(
            self,
            mean=(self.mean - location) / scale,
            scatter=self.scatter / np.multiply.outer(scale, scale),
        )


def grouped(codes: Whole, missing: NDArray[np.bool_], coefficients: Floats) -> Groups:
    """Group units by stratum and by what they miss.

    Parameters
    ----------
    codes : ndarray of int, shape (units,)
        Of each unit's stratum.
    missing : ndarray of bool, shape (units, cells)
    coefficients : ndarray of shape (units, effects)
        With missing cells filled in.
    """
    keys = np.column_stack([codes, missing]).astype(np.int64)
    found, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    parts = np.split(coefficients[order], np.cumsum(np.bincount(inverse))[:-1])
    count = np.array([float(len(part)) for part in parts])
    several = count > 1
    scatters = [
        (part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in parts if len(part) > 1
    ]
    effects = coefficients.shape[1]
    return Groups(
        found[:, 0],
        found[:, 1:],
        count,
        np.array([part.mean(axis=0) for part in parts]),
        np.array(scatters).reshape(-1, effects, effects),
        np.where(several, np.cumsum(several) - 1, -1),
    )


def whole_strata(count: Floats, mean: Floats, scatter: Floats, cells: int) -> Groups:
    """Strata of complete units as groups."""
    strata = np.arange(len(count))
    nothing = np.zeros((len(count), cells), dtype=np.int64)
    return Groups(strata, nothing, count, mean, scatter, strata)


def completed(flat: Floats, codes: Whole, strata: int, ridge: Floats) -> tuple[Floats, Floats]:
    """Cells with what is missing at its expectation, and the covariance of what is not seen.

    Normal cells with a mean for each stratum and one covariance, by expectation and maximisation.

    Parameters
    ----------
    flat : ndarray of shape (units, cells)
        NaN where missing.
    codes : ndarray of int, shape (units,)
    strata : int
    ridge : ndarray of shape (cells,)
        Variance of each cell in one unit more than there are, and of a cell that nobody has.

    Returns
    -------
    tuple of ndarray
        Completed cells; and the summed conditional covariances of the missing ones: shape
        (strata, cells, cells).
    """
    missing = np.isnan(flat)
    mean = stratum_means(flat, codes, strata)
    filled = np.where(missing, mean[codes], flat)
    cells = flat.shape[1]
    unseen = np.diag(np.where(missing.all(axis=0), len(flat) * ridge, 0.0))
    covariance = _covariance(filled - mean[codes], unseen, ridge, strata)
    patterns, inverse = np.unique(missing, axis=0, return_inverse=True)
    members = [np.flatnonzero(inverse == i) for i in range(len(patterns))]
    spare = np.zeros((strata, cells, cells))
    for _ in range(ROUNDS):
        spare[:] = 0
        for lost, inside in zip(patterns, members, strict=True):
            if lost.any():
                within = covariance[np.ix_(~lost, ~lost)]
                slope = np.linalg.solve(within, covariance[np.ix_(~lost, lost)])
                about = mean[codes[inside]]
                known = flat[inside][:, ~lost] - about[:, ~lost]
                filled[np.ix_(inside, lost)] = about[:, lost] + known @ slope
                left = covariance[np.ix_(lost, lost)] - covariance[np.ix_(lost, ~lost)] @ slope
                number = np.bincount(codes[inside], minlength=strata).astype(float)
                spare[np.ix_(range(strata), lost, lost)] += np.multiply.outer(number, left)
        mean = stratum_means(filled, codes, strata)
        covariance = _covariance(filled - mean[codes], spare.sum(axis=0), ridge, strata)
    return filled, spare


def stratum_means(flat: Floats, codes: Whole, strata: int) -> Floats:
    """Mean of each stratum's observed cells: shape (strata, cells).

    A cell that a stratum lacks takes its mean over all units, one that all lack the grand mean.
    """
    seen = ~np.isnan(flat)
    indicator = (np.arange(strata)[:, None] == codes).astype(float)
    total, count = indicator @ np.where(seen, flat, 0.0), indicator @ seen
    everywhere, units = total.sum(axis=0), count.sum(axis=0)
    grand = everywhere.sum() / units.sum()
    overall = np.divide(everywhere, units, out=np.full(len(units), grand), where=units > 0)
    return np.divide(total, count, out=np.tile(overall, (strata, 1)), where=count > 0)


def _covariance(residual: Floats, spare: Floats, ridge: Floats, strata: int) -> Floats:
    squares = residual.T @ residual + spare + np.diag(ridge)
    return squares / max(len(residual) - strata + 1, 1)
