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
from fourcorner.simulate.global_replay import calibration, mechanism
from fourcorner.simulate.global_replay import missing as gaps
from fourcorner.simulate.study import LAYOUTS, STATES, CalibrationError
from fourcorner.simulate.tables import to_csv_text
from fourcorner.weights import TargetWeights

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
MEAN, END, RATE, LEFT_OUT, COUNT = 0.02, 0.05, 0.005, 0.01, 0.02
RETRIES = ("w1", "w2")
ZONES = (0.05, 0.1, 0.2)
FAMILIES = {"first_signs": ("w0",), "signs": RETRIES}
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
def broken_down(scores, spec):
    """What parts of the cohort say of the interaction, and waves of signs beyond dead zones."""
    declared = as_estimands(spec)
    asked = [declared["omega"], *(declared[f"signs.beyond_{zone}"] for zone in ZONES)]
    mixture = [TargetWeights(names.EMPIRICAL, None)]
    return breakdowns(sample(scores), asked, mixture, interval="percentile")


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
    assert sorted(STATES) == ["after", "before"]  # as sorted above
    gain = (margin[:, 0] - margin[:, 1]).reshape(1100, 6)
    columns = pd.MultiIndex.from_product([replay.VIEWS, replay.WAVES], names=["view", "wave"])
    index = pd.MultiIndex.from_frame(first[["trajectory", "transition"]])
    return pd.DataFrame(gain, index, columns)


def whole(gains, waves):
    """The transitions that are complete in both views in the waves."""
    return gains[[(view, wave) for view in replay.VIEWS for wave in waves]].dropna()


def signs(gains, waves):
    """Every row of a family of signs, by transition: numpy on the gains, no word of the package."""
    kept = whole(gains, waves)
    direct, generated = (kept[view][list(waves)].to_numpy() for view in replay.VIEWS)
    one, other = direct[:, :, None], generated[:, None, :]  # each wave of one, each of the other
    frame = {
        "gain.first": direct.mean(axis=1),
        "gain.second": generated.mean(axis=1),
        "omega": (generated - direct).mean(axis=1),
        "cross_channel": (one * other < 0).mean(axis=(1, 2)),
        "cross_channel+-": ((one > 0) & (other < 0)).mean(axis=(1, 2)),
        "cross_channel-+": ((one < 0) & (other > 0)).mean(axis=(1, 2)),
        "zero": (direct * generated == 0).any(axis=1),
    }
    for zone in ZONES:
        far = np.minimum(np.abs(direct), np.abs(generated)) > zone
        frame[f"beyond_{zone}"] = (far & (direct * generated < 0)).mean(axis=1)
    if len(waves) == 2:
        flips = np.stack([x[:, 0] * x[:, 1] < 0 for x in (direct, generated)])
        frame["same_channel"] = flips.mean(axis=0)
        frame["excess"] = frame["cross_channel"] - frame["same_channel"]
        frame["persistent+-"] = (direct > 0).all(axis=1) & (generated < 0).all(axis=1)
        frame["persistent-+"] = (direct < 0).all(axis=1) & (generated > 0).all(axis=1)
        frame["persistent"] = frame["persistent+-"] | frame["persistent-+"]
    return pd.DataFrame(frame, index=kept.index).astype(float)


def resampled(values, seed):
    """Percentile intervals of means over transitions, whole trajectories drawn again."""
    by_unit = values.groupby("trajectory").agg("sum")
    size = values.groupby("trajectory").size().to_numpy()
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(size), np.full(len(size), 1 / len(size)), size=10_000)
    means = (drawn @ by_unit.to_numpy()) / (drawn @ size)[:, None]
    return pd.DataFrame(np.percentile(means, [2.5, 97.5], axis=0).T, index=by_unit.columns)


# --- structure ---------------------------------------------------------------------------------


def test_scores_have_the_declared_structure(cohort, published):
    scores, figures = cohort.scores, published["global_replay"]
    factors = {
        "step_type": dict.fromkeys(replay.STEPS),
        "state": STATES,
        "view": replay.VIEWS,
        "layout": LAYOUTS,
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
        for state in STATES
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
    missing = gaps.draw_missing(np.random.default_rng(seed))
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


def test_omega_left_out_and_by_layout_are_found(broken_down, published):
    figures = published["global_replay"]
    found = [row for row in broken_down if row.name == "omega"]
    left = [row.value for row in found if row.by == names.LEAVE_ONE_OUT]
    assert left == pytest.approx(figures["leave_one_trajectory_out_omega"], abs=LEFT_OUT)
    layouts = [row for row in found if row.by == "layout"]
    values = sorted(row.value for row in layouts)
    ends = figures["layout_specific_omega_range"]
    assert [values[0], values[-1]] == pytest.approx(ends, abs=MEAN)
    assert len(values) == figures["layouts"]
    largest = max(row.interval[1] for row in layouts)
    assert largest == pytest.approx(figures["layout_specific_largest_upper"], abs=END)


# --- signs, through the design engine ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "figure"),
    [("gain.first", "direct_gain"), ("gain.second", "generated_gain"), ("omega", "omega")],
)
def test_means_beside_the_signs_are_found(rows, published, name, figure):
    first = rows[f"first_signs.{name}", "empirical", names.COHORT_CONTRAST]
    wanted = published["global_replay"][figure]
    assert first.value == pytest.approx(wanted["mean"], abs=MEAN)
    assert first.interval == pytest.approx(wanted["ci"], abs=END)
    retried = rows[f"signs.{name}", "empirical", names.COHORT_CONTRAST]
    for wave in published["global_retry"][figure]:
        assert retried.value == pytest.approx(wave["mean"], abs=MEAN)
        assert retried.interval == pytest.approx(wave["ci"], abs=END)


def test_first_acquisition_gains_have_opposite_signs_as_often(rows, published):
    figures = published["global_replay"]
    row = rows["first_signs.cross_channel", "empirical", names.COHORT_CONTRAST]
    assert row.transitions == figures["complete_first_acquisition"]
    assert row.count == pytest.approx(figures["opposite_sign_pairs_first_acquisition"], rel=COUNT)


@pytest.mark.parametrize("name", ["cross_channel", "same_channel", "excess"])
def test_rates_of_disagreement_and_their_intervals_are_found(rows, published, name):
    figures = published["global_retry"]
    row = rows[f"signs.{name}", "empirical", names.COHORT_CONTRAST]
    wanted = figures["excess" if name == "excess" else f"{name}_disagreement"]
    assert (row.transitions, row.units) == (figures["complete_both_waves"], 100)
    assert row.value == pytest.approx(wanted["rate"], abs=RATE)
    assert row.interval == pytest.approx(wanted["ci"], abs=RATE)


def test_same_channel_flips_are_five_or_six_and_round_to_the_figure(rows, published):
    figures = published["global_retry"]
    row = rows["signs.same_channel", "empirical", names.COHORT_CONTRAST]
    # each transition has a pair of waves in each of two channels
    flips = 2 * row.transitions * row.value
    assert any(flips == pytest.approx(count) for count in figures["same_channel_flips"])
    assert round(row.value, 3) == figures["same_channel_disagreement"]["rate"]


def test_persistent_disagreement_is_found_in_both_orientations(rows, published):
    figures = published["global_retry"]["persistent_disagreement"]
    for name, figure in [
        ("persistent", "total"),
        ("persistent+-", "direct_positive_generated_negative"),
        ("persistent-+", "opposite"),
    ]:
        row = rows[f"signs.{name}", "empirical", names.COHORT_CONTRAST]
        assert row.count == pytest.approx(figures[figure], rel=COUNT)


@pytest.mark.parametrize("zone", ["0.05", "0.10", "0.20"])
def test_disagreement_outside_dead_zones_is_found(broken_down, published, zone):
    name = f"signs.beyond_{float(zone)}"
    found = [row for row in broken_down if row.name == name and row.by == names.WAVE]
    assert [row.level for row in found] == list(RETRIES)
    wanted = published["global_retry"]["dead_zone_counts"][zone]
    assert [row.count for row in found] == pytest.approx(wanted, rel=COUNT)


# --- the same by plain numpy -------------------------------------------------------------------


def test_gains_of_the_table_are_the_packages(gains, rows):
    for wave in replay.WAVES:
        kept = whole(gains, ["w0"] if wave == "w0" else RETRIES)
        cohort = names.COHORT_CONTRAST if wave == "w0" else names.COHORT_JOINT
        for view in replay.VIEWS:
            name = f"{view}_gain" if wave == "w0" else f"{view}_gain_{wave}"
            row = rows[name, "empirical", cohort]
            assert row.transitions == len(kept)
            assert kept[view, wave].mean() == pytest.approx(row.value, abs=1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_signs_of_the_table_are_the_packages(gains, rows, cohort, family):
    own = signs(gains, FAMILIES[family])
    assert {name for name, *_ in rows if name.startswith(f"{family}.")} == {
        f"{family}.{name}" for name in own
    }
    target = cohort.scores.drop_duplicates("trajectory").set_index("trajectory")["target"]
    by_target = own.groupby(own.index.get_level_values("trajectory").map(target)).mean()
    for name, values in own.items():
        row, equal = (
            rows[f"{family}.{name}", weights, names.COHORT_CONTRAST]
            for weights in ("empirical", "equal_target")
        )
        assert row.transitions == equal.transitions == len(own)
        assert row.value == pytest.approx(values.mean(), abs=1e-12)
        assert equal.value == pytest.approx(by_target[name].mean(), abs=1e-12)
        counted = name != "excess" and values.isin([0, 1]).all()  # a difference counts nothing
        assert row.count == (values.sum() if counted else None)


def test_disagreement_outside_dead_zones_by_wave_is_the_tables(gains, broken_down):
    found = [row for row in broken_down if row.by == names.WAVE and row.name != "omega"]
    assert len(found) == len(ZONES) * len(RETRIES)
    for row in found:
        own = signs(gains, [row.level])[row.name.removeprefix("signs.")]
        assert (row.count, row.transitions) == (own.sum(), len(own))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_of_signs_are_those_of_trajectories_drawn_again(gains, rows, family, seed):
    own = signs(gains, FAMILIES[family])
    for name, ends in resampled(own, seed).iterrows():
        found = rows[f"{family}.{name}", "empirical", names.COHORT_CONTRAST].interval
        if name == "zero":  # no gain is: no resample differs
            assert found is None
            continue
        # ends of 10,000 draws vary by a few hundredths of a width, and by a transition
        slack = max((ends[1] - ends[0]) / 20, 1 / len(own))
        assert found == pytest.approx(tuple(ends), abs=slack)


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
    assert first["complete_first_acquisition"] == gaps.COMPLETE_FIRST
    assert retry["complete_both_waves"] == gaps.COMPLETE_RETRY


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
    added = mechanism.acquisition(np.random.default_rng(0))
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
