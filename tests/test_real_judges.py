"""Real verdicts of judge models shown in both orders and asked again, against plain pandas."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc

REAL = Path(__file__).parents[2] / "shared" / "real"
ORDERS = REAL / "llmbar_judge_orders.csv.gz"
PUBLISHED = REAL / "llmbar_published_statistics.csv.gz"
REPEATED = REAL / "position_bias_repetitions.csv.gz"

pytestmark = pytest.mark.skipif(
    not REAL.exists(), reason=f"no real tables at {REAL}: they are kept beside the repository"
)


def declared(text):
    return fc.parse_spec(text, directory=REAL)


def listed(values):
    return str(list(values))


# --- (a) published counts of correct verdicts and of orders that agree ----------------------------

GROUP = ["subset", "judge", "strategy"]
LLMBAR = """
kind = "scores"
[data]
path = "llmbar_judge_orders.csv.gz"
score = "winner"
unit = "unit"
channel = {{ judge = {judges}, strategy = {strategies} }}
replicate = {{ swap = [0, 1] }}
stratum = "subset"
attributes = ["gold"]
where = {{ is_final = 1 }}
[data.derive]
unit = "subset || '/' || item"
[estimands]
{estimands}
"""


@pytest.fixture(scope="module")
def published():
    """The authors' counts, by subset, judge and strategy, without those whose rows are not here."""
    read = pd.read_csv(PUBLISHED).set_index(GROUP)
    kept = read[~read.index.get_level_values("subset").str.startswith("CaseStudy")]
    assert (len(read), len(kept)) == (499, 349)
    return kept


@pytest.fixture(scope="module")
def missing():
    """Whether each item lacks its verdict, by order, in plain pandas."""
    read = pd.read_csv(ORDERS)
    final = read[read["is_final"] == 1].set_index([*GROUP, "item"])
    return [final.loc[final["swap"] == swap, "winner"].isna().sort_index() for swap in (0, 1)]


@pytest.fixture(scope="module")
def spec(published):
    asked = [
        f'"{place}" = {{ agreement = "swap", where = {{ subset = "{subset}" }}, '
        f'at = {{ judge = "{judge}", strategy = "{strategy}" }} }}'
        for place, (subset, judge, strategy) in enumerate(published.index)
    ]
    levels = published.index.levels
    judges, strategies = (listed(levels[published.index.names.index(n)]) for n in GROUP[1:])
    text = LLMBAR.format(judges=judges, strategies=strategies, estimands="\n".join(asked))
    return declared(text)


@pytest.fixture(scope="module")
def llmbar(spec):
    return fc.read_scores(spec)


def counts(llmbar, flags, published):
    """Items of each published group for which a flag by (transition, judge, strategy) holds."""
    flat = flags.transpose("judge", "strategy", "transition").values
    judges, strategies = llmbar["judge"].values.tolist(), llmbar["strategy"].values.tolist()
    own = llmbar["stratum"].values
    return [
        int(flat[judges.index(judge), strategies.index(strategy), own == subset].sum())
        for subset, judge, strategy in published.index
    ]


def test_every_row_is_read_in_its_place(llmbar):
    assert llmbar.sizes == {"transition": 885, "judge": 6, "strategy": 15, "swap": 2}
    assert int(llmbar["present"].sum()) == 61_926
    assert int(llmbar["score"].count()) == 61_926 - 273
    assert llmbar.attrs["rows_excluded"] == 4278


def test_published_counts_of_correct_verdicts_follow_from_the_scores(llmbar, published, missing):
    """A verdict that is missing is a failure in the authors' counts; here it is not measured."""
    correct = llmbar["score"] == llmbar["gold"].astype(float)
    items = counts(llmbar, llmbar["present"].any("swap"), published)
    assert items == published["n"].tolist()
    for swap, column in enumerate(["correct_swapFalse", "correct_swapTrue"]):
        found = counts(llmbar, correct.isel(swap=swap), published)
        assert found == published[column].tolist()
        measured = counts(llmbar, np.isfinite(llmbar["score"]).isel(swap=swap), published)
        lost = missing[swap].groupby(GROUP).sum().loc[published.index]
        assert measured == (published["n"] - lost).tolist()
        assert lost.sum() > 100
    both = counts(llmbar, correct.all("swap"), published)
    assert both == published["correct_both"].tolist()


def test_orders_agree_as_published_less_items_without_any_verdict(spec, llmbar, published, missing):
    """Two verdicts that are missing count as agreeing there; here they say nothing."""
    rows = fc.estimate(llmbar, spec, draws=20)
    assert rows["name"].astype(int).tolist() == list(range(349))
    first, second = missing
    neither = (first & second).groupby(GROUP).sum().loc[published.index]
    some = (first | second).groupby(GROUP).sum().loc[published.index]
    assert (int(neither.sum()), int(some.sum())) == (100, 173)
    assert rows["count"].tolist() == (published["orders_agree"] - neither).tolist()
    assert rows["transitions"].tolist() == (published["n"] - some).tolist()
    share = (published["orders_agree"] - neither) / (published["n"] - some)
    np.testing.assert_allclose(rows["value"], share, rtol=0, atol=1e-12)


def test_accuracy_of_gpt_4_on_natural_items_is_the_published_one(llmbar):
    """Unweighted over orders; no verdict of these is missing."""
    of = llmbar.isel(transition=llmbar["stratum"].values == "LLMBar/Natural").sel(judge="GPT-4")
    assert of.sizes["transition"] == 100
    for strategy, expected in (("Vanilla", 0.955), ("CoT", 0.945), ("Rating", 0.920)):
        said = of["score"].sel(strategy=strategy)
        assert int(said.count()) == 200
        correct = (said == of["gold"].astype(float)).mean()
        assert float(correct) == pytest.approx(expected, abs=5e-4)


# --- (b) consistency of order, and repetitions as waves -------------------------------------------

BENCHES = ("DevBench", "MTBench")
REPETITIONS = """
kind = "scores"
[data]
path = "position_bias_repetitions.csv.gz"
score = "said"
unit = "question"
transition = "pair"
channel = {{ judge = {judges} }}
replicate = {{ order = ["forward", "back"], wave = [1, 2, 3] }}
attributes = ["bench"]
[data.derive]
pair = "least(model_A, model_B) || ' and ' || greatest(model_A, model_B)"
order = "CASE WHEN model_A < model_B THEN 'forward' ELSE 'back' END"
wave = "rep"
said = '''
CASE WHEN verdict = 'C' THEN 0
     WHEN (verdict = 'A') = (model_A < model_B) THEN 1
     WHEN verdict IN ('A', 'B') THEN 2
END
'''
[estimands]
{estimands}
"""


@pytest.fixture(scope="module")
def repeated():
    """Rows in plain pandas with the model that is preferred, by name; NaN where unparsed."""
    read = pd.read_csv(REPEATED)
    models = read[["model_A", "model_B"]]
    winner = read["model_A"].where(read["verdict"] == "A", read["model_B"])
    winner = winner.where(read["verdict"] != "C", "a tie").where(read["verdict"].notna())
    return read.assign(
        pair=[" and ".join(sorted(pair)) for pair in models.itertuples(index=False)],
        swapped=models["model_A"] > models["model_B"],
        winner=winner,
    )


@pytest.fixture(scope="module")
def repetitions(repeated):
    judges = sorted(set(repeated["judge"]))
    asked = [
        f'"{factor} {bench} {judge}" = {{ agreement = "{factor}", at = {{ judge = "{judge}" }}, '
        f'where = {{ bench = "{bench}" }} }}'
        for factor in ("order", "wave")
        for bench in BENCHES
        for judge in judges
    ]
    return declared(REPETITIONS.format(judges=listed(judges), estimands="\n".join(asked)))


@pytest.fixture(scope="module")
def rates(repetitions):
    data = fc.read_scores(repetitions)
    assert data.sizes == {"transition": 168, "judge": 9, "order": 2, "wave": 3}
    assert data["score"].size - int(data["score"].count()) == 28
    return fc.estimate(data, repetitions, draws=200).set_index("name")


def shares(repeated, over, settings):
    """By bench and judge: the mean share of settings in which all of `over` name one winner."""
    pair = ["bench", "judge", "question", "pair"]
    complete = repeated.groupby(pair)["winner"].count() == 6
    named = repeated.dropna(subset="winner").groupby([*pair, settings])["winner"]
    same = named.min() == named.max()
    kept = same.groupby(pair).mean()[complete]
    return kept.groupby(["bench", "judge"]).agg(["mean", "count"])


@pytest.mark.parametrize(
    ("factor", "over", "settings"), [("order", "swapped", "rep"), ("wave", "rep", "swapped")]
)
def test_consistency_of_every_judge_is_that_of_pandas(rates, repeated, factor, over, settings):
    expected = shares(repeated, over, settings)
    assert len(expected) == 18
    for (bench, judge), found in expected.iterrows():
        row = rates.loc[f"{factor} {bench} {judge}"]
        assert row["value"] == pytest.approx(found["mean"], abs=1e-12)
        assert row["transitions"] == found["count"]
        assert row["interval"][0] <= row["value"] <= row["interval"][1]
    unparsed = expected.loc[("MTBench", "gpt-3.5-turbo-0125"), "count"]
    assert unparsed < 96
    assert (expected.loc["DevBench", "count"] == 72).all()


def test_a_judge_that_repeats_itself_need_not_be_consistent(rates):
    name = "DevBench claude-3-haiku-20240307"
    assert rates.loc[f"order {name}", "value"] == pytest.approx(0.185, abs=5e-4)
    assert rates.loc[f"wave {name}", "value"] == pytest.approx(0.708, abs=5e-4)
    assert rates.loc[f"order {name}", "units"] == 18  # questions, each with four pairs
