"""Tasks 2 and 3 of NanoBench, control and state estimation in trefoil flights, for nanobench.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import propwash as pw
from numpy.typing import NDArray
from propwash import logs
from propwash.estimate import ErrorStateFilter
from propwash.trajectories import Reference
from propwash.vehicle import MotionEstimate
from scipy.signal import savgol_filter
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]
Table = dict[str, Array]

PERIOD = 0.01
"""s, between rows."""
SPEEDS = ("slow", "medium", "fast")
SMOOTHING = 101
"""Rows of the setpoints that give their derivatives."""
MAX_LAG = 200
"""Rows that a flight may lag its setpoints."""
RTE_LENGTH = 1.0
"""m, of the path."""
IMU = logs.Columns(
    time="t",
    body_rates=["imu_gyro_x", "imu_gyro_y", "imu_gyro_z"],
    specific_force=["imu_acc_x", "imu_acc_y", "imu_acc_z"],
    motors=[f"motor_motor_m{i}" for i in range(1, 5)],
    scale={"specific_force": 9.80665, "motors": 1.0 / 65535.0},
)
"""The sensors, in place of the motion capture."""


def read(path: Path) -> Table:
    """Reads all columns by name."""
    named = np.genfromtxt(path, delimiter=",", names=True)
    return {name: named[name] for name in named.dtype.names or ()}


def columns(table: Table, pattern: str, suffixes: Iterable[str] = "xyz") -> Array:
    """Returns (K, 3) columns, `pattern` with each suffix. Raises SystemExit without them."""
    names = [pattern.format(each) for each in suffixes]
    if missing := [name for name in names if name not in table]:
        found = ", ".join(table)
        raise SystemExit(f"trefoil flight: expected columns {', '.join(missing)}, got {found:.200}")
    return np.stack([table[name] for name in names], axis=1)


def rms(values: Array) -> float:
    """Returns the root mean square of the lengths of (K, 3) vectors."""
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))


def tracking(setpoints: Array, position: Array) -> list[float]:
    """Returns RMSE, mean and maximum distance [m], and RMSE and lag [s] of the best delay."""
    distance = np.linalg.norm(position - setpoints, axis=1)
    n = len(position) - MAX_LAG
    late = [rms(position[lag : lag + n] - setpoints[:n]) for lag in range(MAX_LAG)]
    best = int(np.argmin(late))
    whole = [rms(position - setpoints), float(distance.mean()), float(distance.max())]
    return [*whole, late[best], best * PERIOD]


def flown(vehicle: pw.VehicleParameters, table: Table) -> tuple[Array, Array]:
    """Returns setpoints (K, 3) and positions (K, 3) of a simulated flight along them.

    The geometric controller receives smoothed setpoints with velocity and acceleration.
    """
    time = np.arange(table["t"][0], table["t"][-1], PERIOD)
    raw = columns(table, "sp_ctrltarget_{}")
    setpoints = np.stack([np.interp(time, table["t"], x) for x in raw.T], axis=1)
    smooth = [savgol_filter(setpoints, SMOOTHING, 3, k, PERIOD, axis=0) for k in range(3)]
    still, none = np.zeros(len(time)), np.zeros_like(setpoints)
    reference = Reference(time - time[0], *smooth, none, none, still, still, still)
    fleet = pw.Fleet(vehicle, 1, dt=PERIOD / 4, seed=1)
    fleet.reset(position=smooth[0][:1], velocity=smooth[1][:1])
    path = fleet.rollout(reference[1:].command(), substeps=4, record=["position"]).position
    assert path is not None
    return setpoints[1:], np.asarray(path[:, 0], dtype=np.float64)


def speed_of(name: str) -> str:
    """Returns the speed in the name of a flight."""
    return next(speed for speed in SPEEDS if speed in name)


def control(vehicle: pw.VehicleParameters, paths: Sequence[Path]) -> None:
    """Prints the tracking errors of recorded and of simulated flights along the same setpoints."""
    rows: dict[tuple[str, str], list[list[float]]] = {}
    for path in paths:
        table = read(path)
        kind = path.parent.name.partition("_")[0]
        setpoints, position = columns(table, "sp_ctrltarget_{}"), columns(table, "p{}")
        speed = speed_of(path.stem)
        rows.setdefault((kind, speed), []).append(tracking(setpoints, position))
        rows.setdefault(("simulated", speed), []).append(tracking(*flown(vehicle, table)))
    print("task 2: controller, speed, flights; RMSE, mean, maximum m; RMSE m after a lag, s")
    for (kind, speed), found in sorted(rows.items()):
        cells = [f"{value:.3f}" for value in np.mean(found, axis=0)]
        print(f"| {kind} | {speed} | {len(found)} | {' | '.join(cells)} |")


def angles(attitude: Rotation) -> Array:
    """Returns (K, 3) roll, pitch and yaw in degrees."""
    return np.asarray(attitude.as_euler("ZYX", degrees=True)[:, ::-1])


def angle_errors(found: Array, true: Array) -> list[float]:
    """Returns root mean squares of differences of (K, 3) angles [deg]: all, roll and pitch."""
    squares = ((found - true + 180.0) % 360.0 - 180.0) ** 2
    return [float(np.sqrt(np.mean(part))) for part in (squares, squares[:, :2])]


def relative(found: Array, true: Array) -> float:
    """Returns the mean error of displacements along `RTE_LENGTH` of the path, m."""
    length = np.cumsum(np.linalg.norm(np.diff(true, axis=0, prepend=true[:1]), axis=1))
    starts = np.arange(0, len(true) - 1, 10)
    ends = np.searchsorted(length, length[starts] + RTE_LENGTH)
    starts, ends = starts[ends < len(true)], ends[ends < len(true)]
    difference = (found[ends] - found[starts]) - (true[ends] - true[starts])
    return float(np.linalg.norm(difference, axis=1).mean())


def trajectory_errors(found: Array, true: Array) -> list[float]:
    """Returns RMSE and mean of the aligned distances, and the relative error, m."""
    centred, reference = found - found.mean(axis=0), true - true.mean(axis=0)
    rotation, _ = Rotation.align_vectors(reference, centred)
    left = rotation.apply(centred) - reference
    return [rms(left), float(np.linalg.norm(left, axis=1).mean()), relative(found, true)]


def on_board(table: Table, path: Path, vehicle: pw.VehicleParameters) -> list[float]:
    """Returns the errors of the estimator on board."""
    position = columns(table, "est_stateEstimate_{}")
    velocity = columns(table, "est_stateEstimate_v{}") - columns(table, "v{}")
    names = ("roll", "pitch", "yaw")
    attitude = columns(table, "att_stateEstimate_{}", names)
    left = angle_errors(attitude, columns(table, "{}", names))
    return [*trajectory_errors(position, columns(table, "p{}")), rms(velocity), *left]


def dead_reckoning(table: Table, path: Path, vehicle: pw.VehicleParameters) -> list[float]:
    """Returns the errors of integrated readings of the IMU from the true start."""
    position, velocity = columns(table, "p{}"), columns(table, "v{}")
    true = Rotation.from_quat(columns(table, "q{}", "xyzw"))
    start = MotionEstimate(position[0], velocity[0], true[0].as_quat(scalar_first=True))
    estimator = ErrorStateFilter(vehicle.imu, start)
    rates, force = columns(table, "imu_gyro_{}"), 9.80665 * columns(table, "imu_acc_{}")
    states = [estimator.state]
    for k, step in enumerate(np.diff(table["t"])):
        estimator.propagate(rates[k + 1], force[k + 1], float(step))
        states.append(estimator.state)
    moved, speeds, turned = (
        np.array([getattr(state, name) for state in states])
        for name in ("position", "velocity", "attitude")
    )
    attitude = angles(Rotation.from_quat(turned, scalar_first=True))
    left = angle_errors(attitude, angles(true))
    return [*trajectory_errors(moved, position), rms(speeds - velocity), *left]


def with_drag(table: Table, path: Path, vehicle: pw.VehicleParameters) -> list[float]:
    """Returns the errors of velocity in body axes and of roll and pitch that drag determines."""
    grid = logs.read_log(path, IMU).resampled(PERIOD)
    observed = logs.with_observed_motion(grid, vehicle)
    rows = np.searchsorted(grid.time, table["t"] - table["t"][0]).clip(max=len(grid.time) - 1)
    assert observed.attitude is not None
    assert observed.velocity is not None
    found = Rotation.from_quat(observed.attitude[rows], scalar_first=True)
    true = Rotation.from_quat(columns(table, "q{}", "xyzw"))
    velocity = found.inv().apply(observed.velocity[rows]) - true.inv().apply(columns(table, "v{}"))
    left = angle_errors(angles(found), angles(true))[1]
    return [*[np.nan] * 3, rms(velocity), np.nan, left]


ESTIMATORS: dict[str, Callable[[Table, Path, pw.VehicleParameters], list[float]]] = {
    "on board": on_board,
    "dead reckoning": dead_reckoning,
    "IMU and rotor drag": with_drag,
}


def estimation(vehicle: pw.VehicleParameters, every: Sequence[Path], valid: Sequence[Path]) -> None:
    """Prints mean errors of the estimators by speed: on board in all files, then in valid ones."""
    print("task 3: estimator, speed, flights; RMSE, mean, 1 m, m; velocity m/s; attitude, tilt deg")
    for name, estimate in {"on board, all files": on_board, **ESTIMATORS}.items():
        for speed in SPEEDS:
            chosen = [p for p in (valid if name in ESTIMATORS else every) if speed in p.stem]
            found = [estimate(read(path), path, vehicle) for path in chosen]
            if found:
                cells = [f"{value:.4g}" for value in np.mean(found, axis=0)]
                print(f"| {name} | {speed} | {len(found)} | {' | '.join(cells)} |", flush=True)
