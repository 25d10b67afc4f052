"""Draws of levels and steps, and what a fit's tree holds of a transition model.

Invariant: a stratum's cell means are its step means weighted by how many transitions of each kind
it has, and a step's after less its before is the step. Pinned by `tests/test_transitions.py`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numba import njit
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.locations import BLOCK, conditional
from fourcorner.bayes.matrices import inverse_of
from fourcorner.bayes.outputs import FEWEST_PREDICTIVE_DRAWS, LIMIT, PREDICTIVE_DRAWS
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.transitions.chains import Chains
from fourcorner.bayes.transitions.chains import constants as kept_of
from fourcorner.bayes.transitions.density import correlations, covariance, told
from fourcorner.bayes.transitions.model import CONSTANTS, Endpoints, Variances, variances

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

TOLD = CONSTANTS[:-2]


def information(given: Variances, data: Endpoints, priors: Priors) -> tuple[Floats, Floats]:
    """What the observed endpoints tell of levels and steps in each draw.

    Returns
    -------
    tuple of ndarray
        Information, of shape (draws, strata, moves × channels, the same), and score about the
        prior mean, of shape (draws, strata, moves × channels).
    """
    held = data.constants(priors)
    args: list[Any] = [*given[:4], *(held[name] for name in TOLD), len(data.strata)]
    found: tuple[Floats, Floats] = _information(*args)
    return found


@njit(error_model="numpy")
def _information(
    unit: Floats,
    slow: Floats,
    white: Floats,
    lasting: Floats,
    design: Floats,
    chain: Whole,
    size: Whole,
    code: Whole,
    count: Floats,
    mean: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
    centre: Floats,
    strata: int,
) -> tuple[Floats, Floats]:
    draws, values = len(unit), len(centre)
    known, score = np.empty((draws, strata, values, values)), np.empty((draws, strata, values))
    constants = (design, chain, size, code, count, mean, scatter, place, missing, centre)
    for i in range(draws):
        _, known[i], score[i] = told(
            np.ascontiguousarray(unit[i]),
            np.ascontiguousarray(slow[i]),
            np.ascontiguousarray(white[i]),
            np.ascontiguousarray(lasting[i]),
            *constants,
            strata,
        )
    return known, score


def located(draws: xr.Dataset, data: Endpoints, priors: Priors, seed: int) -> Floats:
    """Levels and steps of each stratum given the data: shape (draws, strata, moves × channels)."""
    given = variances(draws, len(data.chains.levels))
    generator = np.random.default_rng([seed, 3])
    centre, common = data.centre(priors), data.common(priors) ** 2
    step = max(1, BLOCK // (len(data.strata) * len(centre)) ** 2)
    found = []
    for start in range(0, len(given.unit), step):
        block = Variances(*(array[start : start + step] for array in given))
        known, score = information(block, data, priors)
        beta, standard = conditional(known, score, common, block.own, generator)
        found.append(centre + beta[:, None] + block.own[:, None] * standard)
    return np.concatenate(found)


def prior_locations(draws: xr.Dataset, data: Endpoints, priors: Priors, seed: int) -> Floats:
    """Levels and steps of each stratum from the prior: shape (draws, strata, moves × channels)."""
    given = variances(draws, len(data.chains.levels))
    generator = np.random.default_rng([seed, 7])
    beta = generator.standard_normal(given.own.shape) * data.common(priors)
    standard = generator.standard_normal((len(beta), len(data.strata), beta.shape[1]))
    standard -= standard.mean(axis=1, keepdims=True)
    return np.asarray(data.centre(priors) + beta[:, None] + given.own[:, None] * standard)


def step_rows(chains: Chains, stratum: Whole, strata: int) -> tuple[Floats, Floats]:
    """Mean row of the ends of each kind of step in each stratum, and how many there are.

    Returns
    -------
    tuple of ndarray
        Shapes (strata, steps, 2, moves) and (strata, steps); a step that a stratum has none of has
        the mean row of all strata.
    """
    rows, steps = chains.rows(), len(chains.steps)
    count = np.zeros((strata, steps))
    np.add.at(count, (stratum[chains.unit], chains.kind), 1.0)
    total = np.zeros((strata, steps, *rows.shape[1:]))
    np.add.at(total, (stratum[chains.unit], chains.kind), rows)
    everywhere = total.sum(axis=0) / count.sum(axis=0)[:, None, None]
    own = total / np.maximum(count, 1)[:, :, None, None]
    return np.where(count[:, :, None, None] > 0, own, everywhere), count


def parameters(
    draws: xr.Dataset, moved: Floats, data: Endpoints, stratum: Whole, cells: xr.DataArray
) -> xr.Dataset:
    """Named parameters of draws in native units, with step means and cell means.

    Parameters
    ----------
    draws : xarray.Dataset with dims (chain, draw, …)
        Variance parameters.
    moved : ndarray of shape (draws, strata, moves × channels)
        Levels and steps.
    data, stratum
        As `fourcorner.bayes.transitions.data.prepared` gives them.
    cells : DataArray with dims (transition, state, channels)
        For its channels.
    """
    shape = (draws.sizes[names.CHAIN], draws.sizes[names.DRAW])
    strata, moves = len(data.strata), len(data.chains.moves)
    moved = moved.reshape(*shape, strata, moves, -1)
    rows, count = step_rows(data.chains, stratum, strata)
    step_mean = np.einsum("gsem,cdgmk->cdgsek", rows, moved)
    share = count / count.sum(axis=1, keepdims=True)
    cell_mean = np.einsum("gs,cdgsek->cdgek", share, step_mean)
    dims = (names.CHAIN, names.DRAW)
    channels = [str(dim) for dim in cells.dims[2:]]
    sizes = cells.shape[2:]
    kept = (
        *(names.VAR_COVARIANCE, names.VAR_NOISE_COVARIANCE, names.VAR_WHITE),
        *(names.VAR_PERSISTENCE, names.VAR_TAU),
    )
    found = draws[[name for name in kept if name in draws]]
    sds = {
        name: (
            (*dims, names.CHANNEL_CELL),
            np.sqrt(np.diagonal(draws[of].values, axis1=2, axis2=3)),
        )
        for name, of in (
            (names.VAR_UNIT_SD, names.VAR_COVARIANCE),
            (names.VAR_NOISE_SD, names.VAR_NOISE_COVARIANCE),
        )
    }
    cell_dims = (names.STATE, *channels)
    found = found.assign(
        {
            **sds,
            names.VAR_MOVE: ((*dims, names.STRATUM, names.MOVE, names.CHANNEL_CELL), moved),
            names.VAR_STEP_MEAN: (
                (*dims, names.STRATUM, names.STEP, *cell_dims),
                step_mean.reshape(*step_mean.shape[:5], *sizes),
            ),
            names.VAR_CELL_MEAN: (
                (*dims, names.STRATUM, *cell_dims),
                cell_mean.reshape(*cell_mean.shape[:4], *sizes),
            ),
        }
    )
    found = found.assign_coords(
        {
            names.STRATUM: list(data.strata),
            names.MOVE: list(data.chains.moves),
            names.STEP: list(data.chains.steps),
            names.CHANNEL_CELL: list(data.channels),
            **{dim: cells[dim].values for dim in (names.STATE, *channels)},
        }
    )
    found.attrs = {}
    return found


def constants(
    data: Endpoints,
    stratum: Whole,
    priors: Priors,
    strata_of_data: list[str],
    cells: xr.DataArray,
) -> xr.Dataset:
    """What contrasts, weights and checks need of a fit besides its draws."""
    chains = data.chains
    _, count = step_rows(chains, stratum, len(data.strata))
    move_dims = (names.MOVE, names.CHANNEL_CELL)
    shape = (len(chains.moves), len(data.channels))
    variables: Mapping[str, Any] = {
        **kept_of(chains),
        names.VAR_UNITS: (names.STRATUM, data.units),
        names.VAR_TRANSITIONS: (names.STRATUM, count.sum(axis=1)),
        names.VAR_STEPS: ((names.STRATUM, names.STEP), count),
        names.VAR_CENTRE: (move_dims, data.centre(priors).reshape(shape)),
        names.VAR_COMMON: (move_dims, data.common(priors).reshape(shape)),
        names.VAR_STRATA: (names.DATA_STRATUM, np.array(strata_of_data, dtype=str)),
    }
    return xr.Dataset(
        variables,
        coords={
            names.UNIT: chains.units,
            names.STATE: cells[names.STATE].values,
            names.STRATUM: list(data.strata),
            names.STEP: list(chains.steps),
            names.MOVE: list(chains.moves),
            names.CHANNEL_CELL: list(data.channels),
        },
    )


def observed(cells: xr.DataArray) -> xr.Dataset:
    """The scores of the fit by transition, with plain coordinates."""
    keep = {names.UNIT, names.STRATUM, names.TRANSITION_ID, *cells.dims}
    out = [name for name in cells.coords if name not in keep]
    return cells.drop_vars(out).to_dataset(name=names.CELLS)


def unit_log_likelihood(
    posterior: xr.Dataset, data: Endpoints, stratum: Whole, values: Floats
) -> xr.Dataset | None:
    """Log density of each unit's observed endpoints given its stratum's levels and steps.

    Parameters
    ----------
    posterior : xarray.Dataset
        As `parameters` returns it.
    data, stratum
    values : ndarray of shape (units, slots, channels)
        As `Chains.endpoints` gives them.

    Returns
    -------
    xarray.Dataset or None
        ``cells`` with dims (chain, draw, unit); None above 50 million numbers.
    """
    chains, draws = posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW]
    if chains * draws * len(values) > LIMIT:
        return None
    given = variances(posterior, len(data.chains.levels))
    of = data.chains
    moved = posterior[names.VAR_MOVE].values.reshape(chains * draws, *_move_shape(data))
    flat = values.reshape(len(values), -1)
    missing = np.isnan(flat)
    density = np.empty((chains * draws, len(values)))
    args = (of.design, of.chain, of.size, of.template, stratum)
    _log_densities(*given[:4], moved, *args, np.where(missing, 0.0, flat), missing, density)
    return xr.Dataset(
        {
            names.CELLS: (
                (names.CHAIN, names.DRAW, names.UNIT),
                density.reshape(chains, draws, len(values)),
            )
        },
        coords={
            names.CHAIN: posterior[names.CHAIN].values,
            names.DRAW: posterior[names.DRAW].values,
            names.UNIT: of.units,
        },
    )


def _move_shape(data: Endpoints) -> tuple[int, int, int]:
    return len(data.strata), len(data.chains.moves), len(data.channels)


@njit(error_model="numpy")
def _log_densities(
    unit: Floats,
    slow: Floats,
    white: Floats,
    lasting: Floats,
    moved: Floats,
    design: Floats,
    chain: Whole,
    size: Whole,
    template: Whole,
    stratum: Whole,
    flat: Floats,
    missing: NDArray[np.bool_],
    density: Floats,
) -> None:
    """Write log densities of units (columns) under draws (rows)."""
    channels = unit.shape[1]
    for i in range(len(unit)):
        for t in range(len(design)):
            inside = size[t] * channels
            shared = correlations(lasting[i], design[t], chain[t], size[t])
            precision, log_det = inverse_of(covariance(unit[i], slow[i], white[i], shared))
            for u in range(len(flat)):
                if template[u] != t:
                    continue
                off = flat[u, :inside] - (design[t, : size[t]] @ moved[i, stratum[u]]).ravel()
                lost = np.flatnonzero(missing[u, :inside])
                off[lost] = 0.0
                seen = precision @ off
                total = off @ seen + log_det + (inside - len(lost)) * np.log(2 * np.pi)
                if len(lost):
                    within = np.empty((len(lost), len(lost)))
                    for j in range(len(lost)):
                        for k in range(len(lost)):
                            within[j, k] = precision[lost[j], lost[k]]
                    inverse, lost_det = inverse_of(within)
                    total += lost_det - seen[lost] @ (inverse @ seen[lost])
                density[i, u] = -0.5 * total


def predictive(
    draws_of: xr.Dataset, data: Endpoints, stratum: Whole, cells: xr.DataArray, seed: int
) -> xr.Dataset | None:
    """Replicated cells of every transition for evenly thinned draws; shared endpoints agree.

    Returns
    -------
    xarray.Dataset or None
        ``cells`` with dims (chain, draw, transition, state, channels): at most 500 draws in all,
        fewer where 500 would pass 50 million numbers, None where not even 20 fit.
    """
    wanted = min(PREDICTIVE_DRAWS, LIMIT // cells.size)
    if wanted < FEWEST_PREDICTIVE_DRAWS:
        return None
    chains, draws = draws_of.sizes[names.CHAIN], draws_of.sizes[names.DRAW]
    per_chain = min(draws, max(1, wanted // chains))
    kept = np.linspace(0, draws - 1, per_chain).round().astype(int)
    thin = draws_of.isel({names.DRAW: kept})
    given, of = variances(thin, len(data.chains.levels)), data.chains
    moved = thin[names.VAR_MOVE].values.reshape(-1, *_move_shape(data))
    generator = np.random.default_rng([seed, 4])
    slots, channels = of.design.shape[1], len(data.channels)
    noise = generator.standard_normal((len(moved), len(of.units), slots * channels))
    made = np.empty((len(moved), len(of.units), slots, channels))
    args = (of.design, of.chain, of.size, of.template, stratum)
    _replicate(*given[:4], moved, *args, noise, made)
    by_transition = made[:, of.unit[:, None], of.slot]
    return xr.Dataset(
        {
            names.CELLS: (
                (names.CHAIN, names.DRAW, *cells.dims),
                by_transition.reshape(chains, per_chain, *cells.shape),
            )
        },
        coords={
            names.CHAIN: thin[names.CHAIN].values,
            names.DRAW: thin[names.DRAW].values,
            **{dim: cells[dim].values for dim in cells.dims[1:]},
        },
    )


@njit(error_model="numpy")
def _replicate(
    unit: Floats,
    slow: Floats,
    white: Floats,
    lasting: Floats,
    moved: Floats,
    design: Floats,
    chain: Whole,
    size: Whole,
    template: Whole,
    stratum: Whole,
    noise: Floats,
    made: Floats,
) -> None:
    """Write replicated endpoints of every unit."""
    channels = unit.shape[1]
    for i in range(len(unit)):
        for t in range(len(design)):
            inside = size[t] * channels
            shared = correlations(lasting[i], design[t], chain[t], size[t])
            root = np.linalg.cholesky(covariance(unit[i], slow[i], white[i], shared))
            for u in range(len(noise[i])):
                if template[u] == t:
                    mean = design[t, : size[t]] @ moved[i, stratum[u]]
                    drawn = root @ noise[i, u, :inside]
                    made[i, u, : size[t]] = mean + drawn.reshape(size[t], channels)


def log_prior(draws: xr.Dataset, data: Endpoints, priors: Priors) -> xr.Dataset:
    """Log density of the priors at the top, up to a constant: dims (chain, draw).

    Parameters
    ----------
    draws : xarray.Dataset
        As `parameters` returns it.
    """
    dims, shape = (names.CHAIN, names.DRAW), (draws.sizes[names.CHAIN], draws.sizes[names.DRAW])
    common = draws[names.VAR_MOVE].values.mean(axis=2).reshape(*shape, -1)
    off = (common - data.centre(priors)) / data.common(priors)
    found = {names.VAR_MOVE: -0.5 * (off**2).sum(axis=-1)}
    pairs = {
        names.VAR_UNIT_SD: names.VAR_COVARIANCE,
        names.VAR_NOISE_SD: names.VAR_NOISE_COVARIANCE,
    }
    for name, of in pairs.items():
        sd = draws[name].values
        _, log_det = np.linalg.slogdet(draws[of].values)
        correlation = (priors.lkj_eta - 1) * (log_det - 2 * np.log(sd).sum(axis=-1))
        found[name] = -0.5 * ((sd / priors.unit_sd[0]) ** 2).sum(axis=-1) + correlation
    if names.VAR_TAU in draws:
        found[names.VAR_TAU] = -0.5 * ((draws[names.VAR_TAU].values / priors.tau_sd) ** 2).sum(-1)
    return xr.Dataset(
        {name: (dims, value) for name, value in found.items()},
        coords={dim: draws[dim].values for dim in dims},
    )
