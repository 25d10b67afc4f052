"""What each part of the cohort says: breakdowns of the mean-like design estimates.

An estimate is broken down by each level of each replicate factor (cells of that level only), by
stratum, by each attribute, and by leaving out one unit at a time (`leave_one_out`). A part is asked
for as any estimand is, with `where`, or on the scores of one replicate level alone, so every part
has the engine's own refusals, notes and intervals, from the same draws.

Invariant: a part is the same computation as the whole. Pinned by `tests/test_breakdowns.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fourcorner import names, scores
from fourcorner.design import engine, refusals
from fourcorner.design.applied import Applied, applied
from fourcorner.design.cases import population
from fourcorner.design.cohort import Sample
from fourcorner.design.contributions import contributions
from fourcorner.design.engine import DRAWS, LEVEL
from fourcorner.design.leave_one_out import leave_one_out
from fourcorner.design.options import Options
from fourcorner.estimands import Estimand
from fourcorner.results import Breakdown, Estimate
from fourcorner.weights import TargetWeights

Placed = list[tuple[int, Breakdown]]
Numbered = Sequence[tuple[int, Estimand]]

CHEAP = 2**27  # draws times units: beyond it breakdowns have no intervals
MANY = 20  # levels of an attribute that are worth a row each
COMPLETE = "of what is complete at this level, which need not be complete at the others"
REDUCED = "values by {factor} need not average to the value of scores averaged over it first"


@dataclass(frozen=True)
class Wanted:
    """A part to be estimated: an estimand by its place, and what is taken of it."""

    place: int
    by: str
    level: str
    estimand: Estimand


def breakdowns(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    resampling: str = names.PLAIN,
    interval: str | None = None,
) -> list[Breakdown]:
    """Break down every mean and share under every mixture.

    Parameters
    ----------
    data, estimands, weights
        As for `fourcorner.design.engine.estimate`. Medians and trimmed means are not broken down.
    draws, seed, level, resampling, interval
        As there; with the same draws and seed, a part's draws are the whole's. Intervals are
        pointwise. Beyond 2²⁷ draws times units there are none, and a note says so.

    Returns
    -------
    list of Breakdown
        Estimands in order. A factor that an estimand fixes itself (`wave`, `where`, `between`) has
        no breakdown there, and what compares levels has none by them. A row without a value says
        why in its notes. By ``leave_one_out`` there are two rows, for the least and the greatest
        value.
    """
    options = Options(draws, seed, level, resampling, interval)
    if draws * data.units > CHEAP:
        options = replace(options, draws=0)
    asked = list(enumerate(item for item in estimands if item.statistic not in refusals.RANKED))
    found = _by_replicate(data, asked, weights, options)
    found += _by_stratum(data, asked, weights, options)
    found += _by_attribute(data, asked, weights, options)
    values = dict(
        zip(
            (place for place, _ in asked),
            applied(data, [estimand for _, estimand in asked]),
            strict=True,
        )
    )
    found = _with_contributions(data, asked, values, weights, found)
    for place, estimand in asked:
        left = leave_one_out(data, estimand, values[place], weights, options)
        found += [(place, row) for row in left]
    return [row for _, row in sorted(found, key=lambda pair: pair[0])]


def _with_contributions(
    data: Sample,
    asked: Numbered,
    values: Mapping[int, Applied],
    weights: Sequence[TargetWeights],
    found: Placed,
) -> Placed:
    """Rows by attribute and stratum with what each level adds to the whole."""
    listed = {row.by for _, row in found} & data.levels.keys()
    few = [name for name in data.levels if name in listed and not _is_many(data, name)]
    parts = {
        place: contributions(data, estimand, values[place], weights, few)
        for place, estimand in asked
    }
    return [
        (place, replace(row, contribution=parts[place].get((row.weights, row.by, row.level))))
        for place, row in found
    ]


def _by_replicate(
    data: Sample, asked: Numbered, weights: Sequence[TargetWeights], options: Options
) -> Placed:
    """By each level of each replicate factor, on the scores of that level alone."""
    found: Placed = []
    for factor in scores.replicate_dims(data.scores):
        notes = [COMPLETE] if data.scores.sizes[factor] > 1 else []
        if names.OPTION_SCORE in data.scores and factor != names.WAVE:
            notes.append(REDUCED.format(factor=factor))
        for code, named in enumerate(map(str, data.scores[factor].values)):
            alone = replace(data, scores=data.scores.isel({factor: [code]}))
            wanted = [
                Wanted(place, factor, named, part)
                for place, estimand in asked
                if (part := _in_replicate(estimand, factor, named)) is not None
            ]
            found += _estimated(alone, wanted, weights, options, notes)
    return found


def _in_replicate(estimand: Estimand, factor: str, named: str) -> Estimand | None:
    """The estimand of one replicate level; none of what it compares, leaves out or has alone."""
    if estimand.measure is not None and factor in estimand.measure.compared[:1]:
        return None
    if factor != names.WAVE:
        return estimand
    if estimand.measure is not None and estimand.measure.of_retries:
        return None
    if not estimand.wave:
        return estimand
    if named not in estimand.wave or len(estimand.wave) == 1:
        return None
    return replace(estimand, wave=())


def _by_stratum(
    data: Sample, asked: Numbered, weights: Sequence[TargetWeights], options: Options
) -> Placed:
    """By stratum; a stratum's own value is the same under every mixture."""
    wanted = list(_levels(data, asked, [names.STRATUM]))
    own = [TargetWeights(names.EMPIRICAL, None)]
    about = {mixture.name: population(mixture, options.resampling) for mixture in weights}
    return [
        (place, replace(row, weights=name, population=whom))
        for place, row in _estimated(data, wanted, own, options)
        for name, whom in about.items()
    ]


def _by_attribute(
    data: Sample, asked: Numbered, weights: Sequence[TargetWeights], options: Options
) -> Placed:
    """By each attribute, or one row that says why not where it has very many levels."""
    attributes = [name for name in data.levels if name != names.STRATUM]
    few = [name for name in attributes if not _is_many(data, name)]
    found = _estimated(data, list(_levels(data, asked, few)), weights, options)
    for name in (name for name in attributes if name not in few):
        said = f"{len(data.levels[name])} levels"
        wanted = [Wanted(p, name, said, item) for p, item in asked if name not in _fixed(item)]
        note = f"not broken down: more than {MANY} levels; ask for one with where"
        found += [
            (place, replace(row, value=None, interval=None, notes=(note,)))
            for place, row in _estimated(data, wanted, weights, replace(options, draws=0))
        ]
    return found


def _is_many(data: Sample, attribute: str) -> bool:
    """Whether an attribute has too many levels for a row each; a stratum never has."""
    return attribute != names.STRATUM and len(data.levels[attribute]) > MANY


def _levels(data: Sample, asked: Numbered, attributes: Sequence[str]) -> Iterator[Wanted]:
    for place, estimand in asked:
        for attribute in attributes:
            if attribute in data.levels and attribute not in _fixed(estimand):
                for named in data.levels[attribute]:
                    where = {**estimand.where, attribute: (named,)}
                    yield Wanted(place, attribute, named, replace(estimand, where=where))


def _fixed(estimand: Estimand) -> set[str]:
    """Attributes that an estimand fixes itself."""
    return {*estimand.where, *(estimand.between or ())[:1]}


def _estimated(
    data: Sample,
    wanted: Sequence[Wanted],
    weights: Sequence[TargetWeights],
    options: Options,
    notes: Sequence[str] = (),
) -> Placed:
    """The engine's rows of all parts, from one pass through the draws."""
    rows = iter(engine.run(data, [part.estimand for part in wanted], weights, options))
    undrawn = [] if options.draws else [f"no interval: draws times units are more than {CHEAP:,}"]
    return [
        (part.place, _row(next(rows), part.by, part.level, undrawn, notes))
        for part in wanted
        for _ in weights
    ]


def _row(
    row: Estimate, by: str, level: str, undrawn: Sequence[str], notes: Sequence[str]
) -> Breakdown:
    if row.refused is not None:
        told = [f"no value: {row.refused['message']}"]
    else:
        told = [*(undrawn or row.notes), *notes]
    return Breakdown(
        name=row.name,
        statistic=row.statistic,
        weights=row.weights,
        population=row.population,
        cohort=row.cohort,
        by=by,
        level=level,
        value=row.value,
        interval=row.interval,
        interval_kind=row.interval_kind,
        interval_level=row.level,
        units=row.units,
        transitions=row.transitions,
        undefined_draws=row.undefined_draws,
        count=None if row.refused else row.count,
        resampling=row.resampling,
        notes=tuple(told),
    )
