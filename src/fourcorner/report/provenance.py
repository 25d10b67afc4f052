"""Provenance as the page shows it.

Invariant: what is not known is listed as it is, a folder of the machine that ran it never. Pinned
by `tests/test_report.py`.
"""

from collections.abc import Mapping
from typing import Any

from fourcorner.auditing import Audit

FACTS = {
    "source": "Table",
    "file_sha256": "SHA-256 of the file",
    "scores_sha256": "SHA-256 of the validated scores",
    "spec_sha256": "SHA-256 of the spec",
    "seed": "Seed",
    "bootstrap_draws": "Bootstrap draws",
    "sampling": "Sampler attempts",
    "left_out": "Left out of the fit's file",
    "python": "Python",
    "machine": "Machine",
    "created": "Written",
}
HIDDEN = {"spec_folder"}  # a folder of the machine that ran it
INSTEAD = "instead"


def facts(audit: Audit, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Where the numbers come from, ready for the page."""
    known = {FACTS[key]: provenance[key] for key in FACTS if provenance.get(key) is not None}
    other = {
        key: value
        for key, value in provenance.items()
        if key not in {*FACTS, *HIDDEN} and not isinstance(value, Mapping) and value is not None
    }
    seconds = audit.timing
    return {
        "facts": {**known, **other},
        "lists": {
            key.replace("_", " "): value
            for key, value in provenance.items()
            if isinstance(value, Mapping) and value and key != INSTEAD
        },
        "instead": [f"{key} = {value}" for key, value in provenance.get(INSTEAD, {}).items()],
        "timing": None if seconds is None else _timing(seconds),
        "spec": audit.spec.text,
    }


def _timing(seconds: Mapping[str, float]) -> str:
    return (
        f"compiling {seconds['compile_s']:.1f} s, sampling {seconds['sample_s']:.1f} s; least bulk "
        f"effective sample size of a parameter {seconds['min_ess_bulk']:,.0f}"
    )
