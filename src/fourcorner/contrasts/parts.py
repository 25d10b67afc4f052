"""The parts that factors play in a contrast: moved, fixed or averaged.

Invariant: each factor has one part, and its levels are canonical texts, none twice. Pinned by
`tests/test_contrasts.py`.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fourcorner import names
from fourcorner.contrasts.algebra import Cell
from fourcorner.errors import ContrastError
from fourcorner.sections import canonical, nearest

Levels = str | bool | int | Sequence[str | bool | int]


def moved(levels: Mapping[str, Levels], what: str, count: int) -> dict[str, tuple[str, ...]]:
    """Check the contrasted factors: each with as many levels as the contrast needs."""
    found = {factor: listed(factor, value) for factor, value in levels.items()}
    one, two = "one level; average several with at", "two levels, second minus first"
    for factor, given in found.items():
        if len(given) != count:
            msg = f"{what}: {factor} = {levels[factor]!r}; expected {one if count == 1 else two}"
            raise ContrastError(msg)
    if count == 2 and not found:
        msg = f"{what} needs a factor with two levels, e.g. {what}(view=('direct', 'generated'))"
        raise ContrastError(msg)
    return found


def listed(factor: str, value: Levels) -> tuple[str, ...]:
    """Levels as canonical texts: one or several, none twice."""
    given = np.atleast_1d(np.asarray(value, dtype=object))
    levels = tuple(canonical(item) for item in given)
    if not levels or len(set(levels)) < len(levels):
        msg = f"{factor} = {value!r}: expected at least one level, and none twice"
        raise ContrastError(msg)
    if factor == names.STATE:
        msg = f"{factor!r} is the change that every gain is made of; name channel factors only"
        raise ContrastError(msg)
    return levels


def held(at: Mapping[str, Levels] | None, used: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Factors fixed or averaged by `at`; one that is moved as well is a `ContrastError`."""
    over = {factor: listed(factor, value) for factor, value in (at or {}).items()}
    twice = [factor for factor in used if factor in over]
    if twice:
        msg = f"{twice} are contrasted and in at too; give each factor one part"
        raise ContrastError(msg)
    return over


def endpoint_state(state: str) -> str:
    """Check the name of an endpoint."""
    if state not in names.STATES:
        near = nearest(state, names.STATES) if isinstance(state, str) else ""
        msg = f"state = {state!r}{near}; expected 'before' or 'after'"
        raise ContrastError(msg)
    return state


def average(
    state: str | None, fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]
) -> dict[Cell, Fraction]:
    """Equal weights over the levels in `over`, at the fixed levels; no state without a change."""
    side = {} if state is None else {names.STATE: state}
    combinations = list(itertools.product(*over.values()))
    share = Fraction(1, len(combinations))
    return {
        frozenset({**side, **fixed, **dict(zip(over, levels, strict=True))}.items()): share
        for levels in combinations
    }


def described(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> str:
    """Fixed levels, then averaged ones joined by a plus."""
    words = [*fixed.values(), *("+".join(levels) for levels in over.values())]
    return ", ".join(words)


def arrows(
    pairs: Mapping[str, Sequence[str]], fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]
) -> str:
    """Moves as ``first->second``, then what is fixed or averaged."""
    moves, still = ", ".join("->".join(pair) for pair in pairs.values()), described(fixed, over)
    return f"{moves} | {still}" if still else moves
