"""One TOML table read strictly: keys by type, every fault kept, nothing left over.

Invariant: `Section.finish` reports each key that nobody asked for, with the nearest known one.
Pinned by `tests/test_spec.py`.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Levels = tuple[str, ...]


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
    return re.sub(r"\.0+$", "", text) if re.fullmatch(r"-?\d+\.0+", text) else text


class Section:
    """One TOML table being read: hands out keys by type, reports what is wrong or left over."""

    def __init__(self, raw: Mapping[str, Any], name: str, faults: list[str]) -> None:
        self.raw, self.name, self.faults = raw, name, faults
        self.known: set[str] = set()

    def fault(self, message: str) -> None:
        self.faults.append(f"[{self.name}] {message}" if self.name else message)

    def _get(self, key: str, required: bool) -> Any:
        self.known.add(key)
        if required and key not in self.raw:
            self.fault(f"needs the key {key!r}{nearest(key, self.raw)}")
        return self.raw.get(key)

    def text(self, key: str, *, default: str | None = None, required: bool = True) -> str | None:
        value = self._get(key, required and default is None)
        if value is None:
            return default
        if not isinstance(value, str) or not value.strip():
            self.fault(f"{key} = {value!r}: expected a text that is not empty")
            return default
        return value

    def number(
        self, key: str, *, whole: bool = False, test: Callable[[float], bool], wanted: str
    ) -> Any:
        value = self._get(key, required=False)
        if value is None:
            return None
        kinds = (int,) if whole else (int, float)
        good = isinstance(value, kinds) and not isinstance(value, bool)
        if not good or not math.isfinite(value) or not test(value):
            self.fault(f"{key} = {value!r}: expected {wanted}")
            return None
        return value

    def names(self, key: str) -> tuple[str, ...]:
        value = self._get(key, required=False)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fault(f"{key} = {value!r}: expected a list of names")
            return ()
        if len(set(value)) != len(value):
            self.fault(f"{key} = {value!r} names something twice")
        return tuple(value)

    def section(self, key: str, *, required: bool = True) -> "Section":
        value = self._get(key, required)
        if value is not None and not isinstance(value, dict):
            self.fault(f"{key} = {value!r}: expected a table")
            value = None
        name = f"{self.name}.{key}" if self.name else key
        return Section(value or {}, name, self.faults)

    def levels(self, key: str, *, single: bool = True, minimum: int = 1) -> dict[str, Levels]:
        """A mapping of factor to one level or a list of levels, as canonical texts."""
        table = self.section(key, required=False)
        return {factor: table.level_list(factor, single, minimum) for factor in table.raw}

    def level_list(self, factor: str, single: bool, minimum: int) -> Levels:
        value = self.raw[factor]
        listed = value if isinstance(value, list) else [value]
        if not isinstance(value, list) and not single:
            self.fault(f"{factor} = {value!r}: expected a list of levels, the reference first")
        for item in listed:
            if not isinstance(item, str | int | bool) or str(item) == "":
                self.fault(f"{factor}: level {item!r} is not a text, integer or boolean")
        levels = tuple(canonical(item) for item in listed)
        if len(set(levels)) != len(levels):
            self.fault(f"{factor} = {list(levels)}: a level is named twice")
        if len(levels) < minimum:
            self.fault(f"{factor} = {list(levels)}: expected at least {minimum} level(s)")
        return levels

    def finish(self) -> None:
        """Report every key that nobody asked for."""
        for key in self.raw:
            if key not in self.known:
                self.fault(f"unknown key {key!r}{nearest(key, self.known)}")


def nearest(word: str, choices: Iterable[str]) -> str:
    """The closest of some names, as the end of an error message."""
    close = difflib.get_close_matches(word, list(choices), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


