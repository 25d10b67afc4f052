"""Simulation studies of the cell model and of check 2: `make validate`.

1. Recovery: 95 % intervals of effects and of Ω under both mixtures hold the truth.
2. Standard error: the posterior's for Ω beside the design bootstrap's, on normal data.
3. Check 2: how often it rejects a right model and a wrong location.

Writes `results/cell_validation.json` with a digest of the code that made it;
`tests/test_committed_results.py` holds it to that code and to the bands. With `--refits N` every
study has at most N refits and nothing is written.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from benchmarks import record, worlds
from benchmarks.digest import digest, sources
from benchmarks.worlds import BASIS, FACTORS, STRATA, World
from fourcorner import contrasts, names
from fourcorner.bayes import basis as bases
from fourcorner.bayes import outputs, sample
from fourcorner.bayes.data import sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.bayes.posterior import contrast_draws
from fourcorner.bayes.priors import resolve
from fourcorner.checks import design_agreement
from fourcorner.contrasts import Contrast
from fourcorner.design.draws import multiplicities
from fourcorner.estimands import Estimand
from fourcorner.spec import PriorSpec, SamplerSpec
from fourcorner.weights import TargetWeights
from fourcorner.weights import resolve as mixture_of

Floats = NDArray[np.float64]

RESULT = "cell_validation.json"
SEED = 20261130
DRAWS, TUNE, CHAINS, TARGET_ACCEPT = 400, 300, 2, sample.TARGET_ACCEPT
REFITS = 200
BOOTSTRAP = 4000
TAUS = (0.0, 0.3, 0.6)
EMPIRICAL = mixture_of("empirical", names.EMPIRICAL, STRATA)
EQUAL = mixture_of("equal", names.EQUAL, STRATA)
MIXTURES = (EMPIRICAL, EQUAL)
OMEGAS = {
    "generated_vs_quote": contrasts.omega(view=("quote", "generated")),
    "quote_vs_empty": contrasts.omega(view=("empty", "quote")),
}
ESTIMANDS: dict[str, Contrast] = {
    **{f"{view}_gain": contrasts.gain(view=view) for view in FACTORS["view"]},
    **OMEGAS,
    "view_shift_before": contrasts.endpoint_shift(names.BEFORE, view=("quote", "generated")),
}
DEFAULTS = PriorSpec()
TIGHT = PriorSpec(effect_sd=0.05)
"""A wrong prior: effects within a tenth of a nat of zero."""

Found = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """Data sets of one kind, how they are fitted and which studies read each fit."""

    name: str
    studies: tuple[str, ...]
    refits: int
    world: worlds.Maker
    effects: str | None = None
    priors: PriorSpec = DEFAULTS


def refit(cells: xr.DataArray, basis: bases.Basis, given: PriorSpec, seed: int) -> xr.DataTree:
    """A fit with the groups that contrasts and check 2 read, and no others."""
    stats = sufficient(cells, basis, STRATA)
    priors = resolve(given, stats.location, stats.scale)
    compiled = sample.compile_model(basis, stats, priors)
    sampler = SamplerSpec(DRAWS, TUNE, CHAINS, TARGET_ACCEPT, seed)
    draws = sample.draw(compiled, stats, priors, sampler, lambda _: None)
    located = draw_locations(draws.posterior, basis, stats, priors, seed)
    groups = {
        names.POSTERIOR: outputs.parameters(located, basis, stats.strata),
        names.OBSERVED_DATA: cells.to_dataset(name=names.CELLS),
        names.CONSTANT_DATA: outputs.constants(stats, basis, priors, list(STRATA)),
    }
    return outputs.assemble(groups, {"seed": seed})


def recovery(tree: xr.DataTree, world: World, _: int) -> Found:
    """Truth, posterior mean and 95 % interval of every effect and Ω."""
    posterior = tree[names.POSTERIOR]
    effects = posterior[names.VAR_EFFECT].values.reshape(-1, len(BASIS.labels))
    found = {label: _held(effects[:, k], world.effects[k]) for k, label in enumerate(BASIS.labels)}
    for name, omega in OMEGAS.items():
        by_stratum = world.cell_means() @ _weights(omega)
        for mixture in MIXTURES:
            truth = float((world.mixture if mixture is EMPIRICAL else EQUAL.shares) @ by_stratum)
            found[f"{name} ({mixture.name})"] = _held(_draws(tree, omega, mixture), truth)
    return found


def standard_error(tree: xr.DataTree, _: World, seed: int) -> Found:
    """Posterior sd of Ω for units like these over the plain bootstrap's sd."""
    cells = tree[names.OBSERVED_DATA][names.CELLS].values
    flat = cells.reshape(len(cells), -1)
    drawn = np.concatenate(list(multiplicities(len(flat), BOOTSTRAP, seed)))
    return {
        name: _draws(tree, omega, EMPIRICAL).std(ddof=1)
        / (drawn @ (flat @ _weights(omega)) / len(flat)).std(ddof=1)
        for name, omega in OMEGAS.items()
    }


def agreement(tree: xr.DataTree, _: World, __: int) -> Found:
    """Whether check 2 fails anywhere, and its z of every estimand and mixture."""
    asked = [Estimand(name, contrast) for name, contrast in ESTIMANDS.items()]
    checked = design_agreement.check(tree, asked, MIXTURES)
    rows = [row for row in checked if row.name == design_agreement.NAME]
    return {
        "failed": any(row.verdict == "fail" for row in rows),
        "z": {row.target: row.value for row in rows},
    }


MEASURES: dict[str, Callable[[xr.DataTree, World, int], Found]] = {
    "recovery": recovery,
    "standard_error": standard_error,
    "check_right": agreement,
    "check_wrong": agreement,
}


def scenarios() -> list[Scenario]:
    """Every kind of data set, in order; a fit serves several studies where it can."""
    uneven = worlds.SMALL_AND_LARGE
    both, ratio, wrong = ("recovery", "check_right"), ("standard_error",), ("check_wrong",)
    varied = worlds.varied(uneven, [0.3])
    half = REFITS // 2
    return [
        Scenario("strata of 5, 7, 38 and 50", both, REFITS, worlds.fixed(uneven)),
        Scenario("strata of 25", ("recovery",), REFITS, worlds.fixed(worlds.BALANCED)),
        Scenario("every parameter drawn", both, REFITS, worlds.any_parameters(uneven)),
        Scenario("strata drawn, tau 0, 0.3 or 0.6", both, REFITS, worlds.sampled(uneven, TAUS)),
        Scenario("100 units", ratio, 50, varied),
        Scenario("20 units", ratio, 50, worlds.varied(worlds.TWENTY, [0.3])),
        Scenario("interaction left out", wrong, half, varied, effects="state + view"),
        Scenario("effects held at zero by the prior", wrong, half, varied, priors=TIGHT),
    ]


def one(job: tuple[int, int]) -> Found:
    """Simulate, fit and measure data set `job[1]` of scenario `job[0]`, by study."""
    number, index = job
    scenario = scenarios()[number]
    generator = np.random.default_rng([SEED, number, index])
    world = scenario.world(generator)
    cells = worlds.simulate(world, generator)
    seed = int(generator.integers(2**31))
    tree = refit(cells, bases.build(FACTORS, scenario.effects), scenario.priors, seed)
    return {study: MEASURES[study](tree, world, seed) for study in scenario.studies}


def _held(draws: Floats, truth: float) -> Found:
    low, high = np.quantile(draws, [0.025, 0.975])
    return {"truth": truth, "mean": draws.mean(), "covered": bool(low <= truth <= high)}


def _draws(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    return np.asarray(contrast_draws(tree, contrast, mixture)).ravel()


def _weights(contrast: Contrast) -> Floats:
    return contrast.array(FACTORS).values.ravel()


def summary(study: str, found: Sequence[Found]) -> Found:
    """What the result holds of a scenario under a study: counts and averages."""
    counted: Found = {"refits": len(found)}
    if study == "recovery":
        return counted | {"quantities": _recovered(found)}
    if study == "standard_error":
        return counted | {"ratio": {name: _mean([f[name] for f in found]) for name in OMEGAS}}
    z = {target: [f["z"][target] for f in found] for target in found[0]["z"]}
    counted["rejected"] = sum(f["failed"] for f in found)
    if study == "check_right":
        counted["root_mean_square_z"] = {
            target: round(float(np.sqrt(np.mean(np.square(values)))), 3)
            for target, values in z.items()
        }
    return counted


def _recovered(found: Sequence[Found]) -> Found:
    """Coverage, and bias as a share of the estimate's own sd over the data sets."""
    rows = {}
    for name in found[0]:
        error = np.array([f[name]["mean"] - f[name]["truth"] for f in found])
        rows[name] = {
            "covered": sum(f[name]["covered"] for f in found),
            "bias": round(float(error.mean()), 4),
            "error_sd": round(float(error.std(ddof=1)), 4),
        }
    return rows


def _mean(values: Sequence[float]) -> Found:
    spread = np.std(values, ddof=1) / np.sqrt(len(values))
    return {"mean": round(float(np.mean(values)), 4), "mc_error": round(float(spread), 4)}


def run(most: int) -> Found:
    """Every scenario with at most `most` refits; prints each as it ends."""
    studies: Found = {}
    workers = os.cpu_count() or 1
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for number, scenario in enumerate(scenarios()):
            start = time.perf_counter()
            jobs = [(number, index) for index in range(min(most, scenario.refits))]
            found = list(pool.map(one, jobs, chunksize=2))
            print(f"{scenario.name} [{time.perf_counter() - start:.0f} s]", flush=True)
            for study in scenario.studies:
                told = summary(study, [f[study] for f in found])
                studies.setdefault(study, {})[scenario.name] = told
                _show(study, told)
    return studies


def _show(study: str, told: Found) -> None:
    refits = told["refits"]
    print(f"  {study}, {refits} refits")
    for name, row in told.get("quantities", {}).items():
        bias = row["bias"] / row["error_sd"]
        print(f"    {name:32} coverage {row['covered'] / refits:.3f}  bias {bias:+.2f} sd")
    for name, row in told.get("ratio", {}).items():
        print(f"    {name:32} posterior / bootstrap sd {row['mean']:.3f} ± {row['mc_error']:.3f}")
    if "rejected" in told:
        print(f"    rejected {told['rejected']} of {refits}")
    for target, value in told.get("root_mean_square_z", {}).items():
        print(f"    {target:32} root mean square z {value:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refits", type=int, default=REFITS)
    asked = parser.parse_args()
    start = time.perf_counter()
    code = digest(sources("benchmarks.validate_cell"))
    studies = run(asked.refits)
    print(f"{time.perf_counter() - start:.0f} s in all")
    if asked.refits < REFITS:
        print("fewer refits than the committed result has: nothing written")
        return
    settings = {"seed": SEED, "draws": DRAWS, "tune": TUNE, "chains": CHAINS}
    settings["target_accept"] = TARGET_ACCEPT
    document = {
        "digest": code,
        **record.circumstances(),
        "seconds": round(time.perf_counter() - start),
        "settings": settings,
        **studies,
    }
    print(f"wrote {record.write(RESULT, document)}")


if __name__ == "__main__":
    main()
