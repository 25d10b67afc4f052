"""What the checks say of a Bayesian bootstrap: what there is to look at, and why no more.

It has no chains, no prior that could be scaled and nothing that strata share, and it weighs the
very units of the design estimate. So nothing here is a gate.

Invariant: every check that a fit has is named, run or not. Pinned by
`tests/test_bayesian_bootstrap.py`.
"""

from collections.abc import Sequence

from fourcorner import names
from fourcorner.checks import pooling
from fourcorner.checks.rows import (
    CONVERGENCE,
    DESIGN_AGREEMENT,
    LOO,
    PRIOR_SENSITIVITY,
    not_run,
    shown,
)
from fourcorner.results import Check, Estimate, target

ALL = "all estimates"
NO_CHAINS = "draws of a Bayesian bootstrap are independent: there is no chain that could converge"
NO_LOO = "a Bayesian bootstrap gives scores that nobody had no density, so it foresees no new unit"
NO_PRIOR = "a Bayesian bootstrap has one prior, flat over what the data support, and no scale of it"
NO_POOLING = "in a Bayesian bootstrap strata share nothing, so there is no pooling to take away"
BY_CONSTRUCTION = "it weighs the same units, so the two agree by construction and this is no gate"


def check(rows: Sequence[Estimate]) -> list[Check]:
    """Posterior means beside design estimates, and what was not run.

    Parameters
    ----------
    rows : sequence of Estimate
        Of both methods, or of the Bayesian bootstrap alone.

    Returns
    -------
    list of Check
        ``design_agreement`` is ``shown`` for every row that both have, its value being how far the
        posterior mean is from the design estimate, native units; the others are ``not_run``.
    """
    found = [
        not_run(CONVERGENCE, ALL, NO_CHAINS, gated=False),
        not_run(LOO, ALL, NO_LOO, gated=False),
        not_run(PRIOR_SENSITIVITY, ALL, NO_PRIOR, gated=False),
        not_run(pooling.NAME, ALL, NO_POOLING, gated=False),
    ]
    design = {_key(row): row for row in rows if row.method == names.DESIGN}
    for row in rows:
        beside = design.get(_key(row))
        if row.method != names.BAYESIAN_BOOTSTRAP or beside is None:
            continue
        if row.value is not None and beside.value is not None:
            said = f"design {beside.value:+.4g}, posterior {row.value:+.4g}; {BY_CONSTRUCTION}"
            asked, apart = target(row.name, row.weights), row.value - beside.value
            found.append(shown(DESIGN_AGREEMENT, asked, said, value=apart))
    return found


def _key(row: Estimate) -> tuple[str, ...]:
    return row.name, row.statistic, row.weights, row.cohort
