"""Open-loop windows of a flight, flown by many candidate vehicles in one fleet.

Vehicle p * W + w of the fleet is candidate p in window w. Command delay and battery voltage, which
a fleet has in common for all of its vehicles, are put into the commands: the commands of each
candidate are late by its delay and scaled by the voltage of its battery, as `model/delay.hpp` and
`model/battery.hpp` do it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash._core import RotorSpeeds
from propwash.fleet import Fleet
from propwash.flights import Flight
from propwash.parameters import VehicleParameters

Array = NDArray[np.float64]

STEP = 2.5e-3
"""s, the longest step of the integrator, a twentieth of a motor's lag."""

GIVEN_EVERY = 0.01
"""s, how often a given attitude is put in."""

_RECORDED = ("position", "velocity", "body_rates", "specific_force")
_OWN: dict[str, Callable[[VehicleParameters], Any]] = {
    "body.inertia": lambda v: v.body.inertia,
    "rotors.axis": lambda v: [r.axis for r in v.rotors],
    "rotors.thrust_coefficient": lambda v: [r.thrust_coefficient for r in v.rotors],
    "rotors.torque_coefficient": lambda v: [r.torque_coefficient for r in v.rotors],
    "rotors.inertia": lambda v: [r.inertia for r in v.rotors],
    "motor.time_constant_up": lambda v: v.motor.time_constant_up,
    "motor.time_constant_down": lambda v: v.motor.time_constant_down,
    "rotor_drag.linear": lambda v: v.rotor_drag.linear,
    "rotor_drag.blow_back": lambda v: v.rotor_drag.blow_back,
}


@dataclass(frozen=True)
class Candidate:
    """A vehicle, and how long a command waits before it acts."""

    vehicle: VehicleParameters
    delay: float
    """s."""


@dataclass(frozen=True)
class Windows:
    """Pieces of one flight on a uniform grid, all of the same length."""

    flight: Flight
    period: float
    """s, between the rows of the flight."""
    starts: NDArray[np.intp]
    """(W,) rows."""
    samples: int
    """H, rows after each start."""

    @property
    def rows(self) -> NDArray[np.intp]:
        """(W, H) rows of the samples that are predicted."""
        return np.asarray(self.starts[:, np.newaxis] + np.arange(1, self.samples + 1))


@dataclass(frozen=True)
class Flown:
    """What the candidates made of the windows."""

    position: Array
    """(P, W, H, 3) m, world frame."""
    velocity: Array
    """(P, W, H, 3) m/s, world frame."""
    body_rates: Array
    """(P, W, H, 3) rad/s, body frame."""
    specific_force: Array
    """(P, W, H, 3) m/s^2, body frame."""


def _bare(vehicle: VehicleParameters) -> VehicleParameters:
    return vehicle.without_noise().replace(
        motor={"command_delay": 0.0}, battery={"nominal_voltage": 0.0}, imu={"rate": 0.0}
    )


def _fleet(candidates: Sequence[Candidate], copies: int, step: float, threads: int) -> Fleet:
    """Each candidate `copies` times."""
    vehicles = [candidate.vehicle for candidate in candidates]
    fleet = Fleet(
        _bare(vehicles[0]), len(vehicles) * copies, "float64", dt=step, noise=False, threads=threads
    )
    fleet.parameters.update(
        {
            name: np.repeat(np.array([get(v) for v in vehicles], dtype=float), copies, axis=0)
            for name, get in _OWN.items()
        }
    )
    return fleet


def commands(flight: Flight, period: float, candidate: Candidate, voltage: Array | None) -> Array:
    """(K - 1, N) rad/s, held from one row of the grid to the next."""
    vehicle = candidate.vehicle
    held = 0.5 * (flight.duty[:-1] + flight.duty[1:])
    late = candidate.delay / period
    whole = int(np.floor(late))
    share = late - whole
    rows = np.arange(len(held)) - whole
    last = len(held) - 1
    now, before = np.clip(rows, 0, last), np.clip(rows - 1, 0, last)
    acting = (1.0 - share) * held[now] + share * held[before]
    speeds = acting * vehicle.motor.speed_max
    if voltage is not None and vehicle.battery.nominal_voltage > 0.0:
        speeds = speeds * (voltage[:-1] / vehicle.battery.nominal_voltage)[:, np.newaxis]
    return np.clip(speeds, vehicle.motor.speed_min, vehicle.motor.speed_max)


def _motors(candidates: Sequence[Candidate], driven: Array, period: float, threads: int) -> Array:
    """(P, K, N) rad/s, rotor speeds at the rows of the grid: motors that ran along with the log.

    driven: (P, K - 1, N) commands. What carries the motors hardly turns.
    """
    substeps = int(np.ceil(period / STEP))
    fleet = _fleet(candidates, 1, period / substeps, threads)
    fleet.parameters["body.inertia"] = 1e6 * np.eye(3)
    start = np.array([c.vehicle.motor.speed_min for c in candidates])
    fleet.reset(rotor_speeds=np.repeat(start[:, np.newaxis], driven.shape[2], axis=1))
    held = np.ascontiguousarray(driven.transpose(1, 0, 2))
    flown = fleet.rollout(RotorSpeeds(held), substeps, record=["rotor_speeds"])
    speeds = np.empty((len(candidates), driven.shape[1] + 1, driven.shape[2]))
    speeds[:, 0] = start[:, np.newaxis]
    speeds[:, 1:] = np.asarray(flown.rotor_speeds).transpose(1, 0, 2)
    return speeds


def fly(
    windows: Windows,
    candidates: Sequence[Candidate],
    voltages: Sequence[Array | None],
    attitude_given: bool,
    threads: int = 0,
) -> Flown:
    """Flies every candidate through every window, from the measured states.

    voltages: (K,) V of each candidate's battery, or None for the nominal voltage.
    attitude_given: whether the measured attitude and rates are put in every 10 ms, so that forces
        alone are predicted.
    """
    flight, period, samples = windows.flight, windows.period, windows.samples
    size, count = len(candidates), len(windows.starts)
    driven = np.stack(
        [commands(flight, period, c, v) for c, v in zip(candidates, voltages, strict=True)]
    )
    speeds = _motors(candidates, driven, period, threads)
    substeps = int(np.ceil(period / STEP))
    fleet = _fleet(candidates, count, period / substeps, threads)

    def at(values: Array | None, offset: int, width: int) -> Array:
        if values is None:
            return np.zeros((size * count, width))
        return np.tile(values[windows.starts + offset], (size, 1))

    level = np.tile([1.0, 0.0, 0.0, 0.0], (size * count, 1))
    fleet.reset(
        position=at(flight.position, 0, 3),
        velocity=at(flight.velocity, 0, 3),
        attitude=level if flight.attitude is None else at(flight.attitude, 0, 4),
        body_rates=at(flight.body_rates, 0, 3),
        rotor_speeds=speeds[:, windows.starts].reshape(size * count, -1),
    )
    held = np.stack(
        [driven[:, windows.starts + k].reshape(size * count, -1) for k in range(samples)]
    )
    chunk = max(1, round(GIVEN_EVERY / period)) if attitude_given else samples
    pieces: dict[str, list[Array]] = {name: [] for name in _RECORDED}
    for k in range(0, samples, chunk):
        if attitude_given:
            fleet.place(attitude=at(flight.attitude, k, 4), body_rates=at(flight.body_rates, k, 3))
        flown = fleet.rollout(RotorSpeeds(held[k : k + chunk]), substeps, record=_RECORDED)
        for name, recorded in pieces.items():
            recorded.append(np.asarray(getattr(flown, name)))
    parts = [np.concatenate(recorded) for recorded in pieces.values()]
    shape = (samples, size, count, 3)
    return Flown(*(part.reshape(shape).transpose(1, 2, 0, 3) for part in parts))
