"""Whom an estimand is about: `between`, `where`, `wave` and `weight_by`.

Invariant: a subset names declared attributes, the stratum and declared waves only, and no
attribute both compares groups and selects. Pinned by `tests/test_spec.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fourcorner import names
from fourcorner.sections import Levels, Section, nearest, show
from fourcorner.spec.data import DataSpec

SUBSET_KEYS = ("between", "where", "wave", "weight_by")
COUNTED_BY = (names.BY_TRANSITION, names.BY_UNIT)


@dataclass(frozen=True)
class Subset:
    """Whom an estimand is about, as written; the defaults are everybody, every wave.

    Attributes
    ----------
    between : (attribute, first, second) or None
    where : mapping of attribute or stratum column to levels
    wave : tuple of str
        In the declared order; empty where all are averaged.
    weight_by : {"transition", "unit"}
    """

    between: tuple[str, str, str] | None = None
    where: Mapping[str, Levels] = field(default_factory=dict)
    wave: Levels = ()
    weight_by: str = names.BY_TRANSITION


def read_subset(entry: Section, data: DataSpec | None) -> Subset:
    """The keys of an estimand that say whom it is about."""
    entry.known.update(SUBSET_KEYS)
    where = entry.levels("where")
    between = _between(entry)
    if data is not None:
        for attribute in where:
            check_attribute(entry, "where", attribute, data)
        if between is not None:
            check_attribute(entry, "between", between[0], data)
    if between is not None and between[0] in where:
        entry.fault(
            f"between and where both name {between[0]!r}; between takes its two levels already, "
            f"so leave it out of where"
        )
    weight_by = entry.text("weight_by", default=names.BY_TRANSITION) or names.BY_TRANSITION
    if weight_by not in COUNTED_BY:
        near = nearest(weight_by, COUNTED_BY)
        entry.fault(f"weight_by = {show(weight_by)}: expected 'transition' or 'unit'{near}")
    return Subset(between, where, _waves(entry, data), weight_by)


def _between(entry: Section) -> tuple[str, str, str] | None:
    if "between" not in entry.raw:
        return None
    pairs = entry.levels("between", single=False)
    wanted = "one attribute with two levels, second minus first: { artifact = [false, true] }"
    if len(pairs) != 1:
        entry.fault(f"between = {show(entry.raw['between'])}: expected {wanted}")
        return None
    (attribute, levels), *_ = pairs.items()
    if len(levels) != 2:
        entry.fault(f"between: {attribute} has {list(levels)}; expected {wanted}")
        return None
    return attribute, levels[0], levels[1]


def check_attribute(entry: Section, key: str, attribute: str, data: DataSpec) -> None:
    """Report what is no attribute that `key` can name."""
    if attribute in data.attributes or (key == "where" and attribute == data.stratum):
        return
    if attribute == data.stratum:
        why = f"is the stratum; weights compare strata, {key} takes an attribute"
    elif attribute in data.channel:
        why = "is a channel factor; contrast it, or fix it with at"
    elif attribute in data.replicate:
        why = "is a replicate factor; only waves can be chosen, with wave = [...]"
    else:
        known = [*data.attributes, *filter(None, [data.stratum if key == "where" else None])]
        listed = f"it has {known}" if known else "none is declared"
        why = f"is not among [data] attributes{nearest(attribute, known)}; {listed}"
    entry.fault(f"{key}: {attribute!r} {why}")


def _waves(entry: Section, data: DataSpec | None) -> Levels:
    if "wave" not in entry.raw:
        return ()
    asked = entry.level_list("wave", single=True, minimum=1)
    if data is None:
        return asked
    declared = data.replicate.get(names.WAVE)
    if declared is None:
        entry.fault("wave needs a replicate factor called 'wave': [data] replicate = { wave = … }")
        return asked
    for level in asked:
        if level not in declared:
            entry.fault(
                f"wave has no declared level {level!r}{nearest(level, declared)}; it has "
                f"{list(declared)}"
            )
    chosen = tuple(level for level in declared if level in asked)
    return () if chosen == declared else chosen
