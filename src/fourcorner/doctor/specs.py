"""What a spec can get out of its table, before anything is estimated.

Invariant: no value is told, only what it would rest on; refusals and reasons are the engines' own.
Pinned by `tests/test_doctor.py`.
"""

from collections.abc import Iterator
from typing import Any

import xarray as xr

from fourcorner import names, scores
from fourcorner.asking import resolved
from fourcorner.design import engine as design
from fourcorner.design.intervals import SMALL_STRATUM
from fourcorner.design.options import Options
from fourcorner.errors import FitError, counted
from fourcorner.estimands import Estimand
from fourcorner.results import Estimate
from fourcorner.spec import Spec
from fourcorner.spec.families import FAMILIES

COUNTS = ("units", "transitions")


def describe_scores(data: xr.Dataset, spec: Spec) -> dict[str, Any]:
    """The funnel, what is identified, which engines apply, and what to run next.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `fourcorner.read_scores` returns them.
    spec : Spec

    Returns
    -------
    dict
        ``holds``: units, factors, strata and waves; ``funnel``; ``estimands``: each with its
        complete units and transitions, and the refusal with its witness and what would identify
        it; ``weights`` that some estimand cannot have; ``small_strata``; ``models`` and why they
        apply or not; ``not_available``; ``next``: what to run.

    Raises
    ------
    WeightsError
        If weights do not fit the strata.
    """
    estimands, mixtures = resolved(spec, None, scores.strata(data))
    rows = design.run(design.sample(data), estimands, mixtures, Options(draws=0))
    model = _model(data, spec, estimands)
    applies = model["applies"]
    return {
        "title": spec.title,
        "holds": _holds(data, spec),
        "funnel": scores.funnel(data),
        "estimands": [_estimand(item, rows) for item in estimands],
        "weights": list(_weights(rows)),
        "small_strata": _small(data),
        "models": [model],
        "not_available": [*([] if applies else [f"posterior: {model['why']}"]), *model["without"]],
        "next": "fourcorner audit" if applies else "fourcorner estimate",
    }


def _holds(data: xr.Dataset, spec: Spec) -> dict[str, Any]:
    """What is in the scores: counts, factors with their levels, waves and sessions."""
    replicates = {name: data[name].values.tolist() for name in scores.replicate_dims(data)}
    return {
        "units": len(set(data[names.UNIT].values.tolist())),
        "transitions": data.sizes[names.TRANSITION],
        "channel": {name: list(levels) for name, levels in spec.data.channel.items()},
        "replicate": replicates,
        "attributes": list(spec.data.attributes),
        "strata": _strata(data),
        "waves": _waves(data),
    }


def _strata(data: xr.Dataset) -> list[dict[str, Any]]:
    """Units of each stratum, all of them and those complete in every cell."""
    if names.STRATUM not in data.coords:
        return []
    complete = scores.joint(scores.cells(data))
    units, labels = data[names.UNIT].values, data[names.STRATUM].values
    return [
        {
            "stratum": name,
            "units": len(set(units[labels == name].tolist())),
            "units_in_cohort": len(set(units[(labels == name) & complete].tolist())),
        }
        for name in scores.strata(data)
    ]


def _small(data: xr.Dataset) -> list[str]:
    """Strata too small to show their spread, in words."""
    return [
        f"{found['stratum']}: {counted(found['units_in_cohort'], 'unit')} complete in every cell"
        for found in _strata(data)
        if found["units_in_cohort"] < SMALL_STRATUM
    ]


def _waves(data: xr.Dataset) -> dict[str, Any] | None:
    """Waves with their sessions, and whether they measure retry noise; None without waves."""
    if names.WAVE not in scores.replicate_dims(data):
        return None
    waves = data[names.WAVE].values.tolist()
    if names.SESSION in data.coords:
        sessions = dict(zip(waves, data[names.SESSION].values.tolist(), strict=True))
    else:
        sessions = dict.fromkeys(waves, "")
    most = max(list(sessions.values()).count(session) for session in sessions.values())
    return {
        "sessions": sessions,
        "retry_noise": "measured within sessions" if most > 1 else "not measured: one wave each",
    }


def _estimand(estimand: Estimand, rows: list[Estimate]) -> dict[str, Any]:
    """Whether an estimand is identified, and what its estimate would rest on."""
    mine = [row for row in rows if row.name == estimand.name]
    refusals = [row.refused for row in mine]
    refused = refusals[0] if refusals and None not in refusals else None
    return {
        "name": estimand.name,
        "statistic": estimand.statistic,
        "identified": refused is None,
        **{count: max((getattr(row, count) for row in mine), default=0) for count in COUNTS},
        "refused": refused,
    }


def _weights(rows: list[Estimate]) -> Iterator[dict[str, Any]]:
    """Mixtures that an estimand cannot have although it has others."""
    possible = {row.name for row in rows if row.refused is None}
    for row in rows:
        if row.refused is not None and row.name in possible:
            yield {"weights": row.weights, "name": row.name, "refused": row.refused}


def _model(data: xr.Dataset, spec: Spec, estimands: list[Estimand]) -> dict[str, Any]:
    """Whether the declared model can be fitted, and which estimands it does not know."""
    if spec.model.family == names.BAYESIAN_BOOTSTRAP:
        return {
            "family": spec.model.family,
            "cohort": names.COHORT_CONTRAST,
            "applies": True,
            "why": None,
            "without": [],
        }
    from fourcorner.bayes import data as bayes
    from fourcorner.bayes.answers import CELLS, Scope, not_modelled
    from fourcorner.bayes.transitions.data import fitted_cells, prepared

    why, of = None, CELLS
    cells = scores.cells(data)
    try:
        if FAMILIES[spec.model.family].transitions:
            every = scores.waves(data)
            of = Scope(True, spec.model.wave or every, every)
            prepared(fitted_cells(data, spec.model), spec.model.step)
        elif spec.model.cohort == names.COHORT_OBSERVED:
            bayes.observed_cells(cells)
        else:
            bayes.joint_cells(cells, scores.joint(cells))
    except FitError as error:
        why = str(error)
    return {
        "family": spec.model.family,
        "cohort": spec.model.cohort,
        "applies": why is None,
        "why": why,
        "without": [] if why else not_modelled(estimands, of),
    }
