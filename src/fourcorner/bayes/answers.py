"""Which estimands have a posterior under which mixtures, and why others have none.

Invariant: an estimand with a field that the model does not know is named with its reason; it is
never answered as if the field were not there. Pinned by `tests/test_answers.py`.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names
from fourcorner.bayes.mixtures import complete_cases, empty_strata, shares, stratum_values
from fourcorner.bayes.transitions.identified import open_in
from fourcorner.bayes.tree import (
    basis_rows,
    by_transition,
    factors,
    fitted_strata,
    group,
    observed,
)
from fourcorner.contrasts import Contrast
from fourcorner.estimands import Estimand
from fourcorner.results import target
from fourcorner.weights import TargetWeights

EMPTY = "empty_stratum"


class Question(NamedTuple):
    """A mean contrast under a mixture, with the name that checks give it."""

    target: str
    estimand: Estimand
    mixture: TargetWeights


def questions(estimands: Sequence[Estimand], weights: Sequence[TargetWeights]) -> list[Question]:
    """Every estimand under every mixture."""
    return [
        Question(target(estimand.name, mixture.name), estimand, mixture)
        for estimand in estimands
        for mixture in weights
    ]


class Scope(NamedTuple):
    """What a model is of: one change per unit, or transitions and their waves.

    Attributes
    ----------
    transitions : bool
    wave : sequence of str
        The waves that a model of transitions is of; none where there are none.
    every : sequence of str
        All waves of the scores.
    """

    transitions: bool = False
    wave: Sequence[str] = ()
    every: Sequence[str] = ()


CELLS = Scope()


def scope(tree: xr.DataTree) -> Scope:
    """What a fit is of."""
    if not by_transition(tree):
        return Scope()
    wave, every = (str(tree.attrs[key]) for key in ("wave", "waves"))
    return Scope(True, wave.split("\n") if wave else (), every.split("\n") if every else ())


def answered(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Question]:
    """Those questions that have a posterior."""
    return [ask for ask in questions(estimands, weights) if unanswered(tree, *ask[1:]) is None]


def unanswered(tree: xr.DataTree, estimand: Estimand, mixture: TargetWeights) -> str | None:
    """Why an estimand has no posterior under a mixture, in words; None if it has one."""
    why = why_not(estimand, scope(tree))
    if why is None and (refused := refusal(tree, estimand, mixture)):
        why = str(refused["message"])
    return why


def why_not(estimand: Estimand, of: Scope = CELLS) -> str | None:
    """Which field of an estimand a model does not know, in words; None if it knows all."""
    return _why_not_steps(estimand, of) if of.transitions else _why_not_cells(estimand)


def _why_not_steps(estimand: Estimand, of: Scope) -> str | None:
    whose = "the transition model"
    if estimand.measure is not None:
        return f"{whose} has means over transitions, not the {estimand.measure.subject} of each"
    if estimand.statistic != names.MEAN:
        return f"{whose} has means, not a {estimand.statistic.replace('_', ' ')}"
    if estimand.between is not None:
        attribute, first, second = estimand.between
        return (
            f"{whose} has means over all transitions, not {attribute} = {second} against "
            f"{attribute} = {first}"
        )
    if estimand.where:
        listed = ", ".join(f"{key} = {'/'.join(found)}" for key, found in estimand.where.items())
        return (
            f"{whose} has means over all transitions, not those with {listed} alone; the fit's "
            f"step_mean has each kind of step"
        )
    if estimand.weight_by == names.BY_UNIT:
        return f"{whose} weighs transitions alike, not units"
    wanted = estimand.wave or of.every
    if set(wanted) != set(of.wave):
        return f"the fit is of {_named(of.wave)}, not of {_named(wanted)}"
    return None


def _named(wave: Sequence[str]) -> str:
    """Waves in words."""
    return f"wave{'s' * (len(wave) > 1)} {', '.join(wave)}"


def _why_not_cells(estimand: Estimand) -> str | None:
    whose = "the cell model has one change per unit and no attributes"
    if estimand.measure is not None:
        subject = estimand.measure.subject
        return f"the cell model has means over transitions, not the {subject} of each"
    if estimand.statistic != names.MEAN:
        return f"the cell model has means, not a {estimand.statistic.replace('_', ' ')}"
    if estimand.between is not None:
        attribute, first, second = estimand.between
        return f"{whose}, so no {attribute} = {second} against {attribute} = {first}"
    if estimand.where:
        listed = ", ".join(f"{key} = {'/'.join(found)}" for key, found in estimand.where.items())
        return f"{whose}, so not the units with {listed} alone"
    if estimand.wave:
        return f"the cell model has the mean over all waves, not {', '.join(estimand.wave)} alone"
    return None


def not_modelled(estimands: Sequence[Estimand], of: Scope = CELLS) -> list[str]:
    """Estimands that a model has no posterior of, each or each family with the reason."""
    reasons = {estimand.family or estimand.name: why_not(estimand, of) for estimand in estimands}
    return [f"posterior of {name}: {why}" for name, why in reasons.items() if why is not None]


def refusal(tree: xr.DataTree, estimand: Estimand, mixture: TargetWeights) -> dict[str, Any] | None:
    """Why a mean contrast is refused under a mixture, as a record; None if it is not."""
    listed = str(tree.attrs.get("scale", ""))
    scales = contrasts.scale_refusal(estimand.contrast, listed.split("\n")) if listed else None
    if scales is not None:
        return scales
    empty = empty_strata(tree, mixture)
    if not empty:
        return None
    message = (
        f"the {tree.attrs['cohort']} cohort has no unit in {', '.join(empty)}, which these weights "
        f"need"
    )
    return {"reason": EMPTY, "message": message, "strata": empty}


def without_cases(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights
) -> dict[str, Any] | None:
    """Refusal record where a needed stratum has no unit with every cell of a contrast, or None."""
    count = complete_cases(tree, contrast).count
    lacking = (shares(tree, mixture) > 0) & (count == 0)
    if not lacking.any():
        return None
    where = [name for name, none in zip(fitted_strata(tree), lacking, strict=True) if none]
    listed = ", ".join(where) or "the cohort"
    message = f"no unit has every cell of this contrast in {listed}"
    return {"reason": EMPTY, "message": message, "strata": where}


def unidentified(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights, *, pooled: bool = True
) -> dict[str, Any] | None:
    """What the observed cells leave open of a contrast under a mixture, as a refusal record.

    Parameters
    ----------
    tree : DataTree
    contrast, mixture
    pooled : bool
        Whether effects are shared between strata as the model's formulas say, or each stratum
        stands for itself.

    Returns
    -------
    dict or None
        As `fourcorner.contrasts.refusal`, a cell being in a stratum; None where the data
        determine the contrast.
    """
    if by_transition(tree):
        return open_in(tree, contrast, shares(tree, mixture), pooled=pooled)
    flat, codes = observed(tree)
    present = np.isfinite(flat)
    strata = fitted_strata(tree)
    seen = np.stack([present[codes == code].any(axis=0) for code in range(len(strata))])
    if seen.all():
        return None
    rows = _parameters(tree, len(strata), pooled=pooled)
    weights = shares(tree, mixture)
    levels = factors(tree)
    if len(strata) > 1:
        levels = {names.STRATUM: strata, **levels}
        contrast = _by_stratum(contrast, dict(zip(strata, weights.tolist(), strict=True)))
    measured = xr.DataArray(
        seen.reshape([len(found) for found in levels.values()]), dims=list(levels), coords=levels
    )
    return contrasts.refusal(contrast, measured, rows)


def _by_stratum(contrast: Contrast, shares_of: Mapping[str, float]) -> Contrast:
    """A contrast under a mixture as one of the cells of every stratum."""
    spread = {
        cell | {(names.STRATUM, stratum)}: weight * Fraction(share)
        for cell, weight in contrast.weights.items()
        for stratum, share in shares_of.items()
    }
    return Contrast(contrast.name, spread)


def _parameters(tree: xr.DataTree, strata: int, *, pooled: bool) -> NDArray[np.float64]:
    """What the strata's cell means are made of: shape (parameters, strata × cells)."""
    constants, rows = group(tree, names.CONSTANT_DATA), basis_rows(tree)
    modelled = constants[names.VAR_PRIOR_VARIANCE].values > 0
    if not pooled:
        return np.array(np.kron(np.eye(strata), rows[modelled]), dtype=np.float64)
    own = constants[names.VAR_BY_STRATUM].values.astype(bool)
    apart = np.eye(strata)[1:] - 1 / strata
    shared = np.kron(np.ones((1, strata)), rows[modelled])
    return np.vstack([shared, np.kron(apart, rows[own])]).astype(np.float64)


def prior_range(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights, level: float = 0.95
) -> tuple[float, float, float]:
    """Prior mean of a contrast under a mixture, and its interval of that level."""
    draws = stratum_values(tree, contrast, names.PRIOR) @ shares(tree, mixture)
    return summary(draws, level)


def summary(draws: NDArray[np.float64], level: float) -> tuple[float, float, float]:
    """Mean and equal-tailed interval of draws."""
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return float(draws.mean()), float(low), float(high)
