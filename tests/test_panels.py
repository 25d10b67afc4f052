"""Pooling, parts and prior sensitivity beside the estimates, and the claims that do not hold."""

from dataclasses import replace

import pytest

from fourcorner.report import claims, html, lines, panels, plots, verdict
from fourcorner.results import Breakdown
from test_report import PROVENANCE, Page, check, estimate, fitted, refused


def part(by, level, value, interval=None, **changes):
    usual = {
        "name": "omega",
        "statistic": "mean",
        "weights": "empirical",
        "population": "units",
        "cohort": "contrast",
        "interval_kind": "percentile",
        "interval_level": 0.95,
        "units": 4,
        "transitions": 4,
    }
    return Breakdown(by=by, level=level, value=value, interval=interval, **{**usual, **changes})


THREE = [
    estimate(value=-1.0, interval=(-1.5, -0.5)),
    estimate(method="posterior", value=-0.25, interval=(-0.75, 0.25)),
    estimate(method="unpooled", value=-1.25, interval=(-2.0, -0.5)),
    estimate(weights="equal_target", value=1.0, interval=(0.5, 1.5)),
    estimate(method="posterior", weights="equal_target", value=1.0, interval=(0.5, 1.5)),
]
DEPENDS = check(
    "pooling", "omega (empirical)", "shown", 1.0, None,
    "depends on pooling: unpooled -1.25 [-2, -0.5] below, pooled -0.25 [-0.75, +0.25] open, "
    "design -1 [-1.5, -0.5] below", gated=False,
)  # fmt: skip
AGREES = check(
    "pooling", "omega (equal_target)", "shown", None, None,
    "agree: unpooled has no row, pooled +1 [+0.5, +1.5] above, design +1 [+0.5, +1.5] above",
    gated=False,
)  # fmt: skip
PARTS = [
    part("layout", "L0", -1.4, (-2.0, -0.8)),
    part("layout", "L1", -0.6, (-1.2, 0.1)),
    part("layout", "L0", 0.3, weights="equal_target"),
    part("layout", "L1", 0.5, weights="equal_target"),
    part("stratum", "no", -2.0, units=2),
    part("stratum", "yes", 0.5, units=2, notes=("no interval: one unit",)),
    part("leave_one_out", "a", -1.2, units=3, notes=("the least value without one unit",)),
    part("leave_one_out", "d", -0.9, units=3, notes=("the greatest value without one unit",)),
    part("success", "true", None, notes=("no complete transition",)),
    part("success", "false", -1.0),
]


@pytest.fixture
def three():
    audit = fitted(THREE, check_rows=[DEPENDS, AGREES])
    return replace(audit, breakdown_rows=PARTS)


def test_pooling_shows_three_ways_and_the_checks_verdict(three):
    rows = panels.pooled(three, lines.collect(three))
    assert [(row.line.weights, row.depends, row.verdict) for row in rows] == [
        ("empirical", True, "depends on pooling"),
        ("equal_target", False, "agree"),
    ]
    assert {way: found.value for way, found in rows[0].ways.items()} == {
        "unpooled": -1.25,
        "posterior": -0.25,
        "design": -1.0,
    }
    page = Page(html.render(three, PROVENANCE))
    assert page.rows("Verdict")[0] == [
        "omega (empirical)", "−1.25 [−2.00, −0.50]", "−0.25 [−0.75, +0.25]",
        "−1.00 [−1.50, −0.50]", "depends on pooling",
    ]  # fmt: skip
    assert page.rows("Verdict")[1][1] == "—"
    assert "Of 2 compared, 1 changes its side of zero" in page.text
    assert "could not be compared" not in page.text


ALONE = check(
    "pooling", "omega (empirical)", "not_run", None, None, "only one way has an interval",
    gated=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([AGREES], "Of 1 compared, none changes its side of zero (above, below, or open"),
        ([ALONE, AGREES], "Of 1 compared, none changes its side of zero"),
        ([ALONE], "1 could not be compared. Pooled"),
        ([ALONE, AGREES], "1 could not be compared. Pooled"),
    ],
)
def test_pooling_says_how_many_were_compared(checks, expected):
    text = Page(html.render(fitted(THREE, check_rows=checks), PROVENANCE)).text
    assert expected in text
    assert "same side" not in text
    assert ("compared, none" in text) == (AGREES in checks)


def test_pooling_is_drawn_at_its_values_with_a_marker_for_each_way(three):
    figure = plots.pooling(panels.pooled(three, lines.collect(three)), "margin")
    drawn = {
        (line.get_marker(), float(line.get_xdata()[0]))
        for line in figure.axes[0].lines
        if line.get_marker() not in {"None", None, ""} and len(line.get_xdata()) == 1
    }
    assert drawn == {("s", -1.25), ("D", -0.25), ("o", -1.0), ("D", 1.0), ("o", 1.0)}


def test_ranges_go_from_the_least_part_to_the_greatest_and_mark_signs(three):
    [found] = panels.parts(three)
    spans = {key: (span.text, span.signs) for key, span in found.ranges.items()}
    assert spans == {
        ("empirical", "layout"): ("−1.40 to −0.60", False),
        ("equal_target", "layout"): ("+0.30 to +0.50", False),
        ("empirical", "stratum"): ("−2.00 to +0.50", True),
        ("empirical", "leave_one_out"): ("−1.20 to −0.90", False),
        ("empirical", "success"): ("−1.00; 1 cannot be given", False),
    }


def test_parts_are_said_to_be_of_own_cases_where_these_are_others(three):
    said = "complete for the contrast (own cases above), not of the joint cohort alone."
    assert said not in Page(html.render(three, PROVENANCE)).text
    own = estimate(cohort="contrast", value=-1.0, interval=(-1.5, -0.5), transitions=9)
    assert said in Page(html.render(replace(three, rows=[*THREE, own]), PROVENANCE)).text


def test_a_part_that_is_nought_beside_its_interval_sets_no_decimals(three):
    parts = [part("layout", "L0", 1e-9, (-2.0, 2.0)), part("layout", "L1", -0.6, (-1.2, 0.1))]
    [found] = panels.parts(replace(three, breakdown_rows=parts))
    assert found.ranges["empirical", "layout"].text == "−0.600 to +0.000"


def test_every_part_is_on_the_page_with_what_a_reader_must_know(three):
    page = Page(html.render(three, PROVENANCE))
    rows = {row[0]: row[1:] for row in page.rows("Part")}
    assert rows["layout = L1"] == ["4", "−0.60 [−1.20, +0.10]", "+0.50", ""]
    assert rows["stratum = yes"] == ["2", "+0.50", "—", "no interval: one unit"]
    assert rows["the least value without one unit"] == ["3", "−1.20 (a)", "—", ""]
    assert rows["success = true"] == ["4", "—", "—", "no complete transition"]


SENSITIVE = check(
    "prior_sensitivity", "tau[2]", "shown", 0.4, 0.05,
    "prior-driven (a strong prior, or data that say little): prior sensitivity 0.40", gated=False,
)  # fmt: skip
TORN = check(
    "prior_sensitivity", "effects[view]", "shown", 0.2, 0.05, "priors and data pull apart",
    gated=False,
)  # fmt: skip
CALM = check(
    "prior_sensitivity", "omega (empirical)", "shown", 0.01, 0.05, "the priors hardly matter",
    gated=False,
)  # fmt: skip
DRIVEN = check(
    "prior_driven", "generated_gain (empirical)", "shown", None, None, "no cell determines it",
    gated=False,
)  # fmt: skip
FAILED = check("convergence", "parameters", "fail", 1.2, 1.01, "sample more draws")


def test_priors_that_matter_are_open_and_the_others_folded():
    audit = fitted(THREE, check_rows=[CALM, SENSITIVE, TORN, DRIVEN])
    found = panels.sensitivities(audit)
    assert found == {"moved": [SENSITIVE, TORN, DRIVEN], "calm": [CALM]}
    page = Page(html.render(audit, PROVENANCE))
    for row in (SENSITIVE, TORN, CALM, DRIVEN):
        assert row.target in page.text
        assert row.message in page.text


def test_each_claim_that_does_not_hold_is_in_one_group():
    audit = replace(
        fitted(
            [*THREE, refused(name="generated_gain")],
            check_rows=[DEPENDS, AGREES, SENSITIVE, TORN, CALM, DRIVEN, FAILED],
        ),
        not_available=("posterior of middle: the normal family models means", "too many units"),
    )
    found = claims.claims(audit)
    assert [refusal.name for refusal in found.refusals] == ["generated_gain"]
    listed = {kind: [claim.name for claim in group] for kind, group in found.others.items()}
    assert listed == {
        claims.MISSING: ["posterior of middle", ""],
        claims.POOLING: ["omega (empirical)"],
        claims.PRIOR: ["tau[2]", "generated_gain (empirical)"],
        claims.FAILED: ["convergence, parameters"],
    }
    text = Page(html.render(audit, PROVENANCE)).text
    assert "Claims this run does not support" in text
    for said in ("too many units", "no cell determines it", "sample more draws", "below, pooled"):
        assert said in text


def test_where_all_is_supported_there_is_no_such_section():
    audit = fitted(THREE[3:], check_rows=[AGREES, CALM, TORN])
    assert not claims.claims(audit)
    assert "Claims this run does not support" not in Page(html.render(audit, PROVENANCE)).text


def test_the_verdict_says_what_depends_on_pooling_and_what_is_its_prior(three):
    found = verdict.verdict(three, lines.collect(three))
    assert found.tone == "mixed"
    assert "1 conclusion depends on pooling" in found.headline
    assert any("omega (empirical)" in sentence for sentence in found.sentences)
    driven = replace(three, check_rows=[AGREES, DRIVEN])
    said = " ".join(verdict.verdict(driven, lines.collect(driven)).sentences)
    assert "do not determine generated_gain (empirical)" in said
