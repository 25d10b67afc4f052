"""What the normal cell model needs of the scores: each stratum's count, mean and scatter.

Invariant: these are sufficient, so the cost of a fit does not depend on the number of units.
Pinned by `tests/test_cell_model.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.incomplete import Groups, completed, grouped, stratum_means, whole_strata
from fourcorner.bayes.retry import Retries
from fourcorner.contrasts import in_words
from fourcorner.errors import NotAvailable

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # relative
LARGEST = 1e100
LEFT = 0.1
SELDOM = 0.2


@dataclass(frozen=True)
class CellData:
    """Sufficient statistics of effect coefficients, by stratum.

    Attributes
    ----------
    strata : tuple of str
    count : ndarray of shape (strata,)
    mean : ndarray of shape (strata, effects)
    scatter : ndarray of shape (strata, effects, effects)
        Sum of squares and products about the stratum's mean. Where cells are missing, `mean` and
        `scatter` are expectations for a first look, and `incomplete` is what is sufficient.
    location, scale : ndarray of shape (scale groups,)
        Grand mean of the cells, and pooled sd over units of a cell about its stratum's mean.
    group : ndarray of int, shape (effects,)
        Position of each effect's scale group.
    incomplete : Groups, optional
        Groups of units by what they miss, where cells are missing.
    retries : Retries, optional
        Retry noise, where it is measured.
    turn : ndarray of shape (effects, effects), optional
        Cells, the seldom observed last, to effects; None where no cell is seldom observed.
    """

    strata: tuple[str, ...]
    count: Floats
    mean: Floats
    scatter: Floats
    location: Floats
    scale: Floats
    group: NDArray[np.int64]
    incomplete: Groups | None = None
    retries: Retries | None = None
    turn: Floats | None = None

    @property
    def groups(self) -> Groups:
        """Units by stratum and by what they miss; strata themselves where nothing is missing."""
        if self.incomplete is not None:
            return self.incomplete
        cells = self.mean.shape[1]
        return whole_strata(self.count, self.mean, self.scatter, cells)

    @property
    def alike(self) -> bool:
        """Whether strata's covariances are multiples of each other and no cell is missing."""
        return self.incomplete is None and self.retries is None

    def reference(self, sd: Floats) -> Floats:
        """Cholesky factor of the pooled covariance within strata, its triangle packed by rows.

        Of effects, or of cells in the order of `turn` where there is one. Retry noise is taken
        off, a tenth of any direction's variance left. `sd`, by effect or one for all, is that of
        one unit more than there are, so that few units do as well.
        """
        effects = self.mean.shape[1]
        pooled = self.scatter.sum(axis=0) + np.eye(effects) * sd**2
        factor = np.linalg.cholesky(pooled / (self.count.sum() - len(self.strata) + 1))
        if self.retries is not None:
            factor = _less(factor, self.retries, self.group)
        if self.turn is not None:
            root = np.linalg.solve(self.turn, factor)
            factor = np.linalg.cholesky(root @ root.T)
        return factor[np.tril_indices(effects)]

    def standardised(self, order: NDArray[np.int64]) -> "CellData":
        """The same cohort with each scale group's location at zero and its scale at one.

        Parameters
        ----------
        order : ndarray of shape (effects,)
            Interaction order of each effect; the intercepts alone have a location.
        """
        location, scale = (order == 0) * self.location[self.group], self.scale[self.group]
        lost, again = self.incomplete, self.retries
        return CellData(
            self.strata,
            self.count,
            (self.mean - location) / scale,
            self.scatter / np.multiply.outer(scale, scale),
            np.zeros_like(self.location),
            np.ones_like(self.scale),
            self.group,
            None if lost is None else lost.standardised(location, scale),
            None if again is None else again.standardised(self.scale),
            self.turn,
        )


def _less(factor: Floats, retries: Retries, group: NDArray[np.int64]) -> Floats:
    noise = retries.share * (retries.scatter / retries.degrees)[group]
    inverse = np.linalg.inv(factor)
    part, turn = np.linalg.eigh((inverse * noise) @ inverse.T)
    root = factor @ turn * np.sqrt(np.maximum(1 - part, LEFT))
    return np.linalg.cholesky(root @ root.T)


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
        If the cohort is empty, has one unit, or has units with several transitions; if there is no
        change.
    """
    _require_change(cells)
    _require_one_change(cells)
    if not cohort.any():
        never = _never_observed(cells)
        because = (
            f"{in_words(never)} never measured in full"
            if never
            else "no unit is complete in every cell"
        )
        msg = (
            f"the joint cohort is empty ({because}); the cell model needs units that are complete "
            f"in every cell of the spec's channels, or [model] cohort = 'observed'"
        )
        raise NotAvailable(msg)
    return _by_unit(cells[cohort], names.COHORT_JOINT)


def observed_cells(cells: xr.DataArray) -> xr.DataArray:
    """Every unit with a cell observed, as units × cells, NaN where a cell is missing.

    Parameters
    ----------
    cells : DataArray with dims (transition, state, channels)

    Returns
    -------
    DataArray with dims (unit, state, channels)

    Raises
    ------
    NotAvailable
        If there are fewer than two such units, or units have several transitions; if there is no
        change.
    """
    _require_change(cells)
    _require_one_change(cells)
    seen = _seen(cells)
    if not seen.any():
        raise NotAvailable("no cell of any unit was measured in full, so there is nothing to model")
    return _by_unit(cells[seen], names.COHORT_OBSERVED)


def _require_change(cells: xr.DataArray) -> None:
    if names.STATE not in cells.dims:
        msg = (
            "nothing is modelled without a [data] change; doctor, the funnel and agreement rates "
            "are available"
        )
        raise NotAvailable(msg)


def _require_one_change(cells: xr.DataArray) -> None:
    """Of all that was measured: to fit a unit's one complete transition of several is a choice."""
    units = cells[names.UNIT].values[_seen(cells)]
    if len(np.unique(units)) < len(units):
        msg = (
            "units have several transitions; the cell model needs one change per unit; family = "
            f"{names.TRANSITION_FAMILY!r} or {names.BAYESIAN_BOOTSTRAP!r} in [model] is for many, "
            "and `fourcorner estimate` handles them"
        )
        raise NotAvailable(msg)


def _seen(cells: xr.DataArray) -> NDArray[np.bool_]:
    """Which transitions have a cell that was measured in full."""
    return np.asarray(
        cells.notnull().any([dim for dim in cells.dims if dim != names.TRANSITION]).values
    )


def _by_unit(kept: xr.DataArray, cohort: str) -> xr.DataArray:
    units = kept[names.UNIT].values
    if len(units) < 2:
        msg = f"the {cohort} cohort has one unit ({units[0]!r}); its spread cannot be seen"
        raise NotAvailable(msg)
    renamed = kept.drop_vars([names.UNIT, names.TRANSITION_ID]).rename(
        {names.TRANSITION: names.UNIT}
    )
    return renamed.assign_coords({names.UNIT: units})


def sufficient(
    cells: xr.DataArray, basis: Basis, strata: Sequence[str], retries: Retries | None = None
) -> CellData:
    """Sufficient statistics of units × cells.

    Parameters
    ----------
    cells : DataArray with dims (unit, state, channels)
        NaN where a cell is missing.
    basis : Basis
    strata : sequence of str
        Those to tell apart, in order; each holds at least one unit.
    retries : Retries, optional
        Retry noise of the same units.

    Returns
    -------
    CellData

    Raises
    ------
    NotAvailable
        If the scores do not vary between units.
    """
    flat = cells.values.reshape(cells.shape[0], -1)
    largest = float(np.nanmax(np.abs(flat)))
    if largest > LARGEST:
        msg = f"scores reach {largest:.3g}, whose squares overflow; use another unit"
        raise NotAvailable(msg)
    codes = stratum_codes(cells, strata)
    missing = np.isnan(flat)
    location, scale = _location_and_scale(flat, codes, len(strata), basis)
    filled, spare = flat, None
    if missing.any():
        filled, spare = completed(flat, codes, len(strata), scale[basis.cell_group] ** 2)
    to_effects = basis.rows.T / basis.cells_each
    coefficients = filled @ to_effects
    count, mean, scatter = _by_stratum(coefficients, codes, len(strata))
    if spare is not None:
        scatter += to_effects.T @ spare @ to_effects
    incomplete = grouped(codes, missing, coefficients) if missing.any() else None
    known = (tuple(strata), count, mean, scatter, location, scale, basis.group)
    return CellData(*known, incomplete, retries, _turn(~missing, to_effects))


def _turn(seen: NDArray[np.bool_], to_effects: Floats) -> Floats | None:
    """Cells to effects with seldom observed cells last, in the order of how often; None if none."""
    share = seen.mean(axis=0)
    if share.min() >= SELDOM:
        return None
    return to_effects[np.argsort(-np.minimum(share, SELDOM), kind="stable")].T


def _by_stratum(
    coefficients: Floats, codes: NDArray[np.int64], strata: int
) -> tuple[Floats, Floats, Floats]:
    """Count, mean and scatter of each stratum."""
    effects = coefficients.shape[1]
    count = np.bincount(codes, minlength=strata).astype(float)
    mean, scatter = np.empty((strata, effects)), np.empty((strata, effects, effects))
    for code in range(strata):
        inside = coefficients[codes == code]
        mean[code] = inside.mean(axis=0)
        centred = inside - mean[code]
        scatter[code] = centred.T @ centred
    return count, mean, scatter


def _location_and_scale(
    flat: Floats, codes: NDArray[np.int64], strata: int, basis: Basis
) -> tuple[Floats, Floats]:
    """Location and scale of each scale group's cells."""
    seen = ~np.isnan(flat)
    means = stratum_means(flat, codes, strata)
    squares = (np.where(seen, flat - means[codes], 0.0) ** 2).sum(axis=0)
    held = np.array([seen[codes == code].any(axis=0) for code in range(strata)]).sum(axis=0)
    degrees = seen.sum(axis=0) - held
    overall = stratum_means(flat, np.zeros_like(codes), 1)[0]
    around = (np.where(seen, flat - overall, 0.0) ** 2).sum(axis=0)
    location, scale = np.empty(len(basis.groups)), np.empty(len(basis.groups))
    for group, label in enumerate(basis.groups):
        inside = (basis.cell_group == group) & seen.any(axis=0)
        if not inside.any():
            raise NotAvailable(f"no score was measured in the scale group {label!r}")
        location[group] = overall[inside].mean()
        within = squares[inside].sum() / max(degrees[inside].sum(), 1)
        between = around[inside].sum() / max((seen.sum(axis=0)[inside] - 1).sum(), 1)
        scale[group] = np.sqrt(within if within > 0 else between)
        if scale[group] <= ROUNDING * np.abs(np.where(seen, flat, 0.0)[:, inside]).max():
            where = f" in the scale group {label!r}" if len(basis.groups) > 1 else ""
            msg = f"the scores do not vary between units{where}, so there is nothing to model"
            raise NotAvailable(msg)
    return location, scale


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
