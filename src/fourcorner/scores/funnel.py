"""The funnel: how many scores were attempted, where they went, and why.

Invariant: each stage counts a part of the stage before, and the reasons add up to what is lost
from the first to the last. Pinned by `tests/test_scores.py` and `tests/test_options.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.scores.cells import (
    cells,
    factors,
    is_finite,
    joint,
    measured,
    replicate_dims,
    strata,
)
from fourcorner.scores.copies import copied_levels

STAGES = ("attempted", "present", "finite", "complete", "in_cohort")
REASONS = ("no_row", "blank", "censored", "other_replicate_missing", "other_cell_missing")
Flags = Mapping[str, xr.DataArray]


def funnel(scores: xr.Dataset) -> dict[str, Any]:
    """Count scores from attempted to in the joint cohort, by channel, stratum and replicate.

    Parameters
    ----------
    scores : xarray.Dataset

    Returns
    -------
    dict
        ``attempted``: declared combinations; ``present``: rows in the table, one for each option
        where options are scored; ``finite``: rows with a score; ``complete``: scores of endpoints
        with all their replicates; ``in_cohort``: scores of transitions complete in every cell.
        ``reasons`` counts what is lost on the way: ``no_row``, ``blank``, ``censored`` (a limit is
        in the way of the margin), ``other_replicate_missing`` and ``other_cell_missing``.
        ``by_channel``, ``by_stratum`` and ``by_replicate`` hold the same counts; ``rows_read`` and
        ``rows_excluded`` count table rows before and by ``where``; ``warnings`` names levels of a
        replicate factor that repeat others.
    """
    reduced = cells(scores)
    stages = _stages(scores, reduced)
    flags = {**stages, **_reasons(scores, stages)}
    in_joint = joint(reduced)
    units = scores[names.UNIT].values
    return {
        "rows_read": int(scores.attrs["rows_read"]),
        "rows_excluded": int(scores.attrs["rows_excluded"]),
        "units": len(set(units.tolist())),
        "units_in_cohort": len(set(units[in_joint].tolist())),
        "transitions": scores.sizes[names.TRANSITION],
        "transitions_in_cohort": int(in_joint.sum()),
        **_told({name: int(flag.sum()) for name, flag in flags.items()}),
        "by_channel": list(_by_channel(flags, list(factors(scores)))),
        "by_stratum": list(_by_stratum(flags, scores)),
        "by_replicate": list(_by_replicate(flags, scores)),
        "warnings": list(copied_levels(scores)),
    }


def _stages(scores: xr.Dataset, reduced: xr.DataArray) -> dict[str, xr.DataArray]:
    finite = measured(scores)
    cohort = xr.DataArray(joint(reduced), dims=names.TRANSITION)
    return {
        "attempted": xr.ones_like(finite),
        "present": scores[names.PRESENT],
        "finite": finite,
        "complete": is_finite(reduced).broadcast_like(finite),
        "in_cohort": cohort.broadcast_like(finite),
    }


def _reasons(scores: xr.Dataset, stages: Flags) -> dict[str, xr.DataArray]:
    """Why a score is not in the cohort, one reason for each."""
    finite, complete = stages["finite"], stages["complete"]
    whole = finite.all(replicate_dims(scores)).broadcast_like(finite)
    return {
        "no_row": ~stages["present"],
        "blank": stages["present"] & ~finite,
        "censored": whole & ~complete,
        "other_replicate_missing": finite & ~whole,
        "other_cell_missing": complete & ~stages["in_cohort"],
    }


def _told(counts: Mapping[str, int]) -> dict[str, Any]:
    """Stages side by side, reasons in a table of their own."""
    stages: dict[str, Any] = {stage: counts[stage] for stage in STAGES}
    return {**stages, "reasons": {reason: counts[reason] for reason in REASONS}}


def _by_channel(flags: Flags, keep: Sequence[str]) -> Iterator[dict[str, Any]]:
    counted = {
        name: flag.sum([dim for dim in flag.dims if dim not in keep]).transpose(*keep)
        for name, flag in flags.items()
    }
    first = counted["attempted"]
    for place in np.ndindex(first.shape):
        cell = {dim: str(first[dim].values[i]) for dim, i in zip(keep, place, strict=True)}
        yield {
            "cell": cell,
            **_told({name: int(array.values[place]) for name, array in counted.items()}),
        }


def _by_stratum(flags: Flags, scores: xr.Dataset) -> Iterator[dict[str, Any]]:
    if names.STRATUM not in scores.coords:
        return
    labels = scores[names.STRATUM].values
    units = scores[names.UNIT].values
    counted = _along(flags, names.TRANSITION)
    for stratum in strata(scores):
        inside = labels == stratum
        counts = {name: int(values[inside].sum()) for name, values in counted.items()}
        yield {"stratum": stratum, "units": len(set(units[inside].tolist())), **_told(counts)}


def _by_replicate(flags: Flags, scores: xr.Dataset) -> Iterator[dict[str, Any]]:
    for factor in replicate_dims(scores):
        counted = _along(flags, factor)
        for place, level in enumerate(scores[factor].values.tolist()):
            counts = {name: int(values[place]) for name, values in counted.items()}
            yield {"factor": factor, "level": level, **_told(counts)}


def _along(flags: Flags, dim: str) -> dict[str, Any]:
    """Counts for each place along a dim."""
    return {
        name: flag.sum([other for other in flag.dims if other != dim]).values
        for name, flag in flags.items()
    }
