"""Time of one gradient, as the sampler calls it, beside the bare LAPACK and BLAS that it needs.

Every program is called through its C address from compiled loops, so no Python is timed, and
repetitions of what is compared are interleaved, so that a busy machine slows all of it alike.
"""

import ctypes
import time
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np
from numba.extending import get_cython_function_address
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Runner = Callable[[int], Any]

WORD = ctypes.c_ssize_t
_kept: list[NDArray[Any]] = []  # what C functions point at
_programs: list[Any] = []


def least(runners: Mapping[str, Runner], calls: int, rounds: int) -> dict[str, float]:
    """Least microseconds per call of each runner over interleaved rounds."""
    best = dict.fromkeys(runners, np.inf)
    for run in runners.values():
        run(2)
    for _ in range(rounds):
        for name, run in runners.items():
            start = time.perf_counter()
            run(calls)
            best[name] = min(best[name], (time.perf_counter() - start) / calls * 1e6)
    return best


def sampler_gradient(program: Any, points: Floats) -> Runner:
    """A loop over points of the log density and gradient that nutpie calls."""
    function = ctypes.CFUNCTYPE(ctypes.c_int64, *[WORD] * 5)(program.compiled_logp_func.address)
    rows, size = points.shape
    start, slope, value = _hold(points), _hold(np.zeros(size)), _hold(np.zeros(1))
    data = program.user_data.ctypes.data
    _programs.append(program)  # its data hold addresses of arrays that live as long as it does

    @numba.njit
    def run(calls):
        failed = 0
        for i in range(calls):
            failed += function(size, start + 8 * size * (i % rows), slope, value, data)
        return failed

    def checked(calls: int) -> None:
        if run(calls) != 0:
            raise RuntimeError("the density failed at one of the points")

    checked(rows)
    return checked


def bare_work(factors: Floats, owns: Floats, strata: int) -> dict[str, Runner]:
    """Loops over the matrix work of one gradient.

    Parameters
    ----------
    factors : ndarray of shape (points, effects, effects)
        Cholesky factors of Σ.
    owns : ndarray of shape (points, effects)
        Diagonals of T.
    strata : int

    Returns
    -------
    dict of str to Runner
        The eigenproblem of L⁻¹ T L⁻ᵀ (dsyevd, at the points), a Cholesky factor (dpotrf), two
        triangular inverses (dtrtri), nine K × K × K products and six K × strata × K ones (dgemm):
        what `density.value_and_slopes` factors and multiplies.
    """
    size = factors.shape[1]
    inverse = np.linalg.inv(factors)
    symmetric = (inverse * owns[:, None]) @ inverse.swapaxes(1, 2)
    return {
        "eigenproblem": _eigen(symmetric),
        "Cholesky factor": _in_place("dpotrf", symmetric + np.eye(size)),
        "two triangular inverses": _twice(_in_place("dtrtri", factors.swapaxes(1, 2))),
        "nine products": _products(size, size, 9),
        "six thin products": _products(size, strata, 6),
    }


def _hold(array: NDArray[Any]) -> int:
    """Address of a contiguous copy that stays."""
    _kept.append(np.array(array, order="C"))
    return _kept[-1].ctypes.data


def _whole(number: int) -> int:
    return _hold(np.array([number], np.int32))


def _letter(letter: str) -> int:
    return _hold(np.array([ord(letter)], np.int8))


def _routine(library: str, name: str, arguments: int) -> Any:
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None, *[WORD] * arguments)(address)


def _eigen(matrices: Floats) -> Runner:
    solve, copy = _routine("lapack", "dsyevd", 11), _routine("blas", "dcopy", 5)
    points, size, _ = matrices.shape
    source, target = _hold(matrices), _hold(np.zeros((size, size)))
    cells, n, one, info = _whole(size * size), _whole(size), _whole(1), _whole(0)
    room = 1 + 6 * size + 2 * size**2
    values, work, length = _hold(np.zeros(size)), _hold(np.zeros(room)), _whole(room)
    room = 3 + 5 * size
    whole_work, whole_length = _hold(np.zeros(room, np.int32)), _whole(room)
    vectors, lower = _letter("V"), _letter("L")
    step = 8 * size * size

    @numba.njit
    def run(calls):
        for i in range(calls):
            copy(cells, source + step * (i % points), one, target, one)
            solve(
                vectors, lower, n, target, n, values, work, length, whole_work, whole_length, info
            )

    return run


def _in_place(name: str, matrices: Floats) -> Runner:
    """Dpotrf or dtrtri of copies of matrices that hold a lower triangle in Fortran's order."""
    copy = _routine("blas", "dcopy", 5)
    points, size, _ = matrices.shape
    source, target = _hold(matrices), _hold(np.zeros((size, size)))
    cells, n, one, info = _whole(size * size), _whole(size), _whole(1), _whole(0)
    lower, general = _letter("L"), _letter("N")
    step = 8 * size * size
    if name == "dpotrf":
        factor = _routine("lapack", "dpotrf", 5)

        @numba.njit
        def run(calls):
            for i in range(calls):
                copy(cells, source + step * (i % points), one, target, one)
                factor(lower, n, target, n, info)

        return run
    invert = _routine("lapack", "dtrtri", 6)

    @numba.njit
    def run_inverse(calls):
        for i in range(calls):
            copy(cells, source + step * (i % points), one, target, one)
            invert(lower, general, n, target, n, info)

    return run_inverse


def _twice(run: Runner) -> Runner:
    return lambda calls: run(2 * calls)


def _products(size: int, inner: int, number: int) -> Runner:
    """`number` products of a size × inner by an inner × size matrix."""
    multiply = _routine("blas", "dgemm", 13)
    generator = np.random.default_rng(0)
    left, right = (_hold(generator.normal(size=(size, inner))) for _ in range(2))
    product = _hold(np.zeros((size, size)))
    n, k = _whole(size), _whole(inner)
    one, zero = _hold(np.ones(1)), _hold(np.zeros(1))
    plain, transposed = _letter("N"), _letter("T")

    @numba.njit
    def run(calls):
        for _ in range(calls * number):
            multiply(plain, transposed, n, n, k, one, left, n, right, n, zero, product, n)

    return run
