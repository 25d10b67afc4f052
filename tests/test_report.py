"""The report: what is on the page, what the verdict may say, what the figures draw."""

import html as html_text
import itertools
import re
from dataclasses import replace
from html.parser import HTMLParser

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from fourcorner import scores
from fourcorner.auditing import Audit, design_audit
from fourcorner.report import (
    coverage,
    effects,
    estimated,
    figures,
    html,
    lines,
    plots,
    svg,
    terminal,
    verdict,
    words,
)
from fourcorner.report.meaning import meaning as in_words
from fourcorner.report.text import label
from fourcorner.results import Check, Estimate, Probability
from fourcorner.spec import parse_spec

PROVENANCE = {
    "created": "2026-11-30T00:00:00+00:00",
    "source": "scores.csv",
    "file_sha256": None,
    "seed": 7,
    "sampling": "target_accept 0.9: 0 divergences",
    "left_out": None,
    "versions": {"fourcorner": "0.1.0", "numpy": "2.2"},
}
VOID = {"meta", "br", "wbr", "link", "img", "hr", "input"}

SPEC = """
kind = "scores"
title = "Two views"
[data]
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["direct", "generated"] }
replicate = { layout = ["L0", "L1"] }
stratum = "target"
[estimands]
direct_gain = { gain = { view = "direct" } }
generated_gain = { gain = { view = "generated" } }
omega = { omega = { view = ["direct", "generated"] } }
[weights]
empirical = "empirical"
equal_target = "equal"
"""


class Page(HTMLParser):
    """A page as tags, visible text and tables; refuses tags that do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.shown, self.tables = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    @property
    def text(self):
        return " ".join(" ".join(self.shown).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in {"td", "th"}:
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "title"} & set(self.open):
            broken = self.tags and self.tags[-1][0] == "wbr"
            self.shown += [self.shown.pop() + data] if broken else [data]
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def rows(self, heading):
        """Rows of the one table that has this heading."""
        cleaned = [
            [[" ".join(cell.split()) for cell in row] for row in table] for table in self.tables
        ]
        [found] = [table for table in cleaned if heading in table[0]]
        return found[1:]


def table(units=("a", "b", "c", "d"), views=("direct", "generated"), layouts=("L0", "L1")):
    """A full table; two units of each stratum, scores that follow from the row's place."""
    cells = itertools.product(units, ("before", "after"), views, layouts)
    rows = [(*cell, ("no", "yes")[units.index(cell[0]) % 2]) for cell in cells]
    frame = pd.DataFrame(rows, columns=["task", "state", "view", "layout", "target"])
    return frame.assign(margin=np.sin(np.arange(len(frame)) * 1.7).round(3))


def estimate(name="omega", **changes):
    """A row of the joint cohort under empirical weights."""
    usual = {
        "statistic": "mean",
        "weights": "empirical",
        "method": "design",
        "population": "units",
        "cohort": "joint",
        "value": -1.306,
        "interval": (-1.822, -0.797),
        "interval_kind": "percentile",
        "level": 0.95,
        "units": 4,
        "transitions": 4,
    }
    return Estimate(name=name, **{**usual, **changes})


def fake_tree(data, draws=60, strata=("no", "yes"), seed=0):
    """Random draws in the groups, dims and names that a fit has."""
    generator = np.random.default_rng(seed)
    labels = ["intercept", "state", "view", "state:view"]
    coords = {
        "chain": range(4),
        "draw": range(draws),
        "effect": labels,
        "stratum_effect": labels,
        "component": labels,
        "component_2": labels,
        "effect_order": [0, 1, 2],
        "stratum": list(strata),
        "state": ["before", "after"],
        "view": ["direct", "generated"],
    }

    def drawn(*dims):
        shape = (4, draws, *(len(coords[dim]) for dim in dims))
        return (("chain", "draw", *dims), generator.normal(0.4, 0.2, shape))

    posterior = {
        "effects": drawn("effect"),
        "unit_sd": drawn("component"),
        "unit_covariance": drawn("component", "component_2"),
        "cell_mean": drawn("stratum", "state", "view"),
    }
    if len(strata) > 1:
        posterior["tau"] = drawn("effect_order")
        posterior["stratum_deviation"] = drawn("stratum", "stratum_effect")
    constants = {
        "units_in_stratum": ("stratum", np.full(len(strata), 2.0)),
        "component_order": ("component", [0, 1, 1, 2]),
    }
    cells = scores.cells(data).rename(transition="row").drop_vars(["unit", "transition_id"])
    observed = cells.rename(row="unit").to_dataset(name="cells")
    groups = {
        "posterior": xr.Dataset(posterior, {k: coords[k] for k in used(posterior, coords)}),
        "constant_data": xr.Dataset(constants, {"stratum": list(strata), "component": labels}),
        "observed_data": observed,
    }
    tree = xr.DataTree.from_dict(groups)
    tree.attrs.update(cohort="joint", seed=7, compile_s=1.5, sample_s=2.25)
    return tree


def used(variables, coords):
    return [name for name in coords if any(name in dims for dims, _ in variables.values())]


def fitted(rows=(), probability_rows=(), check_rows=(), text=SPEC, frame=None):
    spec = parse_spec(text)
    data = scores.read_scores(spec, table() if frame is None else frame)
    return Audit(spec, data, list(rows), list(probability_rows), list(check_rows), fake_tree(data))


def design_only(text=SPEC, frame=None, reason="posterior: units have several transitions"):
    spec = parse_spec(text)
    data = scores.read_scores(spec, table() if frame is None else frame)
    found = design_audit(data, replace(spec, design=replace(spec.design, draws=200)))
    return replace(found, not_available=(reason,))


@pytest.fixture(scope="module")
def full():
    """An audit of both engines with every kind of row."""
    rows = [
        estimate("direct_gain", value=0.55, interval=(0.206, 0.906)),
        estimate("generated_gain", value=-0.756, interval=(-1.352, -0.18)),
        estimate(),
        estimate(cohort="contrast", value=-1.5, interval=(-2.25, -0.75), units=9, transitions=11),
        estimate(method="posterior", value=-1.27, interval=(-1.777, -0.745), interval_kind="ETI"),
        estimate(method="posterior", population="cohort", value=-1.31, interval=None),
        estimate(
            weights="equal_target", value=-0.262, interval=(-0.981, 0.445), notes=("few units",)
        ),
        estimate(weights="equal_target", method="posterior", value=-0.9, interval=(-1.6, -0.2)),
    ]
    probabilities = [
        Probability(
            name="omega",
            event=event,
            value=value,
            weights="empirical",
            population="units",
            draws=99,
        )
        for event, value in {"omega<0": 0.9999, "reversal+-": 0.992, "reversal-+": 0.0001}.items()
    ]
    checks = [
        check("convergence", "R-hat of parameters", "pass", 1.0004, 1.01, "worst is tau"),
        check("design_agreement", "omega (empirical)", "fail", 3.2, 2.4, "location is off"),
        check("design_agreement", "share (empirical)", "not_run", None, None, "no counterpart"),
        check("predictive", "median", "shown", 0.4, None, "median of replicates", gated=False),
    ]
    return fitted(rows, probabilities, checks)


def check(name, target, verdict, value, threshold, message, **more):
    return Check(
        name=name,
        target=target,
        verdict=verdict,
        value=value,
        threshold=threshold,
        message=message,
        **more,
    )


NASTY = """
kind = "scores"
title = "<script>alert('x')</script> & \\"quotes\\""
[data]
score = "$m_1$ <i>"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { "v & <view>" = ["<script>a</script>", "生成 $x_1$", "c\\"d"] }
stratum = "s<t>"
[weights]
empirical = "empirical"
"equal <&>" = "equal"
[estimands]
"""
NASTY_LEVELS = ["<script>a</script>", "生成 $x_1$", 'c"d']


def nasty(estimands=30, tree=False):
    """Thirty long estimands over hostile names; the last corner was never measured."""
    long = "_".join(["a_very_long_name"] * 4)
    kinds = [
        f'omega = {{ "v & <view>" = [{NASTY_LEVELS[0]!r}, {NASTY_LEVELS[1]!r}] }}',
        f'gain = {{ "v & <view>" = {NASTY_LEVELS[1]!r} }}, statistic = "median"',
        f'omega = {{ "v & <view>" = [{NASTY_LEVELS[0]!r}, {NASTY_LEVELS[2]!r}] }}',
        f'endpoint_shift = {{ "v & <view>" = [{NASTY_LEVELS[0]!r}, {NASTY_LEVELS[1]!r}] }}, '
        f'state = "before", statistic = "negative_share"',
    ]
    listed = [f'"<b>{i}</b>_{long}" = {{ {kinds[i % 4]} }}' for i in range(estimands)]
    frame = table(views=NASTY_LEVELS, layouts=("L0",)).rename(
        columns={"view": "v & <view>", "margin": "$m_1$ <i>", "target": "s<t>"}
    )
    frame["s<t>"] = frame["s<t>"].map({"no": "</style>no", "yes": "$y_2$é"})
    frame = frame[~((frame["v & <view>"] == 'c"d') & (frame["state"] == "after"))]
    return design_only(NASTY + "\n".join(listed), frame.drop(columns="layout"), "<b>why</b> & so")


LONE = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
[estimands]
step = { gain = {} }
"""


def lone():
    """No channel, no stratum, one estimand."""
    frame = table(views=("direct",), layouts=("L0",))[["task", "state", "margin"]]
    return design_only(LONE, frame)


@pytest.fixture(scope="module", params=["full", "design only", "nasty", "lone", "nothing drawn"])
def any_audit(request, full):
    made = {
        "full": lambda: full,
        "design only": design_only,
        "nasty": nasty,
        "lone": lone,
        "nothing drawn": lambda: fitted([refused()]),
    }
    return made[request.param]()


@pytest.fixture(scope="module")
def any_page(any_audit):
    return html.render(any_audit, PROVENANCE)


def refused(**changes):
    record = {"state": "after", "view": "generated"}
    why = {
        "reason": "not_identified",
        "missing": [record],
        "witness": {"shift": [{"cell": record, "by": 1.0}], "moves_contrast": -1.0},
        "would_identify": [[record]],
    }
    return estimate(value=None, interval=None, refused=why, **changes)


@pytest.fixture(scope="module")
def full_page(full):
    return Page(html.render(full, PROVENANCE))


# The page, whatever the audit


def test_page_is_well_formed_with_one_title_and_ids_that_are_unique(any_page):
    page = Page(any_page)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    assert [tag for tag, _ in page.tags].count("h1") == 1


def test_page_refers_to_nothing_outside_itself(any_page):
    page = Page(any_page)
    assert not {"script", "link", "iframe", "img", "object"} & {tag for tag, _ in page.tags}
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    targets = [
        value
        for _, attrs in page.tags
        for key, value in attrs.items()
        if key.rpartition(":")[2] in {"href", "src", "data", "action"}
    ]
    assert targets
    assert {target[1:] for target in targets} <= ids
    assert all(target[0] == "#" for target in targets)
    assert "http" not in any_page
    assert "@import" not in any_page
    assert all(found.startswith("#") for found in re.findall(r"url\(([^)]*)\)", any_page))


def test_page_is_the_same_bytes_twice(any_audit, any_page):
    assert html.render(any_audit, PROVENANCE) == any_page


def test_page_shows_no_missing_number(any_page):
    assert not re.search(r"\b(NaN|nan|None|inf|Undefined)\b", Page(any_page).text)


def test_every_figure_is_inline_and_described(any_page):
    drawn = [attrs for tag, attrs in Page(any_page).tags if tag == "svg"]
    assert len(drawn) >= 3
    assert all(attrs["role"] == "img" and len(attrs["aria-label"]) > 10 for attrs in drawn)


def test_every_estimand_weight_refusal_and_check_is_on_the_page(any_audit, any_page):
    text = Page(any_page).text
    expected = {*any_audit.spec.estimands, *any_audit.spec.weights}
    expected |= {row.target for row in any_audit.check_rows}
    expected |= {row.message for row in any_audit.check_rows}
    expected |= set(any_audit.not_available)
    for words_shown in expected:
        assert " ".join(words_shown.split()) in text
    unsupported = (
        any(row.refused is not None for row in any_audit.rows)
        or any(row.verdict == "fail" for row in any_audit.check_rows)
        or bool(any_audit.not_available)
    )
    assert ("Claims this run does not support" in text) == unsupported


# Text that users wrote


def test_user_text_is_escaped_and_shown_as_written():
    page = html.render(nasty(4), {**PROVENANCE, "source": "<script>&.csv"})
    assert "<script" not in page
    assert "</style>no" not in page
    shown = Page(page).text
    for text in ("<script>alert('x')</script> & \"quotes\"", "<script>&.csv", "</style>no"):
        assert text in shown
    assert shown.count("$y_2$é") >= 2
    assert "生成 $x_1$" in shown


def test_figure_labels_are_never_read_as_mathematics():
    drawn = svg.to_svg(plots.cell_map(nasty(1).scores), "map", "a map")
    assert "生成 $x_1$" in drawn
    assert html_text.escape("<script>a</script>", quote=False) in drawn


def test_a_label_has_no_control_characters_and_keeps_both_ends_when_shortened():
    assert label("a\tb\x00c\u202e") == "a b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"
    short = label("start" + "x" * 100 + "end", 20)
    assert len(short) == 20
    assert short.startswith("start")
    assert short.endswith("end")


@given(st.text(max_size=200), st.integers(2, 40), st.integers(1, 4))
def test_wrapped_text_fits_its_box(text, width, most):
    found = figures.wrapped(text, width, most).split("\n")
    assert len(found) <= most
    assert all(len(line) <= width for line in found)


def test_svg_ids_carry_the_figures_name_and_text_that_looks_like_an_id_does_not():
    with figures.styled():
        figure = Figure(figsize=(2, 1))
        figure.text(0.5, 0.5, 'id="x" url(#x)', parse_math=False)
        figure.add_axes((0, 0, 1, 1)).plot([0, 1], [0, 1], "o")
    drawn = svg.to_svg(figure, "mine", "words")
    ids = re.findall(r' id="([^"]*)"', drawn)
    assert ids
    assert all(name.startswith("mine-") for name in ids)
    assert 'id="x" url(#x)' in drawn
    assert set(re.findall(r'href="#([^"]*)"', drawn)) <= set(ids)


# Numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.55, "+0.550"),
        (-1.306, "−1.31"),
        (0.0, "0"),
        (-0.0, "0"),
        (123456.0, "+123,456"),
        (-0.0042, "−0.00420"),
        (3e-9, "+3.00e−09"),
        (2.5e8, "+2.50e+08"),
    ],
)
def test_a_number_has_three_digits_and_its_sign(value, text):
    assert words.number(value) == text


@given(st.floats(1e-6, 1e9), st.booleans())
def test_a_number_reads_back_within_half_a_percent(size, negative):
    value = -size if negative else size
    read = float(words.number(value).replace("−", "-").replace(",", ""))
    assert abs(read - value) <= 0.0051 * size


def test_an_interval_shares_decimals_and_its_small_end_does_not_read_as_zero():
    assert words.interval((-1.822, -0.797)) == "[−1.82, −0.80]"
    assert words.interval((-1.8, -0.004)) == "[−1.800, −0.004]"


def test_a_share_is_in_per_cent_and_has_no_sign():
    row = estimate(statistic="negative_share", value=0.74, interval=(0.65, 0.82), count=74)
    assert words.estimate(row) == "74.0 % [65.0, 82.0]"


def test_decimals_are_those_that_the_interval_deserves():
    """A mean of 4e-8 within ±0.004 is zero to four decimals, and the rows beside it keep theirs."""
    tiny = estimate(value=4e-8, interval=(-0.00365, 0.00364))
    beside = estimate(weights="equal_target", value=0.00271, interval=(-0.00192, 0.013))
    assert words.estimate(tiny) == "+0.00000 [−0.00365, +0.00364]"
    places = {line.places for line in lines.collect(fitted([tiny, beside])) if line.design}
    assert places == {4}
    assert words.estimate(tiny, 4) == "+0.0000 [−0.0037, +0.0036]"
    assert words.measured(0.004, (0.003, 0.9), "mean") == "+0.004 [+0.003, +0.900]"
    assert words.measured(0.0, None, "mean") == "0"


# The funnel and the cells


@pytest.fixture(scope="module")
def gaps():
    """One row absent and one score blank, in different units, so two of four units remain."""
    frame = table()
    absent = frame.eval(
        "task == 'a' and state == 'after' and view == 'generated' and layout == 'L0'"
    )
    blank = frame.eval("task == 'b' and state == 'before' and view == 'direct' and layout == 'L1'")
    frame.loc[blank, "margin"] = np.nan
    return design_only(frame=frame[~absent])


def test_funnel_table_counts_what_was_lost_at_each_stage(gaps):
    page = Page(html.render(gaps, PROVENANCE))
    found = {row[0]: row[1] for row in page.rows("Stage")}
    assert found == {
        "attempted": "32",
        "present": "31",
        "finite": "30",
        "complete": "28",  # a lost layout takes its cell's other layout along
        "in cohort": "16",
    }
    assert page.rows("Stratum") == [
        ["no", "2", "16", "15", "15", "14", "8"],
        ["yes", "2", "16", "16", "15", "14", "8"],
    ]
    assert ["after, view = generated", "8", "7", "7", "6", "4"] in page.rows("Cell")
    assert "2 of 4 units and 2 of 4 transitions are complete in every cell" in page.text


def test_cells_are_listed_openly_only_where_something_was_lost(gaps, full_page):
    opened = [attrs for tag, attrs in Page(html.render(gaps, PROVENANCE)).tags if tag == "details"]
    assert sum("open" in attrs for attrs in opened) == 1
    assert "4 cells, nothing lost" in full_page.text
    assert not any("open" in attrs for tag, attrs in full_page.tags if tag == "details")


def test_funnel_bars_are_as_long_as_their_counts(gaps):
    bars = plots.funnel(scores.funnel(gaps.scores)).axes[0].patches
    lengths = [
        bar.get_width() for bar in bars if bar.get_facecolor() == mpl.colors.to_rgba("#123f6d")
    ]
    assert lengths == [32, 31, 30, 28, 16]


def test_rows_left_out_by_where_are_counted_and_named():
    text = SPEC.replace('stratum = "target"', 'stratum = "target"\nwhere = { arm = ["x", "y"] }')
    arms = [("x", ("a", "b")), ("y", ("c", "d")), ("z", ("e",))]
    frame = pd.concat([table(units).assign(arm=arm) for arm, units in arms])
    shown = Page(html.render(design_only(text, frame), PROVENANCE)).text
    assert "40 table rows were read; where (arm = x or y) left out 8." in shown


def test_cell_map_writes_mean_and_units_and_hatches_what_was_never_measured():
    frame = table()
    frame = frame[~((frame["state"] == "after") & (frame["view"] == "generated"))]
    frame.loc[(frame["task"] == "a") & (frame["view"] == "direct"), "margin"] = np.nan
    data = scores.read_scores(parse_spec(SPEC), frame)
    [ax] = plots.cell_map(data).axes
    drawn = [text.get_text() for text in ax.texts]
    assert drawn.count("never measured") == 1
    assert sum(patch.get_hatch() is not None for patch in ax.patches) == 1
    inside = frame.query("task != 'a' and state == 'before' and view == 'direct'")["margin"]
    assert inside.mean() == pytest.approx(0.099, abs=5e-5)
    assert "+0.099   (n = 3)" in drawn


STEPS = SPEC.replace('unit = "task"', 'unit = "task"\ntransition = "step"')


def steps():
    return pd.concat([table().assign(step="1"), table().assign(step="2")])


def test_units_with_several_transitions_are_counted_once_in_a_cell():
    [ax] = plots.cell_map(scores.read_scores(parse_spec(STEPS), steps())).axes
    said = [text.get_text() for text in ax.texts if "n =" in text.get_text()]
    assert len(said) == 4
    assert all(text.endswith("(n = 8; 4 units)") for text in said)
    shown = Page(html.render(design_only(STEPS, steps()), PROVENANCE)).text
    assert "number of complete transitions (n), with their units, of each cell" in shown


def test_the_cell_map_keeps_sessions_apart():
    """Waves 1 and 2 of session b are 10 and 12 above the one of session a; in it c has a gap."""
    text = SPEC.replace(
        'replicate = { layout = ["L0", "L1"] }',
        'replicate = { layout = ["L0", "L1"], wave = ["0", "1", "2"] }\nsession = "when"',
    )
    levels = {"0": (0.0, "a"), "1": (10.0, "b"), "2": (12.0, "b")}
    frame = pd.concat(
        [
            table().assign(wave=wave, when=when, margin=lambda x, more=more: x["margin"] + more)
            for wave, (more, when) in levels.items()
        ]
    )
    gap = frame.eval("task == 'c' and wave == '0' and state == 'before' and view == 'direct'")
    frame = frame[~gap]
    [ax] = plots.cell_map(scores.read_scores(parse_spec(text), frame)).axes
    drawn = [text.get_text() for text in ax.texts]
    assert [x for x in drawn if x.startswith("session")] == ["session a · view", "session b · view"]
    corner = table().query("state == 'before' and view == 'direct'")
    said = [x.replace("−", "-").split("   ") for x in drawn if "(n =" in x]
    assert [n for _, n in said] == ["(n = 3)", *["(n = 4)"] * 7]
    first, later = (float(said[row][0]) for row in (0, 4))  # direct before, in each session
    assert first == pytest.approx(corner.query("task != 'c'")["margin"].mean(), abs=0.006)
    assert later == pytest.approx(corner["margin"].mean() + 11, abs=0.006)
    shown = Page(html.render(design_only(text, frame), PROVENANCE)).text
    assert "8 cells (state by channel, in each of 2 sessions); every one was measured." in shown
    assert "mean over layout and wave within one session, and counts" in shown


# Both engines


def test_estimates_table_sets_the_engines_side_by_side(full_page):
    found = full_page.rows("Design")
    place = next(i for i, row in enumerate(found) if row[0].startswith("omega"))
    assert found[place + 1] == [
        "empirical",
        "−1.31 [−1.82, −0.80]",
        "−1.27 [−1.78, −0.74]",
        ">0.999",
        "0.992",
        "<0.001",
        "4",
        "−1.50 [−2.25, −0.75]",
        "9 (11 tr.)",
    ]
    assert found[place + 2][:4] == [
        "equal_target1",
        "−0.26 [−0.98, +0.45]",
        "−0.90 [−1.60, −0.20]",
        "—",
    ]


def test_the_terminal_shows_own_cases_where_they_are_other_transitions(full, capsys):
    terminal.audit(full)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    place = next(i for i, found in enumerate(printed) if found[:2] == ["own", "cases"])
    assert printed[place] == ["own", "cases", "−1.50", "[−2.25,", "−0.75]", "9", "(11", "tr.)"]
    assert printed[place - 1][:2] == ["empirical", "−1.31"]
    assert sum(found[:2] == ["own", "cases"] for found in printed) == 1
    terminal.audit(fitted([estimate(), estimate(cohort="contrast", interval=(-2.0, -1.0))]))
    assert "own cases" not in capsys.readouterr().out


def test_a_note_of_own_cases_says_so_and_is_not_said_twice():
    rows = [estimate(notes=("few units",)), estimate(cohort="contrast", notes=("few units", "gap"))]
    collected = lines.collect(fitted(rows))
    assert lines.notes(collected) == {
        "design: few units": ["omega"],
        "design, own cases: gap": ["omega"],
    }


def test_the_terminal_says_what_a_note_is_about_and_gaps_once(capsys):
    listed = [f'o{i} = {{ omega = {{ view = ["direct", "generated"] }} }}' for i in range(6)]
    text = SPEC.replace("[weights]", "\n".join([*listed, "[weights]"]))
    rows = [estimate(f"o{i}", notes=("few",)) for i in range(6)] + [estimate(notes=("lone",))]
    gone = tuple(f"posterior of o{i}: no model" for i in range(6))
    audit = replace(fitted(rows, text=text), not_available=(*gone, "too many units"))
    terminal.audit(audit)
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith(("note", "not avail"))] == [
        "note on omega: design: lone",
        "note on o0, o1, o2, o3 and 2 more: design: few",
        "not available: posterior of o0, o1, o2, o3 and 2 more: no model",
        "not available: too many units",
    ]
    shown = Page(html.render(audit, PROVENANCE)).text
    assert shown.count("posterior of o0, o1, o2, o3, o4 and o5") == 2  # claims, what was not run
    assert shown.count("no model") == 2


MIDDLE = SPEC.replace(
    "[weights]",
    """middle = { omega = { view = ["direct", "generated"] }, statistic = "median" }
below = { omega = { view = ["direct", "generated"] }, statistic = "negative_share" }
units_below = { omega = { view = ["direct", "generated"] }, statistic = "negative_share",
weight_by = "unit" }
[weights]""".replace(",\nweight_by", ", weight_by"),
)


def test_a_mixture_that_an_estimand_has_no_row_of_is_not_listed(capsys):
    audit = design_only(MIDDLE)
    collected = lines.collect(audit)
    shown = [(x.estimand.name, x.weights) for x in lines.shown(collected)]
    assert ("middle", "empirical") in shown
    assert [(x.estimand.name, x.weights) for x in collected if
            (x.estimand.name, x.weights) not in shown] == [("middle", "equal_target")]  # fmt: skip
    terminal.audit(audit)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    place = printed.index(["middle"])
    assert [found[0] for found in printed[place + 1 : place + 3]] == ["empirical", "below"]
    found = [row[0] for row in Page(html.render(audit, PROVENANCE)).rows("Design")]
    place = next(i for i, name in enumerate(found) if name.startswith("middle"))
    assert [name.split()[0].rstrip("0123456789,") for name in found[place + 1 : place + 3]] == [
        "empirical",
        "below",
    ]
    nothing = lines.collect(fitted([refused()]))
    assert {line.estimand.name for line in lines.shown(nothing)} == {
        "direct_gain",
        "generated_gain",
        "omega",
    }


def test_a_count_stands_only_where_every_transition_counts_alike():
    found = Page(html.render(design_only(MIDDLE), PROVENANCE)).rows("Design")
    counted = {}
    name = ""
    for row in found:
        if len(row) == 1:
            name = row[0].split()[0]
        else:
            counted[name, row[0].rstrip("0123456789,")] = " of 4" in row[1]
    assert {key for key, value in counted.items() if value} == {("below", "empirical")}
    assert {("below", "equal_target"), ("units_below", "empirical")} <= set(counted)


def test_contrast_wise_row_is_kept_only_where_it_says_something_else():
    same = estimate(cohort="contrast")
    [_, _, _, _, line, _] = lines.collect(fitted([estimate(), same]))
    assert line.design.cohort == "joint"
    assert line.contrast_wise is None
    [_, _, _, _, line, _] = lines.collect(fitted([estimate(), replace(same, units=5)]))
    assert line.contrast_wise.units == 5
    [_, _, _, _, line, _] = lines.collect(fitted([estimate(), replace(same, interval=(-2.0, -1))]))
    assert line.contrast_wise.interval == (-2.0, -1)


def test_every_row_with_a_value_is_on_the_page(any_audit, any_page):
    text = Page(any_page).text
    for line in lines.collect(any_audit):
        for row in any_audit.rows:
            asked = (row.name, row.weights) == (line.estimand.name, line.weights)
            if asked and row.value is not None:
                assert words.estimate(row, line.places) in text


def bounds(interval, *notes, **changes):
    """A row of what the limits of two censored transitions allow."""
    notes = ("2 of 6 transitions are censored", *notes)
    about = {"method": "censoring_bounds", "cohort": "contrast", "population": "cohort"}
    usual = {**about, "interval_kind": "bounds", "level": 1.0, "units": 6, "transitions": 6}
    return estimate(interval=interval, notes=notes, **{**usual, **changes})


def bounded():
    rows = [
        estimate(),
        bounds((-3.25, 2.0)),
        estimate(weights="equal_target"),
        bounds(None, "unbounded above, at least -2.5: no limit", weights="equal_target"),
    ]
    return fitted(rows)


def test_bounds_of_censored_scores_are_in_the_table_and_are_no_intervals():
    page = Page(html.render(bounded(), PROVENANCE))
    mine = [row for row in page.rows("Bounds, censored") if row[0].startswith(("emp", "equal"))]
    shown = [(row[0], row[-2:]) for row in mine if row[1] != "—"]
    assert shown == [
        ("empirical1", ["[−3.25, +2.00]", "6"]),
        ("equal_target1,2", ["unbounded above, at least -2.5", "6"]),
    ]
    assert "censoring_bounds: unbounded above, at least -2.5" in page.text
    assert "Intervals: design: 95 % percentile, pointwise." in page.text
    assert "Pointwise: 2 intervals, 95 % each" in " ".join(said(bounded()).limits)
    assert "Bounds, censored" not in Page(html.render(fitted([estimate()]), PROVENANCE)).text


CENSORED = """
kind = "scores"
[data]
option_score = "score"
candidate = "candidate"
target = "target"
censored = "cut"
unit = "task"
change = { column = "state", before = "before", after = "after" }
[estimands]
step = { gain = {} }
"""


def test_open_bounds_of_the_design_engine_say_which_end_is_open():
    cells = itertools.product("abcd", ("before", "after"), "xyz")
    frame = pd.DataFrame(list(cells), columns=["task", "state", "candidate"])
    frame = frame.assign(target="x", score=[3.0, 1.0, 0.0] * 8, cut=False)
    frame.loc[3, ["score", "cut"]] = [5.0, True]  # the target's own score, after, of task a
    spec = parse_spec(CENSORED)
    [line] = lines.collect(design_audit(scores.read_scores(spec, frame), spec))
    # at most (5 - 1) - (3 - 1) = 2 for task a, and 0 for the other three: 2 / 4
    assert words.bounds(line.bounds) == "unbounded below, at most 0.5"


def test_the_terminal_shows_the_bounds_of_censored_scores(capsys):
    terminal.audit(bounded())
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if line.startswith("bounds")] == [
        "bounds of omega (empirical): [−3.25, +2.00]",
        "bounds of omega (equal_target): unbounded above, at least -2.5",
    ]
    terminal.audit(fitted([estimate()]))
    assert "bounds" not in capsys.readouterr().out


def test_every_estimand_and_mixture_has_one_line(any_audit):
    found = [(line.estimand.name, line.weights) for line in lines.collect(any_audit)]
    assert found == list(itertools.product(any_audit.spec.estimands, any_audit.spec.weights))


def test_the_cohorts_own_value_stands_apart(full_page):
    heading = ["Estimand", "Weights", "Value", "Notes"]
    found = next(table for table in full_page.tables if table[0] == heading)
    assert found[1] == ["omega", "empirical", "−1.31", ""]


@pytest.mark.parametrize(
    ("interval", "notes", "uncertain"),
    [
        (None, ("no interval: retry noise is not measured",), False),
        (None, ("no interval: 2 of 4 units lack a cell",), False),
        ((-1.5, -1.0), (), True),
    ],
)
def test_a_value_of_this_cohort_says_itself_why_it_has_no_interval(interval, notes, uncertain):
    own = estimate(method="posterior", population="cohort", interval=interval, notes=notes)
    page = Page(html.render(fitted([estimate(), own]), PROVENANCE))
    [row] = page.rows("Notes")
    assert row[3] == "".join(notes)
    assert ("how far noise between repeated measurements may have moved it" in page.text) == (
        uncertain
    )
    assert ("is not free of error" in page.text) == (not uncertain)
    assert "was not measured" not in page.text


def test_forest_draws_each_engine_at_its_value_with_its_own_marker(full):
    [ax] = plots.forest(full).axes
    points = {
        (line.get_marker(), line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 1
    }
    assert points == {
        ("o", 0.55),
        ("o", -0.756),
        ("o", -1.306),
        ("o", -0.262),
        ("D", -1.27),
        ("D", -0.9),
    }
    heights = [line.get_ydata()[0] for line in ax.lines if len(line.get_xdata()) == 1]
    assert len(set(heights)) == 6  # no marker hides another
    ends = {tuple(line.get_xdata()) for line in ax.lines if line.get_linewidth() == 2.0}
    assert (-0.981, 0.445) in ends
    assert len([1 for line in ax.lines if tuple(line.get_xdata()) == (0, 0)]) == 1


def test_forest_keeps_shares_off_the_axis_of_scores():
    text = SPEC.replace(
        "[weights]",
        'rare = { gain = { view = "direct" }, statistic = "negative_share" }\n[weights]',
    )
    share = estimate("rare", statistic="negative_share", value=0.25, interval=(0.1, 0.5), count=1)
    scored, shares = plots.forest(fitted([estimate(), share], text=text)).axes
    assert shares.get_xlim() == (0, 1)
    assert 0.25 in [line.get_xdata()[0] for line in shares.lines]
    assert 0.25 not in [line.get_xdata()[0] for line in scored.lines]


def test_a_figure_does_not_depend_on_the_readers_settings(full):
    usual = svg.to_svg(plots.forest(full), "f", "words")
    with mpl.rc_context({"axes.facecolor": "red", "font.size": 25, "svg.fonttype": "path"}):
        assert svg.to_svg(plots.forest(full), "f", "words") == usual


def test_effects_are_ordered_by_interaction_order_without_the_level(full):
    figure = plots.effects(full.tree, "margin")
    left, right = figure.axes
    drawn = [text.get_text() for text in left.texts]
    assert drawn[:3] == ["state", "view", "state:view"]
    means = full.tree["posterior"]["effects"].mean(("chain", "draw")).values[1:]
    points = [line.get_xdata()[0] for line in left.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(points, means)
    assert len([line for line in right.lines if line.get_marker() == "s"]) == 3


def test_effects_without_a_mean_of_their_own_say_so(full):
    tree = full.tree.copy(deep=True)
    small = tree["posterior"].to_dataset().sel(effect=["intercept", "state", "view"])
    tree["posterior"] = xr.DataTree(small)
    left, right = plots.effects(tree, "margin").axes
    assert [text.get_text() for text in left.texts].count("set to zero by the spec") == 1
    assert len([line for line in right.lines if line.get_marker() == "s"]) == 3


def test_one_stratum_has_no_deviations_and_says_so():
    text = SPEC.replace('stratum = "target"\n', "").replace('equal_target = "equal"\n', "")
    spec = parse_spec(text)
    data = scores.read_scores(spec, table())
    audit = Audit(spec, data, [estimate()], tree=fake_tree(data, strata=("",)))
    page = html.render(audit, PROVENANCE)
    assert "one stratum, so there are no deviations" in Page(page).text
    assert "deviations-" not in page


def test_too_many_strata_are_not_drawn(monkeypatch, full):
    monkeypatch.setattr(effects, "MOST_DEVIATIONS", 7)  # 2 strata × 4 effects = 8
    page = html.render(full, PROVENANCE)
    assert "2 strata are too many to draw" in Page(page).text
    assert "deviations-" not in page


# Refusals


def test_a_refusal_names_the_missing_cell_the_witness_and_the_remedy():
    shown = Page(html.render(fitted([refused(), refused(weights="equal_target")]), PROVENANCE)).text
    assert "(after, view = generated) was never measured completely" in shown
    assert "if the score at (after, view = generated) were +1.00 higher" in shown
    assert "this estimand would move by −1.00" in shown
    assert "Measuring (after, view = generated) would settle it." in shown
    assert shown.count("To see why") == 1  # both mixtures have one reason
    assert "design, joint cohort, equal_target weights" in shown


def test_every_refused_row_is_in_exactly_one_refusal():
    audit = nasty()
    where = sum(len(refusal.where) for refusal in lines.refusals(audit))
    assert where == sum(row.refused is not None for row in audit.rows)
    assert where > 0


def test_a_refusal_of_another_kind_gives_its_own_message():
    why = {"reason": "statistic_needs_empirical_weights", "message": "a median goes with empirical"}
    row = estimate(value=None, interval=None, refused=why)
    assert "a median goes with empirical" in Page(html.render(fitted([row]), PROVENANCE)).text


# Checks and provenance


def test_failed_checks_come_first_and_what_was_not_run_is_listed(full_page):
    found = full_page.rows("Threshold")
    assert [row[0] for row in found] == ["✗ failed", "shown", "✓ passed"]
    assert found[2] == [
        "✓ passed",
        "convergence",
        "R-hat of parameters",
        "1.000",
        "1.010",
        "worst is tau",
    ]
    assert found[1][4] == "—"
    assert "1 failed, 1 shown, 1 passed, 1 not run." in full_page.text
    assert "design_agreement, share (empirical): no counterpart" in full_page.text


def test_provenance_lists_facts_versions_timing_and_the_spec(full):
    shown = Page(html.render(full, {**PROVENANCE, "extra": 5})).text
    for fact in ("scores.csv", "numpy 2.2", "compiling 1.5 s, sampling 2.2 s", "extra 5", "Seed 7"):
        assert fact in shown
    assert "SHA-256 of the file" not in shown  # not recorded
    assert " ".join(SPEC.split()) in shown


# The verdict


def said(audit):
    return verdict.verdict(audit, lines.collect(audit))


BELOW, AROUND, ABOVE = (-2.0, -1.0), (-1.0, 1.0), (1.0, 2.0)


@pytest.mark.parametrize(
    ("design", "posterior", "expected"),
    [
        (BELOW, BELOW, "Below zero in both engines."),
        (ABOVE, ABOVE, "Above zero in both engines."),
        (AROUND, AROUND, "Sign open: both intervals include zero."),
        (
            AROUND,
            BELOW,
            "The engines differ: the design interval includes zero, "
            "the posterior's lies below zero.",
        ),
        (
            ABOVE,
            BELOW,
            "The engines differ: the design interval lies above zero, "
            "the posterior's lies below zero.",
        ),
        ((-1.0, 0.0), (-1.0, 0.0), "Sign open: both intervals include zero."),
    ],
)
def test_a_finding_says_where_both_intervals_lie(design, posterior, expected):
    rows = [estimate(value=sum(ends) / 2, interval=ends) for ends in (design, posterior)]
    audit = fitted([rows[0], replace(rows[1], method="posterior")])
    [finding] = said(audit).findings
    assert finding.statements[0][:2] == ("empirical", expected)


@pytest.mark.parametrize(
    ("down", "up", "expected"),
    [
        (
            0.97,
            0.001,
            "By the posterior the mean gain reverses sign: "
            "P(gain(direct) above zero and gain(generated) below zero) = 0.970.",
        ),
        (
            0.001,
            0.97,
            "By the posterior the mean gain reverses sign: "
            "P(gain(direct) below zero and gain(generated) above zero) = 0.970.",
        ),
        (0.6, 0.1, "Whether the mean gain reverses sign is not settled"),
        (0.949, 0.001, "Whether the mean gain reverses sign is not settled"),
        (
            0.04,
            0.005,
            "By the posterior a reversal of the mean gain is unlikely: P(either way) = 0.045.",
        ),
    ],
)
def test_a_reversal_is_claimed_only_when_it_is_probable(down, up, expected):
    chances = [
        Probability(
            name="omega", event=event, value=value, weights="empirical", population="units", draws=9
        )
        for event, value in {"reversal+-": down, "reversal-+": up}.items()
    ]
    audit = fitted([estimate(), estimate(method="posterior")], chances)
    details = said(audit).findings[0].statements[0][2]
    assert expected in details
    claimed = "reverses sign between channels in omega (empirical)" in " ".join(
        said(audit).sentences
    )
    assert claimed == (max(down, up) >= 0.95)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (ABOVE, BELOW, "opposite signs, both intervals exclude zero."),
        (ABOVE, (-2.0, 1.0), "opposite signs, but not both intervals exclude zero."),
        (ABOVE, ABOVE, "without a change of sign."),
    ],
)
def test_design_gains_are_compared_where_they_were_asked_for(first, second, expected):
    rows = [
        estimate(name, value=sum(ends) / 2, interval=ends)
        for name, ends in {"direct_gain": first, "generated_gain": second}.items()
    ]
    details = said(fitted([*rows, estimate()])).findings[0].statements[0][2]
    assert details.endswith(expected)


def test_headline_never_says_that_all_is_well_when_it_is_not(full):
    assert (said(full).tone, said(full).headline) == ("bad", "1 gate failed")
    passing = [row for row in full.check_rows if row.verdict != "fail"]
    differ = said(replace(full, check_rows=passing))
    assert differ.tone == "mixed"
    assert differ.headline == "All gates passed; the engines differ on 1 comparison"
    agree = [row for row in full.rows if row.weights != "equal_target"]
    well = said(replace(full, check_rows=passing, rows=agree))
    assert (well.tone, well.headline) == ("good", "All gates passed")
    gone = said(replace(full, check_rows=passing, rows=[*agree, refused(weights="equal_target")]))
    assert gone.headline == "All gates passed; some claims are not supported"
    assert said(replace(full, check_rows=[], rows=agree)).headline == "No gate was run"
    flat = replace(full, check_rows=passing, rows=[*agree, refused(method="unpooled")])
    assert flat.passed
    assert said(flat).headline == "All gates passed"
    assert not any("cannot be given" in sentence for sentence in said(flat).sentences)
    prior = [
        check("prior_driven", "omega (empirical)", "shown", None, None, "it is open", gated=False),
        check(
            "prior_sensitivity", "omega (empirical)", "shown", 1, 0.05, "prior-driven, by strong"
        ),
        check("prior_sensitivity", "tau[2]", "shown", 1, 0.05, "prior-driven, by strong priors"),
    ]
    open_answer = said(replace(full, check_rows=[*passing, *prior], rows=agree))
    assert open_answer.tone == "mixed"
    assert open_answer.headline == "All gates passed; 1 answer comes from its prior"
    parameter = said(replace(full, check_rows=[*passing, prior[2]], rows=agree))
    assert parameter.tone == "good"
    alone = said(design_only())
    assert alone.tone == "mixed"
    assert alone.headline == "Design estimates only: no second engine to check them"


def test_gates_are_counted_and_a_shown_check_is_no_gate(full):
    assert (
        said(full)
        .sentences[0]
        .startswith(
            "1 of 2 gates that ran failed (design_agreement: omega (empirical)); 1 did not apply."
        )
    )


def test_overview_counts_comparisons_by_mixture(full):
    paragraph = " ".join(said(full).sentences)
    assert "under empirical weights 1 below zero in both engines" in paragraph
    assert "under equal_target weights 1 on which the engines differ" in paragraph
    assert "Rest no decision on one engine alone there." in paragraph


def test_without_a_posterior_the_reason_comes_early_and_one_engine_is_named():
    audit = design_only(reason="posterior: units have several transitions")
    page = Page(html.render(audit, PROVENANCE))
    shown = page.text
    assert shown.index("units have several transitions") < shown.index("Comparison by comparison")
    assert "effects" not in {attrs.get("id") for _, attrs in page.tags}
    assert "in both engines" not in shown
    assert "Posterior" not in page.tables[-1][0]
    statement = said(audit).findings[0].statements[0][1]
    assert statement.startswith("Design: ")


def test_limits_state_pointwise_intervals_the_cohort_and_the_mixtures(full):
    limits = " ".join(said(full).limits)
    assert "Pointwise: 7 intervals, 95 % each" in limits
    assert "Simultaneous" not in limits
    assert "the 4 of 4 units that are complete in every cell" in limits
    assert "equal_target: every stratum counts the same" in limits


def test_limits_count_transitions_where_units_have_several():
    """Task a lacks a score in both of its steps, b in one: 3 of 4 units and 5 of 8 transitions."""
    frame = steps()
    lost = frame.eval("task == 'a' or (task == 'b' and step == '2')")
    frame = frame[~(lost & frame.eval("state == 'after' and view == 'direct' and layout == 'L0'"))]
    found = " ".join(said(fitted(text=STEPS, frame=frame)).limits)
    assert "the 3 of 4 units (5 of 8 transitions) that are complete in every cell" in found
    found = " ".join(said(design_only(STEPS, frame)).limits)
    assert "about the transitions that are complete for each contrast, out of 8 trans" in found
    assert "8 transitions of 4 units, and units like them" in found
    found = " ".join(said(design_only()).limits)
    assert "about the units that are complete for each contrast, out of 4 units," in found


def test_simultaneous_intervals_say_over_which_rows_they_hold_together():
    together = {"interval_kind": "simultaneous max-t", "level": 0.9}
    rows = [
        estimate(**together),
        estimate("direct_gain", **together),
        estimate(cohort="contrast", units=9, **together),
        estimate(method="posterior", interval_kind="equal-tailed credible"),
    ]
    simultaneous, alone, pointwise, *_ = sorted(said(fitted(rows)).limits, key=_order)
    assert simultaneous.startswith("Simultaneous: 2 design intervals of the joint cohort, 90 % for")
    assert alone.startswith("Simultaneous: 1 design interval of the contrast cohort, 90 % for all")
    assert pointwise.startswith("Pointwise: 1 interval, 95 % each; nothing is adjusted")
    text = Page(html.render(fitted(rows), PROVENANCE)).text
    assert "design: 90 % simultaneous max-t, all rows of the joint cohort at once;" in text
    assert "posterior: 95 % equal-tailed credible, pointwise." in text


def _order(limit):
    starts = ("Simultaneous: 2", "Simultaneous: 1", "Pointwise")
    return next((i for i, start in enumerate(starts) if limit.startswith(start)), len(starts))


def test_what_the_design_engine_calls_simultaneous_is_called_so():
    text = SPEC + "[design]\ndraws = 200\nsimultaneous = true\n"
    spec = parse_spec(text)
    audit = design_audit(scores.read_scores(spec, table()), spec)
    drawn = sum(row.interval is not None for row in audit.rows)
    parts = sum(row.interval is not None for row in audit.breakdown_rows)
    first, second = said(audit).limits[:2]
    assert first.startswith(f"Simultaneous: {drawn} design intervals of the contrast cohort")
    assert second.startswith(f"Pointwise: {parts} intervals")
    assert drawn == 6


def test_declared_weights_are_spelt_out():
    text = SPEC.replace('equal_target = "equal"', "half = { no = 0.25, yes = 0.75 }")
    assert "half: no 0.25, yes 0.75" in " ".join(said(design_only(text)).limits)


def test_a_mix_of_mixtures_is_spelt_out():
    text = SPEC.replace(
        'equal_target = "equal"', "half = { mix = { empirical = 0.5, equal = 0.5 } }"
    )
    assert "half: a mix of empirical 0.5, equal 0.5" in " ".join(said(design_only(text)).limits)


def test_a_contrast_that_no_stratum_may_move_says_so(full):
    means = full.tree["posterior"].to_dataset()["cell_mean"]
    same = means.isel(stratum=[0, 0]).assign_coords(stratum=means["stratum"])
    tree = full.tree.copy(deep=True)
    tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset().assign(cell_mean=same))
    details = {
        name: said(replace(full, tree=t)).findings[0].statements[0][2]
        for name, t in (("same", tree), ("free", full.tree))
    }
    assert "lets no stratum differ here" in details["same"]
    assert "lets no stratum differ here" not in details["free"]


@pytest.mark.parametrize(
    ("declared", "meaning"),
    [
        ('gain = { view = "direct" }', "after minus before at view = direct"),
        (
            'omega = { view = ["direct", "generated"] }',
            "gain at view = generated minus gain at view = direct",
        ),
        (
            'diagonal = { view = ["direct", "generated"] }',
            "after at view = generated minus before at view = direct",
        ),
        (
            'endpoint_shift = { view = ["direct", "generated"] }, state = "after"',
            "after at view = generated minus after at view = direct",
        ),
        ('difference = ["direct_gain", "omega"]', "omega minus direct_gain"),
        ('gain = {}, average_over = ["view"]', "after minus before; averaged over view"),
        (
            'gain = {}, at = { view = ["direct", "generated"] }',
            "after minus before; view = direct and generated",
        ),
    ],
)
def test_an_estimand_is_explained_in_words(declared, meaning):
    spec = parse_spec(SPEC.replace("[weights]", f"asked = {{ {declared} }}\n[weights]"))
    assert in_words(spec.estimands["asked"]) == meaning


def test_only_comparisons_of_gains_are_findings():
    more = """
    shift = { endpoint_shift = { view = ["direct", "generated"] }, state = "after" }
    apart = { difference = ["direct_gain", "generated_gain"] }
    [weights]"""
    audit = design_only(SPEC.replace("[weights]", more))
    assert [finding.name for finding in said(audit).findings] == ["omega", "apart"]


def test_a_difference_of_shares_is_no_share():
    text = SPEC.replace(
        'stratum = "target"', 'stratum = "target"\nattributes = ["success"]'
    ).replace(
        'omega = { omega = { view = ["direct", "generated"] } }',
        'omega = { omega = { view = ["direct", "generated"] }, statistic = "negative_share", '
        "between = { success = [false, true] } }",
    )
    frame = table(units=("a", "b", "c", "d", "e", "f", "g", "h"))
    frame = frame.assign(success=frame["task"].isin(["a", "b", "c", "d"]))
    audit = design_only(text, frame)
    axes = plots.forest(audit).axes
    assert [ax.get_xlabel() for ax in axes] == ["margin, native units", "difference of shares"]
    assert axes[1].get_xlim()[0] < 0
    [found] = verdict.verdict(audit, lines.collect(audit)).findings
    assert "Difference of the shares" in found.statements[0][1]


def test_reasons_of_what_was_lost_are_counted_in_words(gaps):
    shown = Page(html.render(gaps, PROVENANCE)).text
    for why, count in gaps.funnel["reasons"].items():
        assert (f"{count:,}: {coverage.WHY[why].format(case='unit')}" in shown) == (count > 0)


def test_scale_groups_are_named_with_their_levels_and_orders():
    assert words.order("0 [stack=a]") == "level [stack=a]"
    assert words.order("1 [stack=a]") == "main effects [stack=a]"


def test_a_region_of_practical_equivalence_has_its_column():
    text = SPEC + "[model]\nrope = 0.25\n"
    row = Probability(
        name="omega", event="rope", value=0.375, weights="empirical", population="units", draws=7,
        rope=0.25,
    )  # fmt: skip
    rows = [estimate(), estimate(method="posterior", value=-1.0, interval=(-1.5, -0.5))]
    page = Page(html.render(fitted(rows, [row], text=text), PROVENANCE))
    assert "P(size < 0.25)" in page.text
    assert any("0.375" in cells for cells in page.rows("Estimand, weights"))
    without = Page(html.render(fitted(rows), PROVENANCE))
    assert "P(size" not in without.text


def test_what_no_change_of_level_cancels_is_said_of_its_estimate():
    entry = '[estimands]\nmove = { diagonal = { view = ["direct", "generated"] } }'
    spec = parse_spec(SPEC.replace("[estimands]", entry))
    found = design_audit(scores.read_scores(spec, table()), spec)
    groups = estimated.estimates(found, lines.collect(found))["groups"]
    told = {group["name"]: group["meaning"] for group in groups}
    assert told["move"].endswith("; an offset of a whole channel does not cancel")
    assert "offset" not in told["omega"]
