"""The locations β and δ given the data and the variance parameters: Gaussian, drawn exactly.

Invariant: the covariances here are those that the collapsed density integrates over, so collapsed
draws and these together are draws of the full model. Pinned by `tests/test_cell_model.py` and
`tests/test_patterns.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes import cells
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.incomplete import Groups
from fourcorner.bayes.outputs import constants
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.variances import Variances, location_covariances, stacked, variances

Floats = NDArray[np.float64]

BLOCK = 2_000_000  # numbers in one block of stacked covariances: 16 MB


def information(
    given: Variances, groups: Groups, location: Floats, rows: Floats
) -> tuple[Floats, Floats]:
    """What the observed cells tell of the strata's means of effects in each draw.

    Parameters
    ----------
    given : Variances
    groups : Groups
    location : ndarray of shape (effects,)
        Point that the means are measured from.
    rows : ndarray of shape (effects, cells)
        Of the basis.

    Returns
    -------
    tuple of ndarray
        Information, of shape (draws, strata, effects, effects): the inverse of the covariance of a
        stratum's mean where its units are complete; and score, of shape (draws, strata, effects):
        information times what the stratum's units say of its mean.

    Raises
    ------
    LinAlgError
        If the covariance of a stratum's units is singular in double precision.
    """
    if not groups.missing.any():
        whole = groups.count[:, None, None] * np.linalg.inv(given.units)
        return whole, np.einsum("dgkl,gl->dgk", whole, groups.mean - location)
    root = np.linalg.inv(np.linalg.cholesky(given.units))
    precision = root.swapaxes(2, 3) @ root
    off = groups.mean - location
    strata = np.arange(precision.shape[1])[:, None] == groups.stratum
    known = (strata @ groups.count)[:, None, None] * precision
    score = (precision @ ((strata * groups.count) @ off)[..., None])[..., 0]
    for p in np.flatnonzero(groups.missing.any(axis=1)):
        code, lost = groups.stratum[p], rows[:, groups.missing[p] == 1]
        moved = lost.T @ precision[:, code]
        fill = np.linalg.solve(np.linalg.cholesky(moved @ lost), moved)
        turned = groups.count[p] * fill.swapaxes(1, 2)
        known[:, code] -= turned @ fill
        score[:, code] -= (turned @ (fill @ off[p])[..., None])[..., 0]
    return known, score


def draw_locations(
    draws: xr.Dataset, basis: Basis, data: CellData, priors: Priors, seed: int
) -> xr.Dataset:
    """Add β and δ to draws of the collapsed model.

    Parameters
    ----------
    draws : xarray.Dataset with dims (chain, draw, …)
    basis, data, priors
        As for `cells.collapsed`.
    seed : int

    Returns
    -------
    xarray.Dataset
        With ``effects`` and, when there are several strata, ``stratum_deviation`` and its
        standardised form.
    """
    given = variances(draws, constants(data, basis, priors, list(data.strata)))
    scales = priors.by_effect(basis.group)
    location, common = cells.prior_location(basis, scales), cells.prior_variance(basis, scales)
    generator = np.random.default_rng([seed, 3])
    step = max(1, BLOCK // data.mean.size**2)
    blocks = []
    for start in range(0, len(given.unit), step):
        block = given.block(slice(start, start + step))
        told = information(block, data.groups, location, basis.rows)
        blocks.append(conditional(*told, common, np.sqrt(block.own), generator))
    beta, standard = (np.concatenate(part) for part in zip(*blocks, strict=True))
    effects = location + beta
    shape = (draws.sizes[names.CHAIN], draws.sizes[names.DRAW])
    dims = (names.CHAIN, names.DRAW)
    beta = effects[:, basis.modelled].reshape(*shape, -1)
    found: dict[str, tuple[tuple[str, ...], Floats]] = {
        names.VAR_EFFECT: ((*dims, names.EFFECT), beta)
    }
    if len(data.strata) > 1:
        varying = basis.by_stratum
        standard = standard[:, :, varying]
        delta = standard * np.sqrt(given.own)[:, None, varying]
        found[names.VAR_DEVIATION] = (
            (*dims, names.STRATUM, names.STRATUM_EFFECT),
            delta.reshape(*shape, *delta.shape[1:]),
        )
        found[cells.DEVIATION_Z] = (
            (*dims, names.STRATUM_EFFECT, names.STRATUM),
            standard.swapaxes(1, 2).reshape(*shape, -1, len(data.strata)),
        )
    named = cells.coords(basis, data.strata)
    kept = (names.EFFECT, names.STRATUM, names.STRATUM_EFFECT)
    return draws.assign_coords({dim: named[dim] for dim in kept}).assign(found)


def conditional(
    known: Floats,
    score: Floats,
    common: Floats,
    own: Floats,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """What strata have in common, less its prior mean, and their standardised deviations.

    A draw from the prior and of the noise, moved by the regression of the locations on what it
    misses the data by, is a draw from the conditional posterior.

    Parameters
    ----------
    known, score : ndarray
        As `information` gives them, about the prior mean.
    common : ndarray of shape (effects,)
        Prior variance of what strata have in common.
    own : ndarray of shape (draws, effects)
        Sd between strata.
    generator : Generator

    Returns
    -------
    tuple of ndarray of shapes (draws, effects) and (draws, strata, effects)
    """
    draws, strata, size = score.shape
    own_sd = own[:, None]
    beta = np.sqrt(common) * generator.standard_normal((draws, size))
    standard = generator.standard_normal((draws, strata, size))
    standard -= standard.mean(axis=1, keepdims=True)
    noise = generator.standard_normal((draws, strata, size, 1))
    root = _root(known)
    means = (beta[:, None] + own_sd * standard)[..., None]
    missed = score - (known @ means + root @ noise)[..., 0]
    across = np.eye(strata * size) + stacked(known) @ location_covariances(own**2, common, strata)
    solved = np.linalg.solve(across, missed.reshape(draws, -1, 1)).reshape(draws, strata, size)
    centred = solved - solved.mean(axis=1, keepdims=True)
    return beta + common * solved.sum(axis=1), standard + own_sd * centred


def _root(known: Floats) -> Floats:
    """A square root of each information matrix, which lacks rank where a cell was never seen."""
    try:
        return np.linalg.cholesky(known)
    except np.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(known)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]
