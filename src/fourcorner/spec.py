"""TOML to a frozen, checked spec: which column plays which part, and what is asked.

Invariant: a `Spec` that exists is consistent in itself; every fault of a spec file is reported
in one `SpecError`, and an unknown key anywhere is a fault that names the nearest right one.
Pinned by `tests/test_spec.py`.
"""

import math
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from fourcorner import names
from fourcorner.errors import SpecError
from fourcorner.sections import BIGGEST, Levels, Section, canonical, nearest, show

ESTIMAND_KINDS = ("gain", "omega", "endpoint_shift", "diagonal", "difference")
FAMILIES = ("normal",)


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


@dataclass(frozen=True)
class ModelSpec:
    """Family and effect formulas; an empty formula means the default that `basis` documents."""

    family: str = "normal"
    effects: str | None = None
    stratum_effects: str | None = None


@dataclass(frozen=True)
class PriorSpec:
    """Overrides of prior scales in native units; None leaves the default of `bayes.priors`."""

    score_location: float | None = None
    score_scale: float | None = None
    intercept_sd: float | None = None
    effect_sd: float | None = None
    tau_sd: float | None = None
    unit_sd: float | None = None
    stratum_scale_sd: float | None = None
    lkj_eta: float | None = None


@dataclass(frozen=True)
class SamplerSpec:
    """How a fit is sampled; `seed` also seeds the bootstrap.

    The collapsed model has no funnel and is sampled in coordinates that suit its posterior, so
    long steps are accepted well: 0.7 gives more effective draws than the usual 0.8 to 0.95 with
    half the gradients. A divergence is answered by a second run at 0.99.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float = 0.7
    seed: int = 0


@dataclass(frozen=True)
class Spec:
    """One declared analysis of a score table.

    `weights` maps a name to ``"empirical"``, ``"equal"`` or a mapping of stratum to weight.
    """

    title: str
    data: DataSpec
    estimands: Mapping[str, EstimandSpec]
    weights: Mapping[str, str | Mapping[str, float]]
    model: ModelSpec = ModelSpec()
    priors: PriorSpec = PriorSpec()
    sampler: SamplerSpec = SamplerSpec()
    directory: Path = Path()
    text: str = ""

    @property
    def table_path(self) -> Path | None:
        """The table's path, taken from the spec's own folder."""
        return None if self.data.path is None else (self.directory / self.data.path).resolve()


def parse_spec(text: str, *, directory: Path = Path(), source: str = "spec") -> Spec:
    """Read a spec from TOML text.

    Parameters
    ----------
    text : str
        TOML as in the design document: tables ``data``, ``estimands``, ``weights``, ``model``,
        ``priors`` and ``sampler``.
    directory : Path
        Folder that a relative ``data.path`` starts from.
    source : str
        Name of the text in error messages.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        With every fault found.

    Examples
    --------
    >>> spec = parse_spec('''
    ... kind = "scores"
    ... [data]
    ... score = "margin"
    ... unit = "task"
    ... change = { column = "state", before = "before", after = "after" }
    ... channel = { view = ["direct", "generated"] }
    ... [estimands]
    ... omega = { omega = { view = ["direct", "generated"] } }
    ... ''')
    >>> spec.estimands["omega"].levels
    {'view': ('direct', 'generated')}
    """
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise SpecError(["not TOML that anyone wrote: nested too deeply"], source) from None
    except ValueError as error:  # TOMLDecodeError, or an integer of thousands of digits
        raise SpecError([f"not TOML: {error}"], source) from error
    faults: list[str] = []
    top = Section(raw, "", faults)
    kind = top.text("kind")
    if kind is not None and kind != "scores":
        faults.append(f"kind = {show(kind)}: this version reads kind = 'scores'")
    title = top.text("title", default="Untitled analysis")
    data = _data(top.section("data"))
    estimands = _estimands(top.section("estimands"), data.channel if data else None)
    weights = _weights(top.section("weights", required=False), data)
    model = _model(top.section("model", required=False))
    priors = _priors(top.section("priors", required=False))
    sampler = _sampler(top.section("sampler", required=False))
    top.finish()
    if faults or data is None:
        raise SpecError(faults, source)
    return Spec(
        title=title or "",
        data=data,
        estimands=estimands,
        weights=weights,
        model=model,
        priors=priors,
        sampler=sampler,
        directory=directory,
        text=text,
    )


def _data(section: Section) -> DataSpec | None:
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


_ENDS = ("before", "after")


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


def _estimands(section: Section, channel: Mapping[str, Levels] | None) -> dict[str, EstimandSpec]:
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


CONTRASTED = ("gain", "omega", "endpoint_shift", "diagonal")
MODIFIERS = {"at": CONTRASTED, "average_over": CONTRASTED, "state": ("endpoint_shift",)}


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


def _weights(section: Section, data: DataSpec | None) -> dict[str, str | Mapping[str, float]]:
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


def _model(section: Section) -> ModelSpec:
    family = section.text("family", default="normal") or "normal"
    if family not in FAMILIES:
        section.fault(f"family = {family!r}: this version fits {', '.join(FAMILIES)}")
    model = ModelSpec(
        family=family,
        effects=section.text("effects", required=False),
        stratum_effects=section.text("stratum_effects", required=False),
    )
    section.finish()
    return model


def _priors(section: Section) -> PriorSpec:
    values = {}
    for key in (item.name for item in fields(PriorSpec)):
        if key == "score_location":
            values[key] = section.number(key, test=lambda _: True, wanted="a finite number")
        else:
            values[key] = section.number(key, test=lambda x: x > 0, wanted="a number above 0")
    section.finish()
    return PriorSpec(**values)


def _sampler(section: Section) -> SamplerSpec:
    default = SamplerSpec()
    accept = section.number(
        "target_accept", test=lambda x: 0.5 <= x < 1, wanted="a number from 0.5 to below 1"
    )
    lowest = {"draws": 100, "tune": 100, "chains": 2, "seed": 0}
    given = {key: section.whole(key, low=low) for key, low in lowest.items()}
    section.finish()
    chosen = {key: value for key, value in given.items() if value is not None}
    return replace(
        default, target_accept=default.target_accept if accept is None else accept, **chosen
    )
