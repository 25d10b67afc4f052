"""Shared draws: how often each unit is drawn, or how much it weighs, for every estimand.

Invariant: the draws depend on the seed, the number of units and, within strata, which unit is in
which stratum; not on block size. Pinned by `tests/test_design.py`.
"""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**23
NEAR = 2**16  # numbers that are drawn and counted at a time
WEIGHTS = 8  # the stream of a seed that weights are drawn from


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


def dirichlet(
    units: int, draws: int, seed: int, stratum: NDArray[np.int64] | None = None
) -> Iterator[NDArray[np.float64]]:
    """Bayesian bootstrap: weights of the units with a flat Dirichlet distribution.

    Parameters
    ----------
    units, draws, seed : int
    stratum : ndarray of shape (units,), optional
        Code of each unit's stratum: weights are then flat within each stratum, its total fixed.

    Yields
    ------
    ndarray of shape (block, units)
        Above zero; rows sum to `units`, or over each stratum to its size, so that a weight stands
        where a bootstrap has how often a unit is drawn.

    Notes
    -----
    Exponential variables over their sum [1]_. Over any part of the units the weights are flat
    again, and independent of the part's total.

    References
    ----------
    .. [1] Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> (block,) = dirichlet(3, 2, seed=1)
    >>> block.sum(axis=1).round(9).tolist(), bool((block > 0).all())
    ([3.0, 3.0], True)
    >>> (block,) = dirichlet(3, 2, seed=1, stratum=np.array([0, 1, 0]))
    >>> block[:, 1].tolist(), block[:, [0, 2]].sum(axis=1).round(9).tolist()
    ([1.0, 1.0], [2.0, 2.0])
    """
    generator = np.random.default_rng([seed, WEIGHTS])
    codes = np.zeros(units, dtype=np.int64) if stratum is None else stratum
    groups = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    step = max(1, BLOCK // max(units, 1))
    for start in range(0, draws, step):
        block = min(step, draws - start)
        drawn = generator.standard_exponential((block, units)).T.copy()
        np.maximum(drawn, np.finfo(float).tiny, out=drawn)
        for inside in groups:
            drawn[inside] *= len(inside) / drawn[inside].sum(axis=0)
        yield drawn.T


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
