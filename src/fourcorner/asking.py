"""What a caller asks for, as estimands and the mixtures they are asked under.

Invariant: the Python front and the main job read a request in this one place. Pinned by
`tests/test_api.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorner import names
from fourcorner.contrasts import Contrast
from fourcorner.errors import OptionError
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.spec import Spec
from fourcorner.weights import TargetWeights, resolve_all

Asked = Spec | Contrast | Mapping[str, Contrast | Estimand]
Weights = Mapping[str, Any]  # name to "empirical", "equal", stratum weights or a mix
Resolved = tuple[list[Estimand], list[TargetWeights]]

EMPIRICAL: Weights = {names.EMPIRICAL: names.EMPIRICAL}


def resolved(asked: Asked, weights: Weights | None, strata: Sequence[str]) -> Resolved:
    """Estimands and mixtures of a request, in order.

    Parameters
    ----------
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
    weights : mapping of name to "empirical", "equal", stratum weights or a mix, or None
        None for the spec's own, or the empirical mixture.
    strata : sequence of str
        Every stratum of the data.

    Raises
    ------
    WeightsError
        If the weights do not fit the strata.
    OptionError
        If the request is none of these, or the weights are no mapping or an empty one.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> estimands, mixtures = resolved(gain(view="direct"), None, ["no", "yes"])
    >>> [found.name for found in mixtures]
    ['empirical']
    """
    if isinstance(weights, str) or (weights is not None and not weights):
        msg = f"weights = {weights!r}: expected a mapping, such as {{'equal': 'equal'}}"
        raise OptionError(msg)
    if weights is None:
        weights = asked.weights if isinstance(asked, Spec) else EMPIRICAL
    known = asked.weights if isinstance(asked, Spec) else {}
    return list(as_estimands(asked).values()), resolve_all(weights, strata, known)
