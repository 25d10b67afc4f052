"""The Bayesian engine: scores and a spec to a fitted DataTree.

Invariant: a fit has one cohort, the units complete in every cell or all with a cell observed;
everything in the tree refers to it. Pinned by `tests/test_fit.py`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from fourcorner import names, scores
from fourcorner.bayes import basis as bases
from fourcorner.bayes import outputs, sample
from fourcorner.bayes.cells import full
from fourcorner.bayes.data import CellData, joint_cells, observed_cells, sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.bayes.priors import Priors, resolve
from fourcorner.bayes.retry import Retries, retries, sessions
from fourcorner.bayes.transitions.fit import fit as fit_transitions
from fourcorner.errors import FitError
from fourcorner.spec import SamplerSpec, Spec

PRIOR_DRAWS = 1000


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
    SpecError
        If a formula names an unknown factor, or a prior in native units is given for several scale
        groups.
    """
    sampler = spec.sampler if seed is None else replace(spec.sampler, seed=seed)
    return _FITS[spec.model.family](data, spec, sampler, progress)


def _fit_cells(
    data: xr.Dataset, spec: Spec, sampler: SamplerSpec, progress: Callable[[str], None]
) -> xr.DataTree:
    """Fit the cell model."""
    reduced = scores.cells(data)
    cells = _cohort(reduced, spec.model.cohort)
    strata = _fitted_strata(cells)
    formulas = (spec.model.effects, spec.model.stratum_effects)
    basis = bases.build(scores.factors(data), *formulas, scale=scores.scale_factors(data))
    again = retries(data, basis, np.isin(reduced[names.UNIT].values, cells[names.UNIT].values))
    stats = sufficient(cells, basis, strata, again)
    priors = resolve(spec.priors, stats.location, stats.scale)
    constants = outputs.constants(stats, basis, priors, scores.strata(data))
    progress("compiling the model (once per structure; the first time takes longest)")
    compiled = sample.compile_model(basis, stats, priors)
    draws = sample.draw(compiled, stats, priors, sampler, progress)
    progress("prior, predictive and log densities")
    located = _located(draws.posterior, basis, stats, priors, sampler.seed)
    posterior = outputs.parameters(located, basis, stats.strata)
    model = full(basis, stats.strata, priors, retries=again is not None)
    prior = sample.prior_draws(model, PRIOR_DRAWS, sampler.seed)
    prior = outputs.parameters(prior, basis, stats.strata)
    groups = {
        names.POSTERIOR: posterior,
        names.SAMPLE_STATS: draws.sample_stats,
        names.PRIOR: prior,
        names.PRIOR_PREDICTIVE: outputs.predictive(prior, cells, constants, sampler.seed),
        names.POSTERIOR_PREDICTIVE: outputs.predictive(posterior, cells, constants, sampler.seed),
        names.OBSERVED_DATA: cells.to_dataset(name=names.CELLS),
        names.LOG_LIKELIHOOD: outputs.unit_log_likelihood(posterior, cells, constants),
        names.LOG_PRIOR: sample.log_prior(model, located),
        names.CONSTANT_DATA: constants,
    }
    left_out = [name for name, group in groups.items() if group is None]
    attrs = {
        "title": spec.title,
        "family": spec.model.family,
        "cohort": spec.model.cohort,
        "sampling_variance": "model",
        "scale": "\n".join(scores.scale_factors(data)),
        "seed": sampler.seed,
        "compile_s": compiled.seconds,
        "sample_s": draws.seconds,
        "attempts": "; ".join(f"target_accept {t:g}: {d} divergences" for t, d in draws.attempts),
        "left_out": _left_out(left_out),
        "notes": "\n".join(_notes(data, cells, again)),
    }
    if spec.model.rope is not None:
        attrs["rope"] = spec.model.rope
    return outputs.assemble(groups, attrs)


def _cohort(reduced: xr.DataArray, cohort: str) -> xr.DataArray:
    if cohort == names.COHORT_OBSERVED:
        return observed_cells(reduced)
    return joint_cells(reduced, scores.joint(reduced))


def _notes(data: xr.Dataset, cells: xr.DataArray, again: Retries | None) -> list[str]:
    """What the fit assumes and what it did not measure, in words."""
    notes = []
    missing = int(np.isnan(cells.values).sum())
    if missing:
        notes.append(
            f"{missing} of {cells.size} cells are missing and taken to be missing at random; they "
            f"are integrated out"
        )
    if again is None:
        notes.append("retry noise is not measured (no session has two waves): unit sds include it")
    else:
        waves, campaigns = data.sizes[names.WAVE], len(np.unique(sessions(data)))
        notes.append(
            f"retry noise is measured from {waves} waves in {campaigns} session(s) and is no part "
            f"of the unit sds"
        )
    return notes


def _located(
    draws: xr.Dataset, basis: bases.Basis, stats: CellData, priors: Priors, seed: int
) -> xr.Dataset:
    try:
        return draw_locations(draws, basis, stats, priors, seed)
    except np.linalg.LinAlgError:
        scale = ", ".join(f"{value:.3g}" for value in stats.scale)
        msg = (
            f"the covariance of the cells is singular in double precision; cell means reach "
            f"{np.abs(stats.mean).max():.3g} in scores of scale {scale}: look for a "
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


_FITS: Mapping[str, Callable[..., xr.DataTree]] = {
    "normal": _fit_cells,
    "transitions": fit_transitions,
}
