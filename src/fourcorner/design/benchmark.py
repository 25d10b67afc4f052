"""Two views of the same states beside what they would be if the scorer were indifferent to them.

A scorer whose response is a function of what it can know of the target would answer alike to views
that hold nothing new: same endpoint means, same gains, same rankings, same law of responses. These
measures describe departures from that; none is a test.

The distance of two response laws is the energy distance 2 E|X − Y| − E|X − X'| − E|Y − Y'|,
estimated from the waves of an endpoint without pairing a wave with itself, so that retry noise
alone gives 0 on average. A transition has the mean of its two endpoints.

Invariant: equal to the mean over pairs of waves, one at a time. Pinned by
`tests/test_benchmark.py`.
"""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner.contrasts import Contrast, contrast_values

Floats = NDArray[np.float64]


def distances(scores: Floats) -> Floats:
    """Energy distance of two channels' response laws, by transition.

    Parameters
    ----------
    scores : ndarray of shape (transitions, waves, 2, 2)
        Before and after, in the first channel and the second; two waves or more; NaN where
        incomplete.

    Returns
    -------
    ndarray of shape (transitions,)
        Native units; can be below zero, as retry noise is subtracted. NaN unless all is complete.

    Examples
    --------
    >>> scores = np.zeros((1, 2, 2, 2))
    >>> scores[..., 1] = 3.0
    >>> distances(scores).tolist()
    [6.0]
    """
    first, second = scores[..., 0], scores[..., 1]
    waves = scores.shape[1]
    across = _apart(first, second).mean(axis=(1, 2))
    within = sum(_apart(of, of).sum(axis=(1, 2)) for of in (first, second))
    return np.asarray((2 * across - within / (waves * (waves - 1))).mean(axis=1))


def of_waves(by_wave: Sequence[xr.DataArray], both: Contrast) -> Floats:
    """The same, of the two endpoint shifts that a contrast consists of.

    Parameters
    ----------
    by_wave : sequence of DataArray with dims (transition, the factors)
        The cells in each wave.
    both : Contrast
        Of an endpoint shift after and one before.
    """
    ends = [[shift.parts[side] for side in (0, 1)] for shift in both.parts]
    scores = [
        [[contrast_values(cells, end).values for end in shift] for shift in ends]
        for cells in by_wave
    ]
    return distances(np.moveaxis(np.array(scores), 3, 0))


def _apart(first: Floats, second: Floats) -> Floats:
    """Distances of each wave from each: (transitions, waves, waves, states)."""
    return np.abs(first[:, :, None] - second[:, None, :])
