"""What each level of an attribute or stratum adds to an estimate.

A mean or a share under a mixture is a weighted sum of what its transitions count for, so it falls
into one part for each level. A part is the same estimator on values that are zero elsewhere.

Invariant: the parts of all levels sum to the estimate, whatever the mixture and whether transitions
or units count alike. Pinned by `tests/test_contributions.py`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design import refusals
from fourcorner.design.applied import Applied
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import Floats, is_share, parts
from fourcorner.estimands import Estimand
from fourcorner.weights import TargetWeights

Codes = NDArray[np.int64]
Key = tuple[str, str, str]  # mixture, attribute, level


def contributions(
    data: Sample,
    estimand: Estimand,
    applied: Applied,
    weights: Sequence[TargetWeights],
    attributes: Sequence[str],
) -> Mapping[Key, float]:
    """Parts of an estimate by mixture, attribute and level.

    Parameters
    ----------
    data : Sample
    estimand : Estimand
        A mean, a share or a rate.
    applied : Applied
        The estimand, applied to the sample.
    weights : sequence of TargetWeights
    attributes : sequence of str
        The stratum may be among them.

    Returns
    -------
    mapping of (mixture, attribute, level) to float
        Nothing under a mixture that has no estimate, and nothing of a group contrast.
    """
    if applied.refused or estimand.between is not None:
        return {}
    groups = parts(data, estimand, applied.values)
    counts = groups[0].transitions
    values = applied.values[counts]
    values = (values < 0).astype(float) if is_share(estimand) else values
    found: dict[Key, float] = {}
    for mixture in weights:
        if refusals.of_mixture(data, estimand, groups, mixture):
            continue
        added = values * _coefficients(data, data.unit[counts], estimand.weight_by, mixture)
        for attribute in attributes:
            levels = data.levels[attribute]
            codes = np.searchsorted(levels, data.scores[attribute].values[counts].astype(str))
            sums = np.bincount(codes, added, minlength=len(levels))
            for level, part in zip(levels, sums.tolist(), strict=True):
                found[mixture.name, attribute, level] = part
    return found


def _coefficients(data: Sample, unit: Codes, weight_by: str, mixture: TargetWeights) -> Floats:
    """What each transition's value is multiplied by in an estimate: they sum to one."""
    alike = np.ones(len(unit))
    if weight_by == names.BY_UNIT:
        alike = 1 / np.bincount(unit, minlength=data.units)[unit]
    stratum = data.stratum[unit]
    within = alike / np.bincount(stratum, alike, minlength=len(data.strata))[stratum]
    shares = np.zeros(len(data.strata)) if mixture.shares is None else mixture.shares
    return mixture.empirical * alike / alike.sum() + shares[stratum] * within
