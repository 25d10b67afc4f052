"""Coded rows to a Dataset with every declared combination once.

Invariant: where a row goes depends on its labels, not on its place in the table; memory is that
of the arrays and of one chunk of rows. Pinned by `tests/test_scores.py`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.io.tables import Table
from fourcorner.scores.coded import shape
from fourcorner.scores.margins import margin_bounds
from fourcorner.sections import canonical
from fourcorner.spec import DataSpec


@dataclass(frozen=True)
class Arrays:
    """The rows of a table in their places, and what does not add up.

    Attributes
    ----------
    score : numpy.ndarray
        Shape (transitions, levels of each factor), and the options last where they are scored.
    present : numpy.ndarray of bool
        Whether there is a row.
    censored : numpy.ndarray of bool or None
    size : numpy.ndarray or None
        How large the numbers are whose difference a score is.
    placed : int
        Rows that went to some place; more than there are places filled where two share one.
    odd : bool
        Whether a score is infinite or no number, or a flag neither true nor false.
    """

    score: NDArray[np.float64]
    present: NDArray[np.bool_]
    censored: NDArray[np.bool_] | None
    size: NDArray[np.float64] | None
    placed: int
    odd: bool

    @property
    def duplicates(self) -> bool:
        """Whether some place has two rows."""
        return self.placed > int(self.present.sum())


def scatter(table: Table, data: DataSpec, transitions: int, options: int) -> Arrays:
    """Put the rows of ``coded`` in their places, some rows at a time."""
    sizes = (transitions, *shape(data), *([options] if data.candidate else []))
    per_transition = math.prod(sizes[1:])
    size = transitions * per_transition
    score, present = np.full(size, np.nan), np.zeros(size, dtype=bool)
    censored = np.zeros(size, dtype=bool) if data.candidate else None
    reach = np.full(size, np.nan) if data.is_readout else None
    placed, odd = 0, False
    whole = "INTEGER" if size < 2**31 else "BIGINT"
    for chunk in map(_known, table.chunks(_placed_sql(data, per_transition, options, whole))):
        places, values = chunk["place"], chunk["y"]
        score[places] = values
        present[places] = True
        placed += len(places)
        odd = odd or bool(np.isinf(values).any())
        if reach is not None:
            reach[places] = chunk["z"]
        if censored is not None and data.censored:
            censored[places] = chunk["x"] == 1
            odd = odd or bool(((chunk["x"] == 2) & ~np.isnan(values)).any())
    flags = None if censored is None else censored.reshape(sizes)
    reached = None if reach is None else reach.reshape(sizes)
    return Arrays(score.reshape(sizes), present.reshape(sizes), flags, reached, placed, odd)


def _known(chunk: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The rows of a chunk that have a place."""
    places = chunk["place"]
    if places.dtype.kind != "f":
        return chunk
    known = ~np.isnan(places)
    return {**{k: v[known] for k, v in chunk.items()}, "place": places[known].astype(np.int64)}


def _placed_sql(data: DataSpec, per_transition: int, options: int, whole: str) -> str:
    """Place, score and flag of each row of ``coded`` with an id; no place beside other levels.

    Rows without a place are left to the reader of the result: to leave them out here costs more.
    """
    place = f"k.code::{whole} * {per_transition} + place"
    joined = f"JOIN keys AS k USING (u{', t' if data.transition else ''})"
    if data.candidate:
        place = f"k.code::{whole} * {per_transition} + place * {options} + pos"
        joined += " JOIN options USING (u, c)"
    more = f"{', z' if data.is_readout else ''}{', x' if data.censored else ''}"
    return f"SELECT {place} AS place, y{more} FROM coded {joined}"


def dataset(
    data: DataSpec, keys: pd.DataFrame, options: pd.DataFrame | None, arrays: Arrays
) -> xr.Dataset:
    """Arrays with their labels; margins where options are scored."""
    dims = [names.TRANSITION, *data.factors, *data.replicate]
    levels = {**data.factors, **data.replicate}
    coords = {**{name: list(values) for name, values in levels.items()}, **_along(data, keys)}
    attrs = {"replicates": "\n".join(data.replicate), "scale": "\n".join(data.scale)}
    if options is None or arrays.censored is None:
        variables = {names.SCORE: (dims, arrays.score), names.PRESENT: (dims, arrays.present)}
        return xr.Dataset(variables, coords=coords, attrs=attrs)
    ids, target = candidates_of(data, keys, options)
    found = xr.Dataset(
        {
            names.OPTION_SCORE: ([*dims, names.OPTION], arrays.score),
            names.CENSORED: ([*dims, names.OPTION], arrays.censored),
            names.SCORE: (dims, np.full(arrays.score.shape[:-1], np.nan)),
        },
        coords={
            **coords,
            names.OPTION_ID: ((names.TRANSITION, names.OPTION), ids),
            names.TARGET_OPTION: (names.TRANSITION, target),
        },
        attrs={**attrs, "reducer": data.reducer},
    )
    if arrays.size is not None:
        found[names.OPTION_SIZE] = ([*dims, names.OPTION], arrays.size)
    low, high = margin_bounds(found, [])
    found[names.SCORE] = low.where(low == high)
    there = xr.DataArray(arrays.present, dims=found[names.OPTION_SCORE].dims)
    found[names.PRESENT] = (there | (found[names.OPTION_ID] == "")).all(names.OPTION)
    return found


def _along(data: DataSpec, keys: pd.DataFrame) -> dict[str, Any]:
    """Coordinates of the transitions."""
    along: dict[str, Any] = {
        names.UNIT: (names.TRANSITION, keys["u"].to_numpy(dtype=str)),
        names.TRANSITION_ID: (names.TRANSITION, keys["t"].to_numpy(dtype=str)),
    }
    labelled = {names.STRATUM: "s"} if data.stratum else {}
    labelled |= {name: f"a{i}" for i, name in enumerate(data.attributes)}
    for name, short in labelled.items():
        values = _canonical(keys[short])
        along[name] = (names.TRANSITION, values)
    return along


def _canonical(texts: "pd.Series[str]") -> NDArray[np.str_]:
    """Canonical texts; each different one is looked at once."""
    codes, different = pd.factorize(texts, use_na_sentinel=False)
    return np.array([canonical(text) for text in different], dtype=str)[codes]


def candidates_of(
    data: DataSpec, keys: pd.DataFrame, options: pd.DataFrame
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Each transition's candidates in their places, no more being ``""``; the target's place."""
    units, unit = np.unique(keys["u"].to_numpy(dtype=str), return_inverse=True)
    if data.candidates:
        by_unit = np.tile(np.array(data.candidates, dtype=str), (len(units), 1))
    else:
        by_unit = np.full((len(units), width(data, options)), "", dtype=_text_type(options["o"]))
        rows = np.searchsorted(units, options["u"].to_numpy(dtype=str))
        by_unit[rows, options["pos"].to_numpy()] = options["o"].to_numpy(dtype=str)
    targets = _canonical(keys["g"])
    ids = by_unit[unit]
    is_target = ids == targets[:, None]
    return ids, np.where(is_target.any(axis=1), is_target.argmax(axis=1), -1)


def width(data: DataSpec, options: pd.DataFrame) -> int:
    """Places for options: the declared ones, or the most that a unit has."""
    if data.candidates:
        return len(data.candidates)
    return int(options["pos"].max()) + 1 if len(options) else 0


def _text_type(texts: pd.Series) -> str:
    return f"<U{max(map(len, texts), default=1)}"
