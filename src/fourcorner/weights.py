"""Target weights: which mixture of strata a population value refers to.

Invariant: resolved weights name every stratum of the cohort and sum to one, or there is a
`WeightsError`; a missing weight is never a silent one. Pinned by `tests/test_weights.py`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.errors import WeightsError
from fourcorner.sections import canonical, nearest
from fourcorner.spec import Spec
from fourcorner.spec.order import in_order
from fourcorner.spec.weights import KEPT, Declared, check_mix, check_weights, is_mix

STANDING = dict(zip(KEPT, KEPT, strict=True))
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
PAIRS = "pairs of strata and weights such as yes=0.5,no=0.5"


@dataclass(frozen=True)
class TargetWeights:
    """A named mixture of the cohort's own mixture and fixed shares of the strata.

    What an estimand is under it: θ(w) = empirical × mean over the cohort (all strata together)
    + Σ over strata g of shares_g × mean over stratum g.

    Attributes
    ----------
    name : str
    shares : ndarray of shape (strata,), or None
        The fixed part, summing to 1 − `empirical`; None where there is none.
    empirical : float
        Share of the mixture of whatever cohort is met: 1 where `shares` is None, 0 for fixed
        weights, between them for a mix of both.
    """

    name: str
    shares: NDArray[np.float64] | None
    empirical: float = 0.0

    def __post_init__(self) -> None:
        if self.shares is None:
            object.__setattr__(self, "empirical", 1.0)


def resolve(
    name: str,
    declared: Declared,
    strata: Sequence[str],
    known: Mapping[str, Declared] | None = None,
) -> TargetWeights:
    """Turn declared weights into shares of the strata that exist.

    Parameters
    ----------
    name : str
    declared : "empirical", "equal", mapping of stratum to weight, or {"mix": shares}
        A mix maps names of mixtures to their shares.
    strata : sequence of str
        Every stratum of the data, in order.
    known : mapping of name to declared weights, optional
        What a mix may name, beside ``empirical`` and ``equal``.

    Returns
    -------
    TargetWeights

    Raises
    ------
    WeightsError
        If a named mixture leaves a stratum out, names one twice or that is not there, has a
        negative or infinite weight, or does not sum to one within 1e-9; if a mix names no
        mixture or itself; if `declared` is another word, or strata are weighted where none is
        declared.

    Examples
    --------
    >>> resolve("equal", "equal", ["no", "yes"]).shares.tolist()
    [0.5, 0.5]
    >>> half = resolve("half", {"mix": {"empirical": 0.5, "equal": 0.5}}, ["no", "yes"])
    >>> half.empirical, half.shares.tolist()
    (0.5, [0.25, 0.25])
    """
    if name in KEPT and declared != name:
        raise WeightsError(f"weights {name!r}: the name is kept for that mixture itself")
    if not isinstance(declared, Mapping) or not is_mix(declared):
        return TargetWeights(name, _simple(name, declared, strata))
    empirical, fixed = 0.0, np.zeros(len(strata))
    for part, (mixture, share) in _flat(name, declared, {**STANDING, **(known or {})}).items():
        shares = _simple(part, mixture, strata)
        if shares is None:
            empirical += share
        else:
            fixed += share * shares
    return TargetWeights(name, fixed, empirical) if fixed.any() else TargetWeights(name, None)


def _simple(name: str, declared: Declared, strata: Sequence[str]) -> NDArray[np.float64] | None:
    """Shares of a mixture that is no mix; None for the empirical one."""
    if declared == names.EMPIRICAL:
        return None
    if list(strata) == [""]:
        msg = f"weights {name!r}: the scores have no strata to weight; declare [data] stratum"
        raise WeightsError(msg)
    if declared == names.EQUAL:
        return np.full(len(strata), 1 / len(strata))
    if not isinstance(declared, Mapping):
        near = nearest(declared, KEPT) if isinstance(declared, str) else ""
        expected = "'empirical', 'equal', a mapping of stratum to weight or a mix"
        raise WeightsError(f"weights {name!r}: got {declared!r}{near}; expected {expected}")
    return _shares(name, declared, strata)


def _flat(
    name: str, declared: Declared, known: Mapping[str, Declared]
) -> dict[str, tuple[Declared, float]]:
    """The mixtures that a mix comes down to, each with its share in it."""
    everything = {**known, name: declared}
    mixes = {other: _mix(other, mixture) for other, mixture in everything.items()}
    order = in_order(mixes)
    if name not in order:
        raise WeightsError(f"weights {name!r}: it, or a mix that it names, comes back to itself")
    held = {name: 1.0}
    found = {}
    for other in reversed(order):
        if other not in held:
            continue
        for part, share in mixes[other].items():
            if part not in everything:
                near = nearest(part, everything)
                msg = f"weights {other!r}: no mixture {part!r}{near}; there are {list(known)}"
                raise WeightsError(msg)
            held[part] = held.get(part, 0.0) + held[other] * share
        if not mixes[other]:
            found[other] = (everything[other], held[other])
    return found


def _mix(name: str, declared: Declared) -> Mapping[str, float]:
    """Checked shares of a mix; nothing for another mixture."""
    if not isinstance(declared, Mapping) or not is_mix(declared):
        return {}
    try:
        return check_mix(declared)
    except ValueError as error:
        raise WeightsError(f"weights {name!r}: {error}") from None


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
    asked: Spec | Mapping[str, Declared],
    strata: Sequence[str],
    known: Mapping[str, Declared] | None = None,
) -> list[TargetWeights]:
    """Resolve every declared mixture, in order.

    Parameters
    ----------
    asked : Spec or mapping of name to declared weights
        A mix may name any of them.
    strata : sequence of str
    known : mapping of name to declared weights, optional
        What a mix may name besides, such as a spec's own weights.

    Returns
    -------
    list of TargetWeights
    """
    declared = asked.weights if isinstance(asked, Spec) else asked
    named = {**(known or {}), **declared}
    return [resolve(name, value, strata, named) for name, value in declared.items()]


def parse(text: str, known: Mapping[str, Declared]) -> Declared:
    """Read weights as they are written on the command line.

    Parameters
    ----------
    text : str
        A name in `known`, ``equal``, ``empirical``, or pairs such as ``yes=0.5,no=0.5``.
    known : mapping of name to declared weights
        A spec's.

    Returns
    -------
    str or mapping
        As a spec declares weights; a mix needs `known` again where it is resolved.

    Raises
    ------
    WeightsError
        If it is none of these, a weight is no number, or weights do not sum to one.

    Examples
    --------
    >>> parse("yes=0.25, no=0.75", {})
    {'yes': 0.25, 'no': 0.75}
    >>> parse("policy", {"policy": {"yes": 0.9, "no": 0.1}})
    {'yes': 0.9, 'no': 0.1}
    """
    choices = {**STANDING, **known}
    if text in choices:
        return choices[text]
    if "=" not in text:
        near = nearest(text, choices)
        msg = f"weights {text!r}: no such name{near}; expected one of {list(choices)}, or {PAIRS}"
        raise WeightsError(msg)
    pairs: dict[str, float] = {}
    for part in text.split(","):
        stratum, _, weight = (piece.strip() for piece in part.rpartition("="))
        stratum = canonical(stratum)
        if not stratum or not NUMBER.fullmatch(weight):
            raise WeightsError(f"weights {text!r}: {part.strip()!r} is no pair; expected {PAIRS}")
        if stratum in pairs:
            raise WeightsError(f"weights {text!r}: {stratum!r} is named twice")
        pairs[stratum] = float(weight)
    try:
        return check_weights(pairs)
    except ValueError as error:
        raise WeightsError(f"weights {text!r}: {error}") from None
