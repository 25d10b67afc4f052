"""The main job: both engines on one table, checked against each other.

Invariant: where the engines stand side by side the design estimate is recomputed on the fit's
cohort; the contrast-wise row is kept beside it. Pinned by `tests/test_api.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pandas as pd
import xarray as xr

from fourcorner import names, results, scores
from fourcorner.bayes import engine as bayes
from fourcorner.bayes import posterior
from fourcorner.checks import convergence, design_agreement
from fourcorner.design import engine as design
from fourcorner.errors import NotAvailable
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.results import Check, Estimate, Probability
from fourcorner.spec import Spec
from fourcorner.weights import TargetWeights, resolve_all

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Audit:
    """What both engines found, and whether they agree.

    Attributes
    ----------
    spec : Spec
    scores : xarray.Dataset
    rows : list of Estimate
        Design rows on the contrasts' cohorts and on the joint one, then posterior rows.
    probability_rows : list of Probability
    check_rows : list of Check
    tree : xarray.DataTree or None
        The fit, None where the model does not apply.
    not_available : tuple of str
        What could not be run on these data, and why.
    """

    spec: Spec
    scores: xr.Dataset
    rows: list[Estimate]
    probability_rows: list[Probability] = field(default_factory=list)
    check_rows: list[Check] = field(default_factory=list)
    tree: xr.DataTree | None = None
    not_available: tuple[str, ...] = ()

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
    def passed(self) -> bool:
        """Whether every gate passed and nothing that was asked for was refused."""
        failed = any(row.gated and row.verdict == "fail" for row in self.check_rows)
        return not failed and all(row.refused is None for row in self.rows)

    @cached_property
    def funnel(self) -> dict[str, Any]:
        """Counts of scores from attempted to in the joint cohort; see `fourcorner.funnel`."""
        return scores.funnel(self.scores)

    @cached_property
    def timing(self) -> dict[str, float] | None:
        """Seconds of the fit and its smallest bulk effective sample size; None without a fit."""
        if self.tree is None:
            return None
        seconds = {key: float(self.tree.attrs[key]) for key in ("compile_s", "sample_s")}
        return {**seconds, "min_ess_bulk": convergence.min_ess_bulk(self.tree)}

    def document(self) -> dict[str, Any]:
        """Everything as one JSON-ready object."""
        return {
            "title": self.spec.title,
            "funnel": self.funnel,
            "estimates": results.records(self.rows),
            "probabilities": results.records(self.probability_rows),
            "checks": results.records(self.check_rows),
            "timing": self.timing,
            "not_available": list(self.not_available),
        }


def design_rows(data: xr.Dataset, spec: Spec, *, draws: int = design.DRAWS) -> list[Estimate]:
    """Design estimates of a spec, each contrast on its own complete cases."""
    estimands, mixtures = _asked(data, spec)
    cells = design.sample(scores.cells(data), scores.strata(data), names.COHORT_CONTRAST)
    return design.estimate(cells, estimands, mixtures, draws=draws, seed=spec.sampler.seed)


def posterior_audit(data: xr.Dataset, spec: Spec, progress: Progress = lambda _: None) -> Audit:
    """The Bayesian engine alone: posterior rows, probabilities and the convergence check.

    Raises
    ------
    FitError, SpecError
        As `fourcorner.bayes.engine.fit`.
    """
    estimands, mixtures = _asked(data, spec)
    tree = bayes.fit(data, spec, progress=progress)
    left_out = str(tree.attrs["left_out"])
    return Audit(
        spec,
        data,
        posterior.estimates(tree, estimands, mixtures),
        posterior.probabilities(tree, estimands, mixtures),
        convergence.check(tree, estimands, mixtures),
        tree,
        (*posterior.not_modelled(estimands), *([left_out] if left_out else [])),
    )


def audit(
    data: xr.Dataset,
    spec: Spec,
    *,
    draws: int = design.DRAWS,
    progress: Progress = lambda _: None,
) -> Audit:
    """Run both engines and the checks.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    spec : Spec
    draws : int
        Bootstrap draws of the design engine.
    progress : callable
        Told in words what is being done.

    Returns
    -------
    Audit

    Raises
    ------
    FitError
        If the chains do not start.
    SpecError, WeightsError
        If the spec does not fit the table.
    """
    estimands, mixtures = _asked(data, spec)
    progress("design estimates")
    rows = design_rows(data, spec, draws=draws)
    try:
        fitted = posterior_audit(data, spec, progress)
    except NotAvailable as error:
        return Audit(spec, data, rows, not_available=(f"posterior: {error}",))
    progress("checks")
    assert fitted.tree is not None
    rows += _joint_rows(data, spec, estimands, mixtures, draws)
    checks = design_agreement.check(fitted.tree, estimands, mixtures)
    fitted.tree[names.ESTIMATOR_PREDICTIVE] = _replicated(fitted.tree, estimands, mixtures)
    return Audit(
        spec,
        data,
        rows + fitted.rows,
        fitted.probability_rows,
        fitted.check_rows + checks,
        fitted.tree,
        fitted.not_available,
    )


def _asked(data: xr.Dataset, spec: Spec) -> tuple[list[Estimand], list[TargetWeights]]:
    return list(as_estimands(spec).values()), resolve_all(spec, scores.strata(data))


def _replicated(
    tree: xr.DataTree, estimands: Sequence[Estimand], mixtures: Sequence[TargetWeights]
) -> xr.Dataset:
    """Replicated design estimates of every mean, for all draws."""
    dims = (names.CHAIN, names.DRAW)
    return xr.Dataset(
        {
            f"{estimand.name} ({mixture.name})": (
                dims,
                design_agreement.replicated(tree, estimand.contrast, mixture),
            )
            for estimand in estimands
            for mixture in mixtures
            if estimand.statistic == names.MEAN and posterior.shares(tree, mixture) is not None
        }
    )


def _joint_rows(
    data: xr.Dataset,
    spec: Spec,
    estimands: Sequence[Estimand],
    mixtures: Sequence[TargetWeights],
    draws: int,
) -> list[Estimate]:
    cells = scores.cells(data)
    cohort = cells[scores.joint(cells)]
    sample = design.sample(cohort, scores.strata(data), names.COHORT_JOINT)
    return design.estimate(sample, estimands, mixtures, draws=draws, seed=spec.sampler.seed)
