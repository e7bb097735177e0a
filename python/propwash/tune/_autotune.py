"""Gains from a bandwidth and a phase margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from propwash._checks import require_scipy
from propwash.tune._errors import Advice, TuneError
from propwash.tune._loop import (
    AXES,
    Complex,
    Gains,
    Margins,
    RateLoop,
    margins_of,
    table_of,
)
from propwash.vehicle.multicopter import DEFAULT_DT, Array
from propwash.vehicle.parameters import VehicleParameters

DEFAULT_FRACTION = 0.8
"""Of the lowest bandwidth_limit() of the axes: what autotune() takes without a bandwidth."""
RANGES = {"phase_margin": (0.0, 90.0), "gain_margin": (0.0, 60.0)}
"""deg, dB: what may be asked for, the ends excluded."""

_BANDWIDTH_LIMIT = Advice(
    ". tune.bandwidth_limit() says how much can be had",
    ". Without --bandwidth one is taken that can be had",
)
_LOWER_BANDWIDTH = Advice("ask for less", "lower --bandwidth")


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
        return table_of(self.gains, self.margins)


def autotune(
    vehicle: str | PathLike[str] | VehicleParameters,
    bandwidth: ArrayLike | None = None,
    phase_margin: float = 50.0,
    *,
    gain_margin: float = 6.0,
    integral: float = 0.05,
    dt: float = DEFAULT_DT,
) -> Tuning:
    """Gains whose closed loop has the bandwidth asked for, with at least these margins.

    bandwidth: Hz, of the closed loop from commanded to true rate (-3 dB); a number, or one for
        each axis; None: 0.8 times the lowest bandwidth_limit() of the axes. phase_margin: deg.
        gain_margin: dB.
    integral: K_I / K_P as a share of the bandwidth in rad/s: how fast constant errors are taken
        out.
    dt: s, of the controller.

    Of the stable gains that reach the bandwidth and both margins it takes those whose sensitivity
    has the lowest peak. Raises TuneError that says what is reached and what limits it where there
    are none, ParameterError for a vehicle that cannot hover or whose rotors cannot control its
    rates.
    """
    loop = RateLoop(vehicle, dt)
    _check(phase_margin, gain_margin, integral)
    if bandwidth is None:
        bandwidth = _default_bandwidth(loop, phase_margin, gain_margin, integral)
    asked = np.asarray(bandwidth, dtype=np.float64)
    if asked.shape not in ((), (3,)) or not np.all((asked > 0.0) & np.isfinite(asked)):
        raise ValueError(f"bandwidth: expected a number > 0 [Hz], or three, got {bandwidth!r}")
    asked = np.broadcast_to(asked, (3,))
    if asked.max() >= 0.25 / dt:
        raise TuneError(
            f"bandwidth = {asked.max():g} Hz: expected less than a quarter of the controller's "
            f"rate, {0.25 / dt:g} Hz; ",
            Advice("take a smaller dt", "lower --bandwidth or raise --rate"),
        )
    found = [
        _tuned(loop, axis, _Asked(float(asked[axis]), phase_margin, gain_margin, integral))
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
            "the axes together are not stable, though each is by itself; ", _LOWER_BANDWIDTH
        )
    return Tuning(tuned, dt, (margins[0], margins[1], margins[2]))


def _check(phase_margin: float, gain_margin: float, integral: float) -> None:
    for name, value, low, high in (
        ("phase_margin", phase_margin, *RANGES["phase_margin"]),
        ("gain_margin", gain_margin, *RANGES["gain_margin"]),
        ("integral", integral, -1e-12, 1.0),
    ):
        if not low < value < high:
            end = "of at least" if low < 0.0 else "above"
            raise ValueError(f"{name}: expected a number {end} 0 and below {high:g}, got {value!r}")


def _default_bandwidth(
    loop: RateLoop, phase_margin: float, gain_margin: float, integral: float
) -> float:
    """Hz, below what every axis reaches by some margin. Raises TuneError where one reaches none."""
    limits = _bandwidth_limits(loop, (0, 1, 2), phase_margin, gain_margin, integral)
    if not np.isfinite(limits).all():
        raise TuneError(
            f"axis {AXES[int(np.argmin(np.isfinite(limits)))]}: no bandwidth has a phase margin of "
            f"{phase_margin:g} deg and a gain margin of {gain_margin:g} dB; ",
            Advice(
                "ask for smaller margins, or take a smaller dt",
                "lower --phase-margin or --gain-margin, or raise --rate",
            ),
        )
    return DEFAULT_FRACTION * float(limits.min())


class _Axis:
    """One axis on a grid of frequencies, from which loops of any gains are put together."""

    def __init__(self, loop: RateLoop, axis: int) -> None:
        self._loop, self._axis = loop, axis
        # so that what is found here is what RateLoop.margins() says
        self.frequency = loop.margin_frequencies()
        self.plant = loop.plant(self.frequency, axis)
        self.value, self.slope = loop.filter(self.frequency, axis)
        self.summed = loop.dt / (1.0 - np.exp(-2j * np.pi * self.frequency * loop.dt))

    def loops(self, g: Gains) -> tuple[Complex, Complex]:
        """L and T."""
        error = g.proportional + g.integral * self.summed
        loop = self.plant * (error * self.value + g.derivative * self.slope)
        return loop, self.plant * error / (1.0 + loop)

    def margins(self, g: Gains) -> Margins:
        is_stable = self._loop.is_stable(self._axis, g)
        return margins_of(self.frequency, *self.loops(g), is_stable)


class _Asked(NamedTuple):
    """Of one axis: Hz, deg, dB, and K_I / K_P as a share of the bandwidth."""

    bandwidth: float
    phase: float
    gain: float
    integral: float


def _tuned(loop: RateLoop, number: int, asked: _Asked) -> tuple[Gains, Margins]:
    """The gains of one axis."""
    best, reached = _searched(loop, number, asked)
    if best is None:
        raise _refusal(loop, number, asked, reached)
    return best


def _searched(
    loop: RateLoop, number: int, asked: _Asked
) -> tuple[tuple[Gains, Margins] | None, list[Margins]]:
    """The best gains of one axis, if any will do; and the margins of all with the bandwidth."""
    axis = _Axis(loop, number)
    reached: list[tuple[Gains, Margins]] = []
    # K_D over K_P: a zero that undoes the motors' lag, or less, or more
    for ratio in np.concatenate([np.linspace(0.0, 2.5, 26) * loop.lag, [0.005, 0.01]]):
        gains = _with_bandwidth(axis, asked.bandwidth, float(ratio), asked.integral)
        if gains is not None:
            margins = axis.margins(gains)
            if abs(margins.bandwidth - asked.bandwidth) < 0.03 * asked.bandwidth:
                reached.append((gains, margins))
    good = [
        (gains, m)
        for gains, m in reached
        if m.stable
        and m.phase >= asked.phase
        and m.gain >= asked.gain
        and m.gain_below <= -asked.gain
    ]
    best = min(good, key=lambda each: each[1].sensitivity_peak, default=None)
    return best, [m for _, m in reached]


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
    require_scipy("autotune")
    from scipy.optimize import brentq

    return gains(float(brentq(excess, trial[above - 1], trial[above], xtol=1e-9)))


def _refusal(loop: RateLoop, number: int, asked: _Asked, reached: list[Margins]) -> TuneError:
    """What was reached, and what stands against more."""
    start = (
        f"axis {AXES[number]}: a bandwidth of {asked.bandwidth:g} Hz with a phase margin of "
        f"{asked.phase:g} deg and a gain margin of {asked.gain:g} dB cannot be reached"
    )
    stable = [m for m in reached if m.stable]
    if stable:
        best = max(
            stable,
            key=lambda m: min(
                m.phase / asked.phase, m.gain / asked.gain, -m.gain_below / asked.gain
            ),
        )
        below = f" ({best.gain_below:.1f} dB)" if best.gain_below > -asked.gain else ""
        start += f"; the best has {best.phase:.1f} deg and {best.gain:.1f} dB{below}"
    elif reached:
        start += "; no gains that give that bandwidth are stable"
    else:
        start += "; no gains give that bandwidth"
    if loop.has_blow_back:
        without = loop.vehicle.replace(rotor_drag={"blow_back": 0.0})
        if _searched(RateLoop(without, loop.dt), number, asked)[0] is not None:
            return TuneError(
                f"{start}. The moment of rotor_drag.blow_back takes it, which tips the vehicle "
                f"over where the loop is slow: ",
                Advice("ask for more bandwidth, or for a greater integral", "raise --bandwidth"),
            )
    lags, advice = _lags(loop, number, asked.bandwidth)
    return TuneError(f"{start}. {lags}", advice, _BANDWIDTH_LIMIT)


def _lags(loop: RateLoop, number: int, bandwidth: float) -> tuple[str, Advice]:
    """What takes the phase at a bandwidth, and what would give some back."""
    parts = loop.parts(bandwidth, number)
    low_pass = loop.filter(bandwidth, number)[0]
    lags = {
        "the motors' lag": float(-np.angle(parts["motor"], deg=True)),
        "the low-pass": float(-np.angle(low_pass, deg=True)),
        "the command delay": 360.0 * bandwidth * loop.vehicle.motor.command_delay,
        "sampling": float(-np.angle(parts["sampling"], deg=True)),
    }
    budget = ", ".join(f"{name} takes {lag:.0f} deg" for name, lag in lags.items() if lag >= 0.5)
    less = _LOWER_BANDWIDTH
    smaller_step = Advice("take a smaller dt", "raise --rate")
    mend = {
        "the motors' lag": ("the motors are slower than the bandwidth asked for; ", less),
        "the low-pass": ("raise the cut-off of rate_controller.filter, or ", less),
        "the command delay": ("shorten motor.command_delay, or ", less),
        "sampling": (
            "",
            Advice(*(f"{a}, or {b}" for a, b in zip(smaller_step, less, strict=True))),
        ),
    }
    text, advice = mend[max(lags, key=lambda name: lags[name])]
    return f"At {bandwidth:g} Hz {budget}: {text}", advice


def bandwidth_limit(
    vehicle: str | PathLike[str] | VehicleParameters,
    phase_margin: float = 50.0,
    *,
    gain_margin: float = 6.0,
    integral: float = 0.05,
    dt: float = DEFAULT_DT,
    axes: Sequence[int] = (0, 1, 2),
) -> Array:
    """Hz, the highest bandwidth of each of the axes that autotune() reaches, to 2 %; NaN: none."""
    _check(phase_margin, gain_margin, integral)
    for axis in axes:
        if axis not in (0, 1, 2):
            raise ValueError(f"axes: expected 0, 1 or 2, got {axis!r}")
    return _bandwidth_limits(RateLoop(vehicle, dt), axes, phase_margin, gain_margin, integral)


def _bandwidth_limits(
    loop: RateLoop,
    axes: Sequence[int],
    phase_margin: float,
    gain_margin: float,
    integral: float,
) -> Array:
    """bandwidth_limit() of checked arguments."""

    def reaches(axis: int, bandwidth: float) -> bool:
        asked = _Asked(bandwidth, phase_margin, gain_margin, integral)
        return _searched(loop, axis, asked)[0] is not None

    limits = np.full(len(axes), math.nan)
    for number, axis in enumerate(axes):
        # from above: what is too slow may be out of reach as well
        trial = np.geomspace(0.25 / loop.dt, 0.05, 24)[1:]
        low = next((float(x) for x in trial if reaches(axis, float(x))), math.nan)
        high = low * float(trial[0] / trial[1])
        while high / low > 1.02:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if reaches(axis, middle) else (low, middle)
        limits[number] = low
    return limits
