"""The report's figures, each a matplotlib Figure that no global state holds.

Invariant: every figure says its series by shape as well as by colour, and the same data give the
same figure. Pinned by `tests/test_report.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import words
from fourcorner.report.cellmap import cell_map
from fourcorner.report.families import alone
from fourcorner.report.figures import (
    EDGE,
    GAP,
    GREY,
    INK,
    NAVY,
    ORANGE,
    ROW,
    TEAL,
    WIDTH,
    Look,
    interval,
    labels,
    legend,
    place,
    styled,
    text,
    wrapped,
)
from fourcorner.report.lines import Line, collect
from fourcorner.report.panels import Pooled
from fourcorner.scores import STAGES

__all__ = ["cell_map", "deviations", "effects", "forest", "funnel", "pooling"]

DESIGN = Look("design estimate", NAVY, "o")
POSTERIOR = Look("posterior", ORANGE, "D", hollow=True)
UNPOOLED = Look("unpooled", TEAL, "s", hollow=True)
POOLED = Look("pooled (posterior)", ORANGE, "D", hollow=True)
WAYS = {names.UNPOOLED: UNPOOLED, names.BAYES: POOLED, names.DESIGN: DESIGN}
WEIGHED = Look("Bayesian bootstrap", ORANGE, "D", hollow=True)
LOOKS = {names.DESIGN: DESIGN, names.BAYES: POSTERIOR, names.BAYESIAN_BOOTSTRAP: WEIGHED}
EFFECT = Look("effect", NAVY, "o")
SPREAD = Look("sd between units", TEAL, "s", hollow=True)
DEVIATION = Look("deviation", TEAL, "o")

HEAD, FOOT = 0.36, 0.58  # inches: a legend above, an axis with its label below


def funnel(counts: Mapping[str, Any]) -> Figure:
    """Scores from attempted to in the joint cohort, as bars with their counts.

    Parameters
    ----------
    counts : mapping
        As `fourcorner.scores.funnel` returns it.
    """
    beside = labels([("", stage.replace("_", " ")) for stage in STAGES])
    total = max(counts["attempted"], 1)
    with styled():
        figure = Figure(figsize=(WIDTH, 2 * EDGE + ROW * len(STAGES)))
        left = 2 * EDGE + beside.width
        bars, numbers = place(figure, beside, left, EDGE, (0.72, 0.28))
        for ax in (bars, numbers):
            ax.set_axis_off()
        bars.set_xlim(0, total)
        for y, stage in enumerate(STAGES):
            bars.barh(y, total, height=0.6, color="#e9ecf1")
            bars.barh(y, counts[stage], height=0.6, color=NAVY)
            said = f"{counts[stage]:,}  ({100 * counts[stage] / total:.3g} %)"
            text(numbers, 0, y, said, va="center")
    return figure


def forest(audit: Audit) -> Figure:
    """Estimates and intervals of both engines, one row per estimand and mixture.

    Parameters
    ----------
    audit : Audit

    Returns
    -------
    Figure
        Shares, which are no scores, have an axis of their own, and so have their differences
        between groups. Families, which have figures of their own, are not in it.
    """
    drawn = [line for line in alone(collect(audit)) if line.drawn]
    kinds = (_is_score, _is_share, _is_share_difference)
    panels = [panel for kind in kinds if (panel := [line for line in drawn if kind(line)])]
    with styled():
        return _forest(panels, audit.spec.data.measure)


def _forest(panels: Sequence[Sequence[Line]], score: str) -> Figure:
    row = 1.25 * ROW
    several = len({line.weights for panel in panels for line in panel}) > 1
    beside = [
        labels([(_asked(line), line.weights if several else "") for line in panel])
        for panel in panels
    ]
    body = sum(row * len(panel) + FOOT + GAP for panel in panels) - GAP
    figure = Figure(figsize=(WIDTH, HEAD + max(body, ROW)))
    left = 2 * EDGE + max((found.width for found in beside), default=0.0)
    top = HEAD
    for panel, found in zip(panels, beside, strict=True):
        [ax] = place(figure, found, left, top, row=row)
        for y, line in enumerate(panel):
            _engines(ax, y, line)
        if _is_share(panel[0]):
            ax.set_xlim(0, 1)
            ax.axvline(0.5, color=INK, linewidth=0.9, linestyle=(0, (3, 3)))
            below = {line.estimand.statistic for line in panel} == {names.NEGATIVE_SHARE}
            what = "share of transitions below zero" if below else "share"
            ax.set_xlabel(f"{what} (dashed: half of them)")
        else:
            unit = f"{score}, native units" if _is_score(panel[0]) else "difference of shares"
            _about_zero(ax, unit)
        top += row * len(panel) + FOOT + GAP
    methods = {row.method for panel in panels for line in panel for row in line.drawn}
    looks = [look for method, look in LOOKS.items() if method in methods]
    if looks:
        legend(figure, looks, left)
    else:
        figure.text(0.5, 0.5, "no estimate to draw", ha="center", va="center", color=GREY)
    return figure


def _asked(line: Line) -> str:
    statistic = line.estimand.statistic
    words = {names.MEAN: "", **dict.fromkeys(names.SHARES, " (share)")}
    return line.estimand.name + words.get(statistic, f" ({statistic.replace('_', ' ')})")


def _engines(ax: Axes, y: int, line: Line) -> None:
    """Both engines of one line, one above the other."""
    both = len(line.drawn) > 1
    for row, shift in zip(line.drawn, (-0.19, 0.19) if both else (0.0,), strict=True):
        assert row.value is not None, row.name
        interval(ax, y + shift, row.value, row.interval, LOOKS[row.method])


def pooling(rows: Sequence[Pooled], score: str) -> Figure:
    """Each weighted estimate three ways: unpooled, pooled and by design.

    Parameters
    ----------
    rows : sequence of Pooled
    score : str
        Name of the score, for the axis.
    """
    drawn = [row for row in rows if row.ways]
    several = len({row.line.weights for row in drawn}) > 1
    named = [(row.line.estimand.name, row.line.weights if several else "") for row in drawn]
    beside = labels(named)
    height = 1.6 * ROW
    with styled():
        figure = Figure(figsize=(WIDTH, HEAD + max(height * len(drawn), ROW) + FOOT))
        left = 2 * EDGE + beside.width
        [ax] = place(figure, beside, left, HEAD, row=height)
        for y, row in enumerate(drawn):
            for (way, look), shift in zip(WAYS.items(), (-0.27, 0.0, 0.27), strict=True):
                found = row.ways.get(way)
                if found is not None and found.value is not None:
                    interval(ax, y + shift, found.value, found.interval, look)
        _about_zero(ax, f"{score}, native units")
        legend(figure, list(WAYS.values()), left)
    return figure


def _is_score(line: Line) -> bool:
    return line.estimand.statistic not in names.SHARES


def _is_share(line: Line) -> bool:
    return not _is_score(line) and line.estimand.between is None


def _is_share_difference(line: Line) -> bool:
    return not _is_score(line) and line.estimand.between is not None


def _about_zero(ax: Axes, unit: str) -> None:
    ax.axvline(0, color=INK, linewidth=0.9)
    ax.set_xlabel(wrapped(unit, 70, 1), parse_math=False)


def effects(tree: xr.DataTree, score: str) -> Figure:
    """Posterior effects by interaction order, with their sd between units beside them.

    Parameters
    ----------
    tree : xarray.DataTree
        As `fourcorner.fit` returns it.
    score : str
        Name of the score, for the axes.

    Returns
    -------
    Figure
        The intercept, a level and not an effect, is left out.
    """
    posterior = tree[names.POSTERIOR].to_dataset()
    constants = tree[names.CONSTANT_DATA].to_dataset()
    orders = dict(
        zip(
            constants[names.COMPONENT].values.tolist(),
            constants[names.VAR_ORDER].values.tolist(),
            strict=True,
        )
    )
    shown = sorted(
        (name for name, order in orders.items() if order > 0), key=lambda name: orders[name]
    )
    modelled = set(posterior[names.EFFECT].values.tolist())
    with styled():
        beside = labels([(words.order(orders[name]), name) for name in shown])
        figure = Figure(figsize=(WIDTH, EDGE + ROW * len(shown) + FOOT))
        left, right = place(figure, beside, 2 * EDGE + beside.width, EDGE, (0.62, 0.38))
        for y, name in enumerate(shown):
            if name in modelled:
                found = posterior[names.VAR_EFFECT].sel({names.EFFECT: name})
                interval(left, y, *summary(found), EFFECT)
            else:
                text(left, 0.5, y, "set to zero by the spec", ha="center", va="center", color=GREY)
            spread = posterior[names.VAR_UNIT_SD].sel({names.COMPONENT: name})
            interval(right, y, *summary(spread), SPREAD)
        left.axvline(0, color=INK, linewidth=0.9)
        right.set_xlim(left=0)
        left.set_xlabel(wrapped(f"effect, {score}", 44, 2), parse_math=False)
        right.set_xlabel(wrapped(f"sd between units, {score}", 30, 2), parse_math=False)
    return figure


def deviations(tree: xr.DataTree, score: str) -> Figure:
    """Posterior of each stratum's deviation from the effects, one row per effect and stratum."""
    found = tree[names.POSTERIOR].to_dataset()[names.VAR_DEVIATION]
    pairs = [
        (effect, stratum)
        for effect in found[names.STRATUM_EFFECT].values.tolist()
        for stratum in found[names.STRATUM].values.tolist()
    ]
    with styled():
        beside = labels(pairs)
        figure = Figure(figsize=(WIDTH, EDGE + ROW * len(pairs) + FOOT))
        [ax] = place(figure, beside, 2 * EDGE + beside.width, EDGE)
        for y, (effect, stratum) in enumerate(pairs):
            draws = found.sel({names.STRATUM_EFFECT: effect, names.STRATUM: stratum})
            interval(ax, y, *summary(draws), DEVIATION)
        ax.axvline(0, color=INK, linewidth=0.9)
        ax.set_xlabel(wrapped(f"deviation of a stratum's effect, {score}", 60, 1), parse_math=False)
    return figure


def summary(draws: xr.DataArray) -> tuple[float, tuple[float, float]]:
    """Mean and equal-tailed 95 % interval."""
    low, high = np.quantile(draws.values, [0.025, 0.975])
    return float(draws.values.mean()), (float(low), float(high))
