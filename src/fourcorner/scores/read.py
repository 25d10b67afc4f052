"""A score table to a validated Dataset.

Invariant: a Dataset that exists has every declared combination once, in the declared order of
levels and in the text order of units, whatever the order of rows; a score that was not measured
is NaN there and counted in the funnel, never filled and never dropped. Every fault of a table is
reported in one `TableError`. Pinned by `tests/test_scores.py`.
"""

from collections.abc import Iterator
from typing import Any

import xarray as xr

from fourcorner import names
from fourcorner.errors import OptionError, TableError
from fourcorner.io.tables import Table, open_table
from fourcorner.scores.assembly import dataset, scatter, width
from fourcorner.scores.coded import (
    load_coded,
    load_keys,
    load_options,
    never_seen,
    suspicious,
    waves_and_sessions,
)
from fourcorner.scores.copies import copied_waves
from fourcorner.scores.endpoints import endpoint_faults, endpoints_of
from fourcorner.scores.margins import largest
from fourcorner.scores.sessions import session_of_waves
from fourcorner.scores.typed import require_columns, select
from fourcorner.scores.validation import (
    constancy_faults,
    duplicate_faults,
    level_faults,
    option_faults,
    value_faults,
    where_faults,
)
from fourcorner.spec import DataSpec, Spec

LARGEST = 1e100


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
        factor); without a change there is no state, and a transition is one thing that is scored.
        Coordinates on ``transition``: ``unit``, ``transition_id`` and, where declared, ``stratum``
        and the attributes; on ``wave``: ``session``; on (transition, state): ``endpoint``, ``""``
        where a state has no row.
        Where options are scored ``score`` is the margin of each replicate, NaN where a censoring
        limit is in the way, and ``option_score`` and ``censored`` have a last dim ``option``,
        with ``option_id`` (transition, option; ``""`` beyond a unit's candidates) and
        ``target_option`` (the target's place) as coordinates.

    Raises
    ------
    TableError
        With every fault found: columns that are not there, duplicate cells, infinite or
        non-numeric scores, empty ids, levels that are not declared or nowhere in the data, a
        stratum, target or attribute that changes within its unit, a target that is no candidate,
        a wave in two sessions or copied from another, an endpoint with two scores of one kind.
    RunError
        If the file cannot be read.
    OptionError
        If `spec` is no spec, as where it and the table change places.

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
    if not isinstance(spec, Spec):
        got = f"{type(spec).__module__.split('.')[0]} {type(spec).__name__}"
        raise OptionError(
            f"spec is a {got}: expected a spec, as read_spec returns it, and then the table: "
            f"read_scores(spec, table)"
        )
    data = spec.data
    source = spec.table_path if table is None else table
    if source is None:
        raise TableError(["the spec has no data.path; pass a table"], "table")
    with open_table(source, data.derive, keep=bool(data.where)) as opened:
        require_columns(opened, data)
        load_coded(opened, data, exact=True)
        kept = int(opened.one("SELECT count(*) FROM coded")[0])
        read = int(opened.one("SELECT count(*) FROM rows")[0]) if data.where else kept
        if read == 0:
            raise TableError(["the table has a header and no rows"], opened.source)
        faults = list(where_faults(opened, data))
        if kept == 0:
            faults.append(f"[data] where keeps none of {read} rows")
        found = None if faults else _dataset(opened, data, faults)
        if found is None or faults:
            raise TableError(faults, opened.source)
        attrs = {"source": opened.source, "sha256": opened.sha256 or "", "title": spec.title}
    found.attrs.update(attrs, rows_read=read, rows_excluded=read - kept)
    return found


def _dataset(table: Table, data: DataSpec, faults: list[str]) -> xr.Dataset | None:
    """The Dataset of the coded rows; adds to `faults` what is wrong with them."""
    load_keys(table, data)
    keys = table.frame("SELECT * FROM keys ORDER BY code")
    options = None
    if data.candidate:
        load_options(table, data)
        options = table.frame("SELECT u, o, pos FROM options")
    places = 1 if options is None else width(data, options)
    rows = int(table.one("SELECT count(*) FROM coded")[0])
    arrays = scatter(table, data, len(keys), places)
    if arrays.placed < rows:  # levels that are spelt otherwise than declared, or are none
        load_coded(table, data, exact=False)
        arrays = scatter(table, data, len(keys), places)
    odd = arrays.odd or arrays.placed < rows or suspicious(table, data)
    if odd or arrays.duplicates or never_seen(arrays.present, data, keys["u"].to_numpy(dtype=str)):
        faults += _diagnosed(table.keep(), data)
    units = {unit for unit in keys["u"] if unit.strip()}
    if len(units) == 1:
        faults.append(
            f"{data.unit}: only one unit ({units.pop()!r}); the unit is what is resampled, so at "
            f"least two are needed: name the column that tells them apart, or add rows of others"
        )
    named: dict[str, Any] = {}
    if data.session:
        sessions = session_of_waves(waves_and_sessions(table, data), data, faults)
        named[names.SESSION] = (names.WAVE, sessions)
    if data.endpoint:
        ends = endpoints_of(table, data, len(keys), faults)
        named[names.ENDPOINT] = ((names.TRANSITION, names.STATE), ends)
    if options is not None and not faults:
        faults += option_faults(data, keys, options)
    if faults:
        return None
    found = dataset(data, keys, options, arrays).assign_coords(named)
    faults += _faults_of_scores(found, data)
    return found


def _faults_of_scores(found: xr.Dataset, data: DataSpec) -> Iterator[str]:
    """Scores that repeat or contradict others, or are too large."""
    if data.endpoint:
        yield from endpoint_faults(found)
    yield from copied_waves(found)
    scored = names.OPTION_SCORE if data.candidate else names.SCORE
    reached = largest(found[scored].values)
    if reached > LARGEST:
        reach = f"scores reach {reached:.3g}, whose squares overflow"
        yield f"{data.measure}: {reach}; use another unit"


def _diagnosed(table: Table, data: DataSpec) -> list[str]:
    """Every fault of the rows in words; none where ids or labels are but spelt differently."""
    select(table, data)
    return [
        *value_faults(table, data),
        *level_faults(table, data),
        *constancy_faults(table, data),
        *duplicate_faults(table, data),
    ]
