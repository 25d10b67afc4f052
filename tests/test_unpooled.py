"""A flat location in each stratum: against observed means and generalised least squares."""

import numpy as np
import pytest

import fits
import fourcorner as fc
import trees
from fourcorner.bayes import posterior, unpooled
from fourcorner.bayes.tree import group
from fourcorner.estimands import Estimand
from fourcorner.weights import resolve

OMEGA = fc.omega(view=("direct", "generated"))
STRATA = ["large", "small"]
EQUAL = resolve("equal", "equal", STRATA)
EMPIRICAL = resolve("empirical", "empirical", STRATA)
SCALE = {"large": 0.8, "small": 1.5}


def one_phi(tree):
    """The face with one value of the variance parameters in every draw, and that covariance."""
    posterior_group = group(tree, "posterior")
    sigma = posterior_group["unit_covariance"].values[1, 17]
    shape = posterior_group["unit_covariance"].shape
    scale = np.broadcast_to([SCALE[name] for name in STRATA], (*shape[:2], 2))
    fixed = trees.with_posterior(
        tree, unit_covariance=np.broadcast_to(sigma, shape), stratum_scale=scale
    )
    return fixed, sigma


def observed(tree):
    """Rows of the basis and each stratum's units × cells."""
    rows = group(tree, "constant_data")["basis"].values.reshape(4, 4)
    held = group(tree, "observed_data")
    cells = held["cells"].values.reshape(-1, 4)
    return rows, {name: cells[held["stratum"].values == name] for name in STRATA}


def test_without_restrictions_it_is_the_observed_mean_with_one_units_covariance_over_n():
    tree, sigma = one_phi(fits.face().tree)
    drawn = unpooled.locations(tree)
    rows, cells = observed(tree)
    assert drawn.shape == (4, 1000, 2, 4)
    for place, name in enumerate(STRATA):
        found = drawn[:, :, place].reshape(-1, 4)
        covariance = SCALE[name] ** 2 * sigma / len(cells[name])
        expected = cells[name].mean(axis=0) @ rows.T / 4
        error = np.sqrt(np.diag(covariance) / 4000)
        assert (np.abs(found.mean(axis=0) - expected) < 4 * error).all()
        sds = np.sqrt(np.diag(covariance))
        scaled = (np.cov(found.T) - covariance) / np.outer(sds, sds)
        assert np.abs(scaled).max() < 0.1


def test_effects_that_the_model_leaves_out_are_zero_and_inform_the_others():
    tree, sigma = one_phi(fits.face().tree)
    constants = group(tree, "constant_data")
    modelled = np.array([True, True, True, False])  # no Ω
    tree = trees.with_variables(
        tree,
        "constant_data",
        component_prior_variance=constants["component_prior_variance"].values * modelled,
    )
    drawn = unpooled.locations(tree)
    np.testing.assert_array_equal(drawn[..., 3], 0)
    rows, cells = observed(tree)
    design = np.eye(4)[:, :3]
    for place, name in enumerate(STRATA):
        weight = np.linalg.inv(SCALE[name] ** 2 * sigma / len(cells[name]))
        covariance = np.linalg.inv(design.T @ weight @ design)
        mean = cells[name].mean(axis=0) @ rows.T / 4
        expected = covariance @ design.T @ weight @ mean
        found = drawn[:, :, place, :3].reshape(-1, 3)
        error = np.sqrt(np.diag(covariance) / 4000)
        assert (np.abs(found.mean(axis=0) - expected) < 4 * error).all()
        np.testing.assert_allclose(found.var(axis=0), np.diag(covariance), rtol=0.12)


def test_an_unpooled_row_stands_beside_the_posteriors_with_the_same_keys():
    fitted = fits.face()
    asked = [Estimand("omega", OMEGA)]
    rows = posterior.unpooled(fitted.tree, asked, [EMPIRICAL, EQUAL])
    beside = posterior.estimates(fitted.tree, asked, [EMPIRICAL, EQUAL])[::2]
    assert [row.method for row in rows] == ["unpooled", "unpooled"]
    for flat, pooled in zip(rows, beside, strict=True):
        same = ("name", "statistic", "weights", "population", "cohort", "units", "level")
        assert [getattr(flat, key) for key in same] == [getattr(pooled, key) for key in same]
    _, cells = observed(fitted.tree)
    omega = {name: (values @ [1, -1, -1, 1]).mean() for name, values in cells.items()}
    for row, share in zip(rows, (0.7, 0.5), strict=True):
        low, high = row.interval
        error = (high - low) / 3.92 / np.sqrt(4000)
        expected = share * omega["large"] + (1 - share) * omega["small"]
        assert row.value == pytest.approx(expected, abs=4 * error)


def test_differences_of_unpooled_estimands_are_paired():
    tree = fits.face().tree
    drawn = unpooled.locations(tree)
    direct, generated = fc.gain(view="direct"), fc.gain(view="generated")
    parts = [unpooled.stratum_values(tree, gain, drawn) for gain in (direct, generated)]
    np.testing.assert_allclose(
        unpooled.stratum_values(tree, OMEGA, drawn), parts[1] - parts[0], atol=1e-12
    )


def test_strata_are_optional():
    tree = fits.unstratified().tree
    (row,) = posterior.unpooled(tree, [Estimand("omega", OMEGA)], [EMPIRICAL])
    values = group(tree, "observed_data")["cells"].values.reshape(-1, 4) @ [1, -1, -1, 1]
    assert row.value == pytest.approx(values.mean(), abs=0.01)
    low, high = row.interval
    assert (high - low) / 3.92 == pytest.approx(values.std(ddof=1) / np.sqrt(100), rel=0.08)
