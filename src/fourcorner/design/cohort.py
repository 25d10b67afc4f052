"""The cohort of a design estimate: transitions with the codes that resampling needs.

Invariant: units and strata are coded by name, so the order of rows never matters; cells are
reduced from the scores for the waves that an estimand names. Pinned by `tests/test_design.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.errors import OptionError

COHORTS = (names.COHORT_CONTRAST, names.COHORT_JOINT, names.COHORT_OBSERVED)
IDS = (names.UNIT, names.TRANSITION_ID, names.TRANSITION)


@dataclass(frozen=True)
class Sample:
    """Scores of a cohort with its unit and stratum codes.

    Attributes
    ----------
    scores : Dataset
        The cohort's transitions.
    unit : ndarray of shape (transitions,)
    stratum : ndarray of shape (units,)
    units : int
    strata : tuple of str
        Every stratum of the data, whether or not a unit of the cohort is in it.
    cohort : str
    levels : mapping of attribute to levels
        Of the whole table, as texts; the stratum is among them.
    """

    scores: xr.Dataset
    unit: NDArray[np.int64]
    stratum: NDArray[np.int64]
    units: int
    strata: tuple[str, ...]
    cohort: str
    levels: Mapping[str, tuple[str, ...]]
    _cells: dict[tuple[str, ...], xr.DataArray] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def cells(self, wave: tuple[str, ...] = ()) -> xr.DataArray:
        """Cells reduced over the replicates, of all waves or some: (transition, state, channels).

        They are kept: nobody may change them.

        Raises
        ------
        OptionError
            If the scores have no such wave.
        """
        if wave not in self._cells:
            self._cells[wave] = scores.cells(self._margins, wave)
        return self._cells[wave]

    @cached_property
    def _margins(self) -> xr.Dataset:
        """The scores with options reduced, once for all waves."""
        return scores.as_margins(self.scores)


def sample(data: xr.Dataset, cohort: str = names.COHORT_CONTRAST) -> Sample:
    """Take a cohort of a scores Dataset.

    Parameters
    ----------
    data : Dataset
        As `fourcorner.read_scores` returns it.
    cohort : {"contrast", "joint", "observed"}
        All transitions, of which each contrast takes those that it finds complete (``contrast``;
        ``observed`` names the same rows beside a fit of all units), or those that are complete in
        every cell.

    Returns
    -------
    Sample

    Raises
    ------
    OptionError
        If there is no such cohort.
    """
    if cohort not in COHORTS:
        raise OptionError(f"cohort = {cohort!r}: expected one of {', '.join(map(repr, COHORTS))}")
    levels = {name: _levels(data, name) for name in _attributes(data)}
    strata = scores.strata(data)
    if cohort == names.COHORT_JOINT:
        data = data.isel({names.TRANSITION: scores.joint(scores.cells(data))})
    labels, first, unit = np.unique(data[names.UNIT].values, return_index=True, return_inverse=True)
    stratum = np.zeros(len(labels), dtype=np.int64)
    if names.STRATUM in data.coords:
        stratum = np.searchsorted(strata, data[names.STRATUM].values[first])
    return Sample(data, unit, stratum, len(labels), tuple(strata), cohort, levels)


def _attributes(data: xr.Dataset) -> list[str]:
    """Coordinates that hold a text for each transition, its ids aside."""
    return [
        str(name)
        for name, values in data.coords.items()
        if values.dims == (names.TRANSITION,) and name not in IDS and values.dtype.kind in "UOT"
    ]


def _levels(data: xr.Dataset, name: str) -> tuple[str, ...]:
    return tuple(sorted(set(map(str, data[name].values.tolist()))))
