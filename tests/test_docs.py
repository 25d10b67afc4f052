"""What the docs and docstrings say of the repository is so."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import fourcorner

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


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/priors.md"])
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


def test_the_readmes_spec_is_a_spec():
    text = (REPO / "README.md").read_text()
    (block,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    assert set(fourcorner.parse_spec(block).estimands) == {"quote_gain", "omega"}
