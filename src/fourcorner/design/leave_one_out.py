"""How far one unit can move an estimate: its range when each is left out in turn.

Only the means of the unit's own stratum and of the whole cohort change, and they are the same under
every mixture, so an estimand is gone through once and memory does not grow with the strata.

Invariant: a value is the estimate of the table without that unit. Pinned by
`tests/test_breakdowns.py`.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from fourcorner import names
from fourcorner.design import means, refusals
from fourcorner.design.applied import Applied
from fourcorner.design.cases import population
from fourcorner.design.cohort import Sample
from fourcorner.design.means import Centred
from fourcorner.design.options import Options
from fourcorner.design.parts import Floats, parts
from fourcorner.estimands import Estimand
from fourcorner.results import Breakdown
from fourcorner.weights import TargetWeights

KIND = "none"


def leave_one_out(
    data: Sample,
    estimand: Estimand,
    applied: Applied,
    weights: Sequence[TargetWeights],
    options: Options,
) -> Iterator[Breakdown]:
    """The least and the greatest estimate without one unit, under every mixture.

    Parameters
    ----------
    data : Sample
    estimand : Estimand
        A mean or a share.
    applied : Applied
        Its contrast, applied to the sample.
    weights : sequence of TargetWeights
    options : Options
        The rows have no intervals; level and plan say what they stand beside.

    Yields
    ------
    Breakdown
        Two rows for each mixture, each naming the unit that is left out; one without a value where
        none can be; nothing where the estimand is refused.
    """
    if applied.refused:
        return
    groups = parts(data, estimand, applied.values)
    about = means.centred(data, groups)
    counted = (about.counts > 0).any(axis=1)
    pooled, strata = _moved(data, about)
    used = np.any([part.transitions for part in groups], axis=0)
    transitions = np.bincount(data.unit[used], minlength=data.units)

    def row(mixture: TargetWeights, left: Floats, unit: int | None, note: str) -> Breakdown:
        alone = int((counted & ~np.isfinite(left)).sum())
        lost = f"{alone} unit(s) cannot be left out: each is alone in a needed stratum"
        return Breakdown(
            name=estimand.name,
            statistic=estimand.statistic,
            weights=mixture.name,
            population=population(mixture, options.resampling),
            cohort=data.cohort,
            by=names.LEAVE_ONE_OUT,
            level="" if unit is None else _id(data, unit),
            value=None if unit is None else float(left[unit]),
            interval=None,
            interval_kind=KIND,
            interval_level=options.level,
            units=int(counted.sum()) - (unit is not None),
            transitions=int(transitions.sum() - (0 if unit is None else transitions[unit])),
            notes=(note, *([lost] if alone else [])),
        )

    for mixture in weights:
        if refusals.of_mixture(data, estimand, groups, mixture):
            continue
        mix = means.mixing(mixture, about, names.PLAIN)
        moved = means.weighed(strata, mix.strata[data.stratum])
        if mix.pooled > 0:
            moved = moved + mix.pooled * pooled
        left = np.where(counted, means.estimate(about, mix) + moved @ about.sign, np.nan)
        if not np.isfinite(left).any():
            yield row(mixture, left, None, "no value: no unit can be left out")
            continue
        yield row(mixture, left, int(np.nanargmin(left)), "the least value without one unit")
        yield row(mixture, left, int(np.nanargmax(left)), "the greatest value without one unit")


def _moved(data: Sample, about: Centred) -> tuple[Floats, Floats]:
    """Deviations of the pooled mean and of its own stratum's mean without each unit.

    Returns
    -------
    tuple of ndarray of shape (units, P)
        NaN where no value is left. Sums about a stratum's mean add up to nothing, so without a
        unit they are its own with the other sign.
    """
    own = about.means[data.stratum] - about.pooled
    return (
        _ratio(-about.sums - own * about.counts, about.numbers.sum(axis=0) - about.counts),
        _ratio(-about.sums, about.numbers[data.stratum] - about.counts),
    )


def _ratio(totals: Floats, numbers: Floats) -> Floats:
    return np.divide(totals, numbers, out=np.full_like(totals, np.nan), where=numbers > 0)


def _id(data: Sample, unit: int) -> str:
    return str(data.scores[names.UNIT].values[np.argmax(data.unit == unit)])
