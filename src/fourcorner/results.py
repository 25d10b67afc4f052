"""Result rows: what an estimate, a probability and a check say, and how they are written.

Invariant: both engines return these rows with the same keys; a number in them is finite or is
None with a reason beside it. Pinned by `tests/test_results.py`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

OBJECTS = {"interval", "refused", "notes", "count", "family"}
NUMBERS = {"value", "threshold", "rope", "contribution", "flip_ratio", "flip_share"}
TUPLES = {"interval", "notes"}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """One estimate with everything that says what it is an estimate of.

    Attributes
    ----------
    name, statistic, weights, method, population, cohort : str
        Which estimand, under which mixture, by which engine, for whom, over which rows.
    value : float or None
        Native units (a share for ``negative_share``); None when refused.
    interval : tuple of float or None
        Lower and upper end; None when there is none, with the reason in `notes`.
    interval_kind, resampling : str
        A ``simultaneous max-t`` interval holds together with those of its call and ``bounds`` hold
        whatever was cut off; an interval of every other kind is pointwise, for its own row alone.
    level : float
    units, transitions : int
        Independent units and transitions that the value rests on.
    undefined_draws : int
        Bootstrap draws that left a needed stratum empty.
    count : int or None
        Transitions that count, of a share or a rate in which each counts wholly or not at all.
    signed : bool
        Whether it could lie on either side of zero, as no share can.
    family : str or None
        The estimand of the spec that the row is one of several rows of; None of a row of its own.
    flip_ratio, flip_share : float or None
        By design, of a mean interaction of two gains: the ratio of the channels' scales, second to
        first, at which it changes sign, and the share of the second channel at which the pooled
        mean gain does. None where nothing turns the sign, and of every other row.
    notes : tuple of str
    refused : mapping or None
        ``reason`` and what belongs to it.
    """

    name: str
    statistic: str
    weights: str
    method: str
    population: str
    cohort: str
    value: float | None
    interval: tuple[float, float] | None
    interval_kind: str
    level: float
    units: int
    transitions: int
    undefined_draws: int = 0
    resampling: str = ""
    count: int | None = None
    signed: bool = True
    family: str | None = None
    flip_ratio: float | None = None
    flip_share: float | None = None
    notes: tuple[str, ...] = ()
    refused: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        numbers = [self.value, *(self.interval or ()), self.flip_ratio, self.flip_share]
        if not all(x is None or math.isfinite(x) for x in numbers):
            msg = (
                f"{self.name}: value and interval, flip ratio and share {numbers}; "
                f"expected finite numbers or None"
            )
            raise ValueError(msg)
        if (self.value is None) != (self.refused is not None):
            msg = (
                f"{self.name}: value {self.value} and refused {self.refused}; expected one of them"
            )
            raise ValueError(msg)


@dataclass(frozen=True, kw_only=True)
class Probability:
    """Posterior probability of an event; no count of draws makes it exactly 0 or 1.

    Attributes
    ----------
    name, event, weights, population : str
    value : float
        (k + 1/2) / (S + 1) for k of S draws; of ``flip_new`` the mean of its draws.
    draws : int
        S.
    rope : float or None
        Half-width of the region around zero that the event ``rope`` is about; native units.
    """

    name: str
    event: str
    value: float
    weights: str
    population: str
    draws: int
    rope: float | None = None


@dataclass(frozen=True, kw_only=True)
class Check:
    """The verdict of one check on one target.

    Attributes
    ----------
    name, target : str
    verdict : {"pass", "fail", "shown", "not_run"}
    value, threshold : float or None
    message : str
        What was found and, when it failed, what to do.
    gated : bool
        Whether a failure changes the exit code.
    """

    name: str
    target: str
    verdict: str
    value: float | None
    threshold: float | None
    message: str
    gated: bool = True


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """A design estimate of a part of the cohort, or without a part of it.

    Attributes
    ----------
    name, statistic, weights, population, cohort : str
        As of the estimate that it breaks down.
    by : str
        ``"stratum"``, a replicate factor (``"layout"``, ``"wave"``), an attribute
        (``"step_type"``), or ``"leave_one_out"``.
    level : str
        Of `by`; for ``"leave_one_out"`` the unit that is left out where the value is least, and
        where it is greatest.
    value : float or None
        None where nothing is left, with the reason in `notes`.
    interval : tuple of float or None
    interval_kind, resampling : str
        As of an `Estimate`, and never simultaneous: the intervals of parts are pointwise.
    interval_level : float
    units, transitions : int
    undefined_draws : int
    count : int or None
        As of an `Estimate`.
    contribution : float or None
        What this level of an attribute or stratum adds to the estimate of the whole, which is the
        sum over the levels. None of other parts, of a group contrast, and where the whole has no
        value.
    notes : tuple of str
    """

    name: str
    statistic: str
    weights: str
    population: str
    cohort: str
    by: str
    level: str
    value: float | None
    interval: tuple[float, float] | None
    interval_kind: str
    interval_level: float
    units: int
    transitions: int
    undefined_draws: int = 0
    count: int | None = None
    contribution: float | None = None
    resampling: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CriterionPart:
    """One estimate of a directional criterion.

    Attributes
    ----------
    name : str
        Of the estimate.
    sign : {"+", "-"}
        The side of zero that it has to lie on.
    statistic : str or None
        As of the estimate; None where it has no row.
    verdict : {"holds", "fails", "open"}
    value : float or None
    interval : tuple of float or None
    """

    name: str
    sign: str
    statistic: str | None
    verdict: str
    value: float | None
    interval: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class Criterion:
    """A directional criterion under one mixture, by one method.

    Attributes
    ----------
    name : str
    weights, method, population, cohort : str
        As of its estimates.
    verdict : {"supported", "contradicted", "unresolved"}
    parts : tuple of CriterionPart
    notes : tuple of str
    """

    name: str
    weights: str
    method: str
    population: str
    cohort: str
    verdict: str
    parts: tuple[CriterionPart, ...]
    notes: tuple[str, ...] = ()


Row = Estimate | Probability | Check | Breakdown | Criterion


def target(name: str, weights: str) -> str:
    """How checks and reports name an estimand under a mixture.

    Examples
    --------
    >>> target("omega", "equal")
    'omega (equal)'
    """
    return f"{name} ({weights})"


def side(row: Estimate | None) -> int | None:
    """Where an interval lies: -1 below zero, 1 above, 0 around it, None if there is none."""
    if row is None or row.interval is None:
        return None
    low, high = row.interval
    return -1 if high < 0 else 1 if low > 0 else 0


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON objects."""
    return [{key: _plain(item) for key, item in asdict(row).items()} for row in rows]


def read[R: Row](found: Sequence[Mapping[str, Any]], kind: type[R]) -> list[R]:
    """Rows from the JSON objects that `records` made of them, equal to what they were.

    Examples
    --------
    >>> row = Probability(name="o", event="<0", value=0.5, weights="w", population="units", draws=9)
    >>> read(records([row]), Probability) == [row]
    True
    """
    return [
        kind(**{key: tuple(x) if key in TUPLES and x is not None else x for key, x in row.items()})
        for row in found
    ]


def frame(rows: Sequence[Row], kind: type[Row]) -> pd.DataFrame:
    """Rows as a pandas frame with the keys of the JSON rows as columns.

    A number that is None is NaN in the frame; intervals, notes, counts and refusals stay objects.
    """
    columns = list(kind.__dataclass_fields__)
    table = pd.DataFrame([asdict(row) for row in rows], columns=columns)
    for column in OBJECTS.intersection(columns):
        table[column] = pd.Series([getattr(row, column) for row in rows], dtype=object)
    return table.astype(dict.fromkeys(NUMBERS.intersection(columns), float))


def rows[R: Row](table: pd.DataFrame, kind: type[R]) -> list[R]:
    """Rows from a frame that `frame` made of them, or some of its rows."""
    found = table[list(kind.__dataclass_fields__)].to_dict("records")
    return [
        kind(
            **{
                key: None if isinstance(item, float) and math.isnan(item) else item
                for key, item in row.items()
            }
        )
        for row in found
    ]


def to_json(document: Mapping[str, Any]) -> str:
    """JSON text without NaN or infinity; a number that is not finite raises ValueError."""
    return json.dumps(_plain(document), allow_nan=False, indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    match value:
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case [*items]:
            return [_plain(item) for item in items]
        case _:
            return value
