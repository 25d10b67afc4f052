"""What each estimand is of each transition of the cohort, and why there is nothing.

Invariant: estimands that share waves, contrast and measure share their values. Pinned by
`tests/test_parts.py` and `tests/test_signs.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names, scores
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.design import signs
from fourcorner.design.cohort import Sample
from fourcorner.estimands import Estimand
from fourcorner.measures import Measure

Floats = NDArray[np.float64]
Cells = Callable[[tuple[str, ...]], xr.DataArray]


@dataclass(frozen=True)
class Applied:
    """An estimand before it is averaged over the cohort.

    Attributes
    ----------
    values : ndarray of shape (transitions,)
        NaN unless the whole support is complete.
    size : float
        Of the scores that they are made of, see `fourcorner.contrasts.Values`; 1 for shares.
    refused : mapping or None
        Why it has no value whatever the weights: scales that nothing links, cells that nobody
        measured.
    """

    values: Floats
    size: float
    refused: dict[str, Any] | None


def applied(data: Sample, estimands: Sequence[Estimand]) -> Iterator[Applied]:
    """Each estimand, in order, applied to the sample."""
    cells = cache(data.cells)
    found: dict[tuple[tuple[str, ...], Contrast, Measure | None], Applied] = {}
    for estimand in estimands:
        key = estimand.wave, estimand.contrast, estimand.measure
        if key not in found:
            found[key] = _apply(data, estimand, cells)
        yield found[key]


def _apply(data: Sample, estimand: Estimand, cells: Cells) -> Applied:
    if estimand.measure is None:
        return apply(data, cells(estimand.wave), estimand.contrast)
    return _signs(data, estimand, estimand.measure, cells)


def apply(data: Sample, cells: xr.DataArray, contrast: Contrast) -> Applied:
    """Values of a contrast, and why there are none; of an empty cohort nothing is said."""
    refused = _unlinked(data, contrast) or _unseen(data, cells, contrast)
    return Applied(*contrast_values(cells, contrast), refused)


def _signs(data: Sample, estimand: Estimand, measure: Measure, cells: Cells) -> Applied:
    """A measure of two gains by wave; signs need no link between the channels' scales."""
    both = estimand.contrast
    waves = estimand.wave or tuple(scores.waves(data.scores))
    by_wave = [cells((level,)) for level in waves] or [cells(())]
    compared = [both] if measure.kind == names.OMEGA else both.parts
    refused = [
        *(_unlinked(data, part) for part in compared),
        _unseen(data, cells(estimand.wave), both),
    ]
    refused.append(signs.refusal(data, waves, measure))
    found = [[contrast_values(one, gain) for gain in both.parts] for one in by_wave]
    gains = np.stack([np.stack([gain.values for gain in pair], axis=-1) for pair in found], axis=1)
    size = 1.0 if measure.limits else max(gain.size for pair in found for gain in pair)
    return Applied(signs.values(gains, measure), size, next(filter(None, refused), None))


def _unlinked(data: Sample, contrast: Contrast) -> dict[str, Any] | None:
    return contrasts.scale_refusal(contrast, scores.scale_factors(data.scores))


def _unseen(data: Sample, cells: xr.DataArray, contrast: Contrast) -> dict[str, Any] | None:
    if not data.units:
        return None
    return contrasts.refusal(contrast, cells.notnull().any(names.TRANSITION))
