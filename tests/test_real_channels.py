"""Designs that real tables cross in part: gains, interactions, shares and signs, by plain pandas.

Expected values come from a pivot of the file: a column for each cell, a row for each item, and a
contrast of columns wherever no cell of it is missing. What the table does not cross has to be
refused with the cells that are missing, and what is left of the same table has to stand.
"""

import itertools
import math
from pathlib import Path
from string import Template

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc

REAL = Path(__file__).parents[2] / "shared" / "real"
ALPACA = REAL / "alpaca_eval_logprob_margins.csv.gz"
ORDERS = REAL / "llmbar_judge_orders.csv.gz"
WEIGHTED, COT = "weighted_alpaca_eval_gpt4_turbo", "alpaca_eval_cot_gpt4_turbo_fn"
FN = "alpaca_eval_gpt4_turbo_fn"
MODELS = ["alpaca-7b", "gpt-3.5-turbo-1106"]
SMALL, LARGE = MODELS
WORDS = {
    "alpaca": ALPACA.name,
    "orders": ORDERS.name,
    "small": SMALL,
    "large": LARGE,
    "weighted": WEIGHTED,
    "cot": COT,
    "fn": FN,
}
WEIGHTS = ("empirical", "equal")

pytestmark = pytest.mark.skipif(
    not (ALPACA.exists() and ORDERS.exists()),
    reason=f"no real tables at {REAL}: they are kept beside the repository",
)


def declared(text, **words):
    """A spec with its $words filled in."""
    return fc.parse_spec(Template(text).substitute(WORDS, **words), directory=REAL)


def estimates(spec):
    """Rows by (name, weights)."""
    found = fc.estimate(fc.read_scores(spec), spec, draws=20)
    return found.set_index(["name", "weights"])


def by_item(rows, item, columns, values):
    """A row for each item, a column for each cell; one row of the table in each place."""
    assert not rows.duplicated([item, *columns]).any()
    return rows.pivot_table(values, item, columns).sort_index(axis=1)


def mixed(values, stratum):
    """Mean of a contrast by item, and mean of its stratum means."""
    own = stratum.loc[values.index]
    return {"empirical": values.mean(), "equal": values.groupby(own).mean().mean()}


def expect(found, contrasts, stratum):
    """Every row has the mean of its contrast, over the items that have one."""
    assert contrasts
    for name, contrast in contrasts.items():
        values = contrast.dropna()
        expected = mixed(values, stratum)
        for weights in WEIGHTS:
            row = found.loc[name, weights]
            assert row["value"] == pytest.approx(expected[weights], rel=0, abs=1e-9), name
            assert (row["units"], row["transitions"]) == (len(values), len(values)), name


def refused(found, name, reason="not_identified"):
    """The refusal of an estimate, the same under all weights."""
    first, second = (found.loc[name, weights] for weights in WEIGHTS)
    assert pd.isna(first["value"])
    assert first["interval"] is None
    assert first["refused"] == second["refused"]
    assert first["refused"]["reason"] == reason
    return first["refused"]


def signs(first, second, zones):
    """Which items each row of a family of signs counts, of two gains by item."""
    both = pd.DataFrame({"first": first, "second": second}).dropna().round(9)
    one, other = both["first"], both["second"]
    down, up = (one > 0) & (other < 0), (one < 0) & (other > 0)
    return {
        "cross_channel": down | up,
        "cross_channel+-": down,
        "cross_channel-+": up,
        "zero": (one == 0) | (other == 0),
        **{
            f"beyond_{zone}": (down | up) & (one.abs() > zone) & (other.abs() > zone)
            for zone in zones
        },
    }


def expect_signs(found, name, first, second, stratum, zones):
    """A family of signs: its two gains and their difference, and rates with whole counts."""
    complete = first.notna() & second.notna()
    kept, others = first[complete], second[complete]
    means = {"gain.first": kept, "gain.second": others, "omega": others - kept}
    expect(found, {f"{name}.{row}": values for row, values in means.items()}, stratum)
    counted = signs(first, second, zones)
    expect(found, {f"{name}.{row}": flags.astype(float) for row, flags in counted.items()}, stratum)
    for row, flags in counted.items():
        assert found.loc[(f"{name}.{row}", "empirical"), "count"] == flags.sum(), row
    return counted


# --- (a) models asked to be concise: a change that one evaluator alone has seen -------------------

PROMPTS = """
kind = "scores"
[data]
path = "$alpaca"
score = "preference"
unit = "item"
change = { column = "prompt", before = "standard", after = "$prompt" }
channel = { model = ["$small", "$large"], evaluator = ["$weighted", "$cot"] }
stratum = "dataset"
where = { copy = "main", model = ["$small", "$large"], prompt = ["standard", "$prompt"] }
[data.derive]
prompt = '''
CASE WHEN ends_with(state, '_concise') THEN 'concise'
     WHEN ends_with(state, '_verbose') THEN 'verbose' ELSE 'standard' END
'''
model = "split_part(state, '_', 1)"
[estimands]
small = { gain = { model = "$small", evaluator = "$weighted" } }
large = { gain = { model = "$large", evaluator = "$weighted" } }
both = { gain = { evaluator = "$weighted" }, average_over = ["model"] }
models = { omega = { model = ["$small", "$large"] }, at = { evaluator = "$weighted" } }
other_evaluator = { gain = { model = "$small", evaluator = "$cot" } }
evaluators = { omega = { evaluator = ["$weighted", "$cot"] }, at = { model = "$small" } }
evaluators_large = { omega = { evaluator = ["$weighted", "$cot"] }, at = { model = "$large" } }
[estimands.before]
endpoint_shift = { evaluator = ["$weighted", "$cot"] }
state = "before"
at = { model = "$small" }
[estimands.after]
endpoint_shift = { evaluator = ["$weighted", "$cot"] }
state = "after"
at = { model = "$small" }
[estimands.family]
signs = { evaluator = ["$weighted", "$cot"] }
at = { model = "$small" }
dead_zones = [0.5]
[weights]
empirical = "empirical"
equal = "equal"
"""


@pytest.fixture(scope="module")
def alpaca():
    read = pd.read_csv(ALPACA, dtype={"item": str})
    return read[read["copy"] == "main"]


@pytest.fixture(scope="module")
def dataset(alpaca):
    return alpaca.drop_duplicates("item").set_index("item")["dataset"]


@pytest.fixture(scope="module")
def preference(alpaca):
    """A row for each item, a column for each (state, evaluator) of the file."""
    return by_item(alpaca, "item", ["state", "evaluator"], "preference")


@pytest.fixture(scope="module", params=["concise", "verbose"])
def prompt(request):
    return request.param, estimates(declared(PROMPTS, prompt=request.param))


def test_gains_of_a_prompt_and_their_difference_between_models_are_those_of_pandas(
    prompt, preference, dataset
):
    asked, found = prompt
    small, large = (
        preference[f"{model}_{asked}", WEIGHTED] - preference[model, WEIGHTED] for model in MODELS
    )
    contrasts = {
        "small": small,
        "large": large,
        "both": (small + large) / 2,
        "models": large - small,
        "before": preference[SMALL, COT] - preference[SMALL, WEIGHTED],
    }
    expect(found, contrasts, dataset)
    assert found.loc[("small", "empirical"), "units"] == {"concise": 804, "verbose": 802}[asked]
    assert found.loc[("large", "empirical"), "units"] == 805


def cell(state, model, evaluator=COT):
    return {"state": state, "model": model, "evaluator": evaluator}


@pytest.mark.parametrize(
    ("name", "missing", "moves"),
    [
        ("other_evaluator", [cell("after", SMALL)], 1),
        ("evaluators", [cell("after", SMALL)], 1),
        ("after", [cell("after", SMALL)], 1),
        ("evaluators_large", [cell("before", LARGE), cell("after", LARGE)], -1),
    ],
)
def test_an_evaluator_that_never_saw_the_prompt_leaves_no_interaction(
    prompt, preference, name, missing, moves
):
    asked, found = prompt
    for lacking in missing:
        end = f"_{asked}" if lacking["state"] == "after" else ""
        assert (lacking["model"] + end, lacking["evaluator"]) not in preference
    said = refused(found, name)
    assert said["missing"] == missing
    assert said["would_identify"] == [missing]
    assert said["witness"] == {"shift": [{"cell": missing[0], "by": 1.0}], "moves_contrast": moves}
    for lacking in missing:
        words = ", ".join(f"{factor} = {level}" for factor, level in lacking.items())
        assert words in said["message"]


def test_rows_of_one_family_are_refused_together(prompt):
    """The first gain alone is measured, but not among transitions complete in both channels."""
    _, found = prompt
    missing = [cell("after", SMALL)]
    said = refused(found, "family.gain.first", "incomplete_family")
    assert said["missing"] == missing
    assert "witness" not in said
    assert found.loc[("small", "empirical"), "refused"] is None
    for row in ("gain.second", "omega", "cross_channel", "zero", "beyond_0.5"):
        assert refused(found, f"family.{row}")["missing"] == missing


# --- (b) two prompts as transitions that share their standard answer, two readouts ----------------

READOUTS = ["soft", "hard"]
CUBE = """
kind = "scores"
[data]
score = "win"
unit = "item"
transition = "prompt"
endpoint = "wording"
change = { column = "side", before = "standard", after = "changed" }
channel = { model = ["$small", "$large"], readout = ["soft", "hard"] }
stratum = "dataset"
attributes = ["length"]
[data.derive]
length = "prompt"
win = '''
CASE WHEN readout = 'soft' THEN num(preference) - 1
     WHEN num(preference) > 1.5 THEN 1 WHEN num(preference) < 1.5 THEN 0
     WHEN num(preference) = 1.5 THEN 0.5 END
'''
[estimands.small_concise]
gain = { model = "$small", readout = "soft" }
where = { length = "concise" }
[estimands.small_verbose]
gain = { model = "$small", readout = "soft" }
where = { length = "verbose" }
[estimands.large_concise]
gain = { model = "$large", readout = "soft" }
where = { length = "concise" }
[estimands.large_verbose]
gain = { model = "$large", readout = "soft" }
where = { length = "verbose" }
[estimands.large_hard]
gain = { model = "$large", readout = "hard" }
where = { length = "verbose" }
[estimands.length]
gain = { model = "$large", readout = "soft" }
between = { length = ["concise", "verbose"] }
[estimands.readouts_small]
omega = { readout = ["soft", "hard"] }
at = { model = "$small" }
where = { length = "verbose" }
[estimands.readouts_large]
omega = { readout = ["soft", "hard"] }
at = { model = "$large" }
where = { length = "verbose" }
[estimands.cube]
omega = { model = ["$small", "$large"], readout = ["soft", "hard"] }
where = { length = "verbose" }
[estimands.again]
difference = ["readouts_small", "readouts_large"]
[estimands.move]
diagonal = { model = ["$small", "$large"], readout = ["soft", "hard"] }
where = { length = "verbose" }
[estimands.share]
allocation = ["state", "model", "readout"]
where = { length = "verbose" }
[estimands.readout]
signs = { readout = ["soft", "hard"] }
at = { model = "$large" }
where = { length = "verbose" }
dead_zones = [0.5, 1]
[weights]
empirical = "empirical"
equal = "equal"
[criteria]
length_pays_large = { signs = { large_concise = "-", large_verbose = "+" } }
length_costs_large = { signs = { large_concise = "+", large_verbose = "-" } }
length_pays_small = { signs = { small_concise = "-", small_verbose = "+" } }
length_pays = { signs = { large_verbose = "+", small_verbose = "+" } }
length_costs = { signs = { small_verbose = "+", large_verbose = "-" } }
"""


@pytest.fixture(scope="module")
def lengths(alpaca):
    """The standard answer beside each of the two prompts, once for each readout."""
    seen = alpaca[alpaca["evaluator"] == WEIGHTED]
    parts = [
        seen[seen["state"] == model + end].assign(
            model=model,
            prompt=asked,
            side="changed" if end else "standard",
            wording=end.strip("_") or "standard",
            readout=readout,
        )
        for model, asked, readout in itertools.product(MODELS, ["concise", "verbose"], READOUTS)
        for end in ("", f"_{asked}")
    ]
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def wins(preference):
    """By readout: a row for each item, a column for each state."""
    soft = preference.xs(WEIGHTED, axis=1, level="evaluator") - 1
    hard = pd.DataFrame(np.sign(soft - 0.5) / 2 + 0.5)
    assert (hard == 0.5).sum().sum() > 5  # ties of a half
    return {"soft": soft, "hard": hard}


@pytest.fixture(scope="module")
def measured(lengths):
    spec = declared(CUBE)
    found = fc.estimate(fc.read_scores(spec, lengths), spec, draws=2000)
    return found.set_index(["name", "weights"]), fc.criteria(found, spec)


def gain_of(wins, model, asked, readout="soft"):
    return wins[readout][f"{model}_{asked}"] - wins[readout][model]


def test_a_cube_of_change_model_and_readout_is_that_of_pandas(measured, wins, dataset):
    found, _ = measured
    contrasts = {
        f"{size}_{asked}": gain_of(wins, model, asked)
        for size, model in zip(("small", "large"), MODELS, strict=True)
        for asked in ("concise", "verbose")
    }
    contrasts["large_hard"] = gain_of(wins, LARGE, "verbose", "hard")
    small, large = (
        gain_of(wins, model, "verbose", "hard") - gain_of(wins, model, "verbose")
        for model in MODELS
    )
    contrasts |= {"readouts_small": small, "readouts_large": large}
    contrasts |= {"cube": large - small, "again": large - small}
    contrasts["move"] = wins["hard"][f"{LARGE}_verbose"] - wins["soft"][SMALL]
    expect(found, contrasts, dataset)


def test_shares_of_three_factors_are_averages_over_the_orders_of_moving(measured, wins, dataset):
    found, _ = measured
    factors = ("state", "model", "readout")

    def corner(moved):
        state = "_verbose" if "state" in moved else ""
        model = LARGE if "model" in moved else SMALL
        return wins["hard" if "readout" in moved else "soft"][model + state]

    steps = {factor: [] for factor in factors}
    for path in itertools.permutations(factors):
        for place, factor in enumerate(path):
            steps[factor].append(corner(path[: place + 1]) - corner(path[:place]))
    shares = {f"share.{factor}": sum(of) / len(of) for factor, of in steps.items()}
    expect(found, shares, dataset)
    complete = sum(shares.values()).dropna()
    move = wins["hard"][f"{LARGE}_verbose"] - wins["soft"][SMALL]
    assert len(complete) == 802
    assert move[complete.index].mean() == pytest.approx(complete.mean(), abs=1e-12)


def test_transitions_of_one_item_are_compared_as_groups(measured, wins, dataset):
    found, _ = measured
    concise, verbose = (
        mixed(gain_of(wins, LARGE, asked), dataset) for asked in ("concise", "verbose")
    )
    for weights in WEIGHTS:
        row = found.loc["length", weights]
        assert row["value"] == pytest.approx(verbose[weights] - concise[weights], rel=0, abs=1e-9)
        assert (row["units"], row["transitions"]) == (805, 1610)


def test_a_hard_readout_never_turns_a_sign_and_often_has_none(measured, wins, dataset):
    """Rounding to win, tie or loss is monotone in the preference, so no gain can be reversed."""
    found, _ = measured
    first, second = (gain_of(wins, LARGE, "verbose", readout) for readout in READOUTS)
    counted = expect_signs(found, "readout", first, second, dataset, (0.5, 1))
    assert counted["cross_channel"].sum() == 0
    assert counted["zero"].mean() > 0.5


def bootstrap(values, stratum, draws=2000):
    """Ends of plain percentile intervals of a mean, and of a mean of stratum means."""
    n = len(values)
    times = np.random.default_rng(8).multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    groups = pd.get_dummies(stratum.loc[values.index]).to_numpy(float)
    means = {
        "empirical": times @ values.to_numpy() / n,
        "equal": (((times * values.to_numpy()) @ groups) / (times @ groups)).mean(axis=1),
    }
    return {
        weights: (*np.quantile(drawn, [0.025, 0.975]), drawn.std())
        for weights, drawn in means.items()
    }


def side(low, high, spread):
    """The side of zero of an interval that is nowhere near a close call."""
    assert min(abs(low), abs(high)) > 0.3 * spread
    return 1 if low > 0 else -1 if high < 0 else 0


SIGNS = {"+": 1, "-": -1}
CRITERIA = {
    "length_pays_large": {"large_concise": "-", "large_verbose": "+"},
    "length_costs_large": {"large_concise": "+", "large_verbose": "-"},
    "length_pays_small": {"small_concise": "-", "small_verbose": "+"},
    "length_pays": {"large_verbose": "+", "small_verbose": "+"},
    "length_costs": {"small_verbose": "+", "large_verbose": "-"},
}


def test_directional_criteria_have_the_verdicts_of_a_bootstrap_in_pandas(measured, wins, dataset):
    rows, told = measured
    ends = {
        f"{size}_{asked}": bootstrap(gain_of(wins, model, asked).dropna(), dataset)
        for size, model in zip(("small", "large"), MODELS, strict=True)
        for asked in ("concise", "verbose")
    }
    for name, weights in itertools.product(ends, WEIGHTS):
        *own, spread = ends[name][weights]
        assert rows.loc[name, weights]["interval"] == pytest.approx(own, rel=0, abs=0.2 * spread)
    verdicts = {}
    for (name, parts), weights in itertools.product(CRITERIA.items(), WEIGHTS):
        found = [side(*ends[row][weights]) * SIGNS[sign] for row, sign in parts.items()]
        verdicts[name, weights] = (
            "contradicted" if -1 in found else "supported" if all(found) else "unresolved"
        )
    assert set(verdicts.values()) == {"supported", "contradicted", "unresolved"}
    assert told.set_index(["name", "weights"])["verdict"].to_dict() == verdicts


# --- (c) the order shown: fixed for each item, so a channel whose gains share no item -------------

SHOWN = ["out2=m", "out2=M"]
ORDER = """
kind = "scores"
[data]
path = "$alpaca"
score = "margin"
unit = "item"
change = { column = "state", before = "$large", after = "${large}_verbose" }
stratum = "dataset"
$part
[data.where]
copy = "main"
evaluator = "$weighted"
state = ["$large", "${large}_verbose"]
order = ["out2=m", "out2=M"]
[data.derive]
margin = '''
CASE order WHEN 'out2=m' THEN num(logprob_m) - num(logprob_M)
           WHEN 'out2=M' THEN num(logprob_M) - num(logprob_m) END
'''
[estimands]
$asked
[weights]
empirical = "empirical"
equal = "equal"
"""
AS_CHANNEL = """
m = { gain = { order = "out2=m" } }
M = { gain = { order = "out2=M" } }
orders = { omega = { order = ["out2=m", "out2=M"] } }
"""


@pytest.fixture(scope="module")
def margins(alpaca):
    """Gains in log-odds of being preferred, and the order in which each item was shown."""
    kept = alpaca[(alpaca["evaluator"] == WEIGHTED) & alpaca["order"].notna()]
    first = kept["logprob_m"] - kept["logprob_M"]
    kept = kept.assign(margin=first.where(kept["order"] == "out2=m", -first))
    by_state = by_item(kept, "item", ["state"], "margin")
    gains = (by_state[f"{LARGE}_verbose"] - by_state[LARGE]).dropna()
    order = kept.drop_duplicates("item").set_index("item")["order"]
    return {shown: gains[order[gains.index] == shown] for shown in SHOWN}


def test_gains_of_two_orders_share_no_item_and_leave_no_interaction(margins, dataset):
    part = 'channel = { order = ["out2=m", "out2=M"] }'
    found = estimates(declared(ORDER, part=part, asked=AS_CHANNEL))
    assert len(margins["out2=m"]) > 300
    assert len(margins["out2=M"]) > 300
    expect(found, {"m": margins["out2=m"], "M": margins["out2=M"]}, dataset)
    said = refused(found, "orders", "no_complete_transition")
    assert "no transition is complete in every cell" in said["message"]


def test_the_same_orders_as_an_attribute_are_compared_between_items(margins, dataset):
    asked = 'orders = { gain = {}, between = { order = ["out2=m", "out2=M"] } }'
    found = estimates(declared(ORDER, part='attributes = ["order"]', asked=asked))
    first, second = (mixed(margins[shown], dataset) for shown in SHOWN)
    for weights in WEIGHTS:
        row = found.loc["orders", weights]
        assert row["value"] == pytest.approx(second[weights] - first[weights], rel=0, abs=1e-9)
        assert row["units"] == sum(map(len, margins.values()))


# --- (d) two evaluators with grades, and one that has seen one side of the change -----------------

EVALUATORS = """
kind = "scores"
[data]
path = "$alpaca"
score = "preference"
unit = "item"
change = { column = "state", before = "gpt-3.5-turbo-0301", after = "cohere" }
channel = { evaluator = ["$fn", "$cot", "$weighted"] }
stratum = "dataset"
where = { copy = "main", state = ["gpt-3.5-turbo-0301", "cohere"] }
[estimands]
fn = { gain = { evaluator = "$fn" } }
cot = { gain = { evaluator = "$cot" } }
omega = { omega = { evaluator = ["$fn", "$cot"] } }
weighted = { omega = { evaluator = ["$fn", "$weighted"] } }
old = { endpoint_shift = { evaluator = ["$fn", "$weighted"] }, state = "before" }
signs = { signs = { evaluator = ["$fn", "$cot"] }, dead_zones = [0.5] }
same = { agreement = { evaluator = ["$fn", "$cot"] }, state = "after" }
[weights]
empirical = "empirical"
equal = "equal"
"""


def test_two_evaluators_disagree_in_sign_as_often_as_in_pandas(preference, dataset):
    found = estimates(declared(EVALUATORS))
    old, new = (preference[state] for state in ("gpt-3.5-turbo-0301", "cohere"))
    fn, cot = (new[seen] - old[seen] for seen in (FN, COT))
    contrasts = {"fn": fn, "cot": cot, "omega": cot - fn}
    contrasts["old"] = old[WEIGHTED] - old[FN]
    same = (new[FN] == new[COT]).astype(float)
    expect(found, {**contrasts, "same": same}, dataset)
    assert found.loc[("same", "empirical"), "count"] == same.sum()
    counted = expect_signs(found, "signs", fn, cot, dataset, (0.5,))
    assert 0 < counted["beyond_0.5"].sum() < counted["cross_channel"].sum()  # gains of a half
    assert refused(found, "weighted")["missing"] == [{"state": "after", "evaluator": WEIGHTED}]


# --- (e) judges and forms of a verdict, each with and without rules, in both orders ---------------

JUDGES, FORMS = ["ChatGPT", "GPT-4", "PaLM2"], ["Vanilla", "Rating"]
PAIR = JUDGES[:2]
RULES = """
kind = "scores"
[data]
path = "$orders"
score = "right"
unit = "unit"
change = { column = "rules", before = "without", after = "with" }
channel = { judge = ["ChatGPT", "GPT-4", "PaLM2"], form = ["Vanilla", "Rating"] }
replicate = { swap = [0, 1] }
stratum = "subset"
[data.where]
judge = ["ChatGPT", "GPT-4", "PaLM2"]
strategy = ["Vanilla_NoRules", "Vanilla", "Rating_NoRules", "Rating"]
benchmark = "LLMBar"
[data.derive]
benchmark = "split_part(subset, '/', 1)"
unit = "subset || '/' || item"
form = "split_part(strategy, '_', 1)"
rules = "CASE WHEN ends_with(strategy, '_NoRules') THEN 'without' ELSE 'with' END"
right = "CASE WHEN num(winner) = num(gold) THEN 1 WHEN num(winner) IN (1, 2) THEN 0 END"
[estimands]
judges = { omega = { judge = ["ChatGPT", "GPT-4"] }, at = { form = "Vanilla" } }
judges_rating = { omega = { judge = ["ChatGPT", "GPT-4"] }, at = { form = "Rating" } }
forms = { omega = { form = ["Vanilla", "Rating"] }, at = { judge = ["ChatGPT", "GPT-4"] } }
palm = { omega = { judge = ["GPT-4", "PaLM2"] }, at = { form = "Vanilla" } }
cube = { omega = { judge = ["ChatGPT", "GPT-4"], form = ["Vanilla", "Rating"] } }
again = { difference = ["judges", "judges_rating"] }
share = { allocation = { judge = ["ChatGPT", "GPT-4"], form = ["Vanilla", "Rating"] } }
move = { diagonal = { judge = ["ChatGPT", "GPT-4"], form = ["Vanilla", "Rating"] } }
palm_forms = { omega = { form = ["Vanilla", "Rating"] }, at = { judge = "PaLM2" } }
every = { gain = { form = "Rating" }, average_over = ["judge"] }
palm_cube = { omega = { judge = ["GPT-4", "PaLM2"], form = ["Vanilla", "Rating"] } }
[estimands.signs]
signs = { judge = ["ChatGPT", "GPT-4"] }
at = { form = "Vanilla" }
dead_zones = [0.25, 0.5]
[estimands.same]
agreement = { judge = ["ChatGPT", "GPT-4"] }
state = "after"
at = { form = "Vanilla" }
$asked
[weights]
empirical = "empirical"
equal = "equal"
"""
AGREEMENTS = {
    f"{state} {judge} {form}": (state, judge, form)
    for state, judge, form in itertools.product(("before", "after"), JUDGES, FORMS)
    if (judge, form) != ("PaLM2", "Rating")
}
EACH_CELL = "\n".join(
    [
        *(
            f'[estimands."{judge} {form}"]\ngain = {{ judge = "{judge}", form = "{form}" }}'
            for judge, form in itertools.product(JUDGES, FORMS)
        ),
        *(
            f'[estimands."order {name}"]\nagreement = "swap"\nstate = "{state}"\n'
            f'at = {{ judge = "{judge}", form = "{form}" }}'
            for name, (state, judge, form) in AGREEMENTS.items()
        ),
    ]
)


@pytest.fixture(scope="module")
def orders():
    read = pd.read_csv(ORDERS, dtype={"item": str})
    kept = read[read["subset"].str.startswith("LLMBar/")]
    return kept.assign(unit=kept["subset"] + "/" + kept["item"])


@pytest.fixture(scope="module")
def subset(orders):
    return orders.drop_duplicates("unit").set_index("unit")["subset"]


@pytest.fixture(scope="module")
def right(orders):
    """A row for each item, a column for each (judge, strategy, order); NaN without a verdict."""
    said = orders.assign(right=(orders["winner"] == orders["gold"]).where(orders["winner"].notna()))
    said = said[said["is_final"] == 1].astype({"right": float})
    return by_item(said, "unit", ["judge", "strategy", "swap"], "right")


@pytest.fixture(scope="module")
def rules():
    return estimates(declared(RULES, asked=EACH_CELL))


def accuracy(right, judge, form, state="after"):
    """Share of the two orders in which an item is judged right; NaN unless both have a verdict."""
    both = right[judge, form if state == "after" else f"{form}_NoRules"]
    return (both[0] + both[1]) / 2


def test_a_cube_of_rules_judge_and_form_is_that_of_pandas(rules, right, subset):
    gains = {
        f"{judge} {form}": accuracy(right, judge, form) - accuracy(right, judge, form, "before")
        for judge, form in itertools.product(JUDGES, FORMS)
        if (judge, form) != ("PaLM2", "Rating")
    }
    first = gains["GPT-4 Vanilla"] - gains["ChatGPT Vanilla"]
    second = gains["GPT-4 Rating"] - gains["ChatGPT Rating"]
    move = accuracy(right, "GPT-4", "Rating") - accuracy(right, "ChatGPT", "Vanilla", "before")
    by_judge = (gains[f"{judge} Rating"] - gains[f"{judge} Vanilla"] for judge in PAIR)
    contrasts = {
        **gains,
        "judges": first,
        "judges_rating": second,
        "cube": second - first,
        "again": second - first,
        "forms": sum(by_judge) / 2,
        "palm": gains["PaLM2 Vanilla"] - gains["GPT-4 Vanilla"],
        "move": move,
    }
    expect(rules, contrasts, subset)
    assert contrasts["palm"].isna().sum() == 10  # verdicts that were never given


def test_shares_of_rules_judge_and_form_sum_to_the_move(rules, right, subset):
    corners = {
        moved: accuracy(
            right,
            PAIR["judge" in moved],
            FORMS["form" in moved],
            "after" if "state" in moved else "before",
        )
        for size in range(4)
        for moved in map(frozenset, itertools.combinations(("state", "judge", "form"), size))
    }
    shares = {}
    for factor in ("state", "judge", "form"):
        inside = [moved for moved in corners if factor not in moved]
        shares[f"share.{factor}"] = sum(
            math.factorial(len(moved))
            * math.factorial(2 - len(moved))
            / 6
            * (corners[moved | {factor}] - corners[moved])
            for moved in inside
        )
    expect(rules, shares, subset)
    whole = corners[frozenset(("state", "judge", "form"))] - corners[frozenset()]
    complete = sum(corners.values()).notna()
    found = sum(
        rules.loc[(f"share.{factor}", "empirical"), "value"]
        for factor in ("state", "judge", "form")
    )
    assert found == pytest.approx(whole[complete].mean(), abs=1e-9)


@pytest.mark.parametrize("name", ["PaLM2 Rating", "palm_forms", "every", "palm_cube"])
def test_ratings_that_a_judge_never_gave_are_named(rules, right, name):
    missing = [
        {"state": state, "judge": "PaLM2", "form": "Rating"} for state in ("before", "after")
    ]
    assert not {"Rating", "Rating_NoRules"} & set(right["PaLM2"].columns.get_level_values(0))
    said = refused(rules, name)
    assert said["missing"] == missing
    assert said["would_identify"] == [missing]
    assert "(state = before, judge = PaLM2, form = Rating)" in said["message"]


def test_orders_agree_on_each_side_as_often_as_in_pandas(rules, right, subset):
    expected = {}
    for name, (state, judge, form) in AGREEMENTS.items():
        both = right[judge, form if state == "after" else f"{form}_NoRules"].dropna()
        expected[f"order {name}"] = (both[0] == both[1]).astype(float)
    expect(rules, expected, subset)
    for name, same in expected.items():
        assert rules.loc[(name, "empirical"), "count"] == same.sum()
    shares = [same.mean() for same in expected.values()]
    assert min(shares) < 0.7
    assert max(shares) > 0.9


def test_judges_are_right_together_and_gain_alike_as_often_as_in_pandas(rules, right, subset):
    one, other = (right[judge, "Vanilla"] for judge in PAIR)
    known = one.notna().all(axis=1) & other.notna().all(axis=1)
    expect(rules, {"same": (one == other)[known].mean(axis=1)}, subset)
    gains = (
        accuracy(right, judge, "Vanilla") - accuracy(right, judge, "Vanilla", "before")
        for judge in PAIR
    )
    counted = expect_signs(rules, "signs", *gains, subset, (0.25, 0.5))
    assert counted["beyond_0.25"].sum() > 0
    assert counted["beyond_0.5"].sum() == 0  # in every one some gain is a half, on the edge


# --- (f) the worse output and the better one, rated by prompts that differ in two factors ---------

RATED = {
    "none": "Rating",
    "metrics": "Rating_Metrics",
    "reference": "Rating_Reference",
    "whole": "Rating_Metrics_Reference",
}
RATINGS = """
kind = "scores"
[data]
score = "rating"
unit = "unit"
change = { column = "output", before = "worse", after = "better" }
channel = { judge = ["ChatGPT", "GPT-4"], metrics = [false, true], reference = [false, true] }
replicate = { swap = [0, 1] }
stratum = "subset"
where = { rules = true }
[data.derive]
rules = "NOT ends_with(strategy, '_NoRules')"
metrics = "contains(strategy, '_Metrics')"
reference = "contains(strategy, '_Reference')"
[estimands]
none = { gain = { judge = "GPT-4", metrics = false, reference = false } }
metrics = { gain = { judge = "GPT-4", metrics = true, reference = false } }
reference = { gain = { judge = "GPT-4", metrics = false, reference = true } }
whole = { gain = { judge = "GPT-4", metrics = true, reference = true } }
both = { omega = { metrics = [false, true], reference = [false, true] }, at = { judge = "GPT-4" } }
every = { gain = { metrics = false, reference = false }, average_over = ["judge"] }
[estimands.averaged]
omega = { metrics = [false, true] }
at = { judge = "GPT-4" }
average_over = ["reference"]
[estimands.share]
allocation = { metrics = [false, true], reference = [false, true] }
state = "after"
at = { judge = "GPT-4" }
[estimands.judges]
omega = { judge = ["ChatGPT", "GPT-4"] }
at = { metrics = false, reference = false }
[estimands.signs]
signs = { reference = [false, true] }
at = { judge = "GPT-4", metrics = false }
dead_zones = [1, 2]
[estimands.judges_signs]
signs = { judge = ["ChatGPT", "GPT-4"] }
at = { metrics = false, reference = false }
dead_zones = [1, 2]
[estimands.same]
agreement = { reference = [false, true] }
state = "before"
at = { judge = "GPT-4", metrics = false }
[estimands.order]
agreement = "swap"
state = "after"
at = { judge = "GPT-4" }
average_over = ["metrics", "reference"]
[estimands.order_every]
agreement = "swap"
state = "after"
average_over = ["judge", "metrics", "reference"]
[estimands.alone]
omega = { metrics = [false, true] }
at = { judge = "ChatGPT", reference = false }
[estimands.triple]
omega = { judge = ["ChatGPT", "GPT-4"], metrics = [false, true] }
at = { reference = false }
[weights]
empirical = "empirical"
equal = "equal"
"""


@pytest.fixture(scope="module")
def outputs(orders):
    """A row for each output of a rated pair: which of the two is better is the gold label."""
    rated = orders[orders["score_2_raw"].notna() & (orders["judge"].isin(PAIR))]
    kept = rated[["unit", "subset", "judge", "strategy", "swap"]]
    return pd.concat(
        kept.assign(
            output=np.where(rated["gold"] == number, "better", "worse"),
            rating=rated[f"score_{number}_raw"],
        )
        for number in (1, 2)
    )


@pytest.fixture(scope="module")
def rating(outputs):
    """A row for each item, a column for each (judge, prompt, output, order)."""
    return by_item(outputs, "unit", ["judge", "strategy", "output", "swap"], "rating")


@pytest.fixture(scope="module")
def rated(outputs):
    spec = declared(RATINGS)
    return fc.read_scores(spec, outputs), spec


@pytest.fixture(scope="module")
def ratings(rated):
    return fc.estimate(*rated, draws=20).set_index(["name", "weights"])


def score(rating, prompt, output="better", judge="GPT-4"):
    """Of an output, averaged over both orders; NaN unless both are there."""
    both = rating[judge, prompt, output]
    return (both[0] + both[1]) / 2


def preferred(rating, prompt, judge="GPT-4"):
    return score(rating, prompt, "better", judge) - score(rating, prompt, "worse", judge)


def test_gains_of_the_better_output_by_prompt_are_those_of_pandas(ratings, rating, subset):
    gains = {name: preferred(rating, prompt) for name, prompt in RATED.items()}
    without = gains["metrics"] - gains["none"]
    beside = gains["whole"] - gains["reference"]
    better = {name: score(rating, prompt) for name, prompt in RATED.items()}
    steps = {
        "metrics": [("none", "metrics"), ("reference", "whole")],
        "reference": [("none", "reference"), ("metrics", "whole")],
    }
    shares = {
        f"share.{factor}": sum(better[last] - better[first] for first, last in pairs) / 2
        for factor, pairs in steps.items()
    }
    contrasts = {**gains, **shares, "averaged": (without + beside) / 2, "both": beside - without}
    contrasts["judges"] = gains["none"] - preferred(rating, "Rating", "ChatGPT")
    expect(ratings, contrasts, subset)
    lost = {name: int(values.isna().sum()) for name, values in contrasts.items()}
    assert lost["metrics"] == 0
    assert lost["none"] > 0  # a rating that was not a number, in both orders


@pytest.mark.parametrize("name", ["signs", "judges_signs"])
def test_readouts_disagree_in_sign_as_often_as_in_pandas(ratings, rating, subset, name):
    first, second = {
        "signs": (preferred(rating, "Rating"), preferred(rating, "Rating_Reference")),
        "judges_signs": (preferred(rating, "Rating", "ChatGPT"), preferred(rating, "Rating")),
    }[name]
    counted = expect_signs(ratings, name, first, second, subset, (1, 2))
    assert 0 < counted["beyond_2"].sum() <= counted["beyond_1"].sum()
    assert counted["beyond_1"].sum() < counted["cross_channel"].sum()  # gains of one point


def test_readouts_give_one_grade_as_often_as_in_pandas(ratings, rating, subset):
    one, other = (score(rating, prompt, "worse") for prompt in ("Rating", "Rating_Reference"))
    same = (one == other)[one.notna() & other.notna()].astype(float)
    expect(ratings, {"same": same}, subset)
    assert 0.2 < same.mean() < 0.8


def test_ratings_of_the_second_order_are_those_of_the_first(rated, ratings, rating, subset):
    """A rating is of one output alone: the order adds nothing to it, and the funnel says so."""
    shown = rating.xs("better", axis=1, level="output")["GPT-4"][list(RATED.values())]
    first, second = (shown.xs(swap, axis=1, level="swap") for swap in (0, 1))
    complete = (first.notna() & second.notna()).all(axis=1)
    assert 410 < complete.sum() < len(complete)
    expect(ratings, {"order": (first == second)[complete].mean(axis=1)}, subset)
    assert ratings.loc[("order", "empirical"), "value"] == 1
    pairs = rating.loc[:, pd.IndexSlice[:, list(RATED.values())]]
    places = int(pairs.xs(0, axis=1, level="swap").count().sum())
    (said,) = fc.funnel(rated[0])["warnings"]
    assert f"swap '1' has the same score as '0' in all {places:,} places" in said


def unrated(states, *prompts):
    """Cells of the judge that had the plain prompt alone."""
    flags = {"metrics": ("true", "false"), "reference": ("false", "true"), "whole": ("true",) * 2}
    return [
        {"state": state, "judge": "ChatGPT", "metrics": flags[name][0], "reference": flags[name][1]}
        for state, name in itertools.product(states, prompts)
    ]


@pytest.mark.parametrize(
    ("name", "reason", "missing"),
    [
        ("alone", "not_identified", unrated(("before", "after"), "metrics")),
        ("triple", "not_identified", unrated(("before", "after"), "metrics")),
        ("order_every", "never_measured", unrated(("after",), "reference", "metrics", "whole")),
    ],
)
def test_prompts_that_a_judge_never_had_are_named(ratings, rating, name, reason, missing):
    assert [prompt for prompt in RATED.values() if prompt in rating["ChatGPT"]] == ["Rating"]
    said = refused(ratings, name, reason)
    assert said["missing"] == missing
    assert said["would_identify"] == [missing]


def test_what_both_judges_rated_is_identified_though_the_design_is_not_crossed(
    rated, ratings, rating, subset
):
    gains = (preferred(rating, "Rating", judge) for judge in PAIR)
    expect(ratings, {"every": sum(gains) / 2}, subset)
    found = fc.estimate(*rated, cohort="joint", draws=20)
    assert {said["reason"] for said in found["refused"]} == {"no_complete_transition"}
    assert all("the joint cohort is empty" in said["message"] for said in found["refused"])
