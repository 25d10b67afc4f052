"""The contrasts of a face: gain, interaction, endpoint shift and diagonal.

Invariant: second minus first, whatever the order in which levels are declared. Pinned by
`tests/test_contrasts.py`.
"""

from collections.abc import Mapping, Sequence

from fourcorner import names
from fourcorner.contrasts.algebra import Contrast
from fourcorner.contrasts.parts import (
    Levels,
    arrows,
    average,
    described,
    endpoint_state,
    held,
    moved,
)


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
    fixed = {factor: found[0] for factor, found in moved(levels, names.GAIN, 1).items()}
    return _gain(fixed, held(at, fixed))


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
    pairs = moved(levels, names.OMEGA, 2)
    return _omega(pairs, {}, held(at, pairs))


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
    state = endpoint_state(state)
    pairs = moved(levels, names.ENDPOINT_SHIFT, 2)
    over = held(at, pairs)
    first, second = (
        _endpoint(state, {factor: pair[side] for factor, pair in pairs.items()}, over)
        for side in (0, 1)
    )
    name = f"shift({state}, {arrows(pairs, {}, over)})"
    return (second - first).renamed(name, names.ENDPOINT_SHIFT)


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
    pairs = moved(levels, names.DIAGONAL, 2)
    over = held(at, pairs)
    first = _endpoint(names.BEFORE, {factor: pair[0] for factor, pair in pairs.items()}, over)
    second = _endpoint(names.AFTER, {factor: pair[1] for factor, pair in pairs.items()}, over)
    return (second - first).renamed(f"diagonal({arrows(pairs, {}, over)})", names.DIAGONAL)


def endpoint(
    state: str | None = None, *, at: Mapping[str, Levels] | None = None, **levels: Levels
) -> Contrast:
    """F(state, channel): one cell, or the average of several.

    Parameters
    ----------
    state : {"before", "after"} or None
        None where the scores have no change.
    at : mapping, optional
        Further factors: one level fixes the factor, several are averaged equally.
    **levels
        The channel: a level for each factor.

    Returns
    -------
    Contrast

    Examples
    --------
    >>> endpoint("after", view="generated").name, endpoint(judge="a").name
    ('F(after, generated)', 'F(a)')
    """
    fixed = {factor: found[0] for factor, found in moved(levels, "endpoint", 1).items()}
    return _endpoint(None if state is None else endpoint_state(state), fixed, held(at, fixed))


def _gain(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> Contrast:
    after, before = (_endpoint(state, fixed, over) for state in (names.AFTER, names.BEFORE))
    return (after - before).renamed(f"gain({described(fixed, over)})", names.GAIN, ())


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
    return (second - first).renamed(f"omega({arrows(pairs, fixed, over)})", names.OMEGA)


def _endpoint(
    state: str | None, fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]
) -> Contrast:
    inside = ", ".join(filter(None, [state, described(fixed, over)]))
    return Contrast(f"F({inside})" if inside else "F", average(state, fixed, over))
