"""Retry noise: its sufficient statistics by hand and by plain pandas."""

import numpy as np
import pytest
import xarray as xr

from fourcorner import names
from fourcorner.bayes import basis as bases
from fourcorner.bayes.data import sufficient
from fourcorner.bayes.retry import retries
from fourcorner.errors import NotAvailable

FACE = {"state": ("before", "after"), "view": ("a", "b")}
EVERYONE = np.array([True, True])


def scored(values, sessions=None, factors=FACE):
    """A scores Dataset of units × cells × waves."""
    values = np.asarray(values, dtype=float)
    shape = tuple(len(levels) for levels in factors.values())
    units = [f"u{i}" for i in range(len(values))]
    waves = [f"w{i}" for i in range(values.shape[-1])]
    coords = {name: list(levels) for name, levels in factors.items()}
    coords |= {names.WAVE: waves, names.UNIT: (names.TRANSITION, units)}
    if sessions is not None:
        coords[names.SESSION] = (names.WAVE, sessions)
    dims = (names.TRANSITION, *factors, names.WAVE)
    score = values.reshape(len(values), *shape, values.shape[-1])
    return xr.Dataset({names.SCORE: (dims, score)}, coords, {"replicates": names.WAVE})


# two units, four cells, two waves
BY_HAND = [
    [[0, 2], [1, 1], [4, 0], [3, 3]],
    [[5, 5], [2, 6], [1, 1], [0, 2]],
]


def test_two_waves_by_hand():
    """Squares about the pair's mean: 2 + 0 + 8 + 0 and 0 + 8 + 0 + 2."""
    found = retries(scored(BY_HAND), bases.build(FACE), EVERYONE)
    assert found.scatter.tolist() == [20.0]
    assert found.degrees.tolist() == [8.0]
    np.testing.assert_allclose(found.share, np.full(4, 1 / 8))


def test_units_outside_the_cohort_do_not_count():
    found = retries(scored(BY_HAND), bases.build(FACE), np.array([False, True]))
    assert found.scatter.tolist() == [10.0]
    assert found.degrees.tolist() == [4.0]


def test_a_missing_wave_takes_its_degree_with_it():
    values = np.array(BY_HAND, dtype=float)
    values[0, 2, 1] = np.nan
    found = retries(scored(values), bases.build(FACE), EVERYONE)
    assert found.scatter.tolist() == [12.0]
    assert found.degrees.tolist() == [7.0]


def test_only_differences_within_a_session_count():
    generator = np.random.default_rng(2)
    values = generator.normal(size=(6, 4, 5))
    sessions = ["x", "y", "x", "y", "y"]
    everyone = np.ones(6, dtype=bool)
    found = retries(scored(values, sessions), bases.build(FACE), everyone)
    table = scored(values, sessions)[names.SCORE].to_series().rename("score").reset_index()
    table["session"] = table["wave"].map({f"w{i}": session for i, session in enumerate(sessions)})
    groups = table.groupby(["transition", "state", "view", "session"])["score"]
    expected = (groups.var(ddof=0) * groups.count()).sum()
    assert found.scatter[0] == pytest.approx(expected)
    assert found.degrees[0] == (groups.count() - 1).sum() == 6 * 4 * 3
    np.testing.assert_allclose(found.share, 1 / (4 * 5))
    moved = scored(values + 7.0 * (np.array(sessions) == "y"), sessions)
    again = retries(moved, bases.build(FACE), everyone)
    assert again.scatter[0] == pytest.approx(expected)


def test_retry_noise_is_not_measured_without_two_waves_of_a_session():
    basis = bases.build(FACE)
    assert retries(scored(np.array(BY_HAND)[..., :1]), basis, EVERYONE) is None
    assert retries(scored(BY_HAND, ["x", "y"]), basis, EVERYONE) is None
    layouts = scored(BY_HAND).rename({names.WAVE: "layout"})
    layouts.attrs["replicates"] = "layout"
    assert retries(layouts, basis, EVERYONE) is None


def test_waves_that_agree_to_the_last_digit_are_refused():
    copied = np.repeat(np.array(BY_HAND)[..., :1], 2, axis=2)
    with pytest.raises(NotAvailable, match="agree to the last digit"):
        retries(scored(copied), bases.build(FACE), EVERYONE)


def test_each_scale_group_has_its_own():
    found = retries(scored(BY_HAND), bases.build(FACE, scale=["view"]), EVERYONE)
    assert found.scatter.tolist() == [2 + 8 + 0 + 0, 0 + 0 + 8 + 2]
    assert found.degrees.tolist() == [4.0, 4.0]
    np.testing.assert_allclose(found.share, np.full(4, 1 / 4))


def test_the_share_is_the_variance_of_an_effect_of_averaged_noise():
    generator = np.random.default_rng(3)
    noise = generator.normal(size=(40_000, 4, 3))
    basis = bases.build(FACE)
    effects = noise.mean(axis=2) @ basis.rows.T / 4
    found = retries(scored(noise[:2]), basis, EVERYONE)
    np.testing.assert_allclose(effects.var(axis=0), found.share, rtol=0.03)
    np.testing.assert_allclose(np.corrcoef(effects.T), np.eye(4), atol=0.02)


def test_the_samplers_reference_leaves_retry_noise_out():
    """Where noise is a known part of the pooled covariance the rest is what units differ by."""
    generator = np.random.default_rng(4)
    units = generator.normal(size=(4_000, 1, 4)) * np.array([2.0, 1.5, 1.0, 1.0])
    values = (units + 0.0).swapaxes(1, 2) + generator.normal(size=(4_000, 4, 2))
    data = scored(values)
    basis = bases.build(FACE)
    kept = np.ones(4_000, dtype=bool)
    again = retries(data, basis, kept)
    cells = data[names.SCORE].mean(names.WAVE).drop_vars(names.UNIT)
    cells = cells.rename({names.TRANSITION: names.UNIT})
    stats = sufficient(cells, basis, [""], again)
    packed = stats.reference(np.array([1.0]))
    factor = np.zeros((4, 4))
    factor[np.tril_indices(4)] = packed
    between = basis.rows @ np.diag([4.0, 2.25, 1.0, 1.0]) @ basis.rows.T / 16
    np.testing.assert_allclose(factor @ factor.T, between, atol=0.05)
    with_noise = sufficient(cells, basis, [""]).reference(np.array([1.0]))
    assert (with_noise[[0, 2, 5, 9]] > packed[[0, 2, 5, 9]]).all()
