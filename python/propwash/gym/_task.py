"""Tasks: where an episode starts, what is seen of it, what it is worth and when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash.fleet import Fleet
from propwash.gym._draws import Draws
from propwash.gym._state import State, write
from propwash.world import Scene

Numbers = NDArray[np.float32]


class Task:
    """What all environments of a kind have in common; a class of your own overrides what differs.

    All methods are for all n environments at once, in arrays of numpy, or tensors of torch on the
    CPU. `reset_state` is asked for the m environments that start an episode, all others once for
    each step. An environment takes a copy of the task, so that one task may serve several.

    frame: "world" or "body", in which `observation` has position error and velocity.
    """

    episode_seconds: ClassVar[float] = 5.0
    """s, after which an episode is truncated."""
    starts_ahead: ClassVar[bool] = False
    """Whether this class's `reset_state` does nothing but draw: many are then drawn at once."""
    scene: Scene | None = None
    """What stands in the world, for range finder and beacons; None for nothing."""

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

    def update(self, state: State) -> None:
        """Called once after each step, before all else: what the task remembers goes on."""

    def target(self, state: State) -> Any:
        """(n, 3) or (3,) m, where the vehicle should be: the origin."""
        return np.zeros(3, dtype=np.float32)

    def extras(self, state: State) -> Any:
        """(n, k) numbers at the end of the state's layout, or a list of such; None for none."""
        return None

    def observation(self, state: State) -> Any:
        """(n, k) numbers.

        By default: position − target (3), velocity (3), both in `frame`; rotation from body to
        world, row by row (9); body rates (3); the last action (A); `extras`.
        """
        extras = self.extras(state)
        if not isinstance(extras, list | tuple):
            extras = [] if extras is None else [extras]
        more = [np.asarray(part) for part in extras]
        width = 18 + state.action.shape[1]
        seen = state.blank(width + sum(part.shape[1] for part in more))
        error = _difference(state.position, np.asarray(self.target(state)))
        velocity = state.velocity
        if self.frame == "body":
            error, velocity = state.to_body(error), state.to_body(velocity)
        write(seen[:, 0:3], error)
        write(seen[:, 3:6], velocity)
        state.write_rotation(seen[:, 6:15])
        write(seen[:, 15:18], state.body_rates)
        write(seen[:, 18:width], state.action)
        for part in more:
            write(seen[:, width : width + part.shape[1]], part)
            width += part.shape[1]
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


def _difference(position: Numbers, target: Any) -> Numbers:
    if target.ndim == 1 and not target.any():
        return position
    apart: Numbers = np.subtract(position, target, dtype=np.float32)
    return apart


def squared(vector: Numbers) -> Numbers:
    """(n,) squared lengths of (n, 3)."""
    parts = vector * vector
    total: Numbers = parts[:, 0] + parts[:, 1]
    total += parts[:, 2]
    return total


class Hover(Task):
    """Fly to the origin and stay there.

    position: m, how far from the origin an episode starts along each axis. tilt: rad, how far
    over, up to upside down. velocity, rates: m/s and rad/s along each axis. spin: share of the
    hover speed by which rotors start faster or slower. bound: m, beyond which it is over.

    Reward: 1 / (1 + distance) + 0.2 upright − 0.002 |rates|² − 0.02 |change of action|².
    """

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
    ) -> None:
        super().__init__(frame)
        for name, value in (("position", position), ("velocity", velocity), ("rates", rates)):
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{name}: expected a finite number >= 0, got {value!r:.100}")
        if not 0.0 <= tilt <= np.pi or not 0.0 <= spin <= 1.0 or not bound > 0.0:
            raise ValueError(
                "expected tilt in [0, pi], spin in [0, 1] and bound > 0, got "
                f"{tilt!r:.50}, {spin!r:.50}, {bound!r:.50}"
            )
        self.position, self.tilt, self.velocity = position, tilt, velocity
        self.rates, self.spin, self.bound = rates, spin, np.float32(bound**2)
        self._far: Any = None

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
        """Measures the distance once for all that asks for it."""
        self._far = squared(state.position)

    def reward(self, state: State) -> Numbers:
        """Near, upright, calm."""
        one = np.float32(1.0)
        worth: Numbers = np.sqrt(self._far)
        worth += one
        np.divide(one, worth, out=worth)
        worth += np.float32(0.2) * state.upright
        worth -= np.float32(0.002) * squared(state.body_rates)
        change = state.action - state.previous_action
        change *= change
        rough = change[:, 0] + change[:, 1]
        for column in range(2, change.shape[1]):
            rough += change[:, column]
        rough *= np.float32(0.02)
        worth -= rough
        return worth

    def terminated(self, state: State) -> Any:
        """Too far away."""
        return self._far > self.bound

    def info(self, state: State) -> Mapping[str, Any]:
        """distance: m, at the end."""
        return {"distance": np.sqrt(squared(state.position))}


class Land(Task):
    """Come down on the origin of the ground: slowly, upright, near its middle.

    position: m, how far to the side an episode starts along x and y. height: m, least and greatest.
    An episode is over when the vehicle is within `gear` [m] of the ground; a success within 0.3 m
    of the middle, below 0.7 m/s and 0.35 rad of tilt.

    Reward: 4 × the distance by which it came nearer − 0.002 (speed / (distance + 0.3 m))²
    − 0.002 |rates|²; +10 for a success, −10 for another touch or beyond `bound` [m].
    """

    episode_seconds: ClassVar[float] = 8.0
    radius, speed, tilt_cosine = np.float32(0.3), np.float32(0.7), np.float32(np.cos(0.35))

    def __init__(
        self,
        position: float = 1.5,
        height: tuple[float, float] = (1.0, 3.0),
        gear: float = 0.05,
        bound: float = 10.0,
        frame: str = "world",
    ) -> None:
        super().__init__(frame)
        if not (0.0 <= gear < height[0] <= height[1] < bound and 0.0 <= position < bound):
            raise ValueError(
                "expected 0 <= gear < least height <= greatest height < bound and 0 <= position "
                f"< bound [m], got {gear!r:.50}, {height!r:.50}, {bound!r:.50}, {position!r:.50}"
            )
        self.position, self.height = position, height
        self.gear, self.bound = np.float32(gear), np.float32(bound**2)
        self.scene = Scene.load("empty")

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Nothing has landed."""
        self._before: Numbers = np.zeros(fleet.size, dtype=np.float32)
        self._now = self._before

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Above the ground, level, nearly at rest."""
        sides = draws.uniform(-self.position, self.position, 2)
        place = np.column_stack([sides, draws.uniform(*self.height)])
        self._now = self._now.copy()
        self._now[draws.rows] = np.sqrt(squared(place.astype(np.float32)))
        return {
            "position": place,
            "velocity": draws.uniform(-0.5, 0.5, 3),
            "attitude": draws.attitude(0.3),
        }

    def update(self, state: State) -> None:
        """Measures distances and touches once."""
        far = squared(state.position)
        self._before, self._now = self._now, np.sqrt(far)
        self._speed = np.sqrt(squared(state.velocity))
        self._touched = state.position[:, 2] <= self.gear
        side = np.square(state.position[:, 0]) + np.square(state.position[:, 1])
        gentle = (self._speed <= self.speed) & (state.upright >= self.tilt_cosine)
        self._landed = self._touched & gentle & (side <= self.radius**2)
        self._over = self._touched | (far > self.bound)

    def reward(self, state: State) -> Any:
        """Nearer, then softly."""
        hasty = self._speed / (np.float32(0.3) + self._now)
        worth = np.float32(4.0) * (self._before - self._now) - np.float32(0.002) * hasty * hasty
        worth -= np.float32(0.002) * squared(state.body_rates)
        end = np.where(self._landed, np.float32(10.0), np.float32(-10.0))
        return np.where(self._over, worth + end, worth)

    def terminated(self, state: State) -> Any:
        """On the ground, or too far away."""
        return self._over

    def info(self, state: State) -> Mapping[str, Any]:
        """success; speed: m/s, and distance: m, at the end."""
        return {"success": self._landed, "speed": self._speed, "distance": self._now}
