"""Results on the terminal: the lines of the report as tables that are not cut off.

Invariant: what a line says and hides is decided in `lines` and `words`, as for the page. Pinned by
`tests/test_cli.py`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fourcorner import names
from fourcorner.auditing import Audit
from fourcorner.comparing import Comparison
from fourcorner.report import criteria, families, lines, panels, reasons, stability, words
from fourcorner.report.claims import FAILED, MISSING, claims, gaps
from fourcorner.report.columns import Block, laid_out
from fourcorner.report.families import Family
from fourcorner.report.lines import Line
from fourcorner.report.text import label
from fourcorner.results import Check, Estimate, target
from fourcorner.scores import STAGES

OWN = "  own cases"
TRANSITIONS = "transitions"
NARROWEST = 100  # a table cut off says less than one that wraps


def audit(found: Audit) -> None:
    """Funnel line, both engines side by side, what a reader must know, refusals, checks."""
    console = _console()
    console.print(found.spec.title, style="bold", markup=False)
    _funnel(console, found.funnel)
    collected = lines.collect(found)
    single = families.alone(collected)
    if single:
        _write(console, _estimates(found, single))
    _families(console, families.families(found, collected))
    for said in criteria.sentences(found):
        console.print(said, markup=False)
    noted = lines.notes(collected).items()
    notes = (f"note on {words.few(about)}: {note}" for note, about in noted)
    for said in (*_bounds(collected), *notes, *_parts(found)):
        console.print(said, markup=False)
    _unsupported(console, found)
    if found.check_rows:
        _checks(console, found.check_rows)


def _unsupported(console: Console, found: Audit) -> None:
    """Refusals, and what else the run does not support."""
    unsupported = claims(found)
    for refusal in unsupported.refusals:
        where = "; ".join(refusal.where)
        console.print(f"refused: {refusal.name} ({where}): {refusal.why}", markup=False)
    for kind, listed in unsupported.others.items():
        if kind == MISSING:
            for what, why in gaps(found.not_available, words.few):
                console.print(f"{kind}: {f'{what}: {why}' if what else why}", markup=False)
        elif kind != FAILED:  # what failed is said with the checks
            console.print(f"{kind}: {words.few([claim.name for claim in listed])}", markup=False)


def _bounds(collected: Sequence[Line]) -> Iterator[str]:
    """What the limits of censored scores allow."""
    for line in collected:
        if line.bounds is not None:
            asked = target(line.estimand.name, line.weights)
            yield f"bounds of {asked}: {words.bounds(line.bounds, line.places)}"


def _parts(found: Audit) -> Iterator[str]:
    """Which estimates have parts of the cohort on both sides of zero."""
    split: dict[str, dict[str, None]] = {}
    for parts in panels.parts(found):
        for (_, by), span in parts.ranges.items():
            if span.signs:
                split.setdefault(by, {})[parts.name] = None
    for by, listed in split.items():
        yield f"parts {panels.by_words(by)} on both sides of zero: {words.few(list(listed))}"


def comparison(found: Comparison) -> None:
    """Families beside each other by LOO, whether they pass their gates, and what to rest on."""
    console = _console()
    console.print(found.title, style="bold", markup=False)
    table = _table("family", "gates", "elpd", "difference", "weight", "k above 0.7")
    for row in found.table.to_dict("records"):
        told = [row["family"], row["gates"].replace("_", " ")]
        if row["elpd"] == row["elpd"]:
            told += [f"{row['elpd']:.1f} ± {row['se']:.1f}", f"{row['elpd_diff']:.1f}"]
            told[-1] += f" ± {row['dse']:.1f}"
            told += [f"{row['weight']:.2f}", f"{row['bad_k']:.0f}"]
        _add(table, *told)
    console.print(table)
    for said in found.sentences:
        console.print(said, markup=False, soft_wrap=True)
    for family, why in found.not_available.items():
        console.print(f"not available: {family}: {why}", markup=False, soft_wrap=True)


def doctor_table(found: Mapping[str, Any]) -> None:
    """Columns of a table, the part each could play, and a spec to start from."""
    console = _console()
    console.print(f"{found['table']}: {words.count(found['rows'], 'row')}", markup=False)
    table = _table("column", "type", "distinct", "blank", "could be", "levels")
    for column in found["columns"]:
        distinct = f"{'' if column['exact'] else 'about '}{column['distinct']:,}"
        _add(
            table,
            column["name"],
            column["type"],
            distinct,
            f"{column['blank']:,}",
            column["could_be"],
            _levels(column),
        )
    console.print(table)
    suggestion = found["suggestion"]
    if suggestion["open"]:
        said = f"not guessed: {words.listed(suggestion['open'])}; a question mark stands there"
        console.print(said, markup=False)
    console.print("A spec to start from:\n", markup=False)
    console.print(suggestion["spec"], markup=False, soft_wrap=True)


def _levels(column: Mapping[str, Any]) -> str:
    """Levels of a column, or some of its values; of a mixed one what is no number."""
    if column["odd"]:
        return f"no number: {words.listed([label(value, 20) for value in column['odd']])}"
    listed = ", ".join(label(level, 24) for level in column["levels"])
    return label(listed, 60) if column["few"] else f"{label(listed, 50)}, …" if listed else ""


def doctor_scores(found: Mapping[str, Any], path: Path) -> None:
    """What the scores hold, the funnel, what is identified, what to run."""
    console = _console()
    console.print(found["title"], style="bold", markup=False)
    for said in _holds(found["holds"]):
        console.print(said, markup=False)
    _funnel(console, found["funnel"])
    table = _table("estimand", "statistic", "identified", "units", "transitions")
    for entry in found["estimands"]:
        verdict = "yes" if entry["identified"] else "no"
        counts = (f"{entry[key]:,}" for key in ("units", "transitions"))
        _add(table, entry["name"], entry["statistic"], verdict, *counts)
    console.print(table)
    for entry in found["estimands"]:
        if entry["refused"] is not None:
            why = f"{reasons.refusal(entry['refused'])} {reasons.remedy(entry['refused'])}"
            console.print(f"refused: {entry['name']}: {why.strip()}", markup=False)
    for entry in found["weights"]:
        why = reasons.refusal(entry["refused"])
        said = f"refused: {entry['name']} under {entry['weights']} weights: {why}"
        console.print(said, markup=False)
    for said in found["small_strata"]:
        console.print(f"small stratum: {said}", markup=False)
    for said in found["not_available"]:
        console.print(f"not available: {said}", markup=False)
    console.print(f"Next: {found['next']} {path}", markup=False)


def _holds(holds: Mapping[str, Any]) -> Iterator[str]:
    factors = {**holds["channel"], **holds["replicate"]}
    for name, levels in factors.items():
        part = "channel" if name in holds["channel"] else "replicate"
        yield f"{part} {name}: {', '.join(levels)}"
    if holds["strata"]:
        listed = ", ".join(f"{row['stratum']} {row['units']:,}" for row in holds["strata"])
        yield f"units by stratum: {label(listed, 200)}"
    if holds["waves"] is not None:
        waves = holds["waves"]
        named = [f"{wave}{f' ({of})' if of else ''}" for wave, of in waves["sessions"].items()]
        yield f"waves (session): {', '.join(named)}; retry noise {waves['retry_noise']}"


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
    who = ", ".join(words.count(funnel[f"{noun}s"], noun) for noun in ("unit", "transition"))
    console.print(f"{who}; scores: {counts}", markup=False)
    lost = [f"{why.replace('_', ' ')} {n:,}" for why, n in funnel["reasons"].items() if n]
    if lost:
        console.print(f"not in the cohort: {', '.join(lost)}", markup=False)
    for said in funnel["warnings"]:
        console.print(f"warning: {said}", markup=False)


def _write(console: Console, table: Sequence[str]) -> None:
    """Lines of a table as they are, also beyond the width of the terminal."""
    console.print("\n".join(table), markup=False, soft_wrap=True)


def _estimates(found: Audit, collected: Sequence[Line]) -> list[str]:
    """One block of lines per estimand, one line per mixture, the engines side by side.

    Under a mixture stands the design estimate on the estimand's own cases where they are others.
    """
    with_design = any(row.method == names.DESIGN for row in found.rows)
    fitted = found.posterior_method is not None
    level = f"[{100 * found.rows[0].level:g} %]" if found.rows else ""
    headings = [f"design {level}"] * with_design + [f"posterior {level}", "P(<0)"] * fitted
    blocks = []
    for name, block in groupby(lines.shown(collected), key=lambda line: line.estimand.name):
        rows: list[tuple[str, ...]] = []
        for line in block:
            cells = [_estimate(line.design, line.places)] * with_design
            cells += [_estimate(line.posterior, line.places), _below(line)] * fitted
            row = line.design or line.posterior
            rows.append((line.weights, *cells, words.cases(row) if row else ""))
            if own := line.own_cases:
                beside = ["", ""] * fitted
                rows.append((OWN, _estimate(own, line.places), *beside, words.cases(own)))
        blocks.append(Block(name, tuple(rows)))
    return laid_out(["estimand", *headings, "units"], blocks)


def _families(console: Console, several: Sequence[Family]) -> None:
    """Each family as a table of its own, and of signs whether they agree."""
    estimated = [
        family
        for family in several
        if any(
            (line.design or line.posterior) is not None
            for listed in family.rows.values()
            for line in listed
        )
    ]
    for family in estimated:
        _write(console, _family(family, console.width))
    for finding in stability.findings(estimated):
        for weights, *said in finding.statements:
            console.print(f"{target(finding.name, weights)}: {' '.join(said)}", markup=False)


def _family(family: Family, width: int) -> list[str]:
    """A family's rows, one line each, its mixtures side by side where there is room for them.

    Where there is none, and where a posterior stands beside the design estimates, each row has a
    line for each mixture. Under a row stand those on its own cases where they are others than the
    fit's cohort.
    """
    if any(line.posterior is not None for listed in family.rows.values() for line in listed):
        return _weighed(family)
    rows: list[tuple[str, ...]] = []
    blocks = []
    for row in family.rows:
        listed = family.shown(row)
        block: list[tuple[str, ...]] = []
        every = [(line, line.design, line.own_cases) for line in listed]
        said = [_estimate(design, line.places) for line, design, _ in every]
        rows.append((row, *said, _transitions(design for _, design, _ in every)))
        owned = [_estimate(own, line.places) for line, _, own in every]
        if any(owned):
            rows.append((OWN, *owned, _transitions(own for _, _, own in every)))
        for (line, design, own), value, own_value in zip(every, said, owned, strict=True):
            block.append((line.weights, value, _transitions([design])))
            if own is not None:
                block.append((OWN, own_value, _transitions([own])))
        blocks.append(Block(row, tuple(block)))
    beside = laid_out([family.name, *family.weights, TRANSITIONS], [Block("", tuple(rows))])
    if max(map(cell_len, beside)) <= width:
        return [line for line in beside if line]
    return laid_out([family.name, names.DESIGN, TRANSITIONS], blocks)


def _weighed(family: Family) -> list[str]:
    """A family's rows, one line for each mixture, design and posterior side by side."""
    blocks = []
    for row in family.rows:
        found = [
            (
                line.weights,
                _estimate(line.design, line.places),
                _estimate(line.posterior, line.places),
                _below(line),
                _transitions([line.design or line.posterior]),
            )
            for line in family.shown(row)
        ]
        blocks.append(Block(row, tuple(found)))
    return laid_out([family.name, names.DESIGN, names.BAYES, "P(<0)", TRANSITIONS], blocks)


def _below(line: Line) -> str:
    """Posterior probability that a value is below zero, where it has one."""
    chance = line.probabilities.get(lines.BELOW)
    return "" if chance is None else words.probability(chance)


def _transitions(rows: Iterable[Estimate | None]) -> str:
    """How many transitions rows with a value rest on."""
    counts = {row.transitions for row in rows if row is not None and not row.refused}
    return " / ".join(f"{count:,}" for count in sorted(counts))


def _estimate(row: Estimate | None, places: int | None) -> str:
    if row is None:
        return ""
    return "refused" if row.value is None else words.estimate(row, places)


def _checks(console: Console, rows: Sequence[Check]) -> None:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in names.VERDICTS}
    listed = ", ".join(f"{n} {verdict.replace('_', ' ')}" for verdict, n in counts.items() if n)
    console.print(f"checks: {listed}", markup=False)
    for row in rows:
        if row.verdict == "fail":
            console.print(f"  failed: {row.name}, {row.target}: {row.message}", markup=False)
