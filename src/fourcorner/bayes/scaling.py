"""Total log densities that power scaling raises to a power: of the priors and of the data.

The priors are those at the top: of the effects β, of τ and of the spreads. δ given τ is part of the
model and is not scaled. The prior of Σ is taken as the density of its sds and correlations; as one
of the entries of its Cholesky factor, as sampled, it has dozens of terms that come with the
coordinates, depend on no prior and drown the rest in Monte-Carlo noise.

Invariant: the scaled prior is the sum of the log densities that the docs of the priors state, up to
a constant. Pinned by `tests/test_prior_sensitivity.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.cells import DEVIATION_Z, UNIT_FACTOR
from fourcorner.bayes.tree import group

SAMPLE = (names.CHAIN, names.DRAW)


def log_prior(tree: xr.DataTree) -> xr.DataArray:
    """Log density of the scaled priors, up to a constant: dims (chain, draw)."""
    held = group(tree, names.LOG_PRIOR)
    kept = held.drop_vars([DEVIATION_Z, UNIT_FACTOR], errors="ignore")
    parts = [_total(array) for array in kept.values()]
    first = _covariance_prior(tree) if UNIT_FACTOR in held else parts.pop(0)
    return sum(parts, start=first)


def log_likelihood(tree: xr.DataTree) -> xr.DataArray | None:
    """Log density of the cohort's cells and retries, up to a constant: dims (chain, draw).

    None where that of the cells was left out.
    """
    if names.LOG_LIKELIHOOD not in tree.children:
        return None
    return _total(group(tree, names.LOG_LIKELIHOOD)[names.CELLS]) + _of_retries(tree)


def _of_retries(tree: xr.DataTree) -> xr.DataArray | float:
    """Log density of the differences between retries, up to a constant; 0 without any."""
    posterior, constants = group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA)
    if names.VAR_RETRY_SD not in posterior:
        return 0.0
    sd = posterior[names.VAR_RETRY_SD]
    degrees, scatter = constants[names.VAR_RETRY_DEGREES], constants[names.VAR_RETRY_SCATTER]
    return _total(-degrees * np.log(sd) - scatter / (2 * sd**2))


def _total(array: xr.DataArray) -> xr.DataArray:
    return array.sum([dim for dim in array.dims if dim not in SAMPLE])


def _covariance_prior(tree: xr.DataTree) -> xr.DataArray:
    """Half-normal sds and LKJ correlations, up to a constant."""
    posterior, constants = group(tree, names.POSTERIOR), group(tree, names.CONSTANT_DATA)
    scale, eta = (_by_component(constants, name) for name in ("unit_sd", "lkj_eta"))
    sd = posterior[names.VAR_UNIT_SD].transpose(*SAMPLE, names.COMPONENT)
    _, log_det = np.linalg.slogdet(posterior[names.VAR_COVARIANCE].values)
    correlations = log_det - 2 * np.log(sd.values).sum(axis=2)
    shrunk = sd.values**2  # of a t distribution the prior is that of its scale
    if names.VAR_DEGREES in posterior:
        shrunk = shrunk * (1 - 2 / posterior[names.VAR_DEGREES].values)[:, :, None]
    density = (eta.flat[0] - 1) * correlations - 0.5 * (shrunk / scale**2).sum(axis=2)
    return xr.DataArray(density, dims=SAMPLE, coords={dim: sd[dim] for dim in SAMPLE})


def _by_component(constants: xr.Dataset, name: str) -> NDArray[np.float64]:
    """A prior's number for each component, which has that of its scale group."""
    held = constants[names.VAR_PRIOR_SCALES].sel({names.PRIOR_NAME: name})
    return np.asarray(held.values[constants[names.VAR_GROUP].values.astype(int)])
