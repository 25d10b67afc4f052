"""Identification under declared restrictions, and contrasts across unlinked scales."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.bayes import basis
from fourcorner.contrasts import (
    Contrast,
    diagonal,
    endpoint_shift,
    gain,
    identification,
    omega,
    refusal,
    scale_refusal,
)
from fourcorner.errors import ContrastError
from fourcorner.report import reasons

EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True)
FACE = {"state": ("before", "after"), "view": ("direct", "generated")}
CUBE = {**FACE, "authority": ("neutral", "primary")}
BRIDGE = {
    **FACE,
    "readout": ("joint", "binary"),
    "stack": ("DeepSeek", "GPT-4o"),
}


def places(factors):
    return list(itertools.product(*factors.values()))


def mask(factors, seen):
    shape = [len(levels) for levels in factors.values()]
    flags = np.reshape([seen(dict(zip(factors, p, strict=True))) for p in places(factors)], shape)
    return xr.DataArray(flags, coords={name: list(levels) for name, levels in factors.items()})


def terms(factors, wanted):
    """Effect-coded rows, ±1 for two levels: the intercept and each product of factors in it."""
    signs = dict.fromkeys(factors, (-1, 1))
    rows = []
    for term in [(), *wanted]:
        coded = [signs[name] if name in term else (1, 1) for name in factors]
        rows.append([int(np.prod(combination)) for combination in itertools.product(*coded)])
    return np.array(rows, dtype=float)


def all_terms(factors):
    sizes = range(1, len(factors) + 1)
    return [term for size in sizes for term in itertools.combinations(factors, size)]


def rank(rows):
    """Rank by elimination over exact fractions."""
    rows = [[Fraction(int(x)) for x in row] for row in rows]
    found = 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        for i in range(found + 1, len(rows)):
            ratio = rows[i][column] / rows[found][column]
            rows[i] = [a - ratio * b for a, b in zip(rows[i], rows[found], strict=True)]
        found += 1
    return found


def determined(weights, rows, seen):
    """Exact: whether the effects seen through the observed cells fix the contrast."""
    columns = [[row[i] for row in rows] for i in np.flatnonzero(seen)]
    asked = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rows]
    return rank([*columns, asked]) == rank(columns)


def place(record, factors):
    return places(factors).index(tuple(record[name] for name in factors))


@st.composite
def problems(draw):
    """A design of two or three factors, effects, observed cells and any small contrast."""
    factors = draw(st.sampled_from([FACE, CUBE]))
    wanted = draw(st.lists(st.sampled_from(all_terms(factors)), unique=True))
    cells = places(factors)
    seen = draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)))
    weights = draw(st.lists(st.integers(-2, 2), min_size=len(cells), max_size=len(cells)))
    return factors, terms(factors, wanted), seen, weights


def asked_of(factors, seen, weights, rows):
    named = {
        frozenset(zip(factors, cell, strict=True)): Fraction(weight)
        for cell, weight in zip(places(factors), weights, strict=True)
    }
    shape = [len(levels) for levels in factors.values()]
    observed = mask(factors, lambda _: True).copy(data=np.reshape(seen, shape))
    return refusal(Contrast("random", named), observed, rows)


@EXAMPLES
@given(problems())
def test_identified_means_that_the_weights_are_in_the_row_space_of_what_was_observed(problem):
    factors, rows, seen, weights = problem
    found = asked_of(factors, seen, weights, rows)
    assert (found is None) == determined(weights, rows, seen)


@EXAMPLES
@given(problems())
def test_a_witness_obeys_the_restrictions_spares_the_data_and_moves_the_contrast(problem):
    factors, rows, seen, weights = problem
    found = asked_of(factors, seen, weights, rows)
    if found is None:
        return
    shift = np.zeros(rows.shape[1])
    for step in found["witness"]["shift"]:
        shift[place(step["cell"], factors)] = step["by"]
    assert not shift[np.array(seen)].any()
    assert np.abs(shift).max() == pytest.approx(1)
    effects, *_ = np.linalg.lstsq(rows.T, shift, rcond=None)
    np.testing.assert_allclose(effects @ rows, shift, atol=1e-9)
    moves = float(shift @ weights)
    assert found["witness"]["moves_contrast"] == pytest.approx(moves)
    assert abs(moves) > 1e-6
    missing = {place(record, factors) for record in found["missing"]}
    assert missing == {i for i, w in enumerate(weights) if w and not seen[i]}


@EXAMPLES
@given(problems())
def test_the_smallest_sets_are_all_of_those_that_brute_force_finds(problem):
    factors, rows, seen, weights = problem
    found = asked_of(factors, seen, weights, rows)
    if found is None:
        return
    unseen = [i for i, flag in enumerate(seen) if not flag]
    for size in range(1, len(unseen) + 1):
        expected = {
            chosen
            for chosen in itertools.combinations(unseen, size)
            if determined(weights, rows, [flag or i in chosen for i, flag in enumerate(seen)])
        }
        if expected:
            break
    listed = [tuple(place(one, factors) for one in cells) for cells in found["would_identify"]]
    assert set(listed) == expected
    assert len(listed) == len(expected)
    assert "search" not in found


@EXAMPLES
@given(problems())
def test_with_every_effect_modelled_the_restricted_case_is_the_unrestricted_one(problem):
    factors, _, seen, weights = problem
    full = asked_of(factors, seen, weights, terms(factors, all_terms(factors)))
    free = asked_of(factors, seen, weights, None)
    assert (full is None) == (free is None)
    if full is not None and free is not None:
        assert full["missing"] == free["missing"]
        assert full["would_identify"] == free["would_identify"] == [free["missing"]]


def test_restrictions_are_a_space_whatever_its_coding():
    """The model's own basis, a factor of three levels in it, against plain indicators."""
    factors = {"state": ("before", "after"), "view": ("a", "b", "c")}
    cells = [dict(zip(factors, cell, strict=True)) for cell in places(factors)]
    indicators = [[1] * 6, [int(cell["state"] == "after") for cell in cells]]
    indicators += [[int(cell["view"] == view) for cell in cells] for view in ("b", "c")]
    built = basis.build(factors, "state + view")
    rows = built.rows[built.modelled]
    for seen in itertools.product([False, True], repeat=6):
        for weights in [(0, 0, -1, 0, 0, 1), (1, -1, 0, -1, 1, 0), (-1, 0, 0, 0, 1, 0)]:
            expected = determined(weights, indicators, seen)
            for coded in (rows, rows * np.array([1e6, 1e-6, 1.0, 3.0])[:, None]):
                assert (asked_of(factors, seen, weights, coded) is None) == expected


@pytest.mark.parametrize("lost", places(FACE))
def test_three_corners_identify_omega_only_once_it_is_declared_away(lost):
    seen = mask(FACE, lambda levels: tuple(levels.values()) != lost)
    face = omega(view=FACE["view"])
    assert refusal(face, seen) is not None
    assert refusal(face, seen, terms(FACE, all_terms(FACE))) is not None
    additive = terms(FACE, [("state",), ("view",)])
    assert refusal(face, seen, additive) is None  # it is zero, whatever is measured
    assert all(refusal(gain(view=view), seen, additive) is None for view in FACE["view"])


def test_a_corner_that_restrictions_fill_in_by_hand():
    """Without Ω the fourth corner is F(0,1) + F(1,0) − F(0,0): its gain is the other view's."""
    seen = mask(FACE, lambda levels: levels != {"state": "after", "view": "generated"})
    additive = terms(FACE, [("state",), ("view",)])
    assert refusal(gain(view="generated"), seen, additive) is None
    assert refusal(diagonal(view=FACE["view"]), seen, additive) is None
    no_view = terms(FACE, [("state",)])
    nothing_after = mask(FACE, lambda levels: levels["state"] == "before")
    found = refusal(gain(view="generated"), nothing_after, no_view)
    # the change moves both views alike, so either cell after would do
    assert found["would_identify"] == [
        [{"state": "after", "view": "direct"}],
        [{"state": "after", "view": "generated"}],
    ]
    assert [step["by"] for step in found["witness"]["shift"]] == [1.0, 1.0]
    said = reasons.refusal(found)
    assert "scores changed together by +1.00 at (after, view = direct) and +1.00 at (after" in said
    assert found["witness"]["moves_contrast"] == 1.0


def bridge_seen(levels):
    return (levels["readout"], levels["stack"]) != ("joint", "GPT-4o")


@pytest.mark.parametrize("restricted", [None, terms(BRIDGE, all_terms(BRIDGE))])
def test_the_bridge_does_not_identify_readout_by_stack_but_each_vertexs_own_omega(restricted):
    seen = mask(BRIDGE, bridge_seen)
    vertices = [("joint", "DeepSeek"), ("binary", "DeepSeek"), ("binary", "GPT-4o")]
    for readout, stack in vertices:
        own = omega(view=BRIDGE["view"], at={"readout": readout, "stack": stack})
        assert refusal(own, seen, restricted) is None
    both = {"readout": BRIDGE["readout"], "stack": BRIDGE["stack"]}
    for crossed in [
        omega(**both, at={"view": "generated"}),
        omega(view=BRIDGE["view"], **both),
    ]:
        found = refusal(crossed, seen, restricted)
        assert all(
            (record["readout"], record["stack"]) == ("joint", "GPT-4o")
            for record in found["missing"]
        )
        assert found["would_identify"] == [found["missing"]]


def test_the_bridge_identifies_the_missing_vertex_where_readout_and_stack_only_add_up():
    seen = mask(BRIDGE, bridge_seen)
    added = [term for term in all_terms(BRIDGE) if not {"readout", "stack"} <= set(term)]
    rows = terms(BRIDGE, added)
    fourth = omega(view=BRIDGE["view"], at={"readout": "joint", "stack": "GPT-4o"})
    assert refusal(fourth, seen) is not None
    assert refusal(fourth, seen, rows) is None


def test_where_the_search_stops_it_says_so_and_gives_a_set_that_cannot_be_smaller(monkeypatch):
    monkeypatch.setattr(identification, "SETS", 10)
    seen = mask(CUBE, lambda _: False)
    rows = terms(CUBE, all_terms(CUBE))
    asked = omega(view=CUBE["view"], at={"authority": "neutral"})
    found = refusal(asked, seen, rows)
    (given_set,) = found["would_identify"]
    assert given_set == found["missing"]
    assert "more than 10 sets" in found["search"]


def test_a_set_from_a_search_that_stopped_is_of_the_contrasts_own_cells_where_they_do(monkeypatch):
    monkeypatch.setattr(identification, "SETS", 1)
    rows = terms(CUBE, [term for term in all_terms(CUBE) if len(term) < 3])
    asked = omega(view=CUBE["view"], at={"authority": "neutral"})
    (found,) = refusal(asked, mask(CUBE, lambda _: False), rows)["would_identify"]
    assert {record["authority"] for record in found} == {"neutral"}
    assert len(found) == 4  # without the third-order effect either authority would do


def test_restrictions_that_do_not_fit_the_cells_are_a_typed_error():
    seen = mask(FACE, lambda _: True)
    with pytest.raises(ContrastError, match=r"shape \(3, 8\); expected \(effects, 4\)"):
        refusal(gain(view="direct"), seen, np.zeros((3, 8)))


# Scales


READOUTS = ("joint", "binary")


@pytest.mark.parametrize(
    "inside",
    [
        gain(readout="joint", view="direct"),
        omega(view=FACE["view"], at={"readout": "binary"}),
        diagonal(view=FACE["view"], at={"readout": "binary"}),
        omega(view=FACE["view"], at={"readout": "joint"})
        + omega(readout=READOUTS, at={"view": "direct"})
        - omega(readout=READOUTS, at={"view": "direct"}),
    ],
)
def test_a_contrast_inside_one_scale_is_not_refused(inside):
    assert scale_refusal(inside, ["readout"]) is None


@pytest.mark.parametrize(
    "across",
    [
        omega(readout=READOUTS, at={"view": "direct"}),
        omega(view=FACE["view"], readout=READOUTS),
        endpoint_shift("after", readout=READOUTS, at={"view": "direct"}),
        gain(view="direct", at={"readout": READOUTS}),
    ],
)
def test_a_contrast_across_scales_has_no_unit_and_says_so(across):
    found = scale_refusal(across, ["readout"])
    assert found["reason"] == "unlinked_scales"
    assert found["groups"] == [{"readout": "binary"}, {"readout": "joint"}]
    assert "(readout = binary) and (readout = joint)" in found["message"]
    assert "compare their signs" in found["message"]


def test_a_scale_group_is_a_combination_of_levels():
    across = omega(stack=("a", "b"), at={"readout": "joint", "view": "direct"})
    assert scale_refusal(across, ["readout"]) is None
    groups = scale_refusal(across, ["readout", "stack"])["groups"]
    assert groups == [{"readout": "joint", "stack": "a"}, {"readout": "joint", "stack": "b"}]
    assert scale_refusal(across, []) is None


def test_a_contrast_that_leaves_the_scale_open_is_a_typed_error():
    with pytest.raises(ContrastError, match=r"says nothing about \['readout'\]"):
        scale_refusal(gain(view="direct"), ["readout"])
