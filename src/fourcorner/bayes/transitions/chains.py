"""Endpoints of each unit in order, and which transition goes from which to which.

A unit's transitions are linked where one's after is the next one's before, into chains; without
shared endpoints each transition is a chain of its own. A chain's first endpoint has a level, and
every transition adds the step of its kind: the value of an attribute, or its place in the chain.

Invariant: a transition's after less its before is one step, so expectations of a chain telescope.
Pinned by `tests/test_transitions.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.incomplete import Groups, grouped
from fourcorner.errors import NotAvailable

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

NOBODY = -1  # no such slot


@dataclass(frozen=True)
class Chains:
    """Units as ordered endpoints. A slot is the place of an endpoint in its unit.

    Attributes
    ----------
    units : ndarray of str, shape (units,)
    unit : ndarray of int, shape (transitions,)
        Position of each transition's unit.
    slot : ndarray of int, shape (transitions, 2)
        Slots of its before and its after.
    kind : ndarray of int, shape (transitions,)
        Position of its step among the `steps`.
    steps, levels : tuple of str
        Kinds of steps, and of chains by their first step where they have levels of their own.
    template : ndarray of int, shape (units,)
        Units with the same steps in the same order share a template.
    design : ndarray of shape (templates, slots, levels + steps)
        An endpoint's expectation as a sum of levels and steps; zero beyond a template's slots.
    chain : ndarray of int, shape (templates, slots)
        Which chain of its unit a slot is of; -1 beyond a template's slots.
    """

    units: NDArray[np.str_]
    unit: Whole
    slot: Whole
    kind: Whole
    steps: tuple[str, ...]
    levels: tuple[str, ...]
    template: Whole
    design: Floats
    chain: Whole

    @property
    def moves(self) -> tuple[str, ...]:
        """Labels of what expectations are made of: levels, then steps."""
        return (*self.levels, *self.steps)

    @property
    def size(self) -> Whole:
        """Endpoints of each template: shape (templates,)."""
        return (self.chain != NOBODY).sum(axis=1)

    def rows(self) -> Floats:
        """Expectation of each transition's ends: shape (transitions, 2, levels + steps)."""
        return self.design[self.template[self.unit][:, None], self.slot]

    def endpoints(self, cells: xr.DataArray) -> Floats:
        """Values by unit: shape (units, slots, channel cells), NaN where there is none.

        `cells` has dims (transition, state, channels). An endpoint that two transitions share has
        one value, wherever it has a row.
        """
        flat = cells.values.reshape(len(self.unit), 2, -1)
        found = np.full((len(self.units), self.design.shape[1], flat.shape[2]), np.nan)
        for side in (0, 1):
            place = self.unit, self.slot[:, side]
            found[place] = np.where(np.isnan(found[place]), flat[:, side], found[place])
        return found

    def groups(self, values: Floats, stratum: Whole, strata: int) -> Groups:
        """Units alike in template, stratum and in what they miss.

        `values` are `endpoints`, `stratum` has the position of each unit's. The groups' "stratum"
        is template × strata + stratum; what is missing is zero in means and scatters.
        """
        flat = values.reshape(len(values), -1)
        missing = np.isnan(flat)
        filled = np.where(missing, 0.0, flat)
        return grouped(self.template * strata + stratum, missing, filled)


def linked(cells: xr.DataArray, step: str | None) -> Chains:
    """Link the transitions of a table.

    Parameters
    ----------
    cells : DataArray with dims (transition, state, channels)
        With coordinates of units, and of endpoints where transitions share them.
    step : str, optional
        Attribute that names the kind of a step; None for its place in its chain.

    Raises
    ------
    NotAvailable
        If an endpoint is before, or after, two transitions of a unit, or comes before itself.
    """
    units, unit = np.unique(cells[names.UNIT].values.astype(str), return_inverse=True)
    parent = _parents(cells, unit)
    root, place = _roots(parent, units, unit)
    order = np.lexsort((place, root, unit))
    first = np.searchsorted(unit[order], np.arange(len(units)))
    rank = np.empty(len(unit), dtype=np.int64)
    rank[order] = np.arange(len(unit)) - first[unit[order]]
    starts = np.cumsum(parent[order] < 0)
    chain = np.empty(len(unit), dtype=np.int64)
    chain[order] = starts - starts[first][unit[order]]
    slot = (rank + chain)[:, None] + np.arange(2)
    labels = (place + 1).astype(str) if step is None else cells[step].values.astype(str)
    if step is None:
        steps = tuple(str(i + 1) for i in range(int(place.max()) + 1))
        kind = place
    else:
        found, kind = np.unique(labels, return_inverse=True)
        steps = tuple(found.tolist())
    begun = np.unique(kind[parent < 0])
    levels = tuple("level" if len(begun) == 1 else f"level: {steps[i]}" for i in begun)
    keys = np.full((len(units), int(rank.max()) + 1), NOBODY)
    keys[unit, rank] = 2 * kind + (parent < 0)
    templates, template = np.unique(keys, axis=0, return_inverse=True)
    design, member = _designs(templates, begun, len(steps))
    return Chains(units, unit, slot, kind, steps, levels, template.ravel(), design, member)


def _parents(cells: xr.DataArray, unit: Whole) -> Whole:
    """The transition whose after is each one's before; -1 where there is none."""
    none = np.full(len(unit), NOBODY)
    if names.ENDPOINT not in cells.coords:
        return none
    ends = cells[names.ENDPOINT].values.astype(str)
    codes = np.unique(ends, return_inverse=True)[1].reshape(ends.shape)
    keys = unit[:, None] * (codes.max() + 1) + codes
    known = ends != ""
    for side, state in enumerate(names.STATES):
        mine, count = np.unique(keys[known[:, side], side], return_counts=True)
        if (count > 1).any():
            where = np.flatnonzero((keys[:, side] == mine[count > 1][0]) & known[:, side])[0]
            msg = (
                f"endpoint {str(ends[where, side])!r} of unit "
                f"{str(cells[names.UNIT].values[where])!r} is the {state} of several transitions; "
                f"the transition model needs chains, each endpoint with one step into it and one "
                f"out of it at most"
            )
            raise NotAvailable(msg)
    after = np.flatnonzero(known[:, 1])
    if not len(after):
        return none
    order = after[np.argsort(keys[after, 1], kind="stable")]
    at = np.searchsorted(keys[order, 1], keys[:, 0]).clip(max=len(order) - 1)
    found = order[at]
    return np.where(known[:, 0] & (keys[found, 1] == keys[:, 0]), found, NOBODY)


def _roots(parent: Whole, units: NDArray[np.str_], unit: Whole) -> tuple[Whole, Whole]:
    """The first transition of each one's chain, and how many come before it."""
    root, place = np.arange(len(parent)), np.zeros(len(parent), dtype=np.int64)
    above = parent.copy()
    while (above >= 0).any():
        moving = above >= 0
        root[moving], place[moving] = above[moving], place[moving] + 1
        above[moving] = parent[above[moving]]
        if place.max() > len(parent):
            stuck = str(units[unit[np.argmax(place)]])
            raise NotAvailable(f"the endpoints of unit {stuck!r} come round to where they began")
    return root, place


def _designs(templates: Whole, begun: Whole, steps: int) -> tuple[Floats, Whole]:
    """Rows of levels and steps of each template's slots, and the chain that each slot is of."""
    starts = (templates >= 0) & (templates % 2 == 1)
    slots = int(((templates >= 0).sum(axis=1) + starts.sum(axis=1)).max())
    design = np.zeros((len(templates), slots, len(begun) + steps))
    chain = np.full((len(templates), slots), NOBODY)
    for found, member, keys in zip(design, chain, templates, strict=True):
        slot = number = -1
        for key in keys[keys >= 0]:
            kind, start = divmod(int(key), 2)
            if start:
                slot, number = slot + 1, number + 1
                found[slot, np.searchsorted(begun, kind)], member[slot] = 1.0, number
            slot += 1
            found[slot] = found[slot - 1]
            found[slot, len(begun) + kind] += 1
            member[slot] = number
    return design, chain


def undetermined(known: Floats, moves: Sequence[str], channels: Sequence[str]) -> list[str]:
    """Levels and steps that observed endpoints leave open, in words.

    Parameters
    ----------
    known : ndarray of shape (moves × channels, moves × channels)
        Sum of squares and products of the observed endpoints' rows.
    moves, channels : sequences of str
    """
    values, vectors = np.linalg.eigh(known)
    open_ = vectors[:, values <= 1e-9 * max(values.max(), 1.0)]
    loose = (np.abs(open_) > 1e-6).any(axis=1).reshape(len(moves), len(channels))
    return [f"{moves[i]} ({channels[k]})" for i, k in np.argwhere(loose)]


def constants(chains: Chains) -> dict[str, Any]:
    """What a tree keeps of chains, by variable: dims and values."""
    return {
        names.VAR_TEMPLATE: ((names.UNIT,), chains.template),
        names.VAR_UNIT_OF: ((names.TRANSITION,), chains.unit),
        names.VAR_SLOT: ((names.TRANSITION, names.STATE), chains.slot),
        names.VAR_STEP: ((names.TRANSITION,), chains.kind),
        names.VAR_DESIGN: ((names.TEMPLATE, names.SLOT, names.MOVE), chains.design),
        names.VAR_CHAIN: ((names.TEMPLATE, names.SLOT), chains.chain),
    }


def of_constants(held: xr.Dataset) -> Chains:
    """The chains that `constants` keeps."""
    steps = tuple(map(str, held[names.STEP].values))
    moves = tuple(map(str, held[names.MOVE].values))
    return Chains(
        held[names.UNIT].values.astype(str),
        held[names.VAR_UNIT_OF].values,
        held[names.VAR_SLOT].values,
        held[names.VAR_STEP].values,
        steps,
        moves[: len(moves) - len(steps)],
        held[names.VAR_TEMPLATE].values,
        held[names.VAR_DESIGN].values,
        held[names.VAR_CHAIN].values,
    )
