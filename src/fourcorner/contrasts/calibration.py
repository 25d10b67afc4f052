"""What two gains say of their scales: whether rescaling or pooling the channels turns a sign.

Scores of a channel may be multiplied by any α > 0 without a change of its meaning: gains keep
their signs, Ω = α₁G₁ − α₀G₀ need not. Scores may be pooled: (1 − λ)G₀ + λG₁ with 0 ≤ λ ≤ 1.

Invariant: at the ratio, and at the share, the quantity is zero, and on its two sides it has
opposite signs; where there is none, no α > 0 and no 0 < λ < 1 turns the sign. Pinned by
`tests/test_calibration.py`.
"""

import math
from collections.abc import Iterator

from fourcorner.errors import ContrastError

CALIBRATION, POOLING = "calibration: ", "pooling of channels: "


def flip_ratio(first: float, second: float) -> float | None:
    """α₁/α₀ at which Ω = α₁G₁ − α₀G₀ changes sign: G₀/G₁ where both gains have one sign.

    Parameters
    ----------
    first, second : float
        G₀ and G₁: the gain in each channel, in its own units.

    Returns
    -------
    float or None
        Above zero; None where the gains have opposite signs or one of them is zero: then the sign
        of Ω is the same under every α₀, α₁ > 0.

    Raises
    ------
    ContrastError
        If a gain is not finite, or the ratio is beyond what a number can hold.

    Examples
    --------
    >>> flip_ratio(0.5, 0.25), flip_ratio(0.5, -0.25), flip_ratio(0.5, 0.0)
    (2.0, None, None)
    """
    if _sign(first) * _sign(second) <= 0:
        return None
    ratio = first / second
    if ratio == 0 or math.isinf(ratio):
        msg = f"gains {first!r} and {second!r}: their ratio is beyond what a number can hold"
        raise ContrastError(msg)
    return ratio


def flip_share(first: float, second: float) -> float | None:
    """Share λ of the second channel at which the pooled gain (1 − λ)G₀ + λG₁ changes sign.

    Parameters
    ----------
    first, second : float
        G₀ and G₁: the gain in each channel, in units that can be averaged.

    Returns
    -------
    float or None
        Between 0 and 1; None unless one gain is above zero and the other below.

    Raises
    ------
    ContrastError
        If a gain is not finite.

    Examples
    --------
    >>> flip_share(1.5, -0.5), flip_share(1.5, 0.5), flip_share(1.5, 0.0)
    (0.75, None, None)
    """
    if _sign(first) * _sign(second) >= 0:
        return None
    large = max(abs(first), abs(second))  # scaled by it, the difference cannot overflow
    return abs(first / large) / (abs(first / large) + abs(second / large))


def statements(first: float, second: float) -> Iterator[str]:
    """What rescaling and pooling do to two estimated mean gains, in words; two sentences."""
    ratio, share = flip_ratio(first, second), flip_share(first, second)
    if ratio is not None:
        yield (
            f"{CALIBRATION}the mean gains as estimated have one sign, so rescaling the channels "
            f"can turn the sign of their difference; it does at a ratio of {ratio:.3g}, second "
            f"scale to first"
        )
        yield (
            f"{POOLING}the mean gains as estimated have one sign, which every mixture of the "
            f"channels has too"
        )
    elif share is not None:
        yield (
            f"{CALIBRATION}the mean gains as estimated have opposite signs, so no positive "
            f"rescaling of the channels turns the sign of their difference"
        )
        yield (
            f"{POOLING}the mean gains as estimated have opposite signs, so the mixture of the "
            f"channels decides; the pooled gain is zero where the second channel has a share of "
            f"{share:.3g}"
        )
    else:
        yield from _of_zero(first, second)


def _of_zero(first: float, second: float) -> Iterator[str]:
    if first == second:
        yield f"{CALIBRATION}both mean gains are zero, and so is their difference however rescaled"
        yield f"{POOLING}both mean gains are zero, and so is every mixture of the channels"
        return
    where = "first" if first == 0 else "second"
    yield (
        f"{CALIBRATION}the {where} mean gain is zero, so no positive rescaling of the channels "
        f"turns the sign of their difference"
    )
    yield (
        f"{POOLING}the {where} mean gain is zero; a mixture has the other's sign unless it is the "
        f"{where} channel alone"
    )


def _sign(gain: float) -> int:
    if not math.isfinite(gain):
        raise ContrastError(f"a gain of {gain!r}; expected a finite number")
    return int(gain > 0) - int(gain < 0)
