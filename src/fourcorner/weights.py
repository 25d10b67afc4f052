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

KEPT = (names.EMPIRICAL, names.EQUAL)


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


def resolve(name: str, declared: str | Mapping[str, float], strata: Sequence[str]) -> TargetWeights:
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
        If a named mixture leaves a stratum out, names one twice or that is not there, has a
        negative or infinite weight, or does not sum to one within 1e-9; if `declared` is another
        word, or strata are weighted where none is declared.

    Examples
    --------
    >>> resolve("equal", "equal", ["no", "yes"]).shares.tolist()
    [0.5, 0.5]
    """
    if name in KEPT and declared != name:
        raise WeightsError(f"weights {name!r}: the name is kept for that mixture itself")
    if declared == names.EMPIRICAL:
        return TargetWeights(name, None)
    if list(strata) == [""]:
        msg = f"weights {name!r}: the scores have no strata to weight; declare [data] stratum"
        raise WeightsError(msg)
    if declared == names.EQUAL:
        return TargetWeights(name, np.full(len(strata), 1 / len(strata)))
    if not isinstance(declared, Mapping):
        near = nearest(declared, KEPT) if isinstance(declared, str) else ""
        expected = "'empirical', 'equal' or a mapping of stratum to weight"
        raise WeightsError(f"weights {name!r}: got {declared!r}{near}; expected {expected}")
    return TargetWeights(name, _shares(name, declared, strata))


def _shares(name: str, declared: Mapping[str, float], strata: Sequence[str]) -> NDArray[np.float64]:
    keys = [canonical(key) for key in declared]
    unknown = [key for key in keys if key not in strata]
    absent = [stratum for stratum in strata if stratum not in keys]
    hints = [f"{key!r} is not a stratum{nearest(key, strata)}" for key in unknown]
    hints += [f"{key!r} has no weight (write 0.0 to leave it out)" for key in absent]
    hints += [f"{key!r} is named twice" for key in dict.fromkeys(keys) if keys.count(key) > 1]
    if hints:
        msg = f"weights {name!r}: {'; '.join(hints)}; the strata are {list(strata)}"
        raise WeightsError(msg)
    try:
        given = check_weights(dict(zip(keys, declared.values(), strict=True)))
    except ValueError as error:
        msg = f"weights {name!r}: {error}"
        raise WeightsError(msg) from None
    return np.array([given[stratum] for stratum in strata])


def resolve_all(
    asked: Spec | Mapping[str, str | Mapping[str, float]], strata: Sequence[str]
) -> list[TargetWeights]:
    """Resolve every declared mixture, in order."""
    declared = asked.weights if isinstance(asked, Spec) else asked
    return [resolve(name, value, strata) for name, value in declared.items()]
