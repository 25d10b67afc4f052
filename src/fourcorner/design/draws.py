"""Shared bootstrap draws: how often each unit is drawn, the same for every estimand.

Invariant: the draws depend on the seed, the number of units and, within strata, which unit is in
which stratum; not on block size. Pinned by `tests/test_design.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**23
NEAR = 2**16  # numbers that are drawn and counted at a time


def multiplicities(units: int, draws: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """Plain bootstrap: units drawn from the whole cohort with replacement.

    Parameters
    ----------
    units, draws : int
    seed : int

    Yields
    ------
    ndarray of shape (block, units)
        Times each unit is drawn; rows sum to `units`. Blocks add up to `draws` rows and hold at
        most 2**23 numbers (or one row).

    Examples
    --------
    >>> [block.sum(axis=1).tolist() for block in multiplicities(3, 2, seed=1)]
    [[3.0, 3.0]]
    """
    generator = np.random.default_rng(seed)
    step = max(1, BLOCK // max(units, 1))
    for start in range(0, draws, step):
        block = min(step, draws - start)
        yield _counted(
            lambda rows: generator.integers(0, max(units, 1), size=(rows, units)), block, units
        )


def within_strata(
    stratum: NDArray[np.int64], draws: int, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Bootstrap within strata: each stratum's units drawn from that stratum, its size fixed.

    Parameters
    ----------
    stratum : ndarray of shape (units,)
        Code of each unit's stratum.
    draws, seed : int

    Yields
    ------
    ndarray of shape (block, units)
        Times each unit is drawn; a row sums to the size of each stratum over its units.

    Examples
    --------
    >>> codes = np.array([0, 1, 0])
    >>> (block,) = within_strata(codes, 4, seed=1)
    >>> block[:, 1].tolist(), block[:, [0, 2]].sum(axis=1).tolist()
    ([1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0])
    """
    generator = np.random.default_rng(seed)
    units = len(stratum)
    order = np.argsort(stratum, kind="stable")
    _, first, sizes = np.unique(stratum[order], return_index=True, return_counts=True)
    start, size = np.repeat(first, sizes), np.repeat(sizes, sizes)
    step = max(1, BLOCK // max(units, 1))
    for begin in range(0, draws, step):
        block = min(step, draws - begin)
        yield _counted(
            lambda rows: order[start + (generator.random((rows, units)) * size).astype(np.int64)],
            block,
            units,
        )


def _counted(
    chosen: Callable[[int], NDArray[np.int64]], draws: int, units: int
) -> NDArray[np.float64]:
    """How often each draw chose each unit, some draws at a time so that they stay close.

    A unit's draws lie side by side in memory: what units add is summed so.
    """
    counts = np.empty((units, draws))
    step = max(1, NEAR // max(units, 1))
    for start in range(0, draws, step):
        rows = min(step, draws - start)
        codes = chosen(rows) + units * np.arange(rows)[:, None]
        found = np.bincount(codes.ravel(), minlength=rows * units)
        counts[:, start : start + rows] = found.reshape(rows, units).T
    return counts.T
