"""Posterior contrasts: the same algebra as on cells, any mixture without refitting."""

import numpy as np
import pytest
import xarray as xr

import fits
import fourcorner as fc
import trees
from fourcorner import names
from fourcorner.bayes import mixtures, posterior
from fourcorner.bayes.tree import group
from fourcorner.estimands import Estimand
from fourcorner.weights import TargetWeights, resolve


def omega_by_hand(tree):
    """Ω from posterior cell means, corner by corner: (chain, draw, stratum)."""
    means = group(tree, "posterior")["cell_mean"]
    corner = {
        (state, view): means.sel(state=state, view=view).values
        for state in ("before", "after")
        for view in ("direct", "generated")
    }
    second = corner["after", "generated"] - corner["before", "generated"]
    return second - (corner["after", "direct"] - corner["before", "direct"])


OMEGA = fc.omega(view=("direct", "generated"))


def test_a_contrast_of_the_posterior_is_the_contrast_of_its_cell_means():
    tree = fits.face().tree
    np.testing.assert_allclose(mixtures.stratum_values(tree, OMEGA), omega_by_hand(tree))


def test_declared_weights_are_applied_to_each_draw():
    tree = fits.face().tree
    by_hand = omega_by_hand(tree) @ [0.25, 0.75]  # strata in text order: large, small
    frame = fc.posterior(tree, OMEGA, {"mine": {"large": 0.25, "small": 0.75}})
    units = frame[frame["population"] == "units"].iloc[0]
    assert units["value"] == pytest.approx(by_hand.mean())
    assert units["interval"] == pytest.approx(tuple(np.quantile(by_hand, [0.025, 0.975])))
    assert units["interval_kind"] == "equal-tailed credible"
    assert units["level"] == 0.95


def test_empirical_mixture_is_dirichlet_and_wider_than_the_cohorts_own():
    tree = fits.face().tree
    mixture = resolve("empirical", "empirical", ["large", "small"])
    drawn = mixtures.mixture_draws(tree, mixture)
    assert drawn is not None
    flat = drawn.reshape(-1, 2)
    np.testing.assert_allclose(flat.sum(axis=1), 1)
    np.testing.assert_allclose(flat.mean(axis=0), [0.7, 0.3], atol=0.005)
    # variance of a Dirichlet(70, 30) component: p (1 - p) / 101
    assert flat[:, 0].var() == pytest.approx(0.7 * 0.3 / 101, rel=0.1)


def test_mixture_draws_are_shared_by_estimands_so_differences_are_paired():
    tree = fits.face().tree
    mixture = resolve("empirical", "empirical", ["large", "small"])
    direct, generated = fc.gain(view="direct"), fc.gain(view="generated")
    draws = [mixtures.contrast_draws(tree, item, mixture) for item in (direct, generated, OMEGA)]
    np.testing.assert_allclose(draws[2], draws[1] - draws[0], atol=1e-12)


def test_cohort_rows_are_observed_values_without_interval():
    frame = fc.posterior(fits.face().tree, OMEGA, {"equal": "equal"})
    row = frame[frame["population"] == "cohort"].iloc[0]
    table = fits.face_table().pivot_table(
        index=["target", "task"], columns=["state", "view"], values="margin"
    )
    values = (
        table["after", "generated"]
        - table["before", "generated"]
        - table["after", "direct"]
        + table["before", "direct"]
    )
    assert row["value"] == pytest.approx(values.groupby("target").mean().mean())
    assert row["interval"] is None
    assert "retry noise is not measured" in row["notes"][0]


def test_probabilities_are_shares_of_draws_and_never_zero_or_one():
    tree = fits.face().tree
    frame = fc.probabilities(tree, {"omega": OMEGA}, {"equal": "equal"}).set_index("event")
    means = group(tree, "posterior")["cell_mean"]
    gains = (means.sel(state="after") - means.sel(state="before")).mean("stratum")
    direct, generated = gains.sel(view="direct").values, gains.sel(view="generated").values
    size = direct.size
    events = {
        "omega<0": generated - direct < 0,
        "reversal+-": (direct > 0) & (generated < 0),
        "reversal-+": (direct < 0) & (generated > 0),
    }
    assert set(frame.index) == {*events, "flip_new"}
    for event, held in events.items():
        assert frame.loc[event, "value"] == pytest.approx((held.sum() + 0.5) / (size + 1))
    assert ((frame["value"] > 0) & (frame["value"] < 1)).all()


def test_reversal_is_asked_of_a_first_order_omega_only():
    tree = fits.cube().tree
    frame = fc.probabilities(tree, fits.cube().spec)
    events = frame.groupby("name")["event"].agg(set).to_dict()
    assert events["quote_gain"] == {"gain<0"}
    assert events["omega_shift"] == {"difference<0"}
    assert events["generated_vs_quote"] == {"omega<0", "reversal+-", "reversal-+", "flip_new"}


def test_weights_on_a_stratum_outside_the_fit_are_refused():
    tree = fits.face().tree.copy(deep=True)
    constants = group(tree, "constant_data").drop_vars("strata_of_data")
    more = ("data_stratum", ["huge", "large", "small"])
    tree["constant_data"] = constants.assign(strata_of_data=more)
    row = fc.posterior(tree, OMEGA, {"equal": "equal"}).iloc[0]
    assert row["value"] is None or np.isnan(row["value"])
    assert row["refused"]["reason"] == "empty_stratum"
    fine = fc.posterior(tree, OMEGA, {"mine": {"huge": 0.0, "large": 0.5, "small": 0.5}}).iloc[0]
    assert np.isfinite(fine["value"])


def test_adding_a_constant_per_channel_leaves_omega_and_moves_no_gain():
    tree = fits.face().tree
    shifted = tree.copy(deep=True)
    posterior_group = group(shifted, "posterior")
    offset = xr.DataArray([3.0, -2.0], dims="view", coords={"view": ["direct", "generated"]})
    moved = posterior_group["cell_mean"] + offset
    dims = posterior_group["cell_mean"].dims
    shifted["posterior"] = posterior_group.assign(cell_mean=moved.transpose(*dims))
    for contrast in (OMEGA, fc.gain(view="direct")):
        assert contrast.cancels_offsets
        np.testing.assert_allclose(
            mixtures.stratum_values(shifted, contrast),
            mixtures.stratum_values(tree, contrast),
            atol=1e-9,
        )
    shift = fc.endpoint_shift("before", view=("direct", "generated"))
    np.testing.assert_allclose(
        mixtures.stratum_values(shifted, shift) - mixtures.stratum_values(tree, shift), -5.0
    )
    assert names.CELLS in group(tree, "observed_data")


def gain_values():
    """Ω of every unit of the face, by pandas, with its stratum."""
    table = fits.face_table().pivot_table(
        index=["target", "task"], columns=["state", "view"], values="margin"
    )
    gains = table["after"] - table["before"]
    return gains["generated"] - gains["direct"]


def test_a_mix_of_mixtures_is_the_mix_of_their_posteriors():
    tree = fits.face().tree
    strata = ["large", "small"]
    equal, empirical = resolve("equal", "equal", strata), resolve("empirical", "empirical", strata)
    mix = TargetWeights("mix", 0.75 * equal.shares, 0.25)
    drawn = [mixtures.contrast_draws(tree, OMEGA, of) for of in (mix, equal, empirical)]
    np.testing.assert_allclose(drawn[0], 0.75 * drawn[1] + 0.25 * drawn[2], atol=1e-12)
    # the cohort has 70 large and 30 small units
    np.testing.assert_allclose(mixtures.shares(tree, mix), [0.375 + 0.175, 0.375 + 0.075])


def test_rope_is_the_share_of_draws_within_it_for_comparisons_of_gains_alone():
    tree = fits.face().tree
    asked = [Estimand("omega", OMEGA), Estimand("direct", fc.gain(view="direct"))]
    mixture = resolve("equal", "equal", ["large", "small"])
    rows = posterior.probabilities(tree, asked, [mixture], rope=1.2)
    inside = (np.abs(omega_by_hand(tree) @ [0.5, 0.5]) < 1.2).sum()
    (row,) = [row for row in rows if row.event == "rope"]
    assert (row.name, row.rope) == ("omega", 1.2)
    assert row.value == pytest.approx((inside + 0.5) / 4001)
    assert {row.rope for row in rows if row.event != "rope"} == {None}
    without = posterior.probabilities(tree, asked, [mixture])
    assert [row.event for row in without if row.event == "rope"] == []


def test_with_retry_noise_measured_the_cohorts_own_mean_has_its_interval():
    tree = trees.with_retry_noise(fits.face().tree, sd=0.3, waves=2)
    mixture = resolve("mine", {"large": 0.25, "small": 0.75}, ["large", "small"])
    row = posterior.estimates(tree, [Estimand("omega", OMEGA)], [mixture])[1]
    values = gain_values().groupby("target").mean()
    assert row.population == "cohort"
    assert row.value == pytest.approx(0.25 * values["large"] + 0.75 * values["small"])
    # four cells, each the mean of two waves; strata of 70 and 30 units
    sd = np.sqrt(4 * 0.3**2 / 2 * (0.25**2 / 70 + 0.75**2 / 30))
    low, high = row.interval
    assert (high - low) / 2 == pytest.approx(1.96 * sd, rel=0.06)
    assert (high + low) / 2 == pytest.approx(row.value, abs=0.1 * sd)
    assert row.notes == ()


def test_a_cohort_row_rests_on_the_units_that_have_the_contrasts_cells():
    tree = trees.without_cell(fits.face().tree, units=slice(0, 7), state="after", view="generated")
    asked = [Estimand("omega", OMEGA), Estimand("direct", fc.gain(view="direct"))]
    mixture = resolve("empirical", "empirical", ["large", "small"])
    _, omega, _, direct = posterior.estimates(tree, asked, [mixture])
    lacking = group(tree, names.OBSERVED_DATA)["unit"].values[:7]
    values = gain_values().reset_index(level="target")
    kept = values[~values.index.isin(lacking)][0]
    assert omega.value == pytest.approx(kept.mean())
    assert (omega.units, omega.interval) == (93, None)
    assert "7 of 100 units lack a cell" in omega.notes[0]
    assert direct.units == 100
    assert "retry noise is not measured" in direct.notes[0]
