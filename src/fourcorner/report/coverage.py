"""What was measured: the funnel and the cell map as the page's template takes them.

Invariant: every stage of the funnel and every reason that lost a score is told. Pinned by
`tests/test_report.py`.
"""

from typing import Any

import numpy as np

from fourcorner import contrasts, names, scores
from fourcorner.auditing import Audit
from fourcorner.report import plots, words
from fourcorner.report.cellmap import maps
from fourcorner.report.svg import drawn

STAGES = {
    "attempted": "every declared combination of {case}, cell and replicate",
    "present": "has a row in the table",
    "finite": "the row holds a score",
    "complete": "all replicates of its cell are there",
    "in_cohort": "its {case} is complete in every cell",
}
WHY = {
    "no_row": "the table has no row for it",
    "blank": "its row holds no score",
    "censored": "an upper limit is in the way of the margin",
    "other_replicate_missing": "measured, but another replicate of its cell is missing",
    "other_cell_missing": "its cell is complete, but another cell of its {case} is not",
}


def funnel(audit: Audit) -> dict[str, Any]:
    """Scores at each stage, in all and by part, and why they were lost."""
    counts = audit.funnel
    several = counts["transitions"] != counts["units"]
    case = names.TRANSITION if several else names.UNIT
    lost = counts["in_cohort"] < counts["attempted"]
    stages = [f"{stage.replace('_', ' ')} {counts[stage]:,}" for stage in STAGES]
    where = [
        f"{column} = {words.listed(list(kept), 'or')}"
        for column, kept in audit.spec.data.where.items()
    ]
    return {
        "counts": counts,
        "stages": {stage: said.format(case=case) for stage, said in STAGES.items()},
        "reasons": {
            WHY[why].format(case=case): count for why, count in counts["reasons"].items() if count
        },
        "where": where,
        "lost": lost,
        "figure": drawn(
            plots.funnel(counts), "funnel", f"Number of scores at each stage: {'; '.join(stages)}."
        ),
    }


def cells(audit: Audit) -> dict[str, Any]:
    """The cell map, and how many cells nobody measured."""
    drawn_maps = maps(audit.scores)
    measured = [np.isfinite(cells.values).any(axis=0) for cells in drawn_maps.values()]
    total = sum(known.size for known in measured)
    never = sum(int((~known).sum()) for known in measured)
    said = f"Mean {audit.spec.data.measure} of {total} cells; {never} never measured."
    return {
        "total": total,
        "never": never,
        "sessions": [session for session in drawn_maps if session],
        "replicates": words.listed(scores.replicate_dims(audit.scores)),
        "figure": drawn(plots.cell_map(audit.scores), "cells", said),
        "crossings": crossings(audit),
    }


def crossings(audit: Audit) -> list[dict[str, Any]]:
    """What was crossed, and so which interactions with the change the cells tell of."""
    observed = scores.cells(audit.scores).notnull().any(names.TRANSITION)
    if names.STATE not in observed.dims:
        return []
    scale = scores.scale_factors(audit.scores)
    return [
        {
            "name": " × ".join(one.factors),
            "complete": one.complete,
            "possible": one.possible,
            "missing": words.few([f"({words.cell(cell)})" for cell in one.missing]),
            "said": _tells(one),
        }
        for one in contrasts.crossings(observed, scale)
    ]


def _tells(one: contrasts.Crossing) -> str:
    """What faces of some factors identify."""
    if not one.factors:
        return "the gain in each of these channels"
    if not one.complete:
        return "no interaction of these factors with the change, without assumptions"
    if not one.linked:
        return "signs on either side, not sizes: nothing links the scales"
    depth = "the difference of two gains" if len(one.factors) == 1 else "a higher interaction"
    some = "" if one.complete == one.possible else ", in the complete faces"
    return f"{depth}{some}"
