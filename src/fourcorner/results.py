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

OBJECTS = {"interval", "refused", "notes", "count"}
NUMBERS = {"value", "threshold"}


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
    level : float
    units, transitions : int
        Independent units and transitions that the value rests on.
    undefined_draws : int
        Bootstrap draws that left a needed stratum empty.
    count : int or None
        Negative values, for ``negative_share``.
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
    notes: tuple[str, ...] = ()
    refused: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        numbers = [self.value, *(self.interval or ())]
        if not all(x is None or math.isfinite(x) for x in numbers):
            msg = f"{self.name}: value and interval {numbers}; expected finite numbers or None"
            raise ValueError(msg)
        if (self.value is None) != (self.refused is not None):
            msg = (
                f"{self.name}: value {self.value} and refused {self.refused}; expected one of them"
            )
            raise ValueError(msg)


@dataclass(frozen=True, kw_only=True)
class Probability:
    """Posterior probability of an event; never exactly 0 or 1, since draws are finite.

    Attributes
    ----------
    name, event, weights, population : str
    value : float
        (k + 1/2) / (S + 1) for k of S draws.
    draws : int
        S.
    """

    name: str
    event: str
    value: float
    weights: str
    population: str
    draws: int


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


Row = Estimate | Probability | Check


def records(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as JSON objects."""
    return [{key: _plain(item) for key, item in asdict(row).items()} for row in rows]


def frame(rows: Sequence[Row], kind: type[Row]) -> pd.DataFrame:
    """Rows as a pandas frame with the keys of the JSON rows as columns.

    A number that is None is NaN in the frame; intervals, notes, counts and refusals stay objects.
    """
    columns = list(kind.__dataclass_fields__)
    table = pd.DataFrame([asdict(row) for row in rows], columns=columns)
    for column in OBJECTS.intersection(columns):
        table[column] = pd.Series([getattr(row, column) for row in rows], dtype=object)
    return table.astype(dict.fromkeys(NUMBERS.intersection(columns), float))


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
