"""Medians and trimmed means of draws against NumPy and SciPy, one draw at a time."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import trim_mean

from fourcorner.design import ranks
from fourcorner.design.ranks import medians, trimmed_means

EXAMPLES = settings(max_examples=100, deadline=None, derandomize=True)


@pytest.fixture(params=[1, 60, 2**18])
def block(request, monkeypatch):
    monkeypatch.setattr(ranks, "BLOCK", request.param)


def drawn_values(seed, units, ties):
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 40))
    values = generator.normal(size=count).round(0 if ties else 6)
    unit = generator.integers(0, units, count)
    drawn = generator.integers(0, 4, size=(25, units)).astype(float)
    return values, unit, drawn


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize(
    ("function", "expected"),
    [(medians, np.median), (trimmed_means, lambda values: trim_mean(values, 0.1))],
)
def test_each_draw_is_the_statistic_of_the_values_drawn(block, function, expected, ties):
    for seed in range(12):
        values, unit, drawn = drawn_values(seed, 1 + seed % 6, ties)
        found = function(drawn, values, unit)
        for row, one in zip(drawn, found, strict=True):
            taken = np.repeat(values, row[unit].astype(int))
            if len(taken):
                assert one == pytest.approx(expected(taken), abs=1e-12)
            else:
                assert math.isnan(one)


@pytest.mark.parametrize(
    ("count", "expected"),
    # the values are 0, 1, 4, 9, …: nine keep their extremes, ten lose one at each end, twenty two
    [(9, 204 / 9), (10, (285 - 0 - 81) / 8), (20, (2470 - 0 - 1 - 324 - 361) / 16)],
)
def test_a_tenth_is_cut_at_each_end_rounded_down(count, expected):
    values = np.arange(count, dtype=float) ** 2
    found = trimmed_means(np.ones((1, count)), values, np.arange(count))
    assert found[0] == pytest.approx(expected)


@EXAMPLES
@given(st.integers(0, 10**6), st.integers(1, 6), st.booleans())
def test_the_order_of_values_does_not_matter(seed, units, ties):
    values, unit, drawn = drawn_values(seed, units, ties)
    order = np.random.default_rng(seed).permutation(len(values))
    for function in (medians, trimmed_means):
        np.testing.assert_allclose(
            function(drawn, values[order], unit[order]), function(drawn, values, unit), atol=1e-12
        )
