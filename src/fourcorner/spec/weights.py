"""[weights] of a spec: named mixtures of strata.

Invariant: named weights are not negative and sum to one within 1e-9. Pinned by
`tests/test_spec.py`.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from fourcorner import names
from fourcorner.sections import BIGGEST, Section, canonical, show
from fourcorner.spec.data import DataSpec


def read_weights(section: Section, data: DataSpec | None) -> dict[str, str | Mapping[str, float]]:
    """Every declared mixture by name; the empirical one where none is declared."""
    if not section.raw:
        return {names.EMPIRICAL: names.EMPIRICAL}
    found: dict[str, str | Mapping[str, float]] = {}
    for name, value in section.raw.items():
        if value in (names.EMPIRICAL, names.EQUAL):
            found[name] = value
        elif isinstance(value, dict):
            found[name] = _named_weights(section, name, value)
        else:
            expected = "expected 'empirical', 'equal' or { stratum = weight, … }"
            section.fault(f"{name} = {show(value)}: {expected}")
        if name in (names.EMPIRICAL, names.EQUAL) and value != name:
            section.fault(f"the name {name!r} is kept for that mixture itself; choose another")
    stratified = data is None or data.stratum is not None
    if not stratified and any(mixture != names.EMPIRICAL for mixture in found.values()):
        section.fault("weights other than 'empirical' need [data] stratum")
    return found


def _named_weights(section: Section, name: str, raw: Mapping[str, Any]) -> dict[str, float]:
    try:
        return check_weights(raw)
    except ValueError as error:
        section.fault(f"{name}: {error}")
        return {}


def check_weights(raw: Mapping[Any, Any]) -> dict[str, float]:
    """Weights by canonical stratum: not negative, summing to one within 1e-9, or a ValueError."""
    for stratum, value in raw.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value < BIGGEST:
            msg = f"weight of {stratum!r} is {show(value)}; expected a number that is not negative"
            raise ValueError(msg)
    strata = Counter(canonical(stratum) for stratum in raw)
    twice = [stratum for stratum, count in strata.items() if count > 1]
    if twice:
        msg = f"the stratum {twice[0]!r} has two weights"
        raise ValueError(msg)
    total = math.fsum(raw.values())
    if abs(total - 1) > 1e-9:
        msg = f"weights sum to {total:.12g}; expected 1"
        raise ValueError(msg)
    return {canonical(stratum): float(value) for stratum, value in raw.items()}
