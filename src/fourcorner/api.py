"""The functions that users call from Python; each a thin front of one module.

Invariant: tables come back as pandas frames with the columns of the JSON rows, fits as DataTrees,
and importing the package does not import PyMC. Pinned by `tests/test_api.py`.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from fourcorner import names, results, scores
from fourcorner.contrasts import Contrast
from fourcorner.design import engine as design
from fourcorner.errors import OptionError
from fourcorner.estimands import Estimand, as_estimands
from fourcorner.io import files
from fourcorner.results import Check, Estimate, Probability
from fourcorner.spec import Spec, parse_spec
from fourcorner.weights import TargetWeights, resolve_all

if TYPE_CHECKING:
    from fourcorner.auditing import Audit

Asked = Spec | Contrast | Mapping[str, Contrast | Estimand]
Weights = Mapping[str, str | Mapping[str, float]]

EMPIRICAL: Weights = {names.EMPIRICAL: names.EMPIRICAL}


def read_spec(path: str | Path) -> Spec:
    """Read a spec file.

    Parameters
    ----------
    path : path
        A TOML file; a relative ``data.path`` in it starts from its folder.

    Returns
    -------
    Spec

    Raises
    ------
    SpecError
        With every fault found.
    RunError
        If the file cannot be read.
    """
    path = Path(path)
    return parse_spec(files.read_text(path), directory=path.parent, source=path.name)


def estimate(
    data: xr.Dataset,
    asked: Asked,
    weights: Weights | None = None,
    *,
    cohort: str = names.COHORT_CONTRAST,
    draws: int = design.DRAWS,
    seed: int | None = None,
    level: float = design.LEVEL,
) -> pd.DataFrame:
    """Design-based estimates with plain-bootstrap percentile intervals.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `read_scores` returns them.
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
    weights : mapping of name to "empirical", "equal" or stratum weights, optional
        Default: the spec's, or the empirical mixture.
    cohort : {"contrast", "joint"}
        Transitions complete for each contrast, or complete in every cell.
    draws : int
    seed : int, optional
        Default: the spec's, or 0.
    level : float

    Returns
    -------
    pandas.DataFrame
        One row per estimand and mixture; values in native units. A refused row has no value and
        says why under ``refused``.

    Raises
    ------
    NotIdentified
        If one contrast was asked for alone and is refused.
    WeightsError
        If the weights do not fit the strata.

    Examples
    --------
    >>> import pandas as pd
    >>> from fourcorner import gain, parse_spec, read_scores
    >>> spec = parse_spec('''
    ... kind = "scores"
    ... [data]
    ... score = "margin"
    ... unit = "task"
    ... change = { column = "state", before = "before", after = "after" }
    ... [estimands]
    ... step = { gain = {} }
    ... ''')
    >>> rows = [("a", "before", 0.0), ("a", "after", 1.0), ("b", "before", 0.5), ("b", "after", 1)]
    >>> scores = read_scores(spec, pd.DataFrame(rows, columns=["task", "state", "margin"]))
    >>> float(estimate(scores, gain()).loc[0, "value"])
    0.75
    """
    _check_options(cohort, draws, level)
    estimands, mixtures = _asked(data, asked, weights)
    cells = scores.cells(data)
    if cohort == names.COHORT_JOINT:
        cells = cells[scores.joint(cells)]
    if seed is None:
        seed = asked.sampler.seed if isinstance(asked, Spec) else 0
    sample = design.sample(cells, scores.strata(data), cohort)
    rows = design.estimate(sample, estimands, mixtures, draws=draws, seed=seed, level=level)
    if isinstance(asked, Contrast):
        rows = [design.require(row) for row in rows]
    return results.frame(rows, Estimate)


def fit(
    data: xr.Dataset,
    spec: Spec,
    *,
    seed: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> xr.DataTree:
    """Fit the spec's model; see `fourcorner.bayes.engine.fit`."""
    from fourcorner.bayes import engine

    return engine.fit(data, spec, seed=seed, progress=progress)


def posterior(
    tree: xr.DataTree, asked: Asked, weights: Weights | None = None, *, level: float = design.LEVEL
) -> pd.DataFrame:
    """Posterior estimates of contrasts under any mixture, without refitting.

    Parameters
    ----------
    tree : xarray.DataTree
        As `fit` returns it, or loaded from a run.
    asked, weights
        As for `estimate`.
    level : float

    Returns
    -------
    pandas.DataFrame
        Two rows per estimand and mixture: for units like these, and for this cohort.
    """
    from fourcorner.bayes import posterior as engine

    _check_level(level)
    return results.frame(
        engine.estimates(tree, *_asked_of_tree(tree, asked, weights), level=level), Estimate
    )


def probabilities(tree: xr.DataTree, asked: Asked, weights: Weights | None = None) -> pd.DataFrame:
    """P(contrast < 0) and probabilities of mean reversal; arguments as for `posterior`."""
    from fourcorner.bayes import posterior as engine

    rows = engine.probabilities(tree, *_asked_of_tree(tree, asked, weights))
    return results.frame(rows, Probability)


def check(tree: xr.DataTree, asked: Asked, weights: Weights | None = None) -> pd.DataFrame:
    """Convergence and agreement with the design estimate; arguments as for `posterior`."""
    from fourcorner.checks import convergence, design_agreement

    wanted = _asked_of_tree(tree, asked, weights)
    rows = convergence.check(tree, *wanted) + design_agreement.check(tree, *wanted)
    return results.frame(rows, Check)


def audit(
    data: xr.Dataset,
    spec: Spec,
    *,
    draws: int = design.DRAWS,
    progress: Callable[[str], None] = lambda _: None,
) -> "Audit":
    """Both engines, checked against each other; see `fourcorner.auditing.audit`."""
    from fourcorner.auditing import audit as run

    return run(data, spec, draws=draws, progress=progress)


def save_run(found: "Audit", path: str | Path, *, replace: bool = False) -> Path:
    """Write an audit's run directory; see `fourcorner.runs.write`."""
    from fourcorner import runs

    return runs.write(Path(path), found, replace=replace)


def _check_options(cohort: str, draws: int, level: float) -> None:
    if cohort not in (names.COHORT_CONTRAST, names.COHORT_JOINT):
        raise OptionError(f"cohort = {cohort!r}: expected 'contrast' or 'joint'")
    if draws < 1:
        raise OptionError(f"draws = {draws!r}: expected at least 1")
    _check_level(level)


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise OptionError(f"level = {level!r}: expected a share between 0 and 1, such as 0.95")


def _asked(
    data: xr.Dataset, asked: Asked, weights: Weights | None
) -> tuple[list[Estimand], list[TargetWeights]]:
    return _resolved(asked, weights, scores.strata(data))


def _asked_of_tree(
    tree: xr.DataTree, asked: Asked, weights: Weights | None
) -> tuple[list[Estimand], list[TargetWeights]]:
    from fourcorner.bayes.tree import strata_of_data

    return _resolved(asked, weights, strata_of_data(tree))


def _resolved(
    asked: Asked, weights: Weights | None, strata: list[str]
) -> tuple[list[Estimand], list[TargetWeights]]:
    if weights is None:
        weights = asked.weights if isinstance(asked, Spec) else EMPIRICAL
    return list(as_estimands(asked).values()), resolve_all(weights, strata)
