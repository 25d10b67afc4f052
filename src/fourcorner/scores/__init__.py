"""Scores: a table to a validated Dataset, its cells and its funnel."""

from fourcorner.scores.cells import (
    cells,
    censoring_bounds,
    factors,
    joint,
    measured,
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
    "cells",
    "censoring_bounds",
    "factors",
    "funnel",
    "joint",
    "measured",
    "read_scores",
    "replicate_dims",
    "scale_factors",
    "strata",
    "waves",
]
