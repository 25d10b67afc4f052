"""What is taken of each transition in place of its contrast: signs, ranks, beliefs, agreement.

A family is several measures of the same transitions, so its rows share their cohort. Signs are
those of two gains over the waves of one session:

- ``cross_channel``: share of wave pairings in which the gains have opposite signs, and in each
  orientation (``+-``: the first positive, the second negative);
- ``same_channel``: share of pairs of waves in which a channel contradicts itself, and ``excess``,
  by how much the first is more than that;
- ``persistent``: all pairings disagree, with one orientation;
- ``zero``: some gain is exactly zero, so that it has no sign;
- ``beyond``: opposite signs in one wave, both gains further from zero than a dead zone.

A belief is the softmax of an endpoint's option scores. Beliefs are those before and after in one
channel:

- ``entropy_movement``: H(after) - H(before), and ``surprise``: KL(after || before), both in nats;
- ``margin_gain``: the gain of the same transitions;
- ``pivot``: one candidate is alone on top before, another one after;
- ``damage``: the target's margin is above zero before and below it after; ``repair`` the reverse.

Agreement is the share of replicate settings in which scores are the same; see
`fourcorner.scores.agreement`.

Invariant: a measure is a number for each transition, whose mean is the estimate, so weights,
intervals and breakdowns are those of any mean. Pinned by `tests/test_signs.py`,
`tests/test_beliefs.py` and `tests/test_agreement.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names

MEANS = {
    names.FIRST_GAIN: "mean of the first gain",
    names.SECOND_GAIN: "mean of the second gain",
    names.OMEGA: "mean of the second gain less the first",
}
WITHOUT_RETRIES = {
    names.CROSS_CHANNEL: "the gains have opposite signs",
    names.CROSS_CHANNEL_DOWN: "the first gain is positive, the second negative",
    names.CROSS_CHANNEL_UP: "the first gain is negative, the second positive",
    names.ZERO: "a gain is exactly zero",
}
RETRIES = {
    names.SAME_CHANNEL: "a gain has another sign in a retry",
    names.EXCESS: "the gains have opposite signs, less how often one has another in a retry",
    names.PERSISTENT: "the gains have opposite signs in all pairings of waves, one way round",
    names.PERSISTENT_DOWN: "the first gain is positive and the second negative in all waves",
    names.PERSISTENT_UP: "the first gain is negative and the second positive in all waves",
}
DISTANT = {names.BEYOND: "the gains have opposite signs in one wave, both further from zero than"}
SIGNS = {**MEANS, **WITHOUT_RETRIES, **RETRIES, **DISTANT}

AUC_ROWS = {
    names.AUC_FIRST: "AUC of the first channel's ranking of an outcome",
    names.AUC_SECOND: "AUC of the second channel's ranking of an outcome",
    names.AUC_DIFFERENCE: "AUC of the second channel's ranking of an outcome less the first's",
}

MOVEMENTS = {
    names.ENTROPY_MOVEMENT: "entropy of the belief after less that before",
    names.SURPRISE: "divergence of the belief after from that before",
    names.MARGIN_GAIN: "mean gain of the transitions with beliefs",
}
EVENTS = {
    names.PIVOT: "another candidate is alone on top after than before",
    names.DAMAGE: "the target is alone on top before, below another candidate after",
    names.REPAIR: "the target is below another candidate before, alone on top after",
}
BELIEFS = {**MOVEMENTS, **EVENTS}
KINDS = (*SIGNS, *AUC_ROWS, *BELIEFS, names.AGREEMENT)

DEAD_ZONES = (0.05, 0.10, 0.20)


@dataclass(frozen=True)
class Measure:
    """A number taken of each transition.

    Attributes
    ----------
    kind : str
        One of `SIGNS`, `AUC_ROWS` or `BELIEFS`, which say it in words, or ``agreement``.
    zone : float
        Of ``beyond``: how far from zero both gains must be, native units.
    outcome : (attribute, level) or None
        Of an AUC: what the scores are to rank.
    compared : tuple of str
        Of an agreement: a replicate factor, or a channel factor and two of its levels.
    """

    kind: str
    zone: float = 0.0
    outcome: tuple[str, str] | None = None
    compared: tuple[str, ...] = ()

    @property
    def statistic(self) -> str:
        """``"auc"`` of a ranking, ``"rate"`` where a transition has a share, else ``"mean"``."""
        if self.kind in AUC_ROWS:
            return names.AUC
        return names.MEAN if self.kind in {*MEANS, *MOVEMENTS} else names.RATE

    @property
    def limits(self) -> tuple[float, float] | None:
        """What its mean can be at least and at most; None for a number of native units."""
        if self.kind == names.SURPRISE:
            return (0.0, math.inf)
        if self.statistic == names.MEAN:
            return None
        return (-1.0, 1.0) if self.kind in {names.EXCESS, names.AUC_DIFFERENCE} else (0.0, 1.0)

    @property
    def subject(self) -> str:
        """What it is about, in a word."""
        if self.kind == names.AGREEMENT:
            return self.kind
        if self.kind in BELIEFS:
            return "beliefs"
        return "ranks" if self.kind in AUC_ROWS else "signs"

    @property
    def description(self) -> str:
        """What is counted, in words."""
        if self.outcome is not None:
            return f"{AUC_ROWS[self.kind]}, {self.outcome[0]} = {self.outcome[1]}"
        if self.compared:
            factor, *pair = self.compared
            whose = f"{pair[0]} and {pair[1]}" if pair else f"all levels of {factor}"
            return f"{whose} agree"
        words = {**SIGNS, **BELIEFS}[self.kind]
        return f"{words} {_text(self.zone)}" if self.kind in DISTANT else words


def signs(zones: Sequence[float] = DEAD_ZONES, *, repeated: bool = True) -> dict[str, Measure]:
    """Measures of the signs of two gains, by row.

    Parameters
    ----------
    zones : sequence of float
        Dead zones, native units.
    repeated : bool
        Whether there are several waves, without which nothing is known of retries.

    Returns
    -------
    dict of name to Measure
        ``gain.first`` and ``gain.second`` are the mean gains of the same transitions and ``omega``
        their difference; ``beyond_0.05`` and the like have a dead zone.

    Examples
    --------
    >>> list(signs([0.1], repeated=False))[3:]
    ['cross_channel', 'cross_channel+-', 'cross_channel-+', 'zero', 'beyond_0.1']
    """
    kinds = (*MEANS, *WITHOUT_RETRIES, *(RETRIES if repeated else ()))
    return {
        **{kind: Measure(kind) for kind in kinds},
        **{f"{names.BEYOND}_{_text(zone)}": Measure(names.BEYOND, zone) for zone in zones},
    }


def _text(zone: float) -> str:
    """A dead zone as a name has it: two that differ have two texts."""
    return repr(float(zone)).removesuffix(".0")
