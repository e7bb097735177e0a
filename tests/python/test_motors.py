"""Different motors, rotor effectiveness, and external forces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.vehicle import parameters

DT = 1.0 / 960.0
DIFFERENT = {
    "time_constant_up": (0.02, 0.03, 0.04, 0.05),
    "time_constant_down": (0.05, 0.04, 0.03, 0.02),
    "speed_max": (1500.0, 1600.0, 1700.0, 1800.0),
}
ROTOR_FILE = """
name = "mine"
[body]
mass = 1.0
inertia = [0.005, 0.005, 0.007]
[rotor]
thrust_coefficient = 2e-6
{rotors}
[motor]
{motor}
"""


def different_motors() -> pw.VehicleParameters:
    """The default quadcopter with different motors."""
    return pw.vehicles.load("flightgoggles").replace(motor=DIFFERENT)


def file_of(path: Path, motor: str, *rotor_lines: str) -> Path:
    """A vehicle file with the lines of the table [motor] and of each [[rotors]]."""
    positions = ((0.1, 0.1), (-0.1, 0.1), (-0.1, -0.1), (0.1, -0.1))
    rotors = [
        f'[[rotors]]\nposition = [{x}, {y}, 0.0]\nspin = "{spin}"\n{lines}\n'
        for (x, y), spin, lines in zip(
            positions, ("ccw", "cw") * 2, rotor_lines or ("",) * 4, strict=True
        )
    ]
    path.write_text(ROTOR_FILE.format(rotors="".join(rotors), motor=motor), encoding="utf-8")
    return path


def test_motors_can_be_specified_with_their_rotors_in_a_file(tmp_path: Path) -> None:
    lists = file_of(
        tmp_path / "lists.toml",
        "time_constant_up = [0.01, 0.02, 0.03, 0.04]\ntime_constant_down = 0.05\n"
        "speed_max = [2000.0, 2100.0, 2000.0, 2000.0]",
    )
    each = [f"time_constant_up = {t}" for t in (0.01, 0.02, 0.03, 0.04)]
    each[1] += "\nspeed_max = 2100.0"
    with_rotors = file_of(
        tmp_path / "rotors.toml", "time_constant_down = 0.05\nspeed_max = 2000.0", *each
    )
    vehicle = pw.vehicles.load(lists)
    assert vehicle == pw.vehicles.load(with_rotors)
    assert vehicle.motor.time_constant_up == (0.01, 0.02, 0.03, 0.04)
    assert vehicle.motor.speed_max == (2000.0, 2100.0, 2000.0, 2000.0)
    path = tmp_path / "written.toml"
    path.write_text(vehicle.to_toml(), encoding="utf-8")
    assert pw.vehicles.load(path) == vehicle
    both = file_of(tmp_path / "both.toml", "speed_max = 2000.0", *["time_constant = 0.02"] * 4)
    assert pw.vehicles.load(both).motor.time_constant_down == (0.02,) * 4


@pytest.mark.parametrize(
    ("motor", "each", "message"),
    [
        ("time_constant = 0.02", ["speed_max = 2000.0", "", "", ""], r"rotors\[1\].speed_max is"),
        (
            "time_constant = 0.02\nspeed_max = [1.0, 2.0]",
            [""] * 4,
            "number of values = 2: expected 1",
        ),
        (
            "time_constant = 0.02\nspeed_max = [1.0, 2.0, 3.0, 4.0]",
            ["speed_max = 2000.0", "", "", ""],
            r"motor.speed_max has a number for each rotor, and so has \[\[rotors\]\]",
        ),
        ('time_constant = 0.02\nspeed_max = [1.0, "b", 3.0, 4.0]', [""] * 4, "one for each rotor"),
        ("speed_max = 2000.0", [""] * 4, "motor.time_constant is missing"),
        (
            "speed_max = 2000.0",
            ["time_constant = 0.02\ntime_constant_up = 0.02", "", "", ""],
            r"rotors\[0\].time_constant and rotors\[0\].time_constant_up are both given",
        ),
    ],
)
def test_motors_that_do_not_fit_their_rotors_are_refused(
    tmp_path: Path, motor: str, each: list[str], message: str
) -> None:
    path = file_of(tmp_path / "bad.toml", motor, *each)
    with pytest.raises(parameters.ParameterError, match=message):
        pw.Multicopter(path)


def test_thrust_and_weight_of_a_vehicle() -> None:
    vehicle = different_motors()
    k = vehicle.rotors[0].thrust_coefficient
    assert vehicle.max_rotor_thrust == tuple(k * w * w for w in DIFFERENT["speed_max"])
    assert vehicle.max_thrust == pytest.approx(sum(k * w * w for w in DIFFERENT["speed_max"]))
    assert vehicle.weight == pytest.approx(9.81)


def test_different_motors_of_a_fleet_have_a_number_for_each_rotor() -> None:
    fleet = pw.Fleet(different_motors(), 3, dtype="float64", noise=False)
    assert fleet.parameters["motor.speed_max"].shape == (3, 4)
    fleet.set_parameters({"motor.speed_max": np.full((3, 4), 1550.0)})
    fleet.step(pw.RotorSpeeds(np.full(4, 9000.0)), substeps=10)
    assert np.all(fleet.rotor_command == 1550.0)
    with pytest.raises(ValueError, match="the motors' range"):
        fleet.reset(rotor_speeds=np.full(4, 1600.0))
    assert pw.Fleet("flightgoggles", 3).parameters["motor.speed_max"].shape == (3,)


def set_effectiveness(vehicle: Any, factors: list[float]) -> None:
    """Sets the effectiveness of the rotors of one vehicle, or of all of a fleet."""
    if isinstance(vehicle, pw.Fleet):
        vehicle.set_rotor_effectiveness(factors)
    else:
        vehicle.rotor_effectiveness = factors


def disturb(vehicle: Any) -> None:
    """Sets an external wrench and the effectiveness of two rotors."""
    vehicle.set_external_wrench([1.0, 0.0, 2.0], [0.0, 0.01, 0.0])
    set_effectiveness(vehicle, [0.8, 1.0, 0.9, 1.0])


def test_wrench_and_effectiveness_agree_in_fleets_and_single_vehicles() -> None:
    fleet = pw.Fleet("flightgoggles", 3, dtype="float64", seed=4)
    singles = [pw.Multicopter("flightgoggles", seed=4, id=i) for i in range(3)]
    for vehicle in (fleet, *singles):
        disturb(vehicle)
    command = pw.RateThrust([0.3, -0.1, 0.2], 9.0)
    fleet.step(command, substeps=200)
    for i, uav in enumerate(singles):
        uav.step(command, DT, substeps=200)
        assert np.abs(fleet.velocity[i] - uav.velocity).max() < 1e-11
        assert np.abs(fleet.imu.specific_force[i] - uav.imu.specific_force).max() < 1e-10
    assert np.array_equal(fleet.external_torque, np.tile([0.0, 0.01, 0.0], (3, 1)))
    assert np.array_equal(fleet.rotor_effectiveness, np.tile([0.8, 1.0, 0.9, 1.0], (3, 1)))


@pytest.mark.parametrize(
    ("dt", "rate"), [(1 / 960, 160.0), (1e-3, 100.0), (1 / 240, 160.0), (1 / 400, 240.0)]
)
def test_a_fleet_accepts_its_own_snapshot_at_every_step(dt: float, rate: float) -> None:
    """Also at an IMU sample, where rounding puts the phase of its schedule just below zero."""
    vehicle = pw.vehicles.load("flightgoggles").replace(imu={"rate": rate})
    fleet = pw.Fleet(vehicle, 2, dt=dt)
    for _ in range(100):
        fleet.step(pw.RateThrust([0, 0, 0], 9.81))
        fleet.restore(fleet.snapshot())
