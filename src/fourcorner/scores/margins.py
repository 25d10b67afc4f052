"""Margins of option scores: the target's score minus its nearest competitor's, within its bounds.

A censored score is only an upper limit. The margin then lies between the one with the limits as
if they were reached and the one with the censored options at minus infinity; it is exact where
the two agree, which is where no limit is above the best exact competitor.

Invariant: low <= margin <= high for every value that the limits allow, and both are attained.
Pinned by `tests/test_options.py`.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names

ROUNDING = 16 * float(np.finfo(float).eps)  # relative; of a few dozen operations


def margin_bounds(scores: xr.Dataset, averaged: Sequence[str]) -> tuple[xr.DataArray, xr.DataArray]:
    """The least and the greatest margin of each cell, options being averaged first.

    Parameters
    ----------
    scores : xarray.Dataset
        With ``option_score`` and its coordinates.
    averaged : sequence of str
        Replicate dims over which each option's score is averaged before the margin is taken; a
        mean is an upper limit when any part of it is.

    Returns
    -------
    low, high : xarray.DataArray
        Dims of ``score`` without the averaged ones; equal where the margin is exact, NaN where
        an option of the unit was not measured.
    """
    given = scores[names.OPTION_SCORE]
    limit = given.mean(averaged, skipna=False)
    terms = 2 * option_sizes(scores, averaged)  # what averages may have cancelled
    censored = scores[names.CENSORED].any(averaged)
    floor = limit.where(~censored | limit.isnull(), -np.inf)
    option = xr.DataArray(np.arange(scores.sizes[names.OPTION]), dims=names.OPTION)
    is_target = option == scores[names.TARGET_OPTION]
    is_rival = ~is_target & (scores[names.OPTION_ID] != "")

    def margin(own: xr.DataArray, rival: xr.DataArray) -> xr.DataArray:
        target = own.where(is_target, -np.inf).max(names.OPTION, skipna=False)
        nearest = rival.where(is_rival, -np.inf).max(names.OPTION, skipna=False)
        return without_trace(target - nearest, abs(target) + abs(nearest) + terms)

    dims = [dim for dim in scores[names.SCORE].dims if dim not in averaged]
    bounds = margin(floor, limit), margin(limit, floor)
    return bounds[0].transpose(*dims), bounds[1].transpose(*dims)


def option_sizes(scores: xr.Dataset, averaged: Sequence[str]) -> xr.DataArray:
    """How large the numbers are that averaged option scores are made of, at most.

    Beside it the rounding of a difference of two of them is nothing. The score of a binary readout
    is itself a difference, and small where both of its log-probabilities are large.

    Parameters
    ----------
    scores : xarray.Dataset
        With ``option_score``.
    averaged : sequence of str
        Replicate dims over which each option's score is averaged.

    Returns
    -------
    xarray.DataArray
        Dims of ``option_score`` without those and without the options; NaN where none is measured.
    """
    sizes = scores.get(names.OPTION_SIZE)
    if sizes is None:
        sizes = abs(scores[names.OPTION_SCORE])
    return sizes.mean(averaged).max(names.OPTION)


def without_trace(difference: xr.DataArray, size: xr.DataArray) -> xr.DataArray:
    """Zero where a difference is but the rounding of terms of that size."""
    trace = (abs(difference) <= ROUNDING * size) & (size < np.inf)
    return difference.where(~trace, 0.0)


def largest(values: NDArray[np.float64]) -> float:
    """The largest absolute value, those that are missing aside, without a copy of them all."""
    high = np.fmax.reduce(values, axis=None, initial=0.0)
    return max(float(high), -float(np.fmin.reduce(values, axis=None, initial=0.0)))
