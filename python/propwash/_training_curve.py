"""How training went, and how a policy flew: a curve, a table, pictures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from propwash import plots

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
            plots.require_matplotlib()
        except ImportError as error:
            return f"none: {error}"
        figure = plots._figure(9, 4.5)
        above = figure.add_subplot()
        rewards = np.array(self.rewards, dtype=float).reshape(-1, 3)
        above.plot(rewards[:, 1], rewards[:, 2], color="tab:blue", lw=0.5, alpha=0.4)
        if len(rewards) >= _SMOOTH:
            smooth = np.convolve(rewards[:, 2], np.full(_SMOOTH, 1.0 / _SMOOTH), mode="valid")
            above.plot(rewards[_SMOOTH - 1 :, 1], smooth, color="tab:blue")
        steps = rewards[-1, 0] if len(rewards) else 0.0
        plots._labelled(above, f"{title}: {steps:,.0f} steps", "wall time [s]", "reward of a step")
        above.yaxis.label.set_color("tab:blue")
        if self.evaluations:
            side = above.twinx()
            points = np.array(self.evaluations, dtype=float)
            side.plot(points[:, 1], points[:, 2], "o-", color="tab:orange", ms=4)
            side.set_ylabel(self.measure, color="tab:orange")
        plots.save(figure, file)
        return str(file)


def table(told: dict[str, float], episodes: int) -> str:
    """Measures of so many fresh episodes, one a line."""
    width = max(len(name) for name in told)
    lines = [f"  {'of ' + str(episodes) + ' fresh episodes':<{width}}"]
    return "\n".join(lines + [f"    {name:<{width}}  {value:9.3f}" for name, value in told.items()])


def show_flights(flown: Any, file: Path, viz: Any, scene: Any) -> str:
    """Writes a picture or a recording of the first flights; tells where, or what is missing."""
    shown = range(min(SHOWN, flown.position.shape[1]))
    try:
        return plots.show(flown, file, viz=viz, scene=scene, vehicles=shown, title=file.stem)
    except ImportError as error:
        return f"none: {error}"
