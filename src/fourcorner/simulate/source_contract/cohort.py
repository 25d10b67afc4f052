"""The source contract's cohort: draws calibrated, and set out as tables.

Invariant: the same seed gives the same bytes. Pinned by `tests/test_source_contract.py`
(`test_committed_files_are_regenerated_byte_for_byte`).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.simulate.retrieval import TARGETS
from fourcorner.simulate.source_contract.calibration import calibrated
from fourcorner.simulate.source_contract.claims import counted
from fourcorner.simulate.source_contract.mechanism import (
    AUDITED,
    VIEWS,
    Latents,
    draw_cells,
    layout_effects,
)
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS
from fourcorner.simulate.tables import ids, rounded, to_csv_text

Floats = NDArray[np.float64]

DEFAULT_SEED = 2023
"""Picked among 0 to 2,999 for ends of plain bootstrap intervals near the published ones: in the
package's own, of seed 0, none is further than 0.05 from it."""


class Audited(NamedTuple):
    """The scores as acquired, the parser's counts, and what is behind both."""

    scores: pd.DataFrame
    claims: pd.DataFrame
    truth: pd.DataFrame


def generate(seed: int = DEFAULT_SEED) -> Audited:
    """Generate the cohort.

    Parameters
    ----------
    seed : int
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Audited
        ``scores`` (2,400 rows: trajectory, target, artifact, state, view, layout, margin in
        nats), ``claims`` (400 rows: for how many of the three concrete candidates the view claims
        support) and ``truth`` (600 rows: the noise-free ``true_margin`` of each cell, and the
        trajectory's latents).

    Raises
    ------
    CalibrationError
        If the seed's draws cannot be brought to the figures (in two of the first 200).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.claims.shape, cohort.truth.shape
    ((2400, 7), (400, 6), (600, 11))
    """
    latent_rng, belief_rng, layout_rng = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)
    )
    drawn, latents = draw_cells(latent_rng, belief_rng)
    layouts = layout_effects(drawn, layout_rng)
    cells = calibrated(drawn, layouts.mean(axis=-1), latents.target, latents.found)
    return Audited(
        _score_frame(cells[..., None] + layouts, latents),
        _claim_frame(latents),
        _truth_frame(cells, latents),
    )


def _score_frame(margins: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state, view and layout."""
    factors = {"state": STATES, "view": VIEWS, "layout": LAYOUTS}
    return _long(_attributes(latents), factors).assign(margin=rounded(margins.ravel()))


def _claim_frame(latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state and audited view."""
    counts = counted(latents.claims, latents.favoured, latents.found)
    factors = {"state": STATES, "view": AUDITED}
    return _long(_attributes(latents), factors).assign(supported=counts.ravel())


def _truth_frame(cells: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, state and view; the latents stand last."""
    words = np.array(TARGETS, dtype=object)
    own, rival = latents.claims.of_target(latents.target)
    drawn = {
        "evidence_favours": np.where(latents.found, words[latents.favoured], "nothing"),
        "evidence_strength": rounded(latents.evidence),
        "claimed": (latents.claims.before > 0).sum(axis=1),
        "claim_of_target": rounded(own),
        "claim_of_rival": rounded(rival),
    }
    factors = {"state": STATES, "view": VIEWS}
    attributes = _attributes(latents)
    frame = _long({**attributes, **drawn}, factors).assign(true_margin=rounded(cells.ravel()))
    return frame[["trajectory", *attributes, *factors, "true_margin", *drawn]]


def _attributes(latents: Latents) -> dict[str, NDArray[np.generic]]:
    return {"target": np.array(TARGETS)[latents.target], "artifact": latents.found}


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
        "source_contract.csv": to_csv_text(cohort.scores),
        "source_contract_claims.csv": to_csv_text(cohort.claims),
        "source_contract_truth.csv": to_csv_text(cohort.truth),
    }
