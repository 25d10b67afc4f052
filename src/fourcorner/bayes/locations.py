"""The locations β and δ given the data and the variance parameters: Gaussian, drawn exactly.

Invariant: the covariances here are those that the collapsed density integrates over, so collapsed
draws and these together are draws of the full model. Pinned by `tests/test_cell_model.py`.
"""

from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes import cells
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.priors import Priors

Floats = NDArray[np.float64]

BLOCK = 2_000_000  # numbers in one block of stacked covariances: 16 MB


class Variances(NamedTuple):
    """Variance parameters of flattened draws.

    Attributes
    ----------
    unit : ndarray of shape (draws, effects, effects)
        Σ.
    mean : ndarray of shape (draws, strata)
        s_g² / n_g.
    own : ndarray of shape (draws, effects)
        τ² σ², zero where strata agree.
    """

    unit: Floats
    mean: Floats
    own: Floats

    def block(self, part: slice) -> "Variances":
        """Some of the draws."""
        return Variances(self.unit[part], self.mean[part], self.own[part])


def variances(
    draws: xr.Dataset, count: Floats, order: NDArray[np.int64], by_stratum: NDArray[np.bool_]
) -> Variances:
    """Variance parameters of a posterior, chains flattened.

    Parameters
    ----------
    draws : xarray.Dataset with dims (chain, draw, …)
    count : ndarray of shape (strata,)
        Units in each stratum.
    order, by_stratum : ndarray of shape (effects,)
        As in `basis.Basis`.
    """
    size = len(order)
    unit = draws[names.VAR_COVARIANCE].values.reshape(-1, size, size)
    if names.VAR_TAU not in draws:
        return Variances(unit, np.ones((len(unit), 1)) / count, np.zeros((len(unit), size)))
    orders = draws[names.ORDER].values
    place = np.searchsorted(orders, order).clip(max=len(orders) - 1)
    tau = draws[names.VAR_TAU].values.reshape(len(unit), -1)[:, place]
    spread = draws[names.VAR_STRATUM_SCALE].values.reshape(len(unit), -1)
    own = by_stratum.astype(float) * tau**2 * np.diagonal(unit, axis1=1, axis2=2)
    return Variances(unit, spread**2 / count, own)


def stacked_covariances(given: Variances, common: Floats) -> tuple[Floats, Floats]:
    """Covariances of the stacked strata's means of effects.

    Parameters
    ----------
    given : Variances
    common : ndarray of shape (effects,)
        Prior variance of β.

    Returns
    -------
    tuple of ndarray of shape (draws, strata × effects, strata × effects)
        Of the means about their expectations, and of the expectations a priori.
    """
    strata, size = given.mean.shape[1], given.unit.shape[1]
    sampling = _kron(np.eye(strata) * given.mean[:, None, :], given.unit)
    everywhere = _kron(np.ones((1, strata, strata)), np.diag(common)[None])
    centring = (np.eye(strata) - 1 / strata)[None]
    return sampling, everywhere + _kron(centring, given.own[:, :, None] * np.eye(size))


def _kron(outer: Floats, inner: Floats) -> Floats:
    """Kronecker product in each draw."""
    product = outer[:, :, None, :, None] * inner[:, None, :, None, :]
    return product.reshape(len(product), outer.shape[1] * inner.shape[1], -1)


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
    given = variances(draws, data.count, basis.order, basis.by_stratum)
    location = cells.prior_location(basis, asdict(priors))
    common = cells.prior_variance(basis, asdict(priors))
    generator = np.random.default_rng([seed, 3])
    step = max(1, BLOCK // data.mean.size**2)
    blocks = [
        _conditional_draw(data, location, common, given.block(slice(i, i + step)), generator)
        for i in range(0, len(given.unit), step)
    ]
    effects, standard = (np.concatenate(part) for part in zip(*blocks, strict=True))
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


def _conditional_draw(
    data: CellData,
    location: Floats,
    common: Floats,
    given: Variances,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """β (draws, effects) and δ / (τσ) (draws, strata, effects) given the strata's means.

    A draw from the prior and of the noise, moved by the regression of the locations on what it
    misses the data by, is a draw from the conditional posterior.
    """
    draws, (strata, size) = len(given.unit), data.mean.shape
    own_sd = np.sqrt(given.own)[:, None]
    beta = location + np.sqrt(common) * generator.standard_normal((draws, size))
    standard = generator.standard_normal((draws, strata, size))
    standard -= standard.mean(axis=1, keepdims=True)
    noise = generator.standard_normal((draws, strata, size))
    noise = noise @ np.linalg.cholesky(given.unit).swapaxes(1, 2) * np.sqrt(given.mean)[:, :, None]
    missed = data.mean - (beta[:, None] + own_sd * standard + noise)
    sampling, prior = stacked_covariances(given, common)
    solved = np.linalg.solve(sampling + prior, missed.reshape(draws, -1, 1))
    solved = solved.reshape(draws, strata, size)
    centred = solved - solved.mean(axis=1, keepdims=True)
    return beta + common * solved.sum(axis=1), standard + own_sd * centred
