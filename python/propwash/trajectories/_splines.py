"""Piecewise polynomials that minimise the integral of a squared derivative through points.

The unconstrained form of Richter, Bry and Roy, "Polynomial trajectory planning for aggressive
quadrotor flight in dense indoor environments", ISRR 2013 (Springer 2016): the unknowns are the
derivatives at the points, which neighbouring pieces share, and those that are not given follow from
a sparse linear least-squares problem.
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
    """Which derivative is minimised, and how many each end of a piece has, with its value."""

    minimised: int
    ends: int


SNAP = Kind(4, 5)
"""Degree 9, so that snap is continuous too."""
BEND = Kind(2, 3)
"""Of yaw: its acceleration, degree 5, which is continuous."""


@cache
def _unit(kind: Kind) -> tuple[Array, Array]:
    """For a piece of length 1: its coefficients from its end derivatives, and the cost's root.

    End derivatives: those at 0 in their order, then those at 1. The cost is the squared length of
    the root times them: the derivative at Gauss' places, which integrate its square exactly.
    """
    ends, count, order = kind.ends, 2 * kind.ends, kind.minimised
    rows = np.zeros((count, count))
    for k in range(ends):
        rows[k, k] = factorial(k)
        for j in range(k, count):
            rows[ends + k, j] = factorial(j) / factorial(j - k)
    to_coefficients = np.asarray(np.linalg.inv(rows), dtype=np.float64)
    places, weights = np.polynomial.legendre.leggauss(count - order)
    share = 0.5 * (places + 1.0)
    falling = np.array([factorial(j) / factorial(j - order) for j in range(order, count)])
    powers = share[:, None] ** np.arange(count - order) * falling
    return to_coefficients, np.sqrt(0.5 * weights)[:, None] * powers @ to_coefficients[order:]


def derivatives(spline: PPoly, time: Array, orders: int) -> Array:
    """The value of a spline and its derivatives at times within the knots, (orders, *S, w)."""
    return np.stack([spline(time, order) for order in range(orders)])


class Problem:
    """Values through which to go, and what else is known of them.

    given: (m, ends, w), the value and its derivatives at each point; what is NaN is free, for all w
    alike; no value is. closed: the last piece leads back to the first point.
    """

    def __init__(self, kind: Kind, given: Array, closed: bool) -> None:
        self.kind, self.given, self.closed = kind, given, closed
        self.pieces = len(given) if closed else len(given) - 1
        starts = np.arange(self.pieces)
        nodes = np.stack([starts, (starts + 1) % len(given)], axis=1)
        slots = nodes[:, :, None] * kind.ends + np.arange(kind.ends)
        self.slots = slots.reshape(self.pieces, 2 * kind.ends)
        """(K, 2 ends): where in all unknowns the end derivatives of a piece are."""
        self._free = ~np.isfinite(given).all(axis=2).reshape(-1)

    def solve(self, lengths: Array) -> tuple[Array, float, Array]:
        """For pieces of these lengths [s]: end derivatives (K, 2 ends, w), cost and its gradient.

        The end derivatives are in units of their piece's length, values from that at its start.
        cost: the integral of the squared derivative. gradient: (K,), of it by lengths.
        """
        kind, free = self.kind, self._free
        root = _unit(kind)[1]
        order = np.tile(np.arange(kind.ends), 2)
        power = 1 - 2 * kind.minimised
        # in units of the mean length all derivatives are of like size
        mean = float(np.mean(lengths))
        scale = (lengths[:, None] / mean) ** order
        weight = (lengths / mean) ** (0.5 * power)
        size, width = len(free), self.given.shape[2]
        values = (
            self.given.reshape(size, width)
            * np.tile(mean ** np.arange(kind.ends), len(self.given))[:, None]
        )
        values[free] = 0.0
        parts = weight[:, None, None] * root * scale[:, None, :]
        known = values[self.slots]
        known[:, [0, kind.ends]] -= known[:, :1].copy()
        if free.any():
            right = -np.einsum("kgi,kiw->kgw", parts, known)
            values[free] = self._least_squares(parts, right)
            found = np.where(free[self.slots][:, :, None], values[self.slots], known)
        else:
            found = known
        ends = found * scale[:, :, None]
        pressed = np.einsum("gi,kiw->kgw", root, ends)
        each = np.sum(pressed**2, axis=(1, 2)) * weight**2
        # by the lengths of a piece at the optimum, its end derivatives held
        moved = np.einsum("gi,kiw->kgw", root * order, ends)
        stretched = 2.0 * weight**2 * np.sum(pressed * moved, axis=(1, 2))
        gradient = (power * each + stretched) / lengths
        return ends, mean**power * float(np.sum(each)), mean**power * gradient

    def spline(self, lengths: Array, ends: Array | None = None) -> PPoly:
        """The pieces that cost least. ends: what solve() found, where it is known."""
        from scipy.interpolate import PPoly

        if ends is None:
            ends = self.solve(lengths)[0]
        knots = np.concatenate([[0.0], np.cumsum(lengths)])
        coefficients = np.einsum("ij,kjw->ikw", _unit(self.kind)[0], ends)
        coefficients[0] += self.given[: self.pieces, 0]
        coefficients /= lengths[:, None] ** np.arange(2 * self.kind.ends)[:, None, None]
        return PPoly(coefficients[::-1], knots)

    def _least_squares(self, parts: Array, right: Array) -> Array:
        """The free unknowns (f, w) that bring parts (K, g, 2 ends) @ x nearest to right (K, g, w).

        By the augmented system, whose unknowns are the residuals too, in units of 1e-3: pieces of
        unlike lengths make equations of unlike sizes, which normal equations would square.
        """
        from scipy.sparse import block_array, coo_array, eye_array
        from scipy.sparse.linalg import splu

        columns = np.broadcast_to((np.cumsum(self._free) - 1)[self.slots][:, None], parts.shape)
        rows = np.broadcast_to(
            np.arange(right[..., 0].size).reshape(*right.shape[:2], 1), parts.shape
        )
        is_free = np.broadcast_to(self._free[self.slots][:, None], parts.shape)
        matrix = coo_array((parts[is_free], (rows[is_free], columns[is_free]))).tocsc()
        length = np.sqrt(matrix.power(2).sum(axis=0))
        matrix = matrix / length
        count, free = matrix.shape
        weights = 1e-3 * eye_array(count)
        system = block_array([[weights, matrix], [matrix.T, None]], format="csc")
        known = np.concatenate([right.reshape(count, -1), np.zeros((free, right.shape[2]))])
        return np.asarray(splu(system).solve(known)[count:] / length[:, None])

    def cost(self, lengths: Array, ends: Array) -> float:
        """The integral for given end derivatives (K, 2 ends, w), in units as solve() has them."""
        weight = lengths ** (1 - 2 * self.kind.minimised)
        pressed = np.einsum("gi,kiw->kgw", _unit(self.kind)[1], ends)
        return float(np.sum(weight * np.sum(pressed**2, axis=(1, 2))))
