"""Measurements that repeat others to the last digit: copies, not second measurements.

Invariant: a wave that copies another is no table's second measurement; any other level of a
replicate factor that has another's scores everywhere is told. Grades agree by themselves, in whole
waves too, and are neither. Pinned by `tests/test_waves.py`.
"""

import itertools
from collections.abc import Iterator

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import counted
from fourcorner.scores.cells import replicate_dims

FEW = 5  # transitions; fewer may agree by chance
DISTINCT = 0.5  # of the scores; fewer are grades, which agree by chance
GRADES = 10  # different scores: as many as a scale of grades has
HEAD = 1000  # transitions that are looked at first


def copied_waves(scores: xr.Dataset) -> Iterator[str]:
    """Pairs of waves with the same scores in every cell of at least five transitions.

    Grades agree by chance, and are no copies: at most ten different scores, not each of them once.
    Where there are more and fewer than half of the scores that agree are distinct, waves are
    copies only if they agree wherever both are measured.
    """
    if names.WAVE not in scores[names.SCORE].dims:
        return
    for first, second, one, other in _pairs(scores, names.WAVE):
        flat = [values.reshape(len(values), -1) for values in (one, other)]
        if count := _same(*flat):
            yield (
                f"{names.WAVE} {second!r} has the same scores as {first!r} in "
                f"every cell of {counted(count, 'transition')}: the same scores twice are no "
                f"second measurement. Keep one of them with [data] where"
            )


def copied_levels(scores: xr.Dataset) -> Iterator[str]:
    """Pairs of levels of any replicate factor with the same scores wherever both are measured.

    There are more than ten different ones among them, so that it is no scale of grades; what was
    copied is left to the reader, since a deterministic evaluator repeats itself too.
    """
    for factor in replicate_dims(scores):
        for first, second, one, other in _pairs(scores, factor):
            if not _agree(one[:HEAD], other[:HEAD]) or not _agree(one, other):
                continue
            both = np.isfinite(one) & np.isfinite(other)
            different = len(np.unique(one[both]))
            if different > GRADES:
                yield (
                    f"{factor} {second!r} has the same score as {first!r} in all "
                    f"{int(both.sum()):,} places where both are measured ({different:,} different "
                    f"scores): a copy is no second measurement"
                )


def _pairs(
    scores: xr.Dataset, factor: str
) -> Iterator[tuple[str, str, NDArray[np.float64], NDArray[np.float64]]]:
    """Two levels of a replicate factor and their scores, the transitions first."""
    scored = names.OPTION_SCORE if names.OPTION_SCORE in scores else names.SCORE
    array = scores[scored]
    levels = array[factor].values.tolist()
    values = np.moveaxis(array.values, array.dims.index(factor), 0)
    for i, j in itertools.combinations(range(len(levels)), 2):
        yield levels[i], levels[j], values[i], values[j]


def _agree(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Whether no place has two scores that differ."""
    return not (np.isfinite(one) & np.isfinite(other) & (one != other)).any()


def _same(one: NDArray[np.float64], other: NDArray[np.float64]) -> int:
    """In how many transitions one wave copies another; 0 where none is a copy."""
    both = np.isfinite(one) & np.isfinite(other)
    agree = ((one == other) | ~both).all(axis=1) & both.any(axis=1)
    count = int(agree.sum())
    if count < FEW:
        return 0
    if _graded(np.concatenate([one[both], other[both]])):
        return 0
    kept = one[agree][both[agree]]
    coarse = len(np.unique(kept)) < DISTINCT * len(kept)
    whole = count == int(both.any(axis=1).sum())
    return 0 if coarse and not whole else count


def _graded(both: NDArray[np.float64]) -> bool:
    """Whether two waves have grades: few different scores, and one of them in two places or more.

    A copy of scores that are all different has each of them twice.
    """
    different = len(np.unique(both))
    return different <= GRADES and 2 * different < len(both)
