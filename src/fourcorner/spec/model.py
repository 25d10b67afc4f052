"""[model], [priors] and [sampler] of a spec: what is fitted, and how it is sampled.

Invariant: what is not given is None or a default that is documented. Pinned by
`tests/test_spec.py`.
"""

import re
from dataclasses import dataclass, fields, replace

from fourcorner import names
from fourcorner.sections import Section, nearest, show
from fourcorner.spec.data import DataSpec

TRANSITIONS = "transitions"
FAMILIES = ("normal", TRANSITIONS)
COHORTS = (names.COHORT_JOINT, names.COHORT_OBSERVED)


@dataclass(frozen=True)
class ModelSpec:
    """Family, effect formulas, cohort and region of practical equivalence.

    A formula that is None means the default that `basis` documents. `cohort` is the units that are
    complete in every cell (``joint``) or all with a cell observed (``observed``). `rope` is half
    the width of the region about zero, native units; None for no such region.

    The transition model has the ``observed`` cohort and no formulas. `step` is the attribute that
    names the kind of a step, None for its place in its chain; `wave` the waves that are fitted,
    None for all.
    """

    family: str = "normal"
    effects: str | None = None
    stratum_effects: str | None = None
    cohort: str = names.COHORT_JOINT
    rope: float | None = None
    step: str | None = None
    wave: tuple[str, ...] | None = None


@dataclass(frozen=True)
class PriorSpec:
    """Overrides of prior scales in native units; None leaves the default of `bayes.priors`."""

    score_location: float | None = None
    score_scale: float | None = None
    intercept_sd: float | None = None
    effect_sd: float | None = None
    tau_sd: float | None = None
    unit_sd: float | None = None
    retry_sd: float | None = None
    stratum_scale_sd: float | None = None
    lkj_eta: float | None = None


@dataclass(frozen=True)
class SamplerSpec:
    """How a fit is sampled; `seed` also seeds the bootstrap.

    The collapsed model has no funnel and is sampled in coordinates that suit its posterior, so
    long steps are accepted well: 0.7 gives more effective draws than the usual 0.8 to 0.95 with
    half the gradients. A divergence is answered by a second run at 0.99.
    """

    draws: int = 1000
    tune: int = 1000
    chains: int = 4
    target_accept: float = 0.7
    seed: int = 0


def read_model(section: Section, data: DataSpec | None) -> ModelSpec:
    """Family, formulas, cohort and region of practical equivalence."""
    family = section.text("family", default="normal") or "normal"
    if family not in FAMILIES:
        section.fault(f"family = {family!r}: this version fits {', '.join(FAMILIES)}")
    transitions = family == TRANSITIONS
    usual = names.COHORT_OBSERVED if transitions else names.COHORT_JOINT
    cohort = section.text("cohort", default=usual) or usual
    if cohort not in COHORTS:
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
    _check_family(section, model)
    if data is not None:
        _check_transitions(section, model, data)
    for key in ("effects", "stratum_effects"):
        formula = getattr(model, key)
        if data is not None and formula is not None:
            _check_formula(section, key, formula, data)
    section.finish()
    return model


def _check_family(section: Section, model: ModelSpec) -> None:
    """No option that the family does not use."""
    of_transitions = model.family == TRANSITIONS
    unused = ("effects", "stratum_effects") if of_transitions else ("step", "wave")
    for key in unused:
        if getattr(model, key):
            owner = "the cell model" if of_transitions else f"family = {TRANSITIONS!r}"
            section.fault(f"{key} is an option of {owner}; family = {model.family!r} has none")
    if of_transitions and model.cohort == names.COHORT_JOINT:
        section.fault(
            f"cohort = 'joint': family = {TRANSITIONS!r} uses every endpoint that was measured; "
            f"leave cohort out, or say 'observed'"
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


def read_priors(section: Section, family: str) -> PriorSpec:
    """Overrides of prior scales; none that the family does not have."""
    values = {}
    for key in (item.name for item in fields(PriorSpec)):
        if key == "score_location":
            values[key] = section.number(key, test=lambda _: True, wanted="a finite number")
        else:
            values[key] = section.number(key, test=lambda x: x > 0, wanted="a number above 0")
    for key in (names.VAR_RETRY_SD, "stratum_scale_sd") if family == TRANSITIONS else ():
        if values[key] is not None:
            section.fault(f"{key}: family = {TRANSITIONS!r} has no such prior")
    section.finish()
    return PriorSpec(**values)


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
    return replace(
        default, target_accept=default.target_accept if accept is None else accept, **chosen
    )
