"""One column of a table, and how columns go together.

Invariant: columns are compared as the reader of scores compares them. Pinned by
`tests/test_doctor.py`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner.io.tables import Table
from fourcorner.scores.typed import text_sql


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


def has_word(name: str, words: str) -> bool:
    """Whether one of some words is in a name, as a word of its own."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    parts = re.findall(r"[A-Za-z]+", spaced)
    return any(re.fullmatch(words, part, re.IGNORECASE) for part in parts)


def varying(table: Table, columns: Sequence[Column], keys: Sequence[str]) -> list[Column]:
    """Columns that have two values where some keys agree; all of them where there is no key.

    A column that is blank in some of those rows alone has two values there.
    """
    if not keys or not columns:
        return list(columns)
    named = [table.column(column.name) for column in columns]
    ends = [f"min({name}) AS a{i}, max({name}) AS b{i}" for i, name in enumerate(named)]
    filled = [f"nullif(trim({text_sql(table, column.name)}), '')" for column in columns]
    ends += [f"count({text}) AS n{i}" for i, text in enumerate(filled)]
    differ = [
        f"coalesce(bool_or(a{i} <> b{i} OR n{i} BETWEEN 1 AND n - 1), false)"
        for i in range(len(named))
    ]
    grouped = ", ".join(map(table.column, keys))
    by_key = f"SELECT count(*) AS n, {', '.join(ends)} FROM rows GROUP BY {grouped}"
    found = table.one(f"SELECT {', '.join(differ)} FROM ({by_key})")
    return [column for column, varies in zip(columns, found, strict=True) if varies]


def has_repeats(table: Table, keys: Sequence[str]) -> bool:
    """Whether two rows agree in all of some columns."""
    grouped = ", ".join(text_sql(table, key) for key in keys)
    query = f"SELECT 1 FROM rows GROUP BY {grouped} HAVING count(*) > 1 LIMIT 1"
    return bool(table.one(f"SELECT count(*) FROM ({query})")[0])


def ordered(column: Column) -> tuple[str, ...]:
    """All levels of a column with few: numbers by size, then other texts as they are spelt."""
    return tuple(sorted(column.levels, key=_sort_key))


def _sort_key(level: str) -> tuple[float, str]:
    return (float(level), "") if re.fullmatch(r"-?[0-9]{1,15}", level) else (float("inf"), level)
