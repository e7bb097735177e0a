"""Sampled rate controllers as linear models, written as their difference equations."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from propwash.vehicle.multicopter import Array

Complex = NDArray[np.complex128]
_WIDTH = 34
"""Columns of a signal: 32 states, the commanded and the measured rate."""


class Controller(NamedTuple):
    """A sampled PID controller of one axis without its gains.

    x' = A x + B (r, y), signals = C x + D (r, y), with the commanded rate r and the body rate y.
    The gains P, I and D multiply the three signals; their sum is the demand.
    """

    A: Array
    """(M, M)."""
    B: Array
    """(M, 2)."""
    C: Array
    """(3, M)."""
    D: Array
    """(3, 2)."""

    def without_integral(self) -> Controller:
        """Returns it with an integral of zero, so that it has a response at frequency 0."""
        C, D = self.C.copy(), self.D.copy()
        C[1], D[1] = 0.0, 0.0
        needed = C.any(axis=0)
        while (used := needed | self.A[needed].any(axis=0)).sum() > needed.sum():
            needed = used
        return Controller(self.A[np.ix_(used, used)], self.B[used], C[:, used], D)

    def responses(self, z: Complex) -> Complex:
        """Returns the frequency responses from r and y to the signals, (3, 2, *z.shape)."""
        system = z[..., np.newaxis, np.newaxis] * np.eye(len(self.A)) - self.A
        inside = np.linalg.solve(system, np.broadcast_to(self.B, (*z.shape, *self.B.shape)))
        return np.asarray(np.moveaxis(self.C @ inside + self.D, (-2, -1), (0, 1)))


class DifferenceEquations:
    """Builds a Controller; a signal is the row of its factors of states, r and y.

    Each method adds an element and returns its output at the present sample.
    """

    def __init__(self, dt: float) -> None:
        self.dt = dt
        self.command, self.rate = np.eye(_WIDTH)[-2:]
        self._updates: list[Array] = []

    def before(self, signal: Array) -> Array:
        """The signal at the sample before."""
        self._updates.append(signal)
        return self._state(len(self._updates) - 1)

    def recursion(self, matrix: Array, column: Array, signal: Array) -> Array:
        """The states x of x = matrix (x before) + column signal."""
        first, count = len(self._updates), len(matrix)
        states = np.array([self._state(first + k) for k in range(count)])
        rows = matrix @ states + np.outer(column, signal)
        self._updates.extend(rows)
        return np.asarray(rows)

    def integral(self, signal: Array) -> Array:
        """The sum, with the present sample, times dt."""
        return np.asarray(self.recursion(np.eye(1), np.array([self.dt]), signal)[0])

    def derivative(self, signal: Array) -> Array:
        """The difference to the sample before over dt."""
        return (signal - self.before(signal)) / self.dt

    def low_pass(self, signal: Array, cutoff: float) -> Array:
        """First order, by the backward difference. cutoff: Hz."""
        a = self.dt / (self.dt + 1.0 / (2.0 * math.pi * cutoff))
        return np.asarray(self.recursion(np.array([[1.0 - a]]), np.array([a]), signal)[0])

    def low_pass_2(self, signal: Array, cutoff: float) -> Array:
        """Second-order Butterworth filter, bilinear with the cutoff [Hz] at its place."""
        w = math.tan(math.pi * cutoff * self.dt)
        c = 1.0 + math.sqrt(2.0) * w + w * w
        a1, a2 = 2.0 * (w * w - 1.0) / c, (1.0 - math.sqrt(2.0) * w + w * w) / c
        oldest = self._state(len(self._updates) + 1)
        new, old = self.recursion(np.array([[-a1, -a2], [1.0, 0.0]]), np.array([1.0, 0.0]), signal)
        return np.asarray((new + 2.0 * old + oldest) * w * w / c)

    def controller(self, proportional: Array, integral: Array, derivative: Array) -> Controller:
        """The controller whose gains multiply these signals. Raises ValueError beyond 32 states."""
        count = len(self._updates)
        if count > _WIDTH - 2:
            raise ValueError(f"expected at most {_WIDTH - 2} states, got {count}; omit elements")
        rows = np.array([*self._updates, proportional, integral, derivative])
        inner, outer = rows[:, :count], rows[:, -2:]
        return Controller(inner[:count], outer[:count], inner[count:], outer[count:])

    @staticmethod
    def _state(number: int) -> Array:
        return np.asarray(np.eye(_WIDTH)[number])
