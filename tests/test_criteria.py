"""Directional criteria: verdicts from intervals, what may be asked, and the posterior's share."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import fits
import fourcorner as fc
from fourcorner import directional, results
from fourcorner.asking import resolved
from fourcorner.auditing import design_audit
from fourcorner.bayes import posterior
from fourcorner.bayes.mixtures import contrast_draws
from fourcorner.errors import OptionError, SpecError
from fourcorner.report import coverage, html, terminal
from fourcorner.report import criteria as report
from fourcorner.results import Criterion, Estimate

ABOUT = {
    "statistic": "mean",
    "population": "units",
    "cohort": "contrast",
    "interval_kind": "percentile",
    "level": 0.95,
    "units": 9,
    "transitions": 9,
}
WHERE = {"above": (0.1, 2.0), "below": (-2.0, -0.1), "around": (-1.0, 1.0), "none": None}


def row(name, where="above", weights="w", method="design", **more):
    interval = WHERE[where]
    value = None if "refused" in more else 0.0 if interval is None else sum(interval) / 2
    given = {**ABOUT, "interval": None if value is None else interval, **more}
    return Estimate(name=name, weights=weights, method=method, value=value, **given)


def naive(signs, places):
    """The definition in words: all on their side, one on the other, or neither."""
    wanted = {"+": "above", "-": "below"}
    opposite = {"+": "below", "-": "above"}
    if any(place == opposite[sign] for sign, place in zip(signs, places, strict=True)):
        return "contradicted"
    all_there = all(place == wanted[sign] for sign, place in zip(signs, places, strict=True))
    return "supported" if all_there else "unresolved"


@pytest.mark.parametrize("signs", list(itertools.product("+-", repeat=2)))
@pytest.mark.parametrize("places", list(itertools.product(WHERE, repeat=2)))
def test_every_combination_of_two_parts(signs, places):
    rows = [row(name, place) for name, place in zip("ab", places, strict=True)]
    (found,) = directional.verdicts({"c": dict(zip("ab", signs, strict=True))}, rows)
    assert found.verdict == naive(signs, places)
    assert [part.name for part in found.parts] == ["a", "b"]


def test_an_interval_that_touches_zero_is_open():
    touching = Estimate(
        name="a", weights="w", method="design", value=0.5, interval=(0.0, 1.0), **ABOUT
    )
    (found,) = directional.verdicts({"c": {"a": "+"}}, [touching])
    assert found.verdict == "unresolved"


def test_nothing_vanishes_though_no_row_has_an_interval():
    (found,) = directional.verdicts({"c": {"a": "+", "b": "-"}}, [row("a", "none")])
    assert found.verdict == "unresolved"
    assert found.notes == ("a has no interval", "b has no row here")
    seen = row("a", "none", method="posterior", population="cohort")
    assert not directional.verdicts({"c": {"a": "+"}}, [seen])


def test_two_rows_of_one_name_are_refused():
    with pytest.raises(OptionError, match="two rows of a"):
        directional.verdicts({"c": {"a": "+"}}, [row("a"), row("a", "below", level=0.3)])


def test_each_mixture_and_method_has_its_own_verdict():
    rows = [
        row("a", "above"),
        row("a", "below", weights="v"),
        row("a", "around", method="posterior"),
        row("a", "below", method="unpooled"),
    ]
    found = directional.verdicts({"c": {"a": "+"}}, rows)
    told = {(one.weights, one.method): one.verdict for one in found}
    assert told == {
        ("w", "design"): "supported",
        ("v", "design"): "contradicted",
        ("w", "posterior"): "unresolved",
    }


def test_a_missing_and_a_refused_part_leave_it_open_and_say_so():
    refused = row("b", refused={"reason": "x", "message": "nobody measured it"})
    (found,) = directional.verdicts({"c": {"a": "+", "b": "-", "d": "-"}}, [row("a"), refused])
    assert found.verdict == "unresolved"
    assert "b is refused: nobody measured it" in found.notes
    assert "d has no row here" in found.notes


def test_a_part_that_fails_decides_whatever_is_missing():
    (found,) = directional.verdicts({"c": {"a": "-", "d": "-"}}, [row("a")])
    assert found.verdict == "contradicted"


def test_pointwise_intervals_claim_nothing_together():
    (found,) = directional.verdicts({"c": {"a": "+"}}, [row("a")])
    assert "pointwise" in found.notes[-1]
    together = row("a", interval_kind="simultaneous max-t")
    (found,) = directional.verdicts({"c": {"a": "+"}}, [together])
    assert found.notes == (directional.TOGETHER,)


SPEC = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["direct", "generated"] }}
attributes = ["success"]
[estimands]
omega = {{ omega = {{ view = ["direct", "generated"] }} }}
share = {{ omega = {{ view = ["direct", "generated"] }}, statistic = "negative_share" }}
signs = {{ signs = {{ view = ["direct", "generated"] }} }}
[criteria]
{criterion}
"""


def spec(criterion):
    return fc.parse_spec(SPEC.format(criterion=criterion))


def table():
    frame = fits.face_table().drop(columns="target")
    return frame.assign(success=frame["task"].str.endswith("1"))


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ('c = { signs = { omega = "minus" } }', 'expected "+" or "-"'),
        ("c = { signs = {} }", "names no estimate"),
        ("c = { sign = {} }", "needs the key 'signs'; there is 'sign': rename it"),
        ('c = { signs = { sg.excess = "+" } }', 'quote the whole name of the row: "sg.excess" ='),
        ('c = { signs = { sg.gain.first = "+" } }', '"sg.gain.first" ='),
        ("c = 3", "expected a table"),
        ('c = { signs = { omega = "+" }, level = 0.9 }', "unknown key 'level'"),
    ],
)
def test_faults_of_the_text(criterion, words):
    with pytest.raises(SpecError, match=words.replace("+", r"\+")):
        spec(criterion)


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ('c = { signs = { omego = "-" } }', "no estimate 'omego' \\(did you mean 'omega'\\?\\)"),
        (
            'c = { signs = { share = "-" } }',
            "'share' is a share, a rate or the like, which is never below",
        ),
        (
            'c = { signs = { "signs.cross_channel" = "-" } }',
            "is a share, a rate or the like, which is never below",
        ),
    ],
)
def test_faults_of_the_rows(criterion, words):
    with pytest.raises(SpecError, match=words):
        fc.estimate(
            fc.read_scores(spec("[criteria.x]\nsigns = { omega = '-' }"), table()), spec(criterion)
        )


def test_estimates_of_a_table_are_judged():
    declared = spec('down = { signs = { omega = "-", "signs.gain.first" = "+" } }')
    estimates = fc.estimate(fc.read_scores(declared, table()), declared, draws=500)
    found = fc.criteria(estimates, declared)
    ends = estimates.set_index("name")["interval"]
    expected = ends["omega"][1] < 0 and ends["signs.gain.first"][0] > 0
    assert expected
    assert found["verdict"].tolist() == ["supported"]
    # the same rows read back from a frame, and another question asked of them
    again = fc.criteria(estimates, {"up": {"omega": "+"}})
    assert again["verdict"].tolist() == ["contradicted"]
    with pytest.raises(OptionError, match="no estimate 'omga' \\(did you mean 'omega'"):
        fc.criteria(estimates, {"up": {"omga": "+"}})
    with pytest.raises(OptionError, match='expected "\\+" or "-"'):
        fc.criteria(estimates, {"up": {"omega": "up"}})
    with pytest.raises(OptionError, match=r"'signs\.cross_channel' is a share, a rate or the like"):
        fc.criteria(estimates, {"up": {"signs.cross_channel": "+"}})
    with pytest.raises(OptionError, match=r"its rows are signs\.gain\.first"):
        fc.criteria(estimates, {"up": {"signs": "+"}})
    with pytest.raises(OptionError, match="names no estimate"):
        fc.criteria(estimates, {"up": {}})
    with pytest.raises(OptionError, match="expected a spec, or criteria"):
        fc.criteria(estimates, {"up": "omega"})
    with pytest.raises(OptionError, match="expected the frame"):
        fc.criteria({"omega": 1}, {"up": {"omega": "+"}})


def test_rows_of_a_frame_are_the_rows():
    rows = [row("a"), row("b", "none"), row("c", refused={"reason": "x", "message": "y"})]
    assert results.rows(results.frame(rows, Estimate), Estimate) == rows


def test_the_posterior_of_a_conjunction_is_over_the_same_draws():
    fitted = fits.face()
    asked = resolved(fitted.spec, None, ["large", "small"])
    signs = {"omega": "-", "generated": "+"}
    rows = posterior.conjunctions(fitted.tree, *asked, {"both": signs})
    estimands = {one.name: one for one in asked[0]}
    for found, mixture in zip(rows, asked[1], strict=True):
        omega, generated = (
            contrast_draws(fitted.tree, estimands[name].contrast, mixture) for name in signs
        )
        both = int(((omega < 0) & (generated > 0)).sum())
        assert found.value == pytest.approx((both + 0.5) / (omega.size + 1))
        assert (found.event, found.name, found.weights) == ("criterion", "both", mixture.name)
    assert not posterior.conjunctions(fitted.tree, *asked, {"c": {"middle": "+"}})


def test_criteria_are_in_the_document_and_in_the_frame():
    declared = spec('down = { signs = { omega = "-" } }')
    found = design_audit(fc.read_scores(declared, table()), declared)
    (only,) = found.document()["criteria"]
    assert only["verdict"] == "supported"
    assert only["parts"][0] == {
        "name": "omega",
        "sign": "-",
        "statistic": "mean",
        "verdict": "holds",
        "value": found.estimates.set_index("name").loc["omega", "value"],
        "interval": list(found.estimates.set_index("name").loc["omega", "interval"]),
    }
    assert isinstance(found.criteria, pd.DataFrame)
    assert list(found.criteria.columns) == list(Criterion.__dataclass_fields__)
    assert np.isfinite(only["parts"][0]["value"])


def test_the_page_and_the_terminal_tell_every_verdict(capsys):
    declared = spec('down = { signs = { omega = "-" } }\nup = { signs = { omega = "+" } }')
    found = design_audit(fc.read_scores(declared, table()), declared)
    page = html.render(found, {})
    assert page.count("<strong>supported</strong>") == 1
    assert page.count("<strong>contradicted</strong>") == 1
    assert "The criterion up is contradicted under empirical (design)." in page
    terminal.audit(found)
    printed = " ".join(capsys.readouterr().out.split())
    assert "The criterion down is supported under empirical (design)." in printed
    assert "Directional criteria" not in html.render(replace(found, spec=spec("")), {})


def test_a_verdict_on_own_cases_is_told_beside_the_fits_only_where_it_differs():
    declared = spec('down = { signs = { omega = "-" } }')
    found = design_audit(fc.read_scores(declared, table()), declared)
    joint = [replace(one, cohort="joint") for one in found.rows]
    same = replace(found, rows=[*found.rows, *joint])
    assert [told.engine for told in report.told(same)] == ["design"]
    moved = [replace(one, value=9.0, interval=(8.0, 10.0)) for one in joint]
    differ = replace(found, rows=[*found.rows, *moved])
    assert [told.verdict for told in report.told(differ)] == ["supported", "contradicted"]


def test_what_the_cells_identify_is_on_the_page():
    declared = fc.parse_spec(SPEC.format(criterion="").replace("[criteria]", ""))
    whole = coverage.crossings(design_audit(fc.read_scores(declared, table()), declared))
    assert [(row["name"], row["complete"], row["possible"]) for row in whole] == [
        ("", 2, 2),
        ("view", 1, 1),
    ]
    corner = table()[lambda rows: (rows["view"] == "direct") | (rows["state"] == "before")]
    lost = coverage.crossings(design_audit(fc.read_scores(declared, corner), declared))
    assert [(row["name"], row["complete"]) for row in lost] == [("", 1), ("view", 0)]
    assert lost[1]["missing"] == "(after, view = generated)"
