"""One self-contained page of an audit: figures inline, nothing fetched, user text escaped.

Invariant: the page depends on the audit and the provenance alone, so two renders are the same
bytes; every estimate, probability and check of the audit is on it, and a design row on a
contrast's own cases that says what the one on the fit's cohort says is given once. Pinned by
`tests/test_report.py`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import (
    coverage,
    criteria,
    effects,
    estimated,
    families,
    panels,
    parted,
    words,
)
from fourcorner.report.claims import claims, gaps
from fourcorner.report.lines import Line, collect
from fourcorner.report.provenance import facts
from fourcorner.report.verdict import verdict

TEMPLATE = "report.html"
VERDICTS = {"fail": "failed", "shown": "shown", "pass": "passed", "not_run": "not run"}


def render(audit: Audit, provenance: Mapping[str, Any]) -> str:
    """Write an audit as one HTML page.

    Parameters
    ----------
    audit : Audit
    provenance : mapping
        As `fourcorner.runs.provenance` returns it; keys that are not known are listed as they are.

    Returns
    -------
    str
    """
    lines = collect(audit)
    page = {
        "title": audit.spec.title,
        "verdict": verdict(audit, lines),
        "not_available": audit.not_available,
        "fitted": audit.posterior_method is not None,
        "score": audit.spec.data.measure,
        "funnel": coverage.funnel(audit),
        "cells": coverage.cells(audit),
        "estimates": estimated.estimates(audit, lines),
        "signs": parted.signs(audit, lines),
        "criteria": criteria.told(audit),
        "pooling": estimated.pooling(audit, lines),
        "breakdowns": parted.breakdowns(audit, lines),
        "claims": claims(audit),
        "sensitivity": panels.sensitivities(audit),
        "effects": effects.effects(audit),
        "checks": _checks(audit, lines, provenance),
        "provenance": facts(audit, provenance),
    }
    return _environment().get_template(TEMPLATE).render(page)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fourcorner.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        bounds=words.bounds,
        estimate=words.estimate,
        chance=words.probability,
        cell=words.cell,
        breaks=_breaks,
        told=_told,
    )
    return environment


def _breaks(name: str) -> Markup:
    """A name that a narrow column may break after its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def _told(text: str) -> Markup:
    """A sentence whose commands and names in backticks are set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick that nothing closes
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _checks(audit: Audit, lines: Sequence[Line], provenance: Mapping[str, Any]) -> dict[str, Any]:
    rank = list(VERDICTS)
    ran = [
        row
        for row in audit.check_rows
        if row.verdict != names.NOT_RUN and row.name not in panels.PANELS
    ]
    left = families.not_run(audit.check_rows, lines)
    left += [f"{what}: {why}" if what else why for what, why in gaps(audit.not_available)]
    if provenance.get("left_out"):
        left.append(str(provenance["left_out"]))
    count = Counter(row.verdict for row in audit.check_rows)
    return {
        "rows": sorted(ran, key=lambda row: rank.index(row.verdict)),
        "counts": [
            f"{count[verdict]:,} {said}" for verdict, said in VERDICTS.items() if count[verdict]
        ],
        "words": VERDICTS,
        "left": left,
        "number": _check_number,
    }


def _check_number(value: float | None) -> str:
    """A check's number: four digits, since thresholds such as 1.01 need them."""
    if value is None:
        return "—"
    whole = value == round(value) or abs(value) >= 1000
    text = f"{value:,.0f}" if whole else f"{value:#.4g}"
    return text.replace("-", words.MINUS)
