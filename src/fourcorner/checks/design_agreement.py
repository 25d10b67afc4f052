"""Check 2: does the posterior agree with the design estimate of the same estimand?

With T the design estimate on the fit's cohort and θ the estimand at the cohort's mixture,
Var(T − E[θ|y]) = V_T − V_post exactly under the model, shrinkage included: T − E[θ|y] is a
function of the data and so is uncorrelated with θ − E[θ|y]. V_T is the design estimator's sampling
variance given the parameters, averaged over the posterior.

Invariant: a failure needs both significance (5 % after Holm over the estimands) and a size that
matters (a tenth of T's standard error). Pinned by `tests/test_checks.py`; its error rate by
`benchmarks/results/check_rates.json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from fourcorner import names
from fourcorner.bayes.posterior import observed_strata, shares, stratum_values, tree_factors
from fourcorner.contrasts import Contrast
from fourcorner.estimands import Estimand
from fourcorner.results import Check
from fourcorner.weights import TargetWeights

NAME = "design_agreement"
LEVEL = 0.05
MATTERS = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Both engines on one estimand.

    Attributes
    ----------
    design, posterior : float
        T and E[θ|y], native units.
    design_variance, posterior_variance : float
        V_T and V_post.
    z, p : float
        Standardised difference and its two-sided normal p value.
    predictive_share : float
        Share of replicated T at or below T; shown, never gated.
    """

    design: float
    posterior: float
    design_variance: float
    posterior_variance: float
    z: float
    p: float
    predictive_share: float


def check(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> list[Check]:
    """Compare the engines on every mean estimand under every mixture.

    Parameters
    ----------
    tree : DataTree
    estimands, weights : sequences

    Returns
    -------
    list of Check
        One per estimand and mixture; ``not_run`` where the normal family has no counterpart of
        the statistic. ``value`` is z, ``threshold`` the |z| that Holm's step asked for.
    """
    compared: dict[str, Comparison] = {}
    rows: list[Check] = []
    for estimand in estimands:
        for mixture in weights:
            target = f"{estimand.name} ({mixture.name})"
            if estimand.statistic != names.MEAN:
                rows.append(_not_run(target, f"the normal family models means, not a {estimand.statistic}"))
            elif shares(tree, mixture) is None:
                rows.append(_not_run(target, "the joint cohort has no unit in a needed stratum"))
            else:
                compared[target] = compare(tree, estimand.contrast, mixture)
    thresholds = holm([found.p for found in compared.values()], LEVEL)
    for (target, found), threshold in zip(compared.items(), thresholds, strict=True):
        rows.append(_verdict(target, found, threshold))
    return rows


def compare(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Comparison:
    """T against the posterior at the cohort's own (or the declared) fixed mixture."""
    fixed = shares(tree, mixture)
    assert fixed is not None, mixture
    draws = stratum_values(tree, contrast) @ fixed
    estimate = float(fixed @ observed_strata(tree, contrast))
    variances = _sampling_variances(tree, contrast, fixed)
    design_variance, posterior_variance = float(variances.mean()), float(draws.var(ddof=1))
    centre = float(draws.mean())
    spread = _difference_variance(draws, design_variance, posterior_variance)
    z = (estimate - centre) / np.sqrt(spread)
    replicated = draws + np.sqrt(variances) * np.random.default_rng(
        [int(tree.attrs["seed"]), 2]
    ).standard_normal(draws.shape)
    return Comparison(
        design=estimate,
        posterior=centre,
        design_variance=design_variance,
        posterior_variance=posterior_variance,
        z=float(z),
        p=float(2 * stats.norm.sf(abs(z))),
        predictive_share=float((replicated <= estimate).mean()),
    )


def holm(p_values: Sequence[float], level: float) -> list[float]:
    """The p value below which each hypothesis is rejected by Holm's step-down procedure.

    Hypotheses after the first that stands have a threshold of zero.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.30], 0.06)
    [0.02, 0.0, 0.0]
    """
    thresholds = [0.0] * len(p_values)
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        step = level / (len(p_values) - rank)
        if rank == 0 or p_values[place] <= step:
            thresholds[place] = step
        if p_values[place] > step:
            break
    return thresholds


def _sampling_variances(tree: xr.DataTree, contrast: Contrast, fixed: Floats) -> Floats:
    """Var(T | parameters) in each draw: Σ w_g² s_g² cᵀΣc / n_g, shape (chains, draws)."""
    posterior, constants = tree[names.POSTERIOR], tree[names.CONSTANT_DATA]
    weights = contrast.array(tree_factors(tree))
    loading = xr.dot(constants["basis"], weights, dim=weights.dims).values
    covariance = posterior[names.VAR_COVARIANCE].values
    unit_variance = np.einsum("k,cdkl,l->cd", loading, covariance, loading)
    count = constants[names.VAR_UNITS].values
    if names.VAR_STRATUM_SCALE not in posterior:
        return np.asarray(unit_variance * (fixed**2 / count).sum())
    scale = posterior[names.VAR_STRATUM_SCALE].values
    return np.asarray(unit_variance * (scale**2 @ (fixed**2 / count)))


def _difference_variance(draws: Floats, design_variance: float, posterior_variance: float) -> float:
    """V_T − V_post with the Monte-Carlo error of the posterior's mean and variance added.

    Where shrinkage is slight, V_T − V_post is smaller than the error with which the draws know
    V_post; that error then stands in, so that sampling noise is not read as disagreement.
    """
    effective = float(az.ess(draws))
    noise = np.sqrt(2 / effective) * posterior_variance
    return max(design_variance - posterior_variance, noise) + posterior_variance / effective


def _verdict(target: str, found: Comparison, threshold: float) -> Check:
    size = abs(found.design - found.posterior)
    matters = size > MATTERS * np.sqrt(found.design_variance)
    failed = found.p <= threshold and matters
    said = (
        f"design {found.design:+.4g}, posterior {found.posterior:+.4g}, z = {found.z:+.2f}, "
        f"{size / np.sqrt(found.design_variance):.2f} standard errors apart; "
        f"{found.predictive_share:.2f} of replicated estimates are below the design's"
    )
    remedy = "; the model's location is off: look at its effects, stratum effects and family"
    return Check(
        name=NAME,
        target=target,
        verdict="fail" if failed else "pass",
        value=found.z,
        threshold=float(stats.norm.isf(threshold / 2)) if threshold > 0 else None,
        message=said + (remedy if failed else ""),
    )


def _not_run(target: str, why: str) -> Check:
    return Check(
        name=NAME, target=target, verdict="not_run", value=None, threshold=None, message=why
    )
