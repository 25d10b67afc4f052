"""Waves, sessions and scale groups: what repeats what, and what may be compared."""

import itertools

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fourcorner import cli, scores
from fourcorner.errors import OptionError, SpecError, TableError
from fourcorner.scores import read_scores
from fourcorner.spec import parse_spec

DATA = {
    "score": '"y"',
    "unit": '"id"',
    "change": '{ column = "phase", before = "b", after = "a" }',
    "channel": '{ view = ["d", "g"] }',
    "replicate": '{ layout = ["1", "2"], wave = ["w1", "w2", "w3"] }',
    "session": '"campaign"',
}
SESSIONS = {"w1": "first", "w2": "retry", "w3": "retry"}
FACTORS = ["id", "phase", "view", "layout", "wave"]


def spec(**changes):
    keys = {**DATA, **changes}
    lines = [f"{key} = {value}" for key, value in keys.items() if value is not None]
    average = "average_over = ['view']" if keys["channel"] else "at = {}"
    estimand = f"g = {{ gain = {{}}, {average} }}"
    return parse_spec("\n".join(['kind = "scores"', "[data]", *lines, "[estimands]", estimand]))


def table(units="abcdefgh", waves=("w1", "w2", "w3"), seed=1):
    rows = pd.DataFrame(itertools.product(units, "ba", "dg", "12", waves), columns=FACTORS)
    rows["y"] = np.random.default_rng(seed).normal(size=len(rows))
    rows["campaign"] = rows["wave"].map(SESSIONS)
    return rows


def faults(declared, rows):
    with pytest.raises(TableError) as caught:
        read_scores(declared, rows)
    return caught.value.faults


def plain(rows, waves):
    """Cells by pandas: the mean over layouts and the waves, units by phases by views."""
    kept = rows[rows["wave"].isin(waves)]
    means = kept.groupby(["id", "phase", "view"])["y"].mean()
    units = sorted(set(rows["id"]))
    return np.array([[[means[unit, p, v] for v in "dg"] for p in "ba"] for unit in units])


@pytest.mark.parametrize("waves", [("w1",), ("w2",), ("w1", "w3"), ("w3", "w2", "w1")])
def test_cells_of_some_waves_are_the_means_of_their_rows(waves):
    rows = table()
    found = scores.cells(read_scores(spec(), rows), waves)
    np.testing.assert_allclose(found.values, plain(rows, waves), rtol=1e-12)
    assert found.dims == ("transition", "state", "view")


def test_no_wave_named_is_every_declared_wave():
    rows = table()
    data = read_scores(spec(), rows)
    expected = plain(rows, ["w1", "w2", "w3"])
    np.testing.assert_allclose(scores.cells(data).values, expected, rtol=1e-12)
    xr.testing.assert_allclose(scores.cells(data), scores.cells(data, ("w1", "w2", "w3")))


def test_what_is_missing_in_a_wave_costs_only_the_cells_that_use_it():
    rows = table()
    rows.loc[(rows["id"] == "a") & (rows["wave"] == "w2"), "y"] = np.nan
    data = read_scores(spec(), rows)
    assert np.isnan(scores.cells(data).values[0]).all()
    assert np.isfinite(scores.cells(data, ["w1", "w3"]).values).all()
    by_wave = [row for row in scores.funnel(data)["by_replicate"] if row["factor"] == "wave"]
    assert [(row["level"], row["finite"], row["reasons"]["blank"]) for row in by_wave] == [
        ("w1", 64, 0),
        ("w2", 56, 8),
        ("w3", 64, 0),
    ]
    assert [row["reasons"]["other_replicate_missing"] for row in by_wave] == [8, 0, 8]


@pytest.mark.parametrize(
    ("waves", "words"),
    [
        (("w4",), "no wave 'w4'; the waves are ['w1', 'w2', 'w3']"),
        (("w1", "w1"), "names a wave twice"),
    ],
)
def test_a_wave_that_is_none_is_told(waves, words):
    data = read_scores(spec(), table())
    for work in (scores.cells, scores.censoring_bounds):
        with pytest.raises(OptionError) as caught:
            work(data, waves)
        assert words in str(caught.value)


def test_a_wave_of_data_without_waves_is_told():
    rows = table(waves=["w1"])
    data = read_scores(spec(session=None, replicate='{ layout = ["1", "2"] }'), rows)
    assert scores.waves(data) == []
    with pytest.raises(OptionError, match="the scores have no replicate 'wave'"):
        scores.cells(data, ["w1"])


@pytest.mark.parametrize("reducer", ["mean_then_margin", "margin_then_mean"])
def test_options_become_margins_within_each_wave(reducer):
    rows = table(units="ab").merge(pd.DataFrame({"option": list("xyz")}), how="cross")
    rows["y"] = np.random.default_rng(3).normal(size=len(rows))
    rows["gold"] = rows["id"].map({"a": "y", "b": "z"})
    options = {"score": None, "option_score": '"y"', "candidate": '"option"', "target": '"gold"'}
    found = scores.cells(read_scores(spec(reducer=f'"{reducer}"', **options), rows))
    keys = ["id", "phase", "view", "wave", "layout"]
    if reducer == "mean_then_margin":
        keys = keys[:-1]
    means = rows.groupby([*keys, "gold", "option"])["y"].mean().reset_index()
    own = means[means["option"] == means["gold"]].set_index(keys)["y"]
    rival = means[means["option"] != means["gold"]].groupby(keys)["y"].max()
    cell = (own - rival).groupby(["id", "phase", "view"]).mean()
    for (unit, phase, view), value in cell.items():
        place = "ab".index(unit), "ba".index(phase), "dg".index(view)
        assert float(found.values[place]) == pytest.approx(value, abs=1e-12)


# --- sessions -------------------------------------------------------------------------------------


def test_the_session_of_each_wave_is_a_coordinate():
    found = read_scores(spec(), table())
    assert found["session"].dims == ("wave",)
    assert found["session"].values.tolist() == ["first", "retry", "retry"]
    assert "session" not in read_scores(spec(session=None), table()).coords


def test_a_session_that_changes_within_a_wave_is_a_fault():
    rows = table()
    rows.loc[rows.index[1], "campaign"] = "first"  # a row of wave w2
    assert faults(spec(), rows) == (
        "campaign changes within wave 'w2': 'first', 'retry'; a wave belongs to one session",
    )


@pytest.mark.parametrize("value", ["", None, " "])
def test_an_empty_session_is_a_fault(value):
    rows = table()
    rows.loc[rows["wave"] == "w3", "campaign"] = value
    assert faults(spec(), rows) == ("campaign: an empty session in wave 'w3'",)


@pytest.mark.parametrize("replicate", [None, '{ layout = ["1", "2"] }', '{ run = ["w1", "w2"] }'])
def test_a_session_without_waves_is_told(replicate):
    with pytest.raises(SpecError, match="session = 'campaign' needs waves: a replicate factor"):
        spec(replicate=replicate)


# --- a copy is no second wave ---------------------------------------------------------------------


def copied(rows, units, target="w3", source="w1"):
    """The rows with a wave's scores replaced by another's, for some units."""
    rows = rows.set_index(FACTORS[:-1])
    inside = rows.index.get_level_values("id").isin(list(units))
    values = rows.loc[inside & (rows["wave"] == source), "y"]
    rows.loc[inside & (rows["wave"] == target), "y"] = values
    return rows.reset_index()


@pytest.mark.parametrize(("units", "count"), [("abcdefgh", 8), ("abcde", 5)])
def test_a_copied_wave_is_a_fault(units, count):
    (fault,) = faults(spec(), copied(table(), units))
    assert fault.startswith(
        f"wave 'w3' has the same scores as 'w1' in every cell of {count} transitions: the same "
        f"scores twice are no second measurement"
    )


def test_four_transitions_that_agree_or_one_cell_that_differs_are_no_copy():
    assert read_scores(spec(), copied(table(), "abcd")).sizes["wave"] == 3
    rows = copied(table(), "abcde")
    rows.loc[(rows["id"] == "a") & (rows["wave"] == "w3"), "y"] += [1, 0, 0, 0, 0, 0, 0, 0]
    assert read_scores(spec(), rows).sizes["wave"] == 3


def test_a_copy_with_holes_is_a_copy_all_the_same():
    rows = copied(table(), "abcdefgh")
    rows.loc[(rows["wave"] == "w3") & (rows["view"] == "g"), "y"] = np.nan
    assert "in every cell of 8 transitions" in faults(spec(), rows)[0]


@pytest.mark.parametrize("different", [1, 2, 5, 10])
def test_grades_that_agree_in_whole_waves_are_no_copy(different):
    rows = table()
    place = np.unique(rows[FACTORS[:-1]].agg("".join, axis=1), return_inverse=True)[1]
    rows["y"] = (place % different).astype(float)  # of all waves alike
    assert read_scores(spec(), rows).sizes["wave"] == 3


def test_whole_waves_of_more_than_grades_are_copies_though_many_scores_are_alike():
    rows = table()
    place = np.unique(rows[FACTORS[:-1]].agg("".join, axis=1), return_inverse=True)[1]
    rows["y"] = (place % 11).astype(float)
    assert len(faults(spec(), rows)) == 3  # each pair of the three waves
    rows.loc[(rows["id"] == "a") & (rows["wave"] == "w3"), "y"] += 1
    assert len(faults(spec(), rows)) == 1  # eleven scores may agree by chance in some transitions


def test_few_scores_none_of_which_is_there_twice_are_no_grades():
    rows = table(units="abcde", waves=["w1", "w2"])
    rows = rows[(rows["layout"] == "1") & (rows["view"] == "d")].reset_index(drop=True)
    place = np.unique(rows["id"] + rows["phase"], return_inverse=True)[1]
    rows["y"] = np.random.default_rng(2).normal(size=10)[place]
    alone = {"channel": None, "replicate": '{ wave = ["w1", "w2"] }'}
    assert "in every cell of 5 transitions" in faults(spec(**alone), rows)[0]


def test_copied_option_scores_are_a_copy():
    rows = copied(table(), "abcdefgh").merge(pd.DataFrame({"option": ["x", "z"]}), how="cross")
    rows["y"] += rows["option"] == "x"
    rows["gold"] = "x"
    options = {"score": None, "option_score": '"y"', "candidate": '"option"', "target": '"gold"'}
    assert "has the same scores as 'w1'" in faults(spec(**options), rows)[0]


def a_copied(rows, factor, target, source):
    """The rows with the scores of one level of a factor in place of another's."""
    keys = [name for name in FACTORS if name != factor]
    values = rows[rows[factor] == source].set_index(keys)["y"]
    place = rows[factor] == target
    rows.loc[place, "y"] = values.loc[list(rows.loc[place, keys].itertuples(index=False))].values
    return rows


def test_a_copied_layout_is_a_warning_that_says_what_was_found():
    rows = a_copied(table(), "layout", "2", "1")
    assert scores.funnel(read_scores(spec(), rows))["warnings"] == [
        "layout '2' has the same score as '1' in all 96 places where both are measured (96 "
        "different scores): a copy is no second measurement"
    ]
    rows.loc[(rows["id"] == "c") & (rows["layout"] == "2"), "y"] = np.nan
    (said,) = scores.funnel(read_scores(spec(), rows))["warnings"]
    assert "in all 84 places where both are measured (84 different scores)" in said
    last = (rows["id"] == "h") & (rows["layout"] == "2") & (rows["view"] == "g")
    rows.loc[last & (rows["wave"] == "w3"), "y"] += 1e-12
    assert scores.funnel(read_scores(spec(), rows))["warnings"] == []


def test_a_copied_run_that_is_not_called_wave_is_a_warning():
    rows = a_copied(table(), "wave", "w3", "w2").rename(columns={"wave": "run"})
    declared = spec(session=None, replicate='{ layout = ["1", "2"], run = ["w1", "w2", "w3"] }')
    (said,) = scores.funnel(read_scores(declared, rows))["warnings"]
    assert said.startswith("run 'w3' has the same score as 'w2' in all 64 places")


def test_a_copied_wave_of_few_transitions_is_a_warning():
    rows = a_copied(table(units="ab"), "wave", "w2", "w1")
    (said,) = scores.funnel(read_scores(spec(), rows))["warnings"]
    assert said.startswith("wave 'w2' has the same score as 'w1' in all 16 places")


@pytest.mark.parametrize(("different", "warned"), [(2, False), (5, False), (10, False), (11, True)])
def test_grades_that_agree_are_no_copy(different, warned):
    rows = table()
    own = rows[["id", "phase", "view", "wave"]].agg("".join, axis=1)
    place = np.unique(own, return_inverse=True)[1]
    grades = np.random.default_rng(6).permutation(np.arange(place.max() + 1) % different)
    rows["y"] = grades[place].astype(float)  # layouts agree, waves do not
    assert bool(scores.funnel(read_scores(spec(), rows))["warnings"]) == warned


def test_copied_option_scores_of_a_layout_are_a_warning():
    rows = a_copied(table(), "layout", "2", "1")
    rows = rows.merge(pd.DataFrame({"option": ["x", "z"]}), how="cross")
    rows["y"] += rows["option"] == "x"
    rows["gold"] = "x"
    options = {"score": None, "option_score": '"y"', "candidate": '"option"', "target": '"gold"'}
    (said,) = scores.funnel(read_scores(spec(**options), rows))["warnings"]
    assert said.startswith("layout '2' has the same score as '1' in all 192 places")


def test_the_doctor_tells_a_copied_layout(tmp_path, capsys):
    a_copied(table(), "layout", "2", "1").to_csv(tmp_path / "t.csv", index=False)
    lines = [f"{key} = {value}" for key, value in DATA.items()]
    text = ['kind = "scores"', "[data]", 'path = "t.csv"', *lines]
    text += ["[estimands]", "g = { gain = { view = 'd' } }"]
    (tmp_path / "s.toml").write_text("\n".join(text), encoding="utf-8")
    assert cli.run(["doctor", str(tmp_path / "s.toml")]) == 0
    assert "warning: layout '2' has the same score as '1'" in capsys.readouterr().out


# --- scale groups ---------------------------------------------------------------------------------


def test_scale_factors_are_read_off_the_dataset():
    rows = table()
    assert scores.scale_factors(read_scores(spec(scale='["view"]'), rows)) == ["view"]
    assert scores.scale_factors(read_scores(spec(), rows)) == []


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        ('["veiw"]', "scale: 'veiw' is no channel factor (did you mean 'view'?)"),
        ('["layout"]', "scale: 'layout' is no channel factor"),
        ('"view"', "scale = 'view': expected a list of names"),
        ('["view", "view"]', "names something twice"),
    ],
)
def test_a_scale_that_is_no_channel_factor_is_told(scale, words):
    with pytest.raises(SpecError) as caught:
        spec(scale=scale)
    assert words in str(caught.value)
