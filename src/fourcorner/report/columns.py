"""Texts side by side on a terminal, names whole however long.

Invariant: no text is broken, or cut short of `LONGEST` characters; a table that is wider than the
terminal stays one line a row, and each block starts with its name on a line of its own. Pinned by
`tests/test_families.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from fourcorner.report.text import label

GAP = "  "
LONGEST = 200  # characters of a text


@dataclass(frozen=True)
class Block:
    """Lines under one name.

    Attributes
    ----------
    name : str
    rows : tuple of rows
        Each a label and the texts of the columns.
    """

    name: str
    rows: tuple[tuple[str, ...], ...]


def laid_out(headings: Sequence[str], blocks: Sequence[Block]) -> list[str]:
    """Lines of a table: headings, a rule, and each block under its name.

    Parameters
    ----------
    headings : sequence of str
        Of the labels, then of the columns, which stand to the right.
    blocks : sequence of Block

    Returns
    -------
    list of str
        No line ends in blanks.

    Examples
    --------
    >>> laid_out(("estimand", "design"), [Block("omega", (("equal", "+1"),))])
    ['estimand  design', '────────────────', 'omega', '  equal       +1']
    """
    headings = [label(heading, LONGEST) for heading in headings]
    plain = [[label(cell, LONGEST) for cell in row] for block in blocks for row in block.rows]
    indented = [(GAP + row[0], *row[1:]) for row in plain]
    widths = [max(map(cell_len, column)) for column in zip(headings, *indented, strict=True)]
    rule = "─" * (sum(widths) + len(GAP) * (len(widths) - 1))
    rows = iter(indented)
    lines = [_line(headings, widths), rule]
    for block in blocks:
        lines += [label(block.name, LONGEST), *(_line(next(rows), widths) for _ in block.rows)]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One line, the first text to the left and the others to the right of their columns."""
    padding = [" " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True)]
    first, *rest = zip(cells, padding, strict=True)
    return GAP.join([first[0] + first[1], *(pad + cell for cell, pad in rest)]).rstrip()
