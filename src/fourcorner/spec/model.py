"""[model], [priors] and [sampler] of a spec: what is fitted, and how it is sampled.

Invariant: what is not given is None or a default that is documented. Pinned by
`tests/test_spec.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from fourcorner import names
from fourcorner.sections import Section, nearest, show
from fourcorner.spec.data import DataSpec

NORMAL = "normal"
FAMILIES = (NORMAL, names.BAYESIAN_BOOTSTRAP)
COHORTS = (names.COHORT_JOINT, names.COHORT_OBSERVED)
UNUSED = {  # what a family has no use for, by table, and why
    names.BAYESIAN_BOOTSTRAP: {
        "model": (
            ("effects", "stratum_effects", "cohort"),
            "a Bayesian bootstrap has no effects, and takes every transition complete for its "
            "estimand",
        ),
        "priors": (None, "a Bayesian bootstrap has no prior to set"),
        "sampler": (
            ("draws", "tune", "chains", "target_accept"),
            "a Bayesian bootstrap has no chains; [design] draws is the number of its draws",
        ),
    },
}


@dataclass(frozen=True)
class ModelSpec:
    """Family, effect formulas, cohort and region of practical equivalence.

    A formula that is None means the default that `basis` documents. `cohort` is the units that are
    complete in every cell (``joint``) or all with a cell observed (``observed``). `rope` is half
    the width of the region about zero, native units; None for no such region. Of the family
    ``bayesian_bootstrap`` only `rope` means anything.
    """

    family: str = NORMAL
    effects: str | None = None
    stratum_effects: str | None = None
    cohort: str = names.COHORT_JOINT
    rope: float | None = None


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
    family = section.text("family", default=NORMAL) or NORMAL
    if family not in FAMILIES:
        near = nearest(family, FAMILIES)
        section.fault(f"family = {family!r}{near}: this version fits {', '.join(FAMILIES)}")
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
    return model


def check_unused(sections: Mapping[str, Section], family: str) -> None:
    """Keys that a family has no use for are faults where they are given.

    Parameters
    ----------
    sections : mapping of table to Section
    family : str
    """
    for table, (keys, why) in UNUSED.get(family, {}).items():
        section = sections[table]
        for key in section.raw if keys is None else keys:
            if key in section.raw:
                section.fault(f"{key} goes with another family than {family!r}: {why}")


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


def read_priors(section: Section) -> PriorSpec:
    """Overrides of prior scales."""
    values = {}
    for key in (item.name for item in fields(PriorSpec)):
        if key == "score_location":
            values[key] = section.number(key, test=lambda _: True, wanted="a finite number")
        else:
            values[key] = section.number(key, test=lambda x: x > 0, wanted="a number above 0")
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
