"""What the transition model needs of the scores, and why it does not apply to some.

Invariant: every unit with a measured endpoint counts, with all of its transitions; what is missing
never enters. Pinned by `tests/test_transitions.py`.
"""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names, scores
from fourcorner.bayes.incomplete import Groups
from fourcorner.bayes.retry import sessions
from fourcorner.bayes.transitions.chains import Chains, linked, undetermined
from fourcorner.bayes.transitions.model import Endpoints
from fourcorner.errors import NotAvailable
from fourcorner.spec import ModelSpec

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # relative


def fitted_cells(data: xr.Dataset, model: ModelSpec) -> xr.DataArray:
    """Cells of the fit's waves, of all transitions of units with a measured endpoint.

    Returns
    -------
    DataArray with dims (transition, state, channels)

    Raises
    ------
    NotAvailable
        If there is no change, nothing was measured, one unit was, channels live on unlinked
        scales, or the waves are of several sessions.
    """
    cells = scores.cells(data, model.wave or ())
    if names.STATE not in cells.dims:
        raise NotAvailable("nothing is modelled without a [data] change")
    if scores.scale_factors(data):
        msg = (
            "the transition model has one scale of scores, and [data] scale names several; "
            "`fourcorner estimate` keeps them apart"
        )
        raise NotAvailable(msg)
    _require_one_session(data, model)
    seen = np.isfinite(cells.values).any(axis=tuple(range(1, cells.ndim)))
    units = cells[names.UNIT].values
    measured = np.unique(units[seen])
    if len(measured) < 2:
        found = f"one unit ({str(measured[0])!r})" if len(measured) else "no unit"
        raise NotAvailable(f"{found} has a measured endpoint; the transition model needs two")
    return cells[np.isin(units, measured)]


def _require_one_session(data: xr.Dataset, model: ModelSpec) -> None:
    waves = scores.waves(data)
    if not waves:
        return
    chosen = model.wave or tuple(waves)
    labels = dict(zip(waves, sessions(data).tolist(), strict=True))
    found = sorted({labels[wave] for wave in chosen})
    if len(found) > 1:
        msg = (
            f"the waves {', '.join(chosen)} are of {len(found)} sessions ({', '.join(found)}), "
            f"which are no retries of each other; name waves of one with [model] wave"
        )
        raise NotAvailable(msg)


def prepared(cells: xr.DataArray, step: str | None) -> tuple[Endpoints, NDArray[np.int64]]:
    """Endpoints of `fitted_cells`, and the position of each unit's stratum.

    Raises
    ------
    NotAvailable
        If endpoints make no chains, the scores do not vary, or a level or step is left open by all
        that was observed.
    """
    chains = linked(cells, step)
    labels, stratum = unit_strata(cells, chains)
    found = chains.endpoints(cells)
    channels = channel_labels(cells)
    location, scale = _location_and_scale(found, stratum)
    groups = chains.groups(found, stratum, len(labels))
    units = np.bincount(stratum, minlength=len(labels)).astype(float)
    data = Endpoints(chains, groups, labels, units, channels, location, scale)
    loose = undetermined(squares(data).sum(axis=0), chains.moves, channels)
    if loose:
        msg = (
            f"the observed endpoints leave open {', '.join(loose)}; every level and step of the "
            f"transition model needs endpoints that were measured in full"
        )
        raise NotAvailable(msg)
    return data, stratum


def unit_strata(cells: xr.DataArray, chains: Chains) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Strata in text order, and the position of each unit's."""
    if names.STRATUM not in cells.coords:
        return ("",), np.zeros(len(chains.units), dtype=np.int64)
    first = np.unique(chains.unit, return_index=True)[1]
    labels, stratum = np.unique(cells[names.STRATUM].values[first].astype(str), return_inverse=True)
    return tuple(labels.tolist()), stratum


def channel_labels(cells: xr.DataArray) -> tuple[str, ...]:
    """A label of each channel cell, such as ``direct`` or ``direct, neutral``."""
    dims = cells.dims[2:]
    places = np.ndindex(cells.shape[2:])
    return tuple(
        ", ".join(str(cells[dim].values[i]) for dim, i in zip(dims, place, strict=True))
        for place in places
    )


def squares(data: Endpoints) -> Floats:
    """Sums of squares and products of observed rows of X by stratum.

    Returns
    -------
    ndarray of shape (strata, moves × channels, moves × channels)
    """
    channels, strata = len(data.channels), len(data.strata)
    moves = len(data.chains.moves)
    found = np.zeros((strata, moves, channels, moves, channels))
    groups: Groups = data.groups
    for code, lost, count in zip(groups.stratum, groups.missing, groups.count, strict=True):
        template, stratum = divmod(int(code), strata)
        there = (1 - lost).reshape(-1, channels) * (data.chains.chain[template] >= 0)[:, None]
        rows = data.chains.design[template]
        for k in range(channels):
            found[stratum, :, k, :, k] += count * rows.T @ (there[:, k : k + 1] * rows)
    return found.reshape(strata, moves * channels, moves * channels)


def _location_and_scale(found: Floats, stratum: NDArray[np.int64]) -> tuple[float, float]:
    """Mean of the channels' means, and pooled sd of a channel about its stratum's mean."""
    seen = np.isfinite(found)
    number = seen.sum(axis=(0, 1))
    total = np.where(seen, found, 0.0).sum(axis=(0, 1))
    location = float((total[number > 0] / number[number > 0]).mean())
    off, degrees = 0.0, 0
    for code in np.unique(stratum):
        part, there = found[stratum == code], seen[stratum == code]
        count = there.sum(axis=(0, 1))
        mean = np.where(there, part, 0.0).sum(axis=(0, 1)) / np.maximum(count, 1)
        off += float((np.where(there, part - mean, 0.0) ** 2).sum())
        degrees += int(np.maximum(count - 1, 0).sum())
    scale = float(np.sqrt(off / max(degrees, 1)))
    if scale <= ROUNDING * np.abs(np.where(seen, found, 0.0)).max():
        raise NotAvailable("the scores do not vary, so there is nothing to model")
    return location, scale


def rebuilt(groups: Mapping[str, xr.Dataset]) -> tuple[Endpoints, NDArray[np.int64]]:
    """The endpoints of a fit, from the groups of its tree."""
    from fourcorner.bayes.transitions.chains import of_constants

    held = groups[names.CONSTANT_DATA]
    cells = groups[names.OBSERVED_DATA][names.CELLS]
    chains = of_constants(held)
    labels, stratum = unit_strata(cells, chains)
    found = chains.endpoints(cells)
    units = np.bincount(stratum, minlength=len(labels)).astype(float)
    of = chains.groups(found, stratum, len(labels))
    return Endpoints(chains, of, labels, units, channel_labels(cells), 0.0, 1.0), stratum
