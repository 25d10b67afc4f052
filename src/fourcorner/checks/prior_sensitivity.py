"""Check 5: how far estimands, τ and effects depend on their priors.

Power scaling: the priors, then the likelihood, are raised to a power α near one, the posterior is
reweighted, and the sensitivity is how fast its distribution moves with log₂ α (Kallioinen et al.
2024, https://doi.org/10.1007/s11222-023-10366-5; computed by ArviZ). A handful of strata barely
inform τ, so every τ has its row. What no observed cell determines is named beside its prior.

Invariant: shown, never a gate: a strong prior is a choice, not a mistake. Pinned by
`tests/test_prior_sensitivity.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.answers import questions, summary, unanswered
from fourcorner.bayes.mixtures import is_fixed, shares, stratum_values
from fourcorner.bayes.posterior import FIXED, prior_driven
from fourcorner.bayes.scaling import SAMPLE, log_likelihood, log_prior
from fourcorner.bayes.tree import group
from fourcorner.checks.rows import BY_PRIOR, PRIOR_DRIVEN, PRIOR_SENSITIVITY, not_run, shown
from fourcorner.estimands import Estimand
from fourcorner.results import Check
from fourcorner.weights import TargetWeights

NAME = PRIOR_SENSITIVITY
DRIVEN = PRIOR_DRIVEN
THRESHOLD = 0.05
LEVEL = 0.95
HALF, DOUBLE = 0.5, 2.0
PARETO = 0.7  # above it reweighting cannot be relied on

Floats = NDArray[np.float64]


class Quantity(NamedTuple):
    """Posterior draws of a number, shape (chains, draws), and its prior draws."""

    posterior: Floats
    prior: Floats


def check(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Check]:
    """Power-scale the priors and the likelihood.

    Parameters
    ----------
    tree : DataTree
    estimands, weights : sequences

    Returns
    -------
    list of Check
        One per estimand and mixture, per τ and per effect: ``shown`` with the prior sensitivity as
        value, or ``not_run`` with the reason. Then one ``prior_driven`` row for each estimand that
        the observed cells leave open.
    """
    quantities: dict[str, Quantity] = {}
    rows: list[Check] = []
    for target, estimand, mixture in questions(estimands, weights):
        why = unanswered(tree, estimand, mixture)
        if why is None and is_fixed(tree, estimand.contrast):
            why = FIXED
        if why is not None:
            rows.append(not_run(NAME, target, why, gated=False))
            continue
        contrast = estimand.contrast
        fixed = shares(tree, mixture)  # the cohort's own mixture, which no prior touches
        posterior, prior = (
            stratum_values(tree, contrast, of) @ fixed for of in (names.POSTERIOR, names.PRIOR)
        )
        quantities[target] = Quantity(posterior, prior)
        driven = prior_driven(tree, contrast, mixture, LEVEL)
        if driven is not None:
            rows.append(shown(DRIVEN, target, driven))
    for name in (names.VAR_TAU, names.VAR_EFFECT, names.VAR_RETRY_SD, names.VAR_DEGREES):
        quantities |= _parameters(tree, name)
    still = [target for target, found in quantities.items() if np.ptp(found.posterior) == 0]
    rows += [not_run(NAME, target, "it does not vary", gated=False) for target in still]
    moving = {target: quantities[target] for target in quantities if target not in still}
    return [*_sensitivities(tree, moving), *rows]


def _parameters(tree: xr.DataTree, name: str) -> dict[str, Quantity]:
    """A parameter, or its entries along one more dim than the draws; nothing if not there."""
    posterior, prior = group(tree, names.POSTERIOR), group(tree, names.PRIOR)
    if name not in posterior:
        return {}
    further = [dim for dim in posterior[name].dims if dim not in SAMPLE]
    if not further:
        return {name: Quantity(posterior[name].values, prior[name].values)}
    (dim,) = further
    return {
        f"{name}[{label}]": Quantity(
            posterior[name].isel({dim: place}).values, prior[name].isel({dim: place}).values
        )
        for place, label in enumerate(posterior[name][dim].values.tolist())
    }


def _sensitivities(tree: xr.DataTree, quantities: dict[str, Quantity]) -> list[Check]:
    likelihood, prior = log_likelihood(tree), log_prior(tree)
    if likelihood is None:
        why = f"it needs the log likelihood by unit, which the fit left out ({_left_out(tree)})"
        return [not_run(NAME, target, why, gated=False) for target in quantities]
    draws = xr.Dataset({target: (SAMPLE, found.posterior) for target, found in quantities.items()})
    scaled = xr.DataTree.from_dict(
        {
            names.POSTERIOR: draws.assign_coords({dim: prior[dim] for dim in SAMPLE}),
            names.LOG_PRIOR: prior.to_dataset(name=names.PRIOR),
            names.LOG_LIKELIHOOD: likelihood.to_dataset(name=names.CELLS),
        }
    )
    by_prior = az.psense(scaled, group="prior")
    by_likelihood = az.psense(scaled, group="likelihood")
    moves = [_reweighted(prior, power, draws) for power in (HALF, DOUBLE)]
    return [
        _row(
            target,
            found,
            float(by_prior[target]),
            float(by_likelihood[target]),
            [None if means is None else float(means[target]) for means in moves],
        )
        for target, found in quantities.items()
    ]


def _left_out(tree: xr.DataTree) -> str:
    return str(tree.attrs.get("left_out", "")) or "the tree has no such group"


def _reweighted(log_density: xr.DataArray, power: float, draws: xr.Dataset) -> xr.Dataset | None:
    """Posterior means with the priors at another power; None where reweighting is not reliable."""
    log_weights, k = ((1 - power) * log_density).azstats.psislw(dim=list(SAMPLE))
    if float(k) > PARETO:
        return None
    weights = np.exp(log_weights.values - log_weights.values.max())
    return xr.Dataset(
        {name: ((array.values * weights).sum() / weights.sum()) for name, array in draws.items()}
    )


def _row(
    target: str, found: Quantity, prior: float, likelihood: float, moves: Sequence[float | None]
) -> Check:
    centre, _, _ = summary(found.posterior, LEVEL)
    said = [
        f"{_verdict(prior, likelihood)}: prior sensitivity {prior:.2f}, likelihood sensitivity "
        f"{likelihood:.2f} (from {THRESHOLD:g} on it counts)",
        f"{centre:.4g} becomes {_moved(moves[0])} with the priors at half their power and "
        f"{_moved(moves[1])} at twice",
    ]
    if prior >= THRESHOLD:
        mean, low, high = summary(found.prior, LEVEL)
        said.append(f"a priori {mean:.4g}, {100 * LEVEL:g} % interval {low:.4g} to {high:.4g}")
    return shown(NAME, target, "; ".join(said), value=prior, threshold=THRESHOLD)


def _verdict(prior: float, likelihood: float) -> str:
    if prior < THRESHOLD:
        return "the priors hardly matter"
    if likelihood < THRESHOLD:
        return f"{BY_PRIOR}, by strong priors or data that say little"
    return "prior-data conflict possible, both move it"


def _moved(value: float | None) -> str:
    return "what reweighting cannot tell" if value is None else f"{value:.4g}"
