"""The model against an independent NumPy model, integrated nearly exactly by SciPy's DOP853."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS, Array, tilted_hexacopter
from plain_model import ATTITUDE, GROUPS, PlainModel, packed

HOLD = 0.05  # s, the duration of each command, a multiple of every dt below


@dataclass(frozen=True)
class Flight:
    """A flight that starts fast and rotating, with jumps between low and high rotor commands."""

    vehicle: pw.VehicleParameters
    start: Array
    commands: Array
    wind: Array
    exact: Array


@cache
def flight(name: str) -> Flight:
    """The flight of one vehicle, with the states of the plain model after each command."""
    vehicle = tilted_hexacopter() if name == "tilted" else pw.vehicles.load(name)
    vehicle = vehicle.replace(motor={"command_delay": 0.0}, battery={"nominal_voltage": 0.0})
    count = len(vehicle.rotors)
    draw = np.random.default_rng(7)
    slowest, fastest = (vehicle.motor_values(f"speed_{end}")[0] for end in ("min", "max"))
    middle, span = 0.5 * (fastest + slowest), fastest - slowest
    commands = middle + span * draw.uniform(-0.35, 0.35, (6, count))
    start = np.concatenate(
        [
            [1.0, -2.0, 3.0],
            [4.0, -3.0, 2.0],
            np.array([0.8, 0.2, -0.4, 0.4]),
            [2.0, -1.5, 1.0],
            middle + span * draw.uniform(-0.2, 0.2, count),
        ]
    )
    start[ATTITUDE] /= np.linalg.norm(start[ATTITUDE])
    wind = np.array([-2.0, 1.5, 0.5])
    exact = PlainModel(vehicle, wind).fly(start, commands, HOLD)
    return Flight(vehicle, start, commands, wind, exact)


def flown(case: Flight, integrator: pw.vehicle.Integrator, substeps: int) -> pw.Trajectory:
    """The library's flight, `substeps` steps for each command."""
    uav = pw.Multicopter(case.vehicle, integrator=integrator, noise=False)
    uav.wind = case.wind
    p, v, q, w = (case.start[GROUPS[name]] for name in list(GROUPS)[:4])
    uav.reset(pw.MulticopterState(p, v, q, w, case.start[GROUPS["rotor speeds"]]))
    return uav.rollout(pw.RotorSpeeds(case.commands), HOLD / substeps, substeps=substeps)


def errors(case: Flight, integrator: pw.vehicle.Integrator, substeps: int) -> dict[str, float]:
    """The largest error of each group of the state, relative to its largest value."""
    difference = np.abs(packed(flown(case, integrator, substeps)) - case.exact)
    return {
        name: float(difference[:, part].max() / np.abs(case.exact[:, part]).max())
        for name, part in GROUPS.items()
    }


VEHICLES = [*MULTICOPTERS, "tilted"]


@pytest.mark.parametrize("name", VEHICLES)
def test_rk4_converges_to_the_exact_flight(name: str) -> None:
    for part, error in errors(flight(name), "rk4", 400).items():
        assert error < 1e-10, part


@pytest.mark.parametrize("name", VEHICLES)
def test_derivative_matches_the_equations(name: str) -> None:
    case = flight(name)
    model = PlainModel(case.vehicle, case.wind)
    uav = pw.Multicopter(case.vehicle, noise=False)
    uav.wind = case.wind
    for command in case.commands:
        uav.step(pw.RotorSpeeds(command), dt=0.01)
        plain = model.derivative(packed(uav.state), command)
        ours = packed(uav.derivative())
        for part in GROUPS.values():
            assert np.abs(ours - plain)[part].max() <= 1e-12 * np.abs(plain)[part].max()


@pytest.mark.parametrize("name", VEHICLES)
def test_imu_matches_the_equations(name: str) -> None:
    case = flight(name)
    imu = {"position": (0.04, -0.06, 0.03), "attitude": (0.5, -0.5, 0.5, 0.5)}
    vehicle = case.vehicle.replace(imu=imu)
    model = PlainModel(vehicle, case.wind)
    uav = pw.Multicopter(vehicle, noise=False)
    uav.wind = case.wind
    for command in case.commands:
        uav.step(pw.RotorSpeeds(command), dt=0.01, substeps=2)
        force, rates = model.imu(packed(uav.state), command)
        assert np.abs(uav.imu.specific_force - force).max() < 1e-12 * np.abs(force).max()
        assert np.abs(uav.imu.angular_rate - rates).max() < 1e-13 * max(1.0, np.abs(rates).max())
