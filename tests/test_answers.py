"""What the cell model answers: nothing as if a field were not there, nothing open unlabelled."""

import numpy as np
import pytest

import fits
import fourcorner as fc
import trees
from fourcorner.bayes import answers, posterior
from fourcorner.bayes.tree import group
from fourcorner.checks import convergence, design_agreement, prior_sensitivity
from fourcorner.estimands import Estimand
from fourcorner.weights import resolve

OMEGA = fc.omega(view=("direct", "generated"))
STRATA = ["large", "small"]
EQUAL = resolve("equal", "equal", STRATA)
EMPIRICAL = resolve("empirical", "empirical", STRATA)
LARGE = resolve("large alone", {"large": 1.0, "small": 0.0}, STRATA)
FULL = {"state": "after", "view": "generated"}

UNKNOWN = {
    "groups": ({"between": ("artifact", "false", "true")}, "no artifact = true against"),
    "part": ({"where": {"step_type": ("edit", "test")}}, "step_type = edit/test"),
    "wave": ({"wave": ("w1",)}, "mean over all waves, not w1"),
    "median": ({"statistic": "median"}, "not a median"),
    "trimmed": ({"statistic": "trimmed_mean"}, "not a trimmed mean"),
    "share": ({"statistic": "negative_share"}, "not a negative share"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_field_that_the_model_does_not_know_is_named_and_never_answered(name):
    fields, reason = UNKNOWN[name]
    tree, asked = fits.face().tree, [Estimand(name, OMEGA, **fields)]
    (said,) = posterior.not_modelled(asked)
    assert said.startswith(f"posterior of {name}: ")
    assert reason in said
    assert posterior.estimates(tree, asked, [EQUAL]) == []
    assert posterior.unpooled(tree, asked, [EQUAL]) == []
    assert posterior.probabilities(tree, asked, [EQUAL], rope=0.1) == []
    assert len(design_agreement.replicates(tree, asked, [EQUAL]).data_vars) == 0
    (agreement,) = design_agreement.check(tree, asked, [EQUAL])
    assert (agreement.verdict, agreement.message) == ("not_run", said.split(": ", 1)[1])
    sensitivity = {row.target: row for row in prior_sensitivity.check(tree, asked, [EQUAL])}
    assert sensitivity[f"{name} (equal)"].verdict == "not_run"
    estimand_rows = [
        row for row in convergence.check(tree, asked, [EQUAL]) if "estimands" in row.target
    ]
    assert [row.verdict for row in estimand_rows] == ["not_run"]


def test_units_and_transitions_weigh_alike_where_each_unit_has_one_change():
    tree = fits.face().tree
    by_unit = Estimand("omega", OMEGA, weight_by="unit")
    assert posterior.not_modelled([by_unit]) == []
    assert posterior.estimates(tree, [by_unit], [EQUAL]) == posterior.estimates(
        tree, [Estimand("omega", OMEGA)], [EQUAL]
    )


def test_a_contrast_across_unlinked_scales_is_refused():
    tree = fits.face().tree.copy(deep=True)
    tree.attrs["scale"] = "view"
    within = Estimand("direct", fc.gain(view="direct"))
    across = Estimand("omega", OMEGA)
    rows = posterior.estimates(tree, [within, across], [EQUAL])
    assert [row.refused is None for row in rows] == [True, True, False]
    assert rows[-1].refused["reason"] == "unlinked_scales"
    assert posterior.unpooled(tree, [across], [EQUAL])[0].refused["reason"] == "unlinked_scales"
    assert {row.name for row in posterior.probabilities(tree, [within, across], [EQUAL])} == {
        "direct"
    }
    (row,) = design_agreement.check(tree, [across], [EQUAL])
    assert row.verdict == "not_run"
    assert "scales that nothing links" in row.message


def test_what_no_observed_cell_determines_is_labelled_beside_its_prior():
    tree = trees.without_cell(fits.face().tree, **FULL)
    asked = [Estimand("omega", OMEGA), Estimand("direct", fc.gain(view="direct"))]
    omega, direct = (
        row for row in posterior.estimates(tree, asked, [EQUAL]) if row.value is not None
        and row.population == "units"
    )  # fmt: skip
    means = group(tree, "prior")["cell_mean"].mean("stratum")
    gains = means.sel(state="after") - means.sel(state="before")
    prior = (gains.sel(view="generated") - gains.sel(view="direct")).values
    low, high = np.quantile(prior, [0.025, 0.975])
    (note,) = omega.notes
    assert note.startswith("prior-driven: ")
    assert "state = after, view = generated" in note
    assert f"prior mean {prior.mean():+.4g}, 95 % interval {low:+.4g} to {high:+.4g}" in note
    assert direct.notes == ()
    shown = [
        row
        for row in prior_sensitivity.check(tree, asked, [EQUAL])
        if row.name == prior_sensitivity.DRIVEN
    ]
    assert [(row.target, row.verdict, row.gated) for row in shown] == [
        ("omega (equal)", "shown", False)
    ]
    assert shown[0].message == note
    assert posterior.unpooled(tree, asked, [EQUAL])[0].refused["reason"] == "not_identified"
    cohort = [
        row for row in posterior.estimates(tree, asked, [EQUAL]) if row.population == "cohort"
    ]
    assert [row.refused is None for row in cohort] == [False, True]
    assert cohort[0].refused["strata"] == STRATA


def test_a_cell_that_one_stratum_lacks_is_open_where_that_stratum_counts():
    tree = trees.without_cell(fits.face().tree, stratum="small", **FULL)
    found = answers.unidentified(tree, OMEGA, EQUAL)
    assert found["missing"] == [{"stratum": "small", **FULL}]
    assert found["would_identify"] == [[{"stratum": "small", **FULL}]]
    # Ω counts that corner once, the small stratum half
    assert found["witness"]["moves_contrast"] == pytest.approx(0.5)
    assert answers.unidentified(tree, OMEGA, EMPIRICAL) is not None
    assert answers.unidentified(tree, OMEGA, LARGE) is None


def test_a_formula_that_strata_share_determines_what_a_stratum_lacks():
    tree = trees.without_cell(fits.face().tree, stratum="small", **FULL)
    own = np.array([1, 0, 0, 0])  # the intercept alone differs between strata
    shared = trees.with_variables(tree, "constant_data", component_by_stratum=own)
    assert answers.unidentified(shared, OMEGA, EQUAL) is None
    assert answers.unidentified(shared, OMEGA, EQUAL, pooled=False) is not None
    assert posterior.prior_driven(shared, OMEGA, EQUAL) is None


def test_a_whole_cohort_leaves_nothing_open():
    for fitted in (fits.cube(), fits.face(), fits.unstratified()):
        contrast = fc.gain(
            at={"authority": "neutral"} if fitted is fits.cube() else None,
            view="quote" if fitted is fits.cube() else "direct",
        )
        mixture = resolve("empirical", "empirical", fits.STRATA)
        assert answers.unidentified(fitted.tree, contrast, mixture) is None
