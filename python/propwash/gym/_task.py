"""Tasks: where an episode starts, what is observed, rewarded and terminated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _core
from propwash.fleet import Fleet
from propwash.gym._draws import Draws
from propwash.gym._rewards import HoverReward, LandReward, weights_of
from propwash.gym._scenery import EMPTY, GRID, pad
from propwash.gym._state import State
from propwash.world import Scene

Numbers = NDArray[np.float32]


class Task:
    """What all environments of a kind have in common; a custom class overrides what differs.

    All methods are for all n environments at once, in arrays of numpy, or tensors of torch on the
    CPU. `reset_state` is asked for the m environments that start an episode, all others once for
    each step. An environment takes a copy of the task, so that one task may serve several.

    frame: "world" or "body", in which `observation` has position error and velocity.
    """

    episode_seconds: ClassVar[float] = 5.0
    """s, after which an episode is truncated."""
    starts_ahead: ClassVar[bool] = False
    """Whether this class's `reset_state` does nothing but draw: many are then drawn at once, before
    the episodes begin, and what a task remembers of an episode is for `started` to begin."""
    constants: ClassVar[tuple[str, ...]] = ("scene",)
    """Names of attributes that never change after `begin`: snapshots leave them out."""
    scene: Scene | None = None
    """The world that range finder, beacons and pictures show; None for an empty one."""

    def __init__(self, frame: str = "world") -> None:
        if frame not in ("world", "body"):
            raise ValueError(f"frame: expected 'world' or 'body', got {frame!r:.100}")
        self.frame = frame

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Called once, before the first episode: makes what the task remembers of each environment.

        period: s, of a step. index: the number of the first environment.
        """

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """What m environments, `draws.rows` of all, start an episode from.

        Any of position, velocity, attitude, body_rates, rotor_speeds, of shapes (m, …) or for all
        alike; hover at the origin where left out. Random numbers come from `draws` alone, and what
        `observation` needs of the task's memory is right afterwards: `update` comes with steps.
        """
        return {}

    def started(self, rows: NDArray[np.intp]) -> None:
        """Called when the environments at these places, (m,), begin what `reset_state` drew."""

    def update(self, state: State) -> None:
        """Called once after each step, before all else: what the task remembers goes on.

        All rows have flown the step. Where episodes begin in this call of step(), in mode
        NEXT_STEP, `reset_state` and `started` follow, so that a clock that they set to zero is zero
        in the first observation. `state.time` and `state.steps` are such clocks.
        """

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """Called when a user has set the states of the environments at these places, (m,).

        What the task remembers of where they were becomes right again: see set_state().
        """

    def scenery(self, row: int) -> Scene:
        """What a picture of the environment at this place shows beside vehicle and target.

        Without a plane in it a floor is drawn below. Return the same Scene as long as it is the
        same world.
        """
        return self.scene or EMPTY

    def target(self, state: State) -> Any:
        """(n, 3) or (3,) m, where the vehicle should be; None for the origin."""
        return None

    def extras(self, state: State) -> Any:
        """(n, k) numbers at the end of the state's layout, or a list of such; None for none."""
        return None

    def observation(self, state: State) -> Any:
        """(n, k) numbers.

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
        seen = state.blank(width)
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
        """(n,) numbers."""
        raise NotImplementedError(f"{type(self).__name__}.reward: expected in a class of your own")

    def terminated(self, state: State) -> Any:
        """(n,) truth values: the episode is over for a reason of the task's. Never by default."""
        return np.zeros(state.size, dtype=np.bool_)

    def info(self, state: State) -> Mapping[str, Any]:
        """Arrays (n, …) by name, asked for where episodes end and told of those."""
        return {}


_STATE = 18
"""Numbers of the layout before the action."""


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
    """A task whose `update` computes rewards and terminations."""

    _reward: Any
    _over: Any

    def reward(self, state: State) -> Any:
        """(n,) numbers, as the class tells."""
        return self._reward

    def terminated(self, state: State) -> Any:
        """(n,) truth values, as the class tells."""
        return self._over


class Hover(Judged):
    """Fly to the origin and stay there.

    position: m, how far from the origin an episode starts along each axis. tilt: rad, how far
    over, up to upside down. velocity, rates: m/s and rad/s along each axis. spin: share of the
    hover speed by which rotors start faster or slower. bound: m, beyond which it is over.
    weights: of the reward, a HoverReward, which states it, or a dict of its fields.
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
        """Keeps the rotors' speeds in hover."""
        self._hover = fleet.rotor_speeds[:1].astype(np.float64)

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Anywhere, any way up, turning, with rotors at any speed near that of hover."""
        rotors = self._hover.shape[1]
        return {
            "position": draws.uniform(-self.position, self.position, 3),
            "velocity": draws.uniform(-self.velocity, self.velocity, 3),
            "attitude": draws.attitude(self.tilt),
            "body_rates": draws.uniform(-self.rates, self.rates, 3),
            "rotor_speeds": self._hover * draws.uniform(1.0 - self.spin, 1.0 + self.spin, rotors),
        }

    def update(self, state: State) -> None:
        """Judges the step."""
        self._reward, self._over, self._distance = _core.judge_hover(
            state.position,
            state.attitude,
            state.body_rates,
            state.action,
            state.previous_action,
            self.weights.numbers(),
            self.bound,
        )

    def info(self, state: State) -> Mapping[str, Any]:
        """distance: m, at the end."""
        return {"distance": self._distance}


class Land(Judged):
    """Come down on the origin of the ground: slowly, upright, near its middle.

    position: m, how far to the side an episode starts along x and y. height: m, least and greatest.
    An episode is over when the vehicle is within `gear` [m] of the ground; a success within 0.3 m
    of the middle, below 0.7 m/s and 0.35 rad of tilt. bound: m, beyond which it is over.
    weights: of the reward, a LandReward, which states it, or a dict of its fields.
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
                "expected 0 <= gear < least height <= greatest height < bound and 0 <= position "
                f"< bound [m], got {gear!r:.50}, {height!r:.50}, {bound!r:.50}, {position!r:.50}"
            )
        self.position, self.height = position, height
        self.gear, self.bound = gear, bound
        self.scene = Scene.load("empty")
        self._scenery: Scene | None = None

    def scenery(self, row: int) -> Scene:
        """The ground, and where a landing is a success."""
        if self._scenery is None:
            self._scenery = Scene([GRID, pad(self.radius)])
        return self._scenery

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Keeps the distances."""
        self._distance: Numbers = np.zeros(fleet.size, dtype=np.float32)
        self._start = self._distance.copy()
        self._bounds = (self.gear, self.bound, self.radius, self.speed, float(np.cos(self.tilt)))

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Above the ground, level, nearly at rest."""
        sides = draws.uniform(-self.position, self.position, 2)
        place = np.column_stack([sides, draws.uniform(*self.height)])
        self._start[draws.rows] = np.linalg.norm(place, axis=1)
        return {
            "position": place,
            "velocity": draws.uniform(-0.5, 0.5, 3),
            "attitude": draws.attitude(0.3),
        }

    def started(self, rows: NDArray[np.intp]) -> None:
        """How far away they are."""
        self._distance[rows] = self._start[rows]

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """How far away they are now."""
        self._distance[rows] = np.linalg.norm(state.position[rows], axis=1)

    def update(self, state: State) -> None:
        """Judges the step."""
        self._reward, self._over, self._landed, self._speed = _core.judge_landing(
            state.position,
            state.velocity,
            state.attitude,
            state.body_rates,
            self._bounds,
            self.weights.numbers(),
            self._distance,
        )

    def info(self, state: State) -> Mapping[str, Any]:
        """success; speed: m/s, and distance: m, at the end."""
        return {"success": self._landed, "speed": self._speed, "distance": self._distance.copy()}
