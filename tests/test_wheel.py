"""An installed wheel runs the demo outside any clone."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=Path(__file__).parents[1],
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def test_the_wheel_carries_what_the_demo_and_init_need(unpacked):
    package = unpacked / "fourcorner"
    for path in (
        "py.typed",
        "starters/scores.toml",
        "bundled/models/retrieval_cube.toml",
        "bundled/data-samples/retrieval_cube.csv",
        "bundled/data-samples/README.md",
    ):
        assert (package / path).is_file(), path
    assert list((package / "report" / "templates").iterdir())


def test_the_demo_runs_from_the_wheel_in_an_empty_folder(unpacked, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "fourcorner", "demo", "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(unpacked)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert {row["method"] for row in document["estimates"]} == {"design", "posterior", "unpooled"}
    assert "fourcorner-demo/report.html" in done.stderr
    assert (tmp_path / "fourcorner-demo" / "complete.json").is_file()
    provenance = json.loads((tmp_path / "fourcorner-demo" / "provenance.json").read_text())
    assert provenance["source"] == "retrieval_cube.csv"
