"""The published figures of the probing study, and what brings finished draws to them.

Invariant: a shift of target scores moves margins by exactly that, and a stretch of the other
rivals below the nearest one moves no margin, so the two kinds of figure do not disturb each other.
Pinned by `tests/test_protocol.py`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from fourcorner.scores import log_softmax
from fourcorner.simulate.options import is_target
from fourcorner.simulate.study import CalibrationError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# mean gains over all transitions, nats
MEAN_GAIN_DIRECT = 4.033
MEAN_GAIN_GENERATED = -2.335
# under the 128-token rationale, by kind of step
EXTRACTION_GAIN = -7.790
AUDIT_GAIN = -7.392
# of its beliefs
ENTROPY_MOVEMENT = 0.0
SURPRISE = 2.693
# over the audited steps
AUDITED_GAIN_FULL_STATE = 7.750
AUDITED_GAIN_GENERATED = -21.741


# --- mean gains --------------------------------------------------------------------------------


def gain_shifts(
    direct: Floats, short: Floats, full: Floats, steps: NDArray[np.str_], audited: Ints
) -> tuple[Floats, Floats, Floats]:
    """What to add to margins so that the mean gains are the published ones.

    Parameters
    ----------
    direct, short, full
        Margins (n, endpoint), read directly, through 128 tokens, and directly from the full
        state, the last only at both ends of the audited steps.
    steps
        Kind of each step: (endpoints - 1,).
    audited
        Index of each trace's audited step, -1 where none: (n,).

    Returns
    -------
    tuple of ndarray
        One array (n, endpoint) for each of the three.
    """
    is_audited = np.arange(steps.size) == audited[:, None]
    whole = np.ones_like(is_audited)
    extraction, audit = (whole & (steps == kind) for kind in ("extraction", "audit"))
    ends = _around(is_audited)
    of_short = _solve(
        short,
        [_along(extraction), _along(audit), _along(~extraction & ~audit), ends],
        [
            (whole, MEAN_GAIN_GENERATED),
            (extraction, EXTRACTION_GAIN),
            (audit, AUDIT_GAIN),
            (is_audited, AUDITED_GAIN_GENERATED),
        ],
    )
    return (
        _solve(direct, [_along(whole)], [(whole, MEAN_GAIN_DIRECT)]),
        of_short,
        _solve(full, [ends], [(is_audited, AUDITED_GAIN_FULL_STATE)]),
    )


def _along(steps: Bools) -> Floats:
    """One more at every endpoint after each of the steps: (n, endpoint)."""
    return np.pad(steps.cumsum(axis=1), ((0, 0), (1, 0))).astype(np.float64)


def _around(steps: Bools) -> Floats:
    """Half less before and half more after each of the steps: (n, endpoint)."""
    number = steps.astype(np.float64)
    return (np.pad(number, ((0, 0), (1, 0))) - np.pad(number, ((0, 0), (0, 1)))) / 2


def _solve(
    margins: Floats, fields: Sequence[Floats], figures: Sequence[tuple[Bools, float]]
) -> Floats:
    """The combination of fields that gives the mean gain over each set of steps its figure."""

    def gains(levels: Floats) -> list[float]:
        moved = np.diff(levels, axis=1)
        return [float(moved[steps].mean()) for steps, _ in figures]

    response = np.array([gains(field) for field in fields]).T
    wanted = np.array([figure for _, figure in figures]) - gains(margins)
    return np.tensordot(np.linalg.solve(response, wanted), np.stack(fields), axes=1)


# --- beliefs -----------------------------------------------------------------------------------


def spread_rivals(scores: Floats, target: Ints) -> Floats:
    """Stretch rivals' distances below the nearest one until surprise and entropy are right.

    One factor holds everywhere. Another, below 1, narrows the distances further at the first
    endpoint or at the last, whichever the movement of entropy needs.

    Parameters
    ----------
    scores
        (n, endpoint, candidate), nats.
    target
        Index of each trace's target among the candidates.

    Raises
    ------
    CalibrationError
        If no factors within bounds will do.
    """

    def stretched(everywhere: float, end: float) -> Floats:
        logs = np.full((scores.shape[1], 1), everywhere)
        logs[0] += min(-end, 0.0)
        logs[-1] += min(end, 0.0)
        return stretch(scores, target, np.exp(logs))

    def end_of(everywhere: float) -> float:
        def movement(end: float) -> float:
            return entropy_movement(stretched(everywhere, end)) - ENTROPY_MOVEMENT

        return _root(movement, 50.0, "the movement of entropy")

    def missed(everywhere: float) -> float:
        return surprise(stretched(everywhere, end_of(everywhere))) - SURPRISE

    everywhere = _root(missed, 2.5, "the surprise")
    return stretched(everywhere, end_of(everywhere))


def stretch(scores: Floats, target: Ints, factor: Floats) -> Floats:
    """Multiply every rival's distance below the nearest rival; margins stay."""
    own = is_target(scores, target)
    nearest = np.where(own, -np.inf, scores).max(axis=-1, keepdims=True)
    return np.where(own, scores, nearest - factor * (nearest - scores))


def _root(function: Callable[[float], float], most: float, what: str) -> float:
    """Where a function of a log factor is zero, the factor being between 1 / most and most."""
    low, high = -float(np.log(most)), float(np.log(most))
    below, above = function(low), function(high)
    if below * above > 0:
        raise CalibrationError(
            f"no factor from 1/{most:g} to {most:g} gives {what} its figure: it misses by "
            f"{below:.3g} to {above:.3g} nats; take another seed"
        )
    return float(brentq(function, low, high, xtol=1e-10))


def entropy_movement(scores: Floats) -> float:
    """Mean of H(after) - H(before) over transitions, nats: scores (n, endpoint, candidate)."""
    beliefs = log_softmax(scores)
    return float(np.diff(-(np.exp(beliefs) * beliefs).sum(axis=-1), axis=1).mean())


def surprise(scores: Floats) -> float:
    """Mean of KL(after || before) over transitions, nats: scores (n, endpoint, candidate)."""
    beliefs = log_softmax(scores)
    moved = np.diff(beliefs, axis=1)
    return float((np.exp(beliefs[:, 1:]) * moved).sum(axis=-1).mean())
