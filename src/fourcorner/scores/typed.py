"""The rows of a table that a spec is about, as texts, codes and numbers, in SQL.

Two forms: ``coded`` is read once and holds what a Dataset is made of; the view ``typed`` numbers
the rows and keeps their texts, to find and word what is wrong with them.

Invariant: levels are compared as canonical text, ids are never re-typed, and a score that
``typed`` calls no number is infinite in ``coded``. Pinned by `tests/test_scores.py`.
"""

from collections.abc import Sequence

from fourcorner import names
from fourcorner.errors import TableError
from fourcorner.io.sources import ROW
from fourcorner.io.sql import MISSING, literal
from fourcorner.io.tables import Table
from fourcorner.sections import nearest
from fourcorner.spec import DataSpec

MANY = 30
FEW = 8
SPACE = r" \t\n\v\f\r"  # what DuckDB's casts pass over
CERTAIN = 1e-6  # a log-probability may be above zero by its rounding
EXACT = {"DOUBLE", "FLOAT", "TINYINT", "SMALLINT", "INTEGER", "BIGINT"}


def require_columns(table: Table, data: DataSpec) -> None:
    """Raise a `TableError` that names every column that is not there."""
    wanted = {
        "score": [data.score],
        names.OPTION_SCORE: [] if data.score else list(data.score_columns),
        "candidate": [data.candidate],
        "target": [data.target],
        "censored": [data.censored],
        "session": [data.session],
        "endpoint": [data.endpoint],
        "unit": [data.unit],
        "change": [data.change],
        "transition": [data.transition],
        "stratum": [data.stratum],
        "channel": list(data.channel),
        "replicate": list(data.replicate),
        "attributes": list(data.attributes),
        "where": list(data.where),
    }
    faults = [
        f"{part}: no column {column!r}{nearest(column, table.columns)}"
        for part, columns in wanted.items()
        for column in columns
        if column is not None and column not in table.columns
    ]
    if faults:
        more = f" and {len(table.columns) - MANY} more" if len(table.columns) > MANY else ""
        faults[-1] += f". The columns are {', '.join(table.columns[:MANY])}{more}"
        raise TableError(faults, table.source)


def text_sql(table: Table, column: str) -> str:
    """A column as text; a floating NaN is nothing there, and a single is its exact double."""
    name = table.column(column)
    if table.types[column] in {"FLOAT", "DOUBLE"}:
        return f"nullif(CAST(CAST({name} AS DOUBLE) AS VARCHAR), 'nan')"
    return f"CAST({name} AS VARCHAR)"


def canonical_sql(table: Table, column: str) -> str:
    """The text of `sections.canonical`, in SQL."""
    text = text_sql(table, column)
    return (
        f"CASE WHEN lower({text}) IN ('true', 'false') THEN lower({text}) "
        rf"WHEN regexp_full_match({text}, '-?[0-9]+\.0+') "
        rf"THEN regexp_replace({text}, '\.0+$', '') ELSE {text} END"
    )


def code_sql(table: Table, column: str, levels: Sequence[str], *, exact: bool = False) -> str:
    """The place of a value among levels, NULL where it is none of them.

    An exact text is looked for first and another spelling of a level only then, or not at all. A
    column that repeats its texts by reference, as Parquet does, is fastest by hashing each of them
    once; a few levels are fastest compared in turn.
    """
    if table.origin.kind == "parquet" or len(levels) > FEW:
        kind = f"ENUM({', '.join(literal(level) for level in levels)})"
        form = f"enum_code(TRY_CAST({{}} AS {kind}))::INTEGER"
    else:
        cases = " ".join(f"WHEN {literal(level)} THEN {i}" for i, level in enumerate(levels))
        form = f"CASE {{}} {cases} END"
    plain = form.replace("{}", text_sql(table, column))
    spelt = form.replace("{}", canonical_sql(table, column))
    return plain if exact else f"coalesce({plain}, {spelt})"


def number_sql(table: Table, column: str) -> str:
    """A score as a double: NULL or NaN where it is missing, infinite where it is no number."""
    if table.types[column] in EXACT:
        return f"CAST({table.column(column)} AS DOUBLE)"
    if table.types[column] == "BOOLEAN":
        return "CAST('inf' AS DOUBLE)"
    text, infinite = text_sql(table, column), "CAST('inf' AS DOUBLE)"
    missing = f"regexp_full_match({text}, '{MISSING}')"
    odd = f"CASE WHEN {text} IS NULL OR {missing} THEN NULL ELSE {infinite} END"
    number = f"coalesce(TRY_CAST({text} AS DOUBLE), {odd})"
    return f"CASE WHEN contains({text}, '_') THEN {infinite} ELSE {number} END"


def trimmed_sql(table: Table, column: str) -> str:
    """A score as text without the white space around it."""
    return f"trim({text_sql(table, column)}, E'{SPACE}')"


def score_sql(table: Table, data: DataSpec) -> str:
    """The number in ``coded``: a score, or the difference of a binary readout's."""
    numbers = [number_sql(table, column) for column in data.score_columns]
    if len(numbers) == 1:
        return numbers[0]
    odd = " OR ".join(f"({above_one(number)})" for number in numbers)  # an infinite one too
    return f"CASE WHEN {odd} THEN CAST('inf' AS DOUBLE) ELSE {' - '.join(numbers)} END"


def size_sql(table: Table, data: DataSpec) -> str:
    """How large the numbers are whose difference a binary readout's score is."""
    return " + ".join(f"abs({number_sql(table, column)})" for column in data.score_columns)


def above_one(number: str) -> str:
    """SQL for a number that is the logarithm of no probability, but for a single's rounding."""
    return f"{number} > {CERTAIN} AND NOT isnan({number}) OR isinf({number})"


def factor_columns(data: DataSpec) -> dict[str, tuple[str, ...]]:
    """Column to declared levels for every factor, in the order of the Dataset's dims."""
    change = {} if data.change is None else {data.change: (data.before, data.after)}
    return {**change, **data.channel, **data.replicate}


def where_sql(table: Table, data: DataSpec) -> str:
    """The condition of [data] where, with its keyword; nothing where it is not declared."""
    kept = [f"{code_sql(table, name, levels)} IS NOT NULL" for name, levels in data.where.items()]
    return f" WHERE {' AND '.join(kept)}" if kept else ""


def select(table: Table, data: DataSpec) -> None:
    """Make the view ``typed`` of a kept table: ids and scores as texts, a code for each factor.

    Its columns are ``u`` unit, ``t`` transition, ``s`` stratum, ``g`` target, ``c`` candidate,
    ``x`` whether censored (1 or 0), ``a0`` … attributes, ``y0`` … scores, and ``f0`` … codes and
    ``l0`` … texts of the factors.
    """
    parts = [ROW, *id_parts(table, data)]
    parts += [
        f"{canonical_sql(table, column)} AS {short}" for short, column in labels(data).items()
    ]
    parts += [f"{trimmed_sql(table, name)} AS y{i}" for i, name in enumerate(data.score_columns)]
    if data.censored:
        parts.append(f"{code_sql(table, data.censored, FLAGS)} % 2 AS x")
        parts.append(f"{text_sql(table, data.censored)} AS xl")
    for i, (column, levels) in enumerate(factor_columns(data).items()):
        parts.append(f"{code_sql(table, column, levels)} AS f{i}")
        parts.append(f"{text_sql(table, column)} AS l{i}")
    table.run(f"CREATE VIEW typed AS SELECT {', '.join(parts)} FROM rows{where_sql(table, data)}")


FLAGS = ("false", "true", "0", "1")


def id_parts(table: Table, data: DataSpec) -> list[str]:
    """Unit and transition as they are written."""
    transition = text_sql(table, data.transition) if data.transition else "''"
    return [f"{text_sql(table, data.unit)} AS u", f"{transition} AS t"]


def labels(data: DataSpec) -> dict[str, str]:
    """Short name to column of everything that belongs to a unit, transition or option."""
    named = {"s": data.stratum, "g": data.target, "c": data.candidate}
    found = {short: column for short, column in named.items() if column}
    return {**found, **{f"a{i}": name for i, name in enumerate(data.attributes)}}
