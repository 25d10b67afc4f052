"""A fit of the transition model: scores and a spec to a DataTree.

Invariant: the cohort is every unit with a measured endpoint, and all of its transitions count; the
fit is of the waves that the spec names, of one session. Pinned by `tests/test_transitions.py`.
"""

import time
from collections.abc import Callable

import numpy as np
import nutpie
import xarray as xr

from fourcorner import names, scores
from fourcorner.bayes import sample
from fourcorner.bayes.outputs import LIMIT, assemble
from fourcorner.bayes.priors import Priors, resolve
from fourcorner.bayes.transitions import outputs
from fourcorner.bayes.transitions.data import fitted_cells, prepared
from fourcorner.bayes.transitions.model import Endpoints, build, values
from fourcorner.spec import SamplerSpec, Spec

PRIOR_DRAWS = 1000

_compiled: dict[tuple[object, ...], tuple[sample.Program, float]] = {}


def fit(
    data: xr.Dataset, spec: Spec, sampler: SamplerSpec, progress: Callable[[str], None]
) -> xr.DataTree:
    """Fit the transition model; see `fourcorner.bayes.engine.fit`."""
    cells = fitted_cells(data, spec.model)
    ends, stratum = prepared(cells, spec.model.step)
    priors = resolve(spec.priors, ends.location, ends.scale)
    progress("compiling the model (once per structure; the first time takes longest)")
    program, compile_s = _program(ends, priors)
    standard = priors.standardised(np.array([ends.location]), np.array([ends.scale]))
    given = values(ends.standardised(), standard)
    drawn = sample.chains(program.with_data(**given), sampler, sample.TARGET_ACCEPT, progress)
    progress("prior, predictive and log densities")
    native = _native(drawn.posterior, ends.scale)
    moved = outputs.located(native, ends, priors, sampler.seed)
    posterior = outputs.parameters(native, moved, ends, stratum, cells)
    before = sample.prior_draws(build(ends, priors, likelihood=False), PRIOR_DRAWS, sampler.seed)
    moved = outputs.prior_locations(before, ends, priors, sampler.seed)
    prior = outputs.parameters(before, moved, ends, stratum, cells)
    found = ends.chains.endpoints(cells)
    groups = {
        names.POSTERIOR: posterior,
        names.SAMPLE_STATS: drawn.sample_stats,
        names.PRIOR: prior,
        names.PRIOR_PREDICTIVE: outputs.predictive(prior, ends, stratum, cells, sampler.seed),
        names.POSTERIOR_PREDICTIVE: outputs.predictive(
            posterior, ends, stratum, cells, sampler.seed
        ),
        names.OBSERVED_DATA: outputs.observed(cells),
        names.LOG_LIKELIHOOD: outputs.unit_log_likelihood(posterior, ends, stratum, found),
        names.LOG_PRIOR: outputs.log_prior(posterior, ends, priors),
        names.CONSTANT_DATA: outputs.constants(ends, stratum, priors, scores.strata(data), cells),
    }
    left_out = [name for name, group in groups.items() if group is None]
    attrs = {
        "title": spec.title,
        "family": spec.model.family,
        "cohort": names.COHORT_OBSERVED,
        "sampling_variance": names.BY_MODEL,
        "wave": "\n".join(spec.model.wave or scores.waves(data)),
        "waves": "\n".join(scores.waves(data)),
        "step": spec.model.step or "",
        "scale": "",
        "seed": sampler.seed,
        "compile_s": compile_s,
        "sample_s": drawn.seconds,
        "attempts": "; ".join(f"target_accept {t:g}: {d} divergences" for t, d in drawn.attempts),
        "left_out": _left_out(left_out),
        "notes": "\n".join(_notes(data, spec, ends, int(cells.isnull().sum()), cells.size)),
    }
    if spec.model.rope is not None:
        attrs["rope"] = spec.model.rope
    return assemble(groups, attrs)


def _program(ends: Endpoints, priors: Priors) -> tuple[sample.Program, float]:
    """The compiled model of a structure, from this process's cache when it is there."""
    key = (ends.channels, ends.chains.steps, ends.chains.levels, ends.strata)
    if key not in _compiled:
        start = time.perf_counter()
        program = nutpie.compile_pymc_model(build(ends, priors), cache=True)
        _compiled[key] = program, time.perf_counter() - start
    return _compiled[key]


def _native(draws: xr.Dataset, scale: float) -> xr.Dataset:
    """Draws of standardised scores in the scores' own units; shares and τ have none."""
    squared = (names.VAR_COVARIANCE, names.VAR_NOISE_COVARIANCE)
    return draws.assign({name: draws[name] * scale**2 for name in squared})


def _notes(data: xr.Dataset, spec: Spec, ends: Endpoints, lost: int, size: int) -> list[str]:
    """What the fit assumes and what it is of, in words."""
    chains = ends.chains
    waves = spec.model.wave or tuple(scores.waves(data))
    notes = []
    if waves:
        several = "the mean of the waves" if len(waves) > 1 else "wave"
        notes.append(f"the fit is of {several} {', '.join(waves)}")
    notes.append(
        f"{len(chains.unit)} transitions of {len(chains.units)} units link "
        f"{int(chains.size[chains.template].sum())} endpoints"
    )
    if lost:
        notes.append(
            f"{lost} of {size} cells of transitions are missing and taken to be missing at random; "
            f"they are integrated out"
        )
    named = spec.model.step or "place in the chain"
    notes.append(f"steps differ by {named} and stratum; noise has one law in all strata")
    return notes


def _left_out(groups: list[str]) -> str:
    if not groups:
        return ""
    return f"{', '.join(groups)}: more than {LIMIT:,} numbers for this many units"
