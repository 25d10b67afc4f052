"""JSON Lines, several files of one table, and what every reader has in common."""

import gzip
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from fourcorner.errors import RunError, TableError
from fourcorner.io.tables import open_table
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec

SPEC = parse_spec("""
kind = "scores"
[data]
score = "y"
unit = "id"
change = { column = "phase", before = 0, after = 1 }
channel = { view = ["d", "g"] }
stratum = "kind"
attributes = ["ok"]
[estimands]
omega = { omega = { view = ["d", "g"] } }
""")
IDS = ["007", "7", "1e5", "true", "2024-01-01", "nul"]
ROWS = pd.DataFrame(
    [
        (unit, phase, view, "k" + unit[0], unit > "1", None if n == 5 else n / 7)
        for n, (unit, phase, view) in enumerate(
            (unit, phase, view) for unit in IDS for phase in (0, 1) for view in "dg"
        )
    ],
    columns=["id", "phase", "view", "kind", "ok", "y"],
)


def jsonl(rows):
    records = rows.astype(object).where(rows.notna(), None).to_dict("records")
    return "".join(json.dumps(record) + "\n" for record in records)


def write(path, data, packed=False):
    data = data.encode() if isinstance(data, str) else data
    path.write_bytes(gzip.compress(data) if packed else data)
    return path


def fault(source):
    with pytest.raises(TableError) as caught, open_table(source):
        pass
    (only,) = caught.value.faults
    return only


CARRIERS = {
    "jsonl": lambda rows, path: write(path / "t.jsonl", jsonl(rows)),
    "ndjson": lambda rows, path: write(path / "t.NDJSON", jsonl(rows)),
    "jsonl.gz": lambda rows, path: write(path / "t.jsonl.gz", jsonl(rows), packed=True),
    "csv": lambda rows, path: write(path / "t.csv", rows.to_csv(index=False)),
    "csv.gz": lambda rows, path: write(path / "t.csv.gz", rows.to_csv(index=False), packed=True),
    "frame": lambda rows, _: rows,
    "polars": lambda rows, _: pl.from_pandas(rows),
    "parquet": lambda rows, path: saved(rows, path / "t.parquet"),
    "jsonl files": lambda rows, path: parts(rows, path, "jsonl"),
    "csv files": lambda rows, path: parts(rows, path, "csv"),
    "parquet files": lambda rows, path: parts(rows, path, "parquet"),
    "csv.gz files": lambda rows, path: parts(rows, path, "csv.gz"),
}


def saved(rows, path):
    pl.from_pandas(rows).write_parquet(path)
    return path


def parts(rows, folder, kind):
    for place, start in enumerate(range(0, len(rows), 7)):
        part = rows.iloc[start : start + 7]
        path = folder / f"part{place}.{kind}"
        if kind == "parquet":
            saved(part, path)
        else:
            text = jsonl(part) if kind == "jsonl" else part.to_csv(index=False)
            write(path, text, packed=kind.endswith("gz"))
    return folder / f"part*.{kind}"


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_carrier_gives_the_same_dataset(carrier, tmp_path):
    found = read_scores(SPEC, CARRIERS[carrier](ROWS, tmp_path))
    expected = np.full((len(IDS), 2, 2), np.nan)
    for unit, phase, view, *_, y in ROWS.itertuples(index=False):
        expected[sorted(IDS).index(unit), phase, "dg".index(view)] = np.nan if y is None else y
    np.testing.assert_array_equal(found["score"].values, expected)
    assert found["present"].values.all()
    assert found["unit"].values.tolist() == sorted(IDS)
    assert found["stratum"].values.tolist() == ["k" + unit[0] for unit in sorted(IDS)]
    assert found["ok"].values.tolist() == [str(unit > "1").lower() for unit in sorted(IDS)]
    assert found.attrs["rows_read"] == len(ROWS)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_carrier_tells_the_same_faults(carrier, tmp_path):
    rows = pd.concat([ROWS, ROWS.iloc[[2]]], ignore_index=True)
    rows.loc[[0, 9], "view"] = "q"
    rows.loc[3, "kind"] = "other"
    with pytest.raises(TableError) as caught:
        read_scores(SPEC, CARRIERS[carrier](rows, tmp_path))
    assert [message.split(":")[0].split(" ")[0] for message in caught.value.faults] == [
        "view",
        "kind",
        "duplicate",
    ]
    assert "'q' (2 row(s), first " in caught.value.faults[0]


# --- JSON Lines -----------------------------------------------------------------------------------


def test_json_values_are_kept_as_they_are_written(tmp_path):
    text = (
        '{"a": "007", "A": 1.0, "b/c": true, "~d": null, "e\\"f": 123456789012345678901234567890}\n'
        "\n"
        '{"A": NaN, "a": "say \\u00e9\\n", "b/c": [1, {"x": 2}], "~d": 1e309, "e\\"f": ""}\n'
    )
    with open_table(write(tmp_path / "t.jsonl", text)) as table:
        assert table.columns == ("a", "A", "b/c", "~d", 'e"f')
        rows = table.connection.execute("SELECT * EXCLUDE (__row) FROM rows ORDER BY __row")
        assert rows.fetchall() == [
            ("007", "1.0", "true", None, "123456789012345678901234567890"),
            ("say é\n", "NaN", '[1,{"x":2}]', "1e309", ""),
        ]
        assert [table.place(1), table.place(2)] == ["line 1", "line 3"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the file is empty; expected one JSON object a line"),
        ("\n \n", "the file is empty"),
        ("[1, 2]\n", "the first line is no JSON object"),
        ("a,b\n1,2\n", "the first line is not JSON"),
        ('{"a": 1}\n[2]\n', "line 2 is no object"),
        ('{"a": 1}\n\n{"b": 1}\n', "line 3 lacks 'a'"),
        ('{"a": 1}\n{"a": 1, "b": 2}\n', "line 2 adds 'b'"),
        ('{"a": 1}\n{}\n', "line 2 lacks 'a'. Write null for what was not measured"),
        ('{"a": 1}\n{"a": 1, "a": 2}\n', "line 2 has the key 'a' twice"),
        ('{"a": 1, "a": 2}\n', "names a column twice: 'a'"),
        ("{}\n", "there is no header"),
        ('{"": 1}\n', "there is no header"),
        ('{"a": 1, "": 2}\n', "column 2 has no name"),
        ('{"a": 1}\n{"a": 2\n{"a": 3}\n', "line 2 is not JSON"),
        ('{"a": 1}\n{"a": 2} {"a": 3}\n', "line 2 is not JSON"),
        (
            b'{"a": "k"}\n{"a": "k\xe9"}\n',
            "line 2 is not text in UTF-8. If it is a text in another encoding, convert it: iconv",
        ),
        (
            b'{"a": "k\xe9"}\n',
            "not JSON Lines in UTF-8; is it a binary file? If it is a text in another encoding",
        ),
        ('{"__ROW": 1}\n', "which the reader needs"),
    ],
)
def test_what_is_not_json_lines_is_told(tmp_path, text, words):
    assert words in fault(write(tmp_path / "t.jsonl", text))


def test_a_json_file_cut_short_is_told(tmp_path):
    data = gzip.compress(jsonl(ROWS).encode())
    assert "not a whole gzip file" in fault(write(tmp_path / "t.jsonl.gz", data[:-9]))


# --- several files --------------------------------------------------------------------------------


def test_files_come_in_the_order_of_their_names_and_rows_are_placed_in_them(tmp_path):
    write(tmp_path / "b.csv", "a,b\n3,4\n")
    write(tmp_path / "a.csv", 'a,b\n"1\n1",2\n5,6\n')
    with open_table(tmp_path / "*.csv") as table:
        rows = table.connection.execute("SELECT a FROM rows ORDER BY __row").fetchall()
        assert rows == [("1\n1",), ("5",), ("3",)]
        assert [table.place(row) for row in (1, 2, 3)] == [
            "line 2 of a.csv",
            "line 4 of a.csv",
            "line 2 of b.csv",
        ]
        assert table.source == "*.csv (2 files)"


def test_the_digest_of_several_files_changes_with_each_of_them(tmp_path):
    texts = ["a,b\n1,2\n", "a,b\n3,4\n"]
    for place, text in enumerate(texts):
        write(tmp_path / f"{place}.csv", text)
    digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
    with open_table(tmp_path / "?.csv") as table:
        assert table.sha256 == hashlib.sha256("\n".join(digests).encode()).hexdigest()


def test_a_pattern_that_matches_one_file_is_that_file(tmp_path):
    path = write(tmp_path / "only.csv", "a,b\n1,2\n")
    with open_table(tmp_path / "*.csv") as many, open_table(path) as one:
        assert (many.source, many.sha256) == (one.source, one.sha256)


def test_a_pattern_reaches_into_folders_and_skips_them(tmp_path):
    (tmp_path / "x.csv").mkdir()
    write(tmp_path / "x.csv" / "deep.csv", "a,b\n1,2\n")
    write(tmp_path / "top.csv", "a,b\n3,4\n")
    with open_table(tmp_path / "**" / "*.csv") as table:
        assert table.one("SELECT count(*) FROM rows") == (2,)
    with open_table(tmp_path / "*.csv") as table:
        assert table.source == "top.csv"


def test_a_pattern_without_a_match_is_told(tmp_path):
    with pytest.raises(RunError, match=r"\*\.parquet: no file matches this pattern"):
        read_scores(SPEC, tmp_path / "*.parquet")


def test_a_spec_may_name_a_pattern(tmp_path):
    parts(ROWS, tmp_path, "csv")
    text = SPEC.text.replace("[data]", '[data]\npath = "part*.csv"')
    found = read_scores(parse_spec(text, directory=tmp_path))
    xr.testing.assert_equal(found, read_scores(SPEC, ROWS))
    assert found.attrs["source"] == "part*.csv (4 files)"


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_the_same_file_twice_is_a_fault(tmp_path, kind):
    parts(ROWS, tmp_path, kind)
    (tmp_path / f"part9.{kind}").write_bytes((tmp_path / f"part1.{kind}").read_bytes())
    found = fault(tmp_path / f"*.{kind}")
    assert found == f"part9.{kind} and part1.{kind} are the same file twice"


def test_files_of_several_formats_are_a_fault(tmp_path):
    write(tmp_path / "a.csv", "a,b\n1,2\n")
    write(tmp_path / "b.jsonl", '{"a": 1, "b": 2}\n')
    assert fault(tmp_path / "*") == (
        "files of several formats (a.csv, b.jsonl); name files of one format"
    )


def test_parquet_files_that_disagree_in_a_type_are_told_before_a_value_is_read(tmp_path):
    saved(pd.DataFrame({"id": ["a"], "y": [3]}), tmp_path / "a.parquet")
    saved(pd.DataFrame({"id": ["b"], "y": [3.5]}), tmp_path / "b.parquet")
    assert fault(tmp_path / "*.parquet") == (
        "b.parquet has the columns y DOUBLE; a.parquet has y BIGINT. The files of one table have "
        "the same columns"
    )


def test_parquet_columns_are_found_by_name_in_any_order(tmp_path):
    saved(pd.DataFrame({"id": ["a"], "y": [1.0]}), tmp_path / "a.parquet")
    saved(pd.DataFrame({"y": [2.0], "id": ["b"]}), tmp_path / "b.parquet")
    with open_table(tmp_path / "*.parquet") as table:
        rows = table.connection.execute("SELECT id, y FROM rows ORDER BY __row").fetchall()
    assert rows == [("a", 1.0), ("b", 2.0)]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("a,c\n1,2\n", "b.csv has the columns c; a.csv has b."),
        ("a\n1\n", "b.csv has the columns no more; a.csv has b."),
        ("a,b,c\n1,2,3\n", "b.csv has the columns c; a.csv has no more."),
        ("b,a\n1,2\n", "b.csv has the columns b, a; a.csv has a, b."),
    ],
)
def test_text_files_that_disagree_in_their_header_are_told(tmp_path, other, words):
    write(tmp_path / "a.csv", "a,b\n1,2\n")
    write(tmp_path / "b.csv", other)
    assert words in fault(tmp_path / "*.csv")


def test_json_files_that_disagree_in_their_keys_are_told(tmp_path):
    write(tmp_path / "a.jsonl", '{"a": 1, "b": 2}\n')
    write(tmp_path / "b.jsonl", '{"b": 2, "a": 1}\n')
    write(tmp_path / "c.jsonl", '{"b": 2, "d": 1}\n')
    assert "c.jsonl has the keys d; a.jsonl has a." in fault(tmp_path / "*.jsonl")
    with open_table(tmp_path / "[ab].jsonl") as table:
        assert table.connection.execute("SELECT a, b FROM rows").fetchall() == [("1", "2")] * 2


def test_a_ragged_line_is_told_with_its_file(tmp_path):
    write(tmp_path / "a.csv", "id,phase,view,kind,ok,y\n1,0,d,k,1,2\n")
    write(tmp_path / "b.csv", "id,phase,view,kind,ok,y\n1,0,d\n")
    for work in (lambda path: fault(path), lambda path: streamed_fault(path)):
        assert "line 2 of b.csv has 3 value(s)" in work(tmp_path / "*.csv")


def streamed_fault(path):
    with pytest.raises(TableError) as caught:
        read_scores(SPEC, path)
    return caught.value.faults[0]


@pytest.mark.parametrize("name", ["it's.parquet", "ü ä.parquet", "a[1].parquet", "b*.parquet"])
def test_a_parquet_file_of_any_name_is_read_after_the_lock(tmp_path, name):
    xr.testing.assert_equal(
        read_scores(SPEC, saved(ROWS, tmp_path / name)), read_scores(SPEC, ROWS)
    )


def test_after_opening_a_parquet_file_no_other_file_can_be_reached(tmp_path):
    path, other = saved(ROWS, tmp_path / "a.parquet"), saved(ROWS, tmp_path / "b.parquet")
    with open_table(path, keep=False) as table:
        assert table.one("SELECT count(*) FROM rows") == (len(ROWS),)
        for statement in (
            f"SELECT * FROM '{other}'",
            f"COPY rows TO '{tmp_path / 'c.csv'}'",
            "SET enable_external_access = true",
            "SET allowed_paths = ['/']",
        ):
            with pytest.raises(duckdb.Error):
                table.run(statement)
    assert sorted(item.name for item in tmp_path.iterdir()) == ["a.parquet", "b.parquet"]


# --- numbers --------------------------------------------------------------------------------------

ODD = st.text(alphabet=" \t\n0123456789.+-eE_infatyNX,١", max_size=6)


@settings(max_examples=60, deadline=None)
@given(st.lists(ODD, min_size=1, max_size=40))
def test_every_text_is_a_number_missing_or_a_fault_in_both_passes_alike(texts):
    """The first pass calls odd exactly what the second one words."""
    bare = parse_spec("""
    kind = "scores"
    [data]
    score = "y"
    unit = "id"
    change = { column = "phase", before = 0, after = 1 }
    [estimands]
    g = { gain = {} }
    """)
    for text in dict.fromkeys(texts):
        rows = pd.DataFrame({"id": list("aabb"), "phase": [0, 1] * 2, "y": ["1", text, "2", "3"]})
        found = value_or_faults(bare, rows)
        if isinstance(found, float):
            np.testing.assert_equal(found, float(text.strip() or "nan"))
        else:
            assert len(found) == 1
            assert found[0].startswith("y: ")


def value_or_faults(declared, rows):
    try:
        return float(read_scores(declared, rows)["score"].values[0, 1])
    except TableError as error:
        return error.faults


# --- frames without pyarrow -----------------------------------------------------------------------


def test_a_polars_frame_needs_no_pyarrow():
    program = """
import sys
from pathlib import Path
sys.modules["pyarrow"] = None
import polars as pl
from fourcorner.io.tables import open_table
frame = pl.DataFrame({"a": ["x", None], "b": [1.5, float("nan")]})
with open_table(frame) as table:
    print(table.connection.execute("SELECT a, b FROM rows ORDER BY __row").fetchall())
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[('x', 1.5), (None, nan)]\n"


# --- volatile expressions -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        "random()", "num(b) + random()", "uuid()", "gen_random_uuid()", "now()", "today()",
        "current_timestamp", "current_date", "CURRENT_TIME", "localtimestamp",
        "get_current_timestamp()", "age(CAST(a AS TIMESTAMP))", "ago(INTERVAL 1 DAY)",
        "setseed(0.5)", "nextval('s')", "current_setting('threads')", "txid_current()",
        "CAST(now() AS VARCHAR) || a",
    ],
)  # fmt: skip
def test_an_expression_may_not_depend_on_chance_or_time(tmp_path, expression):
    path = write(tmp_path / "t.csv", "a,b\n2024-01-01,1\n")
    with pytest.raises(TableError) as caught, open_table(path, {"z": expression}):
        pass
    assert "gives another value another time" in caught.value.faults[0]


def test_a_column_may_be_called_like_a_clock(tmp_path):
    path = write(tmp_path / "t.csv", "today,current_date\n1,2\n")
    with open_table(path, {"z": "num(today) + num(current_date)"}) as table:
        assert table.one("SELECT z FROM rows") == (3.0,)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("date_part('year', CAST(a AS DATE))", 2024),
        ("date_diff('day', CAST(a AS DATE), DATE '2024-01-03')", 2),
        ("strftime(CAST(a AS DATE), '%m')", "01"),
        ("CASE WHEN b = '2' THEN error('two') ELSE 1 END", 1),
        ("md5(a)[1:2]", "b1"),
    ],
)
def test_an_expression_of_its_row_alone_is_allowed(tmp_path, expression, value):
    path = write(tmp_path / "t.csv", "a,b\n2024-01-01,1\n")
    if expression.startswith("md5"):
        value = hashlib.md5(b"2024-01-01").hexdigest()[:2]
    with open_table(path, {"z": expression}) as table:
        assert table.one("SELECT z FROM rows") == (value,)


# --- memory ---------------------------------------------------------------------------------------


def test_a_table_is_read_within_a_memory_limit_and_its_folder_goes(tmp_path):
    path = write(tmp_path / "t.csv", "a,b\n1,2\n")
    for keep in (True, False):
        with open_table(path, keep=keep) as table:
            limit, folder = table.one(
                "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
            )
            assert limit == "512.0 MiB"
            assert Path(folder).is_dir()
        assert not Path(folder).exists()
