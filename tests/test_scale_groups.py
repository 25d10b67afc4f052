"""Scale groups: effects, priors and standard units of each group by itself."""

import numpy as np
import pytest
import xarray as xr

from fourcorner import names
from fourcorner.bayes import basis as bases
from fourcorner.bayes import cells
from fourcorner.bayes.data import sufficient
from fourcorner.bayes.priors import resolve
from fourcorner.errors import SpecError
from fourcorner.spec import PriorSpec

FACTORS = {
    "state": ("before", "after"),
    "readout": ("joint", "binary"),
    "view": ("a", "b", "c"),
}
INNER = {"state": FACTORS["state"], "view": FACTORS["view"]}


def basis_of(**formulas):
    return bases.build(FACTORS, **formulas, scale=["readout"])


def test_each_group_has_the_effects_of_the_other_factors():
    basis, inner = basis_of(), bases.build(INNER)
    assert basis.groups == ("readout=joint", "readout=binary")
    for place, group in enumerate(basis.groups):
        inside = basis.group == place
        labels = [label for label, kept in zip(basis.labels, inside, strict=True) if kept]
        assert labels == [f"{label} [{group}]" for label in inner.labels]
        table = basis.rows[inside].reshape(6, 2, 2, 3)
        np.testing.assert_allclose(table[:, :, place].reshape(6, 6), inner.rows, atol=1e-12)
        np.testing.assert_array_equal(table[:, :, 1 - place], 0)
    assert basis.cells_each == 6
    np.testing.assert_allclose(basis.rows @ basis.rows.T, 6 * np.eye(12), atol=1e-12)


def test_effects_rebuild_any_cell_table():
    basis = basis_of()
    table = np.random.default_rng(0).normal(size=12)
    coefficients = table @ basis.rows.T / basis.cells_each
    np.testing.assert_allclose(coefficients @ basis.rows, table, atol=1e-12)


def test_cells_know_their_group():
    expected = [0 if readout == "joint" else 1 for _ in "xy" for readout in FACTORS["readout"]]
    np.testing.assert_array_equal(basis_of().cell_group, np.repeat(expected, 3))


def test_every_group_and_order_has_a_tau():
    basis = basis_of(effects="state * view", stratum_effects="state")
    assert basis.tau_labels == [
        "0 [readout=joint]",
        "1 [readout=joint]",
        "0 [readout=binary]",
        "1 [readout=binary]",
    ]
    assert basis.tau_place.tolist() == [0, 1, -1, -1, -1, -1, 2, 3, -1, -1, -1, -1]
    assert bases.build(INNER, None, "state").tau_labels == [0, 1]


def test_two_scale_factors_make_a_group_of_each_combination():
    basis = bases.build({**FACTORS, "stack": ("x", "y")}, scale=["readout", "stack"])
    assert basis.groups == (
        "readout=joint, stack=x",
        "readout=joint, stack=y",
        "readout=binary, stack=x",
        "readout=binary, stack=y",
    )
    assert basis.cells_each == 6


@pytest.mark.parametrize("key", ["effects", "stratum_effects"])
def test_a_formula_cannot_name_a_scale_factor(key):
    with pytest.raises(SpecError, match="'readout' have unlinked scales"):
        basis_of(**{key: "state * readout"})


def simulated(factor=1.0, shift=0.0):
    """Units × cells; the binary readout can be put in other units."""
    generator = np.random.default_rng(1)
    flat = generator.normal(size=(30, 12)) @ generator.normal(size=(12, 12))
    table = flat.reshape(30, 2, 2, 3)
    table[:, :, 1] = factor * table[:, :, 1] + shift
    coords = {**{k: list(v) for k, v in FACTORS.items()}, names.UNIT: np.arange(30).astype(str)}
    array = xr.DataArray(table, dims=(names.UNIT, *FACTORS), coords=coords)
    strata = np.repeat(["g0", "g1"], [12, 18])
    return array.assign_coords({names.STRATUM: (names.UNIT, strata)})


def test_each_group_has_its_own_location_and_scale():
    array, basis = simulated(0.01, 50.0), basis_of()
    data = sufficient(array, basis, ["g0", "g1"])
    for place, readout in enumerate(FACTORS["readout"]):
        part = array.sel(readout=readout)
        within = part.groupby(names.STRATUM).var(ddof=1)
        pooled = (within * xr.DataArray([11, 17], dims=names.STRATUM)).sum(names.STRATUM) / 28
        assert data.location[place] == pytest.approx(float(part.mean()))
        assert data.scale[place] == pytest.approx(float(np.sqrt(pooled.mean())))


def test_units_of_one_group_change_nothing_that_the_sampler_sees():
    """Another unit and origin of one readout: the same standardised data and priors."""
    basis = basis_of()
    held = []
    for array in (simulated(), simulated(0.01, 50.0)):
        data = sufficient(array, basis, ["g0", "g1"])
        priors = resolve(PriorSpec(), data.location, data.scale)
        standard = data.standardised(basis.order)
        held.append(cells.values(standard, priors.standardised(data.location, data.scale)))
    for name, value in held[0].items():
        np.testing.assert_allclose(held[1][name], value, rtol=1e-8, atol=1e-9, err_msg=name)


def test_one_number_in_native_units_is_refused_for_several_groups():
    for given in (PriorSpec(effect_sd=1.0), PriorSpec(score_scale=2.0)):
        with pytest.raises(SpecError, match="one number in native units for 2 scale groups"):
            resolve(given, np.zeros(2), np.ones(2))
    assert resolve(PriorSpec(tau_sd=0.2), np.zeros(2), np.array([1.0, 3.0])).tau_sd == 0.2
    assert resolve(PriorSpec(effect_sd=0.7), 0.0, 3.0).effect_sd == 0.7


def test_priors_are_multiples_of_each_groups_scale():
    priors = resolve(PriorSpec(), np.array([1.0, -2.0]), np.array([0.5, 4.0]))
    basis = basis_of()
    by_effect = priors.by_effect(basis.group)
    expected = np.where(basis.group == 0, 0.5, 4.0)
    sd = np.sqrt(cells.prior_variance(basis, by_effect))
    np.testing.assert_allclose(sd, np.where(basis.order == 0, 5 * expected, expected))
    location = cells.prior_location(basis, by_effect)
    assert location[basis.order == 0].tolist() == [1.0, -2.0]
    assert not location[basis.order > 0].any()
