"""Speed of the cell model on the bundled cube, beside bambi and plain PyMC: `make bench-cell`.

Prints every figure as it is measured, all from one run, and writes `results/cell_model.json`.
`--only PART …` measures some parts and writes nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import nutpie
import xarray as xr

from benchmarks import gradient, record, rivals
from benchmarks.cohort import Cohort, compiled, cube
from fourcorner import estimands, names
from fourcorner.bayes import outputs, sample
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.cells import values
from fourcorner.bayes.data import CellData, sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.simulate import retrieval_cube

RESULT = "cell_model.json"
NEW_DATA_SEED = 7
SIZES = (100, 10_000, 1_000_000)
BAMBI_SECONDS, BAMBI_TUNE, BAMBI_DRAWS = 600.0, 500, 250
Found = dict[str, Any]


def compile_times() -> Found:
    """Seconds to compile in a new process, without and with what an earlier process cached."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (_compile_in(folder) for _ in range(2))
    print(f"compile, caches empty: {cold['seconds']:.1f} s ({cold['files']} files cached)")
    print(f"compile, caches filled by that: {warm['seconds']:.1f} s")
    return {"cold_s": cold["seconds"], "warm_s": warm["seconds"], "cached_files": cold["files"]}


def _compile_in(folder: str) -> Found:
    """Compile in a new process with its caches, numba's and PyTensor's, in `folder`."""
    flags = f"base_compiledir={folder}/pytensor"
    environment = {**os.environ, "PYTENSOR_FLAGS": flags, "NUMBA_CACHE_DIR": f"{folder}/numba"}
    command = [sys.executable, "-m", "benchmarks.cohort"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    if not told["cache"].startswith(folder):
        raise RuntimeError(f"the process cached in {told['cache']}, not in {folder}")
    return {**told, "files": sum(path.is_file() for path in Path(folder).rglob("*"))}


def own_fit(cohort: Cohort, seed: int) -> tuple[rivals.Speed, xr.Dataset, float]:
    """Speed and parameters of our fit, and seconds of drawing the locations."""
    program = compiled(cohort)
    sampler = replace(cohort.spec.sampler, seed=seed)
    arguments = (cohort.stats, cohort.priors)
    watch = rivals.Stopwatch()
    draws = sample.draw(program, *arguments, sampler, lambda _: None)
    seconds = watch.read()
    start = time.perf_counter()
    located = draw_locations(draws.posterior, cohort.basis, *arguments, seed)
    locations_s = time.perf_counter() - start
    posterior = outputs.parameters(located, cohort.basis, cohort.stats.strata)
    found = rivals.speed(posterior, draws.sample_stats, program.seconds, seconds, sampler.tune)
    return found, posterior, locations_s


def refit_time(seed: int) -> Found:
    """Seconds to fit another simulated table in a process that has compiled the structure."""
    other = cube(retrieval_cube.generate(NEW_DATA_SEED).scores)
    start = time.perf_counter()
    found, _, locations_s = own_fit(other, seed)
    compile_s = time.perf_counter() - start - found.sample_s - locations_s
    total = found.sample_s + locations_s
    print(f"refit with new data: {total:.1f} s ({locations_s:.2f} s of it for the locations)")
    return {"refit_s": round(total, 2), "other_s": round(compile_s, 2)}


def ratio_line(name: str, ours: rivals.Speed, theirs: rivals.Speed) -> Found:
    """Print and record how many times as many effective draws a second we make."""
    times = ours.per_second / theirs.per_second
    by_cpu = ours.per_cpu_second / theirs.per_cpu_second
    converged = "" if theirs.max_rhat <= 1.05 else ", not converged"
    print(f"{name}: {theirs.line()}")
    print(
        f"{name} (R-hat {theirs.max_rhat:.3f}{converged}) {times:.0f}× "
        f"({by_cpu:.0f}× by processor time)",
        flush=True,
    )
    ratios = {"times": round(times, 1), "times_by_cpu": round(by_cpu, 1)}
    return {**_rounded(asdict(theirs)), "per_second": round(theirs.per_second, 4), **ratios}


def agreement(cohort: Cohort, ours: xr.Dataset, plain: xr.Dataset) -> Found:
    """Mean and sd of each mean estimand at the cohort's mixture, ours and the plain model's."""
    rows: Found = {}
    share = cohort.stats.count / cohort.stats.count.sum()
    for name, asked in estimands.as_estimands(cohort.spec).items():
        if asked.statistic != names.MEAN:
            continue
        weights = asked.contrast.array(cohort.basis.factors).values.ravel()
        pair = []
        for posterior in (ours, plain):
            means = posterior[names.VAR_CELL_MEAN].values
            drawn = means.reshape(*means.shape[:3], -1) @ weights @ share
            pair.append((round(float(drawn.mean()), 4), round(float(drawn.std()), 4)))
        print(
            f"  {name:28} ours {pair[0][0]:+.3f} ± {pair[0][1]:.3f}   "
            f"plain {pair[1][0]:+.3f} ± {pair[1][1]:.3f}"
        )
        rows[name] = {"ours": pair[0], "plain": pair[1]}
    return rows


def plain_parameters(cohort: Cohort, drawn: xr.Dataset) -> xr.Dataset:
    """The plain model's draws with cell means, as `outputs.parameters` makes them for ours."""
    every = replace(cohort.basis, modelled=np.ones_like(cohort.basis.modelled))
    return outputs.parameters(drawn, every, cohort.stats.strata)


def larger(cohort: Cohort, units: int) -> xr.DataArray:
    """Cells of more units: the cohort's own, drawn again with a little normal noise."""
    generator = np.random.default_rng(units)
    chosen = np.sort(generator.integers(0, cohort.cells.shape[0], units))
    drawn = cohort.cells[chosen]
    noise = 0.1 * cohort.stats.scale * generator.standard_normal(drawn.shape)
    labels = np.arange(units).astype(str)
    return (drawn + noise).assign_coords({names.UNIT: labels})


def gradient_times(cohort: Cohort, grown: dict[int, CellData]) -> Found:
    """Microseconds of a gradient by number of units, and of the matrix work that it needs."""
    program = compiled(cohort).program
    base = program.with_data(**values(cohort.stats, cohort.priors))
    tree = nutpie.sample(
        base, draws=200, tune=500, chains=1, seed=1, progress_bar=False, store_unconstrained=True
    )
    points = tree[names.SAMPLE_STATS]["unconstrained_draw"].values[0]
    posterior = tree[names.POSTERIOR].to_dataset().isel({names.CHAIN: 0})
    covariance = posterior[names.VAR_COVARIANCE].values
    own = _own(cohort.basis, posterior)
    runners = {
        f"{units:,} units": gradient.sampler_gradient(
            program.with_data(**values(stats, cohort.priors)), points
        )
        for units, stats in grown.items()
    }
    bare = gradient.bare_work(np.linalg.cholesky(covariance), own, len(cohort.strata))
    best = gradient.least({**runners, **bare}, calls=20, rounds=2000)
    by_units = {name: best[name] for name in runners}
    work = {name: best[name] for name in bare}
    flat = max(by_units.values()) / min(by_units.values())
    times = min(by_units.values()) / sum(work.values())
    for name, micros in by_units.items():
        print(f"gradient, {name}: {micros:.1f} µs")
    print(f"gradient, largest / smallest: {flat:.3f}")
    print(f"LAPACK and BLAS alone: {sum(work.values()):.1f} µs; the gradient is {times:.2f}×")
    for name, micros in work.items():
        print(f"  {name}: {micros:.2f} µs")
    return {
        "gradient_us": _rounded(by_units),
        "flat": round(flat, 3),
        "bare_us": _rounded(work),
        "gradient_over_bare": round(times, 2),
    }


def _own(basis: Basis, posterior: xr.Dataset) -> np.ndarray:
    """Diagonal of T at each draw: shape (draws, effects)."""
    orders = posterior[names.ORDER].values
    place = np.searchsorted(orders, basis.order).clip(max=len(orders) - 1)
    tau = posterior[names.VAR_TAU].values[:, place]
    return basis.by_stratum * (tau * posterior[names.VAR_UNIT_SD].values) ** 2


def pass_times(cohort: Cohort, posterior: xr.Dataset, grown: dict[int, xr.DataArray]) -> Found:
    """Seconds of the log-likelihood and the predictive pass, and milliseconds for a draw."""
    rows: Found = {}
    for units, cells in grown.items():
        rows[f"{units:,}"] = {
            "log_likelihood": _likelihood_time(cohort, posterior, cells),
            "predictive": _predictive_time(cohort, posterior, cells),
        }
        for what, row in rows[f"{units:,}"].items():
            whole = f"{row['seconds']:.2f} s" if row["seconds"] is not None else row["refused"]
            print(f"{what} pass, {units:,} units: {whole}; {row['ms_per_draw']:.3f} ms a draw")
    return rows


def constants_of(cohort: Cohort) -> xr.Dataset:
    """What the passes read of a fit besides its draws."""
    return outputs.constants(cohort.stats, cohort.basis, cohort.priors, cohort.strata)


def _likelihood_time(cohort: Cohort, posterior: xr.Dataset, cells: xr.DataArray) -> Found:
    arguments = (cells, constants_of(cohort))
    draws = posterior.sizes[names.CHAIN] * posterior.sizes[names.DRAW]
    seconds, made = _timed(lambda: outputs.unit_log_likelihood(posterior, *arguments))
    if made is not None:
        return _row(seconds, draws)
    few = posterior.isel({names.DRAW: slice(0, 5)})
    seconds, made = _timed(lambda: outputs.unit_log_likelihood(few, *arguments))
    assert made is not None, "five draws a chain pass the limit too"
    return _refused(seconds, few.sizes[names.CHAIN] * few.sizes[names.DRAW])


def _predictive_time(cohort: Cohort, posterior: xr.Dataset, cells: xr.DataArray) -> Found:
    def draw(some: xr.DataArray) -> xr.Dataset | None:
        return outputs.predictive(posterior, some, constants_of(cohort), 1)

    seconds, made = _timed(lambda: draw(cells))
    if made is not None:
        return _row(seconds, made.sizes[names.CHAIN] * made.sizes[names.DRAW])
    parts, step = 0.0, 100_000
    for start in range(0, cells.shape[0], step):
        seconds, made = _timed(lambda part=slice(start, start + step): draw(cells[part]))
        assert made is not None, "a part passes the limit too"
        parts += seconds
    return _refused(parts, made.sizes[names.CHAIN] * made.sizes[names.DRAW])


def _timed(work: Callable[[], xr.Dataset | None]) -> tuple[float, xr.Dataset | None]:
    start = time.perf_counter()
    made = work()
    return time.perf_counter() - start, made


def _row(seconds: float, draws: int) -> Found:
    return {"seconds": round(seconds, 3), "ms_per_draw": round(1e3 * seconds / draws, 4)}


def _refused(seconds: float, draws: int) -> Found:
    refused = f"refused by design, more than {outputs.LIMIT:,} numbers"
    return {"seconds": None, "refused": refused, "ms_per_draw": round(1e3 * seconds / draws, 4)}


def _rounded(found: Found) -> Found:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in found.items()
    }


PARTS = ("compile", "fit", "plain", "gradient", "passes", "bambi")


def measure(parts: tuple[str, ...]) -> Found:
    """The parts asked for; our own fit is made in any case."""
    found: Found = {}
    if "compile" in parts:
        found["compile"] = compile_times()
    cohort = cube()
    seed = cohort.spec.sampler.seed
    ours, posterior, locations_s = own_fit(cohort, seed)
    print(f"fourcorner: {ours.line()}; locations {locations_s:.2f} s", flush=True)
    found["fourcorner"] = {**_rounded(asdict(ours)), "per_second": round(ours.per_second, 2)}
    if "plain" in parts:
        theirs, drawn = rivals.plain(cohort, seed)
        found["plain_pymc"] = ratio_line("plain PyMC", ours, theirs)
        print("estimands at the cohort's own mixture, posterior mean ± sd:")
        found["agreement"] = agreement(cohort, posterior, plain_parameters(cohort, drawn))
        theirs, _ = rivals.plain(cohort, seed, by_stratum=True)
        found["pymc_by_stratum"] = ratio_line("PyMC, one normal for each stratum", ours, theirs)
    if "fit" in parts:
        found["refit"] = refit_time(seed)
    grown = {units: larger(cohort, units) for units in SIZES if {"gradient", "passes"} & {*parts}}
    if "gradient" in parts:
        stats = {n: sufficient(cells, cohort.basis, cohort.strata) for n, cells in grown.items()}
        found["gradient"] = gradient_times(cohort, stats)
    if "passes" in parts:
        found["passes"] = pass_times(cohort, posterior, grown)
    if "bambi" in parts:
        theirs, formula = rivals.bambi(cohort, seed, BAMBI_TUNE, BAMBI_DRAWS, BAMBI_SECONDS)
        found["bambi"] = {"formula": formula, **ratio_line("bambi", ours, theirs)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parts = tuple(parser.parse_args().only)
    about = record.circumstances(*(["bambi"] if "bambi" in parts else []))
    print(f"{about['date']}, {about['machine']}, Python {about['python']}")
    print(", ".join(f"{name} {version}" for name, version in about["versions"].items()))
    seeds = {"fit": cube().spec.sampler.seed, "new_data": NEW_DATA_SEED}
    print(f"seeds: {seeds}", flush=True)
    found = measure(parts)
    if set(parts) != set(PARTS):
        print("not every part was measured: nothing written")
        return
    print(f"wrote {record.write(RESULT, {**about, 'seeds': seeds, **found})}")


if __name__ == "__main__":
    main()
