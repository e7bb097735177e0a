"""The model against trajectories of other implementations (tests/data/README.md)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import propwash as pw
import pytest
from helpers import DATA, Array, group, published, read_columns, relative_difference

DT = 1.0 / 960.0
STEPS_PER_ROW = 16

Method = Literal["euler", "rk4"]


def recorded_state(columns: dict[str, Array]) -> dict[str, Array]:
    """The recorded states, by the names of MulticopterState."""
    return {
        "position": group(columns, "px", "py", "pz"),
        "velocity": group(columns, "vx", "vy", "vz"),
        "attitude": group(columns, "qw", "qx", "qy", "qz"),
        "body_rates": group(columns, "wx", "wy", "wz"),
        "rotor_speeds": group(columns, *(f"rotor{i}" for i in range(4))),
    }


def general(vehicle: pw.VehicleParameters) -> pw.VehicleParameters:
    """An equivalent vehicle for which the library uses all terms of the model."""
    down = vehicle.motor_values("time_constant_down")[0] * (1.0 + 1e-15)
    return vehicle.replace(motor={"time_constant_down": down})


def started(
    vehicle: pw.VehicleParameters, integrator: Method, recorded: dict[str, Array]
) -> pw.Multicopter:
    """The vehicle in the first recorded state, without noise."""
    uav = pw.Multicopter(vehicle, integrator=integrator, noise=False)
    uav.reset(pw.MulticopterState(**{name: values[0] for name, values in recorded.items()}))
    return uav


def open_loop_commands(count: int) -> Array:
    """The rotor commands of tests/data/README.md for the first `count` steps."""
    t = np.arange(count) * DT
    h = np.sqrt(9.81 / 4.0 / 1.91e-6)
    return np.stack(
        [
            h * (1.0 + 0.05 * np.sin(9.0 * t)),
            h * (1.0 - 0.05 * np.sin(9.0 * t)),
            h * (1.0 + 0.04 * np.cos(7.0 * t)),
            np.where(t > 1.0, 1.1 * h, h),
        ],
        axis=1,
    )


@pytest.mark.parametrize("shape", ["parallel", "general"])
@pytest.mark.parametrize(("integrator", "tolerance"), [("euler", 1e-11), ("rk4", 5e-6)])
def test_open_loop(integrator: Method, tolerance: float, shape: str) -> None:
    columns = read_columns(DATA / f"quad_default_{integrator}.csv")
    recorded = recorded_state(columns)
    forces, rates = group(columns, "ax", "ay", "az"), group(columns, "gx", "gy", "gz")
    vehicle = pw.vehicles.load("flightgoggles")
    uav = started(general(vehicle) if shape == "general" else vehicle, integrator, recorded)
    first = uav.imu

    count = (len(columns["t"]) - 1) * STEPS_PER_ROW
    commands = open_loop_commands(count + 1)
    recorded_commands = group(columns, "cmd0", "cmd1", "cmd2", "cmd3")
    assert relative_difference(commands[::STEPS_PER_ROW], recorded_commands) < 1e-12
    flown = uav.rollout(pw.RotorSpeeds(commands[:count]), DT)

    at_rows = slice(STEPS_PER_ROW - 1, None, STEPS_PER_ROW)
    assert np.allclose(flown.time[at_rows], columns["t"][1:], rtol=0, atol=1e-9)
    for name, values in recorded.items():
        assert relative_difference(getattr(flown, name)[at_rows], values[1:]) < tolerance, name
    readings = np.vstack([first.specific_force, flown.specific_force[at_rows]])
    assert relative_difference(readings, forces) < tolerance
    readings = np.vstack([first.angular_rate, flown.angular_rate[at_rows]])
    assert relative_difference(readings, rates) < tolerance


def closed_loop_command(t: float) -> pw.RateThrust:
    """The command of tests/data/README.md."""
    rates = [1.5 * np.sign(np.sin(4.0 * t)), 0.8 * np.sin(3.0 * t), -0.6 if t > 0.7 else 0.3]
    return pw.RateThrust(rates, 9.81 * (1.0 + 0.2 * np.sin(2.0 * t)))


@pytest.mark.parametrize(("integrator", "tolerance"), [("euler", 1e-9), ("rk4", 1e-5)])
def test_closed_loop_of_the_published_node(integrator: Method, tolerance: float) -> None:
    columns = read_columns(DATA / f"quad_closed_loop_{integrator}.csv")
    recorded = recorded_state(columns) | {
        "filtered_rates": group(columns, "lpf_x", "lpf_y", "lpf_z"),
        "integral": group(columns, "int_x", "int_y", "int_z"),
        "rotor_command": group(columns, *(f"rotor_cmd{i}" for i in range(4))),
    }
    vehicle = published(pw.vehicles.load("flightgoggles"))
    uav = started(vehicle, integrator, {name: recorded[name] for name in recorded_state(columns)})
    controller = pw.RateController(vehicle, DT)

    flown: dict[str, list[Array]] = {name: [] for name in recorded}
    gyroscope = np.zeros(3)  # the input of the filter at the first tick
    for tick in range((len(columns["t"]) - 1) * STEPS_PER_ROW + 1):
        speeds = controller.update(gyroscope, closed_loop_command(tick * DT)).speeds
        if tick % STEPS_PER_ROW == 0:
            state = uav.state
            for name in recorded_state(columns):
                flown[name].append(np.asarray(getattr(state, name)))
            flown["filtered_rates"].append(controller.filtered_rates)
            flown["integral"].append(controller.integral)
            flown["rotor_command"].append(speeds)
        uav.step(pw.RotorSpeeds(speeds), DT)
        gyroscope = uav.imu.angular_rate
    for name, values in recorded.items():
        assert relative_difference(np.array(flown[name]), values) < tolerance, name
