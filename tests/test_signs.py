"""Sign stability of two channels over waves and retries, against counting in plain loops."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import fourcorner as fc
from fourcorner import names, scores
from fourcorner.auditing import design_audit
from fourcorner.bayes.answers import not_modelled
from fourcorner.contrasts import gain
from fourcorner.design.signs import RATES, values
from fourcorner.errors import ContrastError, SpecError
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.measures import RETRIES, SIGNS, Measure, signs
from naive import Complete, mixtures, naive_statistic
from scored import dataset, estimate, tables

# gains of two channels in two waves: disagree always; once; a zero; agree
GAINS = np.array(
    [
        [[0.4, -0.2], [0.1, -0.3]],
        [[0.4, -0.2], [0.1, 0.3]],
        [[0.0, -0.2], [-0.1, -0.3]],
        [[0.4, 0.2], [0.1, 0.3]],
    ]
)
BY_HAND = {
    names.FIRST_GAIN: [0.25, 0.25, -0.05, 0.25],
    names.SECOND_GAIN: [-0.25, 0.05, -0.25, 0.25],
    names.OMEGA: [-0.5, -0.2, -0.2, 0.0],
    names.CROSS_CHANNEL: [1, 0.5, 0, 0],
    names.CROSS_CHANNEL_DOWN: [1, 0.5, 0, 0],
    names.CROSS_CHANNEL_UP: [0, 0, 0, 0],
    names.SAME_CHANNEL: [0, 0.5, 0, 0],
    names.EXCESS: [1, 0, 0, 0],
    names.PERSISTENT: [1, 0, 0, 0],
    names.PERSISTENT_DOWN: [1, 0, 0, 0],
    names.PERSISTENT_UP: [0, 0, 0, 0],
    names.ZERO: [0, 0, 1, 0],
}
EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)
ZONES = (0.1, 0.5)


# One transition


@pytest.mark.parametrize("kind", BY_HAND)
def test_hand_worked_signs(kind):
    assert values(GAINS, Measure(kind)) == pytest.approx(BY_HAND[kind])


def test_a_gain_on_the_edge_of_the_dead_zone_is_in_it():
    found = values(GAINS, Measure(names.BEYOND, 0.2)).tolist()
    assert found == [0, 0, 0, 0]
    assert values(GAINS, Measure(names.BEYOND, 0.1)).tolist() == [0.5, 0.5, 0, 0]


def test_a_gain_that_is_beyond_by_rounding_alone_is_on_the_edge():
    assert 0.8 - 0.7 > 0.1
    gains = np.array([[[0.8 - 0.7, -0.5]]])
    assert values(gains, Measure(names.BEYOND, 0.1), sizes=(1.5, 1.5)).tolist() == [0]
    assert values(gains, Measure(names.BEYOND, 0.0999), sizes=(1.5, 1.5)).tolist() == [1]


def test_the_edge_of_a_gain_is_that_of_its_own_scores():
    near = 0.1 + 1e-7  # further than the rounding of its own scores, nearer than that of the other
    large = 1e9
    for first, second in ((near, -large), (-large, near)):
        gains = np.array([[[first, second]]])
        size = (2 * abs(first), 2 * abs(second))
        assert values(gains, Measure(names.BEYOND, 0.1), size).tolist() == [1]
    rows = pd.DataFrame(
        [(f"u{i}", 0, "s", "x", near, near, -large, -large) for i in range(3)],
        columns=["task", "step", "target", "kind", "a1", "a2", "b1", "b2"],
    )
    (row,) = estimate(scored(rows), [asked()["s.beyond_0.1"]], draws=2).values()
    assert row.value == 1


def test_the_mean_gains_of_the_notes_have_each_its_own_rounding():
    rows = pd.DataFrame(
        [(f"u{i}", 0, "s", "x", 1e-6, 1e-6, large, large) for i, large in
         enumerate((1e9, -2e9, 4e9))],
        columns=["task", "step", "target", "kind", "a1", "a2", "b1", "b2"],
    )  # fmt: skip
    (row,) = estimate(scored(rows), [asked()["s.omega"]], draws=2).values()
    assert any("the mean gains as estimated have one sign" in note for note in row.notes)


def test_every_measure_has_words_and_a_rule():
    assert set(SIGNS) == {*BY_HAND, names.BEYOND}
    assert set(RATES) < set(SIGNS)
    assert {measure.kind for measure in signs().values()} == set(SIGNS)


def test_a_gain_missing_in_a_wave_leaves_the_transition_out():
    gains = GAINS.copy()
    gains[0, 1, 0] = np.nan
    for kind in BY_HAND:
        assert np.isnan(values(gains, Measure(kind))).tolist() == [True] + [False] * 3


def naive(kind, zone, pairs):
    """A measure of one transition: `pairs` has (first gain, second gain) of each wave."""
    first, second = zip(*pairs, strict=True)
    crossed = list(itertools.product(first, second))
    retried = [pair for of in (first, second) for pair in itertools.combinations(of, 2)]
    opposite = [a * b < 0 for a, b in crossed]
    down, up = [a > 0 > b for a, b in crossed], [a < 0 < b for a, b in crossed]
    far = [a * b < 0 and abs(a) > zone and abs(b) > zone for a, b in pairs]
    share = {
        names.CROSS_CHANNEL: opposite,
        names.CROSS_CHANNEL_DOWN: down,
        names.CROSS_CHANNEL_UP: up,
        names.SAME_CHANNEL: [a * b < 0 for a, b in retried],
        names.PERSISTENT: [all(down) or all(up)],
        names.PERSISTENT_DOWN: [all(down)],
        names.PERSISTENT_UP: [all(up)],
        names.ZERO: [0 in (*first, *second)],
        names.BEYOND: far,
        names.FIRST_GAIN: first,
        names.SECOND_GAIN: second,
        names.OMEGA: [b - a for a, b in pairs],
    }
    if kind == names.EXCESS:
        parts = (share[names.CROSS_CHANNEL], share[names.SAME_CHANNEL])
        crossed, retried = (Fraction(sum(listed), len(listed)) for listed in parts)
        return crossed - retried
    return Fraction(sum(share[kind])) / len(share[kind])


WHOLE = arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(2, 4), st.just(2)),
               elements=st.integers(-3, 3))  # fmt: skip


@EXAMPLES
@given(WHOLE)
def test_each_measure_is_what_counting_pairs_gives(whole):
    gains = whole / 2.0
    for row, measure in signs(ZONES).items():
        expected = [naive(measure.kind, measure.zone, one.tolist()) for one in gains]
        assert values(gains, measure) == pytest.approx([float(x) for x in expected]), row


@EXAMPLES
@given(WHOLE, st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_rescaling_a_channel_changes_no_rate_but_those_with_a_dead_zone(whole, first, second):
    gains, again = whole / 2.0, whole / 2.0 * [first, second]
    for kind in RATES:
        assert values(again, Measure(kind)).tolist() == values(gains, Measure(kind)).tolist()


SWAPPED = {
    names.CROSS_CHANNEL_DOWN: names.CROSS_CHANNEL_UP,
    names.PERSISTENT_DOWN: names.PERSISTENT_UP,
    names.FIRST_GAIN: names.SECOND_GAIN,
}


@EXAMPLES
@given(WHOLE)
def test_swapping_the_channels_swaps_the_orientations_alone(whole):
    gains = whole / 2.0
    other = {**SWAPPED, **{up: down for down, up in SWAPPED.items()}}
    for measure in signs(ZONES).values():
        mine = replace(measure, kind=other.get(measure.kind, measure.kind))
        sign = -1 if measure.kind == names.OMEGA else 1
        assert values(gains[..., ::-1], measure) == pytest.approx(sign * values(gains, mine))


@EXAMPLES
@given(WHOLE)
def test_orientations_and_excess_add_up(whole):
    found = {kind: values(whole / 2.0, Measure(kind)) for kind in BY_HAND}
    down, up = found[names.CROSS_CHANNEL_DOWN], found[names.CROSS_CHANNEL_UP]
    assert down + up == pytest.approx(found[names.CROSS_CHANNEL])
    excess = found[names.CROSS_CHANNEL] - found[names.SAME_CHANNEL]
    assert excess == pytest.approx(found[names.EXCESS])
    assert (found[names.PERSISTENT] <= found[names.CROSS_CHANNEL]).all()


# A table


def naive_gains(table, waves):
    """(task, step): its stratum and the gains at views a and b in each wave, all complete."""
    layouts = len(table.replicate.get("layout", ("",)))
    frame = table.frame
    if "authority" in frame:
        frame = frame[frame["authority"] == "y"]
    found = {}
    for (task, step), group in frame.groupby(["task", "step"]):
        pairs = []
        for wave in waves:
            mine = group[group["wave"] == wave] if wave else group
            cells = {}
            for (phase, view), cell in mine.groupby(["phase", "view"]):
                if cell["margin"].notna().sum() == layouts:
                    tenths = [Fraction(round(10 * score), 10) for score in cell["margin"]]
                    cells[phase, view] = sum(tenths) / layouts
            if all((phase, view) in cells for phase in ("start", "end") for view in "ab"):
                pairs.append([cells["end", view] - cells["start", view] for view in "ab"])
        if len(pairs) == len(waves):
            found[task, step] = (group["target"].iloc[0], pairs)
    return found


@settings(max_examples=15, deadline=None, derandomize=True)
@given(tables())
def test_every_row_is_the_mean_of_what_counting_gives(table):
    at = {"authority": "y"} if "authority" in table.channel else {}
    waves = table.replicate.get("wave", (None,))
    family = fc.signs(
        "s", gain(view="a", at=at), gain(view="b", at=at), dead_zones=ZONES,
        repeated=len(waves) > 1,
    )  # fmt: skip
    gains = naive_gains(table, waves)
    declared, shares = mixtures(table.frame)
    rows = estimate(table, list(family.values()), declared, draws=2)
    assert len(rows) == len(family) * len(declared)
    for (name, _, weights), row in rows.items():
        measure = family[name].measure
        counted = [
            Complete(task, target, naive(measure.kind, measure.zone, pairs))
            for (task, _), (target, pairs) in gains.items()
        ]
        expected = naive_statistic(counted, names.MEAN, shares[weights])
        assert (row.value is None) == (expected is None)
        if expected is not None:
            assert row.value == pytest.approx(float(expected), abs=1e-12)
            assert row.units == len({item.unit for item in counted})
            assert row.transitions == len(counted)
            whole = {item.value for item in counted} <= {0, 1}
            difference = measure.kind == names.EXCESS
            rate = measure.statistic == names.RATE
            total = sum(item.value for item in counted)
            assert row.count == (total if whole and rate and not difference else None)


def cohort(seed=0, units=9, waves="12"):
    """One row for each transition: its gains at views a and b in each wave, whole halves."""
    generator = np.random.default_rng(seed)
    columns = [f"{view}{wave}" for view in "ab" for wave in waves]
    rows = []
    for unit in range(units):
        for step in range(generator.integers(1, 4)):
            about = (f"u{unit}", step, "s0" if unit < 4 else "s1", "xy"[generator.integers(2)])
            rows.append((*about, *generator.integers(-3, 4, len(columns)) / 2.0))
    return pd.DataFrame(rows, columns=["task", "step", "target", "kind", *columns])


def scored(rows, waves="12", sessions=None):
    """Scores with those gains: before is zero."""
    after = rows[[f"{view}{wave}" for view in "ab" for wave in waves]].to_numpy()
    after = after.reshape(-1, 1, 2, len(waves))
    dense = np.concatenate([np.zeros_like(after), after], axis=1)
    levels = {"state": ["before", "after"], "view": list("ab"), "wave": list(waves)}
    along = {"unit": "task", "stratum": "target", "kind": "kind"}
    coords = {name: rows[column].to_numpy(str) for name, column in along.items()}
    found = dataset(dense, levels, coords, ["wave"])
    return found if sessions is None else found.assign_coords(session=("wave", list(sessions)))


def asked(**about):
    return fc.signs("s", gain(view="a"), gain(view="b"), dead_zones=ZONES, **about)


def pairs_of(row, waves):
    return [(row[f"a{wave}"], row[f"b{wave}"]) for wave in waves]


def counted(rows, name, waves="12"):
    """The measure of every row, by loops."""
    measure = asked()[name].measure
    return np.array(
        [
            float(naive(measure.kind, measure.zone, pairs_of(row, waves)))
            for _, row in rows.iterrows()
        ]
    )


@pytest.mark.parametrize("name", [*asked()])
@pytest.mark.parametrize("about", ["where", "between", "unit"])
def test_whom_the_rows_are_about(name, about):
    rows = cohort(3)
    number = rows.assign(value=counted(rows, name))
    x, y = (number[number["kind"] == kind]["value"].mean() for kind in "xy")
    fields, expected = {
        "where": ({"where": {"kind": ("y",)}}, y),
        "between": ({"between": ("kind", "x", "y")}, y - x),
        "unit": ({"weight_by": "unit"}, number.groupby("task")["value"].mean().mean()),
    }[about]
    (row,) = estimate(scored(rows), [asked(**fields)[name]], draws=2).values()
    assert row.value == pytest.approx(expected)


def test_a_wave_alone_and_two_of_three_are_those_waves():
    rows = cohort(4, waves="123")
    data = scored(rows, "123")
    for waves in ("1", "13"):
        family = asked(wave=tuple(waves), repeated=len(waves) > 1)
        for name, estimand in family.items():
            (row,) = estimate(data, [estimand], draws=2).values()
            assert row.value == pytest.approx(counted(rows, name, waves).mean())


def test_a_transition_counts_when_both_gains_are_complete_in_every_wave():
    rows = cohort(5)
    rows.loc[0, "a2"] = rows.loc[3, "b1"] = np.nan
    rows.loc[6, ["a1", "a2", "b1", "b2"]] = np.nan
    kept = rows.drop(index=[0, 3, 6])
    for name, row in ((key[0], row) for key, row in estimate(
        scored(rows), list(asked().values()), draws=2).items()):  # fmt: skip
        assert row.transitions == len(kept)
        assert row.value == pytest.approx(counted(kept, name).mean())


def test_parts_by_wave_are_those_of_each_wave_and_retries_have_none():
    rows = cohort(6, waves="123")
    family = asked(wave=("1", "3"))
    found = [
        row for row in breakdowns_of(scored(rows, "123"), family) if row.by == "wave"
    ]  # fmt: skip
    assert {(row.name, row.level) for row in found} == {
        (name, wave)
        for name, estimand in family.items()
        for wave in "13"
        if estimand.measure.kind not in RETRIES
    }
    for row in found:
        of = counted(rows, row.name, row.level)
        assert row.value == pytest.approx(of.mean())
        measured = family[row.name].measure
        assert row.count == (of.sum() if measured.statistic == names.RATE else None)


def test_parts_by_attribute_are_those_transitions():
    rows = cohort(7)
    for row in breakdowns_of(scored(rows), asked()):
        if row.by in {"kind", "stratum"}:
            column = "kind" if row.by == "kind" else "target"
            mine = rows[rows[column] == row.level]
            assert row.value == pytest.approx(counted(mine, row.name).mean())
            assert row.transitions == len(mine)


def breakdowns_of(data, family):
    from fourcorner.design import engine
    from fourcorner.design.breakdowns import breakdowns
    from fourcorner.weights import resolve_all

    weights = resolve_all({"empirical": "empirical"}, scores.strata(data))
    return breakdowns(engine.sample(data), list(family.values()), weights, draws=2)


@EXAMPLES
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-50, 50))
def test_recalibrated_scores_have_the_same_rates(seed, scale, offset):
    rows = cohort(seed % 50)
    data = scored(rows)
    moved = data.assign(
        score=data["score"] * np.array([1.0, scale])[:, None] + np.array([0.0, offset])[:, None]
    )
    rates = [e for e in asked().values() if e.statistic == names.RATE and not e.measure.zone]
    before, after = (estimate(found, rates, draws=2) for found in (data, moved))
    for key, row in before.items():
        assert after[key].value == pytest.approx(row.value)


# What is refused


def test_waves_of_several_sessions_are_no_retries():
    data = scored(cohort(1, waves="123"), "123", ["first", "again", "again"])
    family = asked()
    for row in estimate(data, list(family.values()), draws=2).values():
        assert row.refused["reason"] == "several_sessions"
        assert "1 of first, 2 of again, 3 of again" in row.refused["message"]
        assert "wave = [...]" in row.refused["message"]
    within = asked(wave=("2", "3"))
    assert all(row.value is not None for row in estimate(data, list(within.values())).values())


def test_one_wave_says_nothing_about_retries():
    data = scored(cohort(1, waves="1"), "1")
    for row in estimate(data, list(asked().values()), draws=2).values():
        kind = asked()[row.name].measure.kind
        assert (row.refused is not None) == (kind in RETRIES)
        if row.refused is not None:
            assert row.refused["reason"] == "one_wave"


def test_cells_that_nobody_measured_are_named():
    rows = cohort(1).assign(b2=np.nan)
    cell = {"state": "after", "view": "b"}
    for row in estimate(scored(rows), list(asked().values()), draws=2).values():
        assert row.refused["missing"] == [cell]
        assert row.refused["would_identify"] == [[cell]]
        if row.name == "s.gain.first":
            assert row.refused["reason"] == "incomplete_family"
            assert row.refused["message"].startswith("gain(a) is measured, but the rows of s are")
            assert "witness" not in row.refused
        else:
            assert row.refused["reason"] == "not_identified"
            assert row.refused["witness"]["moves_contrast"] == 1.0
    (row,) = estimate(scored(cohort(1).assign(a2=np.nan)), [asked()["s.gain.first"]]).values()
    assert row.refused["reason"] == "not_identified"
    assert row.refused["witness"]["moves_contrast"] == 1.0  # of the gain, not of the difference
    (row,) = estimate(
        scored(cohort(1).assign(a2=np.nan, b1=np.nan)), [asked()["s.gain.first"]]
    ).values()
    assert (
        row.refused["missing"]
        == row.refused["would_identify"][0]
        == [{"state": "after", "view": "a"}]
    )
    assert "The rows of s also need (state = after, view = b)" in row.refused["message"]


def test_cells_that_are_never_complete_together_are_the_familys():
    rows = cohort(1)
    rows["a2"] = rows["a2"].where(rows.index % 2 == 0)
    rows["b2"] = rows["b2"].where(rows.index % 2 == 1)
    for row in estimate(scored(rows), list(asked().values()), draws=2).values():
        message = "no transition is complete in every cell of the rows of s"
        assert row.refused == {"reason": "no_complete_transition", "message": message}


def test_across_scales_the_rates_are_given_and_the_difference_is_refused():
    data = scored(cohort(2))
    data.attrs["scale"] = "view"
    for row in estimate(data, list(asked().values()), draws=2).values():
        if row.name == "s.omega" or "beyond" in row.name:
            assert row.refused["reason"] == "unlinked_scales"
            assert row.refused["groups"] == [{"view": "a"}, {"view": "b"}]
            zone = "a dead zone is in the units of one scale" in row.refused["message"]
            assert zone == ("beyond" in row.name)
        else:
            assert row.value is not None


# Calibration and pooling, in the notes of omega


@pytest.mark.parametrize("weights", ["empirical", "equal"])
def test_omega_says_what_rescaling_and_pooling_do_to_the_mean_gains_of_its_weights(weights):
    seen = set()
    for seed in range(12):
        rows = cohort(seed)
        rows.loc[0, "a1"] = np.nan  # complete at b alone: in neither mean
        kept = rows.drop(index=0)
        means = kept.assign(
            a=kept[["a1", "a2"]].mean(axis=1), b=kept[["b1", "b2"]].mean(axis=1)
        ).groupby("target")[["a", "b"]]
        if weights == "equal":
            first, second = means.mean().mean()
        else:
            first, second = means.sum().sum() / len(kept)
        (row,) = estimate(scored(rows), [asked()["s.omega"]], {weights: weights}, draws=2).values()
        assert row.value == pytest.approx(second - first)
        notes = " ".join(note for note in row.notes if note.startswith(("calibration", "pooling")))
        if first * second > 0:
            seen.add("one sign")
            assert f"ratio of {first / second:.3g}, second scale to first" in notes
        elif first * second < 0:
            seen.add("opposite")
            assert f"share of {first / (first - second):.3g}" in notes
            assert "no positive rescaling" in notes
    assert seen == {"one sign", "opposite"}


def test_a_mean_gain_of_zero_is_worded_though_it_is_rounded():
    rows = pd.DataFrame(
        [("u", 0, "s", "x", 0.1, 0.1, 1.0, 1.0), ("v", 0, "s", "x", 0.2, 0.2, 1.0, 1.0),
         ("w", 0, "s", "x", -0.3, -0.3, 1.0, 1.0)],
        columns=["task", "step", "target", "kind", "a1", "a2", "b1", "b2"],
    )  # fmt: skip
    (row,) = estimate(scored(rows), [asked()["s.omega"]], draws=2).values()
    assert any("the first mean gain is zero" in note for note in row.notes)
    assert not any("ratio of" in note for note in row.notes)


def test_other_rows_have_no_such_notes():
    for row in estimate(scored(cohort(1)), list(asked().values()), draws=2).values():
        said = [note for note in row.notes if note.startswith(("calibration", "pooling of"))]
        assert (len(said) == 2) == (row.name == "s.omega")


def test_a_difference_of_groups_has_no_mean_gains_to_speak_of():
    rows = cohort(1)
    between = {"between": ("kind", *sorted(set(rows["kind"]))[:2])}
    (row,) = estimate(scored(rows), [asked(**between)["s.omega"]], draws=2).values()
    assert row.value is not None
    assert not any(note.startswith(("calibration", "pooling of")) for note in row.notes)


# As a spec asks for it

SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
transition = "step"
change = { column = "phase", before = "b", after = "a" }
channel = { view = ["direct", "generated", "quote"], readout = ["joint", "binary"] }
replicate = { wave = ["1", "2"] }
stratum = "target"
attributes = ["kind"]
[estimands]
%s
"""
PLAIN = 'stable = { signs = { view = ["direct", "generated"] }, at = { readout = "joint" } }'


def declared(line):
    return fc.parse_spec(SPEC % line)


def test_a_spec_names_the_rows_and_their_gains():
    rows = as_estimands(declared(PLAIN))
    assert list(rows) == [
        *("stable.gain.first", "stable.gain.second", "stable.omega"),
        *("stable.cross_channel", "stable.cross_channel+-", "stable.cross_channel-+"),
        "stable.zero",
        *("stable.same_channel", "stable.excess"),
        *("stable.persistent", "stable.persistent+-", "stable.persistent-+"),
        *("stable.beyond_0.05", "stable.beyond_0.1", "stable.beyond_0.2"),
    ]
    for estimand in rows.values():
        assert estimand.family == "stable"
        first, second = estimand.contrast.parts
        assert first == fc.gain(view="direct", readout="joint")
        assert second == fc.gain(view="generated", readout="joint")


def test_one_wave_has_no_rows_of_retries():
    named = PLAIN.replace(" }, at", ' }, wave = ["2"], at')
    kinds = {estimand.measure.kind for estimand in as_estimands(declared(named)).values()}
    assert kinds == set(SIGNS) - set(RETRIES)


def test_several_channel_factors_move_together():
    both = declared(
        'stable = { signs = { view = ["direct", "quote"], readout = ["joint", "binary"] } }'
    )
    first, second = as_estimands(both)["stable.zero"].contrast.parts
    assert first == fc.gain(view="direct", readout="joint")
    assert second == fc.gain(view="quote", readout="binary")


def test_other_factors_are_averaged_within_each_gain():
    averaged = declared(PLAIN.replace('at = { readout = "joint" }', 'average_over = ["readout"]'))
    first, _ = as_estimands(averaged)["stable.zero"].contrast.parts
    assert first == fc.gain(view="direct", at={"readout": ["joint", "binary"]})


def test_a_spec_and_python_ask_for_the_same():
    spec = declared(PLAIN.replace("signs = {", "dead_zones = [0.1, 2], signs = {"))
    first, second = (fc.gain(view=view, readout="joint") for view in ("direct", "generated"))
    assert as_estimands(spec) == fc.signs("stable", first, second, dead_zones=[0.1, 2])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (PLAIN.replace("signs", "dead_zones = [0.1, 0.1], signs"), "each once"),
        (PLAIN.replace("signs", "dead_zones = [0], signs"), "above 0"),
        (PLAIN.replace("signs", "dead_zones = [-0.1], signs"), "above 0"),
        (PLAIN.replace("signs", 'dead_zones = ["x"], signs'), "above 0"),
        (PLAIN.replace("signs", 'statistic = "mean", signs'), "statistic does not go with signs"),
        (PLAIN.replace("signs", 'state = "after", signs'), "state does not go with signs"),
        (PLAIN.replace('"generated"]', '"generated", "quote"]'), "signs: view needs two levels"),
        (PLAIN.replace('"direct", ', ""), "signs: view needs two levels"),
        (PLAIN.replace("generated", "other"), "no declared level 'other'"),
        (PLAIN.partition(", at")[0] + " }", "says nothing about the factor 'readout'"),
        ("stable = { signs = {}, average_over = ['view', 'readout'] }", "needs a factor with two"),
        (
            PLAIN + "\ng = { gain = { view = 'quote' }, at = { readout = 'joint' } }"
            "\nd = { difference = ['g', 'stable'] }",
            "is a family of signs; differences take means",
        ),
        (
            PLAIN + "\nd = { difference = ['stable.omega', 'stable'] }",
            "'stable.omega' is a row of the family 'stable'",
        ),
        (
            "g = { gain = { view = 'quote' }, at = { readout = 'joint' }, dead_zones = [0.1] }",
            "dead_zones does not go with gain",
        ),
    ],
)
def test_misuse_is_worded(line, said):
    with pytest.raises(SpecError) as error:
        declared(line)
    assert said in str(error.value)


@pytest.mark.parametrize("first", [True, False])
def test_a_name_taken_twice_is_an_error(first):
    lines = [PLAIN, "'stable.omega' = { gain = { view = 'quote' }, at = { readout = 'joint' } }"]
    spec = declared("\n".join(lines if first else lines[::-1]))
    with pytest.raises(SpecError, match=r"its row 'stable.omega' is an estimand too"):
        as_estimands(spec)


@pytest.mark.parametrize("zones", [[0.0], [-1], [0.1, 0.1], [float("nan")], [float("inf")],
                                   ["x"], [True]])  # fmt: skip
def test_dead_zones_are_numbers_above_zero_each_once(zones):
    with pytest.raises(ContrastError, match="expected numbers above 0, each once"):
        fc.signs("s", gain(view="a"), gain(view="b"), dead_zones=zones)


def test_zones_that_hardly_differ_have_rows_of_their_own():
    assert {"beyond_0.1", "beyond_0.1000001", "beyond_2"} < set(signs([0.1, 0.1000001, 2]))


def test_one_gain_twice_is_an_error():
    with pytest.raises(ContrastError, match="expected a gain in each of two channels"):
        fc.signs("s", gain(view="a"), gain(view="a"))


def test_a_measure_has_its_own_statistic():
    for measure in signs(ZONES).values():
        with pytest.raises(ContrastError, match="statistic"):
            Estimand("s", gain(view="b") - gain(view="a"), "median", measure=measure)


def test_the_model_names_a_family_once():
    rows = [*asked().values(), Estimand("plain", gain(view="a"), "median")]
    first, second = not_modelled(rows)
    assert first.startswith("posterior of s: ")
    assert second.startswith("posterior of plain: ")


def test_an_audit_has_every_row_under_every_mixture_from_table_to_document():
    rows = cohort(8, units=12)
    long = pd.DataFrame(
        [
            (row.task, row.step, row.target, row.kind, phase, view, wave,
             getattr(row, f"{'ab'[place]}{wave}") if phase == "a" else 0.0)
            for row in rows.itertuples()
            for phase in "ba"
            for place, view in enumerate(("direct", "generated"))
            for wave in "12"
        ],
        columns=["task", "step", "target", "kind", "phase", "view", "wave", "margin"],
    )  # fmt: skip
    text = SPEC.replace(', "quote"]', "]").replace(', readout = ["joint", "binary"]', "")
    line = PLAIN.partition(", at")[0] + " }\n[weights]\nempirical = 'empirical'\nequal = 'equal'"
    spec = fc.parse_spec(text % line)
    found = design_audit(fc.read_scores(spec, long), spec).document()
    named = [(row["name"], row["weights"]) for row in found["estimates"]]
    assert named == [(name, w) for name in as_estimands(spec) for w in ("empirical", "equal")]
    cross = next(row for row in found["estimates"] if row["name"] == "stable.cross_channel")
    assert cross["value"] == pytest.approx(counted(rows, "s.cross_channel").mean())
    assert cross["statistic"] == "rate"
    assert {row["by"] for row in found["breakdowns"]} == {
        *("wave", "stratum", "kind", "leave_one_out"),
    }


@pytest.mark.parametrize(
    ("measure", "contrast", "words"),
    [
        (Measure("cross_channel"), gain(view="a"), "signs are those of a difference of two gains"),
        (
            Measure("cross_channel"),
            fc.endpoint_shift("after", view=("a", "b")),
            "signs are those of a difference of two gains",
        ),
        (Measure("surprise"), fc.omega(view=("a", "b")), "beliefs move within a gain"),
        (Measure("first"), fc.endpoint_shift("after", view=("a", "b")), "and an outcome"),
    ],
)
def test_a_measure_is_taken_of_what_it_is_a_measure_of(measure, contrast, words):
    with pytest.raises(ContrastError, match=words):
        Estimand("wrong", contrast, measure.statistic, measure=measure)


@pytest.mark.parametrize("statistic", ["rate", "mean"])
def test_a_measure_that_is_none_is_told(statistic):
    both = gain(view="b") - gain(view="a")
    with pytest.raises(ContrastError, match="did you mean 'cross_channel'"):
        Estimand("wrong", both, statistic, measure=Measure("crosschannel"))
