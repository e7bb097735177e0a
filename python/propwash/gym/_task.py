"""Tasks: initial states, observations, rewards and termination; items drawn for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._rewards import HoverReward, LandReward, weights_of
from propwash.gym._state import State
from propwash.world import Cylinder, Plane, Scene

Array = NDArray[np.float64]
Numbers = NDArray[np.float32]


EMPTY = Scene(name="nothing")
"""A scene without items."""
GRID = Plane(name="ground", category="grid", colour=(0.42, 0.45, 0.47))
"""Ground in squares of one metre."""
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
    scene: Scene | None = None
    """Scene for range finder, beacons and rendering; None for an empty one."""
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
        return self.scene or EMPTY

    def target(self, state: State) -> Any:
        """Returns the target position (n, 3) or (3,) [m]; None for the origin."""
        return None

    def extras(self, state: State) -> Any:
        """Returns additional columns (n, k) of the observation, a list of such, or None."""
        return None

    def observation(self, state: State) -> Any:
        """Returns the observations (n, k).

        By default: position − target (3), velocity (3), both in `frame`; rotation from body to
        world, row by row (9); body rates (3); the last action (A); `extras`.
        """
        extras, target = self.extras(state), self.target(state)
        more: list[Numbers] = []
        width = _STATE + state.action.shape[1]
        if extras is not None:
            parts = extras if isinstance(extras, list | tuple) else [extras]
            more = [_columns(part, state.size) for part in parts]
            width += sum(part.shape[1] for part in more)
        seen = state.buffer(width)
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


class Hover(Judged):
    """Fly to the origin and stay there.

    Args:
        position: Maximum initial distance from the origin along each axis [m].
        tilt: Maximum initial tilt [rad], up to pi.
        velocity: Maximum initial velocity along each axis [m/s].
        rates: Maximum initial body rate about each axis [rad/s].
        spin: Maximum initial deviation of rotor speeds, as a fraction of the hover speed.
        bound: Distance from the origin that ends an episode [m].
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a HoverReward or a dict of its fields.
    """

    constants: ClassVar[tuple[str, ...]] = ("scene", "weights")
    starts_ahead: ClassVar[bool] = True

    def __init__(
        self,
        position: float = 1.0,
        tilt: float = np.pi,
        velocity: float = 1.0,
        rates: float = 2.0,
        spin: float = 0.3,
        bound: float = 10.0,
        frame: str = "world",
        weights: HoverReward | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(HoverReward, weights)
        for name, value in (("position", position), ("velocity", velocity), ("rates", rates)):
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{name}: expected a finite number >= 0, got {value!r:.100}")
        if not 0.0 <= tilt <= np.pi or not 0.0 <= spin <= 1.0 or not bound > 0.0:
            raise ValueError(
                "expected tilt in [0, pi], spin in [0, 1] and bound > 0, got "
                f"{tilt!r:.50}, {spin!r:.50}, {bound!r:.50}"
            )
        self.position, self.tilt, self.velocity = position, tilt, velocity
        self.rates, self.spin, self.bound = rates, spin, bound

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Stores the rotor speeds in hover."""
        self._hover = fleet.rotor_speeds[:1].astype(np.float64)

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws position, velocity, attitude, body rates and rotor speeds within the ranges."""
        rotors = self._hover.shape[1]
        return {
            "position": draws.uniform(-self.position, self.position, 3),
            "velocity": draws.uniform(-self.velocity, self.velocity, 3),
            "attitude": draws.attitude(self.tilt),
            "body_rates": draws.uniform(-self.rates, self.rates, 3),
            "rotor_speeds": self._hover * draws.uniform(1.0 - self.spin, 1.0 + self.spin, rotors),
        }

    def update(self, state: State) -> None:
        """Computes rewards and terminations."""
        self._reward, self._terminated, self._distance = _core.judge_hover(
            state.position,
            state.attitude,
            state.body_rates,
            state.action,
            state.previous_action,
            self.weights.numbers(),
            self.bound,
        )

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns the final distance [m]."""
        return {"distance": self._distance}


class Land(Judged):
    """Land on the origin of the ground: slowly, upright and close to the centre.

    An episode ends when the vehicle is within `gear` of the ground. It is a success within 0.3 m of
    the origin, below 0.7 m/s and 0.35 rad of tilt.

    Args:
        position: Maximum initial |x| and |y| [m].
        height: Minimum and maximum initial height [m].
        gear: Height of the vehicle's centre at touchdown [m].
        bound: Distance from the origin that ends an episode [m].
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a LandReward or a dict of its fields.
    """

    episode_seconds: ClassVar[float] = 8.0
    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_scenery")
    radius, speed, tilt = 0.3, 0.7, 0.35
    """m, m/s, rad: limits of a successful landing."""

    def __init__(
        self,
        position: float = 1.5,
        height: tuple[float, float] = (1.0, 3.0),
        gear: float = 0.05,
        bound: float = 10.0,
        frame: str = "world",
        weights: LandReward | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(LandReward, weights)
        if not (0.0 <= gear < height[0] <= height[1] < bound and 0.0 <= position < bound):
            raise ValueError(
                "expected 0 <= gear < min height <= max height < bound and 0 <= position < bound "
                f"[m], got {gear!r:.50}, {height!r:.50}, {bound!r:.50}, {position!r:.50}"
            )
        self.position, self.height = position, height
        self.gear, self.bound = gear, bound
        self.scene = Scene.load("empty")
        self._scenery: Scene | None = None

    def scenery(self, row: int) -> Scene:
        """Returns the ground with the landing pad."""
        if self._scenery is None:
            self._scenery = Scene([GRID, pad(self.radius)])
        return self._scenery

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Allocates the distances to the pad."""
        self._distance: Numbers = np.zeros(fleet.size, dtype=np.float32)
        self._start = self._distance.copy()
        self._bounds = (self.gear, self.bound, self.radius, self.speed, float(np.cos(self.tilt)))

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws states above the ground, nearly level and at rest."""
        sides = draws.uniform(-self.position, self.position, 2)
        place = np.column_stack([sides, draws.uniform(*self.height)])
        self._start[draws.rows] = np.linalg.norm(place, axis=1)
        return {
            "position": place,
            "velocity": draws.uniform(-0.5, 0.5, 3),
            "attitude": draws.attitude(0.3),
        }

    def started(self, rows: NDArray[np.intp]) -> None:
        """Sets the distance at the start."""
        self._distance[rows] = self._start[rows]

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """Recomputes the distance."""
        self._distance[rows] = np.linalg.norm(state.position[rows], axis=1)

    def update(self, state: State) -> None:
        """Computes rewards and terminations."""
        self._reward, self._terminated, self._landed, self._speed = _core.judge_landing(
            state.position,
            state.velocity,
            state.attitude,
            state.body_rates,
            self._bounds,
            self.weights.numbers(),
            self._distance,
        )

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns success, and the final speed [m/s] and distance [m]."""
        return {"success": self._landed, "speed": self._speed, "distance": self._distance.copy()}
