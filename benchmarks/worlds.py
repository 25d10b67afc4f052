"""Normal worlds with known truth: what the cell model assumes, simulated without its code.

Units of stratum g have effect coefficients N(β + δ_g, s_g² Σ); a cell is a coefficient times the
rows of the basis. The numbers are of the size of the bundled cube's (nats).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes import basis as bases

Floats = NDArray[np.float64]

FACTORS = {"state": names.STATES, "view": ("empty", "quote", "generated")}
STRATA = ("s1", "s2", "s3", "s4")
SMALL_AND_LARGE = (5, 7, 38, 50)
BALANCED = (25, 25, 25, 25)
TWENTY = (3, 3, 6, 8)
BASIS = bases.build(FACTORS)
EFFECTS = np.array([0.2, 0.1, 0.4, -0.3, -0.15, -0.4])
UNIT_SD = np.array([1.6, 0.9, 0.7, 0.6, 0.5, 0.7])
LOG_SPREAD = np.array([0.3, -0.1, 0.15, -0.35])


@dataclass(frozen=True)
class World:
    """Parameters and stratum sizes.

    Attributes
    ----------
    effects : ndarray of shape (effects,)
    deviation : ndarray of shape (strata, effects)
    covariance : ndarray of shape (effects, effects)
    log_spread : ndarray of shape (strata,)
    sizes : tuple of int
    mixture : ndarray of shape (strata,)
        Shares of the strata in the population that the units stand for.
    """

    effects: Floats
    deviation: Floats
    covariance: Floats
    log_spread: Floats
    sizes: tuple[int, ...]
    mixture: Floats

    def cell_means(self) -> Floats:
        """True means: shape (strata, cells)."""
        return (self.effects + self.deviation) @ BASIS.rows


Maker = Callable[[np.random.Generator], World]


def fixed(sizes: tuple[int, ...]) -> Maker:
    """The same parameters for every data set; strata differ by 0.3 unit sds."""
    deviation = _deviations(0.3, UNIT_SD, np.random.default_rng(1))
    share = np.array(sizes) / sum(sizes)
    world = World(EFFECTS, deviation, _covariance(UNIT_SD, 0.3), LOG_SPREAD, sizes, share)
    return lambda _: world


def varied(sizes: tuple[int, ...], taus: Sequence[float]) -> Maker:
    """The same parameters but for the strata's deviations, drawn anew with sd τ σ, one of τ."""
    base = fixed(sizes)

    def make(generator: np.random.Generator) -> World:
        tau = float(generator.choice(taus))
        return replace(base(generator), deviation=_deviations(tau, UNIT_SD, generator))

    return make


def sampled(sizes: tuple[int, ...], taus: Sequence[float]) -> Maker:
    """As `varied`, but each unit's stratum is drawn too, with the sizes as expectations.

    Drawn again until every stratum has two units.
    """
    base = varied(sizes, taus)

    def make(generator: np.random.Generator) -> World:
        world = base(generator)
        drawn = np.zeros(len(sizes), dtype=int)
        while drawn.min() < 2:
            drawn = generator.multinomial(sum(sizes), world.mixture)
        return replace(world, sizes=tuple(drawn.tolist()))

    return make


def any_parameters(sizes: tuple[int, ...]) -> Maker:
    """Every parameter drawn anew, over a range that a user might meet."""
    share = np.array(sizes) / sum(sizes)

    def make(generator: np.random.Generator) -> World:
        size = len(BASIS.labels)
        sds = np.exp(generator.normal(-0.3, 0.5, size))
        factor = generator.normal(size=(size, 2 * size))
        covariance = factor @ factor.T
        scale = sds / np.sqrt(np.diag(covariance))
        log_spread = generator.normal(0, 0.3, len(sizes))
        return World(
            generator.normal(0, 0.5, size),
            _deviations(abs(generator.normal(0, 0.5)), sds, generator),
            covariance * np.outer(scale, scale),
            log_spread - log_spread.mean(),
            sizes,
            share,
        )

    return make


def simulate(world: World, generator: np.random.Generator) -> xr.DataArray:
    """Cells of the units: dims (unit, state, view)."""
    codes = np.repeat(np.arange(len(STRATA)), world.sizes)
    noise = generator.multivariate_normal(np.zeros(len(BASIS.labels)), world.covariance, len(codes))
    spread = np.exp(world.log_spread)[codes, None]
    cells = world.cell_means()[codes] + spread * noise @ BASIS.rows
    shape = (len(codes), *(len(levels) for levels in FACTORS.values()))
    return xr.DataArray(
        cells.reshape(shape),
        dims=(names.UNIT, *FACTORS),
        coords={
            names.UNIT: [f"u{i:03d}" for i in range(len(codes))],
            names.STRATUM: (names.UNIT, np.array(STRATA)[codes]),
            **{factor: list(levels) for factor, levels in FACTORS.items()},
        },
        name=names.CELLS,
    )


def _deviations(tau: float, sds: Floats, generator: np.random.Generator) -> Floats:
    drawn = tau * sds * generator.normal(size=(len(STRATA), len(sds)))
    return drawn - drawn.mean(axis=0)


def _covariance(sds: Floats, neighbours: float) -> Floats:
    places = np.arange(len(sds))
    return np.outer(sds, sds) * neighbours ** np.abs(places[:, None] - places)
