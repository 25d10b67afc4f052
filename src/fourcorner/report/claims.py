"""Claims that a run does not support, of every kind, in words.

Invariant: a refusal, a gap of the model, an answer that is its prior, a conclusion that pooling
decides and a check that failed are each in exactly one group. Pinned by `tests/test_panels.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import words
from fourcorner.report.lines import Refusal, refusals
from fourcorner.report.panels import depends_on_pooling, rests_on_prior

MISSING = "not available"
PRIOR = "the answer is its prior"
POOLING = "the conclusion depends on pooling"
FAILED = "a check failed"


@dataclass(frozen=True)
class Claim:
    """Something that the run does not support, other than a refusal.

    Attributes
    ----------
    kind, name, why : str
    """

    kind: str
    name: str
    why: str


@dataclass(frozen=True)
class Claims:
    """Everything that the run does not support.

    Attributes
    ----------
    refusals : list of Refusal
    others : mapping of kind to claims
    """

    refusals: list[Refusal]
    others: dict[str, list[Claim]]

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.refusals or self.others)


def claims(audit: Audit) -> Claims:
    """Collect what is not supported."""
    listed = [*_missing(audit.not_available), *_checked(audit)]
    others: dict[str, list[Claim]] = {}
    for claim in listed:
        others.setdefault(claim.kind, []).append(claim)
    return Claims(refusals(audit), others)


def gaps(
    reasons: Sequence[str], said: Callable[[Sequence[str]], str] = words.listed
) -> list[tuple[str, str]]:
    """What is not available, taken together where the reason is the same, and the reason.

    Parameters
    ----------
    reasons : sequence of str
        An audit's `not_available`.
    said : callable
        Puts several things into one text.

    Examples
    --------
    >>> gaps(["posterior of a: it is a share", "posterior of b: it is a share", "too many units"])
    [('posterior of a and b', 'it is a share'), ('', 'too many units')]
    """
    about: dict[tuple[str, str], list[str]] = {}
    for reason in reasons:
        what, _, why = reason.partition(": ")
        kind, of, name = what.partition(" of ") if why else ("", "", "")
        about.setdefault((why or what, f"{kind}{of}"), []).extend([name] if name else [])
    return [(f"{kind}{said(listed)}", why) for (why, kind), listed in about.items()]


def _missing(reasons: Sequence[str]) -> list[Claim]:
    return [Claim(MISSING, what, why) for what, why in gaps(reasons)]


def _checked(audit: Audit) -> list[Claim]:
    found = []
    for row in audit.check_rows:
        if row.verdict == names.FAIL:
            found.append(Claim(FAILED, f"{row.name.replace('_', ' ')}, {row.target}", row.message))
        elif rests_on_prior(row):
            found.append(Claim(PRIOR, row.target, row.message))
        elif depends_on_pooling(row):
            _, _, why = row.message.partition(": ")
            found.append(Claim(POOLING, row.target, why))
    return found
