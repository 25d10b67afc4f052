"""A design engine in plain loops and exact fractions, for tests of the real one.

It reads the same table with `groupby` and knows contrasts only as dictionaries of corners written
out here.
"""

import itertools
import math
import statistics
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fourcorner import names
from fourcorner.contrasts import Contrast, diagonal, endpoint_shift, gain, omega
from fourcorner.design.draws import multiplicities
from fourcorner.estimands import Estimand
from scored import EMPIRICAL

# Contrasts, for the engine and as corners written out


def asked(channel):
    """Pairs of a Contrast and its corners {(state, levels…): weight}."""
    half = Fraction(1, 2)
    views = channel["view"]
    average = {(state, v): sign * Fraction(1, len(views)) for state, sign in SIGNS for v in views}
    one_factor = {
        "gain": (gain(view="b"), {("end", "b"): 1, ("start", "b"): -1}),
        "omega": (
            omega(view=("a", "b")),
            {("end", "b"): 1, ("start", "b"): -1, ("end", "a"): -1, ("start", "a"): 1},
        ),
        "shift": (
            endpoint_shift("before", view=("b", "a")),
            {("start", "a"): 1, ("start", "b"): -1},
        ),
        "diagonal": (diagonal(view=("a", "b")), {("end", "b"): 1, ("start", "a"): -1}),
        "average": (gain(at={"view": views}), average),
    }
    if "authority" not in channel:
        return one_factor
    fixed = {
        name: (_at(contrast, "y"), {(*corner, "y"): w for corner, w in corners.items()})
        for name, (contrast, corners) in one_factor.items()
    }
    face = one_factor["omega"][1].items()
    crossed = {(*corner, level): s * w for corner, w in face for level, s in (("x", -1), ("y", 1))}
    halves = {(*corner, level): half * w for corner, w in face for level in "xy"}
    both = omega(view=("a", "b"), authority=("x", "y"))
    averaged = omega(view=("a", "b"), at={"authority": ["x", "y"]})
    return {**fixed, "crossed": (both, crossed), "halves": (averaged, halves)}


SIGNS = (("start", -1), ("end", 1))


def every_estimand(table):
    """Each contrast of `asked` with each statistic, named by both."""
    return [
        Estimand(f"{name} {statistic}", contrast, statistic)
        for name, (contrast, _) in asked(table.channel).items()
        for statistic in names.STATISTICS
    ]


def _at(contrast, authority):
    """The same contrast with the second factor fixed."""
    cells = {cell | {("authority", authority)}: w for cell, w in contrast.weights.items()}
    return Contrast(contrast.name, cells)


class Complete(NamedTuple):
    unit: str
    stratum: str
    value: Fraction


def naive_cells(table):
    """Exact cell means of each transition: {(task, step): (target, {corner: mean})}."""
    combinations = len(list(itertools.product(*table.replicate.values())))
    found = {}
    for (task, step), group in table.frame.groupby(["task", "step"]):
        margins = {}
        corners = group[["phase", *table.channel]].itertuples(index=False, name=None)
        for corner, margin in zip(corners, group["margin"], strict=True):
            if not math.isnan(margin):
                margins.setdefault(corner, []).append(Fraction(round(10 * margin), 10))
        means = {
            corner: sum(listed) / combinations
            for corner, listed in margins.items()
            if len(listed) == combinations
        }
        found[task, step] = (group["target"].iloc[0], means)
    return found


def naive_values(cells, corners):
    return [
        Complete(task, target, sum(weight * means[corner] for corner, weight in corners.items()))
        for (task, _), (target, means) in cells.items()
        if all(corner in means for corner in corners)
    ]


def naive_statistic(values, statistic, shares):
    """The statistic of some transitions, None where it is undefined."""
    if statistic == names.MEDIAN:
        return statistics.median(item.value for item in values) if values else None
    if statistic == names.TRIMMED_MEAN:
        kept = sorted(item.value for item in values)
        cut = len(kept) // 10
        kept = kept[cut : len(kept) - cut]
        return sum(kept) / len(kept) if kept else None
    number = (lambda x: x < 0) if statistic == names.NEGATIVE_SHARE else (lambda x: x)
    if shares is None:
        listed = [Fraction(number(item.value)) for item in values]
        return sum(listed) / len(listed) if listed else None
    total = Fraction(0)
    for stratum, share in shares.items():
        listed = [Fraction(number(item.value)) for item in values if item.stratum == stratum]
        if share and not listed:
            return None
        total += Fraction(share) * sum(listed) / len(listed) if share else 0
    return total


def naive_refusal(cells, corners, values, statistic, shares):
    seen = {corner for _, means in cells.values() for corner in means}
    if set(corners) - seen:
        return "not_identified"
    if not values:
        return "no_complete_transition"
    if shares is None:
        return None
    needed = {stratum for stratum, share in shares.items() if share}
    return "empty_stratum" if needed - {item.stratum for item in values} else None


def mixtures(frame):
    """Empirical, equal and a named mixture that leaves the first stratum out."""
    present = sorted(set(frame["target"]))
    equal = dict.fromkeys(present, 1 / len(present))
    rest = len(present) - 1
    named = {name: (i > 0) / rest if rest else 1.0 for i, name in enumerate(present)}
    declared = {**EMPIRICAL, "equal": "equal", "named": named}
    return declared, {"empirical": None, "equal": equal, "named": named}


def naive_interval(table, values, statistic, shares, draws, seed, level=0.95):
    """Percentile interval and undefined draws by a loop over draws, on the engine's own draws."""
    units = sorted(set(table.frame["task"]))
    by_unit = {unit: [item for item in values if item.unit == unit] for unit in units}
    drawn = np.concatenate(list(multiplicities(len(units), draws, seed)))
    found = [
        naive_statistic(
            [v for unit, k in zip(units, row, strict=True) for v in by_unit[unit] * int(k)],
            statistic,
            shares,
        )
        for row in drawn
    ]
    defined = sorted(value for value in found if value is not None)
    groups = [{v.unit for v in values}]
    if shares is not None:
        groups = [{v.unit for v in values if v.stratum == name} for name, s in shares.items() if s]
    alone = min(len(group) for group in groups) < 2
    undefined = len(found) - len(defined)
    if alone or not defined or defined[0] == defined[-1]:
        return None, undefined
    ends = [naive_quantile(defined, tail) for tail in ((1 - level) / 2, (1 + level) / 2)]
    return tuple(ends), undefined


def naive_quantile(ordered, share):
    """Linear interpolation between order statistics."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low]) + (place - low) * float(ordered[high] - ordered[low])
