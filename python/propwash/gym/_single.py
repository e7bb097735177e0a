"""One environment: the same code with a fleet of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import gymnasium
import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash.gym import _options
from propwash.gym._engine import Engine
from propwash.gym._environment import FleetEnvironment
from propwash.gym._options import Options
from propwash.gym._task import Task
from propwash.gym._vector import one, seeded, spaces, told
from propwash.vehicle.multicopter import MulticopterState


class FleetEnv(FleetEnvironment, gymnasium.Env[Any, Any]):
    """One environment of a task: number `index` of a FleetVectorEnv with the same seed.

    It is that bit for bit where episodes begin between steps, in modes SAME_STEP and DISABLED. In
    NEXT_STEP a new episode takes a step of the noise's clock: reset(options={"steps_before": 1})
    lets as many pass.

    task: a Task. options: those of `propwash.gym.Settings`, by name. Raises as FleetVectorEnv.
    """

    _memory = (*FleetEnvironment._memory, "_was_reset")

    def __init__(self, task: Task, **options: Unpack[Options]) -> None:
        chosen = _options.settings(options)
        self._engine = Engine(task, 1, chosen)
        self.observation_space, self.action_space = spaces(self._engine)
        self._was_reset = False
        self._closed = False
        self._everyone = np.ones(1, dtype=np.bool_)
        self._prepare_rendering(chosen)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        options: "state", parts of the physical state to begin from instead of what the task draws,
            as of set_state(); "steps_before", steps of the noise's clock to let pass.
        """
        self._check_open()
        asked = _options.of_reset(options, ("state", "steps_before"))
        before = given.whole_number("steps_before", asked.get("steps_before", 0), 0, 1_000_000)
        state = asked.get("state")
        placed = None if state is None else self._engine.placed(state, None)
        if seed is not None or not self._was_reset:
            seeded(self, self._engine, seed)
        self._was_reset = True
        if before:
            self._engine.wait(before)
        seen = self._engine.restart(self._everyone, placed)[0]
        self._draw(self._everyone)
        return seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step; action (A,) within [-1, 1].

        Numbers beyond are clipped, and counted in info["clipped"]. Raises ValueError for NaN.
        """
        if not self._was_reset or self._closed:
            self._check_begun("step()")
        result = self._engine.step(np.asarray(action)[np.newaxis])
        terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
        info: dict[str, Any] = {}
        if result.clipped is not None or result.any_done:
            info = one(told(self._engine, result))
        if self._pictures is not None:
            self._draw()
        return result.observation[0], float(result.reward[0]), terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """(height, width, 3) sRGB, with render_mode="rgb_array"; otherwise None."""
        frames = self._frames()
        return None if frames is None else frames[0]

    @property
    def state(self) -> dict[str, NDArray[np.float32]]:
        """The physical state: position, velocity, attitude, body_rates, rotor_speeds.

        As of `pw.MulticopterState`, in float32.
        """
        return {name: rows[0] for name, rows in self._states().items()}

    def set_state(self, state: Mapping[str, ArrayLike] | MulticopterState) -> None:
        """Replaces parts of the physical state; the episode goes on, with clock and noise.

        state: some of position (3,) m, velocity (3,) m/s, attitude (4,), body_rates (3,) rad/s and
            rotor_speeds (N,) rad/s, by name, or a MulticopterState.

        observe() gives the observation then. Raises TypeError or ValueError for parts that are
        invalid; nothing changes then.
        """
        self._set_state(state, None)

    def observe(self) -> Any:
        """The observation now, with nothing changed: after set_state() or restore()."""
        self._check_begun("observe()")
        return self._engine.observe()[0]

    def close(self) -> None:
        """Nothing can be done with it afterwards."""
        self._closed = True
        self.close_window()
        super().close()

    def _is_closed(self) -> bool:
        return self._closed

    def _is_begun(self) -> bool:
        return self._was_reset
