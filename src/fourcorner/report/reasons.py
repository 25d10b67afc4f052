"""Why a row is refused, and what would settle it, in words.

Invariant: a refusal for missing cells says which, why they matter and by how much. Pinned by
`tests/test_identification.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from fourcorner import contrasts
from fourcorner.report import words


def refusal(refused: Mapping[str, Any]) -> str:
    """Why a row is refused, in words; for missing cells, with the witness.

    Parameters
    ----------
    refused : mapping
        A row's ``refused``.

    Returns
    -------
    str
    """
    if refused["reason"] != contrasts.NOT_IDENTIFIED:
        return str(refused.get("message") or refused["reason"])
    missing = [f"({words.cell(record)})" for record in refused["missing"]]
    never = (
        "was never measured completely" if len(missing) == 1 else "were never measured completely"
    )
    witness = refused["witness"]
    return (
        f"{words.listed(missing)} {never}, so the data do not determine it. To see why: if "
        f"{_moved(witness['shift'])}, nothing that was measured would change, yet "
        f"this estimand would move by {words.number(witness['moves_contrast'])}."
    )


def _moved(shifts: Sequence[Mapping[str, Any]]) -> str:
    """A witness's shift of cells that were not measured, in words."""
    if len(shifts) == 1:
        shift = shifts[0]
        return f"the score at ({words.cell(shift['cell'])}) were {words.number(shift['by'])} higher"
    moves = [f"{words.number(shift['by'])} at ({words.cell(shift['cell'])})" for shift in shifts]
    return f"scores changed together by {words.listed(moves)}"


def remedy(refused: Mapping[str, Any]) -> str:
    """What to measure, or nothing where no set of cells is known to help."""
    sets = [
        words.listed([f"({words.cell(record)})" for record in records])
        for records in refused.get("would_identify", ())
    ]
    return f"Measuring {words.listed(sets, 'or')} would settle it." if sets else ""
