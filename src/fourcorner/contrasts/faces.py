"""The contrasts of a face: gain, interaction, endpoint shift and diagonal.

Invariant: each factor has one part: contrasted, fixed or averaged. Pinned by
`tests/test_contrasts.py`.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from fourcorner import names
from fourcorner.contrasts.algebra import Cell, Contrast
from fourcorner.errors import ContrastError
from fourcorner.sections import canonical, nearest

Levels = str | bool | int | Sequence[str | bool | int]


def gain(*, at: Mapping[str, Levels] | None = None, **levels: str | bool | int) -> Contrast:
    """G(channel) = F(after, channel) − F(before, channel).

    Parameters
    ----------
    at : mapping, optional
        Further factors: one level fixes the factor, several are averaged equally.
    **levels
        The channel: a level for each factor.

    Returns
    -------
    Contrast

    Examples
    --------
    >>> gain(view="generated").name
    'gain(generated)'
    """
    fixed = {factor: found[0] for factor, found in _channel(levels, "gain", 1).items()}
    return _gain(fixed, _over(at, fixed))


def omega(*, at: Mapping[str, Levels] | None = None, **levels: Levels) -> Contrast:
    """Ω: the gain at the second level minus the gain at the first; mixed for several factors.

    Parameters
    ----------
    at : mapping, optional
        Other factors: one level fixes the factor, several are averaged equally.
    **levels
        A pair (first, second) for each contrasted factor; two factors give the second-order
        interaction.

    Returns
    -------
    Contrast
        ``parts`` holds what is subtracted and what it is subtracted from.

    Raises
    ------
    ContrastError
        If a factor does not come with two different levels, or is in `at` too.

    Examples
    --------
    >>> omega(view=("direct", "generated")).name
    'omega(direct->generated)'
    """
    pairs = _channel(levels, "omega", 2)
    return _omega(pairs, {}, _over(at, pairs))


def endpoint_shift(
    state: str, *, at: Mapping[str, Levels] | None = None, **levels: Levels
) -> Contrast:
    """F(state, second) − F(state, first): how a channel moves one endpoint.

    Parameters
    ----------
    state : {"before", "after"}
    at : mapping, optional
        Other factors: one level fixes the factor, several are averaged equally.
    **levels
        A pair (first, second) for each factor that changes; several change together.

    Returns
    -------
    Contrast

    Examples
    --------
    >>> endpoint_shift("before", view=("quote", "generated")).cancels_offsets
    False
    """
    if state not in names.STATES:
        msg = f"state = {state!r}{nearest(state, names.STATES)}; expected 'before' or 'after'"
        raise ContrastError(msg)
    pairs = _channel(levels, "endpoint_shift", 2)
    over = _over(at, pairs)
    first, second = (
        _endpoint(state, {factor: pair[side] for factor, pair in pairs.items()}, over)
        for side in (0, 1)
    )
    name = f"shift({state}, {_arrows(pairs, {}, over)})"
    return (second - first).renamed(name, "endpoint_shift")


def diagonal(*, at: Mapping[str, Levels] | None = None, **levels: Levels) -> Contrast:
    """F(after, second) − F(before, first): the state and the channel move together.

    Parameters
    ----------
    at : mapping, optional
        Other factors: one level fixes the factor, several are averaged equally.
    **levels
        A pair (first, second) for each factor that moves with the state.

    Returns
    -------
    Contrast

    Examples
    --------
    >>> move = diagonal(view=("direct", "generated"))
    >>> move == gain(view="direct") + endpoint_shift("after", view=("direct", "generated"))
    True
    """
    pairs = _channel(levels, "diagonal", 2)
    over = _over(at, pairs)
    first = _endpoint(names.BEFORE, {factor: pair[0] for factor, pair in pairs.items()}, over)
    second = _endpoint(names.AFTER, {factor: pair[1] for factor, pair in pairs.items()}, over)
    return (second - first).renamed(f"diagonal({_arrows(pairs, {}, over)})", "diagonal")


def _gain(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> Contrast:
    after, before = (_endpoint(state, fixed, over) for state in (names.AFTER, names.BEFORE))
    return (after - before).renamed(f"gain({_describe(fixed, over)})", "gain", ())


def _omega(
    pairs: Mapping[str, tuple[str, ...]],
    fixed: Mapping[str, str],
    over: Mapping[str, Sequence[str]],
) -> Contrast:
    if not pairs:
        return _gain(fixed, over)
    *rest, last = pairs
    inner = {factor: pairs[factor] for factor in rest}
    first, second = (_omega(inner, {**fixed, last: level}, over) for level in pairs[last])
    return (second - first).renamed(f"omega({_arrows(pairs, fixed, over)})", "omega")


def _arrows(
    pairs: Mapping[str, Sequence[str]], fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]
) -> str:
    moves, described = ", ".join("->".join(pair) for pair in pairs.values()), _describe(fixed, over)
    return f"{moves} | {described}" if described else moves


def _endpoint(state: str, fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> Contrast:
    name = f"F({', '.join(filter(None, [state, _describe(fixed, over)]))})"
    return Contrast(name, _average(state, fixed, over))


def _average(
    state: str, fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]
) -> dict[Cell, Fraction]:
    """Equal weights over the levels in `over`, at the fixed levels."""
    combinations = list(itertools.product(*over.values()))
    share = Fraction(1, len(combinations))
    return {
        frozenset({(names.STATE, state), *fixed.items(), *zip(over, levels, strict=True)}): share
        for levels in combinations
    }


def _describe(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> str:
    words = [*fixed.values(), *("+".join(levels) for levels in over.values())]
    return ", ".join(words)


def _channel(levels: Mapping[str, Levels], what: str, count: int) -> dict[str, tuple[str, ...]]:
    """Check the contrasted factors: each with as many levels as the contrast needs."""
    listed = {factor: _listed(factor, value) for factor, value in levels.items()}
    one, two = "one level; average several with at", "two levels, second minus first"
    for factor, found in listed.items():
        if len(found) != count:
            msg = f"{what}: {factor} = {levels[factor]!r}; expected {one if count == 1 else two}"
            raise ContrastError(msg)
    if count == 2 and not listed:
        msg = f"{what} needs a factor with two levels, e.g. {what}(view=('direct', 'generated'))"
        raise ContrastError(msg)
    return listed


def _listed(factor: str, value: Levels) -> tuple[str, ...]:
    """Levels as canonical texts: one or several, none twice."""
    listed = np.atleast_1d(np.asarray(value, dtype=object))
    levels = tuple(canonical(item) for item in listed)
    if not levels or len(set(levels)) < len(levels):
        msg = f"{factor} = {value!r}: expected at least one level, and none twice"
        raise ContrastError(msg)
    if factor == names.STATE:
        msg = f"{factor!r} is the change that every gain is made of; name channel factors only"
        raise ContrastError(msg)
    return levels


def _over(at: Mapping[str, Levels] | None, used: Iterable[str]) -> dict[str, tuple[str, ...]]:
    over = {factor: _listed(factor, value) for factor, value in (at or {}).items()}
    twice = [factor for factor in used if factor in over]
    if twice:
        msg = f"{twice} are contrasted and in at too; give each factor one part"
        raise ContrastError(msg)
    return over
