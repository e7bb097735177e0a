"""Figures and tables of training and of a policy's flights."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from propwash.viz import show
from propwash.viz.figures import labelled, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 8
"""Maximum number of flights in a figure."""
_SMOOTH = 10


@dataclass
class Curve:
    """Rewards and evaluations over steps and time."""

    rewards: list[tuple[int, float, float]] = field(default_factory=list)
    """Steps, time [s] and mean reward per step of each iteration."""
    evaluations: list[tuple[int, float, float]] = field(default_factory=list)
    """Steps, time [s] and value of `measure`."""
    measure: str = ""
    """Name and unit of the plotted measure."""

    def figure(self, title: str) -> Figure:
        """Plots the curve."""
        figure = new_figure(9, 4.5)
        above = figure.add_subplot()
        rewards = np.array(self.rewards, dtype=float).reshape(-1, 3)
        above.plot(
            *rewards.T[1:], color="tab:blue", lw=0.5, alpha=0.4, label="reward of an iteration"
        )
        if len(rewards) >= _SMOOTH:
            smooth = np.convolve(rewards[:, 2], np.full(_SMOOTH, 1.0 / _SMOOTH), mode="valid")
            label = f"mean of {_SMOOTH} iterations"
            above.plot(rewards[_SMOOTH - 1 :, 1], smooth, color="tab:blue", label=label)
        steps = rewards[-1, 0] if len(rewards) else 0.0
        heading = f"{title}: {steps:,.0f} steps of environments"
        labelled(above, heading, "wall time [s]", "mean reward of a step [1]")
        above.yaxis.label.set_color("tab:blue")
        handles, names = above.get_legend_handles_labels()
        if self.evaluations:
            side = above.twinx()
            points = np.array(self.evaluations, dtype=float)
            side.plot(points[:, 1], points[:, 2], "o-", color="tab:orange", ms=4)
            side.set_ylabel(
                self.measure if "[" in self.measure else f"{self.measure} [1]", color="tab:orange"
            )
            if "[%]" in self.measure:
                side.set_ylim(-3.0, 103.0)
            handles, names = [*handles, side.lines[0]], [*names, "evaluation"]
        figure.legend(handles, names, loc="outside lower center", ncols=3, fontsize=8)
        return figure


def table(measured: dict[str, float], episodes: int) -> str:
    """Formats the measures of an evaluation, one per line."""
    width = max(len(name) for name in measured)
    lines = [f"    {name:<{width}}  {value:9.3f}" for name, value in measured.items()]
    return "\n".join([f"  {f'of {episodes} new episodes':<{width}}", *lines])


def show_flights(flown: Any, file: Path, viz: Any, envs: Any, title: str) -> str:
    """Writes a figure or a recording of the first flights; returns its path, or what is missing."""
    count = flown.position.shape[1]
    shown = range(min(SHOWN, count))
    try:
        return show(
            flown,
            file,
            viz=viz,
            scene=scene_of(envs),
            vehicles=shown,
            landmarks=landmarks_of(envs),
            title=f"{title}: {len(shown)} of {count} flights",
        )
    except ImportError as error:
        return f"none: {error}"


def scene_of(envs: Any) -> Any:
    """Returns the scene of the environments' task if it has gates, else None."""
    scene = envs.task.scene
    return scene if scene is not None and scene.gates else None


def landmarks_of(envs: Any) -> dict[str, Any]:
    """Returns the path or target of the environments' task: points (k, 3) m by name."""
    import propwash.gym as pg

    task = envs.task
    if isinstance(task, pg.Track):
        return {"path": task.points()}
    return {"target": np.zeros(3)} if isinstance(task, pg.Hover | pg.Land) else {}
