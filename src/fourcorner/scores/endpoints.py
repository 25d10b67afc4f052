"""Endpoints that transitions share: which state a row scores, by name.

Invariant: the ends of a transition are two endpoints, and one endpoint of a unit has one score in
each channel and replicate, wherever it has a row. Pinned by `tests/test_endpoints.py`.
"""

import math
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.io.tables import Table
from fourcorner.scores.coded import shape
from fourcorner.scores.validation import NOTHING
from fourcorner.spec import DataSpec

EXAMPLES = 3


def endpoints_of(
    table: Table, data: DataSpec, transitions: int, faults: list[str]
) -> NDArray[np.str_]:
    """The endpoint of each state; adds to `faults` where the rows of a state do not name one.

    Parameters
    ----------
    table : Table
        With ``coded`` and ``keys``.
    data : DataSpec
    transitions : int
    faults : list of str

    Returns
    -------
    ndarray of shape (transitions, 2)
        ``""`` where a state has no row.
    """
    joined = f"JOIN keys AS k USING (u{', t' if data.transition else ''})"
    rows = table.connection.execute(
        f"SELECT k.code, place // {math.prod(shape(data)[1:])} AS side, min(e), max(e), "
        f"any_value(k.u), any_value(k.t) FROM coded {joined} WHERE place IS NOT NULL "
        f"GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    found = np.full((transitions, len(names.STATES)), "", dtype=object)
    blank: list[str] = []
    several: list[str] = []
    for code, side, first, last, unit, transition in rows:
        found[code, side] = first
        where = _where(unit, transition, names.STATES[side])
        if first.strip() in ("", *NOTHING):
            blank.append(where)
        elif first != last:
            several.append(f"{where} has {first!r} and {last!r}")
    if blank:
        faults.append(f"{data.endpoint}: an empty endpoint: {_told(blank)}")
    if several:
        faults.append(f"{data.endpoint} changes within a state: {_told(several)}")
    return found.astype(str)


def endpoint_faults(scores: xr.Dataset) -> Iterator[str]:
    """Ends of a transition that are one endpoint, and endpoints with two scores of one kind."""
    ends = scores[names.ENDPOINT].values
    units, transitions = (
        scores[name].values.tolist() for name in (names.UNIT, names.TRANSITION_ID)
    )
    same = (ends[:, 0] == ends[:, 1]) & (ends[:, 0] != "")
    if same.any():
        listed = [
            f"{_where(units[i], transitions[i])} has {str(ends[i, 0])!r} twice"
            for i in np.flatnonzero(same).tolist()
        ]
        yield f"before and after are one endpoint: {_told(listed)}; expected two"
    first, differ = _against_first(scores)
    if differ.any():
        listed = [
            f"{str(ends.ravel()[place])!r} of unit {units[place // 2]!r}, "
            + " and ".join(
                f"{names.STATES[i % 2]} in transition {transitions[i // 2]!r}"
                for i in (int(first[place]), place)
            )
            for place in np.flatnonzero(differ).tolist()
        ]
        yield (
            f"an endpoint has other scores elsewhere: {_told(listed)}; one state has one score in "
            f"each channel and replicate, blank in all of its rows or in none. Give states that "
            f"were scored again names of their own, or declare the scores as waves"
        )


def _against_first(scores: xr.Dataset) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where a state's endpoint first has a row of a cell that is other in the state, and whether.

    Returns
    -------
    first, differ : ndarray of shape (states,)
    """
    ends = scores[names.ENDPOINT].values.ravel()
    units = np.repeat(np.unique(scores[names.UNIT].values, return_inverse=True)[1], 2)
    codes = np.unique(ends, return_inverse=True)[1]
    group = np.unique(units * (codes.max() + 1) + codes, return_inverse=True)[1]
    present = scores[names.PRESENT].values.reshape(len(ends), -1)
    rows = np.where(present, np.arange(len(ends))[:, None], len(ends) - 1)
    places = np.full((group.max() + 1, present.shape[1]), len(ends) - 1)
    np.minimum.at(places, group, rows)
    first = places[group]
    differ = np.zeros(present.shape, dtype=bool)
    for variable in _scored(scores):
        values = scores[variable].values.reshape(*present.shape, -1)
        other = values[first, np.arange(present.shape[1])]
        missing = np.isnan(values) & np.isnan(other)
        differ |= present & ((values != other) & ~missing).any(axis=2)
    differ &= (ends != "")[:, None]
    return first[np.arange(len(ends)), differ.argmax(axis=1)], differ.any(axis=1)


def _scored(scores: xr.Dataset) -> tuple[str, ...]:
    if names.OPTION_SCORE in scores:
        return (names.OPTION_SCORE, names.CENSORED)
    return (names.SCORE,)


def _where(unit: str, transition: str, state: str = "") -> str:
    inside = f", transition {transition!r}" if transition else ""
    return f"unit {unit!r}{inside}{f', {state}' if state else ''}"


def _told(listed: list[str]) -> str:
    """How many there are, and the first of them."""
    more = f" and {len(listed) - EXAMPLES} more" if len(listed) > EXAMPLES else ""
    return f"{'; '.join(listed[:EXAMPLES])}{more}"
