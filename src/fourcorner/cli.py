"""Command line: parse, call, print. Exit 0 done, 2 a gate failed or a refusal, 1 no result.

Invariant: with ``--json`` standard output is one JSON document and nothing else; progress and
messages go to standard error. Pinned by `tests/test_cli.py`.
"""

import importlib.metadata
import io
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from fourcorner import api, doctor, names, results, scores
from fourcorner.errors import FourcornerError, OptionError, SpecError
from fourcorner.io import bundled, files
from fourcorner.io.sources import is_table_name
from fourcorner.spec import Spec

if TYPE_CHECKING:
    from fourcorner.auditing import Audit

DONE, NO_RESULT, GATE_FAILED = 0, 1, 2
INTERRUPTED = 130  # what typer makes of an interrupt
STOPPED = "stopped; nothing was written"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Does a measured gain survive a change of evaluation channel?\n\n"
    "Start with [bold]fourcorner demo[/bold], then [bold]fourcorner init scores DIR[/bold].",
)
errors = Console(stderr=True, highlight=False)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="A spec file (TOML).")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on standard output.")]
Draws = Annotated[int | None, typer.Option(help="Bootstrap draws, instead of the spec's.", min=100)]
Seed = Annotated[int | None, typer.Option(help="Instead of the spec's seed.", min=0, max=2**63 - 1)]
Out = Annotated[Path, typer.Option("--out", metavar="RUN", help="Directory to write.")]
Replace = Annotated[bool, typer.Option("--replace", help="An earlier run there may make way.")]


def main() -> None:
    """Run the command line and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a console that cannot write → writes ? instead
            stream.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line on these arguments; returns the exit code."""
    command = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="fourcorner", standalone_mode=False)
    except FourcornerError as error:
        return _no_result(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return _no_result(STOPPED)
    except OSError as error:
        return _no_result(f"cannot write: {error.strerror or error}")
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # typer has printed the help
            return DONE
        if hasattr(error, "format_message"):
            return _no_result(error.format_message())
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        return _no_result(
            f"a fault of ours, please report it: {type(error).__name__}: {error} ({place})"
        )
    if code == INTERRUPTED:
        return _no_result(STOPPED)
    return code if isinstance(code, int) else DONE


def _no_result(words: str) -> int:
    errors.print(f"fourcorner: {words}", markup=False, soft_wrap=True)
    return NO_RESULT


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fourcorner {importlib.metadata.version('fourcorner')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


@app.command(epilog="Example: fourcorner demo --out my-first-run")
def demo(
    out: Out = Path("fourcorner-demo"),
    as_json: AsJson = False,
) -> int:
    """Run the main job on the bundled cohort and write its report; replaces an earlier demo."""
    spec = _spec(bundled.spec_path())
    earlier = out / names.SPEC_FILE
    again = earlier.is_file() and files.read_text(earlier) == spec.text
    return _audit(spec, out, again, as_json)


@app.command(
    name="doctor",
    epilog="Examples: fourcorner doctor scores.csv; fourcorner doctor spec.toml --json",
)
def doctor_command(
    path: Annotated[Path, typer.Argument(metavar="TABLE|SPEC", help="A table or a spec file.")],
    as_json: AsJson = False,
) -> int:
    """Say what a file holds, what is measured and identified, and what to run next."""
    if path.suffix.lower() == ".toml":
        spec = _spec(path)
        found = doctor.describe_scores(scores.read_scores(spec), spec)
        refused = found["weights"] or any(not row["identified"] for row in found["estimands"])
        _show(found, as_json, lambda show: show.doctor_scores(found, path))
        return GATE_FAILED if refused else DONE
    found = doctor.describe_table(path)
    _show(found, as_json, lambda show: show.doctor_table(found))
    return DONE


@app.command(
    epilog="Examples: fourcorner estimate spec.toml; "
    "fourcorner estimate spec.toml --draws 2000 --json"
)
def estimate(
    spec: SpecPath,
    draws: Draws = None,
    seed: Seed = None,
    as_json: AsJson = False,
) -> int:
    """Estimate with the design engine alone: no model, bootstrap intervals, in seconds."""
    from fourcorner.auditing import design_audit

    declared = _spec(spec, seed, draws)
    return _report(design_audit(scores.read_scores(declared), declared), as_json)


@app.command(
    epilog="Examples: fourcorner fit spec.toml; fourcorner fit spec.toml --out posterior.nc; "
    "fourcorner fit spec.toml --compare"
)
def fit(
    spec: SpecPath,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.nc", help="Save the fit (netCDF).")
    ] = None,
    seed: Seed = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Fit several families; say which to rest on, and why.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Fit the Bayesian model: posterior of every estimand, and whether the chains converged."""
    from fourcorner.auditing import posterior_audit
    from fourcorner.io.runs import write_tree

    declared = _spec(spec, seed)
    if compare:
        return _compare(declared, out, as_json)
    if out is not None:
        if declared.model.family == names.BAYESIAN_BOOTSTRAP:
            raise OptionError(
                "--out: a Bayesian bootstrap has no fit to save; `fourcorner audit SPEC --out RUN` "
                "writes its rows"
            )
        files.require_free(out)
    data = scores.read_scores(declared)
    with _progress() as tell:
        found = posterior_audit(data, declared, tell)
    if out is not None and found.tree is not None:
        write_tree(out, found.tree)
    return _report(found, as_json)


def _compare(spec: Spec, out: Path | None, as_json: bool) -> int:
    if out is not None:
        raise OptionError("--out keeps one fit, and --compare makes several; leave one of them out")
    data = scores.read_scores(spec)
    with _progress() as tell:
        found = api.compare(data, spec, progress=tell)
    _show(found.document(), as_json, lambda show: show.comparison(found))
    return DONE if found.favoured else GATE_FAILED


@app.command(
    epilog="Examples: fourcorner audit spec.toml --out runs/mine; "
    "fourcorner audit spec.toml --out runs/mine --replace --seed 7"
)
def audit(
    spec: SpecPath,
    out: Out,
    draws: Draws = None,
    seed: Seed = None,
    replace_run: Replace = False,
    as_json: AsJson = False,
) -> int:
    """Run both engines, check one against the other, and write a run with its report."""
    return _audit(_spec(spec, seed, draws), out, replace_run, as_json)


@app.command(
    epilog="Examples: fourcorner reweight runs/mine --weights yes=0.7,no=0.3; "
    "fourcorner reweight runs/mine --weights equal --weights empirical --out runs/again"
)
def reweight(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Directory of a finished run.")],
    weights: Annotated[
        list[str],
        typer.Option(
            metavar="W",
            help="A name of the run's spec, 'equal', 'empirical', or yes=0.5,no=0.5; may be given "
            "several times.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="NEWRUN", help="Write it as a run too.")
    ] = None,
    replace_run: Replace = False,
    as_json: AsJson = False,
) -> int:
    """Give a run other target weights: same scores, same fit, nothing is fitted again."""
    from fourcorner.io.runs import require_way

    if out is None and replace_run:
        raise OptionError("--replace goes with --out, which says what may make way")
    if out is not None:
        require_way(out, replace=replace_run)
    with _progress() as tell:
        tell("reading the run")
        earlier = api.load_run(run)
        tell("weighting")
        found = api.reweight(earlier, weights)
        if out is not None:
            api.save_run(found, out, replace=replace_run)
    return _report(found, as_json, out)


@app.command(epilog="Example: fourcorner init scores my-analysis")
def init(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="scores")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it.")],
    as_json: AsJson = False,
) -> int:
    """Write a commented spec and a small table to start from; it runs as it is."""
    from fourcorner.simulate import starter

    if kind != "scores":
        raise SpecError([f"KIND is {kind!r}; this version starts 'scores'"], "init")
    text = resources.files("fourcorner").joinpath("starters/scores.toml").read_text("utf-8")
    table = starter.generate().to_csv(index=False, lineterminator="\n")
    spec = folder / "scores.toml"
    for path in (spec, folder / "scores.csv"):
        files.require_free(path)
    written = [files.write_text(spec, text), files.write_text(folder / "scores.csv", table)]
    return _wrote(written, as_json, f"Next: fourcorner doctor {spec}")


@app.command(name="sample-data", epilog="Example: fourcorner sample-data data")
def sample_data(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write them.")],
    as_json: AsJson = False,
) -> int:
    """Generate the bundled synthetic cohorts again, byte for byte, with their truth."""
    from fourcorner.simulate import COHORTS

    tables = {name: content for cohort in COHORTS for name, content in cohort().items()}
    for name in tables:
        files.require_free(folder / name)
    written = [files.write_new(folder / name, content) for name, content in tables.items()]
    return _wrote(written, as_json)


def _wrote(paths: Sequence[Path], as_json: bool, more: str = "") -> int:
    if as_json:
        sys.stdout.write(results.to_json({"written": [str(path) for path in paths]}))
        return DONE
    typer.echo("\n".join([f"Wrote {path}" for path in paths] + ([more] if more else [])))
    return DONE


def _spec(path: Path, seed: int | None = None, draws: int | None = None) -> Spec:
    if path.is_file() and is_table_name(path):
        told = "this is a table; SPEC is a TOML file that says what its columns are"
        raise SpecError([f"{told}; fourcorner doctor {path} writes one to start from"], path.name)
    spec = api.read_spec(path)
    if seed is not None:
        spec = replace(spec, sampler=replace(spec.sampler, seed=seed))
    if draws is not None:
        spec = replace(spec, design=replace(spec.design, draws=draws))
    return spec


def _audit(spec: Spec, out: Path, replace_run: bool, as_json: bool) -> int:
    from fourcorner.io.runs import require_way

    require_way(out, replace=replace_run)
    data = scores.read_scores(spec)
    with _progress() as tell:
        found = api.audit(data, spec, progress=tell)
        tell("writing the run")
        api.save_run(found, out, replace=replace_run)
    return _report(found, as_json, out)


def _report(found: "Audit", as_json: bool, run: Path | None = None) -> int:
    _show(found.document(), as_json, lambda show: show.audit(found))
    if run is not None:
        errors.print(f"Report: {run / names.REPORT_FILE}", markup=False, soft_wrap=True)
    return DONE if found.passed else GATE_FAILED


def _show(document: dict[str, Any], as_json: bool, show: Callable[[Any], None]) -> None:
    from fourcorner.report import terminal

    if as_json:
        sys.stdout.write(results.to_json(document))
    else:
        show(terminal)


@contextmanager
def _progress() -> Generator[Callable[[str], None]]:
    """Tell progress by a spinner on standard error; nothing where that is no terminal."""
    if not errors.is_terminal:
        yield lambda _: None
        return
    with errors.status("starting") as status:
        yield lambda words: status.update(escape(words))
