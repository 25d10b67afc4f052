"""Check 2: whether the posterior agrees with the design estimate of the same estimand.

With T the design estimate on the fit's cohort and θ the estimand at the cohort's mixture, given
the variance parameters φ the model is linear and Gaussian and Var(T − E[θ|y]) = V_T − V_post
exactly, shrinkage included: T − E[θ|y] is a function of the data and so is uncorrelated with
θ − E[θ|y]. Both variances are taken given φ and averaged over the posterior of φ. (The marginal
posterior variance would not do: where a handful of strata leave τ open, it holds the uncertainty
about how much to shrink, and V_T − V_post comes out far too small.)

Invariant: a failure needs both significance (5 % after Holm over the estimands) and a size that
matters (a tenth of T's standard error). Pinned by `tests/test_checks.py`; its error rate by
`benchmarks/results/cell_validation.json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from fourcorner import names
from fourcorner.bayes.locations import BLOCK, stacked_covariances, variances
from fourcorner.bayes.posterior import (
    is_fixed,
    loading,
    observed_strata,
    shares,
    stratum_values,
)
from fourcorner.bayes.tree import group
from fourcorner.contrasts import Contrast
from fourcorner.estimands import Estimand
from fourcorner.results import Check
from fourcorner.weights import TargetWeights

NAME = "design_agreement"
PREDICTIVE = "design_predictive"
LEVEL = 0.05
MATTERS = 0.1
THIN = 8  # every eighth draw of φ is plenty for an average

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """Both engines on one estimand.

    Attributes
    ----------
    design, posterior : float
        T and E[θ|y], native units.
    design_variance, difference_variance : float
        V_T, and V_T − V_post given φ, averaged over φ, with the Monte-Carlo error of E[θ|y].
    z, p : float
        Standardised difference and its two-sided normal p value.
    predictive_share : float
        Share of replicated T at or below T; shown, never gated.
    """

    design: float
    posterior: float
    design_variance: float
    difference_variance: float
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
        the statistic. ``value`` is z, ``threshold`` the |z| that Holm's step asked for. Then one
        ``shown`` row each with the share of replicated estimates below the design's.
    """
    rows: list[Check] = []
    asked: dict[str, tuple[Contrast, TargetWeights]] = {}
    for estimand in estimands:
        for mixture in weights:
            target = f"{estimand.name} ({mixture.name})"
            if estimand.statistic != names.MEAN:
                rows.append(
                    _not_run(target, f"the normal family models means, not a {estimand.statistic}")
                )
            elif shares(tree, mixture) is None:
                rows.append(_not_run(target, "the joint cohort has no unit in a needed stratum"))
            else:
                asked[target] = estimand.contrast, mixture
    compared = dict(zip(asked, compare(tree, list(asked.values())), strict=True))
    steps = holm([found.p for found in compared.values()], LEVEL)
    for (target, found), (step, rejected) in zip(compared.items(), steps, strict=True):
        rows.append(_verdict(target, found, step, rejected))
    return rows + [_shown(target, found) for target, found in compared.items()]


def compare(tree: xr.DataTree, asked: Sequence[tuple[Contrast, TargetWeights]]) -> list[Comparison]:
    """T against the posterior at the cohort's own, or the declared, mixture, for each pair."""
    mixtures = [_fixed(tree, mixture) for _, mixture in asked]
    levers = [
        np.multiply.outer(fixed, loading(tree, contrast)).ravel()
        for (contrast, _), fixed in zip(asked, mixtures, strict=True)
    ]
    differences = _difference_variances(tree, levers)
    return [
        _compared(tree, contrast, fixed, difference)
        for (contrast, _), fixed, difference in zip(asked, mixtures, differences, strict=True)
    ]


def replicated(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Design estimates of replicated cohorts, one for each draw: shape (chains, draws).

    T is linear in the strata's means, so T given the parameters is normal about the estimand with
    the sampling variance of T.
    """
    return _replicated(tree, contrast, _fixed(tree, mixture))


def _replicated(tree: xr.DataTree, contrast: Contrast, fixed: Floats) -> Floats:
    draws = stratum_values(tree, contrast) @ fixed
    noise = np.random.default_rng([int(tree.attrs["seed"]), 2]).standard_normal(draws.shape)
    return np.asarray(draws + np.sqrt(_sampling_variances(tree, contrast, fixed)) * noise)


def _fixed(tree: xr.DataTree, mixture: TargetWeights) -> Floats:
    fixed = shares(tree, mixture)
    assert fixed is not None, mixture
    return fixed


def _compared(
    tree: xr.DataTree, contrast: Contrast, fixed: Floats, difference: float
) -> Comparison:
    draws = stratum_values(tree, contrast) @ fixed
    estimate = float(fixed @ observed_strata(tree, contrast))
    centre = float(draws.mean())
    if not is_fixed(tree, contrast):
        difference += float(draws.var(ddof=1)) / float(az.ess(draws))
    z = float((estimate - centre) / np.sqrt(difference))
    return Comparison(
        design=estimate,
        posterior=centre,
        design_variance=float(_sampling_variances(tree, contrast, fixed).mean()),
        difference_variance=difference,
        z=z,
        p=float(2 * stats.norm.sf(abs(z))),
        predictive_share=float((_replicated(tree, contrast, fixed) <= estimate).mean()),
    )


def holm(p_values: Sequence[float], level: float) -> list[tuple[float, bool]]:
    """Holm's step-down procedure: the level each hypothesis is held to, and whether it falls.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.30], 0.06)
    [(0.02, True), (0.03, False), (0.06, False)]
    """
    found = [(level, False)] * len(p_values)
    standing = False
    for rank, place in enumerate(np.argsort(p_values, kind="stable")):
        step = level / (len(p_values) - rank)
        standing = standing or p_values[place] > step
        found[place] = (step, not standing)
    return found


def _sampling_variances(tree: xr.DataTree, contrast: Contrast, fixed: Floats) -> Floats:
    """Var(T | parameters) in each draw: Σ w_g² s_g² cᵀΣc / n_g, shape (chains, draws)."""
    posterior = group(tree, names.POSTERIOR)
    lever = loading(tree, contrast)
    covariance = posterior[names.VAR_COVARIANCE].values
    unit_variance = np.einsum("k,cdkl,l->cd", lever, covariance, lever)
    count = group(tree, names.CONSTANT_DATA)[names.VAR_UNITS].values
    if names.VAR_STRATUM_SCALE not in posterior:
        return np.asarray(unit_variance * (fixed**2 / count).sum())
    scale = posterior[names.VAR_STRATUM_SCALE].values
    return np.asarray(unit_variance * (scale**2 @ (fixed**2 / count)))


def _difference_variances(tree: xr.DataTree, levers: Sequence[Floats]) -> list[float]:
    """V_T − V_post given φ, averaged over thinned draws of φ, for the weights a of each T.

    With V the covariance of the strata's means given their expectations and C that of the
    expectations a priori, it is aᵀ V (C + V)⁻¹ V a.
    """
    if not levers:
        return []
    thin = group(tree, names.POSTERIOR).isel({names.DRAW: slice(None, None, THIN)})
    constants = group(tree, names.CONSTANT_DATA)
    given = variances(
        thin,
        constants[names.VAR_UNITS].values,
        constants[names.VAR_ORDER].values,
        constants[names.VAR_BY_STRATUM].values.astype(bool),
    )
    common = constants[names.VAR_PRIOR_VARIANCE].values
    weights = np.stack(levers, axis=1)
    step = max(1, BLOCK // len(weights) ** 2)
    total = np.zeros(len(levers))
    for start in range(0, len(given.unit), step):
        sampling, prior = stacked_covariances(given.block(slice(start, start + step)), common)
        moved = sampling @ weights
        total += (moved * np.linalg.solve(prior + sampling, moved)).sum(axis=(0, 1))
    return (total / len(given.unit)).tolist()


def _verdict(target: str, found: Comparison, step: float, rejected: bool) -> Check:
    apart = abs(found.design - found.posterior) / np.sqrt(found.design_variance)
    failed = rejected and apart > MATTERS
    said = (
        f"design {found.design:+.4g}, posterior {found.posterior:+.4g}, z = {found.z:+.2f}, "
        f"{apart:.2f} standard errors apart"
    )
    remedy = "; the model's location is off: look at its effects, stratum effects and family"
    return Check(
        name=NAME,
        target=target,
        verdict="fail" if failed else "pass",
        value=found.z,
        threshold=float(stats.norm.isf(step / 2)),
        message=said + (remedy if failed else ""),
    )


def _shown(target: str, found: Comparison) -> Check:
    share = found.predictive_share
    return Check(
        name=PREDICTIVE,
        target=target,
        verdict="shown",
        value=share,
        threshold=None,
        message=f"{share:.3f} of replicated estimates are at or below the design's",
        gated=False,
    )


def _not_run(target: str, why: str) -> Check:
    return Check(
        name=NAME, target=target, verdict="not_run", value=None, threshold=None, message=why
    )
