"""Target weights: they name every stratum once and sum to one, or there is a typed error."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.errors import FourcornerError, SpecError, WeightsError
from fourcorner.spec import parse_spec
from fourcorner.weights import TargetWeights, parse, resolve, resolve_all

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


def test_empirical_is_the_share_of_the_cohorts_own_mixture():
    assert resolve("empirical", "empirical", STRATA).empirical == 1.0
    assert resolve("equal", "equal", STRATA).empirical == 0.0
    assert resolve("mine", THIRDS, STRATA).empirical == 0.0
    assert TargetWeights("empirical", None).empirical == 1.0


NAMED = {
    "empirical": "empirical",
    "equal_target": "equal",
    "thirds": THIRDS,
    "half": {"mix": {"empirical": 0.5, "equal_target": 0.5}},
    "nested": {"mix": {"half": 0.4, "thirds": 0.4, "empirical": 0.2}},
    "fixed": {"mix": {"equal": 0.25, "thirds": 0.75}},
    "twice": {"mix": {"empirical": 0.25, "mine": 0.5, "equal": 0.25}},
    "own": {"mix": {"mine": 1.0, "thirds": 0.0}},
    "mine": "empirical",
}


@pytest.mark.parametrize(
    ("name", "empirical", "shares"),
    [
        ("half", 0.5, [1 / 6, 1 / 6, 1 / 6]),
        # 0.4 × half is 0.2 empirical and 0.2 equal; 0.4 × thirds; 0.2 empirical
        ("nested", 0.4, [0.2 / 3 + 0.08, 0.2 / 3 + 0.12, 0.2 / 3 + 0.2]),
        ("twice", 0.75, [0.25 / 3] * 3),  # two names of the empirical mixture
        ("fixed", 0.0, [0.25 / 3 + 0.15, 0.25 / 3 + 0.225, 0.25 / 3 + 0.375]),
    ],
)
def test_a_mix_flattens_to_the_empirical_mixture_and_fixed_shares(name, empirical, shares):
    (found,) = [mixture for mixture in resolve_all(NAMED, STRATA) if mixture.name == name]
    assert found.empirical == pytest.approx(empirical, abs=1e-12)
    np.testing.assert_allclose(found.shares, shares, atol=1e-12)
    assert found.shares.sum() == pytest.approx(1 - empirical, abs=1e-12)


def test_a_mix_of_nothing_but_the_empirical_mixture_is_that_one():
    (found,) = [mixture for mixture in resolve_all(NAMED, STRATA) if mixture.name == "own"]
    assert (found.shares, found.empirical) == (None, 1.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.data())
def test_a_mixs_value_is_the_mix_of_its_parts_values(data):
    """By the definition of θ(w), on random stratum means and counts."""
    means = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=3, max_size=3)), dtype=float)
    counts = np.array(data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=3)))
    pooled = float(means @ counts / counts.sum())
    parts = data.draw(st.lists(st.integers(1, 9), min_size=5, max_size=5))
    names = ["empirical", "equal_target", "thirds", "half", "nested"]
    shares = {n: part / sum(parts) for n, part in zip(names, parts, strict=True)}

    def value(found):
        fixed = 0.0 if found.shares is None else float(found.shares @ means)
        return found.empirical * pooled + fixed

    each = {mixture.name: value(mixture) for mixture in resolve_all(NAMED, STRATA)}
    mixed = resolve("mixed", {"mix": shares}, STRATA, NAMED)
    assert value(mixed) == pytest.approx(sum(shares[name] * each[name] for name in names))


def test_a_mix_may_name_what_is_known_besides():
    asked = {"m": {"mix": {"thirds": 0.5, "equal": 0.5}}}
    (found,) = resolve_all(asked, STRATA, NAMED)
    np.testing.assert_allclose(found.shares, np.array([0.2, 0.3, 0.5]) / 2 + 1 / 6)


def test_a_long_chain_of_mixes_needs_no_recursion_and_no_doubling():
    known = {"a0": "equal", "b0": "empirical"}
    for i in range(1, 400):
        pair = {f"a{i - 1}": 0.5, f"b{i - 1}": 0.5}
        known |= {f"a{i}": {"mix": pair}, f"b{i}": {"mix": pair}}
    found = resolve("top", {"mix": {"a399": 1.0}}, STRATA, known)
    assert found.empirical == pytest.approx(0.5)
    np.testing.assert_allclose(found.shares, [1 / 6] * 3)


@pytest.mark.parametrize(
    ("mix", "words"),
    [
        ({"thrds": 1.0}, ["no mixture 'thrds' (did you mean 'thirds'?)", "'half'"]),
        ({"thirds": 0.5, "equal": 0.4}, ["shares sum to 0.9; expected 1"]),
        ({"thirds": 0.5, "equal": 0.5 + 2e-9}, ["shares sum to 1.000000002"]),
        ({"thirds": 1.5, "equal": -0.5}, ["share of 'equal' is -0.5"]),
        ({"thirds": math.nan}, ["share of 'thirds' is nan"]),
        ({"thirds": True}, ["share of 'thirds' is True"]),
        ({}, ["shares sum to 0"]),
        (["thirds"], ["mix = ['thirds']: expected a table"]),
        ({"m": 1.0}, ["comes back to itself"]),
        ({"round": 1.0}, ["comes back to itself"]),
    ],
)
def test_a_mix_that_makes_no_sense_is_a_typed_error(mix, words):
    known = {**NAMED, "round": {"mix": {"m": 1.0}}}
    with pytest.raises(WeightsError) as caught:
        resolve("m", {"mix": mix}, STRATA, known)
    for word in ["'m'", *words]:
        assert word in str(caught.value)


def test_a_mix_stands_alone_and_a_part_that_does_not_fit_is_named():
    with pytest.raises(WeightsError, match=r"'m': a mix stands alone, but \['mixed'\]"):
        resolve("m", {"mix": {"equal": 1.0}, "mixed": 0.0}, STRATA)
    with pytest.raises(WeightsError, match="'short': 'supported' has no weight"):
        resolve("m", {"mix": {"short": 1.0}}, STRATA, {"short": {"mixed": 1.0, "unsupported": 0}})
    with pytest.raises(WeightsError, match=r"'equal': the scores have no strata"):
        resolve("m", {"mix": {"empirical": 0.5, "equal": 0.5}}, [""])


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("empirical", "empirical"),
        ("equal", "equal"),
        ("thirds", THIRDS),
        ("half", NAMED["half"]),
        ("equal_target", "equal"),
        ("yes=0.5,no=0.5", {"yes": 0.5, "no": 0.5}),
        (" yes = .25 , no = 75e-2 ", {"yes": 0.25, "no": 0.75}),
        ("1.0=0.5,TRUE=0.5", {"1": 0.5, "true": 0.5}),
        ("a=b=1", {"a=b": 1.0}),
        ("mix=1", {"mix": 1.0}),
    ],
)
def test_weights_on_the_command_line(text, declared):
    assert parse(text, NAMED) == declared


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("equl", ["no such name (did you mean 'equal'?)", "'thirds'", "yes=0.5,no=0.5"]),
        ("", ["no such name", "'empirical'"]),
        ("yes=0.5,no=0.6", ["weights sum to 1.1; expected 1"]),
        ("yes=1.5,no=-0.5", ["weight of 'no' is -0.5"]),
        ("yes=nan,no=1", ["'yes=nan' is no pair"]),
        ("yes=inf", ["'yes=inf' is no pair"]),
        ("yes=1_0", ["'yes=1_0' is no pair"]),
        ("yes=0.5,no", ["'no' is no pair"]),
        ("yes=0.5,,no=0.5", ["'' is no pair"]),
        ("yes=0.5,no=0.5,", ["'' is no pair"]),
        ("=1", ["'=1' is no pair"]),
        ("yes=", ["'yes=' is no pair"]),
        ("yes=0.5,yes=0.5", ["'yes' is named twice"]),
        ("1=0.5,1.0=0.5", ["'1' is named twice"]),
        ("yes=1e400", ["weight of 'yes' is inf"]),
    ],
)
def test_weights_on_the_command_line_that_make_no_sense_are_told(text, words):
    with pytest.raises(WeightsError) as caught:
        parse(text, NAMED)
    for word in [f"weights {text!r}", *words]:
        assert word in str(caught.value)


def test_what_the_command_line_names_resolves_as_the_spec_does():
    by_name = {mixture.name: mixture for mixture in resolve_all(NAMED, STRATA)}
    for name in NAMED:
        (found,) = resolve_all({name: parse(name, NAMED)}, STRATA, NAMED)
        assert found.empirical == by_name[name].empirical
        np.testing.assert_array_equal(found.shares, by_name[name].shares)
    (pairs,) = resolve_all({"p": parse("supported=.3,mixed=.2,unsupported=.5", NAMED)}, STRATA)
    np.testing.assert_array_equal(pairs.shares, by_name["thirds"].shares)


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
        (None, ["None", "'empirical', 'equal', a mapping of stratum to weight or a mix"]),
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
        ("w = { mix = { equal = 0.5, v = 0.5 } }", "w: no mixture 'v'"),
        ("w = { yes = 1.5, no = -0.5 }", "weight of 'no' is -0.5"),
        ('equal = "empirical"', "the name 'equal' is kept"),
    ],
)
def test_weights_that_no_table_could_fit_are_spec_errors(line, words):
    with pytest.raises(SpecError) as caught:
        parse_spec(SPEC + line)
    assert words in str(caught.value)
