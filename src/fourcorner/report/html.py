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

import numpy as np
import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fourcorner import names, scores
from fourcorner.auditing import Audit
from fourcorner.report import context, families, panels, plots, words
from fourcorner.report.cellmap import maps
from fourcorner.report.claims import claims, gaps
from fourcorner.report.lines import BELOW, REVERSALS, Line, collect, kinds, notes, shown
from fourcorner.report.provenance import facts
from fourcorner.report.svg import drawn
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
WHY = {
    "no_row": "the table has no row for it",
    "blank": "its row holds no score",
    "censored": "an upper limit is in the way of the margin",
    "other_replicate_missing": "measured, but another replicate of its cell is missing",
    "other_cell_missing": "its cell is complete, but another cell of its unit is not",
}


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
        "fitted": audit.tree is not None,
        "score": audit.spec.data.measure,
        "funnel": _funnel(audit),
        "cells": _cells(audit),
        "estimates": _estimates(audit, lines),
        "signs": context.signs(audit, lines),
        "pooling": _pooling(audit, lines),
        "breakdowns": context.breakdowns(audit, lines),
        "claims": claims(audit),
        "sensitivity": panels.sensitivities(audit),
        "effects": None if audit.tree is None else _effects(audit.tree, audit.spec.data.measure),
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
    )
    return environment


def _breaks(name: str) -> Markup:
    """A name that a narrow column may break after its underscores."""
    return Markup("_<wbr>").join(escape(part) for part in name.split("_"))


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
        "reasons": {WHY[why]: count for why, count in counts["reasons"].items() if count},
        "where": where,
        "lost": lost,
        "figure": drawn(
            plots.funnel(counts), "funnel", f"Number of scores at each stage: {'; '.join(stages)}."
        ),
    }


def _cells(audit: Audit) -> dict[str, Any]:
    drawn_maps = maps(audit.scores)
    measured = [np.isfinite(cells.values).any(axis=0) for cells in drawn_maps.values()]
    total = sum(known.size for known in measured)
    never = sum(int((~known).sum()) for known in measured)
    said = f"Mean {audit.spec.data.measure} of {total} cells; {never} never measured."
    return {
        "total": total,
        "never": never,
        "sessions": [session for session in drawn_maps if session],
        "replicates": scores.replicate_dims(audit.scores),
        "figure": drawn(plots.cell_map(audit.scores), "cells", said),
    }


def _estimates(audit: Audit, lines: Sequence[Line]) -> dict[str, Any]:
    listed = list(notes(lines))
    single = shown(families.alone(lines))
    groups = []
    for name in dict.fromkeys(line.estimand.name for line in single):
        mine = [line for line in single if line.estimand.name == name]
        meaning = words.meaning(audit.spec.estimands[name])
        groups.append(
            {
                "name": name,
                "statistic": mine[0].estimand.statistic,
                "meaning": meaning,
                "lines": mine,
            }
        )
    columns_shown = {
        "design": any(line.design is not None for line in single),
        "contrast_wise": any(line.contrast_wise is not None for line in single),
        "posterior": any(line.posterior is not None for line in single),
        "reversals": any(REVERSALS[0] in line.probabilities for line in single),
        "bounds": any(line.bounds is not None for line in single),
    }
    rope = audit.spec.model.rope if any("rope" in line.probabilities for line in single) else None
    columns = (
        2
        + (rope is not None)
        + columns_shown["design"]
        + 2
        * sum(columns_shown[key] for key in ("posterior", "reversals", "contrast_wise", "bounds"))
    )
    count = sum(len(line.drawn) for line in single)
    return {
        "groups": groups,
        "shown": columns_shown,
        "columns": columns,
        "notes": listed,
        "marks": lambda line: [listed.index(note) + 1 for note in line.notes],
        "below": BELOW,
        "rope": None if rope is None else f"{rope:g}",
        "reversals": REVERSALS,
        "whose": context.whose(audit),
        "kinds": kinds(lines),
        "cohort": panels.cohort(lines),
        "families": [
            context.family(audit, family)
            for family in families.families(audit, lines)
            if family.kind != families.SIGNS
        ],
        "figure": drawn(
            plots.forest(audit),
            "forest",
            f"{words.count(count, 'estimate')} with intervals, both engines; the numbers are in "
            f"the table.",
        ),
    }


def _pooling(audit: Audit, lines: Sequence[Line]) -> dict[str, Any] | None:
    rows = panels.pooled(audit, lines)
    if not rows:
        return None
    depends = [row for row in rows if row.depends]
    said = f"{words.count(len(rows), 'estimate')} unpooled, pooled and by design, with intervals."
    return {
        "rows": rows,
        "ways": list(plots.WAYS),
        "looks": [look.label for look in plots.WAYS.values()],
        "depends": depends,
        "compared": sum(row.compared for row in rows),
        "figure": drawn(plots.pooling(rows, audit.spec.data.measure), "pooling", said),
    }


def _effects(tree: xr.DataTree, score: str) -> dict[str, Any]:
    posterior = tree[names.POSTERIOR].to_dataset()
    found: dict[str, Any] = {
        "intercept": None,
        "assumed": [note for note in str(tree.attrs.get("notes", "")).split("\n") if note],
        "tau": [],
        "strata": 0,
        "few": False,
        "deviations": None,
        "figure": drawn(
            plots.effects(tree, score),
            "effects",
            "Effects with 95 % intervals by interaction order, and their spread between units.",
        ),
    }
    levels = [str(name) for name in posterior[names.EFFECT].values if _is_level(str(name))]
    said = [_said(posterior[names.VAR_EFFECT].sel({names.EFFECT: name})) for name in levels]
    if levels:
        several = [f"{name} {text}" for name, text in zip(levels, said, strict=True)]
        found["intercept"] = said[0] if len(levels) == 1 else words.listed(several)
    if names.VAR_TAU in posterior:
        tau = posterior[names.VAR_TAU]
        found["tau"] = [
            (words.order(order), _said(tau.sel({names.ORDER: order}), sign=False))
            for order in tau[names.ORDER].values.tolist()
        ]
    if names.VAR_DEVIATION in posterior:
        deviation = posterior[names.VAR_DEVIATION]
        sizes = deviation.sizes
        found["strata"] = sizes[names.STRATUM]
        found["few"] = sizes[names.STRATUM] < FEW_STRATA
        if sizes[names.STRATUM] * sizes[names.STRATUM_EFFECT] <= MOST_DEVIATIONS:
            said = "Deviations of each stratum from the common effects, with 95 % intervals."
            found["deviations"] = drawn(plots.deviations(tree, score), "deviations", said)
    return found


def _is_level(name: str) -> bool:
    """Whether an effect is the level of all cells, or of those of a scale group."""
    return name == "intercept" or name.startswith("intercept [")


def _said(draws: xr.DataArray, *, sign: bool = True) -> str:
    value, ends = plots.summary(draws)
    places = words.decimals_together([(value, ends)])
    return f"{words.number(value, places, sign=sign)} {words.interval(ends, places, sign=sign)}"


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
