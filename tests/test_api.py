"""The Python front: frames, refusals as errors, a light import."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fits
import fourcorner as fc

FOUR = pd.DataFrame(
    [
        (task, state, view, score + shift)
        for task, shift in (("a", 0.0), ("b", 0.1))
        for state, view, score in (
            ("before", "direct", -0.2),
            ("after", "direct", 0.4),
            ("before", "generated", 0.5),
            ("after", "generated", 0.1),
        )
    ],
    columns=["task", "state", "view", "margin"],
)


def test_the_four_corner_example():
    spec = fits.face_spec(strata=False)
    scores = fc.read_scores(spec, FOUR)
    asked = {
        "direct": fc.gain(view="direct"),
        "generated": fc.gain(view="generated"),
        "omega": fc.omega(view=("direct", "generated")),
        "diagonal": fc.diagonal(view=("direct", "generated")),
    }
    frame = fc.estimate(scores, asked).set_index("name")
    expected = {"direct": 0.6, "generated": -0.4, "omega": -1.0, "diagonal": 0.3}
    for name, value in expected.items():
        assert frame.loc[name, "value"] == pytest.approx(value, abs=1e-12)
        assert frame.loc[name, "interval"] is None  # both units move alike
        assert "no interval" in frame.loc[name, "notes"][0]


def test_three_corners_are_refused_with_the_witness():
    spec = fits.face_spec(strata=False)
    corner = FOUR[~((FOUR["state"] == "after") & (FOUR["view"] == "generated"))]
    scores = fc.read_scores(spec, corner)
    with pytest.raises(fc.NotIdentified, match="never measured") as caught:
        fc.estimate(scores, fc.omega(view=("direct", "generated")))
    refusal = caught.value.refusal
    assert refusal["missing"] == [{"state": "after", "view": "generated"}]
    assert refusal["witness"]["moves_contrast"] == 1.0
    assert fc.estimate(scores, fc.gain(view="direct")).loc[0, "value"] == pytest.approx(0.6)


def test_joint_cohort_is_complete_in_every_cell():
    spec = fits.face_spec(strata=False)
    table = fits.face_table()
    holes = table.drop(table.index[(table["task"] == "small000") & (table["view"] == "direct")])
    scores = fc.read_scores(spec, holes)
    contrast = fc.gain(view="generated")
    counts = {
        cohort: fc.estimate(scores, contrast, cohort=cohort, draws=100).loc[0, "units"]
        for cohort in ("contrast", "joint")
    }
    assert counts == {"contrast": 100, "joint": 99}


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"cohort": "everyone"}, "'contrast', 'joint', 'observed'"),
        ({"resampling": "within_stratum"}, "did you mean 'within_strata'"),
        ({"interval": "bootstrap"}, "expected 'percentile' or"),
        ({"simultaneous": True, "interval": "rescaled"}, "give one of them"),
        ({"draws": 0}, "1 or more"),
        ({"level": 95}, "between 0 and 1"),
        ({"level": 1.0}, "between 0 and 1"),
    ],
)
def test_an_option_out_of_range_is_refused(option, words):
    scores = fc.read_scores(fits.face_spec(strata=False), FOUR)
    with pytest.raises(fc.OptionError, match=words):
        fc.estimate(scores, fc.gain(view="direct"), **option)


def test_frames_have_the_columns_of_the_json_rows():
    audit = fits.face().audit
    document = audit.document()
    for key, frame in (
        ("estimates", audit.estimates),
        ("breakdowns", audit.breakdowns),
        ("probabilities", audit.probabilities),
        ("checks", audit.checks),
    ):
        assert list(frame.columns) == list(document[key][0])
        assert len(frame) == len(document[key])


def test_design_rows_stand_on_the_fits_cohort_beside_their_own():
    frame = fits.cube().audit.estimates
    counts = frame.groupby(["method", "population", "cohort"]).size().to_dict()
    names = len(fits.cube().spec.estimands) * 2
    assert counts == {
        ("design", "units", "contrast"): names,
        ("design", "units", "joint"): names,
        ("posterior", "units", "joint"): names - 2,  # the share of negatives has no posterior
        ("posterior", "cohort", "joint"): names - 2,
        ("unpooled", "units", "joint"): names - 2,
    }


def test_check_and_posterior_take_a_tree_alone():
    fitted = fits.face()
    assert fc.check(fitted.tree, fitted.spec)["verdict"].isin(["pass", "not_run", "shown"]).all()
    frame = fc.posterior(fitted.tree, fitted.spec, level=0.5)
    assert set(frame["level"]) == {0.5}


@pytest.mark.parametrize("what", ["fourcorner", "fourcorner.auditing, fourcorner.report.terminal"])
def test_what_estimates_without_a_fit_does_not_import_pymc(what):
    code = f"import sys, {what}; assert not {{'pymc', 'pytensor', 'arviz'}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_options_override_the_specs_and_are_all_used():
    spec = fits.face_spec()
    spec = replace(spec, design=replace(spec.design, draws=300, resampling="within_strata"))
    scores = fc.read_scores(spec, fits.face_table())
    declared = fc.estimate(scores, spec)
    assert set(declared["resampling"]) == {"bootstrap of units within strata"}
    plain = fc.estimate(scores, spec, resampling="plain")
    assert set(plain["resampling"]) == {"plain bootstrap of units"}
    kinds = fc.estimate(scores, spec, interval="rescaled").set_index(["name", "weights"])
    assert "rescaled" in kinds.loc[("omega", "equal"), "interval_kind"]
    together = fc.estimate(scores, spec, simultaneous=True).set_index(["name", "weights"])
    low, high = together.loc[("omega", "equal"), "interval"]
    inner = fc.estimate(scores, spec, interval="percentile").set_index(["name", "weights"])
    assert high - low > np.diff(inner.loc[("omega", "equal"), "interval"]).item()


def test_all_cohorts_are_honoured():
    spec = fits.face_spec(strata=False)
    table = fits.face_table()
    holes = table.drop(table.index[(table["task"] == "small000") & (table["view"] == "direct")])
    scores = fc.read_scores(spec, holes)
    counts = {
        cohort: fc.estimate(scores, spec, cohort=cohort, draws=100)
        .set_index("name")
        .loc["generated", "units"]
        for cohort in ("contrast", "joint", "observed")
    }
    assert counts == {"contrast": 100, "joint": 99, "observed": 100}


def test_a_rope_is_honoured_or_refused():
    fitted = fits.face()
    asked = fc.omega(view=("direct", "generated"))
    draws = fitted.tree["posterior"]["cell_mean"]
    gain = draws.sel(state="after") - draws.sel(state="before")
    omega = gain.sel(view="generated") - gain.sel(view="direct")
    share = fits.STRATA["small"] / sum(fits.STRATA.values())
    fixed = share * omega.sel(stratum="small") + (1 - share) * omega.sel(stratum="large")
    wide = float(abs(fixed).max()) + 1
    found = fc.probabilities(fitted.tree, asked, rope=wide).set_index("event")
    assert found.loc["rope", "value"] > 0.999
    assert "rope" not in fc.probabilities(fitted.tree, asked)["event"].tolist()
    spec = replace(fitted.spec, model=replace(fitted.spec.model, rope=wide))
    assert "rope" in fc.probabilities(fitted.tree, spec)["event"].tolist()
    with pytest.raises(fc.OptionError, match="above 0"):
        fc.probabilities(fitted.tree, asked, rope=0.0)
    kept = fitted.tree.copy()
    kept.attrs["rope"] = wide
    declared = fc.probabilities(kept, asked).set_index("event")
    assert (declared.loc["rope", "rope"], declared.loc["rope", "value"]) == (
        wide,
        found.loc["rope", "value"],
    )
    assert "rope" not in fc.probabilities(kept, fitted.spec)["event"].tolist()


def test_the_events_of_probabilities_are_those_that_the_page_of_the_spec_lists():
    pair = ("direct", "generated")
    omega = fc.omega(view=pair)
    asked = {
        "gain": fc.gain(view="direct"),
        "omega": omega,
        "shift": fc.endpoint_shift("after", view=pair),
        "diagonal": fc.diagonal(view=pair),
        "difference": omega - fc.gain(view="direct"),
        "allocation": fc.shapley(view=pair)["view"],
        "moebius": fc.moebius(view=pair)[frozenset({"view"})],
        "interaction": fc.shapley_interaction(view=pair)[frozenset({"view", "state"})],
        "sum": fc.gain(view="direct") + fc.gain(view="generated"),
    }
    found = set(fc.probabilities(fits.face().tree, asked, rope=0.5)["event"])
    page = (fits.REPO / "docs" / "spec.md").read_text()
    listed = page.partition("## Events of posterior probabilities")[2].partition("\n## ")[0]
    events = [line.split("|")[2] for line in listed.splitlines() if line.count("|") == 4]
    of_criteria = "criterion"  # asked for in a spec: `tests/test_criteria.py`
    assert set(re.findall(r"`([^`]+)`", " ".join(events))) == found | {of_criteria}


def test_an_audit_compares_pooling_three_ways_and_scales_the_priors():
    audit = fits.face().audit
    checks = audit.checks
    assert set(checks["name"]) >= {"pooling", "prior_sensitivity", "design_agreement"}
    pooling = checks[checks["name"] == "pooling"].set_index("target")
    means = [
        name for name, declared in audit.spec.estimands.items() if declared.statistic == "mean"
    ]
    assert set(pooling.index) == {f"{name} ({w})" for name in means for w in audit.spec.weights}
    rows = audit.estimates.set_index(["name", "weights", "method", "population", "cohort"])["value"]
    for name in means:
        pooled = rows[(name, "equal", "posterior", "units", "joint")]
        flat = rows[(name, "equal", "unpooled", "units", "joint")]
        assert pooling.loc[f"{name} (equal)", "value"] == pytest.approx(pooled - flat)
        assert "design has no row" not in pooling.loc[f"{name} (equal)", "message"]


def test_breakdowns_of_an_audit_are_the_designs_own():
    audit = fits.face().audit
    wide = fits.face_table().pivot_table(
        index=["target", "task"], columns=["state", "view"], values="margin"
    )
    gains = (wide["after"] - wide["before"])["direct"]
    rows = audit.breakdowns.set_index(["name", "weights", "by", "level"])["value"].sort_index()
    by_stratum = gains.groupby("target").mean()
    for stratum, value in by_stratum.items():
        assert rows[("direct", "empirical", "stratum", stratum)] == pytest.approx(value)
    mean, n = gains.mean(), len(gains)
    without = ((n * mean - gains) / (n - 1)).droplevel("target")
    found = rows.xs(("direct", "empirical", "leave_one_out"))
    assert dict(found) == pytest.approx(
        {without.idxmin(): without.min(), without.idxmax(): without.max()}
    )
