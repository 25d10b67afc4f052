"""Faces of a design: brute force over every face, and the identification of its interaction."""

from itertools import combinations, product

import numpy as np
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.contrasts import gain, omega, refusal
from fourcorner.contrasts.crossed import crossings

EXAMPLES = settings(max_examples=40, deadline=None, derandomize=True)
LEVELS = {"view": ["a", "b", "c"], "stack": ["x", "y"], "rule": ["r"]}


def design(seed, share):
    generator = np.random.default_rng(seed)
    levels = {"state": ["before", "after"], **LEVELS}
    shape = [len(found) for found in levels.values()]
    return xr.DataArray(generator.random(shape) < share, dims=list(levels), coords=levels)


@EXAMPLES
@given(st.integers(0, 10**6), st.sampled_from([0.5, 0.8, 0.95]))
def test_complete_faces_are_those_whose_interaction_is_identified(seed, share):
    observed = design(seed, share)
    found = {crossing.factors: crossing for crossing in crossings(observed)}
    assert list(found) == [(), ("view",), ("stack",), ("view", "stack")]
    for factors, crossing in found.items():
        identified, faces = 0, 0
        for pairs in product(*(combinations(LEVELS[factor], 2) for factor in factors)):
            others = [factor for factor in LEVELS if factor not in factors]
            for rest in product(*(LEVELS[factor] for factor in others)):
                at = dict(zip(others, rest, strict=True))
                moved = dict(zip(factors, pairs, strict=True))
                contrast = omega(at=at, **moved) if moved else gain(at=at)
                faces += 1
                identified += refusal(contrast, observed) is None
        assert (crossing.complete, crossing.possible) == (identified, faces)


def test_a_bridge_tells_of_each_vertex_and_not_of_the_square():
    observed = design(0, 1.0).isel(rule=0, drop=True).copy(data=np.ones((2, 3, 2), dtype=bool))
    observed.loc[{"view": "c"}] = False
    observed.loc[{"view": "b", "stack": "y"}] = False
    found = {one.factors: one for one in crossings(observed, ["stack"])}
    assert found["view", "stack"].complete == 0
    corners = [tuple(cell.values()) for cell in found["view", "stack"].missing]
    assert ("before", "b", "y") in corners
    assert ("before", "a", "x") not in corners
    assert found["view",].missing == []
    assert (found["view",].linked, found["view", "stack"].linked) == (True, False)
