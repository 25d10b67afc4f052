"""The cell map: which corners were measured, how often, and how high they score.

Invariant: a cell without a complete score is hatched and never coloured as if it had one; sessions
are never averaged. Pinned by `tests/test_report.py`.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.report import words
from fourcorner.report.figures import (
    EDGE,
    GREY,
    INK,
    ROW,
    WIDTH,
    labels,
    place,
    styled,
    text,
)

HEIGHT = 1.4 * ROW
BRIGHT = 0.55  # of a colour that dark text can be read on

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Colour = tuple[float, float, float, float]


def cell_map(data: xr.Dataset) -> Figure:
    """Mean score of every cell with its complete transitions; hatched where there are none.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.

    Returns
    -------
    Figure
        Sessions, where there are several, one below the other: they differ in level.
    """
    found = maps(data)
    cells = next(iter(found.values()))
    channels = [str(dim) for dim in cells.dims if dim not in {names.TRANSITION, names.STATE}]
    levels = [[str(level) for level in cells[dim].values] for dim in channels]
    combinations = [" · ".join(combination) or "all" for combination in product(*levels)]
    order = (names.TRANSITION, *channels, names.STATE)
    known = [_known(of.transpose(*order)) for of in found.values()]
    heads = [" · ".join([*([f"session {of}"] if of else []), *channels]) for of in found]
    beside = labels([(head, combination) for head in heads for combination in combinations])
    with styled():
        figure = Figure(figsize=(WIDTH, 2 * EDGE + ROW + HEIGHT * len(beside.rows)))
        [ax] = place(figure, beside, 2 * EDGE + beside.width, EDGE + ROW, row=HEIGHT)
        ax.set_axis_off()
        ax.set_xlim(0, 1)
        for column, state in enumerate(cells[names.STATE].values.tolist()):
            text(ax, (column + 0.5) / 2, -0.5, state, ha="center", va="bottom")
        _draw(ax, Known(*map(np.concatenate, zip(*known, strict=True))))
    return figure


def maps(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """Cells of each session where there are several, else of all the data under no name."""
    waves = scores.waves(data)
    labelled = data[names.SESSION].values.tolist() if names.SESSION in data.coords else [""]
    sessions = list(dict.fromkeys(labelled))
    if len(sessions) < 2:
        return {"": _with_state(scores.cells(data))}
    mine = {
        session: [wave for wave, of in zip(waves, labelled, strict=True) if of == session]
        for session in sessions
    }
    return {session: _with_state(scores.cells(data, wave)) for session, wave in mine.items()}


def _with_state(cells: xr.DataArray) -> xr.DataArray:
    if names.STATE in cells.dims:
        return cells
    return cells.expand_dims({names.STATE: ["score"]})


class Known(NamedTuple):
    """Mean (NaN if none) and complete transitions and units of each cell: (channels, states)."""

    means: Floats
    transitions: Ints
    units: Ints


def _known(cells: xr.DataArray) -> Known:
    flat = cells.values.reshape(cells.shape[0], -1, cells.shape[-1])
    finite = np.isfinite(flat)
    counts = finite.sum(axis=0)
    means = np.where(counts > 0, np.where(finite, flat, 0.0).sum(axis=0), np.nan)
    _, code = np.unique(cells[names.UNIT].values, return_inverse=True)
    seen = np.zeros((code.max() + 1, *counts.shape), dtype=bool)
    np.logical_or.at(seen, code, finite)
    return Known(means / np.maximum(counts, 1), counts, seen.sum(axis=0))


def _draw(ax: Axes, known: Known) -> None:
    numbers = known.means[np.isfinite(known.means)].tolist()
    places = words.decimals(numbers)
    shade = _shade(numbers)
    several = bool((known.transitions != known.units).any())
    for (y, x), mean in np.ndenumerate(known.means):
        middle = (x + 0.5) / 2
        box = {"xy": (middle - 0.245, y - 0.46), "width": 0.49, "height": 0.92}
        if np.isfinite(mean):
            colour = shade(float(mean))
            ax.add_patch(Rectangle(**box, facecolor=colour, edgecolor="none"))
            units = f"; {words.count(int(known.units[y, x]), 'unit')}" if several else ""
            n = f"(n = {known.transitions[y, x]:,}{units})"
            said = f"{words.number(float(mean), places)}   {n}"
            text(ax, middle, y, said, ha="center", va="center", color=_ink(colour))
        else:
            ax.add_patch(Rectangle(**box, facecolor="white", edgecolor=GREY, hatch="////"))
            plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            text(ax, middle, y, "never measured", ha="center", va="center", bbox=plate)


def _shade(known: list[float]) -> Callable[[float], Colour]:
    """Colour of a mean: two hues about zero if means lie on both sides of it, else one scale."""
    low, high = min(known, default=0.0), max(known, default=1.0)
    chosen = mpl.colormaps["cividis"]
    if low < 0 < high:
        chosen = mpl.colormaps["PuOr_r"]
        high = max(-low, high)
        low = -high
    spread = high - low or 1.0
    return lambda value: chosen(0.08 + 0.84 * (value - low) / spread)


def _ink(colour: Colour) -> str:
    red, green, blue, _ = colour
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > BRIGHT else "white"
