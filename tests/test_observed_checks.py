"""Checks and unpooled estimates where cells are missing: against the dense normal of every cell."""

from functools import cache

import arviz as az
import numpy as np
import pytest

import fits
import fourcorner as fc
import trees
from fourcorner.bayes import posterior, unpooled
from fourcorner.bayes.mixtures import stratum_values
from fourcorner.bayes.tree import group
from fourcorner.checks import design_agreement
from fourcorner.estimands import Estimand
from fourcorner.weights import resolve

OMEGA = fc.omega(view=("direct", "generated"))
STRATA = ["large", "small"]
WEIGHTS = {"large": 0.35, "small": 0.65}
MIXTURE = resolve("mine", WEIGHTS, STRATA)
SCALE = {"large": 0.9, "small": 1.3}
TAU = np.array([0.4, 0.2, 0.3])  # by interaction order
RETRY, WAVES = 0.35, 2
CONTRAST = np.array([1.0, -1.0, -1.0, 1.0])  # Ω over (before, after) × (direct, generated)


@cache
def holed():
    """The face with a sixth of its cells missing, retry noise, and one φ in every draw."""
    tree = trees.with_retry_noise(fits.face().tree, RETRY, WAVES)
    held = group(tree, "observed_data")
    cells = held["cells"].copy()
    lost = np.random.default_rng(11).random(cells.shape) < 1 / 6
    lost[0] = False
    cells.values[lost & ~lost.all(axis=(1, 2), keepdims=True)] = np.nan
    tree["observed_data"] = held.assign(cells=cells)
    tree.attrs["cohort"] = "observed"
    drawn = group(tree, "posterior")
    sigma = drawn["unit_covariance"].values[2, 100]
    scale = [SCALE[name] for name in STRATA]
    fixed = trees.with_posterior(
        tree,
        unit_covariance=np.broadcast_to(sigma, drawn["unit_covariance"].shape),
        stratum_scale=np.broadcast_to(scale, drawn["stratum_scale"].shape),
        tau=np.broadcast_to(TAU, drawn["tau"].shape),
    )
    return fixed, sigma


class Dense:
    """Every observed cell as one normal vector, stratum means of effects stacked."""

    def __init__(self, tree, sigma):
        constants, held = group(tree, "constant_data"), group(tree, "observed_data")
        rows = constants["basis"].values.reshape(4, 4)
        flat = held["cells"].values.reshape(-1, 4)
        places = [STRATA.index(str(name)) for name in held["stratum"].values]
        seen = np.isfinite(flat)
        self.y = flat[seen]
        self.design = np.zeros((seen.sum(), 8))
        self.noise = np.zeros((seen.sum(), seen.sum()))
        self.of_design = np.zeros(seen.sum())
        complete = seen.all(axis=1)
        count = [sum(complete & (np.array(places) == g)) for g in (0, 1)]
        at = 0
        for place, here, whole in zip(places, seen, complete, strict=True):
            these = slice(at, at + here.sum())
            at += here.sum()
            self.design[these, 4 * place : 4 * place + 4] = rows.T[here]
            unit = SCALE[STRATA[place]] ** 2 * rows.T @ sigma @ rows
            unit += RETRY**2 / WAVES * np.eye(4)
            self.noise[these, these] = unit[np.ix_(here, here)]
            if whole:
                self.of_design[these] = WEIGHTS[STRATA[place]] * CONTRAST / count[place]
        orders = constants["component_order"].values
        own = np.diag(TAU[orders] ** 2 * np.diag(sigma))
        common = np.diag(constants["component_prior_variance"].values)
        self.prior = np.kron(np.ones((2, 2)), common) + np.kron(np.eye(2) - 0.5, own)
        self.lever = np.kron([WEIGHTS[name] for name in STRATA], rows @ CONTRAST)


def test_both_variances_of_the_agreement_are_those_of_the_dense_normal():
    tree, sigma = holed()
    dense = Dense(tree, sigma)
    found = design_agreement.compare(tree, [(OMEGA, MIXTURE)])[0]
    total = dense.design @ dense.prior @ dense.design.T + dense.noise
    of_posterior = np.linalg.solve(total, dense.design @ dense.prior @ dense.lever)
    apart = dense.of_design - of_posterior  # T − E[θ|y] as weights of the cells
    drawn = stratum_values(tree, OMEGA) @ [WEIGHTS[name] for name in STRATA]
    simulated = drawn.var(ddof=1) / az.ess(drawn)
    assert found.design == pytest.approx(dense.of_design @ dense.y)
    assert found.design_variance == pytest.approx(dense.of_design @ dense.noise @ dense.of_design)
    assert found.difference_variance - simulated == pytest.approx(apart @ total @ apart, rel=1e-6)


def test_a_contrast_that_some_units_lack_a_cell_of_is_no_gate():
    tree, _ = holed()
    row = design_agreement.check(tree, [Estimand("omega", OMEGA)], [MIXTURE])[0]
    found = design_agreement.compare(tree, [(OMEGA, MIXTURE)])[0]
    assert (row.verdict, row.gated, row.value) == ("shown", False, found.z)
    assert f"{found.missing} unit(s) lack a cell" in row.message
    assert found.missing > 0


def test_unpooled_means_are_generalised_least_squares_of_the_observed_cells():
    tree, sigma = holed()
    dense = Dense(tree, sigma)
    weight = np.linalg.inv(dense.noise)
    covariance = np.linalg.inv(dense.design.T @ weight @ dense.design)
    expected = covariance @ dense.design.T @ weight @ dense.y
    found = unpooled.locations(tree).reshape(-1, 8)
    sds = np.sqrt(np.diag(covariance))
    assert (np.abs(found.mean(axis=0) - expected) < 4 * sds / np.sqrt(4000)).all()
    assert np.abs((np.cov(found.T) - covariance) / np.outer(sds, sds)).max() < 0.1


def test_where_a_stratum_has_no_complete_unit_the_agreement_is_not_run():
    lacking = {"stratum": "small", "state": "after", "view": "generated"}
    tree = trees.without_cell(fits.face().tree, **lacking)
    asked = [Estimand("omega", OMEGA), Estimand("direct", fc.gain(view="direct"))]
    large = resolve("large", {"large": 1.0, "small": 0.0}, STRATA)
    rows = {row.target: row for row in design_agreement.check(tree, asked, [MIXTURE, large])}
    assert rows["omega (mine)"].verdict == "not_run"
    assert "no unit has every cell of this contrast in small" in rows["omega (mine)"].message
    assert {rows[name].verdict for name in ("direct (mine)", "omega (large)")} <= {"pass", "shown"}
    assert "omega (mine)" not in design_agreement.replicates(tree, asked, [MIXTURE, large])
    unpooled_rows = posterior.unpooled(tree, asked, [MIXTURE, large])
    assert [row.refused is None for row in unpooled_rows] == [False, True, True, True]
