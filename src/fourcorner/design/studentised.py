"""Variance of a mixed mean in each draw, for bootstrap-t intervals.

The mean is linearised: unit i adds u_i = Σ over groups of √f (s_i − R c_i) / C, with s_i and c_i
its sum and count, R the mean that it enters, C that mean's count and f = n / (n − 1) for its n
units; the variance is Σ u_i² over the units drawn. A unit with transitions in both groups of a
group contrast has both terms in one u_i, so pairing counts.

Invariant: with one value for each unit it is s² / n of one mean, Σ w_g² s_g² / n_g of a weighted
one, the sum of both for two groups. Pinned by `tests/test_means.py`.
"""

from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from fourcorner.design.means import (
    Centred,
    Mixing,
    Totals,
    pooled_ratios,
    ratios,
    weighed,
)

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # relative to the terms of a variance


def moments(about: Centred) -> Floats:
    """Columns whose totals give the variance: shape (units, P + P (2 P + 1)).

    Whether the unit is in each group; then the products of its sums and counts, each pair once.
    """
    z = about.columns
    products = [z[:, i] * z[:, j] for i, j in _pairs(len(about.sign))]
    return np.column_stack([(about.counts > 0).astype(float), *products])


def variances(drawn: Totals, second: Floats, about: Centred, mix: Mixing) -> Floats:
    """Estimate the variance of θ(w) from each draw.

    Parameters
    ----------
    drawn : Totals
    second : ndarray of shape (draws, strata, P + P (2 P + 1))
        Totals of `moments`.
    about : Centred
    mix : Mixing

    Returns
    -------
    ndarray of shape (draws,)
        0 where all units drawn agree; NaN where a needed stratum has fewer than two of them.
    """
    size = len(about.sign)
    counts, units = drawn.strata[..., size:], second[..., :size]
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = weighed(np.sqrt(units / (units - 1)) / counts, mix.strata)
        offset = slope * np.where(mix.strata > 0, ratios(drawn.strata), 0.0)
        if mix.pooled > 0:
            number, total = units.sum(axis=1), counts.sum(axis=1)
            whole = (mix.pooled * np.sqrt(number / (number - 1)) / total)[:, None, :]
            slope = slope + whole
            moved = np.stack(pooled_ratios(drawn.pooled), axis=1)
            offset = offset + whole * ((about.pooled + moved)[:, None, :] - about.means)
        lever = [*np.moveaxis(about.sign * slope, 2, 0), *np.moveaxis(-about.sign * offset, 2, 0)]
        found, terms = np.zeros((2, len(second)))
        products = np.moveaxis(second[..., size:], 2, 0)
        for (i, j), product in zip(_pairs(size), products, strict=True):
            term = (1.0 if i == j else 2.0) * lever[i] * lever[j] * product
            found += term.sum(axis=1)
            terms += np.abs(term).sum(axis=1)
    found[found <= ROUNDING * terms] = 0.0
    return np.where(np.isfinite(found), found, np.nan)


def _pairs(groups: int) -> list[tuple[int, int]]:
    """Pairs of a unit's sums and counts over P groups, each once."""
    return list(combinations_with_replacement(range(2 * groups), 2))
