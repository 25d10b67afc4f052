"""Mixed means of draws and their variances: by hand, by formula and by brute force."""

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.design import means, studentised
from fourcorner.design.cohort import Sample
from fourcorner.design.parts import COHORT, Part
from fourcorner.weights import TargetWeights

EXAMPLES = settings(max_examples=60, deadline=None, derandomize=True)
EMPIRICAL = TargetWeights("empirical", None)


def fixed(*shares):
    return TargetWeights("fixed", np.array(shares))


def cohort(stratum, strata):
    units = len(stratum)
    names_of = tuple(f"s{code}" for code in range(strata))
    return Sample(xr.Dataset(), np.arange(units), np.array(stratum), units, names_of, "c", {})


def part(values, unit, sign=1):
    return Part(sign, COHORT, np.array(values, float), np.array(unit), np.ones(len(unit), bool), 0)


def split(data, multiplicity):
    return means.by_stratum(multiplicity, data.stratum, len(data.strata))


def drawn(data, about, multiplicity):
    strata = means.totals(split(data, multiplicity), about.columns)
    return means.Totals(strata, list((multiplicity @ about.pooled_columns(data.stratum)).T))


def test_means_by_hand_with_an_undefined_draw():
    # units p, q in stratum 0 and r in stratum 1; p: 3, q: 1 and 3, r: 10
    data = cohort([0, 0, 1], 2)
    about = means.centred(data, [part([3, 1, 3, 10], [0, 1, 1, 2])])
    multiplicity = np.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [0.0, 3.0, 0.0]])
    totals = drawn(data, about, multiplicity)

    def values(mixture):
        mix = means.mixing(mixture, about, names.PLAIN)
        return means.estimate(about, mix) + means.deviations(totals, about, mix)

    np.testing.assert_allclose(values(EMPIRICAL), [17 / 4, 16 / 3, 12 / 6])
    np.testing.assert_allclose(values(fixed(0.5, 0.5)), [(7 / 3 + 10) / 2, 13 / 2, np.nan])
    np.testing.assert_allclose(values(fixed(1.0, 0.0)), [7 / 3, 3, 2])
    half = TargetWeights("half", np.array([0.25, 0.25]), 0.5)
    np.testing.assert_allclose(
        values(half), [(17 / 4 + (7 / 3 + 10) / 2) / 2, (16 / 3 + 13 / 2) / 2, np.nan]
    )


def test_within_strata_the_cohorts_mixture_is_held():
    data = cohort([0, 0, 1, 1], 2)
    about = means.centred(data, [part([1, 5, 7, 10, 20], [0, 1, 1, 2, 3])])
    mix = means.mixing(EMPIRICAL, about, names.WITHIN_STRATA)
    assert means.estimate(about, mix) == pytest.approx(43 / 5)
    # unit 1 twice: its stratum's mean is 6, and still weighs three fifths
    totals = drawn(data, about, np.array([[0.0, 2.0, 1.0, 1.0]]))
    moved = means.deviations(totals, about, mix)
    assert 43 / 5 + moved[0] == pytest.approx(0.6 * 6 + 0.4 * 15)


def test_rescaling_stretches_each_stratum_by_its_own_size():
    data = cohort([0, 0, 1, 1, 1], 2)
    about = means.centred(data, [part([0, 4, 1, 1, 7], [0, 1, 2, 3, 4])])
    mix = means.mixing(fixed(0.5, 0.5), about, names.PLAIN)
    totals = drawn(data, about, np.array([[2.0, 0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0, 3.0]]))
    moved = means.deviations(totals, about, mix, rescale=True)
    # deviations of -2 in a stratum of two, of 4 in a stratum of three
    np.testing.assert_allclose(moved, [0.5 * -2 * np.sqrt(2), 0.5 * 4 * np.sqrt(3 / 2)])


@EXAMPLES
@given(st.integers(0, 10**6), st.sampled_from(names.PLANS), st.booleans())
def test_every_unit_once_deviates_by_nothing(seed, plan, mixed):
    generator = np.random.default_rng(seed)
    data = cohort([0, 0, 1, 1, 2, 2], 3)
    unit = np.concatenate([np.arange(6), generator.integers(0, 6, 5)])
    about = means.centred(data, [part(1e6 + generator.normal(size=11), unit)])
    mixture = TargetWeights("m", np.array([0.1, 0.2, 0.3]), 0.4) if mixed else EMPIRICAL
    mix = means.mixing(mixture, about, plan)
    once = drawn(data, about, np.ones((1, 6)))
    assert means.deviations(once, about, mix)[0] == pytest.approx(0, abs=1e-9)
    assert means.deviations(once, about, mix, rescale=True)[0] == pytest.approx(0, abs=1e-9)


# Variances


def variance(data, groups, mixture, multiplicity=None, plan=names.PLAIN):
    about = means.centred(data, groups)
    multiplicity = np.ones((1, data.units)) if multiplicity is None else multiplicity
    second = means.totals(split(data, multiplicity), studentised.moments(about))
    mix = means.mixing(mixture, about, plan)
    return studentised.variances(drawn(data, about, multiplicity), second, about, mix)


def test_of_one_mean_it_is_the_textbook_variance():
    values = np.array([1.0, 4.0, 4.0, 9.0])
    found = variance(cohort([0, 0, 1, 1], 2), [part(values, range(4))], EMPIRICAL)
    assert found[0] == pytest.approx(values.var(ddof=1) / 4)


def test_of_a_weighted_mean_it_adds_strata():
    values = np.array([1.0, 4.0, 5.0, 2.0, 9.0])
    found = variance(cohort([0, 0, 0, 1, 1], 2), [part(values, range(5))], fixed(0.25, 0.75))
    expected = 0.0625 * values[:3].var(ddof=1) / 3 + 0.5625 * values[3:].var(ddof=1) / 2
    assert found[0] == pytest.approx(expected)


def test_of_two_groups_of_units_it_is_welchs():
    values = np.array([1.0, 4.0, 5.0, 2.0, 9.0])
    groups = [part(values[:3], range(3), -1), part(values[3:], [3, 4])]
    found = variance(cohort([0] * 5, 1), groups, EMPIRICAL)
    assert found[0] == pytest.approx(values[:3].var(ddof=1) / 3 + values[3:].var(ddof=1) / 2)


def test_of_two_groups_in_the_same_units_it_is_that_of_the_paired_differences():
    first, second = np.array([1.0, 4.0, 5.0]), np.array([2.0, 9.0, 4.0])
    groups = [part(first, range(3), -1), part(second, range(3))]
    found = variance(cohort([0] * 3, 1), groups, EMPIRICAL)
    assert found[0] == pytest.approx((second - first).var(ddof=1) / 3)


def test_of_units_of_many_sizes_it_is_the_ratio_estimators():
    values, unit = np.array([1.0, 3.0, 8.0, 2.0]), [0, 0, 1, 2]
    mean = values.mean()
    residual = np.array([1 + 3 - 2 * mean, 8 - mean, 2 - mean])
    found = variance(cohort([0] * 3, 1), [part(values, unit)], EMPIRICAL)
    assert found[0] == pytest.approx(3 / 2 * (residual**2).sum() / 4**2)


def test_of_a_half_empirical_mixture_it_is_that_of_each_units_share():
    values = np.array([1.0, 4.0, 5.0, 2.0, 9.0, 3.0])
    code = np.array([0, 0, 0, 1, 1, 1])
    mixture = TargetWeights("half", np.array([0.25, 0.25]), 0.5)
    own = np.array([values[:3].mean(), values[3:].mean()])[code]
    share = 0.5 * np.sqrt(6 / 5) * (values - values.mean()) / 6
    share += 0.25 * np.sqrt(3 / 2) * (values - own) / 3
    found = variance(cohort(code, 2), [part(values, range(6))], mixture)
    assert found[0] == pytest.approx((share**2).sum())


@EXAMPLES
@given(st.integers(0, 10**6), st.booleans())
def test_of_a_draw_it_is_that_of_the_drawn_table(seed, weighted):
    generator = np.random.default_rng(seed)
    code = np.array([0, 0, 0, 1, 1, 1, 1])
    data = cohort(code, 2)
    unit = np.concatenate([np.arange(7), generator.integers(0, 7, 4)])
    values = 1e5 + generator.normal(size=11)
    multiplicity = generator.integers(0, 3, size=(1, 7)).astype(float)
    mixture = fixed(0.3, 0.7) if weighted else EMPIRICAL
    found = variance(data, [part(values, unit)], mixture, multiplicity)[0]
    copies = np.repeat(np.arange(7), multiplicity[0].astype(int))
    sizes = np.bincount(code[copies], minlength=2)
    if min(sizes if weighted else [len(copies)]) < 2:
        assert np.isnan(found)
        return
    again = cohort(code[copies], 2)
    rows = [(values[unit == owner], place) for place, owner in enumerate(copies)]
    flat = np.concatenate([taken for taken, _ in rows])
    owner = np.concatenate([np.full(len(taken), place) for taken, place in rows])
    expected = variance(again, [part(flat, owner)], mixture)[0]
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
