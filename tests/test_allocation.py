"""Allocation: shares sum to the move, orders are averaged, dividends rebuild every corner."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.contrasts import (
    Contrast,
    diagonal,
    endpoint_shift,
    gain,
    moebius,
    omega,
    shapley,
    shapley_interaction,
)
from fourcorner.errors import ContrastError

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
CHANNELS = ("view", "authority", "readout")
STATES = ("before", "after")
VIEWS = ("quote", "generated")


@st.composite
def cubes(draw):
    """A move of two to four factors: pairs of channel levels, whether the change moves, others."""
    count = draw(st.integers(1, len(CHANNELS)))
    held = draw(st.sampled_from([None, *STATES])) if count > 1 else None
    pairs = {name: tuple(draw(st.permutations("abc"))[:2]) for name in CHANNELS[:count]}
    several = st.lists(st.sampled_from("xyz"), min_size=1, unique=True)
    at = draw(st.one_of(st.just({}), st.fixed_dictionaries({"stack": several})))
    return pairs, held, at


@st.composite
def scores(draw, pairs, at):
    """Exact values of every cell that a move can meet, the averaged factors among them."""
    factors = {"state": STATES, **pairs, **at}
    places = list(itertools.product(*factors.values()))
    eighths = draw(st.lists(st.integers(-80, 80), min_size=len(places), max_size=len(places)))
    cells = [frozenset(zip(factors, place, strict=True)) for place in places]
    return {cell: Fraction(eighth, 8) for cell, eighth in zip(cells, eighths, strict=True)}


def value(contrast, table):
    return sum((weight * table[cell] for cell, weight in contrast.weights.items()), Fraction(0))


def corner(table, pairs, held, moved):
    """Brute force: the mean of the cells whose moved factors are at their second level."""
    wanted = {factor: pair[factor in moved] for factor, pair in pairs.items()}
    wanted["state"] = held or STATES["state" in moved]
    found = [
        score
        for cell, score in table.items()
        if all(dict(cell)[factor] == level for factor, level in wanted.items())
    ]
    return sum(found, Fraction(0)) / len(found)


def moving(pairs, held):
    return [*([] if held else ["state"]), *pairs]


def subsets(players):
    return [
        frozenset(chosen)
        for size in range(len(players) + 1)
        for chosen in itertools.combinations(players, size)
    ]


@EXAMPLES
@given(st.data())
def test_shares_are_effects_averaged_over_all_orders_of_moving(data):
    pairs, held, at = data.draw(cubes())
    table = data.draw(scores(pairs, at))
    players = moving(pairs, held)
    totals = dict.fromkeys(players, Fraction(0))
    for order in itertools.permutations(players):
        for step, player in enumerate(order):
            after = corner(table, pairs, held, set(order[: step + 1]))
            totals[player] += after - corner(table, pairs, held, set(order[:step]))
    found = shapley(state=held, at=at, **pairs)
    assert list(found) == players
    orders = math.factorial(len(players))
    assert {name: value(share, table) for name, share in found.items()} == {
        name: total / orders for name, total in totals.items()
    }


@EXAMPLES
@given(st.data())
def test_shares_sum_to_the_whole_move_exactly(data):
    pairs, held, at = data.draw(cubes())
    total = Contrast("nothing", {})
    for share in shapley(state=held, at=at, **pairs).values():
        total += share
    whole = endpoint_shift(held, at=at, **pairs) if held else diagonal(at=at, **pairs)
    assert total == whole


@EXAMPLES
@given(st.data())
def test_dividends_inside_a_corner_sum_to_that_corner(data):
    pairs, held, at = data.draw(cubes())
    table = data.draw(scores(pairs, at))
    dividends = moebius(state=held, at=at, **pairs)
    assert list(dividends) == subsets(moving(pairs, held))
    for moved in dividends:
        inside = sum(
            (value(share, table) for subset, share in dividends.items() if subset <= moved),
            Fraction(0),
        )
        assert inside == corner(table, pairs, held, moved)


@EXAMPLES
@given(st.data())
def test_the_interaction_index_averages_mixed_differences_over_the_other_factors(data):
    """The orders' form: S moves as one player; its mixed difference is averaged over orders."""
    pairs, held, at = data.draw(cubes())
    table = data.draw(scores(pairs, at))
    players = moving(pairs, held)
    found = shapley_interaction(state=held, at=at, **pairs)
    assert list(found) == subsets(players)[1:]
    for subset, index in found.items():
        merged = [*(player for player in players if player not in subset), subset]
        total = Fraction(0)
        for order in itertools.permutations(merged):
            before = frozenset(order[: order.index(subset)])
            total += sum(
                (-1) ** (len(subset) - len(part)) * corner(table, pairs, held, before | part)
                for part in subsets(sorted(subset))
            )
        assert value(index, table) == total / math.factorial(len(merged))


@EXAMPLES
@given(st.data())
def test_every_index_is_a_sum_of_dividends_that_contain_it(data):
    pairs, held, at = data.draw(cubes())
    dividends = moebius(state=held, at=at, **pairs)
    for subset, index in shapley_interaction(state=held, at=at, **pairs).items():
        total = Contrast("nothing", {})
        for larger, dividend in dividends.items():
            if subset <= larger:
                total += Fraction(1, len(larger) - len(subset) + 1) * dividend
        assert index == total


@EXAMPLES
@given(st.data())
def test_one_factor_has_its_share_as_its_index(data):
    pairs, held, at = data.draw(cubes())
    indices = shapley_interaction(state=held, at=at, **pairs)
    for factor, share in shapley(state=held, at=at, **pairs).items():
        assert indices[frozenset([factor])] == share


@pytest.mark.parametrize("at", [{}, {"authority": ["neutral", "primary"]}])
def test_the_two_factor_face_by_its_formulas(at):
    found = shapley(view=VIEWS, at=at)
    gains = [gain(view=view, at=at) for view in VIEWS]
    shifts = [endpoint_shift(state, view=VIEWS, at=at) for state in STATES]
    assert found == {
        "state": 0.5 * (gains[0] + gains[1]),
        "view": 0.5 * (shifts[0] + shifts[1]),
    }
    dividends = moebius(view=VIEWS, at=at)
    assert dividends[frozenset({"state"})] == gains[0]
    assert dividends[frozenset({"view"})] == shifts[0]
    assert dividends[frozenset({"state", "view"})] == omega(view=VIEWS, at=at)
    both = shapley_interaction(view=VIEWS, at=at)[frozenset({"state", "view"})]
    assert both == omega(view=VIEWS, at=at)


def test_the_seed_example_by_hand():
    """(before, direct) −0.2, (after, direct) 0.4, (before, generated) 0.5, (after, generated) 0.1.

    Gains 0.6 and −0.4: share of the state 0.1. Shifts 0.7 and −0.3: share of the view 0.2. Their
    sum is the diagonal, 0.1 − (−0.2) = 0.3.
    """
    corners = {
        ("before", "direct"): "-0.2",
        ("after", "direct"): "0.4",
        ("before", "generated"): "0.5",
        ("after", "generated"): "0.1",
    }
    table = {
        frozenset({("state", state), ("view", view)}): Fraction(text)
        for (state, view), text in corners.items()
    }
    found = shapley(view=("direct", "generated"))
    assert value(found["state"], table) == Fraction("0.1")
    assert value(found["view"], table) == Fraction("0.2")


@EXAMPLES
@given(st.data())
def test_the_share_of_a_channel_holds_its_own_level_and_that_of_the_change_does_not(data):
    pairs, held, at = data.draw(cubes())
    found = shapley(state=held, at=at, **pairs)
    assert not any(found[factor].cancels_offsets for factor in pairs)
    assert held or found["state"].cancels_offsets


def test_names_and_kinds_say_what_is_allocated():
    at = {"authority": ["neutral", "primary"]}
    share = shapley(view=VIEWS, at=at)["view"]
    assert share.name == "allocation(view of before->after, quote->generated | neutral+primary)"
    assert share.kind == "allocation"
    moved = frozenset({"state", "view"})
    assert moebius(view=VIEWS)[moved].name == (
        "dividend(state:view of before->after, quote->generated)"
    )
    index = shapley_interaction(state="after", view=VIEWS, authority=("a", "b"))
    assert index[frozenset({"view", "authority"})].name == (
        "interaction(view:authority of quote->generated, a->b | after)"
    )


@pytest.mark.parametrize("asked", [shapley, moebius, shapley_interaction])
@pytest.mark.parametrize(
    ("levels", "words"),
    [
        ({}, "needs a factor with two levels"),
        ({"view": "quote"}, "view = 'quote'; expected two levels, second minus first"),
        ({"view": ("a", "b", "c")}, "two levels"),
        ({"view": ("a", "a")}, "none twice"),
        ({"view": VIEWS, "state": "befor"}, "did you mean 'before'?"),
        ({"view": VIEWS, "state": STATES}, "expected 'before' or 'after'"),
        ({"view": VIEWS, "at": {"view": "quote"}}, "['view'] are contrasted and in at too"),
        ({"view": VIEWS, "at": {"state": "after"}}, "'state'"),
    ],
)
def test_a_move_that_makes_no_sense_is_a_typed_error(asked, levels, words):
    with pytest.raises(ContrastError) as caught:
        asked(**levels)
    assert words in str(caught.value)
