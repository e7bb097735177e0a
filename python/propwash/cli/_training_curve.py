"""Figures and tables of training and of a policy's flights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_COLOURS = ("tab:orange", "tab:green")


@dataclass
class Curve:
    """Rewards and evaluations over steps and time."""

    rewards: list[tuple[int, float, float]] = field(default_factory=list)
    """Steps, time [s] and mean reward per step of each iteration."""
    evaluations: dict[str, list[tuple[int, float, float]]] = field(default_factory=dict)
    """Steps, time [s] and value of `measure`, by the name of the evaluation."""
    measure: str = ""
    """Name and unit of the plotted measure."""

    @property
    def evaluated_at(self) -> int:
        """Steps at the last evaluation; -1 without one."""
        return max((points[-1][0] for points in self.evaluations.values()), default=-1)

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
        heading = f"{title}: {steps:,.0f} environment steps"
        labelled(above, heading, "wall time [s]", "mean reward per step [1]")
        above.yaxis.label.set_color("tab:blue")
        handles, names = above.get_legend_handles_labels()
        if self.evaluations:
            side = above.twinx()
            for (name, points), colour in zip(self.evaluations.items(), _COLOURS, strict=False):
                _, seconds, values = np.array(points, dtype=float).T
                side.plot(seconds, values, "o-", color=colour, ms=4, label=name)
            side.set_ylabel(self._label(), color=_COLOURS[0])
            if "[%]" in self.measure:
                side.set_ylim(-3.0, 103.0)
            more, labels = side.get_legend_handles_labels()
            handles, names = [*handles, *more], [*names, *labels]
        figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8)
        return figure

    def _label(self) -> str:
        return self.measure if "[" in self.measure else f"{self.measure} [1]"


def seeds_figure(curves: dict[int, Curve], title: str) -> Figure:
    """Plots the policy-selecting evaluations of trainings, and their interquartile mean."""
    figure = new_figure(9, 4.5)
    axes = figure.add_subplot()
    labelled(axes, title, "environment steps", next(iter(curves.values()))._label())
    all_points = {s: np.array(next(iter(each.evaluations.values()))) for s, each in curves.items()}
    for seed, points in all_points.items():
        axes.plot(points[:, 0], points[:, 2], "o-", lw=0.8, ms=3, alpha=0.6, label=f"seed {seed}")
    steps = np.unique(np.concatenate([points[:, 0] for points in all_points.values()]))
    # a training that has ended keeps its last value
    values = [np.interp(steps, points[:, 0], points[:, 2]) for points in all_points.values()]
    middle = [interquartile_mean(at) for at in np.transpose(values)]
    axes.plot(steps, middle, color="black", lw=2.0, label="interquartile mean")
    figure.legend(loc="outside lower center", ncols=6, fontsize=8)
    return figure


def tradeoff_figure(
    labels: tuple[str, str], lines: Mapping[str, Sequence[tuple[float, float]]], title: str
) -> Figure:
    """Plots lines of points (x, y) by name."""
    figure = new_figure(6, 4.5)
    axes = figure.add_subplot()
    labelled(axes, title, *labels)
    for name, points in lines.items():
        axes.plot(*np.transpose(sorted(points)), "o-", lw=1.2, ms=4, label=name)
    if "[%]" in labels[1]:
        axes.set_ylim(-3.0, 103.0)
    figure.legend(loc="outside lower center", ncols=4, fontsize=8)
    return figure


def interquartile_mean(values: Any) -> float:
    """The mean without the lowest and the highest quarter, each rounded down to whole values."""
    ordered = np.sort(values)
    cut = len(ordered) // 4
    return float(np.mean(ordered[cut : len(ordered) - cut]))


def seeds_table(rows: list[dict[str, float]]) -> str:
    """Formats the results of several trainings, one per line, with mean and interquartile mean."""
    names = list(rows[0])
    columns = {name: [row[name] for row in rows] for name in names}
    lines = ["  ".join(f"{name:>{max(9, len(name))}}" for name in names)]
    for row in rows:
        lines.append(_line("", row))
    for label, average in (("mean", np.mean), ("IQM", interquartile_mean)):
        lines.append(_line(label, {name: float(average(columns[name])) for name in names}))
    return "\n".join(lines)


def _line(label: str, row: dict[str, float]) -> str:
    """Formats a row; a label replaces its first number."""
    cells = []
    for k, (name, value) in enumerate(row.items()):
        whole = f"{value:,.0f}" if name in ("seed", "steps") else f"{value:#.4g}"
        cells.append(f"{label if k == 0 and label else whole:>{max(9, len(name))}}")
    return "  ".join(cells)


def table(measured: dict[str, float], episodes: int) -> str:
    """Formats the measures of an evaluation, one per line."""
    width = max(len(name) for name in measured)
    lines = [f"    {name:<{width}}  {value:9.3f}" for name, value in measured.items()]
    return "\n".join([f"  {f'{episodes} new episodes':<{width}}", *lines])


def show_flights(result: Any, file: Path, viz: Any, envs: Any, title: str) -> str:
    """Writes a figure or a recording of the first flights; returns its path, or what is missing."""
    count = result.position.shape[1]
    shown = range(min(SHOWN, count))
    try:
        return show(
            result,
            file,
            viz=viz,
            scene=scene_of(envs),
            vehicles=shown,
            landmarks=landmarks_of(envs),
            title=f"{title}: {len(shown)} of {count} flights",
        )
    except ImportError as error:
        return f"none: {error}"


def scene_of(envs: Any, row: int = 0) -> Any:
    """Returns the scene of an environment if it has gates, else None."""
    import propwash.gym as pg

    task = envs.task
    if task.scene is None and type(task).scenery is pg.Task.scenery:
        return None  # an empty scene would need the part "world"
    scene = task.scenery(row)
    return scene if scene.gates else None


def landmarks_of(envs: Any) -> dict[str, Any]:
    """Returns the path or target of the environments' task: points (k, 3) m by name."""
    import propwash.gym as pg

    task = envs.task
    if isinstance(task, pg.Track):
        return {"path": task.points()}
    return {"target": np.zeros(3)} if isinstance(task, pg.Hover | pg.Land) else {}
