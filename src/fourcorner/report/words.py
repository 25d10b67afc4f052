"""Numbers, counts and names as text, the same everywhere on the page.

Invariant: a number keeps three digits and its sign, also an end of an interval that rounds to zero;
decimals of a value with an interval are those that the interval deserves. Pinned by
`tests/test_report.py`.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from fourcorner import names
from fourcorner.errors import counted
from fourcorner.results import Estimate

DIGITS = 3
MINUS = "\N{MINUS SIGN}"
FEW = 4  # names in one sentence
SMALLEST, LARGEST = 1e-4, 1e6  # outside: powers of ten
FAR_BELOW = 0.01  # of the ends of its interval: a value whose own digits say nothing
UNSIGNED = {*names.SHARES, names.AUC, names.DISCORDANCE}


def decimals(values: Sequence[float]) -> int | None:
    """Decimals that give the largest of some numbers three digits and show each that is not zero.

    Returns
    -------
    int or None
        None where powers of ten read better.

    Examples
    --------
    >>> decimals([-1.32, -0.81]), decimals([250.0]), decimals([1e-9]), decimals([1.0, -0.004])
    (2, 0, None, 3)
    """
    sizes = [abs(value) for value in values if value != 0]
    if not sizes:
        return 0
    if max(sizes) < SMALLEST or max(sizes) >= LARGEST:
        return None
    places = max(0, DIGITS - 1 - math.floor(math.log10(max(sizes))))
    needed = math.ceil(-math.log10(2 * min(sizes)))
    return min(max(places, needed), places + DIGITS)


def decimals_together(shown: Iterable[tuple[float, tuple[float, float] | None]]) -> int | None:
    """Decimals of several values, each with its interval or without one.

    A value far below the ends of its interval does not decide: its digits are noise.

    Examples
    --------
    >>> decimals_together([(4e-8, (-0.0037, 0.013)), (0.0027, None)])
    4
    """
    numbers: list[float] = []
    for value, ends in shown:
        numbers += [*([] if is_far_below(value, ends) else [value]), *(ends or ())]
    return decimals(numbers)


def is_far_below(value: float, ends: tuple[float, float] | None) -> bool:
    """Whether a value is so near zero beside the ends of its interval that its digits are noise."""
    return ends is not None and abs(value) < FAR_BELOW * max(abs(end) for end in ends)


def number(value: float, places: int | None = None, *, sign: bool = True) -> str:
    """One number: three digits unless the decimals are given.

    Examples
    --------
    >>> number(0.55), number(-12345.6), number(0.0), number(0.25, sign=False)
    ('+0.550', '−12,346', '0', '0.250')
    """
    value += 0.0  # a negative zero has no sign
    places = decimals([value]) if places is None else places
    plus = "+" if sign and value != 0 else ""
    kind = f"{plus}.2e" if places is None else f"{plus},.{places}f"
    return format(value, kind).replace("-", MINUS)


def interval(ends: tuple[float, float], places: int | None = None, *, sign: bool = True) -> str:
    """Both ends in square brackets, with the same decimals."""
    places = decimals(ends) if places is None else places
    low, high = (number(end, places, sign=sign) for end in ends)
    return f"[{low}, {high}]"


def measured(
    value: float,
    ends: tuple[float, float] | None,
    statistic: str,
    places: int | None = None,
) -> str:
    """A value of a statistic, with its interval: shares in per cent; they and AUCs unsigned.

    Parameters
    ----------
    value : float
    ends : (float, float) or None
    statistic : str
    places : int or None
        Decimals of the number itself, a share before it is made per cent; None for those that
        give three digits.

    Examples
    --------
    >>> measured(0.4837, (0.4512, 0.5168), "rate"), measured(-0.5, None, "mean")
    ('48.4 % [45.1, 51.7]', '−0.500')
    """
    places = decimals_together([(value, ends)]) if places is None else places
    sign = statistic not in UNSIGNED
    per_cent = statistic in names.SHARES
    if per_cent:
        places = None if places is None else max(places - 2, 0)
        value, ends = 100 * value, ends and (100 * ends[0], 100 * ends[1])
    text = number(value, places, sign=sign) + (" %" if per_cent else "")
    return text if ends is None else f"{text} {interval(ends, places, sign=sign)}"


def engine(method: str) -> str:
    """Who made a row, in words.

    Examples
    --------
    >>> engine("design"), engine("bayesian_bootstrap")
    ('design', 'Bayesian bootstrap')
    """
    return "Bayesian bootstrap" if method == names.BAYESIAN_BOOTSTRAP else method


def estimate(row: Estimate, places: int | None = None) -> str:
    """Value and interval of a row that is not refused."""
    assert row.value is not None, row.name
    return measured(row.value, row.interval, row.statistic, places)


def bounds(row: Estimate, places: int | None = None) -> str:
    """Bounds from censored scores; where an end is open, what the row's last note says of it."""
    if row.interval is None:
        return row.notes[-1].partition(":")[0]
    low, high = row.interval
    if row.statistic in names.SHARES:
        places = None if places is None else max(places - 2, 0)
        return f"{interval((100 * low, 100 * high), places, sign=False)} %"
    return interval(row.interval, places, sign=row.statistic not in UNSIGNED)


def probability(value: float) -> str:
    """Three decimals; finite draws never show 0 or 1.

    Examples
    --------
    >>> probability(0.9999), probability(0.5), probability(0.0001)
    ('>0.999', '0.500', '<0.001')
    """
    if value < 0.001:
        return "<0.001"
    return ">0.999" if value > 0.999 else f"{value:.3f}"


def count(amount: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "unit"), count(1200, "unit")
    ('1 unit', '1,200 units')
    """
    return counted(amount, noun)


def cases(row: Estimate) -> str:
    """Units that a row rests on, and transitions where they are others."""
    more = "" if row.transitions == row.units else f" ({row.transitions:,} tr.)"
    return f"{row.units:,}{more}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """Items with commas and a last *and*."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {last} {items[-1]}"


def few(items: Sequence[str]) -> str:
    """The first of some items, and how many more there are.

    Examples
    --------
    >>> few("abcdef"), few("ab")
    ('a, b, c, d and 2 more', 'a and b')
    """
    more = len(items) - FEW
    return listed([*items[:FEW], f"{more:,} more"] if more > 0 else items)


def cell(record: Mapping[str, str]) -> str:
    """A cell as words: the state, then every channel.

    Examples
    --------
    >>> cell({"state": "after", "view": "quote"})
    'after, view = quote'
    """
    parts = [
        level if factor == names.STATE else f"{factor} = {level}"
        for factor, level in record.items()
    ]
    return ", ".join(parts)


def order(label: int | str) -> str:
    """Name of an interaction order, which has a scale group behind it where there are several.

    Examples
    --------
    >>> order(1), order("2 [readout=binary]")
    ('main effects', '2-way interactions [readout=binary]')
    """
    number, _, group = str(label).partition(" ")
    said = {"0": "level", "1": "main effects"}.get(number, f"{number}-way interactions")
    return f"{said} {group}" if group else said
