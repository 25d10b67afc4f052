"""Families of rows as the page's template takes them.

Invariant: a section shows lines and breakdown rows and computes no estimate. Pinned by
`tests/test_families.py`.
"""

from collections.abc import Sequence
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import families, partplot, stability
from fourcorner.report.families import Family
from fourcorner.report.lines import Line
from fourcorner.report.svg import drawn_if


def family(audit: Audit, about: Family) -> dict[str, Any]:
    """A family's table, and the parts of its rows side by side."""
    every = [line for lines in about.rows.values() for line in lines]
    return {
        "about": about,
        "contrast_wise": any(line.contrast_wise is not None for line in every),
        "levels": families.levels(audit, about),
    }


def signs(audit: Audit, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Families of signs: in words, drawn, as a table, and by part of the cohort."""
    found = [x for x in families.families(audit, lines) if x.kind == families.SIGNS]
    shown = []
    for place, (about, finding) in enumerate(zip(found, stability.findings(found), strict=True)):
        cross = about.rows[names.CROSS_CHANNEL][0].estimand.name
        parts = [
            row
            for row in audit.breakdown_rows
            if row.name == cross and row.by != names.LEAVE_ONE_OUT
        ]
        said = "; ".join(f"{weights}: {words}" for weights, words, _ in finding.statements)
        shown.append(
            {
                **family(audit, about),
                "finding": finding,
                "figure": drawn_if(partplot.sign_rates(about), f"signs{place}", said),
                "parts": drawn_if(
                    partplot.part_forest(parts, audit.spec.data.measure),
                    f"signparts{place}",
                    f"Cross-channel disagreement of {about.name} by part of the cohort.",
                ),
            }
        )
    return shown
