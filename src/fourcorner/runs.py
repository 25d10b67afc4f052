"""An audit to its run directory and back.

Invariant: `load` returns what `write` was given, rows, scores and fit, or refuses; the report of
what it returns is the saved one, byte for byte. `document.json` is what ``--json`` printed, and
`spec.toml` is the spec as it was read. Pinned by `tests/test_runs.py`.
"""

import datetime
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fourcorner import names, results
from fourcorner.auditing import Audit
from fourcorner.errors import FourcornerError, RunError
from fourcorner.io import runs as io_runs
from fourcorner.io.files import read_text, write_text
from fourcorner.report import html
from fourcorner.results import Breakdown, Check, Estimate, Probability
from fourcorner.spec import Spec, parse_spec

PACKAGES = ("fourcorner", "pymc", "nutpie", "arviz", "numpy", "pandas", "xarray", "duckdb")
COLUMNS = {
    "name": "VARCHAR",
    "statistic": "VARCHAR",
    "weights": "VARCHAR",
    "method": "VARCHAR",
    "population": "VARCHAR",
    "cohort": "VARCHAR",
    "value": "DOUBLE",
    "interval": "DOUBLE[]",
    "interval_kind": "VARCHAR",
    "level": "DOUBLE",
    "units": "BIGINT",
    "transitions": "BIGINT",
    "undefined_draws": "BIGINT",
    "resampling": "VARCHAR",
    "count": "BIGINT",
    "signed": "BOOLEAN",
    "family": "VARCHAR",
    "flip_ratio": "DOUBLE",
    "flip_share": "DOUBLE",
    "notes": "VARCHAR[]",
    "refused": "VARCHAR",
}


def write(path: Path, audit: Audit, *, replace: bool = False) -> Path:
    """Write a run directory, whole or not at all.

    Parameters
    ----------
    path : Path
    audit : Audit
    replace : bool
        Whether an earlier run at `path` may make way.

    Returns
    -------
    Path
        Of the directory.

    Raises
    ------
    RunError
        If something is in the way or cannot be written, or the audit's spec was changed in Python
        where its text does not show it.
    """
    document = audit.document()
    record = provenance(audit)
    with io_runs.new_run(path, replace=replace) as folder:
        io_runs.write_table(folder / names.ESTIMATES_FILE, _flat(audit.estimates), COLUMNS)
        io_runs.write_dataset(folder / names.SCORES_FILE, audit.scores)
        if audit.tree is not None:
            io_runs.write_tree(folder / names.POSTERIOR_FILE, audit.tree)
        texts = {
            names.CHECKS_FILE: results.to_json({"checks": document["checks"]}),
            names.DOCUMENT_FILE: results.to_json(document),
            names.SPEC_FILE: audit.spec.text,
            names.PROVENANCE_FILE: results.to_json(record),
            names.REPORT_FILE: html.render(audit, record),
        }
        for name, text in texts.items():
            write_text(folder / name, text)
    return path


def load(path: Path) -> Audit:
    """Read a run directory back.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Audit
        Equal to the one that was written.

    Raises
    ------
    RunError
        If a file of the run is missing, has changed or is not the run's own, or another version
        of the package wrote it in another way.
    """
    io_runs.require_whole(path)
    record = json.loads(read_text(path / names.PROVENANCE_FILE))
    document = json.loads(read_text(path / names.DOCUMENT_FILE))
    try:
        return Audit(
            _spec(read_text(path / names.SPEC_FILE), record),
            io_runs.read_dataset(path / names.SCORES_FILE),
            results.read(document["estimates"], Estimate),
            results.read(document["probabilities"], Probability),
            results.read(document["checks"], Check),
            _tree(path),
            tuple(document["not_available"]),
            results.read(document["breakdowns"], Breakdown),
        )
    except (KeyError, TypeError, FourcornerError) as error:
        wrote = record.get("versions", {}).get("fourcorner", "another version")
        raise RunError(
            f"{path} was written by fourcorner {wrote} and cannot be read by "
            f"{importlib.metadata.version('fourcorner')}: {error}; run the audit again"
        ) from error


def _tree(path: Path) -> xr.DataTree | None:
    file = path / names.POSTERIOR_FILE
    return io_runs.read_tree(file) if file.is_file() else None


def _spec(text: str, record: Mapping[str, Any]) -> Spec:
    """The spec that was run: its text, and what was given instead of what the text says."""
    spec = parse_spec(text, directory=Path(record["spec_folder"]))
    for key, value in record["instead"].items():
        table, _, option = key.partition(".")
        changed = replace(getattr(spec, table), **{option: value}) if option else value
        spec = replace(spec, **{table: changed})
    return spec


def _instead(spec: Spec) -> dict[str, Any]:
    """Options and weights that were given instead of what the spec's text says.

    Raises
    ------
    RunError
        If anything else was changed in Python: then the text would not say what was run.
    """
    written = parse_spec(spec.text, directory=spec.directory)
    found: dict[str, Any] = {} if spec.weights == written.weights else {"weights": spec.weights}
    for table in ("sampler", "design"):
        ours, theirs = getattr(spec, table), getattr(written, table)
        for option in (item.name for item in fields(ours)):
            if getattr(ours, option) != getattr(theirs, option):
                found[f"{table}.{option}"] = getattr(ours, option)
    same = replace(written, weights=spec.weights, sampler=spec.sampler, design=spec.design)
    changed = [
        item.name for item in fields(Spec) if getattr(same, item.name) != getattr(spec, item.name)
    ]
    if changed:
        raise RunError(
            f"the spec's {' and '.join(changed)} was changed in Python after its text was read, so "
            f"the text would not say what was run; change the text and parse it again"
        )
    return found


def provenance(audit: Audit) -> dict[str, Any]:
    """Where the numbers come from: data, spec, versions and seed."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "source": audit.scores.attrs["source"],
        "file_sha256": audit.scores.attrs["sha256"] or None,
        "scores_sha256": scores_digest(audit.scores),
        "spec_sha256": hashlib.sha256(audit.spec.text.encode()).hexdigest(),
        "spec_folder": str(audit.spec.directory),
        "instead": _instead(audit.spec),
        "seed": audit.spec.sampler.seed,
        "bootstrap_draws": audit.spec.design.draws,
        "sampling": None if audit.tree is None else str(audit.tree.attrs["attempts"]),
        "left_out": None if audit.tree is None else str(audit.tree.attrs["left_out"]) or None,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def scores_digest(scores: xr.Dataset) -> str:
    """SHA-256 of the validated scores with their labels, whatever file they came from."""
    digest = hashlib.sha256()
    for name in sorted(map(str, scores.data_vars)):
        if name != names.PRESENT:
            digest.update(np.ascontiguousarray(scores[name].values).tobytes())
    for name in sorted(map(str, scores.coords)):
        listed = [name, *map(str, scores[name].values.tolist())]
        digest.update("\x1f".join(listed).encode())
    return digest.hexdigest()


def _flat(estimates: pd.DataFrame) -> pd.DataFrame:
    """Cells that a table file can hold: lists for intervals and notes, JSON for refusals."""

    def plain(cell: object) -> object:
        if isinstance(cell, Mapping):
            return results.to_json(cell)
        return list(cell) if isinstance(cell, tuple) else cell

    return estimates.map(plain)
