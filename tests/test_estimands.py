"""Estimands: a spec builds the same contrasts as the Python functions, whatever its order."""

import itertools

import pytest

from fourcorner import names
from fourcorner.contrasts import diagonal, endpoint_shift, gain, omega, shapley
from fourcorner.errors import ContrastError, SpecError
from fourcorner.estimands import Estimand, as_estimands, modifiers
from fourcorner.report.meaning import meaning
from fourcorner.spec import parse_spec

HEADER = """
kind = "scores"
[data]
score = "margin"
unit = "task"
change = { column = "phase", before = 0, after = 1 }
channel = { view = ["empty", "quote", "generated"], strict = [false, true], depth = [1, 2] }
[estimands]
"""
VIEWS = ("quote", "generated")


def built(lines):
    return as_estimands(parse_spec(HEADER + lines))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (
            '{ gain = { view = "quote", strict = false, depth = 1 } }',
            gain(view="quote", strict=False, depth=1),
        ),
        (
            '{ gain = { view = "quote" }, at = { strict = true, depth = 2 } }',
            gain(view="quote", strict=True, depth=2),
        ),
        (
            '{ gain = { view = "quote" }, at = { strict = [false, true], depth = 2 } }',
            0.5 * gain(view="quote", strict=False, depth=2)
            + 0.5 * gain(view="quote", strict=True, depth=2),
        ),
        (
            '{ gain = { view = "quote" }, at = { depth = 2 }, average_over = ["strict"] }',
            gain(view="quote", depth=2, at={"strict": [False, True]}),
        ),
        (
            '{ gain = {}, average_over = ["view", "strict", "depth"] }',
            gain(
                at={
                    "view": ["empty", "quote", "generated"],
                    "strict": [False, True],
                    "depth": [1, 2],
                }
            ),
        ),
        (
            '{ omega = { view = ["quote", "generated"] }, at = { strict = false, depth = 1 } }',
            omega(view=VIEWS, at={"strict": False, "depth": 1}),
        ),
        (
            '{ omega = { view = ["generated", "quote"] }, at = { strict = false, depth = 1 } }',
            -omega(view=VIEWS, at={"strict": False, "depth": 1}),
        ),
        (
            '{ omega = { view = ["quote", "generated"], strict = [false, true] }, '
            "at = { depth = 1 } }",
            omega(view=VIEWS, at={"strict": True, "depth": 1})
            - omega(view=VIEWS, at={"strict": False, "depth": 1}),
        ),
        (
            '{ omega = { view = ["empty", "quote"] }, average_over = ["strict", "depth"] }',
            omega(view=("empty", "quote"), at={"strict": [False, True], "depth": [1, 2]}),
        ),
        (
            '{ endpoint_shift = { view = ["quote", "generated"] }, state = "before", '
            "at = { strict = true, depth = 1 } }",
            endpoint_shift("before", view=VIEWS, at={"strict": True, "depth": 1}),
        ),
        (
            '{ endpoint_shift = { view = ["quote", "generated"] }, state = "after", '
            'at = { depth = [1, 2] }, average_over = ["strict"] }',
            endpoint_shift("after", view=VIEWS, at={"strict": [True, False], "depth": [2, 1]}),
        ),
        (
            '{ diagonal = { view = ["quote", "generated"] }, at = { strict = true, depth = 2 } }',
            diagonal(view=VIEWS, at={"strict": True, "depth": 2}),
        ),
        (
            '{ diagonal = { view = ["quote", "generated"], depth = [1, 2] }, '
            "at = { strict = true } }",
            diagonal(view=VIEWS, depth=(1, 2), at={"strict": True}),
        ),
    ],
)
def test_a_declared_estimand_is_the_contrast_that_python_builds(declared, expected):
    found = built(f"asked = {declared}")["asked"]
    assert found.contrast == expected
    assert (found.name, found.contrast.name) == ("asked", "asked")
    assert found.statistic == names.MEAN


def test_a_difference_may_name_later_estimands_and_other_differences():
    lines = [
        'third = { difference = ["low", "high"] }',
        'low = { difference = ["quote", "generated"] }',
        'quote = { gain = { view = "quote", strict = false, depth = 1 } }',
        'generated = { gain = { view = "generated", strict = false, depth = 1 } }',
        'high = { omega = { view = ["quote", "generated"] }, at = { strict = true, depth = 1 } }',
    ]
    expected = omega(view=VIEWS, strict=(False, True), at={"depth": 1})
    for order in itertools.permutations(lines):
        found = built("\n".join(order))
        assert list(found) == [line.split(" = ")[0] for line in order]
        assert found["third"].contrast == expected
        first, second = found["third"].contrast.parts
        assert (first.name, second.name) == ("low", "high")
        assert first == omega(view=VIEWS, at={"strict": False, "depth": 1})


def test_a_difference_of_two_gains_keeps_them_as_parts():
    found = built(
        'quote = { gain = { view = "quote", strict = false, depth = 1 } }\n'
        'generated = { gain = { view = "generated", strict = false, depth = 1 } }\n'
        'face = { difference = ["quote", "generated"] }'
    )["face"].contrast
    assert found.kind == "difference"
    assert found == found.parts[1] - found.parts[0]
    assert [part.kind for part in found.parts] == ["gain", "gain"]


@pytest.mark.parametrize("statistic", ["mean", "median", "trimmed_mean", "negative_share"])
def test_a_declared_statistic_is_kept(statistic):
    tail = f'gain = {{}}, average_over = ["view", "strict", "depth"], statistic = "{statistic}"'
    assert built(f"asked = {{ {tail} }}")["asked"].statistic == statistic


def test_a_contrast_alone_goes_by_its_own_name():
    found = as_estimands(gain(view="quote"))
    assert list(found) == ["gain(quote)"]
    assert found["gain(quote)"].name == "gain(quote)"


def test_a_mapping_names_its_contrasts_and_keeps_their_order():
    quote = gain(view="quote")
    found = as_estimands({"b": quote, "a": Estimand("other", quote, names.MEDIAN)})
    assert list(found) == ["b", "a"]
    assert [(item.name, item.statistic) for item in found.values()] == [
        ("b", "mean"),
        ("a", "median"),
    ]


ABOUT = """
kind = "scores"
[data]
score = "margin"
unit = "task"
stratum = "answer"
attributes = ["artifact", "step_type"]
change = { column = "phase", before = 0, after = 1 }
channel = { view = ["empty", "quote", "generated"], depth = [1, 2] }
replicate = { wave = ["w1", "w2", "w3"] }
[estimands]
"""
SHARES = 'share = { allocation = ["state", "depth"], at = { view = "quote" } }'
AT = {"at": {"depth": 2}}


def asked_about(lines):
    return as_estimands(parse_spec(ABOUT + lines))


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (
            'allocation = ["state", "depth"], at = { view = "quote" }',
            shapley(depth=(1, 2), at={"view": "quote"}),
        ),
        (
            'allocation = { view = ["generated", "quote"] }, average_over = ["depth"]',
            shapley(view=("generated", "quote"), at={"depth": [1, 2]}),
        ),
        (
            'allocation = { view = ["empty", "quote"], depth = [2, 1] }',
            shapley(view=("empty", "quote"), depth=(2, 1)),
        ),
        (
            'allocation = ["depth"], state = "after", at = { view = "quote" }',
            shapley(state="after", depth=(1, 2), at={"view": "quote"}),
        ),
    ],
)
def test_a_declared_allocation_is_the_shares_that_python_builds(declared, expected):
    found = asked_about(f"a = {{ {declared} }}")
    assert {name: item.contrast for name, item in found.items()} == {
        f"a.{factor}": share for factor, share in expected.items()
    }
    assert [item.contrast.kind for item in found.values()] == ["allocation"] * len(expected)


def test_shares_of_a_declared_allocation_sum_to_the_diagonal():
    found = asked_about(SHARES)
    total = found["share.state"].contrast + found["share.depth"].contrast
    assert total == diagonal(depth=(1, 2), at={"view": "quote"})


def test_a_difference_may_name_the_share_of_a_factor():
    lines = f'{SHARES}\nstep = {{ gain = {{ view = "quote", depth = 1 }} }}\n'
    found = asked_about(lines + 'left = { difference = ["share.state", "step"] }')["left"].contrast
    # the gain at depth 1 less half the sum of both gains is half of Ω, turned round
    assert found == -0.5 * omega(depth=(1, 2), at={"view": "quote"})


EVERYTHING = (
    'between = { artifact = [false, true] }, where = { step_type = ["x", "y"], answer = "yes" }, '
    'wave = ["w3", "w1"], weight_by = "unit"'
)


def test_an_estimand_knows_whom_it_is_about():
    gained = 'gain = { view = "quote", depth = 2 }'
    found = asked_about(f"a = {{ {gained}, {EVERYTHING}, statistic = 'trimmed_mean' }}")["a"]
    assert found == Estimand(
        "a",
        gain(view="quote", **AT),
        "trimmed_mean",
        between=("artifact", "false", "true"),
        where={"step_type": ("x", "y"), "stratum": ("yes",)},  # the coordinate of the scores
        wave=("w1", "w3"),
        weight_by="unit",
    )


def test_a_difference_and_the_shares_of_an_allocation_know_it_too():
    gained = 'gain = { view = "quote", depth = 2 }'
    found = asked_about(
        f"a = {{ {gained}, {EVERYTHING} }}\n"
        f"b = {{ {gained.replace('2', '1')}, {EVERYTHING} }}\n"
        "c = { difference = ['a', 'b'], statistic = 'median' }\n"
        "d = { allocation = { view = ['empty', 'quote'] }, at = { depth = 1 }, "
        f"{EVERYTHING} }}"
    )
    about = {(i.between, tuple(i.where), i.wave, i.weight_by) for i in found.values()}
    expected = ("artifact", "false", "true"), ("step_type", "stratum"), ("w1", "w3"), "unit"
    assert about == {expected}
    assert found["c"].statistic == "median"
    assert found["c"].contrast == -omega(depth=(1, 2), at={"view": "quote"})


def test_levels_of_a_python_estimand_are_canonical_texts():
    found = Estimand(
        "a",
        gain(view="quote"),
        between=("artifact", False, True),
        where={"step": 1.0, "kind": ["A", True]},
        wave=(1, "2.0"),
    )
    assert found.between == ("artifact", "false", "true")
    assert found.where == {"step": ("1",), "kind": ("A", "true")}
    assert found.wave == ("1", "2")
    assert found == Estimand(
        "a",
        gain(view="quote"),
        between=("artifact", "FALSE", "TRUE"),
        where={"step": "1", "kind": ("A", "true")},
        wave=("1", "2"),
    )


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"weight_by": "units"}, "weight_by = 'units' (did you mean 'unit'?)"),
        ({"weight_by": None}, "weight_by = None; expected one of transition, unit"),
        ({"between": ("artifact", True)}, "expected (attribute, first, second)"),
        ({"between": {"artifact": [False, True]}}, "expected (attribute, first, second)"),
        ({"between": ("artifact", 1, "1.0")}, "names one level twice"),
        (
            {"between": ("artifact", 0, 1), "where": {"artifact": 1}},
            "between and where both name 'artifact'",
        ),
        ({"where": {"artifact": []}}, "artifact = []; expected at least one level"),
        ({"where": {"artifact": [1, "1"]}}, "none twice"),
        ({"wave": ("w1", "w1")}, "wave = ('w1', 'w1'); expected at least one level, and none"),
    ],
)
def test_a_python_estimand_about_nobody_is_a_typed_error(about, said):
    with pytest.raises(ContrastError) as caught:
        Estimand("mine", gain(view="quote"), **about)
    assert str(caught.value).startswith("mine: ")
    assert said in str(caught.value)


MODIFIERS = [
    (
        "between = { artifact = [false, true] }",
        "where artifact = true minus where artifact = false",
    ),
    ("where = { step_type = 'x' }", "where step_type = x"),
    ("where = { step_type = ['x', 'y'] }", "where step_type = x or y"),
    ("where = { answer = 'yes' }", "where answer = yes"),
    ("wave = ['w2']", "in the wave w2"),
    ("wave = ['w1', 'w3']", "averaged over the waves w1 and w3"),
    ("weight_by = 'unit'", "every unit counts alike, whatever its number of transitions"),
]


@pytest.mark.parametrize(("key", "said"), MODIFIERS)
def test_whom_an_estimand_is_about_is_said_wherever_it_is_described(key, said):
    lines = (
        f"a = {{ gain = {{ view = 'quote', depth = 2 }}, {key} }}\n"
        f"b = {{ gain = {{ view = 'quote', depth = 1 }}, {key} }}\n"
        "c = { difference = ['a', 'b'] }\n"
        f"d = {{ omega = {{ view = ['empty', 'quote'] }}, average_over = ['depth'], {key} }}\n"
        f"e = {{ allocation = ['state', 'depth'], at = {{ view = 'quote' }}, {key} }}"
    )
    spec = parse_spec(ABOUT + lines)
    for name, declared in spec.estimands.items():
        assert meaning(declared).endswith(f"; {said}"), name
    for built in as_estimands(spec).values():
        coordinate = said.replace("answer", "stratum")  # Python names the stratum's coordinate
        assert built.description.endswith(f"; {coordinate}")


def test_everything_that_an_estimand_is_about_is_said():
    (declared,) = parse_spec(
        f"{ABOUT}a = {{ gain = {{ view = 'quote', depth = 2 }}, {EVERYTHING} }}"
    ).estimands.values()
    assert meaning(declared) == (
        "after minus before at view = quote and depth = 2; where artifact = true minus where "
        "artifact = false; where step_type = x or y; where answer = yes; averaged over the waves "
        "w1 and w3; every unit counts alike, whatever its number of transitions"
    )
    assert modifiers(Estimand("a", gain(view="quote"))) == []


def test_an_allocation_says_whose_share_it_is_and_what_does_not_cancel():
    spec = parse_spec(f"{ABOUT}{SHARES}")
    change, depth = (meaning(declared) for declared in spec.estimands.values())
    move = "after at depth = 2 minus before at depth = 1"
    assert change == f"the part that state has (Shapley) in {move}; view = quote"
    assert depth.startswith(f"the part that depth has (Shapley) in {move}; a level of its own")
    assert "does not cancel; view = quote" in depth
    found = as_estimands(spec)
    assert "does not cancel" in found["share.depth"].description
    assert "cancel" not in found["share.state"].description
    held = 'a = { allocation = ["depth"], state = "after", at = { view = "quote" } }'
    (declared,) = parse_spec(f"{ABOUT}{held}").estimands.values()
    assert "in after at depth = 2 minus after at depth = 1;" in meaning(declared)


def test_a_description_names_the_statistic_that_is_no_mean():
    assert Estimand("a", gain(view="quote")).description == "gain(quote)"
    shared = Estimand("a", gain(view="quote"), "negative_share")
    assert shared.description == "negative share of gain(quote)"


def test_a_misspelt_statistic_is_never_a_silent_mean():
    with pytest.raises(ContrastError, match=r"did you mean 'median'\?") as caught:
        Estimand("middle", gain(view="quote"), "medain")
    assert "mean, median, trimmed_mean, negative_share" in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ('{ gain = { vew = "quote", strict = false, depth = 1 } }', "did you mean 'view'?"),
        ('{ gain = { view = "qote", strict = false, depth = 1 } }', "did you mean 'quote'?"),
        ('{ gain = { view = "quote", strict = false } }', "says nothing about the factor 'depth'"),
        ('{ omega = { view = ["quote"] }, at = { strict = false, depth = 1 } }', "two levels"),
        ('{ difference = ["asked", "other"] }', "no estimand 'other'"),
    ],
)
def test_an_estimand_that_does_not_fit_its_data_is_a_spec_error(declared, words):
    with pytest.raises(SpecError) as caught:
        built(f"asked = {declared}")
    assert words in str(caught.value)
