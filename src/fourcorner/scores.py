"""A score table to a validated Dataset, its cells and its funnel.

Invariant: a Dataset that exists has every declared combination once, in the declared order of
levels and in the text order of units, whatever the order of rows; a score that was not measured
is NaN there and counted in the funnel, never filled and never dropped. Every fault of a table is
reported in one `TableError`. Pinned by `tests/test_scores.py`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import TableError
from fourcorner.io.sql import INFINITE, NUMBER, literal
from fourcorner.io.tables import ROW, Table, open_table
from fourcorner.sections import nearest
from fourcorner.spec import DataSpec, Spec

EXAMPLES = 3
ROUNDING = 1e-12  # relative
STAGES = ("attempted", "present", "finite", "complete", "in_cohort")
MANY = 30
BLANK = r"\s*"


def read_scores(spec: Spec, table: object = None) -> xr.Dataset:
    """Read and validate the scores that a spec describes.

    Parameters
    ----------
    spec : Spec
    table : path or pandas, polars or pyarrow table, optional
        Read instead of the spec's own ``data.path``.

    Returns
    -------
    xarray.Dataset
        ``score`` (native units, NaN where not measured) and ``present`` (whether the table has
        a row), both with dims (transition, state, one per channel factor, one per replicate
        factor). Coordinates on ``transition``: ``unit``, ``transition_id`` and, where declared,
        ``stratum`` and the attributes.

    Raises
    ------
    TableError
        With every fault found: columns that are not there, duplicate cells, infinite or
        non-numeric scores, empty ids, levels that are not declared or nowhere in the data, a
        stratum or attribute that changes within its unit.
    RunError
        If the file cannot be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from fourcorner.spec import parse_spec
    >>> spec = parse_spec('''
    ... kind = "scores"
    ... [data]
    ... score = "margin"
    ... unit = "task"
    ... change = { column = "state", before = "before", after = "after" }
    ... [estimands]
    ... step = { gain = {} }
    ... ''')
    >>> rows = [("a", "before", 0.0), ("a", "after", 1.0), ("b", "before", 0.5), ("b", "after", 1)]
    >>> scores = read_scores(spec, pd.DataFrame(rows, columns=["task", "state", "margin"]))
    >>> scores["score"].dims
    ('transition', 'state')
    """
    data = spec.data
    source = spec.table_path if table is None else table
    if source is None:
        raise TableError(["the spec has no data.path; pass a table"], "table")
    with open_table(source, data.derive) as opened:
        _require_columns(opened, data)
        rows_read = int(opened.one("SELECT count(*) FROM rows")[0])
        if rows_read == 0:
            raise TableError(["the table has a header and no rows"], opened.source)
        _select(opened, data)
        kept = int(opened.one("SELECT count(*) FROM typed")[0])
        faults = list(_where_faults(opened, data))
        if kept == 0:
            faults.append(f"[data] where keeps none of {rows_read} rows")
            raise TableError(faults, opened.source)
        faults += [*_value_faults(opened, data), *_level_faults(opened, data)]
        faults += _constancy_faults(opened, data)
        dataset = _assemble(opened, data, faults)
        if faults:
            raise TableError(faults, opened.source)
        attrs = {"source": opened.source, "sha256": opened.sha256 or "", "title": spec.title}
    dataset.attrs.update(attrs, rows_read=rows_read, rows_excluded=rows_read - kept)
    return dataset


def cells(scores: xr.Dataset) -> xr.DataArray:
    """Reduced cell values: the mean over replicates, NaN unless every replicate is finite.

    Replicates that cancel leave a trace of either sign; a mean that small beside them is zero.

    Parameters
    ----------
    scores : xarray.Dataset
        As `read_scores` returns it.

    Returns
    -------
    xarray.DataArray
        Dims (transition, state, one per channel factor); native units.
    """
    score, replicates = scores[names.SCORE], replicate_dims(scores)
    mean = score.mean(replicates, skipna=False)
    trace = ROUNDING * abs(score).mean(replicates, skipna=False)
    return mean.where(~(abs(mean) <= trace), 0.0).rename(names.CELLS)


def factors(scores: xr.Dataset | xr.DataArray) -> dict[str, list[str]]:
    """The cell factors and their levels: the change first, then the channels."""
    array = scores if isinstance(scores, xr.DataArray) else scores[names.SCORE]
    replicates = replicate_dims(scores)
    skip = {names.TRANSITION, names.UNIT, *replicates}
    return {str(dim): [str(x) for x in array[dim].values] for dim in array.dims if dim not in skip}


def replicate_dims(scores: xr.Dataset | xr.DataArray) -> list[str]:
    """The replicate dims, averaged by `cells`."""
    listed = scores.attrs.get("replicates", "")
    return listed.split("\n") if listed else []


def strata(scores: xr.Dataset) -> list[str]:
    """Every stratum of the data in text order; one unnamed stratum where none is declared."""
    if names.STRATUM not in scores.coords:
        return [""]
    return sorted(set(scores[names.STRATUM].values.tolist()))


def joint(reduced: xr.DataArray) -> NDArray[np.bool_]:
    """Which transitions are complete in every cell: shape (transitions,)."""
    dims = [dim for dim in reduced.dims if dim != names.TRANSITION]
    return np.asarray(_finite(reduced).all(dims))


def _finite(array: xr.DataArray) -> xr.DataArray:
    return array.copy(data=np.isfinite(array.values))


def funnel(scores: xr.Dataset) -> dict[str, Any]:
    """Count scores from attempted to in the joint cohort, by channel and stratum.

    Parameters
    ----------
    scores : xarray.Dataset

    Returns
    -------
    dict
        ``attempted``: declared combinations; ``present``: rows in the table; ``finite``: rows
        with a score; ``complete``: scores of endpoints with all their replicates; ``in_cohort``:
        scores of transitions complete in every cell. ``by_channel`` and ``by_stratum`` hold the
        same counts; ``rows_read`` and ``rows_excluded`` count table rows before and by ``where``.
    """
    reduced = cells(scores)
    finite = _finite(scores[names.SCORE])
    complete = _finite(reduced).broadcast_like(finite)
    cohort = xr.DataArray(joint(reduced), dims=names.TRANSITION).broadcast_like(finite)
    stages = {
        "attempted": xr.ones_like(finite),
        "present": scores[names.PRESENT],
        "finite": finite,
        "complete": complete,
        "in_cohort": cohort,
    }
    channel = [dim for dim in factors(scores) if dim != names.STATE]
    in_joint = joint(reduced)
    units = scores[names.UNIT].values
    return {
        "rows_read": int(scores.attrs["rows_read"]),
        "rows_excluded": int(scores.attrs["rows_excluded"]),
        "units": len(set(units.tolist())),
        "units_in_cohort": len(set(units[in_joint].tolist())),
        "transitions": scores.sizes[names.TRANSITION],
        "transitions_in_cohort": int(in_joint.sum()),
        **{stage: int(flags.sum()) for stage, flags in stages.items()},
        "by_channel": list(_counts_by_channel(stages, channel)),
        "by_stratum": list(_counts_by_stratum(stages, scores)),
    }


def _counts_by_channel(
    stages: Mapping[str, xr.DataArray], channel: Sequence[str]
) -> Iterator[dict[str, Any]]:
    keep = [names.STATE, *channel]
    counted = {
        stage: flags.sum([dim for dim in flags.dims if dim not in keep]).transpose(*keep)
        for stage, flags in stages.items()
    }
    first = counted["attempted"]
    for place in np.ndindex(first.shape):
        cell = {dim: str(first[dim].values[i]) for dim, i in zip(keep, place, strict=True)}
        yield {
            "cell": cell,
            **{stage: int(array.values[place]) for stage, array in counted.items()},
        }


def _counts_by_stratum(
    stages: Mapping[str, xr.DataArray], scores: xr.Dataset
) -> Iterator[dict[str, Any]]:
    if names.STRATUM not in scores.coords:
        return
    labels = scores[names.STRATUM].values
    units = scores[names.UNIT].values
    per_transition = {
        stage: flags.sum([dim for dim in flags.dims if dim != names.TRANSITION]).values
        for stage, flags in stages.items()
    }
    for stratum in strata(scores):
        inside = labels == stratum
        counts = {stage: int(values[inside].sum()) for stage, values in per_transition.items()}
        yield {"stratum": stratum, "units": len(set(units[inside].tolist())), **counts}


def _require_columns(table: Table, data: DataSpec) -> None:
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


def _text_sql(table: Table, column: str) -> str:
    """A column as text; a floating NaN is nothing there, and a single is its exact double."""
    name = table.column(column)
    if table.types[column] in {"FLOAT", "DOUBLE"}:
        return f"nullif(CAST(CAST({name} AS DOUBLE) AS VARCHAR), 'nan')"
    return f"CAST({name} AS VARCHAR)"


def _canonical_sql(table: Table, column: str) -> str:
    """The text of `sections.canonical`, in SQL."""
    text = _text_sql(table, column)
    return (
        f"CASE WHEN lower({text}) IN ('true', 'false') THEN lower({text}) "
        rf"WHEN regexp_full_match({text}, '-?[0-9]+\.0+') "
        rf"THEN regexp_replace({text}, '\.0+$', '') ELSE {text} END"
    )


def _code_sql(table: Table, column: str, levels: Sequence[str]) -> str:
    cases = " ".join(f"WHEN {literal(level)} THEN {code}" for code, level in enumerate(levels))
    return f"CASE {_canonical_sql(table, column)} {cases} END"


def _factor_columns(data: DataSpec) -> dict[str, tuple[str, ...]]:
    """Column to declared levels for every factor, in the order of the Dataset's dims."""
    return {data.change: (data.before, data.after), **data.channel, **data.replicate}


def _select(table: Table, data: DataSpec) -> None:
    """Make the view ``typed``: ids and score as texts, a code for each factor, rows of `where`."""
    transition = _text_sql(table, data.transition) if data.transition else "''"
    parts = [ROW, f"{_text_sql(table, data.unit)} AS u", f"{transition} AS t"]
    if data.stratum:
        parts.append(f"{_canonical_sql(table, data.stratum)} AS s")
    parts += [f"{_canonical_sql(table, name)} AS a{i}" for i, name in enumerate(data.attributes)]
    parts.append(f"trim({_text_sql(table, data.score)}) AS y")
    for i, (column, levels) in enumerate(_factor_columns(data).items()):
        parts.append(f"{_code_sql(table, column, levels)} AS f{i}")
        parts.append(f"{_text_sql(table, column)} AS l{i}")
    conditions = [
        f"{_canonical_sql(table, column)} IN ({', '.join(literal(level) for level in levels)})"
        for column, levels in data.where.items()
    ]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    table.run(f"CREATE VIEW typed AS SELECT {', '.join(parts)} FROM rows{where}")


def _where_faults(table: Table, data: DataSpec) -> Iterator[str]:
    """A level to keep that no row has is a slip, not an empty choice."""
    for column, levels in data.where.items():
        level = _canonical_sql(table, column)
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


def _blank(short: str) -> str:
    return f"({short} IS NULL OR regexp_full_match({short}, '{BLANK}'))"


def _value_faults(table: Table, data: DataSpec) -> Iterator[str]:
    missing = f"({_blank('y')} OR lower(y) = 'nan')"
    number = f"regexp_full_match(y, '{NUMBER}')"
    infinite = (
        f"(regexp_full_match(y, '{INFINITE}') OR ({number} AND isinf(TRY_CAST(y AS DOUBLE))))"
    )
    checks = [
        (_blank("u"), "u", f"{data.unit}: an empty unit id"),
        ("contains(u, chr(0))", "u", f"{data.unit}: an id with a null character"),
        (infinite, "y", f"{data.score}: an infinite score"),
        (
            f"NOT {missing} AND NOT {infinite} AND NOT {number}",
            "y",
            f"{data.score}: a score that is not a number (blank or NaN means not measured)",
        ),
    ]
    if data.transition:
        checks.append((_blank("t"), "t", f"{data.transition}: an empty id"))
        checks.append(("contains(t, chr(0))", "t", f"{data.transition}: a null character"))
    if data.stratum:
        checks.append((_blank("s"), "s", f"{data.stratum}: an empty stratum"))
    counted = ", ".join(f"count(*) FILTER ({condition})" for condition, _, _ in checks)
    counts = table.one(f"SELECT {counted} FROM typed")
    for (condition, column, message), count in zip(checks, counts, strict=True):
        if count:
            yield f"{message}: {_at_rows(table, condition, column, count)}"


def _shown(value: str | float | None) -> str:
    return "nothing" if pd.isna(value) or value == "" else repr(value)


def _at_rows(table: Table, condition: str, column: str, count: int) -> str:
    rows = table.frame(
        f"SELECT {ROW}, {column} AS value FROM typed WHERE {condition} ORDER BY {ROW} "
        f"LIMIT {EXAMPLES}"
    )
    values = [
        f"{table.place(row)} has {_shown(value)}"
        for row, value in zip(rows[ROW], rows["value"], strict=True)
    ]
    more = ", …" if count > len(values) else ""
    return f"{count} row(s); {', '.join(values)}{more}"


def _level_faults(table: Table, data: DataSpec) -> Iterator[str]:
    for i, (column, levels) in enumerate(_factor_columns(data).items()):
        found = table.frame(
            f"SELECT l{i} AS level, f{i} AS code, count(*) AS n, min({ROW}) AS first "
            f"FROM typed GROUP BY ALL ORDER BY first"
        )
        unknown = found[found["code"].isna()]
        shown = [
            f"{_shown(level)} ({n} row(s), first {table.place(row)})"
            for level, n, row in zip(
                unknown["level"].head(5),
                unknown["n"].head(5),
                unknown["first"].head(5),
                strict=True,
            )
        ]
        if shown:
            more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
            yield (
                f"{column}: level(s) that the spec does not declare: {', '.join(shown)}{more}; "
                f"declared are {list(levels)}. Declare them, or keep rows with [data] where"
            )
        seen = set(found["code"].dropna().astype(int))
        absent = [level for code, level in enumerate(levels) if code not in seen]
        if absent:
            near = nearest(absent[0], unknown["level"].dropna().tolist())
            yield f"{column}: declared level(s) nowhere in the data: {absent}{near}"


def _constancy_faults(table: Table, data: DataSpec) -> Iterator[str]:
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
    counted = f"NOT {_blank('u')}" + (f" AND NOT {_blank(short)}" if short == "s" else "")
    varying = table.frame(
        f"SELECT {keys}, list(DISTINCT {value} ORDER BY {value}) AS found FROM typed "
        f"WHERE {counted} GROUP BY {keys} HAVING count(DISTINCT {value}) > 1 ORDER BY {keys}"
    )
    if len(varying):
        first = varying.iloc[0]
        inside = f", transition {first['t']!r}," if owner == "transition" else ""
        values = " and ".join(_shown(item) for item in list(first["found"])[:EXAMPLES])
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


def _assemble(table: Table, data: DataSpec, faults: list[str]) -> xr.Dataset:
    """Scatter the rows into the dense array; adds duplicate cells and too few units to `faults`."""
    keys = _transitions(table, data)
    sizes = {column: len(levels) for column, levels in _factor_columns(data).items()}
    per_transition = math.prod(sizes.values())
    strides = np.cumprod([1, *reversed(sizes.values())])[::-1][1:]
    place = " + ".join(f"f{i} * {stride}" for i, stride in enumerate(strides))
    rows = table.arrays(
        f"SELECT k.code * {per_transition} + {place} AS place, TRY_CAST(y AS DOUBLE) AS score "
        f"FROM typed JOIN keys AS k USING (u, t) WHERE {place} IS NOT NULL"
    )
    places = rows["place"].astype(np.int64)
    size = len(keys) * per_transition
    counts = np.bincount(places, minlength=size)
    if (counts > 1).any():
        faults.append(_duplicates(table, data, place, per_transition, counts))
    if len(set(keys["u"])) == 1:
        faults.append(
            f"{data.unit}: only one unit ({keys['u'].iloc[0]!r}); the unit is what is resampled, "
            f"so at least two are needed"
        )
    score = np.full(size, np.nan)
    score[places] = rows["score"]
    shape = (len(keys), *sizes.values())
    return _dataset(data, keys, score.reshape(shape), (counts > 0).reshape(shape))


def _transitions(table: Table, data: DataSpec) -> pd.DataFrame:
    held = ["any_value(s) AS s"] if data.stratum else []
    held += [f"any_value(a{i}) AS a{i}" for i in range(len(data.attributes))]
    table.run(
        f"CREATE TABLE keys AS SELECT row_number() OVER (ORDER BY u, t) - 1 AS code, * FROM "
        f"(SELECT {', '.join(['u', 't', *held])} FROM typed WHERE NOT {_blank('u')} GROUP BY u, t)"
    )
    return table.frame("SELECT * FROM keys ORDER BY code")


def _duplicates(
    table: Table, data: DataSpec, place: str, per_transition: int, counts: NDArray[np.int64]
) -> str:
    twice = np.flatnonzero(counts > 1)
    listed = ", ".join(str(code) for code in twice[:EXAMPLES])
    rows = table.frame(
        f"SELECT min(u) AS u, list({ROW} ORDER BY {ROW}) AS found FROM typed "
        f"JOIN keys AS k USING (u, t) WHERE k.code * {per_transition} + {place} IN ({listed}) "
        f"GROUP BY k.code * {per_transition} + {place} ORDER BY min({ROW})"
    )
    examples = [
        f"unit {unit!r} at {' and '.join(table.place(row) for row in list(found)[:3])}"
        for unit, found in zip(rows["u"], rows["found"], strict=True)
    ]
    missing = [] if data.transition else ["transition (several changes per unit)"]
    remedy = [*missing, "a replicate factor such as a wave (repeated measurements)"]
    return (
        f"duplicate cells: {len(twice)} combination(s) have more than one row, e.g. "
        f"{'; '.join(examples)}. Declare what tells them apart: {' or '.join(remedy)}"
    )


def _dataset(
    data: DataSpec, keys: pd.DataFrame, score: NDArray[np.float64], present: NDArray[np.bool_]
) -> xr.Dataset:
    dims = [names.TRANSITION, *data.factors, *data.replicate]
    along: dict[str, Any] = {
        names.UNIT: (names.TRANSITION, keys["u"].to_numpy(dtype=str)),
        names.TRANSITION_ID: (names.TRANSITION, keys["t"].to_numpy(dtype=str)),
    }
    if data.stratum:
        along[names.STRATUM] = (names.TRANSITION, keys["s"].to_numpy(dtype=str))
    for i, name in enumerate(data.attributes):
        values = keys[f"a{i}"].fillna("").to_numpy(dtype=str)
        along[name] = (names.TRANSITION, values)
    levels = {**data.factors, **data.replicate}
    coords = {**{name: list(values) for name, values in levels.items()}, **along}
    return xr.Dataset(
        {names.SCORE: (dims, score), names.PRESENT: (dims, present)},
        coords=coords,
        attrs={"replicates": "\n".join(data.replicate)},
    )
