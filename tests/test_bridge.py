"""The synthetic bridge holds the published figures, by the package and by plain numpy."""

import json
import tomllib
from math import comb
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner import cli, names
from fourcorner.design.breakdowns import breakdowns
from fourcorner.design.engine import sample
from fourcorner.estimands import as_estimands
from fourcorner.io.parquet import parquet_bytes
from fourcorner.simulate import bridge
from fourcorner.simulate.bridge import calibration, mechanism
from fourcorner.simulate.study import LAYOUTS, STATES, CalibrationError
from fourcorner.simulate.tables import to_csv_text
from fourcorner.weights import TargetWeights

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
MEAN, SHARE, END, WIDTH, RATE = 0.02, 0.02, 0.05, 0.1, 0.005
VERTICES = ("A", "B", "C")
CELLS = ["state", "view", "readout", "stack", "layout", "wave"]
REFUSED = "# readout_by_stack = "
SCALE = 'scale = ["readout", "stack"]'


@pytest.fixture(scope="module")
def cohort():
    return bridge.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["bridge"]


@pytest.fixture(scope="module")
def spec():
    return fc.read_spec(REPO / "models" / "bridge.toml")


@pytest.fixture(scope="module")
def scores(spec):
    return fc.read_scores(spec)


@pytest.fixture(scope="module")
def estimates(scores, spec):
    """The package's estimates with the study's kind of interval."""
    return fc.estimate(scores, spec, interval="percentile")


@pytest.fixture(scope="module")
def rows(estimates):
    return {(row.name, row.weights): row for row in estimates.itertuples()}


@pytest.fixture(scope="module")
def parts(scores, spec):
    """The three interactions by layout and by wave."""
    declared = as_estimands(spec)
    asked = [declared[f"omega_{vertex}"] for vertex in VERTICES]
    mixture = [TargetWeights(names.EMPIRICAL, None)]
    found = breakdowns(sample(scores), asked, mixture, interval="percentile")
    return [row for row in found if row.by in {"layout", names.WAVE}]


@pytest.fixture(scope="module")
def cells(cohort):
    """The table as an array: trajectory, state, view, vertex, layout, wave; by pandas."""
    levels = [list(STATES), list(bridge.VIEWS), list(VERTICES), list(LAYOUTS), list(bridge.WAVES)]
    corner = cohort.scores["readout"] + "/" + cohort.scores["stack"]
    at = {"joint/deepseek": "A", "binary/deepseek": "B", "binary/gpt4o": "C"}
    factors = ["state", "view", "vertex", "layout", "wave"]
    wide = cohort.scores.assign(vertex=corner.map(at)).pivot_table(
        "margin", "trajectory", factors, aggfunc="first"
    )
    ordered = wide[pd.MultiIndex.from_product(levels, names=factors)]
    return ordered.to_numpy().reshape(100, *map(len, levels))


@pytest.fixture(scope="module")
def units(cohort):
    """Target and success by trajectory."""
    return cohort.scores.groupby("trajectory")[["target", "success"]].first()


def gains(margins):
    """After minus before of (trajectory, state, view, vertex, …) margins."""
    return margins[:, 1] - margins[:, 0]


def omegas(margins):
    """Gain of the generated view minus that of the quote: (trajectory, vertex, …)."""
    gain = gains(margins)
    return gain[:, 1] - gain[:, 0]


def drawn_again(units, seed):
    rng = np.random.default_rng(seed)
    return rng.multinomial(units, np.full(units, 1 / units), size=10_000).astype(float)


def ends(draws):
    return np.percentile(draws, [2.5, 97.5], axis=0)


def equal_target(values, target, times):
    """Draws of the average of the stratum means, those with an empty stratum dropped."""
    members = pd.get_dummies(target).to_numpy(dtype=float)
    counts = times @ members
    whole = (counts > 0).all(axis=1)
    means = (times @ (members * values[:, None]))[whole] / counts[whole]
    return means.mean(axis=1)


def auc(margins, success):
    """The share of pairs that the margins order rightly, a tie one half."""
    above = margins[success][:, None] - margins[~success]
    return ((above > 0) + (above == 0) / 2).mean()


def inverse_count(size):
    """E[1/N | N > 0], N of 100 draws hitting a stratum of `size` of 100."""
    share = size / 100
    chances = {k: comb(100, k) * share**k * (1 - share) ** (100 - k) for k in range(1, 101)}
    return sum(chance / k for k, chance in chances.items()) / sum(chances.values())


def shape(values):
    z = (values - values.mean()) / values.std()
    return (z**3).mean(), (z**4).mean() - 3


def is_near(found, wanted):
    return found == pytest.approx(wanted, abs=MEAN if abs(wanted) <= 1 else SHARE * abs(wanted))


def are_near(found, wanted):
    width = wanted[1] - wanted[0]
    tolerances = [END if abs(end) <= 1 else WIDTH * width for end in wanted]
    return all(
        abs(end - figure) <= tolerance
        for end, figure, tolerance in zip(found, wanted, tolerances, strict=True)
    )


# --- structure ---------------------------------------------------------------------------------


def test_scores_have_the_declared_structure(cohort, published):
    scores = cohort.scores
    assert list(scores.columns) == ["trajectory", "target", "success", *CELLS, "margin"]
    assert len(scores) == 100 * 2 * 2 * 3 * 4 * 4
    assert not scores.duplicated(["trajectory", *CELLS]).any()
    assert scores["trajectory"].nunique() == published["trajectories"]
    assert scores["wave"].nunique() == published["waves"]
    corners = scores[["readout", "stack"]].drop_duplicates()
    assert corners.apply(tuple, axis=1).tolist() == [
        ("joint", "deepseek"),
        ("binary", "deepseek"),
        ("binary", "gpt4o"),
    ]
    assert np.isfinite(scores["margin"]).all()
    assert scores["margin"].round(4).equals(scores["margin"])


def test_labels_belong_to_their_trajectories_and_the_strata_have_their_sizes(cohort):
    labels = cohort.scores[["trajectory", "target", "success"]].drop_duplicates()
    assert len(labels) == 100
    assert sorted(labels["target"].value_counts()) == [5, 7, 38, 50]


def test_all_trajectories_are_complete_at_every_vertex(rows, published):
    for vertex in VERTICES:
        row = rows[f"omega_{vertex}", "empirical"]
        assert (row.units, row.transitions) == (published["trajectories"],) * 2


# --- figures through the design engine ---------------------------------------------------------


@pytest.mark.parametrize("vertex", VERTICES)
def test_interactions_of_the_cohorts_mixture_are_found(rows, published, vertex):
    row = rows[f"omega_{vertex}", "empirical"]
    assert is_near(row.value, published["omega_generated_vs_quote"][vertex])
    assert row.interval[1] < 0


@pytest.mark.parametrize("vertex", VERTICES)
def test_interactions_of_equal_targets_are_found(rows, published, vertex):
    row, wanted = rows[f"omega_{vertex}", "equal_target"], published["equal_target_omega"][vertex]
    assert is_near(row.value, wanted["mean"])
    assert are_near(row.interval, wanted["ci"])
    # P(stratum of five or of seven empty) = 0.95^100 + 0.93^100 = 0.0066
    assert 30 <= row.undefined_draws <= 110


@pytest.mark.parametrize("vertex", VERTICES)
def test_success_is_ranked_better_by_quote_than_by_generated_margins(rows, published, vertex):
    first, second, difference = (
        rows[f"success_{vertex}.{row}", "empirical"] for row in ("first", "second", "difference")
    )
    assert difference.value == pytest.approx(
        published["auc_quote_minus_generated"][vertex], abs=RATE
    )
    assert difference.value == pytest.approx(second.value - first.value)
    assert difference.interval[0] > 0
    assert published["quote_auc_intervals_include_or_touch_half"]
    assert second.interval[0] <= 0.5 <= second.interval[1]


def test_the_directional_criterion_holds_in_the_cohorts_mixture_alone(rows, published):
    def resolved(weights):
        up = [rows[f"quote_gain_{vertex}", weights].interval[0] > 0 for vertex in VERTICES]
        down = [rows[f"generated_gain_{vertex}", weights].interval[1] < 0 for vertex in VERTICES]
        return all(up + down)

    assert published["quote_gain_positive_generated_negative_at_every_vertex"]
    assert resolved("empirical") is published["directional_criterion_empirical"]
    assert published["directional_criterion_equal_target"] == "unresolved"
    assert not resolved("equal_target")
    signs = [np.sign(rows[f"omega_{vertex}", "equal_target"].interval) for vertex in VERTICES]
    assert [tuple(pair) for pair in signs] == [(-1, 1), (-1, -1), (-1, 1)]


def test_the_specs_criteria_say_so(estimates, spec):
    found = fc.criteria(estimates, spec).set_index(["name", "weights"])["verdict"].to_dict()
    assert found == {
        ("directions", "empirical"): "supported",
        ("directions", "equal_target"): "unresolved",
        ("interactions", "empirical"): "supported",
        ("interactions", "equal_target"): "unresolved",
        ("quote_ranks_better", "empirical"): "supported",
        ("quote_ranks_better", "equal_target"): "unresolved",  # an AUC has no other mixture
    }


def test_interactions_are_negative_in_every_wave_and_layout(parts, published):
    found = {(row.name, row.by, row.level) for row in parts}
    levels = [("layout", level) for level in LAYOUTS] + [("wave", level) for level in bridge.WAVES]
    assert found == {(f"omega_{vertex}", *level) for vertex in VERTICES for level in levels}
    negative = all(row.interval[1] < 0 for row in parts)
    assert negative is published["wave_and_layout_intervals_all_negative"]


def test_the_spec_runs_from_the_command_line(capsys):
    assert cli.run(["estimate", str(REPO / "models" / "bridge.toml"), "--json"]) == 0
    names_of_rows = {row["name"] for row in json.loads(capsys.readouterr().out)["estimates"]}
    assert {"omega_A", "generated_gain_C", "success_B.difference"} <= names_of_rows


# --- the corner that nobody scored -------------------------------------------------------------


def with_refused(*, linked):
    text = (REPO / "models" / "bridge.toml").read_text(encoding="utf-8")
    assert text.count(REFUSED) == text.count(SCALE) == 1
    text = text.replace(REFUSED, REFUSED.removeprefix("# "))
    return fc.parse_spec(text.replace(SCALE, "") if linked else text, directory=REPO / "models")


def refusal(spec):
    found = fc.estimate(fc.read_scores(spec), spec, draws=100).set_index(["name", "weights"])
    row = found.loc[("readout_by_stack", "empirical")]
    assert row["value"] is None or np.isnan(row["value"])
    return row["refused"]


def test_the_readout_by_stack_interaction_is_refused_for_want_of_a_scale():
    refused = refusal(with_refused(linked=False))
    assert refused["reason"] == "unlinked_scales"
    # and the vertex that is missing is named all the same
    assert {(cell["readout"], cell["stack"]) for cell in refused["missing"]} == {("joint", "gpt4o")}
    assert "readout = joint, stack = gpt4o" in refused["message"]


def test_were_scales_linked_it_would_be_refused_for_the_missing_corner():
    refused = refusal(with_refused(linked=True))
    assert refused["reason"] == "not_identified"
    corner = {"readout": "joint", "stack": "gpt4o"}
    expected = [
        {"state": state, "view": view, **corner} for state in STATES for view in bridge.VIEWS
    ]
    missing = sorted(tuple(sorted(cell.items())) for cell in refused["missing"])
    assert missing == sorted(tuple(sorted(cell.items())) for cell in expected)


# --- the same by plain numpy -------------------------------------------------------------------


def test_means_of_the_table_are_the_packages(cells, units, rows):
    margins = cells.mean(axis=(-1, -2))
    for place, vertex in enumerate(VERTICES):
        quote, generated = gains(margins)[..., place].T
        by_name = {"quote_gain": quote, "generated_gain": generated, "omega": generated - quote}
        for name, values in by_name.items():
            row, equal = (
                rows[f"{name}_{vertex}", weights] for weights in ("empirical", "equal_target")
            )
            assert row.value == pytest.approx(values.mean(), abs=1e-10)
            by_target = pd.Series(values, index=units.index).groupby(units["target"]).mean()
            assert equal.value == pytest.approx(by_target.mean(), abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_figures_hold_whatever_the_draws_of_the_bootstrap(cells, units, published, seed):
    margins, times = cells.mean(axis=(-1, -2)), drawn_again(100, seed)
    for place, vertex in enumerate(VERTICES):
        values = omegas(margins)[:, place]
        assert ends(times @ values / 100)[1] < 0
        assert are_near(
            ends(equal_target(values, units["target"], times)),
            published["equal_target_omega"][vertex]["ci"],
        )
        quote, generated = (ends(times @ gains(margins)[:, view, place] / 100) for view in (0, 1))
        assert quote[0] > 0 > generated[1]


@pytest.mark.parametrize("seed", range(3))
def test_parts_are_negative_whatever_the_draws_of_the_bootstrap(cells, seed):
    times = drawn_again(100, seed)
    for kept in (-1, -2):  # by layout the mean over waves, by wave that over layouts
        values = omegas(cells.mean(axis=kept)).reshape(100, 12)
        assert (ends(times @ values / 100)[1] < 0).all()


def test_ranks_of_success_of_the_table_are_the_packages(cells, units, rows):
    after, success = cells.mean(axis=(-1, -2))[:, 1], units["success"].to_numpy()
    for place, vertex in enumerate(VERTICES):
        quote, generated = (auc(after[:, view, place], success) for view in (0, 1))
        found = [
            rows[f"success_{vertex}.{name}", "empirical"].value for name in ("first", "second")
        ]
        assert found == pytest.approx([generated, quote], abs=1e-12)


# --- mechanism and calibration -----------------------------------------------------------------


def test_constants_are_the_published_figures(published):
    wanted = [published["omega_generated_vs_quote"][vertex] for vertex in VERTICES]
    assert wanted == list(calibration.OMEGA)
    for vertex, constant in zip(VERTICES, calibration.EQUAL_TARGET_OMEGA, strict=True):
        figure = published["equal_target_omega"][vertex]
        assert list(constant) == [figure["mean"], *figure["ci"]]


@pytest.mark.parametrize("seed", [bridge.DEFAULT_SEED, *range(10)])
def test_means_and_spreads_hold_for_every_seed(seed):
    table = bridge.generate(seed).scores
    keys = ["trajectory", "target", "readout", "stack"]
    means = table.pivot_table("margin", keys, ["view", "state"], aggfunc="mean")
    gain = pd.DataFrame(
        {view: means[view, "after"] - means[view, "before"] for view in bridge.VIEWS}
    )
    omega = gain["generated"] - gain["quote"]
    vertex = gain.index.get_level_values("readout") + "/" + gain.index.get_level_values("stack")
    for place, corner in enumerate(["joint/deepseek", "binary/deepseek", "binary/gpt4o"]):
        own = omega[vertex == corner]
        assert own.mean() == pytest.approx(calibration.OMEGA[place], abs=1e-4)
        by_target = own.groupby("target")
        equal = calibration.EQUAL_TARGET_OMEGA[place]
        assert by_target.mean().mean() == pytest.approx(equal.mean, abs=1e-4)
        # a bootstrap's draws of a stratum of k vary as v / N, N ~ Binomial(100, k / 100) above 0
        standard_error = (equal.high - equal.low) / (2 * 1.96)
        variance = standard_error**2 * 16 / sum(map(inverse_count, (50, 38, 7, 5)))
        spread = by_target.std(ddof=0)
        assert spread.to_numpy() == pytest.approx([np.sqrt(variance)] * 4, rel=1e-3)
        assert gain["quote"][vertex == corner].mean() == pytest.approx(
            -0.42 * calibration.OMEGA[place], abs=1e-4
        )


def test_interactions_are_heavy_tailed_and_no_sample_of_a_normal_model(cells):
    for values in omegas(cells.mean(axis=(-1, -2))).T:
        skewness, kurtosis = shape(values)
        assert skewness < -0.4
        assert kurtosis > 1.5


def test_a_view_that_asserts_the_right_answer_takes_the_gain_away(cohort, cells):
    latents = cohort.truth.groupby("trajectory").first()
    asserts = (latents["view_asserts"] == latents["target"]).to_numpy()
    omega = omegas(cells.mean(axis=(-1, -2)))
    for values in omega.T:
        assert values[asserts].mean() < values[~asserts].mean() - values.std()


def test_retry_noise_is_small_against_the_spread_of_trajectories(cells):
    omega = omegas(cells.mean(axis=-2))  # trajectory, vertex, wave
    between_waves = omega.std(axis=-1, ddof=1)
    between_units = omega.mean(axis=-1).std(axis=0, ddof=1)
    assert (between_waves.mean(axis=0) > 0).all()
    assert (between_waves.mean(axis=0) < 0.1 * between_units).all()


def test_layouts_have_offsets_of_their_own_in_every_wave(cells):
    by_layout = omegas(cells).mean(axis=0)  # vertex, layout, wave
    apart = by_layout.max(axis=1) - by_layout.min(axis=1)
    assert (apart > 0.15 * np.abs(by_layout.mean(axis=(1, 2)))[:, None]).all()
    waves_apart = by_layout.max(axis=2) - by_layout.min(axis=2)
    assert (waves_apart < apart.min(axis=1)[:, None] / 2).all()


def test_truth_is_the_scores_without_layouts_and_retries(cohort):
    keys = ["trajectory", "target", "state", "view", "readout", "stack"]
    assert list(cohort.truth.columns[:7]) == [*keys, "true_margin"]
    truth = cohort.truth.set_index(keys)["true_margin"]
    assert len(truth) == 1200
    assert truth.index.is_unique
    noise = cohort.scores.groupby(keys)["margin"].mean() - truth
    assert noise.notna().all()
    corner = ["readout", "stack"]
    size, spread = noise.groupby(corner).std(), truth.groupby(corner).std()
    assert (size > 0).all()
    assert (size < 0.1 * spread).all()
    assert (noise.groupby(corner).mean().abs() < 4 * size / np.sqrt(400)).all()


def test_truth_latents_are_constant_within_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[7:].tolist()
    first = cohort.truth.groupby("trajectory")[latents].first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert first["evidence_found"].sum() == 65
    assert ((first["evidence_strength"] > 0) == first["evidence_found"]).all()
    assert ((first["evidence_favours"] != "nothing") == first["evidence_found"]).all()
    assert ((first["assertion_strength"] > 0) == (first["view_asserts"] != "nothing")).all()


def test_success_falls_where_the_view_had_the_answer_before_reading():
    rng = np.random.default_rng(0)
    latents = mechanism.draw_latents(rng)
    cells = mechanism.draw_cells(latents, rng)
    coins = np.mean([mechanism.draw_success(cells, latents, rng) for _ in range(400)], axis=0)
    had_it = latents.asserts & (latents.asserted == latents.target)
    assert coins[had_it].mean() < coins[~had_it].mean() - 0.2
    grounded = cells[~had_it, mechanism.AFTER, mechanism.QUOTE, 0]
    high = grounded > np.median(grounded)
    assert coins[~had_it][high].mean() > coins[~had_it][~high].mean() + 0.05


@pytest.mark.parametrize("name", ["bridge.parquet", "bridge_truth.csv"])
def test_committed_files_are_regenerated_byte_for_byte(cohort, name):
    committed = (SAMPLES / name).read_bytes()
    frame = {
        "bridge.parquet": lambda: parquet_bytes(cohort.scores),
        "bridge_truth.csv": lambda: to_csv_text(cohort.truth).encode(),
    }
    assert committed == frame[name]()
    assert len(committed) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = bridge.generate(), bridge.generate(bridge.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.scores["margin"].equals(cohort.scores["margin"])
    assert not other.scores["success"].equals(cohort.scores["success"])


def test_a_seed_that_cannot_be_calibrated_is_refused():
    with pytest.raises(CalibrationError, match="take another seed"):
        bridge.generate(1750)
