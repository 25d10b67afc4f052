"""[model], [priors] and [sampler] of a spec: what is fitted, and how it is sampled.

Invariant: what is not given is None or a default that is documented. Pinned by
`tests/test_spec.py`.
"""

import re
from dataclasses import dataclass, fields, replace

from fourcorner import names
from fourcorner.sections import Section, nearest, show
from fourcorner.spec.data import DataSpec

FAMILIES = (names.NORMAL, names.STUDENT)
COHORTS = (names.COHORT_JOINT, names.COHORT_OBSERVED)
COHORTS_OF = {names.NORMAL: COHORTS, names.STUDENT: (names.COHORT_JOINT,)}
PRIORS_NOT_OF = {names.NORMAL: ("nu_mean",), names.STUDENT: (names.VAR_RETRY_SD,)}


@dataclass(frozen=True)
class ModelSpec:
    """Family, effect formulas, cohort and region of practical equivalence.

    A formula that is None means the default that `basis` documents. `cohort` is the units that are
    complete in every cell (``joint``) or all with a cell observed (``observed``). `rope` is half
    the width of the region about zero, native units; None for no such region.
    """

    family: str = names.NORMAL
    effects: str | None = None
    stratum_effects: str | None = None
    cohort: str = names.COHORT_JOINT
    rope: float | None = None


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
        section.fault(f"family = {family!r}: this version fits {', '.join(FAMILIES)}")
    cohort = section.text("cohort", default=names.COHORT_JOINT) or names.COHORT_JOINT
    if cohort not in COHORTS:
        expected = " or ".join(repr(name) for name in COHORTS)
        section.fault(f"cohort = {cohort!r}{nearest(cohort, COHORTS)}: expected {expected}")
    model = ModelSpec(
        family=family,
        effects=section.text("effects", required=False),
        stratum_effects=section.text("stratum_effects", required=False),
        cohort=cohort,
        rope=section.number("rope", test=lambda x: x > 0, wanted="a number above 0"),
    )
    for key in ("effects", "stratum_effects"):
        formula = getattr(model, key)
        if data is not None and formula is not None:
            _check_formula(section, key, formula, data)
    section.finish()
    for fault in unsuited(model, PriorSpec()):
        section.fault(fault)
    return model


def unsuited(model: ModelSpec, priors: PriorSpec) -> list[str]:
    """What a spec gives that its family does not use, in words.

    Examples
    --------
    >>> unsuited(ModelSpec("student"), PriorSpec(retry_sd=1.0))
    ['retry_sd = 1: the student family has no such prior; leave it out']
    """
    cohorts = COHORTS_OF.get(model.family, COHORTS)
    faults = [
        f"{key} = {getattr(priors, key):g}: the {model.family} family has no such prior; "
        f"leave it out"
        for key in PRIORS_NOT_OF.get(model.family, ())
        if getattr(priors, key) is not None
    ]
    if model.cohort in COHORTS and model.cohort not in cohorts:
        faults.append(
            f"cohort = {model.cohort!r}: the {model.family} family fits the units that are "
            f"complete in every cell, cohort = {names.COHORT_JOINT!r}; the {names.NORMAL} family "
            f"fits those with missing cells too"
        )
    return faults


def of_family(priors: PriorSpec, family: str) -> PriorSpec:
    """The same priors without those that a family does not have."""
    return replace(priors, **dict.fromkeys(PRIORS_NOT_OF[family]))


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
    """Overrides of the priors that the model has."""
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
    for fault in unsuited(replace(model, cohort=names.COHORT_JOINT), priors):
        section.fault(fault)
    return priors


def read_sampler(section: Section) -> SamplerSpec:
    """Settings of the sampler."""
    default = SamplerSpec()
    accept = section.number(
        "target_accept", test=lambda x: 0.5 <= x < 1, wanted="a number from 0.5 to below 1"
    )
    lowest = {"draws": 100, "tune": 100, "chains": 2, "seed": 0}
    given = {key: section.whole(key, low=low) for key, low in lowest.items()}
    section.finish()
    chosen = {key: value for key, value in given.items() if value is not None}
    return replace(default, target_accept=accept, **chosen)
