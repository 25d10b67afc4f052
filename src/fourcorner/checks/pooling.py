"""Check 6: whether a conclusion depends on what strata borrow from each other.

Every mean under every mixture three ways: with no pooling, as the posterior pools, and by design.
Partial pooling pulls small strata toward the others, so it can bias the very sensitivity to weights
that an analysis is about. The conclusion of an interval is its side of zero.

Invariant: the check reads rows and computes nothing; where conclusions differ it says *depends on
pooling*, and it is never a gate. Pinned by `tests/test_pooling.py`.
"""

from collections.abc import Mapping, Sequence

from fourcorner import names
from fourcorner.checks.rows import not_run, shown
from fourcorner.results import Check, Estimate, side, target

NAME = "pooling"
WAYS = {names.UNPOOLED: "unpooled", names.BAYES: "pooled", names.DESIGN: "design"}
SIDES = {-1: "below", 0: "open", 1: "above"}
DEPENDS, AGREE = "depends on pooling", "agree"


def check(rows: Sequence[Estimate]) -> list[Check]:
    """Compare the three ways, for every posterior row about units like these.

    Parameters
    ----------
    rows : sequence of Estimate
        Of all three methods. Design rows count where their cohort is that of the fit, one about
        the cohort itself where there is none about units like these.

    Returns
    -------
    list of Check
        One per mean and mixture, never gated: ``shown``, its message starting with ``depends on
        pooling`` or ``agree`` and giving the three values and intervals, its value being how far
        pooling moves the estimate, native units; ``not_run`` where fewer than two ways have an
        interval.
    """
    means = [row for row in rows if row.statistic == names.MEAN]
    pooled = [row for row in means if row.method == names.BAYES and _about_units(row)]
    return [_compared({method: _row(means, row, method) for method in WAYS}) for row in pooled]


def _about_units(row: Estimate) -> bool:
    return row.population == names.POPULATION_UNITS


def _row(rows: Sequence[Estimate], like: Estimate, method: str) -> Estimate | None:
    """The row of a method with the name, mixture and cohort of another."""
    key = (method, like.name, like.weights, like.cohort)
    same = [row for row in rows if (row.method, row.name, row.weights, row.cohort) == key]
    about_units = [row for row in same if _about_units(row)]
    either = about_units or (same if method == names.DESIGN else [])
    return either[0] if either else None


def _compared(ways: Mapping[str, Estimate | None]) -> Check:
    pooled, flat = ways[names.BAYES], ways[names.UNPOOLED]
    assert pooled is not None
    asked = target(pooled.name, pooled.weights)
    said = ", ".join(f"{WAYS[method]} {_said(row)}" for method, row in ways.items())
    sides = [found for row in ways.values() if (found := side(row)) is not None]
    if len(sides) < 2:
        return not_run(NAME, asked, f"only one way has an interval: {said}", gated=False)
    values = (pooled.value, None if flat is None else flat.value)
    moved = None if None in values else (values[0] or 0.0) - (values[1] or 0.0)
    word = DEPENDS if len(set(sides)) > 1 else AGREE
    return shown(NAME, asked, f"{word}: {said}", value=moved)


def _said(row: Estimate | None) -> str:
    if row is None:
        return "has no row"
    if row.value is None:
        return f"refused ({(row.refused or {}).get('reason')})"
    lies = side(row)
    if row.interval is None or lies is None:
        return f"{row.value:+.4g} without an interval"
    low, high = row.interval
    return f"{row.value:+.4g} [{low:+.4g}, {high:+.4g}] {SIDES[lies]}"
