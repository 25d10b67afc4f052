"""The design engine against plain loops over a pandas table, draw by draw.

The naive side reads the same table with `groupby`, in exact fractions, and knows contrasts only as
dictionaries of corners written out here.
"""

import itertools
import math
import random
import statistics
import sys
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fourcorner import names, scores
from fourcorner.contrasts import Contrast, diagonal, endpoint_shift, gain, omega
from fourcorner.design import draws as design_draws
from fourcorner.design import engine
from fourcorner.design import medians as design_medians
from fourcorner.design.draws import multiplicities
from fourcorner.design.means import stratum_totals, weighted
from fourcorner.design.medians import medians
from fourcorner.errors import NotIdentified
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate, records, to_json
from fourcorner.spec import parse_spec
from fourcorner.weights import TargetWeights, resolve_all

EXAMPLES = settings(max_examples=15, deadline=None, derandomize=True)
EMPIRICAL = {"empirical": "empirical"}
DRAWS = 40
LEVELS = {"view": "abc", "authority": "xy", "layout": "LMN", "wave": "12"}
STRATA = ("s0", "s1", "s2")


# Tables


class Table(NamedTuple):
    """A score table with the levels that its spec declares."""

    frame: pd.DataFrame
    channel: dict
    replicate: dict

    def read(self):
        lists = {
            part: ", ".join(f'"{name}" = {list(known)}' for name, known in factors.items())
            for part, factors in (("channel", self.channel), ("replicate", self.replicate))
        }
        fixed = ", ".join(f'"{name}" = "{known[0]}"' for name, known in self.channel.items())
        spec = parse_spec(
            f"""
            kind = "scores"
            [data]
            score = "margin"
            unit = "task"
            transition = "step"
            stratum = "target"
            change = {{ column = "phase", before = "start", after = "end" }}
            channel = {{ {lists["channel"]} }}
            replicate = {{ {lists["replicate"]} }}
            [estimands]
            any = {{ gain = {{ {fixed} }} }}
            """
        )
        return scores.read_scores(spec, self.frame)

    def cells(self):
        """What `scores.cells` makes of it, put together here: a cheap way in for properties."""
        frame = self.frame.sort_values(["task", "step"], kind="stable")
        owners = frame.drop_duplicates(["task", "step"])
        dims = {"phase": ("start", "end"), **self.channel, **self.replicate}
        keys = list(zip(owners["task"], owners["step"], strict=True))
        shape = [len(keys), *(len(known) for known in dims.values())]
        dense = np.full(shape, np.nan)
        codes = [frame[name].map(known.index) for name, known in dims.items()]
        owner = [keys.index(key) for key in zip(frame["task"], frame["step"], strict=True)]
        dense[(owner, *codes)] = frame["margin"]
        levels = {"state": ["before", "after"], **{n: list(k) for n, k in self.channel.items()}}
        return xr.DataArray(
            dense.mean(axis=tuple(range(2 + len(self.channel), dense.ndim))),
            dims=("transition", *levels),
            coords={
                **levels,
                "unit": ("transition", owners["task"].to_numpy(str)),
                "stratum": ("transition", owners["target"].to_numpy(str)),
            },
        )


def estimate(table, estimands, weights=EMPIRICAL, **options):
    """Rows of the engine by (name, statistic, weights), of a Table or of cells."""
    cells = scores.cells(table.read()) if isinstance(table, Table) else table
    strata = sorted(set(cells["stratum"].values.tolist()))
    sample = engine.sample(cells, strata, names.COHORT_CONTRAST)
    rows = engine.estimate(sample, estimands, resolve_all(weights, strata), **options)
    return {(row.name, row.statistic, row.weights): row for row in rows}


def one(table, contrast, statistic=names.MEAN, weights=EMPIRICAL, **options):
    """The only row of one estimand under one mixture."""
    (row,) = estimate(table, [Estimand("asked", contrast, statistic)], weights, **options).values()
    return row


def simple(rows, replicate=None):
    """A table with one channel factor from rows (task, target, step, phase, view, …, margin)."""
    columns = ["task", "target", "step", "phase", "view", *(replicate or {}), "margin"]
    frame = pd.DataFrame(rows, columns=columns)
    return Table(frame, {"view": ("a", "b")}, replicate or {})


def from_gains(gains):
    """A table whose only gains are those listed: (task, target, gain at view a), zero at view b."""
    rows = []
    for step, (task, target, gained) in enumerate(gains):
        about = (task, target, step)
        rows += [(*about, "start", "a", 0.0), (*about, "end", "a", gained)]
        rows += [(*about, "start", "b", 0.0), (*about, "end", "b", 0.0)]
    return simple(rows)


@st.composite
def tables(draw, most_units=6):
    """Ragged transitions, missing layouts and corners, blanks, small strata, rows in any order.

    Scores are whole tenths, so that the naive side can be exact.
    """
    channel = {"view": tuple("abc"[: draw(st.integers(2, 3))])}
    if draw(st.booleans()):
        channel["authority"] = ("x", "y")
    replicate = {
        name: tuple(LEVELS[name][: draw(st.integers(2, 3)) if name == "layout" else 2])
        for name in ("layout", "wave")[: draw(st.integers(0, 2))]
    }
    units = draw(st.integers(2, most_units))
    steps = draw(st.lists(st.integers(1, 3), min_size=units, max_size=units))
    strata = draw(st.lists(st.sampled_from(STRATA), min_size=units, max_size=units))
    lost, blank = (draw(st.sampled_from([0.0, 0.02, 0.1])) for _ in range(2))
    scored = list(itertools.product(("start", "end"), *channel.values()))
    never = draw(st.sampled_from([*(None for _ in scored), *scored]))
    generator = random.Random(draw(st.integers(0, 2**32)))
    rows = []
    for unit, (count, target) in enumerate(zip(steps, strata, strict=True)):
        for step in range(count):
            about = (f"u{unit + 8}", target, f"t{step}")
            for corner, copy in itertools.product(scored, itertools.product(*replicate.values())):
                if corner != never and generator.random() >= lost:
                    tenths = generator.choice([0, 0, *range(-9, 10)])
                    score = math.nan if generator.random() < blank else tenths / 10
                    rows.append((*about, *corner, *copy, score))
    generator.shuffle(rows)
    columns = ["task", "target", "step", "phase", *channel, *replicate, "margin"]
    frame = pd.DataFrame(rows, columns=columns)
    assume(len(set(frame["task"])) > 1)
    every = {"phase": ("start", "end"), **channel, **replicate}
    assume(all(set(frame[name]) == set(known) for name, known in every.items()))
    varies = [frame.groupby("task")[name].nunique().max() > 1 for name in replicate]
    assume(all(varies))
    return Table(frame, channel, replicate)


# Contrasts, for the engine and as corners written out


def asked(channel):
    """Pairs of a Contrast and its corners {(state, levels…): weight}."""
    half = Fraction(1, 2)
    views = channel["view"]
    average = {(state, v): sign * Fraction(1, len(views)) for state, sign in SIGNS for v in views}
    one_factor = {
        "gain": (gain(view="b"), {("end", "b"): 1, ("start", "b"): -1}),
        "omega": (
            omega(view=("a", "b")),
            {("end", "b"): 1, ("start", "b"): -1, ("end", "a"): -1, ("start", "a"): 1},
        ),
        "shift": (
            endpoint_shift("before", view=("b", "a")),
            {("start", "a"): 1, ("start", "b"): -1},
        ),
        "diagonal": (diagonal(view=("a", "b")), {("end", "b"): 1, ("start", "a"): -1}),
        "average": (gain(at={"view": views}), average),
    }
    if "authority" not in channel:
        return one_factor
    fixed = {
        name: (_at(contrast, "y"), {(*corner, "y"): w for corner, w in corners.items()})
        for name, (contrast, corners) in one_factor.items()
    }
    face = one_factor["omega"][1].items()
    crossed = {(*corner, level): s * w for corner, w in face for level, s in (("x", -1), ("y", 1))}
    halves = {(*corner, level): half * w for corner, w in face for level in "xy"}
    both = omega(view=("a", "b"), authority=("x", "y"))
    averaged = omega(view=("a", "b"), at={"authority": ["x", "y"]})
    return {**fixed, "crossed": (both, crossed), "halves": (averaged, halves)}


SIGNS = (("start", -1), ("end", 1))


def every_estimand(table):
    """Each contrast of `asked` with each statistic, named by both."""
    return [
        Estimand(f"{name} {statistic}", contrast, statistic)
        for name, (contrast, _) in asked(table.channel).items()
        for statistic in names.STATISTICS
    ]


def _at(contrast, authority):
    """The same contrast with the second factor fixed."""
    cells = {cell | {("authority", authority)}: w for cell, w in contrast.weights.items()}
    return Contrast(contrast.name, cells)


# The naive engine


class Complete(NamedTuple):
    unit: str
    stratum: str
    value: Fraction


def naive_cells(table):
    """Exact cell means of each transition: {(task, step): (target, {corner: mean})}."""
    combinations = len(list(itertools.product(*table.replicate.values())))
    found = {}
    for (task, step), group in table.frame.groupby(["task", "step"]):
        margins = {}
        corners = group[["phase", *table.channel]].itertuples(index=False, name=None)
        for corner, margin in zip(corners, group["margin"], strict=True):
            if not math.isnan(margin):
                margins.setdefault(corner, []).append(Fraction(round(10 * margin), 10))
        means = {
            corner: sum(listed) / combinations
            for corner, listed in margins.items()
            if len(listed) == combinations
        }
        found[task, step] = (group["target"].iloc[0], means)
    return found


def naive_values(cells, corners):
    return [
        Complete(task, target, sum(weight * means[corner] for corner, weight in corners.items()))
        for (task, _), (target, means) in cells.items()
        if all(corner in means for corner in corners)
    ]


def naive_statistic(values, statistic, shares):
    """The statistic of some transitions, None where it is undefined."""
    if statistic == names.MEDIAN:
        return statistics.median(item.value for item in values) if values else None
    number = (lambda x: x < 0) if statistic == names.NEGATIVE_SHARE else (lambda x: x)
    if shares is None:
        listed = [Fraction(number(item.value)) for item in values]
        return sum(listed) / len(listed) if listed else None
    total = Fraction(0)
    for stratum, share in shares.items():
        listed = [Fraction(number(item.value)) for item in values if item.stratum == stratum]
        if share and not listed:
            return None
        total += Fraction(share) * sum(listed) / len(listed) if share else 0
    return total


def naive_refusal(cells, corners, values, statistic, shares):
    seen = {corner for _, means in cells.values() for corner in means}
    if set(corners) - seen:
        return "not_identified"
    if not values:
        return "no_complete_transition"
    if shares is None:
        return None
    if statistic == names.MEDIAN:
        return "statistic_needs_empirical_weights"
    needed = {stratum for stratum, share in shares.items() if share}
    return "empty_stratum" if needed - {item.stratum for item in values} else None


def mixtures(frame):
    """Empirical, equal and a named mixture that leaves the first stratum out."""
    present = sorted(set(frame["target"]))
    equal = dict.fromkeys(present, 1 / len(present))
    rest = len(present) - 1
    named = {name: (i > 0) / rest if rest else 1.0 for i, name in enumerate(present)}
    declared = {**EMPIRICAL, "equal": "equal", "named": named}
    return declared, {"empirical": None, "equal": equal, "named": named}


def naive_interval(table, values, statistic, shares, draws, seed, level=0.95):
    """Percentile interval and undefined draws by a loop over draws, on the engine's own draws."""
    units = sorted(set(table.frame["task"]))
    by_unit = {unit: [item for item in values if item.unit == unit] for unit in units}
    drawn = np.concatenate(list(multiplicities(len(units), draws, seed)))
    found = [
        naive_statistic(
            [v for unit, k in zip(units, row, strict=True) for v in by_unit[unit] * int(k)],
            statistic,
            shares,
        )
        for row in drawn
    ]
    defined = sorted(value for value in found if value is not None)
    groups = [{v.unit for v in values}]
    if shares is not None:
        groups = [{v.unit for v in values if v.stratum == name} for name, s in shares.items() if s]
    alone = min(len(group) for group in groups) < 2
    undefined = len(found) - len(defined)
    if alone or not defined or defined[0] == defined[-1]:
        return None, undefined
    ends = [naive_quantile(defined, tail) for tail in ((1 - level) / 2, (1 + level) / 2)]
    return tuple(ends), undefined


def naive_quantile(ordered, share):
    """Linear interpolation between order statistics."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low]) + (place - low) * float(ordered[high] - ordered[low])


# Point estimates


@settings(EXAMPLES, max_examples=25)
@given(tables())
def test_every_row_equals_plain_loops_over_the_table(table):
    declared, shares = mixtures(table.frame)
    cells = naive_cells(table)
    wanted = asked(table.channel)
    estimands = [
        Estimand(f"{name} {statistic}", contrast, statistic)
        for name, (contrast, _) in wanted.items()
        for statistic in names.STATISTICS
    ]
    rows = estimate(table, estimands, declared, draws=1)
    assert len(rows) == len(estimands) * len(declared)
    assert "NaN" not in to_json({"estimates": records(list(rows.values()))})
    for name, (_, corners) in wanted.items():
        values = naive_values(cells, corners)
        for statistic, mixture in itertools.product(names.STATISTICS, declared):
            row = rows[f"{name} {statistic}", statistic, mixture]
            reason = naive_refusal(cells, corners, values, statistic, shares[mixture])
            assert (row.refused or {}).get("reason") == reason
            assert row.units == len({item.unit for item in values})
            assert row.transitions == len(values)
            if statistic == names.NEGATIVE_SHARE:
                assert row.count == sum(item.value < 0 for item in values)
            else:
                assert row.count is None
            if reason is None:
                expected = naive_statistic(values, statistic, shares[mixture])
                assert row.value == pytest.approx(float(expected), abs=1e-9)


def test_means_medians_and_shares_by_hand():
    # task, target, gain: p has two transitions, q one, r one
    table = from_gains([("p", "yes", 1.0), ("p", "yes", 2.0), ("q", "yes", -6.0), ("r", "no", 5.0)])
    weights = {"empirical": "empirical", "equal": "equal", "mine": {"yes": 0.25, "no": 0.75}}
    estimands = [Estimand(s, gain(view="a"), s) for s in names.STATISTICS]
    rows = estimate(table, estimands, weights, draws=50)
    values = {key[1:]: row.value for key, row in rows.items()}
    assert values == {
        ("mean", "empirical"): pytest.approx(0.5),  # (1 + 2 - 6 + 5) / 4
        ("mean", "equal"): pytest.approx(2.0),  # (-1 + 5) / 2
        ("mean", "mine"): pytest.approx(3.5),  # -1 / 4 + 5 * 3 / 4
        ("median", "empirical"): pytest.approx(1.5),
        ("median", "equal"): None,
        ("median", "mine"): None,
        ("negative_share", "empirical"): pytest.approx(0.25),
        ("negative_share", "equal"): pytest.approx(1 / 6),
        ("negative_share", "mine"): pytest.approx(1 / 12),
    }
    assert {row.count for row in rows.values() if row.statistic == "negative_share"} == {1}
    assert {(row.units, row.transitions) for row in rows.values()} == {(3, 4)}


def test_rows_say_what_they_are_estimates_of_in_the_order_asked():
    table = from_gains([("p", "yes", 1.0), ("q", "yes", 2.0), ("r", "no", 5.0), ("s", "no", 6.0)])
    estimands = [Estimand("late", gain(view="a")), Estimand("early", gain(view="b"))]
    weights = {"equal": "equal", "empirical": "empirical"}
    rows = list(estimate(table, estimands, weights, draws=50, level=0.8).values())
    assert [(row.name, row.weights) for row in rows] == [
        ("late", "equal"),
        ("late", "empirical"),
        ("early", "equal"),
        ("early", "empirical"),
    ]
    about = {
        (r.method, r.population, r.cohort, r.interval_kind, r.level, r.resampling) for r in rows
    }
    assert about == {("design", "units", "contrast", "percentile", 0.8, "plain bootstrap of units")}


def test_the_seed_face_through_a_table():
    corners = {("start", "a"): -0.2, ("end", "a"): 0.4, ("start", "b"): 0.5, ("end", "b"): 0.1}
    rows = [(task, "t", 0, *corner, score) for task in "pq" for corner, score in corners.items()]
    face = {
        "direct": gain(view="a"),
        "generated": gain(view="b"),
        "omega": omega(view=("a", "b")),
        "diagonal": diagonal(view=("a", "b")),
    }
    found = estimate(simple(rows), [Estimand(*item) for item in face.items()], draws=50)
    values = {name: row.value for (name, _, _), row in found.items()}
    expected = {"direct": 0.6, "generated": -0.4, "omega": -1.0, "diagonal": 0.3}
    assert values == pytest.approx(expected, abs=1e-12)
    for row in found.values():
        assert row.interval is None
        assert row.notes == ("no interval: every resample gives the same value",)


def test_nothing_asked_gives_no_rows():
    assert not estimate(from_gains([("p", "yes", 1.0), ("q", "no", 2.0)]), [])


# Zero


@pytest.mark.parametrize("sign", [1, -1])
def test_a_zero_gain_is_not_negative_through_rounding(sign):
    # means of the two layouts: (0.3 - 0.1) / 2 after, (0.2 + 0.0) / 2 before; and 0.1 + 0.2 - 0.3
    replicate = {"layout": ("L", "M")}
    rows = []
    for task in "pqr":
        for view, first, second in (("a", (0.3, -0.1), (0.2, 0.0)), ("b", (0.7, 0.1), (0.8, 0.0))):
            phases = (("end", first), ("start", second))[::sign]
            for (phase, _), (_, pair) in zip(phases, phases[::sign], strict=True):
                pairs = zip("LM", pair, strict=True)
                rows += [(task, "t", 0, phase, view, layout, score) for layout, score in pairs]
    estimands = [
        Estimand(contrast.name, contrast, statistic)
        for contrast in (gain(view="a"), gain(view="b"), omega(view=("a", "b")))
        for statistic in names.STATISTICS
    ]
    for row in estimate(simple(rows, replicate), estimands, draws=50).values():
        assert row.value == 0.0
        assert row.count in (0, None)


def test_layouts_that_cancel_leave_no_negative_gain():
    # the mean of 0.1, 0.2 and -0.3 is 9e-18 in floating point, of either sign after a difference
    replicate = {"layout": ("L", "M", "N")}
    rows = []
    for task, (start, end) in {
        "p": ((0.1, 0.2, -0.3), (0.0, 0.0, 0.0)),
        "q": ((0.0, 0.0, 0.0), (0.1, 0.2, -0.3)),
        "r": ((1.0, 1.0, 1.0), (2.0, 2.0, 2.0)),
    }.items():
        for view, phase in itertools.product("ab", ("start", "end")):
            values = zip("LMN", start if phase == "start" else end, strict=True)
            rows += [(task, "t", 0, phase, view, layout, score) for layout, score in values]
    row = one(simple(rows, replicate), gain(view="a"), names.NEGATIVE_SHARE, draws=50)
    assert (row.value, row.count) == (0.0, 0)


def test_a_small_but_real_loss_beside_large_scores_is_negative():
    gains = [("p", "yes", -1e-6), ("q", "yes", 1e-6), ("r", "yes", 1000.0)]
    assert one(from_gains(gains), gain(view="a"), names.NEGATIVE_SHARE, draws=50).count == 1


# Refusals


@pytest.mark.parametrize("lost", [("start", "a"), ("end", "a"), ("start", "b"), ("end", "b")])
def test_three_corners_are_refused_with_a_witness_that_holds(lost):
    corners = {("start", "a"): -0.2, ("end", "a"): 0.4, ("start", "b"): 0.5, ("end", "b"): 0.1}
    kept = {corner: score for corner, score in corners.items() if corner != lost}
    shifts = [0.0, 1.0, -2.0]

    def table(extra=None):
        cells = {**kept, **(extra or {})}
        return simple(
            [
                (f"t{i}", "t", 0, *corner, score + shift)
                for i, shift in enumerate(shifts)
                for corner, score in cells.items()
            ]
        )

    face = omega(view=("a", "b"))
    row = one(table(), face, draws=50)
    assert row.value is None
    assert row.interval is None
    record = {"state": {"start": "before", "end": "after"}[lost[0]], "view": lost[1]}
    assert row.refused["missing"] == [record]
    assert row.refused["would_identify"] == [[record]]
    (step,) = row.refused["witness"]["shift"]
    assert step["cell"] == record
    with pytest.raises(NotIdentified) as caught:
        engine.require(row)
    assert caught.value.refusal == row.refused
    assert str(record) in str(caught.value)
    # two completions that the data cannot tell apart differ in Ω as the witness says
    low, high = (one(table({lost: at}), face, draws=50) for at in (3.0, 3.0 + step["by"]))
    assert high.value - low.value == pytest.approx(row.refused["witness"]["moves_contrast"])
    assert engine.require(low) is low


def test_what_three_corners_hold_is_still_estimated():
    corners = {("start", "a"): 0.0, ("end", "a"): 1.0, ("start", "b"): 2.0}
    rows = [(task, "t", 0, *corner, score) for task in "pq" for corner, score in corners.items()]
    table = simple(rows)
    assert one(table, gain(view="a"), draws=50).value == 1.0
    assert one(table, endpoint_shift("before", view=("a", "b")), draws=50).value == 2.0


def test_corners_that_never_meet_in_one_transition_are_refused():
    rows = [
        (task, "t", 0, phase, view, 0.0)
        for task, view in (("p", "a"), ("q", "b"))
        for phase in ("start", "end")
    ]
    row = one(simple(rows), omega(view=("a", "b")), draws=50)
    assert row.refused["reason"] == "no_complete_transition"
    assert (row.units, row.transitions) == (0, 0)
    with pytest.raises(NotIdentified, match="no transition is complete"):
        engine.require(row)


def test_an_empty_cohort_is_refused_without_calling_its_cells_unmeasured():
    data = from_gains([("p", "yes", 1.0), ("q", "no", 2.0)]).read()
    sample = engine.sample(scores.cells(data)[:0], scores.strata(data), names.COHORT_JOINT)
    weights = resolve_all({**EMPIRICAL, "equal": "equal"}, scores.strata(data))
    estimands = [Estimand(s, gain(view="a"), s) for s in names.STATISTICS]
    rows = engine.estimate(sample, estimands, weights, draws=50)
    assert [row.refused["reason"] for row in rows] == ["no_complete_transition"] * 6


def test_a_stratum_without_a_complete_transition_is_refused_unless_it_weighs_nothing():
    table = from_gains([("p", "yes", 1.0), ("q", "yes", 2.0), ("r", "no", 5.0), ("s", "no", 6.0)])
    table.frame.loc[table.frame["target"] == "no", "margin"] = math.nan
    weights = {
        **EMPIRICAL,
        "equal": "equal",
        "some": {"yes": 0.9, "no": 0.1},
        "none": {"yes": 1.0, "no": 0.0},
    }
    rows = estimate(table, [Estimand("g", gain(view="a"))], weights, draws=50)
    found = {key[2]: row for key, row in rows.items()}
    assert found["empirical"].value == found["none"].value == 1.5
    for name in ("equal", "some"):
        assert found[name].value is None
        assert found[name].refused["reason"] == "empty_stratum"
        assert found[name].refused["strata"] == ["no"]
        with pytest.raises(NotIdentified, match=r"\['no'\]"):
            engine.require(found[name])


def test_a_median_under_declared_weights_is_refused_even_if_they_are_the_cohorts_own():
    table = from_gains([("p", "yes", 1.0), ("q", "yes", 2.0), ("r", "no", 5.0), ("s", "no", 6.0)])
    weights = {"mine": {"yes": 0.5, "no": 0.5}}
    row = one(table, gain(view="a"), names.MEDIAN, weights, draws=50)
    assert row.refused["reason"] == "statistic_needs_empirical_weights"


# Intervals


def test_one_unit_in_a_needed_stratum_gives_no_interval_and_says_why():
    gains = [("p", "yes", 1.0), ("q", "yes", 2.0), ("r", "no", 5.0), ("r", "no", 7.0)]
    weights = {**EMPIRICAL, "equal": "equal", "yes": {"yes": 1.0, "no": 0.0}}
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=200)
    found = {key[2]: row for key, row in rows.items()}
    assert found["equal"].value == pytest.approx((1.5 + 6) / 2)
    assert found["equal"].interval is None
    assert found["equal"].notes == ("no interval: one unit in no, whose spread cannot be seen",)
    assert found["empirical"].interval is not None
    assert found["yes"].interval is not None


def test_one_unit_in_the_whole_cohort_gives_no_interval():
    table = from_gains([("p", "yes", 1.0), ("p", "yes", 3.0), ("q", "yes", 2.0)])
    table.frame.loc[table.frame["task"] == "q", "margin"] = math.nan
    row = one(table, gain(view="a"), draws=200)
    assert (row.value, row.units, row.interval) == (2.0, 1, None)
    assert "one unit in the cohort" in row.notes[0]
    assert row.undefined_draws > 0


def test_constant_gains_give_no_interval_even_when_rounding_moves_the_means():
    # 0.3 - 0.1 and 0.2 differ in the last place, and so do their resampled means
    gains = [("p", "yes", 0.3 - 0.1), ("q", "yes", 0.2), ("r", "no", 0.1 + 0.1), ("s", "no", 0.2)]
    rows = estimate(
        from_gains(gains),
        [Estimand(s, gain(view="a"), s) for s in names.STATISTICS],
        {**EMPIRICAL, "equal": "equal"},
        draws=200,
    )
    for row in rows.values():
        if row.refused is None:
            assert row.interval is None
            assert row.notes == ("no interval: every resample gives the same value",)


def test_strata_under_ten_units_are_marked_as_undercovering():
    gains = [(f"u{i}", "few" if i < 9 else "many", float(i)) for i in range(19)]
    weights = {**EMPIRICAL, "equal": "equal", "many": {"few": 0.0, "many": 1.0}}
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=200)
    notes = {key[2]: row.notes for key, row in rows.items()}
    assert notes["empirical"] == notes["many"] == ()
    assert notes["equal"] == ("percentile intervals undercover with fewer than 10 units (few: 9)",)
    small = one(from_gains(gains[:9]), gain(view="a"), draws=200)
    assert small.notes == (
        "percentile intervals undercover with fewer than 10 units (the cohort: 9)",
    )


@settings(EXAMPLES, max_examples=30)
@given(tables(), st.integers(0, 1000), st.sampled_from([0.5, 0.9, 0.95]))
def test_intervals_equal_a_loop_over_the_same_draws(table, seed, level):
    declared, shares = mixtures(table.frame)
    cells = naive_cells(table)
    wanted = asked(table.channel)
    estimands = [
        Estimand(f"{name} {statistic}", wanted[name][0], statistic)
        for name in ("gain", "omega")
        for statistic in names.STATISTICS
    ]
    rows = estimate(table.cells(), estimands, declared, draws=DRAWS, seed=seed, level=level)
    for (name, statistic, mixture), row in rows.items():
        if row.refused is not None:
            continue
        values = naive_values(cells, wanted[name.split()[0]][1])
        expected, undefined = naive_interval(
            table, values, statistic, shares[mixture], DRAWS, seed, level
        )
        assert row.undefined_draws == undefined
        if expected is None:
            assert row.interval is None
            assert row.notes[0].startswith("no interval: ")
        else:
            assert row.interval == pytest.approx(expected, abs=1e-9)
            shown = f"{undefined} of {DRAWS} draws" in " ".join(row.notes)
            assert shown == (undefined > 0)


def uneven(units=60, seed=3):
    """Sixty tasks in strata of eight, twenty and the rest, one to three skewed gains each."""
    generator = np.random.default_rng(seed)
    gains = []
    for unit in range(units):
        target = "s0" if unit < 8 else "s1" if unit < 28 else "s2"
        level = generator.normal()
        for _ in range(1 + unit % 3):
            gains.append((f"u{unit:03d}", target, float(level + generator.exponential())))
    return from_gains(gains), gains


@pytest.mark.parametrize(
    ("statistic", "mixture"),
    [
        ("mean", "empirical"),
        ("mean", "equal"),
        ("median", "empirical"),
        ("negative_share", "empirical"),
        ("negative_share", "equal"),
    ],
)
def test_intervals_agree_with_an_independently_seeded_bootstrap(statistic, mixture):
    """The independent share of draws beyond each end is 2.5 % within Monte-Carlo error.

    An end is the 2.5 % quantile of B draws and the share is counted over B others, so their
    difference has variance q (1 - q) (1 / B + 1 / B) whatever the distribution; the bound is
    four standard errors. A share or a median has atoms, so both sides of the end are counted.
    """
    table, gains = uneven()
    draws, q = 4000, 0.025
    row = one(table, gain(view="a"), statistic, {mixture: mixture}, draws=draws, seed=11)
    by_unit = {}
    for unit, target, value in gains:
        by_unit.setdefault((unit, target), []).append(value)
    owners, values = list(by_unit), list(by_unit.values())
    generator = np.random.default_rng(987)
    resampled = []
    for _ in range(draws):
        chosen = generator.choice(len(owners), size=len(owners))
        pooled = {"s0": [], "s1": [], "s2": []}
        for place in chosen:
            pooled[owners[place][1]] += values[place]
        groups = (
            list(pooled.values()) if mixture == "equal" else [[*itertools.chain(*pooled.values())]]
        )
        if all(groups):
            number = {"mean": np.mean, "median": np.median}.get(
                statistic, lambda group: np.mean(np.less(group, 0))
            )
            resampled.append(np.mean([number(group) for group in groups]))
    resampled = np.array(resampled)
    bound = 4 * math.sqrt(q * (1 - q) * 2 / draws)
    low, high = row.interval
    tiny = 1e-9
    assert (resampled < low - tiny).mean() <= q + bound
    assert (resampled <= low + tiny).mean() >= q - bound
    assert (resampled > high + tiny).mean() <= q + bound
    assert (resampled >= high - tiny).mean() >= q - bound


def test_a_five_unit_stratum_among_a_hundred_is_empty_as_often_as_theory_says():
    gains = [(f"u{i:03d}", "few" if i < 5 else "many", float(i % 7)) for i in range(100)]
    weights = {"equal": "equal", "many": {"few": 0.0, "many": 1.0}}
    draws = 10_000
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=draws)
    found = {key[2]: row for key, row in rows.items()}
    chance = 0.95**100
    expected, sd = draws * chance, math.sqrt(draws * chance * (1 - chance))
    assert abs(found["equal"].undefined_draws - expected) < 4 * sd
    note = f"{found['equal'].undefined_draws} of 10000 draws left a needed stratum without"
    assert any(line.startswith(note) for line in found["equal"].notes)
    assert found["many"].undefined_draws == 0


# Draws


@pytest.mark.parametrize("block", [1, 7, 50, 333, 2**23])
def test_draws_do_not_depend_on_the_block_size(monkeypatch, block):
    reference = np.concatenate(list(multiplicities(13, 101, seed=5)))
    monkeypatch.setattr(design_draws, "BLOCK", block)
    blocks = list(multiplicities(13, 101, seed=5))
    assert all(part.size <= max(block, 13) for part in blocks)
    np.testing.assert_array_equal(np.concatenate(blocks), reference)


@pytest.mark.parametrize(("units", "draws"), [(1, 3), (2, 1), (17, 400)])
def test_each_draw_takes_as_many_units_as_there_are(units, draws):
    drawn = np.concatenate(list(multiplicities(units, draws, seed=0)))
    assert drawn.shape == (draws, units)
    assert (drawn.sum(axis=1) == units).all()
    assert ((drawn >= 0) & (drawn == np.floor(drawn))).all()


def test_draws_take_each_unit_equally_often_and_independently():
    units, draws = 20, 20_000
    drawn = np.concatenate(list(multiplicities(units, draws, seed=1)))
    sd = math.sqrt((1 - 1 / units) / draws)
    assert np.abs(drawn.mean(axis=0) - 1).max() < 4.5 * sd
    # counts of a plain bootstrap are multinomial: variance 1 - 1/n, covariance -1/n
    covariance = np.cov(drawn, rowvar=False)
    np.testing.assert_allclose(covariance, np.eye(units) - 1 / units, atol=0.06)


def test_the_seed_alone_decides_the_draws():
    first, again, other = (
        np.concatenate(list(multiplicities(9, 50, seed=seed))) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@settings(EXAMPLES, max_examples=20)
@given(tables(), st.integers(0, 1000))
def test_all_estimands_and_mixtures_share_the_draws(table, seed):
    declared, _ = mixtures(table.frame)
    estimands = every_estimand(table)
    data = table.cells()
    together = estimate(data, estimands, declared, draws=DRAWS, seed=seed)
    for estimand in estimands[:: max(1, len(estimands) // 4)]:
        for name, mixture in declared.items():
            alone = estimate(data, [estimand], {name: mixture}, draws=DRAWS, seed=seed)
            for key, row in alone.items():
                assert_same(row, together[key])


@settings(EXAMPLES, max_examples=100)
@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans(), st.integers(1, 60))
def test_medians_are_those_of_the_drawn_values(units, seed, ties, block):
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 12))
    values = generator.normal(size=count).round(0 if ties else 6)
    unit = generator.integers(0, units, count)
    drawn = generator.integers(0, 3, size=(25, units)).astype(float)
    before = design_medians.BLOCK
    design_medians.BLOCK = block
    try:
        found = medians(drawn, values, unit)
    finally:
        design_medians.BLOCK = before
    for row, median in zip(drawn, found, strict=True):
        taken = np.repeat(values, row[unit].astype(int))
        if len(taken):
            assert median == np.median(taken)
        else:
            assert math.isnan(median)


def test_weighted_means_by_hand_with_an_undefined_draw():
    # units p, q in stratum 0 and r in stratum 1; sums 3, 4, 10 over 1, 2, 1 transitions
    sums, counts = np.array([[3.0], [4.0], [10.0]]), np.array([[1.0], [2.0], [1.0]])
    drawn = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    totals = stratum_totals(drawn, sums, counts, np.array([0, 0, 1]), 2)
    empirical = weighted(*totals, None)[:, 0]
    np.testing.assert_allclose(empirical, [17 / 4, 16 / 3, 12 / 6])
    equal = weighted(*totals, np.array([0.5, 0.5]))[:, 0]
    np.testing.assert_allclose(equal, [(7 / 3 + 10) / 2, (3 + 10) / 2, np.nan])
    first = weighted(*totals, np.array([1.0, 0.0]))[:, 0]
    np.testing.assert_allclose(first, [7 / 3, 3, 2])


# Invariances


def assert_same(one_row, other, scale=1.0, shift=0.0, **ignored):
    """Two rows agree, the other's numbers being scale × this one's + shift."""

    def moved(number):
        return None if number is None else pytest.approx(scale * number + shift, abs=1e-9)

    assert other.value == moved(one_row.value)
    if one_row.interval is None:
        assert other.interval is None
    else:
        assert other.interval == tuple(moved(end) for end in one_row.interval)
    plain = {"value": None, "interval": None, "refused": None, **ignored}
    assert replace_all(one_row, plain) == replace_all(other, plain)
    reasons = [(row.refused or {}).get("reason") for row in (one_row, other)]
    assert reasons[0] == reasons[1]


def replace_all(row, changed):
    """A row's fields as a dict, some of them overwritten."""
    return {**{key: getattr(row, key) for key in Estimate.__dataclass_fields__}, **changed}


def every_row(table, seed=0):
    declared, _ = mixtures(table.frame)
    return estimate(table.cells(), every_estimand(table), declared, draws=DRAWS, seed=seed)


@settings(EXAMPLES, max_examples=6)
@given(tables(), st.integers(0, 2**32 - 1))
def test_the_order_of_rows_changes_nothing(table, seed):
    shuffled = table.frame.sample(frac=1, random_state=seed)
    assert every_row(table) == every_row(table._replace(frame=shuffled))
    read, again = table.read(), table._replace(frame=shuffled).read()
    xr.testing.assert_identical(read["score"], again["score"])


@EXAMPLES
@given(tables(), st.booleans())
def test_renaming_units_keeps_values_and_in_the_same_order_intervals_too(table, reverse):
    ordered = sorted(set(table.frame["task"]), reverse=reverse)
    renamed = {name: f"unit {i:04d}" for i, name in enumerate(ordered)}
    frame = table.frame.assign(task=table.frame["task"].map(renamed))
    before, after = every_row(table), every_row(table._replace(frame=frame))
    for key, row in before.items():
        if not reverse:
            assert_same(row, after[key])
            continue
        other = after[key]
        assert other.value == (None if row.value is None else pytest.approx(row.value, abs=1e-9))
        kept = ("units", "transitions", "count", "refused")
        assert [getattr(row, name) for name in kept] == [getattr(other, name) for name in kept]


@EXAMPLES
@given(tables(), st.permutations(STRATA))
def test_renaming_strata_changes_labels_only(table, permuted):
    renamed = dict(zip(STRATA, permuted, strict=True))
    frame = table.frame.assign(target=table.frame["target"].map(renamed))
    estimands = every_estimand(table)
    present = sorted(set(table.frame["target"]))
    shares = dict(zip(present, [1.0] if len(present) == 1 else [0.0, 1.0, 0.0], strict=False))
    before = {**EMPIRICAL, "equal": "equal", "mine": shares}
    after = {**before, "mine": {renamed[name]: share for name, share in shares.items()}}
    rows = estimate(table.cells(), estimands, before, draws=DRAWS)
    others = estimate(table._replace(frame=frame).cells(), estimands, after, draws=DRAWS)
    for key, row in rows.items():
        labels = {"notes": None}
        assert_same(row, others[key], **labels)


@EXAMPLES
@given(tables())
def test_renaming_levels_changes_labels_only(table):
    renamed = {"a": "true", "b": "3", "c": "Ω level"}
    frame = table.frame.assign(view=table.frame["view"].map(renamed))
    channel = {**table.channel, "view": tuple(renamed[v] for v in table.channel["view"])}
    other = Table(frame, channel, table.replicate)
    at = {"authority": "x"} if "authority" in channel else {}
    old = [Estimand(s, omega(view=("a", "b"), at=at), s) for s in names.STATISTICS]
    new = [Estimand(s, omega(view=(True, 3), at=at), s) for s in names.STATISTICS]
    rows, others = estimate(table.cells(), old, draws=DRAWS), estimate(other, new, draws=DRAWS)
    for key, row in rows.items():
        assert_same(row, others[key])


@EXAMPLES
@given(tables(), st.lists(st.integers(-50, 50), min_size=6, max_size=6))
def test_an_offset_of_a_channel_moves_exactly_what_does_not_cancel_it(table, tenths):
    channels = list(itertools.product(*table.channel.values()))
    offsets = {key: k / 10 for key, k in zip(channels, tenths, strict=False)}
    added = [
        offsets[key] for key in table.frame[list(table.channel)].itertuples(index=False, name=None)
    ]
    frame = table.frame.assign(margin=table.frame["margin"] + added)
    before, after = every_row(table), every_row(table._replace(frame=frame))
    for (name, statistic, mixture), row in before.items():
        contrast, corners = asked(table.channel)[name.split()[0]]
        moved = float(sum(w * Fraction(str(offsets[c[1:]])) for c, w in corners.items()))
        assert moved == 0 or not contrast.cancels_offsets
        if statistic == names.NEGATIVE_SHARE and not contrast.cancels_offsets:
            continue
        if moved == 0 or statistic != names.NEGATIVE_SHARE:
            assert_same(row, after[name, statistic, mixture], shift=moved)


@EXAMPLES
@given(tables(), st.sampled_from([1e-6, 0.3, 7.0, 1e6]))
def test_a_scale_of_the_scores_is_a_scale_of_values_and_intervals(table, scale):
    frame = table.frame.assign(margin=scale * table.frame["margin"])
    before, after = every_row(table), every_row(table._replace(frame=frame))
    for (name, statistic, mixture), row in before.items():
        factor = 1.0 if statistic == names.NEGATIVE_SHARE else scale
        other = after[name, statistic, mixture]
        shrunk = [None if x is None else x / factor for x in (other.value, *(other.interval or ()))]
        back = replace(other, value=shrunk[0], interval=tuple(shrunk[1:]) or None)
        assert_same(row, back)


@EXAMPLES
@given(tables())
def test_equal_weights_written_out_give_identical_rows(table):
    present = sorted(set(table.frame["target"]))
    weights = {"equal": "equal", "w": dict.fromkeys(present, 1 / len(present))}
    rows = estimate(table.cells(), every_estimand(table), weights, draws=DRAWS)
    for (name, statistic, mixture), row in rows.items():
        if mixture == "equal":
            assert replace_all(row, {"weights": "w"}) == replace_all(rows[name, statistic, "w"], {})


def test_one_stratum_weighs_as_the_plain_cohort():
    gains = [(f"u{i}", "only", float(i * i)) for i in range(12)]
    weights = {**EMPIRICAL, "equal": "equal"}
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=200)
    plain, equal = rows.values()
    assert_same(plain, equal, weights=None)


def test_strata_are_coded_by_name_in_whatever_order_they_are_given():
    data = from_gains([("p", "yes", 1.0), ("q", "no", 5.0), ("r", "no", 7.0)]).read()
    weights = {"yes": 0.25, "no": 0.75}
    for strata in (["no", "yes"], ["yes", "no"]):
        sample = engine.sample(scores.cells(data), strata, names.COHORT_CONTRAST)
        (row,) = engine.estimate(
            sample, [Estimand("g", gain(view="a"))], resolve_all({"w": weights}, strata), draws=1
        )
        assert row.value == pytest.approx(0.25 * 1 + 0.75 * 6)


# Size


def cells_of(units, per_unit):
    generator = np.random.default_rng(0)
    owner = np.repeat([f"u{i:06d}" for i in range(units)], per_unit)
    stratum = np.repeat([f"s{i % 4}" for i in range(units)], per_unit)
    coords = {
        "state": ["before", "after"],
        "view": ["a", "b"],
        "unit": ("transition", owner),
        "stratum": ("transition", stratum),
    }
    values = generator.normal(size=(units * per_unit, 2, 2))
    return xr.DataArray(values, dims=("transition", "state", "view"), coords=coords)


def test_draws_are_not_a_python_loop():
    sample = engine.sample(cells_of(100, 11), ["s0", "s1", "s2", "s3"], "contrast")
    contrasts = [gain(view="a"), gain(view="b"), omega(view=("a", "b"))]
    estimands = [
        Estimand(f"e{i}", contrasts[i % 3], names.STATISTICS[i % 3 if i < 6 else 0])
        for i in range(20)
    ]
    mixtures = [TargetWeights("empirical", None), TargetWeights("equal", np.full(4, 0.25))]

    def calls(draws):
        count = 0

        def step(*_):
            nonlocal count
            count += 1

        sys.setprofile(step)
        try:
            rows = engine.estimate(sample, estimands, mixtures, draws=draws)
        finally:
            sys.setprofile(None)
        assert len(rows) == 40
        return count

    assert calls(10_000) - calls(1_000) < 9_000  # fewer than one call for each further draw


def test_two_hundred_thousand_units_fit_in_memory():
    cells = cells_of(200_000, 1)
    weights = [TargetWeights("empirical", None), TargetWeights("equal", np.full(4, 0.25))]
    estimands = [Estimand(s, omega(view=("a", "b")), s) for s in (names.MEAN, names.MEDIAN)]
    tracemalloc.start()
    try:
        sample = engine.sample(cells, ["s0", "s1", "s2", "s3"], "contrast")
        rows = engine.estimate(sample, estimands, weights, draws=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [row.refused is None for row in rows] == [True, True, True, False]
    assert peak < 1e9
