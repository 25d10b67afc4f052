"""Check 5: power scaling against a conjugate model, τ always, and why it may not be run."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy import stats

import fits
import fourcorner as fc
import trees
from fourcorner.bayes import scaling
from fourcorner.bayes.mixtures import contrast_draws
from fourcorner.bayes.tree import group
from fourcorner.checks import prior_sensitivity
from fourcorner.estimands import Estimand
from fourcorner.weights import resolve

OMEGA = fc.omega(view=("direct", "generated"))
EQUAL = resolve("equal", "equal", ["large", "small"])


def rows_of(tree, asked=()):
    return {row.target: row for row in prior_sensitivity.check(tree, asked, [EQUAL])}


def test_every_tau_every_effect_and_every_estimand_has_a_row():
    tree = fits.face().tree
    rows = rows_of(tree, [Estimand("omega", OMEGA)])
    assert set(rows) == {
        "omega (equal)",
        *(f"tau[{order}]" for order in (0, 1, 2)),
        *(f"effects[{name}]" for name in ("intercept", "state", "view", "state:view")),
    }
    for row in rows.values():
        assert (row.name, row.verdict, row.gated) == ("prior_sensitivity", "shown", False)
        assert row.threshold == 0.05
        assert np.isfinite(row.value)
    assert rows["tau[0]"].value > 0.05  # two strata
    assert "a priori" in rows["tau[0]"].message


def test_the_scaled_prior_is_the_sum_of_the_declared_densities():
    tree = fits.face().tree
    posterior, constants = group(tree, "posterior"), group(tree, "constant_data")
    prior = {
        name: float(np.ravel(constants["prior_values"].sel(prior_name=name).values)[0])
        for name in constants["prior_name"].values.tolist()
    }

    def density(chain, draw):
        one = posterior.isel(chain=chain, draw=draw)
        sd = np.where(one["effect"] == "intercept", prior["intercept_sd"], prior["effect_sd"])
        mean = np.where(one["effect"] == "intercept", prior["score_location"], 0.0)
        return (
            stats.norm.logpdf(one["effects"], mean, sd).sum()
            + stats.halfnorm.logpdf(one["tau"], scale=prior["tau_sd"]).sum()
            + stats.halfnorm.logpdf(one["unit_sd"], scale=prior["unit_sd"]).sum()
            + stats.norm.logpdf(np.log(one["stratum_scale"]), 0, prior["stratum_scale_sd"]).sum()
        )  # and correlations, on which LKJ(1) is flat

    found = scaling.log_prior(tree).values
    for chain, draw in [(0, 3), (1, 500), (3, 999)]:
        assert found[chain, draw] - found[0, 0] == pytest.approx(
            density(chain, draw) - density(0, 0)
        )


def test_scale_groups_have_the_priors_of_their_own_units():
    tree = fits.face().tree
    posterior = group(tree, "posterior")
    constants = group(tree, "constant_data").drop_vars(["prior_values", "component_group"])
    scales = {"unit_sd": [0.5, 2.0], "lkj_eta": [1.0, 1.0]}
    grouped = tree.copy(deep=True)
    grouped["constant_data"] = constants.drop_dims(["prior_name", "scale_group"]).assign(
        prior_values=(("prior_name", "scale_group"), list(scales.values())),
        component_group=("component", [0, 0, 1, 1]),
    ).assign_coords(prior_name=list(scales), scale_group=["a", "b"])  # fmt: skip
    sd = posterior["unit_sd"].values
    expected = stats.halfnorm.logpdf(sd, scale=[0.5, 0.5, 2.0, 2.0]).sum(axis=2)
    unscaled = stats.halfnorm.logpdf(
        sd, scale=float(group(tree, "constant_data")["prior_values"].sel(prior_name="unit_sd")[0])
    ).sum(axis=2)
    moved = (scaling.log_prior(grouped) - scaling.log_prior(tree)).values
    np.testing.assert_allclose(
        moved - moved[0, 0], (expected - unscaled) - (expected - unscaled)[0, 0], atol=1e-9
    )


def conjugate(tree, centre):
    """A fit whose effect `state` has prior N(0, 1) and likelihood N(centre | effect, 1)."""
    shape = group(tree, "posterior")["effects"].shape
    theta = stats.norm.ppf(np.random.default_rng(5).random(shape[:2]), centre / 2, np.sqrt(0.5))
    effects = np.zeros(shape) + np.arange(shape[2]) * 1e-3 * theta[..., None]
    effects[..., 1] = theta
    tree = trees.with_posterior(tree, effects=effects)
    density = {name: 0 * array.values for name, array in group(tree, "log_prior").items()}
    density["effects"][..., 1] = -0.5 * theta**2
    tree = trees.with_variables(tree, "log_prior", **density)
    vague = group(tree, "constant_data")["prior_values"].copy()
    vague.loc[{"prior_name": "unit_sd"}] = 1e9
    tree = trees.with_variables(tree, "constant_data", prior_values=vague.values)
    likelihood = 0 * group(tree, "log_likelihood")["cells"].values
    likelihood[..., 0] = -0.5 * (centre - theta) ** 2
    return trees.with_variables(tree, "log_likelihood", cells=likelihood), theta


def test_the_conjugate_normal_moves_as_theory_says():
    tree, theta = conjugate(fits.face().tree, centre=1.5)
    row = rows_of(tree)["effects[state]"]
    assert row.message.startswith("prior-data conflict possible")
    # with the prior at power a the posterior mean is centre / (1 + a)
    half, double = (float(row.message.split(word)[1].split()[0]) for word in ("becomes ", "and "))
    assert half == pytest.approx(1.5 / 1.5, abs=0.03)
    assert double == pytest.approx(1.5 / 3, abs=0.03)
    at = {"chain": range(4), "draw": range(1000)}
    groups = {"posterior": theta, "log_prior": -0.5 * theta**2}
    scaled = xr.DataTree.from_dict(
        {name: xr.Dataset({"x": (("chain", "draw"), found)}, at) for name, found in groups.items()}
    )
    assert row.value == pytest.approx(float(az.psense(scaled)["x"]), rel=1e-6)


def test_a_prior_that_says_nothing_hardly_matters():
    tree, _ = conjugate(fits.face().tree, centre=1.5)
    flat = {name: 0 * array.values for name, array in group(tree, "log_prior").items()}
    generator = np.random.default_rng(1)
    flat["effects"][..., 0] = 1e-3 * generator.standard_normal(flat["effects"].shape[:2])
    row = rows_of(trees.with_variables(tree, "log_prior", **flat))["effects[state]"]
    assert row.value < 0.01
    assert row.message.startswith("the priors hardly matter")


def test_where_reweighting_cannot_be_relied_on_no_number_is_given():
    tree, theta = conjugate(fits.face().tree, centre=1.5)
    density = group(tree, "log_prior")["effects"].values.copy()
    density[..., 1] = -40 * theta**2
    row = rows_of(trees.with_variables(tree, "log_prior", effects=density))["effects[state]"]
    assert "becomes what reweighting cannot tell" in row.message


def test_without_the_log_likelihood_every_row_says_why_it_was_not_run():
    tree = fits.face().tree.copy(deep=True)
    del tree["log_likelihood"]
    tree.attrs["left_out"] = "log_likelihood: more than 50,000,000 numbers"
    rows = rows_of(tree, [Estimand("omega", OMEGA)])
    assert {row.verdict for row in rows.values()} == {"not_run"}
    assert {"omega (equal)", "tau[0]", "tau[1]", "tau[2]"} <= set(rows)
    assert all("more than 50,000,000 numbers" in row.message for row in rows.values())
    assert not any(row.gated for row in rows.values())


def test_an_estimands_row_is_about_its_own_draws():
    tree = fits.face().tree
    row = rows_of(tree, [Estimand("omega", OMEGA)])["omega (equal)"]
    assert f"{contrast_draws(tree, OMEGA, EQUAL).mean():.4g} becomes" in row.message


def test_without_strata_there_is_no_tau_to_scale():
    tree = fits.unstratified().tree
    empirical = resolve("empirical", "empirical", [""])
    rows = prior_sensitivity.check(tree, [Estimand("omega", OMEGA)], [empirical])
    assert [row.target for row in rows if row.target.startswith("tau")] == []
    assert rows[0].target == "omega (empirical)"
