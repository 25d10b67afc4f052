"""Sign stability of two channels over waves and retries."""

import numpy as np
import pytest

from fourcorner import names
from fourcorner.design.signs import RATES, values
from fourcorner.measures import SIGNS, Measure, signs

# gains of two channels in two waves: disagree always; once; a zero; agree
GAINS = np.array(
    [
        [[0.4, -0.2], [0.1, -0.3]],
        [[0.4, -0.2], [0.1, 0.3]],
        [[0.0, -0.2], [-0.1, -0.3]],
        [[0.4, 0.2], [0.1, 0.3]],
    ]
)
BY_HAND = {
    names.FIRST_GAIN: [0.25, 0.25, -0.05, 0.25],
    names.SECOND_GAIN: [-0.25, 0.05, -0.25, 0.25],
    names.OMEGA: [-0.5, -0.2, -0.2, 0.0],
    names.CROSS_CHANNEL: [1, 0.5, 0, 0],
    names.CROSS_CHANNEL_DOWN: [1, 0.5, 0, 0],
    names.CROSS_CHANNEL_UP: [0, 0, 0, 0],
    names.SAME_CHANNEL: [0, 0.5, 0, 0],
    names.EXCESS: [1, 0, 0, 0],
    names.PERSISTENT: [1, 0, 0, 0],
    names.PERSISTENT_DOWN: [1, 0, 0, 0],
    names.PERSISTENT_UP: [0, 0, 0, 0],
    names.ZERO: [0, 0, 1, 0],
}


@pytest.mark.parametrize("kind", BY_HAND)
def test_hand_worked_signs(kind):
    assert values(GAINS, Measure(kind)) == pytest.approx(BY_HAND[kind])


def test_a_gain_on_the_edge_of_the_dead_zone_is_in_it():
    found = values(GAINS, Measure(names.BEYOND, 0.2)).tolist()
    assert found == [0, 0, 0, 0]
    assert values(GAINS, Measure(names.BEYOND, 0.1)).tolist() == [0.5, 0.5, 0, 0]


def test_every_measure_has_words_and_a_rule():
    assert set(SIGNS) == {*BY_HAND, names.BEYOND}
    assert set(RATES) < set(SIGNS)
    assert {measure.kind for measure in signs().values()} == set(SIGNS)


def test_a_gain_missing_in_a_wave_leaves_the_transition_out():
    gains = GAINS.copy()
    gains[0, 1, 0] = np.nan
    assert np.isnan(values(gains, Measure(names.CROSS_CHANNEL))).tolist() == [True] + [False] * 3
