"""Fits: what the tree holds, that it saves, that a refit costs no compilation, that it recovers."""

import arviz as az
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import fits
import fourcorner as fc
from fourcorner import names
from fourcorner.bayes import sample
from fourcorner.bayes.tree import group
from fourcorner.io import runs

GROUPS = {
    "posterior",
    "prior",
    "prior_predictive",
    "posterior_predictive",
    "observed_data",
    "log_likelihood",
    "log_prior",
    "sample_stats",
    "constant_data",
    "estimator_predictive",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "posterior.nc"
    runs.write_tree(path, fits.cube().tree)
    return runs.read_tree(path)


def test_tree_has_every_group_with_the_named_dims():
    tree = fits.cube().tree
    assert set(tree.children) == GROUPS
    posterior = group(tree, names.POSTERIOR)
    cell_dims = ("state", "view", "authority")
    assert posterior["cell_mean"].dims == ("chain", "draw", "stratum", *cell_dims)
    assert posterior["effects"].dims == ("chain", "draw", "effect")
    assert posterior["effects"].sizes["effect"] == 12
    assert group(tree, "log_likelihood")["cells"].dims == ("chain", "draw", "unit")
    assert group(tree, "observed_data")["cells"].dims == ("unit", *cell_dims)
    predictive = group(tree, "posterior_predictive")["cells"]
    assert predictive.sizes["chain"] * predictive.sizes["draw"] == 500
    for name in tree.children:
        for variable, array in group(tree, name).data_vars.items():
            if array.dtype.kind == "f":
                assert np.isfinite(array.values).all(), (name, variable)


def test_a_saved_tree_loads_without_loss(saved):
    tree = fits.cube().tree
    for name in GROUPS:
        xr.testing.assert_identical(group(saved, name).drop_attrs(), group(tree, name).drop_attrs())
    assert dict(saved.attrs) == dict(tree.attrs)


def test_arviz_reads_the_saved_tree_unmodified(saved):
    summary = az.summary(saved, round_to="none")
    assert np.isfinite(summary["mean"].astype(float)).all()
    with pytest.warns(UserWarning, match="Pareto"):  # the cube's tails are heavier than the model's
        found = az.loo(saved)
    assert np.isfinite(found.elpd)
    sensitivity = az.psense_summary(saved, var_names=["effects", "tau"])
    assert {"prior", "likelihood"} <= set(sensitivity.columns)
    assert len(sensitivity) == 12 + 3
    az.plot_forest(saved, var_names=["effects"])


def test_unit_log_likelihood_is_the_density_of_its_cells():
    tree = fits.cube().tree
    posterior, cells = group(tree, "posterior"), group(tree, "observed_data")["cells"]
    rows = group(tree, "constant_data")["basis"].values.reshape(12, -1)
    strata = posterior["stratum"].values.tolist()
    for chain, draw, unit in [(0, 0, 0), (1, 500, 42), (3, 999, 99)]:
        one = posterior.isel(chain=chain, draw=draw)
        stratum = str(cells["stratum"].values[unit])
        scale = float(one["stratum_scale"].sel(stratum=stratum))
        covariance = rows.T @ one["unit_covariance"].values @ rows * scale**2
        expected = stats.multivariate_normal.logpdf(
            cells.values[unit].ravel(),
            one["cell_mean"].values[strata.index(stratum)].ravel(),
            covariance,
        )
        found = group(tree, "log_likelihood")["cells"].values[chain, draw, unit]
        assert found == pytest.approx(expected, rel=1e-9)


def test_replicated_cells_have_the_moments_of_the_model():
    tree = fits.face().tree
    predictive = group(tree, "posterior_predictive")["cells"]
    draws = predictive["draw"].values
    posterior = group(tree, "posterior").sel(draw=draws)
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    covariance = rows.T @ posterior["unit_covariance"].values @ rows
    for stratum in fits.STRATA:
        labels = group(tree, "observed_data")["stratum"].values
        values = predictive.values[:, :, labels == stratum].reshape(-1, 4)
        one = posterior.sel(stratum=stratum)
        mean = one["cell_mean"].values.reshape(-1, 4)
        within = covariance.reshape(-1, 4, 4) * one["stratum_scale"].values.reshape(-1, 1, 1) ** 2
        spread = within.mean(axis=0) + np.cov(mean.T)
        error = 5 * np.sqrt(np.diag(spread) / 500)
        assert (np.abs(values.mean(axis=0) - mean.mean(axis=0)) < error).all()
        np.testing.assert_allclose(np.cov(values.T), spread, atol=0.15)


def test_a_refit_is_not_compiled_again_and_depends_on_the_seed_alone():
    fitted = fits.face()
    before = dict(sample._compiled)
    again = fc.fit(fitted.data, fitted.spec)
    other = fc.fit(fitted.data, fitted.spec, seed=8)
    assert sample._compiled == before
    xr.testing.assert_identical(
        group(again, "posterior").drop_attrs(), group(fitted.tree, "posterior").drop_attrs()
    )
    assert not np.array_equal(
        group(other, "posterior")["effects"].values, group(again, "posterior")["effects"].values
    )


def test_the_truth_of_simulated_normal_data_is_recovered():
    means = group(fits.face().tree, "posterior")["cell_mean"]
    for stratum, truth in fits.TRUTH.items():
        drawn = means.sel(stratum=stratum).values.reshape(-1, 2, 2)
        z = (drawn.mean(axis=0) - truth) / drawn.std(axis=0)
        assert (np.abs(z) < 3.3).all(), stratum
    rows = group(fits.face().tree, "constant_data")["basis"].values.reshape(4, -1)
    covariance = rows.T @ group(fits.face().tree, "posterior")["unit_covariance"].values @ rows
    z = (covariance.mean(axis=(0, 1)) - fits.SPREAD) / covariance.std(axis=(0, 1))
    assert (np.abs(z) < 3.3).all()


def test_standard_error_of_omega_is_the_designs_within_five_percent():
    estimates = fits.face().audit.estimates
    rows = estimates[(estimates["name"] == "omega") & (estimates["weights"] == "empirical")]
    widths = {
        row.method: row.interval[1] - row.interval[0]
        for row in rows.itertuples()
        if row.interval is not None and row.cohort == "joint" and row.method != "unpooled"
    }
    assert set(widths) == {"design", "posterior"}
    assert widths["posterior"] / widths["design"] == pytest.approx(1, abs=0.08)


def test_strata_are_optional():
    fitted = fits.unstratified()
    posterior = group(fitted.tree, "posterior")
    assert "tau" not in posterior
    assert posterior["cell_mean"].sizes["stratum"] == 1
    assert fitted.audit.passed


def test_what_cannot_be_fitted_is_said():
    spec, table = fits.face_spec(), fits.face_table()
    several = table.assign(task=table["task"].str[:6], step=table["task"])
    with_step = fc.parse_spec(
        spec.text.replace('unit = "task"', 'unit = "task"\ntransition = "step"')
    )
    with pytest.raises(fc.NotAvailable, match="several transitions"):
        fc.fit(fc.read_scores(with_step, several), with_step)
    # one complete transition of several is a unit's choice of itself, and no unit's only change
    second = table.assign(step="2")[table["view"] == "direct"]
    partly = pd.concat([table.assign(step="1"), second])
    with pytest.raises(fc.NotAvailable, match="several transitions"):
        fc.fit(fc.read_scores(with_step, partly), with_step)
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    with pytest.raises(fc.NotAvailable, match=r"after.*generated\) never measured"):
        fc.fit(fc.read_scores(spec, corner), spec)
    flat = table.assign(margin=1.0)
    with pytest.raises(fc.NotAvailable, match="do not vary"):
        fc.fit(fc.read_scores(spec, flat), spec)
    with pytest.raises(fc.SpecError, match="did you mean 'view'"):
        fc.parse_spec(spec.text + '\n[model]\neffects = "state * vew"\n')


# The observed cohort with waves


def test_the_truth_is_recovered_with_a_tenth_of_the_cells_missing():
    tree = fits.retried().tree
    observed = group(tree, "observed_data")["cells"]
    share = np.isnan(observed.values).mean()
    assert 0.05 < share < 0.15
    posterior = group(tree, "posterior")
    for stratum, truth in fits.TRUTH.items():
        drawn = posterior["cell_mean"].sel(stratum=stratum).values.reshape(-1, 2, 2)
        z = (drawn.mean(axis=0) - truth) / drawn.std(axis=0)
        assert (np.abs(z) < 3.3).all(), stratum
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    covariance = rows.T @ posterior["unit_covariance"].values @ rows
    z = (covariance.mean(axis=(0, 1)) - fits.SPREAD) / covariance.std(axis=(0, 1))
    assert (np.abs(z) < 3.3).all()
    retry = posterior["retry_sd"].values
    assert abs(retry.mean() - fits.RETRY_SD) < 3.3 * retry.std()
    assert retry.std() < 0.05


def test_the_observed_cohort_is_every_unit_with_a_cell():
    fitted = fits.retried()
    observed = group(fitted.tree, "observed_data")["cells"]
    table = fits.retried_table()
    assert sorted(observed["unit"].values) == sorted(table["task"].unique())
    means = table.groupby(["task", "state", "view"])["margin"].mean()
    found = observed.to_series().dropna()
    assert len(found) == len(means)
    for (unit, state, view), value in found.items():
        assert value == pytest.approx(means[unit, state, view])
    assert fitted.tree.attrs["cohort"] == "observed"
    assert fitted.tree.attrs["rope"] == 0.1
    notes = fitted.tree.attrs["notes"].splitlines()
    missing = int(np.isnan(observed.values).sum())
    assert notes[0].startswith(f"{missing} of {observed.size} cells are missing")
    assert "missing at random" in notes[0]
    assert notes[1].startswith("retry noise is measured from 3 waves in 1 session(s)")


def test_a_fit_without_waves_says_that_retry_noise_is_not_measured():
    tree = fits.face().tree
    assert "retry_sd" not in group(tree, "posterior")
    assert tree.attrs["notes"].startswith("retry noise is not measured")
    assert "rope" not in tree.attrs


def test_log_likelihood_of_an_incomplete_unit_is_that_of_its_observed_cells():
    tree = fits.retried().tree
    posterior, cells = group(tree, "posterior"), group(tree, "observed_data")["cells"]
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    strata = posterior["stratum"].values.tolist()
    flat = cells.values.reshape(len(cells), 4)
    incomplete = np.flatnonzero(np.isnan(flat).any(axis=1))
    for unit in [*incomplete[:3], 0]:
        one = posterior.isel(chain=1, draw=17)
        stratum = str(cells["stratum"].values[unit])
        seen = ~np.isnan(flat[unit])
        between = rows.T @ one["unit_covariance"].values @ rows
        noise = float(one["retry_sd"].values[0]) ** 2 / 3  # of a cell's mean over three waves
        covariance = between * float(one["stratum_scale"].sel(stratum=stratum)) ** 2
        covariance = (covariance + noise * np.eye(4))[np.ix_(seen, seen)]
        mean = one["cell_mean"].values[strata.index(stratum)].ravel()[seen]
        expected = stats.multivariate_normal.logpdf(flat[unit][seen], mean, covariance)
        found = group(tree, "log_likelihood")["cells"].values[1, 17, unit]
        assert found == pytest.approx(expected, rel=1e-9)


def test_other_patterns_of_missing_cells_are_not_compiled_again():
    fitted = fits.retried()
    before = dict(sample._compiled)
    other = fits.retried_table(seed=6)
    again = fc.fit(fc.read_scores(fitted.spec, other), fitted.spec)
    assert sample._compiled == before
    cells = [group(tree, "observed_data")["cells"].values for tree in (fitted.tree, again)]
    patterns = [np.unique(np.isnan(x).reshape(len(x), -1), axis=0) for x in cells]
    assert len(patterns[0]) != len(patterns[1])


@pytest.mark.parametrize("name", ["prior", "posterior"])
def test_replicated_units_scatter_about_their_draw_as_the_model_says(name):
    """Squared distances of replicated cells from their draw's mean are chi squared."""
    tree = fits.retried().tree
    replicated = group(tree, f"{name}_predictive")["cells"]
    assert replicated.sizes["chain"] * replicated.sizes["draw"] == 500
    assert np.isfinite(replicated.values).all()
    draws = group(tree, name).sel(draw=replicated["draw"].values)
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    between = (rows.T @ draws["unit_covariance"].values @ rows).reshape(500, 4, 4)
    noise = draws["retry_sd"].values.reshape(500, 1, 1) ** 2 / 3 * np.eye(4)
    distances = []
    for stratum in fits.STRATA:
        inside = group(tree, "observed_data")["stratum"].values == stratum
        one = draws.sel(stratum=stratum)
        scale = one["stratum_scale"].values.reshape(500, 1, 1) ** 2
        off = replicated.values[:, :, inside].reshape(500, -1, 4)
        off = off - one["cell_mean"].values.reshape(500, 1, 4)
        solved = np.linalg.solve(scale * between + noise, off.swapaxes(1, 2))
        distances.append((off * solved.swapaxes(1, 2)).sum(axis=2).ravel())
    found = np.concatenate(distances)
    assert found.mean() == pytest.approx(4, abs=0.1)
    assert found.var() == pytest.approx(8, abs=0.5)


def test_arviz_reads_the_tree_of_an_observed_cohort():
    tree = fits.retried().tree
    assert np.isfinite(az.summary(tree, round_to="none")["mean"].astype(float)).all()
    assert np.isfinite(az.loo(tree).elpd)
    table = az.psense_summary(tree, var_names=["effects", "tau", "retry_sd"])
    assert len(table) == 4 + 3 + 1
