"""Gains from a bandwidth and a phase margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from propwash.multicopter import DEFAULT_DT, Array
from propwash.parameters import VehicleParameters
from propwash.tune._loop import AXES, Complex, Gains, Margins, RateLoop, TuneError, margins_of


@dataclass(frozen=True)
class Tuning:
    """Gains, and what they reach."""

    vehicle: VehicleParameters
    """The vehicle with its new gains."""
    dt: float
    """s, of the controller."""
    margins: tuple[Margins, Margins, Margins]
    """Of the axes x, y, z."""

    @property
    def gains(self) -> tuple[Gains, Gains, Gains]:
        """Of the axes x, y, z."""
        c = self.vehicle.rate_controller
        x, y, z = (Gains(c.proportional[i], c.integral[i], c.derivative[i]) for i in range(3))
        return x, y, z

    def loop(self) -> RateLoop:
        """The rate loop with these gains."""
        return RateLoop(self.vehicle, self.dt)

    def table(self) -> str:
        """Gains and margins as text."""
        lines = [
            "axis    K_P [1/s]  K_I [1/s^2]    K_D [-]  bandwidth  phase margin  gain margin   "
            "delay  peak |S|"
        ]
        for axis, gain, m in zip(AXES, self.gains, self.margins, strict=True):
            lines.append(
                f"{axis:4s} {gain.proportional:12.4g} {gain.integral:12.4g} "
                f"{gain.derivative:10.4g} {m.bandwidth:7.2f} Hz {m.phase:9.1f} deg "
                f"{m.gain:9.1f} dB {1e3 * m.delay:4.1f} ms {m.sensitivity_peak:9.2f}"
            )
        return "\n".join(lines)


def autotune(
    vehicle: str | PathLike[str] | VehicleParameters,
    bandwidth: ArrayLike = 8.0,
    phase_margin: float = 50.0,
    *,
    gain_margin: float = 6.0,
    integral: float = 0.05,
    dt: float = DEFAULT_DT,
) -> Tuning:
    """Gains whose closed loop has the bandwidth asked for, with at least these margins.

    bandwidth: Hz, of the closed loop from commanded to true rate (-3 dB); a number, or one for
        each axis. phase_margin: deg. gain_margin: dB.
    integral: K_I / K_P as a share of the bandwidth in rad/s: how fast constant errors are taken
        out.
    dt: s, of the controller.

    Of the gains that reach the bandwidth and both margins it takes those whose sensitivity has the
    lowest peak. Raises TuneError that says what is reached and what limits it where there are none,
    ParameterError for a vehicle that cannot hover or whose rotors cannot control its rates.
    """
    loop = RateLoop(vehicle, dt)
    asked = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), (3,))
    if not np.all((asked > 0.0) & np.isfinite(asked)):
        raise ValueError(f"bandwidth: expected a number > 0 [Hz], or three, got {bandwidth!r}")
    for name, value, low, high in (
        ("phase_margin", phase_margin, 0.0, 90.0),
        ("gain_margin", gain_margin, 0.0, 60.0),
        ("integral", integral, -1e-12, 1.0),
    ):
        if not low < value < high:
            raise ValueError(
                f"{name}: expected a number from {max(low, 0.0):g} to {high:g}, got {value!r}"
            )
    if asked.max() >= 0.25 / dt:
        raise TuneError(
            f"bandwidth = {asked.max():g} Hz: expected less than a quarter of the controller's "
            f"rate, {0.25 / dt:g} Hz; take a smaller dt"
        )
    found = [
        _tuned(loop, axis, float(asked[axis]), phase_margin, gain_margin, integral)
        for axis in range(3)
    ]
    gains, margins = zip(*found, strict=True)
    tuned = loop.vehicle.replace(
        rate_controller={
            "proportional": [g.proportional for g in gains],
            "integral": [g.integral for g in gains],
            "derivative": [g.derivative for g in gains],
        }
    )
    if not RateLoop(tuned, dt).stable():
        raise TuneError(
            "the axes together are not stable, though each is by itself; ask for a lower bandwidth"
        )
    return Tuning(tuned, dt, (margins[0], margins[1], margins[2]))


class _Axis:
    """One axis on a grid of frequencies, from which loops of any gains are put together."""

    def __init__(self, loop: RateLoop, axis: int) -> None:
        self.frequency = loop.frequencies(700)
        self.plant = loop.plant(self.frequency, axis)
        self.value, self.slope = loop.filter(self.frequency, axis)
        self.summed = loop.dt / (1.0 - np.exp(-2j * np.pi * self.frequency * loop.dt))

    def loops(self, g: Gains) -> tuple[Complex, Complex]:
        """L and T."""
        error = g.proportional + g.integral * self.summed
        loop = self.plant * (error * self.value + g.derivative * self.slope)
        return loop, self.plant * error / (1.0 + loop)

    def margins(self, g: Gains) -> Margins:
        return margins_of(self.frequency, *self.loops(g))


def _tuned(
    loop: RateLoop, number: int, bandwidth: float, phase: float, gain: float, integral: float
) -> tuple[Gains, Margins]:
    """The gains of one axis."""
    axis = _Axis(loop, number)
    motor = loop.vehicle.motor
    tau = max(motor.time_constant_up, motor.time_constant_down)
    candidates: list[tuple[Gains, Margins]] = []
    # K_D over K_P: a zero that undoes the motors' lag, or less, or more
    for ratio in np.concatenate([np.linspace(0.0, 2.5, 26) * tau, [0.005, 0.01]]):
        gains = _with_bandwidth(axis, bandwidth, float(ratio), integral)
        if gains is not None:
            candidates.append((gains, axis.margins(gains)))
    reached = [c for c in candidates if abs(c[1].bandwidth - bandwidth) < 0.03 * bandwidth]
    good = [
        c for c in reached if c[1].phase >= phase and c[1].gain >= gain and c[1].gain_below <= -gain
    ]
    if good:
        return min(good, key=lambda c: c[1].sensitivity_peak)
    raise TuneError(_refusal(loop, number, bandwidth, phase, gain, reached))


def _with_bandwidth(axis: _Axis, bandwidth: float, ratio: float, integral: float) -> Gains | None:
    """The least gains with |T| = -3 dB at the bandwidth and above that below it."""
    share = integral * 2.0 * math.pi * bandwidth

    def gains(proportional: float) -> Gains:
        return Gains(proportional, share * proportional, ratio * proportional)

    def excess(proportional: float) -> float:
        m = float(np.interp(bandwidth, axis.frequency, np.abs(axis.loops(gains(proportional))[1])))
        return m - math.sqrt(0.5)

    trial = np.geomspace(0.1, 100.0, 25) * 2.0 * math.pi * bandwidth
    above = next((i for i, k in enumerate(trial) if excess(float(k)) > 0.0), 0)
    if above == 0:
        return None
    return gains(float(_brentq()(excess, trial[above - 1], trial[above], xtol=1e-9)))


def _brentq() -> Any:
    try:
        from scipy.optimize import brentq
    except ImportError:
        raise ImportError('autotune needs scipy: pip install "propwash[tune]"') from None
    return brentq


def _refusal(
    loop: RateLoop, number: int, bandwidth: float, phase: float, gain: float, reached: Any
) -> str:
    """What was reached, and what takes the phase at the bandwidth."""
    parts = loop.parts(bandwidth, number)
    low_pass = loop.filter(bandwidth, number)[0]
    lags = {
        "the motors' lag": float(-np.angle(parts["motor"], deg=True)),
        "the low-pass": float(-np.angle(low_pass, deg=True)),
        "the command delay": 360.0 * bandwidth * loop.vehicle.motor.command_delay,
        "sampling": float(-np.angle(parts["sampling"], deg=True)),
    }
    budget = ", ".join(f"{name} takes {lag:.0f} deg" for name, lag in lags.items() if lag >= 0.5)
    slowest = max(lags, key=lambda name: lags[name])
    mend = {
        "the motors' lag": "the motors are slower than the bandwidth asked for; ask for less",
        "the low-pass": "raise the cut-off of rate_controller.filter, or ask for less",
        "the command delay": "shorten motor.command_delay, or ask for less",
        "sampling": "take a smaller dt, or ask for less",
    }[slowest]
    start = (
        f"axis {AXES[number]}: a bandwidth of {bandwidth:g} Hz with a phase margin of {phase:g} "
        f"deg and a gain margin of {gain:g} dB cannot be reached"
    )
    if reached:
        best = max((m for _, m in reached), key=lambda m: m.phase)
        start += f"; the best has {best.phase:.1f} deg and {best.gain:.1f} dB"
    else:
        start += "; no gains give that bandwidth"
    return f"{start}. At {bandwidth:g} Hz {budget}: {mend}"


def bandwidth_limit(
    vehicle: str | PathLike[str] | VehicleParameters,
    phase_margin: float = 50.0,
    *,
    dt: float = DEFAULT_DT,
) -> Array:
    """(3,) Hz, the highest bandwidth of each axis that autotune() reaches, to 2 %."""
    loop = RateLoop(vehicle, dt)
    limits = np.zeros(3)
    for axis in range(3):
        low, high = 0.05, 0.25 / dt
        while high / low > 1.02:
            middle = math.sqrt(low * high)
            try:
                _tuned(loop, axis, middle, phase_margin, 6.0, 0.05)
                low = middle
            except TuneError:
                high = middle
        limits[axis] = low
    return limits
