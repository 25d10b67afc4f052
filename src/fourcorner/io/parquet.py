"""A frame as the bytes of a Parquet file, the same for the same frame.

Invariant: rows keep their order, and two calls give the same bytes. Pinned by
`tests/test_global_replay.py`.
"""

import tempfile
from pathlib import Path

import duckdb
import pandas as pd

from fourcorner.io.sql import literal


def parquet_bytes(frame: pd.DataFrame) -> bytes:
    """The bytes of a Parquet file with a frame's rows; a missing number is NULL.

    Parameters
    ----------
    frame : pandas.DataFrame

    Returns
    -------
    bytes

    Examples
    --------
    >>> parquet_bytes(pd.DataFrame({"a": [1.5, None]}))[:4]
    b'PAR1'
    """
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        path = Path(folder) / "table.parquet"
        connection.execute("SET threads = 1")
        connection.register("source", frame)
        connection.execute(
            f"COPY source TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        )
        return path.read_bytes()
