"""Intervals of the design engine: kinds, plans, defaults, and the draws that they rest on.

Each is compared with a plain loop over the same draws, or with what theory says of many.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.contrasts import gain
from fourcorner.design import draws as design_draws
from fourcorner.design import engine
from fourcorner.design.draws import multiplicities, within_strata
from fourcorner.design.intervals import Replicates, central
from fourcorner.errors import OptionError, SpecError
from fourcorner.estimands import Estimand
from fourcorner.spec import DesignSpec, parse_spec
from fourcorner.weights import TargetWeights
from naive import asked as asked_of
from naive import mixtures, naive_cells, naive_interval, naive_values
from scored import EMPIRICAL, estimate, from_gains, one, tables

EXAMPLES = settings(max_examples=15, deadline=None, derandomize=True)
DRAWS = 40
EQUAL = {"equal": "equal"}


def test_one_unit_in_a_needed_stratum_gives_no_interval_and_says_why():
    gains = [("p", "yes", 1.0), ("q", "yes", 2.0), ("r", "no", 5.0), ("r", "no", 7.0)]
    weights = {**EMPIRICAL, "equal": "equal", "yes": {"yes": 1.0, "no": 0.0}}
    asked = [Estimand("g", gain(view="a"))]
    rows = estimate(from_gains(gains), asked, weights, draws=200, interval="percentile")
    found = {key[2]: row for key, row in rows.items()}
    assert found["equal"].value == pytest.approx((1.5 + 6) / 2)
    assert found["equal"].interval is None
    assert found["equal"].notes == ("no interval: one unit in no, whose spread cannot be seen",)
    for name in ("empirical", "yes"):
        assert found[name].interval is not None
        assert found[name].interval_kind == "percentile"


def test_one_unit_in_the_whole_cohort_gives_no_interval():
    table = from_gains([("p", "yes", 1.0), ("p", "yes", 3.0), ("q", "yes", 2.0)])
    table.frame.loc[table.frame["task"] == "q", "margin"] = math.nan
    row = one(table, gain(view="a"), draws=200)
    assert (row.value, row.units, row.interval) == (2.0, 1, None)
    assert "one unit in the cohort" in row.notes[0]
    assert row.undefined_draws > 0


def test_constant_gains_give_no_interval_even_when_rounding_moves_the_means():
    # 0.3 - 0.1 and 0.2 differ in the last place, and so do their resampled means
    gains = [("p", "yes", 0.3 - 0.1), ("q", "yes", 0.2), ("r", "no", 0.1 + 0.1), ("s", "no", 0.2)]
    rows = estimate(
        from_gains(gains),
        [Estimand(s, gain(view="a"), s) for s in names.STATISTICS],
        {**EMPIRICAL, "equal": "equal"},
        draws=200,
    )
    for row in rows.values():
        if row.refused is None:
            assert row.interval is None
            assert row.notes[-1] == "no interval: every resample gives the same value"


def test_an_estimate_of_nothing_has_no_interval_made_of_rounding():
    # each stratum is constant but for the last place, and the two cancel
    gains = [("p", "yes", 0.3 - 0.1), ("q", "yes", 0.2), ("r", "no", -0.2), ("s", "no", -0.2)]
    for kind in ("percentile", "rescaled", "bootstrap_t"):
        row = one(from_gains(gains), gain(view="a"), weights=EQUAL, draws=200, interval=kind)
        assert row.value == pytest.approx(0, abs=1e-15)
        assert row.interval is None
        assert row.notes[-1] == "no interval: every resample gives the same value"


def test_a_draw_without_spread_is_flat_beside_the_scores_and_not_beside_the_estimate():
    moved = np.array([1e-17, -1e-17, 0.5, -0.5, 1.0, np.nan])
    variances = np.array([1.0, 0.0, 1e-36, 0.0, 1e-36, 4.0, 0.0])
    found = Replicates(0.0, moved, 3.0, variances)
    assert found.studentised.tolist() == [0.0, 0.0, math.inf, -math.inf, 0.5]
    # beside scores of 1e-20 the same numbers are no rounding errors
    small = Replicates(0.0, moved[:2], 1e-20, variances[:3])
    assert small.studentised == pytest.approx([math.inf, -10.0])


def test_a_percentile_interval_of_strata_under_ten_units_is_marked_as_undercovering():
    gains = [(f"u{i}", "few" if i < 9 else "many", float(i % 9 - 4)) for i in range(19)]
    weights = {**EMPIRICAL, "equal": "equal", "many": {"few": 0.0, "many": 1.0}}
    asked = [Estimand(s, gain(view="a"), s) for s in names.STATISTICS]
    rows = estimate(from_gains(gains), asked, weights, draws=200, interval="percentile")
    for (_, _, mixture), row in rows.items():
        kept = [note for note in row.notes if "undercover" in note]
        expected = "percentile intervals undercover with fewer than 10 units (few: 9)"
        assert kept == ([expected] if mixture == "equal" else [])
    small = one(from_gains(gains[:9]), gain(view="a"), draws=200, interval="percentile")
    assert small.notes == (
        "percentile intervals undercover with fewer than 10 units (the cohort: 9)",
    )


@settings(EXAMPLES, max_examples=30)
@given(tables(), st.integers(0, 1000), st.sampled_from([0.5, 0.9, 0.95]))
def test_intervals_equal_a_loop_over_the_same_draws(table, seed, level):
    declared, shares = mixtures(table.frame)
    cells = naive_cells(table)
    wanted = asked_of(table.channel)
    estimands = [
        Estimand(f"{name} {statistic}", wanted[name][0], statistic)
        for name in ("gain", "omega")
        for statistic in names.STATISTICS
    ]
    options = {"draws": DRAWS, "seed": seed, "level": level, "interval": "percentile"}
    rows = estimate(table.dataset(), estimands, declared, **options)
    for (name, statistic, mixture), row in rows.items():
        if row.refused is not None:
            continue
        assert row.interval_kind == "percentile"
        values = naive_values(cells, wanted[name.split()[0]][1])
        expected, undefined = naive_interval(
            table, values, statistic, shares[mixture], DRAWS, seed, level
        )
        assert row.undefined_draws == undefined
        if expected is None:
            assert row.interval is None
            assert any(note.startswith("no interval: ") for note in row.notes)
        else:
            assert row.interval == pytest.approx(expected, abs=1e-9)
            shown = f"{undefined} of {DRAWS} draws" in " ".join(row.notes)
            assert shown == (undefined > 0)


def uneven(units=60, seed=3):
    """Sixty tasks in strata of eight, twenty and the rest, one to three skewed gains each."""
    generator = np.random.default_rng(seed)
    gains = []
    for unit in range(units):
        target = "s0" if unit < 8 else "s1" if unit < 28 else "s2"
        level = generator.normal()
        for _ in range(1 + unit % 3):
            gains.append((f"u{unit:03d}", target, float(level + generator.exponential())))
    return from_gains(gains), gains


@pytest.mark.parametrize(
    ("statistic", "mixture"),
    [
        ("mean", "empirical"),
        ("mean", "equal"),
        ("median", "empirical"),
        ("negative_share", "empirical"),
        ("negative_share", "equal"),
    ],
)
def test_intervals_agree_with_an_independently_seeded_bootstrap(statistic, mixture):
    """The independent share of draws beyond each end is 2.5 % within Monte-Carlo error.

    An end is the 2.5 % quantile of B draws and the share is counted over B others, so their
    difference has variance q (1 - q) (1 / B + 1 / B) whatever the distribution; the bound is
    four standard errors. A share or a median has atoms, so both sides of the end are counted.
    """
    table, gains = uneven()
    draws, q = 4000, 0.025
    row = one(
        table,
        gain(view="a"),
        statistic,
        {mixture: mixture},
        draws=draws,
        seed=11,
        interval="percentile",
    )
    by_unit = {}
    for unit, target, value in gains:
        by_unit.setdefault((unit, target), []).append(value)
    owners, values = list(by_unit), list(by_unit.values())
    generator = np.random.default_rng(987)
    resampled = []
    for _ in range(draws):
        chosen = generator.choice(len(owners), size=len(owners))
        pooled = {"s0": [], "s1": [], "s2": []}
        for place in chosen:
            pooled[owners[place][1]] += values[place]
        groups = (
            list(pooled.values()) if mixture == "equal" else [[*itertools.chain(*pooled.values())]]
        )
        if all(groups):
            number = {"mean": np.mean, "median": np.median}.get(
                statistic, lambda group: np.mean(np.less(group, 0))
            )
            resampled.append(np.mean([number(group) for group in groups]))
    resampled = np.array(resampled)
    bound = 4 * math.sqrt(q * (1 - q) * 2 / draws)
    low, high = row.interval
    tiny = 1e-9
    assert (resampled < low - tiny).mean() <= q + bound
    assert (resampled <= low + tiny).mean() >= q - bound
    assert (resampled > high + tiny).mean() <= q + bound
    assert (resampled >= high - tiny).mean() >= q - bound


def test_a_five_unit_stratum_among_a_hundred_is_empty_as_often_as_theory_says():
    gains = [(f"u{i:03d}", "few" if i < 5 else "many", float(i % 7)) for i in range(100)]
    weights = {"equal": "equal", "many": {"few": 0.0, "many": 1.0}}
    draws = 10_000
    rows = estimate(from_gains(gains), [Estimand("g", gain(view="a"))], weights, draws=draws)
    found = {key[2]: row for key, row in rows.items()}
    chance = 0.95**100
    expected, sd = draws * chance, math.sqrt(draws * chance * (1 - chance))
    assert abs(found["equal"].undefined_draws - expected) < 4 * sd
    note = f"{found['equal'].undefined_draws} of 10000 draws left a needed stratum or group without"
    assert any(line.startswith(note) for line in found["equal"].notes)
    assert found["many"].undefined_draws == 0


# The default


def many(units=40, few=6, seed=0):
    """Skewed gains, the first `few` units in a stratum of their own."""
    generator = np.random.default_rng(seed)
    drawn = generator.exponential(size=units).round(3)
    return [(f"u{i:03d}", "few" if i < few else "many", float(x)) for i, x in enumerate(drawn)]


@pytest.mark.parametrize(("few", "kind"), [(9, "bootstrap-t"), (10, "percentile")])
def test_by_default_a_mean_that_needs_a_small_stratum_has_a_bootstrap_t_interval(few, kind):
    asked = [Estimand(s, gain(view="a"), s) for s in names.STATISTICS]
    weights = {**EMPIRICAL, "equal": "equal", "many": {"few": 0.0, "many": 1.0}}
    rows = estimate(from_gains(many(few=few)), asked, weights, draws=400)
    assert len(rows) == 8
    for (_, statistic, mixture), row in rows.items():
        small = statistic == "mean" and mixture == "equal"
        # a share of negatives is 0 here in every draw
        assert row.interval_kind == (kind if small else "percentile")
        assert (row.interval is None) == (statistic == "negative_share")


def test_the_default_is_one_of_the_kinds_that_can_be_asked_for():
    table, equal = from_gains(many()), {"equal": "equal"}
    default = one(table, gain(view="a"), weights=equal, draws=400)
    asked = one(table, gain(view="a"), weights=equal, draws=400, interval="bootstrap_t")
    assert default == asked


# Rescaled and bootstrap-t, by a loop over draws


def drawn_means(gains, plan, draws, seed):
    """Each draw's stratum means and standard errors, NaN where a stratum has too few units."""
    codes = np.unique([target for _, target, _ in gains], return_inverse=True)[1]
    values = np.array([value for *_, value in gains])
    plain = plan == "plain"
    blocks = multiplicities(len(gains), draws, seed) if plain else within_strata(codes, draws, seed)
    means, errors = np.full((draws, 2), np.nan), np.full((draws, 2), np.nan)
    for d, row in enumerate(np.concatenate(list(blocks))):
        for code in (0, 1):
            taken = np.repeat(values[codes == code], row[codes == code].astype(int))
            if len(taken):
                means[d, code] = taken.mean()
            if len(taken) > 1:
                errors[d, code] = taken.std(ddof=1) / math.sqrt(len(taken))
    sizes = np.bincount(codes)
    point = np.array([values[codes == code].mean() for code in (0, 1)])
    spread = [values[codes == code].std(ddof=1) / math.sqrt(sizes[code]) for code in (0, 1)]
    return point, np.array(spread), sizes, means, errors


@pytest.mark.parametrize("plan", names.PLANS)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_equal_weights_intervals_equal_a_loop_over_the_same_draws(plan, level):
    gains, draws, seed = many(units=30, few=5), 300, 4
    point, spread, sizes, means, errors = drawn_means(gains, plan, draws, seed)
    options = {"draws": draws, "seed": seed, "level": level, "resampling": plan}
    table, equal = from_gains(gains), {"equal": "equal"}
    found = {
        kind: one(table, gain(view="a"), weights=equal, interval=kind, **options)
        for kind in names.INTERVALS
    }
    tails = [(1 - level) / 2, (1 + level) / 2]
    moved = means - point
    plain = moved.mean(axis=1)
    stretched = (moved * np.sqrt(sizes / (sizes - 1))).mean(axis=1)
    for kind, deviations in (("percentile", plain), ("rescaled", stretched)):
        kept = deviations[np.isfinite(deviations)]
        ends = point.mean() + np.quantile(kept, tails)
        assert found[kind].interval == pytest.approx(ends, abs=1e-9)
        assert found[kind].undefined_draws == draws - len(kept)
    steps = plain / np.sqrt((errors**2).sum(axis=1) / 4)
    kept = np.sort(steps[np.isfinite(steps)])
    low = kept[math.floor(tails[0] * (len(kept) - 1))]
    high = kept[math.ceil(tails[1] * (len(kept) - 1))]
    error = math.sqrt((spread**2).sum() / 4)
    expected = (point.mean() - error * high, point.mean() - error * low)
    assert found["bootstrap_t"].interval == pytest.approx(expected, abs=1e-9)
    single = np.isfinite(plain).sum() - len(kept)
    said = f"{single} of {draws} draws left one unit in a needed stratum"
    assert any(note.startswith(said) for note in found["bootstrap_t"].notes) == (single > 0)
    assert {kind: row.interval_kind for kind, row in found.items()} == {
        "percentile": "percentile",
        "rescaled": "rescaled percentile",
        "bootstrap_t": "bootstrap-t",
    }


@pytest.mark.parametrize("kind", ["rescaled", "bootstrap_t"])
@pytest.mark.parametrize("statistic", ["median", "trimmed_mean", "negative_share"])
def test_an_interval_for_means_is_not_given_for_another_statistic(kind, statistic):
    row = one(from_gains(many()), gain(view="a"), statistic, draws=100, interval=kind)
    assert row.value is not None
    assert row.interval is None
    assert row.notes[-1].endswith("one is for means; ask for percentile")


@pytest.mark.parametrize("units", [2, 3])
def test_two_or_three_units_have_no_bootstrap_t_interval(units):
    # a draw of one unit alone has a deviation and no spread: 1 in 2 of the draws, or 1 in 9
    row = one(from_gains(many(units=units, few=0)), gain(view="a"), draws=2000)
    assert row.interval_kind == "bootstrap-t"
    assert row.interval is None
    assert "one unit stands for all" in row.notes[-1]


def test_a_bootstrap_t_interval_leans_to_the_long_tail():
    row = one(from_gains(many(units=60)), gain(view="a"), draws=4000, interval="bootstrap_t")
    low, high = row.interval
    assert high - row.value > row.value - low


# Within strata


def test_draws_within_strata_keep_every_size():
    codes = np.array([2, 0, 1, 0, 2, 2])
    drawn = np.concatenate(list(within_strata(codes, 500, seed=3)))
    for code, size in ((0, 2), (1, 1), (2, 3)):
        assert (drawn[:, codes == code].sum(axis=1) == size).all()
    sd = math.sqrt((1 - 1 / 3) / 500)
    assert np.abs(drawn[:, codes == 2].mean(axis=0) - 1).max() < 4.5 * sd


@pytest.mark.parametrize("block", [1, 20, 2**23])
def test_draws_within_strata_do_not_depend_on_the_block_size(monkeypatch, block):
    codes = np.array([0, 1, 1, 0, 1])
    reference = np.concatenate(list(within_strata(codes, 31, seed=5)))
    monkeypatch.setattr(design_draws, "BLOCK", block)
    np.testing.assert_array_equal(np.concatenate(list(within_strata(codes, 31, seed=5))), reference)


def test_within_strata_the_rows_say_whose_mixture_they_are_about():
    weights = {**EMPIRICAL, "equal": "equal", "half": {"mix": {"empirical": 0.5, "equal": 0.5}}}
    asked = [Estimand("g", gain(view="a"))]
    rows = estimate(from_gains(many()), asked, weights, draws=100, resampling="within_strata")
    about = {key[2]: (row.population, row.resampling) for key, row in rows.items()}
    said = "bootstrap of units within strata"
    assert about == {
        "empirical": ("cohort", said),
        "equal": ("units", said),
        "half": ("cohort", said),
    }
    held = "the mixture of strata is held as it is in the cohort"
    assert [held in row.notes for row in rows.values()] == [True, False, True]
    assert {row.undefined_draws for row in rows.values()} == {0}


def test_within_strata_one_unit_in_any_stratum_of_the_cohort_gives_no_interval():
    table = from_gains([*many(units=20, few=0), ("z", "single", 1.0)])
    for statistic in ("mean", "median"):
        row = one(table, gain(view="a"), statistic, resampling="within_strata")
        assert row.interval is None
        assert "one unit in single" in row.notes[-1]
        assert one(table, gain(view="a"), statistic, draws=200).interval is not None


def test_mixed_weights_by_hand():
    gains = [("p", "yes", 1.0), ("p", "yes", 2.0), ("q", "yes", -6.0), ("r", "no", 5.0)]
    mine = np.array([0.1 * 0.25 + 0.125, 0.9 * 0.25 + 0.125])  # no, yes; a quarter is equal weights
    mixture = TargetWeights("m", mine, 0.5)

    def value(statistic):
        sample = engine.sample(from_gains(gains).dataset())
        (row,) = engine.estimate(
            sample, [Estimand("g", gain(view="a"), statistic)], [mixture], draws=50
        )
        return row

    mean = 0.5 * 0.5 + 0.25 * 2.0 + 0.25 * (-0.9 + 0.5)
    assert value("mean").value == pytest.approx(mean)
    assert value("negative_share").value == pytest.approx(0.5 / 4 + 0.25 / 6 + 0.25 * 0.9 / 3)
    assert value("median").refused["reason"] == "statistic_needs_empirical_weights"


# Simultaneous


def test_simultaneous_intervals_equal_a_loop_over_the_same_draws():
    gains, draws, seed = many(units=25, few=12), 400, 9
    asked = [Estimand("mean", gain(view="a")), Estimand("middle", gain(view="a"), "median")]
    weights = {**EMPIRICAL, "equal": "equal"}
    options = {"draws": draws, "seed": seed, "level": 0.9, "simultaneous": True}
    rows = estimate(from_gains(gains), asked, weights, **options)
    values = np.array([value for *_, value in gains])
    few = np.array([target == "few" for _, target, _ in gains])
    drawn = np.concatenate(list(multiplicities(len(gains), draws, seed))).astype(int)

    def statistics(row):
        groups = [np.repeat(values[kept], row[kept]).mean() for kept in (few, ~few)]
        whole = np.repeat(values, row)
        return whole.mean(), np.mean(groups), np.median(whole)

    found = np.array([statistics(row) for row in drawn])
    point = np.array(statistics(np.ones(len(gains), dtype=int)))
    sd = found.std(axis=0, ddof=1)
    reach = np.quantile((np.abs(found - point) / sd).max(axis=1), 0.9)
    assert len(rows) == 3
    for row, centre, spread in zip(rows.values(), point, sd, strict=True):
        assert row.interval == pytest.approx((centre - reach * spread, centre + reach * spread))
        assert row.interval_kind == "simultaneous max-t"


def test_simultaneous_intervals_of_many_rows_are_wider_than_of_one():
    table, asked = from_gains(many()), Estimand("g", gain(view="a"))
    more = [asked, Estimand("m", gain(view="a"), "median")]
    weights = {**EMPIRICAL, "equal": "equal"}
    wide = estimate(table, more, weights, draws=500, simultaneous=True)
    alone = estimate(table, [asked], draws=500, simultaneous=True)
    key = ("g", "mean", "empirical")
    assert np.ptp(wide[key].interval) > np.ptp(alone[key].interval)


def test_a_row_without_spread_takes_no_part_in_simultaneous_intervals():
    table = from_gains([(*row[:2], 1.0) for row in many()])
    flat = one(table, gain(view="a"), draws=100, simultaneous=True)
    assert flat.interval is None
    assert flat.notes[-1] == "no interval: every resample gives the same value"


def test_a_simultaneous_interval_of_a_share_ends_where_shares_end():
    gains = [(f"u{i}", "s", -1.0 if i == 0 else 1.0) for i in range(12)]
    row = one(from_gains(gains), gain(view="a"), "negative_share", draws=500, simultaneous=True)
    assert row.interval[0] == 0.0
    assert "cut at 0: no value is below it" in row.notes


# Options


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"resampling": "stratified"}, "expected 'plain' or 'within_strata'"),
        ({"resampling": "within strata"}, "did you mean 'within_strata'"),
        ({"interval": "bca"}, "'percentile' or 'rescaled' or 'bootstrap_t'"),
        ({"interval": "percentile", "simultaneous": True}, "give one of them"),
        ({"draws": 0}, "at least 1"),
        ({"level": 1.0}, "between 0 and 1"),
    ],
)
def test_an_option_that_cannot_be_honoured_is_refused(option, words):
    with pytest.raises(OptionError, match=words):
        one(from_gains(many()), gain(view="a"), **option)


DESIGN = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
[estimands]
step = {{ gain = {{}} }}
[design]
{lines}
"""


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", DesignSpec()),
        ("draws = 500", DesignSpec(draws=500)),
        ('resampling = "within_strata"', DesignSpec(resampling="within_strata")),
        ('interval = "rescaled"', DesignSpec(interval="rescaled")),
        ("simultaneous = true", DesignSpec(simultaneous=True)),
    ],
)
def test_each_key_of_the_design_table_is_read(lines, expected):
    assert parse_spec(DESIGN.format(lines=lines)).design == expected


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("draws = 99", "expected a whole number, 100 or more"),
        ('resampling = "plane"', "expected plain or within_strata .did you mean 'plain'"),
        ('interval = "bootstrap-t"', "did you mean 'bootstrap_t'"),
        ('simultaneous = "yes"', "expected true or false"),
        ('simultaneous = true\ninterval = "rescaled"', "give one of them"),
        ("seed = 3", "unknown key 'seed'"),
        ("drawz = 3", "unknown key 'drawz' .did you mean 'draws'"),
    ],
)
def test_each_misuse_of_the_design_table_is_a_fault(lines, words):
    with pytest.raises(SpecError, match=words):
        parse_spec(DESIGN.format(lines=lines))


@EXAMPLES
@given(st.integers(0, 10**6), st.integers(1, 40), st.sampled_from([0.01, 0.5, 0.95, 1 - 1e-16]))
def test_central_share_is_between_numpys_quantiles(seed, count, level):
    values = np.random.default_rng(seed).integers(-5, 6, count) / 3
    expected = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    np.testing.assert_allclose(central(values, level), expected, rtol=0, atol=1e-15)


def test_an_interval_that_single_draws_decide_says_so():
    # five units, four of which hardly differ: draws without the fifth have next to no spread
    rows = [(f"a{i}", "few", 1e-3 * i if i else 5.0) for i in range(5)]
    asked = {"contrast": gain(view="a"), "draws": 2000}
    row = one(from_gains(rows), **asked)
    assert row.interval_kind == "bootstrap-t"
    told = [note for note in row.notes if "times as wide as the percentile interval" in note]
    assert len(told) == 1
    usual = one(from_gains(rows), **asked, interval="percentile")
    width = (row.interval[1] - row.interval[0]) / (usual.interval[1] - usual.interval[0])
    assert told[0].startswith(f"{width:.0f} times")
    calm = [(name, of, float(i)) for i, (name, of, _) in enumerate(rows)]
    assert not any("times as wide" in note for note in one(from_gains(calm), **asked).notes)


def test_ends_that_are_one_value_are_no_interval():
    gains = [(f"u{i:02d}", "all", 2.0 if i < 12 else 1.0) for i in range(40)]
    row = one(from_gains(gains), gain(view="a"), names.MEDIAN, draws=500)
    assert (row.value, row.interval) == (1.0, None)
    assert "most resamples give the same value" in row.notes[-1]
