"""The demonstration: the default quadcopter flies a figure of eight under rate control."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from propwash._core import RateThrust
from propwash.vehicle.multicopter import DEFAULT_DT, Multicopter, Trajectory
from propwash.viz import paths_3d
from propwash.viz.figures import AXES, COLOURS, labelled, legend_above, new_figure
from propwash.viz.flights import flights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DURATION = 10.0
"""Duration of the flight [s]."""
_NOISE_SECONDS = 0.1
"""s, of the plot of sensor errors: short enough to see single readings."""


@dataclass(frozen=True)
class Demo:
    """A demonstration flight."""

    vehicle: Multicopter
    command: RateThrust
    trajectory: Trajectory
    steps_per_second: float
    """Median over repeated flights on one core, without recording."""


def fly(vehicle: str = "flightgoggles", seed: int = 1) -> Demo:
    """Flies 10 s of RK4 at 960 Hz under rate control, with IMU and process noise."""
    uav = Multicopter(vehicle, integrator="rk4", seed=seed)
    command, velocity = figure_of_eight(uav.parameters.body.mass)
    uav.reset(position=[0.0, 0.0, 2.0], velocity=velocity)
    start = uav.snapshot()
    trajectory = uav.rollout(command)
    end = uav.snapshot()

    held = RateThrust([0.0, 0.0, 0.0], thrust=9.81 * uav.parameters.body.mass)
    steps = round(DURATION / DEFAULT_DT)
    rates = []
    for _ in range(15):
        uav.restore(start)
        began = time.perf_counter()
        uav.step(held, substeps=steps)
        rates.append(steps / (time.perf_counter() - began))
    uav.restore(end)
    return Demo(uav, command, trajectory, statistics.median(rates))


def figure_of_eight(mass: float) -> tuple[RateThrust, NDArray[np.float64]]:
    """Returns commands for a figure of eight, and its initial velocity.

    The position is not controlled: roll a sin(w t) and pitch b sin(2 w t) accelerate the vehicle
    along two axes, and noise and drag make it drift.
    """
    t = np.arange(0.0, DURATION, DEFAULT_DT)
    omega = 2.0 * np.pi / 5.0
    roll, pitch = 0.35 * np.sin(omega * t), 0.35 * np.sin(2.0 * omega * t)
    rates = np.zeros((len(t), 3))
    rates[:, 0] = 0.35 * omega * np.cos(omega * t)
    rates[:, 1] = 0.35 * 2.0 * omega * np.cos(2.0 * omega * t)
    thrust = mass * 9.81 / (np.cos(roll) * np.cos(pitch))
    # x'' = g pitch and y'' = -g roll, with velocities of zero mean
    velocity = np.array([-9.81 * 0.35 / (2.0 * omega), 9.81 * 0.35 / omega, 0.0])
    return RateThrust(rates, thrust), velocity


def report(demo: Demo) -> str:
    """Describes the flight and its speed."""
    uav, record = demo.vehicle, demo.trajectory
    error = record.body_rates - demo.command.rates
    settled = record.time > 0.5
    rms = np.sqrt(np.mean(error[settled] ** 2, axis=0))
    speed = np.linalg.norm(record.velocity, axis=1)
    end, bias = uav.position, uav.gyroscope_bias
    return "\n".join(
        [
            f"{uav.parameters.name}: {uav.time:.1f} s, {uav.steps} steps of RK4 at 960 Hz under "
            f"rate control, with all noise on",
            f"  at the end    position ({end[0]:.2f}, {end[1]:.2f}, {end[2]:.2f}) m, "
            f"fastest {speed.max():.2f} m/s",
            f"  rate error    RMS ({rms[0]:.3f}, {rms[1]:.3f}, {rms[2]:.3f}) rad/s after 0.5 s",
            f"  gyro bias     ({bias[0]:.2e}, {bias[1]:.2e}, {bias[2]:.2e}) rad/s at the end",
            f"  speed         {demo.steps_per_second / 1e6:.2f} million steps/s on one core, "
            f"{demo.steps_per_second * DEFAULT_DT:,.0f} times real time",
        ]
    )


def figure(demo: Demo) -> Figure:
    """Plots the trajectory, body rates and commands, IMU readings and biases."""
    record, commanded = demo.trajectory, demo.command.rates
    drawn = new_figure(14, 9)
    grid = drawn.add_gridspec(3, 3, width_ratios=[5, 4, 4])
    paths_3d.draw(drawn, flights(record), (), {}, grid[:2, 0])
    for axis in range(3):
        axes = drawn.add_subplot(grid[axis, 1])
        axes.plot(record.time, record.angular_rate[:, axis], color="0.8", lw=0.5, label="gyroscope")
        axes.plot(record.time, record.body_rates[:, axis], color=COLOURS[axis], label="true")
        axes.plot(record.time, commanded[:, axis], "k--", lw=1, label="command")
        legend_above(axes)
        labelled(axes, f"body rate about {AXES[axis]}", "time [s]", "body rate [rad/s]")

    force = drawn.add_subplot(grid[2, 0])
    _three(force, record.time, record.specific_force, lw=0.5)
    labelled(force, "accelerometer", "time [s]", "specific force [m/s²]")

    error = drawn.add_subplot(grid[0, 2])
    some = record.time <= record.time[0] + _NOISE_SECONDS
    _three(error, record.time[some], (record.angular_rate - record.body_rates)[some])
    labelled(error, "gyroscope: reading minus truth", "time [s]", "error [rad/s]")
    for row, (name, bias, unit) in enumerate(
        [
            ("gyroscope bias", record.gyroscope_bias, "rad/s"),
            ("accelerometer bias", record.accelerometer_bias, "m/s²"),
        ],
        start=1,
    ):
        axes = drawn.add_subplot(grid[row, 2])
        _three(axes, record.time, bias)
        labelled(axes, name, "time [s]", f"bias [{unit}]")
    drawn.suptitle(
        f"{demo.vehicle.parameters.name}: rate control, RK4 at 960 Hz, all noise on; "
        f"{demo.steps_per_second / 1e6:.2f} million steps/s on one core"
    )
    return drawn


def _three(axes: Axes, time: Any, values: Any, lw: float = 1.2) -> None:
    """Lines of x, y and z with a legend above them."""
    for axis in range(3):
        axes.plot(time, values[:, axis], lw=lw, color=COLOURS[axis], label=AXES[axis])
    legend_above(axes)
