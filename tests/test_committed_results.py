"""The committed simulation studies belong to this code, and their figures keep their bands."""

import json
from pathlib import Path

import pytest
from benchmarks.digest import digest, sources
from benchmarks.validate_audits import tied
from scipy import stats

REPO = Path(__file__).parents[1]
VALIDATION = REPO / "benchmarks" / "results" / "cell_validation.json"
AUDITS = REPO / "benchmarks" / "results" / "study_audits.json"
INTERVALS = REPO / "benchmarks" / "results" / "interval_coverage.json"
LEVEL, REFITS = 0.95, 200


@pytest.fixture(scope="module")
def found():
    return json.loads(VALIDATION.read_text())


def test_the_studies_were_made_by_this_code(found):
    now = digest(sources("benchmarks.validate_cell"))
    assert found["digest"] == now, "the cell model changed: run `make validate`, commit its result"


def test_every_interval_covers_within_the_binomial_band(found):
    scenarios = found["recovery"].values()
    rows = [(s["refits"], row["covered"]) for s in scenarios for row in s["quantities"].values()]
    assert len(rows) == 4 * 10
    assert {refits for refits, _ in rows} == {REFITS}
    # one chance in forty that any of all the rows of an exact interval falls below
    fewest = stats.binom.ppf(0.025 / len(rows), REFITS, LEVEL)
    assert min(covered for _, covered in rows) >= fewest


def test_estimates_are_unbiased_where_the_strata_are_drawn(found):
    rows = found["recovery"]["strata drawn, tau 0, 0.3 or 0.6"]["quantities"]
    for name, row in rows.items():
        # 4 standard errors of the mean error over the data sets
        assert abs(row["bias"]) <= 4 * row["error_sd"] / REFITS**0.5, name


def test_the_standard_error_of_omega_is_the_bootstraps(found):
    at = found["standard_error"]
    assert at["100 units"]["refits"] == 50
    for name, ratio in at["100 units"]["ratio"].items():
        assert abs(ratio["mean"] - 1) <= 0.05, name
    assert set(at["20 units"]["ratio"]) == {"generated_vs_quote", "quote_vs_empty"}


def test_check_2_rejects_right_models_at_most_as_often_as_it_says(found):
    most = stats.binom.ppf(0.975, REFITS, 0.05)
    assert len(found["check_right"]) == 3
    for name, scenario in found["check_right"].items():
        assert scenario["refits"] == REFITS, name
        assert scenario["rejected"] <= most, name


def test_check_2_rejects_most_wrong_locations(found):
    assert sum(scenario["refits"] for scenario in found["check_wrong"].values()) == REFITS
    for name, scenario in found["check_wrong"].items():
        assert scenario["rejected"] > scenario["refits"] / 2, name


@pytest.fixture(scope="module")
def intervals():
    return json.loads(INTERVALS.read_text())


def test_the_interval_study_was_made_by_this_code(intervals):
    now = digest(sources("benchmarks.validate_intervals"))
    assert intervals["digest"] == now, "intervals changed: run `make validate`, commit its result"
    assert intervals["settings"]["strata"] == [5, 7, 38, 50]
    assert intervals["settings"]["level"] == LEVEL


def test_with_small_strata_the_default_interval_covers_and_percentiles_do_not(intervals):
    kinds = {
        (population, plan, asked): row
        for population, plans in intervals["coverage"].items()
        for plan, rows in plans.items()
        for asked, row in rows.items()
    }
    assert len(kinds) == 2 * 2 * 4
    assert {row["cohorts"] for row in kinds.values()} == {2000}
    # one chance in forty that any of the two exact intervals falls below
    fewest = stats.binom.ppf(0.025 / 2, 2000, LEVEL)
    for population, plans in intervals["coverage"].items():
        assert plans["plain"]["equal, bootstrap_t"]["covered"] >= fewest, population
        for plan, rows in plans.items():
            covered = {asked: row["covered"] for asked, row in rows.items()}
            assert covered["equal, percentile"] < fewest, (population, plan)
            assert covered["equal, percentile"] < covered["equal, rescaled"]
            assert covered["equal, rescaled"] < covered["equal, bootstrap_t"]
        # with a hundred units in all there is nothing to repair
        assert plans["plain"]["empirical, percentile"]["covered"] >= fewest


@pytest.fixture(scope="module")
def audits():
    return json.loads(AUDITS.read_text())


def test_the_audits_of_the_studies_were_made_by_this_code_on_these_tables(audits):
    assert audits["digest"] == tied(), "run `make validate`, commit its result"
    assert set(audits["studies"]) == {"retrieval_cube", "bridge_vertices", "source_contract"}


@pytest.mark.parametrize("study", ["retrieval_cube", "bridge_vertices", "source_contract"])
def test_every_fit_of_a_study_converged(audits, study):
    found = audits["studies"][study]
    assert found["units"] == 100
    assert found["convergence"]["failed"] == []
    assert found["convergence"]["passed"] == 8
    assert found["timing"]["min_ess_bulk"] >= 400


@pytest.mark.parametrize("study", ["retrieval_cube", "bridge_vertices", "source_contract"])
def test_the_engines_agree_of_the_cohorts_own_mixture(audits, study):
    checks = audits["studies"][study]["checks"]["design_agreement"]
    own = {target: row for target, row in checks.items() if target.endswith("(empirical)")}
    ran = {target: row["verdict"] for target, row in own.items() if row["verdict"] != "not_run"}
    assert len(ran) >= 7
    assert set(ran.values()) == {"pass"}


def test_where_small_strata_decide_the_checks_say_so(audits):
    # by design the published equal-target rows of the bridge lie around zero or nearer to it
    bridge = audits["studies"]["bridge_vertices"]
    pooled = bridge["checks"]["pooling"]
    for vertex in "ABC":
        assert "depends on pooling" in pooled[f"omega_{vertex} (equal_target)"]["message"]
    verdicts = bridge["criteria"]
    assert verdicts["directions (empirical), design of the joint cohort"] == "supported"
    assert verdicts["directions (empirical), posterior of the joint cohort"] == "supported"
    assert verdicts["directions (equal_target), design of the joint cohort"] == "unresolved"
    contract = audits["studies"]["source_contract"]["checks"]["pooling"]
    assert "depends on pooling" in contract["source_only_gain (equal_target)"]["message"]


def write(folder, text):
    path = folder / "module.py"
    path.write_text(text)
    return digest([path], root=folder)


def test_the_digest_sees_code_and_no_wording(tmp_path):
    plain = write(tmp_path, "def f(x):\n    return x + 1\n")
    told = write(
        tmp_path, '"""Words."""\n\n\ndef f(x):  # more\n    """Words."""\n    return (x + 1)\n'
    )
    assert told == plain
    assert write(tmp_path, "def f(x):\n    return x + 2\n") != plain
    assert write(tmp_path, 'def f(x):\n    g("""Words.""")\n    return x + 1\n') != plain


def test_the_digest_covers_what_the_studies_import():
    names = {path.relative_to(REPO).as_posix() for path in sources("benchmarks.validate_cell")}
    assert {
        "benchmarks/validate_cell.py",
        "benchmarks/worlds.py",
        "src/fourcorner/bayes/cells.py",
        "src/fourcorner/bayes/locations.py",
        "src/fourcorner/checks/design_agreement.py",
        "src/fourcorner/design/draws.py",
    } <= names
    assert "src/fourcorner/report/html.py" not in names
