"""Reading and reducing ten million score rows beside DuckDB's own group-by of the same file.

`python -m benchmarks.read_scores` makes a table in a temporary folder as Parquet and as CSV, its
rows in random order, and runs in new processes, each limited to the same memory: `read_scores`
and `cells`; and a single SQL query that averages the same file to the same cells, with DuckDB's
memory limit alone. It prints and writes seconds, processor seconds and the greatest memory of
either. `--rows N` makes a smaller table and writes nothing.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks import record

RESULT = "read_scores.json"
ROWS, REPEATS = 10_000_000, 3
LIMIT_MIB, GROUP_BY_MIB = 1024, 1024
VIEWS, AUTHORITIES, LAYOUTS = 5, 2, 10
PER_UNIT = 2 * VIEWS * AUTHORITIES * LAYOUTS
Found = dict[str, Any]

TABLE = f"""
SELECT 'unit-' || lpad((i // {PER_UNIT})::VARCHAR, 6, '0') AS trajectory,
  ['yes', 'no', 'unclear', 'none'][i // {PER_UNIT} % 4 + 1] AS target,
  ['before', 'after'][i // {PER_UNIT // 2} % 2 + 1] AS state,
  'v' || i // {AUTHORITIES * LAYOUTS} % {VIEWS} AS view,
  ['neutral', 'primary'][i // {LAYOUTS} % 2 + 1] AS authority,
  'L' || i % {LAYOUTS} AS layout,
  round((hash(i) % 100000007) / 1e7 - 5, 6) AS margin
FROM range(ROWS) AS r(i) ORDER BY hash(i + 1)
"""
SPEC = f"""
kind = "scores"
[data]
score = "margin"
unit = "trajectory"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = {[f"v{i}" for i in range(VIEWS)]}, authority = ["neutral", "primary"] }}
replicate = {{ layout = {[f"L{i}" for i in range(LAYOUTS)]} }}
stratum = "target"
[estimands]
gain = {{ gain = {{}}, average_over = ["view", "authority"] }}
"""


def ours(path: Path) -> float:
    """Read and reduce; the sum of the cells."""
    from fourcorner.scores import cells, read_scores
    from fourcorner.spec import parse_spec

    return float(cells(read_scores(parse_spec(SPEC), path)).sum())


def group_by(path: Path) -> float:
    """The same cells by one query; their sum."""
    with tempfile.TemporaryDirectory() as spill:
        connection = duckdb.connect()
        connection.execute(f"SET memory_limit = '{GROUP_BY_MIB}MiB'")
        connection.execute(f"SET temp_directory = '{spill}'")
        source = f"read_csv('{path}', all_varchar = true)" if path.suffix == ".csv" else f"'{path}'"
        found = connection.execute(
            f"SELECT trajectory, target, state, view, authority, avg(margin::DOUBLE) AS cell "
            f"FROM {source} GROUP BY ALL"
        ).fetchnumpy()
        return float(np.asarray(found["cell"]).sum())


WORK: dict[str, Callable[[Path], float]] = {"ours": ours, "group_by": group_by}


def timed(work: str, path: Path) -> None:
    """In a process of its own: print what the work took as one line of JSON."""
    if work == "ours":
        import fourcorner.scores  # noqa: F401 - importing is no reading
    start, cpu = time.perf_counter(), time.process_time()
    total = WORK[work](path)
    told = {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_mib": peak_mib(),
        "sum": total,
    }
    print(json.dumps(told))


def peak_mib() -> float:
    """The most memory that this process has held; `getrusage` would count its parent's too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def in_new_process(work: str, path: Path) -> Found:
    command = [sys.executable, "-m", "benchmarks.read_scores", "--run", work, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compare(path: Path) -> Found:
    """Medians over runs that take turns, and the ratio of ours to the group-by."""
    runs: dict[str, list[Found]] = {work: [] for work in WORK}
    for _ in range(REPEATS):
        for work, done in runs.items():
            done.append(in_new_process(work, path))
    sums = [run["sum"] for done in runs.values() for run in done]
    if not np.allclose(sums, sums[0]):
        raise RuntimeError(f"the cells do not agree: their sums are {sums}")
    found: Found = {"file_mib": round(path.stat().st_size / 2**20, 1)}
    for work, done in runs.items():
        found[work] = {
            "seconds": round(statistics.median(run["seconds"] for run in done), 2),
            "cpu_seconds": round(statistics.median(run["cpu_seconds"] for run in done), 2),
            "peak_mib": round(max(run["peak_mib"] for run in done)),
        }
    for key in ("seconds", "cpu_seconds"):
        found[f"ratio_{key}"] = round(found["ours"][key] / found["group_by"][key], 2)
    found["within_limit"] = found["ours"]["peak_mib"] <= LIMIT_MIB
    print(
        f"{path.name}: ours {found['ours']}, group-by {found['group_by']}, "
        f"ratio {found['ratio_seconds']} ({found['ratio_cpu_seconds']} by processor time)",
        flush=True,
    )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--run", nargs=2, metavar=("WORK", "PATH"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        timed(asked.run[0], Path(asked.run[1]))
        return
    about = record.circumstances("duckdb", "pandas")
    print(f"{about['date']}, {about['machine']}, {asked.rows:,} rows", flush=True)
    rows = asked.rows // PER_UNIT * PER_UNIT
    with tempfile.TemporaryDirectory(prefix="read-scores-") as folder:
        parquet, text = Path(folder) / "scores.parquet", Path(folder) / "scores.csv"
        connection = duckdb.connect()
        connection.execute(f"COPY ({TABLE.replace('ROWS', str(rows))}) TO '{parquet}'")
        connection.execute(f"COPY (FROM '{parquet}') TO '{text}'")
        connection.close()
        found = {path.suffix[1:]: compare(path) for path in (parquet, text)}
    if asked.rows != ROWS:
        print("not the whole table: nothing written")
        return
    limits = {"memory_limit_mib": LIMIT_MIB, "rows": rows, "cells": rows // LAYOUTS}
    print(f"wrote {record.write(RESULT, {**about, **limits, 'repeats': REPEATS, **found})}")


if __name__ == "__main__":
    main()
