"""Open-loop windows of a flight, and their derivatives, flown side by side by the compiled core.

Command delay and battery voltage are applied to the commands by `vehicle/tick.hpp`, as in a step of
the vehicle. Derivatives are those of dual numbers, `fleet/open_loop.hpp`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet.threads import pool_of
from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

STEP = 2.5e-3
"""s, the longest step of the integrator, a twentieth of a motor's lag."""

GIVEN_EVERY = 0.01
"""Interval at which a measured attitude is set [s]."""

RECORDED = ("position", "velocity", "body_rates", "specific_force")


@dataclass(frozen=True)
class Flyer:
    """A vehicle as it flew in one log, its battery, and how both depend on V unknowns."""

    vehicle: VehicleParameters
    voltage: Array | None
    """(K,) V, or None for the nominal voltage."""
    unknowns: int = 0
    """V."""
    slopes: Mapping[str, Array] = field(default_factory=dict)
    """(V, ...) derivatives of the vehicle's fields, by the names of `Fleet.parameters`."""
    voltage_slopes: Array | None = None
    """(V, K) V, derivatives of the voltage; None where it is known."""


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
    """Where the windows led: values, and behind them the derivatives for each of V unknowns.

    What was not recorded is empty.
    """

    position: Array
    """(1 + V, W, H, 3) m, world frame."""
    velocity: Array
    """(1 + V, W, H, 3) m/s, world frame."""
    body_rates: Array
    """(1 + V, W, H, 3) rad/s, body frame."""
    specific_force: Array
    """(1 + V, W, H, 3) m/s^2, body frame."""


def commands(flight: Flight, period: float, flyer: Flyer) -> tuple[Array, Array]:
    """(K - 1, N) rad/s, held from one row of the grid to the next; (V, K - 1, N) derivatives.

    Where a delay of whole periods makes a corner, the derivative is that towards longer delays.
    """
    held = 0.5 * (flight.duty[:-1] + flight.duty[1:])
    log = {"duty": held, "voltage": None, "voltage_slopes": None}
    if flyer.voltage is not None and flyer.vehicle.battery.nominal_voltage > 0.0:
        log["voltage"] = flyer.voltage[:-1]
        if flyer.voltage_slopes is not None:
            log["voltage_slopes"] = flyer.voltage_slopes[:, :-1]
    driven: tuple[Array, Array] = _core.drive_open_loop(
        flyer.vehicle, dict(flyer.slopes), flyer.unknowns, log, period
    )
    return driven


def fly(
    windows: Windows,
    flyer: Flyer,
    attitude_given: bool,
    threads: int | _core.ThreadPool = 0,
    record: Sequence[str] = RECORDED,
) -> Flown:
    """Flies every window from the measured state, with rotors that ran along with the log.

    attitude_given: whether the measured attitude and rates are put in every 10 ms, so that forces
        alone are predicted.
    threads: as `Fleet` takes them.
    record: names of what is wanted.
    """
    flight, period = windows.flight, windows.period
    driven, slopes = commands(flight, period, flyer)
    log = {
        "position": flight.position,
        "velocity": flight.velocity,
        "attitude": flight.attitude,
        "body_rates": flight.body_rates,
        "commands": driven,
        "command_slopes": slopes,
    }
    flown = _core.fly_open_loop(
        flyer.vehicle,
        dict(flyer.slopes),
        flyer.unknowns,
        log,
        period=period,
        substeps=int(np.ceil(period / STEP)),
        starts=windows.starts,
        samples=windows.samples,
        attitude_every=max(1, round(GIVEN_EVERY / period)) if attitude_given else 0,
        record=list(record),
        pool=pool_of(threads),
    )
    nothing = np.empty((1 + flyer.unknowns, len(windows.starts), windows.samples, 0))
    return Flown(*(flown.get(name, nothing) for name in RECORDED))
