"""What is wrong with a table, each kind of fault with its column, count and first rows.

Invariant: a fault is worded once for all rows that have it. Pinned by `tests/test_scores.py`.
"""

from collections.abc import Iterator

import pandas as pd

from fourcorner.io.sql import INFINITE, NUMBER, literal
from fourcorner.io.tables import ROW, Table
from fourcorner.scores.typed import MANY, canonical_sql, factor_columns
from fourcorner.sections import nearest
from fourcorner.spec import DataSpec

EXAMPLES = 3
BLANK = r"\s*"


def where_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """A level to keep that no row has is a slip, not an empty choice."""
    for column, levels in data.where.items():
        level = canonical_sql(table, column)
        wanted = ", ".join(literal(item) for item in levels)
        kept = table.frame(
            f"SELECT DISTINCT {level} AS level FROM rows WHERE {level} IN ({wanted})"
        )
        absent = [item for item in levels if item not in set(kept["level"])]
        if absent:
            rows = f"SELECT DISTINCT {level} AS level FROM rows WHERE level IS NOT NULL"
            found = table.frame(f"{rows} ORDER BY level LIMIT {MANY}")["level"].tolist()
            yield (
                f"where: {column} has no level {absent[0]!r}{nearest(absent[0], found)}; it has "
                f"{', '.join(repr(item) for item in found)}{', …' if len(found) == MANY else ''}"
            )


def blank(short: str) -> str:
    """SQL for a short column that holds nothing."""
    return f"({short} IS NULL OR regexp_full_match({short}, '{BLANK}'))"


def value_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """Scores that are no numbers, ids and strata that are empty."""
    missing = f"({blank('y')} OR lower(y) = 'nan')"
    number = f"regexp_full_match(y, '{NUMBER}')"
    infinite = (
        f"(regexp_full_match(y, '{INFINITE}') OR ({number} AND isinf(TRY_CAST(y AS DOUBLE))))"
    )
    checks = [
        (blank("u"), "u", f"{data.unit}: an empty unit id"),
        ("contains(u, chr(0))", "u", f"{data.unit}: an id with a null character"),
        (infinite, "y", f"{data.score}: an infinite score"),
        (
            f"NOT {missing} AND NOT {infinite} AND NOT {number}",
            "y",
            f"{data.score}: a score that is not a number (blank or NaN means not measured)",
        ),
    ]
    if data.transition:
        checks.append((blank("t"), "t", f"{data.transition}: an empty id"))
        checks.append(("contains(t, chr(0))", "t", f"{data.transition}: a null character"))
    if data.stratum:
        checks.append((blank("s"), "s", f"{data.stratum}: an empty stratum"))
    counted = ", ".join(f"count(*) FILTER ({condition})" for condition, _, _ in checks)
    counts = table.one(f"SELECT {counted} FROM typed")
    for (condition, column, message), count in zip(checks, counts, strict=True):
        if count:
            yield f"{message}: {at_rows(table, condition, column, count)}"


def shown(value: str | float | None) -> str:
    """A value as a message quotes it."""
    return "nothing" if pd.isna(value) or value == "" else repr(value)


def at_rows(table: Table, condition: str, column: str, count: int) -> str:
    """How many rows have a fault, and the first of them."""
    rows = table.frame(
        f"SELECT {ROW}, {column} AS value FROM typed WHERE {condition} ORDER BY {ROW} "
        f"LIMIT {EXAMPLES}"
    )
    values = [
        f"{table.place(row)} has {shown(value)}"
        for row, value in zip(rows[ROW], rows["value"], strict=True)
    ]
    more = ", …" if count > len(values) else ""
    return f"{count} row(s); {', '.join(values)}{more}"


def level_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """Levels that are not declared, and declared ones that are nowhere."""
    for i, (column, levels) in enumerate(factor_columns(data).items()):
        found = table.frame(
            f"SELECT l{i} AS level, f{i} AS code, count(*) AS n, min({ROW}) AS first "
            f"FROM typed GROUP BY ALL ORDER BY first"
        )
        unknown = found[found["code"].isna()]
        few = [
            f"{shown(level)} ({n} row(s), first {table.place(row)})"
            for level, n, row in zip(
                unknown["level"].head(5),
                unknown["n"].head(5),
                unknown["first"].head(5),
                strict=True,
            )
        ]
        if few:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            yield (
                f"{column}: level(s) that the spec does not declare: {', '.join(few)}{more}; "
                f"declared are {list(levels)}. Declare them, or keep rows with [data] where"
            )
        seen = set(found["code"].dropna().astype(int))
        absent = [level for code, level in enumerate(levels) if code not in seen]
        if absent:
            near = nearest(absent[0], unknown["level"].dropna().tolist())
            yield f"{column}: declared level(s) nowhere in the data: {absent}{near}"


def constancy_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """A stratum belongs to a unit, an attribute to a transition, a replicate to no unit."""
    if data.stratum:
        yield from _changing(table, "s", data.stratum, "unit")
    owner = "transition" if data.transition else "unit"
    for i, name in enumerate(data.attributes):
        yield from _changing(table, f"a{i}", name, owner)
    yield from _replicate_faults(table, data)


def _changing(table: Table, short: str, column: str, owner: str) -> Iterator[str]:
    """A column with two values in one owner, blank being a value of an attribute."""
    keys = "u, t" if owner == "transition" else "u"
    value = f"coalesce({short}, '')"
    counted = f"NOT {blank('u')}" + (f" AND NOT {blank(short)}" if short == "s" else "")
    varying = table.frame(
        f"SELECT {keys}, list(DISTINCT {value} ORDER BY {value}) AS found FROM typed "
        f"WHERE {counted} GROUP BY {keys} HAVING count(DISTINCT {value}) > 1 ORDER BY {keys}"
    )
    if len(varying):
        first = varying.iloc[0]
        inside = f", transition {first['t']!r}," if owner == "transition" else ""
        values = " and ".join(shown(item) for item in list(first["found"])[:EXAMPLES])
        yield (
            f"{column} changes within {len(varying)} {owner}(s), e.g. unit {first['u']!r}{inside} "
            f"has {values}; is one id used for different {owner}s?"
        )


def _replicate_faults(table: Table, data: DataSpec) -> Iterator[str]:
    place = 1 + len(data.channel)
    for i, (name, levels) in enumerate(data.replicate.items(), place):
        most = table.one(
            f"SELECT max(n) FROM (SELECT count(DISTINCT f{i}) AS n FROM typed GROUP BY u)"
        )
        if len(levels) > 1 and most[0] == 1:
            yield (
                f"{name} never varies within a unit, so it is no replicate to average over: "
                f"declare it in attributes"
            )
