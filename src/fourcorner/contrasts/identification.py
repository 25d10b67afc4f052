"""Which contrasts the observed cells determine, and what shows that they do not.

Invariant: a refusal carries a shift that leaves every observed cell as it is and moves the
contrast. Pinned by `tests/test_contrasts.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from fourcorner.contrasts.algebra import Cell, Contrast, position

NOT_IDENTIFIED = "not_identified"


def cell_record(cell: Cell, factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Write a cell as an object of level names, in the design's order of factors."""
    levels = dict(cell)
    return {factor: levels[factor] for factor in factors if factor in levels}


def refusal(contrast: Contrast, observed: xr.DataArray) -> dict[str, Any] | None:
    """Why a contrast is not identified with unrestricted cell means, or None if it is.

    Parameters
    ----------
    contrast : Contrast
    observed : xarray.DataArray of bool
        One dim per factor; whether the cell was ever measured.

    Returns
    -------
    dict or None
        ``missing``: the unobserved cells of the support. ``witness``: a shift of unobserved
        cells that leaves every observed cell as it is and moves the contrast. ``would_identify``:
        the smallest sets of cells that would identify it, here the one set of missing cells.

    Notes
    -----
    Replace an unobserved corner F by F + t: no observed cell changes, the contrast moves by its
    weight times t, and t is arbitrary.
    """
    factors = {str(dim): observed[dim].values.tolist() for dim in observed.dims}
    places = {cell: position(contrast.name, cell, factors) for cell in contrast.support}
    lacking = {cell: place for cell, place in places.items() if not observed.values[place]}
    missing = sorted(lacking, key=lacking.__getitem__)
    if not missing:
        return None
    records = [cell_record(cell, factors) for cell in missing]
    shift = {"cell": records[0], "by": 1.0}
    return {
        "reason": NOT_IDENTIFIED,
        "missing": records,
        "witness": {"shift": [shift], "moves_contrast": float(contrast.weights[missing[0]])},
        "would_identify": [records],
    }
