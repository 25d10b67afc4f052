"""Bounds from censored scores: every completion lies within them, and each finite end is attained.

The completions are tried one by one here, on cells written out and on a table of option scores.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fourcorner import parse_spec, read_scores
from fourcorner.contrasts import gain, omega
from fourcorner.design import engine
from fourcorner.design.bounds import censoring_bounds, of_cells
from fourcorner.design.breakdowns import breakdowns
from fourcorner.design.options import Options
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.weights import TargetWeights, resolve_all
from scored import dataset

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
ASKED = {
    "gain": (gain(view="a"), {(1, 0): 1, (0, 0): -1}),
    "omega": (omega(view=("a", "b")), {(1, 1): 1, (0, 1): -1, (1, 0): -1, (0, 0): 1}),
}
WEIGHTS = {"empirical": None, "equal": np.array([0.5, 0.5])}


def faces(seed, units=5):
    """Cells of units with a few censored within limits: (least, greatest), each (units, 2, 2)."""
    generator = np.random.default_rng(seed)
    low = generator.integers(-4, 5, size=(units, 2, 2)).astype(float)
    wide = generator.random(low.shape) < 0.15
    high = low + np.where(wide, generator.integers(1, 5, size=low.shape), 0)
    missing = generator.random(low.shape) < 0.05
    return np.where(missing, np.nan, low), np.where(missing, np.nan, high)


def scored(low, high):
    exact = np.where(low == high, low, np.nan)
    units = len(low)
    along = {
        "unit": np.array([f"u{i}" for i in range(units)]),
        "stratum": np.array(["s0" if i < 2 else "s1" for i in range(units)]),
        "kind": np.array([["read", "write"][i % 2] for i in range(units)]),
    }
    data = dataset(exact, {"state": ["before", "after"], "view": ["a", "b"]}, along)
    return data, *(
        xr.DataArray(end, data["score"].coords, data["score"].dims) for end in (low, high)
    )


def value(contrasts, mixture, statistic):
    """The statistic of contrast values (units,), by hand."""
    kept = np.isfinite(contrasts)
    numbers = (contrasts < 0).astype(float) if statistic == "negative_share" else contrasts
    if mixture == "empirical":
        return numbers[kept].mean()
    first = np.arange(len(contrasts)) < 2
    return (numbers[kept & first].mean() + numbers[kept & ~first].mean()) / 2


def rows_of(data, estimand, mixture, low, high):
    weights = [TargetWeights(mixture, WEIGHTS[mixture])]
    return list(of_cells(engine.sample(data), estimand, weights, low, high))


@EXAMPLES
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(ASKED)),
    st.sampled_from(sorted(WEIGHTS)),
    st.sampled_from(["mean", "negative_share"]),
)
def test_the_ends_are_the_extremes_over_every_completion(seed, name, mixture, statistic):
    low, high = faces(seed)
    contrast, corners = ASKED[name]
    used = list(corners)
    inside = [np.isfinite(low[i][tuple(zip(*used, strict=True))]).all() for i in range(len(low))]
    open_cells = [
        (i, *corner)
        for i in range(len(low))
        for corner in used
        if inside[i] and low[i][corner] < high[i][corner]
    ]
    assume(0 < len(open_cells) <= 8)
    data, *ends = scored(low, high)
    rows = rows_of(data, Estimand("asked", contrast, statistic), mixture, *ends)
    plain = engine.estimate(
        engine.sample(data),
        [Estimand("asked", contrast, statistic)],
        [TargetWeights(mixture, WEIGHTS[mixture])],
        draws=1,
    )[0]
    if plain.refused is not None:
        assert not rows
        return
    found = []
    for choice in itertools.product((0, 1), repeat=len(open_cells)):
        filled = low.copy()
        for cell, end in zip(open_cells, choice, strict=True):
            filled[cell] = (low, high)[end][cell]
        contrasts = sum(w * filled[:, s, v] for (s, v), w in corners.items())
        found.append(value(np.where(inside, contrasts, np.nan), mixture, statistic))
    (row,) = rows
    assert row.interval == pytest.approx((min(found), max(found)), abs=1e-12)
    assert row.value == plain.value
    assert (row.method, row.interval_kind, row.population) == (
        "censoring_bounds",
        "bounds",
        "cohort",
    )
    assert row.transitions == row.units == sum(inside)
    touched = len({cell[0] for cell in open_cells})
    assert row.notes[0].startswith(f"{touched} of {sum(inside)} transitions are censored")


def open_face():
    """Three units, the first with a cell after the change that is only at most 2."""
    low = np.array([[[0.0, 0], [1, 0]], [[0, 0], [3, 0]], [[1, 0], [2, 0]]])
    high = low.copy()
    low[0, 1, 0], high[0, 1, 0] = -math.inf, 2.0
    return low, high


def test_a_side_without_limit_is_said_with_the_other_end():
    low, high = open_face()
    data, *ends = scored(low, high)
    asked = Estimand("g", gain(view="a"))
    (row,) = rows_of(data, asked, "empirical", *ends)
    assert row.value == pytest.approx(2.0)  # the mean of 3 and 1
    assert row.interval is None
    assert row.notes[-1] == "unbounded below, at most 2: a censored score has no lower limit"
    loss = replace(asked, contrast=-1 * gain(view="a"))
    (row,) = rows_of(data, loss, "empirical", *ends)
    assert row.notes[-1] == "unbounded above, at least -2: a censored score has no lower limit"


def test_a_share_is_bounded_where_a_mean_is_not():
    low, high = open_face()
    data, *ends = scored(low, high)
    (row,) = rows_of(data, Estimand("g", gain(view="a"), "negative_share"), "empirical", *ends)
    assert row.interval == pytest.approx((0.0, 1 / 3))


def test_a_group_that_is_subtracted_enters_with_its_other_end():
    low, high = open_face()
    low[0, 1, 0] = 0.0  # so the gain of unit 0, which reads, is from 0 to 2
    data, *ends = scored(low, high)
    asked = Estimand("g", gain(view="a"), between=("kind", "read", "write"))
    (row,) = rows_of(data, asked, "empirical", *ends)
    # read: units 0 and 2, a mean from 1/2 to 3/2; write: unit 1, 3
    assert row.interval == pytest.approx((3 - 3 / 2, 3 - 1 / 2))
    assert row.value == pytest.approx(3 - 1)


def test_an_open_cell_in_a_stratum_that_weighs_nothing_leaves_both_ends():
    low, high = open_face()
    low[1, 1, 0] = 2.0  # another unit, with limits on both sides
    high[1, 1, 0] = 4.0
    data, *ends = scored(low, high)
    data["stratum"] = data["stratum"].copy(data=["s0", "s1", "s1"])
    weights = [TargetWeights("w", np.array([0.0, 1.0]))]
    (row,) = of_cells(engine.sample(data), Estimand("g", gain(view="a")), weights, *ends)
    assert row.interval == pytest.approx(((2 + 1) / 2, (4 + 1) / 2))


SPEC = """
kind = "scores"
[data]
option_score = "logprob"
candidate = "candidate"
target = "target"
censored = "censored"
unit = "task"
change = { column = "state", before = "before", after = "after" }
replicate = { layout = ["L", "M"] }
[estimands]
step = { gain = {} }
"""


def options(censor=()):
    """Three tasks, two options, two layouts; the target leads by 1 before and by 2 or 3 after."""
    rows = []
    for i, task in enumerate("pqr"):
        for state, lead in (("before", 1.0), ("after", 2.0 + (i == 2))):
            for layout in "LM":
                for candidate, score in (("t", -1.0), ("o", -1.0 - lead)):
                    cut = (task, state, candidate) in censor
                    rows.append((task, "t", state, layout, candidate, score, cut))
    columns = ["task", "target", "state", "layout", "candidate", "logprob", "censored"]
    return pd.DataFrame(rows, columns=columns)


def test_from_a_table_of_option_scores():
    # the rival of task p is at most -3 after the change: its margin is 2 or more
    censor = [("p", "after", "o")]
    data = read_scores(parse_spec(SPEC), options(censor))
    weights = resolve_all({"empirical": "empirical"}, [""])
    asked = [Estimand("g", gain()), Estimand("below", gain(), "negative_share")]
    mean, share = censoring_bounds(engine.sample(data), asked, weights)
    assert mean.value == pytest.approx((1 + 2) / 2)
    assert mean.notes[-1].startswith("unbounded above, at least 1.33333")
    assert share.value == 0.0
    assert share.notes[0].startswith("1 of 3 transitions are censored")


# --- rows of families -----------------------------------------------------------------------------

FAMILIES = """
kind = "scores"
[data]
option_score = "logprob"
candidate = "candidate"
target = "target"
censored = "censored"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["a", "b"] }
attributes = ["success"]
[estimands]
stable = { signs = { view = ["a", "b"] }, dead_zones = [0.5] }
belief = { beliefs = { view = "b" } }
ranks = { auc = { view = ["a", "b"] }, outcome = { success = true } }
middle = { gain = { view = "b" }, statistic = "median" }
same = { agreement = { view = ["a", "b"] }, state = "after" }
"""
MARGINS = {  # before and after at view a, then at view b
    "p": (1.0, 2.0, 1.5, 3.0),
    "q": (2.0, 1.0, 1.0, 5.0),
    "r": (1.0, 4.0, 2.0, 1.0),
    "s": (1.0, 1.5, 1.0, 2.0),
}
PLACES = [("a", "before"), ("a", "after"), ("b", "before"), ("b", "after")]


def read_families(limits, blank=()):
    """The target at 0, a rival as far below as the margin, another one two below that."""
    rows = [
        (task, "t", task in "pr", *place, option, score, (task, *place, option) in limits)
        for task, margins in MARGINS.items()
        for place, margin in zip(PLACES, margins, strict=True)
        for option, score in (("t", 0.0), ("y", -margin), ("z", -margin - 2))
        if (task, *place, option) not in blank
    ]
    columns = ["task", "target", "success", "view", "state", "candidate", "logprob", "censored"]
    spec = parse_spec(FAMILIES)
    asked = list(as_estimands(spec).values())
    data = read_scores(spec, pd.DataFrame(rows, columns=columns))
    weights = resolve_all({"empirical": "empirical"}, [""])
    return engine.sample(data), asked, weights


def means(tasks, extra=0.0):
    """Mean gains at views a and b, and their difference, with some added to the first task's b."""
    gains = np.array([np.diff(MARGINS[task])[[0, 2]] for task in tasks])
    gains[0, 1] += extra
    first, second = gains.mean(axis=0)
    return first, second, second - first


def test_means_of_families_have_bounds_of_all_their_transitions():
    # after the change, at view b, the nearest rival of p is at most where it is: 0 to 2 lower;
    # the far rival of q is only a limit, which leaves its margin and not its belief; s has no
    # score of it at view a, so no first gain
    limits = {("p", "b", "after", "y"), ("q", "b", "before", "z")}
    rows = censoring_bounds(*read_families(limits, {("s", "a", "before", "z")}))
    found = {row.name: row for row in rows}
    assert list(found) == ["stable.gain.first", "stable.gain.second", "stable.omega",
                           "belief.margin_gain"]  # fmt: skip
    families = [found[f"stable.{row}"] for row in ("gain.first", "gain.second", "omega")]
    known, least, most = means("qr"), means("pqr"), means("pqr", 2.0)
    for row, value, *ends in zip(families, known, least, most, strict=True):
        assert row.value == pytest.approx(value)
        assert row.interval == pytest.approx(tuple(ends))
        assert (row.method, row.transitions) == ("censoring_bounds", 3)
        assert row.notes[0] == "1 of 3 transitions are censored; the value is of the others"
    belief = found["belief.margin_gain"]
    assert belief.value == pytest.approx(means("rs")[1])
    assert belief.interval == pytest.approx((means("pqrs")[1], means("pqrs", 2.0)[1]))
    assert belief.notes[0] == "2 of 4 transitions are censored; the value is of the others"


def test_an_open_side_of_a_family_is_said():
    rows = censoring_bounds(*read_families({("q", "a", "after", "t")}))
    found = {row.name: row.notes[-1] for row in rows}
    assert set(found) == {"stable.gain.first", "stable.gain.second", "stable.omega"}
    assert found["stable.gain.first"].startswith(f"unbounded below, at most {means('pqrs')[0]:g}")
    assert found["stable.omega"].startswith(f"unbounded above, at least {means('pqrs')[2]:g}")


LEFT_OUT = {
    1: "1 transition in which some score is only an upper limit",
    2: "2 transitions in which some score is only an upper limit",
}


def test_every_row_without_bounds_says_how_many_are_out_because_of_a_limit():
    limits = {("p", "b", "after", "y"), ("q", "b", "before", "z"), ("r", "a", "after", "t")}
    data, asked, weights = read_families(limits, {("s", "a", "before", "z")})
    out = {  # by row, whose margins, beliefs or top candidates are not known
        **{item.name: 2 for item in asked if item.family == "stable"},  # p and r
        **{item.name: 2 for item in asked if item.family == "belief"},  # p and q
        **{item.name: 2 for item in asked if item.family == "ranks"},
        "middle": 1,
        "same": 1,
    }
    rows = engine.run(data, asked, weights, Options(draws=0))
    assert {row.name for row in rows} == set(out)
    for row in rows:
        if row.refused is None:
            said = [note for note in row.notes if note.startswith("left out")]
            assert said == [f"left out: {LEFT_OUT[out[row.name]]}"]
    assert sum(row.refused is not None for row in rows) == 3  # ranks: those left have one outcome


def test_transitions_that_are_not_asked_for_are_not_counted_as_left_out():
    data, _, weights = read_families({("p", "b", "after", "y"), ("q", "b", "after", "y")})
    for about in ({"where": {"success": ("true",)}}, {"between": ("success", "false", "true")}):
        asked = Estimand("middle", gain(view="b"), "median", **about)
        (row,) = engine.run(data, [asked], weights, Options(draws=0))
        count = 1 if "where" in about else 2
        assert f"left out: {LEFT_OUT[count]}" in row.notes


def test_without_a_censored_score_there_are_no_bounds():
    data = read_scores(parse_spec(SPEC), options())
    weights = resolve_all({"empirical": "empirical"}, [""])
    assert censoring_bounds(engine.sample(data), [Estimand("g", gain())], weights) == []
    plain, *_ = scored(*faces(0))
    assert censoring_bounds(engine.sample(plain), [Estimand("g", gain(view="a"))], weights) == []


def test_margins_of_options_by_layout_come_with_a_warning():
    data = read_scores(parse_spec(SPEC), options())
    weights = resolve_all({"empirical": "empirical"}, [""])
    rows = breakdowns(engine.sample(data), [Estimand("g", gain())], weights, draws=10)
    by_layout = [row for row in rows if row.by == "layout"]
    assert [row.value for row in by_layout] == pytest.approx([4 / 3, 4 / 3])
    said = "values by layout need not average to the value of scores averaged over it first"
    assert all(said in row.notes for row in by_layout)
