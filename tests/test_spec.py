"""A spec means what it says, and whatever is wrong with one is told in a single SpecError."""

import copy
import datetime
import json
import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fourcorner import names
from fourcorner.errors import SpecError
from fourcorner.estimands import as_estimands
from fourcorner.sections import Section, canonical, show
from fourcorner.spec import EstimandSpec, ModelSpec, PriorSpec, SamplerSpec, parse_spec
from fourcorner.spec.order import in_cycles, in_order

CUBE = """
kind = "scores"
title = "Matched-template retrieval cube"

[data]
path = "../data-samples/retrieval_cube.csv"
score = "margin"
unit = "trajectory"
transition = "step"
change = { column = "phase", before = "initial", after = "final" }
channel = { view = ["empty", "quote", "generated"], authority = ["neutral", "evidence_primary"] }
replicate = { layout = ["L0", "L1", "L2", "L3"] }
stratum = "target"
attributes = ["success"]
where = { arm = ["a", "b"], run = 1 }

[data.derive]
margin = "num(own) - num(rival)"

[estimands]
generated_vs_quote = { omega = { view = ["quote", "generated"] }, at = { authority = "neutral" } }
primary = { omega = { view = ["quote", "generated"] }, at = { authority = "evidence_primary" } }
omega_shift = { difference = ["generated_vs_quote", "primary"] }
quote_gain = { gain = { view = "quote" }, average_over = ["authority"] }
mixed_gain = { gain = {}, at = { view = ["empty", "quote"], authority = "neutral" } }
both = { omega = { view = ["empty", "quote"], authority = ["neutral", "evidence_primary"] } }
start = { endpoint_shift = { view = ["empty", "quote"] }, state = "before", average_over = ALL }
move = { diagonal = { view = ["empty", "generated"] }, at = { authority = "neutral" } }
share = { gain = { view = "quote", authority = "neutral" }, statistic = "negative_share" }
solved = { gain = { view = "quote", authority = "neutral" }, between = { success = [0, 1] } }
parts = { allocation = { view = ["quote", "generated"] }, average_over = ALL, weight_by = "unit" }
some = { gain = {}, average_over = ["view", "authority"], where = { target = "yes" } }

[weights]
empirical = "empirical"
equal_target = "equal"
policy = { yes = 0.25, no = 0.75 }
half = { mix = { empirical = 0.5, policy = 0.5 } }

[model]
family = "normal"
effects = "state * view * authority"
stratum_effects = "state * view"

[priors]
score_location = -2
effect_sd = 1.5

[sampler]
draws = 500
tune = 400
chains = 2
target_accept = 0.95
seed = 20261130
""".replace("ALL", '["authority"]')

SMALL = """
kind = "scores"
[data]
score = "y"
unit = "id"
change = { column = "phase", before = "b", after = "a" }
channel = { view = ["direct", "generated"] }
[estimands]
omega = { omega = { view = ["direct", "generated"] } }
"""


def faults(text):
    """The faults of a spec that must have some."""
    with pytest.raises(SpecError) as caught:
        parse_spec(text, source="trial.toml")
    assert str(caught.value).startswith("trial.toml has ")
    return caught.value.faults


def changed(old, new, text=SMALL):
    assert text.count(old) == 1, old
    return text.replace(old, new)


def with_data(line):
    return changed('unit = "id"', f'unit = "id"\n{line}')


def with_view(levels):
    return changed('view = ["direct", "generated"] }\n[est', f"view = {levels} }}\n[est")


def with_estimand(line):
    return SMALL + line


# --- what a spec means ----------------------------------------------------------------------------


def test_every_key_of_the_data_table_is_read():
    data = parse_spec(CUBE).data
    assert data.path == "../data-samples/retrieval_cube.csv"
    assert (data.score, data.unit, data.transition) == ("margin", "trajectory", "step")
    assert (data.change, data.before, data.after) == ("phase", "initial", "final")
    assert data.channel == {
        "view": ("empty", "quote", "generated"),
        "authority": ("neutral", "evidence_primary"),
    }
    assert data.replicate == {"layout": ("L0", "L1", "L2", "L3")}
    assert (data.stratum, data.attributes) == ("target", ("success",))
    assert data.where == {"arm": ("a", "b"), "run": ("1",)}
    assert data.derive == {"margin": "num(own) - num(rival)"}


def test_the_cell_factors_are_the_change_then_the_channels_in_their_order():
    assert list(parse_spec(CUBE).data.factors) == ["state", "view", "authority"]
    assert parse_spec(CUBE).data.factors["state"] == ("before", "after")


def test_every_kind_of_estimand_is_read_with_its_modifiers():
    found = parse_spec(CUBE).estimands
    neutral = {"authority": ("neutral",)}
    assert found["generated_vs_quote"] == EstimandSpec(
        "omega", {"view": ("quote", "generated")}, neutral
    )
    assert found["omega_shift"] == EstimandSpec(
        "difference", {}, {}, difference=("generated_vs_quote", "primary")
    )
    assert found["quote_gain"] == EstimandSpec("gain", {"view": ("quote",)}, {}, ("authority",))
    assert found["mixed_gain"] == EstimandSpec("gain", {}, {"view": ("empty", "quote"), **neutral})
    assert found["both"].levels == {
        "view": ("empty", "quote"),
        "authority": ("neutral", "evidence_primary"),
    }
    assert found["start"] == EstimandSpec(
        "endpoint_shift", {"view": ("empty", "quote")}, {}, ("authority",), state="before"
    )
    assert found["move"] == EstimandSpec("diagonal", {"view": ("empty", "generated")}, neutral)
    assert found["share"].statistic == "negative_share"
    assert {item.statistic for name, item in found.items() if name != "share"} == {"mean"}
    assert found["solved"].between == ("success", "0", "1")
    assert [name for name in found if name.startswith("parts")] == ["parts.state", "parts.view"]
    assert found["parts.view"] == EstimandSpec(
        "allocation",
        {"state": ("before", "after"), "view": ("quote", "generated")},
        {},
        ("authority",),
        factor="view",
        weight_by="unit",
    )
    assert found["some"].where == {"target": ("yes",)}


SUBSETS = """
kind = "scores"
[data]
score = "y"
unit = "id"
transition = "step"
stratum = "target"
attributes = ["artifact", "step_type"]
change = { column = "phase", before = "b", after = "a" }
channel = { view = ["direct", "generated"], rule = ["old", "new"] }
replicate = { wave = ["w1", "w2", "w3"], layout = [1, 2] }
[estimands]
"""
GAIN = 'gain = { view = "direct", rule = "old" }'


def subsets(lines):
    return parse_spec(SUBSETS + lines).estimands


@pytest.mark.parametrize(
    ("keys", "field", "expected"),
    [
        ("between = { artifact = [false, true] }", "between", ("artifact", "false", "true")),
        ("between = { step_type = ['plan', 'act'] }", "between", ("step_type", "plan", "act")),
        ("where = { step_type = 'plan' }", "where", {"step_type": ("plan",)}),
        (
            "where = { step_type = ['plan', 'act'], target = true }",
            "where",
            {"step_type": ("plan", "act"), "target": ("true",)},
        ),
        ("wave = ['w1']", "wave", ("w1",)),
        ("wave = 'w2'", "wave", ("w2",)),
        ("wave = ['w3', 'w1']", "wave", ("w1", "w3")),
        ("wave = ['w3', 'w1', 'w2']", "wave", ()),
        ("weight_by = 'unit'", "weight_by", "unit"),
        ("weight_by = 'transition'", "weight_by", "transition"),
        ("statistic = 'trimmed_mean'", "statistic", "trimmed_mean"),
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        GAIN,
        'omega = { view = ["direct", "generated"] }, at = { rule = "old" }',
        'diagonal = { view = ["direct", "generated"] }, average_over = ["rule"]',
        'endpoint_shift = { rule = ["old", "new"] }, state = "after", at = { view = "direct" }',
        'allocation = { view = ["direct", "generated"] }, at = { rule = "old" }',
    ],
)
def test_what_an_estimand_is_about_goes_with_every_contrast(kind, keys, field, expected):
    found = subsets(f"a = {{ {kind}, {keys} }}")
    assert len(found) == (2 if kind.startswith("allocation") else 1)
    others = {"between": None, "where": {}, "wave": (), "weight_by": "transition"}
    for estimand in found.values():
        assert getattr(estimand, field) == expected
        left = {key: getattr(estimand, key) for key in others if key != field}
        assert left == {key: others[key] for key in left}


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("between = { artefact = [1, 2] }", "'artefact' is not among [data] attributes (did you"),
        ("between = { kind = [1, 2] }", "it has ['artifact', 'step_type']"),
        ("between = { target = [1, 2] }", "'target' is the stratum; weights compare strata"),
        ("between = { view = [1, 2] }", "'view' is a channel factor; contrast it, or fix it"),
        ("between = { wave = [1, 2] }", "'wave' is a replicate factor; only waves can be chosen"),
        ("between = { artifact = [1, 2, 3] }", "artifact has ['1', '2', '3']; expected one"),
        ("between = { artifact = [1] }", "artifact has ['1']; expected one attribute with two"),
        ("between = { artifact = [1, 1] }", "a level is named twice"),
        ("between = { artifact = true }", "expected a list of levels"),
        ("between = { artifact = [1, 2], step_type = [1, 2] }", "expected one attribute with two"),
        ("between = {}", "between = {}: expected one attribute with two levels"),
        ("between = ['a', 'b']", "between = ['a', 'b']: expected a table"),
        (
            "between = { artifact = [1, 2] }, where = { artifact = 1 }",
            "between and where both name 'artifact'",
        ),
        ("where = { stp_type = 'x' }", "'stp_type' is not among [data] attributes (did you mean"),
        ("where = { stratum = 'x' }", "it has ['artifact', 'step_type', 'target']"),
        ("where = { rule = 'old' }", "'rule' is a channel factor"),
        ("where = { layout = 1 }", "'layout' is a replicate factor"),
        ("where = { step_type = [] }", "[estimands.a.where] step_type = []: expected 1 level(s)"),
        ("where = 'step_type'", "where = 'step_type': expected a table"),
        ("wave = ['w4']", "wave has no declared level 'w4'; it has ['w1', 'w2', 'w3']"),
        ("wave = []", "wave = []: expected 1 level(s) or more"),
        ("wave = ['w1', 'w1']", "a level is named twice"),
        ("wave = 1.5", "level 1.5 is not a text, integer or boolean"),
        ("weight_by = 'units'", "weight_by = 'units': expected 'transition' or 'unit' (did you"),
        ("weight_by = ['unit']", "weight_by = ['unit']: expected a text"),
        ("betwen = { artifact = [1, 2] }", "unknown key 'betwen' (did you mean 'between'?)"),
        ("waves = ['w1']", "unknown key 'waves' (did you mean 'wave'?)"),
        ("wheree = { artifact = 1 }", "unknown key 'wheree' (did you mean 'where'?)"),
        ("weighted_by = 'unit'", "unknown key 'weighted_by' (did you mean 'weight_by'?)"),
    ],
)
def test_an_estimand_about_nobody_that_is_declared_is_told(keys, words):
    found = faults(f"{SUBSETS}a = {{ {GAIN}, {keys} }}")
    assert any(words in fault for fault in found), found


def test_without_attributes_strata_or_waves_there_is_nothing_to_choose_by():
    lines = "a = { gain = { view = 'direct' }, KEY }"
    for key, words in {
        "between = { artifact = [1, 2] }": "not among [data] attributes; none is declared",
        "where = { artifact = 1 }": "not among [data] attributes; none is declared",
        "wave = ['w1']": "wave needs a replicate factor called 'wave'",
    }.items():
        assert words in " ".join(faults(with_estimand(lines.replace("KEY", key))))


def test_an_allocation_is_one_estimand_for_each_factor_that_moves():
    pair = ("direct", "generated")
    listed = subsets('a = { allocation = ["state", "rule"], at = { view = "direct" } }')
    assert list(listed) == ["a.state", "a.rule"]
    assert listed["a.rule"] == EstimandSpec(
        "allocation",
        {"state": ("before", "after"), "rule": ("old", "new")},
        {"view": ("direct",)},
        factor="rule",
    )
    table = subsets(
        'a = { allocation = { view = ["generated", "direct"] }, average_over = ["rule"] }'
    )
    assert list(table) == ["a.state", "a.view"]
    assert table["a.view"].levels == {"state": ("before", "after"), "view": pair[::-1]}
    held = subsets('a = { allocation = ["view", "rule"], state = "after" }')
    assert list(held) == ["a.view", "a.rule"]
    assert (held["a.view"].state, held["a.view"].levels["view"]) == ("after", pair)
    held = subsets(
        'a = { allocation = { view = ["direct", "generated"] }, state = "before", RULE }'.replace(
            "RULE", 'at = { rule = "new" }'
        )
    )
    assert list(held) == ["a.view"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a = { allocation = ['view', 'rule'] }", "name 'state' among the factors to move it, or"),
        ("a = { allocation = ['state', 'view', 'rule'], state = 'after' }", "choose one"),
        (
            "a = { allocation = ['state'], at = { view = 'direct', rule = 'old' } }",
            "needs a factor",
        ),
        ("a = { allocation = ['state', 'rul', 'view'] }", "'rul' is not a channel factor (did you"),
        (
            "a = { allocation = ['state', 'wave', 'rule', 'view'] }",
            "'wave' is not a channel factor",
        ),
        ("a = { allocation = ['state', 'view'] }", "says nothing about the factor 'rule'"),
        ("a = { allocation = ['state', 'view', 'view', 'rule'] }", "names something twice"),
        (
            "a = { allocation = ['state', 'view'], at = { view = 'direct', rule = 'old' } }",
            "'view' has two parts",
        ),
        ("a = { allocation = 'view' }", "allocation = 'view': expected a list of names"),
        ("a = { allocation = {}, average_over = ['view', 'rule'] }", "needs a factor with two"),
        (
            "a = { allocation = { view = ['direct', 'x'] }, at = { rule = 'old' } }",
            "view has no declared level 'x'",
        ),
        (
            "a = { allocation = { view = ['direct'] }, at = { rule = 'old' } }",
            "allocation: view needs two levels, second minus first; got ['direct']",
        ),
        (
            "a = { allocation = { state = ['before', 'after'], view = ['direct', 'generated'] } }",
            "pairs stand beside the change, which moves; leave state out",
        ),
        (
            "a = { allocation = ['view', 'rule'], state = 'befor' }",
            "state = 'befor': expected 'before' or 'after'",
        ),
        (
            f"a = {{ allocation = ['state', 'view', 'rule'] }}\n'a.rule' = {{ {GAIN} }}",
            "two estimands are called 'a.rule', one as the share of an allocation",
        ),
        (
            f"a = {{ allocation = ['state', 'view', 'rule'] }}\nb = {{ {GAIN} }}\n"
            "c = { difference = ['b', 'a'] }",
            "c: 'a' is an allocation; name one of its shares ['a.state', 'a.view', 'a.rule']",
        ),
        (
            f"a = {{ allocation = ['state', 'view', 'rule'] }}\nb = {{ {GAIN} }}\n"
            "c = { difference = ['b', 'a.vew'] }",
            "c: no estimand 'a.vew' (did you mean 'a.view'?)",
        ),
        (f"'' = {{ {GAIN} }}", "an estimand has an empty name"),
    ],
)
def test_a_wrong_allocation_is_told(line, words):
    assert any(words in fault for fault in faults(SUBSETS + line)), faults(SUBSETS + line)


def test_an_allocation_of_a_factor_with_three_levels_asks_for_a_pair():
    text = with_view("['direct', 'generated', 'quote']") + "a = { allocation = ['state', 'view'] }"
    (fault,) = faults(text)
    assert (
        "view needs two levels, second minus first; got ['direct', 'generated', 'quote']" in fault
    )
    assert "write allocation = { view = [first, second] }" in fault


def test_a_difference_is_about_what_its_two_parts_are_about():
    about = (
        'between = { artifact = [false, true] }, where = { step_type = ["x", "y"] }, '
        'wave = ["w2"], weight_by = "unit"'
    )
    found = subsets(
        "late = { difference = ['early', 'share.view'] }\n"
        "early = { difference = ['one', 'two'] }\n"
        f"one = {{ {GAIN}, {about} }}\n"
        f"two = {{ {GAIN}, {about.replace('["x", "y"]', '["y", "x"]')} }}\n"
        f"share = {{ allocation = ['state', 'view', 'rule'], {about} }}"
    )
    for name in ("early", "late"):
        assert found[name].between == ("artifact", "false", "true")
        assert found[name].where == {"step_type": ("x", "y")}
        assert (found[name].wave, found[name].weight_by) == (("w2",), "unit")


@pytest.mark.parametrize(
    ("key", "other", "words"),
    [
        ("where = { step_type = 'x' }", "", "differ in where; a difference is taken over one set"),
        ("where = { step_type = 'x' }", "where = { step_type = ['x', 'y'] }", "differ in where"),
        ("where = { step_type = 'x' }", "where = { target = 'x' }", "differ in where"),
        ("wave = ['w1']", "wave = ['w2']", "differ in wave; a difference is taken over one set"),
        ("wave = ['w1']", "", "differ in wave"),
        ("weight_by = 'unit'", "", "differ in weight_by; a difference counts transitions in one"),
        ("between = { artifact = [1, 2] }", "", "differ in between; a group contrast less another"),
        (
            "between = { artifact = [1, 2] }",
            "between = { artifact = [2, 1] }",
            "only when both compare the same groups, so give both the same",
        ),
    ],
)
def test_a_difference_of_estimands_about_different_things_is_told(key, other, words):
    lines = [
        f"one = {{ {GAIN}, {key} }}",
        f"two = {{ {GAIN}{', ' if other else ''}{other} }}",
        "apart = { difference = ['one', 'two'] }",
    ]
    (fault,) = faults(SUBSETS + "\n".join(lines))
    assert "apart: 'one' and 'two' " in fault
    assert words in fault


@pytest.mark.parametrize(
    "key",
    [
        "where = { step_type = 'x' }",
        "between = { artifact = [1, 2] }",
        "wave = ['w1']",
        "weight_by = 'unit'",
    ],
)
def test_a_difference_says_nothing_of_its_own_about_whom_it_is(key):
    lines = f"a = {{ {GAIN} }}\nb = {{ {GAIN} }}\nc = {{ difference = ['a', 'b'], {key} }}"
    found = " ".join(faults(SUBSETS + lines))
    assert "does not go with difference" in found
    assert "a difference has that of its two estimands" in found


def test_waves_that_are_all_waves_agree_with_no_waves():
    lines = f"a = {{ {GAIN} }}\nb = {{ {GAIN}, wave = ['w1', 'w2', 'w3'] }}\n"
    assert subsets(lines + "c = { difference = ['a', 'b'] }")["c"].wave == ()


LONG = 3_000


def chain(last):
    first = "d0 = { difference = ['omega', 'plain'] }\nplain = { gain = { view = 'direct' } }\n"
    links = [f"d{i} = {{ difference = ['omega', 'd{i - 1}'] }}" for i in range(1, LONG)]
    return SMALL + first + "\n".join(reversed(links)).replace("'d0'", last)


def test_a_long_chain_of_differences_needs_no_recursion():
    spec = parse_spec(chain("'d0'"))
    found = as_estimands(spec)[f"d{LONG - 1}"]
    # each link takes one more Ω from the gain of the direct view
    expected = as_estimands(spec)["plain"].contrast - LONG * as_estimands(spec)["omega"].contrast
    assert found.contrast == expected
    assert "d2998" not in repr(found.contrast)


def test_a_long_circle_of_differences_is_told_by_all_who_are_in_it():
    found = faults(chain(f"'d{LONG - 1}'"))
    assert len(found) == LONG - 1
    assert all(fault.endswith("is a difference of itself") for fault in found)


def test_a_difference_of_one_that_circles_is_not_in_the_circle():
    lines = (
        "a = { difference = ['omega', 'b'] }\nb = { difference = ['omega', 'a'] }\n"
        "c = { difference = ['omega', 'a'] }"
    )
    assert faults(with_estimand(lines)) == (
        "[estimands] a is a difference of itself",
        "[estimands] b is a difference of itself",
    )


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=3)))
def test_names_come_after_their_needs_and_circles_are_found(needs):
    order = in_order(needs)
    for place, name in enumerate(order):
        assert all(need in order[:place] for need in needs[name] if need in needs)
    reach = {name: {need for need in needed if need in needs} for name, needed in needs.items()}
    for _ in needs:
        reach = {
            name: found.union(*(reach[other] for other in found)) for name, found in reach.items()
        }
    assert set(in_cycles(needs)) == {name for name in needs if name in reach[name]}
    circling = set(in_cycles(needs))
    assert set(order) == {name for name in needs if not ({name} | reach[name]) & circling}


def test_weights_model_priors_and_sampler_are_read():
    spec = parse_spec(CUBE)
    assert spec.title == "Matched-template retrieval cube"
    assert spec.weights == {
        "empirical": "empirical",
        "equal_target": "equal",
        "policy": {"yes": 0.25, "no": 0.75},
        "half": {"mix": {"empirical": 0.5, "policy": 0.5}},
    }
    assert spec.model == ModelSpec("normal", "state * view * authority", "state * view")
    assert spec.priors == PriorSpec(score_location=-2, effect_sd=1.5)
    assert spec.sampler == SamplerSpec(500, 400, 2, 0.95, 20261130)


def test_what_is_left_out_has_its_default():
    spec = parse_spec(SMALL)
    assert spec.title == "Untitled analysis"
    assert spec.weights == {"empirical": "empirical"}
    assert (spec.model, spec.priors, spec.sampler) == (ModelSpec(), PriorSpec(), SamplerSpec())
    assert (spec.data.path, spec.data.stratum, spec.data.transition) == (None, None, None)
    assert (spec.data.replicate, spec.data.where, spec.data.derive) == ({}, {}, {})
    assert spec.table_path is None


def test_a_table_path_starts_from_the_specs_own_folder(tmp_path):
    folder = tmp_path / "models"
    assert parse_spec(CUBE, directory=folder).table_path == (
        tmp_path.resolve() / "data-samples" / "retrieval_cube.csv"
    )


def test_the_text_is_kept_as_it_was_written():
    assert parse_spec(CUBE).text == CUBE


def test_levels_are_text_integers_or_booleans_compared_as_text():
    text = with_view('[1, "2.0", true, "FALSE"]')
    text = changed('["direct", "generated"]', '["1.0", true]', text)
    spec = parse_spec(text)
    assert spec.data.channel == {"view": ("1", "2", "true", "false")}
    assert spec.estimands["omega"].levels == {"view": ("1", "true")}


def test_the_levels_of_the_change_are_canonical_too():
    spec = parse_spec(changed('before = "b", after = "a"', "before = 0, after = 1"))
    assert (spec.data.before, spec.data.after) == ("0", "1")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        ("1.0", "1"),
        ("1.00", "1"),
        ("-3.0", "-3"),
        ("1.50", "1.50"),
        ("007", "007"),
        ("1.0.0", "1.0.0"),
        ("v1.0", "v1.0"),
        ("1e3", "1e3"),
        ("١.0", "١.0"),
        (True, "true"),
        ("TRUE", "true"),
        ("False", "false"),
        (" true", " true"),
        ("", ""),
    ],
)
def test_canonical_text_joins_only_whole_numbers_and_booleans(value, text):
    assert canonical(value) == text
    assert canonical(canonical(value)) == text


def test_a_seed_may_have_63_bits():
    assert parse_spec(SMALL + f"[sampler]\nseed = {2**63 - 1}").sampler.seed == 2**63 - 1


def test_the_bundled_spec_parses():
    folder = Path(__file__).parents[1] / "models"
    specs = sorted(folder.glob("*.toml"))
    assert specs
    for path in specs:
        spec = parse_spec(path.read_text(encoding="utf-8"), directory=folder)
        assert spec.table_path is not None
        assert spec.table_path.is_file()


# --- what is refused, and in which words ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed('kind = "scores"', ""), "needs the key 'kind'"),
        (changed('kind = "scores"', 'kind = "labels"'), "kind = 'labels': this version reads"),
        (changed('kind = "scores"', "kind = 3"), "kind = 3: expected a text"),
        (changed('score = "y"', ""), "[data] needs the key 'score'"),
        (changed('score = "y"', 'score = "  "'), "score = '  ': expected a text that is not"),
        (changed('score = "y"', 'score = ["y"]'), "[data] score = ['y']: expected a text"),
        (changed('unit = "id"', ""), "[data] needs the key 'unit'"),
        (changed('unit = "id"', 'unit = "y"'), "column 'y' is both score and unit"),
        (with_data('stratum = "view"'), "column 'view' is both stratum and channel"),
        (with_data("path = 1"), "[data] path = 1: expected a text"),
        (with_data("attributes = 'kind'"), "attributes = 'kind': expected a list of names"),
        (with_data("attributes = ['a', 1]"), "attributes = ['a', 1]: expected a list of names"),
        (with_data("attributes = ['']"), "attributes = ['']: expected a list of names"),
        (with_data("attributes = ['a', 'a']"), "names something twice"),
        (with_data("attributes = ['chain']"), "'chain', a word of the package"),
        (with_data("attributes = ['a/b']"), "'a/b', which a netCDF file cannot hold"),
        (with_data("attributes = ['a b']"), "netCDF loses an attribute with a space"),
        (with_data("replicate = { draw = ['1'] }"), "replicate may not be called 'draw'"),
        (with_data("replicate = { wave = [] }"), "wave = []: expected 1 level(s) or more"),
        (with_data("replicate = { wave = 'w1' }"), "expected a list of levels, the reference"),
        (with_data("replicate = ['w1']"), "replicate = ['w1']: expected a table"),
        (with_data("where = { arm = [] }"), "[data.where] arm = []: expected 1 level(s) or more"),
        (with_data("where = { arm = 1.5 }"), "level 1.5 is not a text, integer or boolean"),
        (with_data("where = { '' = 1 }"), "a key is empty; expected the name of a column"),
        (with_data("derive = { m = 1 }"), "[data.derive] m = 1: expected a text"),
        (with_data("derive = 'a - b'"), "derive = 'a - b': expected a table"),
        (changed('column = "phase", ', ""), "[data.change] needs the key 'column'"),
        (changed(', after = "a"', ""), "[data.change] needs after = one level"),
        (changed('after = "a"', 'after = ["a", "b"]'), "[data.change] needs after = one level"),
        (changed('after = "a"', 'after = "b"'), "before and after are the same level 'b'"),
        (changed('before = "b", after = "a"', "before = 1, after = '1.0'"), "same level '1'"),
        (with_view("['direct', 'direct']"), "a level is named twice"),
        (with_view("['direct']"), "view = ['direct']: expected 2 level(s) or more"),
        (with_view("'x'"), "view = 'x': expected a list of levels, the reference first"),
        (with_view("['direct', [1]]"), "level [1] is not a text, integer or boolean"),
        (with_view("['direct', 2024-01-01]"), "date(2024, 1, 1) is not a text"),
        (with_view("['direct', '']"), "level '' is not a text"),
    ],
)  # fmt: skip
def test_a_wrong_data_table_is_told(text, words):
    assert any(words in fault for fault in faults(text)), faults(text)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a = 1", "[estimands] a = 1: expected a table"),
        (
            "a = {}",
            "needs exactly one of gain, omega, endpoint_shift, diagonal, allocation, ",
        ),
        ("a = { gain = {view = 'direct'}, omega = {} }", "got gain and omega"),
        ("a = { gain = 'direct' }", "[estimands.a] gain = 'direct': expected a table"),
        (
            "a = { gain = {} }",
            "says nothing about the factor 'view': fix it with at = { view = … }",
        ),
        ("a = { gain = { view = ['direct', 'generated'] } }", "gain: view needs one level"),
        ("a = { gain = { view = 'quote' } }", "view has no declared level 'quote'"),
        ("a = { gain = { view = 'generate' } }", "'generate' (did you mean 'generated'?)"),
        ("a = { gain = { veiw = 'direct' } }", "is not a channel factor (did you mean 'view'?)"),
        ("a = { gain = { view = 'direct' }, at = { view = 'direct' } }", "'view' has two parts"),
        ("a = { gain = {}, average_over = 'view' }", "average_over = 'view': expected a list"),
        ("a = { gain = { view = 'direct' }, state = 'after' }", "state does not go with gain"),
        ("a = { omega = {}, average_over = ['view'] }", "omega needs a factor with two levels"),
        ("a = { omega = { view = 'direct' } }", "omega: view needs two levels, second minus"),
        ("a = { omega = { view = ['direct', 'x'] } }", "view has no declared level 'x'"),
        ("a = { omega = { view = ['direct', 'direct'] } }", "a level is named twice"),
        (
            "a = { gain = {}, at = { view = [] } }",
            "[estimands.a.at] view = []: expected 1 level(s)",
        ),
        ("a = { endpoint_shift = { view = ['direct', 'generated'] } }", "needs the key 'state'"),
        (
            "a = { endpoint_shift = { view = ['direct', 'generated'] }, state = 'b' }",
            "state = 'b': expected 'before' or 'after', whatever the levels are",
        ),
        ("a = { diagonal = { view = ['direct'] } }", "diagonal: view needs two levels"),
        ("a = { difference = 'omega' }", "difference takes the names of two estimands"),
        ("a = { difference = ['omega'] }", "difference takes the names of two estimands"),
        ("a = { difference = ['omega', 'omga'] }", "a: no estimand 'omga' (did you mean 'omega'?)"),
        ("a = { difference = ['omega', 'a'] }", "a is a difference of itself"),
        (
            "a = { difference = ['omega', 'b'] }\nb = { difference = ['a', 'omega'] }",
            "b is a difference of itself",
        ),
        ("a = { difference = ['omega', 'omega'] }", "names something twice"),
        (
            "a = { difference = ['omega', 'm'] }\n"
            "m = { gain = { view = 'direct' }, statistic = 'median' }",
            "'m' is a median; differences take means",
        ),
        (
            "b = { gain = { view = 'direct' } }\n"
            "a = { difference = ['omega', 'b'], at = { view = 1 } }",
            "at does not go with difference, only with gain, omega, endpoint_shift, diagonal",
        ),
        (
            "a = { gain = { view = 'direct' }, statistic = 'man' }",
            "one of mean, median, trimmed_mean, negative_share (did you mean 'mean'?)",
        ),
        ("a = { gain = { view = 'direct' }, statistic = 3 }", "statistic = 3: expected a text"),
    ],
)
def test_a_wrong_estimand_is_told(line, words):
    assert any(words in fault for fault in faults(with_estimand(line))), faults(with_estimand(line))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("w = { yes = nan, no = 0.5 }", "w: weight of 'yes' is nan; expected a number that is not"),
        ("w = { yes = inf, no = 0.5 }", "weight of 'yes' is inf"),
        ("w = { yes = -0.5, no = 1.5 }", "weight of 'yes' is -0.5"),
        ("w = { yes = '0.5', no = 0.5 }", "weight of 'yes' is '0.5'"),
        ("w = { yes = true }", "weight of 'yes' is True"),
        (f"w = {{ yes = 1{'0' * 400} }}", "weight of 'yes' is 1000"),
        ("w = { yes = 0.5, no = 0.4 }", "weights sum to 0.9; expected 1"),
        ("w = { yes = 1e308, no = 1e308 }", "weight of 'yes' is 1e+308"),
        ("w = {}", "weights sum to 0; expected 1"),
        ("w = { 1 = 0.5, '1.0' = 0.5 }", "the stratum '1' has two weights"),
        ("w = [0.5, 0.5]", "w = [0.5, 0.5]: expected 'empirical', 'equal', { stratum = weight"),
        ("w = 'Equal'", "w = 'Equal': expected 'empirical', 'equal', { stratum = weight"),
        ("w = { mix = 0.5 }", "weights sum to 0.5; expected 1"),  # a stratum that is called mix
        ("w = { mix = 'equal' }", "w: mix = 'equal': expected a table { name = share"),
        ("w = { mix = ['equal'] }", "w: mix = ['equal']: expected a table"),
        ("w = { mix = true }", "w: mix = True: expected a table"),
        ("w = { mix = {} }", "w: shares sum to 0; expected 1"),
        ("w = { mix = { equal = 0.5 } }", "w: shares sum to 0.5; expected 1"),
        ("w = { mix = { equal = 1.5, empirical = -0.5 } }", "share of 'empirical' is -0.5"),
        ("w = { mix = { equal = nan } }", "share of 'equal' is nan"),
        ("w = { mix = { equal = '1' } }", "share of 'equal' is '1'"),
        ("w = { mix = { equal = 1 }, yes = 0 }", "a mix stands alone, but ['yes'] stand beside it"),
        ("w = { mix = { equl = 1 } }", "w: no mixture 'equl' (did you mean 'equal'?); there are"),
        ("w = { mix = { w = 1 } }", "w is a mix of itself"),
        ("w = { mix = { v = 1 } }\nv = { mix = { w = 1 } }", "v is a mix of itself"),
        ("equal = 'empirical'", "the name 'equal' is kept for that mixture itself"),
    ],
)
def test_wrong_weights_are_told(line, words):
    text = with_data('stratum = "target"') + f"[weights]\n{line}"
    assert any(words in fault for fault in faults(text)), faults(text)


def test_a_stratum_may_be_called_mix():
    text = with_data('stratum = "target"') + "[weights]\nw = { mix = 0.25, pure = 0.75 }"
    assert parse_spec(text).weights["w"] == {"mix": 0.25, "pure": 0.75}


def test_a_mix_may_name_later_mixtures_the_standing_ones_and_other_mixes():
    lines = "a = { mix = { b = 0.5, equal = 0.5 } }\nb = { mix = { c = 1 } }\nc = { x = 1.0 }"
    text = with_data('stratum = "target"') + f"[weights]\n{lines}"
    assert parse_spec(text).weights == {
        "a": {"mix": {"b": 0.5, "equal": 0.5}},
        "b": {"mix": {"c": 1.0}},
        "c": {"x": 1.0},
    }


def test_weights_that_sum_to_one_within_a_billionth_pass():
    text = with_data('stratum = "target"') + "[weights]\nw = { a = 0.3333333333, b = 0.6666666667 }"
    assert parse_spec(text).weights["w"] == {"a": 0.3333333333, "b": 0.6666666667}
    assert "sum to" in faults(text.replace("67 }", "6 }").replace("33,", ","))[0]


def test_only_empirical_weights_go_without_strata():
    assert "need [data] stratum" in faults(SMALL + "[weights]\nw = 'equal'")[0]
    assert parse_spec(SMALL + "[weights]\nmine = 'empirical'").weights == {"mine": "empirical"}


@pytest.mark.parametrize(
    ("section", "words"),
    [
        ("[model]\nfamily = 'studnet'", "family = 'studnet' (did you mean 'student'?)"),
        ("[model]\neffects = ['state']", "[model] effects = ['state']: expected a text"),
        ("[priors]\neffect_sd = 0", "[priors] effect_sd = 0: expected a number above 0"),
        ("[priors]\neffect_sd = nan", "effect_sd = nan: expected a number above 0"),
        ("[priors]\neffect_sd = inf", "effect_sd = inf: expected a number above 0"),
        ("[priors]\neffect_sd = '2'", "effect_sd = '2': expected a number above 0"),
        ("[priors]\neffect_sd = true", "effect_sd = True: expected a number above 0"),
        ("[priors]\nscore_location = nan", "score_location = nan: expected a finite number"),
        ("[priors]\nscore_location = -inf", "score_location = -inf: expected a finite number"),
        (f"[priors]\nunit_sd = 1{'0' * 400}", "unit_sd = 1000"),
        ("[sampler]\ndraws = 10", "draws = 10: expected a whole number, 100 or more"),
        ("[sampler]\ndraws = 1e3", "draws = 1000.0: expected a whole number"),
        ("[sampler]\ntune = '1000'", "tune = '1000': expected a whole number"),
        ("[sampler]\nchains = 1", "chains = 1: expected a whole number, 2 or more"),
        ("[sampler]\nchains = true", "chains = True: expected a whole number"),
        (
            "[sampler]\ntarget_accept = 1",
            "target_accept = 1: expected a number from 0.5 to below 1",
        ),
        ("[sampler]\nseed = -1", "seed = -1: expected a whole number, 0 or more"),
        (f"[sampler]\nseed = {2**63}", "expected a whole number, 0 or more"),
        ("[[sampler]]\nseed = 1", "sampler = [{'seed': 1}]: expected a table"),
    ],
)
def test_a_wrong_model_prior_or_sampler_is_told(section, words):
    assert any(words in fault for fault in faults(SMALL + section)), faults(SMALL + section)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("titel = 'x'" + SMALL, "unknown key 'titel' (did you mean 'title'?)"),
        (SMALL + "[estimates]\n", "unknown key 'estimates' (did you mean 'estimands'?)"),
        (with_data("scores = 'y'"), "[data] unknown key 'scores' (did you mean 'score'?)"),
        (with_data("chanel = { a = [1, 2] }"), "unknown key 'chanel' (did you mean 'channel'?)"),
        (changed("after =", "aftr ="), "[data.change] unknown key 'aftr' (did you mean 'after'?)"),
        (with_estimand("a = { gian = { view = 'direct' } }"), "'gian' (did you mean 'gain'?)"),
        (with_estimand("a = { gain = {}, avarage_over = ['view'] }"), "mean 'average_over'?)"),
        (with_estimand("a = { gain = { view = 'direct' }, statistics = 'mean' }"), "'statistic'?)"),
        (
            SMALL + "[model]\nefects = 'state'",
            "[model] unknown key 'efects' (did you mean 'effects'?)",
        ),
        (
            SMALL + "[priors]\neffects_sd = 1",
            "unknown key 'effects_sd' (did you mean 'effect_sd'?)",
        ),
        (SMALL + "[sampler]\ndraw = 500", "[sampler] unknown key 'draw' (did you mean 'draws'?)"),
        (SMALL + "[sampler]\nxyzzy = 500", "[sampler] unknown key 'xyzzy'"),
    ],
)
def test_an_unknown_key_names_the_nearest_right_one(text, words):
    assert any(words in fault for fault in faults(text)), faults(text)


def test_all_faults_of_a_spec_come_in_one_error():
    found = faults("""
    kind = "labels"
    colour = "red"
    [data]
    unit = 3
    change = { column = "phase", before = "x", after = "x" }
    channel = { view = ["direct"] }
    [estimands]
    a = { gain = { view = "direct" } }
    b = { difference = ["a", "c"], statistic = "mode" }
    [weights]
    w = { yes = 2 }
    [model]
    family = "probit"
    [priors]
    tau_sd = -1
    [sampler]
    chains = 0
    """)
    expected = [
        "kind = 'labels'", "[data] needs the key 'score'", "unit = 3", "the same level 'x'",
        "expected 2 level(s)", "statistic = 'mode'", "no estimand 'c'", "weights sum to 2",
        "need [data] stratum", "family = 'probit'", "tau_sd = -1", "chains = 0",
        "unknown key 'colour'",
    ]  # fmt: skip
    assert len(found) == len(expected), found
    for words in expected:
        assert sum(words in fault for fault in found) == 1, words


def test_a_table_that_is_missing_is_one_fault_and_not_one_per_key():
    text = 'kind = "scores"\n[estimands]\na = { gain = { view = "direct" } }'
    assert faults(text) == ("needs the key 'data'",)
    assert faults(changed("[data]", "[dta]")) == (
        "needs the key 'data'; there is 'dta': rename it if that is what it is",
        "unknown key 'dta' (did you mean 'data'?)",
    )


def test_a_list_where_a_table_is_expected_is_one_fault():
    assert faults('kind = "scores"\ndata = []\n[estimands]\na = { gain = {} }') == (
        "data = []: expected a table",
    )
    assert faults(changed('{ column = "phase", before = "b", after = "a" }', '["b", "a"]')) == (
        "[data] change = ['b', 'a']: expected a table",
    )


def test_a_spec_without_estimands_is_told_how_to_write_one():
    text = SMALL.split("[estimands]")[0]
    assert faults(text) == ("needs the key 'estimands'",)
    assert "names no estimand; write one" in faults(text + "[estimands]")[0]


@pytest.mark.parametrize(
    "text",
    [
        "kind = ",
        "kind = 'scores'\nkind = 'scores'",
        "[data]\n[data]",
        "data.change = 1\ndata.change.column = 'x'",
        "\x00",
        "kind = 'scores' \\ud800",
        "a = " + "[" * 100_000,
        "a = " + "{ b = " * 100_000,
        "a = " + "9" * 5_000,
        "<xml/>",
        json.dumps({"kind": "scores"}),
    ],
)
def test_what_is_not_toml_is_a_spec_error(text):
    with pytest.raises(SpecError, match="not TOML"):
        parse_spec(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "a = " + "[" * 200 + "]" * 200,
        "[data]\n" + ".".join(["a"] * 2_000) + " = 1",
        ".".join(["data"] * 2_000) + " = 1",
        "kind = 0x" + "f" * 20_000,
        SMALL + "[sampler]\nseed = 0x" + "f" * 20_000,
        with_data("where = { a = 0x" + "f" * 20_000 + " }"),
        with_data("attributes = [0x" + "f" * 20_000 + "]"),
    ],
)
def test_an_empty_huge_or_deep_document_is_a_spec_error(text):
    found = faults(text)
    assert all(len(fault) < 400 for fault in found)


def test_a_long_value_is_quoted_by_its_beginning():
    assert len(show("x" * 10_000)) < 120
    assert show("short") == "'short'"


def test_a_section_reports_what_nobody_asked_for_and_only_once():
    found = []
    section = Section({"name": "x", "nmae": "y"}, "part", found)
    assert section.text("name") == "x"
    section.finish()
    assert found == ["[part] unknown key 'nmae' (did you mean 'name'?)"]


# --- nothing but a Spec or a SpecError ------------------------------------------------------------

WORDS = [
    *("kind", "scores", "title", "data", "estimands", "weights", "model", "priors", "sampler"),
    *("path", "score", "unit", "transition", "change", "channel", "replicate", "stratum"),
    *("attributes", "where", "derive", "column", "before", "after", "view", "direct", "generated"),
    *("gain", "omega", "endpoint_shift", "diagonal", "difference", "at", "average_over", "state"),
    *("statistic", "median", "equal", "empirical", "family", "normal", "effects", "draws", "seed"),
    *("a", "b", "1", "1.0", "true", "", "a/b"),
    *("allocation", "between", "wave", "weight_by", "mix", "success", "target", "layout"),
]
SCALARS = st.one_of(
    st.sampled_from(WORDS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(10**18, 10**30),
    st.floats(),
    st.dates(),
    st.times().map(lambda time: time.replace(fold=0)),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    ),
    max_leaves=8,
)
DOCUMENT = tomllib.loads(CUBE)


def rendered(value):
    """A value as TOML: tables inline."""
    if isinstance(value, dict):
        pairs = (f"{rendered(str(key))} = {rendered(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(rendered(item) for item in value) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else repr(value)


def document(table):
    return "\n".join(f"{rendered(key)} = {rendered(value)}" for key, value in table.items())


def places(value, path=()):
    """The path of every value inside a table."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from places(item, (*path, key))


PLACES = sorted(places(DOCUMENT), key=repr)


@st.composite
def mutations(draw):
    """The cube's spec with a few values replaced, removed or added."""
    table = copy.deepcopy(DOCUMENT)
    for path in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=3)):
        owner = table
        for key in path[:-1]:
            owner = held(owner, key)
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if isinstance(owner, dict) and change == "remove":
            owner.pop(path[-1], None)
        elif isinstance(owner, dict):
            key = path[-1] if change == "replace" else draw(st.sampled_from(WORDS))
            owner[key] = draw(VALUES)
        elif owner and path[-1] in range(len(owner)):
            owner[path[-1]] = draw(VALUES)
    return table


def held(owner, key):
    """What a table or list holds, or a table that is nowhere if an earlier change took it out."""
    try:
        found = owner[key]
    except (KeyError, IndexError, TypeError):
        return {}
    return found if isinstance(found, dict | list) else {}


def parsed_or_refused(text):
    """A spec, of which every estimand can be built, or None after a SpecError."""
    try:
        spec = parse_spec(text)
    except SpecError:
        return None
    for estimand in as_estimands(spec).values():
        assert estimand.contrast.array(spec.data.factors).dims == tuple(spec.data.factors)
    return spec


def test_the_rendering_of_the_random_documents_is_faithful():
    assert tomllib.loads(document(DOCUMENT)) == DOCUMENT
    assert parsed_or_refused(document(DOCUMENT)) is not None


@given(mutations())
def test_a_spec_with_random_changes_is_a_spec_or_a_spec_error(table):
    text = document(table)
    assert repr(tomllib.loads(text)) == repr(table)
    parsed_or_refused(text)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=6))
def test_a_random_document_is_a_spec_error(table):
    assert parsed_or_refused(document(table)) is None


@given(st.text())
def test_a_random_text_is_a_spec_error(text):
    assert parsed_or_refused(text) is None


@given(st.sampled_from(sorted(names.RESERVED)), st.sampled_from(["channel", "replicate"]))
def test_no_factor_takes_a_word_of_the_package(word, part):
    text = SMALL.replace("[estimands]", "[estimands2]").replace("channel =", "c =")
    found = faults(changed('unit = "id"', f'unit = "id"\n{part} = {{ {word} = [1, 2] }}', text))
    assert f"[data] {part} may not be called {word!r}" in " ".join(found)


@pytest.mark.parametrize("formula", ["state * vie", "state * * view", "STATE*view", "1"])
def test_a_formula_of_words_that_are_no_factors_is_a_fault(formula):
    with pytest.raises(SpecError) as caught:
        parse_spec(f'{SMALL}\n[model]\nstratum_effects = "{formula}"\n')
    (fault,) = caught.value.faults
    assert fault.startswith(f"[model] stratum_effects = {formula!r}: ")
    assert "the factors are state, view" in fault
