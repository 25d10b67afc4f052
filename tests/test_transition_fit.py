"""A fit of the transition model: what its tree holds, what it recovers, and check 2 on it."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy import stats

import chained
import fits
import fourcorner as fc
from fourcorner import names
from fourcorner.bayes.transitions import agreement
from fourcorner.bayes.tree import group
from fourcorner.io import runs
from fourcorner.weights import resolve

OMEGA = fc.omega(view=("direct", "generated"))
EMPIRICAL = resolve("empirical", "empirical", ["a", "b"])
KINDS = ("edit", "plan", "test")


def posterior():
    return group(fits.steps().tree, names.POSTERIOR)


def truth(stratum):
    """Levels and steps of a stratum, by view."""
    shift = stratum == "b"
    moves = ("level", *KINDS)
    return np.array([np.add(fits.STEP_MOVES[m], shift * fits.STEP_SHIFT[m]) for m in moves])


def within(draws, expected):
    z = (draws.mean(axis=(0, 1)) - expected) / draws.std(axis=(0, 1))
    assert (np.abs(z) < 3.5).all(), z


def test_the_truth_of_simulated_chains_is_recovered():
    draws = posterior()
    for stratum in ("a", "b"):
        within(draws[names.VAR_MOVE].sel(stratum=stratum).values, truth(stratum))
    within(draws[names.VAR_COVARIANCE].values, fits.STEP_UNIT)
    within(draws[names.VAR_NOISE_COVARIANCE].values, fits.STEP_NOISE)
    within(draws[names.VAR_WHITE].values, fits.STEP_WHITE)
    within(draws[names.VAR_PERSISTENCE].values, [fits.STEP_LASTS[kind] for kind in KINDS])


def test_cell_means_telescope_and_are_step_means_by_their_numbers():
    draws = posterior()
    assert draws[names.VAR_CELL_MEAN].dims == ("chain", "draw", "stratum", "state", "view")
    gain = draws["cell_mean"].sel(state="after") - draws["cell_mean"].sel(state="before")
    moves = draws[names.VAR_MOVE]
    for stratum, size in fits.STEP_STRATA.items():
        short, long = size / 2, size / 2  # units with three and with four steps
        steps = 3 * short + 4 * long
        first = moves.sel(stratum=stratum, level_or_step="level").values
        ends = sum(
            number
            * (first + sum(moves.sel(stratum=stratum, level_or_step=k).values for k in kinds))
            for number, kinds in zip((short, long), fits.STEP_KINDS, strict=True)
        )
        expected = (ends - size * first) / steps
        np.testing.assert_allclose(gain.sel(stratum=stratum).values, expected, atol=1e-10)
    step = draws[names.VAR_STEP_MEAN]
    np.testing.assert_allclose(
        (step.sel(state="after") - step.sel(state="before")).transpose("step_kind", ...).values,
        np.stack([moves.sel(level_or_step=kind).values for kind in KINDS]),
        atol=1e-10,
    )


def test_log_likelihood_of_a_unit_is_that_of_its_observed_endpoints():
    tree, draws = fits.steps().tree, posterior()
    table = fits.steps_table()
    found = group(tree, names.LOG_LIKELIHOOD)[names.CELLS]
    one = draws.isel(chain=1, draw=17)
    lasts = dict(zip(KINDS, one[names.VAR_PERSISTENCE].values, strict=True))
    for place in (0, 1, 7, 75):
        rows = table[table["task"] == f"u{place:03d}"]
        values = rows.drop_duplicates(["endpoint", "view"]).pivot(
            index="endpoint", columns="view", values="margin"
        )
        steps = fits.STEP_KINDS[len(values) - 4]
        moves = one[names.VAR_MOVE].sel(stratum=rows["target"].iloc[0])
        mean = np.cumsum([moves.sel(level_or_step=k).values for k in ("level", *steps)], axis=0)
        law = chained.law(
            steps,
            one[names.VAR_COVARIANCE].values,
            one[names.VAR_NOISE_COVARIANCE].values,
            float(one[names.VAR_WHITE]),
            lasts,
        )
        flat = values.values.ravel()
        seen = np.isfinite(flat)
        expected = stats.multivariate_normal.logpdf(
            flat[seen], mean.ravel()[seen], law[np.ix_(seen, seen)]
        )
        assert found.values[1, 17, place] == pytest.approx(expected, rel=1e-9)


def test_sampling_variance_of_the_design_estimate_is_written_out():
    """Var(T) by its weights on every endpoint of every unit."""
    tree, draws, table = fits.steps().tree, posterior(), fits.steps_table()
    wide = table.pivot(index=["task", "step"], columns=["state", "view"], values="margin")
    complete = wide.notna().all(axis=1)
    number = int(complete.sum())
    one = draws.isel(chain=0, draw=3)
    lasts = dict(zip(KINDS, one[names.VAR_PERSISTENCE].values, strict=True))
    expected = 0.0
    for _, rows in table.groupby("task"):
        steps = tuple(rows.drop_duplicates("step")["kind"])
        pull = np.zeros((len(steps) + 1, 2))
        for t in range(len(steps)):
            if complete[rows["task"].iloc[0], f"s{t:02d}"]:
                pull[t + 1] += np.array([-1, 1]) / number
                pull[t] -= np.array([-1, 1]) / number
        law = chained.law(
            steps,
            one[names.VAR_COVARIANCE].values,
            one[names.VAR_NOISE_COVARIANCE].values,
            float(one[names.VAR_WHITE]),
            lasts,
        )
        expected += pull.ravel() @ law @ pull.ravel()
    found = agreement.sampling_variances(tree, OMEGA, EMPIRICAL)[0, 3]
    assert found == pytest.approx(expected, rel=1e-9)


def test_engines_agree_on_data_that_the_model_made():
    rows = [row for row in fits.steps().audit.check_rows if row.name == "design_agreement"]
    compared = [row for row in rows if row.value is not None]
    assert {row.target for row in compared} >= {"omega (empirical)", "direct (equal)"}
    assert all(abs(row.value) < 3.5 for row in compared)


def test_rows_say_how_many_units_and_transitions_they_are_of():
    (row,) = [
        row
        for row in fits.steps().audit.rows
        if (row.name, row.weights, row.method, row.population)
        == ("omega", "empirical", "posterior", "units")
    ]
    assert (row.units, row.transitions, row.cohort) == (90, 315, "observed")


def test_what_the_model_does_not_know_is_named():
    said = " ".join(fits.steps().audit.not_available)
    assert "posterior of middle: the transition model has means, not a median" in said
    assert "posterior of edits: the transition model has means over all transitions" in said


def test_a_saved_tree_loads_without_loss_and_arviz_reads_it(tmp_path):
    tree = fits.steps().tree
    runs.write_tree(tmp_path / "posterior.nc", tree)
    again = runs.read_tree(tmp_path / "posterior.nc")
    for name in tree.children:
        xr.testing.assert_identical(group(again, name).drop_attrs(), group(tree, name).drop_attrs())
    assert dict(again.attrs) == dict(tree.attrs)
    assert np.isfinite(az.loo(again).elpd)


def test_shared_endpoints_are_replicated_once():
    made = group(fits.steps().tree, names.POSTERIOR_PREDICTIVE)[names.CELLS]
    first = made.isel(transition=0).sel(state="after").values
    second = made.isel(transition=1).sel(state="before").values
    np.testing.assert_array_equal(first, second)
    assert np.ptp(first) > 0
