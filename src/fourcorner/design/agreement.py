"""Agreement of scores: what it is of each transition, and why there is none.

Invariant: what is compared is a level with another one, of the same scale and, of waves, of the
same session. Pinned by `tests/test_agreement.py`.
"""

from typing import Any

from fourcorner import contrasts, names, scores
from fourcorner.contrasts import contrast_values, in_words
from fourcorner.design import retries
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import Floats
from fourcorner.estimands import Estimand
from fourcorner.scores import Agreement

ONE_LEVEL = "one_level"
NEVER_MEASURED = "never_measured"

Refusal = dict[str, Any]


def values(estimand: Estimand, found: Agreement) -> Floats:
    """Rate of each transition, averaged over the cells of the estimand: shape (transitions,).

    Parameters
    ----------
    estimand : Estimand
        With a measure of agreement; of two levels of a channel `contrast` has both as parts.
    found : Agreement
        Of a replicate factor, or of a channel factor with the first level.
    """
    compared = estimand.contrast.parts[-1] if estimand.contrast.parts else estimand.contrast
    return contrast_values(found.rate, compared).values


def refusal(
    data: Sample, estimand: Estimand, compared: tuple[str, ...], found: Agreement
) -> Refusal | None:
    """Why there is nothing to compare, or None."""
    factor, *pair = compared
    if not pair:
        return _one_level(data, estimand, factor) or _unmeasured(data, estimand, found)
    return _unlinked(data, estimand, factor) or _unmeasured(data, estimand, found)


def _one_level(data: Sample, estimand: Estimand, factor: str) -> Refusal | None:
    levels = data.scores[factor].values.tolist()
    if factor == names.WAVE:
        levels = estimand.wave or tuple(levels)
        if (sessions := retries.several_sessions(data, levels)) is not None:
            return sessions
    if len(levels) > 1:
        return None
    return {"reason": ONE_LEVEL, "message": f"one level of {factor} agrees with itself alone"}


def _unlinked(data: Sample, estimand: Estimand, factor: str) -> Refusal | None:
    """Margins on scales that nothing links are not the same when they are equal."""
    if names.OPTION_SCORE in data.scores or factor not in scores.scale_factors(data.scores):
        return None
    refused = contrasts.scale_refusal(estimand.contrast, [factor])
    message = (
        f"the levels of {factor} are on scales that nothing links, so equal margins say nothing"
    )
    return None if refused is None else {**refused, "message": message}


def _unmeasured(data: Sample, estimand: Estimand, found: Agreement) -> Refusal | None:
    """Cells in which no transition has all its scores; of an empty cohort nothing is said."""
    if not data.units:
        return None
    refused = contrasts.refusal(estimand.contrast, found.known.any(names.TRANSITION))
    if refused is None:
        return None
    missing = refused["missing"]
    return {
        "reason": NEVER_MEASURED,
        "message": f"never measured in every replicate: {in_words(missing)}",
        "missing": missing,
        "would_identify": [missing],
    }
