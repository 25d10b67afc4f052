"""Which column of a table could play which part, guessed from names, levels and what varies.

Invariant: no column has two parts, a factor is one that rows differ by and whose name a spec can
take, and a column that is left out of them is told with its reason. Pinned by
`tests/test_doctor.py`.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from fourcorner import names
from fourcorner.doctor.column import Column, has_repeats, has_word, ordered, varying
from fourcorner.io.tables import Table
from fourcorner.scores.typed import text_sql
from fourcorner.sections import canonical
from fourcorner.spec.data import unfit

PAIRS = (
    ("before", "after"),
    ("pre", "post"),
    ("baseline", "candidate"),
    ("control", "treatment"),
    ("initial", "final"),
    ("start", "end"),
    ("old", "new"),
)
TOLD_APART = "the other columns tell rows apart already"
# Words that a telling name has
SCORES = r"margin|score|logprob|logprobs|reward|rating|grade|value"
OUTCOMES = r"correct|preference|winner|win|passed|pass"
UNITS = (
    r"unit|traj|trajectory|task|item|question|problem|prompt|episode|conversation|source|doc|"
    r"document|id"
)
KINDS = r"prompt|source"  # of few values: rather versions of one thing than units
CHANGES = r"state|phase|arm|change|stage|time|version"
REPEATS = r"layout|wave|rep|repeat|replicate|retry|order|swap|seed|run|trial|shuffle"
STRATA = r"target|label|class|gold|stratum|category|topic|domain"
CANDIDATES = r"candidate|option|answer|choice"
TRANSITIONS = r"(transition|step|turn)(_?id)?"  # the whole name: a step_type is no step
TARGETS = r"target|gold|correct|label|key"


@dataclass(frozen=True)
class Guess:
    """Which column could play which part; None or empty where none offers itself.

    Attributes
    ----------
    score, unit, transition, stratum, candidate, target, session, endpoint : str or None
        With a `candidate` each row scores one, and `score` is that score.
    change : (column, before, after) or None
    channel, replicate : mapping of factor to levels
    attributes : tuple of str
    left_out : mapping of column to reason
    """

    score: str | None
    unit: str | None
    transition: str | None = None
    change: tuple[str, str, str] | None = None
    channel: dict[str, tuple[str, ...]] = field(default_factory=dict)
    replicate: dict[str, tuple[str, ...]] = field(default_factory=dict)
    stratum: str | None = None
    attributes: tuple[str, ...] = ()
    candidate: str | None = None
    target: str | None = None
    session: str | None = None
    endpoint: str | None = None
    left_out: dict[str, str] = field(default_factory=dict)


def guess(table: Table, columns: Sequence[Column]) -> Guess:
    """Guess the part of every column.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
    """
    useful = [column for column in columns if column.distinct > 1]
    score = _score(useful)
    unit = _unit([column for column in useful if column.name != score])
    rest = [column for column in useful if column.name not in {score, unit}]
    inside = varying(table, rest, [unit] if unit else [])
    candidate = _named(inside, CANDIDATES)
    constant = [column for column in rest if column not in inside]
    target = _target(table, candidate, constant)
    free = [c for c in inside if c.name != candidate]
    change = _change([column for column in free if column.few])
    free = [c for c in free if change is None or c.name != change[0]]
    transition, endpoint = _places(table, free, unit, change, candidate)
    free = [c for c in free if c.few and c.name not in {transition, endpoint}]
    factors = free
    if transition is not None and unit is not None:
        factors = varying(table, free, [unit, transition])
    session = next((c.name for c in factors if c.name == names.SESSION), None)
    if session is not None and not _is_of_waves(table, session, factors):
        session = None
    factors = [column for column in factors if column.name != session]
    fixed = [unit, transition, change and change[0], candidate]
    factors, left_out = _needed(table, factors, [name for name in fixed if name])
    if score is None:
        score = next(
            (c.name for c in free if left_out.get(c.name) == TOLD_APART and c.numbers), None
        )
        left_out.pop(score or "", None)
    repeats = [column for column in factors if has_word(column.name, REPEATS)]
    stratum = _named([c for c in constant if c.few and not c.blank and c.name != target], STRATA)
    described = [*constant, *free]
    attributes, unnamed = _attributes(
        [
            column
            for column in described
            if column.few
            and column not in factors
            and column.name not in {*left_out, stratum, target, session, score}
        ]
    )
    return Guess(
        score=score,
        unit=unit,
        transition=transition,
        change=change,
        channel={c.name: ordered(c) for c in factors if c not in repeats},
        replicate={c.name: ordered(c) for c in repeats},
        stratum=stratum,
        attributes=attributes,
        candidate=candidate,
        target=target,
        session=session,
        endpoint=endpoint,
        left_out={**left_out, **unnamed},
    )


def _named(columns: Sequence[Column], words: str) -> str | None:
    """The first column with a telling name."""
    return next((column.name for column in columns if has_word(column.name, words)), None)


def _score(columns: Sequence[Column]) -> str | None:
    """A number with a telling name, or one with decimals; pass or fail where there is none.

    In a short table a number with few values has a name that tells, or differs from row to row.
    """
    numeric = [
        c for c in columns if c.numbers > c.filled / 2 and not has_word(c.name, UNITS) and c.filled
    ]
    many = [c for c in numeric if not c.few]
    if (named := _named(many, SCORES)) is not None:
        return named
    if (broken := [c.name for c in many if not _is_whole(c)]) != []:
        return broken[0]
    graded = [c for c in numeric if c.few and c.type == "number" and c.blank < c.filled]
    told = [c for c in graded if has_word(c.name, f"{SCORES}|{OUTCOMES}")]
    if not told:
        told = [c for c in graded if not _is_whole(c) and c.distinct > c.filled / 2]
    return min(told, key=lambda column: column.blank).name if told else None


def _is_whole(column: Column) -> bool:
    return all(re.fullmatch(r"-?[0-9]+", level) for level in column.levels)


def _unit(columns: Sequence[Column]) -> str | None:
    """An id with a telling name, that with the fewest values first; else any text with many.

    A name tells of few values as well: numbered ones come before any text, others after a text
    that stands in several rows.
    """
    ids = [c for c in columns if c.type != "boolean" and (c.type != "number" or _is_whole(c))]
    ids = sorted(ids, key=lambda column: column.distinct)
    many = [c for c in ids if not c.few]
    inner = [c for c in many if c.name == names.ENDPOINT or _is_transition(c.name)]
    outer = [c for c in many if c not in inner]
    few = [c for c in ids if c.few and has_word(c.name, UNITS) and not has_word(c.name, KINDS)]
    few = few[::-1]  # of a task and its family the one with more values
    texts = [c for c in outer if c.type != "number"]
    told = [c for c in outer if has_word(c.name, UNITS)]
    choices = [
        *told,
        *(c for c in few if _is_numbered(c)),
        *(c for c in texts if c.distinct < c.filled),
        *few,
        *texts,
        *(c for c in inner if has_word(c.name, UNITS) or c.type != "number"),
    ]
    return choices[0].name if choices else None


def _is_numbered(column: Column) -> bool:
    return all(re.fullmatch(r"[^0-9]*[0-9]+", level) for level in column.levels)


def _is_transition(name: str) -> bool:
    return re.fullmatch(TRANSITIONS, name, re.IGNORECASE) is not None


def _target(table: Table, candidate: str | None, constant: Sequence[Column]) -> str | None:
    """A column that is the same throughout a unit and holds nothing but candidates."""
    if candidate is None:
        return None
    for column in constant:
        if has_word(column.name, TARGETS):
            of, among = text_sql(table, column.name), text_sql(table, candidate)
            other = f"{of} NOT IN (SELECT {among} FROM rows WHERE {among} IS NOT NULL)"
            if not table.one(f"SELECT count(*) FROM rows WHERE {other}")[0]:
                return column.name
    return None


def _places(
    table: Table,
    columns: Sequence[Column],
    unit: str | None,
    change: tuple[str, str, str] | None,
    candidate: str | None,
) -> tuple[str | None, str | None]:
    """The columns that name the transition within its unit, and the endpoint of a change."""
    endpoint = next((c.name for c in columns if c.name == names.ENDPOINT), None)
    if unit is None:
        return None, None
    telling = (c.name for c in columns if _is_transition(c.name))
    named = next(telling, None)
    if change is None:
        named, endpoint = named or endpoint, None
    if named is not None:
        return named, endpoint
    many = [c for c in columns if not c.few and (c.type != "number" or has_word(c.name, UNITS))]
    keys = [unit, *(c.name for c in columns if c.few), change and change[0], candidate]
    if many and has_repeats(table, [key for key in keys if key]):
        return min(many, key=lambda column: column.distinct).name, endpoint
    return None, endpoint


def _is_of_waves(table: Table, session: str, columns: Sequence[Column]) -> bool:
    """Whether a session goes with waves, each of which is of one."""
    wave = [column for column in columns if column.name == names.WAVE]
    return bool(wave) and not varying(
        table, [column for column in columns if column.name == session], [names.WAVE]
    )


def _needed(
    table: Table, columns: Sequence[Column], fixed: Collection[str]
) -> tuple[list[Column], dict[str, str]]:
    """Columns that tell rows apart, and why the others are no factors."""
    kept: list[Column] = []
    left_out: dict[str, str] = {}
    for column in columns:
        if column.blank:
            left_out[column.name] = "some rows are blank"
        elif why := unfit("channel", column.name):
            left_out[column.name] = f"its name is {why}" if "word" in why else why
        else:
            kept.append(column)
    for column in reversed(kept):
        others = [other for other in kept if other is not column]
        keys = [*fixed, *(other.name for other in others)]
        if fixed and not has_repeats(table, keys):
            left_out[column.name] = TOLD_APART
            kept = others
    return kept, left_out


def _attributes(columns: Sequence[Column]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Columns whose names a spec can take as attributes, and why it cannot take the others."""
    whys = {column.name: unfit("attributes", column.name) for column in columns}
    fit = tuple(name for name, why in whys.items() if not why)
    return fit, {name: f"its name is {why}" for name, why in whys.items() if why}


def _change(columns: Sequence[Column]) -> tuple[str, str, str] | None:
    """Column, before and after: two levels that are known as a pair, or a telling name."""
    two = [column for column in columns if column.distinct == 2]
    for column in two:
        by_word = {canonical(level).lower(): level for level in column.levels}
        for first, second in PAIRS:
            if {first, second} == set(by_word):
                return column.name, by_word[first], by_word[second]
    for column in two:
        if has_word(column.name, CHANGES):
            first, second = ordered(column)
            return column.name, first, second
    return None
