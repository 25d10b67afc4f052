"""Bounds from censored scores: what the cohort's mean could be, whatever was cut off.

A score that is only an upper limit leaves its cell open on one side. A contrast is least where
cells of positive weight are at their low ends and cells of negative weight at their high ends; a
share of negatives is least where every contrast is at its high end.

Invariant: the bounds hold the estimate under every completion that the limits allow, and each
finite end is attained. Pinned by `tests/test_bounds.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from fourcorner import names, scores
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.design import applied, engine, means, refusals
from fourcorner.design.cohort import Sample
from fourcorner.design.options import Options
from fourcorner.design.parts import Floats, Part, is_share, parts
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate
from fourcorner.weights import TargetWeights

KIND = "bounds"
CONTRASTS = {names.FIRST_GAIN, names.SECOND_GAIN, names.OMEGA, names.MARGIN_GAIN}
MEANING = "bounds of this cohort's own value whatever was cut off, without sampling error"


def censoring_bounds(
    data: Sample, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Estimate]:
    """Bounds of every mean and share that a censored score enters, under every mixture.

    Parameters
    ----------
    data : Sample
    estimands, weights
        As for `fourcorner.design.engine.estimate`. Of signs and beliefs the mean gains have bounds
        and no other row; ranks and agreement have none.

    Returns
    -------
    list of Estimate
        Method ``censoring_bounds``: `value` is the complete-case estimate, `interval` the bounds
        where both are finite, else None with the finite one in the notes. `units` and
        `transitions` count the censored too. Nothing for an estimand without a censored
        transition, or that is refused.
    """
    if names.CENSORED not in data.scores or not data.scores[names.CENSORED].any():
        return []
    found: list[Estimate] = []
    for estimand in estimands:
        if is_bounded(estimand):
            low, high = scores.censoring_bounds(data.scores, estimand.wave)
            found += of_cells(data, estimand, weights, low, high)
    return found


def is_bounded(estimand: Estimand) -> bool:
    """Whether an estimand is a mean, or a share, of what a contrast is of each transition."""
    if estimand.measure is not None:
        return estimand.measure.kind in CONTRASTS
    return estimand.statistic not in refusals.RANKED


def of_cells(
    data: Sample,
    estimand: Estimand,
    weights: Sequence[TargetWeights],
    low: xr.DataArray,
    high: xr.DataArray,
) -> Iterator[Estimate]:
    """Rows of one estimand, from the least and the greatest that each cell can be.

    Parameters
    ----------
    data, estimand, weights
    low, high : DataArray with dims (transition, state, channels)
        Equal where a cell is exact, infinite where a side is open, NaN where it is missing for
        another reason.
    """
    (counted,) = applied.applied(data, [estimand])
    taken = applied.own(estimand)
    exact = contrast_values(data.cells(estimand.wave), taken).values
    # a family's transitions are those that were measured in all of its cells
    measured = ~np.isnan(_end(low, high, estimand.contrast))
    ends = [
        np.where(measured, np.where(np.isfinite(exact), exact, _end(a, b, taken)), np.nan)
        for a, b in ((low, high), (high, low))
    ]
    below, above = [_groups(data, estimand, end) for end in _of_statistic(estimand, *ends)]
    used = np.any([part.transitions for part, _ in below], axis=0)
    cut = int((used & ~np.isfinite(counted.values)).sum())
    if not cut:
        return
    for row in engine.run(data, [estimand], weights, Options(draws=0)):
        if row.refused is not None:
            continue
        mixture = next(item for item in weights if item.name == row.weights)
        bounds = _bound(data, mixture, below, above), _bound(data, mixture, above, below)
        finite = bool(np.isfinite(bounds).all())
        yield replace(
            row,
            method=names.CENSORING_BOUNDS,
            population=names.POPULATION_COHORT,
            interval=bounds if finite else None,
            interval_kind=KIND,
            level=1.0,
            resampling="",
            flip_ratio=None,
            flip_share=None,
            units=len(np.unique(data.unit[used])),
            transitions=int(used.sum()),
            notes=(
                f"{cut} of {int(used.sum())} transitions are censored; the value is of the others",
                MEANING,
                *_open(*bounds),
            ),
        )


def _end(towards: xr.DataArray, away: xr.DataArray, contrast: Contrast) -> Floats:
    """One end of each transition's contrast: positive cells at `towards`, negative at `away`."""
    factors = {str(dim): towards[dim].values.tolist() for dim in towards.dims[1:]}
    weights = contrast.array(factors).values.ravel()
    flat = [array.values.reshape(len(array), -1) for array in (towards, away)]
    terms = np.where(weights > 0, *flat)[:, weights != 0] * weights[weights != 0]
    return terms.sum(axis=1)


def _of_statistic(estimand: Estimand, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """What to average for the least and the greatest; of a share the sign alone counts."""
    if not is_share(estimand):
        return low, high
    return np.sign(high), np.sign(low)


Group = tuple[Part, Part]  # values, and whether each is infinite


def _groups(data: Sample, estimand: Estimand, end: Floats) -> list[Group]:
    """The estimand's groups at one end, infinite values written 0 and marked."""
    infinite = np.isinf(end)
    marked = np.where(np.isnan(end), np.nan, infinite.astype(float))
    values = parts(data, estimand, np.where(infinite, 0.0, end))
    marks = parts(data, replace(estimand, statistic=names.MEAN), marked)
    return list(zip(values, marks, strict=True))


def _bound(
    data: Sample, mixture: TargetWeights, towards: Sequence[Group], away: Sequence[Group]
) -> float:
    """An end of θ(w): a group that is subtracted enters with its other end."""
    chosen = [a if a[0].sign > 0 else b for a, b in zip(towards, away, strict=True)]
    about, marks = (means.centred(data, side) for side in zip(*chosen, strict=True))
    mix = means.mixing(mixture, about, names.PLAIN)
    weight = mix.strata + mix.pooled
    if (weight * marks.means > 0).any():
        return float("nan")
    return means.estimate(about, mix)


def _open(low: float, high: float) -> Iterator[str]:
    """What is left where an end is open."""
    if np.isnan(low) and np.isnan(high):
        yield "unbounded below and above: a censored score has no lower limit"
    elif np.isnan(high):
        yield f"unbounded above, at least {low:.6g}: a censored score has no lower limit"
    elif np.isnan(low):
        yield f"unbounded below, at most {high:.6g}: a censored score has no lower limit"
