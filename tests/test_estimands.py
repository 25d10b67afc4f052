"""Estimands: a spec builds the same contrasts as the Python functions, whatever its order."""

import itertools

import pytest

from fourcorner import names
from fourcorner.contrasts import diagonal, endpoint_shift, gain, omega
from fourcorner.errors import ContrastError, SpecError
from fourcorner.estimands import Estimand, as_estimands
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


@pytest.mark.parametrize("statistic", ["mean", "median", "negative_share"])
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


def test_a_misspelt_statistic_is_never_a_silent_mean():
    with pytest.raises(ContrastError, match=r"did you mean 'median'\?") as caught:
        Estimand("middle", gain(view="quote"), "medain")
    assert "mean, median, negative_share" in str(caught.value)


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
