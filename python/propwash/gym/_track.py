"""Track: follow a path that closes, at a speed that is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash._checks import positive
from propwash.fleet import Fleet
from propwash.gym._draws import Draws
from propwash.gym._rewards import TrackReward, weights_of
from propwash.gym._scenery import dashes
from propwash.gym._state import State
from propwash.gym._task import Judged, Numbers
from propwash.trajectories import Circle, Lemniscate, Path
from propwash.world import Scene

Array = NDArray[np.float64]

_SAMPLES = 2048


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


class Track(Judged):
    """Follow a closed path at a kept speed; where on it an episode starts is drawn.

    path: "circle", "lemniscate", any path of propwash.trajectories that closes, such as
        Circle(3.0), or Waypoints; its own times do not matter. speed: m/s along it.
    spread: m, how far from its point of the path a vehicle starts along each axis.
    bound: m, distance at which it is over. The state's extras: velocity of the point (3), and where
    it will be from now in 0.1, 0.2, 0.4 s (9), both in `frame`, the latter from the vehicle.
    weights: of the reward, a TrackReward, which states it, or a dict of its fields.
    """

    episode_seconds: ClassVar[float] = 10.0
    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_path", "_points", "_scenery")

    def __init__(
        self,
        path: str | Path | Waypoints = "lemniscate",
        speed: float = 2.0,
        spread: float = 0.3,
        bound: float = 5.0,
        frame: str = "world",
        weights: TrackReward | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(TrackReward, weights)
        known: dict[str, Any] = {"circle": Circle, "lemniscate": Lemniscate}
        if isinstance(path, str):
            if path not in known:
                raise ValueError(
                    f"path: expected 'circle', 'lemniscate' or Waypoints(…), got {path!r:.100}"
                )
            path = cast(Path, known[path]())
        self.speed = positive("speed", speed)
        self.spread, self.bound = positive("spread", spread), positive("bound", bound)
        table, self.length = _even(_around(path))
        self._path = _core.TrackPath(table, self.length, self.speed)
        self._points = table[:, :3].astype(np.float64)
        self._scenery: Scene | None = None

    def points(self) -> Array:
        """(k, 3) m, the path once around, its first point again at the end."""
        return np.concatenate([self._points, self._points[:1]])

    def scenery(self, row: int) -> Scene:
        """The path."""
        if self._scenery is None:
            self._scenery = Scene(dashes(self._points, self.length), name="path")
        return self._scenery

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Keeps where on the path each episode began."""
        self._phase = np.zeros(fleet.size)
        self._start = np.zeros(fleet.size)
        self._is_stale = True

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Near a point of the path, at its velocity."""
        phase = draws.uniform(0.0, self.length)
        self._start[draws.rows] = phase
        now = np.zeros(draws.size, dtype=np.int32)
        place, velocity = self._path.follow(phase, now, 0.0)
        return {
            "position": place + draws.uniform(-self.spread, self.spread, 3),
            "velocity": velocity + draws.uniform(-0.2, 0.2, 3),
            "attitude": draws.attitude(0.2),
        }

    def started(self, rows: NDArray[np.intp]) -> None:
        """Where on the path they are."""
        self._phase[rows] = self._start[rows]
        self._is_stale = True

    def reference(self, state: State, later: float = 0.0) -> tuple[Numbers, Numbers]:
        """Where each vehicle should be, (n, 3) m, and how fast, (n, 3) m/s, in `later` seconds."""
        return self._path.follow(self._phase, state.steps, state.period, later)

    def _refresh(self, state: State) -> None:
        if self._is_stale:
            self._target, self._velocity = self.reference(state)
            self._is_stale = False

    def target(self, state: State) -> Numbers:
        """The point that runs along the path."""
        self._refresh(state)
        return self._target

    def update(self, state: State) -> None:
        """Looks up the point, and judges the step."""
        self._is_stale = True
        self._refresh(state)
        self._reward, self._over, self._distance = _core.judge_track(
            state.position,
            state.velocity,
            state.body_rates,
            state.action,
            state.previous_action,
            self._target,
            self._velocity,
            self.weights.numbers(),
            self.bound,
        )

    def extras(self, state: State) -> Numbers:
        """The point's velocity, and where it will be."""
        self._refresh(state)
        seen = self._path.look_ahead(
            self._phase, state.steps, state.period, state.position, self._velocity
        )
        return state.to_body(seen) if self.frame == "body" else seen

    def info(self, state: State) -> Mapping[str, Any]:
        """distance: m, from the point at the end."""
        return {"distance": self._distance}


def _around(path: Path | Waypoints) -> Array:
    """(k, 3) m, around once, the first point not again at the end."""
    if isinstance(path, Waypoints):
        return path.points()
    if not isinstance(path, Path):
        raise TypeError(
            "path: expected a name, a path of propwash.trajectories or Waypoints, got "
            f"{path!r:.100}"
        )
    points = path.sample(period=path.duration / (8 * _SAMPLES)).position
    gap, length = np.linalg.norm(points[-1] - points[0]), np.ptp(points, axis=0).max()
    if not gap <= 1e-3 * length:
        raise ValueError(f"path: expected one that closes, its ends are {gap:.3g} m apart")
    return points[:-1]


def _even(points: Array) -> tuple[Numbers, float]:
    """Points and the leaps to the next, (samples, 6), at even ways; the length of the curve."""
    closed = np.concatenate([points, points[:1]])
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    even = np.linspace(0.0, ways[-1], _SAMPLES, endpoint=False)
    place = np.stack([np.interp(even, ways, closed[:, axis]) for axis in range(3)])
    leaps = np.roll(place, -1, axis=1) - place
    return np.concatenate([place, leaps]).T.astype(np.float32), float(ways[-1])
