"""The verdict: what the results say, in sentences.

Invariant: a sentence says no more than the rows do. An interaction is away from zero *in both
engines* only if both intervals exclude zero on the same side; where the engines differ, that is
what is said. Pinned by `tests/test_report.py`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names, scores
from fourcorner.auditing import Audit
from fourcorner.report import words
from fourcorner.report.lines import REVERSALS, Line, is_interaction
from fourcorner.results import Estimate

SURE = 0.95

COUNTED = {-1: "below zero", 0: "sign open", 1: "above zero"}
LIES = {-1: "lies below zero", 0: "includes zero", 1: "lies above zero"}
DIFFER = "the engines differ"
NOTHING = "no interval"


@dataclass(frozen=True)
class Finding:
    """What is found of one interaction: a sentence or more for each mixture."""

    name: str
    meaning: str
    statements: tuple[tuple[str, str], ...]


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
    interactions = [line for line in lines if is_interaction(line.estimand.contrast)]
    tone, headline = _headline(audit)
    sentences = [_gates(audit), *_engines(audit), *_refused(lines), *_overview(interactions)]
    return Verdict(
        tone,
        headline,
        tuple(sentences),
        tuple(_findings(audit, interactions, lines)),
        tuple(_limits(audit, lines)),
    )


def side(row: Estimate | None) -> int | None:
    """Where an interval lies: -1 below zero, 1 above, 0 around it, None if there is none."""
    if row is None or row.interval is None:
        return None
    low, high = row.interval
    return -1 if high < 0 else 1 if low > 0 else 0


def _headline(audit: Audit) -> tuple[str, str]:
    failed = [row for row in audit.check_rows if row.gated and row.verdict == "fail"]
    refused = any(row.refused is not None for row in audit.rows)
    if failed:
        return "bad", f"{words.count(len(failed), 'gate')} failed"
    if audit.tree is None:
        return "mixed", "Design estimates only"
    if refused:
        return "mixed", "All gates passed; some claims are not supported"
    return "good", "All gates passed"


def _gates(audit: Audit) -> str:
    gated = [row for row in audit.check_rows if row.gated]
    count = Counter(row.verdict for row in gated)
    ran = count["pass"] + count["fail"]
    if not ran:
        return "No gate was run, so nothing here has been checked against a second engine."
    left = f"; {count['not_run']:,} did not apply and were not run" if count["not_run"] else ""
    if not count["fail"]:
        return f"All {words.count(ran, 'gate')} that ran passed{left}."
    failed = [f"{row.name}: {row.target}" for row in gated if row.verdict == "fail"]
    return (
        f"{count['fail']:,} of {words.count(ran, 'gate')} that ran failed "
        f"({'; '.join(failed)}){left}. Do not rest a decision on the posterior until this is mended."
    )


def _engines(audit: Audit) -> list[str]:
    if audit.tree is None:
        return [f"Not available: {reason}." for reason in audit.not_available]
    if not any(row.method == names.DESIGN for row in audit.rows):
        return ["The design engine was not run."]
    return []


def _refused(lines: Sequence[Line]) -> list[str]:
    every = [(line.design, line.posterior) for line in lines]
    refused = sum(
        any(row is not None and row.refused is not None for row in pair) for pair in every
    )
    if not refused:
        return []
    total = words.count(len(lines), "estimate")
    return [f"{refused:,} of {total} that the spec asks for cannot be given, see the claims below."]


def _overview(interactions: Sequence[Line]) -> list[str]:
    """How many interactions lie where, by mixture."""
    if not interactions:
        return ["The spec asks for no comparison of gains between channels."]
    lines = [line for line in interactions if line.estimand.statistic == names.MEAN]
    sentences = []
    for weights in dict.fromkeys(line.weights for line in lines):
        here = [line for line in lines if line.weights == weights]
        kinds = Counter(_kind(line) for line in here)
        parts = [f"{count} of {len(here)}: {kind}" for kind, count in kinds.items()]
        noun = "mean comparison" if len(here) == 1 else "mean comparisons"
        sentences.append(
            f"Under {weights} weights, {noun} of gains between channels: {'; '.join(parts)}."
        )
    if any(_kind(line) == DIFFER for line in lines):
        sentences.append(
            "Where the engines differ, the conclusion depends on the model: it lets small strata "
            "borrow from the others, which the design estimate does not. Rest no decision on one "
            "engine alone there."
        )
    return sentences


def _kind(line: Line) -> str:
    sides = (side(line.design), side(line.posterior))
    known = [lean for lean in sides if lean is not None]
    if not known:
        return NOTHING
    if len(known) == 1:
        engine = "design" if sides[0] is not None else "posterior"
        return f"{COUNTED[known[0]]} ({engine} alone)"
    return f"{COUNTED[known[0]]} in both engines" if len(set(known)) == 1 else DIFFER


def _findings(audit: Audit, interactions: Sequence[Line], lines: Sequence[Line]) -> list[Finding]:
    found = []
    for name in dict.fromkeys(line.estimand.name for line in interactions):
        declared = audit.spec.estimands[name]
        mine = [line for line in interactions if line.estimand.name == name]
        statements = tuple((line.weights, _statement(line, lines)) for line in mine)
        found.append(Finding(name, words.meaning(declared), statements))
    return found


def _statement(line: Line, lines: Sequence[Line]) -> str:
    if line.estimand.statistic == names.NEGATIVE_SHARE:
        return _share(line)
    numbers = [f"{row.method} {words.estimate(row)}" for row in line.drawn]
    said = [f"{_place(line)} ({'; '.join(numbers)})." if numbers else f"{_place(line)}."]
    if line.strata_agree and side(line.posterior) is not None:
        said.append("The model, as declared, lets no stratum differ here.")
    said += _reversal(line)
    said += _gains(line, lines)
    return " ".join(said)


def _share(line: Line) -> str:
    row = line.design
    if row is None or row.value is None:
        return "Refused." if row is not None else "Not estimated."
    said = f"Share of transitions below zero: {words.estimate(row)}"
    return (
        f"{said} ({row.count:,} of {row.transitions:,} unweighted)."
        if row.count is not None
        else f"{said}."
    )


def _place(line: Line) -> str:
    sides = (side(line.design), side(line.posterior))
    design, posterior = sides
    if design is None or posterior is None:
        return _one_engine(line)
    if design != posterior:
        return (
            f"The engines differ: the design interval {LIES[design]}, "
            f"the posterior's {LIES[posterior]}"
        )
    if design == 0:
        return "Sign open: both intervals include zero"
    return f"{LIES[design].capitalize()} in both engines"


def _one_engine(line: Line) -> str:
    parts = [
        f"{engine}: {_alone(row)}"
        for engine, row in (("design", line.design), ("posterior", line.posterior))
        if row is not None
    ]
    text = "; ".join(parts) or "not estimated"
    return text[0].upper() + text[1:]


def _alone(row: Estimate) -> str:
    if row.refused is not None:
        return "refused"
    lean = side(row)
    if lean is None:
        return "a value without an interval"
    return "sign open, the interval includes zero" if lean == 0 else LIES[lean]


def _reversal(line: Line) -> list[str]:
    """Whether the mean gain changes sign, by the posterior."""
    parts = line.estimand.contrast.parts
    if len(parts) != 2 or not set(REVERSALS) <= set(line.probabilities):
        return []
    down, up = (line.probabilities[event] for event in REVERSALS)
    if down + up <= 1 - SURE:
        return [
            f"The mean gain probably keeps its sign: P(reversal, either way) = "
            f"{words.probability(down + up)}."
        ]
    first, second = ("above", "below") if down >= up else ("below", "above")
    likely = max(down, up)
    event = f"P({parts[0].name} {first} zero and {parts[1].name} {second} zero)"
    said = "The mean gain reverses sign" if likely >= SURE else "Reversal of the mean gain is open"
    return [f"{said}: {event} = {words.probability(likely)}."]


def _gains(line: Line, lines: Sequence[Line]) -> list[str]:
    """Whether the two gains, where they are estimands too, have opposite signs in the design."""
    pair = []
    for part in line.estimand.contrast.parts:
        same = [
            other.design
            for other in lines
            if other.weights == line.weights
            and other.estimand.contrast == part
            and other.estimand.contrast.kind == "gain"
            and other.estimand.statistic == names.MEAN
            and other.design is not None
            and other.design.value is not None
        ]
        pair += same[:1]
    if len(pair) != 2:
        return []
    first, second = pair
    values = f"{words.number(first.value or 0.0)} and {words.number(second.value or 0.0)}"
    if (first.value or 0.0) * (second.value or 0.0) >= 0:
        return [f"Design gains: {values}, without a change of sign."]
    clear = {side(first), side(second)} == {-1, 1}
    how = "both intervals exclude zero" if clear else "but not both intervals exclude zero"
    return [f"Design gains: {values}, opposite signs, {how}."]


def _limits(audit: Audit, lines: Sequence[Line]) -> list[str]:
    funnel = scores.funnel(audit.scores)
    levels = sorted({row.level for row in audit.rows}) or [SURE]
    stated = words.listed([f"{100 * level:g} %" for level in levels])
    drawn = sum(row.interval is not None for line in lines for row in line.drawn)
    limits = [
        f"The {words.count(drawn, 'interval')} compared here are pointwise, {stated} each: nothing "
        f"is adjusted for their number, and some can be expected to miss.",
        "An interval that includes zero leaves the sign open; it does not show that there is no "
        "difference.",
        "That gains differ between channels does not say which channel is right.",
        f"The numbers are about the {_cohort(audit, funnel)} and units like them, mixed as the "
        f"weights say ({'; '.join(_mixtures(audit))}). Other tasks, channels or target mixtures "
        f"may differ.",
    ]
    return limits


def _cohort(audit: Audit, funnel: dict[str, int]) -> str:
    if audit.tree is None:
        return f"units complete for each contrast, out of {words.count(funnel['units'], 'unit')}"
    inside = words.count(funnel["units_in_cohort"], "unit")
    return f"{inside} complete in every cell, out of {funnel['units']:,} in the table"


def _mixtures(audit: Audit) -> list[str]:
    said = []
    for name, declared in audit.spec.weights.items():
        if declared == names.EMPIRICAL:
            what = "the strata as the cohort happens to mix them"
        elif declared == names.EQUAL:
            what = "every stratum counts the same"
        else:
            assert not isinstance(declared, str), declared
            what = ", ".join(f"{stratum} {share:.3g}" for stratum, share in declared.items())
        said.append(f"{name}: {what}")
    return said
