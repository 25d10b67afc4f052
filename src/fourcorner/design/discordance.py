"""How often two channels rank two endpoints in opposite orders, in each draw of units.

Every pair of two different endpoints counts once, those before and those after a change together,
and a pair that either channel ties is not discordant. A shared endpoint counts in each of its
transitions, as its transitions do in a mean. In a draw an endpoint is never paired with a copy of
itself.

Invariant: equal to counting all pairs of the drawn endpoints that are not copies of one another,
and unchanged by an increasing map of either channel's scores. Pinned by `tests/test_benchmark.py`.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fourcorner.contrasts import ROUNDING

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

TOO_MANY = "too_many_pairs"
BLOCK = 2**20  # pairs that are compared at a time
NEAR = 2**10  # draws
PAIRS = 2**30
"""More pairs than these take too long; one for each two endpoints."""
UNIT_PAIRS = 2**26
"""More than these take too much memory; one for each two units."""


def refusal(items: int, units: int) -> dict[str, Any] | None:
    """Why there is no share of pairs of so many endpoints of so many units, or None."""
    if items * items <= PAIRS and units * units <= UNIT_PAIRS:
        return None
    most, of = math.isqrt(PAIRS), math.isqrt(UNIT_PAIRS)
    message = (
        f"{items:,} endpoints of {units:,} units have too many pairs to compare all; at most "
        f"{most:,} of {of:,} units can be: take fewer with where, or a sample of the units"
    )
    return {"reason": TOO_MANY, "message": message}


def discordances(
    first: Floats, second: Floats, unit: Codes, units: int
) -> Callable[[Floats], Floats]:
    """Prepare the share of discordant pairs of resampled endpoints.

    Parameters
    ----------
    first, second : ndarray of shape (items,)
        Scores of each endpoint in two channels; finite.
    unit : ndarray of shape (items,)
        Code of each endpoint's unit.
    units : int

    Returns
    -------
    callable
        From multiplicities of shape (draws, units) to the share in each draw, NaN where it has no
        two different endpoints.

    Examples
    --------
    >>> of = discordances(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.0, 5.0]), np.arange(3), 3)
    >>> of(np.ones((1, 3))).round(3).tolist()
    [0.333]
    """
    opposite = _opposite(first, second, unit, units)
    size = np.bincount(unit, minlength=units).astype(float)

    def of(multiplicity: Floats) -> Floats:
        found = np.empty(len(multiplicity))
        for start in range(0, len(multiplicity), NEAR):
            copies = multiplicity[start : start + NEAR]
            discordant = np.einsum("du,du->d", copies @ opposite, copies)
            pairs = (copies @ size) ** 2 - copies**2 @ size
            found[start : start + NEAR] = np.divide(
                discordant, pairs, out=np.full(len(copies), np.nan), where=pairs > 0
            )
        return found

    return of


def _opposite(first: Floats, second: Floats, unit: Codes, units: int) -> Floats:
    """Ordered pairs in opposite orders, by their two units: shape (units, units)."""
    order = np.argsort(unit, kind="stable")
    channels = [scores[order] for scores in (first, second)]
    sorted_unit = unit[order]
    there, starts = np.unique(sorted_unit, return_index=True)
    found = np.zeros((units, units))
    step = max(1, BLOCK // max(len(order), 1))
    for start in range(0, len(order), step):
        rows = slice(start, start + step)
        orders = [_order(scores[rows, None], scores) for scores in channels]
        discordant = (orders[0] * orders[1] < 0).astype(float)
        own, first_rows = np.unique(sorted_unit[rows], return_index=True)
        by_row = np.add.reduceat(discordant, first_rows, axis=0)
        found[np.ix_(own, there)] += np.add.reduceat(by_row, starts, axis=1)
    return found


def _order(left: Floats, right: Floats) -> NDArray[np.int8]:
    """Which of two scores is higher: 1, -1, or 0 where they are equal but for rounding."""
    gap = left - right
    tied = np.abs(gap) <= ROUNDING * (np.abs(left) + np.abs(right))
    return np.where(tied, 0, np.sign(gap)).astype(np.int8)
