"""What the generators of cohorts share, by hand and by brute force."""

from math import comb

import numpy as np
import pandas as pd
import pytest

from fourcorner.errors import FourcornerError
from fourcorner.simulate import options, retrieval, study, tables


def test_margins_by_hand():
    scores = np.array([[3.0, 1.0, -2.0], [0.0, 4.0, 5.5]])
    assert options.margins(scores, np.array([0, 1])).tolist() == [2.0, -1.5]


def test_margins_look_at_the_trajectorys_own_target_whatever_the_cells():
    scores = np.random.default_rng(0).normal(size=(3, 2, 4, 5))
    target = np.array([4, 0, 2])
    found = options.margins(scores, target)
    for place in np.ndindex(3, 2, 4):
        values = scores[place].tolist()
        assert found[place] == values.pop(target[place[0]]) - max(values)


def test_a_margin_of_a_missing_score_is_missing():
    scores = np.array([[np.nan, 1.0], [2.0, 1.0], [2.0, np.nan]])
    found = options.margins(scores, np.array([0, 0, 0]))
    assert np.isnan(found).tolist() == [True, False, True]


def test_credit_of_the_target_moves_the_margin_by_as_much():
    scores = np.array([[[3.0, 1.0, -2.0]], [[0.0, 4.0, 5.5]]])
    target, amount = np.array([0, 1]), np.array([[-7.0], [2.5]])
    before = options.margins(scores, target)
    options.credit(scores, target, amount)
    assert scores.tolist() == [[[-4.0, 1.0, -2.0]], [[0.0, 6.5, 5.5]]]
    assert options.margins(scores, target).tolist() == (before + amount).tolist()


def test_credit_of_a_part_is_credit_of_the_whole():
    scores = np.zeros((2, 3, 2))
    options.credit(scores[:, 1], np.array([1, 0]), np.array([5.0, 7.0]))
    assert scores.tolist() == [
        [[0.0, 0.0], [0.0, 5.0], [0.0, 0.0]],
        [[0.0, 0.0], [7.0, 0.0], [0.0, 0.0]],
    ]


def test_a_published_interval_implies_its_standard_error():
    # 1.96 standard errors of 0.5 on each side of the mean
    assert study.Published(1.0, 1.0 - 0.98, 1.0 + 0.98).variance == pytest.approx(0.25, rel=1e-4)


def test_two_equations_are_solved_for_the_large_and_the_small_strata():
    # x on the first and third, y on the second: 2x + y + 3x = 11 and x + y + x = 5
    found = study.solve_by_size(
        np.array([[2.0, 1.0, 3.0], [1.0, 1.0, 1.0]]), np.array([11.0, 5.0]), [10, 9, 40]
    )
    assert found == pytest.approx([2.0, 1.0, 2.0])


@pytest.mark.parametrize(("size", "n"), [(1, 4), (5, 12), (11, 12)])
def test_the_mean_inverse_count_is_that_of_the_binomial_without_zero(size, n):
    share = size / n
    chances = {k: comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(1, n + 1)}
    expected = sum(chance / k for k, chance in chances.items()) / sum(chances.values())
    assert study.mean_inverse_count(size, n) == pytest.approx(expected)


def test_a_failed_calibration_is_the_packages_error_and_a_value_error():
    assert issubclass(study.CalibrationError, FourcornerError)
    assert issubclass(study.CalibrationError, ValueError)


@pytest.mark.parametrize("seed", range(3))
def test_every_target_finds_evidence_as_often_whatever_the_draw(seed):
    target, found = retrieval.draw_targets(np.random.default_rng(seed))
    assert np.bincount(target).tolist() == [50, 38, 7, 5]
    assert np.bincount(target[found]).tolist() == [34, 25, 4, 2]
    assert (np.diff(target) < 0).any()


def test_texts_have_lower_case_booleans_and_no_negative_zeros():
    frame = pd.DataFrame(
        {
            "trajectory": tables.ids("t", 2, 3, first=1),
            "found": [True, False],
            "logprob": tables.rounded(np.array([-0.00001, 0.123456])),
        }
    )
    assert (
        tables.to_csv_text(frame) == "trajectory,found,logprob\nt001,true,0.0\nt002,false,0.1235\n"
    )
