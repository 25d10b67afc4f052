"""Products, inverses and determinants of small matrices, compiled.

Invariant: each does what its NumPy counterpart would; they only save calls and temporary arrays.
Pinned by the densities that use them, `tests/test_cell_model.py` and `tests/test_patterns.py`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(error_model="numpy", fastmath=True)
def dot(left: Floats, right: Floats) -> float:
    """Sum of products of two rows."""
    total = 0.0
    for k in range(len(left)):
        total += left[k] * right[k]
    return total


@njit(error_model="numpy")
def add(row: Floats, other: Floats, times: float) -> None:
    """Add a multiple of another row to a row."""
    for k in range(len(row)):
        row[k] += times * other[k]


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
def identity_and(left: Floats, matrix: Floats, right: Floats, out: Floats) -> None:
    """Write the identity plus a matrix with its rows and columns multiplied."""
    for i in range(len(left)):
        for j in range(len(right)):
            out[i, j] = left[i] * matrix[i, j] * right[j]
        out[i, i] += 1


@njit(error_model="numpy")
def inverse_of(matrix: Floats) -> tuple[Floats, float]:
    """Inverse and log determinant of a positive definite matrix."""
    root = lower_inverse(np.linalg.cholesky(matrix))
    log_det = 0.0
    for k in range(len(root)):
        log_det -= 2 * np.log(root[k, k])
    return root.T @ root, log_det
