"""The normal cell model, collapsed to sufficient statistics.

For unit i of stratum g with effect coefficients η_i (see `basis`):

    η_i ~ N(β + δ_g, s_g² Σ + N),   Σ = diag(σ) C diag(σ) with C ~ LKJ,
    δ_g zero-sum over strata with sd τ × σ, one τ for each interaction order,
    log s_g zero-sum over strata,
    N diagonal: what retry noise of sd r in a cell of a wave leaves in an effect of the mean over
    waves, where waves measure it; else N is zero and Σ includes the noise.

What is sampled is the collapsed model: units enter through each stratum's count, mean and scatter,
and the locations β and δ, Gaussian given the rest, are integrated out and drawn exactly
afterwards. That leaves no funnel between τ and δ to sample. Missing cells, missing at random, are
integrated out as well. The full model, with β and δ as variables, gives the prior and its density.

Invariant: the collapsed density is the full density with β, δ and missing cells integrated out, and
its cost does not depend on the number of units, only on that of patterns of missing cells. Pinned
by `tests/test_cell_model.py` and `tests/test_patterns.py` against
`scipy.stats.multivariate_normal`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes import density, missing
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.priors import NATIVE, Priors
from fourcorner.bayes.whiten import Softplus, factor_prior, unpacked, whitened_factor

Graph = Any  # a PyTensor variable; numpy arrays do as well

pytensor.config.blas__ldflags = ""  # compiled code calls BLAS through scipy; nothing to link

LIKELIHOOD = "cells_given_parameters"
RETRY_LIKELIHOOD = "retries_given_parameters"
UNIT_FACTOR = "unit_factor"
DEVIATION_Z = f"{names.VAR_DEVIATION}_z"
COUNT, MEAN, SCATTER, SCALES = "count", "mean", "scatter", "prior_scales"
REFERENCE = "reference_factor"
STRATUM_OF, GROUP_COUNT, PLACE, MISSING = "group_stratum", "group_count", "scatter_place", "missing"
RETRY_SCATTER, RETRY_DEGREES = names.VAR_RETRY_SCATTER, names.VAR_RETRY_DEGREES
RETRY_SHARE = "retry_share"


def values(data: CellData, priors: Priors) -> dict[str, Graph]:
    """What the model's data containers hold: the same names for every refit of a structure.

    Shapes are the same as well, but for the number of groups of units with missing cells.
    """
    held = {
        COUNT: data.count,
        SCALES: priors.array(),
        REFERENCE: data.reference(priors.unit_sd[data.group]),
    }
    if data.alike:
        return {**held, MEAN: data.mean, SCATTER: data.scatter}
    groups = data.groups
    held |= {MEAN: groups.mean, SCATTER: groups.scatter, GROUP_COUNT: groups.count}
    held |= {STRATUM_OF: groups.stratum, PLACE: groups.place, MISSING: groups.missing}
    if data.retries is None:
        return held
    again = data.retries
    return {
        **held,
        RETRY_SCATTER: again.scatter,
        RETRY_DEGREES: again.degrees,
        RETRY_SHARE: again.share,
    }


def coords(basis: Basis, strata: tuple[str, ...]) -> dict[str, list[Graph]]:
    """Named dims of the model."""
    labels = np.array(basis.labels)
    varying = basis.by_stratum
    return {
        names.STRATUM: list(strata),
        names.EFFECT: labels[basis.modelled].tolist(),
        names.STRATUM_EFFECT: labels[varying].tolist(),
        names.ORDER: list(basis.tau_labels),
        names.SCALE_GROUP: list(basis.groups),
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
        Free variables: the packed ``unit_factor`` of Σ; when there are several strata, ``tau``
        and ``log_stratum_scale``; where retry noise is measured, ``retry_sd``.
    """
    with pm.Model(coords=coords(basis, data.strata)) as model:
        held = {name: pm.Data(name, value) for name, value in values(data, priors).items()}
        scale = scales(held[SCALES], basis)
        factor, tau_sd, log_spread = unit_variances(basis, len(data.strata), scale, held, data.turn)
        off = held[MEAN] - prior_location(basis, scale)
        common = prior_variance(basis, scale)
        if data.alike:
            variances = (factor, pt.sqr(tau_sd), log_spread)
            constants = (held[COUNT], off, held[SCATTER], common)
            found = density.log_density(*variances, *constants)
            if len(basis.groups) > 1:  # an effect moves fewer cells than there are
                jacobian = 0.5 * len(basis.labels) * np.log(len(basis.groups))
                found += jacobian * held[COUNT].sum()
            pm.Potential(LIKELIHOOD, found)
            return model
        noise = np.zeros(len(basis.labels))
        if data.retries is not None:
            sd = _retry_sd(scale)
            noise = held[RETRY_SHARE] * pt.sqr(sd)[basis.group]
            logs = held[RETRY_DEGREES] * pt.log(sd) + held[RETRY_SCATTER] / (2 * pt.sqr(sd))
            pm.Potential(RETRY_LIKELIHOOD, -logs.sum())
        variances = (factor, tau_sd, log_spread, noise)
        units = (held[STRATUM_OF], held[GROUP_COUNT], off, held[SCATTER], held[PLACE])
        constants = (*units, held[MISSING], common, np.ascontiguousarray(basis.rows.T))
        pm.Potential(LIKELIHOOD, missing.log_density(*variances, *constants))
    return model


def full(
    basis: Basis, strata: tuple[str, ...], priors: Priors, *, retries: bool = False
) -> pm.Model:
    """The same priors with the locations as variables, and no data.

    Parameters
    ----------
    basis : Basis
    strata : tuple of str
    priors : Priors
    retries : bool
        Whether retry noise is measured and so a variable.

    Returns
    -------
    pymc.Model
        Free variables: those of `collapsed`, ``effects`` (β) and, when there are several strata,
        ``stratum_deviation_z``, which is δ / (τ σ).
    """
    with pm.Model(coords=coords(basis, strata)) as model:
        scale = scales(priors.array(), basis)
        _, tau_sd, _ = unit_variances(basis, len(strata), scale)
        if retries:
            _retry_sd(scale)
        locations(basis, len(strata), scale, tau_sd)
    return model


def locations(basis: Basis, strata: int, scale: Mapping[str, Graph], tau_sd: Graph) -> Graph:
    """β and, when there are several strata, δ / (τ σ) as variables of the model.

    Returns
    -------
    tensor of shape (strata, effects)
        β + δ_g over every effect of the basis, zero in the residual space.
    """
    modelled, varying = basis.modelled, basis.by_stratum
    everywhere = np.eye(len(modelled))
    common = pm.Normal(
        names.VAR_EFFECT,
        mu=prior_location(basis, scale)[modelled],
        sigma=pt.sqrt(prior_variance(basis, scale)[modelled]),
        dims=names.EFFECT,
    )
    found = (common @ everywhere[modelled])[None, :]
    if strata > 1:
        standard = pm.ZeroSumNormal(
            DEVIATION_Z, sigma=1.0, dims=(names.STRATUM_EFFECT, names.STRATUM)
        )
        deviation = pm.Deterministic(
            names.VAR_DEVIATION,
            (tau_sd[varying][:, None] * standard).T,
            dims=(names.STRATUM, names.STRATUM_EFFECT),
        )
        found = found + deviation @ everywhere[varying]
    return found


def scales(array: Graph, basis: Basis) -> dict[str, Graph]:
    """Each prior by name: those in native units for every effect, the retry noise's by group."""
    named = {item.name: array[i] for i, item in enumerate(fields(Priors))}
    by_effect = {
        name: row[basis.group] if name in NATIVE else row[0] for name, row in named.items()
    }
    return {**by_effect, names.VAR_RETRY_SD: named[names.VAR_RETRY_SD]}


def _retry_sd(scale: Mapping[str, Graph]) -> Graph:
    return pm.HalfNormal(
        names.VAR_RETRY_SD, sigma=scale[names.VAR_RETRY_SD], dims=names.SCALE_GROUP
    )


def unit_variances(
    basis: Basis,
    strata: int,
    scale: dict[str, Graph],
    held: Mapping[str, Graph] | None = None,
    turn: NDArray[np.float64] | None = None,
) -> tuple[Graph, Graph, Graph]:
    """Cholesky factor of Σ; τ σ of every effect, zero where strata agree; log s of every stratum.

    Given data, Σ is sampled in coordinates that suit its posterior.
    """
    size = len(basis.labels)
    tau_ratio, log_spread = np.zeros(size), np.zeros(1)
    if strata > 1:
        tau = pm.HalfNormal(
            names.VAR_TAU, sigma=scale["tau_sd"], dims=names.ORDER, default_transform=Softplus()
        )
        tau_ratio = tau[basis.tau_place] * basis.by_stratum  # of any τ where strata agree
        log_spread = pm.ZeroSumNormal(
            "log_stratum_scale", sigma=scale["stratum_scale_sd"], dims=names.STRATUM
        )
        pm.Deterministic(names.VAR_STRATUM_SCALE, pt.exp(log_spread), dims=names.STRATUM)
    prior = (scale["lkj_eta"], scale["unit_sd"], size)
    if held is None:
        packed = factor_prior(*prior, name=UNIT_FACTOR)
    else:
        of = (held[REFERENCE], held[COUNT], log_spread)
        packed = whitened_factor(UNIT_FACTOR, *of, *prior, turn)
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
