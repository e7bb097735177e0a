"""Open-loop predictions of the nano-drone benchmark of IDSIA, a Crazyflie 2.1 Brushless.

A vehicle is fitted to windows of the training flights and predicts all windows of the test flights
from their first state and the recorded rotor speeds: mean errors 0.01, 0.1 and 0.5 s ahead, and
their sums over 50 steps, as in docs/benchmarks.md. The folder has `train/*.csv` and `test/*.csv`
of idsia-robotics/nanodrone-sysid-benchmark.

    python bench/flights/idsia.py FOLDER

Needs propwash[tune].
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.signal import lfilter
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]

PERIOD = 0.01
"""s, between rows."""
SUBSTEPS = 4
STEPS = 50
"""Rows that a window predicts."""
EVERY = 60
"""Rows between windows of the fit."""
AHEAD = (10, 25, 50)
"""Rows after which predictions are fitted."""
SHOWN = (1, 10, 50)
"""Rows after which errors are printed."""
SCALES = {"position": 0.1, "velocity": 0.35, "attitude": 0.2, "body rates": 0.6}
"""m, m/s, rad, rad/s: errors after 0.5 s that have equal weight. Those of the position grow in
proportion to time, the others with its square root."""
MASS, ARM, THRUST, TORQUE = 0.045, 0.0353, 3.72e-8, 2e-10
INERTIA = (2.3951e-5, 2.3951e-5, 3.2347e-5)
"""kg, m, N/(rad/s)^2, N m/(rad/s)^2 and kg m^2. Mass, arm, thrust and inertia are those of the
benchmark's physical model, which has a tenth of the inertia about z."""
COLUMNS = (
    *("x", "y", "z", "vx", "vy", "vz", "qx", "qy", "qz", "qw", "wx", "wy", "wz"),
    *(f"m{motor}_rads" for motor in range(1, 5)),
)
FREE = {
    "thrust": (1.0, 0.5, 2.0),
    "drag_x": (0.4, 0.0, 2.0),  # 1/s
    "drag_y": (0.4, 0.0, 2.0),
    "drag_z": (0.4, 0.0, 2.0),
    "tilt_x": (0.0, -0.1, 0.1),  # rad
    "tilt_y": (0.0, -0.1, 0.1),
    "roll": (0.4, 0.01, 2.0),
    "pitch": (0.4, 0.01, 2.0),
    "yaw": (0.4, 0.01, 2.0),
    "balance_roll": (0.0, -0.2, 0.2),
    "balance_pitch": (0.0, -0.2, 0.2),
    "balance_yaw": (0.0, -0.2, 0.2),
    "rotor_inertia": (1.0, 0.01, 4.0),
    "blow_back": (1.0, 0.0, 4.0),
    "damping_x": (1.0, 0.0, 4.9),  # 1/rad
    "damping_y": (1.0, 0.0, 4.9),
    "damping_z": (1.0, 0.0, 4.9),
    "lag": (0.03, 0.003, 0.1),  # s, of the recorded rotor speeds
}
"""Start of the fit and limits. Those without a unit are relative to the physical model. The torques
of the fit are smaller, because the rotor speeds have noise."""
PHYSICAL = np.array([1.0, *[0.0] * 5, 1e-6, 1e-6, *[0.0] * 9, 2e-3])
"""Values of FREE of the benchmark's physical model, which has no torques."""


def nanodrone() -> pw.VehicleParameters:
    """Returns the vehicle of the benchmark, to which values of FREE are relative."""
    crazyflie = pw.vehicles.load("crazyflie")
    rotors = [
        rotor.replace(
            position=tuple(ARM * np.sign(rotor.position)),
            thrust_coefficient=THRUST,
            torque_coefficient=TORQUE,
        )
        for rotor in crazyflie.rotors
    ]
    return crazyflie.replace(body={"mass": MASS, "inertia": INERTIA}, rotors=tuple(rotors))


def vehicle_of(values: Array, base: pw.VehicleParameters | None = None) -> pw.VehicleParameters:
    """Returns a vehicle, by default the nano-drone, with the values of FREE."""
    x = dict(zip(FREE, values, strict=True))
    base = base or nanodrone()
    tilt = np.array([x["tilt_x"], x["tilt_y"], 1.0])
    rotors = []
    for rotor in base.rotors:
        front, left, _ = np.sign(rotor.position)
        turning = x["balance_roll"] * left - x["balance_pitch"] * front
        factor = 1.0 + turning - x["balance_yaw"] * rotor.spin
        rotors.append(
            rotor.replace(
                position=tuple(np.multiply(rotor.position, (x["pitch"], x["roll"], 0.0))),
                axis=tuple(tilt / np.linalg.norm(tilt)),
                thrust_coefficient=rotor.thrust_coefficient * x["thrust"] * factor,
                torque_coefficient=rotor.torque_coefficient * x["yaw"] * factor,
                inertia=3e-8 * x["rotor_inertia"],
            )
        )
    inertia = np.diag(np.array(base.body.inertia))
    lag, damping = x["lag"], np.multiply([x[f"damping_{axis}"] for axis in "xyz"], inertia)
    damping = np.minimum(damping, 4.9 * inertia.min())  # the range of a vehicle
    return base.replace(
        rotors=tuple(rotors),
        motor={
            "time_constant_up": lag,
            "time_constant_down": lag,
            "speed_max": 4000.0,
            "speed_offset": 0.0,
            "command_delay": 0.0,
        },
        battery={"nominal_voltage": 0.0},
        drag={"rotational": tuple(damping)},
        rotor_drag={
            "linear": tuple(x[f"drag_{axis}"] for axis in "xyz"),
            "blow_back": 3e-4 * x["blow_back"],
        },
    )


@dataclass(frozen=True)
class States:
    """States of W vehicles: m, m/s, rad/s, each (W, 3)."""

    position: Array
    velocity: Array
    attitude: Rotation
    body_rates: Array

    def minus(self, other: States) -> Array:
        """Returns (4, W, 3) differences in the order of SCALES; of attitudes, rotation vectors."""
        rotation = (other.attitude.inv() * self.attitude).as_rotvec()
        differences = (
            self.position - other.position,
            self.velocity - other.velocity,
            rotation,
            self.body_rates - other.body_rates,
        )
        return np.stack(differences)


@dataclass(frozen=True)
class Windows:
    """Windows of flights, of STEPS + 1 rows."""

    tables: list[Array]
    """(K, 17) rows of each flight, of COLUMNS."""
    starts: list[NDArray[np.intp]]
    """First rows of the windows of each flight."""

    @classmethod
    def read(cls, paths: Sequence[Path], every: int = 1) -> Windows:
        """Reads every `every`-th window."""
        tables = []
        for path in paths:
            named = np.genfromtxt(path, delimiter=",", names=True)
            missing = [name for name in COLUMNS if name not in (named.dtype.names or ())]
            if missing:
                raise ValueError(f"{path}: expected a column {missing[0]}, found none")
            tables.append(np.stack([named[name] for name in COLUMNS], axis=1))
        return cls(tables, [np.arange(0, len(t) - STEPS, every) for t in tables])

    def after(self, step: int) -> States:
        """Returns the recorded states `step` rows after the first."""
        rows = np.concatenate([t[s + step] for t, s in zip(self.tables, self.starts, strict=True)])
        attitude = Rotation.from_quat(rows[:, 6:10])
        return States(rows[:, :3], rows[:, 3:6], attitude, rows[:, 10:13])

    def rotor_speeds(self, lag: float) -> tuple[Array, Array]:
        """Returns speeds at the start (W, 4), after a lag [s], and of all steps (STEPS, W, 4)."""
        first, steps = [], []
        keep = np.exp(-PERIOD / lag)
        for table, starts in zip(self.tables, self.starts, strict=True):
            means = 0.5 * (table[:-1, 13:] + table[1:, 13:])
            start = table[:1, 13:]
            lagged, _ = lfilter([1.0 - keep], [1.0, -keep], means, axis=0, zi=keep * start)
            first.append(np.concatenate([start, lagged])[starts])
            steps.append(means[starts + np.arange(STEPS)[:, np.newaxis]])
        return np.concatenate(first), np.concatenate(steps, axis=1)


def constant(windows: Windows) -> Array:
    """Returns (STEPS, 4, W, 3) errors if nothing changes."""
    start = windows.after(0)
    return np.stack([start.minus(windows.after(k + 1)) for k in range(STEPS)])


def errors(vehicle: pw.VehicleParameters, windows: Windows) -> Array:
    """Returns (STEPS, 4, W, 3) errors of the predictions in the order of SCALES."""
    speeds, commands = windows.rotor_speeds(float(np.mean(vehicle.motor.time_constant_up)))
    fleet = pw.Fleet(vehicle, len(speeds), dt=PERIOD / SUBSTEPS, dtype="float64", noise=False)
    start = windows.after(0)
    fleet.reset(
        position=start.position,
        velocity=start.velocity,
        attitude=start.attitude.as_quat(scalar_first=True),
        body_rates=start.body_rates,
        rotor_speeds=speeds,
    )
    found = []
    for k, command in enumerate(commands):
        fleet.step(pw.RotorSpeeds(command), substeps=SUBSTEPS)
        attitudes = Rotation.from_quat(fleet.attitude, scalar_first=True)
        flown = States(fleet.position, fleet.velocity, attitudes, fleet.body_rates)
        found.append(flown.minus(windows.after(k + 1)))
    return np.stack(found)


def fitted(windows: Windows, base: pw.VehicleParameters | None = None) -> Array:
    """Returns the values of FREE, of a vehicle or the nano-drone, that fit the windows."""
    rows = np.array(AHEAD)
    growth = np.sqrt(rows / STEPS)[:, np.newaxis] ** [2, 1, 1, 1]
    scales = (growth * [*SCALES.values()])[..., np.newaxis, np.newaxis]

    def residuals(values: Array) -> Array:
        return np.asarray(errors(vehicle_of(values, base), windows)[rows - 1] / scales).ravel()

    start, low, high = np.array([*FREE.values()]).T
    sizes = np.maximum(np.abs(start), 0.1)
    options = {"loss": "soft_l1", "x_scale": sizes, "diff_step": 1e-4, "bounds": (low, high)}
    return np.asarray(least_squares(residuals, start, **options).x)


def means_of(found: Array) -> Array:
    """Returns (STEPS, 4) mean sizes of errors (STEPS, 4, W, 3)."""
    return np.asarray(np.linalg.norm(found, axis=-1).mean(axis=-1))


def show(label: str, means: Array) -> None:
    """Prints mean errors (STEPS, 4) and their sums over all steps."""
    cells = []
    for each in means.T:
        cells += [*(f"{each[row - 1]:.4f}" for row in SHOWN), f"{each.sum():.2f}"]
    print(f"| {label} | {' | '.join(cells)} |", flush=True)


def folder_of_command(description: str | None, *patterns: str) -> Path:
    """Returns the folder that the command names; refuses one without files of a pattern."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=formatter)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    folder: Path = parser.parse_args().folder
    for pattern in patterns:
        if not any(folder.glob(pattern)):
            parser.error(f"{folder}: expected files {pattern}, found none")
    return folder


def main() -> None:
    """Prints the table of docs/benchmarks.md."""
    folder = folder_of_command(__doc__, "train/*run[123].csv", "test/*.csv")
    training = Windows.read(sorted((folder / "train").glob("*run[123].csv")), EVERY)
    test = Windows.read(sorted((folder / "test").glob("*.csv")))
    show("constant state", means_of(constant(test)))
    show("physical model", means_of(errors(vehicle_of(PHYSICAL), test)))
    values = fitted(training)
    show("propwash", means_of(errors(vehicle_of(values), test)))
    print({name: round(float(value), 4) for name, value in zip(FREE, values, strict=True)})


if __name__ == "__main__":
    main()
