"""A score table to a validated Dataset.

Invariant: a Dataset that exists has every declared combination once, in the declared order of
levels and in the text order of units, whatever the order of rows; a score that was not measured
is NaN there and counted in the funnel, never filled and never dropped. Every fault of a table is
reported in one `TableError`. Pinned by `tests/test_scores.py`.
"""

import xarray as xr

from fourcorner.errors import TableError
from fourcorner.io.tables import open_table
from fourcorner.scores.assembly import assemble
from fourcorner.scores.typed import require_columns, select
from fourcorner.scores.validation import constancy_faults, level_faults, value_faults, where_faults
from fourcorner.spec import Spec


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
        require_columns(opened, data)
        rows_read = int(opened.one("SELECT count(*) FROM rows")[0])
        if rows_read == 0:
            raise TableError(["the table has a header and no rows"], opened.source)
        select(opened, data)
        kept = int(opened.one("SELECT count(*) FROM typed")[0])
        faults = list(where_faults(opened, data))
        if kept == 0:
            faults.append(f"[data] where keeps none of {rows_read} rows")
            raise TableError(faults, opened.source)
        faults += [*value_faults(opened, data), *level_faults(opened, data)]
        faults += constancy_faults(opened, data)
        dataset = assemble(opened, data, faults)
        if faults:
            raise TableError(faults, opened.source)
        attrs = {"source": opened.source, "sha256": opened.sha256 or "", "title": spec.title}
    dataset.attrs.update(attrs, rows_read=rows_read, rows_excluded=rows_read - kept)
    return dataset
