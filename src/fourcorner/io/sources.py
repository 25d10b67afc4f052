"""Files and frames as relations of DuckDB: which columns they have, and rows without guessing.

Invariant: every file of a source has the same columns of the same types, no two files are the
same bytes, and what a text holds stays text. Pinned by `tests/test_tables.py` and
`tests/test_sources.py`.
"""

import glob
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pandas as pd

from fourcorner.errors import RunError, TableError
from fourcorner.io import files, text
from fourcorner.io.sql import first_line, literal, quote, sql_names

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = {".parquet": "parquet", ".pq": "parquet"}
JSONL = {".jsonl": "jsonl", ".ndjson": "jsonl"}
ROW = "__row"
ARROW = "__arrow_c_stream__"
EXAMPLES = 3
FRAME = "source"
PATTERN = re.compile(r"[*?\[]")
KINDS = "Expected .csv, .tsv, .jsonl (or .gz of them) or .parquet"


@dataclass(frozen=True)
class Source:
    """Where rows come from.

    Attributes
    ----------
    name : str
        The file's name, or the kind of frame.
    columns : tuple of str
    relation : str
        SQL that gives the rows, each column by its SQL name, as often as it is asked.
    paths : tuple of Path
        In the order of the rows; empty for a frame.
    kind : str
        The delimiter of a delimited text, ``"jsonl"``, ``"parquet"`` or ``"frame"``.
    sha256 : str or None
        Of the file, or of the digests of several, one a line.
    """

    name: str
    columns: tuple[str, ...]
    relation: str
    paths: tuple[Path, ...] = ()
    kind: str = "frame"
    sha256: str | None = None

    @property
    def has_lines(self) -> bool:
        """Whether a row stands on a line of a text."""
        return self.kind in {*DELIMITERS.values(), "jsonl"}


def find_source(connection: duckdb.DuckDBPyConnection, source: object) -> Source:
    """Open what a caller names as a table, without reading its rows.

    Raises
    ------
    TableError
        If it is no table, its header is none, or its files disagree.
    RunError
        If a file cannot be read, or a pattern matches none.
    """
    if not isinstance(source, str | Path):
        return _frame(connection, source)
    paths = [Path(os.path.abspath(path)) for path in _matching(Path(source))]
    for path in paths:
        files.require_file(path)
    name = paths[0].name if len(paths) == 1 else f"{Path(source).name} ({len(paths)} files)"
    kinds = {path.name: _kind(path) for path in paths}
    if len(set(kinds.values())) > 1:
        told = ", ".join(list(kinds)[: EXAMPLES + 1])
        raise TableError([f"files of several formats ({told}); name files of one format"], name)
    kind = next(iter(kinds.values()))
    digest = _digest(paths, name)
    reader = {"parquet": _parquet, "jsonl": _jsonl}.get(kind, _delimited)
    columns, relation = reader(connection, paths, kind, name)
    return Source(name, tuple(columns), relation, tuple(paths), kind, digest)


def check_header(header: Sequence[str], source: str) -> None:
    """Raise a `TableError` unless each column has a name of its own."""
    faults = []
    blank = [str(place) for place, name in enumerate(header, 1) if not name.strip()]
    if not header or len(blank) == len(header):
        faults.append("there is no header; expected the names of the columns first")
    elif blank:
        faults.append(f"column {', '.join(blank)} has no name in the header; give it one")
    twice = sorted({name for name in header if name.strip() and list(header).count(name) > 1})
    if twice:
        faults.append(f"the header names a column twice: {', '.join(map(repr, twice))}")
    if any(name.casefold() == ROW for name in header):
        faults.append(f"a column is called {ROW!r}, which the reader needs; rename it")
    if faults:
        raise TableError(faults, source)


def _matching(path: Path) -> list[Path]:
    """The file itself, or the files that a pattern matches, in the order of their names."""
    if not PATTERN.search(str(path)) or path.exists():
        return [path]
    found = sorted(Path(item) for item in glob.glob(str(path), recursive=True))
    found = [item for item in found if item.is_file()]
    if not found:
        raise RunError(f"{path}: no file matches this pattern")
    return found


def is_table_name(path: Path) -> bool:
    """Whether a file is a table by its name."""
    return _named_kind(path) is not None


def _named_kind(path: Path) -> str | None:
    name = path.name.lower()
    kinds = {**DELIMITERS, **JSONL, **({} if name.endswith(".gz") else PARQUET)}
    return kinds.get(Path(name.removesuffix(".gz")).suffix)


def _kind(path: Path) -> str:
    kind = _named_kind(path)
    if kind is None:
        raise TableError([f"what kind of table is {path.name!r}? {KINDS}"], path.name)
    if path.name.lower().endswith(".gz"):
        text.check_gzip(path)
    return kind


def _digest(paths: Sequence[Path], name: str) -> str:
    digests = [files.sha256(path) for path in paths]
    if len(paths) == 1:
        return digests[0]
    first: dict[str, Path] = {}
    faults = []
    for path, digest in zip(paths, digests, strict=True):
        if digest in first:
            faults.append(f"{path.name} and {first[digest].name} are the same file twice")
        first.setdefault(digest, path)
    if faults:
        raise TableError(faults, name)
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _frame(connection: duckdb.DuckDBPyConnection, frame: object) -> Source:
    kind = f"{type(frame).__module__.split('.')[0]} {type(frame).__name__}"
    listed = None
    if isinstance(frame, pd.DataFrame) or hasattr(frame, ARROW):
        listed = getattr(frame, "column_names", None) or getattr(frame, "columns", None)
    if listed is None:
        msg = f"got a {kind}; expected a path or a pandas, polars or pyarrow table"
        raise TableError([msg], "table")
    columns = [str(name) for name in listed]
    check_header(columns, kind)
    if isinstance(frame, pd.DataFrame):
        frame = frame.set_axis(list(sql_names(columns).values()), axis=1)
    try:
        held = frame if isinstance(frame, pd.DataFrame) else _Stream(frame)
        connection.register(FRAME, held)
    except (duckdb.Error, ImportError) as error:
        msg = f"cannot be read: {first_line(error)}. Writing it to a Parquet file may help"
        raise TableError([msg], kind) from None
    return Source(kind, tuple(columns), _renamed(FRAME, columns))


class _Stream:
    """An Arrow table by its C interface alone, so that DuckDB needs no pyarrow to read it."""

    def __init__(self, frame: object) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return getattr(self._frame, ARROW)(requested_schema)


def _renamed(relation: str, columns: Sequence[str]) -> str:
    named = ", ".join(quote(name) for name in sql_names(columns).values())
    return f"SELECT * FROM {relation} AS t({named})"


def exactly(path: Path) -> str:
    """A path in which DuckDB sees no pattern."""
    return PATTERN.sub(r"[\g<0>]", str(path))


def _listed(paths: Sequence[Path]) -> str:
    return f"[{', '.join(literal(exactly(path)) for path in paths)}]"


def _compare(schemas: Sequence[object], paths: Sequence[Path], what: str, name: str) -> None:
    """Refuse files that differ from the first in their columns."""
    first = schemas[0] if isinstance(schemas[0], list) else []
    faults = [
        f"{path.name} has {what} {_told(schema, schemas[0])}; {paths[0].name} has "
        f"{_told(schemas[0], schema)}. The files of one table have the same columns"
        f"{' in the same order' if isinstance(schema, list) and set(schema) == set(first) else ''}"
        for path, schema in zip(paths, schemas, strict=True)
        if schema != schemas[0]
    ]
    if faults:
        raise TableError(faults, name)


def _told(schema: object, other: object) -> str:
    """What a schema has that the other has not, in words; its order where that is all."""
    own = list(schema.items() if isinstance(schema, dict) else schema)  # type: ignore[call-overload]
    others = list(other.items() if isinstance(other, dict) else other)  # type: ignore[call-overload]
    different = [item for item in own if item not in others]
    if not different and len(own) == len(others):
        different = own
    words = [" ".join(item) if isinstance(item, tuple) else item for item in different[:6]]
    return ", ".join(words) or "no more"


def _delimited(
    _: duckdb.DuckDBPyConnection, paths: Sequence[Path], kind: str, name: str
) -> tuple[list[str], str]:
    headers = []
    for path in paths:
        headers.append(text.header(path, kind))
        check_header(headers[-1], path.name)
    _compare(headers, paths, "the columns", name)
    columns = ", ".join(f"{literal(item)}: 'VARCHAR'" for item in sql_names(headers[0]).values())
    relation = (
        f"read_csv({_listed(paths)}, auto_detect = false, header = true, "
        f"columns = {{{columns}}}, delim = {literal(kind)}, quote = '\"', escape = '\"', "
        f"store_rejects = true, hive_partitioning = false)"
    )
    return headers[0], _renamed(relation, headers[0])


def _parquet(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], _: str, name: str
) -> tuple[list[str], str]:
    schemas = []
    for path in paths:
        try:
            schemas.append(_parquet_schema(connection, path))
        except duckdb.Error as error:
            raise TableError([f"not a Parquet file: {first_line(error)}"], path.name) from None
    _compare(schemas, paths, "the columns", name)
    columns = list(schemas[0])
    relation = f"read_parquet({_listed(paths)}, hive_partitioning = false)"
    return columns, _renamed(relation, columns)


def _parquet_schema(connection: duckdb.DuckDBPyConnection, path: Path) -> dict[str, str]:
    """Type of each column; a plain query renames those that differ in case alone."""
    file = _listed([path])
    schema = connection.execute(f"SELECT name, num_children FROM parquet_schema({file})").fetchall()
    columns: list[str] = []
    inside = 0
    for column, children in schema[1:]:
        if inside == 0:
            columns.append(column)
        inside += (children or 0) - (inside > 0)
    check_header(columns, path.name)
    described = connection.execute(
        f"DESCRIBE SELECT * FROM read_parquet({file}, hive_partitioning = false)"
    ).fetchall()
    return {column: row[1] for column, row in zip(columns, described, strict=True)}


def _jsonl(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[Path], _: str, name: str
) -> tuple[list[str], str]:
    headers = []
    for path in paths:
        headers.append(text.first_keys(path))
        check_header(headers[-1], path.name)
        _check_objects(connection, path, headers[-1])
    _compare([sorted(header) for header in headers], paths, "the keys", name)
    keys = sql_names(headers[0])
    values = ", ".join(
        f"json ->> {literal(_pointer(key))} AS {quote(item)}" for key, item in keys.items()
    )
    return headers[0], f"SELECT {values} FROM read_ndjson_objects({_listed(paths)})"


def _pointer(key: str) -> str:
    """The JSON pointer of a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _check_objects(connection: duckdb.DuckDBPyConnection, path: Path, keys: Sequence[str]) -> None:
    """Every line is an object with the keys of the first, once each."""
    expected = f"[{', '.join(literal(key) for key in sorted(keys))}]"
    try:
        odd = connection.execute(
            f"SELECT row, found FROM (SELECT row_number() OVER () AS row, "
            f"CASE WHEN json_type(json) = 'OBJECT' THEN list_sort(json_keys(json)) END AS found "
            f"FROM read_ndjson_objects({_listed([path])})) "
            f"WHERE found IS DISTINCT FROM {expected} ORDER BY row LIMIT {EXAMPLES + 1}"
        ).fetchall()
    except duckdb.Error as error:
        raise TableError([_malformed(path, error)], path.name) from None
    if odd:
        lines = text.filled_lines(path)
        told = [f"line {lines[row - 1]} {_odd_keys(found, keys)}" for row, found in odd[:EXAMPLES]]
        more = ", …" if len(odd) > EXAMPLES else ""
        msg = (
            f"not every line has the keys of the first: {', '.join(told)}{more}. Write null for "
            f"what was not measured"
        )
        raise TableError([msg], path.name)


def _odd_keys(found: Sequence[str] | None, keys: Sequence[str]) -> str:
    if found is None:
        return "is no object"
    twice = [key for key in dict.fromkeys(found) if list(found).count(key) > 1]
    if twice:
        return f"has the key {twice[0]!r} twice"
    missing = [key for key in keys if key not in found]
    return (
        f"lacks {missing[0]!r}" if missing else f"adds {next(k for k in found if k not in keys)!r}"
    )


def _malformed(path: Path, error: duckdb.Error) -> str:
    """Which line is no JSON, by Python's reader since DuckDB counts to the line after."""
    line = text.first_not_json(path)
    reason = first_line(error).split(": ")[-1]
    if line and "UTF-8" in reason:
        return f"line {line} {text.NOT_UTF8}. {text.CONVERT}"
    return f"line {line} is not JSON ({reason})" if line else f"not JSON Lines: {first_line(error)}"
