"""Rank checks of every family of the model: `make validate`.

A cohort is drawn from the prior of a family's own fit, the family is fitted to it with the same
priors, and each parameter's prior value is ranked among its posterior draws. Over many cohorts the
ranks of a right sampler of the right density are uniform (Talts et al. 2018,
https://arxiv.org/abs/1804.06788). Parameters and cohorts come from code that the density does not
share, so a slip in either shows.

Beside ranks it counts how often check 2 rejects these right models, and how often 95 % intervals of
Ω hold it.

Writes `results/rank_checks.json` with a digest of the code that made it;
`tests/test_committed_results.py` holds it to that code and to the bands. With `--refits N` every
family has at most N refits, with `--family F` only one is run, and nothing is written.
"""

import argparse
import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

import fourcorner as fc
from benchmarks import record
from benchmarks.digest import digest, sources
from fourcorner import names
from fourcorner.asking import resolved
from fourcorner.bayes.mixtures import stratum_values
from fourcorner.bayes.tree import group
from fourcorner.checks import design_agreement

Floats = NDArray[np.float64]
Found = dict[str, Any]

RESULT = "rank_checks.json"
SEED = 20261201
REFITS, KEPT = 200, 100
"""Fits of a family, and posterior draws that a value is ranked among."""
STRATA = {"large": 24, "small": 12}
VIEWS = ("direct", "generated")
STEPS = ("plan", "edit", "test")
IDS = {names.UNIT: "task", names.TRANSITION_ID: "step"}
"""Columns of the table that hold ids."""

SPEC = """
kind = "scores"
title = "Rank check"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["direct", "generated"] }}
stratum = "target"
{data}
[estimands]
direct = {{ gain = {{ view = "direct" }} }}
omega = {{ omega = {{ view = ["direct", "generated"] }} }}
[weights]
empirical = "empirical"
equal = "equal"
[model]
family = "{family}"
{model}
[priors]
score_location = 0.0
score_scale = 1.0
[sampler]
chains = 2
tune = 400
draws = 400
"""
CHAINED = 'transition = "step"\nendpoint = "endpoint"\nattributes = ["kind"]'
FAMILIES: dict[str, tuple[str, str]] = {
    names.NORMAL: ("", ""),
    names.STUDENT: ("", ""),
    names.TRANSITION_FAMILY: (CHAINED, 'step = "kind"'),
}


@cache
def spec_of(family: str) -> fc.Spec:
    """The spec under which a family draws its cohorts and is fitted to them."""
    data, model = FAMILIES[family]
    return fc.parse_spec(SPEC.format(data=data, family=family, model=model))


def layout(family: str) -> pd.DataFrame:
    """The rows of a cohort, without scores that mean anything."""
    chained = "transition" in FAMILIES[family][0]
    rows = []
    for stratum, units in STRATA.items():
        for i in range(units):
            steps = STEPS[: 2 + i % 2] if chained else ("only",)
            for t, kind in enumerate(steps):
                for side, state in enumerate(names.STATES):
                    for view in VIEWS:
                        unit = f"{stratum}{i:02d}"
                        rows.append((unit, stratum, f"s{t}", kind, f"e{t + side}", state, view))
    columns = ["task", "target", "step", "kind", "endpoint", "state", "view"]
    table = pd.DataFrame(rows, columns=columns)
    ends = table["task"] + table["endpoint"] + table["view"]  # a shared endpoint has one score
    drawn = np.random.default_rng(SEED).standard_normal(ends.nunique())
    return table.assign(margin=drawn[pd.factorize(ends)[0]])


def prior_cohorts(family: str) -> tuple[xr.Dataset, xr.Dataset, pd.DataFrame]:
    """Prior draws of parameters, the scores that each makes, and the rows that these fill."""
    spec, table = spec_of(family), layout(family)
    made = replace(spec, sampler=replace(spec.sampler, draws=100, tune=100, seed=SEED))
    tree = fc.fit(fc.read_scores(spec, table), made)
    seen = group(tree, names.OBSERVED_DATA)
    held = {name: seen[name] for name in IDS if name in seen.coords}
    return group(tree, names.PRIOR), group(tree, names.PRIOR_PREDICTIVE).assign_coords(held), table


def filled(table: pd.DataFrame, made: xr.DataArray) -> pd.DataFrame:
    """The table with replicated scores: dims (unit or transition, state, view)."""
    case = made.dims[0]
    ids = {name: made[name].values.astype(str) for name in IDS if name in made.coords}
    values = made.drop_vars([n for n in made.coords if n in IDS or n == case]).rename("margin")
    listed = values.to_series().reset_index()
    listed = listed.assign(**{IDS[name]: held[listed[case]] for name, held in ids.items()})
    on = [*(IDS[name] for name in ids), "state", "view"]
    found = table.drop(columns="margin").merge(listed[[*on, "margin"]], on=on, validate="m:1")
    if len(found) != len(table) or found["margin"].isna().any():
        raise ValueError("a replicated cohort does not fill the table")
    return found


def one(family: str, table: pd.DataFrame, truth: xr.Dataset, seed: int) -> Found:
    """Ranks of every parameter and of Ω, whether Ω is in its interval, and what check 2 says."""
    spec = spec_of(family)
    tree = fc.fit(fc.read_scores(spec, table), spec, seed=seed)
    posterior = group(tree, names.POSTERIOR)
    size = posterior.sizes[names.CHAIN] * posterior.sizes[names.DRAW]
    thin = slice(None, None, size // KEPT)
    ranks: dict[str, list[int]] = {}
    for name, values in truth.data_vars.items():
        value = values.values.ravel()
        draws = posterior[name].values.reshape(size, -1)[thin][:KEPT]
        varying = draws.std(axis=0) > 0
        ranks[str(name)] = (draws < value).sum(axis=0)[varying].tolist()
    asked = resolved(spec, None, list(STRATA))
    omega = next(found.contrast for found in asked[0] if found.name == "omega")
    draws = stratum_values(tree, omega).mean(axis=-1).ravel()
    corners = truth[names.VAR_CELL_MEAN].mean(names.STRATUM)
    gains = corners.sel(state="after") - corners.sel(state="before")
    value = float(gains.sel(view="generated") - gains.sel(view="direct"))
    low, high = np.quantile(draws, [0.025, 0.975])
    checked = design_agreement.check(tree, *asked)
    gates = [row for row in checked if row.name == design_agreement.NAME and row.gated]
    return {
        "ranks": {**ranks, "omega": [int((draws[thin][:KEPT] < value).sum())]},
        "covered": bool(low <= value <= high),
        "rejected": any(row.verdict == names.FAIL for row in gates),
        "divergences": int(tree[names.SAMPLE_STATS]["diverging"].sum()),
    }


def summary(found: Sequence[Found]) -> Found:
    """Counts, and the p value of each variable's least uniform entry, adjusted for their number."""
    worst = {}
    for name in found[0]["ranks"]:
        ranks = np.array([row["ranks"][name] for row in found])
        p = [uniform(column) for column in ranks.T]
        worst[name] = {"entries": len(p), "p": round(min(1.0, len(p) * min(p)), 4)} if p else None
    return {
        "refits": len(found),
        "covered": sum(row["covered"] for row in found),
        "rejected": sum(row["rejected"] for row in found),
        "divergences": sum(row["divergences"] for row in found),
        "uniformity": {name: row for name, row in worst.items() if row is not None},
    }


def uniform(ranks: Floats) -> float:
    """P value of ranks 0 … KEPT being uniform, by χ² over ten bins of about equal width."""
    edges = np.linspace(0, KEPT + 1, 11).round()
    counted = np.histogram(ranks, edges - 0.5)[0]
    expected = len(ranks) * np.diff(edges) / (KEPT + 1)
    return float(stats.chisquare(counted, expected).pvalue)


def family_study(job: tuple[str, int]) -> tuple[str, Found]:
    """All refits of one family."""
    family, refits = job
    start = time.perf_counter()
    prior, made, table = prior_cohorts(family)
    generator = np.random.default_rng([SEED, list(FAMILIES).index(family)])
    places = [
        {names.CHAIN: chain, names.DRAW: draw}
        for chain in made[names.CHAIN].values
        for draw in made[names.DRAW].values
    ]
    picked = [places[i] for i in generator.permutation(len(places))[:refits]]
    found = [
        one(
            family,
            filled(table, made[names.CELLS].sel(place)),
            prior.sel(place),
            int(generator.integers(2**31)),
        )
        for place in picked
    ]
    return family, {**summary(found), "seconds": round(time.perf_counter() - start)}


def run(families: Sequence[str], refits: int) -> Found:
    """Two families at a time; prints each as it ends."""
    studies = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        for family, told in pool.map(family_study, [(name, refits) for name in families]):
            studies[family] = told
            counts = {name: told[name] for name in ("covered", "rejected", "divergences")}
            print(f"{family}: {told['refits']} refits in {told['seconds']} s, {counts}", flush=True)
            for name, row in told["uniformity"].items():
                print(f"    {name:32} {row['entries']:3} entries, least p × entries {row['p']:.3f}")
    return studies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--refits", type=int, default=REFITS)
    parser.add_argument("--family", choices=list(FAMILIES))
    asked = parser.parse_args()
    code = digest(sources("benchmarks.validate_ranks"))
    studies = run([asked.family] if asked.family else list(FAMILIES), asked.refits)
    if asked.refits < REFITS or asked.family:
        print("less than the committed result has: nothing written")
        return
    document = {
        "digest": code,
        **record.circumstances(),
        "settings": {"seed": SEED, "kept": KEPT, "strata": STRATA},
        "families": studies,
    }
    print(f"wrote {record.write(RESULT, document)}")


if __name__ == "__main__":
    main()
