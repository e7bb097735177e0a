"""The voltage that drives the motors in a log: recorded or nominal, with corrections."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propwash.logs import Flight
from propwash.vehicle.parameters import VehicleParameters

Array = NDArray[np.float64]

_LOAD_LAG = 0.03
_RATIO_LIMITS = (0.3, 2.0)
_SETTLING = 20.0
"""s; the winding of a brushed motor warms up, and a battery recovers, within tens of seconds."""


@dataclass(frozen=True)
class Battery:
    """The effective voltage of a log: V = V_0 (1 + offset + slope t' - sag load).

    V_0 is the recorded voltage, or the nominal one if none was recorded. t' = T (1 - exp(-t / T)),
    T = 20 s, is the time in the air, which saturates: the motors warm up and the battery settles.
    The load is the sum of the squared duty cycles after a lag of 30 ms, minus its value in hover; a
    recorded voltage contains it.
    """

    nominal: float
    """Nominal voltage [V]."""
    hover_load: float
    """Sum of the squared duty cycles in hover."""
    offset: float = 0.0
    """Relative: error of the voltage's scale; without a record, state of the battery."""
    slope: float = 0.0
    """1/(10 s), relative: motors that warm up, and without a record the discharge."""
    sag: float = 0.0
    """Relative, for one rotor at full duty cycle; 0 for a recorded voltage."""

    def voltage(self, flight: Flight, period: float, start: float) -> tuple[Array, Array]:
        """Returns (K,) V on a grid and (3, K) derivatives for offset, slope and sag.

        start: s, of the log, the first row in the air.
        """
        is_recorded = flight.voltage is not None
        base = (
            flight.voltage
            if flight.voltage is not None
            else np.full(len(flight.time), self.nominal)
        )
        fraction = 1.0 - math.exp(-period / _LOAD_LAG)
        load = _lagged(np.sum(flight.duty**2, axis=1), fraction) - self.hover_load
        elapsed = np.maximum(flight.time - start, 0.0)
        settled = 0.1 * _SETTLING * -np.expm1(-elapsed / _SETTLING)
        effects = np.stack([np.ones_like(load), settled, 0.0 * load if is_recorded else -load])
        ratio = 1.0 + np.array([self.offset, self.slope, self.sag]) @ effects
        low, high = _RATIO_LIMITS
        slopes = np.where((ratio > low) & (ratio < high), base * effects, 0.0)
        return np.asarray(base * np.clip(ratio, low, high)), slopes


def hover_load(vehicle: VehicleParameters) -> float:
    """Returns the sum of the squared duty cycles in hover."""
    rotors = len(vehicle.rotors)
    speed = math.sqrt(vehicle.weight / (rotors * float(np.mean(vehicle.max_rotor_thrust))))
    offset = vehicle.motor.speed_offset
    return rotors * ((speed - offset) / (1.0 - offset)) ** 2


def _lagged(values: Array, fraction: float) -> Array:
    from scipy.signal import lfilter

    return np.asarray(lfilter([fraction], [1.0, fraction - 1.0], values))
