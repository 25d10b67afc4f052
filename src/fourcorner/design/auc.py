"""Area under the ROC curve of resampled scores: how well they rank a stored outcome.

The share of pairs of a transition with the outcome and one without in which the first has the
higher score, a tie counting one half: the mid-rank statistic. Transitions of one unit move
together in a draw, and pairs within a unit count as any other.

Invariant: equal to counting all pairs of the drawn transitions, scores that differ by rounding
alone being tied, and unchanged by an increasing map of the scores. Memory does not grow with the
number of draws. Pinned by `tests/test_auc.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.contrasts import ROUNDING

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

Codes = NDArray[np.int64]

BLOCK = 2**18
NEAR = 2**10  # draws
PAIRED = 2**22  # numbers in a table of items by units


class Kernel(NamedTuple):
    """What pairs of units add to the pairs that are won.

    Attributes
    ----------
    inside : ndarray of shape (units with the outcome,)
        Codes of the units that have an item with the outcome.
    rows : ndarray of shape (units with the outcome + 2, units)
        Won pairs of an item with the outcome in the one unit and one without in the other; then
        each unit's number of items with the outcome, and without.
    """

    inside: Codes
    rows: Floats


def aucs(scores: Floats, positive: Mask, unit: Codes, units: int) -> Callable[[Floats], Floats]:
    """Prepare the AUC of resampled scores.

    Parameters
    ----------
    scores : ndarray of shape (items,)
        Finite.
    positive : ndarray of shape (items,)
        Whether each has the outcome.
    unit : ndarray of shape (items,)
        Code of each item's unit.
    units : int

    Returns
    -------
    callable
        From multiplicities of shape (draws, units) to the AUC of each draw, NaN where it lacks
        items with or without the outcome.

    Examples
    --------
    >>> of = aucs(np.array([2.0, 1.0, 2.0]), np.array([True, False, False]), np.arange(3), 3)
    >>> of(np.ones((1, 3))).tolist()
    [0.75]
    """
    order = np.argsort(scores, kind="stable")
    ranked, has, column = _ranks(scores[order]), positive[order], unit[order]
    first, last = (np.searchsorted(ranked, ranked[has], side=side) for side in ("left", "right"))
    if len(scores) * units <= PAIRED:
        kernel = _kernel(has, column, units, first, last)
        return lambda multiplicity: _of_units(multiplicity, kernel)
    step = max(1, BLOCK // len(scores))
    return lambda multiplicity: np.concatenate(
        [
            _block(np.take(multiplicity[start : start + step], column, axis=1), has, first, last)
            for start in range(0, len(multiplicity), step)
        ]
    )


def _ranks(ordered: Floats) -> Codes:
    """Places of sorted scores; neighbours that differ by rounding alone are tied."""
    size = np.abs(ordered[1:]) + np.abs(ordered[:-1])
    return np.concatenate([[0], np.cumsum(np.diff(ordered) > ROUNDING * size)])


def _kernel(has: Mask, column: Codes, units: int, first: Codes, last: Codes) -> Kernel:
    """What each pair of units adds, where units are few."""
    below = np.zeros((len(has) + 1, units))
    below[1 + np.flatnonzero(~has), column[~has]] = 1.0
    np.cumsum(below, axis=0, out=below)
    wins = np.zeros((units, units))
    np.add.at(wins, column[has], (below[first] + below[last]) / 2)
    with_outcome, without = (
        np.bincount(column[kept], minlength=units).astype(float) for kept in (has, ~has)
    )
    inside = np.flatnonzero(with_outcome)
    return Kernel(inside, np.vstack([wins[inside], with_outcome, without]))


def _of_units(multiplicity: Floats, kernel: Kernel) -> Floats:
    """AUCs of draws of units, some draws at a time so that they stay close."""
    found = np.empty(len(multiplicity))
    for start in range(0, len(multiplicity), NEAR):
        copies = multiplicity[start : start + NEAR].T
        drawn = kernel.rows @ copies
        won = np.einsum("ud,ud->d", drawn[:-2], copies[kernel.inside])
        found[start : start + NEAR] = _share(won, drawn[-2] * drawn[-1])
    return found


def _block(copies: Floats, has: Mask, first: Codes, last: Codes) -> Floats:
    """AUCs of rows that say how often each ranked item is drawn."""
    below = np.zeros((len(copies), len(has) + 1))
    np.cumsum(np.where(has, 0.0, copies), axis=1, out=below[:, 1:])
    with_outcome = copies[:, has]
    wins = (below[:, first] + below[:, last]) / 2
    pairs = with_outcome.sum(axis=1) * below[:, -1]
    won = np.einsum("dp,dp->d", with_outcome, wins)
    return _share(won, pairs)


def _share(won: Floats, pairs: Floats) -> Floats:
    return np.divide(won, pairs, out=np.full(len(pairs), np.nan), where=pairs > 0)
