"""Tables come in whole and as they were written, or with an error; then no SQL leaves them."""

import csv
import gzip
import io
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.errors import RunError, TableError
from fourcorner.io import files
from fourcorner.io.sql import sql_names, with_columns
from fourcorner.io.tables import open_table
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec


def load(source, derive=None):
    """Columns and rows of a table, the row number left out."""
    with open_table(source, derive) as table:
        rows = table.connection.execute(
            "SELECT * EXCLUDE (__row) FROM rows ORDER BY __row"
        ).fetchall()
        return table.columns, rows


def fault(source, derive=None):
    """The faults of a table that must have some, as one text."""
    with pytest.raises(TableError) as caught, open_table(source, derive):
        pass
    return "\n".join(caught.value.faults)


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.fixture
def file(tmp_path):
    """A file with some content: file(name, content)."""
    return lambda name, data: write(tmp_path / name, data)


# --- the same table, whatever carries it ----------------------------------------------------------

SPEC = parse_spec("""
kind = "scores"
[data]
score = "margin"
unit = "item"
change = { column = "select", before = "before", after = "after" }
channel = { limit = [1, 2] }
stratum = "group"
attributes = ["Limit"]
[data.derive]
margin = "num(logprob_m) - num(logprob_M)"
[estimands]
omega = { omega = { limit = [1, 2] } }
""")

ITEMS = {"007": "x", "7": "x", "2024-01-01": "y", "true": "y", "1e5": "y", "NB": "x"}
CARRIED = pd.DataFrame(
    [
        (item, group, state, limit, group.upper(), own, rival)
        for place, (item, group) in enumerate(ITEMS.items())
        for state in ("before", "after")
        for limit, own, rival in [(1, -0.1 * place, -2.5), (2, None if place == 3 else -1e-7, -1.0)]
    ],
    columns=["item", "group", "select", "limit", "Limit", "logprob_m", "logprob_M"],
)


def parquet(frame, folder):
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), folder / "t.parquet")
    return folder / "t.parquet"


def nullable(frame):
    return frame.astype({"limit": "Int64", "logprob_m": "Float64", "item": "string"})


CARRIERS = {
    "csv": lambda frame, folder: _saved(frame, folder / "t.csv", ","),
    "tsv": lambda frame, folder: _saved(frame, folder / "t.TSV", "\t"),
    "csv.gz": lambda frame, folder: _saved(frame, folder / "t.csv.gz", ","),
    "tsv.gz": lambda frame, folder: _saved(frame, folder / "t.tsv.GZ", "\t"),
    "parquet": parquet,
    "pandas": lambda frame, _: frame,
    "pandas object": lambda frame, _: frame.astype(object),
    "pandas categorical": lambda frame, _: frame.astype(
        dict.fromkeys(frame.columns[:5], "category")
    ),
    "pandas nullable": lambda frame, _: nullable(frame),
    "pandas arrow": lambda frame, _: frame.convert_dtypes(dtype_backend="pyarrow"),
    "pandas with an index": lambda frame, _: frame.set_axis(["same"] * len(frame)),
    "polars": lambda frame, _: pl.from_pandas(frame),
    "polars categorical": lambda frame, _: pl.from_pandas(frame).with_columns(
        pl.col("group", "select").cast(pl.Categorical)
    ),
    "pyarrow": lambda frame, _: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow batch": lambda frame, _: pa.RecordBatch.from_pandas(frame, preserve_index=False),
}


def _saved(frame, path, delimiter):
    text = frame.to_csv(index=False, sep=delimiter)
    return write(path, gzip.compress(text.encode()) if path.suffix.lower() == ".gz" else text)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_carrier_gives_the_same_scores(carrier, tmp_path):
    scores = read_scores(SPEC, CARRIERS[carrier](CARRIED, tmp_path))
    expected = np.full((6, 2, 2), np.nan)
    items = sorted(ITEMS)
    for row in CARRIED.itertuples(index=False):
        place = items.index(row[0]), ["before", "after"].index(row[2]), row[3] - 1
        expected[place] = row[5] - row[6]
    assert scores["score"].dims == ("transition", "state", "limit")
    np.testing.assert_array_equal(scores["score"].values, expected)
    assert scores["present"].values.all()
    assert scores["unit"].values.tolist() == items
    assert scores["stratum"].values.tolist() == [ITEMS[item] for item in items]
    assert scores["Limit"].values.tolist() == [ITEMS[item].upper() for item in items]


def test_a_single_precision_score_is_its_own_value_in_double():
    frame = pd.DataFrame(
        {"u": ["a", "a", "b", "b"], "s": [0, 1, 0, 1], "y": np.array([0.1, 0.2, 0, 1], dtype="f4")}
    )
    spec = parse_spec("""
    kind = "scores"
    [data]
    score = "y"
    unit = "u"
    change = { column = "s", before = 0, after = 1 }
    [estimands]
    g = { gain = {} }
    """)
    score = read_scores(spec, frame)["score"].values
    assert score[0, 0] == float(np.float32(0.1)) != 0.1


@pytest.mark.parametrize(
    "values",
    [
        [1, "x"] + [1] * 5000,
        [1.5, "01"] + [1.5] * 5000,
        [True, "no"] + [True] * 5000,
    ],
)
def test_a_mixed_pandas_column_is_text_wherever_the_odd_value_stands(values):
    _, rows = load(pd.DataFrame({"id": pd.Series(values, dtype=object)}))
    assert [value for (value,) in rows] == [str(value) for value in values]


def test_missing_values_of_every_kind_are_nothing_in_an_object_column():
    column = pd.Series(["x", None, np.nan, pd.NA, pd.NaT], dtype=object)
    assert load(pd.DataFrame({"a": column}))[1] == [("x",), *[(None,)] * 4]


def test_column_names_need_not_be_text_but_must_differ_as_text():
    assert load(pd.DataFrame([[5, 6]], columns=[1, "x"]))[0] == ("1", "x")
    assert "names a column twice: '1'" in fault(pd.DataFrame([[5, 6]], columns=[1, "1"]))


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
)
def test_a_frame_that_names_a_column_twice_is_refused(frame):
    assert "names a column twice: 'a'" in fault(frame)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(), pl.DataFrame(), pa.table({}), pd.DataFrame(index=[1, 2])]
)
def test_a_frame_without_columns_is_refused(frame):
    assert "no header" in fault(frame)


@pytest.mark.parametrize(
    ("thing", "kind"),
    [
        (None, "builtins NoneType"),
        ([1, 2], "builtins list"),
        ({"a": [1]}, "builtins dict"),
        (b"scores.csv", "builtins bytes"),
        (pd.Series([1]), "pandas Series"),
        (pl.Series([1]), "polars Series"),
        (pl.LazyFrame({"a": [1]}), "polars LazyFrame"),
        (np.eye(2), "numpy ndarray"),
    ],
)
def test_what_is_no_table_is_refused_by_its_kind(thing, kind):
    assert f"got a {kind}; expected a path or a pandas, polars or pyarrow table" in fault(thing)


@pytest.mark.parametrize("column", [[1 + 2j], pd.arrays.SparseArray([1.0])])
def test_a_frame_that_duckdb_cannot_read_is_a_table_error(column):
    assert "cannot be read" in fault(pd.DataFrame({"a": column}))


# --- text tables ----------------------------------------------------------------------------------


def test_text_is_never_re_typed(file):
    odd = ["007", "1.0", "1_000", "2024-01-01", "true", "NULL", "NA", "1e309", "0x10", " x ", "#1"]
    path = file("t.csv", "id,z\n" + "".join(f"{value},1\n" for value in odd))
    assert load(path) == (("id", "z"), [(value, "1") for value in odd])


def test_quoted_commas_quotes_and_line_breaks_are_part_of_the_value(file):
    path = file("t.csv", 'a,b\n"x,y","say ""no"""\n"line 1\nline 2",z\n')
    assert load(path)[1] == [("x,y", 'say "no"'), ("line 1\nline 2", "z")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
@pytest.mark.parametrize("last", [True, False])
def test_line_ends_and_a_byte_order_mark_do_not_matter(file, end, start, last):
    text = start + end.join(["a,b", "1,2", "3,4"]) + (end if last else "")
    assert load(file("t.csv", text)) == (("a", "b"), [("1", "2"), ("3", "4")])


def test_blank_fields_are_nothing_whether_quoted_or_not(file):
    assert load(file("t.csv", 'a,b\n,1\n"",2\n'))[1] == [(None, "1"), (None, "2")]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            *[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))] * 2
        ),
        max_size=5,
    ),
    st.sampled_from([(".csv", ","), (".tsv", "\t")]),
    st.booleans(),
)
def test_whatever_the_csv_writer_writes_is_read_back_with_its_lines(
    tmp_path_factory, rows, kind, gz
):
    suffix, delimiter = kind
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["a", "b"])
    lines = []
    for row in rows:
        lines.append(text.getvalue().count("\n") + 1)
        writer.writerow(row)
    data = text.getvalue().encode()
    path = tmp_path_factory.mktemp("text") / f"t{suffix}{'.gz' if gz else ''}"
    write(path, gzip.compress(data) if gz else data)
    with open_table(path) as table:
        found = table.connection.execute("SELECT a, b FROM rows ORDER BY __row").fetchall()
        assert found == [(a or None, b or None) for a, b in rows]
        assert [table.place(row) for row in range(1, len(rows) + 1)] == [
            f"line {line}" for line in lines
        ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a,b\n1,2\n3,4\n", [2, 3]),
        ("a,b\n1,2\n\n\n3,4\n", [2, 5]),
        ('"a\nx",b\n1,2\n', [3]),
        ('a,b\n"1\n2\n3",4\n5,6\n', [2, 5]),
        ('a,b\r\n"1\r\n2",3\r\n4,5\r\n', [2, 4]),
    ],
)
def test_a_row_is_placed_at_the_line_it_starts_on(file, text, lines):
    with open_table(file("t.csv", text)) as table:
        found = [table.place(row) for row in range(1, len(lines) + 1)]
    assert found == [f"line {line}" for line in lines]


def test_a_row_of_parquet_or_of_a_frame_has_no_line(tmp_path):
    for source in (CARRIED, parquet(CARRIED, tmp_path)):
        with open_table(source) as table:
            assert table.place(3) == "row 3"


def test_a_value_longer_than_pythons_csv_reader_takes_is_read_but_not_placed(file):
    path = file("t.csv", f"a,b\n{'x' * 200_000},1\n2,3\n")
    assert load(path)[1] == [("x" * 200_000, "1"), ("2", "3")]
    with open_table(path) as table:
        assert table.place(2) == "row 2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,b\n1,2\n3\n",
            "1 line(s) do not fit the 2 columns of the header: line 3 has 1 value(s)",
        ),
        ("a,b\n1,2,3\n", "line 2 has 3 value(s)"),
        ("a,b\n" + "1\n" * 5, "5 line(s) do not fit the 2 columns of the header"),
        (
            "a,b\n" + "1\n" * 5,
            "line 2 has 1 value(s), line 3 has 1 value(s), line 4 has 1 value(s), …",
        ),
        ('a,b\n"x\ny",2\n\n3\n', "line 5 has 1 value(s)"),
        ("a,b\n1,2\nsay hello, world, 3\n", "line 3 has 3 value(s)"),
        ('a,b\n1,2\n"x,3\n4,5\n', "after line 2: unexpected end of data"),
        ('a,b\n1,2\n"x"y,3\n', "after line 2: ',' expected after '\"'"),
        ("a,b\n1,2\n   \n", "line 3 has 1 value(s)"),
        (
            "a,b\n1,2\nMüller,3\n".encode("latin-1"),
            "1 line(s) cannot be read: line 3 is not text in UTF-8. If it is a text in another "
            "encoding, convert it: iconv -f LATIN1 -t UTF-8 OLD > NEW",
        ),
        (
            "a,größe\n1,2\n".encode("latin-1"),
            "not a table in UTF-8; is it a binary file? If it is a",
        ),
    ],
)
def test_a_line_that_does_not_fit_is_named(file, text, words):
    assert words in fault(file("t.csv", text))


def test_the_error_for_a_ragged_table_says_what_to_do(file):
    assert "A value that holds ',', a quote or a line break must be quoted" in fault(
        file("t.csv", "a,b\n1,2,3\n")
    )


def test_mixed_line_ends_are_refused_in_words(file):
    for text in ("a,b\n1,2\r\n3,4\n", "a,b\r\n1,2\n3,4\r\n"):
        assert "line endings are mixed" in fault(file("t.csv", text))


def test_a_line_of_megabytes_is_refused(file):
    assert "Maximum line size" in fault(file("t.csv", f"a,b\n{'x' * 3_000_000},1\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty; expected a header line and rows"),
        ("\n", "there is no header"),
        ("\na,b\n1,2\n", "there is no header"),
        ("a,,b\n1,2,3\n", "column 2 has no name"),
        ("a,b,\n1,2,3\n", "column 3 has no name"),
        ("a,b,a\n1,2,3\n", "the header names a column twice: 'a'"),
        (",b\n1,2\n", "column 1 has no name in the header; give it one"),
        ("a,__ROW\n1,2\n", "'__row', which the reader needs"),
        ("a;b\n1;2\n", "the header is one column 'a;b'; expected columns split by ','"),
        ("a\tb\n1\t2\n", "expected columns split by ','"),
        ('"a,b\n1,2\n', "the header line cannot be read"),
        ("a,b\n1,2\n".encode("utf-16"), "not a table in UTF-8"),
        (bytes(range(256)), "not a table in UTF-8"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(50), "not a table in UTF-8"),
    ],
)
def test_a_header_that_is_none_is_told(file, text, words):
    assert words in fault(file("t.csv", text))


def test_a_header_without_rows_is_a_table_without_rows(file):
    assert load(file("t.csv", "a,b\n")) == (("a", "b"), [])


GZIPPED = gzip.compress(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * 7919 % 1013) for i in range(3000)))


@pytest.mark.parametrize(
    "data",
    [
        GZIPPED[: len(GZIPPED) // 2],
        GZIPPED[:-4],
        GZIPPED[:20],
        GZIPPED[:-6] + b"\0" + GZIPPED[-5:],
        GZIPPED[:200] + bytes([GZIPPED[200] ^ 255]) + GZIPPED[201:],
        GZIPPED + b"more",
        b"a,b\n1,2\n",
    ],
    ids=["half", "no length", "no data", "checksum", "flipped", "trailing", "plain text"],
)
def test_a_gzip_file_that_is_not_whole_is_refused(file, data):
    assert "not a whole gzip file" in fault(file("t.csv.gz", data))


def test_a_gzip_file_in_two_members_is_read_whole(file):
    path = file("t.csv.gz", gzip.compress(b"a,b\n1,2\n") + gzip.compress(b"3,4\n"))
    assert load(path)[1] == [("1", "2"), ("3", "4")]


# --- names of columns and files -------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        ["m", "M"],
        ["a", "A", "a#0", "A#1"],
        ["order", "select", "group", "from", "case", "end"],
        ['say "x"', "it's", "a b", "t", "rows", "Straße", "STRASSE"],
    ],
)
def test_any_names_of_columns_are_kept_apart(file, tmp_path, names):
    values = [str(place) for place, _ in enumerate(names)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, values])
    columns = [pa.array([value]) for value in values]
    pq.write_table(pa.Table.from_arrays(columns, names=names), tmp_path / "t.parquet")
    frame = pd.DataFrame([values], columns=names)
    for source in (
        file("t.csv", text.getvalue()),
        tmp_path / "t.parquet",
        frame,
        pl.from_pandas(frame),
    ):
        with open_table(source) as table:
            assert table.columns == tuple(names)
            assert table.one(f"SELECT {', '.join(map(table.column, names))} FROM rows") == tuple(
                values
            )


@given(st.lists(st.sampled_from(["a", "A", "a#0", "A#0", "a#1", "a#1#", "b"]), unique=True))
def test_sql_names_differ_also_when_case_is_folded(columns):
    found = sql_names(columns)
    assert list(found) == columns
    assert len({name.casefold() for name in found.values()}) == len(columns)


def test_nested_parquet_columns_count_once(tmp_path):
    nested = pa.table({"a": [[{"x": 1, "y": [2]}]], "b": [{"a": {"b": 1}}], "c": [3]})
    pq.write_table(nested, tmp_path / "t.parquet")
    assert load(tmp_path / "t.parquet")[0] == ("a", "b", "c")


@pytest.mark.parametrize("name", ["g*.csv", "g?.csv", "g[1].csv", "[g].csv", "it's.csv", "ü ä.csv"])
def test_a_file_name_is_no_pattern(file, name):
    for other in ("g1.csv", "gx.csv", "g.csv"):
        file(other, "a,b\nwrong,0\n")
    assert load(file(name, "a,b\nright,1\n"))[1] == [("right", "1")]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_folder_named_like_a_partition_adds_no_column(tmp_path, kind):
    path = tmp_path / "arm=b" / f"t.{kind}"
    if kind == "csv":
        write(path, "a,b\n1,2\n")
    else:
        path.parent.mkdir()
        pq.write_table(pa.table({"a": ["1"], "b": ["2"]}), path)
    assert load(path) == (("a", "b"), [("1", "2")])


def test_a_text_path_is_a_path(file):
    assert load(str(file("t.csv", "a,b\n1,2\n")))[1] == [("1", "2")]


@pytest.mark.parametrize("data", [b"", b"PAR1", b"hello, this is not Parquet", b"a,b\n1,2\n" * 100])
def test_what_is_not_parquet_is_a_table_error(file, data):
    assert "not a Parquet file" in fault(file("t.parquet", data))


@pytest.mark.parametrize("name", ["t.txt", "t", "t.xlsx", "t.csv.zip", "t.parquet.gz", ".csv"])
def test_an_unknown_kind_of_file_is_told_what_is_known(file, name):
    assert "Expected .csv, .tsv, .jsonl (or .gz of them) or .parquet" in fault(
        file(name, "a,b\n1,2\n")
    )


def test_a_file_that_is_not_there_names_the_nearest(file, tmp_path):
    file("scores.csv", "a,b\n")
    with pytest.raises(RunError, match=r"no such file \(did you mean 'scores.csv'\?\)"):
        load(tmp_path / "score.csv")
    with pytest.raises(RunError, match=r"no such file; .* holds scores.csv"):
        load(tmp_path / "x")
    with pytest.raises(RunError, match="nor the folder"):
        load(tmp_path / "nowhere" / "scores.csv")


def test_a_folder_is_no_table(file, tmp_path):
    file("scores.csv", "a,b\n")
    with pytest.raises(RunError, match=r"is a directory; name a file in it; .* holds scores.csv"):
        load(tmp_path)


@pytest.mark.parametrize("path", ["a\0b.csv", "x" * 5000 + ".csv", ""])
def test_an_impossible_path_is_a_run_error(path):
    with pytest.raises(RunError):
        load(path)


# --- derived columns ------------------------------------------------------------------------------

LOGPROBS = "item,order,m,M,Preference\n1,out2=m,-0.5,-2,1\n2,out2=M,-3,-1,\n3,out2=M,,-1,2\n"


def derived(file, expression, text=LOGPROBS):
    return [row[-1] for row in load(file("t.csv", text), {"z": expression})[1]]


def test_num_is_a_number_and_blank_or_nan_is_missing(file):
    text = "a,b\n" + "".join(
        f"{value},0\n" for value in ["1", " 2 ", "-1.5e-3", "+.5", "", "nan", "NaN"]
    )
    assert derived(file, "num(a)", text) == [1.0, 2.0, -0.0015, 0.5, None, None, None]


@pytest.mark.parametrize("value", ["1_000", '"1,5"', "abc", "0x10", "true", "1 2", "١"])
def test_num_refuses_what_is_no_number_and_names_the_line(file, value):
    path = file("t.csv", f"a,b\n1,0\n\n{value},0\n")
    shown = value.strip('"')
    assert f"derive 'z': line 4: Invalid Input Error: num('{shown}'): not a number" == fault(
        path, {"z": "num(a)"}
    )


def test_a_case_may_depend_on_a_column_called_order_and_tell_case_apart(file):
    expected = [1.5, 2.0, None]
    for order in ("order", '"order"'):
        expression = f"CASE {order} WHEN 'out2=m' THEN num(m) - num(M) ELSE num(M) - num(m) END"
        assert derived(file, expression) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("item || ' order'", ["1 order", "2 order", "3 order"]),
        ("if(\"order\" LIKE '%M', 'M', 'm')", ["m", "M", "M"]),
        ("coalesce(num(m), 0) + length('it''s -- m')", [8.5, 6.0, 9.0]),
        ("m IS DISTINCT FROM M", [True, True, True]),
        ("greatest(num(m), num(M))", [-0.5, -1.0, -1.0]),
        ("CAST(item AS INTEGER) % 2 = 1", [True, False, True]),
        ("E'\\'m' || item", ["'m1", "'m2", "'m3"]),
        ("$$m$$ || item", ["m1", "m2", "m3"]),
        ("num(\n  item\n)", [1.0, 2.0, 3.0]),
        ("list_sum([num(item), 1])", [2.0, 3.0, 4.0]),
    ],
)
def test_an_expression_is_computed_row_by_row(file, expression, expected):
    assert derived(file, expression) == expected


def test_a_derived_column_may_use_one_before_it(file):
    columns, rows = load(file("t.csv", LOGPROBS), {"x": "num(item)", "y": "x * 2", "when": "y + x"})
    assert columns[-3:] == ("x", "y", "when")
    assert [row[-3:] for row in rows] == [(1.0, 2.0, 3.0), (2.0, 4.0, 6.0), (3.0, 6.0, 9.0)]


def test_a_keyword_in_an_expression_is_a_column_only_in_quotes(file):
    text = "case,end,x\n1,2,3\n"
    assert derived(file, 'case when x = \'3\' then "end" else "case" end', text) == ["2"]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("num(M) - num(n)", "no column 'n'"),
        ("num(itme)", "no column 'itme' (did you mean 'item'?)"),
        ("preference", "no column 'preference' (did you mean 'Preference'?)"),
        ("rows.preference", "no column 'preference' (did you mean 'Preference'?)"),
        ("m - M", "a column of text is text: num(column) is its number"),
        ("max(num(m))", "max() reads many rows"),
        ("count(*)", "reads many rows"),
        ("sum(num(m)) OVER ()", "a window function may not stand in it"),
        ("row_number() OVER ()", "a window function may not stand in it"),
        ("(SELECT 1)", "a query may not stand in it"),
        ("(TABLE rows)", "a query may not stand in it"),
        ("(FROM rows SELECT 1)", "a query may not stand in it"),
        ("EXISTS(FROM rows)", "a query may not stand in it"),
        ("item IN (SELECT item FROM rows)", "a query may not stand in it"),
        ("ARRAY(SELECT 1)", "a query may not stand in it"),
        ("E'\\'' || (SELECT 1) || ''", "a query may not stand in it"),
        ("$$'$$ || (SELECT 1) || $$'$$", "a query may not stand in it"),
        ("1) FROM rows WHERE (true", "expected one expression, not a query or a list"),
        ("1), (2", "expected one expression, not a query or a list"),
        ("m, M", "expected one expression, not a query or a list"),
        ("1; DROP TABLE rows", "syntax error"),
        ("1); DROP TABLE rows; SELECT (1", "SELECT statements"),
        ("COPY rows TO 'x.csv'", "syntax error"),
        ("num(item) -- num(m)", "a comment may not stand in it"),
        ("num(item) /* m */", "a comment may not stand in it"),
        ("unnest([1, 2])", "unnest() makes many rows"),
        ("generate_subscripts([1, 2], 1)", "generate_subscripts() makes many rows"),
        ("*", "a choice of several columns"),
        ("COLUMNS('m|M')", "a choice of several columns"),
        ("#1", "a column by its place"),
        ("?", "a parameter"),
        ("num(item", "syntax error"),
        ("CASE WHEN", "put a column called like an SQL word in double quotes"),
        ("1" + " + 1" * 5000, "depth"),
        ("CAST(\"order\" AS INTEGER)", "line 2: Conversion Error"),
        ("CASE WHEN item = '3' THEN error('third') END", "line 4: Invalid Input Error: third"),
        ("CAST(num(item) * 100 AS TINYINT)", "line 3: Conversion Error"),
        ("nothing_of_the_kind(m)", "nothing_of_the_kind does not exist"),
    ],
)  # fmt: skip
def test_a_wrong_expression_is_told(file, expression, words):
    found = fault(file("t.csv", LOGPROBS), {"z": expression})
    assert found.startswith("derive 'z': ")
    assert words in found, found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("item", "there is such a column already"),
        ("ITEM", "there is such a column already"),
        ("__row", "there is such a column already"),
        ("m#2", "there is such a column already"),
        (" ", "a column has no name"),
    ],
)
def test_a_derived_column_needs_a_name_of_its_own(file, name, words):
    assert words in fault(file("t.csv", LOGPROBS), {name: "1"})


def test_faults_of_all_derived_columns_come_in_one_error(file):
    found = fault(file("t.csv", LOGPROBS), {"x": "num(q)", "y": "1", "z": "max(m)"}).splitlines()
    assert len(found) == 2
    assert found[0].startswith("derive 'x'")
    assert found[1].startswith("derive 'z'")
    assert "such a column" in fault(file("t.csv", LOGPROBS), {"x": "1", "X": "2"})


def test_the_columns_of_an_expression_are_found_by_their_exact_names():
    names = sql_names(["m", "M", "a b", "end"])
    text = 'num(m) - "M" + \'m\' + "a b" + m(1) + 1e5 + end + "end"'
    assert with_columns(text, names) == (
        'num("m#0") - "M#1" + \'m\' + "a b" + m(1) + 1e5 + end + "end"'
    )


# --- nothing gets out -----------------------------------------------------------------------------

READERS = [
    "read_text('{}')", "read_blob('{}')", "read_csv('{}')", "read_csv_auto('{}')",
    "read_parquet('{}')", "parquet_schema('{}')", "read_json('{}')", "sniff_csv('{}')",
    "glob('{}')", "getenv('HOME')", "query('FROM ''{}''')", "query_table(['{}'])",
]  # fmt: skip


@pytest.mark.parametrize("form", ["{}", "(FROM {})"])
@pytest.mark.parametrize("reader", READERS)
def test_no_expression_reads_a_file(file, reader, form):
    secret = file("secret.csv", "content,b\nhidden,1\n")
    expression = form.format(reader.format(secret))
    assert "hidden" not in fault(file("t.csv", LOGPROBS), {"z": expression})


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """An open table beside nothing else, and its path."""
    secret = write(tmp_path_factory.mktemp("opened") / "secret.csv", "content,b\nhidden,1\n")
    with open_table(secret, {"z": "num(b)"}) as table:
        yield table, secret


@pytest.mark.parametrize(
    "statement",
    [
        *(f"SELECT * FROM {reader}" for reader in READERS),
        "SELECT * FROM '{}'",
        "CREATE TABLE x AS FROM '{}'",
        "COPY rows TO '{}.out'",
        "COPY rows TO '/dev/stdout'",
        "EXPORT DATABASE '{}.dir'",
        "ATTACH '{}.db'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "SET lock_configuration = false",
        "SET autoload_known_extensions = true",
        "SET python_enable_replacements = true",
        "SET home_directory = '/'",
        "SET threads = 1",
        "PRAGMA enable_profiling = 'json'",
        "PRAGMA profiling_output = '{}.json'",
        "SELECT * FROM frame",
        "FROM source",
    ],
)
def test_after_loading_no_statement_reaches_a_file_or_the_configuration(opened, statement):
    table, secret = opened
    frame = pd.DataFrame({"a": [1]})
    with pytest.raises(duckdb.Error):
        table.connection.execute(statement.format(secret))
    assert list(secret.parent.iterdir()) == [secret]
    assert table.one("SELECT count(*) FROM rows") == (len(frame),)


def test_a_closed_table_is_closed(file):
    with open_table(file("t.csv", "a,b\n1,2\n")) as table:
        pass
    with pytest.raises(duckdb.Error):
        table.run("SELECT 1")


def test_a_frame_is_left_as_it_was():
    frame = CARRIED.copy()
    read_scores(SPEC, frame)
    pd.testing.assert_frame_equal(frame, CARRIED)


# --- small texts ----------------------------------------------------------------------------------


def test_a_text_is_written_once_and_read_back(tmp_path):
    path = files.write_text(tmp_path / "deep" / "a.toml", "Ω = 1\n")
    assert files.read_text(path) == "Ω = 1\n"
    assert path.read_bytes() == "Ω = 1\n".encode()
    with pytest.raises(RunError, match="exists already; move it away"):
        files.write_text(path, "again")
    with pytest.raises(RunError, match="exists already; move it away"):
        files.require_free(path)
    files.require_free(tmp_path / "free")


def test_a_byte_order_mark_is_not_part_of_a_text(file):
    assert files.read_text(file("a.toml", b"\xef\xbb\xbfkind = 1")) == "kind = 1"


def test_what_is_no_text_is_a_run_error(file, tmp_path):
    with pytest.raises(RunError, match="not a text file in UTF-8"):
        files.read_text(file("a.toml", b"\xff\xfe"))
    with pytest.raises(RunError, match="is a directory"):
        files.read_text(tmp_path)
    with pytest.raises(RunError, match="no such file"):
        files.read_text(tmp_path / "b.toml")


def test_where_nothing_can_be_written_is_a_run_error(file):
    taken = file("taken", "x")
    with pytest.raises(RunError, match=re.escape(str(taken))):
        files.write_text(taken / "a.toml", "x")
    with pytest.raises(RunError, match=re.escape(str(taken))):
        files.write_text(taken / "deep" / "a.toml", "x")


def test_the_digest_is_that_of_the_bytes(file):
    # SHA-256 of the three bytes "abc", from FIPS 180-2, appendix B.1
    digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.sha256(file("t.csv", "abc")) == digest
    table = file("u.csv", "a,b\n1,2\n")
    with open_table(table) as opened:
        assert opened.sha256 == files.sha256(table)


def test_a_column_that_comes_out_undefined_is_a_fault_that_names_the_row(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("item,y\na,2\nb,\nc,-1\n")
    with pytest.raises(TableError, match=r"derive 'm': line 4: it is undefined \(NaN\) there"):
        open_table(path, {"m": "sqrt(num(y))"}).__enter__()


def test_a_number_that_was_missing_may_make_a_column_undefined():
    frame = pd.DataFrame({"item": ["a", "b"], "y": [2.0, np.nan]})
    with open_table(frame, {"m": "2 * y"}) as table:
        assert table.frame("SELECT m FROM rows ORDER BY item")["m"].tolist()[0] == 4.0
