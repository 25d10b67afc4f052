"""Priors of the cell model: named scales in native units, with defaults and their reasons.

The scale of the scores, `score_scale`, is recorded from the data (or declared) and then held
constant; every default is a multiple of it, so that the model is the same in any units. Scale
groups have a location and a scale each.
"""

from dataclasses import asdict, dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fourcorner.errors import SpecError
from fourcorner.spec import PriorSpec

Floats = NDArray[np.float64]


NATIVE = (
    "score_location",
    "score_scale",
    "intercept_sd",
    "effect_sd",
    "unit_sd",
    "retry_sd",
)


@dataclass(frozen=True)
class Priors:
    """Prior scales of the cell model.

    Those in native units are arrays with an entry for each scale group; the others are numbers.

    Attributes
    ----------
    score_location, score_scale : ndarray of shape (scale groups,)
        Centre of the intercept's prior and the unit of the other scales: the grand mean and the
        pooled standard deviation over units of a cell.
    intercept_sd : ndarray of shape (scale groups,)
        Normal sd of the grand mean around `score_location`. Default 5 score scales: flat over
        any plausible level.
    effect_sd : ndarray of shape (scale groups,)
        Normal sd of every other effect (the root-mean-square amount by which it moves a cell).
        Default 1 score scale: a gain of four score scales is two prior sds away.
    tau_sd : float
        Half-normal scale of τ, one for each interaction order: the sd of an effect between
        strata as a ratio to the sd of that effect between units; no unit. Default 0.5: strata
        differ by less than the units within them do. A ratio, because effects of one order
        differ in size by an order of magnitude, and the smallest would else fix τ for all.
    unit_sd : ndarray of shape (scale groups,)
        Half-normal scale of the sds of effects between units. Default 1 score scale.
    retry_sd : ndarray of shape (scale groups,)
        Half-normal scale of the retry noise's sd in one cell of one wave. Default 1 score scale:
        retries may differ by as much as units do.
    stratum_scale_sd : float
        Normal sd of the log spread of a stratum about the common one; no unit. Default 0.5:
        spreads that differ by a factor of 2.7 are within two sds. Fixed, not learned: a stratum
        of n units tells its own spread from n × cells numbers, a handful of strata tells little
        of their sd.
    lkj_eta : float
        Concentration of the LKJ prior on correlations of effects; no unit. Default 1.
    nu_mean : float
        Prior mean of the degrees of freedom ν of the student family, ν − 2 being gamma of shape 2;
        no unit. Default 22: tails from heavy to as good as normal. Above 2 a variance exists, and
        shape 2 keeps its posterior mean finite.
    """

    score_location: Floats
    score_scale: Floats
    intercept_sd: Floats
    effect_sd: Floats
    tau_sd: float
    unit_sd: Floats
    retry_sd: Floats
    stratum_scale_sd: float
    lkj_eta: float
    nu_mean: float

    def standardised(self, location: Floats, scale: Floats) -> "Priors":
        """The same priors of scores less `location` and divided by `scale`, by scale group."""
        native = [name for name in NATIVE if name != "score_location"]
        scaled = {name: getattr(self, name) / scale for name in native}
        return replace(self, score_location=(self.score_location - location) / scale, **scaled)

    def array(self) -> Floats:
        """The numbers in the order of the fields: shape (fields, scale groups)."""
        held = [getattr(self, item.name) for item in fields(self)]
        return np.array([np.broadcast_to(value, self.score_scale.shape) for value in held])

    def by_effect(self, group: NDArray[np.int64]) -> dict[str, Floats | float]:
        """Each prior by name: those in native units for every effect, given its scale group."""
        held = asdict(self)
        return {name: held[name][group] if name in NATIVE else held[name] for name in held}


def resolve(given: PriorSpec, location: ArrayLike, scale: ArrayLike) -> Priors:
    """Fill in defaults from the location and scale of the scores.

    Parameters
    ----------
    given : PriorSpec
        Overrides; None takes the default.
    location, scale : float or array of shape (scale groups,)
        Recorded from the data, in native units.

    Returns
    -------
    Priors

    Raises
    ------
    SpecError
        If there are several scale groups and a prior in native units is given: one number cannot
        hold on scales that nothing links.

    Examples
    --------
    >>> resolve(PriorSpec(tau_sd=0.1), location=0.0, scale=2.0).effect_sd
    array([2.])
    """
    recorded = np.atleast_1d(np.asarray(scale, dtype=float))
    declared = [name for name in NATIVE if getattr(given, name) is not None]
    if declared and len(recorded) > 1:
        msg = (
            f"[priors] {', '.join(declared)}: one number in native units for {len(recorded)} scale "
            f"groups ([data] scale); leave it out, and each group has a multiple of its own scale"
        )
        raise SpecError([msg])
    unit = recorded if given.score_scale is None else np.array([given.score_scale])

    def native(value: float | None, default: ArrayLike) -> Floats:
        return np.atleast_1d(np.asarray(default if value is None else value, dtype=float))

    def number(value: float | None, default: float) -> float:
        return default if value is None else float(value)

    return Priors(
        score_location=native(given.score_location, location),
        score_scale=unit,
        intercept_sd=native(given.intercept_sd, 5 * unit),
        effect_sd=native(given.effect_sd, unit),
        tau_sd=number(given.tau_sd, 0.5),
        unit_sd=native(given.unit_sd, unit),
        retry_sd=native(given.retry_sd, unit),
        stratum_scale_sd=number(given.stratum_scale_sd, 0.5),
        lkj_eta=number(given.lkj_eta, 1.0),
        nu_mean=number(given.nu_mean, 22.0),
    )
