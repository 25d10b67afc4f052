"""What is estimated: a contrast, a statistic or measure of it, and whom it is about.

Invariant: a description leaves nothing out that changes the value. Pinned by
`tests/test_estimands.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fourcorner import measures, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError
from fourcorner.measures import Measure
from fourcorner.sections import canonical, nearest
from fourcorner.spec import EstimandSpec
from fourcorner.spec.kinds import KINDS
from fourcorner.spec.subsets import COUNTED_BY

OFFSETS = "an offset of a whole channel does not cancel"
UNITS_ALIKE = "every unit counts alike, whatever its number of transitions"


@dataclass(frozen=True)
class Estimand:
    """A contrast and a statistic of its values over transitions.

    Attributes
    ----------
    name : str
    contrast : Contrast
    statistic : {"mean", "median", "trimmed_mean", "negative_share"}
    between : (attribute, first, second) or None
        The statistic where the attribute has the second level, minus where it has the first.
    where : mapping of attribute, or ``stratum``, to a level or several
        The transitions that count; empty for all of them.
    wave : tuple of str
        The waves that are averaged; empty for all that are declared.
    weight_by : {"transition", "unit"}
        Whether every transition counts alike or every unit, its transitions sharing its weight.
    measure : Measure or None
        What is taken of each transition in place of the contrast; None
        for the contrast itself. It decides the statistic, a mean or a rate.
    family : str or None
        What the rows of several measures of the same transitions share of their names.

    Raises
    ------
    ContrastError
        If the statistic or `weight_by` is none of these, `between` is no attribute with two
        different levels, `where` names the attribute of `between`, no level, or one twice, or a
        measure of beliefs is asked of anything but a gain.

    Notes
    -----
    Levels are compared as canonical text and kept as that.
    """

    name: str
    contrast: Contrast
    statistic: str = names.MEAN
    between: tuple[str, str, str] | None = None
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wave: tuple[str, ...] = ()
    weight_by: str = names.BY_TRANSITION
    measure: Measure | None = None
    family: str | None = None

    def __post_init__(self) -> None:
        if self.measure is not None:
            _check_choice(self.name, "measure", self.measure.kind, tuple(measures.KINDS))
        own = names.STATISTICS if self.measure is None else (self.measure.statistic,)
        _check_choice(self.name, "statistic", self.statistic, own)
        _check_choice(self.name, "weight_by", self.weight_by, COUNTED_BY)
        where = {
            attribute: _levels(self.name, attribute, given)
            for attribute, given in self.where.items()
        }
        object.__setattr__(self, "where", where)
        if self.measure is not None:
            _check_measure(self.name, self.measure, self.contrast, self.weight_by)
        if self.wave:
            object.__setattr__(self, "wave", _levels(self.name, "wave", self.wave))
        if self.between is not None:
            object.__setattr__(self, "between", _groups(self.name, self.between, where))

    @property
    def limits(self) -> tuple[float, float] | None:
        """What its value can be at least and at most; None where it is in native units."""
        if self.measure is not None:
            own = self.measure.limits
        else:
            own = (0.0, 1.0) if self.statistic == names.NEGATIVE_SHARE else None
        if own is None or self.between is None:
            return own
        return own[0] - own[1], own[1] - own[0]

    @property
    def is_signed(self) -> bool:
        """Whether it could lie on either side of zero."""
        return self.limits is None or self.limits[0] < 0

    @property
    def description(self) -> str:
        """What is measured, in words: the contrast, the statistic and whom it is about.

        Examples
        --------
        >>> from fourcorner.contrasts import gain
        >>> step = gain(view="direct")
        >>> Estimand("step", step, "median", where={"step_type": ("search",)}).description
        'median of gain(direct); where step_type = search'
        """
        if self.measure is not None:
            of = " and ".join(gain.name for gain in self.contrast.parts or (self.contrast,))
            return "; ".join([f"{self.measure.description}: {of}", *modifiers(self)])
        statistic = self.statistic.replace("_", " ")
        of = "" if self.statistic == names.MEAN else f"{statistic} of "
        offsets = [] if self.contrast.cancels_offsets else [OFFSETS]
        return "; ".join([f"{of}{self.contrast.name}", *offsets, *modifiers(self)])


def modifiers(asked: "Estimand | EstimandSpec") -> list[str]:
    """Whom an estimand is about, in words; nothing for everybody in every wave.

    Parameters
    ----------
    asked : Estimand or EstimandSpec

    Returns
    -------
    list of str
        Of `between`, `where`, `wave` and `weight_by`, those that are not the default. A measure
        says itself what it does with several waves; a contrast is averaged over them.
    """
    said = []
    if asked.between is not None:
        attribute, first, second = asked.between
        said.append(f"where {attribute} = {second} minus where {attribute} = {first}")
    said += [f"where {name} = {' or '.join(levels)}" for name, levels in asked.where.items()]
    if asked.wave:
        said.append(_waves(asked))
    if asked.weight_by == names.BY_UNIT:
        said.append(UNITS_ALIKE)
    return said


def _waves(asked: "Estimand | EstimandSpec") -> str:
    *some, last = asked.wave
    if not some:
        return f"in the wave {last}"
    measured = asked.is_measured if isinstance(asked, EstimandSpec) else asked.measure is not None
    return f"{'' if measured else 'averaged '}over the waves {', '.join(some)} and {last}"


def _check_choice(name: str, key: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        near = nearest(given, choices) if isinstance(given, str) else ""
        msg = f"{name}: {key} = {given!r}{near}; expected one of {', '.join(choices)}"
        raise ContrastError(msg)


def _check_measure(name: str, measure: Measure, contrast: Contrast, weight_by: str) -> None:
    """A measure is one that there is, of a contrast that it can be taken of."""
    fits, wanted = TAKEN_OF.get(measure.family, (None, ""))
    if fits is not None and not fits(contrast, measure):
        got = f"got {contrast.name}, of kind {contrast.kind}"
        raise ContrastError(f"{name}: {wanted}; {got}")
    if weight_by == names.BY_UNIT and not KINDS[measure.family].by_unit:
        raise ContrastError(f"{name}: {measure.family} compares transitions; leave weight_by out")


def _is_of_two_gains(contrast: Contrast, _: Measure) -> bool:
    return [part.kind for part in contrast.parts] == [names.GAIN, names.GAIN]


def _is_gain(contrast: Contrast, _: Measure) -> bool:
    return contrast.kind == names.GAIN


def _is_of_two_endpoints(contrast: Contrast, measure: Measure) -> bool:
    shift = contrast.kind == names.ENDPOINT_SHIFT and len(contrast.parts) == 2
    return shift and measure.outcome is not None


def _is_of_two_shifts(contrast: Contrast, _: Measure) -> bool:
    """One endpoint shift, before and then after."""
    if [part.kind for part in contrast.parts] != [names.ENDPOINT_SHIFT] * 2:
        return False
    before, after = (
        {cell - {(names.STATE, state)}: weight for cell, weight in part.weights.items()}
        for state, part in zip(names.STATES, contrast.parts, strict=True)
    )
    return before == after


# What the measures of a family can be taken of, and what is said of anything else
TAKEN_OF: Mapping[str, tuple[Callable[[Contrast, Measure], bool], str]] = {
    names.SIGNS: (_is_of_two_gains, "signs are those of a difference of two gains"),
    names.BELIEFS: (_is_gain, "beliefs move within a gain"),
    names.BENCHMARK: (_is_of_two_shifts, "a benchmark takes one endpoint shift before and after"),
    names.AUC: (_is_of_two_endpoints, "an auc takes an endpoint shift and an outcome"),
}


def _levels(name: str, attribute: str, given: object) -> tuple[str, ...]:
    listed: Iterable[object] = (
        given if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    )
    levels = tuple(canonical(level) for level in listed)
    if not levels or len(set(levels)) < len(levels):
        msg = f"{name}: {attribute} = {given!r}; expected at least one level, and none twice"
        raise ContrastError(msg)
    return levels


def _groups(
    name: str, between: tuple[str, str, str], where: Mapping[str, tuple[str, ...]]
) -> tuple[str, str, str]:
    wanted = "expected (attribute, first, second), second minus first"
    if not isinstance(between, tuple) or len(between) != 3:
        raise ContrastError(f"{name}: between = {between!r}; {wanted}")
    attribute = between[0]
    first, second = (canonical(level) for level in between[1:])
    if first == second:
        raise ContrastError(f"{name}: between = {between!r} names one level twice; {wanted}")
    if attribute in where:
        msg = f"{name}: between and where both name {attribute!r}; leave it out of where"
        raise ContrastError(msg)
    return attribute, first, second


Estimands = Mapping[str, Estimand]
