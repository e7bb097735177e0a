"""Steady flights and the derivative of any state."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest


def test_trim_without_arguments_is_hover() -> None:
    uav = pw.Multicopter("penguin", noise=False)
    hover, steady = uav.trim(), uav.trim(velocity=0.0)
    assert hover.attitude.tolist() == [1.0, 0.0, 0.0, 0.0]
    assert np.allclose(hover.rotor_speeds, steady.rotor_speeds, rtol=1e-12)
    uav.wind = (1.0, 2.0, 0.0)
    assert uav.trim().velocity.tolist() == [0.0, 0.0, 0.0]
    assert uav.trim(velocity=1.0).velocity.tolist() == [2.0, 2.0, 0.0]  # relative to the air


@pytest.mark.parametrize(
    ("flight", "error", "expected"),
    [
        (
            {"velocity": 60.0},
            pw.ParameterError,
            r"velocity = 60 m/s.*speed of rotors\[\d\] = .*limit of the motor",
        ),
        ({"velocity": 5.0, "yaw_rate": 12.0}, pw.ParameterError, "limit of the motor"),
        ({"velocity": np.nan}, ValueError, "velocity: expected a finite number"),
        ({"climb": "fast"}, ValueError, "climb: expected a finite number"),
        ({"yaw_rate": [1.0]}, ValueError, "yaw_rate: expected a finite number"),
    ],
)
def test_infeasible_flights_are_refused(
    flight: dict[str, Any], error: type[Exception], expected: str
) -> None:
    with pytest.raises(error, match=expected):
        pw.Multicopter("flightgoggles").trim(**flight)


def test_the_derivative_refuses_invalid_arguments() -> None:
    uav = pw.Multicopter("flightgoggles")
    hover = uav.trim()
    speeds = pw.RotorSpeeds(hover.rotor_speeds)
    wrong: list[tuple[Any, ...]] = [(hover,), (None, speeds), (hover, pw.RateThrust([0, 0, 0], 1))]
    for arguments in wrong:
        with pytest.raises(TypeError, match="expected no arguments, or a MulticopterState and"):
            uav.derivative(*arguments)
    with pytest.raises(TypeError, match="state: expected a MulticopterState"):
        uav.derivative(3, speeds)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="speeds: expected 4 rotor speeds"):
        uav.derivative(hover, pw.RotorSpeeds([1.0, 2.0]))
    with pytest.raises(ValueError, match="expected one command"):
        uav.derivative(hover, pw.RotorSpeeds(np.ones((3, 4))))
    hover.velocity = np.array([np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match="velocity: expected"):
        uav.derivative(hover, speeds)
