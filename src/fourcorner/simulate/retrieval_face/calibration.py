"""The published figures of the face, and what brings finished draws to them.

The shares of a diagonal are main effects of a face: moving both views of the after state up and
those of the before state down by a half moves the state's share by one, the view's not at all, and
the other way round. So each share is brought to its figures by itself.

Invariant: each map is affine in a trajectory's share or gain, one map for all strata, and cells
plus layout noise have the published means exactly. Pinned by `tests/test_retrieval_face.py`
(`test_means_hold_for_every_seed`).
"""

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.retrieval_face.mechanism import (
    AFTER,
    BEFORE,
    DIRECT,
    FROM_AFTER,
    FROM_BEFORE,
)
from fourcorner.simulate.study import Published, rescaled

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

STATE_SHARE = Published(0.224, -0.029, 0.473)
VIEW_SHARE = -0.915
DIRECT_GAIN = 2.580
OMEGA = -3.268
"""Generated-view gain minus direct gain, like `DIRECT_GAIN` where the direct path is complete."""


def calibrated(cells: Floats, noise: Floats, complete: Bools) -> Floats:
    """Shift and stretch noise-free cells so that cells plus layout noise match the figures.

    Parameters
    ----------
    cells, noise
        (n, state, view): noise-free margins, and what the mean over layouts adds.
    complete
        Trajectories whose direct path is complete: (n,).
    """
    cells = cells.copy()
    truth, added = state_share(cells), state_share(noise)
    variance = truth.size * STATE_SHARE.variance
    moved = (rescaled(truth, added, STATE_SHARE.mean, variance) - truth)[:, None]
    cells[:, AFTER, FROM_BEFORE:] += moved / 2
    cells[:, BEFORE, FROM_BEFORE:] -= moved / 2

    missing = (_wanted_diagonal(complete) - _by_group(diagonal(cells + noise), complete))[:, None]
    cells[:, :, FROM_AFTER] += missing / 2
    cells[:, :, FROM_BEFORE] -= missing / 2

    direct = (cells + noise)[:, AFTER, DIRECT] - (cells + noise)[:, BEFORE, DIRECT]
    shift = DIRECT_GAIN - direct[complete].mean()
    cells[:, AFTER, DIRECT] += shift / 2
    cells[:, BEFORE, DIRECT] -= shift / 2
    return cells


def state_share(cells: Floats) -> Floats:
    """What the diagonal owes to the state: its effect averaged over the two frozen views, (n,)."""
    return (cells[:, AFTER, FROM_BEFORE:] - cells[:, BEFORE, FROM_BEFORE:]).mean(axis=1)


def diagonal(cells: Floats) -> Floats:
    """Generated-view gain: the after state beside its own view minus the before state so, (n,)."""
    return cells[:, AFTER, FROM_AFTER] - cells[:, BEFORE, FROM_BEFORE]


def _wanted_diagonal(complete: Bools) -> Floats:
    """Mean gain of each one's group: the two means fix that of the others as well, (n,)."""
    inside = DIRECT_GAIN + OMEGA
    total = complete.size * (STATE_SHARE.mean + VIEW_SHARE)
    outside = (total - complete.sum() * inside) / (~complete).sum()
    return np.where(complete, inside, outside)


def _by_group(values: Floats, complete: Bools) -> Floats:
    """Mean of each one's group, (n,)."""
    return np.where(complete, values[complete].mean(), values[~complete].mean())
