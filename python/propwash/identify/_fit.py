"""Robust least-squares fit of a vehicle, with standard errors and whiteness of residuals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash._checks import ParameterError, require_scipy
from propwash.identify._bias import AccelerometerBias, fit_bias
from propwash.identify._covariance import covariances_of, deviation_of
from propwash.identify._estimates import (
    MAX_EVALUATIONS,
    Estimate,
    Identified,
    LogEstimate,
)
from propwash.identify._parameters import FreeParameter, catalogue
from propwash.identify._pieces import Noise
from propwash.identify._posterior import Posterior, posterior_of
from propwash.identify._problem import (
    FitProblem,
    Scatter,
    battery_of,
    free_names,
    gridded,
    log_model,
    unidentifiable,
)
from propwash.identify._whiteness import Whiteness, whiteness_of
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_MAX_IDENTIFIED = 0.5
_MAX_DEVIATION = 3.0
_MAX_BALANCE_DEVIATION = 1.0
_MAX_LOG_FACTOR = 1.5


def fit_vehicle(
    logs: Flight | Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    *,
    parameters: Sequence[str] | None = None,
    fraction: float = 1.0,
    groups: Sequence[str] | None = None,
    noise: Noise | None = None,
    scatter: Scatter | None = None,
    threads: int = 0,
) -> Identified:
    """Identifies a vehicle from flight logs by multiple shooting.

    logs: from `read_log`. Thrust, tilt and drag are identifiable from logs with position, velocity
        and attitude; torques, lags and delay from logs of at least 80 Hz with a single clock.
    guess: initial parameters, which also provide mass, geometry and all that is not identified.
    parameters: names of the free parameters (docs/identify.md), or one name; None for all that are
        identifiable from the logs.
    fraction: fraction of each flight's time in the air, from its start, that is fitted.
    groups: name of the vehicle of each log; None: all logs are of one vehicle. Each vehicle has its
        own accelerometer bias, speed offset, blow-back, tilt and balances (`Identified.groups`);
        the others are common.
    noise: standard deviations that weight the residuals, and of errors in the inputs.
    scatter: standard deviations of the flights around the vehicle, and of vehicles around what
        they have in common.
    threads: as for `Fleet`.

    Raises ValueError for a log that cannot be used, TypeError for logs, noise or scatter of another
    type, ParameterError for an invalid guess, unknown names and parameters that these logs do not
    identify, ImportError without scipy.
    """
    require_scipy("identification")
    flights = checked(logs)
    if not 0.05 <= fraction <= 1.0:
        raise ValueError(f"fraction: expected a number from 0.05 to 1, got {fraction!r:.50}")
    start = vehicles.load(guess)
    _check_types(noise, scatter)
    names = _names(parameters, flights, start)
    grids = [gridded(flight, start, noise=noise).first(fraction) for flight in flights]
    vehicles_of = checked_groups(groups, flights)
    numbers = [[*dict.fromkeys(vehicles_of)].index(name) for name in vehicles_of]
    parts = [
        [(grid.flight, grid.rows) for grid, other in zip(grids, numbers, strict=True) if other == k]
        for k in range(1 + max(numbers))
    ]
    biases = [fit_bias(part, start) for part in parts]
    battery = battery_of(start)
    models = [
        log_model(grid, start, noise or Noise(), biases[k], battery, k)
        for grid, k in zip(grids, numbers, strict=True)
    ]
    problem = FitProblem(models, start, names, scatter or Scatter(), threads)
    bias = fit_bias([one for part in parts for one in part], start)
    names_of = [] if groups is None else [*dict.fromkeys(vehicles_of)]
    return _result(problem, _solve(problem), bias, names_of)


def calibrate(
    vehicle: str | PathLike[str] | VehicleParameters | Identified,
    log: Flight,
    seconds: float = 8.0,
    *,
    stop: float | None = None,
    noise: Noise | None = None,
    scatter: Scatter | None = None,
    threads: int = 0,
) -> LogEstimate:
    """Estimates the trims of one flight from a part of it: thrust, tilt, torques, battery.

    vehicle: its parameters are kept. The result of `fit_vehicle` also has the accelerometer's bias
        and what the batteries of its logs have in common.
    log: from `read_log`.
    seconds: time in the air that is fitted; the battery's state continues from there with the
        estimated slope.
    stop: s, of the log; the last `seconds` up to it are fitted. None: the first in the air. Trims
        move during a flight: those of the last seconds predict the next ones best.
    noise, scatter, threads: as for `fit_vehicle`.

    Raises ValueError for a log that cannot be used or is shorter, TypeError for a log, noise or
    scatter of another type, ParameterError for an invalid vehicle, ImportError without scipy.
    """
    require_scipy("calibration")
    checked([log])
    _check_types(noise, scatter)
    fitted = vehicle if isinstance(vehicle, Identified) else None
    start = vehicles.load(vehicle) if not isinstance(vehicle, Identified) else vehicle.vehicle
    grid = gridded(log, start, noise=noise)
    if stop is not None:
        stop = checks.number("stop", stop, "a time of the log [s] or None")
        grid = grid.until(stop)
    if not 1.2 <= seconds <= grid.seconds:
        part = "in the air" if stop is None else f"in the air up to {stop:g} s"
        raise ValueError(
            f"seconds: expected 1.2 s to the {grid.seconds:.3g} s of {log.path} {part}, got "
            f"{seconds!r:.50}"
        )
    grid = grid.first(seconds=seconds) if stop is None else grid.until(stop, seconds)
    bias = fitted.bias if fitted else fit_bias([(grid.flight, grid.rows)], start)
    battery = fitted.battery if fitted else battery_of(start)
    model = log_model(grid, start, noise or Noise(), bias, battery)
    problem = FitProblem([model], start, [], scatter or Scatter(), threads)
    return _result(problem, _solve(problem), bias).logs[0]


def checked_groups(groups: Sequence[str] | None, logs: Sequence[Flight]) -> list[str]:
    """Returns the name of the vehicle of each log. Raises ValueError for another number."""
    if groups is None:
        return [""] * len(logs)
    if isinstance(groups, set | frozenset) or not isinstance(groups, Iterable):
        raise TypeError(f"groups: expected a sequence of names, got {groups!r:.100}")
    names = list(groups)
    if isinstance(groups, str) or len(names) != len(logs):
        raise ValueError(
            f"groups: expected the name of a vehicle for each of the {len(logs)} logs, got "
            f"{groups!r:.100}"
        )
    for name in names:
        if not (isinstance(name, str) and name):
            raise TypeError(f"groups: expected names, got {name!r:.50}")
    return names


def _check_types(noise: object, scatter: object) -> None:
    if not isinstance(noise, Noise | None):
        raise TypeError(f"noise: expected identify.Noise, got {noise!r:.50}")
    if not isinstance(scatter, Scatter | None):
        raise TypeError(f"scatter: expected identify.Scatter, got {scatter!r:.50}")


def checked(logs: Flight | Sequence[Flight]) -> list[Flight]:
    """Returns the logs as a list.

    Raises TypeError for other types, ValueError without logs and for rows that occur twice.
    """
    flights = [logs] if isinstance(logs, Flight) else list(logs)
    if not flights:
        raise ValueError("logs: expected at least one")
    for k, log in enumerate(flights):
        if not isinstance(log, Flight):
            raise TypeError(f"logs: expected FlightLogs of identify.read_log(), got {log!r:.100}")
        for name in ("body_rates", "specific_force", "duty"):
            values = getattr(log, name)
            if values.size == 0 and not (name == "duty" and log.motors):
                raise ValueError(
                    f"{log.path}: the log has no {name.replace('_', ' ')}, which the "
                    f"identification of a vehicle requires; map its columns"
                )
        _check_finite(log)
        for other in flights[:k]:
            time, rows, others = np.intersect1d(log.time, other.time, return_indices=True)
            if len(time) > 1 and np.array_equal(log.body_rates[rows], other.body_rates[others]):
                raise ValueError(
                    f"logs: expected each row once, got {log.path} twice from {time[0]:.4g} to "
                    f"{time[-1]:.4g} s; remove one, or read sections that do not overlap"
                )
    return flights


def _check_finite(log: Flight) -> None:
    for item in fields(log):
        values = getattr(log, item.name)
        if isinstance(values, np.ndarray) and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(
                f"{log.path}, row {row + 1}, at {log.time[row]:.9g} s: {item.name} is not finite; "
                f"cut the log there"
            )


def _names(
    parameters: Sequence[str] | None, logs: Sequence[Flight], guess: VehicleParameters
) -> list[str]:
    if parameters is None:
        return free_names(logs, guess)
    known = catalogue(guess)
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    for k, name in enumerate(names):
        if name not in known:
            raise ParameterError(f"parameters: {name!r} is none of {', '.join(known)}")
        if name in names[:k]:
            raise ParameterError(f"parameters: expected each name once, got {name!r} twice")
        reason = unidentifiable(name, logs, guess)
        if reason:
            raise ParameterError(
                f"parameters: {name!r} cannot be identified from these logs: {reason}"
            )
    if not names:
        raise ParameterError(f"parameters: expected at least one of {', '.join(known)}")
    return names


def _bounds(problem: FitProblem) -> tuple[Array, Array]:
    low, high = np.full(problem.size, -_MAX_DEVIATION), np.full(problem.size, _MAX_DEVIATION)
    for k, parameter in enumerate(problem.free):
        if parameter.name.startswith("balance"):
            low[k], high[k] = -_MAX_BALANCE_DEVIATION, _MAX_BALANCE_DEVIATION
        if parameter.is_factor:
            low[k], high[k] = (
                -_MAX_LOG_FACTOR / parameter.spread,
                _MAX_LOG_FACTOR / parameter.spread,
            )
        if parameter.minimum is not None:
            distance = (parameter.read(problem.guess) - parameter.minimum) / parameter.spread
            low[k] = min(max(low[k], -distance), -1e-9)
    return low, high


@dataclass(frozen=True)
class _Solved:
    x: Array
    cost: float
    evaluations: int
    converged: bool
    at_bound: NDArray[np.bool_]
    """For each unknown."""
    pieces: list[tuple[Array, Array]]
    """`FitProblem.evaluate` at x."""


class _Evaluations:
    """Residuals and Jacobian for scipy, from one simulation for each point."""

    def __init__(self, problem: FitProblem) -> None:
        self._problem = problem
        self._x = np.zeros(problem.size)
        try:
            self._pieces = problem.evaluate(self._x)
        except ParameterError as error:
            raise ParameterError(f"guess: expected a valid vehicle, got {error}") from None

    def pieces(self, x: Array) -> list[tuple[Array, Array]]:
        if not np.array_equal(x, self._x):
            self._pieces = self._problem.evaluate(x)
            self._x = x.copy()
        return self._pieces

    def residuals(self, x: Array) -> Array:
        """Returns infinity for an invalid vehicle, which makes the optimiser shorten its step."""
        try:
            pieces = self.pieces(x)
        except ParameterError:
            count = sum(r.size for r, _ in self._pieces)
            return np.full(count + len(x), np.inf)
        return np.concatenate([*(r.ravel() for r, _ in pieces), x])

    def jacobian(self, x: Array) -> Array:
        slopes = [s.reshape(-1, len(x)) for _, s in self.pieces(x)]
        return np.concatenate([*slopes, np.eye(len(x))])


def _solve(problem: FitProblem) -> _Solved:
    from scipy.optimize import least_squares

    evaluations = _Evaluations(problem)
    solved = least_squares(
        evaluations.residuals,
        np.zeros(problem.size),
        evaluations.jacobian,
        bounds=_bounds(problem),
        loss="soft_l1",
        xtol=1e-6,
        ftol=1e-8,
        x_scale="jac",
        max_nfev=MAX_EVALUATIONS,
    )
    x = np.asarray(solved.x)
    return _Solved(
        x,
        float(solved.cost),
        int(solved.nfev),
        bool(solved.status > 0),
        np.asarray(solved.active_mask != 0),
        evaluations.pieces(x),
    )


def _whiteness(problem: FitProblem, pieces: Sequence[tuple[Array, Array]]) -> list[Whiteness]:
    kinds: dict[str, list[tuple[Array, int, float]]] = {}
    windows = [piece for log in problem.logs for piece in log.pieces]
    for piece, (residuals, _) in zip(windows, pieces, strict=True):
        kind = type(piece).__name__.lower()
        part = (residuals, piece.series_length, piece.windows.overlap)
        kinds.setdefault(kind, []).append(part)
    return [whiteness_of(kind, parts) for kind, parts in kinds.items()]


def _estimate(
    parameter: FreeParameter, guess: float, value: float, deviation: float, at_bound: bool
) -> Estimate:
    """deviation: standard error in prior standard deviations."""
    scale = abs(value) if parameter.is_factor else 1.0
    error = float(deviation * parameter.spread * scale)
    is_identified = bool(deviation < _MAX_IDENTIFIED)
    return Estimate(
        parameter.name, parameter.unit, guess, value, error, is_identified, bool(at_bound)
    )


def _result(
    problem: FitProblem, solved: _Solved, bias: AccelerometerBias, groups: Sequence[str] = ()
) -> Identified:
    """bias: Common to all logs. groups: Names of the vehicles."""
    x = solved.x
    covariances = covariances_of(problem, solved.pieces)
    deviation = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2).max(axis=0))
    name = f"{problem.guess.name.removesuffix('_identified')}_identified"

    def vehicle_of(
        group: int | None,
    ) -> tuple[VehicleParameters, tuple[Estimate, ...], Posterior]:
        """The common vehicle, or that of a group, its estimates and its posterior."""
        common, vehicle = problem.vehicle(x), problem.vehicle(x, group=group)
        own = {} if group is None else {p.name: j for j, p in problem.deviations[group].items()}
        estimates = []
        for k, p in enumerate(problem.free):
            combination = np.eye(problem.size)[k]
            if p.name in own:
                combination[own[p.name]] = problem.scatter.vehicles
            error = deviation_of(covariances, combination)
            # balances change the means of shared coefficients in second order
            value = p.read(vehicle if p.name in own else common)
            at_bound = bool(solved.at_bound[k] or solved.at_bound[own.get(p.name, k)])
            estimates.append(_estimate(p, p.read(problem.guess), value, error, at_bound))
        vehicle = vehicle.replace(name=name)
        posterior = posterior_of(problem, x, covariances, vehicle, group)
        return vehicle, tuple(estimates), posterior

    logs = []
    for number, log in enumerate(problem.logs):
        trims = tuple(
            _trim(p, x[k], deviation[k], solved.at_bound[k])
            for k, p in problem.trims[number].items()
        )
        flight, (first, last) = log.grid.flight, log.grid.rows
        logs.append(
            LogEstimate(
                flight,
                problem.vehicle(x, number),
                problem.battery(x, number),
                log.bias,
                trims,
                (float(flight.time[first]), float(flight.time[last - 1])),
            )
        )
    vehicle, estimates, posterior = vehicle_of(None)
    common = Identified(
        vehicle,
        estimates,
        tuple(_whiteness(problem, solved.pieces)),
        tuple(logs),
        bias,
        problem.battery(x),
        solved.cost,
        solved.evaluations,
        posterior,
        solved.converged,
    )
    members = [
        [k for k, log in enumerate(problem.logs) if log.group == g] for g in range(len(groups))
    ]
    parts = {}
    for g, group in enumerate(groups):
        vehicle, estimates, posterior = vehicle_of(g)
        own = tuple(logs[k] for k in members[g])
        parts[group] = replace(
            common,
            vehicle=vehicle,
            estimates=estimates,
            posterior=posterior,
            bias=own[0].bias,
            logs=own,
        )
    return replace(common, groups=parts)


def _trim(parameter: FreeParameter, x: float, deviation: float, at_bound: bool) -> Estimate:
    value = float(x) * parameter.spread
    if parameter.is_factor:
        value = float(np.expm1(value))
    unit = "rad" if parameter.name.startswith("tilt") else "relative"
    error = float(deviation * parameter.spread)
    return Estimate(
        parameter.name, unit, 0.0, value, error, bool(deviation < _MAX_IDENTIFIED), bool(at_bound)
    )
