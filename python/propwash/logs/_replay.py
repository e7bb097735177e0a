"""Predicts a real flight from its motor commands and measured initial states.

The motors of the model follow the whole log. At the start of each window the rigid-body state is
set to the measured one, and the prediction of the following second is compared with the
measurements. For logs with poses, a second prediction uses the measured attitude throughout, to
assess the forces alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propwash._core import RotorSpeeds
from propwash.logs._flights import GAP, Flight
from propwash.logs._observer import with_observed_motion
from propwash.vehicle.multicopter import Multicopter, MulticopterState
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

HORIZONS = (0.1, 0.25, 0.5, 1.0)
"""Prediction horizons at which errors are reported [s]."""

_STEP = 1e-3
_IDLE_DUTY = 0.2
_CLEARANCE = 0.1


@dataclass
class Prediction:
    """Prediction of a flight in one mode: W windows of H samples."""

    time: Array
    """(W, H) s."""
    values: dict[str, Array] = field(default_factory=dict)
    """By quantity, (W, H, …)."""
    errors: dict[str, Array] = field(default_factory=dict)
    """By quantity, (W, H): distance between predicted and measured."""


@dataclass(frozen=True)
class Replay:
    """A flight and its predictions."""

    flight: Flight
    vehicle: VehicleParameters
    period: float
    """Sample period of the flight and the predictions [s]."""
    predictions: dict[str, Prediction]
    """By mode: "model" and, where the flight has poses, "measured attitude"."""

    def error(self, mode: str, quantity: str, horizon: float) -> Array:
        """Returns the errors (W,) of a quantity `horizon` [s] after the start of each window.

        Raises ValueError if the windows are shorter than the horizon.
        """
        errors = self.predictions[mode].errors[quantity]
        sample = round(horizon / self.period)
        if not 1 <= sample <= errors.shape[1]:
            raise ValueError(
                f"horizon: expected {self.period:g} to {errors.shape[1] * self.period:g} s, got "
                f"{horizon:g}"
            )
        return errors[:, sample - 1]


UNITS = {
    "position": "m",
    "velocity": "m/s",
    "attitude": "deg",
    "body rates": "rad/s",
    "vertical specific force": "m/s^2",
}
"""Units of the errors, by quantity."""


def replay(
    flight: Flight,
    vehicle: str | VehicleParameters = "crazyflie",
    longest: float = HORIZONS[-1],
    every: float = 0.1,
) -> Replay:
    """Predicts windows of `longest` [s] that start every `every` [s] of the flight.

    Raises ValueError if the vehicle's number of rotors differs from the log's number of motors, the
    median time step exceeds 0.1 s, a window is shorter than a sample, or no window is in the air.
    """
    if flight.period > GAP:
        raise ValueError(
            f"{flight.path}: expected steps of at most {GAP:g} s, got {flight.period:.3g} s; set "
            f"scale of time, or log faster"
        )
    has_pose = flight.has_pose
    period = 0.010 if has_pose else 0.002
    samples = round(longest / period)
    if samples < 1:
        raise ValueError(
            f"longest: expected at least the {period:g} s of a sample of {flight.path}, got "
            f"{longest:g} s"
        )
    uav = Multicopter(vehicle, noise=False)
    if uav.rotors != flight.duty.shape[1]:
        raise ValueError(
            f"{flight.path}: the log has {flight.duty.shape[1]} motors, vehicle "
            f"{uav.parameters.name!r} has {uav.rotors} rotors; map the columns of each motor, or "
            f"use another vehicle"
        )
    grid = _with_motion(flight.resampled(period), uav.parameters)
    starts = _window_starts(grid, period, longest, every)
    if len(starts) == 0:
        raise ValueError(
            f"{flight.path}: no {longest:g} s in the air (every motor above "
            f"{_IDLE_DUTY:.0%} duty cycle); expected a flight"
        )
    # a command is constant over a period: the mean of the values at its ends
    duty = 0.5 * (grid.duty[:-1] + grid.duty[1:])
    commands = [RotorSpeeds(row) for row in duty * uav.parameters.motor_values("speed_max")]
    snapshots = _motor_memory(grid, uav, commands, period, starts)
    modes = {"model": False, "measured attitude": True} if has_pose else {"model": False}
    predictions = {
        mode: _predict(grid, uav, commands, period, snapshots, samples, has_pose, use_attitude)
        for mode, use_attitude in modes.items()
    }
    return Replay(grid, uav.parameters, period, predictions)


def _with_motion(grid: Flight, vehicle: VehicleParameters) -> Flight:
    """Returns the flight with velocity and attitude, estimated if they were not recorded."""
    flying = grid.duty.mean(axis=1) > _IDLE_DUTY
    if grid.has_pose or not flying.any():
        return grid
    lateral = grid.specific_force[flying, :2].mean(axis=0)
    return with_observed_motion(grid, vehicle, (float(lateral[0]), float(lateral[1])))


def _window_starts(grid: Flight, period: float, longest: float, every: float) -> list[int]:
    flying = grid.duty.min(axis=1) > _IDLE_DUTY
    second = max(1, round(1.0 / period))
    if grid.position is not None and grid.duty[:second].mean() < _IDLE_DUTY:
        height = grid.position[:, 2]
        flying &= height > height[:second].min() + _CLEARANCE
    samples = round(longest / period)
    stride = max(1, round(every / period))
    return [
        start
        for start in range(0, len(grid.time) - samples - 1, stride)
        if flying[start : start + samples + 1].all()
    ]


def _set_voltage(grid: Flight, uav: Multicopter, row: int) -> None:
    # if it was not recorded, the nominal voltage applies
    if grid.voltage is not None:
        uav.battery_voltage = grid.voltage[row]


def _measured(grid: Flight, row: int, uav: Multicopter) -> MulticopterState:
    state = uav.trim()
    state.rotor_speeds = uav.rotor_speeds
    state.body_rates = grid.body_rates[row]
    if grid.position is not None:
        state.position = grid.position[row]
    if grid.velocity is not None:
        state.velocity = grid.velocity[row]
    if grid.attitude is not None:
        state.attitude = grid.attitude[row]
    return state


def _motor_memory(
    grid: Flight,
    uav: Multicopter,
    commands: list[RotorSpeeds],
    period: float,
    starts: list[int],
) -> dict[int, bytes]:
    """Returns snapshots at each start, with motors that have followed the log from its first row.

    The first command is assumed to have been held before the log.
    """
    snapshots = {}
    chosen = set(starts)

    def run(row: int, duration: float) -> None:
        # the body is reset in every step: only the motors' state and delay are of interest
        uav.set_state(uav.trim(), rotor_speeds=uav.rotor_speeds)
        _set_voltage(grid, uav, row)
        uav.step(commands[row], dt=_STEP, substeps=max(1, round(duration / _STEP)))

    # the motors start at the first command: a part of a log may begin in flight
    motor = uav.parameters.motor
    lag = max(
        *uav.parameters.motor_values("time_constant_up"),
        *uav.parameters.motor_values("time_constant_down"),
    )
    run(0, 30.0 * lag + 2.0 * motor.command_delay)
    for row in range(len(commands)):
        if row in chosen:
            uav.set_state(_measured(grid, row, uav))
            snapshots[row] = uav.snapshot()
        run(row, period)
    return snapshots


def _predict(
    grid: Flight,
    uav: Multicopter,
    commands: list[RotorSpeeds],
    period: float,
    snapshots: dict[int, bytes],
    samples: int,
    has_pose: bool,
    use_attitude: bool,
) -> Prediction:
    substeps = round(period / _STEP)
    starts = np.array(sorted(snapshots))
    rows = starts[:, np.newaxis] + np.arange(1, samples + 1)
    shape = rows.shape
    position, velocity, body_rates, force = (np.empty((*shape, 3)) for _ in range(4))
    attitude = np.empty((*shape, 4))
    for window, start in enumerate(starts):
        uav.restore(snapshots[int(start)])
        for k in range(samples):
            row = int(start) + k
            _set_voltage(grid, uav, row)
            uav.step(commands[row], dt=_STEP, substeps=substeps)
            state = uav.state
            if use_attitude and grid.attitude is not None:
                state.attitude = grid.attitude[row + 1]
                state.body_rates = grid.body_rates[row + 1]
                uav.set_state(state)
            position[window, k] = state.position
            velocity[window, k] = state.velocity
            attitude[window, k] = state.attitude
            body_rates[window, k] = state.body_rates
            force[window, k] = uav.imu.specific_force
    values = {"body rates": body_rates, "vertical specific force": force[..., 2]}
    if has_pose:
        values |= {"position": position, "velocity": velocity, "attitude": attitude}
    errors = _errors(grid, rows, values, use_attitude)
    return Prediction(grid.time[rows], values, errors)


def _errors(
    grid: Flight, rows: NDArray[np.intp], values: dict[str, Array], use_attitude: bool
) -> dict[str, Array]:
    """Errors (W, H) of each quantity."""
    errors = {}
    if not use_attitude:
        errors["body rates"] = _distance(values["body rates"], grid.body_rates[rows])
        if grid.synchronous:
            # radio delays preclude a comparison sample by sample
            measured = grid.specific_force[rows][..., 2]
            errors["vertical specific force"] = np.abs(values["vertical specific force"] - measured)
    for name, recorded in (("position", grid.position), ("velocity", grid.velocity)):
        if name in values and recorded is not None:
            errors[name] = _distance(values[name], recorded[rows])
    if "attitude" in values and grid.attitude is not None and not use_attitude:
        errors["attitude"] = _angle(values["attitude"], grid.attitude[rows])
    return errors


def _distance(a: Array, b: Array) -> Array:
    return np.asarray(np.linalg.norm(a - b, axis=-1))


def _angle(a: Array, b: Array) -> Array:
    """Angle between two attitudes [deg]."""
    alignment = np.abs(np.sum(a * b, axis=-1))
    return np.asarray(np.rad2deg(2.0 * np.arccos(np.clip(alignment, 0.0, 1.0))))


def replay_table(result: Replay, horizons: Sequence[float] = HORIZONS) -> str:
    """Formats the median and 90th percentile of every error at every horizon."""
    head = f"{'':34s}" + "".join(f"{f'{h:g} s ahead':>19s}" for h in horizons)
    lines = [head, f"{'':34s}" + f"{'median / 90 %':>19s}" * len(horizons)]
    for mode, prediction in result.predictions.items():
        lines.append(f"{mode}:")
        for quantity in UNITS:
            if quantity not in prediction.errors:
                continue
            cells = ""
            for horizon in horizons:
                errors = result.error(mode, quantity, horizon)
                cells += f"{f'{np.median(errors):.3g} / {np.percentile(errors, 90):.3g}':>19s}"
            lines.append(f"  {f'{quantity} [{UNITS[quantity]}]':32s}{cells}")
    return "\n".join(lines)
