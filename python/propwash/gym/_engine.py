"""What vector and single environments share: one fleet, one task, the order of things in a step."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from propwash import _checks as given
from propwash import _core
from propwash.fleet import Fleet, FleetState
from propwash.gym import _actions, _snapshot
from propwash.gym._draws import Draws
from propwash.gym._options import Settings, check_names
from propwash.gym._randomize import Randomizer
from propwash.gym._sensed import SensedObservation
from propwash.gym._snapshot import Snapshot, memory_of
from propwash.gym._state import State
from propwash.gym._task import Task
from propwash.vehicle import files as vehicles
from propwash.vehicle.multicopter import MulticopterState
from propwash.vehicle.parameters import VehicleParameters

Numbers = NDArray[np.float32]
Flags = NDArray[np.bool_]

Parts = tuple[NDArray[Any] | None, ...]
"""Of a physical state, in the order of PARTS; None for those that are not given."""

PARTS = {"position": 3, "velocity": 3, "attitude": 4, "body_rates": 3, "rotor_speeds": 0}


_MEMORY = ("_seed", "_episodes", "_is_ready", "_given", "_parts")
"""What an engine itself remembers."""


class Step:
    """What a step gave: arrays that nobody else holds, but for the observation of copy=False."""

    __slots__ = ("any_done", "clipped", "done", "observation", "reward", "terminated", "truncated")

    observation: Numbers
    reward: Numbers
    terminated: Flags
    truncated: Flags
    done: Flags
    """terminated | truncated."""
    any_done: bool
    clipped: NDArray[np.int32] | None
    """(n,) numbers of the actions that were out of range; None for no such numbers at all."""


class Engine:
    """n environments. The callers say which begin an episode, and when."""

    def __init__(self, task: Task, n: int, chosen: Settings, keeps_blank: bool = False) -> None:
        if not isinstance(task, Task):
            raise TypeError(f"task: expected a Task, got {task!r:.100}")
        self.settings = chosen
        self.fleet = fleet = Fleet(
            _biased(vehicles.load(chosen.vehicle), chosen.imu_bias),
            n,
            "float32",
            chosen.integrator,
            chosen.dt,
            threads=chosen.threads,
            first_id=chosen.index,
            noise=chosen.noise,
            turbulence=chosen.turbulence,
            max_action_delay=chosen.delay_range[1],
            nominal_controller=chosen.nominal_controller,
        )
        self.size = n
        self.period = fleet.dt * chosen.substeps
        self._arguments = _snapshot.arguments_of(task)
        self.task = copy.copy(task)
        self.task.begin(fleet, self.period, chosen.index)
        self.actions = _actions.make(fleet, chosen)
        self.action_shape = (n, self.actions.size)
        self.state = State(fleet, self.actions.size, self.period)
        self.state.keeps_blank = keeps_blank
        self.limit = _limit(chosen, self.task.episode_seconds, self.period)
        self._randomizer = Randomizer(fleet, chosen)
        self._numbers = np.arange(chosen.index, chosen.index + n)
        self._episodes = np.zeros(n, dtype=np.int64)
        self._is_ready = np.zeros(n, dtype=np.bool_)
        self._given: frozenset[str] = frozenset()
        # said of a reset_state by the class that has it, not by one that it was taken over from
        owner = next(each for each in type(task).__mro__ if "reset_state" in vars(each))
        self._starts_ahead = bool(vars(owner).get("starts_ahead", False))
        self._seed = 0
        widths = {name: width or fleet.rotors for name, width in PARTS.items()}
        self._parts = {name: np.zeros((n, w), dtype=np.float32) for name, w in widths.items()}
        self._parts["attitude"][:, 0] = 1.0
        of_motors = fleet.vehicle.motor_values
        self._slowest = np.array(of_motors("speed_min"), dtype=np.float32)
        self._fastest = np.array(of_motors("speed_max"), dtype=np.float32)
        self._sensed: SensedObservation | None = None
        if chosen.observation == "sensors":
            self._sensed = SensedObservation(self.state, self.task, chosen)
        own = type(self.task).observation is Task.observation
        self._is_fresh = own or self._sensed is not None
        # what it looks like is known from looking; the first episodes begin with reset()
        self.observation_size = 0
        everyone = np.ones(n, dtype=np.bool_)
        self._begin(everyone, is_trial=True)
        self.state.read()
        self.observation_size = self._observe(everyone).shape[1]

    def seed(self, seed: int) -> None:
        """All streams start anew."""
        self._seed = given.whole_number("seed", seed, 0, 2**64 - 1)
        self._episodes[:] = 0
        self._is_ready[:] = False
        self.fleet.reset(seed=self._seed)

    def placed(self, wanted: Any, mask: Flags | None) -> Parts:
        """The parts of a physical state that a user gives, checked as the fleet does."""
        if isinstance(wanted, MulticopterState | FleetState):
            wanted = vars(wanted)
        if not isinstance(wanted, Mapping):
            raise TypeError(
                f"state: expected a dict of some of {', '.join(PARTS)}, a FleetState or a "
                f"MulticopterState, got {wanted!r:.100}"
            )
        check_names("state", wanted, list(PARTS))
        position, velocity, attitude, rates, speeds = (wanted.get(name) for name in PARTS)
        return self.fleet._parts(None, position, velocity, attitude, rates, speeds, mask)

    def restart(self, mask: Flags, placed: Parts | None = None) -> Numbers:
        """Begins episodes, with given parts of the state where there are any, and observes all."""
        self._begin(mask, placed)
        self.state.read()
        if placed is not None:
            self.task.moved(self.state, np.flatnonzero(mask))
        return self._finite(self._observe(mask))

    def set_state(self, placed: Parts, mask: Flags) -> None:
        """Replaces parts of the physical state; episodes go on."""
        self.fleet._core.set_state(placed, mask)
        self.state.read()
        self.task.moved(self.state, np.flatnonzero(mask))

    def observe(self) -> Numbers:
        """The observations now, with nothing changed."""
        return self._finite(self._observe(np.zeros(self.size, dtype=np.bool_)))

    def snapshot(self, kind: str, more: Mapping[str, Any]) -> Snapshot:
        """Everything that affects the future, and more values of a caller of this kind."""
        values = {
            "engine": {name: getattr(self, name) for name in _MEMORY},
            "state": self.state.memory(),
            "randomizer": self._randomizer.memory(),
            "sensed": None if self._sensed is None else self._sensed.memory(),
            "task": memory_of(self.task),
            "more": more,
        }
        arguments = self._arguments
        return _snapshot.taken(kind, self.task, arguments, self.fleet, self.settings, values)

    def restore(self, kind: str, snapshot: Snapshot) -> dict[str, Any]:
        """Continues from a snapshot, and gives the caller's values back."""
        if not isinstance(snapshot, Snapshot):
            raise TypeError(f"snapshot: expected that of snapshot(), got {snapshot!r:.100}")
        snapshot.check(kind, self.task, self._arguments, self.size, self.settings)
        values = _snapshot.given_back(snapshot, self.fleet)
        vars(self).update(values["engine"])
        self.state.recall(values["state"])
        self._randomizer.recall(values["randomizer"])
        if self._sensed is not None:
            self._sensed.recall(values["sensed"])
        for name in memory_of(self.task).keys() - values["task"].keys():
            delattr(self.task, name)
        vars(self.task).update(values["task"])
        more: dict[str, Any] = values["more"]
        return more

    def wait(self, steps: int) -> None:
        """Lets the noise's clock go on by steps that nobody sees."""
        idle = np.zeros(self.action_shape, dtype=np.float32)
        self.fleet._core.step(self.actions.command(idle), steps * self.settings.substeps)

    def step(self, actions: Any, pending: Flags | None = None) -> Step:
        """One step of all, but that those of `pending` begin an episode instead."""
        result = Step()
        state, task = self.state, self.task
        clipped, result.clipped = _core.take_actions(self._shaped(actions), pending, state.steps)
        self.fleet._core.step(self.actions.command(clipped), self.settings.substeps)
        state.previous_action, state.action = state.action, clipped
        state.read()
        task.update(state)
        if pending is not None:
            # after update(), so that what a task remembers of an episode begins with it
            self._begin(pending)
            state.read()
        reward, seen, ended = task.reward(state), self._observe(None), task.terminated(state)
        gone = None if state.diverged is state.nobody else state.diverged
        try:
            told = _core.conclude(seen, reward, ended, gone, state.steps, self.limit, pending)
        except (TypeError, ValueError):
            _check_row("reward", task, reward, self.size)
            _check_row("terminated", task, ended, self.size)
            raise
        result.observation = seen
        result.reward, result.terminated, result.truncated, result.done, *rest = told
        result.any_done, fine = rest
        if not fine:
            self._finite(seen, ~np.isfinite(result.reward))
        return result

    def _shaped(self, actions: Any) -> Numbers:
        if isinstance(actions, np.ndarray) and actions.dtype == np.float32:
            numbers = actions
        else:
            try:
                with np.errstate(over="ignore"):
                    numbers = np.asarray(actions, dtype=np.float32)
            except (TypeError, ValueError):
                raise ValueError(
                    f"actions: expected numbers of shape {self.action_shape}, got {actions!r:.100}"
                ) from None
        if numbers.shape != self.action_shape:
            raise ValueError(
                f"actions: expected numbers of shape {self.action_shape}, got "
                f"{given.described(actions)}"
            )
        return numbers

    def _observe(self, fresh: Flags | None) -> Numbers:
        """fresh: which have just begun; None for what a step made of all."""
        state = self.state
        if self._sensed is not None:
            return self._sensed.observe(state, fresh)
        given_seen = self.task.observation(state)
        if self._is_fresh:
            return cast(Numbers, given_seen)
        seen = np.asarray(given_seen, dtype=np.float32)
        if seen.ndim != 2 or len(seen) != self.size:
            raise ValueError(
                f"{type(self.task).__name__}.observation: expected shape ({self.size}, k), got "
                f"{seen.shape}"
            )
        if seen.shape[1] != (self.observation_size or seen.shape[1]):
            raise ValueError(
                f"{type(self.task).__name__}.observation: expected {self.observation_size} numbers "
                f"each, as in the first one, got {seen.shape[1]}"
            )
        own = state.blank(seen.shape[1])
        np.copyto(own, seen)
        return own

    def _finite(self, seen: Numbers, wrong: Flags | None = None) -> Numbers:
        """Zeros for what diverged vehicles have no number of; others, and `wrong`, are refused."""
        bad = ~np.isfinite(seen).all(axis=1)
        if bad.any():
            seen[bad & self.state.diverged] = 0.0
            bad &= ~self.state.diverged
        _refuse(self.task, bad if wrong is None else bad | wrong)
        return seen

    def _begin(self, mask: Flags, placed: Parts | None = None, is_trial: bool = False) -> None:
        """New episodes: states, parameters, air, first readings of sensors."""
        rows = np.flatnonzero(mask)
        self._episodes[rows] += 1
        if not self._starts_ahead:
            self._draw_starts(rows, self._episodes[rows])
        elif not self._is_ready[rows].all():
            # those that begin now, and the next episode of all others that have none drawn yet
            stale = np.flatnonzero(~self._is_ready)
            self._draw_starts(stale, self._episodes[stale] + ~mask[stale])
            self._is_ready[stale] = True
        self._is_ready[rows] = False
        self.task.started(rows)
        if not is_trial and not self._randomizer.is_idle:
            self._randomizer.start(self._draws(rows, self._episodes[rows]))
        parts = tuple(self._parts[name] if name in self._given else None for name in PARTS)
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
            given_names = ", ".join(str(name) for name in start)
            raise ValueError(
                f"{type(self.task).__name__}.reset_state: expected some of {', '.join(PARTS)}, "
                f"got {given_names}"
            )
        for name, values in start.items():
            self._write(name, values, rows)
        self._given = frozenset(start)

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
            array = np.clip(array, self._slowest, self._fastest)
        self._parts[name][rows] = array


def _check_row(name: str, task: Task, values: Any, size: int) -> None:
    array = np.asarray(values)
    if array.shape != (size,):
        raise ValueError(
            f"{type(task).__name__}.{name}: expected shape ({size},), got {array.shape}"
        )


def _refuse(task: Task, bad: Any) -> None:
    if bad.any():
        raise ValueError(
            f"{type(task).__name__}: expected finite observations and rewards, got others for "
            f"environment {int(np.argmax(bad))}"
        )


def _limit(chosen: Settings, seconds: float, period: float) -> int:
    """Steps of an episode; 0 for as many as it takes."""
    if chosen.max_episode_steps is not None:
        return chosen.max_episode_steps
    if chosen.episode_seconds is not None:
        seconds = chosen.episode_seconds
    if not seconds > 0.0:
        raise ValueError(f"episode_seconds: expected a number > 0 [s], got {seconds!r:.100}")
    steps = seconds / period
    return max(1, math.ceil(steps - 1e-6)) if steps < 2**31 - 1 else 0


def _biased(vehicle: VehicleParameters, bias: Mapping[str, float]) -> VehicleParameters:
    changes = {f"{sensor}_bias_initial": float(value) for sensor, value in bias.items()}
    if not changes:
        return vehicle
    imu = msgspec.structs.replace(vehicle.imu, **changes)
    return msgspec.structs.replace(vehicle, imu=imu)
