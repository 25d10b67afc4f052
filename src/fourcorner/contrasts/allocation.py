"""Allocation of a move over the factors that move: Shapley shares, dividends, interaction indices.

A move changes k factors from a first level to a second; the change is one of them unless its
state is held. Its cube has 2^k corners F(S), the factors in S at their second level. What is
allocated is F(all) − F(none): with the change among the factors, the diagonal.

Invariant: shares sum to the move exactly, and the dividends inside a corner sum to that corner.
Pinned by `tests/test_allocation.py` against the average over all orders of moving.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fourcorner import names
from fourcorner.contrasts.algebra import Cell, Contrast
from fourcorner.contrasts.parts import Levels, arrows, average, endpoint_state, held, moved

Subset = frozenset[str]

ALLOCATION = names.ALLOCATION
DIVIDEND = "dividend"
INTERACTION = "interaction"


def shapley(
    *, state: str | None = None, at: Mapping[str, Levels] | None = None, **levels: Levels
) -> dict[str, Contrast]:
    """Share of each factor in a move: its effect, averaged over all orders of moving.

    Parameters
    ----------
    state : {"before", "after"}, optional
        Holds the change there. By default the change moves too, under the name ``state``.
    at : mapping, optional
        Other factors: one level fixes the factor, several are averaged equally.
    **levels
        A pair (first, second) for each factor that moves.

    Returns
    -------
    dict of factor to Contrast
        They sum to ``diagonal(...)``, or to ``endpoint_shift(state, ...)`` where the change is
        held.

    Raises
    ------
    ContrastError
        If a factor does not come with two different levels, or is in `at` too.

    Notes
    -----
    For two factors the share of the change is half the sum of both gains, and that of the
    channel half the sum of both endpoint shifts, L. S. Shapley, *A value for n-person games*
    (1953). The share of a channel factor does not cancel an offset of that channel: it holds the
    channels' own levels, not differences of changes alone.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> shares = shapley(view=("quote", "generated"))
    >>> shares["state"] == 0.5 * (gain(view="quote") + gain(view="generated"))
    True
    >>> shares["state"].cancels_offsets, shares["view"].cancels_offsets
    (True, False)
    """
    cube = _cube("shapley", state, at, levels)
    return {
        factor: _combined(cube, ALLOCATION, frozenset([factor]), _index) for factor in cube.pairs
    }


def moebius(
    *, state: str | None = None, at: Mapping[str, Levels] | None = None, **levels: Levels
) -> dict[Subset, Contrast]:
    """Dividend of each subset of factors: what its joint move adds to the moves inside it.

    Parameters
    ----------
    state, at, **levels
        As for `shapley`.

    Returns
    -------
    dict of frozenset of factors to Contrast
        Every subset; the empty one is the corner where nothing has moved. A corner is the sum
        of the dividends of the subsets of what has moved there. The dividend of the change and
        channel factors is their Ω at the first levels of the others.

    Examples
    --------
    >>> from fourcorner.contrasts import omega
    >>> dividends = moebius(view=("quote", "generated"))
    >>> dividends[frozenset({"state", "view"})] == omega(view=("quote", "generated"))
    True
    """
    cube = _cube("moebius", state, at, levels)
    return {subset: _combined(cube, DIVIDEND, subset, _dividend) for subset in cube.subsets()}


def shapley_interaction(
    *, state: str | None = None, at: Mapping[str, Levels] | None = None, **levels: Levels
) -> dict[Subset, Contrast]:
    """Shapley interaction index of each subset: its mixed difference, averaged over the others.

    Parameters
    ----------
    state, at, **levels
        As for `shapley`.

    Returns
    -------
    dict of frozenset of factors to Contrast
        Every subset but the empty one; a single factor has its Shapley share.

    Notes
    -----
    I(S) = Σ over T outside S of |T|! (k − |T| − |S|)! / (k − |S| + 1)! times the mixed
    difference of S with T moved (M. Grabisch and M. Roubens, 1999).

    Examples
    --------
    >>> found = shapley_interaction(view=("quote", "generated"))
    >>> found[frozenset({"view"})] == shapley(view=("quote", "generated"))["view"]
    True
    """
    cube = _cube("shapley_interaction", state, at, levels)
    return {
        subset: _combined(cube, INTERACTION, subset, _index) for subset in cube.subsets() if subset
    }


@dataclass(frozen=True)
class _Cube:
    """The corners of a move: pairs of levels, the state that is held, and the other factors."""

    pairs: Mapping[str, tuple[str, ...]]
    state: str | None
    over: Mapping[str, tuple[str, ...]]

    def subsets(self) -> Iterator[Subset]:
        """Every subset of the factors, small ones first."""
        for size in range(len(self.pairs) + 1):
            yield from map(frozenset, itertools.combinations(self.pairs, size))

    def corner(self, second: Subset) -> dict[Cell, Fraction]:
        """Cells of F where the factors in `second` are at their second level."""
        levels = {factor: pair[factor in second] for factor, pair in self.pairs.items()}
        state = levels.pop(names.STATE, None) or self.state or ""
        return average(state, levels, self.over)


def _cube(
    what: str,
    state: str | None,
    at: Mapping[str, Levels] | None,
    levels: Mapping[str, Levels],
) -> _Cube:
    pairs = moved(levels, what, 2)
    over = held(at, pairs)
    if state is None:
        return _Cube({names.STATE: names.STATES, **pairs}, None, over)
    return _Cube(pairs, endpoint_state(state), over)


def _combined(
    cube: _Cube,
    kind: str,
    subset: Subset,
    coefficient: Callable[[int, Subset, Subset], Fraction],
) -> Contrast:
    """The corners of a cube under coefficients that depend on the corner and a subset."""
    weights: dict[Cell, Fraction] = {}
    for corner in cube.subsets():
        if share := coefficient(len(cube.pairs), subset, corner):
            weights |= {cell: share * part for cell, part in cube.corner(corner).items()}
    chosen = ":".join(factor for factor in cube.pairs if factor in subset) or "nothing"
    still = {} if cube.state is None else {names.STATE: cube.state}
    return Contrast(f"{kind}({chosen} of {arrows(cube.pairs, still, cube.over)})", weights, kind)


def _index(factors: int, subset: Subset, corner: Subset) -> Fraction:
    """Weight of a corner in the Shapley interaction index; of one factor, in its share."""
    others = len(corner - subset)
    orders = math.factorial(others) * math.factorial(factors - len(subset) - others)
    sign = (-1) ** len(subset - corner)
    return Fraction(sign * orders, math.factorial(factors - len(subset) + 1))


def _dividend(_: int, subset: Subset, corner: Subset) -> Fraction:
    """Weight of a corner in the dividend: signed inside the subset, zero outside of it."""
    return Fraction((-1) ** len(subset - corner)) if corner <= subset else Fraction(0)
