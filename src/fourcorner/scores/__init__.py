"""Scores: a table to a validated Dataset, its cells and its funnel."""

from fourcorner.scores.agreement import Agreement, agreement
from fourcorner.scores.beliefs import log_softmax, reduced_options, reduced_sizes
from fourcorner.scores.cells import (
    as_margins,
    cells,
    censoring_bounds,
    factors,
    joint,
    measured_cells,
    replicate_dims,
    scale_factors,
    strata,
    waves,
)
from fourcorner.scores.funnel import REASONS, STAGES, funnel
from fourcorner.scores.margins import ROUNDING
from fourcorner.scores.read import read_scores

__all__ = [
    "REASONS",
    "ROUNDING",
    "STAGES",
    "Agreement",
    "agreement",
    "as_margins",
    "cells",
    "censoring_bounds",
    "factors",
    "funnel",
    "joint",
    "log_softmax",
    "measured_cells",
    "read_scores",
    "reduced_options",
    "reduced_sizes",
    "replicate_dims",
    "scale_factors",
    "strata",
    "waves",
]
