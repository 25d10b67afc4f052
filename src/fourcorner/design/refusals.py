"""What the design engine does not estimate, and why.

Invariant: a refusal says what is missing in the words of the spec. Pinned by
`tests/test_design.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fourcorner import names
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import Part, held
from fourcorner.estimands import Estimand
from fourcorner.measures import BELIEFS
from fourcorner.weights import TargetWeights

RANKED = {names.MEDIAN: "a median", names.TRIMMED_MEAN: "a trimmed mean", names.AUC: "an AUC"}

Refusal = dict[str, Any]


def of_mixture(
    data: Sample, estimand: Estimand, parts: Sequence[Part], mixture: TargetWeights
) -> Refusal | None:
    """Why an estimand has no value under a mixture, or None."""
    lacking = [part for part in parts if not len(part.values)]
    if lacking:
        return {"reason": "no_complete_transition", "message": _no_transition(estimand, lacking[0])}
    if estimand.statistic in RANKED and not is_empirical(mixture):
        message = f"{RANKED[estimand.statistic]} goes with empirical weights only"
        return {"reason": "statistic_needs_empirical_weights", "message": message}
    for part in parts:
        empty = _empty_strata(data, part, mixture)
        if empty:
            where = "" if estimand.between is None else f" where {part.group}"
            message = f"no complete transition in the strata {empty}{where}"
            return {"reason": "empty_stratum", "message": message, "strata": empty}
    return None


def of_outcome(data: Sample, estimand: Estimand, parts: Sequence[Part]) -> Refusal | None:
    """Why an outcome cannot be ranked, or None; it needs transitions with it and without."""
    if estimand.measure is None or estimand.measure.outcome is None:
        return None
    attribute, level = estimand.measure.outcome
    found = held(data, estimand.name, attribute, [level])
    for part in parts:
        there = sorted(set(found[part.transitions].tolist()))
        if len(there) != 2 or level not in there:
            message = (
                f"an AUC needs transitions with {attribute} = {level} and with one other level; "
                f"those of {part.group} have {there}"
            )
            return {"reason": "outcome_not_binary", "message": message}
    return None


def is_empirical(mixture: TargetWeights) -> bool:
    """Whether a mixture is the cohort's own and nothing else."""
    return mixture.shares is None


def omitted(estimand: Estimand, weights: Sequence[TargetWeights]) -> list[str]:
    """Names of the mixtures that an estimand is not given under.

    A median or trimmed mean goes with empirical weights only. Where an empirical mixture is asked
    for too, the others simply do not apply to it; where none is, the rows are refused.
    """
    if estimand.statistic not in RANKED or not any(map(is_empirical, weights)):
        return []
    return [mixture.name for mixture in weights if not is_empirical(mixture)]


def omission(estimand: Estimand, names_left_out: Sequence[str]) -> Iterator[str]:
    """The note that says so."""
    if names_left_out:
        yield (
            f"{RANKED[estimand.statistic]} goes with empirical weights only: "
            f"none under {', '.join(names_left_out)}"
        )


def _no_transition(estimand: Estimand, part: Part) -> str:
    asked = [f"{name} = {' or '.join(levels)}" for name, levels in estimand.where.items()]
    asked += [part.group] if estimand.between is not None else []
    where = f"with {' and '.join(asked)} " if asked else ""
    belief = estimand.measure is not None and estimand.measure.kind in BELIEFS
    exact = ", with the exact score of every candidate" if belief else ""
    return f"no transition {where}is complete in every cell of this contrast{exact}"


def _empty_strata(data: Sample, part: Part, mixture: TargetWeights) -> list[str]:
    if mixture.shares is None:
        return []
    empty = (part.sizes(data) == 0) & (mixture.shares > 0)
    return [data.strata[code] for code in np.flatnonzero(empty)]
