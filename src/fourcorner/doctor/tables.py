"""What a table holds: its columns as the reader of scores would take them.

Invariant: a number is what the reader of scores takes for one, a level is the text that a spec
would declare, and what a column could be is a hint, never used. Large tables are read in a few
passes; distinct values of a long column are then counted about right, and said to be. Pinned by
`tests/test_doctor.py`.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from fourcorner.doctor.column import Column, has_word
from fourcorner.doctor.guess import UNITS
from fourcorner.doctor.suggest import suggest
from fourcorner.errors import TableError
from fourcorner.io.sources import ROW
from fourcorner.io.sql import MISSING, NUMBER
from fourcorner.io.tables import Table, open_table
from fourcorner.scores.typed import canonical_sql, text_sql

FEW_LEVELS = 12
LARGE = 1_000_000  # rows, above which distinct values are counted approximately
HEAD = 1000  # rows that examples come from
EXAMPLES = 3
NO_ROWS = "the table has a header and no rows; a spec needs the scores, so add them"
FLOATS = {"FLOAT", "DOUBLE"}


def describe_table(path: Path) -> dict[str, Any]:
    """Columns of a table with their types and levels, and a spec to start from.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
        ``table``, ``rows``, ``columns`` (as `Column`) and ``suggestion``: ``spec``, a text in
        which every choice is a guess, and ``open``: what could not be guessed.

    Raises
    ------
    TableError, RunError
        If it cannot be read, or has no rows.
    """
    with open_table(path) as table:
        rows = int(table.one("SELECT count(*) FROM rows")[0])
        if not rows:
            raise TableError([NO_ROWS], path.name)
        columns = _columns(table, rows)
        suggestion = suggest(table, columns, path)
    return {
        "table": path.name,
        "rows": rows,
        "columns": [asdict(column) for column in columns],
        "suggestion": suggestion,
    }


def _columns(table: Table, rows: int) -> list[Column]:
    """One pass to see which columns have few values, one for those that have many."""
    sizes = [f"approx_count_distinct({table.column(name)})" for name in table.columns]
    size = dict(zip(table.columns, table.one(f"SELECT {', '.join(sizes)} FROM rows"), strict=True))
    found = {
        name: column
        for name in table.columns
        if size[name] <= 2 * FEW_LEVELS and (column := _of_levels(table, name, rows)) is not None
    }
    many = [name for name in table.columns if name not in found]
    found |= _of_many(table, many, rows)
    return [replace(found[name], could_be=_could_be(found[name])) for name in table.columns]


def _of_levels(table: Table, name: str, rows: int) -> Column | None:
    """A column with few levels, from its distinct values alone; None if they are many after all."""
    level, column = _level(table, name), table.column(name)
    counted = table.frame(
        f"SELECT {level} AS level, bool_and({_is_number(table, name)}) AS number, "
        f"CAST(sum({ROW}) AS BIGINT) AS n "  # no column of a table is called so
        f"FROM (SELECT {column}, count(*) AS {ROW} FROM rows GROUP BY ALL) "
        f"WHERE {level} IS NOT NULL GROUP BY ALL ORDER BY n DESC, level LIMIT {FEW_LEVELS + 1}"
    )
    if len(counted) > FEW_LEVELS:
        return None
    levels = [str(text) for text in counted["level"].tolist()]
    numbers = int(counted.loc[counted["number"].astype(bool), "n"].sum())
    counts = (int(counted["n"].sum()), len(levels), True, numbers)
    return _column(table, name, rows, counts, levels, few=True)


def _of_many(table: Table, columns: Sequence[str], rows: int) -> dict[str, Column]:
    """Columns with many values, all in one pass."""
    if not columns:
        return {}
    distinct = "approx_count_distinct({})" if rows > LARGE else "count(DISTINCT {})"
    wanted: list[str] = []
    for name in columns:
        level = _level(table, name)
        wanted += [
            f"count({level})",
            distinct.format(level if rows <= LARGE else table.column(name)),
            f"count(*) FILTER ({_is_number(table, name)})",
        ]
    counts = iter(map(int, table.one(f"SELECT {', '.join(wanted)} FROM rows")))
    found = {}
    for name in columns:
        filled, size, numbers = next(counts), next(counts), next(counts)
        some = _examples(table, name)
        column = _column(table, name, rows, (filled, size, rows <= LARGE, numbers), some, few=False)
        found[name] = column
    return found


def _column(
    table: Table,
    name: str,
    rows: int,
    counts: tuple[int, int, bool, int],
    levels: Sequence[str],
    *,
    few: bool,
) -> Column:
    filled, distinct, exact, numbers = counts
    kind = _type(filled, numbers, levels if few else [])
    return Column(
        name=name,
        type=kind,
        filled=filled,
        blank=rows - filled,
        distinct=distinct,
        exact=exact,
        numbers=numbers,
        few=few,
        levels=tuple(levels),
        odd=_odd(table, name) if kind == "mixed" else (),
        could_be="",
    )


def _level(table: Table, name: str) -> str:
    """A column's canonical text; NULL where there is no value."""
    if table.types[name] in FLOATS:
        return f"CASE WHEN NOT isnan({table.column(name)}) THEN {canonical_sql(table, name)} END"
    level = canonical_sql(table, name)
    return f"CASE WHEN NOT regexp_full_match({level}, '{MISSING}') THEN {level} END"


def _is_number(table: Table, name: str) -> str:
    """SQL for a value that the reader of scores takes for a finite number."""
    if table.types[name] in FLOATS:
        return f"isfinite({table.column(name)})"
    value = f"trim({text_sql(table, name)})"
    return f"regexp_full_match({value}, '{NUMBER}') AND isfinite(TRY_CAST({value} AS DOUBLE))"


def _examples(table: Table, name: str) -> list[str]:
    """Some values of the first rows, without counting them all."""
    texts = table.frame(
        f"SELECT DISTINCT level FROM (SELECT {_level(table, name)} AS level FROM rows "
        f"WHERE {ROW} <= {HEAD}) WHERE level IS NOT NULL ORDER BY level LIMIT {EXAMPLES}"
    )["level"]
    return [str(level) for level in texts.tolist()]


def _type(filled: int, numbers: int, levels: Sequence[str]) -> str:
    if not filled:
        return "empty"
    if numbers == filled:
        return "number"
    if levels and set(levels) <= {"true", "false"}:
        return "boolean"
    return "mixed" if numbers else "text"


def _odd(table: Table, name: str) -> tuple[str, ...]:
    """Values that are no finite numbers, the most frequent first."""
    found = table.frame(
        f"SELECT trim({text_sql(table, name)}) AS value, count(*) AS n FROM rows "
        f"WHERE {_level(table, name)} IS NOT NULL AND NOT ({_is_number(table, name)}) "
        f"GROUP BY 1 ORDER BY n DESC, value LIMIT {EXAMPLES}"
    )
    return tuple(map(str, found["value"].tolist()))


def _could_be(column: Column) -> str:
    if column.type == "empty" or column.distinct <= 1:
        return "nothing: it never varies"
    if column.few and column.type == "boolean":
        return "change, channel, replicate, stratum or attribute"
    if column.few:
        score = "score, " if column.type == "number" else ""
        return f"{score}change, channel, replicate, stratum, attribute or unit"
    if column.type == "number":
        return "score, unit or transition" if has_word(column.name, UNITS) else "score"
    if column.type == "mixed" and column.numbers > column.filled / 2:
        return "score, once every value is a number"
    return "unit or transition"
