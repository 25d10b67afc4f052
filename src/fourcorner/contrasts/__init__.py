"""Contrasts of cells: their algebra, the named ones of a face, and what is identified."""

from fourcorner.contrasts.algebra import Cell, Contrast
from fourcorner.contrasts.faces import Levels, diagonal, endpoint_shift, gain, omega
from fourcorner.contrasts.identification import NOT_IDENTIFIED, cell_record, refusal

__all__ = [
    "NOT_IDENTIFIED",
    "Cell",
    "Contrast",
    "Levels",
    "cell_record",
    "diagonal",
    "endpoint_shift",
    "gain",
    "omega",
    "refusal",
]
