"""Estimates of both engines, brought together: one line per estimand and mixture.

Invariant: every estimand and mixture of the spec has exactly one line, and every refused row of
the audit is in exactly one refusal. Pinned by `tests/test_report.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.bayes.mixtures import stratum_values
from fourcorner.contrasts import Contrast
from fourcorner.contrasts.calibration import CALIBRATION, POOLING
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.report import reasons, words
from fourcorner.results import Estimate

BELOW = "<0"
POINTWISE = "pointwise"
AGREE = "the declared model lets no stratum differ in this estimand, so weights cannot move it"
IN_WORDS = (CALIBRATION, POOLING)  # starts of notes that a finding says
POPULATIONS = (names.POPULATION_UNITS, names.POPULATION_COHORT)
Key = tuple[str, str, str]  # method, cohort, population
REVERSALS = (names.REVERSAL_DOWN, names.REVERSAL_UP)


@dataclass(frozen=True)
class Line:
    """What is known of one estimand under one mixture.

    Attributes
    ----------
    estimand : Estimand
    weights : str
    design : Estimate or None
        On the fit's cohort; without a fit, on the contrast's own complete cases.
    contrast_wise : Estimate or None
        On the contrast's own complete cases, where the row is not that of the fit's cohort.
    posterior, unpooled, cohort : Estimate or None
        For units like these, the same without pooling, and for this cohort alone; of a Bayesian
        bootstrap, its row.
    bounds : Estimate or None
        What the limits of censored scores allow.
    probabilities : mapping of event to float
        ``<0`` and, where there are two gains, both reversals.
    places : int or None
        Decimals of all numbers of the estimand; None for powers of ten.
    strata_agree : bool
        Whether the fitted model lets no stratum differ in this estimand.
    alike : bool
        Whether every transition counts alike, so that a count is that of the share.
    """

    estimand: Estimand
    weights: str
    design: Estimate | None
    contrast_wise: Estimate | None
    posterior: Estimate | None
    cohort: Estimate | None
    unpooled: Estimate | None = None
    bounds: Estimate | None = None
    probabilities: Mapping[str, float] = field(default_factory=dict)
    places: int | None = None
    strata_agree: bool = False
    alike: bool = False

    @property
    def notes(self) -> list[str]:
        """What a reader must know of the numbers, each with its engine.

        Not among them are those of this cohort alone, which stand with its value, and what
        `fourcorner.report.stability` says of the design estimate in words.
        """
        own = self.contrast_wise
        known = () if self.design is None else self.design.notes
        said = [f"{names.DESIGN}: {note}" for note in known if not note.startswith(IN_WORDS)]
        if own is not None:
            new = (note for note in own.notes if note not in known)
            said += [f"{names.DESIGN}, own cases: {note}" for note in new]
        rows = (self.bounds, self.posterior, self.unpooled)
        more = [
            f"{words.engine(row.method)}: {note}"
            for row in rows
            if row is not None
            for note in row.notes
            if row.method != names.BAYESIAN_BOOTSTRAP or note not in known  # of the same cases
        ]
        found = [*said, *more]
        if self.strata_agree and self.posterior is not None:
            found.append(f"posterior: {AGREE}")
        return list(dict.fromkeys(found))

    @property
    def own_cases(self) -> Estimate | None:
        """The contrast-wise row where it rests on other transitions than the fit's cohort has."""
        own, beside = self.contrast_wise, self.design
        if own is None or beside is None or own.transitions == beside.transitions:
            return None
        return own

    @property
    def is_empty(self) -> bool:
        """Whether it has no row at all, as a median under other weights than empirical ones."""
        rows = (self.design, self.posterior, self.cohort, self.unpooled, self.bounds)
        return all(row is None for row in rows)

    @property
    def drawn(self) -> list[Estimate]:
        """Rows with a value, design first."""
        rows = (self.design, self.posterior)
        return [row for row in rows if row is not None and row.value is not None]


@dataclass(frozen=True)
class Refusal:
    """A claim that the run does not support.

    Attributes
    ----------
    name, statistic : str
        Those of a row; the name of a family and nothing where several of its rows are refused.
    why, remedy : str
    where : tuple of str
        Engines, cohorts and weights that refused it.
    """

    name: str
    statistic: str
    why: str
    remedy: str
    where: tuple[str, ...]


def collect(audit: Audit) -> list[Line]:
    """All lines, estimands in the order declared, mixtures within."""
    rows: dict[tuple[str, str], dict[Key, Estimate]] = {}
    for row in audit.rows:
        mine = rows.setdefault((row.name, row.weights), {})
        mine[row.method, row.cohort, row.population] = row
    fitted = fitted_cohort(audit)
    chances = _chances(audit)
    lines = []
    for estimand in as_estimands(audit.spec).values():
        agree = _strata_agree(audit, estimand)
        places = _places([row for row in audit.rows if row.name == estimand.name])
        for weights in audit.spec.weights:
            mine = rows.get((estimand.name, weights), {})
            own = _first(mine, names.DESIGN, names.COHORT_CONTRAST)
            beside = _first(mine, names.DESIGN, fitted)
            line = Line(
                estimand,
                weights,
                design=beside or own,
                contrast_wise=own if _differ(own, beside) else None,
                posterior=mine.get((names.BAYES, fitted, names.POPULATION_UNITS))
                or _first(mine, names.BAYESIAN_BOOTSTRAP, fitted),
                cohort=mine.get((names.BAYES, fitted, names.POPULATION_COHORT)),
                unpooled=mine.get((names.UNPOOLED, fitted, names.POPULATION_UNITS)),
                bounds=_first(mine, names.CENSORING_BOUNDS, names.COHORT_CONTRAST),
                probabilities=chances.get((estimand.name, weights), {}),
                places=places,
                strata_agree=agree,
                alike=audit.spec.weights[weights] == names.EMPIRICAL
                and estimand.weight_by == names.BY_TRANSITION,
            )
            lines.append(line)
    return lines


def fitted_cohort(audit: Audit) -> str:
    """Cohort on which the engines stand side by side: of a Bayesian bootstrap the design's own."""
    if audit.tree is not None:
        return str(audit.tree.attrs["cohort"])
    weighed = audit.posterior_method == names.BAYESIAN_BOOTSTRAP
    return names.COHORT_CONTRAST if weighed else names.COHORT_JOINT


def _first(rows: Mapping[Key, Estimate], method: str, cohort: str) -> Estimate | None:
    """A row about units like these, else one about this cohort's mixture."""
    found = (rows.get((method, cohort, population)) for population in POPULATIONS)
    return next((row for row in found if row is not None), None)


def refusals(audit: Audit) -> list[Refusal]:
    """Refused rows, those of one estimand or family for one reason taken together."""
    asked = as_estimands(audit.spec)
    family = {name: estimand.family or name for name, estimand in asked.items()}
    grouped: dict[tuple[str, str], list[Estimate]] = {}
    for row in audit.rows:
        if row.refused is not None:
            about = family.get(row.name, row.name)
            grouped.setdefault((about, reasons.refusal(row.refused)), []).append(row)
    found = []
    for (about, why), rows in grouped.items():
        which = dict.fromkeys(row.name for row in rows)
        where = [
            f"{words.engine(row.method)}, {row.cohort} cohort, {row.weights} weights"
            for row in rows
        ]
        found.append(
            Refusal(
                next(iter(which)) if len(which) == 1 else about,
                rows[0].statistic if len(which) == 1 else "",
                why if len(which) == 1 else f"{why}{_which(about, which)}",
                reasons.remedy(rows[0].refused or {}),
                tuple(dict.fromkeys(where)),
            )
        )
    return found


def _which(family: str, rows: Iterable[str]) -> str:
    """The rows of a family that are refused."""
    listed = [row.removeprefix(f"{family}.") for row in rows]
    return f" (of {words.listed(listed)})"


def shown(lines: Sequence[Line]) -> list[Line]:
    """Lines with a row, and those of an estimand that has none under any mixture."""
    known = {line.estimand.name for line in lines if not line.is_empty}
    return [line for line in lines if not line.is_empty or line.estimand.name not in known]


def notes(lines: Sequence[Line]) -> dict[str, list[str]]:
    """Every note of some lines once, in order, with the estimands and families it is about."""
    found: dict[str, dict[str, None]] = {}
    for line in lines:
        for note in line.notes:
            found.setdefault(note, {})[line.estimand.family or line.estimand.name] = None
    return {note: list(about) for note, about in found.items()}


def intervals(lines: Sequence[Line]) -> list[Estimate]:
    """Rows with an interval, engine by engine; bounds from censored scores are no intervals."""
    every = zip(
        *((x.design, x.contrast_wise, x.posterior, x.cohort, x.unpooled) for x in lines),
        strict=True,
    )
    return [row for rows in every for row in rows if row is not None and row.interval is not None]


def is_simultaneous(row: Estimate) -> bool:
    """Whether an interval holds together with those of all rows of its cohort."""
    return row.interval_kind == names.SIMULTANEOUS


def kinds(lines: Sequence[Line]) -> list[str]:
    """What the intervals of each engine are, and whether they hold singly or together."""
    found = []
    for row in intervals(lines):
        how = f"all rows of the {row.cohort} cohort at once" if is_simultaneous(row) else POINTWISE
        kind = f"{100 * row.level:g} % {row.interval_kind}"
        about = [f"{words.engine(row.method)}: {kind}", row.resampling, how]
        found.append(", ".join(part for part in about if part))
    return list(dict.fromkeys(found))


def _places(rows: Sequence[Estimate]) -> int | None:
    valued = [(row.value, row.interval) for row in rows if row.value is not None]
    return words.decimals_together(valued)


def _differ(own: Estimate | None, beside: Estimate | None) -> bool:
    """Whether two rows say different things, the name of their cohort aside."""
    if own is None or beside is None:
        return False
    return replace(own, cohort=beside.cohort) != beside


def _chances(audit: Audit) -> dict[tuple[str, str], dict[str, float]]:
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in audit.probability_rows:
        event = BELOW if row.event.endswith(BELOW) else row.event
        found.setdefault((row.name, row.weights), {})[event] = row.value
    return found


def _strata_agree(audit: Audit, estimand: Estimand) -> bool:
    """Whether the fit gives the estimand the same value in each of several strata."""
    whole = estimand.statistic == names.MEAN and estimand.measure is None
    if audit.tree is None or not whole:
        return False
    values = stratum_values(audit.tree, estimand.contrast)
    if values.shape[2] == 1:
        return False
    return bool(np.ptp(values, axis=2).max() <= 1e-9 * max(1.0, float(np.abs(values).max())))


def is_comparison(contrast: Contrast) -> bool:
    """Whether a contrast compares gains between channels, so that channel offsets cancel."""
    return contrast.compares_gains
