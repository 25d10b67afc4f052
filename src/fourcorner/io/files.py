"""Small files in and out, with errors that name the path and the remedy.

Invariant: whatever is wrong with a path, the error is a `RunError`. Pinned by
`tests/test_tables.py`.
"""

import hashlib
import os
from pathlib import Path

from fourcorner.errors import RunError
from fourcorner.sections import nearest


def read_text(path: Path) -> str:
    """The text of a UTF-8 file.

    Raises
    ------
    RunError
        If there is no such file, it is a directory, or it is not text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RunError(f"{path} is not a text file in UTF-8") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def require_file(path: Path) -> None:
    """Open a file and close it again.

    Raises
    ------
    RunError
        If there is no such file, it is a directory, or it may not be read.
    """
    try:
        path.open("rb").close()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from None


def write_text(path: Path, text: str) -> Path:
    """Write a text that is not there yet, making its folder; see `write_new`."""
    return write_new(path, text)


def write_new(path: Path, content: str | bytes) -> Path:
    """Write a file that is not there yet, making its folder.

    Parameters
    ----------
    path : Path
    content : str or bytes
        A text is written as UTF-8, its line ends as they are.

    Raises
    ------
    RunError
        If the file exists or cannot be written.
    """
    try:
        data = content.encode() if isinstance(content, str) else content
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError as error:
        taken = Path(error.filename)
        raise RunError(f"{taken} exists already; move it away or name another path") from None
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be written: {_reason(error)}") from None
    return path


def require_free(path: Path) -> None:
    """Refuse early, before long work, to write where something is or nothing may be written.

    Raises
    ------
    RunError
        If `path` exists, or its folder cannot be made or written to.
    """
    if path.exists():
        raise RunError(f"{path} exists already; move it away or name another path")
    require_folder(path.parent)


def require_folder(folder: Path) -> None:
    """Make a folder, and refuse early if nothing may be written in it.

    Raises
    ------
    RunError
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise RunError(f"{folder} cannot be made: {_reason(error)}") from None
    if not os.access(folder, os.W_OK):
        raise RunError(f"{folder} cannot be written to; name another folder")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unreadable(path: Path, error: Exception) -> RunError:
    if isinstance(error, FileNotFoundError):
        return RunError(f"{path}: there is no such file{_siblings(path.parent, path.name)}")
    if isinstance(error, IsADirectoryError):
        return RunError(f"{path} is a directory; name a file in it{_siblings(path, '')}")
    return RunError(f"{path} cannot be read: {_reason(error)}")


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


def _siblings(folder: Path, name: str) -> str:
    if not folder.is_dir():
        return f" (nor the folder {folder})"
    try:
        found = sorted(item.name for item in folder.iterdir() if item.is_file())
    except OSError:
        return ""
    if near := nearest(name, found):
        return near
    more = f" and {len(found) - 6} more" if len(found) > 6 else ""
    return f"; {folder} holds {', '.join(found[:6])}{more}" if found else ""
