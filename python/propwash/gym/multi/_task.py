"""Base class of tasks with several vehicles in a scene, and the formation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash import _core
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._rewards import weights_of
from propwash.gym._state import State
from propwash.gym._task import Array, Judged, Numbers, Task
from propwash.gym.multi._downwash import Downwash
from propwash.gym.multi._rewards import FormationReward
from propwash.gym.multi._state import SceneState

NEIGHBOURS = 3
"""Default maximum number of others in an observation."""


class MultiTask(Task):
    """Base class of tasks with several vehicles in a scene.

    All methods of Task have one row per vehicle; the V vehicles of a scene have consecutive rows.
    Their state is a SceneState.

    Args:
        vehicles: Number V of vehicles in a scene.
        radius: Radius of each vehicle's collision sphere [m].
        neighbours: Number k of the nearest others in the default observation; None for all, at
            most 3.
        downwash: A Downwash, or None for none.
        frame: Frame of position, velocity and neighbours in observations, "world" or "body".

    Raises:
        ValueError: For numbers out of range.
    """

    ends_together: ClassVar[bool] = False
    """Whether the termination of one vehicle terminates the episodes of all in its scene."""

    def __init__(
        self,
        vehicles: int = 2,
        radius: float = 0.15,
        neighbours: int | None = None,
        downwash: Downwash | None = None,
        frame: str = "world",
    ) -> None:
        Task.__init__(self, frame)
        self._share(vehicles, radius, neighbours, downwash)

    def _share(
        self, vehicles: int, radius: float, neighbours: int | None, downwash: Downwash | None
    ) -> None:
        self.vehicles = checks.whole_number("vehicles", vehicles, 1, 1000)
        self.radius = checks.positive("radius", radius)
        others = self.vehicles - 1
        count = min(others, NEIGHBOURS) if neighbours is None else neighbours
        self.neighbours = checks.whole_number("neighbours", count, 0, others)
        if downwash is not None and not isinstance(downwash, Downwash):
            raise TypeError(f"downwash: expected a Downwash or None, got {downwash!r:.100}")
        self.downwash = downwash

    def make_state(self, fleet: Fleet, actions: int, period: float) -> State:
        """Returns a SceneState."""
        if self.downwash is not None:
            self.downwash.numbers(fleet.vehicle)  # raises early
        return SceneState(fleet, actions, period, self.vehicles, self.radius)

    def extras(self, state: Any) -> list[Numbers]:
        """Returns the columns of the nearest others, (n, 7 k); see `SceneState.neighbours`."""
        return [state.neighbours(self.neighbours, self.frame)]

    def per_scene(self, values: NDArray[Any]) -> NDArray[Any]:
        """Returns for each row of `values` (m, …), of whole scenes, that of its first vehicle."""
        return np.repeat(values[:: self.vehicles], self.vehicles, axis=0)


class Formation(MultiTask, Judged):
    """Exchange the places of a formation without collision, and hold them: a cooperative task.

    The slots are the corners of a horizontal regular polygon around the origin, in a random
    heading. Each vehicle starts near a slot and has to fly to the opposite one. All vehicles
    receive the same reward. A collision, or a vehicle out of bound, ends the episodes of all.

    Infos of ended episodes: distance from the slot [m], collision, success (the vehicle is within
    `tolerance` of its slot, and no vehicle of the scene collided).

    Args:
        vehicles: Number of vehicles in a scene.
        spacing: Distance of neighbouring slots [m].
        exchange: False for vehicles that hold the slots near which they start.
        position: Maximum initial distance from the slot along each axis [m].
        tilt: Maximum initial tilt [rad].
        bound: Distance from the slot that ends an episode [m], and the diameter of the formation
            beyond that.
        radius: Radius of each vehicle's collision sphere [m].
        neighbours: Number of the nearest others in the observation; None for all, at most 3.
        downwash: A Downwash, or None for none.
        frame: Frame of position, velocity and neighbours in observations, "world" or "body".
        weights: Weights of the reward, a FormationReward or a dict of its fields.

    Raises:
        ValueError: For numbers out of range, or starts at which vehicles might collide.
    """

    episode_seconds: ClassVar[float] = 8.0
    starts_ahead: ClassVar[bool] = True
    ends_together: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights")
    tolerance: ClassVar[float] = 0.25
    """m, distance from the slot that counts as success."""

    def __init__(
        self,
        vehicles: int = 4,
        spacing: float = 1.5,
        exchange: bool = True,
        position: float = 0.2,
        tilt: float = 0.3,
        bound: float = 5.0,
        radius: float = 0.15,
        neighbours: int | None = None,
        downwash: Downwash | None = None,
        frame: str = "world",
        weights: FormationReward | Mapping[str, float] | None = None,
    ) -> None:
        MultiTask.__init__(self, vehicles, radius, neighbours, downwash, frame)
        self.weights = weights_of(FormationReward, weights)
        self.exchange = checks.flag("exchange", exchange)
        for name, value in (("spacing", spacing), ("bound", bound)):
            checks.positive(name, value)
        checks.not_negative("position", position)
        checks.half_turn("tilt", tilt)
        # both vehicles may be displaced by `position` along both horizontal axes
        needed = 2.0 * radius + 2.0 * np.sqrt(2.0) * position
        if self.vehicles > 1 and not spacing > needed:
            raise ValueError(
                f"spacing = {spacing!r:.50}: expected more than {needed:.3g} m, two radii and the "
                "initial distances from the slots; increase spacing, or decrease position or radius"
            )
        self.spacing, self.position, self.tilt, self.bound = spacing, position, tilt, bound

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Allocates the slots."""
        self._target: Numbers = np.zeros((fleet.size, 3), dtype=np.float32)
        self._drawn = self._target.copy()
        self._distance: Numbers = np.zeros(fleet.size, dtype=np.float32)
        self._collided = np.zeros(fleet.size, dtype=np.bool_)

    def _circle(self) -> float:
        """Radius of the circle through the slots [m]."""
        several = self.vehicles > 1
        return 0.5 * self.spacing / float(np.sin(np.pi / self.vehicles)) if several else 0.0

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws the heading of the formation, and states near the slots."""
        slot = draws.rows % self.vehicles
        heading = self.per_scene(draws.uniform(-np.pi, np.pi))
        opposite = self.vehicles // 2 if self.exchange else 0
        self._drawn[draws.rows] = self._slots(heading, slot + opposite)
        start = self._slots(heading, slot)
        return {
            "position": start + draws.uniform(-self.position, self.position, 3),
            "attitude": draws.attitude(self.tilt),
        }

    def _slots(self, heading: Array, number: NDArray[Any]) -> Array:
        """(m, 3) m, positions of slots by their number."""
        angle = heading + number * (2.0 * np.pi / self.vehicles)
        unit = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
        return self._circle() * unit

    def started(self, rows: NDArray[np.intp]) -> None:
        """Assigns the slots."""
        self._target[rows] = self._drawn[rows]

    def target(self, state: State) -> Numbers:
        """Returns the positions of the slots, (n, 3) m."""
        return self._target

    def update(self, state: Any) -> None:
        """Computes rewards and terminations."""
        weights = self.weights
        reward, over, self._distance = _core.judge_hover(
            state.position - self._target,
            state.attitude,
            state.body_rates,
            state.action,
            state.previous_action,
            weights,
            self.bound + 2.0 * self._circle(),
        )
        self._collided = state.collided
        self._terminated = over | self._collided
        gap = state.closest - 2.0 * self.radius
        reward -= weights.nearness * np.clip(1.0 - gap / weights.margin, 0.0, 1.0)
        mean = state.by_scene(reward).mean(axis=1).repeat(self.vehicles)
        self._reward = mean - weights.failure * state.scene_any(self._terminated)

    def info(self, state: Any) -> Mapping[str, Any]:
        """Returns distance [m], collision and success."""
        near = self._distance < self.tolerance
        return {
            "distance": self._distance,
            "collision": self._collided,
            "success": near & ~state.scene_any(self._collided | state.diverged),
        }
