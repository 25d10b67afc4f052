"""where, between, wave, weight_by and scale groups: each against plain pandas."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.bayes.mixtures import complete_cases
from fourcorner.contrasts import contrast_values, gain, omega
from fourcorner.design import engine
from fourcorner.design.draws import multiplicities
from fourcorner.errors import ContrastError, FourcornerError, OptionError
from fourcorner.estimands import Estimand
from fourcorner.weights import resolve_all
from scored import dataset, from_gains

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
EQUAL = {"equal": "equal"}
GAIN = Estimand("g", gain(view="a"))


def frame(seed=0, units=12):
    """One row a transition: task, target, artifact by task, kind by transition, gain at view a."""
    generator = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        target, artifact = f"s{unit % 2}", ("false", "true", "")[generator.integers(0, 3)]
        for _ in range(generator.integers(1, 4)):
            kind = str(generator.choice(["read", "write"]))
            rows.append((f"u{unit:02d}", target, artifact, kind, generator.integers(-9, 10) / 8))
    return pd.DataFrame(rows, columns=["task", "target", "artifact", "kind", "gain"])


def scored(rows):
    """A Dataset whose gain at view a is the frame's and at view b zero."""
    dense = np.zeros((len(rows), 2, 2))
    dense[:, 1, 0] = rows["gain"]
    along = {"unit": "task", "stratum": "target", "artifact": "artifact", "kind": "kind"}
    return dataset(
        dense,
        {"state": ["before", "after"], "view": ["a", "b"]},
        {name: rows[column].to_numpy(str) for name, column in along.items()},
    )


def row_of(data, estimand, weights=None, **options):
    sample = engine.sample(data)
    weights = resolve_all(weights or {"empirical": "empirical"}, list(sample.strata))
    (row,) = engine.estimate(sample, [estimand], weights, draws=options.pop("draws", 50), **options)
    return row


def mean_of(rows, weights):
    """Mean of the gains, or of the strata's means."""
    if weights == "empirical":
        return rows["gain"].mean()
    return rows.groupby("target")["gain"].mean().mean()


@EXAMPLES
@given(st.integers(0, 10**6), st.sampled_from(["empirical", "equal"]))
def test_where_is_the_estimate_of_those_rows(seed, weights):
    rows = frame(seed)
    estimand = replace(GAIN, where={"kind": ("write",), "artifact": ("true", "")})
    kept = rows[(rows["kind"] == "write") & (rows["artifact"] != "false")]
    assume(set(rows["kind"]) == {"read", "write"} and {"true", ""} <= set(rows["artifact"]))
    row = row_of(scored(rows), estimand, {weights: weights})
    assume(set(kept["target"]) == {"s0", "s1"})
    assert row.value == pytest.approx(mean_of(kept, weights))
    assert (row.transitions, row.units) == (len(kept), kept["task"].nunique())
    asked = "complete transitions have kind = write and artifact = true or "
    assert row.notes[0] == f"{len(kept)} of {len(rows)} {asked}"


@EXAMPLES
@given(
    st.integers(0, 10**6),
    st.sampled_from(["empirical", "equal"]),
    st.sampled_from(["kind", "artifact"]),
)
def test_between_is_the_second_groups_estimate_less_the_firsts(seed, weights, attribute):
    rows = frame(seed)
    first, second = ("read", "write") if attribute == "kind" else ("false", "true")
    groups = [rows[rows[attribute] == level] for level in (first, second)]
    assume(all(set(group["target"]) == {"s0", "s1"} for group in groups))
    row = row_of(
        scored(rows), replace(GAIN, between=(attribute, first, second)), {weights: weights}
    )
    low, high = (mean_of(group, weights) for group in groups)
    assert row.value == pytest.approx(high - low)
    used = pd.concat(groups)
    assert (row.transitions, row.units) == (len(used), used["task"].nunique())
    other = len(rows) - len(used)
    said = f"{other} complete transitions have another {attribute} or none"
    assert (said in row.notes) == (other > 0)
    sizes = f"{attribute} = {first}: {len(groups[0])}; {attribute} = {second}: {len(groups[1])}"
    assert f"transitions by group: {sizes}" in row.notes
    assert ("each group under its own mixture of strata" in row.notes) == (weights == "empirical")


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("median", np.median), ("negative_share", lambda x: (x < 0).mean())],
)
def test_between_takes_every_statistic(statistic, expected):
    rows = frame(3)
    read, write = (rows.loc[rows["kind"] == k, "gain"].to_numpy() for k in ("read", "write"))
    estimand = replace(GAIN, statistic=statistic, between=("kind", "read", "write"))
    row = row_of(scored(rows), estimand)
    assert row.value == pytest.approx(expected(write) - expected(read))
    assert row.count is None
    if statistic == "negative_share":
        counts = f"{(read < 0).sum()} negative; kind = write: {len(write)}, {(write < 0).sum()}"
        assert any(counts in note for note in row.notes)


def test_both_groups_are_resampled_together():
    """A unit with one gain in both groups adds nothing to the difference, nor to its spread."""
    rows = [(f"u{i}", "s", "x", kind, i / 4) for i in range(12) for kind in ("read", "write")]
    rows = pd.DataFrame(rows, columns=["task", "target", "artifact", "kind", "gain"])
    row = row_of(scored(rows), replace(GAIN, between=("kind", "read", "write")))
    assert row.value == 0
    assert row.interval is None
    assert row.notes[-1] == "no interval: every resample gives the same value"


@pytest.mark.parametrize("weights", ["empirical", "equal"])
def test_intervals_of_a_group_contrast_equal_a_loop_over_the_same_draws(weights):
    rows = frame(8, units=40)
    estimand = replace(GAIN, between=("kind", "read", "write"))
    options = {"draws": 150, "seed": 2, "interval": "percentile"}
    row = row_of(scored(rows), estimand, {weights: weights}, **options)
    units = sorted(set(rows["task"]))
    found = []
    for drawn in np.concatenate(list(multiplicities(len(units), 150, 2))):
        times = rows["task"].map(dict(zip(units, drawn.astype(int), strict=True)))
        taken = rows.loc[rows.index.repeat(times)]
        low, high = (mean_of(taken[taken["kind"] == k], weights) for k in ("read", "write"))
        found.append(high - low)
    assert row.interval == pytest.approx(np.quantile(found, [0.025, 0.975]), abs=1e-9)
    assert row.undefined_draws == 0


def test_a_group_without_a_needed_stratum_is_refused_under_fixed_weights_alone():
    rows = frame(1)
    rows.loc[rows["target"] == "s1", "kind"] = "read"
    estimand = replace(GAIN, between=("kind", "read", "write"))
    row = row_of(scored(rows), estimand, EQUAL)
    assert row.refused["reason"] == "empty_stratum"
    assert row.refused["strata"] == ["s1"]
    assert row.refused["message"].endswith("['s1'] where kind = write")
    assert row_of(scored(rows), estimand).refused is None


def test_an_empty_group_is_refused_by_name():
    rows = frame(1)
    data = scored(rows)
    data["score"][(rows["kind"] == "write").to_numpy(), 1, 0] = np.nan
    row = row_of(data, replace(GAIN, between=("kind", "read", "write")))
    assert row.refused["reason"] == "no_complete_transition"
    assert "with kind = write is complete" in row.refused["message"]
    row = row_of(data, replace(GAIN, where={"kind": ("write",)}))
    assert "with kind = write is complete" in row.refused["message"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"where": {"kynd": ("read",)}}, "no attribute 'kynd' .did you mean 'kind'"),
        ({"where": {"kind": ("reed",)}}, "no transition has kind = 'reed' .did you mean 'read'"),
        ({"between": ("kind", "read", "rite")}, "'rite' .did you mean 'write'"),
        ({"wave": ("1",)}, "no wave '1'"),
    ],
)
def test_what_the_scores_do_not_have_is_an_error(changed, words):
    with pytest.raises(FourcornerError, match=words) as caught:
        row_of(scored(frame()), replace(GAIN, **changed))
    assert isinstance(caught.value, ContrastError | OptionError)


def test_levels_are_compared_as_canonical_text():
    rows = frame(2)
    named = row_of(scored(rows), replace(GAIN, where={"artifact": ("true",)}))
    typed = row_of(scored(rows), replace(GAIN, where={"artifact": (True,)}))
    assert typed == named


# Units alike


@EXAMPLES
@given(st.integers(0, 10**6))
def test_by_unit_each_units_mean_counts_once(seed):
    rows = frame(seed)
    by_unit = rows.groupby("task").agg(gain=("gain", "mean"), target=("target", "first"))
    below = rows.assign(gain=(rows["gain"] < 0).astype(float)).groupby("task")["gain"].mean()
    expected = {
        ("mean", "empirical"): by_unit["gain"].mean(),
        ("mean", "equal"): mean_of(by_unit, "equal"),
        ("median", "empirical"): by_unit["gain"].median(),
        ("negative_share", "empirical"): below.mean(),
    }
    for (statistic, weights), value in expected.items():
        estimand = replace(GAIN, statistic=statistic, weight_by="unit")
        row = row_of(scored(rows), estimand, {weights: weights})
        assert row.value == pytest.approx(value)
        assert (row.units, row.transitions) == (len(by_unit), len(rows))
        assert "every unit counts alike, whatever its number of transitions" in row.notes


def test_by_unit_and_by_transition_agree_with_one_transition_a_unit():
    data = from_gains([(f"u{i}", "s", float(i % 5)) for i in range(14)]).dataset()
    first, second = (row_of(data, replace(GAIN, weight_by=by)) for by in ("transition", "unit"))
    assert (first.value, first.interval) == (second.value, second.interval)


# Waves


def waves(values):
    """Two units, one transition each; `values` is (units, state, wave) at view a."""
    dense = np.zeros((len(values), 2, 2, 2))
    dense[:, :, 0] = values
    levels = {"state": ["before", "after"], "view": ["a", "b"], "wave": ["w1", "w2"]}
    along = {"unit": np.array([f"u{i}" for i in range(len(values))])}
    return dataset(dense, levels, along, ["wave"])


def test_a_wave_alone_has_its_own_values_and_its_own_complete_cases():
    nan = np.nan
    data = waves(np.array([[[1, 2], [3, 8]], [[0, nan], [4, 1]], [[0, 0], [1, 3]]]))
    found = {
        wave: row_of(data, replace(GAIN, wave=wave))
        for wave in ((), ("w1",), ("w2",), ("w2", "w1"))
    }
    assert {wave: (row.value, row.units) for wave, row in found.items()} == {
        (): (pytest.approx((4 + 2) / 2), 2),  # means over waves: 5.5 - 1.5 and 2 - 0
        ("w1",): (pytest.approx((2 + 4 + 1) / 3), 3),
        ("w2",): (pytest.approx((6 + 3) / 2), 2),
        ("w2", "w1"): (pytest.approx(3), 2),
    }


def test_an_estimand_of_a_wave_shares_the_draws_of_the_others():
    generator = np.random.default_rng(0)
    data = waves(generator.normal(size=(12, 2, 2)))
    sample = engine.sample(data)
    asked = [replace(GAIN, name=str(w), wave=w) for w in ((), ("w1",), ("w2",))]
    whole, one, two = engine.estimate(sample, asked, resolve_all({"e": "empirical"}, [""]))
    assert whole.value == pytest.approx((one.value + two.value) / 2)
    alone = row_of(
        data.isel(wave=[0]), replace(GAIN, name="('w1',)"), {"e": "empirical"}, draws=10_000
    )
    assert alone.interval == pytest.approx(one.interval, rel=1e-12)


# Scales


@pytest.mark.parametrize("statistic", names.STATISTICS)
def test_a_contrast_across_unlinked_scales_is_refused_whatever_the_statistic(statistic):
    data = scored(frame())
    data.attrs["scale"] = "view"
    across = Estimand("o", omega(view=("a", "b")), statistic)
    row = row_of(data, across)
    assert row.refused["reason"] == "unlinked_scales"
    assert row_of(data, replace(GAIN, statistic=statistic)).refused is None


def test_units_and_attributes_in_any_order_of_rows():
    rows = frame(5)
    estimand = replace(
        GAIN, between=("kind", "read", "write"), where={"artifact": ("true", "false")}
    )
    first = row_of(scored(rows), estimand)
    shuffled = scored(rows.sample(frac=1, random_state=1))
    assert row_of(shuffled, estimand) == first


# Both engines apply a contrast to observed cells alike


def corners():
    """Ω of one-layout units: +0.5; corners that cancel but for rounding; a corner missing; -1."""
    cells = np.array(
        [
            [[1.0, 2.0], [1.0, 2.5]],
            [[0.1, 0.0], [0.3, 0.2]],
            [[0.0, np.nan], [0.0, 1.0]],
            [[0.0, 1.0], [0.0, 0.0]],
        ]
    )
    assert (0.2 - 0.0) - (0.3 - 0.1) != 0
    levels = {"state": ["before", "after"], "view": ["a", "b"]}
    return xr.DataArray(cells, dims=("unit", *levels), coords=levels)


def test_what_rounding_leaves_of_corners_that_cancel_is_zero():
    found = contrast_values(corners(), omega(view=("a", "b")))
    np.testing.assert_array_equal(found.values, [0.5, 0.0, np.nan, -1.0])
    assert found.size == 6.5  # 1 + 2 + 1 + 2.5, of the first unit


def test_of_no_complete_row_the_scores_have_no_size():
    found = contrast_values(corners().isel(unit=[2]), omega(view=("a", "b")))
    assert np.isnan(found.values).all()
    assert found.size == 0.0


def test_a_fits_complete_cases_are_the_design_engines_values():
    strata = np.array(["s0", "s0", "s1", "s1"])
    cells = corners().assign_coords(stratum=("unit", strata)).to_dataset(name="cells")
    constants = xr.Dataset(coords={"stratum": ["s0", "s1"]})
    tree = xr.DataTree.from_dict({"observed_data": cells, "constant_data": constants})
    cases = complete_cases(tree, omega(view=("a", "b")))
    assert cases.mean.tolist() == [0.25, -1.0]
    assert cases.count.tolist() == [2, 1]
    # the second unit alone: exactly nothing, as the design engine has it
    (alone,) = complete_cases(
        xr.DataTree.from_dict(
            {
                "observed_data": cells.isel(unit=[1]),
                "constant_data": constants.isel(stratum=[0]),
            }
        ),
        omega(view=("a", "b")),
    ).mean
    assert alone == 0.0
