"""Opposite quadrants, flips of new transitions, and units' own gains behind retry noise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fits
import fourcorner as fc
from fourcorner import names
from fourcorner.bayes import flips
from fourcorner.bayes.orthants import lower, opposite
from fourcorner.bayes.tree import group

OMEGA = fc.omega(view=("direct", "generated"))
VIEWS = ["direct", "generated"]


@given(
    st.tuples(*[st.floats(-3, 3)] * 2),
    st.floats(-0.95, 0.95),
    st.floats(0.1, 10),
)
def test_quadrants_are_those_of_the_bivariate_normal(mean, correlation, sd):
    covariance = np.array([[1.0, correlation * sd], [correlation * sd, sd**2]])
    found = opposite(np.array(mean), covariance)
    below = stats.multivariate_normal(mean, covariance)
    both = below.cdf([0, 0])
    expected = [
        stats.norm.cdf(-mean[1] / sd) - both,
        stats.norm.cdf(-mean[0]) - both,
    ]
    np.testing.assert_allclose(found, expected, atol=2e-6)
    equal = both + stats.multivariate_normal(np.negative(mean), covariance).cdf([0, 0])
    assert found.sum() + equal == pytest.approx(1, abs=4e-6)


@pytest.mark.parametrize("h", [0.0, -0.0, 1.3])
@pytest.mark.parametrize("k", [0.0, -0.7])
@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.8])
def test_a_mean_of_zero_is_no_special_case(h, k, correlation):
    expected = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf([h, k])
    assert lower(np.array(h), np.array(k), np.array(correlation)) == pytest.approx(
        expected, abs=1e-7
    )
    if h == k == 0:
        assert expected == pytest.approx(0.25 + np.arcsin(correlation) / 2 / np.pi)


@pytest.mark.parametrize("degrees", [2.3, 5.0, 40.0])
def test_quadrants_of_a_t_are_those_of_its_draws(degrees):
    mean, scale = np.array([0.4, -0.2]), np.array([[1.0, 0.3], [0.3, 2.0]])
    found = opposite(mean, scale, np.array(degrees))
    drawn = stats.multivariate_t(mean, scale, degrees, seed=1).rvs(400_000)
    up, down = (drawn > 0).T
    np.testing.assert_allclose(found, [(up & ~down).mean(), (down & ~up).mean()], atol=3e-3)
    many = opposite(mean, scale, np.array(np.inf))
    np.testing.assert_allclose(many, opposite(mean, scale))


def corners(drawn):
    """Gains of simulated before/after × view cells by view, last axis."""
    cells = drawn.reshape(*drawn.shape[:-1], 2, 2)
    return cells[..., 1, :] - cells[..., 0, :]


def test_flips_of_a_new_unit_are_those_of_units_drawn_from_the_fit():
    tree = fits.face().tree
    found = flips.new_transition(tree, OMEGA)
    assert found.dims == ("orientation", "chain", "draw", "stratum")
    draws, rows = group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA)[names.VAR_BASIS]
    generator = np.random.default_rng(3)
    for chain, draw, stratum in ((0, 5, 0), (3, 700, 1)):
        at = {"chain": chain, "draw": draw}
        basis = rows.values.reshape(4, 4)
        spread = basis.T @ draws[names.VAR_COVARIANCE].isel(at).values @ basis
        spread *= float(draws[names.VAR_STRATUM_SCALE].isel(at)[stratum]) ** 2
        centre = draws[names.VAR_CELL_MEAN].isel(at | {"stratum": stratum}).values.ravel()
        up = corners(generator.multivariate_normal(centre, spread, 400_000)) > 0
        for orientation, first in (("+-", True), ("-+", False)):
            share = ((up[:, 0] == first) & (up[:, 1] != first)).mean()
            one = found.sel(orientation=orientation).isel(at | {"stratum": stratum})
            assert float(one) == pytest.approx(share, abs=3e-3)


def test_flips_of_a_new_step_are_those_of_its_two_endpoints():
    tree = fits.steps().tree
    found = flips.new_transition(tree, OMEGA)
    assert found.dims == ("orientation", "chain", "draw", "stratum", "step_kind")
    draws = group(tree, names.POSTERIOR)
    one, generator = draws.isel(chain=1, draw=9), np.random.default_rng(3)
    noise, white = one[names.VAR_NOISE_COVARIANCE].values, float(one[names.VAR_WHITE])
    for place, kind in enumerate(one[names.STEP].values):
        lasts = float(one[names.VAR_PERSISTENCE][place])
        slow = np.kron([[1, lasts], [lasts, 1]], (1 - white) * noise)
        law = slow + np.kron(np.eye(2), white * noise)
        mean = one[names.VAR_STEP_MEAN].sel(stratum="b", step_kind=kind)
        drawn = generator.multivariate_normal(mean.values.ravel(), law, 400_000)
        up = corners(drawn) > 0
        share = (up[:, 0] & ~up[:, 1]).mean()
        at = found.sel(orientation="+-", stratum="b", step_kind=kind).isel(chain=1, draw=9)
        assert float(at) == pytest.approx(share, abs=3e-3)


def test_mixtures_weigh_strata_and_steps_as_often_as_they_are():
    fitted = fits.steps()
    table = fc.sign_flips(fitted.tree, fitted.spec)
    either = table[table["orientation"] == "either"].set_index(["weights", "stratum", "step"])
    steps = group(fitted.tree, names.CONSTANT_DATA)[names.VAR_STEPS].to_series().unstack()
    inside = {
        name: np.average([either["value"]["", name, kind] for kind in counts.index], weights=counts)
        for name, counts in steps.iterrows()
    }
    assert either["value"]["equal", "", ""] == pytest.approx(np.mean(list(inside.values())))
    share = steps.sum(axis=1) / steps.to_numpy().sum()
    expected = sum(share[name] * inside[name] for name in inside)
    assert either["value"]["empirical", "", ""] == pytest.approx(expected, abs=5e-3)
    both = table[table["orientation"] != "either"].groupby(["weights", "stratum", "step"])["value"]
    np.testing.assert_allclose(both.sum(), either["value"].sort_index())
    events = {(row.event, row.weights): row.value for row in fitted.audit.probability_rows}
    assert events["flip_new", "equal"] == pytest.approx(either["value"]["equal", "", ""])


def test_nothing_flips_where_there_are_no_two_gains():
    fitted = fits.face()
    with pytest.raises(fc.NotAvailable, match="difference of two gains"):
        fc.sign_flips(fitted.tree, {"direct": fc.gain(view="direct")})
    with pytest.raises(fc.NotAvailable, match="no difference of two gains"):
        flips.new_transition(fitted.tree, fc.gain(view="direct"))
    names_of = {row.name for row in fitted.audit.probability_rows if row.event == "flip_new"}
    assert names_of == {"omega"}


# Units' own gains


def test_own_gains_are_the_joint_normal_conditioned_on_what_was_measured():
    """One draw, one unit at a time, in the space of cells."""
    fitted = fits.retried()
    tree = fitted.tree.copy()
    posterior = group(tree, names.POSTERIOR).isel(chain=[1], draw=[30])
    tree[names.POSTERIOR] = posterior
    found = fc.unit_gains(tree, OMEGA)
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    held = group(tree, names.CONSTANT_DATA)
    basis = held[names.VAR_BASIS].values.reshape(4, 4)
    one = posterior.isel(chain=0, draw=0)
    retry = one[names.VAR_RETRY_SD].item() ** 2 / 3  # the mean of three waves
    weights = np.array([1.0, -1.0, -1.0, 1.0])  # (before, after) × view
    pair = np.array([[-1.0, 0, 1, 0], [0, -1.0, 0, 1]])
    gaps = np.flatnonzero(cells.isnull().any(("state", "view")).values)
    for place in (0, 3, 40, 99, *gaps[:3]):
        values = cells.values[place].ravel()
        seen = np.isfinite(values)
        stratum = str(cells["stratum"].values[place])
        code = list(held["stratum"].values).index(stratum)
        own = basis.T @ one[names.VAR_COVARIANCE].values @ basis
        own *= float(one[names.VAR_STRATUM_SCALE][code]) ** 2
        centre = one[names.VAR_CELL_MEAN].isel(stratum=code).values.ravel()
        pull = own[:, seen] @ np.linalg.inv((own + retry * np.eye(4))[np.ix_(seen, seen)])
        mean = centre + pull @ (values - centre)[seen]
        left = own - pull @ own[seen]
        row = found.iloc[place]
        assert row["mean"] == pytest.approx(weights @ mean)
        assert row["sd"] == pytest.approx(np.sqrt(weights @ left @ weights))
        below = stats.norm.cdf(0, weights @ mean, np.sqrt(weights @ left @ weights))
        assert row["below_zero"] == pytest.approx(below)
        assert row["flip"] == pytest.approx(opposite(pair @ mean, pair @ left @ pair.T).sum())
        assert np.isfinite(row["measured"]) == seen.all()
    assert len(gaps) > 3


def test_own_gains_are_pulled_towards_their_stratum():
    fitted = fits.retried()
    found = fc.unit_gains(fitted.tree, fc.gain(view="direct"))
    assert "flip" not in found
    assert (found["lower"] < found["upper"]).all()
    for _, mine in found.dropna(subset="measured").groupby("stratum"):
        slope = np.polyfit(mine["measured"], mine["mean"], 1)[0]
        assert 0.3 < slope < 0.98


@pytest.mark.parametrize("fitted", [fits.face, fits.steps])
def test_without_waves_a_gain_is_the_measured_one(fitted):
    with pytest.raises(fc.NotAvailable, match="retry noise is not part of this fit"):
        fc.unit_gains(fitted().tree, OMEGA)
