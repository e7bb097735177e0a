"""Track: follow a closed path at constant speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _learn
from propwash._checks import positive
from propwash.fleet import Fleet
from propwash.gym._randomize import Draws
from propwash.gym._rewards import TrackReward, weights_of
from propwash.gym._state import State
from propwash.gym._task import Judged, Numbers, dashes, final_distance, lost
from propwash.trajectories import Circle, Lemniscate, Path
from propwash.world import Scene

if TYPE_CHECKING:
    from propwash.gym._evaluation import Evaluation

Array = NDArray[np.float64]

_SAMPLES = 2048


class WaypointSpline:
    """A smooth closed curve through points (k, 3) [m], k >= 3: a centripetal Catmull-Rom spline.

    C. Yuksel, S. Schaefer, J. Keyser, "Parameterization and applications of Catmull-Rom curves",
    CAD 2011.
    """

    def __init__(self, points: ArrayLike) -> None:
        array = np.array(points, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != 3 or len(array) < 3 or not np.isfinite(array).all():
            raise ValueError(
                f"points: expected at least 3 finite points, (k, 3) [m], got shape {array.shape}"
            )
        gaps = np.linalg.norm(np.roll(array, -1, axis=0) - array, axis=1)
        if not (gaps > 1e-6).all():
            at = int(np.argmin(gaps))
            raise ValueError(
                f"points: expected distinct adjacent points, got {array[at].tolist()} twice"
            )
        self.waypoints = array

    def points(self) -> Array:
        """Samples the closed curve once, (k, 3) m, without repeating the first point."""
        before, start, end, after = (np.roll(self.waypoints, k, axis=0) for k in (1, 0, -1, -2))
        first, second, third = (
            np.sqrt(np.linalg.norm(b - a, axis=1))[:, None]
            for a, b in ((before, start), (start, end), (end, after))
        )
        # tangents of the middle segment with respect to its parameter u in [0, 1)
        leaving = (start - before) / first - (end - before) / (first + second)
        leaving = second * (leaving + (end - start) / second)
        arriving = (end - start) / second - (after - start) / (second + third)
        arriving = second * (arriving + (after - end) / third)
        count = max(64, 8 * _SAMPLES // len(self.waypoints))
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
    """Follow a closed path at constant speed; an episode starts at a random point of it.

    The target moves along the path. The extras of the observation are its velocity (3), and its
    positions relative to the vehicle in 0.1, 0.2 and 0.4 s (9), both in `frame`.

    Args:
        path: "circle", "lemniscate", any closed path of propwash.trajectories, such as Circle(3.0),
            or Waypoints. Its time parameterisation is ignored.
        speed: Speed along the path [m/s].
        spread: Maximum initial distance from the path along each axis [m].
        bound: Distance from the target that ends an episode [m].
        frame: Frame of position and velocity in observations, "world" or "body".
        weights: Weights of the reward, a TrackReward or a dict of its fields.
    """

    episode_seconds: ClassVar[float] = 10.0
    starts_ahead: ClassVar[bool] = True
    constants: ClassVar[tuple[str, ...]] = ("scene", "weights", "_path", "_points", "_scenery")

    def __init__(
        self,
        path: str | Path | WaypointSpline = "lemniscate",
        speed: float = 2.0,
        spread: float = 0.3,
        bound: float = 5.0,
        frame: str = "world",
        weights: TrackReward | Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(frame)
        self.weights = weights_of(TrackReward, weights)
        if isinstance(path, str):
            known: dict[str, Any] = {"circle": Circle, "lemniscate": Lemniscate}
            if path not in known:
                raise ValueError(
                    f"path: expected 'circle', 'lemniscate' or Waypoints(…), got {path!r:.100}"
                )
            path = cast(Path, known[path]())
        self.speed = positive("speed", speed)
        self.spread, self.bound = positive("spread", spread), positive("bound", bound)
        table, self.length = _even(_around(path))
        self._path = _learn.TrackPath(table, self.length, self.speed)
        self._points = table[:, :3].astype(np.float64)
        self._scenery: Scene | None = None

    def points(self) -> Array:
        """Returns the closed path (k, 3) [m]; the last point repeats the first."""
        return np.concatenate([self._points, self._points[:1]])

    def scenery(self, row: int) -> Scene:
        """Returns the path as dashes."""
        if self._scenery is None:
            self._scenery = Scene(dashes(self._points, self.length), name="path")
        return self._scenery

    def begin(self, fleet: Fleet, period: float, index: int) -> None:
        """Allocates the positions on the path at the start of episodes."""
        self._phase = np.zeros(fleet.size)
        self._start = np.zeros(fleet.size)
        self._is_stale = True

    def reset_state(self, draws: Draws) -> Mapping[str, Any]:
        """Draws states close to a point of the path, at the target's velocity."""
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
        """Sets the initial position on the path."""
        self._phase[rows] = self._start[rows]
        self._is_stale = True

    def reference(self, state: State, ahead: float = 0.0) -> tuple[Numbers, Numbers]:
        """Returns target positions (n, 3) m and velocities (n, 3) m/s, `ahead` seconds from now."""
        return self._path.follow(self._phase, state.steps, state.period, ahead)

    def _refresh(self, state: State) -> None:
        if self._is_stale:
            self._target, self._velocity = self.reference(state)
            self._is_stale = False

    def target(self, state: State) -> Numbers:
        """Returns the position (n, 3) m of the target on the path."""
        self._refresh(state)
        return self._target

    def update(self, state: State) -> None:
        """Moves the target, and computes rewards and terminations."""
        self._is_stale = True
        self._refresh(state)
        self._reward, self._terminated, self._distance = _learn.judge_track(
            state.position,
            state.velocity,
            state.body_rates,
            state.action,
            state.previous_action,
            self._target,
            self._velocity,
            self.weights,
            self.bound,
        )

    def look_ahead(self, state: State, position: Numbers) -> Numbers:
        """Returns the extras (n, 12) of vehicles at `position`, in the world frame."""
        self._refresh(state)
        return self._path.look_ahead(
            self._phase, state.steps, state.period, position, self._velocity
        )

    def extras(self, state: State) -> Numbers:
        """Returns the target's velocity and its future positions, (n, 12)."""
        seen = self.look_ahead(state, state.position)
        return state.to_body(seen) if self.frame == "body" else seen

    def info(self, state: State) -> Mapping[str, Any]:
        """Returns the final distance from the target [m]."""
        return {"distance": self._distance}

    def measures(self, result: Evaluation) -> dict[str, float]:
        """Returns the distance from the target after 2 s, episodes lost, and the final distance."""
        # a vehicle without a row after 2 s has NaN, which counts as infinite
        error = np.nan_to_num(result.error(2.0), nan=np.inf)
        return {
            "error after 2 s, median of RMS [m]": float(np.median(error)),
            **lost(result),
            **final_distance(result),
        }

    def merit(self, measured: Mapping[str, float]) -> tuple[float, ...]:
        """Smallest error, then the smallest final distance."""
        values = list(measured.values())
        return -values[0], -values[-1]


def _around(path: Path | WaypointSpline) -> Array:
    """Samples a closed path once, (k, 3) m, without repeating the first point."""
    if isinstance(path, WaypointSpline):
        return path.points()
    if not isinstance(path, Path):
        raise TypeError(
            "path: expected a name, a path of propwash.trajectories or Waypoints, got "
            f"{path!r:.100}"
        )
    points = path.sample(period=path.duration / (8 * _SAMPLES)).position
    gap, length = np.linalg.norm(points[-1] - points[0]), np.ptp(points, axis=0).max()
    if not gap <= 1e-3 * length:
        raise ValueError(f"path: expected a closed path, its ends are {gap:.3g} m apart")
    return points[:-1]


def _even(points: Array) -> tuple[Numbers, float]:
    """Resamples a closed curve (k, 3) evenly.

    Returns points with differences to the next point (_SAMPLES, 6), and the arc length [m].
    """
    closed = np.concatenate([points, points[:1]])
    arc = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(closed, axis=0), axis=1))])
    even = np.linspace(0.0, arc[-1], _SAMPLES, endpoint=False)
    position = np.stack([np.interp(even, arc, closed[:, axis]) for axis in range(3)])
    steps = np.roll(position, -1, axis=1) - position
    return np.concatenate([position, steps]).T.astype(np.float32), float(arc[-1])
