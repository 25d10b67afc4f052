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
from fourcorner.bayes.mixtures import complete_cases, complete_shares, stratum_values
from fourcorner.bayes.tree import fitted_strata, group, observed
from fourcorner.contrasts import Contrast, contrast_values
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

SKEWED = 0.5  # a skewness that is said


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


def difference_variance(
    tree: xr.DataTree, contrast: Contrast, mixture: TargetWeights
) -> tuple[float, str]:
    """V_T − V_post, V_post being the variance of the posterior draws, and what to say of it.

    Where V_post is not below V_T, what the two have in common is not told apart from error, and
    V_T stands in: the larger number, so the smaller z.
    """
    sampling = design_variance(tree, contrast, mixture)
    posterior = float(
        (stratum_values(tree, contrast) @ complete_shares(tree, contrast, mixture)).var(ddof=1)
    )
    if posterior < sampling:
        return sampling - posterior, ""
    return sampling, (
        f"; the posterior variance is {posterior / sampling:.2f} of the bootstrap's, which is "
        f"used as it is"
    )


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
