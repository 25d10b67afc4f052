"""Several families of the model on one table: what each foresees, and which to rest on.

A family that fails a gate is not favoured whatever it foresees: one that puts the location in the
bulk of a skewed population describes its units better than a normal, and their mean worse. Of the
families that pass their gates LOO favours those that are not told apart from the best. A Bayesian
bootstrap is shown beside them: it has no gate and no log likelihood.

Invariant: all families fit the same units and cells, and their log densities are of the same cells
in the same units, so that differences of LOO mean something. Pinned by `tests/test_loo.py`.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from fourcorner import names, results, scores
from fourcorner.asking import Resolved, resolved
from fourcorner.checks.rows import DESIGN_AGREEMENT
from fourcorner.design import bayesian_bootstrap as bayesian
from fourcorner.design import engine as design
from fourcorner.errors import NotAvailable, OptionError
from fourcorner.results import Check
from fourcorner.sections import nearest
from fourcorner.spec import Spec, as_family
from fourcorner.spec.families import FAMILIES

Progress = Callable[[str], None]

REFITS = 5
APART = 2.0  # standard errors of a difference that LOO tells apart
COLUMNS = ("rank", "elpd", "se", "elpd_diff", "dse", "p", "weight")


@dataclass(frozen=True)
class Comparison:
    """Fits of several families to one table, checked and compared.

    Attributes
    ----------
    title : str
        Of the spec.
    table : pandas.DataFrame
        One row for each family that was fitted, by ``family``: rank, elpd with its standard error
        ``se``, ``elpd_diff`` from the best with its standard error ``dse``, effective parameters
        ``p`` and stacking ``weight``, as `arviz.compare` gives them; ``bad_k``, units with a Pareto
        k above 0.7; ``gates``, ``"pass"``, ``"fail"``, or ``"not_run"`` of a Bayesian bootstrap.
        Numbers of LOO are missing where a fit left its log likelihood out, or there is none.
    favoured : tuple of str
        Families that pass their gates and that LOO does not tell apart from the best of these;
        none where no family passes.
    sentences : tuple of str
        Which are favoured, and why the others are not.
    check_rows : mapping of family to list of Check
    not_available : mapping of family to str
        Families that do not suit the data, and why.
    trees : mapping of family to DataTree
    """

    title: str
    table: pd.DataFrame
    favoured: tuple[str, ...]
    sentences: tuple[str, ...]
    check_rows: Mapping[str, list[Check]]
    not_available: Mapping[str, str]
    trees: Mapping[str, xr.DataTree] = field(repr=False)

    def document(self) -> dict[str, Any]:
        """Everything but the trees as one JSON-ready object."""
        known = self.table.astype(object).where(self.table.notna(), None)
        return {
            "title": self.title,
            "families": known.to_dict("records"),
            "favoured": list(self.favoured),
            "sentences": list(self.sentences),
            "checks": {name: results.records(rows) for name, rows in self.check_rows.items()},
            "not_available": dict(self.not_available),
        }


class Lead(NamedTuple):
    """How far a family is ahead of another by LOO, and the standard error of that."""

    by: float
    error: float

    @property
    def told_apart(self) -> bool:
        """Whether the lead is more than two standard errors."""
        return self.by > APART * self.error


def compare(
    data: xr.Dataset,
    spec: Spec,
    families: Sequence[str] | None = None,
    *,
    refits: int = REFITS,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Fit several families to the same cells, check each and compare them by PSIS-LOO.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    spec : Spec
        Its family is not used; what a family does not use is left out for it.
    families : sequence of str, optional
        Default: those that suit the data, the normal and Student cell models for one change per
        unit, and for many the transition model with the Bayesian bootstrap beside it. With
        ``bayesian_bootstrap`` among them it is shown beside the design estimates.
    refits : int
        A family is fitted again without each unit whose Pareto k is above 0.7 where there are at
        most so many of them; 0 for none.
    progress : callable
        Told in words what is being done.

    Returns
    -------
    Comparison

    Raises
    ------
    OptionError
        If a family is not known or named twice, or none is named.
    NotAvailable
        If no family suits the data, with the reason for each.
    """
    families = suited(data) if families is None else families
    _require(families)
    asked = resolved(spec, None, scores.strata(data))
    trees: dict[str, xr.DataTree] = {}
    missing: dict[str, str] = {}
    weighed = names.BAYESIAN_BOOTSTRAP in families
    for family in families:
        if family == names.BAYESIAN_BOOTSTRAP:
            continue
        try:
            trees[family] = _fit(data, spec, family, progress)
        except NotAvailable as error:
            missing[family] = str(error)
    if not trees and not weighed:
        raise NotAvailable("; ".join(f"{family}: {why}" for family, why in missing.items()))
    progress("checks")
    foreseen = _foreseen(trees)
    for family, found in foreseen.items():
        foreseen[family] = _refitted(
            found, data, _chosen(spec, family), trees[family], refits, progress
        )
    rows = {family: _checks(tree, asked, foreseen.get(family)) for family, tree in trees.items()}
    failed = {family: _failed(found) for family, found in rows.items()}
    table = _table(foreseen, failed)
    favoured = _favoured(table, foreseen)
    said = _sentences(table, foreseen, favoured, failed)
    if weighed:
        beside = _beside_design(data, spec, asked)
        rows[names.BAYESIAN_BOOTSTRAP] = beside
        said.append(_not_compared(beside))
        table = _with_weighed(table)
    return Comparison(spec.title, table, favoured, tuple(said), rows, missing, trees)


def suited(data: xr.Dataset) -> tuple[str, ...]:
    """The families that are compared where none is named: those for as many changes per unit."""
    units = data[names.UNIT].values
    if len(np.unique(units)) < len(units):
        return names.TRANSITION_FAMILY, names.BAYESIAN_BOOTSTRAP
    return names.NORMAL, names.STUDENT


def _require(families: Sequence[str]) -> None:
    for name in families:
        if name not in FAMILIES:
            listed = ", ".join(FAMILIES)
            raise OptionError(f"no family {name!r}{nearest(name, FAMILIES)}: expected {listed}")
    if isinstance(families, str) or not families or len(set(families)) < len(families):
        raise OptionError(f"families = {families!r}: expected some families, each once")


def _fit(data: xr.Dataset, spec: Spec, family: str, progress: Progress) -> xr.DataTree:
    from fourcorner.bayes import engine

    return engine.fit(
        data, _chosen(spec, family), progress=lambda said: progress(f"{family}: {said}")
    )


def _chosen(spec: Spec, family: str) -> Spec:
    """The spec for another family."""
    model, priors, sampler = as_family(spec.model, spec.priors, spec.sampler, family)
    return replace(spec, model=model, priors=priors, sampler=sampler)


def _refitted(
    found: Any,  # noqa: ANN401 - ArviZ's
    data: xr.Dataset,
    spec: Spec,
    tree: xr.DataTree,
    refits: int,
    progress: Progress,
) -> Any:  # noqa: ANN401
    """LOO with exact terms for units of a large k; as it was where a refit is not possible."""
    from fourcorner.checks.refits import exact

    def tell(said: str) -> None:
        progress(f"{spec.model.family}: {said}")

    try:
        return exact(found, data, spec, tree, most=refits, tell=tell)
    except NotAvailable as error:
        tell(f"no refits: {error}")
        return found


def _foreseen(trees: Mapping[str, xr.DataTree]) -> dict[str, Any]:
    """PSIS-LOO of the fits that kept their log likelihood."""
    from fourcorner.checks import loo

    return {
        name: loo.leave_one_out(tree)
        for name, tree in trees.items()
        if names.LOG_LIKELIHOOD in tree.children
    }


def _checks(tree: xr.DataTree, asked: Resolved, foreseen: Any) -> list[Check]:  # noqa: ANN401
    from fourcorner.checks import convergence, design_agreement, loo

    agreement = design_agreement.check(tree, *asked)
    return [
        *convergence.check(tree, *asked),
        *(row for row in agreement if row.name == design_agreement.NAME),
        *(loo.check(tree) if foreseen is None else loo.rows(foreseen)),
    ]


def _beside_design(data: xr.Dataset, spec: Spec, asked: Resolved) -> list[Check]:
    """What there is to say of a Bayesian bootstrap: the design estimates of the same units."""
    from fourcorner.checks import bayesian_bootstrap as checks

    cohort = design.sample(data)
    chosen = bayesian.options(
        spec.design.draws, spec.sampler.seed, design.LEVEL, spec.design.resampling
    )
    once = replace(chosen, draws=0, method=names.DESIGN)
    found = bayesian.rows(bayesian.weighed(cohort, *asked, chosen), chosen.level)
    return checks.check([*design.run(cohort, *asked, once), *found])


def _failed(rows: Sequence[Check]) -> list[Check]:
    return [row for row in rows if row.gated and row.verdict == names.FAIL]


def _table(foreseen: Mapping[str, Any], failed: Mapping[str, list[Check]]) -> pd.DataFrame:
    """A row for each family, the best by LOO first."""
    from fourcorner.checks import loo

    ranked = _ranked(foreseen)
    listed = [*ranked.index, *(name for name in failed if name not in foreseen)]
    table = ranked.reindex(listed).rename_axis("family").reset_index()
    bad = [float(loo.unreliable(foreseen[x])) if x in foreseen else None for x in listed]
    gates = [names.FAIL if failed[x] else names.PASS for x in listed]
    return table.assign(bad_k=pd.Series(bad, dtype=float), gates=gates)


def _with_weighed(table: pd.DataFrame) -> pd.DataFrame:
    """The table with a last row, of a Bayesian bootstrap."""
    last = table.reindex([len(table)])
    last = last.assign(family=names.BAYESIAN_BOOTSTRAP, gates=names.NOT_RUN)
    return last if table.empty else pd.concat([table, last], ignore_index=True)


def _ranked(foreseen: Mapping[str, Any]) -> pd.DataFrame:
    """ArviZ's comparison; of one family what there is to say of it."""
    import arviz as az

    if len(foreseen) > 1:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="All models have nearly identical")
            return az.compare(dict(foreseen), round_to="none")[list(COLUMNS)].astype(float)
    alone = [(0.0, of.elpd, of.se, 0.0, 0.0, of.p, 1.0) for of in foreseen.values()]
    return pd.DataFrame(alone, columns=list(COLUMNS), index=list(foreseen), dtype=float)


def _favoured(table: pd.DataFrame, foreseen: Mapping[str, Any]) -> tuple[str, ...]:
    """Of the families that pass those that LOO does not tell apart from the best of them."""
    passing = table["family"][table["gates"] == names.PASS].tolist()
    if not passing or any(name not in foreseen for name in passing):
        return tuple(passing)
    best = foreseen[passing[0]]  # the table is ranked
    return tuple(name for name in passing if not _lead(best, foreseen[name]).told_apart)


def _lead(first: Any, second: Any) -> Lead:  # noqa: ANN401 - ArviZ's
    """How far one family is ahead of another by LOO."""
    gap = first.elpd_i.values - second.elpd_i.values
    return Lead(float(gap.sum()), float(len(gap) ** 0.5 * gap.std()))


def _sentences(
    table: pd.DataFrame,
    foreseen: Mapping[str, Any],
    favoured: Sequence[str],
    failed: Mapping[str, list[Check]],
) -> list[str]:
    listed = table["family"].tolist()
    said = [
        _verdict(favoured, len(failed), len(foreseen)),
        *(_why_failed(name, failed[name]) for name in listed if failed[name]),
    ]
    for best in [name for name in favoured if name in foreseen][:1]:
        others = [name for name in listed if name != best and name in foreseen]
        said += [_beside(name, best, _lead(foreseen[name], foreseen[best])) for name in others]
    rough = table["family"][table["bad_k"] > 0].tolist()
    if rough:
        said.append(
            f"LOO of {' and '.join(rough)} rests on units with a Pareto k above 0.7: its "
            f"differences are a hint until those units are refitted without"
        )
    return said


def _verdict(favoured: Sequence[str], fitted: int, foreseen: int) -> str:
    if not fitted:
        return "no family is favoured: none with a log likelihood was fitted"
    if not favoured:
        return "no family is favoured: none passes its gates"
    listed = " and ".join(favoured)
    if len(favoured) > 1:
        why = "they pass their gates, and LOO does not tell them apart"
        if foreseen < fitted:
            why = "they pass their gates, and a fit left out what LOO needs"
        return f"favoured: {listed}; {why}"
    if fitted == 1:
        return f"favoured: {listed}, the only family fitted; it passes its gates"
    return f"favoured: {listed}"


def _not_compared(rows: Sequence[Check]) -> str:
    """Why LOO says nothing of a Bayesian bootstrap, and how near the design estimates it is."""
    said = f"{names.BAYESIAN_BOOTSTRAP} has no log likelihood, so LOO cannot compare it"
    beside = [row for row in rows if row.name == DESIGN_AGREEMENT]
    if not beside:
        return said
    worst = max(beside, key=lambda row: abs(row.value or 0.0))
    return f"{said}; furthest from a design estimate on {worst.target}: {worst.message}"


def _why_failed(name: str, failed: Sequence[Check]) -> str:
    worst = max(failed, key=lambda row: (row.name == DESIGN_AGREEMENT, abs(row.value or 0.0)))
    more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
    check = worst.name.replace("_", " ")
    return f"{name} fails {check} on {worst.target}{more}: {worst.message}"


def _beside(name: str, best: str, lead: Lead) -> str:
    side = "better" if lead.by > 0 else "worse"
    how = "" if abs(lead.by) > APART * lead.error else ", which LOO does not tell apart from none"
    return (
        f"{name} foresees units {side} than {best} by {abs(lead.by):.1f} (standard error "
        f"{lead.error:.1f}){how}"
    )
