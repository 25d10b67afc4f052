"""The face's cohort: draws calibrated, thinned by what is missing, and set out as tables.

Invariant: the same seed gives the same bytes. Pinned by `tests/test_retrieval_face.py`
(`test_committed_files_are_regenerated_byte_for_byte`).
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.simulate.retrieval import TARGETS, Latents, columns
from fourcorner.simulate.retrieval_face.calibration import calibrated
from fourcorner.simulate.retrieval_face.mechanism import (
    DIRECT,
    VIEWS,
    draw_cells,
    draw_latents,
    layout_effects,
)
from fourcorner.simulate.retrieval_face.missing import Missing, draw_missing
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS
from fourcorner.simulate.tables import Cohort, ids, rounded, to_csv_text

Floats = NDArray[np.float64]

DEFAULT_SEED = 2416
"""Picked among 0 to 2,999: small shifts, heavy tails, a generated gain clear of zero, ends near."""


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed : int
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Cohort
        ``scores`` (2,368 rows: trajectory, target, direct_complete, state, view, layout, margin in
        nats, NaN where a score was lost) and ``truth`` (600 rows: the noise-free ``true_margin`` of
        each cell, and the trajectory's latents).

    Raises
    ------
    CalibrationError
        If the seed's layout noise leaves no room for the figures (in none of the first 3,000).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.truth.shape
    ((2368, 7), (600, 10))
    """
    latent_rng, belief_rng, layout_rng, missing_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)
    )
    latents = draw_latents(latent_rng)
    drawn = draw_cells(latents, belief_rng)
    layouts = layout_effects(drawn, layout_rng)
    missing = draw_missing(missing_rng)
    cells = calibrated(drawn, layouts.mean(axis=-1), missing.complete)
    scores = _score_frame(cells[..., None] + layouts, latents, missing)
    return Cohort(scores, _truth_frame(cells, latents))


def _score_frame(margins: Floats, latents: Latents, missing: Missing) -> pd.DataFrame:
    """One row per trajectory, state, view and layout that was asked for."""
    asked = np.ones(margins.shape, dtype=bool)
    asked[missing.unasked, :, DIRECT] = False
    found = margins.copy()
    found[:, :, DIRECT][missing.lost] = np.nan
    unit, state, view, layout = np.nonzero(asked)
    return pd.DataFrame(
        {
            "trajectory": ids("t", UNITS, 3, first=1)[unit],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "direct_complete": missing.complete[unit],
            "state": np.array(STATES, dtype=object)[state],
            "view": np.array(VIEWS, dtype=object)[view],
            "layout": np.array(LAYOUTS, dtype=object)[layout],
            "margin": rounded(found[asked]),
        }
    )


def _truth_frame(cells: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state and view; the latents stand last."""
    unit, state, view = (index.ravel() for index in np.indices(cells.shape))
    drawn = columns(latents, TARGETS)
    return pd.DataFrame(
        {
            "trajectory": ids("t", UNITS, 3, first=1)[unit],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "state": np.array(STATES, dtype=object)[state],
            "view": np.array(VIEWS, dtype=object)[view],
            "true_margin": rounded(cells.ravel()),
            **{name: values[unit] for name, values in drawn.items()},
        }
    )


def files() -> dict[str, str | bytes]:
    """The cohort's files as texts, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "retrieval_face.csv": to_csv_text(cohort.scores),
        "retrieval_face_truth.csv": to_csv_text(cohort.truth),
    }
