"""Estimates side by side, and pooling three ways, as the page's template takes them.

Invariant: a section shows lines and computes no estimate. Pinned by `tests/test_report.py`.
"""

from collections.abc import Sequence
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.estimands import OFFSETS
from fourcorner.report import families, panels, parted, plots, words
from fourcorner.report.lines import BELOW, REVERSALS, Line, fitted_cohort, kinds, notes, shown
from fourcorner.report.meaning import meaning
from fourcorner.report.svg import drawn

WHOSE = {
    names.COHORT_JOINT: "joint cohort, the units complete in every cell",
    names.COHORT_CONTRAST: "transitions that are complete for each estimand",
    names.COHORT_OBSERVED: "units with any cell measured: the design estimate takes those complete "
    "for its contrast, the model treats gaps as missing at random",
}


def whose(audit: Audit) -> str:
    """Which cohort both engines use."""
    return WHOSE[fitted_cohort(audit)]


def estimates(audit: Audit, lines: Sequence[Line]) -> dict[str, Any]:
    """Every estimand that stands alone, and the families that are not of signs."""
    listed = list(notes(lines))
    single = shown(families.alone(lines))
    groups = []
    for name in dict.fromkeys(line.estimand.name for line in single):
        mine = [line for line in single if line.estimand.name == name]
        said = meaning(audit.spec.estimands[name])
        contrast = mine[0].estimand.contrast
        if not contrast.cancels_offsets and contrast.kind != names.ALLOCATION:  # which says so
            said = f"{said}; {OFFSETS}"
        groups.append({"name": name, "meaning": said, "lines": mine})
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
        "weighed": audit.posterior_method == names.BAYESIAN_BOOTSTRAP,
        "columns": columns,
        "notes": listed,
        "marks": lambda line: sorted(listed.index(note) + 1 for note in line.notes),
        "below": BELOW,
        "rope": None if rope is None else f"{rope:g}",
        "reversals": REVERSALS,
        "whose": whose(audit),
        "kinds": kinds(lines),
        "cohort": panels.cohort(lines),
        "families": [
            parted.family(audit, family)
            for family in families.families(audit, lines)
            if family.kind != names.SIGNS
        ],
        "figure": drawn(
            plots.forest(audit),
            "forest",
            f"{words.count(count, 'estimate')} with intervals, both engines; the numbers are in "
            f"the table.",
        ),
    }


def pooling(audit: Audit, lines: Sequence[Line]) -> dict[str, Any] | None:
    """Weighted estimates three ways; None where none was."""
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
