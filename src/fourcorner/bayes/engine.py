"""The Bayesian engine: scores and a spec to a fitted DataTree, by the family that the spec names.

Invariant: every family has one fit, whose tree the checks and the report read alike; what a spec
gives and its family does not use is refused. Pinned by `tests/test_fit.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import xarray as xr

from fourcorner import names
from fourcorner.bayes import cell_fit
from fourcorner.bayes.transitions import fit as transition_fit
from fourcorner.errors import NotAvailable
from fourcorner.spec import SamplerSpec, Spec, unsuited

Fit = Callable[[xr.Dataset, Spec, SamplerSpec, Callable[[str], None]], xr.DataTree]

FITS: Mapping[str, Fit] = {
    names.NORMAL: cell_fit.fit,
    names.STUDENT: cell_fit.fit,
    names.TRANSITION_FAMILY: transition_fit.fit,
}
WITHOUT_TREE = (
    "a Bayesian bootstrap has no parameters, so there is no tree of their draws; "
    "`fourcorner.bayesian_bootstrap` gives its rows, `fourcorner.audit` its probabilities too"
)


def fit(
    data: xr.Dataset,
    spec: Spec,
    *,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> xr.DataTree:
    """Fit the spec's family of model: cells of units, or endpoints of many transitions each.

    The cell model is of the units complete in every cell, or of all with a cell observed; the
    transition model of all with an endpoint observed.

    Missing cells are taken to be missing at random: for reasons that the observed ones and the
    stratum hold.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    spec : Spec
        Its ``model``, ``priors`` and ``sampler`` are used.
    seed : int, optional
        Instead of the spec's.
    progress : callable
        Told in words what is being done.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior``, ``sample_stats``, ``prior``, ``prior_predictive``,
        ``posterior_predictive``, ``observed_data``, ``log_likelihood`` (of the observed cells, by
        unit), ``log_prior`` and ``constant_data``. Scores are in native units. Attributes:
        seconds, divergences, what was left out, and notes on what the fit assumes.

    Raises
    ------
    FitError
        If the cohort is empty or has one unit, the scores do not vary, the chains do not start, a
        unit of the cell model has several transitions or its retries agree to the last digit, or
        endpoints of the transition model make no chains.
    NotAvailable
        If the family does not use what the spec gives, or is a Bayesian bootstrap, which has no
        parameters.
    SpecError
        If a formula names an unknown factor, or a prior in native units is given for several scale
        groups.
    """
    if spec.model.family == names.BAYESIAN_BOOTSTRAP:
        raise NotAvailable(WITHOUT_TREE)
    faults = unsuited(spec.model, spec.priors, spec.sampler)
    if faults:
        raise NotAvailable("; ".join(faults))
    sampler = spec.sampler if seed is None else replace(spec.sampler, seed=seed)
    return FITS[spec.model.family](data, spec, sampler, progress)
