"""Coordinates in which the posterior of a covariance is nearly a standard normal.

A posterior of Σ from N units is close to an inverse Wishart about its estimate Σ̂. Written as
L = L̂ C⁻¹ with L̂ L̂ᵀ = Σ̂, the entries of the lower triangle C are then nearly independent, all
with an sd near 1/√N. Where strata differ in spread, what the data know is L times the geometric
mean of s over units: so that is what takes the place of L. The prior stays what it was; only the
coordinates that the sampler sees depend on the data.

Where hardly anyone has some cell, what the data leave open is that cell's row of a factor of the
covariance of cells, if the cell comes last. So there L̂ is the factor in that order of cells, turned
into effects, and L the Cholesky factor of what comes out.

Invariant: a bijection onto lower triangles with a positive diagonal, with the log determinant of
its Jacobian. Pinned by `tests/test_cell_model.py`.
"""

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.distributions.transforms import LogExpM1, Transform
from pytensor.tensor.linalg import solve_triangular

Floats = NDArray[np.float64]
Graph = Any  # a PyTensor variable; numpy arrays do as well


class Softplus(LogExpM1):
    """A positive number as the softplus of a real one, which has no funnel near zero."""

    name = "softplus"  # one word: PyMC cuts a transform's name off at the last underscore


def factor_prior(eta: Graph, sd: Graph, size: int, name: str | None = None) -> Graph:
    """Prior of a packed Cholesky factor: LKJ correlations, half-normal sds.

    With a name, a variable of the model in whose context it is called.
    """
    of = {"n": size, "eta": eta, "sd_dist": pm.HalfNormal.dist(sigma=sd, shape=size)}
    if name is None:
        return pm.LKJCholeskyCov.dist(**of, compute_corr=False)
    return pm.LKJCholeskyCov(name, **of, compute_corr=False)


def unpacked(packed: Graph, size: int) -> Graph:
    """The lower triangle that a packed one holds: shape (size, size)."""
    return pt.zeros((size, size))[np.tril_indices(size)].set(packed)


def whitened_factor(
    name: str,
    reference: Graph,
    count: Graph,
    log_spread: Graph,
    eta: Graph,
    sd: Graph,
    size: int,
    turn: Floats | None = None,
) -> Graph:
    """A packed Cholesky factor with the prior of `factor_prior`, in whitened coordinates.

    Parameters
    ----------
    name : str
    reference : tensor of shape (size (size + 1) / 2,)
        L̂, or what `turn` is multiplied by for it, packed by rows; its diagonal is positive.
    count, log_spread : tensor of shape (strata,)
        Units of each stratum and log s.
    eta : scalar tensor
        Of the prior.
    sd : tensor of shape (size,)
        Of the prior.
    size : int
    turn : ndarray of shape (size, size), optional
        Turns the frame in which the reference is triangular into that of L.

    Returns
    -------
    tensor of shape (size (size + 1) / 2,)
    """

    def log_prior(value: Graph, *parameters: Graph) -> Graph:
        return pm.logp(factor_prior(parameters[-2], parameters[-1], size), value)

    def start(_: Graph, __: Graph, reference: Graph, *___: Graph) -> Graph:
        if turn is None:
            return reference
        return _factor_of(turn @ unpacked(reference, size))[np.tril_indices(size)]

    return pm.CustomDist(
        name,
        reference,
        count,
        log_spread,
        eta,
        sd,
        logp=log_prior,
        support_point=start,
        signature="(m),(g),(g),(),(k)->(m)",
        default_transform=_Whitened(size) if turn is None else _Turned(size, turn),
    )


class _Whitened(Transform):
    """√N times the packed C, its diagonal in logs; L̂, counts and log s come with the variable."""

    name = "whitened"
    ndim_supp = 1

    def __init__(self, size: int) -> None:
        self.size, self.diagonal = size, np.diag_indices(size)

    def forward(self, value: Graph, *inputs: Graph) -> Graph:
        reference, root, shift = self._given(inputs)
        ratio = solve_triangular(reference, unpacked(value, self.size), lower=True) / pt.exp(shift)
        between = solve_triangular(ratio, pt.eye(self.size), lower=True)
        logs = between[self.diagonal].set(pt.log(between[self.diagonal]))
        return logs[np.tril_indices(self.size)] * root

    def backward(self, value: Graph, *inputs: Graph) -> Graph:
        reference, root, shift = self._given(inputs)
        logs = unpacked(value / root, self.size)
        between = logs[self.diagonal].set(pt.exp(logs[self.diagonal]))
        inverse = solve_triangular(between, pt.eye(self.size), lower=True)
        return (pt.exp(shift) * reference @ inverse)[np.tril_indices(self.size)]

    def log_jac_det(self, value: Graph, *inputs: Graph) -> Graph:
        reference, root, shift = self._given(inputs)
        rows = np.arange(1, self.size + 1)
        logs = (value / root)[np.cumsum(rows) - 1]
        constant = (rows * pt.log(pt.diag(reference))).sum() - rows.sum() * pt.log(root)
        return constant + rows.sum() * shift - self.size * logs.sum()

    def _given(self, inputs: tuple[Graph, ...]) -> tuple[Graph, Graph, Graph]:
        """L̂, √N and the log of L over its whitened size."""
        _, _, reference, count, log_spread, *_ = inputs  # after a generator and a size
        units = count.sum()
        shift = -(count * log_spread).sum() / units
        return unpacked(reference, self.size), pt.sqrt(units), shift


class _Turned(_Whitened):
    """The same with L the Cholesky factor of L̂ C⁻¹ (L̂ C⁻¹)ᵀ, L̂ being a turned triangle."""

    def __init__(self, size: int, turn: Floats) -> None:
        super().__init__(size)
        self.turn, self.back = turn, np.linalg.inv(turn)

    def forward(self, value: Graph, *inputs: Graph) -> Graph:
        turned = _factor_of(self.back @ unpacked(value, self.size))
        return super().forward(turned[np.tril_indices(self.size)], *inputs)

    def backward(self, value: Graph, *inputs: Graph) -> Graph:
        triangle = unpacked(super().backward(value, *inputs), self.size)
        return _factor_of(self.turn @ triangle)[np.tril_indices(self.size)]

    def log_jac_det(self, value: Graph, *inputs: Graph) -> Graph:
        before = super().backward(value, *inputs)
        triangle = unpacked(before, self.size)
        after = _factor_of(self.turn @ triangle)
        falling = np.arange(self.size, 0, -1)
        logs = pt.log(pt.diag(triangle)) - pt.log(pt.diag(after))
        constant = (self.size + 1) * np.linalg.slogdet(self.turn)[1]
        return super().log_jac_det(value, *inputs) + constant + (falling * logs).sum()


def _factor_of(root: Graph) -> Graph:
    """Cholesky factor of the square of a matrix."""
    return pt.linalg.cholesky(root @ root.T)
