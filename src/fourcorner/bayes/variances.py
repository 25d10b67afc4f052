"""The variance parameters of a fit's draws, and the covariances that they make.

Invariant: these are the covariances that the collapsed density integrates over. Pinned by
`tests/test_cell_model.py` and `tests/test_patterns.py`.
"""

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names

Floats = NDArray[np.float64]


class Variances(NamedTuple):
    """Variance parameters of flattened draws.

    Attributes
    ----------
    unit : ndarray of shape (draws, effects, effects)
        Σ: of a normal the covariance, of a t its scale.
    scale : ndarray of shape (draws, strata)
        s_g².
    noise : ndarray of shape (draws, effects)
        Diagonal of N, zero where retry noise is not measured.
    own : ndarray of shape (draws, effects)
        τ² σ², zero where strata agree.
    degrees : ndarray of shape (draws,)
        ν of a t distribution, infinite for a normal.
    """

    unit: Floats
    scale: Floats
    noise: Floats
    own: Floats
    degrees: Floats

    def block(self, part: slice) -> "Variances":
        """Some of the draws."""
        return Variances(*(array[part] for array in self))

    @property
    def spread(self) -> Floats:
        """Scale of a unit's effects, s_g² Σ + N: shape (draws, strata, effects, effects)."""
        between = self.scale[:, :, None, None] * self.unit[:, None]
        return between + (self.noise[:, :, None] * np.eye(self.unit.shape[1]))[:, None]

    @property
    def units(self) -> Floats:
        """Covariance of a unit's effects: shape (draws, strata, effects, effects)."""
        return self.spread * self.inflation[:, None, None, None]

    @property
    def inflation(self) -> Floats:
        """Covariance over scale, ν / (ν − 2): shape (draws,)."""
        return 1 / (1 - 2 / self.degrees)


def variances(draws: xr.Dataset, constants: xr.Dataset) -> Variances:
    """Variance parameters of a posterior, chains flattened.

    Parameters
    ----------
    draws : xarray.Dataset with dims (chain, draw, …)
    constants : xarray.Dataset
        The group ``constant_data`` of a fit, as `outputs.constants` makes it.
    """
    size, strata = constants.sizes[names.COMPONENT], constants.sizes[names.STRATUM]
    unit = draws[names.VAR_COVARIANCE].values.reshape(-1, size, size)
    noise, own = np.zeros((len(unit), size)), np.zeros((len(unit), size))
    scale, degrees = np.ones((len(unit), strata)), np.full(len(unit), np.inf)
    if names.VAR_DEGREES in draws:
        degrees = draws[names.VAR_DEGREES].values.ravel()
        unit = unit * (1 - 2 / degrees)[:, None, None]
    if names.VAR_RETRY_SD in draws:
        sd = draws[names.VAR_RETRY_SD].values.reshape(len(unit), -1)
        group = constants[names.VAR_GROUP].values
        noise = constants[names.VAR_RETRY_SHARE].values * sd[:, group] ** 2
    if names.VAR_TAU in draws:
        place = constants[names.VAR_TAU_PLACE].values
        tau = draws[names.VAR_TAU].values.reshape(len(unit), -1)[:, place]
        own = np.where(place >= 0, tau**2 * np.diagonal(unit, axis1=1, axis2=2), 0.0)
        scale = draws[names.VAR_STRATUM_SCALE].values.reshape(len(unit), -1) ** 2
    return Variances(unit, scale, noise, own, degrees)


def prior_covariances(given: Variances, common: Floats) -> Floats:
    """Covariances of the stacked strata's means of effects a priori.

    Parameters
    ----------
    given : Variances
    common : ndarray of shape (effects,)
        Prior variance of β.

    Returns
    -------
    ndarray of shape (draws, strata × effects, strata × effects)
    """
    return location_covariances(given.own, common, given.scale.shape[1])


def location_covariances(own: Floats, common: Floats, strata: int) -> Floats:
    """As `prior_covariances`, given the variances between strata: shape (draws, effects)."""
    everywhere = _kron(np.ones((1, strata, strata)), np.diag(common)[None])
    centring = (np.eye(strata) - 1 / strata)[None]
    return everywhere + _kron(centring, own[:, :, None] * np.eye(len(common)))


def sampling_covariances(given: Variances, count: Floats) -> Floats:
    """Covariances of the stacked means of complete units about their expectations.

    Parameters
    ----------
    given : Variances
    count : ndarray of shape (strata,)
        Complete units in each stratum.

    Returns
    -------
    ndarray of shape (draws, strata × effects, strata × effects)
    """
    return stacked(given.units / count[:, None, None])


def stacked(blocks: Floats) -> Floats:
    """Block-diagonal matrices of the strata's blocks."""
    draws, strata, size, _ = blocks.shape
    found = np.zeros((draws, strata, size, strata, size))
    every = np.arange(strata)
    found[:, every, :, every] = blocks.swapaxes(0, 1)
    return found.reshape(draws, strata * size, strata * size)


def _kron(outer: Floats, inner: Floats) -> Floats:
    """Kronecker product in each draw."""
    product = outer[:, :, None, :, None] * inner[:, None, :, None, :]
    return product.reshape(len(product), outer.shape[1] * inner.shape[1], -1)


def posterior_covariances(prior: Floats, known: Floats) -> Floats:
    """Covariances of the stacked strata's means given the data.

    Parameters
    ----------
    prior : ndarray of shape (draws, strata × effects, strata × effects)
        As `prior_covariances` gives it.
    known : ndarray of shape (draws, strata, effects, effects)
        As `locations.information` gives it.

    Returns
    -------
    ndarray of shape (draws, strata × effects, strata × effects)
    """
    seen = stacked(known)
    return np.linalg.solve(np.eye(prior.shape[1]) + prior @ seen, prior)
