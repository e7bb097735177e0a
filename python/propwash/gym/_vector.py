"""Gymnasium's vector environment on one fleet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as checks
from propwash.fleet import FleetState
from propwash.gym import _options
from propwash.gym._engine import Engine, Parts
from propwash.gym._environment import FleetEnvironment, add, infos_of, seeded, spaces
from propwash.gym._observations import row_of
from propwash.gym._options import Options
from propwash.gym._task import Task
from propwash.vehicle.multicopter import MulticopterState

Flags = NDArray[np.bool_]


class FleetVectorEnv(FleetEnvironment, VectorEnv[Any, Any, Any]):
    """n environments of one task, stepped by one fleet.

    Args:
        task: A Task.
        num_envs: Number n of environments.
        autoreset_mode: A gymnasium.vector.AutoresetMode, or its name.
        copy: False reuses the array of observations in every call.
        options: Fields of `propwash.gym.Settings`.

    reset(seed=…) gives environment i the random stream of (seed, index + i); reset() without a seed
    continues it. The first reset() without a seed takes one from the operating system.

    Raises:
        TypeError: For an unknown option.
        ValueError: For an invalid value.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        **FleetEnvironment.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    _memory = (*FleetEnvironment._memory, "_done", "_any_done")
    _fleet_device = "cpu"

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Unpack[Options],
    ) -> None:
        self.num_envs = checks.whole_number("num_envs", num_envs, 1, 2**32)
        self.autoreset_mode = mode_named(autoreset_mode)
        self._kind = f"vector environment with autoreset mode {self.autoreset_mode.value}"
        reuse_buffers = not checks.flag("copy", copy)
        chosen = _options.settings(options)
        device = self._fleet_device
        self._engine = engine = Engine(task, self.num_envs, chosen, reuse_buffers, device=device)
        self.single_observation_space, self.single_action_space = spaces(engine)
        self.observation_space, self.action_space = (
            gymnasium.vector.utils.batch_space(space, self.num_envs)
            for space in (self.single_observation_space, self.single_action_space)
        )
        self._done: Flags = np.zeros(self.num_envs, dtype=np.bool_)
        """(n,) environments whose episode has ended and whose next has not begun."""
        self._any_done = False
        self._prepare_rendering(chosen)
        self.metadata["autoreset_mode"] = self.autoreset_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins episodes in all environments, or in some.

        options: "reset_mask", (n,) bool, the environments to reset; "state", parts of the physical
            state to begin from instead of what the task draws, as in set_state().

        Raises ValueError for a mask together with a seed, as a seed applies to all environments.
        """
        self._check_open()
        options = _options.checked_reset(options, ("reset_mask", "state"))
        chosen = self._rows(self._chosen(options.get("reset_mask"), seed))
        state = options.get("state")
        placed = None if state is None else self._engine.placed(self._flat(state), chosen)
        if seed is not None or not self._was_reset:
            seeded(self, self._engine, seed)
        self._was_reset = True
        seen = self._restart(chosen, placed)
        self._draw(chosen)
        return seen, {}

    def _rows(self, envs: Flags) -> Flags:
        """The vehicles of environments (n,)."""
        return envs

    def _flat(self, state: Any) -> Any:
        """Parts of a physical state from a user, with one row for each vehicle."""
        return state

    def _restart(self, rows: Flags, placed: Parts | None = None) -> Any:
        """Begins episodes of vehicles, and observes all."""
        self._done = self._done & ~rows
        self._any_done = bool(self._done.any())
        return self._engine.restart(rows, placed)

    def _chosen(self, mask: Any, seed: int | None) -> Flags:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        chosen = checks.mask(mask, self.num_envs)
        if chosen is None or not chosen.any():
            raise ValueError("reset_mask: expected at least one environment, got none")
        if seed is not None:
            raise ValueError("seed: expected None with a reset_mask; a seed applies to all")
        if not self._was_reset:
            raise ResetNeeded("expected reset() of all environments before one with a reset_mask")
        return chosen

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all environments with actions (n, A) in [-1, 1].

        Components out of range are clipped and counted in infos["clipped"]. Raises ValueError that
        names the environment for NaN.
        """
        self._check_begun("step()")
        pending = self._done if self._any_done else None
        if pending is not None and self.autoreset_mode is AutoresetMode.DISABLED:
            ended = ", ".join(str(number) for number in np.flatnonzero(pending)[:8])
            raise ResetNeeded(
                f"environments {ended}: expected reset(options={{'reset_mask': …}}) after the end "
                "of an episode, as autoreset is disabled"
            )
        result = self._engine.step(actions, pending)
        done = result.done
        infos: dict[str, Any] = {}
        seen = result.observation
        if result.clipped is not None or result.any_done:
            infos = infos_of(self._engine, result)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and result.any_done:
            infos = self._finals(seen, done, infos)
            seen = self._engine.restart(done)
            done = np.zeros(self.num_envs, dtype=np.bool_)
            result.any_done = False
        self._done, self._any_done = done, result.any_done
        if self._renderer is not None:
            self._draw()
        return seen, result.reward, result.terminated, result.truncated, infos

    def _finals(self, seen: Any, done: Flags, infos: dict[str, Any]) -> dict[str, Any]:
        """Moves the infos of ended episodes to final_info and adds their last observations."""
        last = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(done):
            last[row] = row_of(seen, row)
        final: dict[str, Any] = {}
        present: dict[str, Any] = {}
        for name in [name for name in infos if not name.startswith("_")]:
            add(final, name, infos[name], infos["_" + name] & done)
            add(present, name, infos[name], infos["_" + name] & ~done)
        present |= {"final_obs": last, "_final_obs": done, "final_info": final}
        present["_final_info"] = done.copy()
        return present

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """Returns frames (height, width, 3) sRGB with render_mode="rgb_array", otherwise None.

        The option `render_envs` sets how many environments are drawn.
        """
        return self._frames()

    @property
    def state(self) -> dict[str, NDArray[np.float32]]:
        """The physical states, (n, …): position, velocity, attitude, body_rates, rotor_speeds."""
        return dict(vars(self.fleet.state))

    def set_state(
        self,
        state: Mapping[str, ArrayLike] | FleetState | MulticopterState,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces parts of the physical states; episodes, their clocks and noise continue.

        state: some of position (n, 3) m, velocity (n, 3) m/s, attitude (n, 4), body_rates (n, 3)
            rad/s and rotor_speeds (n, N) rad/s, by name, or a FleetState. Parts without the first
            axis, and a MulticopterState, apply to all.
        mask: (n,) bool, the environments to change; parts may have one row for each of these.

        observe() returns the new observations. Raises TypeError or ValueError for invalid parts;
        nothing changes then.
        """
        self._set_state(state, checks.mask(mask, self.num_envs))

    def observe(self) -> Any:
        """Returns the present observations and changes nothing; for use after set_state()."""
        self._check_begun("observe()")
        return self._engine.observe()

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the window."""
        self.close_window()


def mode_named(mode: AutoresetMode | str) -> AutoresetMode:
    """The autoreset mode from its name. Raises ValueError for another."""
    for each in AutoresetMode:
        if mode in (each, each.name, each.value):
            return each
    names = ", ".join(each.name for each in AutoresetMode)
    raise ValueError(f"autoreset_mode: expected one of {names}, got {mode!r:.100}")
