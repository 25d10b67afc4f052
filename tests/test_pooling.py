"""Check 6: the three ways side by side, from rows made by hand."""

from dataclasses import replace

import pytest

from fourcorner.checks import pooling
from fourcorner.results import Estimate


def row(method, value, interval, **changes):
    made = Estimate(
        name="omega",
        statistic="mean",
        weights="equal",
        method=method,
        population="units",
        cohort="joint",
        value=value,
        interval=interval,
        interval_kind="",
        level=0.95,
        units=9,
        transitions=9,
    )
    return replace(made, **changes)


ABOVE = row("posterior", 1.0, (0.2, 1.8))
FLAT = row("unpooled", 0.75, (0.1, 1.4))
DESIGN = row("design", 0.8, (0.05, 1.5))


def test_three_intervals_on_one_side_agree():
    (found,) = pooling.check([DESIGN, ABOVE, FLAT])
    assert (found.target, found.verdict, found.gated) == ("omega (equal)", "shown", False)
    assert found.message == (
        "agree: unpooled +0.75 [+0.1, +1.4] above, pooled +1 [+0.2, +1.8] above, "
        "design +0.8 [+0.05, +1.5] above"
    )
    assert found.value == pytest.approx(0.25)


@pytest.mark.parametrize(
    "other",
    [
        [row("unpooled", 0.2, (-0.4, 0.9)), DESIGN],
        [FLAT, row("design", 0.2, (-0.4, 0.9))],
        [FLAT, row("design", -0.9, (-1.4, -0.1))],
        [row("unpooled", 0.5, (0.0, 0.9)), DESIGN],  # an end at zero leaves the sign open
    ],
)
def test_one_interval_elsewhere_depends_on_pooling(other):
    (found,) = pooling.check([ABOVE, *other])
    assert found.message.startswith("depends on pooling: unpooled ")
    assert found.verdict == "shown"


def test_a_design_row_about_the_cohort_itself_stands_in_for_one_about_units():
    own = row("design", -0.9, (-1.4, -0.1), population="cohort")
    (alone,) = pooling.check([own, ABOVE, FLAT])
    assert alone.message.startswith("depends on pooling: ")
    (beside,) = pooling.check([own, DESIGN, ABOVE, FLAT])
    assert beside.message.startswith("agree: ")
    stranger = replace(FLAT, population="cohort", value=-9.0, interval=(-10.0, -8.0))
    (unpooled_about_units,) = pooling.check([stranger, ABOVE, DESIGN])
    assert "unpooled has no row" in unpooled_about_units.message


def test_rows_of_other_cohorts_mixtures_and_statistics_do_not_count():
    away = {"value": -9.0, "interval": (-10.0, -8.0)}
    strangers = [
        replace(DESIGN, cohort="contrast", **away),
        replace(DESIGN, weights="empirical", **away),
        replace(DESIGN, statistic="median", **away),
        replace(DESIGN, name="gain", **away),
    ]
    (found,) = pooling.check([*strangers, ABOVE, FLAT])
    assert found.message.startswith("agree: ")
    assert found.message.endswith("design has no row")


def test_a_refused_way_is_said_and_the_others_are_compared():
    refused = replace(FLAT, value=None, interval=None, refused={"reason": "not_identified"})
    (found,) = pooling.check([ABOVE, refused, row("design", 0.1, (-0.4, 0.9))])
    assert found.message.startswith("depends on pooling: unpooled refused (not_identified), ")
    assert found.value is None


def test_one_interval_alone_is_not_run():
    lonely = replace(DESIGN, interval=None)
    (found,) = pooling.check([ABOVE, lonely])
    assert (found.verdict, found.gated) == ("not_run", False)
    assert "design +0.8 without an interval" in found.message


def test_only_posterior_rows_about_units_are_asked():
    assert pooling.check([DESIGN, FLAT, replace(ABOVE, population="cohort")]) == []
