"""Figures of an identification, with matplotlib (the extra `viz`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from propwash.identify._allan import SENSORS, ImuNoise
from propwash.identify._predict import HORIZONS, UNITS, Prediction, measured_at
from propwash.viz.figures import AXES, COLOURS, labelled, legend_above, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from propwash.identify._validation import Score

_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def allan_figure(noise: ImuNoise) -> Figure:
    """Allan deviations with their confidence intervals, and the fitted noise."""
    figure = new_figure(12, 4.5)
    for axes, (sensor, unit) in zip(figure.subplots(1, 2), SENSORS.items(), strict=True):
        for colour, axis in zip(
            _COLOURS, (a for a in noise.axes if a.sensor == sensor), strict=False
        ):
            curve = axis.curve
            axes.loglog(curve.tau, curve.deviation, ".-", color=colour, lw=0.8, label=axis.axis)
            axes.fill_between(curve.tau, curve.low, curve.high, color=colour, alpha=0.15, lw=0)
            fitted = curve.tau[axis.first :]
            axes.loglog(fitted, axis.model(fitted), "--", color=colour, lw=1.2)
        axes.set_title(f"{sensor}: measured (dots), fitted (dashed)", fontsize=10)
        axes.set_xlabel("averaging time [s]")
        axes.set_ylabel(f"Allan deviation [{unit}]")
        axes.grid(alpha=0.3, which="both")
        axes.legend(fontsize=8)
    seconds = noise.flight.time[-1] - noise.flight.time[0]
    # a name may contain $
    figure.suptitle(f"{noise.flight.path.name}, {seconds:.1f} s at rest", parse_math=False)
    return figure


def errors_figure(scores: Sequence[Score]) -> Figure:
    """Cumulative distribution of the errors over the windows, for each quantity, horizon, model."""
    panels = list(dict.fromkeys((s.quantity, s.unit, s.horizon) for s in scores))
    columns = min(len(panels), 4)
    rows = -(-len(panels) // columns)
    figure = new_figure(3.6 * columns, 3.2 * rows)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (quantity, unit, horizon) in zip(grid.ravel(), panels, strict=False):
        shown = [s for s in scores if (s.quantity, s.horizon) == (quantity, horizon)]
        for colour, score in zip(_COLOURS, shown, strict=False):
            errors = np.sort(np.concatenate([*score.errors.values()]))
            fraction = np.arange(1, len(errors) + 1) / len(errors)
            axes.plot(errors, fraction, color=colour, label=score.model)
        axes.axhline(0.5, color="0.8", lw=0.8)
        axes.set_xlim(0.0, 1.6 * shown[0].percentile_90)
        axes.set_title(f"{quantity}, {horizon:g} s ahead", fontsize=8)
        axes.set_xlabel(f"error [{unit}]", fontsize=8)
        axes.set_ylabel("fraction of windows [1]", fontsize=8)
        axes.grid(alpha=0.3)
    for axes in grid.ravel()[len(panels) :]:
        axes.set_visible(False)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8)
    figure.suptitle("predictions within an error")
    return figure


def replay_figure(predictions: Sequence[Prediction]) -> Figure:
    """Measured and predicted signals, and the growth of the errors.

    predictions: of one log at every sample ahead; the second, if any, with measured attitude.

    Raises ValueError for fewer horizons.
    """
    first = predictions[0]
    period = float(first.flight.time[1] - first.flight.time[0])
    if not np.allclose(np.diff(first.horizons, prepend=0.0), period):
        raise ValueError(
            f"predictions: expected horizons at every sample ahead, {period:g} s apart, got "
            f"{len(first.horizons)} up to {first.horizons[-1]:g} s"
        )
    quantities = [q for q in UNITS if q in first.errors and q != "attitude"]
    figure = new_figure(14, 3.0 * max(len(quantities), 2))
    grid = figure.add_gridspec(len(quantities), 3)
    for row, quantity in enumerate(quantities):
        of_rates = quantity == "body rates"
        traces(
            figure.add_subplot(grid[row, :2]),
            predictions[0 if of_rates else -1],
            quantity,
            HORIZONS[0] if of_rates else HORIZONS[-1],
        )
        _growth(figure.add_subplot(grid[row, 2]), predictions, quantity)
    title = f"{first.flight.path.name}, predicted by the vehicle {first.vehicle.name!r}"
    figure.suptitle(title, parse_math=False)
    return figure


def traces(axes: Axes, prediction: Prediction, quantity: str, length: float) -> None:
    """Draws the measured signal and predicted segments of `length` [s] that start on it."""
    flight, horizons = prediction.flight, prediction.horizons
    limits = prediction.starts[0] - 0.5, prediction.starts[-1] + horizons[-1] + 0.5
    rows = np.flatnonzero((flight.time >= limits[0]) & (flight.time <= limits[1]))
    measured = measured_at(flight, rows)[quantity].reshape(len(rows), -1)
    values = prediction.values[quantity]
    values = values.reshape(*values.shape[:2], -1)
    samples = int(np.searchsorted(horizons, length + 1e-9))
    for axis in range(measured.shape[1]):
        name = AXES[axis] if measured.shape[1] == 3 else "z"
        axes.plot(flight.time[rows], measured[:, axis], color=COLOURS[axis], lw=0.8, alpha=0.5)
        axes.plot([], [], color=COLOURS[axis], label=name)
    latest = -np.inf
    for window, start in enumerate(prediction.starts):
        if start < latest - 1e-9:
            continue
        times = start + horizons[:samples]
        latest = times[-1]
        for axis in range(measured.shape[1]):
            axes.plot(times, values[window, :samples, axis], color=COLOURS[axis], lw=1.6)
    low, high = np.percentile(measured, [0.1, 99.9])
    margin = 0.25 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(*limits)
    legend_above(axes)
    how = "measured attitude, " if prediction.attitude else ""
    labelled(
        axes,
        f"{quantity}: measured (thin), predicted {horizons[samples - 1]:.3g} s ahead ({how}thick)",
        "time [s]",
        f"{quantity} [{UNITS[quantity]}]",
    )


def _growth(axes: Axes, predictions: Sequence[Prediction], quantity: str) -> None:
    for colour, prediction in zip(COLOURS, predictions, strict=False):
        if quantity not in prediction.errors:
            continue
        name = "measured attitude" if prediction.attitude else "model"
        median, high = np.percentile(prediction.errors[quantity], [50, 90], axis=0)
        axes.plot(prediction.horizons, median, color=colour, label=f"{name}: median")
        axes.plot(prediction.horizons, high, "--", color=colour, label=f"{name}: 90 %")
    axes.set_yscale("log")
    for horizon in HORIZONS:
        axes.axvline(horizon, color="0.8", lw=0.8)
    axes.legend(fontsize=7)
    labelled(
        axes, f"error of the predicted {quantity}", "time ahead [s]", f"error [{UNITS[quantity]}]"
    )
