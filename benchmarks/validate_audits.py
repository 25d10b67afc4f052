"""Both engines on the bundled studies: `make validate`.

Audits the retrieval cube, the bridge's vertices and the source contract with the normal cell model,
and keeps what the checks say: convergence, agreement with the design estimate (check 2), and
whether a conclusion depends on pooling. Writes `results/study_audits.json` with a digest of the
code, the specs and the tables; `tests/test_committed_results.py` holds it to them.
"""

import hashlib
from pathlib import Path
from typing import Any

import fourcorner as fc
from benchmarks import record
from benchmarks.digest import ROOT, digest, sources
from fourcorner import names
from fourcorner.auditing import Audit

RESULT = "study_audits.json"
STUDIES = ("retrieval_cube", "bridge_vertices", "source_contract")
CHECKS = ("design_agreement", "pooling")
CODE = (
    "benchmarks.validate_audits",
    "fourcorner.bayes.engine",
    "fourcorner.bayes.posterior",
    "fourcorner.checks.convergence",
    "fourcorner.checks.design_agreement",
    "fourcorner.checks.pooling",
    "fourcorner.design.engine",
)


def spec_path(study: str) -> Path:
    """The study's spec."""
    return ROOT / "models" / f"{study}.toml"


def tied() -> str:
    """Digest of the code, the specs and their tables."""
    code = {path for module in CODE for path in sources(module)}
    found = hashlib.sha256(digest(code).encode())
    for study in STUDIES:
        spec = fc.read_spec(spec_path(study))
        assert spec.table_path is not None
        found.update(spec.text.encode())
        found.update(spec.table_path.read_bytes())
    return found.hexdigest()


def told(found: Audit) -> dict[str, Any]:
    """What the engines and the checks say."""
    rows = [row for row in found.rows if row.population == names.POPULATION_UNITS]
    convergence = [row for row in found.check_rows if row.name not in CHECKS and row.gated]
    checks = [row for row in found.check_rows if row.name in CHECKS]
    return {
        "units": max(row.units for row in rows),
        "timing": found.timing,
        "convergence": {
            "passed": sum(row.verdict == names.PASS for row in convergence),
            "failed": [f"{row.name}: {row.target}" for row in convergence if row.verdict == "fail"],
        },
        "estimates": {
            f"{row.name} ({row.weights}), {row.method} of the {row.cohort} cohort": {
                "value": row.value,
                "interval": row.interval,
            }
            for row in rows
            if row.method != names.UNPOOLED
        },
        "checks": {
            check: {
                row.target: {"verdict": row.verdict, "value": row.value, "message": row.message}
                for row in checks
                if row.name == check
            }
            for check in CHECKS
        },
        "criteria": {
            f"{row.name} ({row.weights}), {row.method} of the {row.cohort} cohort": row.verdict
            for row in found.criterion_rows
        },
    }


def main() -> None:
    """Audit every study and write what was found."""
    document: dict[str, Any] = {**record.circumstances(), "digest": tied(), "studies": {}}
    for study in STUDIES:
        spec = fc.read_spec(spec_path(study))
        found = fc.audit(fc.read_scores(spec), spec, progress=lambda words: print(" ", words))
        document["studies"][study] = told(found)
        failed = [f"{row.name}: {row.target}" for row in found.check_rows if row.verdict == "fail"]
        print(f"{study}: failed {failed}")
    print(f"wrote {record.write(RESULT, document)}")


if __name__ == "__main__":
    main()
