"""Posterior rows of any contrast under any mixture, from a fitted tree and without refitting.

Invariant: what has no posterior is left out by name or refused with its reason, and what the data
do not determine is labelled prior-driven beside its prior. Pinned by `tests/test_posterior.py` and
`tests/test_answers.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import events, names
from fourcorner.bayes import unpooled as flat
from fourcorner.bayes.answers import (
    answered,
    not_modelled,
    prior_range,
    questions,
    refusal,
    scope,
    summary,
    unidentified,
    why_not,
    without_cases,
)
from fourcorner.bayes.flips import ORIENTATION, mixed_over_strata, new_transition, two_gains
from fourcorner.bayes.mixtures import (
    complete_cases,
    complete_shares,
    contrast_draws,
    is_fixed,
    mixed,
    mixture_draws,
    retry_variance,
    stratum_values,
)
from fourcorner.bayes.tree import by_transition, counts
from fourcorner.contrasts import Contrast
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate, Probability
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

FIXED = "no interval: the model's effects leave no room for this contrast, so it is zero"
RETRY = "no interval: retry noise is not measured, so the cohort's own value is its observed one"

__all__ = [
    "conjunctions",
    "estimates",
    "not_modelled",
    "probabilities",
    "stratum_values",
    "unpooled",
]


def estimates(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    level: float = 0.95,
) -> list[Estimate]:
    """Posterior means and credible intervals of every mean contrast under every mixture.

    Parameters
    ----------
    tree : DataTree
        As `fit` returns it.
    estimands, weights : sequences
    level : float

    Returns
    -------
    list of Estimate
        Two rows each: for units like these; and for this cohort, where only retry noise is
        uncertain, so without an interval unless that was measured. A contrast that the observed
        cells do not determine has its prior in `notes`. Estimands that the model does not know
        have no row; `not_modelled` names them.
    """
    rows = []
    for _, estimand, mixture in questions(estimands, weights):
        if why_not(estimand, scope(tree)) is not None:
            continue
        contrast = estimand.contrast
        about = {**_about(tree, estimand, mixture, level), "method": names.BAYES}
        units: dict[str, Any] = {**about, "population": names.POPULATION_UNITS}
        refused = refusal(tree, estimand, mixture)
        if refused is not None:
            rows.append(Estimate(**units, value=None, interval=None, refused=refused))
            continue
        draws = contrast_draws(tree, contrast, mixture)
        driven = prior_driven(tree, contrast, mixture, level)
        rows.append(Estimate(**units, **_drawn(tree, contrast, draws, level, driven)))
        rows.append(_for_cohort(tree, contrast, mixture, about))
    return rows


def unpooled(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    level: float = 0.95,
) -> list[Estimate]:
    """The same estimates from a flat location in each stratum, for units like these.

    The variances keep their posterior, nothing is refitted, and mixtures are as uncertain as in
    `estimates`.

    Returns
    -------
    list of Estimate
        With ``method`` ``"unpooled"``; a contrast that a stratum's own cells do not determine is
        refused. None of a family that has none, whose trees say so in ``no_unpooled``.
    """
    of = scope(tree)
    asked = [ask for ask in questions(estimands, weights) if why_not(ask.estimand, of) is None]
    if not asked or "no_unpooled" in tree.attrs:
        return []
    drawn = flat.locations(tree)
    rows = []
    for _, estimand, mixture in asked:
        contrast = estimand.contrast
        about = {**_about(tree, estimand, mixture, level), "method": names.UNPOOLED}
        units: dict[str, Any] = {**about, "population": names.POPULATION_UNITS}
        refused = refusal(tree, estimand, mixture) or unidentified(
            tree, contrast, mixture, pooled=False
        )
        if refused is not None:
            rows.append(Estimate(**units, value=None, interval=None, refused=refused))
            continue
        values = mixed(flat.stratum_values(tree, contrast, drawn), mixture_draws(tree, mixture))
        rows.append(Estimate(**units, **_drawn(tree, contrast, values, level)))
    return rows


def prior_driven(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights, level: float = 0.95
) -> str | None:
    """What to say of a contrast that the observed cells do not determine; None if they do."""
    refused = unidentified(tree, contrast, mixture)
    if refused is None:
        return None
    cells = "; ".join(
        ", ".join(f"{factor} = {at}" for factor, at in cell.items()) for cell in refused["missing"]
    )
    centre, low, high = prior_range(tree, contrast, mixture, level)
    return (
        f"prior-driven: the data do not determine it, nobody having measured ({cells}); prior mean "
        f"{centre:+.4g}, {100 * level:g} % interval {low:+.4g} to {high:+.4g}"
    )


def probabilities(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    rope: float | None = None,
) -> list[Probability]:
    """P(contrast < 0), reversals of mean gains, flips of new ones, and P(|contrast| < rope).

    Parameters
    ----------
    tree : DataTree
    estimands, weights : sequences
    rope : float, optional
        Half-width of the region of practical equivalence, native units.

    Returns
    -------
    list of Probability
        Events ``KIND<0`` (``omega<0``, ``gain<0``, …); for an Ω of two gains ``reversal+-`` (first
        gain above zero, second below), ``reversal-+``, and ``flip_new``: that the two gains of a
        new transition have opposite signs; for comparisons of gains ``rope``.
    """
    rows: list[Probability] = []
    flips: dict[str, xr.DataArray] = {}
    for _, estimand, mixture in answered(tree, estimands, weights):
        contrast = estimand.contrast
        if is_fixed(tree, contrast):
            continue
        draws = contrast_draws(tree, contrast, mixture)
        gains = None
        if two_gains(contrast) is not None:
            first, second = (contrast_draws(tree, part, mixture) for part in contrast.parts)
            gains = first, second
        found = events.of_sign(contrast.kind, draws, gains)
        about = {"name": estimand.name, "weights": mixture.name}
        rows += [
            events.probability(event=event, held=held, **about) for event, held in found.items()
        ]
        if gains is not None:
            if estimand.name not in flips:
                flips[estimand.name] = new_transition(tree, contrast).sum(ORIENTATION)
            chance = mixed_over_strata(tree, flips[estimand.name], mixture)
            rows.append(_flip(chance, **about))
        if rope is not None and contrast.compares_gains:
            inside = np.abs(draws) < rope
            rows.append(events.probability(event=names.ROPE, held=inside, rope=rope, **about))
    return rows


def conjunctions(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    criteria: Mapping[str, Mapping[str, str]],
) -> list[Probability]:
    """Probability that all estimates of a criterion lie on their sides of zero at once.

    Parameters
    ----------
    tree : DataTree
    estimands, weights : sequences
    criteria : mapping of name to mapping of estimand to "+" or "-"

    Returns
    -------
    list of Probability
        Event ``criterion``, of the draws that the estimates share; none under a mixture in which
        one of them has no posterior.
    """
    rows: list[Probability] = []
    answers = answered(tree, estimands, weights)
    for mixture in weights:
        named = {ask.estimand.name: ask for ask in answers if ask.mixture is mixture}
        for name, signs in criteria.items():
            if not named.keys() >= signs.keys():
                continue
            draws = {
                row: contrast_draws(tree, named[row].estimand.contrast, mixture) for row in signs
            }
            rows.append(
                events.probability(
                    name=name,
                    weights=mixture.name,
                    event=names.CRITERION,
                    held=events.all_signs(signs, draws),
                )
            )
    return rows


def _flip(chance: xr.DataArray, *, name: str, weights: str) -> Probability:
    """The share of new transitions that flip, averaged over draws."""
    return Probability(
        name=name,
        event=names.FLIP_NEW,
        value=float(chance.mean()),
        weights=weights,
        population=names.POPULATION_UNITS,
        draws=chance.size,
    )


def _drawn(
    tree: xr.DataTree, contrast: Contrast, draws: Floats, level: float, note: str | None = None
) -> dict[str, Any]:
    """Value, interval and notes of a row for units like these."""
    if is_fixed(tree, contrast):
        return {"value": 0.0, "interval": None, "notes": (FIXED,)}
    centre, low, high = summary(draws, level)
    said = (note, tree.attrs.get("value_note"))
    notes = tuple(str(text) for text in said if text is not None)
    return {"value": centre, "interval": (low, high), "notes": notes}


def _for_cohort(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights, about: dict[str, Any]
) -> Estimate:
    """The row of this cohort: what was observed, uncertain by its retry noise."""
    named: dict[str, Any] = {**about, "population": names.POPULATION_COHORT}
    refused = without_cases(tree, contrast, mixture)
    if refused is not None:
        return Estimate(**named, value=None, interval=None, refused=refused)
    cases = complete_cases(tree, contrast)
    weights = complete_shares(tree, contrast, mixture)
    needed = weights > 0
    value = float(weights[needed] @ cases.mean[needed])
    complete = int(cases.count.sum())
    every, noun = about["transitions"], "transitions" if by_transition(tree) else "units"
    named = {**named, "transitions": complete}
    if not by_transition(tree):
        named["units"] = complete
    if complete < every:
        note = f"no interval: {every - complete} of {every} {noun} lack a cell"
        return Estimate(**named, value=value, interval=None, notes=(note,))
    retry = retry_variance(tree, contrast)
    if retry is None:
        return Estimate(**named, value=value, interval=None, notes=(RETRY,))
    share = (weights[needed] ** 2 / cases.count[needed]).sum()
    noise = np.random.default_rng([int(tree.attrs["seed"]), 6]).standard_normal(retry.shape)
    _, low, high = summary(value + np.sqrt(share * retry) * noise, about["level"])
    return Estimate(**named, value=value, interval=(low, high))


def _about(
    tree: xr.DataTree, estimand: Estimand, mixture: TargetWeights, level: float
) -> dict[str, Any]:
    units, transitions = counts(tree)
    return {
        "name": estimand.name,
        "statistic": estimand.statistic,
        "weights": mixture.name,
        "cohort": str(tree.attrs["cohort"]),
        "interval_kind": names.CREDIBLE,
        "level": level,
        "units": units,
        "transitions": transitions,
    }
