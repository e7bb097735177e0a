"""Figures of flights, with matplotlib (the extra `viz`)."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from propwash.demo import Demo
from propwash.replay import HORIZONS, UNITS, Replay

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_AXES = ("x", "y", "z")
_COLOURS = ("tab:blue", "tab:orange", "tab:green")


def require_matplotlib() -> None:
    """Raises ImportError, which says what brings it, where matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "propwash[viz]"') from error


def _figure(width: float, height: float) -> Figure:
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _labelled(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=10)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)


def demo_figure(demo: Demo) -> Figure:
    """Trajectory, body rates against command, IMU readings and their biases."""
    flown, commanded = demo.trajectory, demo.command.rates
    figure = _figure(14, 9)
    grid = figure.add_gridspec(3, 3)

    path = figure.add_subplot(grid[:2, 0], projection="3d")
    path.plot(*flown.position.T, lw=1.2)
    path.plot(*flown.position[:1].T, "o", color="tab:green", label="start")
    path.plot(*flown.position[-1:].T, "s", color="tab:red", label="end")
    path.set_xlabel("x [m]")
    path.set_ylabel("y [m]")
    path.set_title("position, world frame, z up", fontsize=10)
    path.legend(fontsize=8)

    for axis in range(3):
        axes = figure.add_subplot(grid[axis, 1])
        axes.plot(flown.time, flown.angular_rate[:, axis], color="0.8", lw=0.5, label="gyroscope")
        axes.plot(flown.time, flown.body_rates[:, axis], color=_COLOURS[axis], label="true")
        axes.plot(flown.time, commanded[:, axis], "k--", lw=1, label="command")
        _labelled(axes, f"body rate {_AXES[axis]}", "time [s]", "rad/s")
        axes.legend(fontsize=7, loc="upper right")

    force = figure.add_subplot(grid[2, 0])
    for axis in range(3):
        force.plot(flown.time, flown.specific_force[:, axis], lw=0.5, color=_COLOURS[axis])
    force.legend(_AXES, fontsize=7, loc="center right")
    _labelled(force, "accelerometer", "time [s]", "m/s²")

    error = figure.add_subplot(grid[0, 2])
    for axis in range(3):
        noise = flown.angular_rate[:, axis] - flown.body_rates[:, axis]
        error.plot(flown.time, noise, lw=0.4, color=_COLOURS[axis])
    _labelled(error, "gyroscope: reading minus truth", "time [s]", "rad/s")
    for row, (name, bias, unit) in enumerate(
        [
            ("gyroscope bias", flown.gyroscope_bias, "rad/s"),
            ("accelerometer bias", flown.accelerometer_bias, "m/s²"),
        ],
        start=1,
    ):
        axes = figure.add_subplot(grid[row, 2])
        for axis in range(3):
            axes.plot(flown.time, bias[:, axis], color=_COLOURS[axis], label=_AXES[axis])
        axes.legend(fontsize=7)
        _labelled(axes, name, "time [s]", unit)
    figure.suptitle(
        f"{demo.vehicle.parameters.name}: rate control, RK4 at 960 Hz, all noise on; "
        f"{demo.steps_per_second / 1e6:.2f} million steps/s on one core"
    )
    return figure


def replay_figure(result: Replay) -> Figure:
    """Measured against predicted, and how the errors grow with the horizon."""
    quantities = [q for q in UNITS if q in result.predictions["model"].errors]
    vectors: list[str] = [q for q in ("position", "velocity", "body rates") if q in quantities]
    if "vertical specific force" in quantities:
        vectors.append("vertical specific force")
    figure = _figure(14, 3.0 * max(len(vectors), 2))
    grid = figure.add_gridspec(len(vectors), 3)
    for row, quantity in enumerate(vectors):
        _traces(figure.add_subplot(grid[row, :2]), result, quantity)
        _growth(figure.add_subplot(grid[row, 2]), result, quantity)
    figure.suptitle(f"{result.flight.path.name}, predicted by {result.vehicle.name!r}")
    return figure


def _measured(result: Replay, quantity: str) -> NDArray[np.float64]:
    flight = result.flight
    measured = {
        "position": flight.position,
        "velocity": flight.velocity,
        "body rates": flight.body_rates,
        "vertical specific force": flight.specific_force[:, 2:],
    }[quantity]
    assert measured is not None
    return measured


def _traces(axes: Axes, result: Replay, quantity: str) -> None:
    """The measured signal with predicted pieces that begin on it.

    Rates are drawn as far ahead as their prediction means something; the rest with the attitude
    given, where there is one.
    """
    measured = _measured(result, quantity)
    mode = "attitude given" if "attitude given" in result.predictions else "model"
    length = HORIZONS[-1]
    if quantity == "body rates":
        mode, length = "model", HORIZONS[0]
    prediction = result.predictions[mode]
    values = prediction.values[quantity]
    values = values.reshape(*values.shape[:2], -1)
    samples = min(round(length / result.period), values.shape[1])
    for axis in range(measured.shape[1]):
        axes.plot(result.flight.time, measured[:, axis], color=_COLOURS[axis], lw=0.8, alpha=0.5)
    latest = -np.inf
    for window, times in enumerate(prediction.time):
        if times[0] < latest:
            continue
        latest = times[samples - 1]
        for axis in range(measured.shape[1]):
            axes.plot(times[:samples], values[window, :samples, axis], color=_COLOURS[axis], lw=1.6)
    low, high = np.percentile(measured, [0.1, 99.9])
    margin = 0.25 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(prediction.time[0, 0] - 0.5, prediction.time[-1, -1] + 0.5)
    how = "attitude given, " if mode == "attitude given" else ""
    _labelled(
        axes,
        f"{quantity}: measured (thin), predicted {samples * result.period:g} s ahead ({how}thick)",
        "time [s]",
        UNITS[quantity],
    )


def _growth(axes: Axes, result: Replay, quantity: str) -> None:
    for colour, (mode, prediction) in zip(_COLOURS, result.predictions.items(), strict=False):
        if quantity not in prediction.errors:
            continue
        errors = prediction.errors[quantity]
        ahead = result.period * np.arange(1, errors.shape[1] + 1)
        median, most = np.percentile(errors, [50, 90], axis=0)
        axes.plot(ahead, median, color=colour, label=f"{mode}: median")
        axes.plot(ahead, most, "--", color=colour, label=f"{mode}: 90 %")
    axes.set_yscale("log")
    for horizon in HORIZONS:
        axes.axvline(horizon, color="0.8", lw=0.8)
    axes.legend(fontsize=7)
    _labelled(axes, f"error in {quantity}", "seconds ahead", UNITS[quantity])


def save(figure: Figure, path: str | PathLike[str]) -> None:
    """Writes a figure to a file of the kind that its suffix names."""
    figure.savefig(path, dpi=110)
