"""Option scores: margins by both reducers, limits and their bounds, against plain pandas."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import scores
from fourcorner.errors import SpecError, TableError
from fourcorner.scores import censoring_bounds, funnel, read_scores
from fourcorner.spec import parse_spec

DATA = {
    "option_score": '"logprob"',
    "candidate": '"option"',
    "target": '"gold"',
    "unit": '"id"',
    "change": '{ column = "phase", before = "b", after = "a" }',
    "replicate": '{ layout = ["1", "2"] }',
}
HEADER = ["id", "gold", "phase", "layout", "option", "logprob", "limit"]
CENSORED = '"limit"'


def spec(**changes):
    keys = {**DATA, **changes}
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    return parse_spec(
        "\n".join(['kind = "scores"', "[data]", *lines, "[estimands]", "g = { gain = {} }"])
    )


def options(values, gold=None, limits=()):
    """Rows of scores: values[unit][phase][layout] maps option to score; limits are censored."""
    gold = gold or dict.fromkeys(values, "x")
    return pd.DataFrame(
        [
            (
                unit,
                gold[unit],
                phase,
                layout,
                option,
                score,
                (unit, phase, layout, option) in limits,
            )
            for unit, phases in values.items()
            for phase, layouts in phases.items()
            for layout, scored in layouts.items()
            for option, score in scored.items()
        ],
        columns=HEADER,
    )


def flat(before, after=None):
    """The same scores in both layouts of both units, the after-state being the before-state's."""
    one = {"b": before, "a": after or before}
    return dict.fromkeys(("u", "v"), one)


# Unit u: three options with target x. The layouts disagree about the nearest competitor:
# layout 1 has x 2, y 1, z 0 (margin 1), layout 2 has x 4, y 0, z 3 (margin 1).
# Means are x 3, y .5, z 1.5, so the margin of the means is 1.5 and the mean of margins is 1.
TWO = {"1": {"x": 2.0, "y": 1.0, "z": 0.0}, "2": {"x": 4.0, "y": 0.0, "z": 3.0}}
EVEN = {"1": {"x": 0.0, "y": 1.0, "z": 0.5}, "2": {"x": 0.0, "y": 1.0, "z": 0.5}}


@pytest.mark.parametrize(("reducer", "before"), [(None, 1.5), ("margin_then_mean", 1.0)])
def test_the_reducer_says_whether_options_or_margins_are_averaged(reducer, before):
    declared = spec(reducer=f'"{reducer}"') if reducer else spec()
    found = read_scores(declared, options(flat(TWO, EVEN)))
    np.testing.assert_array_equal(scores.cells(found).values, [[before, -1.0]] * 2)
    np.testing.assert_array_equal(found["score"].values, [[[1, 1], [-1, -1]]] * 2)


@pytest.mark.parametrize("reducer", ["mean_then_margin", "margin_then_mean"])
def test_margins_taken_once_have_the_cells_of_all_waves_and_of_some(reducer):
    generator = np.random.default_rng(0)
    keys = itertools.product(["u", "v", "w", "t"], "ba", "12", ["w0", "w1", "w2"], "xyz")
    rows = pd.DataFrame(keys, columns=["id", "phase", "layout", "wave", "option"])
    rows["gold"] = "x"
    rows["logprob"] = generator.integers(-6, 0, len(rows)).astype(float)
    rows["limit"] = generator.random(len(rows)) < 0.05
    rows.loc[generator.random(len(rows)) < 0.02, "logprob"] = np.nan
    factors = '{ layout = ["1", "2"], wave = ["w0", "w1", "w2"] }'
    declared = spec(reducer=f'"{reducer}"', replicate=factors, censored=CENSORED)
    found = read_scores(declared, rows)
    once = scores.as_margins(found)
    assert "option" not in once.dims
    for wave in ((), ("w0",), ("w2", "w1")):
        wanted, cells = (scores.cells(of, wave) for of in (found, once))
        assert cells.dims == wanted.dims
        assert 0 < np.isnan(wanted.values).sum() < wanted.size
        np.testing.assert_array_equal(cells.values, wanted.values)


def test_options_have_their_places_names_and_the_target_among_them():
    found = read_scores(spec(), options(flat(TWO, EVEN), gold={"u": "x", "v": "z"}))
    assert found["option_score"].dims == ("transition", "state", "layout", "option")
    assert found["option_id"].values.tolist() == [["x", "y", "z"]] * 2
    assert found["target_option"].values.tolist() == [0, 2]
    np.testing.assert_array_equal(found["option_score"].values[0, 0], [[2, 1, 0], [4, 0, 3]])
    # of unit v the target is z: means 1.5 - 3 before, .5 - 1 after
    np.testing.assert_array_equal(scores.cells(found).values[1], [-1.5, -0.5])
    assert not found["censored"].values.any()
    assert scores.factors(found) == {"state": ["before", "after"]}
    assert found["present"].values.all()


def test_units_may_have_candidates_of_their_own():
    rows = options({"u": flat(TWO, EVEN)["u"]})
    other = options({"v": {p: {k: {"x": 5.0, "q": 2.0} for k in "12"} for p in "ba"}})
    found = read_scores(spec(), pd.concat([rows, other]))
    assert found["option_id"].values.tolist() == [["x", "y", "z"], ["q", "x", ""]]
    assert found["target_option"].values.tolist() == [0, 1]
    assert np.isnan(found["option_score"].values[1, ..., 2]).all()
    np.testing.assert_array_equal(scores.cells(found).values, [[1.5, -1.0], [3.0, 3.0]])
    assert found["present"].values.all()


def test_declared_candidates_are_everybodys_in_their_order():
    found = read_scores(spec(candidates='["z", "y", "x"]'), options(flat(TWO, EVEN)))
    assert found["option_id"].values.tolist() == [["z", "y", "x"]] * 2
    np.testing.assert_array_equal(scores.cells(found).values, [[1.5, -1.0]] * 2)


def test_a_declared_candidate_without_a_row_leaves_the_endpoint_incomplete():
    rows = options(flat(TWO, EVEN))
    rows = rows[~((rows["id"] == "u") & (rows["phase"] == "b") & (rows["option"] == "z"))]
    found = read_scores(spec(candidates='["x", "y", "z"]'), rows)
    np.testing.assert_array_equal(scores.cells(found).values, [[np.nan, -1], [1.5, -1]])
    assert funnel(found)["reasons"]["no_row"] == 2


def test_a_binary_readout_scores_a_candidate_by_the_difference_of_its_two_columns():
    rows = options(flat(TWO, EVEN)).assign(no=-4.75).rename(columns={"logprob": "yes"})
    rows["yes"] -= 5.0
    rows.loc[rows["option"] == "x", "no"] = -4.0
    found = read_scores(spec(option_score='{ yes = "yes", no = "no" }'), rows)
    # the target loses 1 and its rivals .25: margins 1.5 - .75 and -1 - .75
    np.testing.assert_allclose(scores.cells(found).values, [[0.75, -1.75]] * 2)
    rows.loc[0, "no"] = np.nan
    found = read_scores(spec(option_score='{ yes = "yes", no = "no" }'), rows)
    assert np.isnan(scores.cells(found).values).sum() == 1


@pytest.mark.parametrize("kind", [float, str])
def test_a_log_probability_above_zero_is_a_fault_that_says_what_to_write(kind):
    rows = options(flat(TWO, EVEN)).assign(no=-0.25).rename(columns={"logprob": "yes"})
    rows["yes"] -= 5.0
    declared = spec(option_score='{ yes = "yes", no = "no" }')
    rows.loc[3, "yes"] = 0.0  # certain
    rows.loc[4, "no"] = 1e-7  # certain but for rounding
    rows.loc[5, "no"] = np.nan
    read_scores(declared, rows.astype({"yes": kind, "no": kind}))
    rows.loc[2, "yes"], rows.loc[6, "no"] = 0.75, 1e-3
    assert faults(declared, rows.astype({"yes": kind, "no": kind})) == (
        "yes: a log-probability above 0; of probabilities take the logarithm with [data.derive], "
        'of other scores derive the difference and declare it as option_score = "…": 1 row(s); '
        "row 3 has '0.75'",
        "no: a log-probability above 0; of probabilities take the logarithm with [data.derive], "
        'of other scores derive the difference and declare it as option_score = "…": 1 row(s); '
        "row 7 has '0.001'",
    )


def test_a_margin_of_differences_that_tie_but_for_rounding_is_zero():
    assert -112.3 + 112.2 != -0.3 + 0.2
    rows = options(flat({k: {"x": -112.3, "y": -0.3} for k in "12"}))
    rows = rows.rename(columns={"logprob": "yes"})
    rows["no"] = rows["yes"] + 0.1
    rows["no"] = rows["no"].round(1)
    after = (rows["id"] == "v") & (rows["phase"] == "a") & (rows["option"] == "x")
    rows.loc[after, ["yes", "no"]] = -112.3 + 1e-9, -112.2
    for reducer in ("mean_then_margin", "margin_then_mean"):
        declared = spec(option_score='{ yes = "yes", no = "no" }', reducer=f'"{reducer}"')
        found = read_scores(declared, rows)
        cells = scores.cells(found).values
        assert cells.ravel()[:3].tolist() == [0, 0, 0]
        assert cells[1, 1] == pytest.approx(1e-9, rel=1e-3)  # what is more than rounding stays
        assert found["score"].values[0].tolist() == [[0, 0], [0, 0]]
        assert scores.cells(scores.as_margins(found)).values.tolist() == cells.tolist()


def test_candidates_and_targets_are_compared_as_canonical_text():
    rows = options(flat({k: {"1": 2.0, "2": 1.0} for k in "12"}), gold={"u": "1", "v": "1"})
    floats = rows.assign(option=rows["option"].astype(float), gold=rows["gold"].astype(int))
    for declared in (spec(), spec(candidates='["1", 2]')):
        found = read_scores(declared, floats)
        assert found["option_id"].values.tolist() == [["1", "2"]] * 2
        assert (scores.cells(found).values == 1).all()


# --- limits ---------------------------------------------------------------------------------------


def one_cell(scored, limits):
    """Cells and bounds of a unit with the same scored options in both layouts, some censored."""
    layouts = {"1": scored, "2": scored}
    censored = {("u", "b", layout, option) for layout in "12" for option in limits}
    found = read_scores(spec(censored=CENSORED), options(flat(layouts), limits=censored))
    low, high = censoring_bounds(found)
    cell = scores.cells(found)
    assert low.dims == high.dims == cell.dims
    np.testing.assert_array_equal(cell.values[1], [low.values[1, 0]] * 2)
    return tuple(float(array.values[0, 0]) for array in (cell, low, high))


@pytest.mark.parametrize(
    ("limits", "cell", "low", "high"),
    [
        ("", 2, 2, 2),
        ("z", 2, 2, 2),  # the limit of z, 1, is below the best exact rival, 3
        ("y", np.nan, 2, 4),  # y may be anything up to 3, then z is the rival at 1
        ("yz", np.nan, 2, np.inf),
        ("x", np.nan, -np.inf, 2),
        ("xz", np.nan, -np.inf, 2),
        ("xyz", np.nan, -np.inf, np.inf),
    ],
)
def test_a_limit_below_the_best_exact_rival_leaves_the_margin_exact(limits, cell, low, high):
    found = one_cell({"x": 5.0, "y": 3.0, "z": 1.0}, limits)
    np.testing.assert_array_equal(found, (cell, low, high))


def test_a_limit_at_the_best_exact_rival_leaves_the_margin_exact():
    assert one_cell({"x": 5.0, "y": 3.0, "z": 3.0}, "z") == (2, 2, 2)


# In layout 1 rival z is a limit of 4 above the exact y of 0; in layout 2 it is exactly -8.
# Mean of z: at most (4 - 8) / 2 = -2, below the mean of y, 0: exact as mean_then_margin, and not
# as margin_then_mean, where layout 1 alone is between 5 - 4 and 5 - 0.
MIXED = {"1": {"x": 5.0, "y": 0.0, "z": 4.0}, "2": {"x": 5.0, "y": 0.0, "z": -8.0}}


def test_a_mean_is_a_limit_where_any_part_is_one():
    rows = options(flat(MIXED), limits={("u", "b", "1", "z")})
    found = read_scores(spec(censored=CENSORED), rows)
    assert scores.cells(found).values[0].tolist() == [5, 5]
    assert np.isnan(found["score"].values[0, 0, 0])
    other = read_scores(spec(censored=CENSORED, reducer='"margin_then_mean"'), rows)
    low, high = censoring_bounds(other)
    assert np.isnan(scores.cells(other).values[0, 0])
    assert (float(low[0, 0]), float(high[0, 0])) == ((1 + 5) / 2, (5 + 5) / 2)


def test_bounds_are_nan_where_something_else_is_missing():
    rows = options(flat(MIXED), limits={("u", "b", "1", "z")})
    rows.loc[(rows["id"] == "u") & (rows["phase"] == "b") & (rows["option"] == "y"), "logprob"] = (
        np.nan
    )
    low, high = censoring_bounds(read_scores(spec(censored=CENSORED), rows))
    assert np.isnan([low.values[0, 0], high.values[0, 0]]).all()
    assert np.isfinite(low.values[1]).all()


def test_the_bounds_of_margins_are_the_cells():
    rows = options(flat(TWO)).query("option == 'x'")
    declared = spec(option_score=None, candidate=None, target=None, score='"logprob"')
    found = read_scores(declared, rows)
    for bound in censoring_bounds(found):
        np.testing.assert_array_equal(bound.values, scores.cells(found).values)


def test_the_funnel_says_what_a_limit_costs():
    limits = {("u", "b", layout, "y") for layout in "12"}
    rows = options(flat({k: {"x": 5.0, "y": 3.0, "z": 1.0} for k in "12"}), limits=limits)
    rows = rows.drop(rows[(rows["id"] == "v") & (rows["layout"] == "2")].index[:1])
    rows.loc[(rows["id"] == "v") & (rows["phase"] == "a") & (rows["option"] == "z"), "logprob"] = (
        np.nan
    )
    found = funnel(read_scores(spec(censored=CENSORED), rows))
    stages = ("attempted", "present", "finite", "complete", "in_cohort")
    # u: before censored in both layouts, after whole; v: before lacks a row in layout 2 and after
    # lacks z in both
    assert [found[stage] for stage in stages] == [8, 7, 5, 2, 0]
    assert found["reasons"] == {
        "no_row": 1,
        "blank": 2,
        "censored": 2,
        "other_replicate_missing": 1,
        "other_cell_missing": 2,
    }
    for row in (*found["by_channel"], *found["by_replicate"]):
        assert sum(row["reasons"].values()) == row["attempted"] - row["in_cohort"]


@settings(max_examples=20, deadline=None)
@given(st.data(), st.sampled_from(["mean_then_margin", "margin_then_mean"]))
def test_cells_and_bounds_equal_brute_force(data, reducer):
    value = st.integers(-3, 3).map(float)
    values = {
        unit: {phase: {k: {o: data.draw(value) for o in "xyz"} for k in "12"} for phase in "ba"}
        for unit in "uv"
    }
    keys = list(itertools.product("uv", "ba", "12", "xyz"))
    limits = set(data.draw(st.lists(st.sampled_from(keys), max_size=8)))
    found = read_scores(
        spec(censored=CENSORED, reducer=f'"{reducer}"'), options(values, limits=limits)
    )
    cells, (low, high) = scores.cells(found), censoring_bounds(found)
    for i, unit in enumerate("uv"):
        for j, phase in enumerate("ba"):
            ends = extremes(values[unit][phase], unit, phase, limits, reducer)
            assert (float(low[i, j]), float(high[i, j])) == pytest.approx(ends)
            assert bool(np.isnan(cells[i, j])) == (ends[0] != ends[1])


def extremes(layouts, unit, phase, limits, reducer):
    """Least and greatest margin with each limit either reached or far below."""
    places = [(k, o) for k in "12" for o in "xyz" if (unit, phase, k, o) in limits]
    found = []
    for chosen in itertools.product([0.0, 1e9], repeat=len(places)):
        moved = dict(zip(places, chosen, strict=True))
        now = {k: {o: layouts[k][o] - moved.get((k, o), 0) for o in "xyz"} for k in "12"}
        mean = {o: (now["1"][o] + now["2"][o]) / 2 for o in "xyz"}
        each = [mean] if reducer == "mean_then_margin" else list(now.values())
        found.append(np.mean([c["x"] - max(c["y"], c["z"]) for c in each]))
    return tuple(np.sign(x) * np.inf if abs(x) > 1e8 else x for x in (min(found), max(found)))


@pytest.mark.parametrize(
    "texts", [("True", "False"), ("true", "FALSE"), ("1", "0"), ("1.0", "0.0")]
)
def test_a_flag_is_true_false_one_or_zero_in_any_spelling(texts):
    rows = options(flat({k: {"x": 5.0, "y": 3.0} for k in "12"}), limits={("u", "b", "1", "y")})
    rows["limit"] = np.where(rows["limit"], *texts)
    found = read_scores(spec(censored=CENSORED), rows)
    assert np.argwhere(found["censored"].values).tolist() == [[0, 0, 0, 1]]


def test_a_flag_that_says_neither_is_a_fault_unless_nothing_was_measured():
    rows = options(flat(TWO)).astype({"limit": object})
    rows.loc[3, "limit"] = "maybe"
    (fault,) = faults(spec(censored=CENSORED), rows)
    assert fault == "limit: neither true nor false: 1 row(s); row 4 has 'maybe'"
    rows.loc[3, ["limit", "logprob"]] = [None, np.nan]
    found = read_scores(spec(censored=CENSORED), rows)
    assert np.isnan(found["option_score"].values).sum() == 1


# --- faults ---------------------------------------------------------------------------------------


def faults(declared, rows):
    with pytest.raises(TableError) as caught:
        read_scores(declared, rows)
    return caught.value.faults


def test_a_target_that_is_no_candidate_is_a_fault():
    rows = options(flat(TWO), gold={"u": "q", "v": "x"})
    assert faults(spec(), rows) == (
        "gold: the target of 1 unit(s) is none of the candidates, e.g. unit 'u' has 'q', "
        "candidates ['x', 'y', 'z']",
    )


def test_a_target_that_changes_within_its_unit_is_a_fault():
    rows = options(flat(TWO))
    rows.loc[0, "gold"] = "y"
    assert faults(spec(), rows)[0].startswith("gold changes within 1 unit(s), e.g. unit 'u' has")


def test_an_empty_target_or_candidate_is_a_fault():
    rows = options(flat(TWO))
    rows.loc[1, "option"] = ""
    rows.loc[2, "gold"] = None
    assert [fault.split(": 1 row")[0] for fault in faults(spec(), rows)] == [
        "gold: an empty target",
        "option: an empty candidate",
    ]


def test_a_single_candidate_has_no_competitor():
    rows = options({**flat(TWO), "w": {p: {k: {"x": 1.0} for k in "12"} for p in "ba"}})
    assert faults(spec(), rows) == (
        "option: 1 unit(s) have a single candidate, e.g. unit 'w'; a margin needs the target and "
        "a competitor",
    )


def test_a_candidate_that_is_not_declared_or_nowhere_is_a_fault():
    found = faults(spec(candidates='["x", "y", "w"]'), options(flat(TWO)))
    assert found[0].startswith("option: level(s) that the spec does not declare: 'z' (8 row(s)")
    assert found[1] == "option: declared level(s) nowhere in the data: ['w']"
    assert faults(spec(candidates='["x", "y", "z", "w"]'), options(flat(TWO))) == found[1:]


def test_the_same_option_twice_is_a_duplicate():
    rows = options(flat(TWO))
    twice = pd.concat([rows, rows.iloc[[4]]], ignore_index=True)
    (fault,) = faults(spec(), twice)
    assert fault.startswith("duplicate cells: 1 combination(s) have more than one row, e.g. unit "
                            "'u' at row 5 and row 25")  # fmt: skip


def test_an_infinite_or_odd_option_score_is_a_fault():
    rows = options(flat(TWO)).astype({"logprob": object})
    rows.loc[0, "logprob"], rows.loc[1, "logprob"] = "-inf", "low"
    assert [fault.split(":")[1].strip() for fault in faults(spec(), rows)] == [
        "an infinite score",
        "a score that is not a number (blank or NaN means not measured)",
    ]


def test_the_order_of_rows_and_the_number_of_chunks_never_matter(tmp_path):
    rows = options(flat(TWO, EVEN), limits={("u", "b", "1", "z")})
    whole = read_scores(spec(censored=CENSORED), rows)
    shuffled = read_scores(spec(censored=CENSORED), rows.sample(frac=1, random_state=2))
    xr.testing.assert_identical(shuffled, whole)
    for place in range(3):
        rows.iloc[place * 9 : (place + 1) * 9].to_csv(tmp_path / f"{place}.csv", index=False)
    parts = read_scores(spec(censored=CENSORED), tmp_path / "*.csv")
    xr.testing.assert_equal(parts, whole)


def test_option_scores_go_to_netcdf_and_back(tmp_path):
    found = read_scores(
        spec(censored=CENSORED), options(flat(MIXED), limits={("u", "b", "1", "z")})
    )
    found.to_netcdf(tmp_path / "scores.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "scores.nc", engine="h5netcdf") as opened:
        back = opened.load()
    xr.testing.assert_identical(back, found)
    assert funnel(back) == funnel(found)


# --- keys -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"score": '"y"'}, "score and option_score are both given"),
        ({"option_score": None}, "needs the key 'score' (a column of margins) or 'option_score'"),
        ({"option_score": "1"}, "option_score = 1: expected a text"),
        ({"option_score": '{ yes = "p" }'}, "[data.option_score] needs the key 'no'"),
        ({"option_score": '{ yes = "p", no = "q", maybe = "r" }'}, "unknown key 'maybe'"),
        ({"option_score": '{ yes = "p", no = "p" }'}, "'p' is both option_score and option_score"),
        ({"candidate": None}, "needs the key 'candidate'"),
        ({"target": None}, "needs the key 'target'"),
        ({"candidates": '["x"]'}, "expected 2 level(s) or more"),
        ({"candidates": '["x", "x"]'}, "a level is named twice"),
        ({"candidates": '"x"'}, "candidates = 'x': expected a list of levels"),
        ({"reducer": '"mean_then_margins"'}, "(did you mean 'mean_then_margin'?)"),
        ({"censored": "true"}, "censored = True: expected a text"),
        ({"target": '"option"'}, "column 'option' is both target and candidate"),
    ],
)
def test_a_key_that_does_not_fit_is_told(changes, words):
    with pytest.raises(SpecError) as caught:
        spec(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "key", ['candidate = "c"', 'target = "t"', 'candidates = ["x", "y"]', 'censored = "l"',
            'reducer = "margin_then_mean"'],
)  # fmt: skip
def test_a_key_of_options_without_option_scores_is_told(key):
    name, value = key.split(" = ", 1)
    changes = {
        **dict.fromkeys(["option_score", "candidate", "target"]),
        "score": '"y"',
        name: value,
    }
    with pytest.raises(SpecError, match=f"{name} goes with option_score alone"):
        spec(**changes)


def test_the_target_may_be_the_stratum():
    found = read_scores(spec(stratum='"gold"'), options(flat(TWO), gold={"u": "x", "v": "y"}))
    assert found["stratum"].values.tolist() == ["x", "y"]
    assert found["target_option"].values.tolist() == [0, 1]


def test_means_that_tie_but_for_rounding_have_no_margin():
    # the target's layouts cancel; the rival's have the same mean in other terms
    layouts = {"t": (0.1, 0.2, -0.3), "r": (0.0, 0.0, 0.0)}
    apart = {"t": (10.1, -9.9, 0.1), "r": (0.1, 0.1, 0.1)}
    assert 0.1 + 0.2 - 0.3 != 0
    assert 10.1 - 9.9 + 0.1 != 0.1 + 0.1 + 0.1
    rows = [
        (unit, state, "v", option, f"L{i}", score)
        for unit, after in (("u", layouts), ("w", apart))
        for state, scores in (("before", {"t": (1.0,) * 3, "r": (0.0,) * 3}), ("after", after))
        for option, given in scores.items()
        for i, score in enumerate(given)
    ]
    columns = ["unit", "state", "view", "option", "layout", "score"]
    spec = parse_spec(
        """
kind = "scores"
[data]
option_score = "score"
candidate = "option"
target = "gold"
unit = "unit"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["v", "w"] }
replicate = { layout = ["L0", "L1", "L2"] }
[estimands]
g = { gain = { view = "v" } }
"""
    )
    frame = pd.DataFrame(rows, columns=columns).assign(gold="t")
    frame = pd.concat([frame, frame.assign(view="w")])
    found = scores.cells(read_scores(spec, frame)).sel(view="v")
    assert found.values.tolist() == [[1.0, 0.0], [1.0, 0.0]]
