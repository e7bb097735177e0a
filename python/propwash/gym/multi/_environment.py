"""Many scenes of several vehicles each, on one fleet."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Unpack

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as checks
from propwash.fleet import FleetState
from propwash.gym import _options
from propwash.gym._engine import Engine, Parts, Step
from propwash.gym._environment import FleetEnvironment, infos_of, spaces
from propwash.gym._observations import Observed, arrays_of
from propwash.gym._options import Options
from propwash.gym._vector import FleetVectorEnv, mode_named
from propwash.gym.multi._state import SceneState
from propwash.gym.multi._task import MultiTask
from propwash.vehicle.multicopter import MulticopterState

Flags = NDArray[np.bool_]


class FleetParallelVectorEnv(FleetVectorEnv):
    """S scenes of V vehicles each, stepped by one fleet of S V vehicles.

    A gymnasium VectorEnv of scenes, in which rewards, flags and infos have one more axis:
    observations (S, V, k), actions (S, V, A), rewards, terminated, truncated and infos (S, V).

    The episodes of vehicles may end separately. From then on a vehicle is absent from the scene:
    its actions have no effect, its observations and rewards are zeros, and its flags False.
    `active` says which vehicles are present. When no vehicle of a scene is active, the next episode
    of the scene begins: in the same step (SAME_STEP), or by reset() with a reset_mask (DISABLED).

    Args:
        task: A MultiTask.
        num_envs: Number S of scenes.
        autoreset_mode: SAME_STEP or DISABLED, of gymnasium.vector.AutoresetMode, or its name.
        copy: False reuses the array of observations in every call.
        options: Fields of `propwash.gym.Settings`. `index` and `render_envs` count scenes.

    Raises:
        TypeError: For another task or an unknown option.
        ValueError: For an invalid value.
    """

    _memory = FleetEnvironment._memory

    def __init__(
        self,
        task: MultiTask,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        copy: bool = True,
        **options: Unpack[Options],
    ) -> None:
        if not isinstance(task, MultiTask):
            raise TypeError(f"task: expected a MultiTask, got {task!r:.100}")
        self.num_envs = checks.whole_number("num_envs", num_envs, 1, 2**32)
        self.num_vehicles = task.vehicles
        """Number V of vehicles in a scene."""
        self.autoreset_mode = mode_named(autoreset_mode)
        if self.autoreset_mode is AutoresetMode.NEXT_STEP:
            raise ValueError("autoreset_mode: expected SAME_STEP or DISABLED, got NEXT_STEP")
        self._kind = f"environment of scenes with autoreset mode {self.autoreset_mode.value}"
        reuse_buffers = not checks.flag("copy", copy)
        chosen = _options.settings(options)
        size = self.num_envs * task.vehicles
        self._engine = Engine(task, size, chosen, reuse_buffers, task.vehicles)
        self.vehicle_observation_space, self.vehicle_action_space = spaces(self._engine)
        """Spaces of one vehicle."""
        self.single_observation_space, self.single_action_space = (
            batch_space(space, self.num_vehicles)
            for space in (self.vehicle_observation_space, self.vehicle_action_space)
        )
        self.observation_space, self.action_space = (
            batch_space(space, self.num_envs)
            for space in (self.single_observation_space, self.single_action_space)
        )
        self._prepare_rendering(chosen)
        self.metadata["autoreset_mode"] = self.autoreset_mode

    @property
    def active(self) -> Flags:
        """(S, V) whether the vehicle's episode has begun and not ended: it takes part in steps."""
        active: Flags = self._shaped(self._state.active)
        return active.copy()

    @property
    def _state(self) -> SceneState:
        state = self._engine.state
        assert isinstance(state, SceneState)
        return state

    def _shaped(self, rows: NDArray[Any]) -> Any:
        """Rows (n, …) of vehicles as (S, V, …)."""
        return rows.reshape(self.num_envs, self.num_vehicles, *rows.shape[1:])

    def _rows(self, scenes: Flags) -> Flags:
        """The vehicles (n,) of scenes (S,)."""
        return np.repeat(scenes, self.num_vehicles)

    def _restart(self, rows: Flags, placed: Parts | None = None) -> Any:
        """Begins episodes of the vehicles (n,) of whole scenes, and observes all."""
        fleet, state, task = self.fleet, self._state, self._engine.task
        state.active = state.active | rows
        if isinstance(task, MultiTask) and task.downwash is not None:
            # first readings of inertial sensors do not contain the end of the last episode
            fleet.set_external_wrench(np.where(rows[:, None], 0.0, fleet.external_force))
        return self._visible(self._engine.restart(rows, placed), state.active)

    def _flat(self, state: Any) -> Any:
        """Parts of a physical state with rows (S, V, …) as rows (n, …); other parts unchanged."""
        if not isinstance(state, Mapping):
            return state
        lead = (self.num_envs, self.num_vehicles)
        arrays = {name: np.asarray(part) for name, part in state.items()}
        return {
            name: part.reshape(-1, *part.shape[2:])
            if part.shape[:2] == lead and part.ndim > 2
            else part
            for name, part in arrays.items()
        }

    def _visible(self, seen: Observed, active: Flags) -> Any:
        """Observations (S, V, …), zero for absent vehicles."""
        if not active.all():
            for array in arrays_of(seen):
                array[~active] = 0
        if isinstance(seen, dict):
            return {name: self._shaped(array) for name, array in seen.items()}
        return self._shaped(seen)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all scenes with actions (S, V, A) in [-1, 1].

        Components out of range are clipped and counted in infos["clipped"]. Infos are arrays
        (S, V) with masks `_name`, for vehicles whose episode ends in this step. Where an episode of
        a scene begins in this step, infos["_final_obs"] (S,) is set, and infos["final_obs"]
        (S, V, k) contains the observations before. Raises ValueError that names the row of the
        vehicle for NaN.
        """
        self._check_begun("step()")
        engine, state = self._engine, self._state
        active = state.active
        task: Any = engine.task
        if self.autoreset_mode is AutoresetMode.DISABLED:
            self._check_present()
        given = self._actions(actions)
        if task.downwash is not None:
            engine.fleet.set_external_wrench(state.downwash(task.downwash))
        result = engine.step(given)
        self._end(result, active, task.ends_together)
        infos: dict[str, Any] = {}
        if result.clipped is not None or result.any_done:
            named = infos_of(engine, result)
            infos = {name: self._shaped(values) for name, values in named.items()}
        seen = self._visible(result.observation, active)
        over = ~self._shaped(state.active).any(axis=1)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            infos |= {"final_obs": deepcopy(seen), "_final_obs": over}
            seen = self._restart(self._rows(over))
        if self._renderer is not None:
            self._draw()
        flags = (self._shaped(rows) for rows in (result.terminated, result.truncated))
        return seen, self._shaped(result.reward), *flags, infos

    def _check_present(self) -> None:
        over = np.flatnonzero(~self._shaped(self._state.active).any(axis=1))
        if len(over):
            named = ", ".join(str(number) for number in over[:8])
            raise ResetNeeded(
                f"scenes {named}: expected reset(options={{'reset_mask': …}}) after the end of the "
                "episodes of all vehicles, as autoreset is disabled"
            )

    def _actions(self, actions: Any) -> NDArray[np.float32]:
        """Actions (n, A), zero for absent vehicles. Raises ValueError for another shape."""
        try:
            array = np.asarray(actions, dtype=np.float32)
        except (TypeError, ValueError):
            array = np.zeros(0, dtype=np.float32)
        if array.shape != self.action_space.shape:
            raise ValueError(
                f"actions: expected numbers of shape {self.action_space.shape}, got "
                f"{checks.described(actions)}"
            )
        rows = array.reshape(self._engine.action_shape)
        active = self._state.active
        return rows if active.all() else np.where(active[:, None], rows, np.float32(0.0))

    def _end(self, result: Step, active: Flags, ends_together: bool) -> None:
        """Ends episodes: clears the results of absent vehicles, and updates who is present."""
        if ends_together:
            result.terminated = self._rows(self._shaped(result.terminated).any(axis=1))
            result.truncated = result.truncated & ~result.terminated
        if not active.all():
            result.reward = np.where(active, result.reward, np.float32(0.0))
            result.terminated = result.terminated & active
            result.truncated = result.truncated & active
            if result.clipped is not None:
                result.clipped = np.where(active, result.clipped, 0)
        result.done = result.terminated | result.truncated
        result.any_done = bool(result.done.any())
        self._state.active = active & ~result.done

    @property
    def state(self) -> dict[str, NDArray[np.float32]]:
        """Physical states (S, V, …): position, velocity, attitude, body_rates, rotor_speeds."""
        return {name: self._shaped(rows) for name, rows in super().state.items()}

    def set_state(
        self,
        state: Mapping[str, ArrayLike] | FleetState | MulticopterState,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces parts of the physical states; episodes, their clocks and noise continue.

        state: some of position (S, V, 3) m, velocity (S, V, 3) m/s, attitude (S, V, 4), body_rates
            (S, V, 3) rad/s and rotor_speeds (S, V, N) rad/s, by name; or rows as in FleetVectorEnv.
        mask: (S, V) bool, the vehicles to change.

        observe() returns the new observations. Raises TypeError or ValueError for invalid parts;
        nothing changes then.
        """
        chosen = None if mask is None else np.asarray(mask).reshape(-1)
        self._set_state(self._flat(state), checks.mask(chosen, self.fleet.size))

    def observe(self) -> Any:
        """Returns the present observations (S, V, k); for use after set_state()."""
        return self._visible(super().observe(), self._state.active)
