"""Names in the order in which they need each other, without recursion.

Invariant: a name comes after all that it needs, or it reaches itself or needs one that does. Pinned
by `tests/test_spec.py`.
"""

import contextlib
import graphlib
from collections.abc import Iterable, Mapping

Needs = Mapping[str, Iterable[str]]


def in_order(needs: Needs) -> list[str]:
    """Names after whatever they need; those that reach a cycle are left out.

    Parameters
    ----------
    needs : mapping of name to the names that it needs
        Needs that are no keys are ignored.

    Examples
    --------
    >>> in_order({"c": ["a", "b"], "b": ["a"], "a": [], "d": ["d"]})
    ['a', 'b', 'c']
    """
    sorter = graphlib.TopologicalSorter(
        {name: [need for need in needed if need in needs] for name, needed in needs.items()}
    )
    with contextlib.suppress(graphlib.CycleError):
        sorter.prepare()
    found: list[str] = []
    while ready := sorter.get_ready():
        found.extend(ready)
        sorter.done(*ready)
    return found


def in_cycles(needs: Needs) -> list[str]:
    """Names that reach themselves.

    Examples
    --------
    >>> in_cycles({"a": ["b"], "b": ["a"], "c": ["a"], "d": []})
    ['a', 'b']
    """
    left = {name: list(needed) for name, needed in needs.items()}
    for name in in_order(needs):
        del left[name]
    return [name for name in left if name in _reachable(name, left)]


def _reachable(start: str, needs: Needs) -> set[str]:
    seen: set[str] = set()
    queue = [start]
    while queue:
        fresh = [need for need in needs.get(queue.pop(), ()) if need not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    return seen
