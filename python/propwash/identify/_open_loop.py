"""Open-loop simulation of windows of a flight, with derivatives, in the compiled core.

`vehicle/tick.hpp` applies command delay and battery voltage to the commands, as in a step of the
vehicle; `fleet/open_loop.hpp` computes derivatives with dual numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from propwash import _core, _derivatives
from propwash.fleet.threads import pool_of
from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

STEP = 2.5e-3
"""s, maximum step of the integrator: a twentieth of a motor's lag."""

_INTERPOLATION = 4.0
"""Lag, in periods, of the motors whose speeds are measured."""
_ATTITUDE_INTERVAL = 0.01
"""Interval at which the measured attitude and rates are set [s]."""

RECORDED = ("position", "velocity", "attitude", "body_rates", "specific_force")


@dataclass(frozen=True)
class Flyer:
    """Vehicle and battery of one log, with their derivatives for V unknowns."""

    vehicle: VehicleParameters
    voltage: Array | None
    """(K,) V, or None for the nominal voltage."""
    unknowns: int = 0
    """Number V of unknowns."""
    slopes: Mapping[str, Array] = field(default_factory=dict)
    """(V, ...) derivatives of the vehicle's fields, by the names of `Fleet.parameters`."""
    voltage_slopes: Array | None = None
    """(V, K) V, derivatives of the voltage; None if it is known."""


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
    def overlap(self) -> float:
        """In how many windows a row is; at least 1."""
        apart = float(np.median(np.diff(self.starts))) if len(self.starts) > 1 else np.inf
        return max(1.0, self.samples / apart)

    @property
    def rows(self) -> NDArray[np.intp]:
        """(W, H) rows of the samples that are predicted."""
        return np.asarray(self.starts[:, np.newaxis] + np.arange(1, self.samples + 1))


@dataclass(frozen=True)
class Simulated:
    """Values of windows, followed by their derivatives for each of V unknowns.

    Quantities that were not recorded are empty.
    """

    position: Array
    """(1 + V, W, H, 3) m, world frame."""
    velocity: Array
    """(1 + V, W, H, 3) m/s, world frame."""
    attitude: Array
    """(1 + V, W, H, 4) unit quaternions, body to world."""
    body_rates: Array
    """(1 + V, W, H, 3) rad/s, body frame."""
    specific_force: Array
    """(1 + V, W, H, 3) m/s^2, body frame."""


def commands(flight: Flight, period: float, flyer: Flyer) -> tuple[Array, Array]:
    """Returns (K - 1, N) rad/s, constant between rows of the grid, and (V, K - 1, N) derivatives.

    At a delay of whole periods the derivative is the one-sided one towards longer delays.
    """
    duty = 0.5 * (flight.duty[:-1] + flight.duty[1:])
    log = {"duty": duty, "voltage": None, "voltage_slopes": None}
    if flyer.voltage is not None and flyer.vehicle.battery.nominal_voltage > 0.0:
        log["voltage"] = flyer.voltage[:-1]
        if flyer.voltage_slopes is not None:
            log["voltage_slopes"] = flyer.voltage_slopes[:, :-1]
    speeds: tuple[Array, Array] = _derivatives.drive_open_loop(
        flyer.vehicle, dict(flyer.slopes), flyer.unknowns, log, period
    )
    return speeds


def _prescribed(flyer: Flyer, speeds: Array, period: float) -> tuple[Flyer, Array]:
    """Returns a flyer and commands (K - 1, N) that reach measured rotor speeds at each row.

    The lag of its motors only interpolates between rows: the commands contain its inverse.
    """
    lag = _INTERPOLATION * period
    motor = {"time_constant_up": lag, "time_constant_down": lag, "speed_min": 0.0}
    highest = max(float(speeds.max()), *flyer.vehicle.motor_values("speed_max"))
    vehicle = flyer.vehicle.replace(motor={**motor, "speed_max": highest})
    slopes = {name: s for name, s in flyer.slopes.items() if not name.startswith("motor.")}
    steps = np.diff(speeds, axis=0) / -np.expm1(-1.0 / _INTERPOLATION)
    steps[0] = 0.0  # the motors start at the first command
    return replace(flyer, vehicle=vehicle, slopes=slopes), speeds[:-1] + steps


def fly(
    windows: Windows,
    flyer: Flyer,
    replay_attitude: bool,
    threads: int | _core.ThreadPool = 0,
    record: Sequence[str] = RECORDED,
) -> Simulated:
    """Simulates every window from its measured state.

    Rotors have the measured speeds, or follow the commands of the whole log.

    replay_attitude: whether measured attitude and rates are set every 10 ms, so that only
        translation is predicted.
    threads: as for `Fleet`.
    record: names of the quantities to return.
    """
    flight, period = windows.flight, windows.period
    slopes: Array | None = None
    if flight.rotor_speeds is None:
        speeds, slopes = commands(flight, period, flyer)
    else:
        flyer, speeds = _prescribed(flyer, flight.rotor_speeds, period)
    log = {
        "position": flight.position,
        "velocity": flight.velocity,
        "attitude": flight.attitude,
        "body_rates": flight.body_rates,
        "commands": speeds,
        "command_slopes": slopes,
    }
    predicted = _derivatives.fly_open_loop(
        flyer.vehicle,
        dict(flyer.slopes),
        flyer.unknowns,
        log,
        period=period,
        substeps=int(np.ceil(period / STEP)),
        starts=windows.starts,
        samples=windows.samples,
        attitude_every=max(1, round(_ATTITUDE_INTERVAL / period)) if replay_attitude else 0,
        record=list(record),
        pool=pool_of(threads),
    )
    empty = np.empty((1 + flyer.unknowns, len(windows.starts), windows.samples, 0))
    return Simulated(*(predicted.get(name, empty) for name in RECORDED))
