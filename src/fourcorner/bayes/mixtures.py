"""A contrast in each fitted stratum, by draw and as observed, and mixtures of strata.

Invariant: a contrast is applied to posterior cell means exactly as the design engine applies it to
observed cells; mixtures are applied after, so no mixture needs a fit of its own. Pinned by
`tests/test_posterior.py`.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.tree import factors, fitted_strata, group, observed, strata_of_data
from fourcorner.bayes.variances import Variances, variances
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

NOTHING = 1e-12  # relative; what rounding leaves of a loading that is zero


class Cases(NamedTuple):
    """A contrast of the cohort's units that have all of its cells, by fitted stratum.

    Attributes
    ----------
    mean : ndarray of shape (strata,)
        NaN where no unit has them.
    count : ndarray of shape (strata,)
    """

    mean: Floats
    count: Floats


def stratum_values(tree: xr.DataTree, contrast: Contrast, of: str = names.POSTERIOR) -> Floats:
    """Draws of a contrast in each fitted stratum: shape (chains, draws, strata).

    `of` is the group to take them from: the posterior or the prior.
    """
    means = group(tree, of)[names.VAR_CELL_MEAN]
    weights = contrast.array(factors(tree))
    return np.asarray(xr.dot(means, weights, dim=weights.dims).values)


def complete_cases(tree: xr.DataTree, contrast: Contrast) -> Cases:
    """Mean and number of the cohort's units that have every cell of a contrast, by stratum."""
    _, codes = observed(tree)
    values = contrast_values(group(tree, names.OBSERVED_DATA)[names.CELLS], contrast).values
    complete = np.isfinite(values)
    fitted = fitted_strata(tree)
    count = np.bincount(codes[complete], minlength=len(fitted)).astype(float)
    total = np.bincount(codes[complete], values[complete], minlength=len(fitted))
    return Cases(np.divide(total, count, out=np.full(len(fitted), np.nan), where=count > 0), count)


def loading(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """A contrast of cells as a contrast of effect coefficients: shape (components,)."""
    weights = contrast.array(factors(tree))
    basis = group(tree, names.CONSTANT_DATA)[names.VAR_BASIS]
    return np.asarray(xr.dot(basis, weights, dim=weights.dims).values)


def is_fixed(tree: xr.DataTree, contrast: Contrast) -> bool:
    """Whether the model's formulas set a contrast to zero, so that it has no posterior."""
    constants = group(tree, names.CONSTANT_DATA)
    if names.VAR_BASIS not in constants:
        return False
    free = constants[names.VAR_PRIOR_VARIANCE].values > 0
    size = np.abs(loading(tree, contrast))
    return bool(size[free].max(initial=0.0) <= NOTHING * size.max())


def empty_strata(tree: xr.DataTree, mixture: TargetWeights) -> list[str]:
    """Strata that a mixture's fixed part needs and no unit of the cohort is in."""
    if mixture.shares is None:
        return []
    fitted = fitted_strata(tree)
    given = zip(strata_of_data(tree), mixture.shares, strict=True)
    return [name for name, share in given if share > 0 and name not in fitted]


def shares(tree: xr.DataTree, mixture: TargetWeights) -> Floats:
    """A mixture over the fitted strata, the cohort's own mixture where it is empirical.

    Returns
    -------
    ndarray of shape (strata,)
        Summing to one unless the mixture needs an empty stratum; see `empty_strata`.
    """
    fixed, own = _parts(tree, mixture)
    held = group(tree, names.CONSTANT_DATA)
    count = held.get(names.VAR_TRANSITIONS, held[names.VAR_UNITS]).values
    return np.asarray(fixed + own * count / count.sum())


def complete_shares(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """As `shares`, the cohort's own mixture being that of a contrast's complete cases."""
    fixed, own = _parts(tree, mixture)
    count = complete_cases(tree, contrast).count
    return np.asarray(fixed + own * count / count.sum())


def mixture_draws(tree: xr.DataTree, mixture: TargetWeights) -> Floats:
    """Weights of the strata in each draw for units like these: shape (chains, draws, strata).

    Declared weights are fixed; the empirical mixture is uncertain, Dirichlet with the strata's
    counts of units, the same draws for every estimand; units with more transitions weigh more.
    """
    shape = _draws(tree)
    fixed, own = _parts(tree, mixture)
    if own == 0 or len(fixed) == 1:
        return np.broadcast_to(shares(tree, mixture), (*shape, len(fixed)))
    generator = np.random.default_rng([int(tree.attrs["seed"]), 1])
    held = group(tree, names.CONSTANT_DATA)
    count = held[names.VAR_UNITS].values
    drawn = generator.dirichlet(count, size=shape)
    if names.VAR_TRANSITIONS in held:
        drawn = drawn * held[names.VAR_TRANSITIONS].values / count
        drawn /= drawn.sum(axis=-1, keepdims=True)
    return np.asarray(fixed + own * drawn)


def _parts(tree: xr.DataTree, mixture: TargetWeights) -> tuple[Floats, float]:
    """A mixture's fixed shares of the fitted strata, and the share of the empirical mixture."""
    fitted = fitted_strata(tree)
    if mixture.shares is None:
        return np.zeros(len(fitted)), 1.0
    by_name = dict(zip(strata_of_data(tree), mixture.shares, strict=True))
    return np.array([by_name[name] for name in fitted]), mixture.empirical


def contrast_draws(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Posterior of a contrast for units like these: shape (chains, draws)."""
    return mixed(stratum_values(tree, contrast), mixture_draws(tree, mixture))


def mixed(values: Floats, weights: Floats) -> Floats:
    """Strata's values under weights of the strata, draw by draw."""
    return np.asarray((values * weights).sum(axis=-1))


def unit_variances(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """Variance of one unit's observed contrast, retry noise included, by draw and stratum.

    Returns
    -------
    ndarray of shape (chains, draws, strata)
    """
    given, lever = _variances(tree), loading(tree, contrast)
    between = np.einsum("k,dkl,l->d", lever, given.unit, lever)
    variance = between[:, None] * given.scale + (given.noise @ lever**2)[:, None]
    variance *= given.inflation[:, None]
    return np.asarray(variance.reshape(_draws(tree) + variance.shape[1:]))


def retry_variance(tree: xr.DataTree, contrast: Contrast) -> Floats | None:
    """Variance of one unit's contrast over retries, averaged over the waves that were taken.

    Returns
    -------
    ndarray of shape (chains, draws), or None
        None where retry noise is not measured.
    """
    if names.VAR_RETRY_SD not in group(tree, names.POSTERIOR):
        return None
    variance = _variances(tree).noise @ loading(tree, contrast) ** 2
    return np.asarray(variance.reshape(_draws(tree)))


def _variances(tree: xr.DataTree) -> Variances:
    return variances(group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA))


def _draws(tree: xr.DataTree) -> tuple[int, int]:
    """Chains and draws of a fit."""
    posterior = group(tree, names.POSTERIOR)
    return posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW]
