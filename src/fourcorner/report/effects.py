"""What moves a cell: the effects of a fit as the page's template takes them.

Invariant: every effect is drawn or told, and values are posterior means with their intervals.
Pinned by `tests/test_report.py`.
"""

from typing import Any

import xarray as xr

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import plots, words
from fourcorner.report.svg import drawn

MOST_DEVIATIONS = 80  # rows of a figure that still reads
FEW_STRATA = 10  # too few to say much about how strata differ


def effects(audit: Audit) -> dict[str, Any] | None:
    """Effects, the level of all cells, and how much strata differ; None without them."""
    tree, score = audit.tree, audit.spec.data.measure
    if tree is None:
        return None
    posterior = tree[names.POSTERIOR].to_dataset()
    if names.VAR_EFFECT not in posterior:
        return None
    found: dict[str, Any] = {
        "intercept": None,
        "assumed": [note for note in str(tree.attrs.get("notes", "")).split("\n") if note],
        "tau": [],
        "strata": 0,
        "few": False,
        "deviations": None,
        "figure": drawn(
            plots.effects(tree, score),
            "effects",
            "Effects with 95 % intervals by interaction order, and their spread between units.",
        ),
    }
    levels = [str(name) for name in posterior[names.EFFECT].values if _is_level(str(name))]
    said = [_said(posterior[names.VAR_EFFECT].sel({names.EFFECT: name})) for name in levels]
    if levels:
        several = [f"{name} {text}" for name, text in zip(levels, said, strict=True)]
        found["intercept"] = said[0] if len(levels) == 1 else words.listed(several)
    if names.VAR_TAU in posterior:
        tau = posterior[names.VAR_TAU]
        found["tau"] = [
            (words.order(order), _said(tau.sel({names.ORDER: order}), sign=False))
            for order in tau[names.ORDER].values.tolist()
        ]
    if names.VAR_DEVIATION in posterior:
        deviation = posterior[names.VAR_DEVIATION]
        sizes = deviation.sizes
        found["strata"] = sizes[names.STRATUM]
        found["few"] = sizes[names.STRATUM] < FEW_STRATA
        if sizes[names.STRATUM] * sizes[names.STRATUM_EFFECT] <= MOST_DEVIATIONS:
            said = "Deviations of each stratum from the common effects, with 95 % intervals."
            found["deviations"] = drawn(plots.deviations(tree, score), "deviations", said)
    return found


def _is_level(name: str) -> bool:
    """Whether an effect is the level of all cells, or of those of a scale group."""
    return name == "intercept" or name.startswith("intercept [")


def _said(draws: xr.DataArray, *, sign: bool = True) -> str:
    value, ends = plots.summary(draws)
    places = words.decimals_together([(value, ends)])
    return f"{words.number(value, places, sign=sign)} {words.interval(ends, places, sign=sign)}"
