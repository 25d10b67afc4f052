"""Retry noise: how much a unit's cell differs between waves of one session.

Waves of a session are retries of one another; sessions are not, so only differences within a unit,
a cell and a session count. With noise of sd r in every cell of every wave, their sum of squares is
r² χ² with as many degrees of freedom as there are waves beyond the first.

Invariant: a level that a session or a unit has does not enter. Pinned by `tests/test_retry.py`.
"""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.bayes.basis import Basis
from fourcorner.errors import NotAvailable

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Retries:
    """Sufficient statistics of retry noise, by scale group.

    Attributes
    ----------
    scatter : ndarray of shape (scale groups,)
        Sum of squares about the mean of a unit's waves within a session, over units, cells and
        sessions; native units squared.
    degrees : ndarray of shape (scale groups,)
        Its degrees of freedom.
    share : ndarray of shape (effects,)
        Variance of an effect of a unit's mean over waves as a share of that of one cell in one
        wave.
    """

    scatter: Floats
    degrees: Floats
    share: Floats

    def standardised(self, scale: Floats) -> "Retries":
        """The same for scores divided by `scale`, by scale group."""
        return replace(self, scatter=self.scatter / scale**2)


def retries(data: xr.Dataset, basis: Basis, kept: NDArray[np.bool_]) -> Retries | None:
    """Retry noise of the transitions kept; None where no session has two waves of anything.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them; waves are a replicate called ``wave``,
        of one session where none is declared.
    basis : Basis
    kept : ndarray of bool, shape (transitions,)

    Raises
    ------
    NotAvailable
        If retries agree to the last digit, so that there is no noise to learn.
    """
    waves = scores.waves(data)
    if not waves:
        return None
    each = np.stack([scores.cells(data, wave=(wave,)).values[kept] for wave in waves])
    each = each.reshape(*each.shape[:2], -1)
    labels = sessions(data)
    by_cell = [_within(each[labels == label]) for label in np.unique(labels)]
    squares, degrees = (sum(part) for part in zip(*by_cell, strict=True))
    group = np.arange(len(basis.groups))[:, None] == basis.cell_group
    scatter, freedom = group @ squares, group @ degrees
    if (freedom == 0).any():
        return None
    if (scatter == 0).any():
        msg = (
            "the waves of a session agree to the last digit; a copied wave is no retry: leave it "
            "out, or average without declaring waves"
        )
        raise NotAvailable(msg)
    share = np.full(len(basis.labels), 1.0 / (basis.cells_each * len(waves)))
    return Retries(scatter, freedom, share)


def sessions(data: xr.Dataset) -> NDArray[np.str_]:
    """The session of each wave; all of one session where none is declared."""
    if names.SESSION in data.coords:
        return data[names.SESSION].values.astype(str)
    return np.full(data.sizes[names.WAVE], "")


def _within(each: Floats) -> tuple[Floats, Floats]:
    """Squares and degrees of freedom of each cell, from waves × units × cells."""
    seen = np.isfinite(each)
    number = seen.sum(axis=0)
    values = np.where(seen, each, 0.0)
    mean = values.sum(axis=0) / np.maximum(number, 1)
    squares = (np.where(seen, each - mean, 0.0) ** 2).sum(axis=(0, 1))
    return squares, np.maximum(number - 1, 0).sum(axis=0).astype(float)
