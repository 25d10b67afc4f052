"""Estimands: a named contrast, the statistic asked of it and whom it is about.

Invariant: what a spec declares and what Python builds are the same `Contrast` objects, and a
description leaves nothing out that changes the value. Pinned by `tests/test_estimands.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from fourcorner import contrasts, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError
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

    def __post_init__(self) -> None:
        _check_choice(self.name, "statistic", self.statistic, names.STATISTICS)
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
    def description(self) -> str:
        """What is measured, in words: the contrast, the statistic and whom it is about.

        Examples
        --------
        >>> from fourcorner.contrasts import gain
        >>> step = gain(view="direct")
        >>> Estimand("step", step, "median", where={"step_type": ("search",)}).description
        'median of gain(direct); where step_type = search'
        """
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
        if declared.difference is None:
            built[name] = _declared(declared, spec).renamed(name)
        else:
            first, second = (built[part] for part in declared.difference)
            built[name] = (second - first).renamed(name)
    return {
        name: Estimand(
            name,
            built[name],
            declared.statistic,
            declared.between,
            {_coordinate(key, spec): levels for key, levels in declared.where.items()},
            declared.wave,
            declared.weight_by,
        )
        for name, declared in spec.estimands.items()
    }


def _coordinate(column: str, spec: Spec) -> str:
    """Coordinate of the scores that holds an attribute or the stratum."""
    return names.STRATUM if column == spec.data.stratum else column


def _declared(declared: EstimandSpec, spec: Spec) -> Contrast:
    channel = spec.data.channel
    over = {**declared.at, **{factor: channel[factor] for factor in declared.average_over}}
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
