"""Density of endpoints given the variance parameters, with its derivatives.

An endpoint of a unit in each channel is its expectation, plus an effect of the unit, plus noise of
which a part lasts:

    Cov(y_ek, y_fl) = U_kl + ρ_ef A_kl + [e = f] W_kl,   ρ_ef = exp(−Σ d of the steps between),

ρ being zero between chains. Units of one template share one inverse covariance Q. A unit that lacks
cells m has the precision Q − Q_·m (Q_mm)⁻¹ Q_m·, so patterns of missing cells cost little each.
Expectations are X b_g, linear in levels and steps b_g of the unit's stratum, Gaussian and
integrated out (see `fourcorner.bayes.means`). Derivatives are those of the complete-data density,
averaged over b given the data (Fisher's identity).

Invariant: value and derivatives are those of the dense normal of all observed endpoints. Pinned by
`tests/test_transitions.py` against `scipy.stats.multivariate_normal` and finite differences.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pytensor.link.numba.dispatch.basic import register_funcify_default_op_cache_key

from fourcorner.bayes import matrices, means
from fourcorner.bayes.matrices import add, dot, inverse_of
from fourcorner.bayes.means import integrated
from fourcorner.bayes.op import ClosedForm, version

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Graph = Any  # a PyTensor variable; numpy arrays do as well

LOG_2_PI = float(np.log(2 * np.pi))


def log_density(*inputs: Graph) -> Graph:
    """The value alone of `EndpointsIntegratedOut`, differentiable in the first five inputs."""
    return EndpointsIntegratedOut()(*inputs)[0]


@njit(error_model="numpy")
def correlations(lasting: Floats, design: Floats, chain: Whole, size: int) -> Floats:
    """How much of the noise that lasts two endpoints of a template share: shape (size, size)."""
    levels = design.shape[1] - len(lasting)
    found = np.zeros((size, size))
    for e in range(size):
        for f in range(size):
            if chain[e] == chain[f]:
                far = 0.0
                for s in range(len(lasting)):
                    far += lasting[s] * abs(design[e, levels + s] - design[f, levels + s])
                found[e, f] = np.exp(-far)
    return found


@njit(error_model="numpy")
def covariance(unit: Floats, slow: Floats, white: Floats, shared: Floats) -> Floats:
    """Covariance of a template's endpoints, channels fastest."""
    size, channels = len(shared), len(unit)
    found = np.empty((size * channels, size * channels))
    for e in range(size):
        for f in range(size):
            for k in range(channels):
                for m in range(channels):
                    value = unit[k, m] + shared[e, f] * slow[k, m]
                    found[e * channels + k, f * channels + m] = value + (e == f) * white[k, m]
    return found


@njit(error_model="numpy")
def spread(design: Floats, size: int, channels: int) -> Floats:
    """X of a template: shape (size × channels, moves × channels)."""
    moves = design.shape[1]
    found = np.zeros((size * channels, moves * channels))
    for e in range(size):
        for p in range(moves):
            for k in range(channels):
                found[e * channels + k, p * channels + k] = design[e, p]
    return found


@njit(error_model="numpy")
def fill(precision: Floats, lost: Whole) -> tuple[Floats, Floats, float]:
    """(Q_mm)⁻¹, (Q_mm)⁻¹ Q_m· and log |Q_mm|."""
    within = np.empty((len(lost), len(lost)))
    rows = np.empty((len(lost), len(precision)))
    for i in range(len(lost)):
        rows[i] = precision[lost[i]]
        for j in range(len(lost)):
            within[i, j] = precision[lost[i], lost[j]]
    inverse, log_det = inverse_of(within)
    return inverse, inverse @ rows, log_det


@njit(error_model="numpy")
def told(
    unit: Floats,
    slow: Floats,
    white: Floats,
    lasting: Floats,
    design: Floats,
    chain: Whole,
    size: Whole,
    code: Whole,
    count: Floats,
    mean: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
    centre: Floats,
    strata: int,
) -> tuple[float, Floats, Floats]:
    """What observed endpoints tell of levels and steps.

    Parameters
    ----------
    unit, slow, white : ndarray of shape (channels, channels)
        U, A and W.
    lasting : ndarray of shape (steps,)
        d, by kind of step.
    design, chain, size
        Of each template, see `fourcorner.bayes.transitions.chains.Chains`.
    code, count, mean, scatter, place, missing
        Of each group, see `Chains.groups`.
    centre : ndarray of shape (moves × channels,)
        Point that levels and steps are measured from.
    strata : int

    Returns
    -------
    tuple
        Log density at the centre; information, of shape (strata, moves × channels, the same); and
        score, of shape (strata, moves × channels).
    """
    channels = len(unit)
    values = len(centre)
    known, score = np.zeros((strata, values, values)), np.zeros((strata, values))
    total = 0.0
    for t in range(len(design)):
        inside = size[t] * channels
        shared = correlations(lasting, design[t], chain[t], size[t])
        precision, log_det = inverse_of(covariance(unit, slow, white, shared))
        across = spread(design[t], size[t], channels)
        turned = precision @ across
        whole = across.T @ turned
        expected = across @ centre
        units, pulled = np.zeros(strata), np.zeros((strata, inside))
        for p in range(len(code)):
            if code[p] // strata != t:
                continue
            g, times = code[p] % strata, count[p]
            lost = np.flatnonzero(missing[p, :inside])
            off = about(mean[p], expected, lost)
            seen = precision @ off
            units[g] += times
            within = -1.0 if place[p] < 0 else trace(precision, scatter[place[p]])
            total -= 0.5 * times * ((inside - len(lost)) * LOG_2_PI + log_det)
            total -= 0.5 * max(within, 0.0)
            if len(lost):
                inverse, filled, lost_det = fill(precision, lost)
                total -= 0.5 * times * lost_det
                lose(known[g], turned, lost, inverse, times)
                for i in range(len(lost)):
                    add(seen, filled[i], -dot(precision[lost[i]], off))
                    if place[p] >= 0:
                        total += 0.5 * product(precision[lost[i]], scatter[place[p]], filled[i])
            total -= 0.5 * times * dot(off, seen)
            add(pulled[g], seen, times)
        for g in range(strata):
            score[g] += across.T @ pulled[g]
            for i in range(values):
                add(known[g, i], whole[i], units[g])
    return total, known, score


@njit(error_model="numpy")
def about(mean: Floats, expected: Floats, lost: Whole) -> Floats:
    """Deviations from expectations, zero where a cell is lost."""
    off = np.empty(len(expected))
    for i in range(len(expected)):
        off[i] = mean[i] - expected[i]
    for i in lost:
        off[i] = 0.0
    return off


@njit(error_model="numpy", fastmath=True)
def trace(precision: Floats, scatter: Floats) -> float:
    """Trace of a product; the scatter may have more rows."""
    total = 0.0
    for i in range(len(precision)):
        for j in range(len(precision)):
            total += precision[i, j] * scatter[i, j]
    return total


@njit(error_model="numpy", fastmath=True)
def product(left: Floats, scatter: Floats, right: Floats) -> float:
    """A bilinear form; the scatter may have more rows."""
    total = 0.0
    for i in range(len(left)):
        for j in range(len(right)):
            total += left[i] * scatter[i, j] * right[j]
    return total


@njit(error_model="numpy")
def lose(known: Floats, turned: Floats, lost: Whole, inverse: Floats, times: float) -> None:
    """Take from information what lost cells would have told."""
    for a in range(len(lost)):
        for b in range(len(lost)):
            for i in range(len(known)):
                add(known[i], turned[lost[b]], -times * turned[lost[a], i] * inverse[a, b])


@njit(error_model="numpy")
def value_and_slopes(
    unit: Floats,
    slow: Floats,
    white: Floats,
    lasting: Floats,
    own: Floats,
    design: Floats,
    chain: Whole,
    size: Whole,
    code: Whole,
    count: Floats,
    mean: Floats,
    scatter: Floats,
    place: Whole,
    missing: Whole,
    centre: Floats,
    common: Floats,
    units: Floats,
) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
    """Log density, and its derivatives in U, A, W, d and the sds of levels and steps by stratum.

    Parameters
    ----------
    unit, slow, white, lasting, design, chain, size, code, count, mean, scatter, place, missing
        As for `told`.
    own : ndarray of shape (moves × channels,)
        Sd of each level and step between strata.
    centre, common : ndarray of shape (moves × channels,)
        Prior mean and sd of what strata have in common.
    units : ndarray of shape (strata,)
        Units of each.
    """
    strata, channels = len(units), len(unit)
    constants = (design, chain, size, code, count, mean, scatter, place, missing, centre)
    total, known, score = told(unit, slow, white, lasting, *constants, strata)
    gain, moved, covariances, in_own = integrated(own, common, known, score)
    in_unit, in_slow, in_white = np.zeros_like(unit), np.zeros_like(unit), np.zeros_like(unit)
    in_lasting = np.zeros_like(lasting)
    for t in range(len(design)):
        inside = size[t] * channels
        shared = correlations(lasting, design[t], chain[t], size[t])
        held = covariance(unit, slow, white, shared)
        precision, _ = inverse_of(held)
        across = spread(design[t], size[t], channels)
        collected, squares = np.zeros((inside, inside)), np.empty((inside, inside))
        uncertain = np.empty((strata, inside, inside))
        expected = np.empty((strata, inside))
        for g in range(strata):
            uncertain[g] = across @ (covariances[g] @ across.T)
            expected[g] = across @ (centre + moved[g])
        for p in range(len(code)):
            if code[p] // strata != t:
                continue
            g, times = code[p] % strata, count[p]
            lost = np.flatnonzero(missing[p, :inside])
            off = about(mean[p], expected[g], lost)
            for i in range(inside):
                add(collected[i], held[i], -times)
            square(off, uncertain[g], times, squares)
            if place[p] >= 0:
                for i in range(inside):
                    add(squares[i], scatter[place[p], i], 1.0)
            if len(lost):
                complete(squares, precision, lost, times)
            for i in range(inside):
                add(collected[i], squares[i], 1.0)
        slope = precision @ (collected @ precision)
        collect(slope, slow, shared, design[t], chain[t], in_unit, in_slow, in_white, in_lasting)
    return total + gain, in_unit, in_slow, in_white, in_lasting, in_own


@njit(error_model="numpy")
def square(off: Floats, uncertain: Floats, times: float, out: Floats) -> None:
    """Write squares of deviations from a mean that is uncertain."""
    for i in range(len(off)):
        for j in range(len(off)):
            out[i, j] = times * (uncertain[i, j] + off[i] * off[j])


@njit(error_model="numpy")
def complete(squares: Floats, precision: Floats, lost: Whole, times: float) -> None:
    """Turn squares of units that lack cells into what they are expected to be of all cells."""
    inverse, filled, _ = fill(precision, lost)
    rows = filled @ squares
    for i in range(len(lost)):
        add(squares[lost[i]], rows[i], -1.0)
    for row in squares:
        for i in range(len(lost)):
            rows[i, 0] = dot(row, filled[i])
        for i in range(len(lost)):
            row[lost[i]] -= rows[i, 0]
    for i in range(len(lost)):
        for j in range(len(lost)):
            squares[lost[i], lost[j]] += times * inverse[i, j]


@njit(error_model="numpy")
def collect(
    slope: Floats,
    slow: Floats,
    shared: Floats,
    design: Floats,
    chain: Whole,
    in_unit: Floats,
    in_slow: Floats,
    in_white: Floats,
    in_lasting: Floats,
) -> None:
    """Add what a derivative in a template's covariance is in the parameters that make it."""
    channels, levels = len(slow), design.shape[1] - len(in_lasting)
    for e in range(len(shared)):
        for f in range(len(shared)):
            in_shared = 0.0
            for k in range(channels):
                for m in range(channels):
                    found = 0.5 * slope[e * channels + k, f * channels + m]
                    in_unit[k, m] += found
                    in_slow[k, m] += shared[e, f] * found
                    if e == f:
                        in_white[k, m] += found
                    in_shared += slow[k, m] * found
            if chain[e] == chain[f]:
                for s in range(len(in_lasting)):
                    far = abs(design[e, levels + s] - design[f, levels + s])
                    in_lasting[s] -= in_shared * shared[e, f] * far


class EndpointsIntegratedOut(ClosedForm):
    """Log density of endpoints given U, A, W, d and sds between strata, with its derivatives.

    Inputs: those and the constants of `value_and_slopes`.
    """

    kernel = staticmethod(value_and_slopes)
    ranks = (2, 2, 2, 1, 1)


@register_funcify_default_op_cache_key(EndpointsIntegratedOut)
def _compiled(*_: object, **__: object) -> tuple[Any, int]:
    @njit
    def density(
        unit: Floats,
        slow: Floats,
        white: Floats,
        lasting: Floats,
        own: Floats,
        design: Floats,
        chain: Whole,
        size: Whole,
        code: Whole,
        count: Floats,
        mean: Floats,
        scatter: Floats,
        place: Whole,
        missing: Whole,
        centre: Floats,
        common: Floats,
        units: Floats,
    ) -> tuple[Floats, Floats, Floats, Floats, Floats, Floats]:
        value, in_unit, in_slow, in_white, in_lasting, in_own = value_and_slopes(
            np.ascontiguousarray(unit),
            np.ascontiguousarray(slow),
            np.ascontiguousarray(white),
            np.ascontiguousarray(lasting),
            np.ascontiguousarray(own),
            np.ascontiguousarray(design),
            np.ascontiguousarray(chain),
            np.ascontiguousarray(size),
            np.ascontiguousarray(code),
            np.ascontiguousarray(count),
            np.ascontiguousarray(mean),
            np.ascontiguousarray(scatter),
            np.ascontiguousarray(place),
            np.ascontiguousarray(missing),
            np.ascontiguousarray(centre),
            np.ascontiguousarray(common),
            np.ascontiguousarray(units),
        )
        return np.array(value), in_unit, in_slow, in_white, in_lasting, in_own

    return density, version(__file__, matrices.__file__, means.__file__)
