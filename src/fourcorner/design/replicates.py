"""Bootstrap replicates of every row from one set of shared draws.

Invariant: all rows see the same unit multiplicities, so differences of rows are paired; an
estimate depends on the table alone. Pinned by `tests/test_design.py`.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

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
    """A median or trimmed mean of one or two groups, the same under each of some mixtures."""

    parts: tuple[Part, ...]
    statistic: str
    mixes: int
    size: float

    def columns(self) -> Floats:
        """Nothing is summed."""
        return np.zeros((0, 0))

    def points(self, data: Sample) -> list[float]:
        """Estimates, by mixture."""
        return [float(self._of(np.ones((1, data.units)))[0])] * self.mixes

    def evaluate(self, multiplicity: Floats, drawn: Floats) -> Iterator[Evaluated]:  # noqa: ARG002
        """Deviation of each draw, by mixture."""
        once = self._of(np.ones((1, multiplicity.shape[1])))
        return itertools.repeat((self._of(multiplicity) - once, None), self.mixes)

    def _of(self, multiplicity: Floats) -> Floats:
        rank = RANKINGS[self.statistic]
        found = [part.sign * rank(multiplicity, part.values, part.unit) for part in self.parts]
        return np.sum(found, axis=0)


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
    blocks = [quantity.columns() for quantity in quantities]
    ends = np.cumsum([0, *(block.shape[1] for block in blocks)]).tolist()
    places = [slice(*pair) for pair in itertools.pairwise(ends)]
    columns = np.hstack([np.empty((data.units, 0)), *(block for block in blocks if block.size)])

    def evaluate(multiplicity: Floats) -> list[Evaluated]:
        drawn = means.totals(multiplicity, columns, data.stratum, len(data.strata))
        return [
            found
            for quantity, place in zip(quantities, places, strict=True)
            for found in quantity.evaluate(multiplicity, drawn[..., place])
        ]

    step = max(1, TOTALS // max(1, len(data.strata) * columns.shape[1]))
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


def _draws(data: Sample, plan: str, draws: int, seed: int) -> Iterator[Floats]:
    if plan == names.WITHIN_STRATA:
        return within_strata(data.stratum, draws, seed)
    return multiplicities(data.units, draws, seed)


def _joined(blocks: Sequence[Floats | None]) -> Floats | None:
    kept = [block for block in blocks if block is not None]
    return np.concatenate(kept) if kept else None
