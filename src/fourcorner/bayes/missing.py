"""Density of cells that are missing in patterns or carry retry noise, with its derivatives.

What the observed cells tell of the strata's means is in `patterns`, the means are integrated out in
`means`; here both become one node of a graph.

Invariant: value and derivatives are those of the dense normal of the observed cells, also where a
cell was never observed. Pinned by `tests/test_patterns.py` against
`scipy.stats.multivariate_normal` and finite differences.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from fourcorner.bayes import matrices, means, patterns
from fourcorner.bayes.means import integrated
from fourcorner.bayes.op import ClosedForm, version
from fourcorner.bayes.patterns import in_covariances, told

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Graph = Any  # a PyTensor variable; numpy arrays do as well


def log_density(*inputs: Graph) -> Graph:
    """The value alone of `MissingIntegratedOut`, differentiable in the first four inputs."""
    return MissingIntegratedOut()(*inputs)[0]


@njit(error_model="numpy")
def value_and_slopes(
    factor: Floats,
    sd: Floats,
    log_spread: Floats,
    noise: Floats,
    stratum: Whole,
    count: Floats,
    off: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
    common: Floats,
    cells: Floats,
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Log density, and its derivatives in L, t, log s and the diagonal of N.

    Parameters
    ----------
    factor : ndarray of shape (effects, effects)
        L, Cholesky factor of Σ.
    sd : ndarray of shape (effects,)
        t, the sd of an effect between strata.
    log_spread : ndarray of shape (strata,)
    noise, stratum, count, off, scatter, place, missing, cells
        As for `told`.
    common : ndarray of shape (effects,)
        Prior variance of β.
    """
    sigma = factor @ factor.T
    variance = np.exp(2 * log_spread)
    found = told(sigma, variance, noise, stratum, count, off, scatter, place, missing, cells)
    gain, centres, covariances, in_sd = integrated(
        sd, np.sqrt(common), found.information, found.score
    )
    slopes = in_covariances(found, centres, covariances, count, off, scatter, place, missing)
    in_sigma = np.zeros_like(sigma)
    in_spread, in_noise = np.empty_like(variance), np.zeros_like(noise)
    for g in range(len(variance)):
        in_sigma += variance[g] * slopes[g]
        in_spread[g] = 2 * variance[g] * (slopes[g] * sigma).sum()
        in_noise += np.diag(slopes[g])
    return found.value + gain, np.tril(2 * in_sigma @ factor), in_sd, in_spread, in_noise


class MissingIntegratedOut(ClosedForm):
    """Log density of the observed cells, and its derivatives in L, t, log s and retry noise.

    Inputs: those of `value_and_slopes`.
    """

    kernel = staticmethod(value_and_slopes)
    ranks = (2, 1, 1, 1)


@register_funcify_default_op_cache_key(MissingIntegratedOut)
def _compiled(*_: object, **__: object) -> tuple[Any, int]:
    @njit
    def density(
        factor: Floats,
        sd: Floats,
        log_spread: Floats,
        noise: Floats,
        stratum: Whole,
        count: Floats,
        off: Floats,
        scatter: Floats,
        place: Whole,
        missing: Whole,
        common: Floats,
        cells: Floats,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        value, in_factor, in_sd, in_spread, in_noise = value_and_slopes(
            np.ascontiguousarray(factor),
            np.ascontiguousarray(sd),
            np.ascontiguousarray(log_spread),
            np.ascontiguousarray(noise),
            np.ascontiguousarray(stratum),
            np.ascontiguousarray(count),
            np.ascontiguousarray(off),
            np.ascontiguousarray(scatter),
            np.ascontiguousarray(place),
            np.ascontiguousarray(missing),
            np.ascontiguousarray(common),
            np.ascontiguousarray(cells),
        )
        return np.array(value), in_factor, in_sd, in_spread, in_noise

    return density, version(__file__, matrices.__file__, means.__file__, patterns.__file__)
