"""[estimands] of a spec: what is asked, as written.

Invariant: every channel factor of an estimand is contrasted, fixed or averaged, once.
Pinned by `tests/test_spec.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fourcorner import names
from fourcorner.sections import Levels, Section, nearest, show

ESTIMAND_KINDS = ("gain", "omega", "endpoint_shift", "diagonal", "difference")
CONTRASTED = ("gain", "omega", "endpoint_shift", "diagonal")
MODIFIERS = {"at": CONTRASTED, "average_over": CONTRASTED, "state": ("endpoint_shift",)}


@dataclass(frozen=True)
class EstimandSpec:
    """One declared estimand, as written: see `fourcorner.estimands` for its meaning."""

    kind: str
    levels: Mapping[str, Levels]
    at: Mapping[str, Levels]
    average_over: tuple[str, ...] = ()
    state: str | None = None
    difference: tuple[str, str] | None = None
    statistic: str = names.MEAN


def read_estimands(
    section: Section, channel: Mapping[str, Levels] | None
) -> dict[str, EstimandSpec]:
    """Every declared estimand by name."""
    found = {}
    for name in section.raw:
        entry = section.section(name)
        found[name] = _estimand(entry, channel)
        entry.finish()
    if section.there and not section.raw:
        section.fault("names no estimand; write one, e.g. omega = { omega = { view = [a, b] } }")
    for name, estimand in found.items():
        _check_difference(name, estimand, found, section)
    return found


def _estimand(entry: Section, channel: Mapping[str, Levels] | None) -> EstimandSpec:
    kinds = [kind for kind in ESTIMAND_KINDS if kind in entry.raw]
    entry.known.update((*ESTIMAND_KINDS, *MODIFIERS, "statistic"))
    if len(kinds) != 1:
        if entry.there:
            got = " and ".join(kinds) or "none"
            entry.fault(f"needs exactly one of {', '.join(ESTIMAND_KINDS)}; got {got}")
        return EstimandSpec("gain", {}, {})
    kind = kinds[0]
    for key, takers in MODIFIERS.items():
        if key in entry.raw and kind not in takers:
            entry.fault(f"{key} does not go with {kind}, only with {', '.join(takers)}")
    statistic = entry.text("statistic", default=names.MEAN) or names.MEAN
    if statistic not in names.STATISTICS:
        expected = f"expected one of {', '.join(names.STATISTICS)}"
        entry.fault(
            f"statistic = {show(statistic)}: {expected}{nearest(statistic, names.STATISTICS)}"
        )
    if kind == "difference":
        return EstimandSpec(kind, {}, {}, difference=_pair(entry), statistic=statistic)
    estimand = EstimandSpec(
        kind=kind,
        levels=entry.levels(kind),
        at=entry.levels("at"),
        average_over=entry.names("average_over"),
        state=_shift_state(entry) if kind == "endpoint_shift" else None,
        statistic=statistic,
    )
    if channel is not None:
        _check_factors(entry, estimand, channel)
    return estimand


def _pair(entry: Section) -> tuple[str, str]:
    pair = entry.names("difference")
    if len(pair) != 2:
        entry.fault("difference takes the names of two estimands, second minus first")
        return ("", "")
    return (pair[0], pair[1])


def _shift_state(entry: Section) -> str | None:
    state = entry.text("state")
    if state is not None and state not in names.STATES:
        entry.fault(f"state = {show(state)}: expected 'before' or 'after', whatever the levels are")
    return state


def _check_factors(entry: Section, estimand: EstimandSpec, channel: Mapping[str, Levels]) -> None:
    """Every channel factor is contrasted, fixed or averaged, once."""
    _check_levels(entry, estimand, channel)
    parts = [*estimand.levels, *estimand.at, *estimand.average_over]
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


def _check_levels(entry: Section, estimand: EstimandSpec, channel: Mapping[str, Levels]) -> None:
    """A gain takes one level of a factor, the others two; all are declared."""
    kind, levels = estimand.kind, estimand.levels
    wanted, count = ("one level", 1) if kind == "gain" else ("two levels, second minus first", 2)
    if count == 2 and not levels:
        entry.fault(f"{kind} needs a factor with two levels, second minus first")
    for factor, given in levels.items():
        if len(given) != count:
            entry.fault(f"{kind}: {factor} needs {wanted}; got {list(given)}")
    for factor, given in [*levels.items(), *estimand.at.items()]:
        for level in given:
            if factor in channel and level not in channel[factor]:
                near = nearest(level, channel[factor])
                entry.fault(f"{factor} has no declared level {level!r}{near}")


def _check_difference(
    name: str, estimand: EstimandSpec, found: Mapping[str, EstimandSpec], section: Section
) -> None:
    if estimand.difference is None:
        return
    for part in estimand.difference:
        if part and part not in found:
            section.fault(f"{name}: no estimand {part!r}{nearest(part, found)}")
        elif part and found[part].statistic != names.MEAN:
            section.fault(f"{name}: {part!r} is a {found[part].statistic}; differences take means")
    if name in _reachable(name, found):
        section.fault(f"{name} is a difference of itself")


def _reachable(start: str, found: Mapping[str, EstimandSpec]) -> set[str]:
    seen: set[str] = set()
    queue = [start]
    while queue:
        estimand = found.get(queue.pop())
        for part in (estimand.difference or ()) if estimand else ():
            if part not in seen:
                seen.add(part)
                queue.append(part)
    return seen
