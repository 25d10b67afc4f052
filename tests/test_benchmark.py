"""The representation benchmark: brute force, identities, and its rows in a spec."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourcorner as fc
from fourcorner.auditing import design_audit
from fourcorner.design import discordance
from fourcorner.design.benchmark import distances
from fourcorner.design.discordance import discordances

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)


def naive_discordance(first, second, unit, copies):
    """Every pair of drawn endpoints that are not copies of one another."""
    drawn = [i for i, u in enumerate(unit) for _ in range(int(copies[u]))]
    pairs = [(i, j) for i, j in itertools.combinations(drawn, 2) if i != j]
    if not pairs:
        return np.nan
    opposite = [(first[i] - first[j]) * (second[i] - second[j]) < 0 for i, j in pairs]
    return np.mean(opposite)


@EXAMPLES
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_discordance_is_the_count_of_all_pairs(seed, items):
    generator = np.random.default_rng(seed)
    first, second = generator.integers(-2, 3, (2, items)).astype(float)
    unit = generator.integers(0, 4, items)
    copies = generator.integers(0, 3, (5, 4)).astype(float)
    found = discordances(first, second, unit, 4)(copies)
    expected = [naive_discordance(first, second, unit, row) for row in copies]
    np.testing.assert_allclose(found, expected)


@EXAMPLES
@given(st.integers(0, 10**6))
def test_discordance_is_one_less_what_kendalls_tau_says_without_ties(seed):
    from scipy.stats import kendalltau

    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, 15))
    found = discordances(first, second, np.arange(15), 15)(np.ones((1, 15)))[0]
    assert found == pytest.approx((1 - kendalltau(first, second).statistic) / 2)
    again = discordances(np.exp(first), second**3, np.arange(15), 15)(np.ones((1, 15)))[0]
    assert again == found


def test_scores_that_differ_by_rounding_are_tied():
    first = np.array([0.1 + 0.2, 0.3, 1.0])
    second = np.array([1.0, 2.0, 3.0])
    assert first[0] > first[1]
    assert discordances(first, second, np.arange(3), 3)(np.ones((1, 3)))[0] == 0


@EXAMPLES
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_distance_is_the_mean_over_pairs_of_waves(seed, waves):
    generator = np.random.default_rng(seed)
    scores = generator.normal(size=(3, waves, 2, 2))
    expected = []
    for of in scores:
        ends = []
        for state in range(2):
            x, y = of[:, state, 0], of[:, state, 1]
            pairs = list(itertools.permutations(range(waves), 2))
            across = np.mean([abs(a - b) for a in x for b in y])
            own = [np.mean([abs(v[i] - v[j]) for i, j in pairs]) for v in (x, y)]
            ends.append(2 * across - sum(own))
        expected.append(np.mean(ends))
    np.testing.assert_allclose(distances(scores), expected)


def test_equal_laws_are_at_distance_zero_on_average_and_shifts_are_not():
    generator = np.random.default_rng(1)
    scores = generator.standard_t(4, size=(20_000, 2, 2, 2))
    mean = distances(scores).mean()
    assert abs(mean) < 4 * distances(scores).std() / np.sqrt(20_000)
    scores[..., 1] += 1.0
    assert distances(scores).mean() > 0.2


SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["quote", "generated"] }
replicate = { layout = ["L0", "L1"], wave = ["w1", "w2", "w3"] }
[estimands]
alike = { benchmark = { view = ["quote", "generated"] } }
omega = { omega = { view = ["quote", "generated"] } }
before = { endpoint_shift = { view = ["quote", "generated"] }, state = "before" }
after = { endpoint_shift = { view = ["quote", "generated"] }, state = "after" }
[weights]
empirical = "empirical"
"""
FACTORS = ("state", "view", "layout", "wave")
LEVELS = (("before", "after"), ("quote", "generated"), ("L0", "L1"), ("w1", "w2", "w3"))


def table(units=30, seed=4):
    generator = np.random.default_rng(seed)
    index = pd.MultiIndex.from_product(
        [[f"t{i:02d}" for i in range(units)], *LEVELS], names=["task", *FACTORS]
    )
    scores = generator.standard_t(4, (units, 2, 2, 1, 1)) + 0.3 * generator.standard_t(
        4, (units, 2, 2, 2, 3)
    )
    scores[:, 1, 0] += 1.0
    return pd.DataFrame({"margin": scores.ravel()}, index=index).reset_index()


@pytest.fixture(scope="module")
def found():
    spec = fc.parse_spec(SPEC)
    return fc.estimate(fc.read_scores(spec, table()), spec, draws=300).set_index("name")


def test_its_means_are_those_of_their_contrasts(found):
    for row, contrast in [("shift.before", "before"), ("shift.after", "after")]:
        assert found.loc[f"alike.{row}", "value"] == pytest.approx(found.loc[contrast, "value"])
        assert found.loc[f"alike.{row}", "interval"] == pytest.approx(
            found.loc[contrast, "interval"]
        )
    gained = found.loc["alike.gain_difference"]
    assert gained["value"] == pytest.approx(found.loc["omega", "value"])
    shifts = found["value"]
    assert gained["value"] == pytest.approx(
        shifts["alike.shift.after"] - shifts["alike.shift.before"]
    )


def test_discordance_and_distance_of_a_table_are_those_of_plain_pandas(found):
    frame = table()
    means = frame.pivot_table("margin", ["task", "state"], "view")
    expected = naive_discordance(
        means["quote"].to_numpy(), means["generated"].to_numpy(), np.arange(60), np.ones(60)
    )
    assert found.loc["alike.discordant", "value"] == pytest.approx(expected)
    assert found.loc["alike.discordant", "statistic"] == "discordance"
    waves = frame.pivot_table("margin", ["task", "state", "view"], "wave")
    parts = []
    for _, of in waves.groupby(level=["task", "state"]):
        x, y = (of.xs(view, level="view").to_numpy().ravel() for view in ("quote", "generated"))
        own = [np.mean([abs(a - b) for a, b in itertools.permutations(v, 2)]) for v in (x, y)]
        parts.append(2 * np.mean(np.abs(x[:, None] - y)) - sum(own))
    assert found.loc["alike.distance", "value"] == pytest.approx(np.mean(parts))


def test_without_retries_there_is_no_distance():
    spec = fc.parse_spec(SPEC.replace(', wave = ["w1", "w2", "w3"]', ""))
    frame = table()[lambda rows: rows["wave"] == "w1"].drop(columns="wave")
    names = fc.estimate(fc.read_scores(spec, frame), spec, draws=100)["name"].tolist()
    assert "alike.discordant" in names
    assert "alike.distance" not in names


def test_waves_of_two_sessions_are_no_retries():
    spec = fc.parse_spec(SPEC.replace("[estimands]", 'session = "session"\n[estimands]'))
    frame = table().assign(session=lambda rows: (rows["wave"] == "w3").map({True: "b", False: "a"}))
    rows = fc.estimate(fc.read_scores(spec, frame), spec, draws=100).set_index("name")
    assert rows.loc["alike.distance", "refused"]["reason"] == "several_sessions"
    assert rows.loc["alike.discordant", "refused"] is None


def test_pairs_go_with_the_cohorts_own_mixture_only():
    spec = fc.parse_spec(
        SPEC.replace('unit = "task"', 'unit = "task"\nstratum = "target"') + 'equal = "equal"\n'
    )
    frame = table().assign(target=lambda rows: (rows["task"] < "t10").map(str))
    rows = fc.estimate(fc.read_scores(spec, frame), spec, draws=100)
    counted = rows.groupby("name")["weights"].agg(list)
    assert counted["alike.discordant"] == ["empirical"]
    assert counted["alike.distance"] == ["empirical", "equal"]


def test_a_missing_corner_is_named_for_the_row_that_lacks_it():
    frame = table()[lambda rows: ~((rows["state"] == "after") & (rows["view"] == "quote"))]
    spec = fc.parse_spec(SPEC)
    rows = fc.estimate(fc.read_scores(spec, frame), spec, draws=100).set_index("name")
    cell = {"state": "after", "view": "quote"}
    assert rows.loc["alike.shift.after", "refused"]["missing"] == [cell]
    assert rows.loc["before", "refused"] is None


def test_views_on_unlinked_scales_are_compared_by_order_alone():
    spec = fc.parse_spec(SPEC.replace("[estimands]", 'scale = ["view"]\n[estimands]'))
    rows = fc.estimate(fc.read_scores(spec, table()), spec, draws=100).set_index("name")
    refused = {name: row is not None for name, row in rows["refused"].items() if "alike" in name}
    assert refused == {
        "alike.shift.before": True,
        "alike.shift.after": True,
        "alike.gain_difference": True,
        "alike.discordant": False,
        "alike.distance": True,
    }


def test_one_wave_of_a_distance_is_no_part_of_it():
    spec = fc.parse_spec(SPEC)
    parts = design_audit(fc.read_scores(spec, table()), spec).breakdowns
    by_wave = parts[parts["by"] == "wave"]
    assert "alike.gain_difference" in set(by_wave["name"])
    assert "alike.distance" not in set(by_wave["name"])
    assert "alike.distance" in set(parts.loc[parts["by"] == "layout", "name"])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("after", "quote", "generated"), ("before", "quote", "generated")),
        (("before", "quote", "generated"), ("before", "quote", "generated")),
        (("before", "quote", "generated"), ("after", "generated", "quote")),
        (("before", "quote", "generated"), ("after", "quote", "other")),
    ],
)
def test_a_benchmark_is_of_one_shift_before_and_after(before, after):
    shifts = [fc.endpoint_shift(state, view=pair) for state, *pair in (before, after)]
    with pytest.raises(fc.ContrastError, match="one endpoint shift before and after"):
        fc.benchmark("x", *shifts)


def test_units_alike_are_refused_with_the_other_faults_of_a_spec():
    plain = 'alike = { benchmark = { view = ["quote", "generated"] } }'
    assert plain in SPEC
    text = SPEC.replace(plain, plain.removesuffix(" }") + ', weight_by = "unit" }')
    with pytest.raises(fc.SpecError, match="benchmark compares transitions; leave weight_by out"):
        fc.parse_spec(text)


def test_too_many_pairs_are_counted_of_those_that_are_asked_for(monkeypatch):
    monkeypatch.setattr(discordance, "PAIRS", 25 * 25)
    frame = table().assign(some=lambda rows: (rows["task"] < "t12").map({True: "y", False: "n"}))
    text = SPEC.replace('unit = "task"', 'unit = "task"\nattributes = ["some"]')
    pair = 'benchmark = { view = ["quote", "generated"] }'
    part = f'part = {{ {pair}, where = {{ some = "y" }} }}'
    where = text.replace("alike = {", f"{part}\nalike = {{")
    spec = fc.parse_spec(where)
    rows = fc.estimate(fc.read_scores(spec, frame), spec, draws=50).set_index("name")
    assert rows.loc["part.discordant", "refused"] is None
    refused = rows.loc["alike.discordant", "refused"]
    assert refused["reason"] == "too_many_pairs"
    assert "60 endpoints of 30 units" in refused["message"]
