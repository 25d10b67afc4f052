"""What is wrong with a table, each kind of fault with its column, count and first rows.

Invariant: a fault is worded once for all rows that have it. Pinned by `tests/test_scores.py`.
"""

from collections.abc import Iterator

import pandas as pd

from fourcorner.io.sources import ROW
from fourcorner.io.sql import INFINITE, NUMBER, literal
from fourcorner.io.tables import Table
from fourcorner.scores.typed import CERTAIN, MANY, canonical_sql, factor_columns
from fourcorner.sections import canonical, nearest
from fourcorner.spec import DataSpec

EXAMPLES = 3
BLANK = r"\s*"
NO_LOGARITHM = (
    "a log-probability above 0; of probabilities take the logarithm with [data.derive], of other "
    'scores derive the difference and declare it as option_score = "…"'
)
NOTHING = ("nan", "NaN", "NAN", "NaT", "NA", "N/A", "<NA>", "None", "NULL", "Null", "null")


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


def means_nothing(short: str) -> str:
    """SQL for an id that is how some program writes one that is not there."""
    return f"trim({short}) IN ({', '.join(literal(word) for word in NOTHING)})"


def value_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """Scores that are no numbers, flags that are no truth values, ids and labels that are empty."""
    checks = list(_value_checks(data))
    counted = ", ".join(f"count(*) FILTER ({condition})" for condition, _, _ in checks)
    counts = table.one(f"SELECT {counted} FROM typed")
    for (condition, column, message), count in zip(checks, counts, strict=True):
        if count:
            yield f"{message}: {at_rows(table, condition, column, count)}"


def _value_checks(data: DataSpec) -> Iterator[tuple[str, str, str]]:
    """Condition of a fault, column that shows it, and its words."""
    yield blank("u"), "u", f"{data.unit}: an empty unit id"
    yield "contains(u, chr(0))", "u", f"{data.unit}: an id with a null character"
    lost = "an id that reads as one that is not there; drop such rows, or spell it otherwise"
    yield means_nothing("u"), "u", f"{data.unit}: {lost}"
    for i, column in enumerate(data.score_columns):
        yield from _number_checks(f"y{i}", column)
        if data.is_readout:
            number = f"TRY_CAST(y{i} AS DOUBLE)"
            above = f"{number} > {CERTAIN} AND NOT isnan({number}) AND NOT isinf({number})"
            yield above, f"y{i}", f"{column}: {NO_LOGARITHM}"
    if data.transition:
        yield blank("t"), "t", f"{data.transition}: an empty id"
        yield "contains(t, chr(0))", "t", f"{data.transition}: a null character"
        yield means_nothing("t"), "t", f"{data.transition}: {lost}"
    labels = {"s": (data.stratum, "stratum"), "g": (data.target, "target")}
    for short, (name, what) in {**labels, "c": (data.candidate, "candidate")}.items():
        if name:
            yield blank(short), short, f"{name}: an empty {what}"
    if data.censored:
        scored = " AND ".join(f"NOT {_missing(f'y{i}')}" for i in range(len(data.score_columns)))
        yield f"x IS NULL AND {scored}", "xl", f"{data.censored}: neither true nor false"


def _missing(short: str) -> str:
    return f"({blank(short)} OR lower({short}) = 'nan')"


def _number_checks(short: str, column: str) -> Iterator[tuple[str, str, str]]:
    number = f"regexp_full_match({short}, '{NUMBER}')"
    infinite = (
        f"(regexp_full_match({short}, '{INFINITE}') OR "
        f"({number} AND isinf(TRY_CAST({short} AS DOUBLE))))"
    )
    yield infinite, short, f"{column}: an infinite score"
    yield (
        f"NOT {_missing(short)} AND NOT {infinite} AND NOT {number}",
        short,
        f"{column}: a score that is not a number (blank or NaN means not measured)",
    )


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
    declared = [
        (column, levels, f"l{i}", f"f{i}")
        for i, (column, levels) in enumerate(factor_columns(data).items())
    ]
    if data.candidate and data.candidates:
        cases = " ".join(f"WHEN {literal(o)} THEN {i}" for i, o in enumerate(data.candidates))
        declared.append((data.candidate, data.candidates, "c", f"CASE c {cases} END"))
    for column, levels, text, code in declared:
        found = table.frame(
            f"SELECT {text} AS level, {code} AS code, count(*) AS n, min({ROW}) AS first "
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
    """Labels belong to a unit or transition, a replicate to no unit."""
    if data.stratum:
        yield from _changing(table, "s", data.stratum, "unit")
    if data.target:
        yield from _changing(table, "g", data.target, "unit")
    owner = "transition" if data.transition else "unit"
    for i, name in enumerate(data.attributes):
        yield from _changing(table, f"a{i}", name, owner)
    yield from _replicate_faults(table, data)


def _changing(table: Table, short: str, column: str, owner: str) -> Iterator[str]:
    """A column with two values in one owner, blank being a value of an attribute."""
    keys = "u, t" if owner == "transition" else "u"
    value = f"coalesce({short}, '')"
    counted = f"NOT {blank('u')}" + (f" AND NOT {blank(short)}" if short in {"s", "g"} else "")
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


def duplicate_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """Combinations of ids, levels and candidate that have more than one row."""
    codes = [f"f{i}" for i in range(len(factor_columns(data)))]
    keys = ", ".join(["u", "t", *codes, *(["c"] if data.candidate else [])])
    known = " AND ".join(f"{code} IS NOT NULL" for code in codes) or "true"
    twice = (
        f"SELECT u, min({ROW}) AS first, list({ROW} ORDER BY {ROW}) AS found FROM typed "
        f"WHERE NOT {blank('u')} AND {known} GROUP BY {keys} HAVING count(*) > 1"
    )
    rows = table.frame(
        f"SELECT *, count(*) OVER () AS total FROM ({twice}) ORDER BY first LIMIT {EXAMPLES}"
    )
    if not len(rows):
        return
    examples = [
        f"unit {unit!r} at {' and '.join(table.place(int(row)) for row in list(found)[:3])}"
        for unit, found in zip(rows["u"], rows["found"], strict=True)
    ]
    several = "several changes per unit" if data.has_change else "several scored things per unit"
    missing = [] if data.transition else [f"transition ({several})"]
    remedy = [*missing, "a replicate factor such as a wave (repeated measurements)"]
    yield (
        f"duplicate cells: {rows['total'].iloc[0]} combination(s) have more than one row, e.g. "
        f"{'; '.join(examples)}. Declare what tells them apart: {' or '.join(remedy)}"
    )


def option_faults(data: DataSpec, keys: pd.DataFrame, options: pd.DataFrame) -> Iterator[str]:
    """Units whose target is no candidate, or has no competitor."""
    own = options.drop_duplicates(["u", "o"])
    few = own.groupby("u").size()
    alone = few[few < 2].index.tolist() if not data.candidates else []
    if alone:
        yield (
            f"{data.candidate}: {len(alone)} unit(s) have a single candidate, e.g. unit "
            f"{alone[0]!r}; a margin needs the target and a competitor"
        )
    targets = {unit: canonical(target) for unit, target in zip(keys["u"], keys["g"], strict=True)}
    pairs = set(zip(own["u"], own["o"], strict=True))
    if data.candidates:
        pairs = {(unit, option) for unit in targets for option in data.candidates}
    absent = [unit for unit, target in targets.items() if (unit, target) not in pairs]
    if absent:
        listed = data.candidates or own.loc[own["u"] == absent[0], "o"].tolist()
        yield (
            f"{data.target}: the target of {len(absent)} unit(s) is none of the candidates, e.g. "
            f"unit {absent[0]!r} has {targets[absent[0]]!r}, candidates {sorted(listed)}"
        )


def _replicate_faults(table: Table, data: DataSpec) -> Iterator[str]:
    places = {name: i for i, name in enumerate(factor_columns(data))}
    for name, levels in data.replicate.items():
        i = places[name]
        most = table.one(
            f"SELECT max(n) FROM (SELECT count(DISTINCT f{i}) AS n FROM typed GROUP BY u)"
        )
        if len(levels) > 1 and most[0] == 1:
            yield (
                f"{name} never varies within a unit, so it is no replicate to average over: "
                f"declare it in attributes"
            )
