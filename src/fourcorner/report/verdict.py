"""The verdict: what the results say, in one paragraph, and what they do not.

Invariant: the headline never says that all is well when a gate failed, a claim is refused or the
engines differ. Pinned by `tests/test_report.py`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import words
from fourcorner.report.findings import DIFFER, Finding, asks_reversal, findings, kind, reverses
from fourcorner.report.lines import Line, is_comparison

LISTED = 4  # names in one sentence


@dataclass(frozen=True)
class Verdict:
    """The verdict of an audit.

    Attributes
    ----------
    tone : {"good", "mixed", "bad"}
    headline : str
    sentences : tuple of str
        One paragraph.
    findings : tuple of Finding
        One for each comparison of gains.
    limits : tuple of str
        What the report does not claim.
    """

    tone: str
    headline: str
    sentences: tuple[str, ...]
    findings: tuple[Finding, ...]
    limits: tuple[str, ...]


def verdict(audit: Audit, lines: Sequence[Line]) -> Verdict:
    """Put an audit into words."""
    comparisons = [line for line in lines if is_comparison(line.estimand.contrast)]
    means = [line for line in comparisons if line.estimand.statistic == names.MEAN]
    differ = sum(kind(line) == DIFFER for line in means)
    tone, headline = _headline(audit, differ)
    sentences = [_gates(audit), *_engines(audit), *_refused(lines), *_overview(means)]
    sentences += [*_reversals(means), *_depends(audit, differ)]
    return Verdict(
        tone,
        headline,
        tuple(sentences),
        tuple(findings(audit, comparisons, lines)),
        tuple(_limits(audit, lines)),
    )


def _headline(audit: Audit, differ: int) -> tuple[str, str]:
    failed = sum(row.gated and row.verdict == "fail" for row in audit.check_rows)
    if failed:
        return "bad", f"{words.count(failed, 'gate')} failed"
    if audit.tree is None:
        return "mixed", "Design estimates only: no second engine to check them"
    trouble = []
    if any(row.refused is not None for row in audit.rows):
        trouble.append("some claims are not supported")
    if differ:
        trouble.append(f"the engines differ on {words.count(differ, 'comparison')}")
    gates = "All gates passed" if audit.check_rows else "No gate was run"
    tone = "mixed" if trouble or not audit.check_rows else "good"
    return tone, "; ".join([gates, *trouble])


def _gates(audit: Audit) -> str:
    gated = [row for row in audit.check_rows if row.gated]
    count = Counter(row.verdict for row in gated)
    ran = count["pass"] + count["fail"]
    if not ran:
        return "No gate was run, so no result here has been checked."
    left = f"; {count['not_run']:,} did not apply" if count["not_run"] else ""
    if not count["fail"]:
        return f"All {words.count(ran, 'gate')} that ran passed{left}."
    failed = [f"{row.name}: {row.target}" for row in gated if row.verdict == "fail"]
    return (
        f"{count['fail']:,} of {words.count(ran, 'gate')} that ran failed "
        f"({_few(failed)}){left}. Rest no decision on the posterior until this is mended."
    )


def _engines(audit: Audit) -> list[str]:
    if audit.tree is None:
        return [f"Not available: {reason}." for reason in audit.not_available]
    if not any(row.method == names.DESIGN for row in audit.rows):
        return ["The design engine was not run."]
    return []


def _refused(lines: Sequence[Line]) -> list[str]:
    pairs = [(line.design, line.posterior) for line in lines]
    refused = sum(
        any(row is not None and row.refused is not None for row in pair) for pair in pairs
    )
    if not refused:
        return []
    return [
        f"{refused:,} of the {words.count(len(lines), 'estimate')} asked for cannot be given, or "
        f"not by both engines; the reasons are below."
    ]


def _overview(means: Sequence[Line]) -> list[str]:
    """How many comparisons of mean gains lie where, by mixture."""
    if not means:
        return ["The spec asks for no comparison of mean gains between channels."]
    parts = []
    for weights in dict.fromkeys(line.weights for line in means):
        kinds = Counter(kind(line) for line in means if line.weights == weights)
        many = "all " if len(kinds) == 1 and kinds.total() > 1 else ""
        said = words.listed([f"{many}{count:,} {where}" for where, count in kinds.items()])
        parts.append(f"under {weights} weights {said}")
    number = len({line.estimand.name for line in means})
    noun = words.count(number, "comparison")
    return [f"Of {noun} of mean gains between channels: {'; '.join(parts)}."]


def _reversals(means: Sequence[Line]) -> list[str]:
    asked = [line for line in means if asks_reversal(line)]
    if not asked:
        return []
    sure = [f"{line.estimand.name} ({line.weights})" for line in asked if reverses(line)]
    if not sure:
        return ["In none of them does the posterior show that the mean gain reverses sign."]
    return [f"By the posterior the mean gain reverses sign between channels in {_few(sure)}."]


def _depends(audit: Audit, differ: int) -> list[str]:
    if not differ:
        return []
    why = ""
    if audit.spec.data.stratum is not None:
        why = ", which lets small strata borrow from the others; the design estimate does not"
    return [
        f"Where the engines differ the conclusion depends on the model{why}. Rest no decision on "
        f"one engine alone there."
    ]


def _few(items: Sequence[str]) -> str:
    if len(items) <= LISTED:
        return words.listed(items)
    return words.listed([*items[:LISTED], f"{len(items) - LISTED:,} more"])


def _limits(audit: Audit, lines: Sequence[Line]) -> list[str]:
    funnel = audit.funnel
    drawn = [row for line in lines for row in line.drawn if row.interval is not None]
    levels = words.listed([f"{100 * level:g} %" for level in sorted({row.level for row in drawn})])
    limits = [
        "An interval that includes zero leaves the sign open; it does not show that there is no "
        "difference.",
        "That gains differ between channels does not say which channel is right.",
        f"The numbers are about {_cohort(audit, funnel)}, and units like them, mixed as the "
        f"weights say ({'; '.join(_mixtures(audit))}). Other tasks, channels or mixtures may "
        f"differ.",
    ]
    if drawn:
        pointwise = (
            f"The {words.count(len(drawn), 'interval')} below are pointwise, {levels} each: "
            f"nothing is adjusted for their number, and some can be expected to miss."
        )
        limits.insert(0, pointwise)
    return limits


def _cohort(audit: Audit, funnel: Mapping[str, Any]) -> str:
    total = words.count(funnel["units"], "unit")
    if audit.tree is None:
        return f"the units that are complete for each contrast, out of {total}"
    return f"the {funnel['units_in_cohort']:,} of {total} that are complete in every cell"


def _mixtures(audit: Audit) -> list[str]:
    said = []
    for name, declared in audit.spec.weights.items():
        if declared == names.EMPIRICAL:
            what = "strata as the cohort happens to mix them"
        elif declared == names.EQUAL:
            what = "every stratum counts the same"
        else:
            assert not isinstance(declared, str), declared
            what = ", ".join(f"{stratum} {share:.3g}" for stratum, share in declared.items())
        said.append(f"{name}: {what}")
    return said
