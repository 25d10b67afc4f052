"""The cell map: which corners were measured, how often, and how high they score.

Invariant: a cell without a complete score is hatched and never coloured as if it had one. Pinned
by `tests/test_report.py`.
"""

from collections.abc import Callable
from itertools import product

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
Colour = tuple[float, float, float, float]


def cell_map(data: xr.Dataset) -> Figure:
    """Mean score of every cell with its complete units; hatched where nothing was measured.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    """
    cells = scores.cells(data)
    if names.STATE not in cells.dims:
        cells = cells.expand_dims({names.STATE: ["score"]})
    channels = [str(dim) for dim in cells.dims if dim not in {names.TRANSITION, names.STATE}]
    levels = [[str(level) for level in cells[dim].values] for dim in channels]
    combinations = [" · ".join(combination) or "all" for combination in product(*levels)]
    means, units = _means(cells.transpose(names.TRANSITION, *channels, names.STATE))
    beside = labels([(" · ".join(channels), combination) for combination in combinations])
    with styled():
        figure = Figure(figsize=(WIDTH, 2 * EDGE + ROW + HEIGHT * len(combinations)))
        [ax] = place(figure, beside, 2 * EDGE + beside.width, EDGE + ROW, row=HEIGHT)
        ax.set_axis_off()
        ax.set_xlim(0, 1)
        for column, state in enumerate(cells[names.STATE].values.tolist()):
            text(ax, (column + 0.5) / 2, -0.5, state, ha="center", va="bottom")
        _draw(ax, means, units)
    return figure


def _means(cells: xr.DataArray) -> tuple[Floats, NDArray[np.int64]]:
    """Mean (NaN if none) and number of complete units of each cell: shape (channels, states)."""
    flat = cells.values.reshape(cells.shape[0], -1, cells.shape[-1])
    finite = np.isfinite(flat)
    counts = finite.sum(axis=0)
    means = np.where(counts > 0, np.where(finite, flat, 0.0).sum(axis=0), np.nan)
    _, code = np.unique(cells[names.UNIT].values, return_inverse=True)
    seen = np.zeros((code.max() + 1, *counts.shape), dtype=bool)
    np.logical_or.at(seen, code, finite)
    return means / np.maximum(counts, 1), seen.sum(axis=0)


def _draw(ax: Axes, means: Floats, units: NDArray[np.int64]) -> None:
    known = means[np.isfinite(means)].tolist()
    places = words.decimals(known)
    shade = _shade(known)
    for (y, x), mean in np.ndenumerate(means):
        middle = (x + 0.5) / 2
        box = {"xy": (middle - 0.245, y - 0.46), "width": 0.49, "height": 0.92}
        if np.isfinite(mean):
            colour = shade(float(mean))
            ax.add_patch(Rectangle(**box, facecolor=colour, edgecolor="none"))
            said = f"{words.number(float(mean), places)}   (n = {units[y, x]:,})"
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
