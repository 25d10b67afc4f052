"""Breakdowns against plain pandas: by layout, wave, stratum, attribute, and without one unit."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.contrasts import gain, omega
from fourcorner.design import breakdowns as module
from fourcorner.design import engine
from fourcorner.design.applied import applied
from fourcorner.design.breakdowns import breakdowns
from fourcorner.design.leave_one_out import leave_one_out
from fourcorner.design.options import Options
from fourcorner.estimands import Estimand
from fourcorner.results import Breakdown, frame, records, to_json
from fourcorner.weights import resolve_all
from scored import dataset

EXAMPLES = settings(max_examples=20, deadline=None, derandomize=True)
GAIN = Estimand("g", gain(view="a"))
SHARE = Estimand("below", omega(view=("a", "b")), "negative_share")
WEIGHTS = {"empirical": "empirical", "equal": "equal"}


def table(seed=0, units=14, lost=0.05):
    """Long scores: task, target, kind, state, view, layout, wave, margin."""
    generator = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        target = "s0" if unit < 5 else "s1"
        for step in range(generator.integers(1, 3)):
            kind = ["read", "write"][step]
            for state in ("before", "after"):
                for view in "ab":
                    for layout in "LM":
                        for wave in "12":
                            score = generator.normal() if generator.random() > lost else np.nan
                            about = (f"u{unit:02d}", step, target, kind, state, view, layout, wave)
                            rows.append((*about, score))
    columns = ["task", "step", "target", "kind", "state", "view", "layout", "wave", "margin"]
    return pd.DataFrame(rows, columns=columns)


def scored(rows):
    levels = {
        "state": ["before", "after"],
        "view": list("ab"),
        "layout": list("LM"),
        "wave": list("12"),
    }
    owners = rows.drop_duplicates(["task", "step"])
    dense = rows["margin"].to_numpy().reshape(len(owners), 2, 2, 2, 2)
    along = {"unit": "task", "stratum": "target", "kind": "kind"}
    coords = {name: owners[column].to_numpy(str) for name, column in along.items()}
    return dataset(dense, levels, coords, ["layout", "wave"])


def values_of(rows, estimand):
    """Contrast values of complete transitions: a frame with task, target, kind, value."""
    cells = rows.pivot_table(
        "margin",
        ["task", "step", "target", "kind"],
        ["state", "view"],
        aggfunc=lambda x: x.sum(skipna=False) / len(x),
        dropna=False,
    )
    change = cells["after"] - cells["before"]
    value = change["a"] if estimand.name == "g" else change["b"] - change["a"]
    value = value.dropna()
    if estimand.statistic == "negative_share":
        value = (value < 0).astype(float)
    return value.rename("value").reset_index()


def mean_of(values, weights):
    if weights == "empirical":
        return values["value"].mean()
    by_target = values.groupby("target")["value"].mean()
    return by_target.mean() if len(by_target) == 2 else None


def found(rows, estimands=(GAIN, SHARE), **options):
    sample = engine.sample(scored(rows))
    asked = resolve_all(WEIGHTS, list(sample.strata))
    return breakdowns(sample, list(estimands), asked, **{"draws": 50, **options})


def indexed(rows):
    return {(row.name, row.weights, row.by, row.level): row for row in rows}


@EXAMPLES
@given(st.integers(0, 10**6))
def test_every_part_is_the_estimate_of_its_rows(seed):
    rows = table(seed)
    got = indexed(found(rows))
    for estimand in (GAIN, SHARE):
        whole = values_of(rows, estimand)
        parts = {
            **{("layout", k): values_of(rows[rows["layout"] == k], estimand) for k in "LM"},
            **{("wave", k): values_of(rows[rows["wave"] == k], estimand) for k in "12"},
            **{("stratum", k): whole[whole["target"] == k] for k in ("s0", "s1")},
            **{("kind", k): whole[whole["kind"] == k] for k in ("read", "write")},
        }
        for (by, level), part in parts.items():
            for weights in WEIGHTS:
                row = got[estimand.name, weights, by, level]
                kept = "empirical" if by == "stratum" else weights
                expected = mean_of(part, kept) if len(part) else None
                assert row.value == (None if expected is None else pytest.approx(expected))
                assert (row.units, row.transitions) == (part["task"].nunique(), len(part))
                if row.value is None:
                    assert row.notes[0].startswith("no value: no ")
                    assert row.interval is None
    assert "NaN" not in to_json({"breakdowns": records(list(got.values()))})


@EXAMPLES
@given(st.integers(0, 10**6))
def test_leaving_one_out_is_the_least_and_greatest_estimate_without_a_unit(seed):
    rows = table(seed, units=9)
    got = found(rows)
    for estimand in (GAIN, SHARE):
        whole = values_of(rows, estimand)
        for weights in WEIGHTS:
            if mean_of(whole, weights) is None:
                continue
            left = {
                unit: mean_of(whole[whole["task"] != unit], weights)
                for unit in whole["task"].unique()
            }
            defined = {unit: value for unit, value in left.items() if value is not None}
            low, high = [
                row
                for row in got
                if (row.name, row.weights, row.by) == (estimand.name, weights, "leave_one_out")
            ]
            for row, expected in ((low, min(defined.values())), (high, max(defined.values()))):
                assert row.value == pytest.approx(expected)
                assert defined[row.level] == pytest.approx(expected)
                rest = whole[whole["task"] != row.level]
                assert (row.units, row.transitions) == (rest["task"].nunique(), len(rest))
                assert row.interval is None
                alone = len(left) - len(defined)
                said = f"{alone} unit(s) cannot be left out: each is alone in a needed stratum"
                assert (said in row.notes) == (alone > 0)


def test_leaving_one_out_of_two_groups_moves_both_where_the_unit_is_in_both():
    rows = table(5, units=20, lost=0)
    whole = values_of(rows, GAIN).merge(rows[["task", "step", "kind"]].drop_duplicates())

    def difference(values, weights):
        groups = [values[values["kind"] == kind] for kind in ("read", "write")]
        first, second = (mean_of(group, "empirical") for group in groups)
        by_target = [mean_of(group, "equal") for group in groups]
        equal = by_target[1] - by_target[0]
        return {"empirical": second - first, "half": (second - first + equal) / 2}[weights]

    sample = engine.sample(scored(rows))
    half = {"mix": {"empirical": 0.5, "equal": 0.5}}
    asked = resolve_all({"empirical": "empirical", "half": half}, list(sample.strata))
    got = breakdowns(sample, [replace(GAIN, between=("kind", "read", "write"))], asked, draws=10)
    assert whole.groupby("task")["kind"].nunique().max() == 2
    for weights in ("empirical", "half"):
        left = {
            unit: difference(whole[whole["task"] != unit], weights)
            for unit in whole["task"].unique()
        }
        low, high = [row for row in got if (row.weights, row.by) == (weights, "leave_one_out")]
        assert (low.level, high.level) == (min(left, key=left.get), max(left, key=left.get))
        assert low.value == pytest.approx(min(left.values()))
        assert high.value == pytest.approx(max(left.values()))


def test_leaving_one_out_does_not_need_memory_for_every_unit_in_every_stratum():
    units, strata = 20_000, 1000
    dense = np.random.default_rng(0).normal(size=(units, 2, 1))
    codes = np.arange(units)
    along = {"unit": codes.astype(str), "stratum": (codes % strata).astype(str)}
    sample = engine.sample(dataset(dense, {"state": ["before", "after"], "view": ["a"]}, along))
    asked = resolve_all(WEIGHTS, list(sample.strata))
    (values,) = applied(sample, [GAIN])
    tracemalloc.start()
    try:
        rows = list(leave_one_out(sample, GAIN, values, asked, Options()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 4
    assert peak < units * strata * 8 / 4


@pytest.mark.parametrize("plan", names.PLANS)
def test_a_part_says_whom_it_is_about_how_it_was_drawn_and_how_many_draws_were_lost(plan):
    rows = table(4, units=12, lost=0)
    sample = engine.sample(scored(rows))
    asked = resolve_all(WEIGHTS, list(sample.strata))
    options = {"draws": 60, "seed": 5, "resampling": plan}
    wholes = {row.weights: row for row in engine.estimate(sample, [GAIN], asked, **options)}
    part = replace(GAIN, where={"kind": ("write",)})
    alone = {row.weights: row for row in engine.estimate(sample, [part], asked, **options)}
    got = found(rows, [GAIN], **options)
    for row in got:
        assert row.population == wholes[row.weights].population
        said = "" if row.by == "leave_one_out" else wholes[row.weights].resampling
        assert row.resampling == said
        # no part is simultaneous, so all are pointwise
        assert row.interval_kind in {"percentile", "bootstrap-t", "none"}
    lost = {row.weights: row.undefined_draws for row in got if row.level == "write"}
    assert lost == {weights: row.undefined_draws for weights, row in alone.items()}
    assert lost["equal"] > 0
    assert {row.population for row in got} == (
        {"units"} if plan == "plain" else {"cohort", "units"}
    )


def test_of_one_stratum_no_mixture_is_said_to_be_held():
    held = "the mixture of strata is held as it is in the cohort"
    got = found(table(4, lost=0), [GAIN], resampling="within_strata")
    for row in got:
        if row.by == "kind":
            assert (held in row.notes) == (row.weights == "empirical")
        if row.by == "stratum":
            assert held not in row.notes


def test_intervals_of_parts_come_from_the_draws_of_the_whole():
    rows = table(4, units=30, lost=0)
    sample = engine.sample(scored(rows))
    asked = resolve_all(WEIGHTS, list(sample.strata))
    part = replace(GAIN, where={"kind": ("read",)})
    alone = engine.estimate(sample, [part], asked, draws=60, seed=5)
    got = indexed(found(rows, draws=60, seed=5))
    for row in alone:
        same = got["g", row.weights, "kind", "read"]
        assert (same.value, same.interval) == (row.value, row.interval)
        assert (same.interval_kind, same.interval_level) == (row.interval_kind, row.level)


def test_complete_waves_and_layouts_average_to_the_whole():
    rows = table(2, lost=0)
    whole = values_of(rows, GAIN)["value"].mean()
    got = indexed(found(rows, [GAIN]))
    for by, levels in (("layout", "LM"), ("wave", "12")):
        parts = [got["g", "empirical", by, level].value for level in levels]
        assert np.mean(parts) == pytest.approx(whole)


def test_what_an_estimand_fixes_is_not_broken_down():
    rows = table(1, lost=0)
    asked = [
        replace(GAIN, name="w", wave=("1",)),
        replace(GAIN, name="k", where={"kind": ("read",)}),
        replace(GAIN, name="b", between=("kind", "read", "write")),
        replace(GAIN, name="m", statistic="median"),
        replace(GAIN, name="t", statistic="trimmed_mean"),
    ]
    by = {}
    for row in found(rows, asked):
        by.setdefault(row.name, set()).add(row.by)
    assert by == {
        "w": {"layout", "stratum", "kind", "leave_one_out"},
        "k": {"layout", "wave", "stratum", "leave_one_out"},
        "b": {"layout", "wave", "stratum", "leave_one_out"},
    }


def test_a_wave_that_is_fixed_stays_fixed_by_layout():
    rows = table(1, lost=0)
    got = indexed(found(rows, [replace(GAIN, wave=("2",))]))
    part = rows[(rows["layout"] == "M") & (rows["wave"] == "2")]
    expected = values_of(part, GAIN)["value"].mean()
    assert got["g", "empirical", "layout", "M"].value == pytest.approx(expected)


def test_rows_are_in_the_order_of_the_estimands():
    rows = found(table(3))
    assert [row.name for row in rows] == sorted((row.name for row in rows), key="g below".find)


def test_parts_of_replicates_say_what_they_are_complete_in():
    rows = found(table(0, lost=0), [GAIN])
    assert {module.COMPLETE in row.notes for row in rows if row.by in ("layout", "wave")} == {True}
    assert not any("need not average" in note for row in rows for note in row.notes)


def test_an_attribute_of_very_many_levels_says_so_once():
    data = scored(table(0, units=40, lost=0))
    data["kind"] = data["kind"].copy(data=[f"k{i}" for i in range(data.sizes["transition"])])
    sample = engine.sample(data)
    asked = resolve_all(WEIGHTS, list(sample.strata))
    rows = [row for row in breakdowns(sample, [GAIN], asked, draws=10) if row.by == "kind"]
    assert [(row.weights, row.value) for row in rows] == [("empirical", None), ("equal", None)]
    assert rows[0].level == f"{data.sizes['transition']} levels"
    assert rows[0].notes == ("not broken down: more than 20 levels; ask for one with where",)


def test_beyond_the_limit_there_are_values_without_intervals(monkeypatch):
    rows = table(0, lost=0)
    with_intervals = found(rows, [GAIN])
    monkeypatch.setattr(module, "CHEAP", 100)
    without = found(rows, [GAIN])
    assert [row.value for row in without] == pytest.approx([row.value for row in with_intervals])
    for row in without:
        assert row.interval is None
        said = "no interval: draws times units are more than 100"
        assert (said in row.notes) == (row.by != "leave_one_out")


def test_one_unit_in_a_part_has_no_interval():
    rows = table(0, lost=0)
    rows.loc[rows["task"] == "u07", "kind"] = "rare"
    row = indexed(found(rows, [GAIN]))["g", "empirical", "kind", "rare"]
    assert row.value is not None
    assert row.interval is None
    assert "one unit in the cohort" in row.notes[1]


def test_a_frame_of_breakdowns_has_the_keys_of_their_records():
    rows = found(table(0))
    assert list(frame(rows, Breakdown).columns) == list(records(rows)[0])
    assert frame(rows, Breakdown)["value"].dtype == float
    assert {row.by for row in rows} >= {"layout", names.WAVE, "stratum", names.LEAVE_ONE_OUT}
