"""The rows that checks return: gated verdicts, what is only shown, and what was not run.

Invariant: only a gated failure changes the exit code, and only a gated row can fail. Pinned by
`tests/test_checks.py`.
"""

from fourcorner import names
from fourcorner.results import Check

CONVERGENCE = "convergence"
DESIGN_AGREEMENT = "design_agreement"
LOO = "loo"
PRIOR_SENSITIVITY = "prior_sensitivity"
PRIOR_DRIVEN = "prior_driven"
BY_PRIOR = "prior-driven"  # how the message of a sensitivity starts that is all prior


def gate(
    name: str, target: str, value: float | None, threshold: float | None, message: str, *, ok: bool
) -> Check:
    """A gated row that passed or failed."""
    return Check(
        name=name,
        target=target,
        verdict=names.PASS if ok else names.FAIL,
        value=value,
        threshold=threshold,
        message=message,
    )


def shown(
    name: str, target: str, message: str, value: float | None = None, threshold: float | None = None
) -> Check:
    """A row that is shown and can fail nothing."""
    return Check(
        name=name,
        target=target,
        verdict=names.SHOWN,
        value=value,
        threshold=threshold,
        message=message,
        gated=False,
    )


def not_run(name: str, target: str, why: str, *, gated: bool = True) -> Check:
    """A row that says why a check was not run; `gated` as the check is where it runs."""
    return Check(
        name=name,
        target=target,
        verdict=names.NOT_RUN,
        value=None,
        threshold=None,
        message=why,
        gated=gated,
    )
