"""The design engine against plain loops over a pandas table, draw by draw.

The naive side reads the same table with `groupby`, in exact fractions, and knows contrasts only as
dictionaries of corners written out here.
"""

import itertools
import math
import sys
import tracemalloc
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import names, scores
from fourcorner.contrasts import diagonal, endpoint_shift, gain, omega
from fourcorner.design import draws as design_draws
from fourcorner.design import engine, replicates
from fourcorner.design.draws import multiplicities
from fourcorner.errors import NotIdentified
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate, records, to_json
from fourcorner.weights import TargetWeights, resolve_all
from naive import (
    asked,
    every_estimand,
    mixtures,
    naive_cells,
    naive_refusal,
    naive_statistic,
    naive_values,
)
from scored import EMPIRICAL, STRATA, Table, dataset, estimate, from_gains, one, simple, tables

EXAMPLES = settings(max_examples=15, deadline=None, derandomize=True)
DRAWS = 40


# Point estimates


@settings(EXAMPLES, max_examples=25)
@given(tables())
def test_every_row_equals_plain_loops_over_the_table(table):
    declared, shares = mixtures(table.frame)
    cells = naive_cells(table)
    wanted = asked(table.channel)
    rows = estimate(table.read(), every_estimand(table), declared, draws=1)
    linear = (names.MEAN, names.NEGATIVE_SHARE)
    assert len(rows) == len(wanted) * (len(linear) * len(declared) + 2)
    assert "NaN" not in to_json({"estimates": records(list(rows.values()))})
    for name, (_, corners) in wanted.items():
        values = naive_values(cells, corners)
        for statistic, mixture in itertools.product(names.STATISTICS, declared):
            if statistic not in linear and mixture != "empirical":
                assert (f"{name} {statistic}", statistic, mixture) not in rows
                continue
            row = rows[f"{name} {statistic}", statistic, mixture]
            reason = naive_refusal(cells, corners, values, statistic, shares[mixture])
            assert (row.refused or {}).get("reason") == reason
            assert row.units == len({item.unit for item in values})
            assert row.transitions == len(values)
            if statistic == names.NEGATIVE_SHARE:
                negative = sum(item.value < 0 for item in values)
                assert row.count == (negative if reason is None else None)
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
        ("trimmed_mean", "empirical"): pytest.approx(0.5),  # of four values none is cut
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
    about = {(r.method, r.population, r.cohort, r.level, r.resampling) for r in rows}
    assert about == {("design", "units", "contrast", 0.8, "plain bootstrap of units")}


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
    assert f"(state = {record['state']}, view = {record['view']})" in str(caught.value)
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
    data = from_gains([("p", "yes", 1.0), ("q", "no", 2.0)]).dataset()
    data["score"][:, 0, 0] = math.nan
    sample = engine.sample(data, names.COHORT_JOINT)
    weights = resolve_all({**EMPIRICAL, "equal": "equal"}, scores.strata(data))
    estimands = [Estimand(s, gain(view="a"), s) for s in names.STATISTICS]
    rows = engine.estimate(sample, estimands, weights, draws=50)
    assert [row.refused["reason"] for row in rows] == [
        "no_complete_transition"
    ] * 6  # mean and share twice


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
    for statistic, word in (("median", "a median"), ("trimmed_mean", "a trimmed mean")):
        row = one(table, gain(view="a"), statistic, weights, draws=50)
        assert row.refused["reason"] == "statistic_needs_empirical_weights"
        assert row.refused["message"].startswith(word)
    both = {**weights, "empirical": "empirical", "equal": "equal"}
    row = one(table, gain(view="a"), names.MEDIAN, both, draws=50)
    assert (row.weights, row.value) == ("empirical", 3.5)
    assert row.notes[0] == "a median goes with empirical weights only: none under mine, equal"


# Draws


@pytest.mark.parametrize("block", [1, 7, 50, 333, 2**23])
def test_draws_do_not_depend_on_the_block_size(monkeypatch, block):
    reference = np.concatenate(list(multiplicities(13, 101, seed=5)))
    monkeypatch.setattr(design_draws, "BLOCK", block)
    blocks = list(multiplicities(13, 101, seed=5))
    assert all(part.size <= max(block, 13) for part in blocks)
    np.testing.assert_array_equal(np.concatenate(blocks), reference)


@pytest.mark.parametrize(("batch", "numbers"), [(1, 1), (5, 300), (1000, 2**22)])
def test_rows_do_not_depend_on_what_is_summed_at_a_time(monkeypatch, batch, numbers):
    sample = engine.sample(large(12, 3))
    estimands = [
        Estimand(f"{statistic} {view}", gain(view=view), statistic)
        for view in ("a", "b")
        for statistic in names.STATISTICS
    ]
    mixtures = [TargetWeights("empirical", None), TargetWeights("equal", np.full(4, 0.25))]

    def numbers_of():
        rows = engine.estimate(sample, estimands, mixtures, draws=101)
        return [(row.value, *(row.interval or (None,) * 2)) for row in rows]

    reference = numbers_of()
    monkeypatch.setattr(replicates, "BATCH", batch)
    monkeypatch.setattr(replicates, "TOTALS", numbers)
    np.testing.assert_allclose(np.array(numbers_of(), float), np.array(reference, float), rtol=1e-9)


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
    data = table.dataset()
    together = estimate(data, estimands, declared, draws=DRAWS, seed=seed)
    for estimand in estimands[:: max(1, len(estimands) // 4)]:
        for name, mixture in declared.items():
            alone = estimate(data, [estimand], {name: mixture}, draws=DRAWS, seed=seed)
            for key, row in alone.items():
                if key in together:  # the median asked for under declared weights alone is refused
                    assert_same(row, together[key], notes=None)


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
    # neither scale nor offset moves the ratio or share that turns a sign
    for turning in ("flip_ratio", "flip_share"):
        number = getattr(one_row, turning)
        expected = None if number is None else pytest.approx(number, rel=1e-6)
        assert getattr(other, turning) == expected
    plain = dict.fromkeys(["value", "interval", "refused", "flip_ratio", "flip_share"]) | ignored
    assert replace_all(one_row, plain) == replace_all(other, plain)
    reasons = [(row.refused or {}).get("reason") for row in (one_row, other)]
    assert reasons[0] == reasons[1]


def replace_all(row, changed):
    """A row's fields as a dict, some of them overwritten."""
    return {**{key: getattr(row, key) for key in Estimate.__dataclass_fields__}, **changed}


def every_row(table, seed=0):
    declared, _ = mixtures(table.frame)
    return estimate(table.dataset(), every_estimand(table), declared, draws=DRAWS, seed=seed)


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
    rows = estimate(table.dataset(), estimands, before, draws=DRAWS)
    others = estimate(table._replace(frame=frame).dataset(), estimands, after, draws=DRAWS)
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
    rows, others = estimate(table.dataset(), old, draws=DRAWS), estimate(other, new, draws=DRAWS)
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
    rows = estimate(table.dataset(), every_estimand(table), weights, draws=DRAWS)
    for (name, statistic, mixture), row in rows.items():
        if mixture == "equal":
            assert replace_all(row, {"weights": "w"}) == replace_all(rows[name, statistic, "w"], {})


def test_one_stratum_weighs_as_the_plain_cohort():
    gains = [(f"u{i}", "only", float(i * i)) for i in range(12)]
    weights = {**EMPIRICAL, "equal": "equal"}
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=200)
    plain, equal = rows.values()
    assert_same(plain, equal, weights=None)


# Size


def large(units, per_unit):
    generator = np.random.default_rng(0)
    owner = np.repeat([f"u{i:06d}" for i in range(units)], per_unit)
    stratum = np.repeat([f"s{i % 4}" for i in range(units)], per_unit)
    values = generator.normal(size=(units * per_unit, 2, 2))
    levels = {"state": ["before", "after"], "view": ["a", "b"]}
    return dataset(values, levels, {"unit": owner, "stratum": stratum})


def test_draws_are_not_a_python_loop():
    sample = engine.sample(large(100, 11))
    contrasts = [gain(view="a"), gain(view="b"), omega(view=("a", "b"))]
    estimands = [
        Estimand(f"e{i}", contrasts[i % 3], names.STATISTICS[i % 4 if i < 8 else 0])
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
        assert len(rows) == 36  # four medians and trimmed means have no row under equal weights
        return count

    calls(10)  # what is imported and set up once is no draw's
    assert calls(10_000) - calls(1_000) < 9_000  # fewer than one call for each further draw


def test_two_hundred_thousand_units_fit_in_memory():
    data = large(200_000, 1)
    weights = [TargetWeights("empirical", None), TargetWeights("equal", np.full(4, 0.25))]
    estimands = [Estimand(s, omega(view=("a", "b")), s) for s in (names.MEAN, names.MEDIAN)]
    tracemalloc.start()
    try:
        sample = engine.sample(data)
        rows = engine.estimate(sample, estimands, weights, draws=100)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert all(row.interval is not None for row in rows)
    assert len(rows) == 3
    assert peak < 1e9
