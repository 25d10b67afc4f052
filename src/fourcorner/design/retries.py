"""When waves are retries of one another.

Invariant: waves of several sessions are none, and one wave says nothing about them. Pinned by
`tests/test_signs.py`, `tests/test_benchmark.py` and `tests/test_agreement.py`.
"""

from collections.abc import Sequence
from typing import Any

from fourcorner import names
from fourcorner.design.cohort import Sample
from fourcorner.measures import Measure

ONE_WAVE = "one_wave"
SEVERAL_SESSIONS = "several_sessions"


def refusal(data: Sample, waves: Sequence[str], measure: Measure) -> dict[str, Any] | None:
    """Why a measure has no value where the waves are no retries of one another."""
    if (refused := several_sessions(data, waves)) is not None:
        return refused
    if len(waves) < 2 and measure.of_retries:
        return {"reason": ONE_WAVE, "message": "one wave says nothing about retries"}
    return None


def several_sessions(data: Sample, waves: Sequence[str]) -> dict[str, Any] | None:
    """Why waves are no retries of one another, or None."""
    if not waves or names.SESSION not in data.scores.coords:
        return None
    of_wave = dict(
        zip(data.scores[names.WAVE].values, data.scores[names.SESSION].values, strict=True)
    )
    sessions = [str(of_wave[level]) for level in waves]
    if len(set(sessions)) == 1:
        return None
    listed = ", ".join(f"{w} of {s}" for w, s in zip(waves, sessions, strict=True))
    message = (
        f"the waves are of several sessions ({listed}), which are no retries of one another; "
        f"choose waves of one session with wave = [...]"
    )
    return {"reason": SEVERAL_SESSIONS, "message": message}
