"""Transfer functions of the rate loop, including motors, low-pass, delay and sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from propwash import _core
from propwash.control import LinearModel, linearize
from propwash.tune._controller import Complex, Controller, DifferenceEquations
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import DEFAULT_DT, Array, Integrator
from propwash.vehicle.parameters import VehicleParameters
from propwash.vehicle.validation import located

AXES = ("x", "y", "z")
"""Body axes, in the order of gains and rates."""


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop."""

    phase: float
    """deg, the smallest phase shift, of either sign, at a gain crossover that makes the loop
    unstable; negative if it is unstable, infinite without a crossover."""
    gain: float
    """dB, by how much the loop gain may rise; infinite if the phase stays above -180 deg, NaN if
    the loop is unstable."""
    gain_below: float
    """dB, by how much it may fall (negative); minus infinity if any lower gain is stable, NaN if
    the loop is unstable."""
    delay: float
    """s, the additional delay that makes the loop unstable; 0 if it is unstable."""
    crossover: float
    """Hz, the highest frequency where the loop gain is 1; NaN without one."""
    phase_crossover: float
    """Hz, of the gain margin; NaN without one."""
    sensitivity_peak: float
    """The largest |1 / (1 + L)|: the inverse of the loop's smallest distance from -1."""
    bandwidth: float
    """Hz, where the closed loop from commanded to true rate falls below -3 dB; NaN without one."""
    stable: bool = True
    """Whether the closed loop is stable; the margins are meaningless if it is not."""


@dataclass(frozen=True)
class Gains:
    """Gains of one axis, numbers or arrays that broadcast.

    proportional: K_P [1/s]. integral: K_I [1/s^2]. derivative: K_D [-].
    """

    proportional: Any
    integral: Any
    derivative: Any


class RateLoop:
    """The closed loop of the rate controller, linearised at hover, for each axis.

    vehicle: a name, the path of a TOML file, or VehicleParameters. dt: s, step of the controller
    and the integrator.

    The loop is opened at the commanded angular acceleration: L(z) = G(z) H(z), with G from
    acceleration to rate (allocation, command delay, motors, body, blow-back) and H the low-pass and
    the PID, all from the linear model of the discrete step (propwash.linearize). It holds for small
    perturbations. Motors have the mean of their time constants up and down, because in each pair
    one motor speeds up while the other slows down. Frequencies are in Hz.

    Raises ParameterError for a vehicle that cannot hover or whose rotors cannot control its rates.
    """

    filters = "rate_controller.filter"
    """Name of the low-pass in messages."""
    has_fixed_rate = False
    """Whether the rate of the controller cannot be chosen."""

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
                motor={"time_constant_up": self.lag, "time_constant_down": self.lag},
                contact={"frequency": 0.0},  # it flies: linearize() has it at height 0
            )
            # a delay has a transfer function in closed form and needs no states
            undelayed = self._balanced.replace(motor={"command_delay": 0.0})
            self._plant = linearize(
                undelayed, kind="discrete", integrator=integrator, dt=dt, outputs=["body_rates"]
            )
            # with gains 1, 0, 0 the motor command equals the allocation
            unit = undelayed.replace(
                rate_controller={"proportional": 1.0, "integral": 0.0, "derivative": 0.0}
            )
            probe = linearize(
                unit, kind="discrete", dt=dt, command="rate_thrust", outputs=["rotor_command"]
            )
        self._allocation = probe.D[:, :3]
        self._filter = _filter_of(probe)

    @property
    def lag(self) -> float:
        """Mean of the motors' time constants up and down [s]."""
        names = ("time_constant_up", "time_constant_down")
        return float(np.mean([self.vehicle.motor_values(name) for name in names]))

    @property
    def has_blow_back(self) -> bool:
        """Whether velocity across an axis causes a torque about it."""
        return bool(self._plant.A[9, 4] != 0.0)

    def without_blow_back(self) -> Self:
        """Returns a copy whose velocity across an axis causes no torque."""
        found = copy(self)
        vehicle = self.vehicle.replace(rotor_drag={"blow_back": 0.0}, inflow={"flapping": 0.0})
        found._plant = RateLoop(vehicle, self.dt)._plant
        return found

    @property
    def nyquist(self) -> float:
        """Half the rate of the controller [Hz]."""
        return 0.5 / self.dt

    def frequencies(self, count: int = 600, lowest: float = 0.02) -> Array:
        """Returns (count,) Hz, evenly spaced on a logarithmic scale to just below Nyquist."""
        return np.geomspace(lowest, 0.999 * self.nyquist, count)

    def gains(self, axis: int) -> Gains:
        """Returns the vehicle's gains for an axis (0, 1, 2)."""
        c = self.vehicle.rate_controller
        return Gains(c.proportional[axis], c.integral[axis], c.derivative[axis])

    def plant(self, frequency: ArrayLike, axis: int) -> Complex:
        """Returns G from the commanded angular acceleration to the body rate [s]."""
        a, b = self._body(axis)
        z = self._z(frequency)
        system = z[..., np.newaxis, np.newaxis] * np.eye(len(a)) - a
        column = np.broadcast_to(b[:, np.newaxis], (*z.shape, len(b), 1))
        steps, part = self._delay()
        delay = (1.0 - part + part / z) * z**-steps
        return np.asarray(delay * np.linalg.solve(system, column)[..., 0, 0])

    def filter(self, frequency: ArrayLike, axis: int = 0) -> tuple[Complex, Complex]:
        """Returns H from the body rate to the filtered rate [-] and to its derivative [1/s]."""
        controller = self.controller(axis).without_integral()
        feedback = controller.responses(self._z(frequency))[:, 1]
        return -feedback[0], -feedback[2]

    def controller(self, axis: int) -> Controller:
        """Returns the controller of an axis: the low-pass, and an integral that includes now."""
        equations = DifferenceEquations(self.dt)
        value, slope = equations.recursion(*self._filter[axis], equations.rate)
        error = equations.command - value
        return equations.controller(error, equations.integral(error), -slope)

    def default_bandwidths(self, limits: Array) -> Array:
        """Returns the bandwidths without a request: 0.8 times the lowest limit [Hz] (3,)."""
        return np.full(3, 0.8 * limits.min())

    def ratios(self, axis: int, bandwidth: float, integral: float) -> tuple[float, Array]:
        """Returns K_I / K_P and the values of K_D / K_P that autotune() tries.

        integral: K_I / K_P as a fraction of the bandwidth in rad/s.
        """
        # a zero that compensates the motors' lag fully, partly or more than fully
        derivative = np.concatenate([np.linspace(0.0, 2.5, 26) * self.lag, [0.005, 0.01]])
        return integral * 2.0 * math.pi * bandwidth, derivative

    def loops(self, frequency: ArrayLike, axis: int) -> Callable[[Gains], tuple[Complex, Complex]]:
        """Returns a function from gains to open_loop() and closed_loop() at the frequencies."""
        plant = self.plant(frequency, axis)
        forward, feedback = np.moveaxis(self.controller(axis).responses(self._z(frequency)), 1, 0)

        def loops(g: Gains) -> tuple[Complex, Complex]:
            open_loop = -plant * _weighted(g, feedback)
            return open_loop, plant * _weighted(g, forward) / (1.0 + open_loop)

        return loops

    def open_loop(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """Returns L, opened at the commanded angular acceleration; its sign is that in 1 + L."""
        return self.loops(frequency, axis)(self.gains(axis) if gains is None else gains)[0]

    def closed_loop(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """Returns the transfer function from the commanded to the true body rate."""
        return self.loops(frequency, axis)(self.gains(axis) if gains is None else gains)[1]

    def sensitivity(self, frequency: ArrayLike, axis: int, gains: Gains | None = None) -> Complex:
        """Returns S = 1 / (1 + L)."""
        return 1.0 / (1.0 + self.open_loop(frequency, axis, gains))

    def margins(self, axis: int, gains: Gains | None = None) -> Margins:
        """Returns margins, sensitivity peak and bandwidth of an axis."""
        f = self.margin_frequencies()
        loops = self.loops(f, axis)(self.gains(axis) if gains is None else gains)
        return margins_of(f, *loops, self.is_stable(axis, gains))

    def margin_frequencies(self) -> Array:
        """Returns the frequencies [Hz] for margins, up to Nyquist, where a sampled loop is real."""
        return np.append(self.frequencies(2000), self.nyquist)

    def is_stable(self, axis: int, gains: Gains | None = None) -> bool:
        """Returns whether the closed loop of a single axis is stable."""
        return bool(np.abs(self.poles(axis, gains)).max() < 1.0)

    def poles(self, axis: int, gains: Gains | None = None) -> Complex:
        """Returns the poles of an axis' closed loop; it is stable if all are in the unit circle."""
        g = self.gains(axis) if gains is None else gains
        poles = np.asarray(np.linalg.eigvals(self._closed(axis, g)[0]), dtype=np.complex128)
        if g.integral == 0.0 or self._drift().get(axis):
            # an integral without gain and the sum of integral and tilt are constant
            poles = np.delete(poles, np.argmin(np.abs(poles - 1.0)))
        return poles

    def stable(self, gains: Mapping[str, Any] | None = None) -> bool:
        """Returns whether the coupled rate loop of all axes has its poles within the unit circle.

        gains: fields of rate_controller to replace.
        """
        vehicle = self._balanced
        if gains is not None:
            vehicle = vehicle.replace(rate_controller=dict(gains))
        model = linearize(vehicle, kind="discrete", dt=self.dt, command="rate_thrust")
        drift = [state for states in self._drift().values() for state in states]
        rows = [*drift, *range(9, len(model.A))]
        poles = np.abs(np.linalg.eigvals(model.A[np.ix_(rows, rows)]))
        constant = [
            gain == 0.0 or axis in self._drift()  # as in poles()
            for axis, gain in enumerate(vehicle.rate_controller.integral)
        ]
        return bool(np.sum(poles >= 1.0 - 1e-9) <= sum(constant))

    def table(self) -> str:
        """Returns the vehicle's gains and margins as text."""
        return table_of([self.gains(i) for i in range(3)], [self.margins(i) for i in range(3)])

    def step(
        self, axis: int, duration: float = 1.0, gains: Gains | None = None
    ) -> tuple[Array, Array]:
        """Returns the linear response to a rate command of 1 rad/s: (T,) s and (T,) rad/s.

        Values follow each step of dt. For small commands, step_response() gives the same.
        Raises ValueError for a duration below dt.
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
        """Returns the loop as a product of standard elements in continuous time.

        "controller and low-pass" (PID on the filtered rate), "motor" 1/(tau s + 1), "delay" of the
        command, "sampling" (zero-order hold), "body" 1/s. Their product approximates open_loop()
        well below Nyquist and shows the phase lag of each element.
        """
        s = 2j * np.pi * np.asarray(frequency, dtype=np.float64)
        value, slope = self.filter(frequency, axis)
        g = self.gains(axis)
        hold = s * self.dt
        return {
            "controller and low-pass": (g.proportional + g.integral / s) * value
            + g.derivative * slope,
            "motor": 1.0 / (self.lag * s + 1.0),
            "delay": np.exp(-s * self.vehicle.motor.command_delay),
            "sampling": (1.0 - np.exp(-hold)) / hold,
            "body": 1.0 / s,
        }

    def _drift(self) -> dict[int, list[int]]:
        """Returns for axes x and y the states that affect the rate through blow-back.

        These are the velocity across the axis and the tilt about it that causes this velocity.
        """
        return {0: [4, 6], 1: [3, 7]} if self.has_blow_back else {}

    def _body(self, axis: int) -> tuple[Array, Array]:
        """Returns matrix and column of a step from the demand; the rate is the first state."""
        model = self._plant
        rows = [9 + axis, *range(12, len(model.A)), *self._drift().get(axis, [])]
        return model.A[np.ix_(rows, rows)], (model.B @ self._allocation[:, axis])[rows]

    def _closed(self, axis: int, g: Gains) -> tuple[Array, Array]:
        """Returns matrix and column of the closed loop's step from the commanded rate.

        States: body and motors, controller, delayed demands with the latest first.
        """
        a, b = self._body(axis)
        controller = self.controller(axis)
        steps, part = self._delay()
        n, m, delayed = len(a), len(controller.A), steps + (part > 0.0)
        # the last column multiplies the command
        inputs = np.zeros((2, n + m + delayed + 1))
        inputs[0, -1] = inputs[1, 0] = 1.0
        inside, signals = controller.B @ inputs, controller.D @ inputs
        inside[:, n : n + m] += controller.A
        signals[:, n : n + m] += controller.C
        demand = _weighted(g, signals)
        line = np.concatenate([demand[np.newaxis], np.eye(len(demand))[n + m : -1]])
        acting = (1.0 - part) * line[steps] + (part * line[steps + 1] if part > 0.0 else 0.0)
        body = np.outer(b, acting)
        body[:, :n] += a
        step = np.concatenate([body, inside, line[:delayed]])
        return step[:, :-1], step[:, -1]

    def _delay(self) -> tuple[int, float]:
        """Returns the command delay as whole steps and a fraction of a step."""
        steps = self.vehicle.motor.command_delay / self.dt
        whole = math.floor(steps)
        return whole, steps - whole

    def _z(self, frequency: ArrayLike) -> Complex:
        return np.asarray(np.exp(2j * np.pi * self.dt * np.asarray(frequency, dtype=np.float64)))


def _weighted(gains: Gains, signals: Any) -> Any:
    """The sum of the signals (3, ...) times their gains."""
    p, i, d = signals
    return gains.proportional * p + gains.integral * i + gains.derivative * d


def table_of(gains: Sequence[Gains], margins: Sequence[Margins]) -> str:
    """Returns gains and margins of the three axes as text."""
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
    """Returns each axis' filter step: matrix of (value, derivative) and column of the rate."""
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
    """Returns margins of a loop sampled at increasing frequencies [Hz], by interpolation.

    stable: whether the closed loop is stable; None: derived from the sign of the phase margin.
    """
    log_f = np.log(frequency)
    gain = np.log(np.abs(loop))
    phase = np.unwrap(np.angle(loop))
    # the phase of loops with an integrator begins between -180 and 0 deg
    phase -= 2.0 * math.pi * np.ceil((phase[0] - 1e-9) / (2.0 * math.pi))
    crossings = _crossings(gain)
    at = [_between(i, t, log_f) for i, t in crossings]
    phases = [math.pi + _between(i, t, phase) for i, t in crossings]
    delays = [
        (p % (2.0 * math.pi)) / (2.0 * math.pi * math.exp(f))
        for p, f in zip(phases, at, strict=True)
    ]
    phases = [(p + math.pi) % (2.0 * math.pi) - math.pi for p in phases]
    smallest = min(phases, key=abs, default=math.inf)
    is_stable = smallest > 0.0 if stable is None else stable
    rise, fall, phase_crossover = _gain_margins(log_f, gain, phase, loop)
    return Margins(
        phase=math.degrees(abs(smallest)) if is_stable else -math.degrees(abs(smallest)),
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
    """Returns how far the gain may rise and fall [dB], and the frequency [Hz] of the first."""
    crossovers: list[tuple[float, float]] = []
    for k in range(math.floor((1.0 - phase.min() / math.pi) / 2.0) + 1):
        for i, t in _crossings(phase + math.pi * (2 * k + 1)):
            crossovers.append((_between(i, t, gain), _between(i, t, log_f)))
    last = complex(loop[-1])
    if last.real < 0.0 and abs(last.imag) < 1e-9 * abs(last):
        # at Nyquist a sampled loop ends on the real axis, without a change of sign
        crossovers.append((float(gain[-1]), float(log_f[-1])))
    below = max((c for c in crossovers if c[0] <= 0.0), default=(-math.inf, math.nan))
    above = min((c[0] for c in crossovers if c[0] > 0.0), default=math.inf)
    decibel = 20.0 / math.log(10.0)
    return -decibel * below[0], -decibel * above, math.exp(below[1])


def _bandwidth(log_f: Array, closed: Complex) -> float:
    """Returns the frequency [Hz] where the closed loop first falls below -3 dB."""
    level = np.log(np.abs(closed)) + 0.5 * math.log(2.0)
    for i, fraction in _crossings(level):
        if level[i] >= 0.0:
            return math.exp(_between(i, fraction, log_f))
    return math.nan


def _crossings(values: Array) -> list[tuple[int, float]]:
    """Returns sign changes of a sequence: index, and fraction of the step to the next value."""
    indices = np.flatnonzero(np.signbit(values[:-1]) != np.signbit(values[1:]))
    return [(int(i), float(values[i] / (values[i] - values[i + 1]))) for i in indices]


def _between(i: int, fraction: float, values: Array) -> float:
    return float(values[i] + fraction * (values[i + 1] - values[i]))
