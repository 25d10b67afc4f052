"""Which direct scores are missing, apart from what any score is.

Invariant: the direct path is complete in 88 trajectories, whatever the seed. Pinned by
`tests/test_retrieval_face.py` (`test_direct_path_is_complete_on_88_trajectories`).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.study import LAYOUTS, STATES, UNITS

Bools = NDArray[np.bool_]

DIRECT_COMPLETE = 88
UNASKED = 4
"""Trajectories whose states were never scored directly; the others lost some scores of a state."""


class Missing(NamedTuple):
    """What is not there of the direct channel."""

    unasked: Bools
    """Of shape (n,): no direct row at all."""
    lost: Bools
    """Of shape (n, state, layout): requested, and no score came back."""

    @property
    def complete(self) -> Bools:
        """Of shape (n,): both states scored directly in every layout."""
        return ~self.unasked & ~self.lost.any(axis=(1, 2))


def draw_missing(rng: np.random.Generator) -> Missing:
    """Draw the trajectories, and where scores were lost the state and from one layout to four."""
    chosen = rng.permutation(UNITS)[: UNITS - DIRECT_COMPLETE]
    unasked = np.zeros(UNITS, dtype=bool)
    unasked[chosen[:UNASKED]] = True
    short = chosen[UNASKED:]
    lost = np.zeros((UNITS, len(STATES), len(LAYOUTS)), dtype=bool)
    state = rng.integers(len(STATES), size=short.size)
    count = rng.integers(1, len(LAYOUTS) + 1, size=short.size)
    order = rng.permuted(np.tile(np.arange(len(LAYOUTS)), (short.size, 1)), axis=1)
    lost[short, state] = order < count[:, None]
    return Missing(unasked, lost)
