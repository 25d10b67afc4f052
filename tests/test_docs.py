"""What the docs and docstrings say of the repository is so."""

import doctest
import importlib
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pytest

import fourcorner
from fourcorner.sections import Section
from fourcorner.spec import DesignSpec, ModelSpec, SamplerSpec

REPO = Path(__file__).parents[1]
SOURCES = sorted((REPO / "src").rglob("*.py"))
MODULES = [
    found.name
    for found in pkgutil.walk_packages(fourcorner.__path__, "fourcorner.")
    if not found.name.endswith("__main__")
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_test_and_result_that_a_docstring_names_exists(path):
    named = re.findall(r"(?:tests|benchmarks)/[\w/]+\.\w+", path.read_text())
    assert [name for name in named if not (REPO / name).is_file()] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/priors.md", "docs/spec.md"])
def test_every_path_that_a_page_names_exists(page):
    text = (REPO / page).read_text()
    named = re.findall(
        r"`((?:src|models|docs|data-samples|notebooks|benchmarks|tests)/[\w./-]*)`", text
    )
    named += re.findall(r"\]\(([\w./-]+)\)", text)
    assert [name for name in named if not (REPO / name).exists()] == []


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0


def test_the_map_names_every_package_and_every_module_of_engines_and_cohorts():
    text = (REPO / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`([a-z_]+)/?`", text))
    split = [module.split(".")[1:] for module in MODULES]
    first = {parts[0] for parts in split} - {"bundled", "starters"}
    mapped = {"design", "bayes", "simulate"}
    inside = {parts[-1] for parts in split if len(parts) > 1 and parts[0] in mapped}
    assert (first | inside) - named == set()


def test_the_readmes_spec_is_a_spec():
    text = (REPO / "README.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert set(fourcorner.parse_spec(block).estimands) == {"quote_gain", "omega"}


EVERY_TABLE = """
kind = "scores"
[data]
option_score = { yes = "yes", no = "no" }
candidate = "candidate"
target = "target"
unit = "task"
change = { column = "state", before = "before", after = "after" }
[estimands]
NAME = { gain = {} }
[model]
[priors]
[sampler]
[design]
"""
HEADINGS = {
    "Top": "",
    "`[data]`": "data",
    "`[data] change`": "data.change",
    "`[data] option_score` of a binary readout": "data.option_score",
    "`[estimands]`, for each name": "estimands.NAME",
    "`[model]`": "model",
    "`[priors]`": "priors",
    "`[sampler]`": "sampler",
    "`[design]`": "design",
}


def documented():
    """Key to its row of the page, by heading."""
    pieces = re.split(r"^## ", (REPO / "docs" / "spec.md").read_text(), flags=re.MULTILINE)[1:]
    found = {}
    for piece in pieces:
        heading, _, body = piece.partition("\n")
        rows = [
            line.strip("|").split(" | ") for line in body.splitlines() if line.startswith("| `")
        ]
        found[heading] = {row[0].strip(" `"): [cell.strip() for cell in row[1:]] for row in rows}
    return found


def test_the_page_of_the_spec_lists_every_key_and_no_other(monkeypatch):
    known = {}
    finish = Section.finish

    def kept(section):
        known[section.name] = set(section.known)
        finish(section)

    monkeypatch.setattr(Section, "finish", kept)
    fourcorner.parse_spec(EVERY_TABLE)
    page = documented()
    assert {HEADINGS[name]: set(rows) for name, rows in page.items() if rows} == known
    assert "mix" in (REPO / "docs" / "spec.md").read_text()


@pytest.mark.parametrize(
    ("heading", "kind"),
    [("`[model]`", ModelSpec), ("`[sampler]`", SamplerSpec), ("`[design]`", DesignSpec)],
)
def test_the_page_of_the_spec_gives_the_defaults_of_the_code(heading, kind):
    rows = documented()[heading]
    for item in fields(kind):
        default = rows[item.name][1]
        if item.default is not None:
            assert default.strip('`"') == str(item.default).lower(), item.name
