"""An agreement as a spec writes it: of all levels of a replicate factor, or of two of a channel.

Invariant: exactly one thing is compared, and it has levels to compare. Pinned by
`tests/test_agreement.py`.
"""

from fourcorner import names
from fourcorner.sections import Levels, Section, nearest, show
from fourcorner.spec.data import DataSpec

WANTED = 'expected a replicate factor, "layout", or two levels of a channel, { judge = [a, b] }'


def read_agreement(
    entry: Section, data: DataSpec | None, state: str | None
) -> tuple[str | None, dict[str, Levels]]:
    """The replicate factor that is compared, or the pair of levels of a channel factor.

    Parameters
    ----------
    entry : Section
        Of the estimand.
    data : DataSpec or None
    state : str or None
        The side of the change, which a change needs.
    """
    given = entry.raw[names.AGREEMENT]
    if data is not None:
        _check_state(entry, data, state)
    if isinstance(given, dict):
        pairs = entry.levels(names.AGREEMENT, single=False)
        if len(pairs) > 1:
            entry.fault(f"agreement = {show(given)} compares {len(pairs)} factors; {WANTED}")
        elif data is not None and (repeated := pairs.keys() & data.replicate.keys()):
            (factor,) = repeated
            entry.fault(_as_replicate(factor, given))
            return factor, {}
        return None, pairs
    factor = entry.text(names.AGREEMENT)
    if factor is not None and data is not None:
        _check_replicate(entry, factor, data)
    return factor or "", {}


def _as_replicate(factor: str, given: dict[str, object]) -> str:
    """What to write where levels of a replicate factor are named."""
    some = "; rows of some levels are kept with [data] where"
    if factor == names.WAVE:
        some = f", with wave = {show(given[factor])} for some of them"
    return (
        f"agreement = {show(given)}: {factor!r} is a replicate factor, and all of its levels are "
        f"compared: write agreement = {factor!r}{some}"
    )


def _check_state(entry: Section, data: DataSpec, state: str | None) -> None:
    if data.has_change and "state" not in entry.raw:
        entry.fault("agreement needs state = 'before' or 'after': the side of the change it is of")
    if not data.has_change and state is not None:
        entry.fault(f"state = {show(state)} goes with a [data] change, and none is declared")


def _check_replicate(entry: Section, factor: str, data: DataSpec) -> None:
    """A replicate factor with two levels or more, in the waves that are named."""
    if factor in data.channel:
        entry.fault(f"agreement = {factor!r}: a channel factor; {WANTED}")
    elif factor not in data.replicate:
        near = nearest(factor, data.replicate)
        entry.fault(f"agreement = {factor!r}: no replicate factor{near}; {WANTED}")
    elif len(data.replicate[factor]) < 2:
        entry.fault(f"agreement = {factor!r}: one level agrees with itself alone")
    elif factor == names.WAVE and _named(entry) == 1:
        entry.fault("agreement of waves needs two waves or more; wave names one")


def _named(entry: Section) -> int | None:
    """How many waves an estimand names; None for all."""
    wave = entry.raw.get("wave")
    return len(wave) if isinstance(wave, list) else None if wave is None else 1
