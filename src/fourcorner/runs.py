"""An audit to its run directory.

Invariant: the directory's `document.json` is what `--json` printed, and `spec.toml` is the spec
as it was read. Pinned by `tests/test_runs.py`.
"""

import datetime
import hashlib
import importlib.metadata
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fourcorner import names, results
from fourcorner.auditing import Audit
from fourcorner.design.engine import DRAWS
from fourcorner.io import runs as io_runs
from fourcorner.io.files import write_text
from fourcorner.report import html

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
    "notes": "VARCHAR[]",
    "refused": "VARCHAR",
}


def write(path: Path, audit: Audit, *, replace: bool = False, draws: int = DRAWS) -> Path:
    """Write a run directory, whole or not at all.

    Parameters
    ----------
    path : Path
    audit : Audit
    replace : bool
        Whether an earlier run at `path` may make way.
    draws : int
        Bootstrap draws of the design engine, for the record.

    Returns
    -------
    Path
        Of the directory.

    Raises
    ------
    RunError
        If something is in the way or cannot be written.
    """
    document = audit.document()
    record = {**provenance(audit), "bootstrap_draws": draws}
    with io_runs.new_run(path, replace=replace) as folder:
        io_runs.write_table(folder / names.ESTIMATES_FILE, _flat(audit.estimates), COLUMNS)
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


def provenance(audit: Audit) -> dict[str, Any]:
    """Where the numbers come from: data, spec, versions and seed."""
    return {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "source": audit.scores.attrs["source"],
        "file_sha256": audit.scores.attrs["sha256"] or None,
        "scores_sha256": scores_digest(audit.scores),
        "spec_sha256": hashlib.sha256(audit.spec.text.encode()).hexdigest(),
        "seed": audit.spec.sampler.seed,
        "sampling": None if audit.tree is None else str(audit.tree.attrs["attempts"]),
        "left_out": None if audit.tree is None else str(audit.tree.attrs["left_out"]) or None,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def scores_digest(scores: xr.Dataset) -> str:
    """SHA-256 of the validated scores with their labels, whatever file they came from."""
    digest = hashlib.sha256(np.ascontiguousarray(scores[names.SCORE].values).tobytes())
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
