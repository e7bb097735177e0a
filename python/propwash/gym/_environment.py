"""What single and vector environments share beside the step: states, snapshots, pictures."""

from __future__ import annotations

from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import NDArray

from propwash.fleet import Fleet
from propwash.gym._engine import Engine
from propwash.gym._options import Settings
from propwash.gym._snapshot import Snapshot
from propwash.gym._task import Task

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float32]


class FleetEnvironment:
    """Environments of an engine."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"]}  # noqa: RUF012
    render_mode: str | None = None
    """What render() does, as of gymnasium's environments."""

    _memory: ClassVar[tuple[str, ...]] = ("_np_random", "_np_random_seed")
    """Attributes that a snapshot holds."""
    _kind = "single environment"
    """What snapshots belong to, besides the task and the options."""
    _engine: Engine
    _pictures: Any = None
    _window: Any = None

    @property
    def fleet(self) -> Fleet:
        """The vehicles; one, in a single environment."""
        return self._engine.fleet

    @property
    def task(self) -> Task:
        """The task, as these environments have it."""
        return self._engine.task

    @property
    def period(self) -> float:
        """s, of a step."""
        return self._engine.period

    def snapshot(self) -> Snapshot:
        """Everything that affects the future, as one value for restore().

        That is the vehicles with their sensors, parameters, wind and delays; episode clocks, what
        the task remembers, all random generators, and which episodes have ended. Not in it are
        what wrappers and `action_space.sample()` remember. Raises ResetNeeded before reset().
        """
        self._check_begun("snapshot()")
        more = {name: getattr(self, name) for name in self._memory}
        more["pictures"] = None if self._pictures is None else self._pictures.memory()
        return self._engine.snapshot(self._kind, more)

    def restore(self, snapshot: Snapshot) -> None:
        """Continues, bit for bit, from what snapshot() gave here or in environments made alike.

        Raises TypeError for another kind of value and ValueError for a snapshot of other
        environments; nothing changes then.
        """
        self._check_open()
        more = self._engine.restore(self._kind, snapshot)
        for name in self._memory:
            setattr(self, name, more[name])
        if self._pictures is not None:
            self._pictures.recall(more["pictures"])

    def close_window(self) -> None:
        """Closes the window of render_mode="human"; the next frame opens another."""
        if self._window is not None:
            self._window.close()

    def _states(self) -> dict[str, Numbers]:
        """By name, (n, …)."""
        return dict(vars(self.fleet.state))

    def _set_state(self, state: Any, mask: Flags | None) -> None:
        self._check_begun("set_state()")
        chosen = np.ones(self.fleet.size, dtype=np.bool_) if mask is None else mask
        self._engine.set_state(self._engine.placed(state, mask), chosen)
        self._draw(chosen)

    def _prepare_rendering(self, chosen: Settings) -> None:
        """Makes what draws, where that is asked for; otherwise nothing of it is imported."""
        self.render_mode = chosen.render_mode
        rate = 1.0 / self._engine.period
        fps = round(rate) if rate >= 1.0 else rate
        self.metadata = {**type(self).metadata, "render_fps": fps}
        if self.render_mode is not None:
            from propwash.gym._picture import Pictures

            self._pictures = Pictures(self._engine, chosen)
        if self.render_mode == "human":
            from propwash.gym._window import Window

            self._window = Window(f"propwash {type(self.task).__name__}", fps)

    def _draw(self, begun: Flags | None = None) -> None:
        """After each step, reset and set_state()."""
        if self._pictures is None:
            return
        self._pictures.follow(begun)
        if self._window is not None:
            from propwash.gym._picture import tiled

            self._window.show(tiled(self._pictures.frames()))

    def _frames(self) -> tuple[NDArray[np.uint8], ...] | None:
        self._check_begun("render()")
        if self._pictures is None:
            gymnasium.logger.warn(
                "render() gives nothing, as the environment was made without a render_mode; make "
                "it with render_mode='rgb_array' or 'human'"
            )
            return None
        if self._window is not None:
            return None
        frames: tuple[NDArray[np.uint8], ...] = self._pictures.frames()
        return frames

    def _is_closed(self) -> bool:
        raise NotImplementedError

    def _is_begun(self) -> bool:
        raise NotImplementedError

    def _check_open(self) -> None:
        if self._is_closed():
            raise ClosedEnvironmentError("expected an open environment; make another after close()")

    def _check_begun(self, call: str) -> None:
        self._check_open()
        if not self._is_begun():
            raise ResetNeeded(f"expected reset() before {call}")
