"""Estimands that take something else than its contrast of each transition.

Signs, AUCs and beliefs are families: several rows called NAME.<row>, of the same transitions.
Invariant: the rows of a family have its name and one contrast, so one cohort. Pinned by
`tests/test_families.py`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fourcorner import contrasts, measures, names
from fourcorner.contrasts import Contrast
from fourcorner.errors import ContrastError
from fourcorner.estimands.estimand import Estimand
from fourcorner.measures import Measure
from fourcorner.sections import canonical


def signs(
    name: str,
    first: Contrast,
    second: Contrast,
    *,
    dead_zones: Sequence[float] = measures.DEAD_ZONES,
    repeated: bool = True,
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """Sign stability of two channels: how often their gains have opposite signs.

    Parameters
    ----------
    name : str
        Rows are called ``name.cross_channel`` and so on; see `fourcorner.measures`.
    first, second : Contrast
        A gain in each channel.
    dead_zones : sequence of float
        Gains must be further from zero than this to count; native units.
    repeated : bool
        Whether the scores have several waves of one session: without them there is no row of
        retries.
    **about
        `between`, `where`, `wave`, `weight_by` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand

    Raises
    ------
    ContrastError
        If they are not two different gains, or dead zones are no numbers above 0, each once.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> asked = signs("stable", gain(view="direct"), gain(view="generated"), repeated=False)
    >>> asked["stable.cross_channel"].description
    'the gains have opposite signs: gain(direct) and gain(generated)'
    """
    _check_zones(name, dead_zones)
    if first == second:
        raise ContrastError(f"{name}: {first.name} twice; expected a gain in each of two channels")
    both = second - first
    return {
        f"{name}.{row}": Estimand(
            f"{name}.{row}", both, measure.statistic, measure=measure, family=name, **about
        )
        for row, measure in measures.signs(dead_zones, repeated=repeated).items()
    }


def auc(
    name: str,
    shift: Contrast,
    outcome: tuple[str, str | bool | int],
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """How well the scores of two channels rank a stored outcome, and the difference.

    Parameters
    ----------
    name : str
        Rows are called ``name.first``, ``name.second`` and ``name.difference`` (second minus
        first), all of the transitions that are complete in both channels.
    shift : Contrast
        An endpoint shift: its second endpoint's score and its first's are ranked.
    outcome : (attribute, level)
        What transitions with high scores should have.
    **about
        `between`, `where`, `wave` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand

    Raises
    ------
    ContrastError
        If the contrast is no endpoint shift.

    Examples
    --------
    >>> from fourcorner.contrasts import endpoint_shift
    >>> shift = endpoint_shift("after", view=("generated", "quote"))
    >>> list(auc("ranks", shift, ("success", "true")))
    ['ranks.first', 'ranks.second', 'ranks.difference']
    """
    attribute, level = outcome
    return {
        f"{name}.{kind}": Estimand(
            f"{name}.{kind}",
            shift,
            names.AUC,
            measure=Measure(kind, outcome=(attribute, canonical(level))),
            family=name,
            **about,
        )
        for kind in measures.AUC_ROWS
    }


def beliefs(
    name: str,
    gain: Contrast,
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """How a change moves the beliefs over candidates in a channel.

    A belief is the softmax of an endpoint's option scores, reduced over replicates as margins are:
    the evaluator's, renormalised over the candidates.

    Parameters
    ----------
    name : str
        Rows are called ``name.entropy_movement`` and so on; see `fourcorner.measures`.
    gain : Contrast
        The channel's gain; where it averages over channels, so does each measure.
    **about
        `between`, `where`, `wave`, `weight_by` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand
        All of the transitions with the exact score of every candidate at both endpoints, in every
        replicate. Scores that are margins alone have no beliefs: such rows are refused.

    Raises
    ------
    ContrastError
        If the contrast is no gain.

    Examples
    --------
    >>> from fourcorner.contrasts import gain
    >>> asked = beliefs("direct", gain(view="direct"))
    >>> asked["direct.pivot"].description
    'another candidate is alone on top after than before: gain(direct)'
    """
    return {
        f"{name}.{kind}": Estimand(
            f"{name}.{kind}", gain, measure.statistic, measure=measure, family=name, **about
        )
        for kind, measure in ((kind, Measure(kind)) for kind in measures.BELIEFS)
    }


def benchmark(
    name: str,
    before: Contrast,
    after: Contrast,
    *,
    repeated: bool = True,
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """How far two views of the same states are from being answered alike.

    Descriptive: a scorer that answers by what it can know of the target would give all of these
    no difference where neither view holds anything that the state does not.

    Parameters
    ----------
    name : str
        Rows are called ``name.shift.before`` and so on; see `fourcorner.measures`.
    before, after : Contrast
        An endpoint shift between the two views, before the change and after it.
    repeated : bool
        Whether the scores have several waves of one session: without them there is no row of the
        distance between laws of responses.
    **about
        `between`, `where`, `wave` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand

    Raises
    ------
    ContrastError
        If they are not one endpoint shift, before and after.

    Examples
    --------
    >>> from fourcorner.contrasts import endpoint_shift
    >>> pair = [endpoint_shift(state, view=("quote", "generated")) for state in ("before", "after")]
    >>> list(benchmark("alike", *pair, repeated=False))[-1]
    'alike.discordant'
    """
    both = after - before
    return {
        f"{name}.{row}": Estimand(
            f"{name}.{row}", both, measure.statistic, measure=measure, family=name, **about
        )
        for row, measure in measures.benchmark(repeated=repeated).items()
    }


def agreement(
    name: str,
    of: str | Mapping[str, contrasts.Levels],
    *,
    state: str | None = None,
    at: Mapping[str, contrasts.Levels] | None = None,
    **about: Any,  # noqa: ANN401 - fields of an Estimand
) -> dict[str, Estimand]:
    """How often scores are the same: across a replicate factor, or in two levels of a channel.

    Parameters
    ----------
    name : str
    of : str or mapping of one channel factor to two levels
        A replicate factor: the share of the other replicates' settings in which all its levels
        agree. Of a channel: the share of all settings in which the two agree. Margins agree where
        they are equal, option scores where one candidate is alone on top in each.
    state : {"before", "after"} or None
        The side of the change; None where the scores have no change.
    at : mapping, optional
        Other channel factors: one level fixes the factor, over several the rate is averaged.
    **about
        `between`, `where`, `wave`, `weight_by` of an `Estimand`.

    Returns
    -------
    dict of name to Estimand
        One rate, of the transitions with all of those scores measured.

    Raises
    ------
    ContrastError
        If `of` is neither, or a factor has two parts.

    Examples
    --------
    >>> agreement("judges", {"judge": ("a", "b")}, state="after")["judges"].description
    'a and b agree: F(after, a) and F(after, b)'
    >>> agreement("order", "layout", at={"judge": "a"})["order"].description
    'all levels of layout agree: F(a)'
    """
    if isinstance(of, str):
        contrast, compared = contrasts.endpoint(state, at=at), (of,)
    else:
        contrast, compared = _compared(name, of, state, at)
    measure = Measure(names.AGREEMENT, compared=compared)
    return {name: Estimand(name, contrast, measure.statistic, measure=measure, **about)}


def _compared(
    name: str,
    of: Mapping[str, contrasts.Levels],
    state: str | None,
    at: Mapping[str, contrasts.Levels] | None,
) -> tuple[Contrast, tuple[str, ...]]:
    """The cells of two levels of one channel factor, and what is compared."""
    pairs = contrasts.moved(of, names.AGREEMENT, 2) if isinstance(of, Mapping) else {}
    if len(pairs) != 1:
        wanted = "a replicate factor, or one channel factor with two levels"
        raise ContrastError(f"{name}: of = {of!r}; expected {wanted}")
    ((factor, (first, second)),) = pairs.items()
    ends = [contrasts.endpoint(state, at=at, **{factor: level}) for level in (first, second)]
    return ends[1] - ends[0], (factor, first, second)


def _check_zones(name: str, zones: Sequence[float]) -> None:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in zones)
    fit = numbers and all(0 < zone < math.inf for zone in zones)
    if not fit or len(set(zones)) < len(zones):
        raise ContrastError(f"{name}: dead_zones = {zones!r}; expected numbers above 0, each once")
