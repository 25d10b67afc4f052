"""What the ungrounded view claims: support for concrete candidates before there is any evidence.

Every trajectory has an inclination towards each concrete candidate. The parser reads a claim of
support where the inclination is among the strongest, as many of them as the published audit counts;
that strength is what the evaluator credits, and an inclination below it is credited nothing.

Invariant: for every seed the views before retrieval claim support in 97 of 100 trajectories and for
175 candidates in all, and a candidate is claimed where and only where its strength is above zero.
Pinned by `tests/test_source_contract.py` (``test_the_audit_of_views_holds_for_every_seed``).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fourcorner.simulate.study import UNITS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

CANDIDATES = 3
"""Concrete candidates of a trajectory; the fourth option is that information is lacking."""
CLAIMING_VIEWS = 97
MEAN_CLAIMED = 1.75

RIGHT = np.array([0.97, 0.97, 0.6, 0.0])
"""By target: how often the strongest inclination is towards it."""

SURE = np.array([1.0, 1.0, 0.75, 0.5])
"""By target: how strong inclinations are; there is less to claim where no plain answer is right."""


class Claims(NamedTuple):
    """Strength of each claim of the ungrounded view, nats; 0 where none is read.

    Attributes
    ----------
    before, after : ndarray of shape (n, candidate)
    """

    before: Floats
    after: Floats

    def of_target(self, target: Ints) -> tuple[Floats, Floats]:
        """Strength before retrieval of the target's claim and of the strongest other: (n,) each."""
        own = np.arange(CANDIDATES) == target[:, None]
        return (
            np.where(own, self.before, 0.0).max(axis=1),
            np.where(own, 0.0, self.before).max(axis=1),
        )


def draw_rivals(target: Ints, rng: np.random.Generator) -> Ints:
    """Draw a concrete candidate that is not the target, each as likely: (n,)."""
    least = (target < CANDIDATES).astype(np.int64)
    return (target + rng.integers(least, CANDIDATES)) % CANDIDATES


def draw_claims(target: Ints, found: Bools, rng: np.random.Generator) -> Claims:
    """Draw claims before retrieval, and what is left of them after it.

    Parameters
    ----------
    target : ndarray of shape (n,)
        Index of the target among the options.
    found : ndarray of shape (n,)
        Retrieval finds evidence; claims then mostly give way to it.
    rng : numpy.random.Generator
    """
    strongest = SURE[target] * rng.lognormal(2.2, 0.32, UNITS)
    right = rng.random(UNITS) < RIGHT[target]
    first = np.where(right, target, draw_rivals(target, rng))
    inclined = strongest[:, None] * rng.beta(2.0, 4.0, (UNITS, CANDIDATES))
    inclined[np.arange(UNITS), first] = strongest
    before = np.where(_read(inclined, first), inclined, 0.0)
    kept = np.where(found, rng.beta(1.5, 3.5, UNITS), rng.gamma(20.0, 1 / 19.5, UNITS))
    after = before * kept[:, None]
    weakest = before[before > 0].min()
    return Claims(before, np.where(after >= weakest, after, 0.0))


def _read(inclined: Floats, first: Ints) -> Bools:
    """Where a claim is read: in the strongest first inclinations, and the strongest others."""
    is_first = np.arange(CANDIDATES) == first[:, None]
    claiming = _strongest(np.where(is_first, inclined, 0.0).max(axis=1), CLAIMING_VIEWS)
    others = np.where(claiming[:, None] & ~is_first, inclined, 0.0)
    more = round(MEAN_CLAIMED * UNITS) - CLAIMING_VIEWS
    return (is_first & claiming[:, None]) | _strongest(others.ravel(), more).reshape(others.shape)


def _strongest(values: Floats, count: int) -> Bools:
    """Mark the highest values."""
    marked = np.zeros(values.size, dtype=np.bool_)
    marked[np.argsort(values)[values.size - count :]] = True
    return marked


def counted(claims: Claims, favoured: Ints, found: Bools) -> Ints:
    """Count the concrete candidates for which each generated view claims support.

    A view under the contract names what the artifact favours and nothing else; the ungrounded one
    names that beside its own claims.

    Parameters
    ----------
    claims : Claims
    favoured : ndarray of shape (n,)
        Option that the artifact favours.
    found : ndarray of shape (n,)
        There is an artifact after retrieval.

    Returns
    -------
    ndarray of shape (n, state, view)
        Before and after retrieval; ungrounded and source-only.
    """
    shown = found[:, None] & (np.arange(CANDIDATES) == favoured[:, None])
    nothing = np.zeros_like(shown)
    views = [[claims.before > 0, nothing], [(claims.after > 0) | shown, shown]]
    return np.array(views).sum(axis=-1).transpose(2, 0, 1)
