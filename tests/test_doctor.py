"""What the doctor says of a table and of a spec, against plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest

import fits
import fourcorner as fc
from fourcorner import cli, doctor
from fourcorner.doctor import tables
from fourcorner.errors import TableError

SPEC = """
kind = "scores"
title = "Waves"
[data]
score = "margin"
unit = "task"
change = {{ column = "state", before = "before", after = "after" }}
channel = {{ view = ["direct", "generated"] }}
{more}
stratum = "target"
[estimands]
direct = {{ gain = {{ view = "direct" }} }}
omega = {{ omega = {{ view = ["direct", "generated"] }} }}
middle = {{ gain = {{ view = "direct" }}, statistic = "median" }}
[weights]
empirical = "empirical"
equal = "equal"
"""


def scored(waves=("w1",), tasks=12):
    """Twelve tasks or more, three of them in the small stratum."""
    generator = np.random.default_rng(1)
    rows = [
        (f"t{i:02d}", "rare" if i < 3 else "usual", state, view, wave, generator.normal())
        for i in range(tasks)
        for state in ("before", "after")
        for view in ("direct", "generated")
        for wave in waves
    ]
    return pd.DataFrame(rows, columns=["task", "target", "state", "view", "wave", "margin"])


def described(tmp_path, frame, name="table.csv"):
    path = tmp_path / name
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return doctor.describe_table(path)


def columns(found):
    return {column["name"]: column for column in found["columns"]}


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_columns_have_types_counts_and_levels(tmp_path, name):
    frame = scored().assign(success=[True, False] * 24)
    frame.loc[[1, 5], "margin"] = np.nan
    found = described(tmp_path, frame, name)
    assert found["rows"] == len(frame)
    by = columns(found)
    assert {key: column["type"] for key, column in by.items()} == {
        "task": "text", "target": "text", "state": "text", "view": "text", "wave": "text",
        "margin": "number", "success": "boolean",
    }  # fmt: skip
    for key, column in by.items():
        assert column["distinct"] == frame[key].nunique(), key
        assert column["blank"] == frame[key].isna().sum(), key
        assert column["exact"]
    assert by["margin"]["numbers"] == len(frame) - 2
    assert sorted(by["state"]["levels"]) == ["after", "before"]
    assert sorted(by["success"]["levels"]) == ["false", "true"]


def test_a_number_is_what_the_reader_of_scores_takes_for_one(tmp_path):
    values = ["1.5", "-2", ".5", "1e3", "1_000", "0x10", "inf", "high", "1e999", "", "NaN", "+7"]
    frame = pd.DataFrame({"task": [f"t{i}" for i in range(12)], "margin": values})
    column = columns(described(tmp_path, frame))["margin"]
    assert column["numbers"] == 5  # 1.5, -2, .5, 1e3, +7
    assert column["blank"] == 2
    assert column["type"] == "mixed"
    assert set(column["odd"]) <= {"1_000", "0x10", "inf", "high", "1e999"}
    assert len(column["odd"]) == tables.EXAMPLES


def test_many_rows_are_counted_about_right_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LARGE", 100)
    frame = scored(waves=[f"w{i}" for i in range(20)])
    by = columns(described(tmp_path, frame))
    assert not by["margin"]["exact"]
    assert by["margin"]["distinct"] == pytest.approx(len(frame), rel=0.2)
    for few in ("state", "task"):
        assert by[few]["exact"]
        assert by[few]["distinct"] == frame[few].nunique()


BUNDLED = sorted(
    path.name
    for path in (fits.REPO / "data-samples").iterdir()
    if path.suffix in {".csv", ".parquet"}
)
REAL = fits.REPO.parent / "shared" / "real"
READABLE = ("alpaca_eval_logprob_margins", "cje_arena_policies", "llmbar_published_statistics")


def runs(path):
    """The suggested spec as it is, and what the doctor says of it and its table."""
    suggestion = doctor.describe_table(path)["suggestion"]
    assert suggestion["open"] == []
    spec = fc.parse_spec(suggestion["spec"], directory=path.parent)
    return spec, doctor.describe_scores(fc.read_scores(spec), spec)


def columns_of(data):
    """The columns that a spec gives a part, by part; levels as sets, whatever their order."""
    keys = ("score", "option_score", "candidate", "target", "unit", "transition", "change")
    more = ("before", "after", "session", "endpoint", "stratum")
    return {
        **{key: getattr(data, key) for key in (*keys, *more)},
        **{key: {k: set(v) for k, v in getattr(data, key).items()} for key in FACTORS},
        "attributes": set(data.attributes),
    }


FACTORS = ("channel", "replicate")


@pytest.mark.parametrize("name", ["retrieval_cube", "global_replay", "protocol"])
def test_the_suggested_spec_has_the_columns_of_the_bundled_one(name):
    ours = fc.read_spec(fits.REPO / "models" / f"{name}.toml").data
    found = fc.parse_spec(
        doctor.describe_table(fits.REPO / "data-samples" / ours.path.split("/")[-1])["suggestion"][
            "spec"
        ]
    )
    assert columns_of(found.data) == columns_of(ours)


@pytest.mark.parametrize("name", BUNDLED)
def test_the_suggested_spec_of_a_bundled_table_runs_and_identifies_what_it_asks(name):
    _, found = runs(fits.REPO / "data-samples" / name)
    assert found["estimands"]
    assert all(row["identified"] and row["units"] > 0 for row in found["estimands"])


@pytest.mark.skipif(not REAL.is_dir(), reason="the real tables are not here")
@pytest.mark.parametrize("name", READABLE)
def test_the_suggested_spec_of_a_real_table_runs(name):
    spec, found = runs(REAL / f"{name}.csv.gz")
    assert any(row["identified"] for row in found["estimands"])  # not all levels have a score
    assert {declared.kind for declared in spec.estimands.values()} == {"agreement"}


NUMBERED = [f"u{place:02d}" for place in range(12)]
NAMED = [
    "ash",
    "bay",
    "cedar",
    "elder",
    "fir",
    "hazel",
    "larch",
    "maple",
    "oak",
    "pine",
    "rowan",
    "yew",
]


@pytest.mark.parametrize("units", [2, 5, 12])
@pytest.mark.parametrize("called", ["trajectory", "unit", "task_id"])
@pytest.mark.parametrize("ids", [NUMBERED, NAMED])
def test_units_are_found_where_there_are_few(tmp_path, units, called, ids):
    frame = scored(tasks=units).drop(columns="wave")
    frame["task"] = frame["task"].map(lambda task: ids[int(task[1:])])
    found = described(tmp_path, frame.rename(columns={"task": called}))
    assert found["suggestion"]["open"] == []
    data = fc.parse_spec(found["suggestion"]["spec"]).data
    assert (data.score, data.unit, set(data.channel)) == ("margin", called, {"view"})
    assert columns(found)[called]["could_be"].endswith("attribute or unit")


def test_steps_are_no_units_where_a_few_runs_have_many(tmp_path):
    table = scored(tasks=5).drop(columns="wave")
    steps = [table.assign(step_id=table["task"] + f"-{place}") for place in range(8)]
    data = fc.parse_spec(described(tmp_path, pd.concat(steps))["suggestion"]["spec"]).data
    assert (data.unit, data.transition) == ("task", "step_id")


def test_the_many_are_units_where_the_few_are_kinds_of_them(tmp_path):
    frame = scored(tasks=20).drop(columns="wave")
    frame["task_family"] = np.where(frame["task"] < "t10", "drug", "gene")
    frame = frame.rename(columns={"task": "name", "view": "prompt"}).replace(
        {"prompt": {"direct": "p1", "generated": "p2"}}
    )
    data = fc.parse_spec(described(tmp_path, frame)["suggestion"]["spec"]).data
    assert (data.unit, set(data.channel)) == ("name", {"prompt"})
    assert "task_family" in data.attributes


def test_a_score_with_few_values_is_found_by_its_name_or_because_each_row_has_its_own(tmp_path):
    frame = scored(tasks=2).drop(columns="wave").round(3)
    for name in ("rating", "y"):
        found = described(tmp_path, frame.rename(columns={"margin": name}))
        assert fc.parse_spec(found["suggestion"]["spec"]).data.score == name
        assert columns(found)[name]["could_be"].startswith("score, ")
    heated = pd.concat([frame.assign(temperature=heat) for heat in (0.0, 0.7)])
    found = described(tmp_path, heated.drop(columns="margin"))["suggestion"]
    assert found["open"] == ["score"]
    assert set(fc.parse_spec(found["spec"]).data.channel) == {"view", "temperature"}


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
def test_a_table_without_rows_gets_no_spec(capsys, tmp_path, name):
    with pytest.raises(TableError, match="no rows"):
        described(tmp_path, scored().iloc[:0], name)
    assert cli.run(["doctor", str(tmp_path / name)]) == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert "no rows" in found.err


def test_one_of_a_thing_is_told_as_one(capsys, tmp_path):
    spec = SPEC.format(more="").replace("[data]", '[data]\npath = "scores.csv"')
    (tmp_path / "spec.toml").write_text(spec)
    frame = scored(tasks=13).drop(columns="wave")
    frame[~frame["task"].isin(["t00", "t01"])].to_csv(tmp_path / "scores.csv", index=False)
    assert cli.run(["doctor", str(tmp_path / "spec.toml")]) == 0
    assert "small stratum: rare: 1 unit complete" in capsys.readouterr().out
    frame.iloc[:1].to_csv(tmp_path / "one.csv", index=False)
    assert cli.run(["doctor", str(tmp_path / "one.csv")]) == 0
    assert "one.csv: 1 row\n" in capsys.readouterr().out


def test_a_row_for_each_candidate_is_read_as_option_scores(tmp_path):
    frame = scored(tasks=20)
    options = pd.concat([frame.assign(answer=letter) for letter in "abc"], ignore_index=True)
    options = options.rename(columns={"margin": "logprob"})
    options["gold"] = options["task"].map(lambda task: "abc"[int(task[1:]) % 3])
    options["logprob"] += np.arange(len(options)) / 1000
    text = described(tmp_path, options)["suggestion"]["spec"]
    spec = fc.parse_spec(text)
    assert (spec.data.option_score, spec.data.score) == ("logprob", None)
    assert (spec.data.candidate, spec.data.target, spec.data.stratum) == (
        "answer",
        "gold",
        "target",
    )
    margins = fc.read_scores(spec, options)
    assert margins.sizes["transition"] == 20
    other = described(tmp_path, options.assign(gold="d"))["suggestion"]
    assert other["open"] == ["target"]
    assert 'target = "?"' in other["spec"]


def test_without_a_change_agreement_rates_are_asked_for(tmp_path):
    judged = pd.DataFrame(
        [
            (f"t{i:02d}", judge, order, (i * 7 + k + 3 * o) % 5 / 2)
            for i in range(30)
            for k, judge in enumerate(("ann", "bob", "cat"))
            for o, order in enumerate(("AB", "BA"))
        ],
        columns=["item", "judge", "order", "rating"],
    )
    found = described(tmp_path, judged)["suggestion"]
    assert found["open"] == []
    spec = fc.parse_spec(found["spec"])
    assert spec.data.change is None
    assert {name: declared.kind for name, declared in spec.estimands.items()} == {
        "order_agreement": "agreement",
        "judge_agreement": "agreement",
    }
    assert spec.estimands["order_agreement"].factor == "order"
    assert dict(spec.estimands["judge_agreement"].levels) == {"judge": ("ann", "bob")}
    rows = fc.estimate(fc.read_scores(spec, judged), spec).set_index("name")
    ann, bob = (
        judged[judged["judge"] == judge].set_index(["item", "order"])["rating"]
        for judge in ("ann", "bob")
    )
    same = (ann == bob.loc[ann.index]).mean()
    assert rows.loc["judge_agreement", "value"] == pytest.approx(same)


def test_names_that_a_spec_cannot_take_are_left_out_and_told(tmp_path):
    frame = scored(waves=("w1", "w2"), tasks=20).rename(columns={"view": "sample"})
    text = described(tmp_path, frame)["suggestion"]["spec"]
    spec = fc.parse_spec(text)
    assert spec.data.channel == {}
    assert '# no part yet: "sample", its name is a word of the package' in text


def test_a_column_that_rows_do_not_differ_by_is_no_factor(tmp_path):
    frame = scored(tasks=20)
    frame["said"] = np.where(frame["margin"] > 0, "yes", "no")
    text = described(tmp_path, frame)["suggestion"]["spec"]
    assert set(fc.parse_spec(text).data.channel) == {"view"}
    assert '# no part yet: "said", the other columns tell rows apart already' in text


def test_a_factor_is_fixed_where_nobody_scored_some_combination(tmp_path):
    one, two = (scored(tasks=20).assign(stack=stack) for stack in ("big", "small"))
    frame = pd.concat([one, two[two["view"] == "direct"]])
    spec = fc.parse_spec(described(tmp_path, frame)["suggestion"]["spec"])
    assert dict(spec.estimands["omega"].at) == {"stack": ("big",)}
    found = doctor.describe_scores(fc.read_scores(spec, frame), spec)
    assert all(row["identified"] for row in found["estimands"])


def test_a_part_that_cannot_be_guessed_is_a_question_mark(tmp_path):
    frame = pd.DataFrame({"n": ["one", "two"], "m": ["x", "y"]})
    found = described(tmp_path, frame)
    assert found["suggestion"]["open"] == ["score", "unit", "change"]
    assert 'score = "?"' in found["suggestion"]["spec"]
    with pytest.raises(fc.FourcornerError):
        fc.read_scores(fc.parse_spec(found["suggestion"]["spec"]), frame)


def test_names_in_a_suggested_spec_are_quoted(tmp_path):
    frame = scored(tasks=20).rename(columns={"view": 'the "view"\\', "margin": "margin [nats]"})
    text = described(tmp_path, frame)["suggestion"]["spec"]
    spec = fc.parse_spec(text)
    assert 'the "view"\\' in spec.data.channel
    assert spec.data.score == "margin [nats]"


def test_a_unit_with_several_changes_gets_a_transition(tmp_path):
    table = scored(tasks=20)
    two = pd.concat([table.assign(step=f"{task}-{i}") for i, task in enumerate("ab")])
    two["step"] = two["step"] + two["task"]
    spec = fc.parse_spec(described(tmp_path, two)["suggestion"]["spec"])
    assert (spec.data.unit, spec.data.transition) == ("task", "step")


def test_a_spec_is_told_what_it_holds_and_which_strata_are_small():
    spec = fc.parse_spec(SPEC.format(more=""))
    frame = scored().drop(columns="wave")
    found = doctor.describe_scores(fc.read_scores(spec, frame), spec)
    assert found["holds"]["units"] == 12
    assert found["holds"]["strata"] == [
        {"stratum": "rare", "units": 3, "units_in_cohort": 3},
        {"stratum": "usual", "units": 9, "units_in_cohort": 9},
    ]
    assert [said.split(":")[0] for said in found["small_strata"]] == ["rare", "usual"]
    assert found["holds"]["waves"] is None
    assert found["next"] == "fourcorner audit"
    [model] = found["models"]
    assert (model["applies"], model["why"]) == (True, None)
    assert [said.split(":")[0] for said in found["not_available"]] == ["posterior of middle"]
    assert found["funnel"] == fc.funnel(fc.read_scores(spec, frame))
    json.dumps(found, allow_nan=False)


def test_estimands_count_what_they_would_rest_on_and_carry_their_refusal():
    spec = fc.parse_spec(SPEC.format(more=""))
    frame = scored().drop(columns="wave")
    corner = frame[~((frame["view"] == "generated") & (frame["state"] == "after"))]
    holes = corner[~((corner["task"] == "t05") & (corner["view"] == "direct"))]
    found = doctor.describe_scores(fc.read_scores(spec, holes), spec)
    by = {row["name"]: row for row in found["estimands"]}
    assert (by["direct"]["identified"], by["direct"]["units"]) == (True, 11)
    assert not by["omega"]["identified"]
    missing = [{"state": "after", "view": "generated"}]
    assert by["omega"]["refused"]["missing"] == missing
    assert by["omega"]["refused"]["would_identify"] == [missing]
    assert by["omega"]["refused"]["witness"]["moves_contrast"] == 1.0
    [model] = found["models"]
    assert not model["applies"]
    assert "never measured" in model["why"]
    assert found["next"] == "fourcorner estimate"


def test_weights_that_an_estimand_cannot_have_are_named():
    spec = fc.parse_spec(SPEC.format(more=""))
    frame = scored().drop(columns="wave")
    gap = frame[~((frame["target"] == "rare") & (frame["view"] == "generated"))]
    found = doctor.describe_scores(fc.read_scores(spec, gap), spec)
    assert [(row["name"], row["weights"]) for row in found["weights"]] == [("omega", "equal")]


def test_waves_and_sessions_say_whether_retry_noise_is_measured():
    frame = scored(waves=("w1", "w2", "w3"))
    frame["run"] = frame["wave"].map({"w1": "first", "w2": "second", "w3": "second"})
    plain = 'replicate = { wave = ["w1", "w2", "w3"] }\n'
    for more, sessions, measured in (
        (plain, {"w1": "", "w2": "", "w3": ""}, True),
        (plain + 'session = "run"', {"w1": "first", "w2": "second", "w3": "second"}, True),
    ):
        spec = fc.parse_spec(SPEC.format(more=more))
        found = doctor.describe_scores(fc.read_scores(spec, frame), spec)["holds"]["waves"]
        assert found["sessions"] == sessions
        assert found["retry_noise"].startswith("measured") == measured
    frame["run"] = frame["wave"]
    spec = fc.parse_spec(SPEC.format(more=plain + 'session = "run"'))
    found = doctor.describe_scores(fc.read_scores(spec, frame), spec)["holds"]["waves"]
    assert found["retry_noise"].startswith("not measured")


def test_both_are_told_on_the_terminal(capsys, tmp_path):
    spec = SPEC.format(more="").replace("[data]", '[data]\npath = "scores.csv"')
    (tmp_path / "spec.toml").write_text(spec)
    scored().drop(columns="wave").to_csv(tmp_path / "scores.csv", index=False)
    assert cli.run(["doctor", str(tmp_path / "spec.toml")]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for words in ("12 units", "small stratum: rare", "channel view: direct, generated", "Next:"):
        assert words in out
    assert cli.run(["doctor", str(tmp_path / "scores.csv")]) == 0
    out = capsys.readouterr().out
    assert 'score = "margin"' in out
    assert "A spec to start from" in out
