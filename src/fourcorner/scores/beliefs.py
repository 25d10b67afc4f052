"""Option scores reduced over replicates, and the beliefs that they hold.

A belief is the softmax of one endpoint's option scores: how the evaluator's preference is shared
among the candidates, whatever else it could have said. Of a binary readout it is the softmax of
yes less no.

Invariant: a belief rests on the exact score of every candidate in every replicate that it
averages; a constant added to all of them changes nothing, and nothing overflows. Pinned by
`tests/test_beliefs.py`.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.scores.cells import of_waves, reduction
from fourcorner.scores.margins import option_sizes, without_trace

Floats = NDArray[np.float64]


def reduced_options(scores: xr.Dataset, wave: Sequence[str] = ()) -> xr.DataArray:
    """Option scores averaged over the replicates that the reducer averages first.

    Parameters
    ----------
    scores : xarray.Dataset
        With option scores.
    wave : sequence of str
        The waves that count; empty for all.

    Returns
    -------
    xarray.DataArray
        Dims of ``option_score`` without those that are averaged: all replicates but waves under
        ``mean_then_margin``, none under ``margin_then_mean``. NaN where a score is missing or only
        a limit, minus infinity in a place that holds no candidate.

    Raises
    ------
    OptionError
        If a wave is not one of the data's.
    """
    chosen = of_waves(scores, wave)
    averaged, _ = reduction(scores)
    exact = chosen[names.OPTION_SCORE].where(~chosen[names.CENSORED])
    sizes = abs(exact).mean(averaged, skipna=False)
    mean = without_trace(exact.mean(averaged, skipna=False), sizes)
    return mean.where(chosen[names.OPTION_ID] != "", -np.inf).transpose(*mean.dims)


def reduced_sizes(scores: xr.Dataset, wave: Sequence[str] = ()) -> xr.DataArray:
    """How large the numbers are that `reduced_options` are made of, at most: its dims but one.

    Parameters
    ----------
    scores : xarray.Dataset
    wave : sequence of str

    Returns
    -------
    xarray.DataArray
        Without the dim ``option``; NaN where no option is measured.
    """
    averaged, _ = reduction(scores)
    return option_sizes(of_waves(scores, wave), averaged)


def log_softmax(scores: Floats) -> Floats:
    """Logarithms of the shares that scores hold, along the last axis.

    Parameters
    ----------
    scores : ndarray of shape (..., candidates)
        Minus infinity where there is no candidate; one is finite.

    Returns
    -------
    ndarray of the same shape
        Minus infinity where the scores are.

    Examples
    --------
    >>> log_softmax(np.array([0.0, -1000.0])).tolist()
    [0.0, -1000.0]
    """
    apart = scores - scores.max(axis=-1, keepdims=True)
    return np.asarray(apart - np.log(np.exp(apart).sum(axis=-1, keepdims=True)))
