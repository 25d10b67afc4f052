"""Agreement rates, and tables without a change: against loops over small random tables."""

import itertools
import json
import math
import random

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

import fourcorner as fc
from fourcorner import cli, names, scores
from fourcorner.contrasts import endpoint
from fourcorner.design import breakdowns, engine
from fourcorner.doctor import describe_scores
from fourcorner.errors import ContrastError, FitError, NotAvailable, SpecError, TableError
from fourcorner.estimands import agreement, as_estimands
from fourcorner.measures import Measure
from fourcorner.weights import resolve_all
from scored import dataset, estimate

FEW = {"draws": 3}
TIE = "tie"

# --- against loops --------------------------------------------------------------------------------


@st.composite
def shapes(draw):
    """Levels of the factors of a table, the replicates' names, and a source of chance."""
    levels = {"state": ["before", "after"]} if draw(st.booleans()) else {}
    levels["judge"] = list("abc"[: draw(st.integers(2, 3))])
    if draw(st.booleans()):
        levels["view"] = ["x", "y"]
    replicates = {"layout": list("LMN"[: draw(st.integers(2, 3))])}
    if draw(st.booleans()):
        replicates["wave"] = ["w1", "w2", "w3"]
    chance = random.Random(draw(st.integers(0, 2**32)))
    return {**levels, **replicates}, list(replicates), chance


def along(count):
    return {"unit": [f"u{i}" for i in range(count)], "transition_id": [""] * count}


def number(value):
    """What a margin says."""
    return None if math.isnan(value) else value


def rate(said, levels, replicates, compared, fixed, waves):
    """One transition's rate by loops, or None where something is unknown.

    `said` gives what a score says by its levels, in their order; `fixed` lists the levels of the
    channel factors and the state that are averaged over.
    """
    free = {**levels, **({"wave": waves} if waves else {})}
    factor, *pair = compared
    shares = []
    for cell in itertools.product(*fixed.values()):
        at = dict(zip(fixed, cell, strict=True))
        settings = [name for name in replicates if name != factor]
        for setting in itertools.product(*(free[name] for name in settings)):
            where = {**at, **dict(zip(settings, setting, strict=True))}
            found = [
                said(tuple({**where, factor: level}[name] for name in levels))
                for level in (pair or free[factor])
            ]
            if None in found:
                return None
            shares.append(float(len(set(found)) == 1 and TIE not in found))
    return sum(shares) / len(shares)


def questions(levels, replicates, chance):
    """Some agreements of a table: what is compared, the cells, the waves, and the estimand."""
    channels = [name for name in levels if name not in {*replicates, "state"}]
    state = chance.choice(levels["state"]) if "state" in levels else None
    for compared in (("layout",), ("wave",), ("judge", *chance.sample(levels["judge"], 2))):
        factor, *pair = compared
        if factor not in levels:
            continue
        waves = chance.choice([(), ("w1", "w3")]) if "wave" in levels else ()
        at = {
            name: chance.choice([levels[name], [chance.choice(levels[name])]])
            for name in channels
            if name != factor
        }
        of = {factor: tuple(pair)} if pair else factor
        asked = agreement("asked", of, state=state, at=at, wave=waves)["asked"]
        fixed = {**({} if state is None else {"state": [state]}), **at}
        yield compared, fixed, waves, asked


def compare(data, said, levels, replicates, chance):
    """Every agreement of a table is that of the loops."""
    for compared, fixed, waves, asked in questions(levels, replicates, chance):
        rates = [
            rate(lambda place, i=i: said(i, place), levels, replicates, compared, fixed, waves)
            for i in range(data.sizes["transition"])
        ]
        known = [value for value in rates if value is not None]
        (row,) = estimate(data, [asked], **FEW).values()
        assert row.statistic == "rate"
        assert row.transitions == len(known)
        if not known:
            assert row.refused is not None
            continue
        assert row.value == pytest.approx(sum(known) / len(known), abs=1e-12)
        whole = all(value in (0, 1) for value in known)
        assert row.count == (sum(known) if whole else None)


@given(shapes())
def test_rates_of_margins_are_those_of_loops(shape):
    levels, replicates, chance = shape
    sizes = [len(known) for known in levels.values()]
    lost = chance.choice([0.0, 0.01, 0.1])
    values = [
        math.nan if chance.random() < lost else chance.choice([0.0, 0.0, 0.0, 1.0])
        for _ in range(4 * math.prod(sizes))
    ]
    dense = np.reshape(values, (4, *sizes))
    data = dataset(dense, levels, along(4), replicates)

    def said(i, place):
        codes = (known.index(level) for known, level in zip(levels.values(), place, strict=True))
        return number(dense[(i, *codes)])

    compare(data, said, levels, replicates, chance)


@given(shapes())
def test_rates_of_option_scores_are_those_of_loops(shape):
    levels, replicates, chance = shape
    sizes = [len(known) for known in levels.values()]
    lost, cut = chance.choice([0.0, 0.01]), chance.choice([0.0, 0.1])
    count = math.prod(sizes)
    own = [chance.randint(2, 3) for _ in range(3)]
    ids = np.array([[*"xyz"[:width], *[""] * (3 - width)] for width in own])
    dense, censored = np.full((3, count, 3), math.nan), np.zeros((3, count, 3), dtype=bool)
    for i, k in itertools.product(range(3), range(count)):
        for option in range(own[i]):
            if chance.random() >= lost:
                dense[i, k, option] = chance.choice([0.0, 1.0, 5.0] if option else [1.0, 4.0])
                censored[i, k, option] = chance.random() < cut
    dims = ("transition", *levels)
    data = xr.Dataset(
        {
            "option_score": ((*dims, "option"), dense.reshape(3, *sizes, 3)),
            "censored": ((*dims, "option"), censored.reshape(3, *sizes, 3)),
            "score": (dims, np.zeros((3, *sizes))),
        },
        coords={
            **levels,
            **{name: ("transition", values) for name, values in along(3).items()},
            "option_id": (("transition", "option"), ids),
            "target_option": ("transition", np.zeros(3, dtype=int)),
        },
        attrs={"replicates": "\n".join(replicates), "reducer": "mean_then_margin"},
    )

    def said(i, place):
        codes = [known.index(level) for known, level in zip(levels.values(), place, strict=True)]
        k = int(np.ravel_multi_index(codes, sizes))
        options = [(dense[i, k, o], censored[i, k, o], "xyz"[o]) for o in range(own[i])]
        if any(math.isnan(score) for score, _, _ in options):
            return None
        exact = [score for score, limit, _ in options if not limit]
        limits = [score for score, limit, _ in options if limit]
        if not exact or max(limits, default=-math.inf) >= max(exact):
            return None
        top = [name for score, limit, name in options if not limit and score == max(exact)]
        return top[0] if len(top) == 1 else TIE

    compare(data, said, levels, replicates, chance)


@given(shapes())
def test_swapping_the_two_levels_changes_nothing(shape):
    levels, replicates, chance = shape
    sizes = [len(known) for known in levels.values()]
    pool = [*[0.0] * 20, *[1.0] * 20, math.nan]
    values = [chance.choice(pool) for _ in range(30 * math.prod(sizes))]
    data = dataset(np.reshape(values, (30, *sizes)), levels, along(30), replicates)
    rest = {name: levels[name] for name in ("view",) if name in levels}
    state = "after" if "state" in levels else None
    found = []
    for pair in (("a", "b"), ("b", "a")):
        asked = agreement("asked", {"judge": pair}, state=state, at=rest)
        found += estimate(data, asked.values(), **FEW).values()
    assume(found[0].refused is None)
    assert (found[0].value, found[0].transitions) == (found[1].value, found[1].transitions)


# --- small tables by hand -------------------------------------------------------------------------


def judged(dense, **more):
    """Scores of two judges in two layouts without a change."""
    levels = {"judge": ["a", "b"], "layout": ["L", "M"]}
    data = dataset(np.array(dense, dtype=float), levels, along(len(dense)), ["layout"])
    return data.assign_attrs(more)


def value(data, of, **options):
    (row,) = estimate(data, agreement("asked", of, **options).values(), **FEW).values()
    return row


def test_hand_worked_rates():
    nan = math.nan
    data = judged([[[1, 1], [1, 2]], [[1, 2], [1, 2]], [[1, nan], [2, 2]], [[3, 3], [3, 3]]])
    row = value(data, "layout", at={"judge": "a"})
    assert (row.value, row.count, row.transitions) == (2 / 3, 2, 3)
    row = value(data, "layout", at={"judge": "b"})
    assert (row.value, row.count, row.transitions) == (0.5, 2, 4)
    row = value(data, {"judge": ("a", "b")})  # one half, one, unknown, one
    assert (row.value, row.count, row.transitions) == (pytest.approx(5 / 6), None, 3)
    row = value(data, "layout", at={"judge": ["a", "b"]})  # one half, none, unknown, one
    assert (row.value, row.transitions) == (0.5, 3)


def test_margins_that_differ_by_rounding_alone_agree():
    assert 0.1 + 0.2 != 0.3
    data = judged([[[0.1 + 0.2, 0.3], [0.3, 0.3]], [[1e-30, 0.0], [0.0, 0.0]]])
    assert value(data, "layout", at={"judge": "a"}).count == 1
    assert value(data, {"judge": ("a", "b")}).value == 0.75


def test_a_measure_of_agreement_is_a_rate_in_words():
    both = agreement("x", {"judge": ("a", "b")}, at={"view": ["d", "g"]}, where={"kind": "k"})["x"]
    assert both.description == "a and b agree: F(a, d+g) and F(b, d+g); where kind = k"
    measure = Measure(names.AGREEMENT, compared=("layout",))
    assert (measure.statistic, measure.limits, measure.subject) == ("rate", (0, 1), "agreement")
    assert endpoint().name == "F"
    asked = agreement("x", "layout", between=("kind", "a", "b"))["x"]
    assert asked.limits == (-1, 1)


# --- refusals and misuse in Python ----------------------------------------------------------------


def test_what_is_not_there_to_compare_is_refused():
    nan = math.nan
    data = judged([[[1, 1], [nan, 2]], [[2, 1], [2, nan]]])
    row = value(data, {"judge": ("a", "b")})
    assert row.refused["reason"] == "never_measured"
    assert row.refused["missing"] == [{"judge": "b"}]
    assert "never measured in every replicate" in row.refused["message"]
    apart = judged([[[1, 1], [nan, 2]], [[nan, 1], [2, 2]]])  # both measured, never together
    assert value(apart, {"judge": ("a", "b")}).refused["reason"] == "no_complete_transition"


def test_one_level_has_nothing_to_agree_with():
    levels = {"judge": ["a", "b"], "wave": ["w1", "w2"]}
    data = dataset(np.zeros((3, 2, 2)), levels, along(3), ["wave"])
    row = value(data, "wave", at={"judge": "a"}, wave=("w2",))
    assert row.refused["reason"] == "one_level"
    assert value(data, "wave", at={"judge": "a"}).value == 1


def test_waves_of_several_sessions_are_no_retries():
    levels = {"judge": ["a"], "wave": ["w1", "w2", "w3"]}
    data = dataset(np.zeros((3, 1, 3)), levels, along(3), ["wave"])
    data = data.assign_coords(session=("wave", ["first", "retry", "retry"]))
    row = value(data, "wave", at={"judge": "a"})
    assert row.refused["reason"] == "several_sessions"
    assert value(data, "wave", at={"judge": "a"}, wave=("w2", "w3")).value == 1


def test_equal_margins_on_unlinked_scales_say_nothing():
    data = judged(np.zeros((3, 2, 2)), scale="judge")
    row = value(data, {"judge": ("a", "b")})
    assert row.refused["reason"] == "unlinked_scales"
    assert "equal margins say nothing" in row.refused["message"]
    assert value(data, "layout", at={"judge": ["a", "b"]}).value == 1  # rates have no scale


@pytest.mark.parametrize(
    ("of", "options", "words"),
    [
        ("loyout", {"at": {"judge": "a"}}, "no replicate factor 'loyout' (did you mean 'layout'?)"),
        ("judge", {}, "no replicate factor 'judge'; there are ['layout']"),
        ("judge", {}, "it is a channel factor, of which two levels are compared: {'judge': (first"),
        (
            {"layout": ("L", "M")},
            {"at": {"judge": "a"}},
            "it is a replicate factor, all of whose levels are compared: of = 'layout'",
        ),
        ({"jugde": ("a", "b")}, {}, "no channel factor 'jugde' (did you mean 'judge'?)"),
        ({"judge": ("c", "a")}, {}, "no level of judge 'c'; there are ['a', 'b']"),
        ({"judge": ("a", "c")}, {}, "judge has no level 'c'"),
        ("layout", {}, "says nothing about ['judge']"),
        ("layout", {"at": {"judge": "a"}, "state": "after"}, "agreement rates alone"),
        ("layout", {"at": {"judge": "a"}, "state": "afer"}, "did you mean 'after'?"),
        ({"judge": ("a", "a")}, {}, "none twice"),
        ({"judge": "a"}, {}, "expected two levels"),
        ({"judge": ("a", "b")}, {"at": {"judge": "a"}}, "give each factor one part"),
        ({"judge": ("a", "b"), "layout": ("L", "M")}, {}, "or one channel factor with two levels"),
        ({}, {}, "agreement needs a factor with two levels"),
        (None, {}, "expected a replicate factor"),
    ],
)
def test_misuse_in_python_is_told(of, options, words):
    with pytest.raises(ContrastError) as caught:
        value(judged(np.zeros((3, 2, 2))), of, **options)
    assert words in str(caught.value)


# --- parts of the cohort --------------------------------------------------------------------------


def test_parts_are_not_those_of_the_factor_that_is_compared():
    generator = np.random.default_rng(5)
    levels = {"judge": ["a", "b"], "layout": ["L", "M"], "wave": ["w1", "w2"]}
    dense = generator.integers(0, 2, (12, 2, 2, 2)).astype(float)
    data = dataset(dense, levels, along(12), ["layout", "wave"])
    asked = agreement("asked", "layout", at={"judge": "a"})
    mixtures = resolve_all({"empirical": "empirical"}, [""])
    rows = breakdowns.breakdowns(engine.sample(data), list(asked.values()), mixtures, draws=3)
    found = {(row.by, row.level): row.value for row in rows}
    same = dense[:, 0, 0] == dense[:, 0, 1]  # transitions by waves
    assert {key for key in found if key[0] != "leave_one_out"} == {("wave", "w1"), ("wave", "w2")}
    assert found["wave", "w2"] == pytest.approx(same[:, 1].mean())
    others = [np.delete(same.mean(axis=1), i).mean() for i in range(12)]
    assert min(v for (by, _), v in found.items() if by == "leave_one_out") == pytest.approx(
        min(others)
    )


# --- the spec -------------------------------------------------------------------------------------

CHANGED = """
kind = "scores"
[data]
score = "y"
unit = "id"
change = {{ column = "phase", before = "b", after = "a" }}
channel = {{ judge = ["a", "b", "c"], view = ["d", "g"] }}
replicate = {{ layout = ["1", "2"], wave = ["w1", "w2"], run = ["r"] }}
[estimands]
x = {{ {entry} }}
"""


def faults(text):
    with pytest.raises(SpecError) as caught:
        fc.parse_spec(text)
    return caught.value.faults


def test_a_spec_and_python_ask_the_same():
    entry = (
        'agreement = { judge = ["c", "a"] }, average_over = ["view"], state = "before", '
        'wave = ["w2"], weight_by = "unit"'
    )
    found = as_estimands(fc.parse_spec(CHANGED.format(entry=entry)))
    pair = {"judge": ("c", "a")}
    options = {"at": {"view": ["d", "g"]}, "wave": ("w2",), "weight_by": "unit"}
    assert found == fc.agreement("x", pair, state="before", **options)
    entry = 'agreement = "layout", at = { judge = "b", view = "g" }, state = "after"'
    found = as_estimands(fc.parse_spec(CHANGED.format(entry=entry)))
    assert found == fc.agreement("x", "layout", state="after", at={"judge": "b", "view": "g"})


HELD = 'at = { judge = "a", view = "d" }, state = "after"'


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('agreement = "layout", at = { judge = "a", view = "d" }', "needs state = 'before' or"),
        (f'agreement = "loyout", {HELD}', "no replicate factor (did you mean 'layout'?)"),
        (f'agreement = "judge", {HELD}', "agreement = 'judge': a channel factor; expected a"),
        (f'agreement = "run", {HELD}', "one level agrees with itself alone"),
        (f'agreement = "wave", wave = ["w1"], {HELD}', "needs two waves or more"),
        (f'agreement = "wave", wave = "w1", {HELD}', "needs two waves or more"),
        (f'agreement = "", {HELD}', "expected a text that is not empty"),
        (f"agreement = 3, {HELD}", "agreement = 3: expected a text"),
        (f"agreement = {{}}, {HELD}", "agreement needs a factor with two levels"),
        (f'agreement = {{ judge = ["a", "b"] }}, {HELD}', "'judge' has two parts"),
        (
            'agreement = { judge = ["a", "b", "c"] }, at = { view = "d" }, state = "after"',
            "agreement: judge needs two levels, second minus first; got ['a', 'b', 'c']",
        ),
        (
            'agreement = { judge = "a" }, at = { view = "d" }, state = "after"',
            "judge = 'a': expected a list of levels",
        ),
        (
            'agreement = { judge = ["a", "z"] }, at = { view = "d" }, state = "after"',
            "judge has no declared level 'z'",
        ),
        (
            'agreement = { judge = ["a", "b"], view = ["d", "g"] }, state = "after"',
            "compares 2 factors",
        ),
        ('agreement = "layout", at = { judge = "a" }, state = "after"', "says nothing about"),
        (f'agreement = "layout", statistic = "median", {HELD}', "statistic does not go with"),
        (f'agreement = "layout", dead_zones = [0.1], {HELD}', "dead_zones does not go with"),
    ],
)
def test_a_wrong_agreement_is_told(entry, words):
    found = faults(CHANGED.format(entry=entry))
    assert any(words in fault for fault in found), found


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            f'agreement = {{ layout = ["1", "2"] }}, {HELD}',
            "agreement = {'layout': ['1', '2']}: 'layout' is a replicate factor, and all of its "
            "levels are compared: write agreement = 'layout'; rows of some levels are kept with "
            "[data] where",
        ),
        (
            f'agreement = {{ wave = ["w1", "w2"] }}, {HELD}',
            "agreement = {'wave': ['w1', 'w2']}: 'wave' is a replicate factor, and all of its "
            "levels are compared: write agreement = 'wave', with wave = ['w1', 'w2'] for some of "
            "them",
        ),
    ],
)
def test_levels_of_a_replicate_have_one_fault_that_says_what_to_write(entry, words):
    assert faults(CHANGED.format(entry=entry)) == (f"[estimands.x] {words}",)


def test_retries_that_agree_everywhere_have_a_rate_of_one(spec_path, verdicts):
    declared = fc.read_spec(spec_path)
    first = verdicts[verdicts["wave"] == "1"]
    data = fc.read_scores(declared, pd.concat([first, first.assign(wave="2")]))
    found = fc.estimate(data, declared, draws=100).set_index("name").loc["retries"]
    complete = first[first["verdict"] != "?"].groupby("item").size() == 4
    assert (found["value"], found["transitions"]) == (1.0, complete.sum())


def test_a_difference_takes_no_rates():
    entry = f'agreement = "layout", {HELD} }}\nd = {{ difference = ["x", "x"]'
    words = "'x' is a rate; differences take means"
    assert any(words in fault for fault in faults(CHANGED.format(entry=entry)))


# --- tables without a change ----------------------------------------------------------------------

JUDGES = """
kind = "scores"
title = "Judges"
[data]
path = "judges.csv"
score = "said"
unit = "item"
channel = { judge = ["a", "b"] }
replicate = { order = ["ab", "ba"], wave = ["1", "2"] }
attributes = ["kind"]
[data.derive]
said = "CASE verdict WHEN 'A' THEN 1 WHEN 'B' THEN 2 WHEN 'tie' THEN 0 END"
[estimands]
a_order = { agreement = "order", at = { judge = "a" } }
retries = { agreement = "wave", average_over = ["judge"] }
judges = { agreement = { judge = ["a", "b"] } }
first_wave = { agreement = { judge = ["a", "b"] }, wave = ["1"], where = { kind = "k1" } }
kinds = { agreement = "order", average_over = ["judge"], between = { kind = ["k0", "k1"] } }
"""


@pytest.fixture(scope="module")
def verdicts():
    generator = np.random.default_rng(11)
    keys = itertools.product([f"i{i:02d}" for i in range(40)], "ab", ["ab", "ba"], "12")
    rows = pd.DataFrame(keys, columns=["item", "judge", "order", "wave"])
    rows["kind"] = "k" + (rows["item"].str[1:].astype(int) % 2).astype(str)
    rows["verdict"] = generator.choice(["A", "A", "A", "B", "tie", "?"], len(rows))
    few = rows.index[generator.random(len(rows)) < 0.7]
    rows.loc[few[rows.loc[few, "verdict"] == "?"], "verdict"] = "A"
    return rows.drop(index=rows.index[[3, 77]]).sample(frac=1, random_state=2)


def plain(verdicts, factor, judges, waves=("1", "2")):
    """Rate of each item by pandas: over what is not compared, None where a verdict is missing."""
    kept = verdicts[verdicts["judge"].isin(list(judges)) & verdicts["wave"].isin(waves)]
    kept = kept[kept["verdict"] != "?"]
    needed = len(judges) * len(waves) * 2
    complete = kept.groupby("item")["verdict"].size() == needed
    rest = [name for name in ("judge", "order", "wave") if name != factor]
    said = kept.groupby(["item", *rest])["verdict"]
    same = said.min() == said.max()
    return same.groupby("item").mean()[complete]


def expected_of(verdicts):
    kind = verdicts.drop_duplicates("item").set_index("item")["kind"]
    both, first = plain(verdicts, "judge", "ab"), plain(verdicts, "judge", "ab", ["1"])
    order = plain(verdicts, "order", "ab")
    first = first[kind[first.index] == "k1"]
    halves = [order[kind[order.index] == level] for level in ("k0", "k1")]
    return {
        "a_order": (plain(verdicts, "order", "a").mean(), len(plain(verdicts, "order", "a"))),
        "retries": (plain(verdicts, "wave", "ab").mean(), len(plain(verdicts, "wave", "ab"))),
        "judges": (both.mean(), len(both)),
        "first_wave": (first.mean(), len(first)),
        "kinds": (halves[1].mean() - halves[0].mean(), len(order)),
    }


@pytest.fixture
def spec_path(tmp_path, verdicts):
    verdicts.to_csv(tmp_path / "judges.csv", index=False)
    (tmp_path / "spec.toml").write_text(JUDGES, encoding="utf-8")
    return tmp_path / "spec.toml"


def test_scores_without_a_change_have_no_state(spec_path, verdicts):
    data = fc.read_scores(fc.read_spec(spec_path))
    assert data["score"].dims == ("transition", "judge", "order", "wave")
    assert scores.factors(data) == {"judge": ["a", "b"]}
    cells = scores.cells(data)
    codes = verdicts.assign(y=verdicts["verdict"].map({"A": 1.0, "B": 2.0, "tie": 0.0}))
    by_cell = codes.groupby(["item", "judge"])["y"].agg(["mean", "count"])
    expected = by_cell["mean"].where(by_cell["count"] == 4)
    np.testing.assert_allclose(cells.values.ravel(), expected.values, rtol=1e-12)
    assert cells["unit"].values.tolist() == sorted(set(verdicts["item"]))


def test_the_funnel_counts_without_a_change(spec_path, verdicts):
    found = fc.funnel(fc.read_scores(fc.read_spec(spec_path)))
    finite = verdicts[verdicts["verdict"] != "?"]
    whole = pd.crosstab(finite["item"], finite["judge"]) == 4
    assert (found["attempted"], found["present"]) == (320, 318)
    assert found["finite"] == len(finite)
    assert found["complete"] == 4 * whole.to_numpy().sum()
    assert found["in_cohort"] == 8 * whole.all(axis=1).sum()
    assert [row["cell"] for row in found["by_channel"]] == [{"judge": "a"}, {"judge": "b"}]


def test_rates_from_the_command_line_are_those_of_pandas(spec_path, verdicts, capsys):
    assert cli.run(["estimate", str(spec_path), "--json", "--draws", "100"]) == 0
    document = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in document["estimates"]}
    for name, (mean, count) in expected_of(verdicts).items():
        assert 0 < count < 40
        assert rows[name]["value"] == pytest.approx(mean, abs=1e-12)
        assert rows[name]["transitions"] == count
        assert (rows[name]["statistic"], rows[name]["method"]) == ("rate", "design")
        low, high = rows[name]["interval"]
        assert low <= rows[name]["value"] <= high


def test_the_doctor_knows_what_there_is_without_a_change(spec_path, verdicts, capsys):
    spec = fc.read_spec(spec_path)
    found = describe_scores(fc.read_scores(spec), spec)
    counts = {entry["name"]: entry["transitions"] for entry in found["estimands"]}
    assert counts == {name: count for name, (_, count) in expected_of(verdicts).items()}
    assert all(entry["identified"] for entry in found["estimands"])
    assert found["next"] == "fourcorner estimate"
    assert found["models"][0]["applies"] is False
    assert cli.run(["doctor", str(spec_path)]) == 0
    assert "nothing is modelled without a [data] change" in " ".join(
        capsys.readouterr().out.split()
    )


def test_nothing_else_is_available_without_a_change(spec_path, capsys):
    spec = fc.read_spec(spec_path)
    data = fc.read_scores(spec)
    with pytest.raises(NotAvailable, match="doctor, the funnel and agreement rates are available"):
        fc.fit(data, spec)
    with pytest.raises(ContrastError, match=r"without .data. change there are agreement rates"):
        fc.estimate(data, fc.gain(judge="a"))
    assert cli.run(["fit", str(spec_path)]) == 1
    assert "nothing is modelled without a [data] change" in capsys.readouterr().err


def test_an_audit_without_a_change_is_its_design_half(spec_path, tmp_path):
    spec = fc.read_spec(spec_path)
    found = fc.audit(fc.read_scores(spec), spec, draws=100)
    assert found.tree is None
    assert "nothing is modelled" in found.not_available[0]
    fc.save_run(found, tmp_path / "run")
    again = fc.load_run(tmp_path / "run")
    xr.testing.assert_identical(again.scores, found.scores)
    pd.testing.assert_frame_equal(again.estimates, found.estimates)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "share of replicate settings in which judge = a and judge = b agree" in page


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "[estimands]",
            "[estimands]\ng = { gain = { judge = 'a' } }",
            "gain needs a [data] change",
        ),
        (
            "[estimands]",
            "[estimands]\no = { omega = { judge = ['a', 'b'] } }",
            "without one there are agreement rates alone",
        ),
        (
            "[estimands]",
            "[estimands]\nd = { difference = ['a', 'b'] }",
            "difference needs a [data]",
        ),
        ("at = { judge = 'a' }", "at = { judge = 'a' }, state = 'after'", "and none is declared"),
        ("[data.derive]", "endpoint = 'e'\n[data.derive]", "names the two ends of a change"),
        ("[estimands]", "[model]\nfamily = 'normal'\n[estimands]", "model needs a [data] change"),
        ("[estimands]", "[priors]\ntau_sd = 1\n[estimands]", "priors needs a [data] change"),
    ],
)
def test_what_needs_a_change_is_told(old, new, words):
    text = JUDGES.replace('"a" }', "'a' }")
    assert old in text
    found = faults(text.replace(old, new))
    assert any(words in fault for fault in found), found


BARE = """
kind = "scores"
[data]
score = "y"
unit = "id"
{more}
[estimands]
r = {{ agreement = "run" }}
"""


def test_no_factor_at_all_but_a_replicate_is_enough():
    spec = fc.parse_spec(BARE.format(more='replicate = { run = ["1", "2", "3"] }'))
    rows = pd.DataFrame(
        [(unit, run, y) for unit, ys in (("a", "557"), ("b", "222"), ("c", "12 ")) for run, y in
         zip("123", ys, strict=True)],
        columns=["id", "run", "y"],
    )  # fmt: skip
    data = fc.read_scores(spec, rows)
    assert fc.estimate(data, spec, draws=100).loc[0, ["value", "count", "units"]].tolist() == [
        0.5,
        1,
        2,
    ]
    assert fc.funnel(data)["by_channel"][0]["cell"] == {}
    with pytest.raises(TableError, match=r"duplicate cells: 1 combination.*several scored things"):
        fc.read_scores(spec, pd.concat([rows, rows.head(1)]))


def test_several_scored_things_of_a_unit_are_its_transitions():
    more = 'transition = "step"\nreplicate = { run = ["1", "2"] }'
    spec = fc.parse_spec(BARE.format(more=more))
    rows = pd.DataFrame(
        [("a", "s1", "1", 1), ("a", "s1", "2", 1), ("a", "s2", "1", 1), ("a", "s2", "2", 2),
         ("b", "s1", "1", 3), ("b", "s1", "2", 3)],
        columns=["id", "step", "run", "y"],
    )  # fmt: skip
    row = fc.estimate(fc.read_scores(spec, rows), spec, draws=100).loc[0]
    assert (row["value"], row["count"], row["units"], row["transitions"]) == (
        pytest.approx(2 / 3),
        2,
        2,
        3,
    )


def test_the_error_of_a_fit_is_one_of_the_package():
    assert issubclass(NotAvailable, FitError)
