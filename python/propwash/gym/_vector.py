"""Many environments, one fleet: gymnasium's vector interface to the letter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash.fleet import FleetState
from propwash.gym import _options
from propwash.gym._engine import Engine, Step
from propwash.gym._environment import FleetEnvironment
from propwash.gym._options import Options
from propwash.gym._task import Task
from propwash.vehicle.multicopter import MulticopterState

Flags = NDArray[np.bool_]


class FleetVectorEnv(FleetEnvironment, VectorEnv[Any, Any, Any]):
    """n environments of one task, stepped by one fleet.

    task: a Task. autoreset_mode: of gymnasium.vector.AutoresetMode, or its name. copy: False gives
        the same arrays of observations in every call, for those who read them at once.
    options: those of `propwash.gym.Settings`, by name.

    reset(seed=…) gives environment i the stream of (seed, index + i); a later reset() continues it.
    A first reset() without a seed takes one from the operating system. Raises TypeError for an
    unknown option, ValueError for an invalid one.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        **FleetEnvironment.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    _memory = (*FleetEnvironment._memory, "_done", "_any_done")

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **options: Unpack[Options],
    ) -> None:
        self.num_envs = given.whole_number("num_envs", num_envs, 1, 2**32)
        self.autoreset_mode = _mode(autoreset_mode)
        self._kind = f"vector environment with autoreset mode {self.autoreset_mode.value}"
        keeps = not given.flag("copy", copy)
        chosen = _options.settings(options)
        self._engine = engine = Engine(task, self.num_envs, chosen, keeps)
        self.single_observation_space, self.single_action_space = spaces(engine)
        self.observation_space = gymnasium.vector.utils.batch_space(
            self.single_observation_space, self.num_envs
        )
        self.action_space = gymnasium.vector.utils.batch_space(
            self.single_action_space, self.num_envs
        )
        self._done: Flags | None = None
        """Which have ended and not begun again; None before the first reset."""
        self._any_done = False
        self._prepare_rendering(chosen)
        self.metadata["autoreset_mode"] = self.autoreset_mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins episodes in all environments, or in some.

        options: "reset_mask", (n,) truth values, which of them; "state", parts of the physical
            state to begin from instead of what the task draws, as of set_state().

        Raises ValueError for a mask together with a seed, which is for all.
        """
        self._check_open()
        asked = _options.of_reset(options, ("reset_mask", "state"))
        chosen = self._chosen(asked.get("reset_mask"), seed)
        state = asked.get("state")
        placed = None if state is None else self._engine.placed(state, chosen)
        if seed is not None or self._done is None:
            seeded(self, self._engine, seed)
        if self._done is None:
            self._done = np.zeros(self.num_envs, dtype=np.bool_)
        self._done = self._done & ~chosen
        self._any_done = bool(self._done.any())
        seen = self._engine.restart(chosen, placed)
        self._draw(chosen)
        return seen, {}

    def _chosen(self, mask: Any, seed: int | None) -> Flags:
        everyone = np.ones(self.num_envs, dtype=np.bool_)
        if mask is None:
            return everyone
        chosen = given.mask(mask, self.num_envs)
        if chosen is None or not chosen.any():
            raise ValueError("reset_mask: expected at least one environment, got none")
        if seed is not None:
            raise ValueError("seed: expected None together with a reset_mask; it is of all")
        if self._done is None:
            raise ResetNeeded("expected reset() of all environments before one with a reset_mask")
        return chosen

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """One step of all; actions (n, A) within [-1, 1].

        Numbers beyond are clipped, and counted in infos["clipped"]. Raises ValueError for NaN,
        naming the environment.
        """
        done = self._done
        if self.closed or done is None:
            self._check_begun("step()")
        pending = done if self._any_done else None
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
            infos = told(self._engine, result)
        if self.autoreset_mode is AutoresetMode.SAME_STEP and result.any_done:
            infos = self._finals(seen, done, infos)
            seen = self._engine.restart(done)
            done = np.zeros(self.num_envs, dtype=np.bool_)
            result.any_done = False
        self._done, self._any_done = done, result.any_done
        if self._pictures is not None:
            self._draw()
        return seen, result.reward, result.terminated, result.truncated, infos

    def _finals(self, seen: Any, done: Flags, infos: dict[str, Any]) -> dict[str, Any]:
        """Infos of those that ended go into final_info, beside their last observation."""
        last = np.full(self.num_envs, None, dtype=object)
        for row in np.flatnonzero(done):
            last[row] = seen[row].copy()
        final: dict[str, Any] = {}
        present: dict[str, Any] = {}
        for name in [name for name in infos if not name.startswith("_")]:
            add(final, name, infos[name], infos["_" + name] & done)
            add(present, name, infos[name], infos["_" + name] & ~done)
        present |= {"final_obs": last, "_final_obs": done, "final_info": final}
        present["_final_info"] = done.copy()
        return present

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A frame (height, width, 3) sRGB of each environment, with render_mode="rgb_array".

        Otherwise None. The option `render_envs` says how many are drawn.
        """
        return self._frames()

    @property
    def state(self) -> dict[str, NDArray[np.float32]]:
        """The physical states, (n, …): position, velocity, attitude, body_rates, rotor_speeds."""
        return self._states()

    def set_state(
        self,
        state: Mapping[str, ArrayLike] | FleetState | MulticopterState,
        mask: ArrayLike | None = None,
    ) -> None:
        """Replaces parts of the physical states; episodes go on, with their clocks and noise.

        state: some of position (n, 3) m, velocity (n, 3) m/s, attitude (n, 4), body_rates (n, 3)
            rad/s and rotor_speeds (n, N) rad/s, by name; without the first axis it is for all
            alike; or a FleetState, or the MulticopterState of all. mask: (n,) truth values, which
            environments; parts may have a row for each of these instead.

        observe() gives the observations then. Raises TypeError or ValueError for parts that are
        invalid; nothing changes then.
        """
        self._set_state(state, given.mask(mask, self.num_envs))

    def observe(self) -> Any:
        """The observations now, with nothing changed: after set_state() or restore()."""
        self._check_begun("observe()")
        return self._engine.observe()

    def close_extras(self, **kwargs: Any) -> None:
        """Closes the window, where there is one."""
        self.close_window()

    def _is_closed(self) -> bool:
        return self.closed

    def _is_begun(self) -> bool:
        return self._done is not None


def seeded(env: Any, engine: Engine, seed: int | None) -> None:
    """Gives the streams a seed: the caller's, or one of the operating system's."""
    if seed is not None:
        seed = given.whole_number("seed", seed, 0, 2**64 - 1)
        env._np_random, env._np_random_seed = gymnasium.utils.seeding.np_random(seed)
    engine.seed(int(env.np_random.integers(2**63)) if seed is None else seed)


def spaces(engine: Engine) -> tuple[Any, Any]:
    """Of one environment's observations and actions."""
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (engine.observation_size,), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, engine.action_shape[1:], np.float32)


def told(engine: Engine, result: Step) -> dict[str, Any]:
    """Infos as arrays (n, …), each with the mask of those whom it concerns.

    clipped: how many numbers of the action were out of range. diverged, and what the task tells:
    of episodes that ended.
    """
    infos: dict[str, Any] = {}
    if result.clipped is not None:
        add(infos, "clipped", result.clipped, result.clipped > 0)
    if result.any_done:
        add(infos, "diverged", engine.state.diverged, result.done)
        for name, values in engine.task.info(engine.state).items():
            add(infos, name, values, result.done)
    return infos


def add(infos: dict[str, Any], name: str, values: Any, mask: Flags) -> None:
    """Adds an array, zero where the mask is not set, and the mask; nothing for an empty mask."""
    rows = np.flatnonzero(mask)  # mostly few: quicker than the mask
    if len(rows):
        given_values = np.asarray(values)
        array = np.zeros_like(given_values)
        array[rows] = given_values[rows]
        infos[name], infos["_" + name] = array, mask.copy()


def one(infos: Mapping[str, Any]) -> dict[str, Any]:
    """Infos of n = 1 as those of a single environment."""
    return {
        name: values[0].item() if values[0].ndim == 0 else values[0].copy()
        for name, values in infos.items()
        if not name.startswith("_")
    }


def _mode(mode: AutoresetMode | str) -> AutoresetMode:
    if isinstance(mode, AutoresetMode):
        return mode
    known = {each.name: each for each in AutoresetMode} | {
        each.value: each for each in AutoresetMode
    }
    if not isinstance(mode, str) or mode not in known:
        names = ", ".join(each.name for each in AutoresetMode)
        raise ValueError(f"autoreset_mode: expected one of {names}, got {mode!r:.100}")
    return known[mode]
