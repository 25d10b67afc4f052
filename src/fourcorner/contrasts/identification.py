"""Which contrasts the observed cells determine, and what shows that they do not.

Invariant: a refusal carries a shift that leaves every observed cell as it is and moves the
contrast. Pinned by `tests/test_contrasts.py` and `tests/test_identification.py`.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner.contrasts.algebra import Cell, Contrast, position
from fourcorner.errors import ContrastError

Floats = NDArray[np.float64]

NOT_IDENTIFIED = "not_identified"
ROUNDING = 1e-9  # relative; what is that small beside its terms is zero
SETS = 20_000  # tried at most in the search for the smallest sets
BATCH = 2_000


def cell_record(cell: Cell, factors: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Write a cell as an object of level names, in the design's order of factors."""
    levels = dict(cell)
    return {factor: levels[factor] for factor in factors if factor in levels}


def refusal(
    contrast: Contrast, observed: xr.DataArray, restricted: Floats | None = None
) -> dict[str, Any] | None:
    """Why a contrast is not identified, or None if it is.

    Parameters
    ----------
    contrast : Contrast
    observed : xarray.DataArray of bool
        One dim per factor; whether the cell was ever measured.
    restricted : ndarray of shape (effects, cells), optional
        The effects that cell means are made of, every other effect being declared zero; cells in
        the order of `observed`, flattened. By default cell means are unrestricted.

    Returns
    -------
    dict or None
        ``reason``; ``message``: why in words; ``missing``: the unobserved cells of the support;
        ``witness``: a ``shift`` of unobserved cells, possible under the restrictions, that leaves
        every observed cell as it is and by how much it ``moves_contrast``; ``would_identify``: all
        the smallest sets of unobserved cells that would identify it. Where the search for these
        had to stop, ``would_identify`` has one set that cannot be made smaller and ``search`` says
        so.

    Raises
    ------
    ContrastError
        If the contrast does not fit the factors, or `restricted` does not fit the cells.

    Notes
    -----
    Unrestricted, replace an unobserved corner F by F + t: no observed cell changes, the contrast
    moves by its weight times t, and t is arbitrary; the smallest set is the one of the missing
    cells. This is exact. With restrictions the contrast is identified iff its weights over the
    effects lie in the span of the observed cells' columns, within 1e-9 of their size.

    Examples
    --------
    Three corners do not determine Ω; if no Ω is declared, the fourth follows from them.

    >>> from fourcorner.contrasts import gain
    >>> states, views = ["before", "after"], ["direct", "generated"]
    >>> corners = xr.DataArray([[True, True], [True, False]], {"state": states, "view": views})
    >>> refusal(gain(view="generated"), corners)["would_identify"]
    [[{'state': 'after', 'view': 'generated'}]]
    >>> additive = np.array([[1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, 1]])
    >>> refusal(gain(view="generated"), corners, additive) is None
    True
    """
    levels = observed.coords.variables
    factors = {str(dim): [str(x) for x in levels[dim].values] for dim in observed.dims}
    places = {cell: position(contrast.name, cell, factors) for cell in contrast.support}
    lacking = {cell: place for cell, place in places.items() if not observed.values[place]}
    if restricted is not None and restricted.shape[1:] != (observed.size,):
        got, wanted = restricted.shape, f"(effects, {observed.size})"
        raise ContrastError(f"restricted has shape {got}; expected {wanted}, a row for an effect")
    missing = sorted(lacking, key=lacking.__getitem__)
    if not missing:
        return None
    records = [cell_record(cell, factors) for cell in missing]
    if restricted is None:
        witness = {
            "shift": [{"cell": records[0], "by": 1.0}],
            "moves_contrast": float(contrast.weights[missing[0]]),
        }
        found: dict[str, Any] = {"witness": witness, "would_identify": [records]}
    else:
        weights = contrast.array(factors).values.ravel()
        every = [dict(zip(factors, cell, strict=True)) for cell in _cells(factors)]
        restriction = _restricted(weights, observed.values.ravel(), restricted, every)
        if restriction is None:
            return None
        found = restriction
    return {
        "reason": NOT_IDENTIFIED,
        "message": _message(records, found["witness"]),
        "missing": records,
        **found,
    }


def _message(missing: Sequence[Mapping[str, str]], witness: Mapping[str, Any]) -> str:
    cells = in_words(missing)
    first = witness["shift"][0]
    return (
        f"it is not identified: {cells} never measured in full. Adding {first['by']:g} to "
        f"{in_words([first['cell']])} leaves the data as they are and moves the contrast by "
        f"{witness['moves_contrast']:g}. Measure what is missing"
    )


def in_words(cells: Sequence[Mapping[str, str]]) -> str:
    """Cells as a message has them.

    Examples
    --------
    >>> in_words([{"state": "after", "view": "quote"}])
    '(state = after, view = quote)'
    """
    return " and ".join(
        f"({', '.join(f'{factor} = {level}' for factor, level in cell.items())})" for cell in cells
    )


def _cells(factors: Mapping[str, Sequence[str]]) -> list[tuple[str, ...]]:
    return list(itertools.product(*factors.values()))


def _restricted(
    weights: Floats, observed: NDArray[np.bool_], rows: Floats, cells: Sequence[Mapping[str, str]]
) -> dict[str, Any] | None:
    """Witness and smallest sets under restrictions; None where the contrast is identified."""
    sizes = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows[sizes[:, 0] > 0] / sizes[sizes[:, 0] > 0]
    free = _left_over(rows[:, observed])
    target = free @ (rows @ weights)
    if np.abs(target).max(initial=0.0) <= ROUNDING * np.abs(weights).sum():
        return None
    shift = target @ free @ rows
    shift = np.where(observed, 0.0, shift / np.abs(shift).max()).round(12)
    places: list[int] = np.flatnonzero(~observed).tolist()
    columns = free @ rows[:, places]
    sets, complete = _smallest(columns, target, weights[places] != 0)
    found = {
        "witness": {
            "shift": [
                {"cell": cells[i], "by": float(shift[i])} for i in np.flatnonzero(shift).tolist()
            ],
            "moves_contrast": float(shift @ weights),
        },
        "would_identify": [[cells[places[i]] for i in chosen] for chosen in sets],
    }
    search = f"more than {SETS:,} sets to try; the one given cannot be made smaller, others may be"
    return found if complete else {**found, "search": search}


def _left_over(observed: Floats) -> Floats:
    """Orthonormal directions of effects that no observed cell sees: shape (directions, effects)."""
    left, sizes, _ = np.linalg.svd(observed, full_matrices=True)
    rank = int((sizes > ROUNDING * sizes.max(initial=0.0)).sum())
    return left[:, rank:].T


def _smallest(
    columns: Floats, target: Floats, used: NDArray[np.bool_]
) -> tuple[list[tuple[int, ...]], bool]:
    """All the smallest sets of columns that span a target, and whether that search was complete.

    Where it was not, one set that spans the target and cannot be made smaller, of columns that
    are used as far as they go.
    """
    useful = np.flatnonzero(np.abs(columns).max(axis=0) > ROUNDING * np.abs(columns).max())
    tried = 0
    for size in range(1, len(useful) + 1):
        tried += math.comb(len(useful), size)
        if tried > SETS:
            break
        sets = itertools.combinations(useful.tolist(), size)
        found = [
            chosen
            for batch in itertools.batched(sets, BATCH)
            for chosen in _span(batch, columns, target)
        ]
        if found:
            return found, True
    needed = useful.tolist()
    for place in sorted(useful.tolist(), key=used.__getitem__):
        fewer = [other for other in needed if other != place]
        needed = fewer if _span([fewer], columns, target) else needed
    return [tuple(needed)], False


def _span(sets: Sequence[Sequence[int]], columns: Floats, target: Floats) -> list[tuple[int, ...]]:
    """Those sets of columns, all of one size, that span the target."""
    parts = columns[:, np.array(sets, dtype=np.int64)].transpose(1, 0, 2)
    fitted = (parts @ (np.linalg.pinv(parts, rcond=ROUNDING) @ target)[..., None])[..., 0]
    near = np.abs(fitted - target).max(axis=1) <= ROUNDING * np.abs(target).max()
    return [tuple(chosen) for chosen, spans in zip(sets, near, strict=True) if spans]
