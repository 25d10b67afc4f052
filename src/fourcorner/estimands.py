"""Estimands: a named contrast, the statistic asked of it and whom it is about.

Invariant: what a spec declares and what Python builds are the same `Contrast` objects, and a
description leaves nothing out that changes the value. Pinned by `tests/test_estimands.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from fourcorner import contrasts, measures, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError, SpecError
from fourcorner.measures import Measure
from fourcorner.sections import canonical, nearest
from fourcorner.spec import EstimandSpec, Spec
from fourcorner.spec.differences import build_order
from fourcorner.spec.subsets import COUNTED_BY

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
        What is taken of each transition in place of the contrast, a difference of two gains; None
        for the contrast itself. It decides the statistic, a mean or a rate.

    Raises
    ------
    ContrastError
        If the statistic or `weight_by` is none of these, `between` is no attribute with two
        different levels, or `where` names the attribute of `between`, no level, or one twice.

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

    def __post_init__(self) -> None:
        own = names.STATISTICS if self.measure is None else (self.measure.statistic,)
        _check_choice(self.name, "statistic", self.statistic, own)
        _check_choice(self.name, "weight_by", self.weight_by, COUNTED_BY)
        where = {
            attribute: _levels(self.name, attribute, given)
            for attribute, given in self.where.items()
        }
        object.__setattr__(self, "where", where)
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
        return own if own is None or self.between is None else (-1.0, 1.0)

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
            of = " and ".join(gain.name for gain in self.contrast.parts)
            return "; ".join([f"{self.measure.description}: {of}", *modifiers(self)])
        statistic = self.statistic.replace("_", " ")
        of = "" if self.statistic == names.MEAN else f"{statistic} of "
        mixed = self.contrast.kind == contrasts.ALLOCATION and not self.contrast.cancels_offsets
        offsets = ["an offset of a whole channel does not cancel"] if mixed else []
        return "; ".join([f"{of}{self.contrast.name}", *offsets, *modifiers(self)])


def modifiers(asked: "Estimand | EstimandSpec") -> list[str]:
    """Whom an estimand is about, in words; nothing for everybody in every wave.

    Parameters
    ----------
    asked : Estimand or EstimandSpec

    Returns
    -------
    list of str
        Of `between`, `where`, `wave` and `weight_by`, those that are not the default.
    """
    said = []
    if asked.between is not None:
        attribute, first, second = asked.between
        said.append(f"where {attribute} = {second} minus where {attribute} = {first}")
    said += [f"where {name} = {' or '.join(levels)}" for name, levels in asked.where.items()]
    if asked.wave:
        said.append(
            f"in the wave {asked.wave[0]}" if len(asked.wave) == 1 else _several(asked.wave)
        )
    if asked.weight_by == names.BY_UNIT:
        said.append(UNITS_ALIKE)
    return said


def _several(waves: tuple[str, ...]) -> str:
    return f"averaged over the waves {', '.join(waves[:-1])} and {waves[-1]}"


def _check_choice(name: str, key: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        near = nearest(given, choices) if isinstance(given, str) else ""
        msg = f"{name}: {key} = {given!r}{near}; expected one of {', '.join(choices)}"
        raise ContrastError(msg)


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


def signs(
    name: str,
    first: Contrast,
    second: Contrast,
    *,
    dead_zones: Sequence[float] = measures.DEAD_ZONES,
    repeated: bool = True,
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """Sign stability of two channels: how often their gains have opposite signs.

    Parameters
    ----------
    name : str
        Rows are called ``name.cross_channel`` and so on; see `fourcorner.measures`.
    first, second : Contrast
        A gain in each channel.
    dead_zones : sequence of float
        Gains must be further from zero than this to count; native units.
    repeated : bool
        Whether the scores have several waves of one session: without them there is no row of
        retries.
    **about
        `between`, `where`, `wave`, `weight_by` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> asked = signs("stable", gain(view="direct"), gain(view="generated"), repeated=False)
    >>> asked["stable.cross_channel"].description
    'the gains have opposite signs: gain(direct) and gain(generated)'
    """
    _check_zones(name, dead_zones)
    both = second - first
    return {
        f"{name}.{row}": Estimand(
            f"{name}.{row}", both, measure.statistic, measure=measure, **about
        )
        for row, measure in measures.signs(dead_zones, repeated=repeated).items()
    }


def _check_zones(name: str, zones: Sequence[float]) -> None:
    fit = all(isinstance(zone, int | float) and 0 < zone < math.inf for zone in zones)
    if not fit or len(set(zones)) < len(zones):
        raise ContrastError(f"{name}: dead_zones = {zones!r}; expected numbers above 0, each once")


def as_estimands(asked: Spec | Contrast | Mapping[str, Contrast | Estimand]) -> dict[str, Estimand]:
    """Read whatever a caller asks for as named estimands, in the order given.

    Parameters
    ----------
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
        A mapping's key is the estimand's name.

    Returns
    -------
    dict of str to Estimand

    Raises
    ------
    ContrastError
        If it is none of these.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> as_estimands({"direct": gain(view="direct")})["direct"].statistic
    'mean'
    """
    match asked:
        case Spec():
            return _from_spec(asked)
        case Contrast():
            return {asked.name: Estimand(asked.name, asked)}
        case Mapping():
            return {name: _named(name, item) for name, item in asked.items()}
    return _refuse("asked", asked)


def _named(name: str, item: Contrast | Estimand) -> Estimand:
    match item:
        case Estimand():
            return replace(item, name=name)
        case Contrast():
            return Estimand(name, item)
    return _refuse(f"asked[{name!r}]", item)


def _refuse(what: str, got: object) -> NoReturn:
    msg = f"{what} = {got!r}: expected a spec, a contrast, or a mapping of names to contrasts"
    raise ContrastError(msg)


def _from_spec(spec: Spec) -> dict[str, Estimand]:
    built: dict[str, Contrast] = {}
    for name in build_order(spec.estimands):
        declared = spec.estimands[name]
        if declared.is_family:
            continue
        if declared.difference is None:
            built[name] = _declared(declared, spec).renamed(name)
        else:
            first, second = (built[part] for part in declared.difference)
            built[name] = (second - first).renamed(name)
    found: dict[str, Estimand] = {}
    for name, declared in spec.estimands.items():
        about = _about(declared, spec)
        if declared.is_family:
            rows = _family(name, declared, spec, about)
        else:
            rows = {name: Estimand(name, built[name], declared.statistic, **about)}
        for twice in rows.keys() & (found.keys() | spec.estimands.keys() - {name}):
            raise SpecError(
                [f"[estimands] {name}: its row {twice!r} is an estimand too; rename one"]
            )
        found |= rows
    return found


def _about(declared: EstimandSpec, spec: Spec) -> dict[str, Any]:
    """Whom an estimand is about."""
    return {
        "between": declared.between,
        "where": {_coordinate(key, spec): levels for key, levels in declared.where.items()},
        "wave": declared.wave,
        "weight_by": declared.weight_by,
    }


def _family(
    name: str, declared: EstimandSpec, spec: Spec, about: Mapping[str, Any]
) -> dict[str, Estimand]:
    """The rows of an estimand that stands for several."""
    over = _over(declared, spec)
    first, second = (
        contrasts.gain(at={**over, **{factor: pair[i] for factor, pair in declared.levels.items()}})
        for i in (0, 1)
    )
    zones = measures.DEAD_ZONES if declared.dead_zones is None else declared.dead_zones
    waves = declared.wave or spec.data.replicate.get(names.WAVE, ())
    return signs(name, first, second, dead_zones=zones, repeated=len(waves) > 1, **about)


def _coordinate(column: str, spec: Spec) -> str:
    """Coordinate of the scores that holds an attribute or the stratum."""
    return names.STRATUM if column == spec.data.stratum else column


def _over(declared: EstimandSpec, spec: Spec) -> dict[str, Sequence[str]]:
    """The channel factors that are fixed or averaged, with their levels."""
    averaged = {factor: spec.data.channel[factor] for factor in declared.average_over}
    return {**declared.at, **averaged}


def _declared(declared: EstimandSpec, spec: Spec) -> Contrast:
    over = _over(declared, spec)
    match declared.kind:
        case "gain":
            return contrasts.gain(at={**declared.levels, **over})
        case "omega":
            return contrasts.omega(at=over, **declared.levels)
        case "diagonal":
            return contrasts.diagonal(at=over, **declared.levels)
        case "allocation":
            pairs = {f: pair for f, pair in declared.levels.items() if f != names.STATE}
            shares = contrasts.shapley(state=declared.state, at=over, **pairs)
            return shares[declared.factor or ""]
        case _:
            return contrasts.endpoint_shift(declared.state or "", at=over, **declared.levels)
