"""The least-squares problem: parameters of the vehicle, nuisances of each log, residuals.

The unknowns are counted in standard deviations of their priors, which stand at zero: what a log
does not tell stays where the guess has it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propwash.flights import Flight
from propwash.identify import _parameters as free_parameters
from propwash.identify._observer import can_observe, with_observed_motion
from propwash.identify._parameters import FreeParameter
from propwash.identify._pieces import Forces, Noise, Rates, flying_rows
from propwash.identify._shooting import Candidate, fly
from propwash.parameters import VehicleParameters

Array = NDArray[np.float64]

_DIFFERENCE = 1e-4
_LOAD_LAG = 0.03
_BALANCE_SPREAD = 0.05
_SLOW = 3e-3
"""s, the longest step of a log of which 2 ms are a grid."""
_FAST_ENOUGH = 0.012


@dataclass(frozen=True)
class Battery:
    """The voltage of a log that did not record it: V = V0 (1 + offset + slope t - sag load).

    The load is the sum of the squared duty cycles, less what it is in hover, behind a lag of 30 ms;
    t is counted in tens of seconds from the first row in the air.
    """

    offset: float = 0.0
    slope: float = 0.0
    """1/(10 s)."""
    sag: float = 0.0
    """Of the nominal voltage, for one rotor at full duty cycle."""

    SPREADS = (0.05, 0.02, 0.03)

    def voltage(
        self, flight: Flight, period: float, start: float, vehicle: VehicleParameters
    ) -> Array:
        """(K,) V on a grid; t is counted from `start` [s]."""
        share = 1.0 - math.exp(-period / _LOAD_LAG)
        load = np.sum(flight.duty**2, axis=1)
        load = _lagged(load, share) - _hover_load(vehicle)
        time = 0.1 * (flight.time - start)
        ratio = 1.0 + self.offset + self.slope * time - self.sag * load
        return np.asarray(vehicle.battery.nominal_voltage * np.clip(ratio, 0.3, 2.0))


def _hover_load(vehicle: VehicleParameters) -> float:
    """The sum of the squared duty cycles that carries the weight."""
    weight = vehicle.body.mass * float(np.linalg.norm(vehicle.body.gravity))
    thrust = float(np.mean([rotor.thrust_coefficient for rotor in vehicle.rotors]))
    return weight / (thrust * vehicle.motor.speed_max**2)


def _lagged(values: Array, share: float) -> Array:
    from scipy.signal import lfilter

    return np.asarray(lfilter([share], [1.0, share - 1.0], values))


@dataclass
class LogModel:
    """A log, cut into pieces, and what is only its own."""

    flight: Flight
    """On the uniform grid, with what was observed where nothing was measured."""
    period: float
    pieces: list[Forces | Rates]
    first: int
    has_battery: bool
    has_balance: bool
    has_rotation: bool
    nuisances: list[str] = field(default_factory=list)


def usable(flight: Flight) -> tuple[bool, bool]:
    """Whether the log tells forces with the attitude given, and whether it tells torques."""
    pose = all(part is not None for part in (flight.position, flight.velocity, flight.attitude))
    rotation = flight.synchronous and flight.period <= _FAST_ENOUGH
    return pose, rotation


def free_names(logs: Sequence[Flight], guess: VehicleParameters) -> list[str]:
    """The parameters that these logs tell something of."""
    told = [usable(log) for log in logs]
    names = list(free_parameters.THRUST)
    if any(pose for pose, _ in told):
        names = list(free_parameters.FORCES)
    if any(rotation for _, rotation in told):
        names += [*free_parameters.LAG, *free_parameters.ROTATION]
        seen = any(pose and rotation for pose, rotation in told) or can_observe(guess)
        absent = {
            "torque": guess.rotors[0].torque_coefficient == 0.0,
            "rotor_inertia": guess.rotors[0].inertia == 0.0,
            "blow_back": not seen,
        }
        names = [name for name in names if not absent.get(name, False)]
    return names


def prepare(
    flight: Flight, guess: VehicleParameters, noise: Noise, several: bool, share: float = 1.0
) -> LogModel:
    """A log made ready. `share`: of the time in the air, from its beginning, that is fitted."""
    if flight.duty.shape[1] != len(guess.rotors):
        raise ValueError(
            f"{flight.path}: the log has {flight.duty.shape[1]} motors, vehicle {guess.name!r} has "
            f"{len(guess.rotors)} rotors; map the columns of each motor, or give another vehicle"
        )
    pose, rotation = usable(flight)
    if not pose and not rotation:
        raise ValueError(
            f"{flight.path}: expected position, velocity and attitude, or commands and body rates "
            f"by one clock at {1.0 / _FAST_ENOUGH:.0f} Hz or more; got neither: steps of "
            f"{flight.period:.3g} s"
        )
    period = 2e-3 if flight.period <= _SLOW else round(flight.period, 4)
    grid = flight.resampled(period)
    rows = flying_rows(grid, period)
    first, last = rows[0], rows[0] + int(share * (rows[1] - rows[0]))
    lateral = grid.specific_force[first:last, :2].mean(axis=0)
    grid = with_observed_motion(grid, guess, (float(lateral[0]), float(lateral[1])))
    pieces: list[Forces | Rates] = []
    if pose:
        pieces.append(Forces(grid, period, (first, last), noise))
    if rotation:
        pieces.append(Rates(grid, period, (first, last), noise))
    has_battery = flight.voltage is None and guess.battery.nominal_voltage > 0.0
    model = LogModel(grid, period, pieces, first, has_battery, several and rotation, rotation)
    if has_battery:
        model.nuisances += ["battery_offset", "battery_slope"]
    if model.has_balance:
        model.nuisances += ["balance_roll", "balance_pitch", "balance_yaw"]
    return model


class Problem:
    """Residuals and Jacobian of all logs, flown in one fleet for each kind of window."""

    def __init__(
        self, logs: Sequence[LogModel], guess: VehicleParameters, names: Sequence[str], threads: int
    ) -> None:
        catalogue = free_parameters.catalogue(guess)
        self.guess, self.logs, self.threads = guess, list(logs), threads
        self.free: list[FreeParameter] = [catalogue[name] for name in names]
        self._balance = {name: catalogue[name] for name in catalogue if name.startswith("balance")}
        self._forces_only = [i for i, name in enumerate(names) if name in free_parameters.FORCES]
        self.own: list[dict[str, int]] = []
        size = len(self.free)
        for log in self.logs:
            self.own.append({name: size + k for k, name in enumerate(log.nuisances)})
            size += len(log.nuisances)
        self.sag = size if any(log.has_battery for log in self.logs) else None
        self.size = size + (self.sag is not None)

    def vehicle(self, x: Array) -> VehicleParameters:
        """The vehicle that all logs share."""
        return free_parameters.changed(self.guess, self.free, x[: len(self.free)])

    def of_log(self, x: Array, number: int) -> tuple[Candidate, Array | None]:
        """The vehicle as it flew in one log, and its battery."""
        log, own = self.logs[number], self.own[number]
        free, values = self.free, x[: len(self.free)]
        if not log.has_rotation:
            free = [self.free[i] for i in self._forces_only]
            values = x[self._forces_only]
        vehicle = free_parameters.changed(self.guess, free, values)
        for name, parameter in self._balance.items():
            if name in own:
                vehicle = parameter.change(vehicle, float(x[own[name]]) * _BALANCE_SPREAD)
        return Candidate(vehicle, vehicle.motor.command_delay), self.voltage(x, number)

    def battery(self, x: Array, number: int) -> Battery:
        """The battery of a log that did not record its voltage."""
        own = self.own[number]
        offset, slope, sag = Battery.SPREADS
        assert self.sag is not None
        return Battery(
            offset=float(x[own["battery_offset"]]) * offset,
            slope=float(x[own["battery_slope"]]) * slope,
            sag=float(x[self.sag]) * sag,
        )

    def voltage(self, x: Array, number: int) -> Array | None:
        """(K,) V of a log, recorded or estimated; None where nothing depends on it."""
        log = self.logs[number]
        if not log.has_battery:
            return log.flight.voltage
        start = float(log.flight.time[log.first])
        return self.battery(x, number).voltage(log.flight, log.period, start, self.guess)

    def moved(self, number: int) -> list[int]:
        """The unknowns that a log depends on."""
        log = self.logs[number]
        moved = list(range(len(self.free))) if log.has_rotation else list(self._forces_only)
        moved += self.own[number].values()
        if log.has_battery and self.sag is not None:
            moved.append(self.sag)
        return moved

    def evaluate(self, x: Array) -> list[tuple[Array, Array]]:
        """For each piece of each log: residuals (W, M), and their derivatives (W, M, unknowns)."""
        pieces = []
        for number, log in enumerate(self.logs):
            moved = self.moved(number)
            points = [x]
            for k in moved:
                point = x.copy()
                point[k] += _DIFFERENCE
                points.append(point)
            made = [self.of_log(point, number) for point in points]
            candidates = [candidate for candidate, _ in made]
            voltages = [voltage for _, voltage in made]
            for piece in log.pieces:
                given = piece.attitude_given
                flown = fly(piece.windows, candidates, voltages, given, self.threads)
                at = piece.residuals(flown)
                slopes = np.zeros((*at.shape[1:], self.size))
                slopes[..., moved] = np.moveaxis((at[1:] - at[0]) / _DIFFERENCE, 0, -1)
                pieces.append((at[0], slopes))
        return pieces
