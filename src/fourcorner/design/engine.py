"""The design engine: every estimand under every mixture, from one set of shared draws.

Invariant: estimates depend on the table alone, intervals on the table and the seed; nothing is
estimated that the observed cells do not determine. Pinned by `tests/test_design.py` against plain
pandas.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names
from fourcorner.design.draws import multiplicities
from fourcorner.design.means import stratum_totals, weighted
from fourcorner.design.medians import medians
from fourcorner.errors import NotIdentified
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

DRAWS = 10_000
LEVEL = 0.95
SMALL_STRATUM = 10
COHORT = "the cohort"
KIND = "percentile"
ROUNDING = 1e-12  # relative to the scores
PLAN = "plain bootstrap of units"


@dataclass(frozen=True)
class Sample:
    """Cells with the unit and stratum codes that resampling needs.

    Attributes
    ----------
    cells : DataArray with dims (transition, state, channels)
    unit : ndarray of shape (transitions,)
    stratum : ndarray of shape (units,)
    units : int
    strata : tuple of str
        Every stratum of the data, whether or not a unit of the cohort is in it.
    cohort : str
    """

    cells: xr.DataArray
    unit: NDArray[np.int64]
    stratum: NDArray[np.int64]
    units: int
    strata: tuple[str, ...]
    cohort: str


def sample(cells: xr.DataArray, strata: Sequence[str], cohort: str) -> Sample:
    """Code units and strata of a cells array whose first dim is the transition."""
    labels, first, unit = np.unique(
        cells[names.UNIT].values, return_index=True, return_inverse=True
    )
    if names.STRATUM in cells.coords:
        codes = {name: code for code, name in enumerate(strata)}
        stratum = np.array([codes[name] for name in cells[names.STRATUM].values[first].tolist()])
    else:
        stratum = np.zeros(len(labels), dtype=np.int64)
    return Sample(cells, unit, stratum.astype(np.int64), len(labels), tuple(strata), cohort)


def estimate(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
) -> list[Estimate]:
    """Estimates and percentile intervals of every estimand under every mixture.

    Parameters
    ----------
    data : Sample
    estimands, weights : sequences
    draws, seed : int
        Of the plain bootstrap, shared by all estimands.
    level : float

    Returns
    -------
    list of Estimate
        Estimands in order, mixtures within; a refusal is a row too.
    """
    if not estimands:
        return []
    values = [_values(data, estimand) for estimand in estimands]
    points, replicates = _bootstrap(data, estimands, weights, values, draws, seed)
    observed = data.cells.notnull().any(names.TRANSITION)
    rows = []
    for e, estimand in enumerate(estimands):
        unidentified = contrasts.refusal(estimand.contrast, observed) if data.units else None
        sizes = _units_by_stratum(data, values[e])
        about = _about(data, estimand, values[e], sizes, level)
        for w, mixture in enumerate(weights):
            named: dict[str, Any] = {**about, "weights": mixture.name}
            refused = unidentified or _refused(data.strata, estimand, mixture, sizes)
            if refused is not None:
                rows.append(Estimate(**named, value=None, interval=None, refused=refused))
                continue
            needed = _needed(data.strata, mixture, sizes)
            rows.append(
                Estimate(
                    **named,
                    value=float(points[e][w]),
                    **_interval(needed, replicates[e][w], level),
                )
            )
    return rows


def require(row: Estimate) -> Estimate:
    """Return the row itself, or raise `NotIdentified` when it is a refusal."""
    if row.refused is None:
        return row
    reason = row.refused["reason"]
    if reason != contrasts.NOT_IDENTIFIED:
        raise NotIdentified(f"{row.name} is refused: {row.refused['message']}", row.refused)
    witness = row.refused["witness"]
    message = (
        f"{row.name} is not identified: the cell(s) {row.refused['missing']} were never measured "
        f"in full. "
        f"Adding {witness['shift'][0]['by']:g} to {witness['shift'][0]['cell']} leaves the data as "
        f"they are and moves the contrast by {witness['moves_contrast']:g}. Measure these cells."
    )
    raise NotIdentified(message, row.refused)


def _values(data: Sample, estimand: Estimand) -> Floats:
    """Apply the contrast to each transition: NaN unless its whole support is complete.

    Corners that cancel leave a trace of either sign; a value that small beside its own corners is
    zero.
    """
    factors = {str(d): data.cells[d].values.tolist() for d in data.cells.dims[1:]}
    weights = estimand.contrast.array(factors).values.ravel()
    used = weights != 0
    terms = data.cells.values.reshape(-1, weights.size)[:, used] * weights[used]
    values = terms.sum(axis=1)
    finite = np.isfinite(values)
    values[np.abs(values) <= ROUNDING * np.abs(terms).sum(axis=1)] = 0.0
    return np.where(finite, values < 0, np.nan) if _is_share(estimand) else values


def _is_share(estimand: Estimand) -> bool:
    return estimand.statistic == names.NEGATIVE_SHARE


def _bootstrap(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    values: Sequence[Floats],
    draws: int,
    seed: int,
) -> tuple[list[list[float]], list[list[Floats]]]:
    """Point estimates and replicates, indexed by estimand, then mixture."""
    finite = np.isfinite(np.stack(values, axis=1))
    filled = np.where(finite, np.stack(values, axis=1), 0.0)
    sums = _by_unit(filled, data)
    counts = _by_unit(finite.astype(float), data)

    def evaluate(multiplicity: Floats) -> list[list[Floats]]:
        totals = stratum_totals(multiplicity, sums, counts, data.stratum, len(data.strata))
        means = [weighted(*totals, mixture.shares) for mixture in weights]
        found = [[mean[:, e] for mean in means] for e in range(len(estimands))]
        for e, estimand in enumerate(estimands):
            if estimand.statistic == names.MEDIAN and finite[:, e].any():
                inside = finite[:, e]
                middle = medians(multiplicity, values[e][inside], data.unit[inside])
                found[e] = [middle for _ in weights]
        return found

    once = evaluate(np.ones((1, data.units)))
    points = [[float(mixture[0]) for mixture in estimand] for estimand in once]
    blocks = [evaluate(block) for block in multiplicities(data.units, draws, seed)]
    replicates = [
        [np.concatenate([block[e][w] for block in blocks]) for w in range(len(weights))]
        for e in range(len(estimands))
    ]
    return points, replicates


def _by_unit(columns: Floats, data: Sample) -> Floats:
    """Sum the rows of each unit: shape (units, columns)."""
    summed = [np.bincount(data.unit, column, minlength=data.units) for column in columns.T]
    return np.stack(summed, axis=1)


def _units_by_stratum(data: Sample, values: Floats) -> NDArray[np.int64]:
    """Count the units with a complete transition: shape (strata,)."""
    units = np.unique(data.unit[np.isfinite(values)])
    return np.bincount(data.stratum[units], minlength=len(data.strata))


def _about(
    data: Sample, estimand: Estimand, values: Floats, sizes: NDArray[np.int64], level: float
) -> dict[str, Any]:
    finite = np.isfinite(values)
    return {
        "name": estimand.name,
        "statistic": estimand.statistic,
        "method": names.DESIGN,
        "population": names.POPULATION_UNITS,
        "cohort": data.cohort,
        "interval_kind": KIND,
        "level": level,
        "units": int(sizes.sum()),
        "transitions": int(finite.sum()),
        "resampling": PLAN,
        "count": int(values[finite].sum()) if _is_share(estimand) else None,
    }


def _refused(
    strata: Sequence[str], estimand: Estimand, mixture: TargetWeights, sizes: NDArray[np.int64]
) -> dict[str, Any] | None:
    if not sizes.any():
        message = "no transition is complete in every cell of this contrast"
        return {"reason": "no_complete_transition", "message": message}
    if mixture.shares is None:
        return None
    if estimand.statistic == names.MEDIAN:
        message = "a median goes with empirical weights only"
        return {"reason": "statistic_needs_empirical_weights", "message": message}
    empty = [name for name, size in _needed(strata, mixture, sizes).items() if size == 0]
    if empty:
        message = f"no complete transition in the strata {empty}"
        return {"reason": "empty_stratum", "message": message, "strata": empty}
    return None


def _needed(
    strata: Sequence[str], mixture: TargetWeights, sizes: NDArray[np.int64]
) -> dict[str, int]:
    """Units in each stratum that the mixture needs; of the whole cohort if it is empirical."""
    if mixture.shares is None:
        return {COHORT: int(sizes.sum())}
    return {
        name: int(size)
        for name, size, share in zip(strata, sizes, mixture.shares, strict=True)
        if share > 0
    }


def _interval(needed: dict[str, int], replicates: Floats, level: float) -> dict[str, Any]:
    """Percentile interval over the defined draws, with what a reader must know of it."""
    defined = replicates[np.isfinite(replicates)]
    undefined = len(replicates) - len(defined)
    found: dict[str, Any] = {"interval": None, "undefined_draws": undefined}
    lonely = [name for name, size in needed.items() if size < 2]
    if lonely:
        note = f"no interval: one unit in {', '.join(lonely)}, whose spread cannot be seen"
        return {**found, "notes": (note,)}
    if len(defined) == 0 or np.ptp(defined) <= ROUNDING * np.abs(defined).max():
        return {**found, "notes": ("no interval: every resample gives the same value",)}
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return {
        "interval": (float(low), float(high)),
        "undefined_draws": undefined,
        "notes": tuple(_notes(needed, undefined, len(replicates))),
    }


def _notes(needed: dict[str, int], undefined: int, draws: int) -> Iterator[str]:
    small = [f"{name}: {size}" for name, size in needed.items() if size < SMALL_STRATUM]
    if small:
        yield (
            f"percentile intervals undercover with fewer than {SMALL_STRATUM} units "
            f"({', '.join(small)})"
        )
    if undefined:
        yield f"{undefined} of {draws} draws left a needed stratum without a complete transition"
