"""Contrasts of cells: their algebra, the named ones of a face, and what is identified."""

from fourcorner.contrasts.algebra import Cell, Contrast
from fourcorner.contrasts.allocation import (
    ALLOCATION,
    Subset,
    moebius,
    shapley,
    shapley_interaction,
)
from fourcorner.contrasts.calibration import flip_ratio, flip_share
from fourcorner.contrasts.crossed import Crossing, crossings
from fourcorner.contrasts.faces import diagonal, endpoint, endpoint_shift, gain, omega
from fourcorner.contrasts.identification import NOT_IDENTIFIED, cell_record, in_words, refusal
from fourcorner.contrasts.parts import Levels, moved
from fourcorner.contrasts.scales import UNLINKED_SCALES, scale_refusal
from fourcorner.contrasts.values import ROUNDING, Values, contrast_values

__all__ = [
    "ALLOCATION",
    "NOT_IDENTIFIED",
    "ROUNDING",
    "UNLINKED_SCALES",
    "Cell",
    "Contrast",
    "Crossing",
    "Levels",
    "Subset",
    "Values",
    "cell_record",
    "contrast_values",
    "crossings",
    "diagonal",
    "endpoint",
    "endpoint_shift",
    "flip_ratio",
    "flip_share",
    "gain",
    "in_words",
    "moebius",
    "moved",
    "omega",
    "refusal",
    "scale_refusal",
    "shapley",
    "shapley_interaction",
]
