"""A spec to start from, guessed from a table's columns.

Invariant: what is written is a text to read and correct; nothing is run with it. Where a part
cannot be guessed the text has a question mark in its place and says so. Pinned by
`tests/test_doctor.py`.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fourcorner.io.tables import Table
from fourcorner.scores.typed import text_sql
from fourcorner.sections import canonical

PAIRS = (
    ("before", "after"),
    ("pre", "post"),
    ("baseline", "candidate"),
    ("control", "treatment"),
    ("initial", "final"),
    ("start", "end"),
    ("old", "new"),
)
SCORES = r"margin|score|logprob|reward|rating|grade|value"
UNITS = r"unit|traj|task|item|question|problem|episode|conversation|source|doc|id"
CHANGES = r"state|phase|arm|change|stage|time|version"
REPEATS = r"layout|wave|repeat|replicate|retry|order|seed|run|trial|shuffle"
STRATA = r"target|label|class|gold|stratum|category|topic|domain"
UNKNOWN = "?"


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
    type : {"number", "text", "boolean", "empty", "mixed"}
        ``mixed``: some values are numbers and some are not.
    filled, blank : int
        Rows with and without a value; a NaN is no value.
    distinct : int
    exact : bool
        Whether `distinct` is exact.
    numbers : int
    few : bool
        Whether `levels` are all of them.
    levels : tuple of str
        Canonical texts, the most frequent first; some of the first rows where they are many.
    odd : tuple of str
        Values of a ``mixed`` column that are no numbers, or infinite ones.
    could_be : str
        A hint.
    """

    name: str
    type: str
    filled: int
    blank: int
    distinct: int
    exact: bool
    numbers: int
    few: bool
    levels: tuple[str, ...]
    odd: tuple[str, ...]
    could_be: str


@dataclass(frozen=True)
class Guess:
    """Which column could play which part; None or empty where none offers itself."""

    score: str | None
    unit: str | None
    transition: str | None
    change: tuple[str, str, str] | None
    channel: dict[str, tuple[str, ...]]
    replicate: dict[str, tuple[str, ...]]
    stratum: str | None
    attributes: tuple[str, ...]


def suggest(table: Table, columns: Sequence[Column], path: Path) -> dict[str, Any]:
    """A spec to start from.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
    path : Path
        Of the table, as the spec will name it.

    Returns
    -------
    dict
        ``spec``: TOML; ``open``: parts that nobody but the reader can name.
    """
    found = _guess(table, columns)
    lines = [
        "# Every line is a guess from names and levels: read it, correct it, then run",
        "#   fourcorner doctor THIS-FILE.toml",
        'kind = "scores"',
        f"title = {_text(path.stem)}",
        "",
        "[data]",
        f"path = {_text(path.name)}",
        f"score = {_text(found.score or UNKNOWN)}",
        f"unit = {_text(found.unit or UNKNOWN)}",
        *([f"transition = {_text(found.transition)}"] if found.transition else []),
        _change(found.change),
        *_factors("channel", found.channel, "# the reference first: is it?"),
        *_factors("replicate", found.replicate, "# averaged within a cell"),
        *([f"stratum = {_text(found.stratum)}"] if found.stratum else []),
        *([f"attributes = {_list(found.attributes)}"] if found.attributes else []),
        "",
        "[estimands]",
        *_estimands(found.channel),
    ]
    parts = {"score": found.score, "unit": found.unit, "change": found.change}
    unknown = [part for part, name in parts.items() if name is None]
    return {"spec": "\n".join(lines) + "\n", "open": unknown}


def _guess(table: Table, columns: Sequence[Column]) -> Guess:
    many = [column for column in columns if not column.few and column.type != "empty"]
    numeric = [column for column in many if column.type in {"number", "mixed"}]
    score = _named(numeric, SCORES) or next((column.name for column in numeric), None)
    ids = sorted((c for c in many if c.name != score), key=lambda column: column.distinct)
    unit = _named(ids, UNITS) or next((column.name for column in ids), None)
    few = [column for column in columns if column.few and column.distinct > 1]
    varying = _varying(table, [column.name for column in few], unit)
    inside = [column for column in few if column.name in varying]
    constant = [column for column in few if column not in inside]
    change = _changes(inside)
    rest = [column for column in inside if change is None or column.name != change[0]]
    repeats = [column for column in rest if re.search(REPEATS, column.name, re.IGNORECASE)]
    stratum = _named([c for c in constant if not c.blank], STRATA)
    factors = [column.name for column in inside]
    others = [column.name for column in ids if column.name != unit]
    return Guess(
        score,
        unit,
        others[0] if others and unit and _repeats(table, [unit, *factors]) else None,
        change,
        {column.name: _ordered(column) for column in rest if column not in repeats},
        {column.name: _ordered(column) for column in repeats},
        stratum,
        tuple(column.name for column in constant if column.name != stratum),
    )


def _named(columns: Sequence[Column], pattern: str) -> str | None:
    """The first column with a telling name."""
    telling = (c.name for c in columns if re.search(pattern, c.name, re.IGNORECASE))
    return next(telling, None)


def _varying(table: Table, columns: Sequence[str], unit: str | None) -> list[str]:
    """Columns that have two values within some unit; all of them where no unit is known."""
    if unit is None or not columns:
        return list(columns)
    named = [table.column(name) for name in columns]
    ends = [f"min({name}) AS a{i}, max({name}) AS b{i}" for i, name in enumerate(named)]
    differ = [f"coalesce(bool_or(a{i} <> b{i}), false)" for i in range(len(named))]
    by_unit = f"SELECT {', '.join(ends)} FROM rows GROUP BY {table.column(unit)}"
    found = table.one(f"SELECT {', '.join(differ)} FROM ({by_unit})")
    return [name for name, varies in zip(columns, found, strict=True) if varies]


def _repeats(table: Table, keys: Sequence[str]) -> bool:
    """Whether two rows agree in all of some columns."""
    grouped = ", ".join(text_sql(table, key) for key in keys)
    query = f"SELECT 1 FROM rows GROUP BY {grouped} HAVING count(*) > 1 LIMIT 1"
    return bool(table.one(f"SELECT count(*) FROM ({query})")[0])


def _changes(columns: Sequence[Column]) -> tuple[str, str, str] | None:
    """Column, before and after: two levels that are known as a pair, or a telling name."""
    two = [column for column in columns if column.distinct == 2]
    for column in two:
        by_word = {canonical(level).lower(): level for level in column.levels}
        for first, second in PAIRS:
            if {first, second} == set(by_word):
                return column.name, by_word[first], by_word[second]
    for column in two:
        if re.search(CHANGES, column.name, re.IGNORECASE):
            first, second = _ordered(column)
            return column.name, first, second
    return None


def _ordered(column: Column) -> tuple[str, ...]:
    return tuple(sorted(column.levels, key=_sort_key))


def _sort_key(level: str) -> tuple[float, str]:
    """Numbers by size, other texts after them as they are spelt."""
    return (float(level), "") if re.fullmatch(r"-?[0-9]{1,15}", level) else (float("inf"), level)


def _change(change: tuple[str, str, str] | None) -> str:
    if change is None:
        levels = f'before = "{UNKNOWN}", after = "{UNKNOWN}"'
        hint = "leave it out where nothing changes: agreement rates remain"
        return f'change = {{ column = "{UNKNOWN}", {levels} }}  # {hint}'
    column, before, after = map(_text, change)
    return f"change = {{ column = {column}, before = {before}, after = {after} }}"


def _factors(part: str, factors: dict[str, tuple[str, ...]], comment: str) -> list[str]:
    listed = [f"{_key(name)} = {_list(levels)}" for name, levels in factors.items()]
    return [f"{part} = {{ {', '.join(listed)} }}  {comment}"] if listed else []


def _estimands(channel: dict[str, tuple[str, ...]]) -> list[str]:
    """Gains and their difference along the first channel factor, averaged over the others."""
    if not channel:
        return ["gain = { gain = {} }"]
    (name, levels), *others = channel.items()
    over = f", average_over = {_list([other for other, _ in others])}" if others else ""
    quoted = _key(name)
    return [
        f"gain = {{ gain = {{ {quoted} = {_text(levels[0])} }}{over} }}",
        f"omega = {{ omega = {{ {quoted} = {_list(levels[:2])} }}{over} }}  # second minus first",
    ]


def _text(value: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"
