"""Speed of the shared bootstrap: 50 estimands of one cohort beside `scipy.stats.bootstrap`.

1,100 transitions in 100 units, 10,000 draws of units: 20 means, 10 medians, 10 shares of negatives
and 10 AUCs. SciPy resamples the units for each estimand and calls its statistic, written for NumPy
on whole arrays, for every resample. Estimates must agree before any time is told. Beside the means
stands the bare matrix product that they cannot do without: draws by units times units by sums and
counts. Run ``python -m benchmarks.bootstrap``; ``--quick`` has SciPy draw a twentieth and says so.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import fourcorner as fc
from benchmarks import record
from fourcorner import names
from fourcorner.contrasts import endpoint_shift, gain
from fourcorner.design import engine
from fourcorner.design.draws import multiplicities
from fourcorner.estimands import Estimand, auc
from fourcorner.results import Estimate
from fourcorner.weights import resolve_all

UNITS, STEPS, VIEWS, DRAWS, SEED = 100, 11, 21, 10_000, 20261201
REPEATS, MANY = 5, 20  # of what takes long, and of what takes milliseconds
Statistic = Callable[[np.ndarray], float]


def spec() -> fc.Spec:
    """One change, one channel factor, an outcome."""
    views = ", ".join(f'"v{code:02d}"' for code in range(VIEWS))
    return fc.parse_spec(f"""
kind = "scores"
[data]
score = "score"
unit = "unit"
transition = "step"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = [{views}] }}
attributes = ["success"]
[estimands]
first = {{ gain = {{ view = "v00" }} }}
[weights]
empirical = "empirical"
""")


def table() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Scores in long form, and as an array (units, steps, state, view) with each unit's success."""
    generator = np.random.default_rng(SEED)
    success = generator.random(UNITS) < 0.4
    shape = (UNITS, STEPS, 2, VIEWS)
    scores = generator.standard_t(3, shape) + success[:, None, None, None]
    index = pd.MultiIndex.from_product(
        [range(UNITS), range(STEPS), names.STATES, [f"v{code:02d}" for code in range(VIEWS)]],
        names=["unit", "step", "state", "view"],
    )
    frame = pd.DataFrame({"score": scores.ravel()}, index=index).reset_index()
    return frame.assign(success=success[frame["unit"]]), scores, success


def asked() -> list[Estimand]:
    """The 50 estimands."""
    gains = [gain(view=f"v{code:02d}") for code in range(VIEWS)]
    after = [
        endpoint_shift("after", view=(f"v{code:02d}", f"v{code + 1:02d}")) for code in range(10)
    ]
    ranks = [
        auc(f"auc{i}", shift, ("success", True))[f"auc{i}.first"] for i, shift in enumerate(after)
    ]
    return [
        *(Estimand(f"mean{i}", gains[i]) for i in range(20)),
        *(Estimand(f"median{i}", gains[i], names.MEDIAN) for i in range(10)),
        *(Estimand(f"share{i}", gains[i], names.NEGATIVE_SHARE) for i in range(10)),
        *ranks,
    ]


def written(scores: np.ndarray, success: np.ndarray) -> list[Statistic]:
    """The same estimands as functions of the units that are drawn."""
    gains = scores[:, :, 1] - scores[:, :, 0]

    def ranked(code: int) -> Statistic:
        def statistic(units: np.ndarray) -> float:
            has = np.repeat(success[units], STEPS)
            ranks = stats.rankdata(scores[units, :, 1, code].ravel())
            high = has.sum()
            won = ranks[has].sum() - high * (high + 1) / 2
            return float(won / (high * (has.size - high)))

        return statistic

    def of(code: int, reduce: Callable[[np.ndarray], Any]) -> Statistic:
        return lambda units: float(reduce(gains[units, :, code]))

    return [
        *(of(code, np.mean) for code in range(20)),
        *(of(code, np.median) for code in range(10)),
        *(of(code, lambda drawn: (drawn < 0).mean()) for code in range(10)),
        *(ranked(code) for code in range(10)),
    ]


def timed[T](run: Callable[[], T], repeats: int = REPEATS) -> tuple[float, T]:
    """Least seconds of some runs, and the last result."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        found = run()
        taken.append(time.perf_counter() - start)
    return min(taken), found


def scipys(statistics: Sequence[Statistic], draws: int) -> tuple[float, list[tuple[float, float]]]:
    """Seconds of SciPy for all statistics, and its intervals."""
    units = (np.arange(UNITS),)

    def run() -> list[tuple[float, float]]:
        options = {"n_resamples": draws, "vectorized": False, "method": "percentile", "rng": SEED}
        return [
            tuple(stats.bootstrap(units, statistic, **options).confidence_interval)
            for statistic in statistics
        ]

    return timed(run, 1)


def bare_product(columns: int) -> float:
    """Seconds of the product of the draws with sums and counts of as many means."""
    drawn = np.concatenate(list(multiplicities(UNITS, DRAWS, SEED)))
    sums = np.random.default_rng(SEED).standard_normal((UNITS, columns))
    return timed(lambda: drawn @ sums, MANY)[0]


def main() -> None:
    """Time both, compare them, print and record."""
    drawn = DRAWS // 20 if "--quick" in sys.argv[1:] else DRAWS
    frame, scores, success = table()
    sample = engine.sample(fc.read_scores(spec(), frame))
    estimands, statistics = asked(), written(scores, success)
    weights = resolve_all({"empirical": "empirical"}, list(sample.strata))

    def ours(of: Sequence[Estimand], draws: int = DRAWS) -> list[Estimate]:
        return engine.estimate(sample, of, weights, draws=draws, seed=SEED)

    seconds, rows = timed(lambda: ours(estimands))
    for row, statistic in zip(rows, statistics, strict=True):
        assert np.isclose(row.value or 0.0, statistic(np.arange(UNITS)), atol=1e-9), row.name
    theirs, ends = scipys(statistics, drawn)
    theirs *= DRAWS / drawn
    widths = [
        np.ptp(row.interval) / np.ptp(end)
        for row, end in zip(rows, ends, strict=True)
        if row.interval
    ]
    means = [
        Estimand(f"mean{i}", 2 ** (i // 20) * estimands[i % 20].contrast) for i in range(len(rows))
    ]
    of_means, undrawn = (timed(lambda n=n: ours(means, n), MANY)[0] for n in (DRAWS, 1))
    drawing = timed(lambda: list(multiplicities(UNITS, DRAWS, SEED)), MANY)[0]
    bare = bare_product(2 * len(means))
    replicating = of_means - undrawn - drawing
    whole = "" if drawn == DRAWS else f" (from {drawn:,} resamples each)"
    print(f"{len(rows)} estimands, {DRAWS:,} draws of {UNITS} units, {UNITS * STEPS:,} transitions")
    print(
        f"fourcorner: {seconds:.3f} s; widths over SciPy's {min(widths):.2f} to {max(widths):.2f}"
    )
    print(f"scipy.stats.bootstrap: {theirs:.1f} s{whole}")
    print(f"scipy.stats.bootstrap {theirs / seconds:.0f}×")
    print(
        f"{len(means)} means: {of_means:.3f} s, of which without draws {undrawn:.3f}, drawing "
        f"{drawing:.3f}, replicates and intervals {replicating:.3f}; bare product {bare:.4f} s"
    )
    print(f"bare matrix product {replicating / bare:.1f}×")
    if drawn == DRAWS:
        document = record.circumstances() | {
            "seed": SEED,
            "estimands": len(rows),
            "draws": DRAWS,
            "fourcorner_s": seconds,
            "scipy_s": theirs,
            "times": theirs / seconds,
            "means": {
                "whole_s": of_means,
                "without_draws_s": undrawn,
                "drawing_s": drawing,
                "replicates_s": replicating,
                "bare_product_s": bare,
                "over_bare": replicating / bare,
            },
        }
        print(f"wrote {record.write('bootstrap.json', document)}")


if __name__ == "__main__":
    main()
