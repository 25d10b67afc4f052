"""The public names, pinned: saved runs are indexed by them, and they are spelt in one module."""

import ast
from pathlib import Path

import pytest

import fourcorner
from fourcorner import names
from fourcorner.errors import SpecError
from fourcorner.spec import parse_spec

SOURCE = Path(fourcorner.__file__).parent

# A change here changes what users index saved runs by: it belongs in the changelog.
PINNED = {
    "TRANSITION": "transition",
    "UNIT": "unit",
    "TRANSITION_ID": "transition_id",
    "STRATUM": "stratum",
    "STATE": "state",
    "BEFORE": "before",
    "AFTER": "after",
    "SCORE": "score",
    "PRESENT": "present",
    "CELLS": "cells",
    "OPTION": "option",
    "OPTION_SCORE": "option_score",
    "OPTION_ID": "option_id",
    "OPTION_SIZE": "option_size",
    "TARGET_OPTION": "target_option",
    "CENSORED": "censored",
    "WAVE": "wave",
    "SESSION": "session",
    "ENDPOINT": "endpoint",
    "MEAN_THEN_MARGIN": "mean_then_margin",
    "MARGIN_THEN_MEAN": "margin_then_mean",
    "CHAIN": "chain",
    "DRAW": "draw",
    "EFFECT": "effect",
    "STRATUM_EFFECT": "stratum_effect",
    "COMPONENT": "component",
    "ORDER": "effect_order",
    "COMPONENT_2": "component_2",
    "SCALE_GROUP": "scale_group",
    "VAR_RETRY_SD": "retry_sd",
    "VAR_TAU_PLACE": "component_tau",
    "VAR_GROUP": "component_group",
    "VAR_RETRY_SHARE": "component_retry",
    "VAR_RETRY_SCATTER": "retry_scatter",
    "VAR_RETRY_DEGREES": "retry_degrees",
    "VAR_OBSERVED": "units_observed",
    "VAR_DEGREES": "degrees_of_freedom",
    "NORMAL": "normal",
    "STUDENT": "student",
    "FLIP_NEW": "flip_new",
    "TRANSITION_FAMILY": "transitions",
    "BY_MODEL": "model",
    "BY_BOOTSTRAP": "bootstrap",
    "STEP": "step_kind",
    "MOVE": "level_or_step",
    "SLOT": "endpoint_slot",
    "CHANNEL_CELL": "channel_cell",
    "CHANNEL_CELL_2": "channel_cell_2",
    "TEMPLATE": "chain_template",
    "VAR_MOVE": "levels_and_steps",
    "VAR_STEP_MEAN": "step_mean",
    "VAR_NOISE_SD": "noise_sd",
    "VAR_NOISE_COVARIANCE": "noise_covariance",
    "VAR_WHITE": "white_share",
    "VAR_PERSISTENCE": "persistence",
    "VAR_TRANSITIONS": "transitions_in_stratum",
    "VAR_STEPS": "steps_in_stratum",
    "VAR_TEMPLATE": "unit_template",
    "VAR_UNIT_OF": "transition_unit",
    "VAR_SLOT": "transition_slot",
    "VAR_STEP": "transition_step",
    "VAR_DESIGN": "endpoint_moves",
    "VAR_CHAIN": "endpoint_chain",
    "VAR_CENTRE": "move_prior_mean",
    "VAR_COMMON": "move_prior_sd",
    "DATA_STRATUM": "data_stratum",
    "PRIOR_NAME": "prior_name",
    "VAR_PRIOR_SCALES": "prior_values",
    "VAR_STRATA": "strata_of_data",
    "ESTIMAND": "estimand",
    "VAR_EFFECT": "effects",
    "VAR_DEVIATION": "stratum_deviation",
    "VAR_TAU": "tau",
    "VAR_UNIT_SD": "unit_sd",
    "VAR_COVARIANCE": "unit_covariance",
    "VAR_STRATUM_SCALE": "stratum_scale",
    "VAR_CELL_MEAN": "cell_mean",
    "VAR_UNITS": "units_in_stratum",
    "VAR_BASIS": "basis",
    "VAR_ORDER": "component_order",
    "VAR_BY_STRATUM": "component_by_stratum",
    "VAR_PRIOR_VARIANCE": "component_prior_variance",
    "POSTERIOR": "posterior",
    "PRIOR": "prior",
    "POSTERIOR_PREDICTIVE": "posterior_predictive",
    "PRIOR_PREDICTIVE": "prior_predictive",
    "ESTIMATOR_PREDICTIVE": "estimator_predictive",
    "OBSERVED_DATA": "observed_data",
    "LOG_LIKELIHOOD": "log_likelihood",
    "LOG_PRIOR": "log_prior",
    "SAMPLE_STATS": "sample_stats",
    "CONSTANT_DATA": "constant_data",
    "MEAN": "mean",
    "MEDIAN": "median",
    "NEGATIVE_SHARE": "negative_share",
    "RATE": "rate",
    "AUC": "auc",
    "GAIN": "gain",
    "ENDPOINT_SHIFT": "endpoint_shift",
    "DIAGONAL": "diagonal",
    "ALLOCATION": "allocation",
    "DIFFERENCE": "difference",
    "SIGNS": "signs",
    "BELIEFS": "beliefs",
    "AUC_FIRST": "first",
    "AUC_SECOND": "second",
    "AUC_DIFFERENCE": "difference",
    "ENTROPY_MOVEMENT": "entropy_movement",
    "SURPRISE": "surprise",
    "MARGIN_GAIN": "margin_gain",
    "PIVOT": "pivot",
    "DAMAGE": "damage",
    "REPAIR": "repair",
    "FIRST_GAIN": "gain.first",
    "SECOND_GAIN": "gain.second",
    "OMEGA": "omega",
    "CROSS_CHANNEL": "cross_channel",
    "CROSS_CHANNEL_DOWN": "cross_channel+-",
    "CROSS_CHANNEL_UP": "cross_channel-+",
    "SAME_CHANNEL": "same_channel",
    "EXCESS": "excess",
    "PERSISTENT": "persistent",
    "PERSISTENT_DOWN": "persistent+-",
    "PERSISTENT_UP": "persistent-+",
    "ZERO": "zero",
    "BEYOND": "beyond",
    "AGREEMENT": "agreement",
    "COHORT_OBSERVED": "observed",
    "BY_UNIT": "unit",
    "BY_TRANSITION": "transition",
    "UNPOOLED": "unpooled",
    "BAYESIAN_BOOTSTRAP": "bayesian_bootstrap",
    "TRIMMED_MEAN": "trimmed_mean",
    "DESIGN": "design",
    "BAYES": "posterior",
    "POPULATION_COHORT": "cohort",
    "POPULATION_UNITS": "units",
    "COHORT_CONTRAST": "contrast",
    "COHORT_JOINT": "joint",
    "PLAIN": "plain",
    "WITHIN_STRATA": "within_strata",
    "PERCENTILE": "percentile",
    "RESCALED": "rescaled",
    "BOOTSTRAP_T": "bootstrap_t",
    "BENCHMARK": "benchmark",
    "BEFORE_SHIFT": "shift.before",
    "AFTER_SHIFT": "shift.after",
    "GAIN_DIFFERENCE": "gain_difference",
    "DISCORDANT": "discordant",
    "DISTANCE": "distance",
    "DISCORDANCE": "discordance",
    "SIMULTANEOUS": "simultaneous max-t",
    "CREDIBLE": "equal-tailed credible",
    "ABOVE": "+",
    "BELOW": "-",
    "SUPPORTED": "supported",
    "CONTRADICTED": "contradicted",
    "UNRESOLVED": "unresolved",
    "HOLDS": "holds",
    "FAILS": "fails",
    "OPEN": "open",
    "CRITERION": "criterion",
    "REVERSAL_DOWN": "reversal+-",
    "REVERSAL_UP": "reversal-+",
    "ROPE": "rope",
    "CENSORING_BOUNDS": "censoring_bounds",
    "LEAVE_ONE_OUT": "leave_one_out",
    "EMPIRICAL": "empirical",
    "EQUAL": "equal",
    "PASS": "pass",
    "FAIL": "fail",
    "SHOWN": "shown",
    "NOT_RUN": "not_run",
    "ESTIMATES_FILE": "estimates",
    "POSTERIOR_FILE": "posterior.nc",
    "SCORES_FILE": "scores.nc",
    "CHECKS_FILE": "checks.json",
    "DOCUMENT_FILE": "document.json",
    "SPEC_FILE": "spec.toml",
    "PROVENANCE_FILE": "provenance.json",
    "REPORT_FILE": "report.html",
    "COMPLETE_FILE": "complete.json",
}

# Keys of a spec and of the report's template that happen to read like a variable of a fit.
OTHER_KEYS = {
    "effects": {
        "spec/model.py",
        "spec/families.py",
        "bayes/basis.py",
        "report/html.py",
        "report/effects.py",
    },
    "unit_sd": {"bayes/priors.py", "bayes/cells.py", "bayes/scaling.py"},
    "retry_sd": {"bayes/priors.py"},
    "tau": {"report/effects.py"},
}

# Dims and variables that share a Dataset with the user's factors.
IN_A_DATASET = {
    "TRANSITION", "UNIT", "TRANSITION_ID", "STRATUM", "STATE", "SCORE", "PRESENT", "CELLS", "CHAIN",
    "DRAW", "EFFECT", "STRATUM_EFFECT", "COMPONENT", "ORDER", "ESTIMAND",
    *(name for name in PINNED if name.startswith("VAR_")),
}  # fmt: skip

SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = {{ column = "phase", before = "before", after = "after" }}
channel = {{ "{word}" = ["a", "b"] }}
[estimands]
step = {{ gain = {{ "{word}" = "a" }} }}
"""


def constants():
    return {name: value for name, value in vars(names).items() if name.isupper()}


def test_every_public_name_has_its_pinned_text_and_there_are_no_others():
    texts = {name: value for name, value in constants().items() if isinstance(value, str)}
    assert texts == PINNED


def test_the_lists_hold_the_pinned_names():
    assert names.STATES == ("before", "after")
    assert names.STATISTICS == ("mean", "median", "trimmed_mean", "negative_share")
    assert {name for name, value in constants().items() if not isinstance(value, str)} == {
        "STATES",
        "STATISTICS",
        "SHARES",
        "REDUCERS",
        "PLANS",
        "VERDICTS",
        "INTERVALS",
        "RESERVED",
    }


@pytest.mark.parametrize("name", sorted(IN_A_DATASET))
def test_a_factor_cannot_take_the_name_of_a_dim_or_variable(name):
    word = PINNED[name]
    with pytest.raises(SpecError, match=f"may not be called '{word}'"):
        parse_spec(SPEC.format(word=word))


def test_a_factor_may_take_any_other_name():
    assert list(parse_spec(SPEC.format(word="view")).data.channel) == ["view"]


def spelt(path):
    """The texts of a module, its list of exported functions aside."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    kept = [part for part in module.body if "__all__" not in ast.unparse(part)]
    return {
        node.value
        for part in kept
        for node in ast.walk(part)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_a_variable_of_a_fit_is_spelt_in_one_module():
    variables = {text for name, text in PINNED.items() if name.startswith("VAR_")}
    found = {}
    for path in SOURCE.rglob("*.py"):
        module = path.relative_to(SOURCE).as_posix()
        for word in spelt(path) & variables if module != "names.py" else ():
            if module not in OTHER_KEYS.get(word, ()):
                found.setdefault(module, []).append(word)
    assert not found, "use the constants of fourcorner.names"
    assert variables <= spelt(SOURCE / "names.py")
