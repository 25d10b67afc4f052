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

A benchmark compares two views of the same states: ``shift.before`` and ``shift.after`` are mean
differences of their scores, ``gain_difference`` is that of their gains, ``discordant`` the share of
pairs of endpoints that they rank in opposite orders, and ``distance`` the energy distance of their
laws of responses, retry noise subtracted.

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

Limits = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """What every measure of a kind is.

    Attributes
    ----------
    words : str
        What is counted.
    statistic : {"mean", "rate", "auc"}
        ``rate`` where a transition has a share, ``auc`` of a ranking.
    limits : (float, float) or None
        What its mean can be at least and at most; None for a number of native units.
    """

    words: str
    statistic: str = names.RATE
    limits: Limits | None = (0.0, 1.0)


def _mean(words: str, limits: Limits | None = None) -> Row:
    return Row(words, names.MEAN, limits)


MEANS = {
    names.FIRST_GAIN: _mean("mean of the first gain"),
    names.SECOND_GAIN: _mean("mean of the second gain"),
    names.OMEGA: _mean("mean of the second gain less the first"),
}
WITHOUT_RETRIES = {
    names.CROSS_CHANNEL: Row("the gains have opposite signs"),
    names.CROSS_CHANNEL_DOWN: Row("the first gain is positive, the second negative"),
    names.CROSS_CHANNEL_UP: Row("the first gain is negative, the second positive"),
    names.ZERO: Row("a gain is exactly zero"),
}
RETRIES = {
    names.SAME_CHANNEL: Row("a gain has another sign in a retry"),
    names.EXCESS: Row(
        "the gains have opposite signs, less how often one has another in a retry",
        limits=(-1.0, 1.0),
    ),
    names.PERSISTENT: Row("the gains have opposite signs in all pairings of waves, one way round"),
    names.PERSISTENT_DOWN: Row(
        "the first gain is positive and the second negative in all waves",
    ),
    names.PERSISTENT_UP: Row("the first gain is negative and the second positive in all waves"),
}
DISTANT = {
    names.BEYOND: Row("the gains have opposite signs in one wave, both further from zero than"),
}
SIGNS = {**MEANS, **WITHOUT_RETRIES, **RETRIES, **DISTANT}

AUC_ROWS = {
    names.AUC_FIRST: Row("AUC of the first channel's ranking of an outcome", names.AUC),
    names.AUC_SECOND: Row("AUC of the second channel's ranking of an outcome", names.AUC),
    names.AUC_DIFFERENCE: Row(
        "AUC of the second channel's ranking of an outcome less the first's",
        names.AUC,
        (-1.0, 1.0),
    ),
}

BELIEFS = {
    names.ENTROPY_MOVEMENT: _mean("entropy of the belief after less that before"),
    names.SURPRISE: _mean("divergence of the belief after from that before", (0.0, math.inf)),
    names.MARGIN_GAIN: _mean("mean gain of the transitions with beliefs"),
    names.PIVOT: Row("another candidate is alone on top after than before"),
    names.DAMAGE: Row("the target is alone on top before, below another candidate after"),
    names.REPAIR: Row("the target is below another candidate before, alone on top after"),
}

BENCHMARK = {
    names.BEFORE_SHIFT: _mean("mean shift of the score before"),
    names.AFTER_SHIFT: _mean("mean shift of the score after"),
    names.GAIN_DIFFERENCE: _mean("mean difference of the gains"),
    names.DISCORDANT: Row("share of pairs of endpoints in opposite orders", names.DISCORDANCE),
}
BENCHMARK_RETRIES = {
    names.DISTANCE: _mean("energy distance of the response laws beyond retry noise"),
}

FAMILIES = {
    names.SIGNS: SIGNS,
    names.AUC: AUC_ROWS,
    names.BELIEFS: BELIEFS,
    names.BENCHMARK: {**BENCHMARK, **BENCHMARK_RETRIES},
    names.AGREEMENT: {names.AGREEMENT: Row("agree")},
}
KINDS = {kind: row for rows in FAMILIES.values() for kind, row in rows.items()}
FAMILY_OF = {kind: family for family, rows in FAMILIES.items() for kind in rows}
SUBJECTS = {names.AUC: "ranks"}  # of a family that is not called by its subject

DEAD_ZONES = (0.05, 0.10, 0.20)


@dataclass(frozen=True)
class Measure:
    """A number taken of each transition.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
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
    def family(self) -> str:
        """The kind of estimand that has it among its rows."""
        return FAMILY_OF[self.kind]

    @property
    def of_retries(self) -> bool:
        """Whether it compares waves, so that one says nothing."""
        return self.kind in RETRIES or self.kind in BENCHMARK_RETRIES

    @property
    def statistic(self) -> str:
        """``"auc"`` of a ranking, ``"rate"`` where a transition has a share, else ``"mean"``."""
        return KINDS[self.kind].statistic

    @property
    def limits(self) -> Limits | None:
        """What its mean can be at least and at most; None for a number of native units."""
        return KINDS[self.kind].limits

    @property
    def subject(self) -> str:
        """What it is about, in a word."""
        return SUBJECTS.get(self.family, self.family)

    @property
    def description(self) -> str:
        """What is counted, in words."""
        words = KINDS[self.kind].words
        if self.outcome is not None:
            return f"{words}, {self.outcome[0]} = {self.outcome[1]}"
        if self.compared:
            factor, *pair = self.compared
            whose = f"{pair[0]} and {pair[1]}" if pair else f"all levels of {factor}"
            return f"{whose} {words}"
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


def benchmark(*, repeated: bool = True) -> dict[str, Measure]:
    """Measures of how far two views are from being answered alike, by row.

    Examples
    --------
    >>> list(benchmark(repeated=False))
    ['shift.before', 'shift.after', 'gain_difference', 'discordant']
    """
    kinds = (*BENCHMARK, *(BENCHMARK_RETRIES if repeated else ()))
    return {kind: Measure(kind) for kind in kinds}


def _text(zone: float) -> str:
    """A dead zone as a name has it: two that differ have two texts."""
    return repr(float(zone)).removesuffix(".0")
