"""Endpoints that consecutive transitions share."""

import itertools

import numpy as np
import pandas as pd
import pytest

import fourcorner as fc
from fourcorner.errors import SpecError, TableError
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec

SPEC = """
kind = "scores"
[data]
score = "y"
unit = "id"
transition = "step"
endpoint = "point"
change = { column = "phase", before = "b", after = "a" }
channel = { view = ["d", "g"] }
replicate = { layout = ["1", "2"] }
[estimands]
g = { gain = { view = "d" } }
"""
OPTIONS = SPEC.replace(
    'score = "y"', 'option_score = "y"\ncandidate = "option"\ntarget = "gold"\ncensored = "cut"'
)


@pytest.fixture
def rows():
    """Two units with four endpoints and three transitions between neighbours."""
    generator = np.random.default_rng(4)
    points = {
        (unit, point, view, layout): generator.normal()
        for unit, point, view, layout in itertools.product("uv", range(4), "dg", "12")
    }
    found = [
        (unit, f"t{step}", phase, f"p{step + later}", view, layout)
        for unit, step, (later, phase), view, layout in itertools.product(
            "uv", range(3), enumerate("ba"), "dg", "12"
        )
    ]
    frame = pd.DataFrame(found, columns=["id", "step", "phase", "point", "view", "layout"])
    keys = zip(frame["id"], frame["point"].str[1:].astype(int), frame["view"], frame["layout"],
               strict=True)  # fmt: skip
    return frame.assign(y=[points[key] for key in keys])


def faults(rows, text=SPEC):
    with pytest.raises(TableError) as caught:
        read_scores(parse_spec(text), rows)
    return caught.value.faults


def at(rows, **levels):
    return np.logical_and.reduce([rows[name] == level for name, level in levels.items()])


def test_the_endpoint_of_each_state_is_a_coordinate(rows):
    rows["point"] = rows["point"].replace("p3", "NO-77 ")  # as it is written, never re-typed
    found = read_scores(parse_spec(SPEC), rows.sample(frac=1, random_state=1))
    assert found["endpoint"].dims == ("transition", "state")
    own = [["p0", "p1"], ["p1", "p2"], ["p2", "NO-77 "]]
    assert found["endpoint"].values.tolist() == own * 2
    assert found["score"].sel(state="after").values[0] == pytest.approx(
        found["score"].sel(state="before").values[1]
    )
    assert "endpoint" not in read_scores(parse_spec(SPEC.replace('endpoint = "point"\n', "")), rows)


def test_endpoints_survive_a_run(rows, tmp_path):
    spec = parse_spec(SPEC)
    data = read_scores(spec, rows)
    found = fc.audit(data, spec, draws=100)  # units have several transitions: no fit
    assert found.tree is None
    again = fc.load_run(fc.save_run(found, tmp_path / "run"))
    assert again.scores["endpoint"].values.tolist() == data["endpoint"].values.tolist()


def test_an_endpoint_of_another_unit_is_another_endpoint(rows):
    assert len(set(rows["y"])) == 2 * 4 * 4  # p1 of u and p1 of v differ, and that is fine
    assert read_scores(parse_spec(SPEC), rows).sizes["transition"] == 6


def test_an_endpoint_with_two_scores_is_told(rows):
    changed = at(rows, id="v", step="t1", phase="b", view="g", layout="2")
    rows.loc[changed, "y"] += 1e-9
    (fault,) = faults(rows)
    assert fault.startswith(
        "an endpoint has other scores elsewhere: 'p1' of unit 'v', after in transition 't0' and "
        "before in transition 't1'; one state has one score in each channel and replicate"
    )


def test_a_score_that_is_blank_in_one_row_is_another_score(rows):
    place = at(rows, id="u", step="t2", phase="b", view="d", layout="1")
    blank = rows.assign(y=rows["y"].where(~place))
    assert "'p2' of unit 'u'" in faults(blank)[0]
    both = place | at(rows, id="u", step="t1", phase="a", view="d", layout="1")
    found = read_scores(parse_spec(SPEC), rows.assign(y=rows["y"].where(~both)))
    assert np.isnan(found["score"]).sum() == 2


def test_an_endpoint_may_have_its_row_with_one_of_its_transitions_alone(rows):
    place = at(rows, id="u", step="t2", phase="b", view="d", layout="1")
    found = read_scores(parse_spec(SPEC), rows[~place])
    assert np.isnan(found["score"]).sum() == 1


def test_a_state_without_a_row_has_no_endpoint(rows):
    kept = rows[~at(rows, id="u", step="t2", phase="b")]
    found = read_scores(parse_spec(SPEC), kept)
    assert found["endpoint"].values[2].tolist() == ["", "p3"]


def test_both_ends_of_a_transition_may_not_be_one_endpoint(rows):
    rows["point"] = rows["point"].mask(at(rows, id="u", step="t0"), "p0")
    rows["y"] = 1.0
    (fault,) = faults(rows)
    assert fault == (
        "before and after are one endpoint: unit 'u', transition 't0' has 'p0' twice; expected two"
    )


def test_a_state_with_two_endpoints_is_told(rows):
    rows.loc[at(rows, id="u", step="t0", phase="a", view="g"), "point"] = "q"
    assert faults(rows) == (
        "point changes within a state: unit 'u', transition 't0', after has 'p1' and 'q'",
    )


@pytest.mark.parametrize("empty", ["", "  ", None, "nan", "None"])
def test_an_empty_endpoint_is_told_and_never_merged(rows, empty):
    rows.loc[at(rows, step="t2", phase="a"), "point"] = empty
    assert faults(rows) == (
        "point: an empty endpoint: unit 'u', transition 't2', after; unit 'v', transition 't2', "
        "after",
    )


def test_many_faults_are_counted(rows):
    rows["y"] = np.arange(len(rows), dtype=float)
    (fault,) = faults(rows)
    assert fault.count("of unit") == 3
    assert " and 1 more; one state has" in fault  # p1 and p2 of two units


def test_option_scores_and_their_limits_are_those_of_the_endpoint(rows):
    rows = rows.merge(pd.DataFrame({"option": ["x", "z"]}), how="cross")
    rows["y"] += rows["option"] == "x"
    rows["gold"], rows["cut"] = "x", False
    spec = parse_spec(OPTIONS)
    assert read_scores(spec, rows)["endpoint"].values[0].tolist() == ["p0", "p1"]
    place = at(rows, id="u", step="t1", phase="a", view="d", layout="1", option="z")
    cut = rows.assign(cut=place)
    assert "'p2' of unit 'u'" in faults(cut, OPTIONS)[0]
    other = rows.assign(y=rows["y"] + place)
    assert "'p2' of unit 'u'" in faults(other, OPTIONS)[0]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"point"', '"phase"', "column 'phase' is both change and endpoint"),
        ('"point"', "3", "endpoint = 3: expected a text"),
        ("replicate", 'attributes = ["endpoint"]\nreplicate', "'endpoint', a word of the package"),
    ],
)
def test_a_wrong_key_is_told(old, new, words):
    with pytest.raises(SpecError) as caught:
        parse_spec(SPEC.replace(old, new))
    assert any(words in fault for fault in caught.value.faults)


def test_a_column_that_is_not_there_is_told(rows):
    assert faults(rows.rename(columns={"point": "pont"}))[0].startswith(
        "endpoint: no column 'point' (did you mean 'pont'?)"
    )


def test_two_scores_are_told_where_the_endpoint_has_no_row_at_first(rows):
    # three transitions share p1; the first of them has no row at g
    third = rows[at(rows, id="u", step="t1")].assign(step="t9")
    third["point"] = third["point"].replace("p2", "p9")
    shared = pd.concat([rows, third], ignore_index=True)
    first = at(shared, id="u", step="t0", phase="a", view="g")
    read_scores(parse_spec(SPEC), shared[~first])
    other = at(shared, id="u", step="t9", phase="b", view="g", layout="1")
    shared.loc[other, "y"] += 1
    (fault,) = faults(shared[~first])
    assert "'p1' of unit 'u', before in transition 't1' and before in transition 't9'" in fault
