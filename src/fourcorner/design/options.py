"""How draws are made and read.

Invariant: options that exist are honoured; what cannot be is an `OptionError`. Pinned by
`tests/test_intervals.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from fourcorner import names
from fourcorner.errors import OptionError
from fourcorner.sections import nearest
from fourcorner.spec.design import DRAWS

LEVEL = 0.95


@dataclass(frozen=True)
class Options:
    """Options of the design engine; see `fourcorner.design.engine.estimate`.

    With no draws there are estimates and no intervals, which is for breakdowns alone. `method` is
    what the rows are by: a bootstrap, or a Bayesian one.
    """

    draws: int = DRAWS
    seed: int = 0
    level: float = LEVEL
    resampling: str = names.PLAIN
    interval: str | None = None
    simultaneous: bool = False
    method: str = names.DESIGN

    def __post_init__(self) -> None:
        _check_word("resampling", self.resampling, names.PLANS)
        if self.interval is not None:
            _check_word("interval", self.interval, names.INTERVALS)
        if self.simultaneous and self.interval is not None:
            raise OptionError(
                f"simultaneous intervals are max-t, so interval = {self.interval!r} has nothing "
                f"to say; give one of them"
            )
        if not 0 < self.level < 1:
            raise OptionError(
                f"level = {self.level!r}: expected a share between 0 and 1, such as 0.95"
            )
        if self.draws < 0:
            raise OptionError(f"draws = {self.draws!r}: expected at least 1")


def _check_word(key: str, word: str, choices: Sequence[str]) -> None:
    if word not in choices:
        near = nearest(word, choices) if isinstance(word, str) else ""
        expected = " or ".join(map(repr, choices))
        raise OptionError(f"{key} = {word!r}: expected {expected}{near}")
