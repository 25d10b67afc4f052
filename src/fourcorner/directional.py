"""Directional criteria: whether all of some estimates lie on their declared sides of zero.

A criterion is the conjunction of its parts. A part holds where its interval lies on the declared
side of zero and fails where it lies on the other; an interval around zero, and a row without one,
leave it open. All parts hold: ``supported``. One fails: ``contradicted``. Otherwise
``unresolved``, which is neither. Sizes never enter, so the parts may be on scales that nothing
links.

Invariant: a verdict is a function of the rows that it names. By design it comes under every mixture
and for every cohort, by the model where one of its rows has an interval there. Pinned by
`tests/test_criteria.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from fourcorner import names
from fourcorner.errors import OptionError
from fourcorner.results import Criterion, CriterionPart, Estimate, side
from fourcorner.spec.criteria import Signs

Setting = tuple[str, str, str, str]  # weights, method, population, cohort

METHODS = (names.DESIGN, names.BAYES, names.BAYESIAN_BOOTSTRAP)
SIDES = {names.ABOVE: 1, names.BELOW: -1}
POINTWISE = (
    "each interval is pointwise, so nothing is said of how often the whole conjunction is right"
)
TOGETHER = "the intervals hold together at their level"


def verdicts(criteria: Mapping[str, Signs], rows: Sequence[Estimate]) -> list[Criterion]:
    """Judge every criterion under every mixture, method and cohort.

    Parameters
    ----------
    criteria : mapping of name to mapping of row to "+" or "-"
        As `Spec.criteria`.
    rows : sequence of Estimate

    Returns
    -------
    list of Criterion

    Raises
    ------
    OptionError
        If two rows have one name, mixture, method and cohort.

    Examples
    --------
    >>> about = dict(weights="equal", method="design", population="units", cohort="contrast")
    >>> about |= dict(statistic="mean", interval_kind="percentile", level=0.95)
    >>> about |= dict(units=9, transitions=9)
    >>> rows = [
    ...     Estimate(name="a", value=-1.0, interval=(-2.0, -0.5), **about),
    ...     Estimate(name="b", value=0.5, interval=(-1.0, 2.0), **about),
    ... ]
    >>> found = verdicts({"both": {"a": "-", "b": "-"}, "one": {"a": "-"}}, rows)
    >>> [criterion.verdict for criterion in found]
    ['unresolved', 'supported']
    """
    settings: dict[Setting, dict[str, Estimate]] = {}
    for row in rows:
        if row.method in METHODS:
            key = (row.weights, row.method, row.population, row.cohort)
            found = settings.setdefault(key, {})
            if row.name in found:
                said = f"{row.name} ({', '.join(key)})"
                raise OptionError(f"two rows of {said}; judge one level and one table at a time")
            found[row.name] = row
    return [
        _criterion(name, signs, key, found)
        for name, signs in criteria.items()
        for key, found in settings.items()
        if key[1] == names.DESIGN or _has_interval(signs, found)
    ]


def _has_interval(signs: Signs, found: Mapping[str, Estimate]) -> bool:
    """Whether the model says anything of a row, but what was observed."""
    rows = [found[name] for name in signs if name in found]
    return any(row.interval is not None or row.refused is not None for row in rows)


def _criterion(name: str, signs: Signs, key: Setting, found: Mapping[str, Estimate]) -> Criterion:
    parts = [_part(row, sign, found.get(row)) for row, sign in signs.items()]
    weights, method, population, cohort = key
    return Criterion(
        name=name,
        weights=weights,
        method=method,
        population=population,
        cohort=cohort,
        verdict=_verdict({part.verdict for part in parts}),
        parts=tuple(parts),
        notes=tuple(_notes(parts, found)),
    )


def _part(name: str, sign: str, row: Estimate | None) -> CriterionPart:
    where = side(row)
    verdict = names.OPEN
    if where:
        verdict = names.HOLDS if where == SIDES[sign] else names.FAILS
    return CriterionPart(
        name=name,
        sign=sign,
        statistic=None if row is None else row.statistic,
        verdict=verdict,
        value=None if row is None else row.value,
        interval=None if row is None else row.interval,
    )


def _verdict(of_parts: set[str]) -> str:
    if names.FAILS in of_parts:
        return names.CONTRADICTED
    return names.UNRESOLVED if names.OPEN in of_parts else names.SUPPORTED


def _notes(parts: Iterable[CriterionPart], found: Mapping[str, Estimate]) -> Iterator[str]:
    """Why parts are open where no interval says so, and what the intervals are together."""
    kinds = set()
    for part in parts:
        row = found.get(part.name)
        if row is None:
            yield f"{part.name} has no row here"
        elif row.refused is not None:
            yield f"{part.name} is refused: {row.refused['message']}"
        elif row.interval is None:
            yield f"{part.name} has no interval"
        else:
            kinds.add(row.interval_kind)
    if kinds:
        yield TOGETHER if kinds == {names.SIMULTANEOUS} else POINTWISE
