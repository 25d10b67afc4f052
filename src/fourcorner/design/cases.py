"""Each row before any draw: what it is an estimate of, why it is refused, what it rests on.

Invariant: units and transitions of a row are those that it uses, and every note of it is true of
its own weights and plan. Pinned by `tests/test_design.py`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fourcorner import names
from fourcorner.contrasts import ROUNDING
from fourcorner.contrasts.calibration import flip_ratio, flip_share, statements
from fourcorner.design import means, refusals
from fourcorner.design.applied import Applied, Pair
from fourcorner.design.cohort import Sample
from fourcorner.design.intervals import SMALL_STRATUM
from fourcorner.design.means import Mixing
from fourcorner.design.options import Options
from fourcorner.design.parts import (
    COHORT,
    Floats,
    Part,
    compared,
    held,
    is_share,
    left_out,
    parts,
)
from fourcorner.design.rankings import ranked
from fourcorner.design.replicates import Means, Quantity, Rank, rank
from fourcorner.errors import counted
from fourcorner.estimands import UNITS_ALIKE, Estimand
from fourcorner.weights import TargetWeights

Needed = list[tuple[str, int]]

SAID = {
    (names.DESIGN, names.PLAIN): "plain bootstrap of units",
    (names.DESIGN, names.WITHIN_STRATA): "bootstrap of units within strata",
    (names.BAYESIAN_BOOTSTRAP, names.PLAIN): "Dirichlet weights of units",
    (names.BAYESIAN_BOOTSTRAP, names.WITHIN_STRATA): "Dirichlet weights of units within strata",
}


@dataclass(frozen=True)
class Case:
    """One estimand under one mixture.

    Attributes
    ----------
    fields : dict
        Those fields of the row that no draw changes.
    refused : dict or None
    needed : list of (str, int)
        Units of each group whose spread the interval rests on.
    kind : str
        Of interval.
    notes : tuple of str
    limits : (float, float) or None
        What the estimand can be at least and at most.
    """

    fields: dict[str, Any]
    refused: dict[str, Any] | None
    needed: Needed
    kind: str
    notes: tuple[str, ...]
    limits: tuple[float, float] | None


def cases(
    data: Sample,
    estimand: Estimand,
    applied: Applied,
    weights: Sequence[TargetWeights],
    options: Options,
) -> tuple[list[Case], Quantity]:
    """Cases of an estimand under the mixtures that apply to it, and what is to be replicated.

    Returns
    -------
    tuple of (list of Case, Means or Rank)
        The quantity has a mixture for each case that is not refused, in order.
    """
    groups = parts(data, estimand, applied.values)
    about = means.centred(data, groups)
    out = refusals.omitted(estimand, weights)
    lacking = list(_lacking(data, estimand, applied))
    notes = (
        *_notes(data, estimand, applied.values, groups),
        *lacking,
        *refusals.omission(estimand, out),
    )
    found: list[Case] = []
    mixes: list[tuple[Mixing, str]] = []
    for mixture in weights:
        if mixture.name in out:
            continue
        refused = (
            applied.refused
            or refusals.of_mixture(data, estimand, groups, mixture, lacking)
            or refusals.of_outcome(data, estimand, groups)
            or refusals.of_pairs(data, estimand, groups)
        )
        mix = means.mixing(mixture, about, options.resampling)
        needed = [*_needed(data, groups, mix), *_outcomes(data, estimand, groups)]
        kind = _kind(estimand, needed, options)
        told = [*notes, *_mixture_notes(data, estimand, mixture, options)]
        fields = _fields(data, estimand, groups, mixture, options)
        if refused is not None:
            fields["count"] = None
        if refused is None and _says_flips(estimand, applied, options):
            assert applied.gains is not None
            pair = _mean_gains(data, estimand, applied.gains, mixture)
            told += [] if estimand.measure is None else statements(*pair)
            fields |= {"flip_ratio": flip_ratio(*pair), "flip_share": flip_share(*pair)}
        found.append(Case(fields, refused, needed, kind, tuple(told), estimand.limits))
        if refused is None:
            # only a mean is rescaled or studentised; another statistic then has no interval
            mixes.append((mix, kind if estimand.statistic == names.MEAN else names.PERCENTILE))
    if applied.ranked is not None:
        of = ranked(data, estimand, groups, applied.ranked.values)
        return found, Rank(of, data.units, len(mixes), 1.0)
    if estimand.statistic in refusals.RANKED:
        of = rank(groups, estimand.statistic, options.method)
        return found, Rank(of, data.units, len(mixes), applied.size)
    share = estimand.statistic in names.SHARES
    return found, Means(about, tuple(mixes), 1.0 if share else applied.size)


def _says_flips(estimand: Estimand, applied: Applied, options: Options) -> bool:
    """Whether a row says what turns the sign of the mean interaction, which the design does."""
    design = options.method == names.DESIGN
    return design and applied.gains is not None and is_a_mean(estimand)


def _kind(estimand: Estimand, needed: Needed, options: Options) -> str:
    """The interval asked for; by default the one that `interval_coverage.json` speaks for."""
    if options.interval is not None:
        return options.interval
    small = any(size < SMALL_STRATUM for _, size in needed)
    if options.method == names.BAYESIAN_BOOTSTRAP:
        return names.PERCENTILE
    if small and estimand.statistic == names.MEAN and not options.simultaneous:
        return names.BOOTSTRAP_T
    return names.PERCENTILE


def population(mixture: TargetWeights, plan: str) -> str:
    """Whom a row is about: this cohort where its own mixture of strata is held, else units."""
    held = plan == names.WITHIN_STRATA and mixture.empirical > 0
    return names.POPULATION_COHORT if held else names.POPULATION_UNITS


def _fields(
    data: Sample,
    estimand: Estimand,
    groups: Sequence[Part],
    mixture: TargetWeights,
    options: Options,
) -> dict[str, Any]:
    used = np.any([part.transitions for part in groups], axis=0)
    return {
        "name": estimand.name,
        "statistic": estimand.statistic,
        "weights": mixture.name,
        "method": options.method,
        "population": population(mixture, options.resampling),
        "cohort": data.cohort,
        "level": options.level,
        "units": int(np.count_nonzero(np.bincount(data.unit[used]))),
        "transitions": int(used.sum()),
        "resampling": SAID[options.method, options.resampling],
        "count": _count(estimand, groups),
        "signed": estimand.is_signed,
        "family": estimand.family,
    }


def _count(estimand: Estimand, groups: Sequence[Part]) -> int | None:
    """Transitions of which a share is the share, where each counts wholly or not at all."""
    difference = estimand.limits is not None and estimand.limits[0] < 0
    if estimand.statistic not in names.SHARES or difference:
        return None
    if is_share(estimand):
        return groups[0].negative
    values = groups[0].values
    whole = estimand.weight_by == names.BY_TRANSITION and np.isin(values, (0.0, 1.0)).all()
    return int(values.sum()) if whole else None


def _notes(
    data: Sample, estimand: Estimand, values: Floats, groups: Sequence[Part]
) -> Iterator[str]:
    yield from left_out(data, estimand, values)
    if estimand.weight_by == names.BY_UNIT:
        yield UNITS_ALIKE
    if estimand.between is not None:
        sizes = [f"{part.group}: {int(part.transitions.sum())}" for part in groups]
        negative = [f", {part.negative} negative" if is_share(estimand) else "" for part in groups]
        told = [size + count for size, count in zip(sizes, negative, strict=True)]
        yield f"transitions by group: {'; '.join(told)}"


def _lacking(data: Sample, estimand: Estimand, applied: Applied) -> Iterator[str]:
    """How many transitions are measured and yet lack what is asked."""
    for which, what in applied.lacking:
        if count := int((which & compared(data, estimand)).sum()):
            yield f"left out: {counted(count, 'transition')} {what}"


def _mixture_notes(
    data: Sample, estimand: Estimand, mixture: TargetWeights, options: Options
) -> Iterator[str]:
    strata = estimand.where.get(names.STRATUM, data.strata)
    several = len(strata) > 1 and mixture.empirical > 0
    if several and estimand.between is not None:
        yield "each group under its own mixture of strata"
    if several and options.resampling == names.WITHIN_STRATA:
        yield "the mixture of strata is held as it is in the cohort"


def _mean_gains(
    data: Sample, estimand: Estimand, gains: Pair, mixture: TargetWeights
) -> tuple[float, float]:
    """Both mean gains under a mixture, zero where they are it but for rounding."""
    pair = []
    for values, size in zip(gains.values.T, gains.sizes, strict=True):
        about = means.centred(data, parts(data, estimand, values))
        found = means.estimate(about, means.mixing(mixture, about, names.PLAIN))
        pair.append(0.0 if abs(found) <= ROUNDING * size else found)
    return pair[0], pair[1]


def is_a_mean(estimand: Estimand) -> bool:
    """Whether it is a mean of one group, as the gains that it is the difference of then are."""
    return estimand.between is None and estimand.statistic == names.MEAN


def _needed(data: Sample, groups: Sequence[Part], mix: Mixing) -> Needed:
    """Units of each stratum that is weighed, and of each group where its pooled mean is."""
    found: Needed = []
    for p, part in enumerate(groups):
        sizes = part.sizes(data)
        if mix.pooled > 0:
            found.append((part.group, int(sizes.sum())))
        found += [
            (_of_part(name, part) if name else part.group, int(size))
            for name, size, share in zip(data.strata, sizes, mix.strata[:, p], strict=True)
            if share > 0
        ]
    return found


def _outcomes(data: Sample, estimand: Estimand, groups: Sequence[Part]) -> Needed:
    """Units with a transition of each outcome that is ranked, in each group."""
    if estimand.measure is None or estimand.measure.outcome is None:
        return []
    attribute, _ = estimand.measure.outcome
    found: Needed = []
    for part in groups:
        levels, unit = held(data, attribute)[part.transitions], data.unit[part.transitions]
        found += [
            (_of_part(f"{attribute} = {level}", part), len(np.unique(unit[levels == level])))
            for level in sorted(set(levels.tolist()), reverse=True)
        ]
    return found


def _of_part(name: str, part: Part) -> str:
    """A stratum or an outcome in words, with its group where there are two."""
    return name if part.group == COHORT else f"{name} where {part.group}"
