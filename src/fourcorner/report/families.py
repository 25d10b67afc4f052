"""Families of rows on the page: several measures of the same transitions, each shown together.

Invariant: every line is either of an estimand that stands alone or in exactly one family. Pinned by
`tests/test_families.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.estimands import Estimand
from fourcorner.report import words
from fourcorner.report.lines import Line, shown
from fourcorner.report.meaning import meaning
from fourcorner.results import Breakdown, Check, target

NO_LEVEL = "none"
COLUMNS = {  # rows that tables of parts show, where they are not all
    names.SIGNS: (
        names.CROSS_CHANNEL,
        names.SAME_CHANNEL,
        names.FIRST_GAIN,
        names.SECOND_GAIN,
    ),
}


@dataclass(frozen=True)
class Family:
    """The rows of one estimand of the spec that stands for several.

    Attributes
    ----------
    name, kind, meaning : str
    weights : tuple of str
        Mixtures under which some row has anything to show.
    rows : mapping of row to lines
        A row's name without the family's; its lines, one for each mixture of the spec.
    """

    name: str
    kind: str
    meaning: str
    weights: tuple[str, ...]
    rows: Mapping[str, tuple[Line, ...]]

    def line(self, row: str, weights: str) -> Line | None:
        """A row under a mixture; None where the family has no such row."""
        return next((x for x in self.rows.get(row, ()) if x.weights == weights), None)

    def shown(self, row: str) -> list[Line]:
        """Lines of a row, in the order of `weights`."""
        return [line for line in self.rows[row] if line.weights in self.weights]


def families(audit: Audit, lines: Sequence[Line]) -> list[Family]:
    """Every family of the spec, in the order declared."""
    grouped: dict[str, list[Line]] = {}
    for line in lines:
        if line.estimand.family is not None:
            grouped.setdefault(line.estimand.family, []).append(line)
    found = []
    for name, mine in grouped.items():
        declared = audit.spec.estimands[name]
        rows: dict[str, list[Line]] = {}
        for line in mine:
            rows.setdefault(row_name(line.estimand), []).append(line)
        found.append(
            Family(
                name,
                declared.kind,
                meaning(declared),
                tuple(dict.fromkeys(line.weights for line in shown(mine))),
                {row: tuple(listed) for row, listed in rows.items()},
            )
        )
    return found


def alone(lines: Sequence[Line]) -> list[Line]:
    """Lines of the estimands that stand for themselves."""
    return [line for line in lines if line.estimand.family is None]


def row_name(estimand: Estimand) -> str:
    """The name of a row without that of its family."""
    return estimand.name.removeprefix(f"{estimand.family}.")


def not_run(rows: Sequence[Check], lines: Sequence[Line]) -> list[str]:
    """Checks that were not run and why, one text for all targets and one name for a family."""
    whose = {
        target(line.estimand.name, line.weights): line.estimand.family
        for line in lines
        if line.estimand.family is not None
    }
    about: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        if row.verdict == names.NOT_RUN:
            mine = about.setdefault((row.name, row.message), {})
            mine[whose.get(row.target) or row.target] = None
    return [f"{name}, {words.listed(list(of))}: {why}" for (name, why), of in about.items()]


@dataclass(frozen=True)
class Levels:
    """The parts of a family under one mixture, side by side.

    Attributes
    ----------
    weights : str
    columns : tuple of str
        Rows of the family.
    rows : tuple of (by, level, units, transitions, cells)
        Two texts for each column: the value, and of a mean what it adds to the whole.
    """

    weights: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, int, int, tuple[tuple[str, str], ...]], ...]


def levels(audit: Audit, family: Family) -> list[Levels]:
    """Parts of the cohort by attribute, stratum and replicate, one table for each mixture."""
    own = {lines[0].estimand.name: row for row, lines in family.rows.items()}
    tables: dict[str, dict[tuple[str, str], dict[str, Breakdown]]] = {}
    for row in audit.breakdown_rows:
        if row.name in own and row.by != names.LEAVE_ONE_OUT:
            found = tables.setdefault(row.weights, {})
            found.setdefault((row.by, row.level), {})[own[row.name]] = row
    return [_levels(family, weights, parts) for weights, parts in tables.items()]


def _levels(
    family: Family, weights: str, parts: Mapping[tuple[str, str], Mapping[str, Breakdown]]
) -> Levels:
    some = COLUMNS.get(family.kind, tuple(family.rows))
    columns = tuple(column for column in some if column in family.rows)
    rows = []
    for (by, level), measured in parts.items():
        largest = max(measured.values(), key=lambda row: row.transitions)
        cells = tuple(
            _cell(measured.get(column), family.rows[column][0].places) for column in columns
        )
        rows.append((by, level or NO_LEVEL, largest.units, largest.transitions, cells))
    return Levels(weights, columns, tuple(rows))


def _cell(row: Breakdown | None, places: int | None) -> tuple[str, str]:
    """The value of a part, and what it adds to the whole where that is a mean."""
    if row is None:
        return "—", ""
    found = [row.value, row.contribution if row.statistic == names.MEAN else None]
    value, adds = (
        "" if number is None else words.measured(number, None, row.statistic, places)
        for number in found
    )
    return value or "—", adds
