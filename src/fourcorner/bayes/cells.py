"""The normal cell model, collapsed to sufficient statistics.

For unit i of stratum g with effect coefficients η_i (see `basis`):

    η_i ~ N(β + δ_g, s_g² Σ),   Σ = diag(σ) C diag(σ) with C ~ LKJ,
    δ_g zero-sum over strata with sd τ × σ, one τ for each interaction order,
    log s_g zero-sum over strata.

Invariant: the potential is the log density of all cells given the parameters, and its cost does
not depend on the number of units. Pinned by `tests/test_cell_model.py` against
`scipy.stats.multivariate_normal`.
"""

from dataclasses import fields
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.linalg import solve_triangular

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.priors import Priors

LIKELIHOOD = "cells_given_parameters"
COUNT, MEAN, SCATTER, SCALES = "count", "mean", "scatter", "prior_scales"


def values(data: CellData, priors: Priors) -> dict[str, Any]:
    """What the model's data containers hold: the same names and shapes for every refit."""
    return {
        COUNT: data.count,
        MEAN: data.mean,
        SCATTER: data.scatter,
        SCALES: priors.array(),
    }


def coords(basis: Basis, strata: tuple[str, ...]) -> dict[str, list[Any]]:
    """Named dims of the model."""
    labels = np.array(basis.labels)
    varying = basis.by_stratum
    return {
        names.STRATUM: list(strata),
        names.EFFECT: labels[basis.modelled].tolist(),
        names.STRATUM_EFFECT: labels[varying].tolist(),
        names.ORDER: sorted(set(basis.order[varying].tolist())),
        names.COMPONENT: list(basis.labels),
        f"{names.COMPONENT}_2": list(basis.labels),
    }


def build(basis: Basis, data: CellData, priors: Priors) -> pm.Model:
    """The model, with data and prior scales in containers that a refit can replace.

    Parameters
    ----------
    basis : Basis
    data : CellData
    priors : Priors

    Returns
    -------
    pymc.Model
        Free variables: ``effects`` (β), the packed ``unit_factor`` of Σ and, when there are
        several strata, ``tau``, ``stratum_deviation_z`` and ``log_stratum_scale``.
    """
    with pm.Model(coords=coords(basis, data.strata)) as model:
        held = {name: pm.Data(name, value) for name, value in values(data, priors).items()}
        scale = {item.name: held[SCALES][i] for i, item in enumerate(fields(Priors))}
        factor, unit_sd = _unit_factor(basis, scale)
        means = _effects(basis, scale) + _deviations(basis, len(data.strata), unit_sd, scale)
        spread = _stratum_scale(len(data.strata), scale)
        pm.Potential(LIKELIHOOD, _log_density(held, means, spread, factor))
    return model


def _effects(basis: Basis, scale: dict[str, Any]) -> Any:
    """β over every effect of the basis: shape (1, effects), zero in the residual space."""
    is_intercept = basis.order[basis.modelled] == 0
    effects = pm.Normal(
        names.VAR_EFFECT,
        mu=pt.where(is_intercept, scale["score_location"], 0.0),
        sigma=pt.where(is_intercept, scale["intercept_sd"], scale["effect_sd"]),
        dims=names.EFFECT,
    )
    return (effects @ np.eye(len(basis.labels))[basis.modelled])[None, :]


def _deviations(basis: Basis, strata: int, unit_sd: Any, scale: dict[str, Any]) -> Any:
    """δ over every effect of the basis: shape (strata, effects)."""
    if strata == 1:
        return 0.0
    varying = basis.order[basis.by_stratum]
    place = np.searchsorted(np.unique(varying), varying)
    tau = pm.HalfNormal(names.VAR_TAU, sigma=scale["tau_sd"], dims=names.ORDER)
    standard = pm.ZeroSumNormal(
        f"{names.VAR_DEVIATION}_z", sigma=1.0, dims=(names.STRATUM_EFFECT, names.STRATUM)
    )
    deviation = pm.Deterministic(
        names.VAR_DEVIATION, ((tau[place] * unit_sd[basis.by_stratum])[:, None] * standard).T,
        dims=(names.STRATUM, names.STRATUM_EFFECT),
    )  # fmt: skip
    return deviation @ np.eye(len(basis.labels))[basis.by_stratum]


def _stratum_scale(strata: int, scale: dict[str, Any]) -> Any:
    """s_g: shape (strata,), with geometric mean one."""
    if strata == 1:
        return np.ones(1)
    log_scale = pm.ZeroSumNormal(
        "log_stratum_scale", sigma=scale["stratum_scale_sd"], dims=names.STRATUM
    )
    return pm.Deterministic(names.VAR_STRATUM_SCALE, pt.exp(log_scale), dims=names.STRATUM)


def _unit_factor(basis: Basis, scale: dict[str, Any]) -> Any:
    """Cholesky factor of Σ, the covariance of units' effect coefficients."""
    size = len(basis.labels)
    factor, _, sds = pm.LKJCholeskyCov(
        "unit_factor",
        n=size,
        eta=scale["lkj_eta"],
        sd_dist=pm.HalfNormal.dist(sigma=scale["unit_sd"], shape=size),
        store_in_trace=False,
    )
    pm.Deterministic(names.VAR_UNIT_SD, sds, dims=names.COMPONENT)
    pm.Deterministic(
        names.VAR_COVARIANCE, factor @ factor.T, dims=(names.COMPONENT, f"{names.COMPONENT}_2")
    )
    return factor, sds


def _log_density(held: dict[str, Any], means: Any, spread: Any, factor: Any) -> Any:
    """Log density of all cells: strata enter through count, mean and scatter alone."""
    count, precision = held[COUNT], 1 / spread**2
    off = held[MEAN] - means
    moment = pt.tensordot(precision, held[SCATTER], axes=1) + (off.T * (count * precision)) @ off
    inverse = solve_triangular(factor, pt.eye(factor.shape[0]), lower=True)
    size = held[MEAN].shape[1]
    return -0.5 * (
        count.sum() * size * (np.log(2 * np.pi) + pt.log(size))
        + 2 * size * (count * pt.log(spread)).sum()
        + 2 * count.sum() * pt.log(pt.diag(factor)).sum()
        + ((inverse @ moment) * inverse).sum()
    )
