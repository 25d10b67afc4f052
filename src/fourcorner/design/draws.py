"""Shared bootstrap draws: how often each unit is drawn, the same for every estimand.

Invariant: the draws depend on the seed and the number of units alone, not on block size.
Pinned by `tests/test_design.py`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

BLOCK = 2**23


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
        chosen = generator.integers(0, max(units, 1), size=(block, units))
        chosen += units * np.arange(block)[:, None]
        counts = np.bincount(chosen.ravel(), minlength=block * units)
        yield counts.reshape(block, units).astype(float)
