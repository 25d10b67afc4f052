"""The package's error and its kinds.

Every error derives from `FourcornerError` and from the builtin a Python reader would expect,
and its text says what was got, what was expected and what to do next.
"""

from collections.abc import Mapping, Sequence
from typing import Any


class FourcornerError(Exception):
    """Base of every error that this package raises on purpose."""


class SpecError(FourcornerError, ValueError):
    """A spec that cannot be read; carries every fault found in it."""

    def __init__(self, faults: Sequence[str], source: str = "spec") -> None:
        self.faults = tuple(faults)
        lines = "\n".join(f"  - {fault}" for fault in self.faults)
        super().__init__(f"{source} has {counted(len(self.faults), 'fault')}:\n{lines}")


class TableError(FourcornerError, ValueError):
    """A table that cannot be used; carries every fault found in it."""

    def __init__(self, faults: Sequence[str], source: str = "table") -> None:
        self.faults = tuple(faults)
        lines = "\n".join(f"  - {fault}" for fault in self.faults)
        super().__init__(f"{source} has {counted(len(self.faults), 'fault')}:\n{lines}")


class ContrastError(FourcornerError, ValueError):
    """A contrast that cannot be built, or that does not fit the factors of the scores."""


class NotIdentified(FourcornerError, ValueError):  # noqa: N818 - the name is the finding
    """A contrast that the observed cells do not determine; carries the refusal record."""

    def __init__(self, message: str, refusal: Mapping[str, Any]) -> None:
        self.refusal = dict(refusal)
        super().__init__(message)


class WeightsError(FourcornerError, ValueError):
    """Target weights that do not fit the strata of the cohort."""


class OptionError(FourcornerError, ValueError):
    """An option of a Python function that is out of its range."""


class FitError(FourcornerError, RuntimeError):
    """A model that cannot be fitted to these scores, or did not sample."""


class NotAvailable(FitError):  # noqa: N818 - a finding about the data, not a failure
    """A model that does not apply to these scores; other results stand."""


class RunError(FourcornerError, OSError):
    """A file or run directory that cannot be read or written."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    Examples
    --------
    >>> counted(1, "family", "families"), counted(1200, "unit")
    ('1 family', '1,200 units')
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
