"""What the design engine does not estimate, and why.

Invariant: a refusal says what is missing in the words of the spec. Pinned by
`tests/test_design.py`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from fourcorner import contrasts, names
from fourcorner.contrasts import Contrast, in_words
from fourcorner.design import discordance
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import Part, held
from fourcorner.estimands import Estimand
from fourcorner.measures import BELIEFS
from fourcorner.weights import TargetWeights

RANKED = {
    names.MEDIAN: "a median",
    names.TRIMMED_MEAN: "a trimmed mean",
    names.AUC: "an AUC",
    names.DISCORDANCE: "a share of pairs",
}

NEEDS_EMPIRICAL = "statistic_needs_empirical_weights"
INCOMPLETE_FAMILY = "incomplete_family"

Refusal = dict[str, Any]


def of_mixture(
    data: Sample,
    estimand: Estimand,
    parts: Sequence[Part],
    mixture: TargetWeights,
    lacking: Sequence[str] = (),
) -> Refusal | None:
    """Why an estimand has no value under a mixture, or None; `lacking` says who is left out."""
    empty_parts = [part for part in parts if not len(part.values)]
    if empty_parts:
        message = "; ".join([_no_transition(data, estimand, empty_parts[0]), *lacking])
        return {"reason": "no_complete_transition", "message": message}
    if estimand.statistic in RANKED and not is_empirical(mixture):
        message = f"{RANKED[estimand.statistic]} goes with empirical weights only"
        return {"reason": NEEDS_EMPIRICAL, "message": message}
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
    found = held(data, attribute)
    for part in parts:
        there = sorted(set(found[part.transitions].tolist()))
        if len(there) != 2 or level not in there:
            message = (
                f"an AUC needs transitions with {attribute} = {level} and with one other level; "
                f"those of {part.group} have {there}"
            )
            return {"reason": "outcome_not_binary", "message": message}
    return None


def of_pairs(data: Sample, estimand: Estimand, parts: Sequence[Part]) -> Refusal | None:
    """Why not all pairs of endpoints can be compared, or None."""
    if estimand.statistic != names.DISCORDANCE:
        return None
    return discordance.refusal(2 * max(len(part.values) for part in parts), data.units)


def of_cells(
    data: Sample, estimand: Estimand, own: Contrast, observed: xr.DataArray
) -> Refusal | None:
    """Why a row has no value for want of cells that nobody measured; of nobody nothing is said.

    Parameters
    ----------
    data : Sample
    estimand : Estimand
        Its contrast is what its cohort has to be complete in: that of its family.
    own : Contrast
        What is taken of each transition.
    observed : DataArray of bool
        One dim per factor; whether any transition has the cell.

    Returns
    -------
    dict or None
        Of cells of the row's own, as `fourcorner.contrasts.refusal`. Where only others of its
        family lack, no shift moves the row, so there is no witness.
    """
    if not data.units:
        return None
    refused = contrasts.refusal(own, observed)
    whole = refused if own == estimand.contrast else contrasts.refusal(estimand.contrast, observed)
    if whole is None:
        return refused
    whose = estimand.family or estimand.name
    if refused is None:
        missing = whole["missing"]
        remedy = "Measure what is missing"
        if estimand.statistic == names.MEAN:  # no other row of a family can be had by itself
            remedy = f"Ask for {own.name} alone, or measure what is missing"
        message = (
            f"{own.name} is measured, but the rows of {whose} are of transitions that are complete "
            f"in all of its cells, and {in_words(missing)} never measured in full. {remedy}"
        )
        found = {"missing": missing, "would_identify": [missing]}
        return {"reason": INCOMPLETE_FAMILY, "message": message, **found}
    others = [cell for cell in whole["missing"] if cell not in refused["missing"]]
    also = f". The rows of {whose} also need {in_words(others)}" if others else ""
    return {**refused, "message": f"{refused['message']}{also}"}


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


def _no_transition(data: Sample, estimand: Estimand, part: Part) -> str:
    if data.cohort == names.COHORT_JOINT and not data.units:
        return "the joint cohort is empty: no unit is complete in every cell of the spec"
    asked = [f"{name} = {' or '.join(levels)}" for name, levels in estimand.where.items()]
    asked += [part.group] if estimand.between is not None else []
    where = f"with {' and '.join(asked)} " if asked else ""
    belief = estimand.measure is not None and estimand.measure.kind in BELIEFS
    exact = ", with the exact score of every candidate" if belief else ""
    whose = "this contrast" if estimand.family is None else f"the rows of {estimand.family}"
    return f"no transition {where}is complete in every cell of {whose}{exact}"


def _empty_strata(data: Sample, part: Part, mixture: TargetWeights) -> list[str]:
    if mixture.shares is None:
        return []
    empty = (part.sizes(data) == 0) & (mixture.shares > 0)
    return [data.strata[code] for code in np.flatnonzero(empty)]
