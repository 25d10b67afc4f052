"""Which option scores of the global replay are missing: drawn apart from all scores.

Endpoints are spoiled in random order until the cohorts have their sizes, so one that lacks a score
in the first session lacks one in the retries too, in both waves.

Invariant: the numbers of complete transitions and of missing option scores are exact for every
seed. Pinned by ``tests/test_global_replay.py`` (``test_cohort_sizes_hold_for_every_seed``).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.global_replay.mechanism import DIRECT, ENDPOINTS, GENERATED, STEPS, VIEWS
from fourcorner.simulate.study import LAYOUTS, UNITS, CalibrationError

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

COMPLETE_FIRST = 1004
COMPLETE_RETRY = 975
MISSING_SCORES = (52, 25)
"""Option scores that each retry wave lacks, by view: .27 % and .13 % of 19,200."""
MISSING_GENERATED = 24
"""Endpoints that lack one under the generated view in the retries; one of them in both views."""


class Missing(NamedTuple):
    """Endpoints without a complete set of option scores, as (trajectory, endpoint) flags.

    Attributes
    ----------
    first : ndarray of shape (n, endpoint)
        In the first session, in both views.
    retry : ndarray of shape (n, endpoint, view)
        In the retries, the same in both waves.
    layout : ndarray of shape (n, endpoint, session, view)
        Layout whose request lacks an option.
    second : ndarray of shape (n, endpoint, view)
        Retries: the next layout's request lacks one too.
    """

    first: Bools
    retry: Bools
    layout: Ints
    second: Bools

    def at_layout(self, layout: int) -> Bools:
        """Endpoints whose first request of this layout lacks an option in some view."""
        return self.first & (self.layout[:, :, 0] == layout).any(axis=-1)

    def requests(self) -> Iterator[tuple[Bools, int, list[int], Ints]]:
        """Endpoints, view, waves and the layout of each endpoint of the requests that lack one."""
        for view in range(len(VIEWS)):
            yield self.first, view, [0], self.layout[:, :, 0, view]
            yield self.retry[..., view], view, [1, 2], self.layout[:, :, 1, view]
            after = (self.layout[:, :, 1, view] + 1) % len(LAYOUTS)
            yield self.second[..., view], view, [1, 2], after


def draw_missing(rng: np.random.Generator) -> Missing:
    """Spoil endpoints in random order until the cohorts have their sizes."""
    total = UNITS * len(STEPS)
    order = rng.permutation(UNITS * ENDPOINTS)
    first = _spoiled(np.zeros((UNITS, ENDPOINTS), dtype=bool), order, total - COMPLETE_FIRST)
    union = _spoiled(first, order, total - COMPLETE_RETRY)
    spoiled = rng.permutation(np.flatnonzero(union))
    retry = np.zeros((UNITS * ENDPOINTS, len(VIEWS)), dtype=bool)
    retry[spoiled[:MISSING_GENERATED], GENERATED] = True
    retry[spoiled[MISSING_GENERATED - 1 :], DIRECT] = True
    second = np.zeros_like(retry)
    for view, scores in enumerate(MISSING_SCORES):
        places = rng.permutation(np.flatnonzero(retry[:, view]))
        if not len(places) <= scores <= 2 * len(places):
            raise CalibrationError(
                f"{len(places)} endpoints are to lack {scores} option scores under "
                f"{VIEWS[view]!r}, one or two each; take another seed"
            )
        second[places[: scores - len(places)], view] = True
    shape = (UNITS, ENDPOINTS, len(VIEWS))
    layout = rng.integers(0, len(LAYOUTS), (UNITS, ENDPOINTS, 2, len(VIEWS)))
    return Missing(first, retry.reshape(shape), layout, second.reshape(shape))


def _spoiled(already: Bools, order: Ints, transitions: int) -> Bools:
    """Spoil endpoints in order, passing over those that would cost too many transitions."""
    spoiled = already.copy()
    for place in order:
        if _lost(spoiled) == transitions:
            break
        tried = spoiled.copy()
        tried.flat[place] = True
        if _lost(tried) <= transitions:
            spoiled = tried
    return spoiled


def _lost(spoiled: Bools) -> int:
    """Transitions with a spoiled end."""
    return int((~whole(spoiled)).sum())


def whole(spoiled: Bools) -> Bools:
    """Transitions both ends of which are complete: (n, transition)."""
    return ~(spoiled[:, 1:] | spoiled[:, :-1])
