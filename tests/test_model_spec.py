"""[model] and [priors]: what each key means, and what is refused."""

import pytest

from fourcorner.errors import SpecError
from fourcorner.spec import ModelSpec, parse_spec

SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["a", "b"] }}
[estimands]
omega = {{ omega = {{ view = ["a", "b"] }} }}
{more}
"""


def parsed(more=""):
    return parse_spec(SPEC.format(more=more))


def test_the_cohort_is_joint_unless_declared():
    assert parsed().model == ModelSpec()
    assert parsed().model.cohort == "joint"
    assert parsed('[model]\ncohort = "observed"').model.cohort == "observed"


def test_a_region_of_practical_equivalence_is_a_positive_number_or_absent():
    assert parsed().model.rope is None
    assert parsed("[model]\nrope = 0.05").model.rope == 0.05
    assert parsed("[model]\nrope = 2").model.rope == 2.0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ('[model]\ncohort = "observd"', "did you mean 'observed'"),
        ('[model]\ncohort = "all"', "expected 'joint' or 'observed'"),
        ("[model]\ncohort = 1", "cohort = 1"),
        ("[model]\nrope = 0", "rope = 0: expected a number above 0"),
        ("[model]\nrope = -0.1", "rope = -0.1: expected a number above 0"),
        ('[model]\nrope = "small"', "rope = 'small'"),
        ("[model]\nrope = nan", "rope = nan"),
        ("[model]\nropes = 0.1", "did you mean 'rope'"),
        ("[priors]\nretry_sd = 0", "retry_sd = 0: expected a number above 0"),
        ("[priors]\nretry_sds = 1", "did you mean 'retry_sd'"),
    ],
)
def test_misuse_is_said(more, words):
    with pytest.raises(SpecError) as caught:
        parsed(more)
    assert words in str(caught.value)


def test_retry_sd_is_a_prior():
    assert parsed("[priors]\nretry_sd = 0.3").priors.retry_sd == 0.3
    assert parsed().priors.retry_sd is None
