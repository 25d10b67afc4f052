"""What is found of each comparison of gains, in sentences.

Invariant: a sentence says no more than the rows do. A comparison lies away from zero *in both
engines* only if both intervals exclude zero on the same side; where the engines differ, that is
what is said. Pinned by `tests/test_report.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.estimands import Estimand
from fourcorner.report import words
from fourcorner.report.lines import REVERSALS, Line
from fourcorner.report.meaning import meaning
from fourcorner.results import Estimate, side

SURE = 0.95

COUNTED = {-1: "below zero", 0: "sign open", 1: "above zero"}
LIES = {-1: "lies below zero", 0: "includes zero", 1: "lies above zero"}
DIFFER = "on which the engines differ"
NOTHING, REFUSED = "without an interval", "refused"


@dataclass(frozen=True)
class Finding:
    """What is found of one comparison under each mixture.

    Attributes
    ----------
    name, meaning : str
    statements : tuple of (weights, finding, details)
    """

    name: str
    meaning: str
    statements: tuple[tuple[str, str, str], ...]


def findings(audit: Audit, comparisons: Sequence[Line], lines: Sequence[Line]) -> list[Finding]:
    """Put every comparison of gains into words; `lines` holds the gains where they were asked.

    Comparisons are of estimands that stand alone: a family is put into words by itself.
    """
    found = []
    for name in dict.fromkeys(line.estimand.name for line in comparisons):
        mine = [
            line
            for line in comparisons
            if line.estimand.name == name and (line.design or line.posterior) is not None
        ]
        statements = tuple((line.weights, *_statement(line, lines)) for line in mine)
        found.append(Finding(name, meaning(audit.spec.estimands[name]), statements))
    return found


def kind(line: Line) -> str:
    """Where both engines put a comparison, in few words."""
    design, posterior = side(line.design), side(line.posterior)
    if design is None and posterior is None:
        rows = (line.design, line.posterior)
        return REFUSED if any(row is not None and row.refused for row in rows) else NOTHING
    if design is None or posterior is None:
        engine, lean = ("posterior", posterior) if design is None else ("design", design)
        return f"{COUNTED[lean or 0]} ({engine} alone)"
    return f"{COUNTED[design]} in both engines" if design == posterior else DIFFER


def reverses(line: Line) -> bool | None:
    """Whether the posterior has the mean gain change sign; None where that is not settled."""
    if not asks_reversal(line):
        return None
    both = [line.probabilities[event] for event in REVERSALS]
    if max(both) >= SURE:
        return True
    return False if sum(both) <= 1 - SURE else None


def asks_reversal(line: Line) -> bool:
    """Whether a comparison is one of two gains whose reversal has a probability."""
    return len(line.estimand.contrast.parts) == 2 and set(REVERSALS) <= set(line.probabilities)


def _statement(line: Line, lines: Sequence[Line]) -> tuple[str, str]:
    if line.estimand.statistic in names.SHARES:
        return _share(line)
    numbers = [
        f"{words.engine(row.method)} {words.estimate(row, line.places)}" for row in line.drawn
    ]
    details = [f"Values: {'; '.join(numbers)}."] if numbers else []
    if line.strata_agree and side(line.posterior) is not None:
        details.append("The model, as declared, lets no stratum differ here.")
    said = [*details, *_reversal(line), *_gains(line, lines), *_calibration(line)]
    return f"{_place(line)}.", " ".join(said)


def _calibration(line: Line) -> Iterator[str]:
    """What rescaling the channels does to the sign of an interaction of two gains."""
    row = line.design
    if row is None or (row.flip_ratio is None and row.flip_share is None):
        return
    if row.flip_ratio is None:
        yield "As estimated no positive rescaling of the channels turns the sign."
    else:
        yield (
            f"Rescaling the channels changes the sign at a ratio of {row.flip_ratio:.3g}, second "
            f"scale to first."
        )


def _share(line: Line) -> tuple[str, str]:
    row = line.design or line.posterior
    if row is None or row.value is None:
        return "Not estimated." if row is None else "Refused.", ""
    if line.estimand.between is not None:
        return f"Difference of the shares of transitions below zero: {words.estimate(row)}.", ""
    said = f"Share of transitions below zero: {words.estimate(row, line.places)}."
    if row.count is None:
        return said, ""
    weighed = "" if line.alike else ", unweighted"
    return said, f"{row.count:,} of {row.transitions:,}{weighed}."


def _place(line: Line) -> str:
    design, posterior = side(line.design), side(line.posterior)
    if design is None or posterior is None:
        return _one_engine(line)
    if design != posterior:
        return (
            f"The engines differ: the design interval {LIES[design]}, "
            f"the posterior's {LIES[posterior]}"
        )
    if design == 0:
        return "Sign open: both intervals include zero"
    return f"{COUNTED[design].capitalize()} in both engines"


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
    if not asks_reversal(line):
        return []
    down, up = (line.probabilities[event] for event in REVERSALS)
    settled = reverses(line)
    if settled is False:
        chance = words.probability(down + up)
        return [
            f"By the posterior a reversal of the mean gain is unlikely: P(either way) = {chance}."
        ]
    parts = line.estimand.contrast.parts
    first, second = ("above", "below") if down >= up else ("below", "above")
    chance = words.probability(max(down, up))
    event = f"P({parts[0].name} {first} zero and {parts[1].name} {second} zero) = {chance}"
    if settled:
        return [f"By the posterior the mean gain reverses sign: {event}."]
    return [f"Whether the mean gain reverses sign is not settled: {event}."]


def _gains(line: Line, lines: Sequence[Line]) -> list[str]:
    """Whether the two mean gains, where they are estimands too, have opposite signs in the design.

    They are those of the comparison's own waves, attributes, groups and way of counting.
    """
    if line.estimand.statistic != names.MEAN:
        return []
    pair: list[tuple[Estimate, int | None]] = []
    for part in line.estimand.contrast.parts:
        same = [
            (other.design, other.places)
            for other in lines
            if other.weights == line.weights
            and other.estimand.contrast == part
            and other.estimand.contrast.kind == names.GAIN
            and _alike(other.estimand, line.estimand)
            and other.design is not None
            and other.design.value is not None
        ]
        pair += same[:1]
    if len(pair) != 2:
        return []
    values = words.listed([words.estimate(row, places) for row, places in pair])
    first, second = (row for row, _ in pair)
    if (first.value or 0.0) * (second.value or 0.0) >= 0:
        return [f"Design gains: {values}, without a change of sign."]
    clear = {side(first), side(second)} == {-1, 1}
    how = "both intervals exclude zero" if clear else "but not both intervals exclude zero"
    return [f"Design gains: {values}, opposite signs, {how}."]


def _alike(gain: Estimand, comparison: Estimand) -> bool:
    """Whether a mean gain is about the same transitions in the same waves as a comparison."""
    return replace(gain, name=comparison.name, contrast=comparison.contrast) == comparison
