"""The published figure of the controls and our own ones, and what brings finished draws to them.

Invariant: each map shifts a control's gains by one constant for all trajectories, half at each end,
and cells plus layout noise have the means exactly over the complete trajectories. Pinned by
`tests/test_controls.py` (`test_means_hold_for_every_seed`).
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.controls.mechanism import AFTER, BEFORE, LAST, OWN, PRIMARY

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

EVIDENCE_PRIMARY_SHIFT = 2.272
STATE_LAST_SHIFT = -0.19
"""Ours: published only as negative, with an interval that crosses zero."""
OWN_GAIN = -0.69
"""Ours: not published here; near the generated-view gain that the retrieval face has."""


def calibrated(cells: Floats, noise: Floats, complete: Bools) -> Floats:
    """Shift noise-free cells so that cells plus layout noise match the figures.

    Parameters
    ----------
    cells, noise
        (n, state, control): noise-free margins, and what the mean over layouts adds.
    complete
        Trajectories that lack nothing: (n,).
    """
    cells = cells.copy()
    means = gains(cells + noise)[complete].mean(axis=0)
    for control, wanted in (
        (OWN, OWN_GAIN),
        (LAST, OWN_GAIN + STATE_LAST_SHIFT),
        (PRIMARY, OWN_GAIN + EVIDENCE_PRIMARY_SHIFT),
    ):
        shift = wanted - means[control]
        cells[:, AFTER, control] += shift / 2
        cells[:, BEFORE, control] -= shift / 2
    return cells


def gains(cells: Floats) -> Floats:
    """After minus before: (n, control)."""
    return cells[:, AFTER] - cells[:, BEFORE]
