"""Tables through DuckDB: files and frames, read without guessing and within bounded memory.

Invariant: no row is lost and no value re-typed on the way in. A text is read as text in every
column, with its header taken from the file itself, and a line with too few fields or a value too
many is an error. What does not fit into the memory of the reader goes to a temporary folder.
After opening, the connection reaches no other file, and before a user's expression is run its
configuration is locked. Pinned by `tests/test_tables.py` and `tests/test_sources.py`.
"""

import re
import tempfile
from array import array
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
from numpy.typing import NDArray

from fourcorner.errors import TableError
from fourcorner.io import text
from fourcorner.io.derive import derived
from fourcorner.io.sources import EXAMPLES, ROW, Source, exactly, find_source
from fourcorner.io.sql import first_line, literal, quote, sql_names

MEMORY = "512MiB"
CHUNK = 200  # vectors of DuckDB, 2,048 rows each
SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "pandas_analyze_sample": "0",  # an object column is text, not what its first rows look like
    "memory_limit": literal(MEMORY),
}


@dataclass(frozen=True)
class Table:
    """An open table; ``rows`` gives its rows.

    Attributes
    ----------
    connection : duckdb.DuckDBPyConnection
    columns : tuple of str
    origin : Source
    kept : bool
        Whether ``rows`` is a table of its own with a 1-based row number in the column ``__row``,
        or a view of the source.
    """

    connection: duckdb.DuckDBPyConnection
    columns: tuple[str, ...]
    origin: Source
    kept: bool = True

    @property
    def source(self) -> str:
        """The file's name, or the kind of frame."""
        return self.origin.name

    @property
    def sha256(self) -> str | None:
        """Of the files; None for a frame."""
        return self.origin.sha256

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
        before = 0
        for name, lines in self._lines:
            if row - before <= len(lines):
                file = f" of {name}" if len(self._lines) > 1 else ""
                return f"line {lines[row - before - 1]}{file}"
            before += len(lines)
        return f"row {row}"

    @cached_property
    def _lines(self) -> "list[tuple[str, array[int]]]":
        """The line that each row of each file starts on; empty where that is not known for sure."""
        if not self.origin.has_lines:
            return []
        if self.origin.kind == "jsonl":
            found = [(path.name, text.filled_lines(path)) for path in self.origin.paths]
        else:
            kind = self.origin.kind
            found = [(path.name, text.lines(path, kind)) for path in self.origin.paths]
        total = sum(len(lines) for _, lines in found)
        return found if total == self.one("SELECT count(*) FROM rows")[0] else []

    def frame(self, sql: str) -> pd.DataFrame:
        """The result of a query as a frame."""
        return self.connection.execute(sql).df()

    def chunks(self, sql: str) -> Iterator[dict[str, NDArray[Any]]]:
        """The result of a query as plain arrays, some rows at a time; NULL numbers as NaN."""
        result = self.connection.execute(sql)
        while len(part := result.fetch_df_chunk(CHUNK)):
            yield {str(name): part[name].to_numpy() for name in part}

    def one(self, sql: str) -> tuple[Any, ...]:
        """The only row of a query."""
        row = self.connection.execute(sql).fetchone()
        assert row is not None, sql
        return row

    def run(self, sql: str) -> None:
        """Run a statement for its effect."""
        self.connection.execute(sql)

    def load(self, name: str, query: str) -> None:
        """Make or replace a table by a query that reads every row of the source once.

        Of a Parquet file it is a view: reading its columns again is faster than keeping them.

        Raises
        ------
        TableError
            If the source holds something other than rows.
        """
        kind = "VIEW" if self.origin.kind == "parquet" and not self.kept else "TABLE"
        try:
            self.connection.execute(f"CREATE OR REPLACE {kind} {name} AS {query}")
        except duckdb.Error as error:
            raise TableError([_unreadable(error, self.origin)], self.source) from None
        if rejected := _rejected(self.connection, self.origin):
            raise TableError([rejected], self.source)

    def keep(self) -> "Table":
        """The same table with its rows kept and numbered."""
        if self.kept:
            return self
        self.run("SET preserve_insertion_order = true")
        kept = replace(self, kept=True)
        kept.load("kept", _numbered(self.origin))
        self.run("DROP VIEW rows")
        self.run("ALTER TABLE kept RENAME TO rows")
        return kept


@contextmanager
def open_table(
    source: object, derive: Mapping[str, str] | None = None, *, keep: bool = True
) -> Generator[Table]:
    """Open a table and close it again.

    Parameters
    ----------
    source : str, Path or frame
        A ``.csv``, ``.tsv``, ``.jsonl`` or ``.ndjson`` (also ``.gz``) or ``.parquet`` file, a
        pattern of files of one format, or a pandas, polars or pyarrow table.
    derive : mapping of str to str, optional
        New columns, each an SQL expression over one row. Columns of a text are texts;
        ``num(column)`` is its number, blank being missing.
    keep : bool
        Whether rows are kept and numbered, or read from the source each time; with derived
        columns they are always kept.

    Yields
    ------
    Table

    Raises
    ------
    TableError
        If the content does not make a table, or an expression cannot be computed.
    RunError
        If a file cannot be read.
    """
    connection = duckdb.connect(":memory:")
    with tempfile.TemporaryDirectory(prefix="fourcorner-") as spill:
        try:
            own = {"temp_directory": literal(spill), "preserve_insertion_order": "false"}
            for setting, value in {**SETTINGS, **own}.items():
                connection.execute(f"SET {setting} = {value}")
            origin = find_source(connection, source)
            table = Table(connection, origin.columns, origin, kept=False)
            _view(table)
            kept = keep or bool(derive)
            if kept:
                table = table.keep()
            _close_off(connection, () if kept else origin.paths)
            if kept:
                connection.execute("SET lock_configuration = true")
            yield derived(table, derive) if derive else table
        finally:
            connection.close()


def _view(table: Table) -> None:
    try:
        table.run(f"CREATE VIEW rows AS {table.origin.relation}")
    except (duckdb.Error, ImportError) as error:
        raise TableError([_unreadable(error, table.origin)], table.source) from None


def _close_off(connection: duckdb.DuckDBPyConnection, paths: tuple[Path, ...]) -> None:
    """Leave the connection its own files alone."""
    if paths:
        listed = ", ".join(literal(spelt) for path in paths for spelt in {str(path), exactly(path)})
        connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute("SET enable_external_access = false")


def _numbered(origin: Source) -> str:
    return f"SELECT row_number() OVER () AS {ROW}, * FROM ({origin.relation})"


def _unreadable(error: Exception, origin: Source) -> str:
    reason = first_line(error)
    if "state machine" in str(error):
        return "line endings are mixed; save the file with one kind, \\n or \\r\\n, throughout"
    if origin.kind == "frame":
        return f"cannot be read: {reason}. Writing it to a Parquet file may help"
    if origin.kind == "parquet":
        return f"not a Parquet file: {reason}"
    return f"cannot be read as {'JSON Lines' if origin.kind == 'jsonl' else 'CSV'}: {reason}"


def _rejected(connection: duckdb.DuckDBPyConnection, origin: Source) -> str | None:
    """The lines of a text that do not fit its header, in words."""
    if not origin.has_lines or origin.kind == "jsonl":
        return None
    count, example = connection.execute(
        "SELECT count(DISTINCT (file_id, line)), arg_min(error_message, line) FROM reject_errors"
    ).fetchone() or (0, "")
    if not count:
        return None
    width, delimiter = len(origin.columns), origin.kind
    found: list[str] = []
    for path in origin.paths:
        of_file = f" of {path.name}" if len(origin.paths) > 1 else ""
        lines = text.misfits(path, delimiter, width)
        found += [re.sub(r"(?<=line )\d+", rf"\g<0>{of_file}", line, count=1) for line in lines]
    found = found or [str(example).strip()]
    more = ", …" if len(found) > EXAMPLES else ""
    said = f"{', '.join(found[:EXAMPLES])}{more}"
    if any(line.endswith(text.NOT_UTF8) for line in found):
        return f"{max(count, len(found))} line(s) cannot be read: {said}. {text.CONVERT}"
    return (
        f"{max(count, len(found))} line(s) do not fit the {width} columns of the header: "
        f"{said}. A value that holds {delimiter!r}, a quote or a line break must be quoted"
    )
