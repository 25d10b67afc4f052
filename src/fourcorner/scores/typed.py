"""The rows of a table that a spec is about, as texts and codes: the view ``typed``.

Invariant: levels are compared as canonical text, ids are never re-typed. Pinned by
`tests/test_scores.py`.
"""

from collections.abc import Sequence

from fourcorner.errors import TableError
from fourcorner.io.sql import literal
from fourcorner.io.tables import ROW, Table
from fourcorner.sections import nearest
from fourcorner.spec import DataSpec

MANY = 30


def require_columns(table: Table, data: DataSpec) -> None:
    """Raise a `TableError` that names every column that is not there."""
    wanted = {
        "score": [data.score],
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


def _code_sql(table: Table, column: str, levels: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {literal(level)} THEN {code}" for code, level in enumerate(levels))
    return f"CASE {canonical_sql(table, column)} {cases} END"


def factor_columns(data: DataSpec) -> dict[str, tuple[str, ...]]:
    """Column to declared levels for every factor, in the order of the Dataset's dims."""
    return {data.change: (data.before, data.after), **data.channel, **data.replicate}


def select(table: Table, data: DataSpec) -> None:
    """Make the view ``typed``: ids and score as texts, a code for each factor, rows of `where`."""
    transition = text_sql(table, data.transition) if data.transition else "''"
    parts = [ROW, f"{text_sql(table, data.unit)} AS u", f"{transition} AS t"]
    if data.stratum:
        parts.append(f"{canonical_sql(table, data.stratum)} AS s")
    parts += [f"{canonical_sql(table, name)} AS a{i}" for i, name in enumerate(data.attributes)]
    parts.append(f"trim({text_sql(table, data.score)}) AS y")
    for i, (column, levels) in enumerate(factor_columns(data).items()):
        parts.append(f"{_code_sql(table, column, levels)} AS f{i}")
        parts.append(f"{text_sql(table, column)} AS l{i}")
    conditions = [
        f"{canonical_sql(table, column)} IN ({', '.join(literal(level) for level in levels)})"
        for column, levels in data.where.items()
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    table.run(f"CREATE VIEW typed AS SELECT {', '.join(parts)} FROM rows{where}")
