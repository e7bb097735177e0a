"""Track: follow a path that closes, at a speed that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash.fleet import Fleet
from propwash.gym._draws import Draws
from propwash.gym._state import State
from propwash.gym._task import Numbers, Task, squared

Array = NDArray[np.float64]

_SAMPLES = 2048


class Circle:
    """A level circle about the origin; radius: m."""

    def __init__(self, radius: float = 2.0) -> None:
        self.radius = _positive("radius", radius)

    def points(self) -> Array:
        """(k, 3) m, around once, the first point not again at the end."""
        angle = np.linspace(0.0, 2.0 * np.pi, 8 * _SAMPLES, endpoint=False)
        level = np.zeros_like(angle)
        return self.radius * np.stack([np.cos(angle), np.sin(angle), level], axis=1)


class Lemniscate:
    """A level figure eight (Gerono's) about the origin: x = a cos, y = a sin cos; size: a [m]."""

    def __init__(self, size: float = 3.0) -> None:
        self.size = _positive("size", size)

    def points(self) -> Array:
        """(k, 3) m, around once, the first point not again at the end."""
        angle = np.linspace(0.0, 2.0 * np.pi, 8 * _SAMPLES, endpoint=False)
        across = np.sin(angle) * np.cos(angle)
        return self.size * np.stack([np.cos(angle), across, np.zeros_like(angle)], axis=1)


class Waypoints:
    """A smooth closed curve through points (k, 3) [m], k >= 3: a centripetal Catmull-Rom spline.

    C. Yuksel, S. Schaefer, J. Keyser, "Parameterization and applications of Catmull-Rom curves",
    CAD 2011.
    """

    def __init__(self, points: ArrayLike) -> None:
        given = np.array(points, dtype=np.float64)
        if given.ndim != 2 or given.shape[1] != 3 or len(given) < 3 or not np.isfinite(given).all():
            raise ValueError(
                f"points: expected at least 3 finite points, (k, 3) [m], got shape {given.shape}"
            )
        gaps = np.linalg.norm(np.roll(given, -1, axis=0) - given, axis=1)
        if not (gaps > 1e-6).all():
            at = int(np.argmin(gaps))
            raise ValueError(f"points: expected neighbours apart, got twice {given[at].tolist()}")
        self.given = given

    def points(self) -> Array:
        """(k, 3) m, around once, the first point not again at the end."""
        before, start, end, after = (np.roll(self.given, k, axis=0) for k in (1, 0, -1, -2))
        first, second, third = (
            np.sqrt(np.linalg.norm(b - a, axis=1))[:, None]
            for a, b in ((before, start), (start, end), (end, after))
        )
        # tangents over the middle piece, scaled to its own parameter in [0, 1)
        leaving = (start - before) / first - (end - before) / (first + second)
        leaving = second * (leaving + (end - start) / second)
        arriving = (end - start) / second - (after - start) / (second + third)
        arriving = second * (arriving + (after - end) / third)
        count = max(64, 8 * _SAMPLES // len(self.given))
        u = np.linspace(0.0, 1.0, count, endpoint=False)[None, :, None]
        curve = (
            (2 * u**3 - 3 * u**2 + 1) * start[:, None]
            + (u**3 - 2 * u**2 + u) * leaving[:, None]
            + (3 * u**2 - 2 * u**3) * end[:, None]
            + (u**3 - u**2) * arriving[:, None]
        )
        points: Array = curve.reshape(-1, 3)
        return points


class Track(Task):
    """Follow a closed path at a kept speed; where on it an episode starts is drawn.

    path: "circle", "lemniscate", a Circle, Lemniscate or Waypoints. speed: m/s along it.
    spread: m, how far from its point of the path a vehicle starts along each axis.
    bound: m, distance at which it is over. The state's extras: velocity of the point (3), and where
    it will be from now in 0.1, 0.2, 0.4 s (9), both in `frame`, the latter from the vehicle.

    Reward: 1 / (1 + 2 distance) − 0.02 |velocity error| − 0.002 |rates|² − 0.02 |change of action|²
    """

    episode_seconds: ClassVar[float] = 10.0
    ahead = (0.1, 0.2, 0.4)

    def __init__(
        self,
        path: str | Circle | Lemniscate | Waypoints = "lemniscate",
        speed: float = 2.0,
        spread: float = 0.3,
        bound: float = 5.0,
        frame: str = "world",
    ) -> None:
        super().__init__(frame)
        known: dict[str, Any] = {"circle": Circle, "lemniscate": Lemniscate}
        if isinstance(path, str):
            if path not in known:
                raise ValueError(
                    f"path: expected 'circle', 'lemniscate' or Waypoints(…), got {path!r:.100}"
                )
            path = known[path]()
        if not isinstance(path, Circle | Lemniscate | Waypoints):
            raise TypeError(
                f"path: expected a name, Circle, Lemniscate or Waypoints, got {path!r:.100}"
            )
        self.speed = _positive("speed", speed)
        self.spread, self.bound = _positive("spread", spread), _positive("bound", bound)
        self._table, self.length = _even(path.points())

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Keeps where on the path each episode began."""
        self._phase = np.zeros(fleet.size)
        self._is_stale = True

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Near a point of the path, at its velocity."""
        phase = draws.uniform(0.0, self.length)
        self._phase = self._phase.copy()
        self._phase[draws.rows] = phase
        self._is_stale = True
        place, velocity = self._places(phase), self._velocities(phase)
        return {
            "position": place + draws.uniform(-self.spread, self.spread, 3),
            "velocity": velocity + draws.uniform(-0.2, 0.2, 3),
            "attitude": draws.attitude(0.2),
        }

    def _cells(self, way: Array) -> tuple[NDArray[np.intp], Numbers]:
        """Where in the table ways (m,) [m] lie, and by which share of a leap after that."""
        cell = way * (_SAMPLES / self.length)
        whole = cell.astype(np.intp)
        share = (cell - whole).astype(np.float32)
        whole %= _SAMPLES
        return whole, share

    def _places(self, way: Array) -> Numbers:
        whole, share = self._cells(way)
        place = np.empty((len(way), 3), dtype=np.float32)
        for axis in range(3):
            leap = self._table[3 + axis].take(whole)
            leap *= share
            np.add(self._table[axis].take(whole), leap, out=place[:, axis])
        return place

    def _velocities(self, way: Array) -> Numbers:
        whole, _ = self._cells(way)
        speed = np.float32(self.speed * _SAMPLES / self.length)
        velocity = np.empty((len(way), 3), dtype=np.float32)
        for axis in range(3):
            np.multiply(self._table[3 + axis].take(whole), speed, out=velocity[:, axis])
        return velocity

    def _way(self, state: State, later: float) -> Array:
        return self._phase + self.speed * (state.steps * state.period + later)

    def reference(self, state: State, later: float = 0.0) -> tuple[Numbers, Numbers]:
        """Where each vehicle should be, (n, 3) m, and how fast, (n, 3) m/s, in `later` seconds."""
        way = self._way(state, later)
        return self._places(way), self._velocities(way)

    def _refresh(self, state: State) -> None:
        if self._is_stale:
            self._target, self._velocity = self.reference(state)
            self._is_stale = False

    def target(self, state: State) -> Numbers:
        """The point that runs along the path."""
        self._refresh(state)
        return self._target

    def update(self, state: State) -> None:
        """Looks up the point once for reward and end."""
        self._is_stale = True
        self._refresh(state)
        self._far = squared(state.position - self._target)

    def extras(self, state: State) -> list[Numbers]:
        """The point's velocity, and where it will be."""
        self._refresh(state)
        parts = [self._velocity]
        ways = (self._way(state, later) for later in self.ahead)
        parts += [self._places(way) - state.position for way in ways]
        if self.frame == "body":
            parts = [state.to_body(part) for part in parts]
        return parts

    def reward(self, state: State) -> Any:
        """Near the point, with its velocity, calm."""
        distance = np.sqrt(self._far)
        slip = np.sqrt(squared(state.velocity - self._velocity))
        worth = np.float32(1.0) / (np.float32(1.0) + np.float32(2.0) * distance)
        worth -= np.float32(0.02) * slip
        worth -= np.float32(0.002) * squared(state.body_rates)
        change = np.square(state.action - state.previous_action)
        for column in range(change.shape[1]):
            worth -= np.float32(0.02) * change[:, column]
        return worth

    def terminated(self, state: State) -> Any:
        """Too far from the point."""
        return self._far > np.float32(self.bound**2)

    def info(self, state: State) -> Mapping[str, Any]:
        """distance: m, from the point at the end."""
        return {"distance": np.sqrt(self._far)}


def _positive(name: str, value: float) -> float:
    if not 0.0 < value < np.inf:
        raise ValueError(f"{name}: expected a finite number > 0, got {value!r:.100}")
    return float(value)


def _even(points: Array) -> tuple[Numbers, float]:
    """x, y, z and the leaps to the next, (6, samples), at even ways; the length of the curve."""
    closed = np.concatenate([points, points[:1]])
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    even = np.linspace(0.0, ways[-1], _SAMPLES, endpoint=False)
    place = np.stack([np.interp(even, ways, closed[:, axis]) for axis in range(3)])
    leaps = np.roll(place, -1, axis=1) - place
    return np.concatenate([place, leaps]).astype(np.float32), float(ways[-1])
