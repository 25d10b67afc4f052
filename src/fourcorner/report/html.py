"""One self-contained page of an audit: figures inline, nothing fetched, user text escaped.

Invariant: the page depends on the audit and the provenance alone, so two renders are the same
bytes; every row of the audit is on it. Pinned by `tests/test_report.py`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from fourcorner import names, scores
from fourcorner.auditing import Audit
from fourcorner.report import plots, words
from fourcorner.report.lines import BELOW, REVERSALS, Line, collect, kinds, notes, refusals
from fourcorner.report.svg import to_svg
from fourcorner.report.verdict import verdict

TEMPLATE = "report.html"
MOST_DEVIATIONS = 80  # rows of a figure that still reads
FEW_STRATA = 10  # too few to say much about how strata differ
VERDICTS = {"fail": "failed", "shown": "shown", "pass": "passed", "not_run": "not run"}
STAGES = {
    "attempted": "every declared combination of unit, cell and replicate",
    "present": "has a row in the table",
    "finite": "the row holds a score",
    "complete": "all replicates of its cell are there",
    "in_cohort": "its unit is complete in every cell",
}
FACTS = {
    "source": "Table",
    "file_sha256": "SHA-256 of the file",
    "scores_sha256": "SHA-256 of the validated scores",
    "spec_sha256": "SHA-256 of the spec",
    "seed": "Seed",
    "sampling": "Sampler attempts",
    "left_out": "Left out of the fit's file",
    "python": "Python",
    "machine": "Machine",
    "created": "Written",
}


def render(audit: Audit, provenance: Mapping[str, Any]) -> str:
    """Write an audit as one HTML page.

    Parameters
    ----------
    audit : Audit
    provenance : mapping
        As `fourcorner.runs.provenance` returns it; other keys are listed as they are.

    Returns
    -------
    str
    """
    lines = collect(audit)
    context = {
        "title": audit.spec.title,
        "verdict": verdict(audit, lines),
        "not_available": audit.not_available,
        "fitted": audit.tree is not None,
        "score": audit.spec.data.score,
        "funnel": _funnel(audit),
        "cells": _cells(audit),
        "estimates": _estimates(audit, lines),
        "refusals": refusals(audit),
        "effects": None if audit.tree is None else _effects(audit.tree, audit.spec.data.score),
        "checks": _checks(audit, provenance),
        "provenance": _provenance(audit, provenance),
    }
    return _environment().get_template(TEMPLATE).render(context)


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
        estimate=words.estimate, chance=words.probability, cell=words.cell, breaks=_breaks
    )
    return environment


def _breaks(name: str) -> Markup:
    """A name that a narrow column may break after its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


def _figure(figure: Figure, name: str, description: str) -> Markup:
    return Markup(to_svg(figure, name, description))  # noqa: S704 - drawn and escaped by to_svg


def _funnel(audit: Audit) -> dict[str, Any]:
    counts = audit.funnel
    lost = counts["in_cohort"] < counts["attempted"]
    stages = [f"{stage.replace('_', ' ')} {counts[stage]:,}" for stage in STAGES]
    where = [
        f"{column} = {words.listed(list(kept), 'or')}"
        for column, kept in audit.spec.data.where.items()
    ]
    return {
        "counts": counts,
        "stages": STAGES,
        "where": where,
        "lost": lost,
        "figure": _figure(
            plots.funnel(counts), "funnel", f"Number of scores at each stage: {'; '.join(stages)}."
        ),
    }


def _cells(audit: Audit) -> dict[str, Any]:
    cells = scores.cells(audit.scores)
    measured = np.isfinite(cells.values).any(axis=0)
    never = int((~measured).sum())
    said = f"Mean {audit.spec.data.score} of {measured.size} cells; {never} never measured."
    return {
        "total": measured.size,
        "never": never,
        "replicates": scores.replicate_dims(audit.scores),
        "figure": _figure(plots.cell_map(audit.scores), "cells", said),
    }


def _estimates(audit: Audit, lines: Sequence[Line]) -> dict[str, Any]:
    listed = notes(lines)
    groups = []
    for name in dict.fromkeys(line.estimand.name for line in lines):
        mine = [line for line in lines if line.estimand.name == name]
        meaning = words.meaning(audit.spec.estimands[name])
        groups.append(
            {
                "name": name,
                "statistic": mine[0].estimand.statistic,
                "meaning": meaning,
                "lines": mine,
            }
        )
    shown = {
        "design": any(line.design is not None for line in lines),
        "contrast_wise": any(line.contrast_wise is not None for line in lines),
        "posterior": any(line.posterior is not None for line in lines),
        "reversals": any(REVERSALS[0] in line.probabilities for line in lines),
    }
    columns = (
        2 + shown["design"] + 2 * (shown["posterior"] + shown["reversals"] + shown["contrast_wise"])
    )
    drawn = sum(len(line.drawn) for line in lines)
    return {
        "groups": groups,
        "shown": shown,
        "columns": columns,
        "notes": listed,
        "marks": lambda line: [listed.index(note) + 1 for note in line.notes],
        "below": BELOW,
        "reversals": REVERSALS,
        "joint": any(row.cohort == names.COHORT_JOINT for row in audit.rows),
        "kinds": kinds(audit.rows),
        "cohort": [line for line in lines if line.cohort is not None],
        "figure": _figure(
            plots.forest(audit),
            "forest",
            f"{words.count(drawn, 'estimate')} with intervals, both engines; the numbers are in "
            f"the table.",
        ),
    }


def _effects(tree: xr.DataTree, score: str) -> dict[str, Any]:
    posterior = tree[names.POSTERIOR].to_dataset()
    found: dict[str, Any] = {
        "intercept": None,
        "tau": [],
        "strata": 0,
        "few": False,
        "deviations": None,
        "figure": _figure(
            plots.effects(tree, score),
            "effects",
            "Effects with 95 % intervals by interaction order, and their spread between units.",
        ),
    }
    if "intercept" in posterior[names.EFFECT].values:
        draws = posterior[names.VAR_EFFECT].sel({names.EFFECT: "intercept"})
        found["intercept"] = _said(draws)
    if names.VAR_TAU in posterior:
        tau = posterior[names.VAR_TAU]
        found["tau"] = [
            (words.order(int(order)), _said(tau.sel({names.ORDER: order}), sign=False))
            for order in tau[names.ORDER].values
        ]
    if names.VAR_DEVIATION in posterior:
        deviation = posterior[names.VAR_DEVIATION]
        sizes = deviation.sizes
        found["strata"] = sizes[names.STRATUM]
        found["few"] = sizes[names.STRATUM] < FEW_STRATA
        if sizes[names.STRATUM] * sizes[names.STRATUM_EFFECT] <= MOST_DEVIATIONS:
            said = "Deviations of each stratum from the common effects, with 95 % intervals."
            found["deviations"] = _figure(plots.deviations(tree, score), "deviations", said)
    return found


def _said(draws: xr.DataArray, *, sign: bool = True) -> str:
    value, ends = plots.summary(draws)
    places = words.decimals([value, *ends])
    return f"{words.number(value, places, sign=sign)} {words.interval(ends, places, sign=sign)}"


def _checks(audit: Audit, provenance: Mapping[str, Any]) -> dict[str, Any]:
    rank = list(VERDICTS)
    ran = [row for row in audit.check_rows if row.verdict != "not_run"]
    left = [
        f"{row.name}, {row.target}: {row.message}"
        for row in audit.check_rows
        if row.verdict == "not_run"
    ]
    left += audit.not_available
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


def _provenance(audit: Audit, provenance: Mapping[str, Any]) -> dict[str, Any]:
    known = {FACTS[key]: provenance[key] for key in FACTS if provenance.get(key) is not None}
    other = {
        key: value
        for key, value in provenance.items()
        if key not in FACTS and not isinstance(value, Mapping) and value is not None
    }
    seconds = audit.timing
    return {
        "facts": {**known, **other},
        "lists": {key: value for key, value in provenance.items() if isinstance(value, Mapping)},
        "timing": None if seconds is None else _timing(seconds),
        "spec": audit.spec.text,
    }


def _timing(seconds: Mapping[str, float]) -> str:
    return (
        f"compiling {seconds['compile_s']:.1f} s, sampling {seconds['sample_s']:.1f} s; least bulk "
        f"effective sample size of a parameter {seconds['min_ess_bulk']:,.0f}"
    )
