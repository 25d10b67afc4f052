"""Drawing ground of the figures: style, labels and labelled rows of intervals.

Invariant: a figure depends on its data alone, never on the reader's matplotlib settings; text a
user wrote is drawn as written, never read as mathematics. Pinned by `tests/test_report.py`.
"""

import re
import unicodedata
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fourcorner.report.text import label

WIDTH = 8.6  # inches, of every figure
INK, GREY, PALE, BAND = "#1c2430", "#5d6673", "#c9ced6", "#f3f5f8"
NAVY, ORANGE, TEAL = "#123f6d", "#e07b00", "#1b7f79"

ROW, GAP, EDGE = 0.30, 0.18, 0.12  # inches: a row, between columns, around
CHARACTER = 0.073  # inches, of nine-point text
SIZE = 9.0

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": SIZE,
    "axes.edgecolor": PALE,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "axes.axisbelow": True,
    "hatch.linewidth": 0.6,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "fourcorner",
}


@dataclass(frozen=True)
class Look:
    """Colour and marker of one series; shape and fill tell series apart without colour."""

    label: str
    colour: str
    marker: str
    hollow: bool = False


@contextmanager
def styled() -> Generator[None]:
    """Apply the package's style, whatever the caller's own settings are."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        yield


def wrapped(text: object, width: int, lines: int) -> str:
    r"""A user's text on several lines, broken at spaces and underscores, shortened to fit.

    Examples
    --------
    >>> wrapped("generated_vs_quote", 14, 2)
    'generated_vs_\nquote'
    """
    words = re.findall(r"[^ _]*[ _]?", label(text, width * lines))
    pieces = [word[i : i + width] for word in words for i in range(0, len(word), width)]
    found = [""]
    for piece in pieces:
        if found[-1] and len(found[-1]) + len(piece.rstrip()) > width:
            found.append("")
        found[-1] += piece
    if len(found) > lines:
        found[lines - 1 :] = [label("".join(found[lines - 1 :]), width)]
    return "\n".join(line.strip() for line in found)


def breadth(texts: Sequence[str]) -> float:
    """Inches that the widest line of some texts needs."""
    every = [line for text in texts for line in text.split("\n")]
    return CHARACTER * max((sum(map(_columns, line)) for line in every), default=0.0)


def _columns(char: str) -> float:
    return 1.7 if unicodedata.east_asian_width(char) in "WF" else 1.0


def text(ax: Axes, x: float, y: float, words: str, **look: Any) -> None:  # noqa: ANN401
    """Text that may come from a user, drawn as written; x is a share of the width, y a row."""
    look = {"transform": ax.get_yaxis_transform(), "linespacing": 1.1, **look}
    ax.text(x, y, words, parse_math=False, **look)


def axes_at(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes placed in inches from the figure's upper left corner, with a light frame."""
    across, tall = figure.get_size_inches()
    box = (left / across, 1 - (top + height) / tall, width / across, height / tall)
    ax = figure.add_axes(box)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.set_yticks([])
    ax.grid(axis="x", color=PALE, linewidth=0.5)
    return ax


@dataclass(frozen=True)
class Labels:
    """Texts beside rows: one for each row, and one for each run of rows of a group.

    Attributes
    ----------
    rows : tuple of str
    heads : tuple of (str, int)
        A group's text and its number of rows.
    """

    rows: tuple[str, ...]
    heads: tuple[tuple[str, int], ...]

    @property
    def width(self) -> float:
        """Inches that both columns need."""
        return breadth([head for head, _ in self.heads]) + GAP + breadth(self.rows)


def labels(pairs: Sequence[tuple[str, str]]) -> Labels:
    """Labels of (group, row) pairs, wrapped to fit."""
    runs = [(group, len(list(run))) for group, run in groupby(group for group, _ in pairs)]
    heads = [(wrapped(group, 28, min(4, size + 1)), size) for group, size in runs]
    return Labels(tuple(wrapped(row, 34, 1) for _, row in pairs), tuple(heads))


def place(
    figure: Figure,
    beside: Labels,
    left: float,
    top: float,
    shares: Sequence[float] = (1.0,),
    row: float = ROW,
) -> list[Axes]:
    """Axes side by side over the same labelled rows 0, 1, … from the top.

    Parameters
    ----------
    figure : Figure
    beside : Labels
    left, top : float
        Inches of the first axes' corner.
    shares : sequence of float
        Share of the free width that each takes.
    row : float
        Height of a row in inches.
    """
    count = len(beside.rows)
    free = WIDTH - left - 2 * EDGE - 2 * GAP * (len(shares) - 1)
    found: list[Axes] = []
    corner = left
    for share in shares:
        ax = axes_at(figure, corner, top, free * share, row * count)
        ax.set_ylim(count - 0.5, -0.5)
        corner += free * share + 2 * GAP
        found.append(ax)
    across = (left - EDGE) / free / shares[0]  # of the first axes' width
    for y, words in enumerate(beside.rows):
        text(found[0], -EDGE / free / shares[0], y, words, ha="right", va="center", color=INK)
    first = 0
    for i, (words, size) in enumerate(beside.heads):
        middle = first + (size - 1) / 2
        text(found[0], -across, middle, words, ha="left", va="center", color=INK)
        if i % 2 == 0 and len(beside.heads) > 1:
            for ax in found:
                ax.axhspan(first - 0.5, first + size - 0.5, color=BAND, linewidth=0, zorder=0)
        first += size
    return found


def interval(
    ax: Axes, y: float, value: float, ends: tuple[float, float] | None, look: Look
) -> None:
    """One estimate: a marker and, where there is one, its interval."""
    if ends is not None:
        ax.plot(ends, (y, y), color=look.colour, linewidth=2.0, solid_capstyle="butt", zorder=2)
    face = "white" if look.hollow else look.colour
    ax.plot(
        [value],
        [y],
        look.marker,
        color=look.colour,
        markerfacecolor=face,
        markeredgewidth=1.4,
        markersize=6,
        zorder=3,
    )


MIXTURES = (
    ("o", NAVY, False),
    ("D", ORANGE, True),
    ("s", TEAL, True),
    ("^", GREY, False),
    ("v", NAVY, True),
    ("P", ORANGE, False),
)


def mixture_looks(weights: Sequence[str]) -> dict[str, Look] | None:
    """A look for each mixture; None where there are more than can be told apart."""
    if len(weights) > len(MIXTURES):
        return None
    return {
        name: Look(label(name, 30), colour, marker, hollow)
        for name, (marker, colour, hollow) in zip(weights, MIXTURES, strict=False)
    }


def offsets(count: int) -> list[float]:
    """Where several estimates of one row stand, in rows from its middle."""
    return [0.24 * (2 * i - count + 1) / max(count - 1, 1) for i in range(count)]


def legend(figure: Figure, looks: Sequence[Look], left: float) -> None:
    """Name the series above the axes."""
    handles = [
        Line2D(
            [],
            [],
            color=look.colour,
            marker=look.marker,
            markerfacecolor="white" if look.hollow else look.colour,
            markeredgewidth=1.4,
            linewidth=2.0,
            label=look.label,
        )
        for look in looks
    ]
    across = float(figure.get_size_inches()[0])
    figure.legend(
        handles=handles,
        loc="upper left",
        bbox_to_anchor=(left / across, 1.0),
        ncols=len(looks),
        borderaxespad=0.2,
        handlelength=2.4,
    )
