"""The base of single and vector environments (states, snapshots, rendering), and FleetEnv."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as checks
from propwash.fleet import Fleet
from propwash.gym import _options
from propwash.gym._engine import Engine, Step
from propwash.gym._observations import PRIVILEGED, row_of
from propwash.gym._options import Options, Settings
from propwash.gym._snapshot import Snapshot
from propwash.gym._task import Task
from propwash.vehicle.multicopter import MulticopterState

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float32]


class FleetEnvironment:
    """Base class of FleetEnv and FleetVectorEnv."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array", "human"]}  # noqa: RUF012
    render_mode: str | None = None
    """Render mode, as in gymnasium's environments."""
    closed = False
    """Whether close() was called."""

    _memory: ClassVar[tuple[str, ...]] = ("_np_random", "_np_random_seed", "_was_reset")
    """Attributes that a snapshot contains."""
    _kind = "single environment"
    """Kind of environment; a snapshot is only valid for the same kind."""
    _was_reset = False
    _engine: Engine
    _renderer: Any = None
    _window: Any = None

    @property
    def fleet(self) -> Fleet:
        """The fleet of vehicles; a single environment has a fleet of one."""
        return self._engine.fleet

    @property
    def task(self) -> Task:
        """These environments' copy of the task."""
        return self._engine.task

    @property
    def privileged_columns(self) -> dict[str, slice]:
        """Columns of each group of the observations "privileged"; empty without them."""
        part: Any = self._engine.observer.parts.get(PRIVILEGED)
        return {} if part is None else dict(part.columns)

    @property
    def period(self) -> float:
        """Duration of a step [s]."""
        return self._engine.period

    def snapshot(self) -> Snapshot:
        """Returns everything that affects the future, as one value for restore().

        It contains the vehicles with their sensors, parameters, wind and delays; episode clocks,
        the state of the task, all random generators, and which episodes have ended. It does not
        contain the state of wrappers and of `action_space.sample()`.

        Raises ResetNeeded before reset().
        """
        self._check_begun("snapshot()")
        more = {name: getattr(self, name) for name in self._memory}
        more["renderer"] = None if self._renderer is None else self._renderer.memory()
        return self._engine.snapshot(self._kind, more)

    def restore(self, snapshot: Snapshot) -> None:
        """Continues bit for bit from a snapshot of these or of equally made environments.

        Raises TypeError if `snapshot` is not a Snapshot, and ValueError if it is from different
        environments; nothing changes then.
        """
        self._check_open()
        more = self._engine.restore(self._kind, snapshot)
        for name in self._memory:
            setattr(self, name, more[name])
        if self._renderer is not None:
            self._renderer.restore(more["renderer"])

    def close_window(self) -> None:
        """Closes the window of render_mode="human"; the next frame opens another."""
        if self._window is not None:
            self._window.close()

    def _set_state(self, state: Any, mask: Flags | None) -> None:
        self._check_begun("set_state()")
        chosen = np.ones(self.fleet.size, dtype=np.bool_) if mask is None else mask
        self._engine.set_state(self._engine.placed(state, mask), chosen)
        self._draw(chosen)

    def _prepare_rendering(self, chosen: Settings) -> None:
        """Creates the renderer. Without a render mode its modules are not imported."""
        self.render_mode = chosen.render_mode
        rate = 1.0 / self._engine.period
        fps = round(rate) if rate >= 1.0 else rate
        self.metadata = {**type(self).metadata, "render_fps": fps}
        if self.render_mode is not None:
            from propwash.gym._frames import FrameRenderer

            self._renderer = FrameRenderer(self._engine, chosen)
        if self.render_mode == "human":
            from propwash.gym._frames import Window

            self._window = Window(f"propwash {type(self.task).__name__}", fps)

    def _draw(self, begun: Flags | None = None) -> None:
        """Updates the trails and the window after each step, reset and set_state()."""
        if self._renderer is None:
            return
        self._renderer.follow(begun)
        if self._window is not None:
            from propwash.gym._frames import tiled

            self._window.show(tiled(self._renderer.frames()))

    def _frames(self) -> tuple[NDArray[np.uint8], ...] | None:
        self._check_begun("render()")
        if self._renderer is None:
            gymnasium.logger.warn(
                "render() returns None, as the environment was made without a render_mode; make "
                "it with render_mode='rgb_array' or 'human'"
            )
            return None
        if self._window is not None:
            return None
        frames: tuple[NDArray[np.uint8], ...] = self._renderer.frames()
        return frames

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("expected an open environment; make another after close()")

    def _check_begun(self, call: str) -> None:
        self._check_open()
        if not self._was_reset:
            raise ResetNeeded(f"expected reset() before {call}")


class FleetEnv(FleetEnvironment, gymnasium.Env[Any, Any]):
    """One environment of a task, equal to number `index` of a FleetVectorEnv with the same seed.

    Results agree bit for bit with the autoreset modes SAME_STEP and DISABLED. In NEXT_STEP the
    start of an episode takes one step, which advances the noise; here
    reset(options={"steps_before": 1}) does so.

    task: a Task. options: fields of `propwash.gym.Settings`. Raises the exceptions of
    FleetVectorEnv.
    """

    def __init__(self, task: Task, **options: Unpack[Options]) -> None:
        chosen = _options.settings(options)
        self._engine = Engine(task, 1, chosen)
        self.observation_space, self.action_space = spaces(self._engine)
        self._prepare_rendering(chosen)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begins an episode.

        options: "state", parts of the physical state to begin from instead of what the task draws,
            as in set_state(); "steps_before", steps by which the noise advances first.
        """
        self._check_open()
        options = _options.checked_reset(options, ("state", "steps_before"))
        before = checks.whole_number("steps_before", options.get("steps_before", 0), 0, 1_000_000)
        state = options.get("state")
        placed = None if state is None else self._engine.placed(state, None)
        if seed is not None or not self._was_reset:
            seeded(self, self._engine, seed)
        self._was_reset = True
        if before:
            self._engine.wait(before)
        mask = np.ones(1, dtype=np.bool_)
        seen = self._engine.restart(mask, placed)
        self._draw(mask)
        return row_of(seen, 0), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Steps once with an action (A,) in [-1, 1].

        Components out of range are clipped and counted in info["clipped"]. Raises ValueError for
        NaN.
        """
        self._check_begun("step()")
        result = self._engine.step(np.asarray(action)[np.newaxis])
        terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
        info: dict[str, Any] = {}
        if result.clipped is not None or result.any_done:
            info = one(infos_of(self._engine, result))
        if self._renderer is not None:
            self._draw()
        return row_of(result.observation, 0), float(result.reward[0]), terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """Returns (height, width, 3) sRGB with render_mode="rgb_array", otherwise None."""
        frames = self._frames()
        return None if frames is None else frames[0]

    @property
    def state(self) -> dict[str, NDArray[np.float32]]:
        """The fields of `pw.MulticopterState` in float32, by name."""
        return {name: rows[0] for name, rows in vars(self.fleet.state).items()}

    def set_state(self, state: Mapping[str, ArrayLike] | MulticopterState) -> None:
        """Replaces parts of the physical state; the episode, its clock and noise continue.

        state: some of position (3,) m, velocity (3,) m/s, attitude (4,), body_rates (3,) rad/s and
            rotor_speeds (N,) rad/s, by name, or a MulticopterState.

        observe() returns the new observation. Raises TypeError or ValueError for invalid parts;
        nothing changes then.
        """
        self._set_state(state, None)

    def observe(self) -> Any:
        """Returns the present observation and changes nothing; for use after set_state()."""
        self._check_begun("observe()")
        return row_of(self._engine.observe(), 0)

    def close(self) -> None:
        """Closes the environment; it cannot be used afterwards."""
        self.closed = True
        self.close_window()
        super().close()


def seeded(env: Any, engine: Engine, seed: int | None) -> None:
    """Seeds the random streams, with None from the operating system's entropy."""
    if seed is not None:
        seed = checks.whole_number("seed", seed, 0, 2**64 - 1)
        env._np_random, env._np_random_seed = gymnasium.utils.seeding.np_random(seed)
    engine.seed(int(env.np_random.integers(2**63)) if seed is None else seed)


def spaces(engine: Engine) -> tuple[Any, Any]:
    """Observation and action space of one environment."""
    actions = gymnasium.spaces.Box(-1.0, 1.0, engine.action_shape[1:], np.float32)
    return engine.observation_space, actions


def infos_of(engine: Engine, result: Step) -> dict[str, Any]:
    """Returns infos as arrays (n, …), each with the mask of the environments it applies to.

    clipped: number of action components out of range. For episodes that ended: diverged, and the
    infos of the task.
    """
    infos: dict[str, Any] = {}
    if result.clipped is not None:
        add(infos, "clipped", result.clipped, result.clipped > 0)
    if result.any_done:
        rows = np.flatnonzero(result.done)
        ended = {"diverged": engine.state.diverged, **engine.task.info(engine.state)}
        for name, values in ended.items():
            _put(infos, name, values, result.done, rows)
    return infos


def add(infos: dict[str, Any], name: str, values: Any, mask: Flags) -> None:
    """Adds an array, zero where the mask is not set, and the mask; nothing for an empty mask."""
    rows = np.flatnonzero(mask)
    if len(rows):
        _put(infos, name, values, mask, rows)


def _put(infos: dict[str, Any], name: str, values: Any, mask: Flags, rows: Any) -> None:
    """Adds an array and the mask; rows: where the mask is set, usually few, so faster than it."""
    source = np.asarray(values)
    array = np.zeros(source.shape, source.dtype)
    array[rows] = source[rows]
    infos[name], infos["_" + name] = array, mask.copy()


def one(infos: Mapping[str, Any]) -> dict[str, Any]:
    """Converts infos of n = 1 to those of a single environment."""
    return {
        name: values[0].item() if values[0].ndim == 0 else values[0].copy()
        for name, values in infos.items()
        if not name.startswith("_")
    }
