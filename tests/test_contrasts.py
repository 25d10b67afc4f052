"""Contrasts: exact algebra, brute force over cell tables, offsets and identification."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.contrasts import (
    Contrast,
    cell_record,
    diagonal,
    endpoint_shift,
    gain,
    omega,
    refusal,
)
from fourcorner.errors import ContrastError, FourcornerError

EXAMPLES = settings(max_examples=80, deadline=None, derandomize=True)
STATES = ("before", "after")
CHANNELS = ("view", "authority", "readout")
FACE = {"state": STATES, "view": ("direct", "generated")}

# The four-corner example of the first seed, and what its text says of it.
SEED = {
    ("before", "direct"): Fraction("-0.2"),
    ("after", "direct"): Fraction("0.4"),
    ("before", "generated"): Fraction("0.5"),
    ("after", "generated"): Fraction("0.1"),
}


def cell(**levels):
    return frozenset(levels.items())


def value(contrast, table, factors):
    """Exact value of a contrast on a table keyed by levels in the order of the factors."""
    return sum(
        (
            weight * table[tuple(dict(used)[factor] for factor in factors)]
            for used, weight in contrast.weights.items()
        ),
        Fraction(0),
    )


@st.composite
def designs(draw, smallest=1):
    """Two to four factors of two or three levels, the change first."""
    count = draw(st.integers(smallest, len(CHANNELS)))
    sizes = draw(st.lists(st.integers(2, 3), min_size=count, max_size=count))
    channels = zip(CHANNELS, sizes, strict=False)
    return {"state": STATES, **{name: tuple("abc"[:size]) for name, size in channels}}


@st.composite
def tables(draw, factors):
    """A random cell table in eighths, so that every value is exact."""
    cells = list(itertools.product(*factors.values()))
    eighths = draw(st.lists(st.integers(-80, 80), min_size=len(cells), max_size=len(cells)))
    return {place: Fraction(eighth, 8) for place, eighth in zip(cells, eighths, strict=True)}


@st.composite
def raw_contrasts(draw, factors):
    """Any small integer weights on any cells."""
    cells = list(itertools.product(*factors.values()))
    weights = draw(st.lists(st.integers(-2, 2), min_size=len(cells), max_size=len(cells)))
    named = {
        frozenset(zip(factors, place, strict=True)): Fraction(weight)
        for place, weight in zip(cells, weights, strict=True)
    }
    return Contrast("random", named)


def ordered_pair(draw, levels):
    return draw(st.permutations(levels))[:2]


def parts_of(draw, factors, moved):
    """For each channel factor: a pair if it is moved, else one level or several to average."""
    pairs, at = {}, {}
    for factor in list(factors)[1:]:
        if factor in moved:
            pairs[factor] = tuple(ordered_pair(draw, factors[factor]))
        else:
            some = st.lists(st.sampled_from(factors[factor]), min_size=1, unique=True)
            at[factor] = draw(some)
    return pairs, at


def average(table, factors, state, fixed, at):
    """Brute force: the plain mean of the cells that agree with `state`, `fixed` and `at`."""
    picked = []
    for place, score in table.items():
        levels = dict(zip(factors, place, strict=True))
        if levels["state"] != state:
            continue
        if all(levels[factor] == level for factor, level in fixed.items()) and all(
            levels[factor] in several for factor, several in at.items()
        ):
            picked.append(score)
    return sum(picked, Fraction(0)) / len(picked)


def mean_gain(table, factors, fixed, at):
    after, before = (average(table, factors, state, fixed, at) for state in ("after", "before"))
    return after - before


def corner(contrast, factors, **levels):
    return contrast.weights[frozenset(levels.items())]


# Algebra


@EXAMPLES
@given(st.data())
def test_contrasts_form_a_vector_space_over_exact_fractions(data):
    factors = data.draw(designs())
    x, y, z = (data.draw(raw_contrasts(factors)) for _ in range(3))
    table = data.draw(tables(factors))
    a, b = (data.draw(st.fractions(-3, 3, max_denominator=12)) for _ in range(2))
    assert x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert a * (x + y) == a * x + a * y
    assert (a + b) * x == a * x + b * x
    assert x * a == a * x
    assert x - y == x + (-1) * y == x + -y
    assert not (x - x).support
    assert value(a * x + b * y, table, factors) == (
        a * value(x, table, factors) + b * value(y, table, factors)
    )


@EXAMPLES
@given(st.data())
def test_equal_contrasts_hash_alike_whatever_their_names(data):
    factors = data.draw(designs())
    x, y = (data.draw(raw_contrasts(factors)) for _ in range(2))
    same = (x + y - y).renamed("other", "gain")
    assert same == x
    assert hash(same) == hash(x)
    assert len({x, same}) == 1
    assert (x == y) == (x.weights == y.weights)


@given(st.decimals(-5, 5, places=3), st.decimals(-5, 5, places=3))
@settings(max_examples=60, derandomize=True)
def test_decimal_scalars_are_exact(a, b):
    contrast = omega(view=("direct", "generated"))
    assert float(a) * contrast + float(b) * contrast == float(a + b) * contrast


def test_binary_rounding_of_decimal_scalars_does_not_reach_the_weights():
    contrast = gain(view="direct")
    assert 0.1 * contrast + 0.2 * contrast == 0.3 * contrast
    assert np.float64(0.1) * contrast == Fraction(1, 10) * contrast == contrast * 0.1
    assert corner(0.1 * contrast, FACE, state="after", view="direct") == Fraction(1, 10)


def test_large_and_third_scalars_are_exact():
    contrast = gain(view="direct")
    third = Fraction(1, 3) * contrast
    assert third + third + third == contrast
    assert corner((10**20 + 1) * contrast, FACE, state="after", view="direct") == 10**20 + 1


def test_an_average_over_three_levels_uses_exact_thirds():
    averaged = gain(at={"view": ["a", "b", "c"]})
    assert set(averaged.weights.values()) == {Fraction(1, 3), Fraction(-1, 3)}
    singles = gain(view="a") + gain(view="b") + gain(view="c")
    assert 3 * averaged == singles


@pytest.mark.parametrize("scalar", [math.nan, math.inf, -math.inf])
def test_a_scalar_that_is_not_finite_is_an_error(scalar):
    with pytest.raises(ContrastError, match="finite number"):
        scalar * gain(view="a")


@pytest.mark.parametrize(
    "attempt",
    [
        lambda x: x + 1,
        lambda x: x - 1,
        lambda x: x * x,
        lambda x: "2" * x,
        lambda x: np.array([1, 2]) * x,
    ],
)
def test_algebra_with_anything_else_is_a_type_error(attempt):
    with pytest.raises(TypeError):
        attempt(gain(view="a"))


def test_a_contrast_equals_contrasts_only():
    assert gain(view="a") != "gain(a)"
    assert gain(view="a") != gain(view="b")


# Names and parts


def test_names_are_readable_and_say_what_is_fixed():
    at = {"authority": "neutral"}
    views = ("quote", "generated")
    assert gain(view="generated").name == "gain(generated)"
    assert gain(view="quote", at=at).name == "gain(quote, neutral)"
    assert omega(view=views).name == "omega(quote->generated)"
    assert omega(view=views, at=at).name == "omega(quote->generated | neutral)"
    both = omega(view=views, authority=("neutral", "primary"))
    assert both.name == "omega(quote->generated, neutral->primary)"
    assert endpoint_shift("before", view=views, at=at).name == (
        "shift(before, quote->generated | neutral)"
    )
    assert diagonal(view=views, at={"authority": ["neutral", "primary"]}).name == (
        "diagonal(quote->generated | neutral+primary)"
    )
    assert (gain(view="a") - gain(view="b")).name == "(gain(a) - gain(b))"
    assert (gain(view="a") + gain(view="b")).name == "(gain(a) + gain(b))"
    assert (0.5 * gain(view="a")).name == "0.5 * gain(a)"


def test_a_new_name_keeps_weights_kind_and_parts():
    face = omega(view=("a", "b"))
    renamed = face.renamed("face")
    assert (renamed.name, renamed.kind, renamed.parts) == ("face", "omega", face.parts)
    assert renamed == face


@EXAMPLES
@given(st.data())
def test_parts_are_what_is_subtracted_and_from_what(data):
    factors = data.draw(designs())
    moved = data.draw(st.sets(st.sampled_from(list(factors)[1:]), min_size=1))
    pairs, at = parts_of(data.draw, factors, moved)
    face = omega(at=at, **pairs)
    first, second = face.parts
    assert face == second - first
    difference = gain(view="a") - gain(view="b")
    assert difference.parts == (gain(view="b"), gain(view="a"))
    assert difference.kind == "difference"
    assert not gain(view="a").parts


def test_kinds_tell_contrasts_apart():
    pair = {"view": ("a", "b")}
    found = [gain(view="a"), omega(**pair), endpoint_shift("after", **pair), diagonal(**pair)]
    assert [contrast.kind for contrast in found] == ["gain", "omega", "endpoint_shift", "diagonal"]


# Values against brute force


@EXAMPLES
@given(st.data())
def test_gain_is_after_minus_before_averaged_over_what_at_lists(data):
    factors = data.draw(designs())
    table = data.draw(tables(factors))
    fixed = {"view": data.draw(st.sampled_from(factors["view"]))}
    _, at = parts_of(data.draw, {f: v for f, v in factors.items() if f != "view"}, set())
    expected = mean_gain(table, factors, fixed, at)
    assert value(gain(at=at, **fixed), table, factors) == expected


@EXAMPLES
@given(st.data())
def test_omega_of_any_order_is_the_alternating_sum_of_gains(data):
    factors = data.draw(designs())
    table = data.draw(tables(factors))
    moved = data.draw(st.sets(st.sampled_from(list(factors)[1:]), min_size=1))
    pairs, at = parts_of(data.draw, factors, moved)
    expected = Fraction(0)
    for sides in itertools.product((0, 1), repeat=len(pairs)):
        fixed = {
            factor: pair[side] for (factor, pair), side in zip(pairs.items(), sides, strict=True)
        }
        sign = (-1) ** (len(pairs) - sum(sides))
        expected += sign * mean_gain(table, factors, fixed, at)
    assert value(omega(at=at, **pairs), table, factors) == expected


@EXAMPLES
@given(st.data())
def test_third_order_omega_differs_second_order_ones(data):
    pairs = {"view": ("a", "b"), "authority": ("a", "b")}
    last = data.draw(st.permutations("abc"))[:2]
    first, second = (omega(at={"readout": level}, **pairs) for level in last)
    assert omega(**pairs, readout=last) == second - first
    swapped = {"authority": ("a", "b"), "readout": last, "view": ("a", "b")}
    assert omega(**swapped) == omega(**pairs, readout=last)


@EXAMPLES
@given(st.data())
def test_endpoint_shift_and_diagonal_are_differences_of_two_averages(data):
    factors = data.draw(designs())
    table = data.draw(tables(factors))
    moved = data.draw(st.sets(st.sampled_from(list(factors)[1:]), min_size=1))
    pairs, at = parts_of(data.draw, factors, moved)
    first, second = ({factor: pair[side] for factor, pair in pairs.items()} for side in (0, 1))
    for state in STATES:
        expected = average(table, factors, state, second, at) - average(
            table, factors, state, first, at
        )
        assert value(endpoint_shift(state, at=at, **pairs), table, factors) == expected
    expected = average(table, factors, "after", second, at) - average(
        table, factors, "before", first, at
    )
    assert value(diagonal(at=at, **pairs), table, factors) == expected


@EXAMPLES
@given(st.data())
def test_a_diagonal_is_a_gain_and_a_shift_by_either_way_round(data):
    factors = data.draw(designs())
    pairs, at = parts_of(data.draw, factors, {"view"})
    first, second = pairs["view"]
    move = diagonal(at=at, **pairs)
    assert move == gain(view=first, at=at) + endpoint_shift("after", at=at, **pairs)
    assert move == endpoint_shift("before", at=at, **pairs) + gain(view=second, at=at)


@EXAMPLES
@given(st.data())
def test_omega_is_the_gain_at_the_second_level_minus_the_gain_at_the_first(data):
    factors = data.draw(designs())
    pairs, at = parts_of(data.draw, factors, {"view"})
    first, second = pairs["view"]
    assert omega(at=at, **pairs) == gain(view=second, at=at) - gain(view=first, at=at)
    reversed_pair = {"view": (second, first)}
    assert omega(at=at, **reversed_pair) == -omega(at=at, **pairs)


def test_the_seed_example_by_hand():
    found = {
        name: value(contrast, SEED, FACE)
        for name, contrast in {
            "direct": gain(view="direct"),
            "generated": gain(view="generated"),
            "omega": omega(view=("direct", "generated")),
            "diagonal": diagonal(view=("direct", "generated")),
        }.items()
    }
    expected = {"direct": "0.6", "generated": "-0.4", "omega": "-1.0", "diagonal": "0.3"}
    assert found == {name: Fraction(text) for name, text in expected.items()}


@EXAMPLES
@given(st.data())
def test_the_array_gives_the_same_value_as_the_weights(data):
    factors = data.draw(designs())
    contrast, table = data.draw(raw_contrasts(factors)), data.draw(tables(factors))
    order = data.draw(st.permutations(list(factors)))
    dense = contrast.array({factor: factors[factor] for factor in order})
    assert list(dense.dims) == order
    total = sum(
        float(dense.sel(dict(zip(factors, place, strict=True)))) * float(score)
        for place, score in table.items()
    )
    assert total == pytest.approx(float(value(contrast, table, factors)), abs=1e-9)


def test_levels_are_compared_as_canonical_text():
    assert omega(layout=(False, True)) == omega(layout=("False", "TRUE"))
    assert gain(wave=1) == gain(wave="1") == gain(wave=1.0) == gain(wave=np.int64(1))
    assert omega(view=np.array(["a", "b"])) == omega(view=["a", "b"])
    assert gain(wave="01") != gain(wave="1")


# Offsets


@EXAMPLES
@given(st.data())
def test_channel_offsets_leave_exactly_the_cancelling_contrasts_unchanged(data):
    factors = data.draw(designs())
    contrast, table = data.draw(raw_contrasts(factors)), data.draw(tables(factors))
    channels = list(itertools.product(*(factors[name] for name in list(factors)[1:])))
    before = value(contrast, table, factors)
    unmoved = all(
        value(contrast, {p: s + (p[1:] == channel) for p, s in table.items()}, factors) == before
        for channel in channels
    )
    assert contrast.cancels_offsets == unmoved


@EXAMPLES
@given(st.data())
def test_gains_and_omegas_cancel_offsets_and_moves_of_a_channel_do_not(data):
    factors = data.draw(designs())
    moved = data.draw(st.sets(st.sampled_from(list(factors)[1:]), min_size=1))
    pairs, at = parts_of(data.draw, factors, moved)
    assert omega(at=at, **pairs).cancels_offsets
    assert all(part.cancels_offsets for part in omega(at=at, **pairs).parts)
    assert not diagonal(at=at, **pairs).cancels_offsets
    shifts = [endpoint_shift(state, at=at, **pairs) for state in STATES]
    assert not any(shift.cancels_offsets for shift in shifts)
    assert (shifts[1] - shifts[0]).cancels_offsets


# Identification


def shifted(table, factors, witness):
    moved = dict(table)
    for step in witness["shift"]:
        moved[tuple(step["cell"][factor] for factor in factors)] += Fraction(step["by"])
    return moved


def mask(factors, observed):
    flags = [place in observed for place in itertools.product(*factors.values())]
    levels = {factor: list(known) for factor, known in factors.items()}
    shape = [len(known) for known in levels.values()]
    return xr.DataArray(np.reshape(flags, shape), dims=list(factors), coords=levels)


@EXAMPLES
@given(st.data())
def test_a_refusal_witness_leaves_the_data_alone_and_moves_the_contrast(data):
    factors = data.draw(designs())
    contrast, table = data.draw(raw_contrasts(factors)), data.draw(tables(factors))
    places = list(itertools.product(*factors.values()))
    observed = data.draw(st.sets(st.sampled_from(places)))
    used = {tuple(dict(one)[factor] for factor in factors) for one in contrast.support}
    found = refusal(contrast, mask(factors, observed))
    assert (found is None) == (used <= observed)
    if found is None:
        return
    assert found["reason"] == "not_identified"
    missing = [tuple(record[factor] for factor in factors) for record in found["missing"]]
    assert missing == [place for place in places if place in used - observed]
    moved = shifted(table, factors, found["witness"])
    assert all(moved[place] == table[place] for place in observed)
    step = value(contrast, moved, factors) - value(contrast, table, factors)
    assert step == Fraction(found["witness"]["moves_contrast"]) != 0
    for cells in found["would_identify"]:
        added = {tuple(record[factor] for factor in factors) for record in cells}
        assert refusal(contrast, mask(factors, observed | added)) is None
        for one in added:
            assert refusal(contrast, mask(factors, observed | (added - {one}))) is not None


@pytest.mark.parametrize("lost", list(SEED))
def test_three_corners_never_identify_omega(lost):
    found = refusal(omega(view=("direct", "generated")), mask(FACE, set(SEED) - {lost}))
    record = {"state": lost[0], "view": lost[1]}
    assert found["missing"] == [record]
    assert found["would_identify"] == [[record]]
    moved = shifted(SEED, FACE, found["witness"])
    assert {place for place in SEED if moved[place] != SEED[place]} == {lost}


def test_three_corners_still_identify_what_they_hold():
    observed = mask(FACE, set(SEED) - {("before", "generated")})
    assert refusal(gain(view="direct"), observed) is None
    assert refusal(diagonal(view=("direct", "generated")), observed) is None
    assert refusal(gain(view="generated"), observed) is not None


def test_a_cell_record_lists_levels_in_the_order_of_the_design():
    record = cell_record(cell(view="direct", state="after"), FACE)
    assert list(record.items()) == [("state", "after"), ("view", "direct")]


# Misuse


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: omega(), ["omega needs a factor", "view="]),
        (lambda: omega(view="a"), ["view = 'a'", "two levels, second minus first"]),
        (lambda: omega(view=("a", "b", "c")), ["two levels"]),
        (lambda: omega(view=("a", "a")), ["view", "none twice"]),
        (lambda: omega(view={"a", "b"}), ["two levels"]),
        (lambda: omega(view=("a", "b"), at={"view": "a"}), ["['view']", "one part"]),
        (lambda: diagonal(), ["diagonal needs a factor"]),
        (lambda: diagonal(view="a"), ["diagonal", "two levels"]),
        (lambda: endpoint_shift("before"), ["endpoint_shift needs a factor"]),
        (lambda: endpoint_shift("befor", view=("a", "b")), ["did you mean 'before'?", "'after'"]),
        (lambda: gain(view=("a", "b")), ["one level", "at"]),
        (lambda: gain(view="a", at={"view": "b"}), ["['view']", "one part"]),
        (lambda: gain(at={"view": []}), ["view = []", "at least one level"]),
        (lambda: gain(at={"view": ["a", "a"]}), ["none twice"]),
        (lambda: gain(at={"wave": [1, "1"]}), ["none twice"]),
        (lambda: gain(state="before"), ["'state'", "channel factors only"]),
        (lambda: omega(state=("before", "after")), ["'state'"]),
        (lambda: gain(view="direct", at={"state": "after"}), ["'state'"]),
        (lambda: gain().array(FACE), ["says nothing about ['view']", "at"]),
        (lambda: gain(viw="direct").array(FACE), ["'viw' (did you mean 'view'?)", "['view']"]),
        (
            lambda: gain(view="dirct").array(FACE),
            ["view has no level 'dirct' (did you mean 'direct'?)", "['direct', 'generated']"],
        ),
        (
            lambda: refusal(gain(view="dirct"), mask(FACE, set(SEED))),
            ["view has no level 'dirct' (did you mean 'direct'?)"],
        ),
    ],
)
def test_a_contrast_that_makes_no_sense_is_a_typed_error(attempt, words):
    with pytest.raises(ContrastError) as caught:
        attempt()
    assert isinstance(caught.value, FourcornerError)
    assert isinstance(caught.value, ValueError)
    for word in words:
        assert word in str(caught.value)


def test_a_comparison_of_gains_is_moved_by_no_gain_that_all_channels_share():
    direct, generated = gain(view="direct"), gain(view="generated")
    assert (generated - direct).compares_gains
    assert (2 * generated - direct - direct).compares_gains
    assert not generated.compares_gains
    assert not (0.5 * (direct + generated)).compares_gains
    assert not endpoint_shift("after", view=("direct", "generated")).compares_gains
    assert not diagonal(view=("direct", "generated")).compares_gains
