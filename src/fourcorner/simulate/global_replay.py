"""The synthetic global replay: 100 workflows of 11 steps, scored by option in two sessions.

The study's own artifacts are not public, so this cohort stands in for them, made in two steps.

1. *Mechanism* (`replay_states`). An evaluator scores four options at each of 12 endpoints, from the
   state alone (direct) or beside a generated view, in four cyclic layouts, once in the first
   session and twice in the retries. Retrieval finds evidence or does not, the view has answered
   before, and between endpoints the support for the target wanders in each view.
2. *Calibration* (`replay_calibration`). In each session one amount per trajectory and view, in
   closed form, is added to all endpoints after retrieval, and one slope per layout to the target
   under the generated view. The published means and standard errors are thus put in, not found.
   Counts of signs are not: they come from the mechanism, and the seed was picked for them.

Which scores are missing (`replay_missing`) is drawn apart from all scores.

Invariant: both states that share an endpoint have its scores; cohort sizes and means hold for every
seed, and the same seed gives the same bytes. Pinned by ``tests/test_global_replay.py``
(``test_shared_endpoints_have_the_same_scores``, ``test_means_hold_for_every_seed``,
``test_committed_files_are_regenerated_byte_for_byte``).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fourcorner.io.parquet import parquet_bytes
from fourcorner.simulate import replay_calibration as calibration
from fourcorner.simulate.replay_missing import Missing, draw_missing, whole
from fourcorner.simulate.replay_states import (
    CANDIDATES,
    DIRECT,
    ENDPOINTS,
    GENERATED,
    OPTIONS,
    READ,
    RETRIEVAL,
    SESSIONS,
    STEPS,
    UNITS,
    VIEWS,
    WAVES,
    Latents,
    acquisition,
    draw_latents,
    draw_success,
    margins,
    option_scores,
)
from fourcorner.simulate.retrieval_cube import LAYOUTS, STATES, TARGETS, to_csv_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DEFAULT_SEED = 4787
"""Picked among 0 to 13,999: counts of signs near the published ones in both sessions."""
DECIMALS = 4


class Cohort(NamedTuple):
    """The scores as acquired, and the noise-free margins and latents behind them."""

    scores: pd.DataFrame
    truth: pd.DataFrame


def generate(seed: int = DEFAULT_SEED) -> Cohort:
    """Generate the cohort.

    Parameters
    ----------
    seed
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
    logprob = _logprobs(acquired).round(DECIMALS) + 0.0
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
    by_wave = margins(acquired.mean(axis=4), target)
    gains = np.diff(np.stack([by_wave[..., 0], by_wave[..., 1:].mean(axis=-1)], axis=-1), axis=1)
    complete = whole(missing.first), whole(missing.retry.any(axis=-1))
    first = calibration.first_amounts(gains[..., 0], complete[0], target, RETRIEVAL)
    gains[:, RETRIEVAL, :, 1] += first
    retry = first + calibration.retry_amounts(gains[..., 1], complete[1], target, RETRIEVAL)
    amounts = np.stack([first, retry], axis=-1)
    is_target = np.arange(OPTIONS) == target[:, None, None, None, None]
    acquired[:, READ] += (amounts[:, None, :, [0, 1, 1], None, None]) * is_target[:, None]

    omegas = [
        _layout_omega(acquired[:, :, :, 0, layout], missing.at_layout(layout), target)
        for layout in range(len(LAYOUTS))
    ]
    slopes = calibration.layout_slopes(omegas)
    growth = np.arange(ENDPOINTS)[:, None, None, None] * slopes[:, None]
    acquired[:, :, GENERATED] += growth * is_target
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


def _logprobs(scores: Floats) -> Floats:
    """Log-probabilities of the options, which are the last axis."""
    shifted = scores - scores.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _score_frame(logprob: Floats, target: Ints, success: Bools) -> pd.DataFrame:
    """One row per trajectory, transition, state, view, layout, wave and candidate."""
    factors = (len(VIEWS), len(LAYOUTS), len(WAVES), OPTIONS)
    shape = (UNITS, len(STEPS), len(STATES), *factors)
    unit, step, state, view, layout, wave, option = (index.ravel() for index in np.indices(shape))
    endpoint = step + state
    return pd.DataFrame(
        {
            "trajectory": _ids("t", UNITS, 1, 3)[unit],
            "transition": _ids("s", len(STEPS), 1, 2)[step],
            "step_type": np.array(STEPS, dtype=object)[step],
            "endpoint": _ids("e", ENDPOINTS, 0, 2)[endpoint],
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
    options = np.array(CANDIDATES, dtype=object)
    drawn = {
        "evidence_found": latents.found,
        "evidence_favours": np.where(latents.found, options[latents.favoured], "nothing"),
        "evidence_strength": latents.evidence.round(DECIMALS),
        "view_asserts": np.where(latents.asserts, options[latents.asserted], "nothing"),
        "assertion_strength": latents.assertion.round(DECIMALS),
    }
    rounded = true.reshape(-1, 2).round(DECIMALS) + 0.0
    return pd.DataFrame(
        {
            "trajectory": _ids("t", UNITS, 1, 3)[unit],
            "endpoint": _ids("e", ENDPOINTS, 0, 2)[endpoint],
            "target": np.array(TARGETS, dtype=object)[latents.target[unit]],
            "view": np.array(VIEWS, dtype=object)[view],
            "true_margin_first": rounded[:, 0],
            "true_margin_retry": rounded[:, 1],
            **{name: values[unit] for name, values in drawn.items()},
        }
    )


def _ids(letter: str, count: int, start: int, width: int) -> NDArray[np.object_]:
    return np.array([f"{letter}{i:0{width}d}" for i in range(start, start + count)], dtype=object)


def files() -> dict[str, str | bytes]:
    """The cohort's files, by the names they have in ``data-samples``."""
    cohort = generate()
    return {
        "global_replay.parquet": parquet_bytes(cohort.scores),
        "global_replay_truth.csv": to_csv_text(cohort.truth),
    }
