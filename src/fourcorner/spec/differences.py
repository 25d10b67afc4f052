"""Differences of two estimands: what they may name, and what they take over.

Invariant: a difference is one contrast over one set of transitions and waves, that of its two
parts; none reaches itself. Pinned by `tests/test_spec.py`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from fourcorner import names
from fourcorner.sections import Section, nearest
from fourcorner.spec.order import in_cycles, in_order
from fourcorner.spec.subsets import SUBSET_KEYS

if TYPE_CHECKING:
    from fourcorner.spec.estimands import EstimandSpec

SAME = {
    "between": "a group contrast less another is one only when both compare the same groups",
    "where": "a difference is taken over one set of transitions",
    "wave": "a difference is taken over one set of waves",
    "weight_by": "a difference counts transitions in one way",
}


def build_order(found: Mapping[str, "EstimandSpec"]) -> list[str]:
    """Estimands, each after those that it is a difference of."""
    return in_order({name: estimand.difference or () for name, estimand in found.items()})


def link(
    found: Mapping[str, "EstimandSpec"], shares: Mapping[str, list[str]], section: Section
) -> dict[str, "EstimandSpec"]:
    """Give every difference what its two parts agree in, and report what does not fit.

    Parameters
    ----------
    found : mapping of name to EstimandSpec
    shares : mapping of an allocation's name to the names of its shares
    section : Section

    Returns
    -------
    dict of name to EstimandSpec
        In the order of `found`.
    """
    linked = dict(found)
    for name, estimand in found.items():
        for part in filter(None, estimand.difference or ()):
            _check_part(name, part, found, shares, section)
    for name in in_cycles({n: e.difference or () for n, e in found.items()}):
        section.fault(f"{name} is a difference of itself")
    for name in build_order(found):
        pair = linked[name].difference
        if pair is not None and all(part in linked for part in pair):
            first, second = (linked[part] for part in pair)
            _check_agreement(name, pair, (first, second), section)
            taken = {key: getattr(first, key) for key in SUBSET_KEYS}
            linked[name] = replace(linked[name], **taken)
    return linked


def _check_part(
    name: str,
    part: str,
    found: Mapping[str, "EstimandSpec"],
    shares: Mapping[str, list[str]],
    section: Section,
) -> None:
    if part in shares:
        section.fault(f"{name}: {part!r} is an allocation; name one of its shares {shares[part]}")
    elif part not in found and (family := _family_of(part, found)) is not None:
        section.fault(
            f"{name}: {part!r} is a row of the family {family!r}; differences take estimands of "
            f"their own"
        )
    elif part not in found:
        section.fault(f"{name}: no estimand {part!r}{nearest(part, found)}")
    elif found[part].is_family:
        section.fault(f"{name}: {part!r} is a family of {found[part].kind}; differences take means")
    elif found[part].statistic != names.MEAN:
        section.fault(f"{name}: {part!r} is a {found[part].statistic}; differences take means")


def _family_of(part: str, found: Mapping[str, "EstimandSpec"]) -> str | None:
    """The family that a name could be a row of."""
    name, _, row = part.partition(".")
    return name if row and name in found and found[name].is_family else None


def _check_agreement(
    name: str,
    pair: tuple[str, str],
    parts: tuple["EstimandSpec", "EstimandSpec"],
    section: Section,
) -> None:
    for key, why in SAME.items():
        first, second = (_unordered(getattr(part, key)) for part in parts)
        if first != second:
            section.fault(
                f"{name}: {pair[0]!r} and {pair[1]!r} differ in {key}; {why}, so give both the same"
            )


def _unordered(value: object) -> object:
    """A value of a key with the levels of `where` in no order."""
    if isinstance(value, Mapping):
        return {attribute: frozenset(levels) for attribute, levels in value.items()}
    return value
