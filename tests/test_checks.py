"""Checks 1 and 2, and all five on the shared fits: they pass and fail where they must."""

import numpy as np
import pytest
from scipy import stats

import fits
import fourcorner as fc
from fourcorner.bayes.tree import group
from fourcorner.checks import convergence, design_agreement
from fourcorner.estimands import as_estimands
from fourcorner.weights import resolve
from trees import with_posterior

OMEGA = fc.omega(view=("direct", "generated"))
EQUAL = resolve("equal", "equal", ["large", "small"])
EMPIRICAL = resolve("empirical", "empirical", ["large", "small"])


def verdicts(rows):
    """Verdicts by target."""
    return {row.target: row.verdict for row in rows}


@pytest.mark.parametrize("fitted", [fits.cube, fits.face, fits.unstratified])
def test_the_shared_fits_pass_both_checks(fitted):
    rows = fitted().audit.check_rows
    assert {row.name for row in rows} == {
        "convergence",
        "design_agreement",
        "design_predictive",
        "loo",
        "prior_sensitivity",
        "pooling",
    }
    shown = {"design_predictive", "loo", "prior_sensitivity", "pooling"}
    assert not any(row.gated for row in rows if row.name in shown)
    assert [row for row in rows if row.verdict == "fail"] == []


def test_convergence_covers_every_parameter_and_estimand():
    rows = {row.target: row for row in fits.cube().audit.check_rows if row.name == "convergence"}
    assert set(rows) == {
        *(f"{what} of {whose}" for what in ("R-hat", "bulk ESS", "tail ESS")
          for whose in ("parameters", "estimands")),
        "divergences",
        "energy (BFMI)",
    }  # fmt: skip
    assert rows["R-hat of parameters"].threshold == 1.01
    assert rows["bulk ESS of estimands"].threshold == 400


def test_a_chain_that_went_elsewhere_fails_convergence():
    tree = fits.face().tree
    effects = group(tree, "posterior")["effects"].values.copy()
    effects[0, :, 1] += 1.0
    found = verdicts(convergence.check(with_posterior(tree, effects=effects), [], []))
    assert found["R-hat of parameters"] == "fail"
    assert found["divergences"] == "pass"


def test_a_constant_parameter_is_no_failure():
    tree = fits.face().tree
    effects = group(tree, "posterior")["effects"].values.copy()
    effects[:, :, 1] = 2.0
    found = verdicts(convergence.check(with_posterior(tree, effects=effects), [], []))
    assert found["R-hat of parameters"] == "pass"


def test_a_divergence_fails_and_says_what_was_tried():
    tree = fits.face().tree.copy(deep=True)
    stats_group = group(tree, "sample_stats")
    diverging = stats_group["diverging"].values.copy()
    diverging[1, 3] = True
    tree["sample_stats"] = stats_group.assign(diverging=(("chain", "draw"), diverging))
    row = next(row for row in convergence.check(tree, [], []) if row.target == "divergences")
    assert (row.verdict, row.value) == ("fail", 1.0)
    assert "target_accept" in row.message


def test_a_location_moved_by_half_a_standard_error_fails_agreement():
    tree = fits.face().tree
    estimands = list(as_estimands({"omega": OMEGA}).values())
    honest = design_agreement.compare(tree, [(OMEGA, EMPIRICAL)])[0]
    error = np.sqrt(honest.design_variance)
    means = group(tree, "posterior")["cell_mean"].values.copy()
    means[:, :, :, 1, 1] += 0.5 * error  # after, generated: moves Ω by as much
    moved = with_posterior(tree, cell_mean=means)
    rows = design_agreement.check(moved, estimands, [EMPIRICAL])
    assert verdicts(rows[:1]) == {"omega (empirical)": "fail"}
    assert [(row.name, row.verdict) for row in rows[1:]] == [("design_predictive", "shown")]
    assert "look at its effects" in rows[0].message
    assert verdicts(design_agreement.check(tree, estimands, [EMPIRICAL])[:1]) == {
        "omega (empirical)": "pass"
    }


def test_a_significant_difference_too_small_to_matter_passes():
    tree = fits.face().tree
    estimands = list(as_estimands({"omega": OMEGA}).values())
    honest = design_agreement.compare(tree, [(OMEGA, EMPIRICAL)])[0]
    error = np.sqrt(honest.design_variance)
    means = group(tree, "posterior")["cell_mean"].values.copy()
    means[:, :, :, 1, 1] += honest.design - honest.posterior - 0.09 * error
    tau = np.full_like(group(tree, "posterior")["tau"].values, 100.0)
    vague = with_posterior(
        tree, cell_mean=means, tau=tau
    )  # with no shrinkage any gap is significant
    constants = group(vague, "constant_data")
    vague["constant_data"] = constants.assign(
        component_prior_variance=1e6 * constants["component_prior_variance"]
    )
    row = design_agreement.check(vague, estimands, [EMPIRICAL])[0]
    assert abs(row.value) > row.threshold
    assert row.verdict == "pass"


def test_the_two_variances_are_those_of_the_dense_normal():
    tree = fits.face().tree
    found = design_agreement.compare(tree, [(OMEGA, EQUAL)])[0]
    posterior, constants = group(tree, "posterior"), group(tree, "constant_data")
    rows = constants["basis"].values.reshape(4, -1)
    contrast = (
        rows
        @ OMEGA.array(
            {"state": ["before", "after"], "view": ["direct", "generated"]}
        ).values.ravel()
    )
    count, weights = constants["units_in_stratum"].values, np.array([0.5, 0.5])
    design, difference = [], []
    orders = posterior["effect_order"].values.tolist()
    for chain in range(4):
        for draw in range(0, 1000, 8):
            one = posterior.isel(chain=chain, draw=draw)
            sigma, scale = one["unit_covariance"].values, one["stratum_scale"].values
            noise = np.kron(np.diag(scale**2 / count), sigma)
            own = np.diag([
                (one["tau"].values[orders.index(order)] * np.sqrt(sigma[k, k])) ** 2
                for k, order in enumerate(constants["component_order"].values)
            ])  # fmt: skip
            common = np.diag(constants["component_prior_variance"].values)
            prior = np.kron(np.ones((2, 2)), common) + np.kron(np.eye(2) - 0.5, own)
            lever = np.kron(weights, contrast)
            design.append(lever @ noise @ lever)
            posterior_variance = (
                lever @ (prior - prior @ np.linalg.inv(prior + noise) @ prior) @ lever
            )
            difference.append(design[-1] - posterior_variance)
    assert found.design_variance == pytest.approx(np.mean(design), rel=0.02)
    noise_of_mean = found.difference_variance - np.mean(difference)
    assert 0 < noise_of_mean < 0.01 * found.design_variance


def test_medians_are_not_run_and_say_why():
    rows = fits.face().audit.check_rows
    found = {row.target: row for row in rows if row.target.startswith("middle")}
    assert {row.verdict for row in found.values()} == {"not_run"}
    assert all("median" in row.message for row in found.values())


@pytest.mark.parametrize(
    ("p_values", "rejected"),
    [
        ([0.001, 0.02, 0.03], [True, True, True]),
        ([0.03, 0.001, 0.03], [False, True, False]),  # 0.03 > 0.05 / 2 stops the procedure
        ([0.02, 0.04, 0.9], [False, False, False]),
        ([], []),
    ],
)
def test_holm_steps_down(p_values, rejected):
    assert [fell for _, fell in design_agreement.holm(p_values, 0.05)] == rejected


def test_z_and_p_belong_together():
    found = design_agreement.compare(fits.face().tree, [(OMEGA, EQUAL)])[0]
    assert found.p == pytest.approx(2 * stats.norm.sf(abs(found.z)))
    assert 0 < found.predictive_share < 1


def test_draws_that_are_not_finite_fail_convergence():
    tree = fits.face().tree
    effects = group(tree, "posterior")["effects"].values.copy()
    effects[2, 17, 1] = np.nan
    rows = convergence.check(with_posterior(tree, effects=effects), [], [])
    assert verdicts(rows)["R-hat of parameters"] == "fail"
    assert "effects" in rows[0].message


def test_energy_is_judged_chain_by_chain():
    tree = fits.face().tree.copy(deep=True)
    stats_group = group(tree, "sample_stats")
    energy = np.random.default_rng(0).normal(size=(4, 1000)) * np.array([[1], [1], [1], [9]])
    tree["sample_stats"] = stats_group.assign(energy=(("chain", "draw"), energy))
    row = next(row for row in convergence.check(tree, [], []) if row.target.startswith("energy"))
    # independent draws: mean squared difference is twice the variance
    assert row.value == pytest.approx(2, abs=0.2)


def test_a_contrast_that_the_formula_fixes_is_zero_without_interval_or_probability():
    tree = fits.face().tree.copy(deep=True)
    constants = group(tree, "constant_data")
    free = ~np.char.startswith(constants["component"].values.astype(str), "state:")
    tree["constant_data"] = constants.assign(
        component_prior_variance=constants["component_prior_variance"] * free
    )
    posterior = group(tree, "posterior")
    flat = posterior["cell_mean"].mean("view") + 0 * posterior["cell_mean"]
    tree["posterior"] = posterior.assign(cell_mean=flat.transpose(*posterior["cell_mean"].dims))
    row = fc.posterior(tree, OMEGA, {"equal": "equal"}).iloc[0]
    assert (row["value"], row["interval"]) == (0.0, None)
    assert "leave no room" in row["notes"][0]
    assert len(fc.probabilities(tree, OMEGA, {"equal": "equal"})) == 0
    estimands = list(as_estimands({"omega": OMEGA}).values())
    found = verdicts(convergence.check(tree, estimands, [EQUAL]))
    assert found["R-hat of estimands"] == "not_run"
    (agreement, *_) = design_agreement.check(tree, estimands, [EQUAL])
    assert agreement.value == pytest.approx(design_agreement.compare(tree, [(OMEGA, EQUAL)])[0].z)
    assert np.isfinite(agreement.value)


def test_replicated_estimates_of_a_difference_are_differences_of_replicated_estimates():
    tree = fits.face().tree
    direct, generated = fc.gain(view="direct"), fc.gain(view="generated")
    for mixture in (EMPIRICAL, EQUAL):
        of_omega, of_direct, of_generated = (
            design_agreement.replicated(tree, contrast, mixture)
            for contrast in (OMEGA, direct, generated)
        )
        np.testing.assert_allclose(of_omega, of_generated - of_direct, atol=1e-10)
    assert np.corrcoef(of_direct.ravel(), of_generated.ravel())[0, 1] < 0.99


def posterior_draws(tree):
    """Draws of Ω under equal weights, by hand from the cell means."""
    means = group(tree, "posterior")["cell_mean"].mean("stratum")
    gains = means.sel(state="after") - means.sel(state="before")
    return (gains.sel(view="generated") - gains.sel(view="direct")).values


def test_replicated_estimates_spread_as_posterior_and_sampling_variance_together():
    tree = fits.face().tree
    found = design_agreement.compare(tree, [(OMEGA, EQUAL)])[0]
    drawn = fc.posterior(tree, OMEGA, {"equal": "equal"}).iloc[0]
    values = posterior_draws(tree)
    expected = values.var(ddof=1) + found.design_variance
    assert design_agreement.replicated(tree, OMEGA, EQUAL).var() == pytest.approx(expected, rel=0.1)
    assert drawn["value"] == pytest.approx(values.mean())
