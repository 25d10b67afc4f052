"""Reading a fitted DataTree: its groups, strata and factors.

Invariant: nothing here needs the model that was fitted. Pinned by `tests/test_posterior.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names

Floats = NDArray[np.float64]


def group(tree: xr.DataTree, name: str) -> xr.Dataset:
    """One group of a fit as a Dataset."""
    return tree.children[name].to_dataset()


def strata_of_data(tree: xr.DataTree) -> list[str]:
    """Every stratum of the scores that were fitted, in or out of its cohort."""
    return [str(name) for name in group(tree, names.CONSTANT_DATA)[names.VAR_STRATA].values]


def fitted_strata(tree: xr.DataTree) -> list[str]:
    """Strata with a unit in the fit's cohort, in text order."""
    return [str(name) for name in group(tree, names.CONSTANT_DATA)[names.STRATUM].values]


def factors(tree: xr.DataTree) -> dict[str, list[str]]:
    """The cell factors of a fit and their levels."""
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    return {
        str(dim): [str(level) for level in cells[dim].values]
        for dim in cells.dims
        if dim not in (names.UNIT, names.TRANSITION)
    }


def by_transition(tree: xr.DataTree) -> bool:
    """Whether a fit is of transitions, many of each unit, and not of one change per unit."""
    return names.TRANSITION in group(tree, names.OBSERVED_DATA)[names.CELLS].dims


def counts(tree: xr.DataTree) -> tuple[int, int]:
    """Units and transitions of a fit."""
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    return len(np.unique(cells[names.UNIT].values)), cells.shape[0]


def observed(tree: xr.DataTree) -> tuple[Floats, NDArray[np.int64]]:
    """The cohort's units × cells, NaN where a cell is missing, and the code of each unit's stratum.

    Of a fit of transitions, transitions × cells.

    Returns
    -------
    tuple of ndarray of shape (units, cells) and (units,)
        Codes are positions among `fitted_strata`.
    """
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    flat = cells.values.reshape(cells.shape[0], -1)
    if names.STRATUM not in cells.coords:
        return flat, np.zeros(len(flat), dtype=np.int64)
    return flat, np.searchsorted(fitted_strata(tree), cells[names.STRATUM].values.astype(str))


def basis_rows(tree: xr.DataTree) -> Floats:
    """The effect basis over flattened cells: shape (components, cells)."""
    constants = group(tree, names.CONSTANT_DATA)
    return np.asarray(
        constants[names.VAR_BASIS].values.reshape(constants.sizes[names.COMPONENT], -1)
    )
