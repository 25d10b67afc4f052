"""Whatever a caller asks for, as named estimands.

Invariant: what a spec declares and what Python builds are the same objects, and each kind of
`fourcorner.spec.kinds` is built by the one rule that `CONTRASTS` or `ROWS` has for it. Pinned by
`tests/test_estimands.py` and `tests/test_families.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from fourcorner import contrasts, measures, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError, SpecError
from fourcorner.estimands.estimand import Estimand
from fourcorner.estimands.measured import agreement, auc, beliefs, benchmark, signs
from fourcorner.spec import EstimandSpec, Spec
from fourcorner.spec.criteria import faults
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
            contrast = CONTRASTS[declared.kind](declared, _over(declared, spec))
            built[name] = contrast.renamed(name)
        else:
            first, second = (built[part] for part in declared.difference)
            built[name] = (second - first).renamed(name)
    found: dict[str, Estimand] = {}
    for name, declared in spec.estimands.items():
        about = _about(declared, spec)
        if declared.is_measured:
            rows = ROWS[declared.kind](name, declared, spec, about)
        else:
            rows = {name: Estimand(name, built[name], declared.statistic, **about)}
        for twice in rows.keys() & (found.keys() | spec.estimands.keys() - {name}):
            raise SpecError(
                [f"[estimands] {name}: its row {twice!r} is an estimand too; rename one"]
            )
        found |= rows
    signed = {name: estimand.is_signed for name, estimand in found.items()}
    if wrong := faults(spec.criteria, signed):
        raise SpecError(wrong)
    return found


def _about(declared: EstimandSpec, spec: Spec) -> dict[str, Any]:
    """Whom an estimand is about."""
    return {
        "between": declared.between,
        "where": {_coordinate(key, spec): levels for key, levels in declared.where.items()},
        "wave": declared.wave,
        "weight_by": declared.weight_by,
    }


def _coordinate(column: str, spec: Spec) -> str:
    """Coordinate of the scores that holds an attribute or the stratum."""
    return names.STRATUM if column == spec.data.stratum else column


def _over(declared: EstimandSpec, spec: Spec) -> dict[str, Sequence[str]]:
    """The channel factors that are fixed or averaged, with their levels."""
    averaged = {factor: spec.data.channel[factor] for factor in declared.average_over}
    return {**declared.at, **averaged}


Over = Mapping[str, Sequence[str]]  # channel factors that are fixed or averaged, with their levels
About = Mapping[str, Any]  # whom an estimand is about


def _gain(declared: EstimandSpec, over: Over) -> Contrast:
    return contrasts.gain(at={**declared.levels, **over})


def _omega(declared: EstimandSpec, over: Over) -> Contrast:
    return contrasts.omega(at=over, **declared.levels)


def _diagonal(declared: EstimandSpec, over: Over) -> Contrast:
    return contrasts.diagonal(at=over, **declared.levels)


def _endpoint_shift(declared: EstimandSpec, over: Over) -> Contrast:
    return contrasts.endpoint_shift(declared.state or "", at=over, **declared.levels)


def _share(declared: EstimandSpec, over: Over) -> Contrast:
    pairs = {f: pair for f, pair in declared.levels.items() if f != names.STATE}
    shares = contrasts.shapley(state=declared.state, at=over, **pairs)
    return shares[declared.factor or ""]


def _signs(name: str, declared: EstimandSpec, spec: Spec, about: About) -> dict[str, Estimand]:
    over = _over(declared, spec)
    first, second = (
        contrasts.gain(at={**over, **{factor: pair[i] for factor, pair in declared.levels.items()}})
        for i in (0, 1)
    )
    zones = measures.DEAD_ZONES if declared.dead_zones is None else declared.dead_zones
    repeated = _repeated(declared, spec)
    return signs(name, first, second, dead_zones=zones, repeated=repeated, **about)


def _repeated(declared: EstimandSpec, spec: Spec) -> bool:
    """Whether it is about several waves."""
    return len(declared.wave or spec.data.replicate.get(names.WAVE, ())) > 1


def _auc(name: str, declared: EstimandSpec, spec: Spec, about: About) -> dict[str, Estimand]:
    state, over = declared.state or names.AFTER, _over(declared, spec)
    shift = contrasts.endpoint_shift(state, at=over, **declared.levels)
    return auc(name, shift, declared.outcome or ("", ""), **about)


def _beliefs(name: str, declared: EstimandSpec, spec: Spec, about: About) -> dict[str, Estimand]:
    return beliefs(name, _gain(declared, _over(declared, spec)), **about)


def _agreement(name: str, declared: EstimandSpec, spec: Spec, about: About) -> dict[str, Estimand]:
    of = declared.factor or declared.levels
    return agreement(name, of, state=declared.state, at=_over(declared, spec), **about)


CONTRASTS: Mapping[str, Callable[[EstimandSpec, Over], Contrast]] = {
    names.GAIN: _gain,
    names.OMEGA: _omega,
    names.ENDPOINT_SHIFT: _endpoint_shift,
    names.DIAGONAL: _diagonal,
    names.ALLOCATION: _share,
}


def _benchmark(name: str, declared: EstimandSpec, spec: Spec, about: About) -> dict[str, Estimand]:
    over = _over(declared, spec)
    before, after = (
        contrasts.endpoint_shift(state, at=over, **declared.levels) for state in names.STATES
    )
    return benchmark(name, before, after, repeated=_repeated(declared, spec), **about)


ROWS: Mapping[str, Callable[[str, EstimandSpec, Spec, About], dict[str, Estimand]]] = {
    names.SIGNS: _signs,
    names.AUC: _auc,
    names.BELIEFS: _beliefs,
    names.BENCHMARK: _benchmark,
    names.AGREEMENT: _agreement,
}
