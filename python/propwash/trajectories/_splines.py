"""Piecewise polynomials through points that minimise the integral of a squared derivative.

The unconstrained form of Richter, Bry and Roy, "Polynomial trajectory planning for aggressive
quadrotor flight in dense indoor environments", ISRR 2013 (Springer 2016): the unknowns are the
derivatives at the points, which adjacent segments have in common. Those that are not prescribed are
the solution of a sparse linear least-squares problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """Order of the minimised derivative; number of derivatives per segment end (with order 0)."""

    minimised: int
    ends: int


SNAP = Kind(4, 5)
"""Position: degree 9, with continuous snap."""
ACCELERATION = Kind(2, 3)
"""Yaw: minimises the squared acceleration; degree 5, with continuous acceleration."""


@cache
def _unit(kind: Kind) -> tuple[Array, Array]:
    """For a segment of length 1: matrices from end derivatives to coefficients and to residuals.

    End derivatives: by order at 0, then at 1. The cost is the squared norm of the residuals, which
    are the weighted values of the derivative at Gauss nodes; the quadrature is exact.
    """
    ends, count, order = kind.ends, 2 * kind.ends, kind.minimised
    rows = np.zeros((count, count))
    for k in range(ends):
        rows[k, k] = factorial(k)
        for j in range(k, count):
            rows[ends + k, j] = factorial(j) / factorial(j - k)
    to_coefficients = np.asarray(np.linalg.inv(rows), dtype=np.float64)
    gauss_nodes, weights = np.polynomial.legendre.leggauss(count - order)
    times = 0.5 * (gauss_nodes + 1.0)
    falling = np.array([factorial(j) / factorial(j - order) for j in range(order, count)])
    powers = times[:, None] ** np.arange(count - order) * falling
    return to_coefficients, np.sqrt(0.5 * weights)[:, None] * powers @ to_coefficients[order:]


def hermite(knots: Array, ends: Array) -> PPoly:
    """The spline of degree 2 e - 1 with prescribed derivatives at both ends of each segment.

    ends: (K, 2 e, w), value to derivative e - 1 at the start of the segment, then at its end.
    """
    from scipy.interpolate import PPoly

    count, lengths = ends.shape[1] // 2, np.diff(knots)
    scale = lengths[:, None] ** np.tile(np.arange(count), 2)
    unit = _unit(Kind(count - 1, count))[0]
    coefficients = np.einsum("ij,kjw->ikw", unit, ends * scale[:, :, None])
    coefficients /= lengths[:, None] ** np.arange(2 * count)[:, None, None]
    return PPoly(coefficients[::-1], knots)


def derivatives(spline: PPoly, time: Array, orders: int) -> Array:
    """(orders, *S, w): the value and derivatives of a spline at times within its knots."""
    return np.stack([spline(time, order) for order in range(orders)])


class SplineProblem:
    """A minimisation problem: values and derivatives prescribed at points.

    constraints: (m, ends, w), the value and derivatives at each point. Values are finite; free
    derivatives are NaN in all w components. closed: the last segment ends at the first point.
    """

    def __init__(self, kind: Kind, constraints: Array, closed: bool) -> None:
        self.kind, self.constraints, self.closed = kind, constraints, closed
        self.segments = len(constraints) if closed else len(constraints) - 1
        starts = np.arange(self.segments)
        nodes = np.stack([starts, (starts + 1) % len(constraints)], axis=1)
        slots = nodes[:, :, None] * kind.ends + np.arange(kind.ends)
        self.slots = slots.reshape(self.segments, 2 * kind.ends)
        """(K, 2 ends): indices of the end derivatives of each segment among those of all points."""
        self._free = ~np.isfinite(constraints).all(axis=2).reshape(-1)

    def solve(self, lengths: Array) -> tuple[Array, float, Array]:
        """For segment lengths [s]: returns end derivatives (K, 2 ends, w), cost and gradient.

        End derivatives are with respect to time / length; values are relative to the segment's
        start. cost: the integral of the squared derivative. gradient: (K,), by lengths.
        """
        kind, free = self.kind, self._free
        root = _unit(kind)[1]
        order = np.tile(np.arange(kind.ends), 2)
        power = 1 - 2 * kind.minimised
        # with time in units of the mean length, all derivatives have similar magnitudes
        mean = float(np.mean(lengths))
        scale = (lengths[:, None] / mean) ** order
        weight = (lengths / mean) ** (0.5 * power)
        size, width = len(free), self.constraints.shape[2]
        values = (
            self.constraints.reshape(size, width)
            * np.tile(mean ** np.arange(kind.ends), len(self.constraints))[:, None]
        )
        values[free] = 0.0
        blocks = weight[:, None, None] * root * scale[:, None, :]
        known = values[self.slots]
        known[:, [0, kind.ends]] -= known[:, :1].copy()
        if free.any():
            targets = -np.einsum("kgi,kiw->kgw", blocks, known)
            values[free] = self._least_squares(blocks, targets)
            solution = np.where(free[self.slots][:, :, None], values[self.slots], known)
        else:
            solution = known
        ends = solution * scale[:, :, None]
        residuals = np.einsum("gi,kiw->kgw", root, ends)
        costs = np.sum(residuals**2, axis=(1, 2)) * weight**2
        # at the optimum, the gradient is that for constant derivatives at the points
        changes = np.einsum("gi,kiw->kgw", root * order, ends)
        from_ends = 2.0 * weight**2 * np.sum(residuals * changes, axis=(1, 2))
        gradient = (power * costs + from_ends) / lengths
        return ends, mean**power * float(np.sum(costs)), mean**power * gradient

    def spline(self, lengths: Array, ends: Array | None = None) -> PPoly:
        """The optimal spline. ends: the end derivatives from solve(), if already computed."""
        from scipy.interpolate import PPoly

        if ends is None:
            ends = self.solve(lengths)[0]
        knots = np.concatenate([[0.0], np.cumsum(lengths)])
        coefficients = np.einsum("ij,kjw->ikw", _unit(self.kind)[0], ends)
        coefficients[0] += self.constraints[: self.segments, 0]
        coefficients /= lengths[:, None] ** np.arange(2 * self.kind.ends)[:, None, None]
        return PPoly(coefficients[::-1], knots)

    def _least_squares(self, blocks: Array, targets: Array) -> Array:
        """The least-squares solution (f, w) of blocks (K, g, 2 ends) @ x = targets (K, g, w).

        Solves the augmented system, which has the residuals (scaled by 1e-3) as further unknowns:
        normal equations would square the condition number, which is large for unequal lengths.
        """
        from scipy.sparse import block_array, coo_array, eye_array
        from scipy.sparse.linalg import splu

        columns = np.broadcast_to((np.cumsum(self._free) - 1)[self.slots][:, None], blocks.shape)
        rows = np.broadcast_to(
            np.arange(targets[..., 0].size).reshape(*targets.shape[:2], 1), blocks.shape
        )
        is_free = np.broadcast_to(self._free[self.slots][:, None], blocks.shape)
        matrix = coo_array((blocks[is_free], (rows[is_free], columns[is_free]))).tocsc()
        length = np.sqrt(matrix.power(2).sum(axis=0))
        matrix = matrix / length
        count, free = matrix.shape
        weights = 1e-3 * eye_array(count)
        system = block_array([[weights, matrix], [matrix.T, None]], format="csc")
        known = np.concatenate([targets.reshape(count, -1), np.zeros((free, targets.shape[2]))])
        return np.asarray(splu(system).solve(known)[count:] / length[:, None])

    def cost(self, lengths: Array, ends: Array) -> float:
        """The cost for end derivatives (K, 2 ends, w) in the units of solve()."""
        weight = lengths ** (1 - 2 * self.kind.minimised)
        residuals = np.einsum("gi,kiw->kgw", _unit(self.kind)[1], ends)
        return float(np.sum(weight * np.sum(residuals**2, axis=(1, 2))))
