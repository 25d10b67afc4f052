"""The families of the model: which cohort each fits, and which options and priors it uses.

Invariant: one row for each family, and what a row does not name is refused in words when a spec
gives it. Pinned by `tests/test_model_spec.py`.
"""

from typing import Final, NamedTuple

from fourcorner import names

FORMULAS: Final = ("effects", "stratum_effects")
OF_TRANSITIONS: Final = ("step", "wave")
OPTIONS: Final = (*FORMULAS, *OF_TRANSITIONS)


class Family(NamedTuple):
    """What a family of the model uses.

    Attributes
    ----------
    cohorts : tuple of str
        Those that it fits, its default first.
    why : str
        Why it fits no other.
    options : tuple of str
        Keys of ``[model]`` that it uses besides those that all families do.
    no_priors : tuple of str
        Keys of ``[priors]`` that it has not.
    transitions : bool
        Whether it takes many changes per unit.
    """

    cohorts: tuple[str, ...]
    why: str
    options: tuple[str, ...]
    no_priors: tuple[str, ...]
    transitions: bool


FAMILIES: Final = {
    names.NORMAL: Family(
        (names.COHORT_JOINT, names.COHORT_OBSERVED), "", FORMULAS, ("nu_mean",), False
    ),
    names.STUDENT: Family(
        (names.COHORT_JOINT,),
        f"it fits the units that are complete in every cell; the {names.NORMAL} family fits those "
        f"with missing cells too",
        FORMULAS,
        (names.VAR_RETRY_SD,),
        False,
    ),
    names.TRANSITION_FAMILY: Family(
        (names.COHORT_OBSERVED,),
        "it uses every endpoint that was measured",
        OF_TRANSITIONS,
        (names.VAR_RETRY_SD, "stratum_scale_sd", "nu_mean"),
        True,
    ),
}
