"""Vector environments on a GPU: fleet, rewards, observations and resets are computed there.

The kernels of `propwash/learn/impl/env_kernels.hpp` call the functions of the environments on the
CPU, so that results have the same bits. Initial states are drawn on the host, SLOTS episodes ahead
of each environment.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
import torch
from gymnasium.vector import AutoresetMode

from propwash import _checks as checks
from propwash.gym import _options
from propwash.gym._engine import PARTS, Engine
from propwash.gym._hover import Hover
from propwash.gym._land import Land
from propwash.gym._options import Options
from propwash.gym._race import Race, outcome
from propwash.gym._rewards import HoverReward, LandReward, RaceReward, Reward, TrackReward
from propwash.gym._state import HUGE
from propwash.gym._task import Task
from propwash.gym._track import Track
from propwash.gym._vector import FleetVectorEnv, mode_named

SLOTS = 4
"""Initial states of an environment on the device: it can begin so many episodes in as many steps,
after which the host draws others."""
STATE = ("position", "velocity", "attitude", "body_rates")

_F, _D, _I, _N, _P = (
    *(ctypes.c_float, ctypes.c_double, ctypes.c_int32, ctypes.c_uint64, ctypes.c_void_p),
)


class _Rows(ctypes.Structure):
    """EnvRows."""

    _fields_ = (
        *(("size", _N), ("in_body", _N), ("read", _P * 4), ("state", _P * 4)),
        *(("action", _P), ("previous", _P), ("steps", _P), ("episode", _P)),
        *(("starts", _P * 5), ("next", _P * 5), ("start_width", _N * 5)),
        *(("slots", _N), ("bound", _F), ("limit", _I)),
    )


class _Results(ctypes.Structure):
    """EnvResults."""

    _fields_ = tuple(
        (name, _P) for name in ("seen", "reward", "terminated", "truncated", "done", "diverged")
    )


def _weights(kind: type[Reward]) -> tuple[tuple[str, Any], ...]:
    """The weights, which the struct of C++ has in the same order."""
    return tuple((f"weight_{name}", _F) for name in kind.__struct_fields__)


class _HoverEnv(ctypes.Structure):
    _fields_ = (*_weights(HoverReward), ("bound", _F), ("distance", _P))


class _TrackEnv(ctypes.Structure):
    _fields_ = (
        *(*_weights(TrackReward), ("bound", _F), ("table", _P), ("length", _D), ("speed", _D)),
        *(("period", _D), ("phase", _P), ("start", _P), ("distance", _P)),
    )


class _LandEnv(ctypes.Structure):
    _fields_ = (
        *(*_weights(LandReward), ("bounds", _F * 5), ("distance", _P), ("success", _P)),
        *(("speed", _P), ("start", _P)),
    )


class _RaceEnv(ctypes.Structure):
    _fields_ = (
        *(*_weights(RaceReward), ("radius", _F), ("bound", _F), ("period", _D), ("courses", _P)),
        *(("rows", _P * 8), ("start", _P), ("first", _P)),
    )


_KINDS: dict[type[Task], Any] = {
    Hover: _HoverEnv,
    Track: _TrackEnv,
    Land: _LandEnv,
    Race: _RaceEnv,
}
_MEMORY: dict[type[Task], tuple[str, ...]] = {
    Hover: (),
    Track: ("_phase",),
    Land: ("_distance",),
    Race: (
        "course",
        "next",
        "time",
        "_passed",
        "collided",
        "_before",
        "_clearance",
        "_skipped",
    ),
}
"""What a task keeps for each episode."""
_STARTS: dict[type[Task], tuple[str, ...]] = {
    Hover: (),
    Track: ("_start",),
    Land: ("_start",),
    Race: ("_start", "_first"),
}
"""What its next episode begins with."""


def make(
    kind: type[Task], num_envs: int | None, device: str, options: Mapping[str, Any]
) -> DeviceVectorEnv | None:
    """Environments of a task on a device; None for what steps on the CPU only.

    Raises the exceptions of `make_vec`, and ImportError or OSError without driver or compiler.
    """
    arguments, others = _options.split(kind, options, ("autoreset_mode", "copy"))
    mode = others.pop("autoreset_mode", AutoresetMode.SAME_STEP)
    chosen = _options.settings({name: others[name] for name in others.keys() - {"copy"}})
    if (
        kind not in _KINDS
        or mode_named(mode) is not AutoresetMode.SAME_STEP
        or (chosen.action, chosen.observation) != ("rate_thrust", "state")
        or chosen.privileged_groups
        or chosen.render_mode is not None
        or chosen.posterior is not None
        or chosen.randomize
        or chosen.wind_range[1]
        or chosen.delay_range[1]
    ):
        return None
    task = kind(**arguments)
    if isinstance(task, Hover) and task.scene is not None:
        return None
    others.pop("copy", None)  # observations are new tensors
    return DeviceVectorEnv(task, 1 if num_envs is None else num_envs, device, **others)


class DeviceVectorEnv(FleetVectorEnv):
    """A FleetVectorEnv whose step() takes and returns tensors; all else is computed on the host."""

    def __init__(self, task: Task, num_envs: int, device: str, **options: Unpack[Options]) -> None:
        self._fleet_device = device
        self._steps: Any = None
        super().__init__(task, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **options)
        self._steps = _Steps(self._host)

    @property
    def _engine(self) -> Engine:
        """The engine on the host, which its user may change."""
        if self._steps is not None:
            self._steps.to_host()
        return self._host

    @_engine.setter
    def _engine(self, engine: Engine) -> None:
        self._host = engine

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Steps all environments with actions (n, A) in [-1, 1], whose values are not checked."""
        self._check_begun("step()")
        result: tuple[Any, Any, Any, Any, dict[str, Any]] = self._steps.step(actions)
        return result


class _Steps:
    """The memory of environments on a device, and their step."""

    def __init__(self, engine: Engine) -> None:
        self._engine, self._fleet = engine, engine.fleet
        core: Any = engine.fleet._core
        self._driver = core._driver
        is_gpu, number = self._driver.device[0] == 2, self._driver.device[1]
        self._where = torch.device("cuda", number) if is_gpu else torch.device("cpu")
        self._host_is_current, self._device_is_current = True, False
        self._left = 0
        """Steps until initial states may be missing."""
        task, state, n = engine.task, engine.state, engine.size
        self._memory = [
            *((state, name) for name in (*STATE, "action", "previous_action", "steps")),
            *((engine, "_episodes"), *((task, name) for name in _MEMORY[type(task)])),
        ]
        self._tensors = [self._copied(getattr(*each)) for each in self._memory]
        self._of_task = self._tensors[len(STATE) + 4 :]
        self._read = {name: self._copied(getattr(state, name)) for name in STATE}
        names = [name for name in PARTS if name in engine._drawn_names]
        self._next = {name: self._copied(engine._parts[name]) for name in names}
        self._starts = {name: self._repeated(tensor) for name, tensor in self._next.items()}
        self._task_starts = {
            name: self._repeated(self._copied(getattr(task, name))) for name in _STARTS[type(task)]
        }
        self._rates, self._thrust = self._new(n, 3), self._new(n)
        self._rows = self._made_rows()
        self._infos: dict[str, torch.Tensor] = {}
        kind = f"propwash::learn::{type(task).__name__}Env"
        entries = ("env_act", f"env_judge<{kind}>", f"env_begin<{kind}>")
        self._kernels = self._driver.functions([f"propwash::learn::{name}" for name in entries])
        actions = engine.actions
        scales = (*actions._max_rates, actions._weight, actions._reserve)
        self._map = (_F * 5)(*scales)

    # ---- memory ----

    def _new(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.empty(shape, dtype=dtype, device=self._where)

    def _copied(self, array: Any) -> torch.Tensor:
        return torch.tensor(array, device=self._where)

    def _repeated(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor.expand(SLOTS, *tensor.shape).clone()

    def _made_rows(self) -> _Rows:
        engine, names = self._engine, tuple(PARTS)
        position, velocity, attitude, rates, action, previous, steps, episode, *_ = self._tensors
        rows = _Rows(size=engine.size, in_body=engine.task.frame == "body", slots=SLOTS)
        rows.read[:] = [tensor.data_ptr() for tensor in self._read.values()]
        rows.state[:] = [each.data_ptr() for each in (position, velocity, attitude, rates)]
        rows.action, rows.previous = action.data_ptr(), previous.data_ptr()
        rows.steps, rows.episode = steps.data_ptr(), episode.data_ptr()
        for name, tensor in self._next.items():
            part = names.index(name)
            rows.starts[part], rows.next[part] = self._starts[name].data_ptr(), tensor.data_ptr()
            rows.start_width[part] = tensor.shape[1]
        rows.bound, rows.limit = HUGE, engine.limit
        return rows

    def _made_task(self, task: Any) -> Any:
        """The argument of the kernels; makes the tensors of infos that they write."""
        made = _KINDS[type(task)]()
        for name in task.weights.__struct_fields__:
            setattr(made, f"weight_{name}", getattr(task.weights, name))
        for name, start in zip(("start", "first"), self._task_starts.values(), strict=False):
            setattr(made, name, start.data_ptr())
        if isinstance(task, Race):
            self._set_race(made, task)
            return made
        n = self._engine.size
        if isinstance(task, Land):
            made.bounds[:] = task._bounds
            self._infos = {"success": self._new(n, dtype=torch.bool), "speed": self._new(n)}
        else:
            made.bound = task.bound
        self._infos["distance"] = self._of_task[0] if isinstance(task, Land) else self._new(n)
        if isinstance(task, Track):
            table, made.length, made.speed = task._path.__getstate__()
            self._table = self._copied(table)
            made.table, made.period = self._table.data_ptr(), self._engine.period
            made.phase = self._of_task[0].data_ptr()
        for name, tensor in self._infos.items():
            setattr(made, name, tensor.data_ptr())
        return made

    def _set_race(self, made: Any, task: Race) -> None:
        made.radius, made.bound, made.period = task.radius, task.bound, self._engine.period
        made.rows[:] = [tensor.data_ptr() for tensor in self._of_task]
        self._table = self._new(len(task._gates.placed_at(0)), dtype=torch.uint8)
        made.courses = self._table.data_ptr()
        placed = bytearray(task._gates.placed_at(made.courses))
        self._table.copy_(torch.frombuffer(placed, dtype=torch.uint8))

    def _infos_of(self, diverged: torch.Tensor) -> dict[str, torch.Tensor]:
        """The infos of a step, which hold for episodes that end with it."""
        if not isinstance(self._engine.task, Race):
            return {"diverged": diverged, **self._infos}
        _, passed, time, _, collided, *_, skipped = self._of_task
        is_last = passed == self._engine.task.count
        made = outcome(passed - skipped, time, collided, is_last, diverged, torch.where)
        return {"diverged": diverged, **made}

    def to_host(self) -> None:
        """Copies the memory to the host, which may change it."""
        if not self._host_is_current:
            for (owner, name), tensor in zip(self._memory, self._tensors, strict=True):
                setattr(owner, name, tensor.cpu().numpy().copy())
            engine: Any = self._engine
            engine.state.diverged = np.zeros(engine.size, dtype=np.bool_)  # they have restarted
            engine.state.any_diverged = False
            if isinstance(engine.task, Track):
                engine.task._is_stale = True
            if isinstance(engine.task, Race):
                engine.task._seen = None
        self._host_is_current, self._device_is_current = True, False

    def _to_device(self) -> None:
        if not self._device_is_current:
            if isinstance(self._engine.task, Race):
                self._engine.task.look(self._engine.state.position)  # checks the indices
            for (owner, name), tensor in zip(self._memory, self._tensors, strict=True):
                tensor.copy_(torch.from_numpy(getattr(owner, name)))
            self._drawn = self._engine._episodes.copy()
            self._task = self._made_task(self._engine.task)  # its user may change the weights
            self._left = 0
        self._host_is_current, self._device_is_current = False, True

    def _refill(self) -> None:
        """Draws the initial states of the next SLOTS episodes of each environment."""
        engine: Any = self._engine
        needed = self._tensors[len(STATE) + 3].cpu().numpy() + SLOTS
        while len(rows := np.flatnonzero(self._drawn < needed)):
            self._drawn[rows] += 1
            engine._draw_starts(rows, self._drawn[rows])
            slot, row = self._copied(self._drawn[rows] % SLOTS), self._copied(rows)
            for name, tensor in self._starts.items():
                tensor[slot, row] = self._copied(engine._parts[name][rows])
            for name, tensor in self._task_starts.items():
                tensor[slot, row] = self._copied(getattr(engine.task, name)[rows])
        engine._is_ready[:] = False
        self._left = SLOTS

    # ---- a step ----

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        n = self._engine.size
        actions = torch.as_tensor(actions, dtype=torch.float32, device=self._where).detach()
        if actions.shape != self._engine.action_shape:
            raise ValueError(
                f"actions: expected numbers of shape {self._engine.action_shape}, got "
                f"{checks.described(actions.cpu().numpy())}"
            )
        self._to_device()
        if self._left == 0:
            self._refill()
        self._left -= 1
        clipped = self._new(n, dtype=torch.int32)
        self._launch(0, self._map, actions.contiguous(), clipped, self._rates, self._thrust)
        command = {"rates": self._rates, "thrust": self._thrust}
        self._fleet.step(command, substeps=self._engine.settings.substeps)
        self._fleet.read_into(**self._read)
        width: int = self._engine.observation_space.shape[0]  # type: ignore[index]
        last, seen, reward = self._new(n, width), self._new(n, width), self._new(n)
        flags = [self._new(n, dtype=torch.bool) for _ in range(4)]
        terminated, truncated, done, diverged = flags
        results = _Results(*(tensor.data_ptr() for tensor in (last, reward, *flags)))
        self._launch(1, self._task, results)
        infos = self._ended(done, self._infos_of(diverged), clipped)
        self._fleet.reset_from(done, check=False, **self._next)
        self._fleet.read_into(**self._read)
        self._launch(2, self._task, done, seen)
        return seen, reward, terminated, truncated, {"final_obs": last, "_final_obs": done, **infos}

    def _launch(self, kernel: int, *arguments: Any) -> None:
        places = [
            _N(each.data_ptr()) if isinstance(each, torch.Tensor) else each for each in arguments
        ]
        self._driver.launch(self._kernels[kernel], self._engine.size, [self._rows, *places])

    @staticmethod
    def _ended(
        done: torch.Tensor, ended: Mapping[str, torch.Tensor], clipped: torch.Tensor
    ) -> dict[str, Any]:
        """The infos of episodes that ended, and the counts of clipped actions, with masks."""
        final: dict[str, torch.Tensor] = {}
        present: dict[str, Any] = {"final_info": final, "_final_info": done}
        for infos, mask in ((final, done), (present, ~done)):
            infos["clipped"], infos["_clipped"] = clipped * mask, (clipped > 0) & mask
        for name, tensor in ended.items():
            final[name], final["_" + name] = torch.where(done, tensor, 0).to(tensor.dtype), done
        return present
