"""Whether signs agree, in words: no more than the rows say."""

from dataclasses import replace

import pytest

from fourcorner.report import lines, stability
from fourcorner.report.families import families
from test_families import SPEC, audited, table
from test_report import estimate

NAMED = {"cross": "cross_channel", "same": "same_channel"}


def said(rows, weights="empirical", text=SPEC, frame=None):
    """The statement of a family with these design rows: (value, interval) by row, or refusals."""
    audit = audited(text, frame)
    made = []
    for name, found in rows.items():
        about = {"name": f"stable.{name}", "statistic": "rate", "cohort": "contrast"}
        if isinstance(found, str):
            why = {"reason": "one_wave", "message": found}
            made.append(estimate(**about, value=None, interval=None, refused=why))
        else:
            value, interval = found
            made.append(estimate(**about, value=value, interval=interval))
    audit = replace(audit, rows=made)
    family = families(audit, lines.collect(audit))[0]
    return stability.statement(family, weights)


USUAL = {
    "cross_channel": (0.4837, (0.4512, 0.5168)),
    "same_channel": (0.0031, (0.0011, 0.0062)),
    "excess": (0.4806, (0.4481, 0.514)),
}


def test_disagreement_stands_beside_that_of_retries():
    found, (beyond, *_) = said(USUAL)
    assert found == (
        "Cross-channel disagreement 48.4 % [45.1, 51.7] against 0.310 % [0.110, 0.620] in retries."
    )
    assert beyond == "Channels disagree more than retries: the excess is 48.1 % [44.8, 51.4]."


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((-0.01, 0.2), "not established: the excess is 10.0 % [−1.0, 20.0], which includes zero."),
        ((-0.3, -0.2), "Channels disagree less than retries: the excess is 10.0 %"),
        (None, "is not established: 10.0 %, no interval."),
        ((0.0, 0.2), "which includes zero"),
    ],
)
def test_more_than_retries_is_said_where_the_interval_of_the_excess_is_above_zero(interval, words):
    _, (beyond, *_) = said({**USUAL, "excess": (0.1, interval)})
    assert words in beyond
    assert "disagree more" not in beyond.replace("That channels disagree more", "")


def test_with_one_wave_it_is_said_whether_that_was_asked_for():
    asked = SPEC.replace("dead_zones", 'wave = ["1"], dead_zones')
    one = {"cross_channel": USUAL["cross_channel"]}
    found, (beyond, *_) = said(one, text=asked)
    assert found == "Cross-channel disagreement 48.4 % [45.1, 51.7]."
    assert beyond == "One wave is asked for here, so noise is not told from disagreement."
    alone = SPEC.replace(', wave = ["1", "2"]', "")
    found, (beyond, *_) = said(one, text=alone, frame=table().query("wave == '1'"))
    assert found == "Cross-channel disagreement 48.4 % [45.1, 51.7]."
    assert beyond == "Retries were not measured, so noise is not told from disagreement."


def test_what_is_refused_is_said():
    assert said(dict.fromkeys(USUAL, "no such thing")) == ("Refused: no such thing.", [])
    found, (beyond, *_) = said({**USUAL, "same_channel": "no", "excess": "no"})
    assert found == "Cross-channel disagreement 48.4 % [45.1, 51.7] against retries refused."
    assert beyond == "Whether that is more than in retries is refused."


def test_without_the_design_engine_nothing_is_said():
    assert said({}) == ("Not estimated.", [])


def test_orientations_and_zeros_are_told_apart():
    more = {"cross_channel+-": (0.3, None), "cross_channel-+": (0.18, None)}
    _, (_, which) = said({**USUAL, **more, "zero": (0.0, None)})
    assert which == "First gain above zero and second below: 30.0 %; the other way round: 18.0 %."
    _, (_, _, zero) = said({**USUAL, **more, "zero": (0.02, None)})
    assert zero == "A gain is exactly zero in 2.00 %, which counts as no disagreement."


def test_a_comparison_of_groups_is_no_rate():
    text = SPEC.replace("dead_zones", 'between = { step_type = ["plan", "draft"] }, dead_zones')
    found, details = said({"cross_channel": (-0.1, (-0.2, 0.05))}, text=text)
    assert found == (
        "Cross-channel disagreement, difference between the groups: −10.0 % [−20.0, 5.0]."
    )
    assert details == []


def test_short_findings_leave_out_which_way():
    audit = audited()
    found = families(audit, lines.collect(audit))
    (long,), (short,) = stability.findings(found), stability.findings(found, short=True)
    assert short.name == long.name == "stable"
    for (weights, one, details), (same, other, fewer) in zip(
        long.statements, short.statements, strict=True
    ):
        assert (weights, one) == (same, other)
        assert details.startswith(fewer)
        assert "Calibration: " in details
        assert "Calibration: " not in fewer
        assert "the other way round" not in fewer
