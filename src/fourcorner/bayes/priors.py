"""Priors of the cell model: named scales in native units, with defaults and their reasons.

The scale of the scores, `score_scale`, is recorded from the data (or declared) and then held
constant; every default is a multiple of it, so that the model is the same in any units.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from fourcorner.spec import PriorSpec


@dataclass(frozen=True)
class Priors:
    """Prior scales of the cell model; native units unless said otherwise.

    Attributes
    ----------
    score_location, score_scale : float
        Centre of the intercept's prior and the unit of the other scales: the grand mean and the
        pooled standard deviation over units of a cell.
    intercept_sd : float
        Normal sd of the grand mean around `score_location`. Default 5 score scales: flat over
        any plausible level.
    effect_sd : float
        Normal sd of every other effect (the root-mean-square amount by which it moves a cell).
        Default 1 score scale: a gain of four score scales is two prior sds away.
    tau_sd : float
        Half-normal scale of τ, one for each interaction order: the sd of an effect between
        strata as a ratio to the sd of that effect between units; no unit. Default 0.5: strata
        differ by less than the units within them do. A ratio, because effects of one order
        differ in size by an order of magnitude, and the smallest would else fix τ for all.
    unit_sd : float
        Half-normal scale of the sds of effects between units. Default 1 score scale.
    stratum_scale_sd : float
        Normal sd of the log spread of a stratum about the common one; no unit. Default 0.5:
        spreads that differ by a factor of 2.7 are within two sds. Fixed, not learned: a stratum
        of n units tells its own spread from n × cells numbers, a handful of strata tells little
        of their sd.
    lkj_eta : float
        Concentration of the LKJ prior on correlations of effects; no unit. Default 1.
    """

    score_location: float
    score_scale: float
    intercept_sd: float
    effect_sd: float
    tau_sd: float
    unit_sd: float
    stratum_scale_sd: float
    lkj_eta: float

    def standardised(self, location: float, scale: float) -> "Priors":
        """The same priors of scores less `location` and divided by `scale`."""
        native = ("score_scale", "intercept_sd", "effect_sd", "unit_sd")
        scaled = {name: getattr(self, name) / scale for name in native}
        return replace(self, score_location=(self.score_location - location) / scale, **scaled)

    def array(self) -> NDArray[np.float64]:
        """The numbers in the order of the fields."""
        return np.array([getattr(self, item.name) for item in fields(self)], dtype=float)


def resolve(given: PriorSpec, location: float, scale: float) -> Priors:
    """Fill in defaults from the location and scale of the scores.

    Parameters
    ----------
    given : PriorSpec
        Overrides; None takes the default.
    location, scale : float
        Recorded from the data, in native units.

    Returns
    -------
    Priors

    Examples
    --------
    >>> resolve(PriorSpec(tau_sd=0.1), location=0.0, scale=2.0).effect_sd
    2.0
    """
    unit = scale if given.score_scale is None else given.score_scale
    defaults = {
        "score_location": location,
        "score_scale": unit,
        "intercept_sd": 5 * unit,
        "effect_sd": unit,
        "tau_sd": 0.5,
        "unit_sd": unit,
        "stratum_scale_sd": 0.5,
        "lkj_eta": 1.0,
    }
    chosen = {
        name: default if getattr(given, name) is None else float(getattr(given, name))
        for name, default in defaults.items()
    }
    return Priors(**chosen)
