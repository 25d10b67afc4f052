"""[model], [priors] and [sampler] of a spec: what is fitted, and how it is sampled.

Invariant: what is not given is None or a default that is documented. Pinned by
`tests/test_spec.py`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from fourcorner import names
from fourcorner.sections import Section, nearest, show
from fourcorner.spec.data import DataSpec
from fourcorner.spec.families import FAMILIES, SAMPLER

COHORTS = (names.COHORT_JOINT, names.COHORT_OBSERVED)


@dataclass(frozen=True)
class ModelSpec:
    """Family, effect formulas, cohort and region of practical equivalence.

    A formula that is None means the default that `basis` documents. `cohort` is the units that are
    complete in every cell (``joint``) or all with a cell observed (``observed``). `rope` is half
    the width of the region about zero, native units; None for no such region.

    The transition model has the ``observed`` cohort and no formulas. `step` is the attribute that
    names the kind of a step, None for its place in its chain; `wave` the waves that are fitted,
    None for all. A Bayesian bootstrap has the cohort ``contrast``: each estimand its own.
    """

    family: str = names.NORMAL
    effects: str | None = None
    stratum_effects: str | None = None
    cohort: str = names.COHORT_JOINT
    rope: float | None = None
    step: str | None = None
    wave: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PriorSpec:
    """Overrides of priors; None leaves the default of `bayes.priors`."""

    score_location: float | None = None
    score_scale: float | None = None
    intercept_sd: float | None = None
    effect_sd: float | None = None
    tau_sd: float | None = None
    unit_sd: float | None = None
    retry_sd: float | None = None
    stratum_scale_sd: float | None = None
    lkj_eta: float | None = None
    nu_mean: float | None = None


@dataclass(frozen=True)
class SamplerSpec:
    """How a fit is sampled; `seed` also seeds the bootstrap.

    A `target_accept` that is None is the family's own. A divergence is answered by a second run at
    0.99.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float | None = None
    seed: int = 0


def read_model(section: Section, data: DataSpec | None) -> ModelSpec:
    """Family, formulas, cohort and region of practical equivalence."""
    family = section.text("family", default=names.NORMAL) or names.NORMAL
    if family not in FAMILIES:
        listed = ", ".join(FAMILIES)
        section.fault(f"family = {family!r}{nearest(family, FAMILIES)}: expected one of {listed}")
        family = names.NORMAL
    usual = FAMILIES[family].cohorts[0]
    cohort = section.text("cohort", default=usual) or usual
    if cohort not in {*COHORTS, usual}:
        expected = " or ".join(repr(name) for name in COHORTS)
        section.fault(f"cohort = {cohort!r}{nearest(cohort, COHORTS)}: expected {expected}")
    model = ModelSpec(
        family=family,
        effects=section.text("effects", required=False),
        stratum_effects=section.text("stratum_effects", required=False),
        cohort=cohort,
        rope=section.number("rope", test=lambda x: x > 0, wanted="a number above 0"),
        step=section.text("step", required=False),
        wave=section.names("wave") or None,
    )
    if data is not None:
        _check_transitions(section, model, data)
    for key in ("effects", "stratum_effects"):
        formula = getattr(model, key)
        if data is not None and formula is not None:
            _check_formula(section, key, formula, data)
    section.finish()
    for fault in unsuited(model, PriorSpec()):
        section.fault(fault)
    return model


def unsuited(
    model: ModelSpec, priors: PriorSpec, sampler: SamplerSpec = SamplerSpec()
) -> list[str]:
    """What a spec gives that its family does not use, in words.

    Examples
    --------
    >>> unsuited(ModelSpec("student"), PriorSpec(retry_sd=1.0))
    ['retry_sd = 1: the student family has no such prior; leave it out']
    """
    of = FAMILIES[model.family]
    faults = []
    for key in of.no_options:
        if getattr(model, key):
            owners = [name for name, row in FAMILIES.items() if key not in row.no_options]
            faults.append(
                f"{key} is an option of family {' or '.join(owners)}; the {model.family} family "
                f"has none"
            )
    if model.cohort in COHORTS and model.cohort not in of.cohorts:
        faults.append(
            f"cohort = {model.cohort!r}: the {model.family} family has cohort = "
            f"{of.cohorts[0]!r} alone: {of.why}"
        )
    default = SamplerSpec()
    changed = [key for key in SAMPLER if getattr(sampler, key) != getattr(default, key)]
    return [
        *faults,
        *_unused_priors(model.family, priors),
        *_unused_sampler(model.family, changed),
    ]


def _unused_priors(family: str, priors: PriorSpec) -> list[str]:
    return [
        f"{key} = {getattr(priors, key):g}: the {family} family has no such prior; leave it out"
        for key in FAMILIES[family].no_priors
        if getattr(priors, key) is not None
    ]


def _unused_sampler(family: str, given: Iterable[str]) -> list[str]:
    return [
        f"{key}: the {family} family has no chains to sample, and [design] draws is the number of "
        f"its draws; leave it out"
        for key in given
        if key in FAMILIES[family].no_sampler
    ]


def as_family(
    model: ModelSpec, priors: PriorSpec, sampler: SamplerSpec, family: str
) -> tuple[ModelSpec, PriorSpec, SamplerSpec]:
    """The same for another family, without what that does not use.

    A cohort of units is another population than that of transitions, and is kept where both
    families have one, also if the other does not fit it.
    """
    of, before = FAMILIES[family], FAMILIES[model.family]
    cohort = of.cohorts[0] if of.transitions or before.transitions else model.cohort
    default = SamplerSpec()
    return (
        replace(model, family=family, cohort=cohort, **dict.fromkeys(of.no_options)),
        replace(priors, **dict.fromkeys(of.no_priors)),
        replace(sampler, **{key: getattr(default, key) for key in of.no_sampler}),
    )


def _check_transitions(section: Section, model: ModelSpec, data: DataSpec) -> None:
    """The step is an attribute, the waves are levels of the replicate that is called so."""
    if model.step is not None and model.step not in data.attributes:
        known = ", ".join(data.attributes) or "none"
        section.fault(
            f"step = {model.step!r}{nearest(model.step, data.attributes)}: expected one of the "
            f"[data] attributes, which are {known}"
        )
    known_waves = data.replicate.get(names.WAVE, ())
    for level in model.wave or ():
        if level not in known_waves:
            known = ", ".join(known_waves) or "none: no replicate is called 'wave'"
            section.fault(f"wave: no wave {level!r}{nearest(level, known_waves)}; they are {known}")


def _check_formula(section: Section, key: str, formula: str, data: DataSpec) -> None:
    """Every word of a formula is a factor."""
    for word in re.split(r"[*:+]", formula):
        name = word.strip()
        if name not in data.factors:
            what = f"no factor {name!r}{nearest(name, data.factors)}" if name else "an empty part"
            section.fault(
                f"{key} = {show(formula)}: {what}; the factors are {', '.join(data.factors)}"
            )
            return


def read_priors(section: Section, model: ModelSpec) -> PriorSpec:
    """Overrides of the priors that the family has."""
    values = {}
    for key in (item.name for item in fields(PriorSpec)):
        if key == "score_location":
            values[key] = section.number(key, test=lambda _: True, wanted="a finite number")
        elif key == "nu_mean":
            values[key] = section.number(key, test=lambda x: x > 2, wanted="a number above 2")
        else:
            values[key] = section.number(key, test=lambda x: x > 0, wanted="a number above 0")
    section.finish()
    priors = PriorSpec(**values)
    for fault in _unused_priors(model.family, priors):
        section.fault(fault)
    return priors


def read_sampler(section: Section, model: ModelSpec) -> SamplerSpec:
    """Settings of the sampler, where the family has one."""
    default = SamplerSpec()
    accept = section.number(
        "target_accept", test=lambda x: 0.5 <= x < 1, wanted="a number from 0.5 to below 1"
    )
    lowest = {"draws": 100, "tune": 100, "chains": 2, "seed": 0}
    given = {key: section.whole(key, low=low) for key, low in lowest.items()}
    section.finish()
    for fault in _unused_sampler(model.family, section.raw):
        section.fault(fault)
    chosen = {key: value for key, value in given.items() if value is not None}
    return replace(default, target_accept=accept, **chosen)
