"""Robust least-squares fit of a vehicle, with standard errors and whiteness of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from propwash._checks import ParameterError, require_scipy
from propwash._files import written_whole
from propwash.identify._parameters import catalogue
from propwash.identify._pieces import Noise
from propwash.identify._problem import Battery, LogModel, Problem, free_names, prepare
from propwash.logs import Flight
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_MAX_IDENTIFIED = 0.5
_LAGS = 10
_MAX_DEVIATION = 3.0
_MAX_BALANCE_DEVIATION = 1.0
_MAX_EVALUATIONS = 25
_HIGH_RMS = 5.0


@dataclass(frozen=True)
class Estimate:
    """Estimate of one parameter.

    name, unit: of the parameter. guess: the initial value. value: the estimate.
    """

    name: str
    unit: str
    guess: float
    value: float
    standard_error: float
    """In the unit of the value; valid for residuals that are correlated in time."""
    identified: bool
    """Whether the data dominate the prior: the standard error is below half the prior's."""
    at_bound: bool = False
    """Whether the value is at its minimum or 3 prior deviations (a balance: 1) from the guess."""


@dataclass(frozen=True)
class Whiteness:
    """Whiteness test of the residuals of one type of window."""

    kind: str
    """"forces" or "rates"."""
    residuals: int
    """Number of residuals."""
    rms: float
    """1 if the assumed noise equals the noise of the log."""
    autocorrelation: float
    """At a lag of one sample within a window, averaged over windows."""
    bound: float
    """Limit of its absolute value, within which white residuals are with 95 % probability."""

    @property
    def is_white(self) -> bool:
        """Whether the autocorrelation is within the bound."""
        return abs(self.autocorrelation) <= self.bound


@dataclass(frozen=True)
class LogEstimate:
    """Estimates that are specific to one log."""

    flight: Flight
    """The log on a uniform grid, with velocity and attitude if an observer estimated them."""
    vehicle: VehicleParameters
    """The vehicle with the rotor balance of this log."""
    voltage: Array | None
    """(K,) V, recorded or estimated."""
    battery: Battery | None
    """The battery model, if the voltage was not recorded."""


@dataclass(frozen=True)
class Identified:
    """Result of `identify.fit_vehicle`.

    estimates: one for each free parameter. whiteness: one for each type of window.
    logs: estimates specific to each log. cost: the minimum of the cost function.
    """

    vehicle: VehicleParameters
    estimates: tuple[Estimate, ...]
    whiteness: tuple[Whiteness, ...]
    logs: tuple[LogEstimate, ...]
    cost: float
    evaluations: int
    """Number of evaluations of the residuals."""
    converged: bool = True
    """Whether the optimiser converged."""

    def estimate(self, name: str) -> Estimate:
        """Returns the estimate with this name. Raises KeyError that lists the names for others."""
        for one in self.estimates:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.estimates)
        raise KeyError(f"{name!r}: expected one of {names}")

    def table(self) -> str:
        """Returns estimates, standard errors and whiteness as text."""
        lines = [f"{'parameter':20s}{'guess':>13s}{'estimate':>13s}{'std. error':>12s}  unit"]
        for e in self.estimates:
            note = "" if e.identified else "   (weakly identifiable: dominated by the prior)"
            if e.at_bound:
                note += "   (at a bound: its minimum, or too far from the guess)"
            lines.append(
                f"{e.name:20s}{e.guess:13.5g}{e.value:13.5g}{e.standard_error:12.2g}  {e.unit}"
                + note
            )
        if not self.converged:
            lines.append(
                f"the search did not converge within {_MAX_EVALUATIONS} evaluations: use a better "
                f"guess or fewer parameters"
            )
        lines.append("")
        for w in self.whiteness:
            verdict = "white" if w.is_white else "not white"
            lines.append(
                f"residuals of {w.kind}: {w.residuals}, RMS {w.rms:.3g}, autocorrelation "
                f"{w.autocorrelation:+.3f} (white within {w.bound:.3f}): {verdict}"
            )
            if w.rms > _HIGH_RMS:
                lines.append(
                    "  far above the assumed noise: check the order of the motors, units and "
                    "frames of the log, and the guess"
                )
        return "\n".join(lines)

    def to_toml(self) -> str:
        """Returns the text of a vehicle file with the standard errors in table `[sources]`."""
        logs = ", ".join(log.flight.path.name for log in self.logs)
        lines = [self.vehicle.to_toml().rstrip(), "", "[sources]"]
        lines.append(f'identified = "from {_plain(logs)}: estimates and standard errors"')
        for e in self.estimates:
            lines.append(
                f'"identified {e.name}" = "{e.value:.6g} +- {e.standard_error:.2g} {e.unit}'
                f'{"" if e.identified else ", weakly identifiable"}"'
            )
        return "\n".join(lines) + "\n"

    def save(self, path: str | PathLike[str]) -> None:
        """Writes a vehicle file; leaves no partial file if that fails."""
        file = Path(path)
        with written_whole(file, ".toml") as part:
            part.write_text(self.to_toml(), encoding="utf-8")
            vehicles.load(part)


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() and c not in '"\\' else "_" for c in text)


def fit_vehicle(
    logs: Flight | Sequence[Flight],
    guess: str | PathLike[str] | VehicleParameters = "crazyflie",
    *,
    parameters: Sequence[str] | None = None,
    fraction: float = 1.0,
    noise: Noise | None = None,
    threads: int = 0,
) -> Identified:
    """Identifies a vehicle from flight logs by multiple shooting.

    logs: from `read_log`. Thrust, tilt and drag are identifiable from logs with position, velocity
        and attitude; torques, lags and delay from logs of at least 80 Hz with a single clock.
    guess: initial parameters, which also provide mass, geometry and all that is not identified.
    parameters: names of the free parameters (docs/identify.md), or one name; None for all that are
        identifiable from the logs.
    fraction: fraction of each flight's time in the air, from its start, that is fitted.
    noise: standard deviations that weight the residuals.
    threads: as for `Fleet`.

    Raises ValueError for a log that cannot be used, TypeError for logs or noise of another type,
    ParameterError for an invalid guess and unknown names, ImportError without scipy.
    """
    require_scipy("identification")
    flights = [logs] if isinstance(logs, Flight) else list(logs)
    _check(flights, fraction)
    start = vehicles.load(guess)
    names = free_names(flights, start) if parameters is None else _names(parameters, start)
    if not isinstance(noise, Noise | None):
        raise TypeError(f"noise: expected identify.Noise, got {noise!r:.50}")
    several = len(flights) > 1
    models = [prepare(f, start, noise or Noise(), several, fraction) for f in flights]
    problem = Problem(models, start, names, threads)
    return _result(problem, _solve(problem))


def _check(flights: Sequence[object], fraction: float) -> None:
    if not flights:
        raise ValueError("logs: expected at least one")
    for log in flights:
        if not isinstance(log, Flight):
            raise TypeError(f"logs: expected FlightLogs of identify.read_log(), got {log!r:.100}")
        for name in ("body_rates", "specific_force", "duty"):
            values = getattr(log, name)
            if values.size == 0:
                raise ValueError(
                    f"{log.path}: the log has no {name.replace('_', ' ')}, which the "
                    f"identification of a vehicle requires; map its columns"
                )
        _check_finite(log)
    if not 0.05 <= fraction <= 1.0:
        raise ValueError(f"fraction: expected a number from 0.05 to 1, got {fraction!r:.50}")


def _check_finite(log: Flight) -> None:
    for item in fields(log):
        values = getattr(log, item.name)
        if isinstance(values, np.ndarray) and not np.isfinite(values).all():
            row = int(np.argwhere(~np.isfinite(values))[0][0])
            raise ValueError(
                f"{log.path}, row {row + 1}, at {log.time[row]:.9g} s: {item.name} is not finite; "
                f"cut the log there"
            )


def _names(parameters: Sequence[str], guess: VehicleParameters) -> list[str]:
    known = catalogue(guess)
    names = [parameters] if isinstance(parameters, str) else list(parameters)
    for k, name in enumerate(names):
        if name not in known:
            raise ParameterError(f"parameters: {name!r} is none of {', '.join(known)}")
        if name in names[:k]:
            raise ParameterError(f"parameters: expected each name once, got {name!r} twice")
    if not names:
        raise ParameterError(f"parameters: expected at least one of {', '.join(known)}")
    return names


def _bounds(problem: Problem) -> tuple[Array, Array]:
    low, high = np.full(problem.size, -_MAX_DEVIATION), np.full(problem.size, _MAX_DEVIATION)
    for k, parameter in enumerate(problem.free):
        if parameter.name.startswith("balance"):
            low[k], high[k] = -_MAX_BALANCE_DEVIATION, _MAX_BALANCE_DEVIATION
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
    """`Problem.evaluate` at x."""


class _Evaluations:
    """Residuals and Jacobian for scipy, from one simulation for each point."""

    def __init__(self, problem: Problem) -> None:
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


def _solve(problem: Problem) -> _Solved:
    from scipy.optimize import least_squares

    evaluations = _Evaluations(problem)
    solved = least_squares(
        evaluations.residuals,
        np.zeros(problem.size),
        evaluations.jacobian,
        bounds=_bounds(problem),
        loss="soft_l1",
        xtol=1e-4,
        ftol=1e-5,
        x_scale="jac",
        max_nfev=_MAX_EVALUATIONS,
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


def _variances(problem: Problem, pieces: Sequence[tuple[Array, Array]]) -> Array:
    """Returns variances of the unknowns: the maximum of two estimates.

    The sandwich estimate (Huber, White) allows for correlated consecutive windows (Newey and West
    1987) but is too small for few windows. The other assumes white residuals.
    """
    bread = np.eye(problem.size)
    meat = np.eye(problem.size)
    count = 0
    for residuals, slopes in pieces:
        square = 1.0 + residuals**2
        bread += np.einsum("wmi,wm,wmj->ij", slopes, square**-1.5, slopes, optimize=True)
        scores = np.einsum("wmi,wm->wi", slopes, residuals * square**-0.5)
        count += len(scores)
        lags = min(_LAGS, len(scores) // 4)
        meat += scores.T @ scores
        for lag in range(1, lags + 1):
            cross = (1.0 - lag / (lags + 1.0)) * scores[lag:].T @ scores[:-lag]
            meat += cross + cross.T
    inverse = np.linalg.inv(bread)
    small_sample = count / max(count - problem.size, 1)
    sandwich = small_sample * inverse @ meat @ inverse
    return np.asarray(np.maximum(np.diag(sandwich), np.diag(inverse)))


def _whiteness(problem: Problem, pieces: Sequence[tuple[Array, Array]]) -> list[Whiteness]:
    kinds: dict[str, list[tuple[Array, int]]] = {}
    windows = [piece for log in problem.logs for piece in log.pieces]
    for piece, (residuals, _) in zip(windows, pieces, strict=True):
        kind = "forces" if piece.replay_attitude else "rates"
        kinds.setdefault(kind, []).append((residuals, piece.series_length))
    found = []
    for kind, parts in kinds.items():
        product = power = 0.0
        pairs = 0
        for residuals, length in parts:
            series = residuals.reshape(len(residuals), -1, length)
            product += float(np.sum(series[..., 1:] * series[..., :-1]))
            power += float(np.sum(0.5 * (series[..., 1:] ** 2 + series[..., :-1] ** 2)))
            pairs += series[..., 1:].size
        values = np.concatenate([r.ravel() for r, _ in parts])
        rms = float(np.sqrt(np.mean(values**2)))
        bound = 1.96 / np.sqrt(pairs)
        found.append(Whiteness(kind, values.size, rms, product / power, float(bound)))
    return found


def _result(problem: Problem, solved: _Solved) -> Identified:
    x = solved.x
    deviation = np.sqrt(_variances(problem, solved.pieces))
    identified = problem.vehicle(x)
    estimates = []
    for k, parameter in enumerate(problem.free):
        value = parameter.read(identified)
        scale = abs(value) if parameter.is_factor else 1.0
        error = float(deviation[k] * parameter.spread * scale)
        is_identified = bool(deviation[k] < _MAX_IDENTIFIED)
        guess, at_bound = parameter.read(problem.guess), bool(solved.at_bound[k])
        estimates.append(
            Estimate(parameter.name, parameter.unit, guess, value, error, is_identified, at_bound)
        )
    logs = tuple(_log_estimate(problem, x, k, log) for k, log in enumerate(problem.logs))
    name = f"{problem.guess.name.removesuffix('_identified')}_identified"
    return Identified(
        identified.replace(name=name),
        tuple(estimates),
        tuple(_whiteness(problem, solved.pieces)),
        logs,
        solved.cost,
        solved.evaluations,
        solved.converged,
    )


def _log_estimate(problem: Problem, x: Array, number: int, log: LogModel) -> LogEstimate:
    flyer, _ = problem.flyer(x, number)
    return LogEstimate(log.flight, flyer.vehicle, flyer.voltage, problem.battery(x, number))
