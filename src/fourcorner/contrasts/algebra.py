"""Contrasts: signed weights over named cells, and their algebra.

Invariant: a contrast is data, not a procedure. The design engine applies it to observed cells,
the Bayesian engine to posterior cell means, so both estimate the same thing by construction.
Weights are exact fractions, so equality is exact. Pinned by `tests/test_contrasts.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Real
from typing import ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import ContrastError
from fourcorner.sections import nearest

Cell = frozenset[tuple[str, str]]

_AFTER = (names.STATE, names.AFTER)


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
        ``gain``, ``omega``, ``endpoint_shift``, ``diagonal``, ``allocation``, ``dividend``,
        ``interaction``, ``difference`` or ``contrast``.
    parts : tuple of Contrast
        For a difference and an Ω, (first, second) with ``self == second - first``; else empty.

    Notes
    -----
    ``+``, ``-``, scalar ``*`` and ``==`` act on the weights. Decimal scalars are exact:
    ``0.1 * c + 0.2 * c == 0.3 * c``.

    Examples
    --------
    >>> from fourcorner.contrasts import gain, omega
    >>> direct, generated = gain(view="direct"), gain(view="generated")
    >>> generated - direct == omega(view=("direct", "generated"))
    True
    >>> omega(view=("direct", "generated")).cancels_offsets
    True
    """

    name: str
    weights: Mapping[Cell, Fraction]
    kind: str = "contrast"
    parts: tuple["Contrast", ...] = field(default=(), repr=False)

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

    @property
    def compares_gains(self) -> bool:
        """Whether neither an offset of a channel nor a gain common to all channels moves it."""
        after = [weight for cell, weight in self.weights.items() if _AFTER in cell]
        return self.cancels_offsets and sum(after) == 0

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
        dense = self.dense(factors)
        return xr.DataArray(
            dense, dims=list(factors), coords={k: list(v) for k, v in factors.items()}
        )

    def dense(self, factors: Mapping[str, Sequence[str]]) -> NDArray[np.float64]:
        """The same weights as a plain array."""
        dense = np.zeros([len(levels) for levels in factors.values()])
        for cell, weight in self.weights.items():
            dense[position(self.name, cell, factors)] = float(weight)
        return dense


def position(name: str, cell: Cell, factors: Mapping[str, Sequence[str]]) -> tuple[int, ...]:
    """Where a cell is in the array of a design; what does not fit it is a `ContrastError`."""
    levels = dict(cell)
    if set(levels) != set(factors):
        silent = [factor for factor in factors if factor not in levels]
        unknown = [
            f"{factor!r}{nearest(factor, factors)}" for factor in levels if factor not in factors
        ]
        faults = [f"says nothing about {silent}; fix or average each with at"] if silent else []
        faults += [f"uses {', '.join(sorted(unknown))}, no factor of the scores"] if unknown else []
        unchanged = names.STATE in levels and names.STATE not in factors
        why = "; without [data] change there are agreement rates alone" if unchanged else ""
        msg = f"contrast {name!r} {' and '.join(faults)}; the factors are {list(factors)}{why}"
        raise ContrastError(msg)
    for factor, known in factors.items():
        if levels[factor] not in known:
            got = f"{levels[factor]!r}{nearest(levels[factor], known)}"
            msg = f"contrast {name!r}: {factor} has no level {got}; it has {list(known)}"
            raise ContrastError(msg)
    return tuple(list(known).index(levels[factor]) for factor, known in factors.items())
