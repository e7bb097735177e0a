"""Invalid input to a multicopter: the error names the argument; nothing changes."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import in_flight, refused

FLYING = in_flight(pw.Multicopter("flightgoggles", seed=1))
GOOD = pw.RotorSpeeds([1100.0] * 4)
ANY: dict[str, Any] = {"vehicle": "flightgoggles"}


@contextmanager
def unchanged(uav: pw.Multicopter = FLYING) -> Iterator[pw.Multicopter]:
    """Requires that the complete state remains bitwise unchanged."""
    before = uav.snapshot()
    yield uav
    assert uav.snapshot() == before


@pytest.mark.parametrize("value", [5, None, 3.5, b"blackbird", ["blackbird"], pw.Multicopter])
def test_non_vehicles_are_refused(value: Any) -> None:
    with refused("vehicle", value):
        pw.Multicopter(value)
    with refused("parameters", value):
        pw.validate(value)


def test_unknown_vehicle_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(pw.ParameterError, match="'blackbrid'; did you mean 'blackbird'"):
        pw.Multicopter("blackbrid")
    with pytest.raises(pw.ParameterError, match="expected a multicopter, this is a car"):
        pw.Multicopter("car")
    with pytest.raises(pw.ParameterError, match=r"absent\.toml"):
        pw.Multicopter("absent.toml")


@pytest.mark.parametrize("value", ["rk5", "RK4", "", 4, None, ["rk4"]])
def test_invalid_integrators_are_refused(value: Any) -> None:
    with refused("integrator", value):
        pw.Multicopter(integrator=value)


@pytest.mark.parametrize("argument", ["seed", "id"])
@pytest.mark.parametrize("value", [-1, 1.5, "1", None, math.nan, True, 2**64, [1]])
def test_invalid_seeds_and_ids_are_refused(argument: str, value: Any) -> None:
    with refused(argument, value):
        pw.Multicopter(**{**ANY, argument: value})


@pytest.mark.parametrize("argument", ["seed", "id"])
def test_numpy_integers_are_accepted_as_seed_and_id(argument: str) -> None:
    ours = pw.Multicopter(**{**ANY, argument: np.int64(3)})
    same = pw.Multicopter(**{**ANY, argument: 3})
    for uav in (ours, same):
        uav.step(GOOD)
    assert ours.snapshot() == same.snapshot()


@pytest.mark.parametrize("value", ["yes", None, math.nan, 2, []])
def test_noise_is_true_or_false(value: Any) -> None:
    with refused("noise", value):
        pw.Multicopter(noise=value)


@pytest.mark.parametrize(
    "value", ["up", None, 1000.0, [1000.0] * 4, pw.SpeedYawRate(1.0, 0.0), pw.RotorSpeeds]
)
def test_non_commands_are_refused(value: Any) -> None:
    with unchanged() as uav, refused("command", value, TypeError):
        uav.step(value)
    with unchanged() as uav, refused("command", value, TypeError):
        uav.rollout(value, steps=3)


def test_commands_of_other_shapes_are_refused() -> None:
    for speeds in ([1000.0], [1000.0] * 3, [1000.0] * 5):
        with unchanged() as uav, refused("speeds", speeds, ValueError):
            uav.step(pw.RotorSpeeds(speeds))
        with unchanged() as uav, refused("speeds", speeds, ValueError):
            uav.rollout(pw.RotorSpeeds([speeds, speeds]))
    rows = pw.RotorSpeeds(np.full((3, 4), 1000.0))
    with unchanged() as uav, pytest.raises(ValueError, match=r"command: expected one.*3 rows"):
        uav.step(rows)
    with unchanged() as uav, pytest.raises(ValueError, match=r"steps: expected 3.*got 5"):
        uav.rollout(rows, steps=5)
    with unchanged() as uav, pytest.raises(ValueError, match=r"steps: expected.*got None"):
        uav.rollout(GOOD)


@pytest.mark.parametrize("value", [0.0, -1e-3, math.nan, math.inf, "1", None, [0.001], True, 1j])
def test_invalid_time_steps_are_refused(value: Any) -> None:
    with unchanged() as uav, refused("dt", value):
        uav.step(GOOD, value)
    with unchanged() as uav, refused("dt", value):
        uav.rollout(GOOD, value, steps=2)


@pytest.mark.parametrize("value", [-1, 1.5, math.nan, "1", [1], True, 10**30, -(10**30)])
def test_invalid_counts_are_refused(value: Any) -> None:
    with unchanged() as uav, refused("substeps", value):
        uav.step(GOOD, substeps=value)
    with unchanged() as uav, refused("steps", value):
        uav.rollout(GOOD, steps=value)
    with unchanged() as uav, refused("substeps", value):
        uav.rollout(GOOD, steps=2, substeps=value)


def test_zero_rows_change_nothing() -> None:
    with unchanged() as uav:
        assert uav.rollout(GOOD, steps=0).position.shape == (0, 3)
        assert len(uav.rollout(pw.RotorSpeeds(np.zeros((0, 4))))) == 0
    with unchanged() as uav, refused("substeps", 0):
        uav.rollout(GOOD, steps=2, substeps=0)
    with unchanged() as uav, refused("substeps", 0):
        uav.step(GOOD, substeps=0)


PARTS: list[tuple[str, list[object]]] = [
    ("position", [[1.0, 2.0], [1.0, 2.0, math.nan], "abc", 3.0, [[1.0, 2.0, 3.0]], [1, 2, 3j]]),
    ("velocity", [[1.0], [math.inf, 0.0, 0.0], "abc", {}, [None] * 3]),
    ("attitude", [[1.0, 0.0, 0.0], [0.0] * 4, [2.0, 0, 0, 0], [math.nan, 0, 0, 1.0], "abcd"]),
    ("body_rates", [[1.0] * 4, [0.0, -math.inf, 0.0], object(), [[0.0], [1.0, 2.0], 3.0]]),
    (
        "rotor_speeds",
        [[1.0] * 3, [1.0] * 5, [-1.0] * 4, [1.0, 2.0, 3.0, 2201.0], [math.nan] * 4, "abcd", 1.0],
    ),
]


@pytest.mark.parametrize(
    ("part", "value"), [(part, value) for part, values in PARTS for value in values]
)
def test_invalid_parts_of_a_state_are_refused(part: str, value: Any) -> None:
    with unchanged() as uav, refused(part, value):
        uav.reset(**{part: value})
    state = FLYING.state
    setattr(state, part, value)
    with unchanged() as uav, refused(part, value):
        uav.reset(state)
    with unchanged() as uav, refused(part, value):
        uav.set_state(state)


@pytest.mark.parametrize("value", ["hover", 3.0, [0.0] * 13, pw.CarState()])
def test_invalid_state_values_are_refused(value: Any) -> None:
    with unchanged() as uav, refused("state", value):
        uav.reset(value)
    with unchanged() as uav, refused("state", value):
        uav.set_state(value)
    with unchanged() as uav, refused("snapshot", value):
        uav.restore(value)


def test_invalid_wind_and_voltage_are_refused() -> None:
    for wind in ([1.0, 2.0], [1.0, 2.0, math.nan], "abc", None, 3.0, [[1.0, 2.0, 3.0]]):
        with unchanged() as uav, refused("wind", wind):
            uav.wind = wind
    for voltage in (-1.0, math.nan, math.inf, "4", None, [4.0]):
        with unchanged() as uav, refused("battery_voltage", voltage):
            uav.battery_voltage = voltage


WRONG: list[tuple[str, str, object]] = [
    ("body", "mass", 0.0),
    ("body", "mass", -1.0),
    ("body", "mass", math.nan),
    ("body", "mass", 1e3),
    ("body", "inertia", (1.0, 1.0, -1.0)),
    ("body", "inertia", (0.001, 0.001, 0.01)),
    ("body", "inertia", ((1.0, 0.5, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))),
    ("body", "gravity", (0.0, 0.0, math.inf)),
    ("motor", "time_constant_up", 0.0),
    ("motor", "time_constant_down", -0.1),
    ("motor", "speed_min", 3000.0),
    ("motor", "speed_min", -math.inf),
    ("motor", "speed_max", math.inf),
    ("motor", "command_delay", -0.01),
    ("drag", "translational", -0.1),
    ("drag", "rotational", (0.1, -0.1, 0.1)),
    ("rotor_drag", "linear", (0.1, -0.1, 0.1)),
    ("rotor_drag", "blow_back", math.nan),
    ("inflow", "axial", -1e-4),
    ("inflow", "translational", math.inf),
    ("ground_effect", "radius", -0.1),
    ("ground_effect", "coefficient", -1.0),
    ("ground_effect", "height", math.nan),
    ("contact", "frequency", -1.0),
    ("contact", "damping", -0.1),
    ("contact", "friction", 20.0),
    ("contact", "leg", math.inf),
    ("battery", "nominal_voltage", -1.0),
    ("process_noise", "force", -1e-9),
    ("process_noise", "torque", math.inf),
    ("imu", "accelerometer_noise_density", -1.0),
    ("imu", "gyroscope_bias_walk", math.nan),
    ("imu", "attitude", (1.0, 1.0, 0.0, 0.0)),
    ("imu", "gyroscope_range", 0.0),
    ("imu", "rate", -5.0),
    ("rate_controller", "proportional", (1.0, -1.0, 1.0)),
    ("rate_controller", "integral_bound", math.inf),
]


@pytest.mark.parametrize(("table", "field", "value"), WRONG)
def test_invalid_vehicles_are_refused(table: str, field: str, value: Any) -> None:
    vehicle = pw.vehicles.load("flightgoggles").replace(**{table: {field: value}})
    named = "thrust at motor.speed_max" if value == 1e3 else f"{table}.{field}"
    for make in (pw.Multicopter, pw.validate, pw.Allocation, pw.RateController):
        with pytest.raises(pw.ParameterError) as caught:
            make(vehicle)
        assert named in str(caught.value)
        assert "expected" in str(caught.value)


def test_invalid_rotors_are_refused() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    rotor = vehicle.rotors[0]
    for field, value in [
        ("axis", (0.0, 0.0, 2.0)),
        ("axis", (0.0, 0.0, math.nan)),
        ("thrust_coefficient", 0.0),
        ("torque_coefficient", -1e-9),
        ("inertia", math.nan),
        ("position", (0.0, math.inf, 0.0)),
    ]:
        wrong = (vehicle.rotors[0], rotor.replace(**{field: value}), *vehicle.rotors[2:])
        with pytest.raises(pw.ParameterError, match=rf"rotors\[1\]\.{field}"):
            pw.Multicopter(vehicle.replace(rotors=wrong))
    for count in (0, 13):
        with pytest.raises(pw.ParameterError, match=rf"rotors.* = {count}: expected 1 to 12"):
            pw.Multicopter(vehicle.replace(rotors=(rotor,) * count))


DAMAGED = """
import propwash as pw, sys
uav = pw.Multicopter(sys.argv[1])
good = uav.snapshot()
start = len(good) % 8
for at in range(start, len(good), 8):
    for word in (b"\\xff" * 8, b"\\xff\\xff\\xff\\x7f" * 2, b"\\x00\\x10\\x00\\x80" * 2):
        damaged = good[:at] + word + good[at + 8 :]
        try:
            uav.restore(damaged)
            uav.step(pw.RotorSpeeds([500.0] * uav.rotors), steps=3)
            uav.state, uav.imu, uav.rotor_command, repr(uav)
        except (ValueError, TypeError):
            pass
        uav.restore(good)
        assert uav.snapshot() == good
"""


@pytest.mark.parametrize("name", ["crazyflie", "hexacopter"])
def test_damaged_snapshots_do_not_crash(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED, name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
