"""The synthetic global replay holds the published figures, by the package and by plain numpy."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner import names
from fourcorner.design.breakdowns import breakdowns
from fourcorner.design.engine import sample
from fourcorner.estimands import as_estimands
from fourcorner.io.parquet import parquet_bytes
from fourcorner.simulate import global_replay as replay
from fourcorner.simulate import replay_calibration as calibration
from fourcorner.simulate import replay_missing, replay_states
from fourcorner.simulate.retrieval_cube import CalibrationError, to_csv_text
from fourcorner.weights import TargetWeights

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
MEAN, END, RATE, LEFT_OUT, COUNT = 0.02, 0.05, 0.005, 0.01, 0.02
RETRIES = ("w1", "w2")
KEYS = ["trajectory", "transition", "state", "view", "layout", "wave", "candidate"]


@pytest.fixture(scope="module")
def cohort():
    return replay.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def spec():
    return fc.read_spec(REPO / "models" / "global_replay.toml")


@pytest.fixture(scope="module")
def scores(spec):
    return fc.read_scores(spec)


@pytest.fixture(scope="module")
def rows(scores, spec):
    """The package's estimates by name, weights and cohort, with the study's kind of interval."""
    found = {}
    for kept in (names.COHORT_CONTRAST, names.COHORT_JOINT):
        for row in fc.estimate(scores, spec, cohort=kept, interval="percentile").itertuples():
            found[row.name, row.weights, kept] = row
    return found


@pytest.fixture(scope="module")
def gains(cohort):
    """Gain of every transition by view and wave: numpy on the table's rows, NaN if incomplete."""
    table = cohort.scores.sort_values(KEYS)
    logprob = table["logprob"].to_numpy().reshape(1100, 2, 2, 4, 3, 4)
    option = logprob.mean(axis=3)  # NaN where a layout is missing
    first = table.drop_duplicates(["trajectory", "transition"])
    position = first["target_candidate"].map(sorted(replay.CANDIDATES).index).to_numpy()
    is_target = np.arange(4) == position[:, None, None, None, None]
    own = np.where(is_target, option, 0.0).sum(axis=-1)
    margin = own - np.where(is_target, -np.inf, option).max(axis=-1)
    assert sorted(replay.STATES) == ["after", "before"]  # as sorted above
    gain = (margin[:, 0] - margin[:, 1]).reshape(1100, 6)
    columns = pd.MultiIndex.from_product([replay.VIEWS, replay.WAVES], names=["view", "wave"])
    index = pd.MultiIndex.from_frame(first[["trajectory", "transition"]])
    return pd.DataFrame(gain, index, columns)


def whole(gains, waves):
    """The transitions that are complete in both views in the waves."""
    return gains[[(view, wave) for view in replay.VIEWS for wave in waves]].dropna()


def signs(gains):
    """Cross-channel and same-channel disagreement of each retried transition, and persistence."""
    kept = whole(gains, RETRIES)
    direct, generated = (kept[view][list(RETRIES)].to_numpy() for view in replay.VIEWS)
    cross = (direct[:, :, None] * generated[:, None, :] < 0).mean(axis=(1, 2))
    same = np.stack([(x[:, 0] * x[:, 1] < 0) for x in (direct, generated)], axis=1).mean(axis=1)
    helped = (direct > 0).all(axis=1) & (generated < 0).all(axis=1)
    harmed = (direct < 0).all(axis=1) & (generated > 0).all(axis=1)
    frame = {"cross": cross, "same": same, "excess": cross - same, "+-": helped, "-+": harmed}
    return pd.DataFrame(frame, index=kept.index)


def rate_interval(values, seed):
    """Percentile interval of a mean over transitions, whole trajectories drawn with replacement."""
    by_unit = values.groupby("trajectory").agg(["sum", "size"]).to_numpy(dtype=float)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(by_unit), np.full(len(by_unit), 1 / len(by_unit)), size=10_000)
    sums = drawn @ by_unit
    return np.percentile(sums[:, 0] / sums[:, 1], [2.5, 97.5])


# --- structure ---------------------------------------------------------------------------------


def test_scores_have_the_declared_structure(cohort, published):
    scores, figures = cohort.scores, published["global_replay"]
    factors = {
        "step_type": dict.fromkeys(replay.STEPS),
        "state": replay.STATES,
        "view": replay.VIEWS,
        "layout": replay.LAYOUTS,
        "wave": replay.WAVES,
        "candidate": replay.CANDIDATES,
    }
    assert list(scores.columns) == [
        *("trajectory", "transition", "step_type", "endpoint", "target", "target_candidate"),
        *("success", "state", "view", "layout", "wave", "session", "candidate", "logprob"),
    ]
    for name, levels in factors.items():
        assert scores[name].unique().tolist() == list(levels)
    assert not scores.duplicated(KEYS).any()
    assert len(scores) == 1100 * 2 * 2 * 4 * 3 * 4
    assert len(scores.drop_duplicates(["trajectory", "transition"])) == figures["transitions"]
    assert len(scores.drop_duplicates(["trajectory", "endpoint"])) == figures["endpoint_states"]
    assert scores["trajectory"].nunique() == figures["trajectories"]
    per_unit = scores.groupby("trajectory")["transition"].nunique().unique()
    assert per_unit.tolist() == [figures["transitions_per_trajectory"]]
    assert scores["layout"].nunique() == figures["layouts"]
    assert scores.groupby("wave")["session"].unique().explode().to_dict() == {
        "w0": "first",
        "w1": "retry",
        "w2": "retry",
    }
    assert set(scores["step_type"]) == {
        *("classification", "planning", "retrieval", "extraction"),
        *("drafting", "audit", "revision", "finalization"),
    }


def test_labels_belong_to_their_trajectories_and_the_strata_have_their_sizes(cohort):
    labels = ["target", "target_candidate", "success"]
    units = cohort.scores[["trajectory", *labels]].drop_duplicates()
    assert len(units) == 100
    pairs = units[["target", "target_candidate"]].value_counts()
    assert sorted(pairs) == [5, 7, 38, 50]


def test_a_layout_shows_each_option_and_its_probabilities_sum_to_one(cohort):
    total = np.exp(cohort.scores.set_index(KEYS)["logprob"]).groupby(KEYS[:-1]).sum(min_count=4)
    assert (cohort.scores["logprob"].dropna() <= 0).all()
    np.testing.assert_allclose(total.dropna(), 1, atol=4 * 0.5e-4)
    rounded = cohort.scores["logprob"].round(4)
    assert rounded.equals(cohort.scores["logprob"])


def test_shared_endpoints_have_the_same_scores(cohort):
    keys = ["trajectory", "endpoint", "view", "layout", "wave", "candidate"]
    before, after = (
        cohort.scores[cohort.scores["state"] == state].set_index(keys)["logprob"]
        for state in replay.STATES
    )
    inner = before.index.intersection(after.index)
    assert len(inner) == 100 * 10 * 2 * 4 * 3 * 4
    assert before.loc[inner].equals(after.loc[inner])
    step = cohort.scores["transition"].str[1:].astype(int)
    after = (cohort.scores["state"] == "after").astype(int)
    assert (cohort.scores["endpoint"].str[1:].astype(int) == step - 1 + after).all()


def test_the_retries_have_the_published_requests_and_coverage(cohort, published):
    figures = published["global_retry"]
    keys = ["trajectory", "endpoint", "view", "layout", "wave"]
    retried = cohort.scores[cohort.scores["wave"] != "w0"].drop_duplicates([*keys, "candidate"])
    assert len(retried.drop_duplicates(keys)) == figures["requests"]
    covered = retried["logprob"].notna().groupby([retried["view"], retried["wave"]]).mean()
    for view, share in figures["coverage"].items():
        assert covered[view].to_numpy() == pytest.approx([share, share], abs=1e-4)
    lost = retried[retried["logprob"].isna()].drop(columns=["wave", "session", "logprob"])
    assert lost.groupby(lost.columns.tolist()).size().tolist() == [2] * (52 + 25)


def test_an_option_that_is_missing_is_the_least_likely_of_its_request(cohort):
    missing = cohort.scores[cohort.scores["logprob"].isna()]
    request = cohort.scores.set_index(KEYS[:-1])["logprob"]
    left = request.loc[pd.MultiIndex.from_frame(missing[KEYS[:-1]]).unique()]
    rest = 1 - np.exp(left).groupby(level=list(range(6))).sum()
    least = np.exp(left).groupby(level=list(range(6))).min()
    assert (rest <= least + 4 * 0.5e-4).all()


@pytest.mark.parametrize("seed", range(20))
def test_cohort_sizes_hold_for_every_seed(seed):
    missing = replay_missing.draw_missing(np.random.default_rng(seed))
    first, retry = missing.first, missing.retry.any(axis=-1)
    complete = [~(spoiled[:, 1:] | spoiled[:, :-1]) for spoiled in (first, retry)]
    assert [int(kept.sum()) for kept in complete] == [1004, 975]
    assert (retry | ~first).all()
    lost = dict.fromkeys(range(2), 0)
    for endpoints, view, waves, _ in missing.requests():
        if waves == [1, 2]:
            lost[view] += int(endpoints.sum())
    assert lost == {0: 52, 1: 25}


# --- figures through the design engine ---------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "weights", "figure"),
    [
        ("direct_gain", "empirical", "direct_gain"),
        ("generated_gain", "empirical", "generated_gain"),
        ("omega", "empirical", "omega"),
        ("omega", "equal_target", "equal_target_omega"),
        ("direct_gain", "equal_target", "equal_target_direct_gain"),
    ],
)
def test_first_acquisition_means_are_found(rows, published, name, weights, figure):
    row, wanted = (
        rows[name, weights, names.COHORT_CONTRAST],
        published["global_replay"][figure],
    )
    assert row.transitions == published["global_replay"]["complete_first_acquisition"]
    assert row.value == pytest.approx(wanted["mean"], abs=MEAN)
    assert row.interval == pytest.approx(wanted["ci"], abs=END)


@pytest.mark.parametrize("wave", [0, 1])
@pytest.mark.parametrize("name", ["direct_gain", "generated_gain", "omega"])
def test_retry_means_are_found_on_the_transitions_complete_in_both_waves(
    rows, published, name, wave
):
    figures = published["global_retry"]
    row = rows[f"{name}_{RETRIES[wave]}", "empirical", names.COHORT_JOINT]
    assert (row.transitions, row.units) == (figures["complete_both_waves"], 100)
    assert row.value == pytest.approx(figures[name][wave]["mean"], abs=MEAN)
    assert row.interval == pytest.approx(figures[name][wave]["ci"], abs=END)


@pytest.mark.parametrize("kept", [names.COHORT_CONTRAST, names.COHORT_JOINT])
@pytest.mark.parametrize("name", ["direct_gain", "generated_gain", "omega"])
def test_the_retry_waves_agree_and_their_mean_is_the_figure_on_each_cohort(
    rows, published, name, kept
):
    one, two = (rows[f"{name}_{wave}", "empirical", kept].value for wave in RETRIES)
    both = rows[f"{name}_retry", "empirical", kept].value
    assert one == pytest.approx(two, abs=0.002)
    wanted = np.mean([figure["mean"] for figure in published["global_retry"][name]])
    assert both == pytest.approx(wanted, abs=MEAN)


def test_omega_is_as_often_negative_as_positive_but_further(rows, published):
    figures = published["global_replay"]
    median, trimmed, negative = (
        rows[f"omega_{name}", "empirical", names.COHORT_CONTRAST]
        for name in ("median", "trimmed", "negative")
    )
    assert median.value == pytest.approx(figures["median_omega"], abs=MEAN)
    assert trimmed.value == pytest.approx(figures["trimmed10_mean_omega"], abs=MEAN)
    assert negative.count == pytest.approx(figures["negative_omega"], rel=COUNT)
    assert negative.value == pytest.approx(negative.count / 1004)


def test_omega_left_out_and_by_layout_are_found(scores, spec, published):
    figures = published["global_replay"]
    asked = [as_estimands(spec)["omega"]]
    mixture = [TargetWeights(names.EMPIRICAL, None)]
    found = breakdowns(sample(scores), asked, mixture, interval="percentile")
    left = [row.value for row in found if row.by == names.LEAVE_ONE_OUT]
    assert left == pytest.approx(figures["leave_one_trajectory_out_omega"], abs=LEFT_OUT)
    layouts = [row for row in found if row.by == "layout"]
    values = sorted(row.value for row in layouts)
    ends = figures["layout_specific_omega_range"]
    assert [values[0], values[-1]] == pytest.approx(ends, abs=MEAN)
    assert len(values) == figures["layouts"]
    largest = max(row.interval[1] for row in layouts)
    assert largest == pytest.approx(figures["layout_specific_largest_upper"], abs=END)


# --- signs, by plain numpy ---------------------------------------------------------------------


def test_gains_of_the_table_are_the_packages(gains, rows):
    for wave in replay.WAVES:
        kept = whole(gains, ["w0"] if wave == "w0" else RETRIES)
        cohort = names.COHORT_CONTRAST if wave == "w0" else names.COHORT_JOINT
        for view in replay.VIEWS:
            name = f"{view}_gain" if wave == "w0" else f"{view}_gain_{wave}"
            row = rows[name, "empirical", cohort]
            assert row.transitions == len(kept)
            assert kept[view, wave].mean() == pytest.approx(row.value, abs=1e-10)


def test_first_acquisition_gains_have_opposite_signs_as_often(gains, published):
    figures = published["global_replay"]
    kept = whole(gains, ["w0"])
    opposite = int((kept["direct", "w0"] * kept["generated", "w0"] < 0).sum())
    assert len(kept) == figures["complete_first_acquisition"]
    assert opposite == pytest.approx(figures["opposite_sign_pairs_first_acquisition"], rel=COUNT)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("cross", "cross_channel_disagreement"),
        ("same", "same_channel_disagreement"),
        ("excess", "excess"),
    ],
)
def test_rates_of_disagreement_and_their_intervals_are_found(gains, published, name, figure, seed):
    found, wanted = signs(gains)[name], published["global_retry"][figure]
    assert found.mean() == pytest.approx(wanted["rate"], abs=RATE)
    assert rate_interval(found, seed) == pytest.approx(wanted["ci"], abs=RATE)


def test_same_channel_flips_are_five_or_six_and_round_to_the_figure(gains, published):
    figures = published["global_retry"]
    same = signs(gains)["same"]
    flips = 2 * same.sum()  # each transition has a pair of waves in each of two channels
    assert flips in figures["same_channel_flips"]
    assert round(same.mean(), 3) == figures["same_channel_disagreement"]["rate"]


def test_persistent_disagreement_is_found_in_both_orientations(gains, published):
    figures = published["global_retry"]["persistent_disagreement"]
    found = signs(gains)
    helped, harmed = int(found["+-"].sum()), int(found["-+"].sum())
    assert helped == pytest.approx(figures["direct_positive_generated_negative"], rel=COUNT)
    assert harmed == pytest.approx(figures["opposite"], rel=COUNT)
    assert helped + harmed == pytest.approx(figures["total"], rel=COUNT)


@pytest.mark.parametrize("zone", ["0.05", "0.10", "0.20"])
def test_disagreement_outside_dead_zones_is_found(gains, published, zone):
    kept = whole(gains, RETRIES)
    for wave, wanted in zip(
        RETRIES, published["global_retry"]["dead_zone_counts"][zone], strict=True
    ):
        direct, generated = kept["direct", wave], kept["generated", wave]
        clear = (direct.abs() > float(zone)) & (generated.abs() > float(zone))
        found = int((clear & (direct * generated < 0)).sum())
        assert found == pytest.approx(wanted, rel=COUNT)


def test_retrieval_carries_most_of_the_mean_and_magnitudes_are_lopsided(gains, cohort):
    kept = whole(gains, ["w0"])
    omega = kept["generated", "w0"] - kept["direct", "w0"]
    steps = cohort.scores.drop_duplicates("transition").set_index("transition")["step_type"]
    step = steps.reindex(omega.index.get_level_values("transition")).to_numpy()
    assert omega[step == "retrieval"].sum() / omega.sum() > 0.8
    assert omega[omega < 0].abs().mean() > 1.4 * omega[omega > 0].mean()


def test_the_retrieval_step_of_the_sessions_differs_and_the_others_hardly_do(gains, cohort):
    moved = gains.xs("w1", axis=1, level="wave") - gains.xs("w0", axis=1, level="wave")
    retrieval = moved.index.get_level_values("transition") == "s04"
    assert moved[retrieval]["generated"].mean() > 0.3
    assert moved[~retrieval].mean().abs().max() < 0.02
    retried = gains.xs("w2", axis=1, level="wave") - gains.xs("w1", axis=1, level="wave")
    assert retried.std().max() < 0.03


# --- generator ---------------------------------------------------------------------------------


def test_constants_are_the_published_figures(published):
    first, retry = published["global_replay"], published["global_retry"]
    for constant, figure in [
        (calibration.DIRECT, first["direct_gain"]),
        (calibration.OMEGA, first["omega"]),
        (calibration.EQUAL_TARGET_DIRECT, first["equal_target_direct_gain"]),
        (calibration.EQUAL_TARGET_OMEGA, first["equal_target_omega"]),
        (calibration.RETRY_DIRECT, retry["direct_gain"][0]),
    ]:
        assert list(constant) == [figure["mean"], *figure["ci"]]
    waves = [[wave["mean"], *wave["ci"]] for wave in retry["omega"]]
    assert list(calibration.RETRY_OMEGA) == pytest.approx(np.mean(waves, axis=0))
    assert sorted(calibration.LAYOUT_OMEGAS) == first["layout_specific_omega_range"]
    assert first["complete_first_acquisition"] == replay_missing.COMPLETE_FIRST
    assert retry["complete_both_waves"] == replay_missing.COMPLETE_RETRY


@pytest.mark.parametrize("seed", [replay.DEFAULT_SEED, 0, 1])
def test_means_hold_for_every_seed(seed, spec):
    scores = fc.read_scores(spec, replay.generate(seed).scores)
    first, retry = (
        fc.estimate(scores, spec, cohort=kept, draws=100).set_index(["name", "weights"])["value"]
        for kept in (names.COHORT_CONTRAST, names.COHORT_JOINT)
    )
    for found, name, weights, figure in [
        (first, "direct_gain", "empirical", calibration.DIRECT),
        (first, "omega", "empirical", calibration.OMEGA),
        (first, "direct_gain", "equal_target", calibration.EQUAL_TARGET_DIRECT),
        (first, "omega", "equal_target", calibration.EQUAL_TARGET_OMEGA),
        (retry, "direct_gain_retry", "empirical", calibration.RETRY_DIRECT),
        (retry, "omega_retry", "empirical", calibration.RETRY_OMEGA),
    ]:
        assert found[name, weights] == pytest.approx(figure.mean, abs=1e-4)


def test_truth_is_the_margins_without_sessions_waves_and_layouts(cohort, gains):
    keys = ["trajectory", "endpoint", "target", "view"]
    assert list(cohort.truth.columns[:6]) == [*keys, "true_margin_first", "true_margin_retry"]
    truth = cohort.truth.sort_values(["trajectory", "view", "endpoint"])
    assert len(truth) == 100 * 12 * 2
    assert not truth.duplicated(keys).any()
    for session, wave in (("first", "w0"), ("retry", "w1")):
        margin = truth[f"true_margin_{session}"].to_numpy().reshape(100, 2, 12)
        for place, view in enumerate(replay.VIEWS):
            noise = gains[view, wave].to_numpy() - np.diff(margin[:, place]).ravel()
            noise = noise[np.isfinite(noise)]
            assert 1000 < len(noise) < 1100
            assert 0.02 < noise.std() < 0.15
            assert abs(noise.mean()) < 0.02


def test_truth_latents_belong_to_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[6:].tolist()
    first = cohort.truth.groupby("trajectory")[latents].first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert first["evidence_found"].sum() == 65
    assert ((first["evidence_strength"] > 0) == first["evidence_found"]).all()
    assert ((first["evidence_favours"] != "nothing") == first["evidence_found"]).all()
    assert ((first["assertion_strength"] > 0) == (first["view_asserts"] != "nothing")).all()


def test_positions_cancel_over_layouts():
    added = replay_states.acquisition(np.random.default_rng(0))
    assert np.abs(added).max() > 1
    assert added.std() > 0.2
    assert added.mean(axis=4).std() < 0.06  # what sessions and noise add


def test_committed_files_are_regenerated_byte_for_byte(cohort):
    parquet = (SAMPLES / "global_replay.parquet").read_bytes()
    assert parquet == parquet_bytes(cohort.scores)
    assert len(parquet) < 2_000_000
    truth = (SAMPLES / "global_replay_truth.csv").read_bytes()
    assert truth == to_csv_text(cohort.truth).encode()
    assert replay.files() == {
        "global_replay.parquet": parquet,
        "global_replay_truth.csv": truth.decode(),
    }


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = replay.generate(), replay.generate(replay.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.scores["logprob"].equals(cohort.scores["logprob"])


def test_the_stretch_meets_a_square_or_comes_nearest():
    rest, part = np.array([1.0, -1.0]), np.array([1.0, 1.0])
    # (1 + y)² + (y - 1)² = 2 + 2 y²: 10 at y = 2, and never below 2
    assert calibration.stretched(rest, part, 10.0) == pytest.approx(2.0)
    assert calibration.stretched(rest, part, 1.0) == pytest.approx(0.0)


def test_layout_slopes_move_the_extremes_and_sum_to_zero():
    slopes = calibration.layout_slopes([-0.3, -0.1, -0.4, -0.5])
    assert slopes == pytest.approx([0.136, -0.104, 0.136, -0.168])


def test_a_stratum_without_two_steps_to_move_is_refused():
    complete = np.array([[True, True], [True, False], [True, True], [True, True]])
    session = calibration.Session(np.ones((4, 2)), complete, np.array([0, 0, 1, 1]), 1)
    with pytest.raises(CalibrationError, match="take another seed"):
        session.spread()
