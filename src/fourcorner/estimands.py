"""Estimands: a named contrast together with the statistic asked of it.

Invariant: what a spec declares and what Python builds are the same `Contrast` objects.
Pinned by `tests/test_estimands.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fourcorner import contrasts, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError
from fourcorner.sections import nearest
from fourcorner.spec import EstimandSpec, Spec


@dataclass(frozen=True)
class Estimand:
    """A contrast and a statistic of its values over transitions.

    Attributes
    ----------
    name : str
    contrast : Contrast
    statistic : {"mean", "median", "negative_share"}

    Raises
    ------
    ContrastError
        If the statistic is none of these.
    """

    name: str
    contrast: Contrast
    statistic: str = names.MEAN

    def __post_init__(self) -> None:
        if self.statistic not in names.STATISTICS:
            near = nearest(self.statistic, names.STATISTICS)
            expected = ", ".join(names.STATISTICS)
            msg = f"{self.name}: statistic = {self.statistic!r}{near}; expected one of {expected}"
            raise ContrastError(msg)


Estimands = Mapping[str, Estimand]


def as_estimands(asked: Spec | Contrast | Mapping[str, Contrast | Estimand]) -> dict[str, Estimand]:
    """Read whatever a caller asks for as named estimands, in the order given.

    Parameters
    ----------
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
        A mapping's key is the estimand's name.

    Returns
    -------
    dict of str to Estimand

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> as_estimands({"direct": gain(view="direct")})["direct"].statistic
    'mean'
    """
    if isinstance(asked, Spec):
        return _from_spec(asked)
    if isinstance(asked, Contrast):
        return {asked.name: Estimand(asked.name, asked)}
    return {
        name: replace(item, name=name) if isinstance(item, Estimand) else Estimand(name, item)
        for name, item in asked.items()
    }


def _from_spec(spec: Spec) -> dict[str, Estimand]:
    built: dict[str, Contrast] = {}

    def contrast(name: str) -> Contrast:
        if name not in built:
            declared = spec.estimands[name]
            if declared.difference is None:
                built[name] = _declared(declared, spec).renamed(name)
            else:
                first, second = (contrast(part) for part in declared.difference)
                built[name] = (second - first).renamed(name)
        return built[name]

    return {
        name: Estimand(name, contrast(name), declared.statistic)
        for name, declared in spec.estimands.items()
    }


def _declared(declared: EstimandSpec, spec: Spec) -> Contrast:
    channel = spec.data.channel
    over = {**declared.at, **{factor: channel[factor] for factor in declared.average_over}}
    if declared.kind == "gain":
        return contrasts.gain(at={**declared.levels, **over})
    if declared.kind == "omega":
        return contrasts.omega(at=over, **declared.levels)
    if declared.kind == "diagonal":
        return contrasts.diagonal(at=over, **declared.levels)
    return contrasts.endpoint_shift(declared.state or "", at=over, **declared.levels)
