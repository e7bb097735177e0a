"""One environment: the same code with a fleet of one."""

from __future__ import annotations

from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from propwash import _fleet_input as given
from propwash.gym import _options
from propwash.gym._engine import Engine, OnEngine
from propwash.gym._options import Options
from propwash.gym._task import Task
from propwash.gym._vector import one, seeded, spaces, told


class FleetEnv(OnEngine, gymnasium.Env[Any, Any]):
    """One environment of a task: number `index` of a FleetVectorEnv with the same seed.

    It is that bit for bit where episodes begin between steps, in modes SAME_STEP and DISABLED. In
    NEXT_STEP a new episode takes a step of the noise's clock: reset(options={"steps_before": 1})
    lets as many pass.

    task: a Task. options: those of `propwash.gym.Settings`, by name. Raises as FleetVectorEnv.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(self, task: Task, **options: Unpack[Options]) -> None:
        self._engine = Engine(task, 1, _options.settings(options))
        self.observation_space, self.action_space = spaces(self._engine)
        self._was_reset = False
        self._closed = False
        self._everyone = np.ones(1, dtype=np.bool_)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; options["steps_before"]: steps of the noise's clock to let pass."""
        if self._closed:
            raise ClosedEnvironmentError("expected an environment that is open, got close() before")
        _options.check_names("options", options or {}, ("steps_before",))
        before = given.whole_number(
            "steps_before", (options or {}).get("steps_before", 0), 0, 1_000_000
        )
        if seed is not None or not self._was_reset:
            seeded(self, self._engine, seed)
        self._was_reset = True
        if before:
            self._engine.wait(before)
        return self._engine.restart(self._everyone)[0], {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One step; action (A,) within [-1, 1].

        Numbers beyond are clipped, and counted in info["clipped"]. Raises ValueError for one that
        is none.
        """
        if not self._was_reset or self._closed:
            if self._closed:
                raise ClosedEnvironmentError("expected an environment that is open")
            raise ResetNeeded("expected reset() before step()")
        result = self._engine.step(np.asarray(action)[np.newaxis])
        terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
        info: dict[str, Any] = {}
        if result.clipped is not None or result.any_done:
            info = one(told(self._engine, result))
        return result.observation[0], float(result.reward[0]), terminated, truncated, info

    def close(self) -> None:
        """Nothing can be done with it afterwards."""
        self._closed = True
        super().close()
