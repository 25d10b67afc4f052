"""What the order in which options are shown adds to a margin.

Invariant: offsets sum to zero over the layouts of a cell, noise does not. Pinned by
`tests/test_retrieval_face.py` (`test_layout_offsets_sum_to_zero_but_for_noise`).
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fourcorner.simulate.study import LAYOUTS

Floats = NDArray[np.float64]

PROFILE = np.array([-0.32, -0.08, 0.12, 0.28])


def layout_effects(cells: Floats, scale: ArrayLike, rng: np.random.Generator) -> Floats:
    """Draw offsets and noise of every layout, nats: (*cells, layout).

    A trajectory's sensitivity to order is a gamma draw, one for all its cells; noise is Student-t
    and grows with the margin.

    Parameters
    ----------
    cells : ndarray of shape (n, ...)
        Noise-free margins.
    scale : array_like
        Size of the offsets; broadcasts to one trajectory's cells.
    rng : numpy.random.Generator
    """
    shape = (cells.shape[0], *[1] * cells.ndim)
    sensitivity = rng.gamma(3.0, 1 / 3.0, shape)
    offsets = sensitivity * np.asarray(scale, dtype=np.float64)[..., None] * PROFILE
    spread = 0.12 + 0.06 * np.abs(cells)[..., None]
    return offsets + spread * rng.standard_t(5, (*cells.shape, len(LAYOUTS)))
