"""Replicates of every row from one set of shared draws, of a bootstrap or a Bayesian one.

Invariant: all rows see the same unit multiplicities, or weights, so differences of rows are
paired; an estimate depends on the table alone. Pinned by `tests/test_design.py`.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design import means, ranks, studentised
from fourcorner.design.cohort import Sample
from fourcorner.design.draws import dirichlet, multiplicities, within_strata
from fourcorner.design.intervals import Replicates
from fourcorner.design.means import Centred, Mixing, Totals
from fourcorner.design.options import Options
from fourcorner.design.parts import Part

Floats = NDArray[np.float64]
Evaluated = tuple[Floats, Floats | None]
Ranking = Callable[[Floats, Floats, NDArray[np.int64]], Floats]

TOTALS = 2**22  # numbers in a block of totals
BATCH = 128  # columns that are summed at a time
RANKINGS: dict[tuple[str, str], Ranking] = {
    (names.DESIGN, names.MEDIAN): ranks.medians,
    (names.DESIGN, names.TRIMMED_MEAN): ranks.trimmed_means,
    (names.BAYESIAN_BOOTSTRAP, names.MEDIAN): ranks.medians,
    (names.BAYESIAN_BOOTSTRAP, names.TRIMMED_MEAN): ranks.weighted_trimmed_means,
}


class Columns(NamedTuple):
    """What is summed over the units drawn.

    Attributes
    ----------
    strata : ndarray of shape (units, columns)
        Summed by stratum.
    pooled : ndarray of shape (columns, units)
        Summed over all units.
    """

    strata: Floats
    pooled: Floats


@dataclass(frozen=True)
class Means:
    """A mean, or a share, of one or two groups under some mixtures.

    Attributes
    ----------
    about : Centred
    mixes : tuple of (Mixing, str)
        Each with the kind of its interval, which decides whether deviations are rescaled and
        whether variances are needed.
    size : float
        Of the scores that are averaged, or 1 for a share.
    """

    about: Centred
    mixes: tuple[tuple[Mixing, str], ...]
    size: float

    @property
    def studied(self) -> bool:
        """Whether an interval needs variances, and so sums of squares by stratum."""
        return any(kind == names.BOOTSTRAP_T for _, kind in self.mixes)

    def columns(self, data: Sample) -> Columns:
        """What is summed over the units drawn, products where variances are needed."""
        strata = self.studied or any(mix.strata.any() for mix, _ in self.mixes)
        pooled = any(mix.pooled > 0 for mix, _ in self.mixes)
        more = [studentised.moments(self.about)] if self.studied else []
        nothing = np.empty((data.units, 0))
        return Columns(
            np.hstack([self.about.columns, *more]) if strata else nothing,
            self.about.pooled_columns(data.stratum).T if pooled else nothing.T,
        )

    def points(self, data: Sample) -> list[float]:  # noqa: ARG002 - as of a rank
        """Estimates, by mixture."""
        return [means.estimate(self.about, mix) for mix, _ in self.mixes]

    def evaluate(self, multiplicity: Floats, drawn: Totals) -> Iterator[Evaluated]:  # noqa: ARG002
        """Deviation of each draw by mixture, and its variance for a bootstrap-t interval."""
        size = 2 * len(self.about.sign)
        of = Totals(drawn.strata[..., :size], drawn.pooled)
        for mix, kind in self.mixes:
            moved = means.deviations(of, self.about, mix, rescale=kind == names.RESCALED)
            if kind == names.BOOTSTRAP_T:
                second = drawn.strata[..., size:]
                yield moved, studentised.variances(of, second, self.about, mix)
            else:
                yield moved, None


@dataclass(frozen=True)
class Rank:
    """A statistic of ranks, the same under each of some mixtures.

    Attributes
    ----------
    of : callable
        The statistic in each draw, from multiplicities of shape (draws, units).
    units : int
    mixes : int
    size : float
        Of the scores, or 1 for an AUC.
    """

    of: Callable[[Floats], Floats]
    units: int
    mixes: int
    size: float

    @cached_property
    def once(self) -> float:
        """The estimate: every unit taken once."""
        return float(self.of(np.ones((1, self.units)))[0])

    @property
    def studied(self) -> bool:
        """A rank has no variance."""
        return False

    def columns(self, data: Sample) -> Columns:
        """Nothing is summed."""
        nothing = np.empty((data.units, 0))
        return Columns(nothing, nothing.T)

    def points(self, data: Sample) -> list[float]:  # noqa: ARG002 - as of a mean
        """Estimates, by mixture."""
        return [self.once] * self.mixes

    def evaluate(self, multiplicity: Floats, drawn: Totals) -> Iterator[Evaluated]:  # noqa: ARG002
        """Deviation of each draw, by mixture."""
        return itertools.repeat((self.of(multiplicity) - self.once, None), self.mixes)


def rank(
    parts: Sequence[Part], statistic: str, method: str = names.DESIGN
) -> Callable[[Floats], Floats]:
    """A median or trimmed mean in each draw; of two groups the second's less the first's."""
    take = RANKINGS[method, statistic]

    def of(multiplicity: Floats) -> Floats:
        found = [part.sign * take(multiplicity, part.values, part.unit) for part in parts]
        return np.sum(found, axis=0)

    return of


Quantity = Means | Rank


def replicate(data: Sample, quantities: Sequence[Quantity], options: Options) -> list[Replicates]:
    """Estimate and replicate every quantity under each of its mixtures, in order.

    With no draws the deviations are empty, and no variances are found.
    """
    quantities = [quantity for quantity in quantities if quantity.mixes]
    points = [(point, of.size) for of in quantities for point in of.points(data)]
    if not options.draws or not points:
        return [Replicates(point, np.empty(0), size) for point, size in points]
    batches = list(_batches(quantities, data))
    step = max(1, TOTALS // max(1, *(batch.width(len(data.strata)) for batch in batches)))
    blocks = [
        _evaluated(data, batches, block[start : start + step])
        for block in _draws(data, options)
        for start in range(0, len(block), step)
    ]
    once = _once(data, quantities)
    return [
        Replicates(
            point,
            _joined([block[i][0] for block in blocks]),
            size,
            _joined(
                [first, *(variance for block in blocks if (variance := block[i][1]) is not None)]
            )
            if first is not None
            else None,
        )
        for i, ((point, size), first) in enumerate(zip(points, once, strict=True))
    ]


class Batch(NamedTuple):
    """Quantities that are evaluated together.

    Attributes
    ----------
    quantities : list of Means or Rank
    columns : Columns
        Each that is summed over all units once, whoever shares it.
    strata : list of slice
        Where each quantity has its own of those summed by stratum.
    pooled : list of list of int
        And of those summed over all units.
    """

    quantities: Sequence[Quantity]
    columns: Columns
    strata: list[slice]
    pooled: list[list[int]]

    def width(self, strata: int) -> int:
        """Numbers that a draw takes."""
        return strata * self.columns.strata.shape[1] + self.columns.pooled.shape[0]


def _evaluated(data: Sample, batches: Sequence[Batch], multiplicity: Floats) -> list[Evaluated]:
    """Every quantity, mixtures within, in some draws."""
    strata = len(data.strata)
    split = means.by_stratum(multiplicity, data.stratum, strata)
    found: list[Evaluated] = []
    for batch in batches:
        by_stratum = means.totals(split, batch.columns.strata)
        pooled = batch.columns.pooled @ multiplicity.T
        for quantity, own, shared in zip(batch.quantities, batch.strata, batch.pooled, strict=True):
            drawn = Totals(by_stratum[..., own], [pooled[i] for i in shared])
            found += quantity.evaluate(multiplicity, drawn)
    return found


def _once(data: Sample, quantities: Sequence[Quantity]) -> list[Floats | None]:
    """Variances of the estimates themselves, every unit taken once, where they are needed."""
    found: list[Floats | None] = []
    for quantity in quantities:
        if not quantity.studied:
            found += itertools.repeat(None, len(quantity.points(data)))
            continue
        (batch,) = _batches([quantity], data)
        found += [variance for _, variance in _evaluated(data, [batch], np.ones((1, data.units)))]
    return found


def _batches(quantities: Sequence[Quantity], data: Sample) -> Iterator[Batch]:
    """Some quantities at a time."""
    summed = [quantity.columns(data) for quantity in quantities]
    upto = np.cumsum([of.strata.shape[1] + of.pooled.shape[0] for of in summed])
    for _, group in itertools.groupby(range(len(summed)), lambda i: upto[i] // BATCH):
        members = list(group)
        strata = [summed[i].strata for i in members]
        ends = np.cumsum([0, *(of.shape[1] for of in strata)]).tolist()
        places: dict[bytes, int] = {}
        kept: list[Floats] = []
        pooled: list[list[int]] = []
        for i in members:
            own = []
            for column in summed[i].pooled:
                key = column.tobytes()
                if key not in places:
                    places[key] = len(kept)
                    kept.append(column)
                own.append(places[key])
            pooled.append(own)
        whole = np.stack(kept) if kept else np.empty((0, data.units))
        yield Batch(
            [quantities[i] for i in members],
            Columns(np.hstack(strata), whole),
            [slice(*pair) for pair in itertools.pairwise(ends)],
            pooled,
        )


def _draws(data: Sample, options: Options) -> Iterator[Floats]:
    within = options.resampling == names.WITHIN_STRATA
    if options.method == names.BAYESIAN_BOOTSTRAP:
        stratum = data.stratum if within else None
        return dirichlet(data.units, options.draws, options.seed, stratum)
    if within:
        return within_strata(data.stratum, options.draws, options.seed)
    return multiplicities(data.units, options.draws, options.seed)


def _joined(blocks: Sequence[Floats]) -> Floats:
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
