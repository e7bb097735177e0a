"""Bode, Nyquist, step, filter, Allan and Pareto figures, with matplotlib (the extra `viz`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from propwash.tune._loop import AXES, RateLoop
from propwash.tune._step import StepResponse, milliseconds
from propwash.tune._sweep import Sweep
from propwash.vehicle.multicopter import Array
from propwash.viz import require_matplotlib
from propwash.viz.figures import COLOURS as _COLOURS
from propwash.viz.figures import labelled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EDGE = 1e-12


def _figure(width: float, height: float) -> Figure:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    # fixed margins are cheap; a layout engine draws everything twice
    figure.set_layout_engine("none")
    figure.subplots_adjust(
        left=0.8 / width, right=1.0 - 0.2 / width, bottom=0.6 / height, top=1.0 - 0.6 / height
    )
    FigureCanvasAgg(figure)
    return figure


def _logarithmic(axes: Axes, *, x: bool = True, y: bool = False) -> None:
    """Adds grid lines within decades, without tick labels."""
    from matplotlib.ticker import NullFormatter

    if x:
        axes.xaxis.set_minor_formatter(NullFormatter())
    if y:
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3, which="both")


def _decibels(response: Any) -> Array:
    return np.asarray(20.0 * np.log10(np.maximum(np.abs(response), _EDGE)))


def _degrees(response: Any) -> Array:
    return np.asarray(np.degrees(np.unwrap(np.angle(response))))


def bode_figure(loop: RateLoop, axis: int = 0) -> Figure:
    """Bode plot of an axis: open loop, closed loop, sensitivity, and phase lags of the parts."""
    f = loop.frequencies()
    open_, closed = loop.open_loop(f, axis), loop.closed_loop(f, axis)
    found = loop.margins(axis)
    figure = _figure(8.0, 7.0)
    gain, phase = figure.subplots(2, 1, sharex=True)
    curves = (
        ("open loop", open_),
        ("closed loop", closed),
        ("sensitivity", loop.sensitivity(f, axis)),
    )
    for colour, (name, response) in zip(_COLOURS, curves, strict=True):
        gain.semilogx(f, _decibels(response), color=colour, label=name)
    phase.semilogx(f, _degrees(open_), color=_COLOURS[0], label="open loop")
    phase.semilogx(f, _degrees(closed), color=_COLOURS[1], label="closed loop")
    for name, part in loop.parts(f, axis).items():
        if name != "body" and np.abs(np.angle(part)).max() > 1e-3:
            phase.semilogx(f, _degrees(part), lw=0.8, ls="--", label=name)
    gain.axhline(0.0, color="0.5", lw=0.6)
    phase.axhline(-180.0, color="0.5", lw=0.6)
    for frequency, style, name in (
        (found.crossover, ":", f"crossover, {found.crossover:.3g} Hz"),
        (found.phase_crossover, "-.", f"-180 deg, {found.phase_crossover:.3g} Hz"),
    ):
        gain.axvline(frequency, color="0.4", lw=0.8, ls=style, label=name)
        phase.axvline(frequency, color="0.4", lw=0.8, ls=style)
    gain.set_ylim(-60.0, 40.0)
    phase.set_ylim(-400.0, 90.0)
    gain.set_title(
        f"{loop.vehicle.name}, rate about {AXES[axis]}: phase margin {found.phase:.0f} deg, gain "
        f"margin {found.gain:.1f} dB, bandwidth {found.bandwidth:.1f} Hz",
        fontsize=10,
    )
    gain.set_ylabel("gain [dB]")
    phase.set_ylabel("phase [deg]")
    phase.set_xlabel("frequency [Hz]")
    for axes in (gain, phase):
        _logarithmic(axes)
        axes.legend(fontsize=8)
    return figure


def nyquist_figure(loop: RateLoop, axes_of: Sequence[int] = (0, 1, 2)) -> Figure:
    """Nyquist plot of the open loops, with circles of the peak sensitivity around -1."""
    f = loop.frequencies(2000)
    unit = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 200))
    figure = _figure(6.0, 6.0)
    axes = figure.subplots()
    for axis in axes_of:
        response = loop.open_loop(f, axis)
        axes.plot(response.real, response.imag, color=_COLOURS[axis], label=AXES[axis])
        radius = 1.0 / loop.margins(axis).sensitivity_peak
        circle = radius * unit - 1.0
        axes.plot(circle.real, circle.imag, color=_COLOURS[axis], lw=0.6, ls="--")
    axes.plot([-1.0], [0.0], "k+")
    axes.plot(unit.real, unit.imag, color="0.7", lw=0.6)
    axes.set_xlim(-2.5, 1.5)
    axes.set_ylim(-2.0, 2.0)
    axes.set_aspect("equal")
    title = f"{loop.vehicle.name}: open loops, dashed 1 / peak of the sensitivity"
    labelled(axes, title, "real part [1]", "imaginary part [1]")
    axes.legend(fontsize=8)
    return figure


def step_figure(responses: Sequence[StepResponse], title: str = "") -> Figure:
    """Step responses, one per column, with the rotor commands below."""
    if not responses:
        raise ValueError("responses: expected at least one StepResponse, got none")
    figure = _figure(4.5 * len(responses), 6.0)
    grid = figure.subplots(2, len(responses), squeeze=False)
    for column, response in zip(grid.T, responses, strict=True):
        shown = response.figures
        rise, settled = (
            milliseconds(each, float(response.time[-1]))
            for each in (shown.rise_time, shown.settling_time)
        )
        column[0].plot(response.time, response.rate, color=_COLOURS[response.axis])
        column[0].axhline(response.amplitude, color="0.4", lw=0.8, ls="--")
        name = AXES[response.axis]
        text = f"{name}: rise {rise}, overshoot {100.0 * shown.overshoot:.0f} %, settled {settled}"
        labelled(column[0], text, "time [s]", "rate [rad/s]")
        column[0].title.set_fontsize(9)
        column[1].plot(response.time, response.rotor_command, lw=0.7)
        labelled(column[1], "", "time [s]", "rotor command [rad/s]")
    figure.suptitle(title)
    return figure


def filter_figure(loop: RateLoop) -> Figure:
    """Gain and phase of the gyroscope's sampled low-pass."""
    f = loop.frequencies()
    value, _ = loop.filter(f)
    figure = _figure(7.0, 5.5)
    gain, phase = figure.subplots(2, 1, sharex=True)
    gain.semilogx(f, _decibels(value))
    phase.semilogx(f, _degrees(value))
    gain.axhline(-3.01, color="0.5", lw=0.6)
    gain.set_ylabel("gain [dB]")
    gain.set_title(f"{loop.vehicle.name}: low-pass of the rate controller", fontsize=10)
    phase.set_ylabel("phase [deg]")
    phase.set_xlabel("frequency [Hz]")
    for axes in (gain, phase):
        _logarithmic(axes)
    return figure


def allan_figure(
    readings: ArrayLike, period: float, *, unit: str = "rad/s", density: float | None = None
) -> Figure:
    """Allan deviations of stationary readings (T,) or (T, c), sampled every `period` [s].

    unit: Unit of the readings. density: Density of white noise to compare with [unit/sqrt(Hz)].
    propwash.identify fits noise parameters to them.
    """
    from propwash.identify import allan

    signals = np.asarray(readings, dtype=np.float64)
    signals = signals[:, np.newaxis] if signals.ndim == 1 else signals
    figure = _figure(7.0, 5.0)
    axes = figure.subplots()
    for i, signal in enumerate(signals.T):
        curve = allan(signal, period)
        label = AXES[i] if signals.shape[1] == 3 else str(i)
        axes.loglog(curve.tau, curve.deviation, ".-", color=_COLOURS[i % 3], label=label)
        axes.fill_between(curve.tau, curve.low, curve.high, color=_COLOURS[i % 3], alpha=0.15)
        if density is not None and i == 0:
            white = density / np.sqrt(curve.tau)
            axes.loglog(curve.tau, white, "k--", lw=0.8, label="white noise")
    title = f"{len(signals)} readings at {1.0 / period:g} Hz, at rest"
    labelled(axes, title, "averaging time [s]", f"Allan deviation [{unit}]")
    _logarithmic(axes, y=True)
    axes.legend(fontsize=8)
    return figure


def pareto_figure(found: Sweep, marked: int | None = None) -> Figure:
    """Error against effort of all sets of gains, with the Pareto front."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    front = found.pareto()
    intact = ~found.lost
    figure = _figure(7.5, 5.5)
    axes = figure.subplots()
    colours = found.proportional.mean(axis=1)[intact]
    dots = axes.scatter(found.effort[intact], found.score[intact], c=colours, s=5, norm="log")
    figure.colorbar(dots, ax=axes, label="proportional gain, mean [1/s]")
    axes.plot(found.effort[front], found.score[front], "k.-", lw=0.8, label="Pareto front")
    if marked is not None:
        axes.plot(found.effort[marked], found.score[marked], "r*", ms=12, label="chosen")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("noise in the rotors' command [rad/s]")
    axes.set_ylabel("error of the steps, fraction of the step [1]")
    axes.grid(alpha=0.3, which="both")
    for axis in (axes.xaxis, axes.yaxis):  # often less than a decade
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_formatter(NullFormatter())
    axes.set_title(
        f"{found.vehicle.name}: {len(found)} sets of gains, {int(found.lost.sum())} lost",
        fontsize=10,
    )
    axes.legend(fontsize=8)
    return figure
