"""Exact leave-one-out for the units whose importance sampling cannot be relied on.

The family is fitted once more without each of them, with the priors of the whole fit, and the
unit's log density is taken from that posterior; ArviZ puts the terms together. A structure is
compiled once, so each refit costs its sampling alone.

Invariant: with every unit refitted the sum is that of brute-force cross-validation. Pinned by
`tests/test_refits.py`.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from fourcorner import names
from fourcorner.bayes import engine, outputs
from fourcorner.bayes.transitions import data as transition_data
from fourcorner.bayes.transitions import outputs as transition_outputs
from fourcorner.bayes.tree import by_transition, fitted_strata, group
from fourcorner.checks.loo import BAD, Found
from fourcorner.errors import NotAvailable
from fourcorner.spec import PriorSpec, Spec

MOST = 5


class Refits(az.SamplingWrapper):
    """What `arviz.reloo` asks of a model: fit without one unit, and that unit's log density."""

    def __init__(
        self, data: xr.Dataset, spec: Spec, tree: xr.DataTree, tell: Callable[[str], None]
    ) -> None:
        super().__init__(model=None, idata_orig=tree)
        self.data, self.tree, self.tell = data, tree, tell
        self.spec = replace(spec, priors=held_priors(tree, spec.priors))

    def sel_observations(self, idx: int) -> tuple[xr.Dataset, int]:
        """The scores without the unit at a place, and the place."""
        unit = str(group(self.tree, names.LOG_LIKELIHOOD)[names.UNIT].values[idx])
        self.tell(f"refitting without {unit}")
        others = self.data[names.UNIT].values.astype(str) != unit
        return self.data.isel({names.TRANSITION: others}), int(idx)

    def sample(self, modified_observed_data: xr.Dataset) -> xr.DataTree:
        """The fit of the other units."""
        found = engine.fit(modified_observed_data, self.spec)
        if fitted_strata(found) != fitted_strata(self.tree):
            raise NotAvailable("a unit is the only one of its stratum, so nothing foresees it")
        return found

    def get_inference_data(self, fitted_model: xr.DataTree) -> xr.DataTree:
        """The tree itself."""
        return fitted_model

    def log_likelihood__i(self, excluded_obs: int, idata__i: xr.DataTree) -> xr.DataArray:
        """Log density of the unit left out: dims (chain, draw)."""
        found = log_density(idata__i, self.tree, excluded_obs)
        return found.drop_vars(names.UNIT)


def log_density(fitted: xr.DataTree, whole: xr.DataTree, place: int) -> xr.DataArray:
    """Log density, under one fit, of a unit of another: dims (chain, draw)."""
    posterior = group(fitted, names.POSTERIOR)
    held = group(whole, names.OBSERVED_DATA)[names.CELLS]
    if by_transition(whole):
        groups = {name: group(whole, name) for name in (names.CONSTANT_DATA, names.OBSERVED_DATA)}
        ends, stratum = transition_data.rebuilt(groups)
        values = ends.chains.endpoints(held)
        found = transition_outputs.unit_log_likelihood(posterior, ends, stratum, values)
    else:
        one = held.isel({names.UNIT: [place]})
        found = outputs.unit_log_likelihood(posterior, one, group(fitted, names.CONSTANT_DATA))
        place = 0
    if found is None:
        raise NotAvailable("the log likelihood by unit has more numbers than are kept")
    return found[names.CELLS].isel({names.UNIT: place})


def held_priors(tree: xr.DataTree, given: PriorSpec) -> PriorSpec:
    """A spec's priors with the location and scale of the scores that the whole fit recorded.

    A model of transitions, and one of several scale groups, which have no one number in native
    units, record their own in each refit.
    """
    kept = group(tree, names.CONSTANT_DATA).get(names.VAR_PRIOR_SCALES)
    if kept is None or kept.sizes.get(names.SCALE_GROUP, 1) > 1:
        return given
    recorded = {
        name: float(kept.sel({names.PRIOR_NAME: name}).values.ravel()[0])
        for name in ("score_location", "score_scale")
    }
    return replace(given, **recorded)


def exact(
    found: Found,
    data: xr.Dataset,
    spec: Spec,
    tree: xr.DataTree,
    *,
    most: int = MOST,
    tell: Callable[[str], None] = lambda _: None,
) -> Found:
    """PSIS-LOO with the terms of units of a large k replaced by those of refits.

    Parameters
    ----------
    found : ELPDData
        As `fourcorner.checks.loo.leave_one_out` gives it.
    data, spec
        What was fitted.
    tree : DataTree
        The fit.
    most : int
        With more such units nothing is refitted: their number says that the family, and not the
        sampling, is what to change.
    tell : callable

    Returns
    -------
    ELPDData
        The units that were refitted have k = 0.
    """
    bad = np.flatnonzero(found.pareto_k.values > BAD)
    if not 0 < len(bad) <= most:
        return found
    wrapper: Any = Refits(data, spec, tree, tell)
    return az.reloo(wrapper, loo_orig=found, k_threshold=BAD, pointwise=True)
