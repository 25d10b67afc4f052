"""Density of all cells with the locations integrated out, with its derivatives, in one pass.

The matrices are small (effects × effects), so what costs is the number of operations, not their
size: one compiled function in place of a graph of a hundred nodes takes half the time and a
fraction of the compilation.

Invariant: value and derivatives are those of the dense normal with β and δ integrated out. Pinned
by `tests/test_cell_model.py` against `scipy.stats.multivariate_normal` and finite differences.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numba import njit
from numpy.typing import NDArray
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

Floats = NDArray[np.float64]
Graph = Any  # a PyTensor variable; numpy arrays do as well


class LocationsIntegratedOut(Op):
    """Log density of all cells given the variances, and its derivatives in L, diag(T) and log s.

    Inputs: L, the Cholesky factor of Σ; the diagonal of T; log s; and the constants count; the
    strata's means less the prior location; scatter; prior variance of β. Outputs: the value and
    its derivatives in the first three.
    """

    __props__: tuple[str, ...] = ()

    def make_node(self, *inputs: Graph) -> Apply:
        """The node of seven inputs."""
        tensors = [pt.as_tensor(item) for item in inputs]
        outputs = [pt.dscalar(), pt.dmatrix(), pt.dvector(), pt.dvector()]
        return Apply(self, tensors, outputs)

    def perform(self, _: Apply, inputs: list[Floats], output_storage: list[list[Graph]]) -> None:
        """Evaluate outside numba's mode."""
        for storage, found in zip(output_storage, value_and_slopes(*inputs), strict=True):
            storage[0] = np.asarray(found)

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The value has derivatives in the first three inputs, the derivatives have none."""
        return [[i < 3, False, False, False] for i in range(len(node.inputs))]

    def pullback(
        self, inputs: Sequence[Graph], outputs: Sequence[Graph], cotangents: Sequence[Graph]
    ) -> list[Graph]:
        """The derivatives that the same node gives."""
        constants = [DisconnectedType()() for _ in inputs[3:]]
        return [*(cotangents[0] * slope for slope in outputs[1:]), *constants]


def log_density(*inputs: Graph) -> Graph:
    """The value alone of `LocationsIntegratedOut`, differentiable in the first three inputs."""
    return LocationsIntegratedOut()(*inputs)[0]


@njit(error_model="numpy")
def lower_inverse(lower: Floats) -> Floats:
    """Inverse of a lower triangle: shape (n, n)."""
    inverse = np.zeros_like(lower)
    for i in range(len(lower)):
        for k in range(i):
            for j in range(k + 1):
                inverse[i, j] -= lower[i, k] * inverse[k, j]
        for j in range(i):
            inverse[i, j] /= lower[i, i]
        inverse[i, i] = 1 / lower[i, i]
    return inverse


@njit(error_model="numpy")
def add_to_diagonal(matrix: Floats, values: Floats) -> Floats:
    """The matrix itself with values added to its diagonal."""
    for i in range(len(values)):
        matrix[i, i] += values[i]
    return matrix


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


_VERSION = int(hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:15], 16)  # when cached


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

    return density, _VERSION
