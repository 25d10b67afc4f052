"""Each unit's own gains, where retry noise is measured: what its scores would be without it.

A unit's measured cells are its own about its stratum's mean plus retry noise. Given a draw of the
parameters its own are normal: pulled from what was measured towards the stratum, the more the
louder the noise. Without waves there is nothing to take away, and a unit's gain is the measured
one.

Invariant: the same mean and variance as conditioning the joint normal of own and measured cells.
Pinned by `tests/test_flips.py`.
"""

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.special import ndtr

from fourcorner import names
from fourcorner.bayes.flips import two_gains
from fourcorner.bayes.orthants import opposite
from fourcorner.bayes.tree import basis_rows, by_transition, factors, fitted_strata, group, observed
from fourcorner.bayes.variances import variances
from fourcorner.contrasts import Contrast
from fourcorner.errors import NotAvailable

Floats = NDArray[np.float64]

DRAWS = 500  # evenly thinned: what is averaged over them is smooth


def latent(tree: xr.DataTree, contrast: Contrast, level: float) -> pd.DataFrame:
    """Posterior of each unit's own contrast.

    Parameters
    ----------
    tree : DataTree
        Of a cell model with retry noise.
    contrast : Contrast
    level : float

    Returns
    -------
    pandas.DataFrame
        One row for each unit of the fit: ``unit``, ``stratum`` (where there are any), ``measured``
        (missing where the unit lacks a cell of the contrast), posterior ``mean`` and ``sd``,
        ``lower``, ``upper``, ``below_zero`` and, of a difference of two gains, ``flip``: the
        probability that the unit's own two gains lie on opposite sides of zero.

    Raises
    ------
    NotAvailable
        If the fit has no retry noise.
    """
    if by_transition(tree) or names.VAR_RETRY_SD not in group(tree, names.POSTERIOR):
        raise NotAvailable(
            "retry noise is not part of this fit, so a unit's gain is the one that was measured: "
            "declare waves ([data] replicate) for the normal family, which tells the two apart"
        )
    parts = two_gains(contrast) or ()
    levels = factors(tree)
    levers = np.stack([one.array(levels).values.ravel() for one in (contrast, *parts)])
    mean, covariance = _own(tree, levers)
    flat, codes = observed(tree)
    used = levers[0] != 0
    whole = np.isfinite(flat[:, used]).all(axis=1)
    sums = np.where(whole, np.where(np.isfinite(flat), flat, 0.0) @ levers[0], np.nan)
    table = pd.DataFrame({"unit": group(tree, names.OBSERVED_DATA)[names.UNIT].values.astype(str)})
    if fitted_strata(tree) != [""]:
        table["stratum"] = np.array(fitted_strata(tree))[codes]
    value, sd = mean[:, :, 0], np.sqrt(covariance[:, :, 0, 0])
    table["measured"] = sums
    table["mean"] = value.mean(axis=0)
    table["sd"] = np.sqrt((sd**2).mean(axis=0) + value.var(axis=0))
    generator = np.random.default_rng([int(tree.attrs["seed"]), 8])
    drawn = value + sd * generator.standard_normal(value.shape)
    tail = (1 - level) / 2
    table["lower"], table["upper"] = np.quantile(drawn, [tail, 1 - tail], axis=0)
    table["below_zero"] = ndtr(-value / sd).mean(axis=0)
    if parts:
        flips = opposite(mean[:, :, 1:], covariance[:, :, 1:, 1:])
        table["flip"] = flips.sum(axis=-1).mean(axis=0)
    return table


def _own(tree: xr.DataTree, levers: Floats) -> tuple[Floats, Floats]:
    """Mean and covariance of contrasts of units' own cells given a draw and their scores.

    Returns
    -------
    tuple of ndarray of shape (draws, units, contrasts) and (draws, units, contrasts, contrasts)
    """
    posterior = group(tree, names.POSTERIOR)
    total = posterior.sizes[names.CHAIN] * posterior.sizes[names.DRAW]
    kept = np.linspace(0, total - 1, min(DRAWS, total)).round().astype(int)
    given = variances(posterior, group(tree, names.CONSTANT_DATA))
    rows = basis_rows(tree)
    flat, codes = observed(tree)
    centre = posterior[names.VAR_CELL_MEAN].values.reshape(total, -1, rows.shape[1])[kept]
    noise = np.einsum("kc,dk,ke->dce", rows, given.noise[kept], rows)
    unit = np.einsum("kc,dkl,le->dce", rows, given.unit[kept], rows)
    mean = np.empty((len(kept), len(flat), len(levers)))
    covariance = np.empty((*mean.shape, len(levers)))
    pattern, member = np.unique(
        np.column_stack([codes, np.isfinite(flat)]), axis=0, return_inverse=True
    )
    for place, row in enumerate(pattern):
        mine = np.flatnonzero(member.ravel() == place)
        stratum, seen = int(row[0]), row[1:].astype(bool)
        own = given.scale[kept, stratum][:, None, None] * unit
        pulled = levers @ own[:, :, seen]
        spread = (own + noise)[:, seen][:, :, seen]
        gain = np.linalg.solve(spread, pulled.swapaxes(1, 2)).swapaxes(1, 2)
        off = flat[mine][:, seen] - centre[:, None, stratum, seen]
        mean[:, mine] = (centre[:, stratum] @ levers.T)[:, None] + off @ gain.swapaxes(1, 2)
        left = levers @ own @ levers.T - gain @ pulled.swapaxes(1, 2)
        covariance[:, mine] = left[:, None]
    return mean, covariance
