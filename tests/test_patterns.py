"""Missing cells, retry noise and scale groups: the density against dense multivariate normals."""

import numpy as np
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import stats

from fourcorner import names
from fourcorner.bayes import basis as bases
from fourcorner.bayes import cells, incomplete, locations, missing, outputs
from fourcorner.bayes.data import observed_cells, sufficient
from fourcorner.bayes.priors import resolve
from fourcorner.bayes.retry import Retries
from fourcorner.bayes.variances import (
    posterior_covariances,
    prior_covariances,
    sampling_covariances,
    variances,
)
from fourcorner.errors import NotAvailable
from fourcorner.spec import PriorSpec

CUBE = {"state": ("before", "after"), "view": ("a", "b", "c")}
FACE = {"state": ("before", "after"), "view": ("a", "b")}
TWO = {"state": ("before", "after"), "readout": ("joint", "binary"), "view": ("a", "b")}


def simulated(factors, sizes, lost, seed=0):
    """Units × cells of the given strata, a share of the cells missing; every unit has one."""
    generator = np.random.default_rng(seed)
    shape = tuple(len(levels) for levels in factors.values())
    count, size = sum(sizes), int(np.prod(shape))
    flat = 3 + generator.normal(size=(count, size)) @ generator.normal(size=(size, size))
    gone = generator.random((count, size)) < lost
    gone[np.arange(count), generator.integers(0, size, count)] = False
    flat[gone] = np.nan
    coords = {name: list(levels) for name, levels in factors.items()}
    coords[names.UNIT] = [f"u{i:03d}" for i in range(count)]
    array = xr.DataArray(flat.reshape(count, *shape), dims=(names.UNIT, *factors), coords=coords)
    strata = [f"g{i}" for i in range(len(sizes))] if len(sizes) > 1 else [""]
    if len(sizes) > 1:
        array = array.assign_coords({names.STRATUM: (names.UNIT, np.repeat(strata, sizes))})
    return array, strata


def retried(basis, waves=2):
    """Retry statistics that someone might have found."""
    groups = len(basis.groups)
    share = np.full(len(basis.labels), 1 / (basis.cells_each * waves))
    return Retries(np.linspace(3.0, 9.0, groups), np.linspace(20.0, 30.0, groups), share)


def never(array, place):
    """The same without any measurement of one cell."""
    flat = array.values.reshape(array.shape[0], -1).copy()
    flat[:, place] = np.nan
    return array.copy(data=flat.reshape(array.shape))


CASES = {
    "missing cells": (CUBE, (), (4, 6, 9), 0.2, False, None),
    "missing cells, no strata": (FACE, (), (8,), 0.3, False, None),
    "a cell that nobody has": (FACE, (), (5, 6), 0.2, False, 2),
    "retry noise": (FACE, (), (5, 7), 0.0, True, None),
    "missing cells and retry noise": (CUBE, (), (6, 7), 0.2, True, None),
    "scale groups": (TWO, ("readout",), (7, 6), 0.0, False, None),
    "all of it": (TWO, ("readout",), (9, 8), 0.2, True, 5),
}


def built(case):
    factors, scale, sizes, lost, noisy, unseen = CASES[case]
    array, strata = simulated(factors, sizes, lost)
    if unseen is not None:
        array = never(array, unseen)
    basis = bases.build(factors, scale=scale)
    data = sufficient(array, basis, strata, retried(basis) if noisy else None)
    return array, strata, basis, data, resolve(PriorSpec(), data.location, data.scale)


def somewhere(model, seed=2):
    """A point off the initial one, by the name of the value variable."""
    generator = np.random.default_rng(seed)
    return {
        name: np.asarray(value) + 0.3 * generator.normal(size=np.shape(value))
        for name, value in model.initial_point().items()
    }


def parameters(model, point):
    """Natural parameters at a point: Σ, σ and, where there are any, τ, s and r."""
    wanted = (
        names.VAR_COVARIANCE,
        names.VAR_UNIT_SD,
        names.VAR_TAU,
        names.VAR_STRATUM_SCALE,
        names.VAR_RETRY_SD,
    )
    present = [name for name in wanted if name in model.named_vars]
    outputs_ = model.replace_rvs_by_values([model[name] for name in present])
    function = model.compile_fn(outputs_, mode="FAST_COMPILE", on_unused_input="ignore")
    return dict(zip(present, function(point), strict=True))


def unit_covariances(basis, data, found):
    """Covariance of a unit's effects in each stratum, written out."""
    noise = np.zeros(len(basis.labels))
    if data.retries is not None:
        for k, group in enumerate(basis.group):
            noise[k] = data.retries.share[k] * found[names.VAR_RETRY_SD][group] ** 2
    scale = found.get(names.VAR_STRATUM_SCALE, np.ones(1))
    return [s**2 * found[names.VAR_COVARIANCE] + np.diag(noise) for s in scale]


def prior_by_pair(basis, priors, found, strata):
    """Prior covariance of two strata's expectations: in the same stratum, in two."""
    group = basis.group
    sd = np.where(basis.order == 0, priors.intercept_sd[group], priors.effect_sd[group])
    common = np.diag(np.where(basis.modelled, sd, 0.0) ** 2)
    if strata == 1:
        return common, common
    pairs = sorted({(g, o) for g, o in zip(group.tolist(), basis.order.tolist(), strict=True)})
    own = np.array(
        [
            found[names.VAR_TAU][pairs.index((g, o))] * found[names.VAR_UNIT_SD][k]
            for k, (g, o) in enumerate(zip(group.tolist(), basis.order.tolist(), strict=True))
        ]
    )
    return common + np.diag(own**2) * (1 - 1 / strata), common - np.diag(own**2) / strata


def dense(array, strata, basis, data, priors, found):
    """Mean, covariance and values of every observed cell, as one long normal vector."""
    flat = array.values.reshape(array.shape[0], -1)
    codes = [strata.index(x) for x in array[names.STRATUM].values] if len(strata) > 1 else None
    codes = codes or [0] * len(flat)
    same, other = prior_by_pair(basis, priors, found, len(strata))
    units = unit_covariances(basis, data, found)
    blocks = [
        [
            basis.rows.T
            @ ((same if codes[i] == codes[j] else other) + (i == j) * units[codes[i]])
            @ basis.rows
            for j in range(len(flat))
        ]
        for i in range(len(flat))
    ]
    location = (basis.order == 0) * priors.score_location[basis.group]
    seen = ~np.isnan(flat.ravel())
    mean = np.tile(location @ basis.rows, len(flat))[seen]
    return mean, np.block(blocks)[np.ix_(seen, seen)], flat.ravel()[seen]


@pytest.mark.parametrize("case", CASES)
def test_density_is_the_dense_normal_of_the_observed_cells(case):
    array, strata, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    point = somewhere(model)
    found = parameters(model, point)
    (density,) = model.replace_rvs_by_values([model[cells.LIKELIHOOD]])
    collapsed = model.compile_fn(density, mode="FAST_COMPILE", on_unused_input="ignore")(point)
    mean, covariance, values = dense(array, strata, basis, data, priors, found)
    assert len(values) == np.isfinite(array.values).sum()
    expected = stats.multivariate_normal.logpdf(values, mean, covariance)
    assert collapsed == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("case", ["a cell that nobody has", "all of it"])
def test_derivatives_equal_finite_differences(case):
    *_, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    slope = model.compile_dlogp(jacobian=False, mode="FAST_COMPILE")
    total = model.compile_logp(jacobian=False, mode="FAST_COMPILE")
    point, step, numeric = somewhere(model), 1e-5, []
    for variable in model.value_vars:
        value = point[variable.name]
        for place in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[place] += sign * step
                ends.append(total({**point, variable.name: moved}))
            numeric.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(slope(point), numeric, rtol=1e-6, atol=1e-5)


def test_what_stands_in_a_missing_cell_does_not_matter():
    array, strata, basis, data, priors = built("missing cells")
    model = cells.collapsed(basis, data, priors)
    point = somewhere(model)
    first = model.compile_logp(mode="FAST_COMPILE")(point)
    flat = array.values.reshape(array.shape[0], -1)
    other = np.where(np.isnan(flat), -4.0 + np.arange(6), flat) @ basis.rows.T / 6
    codes = np.searchsorted(strata, array[names.STRATUM].values)
    groups = incomplete.grouped(codes, np.isnan(flat), other)
    assert not np.allclose(groups.mean, data.incomplete.mean)
    model.set_data(cells.MEAN, groups.mean)
    model.set_data(cells.SCATTER, groups.scatter)
    assert model.compile_logp(mode="FAST_COMPILE")(point) == pytest.approx(first, rel=1e-10)


def test_the_two_densities_agree_where_both_apply():
    """Complete cells without retry noise, by the pattern kernel and by the eigenproblem's."""
    array, strata = simulated(CUBE, (4, 6), 0.0)
    basis = bases.build(CUBE, None, "state")
    data = sufficient(array, basis, strata)
    priors = resolve(PriorSpec(), data.location, data.scale)
    model = cells.collapsed(basis, data, priors)
    point = somewhere(model)
    found, groups = parameters(model, point), data.groups
    expected = model.compile_fn(model.potentiallogp, mode="FAST_COMPILE")(point)
    tau = np.where(basis.by_stratum, found[names.VAR_TAU][basis.tau_place], 0.0)
    scales = priors.by_effect(basis.group)
    value, *_ = missing.value_and_slopes(
        np.linalg.cholesky(found[names.VAR_COVARIANCE]),
        tau * found[names.VAR_UNIT_SD],
        np.log(found[names.VAR_STRATUM_SCALE]),
        np.zeros(6),
        groups.stratum,
        groups.count,
        groups.mean - cells.prior_location(basis, scales),
        groups.scatter,
        groups.place,
        groups.missing,
        cells.prior_variance(basis, scales),
        np.ascontiguousarray(basis.rows.T),
    )
    assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("case", ["a cell that nobody has", "all of it", "retry noise"])
def test_the_samplers_coordinates_are_a_bijection_with_their_jacobian(case):
    *_, basis, data, priors = built(case)
    assert (data.turn is None) == (case == "retry noise")
    model = cells.collapsed(basis, data, priors)
    packed = model[cells.UNIT_FACTOR]
    value, transform = model.rvs_to_values[packed], model.rvs_to_transforms[packed]
    inputs = packed.owner.inputs
    options = {"inputs": model.value_vars, "mode": "FAST_COMPILE", "on_unused_input": "ignore"}
    outputs_ = [packed, transform.log_jac_det(value, *inputs)]
    there = model.compile_fn(model.replace_rvs_by_values(outputs_), **options)
    origin = model.initial_point()
    np.testing.assert_allclose(origin[value.name], 0, atol=1e-8)
    point, step, columns = somewhere(model), 1e-6, []
    here = point[value.name]
    natural, log_jacobian = there(point)
    for place in range(len(here)):
        moved = [here + sign * step * (np.arange(len(here)) == place) for sign in (1, -1)]
        ends = [there({**point, value.name: end})[0] for end in moved]
        columns.append((ends[0] - ends[1]) / (2 * step))
    sign, log_det = np.linalg.slogdet(np.array(columns).T)
    assert sign != 0
    assert log_jacobian == pytest.approx(log_det, rel=1e-5, abs=1e-5)
    back = transform.forward(pt.as_tensor(natural), *inputs)
    (back,) = model.replace_rvs_by_values([back])
    found = model.compile_fn(back, **options)(point)
    np.testing.assert_allclose(found, here, rtol=1e-6, atol=1e-6)


def one_draw(model, basis, strata, draws):
    """A posterior of one point repeated, and the point."""
    found = parameters(model, somewhere(model))
    dims = {
        names.VAR_COVARIANCE: (names.COMPONENT, names.COMPONENT_2),
        names.VAR_UNIT_SD: (names.COMPONENT,),
        names.VAR_TAU: (names.ORDER,),
        names.VAR_STRATUM_SCALE: (names.STRATUM,),
        names.VAR_RETRY_SD: (names.SCALE_GROUP,),
    }
    named = cells.coords(basis, tuple(strata))
    variables = {name: (dims[name], value) for name, value in found.items()}
    used = {dim: named[dim] for name in found for dim in dims[name]}
    one = xr.Dataset(variables, coords=used)
    return one.expand_dims({names.CHAIN: [0], names.DRAW: np.arange(draws)}), found


@pytest.mark.parametrize(
    "case", ["missing cells", "missing cells, no strata", "a cell that nobody has", "all of it"]
)
def test_locations_are_drawn_from_their_normal_given_the_observed_cells(case):
    array, strata, basis, data, priors = built(case)
    model = cells.collapsed(basis, data, priors)
    draws = 20_000
    many, found = one_draw(model, basis, strata, draws)
    located = locations.draw_locations(many, basis, data, priors, seed=4)

    mean, covariance, values = dense(array, strata, basis, data, priors, found)
    same, other = prior_by_pair(basis, priors, found, len(strata))
    prior = np.block([[same if g == h else other for h in strata] for g in strata])
    flat = array.values.reshape(array.shape[0], -1)
    codes = np.zeros(len(flat), int)
    if len(strata) > 1:
        codes = np.searchsorted(strata, array[names.STRATUM].values)
    size = len(basis.labels)
    across = np.concatenate(
        [prior[:, g * size : (g + 1) * size] @ basis.rows[:, ~np.isnan(row)]
         for g, row in zip(codes, flat, strict=True)], axis=1,
    )  # fmt: skip
    location = np.tile((basis.order == 0) * priors.score_location[basis.group], len(strata))
    expected = location + across @ np.linalg.solve(covariance, values - mean)
    spread = prior - across @ np.linalg.solve(covariance, across.T)

    drawn = np.zeros((draws, len(strata), size))
    drawn[:, :, basis.modelled] += located[names.VAR_EFFECT].values[0][:, None]
    if len(strata) > 1:
        drawn[:, :, basis.by_stratum] += located[names.VAR_DEVIATION].values[0]
    drawn = drawn.reshape(draws, -1)
    sd = np.sqrt(np.diag(spread).clip(0))
    assert (np.abs(drawn.mean(axis=0) - expected) <= 5 * sd / np.sqrt(draws) + 1e-8).all()
    off = np.abs(np.cov(drawn.T) - spread)
    assert (off <= 5 * np.multiply.outer(sd, sd) * np.sqrt(2 / draws) + 1e-8).all()

    constants = outputs.constants(data, basis, priors, strata)
    given = variances(many.isel({names.DRAW: slice(0, 2)}), constants)
    known, _ = locations.information(given, data.groups, np.zeros(size), basis.rows)
    common = cells.prior_variance(basis, priors.by_effect(basis.group))
    exact = posterior_covariances(prior_covariances(given, common), known)
    np.testing.assert_allclose(exact[1], spread, rtol=1e-6, atol=1e-9)


def test_information_of_complete_units_is_the_inverse_of_their_sampling_covariance():
    _, strata, basis, data, priors = built("retry noise")
    many, _ = one_draw(cells.collapsed(basis, data, priors), basis, strata, 2)
    given = variances(many, outputs.constants(data, basis, priors, strata))
    known, _ = locations.information(given, data.groups, np.zeros(4), basis.rows)
    stacked = np.linalg.inv(sampling_covariances(given, data.count)[0])
    np.testing.assert_allclose(known[0, 0], stacked[:4, :4], rtol=1e-9)
    np.testing.assert_allclose(known[0, 1], stacked[4:, 4:], rtol=1e-9)


def test_unit_log_likelihood_is_the_marginal_of_the_observed_cells():
    array, strata, basis, data, priors = built("all of it")
    many, found = one_draw(cells.collapsed(basis, data, priors), basis, strata, 3)
    constants = outputs.constants(data, basis, priors, strata)
    located = locations.draw_locations(many, basis, data, priors, seed=4)
    posterior = outputs.parameters(located, basis, data.strata)
    found_density = outputs.unit_log_likelihood(posterior, array, constants)[names.CELLS].values
    units = unit_covariances(basis, data, found)
    for i, row in enumerate(array.values.reshape(array.shape[0], -1)):
        code, seen = strata.index(array[names.STRATUM].values[i]), ~np.isnan(row)
        covariance = basis.rows.T @ units[code] @ basis.rows
        mean = posterior[names.VAR_CELL_MEAN].values[0, 2, code].ravel()
        expected = stats.multivariate_normal.logpdf(
            row[seen], mean[seen], covariance[np.ix_(seen, seen)]
        )
        assert found_density[0, 2, i] == pytest.approx(expected, rel=1e-9)


def test_counts_of_observed_cells_are_kept():
    array, strata, basis, data, priors = built("a cell that nobody has")
    constants = outputs.constants(data, basis, priors, strata)
    found = constants[names.VAR_OBSERVED]
    assert found.dims == (names.STRATUM, "state", "view")
    for g, stratum in enumerate(strata):
        inside = array.values[array[names.STRATUM].values == stratum]
        np.testing.assert_array_equal(found.values[g], np.isfinite(inside).sum(axis=0))
    assert found.values[:, 1, 0].sum() == 0
    np.testing.assert_array_equal(constants[names.VAR_UNITS], [5, 6])


def test_units_alike_are_one_group_whatever_their_number():
    array, strata = simulated(FACE, (5, 6), 0.3)
    basis = bases.build(FACE)
    small = sufficient(array, basis, strata)
    large = sufficient(xr.concat([array] * 40, names.UNIT), basis, strata)
    assert large.incomplete.missing.shape == small.incomplete.missing.shape
    np.testing.assert_allclose(large.incomplete.count, 40 * small.incomplete.count)
    keys = {(s, *row) for s, row in zip(
        array[names.STRATUM].values, np.isnan(array.values.reshape(11, -1)).tolist(), strict=True
    )}  # fmt: skip
    assert len(small.incomplete.count) == len(keys)


def test_completion_finds_the_normal_that_the_observed_cells_come_from():
    """With no ridge and one pattern that is monotone, maximum likelihood is two regressions."""
    generator = np.random.default_rng(5)
    flat = generator.normal(size=(60, 3)) @ np.array([[1, 0.6, 0.2], [0, 1, 0.5], [0, 0, 0.7]])
    flat[40:, 2] = np.nan
    codes = np.zeros(60, int)
    filled, spare = incomplete.completed(flat, codes, 1, np.full(3, 1e-12))
    design = np.column_stack([np.ones(40), flat[:40, :2]])
    slope, residual, *_ = np.linalg.lstsq(design, flat[:40, 2], rcond=None)
    expected = np.column_stack([np.ones(20), flat[40:, :2]]) @ slope
    np.testing.assert_allclose(filled[40:, 2], expected, atol=1e-5)
    np.testing.assert_allclose(spare[0, 2, 2], 20 * residual[0] / 40, rtol=1e-4)
    np.testing.assert_array_equal(filled[:40], flat[:40])
    assert np.count_nonzero(spare) == 1


def transitions(array):
    """The same cells as a scores Dataset has them, by transition."""
    units = array[names.UNIT].values
    renamed = array.rename({names.UNIT: names.TRANSITION})
    along = {names.UNIT: (names.TRANSITION, units), names.TRANSITION_ID: (names.TRANSITION, units)}
    return renamed.drop_vars(names.TRANSITION).assign_coords(along)


def test_a_unit_without_any_cell_is_no_part_of_the_observed_cohort():
    array, _ = simulated(FACE, (4, 4), 0.2)
    array[2] = np.nan
    kept = observed_cells(transitions(array))
    assert kept[names.UNIT].values.tolist() == [f"u{i:03d}" for i in range(8) if i != 2]
    np.testing.assert_array_equal(kept.values, np.delete(array.values, 2, axis=0))
    with pytest.raises(NotAvailable, match="nothing to model"):
        observed_cells(transitions(array.copy(data=np.full(array.shape, np.nan))))
    with pytest.raises(NotAvailable, match="the observed cohort has one unit"):
        observed_cells(transitions(array[:1]))
    twice = transitions(array)
    twice = twice.assign_coords({names.UNIT: (names.TRANSITION, np.repeat(["a", "b"], 4))})
    with pytest.raises(NotAvailable, match="several transitions"):
        observed_cells(twice)


def test_location_and_scale_are_those_of_the_observed_cells():
    array, _, _, data, _ = built("missing cells, no strata")
    flat = array.values.reshape(8, 4)
    assert data.location[0] == pytest.approx(np.nanmean(flat, axis=0).mean())
    squares = np.nansum((flat - np.nanmean(flat, axis=0)) ** 2)
    assert data.scale[0] == pytest.approx(np.sqrt(squares / (np.isfinite(flat).sum() - 4)))
    two = sufficient(simulated(TWO, (20,), 0.2)[0], bases.build(TWO, scale=["readout"]), [""])
    binary = simulated(TWO, (20,), 0.2)[0].sel(readout="binary").values.reshape(20, -1)
    assert two.location[1] == pytest.approx(np.nanmean(binary, axis=0).mean())
