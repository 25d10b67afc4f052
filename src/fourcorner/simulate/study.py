"""What the imitated studies share: their strata, and how figures are published and calibrated to.

Invariant: a mean and a variance that are solved for by size are met exactly, one value serving all
large strata and one all small ones. Pinned by `tests/test_simulate.py`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fourcorner.errors import FourcornerError

Floats = NDArray[np.float64]

STATES = ("before", "after")
LAYOUTS = ("L0", "L1", "L2", "L3")
STRATUM_SIZES = (50, 38, 7, 5)
UNITS = sum(STRATUM_SIZES)
SMALL = 10
"""Strata below this size share what a calibration solves for, and so do the others."""

_Z95 = 1.959963984540054


class CalibrationError(FourcornerError, ValueError):
    """Draws that nothing a calibration may do brings to the published figures."""


class Published(NamedTuple):
    """A published mean with its 95 % trajectory-bootstrap percentile interval, in nats."""

    mean: float
    low: float
    high: float

    @property
    def variance(self) -> float:
        """Squared standard error that the interval's width implies."""
        return ((self.high - self.low) / (2 * _Z95)) ** 2


def solve_by_size(coefficients: NDArray[np.floating], right: Floats, sizes: ArrayLike) -> Floats:
    """Solve two equations for one value of the large and one of the small strata.

    Parameters
    ----------
    coefficients : ndarray of shape (2, stratum)
    right : ndarray of shape (2,)
    sizes : array_like of shape (stratum,)
        Trajectories of each stratum.

    Returns
    -------
    ndarray of shape (stratum,)
        Each stratum's value.
    """
    large = np.array(sizes) >= SMALL
    member = np.stack([large, ~large], axis=1).astype(np.float64)
    return member @ np.linalg.solve(coefficients @ member, right)


def mean_inverse_count(size: int, n: int) -> float:
    """E[1/N | N > 0] for N ~ Binomial(n, size / n): what a bootstrap's stratum mean varies by."""
    k = np.arange(1, n + 1)
    steps = (n - k + 1) / k * (size / (n - size))
    weights = np.cumprod(steps)
    return float((weights / k).sum() / weights.sum())


def rescaled(truth: Floats, noise: Floats, mean: float, variance: float) -> Floats:
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
