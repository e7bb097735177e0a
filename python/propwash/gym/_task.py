"""Tasks: initial states, observations, rewards and termination; items drawn for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._state import State
from propwash.world import Cylinder, Plane, Scene

if TYPE_CHECKING:
    from propwash.gym._evaluation import Evaluation

Array = NDArray[np.float64]
Numbers = NDArray[np.float32]
Point = tuple[float, float]

GRID = Plane(name="ground", category="grid", colour=(0.42, 0.45, 0.47))
"""Ground in squares of one metre."""
RETURN = "return"
"""Name of the mean sum of rewards among the measures."""
YELLOW = (0.95, 0.62, 0.08)

MARKINGS = ("pad", "path")
"""Categories of items without collision or occlusion."""

_DASH, _MAX_DASHES = 0.4, 300
"""Period of the dashes of a path [m], and their maximum number."""


def pad(radius: float) -> Cylinder:
    """A disc at the origin of the ground; radius [m]."""
    return Cylinder(name="pad", category="pad", colour=YELLOW, radius=radius, height=0.01)


def dashes(points: Array, length: float) -> list[Cylinder]:
    """Cylinders along a closed path, with gaps of the same length.

    points: (k, 3) m, evenly spaced. length: Length of the path [m].
    """
    count = min(_MAX_DASHES, max(8, round(length / _DASH)))
    ends = np.linspace(0, len(points), 2 * count, endpoint=False).astype(int)
    return [_dash(f"dash{k}", *points[ends[2 * k : 2 * k + 2]]) for k in range(count)]


def _dash(name: str, start: Array, end: Array) -> Cylinder:
    """A cylinder from one point to another."""
    height = float(np.linalg.norm(end - start))
    x, y, z = (end - start) / height
    # the shortest rotation from z to the axis of the cylinder
    quaternion = np.array([1.0 + z, -y, x, 0.0] if z > -0.999999 else [0.0, 1.0, 0.0, 0.0])
    return Cylinder(
        name=name,
        category="path",
        colour=YELLOW,
        radius=0.012,
        height=height,
        position=tuple((0.5 * (start + end)).tolist()),
        attitude=tuple((quaternion / np.linalg.norm(quaternion)).tolist()),
    )


class Task:
    """Base class of tasks; a custom task overrides the methods that differ.

    All methods process all n environments at once, as NumPy arrays, or CPU tensors of PyTorch.
    `reset_state` is called for the m environments that start an episode, the others once per step.
    An environment copies the task, so one task may be passed to several environments.

    frame: "world" or "body", the frame of position error and velocity in `observation`.
    """

    episode_seconds: ClassVar[float] = 5.0
    """s, after which an episode is truncated."""
    starts_ahead: ClassVar[bool] = False
    """Whether this class's `reset_state` only draws, and `started` resets the task's attributes.
    Initial states of many episodes are then drawn at once, before the episodes begin."""
    constants: ClassVar[tuple[str, ...]] = ("scene",)
    """Names of attributes that never change after `begin`; snapshots omit them."""
    replaced: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Options that the constructor refuses together with another one, by the other's name."""
    scene: Scene | None = None
    """Scene for range finder, beacons and rendering; None for an empty one."""
    baseline: ClassVar[Mapping[str, str]] = {}
    """Names, by the option `action`, of the flight with the action 0, which `train` compares with
    the policy; none for other actions."""
    is_filmed_onboard: ClassVar[bool] = False
    """Whether videos of flights that observe depth are from on board."""
    vehicles: int = 1
    """Vehicles in an environment; more than one only in tasks of `propwash.gym.multi`."""

    def __init__(self, frame: str = "world") -> None:
        if frame not in ("world", "body"):
            raise ValueError(f"frame: expected 'world' or 'body', got {frame!r:.100}")
        self.frame = frame

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Called once before the first episode, to create the task's per-environment attributes.

        period: Duration of a step [s]. index: Number of the first environment.
        """

    def make_state(self, fleet: Fleet, actions: int, period: float) -> State:
        """Returns the state that is passed to the other methods. actions: size of an action."""
        return State(fleet, actions, period)

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Returns the initial states of the m environments `draws.rows`.

        Any of position, velocity, attitude, body_rates and rotor_speeds, each of shape (m, …) or
        (…) for all; omitted parts are those of hover at the origin. All random numbers must come
        from `draws`. `observation` must be valid after this call, as `update` is called after
        steps only.
        """
        return {}

    def started(self, rows: NDArray[np.intp]) -> None:
        """Called when environments `rows` (m,) begin the episode that `reset_state` drew."""

    def update(self, state: State) -> None:
        """Called once after each step, before all other methods, to update the task's attributes.

        All rows have made the step. Where an episode begins in the same call of step(), in mode
        NEXT_STEP, `reset_state` and `started` follow: a clock that they set to zero is zero in the
        first observation, as are `state.time` and `state.steps`.
        """

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """Called after set_state() of environments `rows` (m,).

        Updates attributes of the task that depend on the previous position.
        """

    def scenery(self, row: int) -> Scene:
        """Returns the scene to render for environment `row`, besides vehicle and target.

        A floor is added if the scene has no plane. Return the same object while the scene is
        unchanged.
        """
        return self.scene or _empty_scene()

    def target(self, state: State) -> Any:
        """Returns the target position (n, 3) or (3,) [m]; None for the origin."""
        return None

    def extras(self, state: State) -> Any:
        """Returns additional columns (n, k) of the observation, a list of such, or None."""
        return None

    def observation(self, state: State) -> Any:
        """Returns the observations.

        An array (n, k), images (n, height, width, channels), or a dict of such arrays; all numbers
        but uint8 are converted to float32. Names, shapes and types are those of the first result.

        By default (n, k): position − target (3), velocity (3), both in `frame`; rotation from body
        to world, row by row (9); body rates (3); the last action (A); `extras`.
        """
        extras, target = self.extras(state), self.target(state)
        more: list[Numbers] = []
        width = _STATE + state.action.shape[1]
        if extras is not None:
            parts = extras if isinstance(extras, list | tuple) else [extras]
            more = [_columns(part, state.size) for part in parts]
            width += sum(part.shape[1] for part in more)
        seen = state.buffer((state.size, width))
        _core.observe_state(
            state.position,
            state.velocity,
            state.attitude,
            state.body_rates,
            state.action,
            None if target is None else _target(target, state.size),
            self.frame == "body",
            more,
            seen,
        )
        return seen

    def reward(self, state: State) -> Any:
        """Returns the rewards (n,) of the step."""
        raise NotImplementedError(f"{type(self).__name__}.reward: expected in a custom task")

    def terminated(self, state: State) -> Any:
        """Returns (n,) bool, whether the task ends the episode; by default never."""
        return np.zeros(state.size, dtype=np.bool_)

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns arrays (n, …) by name for the infos of episodes that end."""
        return {}

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns figures of merit of evaluated episodes, by name with unit; the first is plotted.

        By default: the successful episodes, if `info` contains `success`; the mean sum of rewards,
        the part of episodes that the task terminated, and the means of the other infos.
        """
        means = {
            name: float(np.mean(values))
            for name, values in result.infos.items()
            if values.ndim == 1 and values.dtype.kind in "fiub"
        }
        success = {"success [%]": 100.0 * means.pop("success")} if "success" in means else {}
        return {**success, RETURN: float(np.mean(result.returns)), **lost(result), **means}

    def tradeoff(self, measured: Mapping[str, float]) -> tuple[str, str, list[Point]]:
        """Returns two measures that `train` plots against each other, from measures().

        Labels of x and y with units, and points (x, y); no points for no plot, the default.
        """
        return "", "", []

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """Sort key of policies from their measures(); the best has the largest.

        By default: the first measure, then the mean sum of rewards.
        """
        return next(iter(measured.values())), measured.get(RETURN, 0.0)


def lost(result: Evaluation) -> dict[str, float]:
    """Episodes that the task terminated before their time limit."""
    return {"lost [%]": 100.0 * float(np.mean(result.lost))}


def final_distance(result: Evaluation) -> dict[str, float]:
    """Distance from the target at the end of the episodes."""
    return {"distance at the end, median [m]": float(np.median(result.infos["distance"]))}


@cache
def _empty_scene() -> Scene:
    return Scene(name="nothing")


_STATE = 18
"""Number of columns of the default observation before the action."""


def _columns(part: Any, size: int) -> Numbers:
    columns = np.ascontiguousarray(part, dtype=np.float32)
    if columns.ndim != 2 or len(columns) != size:
        raise ValueError(f"extras: expected shape ({size}, k), got {columns.shape}")
    return columns


def _target(target: Any, size: int) -> Numbers:
    place = np.ascontiguousarray(target, dtype=np.float32)
    if place.shape not in ((3,), (size, 3)):
        raise ValueError(f"target: expected shape ({size}, 3) or (3,), got {place.shape}")
    return place


class Judged(Task):
    """Base class of tasks whose `update` computes rewards and terminations."""

    _reward: Any
    _terminated: Any

    def reward(self, state: State) -> Any:
        """Returns the rewards (n,) computed by update()."""
        return self._reward

    def terminated(self, state: State) -> Any:
        """Returns the terminations (n,) bool computed by update()."""
        return self._terminated
