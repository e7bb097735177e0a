"""The least-squares problem: vehicle parameters, trims and battery of each log, residuals.

Unknowns are in standard deviations of their priors, which have mean zero: what the logs do not
identify keeps the value of the guess. A trim is the deviation of a parameter in one flight from the
vehicle's, with the scatter between flights as its prior: the standard errors of the vehicle's
parameters therefore include that scatter (a hierarchical model; Gelman et al., "Bayesian Data
Analysis", chapter 5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np
from numpy.typing import NDArray

from propwash.fleet.threads import pool_of
from propwash.identify import _parameters as free_parameters
from propwash.identify._airborne import (
    check_period,
    check_rotor_speeds,
    check_voltage,
    flying_rows,
)
from propwash.identify._bias import AccelerometerBias
from propwash.identify._input_noise import expected
from propwash.identify._log_battery import Battery, hover_load
from propwash.identify._motor_order import check_rotation
from propwash.identify._open_loop import Flyer, fly
from propwash.identify._parameters import BALANCES, FreeParameter
from propwash.identify._pieces import Forces, Noise, Rates, Torques
from propwash.logs import Flight, can_observe, check_order, consistent, with_observed_motion
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_MAX_FINE_STEP = 3e-3
"""s, maximum step of logs that are resampled to 2 ms."""
_MAX_STEP = 0.012
_TILTS = ("tilt_x", "tilt_y")
_INDIVIDUAL = ("speed_offset", "blow_back", *_TILTS, *BALANCES)
"""Parameters in which vehicles of one type differ."""
_OF_COMMANDS = (*free_parameters.LAG, "speed_offset")
"""Parameters that logs with measured rotor speeds do not identify."""
_SAG = 0.03
"""Prior standard deviation of the sag of the voltage, common to logs that did not record it."""


@dataclass(frozen=True)
class Scatter:
    """Standard deviations of the trims of a flight around the parameters of the vehicle."""

    thrust: float = 0.01
    """Relative: air density, wear, calibration of the voltage; twice that of the voltage."""
    tilt: float = 0.01
    """rad: the body frame of the motion capture against the rotors."""
    balance: float = 0.1
    """Relative thrust of the rotors: the place of the battery."""
    warming: float = 0.001
    """1/(10 s), relative slope of a recorded voltage: motors that warm up."""
    charge: float = 0.05
    """Relative, of the voltage of logs that did not record it."""
    discharge: float = 0.01
    """1/(10 s), relative slope of the voltage of logs that did not record it."""
    vehicles: float = 0.3
    """Of the vehicles of a fit with groups around their common parameters: speed offset, blow-back,
    tilt and balances, relative to the prior deviation of each."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if not (isinstance(value, (int, float)) and 1e-6 <= value <= 1.0):
                raise ValueError(
                    f"scatter.{item.name}: expected a number from 1e-6 to 1, got {value!r:.50}"
                )

    def of(self, name: str) -> float:
        """Returns the standard deviation of the trim of a parameter."""
        return float(getattr(self, name.partition("_")[0]))


@dataclass(frozen=True)
class Grid:
    """A log on a uniform time grid, and its rows in the air."""

    flight: Flight
    period: float
    """Sampling period [s]."""
    rows: tuple[int, int]
    """The first one in the air, and the one after the last."""

    def first(self, fraction: float = 1.0, seconds: float = np.inf) -> Grid:
        """Returns the grid with the first part of the rows in the air."""
        first, last = self.rows
        count = min(fraction * (last - first), seconds / self.period)
        return replace(self, rows=(first, first + int(count)))

    def until(self, stop: float, seconds: float = np.inf) -> Grid:
        """Returns the grid with the last rows in the air up to `stop` [s, of the log]."""
        first, last = self.rows
        last = min(last, max(first, int(np.searchsorted(self.flight.time, stop + 1e-9))))
        return replace(self, rows=(last - int(min(last - first, seconds / self.period)), last))

    @property
    def seconds(self) -> float:
        """Time in the air [s]."""
        return (self.rows[1] - self.rows[0]) * self.period


def usable(flight: Flight) -> tuple[bool, bool]:
    """Returns whether forces (with measured attitude) and torques are identifiable from a log."""
    return flight.has_pose, flight.synchronous and flight.period <= _MAX_STEP


def check_motors(flight: Flight, vehicle: VehicleParameters) -> None:
    """Raises ValueError unless the log has a motor for each rotor."""
    if flight.motors != len(vehicle.rotors):
        raise ValueError(
            f"{flight.path}: the log has {flight.motors} motors, vehicle {vehicle.name!r} "
            f"has {len(vehicle.rotors)} rotors; map the columns of each motor, or use another "
            f"vehicle"
        )
    check_order(flight, vehicle)


def gridded(
    flight: Flight,
    vehicle: VehicleParameters,
    min_seconds: float = 2.0,
    noise: Noise | None = None,
) -> Grid:
    """Interpolates a log on a uniform grid: 2 ms for logs of 330 Hz or more.

    Commands and measured rotor speeds are replaced by their expected values, given their noise. A
    log with measured speeds has duty cycles that are their fractions of `speed_max`.

    Raises ValueError for a log that cannot be of a flight of the vehicle with `min_seconds` in
    the air.
    """
    check_motors(flight, vehicle)
    if not any(usable(flight)):
        raise ValueError(
            f"{flight.path}: expected position, velocity and attitude, or commands and body rates "
            f"with one clock at {1.0 / _MAX_STEP:.0f} Hz or more; got neither: steps of "
            f"{flight.period:.3g} s"
            + ("" if flight.synchronous else ", and commands and motion not with one clock")
        )
    check_period(flight)
    consistent(flight)
    period = 2e-3 if flight.period <= _MAX_FINE_STEP else round(flight.period, 4)
    if flight.rotor_speeds is not None:
        fractions = flight.rotor_speeds / np.array(vehicle.motor_values("speed_max"))
        flight = replace(flight, duty=fractions)
    grid = flight.resampled(period)
    rows = flying_rows(grid, period, min_seconds)
    if grid.rotor_speeds is None:
        check_voltage(grid, rows, vehicle.battery.nominal_voltage)
    else:
        check_rotor_speeds(grid, rows, vehicle)
    check_rotation(grid, period, rows, vehicle)
    denoised = _denoised(flight, grid.time[rows[0]], grid.time[rows[1] - 1], noise or Noise())
    return Grid(denoised.resampled(period), period, rows)


def _denoised(flight: Flight, start: float, stop: float, noise: Noise) -> Flight:
    """Returns the flight with expected inputs; they are in the air from `start` to `stop` [s]."""
    first, last = np.searchsorted(flight.time, [start, stop]).tolist()
    if flight.rotor_speeds is not None:
        speeds = expected(flight.rotor_speeds, slice(first, last), noise.rotor_speeds)
        return replace(flight, rotor_speeds=np.maximum(speeds, 0.0))
    duty = expected(flight.duty, slice(first, last), noise.commands)
    return replace(flight, duty=np.clip(duty, 0.0, 1.0))


@dataclass
class LogModel:
    """A log, its residuals, and the names of its trims and other nuisance parameters."""

    grid: Grid
    """Without the accelerometer's bias; with velocity and attitude if an observer estimated
    them."""
    pieces: list[Forces | Rates | Torques]
    battery: Battery | None
    """With the prior mean of its numbers; None if rotor speeds do not depend on a voltage."""
    has_rotation: bool
    bias: AccelerometerBias
    """Of the accelerometer, which was subtracted."""
    group: int = 0
    """Number of the vehicle that flew."""
    nuisances: list[str] = field(default_factory=list)


def without_bias(flight: Flight, bias: AccelerometerBias | None) -> Flight:
    """Returns the flight without the accelerometer's bias."""
    if bias is None:
        return flight
    return replace(flight, specific_force=flight.specific_force - bias.value)


def log_model(
    grid: Grid,
    guess: VehicleParameters,
    noise: Noise,
    bias: AccelerometerBias,
    battery: Battery | None,
    group: int = 0,
) -> LogModel:
    """Makes the residuals of the rows of a grid that are in the air."""
    pose, rotation = usable(grid.flight)
    if grid.flight.rotor_speeds is not None:
        battery = None
    flight = with_observed_motion(without_bias(grid.flight, bias), guess)
    grid = replace(grid, flight=flight)
    pieces: list[Forces | Rates | Torques] = []
    for kind, is_used in ((Forces, pose), (Torques, not rotation), (Rates, rotation)):
        if is_used:
            pieces.append(kind(flight, grid.period, grid.rows, noise))
    model = LogModel(grid, pieces, battery, rotation, bias, group)
    model.nuisances += ["thrust"] if battery is None else ["battery_offset", "battery_slope"]
    model.nuisances += [*(_TILTS if pose else ()), *_possible_balances(guess)]
    return model


def battery_of(vehicle: VehicleParameters) -> Battery | None:
    """Returns the prior of a log's battery; None for a vehicle without dependence on a voltage."""
    nominal = vehicle.battery.nominal_voltage
    return Battery(nominal, hover_load(vehicle)) if nominal > 0.0 else None


def _possible_balances(vehicle: VehicleParameters) -> list[str]:
    return [
        name
        for name in BALANCES
        if free_parameters.balance_signs(vehicle, name.removeprefix("balance_")).any()
    ]


class FitProblem:
    """Residuals of all logs, and their derivatives with respect to all unknowns."""

    def __init__(
        self,
        logs: Sequence[LogModel],
        guess: VehicleParameters,
        names: Sequence[str],
        scatter: Scatter,
        threads: int,
    ) -> None:
        catalogue = free_parameters.catalogue(guess)
        self.guess, self.logs = guess, list(logs)
        self.free: list[FreeParameter] = [catalogue[name] for name in names]
        self.trims: list[dict[int, FreeParameter]] = []
        self.nuisances: list[dict[str, int]] = []
        size = len(self.free)
        for log in self.logs:
            indices = {name: size + k for k, name in enumerate(log.nuisances)}
            self.nuisances.append(indices)
            self.trims.append(
                {
                    k: replace(catalogue[name], spread=scatter.of(name), minimum=None)
                    for name, k in indices.items()
                    if name in catalogue
                }
            )
            size += len(log.nuisances)
        self.deviations: list[dict[int, FreeParameter]] = []
        groups = 1 + max(log.group for log in self.logs)
        individual = [p for p in self.free if groups > 1 and p.name in _INDIVIDUAL]
        for _ in range(groups):
            spread = scatter.vehicles
            self.deviations.append(
                {
                    size + k: replace(p, spread=spread * p.spread, minimum=None)
                    for k, p in enumerate(individual)
                }
            )
            size += len(individual)
        self.sag: int | None = None
        if names and any(log.battery is not None for log in self.logs):
            self.sag = size
        self.size = size + (self.sag is not None)
        self.scatter = scatter
        self._pool = pool_of(threads)

    def _moved(self, number: int) -> list[int]:
        """Returns the unknowns of the vehicle that a log identifies.

        The others have their values in the log's simulation, but no derivatives: with commands of
        another clock, lags and moments of inertia would absorb the delays of the radio.
        """
        known = (*free_parameters.FORCES, *free_parameters.FLOW, *BALANCES, "blow_back")
        rotates = self.logs[number].has_rotation
        common = [k for k, p in enumerate(self.free) if rotates or p.name in known]
        return [*common, *self._of_log(number)]

    def _of_log(self, number: int) -> dict[int, FreeParameter]:
        """Returns the unknown deviations of a log's vehicle and its trims."""
        return self.deviations[self.logs[number].group] | self.trims[number]

    def vehicle(
        self, x: Array, number: int | None = None, *, group: int | None = None
    ) -> VehicleParameters:
        """Returns the vehicle common to all logs, that of one log with its trims, or of a group."""
        own = {} if number is None else self._of_log(number)
        own = own if group is None else self.deviations[group]
        indexed = dict(enumerate(self.free)) | own
        return free_parameters.changed(self.guess, [*indexed.values()], x[[*indexed]])

    def battery(self, x: Array, number: int | None = None) -> Battery | None:
        """Returns the battery of a log, or what all logs have in common; None without one."""
        logs = self.logs if number is None else [self.logs[number]]
        known = [log.battery for log in logs if log.battery is not None]
        if not known:
            return None
        columns, changes = self._of_battery(number)
        offset, slope, sag = x[columns] @ changes
        battery = known[0]
        return replace(
            battery,
            offset=battery.offset + float(offset),
            slope=battery.slope + float(slope),
            sag=battery.sag + float(sag),
        )

    def _of_battery(self, number: int | None) -> tuple[list[int], Array]:
        """Returns U unknowns of a log's battery, and the (U, 3) change of its numbers for each."""
        columns, changes = [], []
        if self.sag is not None:
            columns, changes = [self.sag], [[0.0, 0.0, _SAG]]
        if number is not None:
            scatter = self.scatter
            offset, slope = scatter.charge, scatter.discharge
            if self.logs[number].grid.flight.voltage is not None:
                offset, slope = 0.5 * scatter.thrust, scatter.warming
            indices = self.nuisances[number]
            columns += [indices["battery_offset"], indices["battery_slope"]]
            changes += [[offset, 0.0, 0.0], [0.0, slope, 0.0]]
        return columns, np.array(changes).reshape(-1, 3)

    def flyer(self, x: Array, number: int) -> tuple[Flyer, list[int]]:
        """Returns the vehicle of one log and the indices of the unknowns on which it depends."""
        log = self.logs[number]
        indexed = dict(enumerate(self.free)) | self._of_log(number)
        columns = self._moved(number)
        vehicle = self.vehicle(x, number)
        every = free_parameters.slopes(self.guess, [*indexed.values()], x[[*indexed]])
        places = [[*indexed].index(k) for k in columns]
        slopes: Mapping[str, Array] = {name: s[places] for name, s in every.items()}
        battery = self.battery(x, number)
        if battery is None:
            return Flyer(vehicle, None, len(columns), slopes), columns
        start = float(log.grid.flight.time[log.grid.rows[0]])
        voltage, by_number = battery.voltage(log.grid.flight, log.grid.period, start)
        of_battery, changes = self._of_battery(number)
        zeros = np.zeros((len(columns), len(voltage)))
        slopes = {
            name: np.concatenate([s, np.zeros((len(of_battery), *s.shape[1:]))])
            for name, s in slopes.items()
        }
        columns = columns + of_battery
        by_unknown = np.concatenate([zeros, changes @ by_number])
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


def free_names(logs: Sequence[Flight], guess: VehicleParameters) -> list[str]:
    """Returns the names of the parameters that are fitted to these logs unless others are named."""
    names = [n for n in free_parameters.catalogue(guess) if n not in free_parameters.FLOW]
    return [name for name in names if not unidentifiable(name, logs, guess)]


def unidentifiable(name: str, logs: Sequence[Flight], guess: VehicleParameters) -> str:
    """Returns why a parameter is not identifiable from these logs; empty if it is."""
    kinds = [usable(log) for log in logs]
    pose = any(has_pose for has_pose, _ in kinds)
    rotation = any(rotates for _, rotates in kinds)
    if name in BALANCES:
        signs = free_parameters.balance_signs(guess, name.removeprefix("balance_"))
        return "" if signs.any() else "the rotors of the guess have no torque about this axis"
    if name in _OF_COMMANDS and all(log.rotor_speeds is not None for log in logs):
        return "the rotor speeds are measured, which replaces the motor model"
    if name == "ground_effect" and guess.ground_effect.radius == 0.0:
        return "expected a guess with ground_effect.radius > 0"
    if name in (*free_parameters.FORCES, *free_parameters.FLOW):
        if pose or name in free_parameters.THRUST:
            return ""
        return "expected a log with position, velocity and attitude"
    if name == "blow_back":
        if pose or (rotation and can_observe(guess)):
            return ""
        return "expected a log with velocity, or a guess with rotor_drag to observe it"
    if not rotation:
        return "expected a log with commands and body rates of one clock at 80 Hz or more"
    if name in ("torque", "rotor_inertia"):
        field_of = {"torque": "torque_coefficient", "rotor_inertia": "inertia"}[name]
        if getattr(guess.rotors[0], field_of) == 0.0:
            return f"it is a factor of the guess, whose rotors.{field_of} is 0"
    return ""
