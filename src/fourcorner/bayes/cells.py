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

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
from pytensor.compile.builders import OpFromGraph
from pytensor.gradient import DisconnectedType
from pytensor.tensor.linalg import cholesky, eigh, solve_triangular

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.priors import Priors

Graph = Any  # a PyTensor variable; numpy arrays do as well

pytensor.config.blas__ldflags = ""  # compiled code calls BLAS through scipy; nothing to link

LIKELIHOOD = "cells_given_parameters"
UNIT_FACTOR = "unit_factor"
DEVIATION_Z = f"{names.VAR_DEVIATION}_z"
COUNT, MEAN, SCATTER, SCALES = "count", "mean", "scatter", "prior_scales"


def values(data: CellData, priors: Priors) -> dict[str, Graph]:
    """What the model's data containers hold: the same names and shapes for every refit."""
    return {
        COUNT: data.count,
        MEAN: data.mean,
        SCATTER: data.scatter,
        SCALES: priors.array(),
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
        factor, tau_sd, spread = _variances(basis, len(data.strata), scale)
        off = held[MEAN] - prior_location(basis, scale)
        common = prior_variance(basis, scale)
        arguments = (factor, pt.sqr(tau_sd), pt.log(spread))
        constants = (held[COUNT], off, held[SCATTER], common)
        pm.Potential(LIKELIHOOD, _log_density(arguments, constants))
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


def _variances(basis: Basis, strata: int, scale: dict[str, Graph]) -> tuple[Graph, Graph, Graph]:
    """Cholesky factor of Σ; τ σ of every effect, zero where strata agree; s of every stratum."""
    size = len(basis.labels)
    factor, _, sds = pm.LKJCholeskyCov(
        UNIT_FACTOR,
        n=size,
        eta=scale["lkj_eta"],
        sd_dist=pm.HalfNormal.dist(sigma=scale["unit_sd"], shape=size),
        store_in_trace=False,
    )
    pm.Deterministic(names.VAR_UNIT_SD, sds, dims=names.COMPONENT)
    pm.Deterministic(
        names.VAR_COVARIANCE, factor @ factor.T, dims=(names.COMPONENT, names.COMPONENT_2)
    )
    if strata == 1:
        return factor, np.zeros(size), np.ones(1)
    orders = np.unique(basis.order[basis.by_stratum])
    place = np.searchsorted(orders, basis.order).clip(max=len(orders) - 1)
    tau = pm.HalfNormal(names.VAR_TAU, sigma=scale["tau_sd"], dims=names.ORDER)
    log_scale = pm.ZeroSumNormal(
        "log_stratum_scale", sigma=scale["stratum_scale_sd"], dims=names.STRATUM
    )
    spread = pm.Deterministic(names.VAR_STRATUM_SCALE, pt.exp(log_scale), dims=names.STRATUM)
    return factor, tau[place] * sds * basis.by_stratum, spread


def prior_location(basis: Basis, scale: Mapping[str, Graph]) -> Graph:
    """Prior mean of β over every effect of the basis; `scale` maps prior names to numbers."""
    return (basis.order == 0) * scale["score_location"]


def prior_variance(basis: Basis, scale: Mapping[str, Graph]) -> Graph:
    """Prior variance of β over every effect of the basis; zero in the residual space."""
    intercept = basis.order == 0
    sds = intercept * scale["intercept_sd"] + ~intercept * scale["effect_sd"]
    return basis.modelled * sds**2


def _log_density(arguments: Sequence[Graph], constants: Sequence[Graph]) -> Graph:
    """Log density of all cells with β and δ integrated out, with its derivatives in closed form.

    Parameters
    ----------
    arguments : (factor, own, log_spread)
        Cholesky factor of Σ, diagonal of T, log s.
    constants : (count, off, scatter, common)
        ``off`` is the strata's means less the prior location, ``common`` the prior variance of β.

    Notes
    -----
    With v_g = s_g²/n_g a stratum's mean has covariance A_g = v_g Σ + T, and all of them share
    11ᵀ ⊗ M, M = diag(common) − T/G, since zero-sum deviations are independent ones less their
    mean. One eigenproblem, L⁻¹ T L⁻ᵀ = Q diag(λ) Qᵀ, makes every A_g diagonal in H = Qᵀ L⁻¹, so
    the cost is a few K × K products for any number of strata. Eigenvectors have no derivative
    where eigenvalues coincide, the density has: hence the closed form.
    """
    inputs = [pt.as_tensor(item).type() for item in (*arguments, *constants)]
    value, _ = _density_and_slopes(*inputs)

    def pullback(inputs: list[Graph], _: list[Graph], cotangents: list[Graph]) -> list[Graph]:
        slopes = _density_and_slopes(*inputs)[1]
        unused = [DisconnectedType()() for _ in constants]
        return [*(cotangents[0] * slope for slope in slopes), *unused]

    connected = [[True]] * len(arguments) + [[False]] * len(constants)
    density = OpFromGraph(
        inputs, [value], inline=True, pullback=pullback, connection_pattern=connected
    )
    return density(*arguments, *constants)


def _density_and_slopes(
    factor: Graph,
    own: Graph,
    log_spread: Graph,
    count: Graph,
    off: Graph,
    scatter: Graph,
    common: Graph,
) -> tuple[Graph, tuple[Graph, Graph, Graph]]:
    """Log density, and its derivatives in L, diag(T) and log s."""
    strata, size = off.shape
    inverse = solve_triangular(factor, pt.eye(size), lower=True)
    root = inverse * pt.sqrt(own)
    eigenvalues, vectors = eigh(root @ root.T)
    lift = vectors.T @ inverse  # H
    variance = pt.exp(2 * log_spread) / count  # v
    shrink = 1 / (variance[:, None] + eigenvalues)  # strata × K, the diagonal of each A_g⁻¹
    weight = shrink.sum(axis=0)
    white = off @ lift.T
    pulled = (shrink * white).sum(axis=0) / weight  # precision-weighted mean
    pooled = pt.diag((variance[:, None] * shrink).mean(axis=0) / weight)
    pooled_lower = cholesky(pooled + (lift * common) @ lift.T)
    pooled_root = solve_triangular(pooled_lower, pt.eye(size), lower=True)
    pooled_inverse = pooled_root.T @ pooled_root  # B⁻¹
    half = pooled_inverse @ pulled
    within = lift @ pt.tensordot(pt.exp(-2 * log_spread), scatter, axes=1) @ lift.T
    log_det = -2 * pt.log(pt.diag(inverse)).sum()
    degrees = count - 1
    value = -0.5 * (
        count.sum() * size * (np.log(2 * np.pi) + pt.log(size))
        + size * (2 * degrees * log_spread + pt.log(count)).sum()
        + count.sum() * log_det
        + pt.trace(within)
        - pt.log(shrink).sum()
        + pt.log(weight).sum()
        + 2 * pt.log(pt.diag(pooled_lower)).sum()
        + (shrink * white**2).sum()
        - (weight * pulled**2).sum()
        + pulled @ half
    )
    residual = shrink * (white - pulled + half / weight)  # Hᵀ residual is W⁻¹ (ȳ − location)
    kept = pt.diag(1 / weight) - pooled_inverse / (weight[:, None] * weight)
    by_variance = pt.diag(variance @ shrink) - kept * ((shrink * variance[:, None]).T @ shrink)
    by_own = pt.diag(weight) - kept * (shrink.T @ shrink)
    outer = (residual * variance[:, None]).T @ residual
    in_covariance = degrees.sum() * pt.eye(size) - within + by_variance - outer
    total = residual.sum(axis=0)
    in_own = by_own - residual.T @ residual - (pooled_inverse - pt.outer(total, total)) / strata
    spread_own = shrink.sum(axis=1) - shrink**2 @ pt.diag(kept)
    spread_own = spread_own - (residual**2).sum(axis=1)
    in_spread = (
        -size * degrees
        + pt.exp(-2 * log_spread) * pt.tensordot(scatter, inverse.T @ inverse, axes=2)
        - variance * spread_own
    )
    return value, (
        pt.tril(-lift.T @ in_covariance @ vectors.T),
        -0.5 * ((in_own @ lift) * lift).sum(axis=0),
        in_spread,
    )
