"""Results on the terminal: the lines of the report as tables that are not cut off.

Invariant: what a line says and hides is decided in `lines` and `words`, as for the page. Pinned by
`tests/test_cli.py`.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.report import lines, words
from fourcorner.report.lines import Line
from fourcorner.results import Check, Estimate
from fourcorner.scores import STAGES

NARROWEST = 100  # a table cut off says less than one that wraps
VERDICTS = ("pass", "fail", "shown", "not_run")


def audit(found: Audit) -> None:
    """Funnel line, both engines side by side, what a reader must know, refusals, checks."""
    console = _console()
    console.print(found.spec.title, style="bold", markup=False)
    _funnel(console, found.funnel)
    collected = lines.collect(found)
    console.print(_estimates(found, collected))
    for note in lines.notes(collected):
        console.print(f"note: {note}", markup=False)
    for refusal in lines.refusals(found):
        where = "; ".join(refusal.where)
        console.print(f"refused: {refusal.name} ({where}): {refusal.why}", markup=False)
    for said in found.not_available:
        console.print(f"not available: {said}", markup=False)
    if found.check_rows:
        _checks(console, found.check_rows)


def doctor_table(found: Mapping[str, Any]) -> None:
    """Columns of a table and the part each could play."""
    console = _console()
    console.print(f"{found['table']}: {found['rows']:,} rows", markup=False)
    table = _table("column", "distinct", "blank", "numbers", "could be", "examples")
    for column in found["columns"]:
        counts = (f"{column[key]:,}" for key in ("distinct", "blank", "numbers"))
        examples = ", ".join(column["examples"])[:60]
        _add(table, column["name"], *counts, column["could_be"], examples)
    console.print(table)
    console.print("Next: fourcorner init scores DIR, and name these columns in its spec.")


def doctor_scores(found: Mapping[str, Any], path: Path) -> None:
    """The funnel, what is identified, what to run."""
    console = _console()
    _funnel(console, found["funnel"])
    table = _table("estimand", "statistic", "identified", "complete transitions")
    for entry in found["estimands"]:
        refused = entry["refused"]
        verdict = "yes" if refused is None else f"no: {words.refusal(refused)}"
        _add(table, entry["name"], entry["statistic"], verdict, str(entry["transitions"]))
    console.print(table)
    for said in found["not_available"]:
        console.print(f"not available: {said}", markup=False)
    console.print(f"Next: {found['next']} {path}", markup=False)


def _console() -> Console:
    console = Console(highlight=False)
    console.width = max(console.width, NARROWEST)
    return console


def _table(*headings: str) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading)
    return table


def _add(table: Table, *cells: str) -> None:
    """Add a row of plain texts: a bracket in a name is no markup."""
    table.add_row(*(Text(cell) for cell in cells))


def _funnel(console: Console, funnel: Mapping[str, Any]) -> None:
    counts = " → ".join(f"{stage.replace('_', ' ')} {funnel[stage]:,}" for stage in STAGES)
    who = f"{funnel['units']} units, {funnel['transitions']} transitions"
    console.print(f"{who}; scores: {counts}", markup=False)


def _estimates(found: Audit, collected: Sequence[Line]) -> Table:
    """One block of lines per estimand, one line per mixture, the engines side by side."""
    with_design = any(row.method == names.DESIGN for row in found.rows)
    fitted = found.tree is not None
    level = f"[{100 * found.rows[0].level:g} %]" if found.rows else ""
    headings = [f"design {level}"] * with_design + [f"posterior {level}", "P(<0)"] * fitted
    table = _table("estimand")
    for heading in [*headings, "units"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, block in groupby(collected, key=lambda line: line.estimand.name):
        rows = [[name, *("" for _ in headings), ""]]
        for line in block:
            cells = [f"  {line.weights}"]
            cells += [_estimate(line.design, line.places)] * with_design
            below = line.probabilities.get(lines.BELOW)
            chance = "" if below is None else words.probability(below)
            cells += [_estimate(line.posterior, line.places), chance] * fitted
            row = line.design or line.posterior
            rows.append([*cells, str(row.units) if row else ""])
        _add(table, *("\n".join(cells) for cells in zip(*rows, strict=True)))
    return table


def _estimate(row: Estimate | None, places: int | None) -> str:
    if row is None:
        return ""
    return "refused" if row.value is None else words.estimate(row, places)


def _checks(console: Console, rows: Sequence[Check]) -> None:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    listed = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in counts.items() if n)
    console.print(f"checks: {listed}", markup=False)
    for row in rows:
        if row.verdict == "fail":
            console.print(f"  failed: {row.name}, {row.target}: {row.message}", markup=False)
