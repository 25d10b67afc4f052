"""The replay's cohort: draws calibrated, thinned by what is missing, and set out as tables.

Invariant: both states that share an endpoint have its scores, and the same seed gives the same
bytes. Pinned by `tests/test_global_replay.py` (`test_shared_endpoints_have_the_same_scores`,
`test_committed_files_are_regenerated_byte_for_byte`).
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.io.parquet import parquet_bytes
from fourcorner.scores import log_softmax
from fourcorner.simulate.global_replay import calibration
from fourcorner.simulate.global_replay.mechanism import (
    CANDIDATES,
    DIRECT,
    ENDPOINTS,
    GENERATED,
    OPTIONS,
    READ,
    RETRIEVAL,
    SESSIONS,
    STEPS,
    VIEWS,
    WAVES,
    acquisition,
    draw_latents,
    draw_success,
    option_scores,
)
from fourcorner.simulate.global_replay.missing import Missing, draw_missing, whole
from fourcorner.simulate.options import credit, margins
from fourcorner.simulate.retrieval import TARGETS, Latents, columns
from fourcorner.simulate.study import LAYOUTS, STATES, UNITS
from fourcorner.simulate.tables import Cohort, ids, rounded, to_csv_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DEFAULT_SEED = 4787
"""Picked among 0 to 13,999: counts of signs near the published ones in both sessions."""


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed : int
        Seed of every draw; the same seed gives the same frames.

    Returns
    -------
    Cohort
        ``scores`` (211,200 rows: one for each trajectory, transition, state, view, layout, wave and
        candidate; ``logprob`` in nats, NaN where the option was not returned) and ``truth`` (2,400
        rows: the noise-free margin of each endpoint and view in each session, and the trajectory's
        latents).

    Raises
    ------
    CalibrationError
        If the seed leaves too few retrieval steps or endpoints to work with (one in a hundred).

    Examples
    --------
    >>> cohort = generate()
    >>> cohort.scores.shape, cohort.truth.shape
    ((211200, 14), (2400, 11))
    """
    latent, belief, noise, gap, success = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(5)
    )
    latents = draw_latents(latent)
    missing = draw_missing(gap)
    states = option_scores(latents, belief)
    acquired = states[:, :, :, None, None] + acquisition(noise)
    amounts = _calibrate(acquired, missing, latents.target)
    true = margins(states, latents.target)[..., None] + READ[:, None, None] * amounts[:, None]
    logprob = rounded(log_softmax(acquired))
    for endpoints, view, waves, layouts in missing.requests():
        _lose_least(logprob, endpoints, view, waves, layouts)
    succeeded = draw_success(true[:, -1, DIRECT, 0], success)
    scores = _score_frame(logprob, latents.target, succeeded)
    return Cohort(scores, _truth_frame(true, latents))


# --- calibration -------------------------------------------------------------------------------


def _calibrate(acquired: Floats, missing: Missing, target: Ints) -> Floats:
    """Bring acquired scores to the figures through the target's score, in place.

    Returns
    -------
    ndarray of shape (n, view, session)
        What was added after retrieval, nats.
    """
    waves = margins(acquired.mean(axis=4), target)
    gains = np.diff(np.stack([waves[..., 0], waves[..., 1:].mean(axis=-1)], axis=-1), axis=1)
    complete = whole(missing.first), whole(missing.retry.any(axis=-1))
    first = calibration.first_amounts(gains[..., 0], complete[0], target, RETRIEVAL)
    gains[:, RETRIEVAL, :, 1] += first
    retry = first + calibration.retry_amounts(gains[..., 1], complete[1], target, RETRIEVAL)
    amounts = np.stack([first, retry], axis=-1)
    by_wave = amounts[:, None, :, [0, 1, 1], None]
    credit(acquired, target, READ[:, None, None, None] * by_wave)

    omegas = [
        _layout_omega(acquired[:, :, :, 0, layout], missing.at_layout(layout), target)
        for layout in range(len(LAYOUTS))
    ]
    slopes = calibration.layout_slopes(omegas)
    credit(acquired[:, :, GENERATED], target, np.arange(ENDPOINTS)[:, None, None] * slopes)
    return amounts


def _layout_omega(scores: Floats, spoiled: Bools, target: Ints) -> float:
    """Mean Ω of one layout, over the transitions that are complete in it."""
    gains = np.diff(margins(scores, target), axis=1)
    return float((gains[..., GENERATED] - gains[..., DIRECT])[whole(spoiled)].mean())


def _lose_least(
    logprob: Floats, endpoints: Bools, view: int, waves: list[int], layouts: Ints
) -> None:
    """Blank the least likely option of the requests, in place; the same one in all waves."""
    unit, endpoint = np.nonzero(endpoints)
    layout = layouts[unit, endpoint]
    option = logprob[unit, endpoint, view, waves[0], layout].argmin(axis=-1)
    for wave in waves:
        logprob[unit, endpoint, view, wave, layout, option] = np.nan


# --- frames ------------------------------------------------------------------------------------


def _score_frame(logprob: Floats, target: Ints, success: Bools) -> pd.DataFrame:
    """One row per trajectory, transition, state, view, layout, wave and candidate."""
    factors = (len(VIEWS), len(LAYOUTS), len(WAVES), OPTIONS)
    shape = (UNITS, len(STEPS), len(STATES), *factors)
    unit, step, state, view, layout, wave, option = (index.ravel() for index in np.indices(shape))
    endpoint = step + state
    return pd.DataFrame(
        {
            "trajectory": ids("t", UNITS, 3, first=1)[unit],
            "transition": ids("s", len(STEPS), 2, first=1)[step],
            "step_type": np.array(STEPS, dtype=object)[step],
            "endpoint": ids("e", ENDPOINTS, 2)[endpoint],
            "target": np.array(TARGETS, dtype=object)[target[unit]],
            "target_candidate": np.array(CANDIDATES, dtype=object)[target[unit]],
            "success": success[unit],
            "state": np.array(STATES, dtype=object)[state],
            "view": np.array(VIEWS, dtype=object)[view],
            "layout": np.array(LAYOUTS, dtype=object)[layout],
            "wave": np.array(WAVES, dtype=object)[wave],
            "session": np.array(SESSIONS, dtype=object)[wave],
            "candidate": np.array(CANDIDATES, dtype=object)[option],
            "logprob": logprob[unit, endpoint, view, wave, layout, option],
        }
    )


def _truth_frame(true: Floats, latents: Latents) -> pd.DataFrame:
    """One row per trajectory, endpoint and view; the latents stand last."""
    unit, endpoint, view = (index.ravel() for index in np.indices(true.shape[:3]))
    drawn = columns(latents, CANDIDATES)
    levels = rounded(true.reshape(-1, 2))
    return pd.DataFrame(
        {
            "trajectory": ids("t", UNITS, 3, first=1)[unit],
            "endpoint": ids("e", ENDPOINTS, 2)[endpoint],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "view": np.array(VIEWS, dtype=object)[view],
            "true_margin_first": levels[:, 0],
            "true_margin_retry": levels[:, 1],
            **{name: values[unit] for name, values in drawn.items()},
        }
    )


def files() -> dict[str, str | bytes]:
    """The cohort's files, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "global_replay.parquet": parquet_bytes(cohort.scores),
        "global_replay_truth.csv": to_csv_text(cohort.truth),
    }
