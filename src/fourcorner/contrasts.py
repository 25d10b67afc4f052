"""Contrasts: signed weights over named cells, their algebra and their identification.

Invariant: a contrast is data, not a procedure. The design engine applies it to observed cells,
the Bayesian engine to posterior cell means, so both estimate the same thing by construction.
Weights are exact fractions, so equality is exact. Pinned by `tests/test_contrasts.py`.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.errors import ContrastError
from fourcorner.sections import canonical, nearest

Cell = frozenset[tuple[str, str]]
Levels = str | bool | int | Sequence[str | bool | int]

NOT_IDENTIFIED = "not_identified"


@dataclass(frozen=True, eq=False)
class Contrast:
    """A signed weight for each cell that is used.

    Attributes
    ----------
    name : str
        A readable name; not part of equality.
    weights : mapping of cell to Fraction
        A cell is a frozenset of (factor, level) pairs; no weight is zero.
    kind : str
        ``gain``, ``omega``, ``endpoint_shift``, ``diagonal``, ``difference`` or ``contrast``.
    parts : tuple of Contrast
        For a difference and an Ω, (first, second) with ``self == second - first``; else empty.

    Notes
    -----
    ``+``, ``-``, scalar ``*`` and ``==`` act on the weights. Decimal scalars are exact:
    ``0.1 * c + 0.2 * c == 0.3 * c``.

    Examples
    --------
    >>> direct, generated = gain(view="direct"), gain(view="generated")
    >>> generated - direct == omega(view=("direct", "generated"))
    True
    >>> omega(view=("direct", "generated")).cancels_offsets
    True
    """

    name: str
    weights: Mapping[Cell, Fraction]
    kind: str = "contrast"
    parts: tuple["Contrast", ...] = field(default=())

    __array_ufunc__: ClassVar[None] = None  # a NumPy scalar times a contrast is a contrast

    def __post_init__(self) -> None:
        clean = {cell: weight for cell, weight in self.weights.items() if weight != 0}
        object.__setattr__(self, "weights", clean)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contrast):
            return NotImplemented
        return dict(self.weights) == dict(other.weights)

    def __hash__(self) -> int:
        return hash(frozenset(self.weights.items()))

    def __add__(self, other: "Contrast") -> "Contrast":
        if not isinstance(other, Contrast):
            return NotImplemented
        total = dict(self.weights)
        for cell, weight in other.weights.items():
            total[cell] = total.get(cell, Fraction(0)) + weight
        return Contrast(f"({self.name} + {other.name})", total)

    def __sub__(self, other: "Contrast") -> "Contrast":
        if not isinstance(other, Contrast):
            return NotImplemented
        return (self + (-1) * other).renamed(
            f"({self.name} - {other.name})", "difference", (other, self)
        )

    def __mul__(self, scalar: float | Fraction) -> "Contrast":
        if not isinstance(scalar, Real):
            return NotImplemented
        try:
            factor = Fraction(str(scalar))
        except ValueError:
            msg = f"{scalar!r} times a contrast; expected a finite number"
            raise ContrastError(msg) from None
        scaled = {cell: factor * weight for cell, weight in self.weights.items()}
        return Contrast(f"{scalar} * {self.name}", scaled)

    __rmul__ = __mul__

    def __neg__(self) -> "Contrast":
        return (-1) * self

    def renamed(
        self, name: str, kind: str | None = None, parts: tuple["Contrast", ...] | None = None
    ) -> "Contrast":
        """Give the same weights another name (and kind, and parts)."""
        return Contrast(
            name,
            self.weights,
            self.kind if kind is None else kind,
            self.parts if parts is None else parts,
        )

    @property
    def support(self) -> frozenset[Cell]:
        """The cells used."""
        return frozenset(self.weights)

    @property
    def cancels_offsets(self) -> bool:
        """Whether an offset added to a whole channel leaves the value as it is."""
        sums: dict[Cell, Fraction] = {}
        for cell, weight in self.weights.items():
            channel = frozenset(pair for pair in cell if pair[0] != names.STATE)
            sums[channel] = sums.get(channel, Fraction(0)) + weight
        return all(total == 0 for total in sums.values())

    def array(self, factors: Mapping[str, Sequence[str]]) -> xr.DataArray:
        """Weights as an array over every cell of a design.

        Parameters
        ----------
        factors : mapping of factor to its levels
            The dims of the result, in order.

        Returns
        -------
        xarray.DataArray
            Shape: one dim per factor; zero outside the support.

        Raises
        ------
        ContrastError
            If the contrast uses a factor or level that the design does not have, or says
            nothing about one of its factors.
        """
        shape = [len(levels) for levels in factors.values()]
        dense = np.zeros(shape)
        for cell, weight in self.weights.items():
            dense[_position(self.name, cell, factors)] = float(weight)
        return xr.DataArray(
            dense, dims=list(factors), coords={k: list(v) for k, v in factors.items()}
        )


def _position(name: str, cell: Cell, factors: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    levels = dict(cell)
    if set(levels) != set(factors):
        silent = [factor for factor in factors if factor not in levels]
        unknown = [
            f"{factor!r}{nearest(factor, factors)}" for factor in levels if factor not in factors
        ]
        faults = [f"says nothing about {silent}; fix or average each with at"] if silent else []
        faults += [f"uses {', '.join(sorted(unknown))}, no factor of the scores"] if unknown else []
        msg = f"contrast {name!r} {' and '.join(faults)}; the factors are {list(factors)}"
        raise ContrastError(msg)
    for factor, known in factors.items():
        if levels[factor] not in known:
            got = f"{levels[factor]!r}{nearest(levels[factor], known)}"
            msg = f"contrast {name!r}: {factor} has no level {got}; it has {list(known)}"
            raise ContrastError(msg)
    return tuple(list(known).index(levels[factor]) for factor, known in factors.items())


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


def _over(at: Mapping[str, Levels] | None, used: Iterable[str]) -> dict[str, tuple[str, ...]]:
    over = {factor: _listed(factor, value) for factor, value in (at or {}).items()}
    twice = [factor for factor in used if factor in over]
    if twice:
        msg = f"{twice} are contrasted and in at too; give each factor one part"
        raise ContrastError(msg)
    return over


def _describe(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> str:
    words = [*fixed.values(), *("+".join(levels) for levels in over.values())]
    return ", ".join(words)


def _endpoint(state: str, fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> Contrast:
    name = f"F({', '.join(filter(None, [state, _describe(fixed, over)]))})"
    return Contrast(name, _average(state, fixed, over))


def _gain(fixed: Mapping[str, str], over: Mapping[str, Sequence[str]]) -> Contrast:
    after, before = (_endpoint(state, fixed, over) for state in (names.AFTER, names.BEFORE))
    return (after - before).renamed(f"gain({_describe(fixed, over)})", "gain", ())


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


def cell_record(cell: Cell, factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Write a cell as an object of level names, in the design's order of factors."""
    levels = dict(cell)
    return {factor: levels[factor] for factor in factors if factor in levels}


def refusal(contrast: Contrast, observed: xr.DataArray) -> dict[str, Any] | None:
    """Why a contrast is not identified with unrestricted cell means, or None if it is.

    Parameters
    ----------
    contrast : Contrast
    observed : xarray.DataArray of bool
        One dim per factor; whether the cell was ever measured.

    Returns
    -------
    dict or None
        ``missing``: the unobserved cells of the support. ``witness``: a shift of unobserved
        cells that leaves every observed cell as it is and moves the contrast. ``would_identify``:
        the smallest sets of cells that would identify it, here the one set of missing cells.

    Notes
    -----
    Replace an unobserved corner F by F + t: no observed cell changes, the contrast moves by its
    weight times t, and t is arbitrary.
    """
    factors = {str(dim): observed[dim].values.tolist() for dim in observed.dims}
    places = {cell: _position(contrast.name, cell, factors) for cell in contrast.support}
    lacking = {cell: place for cell, place in places.items() if not observed.values[place]}
    missing = sorted(lacking, key=lacking.__getitem__)
    if not missing:
        return None
    records = [cell_record(cell, factors) for cell in missing]
    shift = {"cell": records[0], "by": 1.0}
    return {
        "reason": NOT_IDENTIFIED,
        "missing": records,
        "witness": {"shift": [shift], "moves_contrast": float(contrast.weights[missing[0]])},
        "would_identify": [records],
    }
