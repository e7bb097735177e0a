"""The task of flying through a forest to a goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from propwash import _checks as checks
from propwash._checks import shown
from propwash.fleet import Fleet
from propwash.gym._actions import about_z
from propwash.gym._randomize import Draws
from propwash.gym._rewards import ForestReward, weights_of
from propwash.gym._starts import free_places
from propwash.gym._state import State
from propwash.gym._task import Judged, Numbers, Point
from propwash.world import Plane, Scene, nearest_items

if TYPE_CHECKING:
    from propwash.gym._differentiable import StateWindow
    from propwash.gym._evaluation import Evaluation

Array = NDArray[Any]

_MARGIN = 10.0
"""m, of forest around the lines from starts to goals."""
_HEIGHT = 2.0
"""m, of goals."""
_MAX_ROWS = 5
"""Maximum number of set speeds that measures() lists."""
_START = 2.0
"""s, from the start at rest, which the mean speed of a flight omits."""
_FOREST = ("density", "distance", "trunk_radius")
"""Options of forests, which a scene replaces."""
_SEEN = 10.0
"""m, distance of the goal beyond which it is not observed."""


class ForestFlight(Judged):
    """Fly to a goal at a set speed, among trees.

    An episode starts at rest in hover. It ends within `arrival` of the goal, which is a success, or
    when a sphere of 0.15 m touches a tree or the ground on the way.

    The observation of the state has 11 columns: velocity (3), direction of the thrust (3) and of
    the body's x axis (2), in axes forward, left and up with the goal ahead; height above the goal;
    the set speed; distance from the goal, at most 10 m. With `past` follow the directions of thrust
    and x axis (5) one step ago, when an image that is one step late was recorded, and the last
    action.

    Args:
        speed: The set speed [m/s]; several are assigned to the environments in turn.
        density: Trees per square metre; several are assigned to the forests in turn.
        distance: From start to goal [m].
        trunk_radius: Minimum and maximum radius of trunks [m].
        flights: Number of consecutive environments that share a forest, or a scene of a seed.
        forest_seed: Seed of the first forest or scene; the others follow.
        arrival: Distance from the goal that counts as arrival [m].
        weights: Weights of the reward, a ForestReward or a dict of its fields.
        scene: Scenes instead of forests: a name or file, loaded with a seed for each `flights`
            environments, such as "walls" or "aisles"; or one Scene for all, which alone the
            observation "sensors" includes. Flights are from its start to `goal`. `density`,
            `distance` and `trunk_radius` are then refused.
        goal: Position of the goal in `scene` [m].
        spread: Length [m] of the horizontal lines across the flight, with start and goal of the
            scene in their middle, on which starts and goals are drawn.
        past: Whether directions of one step ago, and the last action, are observed.
    """

    radius: ClassVar[float] = 0.15
    """m, of the sphere that represents the vehicle."""
    episode_seconds: ClassVar[float] = 30.0
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_scenes", "_obstacles")
    replaced: ClassVar[Mapping[str, tuple[str, ...]]] = {"scene": _FOREST}
    baseline: ClassVar[Mapping[str, str]] = {"goal_velocity": "straight flight"}
    is_filmed_onboard: ClassVar[bool] = True
    _distance: Numbers
    _flown: Numbers

    def __init__(
        self,
        speed: float | Sequence[float] = (3.0, 5.0, 7.0),
        density: float | Sequence[float] = 0.05,
        distance: float = 40.0,
        trunk_radius: Sequence[float] = (0.15, 0.4),
        flights: int = 15,
        forest_seed: int = 0,
        arrival: float = 2.0,
        weights: ForestReward | Mapping[str, float] | None = None,
        scene: str | PathLike[str] | Scene | None = None,
        goal: Sequence[float] | None = None,
        spread: float = 0.0,
        past: bool = False,
    ) -> None:
        super().__init__()
        self.past = checks.flag("past", past)
        self.weights = weights_of(ForestReward, weights)
        self.speed, self.density = _several("speed", speed), _several("density", density)
        self.distance = checks.positive("distance", distance, "m")
        self.arrival = checks.positive("arrival", arrival, "m")
        if scene is None and not self.arrival < self.distance:
            raise ValueError(
                f"arrival = {self.arrival:g}: expected less than distance = {self.distance:g} m; "
                "flights would arrive at their start"
            )
        self.trunk_radius = tuple(
            checks.shaped("trunk_radius", trunk_radius, (2,), unit="m").tolist()
        )
        self.flights = checks.whole_number("flights", flights, 1, 10**9)
        self.forest_seed = checks.whole_number("forest_seed", forest_seed, 0, 2**63)
        self.goal: Array | None = None
        self.spread = checks.number("spread", spread, "a number >= 0 [m]", lambda x: x >= 0.0)
        self._named: str | PathLike[str] | None = None
        if scene is not None:
            self._refuse_options_of_forests()
            if isinstance(scene, Scene):
                self.scene = first = scene
            else:
                self._named, first = scene, Scene.load(scene, self.forest_seed)
            self._check(first)
            self._start, self.goal = self._ends_of(first, goal)
        elif goal is not None or spread:
            name, value = ("goal", goal) if goal is not None else ("spread", spread)
            raise ValueError(
                f"{name} = {value!r:.100}: expected none without a scene; leave it out"
            )
        self.desired: Numbers = np.zeros((1, 3), dtype=np.float32)
        """(n, 3) m/s, world frame, velocity of a straight flight to the goal at the set speed."""

    def _refuse_options_of_forests(self) -> None:
        """Raises ValueError for options of forests that differ from their defaults."""
        defaults = ForestFlight()
        for name in _FOREST:
            value = getattr(self, name)
            if value != getattr(defaults, name):
                raise ValueError(
                    f"{name} = {value!r:.100}: expected none with a scene, as it is an option of "
                    f"forests; leave {name} or scene out"
                )

    def _check(self, scene: Scene) -> None:
        """Raises ValueError for a scene without obstacles, or with moving items."""
        if scene.has_motion:
            raise ValueError("scene: expected one whose items do not move, as scene.at(0.0)")
        if not len(_obstacles(scene)):
            raise ValueError(
                f"scene: expected one with obstacles, {scene.name!r} has none besides the ground; "
                "leave it out for forests"
            )

    def _ends_of(self, scene: Scene, goal: object) -> tuple[Array, Array]:
        """Start and goal. Raises ValueError without them, and for invalid ones."""
        if scene.start is None or goal is None:
            missing = "goal: expected (x, y, z) [m]" if goal is None else "scene: expected a start"
            raise ValueError(f"{missing}, for flights in the scene {scene.name!r}")
        start, place = np.array(scene.start.position), checks.shaped("goal", goal, (3,), unit="m")
        away = place - start
        if not self.arrival < (distance := float(np.linalg.norm(away))):
            raise ValueError(
                f"goal = {tuple(place.tolist())}: expected more than arrival = {self.arrival:g} m "
                f"from the start, got {distance:.3g} m; flights would arrive at their start"
            )
        if self.spread and not away[:2].any():
            raise ValueError(
                f"spread = {self.spread:g}: expected 0 m, as the goal is above or below the start"
            )
        # a draw avoids all items but the ground
        fixed = Scene([x for x in scene.items if isinstance(x, Plane)]) if self.spread else scene
        for name, point in (("start", start), ("goal", place)):
            hit = fixed.collides(point, radius=self.radius)
            if hit.collided:
                raise ValueError(
                    f"{name} = {tuple(point.tolist())}: expected a point at least "
                    f"{self.radius} m from all items, it is in contact with "
                    f"{fixed.names[int(hit.id)]!r}; move it"
                )
        return start, place

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Makes the forests."""
        n = fleet.size
        numbers = index + np.arange(n)
        forests = numbers // self.flights if self.scene is None else 0 * numbers
        self._first_scene = int(forests[0])
        self._forests = forests - self._first_scene
        """Index of the scene of each environment."""
        self._groups = np.split(np.arange(n), np.flatnonzero(np.diff(forests)) + 1)
        """Environments of each scene."""
        self.renew(0)
        self._period, self._first = period, round(_START / period)
        self._speed = np.array(self.speed, dtype=np.float32)[numbers % len(self.speed)]
        self._goal, self._before, self.desired = np.zeros((3, n, 3), dtype=np.float32)
        self._distance, self._flown = np.zeros((2, n), dtype=np.float32)
        self._last, self._axes = np.zeros((2, n, 5), dtype=np.float32)  # see _axes_of()
        self._collided, self._arrived = np.zeros((2, n), dtype=np.bool_)

    def renew(self, number: int) -> None:
        """Makes set `number` of the forests or scenes; all episodes must begin anew afterwards."""
        first = self._first_scene + number * len(self._groups)
        self._scenes = [self._scene_of(first + k) for k in range(len(self._groups))]
        self._obstacles = [_obstacles(scene) for scene in self._scenes]
        if not all(len(each) for each in self._obstacles):
            raise ValueError(
                f"density = {shown(self.density)}: expected at least one tree in a forest; "
                "increase it"
            )

    def _scene_of(self, number: int) -> Scene:
        """The scene of the task, or the forest of a number."""
        if self.scene is not None:
            return self.scene
        if self._named is not None:
            scene = Scene.load(self._named, self.forest_seed + number)
            self._check(scene)
            return scene
        side = self.distance + 2.0 * _MARGIN
        return Scene.load(
            "forest",
            self.forest_seed + number,
            size=(side, side),
            density=self.density[number % len(self.density)],
            spacing=0.0,
            clearing=0.0,
            trunk_radius=self.trunk_radius,
            crown_radius=(0.0, 0.0),
        )

    def scenery(self, row: int) -> Scene:
        """Returns the forest."""
        scene: Scene = self._scenes[self._forests[row]]
        return scene

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws starts and goals with a clearance from the trees."""
        rows = draws.rows
        start, self._goal[rows] = self._ends(draws)
        self._before[rows], self._flown[rows] = start, 0.0
        self._aim(self._before)
        half_yaw = 0.5 * np.arctan2(self.desired[rows, 1], self.desired[rows, 0])
        level = np.zeros((len(rows), 4))
        level[:, 0], level[:, 3] = np.cos(half_yaw), np.sin(half_yaw)
        self._last[rows] = self._axes[rows] = [0.0, 0.0, 1.0, 1.0, 0.0]
        return {"position": start, "attitude": level}

    def _ends(self, draws: Draws) -> tuple[Array, Array]:
        """Starts and goals (m, 3), side by side."""
        half = 0.5 * self.distance
        ends, length = np.array([[-half, 0.0, _HEIGHT], [half, 0.0, _HEIGHT]]), self.distance
        if self.goal is not None:
            ends, length = np.array([self._start, self.goal]), self.spread
        places, clearance = free_places(
            ends, length, draws, lambda points, rows: self.nearest(points, rows)[0], self.radius
        )
        if not (clearance > self.radius).all():
            raise ValueError(self._no_free_place())
        if self.goal is None:
            places[0, :, 2] += draws.uniform(-0.5, 0.5)
        return places[0], places[1]

    def _no_free_place(self) -> str:
        """The message of an error for starts or goals in contact."""
        if self.goal is None:
            return (
                f"density = {shown(self.density)}: expected starts and goals without contact, all "
                "places of a forest touch trees; reduce it or trunk_radius"
            )
        return (
            f"goal = {tuple(self.goal.tolist())}, spread = {self.spread:g}: expected starts and "
            "goals without contact, all places of a scene touch items; move goal or increase spread"
        )

    def nearest(
        self, points: NDArray[Any], rows: NDArray[np.intp] | None = None
    ) -> tuple[Array, Array]:
        """Returns distances (m, …) m to the nearest obstacles, and their derivatives (m, …, 3).

        points: (m, …, 3) m, a row for each environment, or for each of `rows`.
        """
        forests = self._forests if rows is None else self._forests[rows]
        shape = points.shape[:-1]
        number = np.broadcast_to(forests.reshape(-1, *[1] * (len(shape) - 1)), shape)
        found = nearest_items(self._obstacles, points, number)
        return found.distance, found.normal

    def _aim(self, position: Numbers) -> None:
        """Computes the distance from the goal and the velocity of a straight flight."""
        away: Numbers = self._goal - position
        self._distance = np.sqrt(np.square(away).sum(axis=1))
        rate = self._speed / np.maximum(self._distance, np.float32(1e-3))
        self.desired = np.asarray(away * rate[:, None], dtype=np.float32)

    def moved(self, state: State, rows: NDArray[np.intp]) -> None:
        """Continues from the new position."""
        self._before[rows] = state.position[rows]
        self._aim(self._before)
        self._axes[rows] = self._axes_of(state)[rows]
        self._last[rows] = self._axes[rows]

    def _axes_of(self, state: State) -> Numbers:
        """Directions (n, 5) of the thrust and of the body's x axis, with the goal ahead."""
        bearing, rotation = np.arctan2(self.desired[:, 1], self.desired[:, 0]), state.rotation
        thrust = about_z(-bearing, rotation[:, :, 2])
        return np.column_stack([thrust, about_z(-bearing, rotation[:, :, 0])[:, :2]])

    def update(self, state: State) -> None:
        """Computes rewards and terminations."""
        before, last = self._before, self._distance
        self._before = state.position.copy()
        for scene, rows in zip(self._scenes, self._groups, strict=True):
            hits = scene.spherecast(before[rows], state.position[rows], self.radius)
            self._collided[rows] = hits.id >= 0
        self._aim(state.position)
        if self.past:
            self._last, self._axes = self._axes, self._axes_of(state)
        path = np.sqrt(np.square(state.position - before).sum(axis=1))
        self._flown += path * (state.steps > self._first)
        self._arrived = (self._distance < self.arrival) & ~self._collided
        self._terminated = self._collided | self._arrived
        w = self.weights
        nearer, collided = last - self._distance, self._collided.astype(np.float32)
        self._reward = np.float32(w.progress) * nearer - np.float32(w.collision) * collided

    def target(self, state: State) -> Numbers:
        """Returns the goals [m]."""
        return self._goal

    def observation(self, state: State) -> Numbers:
        """Returns the columns (n, 11) of the class, (n, 16 + A) with `past`."""
        bearing = np.arctan2(self.desired[:, 1], self.desired[:, 0])
        velocity = about_z(-bearing, state.velocity)
        height = state.position[:, 2] - self._goal[:, 2]
        distance = np.minimum(self._distance, _SEEN)
        past = [self._last, state.action] if self.past else []
        axes = self._axes_of(state)
        return np.column_stack([velocity, axes, height, self._speed, distance, *past])

    def loss(self, window: StateWindow) -> Any:
        """Returns the costs (T, n) of a window of flight, tensors with gradients."""
        from propwash.gym._forest_loss import loss

        place = window.position[1:].detach().numpy().transpose(1, 0, 2)
        distance, normal = self.nearest(place)
        gap = distance.astype(np.float32) - np.float32(self.radius)
        return loss(window, gap, normal, self._speed, self._period, self.weights.smoothness)

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns success, collision, speed after the first 2 s, set speed [m/s], distance [m]."""
        return {
            "success": self._arrived.copy(),
            "collision": self._collided.copy(),
            "speed": self._flown / (np.maximum(state.steps - self._first, 1) * self._period),
            "set_speed": self._speed,
            "distance": self._distance,
        }

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns the arrivals, those at each set speed, and the mean speeds of their flights.

        It omits set speeds without episodes, and speeds without flights longer than 2 s.
        """
        arrived, infos = np.asarray(result.success), result.infos
        found = {"arrived [%]": 100.0 * float(np.mean(arrived))}
        for speed in self._listed():
            those = infos["set_speed"] == np.float32(speed)
            flown = infos["speed"][those & arrived & (infos["speed"] > 0.0)]
            rate, mean = _names_at(speed)
            if those.any():
                found[rate] = 100.0 * float(np.mean(arrived[those]))
            if len(flown):
                found[mean] = float(np.mean(flown))
        return found

    def _listed(self) -> tuple[float, ...]:
        """Set speeds that measures() lists."""
        return self.speed if len(self.speed) <= _MAX_ROWS else ()

    def tradeoff(self, measured: Mapping[str, float]) -> tuple[str, str, list[Point]]:
        """Returns the arrivals against the flown speed."""
        names = map(_names_at, self._listed())
        points = [(measured[mean], measured[rate]) for rate, mean in names if mean in measured]
        return "flown speed [m/s]", "arrived [%]", points

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """Most arrivals."""
        return (measured["arrived [%]"],)


def _names_at(speed: float) -> tuple[str, str]:
    """Names of the measures at a set speed: arrivals, and their mean speed."""
    name = f"at {speed:g} m/s set"
    return f"arrived, {name} [%]", f"speed after 2 s, {name}, mean [m/s]"


def _several(name: str, value: Any) -> tuple[float, ...]:
    """One number > 0 or several, as a tuple."""
    numbers = tuple(value) if isinstance(value, Sequence) and len(value) else (value,)
    return tuple(checks.positive(name, each) for each in numbers)


def _obstacles(scene: Scene) -> Scene:
    """The scene without ground."""
    return Scene([item for item in scene.items if not isinstance(item, Plane)])
