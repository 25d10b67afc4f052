"""What each estimand is of each transition of the cohort, and why there is nothing.

Invariant: estimands that share waves, contrast and measure share their values. Pinned by
`tests/test_parts.py`, `tests/test_signs.py`, `tests/test_beliefs.py` and
`tests/test_agreement.py`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names, scores
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.design import agreement, beliefs, signs
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import held
from fourcorner.estimands import Estimand
from fourcorner.measures import AUC_ROWS, BELIEFS, Measure
from fourcorner.scores import Agreement

Floats = NDArray[np.float64]
Cells = Callable[[tuple[str, ...]], "Reduced"]
Gains = Callable[[tuple[str, ...], Contrast], "ByWave"]
Agreed = Callable[[tuple[str, ...], tuple[str, ...]], Agreement]


class Reduced(NamedTuple):
    """Cells of the sample in some waves, and which of them anybody measured."""

    cells: xr.DataArray
    observed: xr.DataArray


class ByWave(NamedTuple):
    """Two gains in each of some waves.

    Attributes
    ----------
    waves : tuple of str
        None of scores without waves.
    gains : ndarray of shape (transitions, waves, 2)
        NaN where incomplete.
    size : float
        Of the scores that they are made of.
    """

    waves: tuple[str, ...]
    gains: Floats
    size: float


@dataclass(frozen=True)
class Applied:
    """An estimand before it is averaged over the cohort.

    Attributes
    ----------
    values : ndarray of shape (transitions,)
        NaN unless the whole support is complete.
    size : float
        Of the scores that they are made of, see `fourcorner.contrasts.Values`; 1 for shares.
    scores : ndarray of shape (transitions, 2), or None
        Of a ranking: those of the first channel and of the second.
    gains : ndarray of shape (transitions, 2), or None
        Of the mean difference of two gains: both of them.
    lacking : (ndarray of shape (transitions,), str) or None
        Which have the contrast's whole support and yet no value, and what they lack, in words.
    refused : mapping or None
        Why it has no value whatever the weights: scales that nothing links, cells that nobody
        measured.
    """

    values: Floats
    size: float
    refused: dict[str, Any] | None
    scores: Floats | None = None
    gains: Floats | None = None
    lacking: tuple[NDArray[np.bool_], str] | None = None


def applied(data: Sample, estimands: Sequence[Estimand]) -> Iterator[Applied]:
    """Each estimand, in order, applied to the sample."""

    @cache
    def cells(wave: tuple[str, ...]) -> Reduced:
        found = data.cells(wave)
        return Reduced(found, found.notnull().any(names.TRANSITION))

    @cache
    def gains(wave: tuple[str, ...], both: Contrast) -> ByWave:
        waves = wave or tuple(scores.waves(data.scores))
        reduced = [cells((level,)) for level in waves] or [cells(())]
        found = [[contrast_values(one.cells, gain) for gain in both.parts] for one in reduced]
        values = [np.stack([gain.values for gain in pair], axis=-1) for pair in found]
        size = max(gain.size for pair in found for gain in pair)
        return ByWave(waves, np.stack(values, axis=1), size)

    @cache
    def agreed(compared: tuple[str, ...], wave: tuple[str, ...]) -> Agreement:
        return scores.agreement(data.scores, *compared, wave=wave)

    found: dict[tuple[tuple[str, ...], Contrast, Measure | None], Applied] = {}
    for estimand in estimands:
        key = estimand.wave, estimand.contrast, estimand.measure
        if key not in found:
            found[key] = _apply(data, estimand, cells, gains, agreed)
        yield found[key]


def _apply(data: Sample, estimand: Estimand, cells: Cells, gains: Gains, agreed: Agreed) -> Applied:
    if estimand.measure is None:
        return _contrast(data, cells(estimand.wave), estimand.contrast)
    if estimand.measure.kind in AUC_ROWS:
        return _ranking(data, estimand, cells(estimand.wave))
    if estimand.measure.kind in BELIEFS:
        return _beliefs(data, estimand, estimand.measure, cells(estimand.wave))
    if estimand.measure.compared:
        return _agreement(data, estimand, estimand.measure.compared, agreed)
    reduced, by_wave = cells(estimand.wave), gains(estimand.wave, estimand.contrast)
    return _signs(data, estimand.contrast, estimand.measure, reduced, by_wave)


def _contrast(data: Sample, reduced: Reduced, contrast: Contrast) -> Applied:
    """Values of a contrast, and why there are none."""
    refused = _unlinked(data, contrast) or _unseen(data, reduced, contrast)
    return Applied(*contrast_values(reduced.cells, contrast), refused)


def _signs(
    data: Sample, both: Contrast, measure: Measure, reduced: Reduced, by_wave: ByWave
) -> Applied:
    """A measure of two gains by wave; signs need no link between the channels' scales."""
    waves, gains, size = by_wave
    compared = [both] if measure.kind == names.OMEGA else both.parts
    no_retries = signs.refusal(data, waves, measure)
    refused = [
        *(_unlinked(data, part) for part in compared),
        _unseen(data, reduced, both),
        no_retries,
    ]
    why = next(filter(None, refused), None)
    if no_retries is not None:
        return Applied(np.full(len(gains), np.nan), size, why)
    values = signs.values(gains, measure, size)
    pair = signs.mean_gains(gains) if measure.kind == names.OMEGA else None
    return Applied(values, 1.0 if measure.limits else size, why, gains=pair)


def _ranking(data: Sample, estimand: Estimand, reduced: Reduced) -> Applied:
    """Scores of two channels, where the outcome is known; ranks need no link between scales."""
    assert estimand.measure is not None
    assert estimand.measure.outcome is not None
    attribute, level = estimand.measure.outcome
    known = held(data, estimand.name, attribute, [level]) != ""
    both = estimand.contrast
    pair = [contrast_values(reduced.cells, endpoint).values for endpoint in both.parts]
    values = contrast_values(reduced.cells, both).values
    return Applied(
        np.where(known, values, np.nan),
        1.0,
        _unseen(data, reduced, both),
        scores=np.stack(pair, axis=1),
        lacking=(np.isfinite(values) & ~known, f"complete scores and no {attribute}"),
    )


def _beliefs(data: Sample, estimand: Estimand, measure: Measure, reduced: Reduced) -> Applied:
    """A measure of the beliefs within the channel, or channels, of a gain."""
    gain = _contrast(data, reduced, estimand.contrast)
    if names.OPTION_SCORE not in data.scores:
        return Applied(np.full(len(gain.values), np.nan), 1.0, beliefs.WITHOUT)
    before, after = beliefs.endpoints(data, estimand.contrast, estimand.wave)
    there = beliefs.complete(before, after)
    lacking = np.isfinite(gain.values) & ~there, beliefs.LIMITED
    if measure.kind == names.MARGIN_GAIN:
        values, size = np.where(there, gain.values, np.nan), gain.size
    else:
        target = data.scores[names.TARGET_OPTION].values
        values = beliefs.values(before, after, target, measure.kind)
        size = 1.0 if measure.statistic == names.RATE else beliefs.size(before, after)
    return Applied(values, size, gain.refused, lacking=lacking)


def _agreement(
    data: Sample, estimand: Estimand, compared: tuple[str, ...], agreed: Agreed
) -> Applied:
    """How often scores are the same; of two levels of a channel, at all those of the second."""
    found = agreed(compared[:2], estimand.wave)
    why = agreement.refusal(data, estimand, compared, found)
    return Applied(agreement.values(estimand, found), 1.0, why)


def _unlinked(data: Sample, contrast: Contrast) -> dict[str, Any] | None:
    return contrasts.scale_refusal(contrast, scores.scale_factors(data.scores))


def _unseen(data: Sample, reduced: Reduced, contrast: Contrast) -> dict[str, Any] | None:
    """Refusal of a contrast with cells that nobody measured; of an empty cohort nothing is said."""
    return contrasts.refusal(contrast, reduced.observed) if data.units else None
