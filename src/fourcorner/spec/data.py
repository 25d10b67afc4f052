"""[data] of a spec: which columns hold what.

Invariant: each column plays one part, and the name of a factor or attribute is free to be a dim.
Pinned by `tests/test_spec.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fourcorner import names
from fourcorner.sections import Levels, Section


@dataclass(frozen=True)
class DataSpec:
    """Which columns hold what.

    `channel` and `replicate` map a factor (a column) to its declared levels, reference first.
    `before` and `after` are the canonical texts of the two levels of the change column.
    """

    path: str | None
    score: str
    unit: str
    change: str
    before: str
    after: str
    channel: Mapping[str, Levels]
    replicate: Mapping[str, Levels]
    transition: str | None = None
    stratum: str | None = None
    attributes: tuple[str, ...] = ()
    where: Mapping[str, Levels] = field(default_factory=dict)
    derive: Mapping[str, str] = field(default_factory=dict)

    @property
    def factors(self) -> dict[str, Levels]:
        """The cell factors in order: the change first, then the channels."""
        return {names.STATE: names.STATES, **self.channel}


_ENDS = ("before", "after")


def read_data(section: Section) -> DataSpec | None:
    """The section as a `DataSpec`; None where it is not there."""
    score, unit = section.text("score"), section.text("unit")
    change = section.section("change")
    column = change.text("column")
    before, after = (change.level_list(key, True, 1) if key in change.raw else () for key in _ENDS)
    for key, level in zip(_ENDS, (before, after), strict=True):
        change.known.add(key)
        if len(level) != 1 and change.there:
            change.fault(f"needs {key} = one level of the column")
    if before and before == after:
        change.fault(f"before and after are the same level {before[0]!r}")
    change.finish()
    channel = section.levels("channel", single=False, minimum=2)
    replicate = section.levels("replicate", single=False, minimum=1)
    data = DataSpec(
        path=section.text("path", required=False),
        score=score or "",
        unit=unit or "",
        change=column or "",
        before="".join(before),
        after="".join(after),
        channel=channel,
        replicate=replicate,
        transition=section.text("transition", required=False),
        stratum=section.text("stratum", required=False),
        attributes=section.names("attributes"),
        where=section.levels("where"),
        derive=_derive(section.section("derive", required=False)),
    )
    section.finish()
    _check_columns(data, section)
    return data if section.there else None


def _derive(section: Section) -> dict[str, str]:
    return {name: section.text(name) or "" for name in section.raw}


def _check_columns(data: DataSpec, section: Section) -> None:
    """Each column plays one part, and a factor's name is free to be a dim."""
    parts = [
        ("score", data.score),
        ("unit", data.unit),
        ("change", data.change),
        ("transition", data.transition),
        ("stratum", data.stratum),
        *(("channel", name) for name in data.channel),
        *(("replicate", name) for name in data.replicate),
        *(("attributes", name) for name in data.attributes),
    ]
    seen: dict[str, str] = {}
    for part, column in parts:
        if not column:
            continue
        if column in seen:
            section.fault(f"column {column!r} is both {seen[column]} and {part}; give it one part")
        seen[column] = part
        if part in {"channel", "replicate", "attributes"} and (why := _unfit(part, column)):
            section.fault(
                f"{part} may not be called {column!r}, {why}; rename the column or make one with "
                f"[data.derive]"
            )


def _unfit(part: str, column: str) -> str:
    """Why a column's name cannot name a dim or coordinate of a Dataset that goes to netCDF."""
    if column in names.RESERVED:
        return "a word of the package"
    if column in {".", ".."} or re.search(r"[/\x00-\x1f\x7f]", column):
        return "which a netCDF file cannot hold"
    if part == "attributes" and re.search(r"\s", column):
        return "since netCDF loses an attribute with a space"
    return ""
