"""Identification of a battery circuit from the commands and the recorded voltage of a flight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._checks import ParameterError, require_scipy
from propwash._core import RotorSpeeds
from propwash.fleet import Fleet
from propwash.identify._estimates import Estimate, estimate_named
from propwash.identify._open_loop import STEP, Flyer, commands
from propwash.logs import Flight, consistent
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_INTERVAL = 0.5
"""s; means over it are compared, which telemetry at 10 Hz and its low-pass hardly change."""
_MIN_SECONDS = 10.0
_CELL = (2.5, 4.6)
"""V, means of a cell's voltage that are plausible."""
_CHARGE = "state_of_charge"
_SPREADS = {
    _CHARGE: 0.3,
    "resistance": 1.0,
    "polarisation_resistance": 1.0,
    "polarisation_time": 1.0,
    "capacity": 0.3,
}
"""Prior standard deviations: of the charge, and of the logarithms of the others."""
_MIN_CHARGE = 0.02
_DIFFERENCE = 1e-4
"""Step of the differences for derivatives, in prior standard deviations."""
_MAX_IDENTIFIED = 0.5
_MAX_DEVIATION = 4.0
"""From the guess, in prior standard deviations."""
_NOISE = 0.01
"""V for each cell, assumed at first."""
_MIN_NOISE = 1e-6
_MAX_CORRELATION = 0.95
_HEAVY = 1e3


@dataclass(frozen=True)
class IdentifiedBattery:
    """Result of `identify.fit_battery`."""

    vehicle: VehicleParameters
    """The guess with the estimated circuit."""
    state_of_charge: float
    """At the start of the log."""
    estimates: tuple[Estimate, ...]
    """Estimates of the charge and of each parameter that is not 0 in the guess."""
    time: Array
    """(K,) s, of the voltages."""
    recorded: Array
    """(K,) V, means over 0.5 s."""
    predicted: Array
    """(K,) V."""

    @property
    def deviation(self) -> float:
        """Root mean square of recorded minus predicted voltage [V]."""
        return float(np.sqrt(np.mean((self.recorded - self.predicted) ** 2)))

    def estimate(self, name: str) -> Estimate:
        """Returns the estimate with this name. Raises KeyError that lists the names."""
        return estimate_named(self.estimates, name)

    def table(self) -> str:
        """Returns estimates and standard errors as text."""
        lines = [f"{'parameter':24s}{'guess':>11s}{'estimate':>11s}{'std. error':>12s}  unit"]
        for e in self.estimates:
            note = "" if e.identified else "   (weakly identifiable: dominated by the prior)"
            note += "   (at a bound)" if e.at_bound else ""
            values = f"{e.guess:11.4g}{e.value:11.4g}{e.standard_error:12.2g}"
            lines.append(f"{e.name:24s}{values}  {e.unit}{note}")
        lines.append(f"deviation of the voltage: {1e3 * self.deviation:.1f} mV")
        return "\n".join(lines)


def fit_battery(log: Flight, guess: str | PathLike[str] | VehicleParameters) -> IdentifiedBattery:
    """Estimates the battery circuit of a vehicle from the recorded voltage of a flight.

    The commands drive the rotors of the guess, whose power discharges its circuit; resistances,
    polarisation time, capacity and initial charge are adjusted until the voltage agrees, from wide
    priors around the guess. Cells, full_voltage, efficiency and load keep the values of the guess:
    an error of the efficiency changes resistances and capacity in proportion. Parts of the log at
    rest, before take-off and after landing, belong to the data.

    Args:
        log: with motor commands and voltage, at least 10 s.
        guess: a vehicle with a battery circuit, as a name, the path of a file or parameters.

    Raises ValueError for a log that is too short, without commands or voltage, or with a voltage
    that does not fit the number of cells, as in mV; ParameterError for a guess without circuit.
    """
    require_scipy("identify.fit_battery")
    vehicle = vehicles.load(guess)
    _check(log, vehicle)
    problem = _Problem(log, vehicle)
    x, deviations, at_bound = problem.solve()
    found, charge = problem.vehicle(x)
    estimates = []
    for k, name in enumerate(problem.names):
        if name == _CHARGE:
            start, value, scale, unit = problem.charge, charge, 1.0, ""
        else:
            start, value = getattr(vehicle.battery, name), getattr(found.battery, name)
            scale = value
            unit = {"capacity": "A h", "polarisation_time": "s"}.get(name, "ohm")
        error = float(deviations[k]) * _SPREADS[name] * scale
        is_identified = bool(deviations[k] < _MAX_IDENTIFIED)
        estimates.append(
            Estimate(name, unit, start, value, error, is_identified, bool(at_bound[k]))
        )
    predicted = problem.voltages(x[np.newaxis])[0]
    return IdentifiedBattery(
        found, charge, tuple(estimates), problem.time, problem.recorded, predicted
    )


def _check(log: Flight, vehicle: VehicleParameters) -> None:
    if not isinstance(log, Flight):
        raise TypeError(f"log: expected a log of read_log(), got {log!r:.100}")
    cells = vehicle.battery.cells
    if cells <= 0:
        raise ParameterError(
            f"battery.cells = {cells:g} of vehicle {vehicle.name!r}: expected a battery circuit as "
            f"the guess; set cells, capacity, full_voltage, resistance, efficiency and "
            f"nominal_voltage"
        )
    if log.duty.shape[1] != len(vehicle.rotors):
        raise ValueError(
            f"{log.path}: expected motor commands of {len(vehicle.rotors)} rotors, got "
            f"{log.duty.shape[1]}; set motors of the columns"
        )
    if log.voltage is None:
        raise ValueError(f"{log.path}: expected a voltage, got none; set voltage of the columns")
    seconds = float(log.time[-1] - log.time[0])
    if seconds < _MIN_SECONDS:
        raise ValueError(
            f"{log.path}: expected at least {_MIN_SECONDS:g} s, got {seconds:.3g} s; use a longer "
            f"log, with parts before take-off"
        )
    mean = float(np.mean(log.voltage))
    if not _CELL[0] * cells <= mean <= _CELL[1] * cells:
        raise ValueError(
            f"{log.path}: expected a mean voltage of {_CELL[0] * cells:g} to "
            f"{_CELL[1] * cells:g} V for {cells:g} cells, got {mean:.4g}; set scale of voltage, "
            f"0.001 for a column in mV, or battery.cells"
        )
    consistent(log)


class _Problem:
    """Voltages of the circuit for unknowns x, in prior standard deviations from the guess."""

    charge = 0.8
    """Guess of the initial state of charge."""

    def __init__(self, log: Flight, guess: VehicleParameters) -> None:
        self._guess = guess
        circuit = guess.battery
        self.names = [_CHARGE]
        self.names += [n for n in _SPREADS if n != _CHARGE and getattr(circuit, n) > 0.0]
        period = log.period
        grid = replace(log, rotor_speeds=None).resampled(period)
        # without a voltage, the speeds are those at the nominal voltage
        bare = guess.replace(battery={"nominal_voltage": 0.0, "cells": 0})
        speeds, _ = commands(grid, period, Flyer(bare, None))
        self._substeps = math.ceil(period / STEP)
        self._commands = RotorSpeeds(speeds[:, np.newaxis])
        self._fleet = Fleet(
            _on_a_stand(guess),
            1 + len(self.names),
            dtype="float64",
            dt=period / self._substeps,
            threads=1,
            noise=False,
        )
        assert grid.voltage is not None
        rows = max(1, round(_INTERVAL / period))
        self._bins = len(speeds) // rows
        self._rows = rows
        self.time = self._means(grid.time[1:])
        self.recorded = self._means(grid.voltage[1:])

    def _means(self, values: Array) -> Array:
        used = values[..., : self._bins * self._rows]
        return np.asarray(used.reshape(*values.shape[:-1], self._bins, self._rows).mean(axis=-1))

    def _values(self, x: Array) -> dict[str, Array]:
        values = {}
        for k, name in enumerate(self.names):
            change = _SPREADS[name] * x[..., k]
            if name == _CHARGE:
                values[name] = np.clip(self.charge + change, _MIN_CHARGE, 1.0)
            else:
                values[name] = getattr(self._guess.battery, name) * np.exp(change)
        return values

    def vehicle(self, x: Array) -> tuple[VehicleParameters, float]:
        """Returns the vehicle and the initial charge."""
        values = {name: float(value) for name, value in self._values(x).items()}
        charge = values.pop(_CHARGE)
        name = f"{self._guess.name.removesuffix('_identified')}_identified"
        return self._guess.replace(name=name, battery=values), charge

    def voltages(self, points: Array) -> Array:
        """Returns (P, K) V for unknowns (P, V), P up to 1 + V."""
        count = len(self._fleet)
        points = np.concatenate([points, np.repeat(points[-1:], count - len(points), axis=0)])
        values = self._values(points)
        charge = values.pop(_CHARGE)
        self._fleet.set_parameters({f"battery.{name}": v for name, v in values.items()})
        self._fleet.reset(rotor_speeds=self._start())
        self._fleet.set_state_of_charge(charge)
        flown: Any = self._fleet.rollout(
            self._commands, substeps=self._substeps, record=["battery_voltage"]
        )
        return self._means(np.asarray(flown.battery_voltage, dtype=np.float64).T)

    def _start(self) -> Array:
        low = np.asarray(self._guess.motor_values("speed_min"))
        return np.asarray(np.maximum(low, self._commands.speeds[0, 0]), dtype=np.float64)

    def _residuals(self, x: Array, noise: float) -> Array:
        return np.concatenate([(self.voltages(x[np.newaxis])[0] - self.recorded) / noise, x])

    def _slopes(self, x: Array, noise: float) -> Array:
        step = np.where(x + _DIFFERENCE > self._bounds()[1], -_DIFFERENCE, _DIFFERENCE)
        values = self.voltages(np.concatenate([x[np.newaxis], x + np.diag(step)]))
        slopes: Array = (values[1:] - values[0]).T / step / noise
        return np.concatenate([slopes, np.eye(len(x))])

    def _bounds(self) -> tuple[Array, Array]:
        ends = np.full((2, len(self.names)), _MAX_DEVIATION)
        ends[0] *= -1.0
        charge = self.names.index(_CHARGE)
        ends[:, charge] = (np.array([_MIN_CHARGE, 1.0]) - self.charge) / _SPREADS[_CHARGE]
        return ends[0], ends[1]

    def solve(self) -> tuple[Array, Array, Array]:
        """Returns the unknowns, their standard deviations, and whether they are at bounds."""
        from scipy.optimize import least_squares

        size = len(self.names)
        noise = _NOISE * self._guess.battery.cells
        x: Array = np.zeros(size)
        for _ in range(2):  # with an assumed noise, then with that of the residuals
            arguments = {"bounds": self._bounds(), "args": (noise,)}
            found = least_squares(self._residuals, x, self._slopes, **arguments)
            x = np.asarray(found.x, dtype=np.float64)
            errors = found.fun[:-size] * noise
            information = found.jac[:-size].T @ found.jac[:-size]
            noise = max(float(np.sqrt(np.mean(errors**2))), _MIN_NOISE)
        # correlated residuals contain less information (first-order autoregression)
        correlation = float(np.sum(errors[1:] * errors[:-1]) / np.sum(errors**2))
        correlation = min(max(correlation, 0.0), _MAX_CORRELATION)
        information = information * ((1.0 - correlation) / (1.0 + correlation))
        variances: Array = np.diag(np.linalg.inv(information + np.eye(size)))
        return x, np.sqrt(variances), np.asarray(found.active_mask != 0)


def _on_a_stand(vehicle: VehicleParameters) -> VehicleParameters:
    """The vehicle without gravity, noise and delay, too heavy to move: motors and battery only."""
    body = vehicle.body
    inertia = tuple(tuple(_HEAVY * value for value in row) for row in body.inertia)
    return vehicle.without_noise().replace(
        body={"mass": _HEAVY * body.mass, "inertia": inertia, "gravity": (0.0, 0.0, 0.0)},
        motor={"command_delay": 0.0},
    )
