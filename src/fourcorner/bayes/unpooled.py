"""The strata's means with no pooling: a flat location in each stratum, given the variances.

Given the variance parameters φ the likelihood of a stratum's means of effects is Gaussian with
information J_g, so under a flat prior they are N(J_g⁻¹ × score, J_g⁻¹) over the effects that the
model has. Drawn once for each posterior draw of φ, without refitting.

Invariant: with every effect in the model and no cell missing, a stratum's mean is its observed mean
and its covariance is that of one unit over the number of units. Pinned by `tests/test_unpooled.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.incomplete import Groups, grouped, stratum_means
from fourcorner.bayes.locations import BLOCK, information
from fourcorner.bayes.mixtures import loading
from fourcorner.bayes.transitions.agreement import cell_means, flat_information
from fourcorner.bayes.tree import basis_rows, by_transition, factors, group, observed
from fourcorner.bayes.variances import variances
from fourcorner.contrasts import Contrast

Floats = NDArray[np.float64]

RIDGE = 1e-9  # relative; for directions that no observed cell sees, which are refused anyway


def groups_of(tree: xr.DataTree) -> Groups:
    """The fit's units by stratum and by the cells that they miss."""
    flat, codes = observed(tree)
    constants = group(tree, names.CONSTANT_DATA)
    missing = np.isnan(flat)
    means = stratum_means(flat, codes, constants.sizes[names.STRATUM])
    rows = basis_rows(tree)
    filled = np.where(missing, means[codes], flat)
    return grouped(codes, missing, filled @ rows.T / (rows**2).sum(axis=1))


def locations(tree: xr.DataTree) -> Floats:
    """Draws of each stratum's means of effects under a flat prior.

    Returns
    -------
    ndarray of shape (chains, draws, strata, components)
        Zero for effects that the model does not have.
    """
    if by_transition(tree):
        return _of_steps(tree)
    posterior, constants = group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA)
    given, groups, rows = variances(posterior, constants), groups_of(tree), basis_rows(tree)
    modelled = constants[names.VAR_PRIOR_VARIANCE].values > 0
    generator = np.random.default_rng([int(tree.attrs["seed"]), 5])
    strata, size = given.scale.shape[1], len(rows)
    found = np.zeros((len(given.unit), strata, size))
    step = max(1, BLOCK // (strata * size**2))
    for start in range(0, len(found), step):
        block = slice(start, start + step)
        known, score = information(given.block(block), groups, np.zeros(size), rows)
        ridge = RIDGE if groups.missing.any() else 0.0
        found[block][:, :, modelled] = _flat(known, score, modelled, ridge, generator)
    shape = (posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW])
    return found.reshape(*shape, strata, size)


def _flat(
    known: Floats,
    score: Floats,
    modelled: NDArray[np.bool_],
    ridge: float,
    generator: np.random.Generator,
) -> Floats:
    """Draws of the modelled effects under a flat prior: J⁻¹ (score + L z), L Lᵀ = J."""
    precision = known[:, :, modelled][:, :, :, modelled]
    precision = precision + ridge * precision * np.eye(precision.shape[-1])
    noise = generator.standard_normal((*precision.shape[:3], 1))
    moved = score[:, :, modelled, None] + np.linalg.cholesky(precision) @ noise
    return np.asarray(np.linalg.solve(precision, moved)[..., 0])


def stratum_values(tree: xr.DataTree, contrast: Contrast, drawn: Floats) -> Floats:
    """A contrast of drawn `locations` in each stratum: shape (chains, draws, strata)."""
    if by_transition(tree):
        weights = contrast.dense(factors(tree)).ravel().astype(float)
        return np.asarray(drawn @ weights)
    return np.asarray(drawn @ loading(tree, contrast))


def _of_steps(tree: xr.DataTree) -> Floats:
    """Draws of each stratum's cell means, from a flat law of its levels and steps."""
    posterior, constants = group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA)
    known, score = flat_information(tree)
    generator = np.random.default_rng([int(tree.attrs["seed"]), 5])
    every = np.ones(known.shape[-1], dtype=bool)
    moved = _flat(known, score, every, RIDGE, generator)
    means = cell_means(tree, moved.reshape(*moved.shape[:2], constants.sizes[names.MOVE], -1))
    shape = (posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW])
    return means.reshape(*shape, means.shape[1], -1)
