"""The Python front: frames, refusals as errors, a light import."""

import subprocess
import sys

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
        ({"cohort": "everyone"}, "expected 'contrast' or 'joint'"),
        ({"draws": 0}, "at least 1"),
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
    }


def test_check_and_posterior_take_a_tree_alone():
    fitted = fits.face()
    assert fc.check(fitted.tree, fitted.spec)["verdict"].isin(["pass", "not_run", "shown"]).all()
    frame = fc.posterior(fitted.tree, fitted.spec, level=0.5)
    assert set(frame["level"]) == {0.5}


def test_importing_the_package_does_not_import_pymc():
    code = "import sys, fourcorner; assert not {'pymc', 'pytensor', 'arviz'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
