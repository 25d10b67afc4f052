"""A fit of the cell model: scores and a spec to a DataTree.

Invariant: a fit has one cohort, the units complete in every cell or all with a cell observed;
everything in the tree refers to it. Pinned by `tests/test_fit.py`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from fourcorner import names, scores
from fourcorner.bayes import basis as bases
from fourcorner.bayes import outputs, sample, student
from fourcorner.bayes.cells import full
from fourcorner.bayes.data import CellData, joint_cells, observed_cells, sufficient
from fourcorner.bayes.locations import draw_locations
from fourcorner.bayes.priors import Priors, resolve
from fourcorner.bayes.retry import Retries, retries, sessions
from fourcorner.errors import FitError
from fourcorner.spec import SamplerSpec, Spec

PRIOR_DRAWS = 1000


class Family(NamedTuple):
    """A family of the cell model: how it is sampled, and what its trees say of it.

    Attributes
    ----------
    drawn : callable
        Cells, basis, sufficient statistics, priors, sampler and progress to `sample.Drawn`.
    retries : bool
        Whether it has retry noise of its own.
    notes : tuple of str
    attrs : mapping
    """

    drawn: Callable[..., sample.Drawn]
    retries: bool
    notes: tuple[str, ...]
    attrs: Mapping[str, str]


def fit(
    data: xr.Dataset, spec: Spec, sampler: SamplerSpec, progress: Callable[[str], None]
) -> xr.DataTree:
    """Fit a family of the cell model; see `fourcorner.bayes.engine.fit`."""
    family = CELL_FAMILIES[spec.model.family]
    reduced = scores.cells(data)
    cells = _cohort(reduced, spec.model.cohort)
    strata = _fitted_strata(cells)
    formulas = (spec.model.effects, spec.model.stratum_effects)
    basis = bases.build(scores.factors(data), *formulas, scale=scores.scale_factors(data))
    kept = np.isin(reduced[names.UNIT].values, cells[names.UNIT].values)
    again = retries(data, basis, kept) if family.retries else None
    stats = sufficient(cells, basis, strata, again)
    priors = resolve(spec.priors, stats.location, stats.scale)
    constants = outputs.constants(stats, basis, priors, scores.strata(data))
    progress("compiling the model (once per structure; the first time takes longest)")
    found = family.drawn(cells, basis, stats, priors, sampler, progress)
    progress("prior, predictive and log densities")
    posterior = outputs.parameters(found.located, basis, stats.strata)
    prior = sample.prior_draws(found.full, PRIOR_DRAWS, sampler.seed)
    prior = outputs.parameters(prior, basis, stats.strata)
    groups = {
        names.POSTERIOR: posterior,
        names.SAMPLE_STATS: found.draws.sample_stats,
        names.PRIOR: prior,
        names.PRIOR_PREDICTIVE: outputs.predictive(prior, cells, constants, sampler.seed),
        names.POSTERIOR_PREDICTIVE: outputs.predictive(posterior, cells, constants, sampler.seed),
        names.OBSERVED_DATA: cells.to_dataset(name=names.CELLS),
        names.LOG_LIKELIHOOD: outputs.unit_log_likelihood(posterior, cells, constants),
        names.LOG_PRIOR: sample.log_prior(found.full, found.located),
        names.CONSTANT_DATA: constants,
    }
    left_out = [name for name, group in groups.items() if group is None]
    attrs = {
        "title": spec.title,
        "family": spec.model.family,
        "cohort": spec.model.cohort,
        "scale": "\n".join(scores.scale_factors(data)),
        "seed": sampler.seed,
        "compile_s": found.compiled.seconds,
        "sample_s": found.draws.seconds,
        "attempts": "; ".join(
            f"target_accept {t:g}: {d} divergences" for t, d in found.draws.attempts
        ),
        "left_out": _left_out(left_out),
        "notes": "\n".join([*_notes(data, cells, again, family), *family.notes]),
        **family.attrs,
    }
    if spec.model.rope is not None:
        attrs["rope"] = spec.model.rope
    return outputs.assemble(groups, attrs)


def _cohort(reduced: xr.DataArray, cohort: str) -> xr.DataArray:
    if cohort == names.COHORT_OBSERVED:
        return observed_cells(reduced)
    return joint_cells(reduced, scores.joint(reduced))


def _notes(
    data: xr.Dataset, cells: xr.DataArray, again: Retries | None, family: Family
) -> list[str]:
    """What the fit assumes and what it did not measure, in words."""
    notes = []
    missing = int(np.isnan(cells.values).sum())
    if missing:
        notes.append(
            f"{missing} of {cells.size} cells are missing and taken to be missing at random; they "
            f"are integrated out"
        )
    if not family.retries:
        return notes
    if again is None:
        notes.append("retry noise is not measured (no session has two waves): unit sds include it")
    else:
        waves, campaigns = data.sizes[names.WAVE], len(np.unique(sessions(data)))
        notes.append(
            f"retry noise is measured from {waves} waves in {campaigns} session(s) and is no part "
            f"of the unit sds"
        )
    return notes


def _normal(
    _: xr.DataArray,
    basis: bases.Basis,
    stats: CellData,
    priors: Priors,
    sampler: SamplerSpec,
    progress: Callable[[str], None],
) -> sample.Drawn:
    """The collapsed model's draws, and locations drawn exactly given them."""
    compiled = sample.compile_model(basis, stats, priors)
    draws = sample.draw(compiled, stats, priors, sampler, progress)
    located = _located(draws.posterior, basis, stats, priors, sampler.seed)
    model = full(basis, stats.strata, priors, retries=stats.retries is not None)
    return sample.Drawn(compiled, draws, located, model)


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


CELL_FAMILIES = {
    names.NORMAL: Family(_normal, True, (), {"sampling_variance": names.BY_MODEL}),
    names.STUDENT: Family(student.drawn, False, student.NOTES, student.ATTRS),
}


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
