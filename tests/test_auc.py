"""AUC of two channels against counting all pairs, and its place in the engine."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fourcorner as fc
from fourcorner.auditing import design_audit, reweight
from fourcorner.design import auc as module
from fourcorner.design.auc import aucs
from fourcorner.design.draws import multiplicities
from fourcorner.design.engine import DRAWS

SPEC = """
kind = "scores"
[data]
score = "score"
unit = "task"
transition = "step"
change = { column = "state", before = "b", after = "a" }
channel = { view = ["quote", "generated"] }
stratum = "target"
attributes = ["success", "kind"]
[estimands]
ranks = { auc = { view = ["generated", "quote"] }, outcome = { success = true } }
[weights]
empirical = "empirical"
"""


def pairs(scores, positive):
    """The share of pairs that the scores order rightly, a tie one half; by loops."""
    won = [
        (high > low) + (high == low) / 2 for high in scores[positive] for low in scores[~positive]
    ]
    return np.mean(won) if won else np.nan


@st.composite
def ranked(draw):
    size = draw(st.integers(1, 12))
    cells = st.lists(st.integers(-2, 2), min_size=size, max_size=size)
    scores = np.array(draw(cells), dtype=float)
    positive = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    unit = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    copies = draw(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1))
    return scores, positive, unit, np.array(copies, dtype=float)


@pytest.mark.parametrize("paired", [0, module.PAIRED])
@given(given_=ranked())
def test_each_draw_is_the_count_of_its_pairs(paired, given_):
    scores, positive, unit, copies = given_
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "PAIRED", paired)
        found = aucs(scores, positive, unit, 4)(copies)
    for row, value in zip(copies.astype(int), found, strict=True):
        times = row[unit]
        expected = pairs(np.repeat(scores, times), np.repeat(positive, times))
        assert value == pytest.approx(expected, nan_ok=True)


@given(ranked())
def test_an_increasing_map_of_the_scores_changes_nothing(given_):
    scores, positive, unit, copies = given_
    again = aucs(np.expm1(3 * scores), positive, unit, 4)(copies)
    np.testing.assert_array_equal(aucs(scores, positive, unit, 4)(copies), again)


def table(units=30, seed=0):
    """Two steps of each task in long form, one endpoint in twenty not measured."""
    generator = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        success = generator.random() < 0.4
        for step, kind in enumerate(("read", "write")):
            for state in "ba":
                for view, worth in (("quote", 1.0), ("generated", 0.3)):
                    score = round(generator.normal(worth * success * (state == "a")), 1)
                    score = score if generator.random() > 0.05 else None
                    target = "x" if unit < 8 else "y"
                    rows.append((f"u{unit}", step, target, success, kind, state, view, score))
    columns = ["task", "step", "target", "success", "kind", "state", "view", "score"]
    return pd.DataFrame(rows, columns=columns)


def wide(scores):
    """After scores of the transitions that have both."""
    after = scores[scores["state"] == "a"]
    index = ["task", "step", "success", "kind"]
    return after.pivot_table(index=index, columns="view", values="score").dropna().reset_index()


def estimated(lines=SPEC, scores=None, **options):
    spec = fc.parse_spec(lines)
    scores = table() if scores is None else scores
    return fc.estimate(fc.read_scores(spec, scores), spec, **options).set_index("name")


def test_rows_are_those_of_the_transitions_complete_in_both_channels():
    found, complete = estimated(), wide(table())
    positive = complete["success"].to_numpy()
    own = {view: pairs(complete[view].to_numpy(), positive) for view in ("generated", "quote")}
    assert len(complete) < 60
    assert found["value"].to_dict() == pytest.approx(
        {
            "ranks.first": own["generated"],
            "ranks.second": own["quote"],
            "ranks.difference": own["quote"] - own["generated"],
        }
    )
    assert (found["transitions"] == len(complete)).all()
    assert (found["statistic"] == "auc").all()


def test_intervals_are_the_quantiles_of_the_same_draws():
    found, complete = estimated(), wide(table())
    codes = np.unique(table()["task"], return_inverse=True)[1]
    unit = dict(zip(table()["task"], codes, strict=True))
    (drawn,) = multiplicities(30, DRAWS, 0)
    column = complete["task"].map(unit).to_numpy()
    of = [
        aucs(complete[view].to_numpy(), complete["success"].to_numpy(), column, 30)(drawn)
        for view in ("generated", "quote")
    ]
    expected = np.nanquantile(of[1] - of[0], [0.025, 0.975])
    assert found.loc["ranks.difference", "interval"] == pytest.approx(expected)


def test_draws_without_an_outcome_are_undefined_and_counted():
    scores = table(units=5, seed=1)
    scores["success"] = scores["task"] == "u3"
    found = estimated(scores=scores).loc["ranks.first"]
    (drawn,) = multiplicities(5, DRAWS, 0)
    none = (drawn[:, 3] == 0) | (drawn[:, 3] == 5)
    assert found["undefined_draws"] == none.sum() > 0


def units_with(scores, success, kind=None):
    """Units of each outcome among the transitions complete in both channels."""
    complete = wide(scores)
    complete = complete if kind is None else complete[complete["kind"] == kind]
    return complete[complete["success"] == success]["task"].nunique()


@pytest.mark.parametrize("alone", [True, False])
def test_one_unit_with_an_outcome_says_nothing_of_its_spread(alone):
    scores = table(units=40, seed=3)
    scores["success"] = (scores["task"] == "u9") == alone
    found = estimated(scores=scores)
    assert found["value"].notna().all()
    for notes, interval in zip(found["notes"], found["interval"], strict=True):
        assert interval is None
        why = f"no interval: one unit in success = {str(alone).lower()}, whose spread cannot be"
        assert any(note.startswith(why) for note in notes)


def test_few_units_with_an_outcome_are_said_as_of_a_small_stratum():
    scores = table(units=40, seed=3)
    scores["success"] = scores["task"].str[1:].astype(int) < 6
    few = units_with(scores, True)
    assert 1 < few < 10 <= units_with(scores, False)
    for row in estimated(scores=scores).itertuples():
        note = f"percentile intervals undercover with fewer than 10 units (success = true: {few})"
        assert row.interval is not None
        assert note in row.notes
    between = SPEC.replace("outcome =", "between = { kind = ['read', 'write'] }, outcome =")
    listed = ", ".join(
        f"success = true where kind = {kind}: {units_with(scores, True, kind)}"
        for kind in ("read", "write")
    )
    for notes in estimated(between, scores)["notes"]:
        assert f"percentile intervals undercover with fewer than 10 units ({listed})" in notes


def test_a_unit_with_both_outcomes_counts_in_both():
    scores = table(units=24, seed=4)
    scores["success"] = scores["kind"] == "read"  # a step of every unit has it, and a step has not
    for notes in estimated(scores=scores)["notes"]:
        assert not any("units" in note for note in notes)


def test_a_group_contrast_of_aucs():
    between = SPEC.replace("outcome =", "between = { kind = ['read', 'write'] }, outcome =")
    found, complete = estimated(between), wide(table())
    by_kind = {
        kind: pairs(rows["quote"].to_numpy(), rows["success"].to_numpy())
        for kind, rows in complete.groupby("kind")
    }
    assert found.loc["ranks.second", "value"] == pytest.approx(by_kind["write"] - by_kind["read"])


def test_a_blank_outcome_is_left_out_and_counted():
    scores = table()
    unknown = scores["task"].isin(["u1", "u2"])
    found = estimated(scores=scores.assign(success=scores["success"].where(~unknown)))
    without = estimated(scores=scores[~unknown])
    assert found["value"].to_dict() == pytest.approx(without["value"].to_dict())
    left = len(wide(scores)) - len(wide(scores[~unknown]))
    assert left > 0
    for notes in found["notes"]:
        assert f"left out: {left} transitions with complete scores and no success" in notes


def test_scores_that_differ_by_rounding_alone_are_tied():
    by_layout = {"p": (0.1, 0.2, 0.3), "q": (0.3, 0.2, 0.1)}  # one mean, summed in two orders
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    rows = [
        (task, 0, "x", task == "q", "read", state, view, f"L{layout}", score)
        for task, scores in by_layout.items()
        for state in "ba"
        for view in ("quote", "generated")
        for layout, score in enumerate(scores)
    ]
    columns = ["task", "step", "target", "success", "kind", "state", "view", "layout", "score"]
    lines = SPEC.replace("stratum", "replicate = { layout = ['L0', 'L1', 'L2'] }\nstratum")
    found = estimated(lines, pd.DataFrame(rows, columns=columns))
    assert found["value"].to_dict() == {
        "ranks.first": 0.5,
        "ranks.second": 0.5,
        "ranks.difference": 0.0,
    }


def test_an_auc_counts_transitions_and_takes_an_endpoint_shift():
    shift = fc.endpoint_shift("after", view=("generated", "quote"))
    with pytest.raises(fc.ContrastError, match="leave weight_by out"):
        fc.auc("ranks", shift, ("success", True), weight_by="unit")
    with pytest.raises(fc.ContrastError, match="takes an endpoint shift"):
        fc.auc("ranks", fc.omega(view=("generated", "quote")), ("success", True))


@pytest.mark.parametrize("outcome", [True, False, None])
def test_an_outcome_that_all_have_or_none_is_refused(outcome):
    scores = table()
    scores["success"] = outcome
    if outcome is None:  # a third level makes the others no longer two
        scores["success"] = [
            ["true", "false", "unknown"][i % 3] for i in scores["task"].str[1:].astype(int)
        ]
    if outcome is False:
        with pytest.raises(fc.ContrastError, match="no transition has success = 'true'"):
            estimated(scores=scores)
        return
    refused = estimated(scores=scores).loc["ranks.first", "refused"]
    assert refused["reason"] == "outcome_not_binary"
    assert "success = true" in refused["message"]


def test_cells_that_nobody_measured_are_those_of_the_row():
    scores = table()
    at = (scores["state"] == "a") & (scores["view"] == "quote")
    scores.loc[at, "score"] = np.nan
    cell = {"state": "after", "view": "quote"}
    refused = estimated(scores=scores)["refused"]
    witness = {name: refused[f"ranks.{name}"].get("witness") for name in ("second", "difference")}
    assert [of["moves_contrast"] for of in witness.values()] == [1.0, 1.0]
    assert refused["ranks.second"]["missing"] == [cell]
    assert refused["ranks.second"]["reason"] == "not_identified"
    first = refused["ranks.first"]  # its own cells are there
    assert first["reason"] == "incomplete_family"
    assert first["missing"] == [cell]
    assert first["would_identify"] == [[cell]]
    assert "witness" not in first
    assert "(state = after, view = quote)" in first["message"]
    assert "F(after, generated)" in first["message"]
    scores.loc[(scores["state"] == "a"), "score"] = np.nan
    both = estimated(scores=scores)["refused"]["ranks.first"]
    assert both["missing"] == [{"state": "after", "view": "generated"}]
    assert both["witness"]["moves_contrast"] == 1.0
    assert "(state = after, view = quote)" in both["message"]


def test_new_weights_leave_an_auc_out_where_the_run_has_it():
    lines = SPEC.replace("[weights]", "middle = { gain = { view = 'quote' }, statistic = 'median' }"
                         "\nstep = { gain = { view = 'quote' } }\n[weights]")  # fmt: skip
    spec = fc.parse_spec(lines)
    found = design_audit(fc.read_scores(spec, table()), spec)
    again = reweight(found, {"equal": "equal"})
    assert [(row.name, row.weights) for row in again.rows] == [("step", "equal")]
    assert again.passed
    assert again.not_available == (
        "ranks.first: an AUC goes with empirical weights only: none under equal",
        "ranks.second: an AUC goes with empirical weights only: none under equal",
        "ranks.difference: an AUC goes with empirical weights only: none under equal",
        "middle: a median goes with empirical weights only: none under equal",
    )
    twice = reweight(again, {"equal": "equal"})
    assert (twice.rows, twice.not_available[:4]) == (again.rows, again.not_available)
    both = reweight(found, {"equal": "equal", "empirical": "empirical"})
    names = ["ranks.first", "ranks.second", "ranks.difference", "middle", "step", "step"]
    assert [row.name for row in both.rows] == names
    assert both.not_available == ()


def test_new_weights_that_leave_nothing_are_refused():
    spec = fc.parse_spec(SPEC)
    found = design_audit(fc.read_scores(spec, table()), spec)
    again = reweight(found, {"equal": "equal"})
    assert {row.refused["reason"] for row in again.rows} == {"statistic_needs_empirical_weights"}
    assert again.not_available == ()


def test_wrong_levels_are_one_error_that_names_each_entry():
    lines = SPEC.replace("success = true }", "success = yes }".replace("yes", "'yes'")).replace(
        "[weights]",
        "step = { gain = { view = 'quote' }, where = { kind = 'raed' } }\n"
        "apart = { gain = { view = 'quote' }, between = { kind = ['read', 'no'] } }\n[weights]",
    )
    spec = fc.parse_spec(lines)
    with pytest.raises(fc.ContrastError) as caught:
        fc.estimate(fc.read_scores(spec, table()), spec)
    assert str(caught.value).splitlines() == [
        "ranks: outcome: no transition has success = 'yes'; its levels are ['false', 'true']",
        "step: where: no transition has kind = 'raed' (did you mean 'read'?); its levels are "
        "['read', 'write']",
        "apart: between: no transition has kind = 'no'; its levels are ['read', 'write']",
    ]


def test_declared_weights_are_refused_alone_and_left_out_beside_empirical():
    alone = SPEC.replace('empirical = "empirical"', 'equal = "equal"')
    assert set(estimated(alone)["refused"].map(lambda row: row["reason"])) == {
        "statistic_needs_empirical_weights"
    }
    both = estimated(SPEC + 'equal = "equal"')
    assert both["weights"].tolist() == ["empirical"] * 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("auc = { view = ['generated', 'quote'] }", "an auc needs an outcome"),
        ("auc = { view = ['generated', 'quote'] }, outcome = { succes = true }", "'success'"),
        ("auc = { view = 'quote' }, outcome = { success = true }", "needs two levels"),
        (
            "auc = { view = ['generated', 'quote'] }, outcome = { success = true }, "
            "weight_by = 'unit'",
            "leave weight_by out",
        ),
        (
            "auc = { view = ['generated', 'quote'] }, outcome = { success = true }, "
            "statistic = 'median'",
            "statistic does not go with auc",
        ),
        (
            "omega = { view = ['generated', 'quote'] }, outcome = { success = true }",
            "only with auc",
        ),
    ],
)
def test_misuse_is_told(line, words):
    wrong = SPEC.replace(
        'ranks = { auc = { view = ["generated", "quote"] }, outcome = { success = true } }',
        f"ranks = {{ {line} }}",
    )
    with pytest.raises(fc.SpecError, match=words):
        fc.parse_spec(wrong)
