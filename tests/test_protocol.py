"""The synthetic probing study holds the published figures, by plain pandas and by the package."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner.estimands import as_estimands
from fourcorner.simulate import protocol as probing
from fourcorner.simulate.options import margins
from fourcorner.simulate.protocol import calibration, mechanism
from fourcorner.simulate.study import STRATUM_SIZES, CalibrationError
from fourcorner.simulate.tables import to_csv_text

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
SPEC = REPO / "models" / "protocol.toml"
PUBLISHED = REPO.parent / "shared" / "published.toml"
CANDIDATES = ["c1", "c2", "c3", "none"]
TRANSITION = ["trajectory", "transition"]
LABELS = ["step_type", "audited", "target", "target_candidate"]
WORKFLOW = [
    "classification", "planning", "retrieval", "extraction", "retrieval", "extraction",
    "drafting", "audit", "revision", "audit", "finalization",
]  # fmt: skip
MEAN_TOLERANCE = 0.02
ROUNDED = 2e-4
OTHER_SEEDS = range(8)


@pytest.fixture(scope="module")
def cohort():
    return probing.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["probing"]


@pytest.fixture(scope="module")
def spec():
    return fc.read_spec(SPEC)


@pytest.fixture(scope="module")
def estimates(spec):
    found = fc.estimate(fc.read_scores(spec), spec, draws=1000)
    return found[found["weights"] == "empirical"].set_index("name")


def by_candidate(scores, index):
    """Log-probabilities of the four candidates side by side, one row for each of the index."""
    return scores.pivot_table("logprob", index, "candidate", sort=False)[CANDIDATES]


def margin(table):
    """The target's log-probability minus the greatest of the others, row by row."""
    target = table.index.get_level_values("target_candidate").to_numpy()
    is_target = target[:, None] == np.array(CANDIDATES)
    return table.where(is_target).max(axis=1) - table.mask(is_target).max(axis=1)


def gains(scores):
    """Gain of every transition, a column for each protocol, missing where it was not scored."""
    margins = margin(by_candidate(scores, [*TRANSITION, *LABELS, "state", "protocol"]))
    after, before = (margins.xs(state, level="state") for state in ("after", "before"))
    return (
        (after - before)
        .rename("gain")
        .reset_index()
        .pivot_table("gain", [*TRANSITION, *LABELS], "protocol")
    )


@pytest.fixture(scope="module")
def gain(cohort):
    return gains(cohort.scores)


def beliefs(scores, protocol="generated_128"):
    """Log-beliefs under a protocol before and after each transition."""
    short = scores[scores["protocol"] == protocol]
    logs = by_candidate(short, [*TRANSITION, "step_type", "target_candidate", "state"])
    logs = logs.sub(np.log(np.exp(logs).sum(axis=1)), axis=0)
    return logs.xs("before", level="state"), logs.xs("after", level="state")


def entropy_movement(scores):
    before, after = beliefs(scores)
    return (np.exp(before) * before).sum(axis=1) - (np.exp(after) * after).sum(axis=1)


def surprise(scores):
    before, after = beliefs(scores)
    return (np.exp(after) * (after - before)).sum(axis=1)


def belief_rows(scores, protocol):
    """What a family of beliefs in a spec has, by plain pandas."""
    pair = beliefs(scores, protocol)
    assert not any(logs.eq(logs.max(axis=1), axis=0).sum(axis=1).gt(1).any() for logs in pair)
    (was, now), (first, last) = map(margin, pair), (logs.idxmax(axis=1) for logs in pair)
    entropies = [-(np.exp(logs) * logs).sum(axis=1) for logs in pair]
    return {
        "entropy_movement": (entropies[1] - entropies[0]).mean(),
        "surprise": (np.exp(pair[1]) * (pair[1] - pair[0])).sum(axis=1).mean(),
        "margin_gain": (now - was).mean(),
        "pivot": (first != last).mean(),
        "damage": ((was > 0) & (now < 0)).mean(),
        "repair": ((was < 0) & (now > 0)).mean(),
    }


def test_constants_are_the_published_figures(published):
    assert published == {
        "mean_gain": {
            "generated_128": calibration.MEAN_GAIN_GENERATED,
            "direct": calibration.MEAN_GAIN_DIRECT,
        },
        "entropy_movement": calibration.ENTROPY_MOVEMENT,
        "bayesian_surprise": calibration.SURPRISE,
        "step_gain": {
            "extraction": calibration.EXTRACTION_GAIN,
            "audit": calibration.AUDIT_GAIN,
        },
        "component_attribution": {
            "full_state_direct": calibration.AUDITED_GAIN_FULL_STATE,
            "generated_128": calibration.AUDITED_GAIN_GENERATED,
        },
    }


def test_published_gains_are_found_by_the_package(estimates, published):
    figures = {
        "direct_gain": published["mean_gain"]["direct"],
        "generated_gain": published["mean_gain"]["generated_128"],
        "extraction_gain": published["step_gain"]["extraction"],
        "audit_gain": published["step_gain"]["audit"],
        "audited_full_state": published["component_attribution"]["full_state_direct"],
        "audited_128": published["component_attribution"]["generated_128"],
    }
    for name, figure in figures.items():
        assert estimates.loc[name, "value"] == pytest.approx(figure, abs=MEAN_TOLERANCE)
    assert estimates.loc[["direct_gain", "generated_gain"], "transitions"].tolist() == [1100, 1100]


def test_published_beliefs_are_found(cohort, published):
    assert len(surprise(cohort.scores)) == 1100
    moved, surprised = entropy_movement(cohort.scores), surprise(cohort.scores)
    assert moved.mean() == pytest.approx(published["entropy_movement"], abs=0.0005)
    assert surprised.mean() == pytest.approx(published["bayesian_surprise"], abs=MEAN_TOLERANCE)


@pytest.mark.parametrize("seed", OTHER_SEEDS)
def test_figures_hold_for_every_seed(seed):
    scores = probing.generate(seed).scores
    gain = gains(scores)
    short = gain["generated_128"]
    by_step = short.groupby("step_type").mean()
    figures = {
        calibration.MEAN_GAIN_DIRECT: gain["direct"].mean(),
        calibration.MEAN_GAIN_GENERATED: short.mean(),
        calibration.EXTRACTION_GAIN: by_step["extraction"],
        calibration.AUDIT_GAIN: by_step["audit"],
        calibration.AUDITED_GAIN_FULL_STATE: gain["full_state_direct"].mean(),
        calibration.AUDITED_GAIN_GENERATED: short.xs(True, level="audited").mean(),
        calibration.SURPRISE: surprise(scores).mean(),
        calibration.ENTROPY_MOVEMENT: entropy_movement(scores).mean(),
    }
    for figure, found in figures.items():
        assert found == pytest.approx(figure, abs=ROUNDED)


def test_the_package_agrees_with_plain_pandas(cohort, estimates, gain):
    audited = gain[gain.index.get_level_values("audited")]
    step = gain.index.get_level_values("step_type")
    short = gain["generated_128"]
    expected = {
        "direct_gain": gain["direct"].mean(),
        "generated_gain": short.mean(),
        "generated_vs_direct": (short - gain["direct"]).mean(),
        "negative_direct": (gain["direct"] < 0).mean(),
        "negative_generated": (short < 0).mean(),
        "extraction_gain": short[step == "extraction"].mean(),
        "audit_gain": short[step == "audit"].mean(),
        "audited_direct": audited["direct"].mean(),
        "audited_full_state": audited["full_state_direct"].mean(),
        "audited_128": audited["generated_128"].mean(),
        "audited_permuted": audited["generated_128_permuted"].mean(),
        "audited_512": audited["generated_512"].mean(),
        "audited_extracts": audited["extract_buffer"].mean(),
        "full_state": (audited["full_state_direct"] - audited["direct"]).mean(),
        "compression": (audited["generated_128"] - audited["full_state_direct"]).mean(),
        "permutation": (audited["generated_128_permuted"] - audited["generated_128"]).mean(),
        "longer": (audited["generated_512"] - audited["full_state_direct"]).mean(),
        "extracts": (audited["extract_buffer"] - audited["full_state_direct"]).mean(),
    }
    for name, protocol in (("direct", "direct"), ("generated", "generated_128")):
        for row, value in belief_rows(cohort.scores, protocol).items():
            expected[f"beliefs_{name}.{row}"] = value
    assert estimates["value"].astype(float).to_dict() == pytest.approx(expected, abs=1e-9)
    assert estimates["refused"].isna().all()


def test_no_row_of_the_spec_is_refused_under_equal_weights(spec):
    found = fc.estimate(fc.read_scores(spec), spec, draws=100)
    assert set(found["weights"]) == {"empirical", "equal_target"}
    assert found["refused"].isna().all()
    assert len(found) == 2 * len(as_estimands(spec))


def test_the_audit_blames_the_compression(estimates):
    """What 512 tokens and extracts leave of the reversal is little; permuted labels leave it."""
    value = estimates["value"]
    reversal = value["audited_128"] - value["audited_full_state"]
    for name in ("audited_512", "audited_extracts"):
        assert value[name] > 0
        assert (value[name] - value["audited_full_state"]) / reversal < 0.2
    assert (value["audited_permuted"] - value["audited_full_state"]) / reversal > 0.9
    ends = estimates["interval"]
    assert ends["audited_full_state"][0] > 0
    assert ends["compression"][1] < 0
    assert ends["audited_permuted"][1] < 0
    low, high = ends["permutation"]
    assert low < 0 < high


def test_the_gain_turns_its_sign_with_intervals_excluding_zero(estimates):
    ends = estimates["interval"]
    assert ends["direct_gain"][0] > 0
    assert ends["generated_gain"][1] < 0


def test_the_largest_losses_are_at_extraction_and_audit(gain):
    by_step = gain["generated_128"].groupby("step_type").mean().sort_values()
    assert by_step.index[:2].tolist() == ["extraction", "audit"]
    assert by_step.iloc[2] > -2
    assert by_step["revision"] > 2


def test_entropy_stands_still_while_beliefs_pivot(cohort):
    before, after = beliefs(cohort.scores)
    top = np.exp(before).max(axis=1)
    assert top.median() > 0.999
    assert (top > 0.9).mean() > 0.85
    pivot = before.idxmax(axis=1) != after.idxmax(axis=1)
    surprised = surprise(cohort.scores)
    assert 0.1 < pivot.mean() < 0.2
    assert surprised[pivot].mean() > 20 * surprised[~pivot].mean()
    assert entropy_movement(cohort.scores).groupby("step_type").mean().abs().max() < 0.05


def test_scores_have_the_declared_structure(cohort):
    scores = cohort.scores
    assert list(scores.columns) == [
        "trajectory", "transition", "step_type", "audited", "endpoint", "state", "target",
        "target_candidate", "protocol", "candidate", "logprob",
    ]  # fmt: skip
    keys = [*TRANSITION, "state", "protocol"]
    assert not scores.duplicated([*keys, "candidate"]).any()
    assert scores.groupby(keys)["candidate"].apply(list).map(CANDIDATES.__eq__).all()
    assert scores["protocol"].value_counts().to_dict() == {
        "direct": 8800, "generated_128": 8800, "full_state_direct": 320,
        "generated_128_permuted": 320, "generated_512": 320, "extract_buffer": 320,
    }  # fmt: skip
    one = scores.drop_duplicates(TRANSITION)
    assert one.groupby("trajectory")["step_type"].apply(list).map(WORKFLOW.__eq__).all()
    units = one.drop_duplicates("trajectory")
    assert units["target"].value_counts().to_dict() == {
        "supported": 50, "refuted": 38, "mixed": 7, "none_of_the_above": 5,
    }  # fmt: skip
    assert ((units["target_candidate"] == "none") == (units["target"] == "none_of_the_above")).all()
    labels = scores[["trajectory", "target", "target_candidate"]].drop_duplicates()
    assert len(labels) == len(units) == 100


def test_logprobs_are_normalised(cohort):
    keys = [*TRANSITION, "state", "protocol"]
    total = np.exp(cohort.scores["logprob"]).groupby([cohort.scores[key] for key in keys]).sum()
    assert total.to_numpy() == pytest.approx(1, abs=1e-4)  # rounded to four decimals
    assert (cohort.scores["logprob"].round(4) == cohort.scores["logprob"]).all()


def test_a_shared_endpoint_has_the_same_scores_twice(cohort):
    scores = cohort.scores
    step = scores["transition"].str[1:].astype(int)
    endpoint = scores["endpoint"].str[1:].astype(int)
    assert (endpoint == step - (scores["state"] == "before")).all()
    keys = ["trajectory", "endpoint", "protocol", "candidate"]
    assert not scores[[*keys, "logprob"]].drop_duplicates().duplicated(keys).any()
    times = scores.groupby(keys).size().xs("direct", level="protocol").groupby("endpoint").unique()
    assert [times[f"e{i:02d}"].tolist() for i in range(12)] == [[1], *[[2]] * 10, [1]]


def test_the_audit_is_one_noticed_step_of_forty_traces(cohort, gain):
    one = cohort.scores.drop_duplicates(TRANSITION)
    audited = one[one["audited"]]
    assert len(audited) == audited["trajectory"].nunique() == 40
    assert set(audited["step_type"]) == {"extraction", "audit"}
    assert audited["target"].value_counts().to_dict() == dict(
        zip(probing.TARGETS, mechanism.AUDITED, strict=True)
    )
    replayed = gain.index.get_level_values("audited")
    assert gain.loc[replayed].notna().all(axis=None)
    assert gain.loc[~replayed].notna().all().to_dict() == {
        name: name in {"direct", "generated_128"} for name in probing.PROTOCOLS
    }
    assert (gain.loc[replayed, "generated_128"] < 0).all()


def test_truth_is_the_margin_without_noise(cohort):
    keys = ["trajectory", "endpoint", "protocol"]
    truth = cohort.truth.set_index(keys)
    assert truth.index.is_unique
    assert len(truth) == 100 * 12 * 2 + 40 * 2 * 4
    scores = cohort.scores.drop_duplicates([*keys, "candidate"])
    found = margin(by_candidate(scores, [*keys, "target_candidate"])).droplevel("target_candidate")
    assert set(found.index) == set(truth.index)
    noise = found - truth["true_margin"]
    # the difference of two t₅ errors of scale 0.1, whose variance is 2 × 0.01 × 5/3
    assert noise.std() == pytest.approx((2 * 0.01 * 5 / 3) ** 0.5, rel=0.1)
    assert abs(noise.mean()) < 0.02


def test_what_the_rationale_favours_is_what_it_scores_highest(cohort):
    scores = cohort.scores[cohort.scores["protocol"] == "generated_128"]
    keys = ["trajectory", "endpoint"]
    wide = by_candidate(scores.drop_duplicates([*keys, "candidate"]), keys)
    truth = cohort.truth[cohort.truth["protocol"] == "generated_128"].set_index(keys)
    agrees = wide.idxmax(axis=1) == truth["rationale_favours"]
    assert agrees.mean() > 0.95  # shifts of the target and second candidates left open aside
    assert cohort.truth.groupby("trajectory")["evidence_favours"].nunique().eq(1).all()


@pytest.mark.parametrize(
    ("name", "frame"), [("protocol.csv", "scores"), ("protocol_truth.csv", "truth")]
)
def test_committed_files_are_regenerated_byte_for_byte(cohort, name, frame):
    committed = (SAMPLES / name).read_bytes()
    assert committed == to_csv_text(getattr(cohort, frame)).encode()
    assert committed.decode() == probing.files()[name]
    assert len(committed) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = probing.generate(), probing.generate(probing.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.scores["logprob"].equals(cohort.scores["logprob"])


def test_a_stretch_moves_rivals_and_no_margin():
    scores = np.array([[[3.0, 1.0, -2.0, 0.5]], [[0.0, 4.0, 5.5, 1.5]]])
    target = np.array([0, 1])
    found = calibration.stretch(scores, target, np.array([2.0]))
    assert found.tolist() == [[[3.0, 1.0, -5.0, 0.0]], [[-5.5, 4.0, 5.5, -2.5]]]
    assert margins(found, target).tolist() == margins(scores, target).tolist() == [[2.0], [-1.5]]


def test_beliefs_that_swap_by_hand():
    """Two candidates, (0.8, 0.2) to (0.2, 0.8): entropy stays, surprise is 0.6 ln 4."""
    scores = np.log([[[0.8, 0.2], [0.2, 0.8]]])
    assert calibration.entropy_movement(scores) == pytest.approx(0, abs=1e-12)
    assert calibration.surprise(scores) == pytest.approx(0.6 * np.log(4))


def test_beliefs_that_no_stretch_brings_to_the_figures_are_refused():
    """Nothing ever moves, so there is no surprise to be had."""
    still = np.tile([2.0, 0.0, -1.0, -1.5], (3, 12, 1))
    with pytest.raises(CalibrationError, match=r"the surprise .* take another seed"):
        calibration.spread_rivals(still, np.zeros(3, dtype=int))


def test_too_few_losses_to_audit_are_refused():
    still = np.zeros((100, 12))
    stratum = np.repeat(np.arange(4), STRATUM_SIZES)
    with pytest.raises(CalibrationError, match=r"0 traces of supported .* expected 19"):
        mechanism._draw_audited(still, stratum, np.random.default_rng(0))
