"""The Bayesian bootstrap: a posterior of every design statistic, without a model of the scores.

The units of a cohort stand for the support of the population, with unknown shares. Under the
improper prior ∏ p_i⁻¹ these shares have a flat Dirichlet posterior, and a statistic of the cohort
becomes that statistic of the units so weighed: each unit's weight stands where a bootstrap has how
often it is drawn. Within strata each stratum has flat weights of its own and the cohort's mixture
is held.

Medians are weighted medians, trimmed means leave out the share of the weight that ⌊0.1 n⌋ of n
values are (`fourcorner.design.ranks`); in an AUC or a discordance a pair weighs the product of its
two weights, and a discordance has no pairs of an endpoint with itself.

Invariant: every weight is above zero, so a draw is undefined nowhere; with all weights equal each
statistic is the design estimate. Pinned by `tests/test_bayesian_bootstrap.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fourcorner import events, names
from fourcorner.design import intervals
from fourcorner.design.applied import Applied, applied
from fourcorner.design.cases import Case, cases, is_a_mean
from fourcorner.design.cohort import Sample
from fourcorner.design.intervals import Replicates
from fourcorner.design.options import LEVEL, Options
from fourcorner.design.replicates import Quantity, replicate
from fourcorner.errors import OptionError
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate, Probability
from fourcorner.spec.criteria import Signs
from fourcorner.spec.design import DRAWS
from fourcorner.weights import TargetWeights

Floats = NDArray[np.float64]

NO_CRITERIA: Mapping[str, Signs] = {}


@dataclass(frozen=True)
class Weighed:
    """One estimand under one mixture.

    Attributes
    ----------
    estimand : Estimand
    case : Case
    draws : Replicates or None
        None where it is refused.
    gains : (ndarray, ndarray) or None
        Draws of both mean gains, of a mean difference of two.
    """

    estimand: Estimand
    case: Case
    draws: Replicates | None
    gains: tuple[Floats, Floats] | None

    @property
    def values(self) -> Floats:
        """Draws of the value."""
        assert self.draws is not None
        return _values(self.draws)


def bayesian_bootstrap(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    resampling: str = names.PLAIN,
) -> list[Estimate]:
    """Posterior means and credible intervals of every estimand under every mixture.

    Parameters
    ----------
    data : Sample
    estimands, weights : sequences
    draws, seed : int
        Of the weights, shared by all estimands.
    level : float
    resampling : {"plain", "within_strata"}
        Flat weights over all units, or within each stratum. Within strata the cohort's own mixture
        is held as it is, and such a row is about this cohort's mixture (population ``cohort``).

    Returns
    -------
    list of Estimate
        Method ``bayesian_bootstrap``; those rows that `fourcorner.design.engine.estimate` has, in
        that order, refused for its reasons. No interval where a needed stratum has one unit.

    Raises
    ------
    OptionError, ContrastError
        As there.
    """
    found = weighed(data, estimands, weights, options(draws, seed, level, resampling))
    return rows(found, level)


def options(draws: int, seed: int, level: float, resampling: str) -> Options:
    """Checked options of a Bayesian bootstrap."""
    if draws < 1:
        raise OptionError(f"draws = {draws!r}: expected at least 1")
    return Options(draws, seed, level, resampling, method=names.BAYESIAN_BOOTSTRAP)


def weighed(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    chosen: Options,
) -> list[Weighed]:
    """Every estimand under every mixture, from one set of weights."""
    asked: list[tuple[Estimand, list[Case], bool]] = []
    quantities: list[Quantity] = []
    for estimand, values in zip(estimands, applied(data, estimands), strict=True):
        both = _gains(estimand, values)
        parts = () if both is None else both.T
        for one in (values, *(replace(values, values=part, gains=None) for part in parts)):
            found, quantity = cases(data, estimand, one, weights, chosen)
            quantities.append(quantity)
            if one is values:
                asked.append((estimand, found, both is not None))
    drawn = iter(replicate(data, quantities, chosen))
    every: list[Weighed] = []
    for estimand, found, has_gains in asked:
        kept = [case.refused is None for case in found]
        series = [[next(drawn) for _ in range(sum(kept))] for _ in range(3 if has_gains else 1)]
        streams = [iter(of) for of in series]
        for case, there in zip(found, kept, strict=True):
            own, *gains = [next(stream) if there else None for stream in streams]
            pair = [_values(gain) for gain in gains if gain is not None]
            every.append(Weighed(estimand, case, own, (pair[0], pair[1]) if pair else None))
    return every


def rows(found: Sequence[Weighed], level: float) -> list[Estimate]:
    """Posterior mean and equal-tailed interval of each."""
    return [_row(one, level) for one in found]


def probabilities(
    found: Sequence[Weighed],
    weights: Sequence[TargetWeights],
    *,
    criteria: Mapping[str, Signs] = NO_CRITERIA,
    rope: float | None = None,
) -> list[Probability]:
    """P(value < 0), reversals of mean gains, practical equivalence, and criteria as a whole.

    Parameters
    ----------
    found : sequence of Weighed
    weights : sequence of TargetWeights
    criteria : mapping of name to mapping of estimate to "+" or "-"
        Each is an event of the draws that its estimates share; none under a mixture in which one
        of them has no spread or no value.
    rope : float, optional
        Half-width of the region of practical equivalence, native units, of differences of mean
        gains.

    Returns
    -------
    list of Probability
        Of every estimand that can be below zero and whose spread is seen.
    """
    there = [one for one in found if _why_not(one) is None]
    every = [row for one in there for row in _of(one, rope)]
    for mixture in weights:
        mine = {
            one.estimand.name: one for one in there if one.case.fields["weights"] == mixture.name
        }
        for name, signs in criteria.items():
            if mine.keys() >= signs.keys():
                held = events.all_signs(signs, {row: mine[row].values for row in signs})
                populations = {mine[row].case.fields["population"] for row in signs}
                every.append(
                    events.probability(
                        name=name,
                        weights=mixture.name,
                        event=names.CRITERION,
                        held=held,
                        population=populations.pop(),
                    )
                )
    return every


def _of(one: Weighed, rope: float | None) -> Iterator[Probability]:
    estimand = one.estimand
    fields = {key: one.case.fields[key] for key in ("name", "weights", "population")}
    if estimand.is_signed:
        kind = estimand.contrast.kind if estimand.measure is None else estimand.measure.kind
        for event, held in events.of_sign(kind, one.values, one.gains).items():
            yield events.probability(event=event, held=held, **fields)
    plain = estimand.measure is None and estimand.statistic == names.MEAN
    if rope is not None and plain and estimand.contrast.compares_gains:
        inside = np.abs(one.values) < rope
        yield events.probability(event=names.ROPE, held=inside, rope=rope, **fields)


def _gains(estimand: Estimand, whole: Applied) -> Floats | None:
    """Both gains of each transition of a mean difference of two: shape (transitions, 2), or None.

    They are of the transitions that the difference is of.
    """
    if whole.gains is None or not is_a_mean(estimand):
        return None
    return np.where(np.isfinite(whole.values)[:, None], whole.gains.values, np.nan)


def _values(found: Replicates) -> Floats:
    return found.point + found.deviations


def _row(one: Weighed, level: float) -> Estimate:
    case = one.case
    if one.draws is None:
        return Estimate(
            **case.fields,
            interval_kind=names.CREDIBLE,
            value=None,
            interval=None,
            refused=case.refused,
        )
    why = _why_not(one, level)
    value = one.draws.point + float(one.draws.deviations.mean())
    ends, told = None, [why] if why else []
    if why is None:
        low, high = intervals.central(one.values, level)
        ends = (low, high)
        statistic = case.fields["statistic"]
        told += intervals.caveats(case.needed, names.CREDIBLE, one.draws, statistic)
        if case.limits is not None:  # nothing is beyond them but by rounding
            ends = (max(low, case.limits[0]), min(high, case.limits[1]))
    return Estimate(
        **case.fields,
        interval_kind=names.CREDIBLE,
        value=value,
        interval=ends,
        notes=(*case.notes, *told),
    )


def _why_not(one: Weighed, level: float = LEVEL) -> str | None:
    """Why there is no spread to tell of, or None."""
    if one.draws is None:
        return "refused"
    lonely = intervals.lonely(one.case.needed)
    why = lonely or intervals.spread(one.draws, one.case.fields["statistic"])
    if why is None and intervals.interval(one.draws, names.PERCENTILE, level) is None:
        return intervals.SAME
    return why
