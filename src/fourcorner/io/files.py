"""Small texts in and out, with errors that name the path and the remedy."""

import hashlib
from pathlib import Path

from fourcorner.errors import RunError


def read_text(path: Path) -> str:
    """The text of a UTF-8 file.

    Raises
    ------
    RunError
        If there is no such file, it is a directory, or it is not text.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RunError(f"{path}: there is no such file{_siblings(path)}") from None
    except IsADirectoryError:
        raise RunError(f"{path} is a directory; name a file in it{_siblings(path / '_')}") from None
    except UnicodeDecodeError:
        raise RunError(f"{path} is not a text file in UTF-8") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error.strerror}") from None


def write_text(path: Path, text: str) -> Path:
    """Write a text that is not there yet, making its folder.

    Raises
    ------
    RunError
        If the file exists or cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise RunError(f"{path} exists already; move it away or name another folder") from None
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}") from None
    return path


def require_free(path: Path) -> None:
    """Refuse early, before long work, to write where something is already.

    Raises
    ------
    RunError
    """
    if path.exists():
        raise RunError(f"{path} exists already; move it away or name another")


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _siblings(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" (nor the folder {folder})"
    found = sorted(item.name for item in folder.iterdir() if item.is_file())[:6]
    return f"; {folder} holds {', '.join(found)}" if found else ""
