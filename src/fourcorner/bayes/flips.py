"""How often the sign of a gain differs between two channels: of new transitions and of those seen.

A sign flip of mean gains is one question; how often single transitions flip is another, and a mean
that keeps its sign may hide many that do not. In each draw the two gains of a new transition have a
joint law in each stratum (and, of a model of transitions, for each kind of step), whose opposite
quadrants are the probability of a flip. Where retry noise is measured it is no part of that law.

Invariant: both orientations add up to what simulated transitions show. Pinned by
`tests/test_flips.py`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.answers import scope, summary, why_not
from fourcorner.bayes.mixtures import empty_strata, loading, mixture_draws, stratum_values
from fourcorner.bayes.orthants import opposite
from fourcorner.bayes.transitions.model import variances as transition_variances
from fourcorner.bayes.tree import by_transition, factors, fitted_strata, group
from fourcorner.bayes.variances import variances
from fourcorner.contrasts import Contrast
from fourcorner.errors import NotAvailable
from fourcorner.estimands import Estimand
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

ORIENTATION = "orientation"
ORIENTATIONS = ("+-", "-+")


class Gains(NamedTuple):
    """The joint law of two gains of a new transition.

    Attributes
    ----------
    mean : ndarray of shape (chains, draws, strata, …, 2)
        … are the kinds of steps of a model of transitions, and nothing of another.
    covariance : ndarray of shape (chains, draws, strata, …, 2, 2)
        Of a t its scale.
    degrees : ndarray of shape (chains, draws, strata, …) or None
    """

    mean: Floats
    covariance: Floats
    degrees: Floats | None


def two_gains(contrast: Contrast) -> tuple[Contrast, Contrast] | None:
    """The gains that a contrast is the difference of; None of another contrast."""
    parts = contrast.parts
    if len(parts) == 2 and all(part.kind == names.GAIN for part in parts):
        return parts[0], parts[1]
    return None


def new_transition(tree: xr.DataTree, contrast: Contrast) -> xr.DataArray:
    """Probability that a new transition's two gains lie on opposite sides of zero, in each draw.

    Parameters
    ----------
    tree : DataTree
    contrast : Contrast
        A difference of two gains.

    Returns
    -------
    DataArray
        Dims (orientation, chain, draw, stratum) and, of a model of transitions, the kind of step;
        ``+-`` is a first gain above zero and a second below.

    Raises
    ------
    NotAvailable
        If the contrast is no difference of two gains.
    """
    pair = two_gains(contrast)
    if pair is None:
        raise NotAvailable(f"{contrast.name} is no difference of two gains, so nothing can flip")
    law = (_of_steps if by_transition(tree) else _of_units)(tree, pair)
    found = opposite(law.mean, law.covariance, law.degrees)
    dims, coords = [names.CHAIN, names.DRAW, names.STRATUM], {names.STRATUM: fitted_strata(tree)}
    if by_transition(tree):
        dims.append(names.STEP)
        coords[names.STEP] = group(tree, names.CONSTANT_DATA)[names.STEP].values.tolist()
    held = xr.DataArray(found, dims=[*dims, ORIENTATION], coords=coords)
    return held.assign_coords({ORIENTATION: list(ORIENTATIONS)}).transpose(ORIENTATION, *dims)


def mixed_over_strata(
    tree: xr.DataTree, flips: xr.DataArray, mixture: TargetWeights
) -> xr.DataArray:
    """Flips of a new transition of a target population: dims (orientation, chain, draw).

    Kinds of steps weigh as often as each stratum has them.
    """
    if names.STEP in flips.dims:
        steps = group(tree, names.CONSTANT_DATA)[names.VAR_STEPS]
        flips = (flips * (steps / steps.sum(names.STEP))).sum(names.STEP)
    dims = (names.CHAIN, names.DRAW, names.STRATUM)
    weights = xr.DataArray(mixture_draws(tree, mixture), dims=dims)
    return (flips.drop_vars(names.STRATUM) * weights).sum(names.STRATUM)


def table(
    tree: xr.DataTree,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    level: float,
) -> pd.DataFrame:
    """Flips of a new transition by estimand and target, either way and both together.

    Returns
    -------
    pandas.DataFrame
        See `fourcorner.sign_flips`.

    Raises
    ------
    NotAvailable
        If no estimand is a difference of two gains.
    """
    rows: list[dict[str, object]] = []
    for estimand in estimands:
        if why_not(estimand, scope(tree)) or two_gains(estimand.contrast) is None:
            continue
        flips = new_transition(tree, estimand.contrast)
        targets: list[tuple[dict[str, str], xr.DataArray]] = [
            ({"weights": mixture.name}, mixed_over_strata(tree, flips, mixture))
            for mixture in weights
            if not empty_strata(tree, mixture)
        ]
        kept = [dim for dim in (names.STRATUM, names.STEP) if dim in flips.dims]
        for place in np.ndindex(*(flips.sizes[dim] for dim in kept)):
            one = flips.isel(dict(zip(kept, place, strict=True)))
            labels = {
                "stratum": str(one[names.STRATUM].values),
                **({"step": str(one[names.STEP].values)} if names.STEP in kept else {}),
            }
            targets.append((labels, one))
        for labels, drawn in targets:
            for orientation in (*ORIENTATIONS, "either"):
                of = (
                    drawn.sum(ORIENTATION)
                    if orientation == "either"
                    else drawn.sel({ORIENTATION: orientation})
                )
                value, lower, upper = summary(of.values, level)
                row: dict[str, object] = {"name": estimand.name, **labels}
                row["orientation"] = orientation
                rows.append(row | {"value": value, "lower": lower, "upper": upper, "level": level})
    if not rows:
        raise NotAvailable("none of the estimands is a mean difference of two gains")
    found = pd.DataFrame(rows)
    first = [key for key in ("name", "weights", "stratum", "step") if key in found]
    found[first] = found[first].fillna("")
    return found[[*first, "orientation", "value", "lower", "upper", "level"]]


def _of_units(tree: xr.DataTree, pair: tuple[Contrast, Contrast]) -> Gains:
    """Of a cell model: units about their stratum."""
    posterior = group(tree, names.POSTERIOR)
    given = variances(posterior, group(tree, names.CONSTANT_DATA))
    levers = np.stack([loading(tree, part) for part in pair])
    between = levers @ given.unit @ levers.T
    shape = posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW], given.scale.shape[1]
    covariance = (given.scale[:, :, None, None] * between[:, None]).reshape(*shape, 2, 2)
    mean = np.stack([stratum_values(tree, part) for part in pair], axis=-1)
    if np.isinf(given.degrees).all():
        return Gains(mean, covariance, None)
    degrees = np.broadcast_to(given.degrees[:, None], (len(given.degrees), shape[2]))
    return Gains(mean, covariance, degrees.reshape(shape))


def _of_steps(tree: xr.DataTree, pair: tuple[Contrast, Contrast]) -> Gains:
    """Of a model of transitions: endpoints of a step share the unit, and part of the noise."""
    posterior = group(tree, names.POSTERIOR)
    levels = posterior.sizes[names.MOVE] - posterior.sizes[names.STEP]
    given = transition_variances(posterior, levels)
    step = posterior[names.VAR_STEP_MEAN]
    gains = [_weighed(step, part, tree) for part in pair]
    levers = np.stack([_of_channels(tree, part) for part in pair])
    slow, white = (levers @ part @ levers.T for part in (given.slow, given.white))
    left = 1 - np.exp(-given.lasting)
    covariance = 2 * (left[:, :, None, None] * slow[:, None] + white[:, None])
    shape = posterior.sizes[names.CHAIN], posterior.sizes[names.DRAW]
    covariance = covariance.reshape(*shape, 1, -1, 2, 2)
    mean = np.stack(gains, axis=-1)
    return Gains(mean, np.broadcast_to(covariance, (*mean.shape, 2)), None)


def _weighed(step: xr.DataArray, part: Contrast, tree: xr.DataTree) -> Floats:
    """A contrast of the means of each kind of step: shape (chains, draws, strata, steps)."""
    weights = part.array(factors(tree))
    found = xr.dot(step, weights, dim=weights.dims)
    return np.asarray(found.transpose(names.CHAIN, names.DRAW, names.STRATUM, names.STEP).values)


def _of_channels(tree: xr.DataTree, part: Contrast) -> Floats:
    """A gain's weights of the channels, those of its after state: shape (channel cells,)."""
    return np.asarray(part.array(factors(tree)).sel({names.STATE: names.AFTER}).values.ravel())
