"""Bootstrap intervals from the deviations of the draws, and what a reader must know of each.

Invariant: an interval is of the kind that its row names, over the draws that are defined, and
never has zero width. Pinned by `tests/test_intervals.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.contrasts import ROUNDING

Floats = NDArray[np.float64]
Interval = tuple[float, float]

SMALL_STRATUM = 10  # units; fewer say little about their stratum's spread

SOME = 64  # draws
ERRATIC = 5  # times the width of the percentile interval

KINDS = {
    names.PERCENTILE: "percentile",
    names.RESCALED: "rescaled percentile",
    names.BOOTSTRAP_T: "bootstrap-t",
}
SAME = "no interval: most resamples give the same value, so both ends would be it"
ENDLESS = (
    "no interval: in too many draws one unit stands for all, so a bootstrap-t interval has no end; "
    "measure more units"
)
NONE = {names.PERCENTILE: SAME, names.RESCALED: SAME, names.BOOTSTRAP_T: ENDLESS}
# Why a draw is undefined
NO_TRANSITION = "left a needed stratum or group without a complete transition"
UNDEFINED = {
    names.AUC: "had fewer than two classes of the outcome, so there was nothing to rank",
    names.DISCORDANCE: "had no two different endpoints to compare",
}
NOWHERE = "no interval: no draw is defined in every row"


@dataclass(frozen=True)
class Replicates:
    """An estimate and how far each draw is from it.

    Attributes
    ----------
    point : float
    deviations : ndarray of shape (draws,)
        NaN where the draw is undefined.
    size : float
        Of the scores behind them, or 1 for a share: beside it a rounding error is nothing.
    variances : ndarray of shape (1 + draws,), or None
        The estimated variance of the estimate, then of each draw; for a bootstrap-t interval.
    """

    point: float
    deviations: Floats
    size: float
    variances: Floats | None = None

    @property
    def nothing(self) -> float:
        """The largest deviation that rounding alone can make."""
        return ROUNDING * self.size

    @cached_property
    def defined(self) -> Floats:
        """Deviations of the draws that are defined."""
        kept = np.isfinite(self.deviations)
        return self.deviations if kept.all() else self.deviations[kept]

    @property
    def studentised(self) -> Floats:
        """Deviations in standard errors of their own draw, of the draws where these are defined.

        A draw in which one unit stands for all has no spread: its deviation is beyond any number
        of standard errors.
        """
        assert self.variances is not None
        drawn = self.variances[1:]
        kept = np.isfinite(self.deviations) & np.isfinite(drawn)
        moved, spread = self.deviations[kept], drawn[kept]
        flat = spread <= self.nothing**2
        beyond = np.where(np.abs(moved) > self.nothing, np.copysign(np.inf, moved), 0.0)
        return np.where(flat, beyond, moved / np.sqrt(np.where(flat, 1.0, spread)))


def interval(found: Replicates, kind: str, level: float) -> Interval | None:
    """Interval of one row by itself; None where it has no width or no end, as `NONE` says.

    Parameters
    ----------
    found : Replicates
        With deviations that are rescaled already, for a rescaled interval.
    kind : {"percentile", "rescaled", "bootstrap_t"}
    level : float
    """
    tails = [(1 - level) / 2, (1 + level) / 2]
    if kind != names.BOOTSTRAP_T:
        low, high = central(found.defined, level)
        if high - low <= found.nothing:
            return None
        return found.point + low, found.point + high
    assert found.variances is not None
    steps = found.studentised
    if not len(steps):
        return None
    # an order statistic and no interpolation: half-way to infinity is no number
    low = np.quantile(steps, tails[0], method="lower")
    high = np.quantile(steps, tails[1], method="higher")
    error = float(np.sqrt(found.variances[0]))
    if not np.isfinite([low, high]).all() or low == high or error <= found.nothing:
        return None
    return float(found.point - error * high), float(found.point - error * low)


def central(values: Floats, level: float) -> Interval:
    """Quantiles that hold the central share between them, as `numpy.quantile` has them.

    Each end lies between two neighbours of the sorted values; with three of the four in place the
    fourth is the greatest of what is below.

    Parameters
    ----------
    values : ndarray of shape (draws,)
        Finite, and at least one.
    level : float

    Examples
    --------
    >>> central(np.array([4.0, 0.0, 2.0, 1.0, 3.0]), 0.5)
    (1.0, 3.0)
    """
    found = []
    last = len(values) - 1
    below = values.copy()
    upper = float("nan")
    for share in ((1 + level) / 2, (1 - level) / 2):
        place = share * last
        rank = min(int(place), max(last - 1, 0))
        if rank + 1 < len(below):
            below.partition(rank + 1)
            upper = float(below[rank + 1])
            below = below[: rank + 1]
        lower = float(below.max())
        found.append(lower + (place - rank) * (upper - lower) if last else lower)
    return found[1], found[0]


def simultaneous(rows: Mapping[int, Replicates], level: float) -> dict[int, Interval]:
    """Max-t intervals of rows with spread, which hold for all of them at once.

    θ̂ ± c s, where s is the standard deviation over draws, and in a share `level` of the draws that
    are defined in every row each row is within c of its estimate, in its own s.

    Returns
    -------
    dict
        By the keys of `rows`; empty where no draw is defined in every row.
    """
    if not rows:
        return {}
    errors = {key: float(np.std(found.defined, ddof=1)) for key, found in rows.items()}
    moved = [np.abs(found.deviations) / errors[key] for key, found in rows.items()]
    furthest = np.max(moved, axis=0)
    whole = furthest[np.isfinite(furthest)]
    if not len(whole):
        return {}
    reach = float(np.quantile(whole, level))
    return {
        key: (found.point - reach * errors[key], found.point + reach * errors[key])
        for key, found in rows.items()
    }


def within(ends: Interval, limits: Interval) -> tuple[Interval, list[str]]:
    """An interval within what its estimand can be; says if it is cut."""
    least, greatest = limits
    low, high = ends
    said = []
    if low < least:
        said.append(f"cut at {least:g}: no value is below it")
    if high > greatest:
        said.append(f"cut at {greatest:g}: no value is above it")
    return (max(low, least), min(high, greatest)), said


def erratic(ends: Interval, found: Replicates, level: float) -> Iterator[str]:
    """Says so where single draws decide the ends of a bootstrap-t interval."""
    low, high = central(found.defined, level)
    if (times := (ends[1] - ends[0]) / (high - low)) > ERRATIC:
        yield (
            f"{times:.0f} times as wide as the percentile interval: in some draws two or three "
            f"units that hardly differ stand for a stratum and decide the ends; measure more units"
        )


def spread(found: Replicates, statistic: str) -> str | None:
    """Why the draws tell nothing of an estimate's spread, or None."""
    if not len(found.defined):
        return f"no interval: every draw {UNDEFINED.get(statistic, NO_TRANSITION)}"
    some = found.defined[:SOME]  # mostly enough to see that the draws differ
    if np.ptp(some) <= found.nothing and np.ptp(found.defined) <= found.nothing:
        return "no interval: every resample gives the same value"
    return None


def lonely(needed: Sequence[tuple[str, int]]) -> str | None:
    """Why there can be no interval, where a needed group has one unit; else None."""
    alone = [name for name, size in needed if size < 2]
    if not alone:
        return None
    return f"no interval: one unit in {', '.join(alone)}, whose spread cannot be seen"


def caveats(
    needed: Sequence[tuple[str, int]], kind: str, found: Replicates, statistic: str
) -> Iterator[str]:
    """What a reader must know of an interval of a kind, the kind as its row has it."""
    small = [f"{name}: {size}" for name, size in needed if size < SMALL_STRATUM]
    if small and kind != KINDS[names.BOOTSTRAP_T]:
        yield (
            f"{kind} intervals undercover with fewer than {SMALL_STRATUM} units "
            f"({', '.join(small)})"
        )
    draws, defined = len(found.deviations), len(found.defined)
    if defined < draws:
        yield f"{draws - defined} of {draws} draws {UNDEFINED.get(statistic, NO_TRANSITION)}"
    if kind == KINDS[names.BOOTSTRAP_T] and (single := defined - len(found.studentised)):
        yield (
            f"{single} of {draws} draws left one unit in a needed stratum, whose spread is then "
            f"unseen"
        )
