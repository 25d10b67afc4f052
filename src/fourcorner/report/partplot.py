"""Figures whose rows are parts: of the cohort by level, or of a disagreement of signs by kind.

Invariant: each value is drawn where its row says, a share in per cent, and a part without a value
says so in its place. Pinned by `tests/test_families.py`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from fourcorner import names
from fourcorner.report.families import NO_LEVEL, Family
from fourcorner.report.figures import (
    EDGE,
    GREY,
    INK,
    ROW,
    WIDTH,
    interval,
    labels,
    legend,
    mixture_looks,
    offsets,
    place,
    styled,
    text,
    wrapped,
)
from fourcorner.results import Breakdown, Estimate

HEAD, FOOT = 0.36, 0.58  # inches: a legend above, an axis with its label below
MOST = 60  # rows of a figure that still reads
PER_CENT = "per cent"

GROUPS = (
    (
        "disagreement",
        (
            (names.CROSS_CHANNEL, "across channels"),
            (names.SAME_CHANNEL, "in retries of one channel"),
            (names.EXCESS, "excess"),
        ),
    ),
    (
        "which way, across channels",
        (
            (names.CROSS_CHANNEL_DOWN, "first + second −"),
            (names.CROSS_CHANNEL_UP, "first − second +"),
        ),
    ),
    ("in every wave", ((names.PERSISTENT, "one way round"),)),
)


class Drawn(NamedTuple):
    """A row of a figure: its labels, and a value under each mixture."""

    group: str
    label: str
    rows: Mapping[str, Breakdown | Estimate | None]


def sign_rates(family: Family) -> Figure | None:
    """How often signs disagree: across channels beside retries, which way, beyond dead zones.

    Parameters
    ----------
    family : Family
        Of signs.

    Returns
    -------
    Figure or None
        One row for each rate, its mixtures side by side; None where there is nothing to draw.
    """
    wanted = [(group, row, said) for group, listed in GROUPS for row, said in listed]
    wanted += [
        ("beyond a dead zone", row, f"both beyond {lines[0].estimand.measure.zone:g}")
        for row, lines in family.rows.items()
        if lines[0].estimand.measure is not None and lines[0].estimand.measure.kind == names.BEYOND
    ]
    drawn = [
        Drawn(group, said, {line.weights: line.design for line in family.rows[row]})
        for group, row, said in wanted
        if row in family.rows
    ]
    return _draw(drawn, family.weights, names.RATE, f"share, {PER_CENT}")


def part_forest(rows: Sequence[Breakdown], score: str) -> Figure | None:
    """Parts of one estimate with their intervals, its mixtures side by side.

    Parameters
    ----------
    rows : sequence of Breakdown
        Of one estimand.
    score : str
        Name of the score, for the axis.

    Returns
    -------
    Figure or None
        None where no part has a value, or there are more rows or mixtures than still read. A part
        that is the same under every mixture, as a stratum is, is drawn once.
    """
    grouped: dict[tuple[str, str], dict[str, Breakdown | Estimate | None]] = {}
    for row in rows:
        mine = grouped.setdefault((row.by, row.level), {})
        if not any(_same(row, other) for other in mine.values()):
            mine[row.weights] = row
    drawn = [Drawn(by, level or NO_LEVEL, mine) for (by, level), mine in grouped.items()]
    statistic = rows[0].statistic if rows else names.MEAN
    unit = f"share, {PER_CENT}" if statistic in names.SHARES else f"{score}, native units"
    return _draw(drawn, list(dict.fromkeys(row.weights for row in rows)), statistic, unit)


def _same(row: Breakdown, other: Breakdown | Estimate | None) -> bool:
    return other is not None and (row.value, row.interval) == (other.value, other.interval)


def _draw(
    drawn: Sequence[Drawn], weights: Sequence[str], statistic: str, unit: str
) -> Figure | None:
    looks = mixture_looks(weights)
    valued = any(
        row is not None and row.value is not None for of in drawn for row in of.rows.values()
    )
    if looks is None or not valued or len(drawn) > MOST:
        return None
    scale = 100.0 if statistic in names.SHARES else 1.0
    beside = labels([(of.group, of.label) for of in drawn])
    height = ROW * (1 + 0.2 * (len(weights) - 1))
    head = HEAD if len(weights) > 1 else EDGE
    with styled():
        figure = Figure(figsize=(WIDTH, head + height * len(drawn) + FOOT))
        left = 2 * EDGE + beside.width
        [ax] = place(figure, beside, left, head, row=height)
        for y, of in enumerate(drawn):
            kept = {
                w: row for w, row in of.rows.items() if row is not None and row.value is not None
            }
            if not kept:
                text(ax, 0.5, y, "no value", ha="center", va="center", color=GREY)
            for (name, row), shift in zip(kept.items(), offsets(len(kept)), strict=True):
                assert row.value is not None
                ends = row.interval and (scale * row.interval[0], scale * row.interval[1])
                interval(ax, y + shift, scale * row.value, ends, looks[name])
        ax.axvline(0, color=INK, linewidth=0.9)
        ax.set_xlabel(wrapped(unit, 70, 1), parse_math=False)
        if len(weights) > 1:
            legend(figure, list(looks.values()), left)
    return figure
