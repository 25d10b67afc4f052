"""The design estimate under the transition model: what it is of, and how it varies.

T is a mean over the transitions that have a contrast's cells, so it is linear in the endpoints:
its expectation is that mean of expectations, and its variance given the parameters follows from
the covariance of a unit's endpoints, shared endpoints cancelling as they do in T.

Invariant: in complete chains T depends on a chain's two ends alone, and so do mean and variance.
Pinned by `tests/test_transitions.py`.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.mixtures import complete_cases, complete_shares
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.transitions.data import rebuilt
from fourcorner.bayes.transitions.model import Endpoints, Variances, variances
from fourcorner.bayes.transitions.outputs import information, step_rows
from fourcorner.bayes.tree import factors, group, observed
from fourcorner.bayes.variances import location_covariances, posterior_covariances
from fourcorner.contrasts import Contrast
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

Asked = Sequence[tuple[Contrast, TargetWeights]]


def expected(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """A contrast's expectation over its own complete transitions: shape (chains, draws, strata).

    Zero in a stratum without any.
    """
    moved = group(tree, names.POSTERIOR)[names.VAR_MOVE].values
    return np.asarray(np.einsum("cdgmk,gmk->cdg", moved, _loadings(tree, contrast)))


def sampling_variances(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Var(T | parameters) in each draw: shape (chains, draws)."""
    posterior = group(tree, names.POSTERIOR)
    data, _ = _rebuilt(tree)
    found = _sampling(variances(posterior, len(data.chains.levels)), data, tree, contrast, mixture)
    return found.reshape(posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW])


def difference_variances(tree: xr.DataTree, asked: Asked, every: int) -> Floats:
    """V_T and V_T − V_post given the variance parameters of thinned draws.

    Returns
    -------
    ndarray of shape (2, draws, estimands)
    """
    data, _ = _rebuilt(tree)
    given = variances(group(tree, names.POSTERIOR), len(data.chains.levels)).thinned(every)
    held = group(tree, names.CONSTANT_DATA)
    common = held[names.VAR_COMMON].values.ravel()
    known, _ = _information(given, data)
    prior = location_covariances(given.own**2, common**2, len(data.strata))
    covariances = posterior_covariances(prior, known)
    weights = np.stack([_lever(tree, *pair) for pair in asked], axis=1)
    left = (weights * (covariances @ weights)).sum(axis=1)
    total = np.stack([_sampling(given, data, tree, *pair) for pair in asked], axis=1)
    return np.stack([total, total - left])


def flat_information(tree: xr.DataTree) -> tuple[Floats, Floats]:
    """Information and score about zero of each stratum's levels and steps in every draw."""
    data, _ = _rebuilt(tree)
    given = variances(group(tree, names.POSTERIOR), len(data.chains.levels))
    return _information(given, data)


def cell_means(tree: xr.DataTree, moved: Floats) -> Floats:
    """Cell means of levels and steps of shape (draws, strata, moves, channels).

    Returns
    -------
    ndarray of shape (draws, strata, states, channels)
    """
    data, stratum = _rebuilt(tree)
    rows, count = step_rows(data.chains, stratum, len(data.strata))
    share = count / count.sum(axis=1, keepdims=True)
    return np.asarray(np.einsum("gs,gsem,dgmk->dgek", share, rows, moved, optimize=True))


def _rebuilt(tree: xr.DataTree) -> tuple[Endpoints, NDArray[np.int64]]:
    return rebuilt({name: group(tree, name) for name in (names.CONSTANT_DATA, names.OBSERVED_DATA)})


def _information(given: Variances, data: Endpoints) -> tuple[Floats, Floats]:
    one = np.ones(1)
    about_zero = Priors(0 * one, one, one, one, 1.0, one, one, 1.0, 1.0, 22.0)
    return information(given, data, about_zero)


def _weights(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """A contrast over (state, channel cells)."""
    levels = factors(tree)
    return contrast.dense(levels).reshape(len(levels[names.STATE]), -1).astype(float)


def _loadings(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """Weights of levels and steps: shape (strata, moves, channel cells)."""
    data, stratum = _rebuilt(tree)
    complete = _complete(tree, contrast)
    rows = data.chains.rows()[complete]
    code = stratum[data.chains.unit[complete]]
    total = np.zeros((len(data.strata), *rows.shape[1:]))
    np.add.at(total, code, rows)
    count = np.bincount(code, minlength=len(data.strata))
    mean = total / np.maximum(count, 1)[:, None, None]
    return np.asarray(np.einsum("gsm,sk->gmk", mean, _weights(tree, contrast)))


def _complete(tree: xr.DataTree, contrast: Contrast) -> NDArray[np.bool_]:
    """Which transitions have every cell of a contrast."""
    flat, _ = observed(tree)
    used = _weights(tree, contrast).ravel() != 0
    return np.isfinite(flat[:, used]).all(axis=1)


def _lever(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Weights of the stacked strata's levels and steps: shape (strata × moves × channels,)."""
    shares = complete_shares(tree, contrast, mixture)
    return np.asarray((shares[:, None, None] * _loadings(tree, contrast)).ravel())


def _sampling(
    given: Variances,
    data: Endpoints,
    tree: xr.DataTree,
    contrast: Contrast,
    mixture: TargetWeights,
) -> Floats:
    """Var(T | parameters): shape (draws,)."""
    chains, cases = data.chains, complete_cases(tree, contrast)
    shares = complete_shares(tree, contrast, mixture)
    _, stratum = _rebuilt(tree)
    which = np.flatnonzero(_complete(tree, contrast))
    unit = chains.unit[which]
    each = np.divide(shares, cases.count, out=np.zeros_like(shares), where=cases.count > 0)
    pull = each[stratum[unit]][:, None, None] * _weights(tree, contrast)
    loaded = np.zeros((len(chains.units), chains.design.shape[1], len(data.channels)))
    np.add.at(loaded, (unit[:, None], chains.slot[which]), pull)
    found = np.zeros(len(given.unit))
    for template, size in enumerate(chains.size):
        mine = loaded[chains.template == template][:, :size]
        moment = np.einsum("uek,ufm->efkm", mine, mine)
        steps = chains.design[template, :size, len(chains.levels) :]
        far = np.abs(steps[:, None] - steps)
        same = np.equal.outer(chains.chain[template, :size], chains.chain[template, :size])
        shared = np.exp(-np.einsum("efs,ds->def", far, given.lasting)) * same
        found += np.einsum("dkm,km->d", given.unit, moment.sum(axis=(0, 1)))
        found += np.einsum("dkm,def,efkm->d", given.slow, shared, moment, optimize=True)
        found += np.einsum("dkm,eekm->d", given.white, moment)
    return found
