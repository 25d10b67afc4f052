"""Text tables as their author sees them: the header, the records, and the line each starts on.

Invariant: lines are those of the file, so that a quoted line break or a blank line before a row
does not move the line that an error names. Pinned by `tests/test_tables.py`.
"""

import csv
import gzip
import json
import re
import zlib
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from fourcorner.errors import TableError

CONVERT = (
    "If it is a text in another encoding, convert it: iconv -f LATIN1 -t UTF-8 OLD > NEW, with the "
    "encoding that it has in place of LATIN1"
)
NOT_UTF8 = "is not text in UTF-8"
NOT_TEXT = re.compile("[\x00\udc80-\udcff]")


def records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each record with the line it starts on; a blank line is an empty record.

    Raises
    ------
    csv.Error
        Where a quote is not closed, or something follows the one that closes.
    """
    with _opened(path) as file:
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
    try:
        names = next((record for _, record in records(path, delimiter)), None)
    except csv.Error as error:
        raise TableError([f"the header line cannot be read: {error}"], path.name) from None
    if names is None:
        raise TableError(["the file is empty; expected a header line and rows"], path.name)
    if not _is_text(names):
        raise TableError([f"not a table in UTF-8; is it a binary file? {CONVERT}"], path.name)
    if len(names) == 1 and re.search(r"[;\t|,]", names[0]):
        msg = f"the header is one column {names[0][:60]!r}; expected columns split by {delimiter!r}"
        raise TableError([msg], path.name)
    return names


def lines(path: Path, delimiter: str) -> "array[int]":
    """The line that each row starts on; empty where it cannot be told."""
    try:
        return array("q", (line for line, record in records(path, delimiter) if record))[1:]
    except csv.Error:
        return array("q")


def filled_lines(path: Path) -> "array[int]":
    """The lines of a text that are not blank, where each row has a line of its own."""
    with _opened(path) as file:
        return array("q", (number for number, line in enumerate(file, 1) if line.strip()))


def first_keys(path: Path) -> list[str]:
    """The keys of the object in the first line that is not blank, as they come.

    Raises
    ------
    TableError
        If there is no such line, or it is no JSON object in UTF-8.
    """
    with _opened(path) as file:
        first = next((line for line in file if line.strip()), None)
    if first is None:
        raise TableError(["the file is empty; expected one JSON object a line"], path.name)
    if not _is_text([first]):
        raise TableError([f"not JSON Lines in UTF-8; is it a binary file? {CONVERT}"], path.name)
    try:
        pairs = json.loads(first, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        msg = f"the first line is not JSON ({error}); expected one JSON object a line"
        raise TableError([msg], path.name) from None
    if not isinstance(pairs, _Pairs):
        raise TableError(["the first line is no JSON object; expected one a line"], path.name)
    return [key for key, _ in pairs]


def first_not_json(path: Path) -> int | None:
    """The first line that is neither blank nor JSON."""
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            try:
                if line.strip():
                    json.loads(line)
            except (ValueError, RecursionError):
                return number
            if not _is_text([line]):
                return number
    return None


class _Pairs(list[tuple[str, object]]):
    """The keys and values of a JSON object, a key that comes twice included."""


def _opened(path: Path) -> TextIO:
    opener = gzip.open if path.suffix.lower() == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="")  # type: ignore[return-value]


def misfits(path: Path, delimiter: str, width: int) -> list[str]:
    """The lines that are not `width` fields of text, in words."""
    found = []
    line = 0
    try:
        for line, record in records(path, delimiter):
            if not _is_text(record):
                found.append(f"line {line} {NOT_UTF8}")
            elif record and len(record) != width:
                found.append(f"line {line} has {len(record)} value(s)")
    except csv.Error as error:
        if "field limit" not in str(error):  # of Python's reader alone
            found.append(f"after line {line}: {error}")
    return found


def _is_text(record: Sequence[str]) -> bool:
    return not any(NOT_TEXT.search(value) for value in record)


def check_gzip(path: Path) -> None:
    """Read a gzip file to its end: DuckDB does not compare the checksum."""
    try:
        with gzip.open(path) as file:
            while file.read(2**20):
                pass
    except (OSError, EOFError, zlib.error) as error:
        msg = f"not a whole gzip file ({error}); copy or compress it again"
        raise TableError([msg], path.name) from None
