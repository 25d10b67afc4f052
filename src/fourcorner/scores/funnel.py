"""The funnel: how many scores were attempted, and where they went.

Invariant: each stage counts a part of the stage before. Pinned by `tests/test_scores.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.scores.cells import cells, factors, is_finite, joint, strata

STAGES = ("attempted", "present", "finite", "complete", "in_cohort")


def funnel(scores: xr.Dataset) -> dict[str, Any]:
    """Count scores from attempted to in the joint cohort, by channel and stratum.

    Parameters
    ----------
    scores : xarray.Dataset

    Returns
    -------
    dict
        ``attempted``: declared combinations; ``present``: rows in the table; ``finite``: rows
        with a score; ``complete``: scores of endpoints with all their replicates; ``in_cohort``:
        scores of transitions complete in every cell. ``by_channel`` and ``by_stratum`` hold the
        same counts; ``rows_read`` and ``rows_excluded`` count table rows before and by ``where``.
    """
    reduced = cells(scores)
    finite = is_finite(scores[names.SCORE])
    complete = is_finite(reduced).broadcast_like(finite)
    cohort = xr.DataArray(joint(reduced), dims=names.TRANSITION).broadcast_like(finite)
    stages = {
        "attempted": xr.ones_like(finite),
        "present": scores[names.PRESENT],
        "finite": finite,
        "complete": complete,
        "in_cohort": cohort,
    }
    channel = [dim for dim in factors(scores) if dim != names.STATE]
    in_joint = joint(reduced)
    units = scores[names.UNIT].values
    return {
        "rows_read": int(scores.attrs["rows_read"]),
        "rows_excluded": int(scores.attrs["rows_excluded"]),
        "units": len(set(units.tolist())),
        "units_in_cohort": len(set(units[in_joint].tolist())),
        "transitions": scores.sizes[names.TRANSITION],
        "transitions_in_cohort": int(in_joint.sum()),
        **{stage: int(flags.sum()) for stage, flags in stages.items()},
        "by_channel": list(_counts_by_channel(stages, channel)),
        "by_stratum": list(_counts_by_stratum(stages, scores)),
    }


def _counts_by_channel(
    stages: Mapping[str, xr.DataArray], channel: Sequence[str]
) -> Iterator[dict[str, Any]]:
    keep = [names.STATE, *channel]
    counted = {
        stage: flags.sum([dim for dim in flags.dims if dim not in keep]).transpose(*keep)
        for stage, flags in stages.items()
    }
    first = counted["attempted"]
    for place in np.ndindex(first.shape):
        cell = {dim: str(first[dim].values[i]) for dim, i in zip(keep, place, strict=True)}
        yield {
            "cell": cell,
            **{stage: int(array.values[place]) for stage, array in counted.items()},
        }


def _counts_by_stratum(
    stages: Mapping[str, xr.DataArray], scores: xr.Dataset
) -> Iterator[dict[str, Any]]:
    if names.STRATUM not in scores.coords:
        return
    labels = scores[names.STRATUM].values
    units = scores[names.UNIT].values
    per_transition = {
        stage: flags.sum([dim for dim in flags.dims if dim != names.TRANSITION]).values
        for stage, flags in stages.items()
    }
    for stratum in strata(scores):
        inside = labels == stratum
        counts = {stage: int(values[inside].sum()) for stage, values in per_transition.items()}
        yield {"stratum": stratum, "units": len(set(units[inside].tolist())), **counts}
