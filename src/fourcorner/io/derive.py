"""[data.derive]: new columns, each an SQL expression over one row of a loaded table.

Invariant: an expression reads one row and nothing else, so a column does not depend on when, in
which order or how often it is computed. Pinned by `tests/test_tables.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb

from fourcorner.errors import TableError
from fourcorner.io.sources import ROW
from fourcorner.io.sql import NUM, expression_faults, first_line, quote, sql_names, with_columns
from fourcorner.sections import nearest

if TYPE_CHECKING:
    from fourcorner.io.tables import Table


def derived(table: "Table", derive: Mapping[str, str]) -> "Table":
    """Add columns, each an expression over one row and the columns before it.

    Raises
    ------
    TableError
        If a name is taken, or an expression is none or cannot be computed in some row.
    """
    table.run(NUM)
    faults = _name_faults(derive, table)
    named = sql_names((*table.columns, *derive))
    made: dict[str, str] = {}
    for name, written in () if faults else derive.items():
        expression = with_columns(written, named)
        problems = expression_faults(table.connection, expression, named.values())
        problems = problems or _evaluation_faults(table, {**made, name: expression})
        faults += [f"derive {name!r}: {problem}" for problem in problems]
        if not problems:
            made[name] = expression
    if faults:
        raise TableError(faults, table.source)
    table.run(f"CREATE TABLE derived AS {_selection(made, 'FROM rows')}")
    table.run("DROP TABLE rows")
    table.run("ALTER TABLE derived RENAME TO rows")
    return replace(table, columns=(*table.columns, *derive))


def _selection(made: Mapping[str, str], rows: str) -> str:
    """A query for some rows with each new column seeing those before it."""
    query = f"SELECT * {rows}"
    for name, expression in made.items():
        query = f"SELECT *, (\n{expression}\n) AS {quote(name)} FROM ({query}) AS rows"
    return query


def _name_faults(derive: Mapping[str, str], table: "Table") -> list[str]:
    """A new column's name is new, whatever its case."""
    taken = {name.casefold() for name in (ROW, *table.columns, *sql_names(table.columns).values())}
    faults = []
    for name in derive:
        if not name.strip():
            faults.append("derive: a column has no name")
        elif name.casefold() in taken:
            faults.append(f"derive {name!r}: there is such a column already; choose another name")
        taken.add(name.casefold())
    return faults


def _evaluation_faults(table: "Table", made: Mapping[str, str]) -> list[str]:
    """Why the last new column has no single value in some row; the row is found by halving."""
    value = quote(list(made)[-1])

    def failure(first: int, last: int) -> duckdb.Error | None:
        rows = _selection(made, f"FROM rows WHERE {ROW} BETWEEN {first} AND {last}")
        try:
            table.run(f"SELECT max({value}) FROM ({rows})")
        except duckdb.Error as error:
            return error
        return None

    if (unbound := failure(0, 0)) is not None:
        return [_in_words(unbound, table)]
    total = int(table.one("SELECT count(*) FROM rows")[0])
    if (failed := failure(1, total)) is not None:
        low, high = 1, total
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if failure(low, middle) else (middle + 1, high)
        return [f"{table.place(low)}: {first_line(failure(low, low) or failed)}"]
    counted = f"SELECT count(*), count(DISTINCT {ROW}) FROM ({_selection(made, 'FROM rows')})"
    if table.one(counted) != (total, total):
        return ["it makes several rows of one, or none"]
    return _undefined(table, made)


def _undefined(table: "Table", made: Mapping[str, str]) -> list[str]:
    """The first row in which the last new column is NaN though no number in it is."""
    *_, (name, expression) = made.items()
    named = {column: quote(sql) for column, sql in sql_names(table.columns).items()}
    floats = [column for column in table.columns if table.types[column] in {"FLOAT", "DOUBLE"}]
    used = [named[column] for column in floats if named[column] in expression]
    given = "".join(f" AND NOT isnan({column})" for column in used)
    value = quote(name)
    (first,) = table.one(
        f"SELECT min({ROW}) FROM ({_selection(made, 'FROM rows')}) "
        f"WHERE typeof({value}) IN ('FLOAT', 'DOUBLE') "
        f"AND isnan(TRY_CAST({value} AS DOUBLE)){given}"
    )
    if first is None:
        return []
    hint = "keep such rows out with CASE WHEN … THEN … END, which leaves them not measured"
    return [f"{table.place(first)}: it is undefined (NaN) there; {hint}"]


def _in_words(error: duckdb.Error, table: "Table") -> str:
    message = first_line(error)
    if absent := re.search(r'Referenced column "(.*?)" not found', message):
        return f"no column {absent[1]!r}{nearest(absent[1], table.columns)}"
    if message.startswith("Binder Error"):
        message += " (a column of text is text: num(column) is its number, blank being missing)"
    return message
