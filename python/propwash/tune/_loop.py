"""The rate loop as transfer functions: motors, low-pass, delay and sampling included."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash.linearize import LinearModel, linearize
from propwash.multicopter import DEFAULT_DT, Array, Integrator
from propwash.parameters import VehicleParameters, load_vehicle
from propwash.validation import located

Complex = NDArray[np.complex128]
AXES = ("x", "y", "z")


class TuneError(ValueError):
    """What is asked for cannot be reached; the message says how near it came and what limits it."""


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability."""

    phase: float
    """deg, the least over all gain crossovers; infinite where there is none."""
    gain: float
    """dB, by how much the loop gain may rise; infinite where the phase stays above -180 deg."""
    gain_below: float
    """dB, by how much it may fall (a negative number); minus infinity where it may to nothing."""
    delay: float
    """s, the dead time that uses up the phase margin."""
    crossover: float
    """Hz, where the loop gain is 1: the highest such frequency, NaN where there is none."""
    phase_crossover: float
    """Hz, of the gain margin; NaN where there is none."""
    sensitivity_peak: float
    """The largest |1 / (1 + L)|: the inverse of the loop's least distance from -1."""
    bandwidth: float
    """Hz, where the closed loop from commanded to true rate falls below -3 dB; NaN: nowhere."""


@dataclass(frozen=True)
class Gains:
    """Gains of one axis: K_P [1/s], K_I [1/s^2], K_D [-]; numbers, or arrays that broadcast."""

    proportional: Any
    integral: Any
    derivative: Any


class RateLoop:
    """The rate controller in its loop, linearised at hover, axis by axis.

    vehicle: a name, the path of a TOML file, or VehicleParameters. dt: s, of the controller and of
    the integrator's steps.

    The loop is opened at the angular acceleration that the controller asks for. Everything comes
    from the linear model of the discrete step (propwash.linearize), so nothing is approximated but
    that perturbations are small: L(z) = G(z) H(z), with G from acceleration to rate (allocation,
    command delay, motors, body) and H the low-pass and the PID. Frequencies are in Hz.

    Raises ParameterError for a vehicle that cannot hover or whose rotors cannot control its rates.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters,
        dt: float = DEFAULT_DT,
        integrator: Integrator = "rk4",
    ) -> None:
        self.vehicle = load_vehicle(vehicle)
        self.dt = dt
        with located(vehicle):
            _core.validate_vehicle(self.vehicle)
            # of commands on their way no states are needed: a delay has a closed form
            prompt = self.vehicle.replace(motor={"command_delay": 0.0})
            self._plant = linearize(
                prompt, kind="discrete", integrator=integrator, dt=dt, outputs=["body_rates"]
            )
            # with gains 1, 0, 0 the command of the motors shows the allocation
            unit = prompt.replace(
                rate_controller={"proportional": 1.0, "integral": 0.0, "derivative": 0.0}
            )
            probe = linearize(
                unit, kind="discrete", dt=dt, command="rate_thrust", outputs=["rotor_command"]
            )
        self._allocation = probe.D[:, :3]
        self._filter = _filter_of(probe)

    @property
    def nyquist(self) -> float:
        """Hz, half the rate of the controller."""
        return 0.5 / self.dt

    def frequencies(self, count: int = 600, lowest: float = 0.02) -> Array:
        """(count,) Hz, evenly on a logarithmic scale up to just below Nyquist."""
        return np.geomspace(lowest, 0.999 * self.nyquist, count)

    def gains(self, axis: int) -> Gains:
        """Those of the vehicle's file for an axis (0, 1, 2)."""
        c = self.vehicle.rate_controller
        return Gains(c.proportional[axis], c.integral[axis], c.derivative[axis])

    def plant(self, frequency: ArrayLike, axis: int) -> Complex:
        """G: from the angular acceleration that is asked for to the body rate [s]."""
        model = self._plant
        driven = model.B @ self._allocation[:, axis]
        # what the rates do not hear of would only bring its integrators
        hears = slice(9, None)
        a, b, c = model.A[hears, hears], driven[hears], model.C[axis, hears]
        z = self._z(frequency)
        system = z[..., np.newaxis, np.newaxis] * np.eye(len(a)) - a
        column = np.broadcast_to(b[:, np.newaxis], (*z.shape, len(b), 1))
        steps = self.vehicle.motor.command_delay / self.dt
        late = math.floor(steps)
        held = (1.0 - (steps - late) + (steps - late) / z) * z**-late
        return np.asarray(held * (np.linalg.solve(system, column)[..., 0] @ c))

    def filter(self, frequency: ArrayLike, axis: int = 0) -> tuple[Complex, Complex]:
        """From the body rate to the filtered rate [-], and to its derivative [1/s]."""
        matrix, column = self._filter[axis]
        z = self._z(frequency)
        system = np.eye(2) - matrix / z[..., np.newaxis, np.newaxis]
        out = np.linalg.solve(system, np.broadcast_to(column[:, None], (*z.shape, 2, 1)))[..., 0]
        return np.asarray(out[..., 0]), np.asarray(out[..., 1])

    def open_loop(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """L, broken at the angular acceleration that is asked for; the sign is that of 1 + L."""
        g = self.gains(axis) if gains is None else gains
        value, slope = self.filter(frequency, axis)
        return self.plant(frequency, axis) * (
            self._error_gain(frequency, g) * value + np.asarray(g.derivative) * slope
        )

    def closed_loop(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """From the commanded to the true body rate."""
        g = self.gains(axis) if gains is None else gains
        forward = self.plant(frequency, axis) * self._error_gain(frequency, g)
        return forward / (1.0 + self.open_loop(frequency, axis, g))

    def sensitivity(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """S = 1 / (1 + L)."""
        return 1.0 / (1.0 + self.open_loop(frequency, axis, gains))

    def margins(self, axis: int, gains: Gains | None = None) -> Margins:
        """Gain, phase and delay margins, sensitivity peak and bandwidth of an axis."""
        f = self.frequencies(2000)
        loop = self.open_loop(f, axis, gains)
        return margins_of(f, loop, self.closed_loop(f, axis, gains))

    def stable(self, gains: Mapping[str, Any] | None = None) -> bool:
        """Whether the rates' part of the loop has all its poles within the unit circle.

        gains: fields of rate_controller to replace, for all axes together.
        """
        vehicle = self.vehicle
        if gains is not None:
            vehicle = vehicle.replace(rate_controller=dict(gains))
        model = linearize(vehicle, kind="discrete", dt=self.dt, command="rate_thrust")
        poles = np.abs(np.linalg.eigvals(model.A[9:, 9:]))
        integrates = np.asarray(vehicle.rate_controller.integral) > 0.0
        idle = 3 - int(np.sum(integrates))  # an integral without gain stays where it is
        return bool(np.sum(poles >= 1.0 - 1e-12) <= idle)

    def parts(self, frequency: ArrayLike, axis: int) -> dict[str, Complex]:
        """The loop as a product of textbook elements, in continuous time.

        "controller and low-pass" (PID on the filtered rate), "motor" 1/(tau s + 1), "delay" of the
        command, "sampling" (the hold of a step), "body" 1/s. Their product comes near open_loop()
        well below Nyquist; it shows what takes how much phase.
        """
        s = 2j * np.pi * np.asarray(frequency, dtype=np.float64)
        p = self.vehicle.rate_controller.filter
        low_pass = p.stiffness / (s * s + p.damping * s + p.stiffness)
        g = self.gains(axis)
        motor = self.vehicle.motor
        tau = 0.5 * (motor.time_constant_up + motor.time_constant_down)
        held = s * self.dt
        return {
            "controller and low-pass": (g.proportional + g.integral / s + g.derivative * s)
            * low_pass,
            "motor": 1.0 / (tau * s + 1.0),
            "delay": np.exp(-s * motor.command_delay),
            "sampling": (1.0 - np.exp(-held)) / held,
            "body": 1.0 / s,
        }

    def _error_gain(self, frequency: ArrayLike, gains: Gains) -> Complex:
        z = self._z(frequency)
        summed = self.dt / (1.0 - 1.0 / z)
        return np.asarray(np.asarray(gains.proportional) + np.asarray(gains.integral) * summed)

    def _z(self, frequency: ArrayLike) -> Complex:
        return np.asarray(np.exp(2j * np.pi * self.dt * np.asarray(frequency, dtype=np.float64)))


def _filter_of(model: LinearModel) -> list[tuple[Array, Array]]:
    """Of each axis: the filter's step, as matrix of (value, derivative) and column of the rate."""
    filters = []
    for axis in "xyz":
        rows = [
            model.states.index(f"filtered_rates.{axis}"),
            model.states.index(f"filtered_rates_derivative.{axis}"),
        ]
        rate = model.states.index(f"body_rates.{axis}")
        filters.append((model.A[np.ix_(rows, rows)], model.A[rows, rate]))
    return filters


def margins_of(frequency: Array, loop: Complex, closed: Complex) -> Margins:
    """Margins of a loop that is known at rising frequencies [Hz], by interpolation between them."""
    log_f = np.log(frequency)
    gain = np.log(np.abs(loop))
    phase = np.unwrap(np.angle(loop))
    # loops that integrate begin between -180 and 0 deg
    phase -= 2.0 * math.pi * np.ceil((phase[0] - 1e-9) / (2.0 * math.pi))
    crossings = _crossings(gain)
    at = [_between(i, t, log_f) for i, t in crossings]
    phases = [math.pi + _between(i, t, phase) for i, t in crossings]
    phases = [(p + math.pi) % (2.0 * math.pi) - math.pi for p in phases]
    delays = [
        (p % (2.0 * math.pi)) / (2.0 * math.pi * math.exp(f))
        for p, f in zip(phases, at, strict=True)
    ]
    turns: list[tuple[float, float]] = []
    for k in range(math.floor((1.0 - phase.min() / math.pi) / 2.0) + 1):
        for i, t in _crossings(phase + math.pi * (2 * k + 1)):
            turns.append((_between(i, t, gain), _between(i, t, log_f)))
    above = [turn for turn in turns if turn[0] <= 0.0]
    below = [turn for turn in turns if turn[0] > 0.0]
    top = max(above, default=(-math.inf, math.nan))
    decibel = 20.0 / math.log(10.0)
    falls = np.flatnonzero(np.abs(closed) < math.sqrt(0.5))
    bandwidth = math.nan
    if len(falls) and falls[0] > 0:
        i = int(falls[0]) - 1
        level = np.log(np.abs(closed[i : i + 2])) + 0.5 * math.log(2.0)
        bandwidth = math.exp(_between(0, float(level[0] / (level[0] - level[1])), log_f[i : i + 2]))
    return Margins(
        phase=math.degrees(min(phases, default=math.inf)),
        gain=-decibel * top[0],
        gain_below=-decibel * min((turn[0] for turn in below), default=math.inf),
        delay=min(delays, default=math.inf),
        crossover=math.exp(max(at)) if at else math.nan,
        phase_crossover=math.exp(top[1]),
        sensitivity_peak=float(np.max(1.0 / np.abs(1.0 + loop))),
        bandwidth=bandwidth,
    )


def _crossings(values: Array) -> list[tuple[int, float]]:
    """Where a row of values changes its sign: index and share of the way to the next."""
    places = np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
    return [(int(i), float(values[i] / (values[i] - values[i + 1]))) for i in places]


def _between(i: int, share: float, values: Array) -> float:
    return float(values[i] + share * (values[i + 1] - values[i]))
