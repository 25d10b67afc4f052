"""Density of all cells with the locations integrated out, with its derivatives, in one pass.

For strata whose covariances are multiples of each other; `missing` is for all others.

Invariant: value and derivatives are those of the dense normal with β and δ integrated out. Pinned
by `tests/test_cell_model.py` against `scipy.stats.multivariate_normal` and finite differences.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from fourcorner.bayes import matrices
from fourcorner.bayes.matrices import add_to_diagonal, lower_inverse
from fourcorner.bayes.op import ClosedForm, version

Floats = NDArray[np.float64]
Graph = Any  # a PyTensor variable; numpy arrays do as well


def log_density(*inputs: Graph) -> Graph:
    """The value alone of `LocationsIntegratedOut`, differentiable in the first three inputs."""
    return LocationsIntegratedOut()(*inputs)[0]


@njit(error_model="numpy")
def value_and_slopes(
    factor: Floats,
    own: Floats,
    log_spread: Floats,
    count: Floats,
    off: Floats,
    scatter: Floats,
    common: Floats,
) -> tuple[float, Floats, Floats, Floats]:
    """Log density, and its derivatives in L, diag(T) and log s.

    Parameters
    ----------
    factor : ndarray of shape (effects, effects)
        Cholesky factor of Σ.
    own : ndarray of shape (effects,)
        Diagonal of T.
    log_spread, count : ndarray of shape (strata,)
    off : ndarray of shape (strata, effects)
        The strata's means less the prior location.
    scatter : ndarray of shape (strata, effects, effects)
    common : ndarray of shape (effects,)
        Prior variance of β.

    Notes
    -----
    With v_g = s_g²/n_g a stratum's mean has covariance A_g = v_g Σ + T, and all of them share
    11ᵀ ⊗ M, M = diag(common) − T/G, since zero-sum deviations are independent ones less their
    mean. One eigenproblem, L⁻¹ T L⁻ᵀ = Q diag(λ) Qᵀ, makes every A_g diagonal in H = Qᵀ L⁻¹, so
    the cost is a few K × K products for any number of strata. Eigenvectors have no derivative
    where eigenvalues coincide, the density has: hence the closed form.
    """
    strata, size = off.shape
    units, degrees = count.sum(), count - 1
    ones = np.ones(strata)
    inverse = lower_inverse(factor)
    root = inverse * np.sqrt(own)
    eigenvalues, vectors = np.linalg.eigh(root @ root.T)
    lift = vectors.T @ inverse  # H
    precision = np.exp(-2 * log_spread)
    variance = 1 / (precision * count)  # v
    column = variance.reshape(strata, 1)
    shrink = 1 / (column + eigenvalues)  # strata × K, the diagonal of each A_g⁻¹
    weight = ones @ shrink
    white = off @ lift.T
    pulled = ones @ (shrink * white) / weight  # precision-weighted mean
    between = variance @ shrink
    moved = add_to_diagonal((lift * common) @ lift.T, between / (strata * weight))  # B
    moved_lower = np.linalg.cholesky(moved)
    moved_root = lower_inverse(moved_lower)
    moved_inverse = moved_root.T @ moved_root
    half = moved_inverse @ pulled
    scatters = scatter.reshape(strata, size * size)
    within = lift @ (precision @ scatters).reshape(size, size) @ lift.T
    value = -0.5 * (
        units * size * (np.log(2 * np.pi) + np.log(size))
        + size * (2 * degrees * log_spread + np.log(count)).sum()
        - 2 * units * np.log(np.diag(inverse)).sum()
        + np.diag(within).sum()
        - np.log(shrink).sum()
        + np.log(weight).sum()
        + 2 * np.log(np.diag(moved_lower)).sum()
        + (shrink * white**2).sum()
        - (weight * pulled**2).sum()
        + (pulled * half).sum()
    )
    residual = shrink * (white - pulled + half / weight)  # Hᵀ residual is W⁻¹ (ȳ − location)
    kept = add_to_diagonal(-moved_inverse / (weight.reshape(size, 1) * weight), 1 / weight)
    in_covariance = add_to_diagonal(
        -within - kept * ((column * shrink).T @ shrink) - (column * residual).T @ residual,
        degrees.sum() + between,
    )
    total = ones @ residual
    in_own = add_to_diagonal(
        -kept * (shrink.T @ shrink)
        - residual.T @ residual
        - (moved_inverse - total.reshape(size, 1) * total) / strata,
        weight,
    )
    spread_own = (shrink - shrink**2 * np.diag(kept) - residual**2) @ np.ones(size)
    in_spread = (
        -size * degrees + precision * (scatters @ (inverse.T @ inverse).ravel())
    ) - variance * spread_own
    return (
        value,
        np.tril(-(lift.T @ in_covariance @ vectors.T)),
        -0.5 * (np.ones(size) @ ((in_own @ lift) * lift)),
        in_spread,
    )


class LocationsIntegratedOut(ClosedForm):
    """Log density of all cells given the variances, and its derivatives in L, diag(T) and log s.

    Inputs: L, the Cholesky factor of Σ; the diagonal of T; log s; and the constants count; the
    strata's means less the prior location; scatter; prior variance of β.
    """

    kernel = staticmethod(value_and_slopes)
    ranks = (2, 1, 1)


@register_funcify_default_op_cache_key(LocationsIntegratedOut)
def _compiled(*_: object, **__: object) -> tuple[Any, int]:
    @njit
    def density(
        factor: Floats,
        own: Floats,
        log_spread: Floats,
        count: Floats,
        off: Floats,
        scatter: Floats,
        common: Floats,
    ) -> tuple[Floats, Floats, Floats, Floats]:
        value, in_factor, in_own, in_spread = value_and_slopes(
            np.ascontiguousarray(factor),
            np.ascontiguousarray(own),
            np.ascontiguousarray(log_spread),
            np.ascontiguousarray(count),
            np.ascontiguousarray(off),
            np.ascontiguousarray(scatter),
            np.ascontiguousarray(common),
        )
        return np.array(value), in_factor, in_own, in_spread

    return density, version(__file__, matrices.__file__)
