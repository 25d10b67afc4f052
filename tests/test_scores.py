"""Small tables worked by hand: what they become, and every fault of a table in one error."""

import csv
import io
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner import scores
from fourcorner.errors import OptionError, RunError, TableError
from fourcorner.scores import read_scores
from fourcorner.sections import canonical
from fourcorner.spec import parse_spec

DATA = {
    "score": '"y"',
    "unit": '"id"',
    "change": '{ column = "phase", before = "b", after = "a" }',
    "channel": '{ view = ["d", "g"] }',
    "replicate": '{ layout = ["1", "2"] }',
    "stratum": '"target"',
    "attributes": '["kind"]',
}
HEADER = ["id", "target", "kind", "phase", "view", "layout", "y"]


def spec(**changes):
    """The spec of the table below with keys of [data] changed, or left out when None."""
    keys = {**DATA, **changes}
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    channel = parse_channel(keys["channel"])
    estimand = f"g = {{ gain = {{}}, average_over = {channel} }}"
    return parse_spec("\n".join(['kind = "scores"', "[data]", *lines, "[estimands]", estimand]))


def parse_channel(text):
    """The names of the channel factors, as a TOML list."""
    return str([part.split("=")[0].strip(" {}") for part in text.split("],")]) if text else "[]"


def cube():
    """Two units, all eight scores each: unit a on lines 2 to 9, unit b on lines 10 to 17.

    Scores are 0, 1, 2 … 15 in the order of the rows.
    """
    cells = itertools.product([("a", "yes", "k1"), ("b", "no", "k2")], "ba", "dg", "12")
    return [
        [*unit, phase, view, layout, str(n)] for n, (unit, phase, view, layout) in enumerate(cells)
    ]


def text_of(rows, header=HEADER):
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


@pytest.fixture
def table(tmp_path):
    """A CSV of some rows: table(rows) is its path."""

    def save(rows, header=HEADER):
        path = tmp_path / "table.csv"
        path.write_text(text_of(rows, header), encoding="utf-8")
        return path

    return save


def with_values(changes, column):
    """The cube with other values in a column, by line."""
    rows = cube()
    for line, value in changes.items():
        rows[line - 2][HEADER.index(column)] = value
    return rows


def faults(declared, source):
    with pytest.raises(TableError) as caught:
        read_scores(declared, source)
    return caught.value.faults


def frame(rows, header=HEADER):
    return pd.DataFrame(rows, columns=header)


# --- what a table becomes -------------------------------------------------------------------------


def test_a_full_table_becomes_a_dense_array_in_declared_order(table):
    found = read_scores(spec(), table(cube()))
    assert found["score"].dims == ("transition", "state", "view", "layout")
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2))
    assert found["present"].values.all()
    assert found["present"].dtype == bool
    assert found["state"].values.tolist() == ["before", "after"]
    assert found["view"].values.tolist() == ["d", "g"]
    assert found["layout"].values.tolist() == ["1", "2"]
    assert found["unit"].values.tolist() == ["a", "b"]
    assert found["transition_id"].values.tolist() == ["", ""]
    assert found["stratum"].values.tolist() == ["yes", "no"]
    assert found["kind"].values.tolist() == ["k1", "k2"]
    for name in ("unit", "transition_id", "stratum", "kind"):
        assert found[name].dims == ("transition",)


def test_levels_come_in_the_declared_order_whatever_the_texts(table):
    declared = spec(
        change='{ column = "phase", before = "a", after = "b" }', channel='{ view = ["g", "d"] }'
    )
    score = read_scores(declared, table(cube()))["score"]
    expected = np.arange(16.0).reshape(2, 2, 2, 2)[:, ::-1, ::-1, :]
    np.testing.assert_array_equal(score.values, expected)


def test_units_come_in_the_order_of_their_texts(table):
    rows = [[unit, "s", "k", *row[3:]] for unit in ("b", "10", "2", "B") for row in cube()[:8]]
    assert read_scores(spec(), table(rows))["unit"].values.tolist() == ["10", "2", "B", "b"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_of_rows_never_matters(seed):
    rows = [row for place, row in enumerate(cube()) if place not in {3, 9}]
    rows[5][-1] = ""
    order = np.random.default_rng(seed).permutation(len(rows))
    found = read_scores(spec(), frame([rows[place] for place in order]))
    xr.testing.assert_identical(found, read_scores(spec(), frame(rows)))


def test_the_order_of_columns_never_matters():
    rows = frame(cube())
    xr.testing.assert_identical(read_scores(spec(), rows[HEADER[::-1]]), read_scores(spec(), rows))


def test_what_is_not_declared_is_not_there(table):
    bare = spec(channel=None, replicate=None, stratum=None, attributes=None)
    rows = [row for row in cube() if row[4:6] == ["d", "1"]]
    found = read_scores(bare, table(rows))
    assert found["score"].dims == ("transition", "state")
    np.testing.assert_array_equal(found["score"].values, [[0, 4], [8, 12]])
    assert set(found.coords) == {"state", "unit", "transition_id"}
    assert scores.strata(found) == [""]
    assert scores.funnel(found)["by_stratum"] == []
    np.testing.assert_array_equal(scores.cells(found).values, found["score"].values)


def test_transitions_of_a_unit_are_rows_and_their_ids_belong_to_the_unit(table):
    rows = [
        [unit, step, "k" + step, phase, view, layout, f"{unit}{step}{n}"]
        for unit in ("1", "2")
        for step in ("10", "9")
        for n, (phase, view, layout) in enumerate(itertools.product("ba", "dg", "12"))
    ]
    declared = spec(transition='"step"', stratum=None)
    found = read_scores(declared, table(rows, ["id", "step", *HEADER[2:]]))
    assert found["unit"].values.tolist() == ["1", "1", "2", "2"]
    assert found["transition_id"].values.tolist() == ["10", "9", "10", "9"]
    assert found["kind"].values.tolist() == ["k10", "k9", "k10", "k9"]
    assert found["score"].values[:, 0, 0, 1].tolist() == [1101, 191, 2101, 291]


@pytest.mark.parametrize(
    "text", ["1", " 2 ", "+1", "-1.5e-3", ".5", "5.", "1E+5", "007", "0.1", "1e-400"]
)
def test_a_number_is_the_double_that_python_reads(table, text):
    score = read_scores(spec(), table(with_values({4: text}, "y")))["score"].values
    assert score[0, 0, 1, 0] == float(text)


@pytest.mark.parametrize("text", ["", " ", "nan", "NaN", "NAN", " nan "])
def test_a_blank_or_nan_score_is_present_and_not_finite(table, text):
    found = read_scores(spec(), table(with_values({4: text}, "y")))
    assert np.isnan(found["score"].values).sum() == 1
    assert np.isnan(found["score"].values[0, 0, 1, 0])
    assert found["present"].values.all()


def test_a_row_that_is_not_there_is_not_present(table):
    found = read_scores(spec(), table([row for row in cube() if row[-1] != "2"]))
    assert np.argwhere(~found["present"].values).tolist() == [[0, 0, 1, 0]]
    assert np.argwhere(np.isnan(found["score"].values)).tolist() == [[0, 0, 1, 0]]


def test_a_combination_that_nobody_scored_is_a_missing_cell(table):
    found = read_scores(spec(), table([row for row in cube() if row[3:5] != ["a", "g"]]))
    assert not found["present"].sel(state="after", view="g").values.any()
    assert found["present"].values.sum() == 12


def test_levels_are_compared_as_canonical_text(table):
    rows = [
        [*row[:3], {"b": "0", "a": "1.0"}[row[3]], {"d": "True", "g": "false"}[row[4]], *row[5:]]
        for row in cube()
    ]
    rows[0][4], rows[1][4], rows[0][3] = "TRUE", "true", "0.00"
    declared = spec(
        change='{ column = "phase", before = 0, after = 1 }',
        channel="{ view = [true, false] }",
        replicate='{ layout = [1, "2.0"] }',
    )
    found = read_scores(declared, table(rows))
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2))
    assert found["view"].values.tolist() == ["true", "false"]
    assert found["layout"].values.tolist() == ["1", "2"]


def test_numbers_and_booleans_of_a_frame_are_the_levels_of_a_text_table():
    rows = frame(cube()).astype({"layout": float, "y": float})
    rows["view"] = rows["view"] == "g"
    found = read_scores(spec(channel='{ view = ["false", "true"] }'), rows)
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2))


@settings(max_examples=10)
@given(
    st.lists(
        st.one_of(
            st.from_regex(r"-?[0-9]{1,3}(\.0{0,3}[0-9]?)?", fullmatch=True),
            st.sampled_from(["True", "FALSE", "tRuE", "true ", "1.0\n", "١.0", "1.0.0", "-0.0"]),
            st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1),
        ),
        min_size=20,
        max_size=40,
    )
)
def test_sql_and_python_agree_on_canonical_text(texts):
    bare = spec(channel=None, replicate=None, attributes=None)
    rows = [
        (f"{place:02}", text, phase, 1.0)
        for place, text in enumerate(texts)
        for phase in ("b", "a")
    ]
    found = read_scores(bare, pd.DataFrame(rows, columns=["id", "target", "phase", "y"]))
    assert found["stratum"].values.tolist() == [canonical(text) for text in texts]


def test_ids_that_look_alike_are_never_merged(table):
    ids = [
        "1",
        "1.0",
        "01",
        " 1",
        "1 ",
        "true",
        "TRUE",
        "1e0",
        "2024-01-01",
        "nul",
        "nano",
        "\u00e9",
        "e\u0301",
    ]
    rows = [[unit, "s", "k", *row[3:]] for unit in ids for row in cube()[:8]]
    assert read_scores(spec(), table(rows))["unit"].values.tolist() == sorted(ids)


@pytest.mark.parametrize("lost", ["nan", "NA", "None", "<NA>", "NULL", "null", " NaN "])
def test_an_id_that_reads_as_one_that_is_not_there_is_a_fault(table, lost):
    rows = [[unit, "s", "k", *row[3:]] for unit in ("a", lost) for row in cube()[:8]]
    with pytest.raises(TableError) as caught:
        read_scores(spec(), table(rows))
    (fault,) = caught.value.faults
    assert "an id that reads as one that is not there" in fault
    assert f"8 row(s); line 10 has {lost!r}" in fault


def test_scores_whose_squares_overflow_are_a_fault(table):
    rows = [[*row[:-1], f"{place}e101"] for place, row in enumerate(cube()[:16])]
    with pytest.raises(TableError, match=r"scores reach 1\.5e\+102, whose squares overflow"):
        read_scores(spec(), table(rows))


def test_where_keeps_the_rows_of_its_levels(table):
    rows = [[*row, copy] for copy in ("main", "other", "1.0") for row in cube()]
    header = [*HEADER, "copy"]
    for row in rows[16:]:
        row[-2] = "999"
    found = read_scores(spec(where='{ copy = "main" }'), table(rows, header))
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2))
    assert (found.attrs["rows_read"], found.attrs["rows_excluded"]) == (48, 32)
    both = read_scores(spec(where='{ copy = ["main"], phase = ["a", "b"] }'), table(rows, header))
    assert both.equals(found)
    whole = read_scores(spec(where="{ copy = 1 }"), table(rows, header))
    assert (whole["score"].values == 999).all()


def test_where_sees_derived_columns(table):
    declared = spec(where="{ early = true }", derive='{ early = "num(y) < 16" }')
    rows = [*cube(), ["c", "no", "k", "b", "d", "1", "16"]]
    assert read_scores(declared, table(rows))["unit"].values.tolist() == ["a", "b"]


def test_a_score_may_be_derived(table):
    declared = spec(score='"margin"', derive='{ margin = "num(y) - 1" }')
    found = read_scores(declared, table(cube()))
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2) - 1)


@pytest.mark.parametrize(
    "names",
    [
        ["y", "u", "t", "s", "k", "f0", "l0"],
        ["u", "s", "y", "t", "a0", "code", "place"],
        ["rows", "typed", "keys", "id", "select", "from", "row"],
        ["l1", "f1", "a1", "l2", "f2", "a2", "u"],
        ["source", "found", "first", "n", "level", "value", "Level"],
    ],
)
def test_columns_may_be_called_like_names_inside_the_reader(table, names):
    unit, stratum, attribute, change, view, layout, score = names
    declared = spec(
        score=f'"{score}"',
        unit=f'"{unit}"',
        change=f'{{ column = "{change}", before = "b", after = "a" }}',
        channel=f'{{ {view} = ["d", "g"] }}',
        replicate=f'{{ {layout} = ["1", "2"] }}',
        stratum=f'"{stratum}"',
        attributes=f'["{attribute}"]',
    )
    found = read_scores(declared, table(cube(), names))
    np.testing.assert_array_equal(found["score"].values, np.arange(16.0).reshape(2, 2, 2, 2))
    assert found["unit"].values.tolist() == ["a", "b"]
    assert found["stratum"].values.tolist() == ["yes", "no"]
    assert found[attribute].values.tolist() == ["k1", "k2"]
    twice = faults(declared, table([*cube(), cube()[3]], names))
    assert "unit 'a' at line 5 and line 18" in twice[0]


def test_the_table_of_a_spec_is_found_from_its_folder(table):
    path = table(cube())
    text = spec(path='"table.csv"').text
    declared = parse_spec(text, directory=path.parent)
    assert read_scores(declared).attrs["source"] == "table.csv"
    assert len(read_scores(declared).attrs["sha256"]) == 64
    assert read_scores(declared, frame(cube())).attrs["source"] == "pandas DataFrame"
    with pytest.raises(RunError, match="no such file"):
        read_scores(parse_spec(text, directory=path.parent / "elsewhere"))
    assert faults(spec(), None) == ("the spec has no data.path; pass a table",)


def test_a_table_in_the_place_of_the_spec_is_told():
    with pytest.raises(OptionError) as caught:
        read_scores(frame(cube()), spec())
    assert str(caught.value) == (
        "spec is a pandas DataFrame: expected a spec, as read_spec returns it, and then the table: "
        "read_scores(spec, table)"
    )
    with pytest.raises(OptionError, match="spec is a builtins str"):
        read_scores("spec.toml")


# --- cells, cohort, funnel ------------------------------------------------------------------------

# Unit a is whole. Unit b lacks the row (after, g, layout 2). Unit c has no score in (before, d),
# neither layout: one is blank, one NaN. A row of another copy is left out.
FUNNEL = [
    *cube()[:8],
    *[["b", "yes", "k", *row[3:]] for row in cube()[:7]],
    ["c", "no", "k", "b", "d", "1", ""],
    ["c", "no", "k", "b", "d", "2", "NaN"],
    *[["c", "no", "k", *row[3:]] for row in cube()[2:8]],
]
FUNNEL_HEADER = [*HEADER, "copy"]
FUNNEL_ROWS = [*[[*row, "main"] for row in FUNNEL], [*cube()[0], "nested"]]


@pytest.fixture
def partial(table):
    return read_scores(spec(where='{ copy = "main" }'), table(FUNNEL_ROWS, FUNNEL_HEADER))


def test_a_cell_is_the_mean_of_its_replicates_and_nan_unless_all_are_finite(partial):
    nan = np.nan
    expected = [
        [[0.5, 2.5], [4.5, 6.5]],
        [[0.5, 2.5], [4.5, nan]],
        [[nan, 2.5], [4.5, 6.5]],
    ]
    cells = scores.cells(partial)
    assert cells.dims == ("transition", "state", "view")
    np.testing.assert_array_equal(cells.values, expected)
    assert scores.joint(cells).tolist() == [True, False, False]


def test_the_funnel_counts_missing_rows_and_blank_scores_apart(partial):
    found = scores.funnel(partial)
    by_channel, by_stratum = found.pop("by_channel"), found.pop("by_stratum")
    by_replicate = found.pop("by_replicate")
    assert found == {
        "warnings": [],
        "rows_read": 24,
        "rows_excluded": 1,
        "units": 3,
        "units_in_cohort": 1,
        "transitions": 3,
        "transitions_in_cohort": 1,
        "attempted": 24,
        "present": 23,
        "finite": 21,
        "complete": 20,
        "in_cohort": 8,
        "reasons": {
            "no_row": 1,
            "blank": 2,
            "censored": 0,
            "other_replicate_missing": 1,
            "other_cell_missing": 12,
        },
    }
    stages = ("attempted", "present", "finite", "complete", "in_cohort")
    assert [(*row["cell"].items(), *(row[stage] for stage in stages)) for row in by_channel] == [
        (("state", "before"), ("view", "d"), 6, 6, 4, 4, 2),
        (("state", "before"), ("view", "g"), 6, 6, 6, 6, 2),
        (("state", "after"), ("view", "d"), 6, 6, 6, 6, 2),
        (("state", "after"), ("view", "g"), 6, 5, 5, 4, 2),
    ]
    assert [
        (row["stratum"], row["units"], *(row[stage] for stage in stages)) for row in by_stratum
    ] == [("no", 1, 8, 8, 6, 6, 0), ("yes", 2, 16, 15, 15, 14, 8)]
    assert [
        (row["factor"], row["level"], *(row[stage] for stage in stages)) for row in by_replicate
    ] == [("layout", "1", 12, 12, 11, 10, 4), ("layout", "2", 12, 11, 10, 10, 4)]
    assert [row["reasons"]["no_row"] for row in by_replicate] == [0, 1]
    assert [row["reasons"]["other_replicate_missing"] for row in by_replicate] == [1, 0]
    for row in (found, *by_channel, *by_stratum, *by_replicate):
        assert sum(row["reasons"].values()) == row["attempted"] - row["in_cohort"]


def test_the_funnel_of_a_whole_table_loses_nothing(table):
    found = scores.funnel(read_scores(spec(), table(cube())))
    stages = ("attempted", "present", "finite", "complete", "in_cohort")
    assert [found[stage] for stage in stages] == [16] * 5
    assert (found["units"], found["units_in_cohort"]) == (2, 2)


def test_factors_replicates_and_strata_are_read_off_the_dataset(partial):
    expected = {"state": ["before", "after"], "view": ["d", "g"]}
    assert scores.factors(partial) == expected
    assert scores.factors(scores.cells(partial)) == expected
    assert scores.replicate_dims(partial) == ["layout"]
    assert scores.strata(partial) == ["no", "yes"]


def test_several_replicates_are_averaged_together(table):
    rows = [[*row, wave] for wave in ("w1", "w2") for row in cube()]
    for place, row in enumerate(rows):
        row[-2] = str(place)
    declared = spec(replicate='{ layout = [1, 2], wave = ["w1", "w2"] }')
    cells = scores.cells(read_scores(declared, table(rows, [*HEADER, "wave"])))
    # cell n of the cube holds the scores 2n, 2n + 1 and the same plus 16
    np.testing.assert_array_equal(cells.values.ravel(), [2 * n + 8.5 for n in range(8)])


def test_a_dataset_goes_to_netcdf_and_back(partial, tmp_path):
    partial.to_netcdf(tmp_path / "scores.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "scores.nc", engine="h5netcdf") as opened:
        back = opened.load()
    xr.testing.assert_identical(back, partial)
    assert scores.funnel(back) == scores.funnel(partial)
    xr.testing.assert_identical(scores.cells(back), scores.cells(partial))


# --- faults ---------------------------------------------------------------------------------------


def one_fault(declared, source):
    found = faults(declared, source)
    assert len(found) == 1, found
    return found[0]


def test_a_duplicate_cell_names_the_lines_of_both_rows(table):
    found = one_fault(spec(), table([*cube(), cube()[2]]))
    assert found == (
        "duplicate cells: 1 combination(s) have more than one row, e.g. unit 'a' at line 4 and "
        "line 18. Declare what tells them apart: transition (several changes per unit) or a "
        "replicate factor such as a wave (repeated measurements)"
    )


def test_a_duplicate_is_one_also_with_the_same_or_no_score(table):
    blank = [*cube()[2][:-1], ""]
    assert "line 4 and line 18" in one_fault(spec(), table([*cube(), blank]))


def test_many_duplicates_are_counted_and_three_shown(table):
    found = one_fault(spec(), table([*cube(), *cube(), *cube()]))
    assert "16 combination(s) have more than one row" in found
    assert found.count("unit 'a' at") == 3
    assert "unit 'a' at line 2 and line 18 and line 34; unit 'a' at line 3" in found


def test_duplicates_within_a_declared_transition_ask_for_a_replicate(table):
    rows = [["t1", *row] for row in cube()]
    declared = spec(transition='"step"')
    found = one_fault(declared, table([*rows, rows[0]], ["step", *HEADER]))
    assert found.endswith("Declare what tells them apart: a replicate factor such as a wave "
                          "(repeated measurements)")  # fmt: skip


@pytest.mark.parametrize("text", ["inf", "-Infinity", "+INF", "1e309", "-1e999", "1" * 400])
def test_an_infinite_score_is_a_fault(table, text):
    found = one_fault(spec(), table(with_values({5: text}, "y")))
    assert found == f"y: an infinite score: 1 row(s); line 5 has {text!r}"


@pytest.mark.parametrize(
    "text",
    ["1_000", "1,5", "abc", "0x10", "None", "NA", "true", "1 2", "1e", "--1", "١", "$1", "5%"],
)
def test_a_score_that_is_no_number_is_a_fault(table, text):
    found = one_fault(spec(), table(with_values({5: text}, "y")))
    assert found == (
        "y: a score that is not a number (blank or NaN means not measured): 1 row(s); "
        f"line 5 has {text!r}"
    )


def test_a_boolean_score_is_no_number():
    rows = frame(cube())
    rows["y"] = rows["y"].astype(float) > 7
    assert "y: a score that is not a number" in one_fault(spec(), rows)


@pytest.mark.parametrize("text", ["", " ", "\t", " \n "])
def test_an_empty_unit_id_is_a_fault(table, text):
    found = one_fault(spec(), table(with_values({3: text}, "id")))
    assert found.startswith("id: an empty unit id: 1 row(s); line 3 has ")


def test_a_null_character_in_an_id_is_a_fault_since_numpy_would_drop_it(table):
    found = one_fault(spec(), table(with_values({3: "a\0"}, "id")))
    assert found == "id: an id with a null character: 1 row(s); line 3 has 'a\\x00'"


@pytest.mark.parametrize(
    "carrier",
    [
        lambda rows: rows,
        pl.from_pandas,
        lambda rows: pl.from_pandas(rows).with_columns(pl.col("id").fill_null(np.nan)),
        lambda rows: pa.Table.from_pandas(rows),
    ],
)
def test_a_missing_number_as_unit_id_is_a_fault_and_no_unit(carrier):
    rows = frame(cube())
    rows["id"] = [np.nan] * 8 + [2.0] * 7 + [3.0]
    assert "id: an empty unit id: 8 row(s); row 1 has nothing" in faults(spec(), carrier(rows))[0]


def test_a_table_of_empty_ids_alone_is_a_fault(table):
    found = one_fault(spec(), table([["", *row[1:]] for row in cube()]))
    assert "id: an empty unit id: 16 row(s); line 2 has nothing, line 3" in found


def test_an_empty_transition_id_is_a_fault(table):
    rows = [["t", *row] for row in cube()]
    rows[6][0] = ""
    found = one_fault(spec(transition='"step"'), table(rows, ["step", *HEADER]))
    assert found == "step: an empty id: 1 row(s); line 8 has nothing"


def test_an_undeclared_level_is_a_fault_that_names_it(table):
    found = one_fault(spec(), table(with_values({4: "q", 5: "q", 8: ""}, "view")))
    assert found == (
        "view: level(s) that the spec does not declare: 'q' (2 row(s), first line 4), "
        "nothing (1 row(s), first line 8); declared are ['d', 'g']. Declare them, or keep rows "
        "with [data] where"
    )


def test_an_undeclared_level_of_the_change_is_a_fault(table):
    assert "phase: level(s) that the spec does not declare: 'x'" in one_fault(
        spec(), table(with_values({4: "x"}, "phase"))
    )


def test_undeclared_levels_beyond_five_are_counted(table):
    rows = [*cube(), *[["c", "no", "k", "b", f"v{n}", "1", "0"] for n in range(9)]]
    assert "'v4' (1 row(s), first line 22) and 4 more" in one_fault(spec(), table(rows))


def test_a_declared_level_that_is_nowhere_is_a_fault_that_names_it(table):
    found = one_fault(spec(replicate='{ layout = ["1", "2", "3"] }'), table(cube()))
    assert found == "layout: declared level(s) nowhere in the data: ['3']"


def test_a_misspelt_level_is_told_on_both_sides(table):
    rows = [[*row[:4], {"d": "direct", "g": "generated"}[row[4]], *row[5:]] for row in cube()]
    found = faults(spec(channel='{ view = ["direct", "genrated"] }'), table(rows))
    assert len(found) == 2
    assert "'generated' (8 row(s), first line 4)" in found[0]
    assert found[1].endswith("nowhere in the data: ['genrated'] (did you mean 'generated'?)")


def test_a_stratum_that_changes_within_its_unit_is_a_fault(table):
    found = one_fault(spec(), table(with_values({4: "no"}, "target")))
    assert found == (
        "target changes within 1 unit(s), e.g. unit 'a' has 'no' and 'yes'; is one id used for "
        "different units?"
    )


@pytest.mark.parametrize("text", ["", " "])
def test_one_blank_stratum_is_an_empty_stratum_and_not_a_second_one(table, text):
    found = one_fault(spec(), table(with_values({4: text}, "target")))
    assert found.startswith("target: an empty stratum: 1 row(s); line 4 has ")


def test_an_attribute_that_changes_within_its_transition_is_a_fault(table):
    found = one_fault(spec(), table(with_values({4: "k9", 12: "k9"}, "kind")))
    assert found == (
        "kind changes within 2 unit(s), e.g. unit 'a' has 'k1' and 'k9'; is one id used for "
        "different units?"
    )


def test_one_blank_attribute_in_a_transition_is_a_change_within_it(table):
    found = one_fault(spec(), table(with_values({4: ""}, "kind")))
    assert "kind changes within 1 unit(s), e.g. unit 'a' has nothing and 'k1'" in found


def test_an_attribute_that_is_blank_throughout_is_blank(table):
    blank = dict.fromkeys(range(2, 10), "")
    found = read_scores(spec(), table(with_values(blank, "kind")))
    assert found["kind"].values.tolist() == ["", "k2"]


def test_an_attribute_may_change_between_transitions_but_not_within_one(table):
    header = ["step", *HEADER]
    declared = spec(transition='"step"')
    rows = [[step, *row[:2], f"k{step}", *row[3:]] for step in ("1", "2") for row in cube()]
    assert read_scores(declared, table(rows, header))["kind"].values.tolist() == ["k1", "k2"] * 2
    rows[0][3] = "other"
    found = one_fault(declared, table(rows, header))
    assert "kind changes within 1 transition(s), e.g. unit 'a', transition '1', has 'k1'" in found


def test_a_stratum_may_not_change_between_transitions_of_a_unit(table):
    rows = [[step, row[0], f"s{step}", *row[2:]] for step in ("1", "2") for row in cube()]
    found = one_fault(spec(transition='"step"'), table(rows, ["step", *HEADER]))
    assert "target changes within 2 unit(s), e.g. unit 'a' has 's1' and 's2'" in found


def test_a_replicate_that_never_varies_within_a_unit_is_an_attribute(table):
    rows = [row for row in cube() if (row[0] == "a") == (row[5] == "1")]
    assert one_fault(spec(), table(rows)) == (
        "layout never varies within a unit, so it is no replicate to average over: declare it in "
        "attributes"
    )
    one_level = [row for row in cube() if row[5] == "1"]
    assert read_scores(spec(replicate='{ layout = ["1"] }'), table(one_level)).sizes["layout"] == 1


def test_one_unit_is_too_few(table):
    assert one_fault(spec(), table(cube()[:8])) == (
        "id: only one unit ('a'); the unit is what is resampled, so at least two are needed: name "
        "the column that tells them apart, or add rows of others"
    )


@pytest.mark.parametrize("source", [frame([]), pl.DataFrame(schema=dict.fromkeys(HEADER, str))])
def test_a_table_without_rows_is_a_fault(table, source):
    for empty in (source, table([])):
        assert one_fault(spec(), empty) == "the table has a header and no rows"


def test_where_that_keeps_nothing_is_a_fault_that_names_what_there_is(table):
    rows = [[*row, "main"] for row in cube()]
    found = faults(spec(where='{ copy = ["mian"] }'), table(rows, [*HEADER, "copy"]))
    assert found == (
        "where: copy has no level 'mian' (did you mean 'main'?); it has 'main'",
        "[data] where keeps none of 16 rows",
    )


def test_where_levels_that_exclude_each_other_keep_nothing(table):
    assert one_fault(spec(where='{ id = "a", target = "no" }'), table(cube())) == (
        "[data] where keeps none of 16 rows"
    )


def test_one_level_of_where_that_is_nowhere_is_a_fault_too(table):
    found = one_fault(spec(where='{ id = ["a", "b", "c"] }'), table(cube()))
    assert found == "where: id has no level 'c'; it has 'a', 'b'"


def test_columns_that_are_not_there_are_named_with_the_nearest(table):
    declared = spec(
        score='"margin"',
        unit='"ids"',
        stratum='"Target"',
        attributes='["knd"]',
        where="{ copy = 1 }",
    )
    found = faults(declared, table(cube()))
    assert found == (
        "score: no column 'margin'",
        "unit: no column 'ids' (did you mean 'id'?)",
        "stratum: no column 'Target' (did you mean 'target'?)",
        "attributes: no column 'knd' (did you mean 'kind'?)",
        "where: no column 'copy'. The columns are id, target, kind, phase, view, layout, y",
    )


def test_the_list_of_columns_is_cut_when_it_is_long(table):
    header = [f"c{n}" for n in range(40)]
    found = faults(spec(), table([["x"] * 40], header))
    assert found[-1].endswith("c28, c29 and 10 more")


def test_several_faults_come_in_one_error(table):
    rows = [*cube(), cube()[2]]  # line 18 repeats line 4
    rows[4][-1] = "inf"  # line 6
    rows[5][-1] = "much"  # line 7
    rows[8][0] = ""  # line 10
    rows[9][4] = "q"  # line 11
    rows[6][1] = "no"  # line 8
    rows[7][2] = "k7"  # line 9
    declared = spec(replicate='{ layout = ["1", "2", "3"] }')
    found = faults(declared, table(rows))
    expected = [
        "id: an empty unit id: 1 row(s); line 10 has nothing",
        "y: an infinite score: 1 row(s); line 6 has 'inf'",
        "y: a score that is not a number (blank or NaN means not measured): 1 row(s); line 7",
        "view: level(s) that the spec does not declare: 'q' (1 row(s), first line 11)",
        "layout: declared level(s) nowhere in the data: ['3']",
        "target changes within 1 unit(s), e.g. unit 'a' has 'no' and 'yes'",
        "kind changes within 1 unit(s), e.g. unit 'a' has 'k1' and 'k7'",
        "duplicate cells: 1 combination(s) have more than one row, e.g. unit 'a' at line 4",
    ]
    assert len(found) == len(expected), found
    for fault, words in zip(found, expected, strict=True):
        assert fault.startswith(words)


def test_the_error_names_the_table_and_counts_its_faults(table):
    with pytest.raises(TableError, match=r"^table\.csv has 1 fault:\n  - id: only one unit"):
        read_scores(spec(), table(cube()[:8]))
    with pytest.raises(TableError, match=r"^pandas DataFrame has 2 faults:"):
        read_scores(spec(), frame(cube()[:8]).replace("7", "inf"))


def test_lines_are_those_of_the_file_after_quoted_line_breaks_and_blank_lines(table):
    rows = [[*row, "one\ntwo\nthree" if place == 1 else "-"] for place, row in enumerate(cube())]
    path = table([*rows, rows[2]], [*HEADER, "note"])
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("a,yes,k1,a,d,1", "\na,yes,k1,a,d,1"), encoding="utf-8")
    lines = path.read_text(encoding="utf-8").split("\n")
    expected = [n for n, line in enumerate(lines, 1) if line.startswith("a,yes,k1,b,g,1,2")]
    assert expected == [6, 21]
    assert f"line {expected[0]} and line {expected[1]}" in one_fault(spec(), path)


def test_rows_of_a_frame_are_counted_from_one():
    rows = frame(with_values({5: "inf"}, "y")).set_axis([f"i{n}" for n in range(16)])
    assert one_fault(spec(), rows) == "y: an infinite score: 1 row(s); row 4 has 'inf'"


ODD = st.one_of(
    st.sampled_from(["a", "b", "d", "g", "1", "2.0", "yes", "", " ", "nan", "inf", "1e309"]),
    st.none(),
    st.integers(-2, 3),
    st.floats(),
    st.booleans(),
    st.text(max_size=3),
    st.dates(),
)


@settings(max_examples=15)
@given(st.data())
def test_a_table_with_random_changes_is_a_dataset_or_a_table_error(data):
    rows = cube()
    for _ in range(data.draw(st.integers(0, 3))):
        rows[data.draw(st.integers(0, 15))][data.draw(st.integers(0, 6))] = data.draw(ODD)
    rows = frame(data.draw(st.permutations(rows))[: data.draw(st.integers(0, 16))])
    try:
        found = read_scores(spec(), rows)
    except TableError:
        return
    assert scores.funnel(found)["present"] == len(rows)
    xr.testing.assert_identical(found, read_scores(spec(), rows.iloc[::-1]))
