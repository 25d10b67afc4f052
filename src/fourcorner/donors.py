"""Donors: for each unit another one of its kind whose views can stand in for its own.

A control that shows a unit another one's text keeps the length and the kind of task and takes away
what the text says of this unit. So a donor is of the same task family, and as near as can be in
the combined word count of its before and after views.

Invariant: nobody is its own donor, and no other unit of its family is nearer than its donor, in
whatever order the units stand. Pinned by `tests/test_donors.py`
(`test_donors_are_those_of_an_exhaustive_search`).
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.errors import TableError, counted
from fourcorner.sections import canonical, nearest, show

Ints = NDArray[np.int64]

LISTED = 3
LONGEST = 2**52  # counts up to here, and their differences, are exact as floats


def match_donors(table: pd.DataFrame, *, unit: str, family: str, words: str) -> pd.Series:
    """Give each unit a donor: another of its family, nearest in word count.

    Of two equally near donors the one with fewer words is taken, and of several with one count the
    one whose id comes first as text. A donor may serve several units.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each unit, in any order, with any index.
    unit : str
        Column of ids, each once; they are compared as texts.
    family : str
        Column of task families. Donors do not cross families.
    words : str
        Column of whole numbers: the words of the unit's before and after views together.

    Returns
    -------
    pandas.Series
        The donors' ids, called ``donor``, on the table's own index.

    Raises
    ------
    TableError
        If `table` is no pandas frame or a column's name no text. Else with every fault at once: a
        column that is not there, a missing or empty id or family, an id that stands twice, a word
        count that is missing, negative or no whole number (a flag is none), a family with one
        unit, which leaves nobody to choose.

    Examples
    --------
    >>> table = pd.DataFrame(
    ...     {
    ...         "trajectory": ["t1", "t2", "t3", "t4", "t5"],
    ...         "task_family": ["drug", "drug", "drug", "gene", "gene"],
    ...         "words": [400, 520, 610, 410, 900],
    ...     }
    ... )
    >>> match_donors(table, unit="trajectory", family="task_family", words="words").tolist()
    ['t2', 't3', 't2', 't5', 't4']
    """
    if misfit := _misfit(table, {"unit": unit, "family": family, "words": words}):
        raise TableError(misfit)
    if absent := _absent(table, (unit, family, words)):
        raise TableError(absent)
    ids, families = _texts(table[unit]), _texts(table[family])
    counts = _counts(table[words])
    faults = [
        *_blank(ids, unit),
        *_blank(families, family),
        *_repeated(ids, unit),
        *_uncounted(table[words], counts, words),
        *_alone(families, family),
    ]
    if faults:
        raise TableError(faults)
    group = pd.factorize(families)[0].astype(np.int64)
    rank = np.argsort(np.argsort(ids, kind="stable"), kind="stable")
    chosen = _nearest(group, counts.astype(np.int64), rank)
    donors = table[unit].iloc[chosen]
    return pd.Series(donors.array, index=table.index, name="donor")


def _nearest(group: Ints, count: Ints, rank: Ints) -> Ints:
    """Position of each one's nearest neighbour in its group, which has two or more.

    Sorted by group, count and rank, those of one group and count are a run. The neighbour is
    another of the own run, the first that is not oneself, or else the first of the next lower or
    of the next higher run, whichever is nearer, the lower one if they tie.
    """
    order = np.lexsort((rank, count, group))
    groups, counts = group[order], count[order]
    size = order.size
    fresh = np.ones(size, dtype=bool)
    fresh[1:] = (groups[1:] != groups[:-1]) | (counts[1:] != counts[:-1])
    starts = np.flatnonzero(fresh)
    run = np.cumsum(fresh) - 1
    first = starts[run]
    last = np.append(starts[1:], size)[run] - 1

    place = np.arange(size)
    mate = np.where(place == first, np.minimum(first + 1, size - 1), first)
    lower = starts[np.maximum(run - 1, 0)]
    higher = starts[np.minimum(run + 1, starts.size - 1)]
    far = np.iinfo(np.int64).max
    below = np.where((run > 0) & (groups[lower] == groups), counts - counts[lower], far)
    above = np.where(
        (run < starts.size - 1) & (groups[higher] == groups), counts[higher] - counts, far
    )
    found = np.where(last > first, mate, np.where(below <= above, lower, higher))
    donors = np.empty(size, dtype=np.int64)
    donors[order] = order[found]
    return donors


# --- faults ------------------------------------------------------------------------------------


def _texts(column: pd.Series) -> NDArray[np.object_]:
    """Canonical texts; a missing or blank value is an empty one."""
    texts = [canonical(value) for value in column.astype(object).where(column.notna(), "")]
    return np.array([text if text.strip() else "" for text in texts], dtype=object)


def _counts(column: pd.Series) -> NDArray[np.float64]:
    """Numbers, and NaN for what is none; a flag or a date is none."""
    if column.dtype.kind in "bmMc":
        return np.full(len(column), np.nan)
    if column.dtype.kind == "O":  # flags among other values are none either
        flags = column.astype(object).map(type).isin((bool, np.bool_))
        column = column.astype(object).mask(flags)
    return pd.to_numeric(column, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _misfit(table: object, columns: Mapping[str, object]) -> list[str]:
    """What is no table of pandas, or no name of a column."""
    faults = [
        f"{part} = {show(name)}: expected the name of a column, a text"
        for part, name in columns.items()
        if not isinstance(name, str)
    ]
    if not isinstance(table, pd.DataFrame):
        got = f"{type(table).__module__.partition('.')[0]}.{type(table).__qualname__}"
        faults.append(
            f"got a {got.removeprefix('builtins.')} as the table; expected a pandas.DataFrame: "
            f"convert it, as with pandas.DataFrame(…) or the frame's own to_pandas()"
        )
    return faults


def _absent(table: pd.DataFrame, columns: tuple[str, ...]) -> list[str]:
    here = [name for name in table.columns if isinstance(name, str)]
    faults = [
        f"no column {name!r}{nearest(name, here)}; there are {here}"
        for name in dict.fromkeys(columns)
        if name not in here
    ]
    faults += [
        f"column {name!r} stands {here.count(name)} times; keep one"
        for name in dict.fromkeys(columns)
        if here.count(name) > 1
    ]
    if len(set(columns)) < len(columns):
        faults.append(f"unit, family and words are three columns; got {list(columns)}")
    return faults


def _blank(texts: NDArray[np.object_], column: str) -> list[str]:
    rows = np.flatnonzero(texts == "")
    if not rows.size:
        return []
    return [
        f"column {column!r}: {rows.size} missing or empty, first in rows "
        f"{rows[:LISTED].tolist()} (from 0); give each unit one"
    ]


def _repeated(ids: NDArray[np.object_], column: str) -> list[str]:
    times = pd.Series(ids[ids != ""]).value_counts()
    twice = sorted(times.index[times > 1])
    if not twice:
        return []
    return [
        f"column {column!r}: {counted(len(twice), 'id')} in several rows, first {twice[:LISTED]}; "
        f"expected one row for each unit, so keep one of them"
    ]


def _uncounted(column: pd.Series, counts: NDArray[np.float64], name: str) -> list[str]:
    whole = np.isfinite(counts) & (counts >= 0) & (counts <= LONGEST)
    whole[whole] = counts[whole] == np.floor(counts[whole])
    rows = np.flatnonzero(~whole)
    if not rows.size:
        return []
    got = ", ".join(show(value) for value in column.iloc[rows[:LISTED]].tolist())
    return [
        f"column {name!r}: no word count in {counted(rows.size, 'row')}, first {got} in rows "
        f"{rows[:LISTED].tolist()} (from 0); expected whole numbers from 0"
    ]


def _alone(families: NDArray[np.object_], column: str) -> list[str]:
    times = pd.Series(families[families != ""]).value_counts()
    single = sorted(times.index[times == 1])
    if not single:
        return []
    return [
        f"column {column!r}: {counted(len(single), 'family', 'families')} of one unit, first "
        f"{single[:LISTED]}, so there is no other to be its donor; merge such a family into a "
        f"wider one or leave it out"
    ]
