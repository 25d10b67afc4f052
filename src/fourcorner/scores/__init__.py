"""Scores: a table to a validated Dataset, its cells and its funnel."""

from fourcorner.scores.cells import cells, factors, joint, replicate_dims, strata
from fourcorner.scores.funnel import STAGES, funnel
from fourcorner.scores.read import read_scores

__all__ = [
    "STAGES",
    "cells",
    "factors",
    "funnel",
    "joint",
    "read_scores",
    "replicate_dims",
    "strata",
]
