"""The effect basis: cell means as a sum of orthogonal effects in native units.

Invariant: rows are orthogonal, each with mean square one over the cells, so an effect is the
root-mean-square amount by which it moves a cell. Contrasts of the change sum to zero.
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
        ``cells = coefficients @ rows``; ``coefficients = cells @ rows.T / n_cells``.
    modelled : ndarray of bool, shape (effects,)
        Effects with a mean of their own; the others have mean zero (the residual space).
    by_stratum : ndarray of bool, shape (effects,)
        Effects whose mean differs between strata.
    """

    factors: Mapping[str, tuple[str, ...]]
    labels: tuple[str, ...]
    order: NDArray[np.int64]
    rows: NDArray[np.float64]
    modelled: NDArray[np.bool_]
    by_stratum: NDArray[np.bool_]


def build(
    factors: Mapping[str, Sequence[str]],
    effects: str | None = None,
    stratum_effects: str | None = None,
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

    Returns
    -------
    Basis

    Raises
    ------
    SpecError
        If a formula names an unknown factor or has an empty part, or a stratum effect is no
        effect.

    Examples
    --------
    >>> basis = build({"state": ("before", "after"), "view": ("a", "b")})
    >>> basis.labels
    ('intercept', 'state', 'view', 'state:view')
    """
    terms = _terms("effects", effects, list(factors), set(_subsets(list(factors))))
    varying = _terms("stratum_effects", stratum_effects, list(factors), terms)
    extra = sorted(":".join(term) for term in varying - terms)
    if extra:
        msg = (
            f"[model] stratum_effects has {extra}, which are not among the effects; add them there"
        )
        raise SpecError([msg])
    helmert = {name: _contrast_rows(len(levels)) for name, levels in factors.items()}
    labels: list[str] = []
    orders: list[int] = []
    rows: list[NDArray[np.float64]] = []
    modelled: list[bool] = []
    by_stratum: list[bool] = []
    for term in _subsets(list(factors)):
        choices = [
            [("", np.ones(len(levels)))] if name not in term else _named_rows(helmert, name, levels)
            for name, levels in factors.items()
        ]
        for combination in itertools.product(*choices):
            labels.append(":".join(filter(None, (label for label, _ in combination))) or INTERCEPT)
            rows.append(_outer([row for _, row in combination]))
            orders.append(len(term))
            modelled.append(term in terms)
            by_stratum.append(term in varying)
    return Basis(
        {name: tuple(levels) for name, levels in factors.items()},
        tuple(labels),
        np.array(orders),
        np.array(rows),
        np.array(modelled),
        np.array(by_stratum),
    )


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
    key: str, formula: str | None, factors: Sequence[str], default: set[tuple[str, ...]]
) -> set[tuple[str, ...]]:
    """Every interaction that a formula names, the intercept included."""
    if formula is None:
        return default
    terms: set[tuple[str, ...]] = {()}
    for part in formula.split("+"):
        crossed = [[name.strip() for name in piece.split(":")] for piece in part.split("*")]
        for name in itertools.chain.from_iterable(crossed):
            if name not in factors:
                what = f"no factor {name!r}{nearest(name, factors)}" if name else "an empty part"
                msg = f"[model] {key} = {formula!r}: {what}; the factors are {list(factors)}"
                raise SpecError([msg])
        for chosen in _subsets([str(i) for i in range(len(crossed))])[1:]:
            used = {name for i in chosen for name in crossed[int(i)]}
            terms.add(tuple(name for name in factors if name in used))
    return terms
