"""Density of units about their strata by a multivariate t, with its derivatives, in one pass.

Invariant: value and derivatives are those of `scipy.stats.multivariate_t`, up to what ν alone
fixes. Pinned by `tests/test_student.py` against it and finite differences.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from fourcorner.bayes import matrices
from fourcorner.bayes.matrices import lower_inverse
from fourcorner.bayes.op import ClosedForm, version

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Graph = Any  # a PyTensor variable; numpy arrays do as well


def log_density(*inputs: Graph) -> Graph:
    """The value alone of `UnitsAboutStrata`, differentiable in the first four inputs."""
    return UnitsAboutStrata()(*inputs)[0]


@njit(error_model="numpy")
def value_and_slopes(
    factor: Floats,
    means: Floats,
    log_spread: Floats,
    degrees: Floats,
    coefficients: Floats,
    codes: Whole,
) -> tuple[float, Floats, Floats, Floats, Floats]:
    """Log density of all units less its constant in ν, and its derivatives in L, means, log s, ν.

    Parameters
    ----------
    factor : ndarray of shape (effects, effects)
        Cholesky factor of Σ.
    means : ndarray of shape (strata, effects)
    log_spread : ndarray of shape (strata,)
    degrees : ndarray of shape (1,)
        ν.
    coefficients : ndarray of shape (units, effects)
    codes : ndarray of int, shape (units,)
        Stratum of each unit.
    """
    units, size = coefficients.shape
    nu = degrees[0]
    inverse = lower_inverse(factor)
    off = np.empty((units, size))
    for i in range(units):
        off[i] = (coefficients[i] - means[codes[i]]) * np.exp(-log_spread[codes[i]])
    white = off @ inverse.T
    distance = (white**2) @ np.ones(size)
    logs = np.log1p(distance / nu)
    weight = (nu + size) / (nu + distance)  # of a unit: less the farther out
    pulled = white * weight.reshape(units, 1)
    value = (
        -0.5 * (nu + size) * logs.sum()
        + units * np.log(np.diag(inverse)).sum()
        - size * log_spread[codes].sum()
    )
    in_factor = np.tril(inverse.T @ (pulled.T @ white))
    for k in range(size):
        in_factor[k, k] -= units * inverse[k, k]
    lifted = pulled @ inverse
    in_means, in_spread = np.zeros(means.shape), np.zeros(len(log_spread))
    for i in range(units):
        in_means[codes[i]] += lifted[i] * np.exp(-log_spread[codes[i]])
        in_spread[codes[i]] += weight[i] * distance[i] - size
    in_degrees = 0.5 * (weight * distance / nu - logs).sum()
    return value, in_factor, in_means, in_spread, np.array([in_degrees])


class UnitsAboutStrata(ClosedForm):
    """Log density of units about their strata, and its derivatives in L, the means, log s and ν.

    Inputs: L, the Cholesky factor of Σ; the strata's means; log s; ν as an array of one; and the
    constants coefficients and stratum of each unit.
    """

    kernel = staticmethod(value_and_slopes)
    ranks = (2, 2, 1, 1)


@register_funcify_default_op_cache_key(UnitsAboutStrata)
def _compiled(*_: object, **__: object) -> tuple[Any, int]:
    @njit
    def density(
        factor: Floats,
        means: Floats,
        log_spread: Floats,
        degrees: Floats,
        coefficients: Floats,
        codes: Whole,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        value, in_factor, in_means, in_spread, in_degrees = value_and_slopes(
            np.ascontiguousarray(factor),
            np.ascontiguousarray(means),
            np.ascontiguousarray(log_spread),
            np.ascontiguousarray(degrees),
            np.ascontiguousarray(coefficients),
            np.ascontiguousarray(codes),
        )
        return np.array(value), in_factor, in_means, in_spread, in_degrees

    return density, version(__file__, matrices.__file__)
