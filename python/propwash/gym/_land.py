"""The task of landing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _learn
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._rewards import LandReward, weights_of
from propwash.gym._state import State
from propwash.gym._task import GRID, Judged, Numbers, final_distance, pad
from propwash.world import Scene

if TYPE_CHECKING:
    from propwash.gym._evaluation import Evaluation


class Land(Judged):
    """Land on the origin of the ground: slowly, upright and close to the centre.

    An episode ends when the vehicle is within `gear` of the ground. It is a success within `radius`
    of the origin, below `speed` and `tilt`.

    Args:
        position: Maximum initial |x| and |y| [m].
        height: Minimum and maximum initial height [m].
        gear: Height of the vehicle's centre at touchdown [m].
        bound: Distance from the origin that ends an episode [m].
        radius: Maximum horizontal distance from the origin for success [m].
        speed: Maximum speed for success [m/s].
        tilt: Maximum tilt for success [rad].
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a LandReward or a dict of its fields.
    """

    episode_seconds: ClassVar[float] = 8.0
    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_scenery")

    def __init__(
        self,
        position: float = 1.5,
        height: tuple[float, float] = (1.0, 3.0),
        gear: float = 0.05,
        bound: float = 10.0,
        radius: float = 0.3,
        speed: float = 0.7,
        tilt: float = 0.35,
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
        if not (0.0 < radius < bound and 0.0 < speed < np.inf and 0.0 < tilt <= np.pi):
            raise ValueError(
                "expected 0 < radius < bound [m], a finite speed > 0 [m/s] and 0 < tilt <= pi "
                f"[rad], got {radius!r:.50}, {speed!r:.50} and {tilt!r:.50}"
            )
        self.gear, self.bound = gear, bound
        self.radius, self.speed, self.tilt = radius, speed, tilt
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
        self._reward, self._terminated, self._landed, self._speed = _learn.judge_landing(
            state.position,
            state.velocity,
            state.attitude,
            state.body_rates,
            self._bounds,
            self.weights,
            self._distance,
        )

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns success, and the final speed [m/s] and distance [m]."""
        return {"success": self._landed, "speed": self._speed, "distance": self._distance.copy()}

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns successes, and speed and distance at the end."""
        return {
            "landed [%]": 100.0 * float(np.mean(result.infos["success"])),
            "speed at the end, median [m/s]": float(np.median(result.infos["speed"])),
            **final_distance(result),
        }

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """Most successes, then the smallest median distance."""
        values = list(measured.values())
        return values[0], -values[-1]
