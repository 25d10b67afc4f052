"""[weights] of a spec: named mixtures of strata, and mixes of mixtures.

Invariant: weights and shares are not negative and sum to one within 1e-9; a mix names mixtures
that exist and never itself. Pinned by `tests/test_spec.py`.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fourcorner import names
from fourcorner.sections import BIGGEST, Section, canonical, nearest, show
from fourcorner.spec.data import DataSpec
from fourcorner.spec.order import in_cycles

KEPT = (names.EMPIRICAL, names.EQUAL)
MIX = "mix"
EXPECTED = "'empirical', 'equal', { stratum = weight, … } or { mix = { name = share, … } }"

Declared = str | Mapping[str, Any]


def read_weights(section: Section, data: DataSpec | None) -> dict[str, Declared]:
    """Every declared mixture by name; the empirical one where none is declared."""
    if not section.raw:
        return {names.EMPIRICAL: names.EMPIRICAL}
    found: dict[str, Declared] = {}
    for name, value in section.raw.items():
        if value in KEPT:
            found[name] = value
        elif isinstance(value, dict):
            found[name] = _checked(section, name, value)
        else:
            section.fault(f"{name} = {show(value)}: expected {EXPECTED}")
        if name in KEPT and value != name:
            section.fault(f"the name {name!r} is kept for that mixture itself; choose another")
    _check_mixes(section, found)
    stratified = data is None or data.stratum is not None
    if not stratified and any(mixture != names.EMPIRICAL for mixture in found.values()):
        section.fault("weights other than 'empirical' need [data] stratum")
    return found


def mix_of(declared: object) -> Mapping[str, float] | None:
    """Shares of the mixtures that a mix names, or None where no mix is declared."""
    if not isinstance(declared, Mapping) or not isinstance(declared.get(MIX), Mapping):
        return None
    return declared[MIX]


def check_weights(raw: Mapping[Any, Any]) -> dict[str, float]:
    """Weights by canonical stratum: not negative, summing to one within 1e-9, or a ValueError."""
    _check_numbers(raw, "weight")
    strata = Counter(canonical(stratum) for stratum in raw)
    twice = [stratum for stratum, count in strata.items() if count > 1]
    if twice:
        msg = f"the stratum {twice[0]!r} has two weights"
        raise ValueError(msg)
    _check_sum(raw, "weight")
    return {canonical(stratum): float(value) for stratum, value in raw.items()}


def check_mix(raw: Mapping[Any, Any]) -> dict[str, float]:
    """Shares by the name of a mixture, to the same rule; a mix has no other key."""
    shares, others = raw[MIX], [key for key in raw if key != MIX]
    if not isinstance(shares, Mapping):
        msg = f"mix = {show(shares)}: expected a table {{ name = share, … }}"
        raise ValueError(msg)  # noqa: TRY004 - a fault of the spec, like every other
    if others:
        msg = f"a mix stands alone, but {others} stand beside it; put them into it"
        raise ValueError(msg)
    _check_numbers(shares, "share")
    _check_sum(shares, "share")
    return {str(name): float(share) for name, share in shares.items()}


def is_mix(raw: Mapping[Any, Any]) -> bool:
    """Whether a table declares a mix; a stratum called mix has a number."""
    return MIX in raw and (isinstance(raw[MIX], bool) or not isinstance(raw[MIX], int | float))


def _checked(section: Section, name: str, raw: Mapping[str, Any]) -> Declared:
    try:
        return {MIX: check_mix(raw)} if is_mix(raw) else check_weights(raw)
    except ValueError as error:
        section.fault(f"{name}: {error}")
        return {}


def _check_mixes(section: Section, found: Mapping[str, Declared]) -> None:
    needs = {name: list(mix_of(declared) or ()) for name, declared in found.items()}
    known = dict.fromkeys([*found, *KEPT])
    for name, needed in needs.items():
        for other in needed:
            if other not in known:
                listed = f"there are {list(known)}"
                section.fault(f"{name}: no mixture {other!r}{nearest(other, known)}; {listed}")
    for name in in_cycles(needs):
        section.fault(f"{name} is a mix of itself")


def _check_numbers(raw: Mapping[Any, Any], noun: str) -> None:
    for key, value in raw.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < BIGGEST:
            msg = f"{noun} of {key!r} is {show(value)}; expected a number that is not negative"
            raise ValueError(msg)


def _check_sum(raw: Mapping[Any, Any], noun: str) -> None:
    total = math.fsum(raw.values())
    if abs(total - 1) > 1e-9:
        msg = f"{noun}s sum to {total:.12g}; expected 1"
        raise ValueError(msg)
