"""The effect basis: orthogonal rows that rebuild any cell table, and formulas that pick them."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.bayes.basis import build
from fourcorner.errors import SpecError

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
CUBE = {
    "state": ("before", "after"),
    "view": ("empty", "quote", "generated"),
    "authority": ("neutral", "primary"),
}


@st.composite
def designs(draw):
    sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3))
    return {
        "state": ("before", "after"),
        **{f"f{i}": tuple("abcd"[:size]) for i, size in enumerate(sizes)},
    }


def term_of(label):
    """The factors of an effect's label; the intercept has none."""
    if label == "intercept":
        return frozenset()
    return frozenset(part.split("[")[0] for part in label.split(":"))


def picked(flags, basis):
    return {term_of(label) for label, flag in zip(basis.labels, flags, strict=True) if flag}


def terms(*texts):
    return {frozenset(text.split()) for text in texts}


# Geometry


@EXAMPLES
@given(designs())
def test_rows_are_orthogonal_with_mean_square_one(factors):
    rows = build(factors).rows
    cells = math.prod(len(levels) for levels in factors.values())
    assert rows.shape == (cells, cells)
    np.testing.assert_allclose(rows @ rows.T / cells, np.eye(cells), atol=1e-12)


@EXAMPLES
@given(designs(), st.integers(0, 2**32 - 1))
def test_effects_rebuild_any_cell_table(factors, seed):
    basis = build(factors)
    cells = np.random.default_rng(seed).normal(size=basis.rows.shape[1])
    coefficients = cells @ basis.rows.T / len(cells)
    np.testing.assert_allclose(coefficients @ basis.rows, cells, atol=1e-12)


@EXAMPLES
@given(designs())
def test_an_effect_moves_only_its_own_factors_and_averages_out_over_each(factors):
    basis = build(factors)
    shape = [len(levels) for levels in factors.values()]
    for label, order, row in zip(basis.labels, basis.order, basis.rows, strict=True):
        term = term_of(label)
        assert order == len(term)
        table = row.reshape(shape)
        for axis, factor in enumerate(factors):
            spread, mean = np.ptp(table, axis=axis), table.mean(axis=axis)
            if factor in term:
                assert spread.max() > 0.1
                np.testing.assert_allclose(mean, 0, atol=1e-12)
            else:
                np.testing.assert_allclose(spread, 0, atol=1e-12)


@EXAMPLES
@given(designs())
def test_each_term_has_as_many_effects_as_it_has_degrees_of_freedom(factors):
    basis = build(factors)
    assert len(set(basis.labels)) == len(basis.labels)
    for size in range(len(factors) + 1):
        for term in itertools.combinations(factors, size):
            wanted = math.prod(len(factors[factor]) - 1 for factor in term)
            assert [term_of(label) for label in basis.labels].count(frozenset(term)) == wanted


def test_a_two_by_two_face_by_hand():
    basis = build({"state": ("before", "after"), "view": ("direct", "generated")})
    assert basis.labels == ("intercept", "state", "view", "state:view")
    assert basis.order.tolist() == [0, 1, 1, 2]
    # cells: before direct, before generated, after direct, after generated
    expected = [[1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1]]
    np.testing.assert_allclose(basis.rows, expected, atol=1e-15)
    # the seed's corners: Ω = -1.0 is four times its effect, the mean gain 0.1 twice the change's
    coefficients = np.array([-0.2, 0.5, 0.4, 0.1]) @ basis.rows.T / 4
    np.testing.assert_allclose(coefficients, [0.2, 0.05, 0.1, -0.25], atol=1e-15)


def test_three_levels_are_compared_with_the_mean_of_those_before():
    basis = build({"view": ("empty", "quote", "generated")})
    assert basis.labels == ("intercept", "view[quote]", "view[generated]")
    second, third = np.array([-1, 1, 0]), np.array([-0.5, -0.5, 1])
    expected = [np.ones(3), second / math.sqrt(2 / 3), third / math.sqrt(0.5)]
    np.testing.assert_allclose(basis.rows, expected, atol=1e-15)


def test_levels_and_factors_keep_their_order():
    basis = build(CUBE)
    assert basis.factors == CUBE
    assert basis.labels == (
        "intercept",
        "state",
        "view[quote]",
        "view[generated]",
        "authority",
        "state:view[quote]",
        "state:view[generated]",
        "state:authority",
        "view[quote]:authority",
        "view[generated]:authority",
        "state:view[quote]:authority",
        "state:view[generated]:authority",
    )


# Formulas

EVERYTHING = terms(
    "", "state", "view", "authority", "state view", "state authority", "view authority",
    "state view authority",
)  # fmt: skip


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (None, EVERYTHING),
        ("state * view * authority", EVERYTHING),
        ("authority*view*state", EVERYTHING),
        ("state", terms("", "state")),
        ("state + view", terms("", "state", "view")),
        ("state * view", terms("", "state", "view", "state view")),
        ("state:view", terms("", "state view")),
        ("view : state", terms("", "state view")),
        ("  state*view  +\tauthority ", terms("", "state", "view", "state view", "authority")),
        ("state + state", terms("", "state")),
        ("state * state", terms("", "state")),
        ("state:state", terms("", "state")),
        ("state:view * authority", terms("", "state view", "authority", "state view authority")),
        (
            "state * view + state * authority",
            terms("", "state", "view", "authority", "state view", "state authority"),
        ),
        ("state:view:authority", terms("", "state view authority")),
    ],
)
def test_a_formula_picks_its_terms_and_always_the_intercept(formula, expected):
    basis = build(CUBE, formula)
    assert picked(basis.modelled, basis) == expected
    assert picked(basis.by_stratum, basis) == expected


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("state", terms("", "state")),
        ("state:view", terms("", "state view")),
        ("state * view", terms("", "state", "view", "state view")),
    ],
)
def test_stratum_effects_pick_among_the_effects(formula, expected):
    basis = build(CUBE, "state * view + authority", formula)
    assert picked(basis.by_stratum, basis) == expected
    assert picked(basis.modelled, basis) == terms("", "state", "view", "state view", "authority")
    alone = build(CUBE, None, formula)
    assert picked(alone.by_stratum, alone) == expected
    assert picked(alone.modelled, alone) == EVERYTHING


def test_the_formula_changes_no_row():
    np.testing.assert_array_equal(build(CUBE, "state").rows, build(CUBE).rows)


def test_a_factor_whose_name_looks_like_a_formula_is_crossed_by_default():
    factors = {"state": ("before", "after"), "a+b": ("x", "y"), "c:d e": ("x", "y")}
    basis = build(factors)
    assert basis.modelled.all()
    assert basis.by_stratum.all()
    assert len(basis.labels) == 8


@pytest.mark.parametrize("key", ["effects", "stratum_effects"])
@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("state * veiw", "no factor 'veiw' (did you mean 'view'?)"),
        ("state view", "no factor 'state view'"),
        ("state *", "an empty part"),
        ("* state", "an empty part"),
        ("", "an empty part"),
        ("  ", "an empty part"),
        ("state**view", "an empty part"),
        ("state + + view", "an empty part"),
        ("state::view", "an empty part"),
        ("1", "no factor '1'"),
    ],
)
def test_a_formula_with_an_unknown_or_empty_part_is_a_spec_error(key, formula, words):
    with pytest.raises(SpecError) as caught:
        build(CUBE, **{key: formula})
    for word in (words, key, repr(formula), "['state', 'view', 'authority']"):
        assert word in str(caught.value)


def test_a_stratum_effect_that_is_no_effect_is_a_spec_error():
    with pytest.raises(SpecError, match=r"stratum_effects has \['state:view', 'view'\]"):
        build(CUBE, "state", "state * view")
