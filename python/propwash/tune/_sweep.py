"""Sweeps of thousands of gains in one fleet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash._core import RateThrust, ThreadPool
from propwash.fleet import Fleet
from propwash.tune._autotune import TuneError, autotune
from propwash.tune._loop import Gains, RateLoop
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array
from propwash.vehicle.parameters import VehicleParameters

Indices = NDArray[np.intp]

_GAINS = ("proportional", "integral", "derivative")

RECORD_EVERY = 8
"""Steps between recorded and scored samples."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Results of n sets of gains; columns of arrays (n, 3) are the axes x, y, z."""

    vehicle: VehicleParameters
    proportional: Array
    """(n, 3) 1/s."""
    integral: Array
    """(n, 3) 1/s^2."""
    derivative: Array
    """(n, 3) -."""
    error: Array
    """(n, 3) RMS error of the rate during the axis' step, as a fraction of the step; infinite for
    lost vehicles."""
    overshoot: Array
    """(n, 3) fraction of the step."""
    rise_time: Array
    """(n, 3) s, until 90 % of the step; NaN if that is not reached."""
    effort: Array
    """(n,) rad/s, RMS change of the rotor commands over 8 steps in hover, due to noise."""
    lost: NDArray[np.bool_]
    """(n,) whether the vehicle lost control: a rate beyond bounds or not finite."""

    def __len__(self) -> int:
        return len(self.effort)

    @property
    def score(self) -> Array:
        """(n,) mean error of the three axes."""
        return np.asarray(self.error.mean(axis=1))

    def pareto(self) -> Indices:
        """Returns the indices of the Pareto front of score and effort, by increasing score."""
        score, effort = self.score, self.effort
        order = np.lexsort((effort, score))
        order = order[np.isfinite(score[order]) & np.isfinite(effort[order])]
        best = np.minimum.accumulate(np.concatenate([[np.inf], effort[order]]))
        return np.asarray(order[effort[order] < best[:-1]])

    def best(self, effort_weight: float = 0.5) -> int:
        """Returns the index of the best set on the Pareto front.

        effort_weight: 0 minimises the score, 1 the effort. Raises TuneError if all were lost.
        """
        if not 0.0 <= effort_weight <= 1.0:
            raise ValueError(f"effort_weight: expected from 0 to 1, got {effort_weight!r}")
        front = self.pareto()
        if not len(front):
            raise TuneError("all sets of gains lost control; try lower gains")
        parts = [_scaled(self.score[front]), _scaled(self.effort[front])]
        return int(front[np.argmin((1.0 - effort_weight) * parts[0] + effort_weight * parts[1])])

    def tuned(self, index: int) -> VehicleParameters:
        """Returns the vehicle with the gains of a set."""
        gains = {name: getattr(self, name)[index].tolist() for name in _GAINS}
        return self.vehicle.replace(rate_controller=gains)


def _scaled(values: Array) -> Array:
    width = float(np.ptp(values))
    return np.asarray((values - values.min()) / (width if width > 0.0 else 1.0))


def gain_sets(
    vehicle: str | PathLike[str] | VehicleParameters,
    n: int = 10_000,
    *,
    spread: float = 4.0,
    seed: int = 0,
    dt: float = DEFAULT_DT,
    about: Sequence[Gains] | None = None,
) -> dict[str, Array]:
    """Draws n sets of gains for sweep().

    Each gain is log-uniform between centre / spread and centre * spread.

    Args:
        vehicle: Name, TOML file or parameters.
        n: Number of sets.
        spread: Maximum factor.
        seed: Seed of the random numbers.
        dt: Time step of the controller [s].
        about: Centre gains of each axis, such as Tuning.gains; None for those of autotune() with a
            third of the motors' bandwidth, or up to eight times that if it is too low.

    Returns:
        "proportional", "integral" and "derivative", each (n, 3).
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n: expected a whole number >= 1, got {n!r:.100}")
    if not 1.0 < spread < 1e3:
        raise ValueError(f"spread: expected a factor above 1, got {spread!r}")
    if about is None:
        parameters = vehicles.load(vehicle)
        lags = [parameters.motor_values(f"time_constant_{each}") for each in ("up", "down")]
        tau = float(np.max(lags)) + parameters.motor.command_delay
        about = _centre(vehicle, min(1.0 / (2.0 * math.pi * tau), 0.05 / dt) / 3.0, dt)
    if len(about) != 3:
        raise ValueError(f"about: expected the gains of three axes, got {len(about)}")
    rng = np.random.default_rng(seed)
    sets = {}
    for name in _GAINS:
        centre = np.array([getattr(g, name) for g in about], dtype=np.float64)
        centre = np.maximum(centre, 1e-3 * (name == "derivative"))
        sets[name] = centre * spread ** rng.uniform(-1.0, 1.0, (n, 3))
    return sets


def _centre(
    vehicle: str | PathLike[str] | VehicleParameters, bandwidth: float, dt: float
) -> tuple[Gains, Gains, Gains]:
    """Gains of autotune(), with up to eight times the bandwidth if blow-back requires it."""
    errors: list[TuneError] = []
    for factor in (1.0, 2.0, 4.0, 8.0):
        try:
            return autotune(vehicle, factor * bandwidth, 45.0, dt=dt).gains
        except TuneError as error:
            errors.append(error)
    raise errors[0]


def sweep(
    vehicle: str | PathLike[str] | VehicleParameters,
    gains: Mapping[str, ArrayLike] | int = 10_000,
    *,
    duration: float = 2.0,
    amplitude: float = 0.5,
    dt: float = DEFAULT_DT,
    seed: int = 0,
    threads: int | ThreadPool = 0,
) -> Sweep:
    """Flies all sets of gains in one fleet with independent noise, and scores them.

    Args:
        vehicle: Name, TOML file or parameters.
        gains: "proportional", "integral" and "derivative", each (n, 3), (n,) for all axes, or a
            number; missing ones are the vehicle's. An integer n draws n sets by gain_sets().
        duration: s; the first fifth is hover, the rest a step up and back on each axis in turn.
        amplitude: Height of the steps [rad/s].
        dt: Time step [s].
        seed: Seed of the noise.
        threads: Threads of the Fleet.

    Raises:
        ValueError: For invalid gains or arrays of different lengths.
        ParameterError: For a vehicle that cannot hover or control its rates.
    """
    parameters = vehicles.load(vehicle)
    RateLoop(vehicle, dt)  # raises for a vehicle that cannot be controlled
    if not (math.isfinite(amplitude) and amplitude != 0.0):
        raise ValueError(
            f"amplitude: expected a finite number [rad/s] that is not 0, got {amplitude!r}"
        )
    shortest = 60 * RECORD_EVERY * dt
    if not shortest <= duration < math.inf:
        raise ValueError(f"duration: expected a finite number >= {shortest:g} s, got {duration!r}")
    if not isinstance(gains, Mapping):
        gains = gain_sets(vehicle, gains, seed=seed, dt=dt)
    sets = _checked(parameters, gains)
    rows = round(duration / (dt * RECORD_EVERY))
    n = len(sets["proportional"])
    fleet = Fleet(vehicle, n, dt=dt, seed=seed, threads=threads)
    fleet.set_parameters({f"rate_controller.{name}": each for name, each in sets.items()})
    scores = _simulate(fleet, rows, amplitude)
    lost = scores.lost | fleet.diverged
    return Sweep(
        parameters,
        **sets,
        error=np.where(lost[:, np.newaxis], np.inf, scores.error),
        overshoot=scores.overshoot,
        rise_time=scores.rise_time,
        effort=scores.effort,
        lost=lost,
    )


def _simulate(fleet: Fleet, rows: int, amplitude: float) -> _Scores:
    """Flies hover, then a step up and back on each axis; a row is RECORD_EVERY steps."""
    weight = fleet.vehicle.weight
    scores = _Scores(fleet.size, amplitude, fleet.dt * RECORD_EVERY)
    hover = rows // 5
    command = RateThrust(np.zeros(3, np.float32), weight)
    recorded = fleet.rollout(command, substeps=RECORD_EVERY, steps=hover, record=["rotor_command"])
    scores.add_hover(recorded.rotor_command)
    length = (rows - hover) // 3
    for axis in range(3):
        rates = np.zeros((length, 1, 3), dtype=np.float32)
        rates[: length // 2, 0, axis] = amplitude
        thrust = np.full((length, 1), weight, dtype=np.float32)
        command = RateThrust(rates, thrust)
        recorded = fleet.rollout(command, substeps=RECORD_EVERY, record=["body_rates"])
        scores.add_step(axis, recorded.body_rates, rates[:, 0, axis], length // 2)
    return scores


class _Scores:
    """Figures of n vehicles, computed record by record."""

    def __init__(self, n: int, amplitude: float, period: float) -> None:
        self.amplitude, self.period = amplitude, period
        self.error = np.zeros((n, 3))
        self.overshoot = np.zeros((n, 3))
        self.rise_time = np.full((n, 3), math.nan)
        self.effort = np.zeros(n)
        self.lost = np.zeros(n, dtype=np.bool_)

    def add_hover(self, command: Any) -> None:
        changes = np.diff(command[len(command) // 4 :], axis=0)
        self.effort = np.sqrt(np.mean(changes.astype(np.float64) ** 2, axis=(0, 2)))

    def add_step(self, axis: int, rates: Any, command: Any, up: int) -> None:
        rate = rates[:, :, axis] / np.float32(self.amplitude)
        reference = (command / np.float32(self.amplitude))[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            self.error[:, axis] = np.sqrt(np.mean(np.square(rate - reference), axis=0))
            rising = rate[:up]
            self.overshoot[:, axis] = np.maximum(rising.max(axis=0) - 1.0, 0.0)
            reached = rising >= 0.9
            first = np.argmax(reached, axis=0)
            there = reached.any(axis=0)
            self.rise_time[there, axis] = (first[there] + 1) * self.period
            bound = 20.0 + 10.0 * abs(self.amplitude)
            self.lost |= ~(np.abs(rates).max(axis=(0, 2)) < bound)


def _checked(vehicle: VehicleParameters, gains: Mapping[str, ArrayLike]) -> dict[str, Array]:
    unknown = set(gains) - set(_GAINS)
    if unknown:
        raise ValueError(f"gains: expected {', '.join(_GAINS)}, got {', '.join(sorted(unknown))}")
    arrays = {
        name: np.asarray(gains.get(name, getattr(vehicle.rate_controller, name)), dtype=np.float64)
        for name in _GAINS
    }
    for name, array in arrays.items():
        if array.ndim == 1 and name in gains:
            arrays[name] = array[:, np.newaxis]
        if arrays[name].ndim > 2 or (
            arrays[name].ndim == 2 and arrays[name].shape[1] not in (1, 3)
        ):
            raise ValueError(
                f"gains[{name!r}]: expected a number or shape (n,) or (n, 3), got {array.shape}"
            )
        if not np.all(np.isfinite(array) & (array >= 0.0)):
            raise ValueError(f"gains[{name!r}]: expected finite numbers >= 0")
    counts = {len(a) for a in arrays.values() if a.ndim == 2}
    if len(counts - {1}) > 1:
        raise ValueError(f"gains: expected arrays of one length n, got {sorted(counts)}")
    n = max(counts, default=1)
    return {name: np.ascontiguousarray(np.broadcast_to(a, (n, 3))) for name, a in arrays.items()}
