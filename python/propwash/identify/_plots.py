"""Figures of an identification, with matplotlib (the extra `viz`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from propwash.identify._allan import SENSORS, ImuNoise
from propwash.identify._validation import Score
from propwash.viz.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    figure.suptitle(f"{noise.flight.path.name}, {seconds:.1f} s at rest")
    return figure


def errors_figure(scores: Sequence[Score], titles: Sequence[str] = ()) -> Figure:
    """Cumulative distribution of the prediction errors over the windows of each log.

    titles: names of the logs; default: "log 1" and so on.
    """
    figure = new_figure(4.2 * min(len(scores), 3), 3.6 * -(-len(scores) // 3))
    grid = figure.subplots(-(-len(scores) // 3), min(len(scores), 3), squeeze=False)
    for axes, score in zip(grid.ravel(), scores, strict=False):
        for k, errors in enumerate(score.errors):
            label = titles[k] if k < len(titles) else f"log {k + 1}"
            fraction = np.arange(1, len(errors) + 1) / len(errors)
            axes.plot(np.sort(errors), fraction, color=_COLOURS[k % len(_COLOURS)], label=label)
        axes.axhline(0.5, color="0.8", lw=0.8)
        axes.set_xlim(0.0, 1.6 * score.percentile_90)
        axes.set_title(f"{score.quantity}, {score.horizon:g} s ahead", fontsize=9)
        axes.set_xlabel(f"error [{score.unit}]")
        axes.set_ylabel("fraction of windows [1]")
        axes.grid(alpha=0.3)
    for axes in grid.ravel()[len(scores) :]:
        axes.set_visible(False)
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, fontsize=8)
    figure.suptitle("predictions within an error")
    return figure
