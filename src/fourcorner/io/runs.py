"""Run directories: written whole or not at all, and nothing in them is a pickle.

Invariant: a directory with `complete.json` holds every file that it lists, unchanged; a run that
was interrupted leaves only a hidden temporary directory. Pinned by `tests/test_runs.py`.
"""

import json
import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np
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


def require_whole(path: Path) -> None:
    """Compare a finished run with what it lists: every file, every byte, nothing else.

    Raises
    ------
    RunError
        Naming each file that is missing, changed or not the run's own.
    """
    if not path.is_dir():
        raise RunError(f"{path}: there is no such run; expected the directory of a finished run")
    if not (path / names.COMPLETE_FILE).is_file():
        raise RunError(
            f"{path} is no finished run: it has no {names.COMPLETE_FILE}; name the directory that "
            f"`fourcorner audit --out` wrote"
        )
    listed = _listing(path)
    there = {name for name in listed if (path / name).is_file()}
    faults = [f"{name} is missing" for name in listed if name not in there]
    faults += [
        f"{name} has changed: it is not what {names.COMPLETE_FILE} says"
        for name, digest in listed.items()
        if name in there and sha256(path / name) != digest
    ]
    written = (path / names.COMPLETE_FILE).read_bytes()
    if not faults and written != _text(listed).encode():
        faults.append(f"{names.COMPLETE_FILE} has changed")
    present = {item.name for item in path.iterdir()}
    faults += [f"{name} is not the run's own" for name in sorted(present - _listed(path))]
    if faults:
        raise RunError(
            f"{path} is not as it was written: {'; '.join(faults)}. Run the audit again, or bring "
            f"the run back from where it was copied"
        )


def _listing(folder: Path) -> dict[str, str]:
    """Name and SHA-256 of every file that a finished run says it wrote."""
    try:
        found = json.loads((folder / names.COMPLETE_FILE).read_text(encoding="utf-8"))
        return {str(name): str(digest) for name, digest in found["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunError(f"{folder / names.COMPLETE_FILE} cannot be read: {error}") from None


def _listed(folder: Path) -> set[str]:
    return {*_listing(folder), names.COMPLETE_FILE}


def _text(digests: Mapping[str, str]) -> str:
    return json.dumps({"files": digests}, indent=2) + "\n"


def _complete(folder: Path) -> None:
    digests = {item.name: sha256(item) for item in sorted(folder.iterdir())}
    (folder / names.COMPLETE_FILE).write_text(_text(digests), encoding="utf-8", newline="\n")


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
    _write_netcdf(path, tree)


def write_dataset(path: Path, dataset: xr.Dataset) -> None:
    """A Dataset as netCDF-4, whole or not at all, and only if it reads back as it is.

    Raises
    ------
    RunError
        If the file cannot be written or does not hold all that the Dataset holds.
    """
    _write_netcdf(path, dataset)
    if not read_dataset(path).identical(dataset):
        path.unlink()
        raise RunError(
            f"{path}: netCDF does not hold these scores as they are; look for a label "
            f"with a null character"
        )


def _write_netcdf(path: Path, data: xr.Dataset | xr.DataTree) -> None:
    temporary = path.parent / f".{path.name}.tmp-{os.getpid()}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        data.to_netcdf(temporary, engine=NETCDF)
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
            loaded = opened.load()
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read as netCDF: {error}") from None
    return xr.DataTree.from_dict({node.path: _plain(node.to_dataset()) for node in loaded.subtree})


def read_dataset(path: Path) -> xr.Dataset:
    """A Dataset from netCDF-4, loaded whole; texts and attributes as they were written.

    Raises
    ------
    RunError
        If the file is not there or is no netCDF file.
    """
    try:
        with xr.open_dataset(path, engine=NETCDF) as opened:
            return _plain(opened.load())
    except (OSError, ValueError) as error:
        raise RunError(f"{path} cannot be read as netCDF: {error}") from None


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Texts and attributes as numpy and Python have them, without what netCDF added."""
    texts = {
        name: variable.astype(str)
        for name, variable in dataset.variables.items()
        if variable.dtype == object
    }
    clean = dataset.assign({k: v for k, v in texts.items() if k not in dataset.coords})
    clean = clean.assign_coords({k: v for k, v in texts.items() if k in dataset.coords})
    clean = clean.drop_encoding()
    clean.attrs = {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in dataset.attrs.items()
    }
    return clean


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
