"""The Student cell model: the cell model of `cells` with heavy tails.

For unit i of stratum g with effect coefficients η_i (see `basis`):

    η_i ~ t_ν(β + δ_g, s_g² Σ),   ν = 2 + gamma of shape 2,

with the priors of the normal cell model for everything else, Σ being the scale of a t distribution
and not its covariance, which is Σ ν / (ν − 2). One weight of a unit moves all of its cells, and it
is integrated out: the density is that of the t. It has no sufficient statistics, so a gradient's
cost grows with the number of units, and β and δ are sampled. The location of a t is the mean of a
symmetric population only; that of a skewed one lies between its location and its tail.

Invariant: the density is that of `scipy.stats.multivariate_t`, of cells, and for large ν that of
the normal cell model. Pinned by `tests/test_student.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes import cells, sample, tails
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData, stratum_codes
from fourcorner.bayes.priors import Priors
from fourcorner.spec import SamplerSpec

Floats = NDArray[np.float64]
Graph = Any  # a PyTensor variable; numpy arrays do as well

TARGET_ACCEPT = 0.95
ABOVE_TWO = "degrees_above_two"
COEFFICIENTS, STRATUM_OF = "coefficients", "unit_stratum"
NU = 4.0  # of the first look alone
STEPS = 50

NOTE = (
    "the value is the location of a t distribution: the mean only of a population that is "
    "symmetric about it"
)
NOTES = (
    "the family has no retry noise of its own: unit sds include it",
    "estimates are locations of t distributions, which are means only where the population is "
    "symmetric; check 2 compares them with means",
)
ATTRS = {
    "sampling_variance": names.BY_BOOTSTRAP,
    "value_note": NOTE,
    "no_unpooled": (
        "unpooled estimates: the student family draws the strata's locations together and has none "
        "without pooling"
    ),
}


@dataclass(frozen=True)
class Units:
    """Units one by one, which the t distribution needs.

    Attributes
    ----------
    coefficients : ndarray of shape (units, effects)
    codes : ndarray of int, shape (units,)
        Stratum of each.
    """

    coefficients: Floats
    codes: NDArray[np.int64]

    def standardised(self, data: CellData, order: NDArray[np.int64]) -> "Units":
        """The same units with each scale group's location at zero and its scale at one."""
        location = (order == 0) * data.location[data.group]
        return replace(self, coefficients=(self.coefficients - location) / data.scale[data.group])


def units_of(array: xr.DataArray, basis: Basis, strata: tuple[str, ...]) -> Units:
    """Effect coefficients of units × cells, none of them missing."""
    flat = array.values.reshape(array.shape[0], -1)
    return Units(flat @ basis.rows.T / basis.cells_each, stratum_codes(array, strata))


def values(units: Units, data: CellData, priors: Priors) -> dict[str, Graph]:
    """What the model's data containers hold."""
    return {
        cells.COUNT: data.count,
        cells.SCALES: priors.array(),
        cells.REFERENCE: _reference(units, data.count, priors.unit_sd[data.group]),
        COEFFICIENTS: units.coefficients,
        STRATUM_OF: units.codes,
    }


def _reference(units: Units, count: Floats, sd: Floats) -> Floats:
    """Cholesky factor of a first look at Σ, packed by rows: unlike a covariance, near the bulk.

    The scale of a t distribution of few degrees of freedom, by reweighting units about the means
    of their strata; `sd` stands for one unit more than there are.
    """
    strata, size = np.arange(len(count)) == units.codes[:, None], units.coefficients.shape[1]
    weight = np.ones(len(units.codes))
    spread = np.eye(size)
    for _ in range(STEPS):
        inside = strata * weight[:, None]
        means = inside.T @ units.coefficients / inside.sum(axis=0)[:, None]
        off = units.coefficients - means[units.codes]
        total = (weight[:, None] * off).T @ off + np.diag(sd**2)
        spread = total / (len(off) - len(count) + 1)
        distance = (off * np.linalg.solve(spread, off.T).T).sum(axis=1)
        weight = (NU + size) / (NU + distance)
    return np.linalg.cholesky(spread)[np.tril_indices(size)]


def model(basis: Basis, data: CellData, units: Units, priors: Priors) -> pm.Model:
    """The model that is sampled; a refit can replace what its data containers hold.

    Parameters
    ----------
    basis : Basis
    data : CellData
    units : Units
    priors : Priors

    Returns
    -------
    pymc.Model
        Free variables: those of `cells.full` without retry noise, and ``degrees_above_two``.
    """
    strata = len(data.strata)
    with pm.Model(coords=cells.coords(basis, data.strata)) as built:
        held = {name: pm.Data(name, value) for name, value in values(units, data, priors).items()}
        scale = cells.scales(held[cells.SCALES], basis)
        factor, tau_sd, log_spread = cells.unit_variances(basis, strata, scale, held)
        degrees = _degrees(scale)
        means = cells.locations(basis, strata, scale, tau_sd)
        found = log_density(
            held[COEFFICIENTS], held[STRATUM_OF], means, factor, log_spread, degrees
        )
        jacobian = 0.5 * len(basis.labels) * np.log(basis.cells_each)
        pm.Potential(cells.LIKELIHOOD, found - jacobian * held[cells.COUNT].sum())
    return built


def full(basis: Basis, strata: tuple[str, ...], priors: Priors) -> pm.Model:
    """The same priors, and no data."""
    built = cells.full(basis, strata, priors)
    with built:
        _degrees(cells.scales(priors.array(), basis))
    return built


def _degrees(scale: dict[str, Graph]) -> Graph:
    above = pm.Gamma(ABOVE_TWO, alpha=2.0, beta=2.0 / (scale["nu_mean"] - 2.0))
    return pm.Deterministic(names.VAR_DEGREES, 2.0 + above)


def log_density(
    coefficients: Graph,
    codes: Graph,
    means: Graph,
    factor: Graph,
    log_spread: Graph,
    degrees: Graph,
) -> Graph:
    """Log density of all units' effect coefficients.

    Parameters
    ----------
    coefficients : tensor of shape (units, effects)
    codes : int tensor of shape (units,)
    means : tensor of shape (strata, effects)
    factor : tensor of shape (effects, effects)
        Cholesky factor of Σ.
    log_spread : tensor of shape (strata,)
        log s.
    degrees : scalar tensor
        ν.
    """
    size = factor.shape[0]
    constant = (
        pt.gammaln((degrees + size) / 2)
        - pt.gammaln(degrees / 2)
        - size / 2 * pt.log(np.pi * degrees)
    )
    given = (factor, means, log_spread, pt.reshape(degrees, (1,)), coefficients, codes)
    return codes.shape[0] * constant + tails.log_density(*given)


def drawn(
    array: xr.DataArray,
    basis: Basis,
    data: CellData,
    priors: Priors,
    sampler: SamplerSpec,
    progress: Callable[[str], None],
) -> sample.Drawn:
    """Compile and sample.

    Parameters
    ----------
    array : DataArray with dims (unit, state, channels)
    basis, data, priors
    sampler : SamplerSpec
        A `target_accept` that is None is 0.95.
    progress : callable

    Raises
    ------
    FitError
        If the chains could not start.
    """
    units = units_of(array, basis, data.strata)
    structure = (basis.modelled.tobytes(), basis.by_stratum.tobytes(), basis.groups, data.strata)
    key = (names.STUDENT, tuple(basis.factors.items()), *structure)
    compiled = sample.compiled_once(key, basis, lambda: model(basis, data, units, priors))
    standard = values(
        units.standardised(data, basis.order),
        data.standardised(basis.order),
        priors.standardised(data.location, data.scale),
    )
    draws = sample.chains(compiled.program.with_data(**standard), sampler, TARGET_ACCEPT, progress)
    located = _native(draws.posterior, basis, data)
    return sample.Drawn(compiled, draws, located, full(basis, data.strata, priors))


def _native(draws: xr.Dataset, basis: Basis, data: CellData) -> xr.Dataset:
    """Draws of standardised scores in the scores' own units; ν, τ and s have none."""
    location, scale = (basis.order == 0) * data.location[data.group], data.scale[data.group]
    modelled = basis.modelled
    found = sample.native(draws, data)
    found = found.assign(
        {names.VAR_EFFECT: location[modelled] + scale[modelled] * found[names.VAR_EFFECT]}
    )
    if names.VAR_DEVIATION in found:
        own = scale[basis.by_stratum]
        found = found.assign({names.VAR_DEVIATION: own * found[names.VAR_DEVIATION]})
    return found
