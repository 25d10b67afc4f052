"""Families and parts of estimates as the page's template takes them.

Invariant: a section shows lines and breakdown rows and computes no estimate. Pinned by
`tests/test_families.py`.
"""

from collections.abc import Sequence
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import families, panels, partplot, stability, words
from fourcorner.report.families import Family
from fourcorner.report.lines import BELOW, Line
from fourcorner.report.svg import drawn_if

EVENTS = {
    BELOW: "P(< 0)",
    names.REVERSAL_DOWN: "P(+ to \N{MINUS SIGN})",
    names.REVERSAL_UP: "P(\N{MINUS SIGN} to +)",
}


def family(audit: Audit, about: Family) -> dict[str, Any]:
    """A family's table, and the parts of its rows side by side, with whom each is about.

    Parts are always of the rows' own cases, which a fit's cohort may have fewer of.
    """
    every = [line for lines in about.rows.values() for line in lines]
    joint = audit.tree is not None and audit.tree.attrs["cohort"] == names.COHORT_JOINT
    return {
        "about": about,
        "contrast_wise": any(line.contrast_wise is not None for line in every),
        "joint": joint,
        "own": any(line.own_cases is not None for line in every),
        "posterior": any(line.posterior is not None for line in every),
        "chances": _chances,
        "levels": families.levels(audit, about),
    }


def _chances(line: Line) -> list[str]:
    """Posterior probabilities of a row, each with its event."""
    found = line.probabilities.items()
    return [f"{EVENTS[event]} {words.probability(chance)}" for event, chance in found]


def signs(audit: Audit, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Families of signs: in words, drawn, as a table, and by part of the cohort."""
    found = [x for x in families.families(audit, lines) if x.kind == names.SIGNS]
    shown = []
    for place, (about, finding) in enumerate(zip(found, stability.findings(found), strict=True)):
        cross = about.rows[names.CROSS_CHANNEL][0].estimand.name
        parts = [
            row
            for row in audit.breakdown_rows
            if row.name == cross and row.by != names.LEAVE_ONE_OUT
        ]
        said = "; ".join(f"{weights}: {text}" for weights, text, _ in finding.statements)
        shown.append(
            {
                **family(audit, about),
                "finding": finding,
                "retried": names.EXCESS in about.rows,
                "zones": any(row.startswith(names.BEYOND) for row in about.rows),
                "figure": drawn_if(partplot.sign_rates(about), f"signs{place}", said),
                "parts": drawn_if(
                    partplot.part_forest(parts, audit.spec.data.measure),
                    f"signparts{place}",
                    f"Cross-channel disagreement of {about.name} by part of the cohort.",
                ),
            }
        )
    return shown


def breakdowns(audit: Audit, lines: Sequence[Line]) -> dict[str, Any] | None:
    """Parts of the estimands that stand alone, drawn and as a table; None where there are none."""
    found = panels.parts(audit)
    by = list(dict.fromkeys(part for parts in found for part in parts.by))
    figures = [
        drawn_if(
            partplot.part_forest(parts.drawn, audit.spec.data.measure),
            f"parts{place}",
            f"Parts of {parts.name} with their intervals; the numbers are in the table.",
        )
        for place, parts in enumerate(found)
    ]
    adds = any(text for parts in found for row in parts.rows for text in row["adds"])
    if not found:
        return None
    return {
        "parts": found,
        "by": by,
        "words": _heading,
        "figures": figures,
        "adds": adds,
        "own": any(line.own_cases for line in families.alone(lines)),
    }


def _heading(by: str) -> str:
    said = panels.by_words(by)
    return said[0].upper() + said[1:]
