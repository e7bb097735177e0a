"""One scene of several vehicles as PettingZoo's ParallelEnv. Needs the extra `multi`."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Space, flatdim

try:
    from pettingzoo import ParallelEnv
except ImportError as error:
    raise ImportError(
        'make_parallel() needs pettingzoo; install it with: pip install "propwash[multi]"'
    ) from error

from propwash.gym._observations import flat, row_of
from propwash.gym._options import Options
from propwash.gym.multi._environment import FleetParallelVectorEnv
from propwash.gym.multi._task import MultiTask


class FleetParallelEnv(ParallelEnv):  # type: ignore[misc]
    """One scene of a task, equal bit for bit to scene number `index` of a FleetParallelVectorEnv.

    The agents are "vehicle_0", "vehicle_1", …; `agents` contains those whose episode has not ended.
    The end of the last one ends the episode of the scene.

    task: a MultiTask. options: fields of `propwash.gym.Settings`. Raises the exceptions of
    FleetParallelVectorEnv.
    """

    def __init__(self, task: MultiTask, **options: Unpack[Options]) -> None:
        self.scenes = FleetParallelVectorEnv(task, 1, autoreset_mode="DISABLED", **options)
        """The scene as a FleetParallelVectorEnv of one; for set_state(), snapshots and so on."""
        self.possible_agents = [f"vehicle_{number}" for number in range(task.vehicles)]
        # each agent's own spaces, which have their own generators of samples
        observation, action = (
            self.scenes.vehicle_observation_space,
            self.scenes.vehicle_action_space,
        )
        self.observation_spaces: dict[str, Space[Any]] = {
            each: deepcopy(observation) for each in self.possible_agents
        }
        self.action_spaces: dict[str, Space[Any]] = {
            each: deepcopy(action) for each in self.possible_agents
        }
        shape = (task.vehicles, flatdim(observation))
        self.state_space = Box(-np.inf, np.inf, shape, np.float32)
        """Space of state()."""
        self.render_mode = self.scenes.render_mode
        """Render mode, as in gymnasium's environments."""
        name = f"propwash_{type(task).__name__.lower()}_v0"
        self.metadata = {**self.scenes.metadata, "name": name, "is_parallelizable": True}

    @property
    def agents(self) -> list[str]:
        """The agents whose episode has begun and not ended; also after restore() of a snapshot."""
        return list(self._rows())

    def _rows(self) -> dict[str, int]:
        """Rows of the agents by name."""
        active = self.scenes.active[0] & self.scenes._was_reset
        return {name: row for row, name in enumerate(self.possible_agents) if active[row]}

    def observation_space(self, agent: str) -> Space[Any]:
        """Returns the space of observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Returns the space of actions (A,)."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins an episode of all vehicles.

        options: "state", as for FleetParallelVectorEnv; others are ignored, as PettingZoo requires.
        """
        known = {name: value for name, value in (options or {}).items() if name == "state"}
        seen, _ = self.scenes.reset(seed=seed, options=known)
        self._seen = seen
        found = {name: _row(seen, number) for number, name in enumerate(self.possible_agents)}
        return found, {each: {} for each in self.agents}

    def step(
        self, actions: dict[str, Any]
    ) -> tuple[
        dict[str, Any],
        dict[str, float],
        dict[str, bool],
        dict[str, bool],
        dict[str, dict[str, Any]],
    ]:
        """Steps with an action (A,) in [-1, 1] for each of `agents`.

        Raises ValueError for other names, shapes and NaN, and ResetNeeded when no agent is left.
        """
        self.scenes._check_begun("step()")
        at = self._rows()
        if not at:
            raise ResetNeeded("expected reset() before step(), as no agent is left")
        stepped = self.scenes.step(self._batched(actions, at))
        reward, terminated, truncated = (part[0] for part in stepped[1:4])
        self._seen, infos = stepped[0], stepped[4]
        return (
            {name: _row(self._seen, row) for name, row in at.items()},
            {name: float(reward[row]) for name, row in at.items()},
            {name: bool(terminated[row]) for name, row in at.items()},
            {name: bool(truncated[row]) for name, row in at.items()},
            {name: _info(infos, row) for name, row in at.items()},
        )

    def _batched(self, actions: dict[str, Any], at: dict[str, int]) -> Any:
        """Actions (1, V, A) of the agents with the rows `at`."""
        if not isinstance(actions, dict) or set(actions) != set(at):
            named = (
                ", ".join(map(str, actions)) if isinstance(actions, dict) else f"{actions!r:.50}"
            )
            raise ValueError(
                f"actions: expected one for each of {', '.join(at)}, got {named or 'none'}"
            )
        width = self.scenes.vehicle_action_space.shape
        batch = np.zeros((1, len(self.possible_agents), *width), dtype=np.float32)
        for name, number in at.items():
            action = np.asarray(actions[name])
            if action.shape != width:
                raise ValueError(f"actions[{name!r}]: expected shape {width}, got {action.shape}")
            batch[0, number] = action
        return batch

    def state(self) -> Any:
        """Returns the observations of the last reset() or step(), (V, k), zero for absent vehicles.

        Raises ResetNeeded before reset().
        """
        self.scenes._check_begun("state()")
        seen = self._seen
        first = (
            {name: array[0] for name, array in seen.items()} if isinstance(seen, dict) else seen[0]
        )
        return flat(first).copy()

    def render(self) -> Any:
        """Returns (height, width, 3) sRGB with render_mode="rgb_array", otherwise None."""
        frames = self.scenes.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """Closes the environment; it cannot be used afterwards."""
        self.scenes.close()


def _row(seen: Any, vehicle: int) -> Any:
    """The observation of a vehicle of the first scene."""
    return row_of(seen, (0, vehicle))


def _info(infos: dict[str, Any], row: int) -> dict[str, Any]:
    """The infos of one vehicle."""
    return {
        name: values[0, row].item() if values.ndim == 2 else values[0, row].copy()
        for name, values in infos.items()
        if not name.startswith("_") and infos[f"_{name}"][0, row]
    }
