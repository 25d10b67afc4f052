"""Rescaling and pooling two gains against a search over scales and mixtures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.contrasts import flip_ratio, flip_share, gain, omega
from fourcorner.contrasts.calibration import statements
from fourcorner.errors import ContrastError
from fourcorner.estimands import Estimand
from scored import estimate, simple

SIZES = st.integers(1, 10**6).map(lambda whole: whole / 1000)
GAINS = st.one_of(st.just(0.0), SIZES, SIZES.map(lambda size: -size))
SCALES = np.logspace(-12, 12, 2401)
SHARES = np.linspace(0, 1, 2001)[1:-1]


@given(GAINS, GAINS)
def test_the_ratio_is_where_a_search_over_scales_finds_the_sign_turning(first, second):
    signs = np.sign(SCALES * second - first)
    found = flip_ratio(first, second)
    turns = signs.min() < 0 < signs.max()
    assert (found is not None) == turns
    if found is not None:
        at = np.flatnonzero(np.diff(signs))
        assert SCALES[at[0]] * (1 - 1e-9) <= found <= SCALES[at[-1] + 1] * (1 + 1e-9)


def test_gains_may_be_numbers_of_numpy():
    first, second = np.array([0.5, 0.25])
    assert flip_ratio(first, second) == 2
    assert flip_share(first, -second) == pytest.approx(2 / 3)


@given(GAINS, GAINS)
def test_the_share_is_where_a_search_over_mixtures_finds_the_sign_turning(first, second):
    found = flip_share(first, second)
    straddles = min(first, second) < 0 < max(first, second)
    assert (found is not None) == straddles
    if found is not None:
        assert 0 < found < 1
        pooled = (1 - SHARES) * first + SHARES * second
        below = np.sign(pooled[found - 1e-9 > SHARES])
        above = np.sign(pooled[found + 1e-9 < SHARES])
        assert set(below.tolist()) <= {np.sign(first)}
        assert set(above.tolist()) <= {np.sign(second)}
    else:
        pooled = (1 - SHARES) * first + SHARES * second
        assert not pooled.min() < 0 < pooled.max()


@given(GAINS, GAINS, SIZES, SIZES)
def test_rescaled_scores_have_the_ratio_rescaled_back(first, second, scale, other):
    found, again = flip_ratio(first, second), flip_ratio(scale * first, other * second)
    assert (found is None) == (again is None)
    if found is not None:
        assert again * other / scale == pytest.approx(found)


@given(GAINS, GAINS)
def test_swapped_channels_have_the_inverse_ratio_and_the_other_share(first, second):
    ratio, share = flip_ratio(first, second), flip_share(first, second)
    if ratio is not None:
        assert flip_ratio(second, first) == pytest.approx(1 / ratio)
    if share is not None:
        assert flip_share(second, first) == pytest.approx(1 - share)


@pytest.mark.parametrize(
    ("gains", "ratio", "share"),
    [
        ((0.163, -0.160), None, 163 / 323),
        ((-0.5, 1.5), None, 0.25),
        ((0.2, 0.8), 0.25, None),
        ((-0.9, -0.3), 3.0, None),
        ((0.0, 0.4), None, None),
        ((0.4, -0.0), None, None),
        ((0.0, 0.0), None, None),
        ((1e308, -1e308), None, 0.5),
    ],
)
def test_worked_by_hand(gains, ratio, share):
    assert flip_ratio(*gains) == (None if ratio is None else pytest.approx(ratio))
    assert flip_share(*gains) == (None if share is None else pytest.approx(share))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_gain_that_is_no_number_is_an_error(bad):
    for of in (flip_ratio, flip_share):
        for pair in ((bad, 1.0), (1.0, bad)):
            with pytest.raises(ContrastError, match="expected a finite number"):
                of(*pair)


def test_a_ratio_that_no_number_can_hold_is_an_error():
    for pair in ((1e300, 1e-300), (1e-300, 1e300)):
        with pytest.raises(ContrastError, match="beyond what a number can hold"):
            flip_ratio(*pair)


@pytest.mark.parametrize(
    ("gains", "calibration", "pooling"),
    [
        ((0.2, 0.8), "ratio of 0.25, second scale to first", "which every mixture"),
        ((-0.5, 1.5), "no positive rescaling", "share of 0.25"),
        ((0.0, 0.4), "the first mean gain is zero", "unless it is the first channel alone"),
        ((-0.4, 0.0), "the second mean gain is zero", "unless it is the second channel alone"),
        ((0.0, 0.0), "both mean gains are zero", "both mean gains are zero"),
    ],
)
def test_both_statements_in_words(gains, calibration, pooling):
    first, second = statements(*gains)
    assert first.startswith("calibration: ")
    assert calibration in first
    assert second.startswith("pooling of channels: ")
    assert pooling in second


def test_every_mean_interaction_of_two_gains_has_its_ratio_or_its_share():
    # gains at views a and b: 4 and 1 of p, 2 and 3 of q
    rows = [
        (unit, target, "t", state, view, gain if state == "end" else 0.0)
        for unit, target, gains in (("p", "x", (4.0, 1.0)), ("q", "y", (2.0, 3.0)))
        for view, gain in zip("ab", gains, strict=True)
        for state in ("start", "end")
    ]
    table = simple(rows)
    asked = {"weights": {"empirical": "empirical", "x": {"x": 1.0, "y": 0.0}}, "draws": 100}
    omega_ = Estimand("omega", omega(view=("a", "b")))
    found = estimate(table, [omega_, Estimand("gain", gain(view="a"))], **asked)
    means = {"empirical": (3.0, 2.0), "x": (4.0, 1.0)}
    for weights, (first, second) in means.items():
        assert found["omega", "mean", weights].flip_ratio == pytest.approx(first / second)
        assert found["omega", "mean", weights].flip_share is None
        assert found["gain", "mean", weights].flip_ratio is None
    median = estimate(table, [Estimand("m", omega(view=("a", "b")), names.MEDIAN)], draws=100)
    assert [row.flip_ratio for row in median.values()] == [None]
