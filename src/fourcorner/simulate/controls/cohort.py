"""The controls' cohort: draws calibrated, thinned by what is missing, and set out as tables.

Invariant: the same seed gives the same bytes. Pinned by `tests/test_controls.py`
(`test_committed_files_are_regenerated_byte_for_byte`).
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.simulate.controls.calibration import calibrated
from fourcorner.simulate.controls.mechanism import (
    CONTROLS,
    draw_cells,
    draw_missing,
    draw_tasks,
    layout_effects,
)
from fourcorner.simulate.retrieval import TARGETS, Latents, columns
from fourcorner.simulate.retrieval_face.mechanism import draw_latents
from fourcorner.simulate.study import LAYOUTS, STATES
from fourcorner.simulate.tables import Cohort, rounded, to_csv_text

Floats = NDArray[np.float64]

DEFAULT_SEED = 27
"""Picked among 0 to 149: small shifts, and a heavy-tailed shift of evidence primary."""


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed : int
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Cohort
        ``scores`` (3,200 rows: trajectory, target, task_family, words, donor, state, control,
        layout, margin in nats, NaN where a score was lost) and ``truth`` (800 rows: the noise-free
        ``true_margin`` of each cell, and the trajectory's latents).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.truth.shape
    ((3200, 9), (800, 10))
    """
    latent_rng, task_rng, belief_rng, layout_rng, missing_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)
    )
    latents = draw_latents(latent_rng)
    tasks = draw_tasks(latents.found, task_rng)
    donor = pd.Index(tasks["trajectory"]).get_indexer(pd.Index(tasks["donor"]))
    drawn = draw_cells(latents, donor, belief_rng)
    layouts = layout_effects(drawn, layout_rng)
    missing = draw_missing(missing_rng)
    complete = ~missing.any(axis=(1, 2, 3))
    cells = calibrated(drawn, layouts.mean(axis=-1), complete)
    margins = np.where(missing, np.nan, cells[..., None] + layouts)
    return Cohort(_score_frame(margins, latents, tasks), _truth_frame(cells, latents, tasks))


def _score_frame(margins: Floats, latents: Latents, tasks: pd.DataFrame) -> pd.DataFrame:
    """One row per trajectory, state, control and layout."""
    unit, state, control, layout = (index.ravel() for index in np.indices(margins.shape))
    return pd.DataFrame(
        {
            "trajectory": tasks["trajectory"].to_numpy()[unit],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "task_family": tasks["task_family"].to_numpy()[unit],
            "words": tasks["words"].to_numpy()[unit],
            "donor": tasks["donor"].to_numpy()[unit],
            "state": np.array(STATES, dtype=object)[state],
            "control": np.array(CONTROLS, dtype=object)[control],
            "layout": np.array(LAYOUTS, dtype=object)[layout],
            "margin": rounded(margins.ravel()),
        }
    )


def _truth_frame(cells: Floats, latents: Latents, tasks: pd.DataFrame) -> pd.DataFrame:
    """One row per trajectory, state and control; the latents stand last."""
    unit, state, control = (index.ravel() for index in np.indices(cells.shape))
    drawn = columns(latents, TARGETS)
    return pd.DataFrame(
        {
            "trajectory": tasks["trajectory"].to_numpy()[unit],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "state": np.array(STATES, dtype=object)[state],
            "control": np.array(CONTROLS, dtype=object)[control],
            "true_margin": rounded(cells.ravel()),
            **{name: values[unit] for name, values in drawn.items()},
        }
    )


def files() -> dict[str, str | bytes]:
    """The cohort's files as texts, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "controls.csv": to_csv_text(cohort.scores),
        "controls_truth.csv": to_csv_text(cohort.truth),
    }
