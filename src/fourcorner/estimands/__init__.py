"""Estimands: named contrasts, the statistic or measure asked of them and whom they are about."""

from fourcorner.estimands.declared import as_estimands
from fourcorner.estimands.estimand import OFFSETS, UNITS_ALIKE, Estimand, modifiers
from fourcorner.estimands.measured import agreement, auc, beliefs, benchmark, signs

__all__ = [
    "OFFSETS",
    "UNITS_ALIKE",
    "Estimand",
    "agreement",
    "as_estimands",
    "auc",
    "beliefs",
    "benchmark",
    "modifiers",
    "signs",
]
