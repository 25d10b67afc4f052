"""The normal cell model, collapsed to sufficient statistics.

For unit i of stratum g with effect coefficients η_i (see `basis`):

    η_i ~ N(β + δ_g, s_g² Σ),   Σ = diag(σ) C diag(σ) with C ~ LKJ,
    δ_g zero-sum over strata with sd τ × σ, one τ for each interaction order,
    log s_g zero-sum over strata.

What is sampled is the collapsed model: units enter through each stratum's count, mean and scatter,
and the locations β and δ, Gaussian given the rest, are integrated out and drawn exactly
afterwards. That leaves no funnel between τ and δ to sample. The full model, with β and δ as
variables, gives the prior and its density.

Invariant: the collapsed density is the full density with β and δ integrated out, and its cost does
not depend on the number of units. Pinned by `tests/test_cell_model.py` against
`scipy.stats.multivariate_normal`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.density import log_density
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.whiten import Softplus, factor_prior, unpacked, whitened_factor

Graph = Any  # a PyTensor variable; numpy arrays do as well

pytensor.config.blas__ldflags = ""  # compiled code calls BLAS through scipy; nothing to link

LIKELIHOOD = "cells_given_parameters"
UNIT_FACTOR = "unit_factor"
DEVIATION_Z = f"{names.VAR_DEVIATION}_z"
COUNT, MEAN, SCATTER, SCALES = "count", "mean", "scatter", "prior_scales"
REFERENCE = "reference_factor"


def values(data: CellData, priors: Priors) -> dict[str, Graph]:
    """What the model's data containers hold: the same names and shapes for every refit."""
    return {
        COUNT: data.count,
        MEAN: data.mean,
        SCATTER: data.scatter,
        SCALES: priors.array(),
        REFERENCE: data.reference(priors.unit_sd),
    }


def coords(basis: Basis, strata: tuple[str, ...]) -> dict[str, list[Graph]]:
    """Named dims of the model."""
    labels = np.array(basis.labels)
    varying = basis.by_stratum
    return {
        names.STRATUM: list(strata),
        names.EFFECT: labels[basis.modelled].tolist(),
        names.STRATUM_EFFECT: labels[varying].tolist(),
        names.ORDER: sorted(set(basis.order[varying].tolist())),
        names.COMPONENT: list(basis.labels),
        names.COMPONENT_2: list(basis.labels),
    }


def collapsed(basis: Basis, data: CellData, priors: Priors) -> pm.Model:
    """The model that is sampled; a refit can replace what its data containers hold.

    Parameters
    ----------
    basis : Basis
    data : CellData
    priors : Priors

    Returns
    -------
    pymc.Model
        Free variables: the packed ``unit_factor`` of Σ and, when there are several strata,
        ``tau`` and ``log_stratum_scale``.
    """
    with pm.Model(coords=coords(basis, data.strata)) as model:
        held = {name: pm.Data(name, value) for name, value in values(data, priors).items()}
        scale = _scales(held[SCALES])
        factor, tau_sd, log_spread = _variances(basis, len(data.strata), scale, held)
        off = held[MEAN] - prior_location(basis, scale)
        common = prior_variance(basis, scale)
        variances = (factor, pt.sqr(tau_sd), log_spread)
        constants = (held[COUNT], off, held[SCATTER], common)
        pm.Potential(LIKELIHOOD, log_density(*variances, *constants))
    return model


def full(basis: Basis, strata: tuple[str, ...], priors: Priors) -> pm.Model:
    """The same priors with the locations as variables, and no data.

    Returns
    -------
    pymc.Model
        Free variables: those of `collapsed`, ``effects`` (β) and, when there are several strata,
        ``stratum_deviation_z``, which is δ / (τ σ).
    """
    with pm.Model(coords=coords(basis, strata)) as model:
        scale = _scales(priors.array())
        _, tau_sd, _ = _variances(basis, len(strata), scale)
        modelled = basis.modelled
        pm.Normal(
            names.VAR_EFFECT,
            mu=prior_location(basis, scale)[modelled],
            sigma=pt.sqrt(prior_variance(basis, scale)[modelled]),
            dims=names.EFFECT,
        )
        if len(strata) > 1:
            standard = pm.ZeroSumNormal(
                DEVIATION_Z, sigma=1.0, dims=(names.STRATUM_EFFECT, names.STRATUM)
            )
            pm.Deterministic(
                names.VAR_DEVIATION,
                (tau_sd[basis.by_stratum][:, None] * standard).T,
                dims=(names.STRATUM, names.STRATUM_EFFECT),
            )
    return model


def _scales(array: Graph) -> dict[str, Graph]:
    return {item.name: array[i] for i, item in enumerate(fields(Priors))}


def _variances(
    basis: Basis, strata: int, scale: dict[str, Graph], held: Mapping[str, Graph] | None = None
) -> tuple[Graph, Graph, Graph]:
    """Cholesky factor of Σ; τ σ of every effect, zero where strata agree; log s of every stratum.

    Given data, Σ is sampled in coordinates that suit its posterior.
    """
    size = len(basis.labels)
    tau_ratio, log_spread = np.zeros(size), np.zeros(1)
    if strata > 1:
        orders = np.unique(basis.order[basis.by_stratum])
        place = np.searchsorted(orders, basis.order).clip(max=len(orders) - 1)
        tau = pm.HalfNormal(
            names.VAR_TAU, sigma=scale["tau_sd"], dims=names.ORDER, default_transform=Softplus()
        )
        tau_ratio = tau[place] * basis.by_stratum
        log_spread = pm.ZeroSumNormal(
            "log_stratum_scale", sigma=scale["stratum_scale_sd"], dims=names.STRATUM
        )
        pm.Deterministic(names.VAR_STRATUM_SCALE, pt.exp(log_spread), dims=names.STRATUM)
    prior = (scale["lkj_eta"], scale["unit_sd"], size)
    if held is None:
        packed = factor_prior(*prior, name=UNIT_FACTOR)
    else:
        packed = whitened_factor(UNIT_FACTOR, held[REFERENCE], held[COUNT], log_spread, *prior)
    factor = unpacked(packed, size)
    sds = pm.Deterministic(
        names.VAR_UNIT_SD, pt.sqrt(pt.sqr(factor).sum(axis=1)), dims=names.COMPONENT
    )
    pm.Deterministic(
        names.VAR_COVARIANCE, factor @ factor.T, dims=(names.COMPONENT, names.COMPONENT_2)
    )
    return factor, tau_ratio * sds, log_spread


def prior_location(basis: Basis, scale: Mapping[str, Graph]) -> Graph:
    """Prior mean of β over every effect of the basis; `scale` maps prior names to numbers."""
    return (basis.order == 0) * scale["score_location"]


def prior_variance(basis: Basis, scale: Mapping[str, Graph]) -> Graph:
    """Prior variance of β over every effect of the basis; zero in the residual space."""
    intercept = basis.order == 0
    sds = intercept * scale["intercept_sd"] + ~intercept * scale["effect_sd"]
    return basis.modelled * sds**2
