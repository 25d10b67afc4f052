"""What the normal cell model needs of the scores: each stratum's count, mean and scatter.

Invariant: these are sufficient, so the cost of a fit does not depend on the number of units; they
come from one pass over the cells. Pinned by `tests/test_cell_model.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.errors import NotAvailable

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # relative
LARGEST = 1e100


@dataclass(frozen=True)
class CellData:
    """Sufficient statistics of effect coefficients, by stratum.

    Attributes
    ----------
    strata : tuple of str
    count : ndarray of shape (strata,)
    mean : ndarray of shape (strata, effects)
    scatter : ndarray of shape (strata, effects, effects)
        Sum of squares and products about the stratum's mean.
    location, scale : float
        Grand mean of the cells, and pooled sd over units of a cell about its stratum's mean.
    """

    strata: tuple[str, ...]
    count: Floats
    mean: Floats
    scatter: Floats
    location: float
    scale: float

    def reference(self, sd: float) -> Floats:
        """Cholesky factor of the pooled covariance within strata, its triangle packed by rows.

        `sd` is that of one unit more than there are, so that few units do as well.
        """
        effects = self.mean.shape[1]
        pooled = self.scatter.sum(axis=0) + np.eye(effects) * sd**2
        factor = np.linalg.cholesky(pooled / (self.count.sum() - len(self.strata) + 1))
        return factor[np.tril_indices(effects)]

    def standardised(self, order: NDArray[np.int64]) -> "CellData":
        """The same cohort with its location at zero and its scale at one.

        Parameters
        ----------
        order : ndarray of shape (effects,)
            Interaction order of each effect; the intercept alone has a location.
        """
        return CellData(
            self.strata,
            self.count,
            (self.mean - (order == 0) * self.location) / self.scale,
            self.scatter / self.scale**2,
            0.0,
            1.0,
        )


def joint_cells(cells: xr.DataArray, cohort: NDArray[np.bool_]) -> xr.DataArray:
    """The joint cohort as units × cells.

    Parameters
    ----------
    cells : DataArray with dims (transition, state, channels)
    cohort : ndarray of bool, shape (transitions,)

    Returns
    -------
    DataArray with dims (unit, state, channels)

    Raises
    ------
    NotAvailable
        If the cohort is empty, has one unit, or has units with several transitions.
    """
    kept = cells[cohort]
    units = kept[names.UNIT].values
    if len(units) == 0:
        never = _never_observed(cells)
        because = (
            f"never measured in full: {never}" if never else "no unit is complete in every cell"
        )
        msg = (
            f"the joint cohort is empty ({because}); the cell model needs units that are complete "
            f"in every cell of the spec's channels"
        )
        raise NotAvailable(msg)
    if len(np.unique(units)) < len(units):
        msg = (
            "units have several transitions; the cell model needs one change per unit. "
            "`fourcorner estimate` handles them"
        )
        raise NotAvailable(msg)
    if len(units) < 2:
        msg = f"the joint cohort has one unit ({units[0]!r}); its spread cannot be seen"
        raise NotAvailable(msg)
    renamed = kept.drop_vars([names.UNIT, names.TRANSITION_ID]).rename(
        {names.TRANSITION: names.UNIT}
    )
    return renamed.assign_coords({names.UNIT: units})


def sufficient(cells: xr.DataArray, basis: Basis, strata: Sequence[str]) -> CellData:
    """Sufficient statistics of units × cells.

    Parameters
    ----------
    cells : DataArray with dims (unit, state, channels)
    basis : Basis
    strata : sequence of str
        Those to tell apart, in order; each holds at least one unit.

    Returns
    -------
    CellData

    Raises
    ------
    NotAvailable
        If the scores do not vary between units.
    """
    flat = cells.values.reshape(cells.shape[0], -1)
    if np.abs(flat).max() > LARGEST:
        msg = f"scores reach {np.abs(flat).max():.3g}, whose squares overflow; use another unit"
        raise NotAvailable(msg)
    codes = stratum_codes(cells, strata)
    coefficients = flat @ basis.rows.T / basis.rows.shape[1]
    count = np.bincount(codes, minlength=len(strata)).astype(float)
    effects = coefficients.shape[1]
    mean, scatter = np.empty((len(strata), effects)), np.empty((len(strata), effects, effects))
    for code in range(len(strata)):
        inside = coefficients[codes == code]
        mean[code] = inside.mean(axis=0)
        centred = inside - mean[code]
        scatter[code] = centred.T @ centred
    # rows have mean square one, so a cell's variance is the sum over effects, averaged over cells
    within = np.trace(scatter.sum(axis=0)) / max(len(flat) - len(strata), 1)
    between = flat.var(axis=0, ddof=1).mean()
    scale = float(np.sqrt(within if within > 0 else between))
    if scale <= ROUNDING * float(np.abs(flat).max()):
        msg = "the scores do not vary between units, so there is nothing to model"
        raise NotAvailable(msg)
    return CellData(tuple(strata), count, mean, scatter, float(flat.mean()), scale)


def stratum_codes(cells: xr.DataArray, strata: Sequence[str]) -> NDArray[np.int64]:
    """Code of each unit's stratum: shape (units,)."""
    if names.STRATUM not in cells.coords:
        return np.zeros(cells.shape[0], dtype=np.int64)
    return np.searchsorted(np.asarray(strata), cells[names.STRATUM].values)


def _never_observed(cells: xr.DataArray) -> list[dict[str, str]]:
    observed = cells.notnull().any(names.TRANSITION)
    dims = [str(dim) for dim in observed.dims]
    return [
        {dim: str(observed[dim].values[i]) for dim, i in zip(dims, place, strict=True)}
        for place in np.argwhere(~observed.values)
    ]
