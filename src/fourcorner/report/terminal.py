"""Results on the terminal, as tables that fit a line."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from fourcorner import names
from fourcorner.results import Check, Estimate

if TYPE_CHECKING:
    from fourcorner.auditing import Audit


def _console() -> Console:
    return Console(highlight=False)


def number(value: float) -> str:
    """A value with its sign and three decimals, or three digits when it is small or large."""
    size = abs(value)
    return f"{value:+.3f}" if size == 0 or 0.01 <= size < 1000 else f"{value:+.3g}"


def interval(row: Estimate) -> str:
    """Value and interval of a row in one text."""
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
    fitted = found.tree is not None
    shown = {
        (row.name, row.weights): {}  # type: dict[str, Estimate]
        for row in found.rows
    }
    for row in found.rows:
        if row.population == names.POPULATION_UNITS:
            key = row.method if row.method == names.BAYES else row.cohort
            shown[row.name, row.weights][key] = row
    chances = {
        (row.name, row.weights): row.value
        for row in found.probability_rows
        if row.event.endswith("<0")
    }
    table = Table(show_edge=False, pad_edge=False)
    for heading in ("estimand", "weights"):
        table.add_column(heading, no_wrap=True)
    has_design = any(row.method == names.DESIGN for row in found.rows)
    headings = ["design [95 %]"] * has_design + ["posterior [95 %]", "P(<0)"] * fitted + ["units"]
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for key, by_engine in shown.items():
        design = by_engine.get(names.COHORT_JOINT) or by_engine.get(names.COHORT_CONTRAST)
        bayes = by_engine.get(names.BAYES)
        row = design or bayes
        cells = [interval(design) if design else ""] * has_design
        if fitted:
            cells += [interval(bayes) if bayes else "", f"{chances[key]:.3f}" if key in chances else ""]
        table.add_row(*key, *cells, str(row.units) if row else "")
    return table


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
