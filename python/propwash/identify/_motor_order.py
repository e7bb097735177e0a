"""Checks of the motors' order and of the unit of body rates, by the torques of the commands."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_MAX_ROTORS = 6
_INTERVAL = 0.02
"""s, half the time over which the angular acceleration is measured."""
_TREND = 0.5
"""s, of the moving average that is removed: constant torques and drag."""
_MARGIN = 0.3
"""Sum of the correlations in roll and pitch by which another order must be better."""
_MAX_RATE_FACTOR = 10.0
"""By which a guess may be wrong in its angular acceleration; degrees make a factor of 57."""
_MIN_CORRELATION = 0.4
"""Of the angular accelerations that are compared in size."""
_MIN_SCORE = 0.6
"""The sum that another order must have: a flight without rotation shows none."""


def check_rotation(
    grid: Flight, period: float, rows: tuple[int, int], vehicle: VehicleParameters
) -> None:
    """Raises ValueError if the motors have another order, or the body rates another unit.

    The squared commands after the motors' lag are correlated with the angular acceleration about
    x and y, with the lever arms of the rotors. The torques of the vehicle give its size, which
    shows the unit of the body rates of a log without attitude.
    """
    rotors = len(vehicle.rotors)
    step = max(1, round(_INTERVAL / period))
    if rows[1] - rows[0] < 6 * step:
        return
    rates = grid.body_rates[rows[0] : rows[1], :2]
    speeds = grid.duty[rows[0] : rows[1]]
    if grid.rotor_speeds is None:
        speeds = _lagged(speeds, period, vehicle)
    squares = speeds**2
    width = max(1, round(_TREND / period))
    acceleration = _without_trend(rates[2 * step :] - rates[: -2 * step], width)
    squares = _without_trend(squares[step:-step], width)
    positions = np.array([rotor.position for rotor in vehicle.rotors])
    arms = np.stack([positions[:, 1], -positions[:, 0]])
    if grid.attitude is None:
        torques = squares * np.array(vehicle.max_rotor_thrust) @ arms.T
        expected = 2.0 * step * period * torques / np.diag(np.array(vehicle.body.inertia))[:2]
        _check_unit(grid, acceleration, expected)
    if rotors > _MAX_ROTORS:
        return
    cross, square = acceleration.T @ squares, squares.T @ squares
    power = np.sum(acceleration**2, axis=0)

    def score(order: tuple[int, ...]) -> float:
        # motor i of the log drives rotor order[i]
        lever = arms[:, order]
        variance = np.einsum("ki,ij,kj->k", lever, square, lever) * power
        return float(np.sum(np.sum(lever * cross, axis=1) / np.sqrt(np.maximum(variance, 1e-30))))

    current = tuple(range(rotors))
    best = max(permutations(current), key=score)
    if score(best) > max(_MIN_SCORE, score(current) + _MARGIN):
        names = ", ".join(f"{rotor + 1}" for rotor in best)
        raise ValueError(
            f"{grid.path}: expected motors in the order of the rotors of vehicle "
            f"{vehicle.name!r}, the rotation shows that they drive rotors {names} (correlation in "
            f"roll and pitch {0.5 * score(best):.2f} instead of {0.5 * score(current):.2f}); map "
            f"the motors in the order of the rotors"
        )


def _check_unit(grid: Flight, measured: Array, expected: Array) -> None:
    """Raises ValueError if changes (K, 2) of the body rates have another size than expected."""
    sizes = [float(np.sqrt(np.mean(values**2))) for values in (measured, expected)]
    correlation = float(np.mean(measured * expected)) / max(sizes[0] * sizes[1], 1e-30)
    if correlation < _MIN_CORRELATION or (
        1.0 / _MAX_RATE_FACTOR <= sizes[0] / sizes[1] <= _MAX_RATE_FACTOR
    ):
        return
    raise ValueError(
        f"{grid.path}: expected body rates that change by the torques of the motors, got "
        f"{sizes[0] / sizes[1]:.3g} times as much; set scale of body_rates: 1 degree/s is "
        f"{np.pi / 180.0:.4g} rad/s (docs/logs.md#wrong-logs)"
    )


def _lagged(duty: Array, period: float, vehicle: VehicleParameters) -> Array:
    """Returns (K, N) commands after the mean lag of the motors."""
    lags = [*vehicle.motor_values("time_constant_up"), *vehicle.motor_values("time_constant_down")]
    fraction = -np.expm1(-period / float(np.mean(lags)))
    rows = [duty[0]]
    for command in duty[:-1]:
        rows.append(rows[-1] + fraction * (command - rows[-1]))
    return np.array(rows)


def _without_trend(values: Array, width: int) -> Array:
    """Returns (K, N) values minus their moving average."""
    kernel = np.ones(width) / width
    trend = [np.convolve(column, kernel, "same") for column in values.T]
    return np.asarray(values - np.stack(trend, axis=-1))
