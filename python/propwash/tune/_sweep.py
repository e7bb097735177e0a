"""Thousands of gains, flown side by side."""

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
from propwash.tune._autotune import autotune
from propwash.tune._errors import TuneError
from propwash.tune._loop import Gains, RateLoop
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array
from propwash.vehicle.parameters import VehicleParameters

Indices = NDArray[np.intp]

RECORD_EVERY = 8
"""steps, between what is recorded and scored."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """What n sets of gains did; arrays (n, 3) are of the axes x, y, z."""

    vehicle: VehicleParameters
    proportional: Array
    """(n, 3) 1/s."""
    integral: Array
    """(n, 3) 1/s^2."""
    derivative: Array
    """(n, 3) -."""
    error: Array
    """(n, 3) root mean square of the rate's error during the axis' step, as a share of the step;
    infinite where the vehicle was lost."""
    overshoot: Array
    """(n, 3) of the step."""
    rise_time: Array
    """(n, 3) s, until 90 % of the step; NaN where that is not reached."""
    effort: Array
    """(n,) rad/s, root mean square of what the rotors' command changes by in 8 steps of hover: the
    noise that the gains send to the motors."""
    lost: NDArray[np.bool_]
    """(n,) whether a rate left all bounds or a number was not finite."""

    def __len__(self) -> int:
        return len(self.effort)

    @property
    def score(self) -> Array:
        """(n,) the mean error of the three axes."""
        return np.asarray(self.error.mean(axis=1))

    def pareto(self) -> Indices:
        """Those that no other beats both in score and in effort, by rising score."""
        score, effort = self.score, self.effort
        order = np.lexsort((effort, score))
        order = order[np.isfinite(score[order]) & np.isfinite(effort[order])]
        best = np.minimum.accumulate(np.concatenate([[np.inf], effort[order]]))
        return np.asarray(order[effort[order] < best[:-1]])

    def best(self, effort_weight: float = 0.5) -> int:
        """The set on the Pareto front that weighs both: 0 looks at the score alone, 1 at effort."""
        if not 0.0 <= effort_weight <= 1.0:
            raise ValueError(f"effort_weight: expected from 0 to 1, got {effort_weight!r}")
        front = self.pareto()
        if not len(front):
            raise TuneError("no set of gains kept its vehicle in the air; try lower gains")
        parts = [_scaled(self.score[front]), _scaled(self.effort[front])]
        return int(front[np.argmin((1.0 - effort_weight) * parts[0] + effort_weight * parts[1])])

    def tuned(self, index: int) -> VehicleParameters:
        """The vehicle with the gains of a set."""
        gains = {
            "proportional": self.proportional[index].tolist(),
            "integral": self.integral[index].tolist(),
            "derivative": self.derivative[index].tolist(),
        }
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
    """Sets of gains about a sound one, n of them, as sweep() takes them.

    about: the gains of each axis in the middle, as Tuning.gains; None: what autotune() finds for a
        third of the motors' own bandwidth, or for up to eight times that where it finds nothing.
        Each gain is drawn from a factor `spread` below it to as much above, evenly on a
        logarithmic scale.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n: expected a whole number >= 1, got {n!r:.100}")
    if not 1.0 < spread < 1e3:
        raise ValueError(f"spread: expected a factor above 1, got {spread!r}")
    if about is None:
        flown = vehicles.load(vehicle)
        ways = (flown.motor_values(f"time_constant_{way}") for way in ("up", "down"))
        tau = float(np.max([*ways])) + flown.motor.command_delay
        bandwidth = min(1.0 / (2.0 * math.pi * tau), 0.05 / dt) / 3.0
        about = _sound(vehicle, bandwidth, dt)
    if len(about) != 3:
        raise ValueError(f"about: expected the gains of three axes, got {len(about)}")
    rng = np.random.default_rng(seed)
    sets = {}
    for name in ("proportional", "integral", "derivative"):
        centre = np.array([getattr(g, name) for g in about], dtype=np.float64)
        centre = np.maximum(centre, 1e-3 * (name == "derivative"))
        sets[name] = centre * spread ** rng.uniform(-1.0, 1.0, (n, 3))
    return sets


def _sound(
    vehicle: str | PathLike[str] | VehicleParameters, bandwidth: float, dt: float
) -> tuple[Gains, Gains, Gains]:
    """What autotune() finds there, or, where blow-back asks for a quicker loop, above it."""
    refused: TuneError | None = None
    for factor in (1.0, 2.0, 4.0, 8.0):
        try:
            return autotune(vehicle, factor * bandwidth, 45.0, dt=dt).gains
        except TuneError as error:
            refused = refused or error
    assert refused is not None
    raise refused


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
    """Flies all sets of gains in one fleet, each vehicle under its own noise, and scores them.

    gains: "proportional", "integral" and "derivative", each (n, 3), (n,) for all axes alike, or a
        number; those that are missing are the vehicle's. A number n draws as many by gain_sets().
    duration: s, of which the first fifth is hover and the rest a step of `amplitude` [rad/s] on
        each axis in turn and back. seed: of the noise. threads: as Fleet takes them.

    Raises ValueError for gains that do not fit together or cannot be, ParameterError for a vehicle
    that cannot be flown.
    """
    parameters = vehicles.load(vehicle)
    RateLoop(vehicle, dt)  # a vehicle that cannot be controlled is refused here
    if not (math.isfinite(amplitude) and amplitude != 0.0):
        raise ValueError(
            f"amplitude: expected a finite number [rad/s] that is not 0, got {amplitude!r}"
        )
    least = 60 * RECORD_EVERY * dt
    if not least <= duration < math.inf:
        raise ValueError(f"duration: expected a finite number >= {least:g} s, got {duration!r}")
    if not isinstance(gains, Mapping):
        gains = gain_sets(vehicle, gains, seed=seed, dt=dt)
    sets = _checked(parameters, gains)
    rows = round(duration / (dt * RECORD_EVERY))
    n = len(sets["proportional"])
    fleet = Fleet(vehicle, n, dt=dt, seed=seed, threads=threads)
    fleet.set_parameters({f"rate_controller.{name}": each for name, each in sets.items()})
    scores = _flown(fleet, rows, amplitude)
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


def _flown(fleet: Fleet, rows: int, amplitude: float) -> _Scores:
    """Hover, then a step up and back on each axis in turn; a row is RECORD_EVERY steps."""
    weight = fleet.vehicle.weight
    scores = _Scores(fleet.size, amplitude, fleet.dt * RECORD_EVERY)
    hover = rows // 5
    still = RateThrust(np.zeros(3, np.float32), weight)
    flown = fleet.rollout(still, substeps=RECORD_EVERY, steps=hover, record=["rotor_command"])
    scores.take_hover(flown.rotor_command)
    length = (rows - hover) // 3
    for axis in range(3):
        rates = np.zeros((length, 1, 3), dtype=np.float32)
        rates[: length // 2, 0, axis] = amplitude
        thrust = np.full((length, 1), weight, dtype=np.float32)
        flown = fleet.rollout(
            RateThrust(rates, thrust), substeps=RECORD_EVERY, record=["body_rates"]
        )
        scores.take_step(axis, flown.body_rates, rates[:, 0, axis], length // 2)
    return scores


class _Scores:
    """The figures of n vehicles, taken as the records come."""

    def __init__(self, n: int, amplitude: float, period: float) -> None:
        self.amplitude, self.period = amplitude, period
        self.error = np.zeros((n, 3))
        self.overshoot = np.zeros((n, 3))
        self.rise_time = np.full((n, 3), math.nan)
        self.effort = np.zeros(n)
        self.lost = np.zeros(n, dtype=np.bool_)

    def take_hover(self, command: Any) -> None:
        changes = np.diff(command[len(command) // 4 :], axis=0)
        self.effort = np.sqrt(np.mean(changes.astype(np.float64) ** 2, axis=(0, 2)))

    def take_step(self, axis: int, rates: Any, command: Any, up: int) -> None:
        rate = rates[:, :, axis] / np.float32(self.amplitude)
        wanted = (command / np.float32(self.amplitude))[:, np.newaxis]
        with np.errstate(over="ignore", invalid="ignore"):
            self.error[:, axis] = np.sqrt(np.mean(np.square(rate - wanted), axis=0))
            rising = rate[:up]
            self.overshoot[:, axis] = np.maximum(rising.max(axis=0) - 1.0, 0.0)
            reached = rising >= 0.9
            first = np.argmax(reached, axis=0)
            there = reached.any(axis=0)
            self.rise_time[there, axis] = (first[there] + 1) * self.period
            bound = 20.0 + 10.0 * abs(self.amplitude)
            self.lost |= ~(np.abs(rates).max(axis=(0, 2)) < bound)


def _checked(vehicle: VehicleParameters, gains: Mapping[str, ArrayLike]) -> dict[str, Array]:
    names = ("proportional", "integral", "derivative")
    unknown = set(gains) - set(names)
    if unknown:
        raise ValueError(f"gains: expected {', '.join(names)}, got {', '.join(sorted(unknown))}")
    arrays = {
        name: np.asarray(gains.get(name, getattr(vehicle.rate_controller, name)), dtype=np.float64)
        for name in names
    }
    for name, array in arrays.items():
        own = name not in gains
        if array.ndim == 1 and not own:
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
