"""The collapsed cell model against dense multivariate normals, and the exact draws of locations."""

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import stats

from fourcorner import names
from fourcorner.bayes import basis as bases
from fourcorner.bayes import cells, locations
from fourcorner.bayes.data import stratum_codes, sufficient
from fourcorner.bayes.priors import resolve
from fourcorner.spec import PriorSpec

CUBE = {"state": ("before", "after"), "view": ("a", "b", "c"), "authority": ("n", "e")}
FACE = {"state": ("before", "after"), "view": ("a", "b")}
CASES = {
    "all effects differ between strata": (CUBE, None, None, (3, 4, 6, 9)),
    "some effects differ between strata": (CUBE, None, "state * view", (3, 4, 6, 9)),
    "residual space": (CUBE, "state * view + authority", "state", (5, 6)),
    "a stratum of one unit": (FACE, None, None, (1, 7)),
    "no strata": (FACE, None, None, (8,)),
}


def simulated(factors, sizes, seed=0):
    """Units × cells with correlated cells, strata of the given sizes."""
    generator = np.random.default_rng(seed)
    shape = tuple(len(levels) for levels in factors.values())
    count, size = sum(sizes), int(np.prod(shape))
    mixing = generator.normal(size=(size, size))
    values = 3 + generator.standard_t(5, size=(count, size)) @ mixing
    coords = {name: list(levels) for name, levels in factors.items()}
    coords[names.UNIT] = [f"u{i:03d}" for i in range(count)]
    array = xr.DataArray(values.reshape(count, *shape), dims=(names.UNIT, *factors), coords=coords)
    strata = [f"g{i}" for i in range(len(sizes))] if len(sizes) > 1 else [""]
    if len(sizes) > 1:
        labels = np.repeat(strata, sizes)
        array = array.assign_coords({names.STRATUM: (names.UNIT, labels)})
    return array, strata


def built(case):
    factors, effects, stratum_effects, sizes = CASES[case]
    array, strata = simulated(factors, sizes)
    basis = bases.build(factors, effects, stratum_effects)
    data = sufficient(array, basis, strata)
    return array, strata, basis, data, resolve(PriorSpec(), data.location, data.scale)


def somewhere(model, seed=2):
    """A point off the initial one, by the name of the value variable."""
    generator = np.random.default_rng(seed)
    return {
        name: np.asarray(value) + 0.3 * generator.normal(size=np.shape(value))
        for name, value in model.initial_point().items()
    }


def at(model, output, point):
    """What an output of a model is at a point of its value variables."""
    (output,) = model.replace_rvs_by_values([output])
    function = model.compile_fn(
        output, inputs=model.value_vars, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    return function(point)


def parameters(model, point):
    """Natural parameters at a point: Σ, σ and, with strata, τ and s."""
    wanted = [names.VAR_COVARIANCE, names.VAR_UNIT_SD, names.VAR_TAU, names.VAR_STRATUM_SCALE]
    present = [name for name in wanted if name in model.named_vars]
    outputs = model.replace_rvs_by_values([model[name] for name in present])
    function = model.compile_fn(outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    return dict(zip(present, function(point), strict=True))


def prior_covariance_of_means(basis, priors, found, strata):
    """Covariance of two strata's expectations a priori, by (same stratum, other stratum)."""
    sds = np.where(basis.order == 0, priors.intercept_sd, priors.effect_sd)
    common = np.diag(np.where(basis.modelled, sds, 0.0) ** 2)
    if strata == 1:
        return common, common
    own = np.zeros(len(sds))
    orders = sorted(set(basis.order[basis.by_stratum]))
    for k, order in enumerate(basis.order):
        if basis.by_stratum[k]:
            own[k] = (found[names.VAR_TAU][orders.index(order)] * found[names.VAR_UNIT_SD][k]) ** 2
    own = np.diag(own)
    return common + own * (1 - 1 / strata), common - own / strata


def dense_log_density(array, strata, basis, priors, found):
    """Every cell of every unit as one long normal vector."""
    flat = array.values.reshape(array.shape[0], -1)
    codes = stratum_codes(array, strata)
    same, other = prior_covariance_of_means(basis, priors, found, len(strata))
    scale = found.get(names.VAR_STRATUM_SCALE, np.ones(1))
    blocks = [
        [
            basis.rows.T
            @ (
                (same if codes[i] == codes[j] else other)
                + (i == j) * scale[codes[i]] ** 2 * found[names.VAR_COVARIANCE]
            )
            @ basis.rows
            for j in range(len(flat))
        ]
        for i in range(len(flat))
    ]
    mean = np.tile(((basis.order == 0) * priors.score_location) @ basis.rows, len(flat))
    return stats.multivariate_normal.logpdf(flat.ravel(), mean, np.block(blocks))


@pytest.mark.parametrize("case", CASES)
def test_collapsed_density_is_the_dense_normal_with_locations_integrated_out(case):
    array, strata, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    point = somewhere(model)
    collapsed = model.compile_fn(model.potentiallogp, mode="FAST_COMPILE")(point)
    dense = dense_log_density(array, strata, basis, priors, parameters(model, point))
    assert collapsed == pytest.approx(dense, rel=1e-10)


@pytest.mark.parametrize("case", CASES)
def test_closed_form_derivatives_equal_finite_differences(case):
    *_, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    density = model.compile_fn(model.potentiallogp, mode="FAST_COMPILE")
    slope = model.compile_dlogp(jacobian=False, mode="FAST_COMPILE")
    total = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    point = somewhere(model)
    found, step = slope(point), 1e-5
    numeric = []
    for variable in model.value_vars:
        value = point[variable.name]
        for place in np.ndindex(value.shape):
            up, down = value.copy(), value.copy()
            up[place] += step
            down[place] -= step
            difference = total({**point, variable.name: up}) - total({**point, variable.name: down})
            numeric.append(difference / (2 * step))
    assert np.isfinite(density(point))
    np.testing.assert_allclose(found, numeric, rtol=1e-6, atol=1e-5)


def test_cost_does_not_know_the_number_of_units():
    array, strata = simulated(FACE, (4, 5))
    basis = bases.build(FACE)
    small = sufficient(array, basis, strata)
    large = sufficient(xr.concat([array] * 50, names.UNIT), basis, strata)
    priors = resolve(PriorSpec(), 0.0, 1.0)
    shapes = [
        {name: np.shape(value) for name, value in cells.values(data, priors).items()}
        for data in (small, large)
    ]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize(
    "case", ["all effects differ between strata", "residual space", "no strata"]
)
def test_locations_are_drawn_from_their_conditional_normal(case):
    *_, basis, data, priors = built(case)
    draws, strata = 40_000, len(data.strata)
    model = cells.collapsed(basis, data, priors)
    found = parameters(model, somewhere(model))
    orders = sorted(set(basis.order[basis.by_stratum]))
    variables = {
        names.VAR_COVARIANCE: (("component", "component_2"), found[names.VAR_COVARIANCE]),
    }
    if strata > 1:
        variables[names.VAR_TAU] = ((names.ORDER,), found[names.VAR_TAU])
        variables[names.VAR_STRATUM_SCALE] = ((names.STRATUM,), found[names.VAR_STRATUM_SCALE])
    one = xr.Dataset(variables, coords={names.ORDER: orders})
    many = one.expand_dims({names.CHAIN: 1, names.DRAW: draws})
    located = locations.draw_locations(many, basis, data, priors, seed=4)

    same, other = prior_covariance_of_means(basis, priors, found, strata)
    scale = found.get(names.VAR_STRATUM_SCALE, np.ones(1))
    prior = np.block([[same if g == h else other for h in range(strata)] for g in range(strata)])
    noise = np.block(
        [
            [
                (g == h) * scale[g] ** 2 / data.count[g] * found[names.VAR_COVARIANCE]
                for h in range(strata)
            ]
            for g in range(strata)
        ]
    )
    location = np.tile((basis.order == 0) * priors.score_location, strata)
    gain = prior @ np.linalg.inv(prior + noise)
    mean = location + gain @ (data.mean.ravel() - location)
    covariance = prior - gain @ prior

    drawn = np.zeros((draws, strata, len(basis.labels)))
    drawn[:, :, basis.modelled] += located[names.VAR_EFFECT].values[0][:, None]
    if strata > 1:
        drawn[:, :, basis.by_stratum] += located[names.VAR_DEVIATION].values[0]
    drawn = drawn.reshape(draws, -1)
    sd = np.sqrt(np.diag(covariance).clip(0))
    error = np.abs(drawn.mean(axis=0) - mean)
    assert (error <= 5 * sd / np.sqrt(draws) + 1e-9).all()
    off = np.abs(np.cov(drawn.T) - covariance)
    assert (off <= 5 * np.multiply.outer(sd, sd) * np.sqrt(2 / draws) + 1e-9).all()


@pytest.mark.parametrize("case", CASES)
def test_whitened_coordinates_are_a_bijection_with_their_jacobian(case):
    *_, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    packed, value = model[cells.UNIT_FACTOR], model.rvs_to_values[model[cells.UNIT_FACTOR]]
    transform = model.rvs_to_transforms[packed]
    point = somewhere(model)
    (natural,) = model.replace_rvs_by_values([packed])
    there = model.compile_fn(
        natural, inputs=model.value_vars, mode="FAST_COMPILE", on_unused_input="ignore"
    )
    log_jacobian = at(model, transform.log_jac_det(value, *packed.owner.inputs), point)
    here, step, columns = point[value.name], 1e-6, []
    for place in range(len(here)):
        moved = [here + sign * step * (np.arange(len(here)) == place) for sign in (1, -1)]
        ends = [there({**point, value.name: end}) for end in moved]
        columns.append((ends[0] - ends[1]) / (2 * step))
    sign, log_det = np.linalg.slogdet(np.array(columns).T)
    assert sign != 0
    assert log_jacobian == pytest.approx(log_det, rel=1e-5, abs=1e-5)
    back = transform.forward(pt.as_tensor(there(point)), *packed.owner.inputs)
    np.testing.assert_allclose(at(model, back, point), here, rtol=1e-8, atol=1e-8)


def test_whitened_coordinates_of_the_estimate_are_the_origin():
    *_, basis, data, priors = built("no strata")
    model = cells.collapsed(basis, data, priors)
    start = model.initial_point()[f"{cells.UNIT_FACTOR}_whitened__"]
    np.testing.assert_allclose(start, 0, atol=1e-10)
    factor = np.zeros((len(basis.labels),) * 2)
    factor[np.tril_indices(len(factor))] = data.reference(priors.unit_sd)
    pooled = data.scatter.sum(axis=0) + priors.unit_sd**2 * np.eye(len(factor))
    units, strata = data.count.sum(), len(data.strata)
    np.testing.assert_allclose(factor @ factor.T, pooled / (units - strata + 1))


@pytest.mark.parametrize("name", ["unit_factor", "tau", "log_stratum_scale"])
def test_full_and_collapsed_models_share_the_priors_of_the_variances(name):
    """The same density of the same natural value, whatever the coordinates."""
    *_, basis, data, priors = built("some effects differ between strata")
    collapsed = cells.collapsed(basis, data, priors)
    full = cells.full(basis, data.strata, priors)
    assert {v.name for v in collapsed.free_RVs} < {v.name for v in full.free_RVs}
    drawn = pm.draw(full[name], random_seed=3)
    densities = []
    for model in (full, collapsed):
        transform = model.rvs_to_transforms[model[name]]
        inputs = model[name].owner.inputs
        moved = transform.forward(pt.as_tensor(drawn), *inputs)
        value = model.rvs_to_values[model[name]]
        point = somewhere(model)
        point = {**point, value.name: at(model, moved, point)}
        density = model.logp([model[name]], sum=True, jacobian=False)
        densities.append(at(model, density, point))
    assert densities[0] == pytest.approx(densities[1], rel=1e-9)


def test_full_model_draws_locations_with_the_covariance_that_is_integrated():
    *_, basis, data, priors = built("residual space")
    model = cells.full(basis, data.strata, priors)
    effects, standard = pm.draw(
        [model[names.VAR_EFFECT], model[cells.DEVIATION_Z]], draws=20_000, random_seed=1
    )
    common = cells.prior_variance(
        basis, {"intercept_sd": priors.intercept_sd, "effect_sd": priors.effect_sd}
    )
    np.testing.assert_allclose(effects.var(axis=0), common[basis.modelled], rtol=0.06)
    np.testing.assert_allclose(standard.sum(axis=-1), 0, atol=1e-9)
    strata = len(data.strata)
    np.testing.assert_allclose(standard.var(axis=0), 1 - 1 / strata, rtol=0.06)
