"""Real option log-probabilities of a hosted judge, against plain pandas."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fourcorner import scores
from fourcorner.design import engine
from fourcorner.errors import TableError
from fourcorner.estimands import as_estimands
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec
from fourcorner.weights import resolve_all

REAL = Path(__file__).parents[2] / "shared" / "real" / "alpaca_eval_logprob_margins.csv.gz"
WEIGHTED, COT = "weighted_alpaca_eval_gpt4_turbo", "alpaca_eval_cot_gpt4_turbo_fn"
STAGES = ["attempted", "present", "finite", "complete", "in_cohort"]

pytestmark = pytest.mark.skipif(
    not REAL.exists(), reason=f"no real table at {REAL}: it is kept beside the repository"
)

EVALUATORS = f"""
kind = "scores"
[data]
path = "{REAL.name}"
score = "preference"
unit = "item"
change = {{ column = "state", before = "alpaca-7b", after = "claude-2.1" }}
channel = {{ evaluator = ["{WEIGHTED}", "{COT}"] }}
stratum = "dataset"
[data.where]
copy = "main"
state = ["alpaca-7b", "claude-2.1"]
evaluator = ["{WEIGHTED}", "{COT}"]
[estimands]
weighted = {{ gain = {{ evaluator = "{WEIGHTED}" }} }}
cot = {{ gain = {{ evaluator = "{COT}" }} }}
both = {{ gain = {{}}, average_over = ["evaluator"] }}
omega = {{ omega = {{ evaluator = ["{WEIGHTED}", "{COT}"] }} }}
omega_median = {{ omega = {{ evaluator = ["{WEIGHTED}", "{COT}"] }}, statistic = "median" }}
omega_share = {{ omega = {{ evaluator = ["{WEIGHTED}", "{COT}"] }}, statistic = "negative_share" }}
shift = {{ endpoint_shift = {{ evaluator = ["{WEIGHTED}", "{COT}"] }}, state = "after" }}
move = {{ diagonal = {{ evaluator = ["{WEIGHTED}", "{COT}"] }} }}
[weights]
empirical = "empirical"
equal = "equal"
"""

# Output 2 is the model, output 1 the reference; `order` says which of the two is called m.
CONCISE = f"""
kind = "scores"
[data]
path = "{REAL.name}"
score = "SCORE"
unit = "item"
change = {{ column = "state", before = "gpt-3.5-turbo-1106", after = "gpt-3.5-turbo-1106_concise" }}
stratum = "dataset"
where = {{ copy = "main", evaluator = "{WEIGHTED}", state = STATES }}
[data.derive]
margin = '''
CASE order
WHEN 'out2=m' THEN num(logprob_m) - num(logprob_M)
WHEN 'out2=M' THEN num(logprob_M) - num(logprob_m)
END
'''
[estimands]
mean = {{ gain = {{}} }}
median = {{ gain = {{}}, statistic = "median" }}
share = {{ gain = {{}}, statistic = "negative_share" }}
[weights]
empirical = "empirical"
equal = "equal"
""".replace("STATES", '["gpt-3.5-turbo-1106", "gpt-3.5-turbo-1106_concise"]')


@pytest.fixture(scope="module")
def rows():
    """The file in plain pandas, with the model's margin by a formula of its own."""
    read = pd.read_csv(REAL, dtype={"item": str})
    sign = read["order"].map({"out2=m": 1.0, "out2=M": -1.0})
    return read.assign(margin=sign * (read["logprob_m"] - read["logprob_M"]))


def declared(text):
    return parse_spec(text, directory=REAL.parent)


@pytest.fixture(scope="module")
def evaluators():
    return read_scores(declared(EVALUATORS))


def estimates(data, spec):
    """Values by (estimand, weights), and the rows themselves."""
    sample = engine.sample(data, "contrast")
    asked, mixtures = list(as_estimands(spec).values()), resolve_all(spec, scores.strata(data))
    found = engine.estimate(sample, asked, mixtures, draws=20)
    return {(row.name, row.weights): row for row in found}


def close(value):
    return pytest.approx(value, rel=0, abs=1e-9)


def summaries(values, stratum):
    """Mean, mean of stratum means, median, and shares below zero, of a contrast by item."""
    below = (values < 0).astype(float)
    groups = stratum.loc[values.index]
    return {
        ("mean", "empirical"): values.mean(),
        ("mean", "equal"): values.groupby(groups).mean().mean(),
        ("median", "empirical"): values.median(),
        ("negative_share", "empirical"): below.mean(),
        ("negative_share", "equal"): below.groupby(groups).mean().mean(),
    }


def stratum_of(rows):
    return rows.drop_duplicates("item").set_index("item")["dataset"]


def main_cells(rows):
    kept = rows[rows["state"].isin(["alpaca-7b", "claude-2.1"]) & (rows["copy"] == "main")]
    return kept.pivot_table("preference", "item", ["state", "evaluator"])


# --- (a) one change, two evaluators ---------------------------------------------------------------


def test_the_scores_of_both_evaluators_are_those_of_a_pandas_pivot(rows, evaluators):
    cells = main_cells(rows)
    assert evaluators["score"].dims == ("transition", "state", "evaluator")
    assert evaluators["unit"].values.tolist() == sorted(cells.index)
    assert evaluators["stratum"].values.tolist() == stratum_of(rows)[sorted(cells.index)].tolist()
    for state, model in (("before", "alpaca-7b"), ("after", "claude-2.1")):
        for evaluator in (WEIGHTED, COT):
            found = evaluators["score"].sel(state=state, evaluator=evaluator).values
            np.testing.assert_array_equal(found, cells[model, evaluator].sort_index().values)


def test_the_funnel_of_both_evaluators_loses_nothing_but_what_where_leaves_out(rows, evaluators):
    found = scores.funnel(evaluators)
    assert [found[stage] for stage in STAGES] == [805 * 4] * 5
    assert (found["rows_read"], found["rows_excluded"]) == (len(rows), len(rows) - 805 * 4)
    assert [found[key] for key in ("units", "units_in_cohort", "transitions")] == [805] * 3
    assert {row["stratum"]: row["units"] for row in found["by_stratum"]} == (
        stratum_of(rows).value_counts().to_dict()
    )


def test_gains_and_interaction_of_both_evaluators_are_those_of_pandas(rows, evaluators):
    cells = main_cells(rows)
    gains = cells["claude-2.1"] - cells["alpaca-7b"]
    omega = gains[COT] - gains[WEIGHTED]
    assert not omega.abs().between(0, 1e-9, inclusive="neither").any()  # so that signs are certain
    contrasts = {
        "weighted": gains[WEIGHTED],
        "cot": gains[COT],
        "both": (gains[WEIGHTED] + gains[COT]) / 2,
        "omega": omega,
        "shift": cells["claude-2.1", COT] - cells["claude-2.1", WEIGHTED],
        "move": cells["claude-2.1", COT] - cells["alpaca-7b", WEIGHTED],
    }
    found = estimates(evaluators, declared(EVALUATORS))
    for name, values in contrasts.items():
        expected = summaries(values, stratum_of(rows))
        assert found[name, "empirical"].value == close(expected["mean", "empirical"])
        assert found[name, "equal"].value == close(expected["mean", "equal"])
        assert found[name, "empirical"].transitions == 805
    expected = summaries(omega, stratum_of(rows))
    assert found["omega_median", "empirical"].value == close(expected["median", "empirical"])
    assert ("omega_median", "equal") not in found
    for weights in ("empirical", "equal"):
        share = found["omega_share", weights]
        assert share.value == close(expected["negative_share", weights])
        assert share.count == (omega < 0).sum()


# --- (b) a margin made from two log-probabilities and the order shown -----------------------------


def test_the_margin_is_the_models_log_odds_of_being_preferred(rows):
    """The sign convention, from the data: preference = 1 + logistic(margin)."""
    known = rows.dropna(subset=["margin"])
    assert len(known) > 15_000
    logistic = 1 / (1 + np.exp(-known["margin"]))
    np.testing.assert_allclose(known["preference"] - 1, logistic, rtol=0, atol=1e-9)


@pytest.fixture(scope="module")
def margins():
    return read_scores(declared(CONCISE.replace("SCORE", "margin")))


def concise_gain(rows, column):
    kept = rows[(rows["copy"] == "main") & (rows["evaluator"] == WEIGHTED)]
    by_state = kept.pivot_table(column, "item", "state", dropna=False)
    return by_state["gpt-3.5-turbo-1106_concise"] - by_state["gpt-3.5-turbo-1106"]


def test_a_margin_derived_in_sql_is_that_of_pandas(rows, margins):
    kept = rows[(rows["copy"] == "main") & (rows["evaluator"] == WEIGHTED)]
    for state, model in (
        ("before", "gpt-3.5-turbo-1106"),
        ("after", "gpt-3.5-turbo-1106_concise"),
    ):
        expected = kept[kept["state"] == model].set_index("item")["margin"].sort_index()
        np.testing.assert_array_equal(margins["score"].sel(state=state).values, expected.values)


def test_the_funnel_of_the_margins_counts_the_answers_without_log_probabilities(rows, margins):
    found = scores.funnel(margins)
    gain = concise_gain(rows, "margin").reindex(stratum_of(rows).index)
    assert (len(gain), gain.notna().sum()) == (805, 801)
    assert [found[stage] for stage in STAGES] == [1610, 1610, 1602, 1602, 1602]
    assert (found["transitions"], found["transitions_in_cohort"]) == (805, 801)
    in_cohort = gain.notna().groupby(stratum_of(rows)).sum()
    assert {row["stratum"]: row["in_cohort"] for row in found["by_stratum"]} == (
        (2 * in_cohort).to_dict()
    )
    states = [(row["cell"]["state"], row["present"], row["finite"]) for row in found["by_channel"]]
    assert states == [("before", 805, 801), ("after", 805, 801)]


@pytest.mark.parametrize(
    ("score", "published", "digits", "items"),
    [("preference", -0.0176, 4, 805), ("margin", -1.41, 2, 801)],
)
def test_the_gain_of_concise_answers_is_the_published_one_and_that_of_pandas(
    rows, score, published, digits, items
):
    spec = declared(CONCISE.replace("SCORE", score))
    found = estimates(read_scores(spec), spec)
    gain = concise_gain(rows, score).dropna()
    assert len(gain) == items
    assert not gain.abs().between(0, 1e-9, inclusive="neither").any()
    assert round(found["mean", "empirical"].value, digits) == published
    expected = summaries(gain, stratum_of(rows))
    for (statistic, weights), value in expected.items():
        row = found[{"negative_share": "share"}.get(statistic, statistic), weights]
        assert row.value == close(value), (statistic, weights)
        assert (row.units, row.transitions) == (items, items)


# --- (c) two traps --------------------------------------------------------------------------------

NESTED = """
kind = "scores"
[data]
path = "alpaca_eval_logprob_margins.csv.gz"
score = "preference"
unit = "item"
change = { column = "state", before = "vicuna-7b-v1.5", after = "vicuna-13b-v1.5" }
where = { copy = ["main", "nested"], state = ["vicuna-7b-v1.5", "vicuna-13b-v1.5"] }
[estimands]
gain = { gain = {} }
"""


def test_the_nested_copy_beside_the_main_one_is_refused_as_duplicates():
    with pytest.raises(TableError) as caught:
        read_scores(declared(NESTED))
    (fault,) = caught.value.faults
    assert fault.startswith("duplicate cells: 1610 combination(s) have more than one row, e.g. ")
    example = fault.split("unit '")[1]
    unit = example.split("'")[0]
    first, second = (int(part.split()[0].strip(";.")) for part in example.split("line ")[1:3])
    with gzip.open(REAL, "rt", encoding="utf-8") as file:
        lines = file.read().splitlines()
    copies = [lines[line - 1].split(",") for line in (first, second)]
    assert [copy[0] for copy in copies] == [unit, unit]
    assert [copy[5] for copy in copies] == ["main", "nested"]
    assert copies[0][:5] == copies[1][:5]


def test_an_order_that_is_fixed_per_item_is_no_replicate(rows):
    shown = rows[rows["order"].notna()]
    assert shown.drop_duplicates(["item", "order"])["item"].is_unique
    text = CONCISE.replace("SCORE", "margin").replace(
        "[data.derive]",
        'replicate = { layout = ["out2=m", "out2=M"] }\n[data.derive]\nlayout = "order"',
    )
    text = text.replace('copy = "main"', 'copy = "main", order = ["out2=m", "out2=M"]')
    with pytest.raises(TableError, match="layout never varies within a unit") as caught:
        read_scores(declared(text))
    assert len(caught.value.faults) == 1
