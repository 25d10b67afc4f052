"""Directional criteria as the page and the terminal take them.

Invariant: every verdict is told; a design verdict on a contrast's own cases that says what the one
on the fit's cohort says is told once. Pinned by `tests/test_criteria.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import words
from fourcorner.results import Criterion, CriterionPart

MARKS = {names.HOLDS: "holds", names.FAILS: "on the other side", names.OPEN: "open"}
WHOSE = {
    (names.DESIGN, names.COHORT_CONTRAST): "design, own cases",
    (names.DESIGN, names.COHORT_JOINT): "design",
    (names.DESIGN, names.COHORT_OBSERVED): "design",
}


@dataclass(frozen=True)
class Told:
    """A verdict, in words.

    Attributes
    ----------
    name, weights, engine, verdict : str
    parts : tuple of (str, str, str)
        Of each estimate: its name with the sign it is to have, what it is, and whether that holds.
    chance : str
        Posterior probability that all signs are as declared; empty by design.
    notes : tuple of str
    """

    name: str
    weights: str
    engine: str
    verdict: str
    parts: tuple[tuple[str, str, str], ...]
    chance: str
    notes: tuple[str, ...]


def told(audit: Audit) -> list[Told]:
    """Every verdict, in the order of the spec."""
    return [
        Told(
            row.name,
            row.weights,
            _engine(row, fitted=audit.tree is not None),
            row.verdict,
            tuple(map(_part, row.parts)),
            _chance(audit, row),
            row.notes,
        )
        for row in _once(audit.criterion_rows)
    ]


def sentences(audit: Audit) -> Iterator[str]:
    """One for each criterion, its verdicts by mixture and engine."""
    found = told(audit)
    for name in dict.fromkeys(row.name for row in found):
        mine = [row for row in found if row.name == name]
        verdicts: dict[str, list[str]] = {}
        for row in mine:
            verdicts.setdefault(row.verdict, []).append(f"{row.weights} ({row.engine})")
        said = [f"{verdict} under {words.listed(where)}" for verdict, where in verdicts.items()]
        yield f"The criterion {name} is {words.listed(said)}."


def _once(rows: list[Criterion]) -> Iterator[Criterion]:
    """Without those on own cases that say what the fit's cohort says."""
    fit = [row for row in rows if row.method == names.DESIGN and _of_fit(row)]
    known = [(row.name, row.weights, row.verdict, row.parts) for row in fit]
    for row in rows:
        same = (row.name, row.weights, row.verdict, row.parts) in known
        if row.method != names.DESIGN or _of_fit(row) or not same:
            yield row


def _of_fit(row: Criterion) -> bool:
    return row.cohort != names.COHORT_CONTRAST


def _engine(row: Criterion, *, fitted: bool) -> str:
    if row.method != names.DESIGN:
        cohort = row.population == names.POPULATION_COHORT
        return "posterior of this cohort" if cohort else "posterior"
    return WHOSE[row.method, row.cohort] if fitted else "design"


def _part(part: CriterionPart) -> tuple[str, str, str]:
    wanted = "> 0" if part.sign == names.ABOVE else "< 0"
    found = "not estimated"
    if part.value is not None:
        found = words.measured(part.value, part.interval, part.statistic or names.MEAN)
    return f"{part.name} {wanted}", found, MARKS[part.verdict]


def _chance(audit: Audit, row: Criterion) -> str:
    """How probable the whole conjunction is."""
    of_fit = row.method == names.BAYES and row.population == names.POPULATION_UNITS
    if not of_fit and row.method != names.BAYESIAN_BOOTSTRAP:
        return ""
    found = [
        one.value
        for one in audit.probability_rows
        if (one.name, one.weights, one.event) == (row.name, row.weights, names.CRITERION)
    ]
    return words.probability(found[0]) if found else ""
