"""Which interactions with the change a design can tell of: its faces, and their missing corners.

A face of some channel factors crosses the change with two levels of each of them, everything else
fixed. One whose corners were all measured identifies its interaction; if none is complete nothing
is known of that interaction without assumptions.

Invariant: a face counts as complete exactly where its interaction is identified from unrestricted
cell means. Pinned by `tests/test_crossed.py`.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names

Mask = NDArray[np.bool_]


class Crossing(NamedTuple):
    """Faces of the change with some channel factors.

    Attributes
    ----------
    factors : tuple of str
        None for the gain itself.
    complete, possible : int
        Faces whose corners were all measured, and all that the declared levels have.
    missing : list of dict of factor to level
        Cells that nobody measured in faces of these factors; only where none is complete.
    linked : bool
        Whether all corners of a face are on one scale.
    """

    factors: tuple[str, ...]
    complete: int
    possible: int
    missing: list[dict[str, str]]
    linked: bool


def crossings(
    observed: xr.DataArray, scale_factors: Sequence[str] = (), most: int = 3
) -> list[Crossing]:
    """Faces by the channel factors that they cross with the change.

    Parameters
    ----------
    observed : DataArray of bool with a dim for the change and one for each channel factor
        Which cells anybody measured.
    scale_factors : sequence of str
        Factors whose levels live on scales that nothing links.
    most : int
        Factors that are crossed at a time.

    Returns
    -------
    list of Crossing
        The gain first, then each factor, each two of them, and so on; of factors with two levels
        or more.

    Examples
    --------
    >>> corners = np.array([[True, True], [True, False]])
    >>> levels = {"state": ["before", "after"], "view": ["a", "b"]}
    >>> gain, view = crossings(xr.DataArray(corners, dims=["state", "view"], coords=levels))
    >>> gain.complete, view.complete, view.missing
    (1, 0, [{'state': 'after', 'view': 'b'}])
    """
    channel = [str(dim) for dim in observed.dims if dim != names.STATE]
    several = [factor for factor in channel if observed.sizes[factor] > 1]
    both = observed.all(names.STATE).transpose(*channel).values
    return [
        _crossing(observed, both, channel, factors, scale_factors)
        for size in range(min(most, len(several)) + 1)
        for factors in combinations(several, size)
    ]


def _crossing(
    observed: xr.DataArray,
    both: Mask,
    channel: Sequence[str],
    factors: tuple[str, ...],
    scale_factors: Sequence[str],
) -> Crossing:
    faces = both
    for factor in factors:
        axis = channel.index(factor)
        first, second = np.triu_indices(both.shape[axis], 1)
        faces = faces.take(first, axis) & faces.take(second, axis)
    complete = int(faces.sum())
    missing = [] if complete else list(_unmeasured(observed))
    linked = not set(factors) & set(scale_factors)
    return Crossing(factors, complete, faces.size, missing, linked)


def _unmeasured(observed: xr.DataArray) -> Iterator[dict[str, str]]:
    for place in np.argwhere(~observed.values):
        yield {
            str(dim): str(observed[dim].values[at])
            for dim, at in zip(observed.dims, place, strict=True)
        }
