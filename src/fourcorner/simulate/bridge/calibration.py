"""The published figures of the bridge, and what brings finished draws to them.

Invariant: each map is affine within a stratum and a vertex, and cells plus noise have the published
means exactly. Pinned by `tests/test_bridge.py` (`test_means_and_spreads_hold_for_every_seed`).
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.bridge.mechanism import AFTER, BEFORE, GENERATED, QUOTE
from fourcorner.simulate.study import (
    STRATUM_SIZES,
    UNITS,
    Published,
    mean_inverse_count,
    rescaled,
    solve_by_size,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

OMEGA = (-1.305, -0.882, -8.278)
"""Generated minus quote at the vertices A, B and C, in the units of each."""
EQUAL_TARGET_OMEGA = (
    Published(-0.264, -0.985, 0.434),
    Published(-0.480, -0.868, -0.133),
    Published(0.429, -2.720, 3.401),
)
QUOTE_GAIN = tuple(-0.42 * omega for omega in OMEGA)
"""Ours: published only as positive beside a negative generated gain, Ω apart."""

_SHARES = np.array(STRATUM_SIZES) / UNITS
_EQUAL = np.full(len(STRATUM_SIZES), 1 / len(STRATUM_SIZES))


def calibrated(cells: Floats, noise: Floats, target: Ints) -> Floats:
    """Shift and scale noise-free cells so that cells plus noise match the figures.

    Parameters
    ----------
    cells, noise : ndarray of shape (n, state, view, vertex)
        Noise-free margins, and what the mean over layouts and waves adds.
    target : ndarray of shape (n,)
        Stratum of each trajectory.

    Returns
    -------
    ndarray of shape (n, state, view, vertex)
    """
    cells = cells.copy()
    cells[:, AFTER] += QUOTE_GAIN - _gains(cells + noise)[:, QUOTE].mean(axis=0)
    truth, added = (np.diff(_gains(part), axis=1)[:, 0] for part in (cells, noise))
    for vertex, (mean, equal) in enumerate(zip(OMEGA, EQUAL_TARGET_OMEGA, strict=True)):
        wanted = _matched(truth[:, vertex], added[:, vertex], target, mean, equal)
        missing = wanted - truth[:, vertex]
        cells[:, AFTER, GENERATED, vertex] += missing / 2
        cells[:, BEFORE, GENERATED, vertex] -= missing / 2
    return cells


def _gains(cells: Floats) -> Floats:
    """After minus before: (n, view, vertex)."""
    return cells[:, AFTER] - cells[:, BEFORE]


def _matched(truth: Floats, noise: Floats, target: Ints, mean: float, equal: Published) -> Floats:
    """Affine images of one vertex's Ω, by stratum, that fit both target mixtures at once.

    The large strata share one shift and so do the small ones, which makes two means. All strata
    share one variance v: the squared standard error of equal weights is the bootstrap's,
    v Σ E[1/N | N > 0] / S², N being how often a stratum is drawn.
    """
    strata = range(len(STRATUM_SIZES))
    means = np.array([(truth + noise)[target == g].mean() for g in strata])
    weights = np.stack([_SHARES, _EQUAL])
    means += solve_by_size(weights, np.array([mean, equal.mean]) - weights @ means, STRATUM_SIZES)
    inverse_counts = sum(mean_inverse_count(size, UNITS) for size in STRATUM_SIZES)
    variance = equal.variance * len(STRATUM_SIZES) ** 2 / inverse_counts
    wanted = np.empty_like(truth)
    for g in strata:
        inside = target == g
        wanted[inside] = rescaled(truth[inside], noise[inside], means[g], variance)
    return wanted
