"""Coverage of the design engine's intervals with small strata: part of `make validate`.

Cohorts of four strata of 5, 7, 38 and 50 units, one value a unit, from a normal and from a skewed
population (a centred exponential); strata differ in mean. For each the 95 % percentile, rescaled
and bootstrap-t intervals of the equal-weights mean, and the percentile interval of the empirical
mean, under both resampling plans: how often they hold the truth, on which side they miss and how
wide they are beside the percentile interval.

Writes `results/interval_coverage.json`; `tests/test_committed_results.py` holds it to the code and
the engine's default to what it found. With `--cohorts N` fewer cohorts are drawn and nothing is
written.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from benchmarks import record
from benchmarks.digest import digest, sources
from fourcorner import names
from fourcorner.design import intervals, means
from fourcorner.design.cohort import Sample
from fourcorner.design.options import Options
from fourcorner.design.parts import COHORT, Part
from fourcorner.design.replicates import Means, replicate
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]
Found = dict[str, Any]

RESULT = "interval_coverage.json"
SEED = 20261130
COHORTS = 2000
DRAWS = 1000
LEVEL = 0.95
SIZES = (5, 7, 38, 50)
MEANS = np.array([-0.6, 0.9, 0.2, -0.3])
STRATUM = np.repeat(np.arange(len(SIZES)), SIZES)
EQUAL = TargetWeights(names.EQUAL, np.full(len(SIZES), 1 / len(SIZES)))
EMPIRICAL = TargetWeights(names.EMPIRICAL, None)
POPULATIONS: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda generator, size: generator.normal(size=size),
    "skewed": lambda generator, size: generator.exponential(size=size) - 1,
}
ASKED = {
    "equal, percentile": (EQUAL, names.PERCENTILE),
    "equal, rescaled": (EQUAL, names.RESCALED),
    "equal, bootstrap_t": (EQUAL, names.BOOTSTRAP_T),
    "empirical, percentile": (EMPIRICAL, names.PERCENTILE),
}
TRUTH = {names.EQUAL: MEANS.mean(), names.EMPIRICAL: np.average(MEANS, weights=SIZES)}


def one(job: tuple[str, str, int]) -> dict[str, tuple[float, float] | None]:
    """Every interval of one simulated cohort."""
    population, plan, index = job
    generator = np.random.default_rng([SEED, list(POPULATIONS).index(population), index])
    units = len(STRATUM)
    values = MEANS[STRATUM] + POPULATIONS[population](generator, units)
    strata = tuple(str(size) for size in SIZES)
    data = Sample(xr.Dataset(), np.arange(units), STRATUM, units, strata, "simulated", {})
    part = Part(1, COHORT, values, np.arange(units), np.ones(units, dtype=bool), 0)
    about = means.centred(data, [part])
    mixes = tuple((means.mixing(mix, about, plan), kind) for mix, kind in ASKED.values())
    means_of = Means(about, mixes, float(np.abs(values).max()))
    options = Options(DRAWS, int(generator.integers(2**31)), resampling=plan)
    found = replicate(data, [means_of], options)
    return {
        name: intervals.interval(replicates, kind, LEVEL)
        for (name, (_, kind)), replicates in zip(ASKED.items(), found, strict=True)
    }


def summary(found: Sequence[dict[str, tuple[float, float] | None]]) -> Found:
    """Counts of cohorts by where the truth lies, and widths beside the percentile interval's."""
    rows: Found = {}
    for name, (mixture, _) in ASKED.items():
        ends = np.array([cohort[name] for cohort in found], dtype=float)
        truth = TRUTH[mixture.name]
        below, above = int((ends[:, 1] < truth).sum()), int((ends[:, 0] > truth).sum())
        plain = np.array([cohort[f"{mixture.name}, percentile"] for cohort in found], dtype=float)
        rows[name] = {
            "cohorts": len(ends),
            "covered": len(ends) - below - above,
            "too_low": below,
            "too_high": above,
            "median_width_ratio": round(float(np.median(np.ptp(ends, 1) / np.ptp(plain, 1))), 3),
        }
    return rows


def run(cohorts: int) -> Found:
    """Both populations under both plans; prints each as it ends."""
    studies: Found = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count() or 1, mp_context=context) as pool:
        for population in POPULATIONS:
            for plan in names.PLANS:
                start = time.perf_counter()
                jobs = [(population, plan, index) for index in range(cohorts)]
                told = summary(list(pool.map(one, jobs, chunksize=50)))
                studies.setdefault(population, {})[plan] = told
                print(f"{population}, {plan} [{time.perf_counter() - start:.0f} s]", flush=True)
                for name, row in told.items():
                    share = row["covered"] / row["cohorts"]
                    print(f"  {name:24} {share:.3f}  width × {row['median_width_ratio']:.2f}")
    return studies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cohorts", type=int, default=COHORTS)
    asked = parser.parse_args()
    start = time.perf_counter()
    code = digest(sources("benchmarks.validate_intervals"))
    studies = run(asked.cohorts)
    seconds = round(time.perf_counter() - start)
    print(f"{seconds} s in all")
    if asked.cohorts < COHORTS:
        print("fewer cohorts than the committed result has: nothing written")
        return
    document = {
        "digest": code,
        **record.circumstances(),
        "seconds": seconds,
        "settings": {"seed": SEED, "draws": DRAWS, "level": LEVEL, "strata": list(SIZES)},
        "coverage": studies,
    }
    print(f"wrote {record.write(RESULT, document)}")


if __name__ == "__main__":
    main()
