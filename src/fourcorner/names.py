"""Every dim, variable, column and group name of the package, spelt once.

These names are API: users index saved runs by them. `tests/test_names.py` pins them.
"""

from typing import Final

# Dims and coordinates of a scores Dataset
TRANSITION: Final = "transition"
UNIT: Final = "unit"
TRANSITION_ID: Final = "transition_id"
STRATUM: Final = "stratum"
STATE: Final = "state"
BEFORE: Final = "before"
AFTER: Final = "after"
STATES: Final = (BEFORE, AFTER)

# Variables of a scores Dataset
SCORE: Final = "score"
PRESENT: Final = "present"
CELLS: Final = "cells"
OPTION: Final = "option"
OPTION_SCORE: Final = "option_score"
OPTION_ID: Final = "option_id"
OPTION_SIZE: Final = "option_size"
TARGET_OPTION: Final = "target_option"
CENSORED: Final = "censored"
WAVE: Final = "wave"
SESSION: Final = "session"
ENDPOINT: Final = "endpoint"

# Dims and variables of a fit
CHAIN: Final = "chain"
DRAW: Final = "draw"
EFFECT: Final = "effect"
STRATUM_EFFECT: Final = "stratum_effect"
COMPONENT: Final = "component"
ORDER: Final = "effect_order"
ESTIMAND: Final = "estimand"

VAR_EFFECT: Final = "effects"
VAR_DEVIATION: Final = "stratum_deviation"
VAR_TAU: Final = "tau"
VAR_UNIT_SD: Final = "unit_sd"
VAR_COVARIANCE: Final = "unit_covariance"
VAR_STRATUM_SCALE: Final = "stratum_scale"
VAR_CELL_MEAN: Final = "cell_mean"
VAR_UNITS: Final = "units_in_stratum"
VAR_BASIS: Final = "basis"
VAR_ORDER: Final = "component_order"
VAR_BY_STRATUM: Final = "component_by_stratum"
VAR_PRIOR_VARIANCE: Final = "component_prior_variance"
VAR_PRIOR_SCALES: Final = "prior_values"
PRIOR_NAME: Final = "prior_name"
VAR_STRATA: Final = "strata_of_data"
DATA_STRATUM: Final = "data_stratum"
COMPONENT_2: Final = "component_2"
SCALE_GROUP: Final = "scale_group"
VAR_RETRY_SD: Final = "retry_sd"
VAR_TAU_PLACE: Final = "component_tau"
VAR_GROUP: Final = "component_group"
VAR_RETRY_SHARE: Final = "component_retry"
VAR_RETRY_SCATTER: Final = "retry_scatter"
VAR_RETRY_DEGREES: Final = "retry_degrees"
VAR_OBSERVED: Final = "units_observed"
VAR_DEGREES: Final = "degrees_of_freedom"

# Those of a transition model
STEP: Final = "step_kind"
MOVE: Final = "level_or_step"
SLOT: Final = "endpoint_slot"
CHANNEL_CELL: Final = "channel_cell"
CHANNEL_CELL_2: Final = "channel_cell_2"
TEMPLATE: Final = "chain_template"
VAR_MOVE: Final = "levels_and_steps"
VAR_STEP_MEAN: Final = "step_mean"
VAR_NOISE_SD: Final = "noise_sd"
VAR_NOISE_COVARIANCE: Final = "noise_covariance"
VAR_WHITE: Final = "white_share"
VAR_PERSISTENCE: Final = "persistence"
VAR_TRANSITIONS: Final = "transitions_in_stratum"
VAR_STEPS: Final = "steps_in_stratum"
VAR_TEMPLATE: Final = "unit_template"
VAR_UNIT_OF: Final = "transition_unit"
VAR_SLOT: Final = "transition_slot"
VAR_STEP: Final = "transition_step"
VAR_DESIGN: Final = "endpoint_moves"
VAR_CHAIN: Final = "endpoint_chain"
VAR_CENTRE: Final = "move_prior_mean"
VAR_COMMON: Final = "move_prior_sd"

# Groups of a fit's DataTree
POSTERIOR: Final = "posterior"
PRIOR: Final = "prior"
POSTERIOR_PREDICTIVE: Final = "posterior_predictive"
PRIOR_PREDICTIVE: Final = "prior_predictive"
ESTIMATOR_PREDICTIVE: Final = "estimator_predictive"
OBSERVED_DATA: Final = "observed_data"
LOG_LIKELIHOOD: Final = "log_likelihood"
LOG_PRIOR: Final = "log_prior"
SAMPLE_STATS: Final = "sample_stats"
CONSTANT_DATA: Final = "constant_data"

# Names a user's own factor, stratum or attribute column may not take
RESERVED: Final = frozenset(
    {
        TRANSITION, UNIT, TRANSITION_ID, STRATUM, STATE, SCORE, PRESENT, CELLS, OPTION,
        OPTION_SCORE, OPTION_ID, OPTION_SIZE, TARGET_OPTION, CENSORED, SESSION, ENDPOINT, CHAIN,
        DRAW, EFFECT, STRATUM_EFFECT, COMPONENT, ORDER, ESTIMAND, VAR_EFFECT, VAR_DEVIATION,
        VAR_TAU, VAR_UNIT_SD, VAR_COVARIANCE, VAR_STRATUM_SCALE, VAR_CELL_MEAN,
        VAR_UNITS, VAR_BASIS, VAR_ORDER, VAR_BY_STRATUM, VAR_PRIOR_VARIANCE, VAR_PRIOR_SCALES,
        PRIOR_NAME, VAR_STRATA, DATA_STRATUM, COMPONENT_2, SCALE_GROUP, VAR_RETRY_SD,
        VAR_TAU_PLACE, VAR_GROUP, VAR_RETRY_SHARE, VAR_RETRY_SCATTER, VAR_RETRY_DEGREES,
        VAR_OBSERVED, VAR_DEGREES,
        STEP, MOVE, SLOT, CHANNEL_CELL, CHANNEL_CELL_2, TEMPLATE, VAR_MOVE,
        VAR_STEP_MEAN, VAR_NOISE_SD, VAR_NOISE_COVARIANCE, VAR_WHITE, VAR_PERSISTENCE,
        VAR_TRANSITIONS, VAR_STEPS, VAR_TEMPLATE, VAR_UNIT_OF, VAR_SLOT, VAR_STEP, VAR_DESIGN,
        VAR_CHAIN, VAR_CENTRE, VAR_COMMON, "at", "sample",
    }
)  # fmt: skip

# Model families, and what check 2 takes the sampling variance of a design estimate from
NORMAL: Final = "normal"
STUDENT: Final = "student"
TRANSITION_FAMILY: Final = "transitions"
BY_MODEL: Final = "model"
BY_BOOTSTRAP: Final = "bootstrap"

# How the scores of options over replicates become one margin
MEAN_THEN_MARGIN: Final = "mean_then_margin"
MARGIN_THEN_MEAN: Final = "margin_then_mean"
REDUCERS: Final = (MEAN_THEN_MARGIN, MARGIN_THEN_MEAN)

# Statistics, methods, populations, cohorts
MEAN: Final = "mean"
MEDIAN: Final = "median"
TRIMMED_MEAN: Final = "trimmed_mean"
NEGATIVE_SHARE: Final = "negative_share"
STATISTICS: Final = (MEAN, MEDIAN, TRIMMED_MEAN, NEGATIVE_SHARE)
RATE: Final = "rate"
AUC: Final = "auc"
DISCORDANCE: Final = "discordance"
SHARES: Final = (NEGATIVE_SHARE, RATE)

# Kinds of an estimand: a contrast, or what is taken of each transition in its place
GAIN: Final = "gain"
OMEGA: Final = "omega"
ENDPOINT_SHIFT: Final = "endpoint_shift"
DIAGONAL: Final = "diagonal"
ALLOCATION: Final = "allocation"
DIFFERENCE: Final = "difference"
SIGNS: Final = "signs"
BELIEFS: Final = "beliefs"
AGREEMENT: Final = "agreement"
BENCHMARK: Final = "benchmark"

# Rows of the families of signs, benchmarks, AUCs and beliefs; a mean interaction's is ``omega`` too
FIRST_GAIN: Final = "gain.first"
SECOND_GAIN: Final = "gain.second"
CROSS_CHANNEL: Final = "cross_channel"
CROSS_CHANNEL_DOWN: Final = "cross_channel+-"
CROSS_CHANNEL_UP: Final = "cross_channel-+"
SAME_CHANNEL: Final = "same_channel"
EXCESS: Final = "excess"
PERSISTENT: Final = "persistent"
PERSISTENT_DOWN: Final = "persistent+-"
PERSISTENT_UP: Final = "persistent-+"
ZERO: Final = "zero"
BEYOND: Final = "beyond"
BEFORE_SHIFT: Final = "shift.before"
AFTER_SHIFT: Final = "shift.after"
GAIN_DIFFERENCE: Final = "gain_difference"
DISCORDANT: Final = "discordant"
DISTANCE: Final = "distance"
AUC_FIRST: Final = "first"
AUC_SECOND: Final = "second"
AUC_DIFFERENCE: Final = "difference"
ENTROPY_MOVEMENT: Final = "entropy_movement"
SURPRISE: Final = "surprise"
MARGIN_GAIN: Final = "margin_gain"
PIVOT: Final = "pivot"
DAMAGE: Final = "damage"
REPAIR: Final = "repair"

DESIGN: Final = "design"
BAYES: Final = "posterior"
UNPOOLED: Final = "unpooled"
BAYESIAN_BOOTSTRAP: Final = "bayesian_bootstrap"
BY_TRANSITION: Final = "transition"
BY_UNIT: Final = "unit"
POPULATION_COHORT: Final = "cohort"
POPULATION_UNITS: Final = "units"
COHORT_CONTRAST: Final = "contrast"
COHORT_JOINT: Final = "joint"
COHORT_OBSERVED: Final = "observed"

# How the design engine resamples and which interval it gives
PLAIN: Final = "plain"
WITHIN_STRATA: Final = "within_strata"
PLANS: Final = (PLAIN, WITHIN_STRATA)
PERCENTILE: Final = "percentile"
RESCALED: Final = "rescaled"
BOOTSTRAP_T: Final = "bootstrap_t"
INTERVALS: Final = (PERCENTILE, RESCALED, BOOTSTRAP_T)
SIMULTANEOUS: Final = "simultaneous max-t"
CREDIBLE: Final = "equal-tailed credible"
CENSORING_BOUNDS: Final = "censoring_bounds"
LEAVE_ONE_OUT: Final = "leave_one_out"

EMPIRICAL: Final = "empirical"
EQUAL: Final = "equal"

# Verdicts of a check; a gated failure changes the exit code
PASS: Final = "pass"  # noqa: S105 - a verdict
FAIL: Final = "fail"
SHOWN: Final = "shown"
NOT_RUN: Final = "not_run"
VERDICTS: Final = (PASS, FAIL, SHOWN, NOT_RUN)

# A directional criterion, and each of its parts
ABOVE: Final = "+"
BELOW: Final = "-"
SUPPORTED: Final = "supported"
CONTRADICTED: Final = "contradicted"
UNRESOLVED: Final = "unresolved"
HOLDS: Final = "holds"
FAILS: Final = "fails"
OPEN: Final = "open"
FLIP_NEW: Final = "flip_new"
CRITERION: Final = "criterion"

# Other events of posterior probabilities; below zero is ``KIND<0``, such as ``omega<0``
REVERSAL_DOWN: Final = "reversal+-"
REVERSAL_UP: Final = "reversal-+"
ROPE: Final = "rope"

# Files of a run directory
ESTIMATES_FILE: Final = "estimates"
POSTERIOR_FILE: Final = "posterior.nc"
SCORES_FILE: Final = "scores.nc"
CHECKS_FILE: Final = "checks.json"
DOCUMENT_FILE: Final = "document.json"
SPEC_FILE: Final = "spec.toml"
PROVENANCE_FILE: Final = "provenance.json"
REPORT_FILE: Final = "report.html"
COMPLETE_FILE: Final = "complete.json"
