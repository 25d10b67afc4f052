"""Contrasts across factors whose levels live on scales that nothing links.

Invariant: a contrast that is not refused has all of its cells in one scale group, so its value
has a unit. Pinned by `tests/test_identification.py`.
"""

from collections.abc import Sequence
from typing import Any

from fourcorner.contrasts.algebra import Contrast
from fourcorner.errors import ContrastError

UNLINKED_SCALES = "unlinked_scales"


def scale_refusal(contrast: Contrast, scale_factors: Sequence[str]) -> dict[str, Any] | None:
    """Why a contrast has no unit, or None if all of its cells are in one scale group.

    Parameters
    ----------
    contrast : Contrast
    scale_factors : sequence of str
        Factors whose levels live on unlinked scales; a scale group is a combination of their
        levels.

    Returns
    -------
    dict or None
        ``reason``, ``message`` and ``groups``: the combinations of levels that are mixed.

    Raises
    ------
    ContrastError
        If a cell of the contrast says nothing about a scale factor.

    Examples
    --------
    >>> from fourcorner.contrasts import gain, omega
    >>> across = omega(readout=("joint", "binary"))
    >>> scale_refusal(across, ["readout"])["groups"]
    [{'readout': 'binary'}, {'readout': 'joint'}]
    >>> scale_refusal(gain(readout="joint"), ["readout"]) is None
    True
    """
    found = set()
    for cell in contrast.support:
        levels = dict(cell)
        silent = [factor for factor in scale_factors if factor not in levels]
        if silent:
            msg = f"contrast {contrast.name!r} says nothing about {silent}; fix each with at"
            raise ContrastError(msg)
        found.add(tuple(levels[factor] for factor in scale_factors))
    if len(found) < 2:
        return None
    groups = [dict(zip(scale_factors, levels, strict=True)) for levels in sorted(found)]
    said = " and ".join(
        f"({', '.join(f'{factor} = {level}' for factor, level in group.items())})"
        for group in groups
    )
    message = (
        f"it compares scores on scales that nothing links, {said}, so its size has no unit; "
        f"ask for the contrast within each scale and compare their signs"
    )
    return {"reason": UNLINKED_SCALES, "message": message, "groups": groups}
