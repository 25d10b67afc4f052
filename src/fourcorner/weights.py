"""Target weights: which mixture of strata a population value refers to.

Invariant: resolved weights name every stratum of the cohort and sum to one, or there is a
`WeightsError`; a missing weight is never a silent one. Pinned by `tests/test_weights.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import WeightsError
from fourcorner.sections import canonical, nearest
from fourcorner.spec import Spec, check_weights


@dataclass(frozen=True)
class TargetWeights:
    """A named mixture. `shares` is None for the empirical mixture of whatever cohort it meets.

    Attributes
    ----------
    name : str
    shares : ndarray of shape (strata,), or None
    """

    name: str
    shares: NDArray[np.float64] | None


def resolve(
    name: str, declared: str | Mapping[str, float], strata: Sequence[str]
) -> TargetWeights:
    """Turn declared weights into shares of the strata that exist.

    Parameters
    ----------
    name : str
    declared : "empirical", "equal" or mapping of stratum to weight
    strata : sequence of str
        Every stratum of the data, in order.

    Returns
    -------
    TargetWeights

    Raises
    ------
    WeightsError
        If a named mixture leaves a stratum out, names one that is not there, has a negative or
        infinite weight, or does not sum to one within 1e-9.

    Examples
    --------
    >>> resolve("equal", "equal", ["no", "yes"]).shares.tolist()
    [0.5, 0.5]
    """
    if declared == names.EMPIRICAL:
        return TargetWeights(name, None)
    if declared == names.EQUAL:
        return TargetWeights(name, np.full(len(strata), 1 / len(strata)))
    assert not isinstance(declared, str), declared
    try:
        given = check_weights({canonical(key): value for key, value in declared.items()})
    except ValueError as error:
        msg = f"weights {name!r}: {error}"
        raise WeightsError(msg) from None
    unknown = [stratum for stratum in given if stratum not in strata]
    absent = [stratum for stratum in strata if stratum not in given]
    if unknown or absent:
        hints = [f"{word!r} is not a stratum{nearest(word, strata)}" for word in unknown]
        hints += [f"{word!r} has no weight (write {word!r} = 0.0 to leave it out)" for word in absent]
        msg = f"weights {name!r}: {'; '.join(hints)}; the strata are {list(strata)}"
        raise WeightsError(msg)
    return TargetWeights(name, np.array([given[stratum] for stratum in strata]))


def resolve_all(
    asked: Spec | Mapping[str, str | Mapping[str, float]], strata: Sequence[str]
) -> list[TargetWeights]:
    """Every declared mixture, in order."""
    declared = asked.weights if isinstance(asked, Spec) else asked
    return [resolve(name, value, strata) for name, value in declared.items()]
