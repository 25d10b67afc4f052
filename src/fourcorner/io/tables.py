"""Tables through DuckDB: CSV, Parquet and frames, read without guessing.

Invariant: no row is lost and no value re-typed on the way in. A CSV is read as text in every
column, with its header taken from the file itself, and a line with too few fields or a value too
many is an error. After loading, the connection can reach no file and its configuration is locked.
Pinned by `tests/test_tables.py`.
"""

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.errors import TableError
from fourcorner.io import files, text
from fourcorner.io.sql import (
    NUM,
    expression_faults,
    first_line,
    literal,
    quote,
    sql_names,
    with_columns,
)
from fourcorner.sections import nearest

ROW = "__row"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = {".parquet", ".pq"}
EXAMPLES = 3
ARROW = "__arrow_c_stream__"
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "pandas_analyze_sample": "0",  # an object column is text, not what its first rows look like
}


@dataclass(frozen=True)
class Table:
    """A loaded table named ``rows`` with a 1-based row number in the column ``__row``.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
    columns : tuple of str
    source : str
        The file's name, or the kind of frame.
    sha256 : str or None
        Of the file; None for a frame.
    delimited : tuple of Path and str, or None
        The file and its delimiter, where rows have lines.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    source: str
    sha256: str | None = None
    delimited: tuple[Path, str] | None = None

    def column(self, name: str) -> str:
        """A column as an SQL identifier; DuckDB folds case, our columns do not."""
        return quote(sql_names(self.columns)[name])

    @cached_property
    def types(self) -> dict[str, str]:
        """DuckDB's type of each column."""
        described = {row[0]: row[1] for row in self.connection.execute("DESCRIBE rows").fetchall()}
        return {column: described[name] for column, name in sql_names(self.columns).items()}

    def place(self, row: int) -> str:
        """Where a row is, in words: its line in a text file, else its number."""
        return f"line {self._lines[row - 1]}" if self._lines else f"row {row}"

    @cached_property
    def _lines(self) -> list[int]:
        """The line that each row starts on; empty where that is not known for sure."""
        found = text.lines(*self.delimited) if self.delimited else []
        return found if len(found) == self.one("SELECT count(*) FROM rows")[0] else []

    def frame(self, sql: str) -> pd.DataFrame:
        """The result of a query as a frame."""
        return self.connection.execute(sql).df()

    def arrays(self, sql: str) -> dict[str, NDArray[Any]]:
        """The result of a query as plain arrays, NULL numbers as NaN."""
        found = self.connection.execute(sql).fetchnumpy()
        return {
            name: np.ma.filled(column.astype(float), np.nan) if np.ma.isMaskedArray(column)
            else np.asarray(column)
            for name, column in found.items()
        }  # fmt: skip

    def one(self, sql: str) -> tuple[Any, ...]:
        """The only row of a query."""
        row = self.connection.execute(sql).fetchone()
        assert row is not None, sql
        return row

    def run(self, sql: str) -> None:
        """Run a statement for its effect."""
        self.connection.execute(sql)


@contextmanager
def open_table(source: object, derive: Mapping[str, str] | None = None) -> Generator[Table]:
    """Load a table and close it again.

    Parameters
    ----------
    source : str, Path or frame
        A ``.csv``, ``.tsv`` (also ``.gz``) or ``.parquet`` file, or a pandas, polars or pyarrow
        table.
    derive : mapping of str to str, optional
        New columns, each an SQL expression over one row. Columns of a CSV are texts;
        ``num(column)`` is its number, blank being missing.

    Yields
    ------
    Table

    Raises
    ------
    TableError
        If the content does not make a table, or an expression cannot be computed.
    RunError
        If the file cannot be read.
    """
    connection = duckdb.connect(":memory:")
    try:
        for setting, value in SETTINGS.items():
            connection.execute(f"SET {setting} = {value}")
        table = _load(connection, source)
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        yield _derive(table, derive or {})
    finally:
        connection.close()


def _load(connection: duckdb.DuckDBPyConnection, source: object) -> Table:
    if not isinstance(source, str | Path):
        return _load_frame(connection, source)
    path = Path(source)
    files.require_file(path)
    name = path.name.lower()
    kind = Path(name.removesuffix(".gz")).suffix
    if kind in DELIMITERS:
        return _load_text(connection, path, DELIMITERS[kind])
    if Path(name).suffix in PARQUET:
        return _load_parquet(connection, path)
    msg = f"what kind of table is {path.name!r}? Expected .csv, .tsv (or .gz of them) or .parquet"
    raise TableError([msg], path.name)


def _load_frame(connection: duckdb.DuckDBPyConnection, frame: object) -> Table:
    kind = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    listed = None
    if isinstance(frame, pd.DataFrame) or hasattr(frame, ARROW):
        listed = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if listed is None:
        msg = f"got a {kind}; expected a path or a pandas, polars or pyarrow table"
        raise TableError([msg], "table")
    columns = [str(name) for name in listed]
    _check_header(columns, kind)
    if isinstance(frame, pd.DataFrame):
        frame = frame.set_axis(list(sql_names(columns).values()), axis=1)
    try:
        connection.register("source", frame)
        return _keep(connection, "source", columns, kind)
    except duckdb.Error as error:
        msg = f"cannot be read: {first_line(error)}. Writing it to a Parquet file may help"
        raise TableError([msg], kind) from None


def _load_parquet(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    name = literal(_exactly(path))
    try:
        columns = _parquet_columns(connection, name)
        _check_header(columns, path.name)
        reader = f"read_parquet({name}, hive_partitioning = false)"
        return _keep(connection, reader, columns, path.name, path)
    except duckdb.Error as error:
        raise TableError([f"not a Parquet file: {first_line(error)}"], path.name) from None


def _parquet_columns(connection: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """The names in the file; a plain query renames those that differ in case alone."""
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({name})").fetchall()
    columns: list[str] = []
    inside = 0
    for column, children in schema[1:]:
        if inside == 0:
            columns.append(column)
        inside += (children or 0) - (inside > 0)
    return columns


def _exactly(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _load_text(connection: duckdb.DuckDBPyConnection, path: Path, delimiter: str) -> Table:
    header = text.header(path, delimiter)
    _check_header(header, path.name)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in sql_names(header).values())
    reader = (
        f"read_csv({literal(_exactly(path))}, auto_detect = false, header = true, "
        f"columns = {{{columns}}}, delim = {literal(delimiter)}, quote = '\"', escape = '\"', "
        f"store_rejects = true, hive_partitioning = false)"
    )
    try:
        table = _keep(connection, reader, header, path.name, path, delimiter)
    except duckdb.Error as error:
        raise TableError([_unreadable(error)], path.name) from None
    rejected = connection.execute(
        "SELECT count(DISTINCT line), arg_min(error_message, line) FROM reject_errors"
    ).fetchone()
    if rejected and rejected[0]:
        found = text.misfits(path, delimiter, len(header)) or [str(rejected[1]).strip()]
        more = ", …" if len(found) > EXAMPLES else ""
        count = max(rejected[0], len(found))
        msg = (
            f"{count} line(s) do not fit the {len(header)} columns of the header: "
            f"{', '.join(found[:EXAMPLES])}{more}. A value that holds {delimiter!r}, a quote or a "
            f"line break must be quoted"
        )
        raise TableError([msg], path.name)
    return table


def _unreadable(error: duckdb.Error) -> str:
    if "state machine" in str(error):
        return "line endings are mixed; save the file with one kind, \\n or \\r\\n, throughout"
    return f"cannot be read as CSV: {first_line(error)}"


def _check_header(header: Sequence[str], source: str) -> None:
    faults = []
    blank = [str(place) for place, name in enumerate(header, 1) if not name.strip()]
    if not header or len(blank) == len(header):
        faults.append("there is no header; expected the names of the columns first")
    elif blank:
        faults.append(f"column {', '.join(blank)} has no name in the header")
    twice = sorted({name for name in header if name.strip() and list(header).count(name) > 1})
    if twice:
        faults.append(f"the header names a column twice: {', '.join(map(repr, twice))}")
    if any(name.casefold() == ROW for name in header):
        faults.append(f"a column is called {ROW!r}, which the reader needs; rename it")
    if faults:
        raise TableError(faults, source)


def _keep(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[str],
    source: str,
    path: Path | None = None,
    delimiter: str | None = None,
) -> Table:
    renamed = ", ".join(quote(name) for name in sql_names(columns).values())
    connection.execute(
        f"CREATE TABLE rows AS SELECT row_number() OVER () AS {ROW}, t.* "
        f"FROM {relation} AS t({renamed})"
    )
    digest = None if path is None else files.sha256(path)
    delimited = (path, delimiter) if path and delimiter else None
    return Table(connection, tuple(columns), source, digest, delimited)


def _derive(table: Table, derive: Mapping[str, str]) -> Table:
    """Add columns, each an expression over one row and the columns before it."""
    if not derive:
        return table
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


def _name_faults(derive: Mapping[str, str], table: Table) -> list[str]:
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


def _evaluation_faults(table: Table, made: Mapping[str, str]) -> list[str]:
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
    whole = table.one(counted) == (total, total)
    return [] if whole else ["it makes several rows of one, or none"]


def _in_words(error: duckdb.Error, table: Table) -> str:
    message = first_line(error)
    if absent := re.search(r'Referenced column "(.*?)" not found', message):
        return f"no column {absent[1]!r}{nearest(absent[1], table.columns)}"
    if message.startswith("Binder Error"):
        message += " (a column of text is text: num(column) is its number, blank being missing)"
    return message
