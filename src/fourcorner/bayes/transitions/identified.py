"""Which means the observed endpoints of a stratum leave open.

Every stratum has levels and steps of its own, so what it did not measure comes from the others
through the prior of their differences.

Invariant: a mean is open in a stratum where its weights lie outside what the stratum's observed
endpoints span. Pinned by `tests/test_transitions.py`.
"""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.transitions.data import rebuilt, squares
from fourcorner.bayes.transitions.outputs import step_rows
from fourcorner.bayes.tree import factors, group
from fourcorner.contrasts import Contrast

Floats = NDArray[np.float64]

REASON = "not_identified"
NOTHING = 1e-9  # relative


def open_in(
    tree: xr.DataTree, contrast: Contrast, shares: Floats, *, pooled: bool = True
) -> dict[str, Any] | None:
    """What the observed endpoints leave open of a mean under a mixture, as a refusal record.

    `pooled` makes no difference: a stratum has every level and step of its own either way.
    """
    del pooled
    data, stratum = rebuilt(
        {name: group(tree, name) for name in (names.CONSTANT_DATA, names.OBSERVED_DATA)}
    )
    levels = factors(tree)
    weights = contrast.dense(levels).reshape(len(levels[names.STATE]), -1).astype(float)
    rows, count = step_rows(data.chains, stratum, len(data.strata))
    share = count / count.sum(axis=1, keepdims=True)
    lever = np.einsum("gs,gsem,ek->gmk", share, rows, weights).reshape(len(data.strata), -1)
    known = squares(data)
    missing = []
    for code, name in enumerate(data.strata):
        values, vectors = np.linalg.eigh(known[code])
        loose = vectors[:, values <= NOTHING * max(values.max(), 1.0)]
        beyond = np.abs(lever[code] @ loose).max(initial=0.0)
        if shares[code] > 0 and beyond > NOTHING * np.abs(lever[code]).max():
            missing.append({names.STRATUM: name})
    if not missing:
        return None
    listed = ", ".join(cell[names.STRATUM] or "the cohort" for cell in missing)
    message = f"the observed endpoints of {listed} do not determine it"
    return {"reason": REASON, "message": message, "missing": missing}
