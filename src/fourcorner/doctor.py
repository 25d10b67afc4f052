"""What a table holds, and what a spec can get out of it, before anything is estimated.

Invariant: nothing is estimated, and what a column could be is a hint, never used. Pinned by
`tests/test_cli.py`.
"""

from pathlib import Path
from typing import Any

import xarray as xr

from fourcorner import contrasts, names, scores
from fourcorner.estimands import as_estimands
from fourcorner.io.tables import open_table
from fourcorner.spec import Spec
from fourcorner.weights import resolve_all

FEW_LEVELS = 12


def describe_table(path: Path) -> dict[str, Any]:
    """Columns of a table: how many values, how many numbers, which part each could play.

    Raises
    ------
    TableError, RunError
        If it cannot be read.
    """
    with open_table(path) as table:
        rows = int(table.one("SELECT count(*) FROM rows")[0])
        columns = []
        for name in table.columns:
            text = f"trim(CAST({table.column(name)} AS VARCHAR))"
            distinct, blank, numbers = table.one(
                f"SELECT count(DISTINCT {text}), count(*) FILTER ({text} IS NULL OR {text} = ''), "
                f"count(*) FILTER (TRY_CAST({text} AS DOUBLE) IS NOT NULL) FROM rows"
            )
            levels = table.frame(
                f"SELECT {text} AS level FROM rows WHERE {text} <> '' GROUP BY 1 "
                f"ORDER BY count(*) DESC, 1 LIMIT 5"
            )["level"].tolist()
            column = {
                "name": name,
                "distinct": int(distinct),
                "blank": int(blank),
                "numbers": int(numbers),
                "examples": [str(level) for level in levels],
            }
            columns.append({**column, "could_be": _could_be(column, rows)})
    return {"table": path.name, "rows": rows, "columns": columns}


def _could_be(column: dict[str, Any], rows: int) -> str:
    measured = rows - column["blank"]
    if column["numbers"] == measured and column["distinct"] > FEW_LEVELS:
        return "score"
    if column["distinct"] <= 1:
        return "constant"
    if column["distinct"] <= FEW_LEVELS:
        return "change, channel, replicate or stratum"
    return "unit or transition"


def describe_scores(data: xr.Dataset, spec: Spec) -> dict[str, Any]:
    """The funnel, whether each estimand is identified, and which engines apply.

    Parameters
    ----------
    data : xarray.Dataset
    spec : Spec

    Returns
    -------
    dict
        ``funnel``, ``estimands`` (name, identified, complete transitions, refusal),
        ``not_available`` and ``next``: what to run.

    Raises
    ------
    WeightsError
        If weights do not fit the strata.
    """
    resolve_all(spec, scores.strata(data))
    cells = scores.cells(data)
    observed = cells.notnull().any(names.TRANSITION)
    found = []
    for name, estimand in as_estimands(spec).items():
        refused = contrasts.refusal(estimand.contrast, observed)
        used = estimand.contrast.array(scores.factors(data)) != 0
        complete = (cells.notnull() | ~used).all(used.dims)
        found.append(
            {
                "name": name,
                "statistic": estimand.statistic,
                "identified": refused is None,
                "transitions": int(complete.sum()),
                "refused": refused,
            }
        )
    funnel = scores.funnel(data)
    unavailable = _unavailable(funnel)
    return {
        "funnel": funnel,
        "estimands": found,
        "not_available": unavailable,
        "next": "fourcorner estimate" if unavailable else "fourcorner audit",
    }


def _unavailable(funnel: dict[str, Any]) -> list[str]:
    if funnel["transitions_in_cohort"] > funnel["units_in_cohort"]:
        return ["posterior: units have several transitions; the cell model needs one per unit"]
    if funnel["units_in_cohort"] < 2:
        return ["posterior: fewer than two units are complete in every cell"]
    return []
