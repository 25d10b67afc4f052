"""Whether the signs of two gains agree, in words: across channels, and beside retries of one.

Invariant: channels are said to disagree more than retries only where the interval of the excess
lies above zero; where retries were not measured, that is what is said. Pinned by
`tests/test_stability.py`.
"""

from collections.abc import Iterator, Sequence

from fourcorner import names
from fourcorner.report import reasons, words
from fourcorner.report.families import Family
from fourcorner.report.findings import Finding
from fourcorner.report.lines import IN_WORDS
from fourcorner.results import Estimate, side

FURTHER = {1: "more", -1: "less"}


def findings(found: Sequence[Family], *, short: bool = False) -> list[Finding]:
    """One finding for each family of signs.

    Parameters
    ----------
    found : sequence of Family
        Of any kind.
    short : bool
        Whether to leave out which way the signs differ, and what rescaling and pooling do.
    """
    return [
        Finding(
            family.name,
            family.meaning,
            tuple(
                (weights, said, " ".join(details[:1] if short else details))
                for weights in family.weights
                for said, details in [statement(family, weights)]
            ),
        )
        for family in found
        if family.kind == names.SIGNS
    ]


def statement(family: Family, weights: str) -> tuple[str, list[str]]:
    """What is found under a mixture, and what must be known of it, retries first."""
    cross = _row(family, names.CROSS_CHANNEL, weights)
    if cross is None:
        return "Not estimated.", []
    if cross.refused is not None:
        return f"Refused: {reasons.refusal(cross.refused).rstrip('.')}.", []
    if _apart(family):
        said = words.estimate(cross)
        return f"Cross-channel disagreement, difference between the groups: {said}.", []
    details = list(_details(family, weights))
    same = _row(family, names.SAME_CHANNEL, weights)
    if same is None:
        return f"Cross-channel disagreement {words.estimate(cross)}.", details
    beside = "retries refused" if same.value is None else f"{words.estimate(same)} in retries"
    return f"Cross-channel disagreement {words.estimate(cross)} against {beside}.", details


def _details(family: Family, weights: str) -> Iterator[str]:
    yield _beyond_retries(family, _row(family, names.EXCESS, weights))
    down, up = (
        _row(family, row, weights) for row in (names.CROSS_CHANNEL_DOWN, names.CROSS_CHANNEL_UP)
    )
    if down is not None and up is not None and down.value is not None and up.value is not None:
        yield (
            f"First gain above zero and second below: {words.estimate(down)}; "
            f"the other way round: {words.estimate(up)}."
        )
    zero = _row(family, names.ZERO, weights)
    if zero is not None and zero.value:
        yield f"A gain is exactly zero in {words.estimate(zero)}, which counts as no disagreement."
    omega = _row(family, names.OMEGA, weights)
    for note in () if omega is None else omega.notes:
        if note.startswith(IN_WORDS):
            yield f"{note[0].upper()}{note[1:]}."


def _beyond_retries(family: Family, excess: Estimate | None) -> str:
    """Whether channels disagree more than retries of one channel do."""
    if excess is None:
        chosen = len(family.rows[names.CROSS_CHANNEL][0].estimand.wave) == 1
        why = "One wave is asked for here" if chosen else "Retries were not measured"
        return f"{why}, so noise is not told from disagreement."
    if excess.value is None:
        return "Whether that is more than in retries is refused."
    said, lean = words.estimate(excess), side(excess)
    if lean is None:
        return f"Whether that is more than in retries is not established: {said}, no interval."
    if lean == 0:
        return (
            f"That channels disagree more than retries is not established: the excess is {said}, "
            f"which includes zero."
        )
    return f"Channels disagree {FURTHER[lean]} than retries: the excess is {said}."


def _apart(family: Family) -> bool:
    """Whether two groups are compared, so that rates are differences."""
    return any(line.estimand.between is not None for line in family.rows[names.CROSS_CHANNEL])


def _row(family: Family, name: str, weights: str) -> Estimate | None:
    line = family.line(name, weights)
    return None if line is None else line.design or line.posterior
