"""What the docs and docstrings say of the repository is so."""

import ast
import doctest
import importlib
import itertools
import pkgutil
import re
from dataclasses import fields
from pathlib import Path

import pandas as pd
import pytest

import fourcorner
from fourcorner import results
from fourcorner.auditing import design_audit
from fourcorner.sections import Section
from fourcorner.simulate import COHORTS
from fourcorner.spec import DesignSpec, ModelSpec, SamplerSpec

REPO = Path(__file__).parents[1]
SOURCES = sorted((REPO / "src").rglob("*.py"))
PAGES = [
    *(REPO / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((REPO / "docs").glob("*.md")),
    *sorted((REPO / "data-samples").glob("*.md")),
]
MODULES = [
    found.name
    for found in pkgutil.walk_packages(fourcorner.__path__, "fourcorner.")
    if not found.name.endswith("__main__")
]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_test_and_result_that_a_docstring_names_exists(path):
    named = re.findall(r"(?:tests|benchmarks)/[\w/]+\.\w+", path.read_text())
    assert [name for name in named if not (REPO / name).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_every_path_that_a_page_names_exists(page):
    text = page.read_text()
    folders = "src|models|docs|data-samples|notebooks|benchmarks|tests"
    named = [REPO / name for name in re.findall(rf"`((?:{folders})/[\w./-]*)`", text)]
    named += [page.parent / name for name in re.findall(r"\]\(([\w./-]+)\)", text)]
    assert [str(path) for path in named if not path.exists()] == []


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
[criteria]
NAME = { signs = { NAME = "+" } }
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
    "`[criteria]`, for each name": "criteria.NAME",
    "`[model]`": "model",
    "`[priors]`": "priors",
    "`[sampler]`": "sampler",
    "`[design]`": "design",
}


def documented(page="spec.md"):
    """Key to the cells of its row of a page, by heading."""
    text = (REPO / "docs" / page).read_text()
    found = {}
    for piece in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = piece.partition("\n")
        lines = [line for line in body.splitlines() if line.startswith("| `")]
        rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
        found[heading] = {key: row[1:] for row in rows for key in re.findall(r"`([^`]+)`", row[0])}
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


TINY = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["quote", "generated"] }
[estimands]
quote_gain = { gain = { view = "quote" } }
[criteria]
helps = { signs = { quote_gain = "+" } }
[design]
draws = 100
"""


@pytest.fixture(scope="module")
def tiny():
    """Scores of twelve units in two views, and their spec."""
    levels = (range(12), ("before", "after"), ("quote", "generated"))
    rows = [(f"t{i}", state, view) for i, state, view in itertools.product(*levels)]
    table = pd.DataFrame(rows, columns=["task", "state", "view"])
    table["margin"] = [(7 * i) % 11 for i in range(len(table))]
    spec = fourcorner.parse_spec(TINY)
    return fourcorner.read_scores(spec, table), spec


def test_the_page_of_results_lists_every_key_of_the_document(tiny):
    assert list(documented("results.md")["The document"]) == list(design_audit(*tiny).document())


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("A row of `estimates`", results.Estimate),
        ("A row of `criteria`", results.Criterion),
        ("A part of a criterion", results.CriterionPart),
        ("A row of `breakdowns`", results.Breakdown),
        ("A row of `probabilities`", results.Probability),
        ("A row of `checks`", results.Check),
    ],
)
def test_the_page_of_results_lists_every_field_of_a_row(heading, kind):
    assert set(documented("results.md")[heading]) == {item.name for item in fields(kind)}


def test_the_page_of_results_lists_every_reason_of_a_refusal():
    written = set()
    for name in MODULES:
        module = importlib.import_module(name)
        tree = ast.parse(Path(module.__file__).read_text())
        for found in (node for node in ast.walk(tree) if isinstance(node, ast.Dict)):
            for key, value in zip(found.keys, found.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "reason":
                    named = isinstance(value, ast.Name)
                    written.add(getattr(module, value.id) if named else value.value)
    assert set(documented("results.md")["Reasons of a refusal"]) == written


def test_the_page_of_python_lists_every_name_of_the_package():
    page = documented("python.md")
    listed = [name for rows in page.values() for name in rows]
    assert sorted(listed) == sorted(fourcorner.__all__)
    errors = {name for name in fourcorner.__all__ if name in vars(fourcorner.errors)}
    assert set(page["Errors"]) == errors


def test_what_the_page_of_python_asks_runs_as_it_is_written(monkeypatch):
    monkeypatch.chdir(REPO)
    text = (REPO / "docs" / "python.md").read_text()
    known = {}
    exec("".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL)), known)
    assert known["donors"].tolist() == known["table"]["donor"].tolist()
    cells = pd.read_csv(REPO / "data-samples" / "retrieval_cube.csv").query(
        "authority == 'neutral'"
    )
    mean = cells.groupby(["state", "view"])["margin"].mean()
    gains = mean["after"] - mean["before"]
    found = known["found"].set_index("name")["value"]
    assert found.to_dict() == pytest.approx({"quote": gains["quote"], "made": gains["generated"]})
    shift = mean["before", "generated"] - mean["before", "quote"]
    assert known["alike"].set_index("name")["value"]["alike.shift.before"] == pytest.approx(shift)


SHEETS = ["bridge", "controls", "global_replay", "protocol"]
SHEETS += ["retrieval_cube", "retrieval_face", "source_contract"]
ROW = r"−?\d+\.\d{3} \[−?\d+\.\d{3}, −?\d+\.\d{3}\]"


def found_in(sheet):
    """What the last column of a datasheet's tables gives with an interval."""
    text = (REPO / "data-samples" / f"{sheet}.md").read_text().split("\n## Columns of")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return {row for line in lines for row in re.findall(ROW, line.rsplit(" | ", 1)[-1])}


def told(row):
    return f"{row.value:.3f} [{row.interval[0]:.3f}, {row.interval[1]:.3f}]".replace("-", "−")


@pytest.mark.parametrize("sheet", SHEETS)
def test_what_a_datasheet_finds_the_package_finds(sheet):
    spec = fourcorner.read_spec(REPO / "models" / f"{sheet}.toml")
    data = fourcorner.read_scores(spec)
    cohorts = ["contrast", "joint"] if sheet == "global_replay" else ["contrast"]
    rows = [
        row
        for cohort in cohorts
        for row in fourcorner.estimate(
            data, spec, interval="percentile", cohort=cohort, seed=0
        ).itertuples()
    ]
    given = {told(row) for row in rows if row.value is not None and row.interval is not None}
    listed = found_in(sheet)
    assert len(listed) >= 3
    assert listed - given == set()


def test_the_index_of_cohorts_names_every_file_and_every_spec():
    folder = REPO / "data-samples"
    text = (folder / "README.md").read_text()
    rows = re.findall(r"^\| \[`(\w+)`\]\((\w+\.md)\) \| (.*?) \| (.*?) \|", text, re.MULTILINE)
    listed = {sheet: set(re.findall(r"`([\w.]+)`", files)) for _, sheet, files, _ in rows}
    assert set(listed) == {path.name for path in folder.glob("*.md")} - {"README.md"}
    cohorts = [set(cohort()) for cohort in COHORTS]
    assert sorted(map(sorted, listed.values())) == sorted(map(sorted, cohorts))
    for sheet, files in listed.items():
        first = re.findall(r"^\| `([\w.]+)` \|", (folder / sheet).read_text(), re.MULTILINE)
        assert files <= set(first), sheet
    specs = re.findall(r"`models/(\w+\.toml)`", " ".join(row[3] for row in rows))
    assert sorted(specs) == sorted(path.name for path in (REPO / "models").glob("*.toml"))


def test_the_readme_names_every_notebook():
    text = (REPO / "README.md").read_text().partition("\n## What is where")[2]
    notebooks = {path.stem for path in (REPO / "notebooks").glob("*.ipynb")}
    assert notebooks - set(re.findall(r"`(\w+)`", text)) == set()


def test_the_readme_says_what_every_bundled_spec_asks():
    text = (REPO / "README.md").read_text()
    section = text.partition("\n## Bundled studies")[2].partition("\n## ")[0]
    first = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    listed = re.findall(r"`(\w+)`", " ".join(first))
    assert sorted(listed) == sorted(path.stem for path in (REPO / "models").glob("*.toml"))
