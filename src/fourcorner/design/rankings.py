"""Rankings in each draw: of one group, or of the second less the first.

Invariant: both terms of a difference see the same draws, so it is paired. Pinned by
`tests/test_auc.py` and `tests/test_benchmark.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design.auc import aucs
from fourcorner.design.cohort import Sample
from fourcorner.design.discordance import discordances
from fourcorner.design.parts import Part, held
from fourcorner.estimands import Estimand

Floats = NDArray[np.float64]
Drawn = Callable[[Floats], Floats]  # from multiplicities of shape (draws, units)

CHANNELS = {
    names.AUC_FIRST: {0: 1},
    names.AUC_SECOND: {1: 1},
    names.AUC_DIFFERENCE: {0: -1, 1: 1},
}


def ranked(data: Sample, estimand: Estimand, groups: Sequence[Part], scores: Floats) -> Drawn:
    """Prepare a ranking of resampled units.

    Parameters
    ----------
    data : Sample
    estimand : Estimand
        An AUC or a discordance.
    groups : sequence of Part
    scores : ndarray of shape (transitions, channels)
        What is ranked: scores in two channels, of a discordance those before and then those after.
    """
    rule = _discordances if estimand.statistic == names.DISCORDANCE else _aucs
    terms = [
        (part.sign * sign, of)
        for part in groups
        for sign, of in rule(data, estimand, part, scores[part.transitions])
    ]
    return lambda multiplicity: np.sum([sign * of(multiplicity) for sign, of in terms], axis=0)


def _aucs(data: Sample, estimand: Estimand, part: Part, scores: Floats) -> list[tuple[int, Drawn]]:
    """An AUC of one channel, or those of both that a difference takes, with their signs."""
    assert estimand.measure is not None
    assert estimand.measure.outcome is not None
    attribute, level = estimand.measure.outcome
    outcome = (held(data, attribute) == level)[part.transitions]
    unit = data.unit[part.transitions]
    return [
        (sign, aucs(scores[:, channel], outcome, unit, data.units))
        for channel, sign in CHANNELS[estimand.measure.kind].items()
    ]


def _discordances(
    data: Sample,
    estimand: Estimand,  # noqa: ARG001 - as of an AUC
    part: Part,
    scores: Floats,
) -> list[tuple[int, Drawn]]:
    """Share of pairs of endpoints in opposite orders, those before and after together."""
    first, second = (np.concatenate([scores[:, side], scores[:, 2 + side]]) for side in (0, 1))
    return [(1, discordances(first, second, np.tile(data.unit[part.transitions], 2), data.units))]
