"""The values that an estimand counts: one group of transitions, or the two of a group contrast.

Invariant: a transition counts when the contrast's whole support is complete in the waves that are
named and its attributes are those asked for; nothing else leaves the count, and what the
attributes leave out is said. Pinned by `tests/test_parts.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design.cohort import Sample
from fourcorner.errors import ContrastError
from fourcorner.estimands import Estimand
from fourcorner.sections import canonical, nearest

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

COHORT = "the cohort"


@dataclass(frozen=True)
class Part:
    """Values of one group, each with its unit.

    Attributes
    ----------
    sign : {1, -1}
        How the group enters the estimand.
    group : str
        In words: ``"the cohort"``, or ``"artifact = true"``.
    values : ndarray of shape (items,)
        Finite; one for each transition, or for each unit where units count alike. Of a share, 1
        where negative.
    unit : ndarray of shape (items,)
        Codes.
    transitions : ndarray of shape (transitions of the sample,)
        Those that count.
    negative : int
        Transitions with a contrast below zero.
    """

    sign: int
    group: str
    values: Floats
    unit: NDArray[np.int64]
    transitions: Mask
    negative: int

    def sums(self, units: int) -> Floats:
        """Sum of each unit's values: shape (units,)."""
        return np.bincount(self.unit, self.values, minlength=units)

    def counts(self, units: int) -> Floats:
        """Number of each unit's values: shape (units,)."""
        return np.bincount(self.unit, minlength=units).astype(float)

    def sizes(self, data: Sample) -> NDArray[np.int64]:
        """Units that count, in each stratum: shape (strata,)."""
        return np.bincount(
            data.stratum[np.flatnonzero(self.counts(data.units))], minlength=len(data.strata)
        )


def is_share(estimand: Estimand) -> bool:
    """Whether the statistic is the share of negative values."""
    return estimand.statistic == names.NEGATIVE_SHARE


def parts(data: Sample, estimand: Estimand, values: Floats) -> tuple[Part, ...]:
    """Split contrast values into the groups that the estimand compares.

    Parameters
    ----------
    data : Sample
    estimand : Estimand
        With levels that are there, see `check_levels`.
    values : ndarray of shape (transitions,)
        Of its contrast; NaN where incomplete.

    Returns
    -------
    tuple of Part
        One, or for a group contrast the first group (sign -1) and the second (sign +1).
    """
    inside = np.isfinite(values) & selected(data, estimand)
    if estimand.between is None:
        return (_part(data, estimand, values, inside, 1, COHORT),)
    attribute, *levels = estimand.between
    found = held(data, attribute)
    return tuple(
        _part(
            data,
            estimand,
            values,
            inside & (found == canonical(level)),
            sign,
            f"{attribute} = {canonical(level)}",
        )
        for sign, level in zip((-1, 1), levels, strict=True)
    )


def selected(data: Sample, estimand: Estimand) -> Mask:
    """Which transitions have the attributes that `where` asks for."""
    kept = np.ones(len(data.unit), dtype=bool)
    for attribute, levels in estimand.where.items():
        kept &= np.isin(held(data, attribute), [canonical(level) for level in levels])
    return kept


def compared(data: Sample, estimand: Estimand) -> Mask:
    """Which transitions are asked for: those of `where`, in one of the groups of `between`."""
    kept = selected(data, estimand)
    if estimand.between is None:
        return kept
    attribute, *levels = estimand.between
    return kept & np.isin(held(data, attribute), [canonical(level) for level in levels])


def left_out(data: Sample, estimand: Estimand, values: Floats) -> Iterator[str]:
    """What the attributes leave out of the complete transitions, in words."""
    complete, kept = np.isfinite(values), selected(data, estimand)
    if estimand.where:
        asked = [
            f"{name} = {' or '.join(map(canonical, levels))}"
            for name, levels in estimand.where.items()
        ]
        yield (
            f"{int((complete & kept).sum())} of {int(complete.sum())} complete transitions have "
            f"{' and '.join(asked)}"
        )
    if estimand.between is not None:
        attribute = estimand.between[0]
        other = complete & kept & ~compared(data, estimand)
        if other.any():
            yield f"{int(other.sum())} complete transitions have another {attribute} or none"


def held(data: Sample, attribute: str) -> NDArray[np.str_]:
    """Each transition's level of an attribute; empty where it has none."""
    return np.asarray(data.scores[attribute].values.astype(str))


def check_levels(data: Sample, estimands: Sequence[Estimand]) -> None:
    """What estimands ask of attributes is there; every fault in one error.

    Raises
    ------
    ContrastError
        If a `where`, `between` or outcome names an attribute or level that the table does not
        have; each names its estimand, or its family.
    """
    faults = dict.fromkeys(fault for estimand in estimands for fault in _unfit(data, estimand))
    if faults:
        raise ContrastError("\n".join(faults))


def _unfit(data: Sample, estimand: Estimand) -> Iterator[str]:
    """What an estimand asks of attributes that is not there."""
    asked = [("where", attribute, levels) for attribute, levels in estimand.where.items()]
    if estimand.between is not None:
        asked.append(("between", estimand.between[0], estimand.between[1:]))
    if estimand.measure is not None and estimand.measure.outcome is not None:
        attribute, level = estimand.measure.outcome
        asked.append(("outcome", attribute, (level,)))
    for key, attribute, levels in asked:
        whose = f"{estimand.family or estimand.name}: {key}"
        if attribute not in data.levels:
            near = nearest(attribute, data.levels)
            listed = ", ".join(data.levels) or "none; declare [data] attributes"
            yield f"{whose}: no attribute {attribute!r}{near}; there are: {listed}"
            continue
        known = data.levels[attribute]
        for level in (level for level in map(canonical, levels) if level not in known):
            yield (
                f"{whose}: no transition has {attribute} = {level!r}{nearest(level, known)}; its "
                f"levels are {list(known)}"
            )


def _part(
    data: Sample, estimand: Estimand, values: Floats, inside: Mask, sign: int, group: str
) -> Part:
    taken, unit = values[inside], data.unit[inside]
    negative = int((taken < 0).sum())
    if is_share(estimand):
        taken = (taken < 0).astype(float)
    if estimand.weight_by == names.BY_UNIT:
        counts = np.bincount(unit, minlength=data.units)
        sums = np.bincount(unit, taken, minlength=data.units)
        unit = np.flatnonzero(counts)
        taken = sums[unit] / counts[unit]
    return Part(sign, group, taken, unit, inside, negative)
