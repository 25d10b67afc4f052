"""What each level adds to an estimate: against plain pandas, and summed over levels."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.contrasts import gain, omega
from fourcorner.design import engine
from fourcorner.design.breakdowns import breakdowns
from fourcorner.estimands import Estimand, signs
from fourcorner.results import Breakdown, frame, read, records
from fourcorner.weights import resolve_all
from scored import dataset

EXAMPLES = settings(max_examples=6, deadline=None, derandomize=True)
A, B = gain(view="a"), gain(view="b")
WEIGHTS = {
    "empirical": "empirical",
    "equal": "equal",
    "named": {"s0": 0.25, "s1": 0.75},
    "half": {"mix": {"empirical": 0.5, "named": 0.5}},
}
CHANNELS = ("a", "b")


def cohort(seed, units=12):
    """One row for each transition, its two gains in two waves; some incomplete."""
    generator = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        for step in range(generator.integers(1, 4)):
            kind = str(generator.choice(["", "read", "write"]))
            gains = generator.integers(-3, 4, size=(2, 2)) / 2.0
            lost = generator.random() < 0.15
            about = (f"u{unit:02d}", step, "s0" if unit < 5 else "s1", kind)
            rows.append((*about, *(np.full(4, np.nan) if lost else gains.ravel())))
    columns = ["task", "step", "target", "kind", "a1", "a2", "b1", "b2"]
    return pd.DataFrame(rows, columns=columns)


def scored(rows):
    """Scores with those gains: zero before; dims state, view, wave."""
    after = rows[["a1", "a2", "b1", "b2"]].to_numpy().reshape(-1, 1, 2, 2)
    dense = np.concatenate([np.zeros_like(after), after], axis=1)
    levels = {"state": ["before", "after"], "view": list("ab"), "wave": list("12")}
    along = {"unit": "task", "stratum": "target", "kind": "kind"}
    coords = {name: rows[column].to_numpy(str) for name, column in along.items()}
    return dataset(dense, levels, coords, ["wave"])


def asked():
    family = signs("s", A, B, dead_zones=[0.5])
    kept = ["s.gain.first", "s.omega", "s.cross_channel", "s.excess", "s.beyond_0.5"]
    return {
        "gain": Estimand("gain", A),
        "below": Estimand("below", omega(view=CHANNELS), names.NEGATIVE_SHARE),
        "by unit": Estimand("by unit", A, weight_by="unit"),
        "reads": Estimand("reads", A, where={"kind": ("read", "write")}),
        **{name: family[name] for name in kept},
    }


def values_of(rows, name):
    """The number of each transition, by hand."""
    a, b = rows[["a1", "a2"]].to_numpy(), rows[["b1", "b2"]].to_numpy()
    opposite = (np.sign(a)[:, :, None] * np.sign(b)[:, None, :] < 0).mean(axis=(1, 2))
    retried = np.mean([np.sign(x[:, 0]) * np.sign(x[:, 1]) < 0 for x in (a, b)], axis=0)
    far = (np.sign(a) * np.sign(b) < 0) & (np.minimum(np.abs(a), np.abs(b)) > 0.5)
    first = a.mean(axis=1)
    return {
        "below": (b.mean(axis=1) - first < 0).astype(float),
        "s.omega": b.mean(axis=1) - first,
        "s.cross_channel": opposite,
        "s.excess": opposite - retried,
        "s.beyond_0.5": far.mean(axis=1),
    }.get(name, first)


def estimated(rows, values, name, weights):
    """The estimator in plain pandas; None where a needed stratum is empty."""
    kept = rows.assign(value=values)
    kept = kept[kept["a1"].notna()]
    if name == "reads":
        kept = kept[kept["kind"] != ""]
    if name == "by unit":
        kept = kept.groupby(["task", "target"], as_index=False)["value"].mean()
    by_target = kept.groupby("target")["value"].mean()
    if not len(kept) or (weights != "empirical" and len(by_target) < 2):
        return None
    named = {"equal": (0.5, 0.5), "named": (0.25, 0.75), "half": (0.25, 0.75)}.get(weights)
    pooled = kept["value"].mean()
    if named is None:
        return pooled
    mixed = named[0] * by_target["s0"] + named[1] * by_target["s1"]
    return (pooled + mixed) / 2 if weights == "half" else mixed


def broken_down(rows, estimands=None, **options):
    sample = engine.sample(scored(rows))
    found = resolve_all(WEIGHTS, list(sample.strata))
    wanted = list((asked() if estimands is None else estimands).values())
    return breakdowns(sample, wanted, found, **{"draws": 20, **options})


@EXAMPLES
@given(st.integers(0, 10**6))
def test_a_contribution_is_the_estimate_of_values_that_are_zero_elsewhere(seed):
    rows = cohort(seed)
    checked = 0
    for row in broken_down(rows):
        if row.by not in {"kind", "stratum"}:
            assert row.contribution is None
            continue
        inside = rows["kind" if row.by == "kind" else "target"] == row.level
        values = np.where(inside, values_of(rows, row.name), 0.0)
        expected = estimated(rows, values, row.name, row.weights)
        assert row.contribution == (None if expected is None else pytest.approx(expected))
        checked += 1
    assert checked > 100


@EXAMPLES
@given(st.integers(0, 10**6), st.sampled_from(names.PLANS))
def test_contributions_of_all_levels_sum_to_the_estimate(seed, plan):
    rows = cohort(seed)
    sample = engine.sample(scored(rows))
    wholes = engine.estimate(
        sample,
        list(asked().values()),
        resolve_all(WEIGHTS, list(sample.strata)),
        draws=20,
        resampling=plan,
    )
    parts = frame(broken_down(rows, resampling=plan), Breakdown)
    for whole in wholes:
        mine = parts[(parts["name"] == whole.name) & (parts["weights"] == whole.weights)]
        for by in {"kind", "stratum"} & set(mine["by"]):
            added = mine.loc[mine["by"] == by, "contribution"]
            if whole.value is None:
                assert added.isna().all()
            else:
                assert added.sum() == pytest.approx(whole.value, abs=1e-12)


def test_a_part_without_a_value_of_its_own_can_still_contribute():
    rows = cohort(3)
    rows["kind"] = np.where(rows["target"] == "s0", "read", "write")
    (read_part,) = [
        row
        for row in broken_down(rows, {"gain": asked()["gain"]})
        if (row.by, row.level, row.weights) == ("kind", "read", "equal")
    ]
    mine = rows[(rows["target"] == "s0") & rows["a1"].notna()]
    assert read_part.value is None  # no unit of the other stratum reads
    assert read_part.contribution == pytest.approx(mine[["a1", "a2"]].mean(axis=1).mean() / 2)


def test_a_group_contrast_has_no_contributions():
    rows = cohort(5)
    contrast = {"g": replace(asked()["gain"], between=("kind", "read", "write"))}
    found = [row for row in broken_down(rows, contrast) if row.by == "stratum"]
    assert found
    assert all(row.contribution is None for row in found)


def test_a_contribution_survives_being_written():
    rows = broken_down(cohort(7), {"gain": asked()["gain"]})
    assert read(records(rows), Breakdown) == rows
    assert frame(rows, Breakdown)["contribution"].dtype == float
