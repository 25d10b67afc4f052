"""Fits: what the tree holds, that it saves, that a refit costs no compilation, that it recovers."""

import arviz as az
import numpy as np
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
        if row.interval is not None and row.cohort == "joint"
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
    corner = table[~((table["state"] == "after") & (table["view"] == "generated"))]
    with pytest.raises(fc.NotAvailable, match=r"never measured.*after.*generated"):
        fc.fit(fc.read_scores(spec, corner), spec)
    flat = table.assign(margin=1.0)
    with pytest.raises(fc.NotAvailable, match="do not vary"):
        fc.fit(fc.read_scores(spec, flat), spec)
    wrong = fc.parse_spec(spec.text + '\n[model]\neffects = "state * vew"\n')
    with pytest.raises(fc.SpecError, match="did you mean 'view'"):
        fc.fit(fc.read_scores(wrong, table), wrong)
