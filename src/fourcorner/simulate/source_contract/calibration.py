"""The published figures of the source contract, and what brings finished draws to them.

Four quantities of a trajectory are fitted in turn, each by small linear equations in means and
variances of cells, a cell being a stratum with or without an artifact: how the contract shifts the
gain, how it shifts the margin before retrieval, the gain under it, and how far that is above the
quote's. The shift of the margin after retrieval is the sum of the first two.

Some figures follow from others: the gains under the ungrounded view and the quote on the 65, the
contrast between the cohorts, the shift over all 100, and that of the margin after retrieval.

Invariant: each fitted quantity is affine in the draws within a cell, or a sum of two such; cells
plus layout noise have the published means exactly. Pinned by `tests/test_source_contract.py`
(`test_means_and_standard_errors_hold_for_every_seed`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.source_contract.mechanism import (
    AFTER,
    BEFORE,
    QUOTE,
    SOURCE_ONLY,
    UNGROUNDED,
)
from fourcorner.simulate.study import SMALL, UNITS, Published, mean_inverse_count, rescaled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

GAIN_SOURCE_ONLY = 3.894
GAIN_QUOTE = 1.453
SHIFT_ARTIFACT = Published(5.809, 4.729, 6.902)
SHIFT_NO_ARTIFACT = Published(-0.340, -0.987, 0.284)
BEFORE_MARGIN_SHIFT = Published(-6.402, -7.231, -5.520)
AFTER_MARGIN_SHIFT = Published(-2.745, -3.669, -1.890)
EQUAL_TARGET_SHIFT = Published(1.958, 0.740, 3.285)
EQUAL_TARGET_SOURCE_ONLY_GAIN = Published(0.235, -0.765, 1.297)
SOURCE_ONLY_MINUS_QUOTE = Published(1.445, 0.876, 1.998)


class Groups(NamedTuple):
    """Who is in which cell.

    Attributes
    ----------
    cell : ndarray of shape (n,)
        Twice the stratum, one more with an artifact.
    sizes : ndarray of shape (cell,)
    artifact, small : ndarray of shape (cell,)
        With an artifact; in a stratum of few trajectories.
    equal : ndarray of shape (cell,)
        Weight under equal targets.
    inverse : ndarray of shape (cell,)
        What a cell's variance adds to the squared bootstrap error of an equal-target mean.
    """

    cell: Ints
    sizes: Floats
    artifact: Bools
    small: Bools
    equal: Floats
    inverse: Floats

    @property
    def all(self) -> Floats:
        """Weights of the cells in the mean over everybody."""
        return self.sizes / UNITS

    @property
    def found(self) -> Floats:
        """Weights in the mean over those with an artifact."""
        return np.where(self.artifact, self.sizes, 0.0) / self.sizes[self.artifact].sum()

    @property
    def lacking(self) -> Floats:
        """Weights in the mean over those without one."""
        return np.where(self.artifact, 0.0, self.sizes) / self.sizes[~self.artifact].sum()

    def means(self, values: Floats) -> Floats:
        """Mean of each cell."""
        return np.bincount(self.cell, values) / self.sizes

    def variances(self, values: Floats) -> Floats:
        """Variance of each cell, ddof 0."""
        return self.means((values - self.means(values)[self.cell]) ** 2)

    def between(self, means: Floats) -> float:
        """What the cells' means add to the squared bootstrap error of an equal-target mean."""
        apart = means[self.artifact] - means[~self.artifact]
        with_, without = self.sizes[self.artifact], self.sizes[~self.artifact]
        both = self.inverse[self.artifact] + self.inverse[~self.artifact]
        return float((both * with_ * without / (with_ + without) ** 2) @ apart**2)


def groups(target: Ints, found: Bools) -> Groups:
    """Set out the cells of trajectories."""
    cell = 2 * target + found
    sizes = np.bincount(cell).astype(np.float64)
    strata = sizes.reshape(-1, 2).sum(axis=1)
    inverse = np.array([mean_inverse_count(int(size), UNITS) for size in strata])
    share = sizes / np.repeat(strata, 2)
    return Groups(
        cell=cell,
        sizes=sizes,
        artifact=np.arange(sizes.size) % 2 == 1,
        small=np.repeat(strata < SMALL, 2),
        equal=share / strata.size,
        inverse=share * np.repeat(inverse, 2) / strata.size**2,
    )


def calibrated(cells: Floats, noise: Floats, target: Ints, found: Bools) -> Floats:
    """Margins without noise whose sum with layout noise matches the figures.

    Parameters
    ----------
    cells, noise
        (n, state, view): noise-free margins, and what the mean over layouts adds.
    target, found
        Stratum of each trajectory, and whether it has an artifact.

    Raises
    ------
    CalibrationError
        If the draws cannot be brought to the figures.
    """
    about = groups(target, found)
    moved = _gain_shift(_shift_of_gain(cells), _shift_of_gain(noise), about)
    before = _before_shift(
        _shift(cells)[:, BEFORE],
        _shift(noise)[:, BEFORE],
        moved,
        moved + _shift_of_gain(noise),
    )
    gain = _source_only_gain(_gain(cells, SOURCE_ONLY), _gain(noise, SOURCE_ONLY), about)
    above = _above_quote(
        _gain(cells, SOURCE_ONLY) - _gain(cells, QUOTE),
        _gain(noise, SOURCE_ONLY) - _gain(noise, QUOTE),
        found,
    )
    out = cells.copy()
    _set_gain(out, SOURCE_ONLY, gain)
    _set_gain(out, QUOTE, gain - above)
    out[:, BEFORE, UNGROUNDED] = out[:, BEFORE, SOURCE_ONLY] - before
    out[:, AFTER, UNGROUNDED] = out[:, AFTER, SOURCE_ONLY] - before - moved
    return out


def _gain(cells: Floats, view: int) -> Floats:
    return cells[:, AFTER, view] - cells[:, BEFORE, view]


def _shift(cells: Floats) -> Floats:
    """What the contract adds to the margin: (n, state)."""
    return cells[:, :, SOURCE_ONLY] - cells[:, :, UNGROUNDED]


def _shift_of_gain(cells: Floats) -> Floats:
    shift = _shift(cells)
    return shift[:, AFTER] - shift[:, BEFORE]


def _set_gain(cells: Floats, view: int, wanted: Floats) -> None:
    """Give a view a gain, half of what is missing at each end, in place."""
    missing = wanted - _gain(cells, view)
    cells[:, AFTER, view] += missing / 2
    cells[:, BEFORE, view] -= missing / 2


def _gain_shift(truth: Floats, noise: Floats, about: Groups) -> Floats:
    """Fit the shift of the gain on either cohort and under equal targets.

    Three constants shift the cells with an artifact, in large and in small strata, and those
    without; three variances within cells serve the same.
    """
    kinds = np.stack([about.artifact & ~about.small, about.artifact & about.small, ~about.artifact])
    weights = np.stack([about.found, about.lacking, about.equal])
    figures = (SHIFT_ARTIFACT, SHIFT_NO_ARTIFACT, EQUAL_TARGET_SHIFT)
    published = np.array([figure.mean for figure in figures])
    means = about.means(truth + noise)
    means = means + _solve(weights, published - weights @ means, kinds)

    spread = weights[:2] @ means**2 - (weights[:2] @ means) ** 2
    counts = np.array([about.sizes[about.artifact].sum(), about.sizes[~about.artifact].sum()])
    inverse = [mean_inverse_count(int(count), UNITS) for count in counts]
    errors = np.array([figure.variance for figure in figures])
    right = np.append(errors[:2] / inverse - spread, errors[2] - about.between(means))
    variances = _solve(np.stack([*weights[:2], about.inverse]), right, kinds)
    fitted = np.empty_like(truth)
    cells = range(about.sizes.size)
    _fit(fitted, truth, noise, [(about.cell == i, means[i], variances[i]) for i in cells])
    return fitted


def _before_shift(truth: Floats, noise: Floats, moved: Floats, seen: Floats) -> Floats:
    """Fit the shift of the margin before retrieval, and with it that of the margin after.

    The shift after is the sum of the shift before and that of the gain, so its variance fixes the
    covariance of the two. A multiple of the gain's shift is added to the rescaled draws: the
    covariance makes it linear in the scale, and the variance is then that of one scale.

    Parameters
    ----------
    truth, noise
        Shift before retrieval, and what layouts add to it.
    moved, seen
        Fitted shift of the gain, without and with layout noise.
    """
    own, after = (UNITS * figure.variance for figure in (BEFORE_MARGIN_SHIFT, AFTER_MARGIN_SHIFT))
    wanted = (after - own - seen.var()) / 2
    along = _covariance(moved, seen)
    fixed = (wanted - _covariance(noise, seen)) / along * moved
    slope = _covariance(truth, seen) / along
    return fixed + rescaled(truth - slope * moved, fixed + noise, BEFORE_MARGIN_SHIFT.mean, own)


def _source_only_gain(truth: Floats, noise: Floats, about: Groups) -> Floats:
    """Fit the gain under the contract on the artifact cohort and under equal targets.

    One constant shifts the large strata's cells with an artifact, one the small strata; small
    strata's cells with an artifact are spread, and all others keep their spread.
    """
    weights = np.stack([about.found, about.equal])
    published = np.array([GAIN_SOURCE_ONLY, EQUAL_TARGET_SOURCE_ONLY_GAIN.mean])
    shifted = np.stack([about.artifact & ~about.small, about.small])
    means = about.means(truth + noise)
    shifts = _solve(weights, published - weights @ means, shifted)
    means = means + shifts

    spread = about.artifact & about.small
    variances = np.where(spread, 0.0, about.variances(truth + noise))
    left = EQUAL_TARGET_SOURCE_ONLY_GAIN.variance - about.between(means) - about.inverse @ variances
    variances += _solve(about.inverse[None], np.array([left]), spread[None])
    fitted = truth + shifts[about.cell]
    cells = np.flatnonzero(spread)
    _fit(fitted, truth, noise, [(about.cell == i, means[i], variances[i]) for i in cells])
    return fitted


def _above_quote(truth: Floats, noise: Floats, found: Bools) -> Floats:
    """Fit how far the gain under the contract is above the quote's, one spread for both cohorts."""
    share = found.mean()
    with_ = GAIN_SOURCE_ONLY - GAIN_QUOTE
    without = (SOURCE_ONLY_MINUS_QUOTE.mean - share * with_) / (1 - share)
    between = share * (1 - share) * (with_ - without) ** 2
    variance = UNITS * SOURCE_ONLY_MINUS_QUOTE.variance - between
    fitted = np.empty_like(truth)
    _fit(fitted, truth, noise, [(found, with_, variance), (~found, without, variance)])
    return fitted


def _fit(
    fitted: Floats, truth: Floats, noise: Floats, wanted: Sequence[tuple[Bools, float, float]]
) -> None:
    """Fill in each group's affine image that with noise has the mean and variance wanted of it."""
    for group, mean, variance in wanted:
        fitted[group] = rescaled(truth[group], noise[group], mean, variance)


def _solve(coefficients: Floats, right: Floats, kinds: Bools) -> Floats:
    """Solve for one value of each kind of cell; a cell of no kind has 0.

    Parameters
    ----------
    coefficients
        (equation, cell).
    right
        (equation,).
    kinds
        (kind, cell), as many kinds as equations: the cells that share a value.
    """
    members = kinds.astype(np.float64)
    return np.linalg.solve(coefficients @ members.T, right) @ members


def _covariance(one: Floats, other: Floats) -> float:
    """Covariance over trajectories, ddof 0."""
    return float((one - one.mean()) @ (other - other.mean()) / one.size)
