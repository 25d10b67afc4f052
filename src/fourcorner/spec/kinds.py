"""The kinds of an estimand, and what an entry of each holds in a spec.

A kind is an entry of `KINDS`; how its rows are built is in `fourcorner.estimands.declared`, and how
it is called on a page in `fourcorner.report.meaning`, under the same name.

Invariant: every kind has its entry in each of the three. Pinned by `tests/test_families.py`.
"""

from dataclasses import dataclass

from fourcorner import names

STATE, STATISTIC, OUTCOME, DEAD_ZONES = "state", "statistic", "outcome", "dead_zones"
OWN_KEYS = (OUTCOME, STATE, DEAD_ZONES, STATISTIC)  # keys that not every kind takes


@dataclass(frozen=True)
class Kind:
    """What an entry of a kind holds.

    Attributes
    ----------
    takes : tuple of str
        Which of `OWN_KEYS` go with it.
    needs : tuple of str
        Which of them it cannot do without.
    levels : int
        How many levels it names of each factor: one, or two, second minus first.
    of_others : bool
        Whether it is made of other estimands, and has their channels and transitions.
    measured : bool
        Whether something else than its contrast is taken of each transition.
    family : bool
        Whether it stands for several rows of the same transitions, each called NAME.<row>.
    options : bool
        Whether it needs the score of every candidate.
    unchanged : bool
        Whether scores without a change have it.
    by_unit : bool
        Whether units can count alike in it, whatever their number of transitions.
    statistic : str
        Of its values, where `takes` leaves no choice.
    """

    takes: tuple[str, ...] = (STATISTIC,)
    needs: tuple[str, ...] = ()
    levels: int = 2
    of_others: bool = False
    measured: bool = False
    family: bool = False
    options: bool = False
    unchanged: bool = False
    by_unit: bool = True
    statistic: str = names.MEAN


KINDS: dict[str, Kind] = {
    names.GAIN: Kind(levels=1),
    names.OMEGA: Kind(),
    names.ENDPOINT_SHIFT: Kind(takes=(STATE, STATISTIC), needs=(STATE,)),
    names.DIAGONAL: Kind(),
    names.ALLOCATION: Kind(takes=(STATE, STATISTIC)),
    names.SIGNS: Kind(takes=(DEAD_ZONES,), measured=True, family=True),
    names.AUC: Kind(
        takes=(OUTCOME, STATE), needs=(OUTCOME,), measured=True, family=True, by_unit=False
    ),
    names.BELIEFS: Kind(takes=(), levels=1, measured=True, family=True, options=True),
    names.BENCHMARK: Kind(takes=(), measured=True, family=True, by_unit=False),
    names.AGREEMENT: Kind(takes=(STATE,), measured=True, unchanged=True, statistic=names.RATE),
    names.DIFFERENCE: Kind(of_others=True),
}


def having(key: str) -> tuple[str, ...]:
    """The kinds that a key of `OWN_KEYS` goes with."""
    return tuple(name for name, kind in KINDS.items() if key in kind.takes)
