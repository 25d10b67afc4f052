"""Events of posterior draws and their probabilities, the same for every kind of posterior.

Invariant: of S draws that have an event k times the probability is (k + 1/2) / (S + 1), never
exactly 0 or 1. Pinned by `tests/test_posterior.py` and `tests/test_bayesian_bootstrap.py`.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.directional import SIDES
from fourcorner.results import Probability
from fourcorner.spec.criteria import Signs

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def of_sign(kind: str, draws: Floats, gains: tuple[Floats, Floats] | None) -> dict[str, Mask]:
    """Whether a value is below zero, and whether two mean gains have opposite signs.

    Parameters
    ----------
    kind : str
        Of the value: ``"omega"`` has the event ``omega<0``.
    draws : ndarray
    gains : (ndarray, ndarray) or None
        The first gain and the second, where the value is the difference of two.

    Examples
    --------
    >>> found = of_sign("gain", np.array([-1.0, 2.0]), None)
    >>> {event: held.tolist() for event, held in found.items()}
    {'gain<0': [True, False]}
    """
    found = {f"{kind}<0": draws < 0}
    if gains is not None:
        first, second = gains
        found[names.REVERSAL_DOWN] = (first > 0) & (second < 0)
        found[names.REVERSAL_UP] = (first < 0) & (second > 0)
    return found


def all_signs(signs: Signs, draws: Mapping[str, Floats]) -> Mask:
    """Whether all estimates of a criterion lie on their sides of zero in a draw."""
    return np.all([draws[row] * SIDES[sign] > 0 for row, sign in signs.items()], axis=0)


def probability(
    *,
    name: str,
    weights: str,
    event: str,
    held: Mask,
    population: str = names.POPULATION_UNITS,
    rope: float | None = None,
) -> Probability:
    """The row of an event that some draws have."""
    return Probability(
        name=name,
        event=event,
        value=float((held.sum() + 0.5) / (held.size + 1)),
        weights=weights,
        population=population,
        draws=held.size,
        rope=rope,
    )
