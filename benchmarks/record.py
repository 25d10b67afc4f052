"""What a committed result says of the machine, and how it is written."""

import json
import os
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.digest import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PACKAGES = ("pymc", "pytensor", "nutpie", "numba", "numpy", "scipy", "arviz", "xarray")


def circumstances(*more: str) -> dict[str, Any]:
    """Date, machine and versions; `more` names further packages."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in (*PACKAGES, *more)},
    }


def write(name: str, document: dict[str, Any]) -> Path:
    """Write a result as indented JSON; refuses NaN."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / name
    path.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n")
    return path


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
