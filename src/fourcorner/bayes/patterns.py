"""What cells that are missing in patterns tell of their strata's means.

A unit of stratum g has effects of covariance V_g = s_g² Σ + N, N the diagonal retry noise. Units
alike in stratum and in the cells that they miss are one group p: its count, mean and scatter are
sufficient. With P = V_g⁻¹ and R the basis (effects η are cells η R), what a group's observed cells
tell of their stratum's mean is n_p Π_p,

    Π_p = P − F_p F_pᵀ,   F_p = P R_M C⁻ᵀ,   C Cᵀ = R_Mᵀ P R_M,

R_M the columns of the missing cells. That integrates the missing cells out: none is sampled, and
what stands in their place does not matter, since Π_p R_M = 0.

Invariant: the density does not depend on what stands in a missing cell, and its cost not on the
number of units in a group. Pinned by `tests/test_patterns.py`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fourcorner.bayes.matrices import add, add_to_diagonal, dot, inverse_of

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

LOG_TWO_PI = float(np.log(2 * np.pi))


class Told(NamedTuple):
    """What the observed cells of each stratum tell, given the covariance of its units.

    Attributes
    ----------
    precision : ndarray of shape (strata, effects, effects)
        P.
    information : ndarray of shape (strata, effects, effects)
        J_g, the sum of n_p Π_p.
    score : ndarray of shape (strata, effects)
        The sum of n_p Π_p m_p, m_p the group's mean less the prior location.
    fills : ndarray of shape (missing cells, effects)
        Rows of every F_pᵀ, group after group.
    spun : ndarray of shape (missing cells, effects)
        Rows of every F_pᵀ S_p, S_p the group's scatter.
    ends : ndarray of int, shape (strata + 1, 2)
        Where each stratum's groups and rows of `fills` begin.
    value : float
        Log density of the observed cells at means equal to the prior location.
    """

    precision: Floats
    information: Floats
    score: Floats
    fills: Floats
    spun: Floats
    ends: Whole
    value: float


@njit(error_model="numpy")
def fill_rows(moved: Floats, cells: Floats, missing: Whole, rows: Floats) -> Floats:
    """Write the rows of F_pᵀ of a stratum's groups; log det C Cᵀ of each: shape (groups,).

    `moved` is Rᵀ P and `cells` is Rᵀ, both of shape (cells, effects). Row by row, a missing cell's
    row of Rᵀ P loses what the rows before hold of it.
    """
    log_det = np.zeros(len(missing))
    at = 0
    for group in range(len(missing)):
        first = at
        for cell in range(missing.shape[1]):
            if missing[group, cell]:
                row = rows[at]
                row[:] = moved[cell]
                for before in range(first, at):
                    add(row, rows[before], -dot(cells[cell], rows[before]))
                square = dot(cells[cell], row)
                add(row, row, 1 / np.sqrt(square) - 1)
                log_det[group] += np.log(square)
                at += 1
    return log_det


@njit(error_model="numpy")
def told(
    sigma: Floats,
    variance: Floats,
    noise: Floats,
    stratum: Whole,
    count: Floats,
    off: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
    cells: Floats,
) -> Told:
    """What the observed cells tell of the strata's means.

    Parameters
    ----------
    sigma : ndarray of shape (effects, effects)
        Σ.
    variance : ndarray of shape (strata,)
        s².
    noise : ndarray of shape (effects,)
        Diagonal of N.
    stratum : ndarray of int, shape (groups,)
        Ascending.
    count : ndarray of shape (groups,)
    off : ndarray of shape (groups, effects)
        The groups' means less the prior location, missing cells filled in somehow.
    scatter : ndarray of shape (scatters, effects, effects)
    place : ndarray of int, shape (groups,)
        Position of a group's scatter; -1 for a group of one unit, which has none.
    missing : ndarray of int, shape (groups, cells)
    cells : ndarray of shape (cells, effects)
        Rᵀ.
    """
    strata, size = len(variance), len(sigma)
    precision = np.empty((strata, size, size))
    information = np.empty((strata, size, size))
    score = np.empty((strata, size))
    lost = missing.sum(axis=1)
    fills = np.empty((lost.sum(), size))
    spun = np.zeros_like(fills)
    ends = np.zeros((strata + 1, 2), dtype=np.int64)
    value, each = 0.0, np.log(dot(cells[0], cells[0]))  # a row of the basis squares to that
    shared, shared_log_det = inverse_of(sigma)
    noisy = noise.any()
    for g in range(strata):
        if noisy:
            precision[g], log_det = inverse_of(add_to_diagonal(variance[g] * sigma, noise))
        else:
            precision[g] = shared / variance[g]
            log_det = shared_log_det + size * np.log(variance[g])
        a, r = ends[g]
        b = np.searchsorted(stratum, g, side="right")
        ends[g + 1, 0], ends[g + 1, 1] = b, r + lost[a:b].sum()
        rows = fills[r : ends[g + 1, 1]]
        log_dets = fill_rows(cells @ precision[g], cells, missing[a:b], rows)
        weighted = np.empty((b - a, size))
        pulled, weighted_rows = np.zeros(size), np.empty_like(rows)
        squares, units = 0.0, 0.0
        at = 0
        for p in range(a, b):
            n, held, after = count[p], place[p], at + lost[p]
            units += n
            value -= 0.5 * n * (log_det + log_dets[p - a] + each * (size - 2 * lost[p]))
            value -= 0.5 * n * (size - lost[p]) * LOG_TWO_PI
            for row in range(at, after):
                along = dot(rows[row], off[p])
                squares -= n * along**2
                for k in range(size):
                    weighted_rows[row, k] = n * rows[row, k]
                    pulled[k] -= n * along * rows[row, k]
            if held >= 0:
                squares += dot(precision[g].ravel(), scatter[held].ravel())
                if after > at:
                    spun[r + at : r + after] = rows[at:after] @ scatter[held]
                    squares -= dot(spun[r + at : r + after].ravel(), rows[at:after].ravel())
            for k in range(size):
                weighted[p - a, k] = n * off[p, k]
            at = after
        squares += dot((weighted @ precision[g]).ravel(), off[a:b].ravel())
        value -= 0.5 * squares
        information[g] = units * precision[g]
        if at:
            information[g] -= weighted_rows.T @ rows
        score[g] = precision[g] @ (np.ones(b - a) @ weighted) + pulled
    return Told(precision, information, score, fills, spun, ends, value)


@njit(error_model="numpy")
def in_covariances(
    found: Told,
    means: Floats,
    covariances: Floats,
    count: Floats,
    off: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
) -> Floats:
    """Derivative of the log density in each V_g: shape (strata, effects, effects).

    It is the derivative at given means, averaged over their posterior:
    ½ Σ_p (Π_p Q_p Π_p − n_p Π_p), Q_p a group's expected squares about its stratum's mean.
    """
    slopes = np.empty_like(found.precision)
    for g in range(len(means)):
        (a, r), (b, last) = found.ends[g], found.ends[g + 1]
        precision, rows = found.precision[g], found.fills[r:last]
        n = count[a:b]
        residual = off[a:b] - means[g]
        total = n.sum() * covariances[g] + (n.reshape(-1, 1) * residual).T @ residual
        for p in range(a, b):
            if place[p] >= 0:
                total += scatter[place[p]]
        half = 0.5 * (total @ precision)
        information = found.information[g]
        if len(rows):
            turned = rows @ covariances[g]
            doubled = squared_rows(missing[a:b], n, rows, residual, found.spun[r:last], turned)
            half -= turned.T @ rows
            information = information - rows.T @ doubled
        half = precision @ half
        slopes[g] = 0.5 * (half + half.T - information)
    return slopes


@njit(error_model="numpy")
def squared_rows(
    missing: Whole, count: Floats, rows: Floats, residual: Floats, spun: Floats, turned: Floats
) -> Floats:
    """Turn the rows F_pᵀ U of a stratum into F_pᵀ Q_p; returns the rows of F_pᵀ Q_p F_p F_pᵀ."""
    doubled = np.zeros_like(rows)
    at = 0
    for p in range(len(missing)):
        after = at + missing[p].sum()
        for row in range(at, after):
            along = count[p] * dot(rows[row], residual[p])
            for k in range(rows.shape[1]):
                turned[row, k] = count[p] * turned[row, k] + along * residual[p, k] + spun[row, k]
        for row in range(at, after):
            for other in range(at, after):
                add(doubled[row], rows[other], dot(turned[row], rows[other]))
        at = after
    return doubled
