"""A spec to start from, written from what a table's columns could be.

Invariant: what is written is a text to read and correct; nothing is run with it. Where a part
cannot be guessed the text has a question mark in its place and says so. Pinned by
`tests/test_doctor.py`.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fourcorner import names
from fourcorner.doctor.column import Column
from fourcorner.doctor.guess import Guess, guess
from fourcorner.io.sql import literal
from fourcorner.io.tables import Table
from fourcorner.scores.typed import canonical_sql

UNKNOWN = "?"
NO_CHANGE = "# without a change there are agreement rates alone; with one, gains:"

Levels = tuple[str, ...]


def suggest(table: Table, columns: Sequence[Column], path: Path) -> dict[str, Any]:
    """A spec to start from.

    Parameters
    ----------
    table : Table
    columns : sequence of Column
    path : Path
        Of the table, as the spec will name it.

    Returns
    -------
    dict
        ``spec``: TOML; ``open``: parts that nobody but the reader can name.
    """
    found = guess(table, columns)
    asks = found.change is None and found.unit is not None and found.score is not None
    agreeing = _agreements(table, found) if asks else []
    lines = [
        "# Every line is a guess from names and levels: read it, correct it, then run",
        "#   fourcorner doctor THIS-FILE.toml",
        'kind = "scores"',
        f"title = {_text(path.stem)}",
        "",
        "[data]",
        f"path = {_text(path.name)}",
        *_scored(found),
        f"unit = {_text(found.unit or UNKNOWN)}",
        *_part("transition", found.transition),
        *_change(found.change, needed=not agreeing),
        *_factors("channel", found.channel, "# the reference first: is it?"),
        *_factors("replicate", found.replicate, "# averaged within a cell"),
        *_part("session", found.session),
        *_part("endpoint", found.endpoint),
        *_part("stratum", found.stratum),
        *([f"attributes = {_list(found.attributes)}"] if found.attributes else []),
        *(f"# no part yet: {_text(name)}, {why}" for name, why in found.left_out.items()),
        "",
        "[estimands]",
        *(agreeing or _gains(table, found.channel)),
    ]
    parts = {"score": found.score, "unit": found.unit, "change": found.change or agreeing or None}
    if found.candidate is not None:
        parts["target"] = found.target
    unknown = [part for part, name in parts.items() if name is None]
    return {"spec": "\n".join(lines) + "\n", "open": unknown}


def _scored(found: Guess) -> list[str]:
    """The column of margins, or of the scores of candidates, a row for each."""
    score = _text(found.score or UNKNOWN)
    if found.candidate is None:
        return [f"score = {score}"]
    return [
        f"{names.OPTION_SCORE} = {score}  # a row for each candidate",
        f"candidate = {_text(found.candidate)}",
        f"target = {_text(found.target or UNKNOWN)}  # which candidate is right",
    ]


def _part(key: str, column: str | None) -> list[str]:
    return [] if column is None else [f"{key} = {_text(column)}"]


def _change(change: tuple[str, str, str] | None, *, needed: bool) -> list[str]:
    if change is not None:
        column, before, after = map(_text, change)
        return [f"change = {{ column = {column}, before = {before}, after = {after} }}"]
    levels = f'before = "{UNKNOWN}", after = "{UNKNOWN}"'
    written = f'change = {{ column = "{UNKNOWN}", {levels} }}'
    if needed:
        return [f"{written}  # leave it out where nothing changes: agreement rates remain"]
    return [NO_CHANGE, f"# {written}"]


def _factors(part: str, factors: Mapping[str, Levels], comment: str) -> list[str]:
    listed = [f"{_key(name)} = {_list(levels)}" for name, levels in factors.items()]
    return [f"{part} = {{ {', '.join(listed)} }}  {comment}"] if listed else []


def _agreements(table: Table, found: Guess) -> list[str]:
    """How often scores are the same across each replicate, and in two levels of a channel."""
    lines = [
        f"{_key(f'{name}_agreement')} = {{ agreement = {_text(name)}"
        f"{_others(table, name, levels, found.channel)} }}"
        for name, levels in found.replicate.items()
        if len(levels) > 1 and not (name == names.WAVE and found.session)
    ]
    for name, levels in found.channel.items():
        others = {other: of for other, of in found.channel.items() if other != name}
        pair, more = levels[:2], _others(table, name, levels[:2], others)
        said = f"{{ {_key(name)} = {_list(pair)} }}{more}"
        lines.append(f"{_key(f'{name}_agreement')} = {{ agreement = {said} }}")
    return lines


def _gains(table: Table, channel: Mapping[str, Levels]) -> list[str]:
    """Gains and their difference along the first channel factor."""
    if not channel:
        return ["gain = { gain = {} }"]
    (name, levels), *rest = channel.items()
    quoted, more = _key(name), _others(table, name, levels[:2], dict(rest))
    return [
        f"gain = {{ gain = {{ {quoted} = {_text(levels[0])} }}{more} }}",
        f"omega = {{ omega = {{ {quoted} = {_list(levels[:2])} }}{more} }}  # second minus first",
    ]


def _others(table: Table, name: str, levels: Levels, others: Mapping[str, Levels]) -> str:
    """The other factors averaged; fixed where not every combination has all of some levels."""
    if not others:
        return ""
    moved, kept = canonical_sql(table, name), ", ".join(map(literal, levels))
    texts = [canonical_sql(table, other) for other in others]
    found = table.frame(
        f"SELECT {', '.join(f'{text} AS c{i}' for i, text in enumerate(texts))}, "
        f"count(DISTINCT {moved}) AS n FROM rows WHERE {moved} IN ({kept}) "
        f"GROUP BY ALL ORDER BY n DESC, count(*) DESC, "
        f"{', '.join(f'c{i}' for i in range(len(texts)))}"
    )
    complete = int((found["n"] == len(levels)).sum())
    if complete == math.prod(map(len, others.values())) or not complete:
        return f", average_over = {_list(list(others))}"
    at = zip(others, found.iloc[0][: len(texts)].tolist(), strict=True)
    return f", at = {{ {', '.join(f'{_key(other)} = {_text(level)}' for other, level in at)} }}"


def _text(value: str) -> str:
    """A TOML basic string; JSON's escapes are TOML's."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _list(values: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, values))}]"
