"""Steady flights and the derivative of any state."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie", "hexacopter"])
@pytest.mark.parametrize("flight", [{"velocity": 4.0}, {"climb": -1.0}, {"yaw_rate": 2.0}, {}])
def test_trim_is_steady_in_the_rotating_frame(vehicle: str, flight: dict[str, float]) -> None:
    uav = pw.Multicopter(vehicle, noise=False)
    flight = {"velocity": 3.0, "climb": 0.5, "yaw_rate": -0.8} | flight
    state = uav.trim(**flight)
    rate = uav.derivative(state, pw.RotorSpeeds(state.rotor_speeds))
    expected = np.cross([0.0, 0.0, flight["yaw_rate"]], state.velocity)
    assert np.allclose(rate.velocity, expected, rtol=0, atol=1e-9)
    assert np.allclose(rate.body_rates, 0.0, rtol=0, atol=1e-9)
    assert np.allclose(rate.rotor_speeds, 0.0, rtol=0, atol=1e-9)
    assert state.velocity.tolist() == [flight["velocity"], 0.0, flight["climb"]]


def test_a_flight_from_trim_stays_on_its_circle() -> None:
    uav = pw.Multicopter("blackbird", noise=False)
    velocity, climb, yaw_rate = 5.0, 0.5, 0.7
    start = uav.trim(velocity=velocity, climb=climb, yaw_rate=yaw_rate)
    uav.reset(start)
    flight = uav.rollout(pw.RotorSpeeds(start.rotor_speeds), dt=1 / 960, steps=9600)
    angle, radius = yaw_rate * flight.time, velocity / yaw_rate
    path = np.stack(
        [radius * np.sin(angle), radius * (1.0 - np.cos(angle)), climb * flight.time], axis=1
    )
    assert np.max(np.abs(flight.position - path)) < 1e-7


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


def test_the_derivative_equals_the_slope_of_a_short_step() -> None:
    uav = pw.Multicopter("crazyflie", noise=False)
    uav.wind = (1.0, -0.5, 0.2)
    state = uav.trim(velocity=2.0)
    state.body_rates = np.array([0.3, -0.2, 1.0])
    speeds = state.rotor_speeds * [1.1, 0.9, 1.0, 5.0]  # the last is beyond its limit
    before = uav.snapshot()
    rate = uav.derivative(state, pw.RotorSpeeds(speeds))
    assert uav.snapshot() == before
    vehicle = uav.parameters.replace(motor={"command_delay": 0.0})
    other = pw.Multicopter(vehicle, noise=False)
    other.wind = (1.0, -0.5, 0.2)
    other.reset(state)
    h = 1e-7
    other.step(pw.RotorSpeeds(speeds), dt=h)
    for name in ("position", "velocity", "attitude", "body_rates", "rotor_speeds"):
        slope = (getattr(other.state, name) - getattr(state, name)) / h
        assert np.allclose(getattr(rate, name), slope, rtol=1e-4, atol=1e-2), name


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
