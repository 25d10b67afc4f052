"""The families of the model: which cohort each fits, and which keys of a spec it does not use.

Invariant: one row for each family, and what it names as unused is refused in words when a spec
gives it. Pinned by `tests/test_model_spec.py`.
"""

from typing import Final, NamedTuple

from fourcorner import names

FORMULAS: Final = ("effects", "stratum_effects")
OF_TRANSITIONS: Final = ("step", "wave")
PRIORS: Final = (
    "score_location",
    "score_scale",
    "intercept_sd",
    "effect_sd",
    "tau_sd",
    names.VAR_UNIT_SD,
    names.VAR_RETRY_SD,
    "stratum_scale_sd",
    "lkj_eta",
    "nu_mean",
)
SAMPLER: Final = ("draws", "tune", "chains", "target_accept")


class Family(NamedTuple):
    """What a family of the model fits, and what it does not use.

    Attributes
    ----------
    cohorts : tuple of str
        Those that it fits, its default first.
    why : str
        Why it fits no other.
    no_options, no_priors, no_sampler : tuple of str
        Keys of ``[model]``, ``[priors]`` and ``[sampler]`` that it has no use for.
    transitions : bool
        Whether it takes many changes per unit.
    """

    cohorts: tuple[str, ...]
    why: str
    no_options: tuple[str, ...]
    no_priors: tuple[str, ...]
    no_sampler: tuple[str, ...]
    transitions: bool


FAMILIES: Final = {
    names.NORMAL: Family(
        (names.COHORT_JOINT, names.COHORT_OBSERVED), "", OF_TRANSITIONS, ("nu_mean",), (), False
    ),
    names.STUDENT: Family(
        (names.COHORT_JOINT,),
        f"it fits the units that are complete in every cell; the {names.NORMAL} family fits those "
        f"with missing cells too",
        OF_TRANSITIONS,
        (names.VAR_RETRY_SD,),
        (),
        False,
    ),
    names.TRANSITION_FAMILY: Family(
        (names.COHORT_OBSERVED,),
        "it uses every endpoint that was measured",
        FORMULAS,
        (names.VAR_RETRY_SD, "stratum_scale_sd", "nu_mean"),
        (),
        True,
    ),
    names.BAYESIAN_BOOTSTRAP: Family(
        (names.COHORT_CONTRAST,),
        "it takes every transition that is complete for its estimand",
        (*FORMULAS, *OF_TRANSITIONS),
        PRIORS,
        SAMPLER,
        True,
    ),
}
