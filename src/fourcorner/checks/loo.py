"""Check 4: how well the model foresees a unit that it has not seen, by PSIS-LOO.

The log density of each unit's cells given all the others is taken from the fit by importance
sampling, smoothed by a generalised Pareto of shape k (Vehtari et al. 2024,
https://jmlr.org/papers/v25/19-556.html; computed by ArviZ). A unit with k above 0.7 is one that the
posterior would be elsewhere without: its term, and the sum with it, are not to be relied on.

Invariant: shown, never a gate: how well a family foresees says nothing of whether its location is
the mean. Pinned by `tests/test_loo.py`.
"""

import warnings
from typing import Any

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.checks.rows import LOO, not_run, shown
from fourcorner.results import Check

NAME = LOO
ELPD, PARETO, INFLUENTIAL = "elpd", "Pareto k", "influential units"
BAD = 0.7
LEANED_ON = 0.5
MOST = 5

Floats = NDArray[np.float64]
Found = Any  # ArviZ's ELPDData


def check(tree: xr.DataTree) -> list[Check]:
    """Expected log density of a new unit's cells, and which units it rests on.

    Parameters
    ----------
    tree : DataTree

    Returns
    -------
    list of Check
        Three rows, ``shown``: the sum over units with its standard error, how many units have a k
        above 0.7, and up to five units that the posterior leans on most, by k.
        ``not_run`` where the fit left the log likelihood out.
    """
    if names.LOG_LIKELIHOOD not in tree.children:
        why = str(tree.attrs.get("left_out", "")) or "the tree has no log likelihood by unit"
        return [not_run(NAME, ELPD, why, gated=False)]
    return rows(leave_one_out(tree))


def rows(found: Found) -> list[Check]:
    """The rows of `check` from what `leave_one_out` found."""
    k = found.pareto_k.values
    bad = unreliable(found)
    message = f"{found.elpd:+.1f}, standard error {found.se:.1f}, of {len(k)} units"
    if bad:
        message += f"; not to be relied on, {bad} of them having k above {BAD:g}"
    return [
        shown(NAME, ELPD, message, value=float(found.elpd)),
        shown(NAME, PARETO, _reliability(k, bad), value=float(bad), threshold=0.0),
        shown(NAME, INFLUENTIAL, _influential(found), value=float(k.max())),
    ]


def leave_one_out(tree: xr.DataTree) -> Found:
    """ArviZ's PSIS-LOO of a fit, by unit; its warning of large k is what `unreliable` counts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Estimated shape parameter", category=UserWarning)
        return az.loo(tree, pointwise=True)


def unreliable(found: Found) -> int:
    """How many units have a Pareto k above 0.7."""
    return int((found.pareto_k.values > BAD).sum())


def _reliability(k: Floats, bad: int) -> str:
    if not bad:
        return f"no unit has k above {BAD:g}: the estimate is reliable"
    return (
        f"{bad} of {len(k)} units have k above {BAD:g}: the estimate is not to be relied on; "
        f"`fit --compare` refits without each of a few, and many ask for another family"
    )


def _influential(found: Found) -> str:
    k = found.pareto_k
    largest = [
        f"{k[names.UNIT].values[place]} (k {k.values[place]:.2f})"
        for place in np.argsort(-k.values, kind="stable")[:MOST]
        if k.values[place] > LEANED_ON
    ]
    if not largest:
        return f"no unit has k above {LEANED_ON:g}"
    return f"the posterior leans most on {', '.join(largest)}"
