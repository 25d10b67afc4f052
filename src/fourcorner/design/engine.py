"""The design engine: every estimand under every mixture, from one set of shared draws.

By default a mean that needs a stratum of fewer than ten units has a bootstrap-t interval and every
other row a percentile interval. In the study `benchmarks/results/interval_coverage.json`, with
strata of 5, 7, 38 and 50 units under the plain plan, bootstrap-t intervals of the equal-weights
mean covered as often as they say in a normal and in a skewed population, rescaled ones less often
and percentile ones least; of the mean of all hundred units percentile intervals covered too. Within
strata all fall short in the skewed population, bootstrap-t by the least.

Invariant: estimates depend on the table alone, intervals on the table and the seed; nothing is
estimated that the observed cells do not determine, and an option is honoured or refused. Pinned by
`tests/test_design.py` against plain pandas and by `tests/test_intervals.py`.
"""

from collections.abc import Sequence

from fourcorner import names
from fourcorner.design import intervals
from fourcorner.design.applied import applied
from fourcorner.design.cases import Case, cases
from fourcorner.design.cohort import Sample, sample
from fourcorner.design.intervals import Interval, Replicates
from fourcorner.design.options import LEVEL, Options
from fourcorner.design.replicates import Quantity, replicate
from fourcorner.errors import NotIdentified, OptionError
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate
from fourcorner.spec.design import DRAWS
from fourcorner.weights import TargetWeights

__all__ = ["DRAWS", "LEVEL", "Sample", "estimate", "require", "sample"]


def estimate(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    resampling: str = names.PLAIN,
    interval: str | None = None,
    simultaneous: bool = False,
) -> list[Estimate]:
    """Estimates and bootstrap intervals of every estimand under every mixture.

    Parameters
    ----------
    data : Sample
    estimands, weights : sequences
    draws, seed : int
        Of the bootstrap, shared by all estimands.
    level : float
    resampling : {"plain", "within_strata"}
        Units drawn from the whole cohort, or from each stratum with its size fixed. Within strata
        the cohort's own mixture is held as it is, and such a row is about this cohort's mixture
        (population ``cohort``).
    interval : {"percentile", "rescaled", "bootstrap_t"} or None
        Rescaled stretches each stratum's deviations by √(n / (n − 1)). This and bootstrap-t are
        for means; another statistic then has no interval and says so. None for the default:
        bootstrap-t for a mean that needs a stratum of fewer than ten units, percentile for all
        else.
    simultaneous : bool
        Max-t intervals that hold for all rows of the call at once, in place of pointwise ones.

    Returns
    -------
    list of Estimate
        Estimands in order, mixtures within; a refusal is a row too. A median or trimmed mean has
        rows under empirical mixtures alone where there is one, and says so; where there is none
        its rows are refused.

    Raises
    ------
    OptionError
        If an option is not among its values, or contradicts another; if the scores have no wave
        that an estimand names.
    ContrastError
        If an estimand names a factor, level or attribute that the scores do not have.
    """
    if draws < 1:
        raise OptionError(f"draws = {draws!r}: expected at least 1")
    options = Options(draws, seed, level, resampling, interval, simultaneous)
    return run(data, estimands, weights, options)


def run(
    data: Sample,
    estimands: Sequence[Estimand],
    weights: Sequence[TargetWeights],
    options: Options,
) -> list[Estimate]:
    """Rows under options; with no draws they have no intervals."""
    asked: list[Case] = []
    quantities: list[Quantity] = []
    for estimand, values in zip(estimands, applied(data, estimands), strict=True):
        found, quantity = cases(data, estimand, values, weights, options)
        asked += found
        quantities.append(quantity)
    drawn = iter(replicate(data, quantities, options))
    replicates = [None if case.refused is not None else next(drawn) for case in asked]
    together = _simultaneous(asked, replicates, options)
    return [
        _row(case, of_case, options, together.get(i))
        for i, (case, of_case) in enumerate(zip(asked, replicates, strict=True))
    ]


def require(row: Estimate) -> Estimate:
    """Return the row itself, or raise `NotIdentified` when it is a refusal."""
    if row.refused is None:
        return row
    raise NotIdentified(f"{row.name} is refused: {row.refused['message']}", row.refused)


def _row(
    case: Case, found: Replicates | None, options: Options, together: Interval | None
) -> Estimate:
    """The row with its value, its interval and what a reader must know of both."""
    kind = names.SIMULTANEOUS if options.simultaneous else intervals.KINDS[case.kind]
    if found is None:
        return Estimate(
            **case.fields, interval_kind=kind, value=None, interval=None, refused=case.refused
        )
    ends: Interval | None = None
    why = _no_interval(case, found, options)
    if why is None and options.simultaneous:
        ends, why = together, None if together else intervals.NOWHERE
    elif why is None:
        ends = intervals.interval(found, case.kind, options.level)
        why = None if ends else intervals.NONE[case.kind]
    told = (
        [why]
        if why
        else list(intervals.caveats(case.needed, kind, found, case.fields["statistic"]))
    )
    if ends is not None and case.kind == names.BOOTSTRAP_T:
        told += intervals.erratic(ends, found, options.level)
    if ends is not None and case.limits is not None:
        ends, cut = intervals.within(ends, case.limits)
        told += cut
    return Estimate(
        **case.fields,
        interval_kind=kind,
        value=found.point,
        interval=ends,
        undefined_draws=len(found.deviations) - len(found.defined),
        notes=(*case.notes, *told),
    )


def _simultaneous(
    asked: Sequence[Case], found: Sequence[Replicates | None], options: Options
) -> dict[int, Interval]:
    if not options.simultaneous:
        return {}
    kept = {
        i: replicates
        for i, (case, replicates) in enumerate(zip(asked, found, strict=True))
        if replicates is not None and _no_interval(case, replicates, options) is None
    }
    return intervals.simultaneous(kept, options.level)


def _no_interval(case: Case, found: Replicates, options: Options) -> str | None:
    """Why a row has no interval, as far as its own draws tell."""
    if not options.draws:
        return "no interval: none was drawn"
    if (why := intervals.lonely(case.needed)) is not None:
        return why
    if case.kind != names.PERCENTILE and case.fields["statistic"] != names.MEAN:
        return f"no interval: a {intervals.KINDS[case.kind]} one is for means; ask for percentile"
    return intervals.spread(found, case.fields["statistic"])
