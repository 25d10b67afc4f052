"""Which scores are the same: replicates of a cell among themselves, or two levels of a channel.

Two margins are the same where their difference is zero, up to the rounding that a gain has; two
sets of option scores where the same candidate is alone on top, so that a tie agrees with nothing,
not even with itself.

Invariant: a cell has a rate where all the scores that it compares are known and nowhere else; who
is on top is known where no limit of a censored score reaches the best exact one. Pinned by
`tests/test_agreement.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import ContrastError
from fourcorner.scores.cells import factors, is_finite, measured, of_waves, replicate_dims
from fourcorner.scores.margins import ROUNDING, option_sizes
from fourcorner.sections import nearest

Floats = NDArray[np.float64]


class Agreement(NamedTuple):
    """How often scores are the same, by cell.

    Attributes
    ----------
    rate : xarray.DataArray
        Dims of `fourcorner.scores.cells`; NaN unless every score that is compared is known.
    known : xarray.DataArray of bool
        The same dims: whether every replicate of the cell itself has a score, or a top candidate.
    """

    rate: xr.DataArray
    known: xr.DataArray


class _Said(NamedTuple):
    """What each score says: a number, or the place of the top candidate; NaN where unknown."""

    value: xr.DataArray
    tied: xr.DataArray


def agreement(
    scores: xr.Dataset, factor: str, level: str | None = None, wave: Sequence[str] = ()
) -> Agreement:
    """Share of the replicate settings of each cell in which scores are the same.

    Parameters
    ----------
    scores : xarray.Dataset
        As `read_scores` returns it.
    factor : str
        A replicate factor, all levels of which are compared within each setting of the others; or
        a channel factor, at each level of which a cell is compared with `level` of it.
    level : str, optional
        Of a channel factor.
    wave : sequence of str
        The waves that count; empty for all.

    Returns
    -------
    Agreement

    Raises
    ------
    ContrastError
        If the scores have no such factor or level.
    OptionError
        If they have no such wave.
    """
    replicates = replicate_dims(scores)
    if level is None:
        _require("replicate factor", factor, replicates, _as_pair(factor, scores))
    else:
        channels = _channels(scores)
        _require("channel factor", factor, channels, _as_replicate(factor, scores))
        _require(f"level of {factor}", level, channels[factor])
    said = _said(of_waves(scores, wave))
    known = is_finite(said.value).all(replicates)
    if level is None:
        ends = said.value.min(factor, skipna=False), said.value.max(factor, skipna=False)
        same = _equal(*ends) & ~said.tied.any(factor)
        settings = [dim for dim in replicates if dim != factor]
        return Agreement(same.mean(settings).where(known), known)
    at_level = {factor: level}
    reference = said.value.sel(at_level, drop=True).broadcast_like(said.value)
    tied = said.tied | said.tied.sel(at_level, drop=True)
    same = _equal(said.value, reference.transpose(*said.value.dims)) & ~tied
    both = known & known.sel(at_level, drop=True)
    return Agreement(same.mean(replicates).where(both), known)


def _channels(scores: xr.Dataset) -> dict[str, list[str]]:
    return {name: found for name, found in factors(scores).items() if name != names.STATE}


def _require(
    what: str, got: str, known: Sequence[str] | dict[str, list[str]], instead: str = ""
) -> None:
    if got not in known:
        near = nearest(got, known)
        raise ContrastError(f"no {what} {got!r}{near}; there are {list(known)}{instead}")


def _as_pair(factor: str, scores: xr.Dataset) -> str:
    """What to write where a channel factor is asked for as a replicate."""
    if factor not in _channels(scores):
        return ""
    pair = f"{{{factor!r}: (first, second)}}"
    return f"; it is a channel factor, of which two levels are compared: {pair}"


def _as_replicate(factor: str, scores: xr.Dataset) -> str:
    """What to write where a replicate factor is asked for as a channel."""
    if factor not in replicate_dims(scores):
        return ""
    some = ", some waves with wave = (…)" if factor == names.WAVE else ""
    return f"; it is a replicate factor, all of whose levels are compared: of = {factor!r}{some}"


def _said(scores: xr.Dataset) -> _Said:
    if names.OPTION_SCORE not in scores:
        return _Said(scores[names.SCORE], xr.zeros_like(scores[names.SCORE], dtype=bool))
    given, censored = scores[names.OPTION_SCORE], scores[names.CENSORED]
    there = is_finite(given) & (scores[names.OPTION_ID] != "")
    exact = given.where(there & ~censored, -np.inf).values
    limit = given.where(there & censored, -np.inf).values.max(axis=-1)
    place = exact.argmax(axis=-1)
    rivals = exact.copy()
    np.put_along_axis(rivals, place[..., None], -np.inf, axis=-1)
    best, second = exact.max(axis=-1), rivals.max(axis=-1)
    known = measured(scores)
    sizes = option_sizes(scores, []).values
    beyond = known.copy(data=(best > limit) & ~_close(best, limit, sizes))
    value = known.copy(data=place.astype(float)).where(known & beyond)
    return _Said(value, known.copy(data=_close(best, second, sizes)))


def _equal(one: xr.DataArray, other: xr.DataArray) -> xr.DataArray:
    return one.copy(data=_close(one.values, other.values))


def _close(one: Floats, other: Floats, sizes: Floats | float = 0.0) -> NDArray[np.bool_]:
    """Whether numbers are the same but for the rounding of themselves and of what they come from.

    Infinite ones are only if both are.
    """
    return np.isclose(one, other, rtol=2 * ROUNDING, atol=2 * ROUNDING * np.nan_to_num(sizes))
