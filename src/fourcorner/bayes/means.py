"""The strata's means integrated out of a density that is quadratic in them.

They are β + t z_g: β normal, z_g standard normal and given that the z_g sum to zero, t = τ σ. The
quadratic form is given by its information and score (see `patterns`), which may lack rank: nothing
is divided by either, nor by t.

Invariant: value and derivatives are those of the dense normal. Pinned by `tests/test_patterns.py`.
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fourcorner.bayes.matrices import dot, identity_and, inverse_of

Floats = NDArray[np.float64]


@njit(error_model="numpy")
def integrated(
    sd: Floats, common_sd: Floats, information: Floats, score: Floats
) -> tuple[float, Floats, Floats, Floats]:
    """Integrate the strata's means out.

    Parameters
    ----------
    sd : ndarray of shape (effects,)
        t, the sd of an effect between strata.
    common_sd : ndarray of shape (effects,)
        Prior sd of β.
    information : ndarray of shape (strata, effects, effects)
    score : ndarray of shape (strata, effects)

    Returns
    -------
    tuple
        What the log density gains over means at the prior location; posterior means of the
        strata's means less the prior location, and their covariances; the log density's
        derivative in t.
    """
    strata, size = score.shape
    spread = np.empty((strata, size, size))  # K_g, covariance of z_g but for the zero sum and β
    across = np.empty((strata, size, size))  # what β takes from z_g
    pulled = np.empty((strata, size))
    inner, column = np.empty((size, size)), sd.reshape(size, 1)
    total, across_total = np.zeros((size, size)), np.zeros((size, size))
    common_information, in_common = np.zeros((size, size)), np.zeros(size)
    gain = 0.5 * size * np.log(strata)
    for g in range(strata):
        identity_and(sd, information[g], sd, inner)
        spread[g], log_det = inverse_of(inner)
        turned = column * information[g]
        np.dot(spread[g], turned, across[g])
        np.dot(turned.T, across[g], inner)
        moved = sd * score[g]
        pulled[g] = spread[g] @ moved
        gain += 0.5 * (dot(moved, pulled[g]) - log_det)
        in_common += score[g] - moved @ across[g]
        total += spread[g]
        across_total += across[g]
        common_information += information[g]
        common_information -= inner
    held, log_det = inverse_of(total)  # inverse of the covariance of the sum of z
    pulled_total = np.ones(strata) @ pulled
    gain -= 0.5 * (log_det + dot(pulled_total, held @ pulled_total))
    turned = held @ across_total
    common_information += across_total.T @ turned
    in_common += pulled_total @ turned
    identity_and(common_sd, common_information, common_sd, inner)
    beta_covariance, log_det = inverse_of(inner)
    beta_covariance *= common_sd.reshape(size, 1) * common_sd
    beta = beta_covariance @ in_common
    gain += 0.5 * (dot(beta, in_common) - log_det)
    pulled_total -= across_total @ beta
    shared = spread.reshape(-1, size) @ held
    taken = across - (shared @ across_total).reshape(strata, size, size)
    shared = shared.reshape(strata, size, size)
    means, covariances = np.empty((strata, size)), np.empty((strata, size, size))
    in_sd = np.zeros(size)
    own, with_z = np.empty((size, size)), np.empty((size, size))
    for g in range(strata):
        z = pulled[g] - across[g] @ beta - shared[g] @ pulled_total
        means[g] = beta + sd * z
        identity_and(-sd, taken[g], np.ones(size), inner)
        np.dot(inner, beta_covariance, turned)
        np.dot(turned, inner.T, covariances[g])
        np.dot(turned, taken[g].T, with_z)
        np.dot(shared[g], spread[g], own)
        own -= spread[g]
        in_sd += (score[g] - information[g] @ means[g]) * z
        moments(sd, own, with_z, information[g], covariances[g], in_sd)
    return gain, means, covariances, in_sd


@njit(error_model="numpy")
def moments(
    sd: Floats, less: Floats, with_z: Floats, information: Floats, covariance: Floats, in_sd: Floats
) -> None:
    """Add to a stratum's covariance and to the derivatives in t what z_g given β brings.

    `less` is minus the covariance of z_g given β, `with_z` that of its mean with z_g through β.
    """
    for i in range(len(sd)):
        for j in range(len(sd)):
            left = -sd[i] * less[i, j]
            covariance[i, j] += left * sd[j]
            in_sd[j] -= information[j, i] * (left - with_z[i, j])
