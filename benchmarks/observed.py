"""Seconds to sample with missing cells, beside complete ones: `python -m benchmarks.observed`.

The bundled cube is fitted as it is (cohort joint) and with a tenth of its cells removed at random
(cohort observed), both compiled before and timed in turns; the least of each is compared. Writes
`results/observed.json`.
"""

import argparse
import time
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from benchmarks import record
from benchmarks.cohort import Cohort, compiled, cube
from fourcorner import names
from fourcorner.bayes import outputs, sample
from fourcorner.bayes.data import sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.checks.convergence import min_ess_bulk

RESULT = "observed.json"
REMOVED, SEED, ROUNDS = 0.1, 11, 3
LIMIT = 3.0


def thinned(cohort: Cohort, share: float, seed: int) -> Cohort:
    """The same cohort with a share of its cells missing; a unit keeps at least one."""
    generator = np.random.default_rng(seed)
    cells = cohort.cells
    flat = cells.values.reshape(cells.shape[0], -1).copy()
    lost = generator.random(flat.shape) < share
    lost[np.arange(len(flat)), generator.integers(0, flat.shape[1], len(flat))] = False
    flat[lost] = np.nan
    fewer = cells.copy(data=flat.reshape(cells.shape))
    stats = sufficient(fewer, cohort.basis, cohort.strata)
    return replace(cohort, cells=fewer, stats=stats)


def timed(cohort: Cohort, seed: int) -> tuple[float, float, sample.Draws]:
    """Seconds of sampling and of drawing the locations, and the draws."""
    sampler = replace(cohort.spec.sampler, seed=seed)
    given = (cohort.stats, cohort.priors)
    draws = sample.draw(compiled(cohort), *given, sampler, lambda _: None)
    start = time.perf_counter()
    draw_locations(draws.posterior, cohort.basis, *given, seed)
    return draws.seconds, time.perf_counter() - start, draws


def smallest_ess(cohort: Cohort, draws: sample.Draws) -> float:
    located = draw_locations(draws.posterior, cohort.basis, cohort.stats, cohort.priors, SEED)
    posterior = outputs.parameters(located, cohort.basis, cohort.stats.strata)
    return min_ess_bulk(xr.DataTree.from_dict({names.POSTERIOR: posterior}))


def measure(rounds: int) -> dict[str, Any]:
    cohorts = {"joint": cube()}
    cohorts["observed"] = thinned(cohorts["joint"], REMOVED, SEED)
    missing = int(np.isnan(cohorts["observed"].cells.values).sum())
    groups = len(cohorts["observed"].stats.groups.count)
    print(f"{missing} of {cohorts['joint'].cells.size} cells removed, {groups} groups of units")
    for cohort in cohorts.values():
        compiled(cohort)
    found: dict[str, Any] = {"missing": missing, "groups": groups}
    best = dict.fromkeys(cohorts, np.inf)
    for turn in range(rounds):
        for name, cohort in cohorts.items():
            seconds, locations_s, draws = timed(cohort, SEED + turn)
            best[name] = min(best[name], seconds)
            steps = int(draws.sample_stats["n_steps"].values.sum())
            print(f"{name}: {seconds:.2f} s, {steps} gradients, locations {locations_s:.2f} s")
            found[name] = {
                "sample_s": round(best[name], 3),
                "locations_s": round(locations_s, 3),
                "gradients": steps,
                "min_ess_bulk": round(smallest_ess(cohort, draws)),
                "divergences": int(draws.attempts[-1][1]),
            }
    return {**found, "ratio": round(best["observed"] / best["joint"], 2), "limit": LIMIT}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each cohort")
    about = record.circumstances()
    print(f"{about['date']}, {about['machine']}, Python {about['python']}")
    found = measure(parser.parse_args().rounds)
    print(f"observed takes {found['ratio']:.2f} times as long as joint (limit {LIMIT:g})")
    print(f"wrote {record.write(RESULT, {**about, 'removed': REMOVED, 'seed': SEED, **found})}")


if __name__ == "__main__":
    main()
