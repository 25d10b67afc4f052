"""What each estimand is of each transition of the cohort, and why there is nothing.

Invariant: estimands that share waves, contrast and measure share their values; a row that takes a
part of its family's contrast is refused for that part's own cells, or said to lack the others.
Pinned by `tests/test_parts.py`, `tests/test_signs.py`, `tests/test_beliefs.py`,
`tests/test_auc.py` and `tests/test_agreement.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names, scores
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.design import agreement, beliefs, benchmark, refusals, retries, signs
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import check_levels, held
from fourcorner.estimands import Estimand
from fourcorner.measures import Measure
from fourcorner.scores import Agreement

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Wave = tuple[str, ...]

LIMITED = "in which some score is only an upper limit"
OWN = {
    **dict.fromkeys((names.FIRST_GAIN, names.AUC_FIRST, names.BEFORE_SHIFT), 0),
    **dict.fromkeys((names.SECOND_GAIN, names.AUC_SECOND, names.AFTER_SHIFT), 1),
}


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
    sizes : (float, float)
        Of the scores that each channel's gains are made of.
    """

    waves: Wave
    gains: Floats
    sizes: tuple[float, float]


class Pair(NamedTuple):
    """What each transition has in two channels: scores that rank, or gains.

    Attributes
    ----------
    values : ndarray of shape (transitions, 2)
    sizes : (float, float)
        Of the scores that they are made of.
    """

    values: Floats
    sizes: tuple[float, float]


class Lacking(NamedTuple):
    """Which transitions are out for want of something, and of what, in words."""

    which: Mask
    what: str


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
    ranked : Pair or None
        Of a ranking: the scores in both channels. Of two: those before, then those after.
    gains : Pair or None
        Of the difference of two gains: both of them.
    lacking : tuple of Lacking
        Transitions that were measured in the contrast's whole support and yet have no value.
    """

    values: Floats
    size: float
    refused: dict[str, Any] | None
    ranked: Pair | None = None
    gains: Pair | None = None
    lacking: tuple[Lacking, ...] = ()


class Reading(NamedTuple):
    """A sample and what estimands take of it, each taken once.

    Attributes
    ----------
    data : Sample
    cells, gains, agreed : callable
        Reduced cells of some waves; two gains in each; how often scores are the same.
    limits : callable
        Which cells of some waves have all their scores, limits counting; None without limits.
    """

    data: Sample
    cells: Callable[[Wave], Reduced]
    gains: Callable[[Wave, Contrast], ByWave]
    agreed: Callable[[tuple[str, ...], Wave], Agreement]
    limits: Callable[[Wave], xr.DataArray | None]


def applied(data: Sample, estimands: Sequence[Estimand]) -> Iterator[Applied]:
    """Each estimand, in order, applied to the sample.

    Raises
    ------
    ContrastError
        If one names a factor, level or attribute that the scores do not have.
    """
    check_levels(data, estimands)
    of = _reading(data)
    found: dict[tuple[Wave, Contrast, Measure | None], Applied] = {}
    for estimand in estimands:
        key = estimand.wave, estimand.contrast, estimand.measure
        if key not in found:
            found[key] = _apply(of, estimand)
        yield found[key]


def own(estimand: Estimand) -> Contrast:
    """What an estimand takes of each transition: all of its family's contrast, or a part of it."""
    if estimand.measure is None or estimand.measure.kind not in OWN:
        return estimand.contrast
    return estimand.contrast.parts[OWN[estimand.measure.kind]]


def _reading(data: Sample) -> Reading:
    @cache
    def cells(wave: Wave) -> Reduced:
        found = data.cells(wave)
        return Reduced(found, found.notnull().any(names.TRANSITION))

    @cache
    def gains(wave: Wave, both: Contrast) -> ByWave:
        waves = wave or tuple(scores.waves(data.scores))
        reduced = [cells((level,)) for level in waves] or [cells(())]
        found = [[contrast_values(one.cells, gain) for gain in both.parts] for one in reduced]
        values = [np.stack([gain.values for gain in pair], axis=-1) for pair in found]
        first, second = (max(gain.size for gain in channel) for channel in zip(*found, strict=True))
        return ByWave(waves, np.stack(values, axis=1), (first, second))

    @cache
    def agreed(compared: tuple[str, ...], wave: Wave) -> Agreement:
        return scores.agreement(data.scores, *compared, wave=wave)

    censored = names.CENSORED in data.scores and bool(data.scores[names.CENSORED].any())

    @cache
    def limits(wave: Wave) -> xr.DataArray | None:
        return scores.measured_cells(data.scores, wave) if censored else None

    return Reading(data, cells, gains, agreed, limits)


def _apply(of: Reading, estimand: Estimand) -> Applied:
    if estimand.measure is None:
        return _contrast(of, estimand)
    return RULES[estimand.measure.family](of, estimand, estimand.measure)


def _contrast(of: Reading, estimand: Estimand) -> Applied:
    """Values of a contrast, and why there are none."""
    found = contrast_values(of.cells(estimand.wave).cells, estimand.contrast)
    refused = _both(_unlinked(of.data, estimand.contrast), _unseen(of, estimand))
    pair = _two_gains(of, estimand, found.values)
    return Applied(*found, refused, gains=pair, lacking=_limited(of, estimand, found.values))


def _two_gains(of: Reading, estimand: Estimand, values: Floats) -> Pair | None:
    """The gains whose difference a contrast is, where it has a value; None of another contrast."""
    both = estimand.contrast.parts
    if [part.kind for part in both] != [names.GAIN, names.GAIN]:
        return None
    cells = of.cells(estimand.wave).cells
    first, second = (contrast_values(cells, gain) for gain in both)
    pair = np.stack([first.values, second.values], axis=1)
    return Pair(np.where(np.isfinite(values)[:, None], pair, np.nan), (first.size, second.size))


def _signs(of: Reading, estimand: Estimand, measure: Measure) -> Applied:
    """A measure of two gains by wave."""
    waves, gains, sizes = of.gains(estimand.wave, estimand.contrast)
    size, no_retries = signs.size(measure, sizes), retries.refusal(of.data, waves, measure)
    why = signs.unlinked(of.data, estimand.contrast, measure) or _unseen(of, estimand)
    if no_retries is not None:
        return Applied(np.full(len(gains), np.nan), size, why or no_retries)
    values = signs.values(gains, measure, sizes)
    both = Pair(signs.mean_gains(gains), sizes) if measure.kind == names.OMEGA else None
    return Applied(values, size, why, gains=both, lacking=_limited(of, estimand, values))


def _ranking(of: Reading, estimand: Estimand, measure: Measure) -> Applied:
    """Scores of two channels, where the outcome is known; ranks need no link between scales."""
    assert measure.outcome is not None
    attribute, _ = measure.outcome
    known = held(of.data, attribute) != ""
    both, cells = estimand.contrast, of.cells(estimand.wave).cells
    first, second = (contrast_values(cells, endpoint) for endpoint in both.parts)
    values = contrast_values(cells, both).values
    unknown = Lacking(np.isfinite(values) & ~known, f"with complete scores and no {attribute}")
    limited = (Lacking(which & known, what) for which, what in _limited(of, estimand, values))
    return Applied(
        np.where(known, values, np.nan),
        1.0,
        _unseen(of, estimand),
        ranked=Pair(np.stack([first.values, second.values], axis=1), (first.size, second.size)),
        lacking=(unknown, *limited),
    )


def _beliefs(of: Reading, estimand: Estimand, measure: Measure) -> Applied:
    """A measure of the beliefs within the channel, or channels, of a gain."""
    gain = _contrast(of, estimand)
    if names.OPTION_SCORE not in of.data.scores:
        return Applied(np.full(len(gain.values), np.nan), 1.0, beliefs.WITHOUT)
    before, after = beliefs.endpoints(of.data, estimand.contrast, estimand.wave)
    if measure.kind == names.MARGIN_GAIN:
        values = np.where(beliefs.complete(before, after), gain.values, np.nan)
        size = gain.size
    else:
        target = of.data.scores[names.TARGET_OPTION].values
        values = beliefs.values(before, after, target, measure.kind)
        size = 1.0 if measure.statistic == names.RATE else beliefs.size(before, after)
    return Applied(values, size, gain.refused, lacking=_limited(of, estimand, values))


def _benchmark(of: Reading, estimand: Estimand, measure: Measure) -> Applied:
    """How far two views are apart; orders need no link between their scales."""
    both, cells = estimand.contrast, of.cells(estimand.wave).cells
    whole, part = contrast_values(cells, both), contrast_values(cells, own(estimand))
    complete = np.isfinite(whole.values)
    values, size = np.where(complete, part.values, np.nan), part.size
    why, ranked = _unlinked(of.data, own(estimand)), None
    if measure.kind == names.DISCORDANT:
        ends = [contrast_values(cells, end) for shift in both.parts for end in shift.parts]
        ranked = Pair(np.stack([end.values for end in ends], axis=1), (whole.size, whole.size))
        why, size = None, 1.0
    elif measure.kind == names.DISTANCE:
        waves = estimand.wave or tuple(scores.waves(of.data.scores))
        why = why or retries.refusal(of.data, waves, measure)
        values = np.full(len(values), np.nan)
        if why is None:
            by_wave = [of.cells((level,)).cells for level in waves]
            values, size = benchmark.of_waves(by_wave, both), whole.size
    refused = why or _unseen(of, estimand)
    return Applied(values, size, refused, ranked, lacking=_limited(of, estimand, values))


def _agreement(of: Reading, estimand: Estimand, measure: Measure) -> Applied:
    """How often scores are the same; of two levels of a channel, at all those of the second."""
    found = of.agreed(measure.compared[:2], estimand.wave)
    why = agreement.refusal(of.data, estimand, measure.compared, found)
    values = agreement.values(estimand, found)
    return Applied(values, 1.0, why, lacking=_limited(of, estimand, values))


RULES: Mapping[str, Callable[[Reading, Estimand, Measure], Applied]] = {
    names.SIGNS: _signs,
    names.AUC: _ranking,
    names.BELIEFS: _beliefs,
    names.BENCHMARK: _benchmark,
    names.AGREEMENT: _agreement,
}


def _unlinked(data: Sample, contrast: Contrast) -> dict[str, Any] | None:
    return contrasts.scale_refusal(contrast, scores.scale_factors(data.scores))


def _both(unlinked: dict[str, Any] | None, unseen: dict[str, Any] | None) -> dict[str, Any] | None:
    """Why there is nothing; cells that lack are named though a link between scales lacks too."""
    if unlinked is None or unseen is None:
        return unlinked or unseen
    message = f"{unlinked['message']}; and {unseen['message']}"
    return {**unseen, **unlinked, "message": message}


def _unseen(of: Reading, estimand: Estimand) -> dict[str, Any] | None:
    observed = of.cells(estimand.wave).observed
    return refusals.of_cells(of.data, estimand, own(estimand), observed)


def _limited(of: Reading, estimand: Estimand, values: Floats) -> tuple[Lacking, ...]:
    """Transitions without a value though all of their scores are there, some as limits."""
    there = of.limits(estimand.wave)
    if there is None:
        return ()
    factors = {str(dim): there[dim].values.astype(str).tolist() for dim in there.dims[1:]}
    used = estimand.contrast.dense(factors).ravel() != 0
    measured = there.values.reshape(len(values), -1)[:, used].all(axis=1)
    return (Lacking(measured & ~np.isfinite(values), LIMITED),)
