"""The synthetic retrieval face holds the published figures, by the package and by plain pandas."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner import names
from fourcorner.simulate import layouts, retrieval_face
from fourcorner.simulate.retrieval import TARGETS
from fourcorner.simulate.retrieval_face import calibration
from fourcorner.simulate.retrieval_face import missing as gaps
from fourcorner.simulate.study import LAYOUTS, STATES, STRATUM_SIZES
from fourcorner.simulate.tables import to_csv_text

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
MEAN, END = 0.02, 0.05
FACE = ("from_before", "from_after")


@pytest.fixture(scope="module")
def cohort():
    return retrieval_face.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["retrieval_face"]


@pytest.fixture(scope="module")
def spec():
    return fc.read_spec(REPO / "models" / "retrieval_face.toml")


@pytest.fixture(scope="module")
def scores(spec):
    return fc.read_scores(spec)


@pytest.fixture(scope="module")
def rows(scores, spec):
    """The package's estimates by name and weights, with the study's kind of interval."""
    found = fc.estimate(scores, spec, interval="percentile")
    return {(row.name, row.weights): row for row in found.itertuples()}


def complete_cells(scores):
    """Mean over layouts of each trajectory, state and view that has them all."""
    kept = scores.groupby(["trajectory", "state", "view"])["margin"]
    return kept.mean()[kept.count() == len(LAYOUTS)]


def corners(scores):
    """The complete cells, a row for each trajectory; NaN where one is not complete."""
    long = complete_cells(scores).reset_index()
    return long.pivot_table("margin", "trajectory", ["state", "view"])


def by_hand(scores):
    """Per-trajectory values of the face, from its formulas; NaN where something is missing."""
    cell = corners(scores)
    generated = cell["after", "from_after"] - cell["before", "from_before"]
    direct = cell["after", "direct"] - cell["before", "direct"]
    beside_before = cell["after", "from_before"] - cell["before", "from_before"]
    beside_after = cell["after", "from_after"] - cell["before", "from_after"]
    view_before = cell["before", "from_after"] - cell["before", "from_before"]
    view_after = cell["after", "from_after"] - cell["after", "from_before"]
    return pd.DataFrame(
        {
            "generated_gain": generated,
            "allocation.state": (beside_before + beside_after) / 2,
            "allocation.view": (view_before + view_after) / 2,
            "direct_gain": direct,
            "omega": generated - direct,
            "generated_gain_88": generated.where(direct.notna()),
            "gain_beside_before": beside_before,
            "gain_beside_after": beside_after,
            "face_interaction": beside_after - beside_before,
        }
    )


def targets(scores):
    return scores.drop_duplicates("trajectory").set_index("trajectory")["target"]


# --- published figures -------------------------------------------------------------------------


def test_the_shares_of_the_allocation_are_found(rows, published):
    state, view = (rows[f"allocation.{factor}", "empirical"] for factor in ("state", "view"))
    assert state.value == pytest.approx(published["state_allocation"]["mean"], abs=MEAN)
    assert state.interval == pytest.approx(published["state_allocation"]["ci"], abs=END)
    assert view.value == pytest.approx(published["view_allocation"]["mean"], abs=MEAN)
    assert state.units == view.units == 100


def test_direct_gain_and_omega_are_found_on_the_complete_direct_paths(rows, published):
    for name in ("direct_gain", "omega"):
        row, figure = rows[name, "empirical"], published[name]["mean"]
        assert row.units == published["direct_complete_trajectories"]
        assert row.value == pytest.approx(figure, rel=0.02)
    row = rows["generated_gain_88", "empirical"]
    assert row.units == published["direct_complete_trajectories"]
    assert row.value == pytest.approx(published["generated_gain_88"]["mean"], abs=MEAN)


def test_the_diagonal_of_the_allocation_is_of_all_100(rows, published):
    row = rows["generated_gain", "empirical"]
    figures = [published[f"{factor}_allocation"]["mean"] for factor in ("state", "view")]
    assert row.units == 100
    assert row.value == pytest.approx(sum(figures), abs=MEAN)


def test_constants_are_the_published_figures(published):
    state = published["state_allocation"]
    assert list(calibration.STATE_SHARE) == [state["mean"], *state["ci"]]
    assert published["view_allocation"]["mean"] == calibration.VIEW_SHARE
    assert published["direct_gain"]["mean"] == calibration.DIRECT_GAIN
    assert published["omega"]["mean"] == calibration.OMEGA
    assert published["direct_complete_trajectories"] == gaps.DIRECT_COMPLETE
    derived = calibration.DIRECT_GAIN + calibration.OMEGA
    assert derived == pytest.approx(published["generated_gain_88"]["mean"])


# --- the package against plain pandas ----------------------------------------------------------


def test_every_mean_is_that_of_the_formulas(cohort, rows):
    values, target = by_hand(cohort.scores), targets(cohort.scores)
    for name in values:
        kept = values[name].dropna()
        strata = kept.groupby(target.reindex(kept.index))
        row, equal = rows[name, "empirical"], rows[name, "equal_target"]
        assert row.units == equal.units == len(kept)
        assert row.value == pytest.approx(kept.mean())
        assert equal.value == pytest.approx(strata.mean().mean())


def test_the_share_of_negative_diagonals_is_a_count(cohort, rows):
    row = rows["negative_generated", "empirical"]
    negative = int((by_hand(cohort.scores)["generated_gain"] < 0).sum())
    assert (row.count, row.value) == (negative, negative / 100)


def test_shares_sum_to_the_diagonal(rows):
    for weights in ("empirical", "equal_target"):
        shares = [rows[f"allocation.{factor}", weights].value for factor in ("state", "view")]
        assert sum(shares) == pytest.approx(rows["generated_gain", weights].value)


@pytest.mark.parametrize("name", ["allocation.state", "allocation.view", "generated_gain"])
def test_intervals_are_those_of_trajectories_drawn_again(cohort, rows, name):
    values, target = by_hand(cohort.scores)[name], targets(cohort.scores)
    member = pd.get_dummies(target.reindex(values.index)).to_numpy(dtype=float)
    times = np.random.default_rng(7).multinomial(100, np.full(100, 0.01), size=10_000).astype(float)
    counts, sums = times @ member, times @ (member * values.to_numpy()[:, None])
    whole = (counts > 0).all(axis=1)
    for weights, draws in [
        ("empirical", times @ values.to_numpy() / 100),
        ("equal_target", (sums[whole] / counts[whole]).mean(axis=1)),
    ]:
        low, high = np.percentile(draws, [2.5, 97.5])
        found = rows[name, weights].interval
        # ends of 10,000 draws vary by a few hundredths of a width
        assert found == pytest.approx((low, high), abs=(high - low) / 20)


def test_on_the_joint_cohort_the_generated_gain_is_that_of_the_88(scores, spec, rows):
    joint = fc.estimate(scores, spec, draws=100, cohort=names.COHORT_JOINT)
    found = joint.set_index(["name", "weights"])
    assert set(found["units"]) == {88}
    for weights in ("empirical", "equal_target"):
        value = found.loc[("generated_gain", weights), "value"]
        assert value == pytest.approx(rows["generated_gain_88", weights].value)
        direct = found.loc[("direct_gain", weights), "value"]
        assert value - direct == pytest.approx(rows["omega", weights].value)


def test_the_view_turns_the_gain_and_the_state_does_not(rows):
    low, high = rows["allocation.state", "empirical"].interval
    assert low < 0 < high
    assert rows["allocation.view", "empirical"].interval[1] < 0
    assert rows["generated_gain", "empirical"].interval[1] < 0
    assert rows["direct_gain", "empirical"].interval[0] > 0


# --- generator ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [retrieval_face.DEFAULT_SEED, *range(20)])
def test_means_hold_for_every_seed(seed):
    values = by_hand(retrieval_face.generate(seed).scores)
    rounding = 1e-4
    figures = {
        "allocation.state": calibration.STATE_SHARE.mean,
        "allocation.view": calibration.VIEW_SHARE,
        "direct_gain": calibration.DIRECT_GAIN,
        "omega": calibration.OMEGA,
    }
    for name, figure in figures.items():
        assert values[name].mean() == pytest.approx(figure, abs=rounding)
    assert values["allocation.state"].var(ddof=0) / 100 == pytest.approx(
        calibration.STATE_SHARE.variance, rel=1e-3
    )


@pytest.mark.parametrize("seed", [retrieval_face.DEFAULT_SEED, *range(5)])
def test_direct_path_is_complete_on_88_trajectories(seed):
    scores = retrieval_face.generate(seed).scores
    cell = corners(scores)
    declared = scores.drop_duplicates("trajectory").set_index("trajectory")["direct_complete"]
    assert cell.index.size == 100
    assert cell["before"][[*FACE]].notna().all(axis=None)
    assert cell["after"][[*FACE]].notna().all(axis=None)
    complete = cell["before", "direct"].notna() & cell["after", "direct"].notna()
    assert complete.sum() == 88
    assert complete.to_dict() == declared.to_dict()
    direct = scores[scores["view"] == "direct"]
    # four were never scored directly; eight lost something, each in one state
    assert direct["trajectory"].nunique() == 96
    lost = direct[direct["margin"].isna()].groupby("trajectory")["state"].nunique()
    assert lost.tolist() == [1] * 8


def test_nothing_is_lost_that_was_not_asked_for():
    first = gaps.draw_missing(np.random.default_rng(3))
    assert (first.unasked.sum(), first.complete.sum()) == (4, 88)
    assert not first.lost[first.unasked].any()


def test_shares_are_heavy_tailed_and_skewed(cohort):
    values = by_hand(cohort.scores)
    for name, tails in [("allocation.state", 2.0), ("allocation.view", 1.5)]:
        z = (values[name] - values[name].mean()) / values[name].std(ddof=0)
        assert (z**4).mean() - 3 > tails
    z = values["allocation.state"] - values["allocation.state"].mean()
    assert (z**3).mean() / z.std(ddof=0) ** 3 > 0.5


def test_layout_offsets_sum_to_zero_but_for_noise():
    cells = np.zeros((2000, 2, 3))
    scale = np.array([[1.0, 2.0, 3.0], [0.5, 0.5, 4.0]])
    added = layouts.layout_effects(cells, scale, np.random.default_rng(0))
    assert added.shape == (2000, 2, 3, 4)
    # gamma sensitivities have mean one; noise at a margin of zero is 0.12 times a Student-t
    assert added.mean(axis=0) == pytest.approx(scale[..., None] * layouts.PROFILE, abs=0.06)
    assert sum(layouts.PROFILE) == pytest.approx(0.0)
    within = added.mean(axis=-1)
    assert within.std() == pytest.approx(0.12 * np.sqrt(5 / 3) / 2, rel=0.05)
    # one sensitivity a trajectory: its cells move together
    contrast = added[..., 3] - added[..., 0]
    assert np.corrcoef(contrast[:, 0, 2], contrast[:, 1, 2])[0, 1] > 0.95


def test_scores_have_the_declared_structure(cohort):
    scores = cohort.scores
    factors = {"state": STATES, "view": retrieval_face.VIEWS, "layout": LAYOUTS}
    assert list(scores.columns) == ["trajectory", "target", "direct_complete", *factors, "margin"]
    assert len(scores) == 100 * 2 * 3 * 4 - 4 * 2 * 4
    assert not scores.duplicated(["trajectory", *factors]).any()
    for name, levels in factors.items():
        assert scores[name].unique().tolist() == list(levels)
    units = scores.groupby("trajectory")[["target", "direct_complete"]].nunique()
    assert (units == 1).all(axis=None)
    sizes = targets(scores).value_counts()
    assert sizes.to_dict() == dict(zip(TARGETS, STRATUM_SIZES, strict=True))
    kept = scores["margin"].dropna()
    assert (kept.round(4) == kept).all()


def test_truth_is_the_scores_without_layout_effects(cohort):
    keys = ["trajectory", "target", "state", "view"]
    assert list(cohort.truth.columns[:5]) == [*keys, "true_margin"]
    truth = cohort.truth.set_index(keys)["true_margin"]
    assert len(truth) == 600
    assert truth.index.is_unique
    found = complete_cells(cohort.scores)
    noise = found - truth.droplevel("target").reindex(found.index)
    assert noise.notna().all()
    assert len(noise) == 600 - 4 * 2 - 8
    assert 0 < noise.std() < 0.1 * truth.std()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(len(noise))


def test_truth_latents_belong_to_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[5:].tolist()
    first = cohort.truth.groupby("trajectory")[latents].first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert first["evidence_found"].sum() == 65
    assert ((first["evidence_strength"] > 0) == first["evidence_found"]).all()
    assert ((first["evidence_favours"] != "nothing") == first["evidence_found"]).all()
    assert ((first["assertion_strength"] > 0) == (first["view_asserts"] != "nothing")).all()


def test_a_view_that_asserts_the_target_raises_the_margin_before(cohort):
    cell = cohort.truth.pivot_table("true_margin", "trajectory", ["state", "view"])
    first = cohort.truth.drop_duplicates("trajectory").set_index("trajectory")
    lift = cell["before", "from_before"] - cell["before", "direct"]
    right = first["view_asserts"] == first["target"]
    wrong = (first["view_asserts"] != "nothing") & ~right
    assert lift[right].mean() > 3
    assert lift[wrong].mean() < 0


def test_committed_files_are_regenerated_byte_for_byte(cohort):
    written = retrieval_face.files()
    assert written == {
        "retrieval_face.csv": to_csv_text(cohort.scores),
        "retrieval_face_truth.csv": to_csv_text(cohort.truth),
    }
    for name, text in written.items():
        assert (SAMPLES / name).read_bytes() == text.encode()
        assert len(text) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again = retrieval_face.generate()
    other = retrieval_face.generate(retrieval_face.DEFAULT_SEED + 1)
    pd.testing.assert_frame_equal(again.scores, cohort.scores)
    pd.testing.assert_frame_equal(again.truth, cohort.truth)
    assert not other.truth["true_margin"].equals(cohort.truth["true_margin"])
