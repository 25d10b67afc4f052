"""What is taken of each transition in place of its contrast: the sign stability of two channels.

A family is several measures of the same transitions, so its rows share their cohort. Signs are
those of two gains over the waves of one session:

- ``cross_channel``: share of wave pairings in which the gains have opposite signs, and in each
  orientation (``+-``: the first positive, the second negative);
- ``same_channel``: share of pairs of waves in which a channel contradicts itself, and ``excess``,
  by how much the first is more than that;
- ``persistent``: all pairings disagree, with one orientation;
- ``zero``: some gain is exactly zero, so that it has no sign;
- ``beyond``: opposite signs in one wave, both gains further from zero than a dead zone.

Invariant: a measure is a number for each transition, whose mean is the estimate, so weights,
intervals and breakdowns are those of any mean. Pinned by `tests/test_signs.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names

MEANS = {
    names.FIRST_GAIN: "mean of the first gain",
    names.SECOND_GAIN: "mean of the second gain",
    names.OMEGA: "mean of the second gain less the first",
}
ONE_WAVE = {
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
SIGNS = {**MEANS, **ONE_WAVE, **RETRIES, **DISTANT}

DEAD_ZONES = (0.05, 0.10, 0.20)


@dataclass(frozen=True)
class Measure:
    """A number taken of each transition.

    Attributes
    ----------
    kind : str
        One of `SIGNS`, which say it in words.
    zone : float
        Of ``beyond``: how far from zero both gains must be, native units.
    """

    kind: str
    zone: float = 0.0

    @property
    def statistic(self) -> str:
        """``"rate"`` where a transition has a share, otherwise ``"mean"``."""
        return names.MEAN if self.kind in MEANS else names.RATE

    @property
    def limits(self) -> tuple[float, float] | None:
        """What its mean can be at least and at most; None for a number of native units."""
        if self.statistic == names.MEAN:
            return None
        return (-1.0, 1.0) if self.kind == names.EXCESS else (0.0, 1.0)

    @property
    def description(self) -> str:
        """What is counted, in words."""
        words = SIGNS[self.kind]
        return f"{words} {self.zone:g}" if self.kind in DISTANT else words


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
    kinds = (*MEANS, *ONE_WAVE, *(RETRIES if repeated else ()))
    return {
        **{kind: Measure(kind) for kind in kinds},
        **{f"{names.BEYOND}_{zone:g}": Measure(names.BEYOND, zone) for zone in zones},
    }
