"""Reading a fitted DataTree: its groups, strata and factors.

Invariant: nothing here needs the model that was fitted. Pinned by `tests/test_posterior.py`.
"""

import xarray as xr

from fourcorner import names


def group(tree: xr.DataTree, name: str) -> xr.Dataset:
    """One group of a fit as a Dataset."""
    return tree.children[name].to_dataset()


def strata_of_data(tree: xr.DataTree) -> list[str]:
    """Every stratum of the scores that were fitted, in or out of the joint cohort."""
    return [str(name) for name in group(tree, names.CONSTANT_DATA)[names.VAR_STRATA].values]


def fitted_strata(tree: xr.DataTree) -> list[str]:
    """Strata with a unit in the joint cohort."""
    return [str(name) for name in group(tree, names.CONSTANT_DATA)[names.STRATUM].values]


def factors(tree: xr.DataTree) -> dict[str, list[str]]:
    """The cell factors of a fit and their levels."""
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    return {
        str(dim): [str(level) for level in cells[dim].values]
        for dim in cells.dims
        if dim != names.UNIT
    }
