"""The effect basis: cell means as a sum of orthogonal effects in native units.

Invariant: rows are orthogonal, each with mean square one over the cells that it moves, so an effect
is the root-mean-square amount by which it moves them: every cell, or the cells of one scale group
where levels of a factor live on scales that nothing links. Contrasts of the change sum to zero.
Pinned by `tests/test_basis.py`.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fourcorner.errors import SpecError
from fourcorner.sections import nearest

INTERCEPT = "intercept"
ONE_SCALE = "all"


@dataclass(frozen=True)
class Basis:
    """Orthogonal effects of a crossed design.

    Attributes
    ----------
    factors : mapping of factor to its levels
    labels : tuple of str
        Name of each effect, e.g. ``state:view[quote]``.
    order : ndarray of int, shape (effects,)
        0 intercept, 1 main effect, 2 two-way interaction, …
    rows : ndarray of shape (effects, cells)
        ``cells = coefficients @ rows``; ``coefficients = cells @ rows.T / cells_each``.
    modelled : ndarray of bool, shape (effects,)
        Effects with a mean of their own; the others have mean zero (the residual space).
    by_stratum : ndarray of bool, shape (effects,)
        Effects whose mean differs between strata.
    groups : tuple of str
        Scale groups, e.g. ``readout=binary``; ``all`` where every cell has the same scale.
    group : ndarray of int, shape (effects,)
        Position of each effect's scale group.
    """

    factors: Mapping[str, tuple[str, ...]]
    labels: tuple[str, ...]
    order: NDArray[np.int64]
    rows: NDArray[np.float64]
    modelled: NDArray[np.bool_]
    by_stratum: NDArray[np.bool_]
    groups: tuple[str, ...]
    group: NDArray[np.int64]

    @property
    def cells_each(self) -> int:
        """How many cells an effect moves: all, or those of its scale group."""
        return self.rows.shape[1] // len(self.groups)

    @property
    def cell_group(self) -> NDArray[np.int64]:
        """Position of each cell's scale group: shape (cells,)."""
        intercepts = self.rows[self.order == 0]
        return np.abs(intercepts).argmax(axis=0)

    @property
    def tau_labels(self) -> list[int] | list[str]:
        """A label of each τ: its order, and its scale group where there are several."""
        found = self._taus()
        if len(self.groups) == 1:
            return [order for _, order in found]
        return [f"{order} [{self.groups[group]}]" for group, order in found]

    @property
    def tau_place(self) -> NDArray[np.int64]:
        """Position of each effect's τ among `tau_labels`, -1 where strata agree."""
        found = self._taus()
        pairs = zip(self.group.tolist(), self.order.tolist(), self.by_stratum, strict=True)
        return np.array([found.index((g, o)) if varies else -1 for g, o, varies in pairs])

    def _taus(self) -> list[tuple[int, int]]:
        varying = self.by_stratum
        found = zip(self.group[varying].tolist(), self.order[varying].tolist(), strict=True)
        return sorted(set(found))


def build(
    factors: Mapping[str, Sequence[str]],
    effects: str | None = None,
    stratum_effects: str | None = None,
    scale: Sequence[str] = (),
) -> Basis:
    """Build the basis of a design under two formulas.

    Parameters
    ----------
    factors : mapping of factor to its levels
    effects : str, optional
        Factors joined by ``*`` (crossed with all lower orders), ``:`` (that interaction) and
        ``+``. Default: everything crossed.
    stratum_effects : str, optional
        The same, for the effects that differ between strata; default: as `effects`. The
        intercept always differs.
    scale : sequence of str
        Factors whose levels live on unlinked scales. Each combination of their levels is a scale
        group with effects of its own, those of the other factors.

    Returns
    -------
    Basis

    Raises
    ------
    SpecError
        If a formula names an unknown factor or one whose levels live on unlinked scales, or has
        an empty part, or a stratum effect is no effect.

    Examples
    --------
    >>> basis = build({"state": ("before", "after"), "view": ("a", "b")})
    >>> basis.labels
    ('intercept', 'state', 'view', 'state:view')
    """
    inner = [name for name in factors if name not in scale]
    terms = _terms("effects", effects, inner, set(_subsets(inner)), scale)
    varying = _terms("stratum_effects", stratum_effects, inner, terms, scale)
    extra = sorted(":".join(term) for term in varying - terms)
    if extra:
        msg = (
            f"[model] stratum_effects has {extra}, which are not among the effects; add them there"
        )
        raise SpecError([msg])
    helmert = {name: _contrast_rows(len(levels)) for name, levels in factors.items()}
    labels: list[str] = []
    rows: list[NDArray[np.float64]] = []
    of_term: list[tuple[int, tuple[str, ...]]] = []
    blocks = list(itertools.product(*(factors[name] for name in factors if name in scale)))
    groups = [_group_label([name for name in factors if name in scale], block) for block in blocks]
    for place, block in enumerate(blocks):
        fixed = dict(zip((name for name in factors if name in scale), block, strict=True))
        suffix = f" [{groups[place]}]" if scale else ""
        for term in _subsets(inner):
            choices = [
                _choices(helmert, name, levels, name in term, fixed.get(name))
                for name, levels in factors.items()
            ]
            for combination in itertools.product(*choices):
                moved = ":".join(filter(None, (label for label, _ in combination)))
                labels.append((moved or INTERCEPT) + suffix)
                rows.append(_outer([row for _, row in combination]))
                of_term.append((place, term))
    return Basis(
        {name: tuple(levels) for name, levels in factors.items()},
        tuple(labels),
        np.array([len(term) for _, term in of_term]),
        np.array(rows),
        np.array([term in terms for _, term in of_term]),
        np.array([term in varying for _, term in of_term]),
        tuple(groups),
        np.array([place for place, _ in of_term]),
    )


def _group_label(scale: Sequence[str], block: Sequence[str]) -> str:
    named = (f"{name}={level}" for name, level in zip(scale, block, strict=True))
    return ", ".join(named) or ONE_SCALE


def _choices(
    helmert: Mapping[str, NDArray[np.float64]],
    name: str,
    levels: Sequence[str],
    in_term: bool,
    fixed: str | None,
) -> list[tuple[str, NDArray[np.float64]]]:
    """What a factor contributes to the rows of a term: labels with weights over its levels."""
    if fixed is not None:
        return [("", np.array([float(level == fixed) for level in levels]))]
    if in_term:
        return _named_rows(helmert, name, levels)
    return [("", np.ones(len(levels)))]


def _contrast_rows(levels: int) -> NDArray[np.float64]:
    """Orthogonal contrasts of successive levels against the mean of those before, RMS one."""
    rows = np.zeros((levels - 1, levels))
    for i in range(1, levels):
        rows[i - 1, :i], rows[i - 1, i] = -1.0 / i, 1.0
    return np.asarray(rows / np.sqrt((rows**2).mean(axis=1, keepdims=True)))


def _named_rows(
    helmert: Mapping[str, NDArray[np.float64]], name: str, levels: Sequence[str]
) -> list[tuple[str, NDArray[np.float64]]]:
    labels = [name] if len(levels) == 2 else [f"{name}[{level}]" for level in levels[1:]]
    return list(zip(labels, helmert[name], strict=True))


def _outer(rows: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    product = np.ones(1)
    for row in rows:
        product = np.multiply.outer(product, row).ravel()
    return product


def _subsets(factors: Sequence[str]) -> list[tuple[str, ...]]:
    sizes = range(len(factors) + 1)
    return [subset for size in sizes for subset in itertools.combinations(factors, size)]


def _terms(
    key: str,
    formula: str | None,
    factors: Sequence[str],
    default: set[tuple[str, ...]],
    scale: Sequence[str],
) -> set[tuple[str, ...]]:
    """Every interaction that a formula names, the intercept included."""
    if formula is None:
        return default
    terms: set[tuple[str, ...]] = {()}
    for part in formula.split("+"):
        crossed = [[name.strip() for name in piece.split(":")] for piece in part.split("*")]
        for name in itertools.chain.from_iterable(crossed):
            if name not in factors:
                what = _not_a_factor(name, factors, scale)
                msg = f"[model] {key} = {formula!r}: {what}; the factors are {list(factors)}"
                raise SpecError([msg])
        for chosen in _subsets([str(i) for i in range(len(crossed))])[1:]:
            used = {name for i in chosen for name in crossed[int(i)]}
            terms.add(tuple(name for name in factors if name in used))
    return terms


def _not_a_factor(name: str, factors: Sequence[str], scale: Sequence[str]) -> str:
    if name in scale:
        return f"the levels of {name!r} have unlinked scales, each with effects of its own"
    return f"no factor {name!r}{nearest(name, factors)}" if name else "an empty part"
