"""Tables through DuckDB: CSV, Parquet and frames, read without guessing.

Invariant: no row is lost and no value re-typed on the way in. A CSV is read as text in every
column, with its header taken from the file itself, and any line that does not fit is an error.
After loading, the connection can reach no file and its configuration is locked.
Pinned by `tests/test_tables.py`.
"""

import csv
import gzip
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.errors import RunError, TableError
from fourcorner.io import files

ROW = "__row"
DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = {".parquet", ".pq"}
FORBIDDEN = {"select", "from", "over"}


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
    header_lines : int
        What to add to a row number to get the line of the file; 0 where there are no lines.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    source: str
    sha256: str | None = None
    header_lines: int = 0

    def column(self, name: str) -> str:
        """A column as an SQL identifier; DuckDB folds case, our columns do not."""
        return quote(_sql_names(self.columns)[name])

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


def quote(name: str) -> str:
    """A column's name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal."""
    return "'" + text.replace("'", "''") + "'"


def _sql_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that stays unique when case is folded."""
    folded = [column.casefold() for column in columns]
    return {
        column: column if folded.count(column.casefold()) == 1 else f"{column}#{place}"
        for place, column in enumerate(columns)
    }


@contextmanager
def open_table(source: object, derive: Mapping[str, str] | None = None) -> Iterator[Table]:
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
        for setting in ("autoinstall_known_extensions", "autoload_known_extensions"):
            connection.execute(f"SET {setting} = false")
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
    if path.is_dir():
        raise RunError(f"{path} is a directory; name one table file in it")
    if not path.exists():
        files.read_text(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else "".join(suffixes[-1:])
    if kind in DELIMITERS:
        return _load_text(connection, path, DELIMITERS[kind])
    if kind in PARQUET:
        return _load_parquet(connection, path)
    msg = f"{path.name}: cannot tell what this is; expected .csv, .tsv (or .gz of them) or .parquet"
    raise TableError([msg], path.name)


def _load_frame(connection: duckdb.DuckDBPyConnection, frame: Any) -> Table:
    kind = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    if isinstance(frame, pd.DataFrame):
        columns = [str(name) for name in frame.columns]
    elif hasattr(frame, "__arrow_c_stream__"):
        columns = list(getattr(frame, "column_names", None) or frame.columns)
    else:
        msg = f"got a {kind}; expected a path or a pandas, polars or pyarrow table"
        raise TableError([msg], "table")
    _check_header(columns, kind)
    if isinstance(frame, pd.DataFrame):
        frame = frame.set_axis(list(_sql_names(columns).values()), axis=1)
    connection.register("source", frame)
    return _keep(connection, "source", columns, kind)


def _load_parquet(connection: duckdb.DuckDBPyConnection, path: Path) -> Table:
    try:
        reader = f"read_parquet({literal(str(path))})"
        columns = connection.sql(f"SELECT * FROM {reader} LIMIT 0").columns
        return _keep(connection, reader, columns, path.name, path)
    except duckdb.Error as error:
        raise TableError([f"not a Parquet file: {_first_line(error)}"], path.name) from None


def _load_text(connection: duckdb.DuckDBPyConnection, path: Path, delimiter: str) -> Table:
    header = _header(path, delimiter)
    columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in _sql_names(header).values())
    reader = (
        f"read_csv({literal(str(path))}, auto_detect = false, header = true, "
        f"columns = {{{columns}}}, delim = {literal(delimiter)}, quote = '\"', escape = '\"', "
        f"store_rejects = true)"
    )
    try:
        table = _keep(connection, reader, header, path.name, path, header_lines=1)
    except duckdb.Error as error:
        raise TableError([f"cannot be read as CSV: {_first_line(error)}"], path.name) from None
    rejected = connection.execute(
        "SELECT line, min(error_message), count(*) OVER () FROM reject_errors GROUP BY line "
        "ORDER BY line LIMIT 3"
    ).fetchall()
    if rejected:
        where = "; ".join(f"line {line}: {message.strip()}" for line, message, _ in rejected)
        msg = f"{rejected[0][2]} line(s) do not fit the {len(header)} columns of the header: {where}"
        raise TableError([msg], path.name)
    return table


def _header(path: Path, delimiter: str) -> list[str]:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file, delimiter=delimiter), [])
    except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, csv.Error):
        raise TableError(["not a text table in UTF-8 (a binary file?)"], path.name) from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from None
    if not header:
        raise TableError(["the file is empty; expected a header line and rows"], path.name)
    if any("\x00" in name for name in header):
        raise TableError(["not a text table in UTF-8 (a binary file?)"], path.name)
    if len(header) == 1 and re.search(r"[;\t|,]", header[0]):
        msg = f"the header is one column {header[0][:60]!r}; expected columns split by {delimiter!r}"
        raise TableError([msg], path.name)
    _check_header(header, path.name)
    return header


def _check_header(header: Sequence[str], source: str) -> None:
    faults = []
    blank = [str(place) for place, name in enumerate(header, 1) if not name.strip()]
    if blank:
        faults.append(f"column {', '.join(blank)} has no name in the header")
    twice = sorted({name for name in header if list(header).count(name) > 1})
    if twice:
        faults.append(f"the header names a column twice: {twice}")
    if ROW in header:
        faults.append(f"a column is called {ROW!r}, which the reader needs; rename it")
    if faults:
        raise TableError(faults, source)


def _keep(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    columns: Sequence[str],
    source: str,
    path: Path | None = None,
    header_lines: int = 0,
) -> Table:
    _check_header(columns, source)
    renamed = ", ".join(quote(name) for name in _sql_names(columns).values())
    connection.execute(
        f"CREATE TABLE rows AS SELECT row_number() OVER () AS {ROW}, t.* "
        f"FROM {relation} AS t({renamed})"
    )
    digest = None if path is None else files.sha256(path)
    return Table(connection, tuple(columns), source, digest, header_lines)


def _derive(table: Table, derive: Mapping[str, str]) -> Table:
    if not derive:
        return table
    table.run(
        "CREATE MACRO num(x) AS CAST(nullif(trim(CAST(x AS VARCHAR)), '') AS DOUBLE)"
    )
    faults = [fault for name, text in derive.items() for fault in _check_expression(name, text)]
    faults += [
        f"derive {name!r}: the table has that column already; choose another name"
        for name in derive
        if name.casefold() in {column.casefold() for column in _sql_names(table.columns).values()}
    ]
    if faults:
        raise TableError(faults, table.source)
    made = ", ".join(
        f"({_with_columns(text, table)}) AS {quote(name)}" for name, text in derive.items()
    )
    try:
        table.run(f"CREATE TABLE derived AS SELECT *, {made} FROM rows")
    except duckdb.Error as error:
        hint = "columns of a text table are texts: num(column) is a number, blank being missing"
        msg = f"derive cannot be computed: {_first_line(error)} ({hint})"
        raise TableError([msg], table.source) from None
    if table.one("SELECT count(*) FROM derived") != table.one("SELECT count(*) FROM rows"):
        msg = "derive: an expression gives several values for one row"
        raise TableError([msg], table.source)
    table.run("DROP TABLE rows")
    table.run("ALTER TABLE derived RENAME TO rows")
    return Table(
        table.connection,
        (*table.columns, *derive),
        table.source,
        table.sha256,
        table.header_lines,
    )


def _check_expression(name: str, text: str) -> list[str]:
    """An expression over one row: no query, no window, no second statement, no comment."""
    bare = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", "", text).lower()
    bare = re.sub(r"\bdistinct\s+from\b", "", bare)
    words = set(re.findall(r"[a-z_]+", bare)) & FORBIDDEN
    words |= {mark for mark in (";", "--", "/*") if mark in bare}
    if words:
        return [f"derive {name!r}: {sorted(words)} may not stand in an expression over one row"]
    return []


def _with_columns(text: str, table: Table) -> str:
    """An expression with each column's exact name replaced by its SQL identifier."""

    def swap(match: re.Match[str]) -> str:
        word = match[0]
        name = word[1:-1].replace('""', '"') if word.startswith('"') else word
        return table.column(name) if name in table.columns else word

    return re.sub(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_]\w*(?!\w|\s*\()", swap, text)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
