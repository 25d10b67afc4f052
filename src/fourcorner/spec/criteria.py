"""[criteria] of a spec: on which side of zero each of some estimates has to lie.

Invariant: a criterion names at least one row and gives each a sign. That the rows exist and can
lie on either side of zero is checked by `faults` where they are known. Pinned by
`tests/test_criteria.py`.
"""

from collections.abc import Mapping

from fourcorner import names
from fourcorner.sections import Section, nearest, show

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
            if isinstance(sign, dict):
                whole = _dotted(row, sign)
                signs.fault(f'{row} is a table; quote the whole name of the row: "{whole}" = …')
            elif sign not in (names.ABOVE, names.BELOW):
                signs.fault(f'{row} = {show(sign)}: expected "+" or "-"')
        if not name.strip():
            section.fault("a criterion has an empty name; give it one")
        found[name] = {row: str(sign) for row, sign in signs.raw.items()}
    return found


def _dotted(row: str, inside: Mapping[str, object]) -> str:
    """The first name that stands in tables within tables, as it was written without quotes."""
    parts = [row]
    value: object = inside
    while isinstance(value, dict) and value:
        key, value = next(iter(value.items()))
        parts.append(str(key))
    return ".".join(parts)


def faults(criteria: Mapping[str, Signs], signed: Mapping[str, bool]) -> list[str]:
    """What is wrong with the rows that criteria name.

    Parameters
    ----------
    criteria : mapping of name to mapping of row to sign
    signed : mapping of row to bool
        Every row there is, and whether it could lie on either side of zero.
    """
    found = []
    for name, signs in criteria.items():
        where = f"[criteria.{name}]"
        if not signs:
            found.append(f"{where} names no estimate")
        for row, sign in signs.items():
            if sign not in (names.ABOVE, names.BELOW):
                found.append(f'{where} {row} = {show(sign)}: expected "+" or "-"')
            if row not in signed:
                own = [known for known in signed if known.startswith(f"{row}.")]
                listed = f"; its rows are {', '.join(own)}" if own else nearest(row, signed)
                found.append(f"{where} no estimate {row!r}{listed}")
            elif not signed[row]:
                found.append(
                    f"{where} {row!r} is a share, a rate or the like, which is never below zero; "
                    f"a criterion takes estimates with a sign"
                )
    return found
