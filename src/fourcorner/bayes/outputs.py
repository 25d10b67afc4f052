"""A fit as a DataTree: posterior, prior, predictive, log densities and what they rest on.

Invariant: the tree holds all that contrasts, weights and checks need later, without the model,
and saves to netCDF and loads again unchanged. Pinned by `tests/test_fit.py`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln

from fourcorner import names
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.cells import prior_variance
from fourcorner.bayes.data import CellData, stratum_codes
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.retry import Retries
from fourcorner.bayes.variances import Variances, variances

Floats = NDArray[np.float64]

CACHED = 200_000  # numbers in one temporary array that a processor's cache still holds
LIMIT = 50_000_000  # numbers in one array by unit and draw: 400 MB
PREDICTIVE_DRAWS = 500
FEWEST_PREDICTIVE_DRAWS = 20
KEPT = (
    names.VAR_EFFECT,
    names.VAR_TAU,
    names.VAR_DEVIATION,
    names.VAR_STRATUM_SCALE,
    names.VAR_UNIT_SD,
    names.VAR_COVARIANCE,
    names.VAR_RETRY_SD,
    names.VAR_DEGREES,
)


def parameters(draws: xr.Dataset, basis: Basis, strata: tuple[str, ...]) -> xr.Dataset:
    """Named parameters of raw draws, with the cell means of each stratum.

    Parameters
    ----------
    draws : xarray.Dataset with dims (chain, draw, …)
        Of the posterior or of the prior.
    basis : Basis
    strata : tuple of str

    Returns
    -------
    xarray.Dataset
        ``cell_mean`` has dims (chain, draw, stratum, state, channels).
    """
    kept = _with_covariances(draws[[name for name in KEPT if name in draws]])
    means = np.repeat(
        _over_basis(kept, names.VAR_EFFECT, basis.modelled)[:, :, None], len(strata), 2
    )
    if names.VAR_DEVIATION in kept:
        means += _over_basis(kept, names.VAR_DEVIATION, basis.by_stratum)
    shape = (*means.shape[:3], *(len(levels) for levels in basis.factors.values()))
    cell_mean = xr.DataArray(
        (means @ basis.rows).reshape(shape),
        dims=(names.CHAIN, names.DRAW, names.STRATUM, *basis.factors),
        coords={names.STRATUM: list(strata), **{k: list(v) for k, v in basis.factors.items()}},
    )
    clean = kept.assign({names.VAR_CELL_MEAN: cell_mean})
    clean.attrs = {}
    return clean


def _with_covariances(draws: xr.Dataset) -> xr.Dataset:
    """Covariances and sds in the place of a t distribution's scales."""
    if names.VAR_DEGREES not in draws:
        return draws
    ratio = 1 / (1 - 2 / draws[names.VAR_DEGREES])
    covariance, sd = draws[names.VAR_COVARIANCE], draws[names.VAR_UNIT_SD]
    return draws.assign(
        {
            names.VAR_COVARIANCE: (covariance * ratio).transpose(*covariance.dims),
            names.VAR_UNIT_SD: (sd * np.sqrt(ratio)).transpose(*sd.dims),
        }
    )


def _over_basis(draws: xr.Dataset, name: str, used: NDArray[np.bool_]) -> Floats:
    """A variable's last axis spread over every effect of the basis, zero elsewhere."""
    return np.asarray(draws[name].values @ np.eye(len(used))[used])


def unit_log_likelihood(
    posterior: xr.Dataset, cells: xr.DataArray, constants: xr.Dataset
) -> xr.Dataset | None:
    """Log density of each unit's observed cells, in blocks of draws.

    Parameters
    ----------
    posterior : xarray.Dataset
        As `parameters` returns it.
    cells : DataArray with dims (unit, state, channels)
        NaN where a cell is missing.
    constants : xarray.Dataset
        As `constants` returns it.

    Returns
    -------
    xarray.Dataset or None
        ``cells`` with dims (chain, draw, unit); None above 50 million numbers.
    """
    chains, draws = posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW]
    if chains * draws * cells.shape[0] > LIMIT:
        return None
    given, means = variances(posterior, constants), _flat_means(posterior)
    flat = cells.values.reshape(cells.shape[0], -1)
    codes = stratum_codes(cells, constants[names.STRATUM].values.tolist())
    members = _alike(codes, np.isnan(flat))
    rows = _rows(constants)
    density = np.empty((chains * draws, len(flat)))
    step = max(1, CACHED // flat.size)
    for start in range(0, len(density), step):
        block = slice(start, start + step)
        density[block] = _density(flat, members, means[block], given.block(block), rows)
    return xr.Dataset(
        {
            names.CELLS: (
                (names.CHAIN, names.DRAW, names.UNIT),
                density.reshape(chains, draws, len(flat)),
            )
        },
        coords=_unit_coords(posterior, cells),
    )


Members = list[tuple[int, NDArray[np.bool_], NDArray[np.int64]]]


def _alike(codes: NDArray[np.int64], missing: NDArray[np.bool_]) -> Members:
    """Stratum, observed cells and positions of the units that are alike in both."""
    keys = np.column_stack([codes, missing]).astype(np.int64)
    found, inverse = np.unique(keys, axis=0, return_inverse=True)
    order = np.split(np.argsort(inverse, kind="stable"), np.cumsum(np.bincount(inverse))[:-1])
    return [(int(key[0]), key[1:] == 0, inside) for key, inside in zip(found, order, strict=True)]


def _density(
    flat: Floats, members: Members, means: Floats, given: Variances, rows: Floats
) -> Floats:
    """Log density of units (columns) under draws (rows)."""
    density, spread = np.empty((len(means), len(flat))), given.spread
    for code, seen, inside in members:
        across = rows[:, seen]
        factor = np.linalg.cholesky(across.T @ spread[:, code] @ across)
        log_det = 2 * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
        off = flat[inside][None][:, :, seen] - means[:, code, None][:, :, seen]
        centred = np.linalg.inv(factor) @ off.swapaxes(1, 2)
        distance = np.einsum("sku,sku->su", centred, centred)
        density[:, inside] = _of_distance(distance, log_det, int(seen.sum()), given.degrees)
    return density


def _of_distance(distance: Floats, log_det: Floats, size: int, degrees: Floats) -> Floats:
    """Log density of a normal or a t from squared distances: shape (draws, units)."""
    if np.isinf(degrees).all():
        return -0.5 * ((log_det + size * np.log(2 * np.pi))[:, None] + distance)
    constant = gammaln((degrees + size) / 2) - gammaln(degrees / 2) - 0.5 * log_det
    constant -= size / 2 * np.log(np.pi * degrees)
    tails = (degrees + size)[:, None] / 2 * np.log1p(distance / degrees[:, None])
    return np.asarray(constant[:, None] - tails)


def _rows(constants: xr.Dataset) -> Floats:
    """Rows of the basis: shape (effects, cells)."""
    return constants[names.VAR_BASIS].values.reshape(constants.sizes[names.COMPONENT], -1)


def predictive(
    draws_of: xr.Dataset, cells: xr.DataArray, constants: xr.Dataset, seed: int
) -> xr.Dataset | None:
    """Replicated cells of the cohort's units for evenly thinned draws.

    Parameters
    ----------
    draws_of : xarray.Dataset
        Of the posterior or of the prior, as `parameters` returns it.
    cells : DataArray with dims (unit, state, channels)
        Units that are replicated, every cell of each.
    constants : xarray.Dataset
        As `constants` returns it.
    seed : int

    Returns
    -------
    xarray.Dataset or None
        ``cells`` with dims (chain, draw, unit, state, channels): at most 500 draws in all, fewer
        where 500 would pass 50 million numbers, None where not even 20 fit.
    """
    wanted = min(PREDICTIVE_DRAWS, LIMIT // cells.size)
    if wanted < FEWEST_PREDICTIVE_DRAWS:
        return None
    chains, draws = draws_of.sizes[names.CHAIN], draws_of.sizes[names.DRAW]
    per_chain = min(draws, max(1, wanted // chains))
    kept = np.linspace(0, draws - 1, per_chain).round().astype(int)
    thin = draws_of.isel({names.DRAW: kept})
    means, given = _flat_means(thin), variances(thin, constants)
    codes = stratum_codes(cells, constants[names.STRATUM].values.tolist())
    rows = _rows(constants)
    generator = np.random.default_rng([seed, 4])
    noise = generator.standard_normal((len(means), len(codes), len(rows)))
    turned = np.linalg.cholesky(given.spread).swapaxes(2, 3) @ rows
    if np.isfinite(given.degrees).all():
        noise /= np.sqrt(tail_weights(given.degrees, len(codes), generator))[:, :, None]
    replicated = means[:, codes]
    for code in range(means.shape[1]):
        replicated[:, codes == code] += noise[:, codes == code] @ turned[:, code]
    shape = (chains, per_chain, *cells.shape)
    return xr.Dataset(
        {names.CELLS: ((names.CHAIN, names.DRAW, *cells.dims), replicated.reshape(shape))},
        coords={
            **_unit_coords(thin, cells),
            **{dim: cells[dim].values for dim in cells.dims if dim != names.UNIT},
        },
    )


def tail_weights(degrees: Floats, units: int, generator: np.random.Generator) -> Floats:
    """Weights of units whose normals over the weight's root are t: shape (draws, units)."""
    return np.asarray(
        generator.chisquare(degrees[:, None], (len(degrees), units)) / degrees[:, None]
    )


def _flat_means(posterior: xr.Dataset) -> Floats:
    """Cell means by draw: shape (draws, strata, cells)."""
    means = posterior[names.VAR_CELL_MEAN].values
    draws = means.shape[0] * means.shape[1]
    return np.asarray(means.reshape(draws, means.shape[2], -1))


def _unit_coords(posterior: xr.Dataset, cells: xr.DataArray) -> dict[str, Any]:
    keep = (names.CHAIN, names.DRAW)
    return {
        **{dim: posterior[dim].values for dim in keep},
        names.UNIT: cells[names.UNIT].values.astype(str),
    }


def constants(
    stats: CellData, basis: Basis, priors: Priors, strata_of_data: list[str]
) -> xr.Dataset:
    """What contrasts, weights and checks need of a fit besides its draws."""
    shape = [len(levels) for levels in basis.factors.values()]
    groups = stats.groups
    indicator = (np.arange(len(stats.strata))[:, None] == groups.stratum) * groups.count
    nothing = np.zeros(len(basis.groups))
    again = stats.retries or Retries(nothing, nothing, np.zeros(len(basis.labels)))
    by_effect = prior_variance(basis, priors.by_effect(basis.group))
    return xr.Dataset(
        {
            names.VAR_UNITS: (names.STRATUM, stats.count),
            names.VAR_OBSERVED: (
                (names.STRATUM, *basis.factors),
                (indicator @ (1 - groups.missing)).reshape(-1, *shape),
            ),
            names.VAR_BASIS: (
                (names.COMPONENT, *basis.factors),
                basis.rows.reshape(-1, *shape),
            ),
            names.VAR_ORDER: (names.COMPONENT, basis.order),
            names.VAR_BY_STRATUM: (names.COMPONENT, basis.by_stratum.astype(int)),
            names.VAR_TAU_PLACE: (names.COMPONENT, basis.tau_place),
            names.VAR_GROUP: (names.COMPONENT, basis.group),
            names.VAR_RETRY_SHARE: (names.COMPONENT, again.share),
            names.VAR_RETRY_SCATTER: (names.SCALE_GROUP, again.scatter),
            names.VAR_RETRY_DEGREES: (names.SCALE_GROUP, again.degrees),
            names.VAR_PRIOR_VARIANCE: (names.COMPONENT, by_effect),
            names.VAR_PRIOR_SCALES: ((names.PRIOR_NAME, names.SCALE_GROUP), priors.array()),
            names.VAR_STRATA: (names.DATA_STRATUM, np.array(strata_of_data, dtype=str)),
        },
        coords={
            names.STRATUM: list(stats.strata),
            names.COMPONENT: list(basis.labels),
            names.PRIOR_NAME: [item.name for item in fields(priors)],
            names.SCALE_GROUP: list(basis.groups),
            **{name: list(levels) for name, levels in basis.factors.items()},
        },
    )


def assemble(groups: Mapping[str, xr.Dataset | None], attrs: Mapping[str, Any]) -> xr.DataTree:
    """The tree of the groups that exist, with plain coordinates that netCDF can hold."""
    kept = {name: _plain(dataset) for name, dataset in groups.items() if dataset is not None}
    tree = xr.DataTree.from_dict(kept)
    tree.attrs.update(attrs)
    return tree


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Object coordinates as texts, and no attribute that netCDF cannot write."""
    texts = {
        name: coord.astype(str) for name, coord in dataset.coords.items() if coord.dtype == object
    }
    clean = dataset.assign_coords(texts)
    clean.attrs = {
        key: value for key, value in dataset.attrs.items() if isinstance(value, str | int | float)
    }
    return clean
