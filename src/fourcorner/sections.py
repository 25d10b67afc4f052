"""One TOML table read strictly: keys by type, every fault kept, nothing left over.

Invariant: `Section.finish` reports each key that nobody asked for, with the nearest known one.
Pinned by `tests/test_spec.py`.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Levels = tuple[str, ...]

QUOTED = 100
BIGGEST = 2**63  # TOML's integers have 64 bits


def canonical(value: object) -> str:
    """Text by which levels are compared: ``1`` and ``1.0`` agree, booleans in any case.

    Examples
    --------
    >>> canonical(1.0), canonical("1.0"), canonical(True), canonical("True"), canonical("01")
    ('1', '1', 'true', 'true', '01')
    """
    text = str(value)
    if text.lower() in {"true", "false"}:
        return text.lower()
    return text.split(".")[0] if re.fullmatch(r"-?[0-9]+\.0+", text) else text


def show(value: object) -> str:
    """A value as an error message quotes it: its beginning, on one line."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, deep nesting
        return f"a huge {type(value).__name__}"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}…"


def is_level(value: object) -> bool:
    """Whether a value can name a level: a text that is not empty, a boolean or an integer."""
    if isinstance(value, str):
        return value != ""
    return isinstance(value, int) and abs(value) < BIGGEST


class Section:
    """One TOML table being read: hands out keys by type, reports what is wrong or left over.

    A table that is not there (`raw` is None) was reported by whoever asked for it; nothing that
    it should hold is missed as well.
    """

    def __init__(self, raw: Mapping[str, Any] | None, name: str, faults: list[str]) -> None:
        self.raw: Mapping[str, Any] = {} if raw is None else raw
        self.there = raw is not None
        self.name, self.faults = name, faults
        self.known: set[str] = set()

    def fault(self, message: str) -> None:
        """Keep a fault, with the table that has it."""
        self.faults.append(f"[{self.name}] {message}" if self.name else message)

    def _get(self, key: str, required: bool) -> object:
        self.known.add(key)
        if required and self.there and key not in self.raw:
            self.fault(f"needs the key {key!r}{self._misspelt(key)}")
        return self.raw.get(key)

    def _misspelt(self, key: str) -> str:
        """What else the table holds that a missing key could be, as the end of a message."""
        close = closest(key, [other for other in self.raw if other not in self.known])
        return "" if close is None else f"; there is {close!r}: rename it if that is what it is"

    def text(self, key: str, *, default: str | None = None, required: bool = True) -> str | None:
        """A text that is not blank."""
        value = self._get(key, required and default is None)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            self.fault(f"{key} = {show(value)}: expected a text that is not empty")
            return default
        return value

    def number(self, key: str, *, test: Callable[[float], bool], wanted: str) -> float | None:
        """A number for which the test holds; `wanted` says which those are."""
        value = self._get(key, required=False)
        if value is None:
            return None
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and -BIGGEST < value < BIGGEST and test(value):
            return float(value)
        self.fault(f"{key} = {show(value)}: expected {wanted}")
        return None

    def numbers(self, key: str, *, test: Callable[[float], bool], wanted: str) -> tuple[float, ...]:
        """A list of numbers for each of which the test holds, none twice."""
        value = self._get(key, required=False)
        listed = value if isinstance(value, list) else [None]
        fit = [
            isinstance(item, int | float)
            and not isinstance(item, bool)
            and -BIGGEST < item < BIGGEST
            and test(item)
            for item in listed
        ]
        if not all(fit) or len(set(listed)) < len(listed):
            self.fault(f"{key} = {show(value)}: expected {wanted}")
            return ()
        return tuple(map(float, listed))

    def whole(self, key: str, *, low: int) -> int | None:
        """A whole number from `low` on."""
        value = self._get(key, required=False)
        if value is None:
            return None
        if isinstance(value, int) and not isinstance(value, bool) and low <= value < BIGGEST:
            return value
        self.fault(f"{key} = {show(value)}: expected a whole number, {low} or more")
        return None

    def names(self, key: str) -> tuple[str, ...]:
        """A list of names, each once."""
        value = self._get(key, required=False)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            self.fault(f"{key} = {show(value)}: expected a list of names")
            return ()
        if len(set(value)) != len(value):
            self.fault(f"{key} = {show(value)} names something twice")
        return tuple(value)

    def section(self, key: str, *, required: bool = True) -> "Section":
        """A table inside this one; what is no table is a fault and then as if not there."""
        value = self._get(key, required)
        if value is not None and not isinstance(value, dict):
            self.fault(f"{key} = {show(value)}: expected a table")
            value = None
        name = f"{self.name}.{key}" if self.name else key
        return Section(value, name, self.faults)

    def levels(self, key: str, *, single: bool = True, minimum: int = 1) -> dict[str, Levels]:
        """A mapping of factor to one level or a list of levels, as canonical texts."""
        table = self.section(key, required=False)
        if "" in table.raw:
            table.fault("a key is empty; expected the name of a column")
        return {factor: table.level_list(factor, single, minimum) for factor in table.raw}

    def level_list(self, factor: str, single: bool, minimum: int) -> Levels:
        """The levels of one factor; a level alone stands for its list where `single` allows."""
        value = self.raw[factor]
        listed = value if isinstance(value, list) else [value]
        if not isinstance(value, list) and not single:
            self.fault(f"{factor} = {show(value)}: expected a list of levels, the reference first")
            return ()
        for item in listed:
            if not is_level(item):
                self.fault(f"{factor}: level {show(item)} is not a text, integer or boolean")
        levels = tuple(canonical(item) for item in listed if is_level(item))
        if len(set(levels)) != len(levels):
            self.fault(f"{factor} = {show(listed)}: a level is named twice")
        if len(listed) < minimum:
            self.fault(f"{factor} = {show(listed)}: expected {minimum} level(s) or more")
        return levels

    def finish(self) -> None:
        """Report every key that nobody asked for."""
        for key in self.raw:
            if key not in self.known:
                self.fault(f"unknown key {key!r}{nearest(key, self.known)}")


def nearest(word: str, choices: Iterable[str]) -> str:
    """The closest of some names, as the end of an error message."""
    close = closest(word, choices)
    return "" if close is None else f" (did you mean {close!r}?)"


def closest(word: str, choices: Iterable[str]) -> str | None:
    """The closest of some names, if one is close."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.6)
    return close[0] if close else None
