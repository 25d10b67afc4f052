"""Cells of a scores Dataset: replicates and options reduced, incomplete endpoints left out.

Invariant: a cell is NaN unless every replicate of it is measured and no censoring limit is in the
way. Pinned by `tests/test_scores.py`, `tests/test_options.py` and `tests/test_waves.py`.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import OptionError
from fourcorner.scores.margins import ROUNDING, largest, margin_bounds, without_trace
from fourcorner.sections import nearest


def cells(scores: xr.Dataset, wave: Sequence[str] = ()) -> xr.DataArray:
    """Reduced cell values, NaN unless every replicate is measured.

    Margins are averaged over replicates. Option scores become margins within each wave, by the
    spec's reducer: ``mean_then_margin`` averages each option over the other replicates first,
    ``margin_then_mean`` takes the margin of each replicate; then waves are averaged. Terms that
    cancel leave a trace of either sign; a value that small beside them is zero.

    Parameters
    ----------
    scores : xarray.Dataset
        As `read_scores` returns it.
    wave : sequence of str
        The waves that count; empty for all.

    Returns
    -------
    xarray.DataArray
        Dims (transition, state, one per channel factor), no state without a change; native units.

    Raises
    ------
    OptionError
        If a wave is not one of the data's.
    """
    low, _, exact = _reduced(scores, wave)
    return low.where(exact).rename(names.CELLS)


def as_margins(scores: xr.Dataset) -> xr.Dataset:
    """Scores that are margins, of each wave and each replicate that is not averaged before.

    Parameters
    ----------
    scores : xarray.Dataset
        As `read_scores` returns it; margins stay as they are.

    Returns
    -------
    xarray.Dataset
        With the same `cells`, of all waves and of some, whose options need no second reduction.
    """
    if names.OPTION_SCORE not in scores:
        return scores
    averaged, left = reduction(scores)
    low, high = margin_bounds(scores, averaged)
    exact = (low == high) & is_finite(low)
    found = xr.Dataset({names.SCORE: low.where(exact)}, attrs=scores.attrs)
    return found.assign_attrs(replicates="\n".join(left))


def censoring_bounds(
    scores: xr.Dataset, wave: Sequence[str] = ()
) -> tuple[xr.DataArray, xr.DataArray]:
    """The least and the greatest value of each cell that censoring limits allow.

    Parameters
    ----------
    scores : xarray.Dataset
    wave : sequence of str
        The waves that count; empty for all.

    Returns
    -------
    low, high : xarray.DataArray
        Dims of `cells`; both the cell where it is exact, infinite on a side without limit, NaN
        where something else than a limit is missing.

    Raises
    ------
    OptionError
        If a wave is not one of the data's.
    """
    low, high, exact = _reduced(scores, wave)
    return low.rename("low"), high.where(~exact, low).rename("high")


def _reduced(
    scores: xr.Dataset, wave: Sequence[str]
) -> tuple[xr.DataArray, xr.DataArray, xr.DataArray]:
    """Least and greatest value of each cell, and whether it is measured and they agree."""
    chosen = of_waves(scores, wave)
    if names.OPTION_SCORE not in scores:
        mean = _mean(chosen[names.SCORE], replicate_dims(scores))
        return mean, mean, is_finite(mean)
    averaged, left = reduction(scores)
    low, high = margin_bounds(chosen, averaged)
    exact = ((low == high) & is_finite(low)).all(left)
    return _mean(low, left), _mean(high, left), exact


def _mean(array: xr.DataArray, dims: Sequence[str]) -> xr.DataArray:
    if not dims:
        return array
    mean = array.mean(dims, skipna=False)
    if not (abs(mean.values) <= ROUNDING * largest(array.values)).any():
        return mean  # nothing can be a trace, so sizes need not be summed
    return without_trace(mean, abs(array).mean(dims, skipna=False))


def reduction(scores: xr.Dataset) -> tuple[list[str], list[str]]:
    """Replicate dims that option scores are averaged over first, and those left for afterwards."""
    replicates = replicate_dims(scores)
    first = scores.attrs["reducer"] == names.MEAN_THEN_MARGIN
    averaged = [dim for dim in replicates if first and dim != names.WAVE]
    return averaged, [dim for dim in replicates if dim not in averaged]


def of_waves(scores: xr.Dataset, wave: Sequence[str]) -> xr.Dataset:
    """The scores of some waves, or of all where none is named."""
    if not wave:
        return scores
    known = waves(scores)
    for level in wave:
        if level not in known:
            has = f"the waves are {known}" if known else "the scores have no replicate 'wave'"
            raise OptionError(f"no wave {level!r}{nearest(level, known)}; {has}")
    if len(set(wave)) < len(wave):
        raise OptionError(f"wave = {list(wave)} names a wave twice")
    return scores.sel({names.WAVE: list(wave)})


def factors(scores: xr.Dataset | xr.DataArray) -> dict[str, list[str]]:
    """The cell factors and their levels: the change first, where there is one, then channels."""
    array = scores if isinstance(scores, xr.DataArray) else scores[names.SCORE]
    replicates = replicate_dims(scores)
    skip = {names.TRANSITION, names.UNIT, *replicates}
    return {str(dim): [str(x) for x in array[dim].values] for dim in array.dims if dim not in skip}


def replicate_dims(scores: xr.Dataset | xr.DataArray) -> list[str]:
    """The replicate dims, averaged by `cells`."""
    return _listed(scores, "replicates")


def scale_factors(scores: xr.Dataset) -> list[str]:
    """The channel factors whose levels live on unlinked scales."""
    return _listed(scores, "scale")


def waves(scores: xr.Dataset) -> list[str]:
    """The levels of the replicate factor ``wave`` in their order; none where it is not declared."""
    return scores[names.WAVE].values.tolist() if names.WAVE in replicate_dims(scores) else []


def strata(scores: xr.Dataset) -> list[str]:
    """Every stratum of the data in text order; one unnamed stratum where none is declared."""
    if names.STRATUM not in scores.coords:
        return [""]
    return sorted(set(scores[names.STRATUM].values.tolist()))


def joint(reduced: xr.DataArray) -> NDArray[np.bool_]:
    """Which transitions are complete in every cell: shape (transitions,)."""
    dims = [dim for dim in reduced.dims if dim != names.TRANSITION]
    return np.asarray(is_finite(reduced).all(dims))


def measured(scores: xr.Dataset) -> xr.DataArray:
    """Whether each replicate has its score, of every option where options are scored.

    A censored score counts: its limit was measured.
    """
    if names.OPTION_SCORE not in scores:
        return is_finite(scores[names.SCORE])
    there = is_finite(scores[names.OPTION_SCORE]) | (scores[names.OPTION_ID] == "")
    return there.all(names.OPTION).transpose(*scores[names.SCORE].dims)


def measured_cells(scores: xr.Dataset, wave: Sequence[str] = ()) -> xr.DataArray:
    """Whether every replicate of each cell is `measured`, in some waves or in all.

    A cell that is and has no value has a score that is only an upper limit. Dims of `cells`.
    """
    return measured(of_waves(scores, wave)).all(replicate_dims(scores))


def is_finite(array: xr.DataArray) -> xr.DataArray:
    """Whether each number is finite, with the same dims."""
    return array.copy(data=np.isfinite(array.values))


def _listed(scores: xr.Dataset | xr.DataArray, key: str) -> list[str]:
    listed = scores.attrs.get(key, "")
    return listed.split("\n") if listed else []
