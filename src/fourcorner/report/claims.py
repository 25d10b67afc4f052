"""Claims that a run does not support, of every kind, in words.

Invariant: a refusal, a gap of the model, an answer that is its prior, a conclusion that pooling
decides and a check that failed are each in exactly one group. Pinned by `tests/test_panels.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names
from fourcorner.auditing import Audit
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


def _missing(reasons: Sequence[str]) -> list[Claim]:
    pairs = [reason.partition(": ") for reason in reasons]
    return [Claim(MISSING, what if why else "", why or what) for what, _, why in pairs]


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
