"""Run directories: whole or absent, hashed, and equal to what was printed."""

import hashlib
import json
import os

import duckdb
import numpy as np
import pandas as pd
import pytest

import fits
import fourcorner as fc
from fourcorner import results
from fourcorner.io import runs as io_runs
from fourcorner.runs import COLUMNS, scores_digest

FILES = {
    "estimates.parquet",
    "estimates.csv",
    "posterior.nc",
    "checks.json",
    "document.json",
    "spec.toml",
    "provenance.json",
    "report.html",
    "complete.json",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return fc.save_run(fits.cube().audit, tmp_path_factory.mktemp("runs") / "cube")


def test_a_run_holds_its_files_and_their_hashes(run):
    assert {item.name for item in run.iterdir()} == FILES
    listed = json.loads((run / "complete.json").read_text())["files"]
    assert set(listed) == FILES - {"complete.json"}
    for name, digest in listed.items():
        assert hashlib.sha256((run / name).read_bytes()).hexdigest() == digest
    assert [item for item in run.parent.iterdir() if item != run] == []


def test_files_say_what_the_audit_says(run):
    audit = fits.cube().audit
    assert json.loads((run / "document.json").read_text()) == json.loads(
        results.to_json(audit.document())
    )
    checks = json.loads((run / "checks.json").read_text())["checks"]
    assert [check["verdict"] for check in checks] == audit.checks["verdict"].tolist()
    assert (run / "spec.toml").read_text() == fits.CUBE.read_text()


def test_tables_hold_every_row_and_column(run):
    audit = fits.cube().audit
    parquet = duckdb.sql(f"SELECT * FROM '{run / 'estimates.parquet'}'").df()
    assert list(parquet.columns) == list(audit.estimates.columns) == list(COLUMNS)
    assert len(parquet) == len(audit.rows)
    for row, written in zip(audit.rows, parquet.itertuples(), strict=True):
        assert written.name == row.name
        assert written.value == row.value
        pair = written.interval
        assert (tuple(pair) if isinstance(pair, np.ndarray | list) else None) == row.interval
    csv = pd.read_csv(run / "estimates.csv")
    np.testing.assert_allclose(csv["value"], audit.estimates["value"].astype(float), rtol=1e-12)


def test_refused_rows_are_written(tmp_path):
    table = fits.face_table()
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    spec = fits.face_spec()
    audit = fc.audit(fc.read_scores(spec, corner), spec, draws=200)
    assert not audit.passed
    assert "never measured" in audit.not_available[0]
    run = fc.save_run(audit, tmp_path / "run")
    written = duckdb.sql(f"SELECT * FROM '{run / 'estimates.parquet'}'").df().set_index("name")
    refused = json.loads(written.loc["omega", "refused"].iloc[0])
    assert refused["missing"] == [{"state": "after", "view": "generated"}]
    assert not (run / "posterior.nc").exists()


def test_provenance_names_data_versions_and_seed(run):
    found = json.loads((run / "provenance.json").read_text())
    data = fits.REPO / "data-samples" / "retrieval_cube.csv"
    assert found["file_sha256"] == hashlib.sha256(data.read_bytes()).hexdigest()
    assert found["seed"] == fits.cube().spec.sampler.seed
    assert set(found["versions"]) >= {"fourcorner", "pymc", "nutpie", "arviz"}


def test_digest_of_scores_does_not_depend_on_where_they_came_from():
    spec, table = fits.face_spec(), fits.face_table()
    digest = scores_digest(fc.read_scores(spec, table))
    assert digest == scores_digest(fc.read_scores(spec, table.sample(frac=1, random_state=1)))
    changed = table.assign(margin=table["margin"].where(table.index != 5, 9.0))
    assert digest != scores_digest(fc.read_scores(spec, changed))


def test_an_interrupted_run_leaves_nothing_that_looks_finished(tmp_path):
    path = tmp_path / "run"

    def interrupted():
        with io_runs.new_run(path) as folder:
            (folder / "estimates.csv").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_leaves_only_a_hidden_directory(tmp_path):
    path = tmp_path / "run"
    child = os.fork()
    if child == 0:  # pragma: no cover - dies on purpose
        with io_runs.new_run(path) as folder:
            (folder / "estimates.csv").write_text("half")
            os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert not path.exists()
    assert [item.name.startswith(".run.tmp-") for item in tmp_path.iterdir()] == [True]
    with io_runs.new_run(path) as folder:
        (folder / "a").write_text("whole")
    assert (path / "complete.json").exists()


def test_nothing_is_overwritten_unless_it_is_a_run_and_may_be(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.txt").write_text("years")
    for replace in (False, True):
        with pytest.raises(fc.RunError, match="no finished run"):
            io_runs.require_way(precious, replace=replace)
    path = tmp_path / "run"
    for text in ("first", "second"):
        with io_runs.new_run(path, replace=True) as folder:
            (folder / "a").write_text(text)
    assert (path / "a").read_text() == "second"
    with pytest.raises(fc.RunError, match="--replace"):
        io_runs.require_way(path)
    assert {item.name for item in tmp_path.iterdir()} == {"precious", "run"}
    (path / "my-notes.txt").write_text("mine")
    with pytest.raises(fc.RunError, match=r"my-notes\.txt, which no run wrote"):
        io_runs.require_way(path, replace=True)


def test_a_directory_that_appears_meanwhile_is_not_swallowed(tmp_path):
    path = tmp_path / "run"

    def raced():
        with io_runs.new_run(path) as folder:
            (folder / "a").write_text("late")
            path.mkdir()

    with pytest.raises(fc.RunError, match="no finished run"):
        raced()
    assert list(path.iterdir()) == []
