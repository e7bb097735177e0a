"""The step shared by vector and single environments: one fleet, one task."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash import _core
from propwash.fleet import Fleet, FleetState
from propwash.gym import _actions, _snapshot
from propwash.gym._observations import Observed, Observer, arrays_of
from propwash.gym._options import Settings, check_names
from propwash.gym._randomize import Draws, Randomizer
from propwash.gym._snapshot import Snapshot, memory_of
from propwash.gym._task import Task
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import MulticopterState
from propwash.vehicle.parameters import VehicleParameters

Numbers = NDArray[np.float32]
Flags = NDArray[np.bool_]

Parts = tuple[NDArray[Any] | None, ...]
"""Parts of a physical state in the order of PARTS; None for parts that are not set."""

PARTS = {"position": 3, "velocity": 3, "attitude": 4, "body_rates": 3, "rotor_speeds": 0}
"""Names of the parts and their widths; 0 for one number per rotor."""


class Step:
    """Result of a step: new arrays, except that copy=False reuses the observation."""

    __slots__ = ("any_done", "clipped", "done", "observation", "reward", "terminated", "truncated")

    observation: Observed
    reward: Numbers
    terminated: Flags
    truncated: Flags
    done: Flags
    """terminated | truncated."""
    any_done: bool
    clipped: NDArray[np.int32] | None
    """(n,) counts of action components out of range; None if no component was."""


class Engine:
    """n vehicles without autoreset: the caller decides when episodes begin.

    An environment has one vehicle, or `per_scene` vehicles in consecutive rows.
    """

    _memory = ("_seed", "_episodes", "_is_ready", "_drawn_names", "_parts")

    def __init__(
        self,
        task: Task,
        n: int,
        chosen: Settings,
        reuse_buffers: bool = False,
        per_scene: int = 1,
        device: str = "cpu",
    ) -> None:
        if not isinstance(task, Task):
            raise TypeError(f"task: expected a Task, got {task!r:.100}")
        if not hasattr(task, "frame"):
            raise TypeError(
                f"{type(task).__name__}.__init__: expected a call of super().__init__(), got none; "
                "add it as the first line"
            )
        if task.vehicles != per_scene:
            raise ValueError(
                f"task: expected one vehicle in an environment, got a {type(task).__name__} of "
                f"{task.vehicles}; use propwash.gym.multi.make_parallel_vec"
            )
        first = chosen.index * per_scene
        self.settings = chosen
        vehicle = _biased(vehicles.load(chosen.vehicle), chosen.imu_bias)
        is_nominal = chosen.control_vehicle == "nominal"
        self.fleet = fleet = Fleet(
            vehicle,
            n,
            "float32",
            chosen.integrator,
            chosen.dt,
            threads=chosen.threads,
            first_id=first,
            noise=chosen.noise,
            turbulence=chosen.turbulence,
            max_action_delay=chosen.delay_range[1],
            control_vehicle=vehicle if is_nominal else chosen.control_vehicle,
            outer_loops=chosen.loops(vehicle),
            device=device,
        )
        self.size = n
        self.period = fleet.dt * chosen.substeps
        self._arguments = _snapshot.arguments_of(task)
        self.task = copy.copy(task)
        self.task.begin(fleet, self.period, chosen.index)
        self.actions = _actions.make(fleet, chosen, self.task)
        self.action_shape = (n, self.actions.size)
        self.state = self.actions.state = self.task.make_state(
            fleet, self.actions.size, self.period
        )
        self.state.reuse_buffers = reuse_buffers
        self.limit = _limit(chosen, self.task.episode_seconds, self.period)
        self._randomizer = Randomizer(fleet, chosen)
        self._numbers = np.arange(first, first + n)
        self._episodes = np.zeros(n, dtype=np.int64)
        self._is_ready = np.zeros(n, dtype=np.bool_)
        self._drawn_names: frozenset[str] = frozenset()
        # `starts_ahead` counts only if the class that defines `reset_state` defines it too
        owner = next(each for each in type(task).__mro__ if "reset_state" in vars(each))
        self._starts_ahead = bool(vars(owner).get("starts_ahead", False))
        self._seed = 0
        widths = {name: width or fleet.rotors for name, width in PARTS.items()}
        self._parts = {name: np.zeros((n, w), dtype=np.float32) for name, w in widths.items()}
        self._parts["attitude"][:, 0] = 1.0
        self._speed_range = tuple(
            np.array(fleet.vehicle.motor_values(name), dtype=np.float32)
            for name in ("speed_min", "speed_max")
        )
        self.observer = Observer(self.task, self.state, chosen, self._randomizer)
        # a trial episode gives the shapes of observations; the first episodes begin with reset()
        self._begin(np.ones(n, dtype=np.bool_), is_trial=True)
        self.state.read()
        self.observation_space = self.observer.try_out(self.task)

    def seed(self, seed: int) -> None:
        """Restarts all random streams."""
        self._seed = checks.whole_number("seed", seed, 0, 2**64 - 1)
        self._episodes[:] = 0
        self._is_ready[:] = False
        self.fleet.reset(seed=self._seed)

    def placed(self, state: Any, mask: Flags | None) -> Parts:
        """Checks the parts of a physical state from a user, as the fleet does."""
        if isinstance(state, MulticopterState | FleetState):
            state = vars(state)
        if not isinstance(state, Mapping):
            raise TypeError(
                f"state: expected a dict of some of {', '.join(PARTS)}, a FleetState or a "
                f"MulticopterState, got {state!r:.100}"
            )
        check_names("state", state, list(PARTS))
        position, velocity, attitude, rates, speeds = (state.get(name) for name in PARTS)
        return self.fleet._parts(None, position, velocity, attitude, rates, speeds, mask)

    def restart(self, mask: Flags, placed: Parts | None = None) -> Observed:
        """Begins episodes where `mask` is set, and observes all environments.

        placed: Parts of the physical state that replace those drawn by the task.
        """
        self._begin(mask, placed)
        self.state.read()
        if placed is not None:
            self.task.moved(self.state, np.flatnonzero(mask))
        return self._finite(self.observer.observe(mask))

    def set_state(self, placed: Parts, mask: Flags) -> None:
        """Replaces parts of the physical state; episodes continue."""
        self.fleet._core.set_state(placed, mask)
        self.state.read()
        self.task.moved(self.state, np.flatnonzero(mask))

    def observe(self) -> Observed:
        """Returns the present observations and changes nothing."""
        return self._finite(self.observer.observe(np.zeros(self.size, dtype=np.bool_)))

    def _owners(self) -> dict[str, Any]:
        """Objects with attributes, listed in `_memory`, that affect the future."""
        owners = {"engine": self, "state": self.state, "randomizer": self._randomizer}
        parts = self.observer.parts.items()
        return {**owners, **{f"observed {name}": part for name, part in parts}}

    def snapshot(self, kind: str, more: Mapping[str, Any]) -> Snapshot:
        """Returns everything that affects the future, with the values `more` of the caller."""
        values = {
            name: {attribute: getattr(owner, attribute) for attribute in owner._memory}
            for name, owner in self._owners().items()
        }
        values |= {"task": memory_of(self.task), "more": dict(more)}
        arguments = self._arguments
        return _snapshot.capture(kind, self.task, arguments, self.fleet, self.settings, values)

    def restore(self, kind: str, snapshot: Snapshot) -> dict[str, Any]:
        """Continues from a snapshot and returns the caller's values `more`."""
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"snapshot: expected a result of snapshot(), got {snapshot!r:.100}")
        snapshot.check(kind, self.task, self._arguments, self.size, self.settings)
        values = _snapshot.restored(snapshot, self.fleet)
        for name, owner in self._owners().items():
            vars(owner).update(values[name])
        for name in memory_of(self.task).keys() - values["task"].keys():
            delattr(self.task, name)
        vars(self.task).update(values["task"])
        for part in self.observer.parts.values():
            part.restored()
        more: dict[str, Any] = values["more"]
        return more

    def wait(self, steps: int) -> None:
        """Advances the fleet and its noise by `steps` steps of zero action, unobserved."""
        idle = np.zeros(self.action_shape, dtype=np.float32)
        self.fleet._core.step(self.actions.command(idle), steps * self.settings.substeps)

    def step(self, actions: Any, pending: Flags | None = None) -> Step:
        """Steps all environments; those of `pending` begin an episode instead."""
        result = Step()
        state, task = self.state, self.task
        clipped, result.clipped = _core.take_actions(self._shaped(actions), pending, state.steps)
        self.fleet._core.step(self.actions.command(clipped), self.settings.substeps)
        self.update(clipped)
        if pending is not None:
            # after update(), so that the task's memory of an episode starts with that episode
            self._begin(pending)
            state.read()
        reward = task.reward(state)
        seen = self.observer.observe(None)
        ended = task.terminated(state)
        diverged = state.diverged if state.any_diverged else None
        floats = [array for array in arrays_of(seen) if array.dtype == np.float32]
        steps = state.steps
        try:
            flags = _core.conclude(floats, reward, ended, diverged, steps, self.limit, pending)
        except (TypeError, ValueError):
            for name, values in (("reward", reward), ("terminated", ended)):
                if (shape := np.asarray(values).shape) != (self.size,):
                    raise ValueError(
                        f"{type(task).__name__}.{name}: expected shape ({self.size},), got {shape}"
                    ) from None
            raise ValueError(
                f"{type(task).__name__}: expected rewards of float32 and terminations of bool, got "
                f"{np.asarray(reward).dtype} and {np.asarray(ended).dtype}"
            ) from None
        result.observation = seen
        result.reward, result.terminated, result.truncated, result.done, *rest = flags
        result.any_done, is_finite = rest
        if not is_finite:
            wrong = np.flatnonzero(~np.isfinite(result.reward))
            if len(wrong):
                raise ValueError(
                    f"{type(task).__name__}.reward: expected finite rewards, got "
                    f"{result.reward[wrong[0]]} for environment {wrong[0]}"
                )
            self._finite(seen)
        return result

    def update(self, action: Numbers) -> None:
        """Updates state and task after a step of the fleet with `action` (n, A)."""
        state = self.state
        state.previous_action, state.action = state.action, action
        state.read()
        self.task.update(state)

    def _shaped(self, actions: Any) -> Numbers:
        """Converts actions to float32. Raises ValueError for another shape."""
        expected = f"actions: expected numbers of shape {self.action_shape}, got"
        if isinstance(actions, np.ndarray) and actions.dtype == np.float32:
            numbers = actions
        else:
            try:
                with np.errstate(over="ignore"):
                    numbers = np.asarray(actions, dtype=np.float32)
            except (TypeError, ValueError):
                raise ValueError(f"{expected} {actions!r:.100}") from None
        if numbers.shape != self.action_shape:
            raise ValueError(f"{expected} {checks.described(actions)}")
        return numbers

    def _finite(self, seen: Observed) -> Observed:
        """Zeroes the observations of diverged vehicles that are not finite.

        Raises ValueError if others are not finite.
        """
        for name, array in seen.items() if isinstance(seen, dict) else [("", seen)]:
            if array.dtype != np.float32 or np.isfinite(array).all():
                continue
            rows = ~np.isfinite(array.reshape(self.size, -1)).all(axis=1)
            array[rows & self.state.diverged] = 0.0
            wrong = np.flatnonzero(rows & ~self.state.diverged)
            if len(wrong):
                row = array[wrong[0]]
                index = np.unravel_index(np.argmin(np.isfinite(row)), row.shape)
                numbers = [int(each) for each in index]
                where = f"column {numbers[0]}" if row.ndim == 1 else f"pixel {tuple(numbers[:2])}"
                raise ValueError(
                    f"{type(self.task).__name__}.observation: expected finite numbers, got "
                    f"{row[index]} in {where}{f' of {name!r}' if name else ''} for environment "
                    f"{wrong[0]}"
                )
        return seen

    def _begin(self, mask: Flags, placed: Parts | None = None, is_trial: bool = False) -> None:
        """Begins episodes: states, parameters, wind and delay, first readings of sensors."""
        rows = np.flatnonzero(mask)
        self._episodes[rows] += 1
        if not self._starts_ahead:
            self._draw_starts(rows, self._episodes[rows])
        elif not self._is_ready[rows].all():
            # draw for those that begin now and, ahead, for all others without a drawn start
            stale = np.flatnonzero(~self._is_ready)
            self._draw_starts(stale, self._episodes[stale] + ~mask[stale])
            self._is_ready[stale] = True
        self._is_ready[rows] = False
        self.task.started(rows)
        if not is_trial and not self._randomizer.is_idle:
            self._randomizer.start(self._draws(rows, self._episodes[rows]))
        parts = tuple(self._parts[name] if name in self._drawn_names else None for name in PARTS)
        if placed is not None:
            parts = tuple(
                drawn if fixed is None else fixed
                for drawn, fixed in zip(parts, placed, strict=True)
            )
        self.fleet._reset(parts, mask, None)
        for sensor in self.fleet.sensors.values():
            sensor.prime(mask)
        state = self.state
        state.steps[rows] = 0
        state.action[rows] = 0.0
        state.previous_action[rows] = 0.0

    def _draws(self, rows: NDArray[np.intp], episodes: NDArray[np.int64]) -> Draws:
        return Draws(self._seed, rows, self._numbers[rows], episodes)

    def _draw_starts(self, rows: NDArray[np.intp], episodes: NDArray[np.int64]) -> None:
        start = self.task.reset_state(self._draws(rows, episodes))
        if not isinstance(start, Mapping):
            raise TypeError(f"{type(self.task).__name__}.reset_state: expected a dict, got {start}")
        if not start.keys() <= PARTS.keys():
            raise ValueError(
                f"{type(self.task).__name__}.reset_state: expected some of {', '.join(PARTS)}, "
                f"got {', '.join(map(str, start))}"
            )
        for name, values in start.items():
            self._write(name, values, rows)
        self._drawn_names = frozenset(start)

    def _write(self, name: str, values: Any, rows: NDArray[np.intp]) -> None:
        array = np.asarray(values, dtype=np.float64)
        width = self._parts[name].shape[1]
        where = f"{type(self.task).__name__}.reset_state[{name!r}]"
        if array.shape not in ((width,), (len(rows), width)):
            raise ValueError(
                f"{where}: expected shape ({len(rows)}, {width}) or ({width},), got {array.shape}"
            )
        if name == "attitude":
            length = np.sqrt(np.sum(array * array, axis=-1, keepdims=True))
            if not (np.abs(length - 1.0) < 1e-3).all():
                raise ValueError(f"{where}: expected unit quaternions (w, x, y, z)")
            array = array / length
        if not np.isfinite(array).all():
            raise ValueError(f"{where}: expected finite numbers")
        if name == "rotor_speeds":
            low, high = self._speed_range
            array = np.clip(array, low, high)
        self._parts[name][rows] = array


def _limit(chosen: Settings, seconds: float, period: float) -> int:
    """Maximum steps of an episode; 0 for no limit."""
    if chosen.max_episode_steps is not None:
        return chosen.max_episode_steps
    if chosen.episode_seconds is not None:
        seconds = chosen.episode_seconds
    if not seconds > 0.0:
        raise ValueError(f"episode_seconds: expected a number > 0 [s], got {seconds!r:.100}")
    steps = seconds / period
    return max(1, math.ceil(steps - 1e-6)) if steps < 2**31 - 1 else 0


def _biased(vehicle: VehicleParameters, bias: Mapping[str, float]) -> VehicleParameters:
    """The vehicle with standard deviations of the initial IMU biases."""
    changes = {f"{sensor}_bias_initial": float(value) for sensor, value in bias.items()}
    if not changes:
        return vehicle
    imu = msgspec.structs.replace(vehicle.imu, **changes)
    return msgspec.structs.replace(vehicle, imu=imu)
