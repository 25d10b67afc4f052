"""[data] of a spec: which columns hold what.

Invariant: each column plays one part, no key is without effect, and the name of a factor or
attribute is free to be a dim. Pinned by `tests/test_spec.py`, `tests/test_options.py` and
`tests/test_waves.py`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fourcorner import names
from fourcorner.sections import Levels, Section, nearest, show

OPTION_KEYS = ("candidate", "target", "candidates", "censored", "reducer")
READOUT = ("yes", "no")


@dataclass(frozen=True)
class DataSpec:
    """Which columns hold what.

    `channel` and `replicate` map a factor (a column) to its declared levels, reference first.
    `before` and `after` are the canonical texts of the two levels of the change column; without a
    change there is none of the three, and a transition is one thing that is scored.

    Exactly one of `score` and `option_score` is given. `option_score` is a column with a row for
    each candidate, or the two columns ``{"yes": …, "no": …}`` of a binary readout, whose
    difference scores a candidate; `candidate` and `target` are columns, `candidates` the declared
    ones (empty: each unit's own), `censored` a column that marks upper limits.

    `endpoint` is a column that names the state which a row scores, where transitions share states.
    """

    path: str | None
    score: str | None
    unit: str
    change: str | None
    before: str
    after: str
    channel: Mapping[str, Levels]
    replicate: Mapping[str, Levels]
    transition: str | None = None
    stratum: str | None = None
    attributes: tuple[str, ...] = ()
    where: Mapping[str, Levels] = field(default_factory=dict)
    derive: Mapping[str, str] = field(default_factory=dict)
    option_score: str | Mapping[str, str] | None = None
    candidate: str | None = None
    target: str | None = None
    candidates: Levels = ()
    censored: str | None = None
    reducer: str = names.MEAN_THEN_MARGIN
    session: str | None = None
    scale: tuple[str, ...] = ()
    endpoint: str | None = None

    @property
    def has_change(self) -> bool:
        """Whether scores are those of the two sides of a change."""
        return self.change is not None

    @property
    def factors(self) -> dict[str, Levels]:
        """The cell factors in order: the change first, where there is one, then the channels."""
        return {**({names.STATE: names.STATES} if self.has_change else {}), **self.channel}

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The column of scores; of a binary readout the two, yes first."""
        if self.score is not None:
            return (self.score,)
        if isinstance(self.option_score, str):
            return (self.option_score,)
        return tuple((self.option_score or {}).values())

    @property
    def is_readout(self) -> bool:
        """Whether a candidate's score is that of a yes less that of a no."""
        return len(self.score_columns) > 1

    @property
    def measure(self) -> str:
        """What a cell holds, in words: the score's column, or the margin of the options'."""
        return self.score or f"margin of {' − '.join(self.score_columns)}"


_ENDS = ("before", "after")


def read_data(section: Section) -> DataSpec | None:
    """The section as a `DataSpec`; None where it is not there."""
    score, option_score = _scores(section)
    unit = section.text("unit")
    column, before, after = _change(section)
    channel = section.levels("channel", single=False, minimum=2)
    replicate = section.levels("replicate", single=False, minimum=1)
    data = DataSpec(
        path=section.text("path", required=False),
        score=score,
        unit=unit or "",
        change=column,
        before="".join(before),
        after="".join(after),
        channel=channel,
        replicate=replicate,
        transition=section.text("transition", required=False),
        stratum=section.text("stratum", required=False),
        attributes=section.names("attributes"),
        where=section.levels("where"),
        derive=_derive(section.section("derive", required=False)),
        option_score=option_score,
        candidate=section.text("candidate", required=option_score is not None),
        target=section.text("target", required=option_score is not None),
        candidates=_candidates(section),
        censored=section.text("censored", required=False),
        reducer=_reducer(section),
        session=section.text("session", required=False),
        scale=section.names("scale"),
        endpoint=section.text("endpoint", required=False),
    )
    section.finish()
    _check_parts(data, section)
    _check_columns(data, section)
    return data if section.there else None


def _change(section: Section) -> tuple[str | None, Levels, Levels]:
    """Column and levels of the change; no column where none is declared."""
    if "change" not in section.raw:
        section.known.add("change")
        return None, (), ()
    change = section.section("change")
    column = change.text("column") or ""
    before, after = (change.level_list(key, True, 1) if key in change.raw else () for key in _ENDS)
    for key, level in zip(_ENDS, (before, after), strict=True):
        change.known.add(key)
        if len(level) != 1 and change.there:
            change.fault(f"needs {key} = one level of the column")
    if before and before == after:
        change.fault(f"before and after are the same level {before[0]!r}")
    change.finish()
    return column, before, after


def _scores(section: Section) -> tuple[str | None, str | Mapping[str, str] | None]:
    """The column of margins, or where the scores of options are; one of them."""
    given = [key for key in ("score", names.OPTION_SCORE) if key in section.raw]
    section.known.update(("score", names.OPTION_SCORE, *OPTION_KEYS))
    if section.there and not given:
        section.fault(
            f"needs the key 'score' (a column of margins) or 'option_score' (a row for each "
            f"candidate){nearest('score', section.raw)}"
        )
    if len(given) > 1:
        section.fault("score and option_score are both given; give the one that the table has")
    if names.OPTION_SCORE not in given:
        for key in OPTION_KEYS:
            if key in section.raw:
                section.fault(f"{key} goes with option_score alone")
        return section.text("score", required=False), None
    section.text("score", required=False)
    if not isinstance(section.raw[names.OPTION_SCORE], dict):
        return None, section.text(names.OPTION_SCORE) or ""
    readout = section.section(names.OPTION_SCORE)
    columns = {key: readout.text(key) or "" for key in READOUT}
    readout.finish()
    return None, columns


def _candidates(section: Section) -> Levels:
    """The declared candidates; a candidate alone has no competitor."""
    if "candidates" not in section.raw:
        return ()
    return section.level_list("candidates", single=False, minimum=2)


def _reducer(section: Section) -> str:
    reducer = section.text("reducer", default=names.MEAN_THEN_MARGIN) or names.MEAN_THEN_MARGIN
    if reducer not in names.REDUCERS:
        expected = " or ".join(map(repr, names.REDUCERS))
        near = nearest(reducer, names.REDUCERS)
        section.fault(f"reducer = {show(reducer)}: expected {expected}{near}")
    return reducer


def _derive(section: Section) -> dict[str, str]:
    return {name: section.text(name) or "" for name in section.raw}


def _check_parts(data: DataSpec, section: Section) -> None:
    """A session needs waves, endpoints a change, a scale group is one of levels of a channel."""
    if data.endpoint and not data.has_change:
        section.fault(
            f"endpoint = {data.endpoint!r} names the two ends of a change; declare the change"
        )
    if data.session and names.WAVE not in data.replicate:
        section.fault(
            f"session = {data.session!r} needs waves: a replicate factor called {names.WAVE!r}, "
            f"whose levels belong to sessions"
        )
    for name in data.scale:
        if name not in data.channel:
            section.fault(f"scale: {name!r} is no channel factor{nearest(name, data.channel)}")


def _check_columns(data: DataSpec, section: Section) -> None:
    """Each column plays one part, and a factor's name is free to be a dim."""
    seen: dict[str, str] = {}
    for part, column in _parts(data):
        if not column:
            continue
        if column in seen and {seen[column], part} != {"stratum", "target"}:
            section.fault(f"column {column!r} is both {seen[column]} and {part}; give it one part")
        seen[column] = part
        if part in {"channel", "replicate", "attributes"} and (why := unfit(part, column)):
            section.fault(
                f"{part} may not be called {column!r}, {why}; rename the column or make one with "
                f"[data.derive]"
            )


def _parts(data: DataSpec) -> Iterator[tuple[str, str | None]]:
    """Every column with the part that it plays; the target may be the stratum too."""
    yield from (("score" if data.score else "option_score", name) for name in data.score_columns)
    yield from (("unit", data.unit), ("change", data.change), ("transition", data.transition))
    yield from (("stratum", data.stratum), ("target", data.target), ("candidate", data.candidate))
    yield from (("censored", data.censored), ("session", data.session))
    yield ("endpoint", data.endpoint)
    yield from (("channel", name) for name in data.channel)
    yield from (("replicate", name) for name in data.replicate)
    yield from (("attributes", name) for name in data.attributes)


def unfit(part: str, column: str) -> str:
    """Why a column's name cannot name a dim or coordinate of a Dataset that goes to netCDF.

    Parameters
    ----------
    part : {"channel", "replicate", "attributes"}
    column : str

    Returns
    -------
    str
        Nothing where it can.
    """
    if column in names.RESERVED:
        return "a word of the package"
    if column in {".", ".."} or re.search(r"[/\x00-\x1f\x7f]", column):
        return "which a netCDF file cannot hold"
    if part == "attributes" and re.search(r"\s", column):
        return "since netCDF loses an attribute with a space"
    return ""
