"""Probabilities that two normal or t variables lie on opposite sides of zero.

Invariant: both orientations and the two of equal signs sum to one. Pinned by
`tests/test_flips.py`.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtr, owens_t

Floats = NDArray[np.float64]

NODES = 64  # of a t's scale


def opposite(mean: Floats, covariance: Floats, degrees: Floats | None = None) -> Floats:
    """P(first above zero, second below) and the other way round.

    Parameters
    ----------
    mean : ndarray of shape (…, 2)
    covariance : ndarray of shape (…, 2, 2)
        Of a normal; of a t its scale matrix.
    degrees : ndarray of shape (…), optional
        ν of a bivariate t; infinite ones are normal.

    Returns
    -------
    ndarray of shape (…, 2)

    Examples
    --------
    >>> opposite(np.zeros(2), np.eye(2)).tolist()
    [0.25, 0.25]
    """
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    standard = mean / sd
    correlation = covariance[..., 0, 1] / (sd[..., 0] * sd[..., 1])
    if degrees is None or np.isinf(degrees).all():
        return _normal(standard, correlation)
    found = np.zeros(np.broadcast_shapes(standard.shape, (*np.shape(degrees), 2)))
    for place in (np.arange(NODES) + 0.5) / NODES:  # quantiles of χ²/ν, one for all entries
        scale = np.sqrt(gammaincinv(degrees / 2, place) / (degrees / 2))
        found += _normal(standard * scale[..., None], correlation) / NODES
    return found


def _normal(standard: Floats, correlation: Floats) -> Floats:
    """As `opposite`, of means in standard deviations and a correlation."""
    first, second = standard[..., 0], standard[..., 1]
    both_below = lower(-first, -second, correlation)
    return np.stack([ndtr(-second) - both_below, ndtr(-first) - both_below], axis=-1).clip(0, 1)


def lower(h: Floats, k: Floats, correlation: Floats) -> Floats:
    """P(X < h, Y < k) of standard normals, by Owen's T (Owen 1956)."""
    h, k = (np.where(value == 0, np.finfo(float).tiny, value) for value in (h, k))
    root = np.sqrt((1 - correlation) * (1 + correlation))
    with np.errstate(over="ignore", divide="ignore"):
        towards_k, towards_h = (k / h - correlation) / root, (h / k - correlation) / root
    found = 0.5 * (ndtr(h) + ndtr(k)) - owens_t(h, towards_k) - owens_t(k, towards_h)
    return np.asarray(found - 0.5 * ((h < 0) != (k < 0)))
