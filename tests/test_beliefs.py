"""Beliefs before and after, against plain loops over softmaxes, and their place in the engine."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import softmax
from scipy.stats import entropy

import fourcorner as fc
from fourcorner import names
from fourcorner.bayes.answers import why_not
from fourcorner.contrasts import gain, omega
from fourcorner.design import engine
from fourcorner.design.applied import applied
from fourcorner.design.beliefs import RULES, endpoint
from fourcorner.design.beliefs import values as values_of
from fourcorner.design.breakdowns import breakdowns
from fourcorner.estimands import Estimand, beliefs
from fourcorner.measures import BELIEFS, Measure
from fourcorner.scores import log_softmax
from fourcorner.weights import resolve_all

REPO = Path(__file__).parents[1]
EMPIRICAL = {"empirical": "empirical"}
MEASURES = (
    "entropy_movement", "surprise", "margin_gain", "pivot", "damage", "repair",
)  # fmt: skip
HEADER = ["task", "step", "kind", "gold", "phase", "view", "layout", "wave", "option", "y", "limit"]
DATA = """
kind = "scores"
[data]
option_score = "y"
candidate = "option"
target = "gold"
censored = "limit"
unit = "task"
transition = "step"
change = { column = "phase", before = "b", after = "a" }
channel = { view = ["p", "q"] }
replicate = { layout = ["1", "2"], wave = ["i", "ii"] }
attributes = ["kind"]
"""
ASKED = """
[estimands]
b = { beliefs = { view = "q" } }
"""


def spec(lines=ASKED, **changes):
    data = DATA
    for old, new in changes.items():
        assert old in data
        data = data.replace(old, new)
    return fc.parse_spec(data + lines)


def frame(states, *, kind=None, limits=(), cells=None):
    """Scores of steps: states[task, step] holds the options' scores before and after.

    They are the same in every view, layout and wave of `cells`.
    """
    cells = cells or list(itertools.product("pq", "12", ["i", "ii"]))
    rows = [
        (
            *(task, step, (kind or {}).get((task, step), "k"), "x", phase),
            *(*cell, option, y, (task, step, phase, cell[0], option) in limits),
        )
        for (task, step), both in states.items()
        for phase, scored in zip("ba", both, strict=True)
        for cell in cells
        for option, y in scored.items()
    ]
    return pd.DataFrame(rows, columns=HEADER)


def estimated(scores, declared=None, **options):
    declared = declared or spec()
    found = fc.estimate(fc.read_scores(declared, scores), declared, **{"draws": 100, **options})
    return found.set_index("name")


# --- one transition -------------------------------------------------------------------------------


def values(before, after, target, kind):
    """A measure of options that were scored as they are."""
    return values_of(endpoint(before), endpoint(after), target, kind)


def taken(kind, before, after, target=0):
    """A measure of a single transition in a single setting."""
    pair = (np.array(of, dtype=float)[None, None] for of in (before, after))
    (found,) = values(*pair, np.array([target]), kind)
    return found


def test_every_measure_has_words_and_a_rule():
    assert set(BELIEFS) == {*RULES, "margin_gain"} == set(MEASURES)
    assert [measure.statistic for measure in map(Measure, MEASURES)] == ["mean"] * 3 + ["rate"] * 3
    assert len({Measure(kind).description for kind in MEASURES}) == len(MEASURES)


def test_hand_worked_movement_of_a_belief():
    # shares 1/2, 1/4, 1/4 become 1/4, 1/2, 1/4: H is 3/2 log 2 both times,
    # KL = 1/4 log(1/2) + 1/2 log 2 + 0
    before, after = np.log([0.5, 0.25, 0.25]), np.log([0.25, 0.5, 0.25])
    assert taken("entropy_movement", before, after) == pytest.approx(0, abs=1e-15)
    assert taken("surprise", before, after) == pytest.approx(np.log(2) / 4)
    # from 1/2, 1/2 to 3/4, 1/4: H falls by log 2 - (3/4 log 4/3 + 1/4 log 4)
    before, after = np.log([0.5, 0.5]), np.log([0.75, 0.25])
    fall = np.log(2) - (0.75 * np.log(4 / 3) + 0.25 * np.log(4))
    assert taken("entropy_movement", before, after) == pytest.approx(-fall)
    assert taken("surprise", before, after) == pytest.approx(fall)


def test_entropy_stands_still_while_surprise_moves():
    before, after = [0.0, -20.0, -20.0], [-20.0, 0.0, -20.0]
    assert taken("entropy_movement", before, after) == 0
    lost = 2 * np.exp(-20)  # of a share of one, to first order
    assert taken("surprise", before, after) == pytest.approx(20 * (1 - 1.5 * lost), rel=1e-12)
    assert [taken(kind, before, after) for kind in ("pivot", "damage", "repair")] == [1, 1, 0]


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_beliefs_a_thousand_nats_apart_are_finite_and_exact(shift):
    before, after = np.array([0.0, -1000.0, -3000.0]), np.array([-1000.0, 0.0, -2000.0])
    assert taken("surprise", before, after + shift) == 1000
    assert taken("entropy_movement", before + shift, after) == 0
    # all of a half goes to the first: log 2
    assert taken("surprise", [0.0, 0.0], [1e5, -1e5]) == pytest.approx(np.log(2))
    assert taken("entropy_movement", [0.0, 0.0], [1e5, -1e5]) == pytest.approx(-np.log(2))
    assert taken("surprise", [1e5, -1e5], [0.0, 0.0]) == pytest.approx(1e5 - np.log(2))


def test_a_small_surprise_is_not_lost_to_rounding():
    # one log-odds moves by d about zero: KL is d²/8 to second order
    assert taken("surprise", [0.0, 0.0], [1e-6, 0.0]) == pytest.approx(1e-12 / 8, rel=1e-5)


@pytest.mark.parametrize(
    ("before", "after", "pivot", "damage", "repair"),
    [
        ([2, 1, 0], [2, 0, 1], 0, 0, 0),
        ([2, 1, 0], [1, 2, 0], 1, 1, 0),
        ([1, 2, 0], [2, 1, 0], 1, 0, 1),
        ([1, 2, 0], [1, 0, 2], 1, 0, 0),
        ([2, 2, 0], [0, 0, 2], 0, 0, 0),  # nobody is alone on top before
        ([2, 1, 0], [2, 2, 0], 0, 0, 0),  # nor after
        ([2, 1, 0], [0, 2, 2], 0, 1, 0),  # below two that tie: damage without a pivot
        ([0, 2, 2], [2, 1, 0], 0, 0, 1),
        ([2, 2, 0], [1, 2, 0], 0, 0, 0),  # the margin was zero
        ([0.1 + 0.2, 0.3, 0], [0, 1, 0], 0, 0, 0),  # 0.1 + 0.2 is 0.3 but for rounding
    ],
)
def test_hand_worked_events(before, after, pivot, damage, repair):
    found = [taken(kind, before, after) for kind in ("pivot", "damage", "repair")]
    assert found == [pivot, damage, repair]


def pairs(most):
    """Scores before and after of some transitions in some settings, whole numbers."""
    shape = arrays.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=4).filter(
        lambda sides: sides[2] > 1
    )
    whole = st.integers(-most, most).map(float)
    return shape.flatmap(lambda sides: arrays.arrays(float, (2, *sides), elements=whole))


@given(pairs(3000))
def test_surprise_is_never_negative_and_nothing_is_infinite(both):
    before, after = both
    target = np.zeros(len(before), dtype=int)
    found = {kind: values(before, after, target, kind) for kind in RULES}
    assert np.isfinite(list(found.values())).all()
    assert (found["surprise"] >= 0).all()
    most = np.log(before.shape[-1])
    assert (np.abs(found["entropy_movement"]) <= most * (1 + 1e-12)).all()


@given(pairs(3), st.integers(-5, 5))
def test_no_surprise_exactly_where_the_beliefs_are_the_same(both, shift):
    before, after = both
    after[0] = before[0] + shift
    found = values(before, after, np.zeros(len(before), dtype=int), "surprise")
    moved = after - before
    same = (moved == moved[..., :1]).all(axis=(1, 2))
    assert same[0]
    np.testing.assert_array_equal(found == 0, same)


@given(pairs(30), st.data())
def test_a_constant_another_order_or_a_place_without_a_candidate_changes_nothing(both, data):
    before, after = both
    rows, _, options = before.shape
    target = np.array(
        data.draw(st.lists(st.integers(0, options - 1), min_size=rows, max_size=rows))
    )
    order = np.array(data.draw(st.permutations(range(options))))
    shifted = [of + data.draw(st.integers(-9, 9)) for of in both]
    padded = [np.concatenate([of, np.full((*of.shape[:2], 2), -np.inf)], axis=2) for of in both]
    for kind in RULES:
        found = values(before, after, target, kind)
        other = {
            "order": values(before[..., order], after[..., order], np.argsort(order)[target], kind),
            "shifted": values(*shifted, target, kind),
            "padded": values(*padded, target, kind),
        }
        for name, again in other.items():
            np.testing.assert_allclose(
                again, found, rtol=1e-9, atol=1e-12, err_msg=f"{kind} {name}"
            )


def test_log_beliefs_are_shares_of_one_and_minus_infinity_where_there_is_no_candidate():
    logs = log_softmax(np.array([[0.0, np.log(3), -np.inf], [-5000.0, -5000.0, 0.0]]))
    np.testing.assert_allclose(np.exp(logs), [[0.25, 0.75, 0], [0, 0, 1]])
    assert logs[0, 2] == -np.inf
    assert logs[1, 0] == -5000


# --- tables: every measure against loops ----------------------------------------------------------


@st.composite
def tables(draw):
    """Ragged candidates and steps; some rows missing, some scores blank or censored."""
    tasks = {
        task: draw(st.lists(st.sampled_from("wxyz"), min_size=2, max_size=4, unique=True))
        for task in "tuv"[: draw(st.integers(2, 3))]
    }
    steps = {task: draw(st.integers(1, 2)) for task in tasks}
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.sampled_from([1.0, 0.37, 8.0]))
    places = itertools.product("ba", "pq", "12", ["i", "ii"])
    rows = [
        (task, str(step), "k", options[0], *place, option, size * generator.integers(-3, 4), False)
        for place in places
        for task, options in tasks.items()
        for step in range(steps[task])
        for option in options
    ]
    found = pd.DataFrame(rows, columns=HEADER)
    some = st.lists(st.integers(0, len(found) - 1), max_size=2, unique=True)
    found.loc[draw(some), "y"] = np.nan
    found.loc[draw(some), "limit"] = True
    return found.drop(index=draw(some)).reset_index(drop=True)


def one(before, after, target):
    """The measures of one setting from the scores of each option."""
    options = sorted(before)
    first, second = (np.array([of[o] for o in options]) for of in (before, after))
    margins = [of[target] - max(y for o, y in of.items() if o != target) for of in (before, after)]
    tops = [[o for o in options if of[o] == max(of.values())] for of in (before, after)]
    return {
        "entropy_movement": entropy(softmax(second)) - entropy(softmax(first)),
        "surprise": entropy(softmax(second), softmax(first)),
        "margin_gain": margins[1] - margins[0],
        "pivot": [len(top) for top in tops] == [1, 1] and tops[0] != tops[1],
        "damage": margins[0] > 0 > margins[1],
        "repair": margins[0] < 0 < margins[1],
    }


def by_loops(scores, task, step, views, waves, reducer):
    """Measures of one transition averaged over its settings; None where a score is missing."""
    own = scores[scores["task"] == task]
    options, target = sorted(set(own["option"])), own["gold"].iloc[0]
    own = own[(own["step"] == step) & own["y"].notna() & ~own["limit"]]
    found = dict(zip(zip(*(own[c] for c in HEADER[4:9]), strict=True), own["y"], strict=True))
    needed = list(itertools.product("ba", views, "12", waves, options))
    if any(place not in found for place in needed):
        return None
    each = []
    for view, wave in itertools.product(views, waves):
        layouts = ["12"] if reducer == "mean_then_margin" else ["1", "2"]
        for kept in layouts:
            state = {
                s: {o: np.mean([found[s, view, k, wave, o] for k in kept]) for o in options}
                for s in "ba"
            }
            each.append(one(state["b"], state["a"], target))
    return {kind: np.mean([setting[kind] for setting in each]) for kind in MEASURES}


@settings(max_examples=30, deadline=None)
@given(
    tables(),
    st.sampled_from(["mean_then_margin", "margin_then_mean"]),
    st.sampled_from([("p",), ("q",), ("p", "q")]),
    st.sampled_from([(), ("i",), ("ii", "i")]),
)
def test_every_measure_is_that_of_loops(scores, reducer, views, waves):
    declared = spec(**{"[data]": f'[data]\nreducer = "{reducer}"'})
    data = engine.sample(fc.read_scores(declared, scores))
    asked = beliefs("b", gain(at={"view": list(views)}), wave=waves)
    found = {
        row.name.removeprefix("b."): of.values
        for row, of in zip(asked.values(), applied(data, list(asked.values())), strict=True)
    }
    assert tuple(found) == MEASURES
    owners = zip(data.scores["unit"].values, data.scores["transition_id"].values, strict=True)
    for i, (task, step) in enumerate(owners):
        expected = by_loops(scores, task, step, views, waves or ("i", "ii"), reducer)
        for kind in MEASURES:
            wanted = np.nan if expected is None else expected[kind]
            assert found[kind][i] == pytest.approx(wanted, rel=1e-9, abs=1e-12, nan_ok=True)


# --- the engine's rows ----------------------------------------------------------------------------

# a: the target is lost to y; b: nothing moves; c: the target is found again, from a tie of others
SEED = {
    ("a", "1"): ({"x": 0.0, "y": -30.0, "z": -30.0}, {"x": -30.0, "y": 0.0, "z": -30.0}),
    ("a", "2"): ({"x": 1.0, "y": 0.0, "z": 0.0}, {"x": 1.0, "y": 0.0, "z": 0.0}),
    ("b", "1"): ({"x": -1.0, "y": 0.0, "z": 0.0}, {"x": 9.0, "y": 0.0, "z": 0.0}),
}


def test_rows_are_means_and_rates_of_the_same_transitions():
    found = estimated(frame(SEED))
    assert list(found.index) == [f"b.{kind}" for kind in MEASURES]
    assert found["statistic"].tolist() == ["mean"] * 3 + ["rate"] * 3
    moved = [one(*both, "x") for both in SEED.values()]
    expected = {f"b.{kind}": np.mean([of[kind] for of in moved]) for kind in MEASURES}
    assert found["value"].to_dict() == pytest.approx(expected, abs=1e-12)
    assert found.loc[["b.pivot", "b.damage", "b.repair"], "count"].tolist() == [1, 1, 1]
    assert (found["transitions"] == 3).all()
    assert (found["units"] == 2).all()


def test_weights_groups_and_units_are_those_of_any_mean():
    kinds = {("a", "1"): "k", ("a", "2"): "l", ("b", "1"): "l"}
    lines = """
    [estimands]
    by_unit = { beliefs = { view = "q" }, weight_by = "unit" }
    where = { beliefs = { view = "q" }, where = { kind = "l" } }
    groups = { beliefs = { view = "q" }, between = { kind = ["k", "l"] } }
    """
    found = estimated(frame(SEED, kind=kinds), spec(lines))["value"]
    first, second, third = (one(*both, "x") for both in SEED.values())
    for kind in MEASURES:
        a, b, c = first[kind], second[kind], third[kind]
        assert found[f"by_unit.{kind}"] == pytest.approx(((a + b) / 2 + c) / 2, abs=1e-12)
        assert found[f"where.{kind}"] == pytest.approx((b + c) / 2, abs=1e-12)
        assert found[f"groups.{kind}"] == pytest.approx((b + c) / 2 - a, abs=1e-12)


def test_an_average_over_channels_needs_them_all():
    cells = [("p", "1", "i"), ("q", "1", "i")]
    declared = fc.parse_spec(
        DATA.replace('["1", "2"], wave = ["i", "ii"]', '["1"], wave = ["i"]')
        + "[estimands]\nb = { beliefs = {}, average_over = ['view'] }"
    )
    scores = frame(SEED, cells=cells)
    at_p = (scores["view"] == "p") & (scores["task"] == "a") & (scores["phase"] == "a")
    scores.loc[at_p & (scores["step"] == "1"), "y"] = [0.0, -30.0, -30.0]  # stays where it was
    found = estimated(scores, declared)
    moved = [one(*both, "x") for both in SEED.values()]
    expected = (moved[0]["surprise"] / 2 + moved[1]["surprise"] + moved[2]["surprise"]) / 3
    assert found.loc["b.surprise", "value"] == pytest.approx(expected)
    assert found.loc["b.pivot", "value"] == pytest.approx((1 / 2) / 3)
    assert found.loc["b.pivot", "count"] is None
    scores.loc[at_p & (scores["step"] == "2") & (scores["option"] == "z"), "y"] = np.nan
    assert (estimated(scores, declared)["transitions"] == 2).all()


def test_a_limit_leaves_the_gain_and_no_belief():
    limits = {("a", "2", "b", "q", "z")}  # z ties with y, so the margin is exact all the same
    lines = ASKED + 'g = { gain = { view = "q" } }'
    found = estimated(frame(SEED, limits=limits), spec(lines))
    assert found.loc["g", "transitions"] == 3
    of_beliefs = found.drop(index="g")
    assert (of_beliefs["transitions"] == 2).all()
    assert all(
        "left out: 1 transition in which some score is only an upper limit" in notes[0]
        for notes in of_beliefs["notes"]
    )
    moved = [one(*SEED[step], "x")["margin_gain"] for step in (("a", "1"), ("b", "1"))]
    assert found.loc["b.margin_gain", "value"] == pytest.approx(np.mean(moved))
    everywhere = {(task, step, "b", "q", "z") for task, step in SEED}
    refused = estimated(frame(SEED, limits=everywhere), spec(lines))["refused"]
    assert refused["g"] is None
    assert refused["b.pivot"]["reason"] == "no_complete_transition"
    assert refused["b.pivot"]["message"] == (
        "no transition is complete in every cell of the rows of b, with the exact score of every "
        "candidate; left out: 3 transitions in which some score is only an upper limit"
    )


def test_a_limit_on_another_channel_or_wave_does_not_matter():
    limits = {(task, step, "b", "p", "z") for task, step in SEED}
    assert (estimated(frame(SEED, limits=limits))["transitions"] == 3).all()
    scores = frame(SEED)
    scores.loc[scores["wave"] == "ii", "limit"] = True
    lines = '[estimands]\nb = { beliefs = { view = "q" }, wave = ["i"] }'
    assert (estimated(scores, spec(lines))["transitions"] == 3).all()


def test_margins_have_no_beliefs():
    scores = frame(SEED).query("option == 'x'").drop(columns=["option", "gold", "limit"])
    lines = DATA.replace("option_score", "score").replace('candidate = "option"\n', "")
    lines = lines.replace('target = "gold"\n', "").replace('censored = "limit"\n', "")
    with pytest.raises(fc.SpecError, match="beliefs need the score of every candidate"):
        fc.parse_spec(lines + ASKED)
    data = fc.read_scores(
        fc.parse_spec(lines + "[estimands]\ng = { gain = { view = 'q' } }"), scores
    )
    found = fc.estimate(data, fc.beliefs("b", fc.gain(view="q")))
    assert found["value"].isna().all()
    assert {row["reason"] for row in found["refused"]} == {"no_options"}


def test_an_average_over_unlinked_scales_is_refused():
    scaled = {"[data]": '[data]\nscale = ["view"]'}
    lines = """
    [estimands]
    b = { beliefs = {}, average_over = ["view"] }
    q = { beliefs = { view = "q" } }
    """
    refused = estimated(frame(SEED), spec(lines, **scaled))["refused"]
    assert all(refused[f"b.{kind}"]["reason"] == "unlinked_scales" for kind in MEASURES)
    assert all(refused[f"q.{kind}"] is None for kind in MEASURES)


def test_a_wave_that_is_not_there_is_told():
    data = fc.read_scores(spec(), frame(SEED))
    with pytest.raises(fc.OptionError, match="no wave 'iii'"):
        fc.estimate(data, fc.beliefs("b", fc.gain(view="q"), wave=("iii",)))


def test_a_binary_readout_has_the_belief_of_its_differences():
    scores = frame(SEED)
    declared = spec(**{'option_score = "y"': 'option_score = { yes = "yes", no = "no" }'})
    twice = scores.assign(yes=scores["y"] - 9.5, no=-9.5).drop(columns="y")
    pd.testing.assert_series_equal(estimated(twice, declared)["value"], estimated(scores)["value"])


def test_no_end_of_an_interval_of_surprise_is_below_zero():
    assert beliefs("b", gain(view="q"))["b.surprise"].limits == (0, np.inf)
    apart = beliefs("b", gain(view="q"), between=("kind", "k", "l"))
    assert apart["b.surprise"].limits == (-np.inf, np.inf)
    assert apart["b.pivot"].limits == (-1, 1)
    assert apart["b.entropy_movement"].limits is None
    still, moved = SEED["a", "2"], SEED["a", "1"]
    steps = {(task, "1"): moved if task == "a" else still for task in "abcd"}
    found = estimated(frame(steps), simultaneous=True).loc["b.surprise"]
    assert found["interval"][0] == 0
    assert "cut at 0: no value is below it" in found["notes"]


def test_the_cell_model_has_no_beliefs():
    words = "the cell model has means over transitions, not the beliefs of each"
    assert {why_not(asked) for asked in beliefs("b", gain(view="q")).values()} == {words}


def test_beliefs_move_within_a_gain():
    with pytest.raises(fc.ContrastError, match="beliefs move within a gain; got omega"):
        fc.beliefs("b", omega(view=("p", "q")))
    with pytest.raises(fc.ContrastError, match="beliefs move within a gain"):
        Estimand("b", gain(view="q") - gain(view="p"), measure=Measure(names.SURPRISE))


def test_a_spec_and_python_ask_for_the_same():
    lines = "[estimands]\nb = { beliefs = { view = 'q' }, wave = ['i'], where = { kind = 'k' } }"
    data = fc.read_scores(spec(lines), frame(SEED))
    python = fc.beliefs("b", fc.gain(view="q"), wave=("i",), where={"kind": "k"})
    pd.testing.assert_frame_equal(fc.estimate(data, spec(lines)), fc.estimate(data, python))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("b = { beliefs = { view = ['p', 'q'] } }", "beliefs: view needs one level"),
        ("b = { beliefs = {} }", "says nothing about the factor 'view'"),
        ("b = { beliefs = { view = 'r' } }", "view has no declared level 'r'"),
        (
            "b = { beliefs = { view = 'q' }, statistic = 'median' }",
            "statistic does not go with bel",
        ),
        (
            "b = { beliefs = { view = 'q' }, dead_zones = [1] }",
            "dead_zones does not go with belief",
        ),
        ("b = { beliefs = { view = 'q' }, state = 'after' }", "state does not go with beliefs"),
        ("b = { belief = { view = 'q' } }", "unknown key 'belief'"),
        (
            "b = { beliefs = { view = 'q' } }\ng = { gain = { view = 'q' } }\n"
            "d = { difference = ['b', 'g'] }",
            "'b' is a family of beliefs; differences take means",
        ),
    ],
)
def test_misuse_is_told(line, words):
    with pytest.raises(fc.SpecError, match=words):
        spec(f"[estimands]\n{line}")


def test_a_row_that_is_an_estimand_too_is_told():
    lines = ASKED + '"b.pivot" = { gain = { view = "q" } }'
    with pytest.raises(fc.SpecError, match=r"its row 'b\.pivot' is an estimand too"):
        estimated(frame(SEED), spec(lines))


BINARY = {'option_score = "y"': 'option_score = { yes = "yes", no = "no" }'}


@pytest.mark.parametrize("raised", ["x", "z"])
def test_options_that_tie_but_for_the_rounding_of_yes_less_no_are_tied(raised):
    assert -112.3 + 112.2 != -0.3 + 0.2
    tied = {"x": (-0.3, -0.2), "z": (-0.3, -0.2), raised: (-112.3, -112.2), "y": (-5.0, -1.0)}
    top = {"x": (-5.0, -1.0), "y": (-0.3, -0.2), "z": (-5.0, -1.0)}
    steps = {("a", "1"): (top, tied), ("b", "1"): (tied, top), ("c", "1"): (tied, tied)}
    scores = frame(steps)
    pair = np.array(scores.pop("y").tolist())
    scores = scores.assign(yes=pair[:, 0], no=pair[:, 1])
    found = estimated(scores, spec(**BINARY))
    # with x and z tied on top nobody is alone there; x has a margin of zero, before less than it
    assert found["value"][["b.pivot", "b.damage", "b.repair"]].tolist() == [0, 0, 0]
    same = scores[scores["task"] == "c"]
    same = pd.concat([same, same.assign(task="d")])
    still = estimated(same, spec(**BINARY))["value"]
    assert still["b.surprise"] == still["b.entropy_movement"] == 0
    lines = '[estimands]\ntop = { agreement = "layout", at = { view = "q" }, state = "after" }'
    assert estimated(same, spec(lines, **BINARY))["value"]["top"] == 0  # a tie agrees with nothing


@pytest.mark.parametrize(("lost", "kept"), ["xy", "yx"])
def test_averages_that_tie_but_for_rounding_are_tied(lost, kept):
    apart = 1000.1 - 999.9
    assert apart / 2 != (0.1 + 0.1) / 2
    steps = {(task, "1"): ({kept: 0.1, lost: 0.1, "z": 9.0},) * 2 for task in "ab"}
    scores = frame(steps)
    at = (scores["phase"] == "a") & (scores["option"] == lost)
    scores.loc[at, "y"] = np.where(scores.loc[at, "layout"] == "1", 1000.1, -999.9)
    scores.loc[(scores["phase"] == "a") & (scores["option"] == "z"), "y"] = -9.0
    found = estimated(scores)["value"]
    assert found[["b.pivot", "b.damage", "b.repair"]].tolist() == [0, 0, 0]
    scores.loc[(scores["phase"] == "b") & (scores["option"] == "z"), "y"] = -9.0
    still = estimated(scores)["value"]
    assert still["b.surprise"] == still["b.entropy_movement"] == 0


# --- the bundled traces, by step type -------------------------------------------------------------


def test_measures_by_step_type_are_those_of_pandas():
    declared = fc.read_spec(REPO / "models" / "protocol.toml")
    data = engine.sample(fc.read_scores(declared))
    asked = list(beliefs("b", gain(protocol="generated_128")).values())
    weights = resolve_all(EMPIRICAL, data.strata)
    rows = breakdowns(data, asked, weights, draws=100)
    found = {(row.name, row.level): row for row in rows if row.by == "step_type"}
    table = pd.read_csv(REPO / "data-samples" / "protocol.csv").query("protocol == 'generated_128'")
    index = ["step_type", "target_candidate", "state", "trajectory", "transition"]
    wide = table.pivot_table("logprob", index, "candidate")
    before, after = (wide.xs(state, level="state") for state in ("before", "after"))
    assert before.index.equals(after.index)
    each = [
        {"step_type": step_type, **one(first, second, target)}
        for (step_type, target, *_), first, second in zip(
            before.index, before.to_dict("records"), after.to_dict("records"), strict=True
        )
    ]
    expected = pd.DataFrame(each).groupby("step_type")[list(MEASURES)].agg(["mean", "size"])
    assert len(found) == 6 * 8
    for (name, level), row in found.items():
        mean, size = expected.loc[level, name.removeprefix("b.")]
        assert row.value == pytest.approx(mean, rel=1e-9, abs=1e-12)
        assert row.transitions == size
        assert row.count in {None, round(mean * size)}
