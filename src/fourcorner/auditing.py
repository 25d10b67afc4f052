"""The main job: both engines on one table, checked against each other.

The fit and its checks are imported where they are used: that takes seconds, and design estimates do
without.

Invariant: where the engines stand side by side the design estimate is recomputed on the fit's
cohort; the contrast-wise row is kept beside it. Pinned by `tests/test_api.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd
import xarray as xr

from fourcorner import directional, names, results, scores
from fourcorner.asking import Resolved, Weights, resolved
from fourcorner.design import bayesian_bootstrap as bayesian
from fourcorner.design import engine as design
from fourcorner.design.bounds import censoring_bounds
from fourcorner.design.breakdowns import breakdowns
from fourcorner.design.cohort import Sample
from fourcorner.design.refusals import NEEDS_EMPIRICAL
from fourcorner.errors import NotAvailable
from fourcorner.results import Breakdown, Check, Criterion, Estimate, Probability
from fourcorner.spec import Spec, unsuited
from fourcorner.spec.weights import mix_of
from fourcorner.weights import STANDING

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Audit:
    """What both engines found, and whether they agree.

    Attributes
    ----------
    spec : Spec
    scores : xarray.Dataset
    rows : list of Estimate
        Design rows on the contrasts' cohorts and on the fit's, posterior rows, unpooled rows; or
        design rows and those of a Bayesian bootstrap.
    probability_rows : list of Probability
    check_rows : list of Check
    tree : xarray.DataTree or None
        The fit; None where the model does not apply, and of a Bayesian bootstrap.
    not_available : tuple of str
        What could not be run on these data, and why.
    breakdown_rows : list of Breakdown
        Design estimates of parts of the cohort.
    """

    spec: Spec
    scores: xr.Dataset
    rows: list[Estimate]
    probability_rows: list[Probability] = field(default_factory=list)
    check_rows: list[Check] = field(default_factory=list)
    tree: xr.DataTree | None = None
    not_available: tuple[str, ...] = ()
    breakdown_rows: list[Breakdown] = field(default_factory=list)

    @property
    def estimates(self) -> pd.DataFrame:
        """Estimates as a frame, one row each."""
        return results.frame(self.rows, Estimate)

    @property
    def probabilities(self) -> pd.DataFrame:
        """Posterior probabilities as a frame."""
        return results.frame(self.probability_rows, Probability)

    @property
    def checks(self) -> pd.DataFrame:
        """Checks as a frame."""
        return results.frame(self.check_rows, Check)

    @property
    def breakdowns(self) -> pd.DataFrame:
        """Breakdowns as a frame."""
        return results.frame(self.breakdown_rows, Breakdown)

    @cached_property
    def criterion_rows(self) -> list[Criterion]:
        """What the rows say of the spec's directional criteria."""
        return directional.verdicts(self.spec.criteria, self.rows)

    @property
    def criteria(self) -> pd.DataFrame:
        """Verdicts on the spec's directional criteria as a frame."""
        return results.frame(self.criterion_rows, Criterion)

    @property
    def posterior_method(self) -> str | None:
        """Method of the posterior rows; None where there are none."""
        if self.tree is not None:
            return names.BAYES
        weighed = any(row.method == names.BAYESIAN_BOOTSTRAP for row in self.rows)
        return names.BAYESIAN_BOOTSTRAP if weighed else None

    @property
    def passed(self) -> bool:
        """Whether every gate passed and nothing that was asked for was refused."""
        failed = any(row.gated and row.verdict == names.FAIL for row in self.check_rows)
        return not failed and not self.refused

    @property
    def refused(self) -> list[Estimate]:
        """Refused rows that count as refusals: no pooling is a comparison that nobody asked for."""
        asked = (row for row in self.rows if row.method != names.UNPOOLED)
        return [row for row in asked if row.refused is not None]

    @cached_property
    def funnel(self) -> dict[str, Any]:
        """Counts of scores from attempted to in the joint cohort; see `fourcorner.funnel`."""
        return scores.funnel(self.scores)

    @cached_property
    def timing(self) -> dict[str, float] | None:
        """Seconds of the fit and its smallest bulk effective sample size; None without a fit."""
        if self.tree is None:
            return None
        from fourcorner.checks import convergence

        seconds = {key: float(self.tree.attrs[key]) for key in ("compile_s", "sample_s")}
        return {**seconds, "min_ess_bulk": convergence.min_ess_bulk(self.tree)}

    def document(self) -> dict[str, Any]:
        """Everything as one JSON-ready object."""
        return {
            "title": self.spec.title,
            "funnel": self.funnel,
            "estimates": results.records(self.rows),
            "criteria": results.records(self.criterion_rows),
            "breakdowns": results.records(self.breakdown_rows),
            "probabilities": results.records(self.probability_rows),
            "checks": results.records(self.check_rows),
            "timing": self.timing,
            "not_available": list(self.not_available),
        }


def design_audit(data: xr.Dataset, spec: Spec) -> Audit:
    """The design engine alone: estimates on each contrast's complete cases, and breakdowns."""
    asked = resolved(spec, None, scores.strata(data))
    cohort = design.sample(data)
    rows = _design_rows(cohort, spec, asked)
    pointwise: dict[str, Any] = {**asdict(spec.design), "seed": spec.sampler.seed}
    del pointwise["simultaneous"]  # a breakdown's interval_kind is always a pointwise one
    return Audit(
        spec,
        data,
        [*rows, *censoring_bounds(cohort, *asked)],
        breakdown_rows=breakdowns(cohort, *asked, **pointwise),
    )


def _design_rows(cohort: Sample, spec: Spec, asked: Resolved) -> list[Estimate]:
    return design.estimate(cohort, *asked, seed=spec.sampler.seed, **asdict(spec.design))


def posterior_audit(data: xr.Dataset, spec: Spec, progress: Progress = lambda _: None) -> Audit:
    """The posterior side alone: rows, probabilities and the checks of the fit.

    Raises
    ------
    FitError, SpecError
        As `fourcorner.bayes.engine.fit`.
    """
    if spec.model.family == names.BAYESIAN_BOOTSTRAP:
        return _weighed(Audit(spec, data, []), progress)
    from fourcorner.bayes import engine as bayes

    asked = resolved(spec, None, scores.strata(data))
    return _posterior(data, spec, bayes.fit(data, spec, progress=progress), asked)


def audit(
    data: xr.Dataset,
    spec: Spec,
    *,
    draws: int | None = None,
    progress: Progress = lambda _: None,
) -> Audit:
    """Run both engines and the checks.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    spec : Spec
    draws : int, optional
        Bootstrap draws of the design engine, instead of the spec's.
    progress : callable
        Told in words what is being done.

    Returns
    -------
    Audit
        Its spec says what was run.

    Raises
    ------
    FitError
        If the chains do not start.
    SpecError, WeightsError
        If the spec does not fit the table.
    """
    if draws is not None:
        spec = replace(spec, design=replace(spec.design, draws=draws))
    progress("design estimates")
    found = design_audit(data, spec)
    try:
        if spec.model.family == names.BAYESIAN_BOOTSTRAP:
            return _weighed(found, progress)
        from fourcorner.bayes import engine as bayes

        tree = bayes.fit(data, spec, progress=progress)
    except NotAvailable as error:
        return replace(found, not_available=(f"posterior: {error}",))
    progress("checks")
    return _compared(found, tree)


def reweight(found: Audit, weights: Weights) -> Audit:
    """The same scores and the same fit under other mixtures, without refitting.

    Parameters
    ----------
    found : Audit
        Of both engines, or of the design engine where no model applies.
    weights : mapping of name to "empirical", "equal", stratum weights or a mix
        The mixtures that a mix names are found among the audit's own and come with it.

    Returns
    -------
    Audit
        What an audit of the same spec with these weights gives. Where none of them is empirical,
        medians, trimmed means and AUCs are left out beside other rows, which `not_available` says.

    Raises
    ------
    WeightsError
        If the weights do not fit the strata.
    """
    spec = replace(found.spec, weights=_with_parts(weights, found.spec.weights))
    again = design_audit(found.scores, spec)
    if found.posterior_method == names.BAYESIAN_BOOTSTRAP:
        again = _weighed(again)
    elif found.tree is None:
        again = replace(again, not_available=found.not_available)
    else:
        again = _compared(again, found.tree)
    return _without_ranked(again)


def _without_ranked(again: Audit) -> Audit:
    """Rows that go with empirical weights alone left out beside others, as an estimate leaves them.

    Where nothing else is asked for, they stay refused.
    """
    out: dict[str, str] = {}
    rows: list[Estimate] = []
    for row in again.rows:
        if row.refused is not None and row.refused["reason"] == NEEDS_EMPIRICAL:
            out[row.name] = row.refused["message"]
        else:
            rows.append(row)
    if not rows:
        return again
    none = f"none under {', '.join(again.spec.weights)}"
    said = [f"{name}: {message}: {none}" for name, message in out.items()]
    return replace(again, rows=rows, not_available=(*again.not_available, *said))


def _with_parts(weights: Weights, known: Weights) -> dict[str, Any]:
    """Weights with the known mixtures that their mixes name."""
    found = dict(weights)
    queue = list(weights)
    while queue:
        declared = found[queue.pop()]
        parts = mix_of(declared) if isinstance(declared, Mapping) else None
        for part in parts or ():
            if part in known and part not in {*found, *STANDING}:
                found[part] = known[part]
                queue.append(part)
    return found


def _compared(found: Audit, tree: xr.DataTree) -> Audit:
    """Design results beside the fit: posterior rows, and the design rows on the fit's cohort."""
    from fourcorner.bayes import posterior
    from fourcorner.checks import design_agreement, pooling

    data, spec = found.scores, found.spec
    estimands, mixtures = asked = resolved(spec, None, scores.strata(data))
    fitted = _posterior(data, spec, tree, asked)
    beside = _design_rows(design.sample(data, str(tree.attrs["cohort"])), spec, asked)
    rows = [*beside, *fitted.rows, *posterior.unpooled(tree, estimands, mixtures)]
    checks = [
        *fitted.check_rows,
        *design_agreement.check(tree, estimands, mixtures),
        *pooling.check(rows),
    ]
    kept = tree.copy()
    kept[names.ESTIMATOR_PREDICTIVE] = design_agreement.replicates(tree, estimands, mixtures)
    return replace(
        found,
        rows=[*found.rows, *rows],
        probability_rows=fitted.probability_rows,
        check_rows=checks,
        tree=kept,
        not_available=fitted.not_available,
    )


def _weighed(found: Audit, progress: Progress = lambda _: None) -> Audit:
    """What is there with the rows and probabilities of a Bayesian bootstrap of the same units."""
    from fourcorner.checks import bayesian_bootstrap as checks

    spec = found.spec
    faults = unsuited(spec.model, spec.priors, spec.sampler)
    if faults:
        raise NotAvailable("; ".join(faults))
    progress("Bayesian bootstrap")
    estimands, mixtures = resolved(spec, None, scores.strata(found.scores))
    chosen = bayesian.options(
        spec.design.draws, spec.sampler.seed, design.LEVEL, spec.design.resampling
    )
    drawn = bayesian.weighed(design.sample(found.scores), estimands, mixtures, chosen)
    rows = [*found.rows, *bayesian.rows(drawn, chosen.level)]
    return replace(
        found,
        rows=rows,
        probability_rows=bayesian.probabilities(
            drawn, mixtures, criteria=spec.criteria, rope=spec.model.rope
        ),
        check_rows=checks.check(rows),
    )


def _posterior(data: xr.Dataset, spec: Spec, tree: xr.DataTree, asked: Resolved) -> Audit:
    """What the fit alone says."""
    from fourcorner.bayes import posterior
    from fourcorner.bayes.answers import scope
    from fourcorner.checks import convergence, loo, prior_sensitivity

    lacking = [str(tree.attrs.get(key, "")) for key in ("left_out", "no_unpooled")]
    return Audit(
        spec,
        data,
        posterior.estimates(tree, *asked),
        [
            *posterior.probabilities(tree, *asked, rope=spec.model.rope),
            *posterior.conjunctions(tree, *asked, spec.criteria),
        ],
        [
            *convergence.check(tree, *asked),
            *loo.check(tree),
            *prior_sensitivity.check(tree, *asked),
        ],
        tree,
        (*posterior.not_modelled(asked[0], scope(tree)), *filter(None, lacking)),
    )
