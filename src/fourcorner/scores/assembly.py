"""Valid rows to a Dataset with every declared combination once.

Invariant: where a row goes depends on its labels, not on its place in the table. Pinned by
`tests/test_scores.py`.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.io.tables import ROW, Table
from fourcorner.scores.typed import factor_columns
from fourcorner.scores.validation import EXAMPLES, blank
from fourcorner.spec import DataSpec


def assemble(table: Table, data: DataSpec, faults: list[str]) -> xr.Dataset:
    """Scatter the rows into the dense array; adds duplicate cells and too few units to `faults`."""
    keys = _transitions(table, data)
    sizes = {column: len(levels) for column, levels in factor_columns(data).items()}
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
        f"(SELECT {', '.join(['u', 't', *held])} FROM typed WHERE NOT {blank('u')} GROUP BY u, t)"
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
