"""The integrators with custom systems."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array, refused, wrong

OMEGA = 3.0


class Oscillator:
    """An undamped oscillator, driven by a force."""

    def derivative(self, state: Array, command: float) -> list[float]:
        position, velocity = state
        return [velocity, command - OMEGA**2 * position]


def test_the_state_is_not_modified_and_the_result_is_new() -> None:
    start = np.array([1.0, 0.0])
    end = pw.integrate.step(Oscillator(), start, 0.0, 0.1)
    assert start.tolist() == [1.0, 0.0]
    assert not np.shares_memory(start, end)
    same = pw.integrate.step(Oscillator(), start, 0.0, 0.1, steps=0)
    assert same.tolist() == [1.0, 0.0]
    assert not np.shares_memory(start, same)


def test_several_steps_equal_several_calls() -> None:
    state = np.array([1.0, 0.0])
    for _ in range(7):
        state = pw.integrate.step(Oscillator(), state, 0.5, 0.01)
    assert np.array_equal(state, pw.integrate.step(Oscillator(), [1.0, 0.0], 0.5, 0.01, steps=7))


def test_exceptions_of_the_derivative_propagate() -> None:
    class Broken:
        def derivative(self, state: Array, command: Any) -> Array:
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        pw.integrate.step(Broken(), [1.0], None, 0.1)


def test_any_object_with_a_derivative_satisfies_the_protocol() -> None:
    assert isinstance(Oscillator(), pw.integrate.System)
    assert not isinstance(object(), pw.integrate.System)


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize(
    "state", [[math.nan, 0.0], [math.inf, 0.0], [[1.0, 0.0]], 1.0, "ab", None, ["a", "b"], [1j, 0]]
)
def test_invalid_states_are_refused(state: Any, steps: int) -> None:
    with refused("state", state):
        pw.integrate.step(Oscillator(), state, 0.0, 0.1, steps)


def test_invalid_arguments_are_refused() -> None:
    for dt in wrong(0.0, -0.1, math.nan, math.inf, "1", None, [0.1]):
        with refused("dt", dt):
            pw.integrate.step(Oscillator(), [1.0, 0.0], 0.0, dt)
    for steps in wrong(-1, 1.5, math.nan, "1", None, True):
        with refused("steps", steps):
            pw.integrate.step(Oscillator(), [1.0, 0.0], 0.0, 0.1, steps)
    for method in wrong("symplectic_euler", "heun", 4, None):
        with refused("method", method):
            pw.integrate.step(Oscillator(), [1.0, 0.0], 0.0, 0.1, method=method)
    for system in wrong(3, None, "car", object(), Oscillator, pw.Multicopter):
        with refused("system", system):
            pw.integrate.step(system, [1.0, 0.0], 0.0, 0.1)


@pytest.mark.parametrize("result", [[1.0], [math.nan, 0.0], "ab", None, 3.0, [[1.0, 2.0]]])
def test_invalid_results_of_the_system_are_refused(result: Any) -> None:
    class Wrong:
        def derivative(self, state: Array, command: Any) -> Any:
            return result

    class WrongProjection(Oscillator):
        def project(self, state: Array) -> Any:
            return result

    with refused("derivative", result):
        pw.integrate.step(Wrong(), [1.0, 0.0], 0.0, 0.1)
    with refused("project", result):
        pw.integrate.step(WrongProjection(), [1.0, 0.0], 0.0, 0.1)
