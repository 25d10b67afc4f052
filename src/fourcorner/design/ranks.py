"""Medians and trimmed means of resampled or weighted values, without sorting each draw.

The values are ranked once. Of a median, one matrix product says how many values each draw has on
each shelf of about √n neighbours, and only the shelf that holds the middle is looked through.

A weighted median is any value with at most half of the weight on either side; where that holds
between two values, their middle. Equal but for rounding counts as equal, as when one unit has all
the weight on both sides. A weighted trimmed mean leaves out at each end the share of the weight
that the ⌊0.1 n⌋ values are of all n, a value on the edge in part.

Invariant: equal to `numpy.median`, and to the mean without ⌊0.1 n⌋ values at each end, of the
drawn values, for every draw; with equal weights so are the weighted ones. Memory does not grow with
the number of draws. Pinned by `tests/test_ranks.py`.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 2**18
SHELVES = 2**22  # numbers in a table of units by shelves
TRIMMED = 10  # one value in so many goes, from each end
ROUNDING = 1e-9  # of a draw's total, far below one value drawn


def medians(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the median in each draw.

    Parameters
    ----------
    multiplicity : ndarray of shape (draws, units)
        How often each unit is drawn, or what it weighs.
    values : ndarray of shape (items,)
        Finite contrast values.
    unit : ndarray of shape (items,)
        Code of each value's unit.

    Returns
    -------
    ndarray of shape (draws,)
        NaN where a draw holds no value.
    """
    units = multiplicity.shape[1]
    order = np.argsort(values, kind="stable")
    ranked, column = values[order], unit[order]
    shelf = _shelf_length(len(values), units)
    upto = _counts_by_shelf(column, units, shelf).cumsum(axis=1).T @ multiplicity.T
    total = upto[-1]
    middle = np.multiply.outer([0.5 - ROUNDING, 0.5 + ROUNDING], total)
    low, high = ranked[_places(multiplicity.T, column, shelf, upto, middle)]
    return np.where(total > 0, (low + high) / 2, np.nan)


def trimmed_means(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the mean of each draw without ⌊0.1 n⌋ values at each end, n being the values drawn.

    Parameters and result as for `medians`, of units that are drawn whole.
    """
    return _blockwise(
        lambda copies, ranked: _block_trimmed(copies, ranked, _whole), multiplicity, values, unit
    )


def weighted_trimmed_means(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Take the mean of each draw without the share ⌊0.1 n⌋ / n of its weight at each end.

    Parameters and result as for `medians`, n being the number of values.
    """
    share = len(values) // TRIMMED / max(len(values), 1)
    return _blockwise(
        lambda copies, ranked: _block_trimmed(copies, ranked, lambda total: share * total),
        multiplicity,
        values,
        unit,
    )


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


def _shelf_length(items: int, units: int) -> int:
    """How many ranked values stand together; about √items, more where tables would be large."""
    shelves = max(1, min(math.isqrt(items), SHELVES // max(units, 1)))
    return -(-items // shelves)


def _counts_by_shelf(column: NDArray[np.int64], units: int, shelf: int) -> Floats:
    """How many values of each unit stand on each shelf: shape (units, shelves)."""
    shelves = -(-len(column) // shelf)
    places = column * shelves + np.arange(len(column)) // shelf
    return np.bincount(places, minlength=units * shelves).reshape(units, shelves).astype(float)


def _places(
    copies: Floats, column: NDArray[np.int64], shelf: int, upto: Floats, ranks: Floats
) -> NDArray[np.int64]:
    """The first ranked value by which each draw has more than some ranks: its shelf, its place.

    `copies` says how often each unit is drawn, shape (units, draws); `upto` how many values a draw
    has up to the end of each shelf, shape (shelves, draws); `ranks` and the result have shape
    (ranks, draws). Weights are counted as values are.
    """
    shelves = np.stack([(upto <= rank).sum(axis=0) for rank in ranks]).clip(max=len(upto) - 1)
    found = np.zeros(ranks.shape, dtype=np.int64)
    for at in np.unique(shelves):
        here = shelves == at
        draws = np.flatnonzero(here.any(axis=0))
        units = column[at * shelf : (at + 1) * shelf]
        running = copies[units[:, None], draws]
        np.cumsum(running, axis=0, out=running)
        running += upto[at - 1, draws] if at else 0.0
        for place, rank, wanted in zip(found, ranks, here, strict=True):
            within = (running <= rank[draws]).sum(axis=0).clip(max=len(units) - 1)
            place[wanted] = at * shelf + within[wanted[draws]]
    return found


def _whole(total: Floats) -> Floats:
    return np.floor(total / TRIMMED)


def _block_trimmed(copies: Floats, ranked: Floats, cut_of: Callable[[Floats], Floats]) -> Floats:
    """Trimmed means of the same rows: of each value's copies those between the two cuts count."""
    upto = copies.cumsum(axis=1)
    total = upto[:, -1:]
    cut = cut_of(total)
    kept = np.minimum(upto, total - cut) - np.maximum(upto - copies, cut)
    kept = kept.clip(min=0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((kept @ ranked) / (total - 2 * cut)[:, 0])
