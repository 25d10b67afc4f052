"""The synthetic source contract holds the published figures, by the package and by plain numpy."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner.simulate import source_contract as contract
from fourcorner.simulate.retrieval import EVIDENCE_FOUND, TARGETS
from fourcorner.simulate.source_contract import calibration, claims
from fourcorner.simulate.study import LAYOUTS, STATES, STRATUM_SIZES, CalibrationError
from fourcorner.simulate.tables import to_csv_text

REPO = Path(__file__).parents[1]
SAMPLES = REPO / "data-samples"
PUBLISHED = REPO.parent / "shared" / "published.toml"
DRAWS = 10_000
STATE_VIEW = ["state", "view"]
EQUAL, EMPIRICAL = "equal_target", "empirical"

# row of the spec, its weights, and the published figure
INTERVALS = [
    ("shift_artifact", EMPIRICAL, "shift_artifact"),
    ("shift_no_artifact", EMPIRICAL, "shift_no_artifact"),
    ("artifact_by_intervention", EMPIRICAL, "artifact_by_intervention"),
    ("before_margin_shift", EMPIRICAL, "before_margin_shift"),
    ("after_margin_shift", EMPIRICAL, "after_margin_shift"),
    ("shift", EQUAL, "equal_target_shift"),
    ("source_only_gain", EQUAL, "equal_target_source_only_gain"),
    ("source_only_minus_quote", EMPIRICAL, "source_only_minus_quote"),
]
CONSTANTS = {
    "shift_artifact": calibration.SHIFT_ARTIFACT,
    "shift_no_artifact": calibration.SHIFT_NO_ARTIFACT,
    "before_margin_shift": calibration.BEFORE_MARGIN_SHIFT,
    "after_margin_shift": calibration.AFTER_MARGIN_SHIFT,
    "equal_target_shift": calibration.EQUAL_TARGET_SHIFT,
    "equal_target_source_only_gain": calibration.EQUAL_TARGET_SOURCE_ONLY_GAIN,
    "source_only_minus_quote": calibration.SOURCE_ONLY_MINUS_QUOTE,
}


def near(mean):
    """Within 0.02, or 2 % of what is above 1."""
    return pytest.approx(mean, abs=0.02 * max(abs(mean), 1))


def ends_near(found, ends):
    """Each end within 0.05, or a tenth of the width where it is above 1."""
    width = ends[1] - ends[0]
    for own, end in zip(found, ends, strict=True):
        assert own == pytest.approx(end, abs=0.05 if abs(end) <= 1 else width / 10)


@pytest.fixture(scope="module")
def cohort():
    return contract.generate()


@pytest.fixture(scope="module")
def published():
    if not PUBLISHED.exists():
        pytest.skip(f"no published figures at {PUBLISHED}: they are kept beside the repository")
    return tomllib.loads(PUBLISHED.read_text(encoding="utf-8"))["source_contract"]


def estimates(name):
    spec = fc.read_spec(REPO / "models" / name)
    found = fc.estimate(fc.read_scores(spec), spec)
    return {(row.name, row.weights): row for row in found.itertuples()}


@pytest.fixture(scope="module")
def rows():
    return estimates("source_contract.toml")


@pytest.fixture(scope="module")
def audit():
    return estimates("source_contract_claims.toml")


def cells(frame, value="margin"):
    """One row per trajectory, a column per (state, view): the mean over layouts."""
    return frame.pivot_table(value, "trajectory", ["state", "view"], aggfunc="mean")


def contrasts(frame, value="margin"):
    """Per-trajectory contrasts, one column each."""
    cell = cells(frame, value)
    gain, shift = cell["after"] - cell["before"], {}
    for state in STATES:
        shift[state] = cell[state]["source_only"] - cell[state]["ungrounded"]
    columns = {f"{view}_gain": gain[view] for view in contract.VIEWS}
    return pd.DataFrame(
        {
            **columns,
            "shift": shift["after"] - shift["before"],
            "before_margin_shift": shift["before"],
            "after_margin_shift": shift["after"],
            "source_only_minus_quote": gain["source_only"] - gain["quote"],
        }
    )


def units(frame):
    """Target and artifact of each trajectory."""
    return frame.drop_duplicates("trajectory").set_index("trajectory")[["target", "artifact"]]


def skewness(values):
    z = (values - values.mean()) / values.std(ddof=0)
    return (z**3).mean()


def excess_kurtosis(values):
    z = (values - values.mean()) / values.std(ddof=0)
    return (z**4).mean() - 3


# --- published figures, through the design engine ----------------------------------------------


@pytest.mark.parametrize(("name", "weights", "figure"), INTERVALS)
def test_means_and_intervals_are_found(rows, published, name, weights, figure):
    row, wanted = rows[name, weights], published[figure]
    assert row.interval_kind == "percentile"
    assert row.value == near(wanted["mean"])
    ends_near(row.interval, wanted["ci"])


# row of the datasheet's table, and that of the spec with its weights
SHEET = {
    "ungrounded gain, on the 65": ("ungrounded_gain_artifact", EMPIRICAL),
    "source-only gain, on the 65": ("source_only_gain_artifact", EMPIRICAL),
    "quote gain, on the 65": ("quote_gain_artifact", EMPIRICAL),
    "shift of the gain, on the 65": ("shift_artifact", EMPIRICAL),
    "shift of the gain, on the 35": ("shift_no_artifact", EMPIRICAL),
    "artifact by intervention": ("artifact_by_intervention", EMPIRICAL),
    "shift of the margin before retrieval": ("before_margin_shift", EMPIRICAL),
    "shift of the margin after retrieval": ("after_margin_shift", EMPIRICAL),
    "shift of the gain, all 100": ("shift", EMPIRICAL),
    "shift of the gain, equal-target": ("shift", EQUAL),
    "source-only gain, equal-target": ("source_only_gain", EQUAL),
    "source-only minus quote, all 100": ("source_only_minus_quote", EMPIRICAL),
}


def test_the_datasheet_gives_what_the_command_prints(rows):
    """Row by row, with the spec's own seed; and how far off its ends are at most."""
    text = (SAMPLES / "source_contract.md").read_text()
    cells = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    table = {line[0]: line[1:] for line in cells if len(line) == 3}
    off = []
    for label, key in SHEET.items():
        published, found = (numbers(cell) for cell in table[label])
        row = rows[key]
        assert found == [round(value, 3) for value in (row.value, *row.interval)], label
        off += [abs(a - b) for a, b in zip(row.interval, published[1:3], strict=False)]
    (limit,) = re.findall(r"No end is further than ([0-9.]+) from its published", text)
    assert max(off) < float(limit)
    (furthest,) = re.findall(r"furthest\s+end is that of the shift after, ([0-9.]+)\.", text)
    assert max(off) == pytest.approx(float(furthest), abs=5e-4)
    left_out = [rows[name, EQUAL].undefined_draws for name in ("shift", "shift_artifact")]
    told = re.findall(r"\(([0-9,]+) of 10,000", text)
    assert [int(number.replace(",", "")) for number in told] == left_out


def numbers(cell):
    return [float(found) for found in re.findall(r"-?\d+\.\d+", cell.replace("−", "-"))]


@pytest.mark.parametrize("view", contract.VIEWS)
def test_gains_with_an_artifact_are_found(rows, published, view):
    row = rows[f"{view}_gain_artifact", EMPIRICAL]
    assert row.transitions == published["artifact"]
    assert row.value == near(published["gain_artifact"][view])


def test_the_shift_over_all_retrievals_is_found(rows, published):
    row = rows["shift", EMPIRICAL]
    assert (row.transitions, row.units) == (100, 100)
    assert row.value == near(published["overall_shift"]["mean"])


def test_cohorts_by_artifact_have_their_sizes(rows, cohort, published):
    with_, without = (rows[f"shift{of}", EMPIRICAL] for of in ("_artifact", "_no_artifact"))
    assert with_.transitions == published["artifact"]
    assert without.transitions == published["no_artifact"]
    assert units(cohort.scores)["artifact"].sum() == published["artifact"]


def test_linked_figures_are_linked(rows):
    """By whom they are about, and by the two ends of the gain."""
    value = {name: row.value for (name, weights), row in rows.items() if weights == EMPIRICAL}
    with_, without = value["shift_artifact"], value["shift_no_artifact"]
    assert value["artifact_by_intervention"] == pytest.approx(with_ - without)
    assert value["shift"] == pytest.approx(0.65 * with_ + 0.35 * without)
    assert value["shift"] == pytest.approx(
        value["after_margin_shift"] - value["before_margin_shift"]
    )
    assert value["shift"] == pytest.approx(value["source_only_gain"] - value["ungrounded_gain"])


def test_the_audit_of_views_is_found(audit, published):
    supported, views = published["parser_mean_supported"], published["parser_support_views"]
    shift, fewer = (audit[f"before_{of}", EMPIRICAL] for of in ("claims_shift", "fewer_claims"))
    assert shift.value == pytest.approx(supported["source_only"] - supported["ungrounded"])
    assert [fewer.count, fewer.transitions] == views["ungrounded"]
    assert fewer.value == pytest.approx(0.97)


# --- the same by plain pandas and numpy --------------------------------------------------------


def test_estimates_are_those_of_plain_pandas(rows, cohort):
    values, about = contrasts(cohort.scores), units(cohort.scores)
    for name in values:
        by_target = values[name].groupby(about["target"]).mean()
        assert rows[name, EMPIRICAL].value == pytest.approx(values[name].mean(), abs=1e-10)
        assert rows[name, EQUAL].value == pytest.approx(by_target.mean(), abs=1e-10)
    artifact = about["artifact"]
    for name in ("shift", *(f"{view}_gain" for view in contract.VIEWS)):
        mean = values.loc[artifact, name].mean()
        assert rows[f"{name}_artifact", EMPIRICAL].value == pytest.approx(mean, abs=1e-10)
    lacking = values.loc[~artifact, "shift"].mean()
    assert rows["shift_no_artifact", EMPIRICAL].value == pytest.approx(lacking, abs=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_published_figures_are_found_by_a_plain_bootstrap(cohort, published, seed):
    values, about = contrasts(cohort.scores), units(cohort.scores)
    order = np.random.default_rng(seed).integers(0, 100, (DRAWS, 100))
    drawn = {name: values[name].to_numpy()[order] for name in values}
    artifact = about["artifact"].to_numpy()[order]

    def mean(name, kept):
        return (drawn[name] * kept).sum(axis=1) / kept.sum(axis=1)

    def equal(name):
        strata = about["target"].to_numpy()[order]
        with np.errstate(invalid="ignore"):
            found = np.mean([mean(name, strata == target) for target in TARGETS], axis=0)
        return found[np.isfinite(found)]

    with_, without = mean("shift", artifact), mean("shift", ~artifact)
    for figure, draws in [
        ("shift_artifact", with_),
        ("shift_no_artifact", without),
        ("artifact_by_intervention", with_ - without),
        ("equal_target_shift", equal("shift")),
        ("equal_target_source_only_gain", equal("source_only_gain")),
        *(
            (name, drawn[name].mean(axis=1))
            for name in ("before_margin_shift", "after_margin_shift", "source_only_minus_quote")
        ),
    ]:
        ends_near(np.percentile(draws, [2.5, 97.5]), published[figure]["ci"])


def test_the_audit_by_plain_pandas(audit, cohort, published):
    number = cells(cohort.claims, "supported")
    before, after = number["before"], number["after"]
    for view in contract.AUDITED:
        share, views = published["parser_support_views"][view]
        assert ((before[view] > 0).sum(), len(before)) == (share, views)
        assert before[view].mean() == published["parser_mean_supported"][view]
    moved = (after["source_only"] - after["ungrounded"]).mean()
    assert audit["after_claims_shift", EMPIRICAL].value == pytest.approx(moved)
    for view in contract.AUDITED:
        gain = (after[view] - before[view]).mean()
        assert audit[f"{view}_gain", EMPIRICAL].value == pytest.approx(gain)


# --- the story ---------------------------------------------------------------------------------


def test_claims_raise_the_margin_before_retrieval_and_the_contract_takes_that_away(cohort):
    """What the target's claim has above the strongest other is what the contract removes."""
    truth = cohort.truth.drop_duplicates("trajectory").set_index("trajectory")
    lead = truth["claim_of_target"] - truth["claim_of_rival"]
    values = contrasts(cohort.scores)
    assert values["before_margin_shift"].corr(lead) < -0.9
    before = cells(cohort.scores)["before"]
    assert before["ungrounded"].corr(lead) > 0.9
    for target in TARGETS[:2]:  # claims are no evidence of what a source-only view is credited for
        kept = truth["target"] == target
        assert abs(before["source_only"][kept].corr(lead[kept])) < 0.4
    # a claim that an artifact does not back is dropped, so the gain is repaired where there is one
    artifact = truth["artifact"]
    assert values["shift"][artifact].corr(lead[artifact]) > 0.7
    assert abs(values["shift"][~artifact].corr(lead[~artifact])) < 0.5


def test_gains_have_their_directions(rows):
    """Of the cohort with artifacts, with intervals: negative, positive, positive."""
    low, high = np.array(
        [rows[f"{view}_gain_artifact", EMPIRICAL].interval for view in contract.VIEWS]
    ).T
    assert high[0] < 0
    assert (low[1:] > 0).all()
    assert rows["source_only_minus_quote", EMPIRICAL].interval[0] > 0
    before, after = (rows[f"{state}_margin_shift", EMPIRICAL].value for state in STATES)
    assert before < after < 0


def test_draws_are_skewed_and_heavy_tailed(cohort):
    values = contrasts(cohort.scores)
    removed = -values["before_margin_shift"]
    assert excess_kurtosis(removed) > 1
    assert skewness(removed) < -0.5  # claims for the wrong candidate
    truth = cohort.truth.drop_duplicates("trajectory")
    strength = truth["evidence_strength"][truth["artifact"]]
    assert skewness(strength) > 0.5
    noise = cohort.scores["margin"] - cohort.scores.groupby(["trajectory", "state", "view"])[
        "margin"
    ].transform("mean")
    assert excess_kurtosis(noise) > 2


# --- generator ---------------------------------------------------------------------------------


def test_constants_are_the_published_figures(published):
    for name, constant in CONSTANTS.items():
        assert list(constant) == [published[name]["mean"], *published[name]["ci"]]
    gains = published["gain_artifact"]
    assert gains["source_only"] == calibration.GAIN_SOURCE_ONLY
    assert gains["quote"] == calibration.GAIN_QUOTE
    assert published["parser_support_views"]["ungrounded"] == [claims.CLAIMING_VIEWS, 100]
    assert published["parser_mean_supported"]["ungrounded"] == claims.MEAN_CLAIMED
    assert sum(EVIDENCE_FOUND) == published["artifact"]


@pytest.mark.parametrize("seed", [contract.DEFAULT_SEED, 1])
def test_means_and_standard_errors_hold_for_every_seed(seed):
    """Squared errors by the sums that a bootstrap's are, with E[1/N] from binomial draws."""
    found = contract.generate(seed)
    values, about = contrasts(found.scores), units(found.scores)
    artifact = about["artifact"]
    cohorts = {"shift_artifact": artifact, "shift_no_artifact": ~artifact}
    counts = np.random.default_rng(0).binomial(100, 0.01 * np.arange(101), (200_000, 101))
    with np.errstate(divide="ignore"):
        inverse = np.where(counts > 0, 1 / counts, np.nan)

    def mean_inverse(count):
        return np.nanmean(inverse[:, count])

    for name, kept in cohorts.items():
        own = values.loc[kept, "shift"]
        assert own.mean() == pytest.approx(CONSTANTS[name].mean, abs=1e-4)
        error = own.var(ddof=0) * mean_inverse(kept.sum())
        assert error == pytest.approx(CONSTANTS[name].variance, rel=2e-3)
    for name in ("before_margin_shift", "after_margin_shift", "source_only_minus_quote"):
        # the mean of the shift after follows from figures that are rounded
        assert values[name].mean() == pytest.approx(CONSTANTS[name].mean, abs=5e-4)
        error = values[name].var(ddof=0) / 100
        assert error == pytest.approx(CONSTANTS[name].variance, rel=2e-3)
    for name in ("shift", "source_only_gain"):
        strata = values[name].groupby(about["target"])
        figure = CONSTANTS[f"equal_target_{name}"]
        assert strata.mean().mean() == pytest.approx(figure.mean, abs=1e-4)
        errors = strata.var(ddof=0) * strata.size().map(mean_inverse)
        assert errors.sum() / 16 == pytest.approx(figure.variance, rel=5e-3)
    for view, mean in (("ungrounded", -1.915), ("source_only", 3.894), ("quote", 1.453)):
        assert values.loc[artifact, f"{view}_gain"].mean() == pytest.approx(mean, abs=1e-4)


@pytest.mark.parametrize("seed", [contract.DEFAULT_SEED, *range(5)])
def test_the_audit_of_views_holds_for_every_seed(seed):
    found = contract.generate(seed)
    number = cells(found.claims, "supported")["before"]
    assert (number["ungrounded"] > 0).sum() == 97
    assert number["ungrounded"].sum() == 175
    assert number["ungrounded"].max() <= 3
    assert (number["source_only"] == 0).all()


def test_views_claim_what_they_are_credited_for(cohort):
    """Counts and strengths agree, and a source-only view names what an artifact favours."""
    number = cells(cohort.claims, "supported")
    truth = cohort.truth.drop_duplicates("trajectory").set_index("trajectory")
    assert (number["before", "ungrounded"] == truth["claimed"]).all()
    own, rival = truth["claim_of_target"] > 0, truth["claim_of_rival"] > 0
    assert ((own | rival) == (truth["claimed"] > 0)).all()
    assert (truth["claimed"] <= own.astype(int) + 2).all()
    assert (truth["claimed"] >= own.astype(int) + rival).all()
    concrete = truth["evidence_favours"].isin(TARGETS[:3])
    assert (number["after", "source_only"] == concrete.astype(int)).all()
    assert (number["after", "ungrounded"] >= number["after", "source_only"]).all()
    # an artifact makes a view drop claims, its absence hardly does
    kept = number["after", "ungrounded"] / number["before", "ungrounded"].clip(lower=1)
    assert kept[~truth["artifact"]].mean() > kept[truth["artifact"]].mean() + 0.1


def test_the_strongest_claims_are_read():
    """The three weakest first inclinations are passed over; of the others the strongest 78 stay."""
    rng = np.random.default_rng(0)
    inclined = rng.uniform(0, 1, (100, 3))
    first = np.zeros(100, dtype=np.int64)
    inclined[:, 0] = np.arange(1, 101)
    read = claims._read(inclined, first)
    assert np.flatnonzero(~read[:, 0]).tolist() == [0, 1, 2]
    others = inclined[3:, 1:]
    assert not read[:3].any()
    assert (read[3:, 1:] == (others >= np.sort(others.ravel())[-78])).all()


def test_rivals_are_concrete_and_not_the_target():
    target = np.repeat(np.arange(4), 3000)
    rival = claims.draw_rivals(target, np.random.default_rng(0))
    table = pd.crosstab(target, rival).reindex(columns=range(3), fill_value=0).to_numpy()
    assert table.sum() == len(target)
    assert (np.diag(table[:3]) == 0).all()
    expected = np.array([[0, 1500, 1500], [1500, 0, 1500], [1500, 1500, 0], [1000] * 3])
    assert np.abs(table - expected).max() < 150


def test_scores_have_the_declared_structure(cohort):
    scores, counted = cohort.scores, cohort.claims
    factors = {"state": STATES, "view": contract.VIEWS, "layout": LAYOUTS}
    assert list(scores.columns) == ["trajectory", "target", "artifact", *factors, "margin"]
    assert len(scores) == 2400
    assert not scores.duplicated(["trajectory", *factors]).any()
    for name, levels in factors.items():
        assert scores[name].unique().tolist() == list(levels)
    about = scores.groupby("trajectory")[["target", "artifact"]].nunique()
    assert len(about) == 100
    assert (about == 1).all(axis=None)
    sizes = units(scores)["target"].value_counts()
    assert sizes.to_dict() == dict(zip(TARGETS, STRATUM_SIZES, strict=True))
    hits = units(scores).groupby("target")["artifact"].sum()
    assert hits.to_dict() == dict(zip(TARGETS, EVIDENCE_FOUND, strict=True))
    assert np.isfinite(scores["margin"]).all()
    assert list(counted.columns) == ["trajectory", "target", "artifact", *STATE_VIEW, "supported"]
    assert len(counted) == 400
    assert not counted.duplicated(["trajectory", *STATE_VIEW]).any()
    pd.testing.assert_frame_equal(units(counted), units(scores))


def test_truth_is_the_scores_without_layout_effects(cohort):
    keys = ["trajectory", "target", "artifact", *STATE_VIEW]
    assert list(cohort.truth.columns[:6]) == [*keys, "true_margin"]
    truth = cohort.truth.set_index(keys)["true_margin"]
    assert len(truth) == 600
    assert truth.index.is_unique
    noise = cohort.scores.groupby(keys)["margin"].mean() - truth
    assert noise.notna().all()
    assert 0 < noise.std() < 0.1 * truth.std()
    assert abs(noise.mean()) < 4 * noise.std() / np.sqrt(len(noise))


def test_truth_latents_are_constant_within_a_trajectory_and_agree(cohort):
    latents = cohort.truth.columns[6:].tolist()
    first = cohort.truth.groupby("trajectory")[["artifact", *latents]].first()
    assert len(cohort.truth[["trajectory", *latents]].drop_duplicates()) == len(first) == 100
    assert ((first["evidence_strength"] > 0) == first["artifact"]).all()
    assert ((first["evidence_favours"] != "nothing") == first["artifact"]).all()


def test_layouts_have_offsets_of_their_own(cohort):
    means = cohort.scores.pivot_table("margin", STATE_VIEW, "layout", aggfunc="mean")
    assert (means["L3"] - means["L0"] > 0.1).all()


@pytest.mark.parametrize(
    ("name", "frame"),
    [
        ("source_contract.csv", "scores"),
        ("source_contract_claims.csv", "claims"),
        ("source_contract_truth.csv", "truth"),
    ],
)
def test_committed_files_are_regenerated_byte_for_byte(cohort, name, frame):
    committed = (SAMPLES / name).read_bytes()
    assert committed == to_csv_text(getattr(cohort, frame)).encode()
    assert committed.decode() == contract.files()[name]
    assert len(committed) < 2_000_000


def test_same_seed_same_frames_other_seed_other_frames(cohort):
    again, other = contract.generate(), contract.generate(contract.DEFAULT_SEED + 1)
    for frame, same in zip(cohort, again, strict=True):
        pd.testing.assert_frame_equal(frame, same)
    assert not other.scores["margin"].equals(cohort.scores["margin"])


def test_draws_that_no_spread_brings_to_the_figures_are_refused():
    """Small strata whose gains are far apart leave no variance for the rest."""
    target = np.repeat(np.arange(4), STRATUM_SIZES)
    found = np.arange(100) % 2 == 0
    truth = np.random.default_rng(0).normal(size=100) + np.where((target > 1) & found, 40.0, 0.0)
    about = calibration.groups(target, found)
    with pytest.raises(CalibrationError, match="take another seed"):
        calibration._source_only_gain(truth, np.zeros(100), about)
