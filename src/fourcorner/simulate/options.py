"""Option scores, with trajectories along the first axis and options along the last.

Invariant: a margin is the target's score minus its nearest rival's, and crediting the target moves
it by exactly what was credited. Pinned by `tests/test_simulate.py`.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def is_target(scores: Floats, target: Ints) -> Bools:
    """Mark each trajectory's target; what comes back broadcasts to the scores."""
    shape = (target.size, *[1] * (scores.ndim - 1))
    return np.arange(scores.shape[-1]) == target.reshape(shape)


def margins(scores: Floats, target: Ints) -> Floats:
    """Target's score minus its nearest rival's.

    Parameters
    ----------
    scores : ndarray of shape (n, ..., option)
        NaN gives NaN.
    target : ndarray of shape (n,)
        Index of each trajectory's target among the options.

    Returns
    -------
    ndarray of shape (n, ...)

    Examples
    --------
    >>> margins(np.array([[3.0, 1.0, -2.0]]), np.array([1])).tolist()
    [-2.0]
    """
    own = is_target(scores, target)
    rival = np.where(own, -np.inf, scores).max(axis=-1)
    return np.asarray(np.where(own, scores, -np.inf).max(axis=-1) - rival)


def credit(scores: Floats, option: Ints, amount: Floats) -> None:
    """Add to one option of each trajectory, in place.

    Parameters
    ----------
    scores : ndarray of shape (n, ..., option)
    option : ndarray of shape (n,)
        Index of the option.
    amount : ndarray
        Broadcasts to the scores without their last axis.
    """
    scores[np.arange(option.size), ..., option] += amount
