"""Contrasts: signed weights over named cells, their algebra and their identification.

Invariant: a contrast is data, not a procedure. The design engine applies it to observed cells,
the Bayesian engine to posterior cell means, so both estimate the same thing by construction.
Weights are exact fractions, so equality is exact. Pinned by `tests/test_contrasts.py`.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.sections import canonical

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
        total = dict(self.weights)
        for cell, weight in other.weights.items():
            total[cell] = total.get(cell, Fraction(0)) + weight
        return Contrast(f"({self.name} + {other.name})", total)

    def __sub__(self, other: "Contrast") -> "Contrast":
        return (self + (-1) * other).renamed(
            f"({self.name} - {other.name})", "difference", (other, self)
        )

    def __mul__(self, scalar: float | Fraction) -> "Contrast":
        factor = scalar if isinstance(scalar, Fraction) else Fraction(str(float(scalar)))
        scaled = {cell: factor * weight for cell, weight in self.weights.items()}
        return Contrast(f"{scalar} * {self.name}", scaled)

    __rmul__ = __mul__

    def __neg__(self) -> "Contrast":
        return (-1) * self

    def renamed(
        self, name: str, kind: str | None = None, parts: tuple["Contrast", ...] | None = None
    ) -> "Contrast":
        """The same weights under another name (and kind, and parts)."""
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
        ValueError
            If the contrast uses a factor or level that the design does not have, or says
            nothing about one of its factors.
        """
        shape = [len(levels) for levels in factors.values()]
        dense = np.zeros(shape)
        for cell, weight in self.weights.items():
            dense[_position(self.name, cell, factors)] = float(weight)
        return xr.DataArray(dense, dims=list(factors), coords={k: list(v) for k, v in factors.items()})


def _position(name: str, cell: Cell, factors: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    levels = dict(cell)
    if set(levels) != set(factors):
        odd = sorted(set(levels) ^ set(factors))
        msg = f"contrast {name!r} and the scores disagree on the factors {odd}; fix each with at"
        raise ValueError(msg)
    for factor, level in levels.items():
        if level not in factors[factor]:
            msg = f"contrast {name!r}: {factor} has no level {level!r}; it has {list(factors[factor])}"
            raise ValueError(msg)
    return tuple(list(factors[factor]).index(levels[factor]) for factor in factors)


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


def _listed(value: Levels) -> tuple[str, ...]:
    scalar = isinstance(value, str | bool | int)
    return tuple(canonical(item) for item in ([value] if scalar else value))


def _over(at: Mapping[str, Levels] | None) -> dict[str, tuple[str, ...]]:
    return {factor: _listed(value) for factor, value in (at or {}).items()}


def _pairs(levels: Mapping[str, Levels], what: str) -> dict[str, tuple[str, ...]]:
    pairs = {factor: _listed(value) for factor, value in levels.items()}
    for factor, pair in pairs.items():
        if len(pair) != 2:
            msg = f"{what}: {factor} = {levels[factor]!r}; expected two levels, second minus first"
            raise ValueError(msg)
    if not pairs:
        msg = f"{what} needs a factor with two levels, e.g. {what}(view=('direct', 'generated'))"
        raise ValueError(msg)
    return pairs


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
    return _gain({factor: canonical(level) for factor, level in levels.items()}, _over(at))


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
    ValueError
        If a factor does not come with two levels.

    Examples
    --------
    >>> omega(view=("direct", "generated")).name
    'omega(direct->generated)'
    """
    return _omega(_pairs(levels, "omega"), {}, _over(at))


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
    arrows = ", ".join("->".join(pair) for pair in pairs.values())
    described = _describe(fixed, over)
    name = f"omega({arrows}{' | ' + described if described else ''})"
    return (second - first).renamed(name, "omega")


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
    pairs, over = _pairs(levels, "endpoint_shift"), _over(at)
    first, second = (
        _endpoint(state, {factor: pair[side] for factor, pair in pairs.items()}, over)
        for side in (0, 1)
    )
    arrows = ", ".join("->".join(pair) for pair in pairs.values())
    return (second - first).renamed(f"shift({state}, {arrows})", "endpoint_shift")


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
    pairs, over = _pairs(levels, "diagonal"), _over(at)
    first = _endpoint(names.BEFORE, {factor: pair[0] for factor, pair in pairs.items()}, over)
    second = _endpoint(names.AFTER, {factor: pair[1] for factor, pair in pairs.items()}, over)
    arrows = ", ".join("->".join(pair) for pair in pairs.values())
    return (second - first).renamed(f"diagonal({arrows})", "diagonal")


def cell_record(cell: Cell, factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A cell as an object of level names, in the design's order of factors."""
    levels = dict(cell)
    return {factor: levels[factor] for factor in factors if factor in levels}


def refusal(
    contrast: Contrast, observed: xr.DataArray
) -> dict[str, Any] | None:
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
    factors = {str(dim): list(observed[dim].values) for dim in observed.dims}
    weights = contrast.array(factors)
    lacking = (weights != 0) & ~observed
    missing = [
        cell for cell in _ordered(contrast.support, factors) if bool(lacking.sel(dict(cell)))
    ]
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


def _ordered(cells: Iterable[Cell], factors: Mapping[str, Sequence[str]]) -> list[Cell]:
    def key(cell: Cell) -> list[int]:
        levels = dict(cell)
        return [list(factors[factor]).index(levels[factor]) for factor in factors]

    return sorted(cells, key=key)
