"""The Student family: its density, its tree, check 2 with the bootstrap's variance."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from scipy import stats

import fits
import fourcorner as fc
from fourcorner import names
from fourcorner.bayes import basis as bases
from fourcorner.bayes import sample, student, tails
from fourcorner.bayes.data import sufficient
from fourcorner.bayes.priors import resolve
from fourcorner.bayes.tree import group
from fourcorner.checks import bootstrap, design_agreement, jackknife
from fourcorner.checks.replicated import replicated
from fourcorner.spec import PriorSpec
from fourcorner.weights import resolve as mixture_of
from test_cell_model import CASES, simulated, somewhere
from trees import with_posterior, without_cell

OMEGA = fc.omega(view=("direct", "generated"))
STRATA = ["large", "small"]
CORNERS = xr.DataArray(
    [[1.0, -1.0], [-1.0, 1.0]],
    dims=("state", "view"),
    coords={"state": ["before", "after"], "view": ["direct", "generated"]},
)
EQUAL = mixture_of("equal", "equal", STRATA)
EMPIRICAL = mixture_of("empirical", "empirical", STRATA)
SCALED = "levels on unlinked scales"


def built(case):
    scale = ()
    if case == SCALED:
        case, scale = "all effects differ between strata", ("authority",)
    factors, effects, varying, sizes = CASES[case]
    array, strata = simulated(factors, sizes)
    basis = bases.build(factors, effects, varying, scale)
    data = sufficient(array, basis, strata)
    units = student.units_of(array, basis, data.strata)
    return array, basis, data, units, resolve(PriorSpec(), data.location, data.scale)


def parameters(model, point):
    """Natural parameters at a point."""
    varying = ("stratum_deviation", "stratum_scale")
    wanted = ("effects", "unit_covariance", "degrees_of_freedom", *varying)
    present = [name for name in wanted if name in model.named_vars]
    outputs = model.replace_rvs_by_values([model[name] for name in present])
    function = model.compile_fn(outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    return dict(zip(present, function(point), strict=True))


# The density


@pytest.mark.parametrize("case", [*CASES, SCALED])
def test_density_is_that_of_the_multivariate_t_of_cells(case):
    array, basis, data, units, priors = built(case)
    model = student.model(basis, data, units, priors)
    point = somewhere(model)
    found = model.compile_fn(model.potentiallogp, mode="FAST_COMPILE")(point)
    given = parameters(model, point)
    flat, expected = array.values.reshape(len(array), -1), 0.0
    for i, code in enumerate(units.codes):
        location = given["effects"] @ basis.rows[basis.modelled]
        if "stratum_deviation" in given:
            location = location + given["stratum_deviation"][code] @ basis.rows[basis.by_stratum]
        spread = given.get("stratum_scale", np.ones(1))[code] ** 2
        shape = spread * basis.rows.T @ given["unit_covariance"] @ basis.rows
        of = stats.multivariate_t(location, shape, given["degrees_of_freedom"])
        expected += of.logpdf(flat[i])
    assert found == pytest.approx(expected, rel=1e-10)


def random_inputs(seed=5, units=9, size=4, strata=3):
    generator = np.random.default_rng(seed)
    factor = 0.3 * np.tril(generator.normal(size=(size, size)))
    factor[np.diag_indices(size)] = 1 + generator.random(size)
    return {
        "factor": factor,
        "means": generator.normal(size=(strata, size)),
        "log_spread": 0.3 * generator.normal(size=strata),
        "degrees": np.array([3.7]),
        "coefficients": 2 * generator.normal(size=(units, size)),
        "codes": np.arange(units) % strata,
    }


def test_derivatives_equal_finite_differences():
    inputs, step = random_inputs(), 1e-6
    _, *slopes = tails.value_and_slopes(*inputs.values())
    for (name, value), slope in zip(list(inputs.items())[:4], slopes, strict=True):
        numeric = np.zeros_like(value)
        for place in np.ndindex(value.shape):
            if name == "factor" and place[1] > place[0]:
                continue
            ends = []
            for sign in (1, -1):
                moved = value.copy()
                moved[place] += sign * step
                ends.append(tails.value_and_slopes(*{**inputs, name: moved}.values())[0])
            numeric[place] = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(slope, numeric, rtol=1e-6, atol=1e-7)


def log_density(inputs):
    given = {**inputs, "degrees": inputs["degrees"][0]}
    names_of = ("coefficients", "codes", "means", "factor", "log_spread", "degrees")
    graph = student.log_density(*(pt.as_tensor(given[name]) for name in names_of))
    return float(graph.eval(mode="FAST_COMPILE"))


def normal_log_density(inputs):
    covariance = inputs["factor"] @ inputs["factor"].T
    return sum(
        stats.multivariate_normal.logpdf(
            row, inputs["means"][code], covariance * np.exp(2 * inputs["log_spread"][code])
        )
        for row, code in zip(inputs["coefficients"], inputs["codes"], strict=True)
    )


def test_with_many_degrees_of_freedom_it_is_the_normal_model():
    inputs = random_inputs()
    expected = normal_log_density(inputs)
    gaps = [
        abs(log_density({**inputs, "degrees": np.array([nu])}) - expected) for nu in (1e3, 1e5, 1e7)
    ]
    assert gaps[0] > 1e-2  # still a t
    assert gaps[2] < 1e-4
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.05)  # the gap is of order 1/ν


def test_the_priors_are_those_of_the_normal_model_and_a_gamma_above_two():
    _, basis, data, units, priors = built("some effects differ between strata")
    full = student.full(basis, data.strata, priors)
    sampled = student.model(basis, data, units, priors)
    assert {v.name for v in full.free_RVs} == {v.name for v in sampled.free_RVs}
    above = np.array([0.3, 5.0, 40.0])
    found = pm.logp(full[student.ABOVE_TWO], above).eval(mode="FAST_COMPILE")
    # of shape 2 and mean 20, so that ν has mean 22
    np.testing.assert_allclose(found, stats.gamma.logpdf(above, 2, scale=10))
    given = resolve(PriorSpec(nu_mean=7), data.location, data.scale)
    full = student.full(basis, data.strata, given)
    found = pm.logp(full[student.ABOVE_TWO], above).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(found, stats.gamma.logpdf(above, 2, scale=2.5))


def test_the_first_look_at_the_scale_is_near_the_bulk():
    """One unit that is far out moves a covariance without bound, and the first look hardly."""
    many = np.random.default_rng(0).normal(size=(200, 4)) * [1, 2, 3, 4]
    many[0] = 1e4
    units = student.Units(many, np.zeros(200, dtype=int))
    packed = student._reference(units, np.array([200.0]), np.ones(4))
    factor = np.zeros((4, 4))
    factor[np.tril_indices(4)] = packed
    spread = np.sqrt(np.diag(factor @ factor.T))
    assert (spread / [1, 2, 3, 4] < 1.5).all()
    assert (spread / [1, 2, 3, 4] > 0.5).all()


# What is refused


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[model]\nfamily = "student"\ncohort = "observed"', "complete in every cell"),
        ('[model]\nfamily = "student"\n[priors]\nretry_sd = 1', "student family has no such prior"),
        ("[priors]\nnu_mean = 5", "normal family has no such prior"),
        ('[model]\nfamily = "student"\n[priors]\nnu_mean = 2', "expected a number above 2"),
        ('[model]\nfamily = "studnt"', "normal, student"),
    ],
)
def test_what_the_family_does_not_use_is_a_fault_of_the_spec(more, words):
    with pytest.raises(fc.SpecError, match=words):
        fc.parse_spec(fits.face_spec().text + more)


def test_its_own_options_are_read():
    text = fits.face_spec().text + '[model]\nfamily = "student"\n[priors]\nnu_mean = 5'
    spec = fc.parse_spec(text)
    assert (spec.model.family, spec.priors.nu_mean) == ("student", 5.0)


def test_a_sampled_cohort_with_gaps_is_refused_in_words():
    spec = fits.face_spec(waves=True)
    chosen = replace(spec, model=replace(spec.model, family="student"))
    data = fc.read_scores(spec, fits.retried_table())
    with pytest.raises(fc.NotAvailable, match="complete in every cell"):
        fc.fit(data, chosen)


# The fit


def test_unit_log_likelihood_is_the_t_density_of_its_cells():
    tree = fits.heavy().tree
    posterior, cells = group(tree, "posterior"), group(tree, "observed_data")["cells"]
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    strata = posterior["stratum"].values.tolist()
    for chain, draw, unit in [(0, 0, 0), (1, 500, 42), (3, 999, 99)]:
        one = posterior.isel(chain=chain, draw=draw)
        stratum, nu = str(cells["stratum"].values[unit]), float(one["degrees_of_freedom"])
        scale = float(one["stratum_scale"].sel(stratum=stratum))
        covariance = rows.T @ one["unit_covariance"].values @ rows * scale**2
        expected = stats.multivariate_t.logpdf(
            cells.values[unit].ravel(),
            one["cell_mean"].values[strata.index(stratum)].ravel(),
            covariance * (nu - 2) / nu,
            nu,
        )
        found = group(tree, "log_likelihood")["cells"].values[chain, draw, unit]
        assert found == pytest.approx(expected, rel=1e-9)


def test_location_scale_and_tails_are_recovered():
    tree = fits.heavy().tree
    posterior = group(tree, "posterior")
    for stratum, truth in fits.TRUTH.items():
        drawn = posterior["cell_mean"].sel(stratum=stratum).values.reshape(-1, 2, 2)
        z = (drawn.mean(axis=0) - truth) / drawn.std(axis=0)
        assert (np.abs(z) < 3.3).all(), stratum
    nu = posterior["degrees_of_freedom"].values.ravel()
    low, high = np.quantile(nu, [0.001, 0.999])
    assert nu.min() > 2
    assert low < fits.HEAVY < high
    assert high < 22  # the prior's mean: the data speak
    rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
    inflation = (posterior["degrees_of_freedom"] / (posterior["degrees_of_freedom"] - 2)).values
    shape = rows.T @ posterior["unit_covariance"].values @ rows / inflation[:, :, None, None]
    z = (shape.mean(axis=(0, 1)) - fits.SPREAD) / shape.std(axis=(0, 1))
    assert (np.abs(z) < 3.3).all()


def test_replicated_units_scatter_about_their_draw_as_a_t():
    """A squared distance over its dimension has the F distribution of 4 and ν degrees."""
    tree = fits.heavy().tree
    for name in ("prior", "posterior"):
        replicas = group(tree, f"{name}_predictive")["cells"]
        draws = group(tree, name).sel(draw=replicas["draw"].values)
        rows = group(tree, "constant_data")["basis"].values.reshape(4, -1)
        nu = draws["degrees_of_freedom"].values.reshape(500, 1, 1)
        shape = (rows.T @ draws["unit_covariance"].values @ rows).reshape(500, 4, 4)
        shares = []
        for stratum in fits.STRATA:
            inside = group(tree, "observed_data")["stratum"].values == stratum
            one = draws.sel(stratum=stratum)
            scale = one["stratum_scale"].values.reshape(500, 1, 1) ** 2
            off = replicas.values[:, :, inside].reshape(500, -1, 4)
            off = off - one["cell_mean"].values.reshape(500, 1, 4)
            solved = np.linalg.solve(scale * shape * (nu - 2) / nu, off.swapaxes(1, 2))
            distance = (off * solved.swapaxes(1, 2)).sum(axis=2)
            shares.append(stats.f.cdf(distance / 4, 4, nu[:, :, 0]).ravel())
        found = np.concatenate(shares)  # 50,000 uniform numbers
        assert found.mean() == pytest.approx(1 / 2, abs=0.01)
        assert found.var() == pytest.approx(1 / 12, abs=0.003)


def test_rows_say_that_they_are_locations():
    fitted = fits.heavy()
    rows = [row for row in fitted.audit.rows if row.method == "posterior"]
    about_units = [row for row in rows if row.population == "units"]
    assert about_units
    assert all("location of a t distribution" in row.notes[0] for row in about_units)
    assert "symmetric" in fitted.tree.attrs["notes"]
    assert not [row for row in fitted.audit.rows if row.method == "unpooled"]
    assert any("without pooling" in said for said in fitted.audit.not_available)


def test_the_fit_passes_its_gates_on_a_symmetric_population():
    fitted = fits.heavy()
    assert [row for row in fitted.audit.check_rows if row.verdict == "fail"] == []
    checked = {row.name for row in fitted.audit.check_rows}
    assert {"convergence", "design_agreement", "loo", "prior_sensitivity"} <= checked
    targets = {row.target for row in fitted.audit.check_rows if row.name == "prior_sensitivity"}
    assert "degrees_of_freedom" in targets


def test_other_scores_are_not_compiled_again():
    fits.heavy()
    before = dict(sample._compiled)
    fits.skewed()
    assert {key for key in before if key[0] == "student"} == {
        key for key in sample._compiled if key[0] == "student"
    }


def test_arviz_reads_the_tree_unmodified():
    tree = fits.heavy().tree
    assert np.isfinite(az.summary(tree, round_to="none")["mean"].astype(float)).all()
    assert np.isfinite(az.loo(tree).elpd)
    assert len(az.psense_summary(tree, var_names=["effects", "tau", "degrees_of_freedom"])) == 8
    az.plot_ppc_dist(tree, num_samples=20)


def test_a_run_is_saved_shown_loaded_and_weighted_again(tmp_path):
    found = fits.heavy().audit
    path = fc.save_run(found, tmp_path / "run")
    page = (path / "report.html").read_text(encoding="utf-8")
    assert "location of a t distribution" in page
    loaded = fc.load_run(path)
    assert loaded.rows == found.rows
    again = fc.reweight(loaded, {"equal": "equal"})
    expected = [row for row in found.rows if row.weights == "equal" and row.method == "posterior"]
    assert [row for row in again.rows if row.method == "posterior"] == expected


# Check 2 with the bootstrap's variance


def by_hand(tree, weights):
    """Ω of every unit, its stratum, and T under weights of (large, small)."""
    cells = group(tree, "observed_data")["cells"]
    flat = cells.values.reshape(len(cells), 4)  # before, after × direct, generated
    values = (flat[:, 3] - flat[:, 1]) - (flat[:, 2] - flat[:, 0])
    labels = cells["stratum"].values.astype(str)
    means = [values[labels == name].mean() for name in STRATA]
    return values, labels, float(np.dot(weights, means))


@pytest.mark.parametrize(("mixture", "weights"), [(EQUAL, (0.5, 0.5)), (EMPIRICAL, (0.7, 0.3))])
def test_v_t_is_the_variance_of_rescaled_bootstrap_draws(mixture, weights):
    tree = fits.heavy().tree
    values, labels, _ = by_hand(tree, weights)
    generator, total = np.random.default_rng(0), np.zeros(200_000)
    for name, weight in zip(STRATA, weights, strict=True):
        inside = values[labels == name]
        n = len(inside)
        drawn = generator.multinomial(n, np.full(n, 1 / n), 200_000) @ inside / n
        total += weight * np.sqrt(n / (n - 1)) * (drawn - inside.mean())
    found = bootstrap.design_variance(tree, OMEGA, mixture)
    assert found == pytest.approx(total.var(), rel=0.02)


def v_post(tree, weights):
    """Variance of Ω given the variance parameters, draw by draw: prior and units' information."""
    posterior, held = group(tree, "posterior"), group(tree, "constant_data")
    order, common = held["component_order"].values, held["component_prior_variance"].values
    rows = held["basis"].values.reshape(len(order), 2, 2)  # state × view
    lever = rows[:, 1, 1] - rows[:, 0, 1] - rows[:, 1, 0] + rows[:, 0, 0]
    units, found = held["units_in_stratum"].values, []
    thin = posterior.isel(draw=slice(None, None, bootstrap.THIN))
    for _, one in thin.stack(sample=("chain", "draw")).groupby("sample"):
        one = one.squeeze("sample")
        nu = float(one["degrees_of_freedom"])
        scale = one["unit_covariance"].values * (1 - 2 / nu)
        own = one["tau"].values[order] ** 2 * np.diag(scale)
        size = len(order)
        prior = np.kron(np.ones((2, 2)), np.diag(common))
        prior += np.kron(np.eye(2) - 0.5, np.diag(own))
        known = np.zeros((2 * size, 2 * size))
        for g, n in enumerate(units):
            block = slice(g * size, (g + 1) * size)
            of_unit = np.linalg.inv(scale * one["stratum_scale"].values[g] ** 2)
            known[block, block] = n * (nu + size) / (nu + size + 2) * of_unit
        stacked = np.kron(weights, lever)
        found.append(stacked @ np.linalg.inv(np.linalg.inv(prior) + known) @ stacked)
    return np.mean(found)


def test_z_is_the_difference_over_the_root_of_both_variances():
    tree = fits.heavy().tree
    found = design_agreement.compare(tree, [(OMEGA, EQUAL)])[0]
    values, labels, estimate = by_hand(tree, (0.5, 0.5))
    gains = group(tree, "posterior")["cell_mean"].mean("stratum")
    gains = gains.sel(state="after") - gains.sel(state="before")
    draws = (gains.sel(view="generated") - gains.sel(view="direct")).values
    inside = {name: labels == name for name in STRATA}
    sampling = sum(values[of].var(ddof=1) / of.sum() / 4 for of in inside.values())
    gap = sampling - v_post(tree, [0.5, 0.5])
    assert gap > 0  # a location is better known than a mean where tails are heavy
    density = group(tree, "log_likelihood")["cells"].values.reshape(draws.size, -1)
    covariance = [np.cov(draws.ravel(), density[:, i])[0, 1] for i in range(len(values))]
    apart = sum(
        of.sum() * np.var(values[of] / of.sum() / 2 - np.array(covariance)[of], ddof=1)
        for of in inside.values()
    )
    assert found.design == pytest.approx(estimate)
    assert found.design_variance == pytest.approx(sampling)
    error = draws.var(ddof=1) / float(az.ess(draws))
    assert found.difference_variance == pytest.approx(max(gap, apart) + error, rel=1e-6)
    assert found.z == pytest.approx((estimate - draws.mean()) / np.sqrt(found.difference_variance))
    parts = {values[of].var(ddof=1) / of.sum() / 4: of.sum() - 1 for of in inside.values()}
    degrees = sampling**2 / sum(part**2 / of for part, of in parts.items())
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.z), degrees))
    assert found.remark == ""


def test_a_posterior_as_wide_as_the_bootstrap_is_said_and_units_stand_in(monkeypatch):
    tree = fits.heavy().tree
    monkeypatch.setattr(bootstrap, "_of_tails", lambda *_: None)  # a family without closed form
    means = group(tree, "posterior")["cell_mean"].values
    centre = means.mean(axis=(0, 1), keepdims=True)
    wide = with_posterior(tree, cell_mean=centre + 3 * (means - centre))
    draws = (wide["posterior"]["cell_mean"].mean("stratum") * CORNERS).sum(("state", "view")).values
    found, said = bootstrap.difference_variance(wide, OMEGA, EQUAL)
    assert found == pytest.approx(bootstrap._by_units(wide, OMEGA, EQUAL, draws), rel=1e-6)
    assert "of the bootstrap's" in said
    del wide["log_likelihood"]
    sampling = bootstrap.design_variance(tree, OMEGA, EQUAL)
    assert bootstrap.difference_variance(wide, OMEGA, EQUAL) == (pytest.approx(sampling), said)


def test_a_stratum_of_one_unit_has_no_bootstrap_and_is_not_run():
    tree = fits.heavy().tree
    labels = group(tree, "observed_data")["stratum"].values
    alone = without_cell(
        tree, units=np.flatnonzero(labels == "small")[1:], state="after", view="direct"
    )
    asked = [fc.Estimand("omega", OMEGA)]
    (row, *rest) = design_agreement.check(alone, asked, [EQUAL])
    assert (row.verdict, rest) == ("not_run", [])
    assert "one unit (small)" in row.message


def test_the_noise_of_replicated_means_has_the_variance_of_a_t():
    tree = fits.heavy().tree
    shape = group(tree, "posterior")["degrees_of_freedom"].shape
    lighter = with_posterior(tree, degrees_of_freedom=np.full(shape, 12.0))
    drawn = replicated(lighter, OMEGA, EQUAL)
    posterior = group(lighter, "posterior")
    rows = group(lighter, "constant_data")["basis"].values.reshape(4, -1)
    contrast = rows @ np.array([1, -1, -1, 1])  # of (before, after) × (direct, generated)
    per_unit = posterior["unit_covariance"].values @ contrast @ contrast
    sizes = np.array([fits.STRATA[name] for name in STRATA])
    noise = per_unit[:, :, None] * posterior["stratum_scale"].values ** 2 / sizes / 4
    location = omega_of(posterior["cell_mean"].values.reshape(*shape, 2, 4)) @ np.array([0.5, 0.5])
    assert (drawn - location).var() == pytest.approx(noise.sum(axis=2).mean(), rel=0.08)


def omega_of(means):
    """Ω of (before, after) × (direct, generated) cell means."""
    return (means[..., 3] - means[..., 1]) - (means[..., 2] - means[..., 0])


def test_a_skewed_population_fails_check_2_and_says_why():
    rows = {row.target: row for row in fits.skewed().check_rows["student"]}
    row = rows["generated (empirical)"]
    assert row.verdict == "fail"
    assert "skewed" in row.message
    assert "pulled to the bulk" in row.message
    assert "mean lies above it" in row.message
    assert rows["direct (empirical)"].verdict == "pass"


def test_models_without_the_attribute_keep_their_own_variance():
    tree = fits.face().tree
    assert tree.attrs["sampling_variance"] == names.BY_MODEL
    older = tree.copy(deep=True)
    del older.attrs["sampling_variance"]
    found, expected = (design_agreement.compare(x, [(OMEGA, EQUAL)])[0] for x in (older, tree))
    assert found == expected


def test_units_make_estimate_and_posterior_mean_differ_by_what_is_shrunk():
    """A conjugate mean: the posterior mean is b times the mean of the units."""
    generator = np.random.default_rng(4)
    units, drawn, b = 40, 400_000, 0.7
    values = generator.normal(1.0, 2.0, units)
    theta = b * values.mean() + np.sqrt(b * 4.0 / units) * generator.standard_normal(drawn)
    density = stats.norm.logpdf(values, theta[:, None], 2.0).reshape(2, -1, units)
    tree = xr.DataTree.from_dict(
        {"log_likelihood": xr.Dataset({"cells": (("chain", "draw", "unit"), density)})}
    )
    moved = jackknife.influence(tree, theta.reshape(2, -1))
    np.testing.assert_allclose(moved, b * (values - theta.mean()) / units, atol=2e-3)
    one = np.zeros(units, dtype=int)
    apart = jackknife.variance(values / units - moved, one)
    assert apart == pytest.approx((1 - b) ** 2 * values.var(ddof=1) / units, rel=0.1)
    two = np.repeat([0, 1], units // 2)
    inside = [values[two == code].var(ddof=1) * units / 2 for code in (0, 1)]
    assert jackknife.variance(values, two) == pytest.approx(sum(inside))
    assert jackknife.influence(xr.DataTree(), theta.reshape(2, -1)) is None
