"""A check that the motors of a log have the order of the vehicle's rotors."""

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
_MIN_SCORE = 0.6
"""The sum that another order must have: a flight without rotation shows none."""


def check_motor_order(
    grid: Flight, period: float, rows: tuple[int, int], vehicle: VehicleParameters
) -> None:
    """Raises ValueError if another order of the motors explains the rotation of a flight better.

    The squared commands after the motors' lag are correlated with the angular acceleration about
    x and y, with the lever arms of the rotors.
    """
    rotors = len(vehicle.rotors)
    step = max(1, round(_INTERVAL / period))
    if rotors > _MAX_ROTORS or rows[1] - rows[0] < 6 * step:
        return
    rates = grid.body_rates[rows[0] : rows[1], :2]
    squares = _lagged(grid.duty[rows[0] : rows[1]], period, vehicle) ** 2
    width = max(1, round(_TREND / period))
    acceleration = _without_trend(rates[2 * step :] - rates[: -2 * step], width)
    squares = _without_trend(squares[step:-step], width)
    positions = np.array([rotor.position for rotor in vehicle.rotors])
    arms = np.stack([positions[:, 1], -positions[:, 0]])
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
