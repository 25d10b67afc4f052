"""Results on the terminal, as tables that fit a line."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table

from fourcorner import names
from fourcorner.results import Check, Estimate

if TYPE_CHECKING:
    from fourcorner.auditing import Audit


NARROWEST = 100  # a table cut off says less than one that wraps


def _console() -> Console:
    console = Console(highlight=False)
    console.width = max(console.width, NARROWEST)
    return console


def number(value: float) -> str:
    """A value with its sign and three decimals, or three digits when it is small or large."""
    size = abs(value)
    return f"{value:+.3f}" if size == 0 or 0.01 <= size < 1000 else f"{value:+.3g}"


def interval(row: Estimate | None) -> str:
    """Value and interval of a row in one text; nothing where there is no row."""
    if row is None:
        return ""
    if row.value is None:
        return "refused"
    if row.interval is None:
        return f"{number(row.value)} (no interval)"
    low, high = row.interval
    return f"{number(row.value)} [{number(low)}, {number(high)}]"


def audit(found: "Audit") -> None:
    """Funnel line, both engines side by side, refusals, checks."""
    console = _console()
    console.print(found.spec.title, style="bold", markup=False)
    document_funnel(console, found.document()["funnel"])
    console.print(_estimates(found))
    for row in found.rows:
        if row.refused is not None and row.method == names.DESIGN:
            words = row.refused.get("message") or f"cells never measured: {row.refused['missing']}"
            console.print(f"refused: {row.name} ({row.weights}): {words}", markup=False)
    for words in found.not_available:
        console.print(f"not available: {words}", markup=False)
    if found.check_rows:
        _checks(console, found.check_rows)


def document_funnel(console: Console, funnel: dict[str, Any]) -> None:
    """One line of the funnel."""
    stages = ("attempted", "present", "finite", "complete", "in_cohort")
    counts = " → ".join(f"{stage.replace('_', ' ')} {funnel[stage]:,}" for stage in stages)
    console.print(
        f"{funnel['units']} units, {funnel['transitions']} transitions; scores: {counts}",
        markup=False,
    )


def _estimates(found: "Audit") -> Table:
    """One block of lines per estimand, one line per mixture, the engines side by side."""
    with_design = any(row.method == names.DESIGN for row in found.rows)
    fitted = found.tree is not None
    chances = {
        (row.name, row.weights): f"{row.value:.3f}"
        for row in found.probability_rows
        if row.event.endswith("<0")
    }
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False)
    table.add_column("estimand", no_wrap=True)
    headings = ["design [95 %]"] * with_design + ["posterior [95 %]", "P(<0)"] * fitted
    for heading in [*headings, "units"]:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, mixtures in _side_by_side(found.rows).items():
        lines = [[name, *("" for _ in headings), ""]]
        for weights, (design, posterior) in mixtures.items():
            line = [f"  {weights}"]
            line += [interval(design)] * with_design
            line += [interval(posterior), chances.get((name, weights), "")] * fitted
            units = design or posterior
            lines.append([*line, str(units.units) if units else ""])
        table.add_row(*("\n".join(cells) for cells in zip(*lines, strict=True)))
    return table


def _side_by_side(
    rows: list[Estimate],
) -> dict[str, dict[str, tuple[Estimate | None, Estimate | None]]]:
    """Design row (on the fit's cohort if there is one) and posterior row, by name and mixture."""
    paired: dict[str, dict[str, tuple[Estimate | None, Estimate | None]]] = {}
    for row in rows:
        if row.population != names.POPULATION_UNITS:
            continue
        mixtures = paired.setdefault(row.name, {})
        design, posterior = mixtures.get(row.weights, (None, None))
        is_design = row.method == names.DESIGN
        mixtures[row.weights] = (row, posterior) if is_design else (design, row)
    return paired


def _checks(console: Console, rows: list[Check]) -> None:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in _VERDICTS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    console.print(f"checks: {listed}", markup=False)
    for row in rows:
        if row.verdict == "fail":
            console.print(f"  failed: {row.name}, {row.target}: {row.message}", markup=False)


_VERDICTS = ("pass", "fail", "shown", "not_run")


def doctor_table(found: dict[str, Any]) -> None:
    """Columns of a table and the part each could play."""
    console = _console()
    console.print(f"{found['table']}: {found['rows']:,} rows", markup=False)
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("column", "distinct", "blank", "numbers", "could be", "examples"):
        table.add_column(heading)
    for column in found["columns"]:
        counts = (f"{column[key]:,}" for key in ("distinct", "blank", "numbers"))
        examples = ", ".join(column["examples"])[:60]
        table.add_row(column["name"], *counts, column["could_be"], examples)
    console.print(table)
    console.print("Next: fourcorner init scores DIR, and name these columns in its spec.")


def doctor_scores(found: dict[str, Any], path: Path) -> None:
    """The funnel, what is identified, what to run."""
    console = _console()
    document_funnel(console, found["funnel"])
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("estimand", "statistic", "identified", "complete transitions"):
        table.add_column(heading)
    for entry in found["estimands"]:
        verdict = "yes" if entry["identified"] else f"no: lacks {entry['refused']['missing']}"
        table.add_row(entry["name"], entry["statistic"], verdict, str(entry["transitions"]))
    console.print(table)
    for words in found["not_available"]:
        console.print(f"not available: {words}", markup=False)
    console.print(f"Next: {found['next']} {path}", markup=False)
