"""Run directories: whole or absent, hashed, and equal to what was printed."""

import hashlib
import json
import os
import re
import shutil
from dataclasses import replace

import duckdb
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import fits
import fourcorner as fc
from fourcorner import results
from fourcorner.io import runs as io_runs
from fourcorner.report import html
from fourcorner.runs import COLUMNS, scores_digest

FILES = {
    "estimates.parquet",
    "estimates.csv",
    "posterior.nc",
    "scores.nc",
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
    for may in (False, True):
        with pytest.raises(fc.RunError, match="no finished run"):
            io_runs.require_way(precious, replace=may)
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


# A run that is read back


@pytest.fixture(scope="module")
def loaded(run):
    return fc.load_run(run)


def test_a_run_reads_back_as_it_was(run, loaded):
    audit = fits.cube().audit
    assert loaded.spec == audit.spec
    assert loaded.scores.identical(audit.scores)
    assert {name: coord.dtype.kind for name, coord in loaded.scores.coords.items()} == {
        name: coord.dtype.kind for name, coord in audit.scores.coords.items()
    }
    for rows in ("rows", "probability_rows", "check_rows", "breakdown_rows"):
        assert getattr(loaded, rows) == getattr(audit, rows), rows
    assert loaded.not_available == audit.not_available
    assert loaded.document() == audit.document()
    assert loaded.passed == audit.passed


def test_the_fit_reads_back_as_it_was(loaded):
    tree, read = fits.cube().tree, loaded.tree
    assert set(read.children) == set(tree.children)
    assert dict(read.attrs) == dict(tree.attrs)
    for name, group in tree.children.items():
        xr.testing.assert_identical(read[name].to_dataset(), group.to_dataset())
    asked = fc.omega(view=("quote", "generated"), at={"authority": "neutral"})
    pd.testing.assert_frame_equal(fc.posterior(read, asked), fc.posterior(tree, asked))


def test_a_run_reproduces_its_report(run, loaded):
    record = json.loads((run / "provenance.json").read_text())
    assert html.render(loaded, record) == (run / "report.html").read_text()


def test_a_run_that_was_read_is_written_again_the_same(run, loaded, tmp_path):
    again = fc.save_run(loaded, tmp_path / "again")
    same = FILES - {"provenance.json", "report.html", "complete.json"}
    for name in same:
        assert (again / name).read_bytes() == (run / name).read_bytes(), name


def test_refusals_options_and_frames_survive(tmp_path):
    table = fits.face_table()
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    spec = fits.face_spec()
    spec = replace(spec, sampler=replace(spec.sampler, seed=11), directory=tmp_path / "some where")
    audit = fc.audit(fc.read_scores(spec, corner), spec, draws=200)
    read = fc.load_run(fc.save_run(audit, tmp_path / "run"))
    assert any(row.refused for row in read.rows)
    assert read.rows == audit.rows
    assert read.spec == audit.spec
    assert (read.spec.sampler.seed, read.spec.design.draws) == (11, 200)
    assert read.tree is None
    assert read.not_available == audit.not_available
    record = json.loads((tmp_path / "run" / "provenance.json").read_text())
    assert record["instead"] == {"sampler.seed": 11, "design.draws": 200}
    assert html.render(read, record) == (tmp_path / "run" / "report.html").read_text()


def test_a_spec_changed_where_its_text_does_not_show_it_is_not_saved(tmp_path):
    spec = fits.face_spec()
    data = fc.read_scores(spec, fits.face_table())
    changed = replace(spec, title="Another")
    audit = replace(fits.face().audit, spec=changed, scores=data)
    with pytest.raises(fc.RunError, match=r"the spec's title was changed in Python"):
        fc.save_run(audit, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_changed_byte_is_refused_and_its_file_named(run, tmp_path, name):
    copy = shutil.copytree(run, tmp_path / "copy")
    content = bytearray((copy / name).read_bytes())
    place = len(content) // 2
    content[place] ^= 1
    (copy / name).write_bytes(content)
    with pytest.raises(fc.RunError, match=re.escape(name)):
        fc.load_run(copy)


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_missing_file_is_refused_and_named(run, tmp_path, name):
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / name).unlink()
    with pytest.raises(fc.RunError, match=rf"{re.escape(name)}"):
        fc.load_run(copy)


def test_an_extra_file_is_refused_and_named(run, tmp_path):
    copy = shutil.copytree(run, tmp_path / "copy")
    (copy / "notes.txt").write_text("mine")
    with pytest.raises(fc.RunError, match=r"notes\.txt is not the run's own"):
        fc.load_run(copy)
    (copy / "notes.txt").unlink()
    with (copy / "complete.json").open("a") as file:
        file.write("\n")
    with pytest.raises(fc.RunError, match=r"complete\.json has changed"):
        fc.load_run(copy)


@pytest.mark.parametrize(("made", "words"), [(None, "no such run"), ("folder", "no finished run")])
def test_what_is_no_run_is_refused(tmp_path, made, words):
    path = tmp_path / "run"
    if made:
        path.mkdir()
    with pytest.raises(fc.RunError, match=words):
        fc.load_run(path)


def test_a_run_of_another_version_is_refused_in_words(run, tmp_path):
    with io_runs.new_run(tmp_path / "old") as folder:
        for name in FILES - {"complete.json", "document.json"}:
            shutil.copy(run / name, folder / name)
        document = json.loads((run / "document.json").read_text())
        del document["breakdowns"]
        (folder / "document.json").write_text(json.dumps(document))
    with pytest.raises(fc.RunError, match="run the audit again"):
        fc.load_run(tmp_path / "old")


# New weights without a new fit

MIXED = {"mine": {"small": 0.25, "large": 0.75}, "equal": "equal"}


@pytest.fixture(scope="module")
def face_run(tmp_path_factory):
    return fc.save_run(fits.face().audit, tmp_path_factory.mktemp("runs") / "face")


def _means(audit):
    """The document without the median, the seconds and what is not available."""
    document = audit.document() | {"timing": None, "not_available": None}
    kept = [row for row in document["estimates"] if row["name"] != "middle"]
    return document | {"estimates": kept}


def test_reweighting_equals_an_audit_with_these_weights(face_run):
    found = fc.reweight(face_run, MIXED)
    text = fits.face_spec().text.replace(
        '[weights]\nempirical = "empirical"\nequal = "equal"',
        '[weights]\nmine = { small = 0.25, large = 0.75 }\nequal = "equal"',
    )
    spec = fc.parse_spec(text)
    assert set(spec.weights) == {"mine", "equal"}
    anew = fc.audit(fits.face().data, spec)
    # of the median, which no declared mixture has, one says that it is left out, one refuses it
    (left_out,) = set(found.not_available) - set(anew.not_available)
    assert "middle" in left_out
    assert {row.name for row in anew.refused} == {"middle"}
    assert _means(found) == _means(anew)
    xr.testing.assert_identical(
        found.tree["estimator_predictive"].to_dataset(),
        anew.tree["estimator_predictive"].to_dataset(),
    )


def test_reweighting_leaves_the_run_it_came_from_as_it_is(face_run):
    audit = fits.face().audit
    before = set(audit.tree["estimator_predictive"].data_vars)
    fc.reweight(audit, MIXED)
    assert set(audit.tree["estimator_predictive"].data_vars) == before
    assert set(fc.load_run(face_run).spec.weights) == {"empirical", "equal"}


def test_a_reweighted_mean_is_the_weighted_mean_of_strata(face_run):
    found = fc.reweight(face_run, MIXED).estimates
    row = found[
        (found["name"] == "omega") & (found["weights"] == "mine") & (found["cohort"] == "contrast")
    ]
    wide = fits.face_table().pivot_table(
        index=["target", "task"], columns=["state", "view"], values="margin"
    )
    gains = wide["after"] - wide["before"]
    by_stratum = (gains["generated"] - gains["direct"]).groupby("target").mean()
    expected = 0.25 * by_stratum["small"] + 0.75 * by_stratum["large"]
    assert row["value"].item() == pytest.approx(expected, rel=1e-12)


def test_a_reweighted_run_is_saved_and_says_what_it_was_given(face_run, tmp_path):
    found = fc.reweight(face_run, MIXED)
    path = fc.save_run(found, tmp_path / "run")
    read = fc.load_run(path)
    assert read.spec == found.spec
    assert read.rows == found.rows
    record = json.loads((path / "provenance.json").read_text())
    assert record["instead"] == {"weights": MIXED}
    assert html.render(read, record) == (path / "report.html").read_text()


def test_a_design_only_run_is_reweighted_too():
    table = fits.face_table()
    spec = fits.face_spec()
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    audit = fc.audit(fc.read_scores(spec, corner), spec, draws=200)
    found = fc.reweight(audit, {"equal": "equal"})
    assert found.not_available == audit.not_available
    assert {row.weights for row in found.rows} == {"equal"}


def test_a_mix_brings_the_mixtures_that_it_names():
    text = fits.face_spec().text.replace(
        'equal = "equal"',
        "tilted = { small = 0.9, large = 0.1 }\nhalf = { mix = { empirical = 0.5, tilted = 0.5 } }",
    )
    spec = fc.parse_spec(text)
    table = fits.face_table()
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    audit = fc.audit(fc.read_scores(spec, corner), spec, draws=200)
    found = fc.reweight(audit, "half")
    assert list(found.spec.weights) == ["half", "tilted"]
    wide = corner.pivot_table(index=["target", "task"], columns=["state", "view"], values="margin")
    gain = wide["after", "direct"] - wide["before", "direct"]
    means = gain.groupby("target").mean()
    tilted = 0.9 * means["small"] + 0.1 * means["large"]
    rows = found.estimates.set_index(["name", "weights"])["value"]
    assert rows[("direct", "half")] == pytest.approx(0.5 * gain.mean() + 0.5 * tilted)
    assert rows[("direct", "tilted")] == pytest.approx(tilted)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"mine": {"small": 0.5}}, "sum to 0.5|has no weight"),
        ({"equal": {"small": 0.5, "large": 0.5}}, "kept for that mixture"),
        ({}, "expected a mixture"),
        ([], "expected a mixture"),
    ],
)
def test_weights_that_do_not_fit_are_refused(face_run, weights, words):
    with pytest.raises(fc.FourcornerError, match=words):
        fc.reweight(face_run, weights)
