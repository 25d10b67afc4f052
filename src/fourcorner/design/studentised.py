"""Variance of a mixed mean in each draw, for bootstrap-t intervals.

The mean is linearised: unit i adds u_i = Σ over groups of √f (s_i − R c_i) / C, with s_i and c_i
its sum and count, R the mean that it enters, C that mean's count and f = n / (n − 1) for its n
units; the variance is Σ u_i² over the units drawn. A unit with transitions in both groups of a
group contrast has both terms in one u_i, so pairing counts.

Invariant: with one value for each unit it is s² / n of one mean, Σ w_g² s_g² / n_g of a weighted
one, the sum of both for two groups. Pinned by `tests/test_means.py`.
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.design.means import Centred, Mixing, mean_deviations, weighed

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # relative to the terms of a variance


def moments(about: Centred) -> Floats:
    """Columns whose totals give the variance: shape (units, P + 4 P²).

    Whether the unit is in each group; then the products of its sums and counts.
    """
    z = about.columns
    products = z[:, :, None] * z[:, None, :]
    return np.hstack([(about.counts > 0).astype(float), products.reshape(len(z), -1)])


def variances(drawn: Floats, second: Floats, about: Centred, mix: Mixing) -> Floats:
    """Estimate the variance of θ(w) from each draw.

    Parameters
    ----------
    drawn : ndarray of shape (draws, strata, 2 P)
        Totals of sums and counts.
    second : ndarray of shape (draws, strata, P + 4 P²)
        Totals of `moments`.
    about : Centred
    mix : Mixing

    Returns
    -------
    ndarray of shape (draws,)
        0 where all units drawn agree; NaN where a needed stratum has fewer than two of them.
    """
    size = len(about.sign)
    counts, units = drawn[..., size:], second[..., :size]
    products = second[..., size:].reshape(*second.shape[:2], 2 * size, 2 * size)
    pooled, strata = mean_deviations(drawn, about)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = weighed(np.sqrt(units / (units - 1)) / counts, mix.strata)
        offset = slope * np.where(mix.strata > 0, strata, 0.0)
        if mix.pooled > 0:
            number, total = units.sum(axis=1), counts.sum(axis=1)
            whole = (mix.pooled * np.sqrt(number / (number - 1)) / total)[:, None, :]
            slope = slope + whole
            offset = offset + whole * ((about.pooled + pooled)[:, None, :] - about.means)
        lever = np.concatenate([about.sign * slope, -about.sign * offset], axis=2)
        moved = np.einsum("bgij,bgj->bgi", products, lever)
        found = (lever * moved).sum(axis=(1, 2))
        terms = np.einsum("bgi,bgij,bgj->b", np.abs(lever), np.abs(products), np.abs(lever))
    found[found <= ROUNDING * terms] = 0.0
    return np.where(np.isfinite(found), found, np.nan)
