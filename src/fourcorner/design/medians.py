"""Medians of resampled transitions, without sorting each draw.

Invariant: equals `numpy.median` of the drawn values, for every draw. Pinned by
`tests/test_design.py`.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def medians(multiplicity: Floats, values: Floats, unit: NDArray[np.int64]) -> Floats:
    """Median over transitions in each draw.

    Parameters
    ----------
    multiplicity : ndarray of shape (draws, units)
    values : ndarray of shape (transitions,)
        Finite contrast values.
    unit : ndarray of shape (transitions,)
        Code of each transition's unit.

    Returns
    -------
    ndarray of shape (draws,)
        NaN where a draw holds no transition.
    """
    order = np.argsort(values, kind="stable")
    running = np.cumsum(multiplicity[:, unit[order]], axis=1)
    total = running[:, -1]
    ranked = values[order]
    low, high = (
        ranked[(running > np.floor(rank)[:, None]).argmax(axis=1)]
        for rank in ((total - 1) / 2, total / 2)
    )
    return np.where(total > 0, (low + high) / 2, np.nan)
