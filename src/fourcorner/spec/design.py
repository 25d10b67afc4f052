"""[design] of a spec: how the design engine resamples and which intervals it gives.

Invariant: an option that is given is honoured or is a fault. Pinned by `tests/test_intervals.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names
from fourcorner.sections import Section, nearest, show

DRAWS = 10_000


@dataclass(frozen=True)
class DesignSpec:
    """Options of the design engine, by the names that `fourcorner.estimate` takes them.

    Attributes
    ----------
    draws : int
        Bootstrap draws, 100 or more.
    resampling : {"plain", "within_strata"}
        Units of the whole cohort, or of each stratum with its size fixed.
    interval : {"percentile", "rescaled", "bootstrap_t"} or None
        None for the default that `fourcorner.design.engine` documents.
    simultaneous : bool
        Max-t intervals that hold for all rows at once, in place of pointwise ones.
    """

    draws: int = DRAWS
    resampling: str = names.PLAIN
    interval: str | None = None
    simultaneous: bool = False


def read_design(section: Section) -> DesignSpec:
    """Options of the design engine."""
    draws = section.whole("draws", low=100)
    interval = _one_of(section, "interval", names.INTERVALS)
    simultaneous = section.raw.get("simultaneous", False)
    section.known.add("simultaneous")
    if not isinstance(simultaneous, bool):
        section.fault(f"simultaneous = {show(simultaneous)}: expected true or false")
    if simultaneous is True and interval is not None:
        section.fault(
            "simultaneous intervals are max-t, so interval has nothing to say; give one of them"
        )
    resampling = _one_of(section, "resampling", names.PLANS)
    section.finish()
    return DesignSpec(
        draws=DRAWS if draws is None else draws,
        resampling=resampling or names.PLAIN,
        interval=interval,
        simultaneous=simultaneous is True,
    )


def _one_of(section: Section, key: str, choices: Sequence[str]) -> str | None:
    word = section.text(key, required=False)
    if word is None or word in choices:
        return word
    section.fault(f"{key} = {show(word)}: expected {' or '.join(choices)}{nearest(word, choices)}")
    return None
