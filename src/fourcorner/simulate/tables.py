r"""Cohorts as tables: ids, rounding and the text of a file.

Invariant: a table has one text, whatever the platform: ``\n`` line ends, booleans in lower case,
four decimals without negative zeros. Pinned by `tests/test_simulate.py`.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DECIMALS = 4


class Cohort(NamedTuple):
    """The scores as acquired, and what is behind them: noise-free margins and latents."""

    scores: pd.DataFrame
    truth: pd.DataFrame


def ids(letter: str, count: int, digits: int, first: int = 0) -> NDArray[np.object_]:
    """Name things by a letter and a number.

    Examples
    --------
    >>> ids("s", 2, 2, first=1).tolist()
    ['s01', 's02']
    """
    numbers = range(first, first + count)
    return np.array([f"{letter}{number:0{digits}d}" for number in numbers], dtype=object)


def rounded(values: Floats) -> Floats:
    """Round to the declared decimals, without negative zeros."""
    return values.round(DECIMALS) + 0.0


def to_csv_text(frame: pd.DataFrame) -> str:
    r"""Return the exact text of a frame's CSV file.

    Examples
    --------
    >>> to_csv_text(pd.DataFrame({"a": [True], "b": [0.5]}))
    'a,b\ntrue,0.5\n'
    """
    flags = frame.select_dtypes("bool").columns
    words = {name: frame[name].map({True: "true", False: "false"}) for name in flags}
    return frame.assign(**words).to_csv(index=False, lineterminator="\n")
