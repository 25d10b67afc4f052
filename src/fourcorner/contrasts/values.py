"""A contrast of cells that were observed, for each transition or unit.

Invariant: a value needs the whole support, and what rounding leaves of corners that cancel is
zero, so that its sign is never that of a rounding error; both engines apply it here. Pinned by
`tests/test_parts.py`.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner.contrasts.algebra import Contrast
from fourcorner.scores import ROUNDING

Floats = NDArray[np.float64]


class Values(NamedTuple):
    """A contrast applied to observed cells.

    Attributes
    ----------
    values : ndarray of shape (rows,)
        NaN unless the whole support is complete.
    size : float
        The largest sum of a value's corners without their signs: what rounding is relative to.
        0 where no value is complete.
    """

    values: Floats
    size: float


def contrast_values(cells: xr.DataArray, contrast: Contrast) -> Values:
    """Apply a contrast to each row of cells.

    Parameters
    ----------
    cells : DataArray with dims (transition or unit, the factors)
        NaN where a cell is missing.
    contrast : Contrast

    Returns
    -------
    Values
        In the scores' units; a value that is but the rounding of its own corners is exactly 0.

    Raises
    ------
    ContrastError
        If the contrast does not fit the factors of the cells.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> corners = {"state": ["before", "after"], "view": ["a"]}
    >>> dims = ("transition", *corners)
    >>> cells = xr.DataArray([[[1.0], [3.0]], [[np.nan], [3.0]]], dims=dims, coords=corners)
    >>> found = contrast_values(cells, gain(view="a"))
    >>> found.values.tolist(), found.size
    ([2.0, nan], 4.0)
    """
    levels = cells.coords.variables
    factors = {str(dim): levels[dim].values.astype(str).tolist() for dim in cells.dims[1:]}
    weights = contrast.dense(factors).ravel()
    used = weights != 0
    terms = cells.values.reshape(-1, weights.size)[:, used] * weights[used]
    values, sizes = terms.sum(axis=1), np.abs(terms).sum(axis=1)
    values[np.abs(values) <= ROUNDING * sizes] = 0.0
    complete = np.isfinite(values)
    size = float(sizes[complete].max(initial=0.0))
    return Values(np.where(complete, values, np.nan), size)
