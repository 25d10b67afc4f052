"""Posterior of any contrast under any mixture, from a fitted tree and without refitting.

Invariant: a contrast is applied to posterior cell means exactly as the design engine applies it to
observed cells; mixtures are applied after. Pinned by `tests/test_posterior.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import contrasts, names
from fourcorner.bayes.tree import factors, fitted_strata, group, strata_of_data
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate, Probability
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

KIND = "equal-tailed credible"
FIXED = "no interval: the model's effects leave no room for this contrast, so it is zero"
NOTHING = 1e-12  # relative; what rounding leaves of a loading that is zero
RETRY = "no interval: retry noise is not measured, so the cohort's own value is its observed one"


def stratum_values(tree: xr.DataTree, contrast: contrasts.Contrast) -> Floats:
    """Posterior of a contrast in each fitted stratum: shape (chains, draws, strata)."""
    means = group(tree, names.POSTERIOR)[names.VAR_CELL_MEAN]
    weights = contrast.array(factors(tree))
    return np.asarray(xr.dot(means, weights, dim=weights.dims).values)


def shares(tree: xr.DataTree, mixture: TargetWeights) -> Floats | None:
    """A mixture over the fitted strata: the cohort's own if empirical, None if it needs others."""
    fitted = fitted_strata(tree)
    if mixture.shares is None:
        count = group(tree, names.CONSTANT_DATA)[names.VAR_UNITS].values
        return np.asarray(count / count.sum())
    by_name = dict(zip(strata_of_data(tree), mixture.shares, strict=True))
    if any(share > 0 for name, share in by_name.items() if name not in fitted):
        return None
    return np.array([by_name[name] for name in fitted])


def loading(tree: xr.DataTree, contrast: contrasts.Contrast) -> Floats:
    """A contrast of cells as a contrast of effect coefficients: shape (components,)."""
    weights = contrast.array(factors(tree))
    basis = group(tree, names.CONSTANT_DATA)[names.VAR_BASIS]
    return np.asarray(xr.dot(basis, weights, dim=weights.dims).values)


def is_fixed(tree: xr.DataTree, contrast: contrasts.Contrast) -> bool:
    """Whether the model's formulas set a contrast to zero, so that it has no posterior."""
    constants = group(tree, names.CONSTANT_DATA)
    free = constants[names.VAR_PRIOR_VARIANCE].values > 0
    size = np.abs(loading(tree, contrast))
    return bool(size[free].max(initial=0.0) <= NOTHING * size.max())


def mixture_draws(tree: xr.DataTree, mixture: TargetWeights) -> Floats | None:
    """Weights of the strata in each draw for units like these: shape (chains, draws, strata).

    Declared weights are fixed; the empirical mixture is uncertain, Dirichlet with the strata's
    counts, the same draws for every estimand.
    """
    posterior = group(tree, names.POSTERIOR)
    shape = (posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW])
    fixed = shares(tree, mixture)
    if fixed is None or mixture.shares is not None or len(fixed) == 1:
        return None if fixed is None else np.broadcast_to(fixed, (*shape, len(fixed)))
    generator = np.random.default_rng([int(tree.attrs["seed"]), 1])
    count = group(tree, names.CONSTANT_DATA)[names.VAR_UNITS].values
    return generator.dirichlet(count, size=shape)


def contrast_draws(
    tree: xr.DataTree, contrast: contrasts.Contrast, mixture: TargetWeights
) -> Floats | None:
    """Posterior of a contrast for units like these: shape (chains, draws), or None."""
    weights = mixture_draws(tree, mixture)
    if weights is None:
        return None
    return np.asarray((weights * stratum_values(tree, contrast)).sum(axis=2))


def observed_strata(tree: xr.DataTree, contrast: contrasts.Contrast) -> Floats:
    """Mean of a contrast over the cohort's units in each fitted stratum: shape (strata,)."""
    cells = group(tree, names.OBSERVED_DATA)[names.CELLS]
    weights = contrast.array(factors(tree))
    values = xr.dot(cells, weights, dim=weights.dims).values
    fitted = fitted_strata(tree)
    if names.STRATUM not in cells.coords:
        return np.array([values.mean()])
    labels = cells[names.STRATUM].values
    return np.array([values[labels == name].mean() for name in fitted])


def estimates(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    level: float = 0.95,
) -> list[Estimate]:
    """Posterior means and credible intervals of every mean estimand under every mixture.

    Parameters
    ----------
    tree : DataTree
        As `fit` returns it.
    estimands, weights : sequences
    level : float

    Returns
    -------
    list of Estimate
        Two rows each: for units like these, and for this cohort (a value without an interval).
        Estimands whose statistic is not a mean have no row; `not_modelled` names them.
    """
    rows = []
    for estimand in estimands:
        if estimand.statistic != names.MEAN:
            continue
        observed = observed_strata(tree, estimand.contrast)
        for mixture in weights:
            about = _about(tree, estimand, mixture, level)
            draws = contrast_draws(tree, estimand.contrast, mixture)
            fixed = shares(tree, mixture)
            if draws is None or fixed is None:
                rows.append(_refused(about))
                continue
            rows.append(Estimate(**about, **_for_units(tree, estimand, draws, level)))
            cohort = {"population": names.POPULATION_COHORT, "value": float(fixed @ observed)}
            rows.append(Estimate(**about, **cohort, interval=None, notes=(RETRY,)))
    return rows


def _for_units(
    tree: xr.DataTree, estimand: Estimand, draws: Floats, level: float
) -> dict[str, Any]:
    """Population, value and interval of a row for units like these."""
    population = {"population": names.POPULATION_UNITS}
    if is_fixed(tree, estimand.contrast):
        return {**population, "value": 0.0, "interval": None, "notes": (FIXED,)}
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return {**population, "value": float(draws.mean()), "interval": (float(low), float(high))}


def not_modelled(estimands: Sequence[Estimand]) -> list[str]:
    """What the normal family has no posterior of, in words."""
    return [
        f"posterior of {estimand.name}: the normal family models means, not a {estimand.statistic}"
        for estimand in estimands
        if estimand.statistic != names.MEAN
    ]


def probabilities(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Probability]:
    """P(contrast < 0), and for an Ω of two gains both orientations of mean reversal.

    Returns
    -------
    list of Probability
        Events ``KIND<0`` (``omega<0``, ``gain<0``, …), ``reversal+-`` (first gain above zero,
        second below) and ``reversal-+``.
    """
    rows: list[Probability] = []
    for estimand in estimands:
        if estimand.statistic != names.MEAN:
            continue
        for mixture in weights:
            draws = contrast_draws(tree, estimand.contrast, mixture)
            if draws is None or is_fixed(tree, estimand.contrast):
                continue
            events = {f"{estimand.contrast.kind}<0": draws < 0}
            parts = estimand.contrast.parts
            if parts and all(part.kind == "gain" for part in parts):
                pair = [contrast_draws(tree, part, mixture) for part in parts]
                first, second = (np.asarray(side) for side in pair)
                events["reversal+-"] = (first > 0) & (second < 0)
                events["reversal-+"] = (first < 0) & (second > 0)
            rows += [_probability(estimand.name, mixture.name, *event) for event in events.items()]
    return rows


def _probability(name: str, weights: str, event: str, held: NDArray[np.bool_]) -> Probability:
    return Probability(
        name=name,
        event=event,
        value=float((held.sum() + 0.5) / (held.size + 1)),
        weights=weights,
        population=names.POPULATION_UNITS,
        draws=held.size,
    )


def _about(
    tree: xr.DataTree, estimand: Estimand, mixture: TargetWeights, level: float
) -> dict[str, Any]:
    units = group(tree, names.OBSERVED_DATA).sizes[names.UNIT]
    return {
        "name": estimand.name,
        "statistic": estimand.statistic,
        "weights": mixture.name,
        "method": names.BAYES,
        "cohort": str(tree.attrs["cohort"]),
        "interval_kind": KIND,
        "level": level,
        "units": units,
        "transitions": units,
    }


def _refused(about: dict[str, Any]) -> Estimate:
    refused = {
        "reason": "empty_stratum",
        "message": "the joint cohort has no unit in a stratum that these weights need",
    }
    return Estimate(
        **about, population=names.POPULATION_UNITS, value=None, interval=None, refused=refused
    )
