"""[estimands] of a spec: what is asked, as written.

Invariant: every channel factor of an estimand is moved, fixed or averaged, once; an allocation
is one estimand for each factor that it moves. Pinned by `tests/test_spec.py`.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fourcorner import names
from fourcorner.sections import Levels, Section, nearest, show
from fourcorner.spec.agreement import read_agreement
from fourcorner.spec.data import DataSpec
from fourcorner.spec.differences import link
from fourcorner.spec.kinds import KINDS, OUTCOME, OWN_KEYS, STATE, STATISTIC, having
from fourcorner.spec.subsets import SUBSET_KEYS, Subset, check_attribute, read_subset

CONTRASTED = tuple(name for name, kind in KINDS.items() if not kind.of_others)
MODIFIERS = {
    **dict.fromkeys(("at", "average_over"), CONTRASTED),
    **{key: having(key) for key in OWN_KEYS},
    **dict.fromkeys(SUBSET_KEYS, CONTRASTED),
}
TWO = "two levels, second minus first"


@dataclass(frozen=True)
class EstimandSpec:
    """One declared estimand, as written: see `fourcorner.estimands` for its meaning.

    Attributes
    ----------
    kind : str
    levels : mapping of factor to levels
        One level of each factor of a gain or of beliefs, otherwise a pair (first, second) for each
        factor that moves. In an allocation the change is one of them, under ``state``, unless held.
    at : mapping of factor to levels
    average_over : tuple of str
    state : {"before", "after"} or None
        Of an endpoint shift or an agreement; of an allocation, where the change is held.
    difference : (first, second) or None
    statistic : str
    factor : str or None
        Whose share of an allocation this is; the replicate factor whose levels agree or not.
    between, where, wave, weight_by
        As in `fourcorner.estimands.Estimand`; `where` names the stratum by its column. A
        difference has those of its parts.
    dead_zones : tuple of float or None
        Of signs; None for the usual ones.
    outcome : (attribute, level) or None
        Of an AUC.
    """

    kind: str
    levels: Mapping[str, Levels]
    at: Mapping[str, Levels]
    average_over: tuple[str, ...] = ()
    state: str | None = None
    difference: tuple[str, str] | None = None
    statistic: str = names.MEAN
    factor: str | None = None
    between: tuple[str, str, str] | None = None
    where: Mapping[str, Levels] = field(default_factory=dict)
    wave: Levels = ()
    weight_by: str = names.BY_TRANSITION
    dead_zones: tuple[float, ...] | None = None
    outcome: tuple[str, str] | None = None

    @property
    def is_measured(self) -> bool:
        """Whether something else than its contrast is taken of each transition."""
        return KINDS[self.kind].measured

    @property
    def is_family(self) -> bool:
        """Whether it stands for several rows, each called NAME.<row>."""
        return KINDS[self.kind].family


def read_estimands(section: Section, data: DataSpec | None) -> dict[str, EstimandSpec]:
    """Every declared estimand by name; an allocation NAME as one NAME.<factor> for each factor."""
    found: dict[str, EstimandSpec] = {}
    shares: dict[str, list[str]] = {}
    for name in section.raw:
        entry = section.section(name)
        declared = _estimand(entry, data)
        entry.finish()
        if not name.strip():
            section.fault("an estimand has an empty name; give it one")
        named = _shares(name, declared)
        if declared.kind == names.ALLOCATION:
            shares[name] = list(named)
        for twice in named.keys() & found.keys():
            section.fault(
                f"two estimands are called {twice!r}, one as the share of an allocation; rename one"
            )
        found |= named
    if section.there and not section.raw:
        section.fault("names no estimand; write one, e.g. omega = { omega = { view = [a, b] } }")
    return link(found, shares, section)


def _shares(name: str, declared: EstimandSpec) -> dict[str, EstimandSpec]:
    if declared.kind != names.ALLOCATION:
        return {name: declared}
    return {f"{name}.{factor}": replace(declared, factor=factor) for factor in declared.levels}


def _estimand(entry: Section, data: DataSpec | None) -> EstimandSpec:
    named = [kind for kind in KINDS if kind in entry.raw]
    entry.known.update((*KINDS, *MODIFIERS))
    if len(named) != 1:
        if entry.there:
            got = " and ".join(named) or "none"
            entry.fault(f"needs exactly one of {', '.join(KINDS)}; got {got}")
        return EstimandSpec(names.GAIN, {}, {})
    kind = named[0]
    rule = KINDS[kind]
    for key, takers in MODIFIERS.items():
        if key in entry.raw and kind not in takers:
            why = "; a difference has that of its two estimands" if key in SUBSET_KEYS else ""
            entry.fault(f"{key} does not go with {kind}, only with {', '.join(takers)}{why}")
    if data is not None and not data.has_change and not rule.unchanged:
        entry.fault(f"{kind} needs a [data] change; without one there are agreement rates alone")
    if entry.raw.get("weight_by") == names.BY_UNIT and not rule.by_unit:
        entry.fault(f"{kind} compares transitions; leave weight_by out")
    statistic = _statistic(entry) if STATISTIC in rule.takes else rule.statistic
    if rule.of_others:
        return EstimandSpec(kind, {}, {}, difference=_pair(entry), statistic=statistic)
    state = _state(entry, required=STATE in rule.needs)
    factor, levels = _moved(entry, kind, data, state)
    estimand = EstimandSpec(
        kind=kind,
        levels=levels,
        at=entry.levels("at"),
        average_over=entry.names("average_over"),
        state=state,
        statistic=statistic,
        factor=factor,
        dead_zones=_dead_zones(entry),
        outcome=_outcome(entry, data) if OUTCOME in rule.needs else None,
        **_fields(read_subset(entry, data)),
    )
    if data is not None:
        _check_factors(entry, estimand, data.channel)
        if rule.options and data.option_score is None:
            entry.fault(
                f"{kind} need the score of every candidate, and margins do not hold it: declare "
                f"option_score, candidate and target in [data]"
            )
    return estimand


def _moved(
    entry: Section, kind: str, data: DataSpec | None, state: str | None
) -> tuple[str | None, dict[str, Levels]]:
    """What is compared: a replicate factor, or levels of channel factors."""
    if kind == names.AGREEMENT:
        return read_agreement(entry, data, state)
    return None, _allocated(entry, data) if kind == names.ALLOCATION else entry.levels(kind)


def _fields(subset: Subset) -> dict[str, Any]:
    return {**asdict(subset), "where": dict(subset.where)}


def _dead_zones(entry: Section) -> tuple[float, ...] | None:
    if "dead_zones" not in entry.raw:
        return None
    wanted = "a list of numbers above 0, each once"
    return entry.numbers("dead_zones", test=lambda zone: zone > 0, wanted=wanted)


def _outcome(entry: Section, data: DataSpec | None) -> tuple[str, str] | None:
    """What an AUC ranks: an attribute and its level."""
    wanted = "outcome names one attribute and its level: outcome = { success = true }"
    named = entry.levels("outcome")
    if len(named) != 1 or any(len(levels) != 1 for levels in named.values()):
        entry.fault(f"an auc needs an outcome; {wanted}")
        return None
    (attribute, (level,)), *_ = named.items()
    if data is not None:
        check_attribute(entry, "outcome", attribute, data)
    return attribute, level


def _statistic(entry: Section) -> str:
    statistic = entry.text("statistic", default=names.MEAN) or names.MEAN
    if statistic not in names.STATISTICS:
        expected = f"expected one of {', '.join(names.STATISTICS)}"
        entry.fault(
            f"statistic = {show(statistic)}: {expected}{nearest(statistic, names.STATISTICS)}"
        )
    return statistic


def _pair(entry: Section) -> tuple[str, str]:
    pair = entry.names(names.DIFFERENCE)
    if len(pair) != 2:
        entry.fault("difference takes the names of two estimands, second minus first")
        return ("", "")
    return (pair[0], pair[1])


def _state(entry: Section, *, required: bool) -> str | None:
    state = entry.text("state", required=required)
    if state is not None and state not in names.STATES:
        near = nearest(state, names.STATES)
        entry.fault(
            f"state = {show(state)}: expected 'before' or 'after', whatever the levels are{near}"
        )
    return state


def _allocated(entry: Section, data: DataSpec | None) -> dict[str, Levels]:
    """Pairs that an allocation moves: those of a table beside the change, or of listed factors."""
    held = STATE in entry.raw
    if isinstance(entry.raw[names.ALLOCATION], dict):
        pairs = entry.levels(names.ALLOCATION, single=False)
        if names.STATE in pairs:
            entry.fault("allocation: pairs stand beside the change, which moves; leave state out")
        moves = {} if held else {names.STATE: names.STATES}
        return {**moves, **{factor: pair for factor, pair in pairs.items() if factor not in moves}}
    listed = entry.names(names.ALLOCATION)
    if listed and names.STATE not in listed and not held:
        entry.fault(
            "allocation does not say what the change does: name 'state' among the factors to "
            "move it, or hold it with state = 'before' or 'after'"
        )
    if names.STATE in listed and held:
        entry.fault("allocation names 'state', and state = … holds it; choose one")
    known: dict[str, Levels] = {} if data is None else data.factors
    return {factor: known.get(factor, ()) for factor in listed}


def _check_factors(entry: Section, estimand: EstimandSpec, channel: Mapping[str, Levels]) -> None:
    """Every channel factor is contrasted, fixed or averaged, once."""
    _check_levels(entry, estimand, channel)
    moved = [factor for factor in estimand.levels if not _is_change(estimand, factor)]
    parts = [*moved, *estimand.at, *estimand.average_over]
    for factor in dict.fromkeys(parts):
        if factor not in channel:
            entry.fault(f"{factor!r} is not a channel factor{nearest(factor, channel)}")
        elif parts.count(factor) > 1:
            entry.fault(f"{factor!r} has two parts; contrast it, fix it with at, or average it")
    for factor in channel:
        if factor not in parts:
            entry.fault(
                f"says nothing about the factor {factor!r}: fix it with "
                f"at = {{ {factor} = … }} or name it in average_over"
            )


def _is_change(estimand: EstimandSpec, factor: str) -> bool:
    return estimand.kind == names.ALLOCATION and factor == names.STATE


def _check_levels(entry: Section, estimand: EstimandSpec, channel: Mapping[str, Levels]) -> None:
    """A gain takes one level of a factor, the others two; all are declared."""
    kind, levels = estimand.kind, estimand.levels
    count = KINDS[kind].levels
    wanted = "one level" if count == 1 else TWO
    moved = {f: given for f, given in levels.items() if not _is_change(estimand, f)}
    if count == 2 and not moved and estimand.factor is None:
        entry.fault(f"{kind} needs a factor with {TWO}")
    for factor, given in moved.items():
        if len(given) != count and factor in channel:
            many = f"; write allocation = {{ {factor} = [first, second] }}"
            remedy = many if isinstance(entry.raw[kind], list) else ""
            entry.fault(f"{kind}: {factor} needs {wanted}; got {list(given)}{remedy}")
    for factor, given in [*moved.items(), *estimand.at.items()]:
        for level in given:
            if factor in channel and level not in channel[factor]:
                near = nearest(level, channel[factor])
                entry.fault(f"{factor} has no declared level {level!r}{near}")
