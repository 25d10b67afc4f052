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

# Groups of a fit's DataTree
POSTERIOR: Final = "posterior"
PRIOR: Final = "prior"
POSTERIOR_PREDICTIVE: Final = "posterior_predictive"
ESTIMATOR_PREDICTIVE: Final = "estimator_predictive"
OBSERVED_DATA: Final = "observed_data"
LOG_LIKELIHOOD: Final = "log_likelihood"
LOG_PRIOR: Final = "log_prior"
SAMPLE_STATS: Final = "sample_stats"
CONSTANT_DATA: Final = "constant_data"

# Names a user's own factor, stratum or attribute column may not take
RESERVED: Final = frozenset(
    {
        TRANSITION, UNIT, TRANSITION_ID, STRATUM, STATE, SCORE, PRESENT, CELLS, CHAIN, DRAW,
        EFFECT, STRATUM_EFFECT, COMPONENT, ORDER, ESTIMAND, VAR_EFFECT, VAR_DEVIATION, VAR_TAU,
        VAR_UNIT_SD, VAR_COVARIANCE, VAR_STRATUM_SCALE, VAR_CELL_MEAN,
        VAR_UNITS, VAR_BASIS, VAR_ORDER, VAR_BY_STRATUM, VAR_PRIOR_VARIANCE, VAR_PRIOR_SCALES,
        PRIOR_NAME, VAR_STRATA, DATA_STRATUM, COMPONENT_2, "at", "sample",
    }
)  # fmt: skip

# Statistics, methods, populations, cohorts
MEAN: Final = "mean"
MEDIAN: Final = "median"
NEGATIVE_SHARE: Final = "negative_share"
STATISTICS: Final = (MEAN, MEDIAN, NEGATIVE_SHARE)

DESIGN: Final = "design"
BAYES: Final = "posterior"
POPULATION_COHORT: Final = "cohort"
POPULATION_UNITS: Final = "units"
COHORT_CONTRAST: Final = "contrast"
COHORT_JOINT: Final = "joint"

EMPIRICAL: Final = "empirical"
EQUAL: Final = "equal"

# Files of a run directory
ESTIMATES_FILE: Final = "estimates"
POSTERIOR_FILE: Final = "posterior.nc"
CHECKS_FILE: Final = "checks.json"
DOCUMENT_FILE: Final = "document.json"
SPEC_FILE: Final = "spec.toml"
PROVENANCE_FILE: Final = "provenance.json"
REPORT_FILE: Final = "report.html"
COMPLETE_FILE: Final = "complete.json"
