"""The sampling variance of a design estimate from the cohort itself, where the model has none.

With heavy tails the model's own variance of a unit rests on how it extrapolates them. The bootstrap
within strata asks the units instead. Of a mean in fixed strata its variance is known without a
draw: Σ w_g² s_g² / n_g, where s_g² has the divisor n_g − 1, which is what the rescaled draws have.

Invariant: equal to the variance of rescaled bootstrap draws as their number grows. Pinned by
`tests/test_student.py`.
"""

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.bayes.mixtures import complete_cases, complete_shares, loading, stratum_values
from fourcorner.bayes.tree import fitted_strata, group, observed
from fourcorner.bayes.variances import posterior_covariances, prior_covariances, variances
from fourcorner.checks import jackknife
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

SKEWED = 0.5  # a skewness that is said
THIN = 8  # every eighth draw of the variance parameters is plenty for an average


def asked_for(tree: xr.DataTree) -> bool:
    """Whether the family of a fit leaves the sampling variance to the bootstrap."""
    return tree.attrs.get("sampling_variance", names.BY_MODEL) == names.BY_BOOTSTRAP


def impossible(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> str | None:
    """Why there is no such variance, in words; None if there is one."""
    few = (complete_shares(tree, contrast, mixture) > 0) & (
        complete_cases(tree, contrast).count < 2
    )
    if not few.any():
        return None
    listed = [name for name, lone in zip(fitted_strata(tree), few, strict=True) if lone]
    return (
        f"the bootstrap sees no spread in a stratum of one unit ({', '.join(listed)}), and the "
        f"model's own sampling variance is not to be trusted"
    )


def design_variance(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> float:
    """V_T: the bootstrap variance within strata of the design estimate on the fit's cohort."""
    shares, cases = complete_shares(tree, contrast, mixture), complete_cases(tree, contrast)
    off, codes = _residuals(tree, contrast)
    squares = np.bincount(codes, off**2, minlength=len(shares))
    needed = shares > 0
    count = cases.count[needed]
    return float((shares[needed] ** 2 * squares[needed] / (count - 1) / count).sum())


def degrees(tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights) -> float:
    """Degrees of freedom of V_T, by Satterthwaite: few units tell little of their own spread."""
    shares, cases = complete_shares(tree, contrast, mixture), complete_cases(tree, contrast)
    off, codes = _residuals(tree, contrast)
    squares = np.bincount(codes, off**2, minlength=len(shares))
    needed = (shares > 0) & (squares > 0)
    count = cases.count[needed]
    parts = shares[needed] ** 2 * squares[needed] / (count - 1) / count
    return float(parts.sum() ** 2 / (parts**2 / (count - 1)).sum())


def difference_variance(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights
) -> tuple[float, str]:
    """V_T − V_post, and what to say of it.

    V_post is that given the variance parameters where the family has it in closed form, else the
    variance of the posterior draws. The two variances come from different sources, so their
    difference can come out too small or below zero; it is held to no less than the units
    themselves make the two estimates differ by, or, where that is not known, to V_T.
    """
    shares = complete_shares(tree, contrast, mixture)
    sampling = design_variance(tree, contrast, mixture)
    draws = stratum_values(tree, contrast) @ shares
    given = _of_tails(tree, contrast, shares)
    posterior = float(draws.var(ddof=1)) if given is None else given
    least = _by_units(tree, contrast, mixture, draws)
    said = (
        ""
        if posterior < sampling
        else (f"; the posterior variance is {posterior / sampling:.2f} of the bootstrap's")
    )
    if least is not None:
        return max(sampling - posterior, least), said
    return (sampling - posterior, "") if posterior < sampling else (sampling, said)


def _of_tails(tree: xr.DataTree, contrast: Contrast, shares: Floats) -> float | None:
    """V_post of a t given its variance parameters, averaged over draws; None of another family.

    A unit of a K-variate t tells (ν + K) / (ν + K + 2) of what a normal of its scale would.
    """
    constants = group(tree, names.CONSTANT_DATA)
    thin = group(tree, names.POSTERIOR).isel({names.DRAW: slice(None, None, THIN)})
    if names.VAR_DEGREES not in thin:
        return None
    given = variances(thin, constants)
    size = given.unit.shape[1]
    told = (given.degrees + size) / (given.degrees + size + 2)
    known = np.linalg.inv(given.spread) * told[:, None, None, None]
    known *= constants[names.VAR_UNITS].values[:, None, None]
    prior = prior_covariances(given, constants[names.VAR_PRIOR_VARIANCE].values)
    lever = np.multiply.outer(shares, loading(tree, contrast)).ravel()
    covariances = posterior_covariances(prior, known)
    return float(((lever @ covariances) @ lever).mean())


def _by_units(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights, draws: Floats
) -> float | None:
    """How much units make the design estimate and the posterior mean differ, or None."""
    moved = jackknife.influence(tree, draws)
    values = contrast_values(group(tree, names.OBSERVED_DATA)[names.CELLS], contrast).values
    if moved is None or not np.isfinite(values).all():
        return None
    shares, cases = complete_shares(tree, contrast, mixture), complete_cases(tree, contrast)
    off, codes = _residuals(tree, contrast)
    return jackknife.variance(off * (shares / np.maximum(cases.count, 1))[codes] - moved, codes)


def why_apart(tree: xr.DataTree, contrast: Contrast, gap: float) -> str | None:
    """Why a mean lies `gap` from the location, in words; None where the units do not say.

    Parameters
    ----------
    tree : DataTree
    contrast : Contrast
    gap : float
        Design estimate less posterior mean.
    """
    off, codes = _residuals(tree, contrast)
    inside = np.bincount(codes, off**2) / np.bincount(codes)
    scaled = off / np.sqrt(np.where(inside > 0, inside, 1.0))[codes]
    skewness = float((scaled**3).mean())
    if abs(skewness) < SKEWED or skewness * gap <= 0:
        return None
    side = "above" if gap > 0 else "below"
    return (
        f"the units are skewed (skewness {skewness:+.1f}): the family's location is pulled to the "
        f"bulk, and their mean lies {side} it, on the side of the long tail; take means from the "
        f"design estimate or the {names.NORMAL} family"
    )


def _residuals(tree: xr.DataTree, contrast: Contrast) -> tuple[Floats, NDArray[np.int64]]:
    """A contrast of the units that have its cells less the mean of their stratum, and strata."""
    _, codes = observed(tree)
    values = contrast_values(group(tree, names.OBSERVED_DATA)[names.CELLS], contrast).values
    complete = np.isfinite(values)
    inside = codes[complete]
    return values[complete] - complete_cases(tree, contrast).mean[inside], inside
