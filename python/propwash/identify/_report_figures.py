"""Figures of the report of an identification, with matplotlib (the extra `viz`).

They contain no names of files or vehicles, in which matplotlib would interpret `$`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from propwash.identify._estimates import Estimate, LogEstimate
from propwash.identify._plots import traces
from propwash.identify._predict import HORIZONS, UNITS, Prediction, predict
from propwash.identify._whiteness import BIN_EDGES, Whiteness
from propwash.viz.figures import labelled, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from propwash.identify._validation import Score

Array = NDArray[np.float64]

WIDTH = 11.0
"""inches, of a figure over the whole width of the page."""
INTERVAL = 1.96
"""Standard errors, half of the 95 % interval."""
_WINDOWS = {HORIZONS[0]: 20, HORIZONS[-1]: 6}
"""Number of windows in the traces, by their length [s]."""
_EVERY = 0.1
"""s, between the windows whose errors are stated."""


def estimates_figure(estimates: Sequence[Estimate]) -> Figure:
    """Changes from the guess with 95 % intervals: in per cent, or in standard errors if it is 0."""
    factors = [e for e in estimates if e.guess != 0.0]
    offsets = [e for e in estimates if e.guess == 0.0]
    groups = [
        (group, scale, label)
        for group, scale, label in (
            (factors, [100.0 / abs(e.guess) for e in factors], "change from the guess [%]"),
            (
                offsets,
                [1.0 / e.standard_error for e in offsets],
                "change from a guess of 0 [standard errors]",
            ),
        )
        if group
    ]
    sizes = [len(group) for group, _, _ in groups]
    figure = new_figure(0.48 * WIDTH, 0.17 * sum(sizes) + 0.42 * len(sizes) + 0.1)
    panels = figure.subplots(
        len(sizes), 1, squeeze=False, gridspec_kw={"height_ratios": [k + 0.6 for k in sizes]}
    )
    for axes, (group, scale, label) in zip(panels[:, 0], groups, strict=True):
        _intervals(axes, group, scale)
        axes.set_xlabel(label, fontsize=8)
    return figure


def _intervals(axes: Axes, group: Sequence[Estimate], scales: Sequence[float]) -> None:
    shown = [0.0]
    for row, (e, scale) in enumerate(zip(group, scales, strict=True)):
        change, half = scale * (e.value - e.guess), scale * INTERVAL * e.standard_error
        shown += [change - half, change, change + half] if e.identified else [change]
        axes.errorbar(
            change,
            row,
            xerr=half,
            fmt="s" if e.at_bound else "o",
            color="tab:red" if e.at_bound else "tab:blue" if e.identified else "0.6",
            ms=4,
            lw=1.2,
        )
    axes.axvline(0.0, color="0.4", lw=0.8)
    if max(shown) > min(shown):  # wide intervals of the others may leave the figure
        margin = 0.05 * (max(shown) - min(shown))
        axes.set_xlim(min(shown) - margin, max(shown) + margin)
    axes.set_yticks(range(len(group)), [e.name for e in group], fontsize=8)
    axes.set_ylim(len(group) - 0.4, -0.6)
    axes.tick_params(axis="x", labelsize=7)
    axes.grid(alpha=0.3)


def residuals_figure(whiteness: Sequence[Whiteness]) -> Figure:
    """Distribution and autocorrelation of the whitened residuals, for each type of window."""
    figure = new_figure(WIDTH, 3.0)
    centres = 0.5 * (BIN_EDGES[1:] + BIN_EDGES[:-1])
    width = BIN_EDGES[1] - BIN_EDGES[0]
    normal = np.exp(-0.5 * centres**2) / np.sqrt(2.0 * np.pi)
    panels = figure.subplots(2, len(whiteness), squeeze=False)
    for (above, below), w in zip(panels.T, whiteness, strict=True):
        above.bar(centres, np.array(w.histogram) / (w.residuals * width), width, color="tab:blue")
        above.plot(centres, normal, color="tab:orange", lw=1.5, label="normal")
        above.legend(fontsize=7, frameon=False, loc="upper right")
        outside = 1.0 - sum(w.histogram) / w.residuals
        labelled(
            above,
            f"{w.kind}: RMS {w.rms:.3g}, {100.0 * outside:.1f} % outside",
            "whitened residual [1]",
            "density [1]",
        )
        lags = np.arange(1, len(w.autocorrelations) + 1)
        below.bar(lags, w.autocorrelations, 0.5, color="tab:blue")
        for sign in (-1.0, 1.0):
            below.plot(lags, sign * np.array(w.bounds), "--", color="tab:orange", lw=1.0)
        below.axhline(0.0, color="0.4", lw=0.8)
        below.set_ylim(min(-0.2, 1.1 * min(w.autocorrelations)), 1.0)
        below.xaxis.get_major_locator().set_params(integer=True)
        labelled(below, "", "lag [samples]", "autocorrelation [1]")
    return figure


def prediction_figure(estimate: LogEstimate) -> Figure:
    """Measured and predicted signals in the middle of one log, and the errors of all windows."""
    panels = list(_panels(estimate))
    figure = new_figure(WIDTH, 1.75)
    grid = figure.subplots(1, len(panels), squeeze=False)
    for axes, (quantity, shown, errors) in zip(grid[0], panels, strict=True):
        horizon = float(shown.horizons[-1])
        traces(axes, shown, quantity, horizon)
        axes.set_ylabel(f"[{UNITS[quantity]}]")
        median, high = np.percentile(errors, [50, 90])
        axes.set_title(
            f"{quantity} {horizon:.2g} s ahead: median {median:.2g}, 90 % {high:.2g} "
            f"{UNITS[quantity]}",
            fontsize=7,
        )
    return figure


def _panels(estimate: LogEstimate) -> Iterator[tuple[str, Prediction, Array]]:
    """Yields quantities, predictions for the traces, and errors (S,) of windows of all times."""
    if estimate.flight.has_pose:
        of_forces = ("position", "vertical specific force")
        yield from _predicted(estimate, "measured", HORIZONS[-1], of_forces)
        yield from _predicted(estimate, None, HORIZONS[0], ("body rates",))
    else:
        both = ("body rates", "vertical specific force")
        yield from _predicted(estimate, None, HORIZONS[0], both)


def _predicted(
    estimate: LogEstimate,
    attitude: Literal["measured"] | None,
    horizon: float,
    quantities: Sequence[str],
) -> Iterator[tuple[str, Prediction, Array]]:
    flight = estimate.flight
    period = float(flight.time[1] - flight.time[0])
    samples = max(1, round(horizon / period))
    first, last = estimate.seconds
    usable = last - first - samples * period
    starts = first + _EVERY * np.arange(max(1, int(usable / _EVERY)))
    errors = predict(estimate, flight, starts, samples * period, attitude)
    windows = max(1, min(_WINDOWS[horizon], int(usable / horizon)))
    start = first + 0.5 * max(0.0, usable - windows * horizon)
    starts = start + horizon * np.arange(windows)
    shown = predict(estimate, flight, starts, period * np.arange(1, samples + 1), attitude)
    for quantity in quantities:
        yield quantity, shown, errors.errors[quantity][:, -1]


def scores_figure(scores: Sequence[Score]) -> Figure:
    """Errors against the time ahead of each model, for each quantity."""
    quantities = list(dict.fromkeys((s.quantity, s.unit) for s in scores))
    models = list(dict.fromkeys(s.model for s in scores))
    columns = min(len(quantities), 4)
    rows = -(-len(quantities) // columns)
    figure = new_figure(WIDTH, 2.4 * rows + 0.3)
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes, (quantity, unit) in zip(grid.ravel(), quantities, strict=False):
        for k, model in enumerate(models):
            shown = [s for s in scores if (s.quantity, s.model) == (quantity, model)]
            ahead = [s.horizon for s in shown]
            axes.plot(ahead, [s.median for s in shown], "o-", color=f"C{k}", ms=3, label=model)
            axes.plot(ahead, [s.percentile_90 for s in shown], ".--", color=f"C{k}", ms=3)
        axes.set_yscale("log")
        labelled(axes, "", "time ahead [s]", f"error [{unit}]")
        axes.set_title(quantity.replace(", ", "\n"), fontsize=8)
    for axes in grid.ravel()[len(quantities) :]:
        axes.set_visible(False)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8)
    return figure
