"""Waves and sessions: which measurements repeat which.

Invariant: a wave belongs to one session, and no wave is another one copied. Pinned by
`tests/test_waves.py`.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.spec import DataSpec

FEW = 5  # transitions; fewer may agree by chance
DISTINCT = 0.5  # of the scores; fewer are grades, which agree by chance


def session_of_waves(rows: list[tuple[int, str]], data: DataSpec, faults: list[str]) -> list[str]:
    """The session of each wave in the waves' order; adds to `faults` where that is not one.

    Parameters
    ----------
    rows : list of (int, str)
        Every wave's place with every session that the table has for it, no text being ``""``.
    data : DataSpec
    faults : list of str
    """
    found = []
    for place, wave in enumerate(data.replicate[names.WAVE]):
        sessions = sorted({session for code, session in rows if code == place})
        if any(not session.strip() for session in sessions):
            faults.append(f"{data.session}: an empty session in wave {wave!r}")
        elif len(sessions) > 1:
            listed = ", ".join(map(repr, sessions[:FEW]))
            faults.append(
                f"{data.session} changes within wave {wave!r}: {listed}; a wave belongs to one "
                f"session"
            )
        found.append(sessions[0] if sessions else "")
    return found


def copied_waves(scores: xr.Dataset, variable: str) -> Iterator[str]:
    """Pairs of waves with the same scores in every cell of at least five transitions.

    Grades agree by chance: where fewer than half of the scores that agree are distinct, waves are
    copies only if they agree wherever both are measured.
    """
    if names.WAVE not in scores[variable].dims:
        return
    array = scores[variable].transpose(names.WAVE, names.TRANSITION, ...)
    values = array.values.reshape(*array.shape[:2], -1)
    levels = scores[names.WAVE].values.tolist()
    for first, second in itertools.combinations(range(len(levels)), 2):
        if count := _same(values[first], values[second]):
            yield (
                f"{names.WAVE} {levels[second]!r} has the same scores as {levels[first]!r} in "
                f"every cell of {count} transitions: the same scores twice are no second "
                f"measurement. Keep one of them with [data] where"
            )


def _same(one: NDArray[np.float64], other: NDArray[np.float64]) -> int:
    """In how many transitions one wave copies another; 0 where none is a copy."""
    both = np.isfinite(one) & np.isfinite(other)
    agree = ((one == other) | ~both).all(axis=1) & both.any(axis=1)
    count = int(agree.sum())
    if count < FEW:
        return 0
    kept = one[agree][both[agree]]
    coarse = len(np.unique(kept)) < DISTINCT * len(kept)
    whole = count == int(both.any(axis=1).sum())
    return 0 if coarse and not whole else count
