"""The command line: verbs, exit codes, one JSON document, messages without a traceback."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fits
from fourcorner import cli

FACE_SPEC = """
kind = "scores"
title = "Four corners"
[data]
path = "scores.csv"
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["direct", "generated"] }
stratum = "target"
[estimands]
direct = { gain = { view = "direct" } }
omega = { omega = { view = ["direct", "generated"] } }
"""
ROWS = [
    (
        f"t{i}",
        "yes" if i % 2 else "no",
        state,
        view,
        0.1 * i + (state == "after") * (view == "direct"),
    )
    for i in range(6)
    for state in ("before", "after")
    for view in ("direct", "generated")
]
TABLE = pd.DataFrame(ROWS, columns=["task", "target", "state", "view", "margin"])
TABLE["margin"] += np.random.default_rng(0).normal(size=len(TABLE)).round(3)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spec.toml").write_text(FACE_SPEC)
    TABLE.to_csv(tmp_path / "scores.csv", index=False)
    return tmp_path


def run(capsys, *arguments):
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def strict(text):
    """One JSON document; NaN and infinity are refused."""

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def test_estimate_prints_one_document_and_exits_0(capsys, folder):
    code, out, err = run(capsys, "estimate", folder / "spec.toml", "--json", "--draws", 200)
    assert (code, err) == (0, "")
    document = strict(out)
    assert set(document) == {
        "title", "funnel", "estimates", "criteria", "breakdowns", "probabilities", "checks",
        "timing", "not_available",
    }  # fmt: skip
    keys = {(row["name"], row["statistic"], row["weights"], row["method"], row["population"],
             row["cohort"]) for row in document["estimates"]}  # fmt: skip
    assert len(keys) == len(document["estimates"]) == 2
    wide = TABLE.pivot_table(index="task", columns=["state", "view"], values="margin")
    expected = (wide["after", "direct"] - wide["before", "direct"]).mean()
    found = next(row for row in document["estimates"] if row["name"] == "direct")
    assert found["value"] == pytest.approx(expected)


def test_seed_and_draws_are_used(capsys, folder):
    def intervals(*options):
        _, out, _ = run(capsys, "estimate", folder / "spec.toml", "--json", *options)
        return [row["interval"] for row in strict(out)["estimates"]]

    assert intervals("--seed", 1) == intervals("--seed", 1)
    assert intervals("--seed", 1) != intervals("--seed", 2)
    assert intervals("--seed", 1, "--draws", 300) != intervals("--seed", 1)


def test_a_refused_estimand_exits_2_and_is_listed(capsys, folder):
    corner = TABLE[~((TABLE["state"] == "after") & (TABLE["view"] == "generated"))]
    corner.to_csv(folder / "scores.csv", index=False)
    code, out, _ = run(capsys, "estimate", folder / "spec.toml", "--json")
    assert code == 2
    rows = {row["name"]: row for row in strict(out)["estimates"]}
    assert rows["direct"]["refused"] is None
    refused = rows["omega"]["refused"]
    assert refused["reason"] == "not_identified"
    assert refused["missing"] == [{"state": "after", "view": "generated"}]
    assert refused["would_identify"] == [refused["missing"]]
    assert rows["omega"]["value"] is None
    code, out, _ = run(capsys, "estimate", folder / "spec.toml")
    assert code == 2
    assert "refused: omega (design, contrast cohort, empirical weights)" in " ".join(out.split())
    assert "would move by" in " ".join(out.split())
    code, out, _ = run(capsys, "doctor", folder / "spec.toml", "--json")
    assert code == 2
    assert [entry["identified"] for entry in strict(out)["estimands"]] == [True, False]


CONTROLS, BRIDGE = (
    fits.REPO / "data-samples" / name for name in ("controls.csv", "bridge.parquet")
)


def bad_tables():
    def edit(frame, row, column, value):
        changed = frame.astype({column: object})
        changed.loc[row, column] = value
        return changed

    return {
        "misspelt column": (TABLE.rename(columns={"margin": "margn"}), "no column 'margin'"),
        "misspelt level": (edit(TABLE, 4, "view", "generatd"), "'generatd'"),
        "level nowhere": (TABLE[TABLE["view"] != "generated"], "nowhere in the data"),
        "duplicate cell": (pd.concat([TABLE, TABLE.iloc[[2]]]), "duplicate cells"),
        "infinite score": (edit(TABLE, 4, "margin", float("inf")), "infinite"),
        "not a number": (edit(TABLE, 4, "margin", "high"), "not a number"),
        "empty id": (edit(TABLE, 4, "task", ""), "empty unit id"),
        "changing stratum": (edit(TABLE, 4, "target", "maybe"), "changes within"),
        "one unit": (TABLE.iloc[:4], "name the column that tells them apart"),
        "one row": (TABLE.iloc[:1], "nowhere in the data"),
        "no rows": (TABLE.iloc[:0], "no rows"),
    }


@pytest.mark.parametrize("fault", bad_tables())
@pytest.mark.parametrize("verb", ["estimate", "fit", "audit", "doctor"])
def test_a_bad_table_exits_1_with_one_message(capsys, folder, fault, verb):
    table, words = bad_tables()[fault]
    table.to_csv(folder / "scores.csv", index=False)
    options = ["--out", folder / "run"] if verb == "audit" else []
    code, out, err = run(capsys, verb, folder / "spec.toml", *options)
    assert code == 1
    assert out == ""
    assert words in err.replace("\n", " ")
    assert "Traceback" not in err
    assert not (folder / "run").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "binary"),
        ("directory", "directory"),
    ],
)
def test_a_file_that_is_no_table_exits_1(capsys, folder, content, words):
    path = folder / "scores.csv"
    path.unlink()
    if content == "directory":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    code, out, err = run(capsys, "estimate", folder / "spec.toml")
    assert (code, out) == (1, "")
    assert words in err
    code, out, err = run(capsys, "doctor", path)
    assert (code, out) == (1, "")
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["estimate"], "Missing argument"),
        (["estimat"], "No such command"),
        (["estimate", "spec.toml", "--drws", "5"], "No such option"),
        (["estimate", "nowhere.toml"], "no such file"),
        (["init", "labels", "somewhere"], "starts 'scores'"),
        (["estimate", CONTROLS], f"fourcorner doctor {CONTROLS} writes one to start from"),
        (["audit", BRIDGE, "--out", "nowhere"], "this is a table; SPEC is a TOML file"),
    ],
)
def test_misuse_exits_1_with_one_message(capsys, arguments, words):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_help_of_every_verb_has_an_example(capsys):
    for verb in (
        "demo", "doctor", "estimate", "fit", "audit", "reweight", "init", "sample-data",
    ):  # fmt: skip
        code, out, _ = run(capsys, verb, "--help")
        assert code == 0
        assert f"fourcorner {verb}" in out, verb


def test_init_writes_a_spec_that_runs(capsys, tmp_path):
    code, _, _ = run(capsys, "init", "scores", tmp_path / "mine")
    assert code == 0
    code, out, _ = run(capsys, "estimate", tmp_path / "mine" / "scores.toml", "--json")
    assert code == 0
    assert {row["name"] for row in strict(out)["estimates"]} >= {"omega", "direct_gain"}
    code, _, err = run(capsys, "init", "scores", tmp_path / "mine")
    assert code == 1
    assert "exists already" in err


def test_sample_data_is_what_the_repository_holds(capsys, tmp_path):
    code, _, _ = run(capsys, "sample-data", tmp_path)
    assert code == 0
    written = sorted(item.name for item in tmp_path.iterdir())
    held = (fits.REPO / "data-samples").iterdir()
    assert written == sorted(item.name for item in held if item.suffix != ".md")
    for name in written:
        assert (tmp_path / name).read_bytes() == (fits.REPO / "data-samples" / name).read_bytes()


def test_fit_saves_its_tree_and_is_silent_without_a_terminal(capsys, tmp_path):
    fits.face()  # compiled once in this session
    (tmp_path / "spec.toml").write_text(
        fits.face_spec().text.replace("[data]", '[data]\npath = "scores.csv"')
    )
    fits.face_table().to_csv(tmp_path / "scores.csv", index=False)
    code, out, err = run(
        capsys, "fit", tmp_path / "spec.toml", "--json", "--out", tmp_path / "posterior.nc"
    )
    assert code == 0
    document = strict(out)
    assert document["timing"]["min_ess_bulk"] > 400
    assert {row["method"] for row in document["estimates"]} == {"posterior"}
    assert err == ""
    assert (tmp_path / "posterior.nc").stat().st_size > 10_000
    code, _, err = run(capsys, "fit", tmp_path / "spec.toml", "--out", tmp_path / "posterior.nc")
    assert code == 1
    assert "exists already" in err


def test_audit_of_several_transitions_runs_the_design_engine_and_exits_0(capsys, folder):
    spec = FACE_SPEC.replace('unit = "task"', 'unit = "run"\ntransition = "task"')
    (folder / "spec.toml").write_text(spec)
    table = TABLE.assign(run=["a" if i < 12 else "b" for i in range(len(TABLE))], target="yes")
    table.to_csv(folder / "scores.csv", index=False)
    code, out, err = run(capsys, "audit", folder / "spec.toml", "--json", "--out", folder / "run")
    assert code == 0, err
    document = strict(out)
    assert "several transitions" in document["not_available"][0]
    assert {row["method"] for row in document["estimates"]} == {"design"}
    assert document["timing"] is None
    assert (folder / "run" / "report.html").exists()
    code, _, err = run(capsys, "audit", folder / "spec.toml", "--out", folder / "run")
    assert code == 1
    assert "--replace" in err


def test_the_program_runs_as_a_module():
    found = subprocess.run(
        [sys.executable, "-m", "fourcorner", "estimate", fits.CUBE, "--json", "--draws", "100"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert strict(found.stdout)["funnel"]["units"] == 100


def test_an_interrupt_writes_nothing_and_exits_1(capsys, folder, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("fourcorner.api.audit", interrupted)
    code, out, err = run(capsys, "audit", folder / "spec.toml", "--out", folder / "run")
    assert (code, out) == (1, "")
    assert "stopped; nothing was written" in err
    assert sorted(item.name for item in folder.iterdir()) == ["scores.csv", "spec.toml"]


def test_a_fault_of_ours_is_one_line_and_exits_1(capsys, folder, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("fourcorner.api.audit", broken)
    code, out, err = run(capsys, "audit", folder / "spec.toml", "--out", folder / "run")
    assert (code, out) == (1, "")
    assert "a fault of ours, please report it: ZeroDivisionError: oops" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["init", "sample-data"])
def test_writers_list_their_files_as_json(capsys, tmp_path, verb):
    arguments = ["scores", tmp_path / "new"] if verb == "init" else [tmp_path / "new"]
    code, out, _ = run(capsys, verb, *arguments, "--json")
    assert code == 0
    written = strict(out)["written"]
    assert sorted(written) == sorted(str(item) for item in (tmp_path / "new").iterdir())


def test_an_output_that_cannot_be_written_is_refused_before_the_work(capsys, folder):
    (folder / "file").write_text("in the way")
    for verb, out_path in (("audit", folder / "file" / "run"), ("fit", folder / "file" / "x.nc")):
        code, out, err = run(capsys, verb, folder / "spec.toml", "--out", out_path)
        assert (code, out) == (1, "")
        assert "cannot be made" in err
        assert "sampling" not in err


def test_brackets_in_names_are_text(capsys, folder):
    spec = FACE_SPEC.replace("direct = {", '"gain[quote]" = {').replace(
        "omega = { omega", '"x [/y]" = { omega'
    )
    spec += '[weights]\n"[red]eq" = "equal"\n'
    (folder / "spec.toml").write_text(spec)
    code, out, _ = run(capsys, "estimate", folder / "spec.toml")
    assert code == 0
    for name in ("gain[quote]", "x [/y]", "[red]eq"):
        assert name in out
    code, out, _ = run(capsys, "doctor", folder / "spec.toml")
    assert code == 0
    assert "x [/y]" in out
    TABLE.rename(columns={"margin": "logit[/0]"}).to_csv(folder / "odd.csv", index=False)
    code, out, _ = run(capsys, "doctor", folder / "odd.csv")
    assert code == 0
    assert "logit[/0]" in out


def test_the_demo_replaces_no_run_but_a_demo(capsys, folder):
    (folder / "run").mkdir()
    for name in ("complete.json", "spec.toml"):
        (folder / "run" / name).write_text('{"files": {"spec.toml": ""}}')
    code, out, err = run(capsys, "demo", "--out", folder / "run")
    assert (code, out) == (1, "")
    assert "is a finished run" in err


def test_no_arguments_is_help_and_version_is_told(capsys):
    code, out, err = run(capsys)
    assert (code, err) == (0, "")
    assert "Usage" in out
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.startswith("fourcorner 0.")


def face_files(folder):
    """The shared face as files, with the spec that fits shares."""
    text = fits.face_spec().text.replace("[data]", '[data]\npath = "scores.csv"')
    (folder / "face.toml").write_text(text)
    fits.face_table().to_csv(folder / "scores.csv", index=False)
    return folder / "face.toml"


@pytest.fixture(scope="module")
def face_run(tmp_path_factory):
    """A finished run of the face, written by the command line."""
    fits.face()  # compiled once in this session
    folder = tmp_path_factory.mktemp("reweight")
    code = cli.run(["audit", str(face_files(folder)), "--out", str(folder / "run")])
    assert code in {0, 2}
    return folder / "run"


def test_reweight_prints_one_document_and_fits_nothing(capsys, face_run, monkeypatch):
    def fitted(*_, **__):
        raise AssertionError

    monkeypatch.setattr("fourcorner.bayes.engine.fit", fitted)
    capsys.readouterr()
    code, out, err = run(
        capsys, "reweight", face_run, "--weights", "small=0.25,large=0.75", "--weights", "equal",
        "--json",
    )  # fmt: skip
    assert err == ""
    document = strict(out)
    assert {row["weights"] for row in document["estimates"]} == {"small=0.25,large=0.75", "equal"}
    wide = fits.face_table().pivot_table(
        index=["target", "task"], columns=["state", "view"], values="margin"
    )
    gains = (wide["after"] - wide["before"])["direct"].groupby("target").mean()
    found = next(
        row
        for row in document["estimates"]
        if (row["name"], row["weights"], row["method"])
        == ("direct", "small=0.25,large=0.75", "design")
    )
    assert found["value"] == pytest.approx(0.25 * gains["small"] + 0.75 * gains["large"])
    failed = any(row["gated"] and row["verdict"] == "fail" for row in document["checks"])
    refused = any(row["refused"] for row in document["estimates"])
    assert code == (2 if failed or refused else 0)


def test_reweight_writes_a_run_that_reads_back(capsys, face_run, tmp_path):
    code, _, err = run(
        capsys, "reweight", face_run, "--weights", "equal", "--out", tmp_path / "new", "--json"
    )
    assert code in {0, 2}
    assert f"Report: {tmp_path / 'new' / 'report.html'}" in err
    again = tmp_path / "again"
    code, _, err = run(
        capsys, "reweight", tmp_path / "new", "--weights", "empirical", "--out", again
    )
    assert code in {0, 2}
    assert (again / "scores.nc").read_bytes() == (face_run / "scores.nc").read_bytes()
    code, out, err = run(
        capsys, "reweight", face_run, "--weights", "equal", "--out", tmp_path / "new"
    )
    assert (code, out) == (1, "")
    assert "--replace" in err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "Missing option"),
        (["--weights", "equl"], "equal"),
        (["--weights", "small=0.5,large=0.4"], "sum to 0.9"),
        (["--weights", "small=0.5,lrge=0.5"], "lrge"),
        (["--weights", "equal", "--replace"], "--out"),
    ],
)
def test_misuse_of_reweight_exits_1_with_one_message(capsys, face_run, options, words):
    code, out, err = run(capsys, "reweight", face_run, *options)
    assert (code, out) == (1, "")
    assert words in err
    assert "Traceback" not in err


def test_reweight_refuses_a_run_that_was_touched(capsys, face_run, tmp_path):
    copy = shutil.copytree(face_run, tmp_path / "copy")
    with (copy / "estimates.csv").open("a") as file:
        file.write("\n")
    code, out, err = run(capsys, "reweight", copy, "--weights", "equal")
    assert (code, out) == (1, "")
    assert "estimates.csv has changed" in " ".join(err.split())


def test_design_options_of_the_spec_are_used(capsys, folder):
    def rows(more):
        (folder / "spec.toml").write_text(FACE_SPEC + more)
        code, out, _ = run(capsys, "estimate", folder / "spec.toml", "--json")
        assert code == 0
        return strict(out)["estimates"]

    usual = rows("[design]\ndraws = 300\n")
    within = rows('[design]\ndraws = 300\nresampling = "within_strata"\n')
    together = rows("[design]\ndraws = 300\nsimultaneous = true\n")
    assert {row["resampling"] for row in usual} != {row["resampling"] for row in within}
    assert [row["value"] for row in within] == pytest.approx([row["value"] for row in usual])
    assert usual[0]["interval"] != within[0]["interval"]
    assert all("simultaneous" in row["interval_kind"] for row in together)
    assert [row["interval"] for row in rows("[design]\ndraws = 400\n")] != [
        row["interval"] for row in usual
    ]
