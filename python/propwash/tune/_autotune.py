"""Gains from a bandwidth and a phase margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from propwash.tune._controller import Complex
from propwash.tune._loop import (
    AXES,
    Gains,
    Margins,
    RateLoop,
    margins_of,
    table_of,
)
from propwash.vehicle.multicopter import DEFAULT_DT, Array
from propwash.vehicle.parameters import VehicleParameters

RANGES = {"phase_margin": (0.0, 90.0), "gain_margin": (0.0, 60.0)}
"""Open intervals of valid margins, deg and dB."""


class Advice(NamedTuple):
    """Advice in terms of the Python functions and of the command line."""

    python: str
    command: str


class TuneError(ValueError):
    """The requested bandwidth and margins are out of reach.

    The message has the best result, what limits it, and advice in terms of the Python functions.
    """

    def __init__(self, reason: str, *advice: Advice) -> None:
        super().__init__(reason + "".join(each.python for each in advice))
        self._for_command = reason + "".join(each.command for each in advice)

    def for_command(self) -> str:
        """The message with advice in terms of options of `python -m propwash tune`."""
        return self._for_command


_BANDWIDTH_LIMIT = Advice(
    ". tune.bandwidth_limit() returns the limit",
    ". Omit --bandwidth to use a feasible one",
)
_LOWER_BANDWIDTH = Advice("lower the bandwidth", "lower --bandwidth")


@dataclass(frozen=True)
class Tuning:
    """Gains and their margins."""

    vehicle: VehicleParameters
    """The vehicle with its new gains."""
    dt: float
    """Time step of the controller [s]."""
    margins: tuple[Margins, Margins, Margins]
    """Margins of the axes x, y, z."""

    @property
    def gains(self) -> tuple[Gains, Gains, Gains]:
        """Gains of the axes x, y, z."""
        c = self.vehicle.rate_controller
        x, y, z = (Gains(c.proportional[i], c.integral[i], c.derivative[i]) for i in range(3))
        return x, y, z

    def loop(self) -> RateLoop:
        """The rate loop with these gains."""
        return RateLoop(self.vehicle, self.dt)

    def table(self) -> str:
        """Formats gains and margins."""
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
    """Finds gains with a given closed-loop bandwidth and minimum margins.

    Of all stable gains that reach the bandwidth and both margins, it returns those with the lowest
    peak of the sensitivity.

    Args:
        vehicle: Name, TOML file or parameters.
        bandwidth: Bandwidth of the closed loop from commanded to true rate (-3 dB) [Hz], a number
            or one per axis; None for 0.8 times the lowest bandwidth_limit() of the axes.
        phase_margin: Minimum phase margin [deg].
        gain_margin: Minimum gain margin [dB].
        integral: K_I / K_P as a fraction of the bandwidth in rad/s; sets how fast constant errors
            decay.
        dt: Time step of the controller [s].

    Raises:
        TuneError: If there are no such gains; the message has the best result and what limits it.
        ParameterError: For a vehicle that cannot hover or whose rotors cannot control its rates.
    """
    loop = RateLoop(vehicle, dt)
    gains, margins = design(
        loop, bandwidth, phase_margin, gain_margin=gain_margin, integral=integral
    )
    tuned = loop.vehicle.replace(
        rate_controller={
            "proportional": [g.proportional for g in gains],
            "integral": [g.integral for g in gains],
            "derivative": [g.derivative for g in gains],
        }
    )
    if not RateLoop(tuned, dt).stable():
        raise TuneError(
            "the coupled axes are unstable, though each axis is stable alone; ", _LOWER_BANDWIDTH
        )
    return Tuning(tuned, dt, margins)


def design(
    loop: RateLoop,
    bandwidth: ArrayLike | None = None,
    phase_margin: float = 50.0,
    *,
    gain_margin: float = 6.0,
    integral: float = 0.05,
) -> tuple[tuple[Gains, Gains, Gains], tuple[Margins, Margins, Margins]]:
    """Finds the gains of a loop and their margins as autotune(), each axis by itself.

    bandwidth: None for `loop.default_bandwidths()`.
    """
    _check(phase_margin, gain_margin, integral)
    if bandwidth is None:
        limits = _bandwidth_limits(loop, (0, 1, 2), phase_margin, gain_margin, integral)
        if not np.isfinite(limits).all():
            raise TuneError(
                f"axis {AXES[int(np.argmin(np.isfinite(limits)))]}: no bandwidth has a phase "
                f"margin of {phase_margin:g} deg and a gain margin of {gain_margin:g} dB; ",
                _or_smaller_step(
                    loop, Advice("lower the margins", "lower --phase-margin or --gain-margin")
                ),
            )
        bandwidth = loop.default_bandwidths(limits)
    target = np.asarray(bandwidth, dtype=np.float64)
    if target.shape not in ((), (3,)) or not np.all((target > 0.0) & np.isfinite(target)):
        raise ValueError(f"bandwidth: expected a number > 0 [Hz], or three, got {bandwidth!r}")
    target = np.broadcast_to(target, (3,))
    if target.max() >= 0.25 / loop.dt:
        raise TuneError(
            f"bandwidth = {target.max():g} Hz: expected less than a quarter of the controller's "
            f"rate, {0.25 / loop.dt:g} Hz; ",
            _or_smaller_step(loop, _LOWER_BANDWIDTH),
        )
    found = []
    for axis in range(3):
        goal = _Goal(float(target[axis]), phase_margin, gain_margin, integral)
        best, reached = _searched(_Axis(loop, axis), goal)
        if best is None:
            raise _refusal(loop, axis, goal, reached)
        found.append(best)
    (x, y, z), (margins_x, margins_y, margins_z) = zip(*found, strict=True)
    return (x, y, z), (margins_x, margins_y, margins_z)


def _check(phase_margin: float, gain_margin: float, integral: float) -> None:
    for name, value, low, high in (
        ("phase_margin", phase_margin, *RANGES["phase_margin"]),
        ("gain_margin", gain_margin, *RANGES["gain_margin"]),
        ("integral", integral, -1e-12, 1.0),
    ):
        if not low < value < high:
            end = "of at least" if low < 0.0 else "above"
            raise ValueError(f"{name}: expected a number {end} 0 and below {high:g}, got {value!r}")


class _Axis:
    """An axis of a loop, with its frequency responses for any gains."""

    def __init__(self, loop: RateLoop, number: int) -> None:
        self.loop, self.number = loop, number
        # the same frequencies as in RateLoop.margins(), for the same results
        self._frequency = loop.margin_frequencies()
        self._loops = loop.loops(self._frequency, number)

    def margins(self, g: Gains) -> Margins:
        is_stable = self.loop.is_stable(self.number, g)
        return margins_of(self._frequency, *self._loops(g), is_stable)


class _Goal(NamedTuple):
    """Specification of one axis: Hz, deg, dB, and K_I / K_P as a fraction of the bandwidth."""

    bandwidth: float
    phase: float
    gain: float
    integral: float


def _searched(axis: _Axis, goal: _Goal) -> tuple[tuple[Gains, Margins] | None, list[Margins]]:
    """Returns the best gains of one axis, or None, and the margins of all with the bandwidth."""
    reached: list[tuple[Gains, Margins]] = []
    integral, derivatives = axis.loop.ratios(axis.number, goal.bandwidth, goal.integral)
    loops = axis.loop.loops(goal.bandwidth, axis.number)
    for derivative in derivatives:
        gains = _with_bandwidth(loops, goal.bandwidth, integral, float(derivative))
        if gains is not None:
            margins = axis.margins(gains)
            if abs(margins.bandwidth - goal.bandwidth) < 0.03 * goal.bandwidth:
                reached.append((gains, margins))
    good = [
        (gains, m)
        for gains, m in reached
        if m.stable and m.phase >= goal.phase and m.gain >= goal.gain and m.gain_below <= -goal.gain
    ]
    best = min(good, key=lambda each: each[1].sensitivity_peak, default=None)
    return best, [m for _, m in reached]


def _with_bandwidth(
    loops: Callable[[Gains], tuple[Complex, Complex]],
    bandwidth: float,
    integral: float,
    derivative: float,
) -> Gains | None:
    """Returns the lowest gains whose |T| falls below -3 dB at the bandwidth, or None.

    loops: Open and closed loop at the bandwidth. integral, derivative: K_I / K_P and K_D / K_P.
    """

    def gains(proportional: Any) -> Gains:
        return Gains(proportional, integral * proportional, derivative * proportional)

    trial = np.geomspace(0.1, 100.0, 25) * 2.0 * math.pi * bandwidth
    for _ in range(9):  # each round divides the interval by 24
        above = np.flatnonzero(np.abs(loops(gains(trial))[1]) > math.sqrt(0.5))
        if not len(above) or above[0] == 0:
            return None
        trial = np.linspace(trial[above[0] - 1], trial[above[0]], 25)
    return gains(float(trial[-1]))


def _refusal(loop: RateLoop, number: int, goal: _Goal, reached: list[Margins]) -> TuneError:
    """Returns an error with the best result and what limits it."""
    start = (
        f"axis {AXES[number]}: a bandwidth of {goal.bandwidth:g} Hz with a phase margin of "
        f"{goal.phase:g} deg and a gain margin of {goal.gain:g} dB cannot be reached"
    )
    stable = [m for m in reached if m.stable]
    if stable:
        best = max(
            stable,
            key=lambda m: min(m.phase / goal.phase, m.gain / goal.gain, -m.gain_below / goal.gain),
        )
        below = f" ({best.gain_below:.1f} dB)" if best.gain_below > -goal.gain else ""
        start += f"; the best has {best.phase:.1f} deg and {best.gain:.1f} dB{below}"
    elif reached:
        start += "; no gains that give that bandwidth are stable"
    else:
        start += "; no gains give that bandwidth"
    if loop.has_blow_back and _searched(_Axis(loop.without_blow_back(), number), goal)[0]:
        return TuneError(
            f"{start}. The moment of rotor_drag.blow_back or inflow.flapping destabilises slow "
            "loops: ",
            Advice("raise the bandwidth or the integral", "raise --bandwidth"),
        )
    lags, advice = _lags(loop, number, goal.bandwidth)
    return TuneError(f"{start}. {lags}", advice, _BANDWIDTH_LIMIT)


def _lags(loop: RateLoop, number: int, bandwidth: float) -> tuple[str, Advice]:
    """Lists the phase lags at a bandwidth, with advice on the largest."""
    parts = loop.parts(bandwidth, number)
    low_pass = loop.filter(bandwidth, number)[0]
    lags = {
        "the motors' lag": float(-np.angle(parts["motor"], deg=True)),
        "the low-pass": float(-np.angle(low_pass, deg=True)),
        "the command delay": 360.0 * bandwidth * loop.vehicle.motor.command_delay,
        "sampling": float(-np.angle(parts["sampling"], deg=True)),
    }
    budget = ", ".join(f"{name} causes {lag:.0f} deg" for name, lag in lags.items() if lag >= 0.5)
    less = _LOWER_BANDWIDTH
    remedies = {
        "the motors' lag": ("the motors are slower than the requested bandwidth; ", less),
        "the low-pass": (f"raise the cut-off of {loop.filters}, or ", less),
        "the command delay": ("shorten motor.command_delay, or ", less),
        "sampling": ("", _or_smaller_step(loop, less)),
    }
    text, advice = remedies[max(lags, key=lambda name: lags[name])]
    return f"At {bandwidth:g} Hz {budget} of phase lag: {text}", advice


def _or_smaller_step(loop: RateLoop, advice: Advice) -> Advice:
    """The advice, or a smaller time step where the loop is not that of a program."""
    if loop.has_fixed_rate:
        return advice
    return Advice(f"{advice.python}, or use a smaller dt", f"{advice.command}, or raise --rate")


def bandwidth_limit(
    vehicle: str | PathLike[str] | VehicleParameters,
    phase_margin: float = 50.0,
    *,
    gain_margin: float = 6.0,
    integral: float = 0.05,
    dt: float = DEFAULT_DT,
    axes: Sequence[int] = (0, 1, 2),
) -> Array:
    """Returns the highest bandwidth [Hz] that autotune() reaches for each axis, within 2 %.

    NaN for an axis that reaches the margins with no bandwidth. The other arguments are those of
    autotune().
    """
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
    """bandwidth_limit() with checked arguments."""

    def reaches(axis: _Axis, bandwidth: float) -> bool:
        goal = _Goal(bandwidth, phase_margin, gain_margin, integral)
        return _searched(axis, goal)[0] is not None

    limits = np.full(len(axes), math.nan)
    for number, axis in enumerate(_Axis(loop, number) for number in axes):
        # search downwards, as low bandwidths may be infeasible too
        trial = np.geomspace(0.25 / loop.dt, 0.05, 24)[1:]
        low = next((float(x) for x in trial if reaches(axis, float(x))), math.nan)
        high = low * float(trial[0] / trial[1])
        while high / low > 1.02:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if reaches(axis, middle) else (low, middle)
        limits[number] = low
    return limits
