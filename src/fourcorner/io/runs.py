"""Run directories: written whole or not at all, and nothing in them is a pickle.

Invariant: a directory with `complete.json` holds every file that it lists, unchanged; a run that
was interrupted leaves only a hidden temporary directory. Pinned by `tests/test_runs.py`.
"""

import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pandas as pd
import xarray as xr

from fourcorner import names
from fourcorner.errors import RunError
from fourcorner.io.files import require_folder, sha256
from fourcorner.io.tables import literal, quote

NETCDF = "h5netcdf"


@contextmanager
def new_run(path: Path, *, replace: bool = False) -> Generator[Path]:
    """A directory to fill, which becomes `path` when the block ends without an error.

    Parameters
    ----------
    path : Path
    replace : bool
        Whether an earlier run may make way; anything else that is there never does.

    Yields
    ------
    Path
        The temporary directory ``.NAME.tmp-PID`` beside it.

    Raises
    ------
    RunError
        If something is in the way or the directory cannot be written.
    """
    final = path.resolve()
    require_way(final, replace=replace)
    temporary = final.parent / f".{final.name}.tmp-{os.getpid()}"
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        _complete(temporary)
        require_way(final, replace=replace)
        _swap(temporary, final)
    except OSError as error:
        if isinstance(error, RunError):
            raise
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def require_way(path: Path, *, replace: bool = False) -> None:
    """Refuse early, before long work, to write a run where it may not go.

    Raises
    ------
    RunError
        If something other than a finished run is there, or one is and may not be replaced.
    """
    final = path.resolve()
    if not final.exists():
        require_folder(final.parent)
        return
    if not (final / names.COMPLETE_FILE).is_file():
        raise RunError(f"{final} is there already and is no finished run; name another directory")
    if not replace:
        raise RunError(f"{final} is a finished run; name another directory, or pass --replace")
    foreign = sorted({item.name for item in final.iterdir()} - _listed(final))
    if foreign:
        raise RunError(f"{final} also holds {', '.join(foreign)}, which no run wrote; move it away")


def _listed(folder: Path) -> set[str]:
    """Names of the files that a finished run says it wrote."""
    try:
        found = json.loads((folder / names.COMPLETE_FILE).read_text(encoding="utf-8"))
        return {*found["files"], names.COMPLETE_FILE}
    except (ValueError, KeyError, TypeError) as error:
        raise RunError(f"{folder / names.COMPLETE_FILE} cannot be read: {error}") from None


def _complete(folder: Path) -> None:
    digests = {item.name: sha256(item) for item in sorted(folder.iterdir())}
    text = json.dumps({"files": digests}, indent=2) + "\n"
    (folder / names.COMPLETE_FILE).write_text(text, encoding="utf-8")


def _swap(temporary: Path, final: Path) -> None:
    if not final.exists():
        temporary.rename(final)
        return
    old = final.parent / f".{final.name}.old-{os.getpid()}"
    final.rename(old)
    try:
        temporary.rename(final)
    except OSError:
        old.rename(final)
        raise
    shutil.rmtree(old)


def write_tree(path: Path, tree: xr.DataTree) -> None:
    """A fit as netCDF-4, whole or not at all.

    Raises
    ------
    RunError
        If the file cannot be written.
    """
    temporary = path.parent / f".{path.name}.tmp-{os.getpid()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        tree.to_netcdf(temporary, engine=NETCDF)
        temporary.rename(path)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_tree(path: Path) -> xr.DataTree:
    """A fit from netCDF-4, loaded whole so that the file is free again.

    Raises
    ------
    RunError
        If the file is not there or is no netCDF file.
    """
    try:
        with xr.open_datatree(path, engine=NETCDF) as opened:
            return opened.load()
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read as netCDF: {error}") from None


def write_table(stem: Path, table: pd.DataFrame, types: dict[str, str]) -> None:
    """A frame as ``STEM.parquet`` and ``STEM.csv``.

    Parameters
    ----------
    stem : Path
    table : pandas.DataFrame
        Cells are None, numbers, texts or lists of them.
    types : dict of str to str
        The SQL type of each column, in order.
    """
    columns = ", ".join(f"{quote(name)} {kind}" for name, kind in types.items())
    with duckdb.connect(":memory:") as connection:
        connection.execute(f"CREATE TABLE rows ({columns})")
        if len(table):
            marks = ", ".join("?" for _ in types)
            rows = table[list(types)].astype(object).where(table[list(types)].notna(), None)
            connection.executemany(f"INSERT INTO rows VALUES ({marks})", rows.to_numpy().tolist())
        for suffix in ("parquet", "csv"):
            target = literal(str(stem.with_suffix(f".{suffix}")))
            connection.execute(f"COPY rows TO {target} (FORMAT {suffix})")
