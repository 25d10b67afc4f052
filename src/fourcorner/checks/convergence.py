"""Check 1: whether the chains converged, for every parameter and every estimand.

Invariant: a quantity that does not vary has no R-hat and is not a failure. Pinned by
`tests/test_checks.py`.
"""

from collections.abc import Sequence

import arviz as az
import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.bayes.answers import answered
from fourcorner.bayes.mixtures import contrast_draws, is_fixed
from fourcorner.bayes.tree import group
from fourcorner.checks.rows import CONVERGENCE, gate, not_run
from fourcorner.estimands import Estimand
from fourcorner.results import Check
from fourcorner.weights import TargetWeights

NAME = CONVERGENCE
RHAT = 1.01
ESS = 400.0
BFMI = 0.3
REMEDY = "sample more draws, or look at the model and priors"


def check(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Check]:
    """R-hat, bulk and tail effective sample size, divergences and energy.

    Parameters
    ----------
    tree : DataTree
    estimands, weights : sequences

    Returns
    -------
    list of Check
        One for the worst R-hat, bulk ESS and tail ESS of all parameters and of all estimands
        each, one for divergences, one for the energy. All gated.
    """
    groups = {
        "parameters": group(tree, names.POSTERIOR),
        "estimands": _estimand_draws(tree, estimands, weights),
    }
    rows = [row for target, draws in groups.items() for row in _worst(target, draws)]
    return [*rows, _divergences(tree), _energy(tree)]


def min_ess_bulk(tree: xr.DataTree) -> float:
    """Smallest bulk effective sample size over all parameters."""
    return _extreme(az.ess(group(tree, names.POSTERIOR), method="bulk"), -1)[0]


def _estimand_draws(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> xr.Dataset:
    dims = (names.CHAIN, names.DRAW)
    return xr.Dataset(
        {
            target: (dims, contrast_draws(tree, estimand.contrast, mixture))
            for target, estimand, mixture in answered(tree, estimands, weights)
            if not is_fixed(tree, estimand.contrast)
        }
    )


def _worst(target: str, draws: xr.Dataset) -> list[Check]:
    broken = [str(name) for name, array in draws.items() if not np.isfinite(array.values).all()]
    if broken:
        message = f"draws that are not finite in {', '.join(broken)}: {REMEDY}"
        return [gate(NAME, f"R-hat of {target}", None, None, message, ok=False)]
    draws = draws[[name for name, array in draws.items() if np.ptp(array.values) > 0]]
    if not draws.data_vars:
        return [not_run(NAME, f"R-hat of {target}", "nothing varies")]
    with np.errstate(invalid="ignore", divide="ignore"):  # constants have neither
        rhat, where_rhat = _extreme(az.rhat(draws), 1)
        bulk, where_bulk = _extreme(az.ess(draws, method="bulk"), -1)
        tail, where_tail = _extreme(az.ess(draws, method="tail"), -1)
    return [
        _verdict(f"R-hat of {target}", rhat <= RHAT, rhat, RHAT, f"worst is {where_rhat}"),
        _verdict(f"bulk ESS of {target}", bulk >= ESS, bulk, ESS, f"least is {where_bulk}"),
        _verdict(f"tail ESS of {target}", tail >= ESS, tail, ESS, f"least is {where_tail}"),
    ]


def _extreme(found: xr.Dataset, sign: int) -> tuple[float, str]:
    """Largest (sign 1) or smallest (sign -1) entry and its variable; constants (NaN) are passed."""
    chosen = {
        str(name): sign * float(np.nanmax(sign * array.values))
        for name, array in found.data_vars.items()
        if np.isfinite(array.values).any()
    }
    worst = max(chosen, key=lambda name: sign * chosen[name])
    return chosen[worst], worst


def _divergences(tree: xr.DataTree) -> Check:
    count = int(group(tree, names.SAMPLE_STATS)["diverging"].values.sum())
    tried = str(tree.attrs["attempts"])
    return _verdict("divergences", count == 0, float(count), 0.0, tried)


def _energy(tree: xr.DataTree) -> Check:
    energy = group(tree, names.SAMPLE_STATS)["energy"].values
    bfmi = float(((np.diff(energy, axis=1) ** 2).mean(axis=1) / energy.var(axis=1)).min())
    return _verdict("energy (BFMI)", bfmi >= BFMI, bfmi, BFMI, "least over chains")


def _verdict(target: str, passed: bool, value: float, threshold: float, found: str) -> Check:
    message = found if passed else f"{found}: {REMEDY}"
    return gate(NAME, target, value, threshold, message, ok=passed)
