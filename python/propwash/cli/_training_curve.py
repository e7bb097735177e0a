"""How training went, and how a policy flew: a curve, a table, pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from propwash.viz import save, show
from propwash.viz.figures import labelled, new_figure, require_matplotlib

SHOWN = 8
"""Flights in a picture."""
_SMOOTH = 10


@dataclass
class Curve:
    """Rewards over steps and time, and evaluations between."""

    rewards: list[tuple[int, float, float]] = field(default_factory=list)
    """Steps, s, mean reward of a step in the iteration."""
    evaluations: list[tuple[int, float, float]] = field(default_factory=list)
    """Steps, s, the measure."""
    measure: str = ""
    """Its name and unit."""

    def add(self, steps: int, seconds: float, reward: float) -> None:
        """Of an iteration."""
        self.rewards.append((steps, seconds, reward))

    def evaluated(self, measure: str, steps: int, seconds: float, value: float) -> None:
        """Of an evaluation."""
        self.measure = measure
        self.evaluations.append((steps, seconds, value))

    def parts(self) -> tuple[Any, ...]:
        """What makes another one like it."""
        return list(self.rewards), list(self.evaluations), self.measure

    def save(self, file: Path, title: str) -> str:
        """Writes the figure; tells where, or what is missing for it."""
        try:
            require_matplotlib()
        except ImportError as error:
            return f"none: {error}"
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
        save(figure, file)
        return str(file)


def table(told: dict[str, float], episodes: int) -> str:
    """Measures of so many fresh episodes, one a line."""
    width = max(len(name) for name in told)
    lines = [f"  {'of ' + str(episodes) + ' fresh episodes':<{width}}"]
    return "\n".join(lines + [f"    {name:<{width}}  {value:9.3f}" for name, value in told.items()])


def show_flights(flown: Any, file: Path, viz: Any, envs: Any, title: str) -> str:
    """Writes a picture or a recording of the first flights; returns where, or what is missing."""
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
    """The scene of the environments' task, where it has gates; or None."""
    scene = envs.task.scene
    return scene if scene is not None and scene.gates else None


def landmarks_of(envs: Any) -> dict[str, Any]:
    """What the environments' task flies to or along, by name, points (k, 3) m."""
    import propwash.gym as pg

    task = envs.task
    if isinstance(task, pg.Track):
        return {"path": task.points()}
    return {"target": np.zeros(3)} if isinstance(task, pg.Hover | pg.Land) else {}
