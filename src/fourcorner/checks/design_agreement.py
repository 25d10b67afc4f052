"""Check 2: whether the posterior agrees with the design estimate of the same estimand.

With T the design estimate on the fit's cohort and θ the estimand at the cohort's mixture, given
the variance parameters φ the model is linear and Gaussian and Var(T − E[θ|y]) = V_T − V_post
exactly, shrinkage included: T − E[θ|y] is a function of the data and so is uncorrelated with
θ − E[θ|y]. Both variances are taken given φ and averaged over the posterior of φ. (The marginal
posterior variance would not do: where a handful of strata leave τ open, it holds the uncertainty
about how much to shrink, and V_T − V_post comes out far too small.)

A family whose own V_T is not to be trusted has that of the bootstrap: the tree's attribute
``sampling_variance`` says which. V_post is then the t's given φ, or the variance of the posterior
draws, and the difference is held to no less than the units themselves make T and E[θ|y] differ by
(`fourcorner.checks.bootstrap`).

Where cells are missing, T is the mean over the units that have the contrast's cells, its empirical
mixture is theirs, and V_post is what the observed cells of all units leave. T is unbiased only
where what is missing does not depend on the scores, while the model needs no more than that it
depends on none that are missing: such a row is shown and no gate.

Invariant: a failure needs both significance (5 % after Holm over the estimands) and a size that
matters (a tenth of T's standard error). Pinned by `tests/test_checks.py` and, where cells are
missing, by `tests/test_observed_checks.py`; its error rate by
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
from fourcorner.bayes.answers import answered, questions, unanswered, without_cases
from fourcorner.bayes.incomplete import Groups
from fourcorner.bayes.locations import BLOCK, information
from fourcorner.bayes.mixtures import (
    complete_cases,
    complete_shares,
    is_fixed,
    loading,
    stratum_values,
    unit_variances,
)
from fourcorner.bayes.transitions import agreement
from fourcorner.bayes.tree import basis_rows, by_transition, group, observed
from fourcorner.bayes.unpooled import groups_of
from fourcorner.bayes.variances import (
    Variances,
    posterior_covariances,
    prior_covariances,
    sampling_covariances,
    variances,
)
from fourcorner.checks import bootstrap
from fourcorner.checks.replicated import replicated
from fourcorner.checks.rows import DESIGN_AGREEMENT, gate, not_run, shown
from fourcorner.contrasts import Contrast
from fourcorner.errors import FitError
from fourcorner.estimands import Estimand
from fourcorner.results import Check
from fourcorner.weights import TargetWeights

NAME = DESIGN_AGREEMENT
PREDICTIVE = "design_predictive"
LEVEL = 0.05
MATTERS = 0.1
ROUNDING = 1e-8  # relative to V_T
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
        Standardised difference and its two-sided p value.
    degrees : float
        Degrees of freedom of p: infinite, a normal's, where the model gives V_T.
    predictive_share : float
        Share of replicated T at or below T; shown, never gated.
    missing : int
        Units of the cohort that T does without, since they lack one of its cells.
    remark : str
        What to say of the variances.
    why : str or None
        Why the two are apart, where the units say so.
    """

    design: float
    posterior: float
    design_variance: float
    difference_variance: float
    z: float
    p: float
    degrees: float
    predictive_share: float
    missing: int
    remark: str = ""
    why: str | None = None


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
        One per estimand and mixture; ``not_run`` where the model has no counterpart of the
        statistic. ``value`` is z, ``threshold`` the |z| that Holm's step asked for. Then one
        ``shown`` row each with the share of replicated estimates below the design's.
    """
    rows: list[Check] = []
    asked: dict[str, tuple[Contrast, TargetWeights]] = {}
    for target, estimand, mixture in questions(estimands, weights):
        why = unanswered(tree, estimand, mixture) or _without_design(tree, estimand, mixture)
        if why is None:
            asked[target] = estimand.contrast, mixture
        else:
            rows.append(not_run(NAME, target, why))
    compared = dict(zip(asked, compare(tree, list(asked.values())), strict=True))
    whole = {target: found for target, found in compared.items() if found.missing == 0}
    steps = holm([found.p for found in whole.values()], LEVEL)
    for (target, found), (step, rejected) in zip(whole.items(), steps, strict=True):
        rows.append(_verdict(target, found, step, rejected))
    noun = "transition" if by_transition(tree) else "unit"
    rows += [_of_some(target, found, noun) for target, found in compared.items() if found.missing]
    return rows + [_shown(target, found) for target, found in compared.items()]


def compare(tree: xr.DataTree, asked: Sequence[tuple[Contrast, TargetWeights]]) -> list[Comparison]:
    """T against the posterior at the cohort's own, or the declared, mixture, for each pair."""
    if bootstrap.asked_for(tree):
        found = [
            (bootstrap.design_variance(tree, *pair), *bootstrap.difference_variance(tree, *pair))
            for pair in asked
        ]
    else:
        total = [float(_sampling_variances(tree, *pair).mean()) for pair in asked]
        left = _difference_variances(tree, asked)
        found = [(*both, "") for both in zip(total, left, strict=True)]
    return [_compared(tree, *pair, *of) for pair, of in zip(asked, found, strict=True)]


def replicates(
    tree: xr.DataTree, estimands: Sequence[Estimand], weights: Sequence[TargetWeights]
) -> xr.Dataset:
    """Design estimates of replicated cohorts by target, for all draws: dims (chain, draw)."""
    dims = (names.CHAIN, names.DRAW)
    return xr.Dataset(
        {
            target: (dims, replicated(tree, estimand.contrast, mixture))
            for target, estimand, mixture in answered(tree, estimands, weights)
            if _without_design(tree, estimand, mixture) is None
        }
    )


def _without_design(tree: xr.DataTree, estimand: Estimand, mixture: TargetWeights) -> str | None:
    """Why there is no design estimate on the fit's cohort, in words; None if there is one."""
    refused = without_cases(tree, estimand.contrast, mixture)
    if refused is not None:
        return str(refused["message"])
    if bootstrap.asked_for(tree):
        return bootstrap.impossible(tree, estimand.contrast, mixture)
    return None


def _compared(
    tree: xr.DataTree,
    contrast: Contrast,
    mixture: TargetWeights,
    total: float,
    difference: float,
    remark: str,
) -> Comparison:
    """Both engines, given V_T and V_T − V_post."""
    fixed, cases = complete_shares(tree, contrast, mixture), complete_cases(tree, contrast)
    needed = fixed > 0
    draws = _expected(tree, contrast) @ fixed
    estimate = float(fixed[needed] @ cases.mean[needed])
    centre = float(draws.mean())
    if not is_fixed(tree, contrast):
        difference += float(draws.var(ddof=1)) / float(az.ess(draws))
    z = float((estimate - centre) / np.sqrt(difference))
    of_units = bootstrap.asked_for(tree)
    degrees = bootstrap.degrees(tree, contrast, mixture) if of_units else np.inf
    return Comparison(
        design=estimate,
        posterior=centre,
        design_variance=total,
        difference_variance=difference,
        z=z,
        p=float(2 * stats.t.sf(abs(z), degrees)),
        degrees=degrees,
        predictive_share=float((replicated(tree, contrast, mixture) <= estimate).mean()),
        missing=len(observed(tree)[0]) - int(cases.count.sum()),
        remark=remark,
        why=_why_apart(tree, contrast, estimate - centre),
    )


def _why_apart(tree: xr.DataTree, contrast: Contrast, gap: float) -> str | None:
    return bootstrap.why_apart(tree, contrast, gap) if bootstrap.asked_for(tree) else None


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


def _expected(tree: xr.DataTree, contrast: Contrast) -> Floats:
    """What T estimates in each stratum: shape (chains, draws, strata).

    Of transitions that is the mean over those that T is of.
    """
    if by_transition(tree):
        return agreement.expected(tree, contrast)
    return stratum_values(tree, contrast)


def _sampling_variances(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Var(T | parameters) in each draw: Σ w_g² × one unit's variance / n_g, (chains, draws)."""
    if by_transition(tree):
        return agreement.sampling_variances(tree, contrast, mixture)
    fixed = complete_shares(tree, contrast, mixture)
    needed = fixed > 0
    per_unit = fixed[needed] ** 2 / complete_cases(tree, contrast).count[needed]
    return np.asarray(unit_variances(tree, contrast)[:, :, needed] @ per_unit)


def _difference_variances(
    tree: xr.DataTree, asked: Sequence[tuple[Contrast, TargetWeights]]
) -> list[float]:
    """V_T − V_post given φ, averaged over thinned draws of φ."""
    if not asked:
        return []
    if by_transition(tree):
        total, left_over = agreement.difference_variances(tree, asked, THIN)
        return np.maximum(left_over, ROUNDING * total).mean(axis=0).tolist()
    constants = group(tree, names.CONSTANT_DATA)
    thin = group(tree, names.POSTERIOR).isel({names.DRAW: slice(None, None, THIN)})
    given = variances(thin, constants)
    weights = np.stack([_lever(tree, *pair) for pair in asked], axis=1)
    step = max(1, BLOCK // len(weights) ** 2)
    blocks = [given.block(slice(i, i + step)) for i in range(0, len(given.unit), step)]
    if np.isfinite(observed(tree)[0]).all():
        parts = [_of_whole_units(block, constants, weights) for block in blocks]
        return (np.concatenate(parts).mean(axis=0)).tolist()
    groups, rows = groups_of(tree), basis_rows(tree)
    left = np.concatenate([_left(block, constants, groups, rows, weights) for block in blocks])
    sampling = [_sampling_variances(tree, *pair)[:, ::THIN].ravel() for pair in asked]
    total = np.stack(sampling, axis=1)
    if (left > total * (1 + ROUNDING)).any():
        raise FitError("a posterior variance exceeds that of the design estimate: a fault of ours")
    return (total - left).mean(axis=0).tolist()


def _lever(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> Floats:
    """Weights of the stacked strata's means of effects: shape (strata × effects,)."""
    mixed = complete_shares(tree, contrast, mixture)
    return np.multiply.outer(mixed, loading(tree, contrast)).ravel()


def _of_whole_units(given: Variances, constants: xr.Dataset, weights: Floats) -> Floats:
    """V_T − V_post where no cell is missing: shape (draws, estimands).

    With V the covariance of the strata's means given their expectations and C that of the
    expectations a priori, it is aᵀ V (C + V)⁻¹ V a for the weights a of T, without the difference
    of two large numbers.
    """
    sampling = sampling_covariances(given, constants[names.VAR_UNITS].values)
    prior = prior_covariances(given, constants[names.VAR_PRIOR_VARIANCE].values)
    moved = sampling @ weights
    return np.asarray((moved * np.linalg.solve(prior + sampling, moved)).sum(axis=1))


def _left(
    given: Variances, constants: xr.Dataset, groups: Groups, rows: Floats, weights: Floats
) -> Floats:
    """V_post from what the observed cells tell, whatever is missing: shape (draws, estimands)."""
    known, _ = information(given, groups, np.zeros(len(rows)), rows)
    prior = prior_covariances(given, constants[names.VAR_PRIOR_VARIANCE].values)
    return np.asarray((weights * (posterior_covariances(prior, known) @ weights)).sum(axis=1))


def _verdict(target: str, found: Comparison, step: float, rejected: bool) -> Check:
    failed = rejected and _apart(found) > MATTERS
    remedy = found.why or (
        "the model's location is off: look at its effects, stratum effects and family"
    )
    message = _said(found) + (f"; {remedy}" if failed else "")
    return gate(
        NAME, target, found.z, float(stats.t.isf(step / 2, found.degrees)), message, ok=not failed
    )


def _of_some(target: str, found: Comparison, noun: str) -> Check:
    """The row of a contrast whose cells some units, or transitions, lack."""
    why = (
        f"; {found.missing} {noun}(s) lack a cell, so the two may differ by what is missing, and "
        f"this is no gate"
    )
    return shown(NAME, target, _said(found) + why, value=found.z)


def _said(found: Comparison) -> str:
    return (
        f"design {found.design:+.4g}, posterior {found.posterior:+.4g}, z = {found.z:+.2f}, "
        f"{_apart(found):.2f} standard errors apart{found.remark}"
    )


def _apart(found: Comparison) -> float:
    return float(abs(found.design - found.posterior) / np.sqrt(found.design_variance))


def _shown(target: str, found: Comparison) -> Check:
    share = found.predictive_share
    said = f"{share:.3f} of replicated estimates are at or below the design's"
    return shown(PREDICTIVE, target, said, value=share)
