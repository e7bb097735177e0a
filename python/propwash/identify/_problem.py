"""The least-squares problem: vehicle parameters, nuisance parameters of each log, residuals.

Unknowns are in standard deviations of their priors, which have mean zero: what the logs do not
identify keeps the value of the guess.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from propwash.fleet.threads import pool_of
from propwash.identify import _parameters as free_parameters
from propwash.identify._parameters import FreeParameter
from propwash.identify._pieces import Forces, Noise, Rates, check_voltage, flying_rows
from propwash.identify._open_loop import Flyer, fly
from propwash.logs import Flight, can_observe, with_observed_motion
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_LOAD_LAG = 0.03
_RATIO_LIMITS = (0.3, 2.0)
_BALANCE_SPREAD = 0.05
_MAX_FINE_STEP = 3e-3
"""s, maximum step of logs that are resampled to 2 ms."""
_MAX_STEP = 0.012


@dataclass(frozen=True)
class Battery:
    """The voltage of a log that did not record it: V = V0 (1 + offset + slope t - sag load).

    The load is the sum of the squared duty cycles after a lag of 30 ms, minus its value in hover;
    t is the time from the first row in the air in units of 10 s.
    """

    offset: float = 0.0
    """Fraction of the nominal voltage."""
    slope: float = 0.0
    """1/(10 s)."""
    sag: float = 0.0
    """Fraction of the nominal voltage, for one rotor at full duty cycle."""

    SPREADS = (0.05, 0.02, 0.03)
    """Standard deviations of the prior of offset, slope and sag."""

    def voltage(
        self, flight: Flight, period: float, start: float, vehicle: VehicleParameters
    ) -> tuple[Array, Array]:
        """Returns (K,) V on a grid and (3, K) derivatives for offset, slope and sag.

        t starts at `start` [s].
        """
        fraction = 1.0 - math.exp(-period / _LOAD_LAG)
        load = np.sum(flight.duty**2, axis=1)
        load = _lagged(load, fraction) - _hover_load(vehicle)
        effects = np.stack([np.ones_like(load), 0.1 * (flight.time - start), -load])
        ratio = 1.0 + np.array([self.offset, self.slope, self.sag]) @ effects
        low, high = _RATIO_LIMITS
        nominal = vehicle.battery.nominal_voltage
        slopes = np.where((ratio > low) & (ratio < high), nominal * effects, 0.0)
        return np.asarray(nominal * np.clip(ratio, low, high)), slopes


def _hover_load(vehicle: VehicleParameters) -> float:
    """Returns the sum of the squared duty cycles in hover."""
    return vehicle.weight / float(np.mean(vehicle.max_rotor_thrust))


def _lagged(values: Array, fraction: float) -> Array:
    from scipy.signal import lfilter

    return np.asarray(lfilter([fraction], [1.0, fraction - 1.0], values))


@dataclass
class LogModel:
    """A log, its residuals, and the names of its nuisance parameters."""

    flight: Flight
    """On the uniform grid, with velocity and attitude if an observer estimated them."""
    period: float
    pieces: list[Forces | Rates]
    first: int
    has_battery: bool
    has_balance: bool
    has_rotation: bool
    nuisances: list[str] = field(default_factory=list)


def usable(flight: Flight) -> tuple[bool, bool]:
    """Returns whether forces (with measured attitude) and torques are identifiable from a log."""
    return flight.has_pose, flight.synchronous and flight.period <= _MAX_STEP


def free_names(logs: Sequence[Flight], guess: VehicleParameters) -> list[str]:
    """Returns the names of the parameters that are identifiable from these logs."""
    kinds = [usable(log) for log in logs]
    names = list(free_parameters.THRUST)
    if any(pose for pose, _ in kinds):
        names = list(free_parameters.FORCES)
    if any(rotation for _, rotation in kinds):
        names += [*free_parameters.LAG, *free_parameters.ROTATION]
        has_velocity = any(pose and rotation for pose, rotation in kinds) or can_observe(guess)
        absent = {
            "torque": guess.rotors[0].torque_coefficient == 0.0,
            "rotor_inertia": guess.rotors[0].inertia == 0.0,
            "blow_back": not has_velocity,
            **{
                f"balance_{axis}": not free_parameters.balance_signs(guess, axis).any()
                for axis in ("roll", "pitch", "yaw")
            },
        }
        names = [name for name in names if not absent.get(name, False)]
    return names


def prepare(
    flight: Flight, guess: VehicleParameters, noise: Noise, several: bool, fraction: float = 1.0
) -> LogModel:
    """Prepares a log, of which the first `fraction` is fitted; several: there are other logs."""
    if flight.duty.shape[1] != len(guess.rotors):
        raise ValueError(
            f"{flight.path}: the log has {flight.duty.shape[1]} motors, vehicle {guess.name!r} has "
            f"{len(guess.rotors)} rotors; map the columns of each motor, or use another vehicle"
        )
    pose, rotation = usable(flight)
    if not pose and not rotation:
        raise ValueError(
            f"{flight.path}: expected position, velocity and attitude, or commands and body rates "
            f"with one clock at {1.0 / _MAX_STEP:.0f} Hz or more; got neither: steps of "
            f"{flight.period:.3g} s"
            + ("" if flight.synchronous else ", and commands and motion not with one clock")
        )
    period = 2e-3 if flight.period <= _MAX_FINE_STEP else round(flight.period, 4)
    grid = flight.resampled(period)
    rows = flying_rows(grid, period)
    check_voltage(grid, rows, guess.battery.nominal_voltage)
    first, last = rows[0], rows[0] + int(fraction * (rows[1] - rows[0]))
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
    """Residuals of all logs, and their derivatives with respect to all unknowns."""

    def __init__(
        self, logs: Sequence[LogModel], guess: VehicleParameters, names: Sequence[str], threads: int
    ) -> None:
        catalogue = free_parameters.catalogue(guess)
        self.guess, self.logs = guess, list(logs)
        self.free: list[FreeParameter] = [catalogue[name] for name in names]
        self.nuisances: list[dict[str, int]] = []
        size = len(self.free)
        for log in self.logs:
            self.nuisances.append({name: size + k for k, name in enumerate(log.nuisances)})
            size += len(log.nuisances)
        self.sag = size if any(log.has_battery for log in self.logs) else None
        self.size = size + (self.sag is not None)
        self._pool = pool_of(threads)
        self._log_parameters = [self._of_log(k, catalogue) for k in range(len(self.logs))]

    def _of_log(
        self, number: int, catalogue: Mapping[str, FreeParameter]
    ) -> tuple[list[FreeParameter], list[int]]:
        """Returns the free parameters of a vehicle in one log and the indices of their unknowns."""
        rotates = self.logs[number].has_rotation
        indexed = [
            (parameter, k)
            for k, parameter in enumerate(self.free)
            if rotates or parameter.name in free_parameters.FORCES
        ]
        indexed += [
            (replace(catalogue[name], spread=_BALANCE_SPREAD), k)
            for name, k in self.nuisances[number].items()
            if name.startswith("balance")
        ]
        return [parameter for parameter, _ in indexed], [k for _, k in indexed]

    def vehicle(self, x: Array) -> VehicleParameters:
        """Returns the vehicle common to all logs."""
        return free_parameters.changed(self.guess, self.free, x[: len(self.free)])

    def battery(self, x: Array, number: int) -> Battery | None:
        """Returns the battery model of a log without recorded voltage; None for others."""
        if not self.logs[number].has_battery:
            return None
        spreads = np.array(Battery.SPREADS)
        return Battery(*(x[self._of_battery(number)] * spreads).tolist())

    def _of_battery(self, number: int) -> list[int]:
        """Returns the indices of the unknowns of a log's battery."""
        indices = self.nuisances[number]
        assert self.sag is not None
        return [indices["battery_offset"], indices["battery_slope"], self.sag]

    def flyer(self, x: Array, number: int) -> tuple[Flyer, list[int]]:
        """Returns the vehicle of one log and the indices of the unknowns on which it depends."""
        log = self.logs[number]
        free, columns = self._log_parameters[number]
        vehicle = free_parameters.changed(self.guess, free, x[columns])
        slopes = free_parameters.slopes(self.guess, free, x[columns])
        battery = self.battery(x, number)
        if battery is None:
            return Flyer(vehicle, log.flight.voltage, len(columns), slopes), columns
        start = float(log.flight.time[log.first])
        voltage, by_battery = battery.voltage(log.flight, log.period, start, self.guess)
        by_battery *= np.array(Battery.SPREADS)[:, np.newaxis]
        zeros = np.zeros((len(columns), len(voltage)))
        slopes = {
            name: np.concatenate([s, np.zeros((len(by_battery), *s.shape[1:]))])
            for name, s in slopes.items()
        }
        columns = columns + self._of_battery(number)
        by_unknown = np.concatenate([zeros, by_battery])
        return Flyer(vehicle, voltage, len(columns), slopes, by_unknown), columns

    def evaluate(self, x: Array) -> list[tuple[Array, Array]]:
        """Returns residuals (W, M) and derivatives (W, M, unknowns) for each piece of each log.

        Raises ParameterError if x results in an invalid vehicle.
        """
        pieces = []
        for number, log in enumerate(self.logs):
            flyer, columns = self.flyer(x, number)
            for piece in log.pieces:
                replay = piece.replay_attitude
                predicted = fly(piece.windows, flyer, replay, self._pool or 1, piece.record)
                at = piece.residuals(predicted)
                slopes = np.zeros((*at.shape[1:], self.size))
                slopes[..., columns] = np.moveaxis(at[1:], 0, -1)
                pieces.append((at[0], slopes))
        return pieces
