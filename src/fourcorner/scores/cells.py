"""Cells of a scores Dataset: replicates averaged, incomplete endpoints left out.

Invariant: a cell is NaN unless every replicate of it is finite. Pinned by `tests/test_scores.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names

ROUNDING = 1e-12  # relative


def cells(scores: xr.Dataset) -> xr.DataArray:
    """Reduced cell values: the mean over replicates, NaN unless every replicate is finite.

    Replicates that cancel leave a trace of either sign; a mean that small beside them is zero.

    Parameters
    ----------
    scores : xarray.Dataset
        As `read_scores` returns it.

    Returns
    -------
    xarray.DataArray
        Dims (transition, state, one per channel factor); native units.
    """
    score, replicates = scores[names.SCORE], replicate_dims(scores)
    mean = score.mean(replicates, skipna=False)
    trace = ROUNDING * abs(score).mean(replicates, skipna=False)
    return mean.where(~(abs(mean) <= trace), 0.0).rename(names.CELLS)


def factors(scores: xr.Dataset | xr.DataArray) -> dict[str, list[str]]:
    """The cell factors and their levels: the change first, then the channels."""
    array = scores if isinstance(scores, xr.DataArray) else scores[names.SCORE]
    replicates = replicate_dims(scores)
    skip = {names.TRANSITION, names.UNIT, *replicates}
    return {str(dim): [str(x) for x in array[dim].values] for dim in array.dims if dim not in skip}


def replicate_dims(scores: xr.Dataset | xr.DataArray) -> list[str]:
    """The replicate dims, averaged by `cells`."""
    listed = scores.attrs.get("replicates", "")
    return listed.split("\n") if listed else []


def strata(scores: xr.Dataset) -> list[str]:
    """Every stratum of the data in text order; one unnamed stratum where none is declared."""
    if names.STRATUM not in scores.coords:
        return [""]
    return sorted(set(scores[names.STRATUM].values.tolist()))


def joint(reduced: xr.DataArray) -> NDArray[np.bool_]:
    """Which transitions are complete in every cell: shape (transitions,)."""
    dims = [dim for dim in reduced.dims if dim != names.TRANSITION]
    return np.asarray(is_finite(reduced).all(dims))


def is_finite(array: xr.DataArray) -> xr.DataArray:
    """Whether each number is finite, with the same dims."""
    return array.copy(data=np.isfinite(array.values))
