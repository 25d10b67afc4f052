"""What an estimand subtracts from what, in words, as its spec declares it.

Invariant: nothing is left out that changes the value, and each kind of `fourcorner.spec.kinds` has
its words in `SAID`. Pinned by `tests/test_estimands.py` and `tests/test_families.py`.
"""

from collections.abc import Callable, Mapping, Sequence

from fourcorner import names
from fourcorner.estimands import modifiers
from fourcorner.report import words
from fourcorner.spec import EstimandSpec

STATISTICS = {
    names.MEDIAN: "median",
    names.TRIMMED_MEAN: "trimmed mean",
    names.NEGATIVE_SHARE: "share below zero",
}

Pairs = Sequence[tuple[str, tuple[str, ...]]]


def meaning(declared: EstimandSpec) -> str:
    """What an estimand is of, and whom it is about."""
    pairs = list(declared.levels.items())
    of = STATISTICS.get(declared.statistic)
    said = SAID[declared.kind](declared, pairs)
    fixed = [f"{factor} = {words.listed(levels)}" for factor, levels in declared.at.items()]
    fixed += [f"averaged over {factor}" for factor in declared.average_over]
    whole = said if of is None else f"{of} of: {said}"
    return "; ".join([whole, *fixed, *modifiers(declared)])


def _side(pairs: Pairs, side: int) -> str:
    return words.listed([f"{factor} = {levels[side]}" for factor, levels in pairs])


def _where(pairs: Pairs) -> str:
    return f" at {_side(pairs, 0)}" if pairs else ""


def _gain(_: EstimandSpec, pairs: Pairs) -> str:
    return f"after minus before{_where(pairs)}"


def _omega(_: EstimandSpec, pairs: Pairs) -> str:
    inner = f"gain at {_side(pairs[:1], 1)} minus gain at {_side(pairs[:1], 0)}"
    for pair in pairs[1:]:
        inner = f"({inner}) at {_side([pair], 1)} minus the same at {_side([pair], 0)}"
    return inner


def _shift(declared: EstimandSpec, pairs: Pairs) -> str:
    state = declared.state or ""
    return f"{state} at {_side(pairs, 1)} minus {state} at {_side(pairs, 0)}"


def _diagonal(_: EstimandSpec, pairs: Pairs) -> str:
    return f"after at {_side(pairs, 1)} minus before at {_side(pairs, 0)}"


def _allocation(declared: EstimandSpec, pairs: Pairs) -> str:
    channels = [pair for pair in pairs if pair[0] != names.STATE]
    ends = (declared.state, declared.state) if declared.state else names.STATES
    second, first = (f"{ends[side]} at {_side(channels, side)}" for side in (1, 0))
    said = f"the part that {declared.factor} has (Shapley) in {second} minus {first}"
    if declared.factor == names.STATE:
        return said
    return f"{said}; a level of its own that a channel adds to all scores does not cancel"


def _difference(declared: EstimandSpec, _: Pairs) -> str:
    first, second = declared.difference or ("", "")
    return f"{second} minus {first}"


def _benchmark(_: EstimandSpec, pairs: Pairs) -> str:
    return f"scores at {_side(pairs, 1)} beside those at {_side(pairs, 0)}"


def _signs(_: EstimandSpec, pairs: Pairs) -> str:
    return f"signs of the gain at {_side(pairs, 0)} and of the gain at {_side(pairs, 1)}"


def _ranking(declared: EstimandSpec, pairs: Pairs) -> str:
    attribute, level = declared.outcome or ("", "")
    state = declared.state or names.AFTER
    return (
        f"how well the scores {state} rank {attribute} = {level}, at {_side(pairs, 0)} and at "
        f"{_side(pairs, 1)}"
    )


def _beliefs(_: EstimandSpec, pairs: Pairs) -> str:
    return f"beliefs over candidates, before and after{_where(pairs)}"


def _agreement(declared: EstimandSpec, pairs: Pairs) -> str:
    whose = f"all levels of {declared.factor}"
    if pairs:
        whose = f"{_side(pairs, 0)} and {_side(pairs, 1)}"
    said = f"share of replicate settings in which {whose} agree"
    return f"{said}, {declared.state}" if declared.state else said


SAID: Mapping[str, Callable[[EstimandSpec, Pairs], str]] = {
    names.GAIN: _gain,
    names.OMEGA: _omega,
    names.ENDPOINT_SHIFT: _shift,
    names.DIAGONAL: _diagonal,
    names.ALLOCATION: _allocation,
    names.DIFFERENCE: _difference,
    names.SIGNS: _signs,
    names.AUC: _ranking,
    names.BENCHMARK: _benchmark,
    names.BELIEFS: _beliefs,
    names.AGREEMENT: _agreement,
}
