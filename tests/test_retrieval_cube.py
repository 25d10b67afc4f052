"""The synthetic retrieval cube holds the published figures, by an independent plain bootstrap."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fourcorner.simulate import retrieval_cube as cube
from fourcorner.simulate.retrieval import EVIDENCE_FOUND, TARGETS
from fourcorner.simulate.retrieval_cube import calibration
from fourcorner.simulate.study import (
    LAYOUTS,
    STATES,
    STRATUM_SIZES,
    CalibrationError,
    rescaled,
)
from fourcorner.simulate.tables import to_csv_text

SAMPLES = Path(__file__).parents[1] / "data-samples"
PUBLISHED = Path(__file__).parents[2] / "shared" / "published.toml"
DRAWS = 10_000
MEAN_TOLERANCE = 0.02
END_TOLERANCE = 0.06


@pytest.fixture(scope="module")
def cohort():
    return cube.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))


def gains(scores, layouts=LAYOUTS):
    """Per-trajectory gain of each (view, authority): the mean over layouts, after minus before."""
    kept = scores[scores["layout"].isin(layouts)]
    cells = kept.pivot_table("margin", "trajectory", ["state", "view", "authority"], aggfunc="mean")
    return cells["after"] - cells["before"]


def contrasts(scores, layouts=LAYOUTS):
    """Per-trajectory contrasts, one column each, and the trajectory's target."""
    gain = gains(scores, layouts)
    columns = {
        "omega_generated_vs_quote_neutral": gain["generated", "neutral"] - gain["quote", "neutral"],
        "omega_quote_vs_empty_neutral": gain["quote", "neutral"] - gain["empty", "neutral"],
        "authority_shift_generated_gain": gain["generated", "evidence_primary"]
        - gain["generated", "neutral"],
        "empty_gain": gain["empty", "neutral"],
        "quote_gain": gain["quote", "neutral"],
        "generated_gain": gain["generated", "neutral"],
    }
    target = scores.drop_duplicates("trajectory").set_index("trajectory")["target"]
    return pd.DataFrame(columns), target.reindex(gain.index)


def multiplicities(units, seed):
    rng = np.random.default_rng(seed)
    return rng.multinomial(units, np.full(units, 1 / units), size=DRAWS).astype(float)


def interval(draws):
    return np.percentile(draws, [2.5, 97.5])


def bootstrap_mean(values, seed):
    draws = multiplicities(len(values), seed) @ values.to_numpy() / len(values)
    return values.mean(), interval(draws)


def bootstrap_equal_target(values, target, seed):
    """Average of the four stratum means; draws with an empty stratum dropped and counted."""
    members = pd.get_dummies(target).to_numpy(dtype=float)
    times = multiplicities(len(values), seed)
    counts, sums = times @ members, times @ (members * values.to_numpy()[:, None])
    whole = (counts > 0).all(axis=1)
    draws = (sums[whole] / counts[whole]).mean(axis=1)
    return values.groupby(target).mean().mean(), interval(draws), int((~whole).sum())


def skewness(values):
    z = (values - values.mean()) / values.std(ddof=0)
    return (z**3).mean()


def excess_kurtosis(values):
    z = (values - values.mean()) / values.std(ddof=0)
    return (z**4).mean() - 3


def auc(margin, success):
    ranks = margin.rank()
    hits = int(success.sum())
    return (ranks[success].sum() - hits * (hits + 1) / 2) / (hits * (len(success) - hits))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "name", ["omega_generated_vs_quote_neutral", "omega_quote_vs_empty_neutral"]
)
def test_published_figures_are_found(cohort, published, name, seed):
    values, _ = contrasts(cohort.scores)
    mean, ends = bootstrap_mean(values[name], seed)
    figure = published["retrieval_cube"][name]
    assert mean == pytest.approx(figure["mean"], abs=MEAN_TOLERANCE)
    assert ends == pytest.approx(figure["ci"], abs=END_TOLERANCE)


@pytest.mark.parametrize("seed", range(5))
def test_published_equal_target_figure_is_found(cohort, published, seed):
    values, target = contrasts(cohort.scores)
    mean, ends, undefined = bootstrap_equal_target(
        values["omega_generated_vs_quote_neutral"], target, seed
    )
    figure = published["retrieval_cube"]["equal_target_omega_generated_vs_quote"]
    assert mean == pytest.approx(figure["mean"], abs=MEAN_TOLERANCE)
    assert ends == pytest.approx(figure["ci"], abs=END_TOLERANCE)
    # P(stratum of five or of seven empty) = 0.95^100 + 0.93^100 = 0.0066
    assert 30 <= undefined <= 110


def test_published_authority_shift_is_found(cohort, published):
    values, _ = contrasts(cohort.scores)
    figure = published["retrieval_cube"]["authority_shift_generated_gain"]["mean"]
    found = values["authority_shift_generated_gain"].mean()
    assert found == pytest.approx(figure, abs=MEAN_TOLERANCE)


def test_constants_are_the_published_figures(published):
    figures = published["retrieval_cube"]
    for constant, name in [
        (calibration.OMEGA_GENERATED_VS_QUOTE, "omega_generated_vs_quote_neutral"),
        (calibration.OMEGA_QUOTE_VS_EMPTY, "omega_quote_vs_empty_neutral"),
        (
            calibration.EQUAL_TARGET_OMEGA_GENERATED_VS_QUOTE,
            "equal_target_omega_generated_vs_quote",
        ),
    ]:
        assert list(constant) == [figures[name]["mean"], *figures[name]["ci"]]
    shift = figures["authority_shift_generated_gain"]["mean"]
    assert shift == calibration.AUTHORITY_SHIFT_GENERATED_GAIN
    assert sorted(STRATUM_SIZES)[:2] == figures["smallest_strata"]
    assert sum(EVIDENCE_FOUND) == published["source_contract"]["artifact"]


@pytest.mark.parametrize("seed", [cube.DEFAULT_SEED, *range(20)])
def test_means_hold_for_every_seed(seed):
    values, target = contrasts(cube.generate(seed).scores)
    omega = values["omega_generated_vs_quote_neutral"]
    rounding = 1e-4
    assert omega.mean() == pytest.approx(calibration.OMEGA_GENERATED_VS_QUOTE.mean, abs=rounding)
    assert omega.groupby(target).mean().mean() == pytest.approx(
        calibration.EQUAL_TARGET_OMEGA_GENERATED_VS_QUOTE.mean, abs=rounding
    )
    assert omega.var(ddof=0) / 100 == pytest.approx(
        calibration.OMEGA_GENERATED_VS_QUOTE.variance, rel=1e-3
    )
    assert values["omega_quote_vs_empty_neutral"].mean() == pytest.approx(
        calibration.OMEGA_QUOTE_VS_EMPTY.mean, abs=rounding
    )
    assert values["authority_shift_generated_gain"].mean() == pytest.approx(
        calibration.AUTHORITY_SHIFT_GENERATED_GAIN, abs=rounding
    )
    assert values["quote_gain"].mean() == pytest.approx(calibration.QUOTE_GAIN, abs=rounding)


def test_directions_of_the_bridge_vertex_hold_with_intervals_excluding_zero(cohort):
    values, _ = contrasts(cohort.scores)
    ends = {name: bootstrap_mean(values[name], seed=0)[1] for name in values}
    assert ends["empty_gain"][0] > 0
    assert ends["quote_gain"][0] > 0
    assert ends["generated_gain"][1] < 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_omega_is_negative_in_every_layout(cohort, layout):
    values, _ = contrasts(cohort.scores, [layout])
    _, ends = bootstrap_mean(values["omega_generated_vs_quote_neutral"], seed=0)
    assert ends[1] < 0


def test_layouts_have_offsets_of_their_own(cohort):
    means = [
        contrasts(cohort.scores, [layout])[0]["omega_generated_vs_quote_neutral"].mean()
        for layout in LAYOUTS
    ]
    assert max(means) - min(means) > 0.2


def test_omega_is_heavy_tailed_and_negative_through_magnitudes(cohort):
    omega = contrasts(cohort.scores)[0]["omega_generated_vs_quote_neutral"]
    assert skewness(omega) < -0.8
    assert excess_kurtosis(omega) > 1.5
    assert omega.median() > omega.mean() + 0.4
    assert omega[omega < 0].abs().mean() > 1.5 * omega[omega > 0].mean()


def test_success_is_ranked_better_by_quote_than_by_generated_margins(cohort):
    after = cohort.scores.query("state == 'after' and authority == 'neutral'")
    margins = after.pivot_table("margin", "trajectory", "view", aggfunc="mean")
    success = after.groupby("trajectory")["success"].first()
    quote, generated = (auc(margins[view], success) for view in ("quote", "generated"))
    assert quote > 0.55
    assert 0.14 < quote - generated < 0.20


def test_scores_have_the_declared_structure(cohort):
    scores = cohort.scores
    factors = {
        "state": STATES,
        "view": cube.VIEWS,
        "authority": cube.AUTHORITIES,
        "layout": LAYOUTS,
    }
    assert list(scores.columns) == ["trajectory", "target", "success", *factors, "margin"]
    assert len(scores) == 4800
    assert not scores.duplicated(["trajectory", *factors]).any()
    for name, levels in factors.items():
        assert scores[name].unique().tolist() == list(levels)
    units = scores.groupby("trajectory")[["target", "success"]].nunique()
    assert len(units) == 100
    assert (units == 1).all(axis=None)
    sizes = scores.drop_duplicates("trajectory")["target"].value_counts()
    assert sizes.to_dict() == dict(zip(TARGETS, STRATUM_SIZES, strict=True))
    assert sorted(sizes) == [5, 7, 38, 50]
    assert np.isfinite(scores["margin"]).all()
    assert (scores["margin"].round(4) == scores["margin"]).all()


def test_truth_is_the_scores_without_layout_effects(cohort):
    keys = ["trajectory", "target", "state", "view", "authority"]
    truth = cohort.truth.set_index(keys)["true_margin"]
    assert list(cohort.truth.columns[:6]) == [*keys, "true_margin"]
    assert len(truth) == 1200
    assert truth.index.is_unique
    noise = cohort.scores.groupby(keys)["margin"].mean() - truth
    assert noise.notna().all()
    assert 0 < noise.std() < 0.1 * truth.std()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(len(noise))


def test_truth_latents_are_constant_within_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[6:].tolist()
    units = cohort.truth.groupby("trajectory")[latents]
    first = units.first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert first["evidence_found"].sum() == 65
    assert ((first["evidence_strength"] > 0) == first["evidence_found"]).all()
    assert ((first["evidence_favours"] != "nothing") == first["evidence_found"]).all()
    assert ((first["assertion_strength"] > 0) == (first["view_asserts"] != "nothing")).all()


@pytest.mark.parametrize(
    ("name", "frame"), [("retrieval_cube", "scores"), ("retrieval_cube_truth", "truth")]
)
def test_committed_files_are_regenerated_byte_for_byte(cohort, name, frame):
    committed = (SAMPLES / f"{name}.csv").read_bytes()
    assert committed == to_csv_text(getattr(cohort, frame)).encode()
    assert len(committed) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = cube.generate(), cube.generate(cube.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.scores["margin"].equals(cohort.scores["margin"])


def test_csv_text_has_lower_case_booleans_and_unix_line_ends(cohort):
    text = to_csv_text(cohort.scores)
    header, first, *_ = text.split("\n")
    assert header == "trajectory,target,success,state,view,authority,layout,margin"
    assert first.split(",")[2] in {"true", "false"}
    assert "\r" not in text
    assert text.endswith("\n")


def test_noise_beyond_the_figures_is_refused():
    noise = np.array([-3.0, 3.0])
    with pytest.raises(CalibrationError, match="take another seed"):
        rescaled(np.array([0.0, 1.0]), noise, mean=0.0, variance=1.0)
