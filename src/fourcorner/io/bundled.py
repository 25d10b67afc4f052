"""The declared analyses and cohorts that come with the package.

In an installed wheel they lie in ``fourcorner/bundled``; in a checkout at its top level.
"""

from pathlib import Path

from fourcorner.errors import RunError

DEMO = "retrieval_cube"


def folder() -> Path:
    """The folder that holds ``models`` and ``data-samples``.

    Raises
    ------
    RunError
        If neither place has them.
    """
    package = Path(__file__).parents[1]
    for place in (package / "bundled", package.parents[1]):
        if (place / "models" / f"{DEMO}.toml").is_file():
            return place
    raise RunError("the bundled analyses are missing; install fourcorner again")


def spec_path(name: str = DEMO) -> Path:
    """Path of a bundled spec."""
    return folder() / "models" / f"{name}.toml"
