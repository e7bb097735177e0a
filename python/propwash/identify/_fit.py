"""The fit itself: robust least squares, standard errors, whiteness, and what came out."""

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

_TOLD = 0.5
_LAGS = 10
_WIDEST = 3.0
_WIDEST_BALANCE = 1.0
_MOST_EVALUATIONS = 25
_FAR_ABOVE = 5.0


@dataclass(frozen=True)
class Estimate:
    """One parameter that was identified.

    name, unit: of the parameter, as in a vehicle file. guess: where the search started.
    value: the estimate.
    """

    name: str
    unit: str
    guess: float
    value: float
    standard_error: float
    """In the unit of the value; robust against residuals that are correlated in time."""
    identified: bool
    """Whether the data dominate the prior: the standard error is below half the prior's."""
    at_bound: bool = False
    """Whether the value is at a bound: its minimum, or three prior deviations from the guess."""


@dataclass(frozen=True)
class Whiteness:
    """How far the residuals of one kind of window are from white noise."""

    kind: str
    """"forces" or "rates"."""
    residuals: int
    """Number of residuals."""
    rms: float
    """1 where the assumed noise is that of the log."""
    autocorrelation: float
    """Of one sample with the next within a window, mean over windows."""
    bound: float
    """What white residuals stay within, either side, in 95 of 100 cases."""

    @property
    def is_white(self) -> bool:
        """Whether the autocorrelation is within the bound."""
        return abs(self.autocorrelation) <= self.bound


@dataclass(frozen=True)
class LogEstimate:
    """What was estimated of one log alone."""

    flight: Flight
    """The log, on a uniform grid, with velocity and attitude where they were observed."""
    vehicle: VehicleParameters
    """As it flew that day: with the balance of its rotors, or of its battery's place."""
    voltage: Array | None
    """(K,) V, recorded or estimated."""
    battery: Battery | None
    """The battery's model, where the voltage was not recorded."""


@dataclass(frozen=True)
class Identified:
    """What `identify.fit_vehicle` found.

    estimates: one for each parameter that was free. whiteness: one for each kind of window.
    logs: what was estimated for each log alone. cost: that the search minimised.
    """

    vehicle: VehicleParameters
    estimates: tuple[Estimate, ...]
    whiteness: tuple[Whiteness, ...]
    logs: tuple[LogEstimate, ...]
    cost: float
    evaluations: int
    """Of the residuals, until the search ended."""
    converged: bool = True
    """Whether the search ended by itself."""

    def estimate(self, name: str) -> Estimate:
        """The estimate of that name. Raises KeyError, which lists the names, for another."""
        for one in self.estimates:
            if one.name == name:
                return one
        names = ", ".join(one.name for one in self.estimates)
        raise KeyError(f"{name!r}: expected one of {names}")

    def table(self) -> str:
        """Estimates with their standard errors, and whiteness, as text."""
        lines = [f"{'parameter':20s}{'guess':>13s}{'estimate':>13s}{'std. error':>12s}  unit"]
        for e in self.estimates:
            note = "" if e.identified else "   (weakly identifiable: dominated by the prior)"
            if e.at_bound:
                note += "   (at the end of its range: it can be no less, or the guess is far off)"
            lines.append(
                f"{e.name:20s}{e.guess:13.5g}{e.value:13.5g}{e.standard_error:12.2g}  {e.unit}"
                + note
            )
        if not self.converged:
            lines.append(
                f"the search did not end within {_MOST_EVALUATIONS} evaluations: a nearer guess, "
                f"or fewer parameters, would do"
            )
        lines.append("")
        for w in self.whiteness:
            verdict = "white" if w.is_white else "not white"
            lines.append(
                f"residuals of {w.kind}: {w.residuals}, RMS {w.rms:.3g}, autocorrelation "
                f"{w.autocorrelation:+.3f} (white within {w.bound:.3f}): {verdict}"
            )
            if w.rms > _FAR_ABOVE:
                lines.append(
                    "  far above the assumed noise: motors in another order, units or frames of "
                    "the log, or a guess far off"
                )
        return "\n".join(lines)

    def to_toml(self) -> str:
        """The text of a vehicle file, with the standard errors in its table `[sources]`."""
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
        """Writes the vehicle file: all of it, or, where that fails, nothing."""
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
    share: float = 1.0,
    noise: Noise | None = None,
    threads: int = 0,
) -> Identified:
    """Identifies a vehicle from flights, by multiple shooting.

    logs: what `read_log` gives. Logs with position, velocity and attitude tell thrust, tilt and
        drag; logs of 80 Hz or more by one clock tell torques, lags and delay.
    guess: where the search starts, and what stays where the logs tell nothing: mass, geometry and
        all that is not identified.
    parameters: names of what is free (docs/identify.md), or one name; None for all that the logs
        can tell.
    share: of each flight's time in the air, from its beginning, that is fitted.
    noise: standard deviations that weigh the residuals.
    threads: as `Fleet` takes them.

    Raises ValueError where a log cannot be used (which says why), TypeError for what is no log,
    ParameterError for an invalid guess and for unknown names, ImportError where scipy is
    missing.
    """
    require_scipy("identification")
    flights = [logs] if isinstance(logs, Flight) else list(logs)
    _check(flights, share)
    start = vehicles.load(guess)
    names = free_names(flights, start) if parameters is None else _names(parameters, start)
    if not isinstance(noise, Noise | None):
        raise TypeError(f"noise: expected identify.Noise, got {noise!r:.50}")
    several = len(flights) > 1
    models = [prepare(f, start, noise or Noise(), several, share) for f in flights]
    problem = Problem(models, start, names, threads)
    return _result(problem, _solve(problem))


def _check(flights: Sequence[object], share: float) -> None:
    if not flights:
        raise ValueError("logs: expected at least one")
    for log in flights:
        if not isinstance(log, Flight):
            raise TypeError(f"logs: expected FlightLogs of identify.read_log(), got {log!r:.100}")
        for name in ("body_rates", "specific_force", "duty"):
            values = getattr(log, name)
            if values.size == 0:
                raise ValueError(
                    f"{log.path}: the log has no {name.replace('_', ' ')}, which a vehicle's "
                    f"identification needs; map its columns"
                )
        _check_finite(log)
    if not 0.05 <= share <= 1.0:
        raise ValueError(f"share: expected a number from 0.05 to 1, got {share!r:.50}")


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
    low, high = np.full(problem.size, -_WIDEST), np.full(problem.size, _WIDEST)
    for k, parameter in enumerate(problem.free):
        if parameter.name.startswith("balance"):
            low[k], high[k] = -_WIDEST_BALANCE, _WIDEST_BALANCE
        if parameter.lowest is not None:
            room = (parameter.read(problem.guess) - parameter.lowest) / parameter.spread
            low[k] = min(max(low[k], -room), -1e-9)
    return low, high


@dataclass(frozen=True)
class _Solved:
    x: Array
    cost: float
    evaluations: int
    converged: bool
    stopped: NDArray[np.bool_]
    """Which unknowns are at a bound."""
    pieces: list[tuple[Array, Array]]
    """What `Problem.evaluate` gives at x."""


class _Evaluations:
    """Residuals and Jacobian for scipy, flown once for each point."""

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
        """Infinite for a vehicle that cannot be, from which the search shrinks back."""
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
        max_nfev=_MOST_EVALUATIONS,
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
    """Of the unknowns: the greater of the sandwich's and of that of white residuals.

    The sandwich of Huber and White holds for windows that are correlated with those that follow
    (Newey and West 1987); of few windows it is too small.
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
    few = count / max(count - problem.size, 1)
    sandwich = few * inverse @ meat @ inverse
    return np.asarray(np.maximum(np.diag(sandwich), np.diag(inverse)))


def _whiteness(problem: Problem, pieces: Sequence[tuple[Array, Array]]) -> list[Whiteness]:
    kinds: dict[str, list[tuple[Array, int]]] = {}
    cut = [piece for log in problem.logs for piece in log.pieces]
    for piece, (residuals, _) in zip(cut, pieces, strict=True):
        kind = "forces" if piece.attitude_given else "rates"
        kinds.setdefault(kind, []).append((residuals, piece.run))
    found = []
    for kind, parts in kinds.items():
        above = below = 0.0
        pairs = 0
        for residuals, run in parts:
            series = residuals.reshape(len(residuals), -1, run)
            above += float(np.sum(series[..., 1:] * series[..., :-1]))
            below += float(np.sum(0.5 * (series[..., 1:] ** 2 + series[..., :-1] ** 2)))
            pairs += series[..., 1:].size
        every = np.concatenate([r.ravel() for r, _ in parts])
        rms = float(np.sqrt(np.mean(every**2)))
        bound = 1.96 / np.sqrt(pairs)
        found.append(Whiteness(kind, every.size, rms, above / below, float(bound)))
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
        told = bool(deviation[k] < _TOLD)
        guess, stopped = parameter.read(problem.guess), bool(solved.stopped[k])
        estimates.append(
            Estimate(parameter.name, parameter.unit, guess, value, error, told, stopped)
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
