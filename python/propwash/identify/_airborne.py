"""The rows of a log in the air, and checks that their values are plausible."""

from __future__ import annotations

import numpy as np

from propwash.logs import Flight

_MIN_HEIGHT = 0.1
"""m above the lowest height in the first second; below it the vehicle counts as on the ground."""
_MEAN_DUTY = 0.25
_OBSERVER_SETTLING = 1.0
_MOTOR_SETTLING = 0.5
_LANDING = 1.0
"""s, before the motors stop, in a log without heights: the vehicle may touch the ground."""
_MAX_STEP = 0.05
_FORCE_IN_FLIGHT = (3.0, 30.0)
_MAX_VOLTAGE_RATIO = 2.0
_ROTATION_INTERVAL = 0.1
_MIN_ROTATION_RATE = 0.2
_RATE_RATIOS = (0.3, 3.0)


def flying_rows(grid: Flight, period: float, min_seconds: float = 2.0) -> tuple[int, int]:
    """Returns the first row and the one after the last of the longest time in the air.

    Raises ValueError if that is shorter than `min_seconds`, steps exceed 0.05 s, or specific force
    or body rates are implausible, as with wrong units or axes.
    """
    if period > _MAX_STEP:
        raise ValueError(
            f"{grid.path}: expected steps of at most {_MAX_STEP:g} s, got {period:.3g} s; set "
            f"scale of time, or log faster"
        )
    flying = grid.duty.mean(axis=1) > _MEAN_DUTY
    half = max(1, round(0.25 / period))
    flying = np.convolve(flying, np.ones(2 * half + 1), "same") > half
    second = max(1, round(1.0 / period))
    if grid.position is not None and grid.duty[:second].mean() < _MEAN_DUTY:
        flying &= grid.position[:, 2] > grid.position[:second, 2].min() + _MIN_HEIGHT
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
        raise ValueError(
            f"{grid.path}: expected at least {min_seconds:g} s in the air (a mean duty cycle above "
            f"{_MEAN_DUTY:.0%}"
            + ("" if grid.position is None else f", {_MIN_HEIGHT:g} m above the ground")
            + f"), got {max(seconds, 0.0):.2f} s of a log of {grid.time[-1] - grid.time[0]:.2f} s; "
            "use a longer flight"
        )
    _check_force(grid, int(first), int(last))
    _check_rates(grid, period, int(first), int(last))
    return int(first), int(last)


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


def _check_force(grid: Flight, first: int, last: int) -> None:
    force = float(np.mean(grid.specific_force[first:last, 2]))
    low, high = _FORCE_IN_FLIGHT
    if not low <= force <= high:
        advice = "set down = true for axes that point down" if force < 0.0 else "1 g is 9.81 m/s^2"
        raise ValueError(
            f"{grid.path}: expected a mean specific force in the air of {low:g} to {high:g} m/s^2 "
            f"along body z, upwards, got {force:.3g}; map the columns in this unit and frame: "
            f"{advice}"
        )


def _check_rates(grid: Flight, period: float, first: int, last: int) -> None:
    """Raises ValueError if the attitude is inconsistent with the body rates."""
    if grid.attitude is None:
        return
    interval = max(1, round(_ROTATION_INTERVAL / period))
    before, after = grid.attitude[first : last - interval], grid.attitude[first + interval : last]
    w, x, y, z = before.T
    inverse = np.stack([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    rate = np.einsum("ijk,kj->ki", inverse, after)
    rate = 2.0 * np.sign(rate[:, :1]) * rate[:, 1:] / (interval * period)
    sums = np.cumsum(grid.body_rates[first:last], axis=0)
    measured = (sums[interval:] - sums[:-interval]) / interval
    for k, axis in enumerate("xyz"):
        if np.std(rate[:, k]) < _MIN_ROTATION_RATE:
            continue
        ratio = float(np.cov(rate[:, k], measured[:, k])[0, 1] / np.var(rate[:, k]))
        if not _RATE_RATIOS[0] <= ratio <= _RATE_RATIOS[1]:
            raise ValueError(
                f"{grid.path}: expected body rates that match the attitude, those about {axis} are "
                f"{ratio:.3g} times its rate of change; map them in rad/s and in body axes, "
                f"forward left up (for other axes set down = true), and the quaternion as w x y z, "
                f"body to world"
            )
