"""Medians of resampled transitions, without sorting each draw.

Invariant: equals `numpy.median` of the drawn values, for every draw. Memory does not grow with
the number of draws. Pinned by `tests/test_design.py`.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 2**18


def medians(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the median over transitions in each draw.

    Parameters
    ----------
    multiplicity : ndarray of shape (draws, units)
    values : ndarray of shape (transitions,)
        Finite contrast values.
    unit : ndarray of shape (transitions,)
        Code of each transition's unit.

    Returns
    -------
    ndarray of shape (draws,)
        NaN where a draw holds no transition.
    """
    order = np.argsort(values, kind="stable")
    ranked, column = values[order], unit[order]
    step = max(1, BLOCK // len(values))
    blocks = [
        _block_medians(np.take(multiplicity[start : start + step], column, axis=1), ranked)
        for start in range(0, len(multiplicity), step)
    ]
    return np.concatenate(blocks)


def _block_medians(copies: Floats, ranked: Floats) -> Floats:
    """Medians of rows that say how often each ranked value is drawn.

    One running count goes through all rows, so a draw's two middle values are found by bisection.
    """
    running = copies.ravel().cumsum()
    ends = running[len(ranked) - 1 :: len(ranked)]
    starts = np.concatenate([[0.0], ends[:-1]])
    total = ends - starts
    middle = starts + np.floor([(total - 1) / 2, total / 2])
    places = np.searchsorted(running, middle, side="right").clip(max=running.size - 1)
    low, high = ranked[places % len(ranked)]
    return np.where(total > 0, (low + high) / 2, np.nan)
