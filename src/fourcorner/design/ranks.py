"""Medians and trimmed means of resampled values, without sorting each draw.

Invariant: equal to `numpy.median`, and to the mean without ⌊0.1 n⌋ values at each end, of the
drawn values, for every draw. Memory does not grow with the number of draws. Pinned by
`tests/test_ranks.py`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 2**18
TRIMMED = 10  # one value in so many goes, from each end


def medians(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the median in each draw.

    Parameters
    ----------
    multiplicity : ndarray of shape (draws, units)
    values : ndarray of shape (items,)
        Finite contrast values.
    unit : ndarray of shape (items,)
        Code of each value's unit.

    Returns
    -------
    ndarray of shape (draws,)
        NaN where a draw holds no value.
    """
    return _blockwise(_block_medians, multiplicity, values, unit)


def trimmed_means(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the mean of each draw without ⌊0.1 n⌋ values at each end, n being the values drawn.

    Parameters and result as for `medians`.
    """
    return _blockwise(_block_trimmed, multiplicity, values, unit)


def _blockwise(
    rows: Callable[[Floats, Floats], Floats],
    multiplicity: Floats,
    values: Floats,
    unit: NDArray[np.int64],
) -> Floats:
    """Apply `rows` to how often each value, from the least to the greatest, is drawn."""
    order = np.argsort(values, kind="stable")
    ranked, column = values[order], unit[order]
    step = max(1, BLOCK // len(values))
    blocks = [
        rows(np.take(multiplicity[start : start + step], column, axis=1), ranked)
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


def _block_trimmed(copies: Floats, ranked: Floats) -> Floats:
    """Trimmed means of the same rows: of each value's copies those between the two cuts count."""
    upto = copies.cumsum(axis=1)
    total = upto[:, -1:]
    cut = np.floor(total / TRIMMED)
    kept = np.minimum(upto, total - cut) - np.maximum(upto - copies, cut)
    kept = kept.clip(min=0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((kept @ ranked) / (total - 2 * cut)[:, 0])
