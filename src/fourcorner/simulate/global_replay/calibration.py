"""Closed-form calibration of the global replay: what retrieval moves, and what layouts shift.

A session's gains are brought to published means and standard errors through the retrieval step
alone: an amount added to every endpoint after it changes one gain of a trajectory and no other.
The amounts are affine in the drawn retrieval gains, so shapes and ties to the latents stay, and the
signs of all other gains are as drawn.

Invariant: means are met exactly for every draw; a spread is met where the retrieval step can reach
it, otherwise it is the nearest that it can. Pinned by ``tests/test_global_replay.py``
(``test_means_hold_for_every_seed``).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.study import (
    CalibrationError,
    Published,
    mean_inverse_count,
    solve_by_size,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DIRECT = Published(0.163, 0.102, 0.218)
OMEGA = Published(-0.323, -0.418, -0.232)
EQUAL_TARGET_DIRECT = Published(0.004, -0.044, 0.057)
EQUAL_TARGET_OMEGA = Published(-0.213, -0.343, -0.090)
RETRY_DIRECT = Published(0.129, 0.066, 0.188)
RETRY_OMEGA = Published(-0.2335, -0.3305, -0.1385)
"""Midway between the two waves: -0.233 [-0.330, -0.138] and -0.234 [-0.331, -0.139]."""
LAYOUT_OMEGAS = (-0.204, -0.668)
"""Greatest and least of the layout-specific Ω of the first acquisition."""


class Session(NamedTuple):
    """Gains as acquired in one session.

    Attributes
    ----------
    gains : ndarray of shape (trajectories, transitions)
        Of one view, or the difference of two.
    complete : ndarray of bool, same shape
        Transitions of the session's cohort.
    stratum : ndarray of shape (trajectories,)
    step : int
        The transition that may change.
    """

    gains: Floats
    complete: Bools
    stratum: Ints
    step: int

    @property
    def totals(self) -> Floats:
        """Sum of each trajectory's gains in the cohort."""
        return np.where(self.complete, self.gains, 0.0).sum(axis=1)

    @property
    def counts(self) -> Floats:
        """Number of them."""
        return self.complete.sum(axis=1).astype(float)

    @property
    def reached(self) -> Floats:
        """1 where the step is in the cohort."""
        return self.complete[:, self.step].astype(float)

    def spread(self) -> Floats:
        """The step's gains about the mean of their stratum.

        Raises
        ------
        CalibrationError
            If a stratum has fewer than two trajectories whose step is in the cohort.
        """
        step, reached = self.gains[:, self.step], self.reached
        numbers = by_stratum(reached, self.stratum)
        if numbers.min() < 2:
            raise CalibrationError(
                f"a stratum has {numbers.min():g} complete steps to move, and two are needed for "
                "a mean and a spread; take another seed"
            )
        means = by_stratum(step * reached, self.stratum) / numbers
        return step - means[self.stratum]


def first_amounts(gains: Floats, complete: Bools, stratum: Ints, step: int) -> Floats:
    """What retrieval adds in the first session.

    Parameters
    ----------
    gains : ndarray of shape (trajectories, transitions, 2)
        Direct, generated.
    complete, stratum, step
        As in `Session`.

    Returns
    -------
    ndarray of shape (trajectories, 2)
    """
    direct, omega = _sessions(gains, complete, stratum, step)
    moved = two_mixtures(direct, DIRECT, EQUAL_TARGET_DIRECT)
    return np.stack([moved, moved + two_mixtures(omega, OMEGA, EQUAL_TARGET_OMEGA)], axis=1)


def retry_amounts(gains: Floats, complete: Bools, stratum: Ints, step: int) -> Floats:
    """What retrieval adds in the retries; parameters and result as of `first_amounts`."""
    direct, omega = _sessions(gains, complete, stratum, step)
    moved = one_mixture(direct, RETRY_DIRECT)
    return np.stack([moved, moved + one_mixture(omega, RETRY_OMEGA)], axis=1)


def _sessions(gains: Floats, complete: Bools, stratum: Ints, step: int) -> tuple[Session, Session]:
    """The direct gains and Ω."""
    omega = gains[..., 1] - gains[..., 0]
    return Session(gains[..., 0], complete, stratum, step), Session(omega, complete, stratum, step)


def by_stratum(values: Floats, stratum: Ints) -> Floats:
    """Sum the values of each stratum's trajectories."""
    return np.bincount(stratum, values)


def two_mixtures(session: Session, cohort: Published, equal: Published) -> Floats:
    """Amounts that give a session the figures of its own mixture and of equal weights.

    The large and the small strata have one shift each, for the two means, and one spread each, for
    the two standard errors. These are the bootstrap's, r being a trajectory's total less its share
    of the mean: Σ r² / N² over the cohort of N transitions, and for equal weights the mean square
    of r in each stratum over its squared transitions per trajectory, times E[1/n | n > 0] of the n
    trajectories drawn, over S².

    Returns
    -------
    ndarray of shape (trajectories,)
        To be added to all endpoints after the step.
    """
    stratum, counts = session.stratum, session.counts
    number, reach = by_stratum(counts, stratum), by_stratum(session.reached, stratum)
    sizes = np.bincount(stratum)

    means = by_stratum(session.totals, stratum) / number
    weights = np.stack([number / number.sum(), np.full(len(number), 1 / len(number))])
    wanted = np.array([cohort.mean, equal.mean])
    shift = solve_by_size(weights * (reach / number), wanted - weights @ means, sizes)
    means = means + shift * reach / number

    rest = session.totals + session.reached * shift[stratum] - counts * means[stratum]
    between = (counts * (means[stratum] - cohort.mean)) ** 2
    per_unit = number / sizes
    inverse = np.array([mean_inverse_count(int(size), int(sizes.sum())) for size in sizes])
    equations = np.stack([sizes * 1.0, inverse / per_unit**2 / len(sizes) ** 2])
    right = np.array([cohort.variance * number.sum() ** 2 - between.sum(), equal.variance])
    squares = solve_by_size(equations, right, sizes)
    spread = session.spread()
    stretch = np.array(
        [
            stretched(rest[inside], (session.reached * spread)[inside], size * square)
            for inside, size, square in zip(
                stratum == np.arange(len(sizes))[:, None], sizes, squares, strict=True
            )
        ]
    )
    return shift[stratum] + stretch[stratum] * spread


def one_mixture(session: Session, cohort: Published) -> Floats:
    """Amounts that give a session one mean and standard error, all strata moving alike."""
    counts, reached = session.counts, session.reached
    shift = (cohort.mean * counts.sum() - session.totals.sum()) / reached.sum()
    rest = session.totals + shift * reached - cohort.mean * counts
    spread = session.spread()
    square = cohort.variance * counts.sum() ** 2
    return shift + stretched(rest, reached * spread, square) * spread


def stretched(rest: Floats, part: Floats, square: float) -> float:
    """The y ≥ -1 for which Σ (rest + y part)² is `square`, or nearest to it.

    The larger root of y² Σ part² + 2 y Σ rest part + Σ rest² = square; where it has none, the y of
    the least sum.
    """
    a, b = part @ part, rest @ part
    inside = b * b - a * (rest @ rest - square)
    return max(-1.0, float((np.sqrt(max(inside, 0.0)) - b) / a))


def layout_slopes(found: Sequence[float]) -> Floats:
    """What each layout adds per transition so that the extremes are the published ones.

    The greatest and the least layout-specific Ω go to their figures; the others share what makes
    the slopes sum to zero, so the scores averaged over layouts stay as they are.
    """
    values = np.array(found)
    slopes = np.zeros(len(values))
    ends = [int(values.argmax()), int(values.argmin())]
    slopes[ends] = np.array(LAYOUT_OMEGAS) - values[ends]
    others = np.setdiff1d(np.arange(len(values)), ends)
    slopes[others] = -slopes[ends].sum() / len(others)
    return slopes
