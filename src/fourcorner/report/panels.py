"""What stands beside the estimates: pooling three ways, parts of the cohort, prior sensitivity.

Invariant: a panel shows rows and computes no estimate; the verdicts are the checks' own. Pinned by
`tests/test_panels.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.checks import pooling
from fourcorner.checks.rows import BY_PRIOR, PRIOR_DRIVEN, PRIOR_SENSITIVITY
from fourcorner.estimands import as_estimands
from fourcorner.report import words
from fourcorner.report.lines import Line
from fourcorner.results import Breakdown, Check, Estimate, target

PANELS = (pooling.NAME, PRIOR_SENSITIVITY, PRIOR_DRIVEN)
ONE_OUT = "without one unit"


@dataclass(frozen=True)
class Pooled:
    """One weighted estimate three ways, with the verdict of the pooling check.

    Attributes
    ----------
    line : Line
    ways : mapping of method to Estimate
        Unpooled, pooled and design, where there is a value.
    verdict : str
        ``depends on pooling``, ``agree``, or why it was not compared.
    depends, compared : bool
    """

    line: Line
    ways: Mapping[str, Estimate]
    verdict: str
    depends: bool
    compared: bool


def pooled(audit: Audit, lines: Sequence[Line]) -> list[Pooled]:
    """Every weighted estimate that the pooling check looked at."""
    checks = {row.target: row for row in audit.check_rows if row.name == pooling.NAME}
    found = []
    for line in lines:
        row = checks.get(target(line.estimand.name, line.weights))
        if row is None:
            continue
        ways = {
            names.UNPOOLED: line.unpooled,
            names.BAYES: line.posterior,
            names.DESIGN: line.design,
        }
        depends = depends_on_pooling(row)
        compared = row.verdict != names.NOT_RUN
        verdict = row.message.split(":")[0] if compared else row.message
        kept = {way: known for way, known in ways.items() if known and known.value is not None}
        found.append(Pooled(line, kept, verdict, depends, compared))
    return found


@dataclass(frozen=True)
class Cohort:
    """Values of this cohort alone.

    Attributes
    ----------
    lines : list of Line
    uncertain, bare : bool
        Whether some value has an interval, and whether some has none.
    """

    lines: list[Line]
    uncertain: bool
    bare: bool


def cohort(lines: Sequence[Line]) -> Cohort | None:
    """The lines with a row of this cohort alone; None where there is none."""
    mine = [line for line in lines if line.cohort is not None]
    valued = [line.cohort for line in mine if line.cohort and line.cohort.value is not None]
    bare = [row.interval is None for row in valued]
    return Cohort(mine, not all(bare), any(bare)) if mine else None


def depends_on_pooling(row: Check) -> bool:
    """Whether a check says that a conclusion depends on pooling."""
    return row.name == pooling.NAME and row.message.startswith(pooling.DEPENDS)


def rests_on_prior(row: Check) -> bool:
    """Whether a check says that an answer comes from its prior."""
    if row.name == PRIOR_DRIVEN:
        return True
    return row.name == PRIOR_SENSITIVITY and row.message.startswith(BY_PRIOR)


def sensitive(row: Check) -> bool:
    """Whether priors matter to a quantity."""
    beyond = row.value is not None and row.threshold is not None and row.value >= row.threshold
    return row.name == PRIOR_SENSITIVITY and beyond


def sensitivities(audit: Audit) -> dict[str, list[Check]]:
    """Rows of the prior sensitivity check: where priors matter, and where they hardly do.

    What was not run is among the checks that were not.
    """
    rows = [row for row in audit.check_rows if row.name in PANELS[1:]]
    run = [row for row in rows if row.verdict != names.NOT_RUN]
    moved = [row for row in run if sensitive(row) or rests_on_prior(row)]
    return {"moved": moved, "calm": [row for row in run if row not in moved]}


@dataclass(frozen=True)
class Range:
    """From where to where the parts of one estimate go.

    Attributes
    ----------
    weights, by, text : str
    signs : bool
        Whether parts lie on both sides of zero.
    """

    weights: str
    by: str
    text: str
    signs: bool


@dataclass(frozen=True)
class Parts:
    """Every part of one estimand.

    Attributes
    ----------
    name : str
    by : tuple of str
        What it is broken down by, in order.
    weights : tuple of str
    ranges : mapping of (weights, by) to Range
    rows : list of dict
        ``by``, ``level``, ``units``, ``cells`` and ``adds`` (one text for each of `weights`: the
        value, and what it adds to the whole) and ``notes``.
    drawn : tuple of Breakdown
        What a figure can show: parts of the cohort, not the cohort without a unit.
    """

    name: str
    by: tuple[str, ...]
    weights: tuple[str, ...]
    ranges: Mapping[tuple[str, str], Range]
    rows: list[dict[str, Any]]
    drawn: tuple[Breakdown, ...] = ()


def parts(audit: Audit) -> list[Parts]:
    """Breakdowns of every estimand that has any and stands for itself."""
    grouped: dict[str, list[Breakdown]] = {}
    for row in audit.breakdown_rows:
        grouped.setdefault(row.name, []).append(row)
    asked = as_estimands(audit.spec).items()
    order = [name for name, item in asked if item.family is None and name in grouped]
    return [_parts(name, grouped[name]) for name in order]


def _parts(name: str, rows: Sequence[Breakdown]) -> Parts:
    weights = tuple(dict.fromkeys(row.weights for row in rows))
    by = tuple(dict.fromkeys(row.by for row in rows))
    places = _places(rows)
    ranges = {}
    for mixture in weights:
        for part in by:
            mine = [row for row in rows if (row.weights, row.by) == (mixture, part)]
            if mine:
                ranges[mixture, part] = _range(mixture, part, mine, places)
    drawn = tuple(row for row in rows if row.by != names.LEAVE_ONE_OUT)
    return Parts(name, by, weights, ranges, _table(rows, weights, places), drawn)


def _places(rows: Sequence[Breakdown]) -> int | None:
    """Decimals of all parts of an estimand, chosen by their values."""
    valued = [(row.value, row.interval) for row in rows if row.value is not None]
    kept = [value for value, ends in valued if not words.is_far_below(value, ends)]
    return words.decimals(kept or [value for value, _ in valued])


def _range(mixture: str, by: str, rows: Sequence[Breakdown], places: int | None) -> Range:
    values = [row.value for row in rows if row.value is not None]
    if not values:
        return Range(mixture, by, "none can be given", signs=False)
    statistic = rows[0].statistic
    ends = [words.measured(end, None, statistic, places) for end in (min(values), max(values))]
    missing = len(rows) - len(values)
    left = f"; {missing:,} cannot be given" if missing else ""
    text = " to ".join(dict.fromkeys(ends)) + left
    signs = statistic not in words.UNSIGNED and min(values) < 0 < max(values)
    return Range(mixture, by, text, signs=signs)


def _table(
    rows: Sequence[Breakdown], weights: Sequence[str], places: int | None
) -> list[dict[str, Any]]:
    """One row for each part, its mixtures side by side; a unit left out is named in the cell."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        one_out = row.by == names.LEAVE_ONE_OUT
        level = row.notes[0] if one_out and row.notes else row.level
        entry = found.setdefault(
            (row.by, level),
            {
                "by": row.by,
                "level": level,
                "units": row.units,
                "cells": {},
                "adds": {},
                "notes": [],
            },
        )
        said = f"{_value(row, places)} ({row.level})" if one_out else _value(row, places)
        entry["cells"][row.weights] = said
        if row.contribution is not None:
            entry["adds"][row.weights] = words.measured(
                row.contribution, None, row.statistic, places
            )
        entry["notes"] += [note for note in row.notes if note != level]
    return [
        {
            **entry,
            "cells": [entry["cells"].get(mixture, "—") for mixture in weights],
            "adds": [entry["adds"].get(mixture, "") for mixture in weights],
            "notes": list(dict.fromkeys(entry["notes"])),
        }
        for entry in found.values()
    ]


def _value(row: Breakdown, places: int | None) -> str:
    if row.value is None:
        return "—"
    return words.measured(row.value, row.interval, row.statistic, places)


def by_words(by: str) -> str:
    """What a breakdown is by, as a heading."""
    return ONE_OUT if by == names.LEAVE_ONE_OUT else f"by {by}"
