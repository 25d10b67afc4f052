"""The functions that users call from Python; each a thin front of one module.

Invariant: tables come back as pandas frames with the columns of the JSON rows, fits as DataTrees,
and importing the package does not import PyMC. Pinned by `tests/test_api.py`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from fourcorner import names, results, scores
from fourcorner import weights as target_weights
from fourcorner.asking import Asked, Resolved, Weights, resolved
from fourcorner.contrasts import Contrast
from fourcorner.design import bayesian_bootstrap as bayesian
from fourcorner.design import engine as design
from fourcorner.directional import verdicts
from fourcorner.errors import NotAvailable, OptionError
from fourcorner.io import files
from fourcorner.results import Check, Criterion, Estimate, Probability
from fourcorner.spec import DesignSpec, Spec, parse_spec
from fourcorner.spec.criteria import faults

if TYPE_CHECKING:
    from fourcorner.auditing import Audit
    from fourcorner.comparing import Comparison


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
    draws: int | None = None,
    seed: int | None = None,
    level: float = design.LEVEL,
    resampling: str | None = None,
    interval: str | None = None,
    simultaneous: bool | None = None,
) -> pd.DataFrame:
    """Design-based estimates with bootstrap intervals.

    Parameters
    ----------
    data : xarray.Dataset
        Scores, as `read_scores` returns them.
    asked : Spec, Contrast or mapping of name to Contrast or Estimand
    weights : mapping of name to "empirical", "equal" or stratum weights, optional
        Default: the spec's, or the empirical mixture.
    cohort : {"contrast", "joint", "observed"}
        Transitions complete for each contrast, those complete in every cell, or each contrast's
        complete transitions out of all with any cell.
    draws, seed : int, optional
        Of the bootstrap. Default: the spec's, or 10,000 and 0.
    level : float
    resampling : {"plain", "within_strata"}, optional
    interval : {"percentile", "rescaled", "bootstrap_t"}, optional
    simultaneous : bool, optional
        Max-t intervals that hold for all rows at once. These three default to the spec's
        ``[design]``, or to what `fourcorner.design.engine` documents.

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
    OptionError
        If an option is not among its values, or two of them contradict each other.

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
    spec = asked if isinstance(asked, Spec) else None
    given: dict[str, Any] = {
        "draws": draws,
        "resampling": resampling,
        "interval": interval,
        "simultaneous": simultaneous,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    options = replace(DesignSpec() if spec is None else spec.design, **chosen)
    if seed is None:
        seed = 0 if spec is None else spec.sampler.seed
    _check_whole("draws", options.draws, 1)
    _check_whole("seed", seed, 0)
    _check_level(level)
    if not isinstance(options.simultaneous, bool):
        raise OptionError(f"simultaneous = {simultaneous!r}: expected True or False")
    rows = design.estimate(
        design.sample(data, cohort),
        *resolved(asked, weights, scores.strata(data)),
        seed=seed,
        level=level,
        **asdict(options),
    )
    if isinstance(asked, Contrast):
        rows = [design.require(row) for row in rows]
    return results.frame(rows, Estimate)


def bayesian_bootstrap(
    data: xr.Dataset,
    asked: Asked,
    weights: Weights | None = None,
    *,
    cohort: str = names.COHORT_CONTRAST,
    draws: int | None = None,
    seed: int | None = None,
    level: float = design.LEVEL,
    resampling: str | None = None,
) -> pd.DataFrame:
    """Posterior of every design statistic: flat Dirichlet weights of the units, no model.

    Parameters
    ----------
    data, asked, weights, cohort
        As for `estimate`.
    draws, seed : int, optional
        Of the weights. Default: the spec's ``[design] draws`` and seed, or 10,000 and 0.
    level : float
    resampling : {"plain", "within_strata"}, optional
        Weights over all units, or within each stratum, the cohort's mixture held. Default: the
        spec's.

    Returns
    -------
    pandas.DataFrame
        The rows of `estimate` with method ``bayesian_bootstrap``: posterior means with equal-tailed
        credible intervals.

    Raises
    ------
    NotIdentified
        If one contrast was asked for alone and is refused.
    WeightsError
        If the weights do not fit the strata.
    OptionError
        If an option is not among its values.

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
    >>> found = bayesian_bootstrap(scores, gain()).loc[0]
    >>> found["method"], round(float(found["value"]), 2)
    ('bayesian_bootstrap', 0.75)
    """
    spec = asked if isinstance(asked, Spec) else None
    declared = DesignSpec() if spec is None else spec.design
    draws = declared.draws if draws is None else draws
    resampling = declared.resampling if resampling is None else resampling
    if seed is None:
        seed = 0 if spec is None else spec.sampler.seed
    _check_whole("draws", draws, 1)
    _check_whole("seed", seed, 0)
    _check_level(level)
    rows = bayesian.bayesian_bootstrap(
        design.sample(data, cohort),
        *resolved(asked, weights, scores.strata(data)),
        draws=draws,
        seed=seed,
        level=level,
        resampling=resampling,
    )
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
        Two rows per estimand and mixture: for units like these, and for this cohort. Estimands
        that the model has no posterior of are left out where others have one.

    Raises
    ------
    NotAvailable
        If the model has a posterior of none of them, with the reason for each.
    """
    from fourcorner.bayes import posterior as engine
    from fourcorner.bayes.answers import scope

    _check_level(level)
    wanted = _of_tree(tree, asked, weights)
    rows = engine.estimates(tree, *wanted, level=level)
    if not rows:
        raise NotAvailable("; ".join(engine.not_modelled(wanted[0], scope(tree))))
    return results.frame(rows, Estimate)


def probabilities(
    tree: xr.DataTree,
    asked: Asked,
    weights: Weights | None = None,
    *,
    rope: float | None = None,
) -> pd.DataFrame:
    """P(contrast < 0), probabilities of mean reversal and of practical equivalence.

    Parameters
    ----------
    tree, asked, weights
        As for `posterior`.
    rope : float, optional
        Half-width of the region of practical equivalence about zero, native units. Default: that
        of the spec that is asked, else of the spec that was fitted, which the tree keeps; none
        where that spec declares none.

    Returns
    -------
    pandas.DataFrame
        One row per estimand, mixture and event, and of a spec one per criterion and mixture;
        ``docs/spec.md`` lists the events.

    Raises
    ------
    OptionError
        If the rope is not a number above zero.
    """
    from fourcorner.bayes import posterior as engine

    if rope is None:
        rope = asked.model.rope if isinstance(asked, Spec) else tree.attrs.get("rope")
    number = isinstance(rope, int | float) and not isinstance(rope, bool)
    if rope is not None and not (number and 0 < rope < math.inf):
        raise OptionError(f"rope = {rope!r}: expected a number above 0, in the score's units")
    wanted = _of_tree(tree, asked, weights)
    rows = engine.probabilities(tree, *wanted, rope=rope)
    if isinstance(asked, Spec):
        rows += engine.conjunctions(tree, *wanted, asked.criteria)
    return results.frame(rows, Probability)


def sign_flips(
    tree: xr.DataTree, asked: Asked, weights: Weights | None = None, *, level: float = design.LEVEL
) -> pd.DataFrame:
    """How often the two gains of a new transition lie on opposite sides of zero.

    Parameters
    ----------
    tree, asked, weights
        As for `posterior`; of the estimands those count that are differences of two gains.
    level : float

    Returns
    -------
    pandas.DataFrame
        One row for each estimand, target (a mixture, or one ``stratum``, and of a model of
        transitions one ``step``) and ``orientation``: ``+-`` (first gain above zero, second below),
        ``-+``, or ``either``. ``value`` is the posterior mean of the share of transitions, with its
        equal-tailed interval ``lower`` and ``upper``.

    Raises
    ------
    NotAvailable
        If none of the estimands is a difference of two gains.

    Examples
    --------
    >>> fc.sign_flips(audit.tree, audit.spec)  # doctest: +SKIP
    """
    from fourcorner.bayes.flips import table

    _check_level(level)
    return table(tree, *_of_tree(tree, asked, weights), level)


def unit_gains(
    tree: xr.DataTree, contrast: Contrast, *, level: float = design.LEVEL
) -> pd.DataFrame:
    """Each unit's own contrast with retry noise taken out, pulled towards its stratum.

    Parameters
    ----------
    tree : DataTree
        A fit of the normal family to scores with waves.
    contrast : Contrast
        Such as ``fc.gain(view="generated")``, or an Ω for whether the unit's own gains flip.
    level : float

    Returns
    -------
    pandas.DataFrame
        One row for each unit: ``measured``, posterior ``mean``, ``sd``, ``lower``, ``upper``,
        ``below_zero`` and, of a difference of two gains, ``flip``.

    Raises
    ------
    NotAvailable
        If the fit has no retry noise: the unit's gain is then the measured one.

    Examples
    --------
    >>> fc.unit_gains(audit.tree, fc.omega(view=("direct", "generated")))  # doctest: +SKIP
    """
    from fourcorner.bayes.latent import latent

    _check_level(level)
    return latent(tree, contrast, level)


def criteria(
    estimates: pd.DataFrame, asked: Spec | Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Judge directional criteria: whether every estimate lies on its declared side of zero.

    Parameters
    ----------
    estimates : pandas.DataFrame
        As `estimate` or `posterior` return it.
    asked : Spec or mapping of name to mapping of estimate to "+" or "-"
        The criteria, or the spec whose ``[criteria]`` they are.

    Returns
    -------
    pandas.DataFrame
        One row per criterion, mixture and method: ``supported`` where each interval lies on its
        side, ``contradicted`` where one lies on the other, else ``unresolved``; ``parts`` says it
        of each estimate.

    Raises
    ------
    OptionError
        If these are not what they should be, a criterion names an estimate that is not there or
        has no sign, or a sign is not "+" or "-".

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
    >>> rows = [(f"t{i}", state, i * after) for i in range(1, 9) for after, state in
    ...         enumerate(("before", "after"))]
    >>> scores = read_scores(spec, pd.DataFrame(rows, columns=["task", "state", "margin"]))
    >>> found = estimate(scores, {"step": gain()}, draws=500)
    >>> criteria(found, {"helps": {"step": "+"}})["verdict"].tolist()
    ['supported']
    """
    declared = asked.criteria if isinstance(asked, Spec) else asked
    if not isinstance(estimates, pd.DataFrame) or "signed" not in estimates:
        raise OptionError(
            f"estimates is a {type(estimates).__name__}; expected the frame that fc.estimate or "
            f"fc.posterior returns"
        )
    if not isinstance(declared, Mapping) or not all(
        isinstance(signs, Mapping) for signs in declared.values()
    ):
        raise OptionError(
            f'asked = {asked!r}: expected a spec, or criteria such as {{"down": {{"omega": "-"}}}}'
        )
    rows = results.rows(estimates, Estimate)
    if wrong := faults(declared, {row.name: row.signed for row in rows}):
        raise OptionError("; ".join(wrong))
    return results.frame(verdicts(declared, rows), Criterion)


def check(tree: xr.DataTree, asked: Asked, weights: Weights | None = None) -> pd.DataFrame:
    """Convergence, agreement with the design estimate, LOO, prior sensitivity and pooling.

    Parameters
    ----------
    tree, asked, weights
        As for `posterior`. A tree has no bootstrap: pooling compares the posterior with and
        without it, and `audit` puts the design estimate beside them.
    """
    from fourcorner.bayes import posterior as engine
    from fourcorner.checks import convergence, design_agreement, loo, pooling, prior_sensitivity

    wanted = _of_tree(tree, asked, weights)
    rows = [
        *convergence.check(tree, *wanted),
        *loo.check(tree),
        *prior_sensitivity.check(tree, *wanted),
        *design_agreement.check(tree, *wanted),
        *pooling.check([*engine.estimates(tree, *wanted), *engine.unpooled(tree, *wanted)]),
    ]
    return results.frame(rows, Check)


def compare(
    data: xr.Dataset,
    spec: Spec,
    families: Sequence[str] | None = None,
    *,
    refits: int = 5,
    progress: Callable[[str], None] = lambda _: None,
) -> "Comparison":
    """Several families on the same cells, checked and compared by LOO.

    See `fourcorner.comparing.compare`.
    """
    from fourcorner.comparing import compare as run

    return run(data, spec, families, refits=refits, progress=progress)


def audit(
    data: xr.Dataset,
    spec: Spec,
    *,
    draws: int | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> "Audit":
    """Both engines, checked against each other; see `fourcorner.auditing.audit`."""
    from fourcorner.auditing import audit as run

    return run(data, spec, draws=draws, progress=progress)


def reweight(run: "Audit | str | Path", weights: Weights | str | Sequence[str]) -> "Audit":
    """The scores and the fit of a run under other target weights, without refitting.

    Parameters
    ----------
    run : Audit or path
        As `audit` or `load_run` return it, or the directory of a saved run.
    weights : mapping as for `estimate`, text or sequence of texts
        A text is a name of the run's spec, ``"equal"``, ``"empirical"``, or weights such as
        ``"yes=0.5,no=0.5"``.

    Returns
    -------
    Audit
        What an audit with these mixtures gives: design rows, posterior rows, probabilities,
        checks and breakdowns.

    Raises
    ------
    WeightsError
        If the weights do not fit the strata.
    RunError
        If the run is not as it was saved.
    """
    from fourcorner.auditing import Audit
    from fourcorner.auditing import reweight as again

    found = run if isinstance(run, Audit) else load_run(run)
    return again(found, _mixtures(weights, found.spec))


def save_run(found: "Audit", path: str | Path, *, replace: bool = False) -> Path:
    """Write an audit's run directory; see `fourcorner.runs.write`."""
    from fourcorner import runs

    return runs.write(Path(path), found, replace=replace)


def load_run(path: str | Path) -> "Audit":
    """Read a run directory back, every file's hash checked; see `fourcorner.runs.load`."""
    from fourcorner import runs

    return runs.load(Path(path))


def _mixtures(asked: Weights | str | Sequence[str], spec: Spec) -> Weights:
    if not asked:
        raise OptionError(f"weights = {asked!r}: expected a mixture, 'equal' or 'yes=0.5,no=0.5'")
    if isinstance(asked, Mapping):
        return asked
    texts = [asked] if isinstance(asked, str) else asked
    return {text: target_weights.parse(text, spec.weights) for text in texts}


def _check_whole(name: str, value: int, least: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < least:
        raise OptionError(f"{name} = {value!r}: expected a whole number, {least} or more")


def _check_level(level: float) -> None:
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise OptionError(f"level = {level!r}: expected a share between 0 and 1, such as 0.95")


def _of_tree(tree: xr.DataTree, asked: Asked, weights: Weights | None) -> Resolved:
    from fourcorner.bayes.tree import strata_of_data

    return resolved(asked, weights, strata_of_data(tree))
