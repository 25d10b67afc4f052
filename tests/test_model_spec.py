"""[model] and [priors]: what each key means, and what is refused."""

import pytest

from fourcorner.errors import SpecError
from fourcorner.spec import ModelSpec, PriorSpec, SamplerSpec, as_family, parse_spec, unsuited
from fourcorner.spec.families import FAMILIES, PRIORS, SAMPLER

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


CHAINS = {"draws", "tune", "chains", "target_accept"}
USES = {  # written out here on purpose: what each family takes of [model], [priors] and [sampler]
    "normal": {"effects", "stratum_effects", "retry_sd", "stratum_scale_sd", "tau_sd", *CHAINS},
    "student": {"effects", "stratum_effects", "stratum_scale_sd", "tau_sd", "nu_mean", *CHAINS},
    "transitions": {"step", "wave", "tau_sd", *CHAINS},
    "bayesian_bootstrap": set(),
}
GIVEN = {
    "effects": '[model]\nfamily = "{}"\neffects = "state"',
    "stratum_effects": '[model]\nfamily = "{}"\nstratum_effects = "state"',
    "step": '[model]\nfamily = "{}"\nstep = "kind"',
    "wave": '[model]\nfamily = "{}"\nwave = ["w1"]',
    "retry_sd": '[model]\nfamily = "{}"\n[priors]\nretry_sd = 1.0',
    "stratum_scale_sd": '[model]\nfamily = "{}"\n[priors]\nstratum_scale_sd = 1.0',
    "nu_mean": '[model]\nfamily = "{}"\n[priors]\nnu_mean = 9.0',
    "tau_sd": '[model]\nfamily = "{}"\n[priors]\ntau_sd = 1.0',
    "draws": '[model]\nfamily = "{}"\n[sampler]\ndraws = 1000',
    "tune": '[model]\nfamily = "{}"\n[sampler]\ntune = 1000',
    "chains": '[model]\nfamily = "{}"\n[sampler]\nchains = 4',
    "target_accept": '[model]\nfamily = "{}"\n[sampler]\ntarget_accept = 0.9',
}
WAVES = 'replicate = {{ wave = ["w1"] }}\nattributes = ["kind"]\n[estimands]'


@pytest.mark.parametrize("family", USES)
@pytest.mark.parametrize("key", GIVEN)
def test_an_option_that_a_family_does_not_use_is_refused_and_others_are_kept(family, key):
    text = SPEC.replace("[estimands]", WAVES).format(more=GIVEN[key].format(family))
    if key in USES[family]:
        spec = parse_spec(text)
        parts = (spec.model, spec.priors, spec.sampler)
        assert any(getattr(part, key, None) for part in parts)
    else:
        with pytest.raises(SpecError, match=f"{key}.*{family} family has n"):
            parse_spec(text)


def test_every_family_is_tried():
    assert set(USES) == set(FAMILIES)


def test_the_table_knows_every_key_of_priors_and_sampler():
    assert set(PRIORS) == set(vars(PriorSpec()))
    assert {*SAMPLER, "seed"} == set(vars(SamplerSpec()))


@pytest.mark.parametrize("family", USES)
def test_a_spec_for_another_family_is_one_that_this_uses(family):
    given = parsed(
        '[model]\neffects = "state"\n[priors]\nretry_sd = 0.3\ntau_sd = 1.0\n'
        "[sampler]\nchains = 2\nseed = 5"
    )
    model, priors, sampler = as_family(given.model, given.priors, given.sampler, family)
    assert unsuited(model, priors, sampler) == []
    uses = USES[family]
    assert (model.effects is None) == ("effects" not in uses)
    assert (priors.retry_sd, priors.tau_sd) == (
        0.3 if "retry_sd" in uses else None,
        1.0 if "tau_sd" in uses else None,
    )
    assert (sampler.chains, sampler.seed) == (2 if "chains" in uses else 4, 5)
    back, *_ = as_family(model, priors, sampler, "normal")
    assert back.cohort == "joint"


def test_a_spec_for_another_family_drops_what_that_has_not():
    spec = parsed('[model]\neffects = "state"\ncohort = "observed"\n[priors]\nretry_sd = 0.3')
    model, priors, _ = as_family(spec.model, spec.priors, spec.sampler, "transitions")
    assert (model.effects, model.cohort, priors.retry_sd) == (None, "observed", None)
    model, *_ = as_family(spec.model, spec.priors, spec.sampler, "student")
    assert (model.effects, model.cohort) == ("state", "observed")
    assert unsuited(model, priors)[0].startswith("cohort = 'observed': the student family")
