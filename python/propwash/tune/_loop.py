"""The rate loop as transfer functions: motors, low-pass, delay and sampling included."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash.control import LinearModel, linearize
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array, Integrator
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

Complex = NDArray[np.complex128]
AXES = ("x", "y", "z")
"""Body axes, in the order of gains and rates."""


@dataclass(frozen=True)
class Margins:
    """How far a loop is from instability."""

    phase: float
    """deg, the least turn at a gain crossover, either way, that brings the loop to instability;
    negative where it is unstable, infinite where there is no crossover."""
    gain: float
    """dB, by how much the loop gain may rise; infinite where the phase stays above -180 deg, NaN of
    an unstable loop."""
    gain_below: float
    """dB, by how much it may fall (a negative number); minus infinity where it may to nothing, NaN
    of an unstable loop."""
    delay: float
    """s, the dead time that uses up the phase margin; 0 of an unstable loop."""
    crossover: float
    """Hz, where the loop gain is 1: the highest such frequency, NaN where there is none."""
    phase_crossover: float
    """Hz, of the gain margin; NaN where there is none."""
    sensitivity_peak: float
    """The largest |1 / (1 + L)|: the inverse of the loop's least distance from -1."""
    bandwidth: float
    """Hz, where the closed loop from commanded to true rate falls below -3 dB; NaN: nowhere."""
    stable: bool = True
    """Whether the closed loop is stable. Of one that is not, the margins say nothing."""


@dataclass(frozen=True)
class Gains:
    """Gains of one axis, numbers or arrays that broadcast.

    proportional: 1/s, K_P. integral: 1/s^2, K_I. derivative: K_D, without unit.
    """

    proportional: Any
    integral: Any
    derivative: Any


class RateLoop:
    """The rate controller in its loop, linearised at hover, axis by axis.

    vehicle: a name, the path of a TOML file, or VehicleParameters. dt: s, of the controller and of
    the integrator's steps.

    The loop is opened at the angular acceleration that the controller asks for. Everything comes
    from the linear model of the discrete step (propwash.linearize): L(z) = G(z) H(z), with G from
    acceleration to rate (allocation, command delay, motors, body, blow-back) and H the low-pass and
    the PID. Approximated is that perturbations are small, and that motors which spin up and down
    with unlike time constants lag by the mean of both: of a pair one rises while the other falls.
    Frequencies are in Hz.

    Raises ParameterError for a vehicle that cannot hover or whose rotors cannot control its rates.
    """

    def __init__(
        self,
        vehicle: str | PathLike[str] | VehicleParameters,
        dt: float = DEFAULT_DT,
        integrator: Integrator = "rk4",
    ) -> None:
        self.vehicle = vehicles.load(vehicle)
        self.dt = dt
        with located(vehicle):
            _core.validate_vehicle(self.vehicle)
            self._balanced = self.vehicle.replace(
                motor={"time_constant_up": self.lag, "time_constant_down": self.lag}
            )
            # of commands on their way no states are needed: a delay has a closed form
            prompt = self._balanced.replace(motor={"command_delay": 0.0})
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
    def lag(self) -> float:
        """s, of the motors: the mean of their time constants up and down."""
        ways = (self.vehicle.motor_values(f"time_constant_{way}") for way in ("up", "down"))
        return float(np.mean([*ways]))

    @property
    def has_blow_back(self) -> bool:
        """Whether the velocity across an axis turns the vehicle about it."""
        return bool(self._plant.A[9, 4] != 0.0)

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
        a, b = self._body(axis)
        z = self._z(frequency)
        system = z[..., np.newaxis, np.newaxis] * np.eye(len(a)) - a
        column = np.broadcast_to(b[:, np.newaxis], (*z.shape, len(b), 1))
        late, part = self._delay()
        held = (1.0 - part + part / z) * z**-late
        return np.asarray(held * np.linalg.solve(system, column)[..., 0, 0])

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
        f = self.margin_frequencies()
        loop = self.open_loop(f, axis, gains)
        return margins_of(f, loop, self.closed_loop(f, axis, gains), self.is_stable(axis, gains))

    def margin_frequencies(self) -> Array:
        """Hz, those that margins are taken from: to Nyquist, where a sampled loop is real."""
        return np.append(self.frequencies(2000), self.nyquist)

    def is_stable(self, axis: int, gains: Gains | None = None) -> bool:
        """Whether the closed loop of an axis by itself is stable."""
        return bool(np.abs(self.poles(axis, gains)).max() < 1.0)

    def poles(self, axis: int, gains: Gains | None = None) -> Complex:
        """The poles of an axis' closed loop; it is stable where all lie within the unit circle."""
        g = self.gains(axis) if gains is None else gains
        poles = np.asarray(np.linalg.eigvals(self._closed(axis, g)[0]), dtype=np.complex128)
        if g.integral == 0.0 or self._drift().get(axis):
            # an integral without gain, and the sum of integral and tilt, stay where they are
            poles = np.delete(poles, np.argmin(np.abs(poles - 1.0)))
        return poles

    def stable(self, gains: Mapping[str, Any] | None = None) -> bool:
        """Whether the rates' part of the loop has all its poles within the unit circle.

        gains: fields of rate_controller to replace. All axes are looked at together.
        """
        vehicle = self._balanced
        if gains is not None:
            vehicle = vehicle.replace(rate_controller=dict(gains))
        model = linearize(vehicle, kind="discrete", dt=self.dt, command="rate_thrust")
        heard = [place for both in self._drift().values() for place in both]
        rows = [*heard, *range(9, len(model.A))]
        poles = np.abs(np.linalg.eigvals(model.A[np.ix_(rows, rows)]))
        idle = [
            gain == 0.0 or axis in self._drift()  # as in poles()
            for axis, gain in enumerate(vehicle.rate_controller.integral)
        ]
        return bool(np.sum(poles >= 1.0 - 1e-9) <= sum(idle))

    def table(self) -> str:
        """The vehicle's gains and their margins as text."""
        return table_of([self.gains(i) for i in range(3)], [self.margins(i) for i in range(3)])

    def step(
        self, axis: int, duration: float = 1.0, gains: Gains | None = None
    ) -> tuple[Array, Array]:
        """The linear loop's answer to a step of 1 rad/s of the commanded rate: time [s], rate.

        As step_response() flies it, where the step is small enough: (T,) after each step of dt.
        """
        if not (math.isfinite(duration) and duration >= self.dt):
            raise ValueError(f"duration: expected at least dt = {self.dt:g} s, got {duration!r}")
        g = self.gains(axis) if gains is None else gains
        state, column = self._closed(axis, g)
        count = round(duration / self.dt)
        rate, x = np.empty(count), np.zeros(len(state))
        for k in range(count):
            x = state @ x + column
            rate[k] = x[0]
        return self.dt * np.arange(1.0, count + 1.0), rate

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
        held = s * self.dt
        return {
            "controller and low-pass": (g.proportional + g.integral / s + g.derivative * s)
            * low_pass,
            "motor": 1.0 / (self.lag * s + 1.0),
            "delay": np.exp(-s * self.vehicle.motor.command_delay),
            "sampling": (1.0 - np.exp(-held)) / held,
            "body": 1.0 / s,
        }

    def _drift(self) -> dict[int, list[int]]:
        """The states beside rates and rotors that the rate about x and y hears of by blow-back.

        They are the velocity across the axis, and the tilt about it that gives that velocity.
        """
        return {0: [4, 6], 1: [3, 7]} if self.has_blow_back else {}

    def _body(self, axis: int) -> tuple[Array, Array]:
        """Matrix and column of the step from the demand: of the rate, then of what it hears of."""
        model = self._plant
        heard = [9 + axis, *range(12, len(model.A)), *self._drift().get(axis, [])]
        return model.A[np.ix_(heard, heard)], (model.B @ self._allocation[:, axis])[heard]

    def _closed(self, axis: int, g: Gains) -> tuple[Array, Array]:
        """Matrix and column of the closed loop's step, from the commanded rate.

        States: body and motors, filter, integral, demands on their way, the latest first.
        """
        a, b = self._body(axis)
        matrix, column = self._filter[axis]
        late, part = self._delay()
        n, waits = len(a), late + (part > 0.0)
        # the last column is that of the command
        filtered = np.zeros((2, n + 4 + waits))
        filtered[:, 0], filtered[:, n : n + 2] = column, matrix
        error = -filtered[0]
        error[-1] = 1.0
        integral = self.dt * error
        integral[n + 2] = 1.0
        demand = g.proportional * error + g.integral * integral - g.derivative * filtered[1]
        line = np.concatenate([demand[np.newaxis], np.eye(len(demand))[n + 3 : -1]])
        acting = (1.0 - part) * line[late] + (part * line[late + 1] if part > 0.0 else 0.0)
        body = np.outer(b, acting)
        body[:, :n] += a
        step = np.concatenate([body, filtered, integral[np.newaxis], line[:waits]])
        return step[:, :-1], step[:, -1]

    def _delay(self) -> tuple[int, float]:
        """Of the commands: whole steps, and the share of one more."""
        steps = self.vehicle.motor.command_delay / self.dt
        late = math.floor(steps)
        return late, steps - late

    def _error_gain(self, frequency: ArrayLike, gains: Gains) -> Complex:
        z = self._z(frequency)
        summed = self.dt / (1.0 - 1.0 / z)
        return np.asarray(np.asarray(gains.proportional) + np.asarray(gains.integral) * summed)

    def _z(self, frequency: ArrayLike) -> Complex:
        return np.asarray(np.exp(2j * np.pi * self.dt * np.asarray(frequency, dtype=np.float64)))


def table_of(gains: Sequence[Gains], margins: Sequence[Margins]) -> str:
    """Gains and margins of the three axes as text."""
    lines = [
        "axis    K_P [1/s]  K_I [1/s^2]    K_D [-]  bandwidth  phase margin  gain margin  "
        "delay margin  peak |S|"
    ]
    for axis, gain, m in zip(AXES, gains, margins, strict=True):
        lines.append(
            f"{axis:4s} {gain.proportional:12.4g} {gain.integral:12.4g} "
            f"{gain.derivative:10.4g} {m.bandwidth:7.2f} Hz {m.phase:9.1f} deg "
            f"{m.gain:9.1f} dB {1e3 * m.delay:10.1f} ms {m.sensitivity_peak:9.2f}"
            + ("" if m.stable else "  unstable")
        )
    return "\n".join(lines)


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


def margins_of(
    frequency: Array, loop: Complex, closed: Complex, stable: bool | None = None
) -> Margins:
    """Margins of a loop that is known at rising frequencies [Hz], by interpolation between them.

    stable: whether the closed loop is; None: by the sign of the phase margin.
    """
    log_f = np.log(frequency)
    gain = np.log(np.abs(loop))
    phase = np.unwrap(np.angle(loop))
    # loops that integrate begin between -180 and 0 deg
    phase -= 2.0 * math.pi * np.ceil((phase[0] - 1e-9) / (2.0 * math.pi))
    crossings = _crossings(gain)
    at = [_between(i, t, log_f) for i, t in crossings]
    turns = [math.pi + _between(i, t, phase) for i, t in crossings]
    delays = [
        (p % (2.0 * math.pi)) / (2.0 * math.pi * math.exp(f))
        for p, f in zip(turns, at, strict=True)
    ]
    turns = [(p + math.pi) % (2.0 * math.pi) - math.pi for p in turns]
    least = min(turns, key=abs, default=math.inf)
    is_stable = least > 0.0 if stable is None else stable
    rise, fall, phase_crossover = _gain_margins(log_f, gain, phase, loop)
    return Margins(
        phase=math.degrees(abs(least)) if is_stable else -math.degrees(abs(least)),
        gain=rise if is_stable else math.nan,
        gain_below=fall if is_stable else math.nan,
        delay=min(delays, default=math.inf) if is_stable else 0.0,
        crossover=math.exp(max(at)) if at else math.nan,
        phase_crossover=phase_crossover,
        sensitivity_peak=float(np.max(1.0 / np.abs(1.0 + loop))),
        bandwidth=_bandwidth(log_f, closed),
        stable=is_stable,
    )


def _gain_margins(
    log_f: Array, gain: Array, phase: Array, loop: Complex
) -> tuple[float, float, float]:
    """By how much the gain may rise and fall [dB], and the frequency [Hz] of the first."""
    turns: list[tuple[float, float]] = []
    for k in range(math.floor((1.0 - phase.min() / math.pi) / 2.0) + 1):
        for i, t in _crossings(phase + math.pi * (2 * k + 1)):
            turns.append((_between(i, t, gain), _between(i, t, log_f)))
    last = complex(loop[-1])
    if last.real < 0.0 and abs(last.imag) < 1e-9 * abs(last):
        # sampled loops end on the real axis, at Nyquist, without a change of sign
        turns.append((float(gain[-1]), float(log_f[-1])))
    top = max((turn for turn in turns if turn[0] <= 0.0), default=(-math.inf, math.nan))
    bottom = min((turn[0] for turn in turns if turn[0] > 0.0), default=math.inf)
    decibel = 20.0 / math.log(10.0)
    return -decibel * top[0], -decibel * bottom, math.exp(top[1])


def _bandwidth(log_f: Array, closed: Complex) -> float:
    """Hz, where the closed loop first falls below -3 dB."""
    level = np.log(np.abs(closed)) + 0.5 * math.log(2.0)
    for i, share in _crossings(level):
        if level[i] >= 0.0:
            return math.exp(_between(i, share, log_f))
    return math.nan


def _crossings(values: Array) -> list[tuple[int, float]]:
    """Where a row of values changes its sign: index and share of the way to the next."""
    places = np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
    return [(int(i), float(values[i] / (values[i] - values[i + 1]))) for i in places]


def _between(i: int, share: float, values: Array) -> float:
    return float(values[i] + share * (values[i + 1] - values[i]))
