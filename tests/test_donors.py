"""Donors against exhaustive search, and the faults of a table that has none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fourcorner as fc
from fourcorner.errors import TableError

EXAMPLES = settings(max_examples=200, deadline=None, derandomize=True)
COLUMNS = {"unit": "trajectory", "family": "task_family", "words": "words"}


def table(*rows):
    return pd.DataFrame(rows, columns=["trajectory", "task_family", "words"])


def exhaustive(frame):
    """Every other unit of the family is looked at; the rule as its docstring words it."""
    units = list(frame.itertuples(index=False))
    found = []
    for own in units:
        others = [
            (abs(other.words - own.words), other.words, other.trajectory)
            for other in units
            if other.trajectory != own.trajectory and other.task_family == own.task_family
        ]
        found.append(min(others)[-1])
    return found


@st.composite
def tasks(draw):
    """Families of two to six units with few different counts, so that many tie, in any order."""
    families = draw(st.lists(st.integers(2, 6), min_size=1, max_size=4))
    size = sum(families)
    names = draw(st.permutations([f"t{number}" for number in range(size)]))
    counts = draw(st.lists(st.integers(0, 8), min_size=size, max_size=size))
    family = [f"f{place}" for place, members in enumerate(families) for _ in range(members)]
    order = draw(st.permutations(range(size)))
    return table(*[(names[i], family[i], counts[i]) for i in order])


@EXAMPLES
@given(tasks())
def test_donors_are_those_of_an_exhaustive_search(frame):
    found = fc.match_donors(frame, **COLUMNS)
    assert found.tolist() == exhaustive(frame)
    assert (found != frame["trajectory"]).all()


@EXAMPLES
@given(tasks(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(frame, random):
    shuffled = frame.sample(frac=1, random_state=random.randrange(2**31))
    found = fc.match_donors(frame, **COLUMNS)
    pd.testing.assert_series_equal(fc.match_donors(shuffled, **COLUMNS).sort_index(), found)


def test_donors_by_hand():
    frame = table(
        ("a", "drug", 100),  # b is 10 away
        ("b", "drug", 110),  # a and c are both 10 away: the shorter one
        ("c", "drug", 120),  # b is 10 away
        ("d", "gene", 110),  # nobody of another family, however near
        ("e", "gene", 500),
    )
    assert fc.match_donors(frame, **COLUMNS).tolist() == ["b", "a", "b", "e", "d"]


def test_units_of_one_length_take_the_first_of_them_by_id_or_the_second():
    frame = table(("t3", "drug", 7), ("t1", "drug", 7), ("t2", "drug", 7), ("t0", "drug", 8))
    # of 7 words: t1, t2, t3 in the order of ids; t0 has nobody of its length
    assert fc.match_donors(frame, **COLUMNS).tolist() == ["t1", "t2", "t1", "t1"]


def test_ids_are_ordered_as_texts():
    frame = table((10, "drug", 5), (9, "drug", 5), (1, "drug", 90))
    # '10' comes before '9'
    assert fc.match_donors(frame, **COLUMNS).tolist() == [9, 10, 10]


def test_the_result_stands_on_the_tables_own_index():
    frame = table(("a", "drug", 1), ("b", "drug", 2)).set_index(pd.Index([9, 9]))
    found = fc.match_donors(frame, **COLUMNS)
    assert found.name == "donor"
    assert found.index.tolist() == [9, 9]
    assert frame.assign(donor=found)["donor"].tolist() == ["b", "a"]


def test_the_table_is_left_as_it_is():
    frame = table(("b", "drug", 2), ("a", "drug", 1))
    kept = frame.copy(deep=True)
    fc.match_donors(frame, **COLUMNS)
    pd.testing.assert_frame_equal(frame, kept)


@pytest.mark.parametrize("words", [["4", "6", "9"], [4.0, 6.0, 9.0]])
def test_counts_may_be_texts_or_whole_floats(words):
    frame = table(("a", "drug", 0), ("b", "drug", 0), ("c", "drug", 0)).assign(words=words)
    assert fc.match_donors(frame, **COLUMNS).tolist() == ["b", "a", "b"]


def test_nullable_columns_are_read():
    frame = table(("a", "drug", 4), ("b", "drug", 6)).convert_dtypes()
    assert fc.match_donors(frame, **COLUMNS).tolist() == ["b", "a"]
    frame["words"] = frame["words"].where(frame["trajectory"] == "a")
    with pytest.raises(TableError, match="no word count in 1 row"):
        fc.match_donors(frame, **COLUMNS)


def test_no_units_have_no_donors():
    assert fc.match_donors(table(), **COLUMNS).tolist() == []


def test_many_units_are_matched_as_few_are():
    rng = np.random.default_rng(0)
    size = 400
    frame = table(
        *zip(
            [f"t{number}" for number in rng.permutation(size)],
            rng.choice(["drug", "gene", "risk"], size),
            rng.integers(0, 3000, size).tolist(),
            strict=True,
        )
    )
    assert fc.match_donors(frame, **COLUMNS).tolist() == exhaustive(frame)


GOOD = table(("a", "drug", 4), ("b", "drug", 6))


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (GOOD.drop(columns="words"), "no column 'words'"),
        (GOOD.rename(columns={"words": "word"}), "did you mean 'word'?"),
        (
            table(("a", "drug", 4), ("b", "gene", 6), ("c", "gene", 6)),
            "1 family of one unit, first ['drug']",
        ),
        (table(("a", "drug", 4), ("a", "drug", 6)), "1 id in several rows, first ['a']"),
        (table((1, "drug", 4), ("1.0", "drug", 6)), "1 id in several rows"),
        (table((None, "drug", 4), ("b", "drug", 6)), "column 'trajectory': 1 missing or empty"),
        (table(("a", " ", 4), ("b", " ", 6)), "column 'task_family': 2 missing or empty"),
        (table(("a", "drug", -1), ("b", "drug", 6)), "row, first -1 in rows [0]"),
        (table(("a", "drug", 1.5), ("b", "drug", 6)), "row, first 1.5"),
        (table(("a", "drug", 1), ("b", "drug", np.inf)), "row, first inf"),
        (table(("a", "drug", 1), ("b", "drug", np.nan)), "row, first nan"),
        (table(("a", "drug", 1), ("b", "drug", "many")), "row, first 'many'"),
        (table(("a", "drug", True), ("b", "drug", False)), "no word count in 2 rows, first True"),
        (
            GOOD.assign(words=pd.Series([True, 6], dtype=object)),
            "no word count in 1 row, first True in rows [0]",
        ),
        (
            GOOD.assign(words=pd.Categorical([True, 6])),
            "no word count in 1 row, first True in rows [0]",
        ),
        (
            GOOD.assign(words=pd.to_datetime(["2026-01-01", "2026-01-02"])),
            "no word count in 2 rows",
        ),
        (pd.concat([GOOD, GOOD[["words"]]], axis=1), "column 'words' stands 2 times"),
    ],
)
def test_a_table_without_donors_is_a_typed_error(frame, words):
    with pytest.raises(TableError) as caught:
        fc.match_donors(frame, **COLUMNS)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("frame", "got"),
    [
        (pl.from_pandas(GOOD), "polars.DataFrame"),
        (GOOD.to_dict("list"), "dict"),
        (None, "NoneType"),
    ],
)
def test_what_is_no_frame_of_pandas_is_told(frame, got):
    with pytest.raises(TableError, match=f"got a {got} as the table; expected a pandas.DataFrame"):
        fc.match_donors(frame, **COLUMNS)


@pytest.mark.parametrize("here", ["words", 2])
def test_a_column_is_named_by_a_text(here):
    frame = GOOD.rename(columns={"words": here})
    with pytest.raises(TableError, match="words = 2: expected the name of a column, a text"):
        fc.match_donors(frame, **{**COLUMNS, "words": 2})
    with pytest.raises(TableError, match="no column '2'"):
        fc.match_donors(frame, **{**COLUMNS, "words": "2"})


def test_one_column_plays_one_part():
    with pytest.raises(TableError, match="three columns"):
        fc.match_donors(GOOD, unit="trajectory", family="trajectory", words="words")


def test_all_faults_come_at_once():
    frame = table(("a", "drug", -4), ("a", "drug", 6), ("", "gene", 6))
    with pytest.raises(TableError) as caught:
        fc.match_donors(frame, **COLUMNS)
    assert len(caught.value.faults) == 4
