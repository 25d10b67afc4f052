"""Compile once, sample, and sample again more carefully if a chain diverged.

Invariant: one structure (effects, strata, formulas, whether cells are missing or retry noise is
measured) is compiled once in a process, and a refit with new values costs its sampling only; the
draws depend on the seed, not on the number of cores. Pinned by `tests/test_fit.py`.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import nutpie
import pymc as pm
import xarray as xr
from pymc.stats import compute_log_prior

from fourcorner import names
from fourcorner.bayes import cells
from fourcorner.bayes.basis import Basis
from fourcorner.bayes.data import CellData
from fourcorner.bayes.priors import Priors
from fourcorner.bayes.tree import group
from fourcorner.errors import FitError
from fourcorner.spec import SamplerSpec

Program = Any  # what nutpie compiled

TARGET_ACCEPT = 0.7  # the collapsed model has no funnel: long steps are accepted well
CAREFUL = 0.99
KEPT_STATS = ("diverging", "energy", "n_steps", "depth", "step_size", "mean_tree_accept", "logp")


@dataclass(frozen=True)
class Compiled:
    """A compiled structure: model, nutpie's program, basis, seconds it took."""

    model: pm.Model
    program: Program
    basis: Basis
    seconds: float


@dataclass(frozen=True)
class Draws:
    """Raw draws with what the sampler reported.

    Attributes
    ----------
    posterior, sample_stats : xarray.Dataset with dims (chain, draw, …)
    seconds : float
        Sampling, all attempts together.
    attempts : tuple of (target_accept, divergences)
    """

    posterior: xr.Dataset
    sample_stats: xr.Dataset
    seconds: float
    attempts: tuple[tuple[float, int], ...]


class Drawn(NamedTuple):
    """What a family's sampler gives.

    Attributes
    ----------
    compiled : Compiled
    draws : Draws
    located : xarray.Dataset
        Draws of every variable of `full`, native units.
    full : pymc.Model
        The priors of every variable, and no data.
    """

    compiled: Compiled
    draws: Draws
    located: xr.Dataset
    full: pm.Model


_compiled: dict[tuple[Any, ...], Compiled] = {}


def compile_model(basis: Basis, data: CellData, priors: Priors) -> Compiled:
    """The compiled model of a structure, from this process's cache when it is there."""
    key = (
        tuple(basis.factors.items()),
        basis.modelled.tobytes(),
        basis.by_stratum.tobytes(),
        basis.groups,
        data.strata,
        data.alike,
        data.retries is not None,
        None if data.turn is None else data.turn.tobytes(),
    )
    return compiled_once(key, basis, lambda: cells.collapsed(basis, data, priors))


def compiled_once(key: tuple[Any, ...], basis: Basis, build: Callable[[], pm.Model]) -> Compiled:
    """What was compiled under a key, which says all of a model's structure."""
    if key not in _compiled:
        start = time.perf_counter()
        model = build()
        program = nutpie.compile_pymc_model(model, cache=True)
        _compiled[key] = Compiled(model, program, basis, time.perf_counter() - start)
    return _compiled[key]


def draw(
    compiled: Compiled,
    data: CellData,
    priors: Priors,
    sampler: SamplerSpec,
    progress: Callable[[str], None],
) -> Draws:
    """Sample the posterior of these data; on any divergence once more at 0.99.

    The sampler sees standardised scores, so it does the same in any units.

    Raises
    ------
    FitError
        If the chains could not start.
    """
    standard = cells.values(
        data.standardised(compiled.basis.order), priors.standardised(data.location, data.scale)
    )
    program = compiled.program.with_data(**standard)
    found = chains(program, sampler, TARGET_ACCEPT, progress)
    return replace(found, posterior=native(found.posterior, data))


def chains(
    program: Program,
    sampler: SamplerSpec,
    target_accept: float,
    progress: Callable[[str], None],
) -> Draws:
    """Sample a program as it is; on any divergence once more at 0.99.

    `target_accept` is for a sampler that has none of its own.

    Raises
    ------
    FitError
        If the chains could not start.
    """
    accept = target_accept if sampler.target_accept is None else sampler.target_accept
    start = time.perf_counter()
    progress(f"sampling {sampler.chains} chains of {sampler.draws} draws")
    tree, divergences = _sample(program, sampler, accept)
    attempts = [(accept, divergences)]
    if divergences and accept < CAREFUL:
        progress(f"{divergences} divergences; once more at target_accept {CAREFUL}")
        tree, divergences = _sample(program, sampler, CAREFUL)
        attempts.append((CAREFUL, divergences))
    return Draws(
        group(tree, names.POSTERIOR),
        group(tree, names.SAMPLE_STATS)[list(KEPT_STATS)],
        time.perf_counter() - start,
        tuple(attempts),
    )


def native(draws: xr.Dataset, data: CellData) -> xr.Dataset:
    """Draws of standardised scores in the scores' own units; τ and s have none."""
    scale = data.scale[data.group]
    scales = {
        cells.UNIT_FACTOR: scale[np.tril_indices(len(scale))[0]],
        names.VAR_UNIT_SD: scale,
        names.VAR_COVARIANCE: np.multiply.outer(scale, scale),
        names.VAR_RETRY_SD: data.scale,
    }
    return draws.assign({name: draws[name] * scales[name] for name in scales if name in draws})


def _sample(
    program: Program, sampler: SamplerSpec, target_accept: float
) -> tuple[xr.DataTree, int]:
    """A tree of draws and its number of divergences.

    The sampler runs in the background: an interrupt stops it and is raised, where waiting inside
    nutpie would return what there is so far.
    """
    try:
        background = nutpie.sample(
            program,
            draws=sampler.draws,
            tune=sampler.tune,
            chains=sampler.chains,
            seed=sampler.seed,
            target_accept=target_accept,
            progress_bar=False,
            save_warmup=False,
            blocking=False,
        )
        try:
            tree = background.wait()
        except BaseException:
            background.cancel()
            raise
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        msg = f"the chains did not start ({reason}); look at the scores' scale and the priors"
        raise FitError(msg) from error
    return tree, int(group(tree, names.SAMPLE_STATS)["diverging"].values.sum())


def prior_draws(model: pm.Model, draws: int, seed: int) -> xr.Dataset:
    """Draws of every variable of a full model from the prior, dims (chain, draw, …)."""
    logger = logging.getLogger("pymc")
    level = logger.level
    logger.setLevel(logging.WARNING)  # it would list the variables on standard error
    try:
        with model:
            tree = pm.sample_prior_predictive(
                draws=draws, random_seed=seed, compile_kwargs={"mode": "FAST_COMPILE"}
            )
    finally:
        logger.setLevel(level)
    return tree[names.PRIOR].to_dataset()


def log_prior(model: pm.Model, draws: xr.Dataset) -> xr.Dataset:
    """Log prior density of each free variable of a full model, dims (chain, draw, …)."""
    tree = xr.DataTree.from_dict({names.POSTERIOR: draws})
    found = compute_log_prior(tree, model=model, extend_inferencedata=False, progressbar=False)
    return xr.Dataset(found.data_vars)
