"""The transition model: its priors, its PyMC model, and what its draws are of.

For endpoint e of unit i in stratum g, in each channel k (see `density` for the covariance):

    y_iek = level_gk + Σ steps_gk on the way to e + unit effect + noise,
    unit effect ~ N(0, U), noise ~ N(0, N) of which a share 1 − ω lasts: over a step of a kind with
    persistence φ it is correlated by φ, over several by their product, between chains by 0,
    U = diag(σ_u) C_u diag(σ_u), N = diag(σ_n) C_n diag(σ_n), C ~ LKJ, ω and φ uniform.

Levels and steps of strata deviate from the common ones by a zero-sum normal of sd τ times what a
unit deviates by: the sd of an endpoint for levels, of a gain for steps. One τ is of levels, one of
each kind of step: where strata part ways at one step, the others would pool it away. Levels and
steps are integrated out.

Invariant: graph and arrays use the same formula for what a unit deviates by. Pinned by
`tests/test_transitions.py`.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.incomplete import Groups
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.transitions.chains import Chains
from fourcorner.bayes.transitions.density import log_density

Floats = NDArray[np.float64]
Graph = Any  # a PyTensor variable; numpy arrays do as well

pytensor.config.blas__ldflags = ""  # compiled code calls BLAS through scipy; nothing to link

LIKELIHOOD = "endpoints_given_parameters"
UNIT_FACTOR, NOISE_FACTOR = "unit_effect_factor", "noise_factor"
WHITE_LOGIT, PERSISTENCE_LOGIT = "white_share_logit", "persistence_logit"
LEVELS = "levels"  # share one τ; each kind of step has its own
SCALES = "prior_scales"
CONSTANTS = (
    *("design", "chain", "size", "code", "count", "mean", "scatter", "place", "missing"),
    *("centre", "common", "units"),
)


@dataclass(frozen=True)
class Endpoints:
    """What the density needs of the scores.

    Attributes
    ----------
    chains : Chains
    groups : Groups
        As `Chains.groups` makes them.
    strata : tuple of str
    units : ndarray of shape (strata,)
    channels : tuple of str
        Label of each channel cell.
    location, scale : float
        Mean of all endpoints, and pooled sd of a channel's endpoints about its stratum's mean.
    """

    chains: Chains
    groups: Groups
    strata: tuple[str, ...]
    units: Floats
    channels: tuple[str, ...]
    location: float
    scale: float

    def standardised(self) -> "Endpoints":
        """The same scores with location zero and scale one."""
        seen = 1 - self.groups.missing
        groups = replace(
            self.groups,
            mean=seen * (self.groups.mean - self.location) / self.scale,
            scatter=self.groups.scatter / self.scale**2,
        )
        return replace(self, groups=groups, location=0.0, scale=1.0)

    def centre(self, priors: Priors) -> Floats:
        """Prior mean of levels and steps: shape (moves × channels,)."""
        is_level = np.arange(len(self.chains.moves)) < len(self.chains.levels)
        return np.repeat(is_level * priors.score_location[0], len(self.channels))

    def common(self, priors: Priors) -> Floats:
        """Prior sd of levels and steps that strata have in common: shape (moves × channels,)."""
        is_level = np.arange(len(self.chains.moves)) < len(self.chains.levels)
        sds = np.where(is_level, priors.intercept_sd[0], priors.effect_sd[0])
        return np.repeat(sds, len(self.channels))

    def constants(self, priors: Priors) -> dict[str, Any]:
        """What the density takes besides the variance parameters, by name and in order."""
        chains, groups = self.chains, self.groups
        held = (
            *(chains.design, chains.chain, chains.size, groups.stratum, groups.count),
            *(groups.mean, groups.scatter, groups.place, groups.missing),
            *(self.centre(priors), self.common(priors), self.units),
        )
        return dict(zip(CONSTANTS, held, strict=True))


def values(data: Endpoints, priors: Priors) -> dict[str, Any]:
    """What the model's data containers hold: the same names for every refit of a structure."""
    scales = np.array([priors.unit_sd[0], priors.tau_sd, priors.lkj_eta])
    return {**data.constants(priors), SCALES: scales}


def coords(data: Endpoints) -> dict[str, list[str]]:
    """Named dims of the model."""
    return {
        names.STEP: list(data.chains.steps),
        names.ORDER: [LEVELS, *data.chains.steps],
        names.CHANNEL_CELL: list(data.channels),
        names.CHANNEL_CELL_2: list(data.channels),
    }


def build(data: Endpoints, priors: Priors, *, likelihood: bool = True) -> pm.Model:
    """The model with levels and steps integrated out.

    Parameters
    ----------
    data : Endpoints
    priors : Priors
    likelihood : bool
        Whether the scores enter; without them it is the prior of the variance parameters.

    Returns
    -------
    pymc.Model
        Free variables: factors of U and N, shifted logits of ``white_share`` and ``persistence``
        and, with several strata, ``tau``.
    """
    with pm.Model(coords=coords(data)) as model:
        held = {name: pm.Data(name, value) for name, value in values(data, priors).items()}
        unit_sd, tau_sd, eta = (held[SCALES][i] for i in range(3))
        size = len(data.channels)
        unit, _ = _covariance(UNIT_FACTOR, eta, unit_sd, size)
        noise, level = _covariance(NOISE_FACTOR, eta, unit_sd, size)
        white = pm.Deterministic(names.VAR_WHITE, _uniform(WHITE_LOGIT, level))
        persistence = pm.Deterministic(
            names.VAR_PERSISTENCE, _uniform(PERSISTENCE_LOGIT, -level, names.STEP), dims=names.STEP
        )
        both = (names.CHANNEL_CELL, names.CHANNEL_CELL_2)
        pm.Deterministic(names.VAR_COVARIANCE, unit, dims=both)
        pm.Deterministic(names.VAR_NOISE_COVARIANCE, noise, dims=both)
        levels = len(data.chains.levels)
        own = np.zeros(len(data.chains.moves) * size)
        if len(data.strata) > 1:
            tau = pm.HalfNormal(names.VAR_TAU, sigma=tau_sd, dims=names.ORDER)
            diagonals = pt.diagonal(unit), pt.diagonal(noise)
            of_level, of_step = deviations(*diagonals, white, persistence)
            own = pt.concatenate(
                [pt.tile(tau[0] * of_level, levels), (tau[1:, None] * of_step).ravel()]
            )
        if likelihood:
            variances = (unit, (1 - white) * noise, white * noise, -pt.log(persistence), own)
            found = log_density(*variances, *(held[name] for name in CONSTANTS))
            pm.Potential(LIKELIHOOD, found)
    return model


def _covariance(name: str, eta: Graph, sd: Graph, size: int) -> tuple[Graph, Graph]:
    """A covariance with half-normal sds and LKJ correlations, and its log determinant by channel.

    A channel always has a second one beside it: a spec declares two levels or more.
    """
    of = {"n": size, "eta": eta, "sd_dist": pm.HalfNormal.dist(sigma=sd, shape=size)}
    packed = pm.LKJCholeskyCov(name, **of, compute_corr=False)
    factor = pt.zeros((size, size))[np.tril_indices(size)].set(packed)
    return factor @ factor.T, 2 * pt.log(pt.diagonal(factor)).mean()


def _uniform(name: str, against: Graph, dims: str | None = None) -> Graph:
    """A share that is uniform whatever `against` is, sampled as its logit plus that.

    What the data know best is how much noise is white and how much is new after a step: ω |N| and
    (1 − φ) |N|. So those are what the sampler moves along.
    """
    return pm.math.sigmoid(pm.Logistic(name, mu=against, s=1.0, dims=dims) - against)


def deviations(unit: Graph, noise: Graph, white: Graph, persistence: Graph) -> tuple[Graph, Graph]:
    """What a unit deviates by: sd of an endpoint, and of the gain of each kind of step.

    Parameters
    ----------
    unit, noise : tensor or array of shape (…, channels)
        Diagonals of U and N.
    white : shape (…)
    persistence : shape (…, steps)

    Returns
    -------
    tuple
        Shapes (…, channels) and (…, steps, channels).
    """
    share = white[..., None]
    moved = 2 * ((1 - share) * (1 - persistence) + share)
    return (unit + noise) ** 0.5, (moved[..., None] * noise[..., None, :]) ** 0.5


class Variances(NamedTuple):
    """Variance parameters of flattened draws, as the density takes them.

    Attributes
    ----------
    unit, slow, white : ndarray of shape (draws, channels, channels)
        U, (1 − ω) N and ω N.
    lasting : ndarray of shape (draws, steps)
        −log φ.
    own : ndarray of shape (draws, moves × channels)
        Sd of levels and steps between strata, zero with one stratum.
    """

    unit: Floats
    slow: Floats
    white: Floats
    lasting: Floats
    own: Floats

    def thinned(self, every: int) -> "Variances":
        """Every so manyth draw."""
        return Variances(*(array[::every] for array in self))


def variances(draws: xr.Dataset, levels: int) -> Variances:
    """Variance parameters of a posterior or a prior, chains flattened."""
    unit, noise = (
        _flat(draws, name, 2) for name in (names.VAR_COVARIANCE, names.VAR_NOISE_COVARIANCE)
    )
    white, persistence = _flat(draws, names.VAR_WHITE, 0), _flat(draws, names.VAR_PERSISTENCE, 1)
    size = unit.shape[1]
    own = np.zeros((len(unit), (levels + persistence.shape[1]) * size))
    if names.VAR_TAU in draws:
        tau = _flat(draws, names.VAR_TAU, 1)
        level, moved = (np.diagonal(array, axis1=1, axis2=2) for array in (unit, noise))
        of_level, of_step = deviations(level, moved, white, persistence)
        own[:, : levels * size] = np.tile(tau[:, :1] * of_level, levels)
        own[:, levels * size :] = (tau[:, 1:, None] * of_step).reshape(len(unit), -1)
    share = white[:, None, None]
    return Variances(unit, (1 - share) * noise, share * noise, -np.log(persistence), own)


def _flat(draws: xr.Dataset, name: str, rank: int) -> Floats:
    """A variable's draws with chains flattened, `rank` dims left."""
    held = draws[name].values
    return np.asarray(held.reshape(-1, *held.shape[held.ndim - rank :]))
