"""The rows of a log in the air, and checks of its period, voltage and rotor speeds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_MIN_HEIGHT = 0.1
"""m above the lowest height in the first second; below it the vehicle counts as on the ground."""
_MEAN_DUTY = 0.25
_OBSERVER_SETTLING = 1.0
_MOTOR_SETTLING = 0.5
_LANDING = 1.0
"""s, before the motors stop, in a log without heights: the vehicle may touch the ground."""
_MAX_STEP = 0.05
_MAX_VOLTAGE_RATIO = 2.0
_MAX_THRUST_RATIO = 10.0
"""Between the thrust of measured rotor speeds and the weight; rpm make a factor of 91."""


def flying_rows(grid: Flight, period: float, min_seconds: float = 2.0) -> tuple[int, int]:
    """Returns the first row and the one after the last of the longest time in the air.

    Raises ValueError if that is shorter than `min_seconds`.
    """
    turning = grid.duty.mean(axis=1) > _MEAN_DUTY
    half = max(1, round(0.25 / period))
    flying = np.convolve(turning, np.ones(2 * half + 1), "same") > half
    second = max(1, round(1.0 / period))
    height = None
    if grid.position is not None and grid.duty[:second].mean() < _MEAN_DUTY:
        height = grid.position[:, 2] - grid.position[:second, 2].min()
        flying &= height > _MIN_HEIGHT
    # the initial motor speeds are unknown
    flying[: round(_MOTOR_SETTLING / period)] = False
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flying.astype(int), [0]])))
    runs = edges.reshape(-1, 2)
    first, last = max(runs.tolist(), key=lambda run: run[1] - run[0], default=(0, 0))
    if grid.position is None:
        first += round(_OBSERVER_SETTLING / period)
        last -= round(_LANDING / period)
    seconds = (last - first) * period
    if seconds < min_seconds:
        got = f"got {max(seconds, 0.0):.2f} s of a log of {grid.time[-1] - grid.time[0]:.2f} s"
        raise ValueError(
            f"{grid.path}: expected at least {min_seconds:g} s in the air, {got}; "
            f"{_advice(grid, height)}"
        )
    return int(first), int(last)


def _advice(grid: Flight, height: Array | None) -> str:
    """Returns why a log has no rows in the air: wrong units, or a short flight."""
    duty = grid.duty.mean(axis=1)
    if duty.max() <= _MEAN_DUTY and grid.rotor_speeds is not None:
        return (
            f"set rotor_speed_unit and pole_pairs of the columns, speed_max of the guess, or use a "
            f"flight: the mean rotor speed is at most {grid.rotor_speeds.mean(axis=1).max():.4g} "
            f"rad/s"
        )
    if duty.max() <= _MEAN_DUTY:
        return (
            f"set scale of motors, or use a flight: the mean duty cycle is at most "
            f"{duty.max():.3g}, in the air it is above {_MEAN_DUTY:g}"
        )
    if height is not None and height.max() <= _MIN_HEIGHT:
        return (
            f"set scale of position, and down = true if z points down: the height above the first "
            f"rows is {height.min():.3g} to {height.max():.3g} m, in the air it is above "
            f"{_MIN_HEIGHT:g} m"
        )
    return "use a longer flight"


def check_period(flight: Flight) -> None:
    """Raises ValueError for a log with steps of more than 0.05 s."""
    if flight.period > _MAX_STEP:
        raise ValueError(
            f"{flight.path}: expected steps of at most {_MAX_STEP:g} s, got {flight.period:.3g} s; "
            f"set scale of time, or log faster"
        )


def check_voltage(grid: Flight, rows: tuple[int, int], nominal: float) -> None:
    """Raises ValueError if the recorded voltage is implausible for a battery of `nominal` [V]."""
    if grid.voltage is None or nominal <= 0.0:
        return
    voltage = float(np.mean(grid.voltage[rows[0] : rows[1]]))
    if not nominal / _MAX_VOLTAGE_RATIO <= voltage <= nominal * _MAX_VOLTAGE_RATIO:
        raise ValueError(
            f"{grid.path}: expected about the {nominal:.3g} V of the vehicle's battery, got a mean "
            f"in the air of {voltage:.4g} V; set scale of voltage, omit it from the mapping, or "
            f"set battery.nominal_voltage of the guess"
        )


def check_rotor_speeds(grid: Flight, rows: tuple[int, int], vehicle: VehicleParameters) -> None:
    """Raises ValueError if the thrust of measured rotor speeds does not carry the vehicle."""
    assert grid.rotor_speeds is not None
    speeds = grid.rotor_speeds[rows[0] : rows[1]]
    thrust = np.mean(speeds**2, axis=0) @ [r.thrust_coefficient for r in vehicle.rotors]
    ratio = float(thrust) / vehicle.weight
    if not 1.0 / _MAX_THRUST_RATIO <= ratio <= _MAX_THRUST_RATIO:
        raise ValueError(
            f"{grid.path}: expected rotor speeds whose thrust is about the weight of vehicle "
            f"{vehicle.name!r}, got {ratio:.3g} times the weight at a mean of {speeds.mean():.4g} "
            f"rad/s in the air; set rotor_speed_unit of the columns to rad/s, rpm, or erpm with "
            f"pole_pairs, or rotors.thrust_coefficient of the guess"
        )
