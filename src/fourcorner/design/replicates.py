"""Bootstrap replicates of every row from one set of shared draws.

Invariant: all rows see the same unit multiplicities, so differences of rows are paired; an
estimate depends on the table alone. Pinned by `tests/test_design.py`.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fourcorner import names
from fourcorner.design import means, ranks, studentised
from fourcorner.design.cohort import Sample
from fourcorner.design.draws import multiplicities, within_strata
from fourcorner.design.intervals import Replicates
from fourcorner.design.means import Centred, Mixing
from fourcorner.design.parts import Part

Floats = NDArray[np.float64]
Evaluated = tuple[Floats, Floats | None]
Ranking = Callable[[Floats, Floats, NDArray[np.int64]], Floats]

TOTALS = 2**22  # numbers in a block of totals
BATCH = 64  # columns that are summed at a time
RANKINGS: dict[str, Ranking] = {
    names.MEDIAN: ranks.medians,
    names.TRIMMED_MEAN: ranks.trimmed_means,
}


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

    def columns(self) -> Floats:
        """What is summed over the units drawn: shape (units, columns)."""
        studied = any(kind == names.BOOTSTRAP_T for _, kind in self.mixes)
        more = [studentised.moments(self.about)] if studied else []
        return np.hstack([self.about.columns, *more])

    def points(self, data: Sample) -> list[float]:  # noqa: ARG002 - as of a rank
        """Estimates, by mixture."""
        return [means.estimate(self.about, mix) for mix, _ in self.mixes]

    def evaluate(self, multiplicity: Floats, drawn: Floats) -> Iterator[Evaluated]:  # noqa: ARG002
        """Deviation of each draw by mixture, and its variance for a bootstrap-t interval."""
        size = self.about.columns.shape[1]
        first, second = drawn[..., :size], drawn[..., size:]
        for mix, kind in self.mixes:
            rescale = kind == names.RESCALED
            moved = means.deviations(first, self.about, mix, rescale=rescale)
            if kind == names.BOOTSTRAP_T:
                yield moved, studentised.variances(first, second, self.about, mix)
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

    def columns(self) -> Floats:
        """Nothing is summed."""
        return np.zeros((0, 0))

    def points(self, data: Sample) -> list[float]:  # noqa: ARG002 - as of a mean
        """Estimates, by mixture."""
        return [self.once] * self.mixes

    def evaluate(self, multiplicity: Floats, drawn: Floats) -> Iterator[Evaluated]:  # noqa: ARG002
        """Deviation of each draw, by mixture."""
        return itertools.repeat((self.of(multiplicity) - self.once, None), self.mixes)


def rank(parts: Sequence[Part], statistic: str) -> Callable[[Floats], Floats]:
    """A median or trimmed mean in each draw; of two groups the second's less the first's."""
    take = RANKINGS[statistic]

    def of(multiplicity: Floats) -> Floats:
        found = [part.sign * take(multiplicity, part.values, part.unit) for part in parts]
        return np.sum(found, axis=0)

    return of


Quantity = Means | Rank


def replicate(
    data: Sample, quantities: Sequence[Quantity], plan: str, draws: int, seed: int
) -> list[Replicates]:
    """Estimate and replicate every quantity under each of its mixtures, in order.

    With no draws the deviations are empty, and no variances are found.
    """
    quantities = [quantity for quantity in quantities if quantity.mixes]
    points = [(point, of.size) for of in quantities for point in of.points(data)]
    if not draws or not points:
        return [Replicates(point, np.empty(0), size) for point, size in points]
    batches = list(_batches(quantities, data.units))
    widest = max(columns.shape[1] for _, columns, _ in batches)
    step = max(1, TOTALS // max(1, len(data.strata) * widest))

    def evaluate(multiplicity: Floats) -> list[Evaluated]:
        split = means.by_stratum(multiplicity, data.stratum, len(data.strata))
        found: list[Evaluated] = []
        for batch, columns, places in batches:
            drawn = means.totals(split, columns)
            for quantity, place in zip(batch, places, strict=True):
                found += quantity.evaluate(multiplicity, drawn[..., place])
        return found

    found = [evaluate(np.ones((1, data.units)))]
    for block in _draws(data, plan, draws, seed):
        found += [evaluate(block[start : start + step]) for start in range(0, len(block), step)]
    return [
        Replicates(
            point,
            np.concatenate([np.empty(0), *(block[i][0] for block in found[1:])]),
            size,
            _joined([block[i][1] for block in found]),
        )
        for i, (point, size) in enumerate(points)
    ]


def _batches(
    quantities: Sequence[Quantity], units: int
) -> Iterator[tuple[list[Quantity], Floats, list[slice]]]:
    """Some quantities at a time, what is summed for them, and where each has its own of it."""
    summed = [quantity.columns() for quantity in quantities]
    widths = [of.shape[1] for of in summed]
    upto = np.cumsum(widths)
    for _, group in itertools.groupby(range(len(widths)), lambda i: upto[i] // BATCH):
        members = list(group)
        ends = np.cumsum([0, *(widths[i] for i in members)]).tolist()
        columns = np.hstack([np.empty((units, 0)), *(summed[i] for i in members if widths[i])])
        places = [slice(*pair) for pair in itertools.pairwise(ends)]
        yield [quantities[i] for i in members], columns, places


def _draws(data: Sample, plan: str, draws: int, seed: int) -> Iterator[Floats]:
    if plan == names.WITHIN_STRATA:
        return within_strata(data.stratum, draws, seed)
    return multiplicities(data.units, draws, seed)


def _joined(blocks: Sequence[Floats | None]) -> Floats | None:
    kept = [block for block in blocks if block is not None]
    return np.concatenate(kept) if kept else None
