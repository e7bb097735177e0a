"""Checks that the quantities of a flight agree with each other: units, axes, rows without voltage.

A signal changes by the integral of its derivative, whatever flies: the position by that of the
velocity, the velocity by that of specific force and gravity, the attitude by that of the body
rates. A factor or an exchange of axes between both sides is a fault of the log. Constant offsets,
such as the bias of a sensor, do not matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._rotation import rotation
from propwash.logs._flights import STANDARD_GRAVITY, Flight

Array = NDArray[np.float64]

_INTERVAL = 0.25
"""s, over which positions and velocities change."""
_ROTATION_INTERVAL = 0.1
"""s, over which attitudes change: rotations stay below a half turn up to 30 rad/s."""
_MIN_INTERVALS = 8
_SLOPES = (0.3, 3.0)
"""Plausible slopes of single axes, and plausible ratios of specific force to gravity."""
_FACTORS = (0.5, 2.0)
"""Plausible factors of a relation that explains all axes."""
_EXPLAINED, _MARGIN = 0.25, 0.2
"""Maximum discrepancy of a relation that is reported, and by how much it must be better."""
_MIN_MOTION = {"velocity": 0.2, "specific force": 0.5, "body rates": 0.2}
"""SI units, mean change below which a quantity is not compared."""
_METRES = {0.001: "km", 100.0: "cm", 1000.0: "mm", 1.0 / 0.3048: "feet"}
"""Factors from m to other units."""
_SPEEDS = {factor: f"{unit}/s" for factor, unit in _METRES.items()} | {3.6: "km/h"}
_ANGLES = {180.0 / np.pi: "degrees/s", np.pi / 180.0: "rad/s, converted as if from degrees/s"}
_FORCES = {1.0 / STANDARD_GRAVITY: "g", 1000.0 / STANDARD_GRAVITY: "mg"}
_UNIT_TOLERANCE = 1.25
_LOST_VOLTAGE, _LOW_VOLTAGE = 0.25, 0.8
"""Of the median: a row below the first has lost the voltage, with neighbours below the second."""
_DRIVEN = 0.25
"""Mean duty cycle above which specific force points upwards in the body frame."""
_AXES = np.array(
    [
        np.diag(signs)[list(order)]
        for order in permutations(range(3))
        for signs in product((1.0, -1.0), repeat=3)
    ]
)
"""(48, 3, 3) signed permutations; the first is the identity."""


@dataclass(frozen=True)
class _Fault:
    """What is wrong with a flight, and its correction if the flight shows that beyond doubt."""

    reason: str
    correct: Callable[[Flight], Flight] | None = None


def consistent(flight: Flight, correct: bool = False) -> Flight:
    """Returns the flight if its quantities agree with each other.

    Compares specific force with gravity, body rates with the rotation, velocity with specific
    force and position with velocity, and finds rows that have lost the voltage.

    correct: Whether to correct faults of units and axes that the flight shows beyond doubt, and to
        interpolate the voltage of rows that have lost it. A warning states what was corrected.

    Raises ValueError, with reasons and numbers, for a flight with other faults, or with any.
    """
    corrected, reasons, fault = flight, [], None
    for check in (_force, _rates, _direction, _velocity, _position, _voltage):
        fault = check(corrected)
        if fault is None:
            continue
        reasons.append(fault.reason)
        if fault.correct is None:  # later checks may follow from it
            break
        corrected = fault.correct(corrected)
    if not reasons:
        return flight
    text = f"{flight.path}: {'; '.join(reasons)}"
    if fault is not None and fault.correct is None:
        raise ValueError(f"{text} (docs/logs.md#wrong-logs)")
    if not correct:
        raise ValueError(
            f"{text}; set scale and order of the columns, or read the log with correct=True "
            f"(--correct, docs/logs.md#wrong-logs)"
        )
    warnings.warn(f"{text}: corrected", stacklevel=4)
    return corrected


@dataclass(frozen=True)
class _Relation:
    """A signal as a factor times the rate of change of another one in other axes."""

    signal: str
    changed: str
    """The quantity that changes by the signal."""
    factor: float
    axes: Array
    """(3, 3) signed permutation, from the rate of change to the signal."""
    is_fault: bool
    """Whether another factor or other axes explain the signal, and its own do not."""
    slopes: tuple[float, ...]
    """Robust slope of the signal for each axis; 1 without enough motion."""

    @property
    def is_exchanged(self) -> bool:
        return not np.array_equal(self.axes, _AXES[0])

    @property
    def wrong_slope(self) -> str:
        """The first implausible slope of a single axis, as text; empty without one."""
        for axis, slope in zip("xyz", self.slopes, strict=True):
            if not _SLOPES[0] <= slope <= _SLOPES[1]:
                return (
                    f"got {self.signal} along {axis} of {slope:.3g} times the rate of change of "
                    f"the {self.changed}"
                )
        return ""

    def __str__(self) -> str:
        text = (
            f"got {self.signal} of {self.factor:.4g} times the rate of change of the {self.changed}"
        )
        if not self.is_exchanged:
            return text
        columns = np.argmax(np.abs(self.axes), axis=1).tolist()
        signs = ["-" if self.axes[row, k] < 0.0 else "" for row, k in enumerate(columns)]
        names = [f"{sign}{'xyz'[k]}" for sign, k in zip(signs, columns, strict=True)]
        return f"{text} with its axes in the order {', '.join(names)}"


def _relation(signal: str, changed: str, values: Array, change: Array) -> _Relation | None:
    """Relates (W, 3) means of a signal to the rates of change that they should equal.

    Returns None if there is too little motion.
    """
    if len(change) < _MIN_INTERVALS:
        return None
    values, change = values - np.median(values, axis=0), change - np.median(change, axis=0)
    sizes, large = np.linalg.norm(values, axis=1), np.linalg.norm(change, axis=1)
    means = (float(np.mean(sizes)), float(np.mean(large)))
    if max(means) < _MIN_MOTION[signal]:
        return None
    if min(means) < 1e-9 * max(means):  # a constant
        slope = 0.0 if means[0] < means[1] else np.inf
        return _Relation(signal, changed, 1.0, _AXES[0], False, (slope, slope, slope))
    rows = large >= np.median(large[large > 0.0])
    factor = float(np.median(sizes[rows] / large[rows]))

    def discrepancy(factor: float, axes: Array) -> float:
        """From 0 to 1; 0.7 for signals without relation."""
        expected = factor * change @ axes.T
        difference = np.linalg.norm(values - expected, axis=1)
        return float(np.sum(difference) / np.sum(sizes + factor * large))

    # other axes only if they explain more
    best = min(_AXES, key=lambda axes: (round(discrepancy(factor, axes), 2), -np.trace(axes)))
    is_same = np.array_equal(best, _AXES[0]) and _FACTORS[0] <= factor <= _FACTORS[1]
    explained, as_is = discrepancy(factor, best), discrepancy(1.0, _AXES[0])
    is_fault = not is_same and explained < min(_EXPLAINED, as_is - _MARGIN)
    slopes = [
        _slope(values[:, k], change[:, k])
        if min(np.std(values[:, k]), np.std(change[:, k])) > _MIN_MOTION[signal]
        else 1.0
        for k in range(3)
    ]
    return _Relation(signal, changed, factor, best, is_fault, tuple(slopes))


def _slope(values: Array, change: Array) -> float:
    """The more plausible slope of both regressions: noise makes that over its signal smaller."""
    slope, inverse = _ratio(values, change), _ratio(change, values)
    low, high = _SLOPES
    return 1.0 / inverse if not low <= slope <= high and low <= inverse <= high else slope


def _ratio(values: Array, change: Array) -> float:
    """Median ratio in the intervals of the larger half of the changes."""
    large = np.abs(change) >= np.median(np.abs(change))
    large &= change != 0.0
    return float(np.median(values[large] / change[large]))


def _unit(factor: float, units: Mapping[float, str]) -> float | None:
    """The unit that explains a factor; 1 for the right one, None without any."""
    near = min([1.0, *units], key=lambda unit: abs(np.log(factor / unit)))
    return near if max(near / factor, factor / near) <= _UNIT_TOLERANCE else None


def _intervals(flight: Flight, length: float) -> Array:
    """(W + 1,) times [s] that divide the flight into intervals."""
    length = max(length, 2.0 * flight.period)
    return np.asarray(np.arange(flight.time[0], flight.time[-1] + 1e-9, length))


def _at(flight: Flight, values: Array, times: Array) -> Array:
    columns = [np.interp(times, flight.time, column) for column in values.T]
    return np.stack(columns, axis=-1)


def _changes(flight: Flight, values: Array, times: Array) -> Array:
    """(W, 3) mean rates of change of (K, 3) values in intervals."""
    changes = np.diff(_at(flight, values, times), axis=0)
    return np.asarray(changes / np.diff(times)[:, np.newaxis])


def _means(flight: Flight, values: Array, times: Array) -> Array:
    """(W, 3) means of (K, 3) values in intervals."""
    steps = np.diff(flight.time)[:, np.newaxis]
    sums = np.cumsum(0.5 * (values[1:] + values[:-1]) * steps, axis=0)
    return _changes(flight, np.concatenate([np.zeros((1, 3)), sums]), times)


def _force(flight: Flight) -> _Fault | None:
    """The specific force is gravity and acceleration."""
    size = float(np.median(np.linalg.norm(flight.specific_force, axis=1)))
    expected = [STANDARD_GRAVITY]
    if flight.velocity is not None:
        times = _intervals(flight, _INTERVAL)
        gained = _changes(flight, flight.velocity, times) + STANDARD_GRAVITY * _AXES[0, 2]
        if len(gained):
            expected.append(float(np.median(np.linalg.norm(gained, axis=1))))
    low, high = _SLOPES
    if size == 0.0 or any(low * one <= size <= high * one for one in expected):
        return None
    reason = (
        f"expected specific force of about 1 g = {STANDARD_GRAVITY:g} m/s^2, got a median of "
        f"{size:.4g} m/s^2"
    )
    for unit, name in _FORCES.items():
        if low < size / STANDARD_GRAVITY / unit < high:
            return _Fault(f"{reason}, in {name}", _corrected("specific_force", unit))
    is_free_fall = expected[-1] < low * STANDARD_GRAVITY
    if is_free_fall or not _is_driven(flight).any():
        return None
    return _Fault(f"{reason}: map the accelerometer's readings, with gravity, in m/s^2")


def _rates(flight: Flight) -> _Fault | None:
    """The attitude changes by the body rates."""
    if flight.attitude is None:
        return None
    times = _intervals(flight, _ROTATION_INTERVAL)
    attitude = _at(flight, flight.attitude, times)
    w, x, y, z = attitude[:-1].T
    inverse = np.stack([[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
    turned = np.einsum("ijk,kj->ki", inverse, attitude[1:])
    turned *= np.where(turned[:, :1] < 0.0, -1.0, 1.0)
    sine = np.linalg.norm(turned[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(sine, turned[:, 0])
    change = turned[:, 1:] * (angle / np.maximum(sine, 1e-12) / np.diff(times))[:, np.newaxis]
    means = _means(flight, flight.body_rates, times)
    relation = _relation("body rates", "attitude", means, change)
    if relation is None or not (relation.is_fault or relation.wrong_slope):
        return None
    found = str(relation) if relation.is_fault else relation.wrong_slope
    reason = f"expected body rates that match the attitude, {found}"
    unit = _unit(relation.factor, _ANGLES)
    if relation.is_fault and not relation.is_exchanged and unit is not None:
        return _Fault(f"{reason}, in {_ANGLES[unit]}", _corrected("body_rates", unit))
    return _Fault(
        f"{reason}; map them in rad/s and in body axes, forward left up (for other axes set down "
        f"= true), and the quaternion as w x y z, body to world"
    )


def _direction(flight: Flight) -> _Fault | None:
    """The specific force points upwards on average, and in flight along body z."""
    driven = _is_driven(flight)
    lowest, is_falling = _SLOPES[0] * STANDARD_GRAVITY, False
    if flight.attitude is not None:
        upwards, where = float(np.mean(_force_W(flight, flight.attitude)[:, 2])), "world z"
        if flight.velocity is not None:
            gained = _changes(flight, flight.velocity, flight.time[[0, -1]])[0, 2]
            is_falling = upwards - gained > lowest
        if is_falling or not driven.any():
            lowest = -lowest
    elif driven.any():
        upwards, where = float(np.median(flight.specific_force[driven, 2])), "body z"
    else:
        return None
    if upwards > lowest:
        return None
    return _Fault(
        f"expected specific force upwards, got {upwards:.3g} m/s^2 along {where}; set down = true "
        f"for axes that point down, or map it in the order forward, left, up"
    )


def _force_W(flight: Flight, attitude: Array) -> Array:
    """(K, 3) measured specific force in the world frame."""
    return np.asarray(np.einsum("kij,kj->ki", rotation(attitude), flight.specific_force))


def _force_relation(flight: Flight) -> _Relation | None:
    if flight.velocity is None or flight.attitude is None:
        return None
    times = _intervals(flight, _INTERVAL)
    force = _means(flight, _force_W(flight, flight.attitude), times)
    return _relation("specific force", "velocity", force, _changes(flight, flight.velocity, times))


def _velocity(flight: Flight) -> _Fault | None:
    """The velocity changes by specific force and gravity."""
    relation = _force_relation(flight)
    if relation is None or not relation.is_fault:
        return None
    return _wrong_motion("velocity", relation, 1.0 / relation.factor, relation.axes.T, _SPEEDS)


def _position(flight: Flight) -> _Fault | None:
    """The position changes by the velocity."""
    if flight.position is None or flight.velocity is None:
        return None
    times = _intervals(flight, _INTERVAL)
    change = _changes(flight, flight.position, times)
    relation = _relation("velocity", "position", _means(flight, flight.velocity, times), change)
    if relation is None:
        return None
    if not relation.is_fault:
        if not relation.wrong_slope:
            return None
        return _Fault(
            f"expected a position that matches the velocity, {relation.wrong_slope}; map both in m "
            f"and m/s in one world frame, z up, not in body axes"
        )
    # forces may confirm the velocity; otherwise the larger numbers have a smaller unit
    by_force = _force_relation(flight)
    is_confirmed = by_force is not None and not by_force.wrong_slope
    if is_confirmed or relation.factor < _FACTORS[0]:
        inverse = 1.0 / relation.factor
        return _wrong_motion("position", relation, inverse, relation.axes.T, _METRES)
    return _wrong_motion("velocity", relation, relation.factor, relation.axes, _SPEEDS)


def _wrong_motion(
    name: str, relation: _Relation, factor: float, axes: Array, units: Mapping[float, str]
) -> _Fault:
    """A position or velocity that is `factor` times the true one, in the axes `axes`."""
    unit = _unit(factor, units)
    reason = f"expected a {relation.changed} that matches the {relation.signal}, {relation}"
    if unit is None:
        return _Fault(f"{reason}; map the {name} in SI units")
    if unit != 1.0:
        reason += f": {name} in {units[unit]}"
    return _Fault(reason, _corrected(name, unit, axes))


def _corrected(name: str, unit: float, axes: Array = _AXES[0]) -> Callable[[Flight], Flight]:
    """Returns a correction of an array that is `unit` times the true one in other axes."""

    def correct(flight: Flight) -> Flight:
        changes: dict[str, Any] = {name: getattr(flight, name) @ axes / unit}
        return replace(flight, **changes)

    return correct


def _voltage(flight: Flight) -> _Fault | None:
    """No row of a flight is without voltage."""
    voltage = flight.voltage
    if voltage is None or not np.any(voltage > 0.0):  # a vehicle without a nominal one needs none
        return None
    median = float(np.median(voltage[voltage > 0.0]))
    low = np.concatenate([[0], voltage < _LOW_VOLTAGE * median, [0]])
    lost = np.zeros(len(voltage), dtype=bool)
    for first, last in np.flatnonzero(np.diff(low)).reshape(-1, 2).tolist():
        lost[first:last] = voltage[first:last].min() < _LOST_VOLTAGE * median
    if not lost.any():
        return None
    row = int(np.argmax(lost))
    kept = np.interp(flight.time, flight.time[~lost], voltage[~lost])
    return _Fault(
        f"expected about {median:.4g} V in every row, {lost.sum()} of {len(lost)} rows have less, "
        f"down to {voltage[lost].min():.3g} V, the first at {flight.time[row]:.9g} s: they are "
        f"interpolated on request",
        lambda flight: replace(flight, voltage=kept),
    )


def _is_driven(flight: Flight) -> NDArray[np.bool_]:
    """(K,) whether the motors turn as in flight."""
    speeds = flight.duty if flight.rotor_speeds is None else flight.rotor_speeds
    if speeds.shape[1] == 0:
        return np.zeros(len(flight.time), dtype=bool)
    full = 1.0 if flight.rotor_speeds is None else max(float(speeds.max()), 1e-9)
    return np.asarray(speeds.mean(axis=1) > _DRIVEN * full)
