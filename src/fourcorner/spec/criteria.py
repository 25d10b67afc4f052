"""[criteria] of a spec: on which side of zero each of some estimates has to lie.

Invariant: a criterion names at least one row and gives each a sign. That the rows exist and can
lie on either side of zero is checked where they are built, in `fourcorner.estimands`. Pinned by
`tests/test_criteria.py`.
"""

from collections.abc import Mapping

from fourcorner import names
from fourcorner.sections import Section, show

Signs = Mapping[str, str]  # row to "+" or "-"


def read_criteria(section: Section) -> dict[str, Signs]:
    """Every declared criterion by name: the sign that each of its rows is to have."""
    found: dict[str, Signs] = {}
    for name in section.raw:
        entry = section.section(name)
        signs = entry.section(names.SIGNS)
        entry.finish()
        if signs.there and not signs.raw:
            signs.fault('names no estimate; write its name and a sign, e.g. omega = "-"')
        for row, sign in signs.raw.items():
            if sign not in (names.ABOVE, names.BELOW):
                signs.fault(f'{row} = {show(sign)}: expected "+" or "-"')
        if not name.strip():
            section.fault("a criterion has an empty name; give it one")
        found[name] = {row: str(sign) for row, sign in signs.raw.items()}
    return found
