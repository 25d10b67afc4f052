"""Design estimates of replicated cohorts, from a fit's own draws.

Invariant: one noise for all contrasts, so that replicated estimates of a sum are sums, and its
variance is that of the model's units. Pinned by `tests/test_checks.py` and
`tests/test_student.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.mixtures import complete_cases, complete_shares, loading, stratum_values
from fourcorner.bayes.outputs import tail_weights
from fourcorner.bayes.transitions import agreement
from fourcorner.bayes.tree import by_transition, group, observed
from fourcorner.bayes.variances import variances
from fourcorner.contrasts import Contrast
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]


def replicated(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Design estimates of replicated cohorts, one for each draw: shape (chains, draws).

    T is linear in the strata's means of effects, so T given the parameters is the estimand plus
    the noise of those means, drawn once for all contrasts: replicated estimates of a sum are sums.
    (Where cells are missing each contrast has its own number of units, and only the distribution
    of each by itself is meant.)
    """
    fixed, cases = complete_shares(tree, contrast, mixture), complete_cases(tree, contrast)
    if by_transition(tree):
        spread = np.sqrt(agreement.sampling_variances(tree, contrast, mixture))
        generator = np.random.default_rng([int(tree.attrs["seed"]), 2])
        centre = agreement.expected(tree, contrast) @ fixed
        return np.asarray(centre + spread * generator.standard_normal(spread.shape))
    needed = fixed > 0
    per_unit = fixed[needed] / np.sqrt(cases.count[needed])
    noise = _unit_noise(tree, contrast) * _tails(tree)
    noise = noise[:, :, needed] @ per_unit
    return np.asarray(stratum_values(tree, contrast) @ fixed + noise)


def _unit_noise(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """A replicated unit's deviation from its stratum: shape (chains, draws, strata)."""
    constants, lever = group(tree, names.CONSTANT_DATA), loading(tree, contrast)
    given = variances(group(tree, names.POSTERIOR), constants)
    generator = np.random.default_rng([int(tree.attrs["seed"]), 2])
    shape = (*given.scale.shape, len(lever))
    between, retries = generator.standard_normal(shape), generator.standard_normal(shape)
    loaded = lever @ np.linalg.cholesky(given.unit)
    noise = np.sqrt(given.scale) * np.einsum("dk,dgk->dg", loaded, between)
    noise += np.einsum("dk,dgk->dg", np.sqrt(given.noise) * lever, retries)
    draws = stratum_values(tree, contrast).shape
    return np.asarray(noise.reshape(draws))


def _tails(tree: xr.DataTree) -> Floats:
    """What heavy tails multiply the noise of a stratum's mean by: (chains, draws, strata).

    Given the units' weights it is normal, with the mean of the weights' inverses as its variance.
    """
    posterior = group(tree, names.POSTERIOR)
    given = variances(posterior, group(tree, names.CONSTANT_DATA))
    shape = (posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW], -1)
    if not np.isfinite(given.degrees).all():
        return np.ones(given.scale.shape).reshape(shape)
    _, codes = observed(tree)
    generator = np.random.default_rng([int(tree.attrs["seed"]), 7])
    found = [
        np.sqrt(np.mean(1 / tail_weights(given.degrees, int(units), generator), axis=1))
        for units in np.bincount(codes, minlength=given.scale.shape[1])
    ]
    return np.stack(found, axis=1).reshape(shape)
