"""How the gap between a design estimate and a posterior mean varies with the units, from the draws.

To first order a unit moves the posterior mean by the posterior covariance of the estimand and the
unit's log likelihood (the infinitesimal jackknife), and the design estimate, a mean in strata, by
the unit's own share of it. The variance of the difference over units within strata needs neither a
refit nor the model's word on how its units vary.

Invariant: where the posterior mean is b times the design estimate the variance is (1 − b)² times
the design estimate's. Pinned by `tests/test_student.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.tree import group

Floats = NDArray[np.float64]


def influence(tree: xr.DataTree, draws: Floats) -> Floats | None:
    """What each unit moves a posterior mean by, to first order: shape (units,).

    None where the fit left its log likelihood out.

    Parameters
    ----------
    tree : DataTree
    draws : ndarray of shape (chains, draws)
        Of the estimand.
    """
    if names.LOG_LIKELIHOOD not in tree.children:
        return None
    density = group(tree, names.LOG_LIKELIHOOD)[names.CELLS].values
    flat = density.reshape(-1, density.shape[-1])
    centred = draws.ravel() - draws.mean()
    return np.asarray(centred @ (flat - flat.mean(axis=0)) / (len(flat) - 1))


def variance(moved: Floats, codes: NDArray[np.int64]) -> float:
    """Variance of a sum of what units move, drawn within strata; strata of one unit add nothing."""
    count = np.bincount(codes)
    mean = np.bincount(codes, moved) / np.maximum(count, 1)
    squares = np.bincount(codes, (moved - mean[codes]) ** 2)
    several = count > 1
    return float((squares[several] * count[several] / (count[several] - 1)).sum())
