"""The task of flying to a point."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from propwash import _checks as checks
from propwash import _core, _rotation
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._rewards import HoverReward, weights_of
from propwash.gym._state import State
from propwash.gym._task import Judged, final_distance, lost
from propwash.world import Scene

if TYPE_CHECKING:
    from propwash.gym._evaluation import Evaluation

RADIUS, SETTLED_SECONDS = 0.1, 2.0
"""m and s: an episode succeeds if it stays within RADIUS for the last SETTLED_SECONDS."""


class Hover(Judged):
    """Fly to the target and stay there: the origin, or the start of a scene.

    Args:
        position: Maximum initial distance from the target along each axis [m].
        tilt: Maximum initial tilt [rad], up to pi.
        velocity: Maximum initial velocity along each axis [m/s].
        rates: Maximum initial body rate about each axis [rad/s].
        spin: Maximum initial deviation of rotor speeds, as a fraction of the hover speed.
        bound: Distance from the target that ends an episode [m].
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a HoverReward or a dict of its fields.
        heading: Maximum initial deviation of the heading from that of the target [rad], up to pi.
        scene: Scene around the vehicle for its sensors, its name or file. Its start is the target,
            and contact with it ends an episode. None: none, and the target is the origin.
    """

    radius: ClassVar[float] = 0.15
    """m, of the sphere that represents the vehicle in a scene."""
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_goal")
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
        heading: float = np.pi,
        scene: str | PathLike[str] | Scene | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(HoverReward, weights)
        for name, value in (("position", position), ("velocity", velocity), ("rates", rates)):
            checks.not_negative(name, value)
        checks.half_turn("tilt", tilt)
        checks.half_turn("heading", heading)
        checks.number("spin", spin, "a number in [0, 1]", lambda x: 0.0 <= x <= 1.0)
        checks.positive("bound", bound, infinite=True)
        self.position, self.tilt, self.velocity = position, tilt, velocity
        self.rates, self.spin, self.bound, self.heading = rates, spin, bound, heading
        self._goal, self._yaw = np.zeros(3, dtype=np.float32), 0.0
        if scene is not None:
            self.scene = scene if isinstance(scene, Scene) else Scene.load(scene)
            if self.scene.has_motion:
                raise ValueError("scene: expected one whose items do not move, as scene.at(0.0)")
            if self.scene.start is None:
                raise ValueError(f"scene: expected one with a start, {self.scene.name!r} has none")
            self._goal[:] = self.scene.start.position
            self._yaw = self.scene.start.yaw

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Stores the rotor speeds in hover."""
        self._hover = fleet.rotor_speeds[:1].astype(np.float64)

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws position, velocity, attitude, body rates and rotor speeds within the ranges."""
        rotors = self._hover.shape[1]
        place = draws.uniform(-self.position, self.position, 3)
        velocity = draws.uniform(-self.velocity, self.velocity, 3)
        w, x, y, z = draws.attitude(self.tilt, self.heading).T
        attitude = _rotation.product(_rotation.about_z(self._yaw), (w, x, y, z))
        return {
            "position": self._goal + place,
            "velocity": velocity,
            "attitude": np.stack(attitude, 1),
            "body_rates": draws.uniform(-self.rates, self.rates, 3),
            "rotor_speeds": self._hover * draws.uniform(1.0 - self.spin, 1.0 + self.spin, rotors),
        }

    def update(self, state: State) -> None:
        """Computes rewards and terminations."""
        self._reward, self._terminated, self._distance = _core.judge_hover(
            state.position if self.scene is None else state.position - self._goal,
            state.attitude,
            state.body_rates,
            state.action,
            state.previous_action,
            self.weights,
            self.bound,
        )
        if self.scene is not None:
            self._terminated |= self.scene.collides(state.position, radius=self.radius).collided

    def target(self, state: State) -> Any:
        """Returns the target [m]; None for the origin."""
        return None if self.scene is None else self._goal

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns the final distance [m]."""
        return {"distance": self._distance}

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns the episodes near the target at the end, those lost, and the distance."""
        settled = 100.0 * result.settled(RADIUS, SETTLED_SECONDS)
        return {
            f"within {RADIUS} m for the last {SETTLED_SECONDS:g} s [%]": settled,
            **lost(result),
            **final_distance(result),
        }

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """Most episodes near the target, then the smallest median distance."""
        values = list(measured.values())
        return values[0], -values[-1]
