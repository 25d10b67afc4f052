"""Target weights: they name every stratum once and sum to one, or there is a typed error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.errors import FourcornerError, SpecError, WeightsError
from fourcorner.spec import parse_spec
from fourcorner.weights import resolve, resolve_all

STRATA = ["mixed", "supported", "unsupported"]
THIRDS = {"mixed": 0.2, "supported": 0.3, "unsupported": 0.5}
SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
stratum = "target"
change = { column = "state", before = "before", after = "after" }
[estimands]
step = { gain = {} }
[weights]
"""


def test_empirical_has_no_shares_of_its_own():
    assert resolve("empirical", "empirical", STRATA).shares is None
    assert resolve("mine", "empirical", [""]).shares is None


@pytest.mark.parametrize("count", [1, 2, 7])
def test_equal_gives_each_stratum_the_same_share(count):
    found = resolve("equal", "equal", [f"s{i}" for i in range(count)])
    assert found.shares.tolist() == [1 / count] * count


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any), st.randoms())
def test_named_weights_follow_the_order_of_the_strata(parts, random):
    strata = [f"s{i}" for i in range(len(parts))]
    total = sum(parts)
    pairs = [(name, part / total) for name, part in zip(strata, parts, strict=True)]
    expected = [weight for _, weight in pairs]
    random.shuffle(pairs)
    found = resolve("mine", dict(pairs), strata)
    assert found.shares.tolist() == expected
    assert math.isclose(found.shares.sum(), 1, abs_tol=1e-9)


def test_keys_are_compared_as_canonical_text():
    found = resolve("mine", {True: 0.25, "FALSE": 0.75}, ["false", "true"])
    assert found.shares.tolist() == [0.75, 0.25]
    assert resolve("mine", {1: 0.25, 2.0: 0.75}, ["1", "2"]).shares.tolist() == [0.25, 0.75]


@pytest.mark.parametrize("excess", [5e-10, -5e-10])
def test_a_sum_within_the_tolerance_is_one(excess):
    found = resolve("mine", {"a": 0.5, "b": 0.5 + excess}, ["a", "b"])
    np.testing.assert_allclose(found.shares, [0.5, 0.5], atol=1e-9)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"mixed": 0.5, "supported": 0.5}, ["'unsupported' has no weight", "write 0.0"]),
        (
            {**THIRDS, "suported": 0.0},
            ["'suported' is not a stratum (did you mean 'supported'?)", str(STRATA)],
        ),
        ({**THIRDS, "mixed": 0.3}, ["sum to 1.1", "expected 1"]),
        ({**THIRDS, "mixed": 0.2 + 2e-9}, ["sum to 1.000000002"]),
        ({**THIRDS, "mixed": -0.2, "supported": 0.7}, ["weight of 'mixed' is -0.2"]),
        ({**THIRDS, "mixed": math.nan}, ["weight of 'mixed' is nan"]),
        ({**THIRDS, "mixed": math.inf}, ["weight of 'mixed' is inf"]),
        ({**THIRDS, "mixed": "0.2"}, ["weight of 'mixed' is '0.2'"]),
        ({**THIRDS, "mixed": True}, ["weight of 'mixed' is True"]),
        ({}, ["'mixed' has no weight"]),
        ("equl", ["'equl' (did you mean 'equal'?)", "mapping of stratum to weight"]),
        (None, ["None", "'empirical', 'equal' or a mapping"]),
        ([0.2, 0.3, 0.5], ["[0.2, 0.3, 0.5]", "mapping"]),
    ],
)
def test_every_misuse_is_a_weights_error_that_says_what_to_do(declared, words):
    with pytest.raises(WeightsError) as caught:
        resolve("mine", declared, STRATA)
    assert isinstance(caught.value, FourcornerError)
    assert isinstance(caught.value, ValueError)
    for word in ["'mine'", *words]:
        assert word in str(caught.value)


def test_a_stratum_named_twice_is_not_merged():
    with pytest.raises(WeightsError, match="'true' is named twice"):
        resolve("mine", {"true": 0.5, True: 0.25, "false": 0.5}, ["false", "true"])


@pytest.mark.parametrize(
    ("name", "declared"), [("equal", THIRDS), ("empirical", THIRDS), ("equal", "empirical")]
)
def test_the_names_of_the_two_standing_mixtures_mean_nothing_else(name, declared):
    with pytest.raises(WeightsError, match=f"'{name}': the name is kept"):
        resolve(name, declared, STRATA)


@pytest.mark.parametrize("declared", ["equal", {"": 1.0}, {"yes": 1.0}])
def test_scores_without_strata_take_the_empirical_mixture_only(declared):
    with pytest.raises(WeightsError, match=r"declare \[data\] stratum"):
        resolve("equal" if declared == "equal" else "mine", declared, [""])


def test_a_spec_and_its_mapping_resolve_alike_and_in_order():
    text = (
        'z = { mixed = 0.2, supported = 0.3, unsupported = 0.5 }\nequal = "equal"\na = "empirical"'
    )
    from_spec = resolve_all(parse_spec(SPEC + text), STRATA)
    from_mapping = resolve_all({"z": THIRDS, "equal": "equal", "a": "empirical"}, STRATA)
    assert [mixture.name for mixture in from_spec] == ["z", "equal", "a"]
    for one, other in zip(from_spec, from_mapping, strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.shares, other.shares)


def test_without_a_weights_table_the_mixture_is_empirical():
    spec = parse_spec(SPEC.replace("[weights]", ""))
    assert [(m.name, m.shares) for m in resolve_all(spec, STRATA)] == [("empirical", None)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('w = "equl"', "expected 'empirical', 'equal'"),
        ("w = { yes = 0.5, no = 0.6 }", "sum to 1.1"),
        ("w = { yes = 1.5, no = -0.5 }", "weight of 'no' is -0.5"),
        ('equal = "empirical"', "the name 'equal' is kept"),
    ],
)
def test_weights_that_no_table_could_fit_are_spec_errors(line, words):
    with pytest.raises(SpecError) as caught:
        parse_spec(SPEC + line)
    assert words in str(caught.value)
