"""The synthetic controls hold the published figures, by the package and by plain pandas."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner import names
from fourcorner.simulate import controls
from fourcorner.simulate.controls import calibration
from fourcorner.simulate.retrieval import TARGETS
from fourcorner.simulate.study import LAYOUTS, STATES, STRATUM_SIZES
from fourcorner.simulate.tables import to_csv_text

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
SHIFTS = ("evidence_primary_shift", "state_last_shift", "own_minus_donor")


@pytest.fixture(scope="module")
def cohort():
    return controls.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["controls"]


@pytest.fixture(scope="module")
def spec():
    return fc.read_spec(REPO / "models" / "controls.toml")


@pytest.fixture(scope="module")
def scores(spec):
    return fc.read_scores(spec)


@pytest.fixture(scope="module")
def rows(scores, spec):
    """The package's estimates by name and weights, with the study's kind of interval."""
    found = fc.estimate(scores, spec, interval="percentile")
    return {(row.name, row.weights): row for row in found.itertuples()}


def complete_cells(scores):
    """Mean over layouts of each trajectory, state and control that has them all."""
    kept = scores.groupby(["trajectory", "state", "control"])["margin"]
    return kept.mean()[kept.count() == len(LAYOUTS)]


def corners(scores):
    """The complete cells, a row for each trajectory; NaN where one is not complete."""
    long = complete_cells(scores).reset_index()
    return long.pivot_table("margin", "trajectory", ["state", "control"])


def by_hand(scores):
    """Per-trajectory values of every estimand from its formula; NaN where something is missing."""
    cell = corners(scores)
    gain = cell["after"] - cell["before"]
    return pd.DataFrame(
        {
            "evidence_primary_shift": gain["evidence_primary"] - gain["own"],
            "state_last_shift": gain["state_last"] - gain["own"],
            "own_minus_donor": gain["own"] - gain["donor"],
            **{f"{control}_gain": gain[control] for control in controls.CONTROLS},
            "donor_before": cell["before", "own"] - cell["before", "donor"],
            "donor_after": cell["after", "own"] - cell["after", "donor"],
        }
    )


def trajectories(scores):
    return scores.drop_duplicates("trajectory").set_index("trajectory")


# --- published figures -------------------------------------------------------------------------


def test_the_shift_of_evidence_primary_is_found(rows, published):
    row = rows["evidence_primary_shift", "empirical"]
    assert row.units == published["trajectories"]
    assert row.value == pytest.approx(published["evidence_primary_shift"]["mean"], rel=0.02)


def test_the_shift_of_state_last_is_negative_and_crosses_zero(rows, published):
    assert published["state_last_shift"] == "negative, interval crosses 0"
    row = rows["state_last_shift", "empirical"]
    assert row.units == published["trajectories"]
    assert row.value < 0 < row.interval[1]


def test_own_minus_donor_is_large(rows, published):
    assert published["own_minus_donor"] == "large; sign not given"
    row = rows["own_minus_donor", "empirical"]
    assert row.units == published["trajectories"]
    low, high = row.interval
    # beyond three half-widths of its interval; the sign is ours
    assert high < 0
    assert abs(row.value) > 3 * (high - low) / 2


def test_constants_are_the_published_figures(published):
    assert published["evidence_primary_shift"]["mean"] == calibration.EVIDENCE_PRIMARY_SHIFT


# --- the package against plain pandas ----------------------------------------------------------


def test_every_mean_is_that_of_the_formulas(cohort, rows):
    values, target = by_hand(cohort.scores), trajectories(cohort.scores)["target"]
    assert {name for name, _ in rows} == set(values)
    for name in values:
        kept = values[name].dropna()
        strata = kept.groupby(target.reindex(kept.index))
        row, equal = rows[name, "empirical"], rows[name, "equal_target"]
        assert row.units == equal.units == len(kept)
        assert row.value == pytest.approx(kept.mean())
        assert equal.value == pytest.approx(strata.mean().mean())


@pytest.mark.parametrize("name", SHIFTS)
def test_intervals_are_those_of_trajectories_drawn_again(cohort, rows, name):
    """All 100 are drawn, with the four that lack something; a mean is over the others drawn."""
    values = by_hand(cohort.scores)[name].to_numpy()
    kept = np.isfinite(values)
    times = np.random.default_rng(7).multinomial(100, np.full(100, 0.01), size=10_000).astype(float)
    draws = times[:, kept] @ values[kept] / times[:, kept].sum(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    assert rows[name, "empirical"].interval == pytest.approx((low, high), abs=(high - low) / 20)


def test_on_the_joint_cohort_every_row_is_of_the_96(cohort, scores, spec):
    joint = fc.estimate(scores, spec, draws=100, cohort=names.COHORT_JOINT)
    assert set(joint["units"]) == {96}
    whole = by_hand(cohort.scores).dropna()
    assert len(whole) == 96
    found = joint[joint["weights"] == "empirical"].set_index("name")["value"]
    assert found.to_dict() == pytest.approx(whole.mean().to_dict())


def test_a_donors_view_lifts_the_margin_before_retrieval_less(rows):
    before, after = rows["donor_before", "empirical"], rows["donor_after", "empirical"]
    assert before.interval[0] > 1
    assert abs(after.value) < before.value / 3


# --- donors ------------------------------------------------------------------------------------


def test_donors_are_those_of_the_tasks(cohort):
    units = trajectories(cohort.scores)
    for own in units.itertuples():
        family = units[(units["task_family"] == own.task_family) & (units.index != own.Index)]
        gap = (family["words"] - own.words).abs()
        assert own.donor in gap.index[gap == gap.min()]
    assert fc.match_donors(
        units.reset_index(), unit="trajectory", family="task_family", words="words"
    ).tolist() == list(units["donor"])


def test_donors_are_of_nearly_the_same_length(cohort):
    units = trajectories(cohort.scores)
    gap = (units["words"] - units["words"].loc[units["donor"]].to_numpy()).abs()
    assert gap.median() < 0.2 * units["words"].std()


def test_families_have_the_declared_sizes(cohort):
    units = trajectories(cohort.scores)
    assert units["task_family"].value_counts().to_dict() == controls.FAMILIES
    assert sum(controls.FAMILIES.values()) == 100


# --- generator ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [controls.DEFAULT_SEED, *range(20)])
def test_means_hold_for_every_seed(seed):
    whole = by_hand(controls.generate(seed).scores).dropna()
    assert len(whole) == 96
    for name, figure in {
        "evidence_primary_shift": calibration.EVIDENCE_PRIMARY_SHIFT,
        "state_last_shift": calibration.STATE_LAST_SHIFT,
        "own_gain": calibration.OWN_GAIN,
    }.items():
        assert whole[name].mean() == pytest.approx(figure, abs=1e-4)
    assert whole["own_minus_donor"].mean() < -1


@pytest.mark.parametrize("seed", [controls.DEFAULT_SEED, 0, 1])
def test_four_trajectories_lack_an_own_score_and_three_another(seed):
    scores = controls.generate(seed).scores
    lost = scores[scores["margin"].isna()]
    assert len(lost) == 7
    own = lost[lost["control"] == "own"]
    assert own["trajectory"].nunique() == lost["trajectory"].nunique() == 4
    assert sorted(own["state"]) == ["after", "after", "before", "before"]
    others = lost[lost["control"] != "own"]
    assert sorted(others["control"]) == ["donor", "evidence_primary", "state_last"]
    assert others["trajectory"].nunique() == 3


def test_shifts_are_heavy_tailed_and_skewed(cohort):
    values = by_hand(cohort.scores)
    for name, tails, lean in [("evidence_primary_shift", 1.5, 0.5), ("state_last_shift", 4, -0.8)]:
        z = (values[name] - values[name].mean()) / values[name].std(ddof=0)
        assert (z**4).mean() - 3 > tails
        assert np.sign(lean) * (z**3).mean() > abs(lean)


def test_scores_have_the_declared_structure(cohort):
    scores = cohort.scores
    factors = {"state": STATES, "control": controls.CONTROLS, "layout": LAYOUTS}
    attributes = ["target", "task_family", "words", "donor"]
    assert list(scores.columns) == ["trajectory", *attributes, *factors, "margin"]
    assert len(scores) == 3200
    assert not scores.duplicated(["trajectory", *factors]).any()
    for name, levels in factors.items():
        assert scores[name].unique().tolist() == list(levels)
    assert len(scores[["trajectory", *attributes]].drop_duplicates()) == 100
    sizes = trajectories(scores)["target"].value_counts()
    assert sizes.to_dict() == dict(zip(TARGETS, STRATUM_SIZES, strict=True))
    kept = scores["margin"].dropna()
    assert (kept.round(4) == kept).all()


def test_truth_is_the_scores_without_layout_effects(cohort):
    keys = ["trajectory", "target", "state", "control"]
    assert list(cohort.truth.columns[:5]) == [*keys, "true_margin"]
    truth = cohort.truth.set_index(keys)["true_margin"]
    assert len(truth) == 800
    assert truth.index.is_unique
    found = complete_cells(cohort.scores)
    noise = found - truth.droplevel("target").reindex(found.index)
    assert noise.notna().all()
    assert len(noise) == 800 - 7
    assert 0 < noise.std() < 0.1 * truth.std()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(len(noise))


def test_truth_latents_belong_to_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[5:].tolist()
    first = cohort.truth.groupby("trajectory")[latents].first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert first["evidence_found"].sum() == 65
    assert ((first["evidence_strength"] > 0) == first["evidence_found"]).all()
    assert ((first["assertion_strength"] > 0) == (first["view_asserts"] != "nothing")).all()


def test_committed_files_are_regenerated_byte_for_byte(cohort):
    written = controls.files()
    assert written == {
        "controls.csv": to_csv_text(cohort.scores),
        "controls_truth.csv": to_csv_text(cohort.truth),
    }
    for name, text in written.items():
        assert (SAMPLES / name).read_bytes() == text.encode()
        assert len(text) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = controls.generate(), controls.generate(controls.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.scores["margin"].equals(cohort.scores["margin"])
