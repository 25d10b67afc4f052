"""Whatever a caller asks for, as named estimands.

Invariant: what a spec declares and what Python builds are the same objects. Pinned by
`tests/test_estimands.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from fourcorner import contrasts, measures, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError, SpecError
from fourcorner.estimands.estimand import Estimand
from fourcorner.estimands.measured import agreement, auc, beliefs, signs
from fourcorner.spec import EstimandSpec, Spec
from fourcorner.spec.differences import build_order


def as_estimands(asked: Spec | Contrast | Mapping[str, Contrast | Estimand]) -> dict[str, Estimand]:
    """Read whatever a caller asks for as named estimands, in the order given.

    Parameters
    ----------
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
        A mapping's key is the estimand's name.

    Returns
    -------
    dict of str to Estimand

    Raises
    ------
    ContrastError
        If it is none of these.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> as_estimands({"direct": gain(view="direct")})["direct"].statistic
    'mean'
    """
    match asked:
        case Spec():
            return _from_spec(asked)
        case Contrast():
            return {asked.name: Estimand(asked.name, asked)}
        case Mapping():
            return {name: _named(name, item) for name, item in asked.items()}
    return _refuse("asked", asked)


def _named(name: str, item: Contrast | Estimand) -> Estimand:
    match item:
        case Estimand():
            return replace(item, name=name)
        case Contrast():
            return Estimand(name, item)
    return _refuse(f"asked[{name!r}]", item)


def _refuse(what: str, got: object) -> NoReturn:
    msg = f"{what} = {got!r}: expected a spec, a contrast, or a mapping of names to contrasts"
    raise ContrastError(msg)


def _from_spec(spec: Spec) -> dict[str, Estimand]:
    built: dict[str, Contrast] = {}
    for name in build_order(spec.estimands):
        declared = spec.estimands[name]
        if declared.is_measured:
            continue
        if declared.difference is None:
            built[name] = _declared(declared, spec).renamed(name)
        else:
            first, second = (built[part] for part in declared.difference)
            built[name] = (second - first).renamed(name)
    found: dict[str, Estimand] = {}
    for name, declared in spec.estimands.items():
        about = _about(declared, spec)
        if declared.is_measured:
            rows = _measured(name, declared, spec, about)
        else:
            rows = {name: Estimand(name, built[name], declared.statistic, **about)}
        for twice in rows.keys() & (found.keys() | spec.estimands.keys() - {name}):
            raise SpecError(
                [f"[estimands] {name}: its row {twice!r} is an estimand too; rename one"]
            )
        found |= rows
    return found


def _about(declared: EstimandSpec, spec: Spec) -> dict[str, Any]:
    """Whom an estimand is about."""
    return {
        "between": declared.between,
        "where": {_coordinate(key, spec): levels for key, levels in declared.where.items()},
        "wave": declared.wave,
        "weight_by": declared.weight_by,
    }


def _measured(
    name: str, declared: EstimandSpec, spec: Spec, about: Mapping[str, Any]
) -> dict[str, Estimand]:
    """The rows of an estimand that takes something else than its contrast of each transition."""
    over = _over(declared, spec)
    if declared.kind == names.AGREEMENT:
        of = declared.factor or declared.levels
        return agreement(name, of, state=declared.state, at=over, **about)
    if declared.kind == "beliefs":
        return beliefs(name, _declared(declared, spec), **about)
    if declared.kind == "auc":
        state = declared.state or names.AFTER
        shift = contrasts.endpoint_shift(state, at=over, **declared.levels)
        return auc(name, shift, declared.outcome or ("", ""), **about)
    first, second = (
        contrasts.gain(at={**over, **{factor: pair[i] for factor, pair in declared.levels.items()}})
        for i in (0, 1)
    )
    zones = measures.DEAD_ZONES if declared.dead_zones is None else declared.dead_zones
    waves = declared.wave or spec.data.replicate.get(names.WAVE, ())
    return signs(name, first, second, dead_zones=zones, repeated=len(waves) > 1, **about)


def _coordinate(column: str, spec: Spec) -> str:
    """Coordinate of the scores that holds an attribute or the stratum."""
    return names.STRATUM if column == spec.data.stratum else column


def _over(declared: EstimandSpec, spec: Spec) -> dict[str, Sequence[str]]:
    """The channel factors that are fixed or averaged, with their levels."""
    averaged = {factor: spec.data.channel[factor] for factor in declared.average_over}
    return {**declared.at, **averaged}


def _declared(declared: EstimandSpec, spec: Spec) -> Contrast:
    over = _over(declared, spec)
    match declared.kind:
        case "gain" | "beliefs":
            return contrasts.gain(at={**declared.levels, **over})
        case "omega":
            return contrasts.omega(at=over, **declared.levels)
        case "diagonal":
            return contrasts.diagonal(at=over, **declared.levels)
        case "allocation":
            pairs = {f: pair for f, pair in declared.levels.items() if f != names.STATE}
            shares = contrasts.shapley(state=declared.state, at=over, **pairs)
            return shares[declared.factor or ""]
        case _:
            return contrasts.endpoint_shift(declared.state or "", at=over, **declared.levels)
