"""The Bayesian bootstrap against explicit Dirichlet weights, one draw and one pair at a time."""

import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner import cli
from fourcorner.auditing import posterior_audit
from fourcorner.design import bayesian_bootstrap as bayesian
from fourcorner.design import engine
from fourcorner.design.auc import aucs
from fourcorner.design.discordance import discordances
from fourcorner.design.draws import dirichlet
from fourcorner.design.ranks import medians, trimmed_means, weighted_trimmed_means
from fourcorner.errors import NotAvailable, OptionError, SpecError
from fourcorner.estimands import as_estimands
from fourcorner.report import html, lines, words
from fourcorner.weights import resolve_all

REPO = Path(__file__).parents[1]
DRAWS, SEED = 60, 5
DECLARED = 120  # draws of the spec

SPEC = """
kind = "scores"
title = "Steps"
[data]
score = "margin"
unit = "task"
transition = "step"
change = { column = "state", before = "before", after = "after" }
channel = { view = ["a", "b"] }
replicate = { wave = ["w1", "w2"] }
stratum = "target"
attributes = ["kind", "won"]
[estimands]
first = { gain = { view = "a" } }
second = { gain = { view = "b" } }
omega = { omega = { view = ["a", "b"] } }
middle = { omega = { view = ["a", "b"] }, statistic = "median" }
trimmed = { omega = { view = ["a", "b"] }, statistic = "trimmed_mean" }
below = { omega = { view = ["a", "b"] }, statistic = "negative_share" }
edits = { omega = { view = ["a", "b"] }, where = { kind = "edit" } }
groups = { omega = { view = ["a", "b"] }, between = { kind = ["edit", "run"] } }
middles = { gain = { view = "b" }, between = { kind = ["edit", "run"] }, statistic = "median" }
by_unit = { omega = { view = ["a", "b"] }, weight_by = "unit" }
once = { gain = { view = "a" }, wave = ["w1"] }
signs = { signs = { view = ["a", "b"] }, dead_zones = [0.5] }
ranks = { auc = { view = ["a", "b"] }, outcome = { won = true } }
alike = { benchmark = { view = ["a", "b"] } }
again = { agreement = "wave", state = "after", at = { view = "a" } }
[criteria]
both = { signs = { first = "+", "ranks.difference" = "+" } }
[weights]
empirical = "empirical"
equal = "equal"
half = { mix = { empirical = 0.5, equal = 0.5 } }
[model]
family = "bayesian_bootstrap"
rope = 0.2
[sampler]
seed = 5
[design]
draws = 120
"""
STRATA = {"small": 3, "large": 9}


def steps(seed=1):
    """Ragged steps of twelve tasks in two views and two waves; scores of one decimal, so ties."""
    generator = np.random.default_rng(seed)
    rows = []
    for stratum, size in STRATA.items():
        for i in range(size):
            won = i % 3 == 0
            for step in range(1 + i % 3):
                kind = ("edit", "run")[(i + step) % 2]
                for cell in itertools.product(("before", "after"), "ab", ("w1", "w2")):
                    margin = generator.normal(0.3 * won + 0.4 * (cell[0] == "after"))
                    about = (f"{stratum}{i}", f"s{step}", stratum, kind, str(won).lower())
                    rows.append((*about, *cell, round(margin, 1)))
    columns = ["task", "step", "target", "kind", "won", "state", "view", "wave", "margin"]
    return pd.DataFrame(rows, columns=columns)


@pytest.fixture(scope="module")
def spec():
    return fc.parse_spec(SPEC)


@pytest.fixture(scope="module")
def data(spec):
    return fc.read_scores(spec, steps())


@pytest.fixture(scope="module")
def rows(spec, data):
    found = fc.bayesian_bootstrap(data, spec, draws=DRAWS, seed=SEED)
    return found.set_index(["name", "weights"])


@pytest.fixture(scope="module")
def audited(spec, data):
    return fc.audit(data, spec)


class Naive:
    """Every statistic of some steps from plain loops, in one draw of weights by task."""

    def __init__(self, frame):
        self.tasks = sorted(set(frame["task"]))
        owners = frame.drop_duplicates(["task", "step"]).sort_values(["task", "step"])
        self.task = owners["task"].map(self.tasks.index).to_numpy()
        self.stratum, self.kind = owners["target"].to_numpy(), owners["kind"].to_numpy()
        self.won = owners["won"].to_numpy() == "true"
        wide = frame.pivot_table("margin", ["task", "step"], ["state", "view", "wave"])
        self.score = {cell: wide[cell].to_numpy() for cell in wide.columns}
        self.omega = self.gain("b") - self.gain("a")
        self.ends = [
            tuple(self.side(state, view)[i] for view in "ab")
            for state in ("before", "after")
            for i in range(len(self.task))
        ]

    def side(self, state, view, waves=("w1", "w2")):
        return np.mean([self.score[state, view, w] for w in waves], axis=0).round(9)

    def gain(self, view, waves=("w1", "w2")):
        return (self.side("after", view, waves) - self.side("before", view, waves)).round(9)

    def of(self, by_task):
        """Each row's value, by name and mixture; ranks under the empirical mixture alone."""
        weight = by_task[self.task]
        omega, edit = self.omega.round(9), self.kind == "edit"
        tasks = range(len(self.tasks))
        unit_means = np.array([omega[self.task == task].mean() for task in tasks])
        unit_strata = np.array([self.stratum[self.task == task][0] for task in tasks])
        found = {
            "first": self.means(self.gain("a"), weight),
            "second": self.means(self.gain("b"), weight),
            "omega": self.means(omega, weight),
            "middle": {"empirical": weighted_median(omega, weight)},
            "trimmed": {"empirical": weighted_trimmed(omega, weight)},
            "below": self.means(omega < 0, weight),
            "edits": self.means(omega, weight, edit),
            "groups": difference(self.means(omega, weight, edit), self.means(omega, weight, ~edit)),
            "middles": difference(
                *(
                    {"empirical": weighted_median(self.gain("b")[group], weight[group])}
                    for group in (edit, ~edit)
                )
            ),
            "by_unit": means(unit_means, by_task, unit_strata),
            "once": self.means(self.gain("a", ("w1",)), weight),
            "signs.gain.first": self.means(self.gain("a"), weight),
            "signs.excess": self.means(self.excess(), weight),
            "ranks.first": {"empirical": self.auc("a", weight)},
            "ranks.difference": {"empirical": self.auc("b", weight) - self.auc("a", weight)},
            "alike.shift.before": self.means(
                self.side("before", "b") - self.side("before", "a"), weight
            ),
            "alike.shift.after": self.means(
                self.side("after", "b") - self.side("after", "a"), weight
            ),
            "alike.gain_difference": self.means(omega, weight),
            "alike.distance": self.means(self.distance(), weight),
            "alike.discordant": {"empirical": self.discordant(weight)},
            "again": self.means(
                self.score["after", "a", "w1"] == self.score["after", "a", "w2"], weight
            ),
        }
        return {
            (name, mixture): value
            for name, by_mixture in found.items()
            for mixture, value in by_mixture.items()
        }

    def means(self, values, weight, kept=slice(None)):
        return means(values[kept], weight[kept], self.stratum[kept])

    def excess(self):
        sign = {(v, w): np.sign(self.gain(v, (w,))) for v in "ab" for w in ("w1", "w2")}
        pairings = itertools.product(("w1", "w2"), repeat=2)
        across = [sign["a", one] * sign["b", other] < 0 for one, other in pairings]
        within = [sign[view, "w1"] * sign[view, "w2"] < 0 for view in "ab"]
        return np.mean(across, axis=0) - np.mean(within, axis=0)

    def distance(self):
        """2 E|X - Y| - E|X - X'| - E|Y - Y'| over pairs of waves, both endpoints alike."""

        def apart(state, one, other):
            return abs(self.score[state, *one] - self.score[state, *other])

        pairs = list(itertools.product(("w1", "w2"), repeat=2))
        ends = [
            2 * np.mean([apart(state, ("a", i), ("b", j)) for i, j in pairs], axis=0)
            - apart(state, ("a", "w1"), ("a", "w2"))
            - apart(state, ("b", "w1"), ("b", "w2"))
            for state in ("before", "after")
        ]
        return np.mean(ends, axis=0)

    def auc(self, view, weight):
        score = self.side("after", view)
        total = wins = 0.0
        for i in np.flatnonzero(self.won):
            for j in np.flatnonzero(~self.won):
                pair = weight[i] * weight[j]
                total += pair
                wins += pair * (1.0 if score[i] > score[j] else 0.5 * (score[i] == score[j]))
        return wins / total

    def discordant(self, weight):
        both = np.tile(weight, 2).tolist()
        total = opposite = 0.0
        for i, j in itertools.combinations(range(len(both)), 2):
            (a1, b1), (a2, b2) = self.ends[i], self.ends[j]
            total += both[i] * both[j]
            opposite += both[i] * both[j] * ((a1 - a2) * (b1 - b2) < 0)
        return opposite / total


def means(values, weight, stratum):
    """A weighted mean under each mixture of the spec."""
    each = [np.average(values[stratum == s], weights=weight[stratum == s]) for s in STRATA]
    pooled, equal = np.average(values, weights=weight), sum(each) / 2
    return {"empirical": pooled, "equal": equal, "half": (pooled + equal) / 2}


def difference(first, second):
    return {mixture: second[mixture] - first[mixture] for mixture in first}


def weighted_median(values, weight):
    """The middle of all values with at most half of the weight below and at most half above."""
    half = weight.sum() / 2 * (1 + 1e-12)
    fit = [
        value
        for value in sorted(set(values.tolist()))
        if weight[values < value].sum() <= half and weight[values > value].sum() <= half
    ]
    return (fit[0] + fit[-1]) / 2


def weighted_trimmed(values, weight):
    """Σ of each value times what the two cuts leave of its weight, over what they leave in all."""
    order = np.argsort(values, kind="stable")
    x, w = values[order], weight[order]
    cut = len(x) // 10 / len(x) * w.sum()
    left = w.copy()
    for places in (range(len(x)), range(len(x) - 1, -1, -1)):
        out = cut
        for i in places:
            gone = min(out, left[i])
            left[i] -= gone
            out -= gone
    return float((left * x).sum() / left.sum())


def drawn(units, draws=DRAWS, seed=SEED, stratum=None):
    return np.concatenate(list(dirichlet(units, draws, seed, stratum)))


# The weights


def test_weights_are_flat_over_the_simplex():
    share = drawn(4, 20_000) / 4
    # a flat Dirichlet of four has means 1/4, variances 3/80, covariances -1/80
    assert share.mean(axis=0) == pytest.approx(0.25, abs=4 * (3 / 80 / 20_000) ** 0.5)
    moments = np.cov(share.T)
    assert np.diag(moments) == pytest.approx(3 / 80, rel=0.05)
    assert moments[np.triu_indices(4, 1)] == pytest.approx(-1 / 80, rel=0.1)
    # and P(share > x) = (1 - x)^3
    assert (share > 0.5).mean() == pytest.approx(0.125, abs=0.005)


def test_weights_do_not_depend_on_the_size_of_a_block(monkeypatch):
    codes = np.array([0, 1, 0, 1, 1])
    whole, within = drawn(5), drawn(5, stratum=codes)
    monkeypatch.setattr("fourcorner.design.draws.BLOCK", 15)
    np.testing.assert_array_equal(drawn(5), whole)
    np.testing.assert_array_equal(drawn(5, stratum=codes), within)
    assert (whole > 0).all()
    assert whole.sum(axis=1) == pytest.approx(5)
    for code, size in ((0, 2), (1, 3)):
        assert within[:, codes == code].sum(axis=1) == pytest.approx(size)


def test_a_seed_gives_other_weights_than_another(data, spec):
    one, same, other = (
        fc.bayesian_bootstrap(data, spec, draws=50, seed=seed)["value"] for seed in (1, 1, 2)
    )
    pd.testing.assert_series_equal(one, same)
    assert (one != other).mean() > 0.9


# Every statistic


def test_every_row_is_the_statistic_of_the_weighted_steps(rows, data):
    naive = Naive(steps())
    weights = drawn(len(naive.tasks))
    expected = pd.DataFrame([naive.of(row) for row in weights])
    assert set(expected.columns) <= set(rows.index)
    for asked, values in expected.items():
        row = rows.loc[asked]
        assert row["value"] == pytest.approx(values.mean(), abs=1e-9), asked
        ends = np.quantile(values, [0.025, 0.975])
        assert row["interval"] == pytest.approx(tuple(ends), abs=1e-9), asked
        assert row["undefined_draws"] == 0


def test_within_strata_every_stratum_has_its_own_weights(data, spec):
    found = fc.bayesian_bootstrap(
        data, spec, draws=DRAWS, seed=SEED, resampling="within_strata"
    ).set_index(["name", "weights"])
    naive = Naive(steps())
    codes = np.array([task.startswith("small") for task in naive.tasks]).astype(np.int64)
    expected = [naive.of(row) for row in drawn(len(codes), stratum=codes)]
    for name in ("omega", "below", "signs.excess"):
        values = [row[name, "equal"] for row in expected]
        row = found.loc[(name, "equal")]
        assert (row["population"], row["value"]) == ("units", pytest.approx(np.mean(values)))
        assert row["interval"] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    # the cohort's mixture of steps is held: 3 tasks with 6 steps, 9 tasks with 18
    held = []
    for row in drawn(len(codes), stratum=codes):
        weight, small = row[naive.task], naive.stratum == "small"
        each = [np.average(naive.omega[s], weights=weight[s]) for s in (small, ~small)]
        held.append((6 * each[0] + 18 * each[1]) / 24)
    row = found.loc[("omega", "empirical")]
    assert row["population"] == "cohort"
    assert row["value"] == pytest.approx(np.mean(held))
    assert row["resampling"] == "Dirichlet weights of units within strata"
    assert "the mixture of strata is held as it is in the cohort" in row["notes"]


def test_with_equal_weights_every_statistic_is_the_design_estimate(data, spec):
    estimands = list(as_estimands(spec).values())
    mixtures = resolve_all(spec, ["large", "small"])
    cohort = engine.sample(data)
    found = bayesian.weighed(cohort, estimands, mixtures, bayesian.options(10, 0, 0.95, "plain"))
    design = engine.estimate(cohort, estimands, mixtures, draws=10)
    assert len(found) == len(design) > 60
    for one, row in zip(found, design, strict=True):
        fields = one.case.fields
        assert (fields["name"], fields["weights"]) == (row.name, row.weights)
        assert fields["count"] == row.count
        assert one.draws.point == row.value


def test_beliefs_have_rows_too():
    spec = fc.parse_spec("""
kind = "scores"
[data]
option_score = "logprob"
candidate = "candidate"
target = "target"
unit = "task"
change = { column = "state", before = "before", after = "after" }
[estimands]
moves = { beliefs = {} }
""")
    generator = np.random.default_rng(4)
    cells = itertools.product([f"t{i}" for i in range(8)], ("before", "after"), "xyz")
    rows = [(*cell, "x", generator.normal()) for cell in cells]
    frame = pd.DataFrame(rows, columns=["task", "state", "candidate", "target", "logprob"])
    found = fc.bayesian_bootstrap(fc.read_scores(spec, frame), spec, draws=DRAWS, seed=SEED)
    wide = frame.pivot_table("logprob", "task", ["state", "candidate"])
    entropy = {}
    for state in ("before", "after"):
        belief = np.exp(wide[state]).div(np.exp(wide[state]).sum(axis=1), axis=0)
        entropy[state] = -(belief * np.log(belief)).sum(axis=1)
    moved = (entropy["after"] - entropy["before"]).to_numpy()
    values = drawn(8) @ moved / 8
    [row] = found[found["name"] == "moves.entropy_movement"].to_dict("records")
    assert row["value"] == pytest.approx(values.mean())
    assert row["interval"] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


# Identities


def test_the_weighted_median_by_hand():
    values = np.array([1.0, 2.0, 3.0, 4.0])
    weights = np.array(
        [
            [1.0, 1.0, 1.0, 1.0],  # half of the weight up to 2: between 2 and 3
            [0.2, 0.2, 0.2, 3.4],  # more than half on 4
            [2.0, 1.0, 0.5, 0.5],  # exactly half on 1: between 1 and 2
            [0.1, 1.9 + 1e-6, 1.0, 1.0 - 1e-6],  # just over half up to 2
        ]
    )
    assert medians(weights, values, np.arange(4)).tolist() == [2.5, 4.0, 1.5, 2.0]
    # a unit with the first and last value, another with those between: always 2 to 3
    pairs = drawn(2, 500)
    assert set(medians(pairs, values, np.array([0, 1, 1, 0])).tolist()) == {2.5}


def test_the_weighted_trimmed_mean_by_hand():
    values = np.arange(10.0)
    weights = np.ones((2, 10))
    weights[1, 0], weights[1, 9] = 0.5, 1.5
    # equal: 1 to 8. else a tenth is 1: half of value 1 goes too, and half of value 9 stays
    kept = (36 - 0.5 * 1 + 0.5 * 9) / 8
    assert weighted_trimmed_means(weights, values, np.arange(10)).tolist() == [4.5, kept]
    # nine values keep their ends
    nine = weighted_trimmed_means(weights[:, :9], values[:9], np.arange(9))
    assert nine == pytest.approx([4.0, 36 / 8.5])


def test_with_equal_weights_a_weighted_trimmed_mean_is_the_trimmed_mean():
    for count in range(1, 45):
        values = np.random.default_rng(count).normal(size=count)
        ones = np.ones((1, count))
        found, expected = (
            f(ones, values, np.arange(count)) for f in (weighted_trimmed_means, trimmed_means)
        )
        assert found == pytest.approx(expected)


def kernels(seed=2, units=9, copies=1):
    """Each ranking of forty values of nine units, every value there so many times."""
    generator = np.random.default_rng(seed)
    first, second = generator.normal(size=(2, 40)).round(1)
    unit = np.tile(generator.integers(0, units, 40), copies)
    won = np.tile(generator.random(40) < 0.4, copies)
    first, second = np.tile(first, copies), np.tile(second, copies)
    return {
        "median": lambda weight: medians(weight, first, unit),
        "trimmed": lambda weight: weighted_trimmed_means(weight, first, unit),
        "auc": lambda weight: aucs(first, won, unit, units)(weight),
        "discordance": lambda weight: discordances(first, second, unit, units)(weight),
    }


@pytest.mark.parametrize("name", ["median", "trimmed", "auc", "discordance"])
def test_only_the_ratios_of_weights_matter(name):
    weight = drawn(9)
    of = kernels()[name]
    np.testing.assert_allclose(of(7.3 * weight), of(weight), rtol=1e-12)


@pytest.mark.parametrize("name", ["median", "trimmed", "auc"])
def test_doubling_every_value_changes_nothing(name):
    # not of a discordance, where the second copy is another endpoint and ties with the first;
    # forty values lose a tenth as eighty do
    weight = drawn(9)
    np.testing.assert_allclose(kernels(copies=2)[name](weight), kernels()[name](weight))


@pytest.mark.parametrize("name", ["median", "auc", "discordance"])
def test_a_unit_of_no_weight_to_speak_of_is_as_one_that_is_not_there(name):
    # not of a trimmed mean, whose share of the weight depends on the number of values
    weight = drawn(9)
    weight[:, 4] = 1e-13
    gone = weight.copy()
    gone[:, 4] = 0.0
    of = kernels()[name]
    np.testing.assert_allclose(of(weight), of(gone), atol=1e-9)


def test_doubling_every_step_changes_no_row_but_discordance(data, spec, rows):
    table = steps()
    twice = pd.concat([table, table.assign(step=table["step"] + "again")])
    found = fc.bayesian_bootstrap(
        fc.read_scores(spec, twice), spec, draws=DRAWS, seed=SEED
    ).set_index(["name", "weights"])
    assert found.index.equals(rows.index)
    for asked, row in found.iterrows():
        if asked[0] != "alike.discordant":  # of a trimmed mean 2 of 24 go at each end, or 4 of 48
            assert row["value"] == pytest.approx(rows.loc[asked, "value"], abs=1e-9), asked


FLAT = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = { column = "state", before = "before", after = "after" }
stratum = "target"
[estimands]
step = { gain = {} }
middle = { gain = {}, statistic = "median" }
below = { gain = {}, statistic = "negative_share" }
[weights]
empirical = "empirical"
equal = "equal"
"""


def flat(sizes, seed=3):
    """One gain a unit, and the scores that have it."""
    generator = np.random.default_rng(seed)
    gains = {
        f"{stratum}{i:04d}": (stratum, generator.exponential() - 0.7)
        for stratum, size in sizes.items()
        for i in range(size)
    }
    table = pd.DataFrame(
        [
            (task, stratum, state, gain if state == "after" else 0.0)
            for task, (stratum, gain) in gains.items()
            for state in ("before", "after")
        ],
        columns=["task", "target", "state", "margin"],
    )
    values = {
        stratum: np.array([gain for s, gain in gains.values() if s == stratum]) for stratum in sizes
    }
    return fc.read_scores(fc.parse_spec(FLAT), table), values


def moments_of(data, name, weights, resampling="plain", draws=40_000):
    """Mean and variance over draws, and how far chance may move either."""
    estimands = {"step": fc.gain()}
    chosen = bayesian.options(draws, 1, 0.95, resampling)
    mixtures = resolve_all({weights: weights}, ["p", "q"])
    [one] = bayesian.weighed(
        engine.sample(data), list(as_estimands(estimands).values()), mixtures, chosen
    )
    assert one.estimand.name == name
    return one.values.mean(), one.values.var(), one.values


def test_the_posterior_of_a_mean_has_the_moments_of_a_flat_dirichlet():
    data, values = flat({"p": 6, "q": 14})
    every = np.concatenate(list(values.values()))
    n = len(every)
    mean, variance, draws = moments_of(data, "step", "empirical")
    expected = every.var(ddof=1) * (n - 1) / n / (n + 1)
    assert mean == pytest.approx(every.mean(), abs=4 * (expected / len(draws)) ** 0.5)
    assert variance == pytest.approx(expected, rel=0.05)
    mean, variance, draws = moments_of(data, "step", "equal")
    expected = sum(x.var() / (len(x) + 1) for x in values.values()) / 4
    middle = sum(x.mean() for x in values.values()) / 2
    assert mean == pytest.approx(middle, abs=4 * (expected / len(draws)) ** 0.5)
    assert variance == pytest.approx(expected, rel=0.05)


def test_fixed_weights_have_one_posterior_whether_or_not_strata_are_held():
    data, _ = flat({"p": 6, "q": 14})
    plain, held = (
        moments_of(data, "step", "equal", plan)[2] for plan in ("plain", "within_strata")
    )
    points = np.linspace(0.05, 0.95, 19)
    error = 4 * (plain.var() / len(plain)) ** 0.5
    assert np.quantile(plain, points) == pytest.approx(np.quantile(held, points), abs=3 * error)


def test_of_many_units_the_interval_is_the_bootstraps():
    data, _ = flat({"p": 200, "q": 300})
    spec = fc.parse_spec(FLAT)
    options = {"draws": 4000, "seed": 2}
    posterior = fc.bayesian_bootstrap(data, spec, **options)
    design = fc.estimate(data, spec, interval="percentile", **options)
    assert posterior["name"].tolist() == design["name"].tolist()
    for ours, theirs in zip(posterior["interval"], design["interval"], strict=True):
        width = theirs[1] - theirs[0]
        assert ours == pytest.approx(theirs, abs=0.1 * width)


# Small strata, one unit, nothing to see


def test_no_draw_leaves_a_stratum_empty_where_a_bootstraps_does():
    data, _ = flat({"p": 2, "q": 12})
    spec = fc.parse_spec(FLAT)
    design = fc.estimate(data, spec, draws=500).set_index(["name", "weights"])
    found = fc.bayesian_bootstrap(data, spec, draws=500).set_index(["name", "weights"])
    assert design.loc[("step", "equal"), "undefined_draws"] > 0
    assert (found["undefined_draws"] == 0).all()
    row = found.loc[("step", "equal")]
    assert row["interval"] is not None
    assert "undercover with fewer than 10 units (p: 2)" in row["notes"][-1]


def test_one_unit_in_a_needed_stratum_has_a_value_and_no_interval():
    data, values = flat({"p": 1, "q": 12})
    spec = fc.parse_spec(FLAT)
    found = fc.bayesian_bootstrap(data, spec, draws=500).set_index(["name", "weights"])
    row = found.loc[("step", "equal")]
    assert row["interval"] is None
    assert "one unit in p, whose spread cannot be seen" in row["notes"][-1]
    half = (values["p"].mean() + values["q"].mean()) / 2
    assert row["value"] == pytest.approx(half, abs=4 * values["q"].std() / 2 / (13 * 500) ** 0.5)
    audit = fc.audit(data, with_family(FLAT))
    assert not [row for row in audit.probability_rows if row.weights == "equal"]


def test_a_median_that_hardly_any_draw_moves_has_no_interval():
    spec = fc.parse_spec(FLAT)
    # gains of 1, and one of 2: half of the weight lies on that one of n in 1 of 2^(n - 1) draws
    rows = [
        (f"t{i:02d}", "p", state, (1.0 + (i == 40)) * (state == "after"))
        for i in range(41)
        for state in ("before", "after")
    ]
    table = pd.DataFrame(rows, columns=["task", "target", "state", "margin"])
    for number, ends, said in (
        (41, None, "no interval: every resample gives the same value"),
        (8, None, "no interval: most resamples give the same value, so both ends would be it"),
        (4, (1.0, 2.0), "equal-tailed credible intervals undercover with fewer than 10 units"),
    ):
        data = fc.read_scores(spec, table.tail(2 * number))
        found = fc.bayesian_bootstrap(data, spec, draws=500).set_index(["name", "weights"])
        row = found.loc[("middle", "empirical")]
        assert (row["interval"], row["units"]) == (ends, number)
        assert row["notes"][-1].startswith(said)


def with_family(text):
    return fc.parse_spec(text + '[model]\nfamily = "bayesian_bootstrap"\n')


def test_refusals_are_the_design_engines(spec):
    table = steps()
    lost = (table["view"] == "b") & (table["state"] == "after")
    data = fc.read_scores(spec, table.assign(margin=table["margin"].mask(lost)))
    design, found = fc.estimate(data, spec, draws=20), fc.bayesian_bootstrap(data, spec, draws=20)
    assert found["refused"].tolist() == design["refused"].tolist()
    assert found["refused"].notna().sum() > 20
    with pytest.raises(fc.NotIdentified, match="never measured"):
        fc.bayesian_bootstrap(data, fc.gain(view="b"), draws=20)


@pytest.mark.parametrize(
    "asked",
    [{"draws": 0}, {"seed": -1}, {"level": 1.0}, {"resampling": "strata"}, {"cohort": "al"}],
)
def test_options_that_are_none_are_said(data, asked):
    with pytest.raises(OptionError, match=next(iter(asked))):
        fc.bayesian_bootstrap(data, fc.gain(view="a"), **asked)


def test_what_is_not_asked_is_the_specs(data, spec):
    usual = fc.bayesian_bootstrap(data, spec)
    pd.testing.assert_frame_equal(
        usual, fc.bayesian_bootstrap(data, spec, draws=DECLARED, seed=SEED)
    )
    held = replace(spec, design=replace(spec.design, resampling="within_strata"))
    pd.testing.assert_frame_equal(
        fc.bayesian_bootstrap(data, held),
        fc.bayesian_bootstrap(data, spec, resampling="within_strata"),
    )


# The posterior side of an audit


def chance(held):
    return (sum(held) + 0.5) / (len(held) + 1)


def test_probabilities_are_those_of_the_shared_draws(audited):
    naive = Naive(steps())
    of = [naive.of(row) for row in drawn(len(naive.tasks), DECLARED, SEED)]
    found = {(row.name, row.event, row.weights): row.value for row in audited.probability_rows}

    def series(name, weights="empirical"):
        return np.array([row[name, weights] for row in of])

    first, second, omega = (series(name) for name in ("first", "second", "omega"))
    expected = {
        ("first", "gain<0", "empirical"): first < 0,
        ("omega", "omega<0", "empirical"): omega < 0,
        ("omega", "omega<0", "half"): series("omega", "half") < 0,
        ("omega", "rope", "empirical"): abs(omega) < 0.2,
        ("omega", "reversal+-", "empirical"): (first > 0) & (second < 0),
        ("omega", "reversal-+", "empirical"): (first < 0) & (second > 0),
        ("signs.omega", "reversal+-", "empirical"): (first > 0) & (second < 0),
        ("signs.omega", "omega<0", "empirical"): omega < 0,
        ("signs.excess", "excess<0", "equal"): series("signs.excess", "equal") < 0,
        ("middle", "omega<0", "empirical"): series("middle") < 0,
        ("groups", "omega<0", "equal"): series("groups", "equal") < 0,
        ("ranks.difference", "difference<0", "empirical"): series("ranks.difference") < 0,
        ("alike.shift.before", "shift.before<0", "equal"): series("alike.shift.before", "equal")
        < 0,
        ("alike.distance", "distance<0", "half"): series("alike.distance", "half") < 0,
        ("both", "criterion", "empirical"): (first > 0) & (series("ranks.difference") > 0),
    }
    for event, held in expected.items():
        assert found[event] == pytest.approx(chance(held)), event
    # what cannot be below zero has no such event, what compares groups no reversal
    named = {(name, event) for name, event, _ in found}
    assert not {name for name, _ in named} & {"below", "again", "ranks.first", "signs.zero"}
    assert ("groups", "reversal+-") not in named
    assert not [1 for name, event, weights in found if event == "criterion" and weights == "equal"]
    assert {row.draws for row in audited.probability_rows} == {DECLARED}


def test_gains_of_a_reversal_are_of_the_transitions_of_the_comparison(spec):
    table = steps()
    # one task never scored in b after: its gain in a counts in `first` and in no reversal
    lost = (table["task"] == "large8") & (table["view"] == "b") & (table["state"] == "after")
    moved = table["margin"] - 90.0 * (
        (table["task"] == "large8") & (table["view"] == "a") & (table["state"] == "after")
    )
    data = fc.read_scores(spec, table.assign(margin=moved.mask(lost)))
    found = fc.audit(data, spec)
    kept = Naive(table[table["task"] != "large8"])
    weights = drawn(12, DECLARED, SEED)[
        :, [sorted(set(table["task"])).index(t) for t in kept.tasks]
    ]
    of = [kept.of(row) for row in weights]
    held = [row["first", "empirical"] < 0 < row["second", "empirical"] for row in of]
    [row] = [
        row
        for row in found.probability_rows
        if (row.name, row.event, row.weights) == ("omega", "reversal-+", "empirical")
    ]
    assert row.value == pytest.approx(chance(held))


def test_an_audit_has_both_sides_and_no_gate(audited, data, spec):
    frame = audited.estimates
    ours = frame[frame["method"] == "bayesian_bootstrap"].reset_index(drop=True)
    pd.testing.assert_frame_equal(ours, fc.bayesian_bootstrap(data, spec))
    assert (audited.tree, audited.not_available, audited.passed) == (None, (), True)
    assert audited.posterior_method == "bayesian_bootstrap"
    checks = audited.checks
    assert not checks["gated"].any()
    assert set(checks.loc[checks["verdict"] == "not_run", "name"]) == {
        "convergence",
        "loo",
        "prior_sensitivity",
        "pooling",
    }
    shown = checks[checks["verdict"] == "shown"].set_index("target")
    design = frame[frame["method"] == "design"]
    assert set(shown["name"]) == {"design_agreement"}
    assert len(shown) == len(ours) == len(design)
    for row in design.itertuples():
        beside = ours[(ours["name"] == row.name) & (ours["weights"] == row.weights)]
        apart = shown.loc[f"{row.name} ({row.weights})", "value"]
        assert apart == pytest.approx(beside["value"].item() - row.value)
    verdicts = audited.criteria.set_index(["weights", "method"])["verdict"]
    assert ("empirical", "bayesian_bootstrap") in verdicts.index


def test_what_turns_a_sign_is_said_of_the_design_row(audited):
    """A ratio of two posterior gains has no mean: what it divides by can be close to zero."""
    frame = audited.estimates.set_index(["method", "name", "weights"])
    design, ours = (frame.loc[(m, "omega", "empirical")] for m in ("design", "bayesian_bootstrap"))
    assert pd.notna(design["flip_ratio"]) or pd.notna(design["flip_share"])
    assert pd.isna(ours["flip_ratio"])
    assert pd.isna(ours["flip_share"])


def test_a_comparison_of_families_shows_it_and_says_why_loo_does_not(data, spec):
    chained = replace(spec, sampler=replace(spec.sampler, chains=2))  # which goes with the other
    found = fc.compare(data, chained, ["normal", "bayesian_bootstrap"])
    assert (found.favoured, list(found.trees)) == ((), [])
    assert found.not_available["normal"].startswith("units have several transitions")
    [row] = found.table.to_dict("records")
    assert (row["family"], row["gates"]) == ("bayesian_bootstrap", "not_run")
    assert np.isnan(row["elpd"])
    first, said = found.sentences
    assert first == "no family is favoured: none with a log likelihood was fitted"
    assert said.startswith("bayesian_bootstrap has no log likelihood, so LOO cannot compare it; ")
    assert "agree by construction" in said
    shown = {r.target: r for r in found.check_rows["bayesian_bootstrap"] if r.verdict == "shown"}
    worst = max(shown.values(), key=lambda row: abs(row.value))
    assert f"on {worst.target}: design" in said
    beside = {(r.name, r.target): r.value for r in fc.audit(data, spec).check_rows if r.value}
    assert {(r.name, r.target): r.value for r in shown.values() if r.value} == beside


def test_the_posterior_side_alone(data, spec, audited):
    found = posterior_audit(data, spec)
    assert {row.method for row in found.rows} == {"bayesian_bootstrap"}
    assert found.probability_rows == audited.probability_rows
    assert {row.verdict for row in found.check_rows} == {"not_run"}


def test_a_run_comes_back_and_can_be_weighed_anew(audited, data, spec, tmp_path):
    again = fc.load_run(fc.save_run(audited, tmp_path / "run"))
    assert not (tmp_path / "run" / "posterior.nc").exists()
    pd.testing.assert_frame_equal(again.estimates, audited.estimates)
    pd.testing.assert_frame_equal(again.probabilities, audited.probabilities)
    mixtures = {"mostly": {"small": 0.8, "large": 0.2}, "empirical": "empirical"}
    moved = fc.reweight(again, mixtures)
    other = replace(spec, weights=mixtures)
    pd.testing.assert_frame_equal(moved.estimates, fc.audit(data, other).estimates)
    assert set(moved.probabilities["weights"]) == set(mixtures)


def test_the_report_and_the_terminal_have_the_rows_in_the_posterior_column(audited, tmp_path):
    page = html.render(audited, {"versions": {}})
    collected = lines.collect(audited)
    methods = {line.posterior.method for line in collected if line.posterior is not None}
    assert methods == {"bayesian_bootstrap"}
    assert [line.posterior is None for line in collected] == [
        line.design is None for line in collected
    ]
    for line in collected:
        if line.posterior is not None:
            assert words.estimate(line.posterior, line.places) in page
            for value in line.probabilities.values():
                assert words.probability(value).replace("<", "&lt;").replace(">", "&gt;") in page
    for said in (
        "the posterior is a Bayesian bootstrap",
        "Bayesian bootstrap: 95 % equal-tailed credible, Dirichlet weights of units, pointwise",
        "No gate was run",
        "empirical, posterior",
        "there is no chain that could converge",
    ):
        assert said in page, said
    assert "All gates passed" not in page
    assert "a model in which strata" not in page


@pytest.fixture
def folder(tmp_path):
    steps().to_csv(tmp_path / "steps.csv", index=False)
    text = SPEC.replace("[data]", '[data]\npath = "steps.csv"')
    (tmp_path / "spec.toml").write_text(text)
    without = text.replace('family = "bayesian_bootstrap"\n', "")
    (tmp_path / "normal.toml").write_text(without)
    return tmp_path


def test_the_command_line_shows_them_too(folder, capsys):
    assert cli.run(["audit", str(folder / "spec.toml"), "--out", str(folder / "run")]) == 0
    shown = capsys.readouterr().out
    assert "posterior [95 %]" in shown
    [heading] = [line for line in shown.splitlines() if line.startswith("signs  ")]
    assert heading.split() == ["signs", "design", "posterior", "P(<0)", "transitions"]
    assert "checks: " in shown
    assert cli.run(["fit", str(folder / "spec.toml")]) == 0
    shown = capsys.readouterr().out
    assert "Cross-channel disagreement" in shown
    assert "Not estimated" not in shown
    assert cli.run(["doctor", str(folder / "spec.toml")]) == 0
    assert "Next: fourcorner audit" in capsys.readouterr().out


def test_there_is_no_fit_to_save(folder, data, spec, capsys):
    out = folder / "fit.nc"
    assert cli.run(["fit", str(folder / "spec.toml"), "--out", str(out)]) == 1
    assert "no fit to save" in capsys.readouterr().err
    assert not out.exists()
    with pytest.raises(NotAvailable, match=r"no tree.*fourcorner\.bayesian_bootstrap"):
        fc.fit(data, spec)


def test_the_default_family_names_this_one_where_units_have_many_transitions(folder, data, spec):
    found = fc.audit(data, fc.read_spec(folder / "normal.toml"), draws=100)
    assert found.posterior_method is None
    [why] = found.not_available
    assert why.startswith("posterior: units have several transitions")
    assert "family = 'transitions' or 'bayesian_bootstrap' in [model]" in why


def test_it_needs_no_sampler(folder):
    code = f"""
import sys
from fourcorner import cli
code = cli.run(["fit", {str(folder / "spec.toml")!r}, "--json"])
assert code == 0, code
assert not {{"pymc", "pytensor", "arviz", "nutpie"}} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_rates_of_tables_without_a_change_have_it_too():
    spec = fc.parse_spec("""
kind = "scores"
[data]
score = "said"
unit = "task"
channel = { judge = ["a", "b"] }
[estimands]
same = { agreement = { judge = ["a", "b"] } }
[model]
family = "bayesian_bootstrap"
[design]
draws = 100
""")
    rows = [(f"t{i}", judge, (i % 3) * (judge == "a")) for i in range(12) for judge in "ab"]
    data = fc.read_scores(spec, pd.DataFrame(rows, columns=["task", "judge", "said"]))
    found = fc.audit(data, spec).estimates.set_index("method")
    same = np.array([float(int(task[1:]) % 3 == 0) for task in sorted(f"t{i}" for i in range(12))])
    values = drawn(12, 100, 0) @ same / 12
    assert found.loc["bayesian_bootstrap", "value"] == pytest.approx(values.mean())
    assert found.loc["design", "value"] == pytest.approx(4 / 12)


@pytest.mark.parametrize(
    ("more", "words_said"),
    [
        ('effects = "state"', "[model] effects is an option of family normal or student"),
        ('stratum_effects = "state"', "[model] stratum_effects is an option of family normal or"),
        ('cohort = "joint"', "it takes every transition that is complete for its estimand"),
        ("[priors]\ntau_sd = 1.0", "[priors] tau_sd = 1: the bayesian_bootstrap family has no"),
        ("[sampler]\ndraws = 1000", "[design] draws is the number of its draws"),
        ("[sampler]\nchains = 2", "[sampler] chains: the bayesian_bootstrap family has no chains"),
        ("[sampler]\ntune = 200", "[sampler] tune"),
        ("[sampler]\ntarget_accept = 0.9", "[sampler] target_accept"),
    ],
)
def test_options_of_other_families_are_refused(more, words_said):
    with pytest.raises(SpecError) as caught:
        fc.parse_spec(f'{FLAT}[model]\nfamily = "bayesian_bootstrap"\n{more}\n')
    assert words_said in str(caught.value)
    family = '"bayesian_bootstrap"'
    if not more.startswith("["):
        fc.parse_spec(f"{FLAT}[model]\n{more}\n")
    assert fc.parse_spec(f"{FLAT}[model]\nfamily = {family}\n[sampler]\nseed = 3\n")


def test_options_that_a_program_gives_are_refused_too(data, spec):
    chained = replace(spec, sampler=replace(spec.sampler, chains=2))
    assert "has no chains" in fc.audit(data, chained).not_available[0]
    with pytest.raises(NotAvailable, match="has no chains"):
        posterior_audit(data, chained)
    joint = replace(spec, model=replace(spec.model, cohort="joint"))
    with pytest.raises(NotAvailable, match="cohort = 'joint'"):
        posterior_audit(data, joint)


def test_a_family_that_is_none_is_said_with_the_nearest():
    with pytest.raises(SpecError, match="did you mean 'bayesian_bootstrap'"):
        fc.parse_spec(f'{FLAT}[model]\nfamily = "bayes_bootstrap"\n')


def test_signs_and_auc_of_the_global_replay():
    spec = fc.read_spec(REPO / "models" / "global_replay.toml")
    data = fc.read_scores(spec)
    found = fc.bayesian_bootstrap(data, spec, draws=400)
    design = fc.estimate(data, spec, draws=400, interval="percentile")
    assert found["name"].tolist() == design["name"].tolist()
    assert (found["undefined_draws"] == 0).all()
    ours, theirs = (frame.set_index(["name", "weights"]) for frame in (found, design))
    for name in ("signs.cross_channel", "signs.excess", "success.first", "success.difference"):
        row, beside = ours.loc[(name, "empirical")], theirs.loc[(name, "empirical")]
        low, high = beside["interval"]
        assert row["units"] == beside["units"] == 100
        # 100 units: the two intervals are alike
        assert row["interval"] == pytest.approx((low, high), abs=0.2 * (high - low))
