"""The same analysis as other programs do it: bambi, and a plain PyMC model of our own terms."""

import time
from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor.tensor as pt
import xarray as xr

from benchmarks.cohort import Cohort
from fourcorner import names
from fourcorner.bayes.cells import prior_location, prior_variance
from fourcorner.bayes.data import stratum_codes

TARGET_ACCEPT = 0.9


@dataclass(frozen=True)
class Speed:
    """How fast a sampler makes effective draws of its slowest parameter."""

    compile_s: float
    sample_s: float
    cpu_s: float
    draws: int
    tune: int
    min_ess_bulk: float
    slowest: str
    max_rhat: float
    divergences: int
    steps: float

    @property
    def per_second(self) -> float:
        """Least bulk ESS over all parameters per second of sampling, warm-up included."""
        return self.min_ess_bulk / self.sample_s

    @property
    def per_cpu_second(self) -> float:
        """The same per second of processor time, which a busy machine changes less."""
        return self.min_ess_bulk / self.cpu_s

    def line(self) -> str:
        """One readable line."""
        return (
            f"{self.sample_s:.1f} s ({self.cpu_s:.1f} s of processor) for 4 × {self.draws:,} draws "
            f"after {self.tune:,}: "
            f"min bulk ESS {self.min_ess_bulk:.0f} ({self.slowest}), {self.per_second:.3g} /s, "
            f"max R-hat {self.max_rhat:.3f}, {self.divergences} divergences, "
            f"{self.steps:.0f} gradients a draw"
        )


class Stopwatch:
    """Seconds of the clock and of the processor since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Both, in seconds."""
        return time.perf_counter() - self._start[0], time.process_time() - self._start[1]


def speed(
    posterior: xr.Dataset,
    stats: xr.Dataset,
    compile_s: float,
    seconds: tuple[float, float],
    tune: int,
) -> Speed:
    """Speed of a sampled posterior; entries that do not vary are passed."""
    with np.errstate(invalid="ignore", divide="ignore"):
        ess, rhat = az.ess(posterior, method="bulk"), az.rhat(posterior)
    least = {str(name): float(np.nanmin(array)) for name, array in ess.data_vars.items()}
    slowest = min(least, key=lambda name: least[name])
    return Speed(
        compile_s=compile_s,
        sample_s=seconds[0],
        cpu_s=seconds[1],
        draws=posterior.sizes[names.DRAW],
        tune=tune,
        min_ess_bulk=least[slowest],
        slowest=slowest,
        max_rhat=max(float(np.nanmax(array)) for array in rhat.data_vars.values()),
        divergences=int(stats["diverging"].sum()),
        steps=float(stats["n_steps"].mean()),
    )


def compile_model(model: pm.Model) -> tuple[Any, float]:
    """Nutpie's program of a model and the seconds it took."""
    start = time.perf_counter()
    program = nutpie.compile_pymc_model(model, cache=True)
    return program, time.perf_counter() - start


def run(
    program: Any, draws: int, tune: int, seed: int
) -> tuple[xr.Dataset, xr.Dataset, tuple[float, float]]:
    """Four chains: posterior, sampler statistics, seconds of clock and processor."""
    watch = Stopwatch()
    tree = nutpie.sample(
        program,
        draws=draws,
        tune=tune,
        chains=4,
        seed=seed,
        target_accept=TARGET_ACCEPT,
        progress_bar=False,
        save_warmup=False,
    )
    seconds = watch.read()
    return tree[names.POSTERIOR].to_dataset(), tree[names.SAMPLE_STATS].to_dataset(), seconds


def plain_model(cohort: Cohort, by_stratum: bool) -> pm.Model:
    """Our own priors and terms with nothing integrated out: β and δ are variables, non-centred.

    Plain is the model as it is written down: every unit's effect coefficients (cell means in the
    effect basis) are a row of one multivariate normal, with its stratum's location and spread.
    `by_stratum` is the quickest uncollapsed form: a multivariate normal for each stratum, so that
    one triangular solve serves all of its units. Neither has a latent value for a unit.
    """
    basis, scale = cohort.basis, cohort.priors
    size, strata = len(basis.labels), len(cohort.strata)
    orders = sorted(set(basis.order[basis.by_stratum].tolist()))
    place = np.searchsorted(orders, basis.order[basis.by_stratum])
    spread_in_place = np.eye(size)[basis.by_stratum]
    scales = {name: getattr(scale, name) for name in scale.__dataclass_fields__}
    coords = {names.STRATUM: cohort.strata, names.ORDER: orders}
    codes = stratum_codes(cohort.cells, cohort.strata)
    with pm.Model(coords=coords) as model:
        factor, _, sds = pm.LKJCholeskyCov(
            "unit_factor",
            n=size,
            eta=scale.lkj_eta,
            sd_dist=pm.HalfNormal.dist(sigma=scale.unit_sd, shape=size),
            store_in_trace=False,
        )
        tau = pm.HalfNormal(names.VAR_TAU, sigma=scale.tau_sd, dims=names.ORDER)
        log_spread = pm.ZeroSumNormal(
            "log_stratum_scale", sigma=scale.stratum_scale_sd, dims=names.STRATUM
        )
        spread = pm.Deterministic(names.VAR_STRATUM_SCALE, pt.exp(log_spread), dims=names.STRATUM)
        standard = pm.Normal("effects_z", shape=size)
        sd = np.sqrt(prior_variance(basis, scales))
        beta = pm.Deterministic(names.VAR_EFFECT, prior_location(basis, scales) + sd * standard)
        own = pm.ZeroSumNormal("deviation_z", shape=(int(basis.by_stratum.sum()), strata))
        deviation = (tau[place] * sds[basis.by_stratum])[:, None] * own
        pm.Deterministic(names.VAR_DEVIATION, deviation.T)
        pm.Deterministic(names.VAR_UNIT_SD, sds)
        pm.Deterministic(names.VAR_COVARIANCE, factor @ factor.T)
        means = beta + deviation.T @ spread_in_place
        rows = cohort.coefficients
        if not by_stratum:
            factors = spread[codes][:, None, None] * factor
            pm.MvNormal("units", mu=means[codes], chol=factors, observed=rows)
            return model
        for code, name in enumerate(cohort.strata):
            own_rows = rows[codes == code]
            own_factor = spread[code] * factor
            pm.MvNormal(f"units[{name}]", mu=means[code], chol=own_factor, observed=own_rows)
    return model


def plain(cohort: Cohort, seed: int, by_stratum: bool = False) -> tuple[Speed, xr.Dataset]:
    """Speed and posterior of the plain model, with 1,000 draws after 1,000."""
    program, compile_s = compile_model(plain_model(cohort, by_stratum))
    drawn, stats, seconds = run(program, 1000, 1000, seed)
    read = [
        names.VAR_EFFECT, names.VAR_TAU, names.VAR_DEVIATION, names.VAR_STRATUM_SCALE,
        names.VAR_UNIT_SD, names.VAR_COVARIANCE,
    ]  # fmt: skip
    return speed(drawn[read], stats, compile_s, seconds, 1000), drawn


def bambi_formula(cohort: Cohort) -> str:
    """The spec's effects, the same by stratum, and one random effect of a unit for each effect.

    Bambi has no syntax for correlated group effects (`|` already gives each term an sd of its own
    and independent effects; `||` does not parse), none for a spread that differs between strata
    at the level of units, and none for a prior τ × σ. Its nearest model is therefore fitted to
    the scores of the table, where the layouts of a cell tell the residual from the unit's highest
    interaction.
    """
    declared, data = cohort.spec.model, cohort.spec.data
    effects = declared.effects or " * ".join([data.change, *data.channel])
    by_stratum = declared.stratum_effects or effects
    return f"{data.score} ~ {effects} + ({by_stratum} | {data.stratum}) + ({effects} | {data.unit})"


def bambi(cohort: Cohort, seed: int, tune: int, first: int, most_s: float) -> tuple[Speed, str]:
    """Speed of bambi's nearest model: draws doubled until R-hat ≤ 1.05, `most_s` in all at most.

    The PyMC model that bambi builds is sampled by nutpie as ``inference_method="nutpie"`` does,
    but compiled once for all runs and timed apart from the compilation.
    """
    from bambi import Model

    formula = bambi_formula(cohort)
    built = Model(formula, _typed_table(cohort))
    built.build()
    program, compile_s = compile_model(built.backend.model)
    draws, spent = first, 0.0
    while True:
        drawn, stats, seconds = run(program, draws, tune, seed)
        read = drawn[[name for name in drawn.data_vars if not str(name).endswith("_offset")]]
        found = speed(read, stats, compile_s, seconds, tune)
        print(f"  bambi, {found.line()}", flush=True)
        spent += seconds[0]
        next_s = seconds[0] * (tune + 2 * draws) / (tune + draws)
        if found.max_rhat <= 1.05 or spent + next_s > most_s:
            return found, formula
        draws *= 2


def _typed_table(cohort: Cohort) -> pd.DataFrame:
    """The table with its factors in the declared order of levels."""
    data = cohort.spec.data
    table = pd.read_csv(cohort.spec.table_path)
    levels = {data.change: (data.before, data.after), **data.channel}
    typed = {name: pd.Categorical(table[name], list(order)) for name, order in levels.items()}
    return table.assign(**typed)
