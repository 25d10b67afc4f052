"""One pass over the rows: the tables ``coded``, ``keys`` and ``options`` that a Dataset needs.

Invariant: where a row goes depends on its labels, not on its place in the table; a table in which
`suspicious` finds nothing has no fault but those of whole columns. Pinned by
`tests/test_scores.py`.
"""

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.io.sql import literal
from fourcorner.io.tables import Table
from fourcorner.scores.typed import (
    FLAGS,
    code_sql,
    factor_columns,
    id_parts,
    labels,
    score_sql,
    size_sql,
    text_sql,
    where_sql,
)
from fourcorner.scores.validation import blank, means_nothing
from fourcorner.sections import canonical
from fourcorner.spec import DataSpec


def shape(data: DataSpec) -> tuple[int, ...]:
    """Levels of each factor, in the order of the Dataset's dims after the transition."""
    return tuple(len(levels) for levels in factor_columns(data).values())


def load_coded(table: Table, data: DataSpec, *, exact: bool) -> None:
    """Make ``coded`` from the source: ids, labels, ``place`` among the cells, score ``y``.

    ``place`` is NULL where a level is not declared, and with `exact` also where it is spelt
    otherwise; ``x`` says whether a score is censored, 2 where its column does not say; ``z`` is
    how large the numbers are whose difference is the score.
    """
    sizes = shape(data)
    strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    place = " + ".join(
        f"{code_sql(table, column, levels, exact=exact)} * {stride}"
        for (column, levels), stride in zip(factor_columns(data).items(), strides, strict=True)
    )
    parts = id_parts(table, data)
    parts += [f"{text_sql(table, column)} AS {short}" for short, column in labels(data).items()]
    parts += [f"CAST({place or 0} AS INTEGER) AS place", f"{score_sql(table, data)} AS y"]
    if data.is_readout:
        parts.append(f"{size_sql(table, data)} AS z")
    if data.censored:
        flag = f"{code_sql(table, data.censored, FLAGS)} % 2"
        parts.append(f"CAST(coalesce({flag}, 2) AS UTINYINT) AS x")
    if data.session:
        parts.append(f"coalesce({text_sql(table, data.session)}, '') AS w")
    if data.endpoint:
        parts.append(f"coalesce({text_sql(table, data.endpoint)}, '') AS e")
    table.load("coded", f"SELECT {', '.join(parts)} FROM rows{where_sql(table, data)}")


def load_keys(table: Table, data: DataSpec) -> None:
    """Make ``keys``: each transition with its code in the text order of ids, and its labels.

    A label comes as one that its rows have, nothing being the empty text, with the least and the
    greatest hash of them, ``s``, ``s_`` and ``s__`` for the stratum.
    """
    held = [
        f"coalesce(any_value({short}), '') AS {short}, min(hash({short})) AS {short}_, "
        f"max(hash({short})) AS {short}__"
        for short in labels(data)
        if short != "c"
    ]
    ids = "u, t" if data.transition else "u"
    unit = "u, t" if data.transition else "u, '' AS t"
    table.run(
        f"CREATE TABLE keys AS SELECT CAST(row_number() OVER (ORDER BY u, t) - 1 AS INTEGER) "
        f"AS code, * FROM (SELECT {', '.join([unit, *held])} FROM coded "
        f"WHERE u IS NOT NULL AND t IS NOT NULL GROUP BY {ids})"
    )


def load_options(table: Table, data: DataSpec) -> None:
    """Make ``options``: each candidate of a unit as it is spelt, ``c``, and as a level, ``o``.

    The place ``pos`` among the unit's candidates is that of the declared order, or of the text
    order where none is declared.
    """
    order = "dense_rank() OVER (PARTITION BY u ORDER BY o) - 1"
    if data.candidates:
        cases = " ".join(f"WHEN {literal(o)} THEN {i}" for i, o in enumerate(data.candidates))
        order = f"CASE o {cases} END"
    found = table.frame("SELECT DISTINCT c FROM coded WHERE c IS NOT NULL")["c"].tolist()
    table.connection.register("spelt", pd.DataFrame(_spelt(found)))
    table.run(
        f"CREATE TABLE options AS SELECT *, CAST({order} AS INTEGER) AS pos FROM "
        f"(SELECT u, c, o FROM (SELECT DISTINCT u, c FROM coded) JOIN spelt USING (c))"
    )


def _spelt(found: list[str]) -> dict[str, list[str]]:
    return {"c": found, "o": [canonical(text) for text in found]}


def suspicious(table: Table, data: DataSpec) -> bool:
    """Whether an id or label is empty or changes where it may not, by the keys alone."""
    ids = ["u", *(["t"] if data.transition else [])]
    odd = [f"({blank(item)} OR contains({item}, chr(0)) OR {means_nothing(item)})" for item in ids]
    kept = [short for short in labels(data) if short != "c"]
    odd += [f"{short}_ <> {short}__" for short in kept]
    odd += [blank(short) for short in kept if short in {"s", "g"}]
    flags = [f"SELECT coalesce(bool_or({' OR '.join(odd)}), false) AS odd FROM keys"]
    flags += [
        f"SELECT count(*) > 0 FROM (SELECT u FROM keys GROUP BY u HAVING min({short}_) <> "
        f"max({short}__))"
        for short in kept
        if short in {"s", "g"} and data.transition
    ]
    if data.candidate:
        flags.append(f"SELECT count(*) > 0 FROM options WHERE pos IS NULL OR {blank('c')}")
    return any(bool(table.one(sql)[0]) for sql in flags)


def never_seen(present: NDArray[np.bool_], data: DataSpec, units: NDArray[np.str_]) -> bool:
    """Whether a declared level is nowhere, or a replicate does not vary within any unit.

    Parameters
    ----------
    present : numpy.ndarray of bool
        Shape (transitions, levels of each factor), and the options last where they are scored.
    data : DataSpec
    units : numpy.ndarray of str
        The unit of each transition.
    """
    axes = range(1, present.ndim)
    if data.candidates and not present.any(axis=tuple(range(present.ndim - 1))).all():
        return True
    for axis, (column, levels) in enumerate(factor_columns(data).items(), 1):
        seen = present.any(axis=tuple(other for other in axes if other != axis))
        if not seen.any(axis=0).all():
            return True
        if column in data.replicate and len(levels) > 1:
            codes = np.unique(units, return_inverse=True)[1]
            by_unit = np.zeros((codes.max() + 1, len(levels)), dtype=bool)
            np.logical_or.at(by_unit, codes, seen)
            if by_unit.sum(axis=1).max() == 1:
                return True
    return False


def waves_and_sessions(table: Table, data: DataSpec) -> list[tuple[int, str]]:
    """Every wave's place with every session that the table has for it."""
    sizes = shape(data)
    place = list(factor_columns(data)).index(names.WAVE)
    stride = math.prod(sizes[place + 1 :])
    return [
        (int(code), str(session))
        for code, session in table.connection.execute(
            f"SELECT DISTINCT place // {stride} % {sizes[place]} AS code, w FROM coded "
            f"WHERE place IS NOT NULL ORDER BY 1, 2"
        ).fetchall()
    ]
