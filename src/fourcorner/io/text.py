"""Delimited text as its author sees it: the header, the records, and the line each starts on.

Invariant: lines are those of the file, so that a quoted line break or a blank line before a row
does not move the line that an error names. Pinned by `tests/test_tables.py`.
"""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from fourcorner.errors import TableError

NOT_TEXT = re.compile("[\x00\udc80-\udcff]")


def records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it starts on; a blank line is an empty record.

    Raises
    ------
    csv.Error
        Where a quote is not closed, or something follows the one that closes.
    """
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    options = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": ""}
    with opener(path, "rt", **options) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        for record in reader:
            yield line, record
            line = reader.line_num + 1


def header(path: Path, delimiter: str) -> list[str]:
    """The names in the first line.

    Raises
    ------
    TableError
        If there is no such line, it is not text, or it looks like another delimiter's.
    """
    if path.suffix.lower() == ".gz":
        _check_gzip(path)
    try:
        names = next((record for _, record in records(path, delimiter)), None)
    except csv.Error as error:
        raise TableError([f"the header line cannot be read: {error}"], path.name) from None
    if names is None:
        raise TableError(["the file is empty; expected a header line and rows"], path.name)
    if not _is_text(names):
        msg = "not a table in UTF-8; is it a binary file, or a text in another encoding?"
        raise TableError([msg], path.name)
    if len(names) == 1 and re.search(r"[;\t|,]", names[0]):
        msg = f"the header is one column {names[0][:60]!r}; expected columns split by {delimiter!r}"
        raise TableError([msg], path.name)
    return names


def lines(path: Path, delimiter: str) -> list[int]:
    """The line that each row starts on; empty where it cannot be told."""
    try:
        return [line for line, record in records(path, delimiter) if record][1:]
    except csv.Error:
        return []


def misfits(path: Path, delimiter: str, width: int) -> list[str]:
    """The lines that are not `width` fields of text, in words."""
    found = []
    line = 0
    try:
        for line, record in records(path, delimiter):
            if not _is_text(record):
                found.append(f"line {line} is not text in UTF-8")
            elif record and len(record) != width:
                found.append(f"line {line} has {len(record)} value(s)")
    except csv.Error as error:
        if "field limit" not in str(error):  # of Python's reader alone
            found.append(f"after line {line}: {error}")
    return found


def _is_text(record: Sequence[str]) -> bool:
    return not any(NOT_TEXT.search(value) for value in record)


def _check_gzip(path: Path) -> None:
    """Read a gzip file to its end: DuckDB does not compare the checksum."""
    try:
        with gzip.open(path) as file:
            while file.read(2**20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        msg = f"not a whole gzip file ({error}); copy or compress it again"
        raise TableError([msg], path.name) from None
