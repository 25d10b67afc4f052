"""The Bayesian engine: scores and a spec to a fitted DataTree.

Invariant: a fit has one cohort, the units complete in every cell; everything in the tree refers to
it. Pinned by `tests/test_fit.py`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import xarray as xr

from fourcorner import names, scores
from fourcorner.bayes import basis as bases
from fourcorner.bayes import outputs, sample
from fourcorner.bayes.cells import full
from fourcorner.bayes.data import CellData, joint_cells, sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.bayes.priors import Priors, resolve
from fourcorner.errors import FitError
from fourcorner.spec import Spec

PRIOR_DRAWS = 1000


def fit(
    data: xr.Dataset,
    spec: Spec,
    *,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> xr.DataTree:
    """Fit the cell model to the joint cohort.

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
        Groups ``posterior``, ``sample_stats``, ``prior``, ``posterior_predictive``,
        ``observed_data``, ``log_likelihood`` (by unit), ``log_prior`` and ``constant_data``.
        Scores are in native units. Attributes: seconds, divergences and what was left out.

    Raises
    ------
    FitError
        If the joint cohort is empty or has one unit, a unit has several transitions, the scores
        do not vary, or the chains do not start.
    SpecError
        If a formula names an unknown factor.
    """
    sampler = spec.sampler if seed is None else replace(spec.sampler, seed=seed)
    reduced = scores.cells(data)
    cells = joint_cells(reduced, scores.joint(reduced))
    strata = _fitted_strata(cells)
    basis = bases.build(scores.factors(data), spec.model.effects, spec.model.stratum_effects)
    stats = sufficient(cells, basis, strata)
    priors = resolve(spec.priors, stats.location, stats.scale)
    progress("compiling the model (once per structure; the first time takes longest)")
    compiled = sample.compile_model(basis, stats, priors)
    draws = sample.draw(compiled, stats, priors, sampler, progress)
    progress("prior, predictive and log densities")
    located = _located(draws.posterior, basis, stats, priors, sampler.seed)
    posterior = outputs.parameters(located, basis, stats.strata)
    model = full(basis, stats.strata, priors)
    prior = sample.prior_draws(model, PRIOR_DRAWS, sampler.seed)
    likelihood = outputs.unit_log_likelihood(posterior, cells, basis, stats.strata)
    replicated = outputs.predictive(posterior, cells, basis, stats.strata, sampler.seed)
    groups = {
        names.POSTERIOR: posterior,
        names.SAMPLE_STATS: draws.sample_stats,
        names.PRIOR: outputs.parameters(prior, basis, stats.strata),
        names.POSTERIOR_PREDICTIVE: replicated,
        names.OBSERVED_DATA: cells.to_dataset(name=names.CELLS),
        names.LOG_LIKELIHOOD: likelihood,
        names.LOG_PRIOR: sample.log_prior(model, located),
        names.CONSTANT_DATA: outputs.constants(stats, basis, priors, scores.strata(data)),
    }
    left_out = [name for name, group in groups.items() if group is None]
    attrs = {
        "title": spec.title,
        "family": spec.model.family,
        "cohort": names.COHORT_JOINT,
        "seed": sampler.seed,
        "compile_s": compiled.seconds,
        "sample_s": draws.seconds,
        "attempts": "; ".join(f"target_accept {t:g}: {d} divergences" for t, d in draws.attempts),
        "left_out": _left_out(left_out),
    }
    return outputs.assemble(groups, attrs)


def _located(
    draws: xr.Dataset, basis: bases.Basis, stats: CellData, priors: Priors, seed: int
) -> xr.Dataset:
    try:
        return draw_locations(draws, basis, stats, priors, seed)
    except np.linalg.LinAlgError:
        msg = (
            f"the covariance of the cells is singular in double precision; cell means reach "
            f"{np.abs(stats.mean).max():.3g} in scores of scale {stats.scale:.3g}: look for a "
            f"score that is a code for something else, and for strata without any spread"
        )
        raise FitError(msg) from None


def _fitted_strata(cells: xr.DataArray) -> list[str]:
    if names.STRATUM not in cells.coords:
        return [""]
    return sorted(set(cells[names.STRATUM].values.tolist()))


def _left_out(groups: list[str]) -> str:
    if not groups:
        return ""
    return (
        f"{', '.join(groups)}: more than {outputs.LIMIT:,} numbers for this many units; "
        f"sample fewer draws to keep them"
    )
