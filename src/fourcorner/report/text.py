"""A user's text where there is room for a line of it.

Invariant: one line without control characters, never longer than asked for. Pinned by
`tests/test_report.py`.
"""

import unicodedata


def label(text: object, longest: int = 60) -> str:
    """A user's text on one line: no control characters, an ellipsis in the middle if too long.

    Examples
    --------
    >>> label("generated_vs_quote", 12)
    'generat…uote'
    """
    plain = "".join(
        " " if char.isspace() else "\N{REPLACEMENT CHARACTER}" if _unprintable(char) else char
        for char in str(text)
    )
    if len(plain) <= longest:
        return plain
    head = (longest - 1) * 2 // 3
    return f"{plain[:head]}…{plain[head + 1 - longest :]}"


def _unprintable(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn"}
