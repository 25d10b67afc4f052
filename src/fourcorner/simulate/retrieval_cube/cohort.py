"""The cube's cohort: draws calibrated, and set out as tables.

Invariant: the same seed gives the same bytes. Pinned by `tests/test_retrieval_cube.py`
(`test_committed_files_are_regenerated_byte_for_byte`).
"""

from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.simulate.retrieval import TARGETS, Latents, columns
from fourcorner.simulate.retrieval_cube.calibration import calibrated
from fourcorner.simulate.retrieval_cube.mechanism import (
    AUTHORITIES,
    VIEWS,
    draw_cells,
    draw_success,
    layout_effects,
)
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS
from fourcorner.simulate.tables import Cohort, ids, rounded, to_csv_text

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

DEFAULT_SEED = 1575
"""Picked among 0 to 2,999: interval ends within 0.02, skewed Ω, the bridge's AUC difference."""


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed : int
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Cohort
        ``scores`` (4,800 rows: trajectory, target, success, state, view, authority, layout, margin
        in nats) and ``truth`` (1,200 rows: the noise-free ``true_margin`` of each cell, and the
        trajectory's latents).

    Raises
    ------
    CalibrationError
        If the seed's draws cannot be brought to the figures (in none of the first 3,000).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.truth.shape
    ((4800, 8), (1200, 11))
    """
    latent_rng, belief_rng, layout_rng, success_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(4)
    )
    drawn, latents = draw_cells(latent_rng, belief_rng)
    layouts = layout_effects(drawn, layout_rng)
    cells = calibrated(drawn, layouts.mean(axis=-1), latents.target)
    success = draw_success(cells, latents, success_rng)
    return Cohort(
        _score_frame(cells[..., None] + layouts, latents, success),
        _truth_frame(cells, latents),
    )


def _score_frame(margins: Floats, latents: Latents, success: Bools) -> pd.DataFrame:
    """One row per trajectory, state, view, authority and layout."""
    attributes = {"target": np.array(TARGETS)[latents.target], "success": success}
    factors = {"state": STATES, "view": VIEWS, "authority": AUTHORITIES, "layout": LAYOUTS}
    return _long(attributes, factors).assign(margin=rounded(margins.ravel()))


def _truth_frame(cells: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state, view and authority; the latents stand last."""
    drawn = columns(latents, TARGETS)
    factors = {"state": STATES, "view": VIEWS, "authority": AUTHORITIES}
    frame = _long({"target": np.array(TARGETS)[latents.target], **drawn}, factors)
    order = ["trajectory", "target", *factors, "true_margin", *drawn]
    return frame.assign(true_margin=rounded(cells.ravel()))[order]


def _long(
    attributes: Mapping[str, NDArray[np.generic]], factors: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """Cross trajectories with factors, the last varying fastest; attributes go by trajectory."""
    cells = pd.DataFrame(product(*factors.values()), columns=list(factors))
    units = pd.DataFrame({"trajectory": ids("t", UNITS, 3, first=1), **attributes})
    return units.merge(cells, how="cross")


def files() -> dict[str, str | bytes]:
    """The cohort's files as texts, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "retrieval_cube.csv": to_csv_text(cohort.scores),
        "retrieval_cube_truth.csv": to_csv_text(cohort.truth),
    }
