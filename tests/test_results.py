"""Result rows: their keys are the documented ones, and no NaN gets out."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from fourcorner.results import Check, Estimate, Probability, frame, read, records, to_json

# Keys that the design document names, in its order, then the extras that the class documents.
DESIGN_KEYS = [
    "name", "statistic", "weights", "method", "population", "cohort", "value", "interval",
    "interval_kind", "level", "units", "transitions", "undefined_draws", "refused",
]  # fmt: skip
EXTRA_KEYS = ["resampling", "count", "signed", "family", "flip_ratio", "flip_share", "notes"]
PROBABILITY_KEYS = ["name", "event", "value", "weights", "population"]
CHECK_KEYS = ["name", "target", "verdict", "value", "threshold", "message"]

ABOUT = {
    "name": "omega",
    "statistic": "mean",
    "weights": "empirical",
    "method": "design",
    "population": "units",
    "cohort": "contrast",
    "interval_kind": "percentile",
    "level": 0.95,
    "units": 2,
    "transitions": 3,
}
REFUSED = {"reason": "not_identified", "missing": [{"state": "after", "view": "direct"}]}


def good(**changed):
    return Estimate(**{**ABOUT, "value": -1.0, "interval": (-2.0, -0.5), **changed})


def refused():
    return Estimate(**ABOUT, value=None, interval=None, refused=REFUSED)


def test_an_estimate_has_the_documented_keys_and_no_others():
    (record,) = records([good()])
    assert set(record) == {*DESIGN_KEYS, *EXTRA_KEYS}
    assert [key for key in record if key in DESIGN_KEYS[:13]] == DESIGN_KEYS[:13]


def test_a_probability_and_a_check_have_the_documented_keys():
    chance = Probability(
        name="omega", event="omega<0", value=0.9, weights="equal", population="units", draws=10
    )
    check = Check(name="c", target="omega", verdict="pass", value=None, threshold=None, message="m")
    assert [*records([chance])[0]] == [*PROBABILITY_KEYS, "draws", "rope"]
    assert [*records([check])[0]] == [*CHECK_KEYS, "gated"]


def test_records_go_through_json_unchanged():
    rows = records([good(notes=("small",), count=2), refused()])
    assert json.loads(to_json({"estimates": rows}))["estimates"] == rows
    assert rows[0]["interval"] == [-2.0, -0.5]
    assert rows[0]["notes"] == ["small"]
    assert rows[1]["value"] is None
    assert rows[1]["refused"] == REFUSED


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf, np.float64("nan")])
@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: [x], lambda x: {"deep": (1.0, {"er": x})}])
def test_json_refuses_a_number_that_is_not_finite(number, wrap):
    with pytest.raises(ValueError, match="Out of range float"):
        to_json({"value": wrap(number)})


def test_json_keeps_letters_and_numpy_floats_readable():
    text = to_json({"Ω": np.float64(0.5), 1: ("a", None, True)})
    assert json.loads(text) == {"Ω": 0.5, "1": ["a", None, True]}
    assert "Ω" in text
    assert text.endswith("}\n")


def test_the_flips_and_the_family_go_through_json_and_stand_in_the_frame():
    rows = [good(family="signs", flip_ratio=2.0), good(family="signs", flip_share=0.75), good()]
    assert read(json.loads(to_json({"rows": records(rows)}))["rows"], Estimate) == rows
    table = frame(rows, Estimate)
    assert table["family"].tolist() == ["signs", "signs", None]
    assert table["flip_ratio"].dtype == table["flip_share"].dtype == float
    assert table["flip_ratio"].isna().tolist() == [False, True, True]
    assert table["flip_share"].tolist()[1] == 0.75
    with pytest.raises(ValueError, match="flip ratio and share"):
        good(flip_ratio=math.inf)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_an_estimate_that_is_not_finite_cannot_be_made(number):
    with pytest.raises(ValueError, match="omega: value and interval"):
        good(value=number)
    with pytest.raises(ValueError, match="omega: value and interval"):
        good(interval=(0.0, number))


def test_a_row_has_a_value_or_a_refusal_and_not_both():
    with pytest.raises(ValueError, match="expected one of them"):
        good(refused=REFUSED)
    with pytest.raises(ValueError, match="expected one of them"):
        Estimate(**ABOUT, value=None, interval=None)


def test_a_frame_has_the_keys_of_the_records_and_their_values():
    rows = [good(count=2, notes=("a", "b")), refused()]
    table = frame(rows, Estimate)
    assert list(table.columns) == list(records(rows)[0])
    assert table["value"].dtype == float
    assert table["units"].tolist() == [2, 2]
    assert table.loc[0, "interval"] == (-2.0, -0.5)
    assert table.loc[0, "notes"] == ("a", "b")
    assert table.loc[0, "count"] == 2
    assert table.loc[0, "refused"] is None
    assert math.isnan(table.loc[1, "value"])
    assert table.loc[1, "interval"] is None
    assert table.loc[1, "count"] is None
    assert table.loc[1, "refused"] == REFUSED


def test_a_frame_of_refusals_alone_keeps_a_numeric_value_column():
    table = frame([refused(), refused()], Estimate)
    assert table["value"].dtype == float
    assert table["value"].isna().all()


@pytest.mark.parametrize("kind", [Estimate, Probability, Check])
def test_a_frame_of_no_rows_keeps_its_columns(kind):
    table = frame([], kind)
    assert isinstance(table, pd.DataFrame)
    assert len(table) == 0
    documented = {
        Estimate: [*DESIGN_KEYS, *EXTRA_KEYS],
        Probability: PROBABILITY_KEYS,
        Check: CHECK_KEYS,
    }
    assert set(documented[kind]) <= set(table.columns)
    assert table["value"].dtype == float


def test_rows_cannot_be_changed_after_the_fact():
    with pytest.raises(AttributeError):
        good().value = 0.0
