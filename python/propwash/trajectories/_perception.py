"""Perception-aware yaw: the heading that keeps landmarks in view from one keyframe to the next."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _rotation
from propwash._checks import ParameterError, require_scipy
from propwash.sensors import Camera
from propwash.trajectories._flatness import flatness
from propwash.trajectories._reference import Path
from propwash.trajectories._splines import derivatives
from propwash.trajectories._yaw_search import YawLimits, best_control_points, refined
from propwash.vehicle import files as vehicles
from propwash.vehicle.parameters import VehicleParameters
from propwash.world import Scene

if TYPE_CHECKING:
    from scipy.interpolate import BSpline

Array = NDArray[np.float64]

_SOFTNESS = 0.05
"""Width of the smoothed border of the image [sine of the angle to the border]."""
_MIN_KEYFRAMES = 4
"""Minimum number of intervals between keyframes."""
_SAMPLES = 10
"""Samples per interval at which the yaw of the given path is compared with the limits."""


class _YawSpline(Path):
    """The positions of a path with another yaw, which is constant outside its duration."""

    def __init__(self, path: Path, spline: BSpline) -> None:
        self._path, self._spline = path, spline

    @property
    def duration(self) -> float:
        """s, that of the path."""
        return self._path.duration

    def evaluate(self, time: Array) -> tuple[Array, Array]:
        """Returns position to snap, (5, *S, 3), and yaw with two derivatives, (3, *S)."""
        inside = np.clip(time, 0.0, self.duration)
        yaw = derivatives(self._spline, inside, 3)
        yaw[1:, inside != time] = 0.0
        return self._path.evaluate(time)[0], yaw


@dataclass(frozen=True, eq=False)
class LandmarkViews:
    """What a camera can see at the keyframes of a path, as a function of yaw: (P1) to (P3)."""

    time: Array
    """(K + 1,) s, of the keyframes."""
    thrust_axis: Array
    """(K + 1, 3) unit vectors: body z in the world."""
    offsets: Array
    """(K + 1, J, 3) m, from the origin of the body to the landmarks, world frame."""
    weight: Array
    """(K + 1, J) of a landmark; 0: out of reach or occluded."""
    borders: Array
    """(4, 3) inward normals of the planes through the borders of the image, body frame."""
    camera: Array
    """(3,) m, position of the camera, body frame."""

    def margins(self, rows: int | slice, yaw: Array) -> Array:
        """Sines of the angles to the borders of the image, positive inside.

        rows: one keyframe and yaws (B,), for (B, J, 4), or all keyframes and one yaw each.
        """
        axes = _body_axes(self.thrust_axis[rows], yaw)
        offsets = self.offsets[rows] - (axes @ self.camera)[:, None]
        normals = axes @ self.borders.T
        distance = np.linalg.norm(offsets, axis=-1, keepdims=True)
        return np.asarray((offsets @ normals) / np.maximum(distance, 1e-9))

    def visibility(self, rows: int | slice, yaw: Array) -> Array:
        """(B, J) or (K + 1, J): the weight inside the image, 0 outside, smooth border: (P3)."""
        from scipy.special import expit

        inside = expit(self.margins(rows, yaw) / _SOFTNESS)
        a, b, c, d = np.moveaxis(inside, -1, 0)
        return np.asarray(a * b * c * d * self.weight[rows])

    def visible(self, yaw: Array) -> NDArray[np.bool_]:
        """(K + 1, J) whether landmarks are in the image, for one yaw of each keyframe."""
        return np.asarray(
            (self.margins(slice(None), yaw) >= 0.0).all(axis=-1) & (self.weight > 0.0)
        )


def perception_aware_yaw(
    path: Path,
    landmarks: ArrayLike,
    camera: Camera,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    scene: Scene | None = None,
    max_range: float = np.inf,
    half_distance: float = np.inf,
    interval: float = 0.25,
    max_rate: float = 2.0,
    max_acceleration: float = 6.0,
    smoothness: float = 0.1,
) -> Path:
    """Returns the path with the yaw that keeps most landmarks co-visible: (P4) to (P7).

    A landmark is co-visible if it is in the image at one keyframe and at the next. The positions,
    planned first, do not change; the yaw, planned second, is a cubic spline over the keyframes, at
    rest at both ends. Its rate and acceleration are within the limits at all times. Outside the
    duration of the path it is constant. If the yaw of `path` keeps the limits and costs less,
    `path` itself is returned.

    landmarks: (J, 3) m, world frame. camera: its mounting and field of view. scene: its items
        occlude landmarks; None: nothing does. max_range: m, of the camera.
    half_distance: m, at which a co-visible landmark counts half as much as a near one; near ones
        determine the position better. The mean weight is 1. Infinity: all count the same.
    interval: s, between keyframes; shortened to a whole number of intervals.
    max_rate: rad/s. max_acceleration: rad/s^2.
    smoothness: mean number of landmarks that a mean squared yaw acceleration of 1 rad^2/s^4 costs.

    Raises ValueError or TypeError for invalid arguments and for a path on which the attitude is
    undefined; ImportError if scipy is missing.
    """
    require_scipy("perception_aware_yaw")
    limits = YawLimits(
        _checks.positive("max_rate", max_rate, "rad/s"),
        _checks.positive("max_acceleration", max_acceleration, "rad/s^2"),
    )
    smoothness = _checks.not_negative("smoothness", smoothness)
    views = _views(path, landmarks, camera, vehicle, scene, max_range, interval, half_distance)
    found = best_control_points(views, limits, smoothness)
    planned = _YawSpline(path, _spline(refined(found, views, limits, smoothness), views.time))
    return min(
        [planned, *([path] if _keeps(path, views.time, limits) else [])],
        key=lambda each: _cost(each, views, smoothness),
    )


def covisibility(
    path: Path,
    landmarks: ArrayLike,
    camera: Camera,
    vehicle: str | PathLike[str] | VehicleParameters = "flightgoggles",
    *,
    scene: Scene | None = None,
    max_range: float = np.inf,
    interval: float = 0.25,
) -> NDArray[np.int64]:
    """(K,) numbers of landmarks in the image at one keyframe of a path and at the next.

    The arguments are those of perception_aware_yaw().
    """
    views = _views(path, landmarks, camera, vehicle, scene, max_range, interval)
    visible = views.visible(path.sample(views.time).yaw)
    return np.asarray(np.count_nonzero(visible[:-1] & visible[1:], axis=1))


def _views(
    path: Path,
    landmarks: ArrayLike,
    camera: Camera,
    vehicle: str | PathLike[str] | VehicleParameters,
    scene: Scene | None,
    max_range: float,
    interval: float,
    half_distance: float = np.inf,
) -> LandmarkViews:
    """Checks the arguments of perception_aware_yaw() and evaluates the path at its keyframes."""
    if not isinstance(path, Path):
        raise ParameterError(f"path: expected a Path, got {path!r:.100}")
    points = _checks.shaped("landmarks", landmarks, ("J", 3), unit="m")
    if len(points) == 0:
        raise ValueError(
            "landmarks: expected at least one, got none; propwash.world.surface_points "
            "samples those of a scene"
        )
    if not isinstance(camera, Camera) or camera.position.ndim > 1 or camera.attitude.ndim > 1:
        raise ParameterError(f"camera: expected a Camera with one mounting, got {camera!r:.100}")
    if scene is not None and not isinstance(scene, Scene):
        raise ParameterError(f"scene: expected a Scene or None, got {scene!r:.100}")
    reach = _checks.positive("max_range", max_range, "m", infinite=True)
    half = _checks.positive("half_distance", half_distance, "m", infinite=True)
    step = _checks.positive("interval", interval, "s")
    count = max(_MIN_KEYFRAMES, int(np.ceil(path.duration / step - 1e-9)))
    _checks.whole_number("path.duration / interval", count, _MIN_KEYFRAMES, 100_000)
    reference = path.sample(np.linspace(0.0, path.duration, count + 1))
    axes = _rotation.rotation(flatness(reference, vehicles.load(vehicle)).attitude)
    if not np.isfinite(axes).all():
        row = int(np.argmin(np.isfinite(axes).all(axis=(1, 2))))
        raise ValueError(
            f"path: expected a defined attitude at all keyframes, got free fall or a roll of 90 "
            f"degrees at {reference.time[row]:.3g} s; plan it within trajectories.Limits"
        )
    offsets = points - reference.position[:, None]
    distance = np.linalg.norm(offsets, axis=-1)
    clear = distance <= reach
    if scene is not None:
        clear &= scene.visible(reference.position[:, None], points[None])
    offsets, distance, clear = (each[:, clear.any(axis=0)] for each in (offsets, distance, clear))
    weight = clear / np.hypot(1.0, distance / half)
    weight *= np.sqrt(np.count_nonzero(clear) / max(np.sum(weight**2), 1e-300))
    return LandmarkViews(
        reference.time, axes[..., 2], offsets, weight, _borders(camera), camera.position
    )


def _borders(camera: Camera) -> Array:
    """(4, 3) inward unit normals of the planes through the borders of the image, body frame."""
    half = np.arctan(0.5 * np.array([camera.width, camera.height]) / camera.focal_length)
    (sin_u, sin_v), (cos_u, cos_v) = np.sin(half), np.cos(half)
    borders = [[sin_u, cos_u, 0], [sin_u, -cos_u, 0], [sin_v, 0, cos_v], [sin_v, 0, -cos_v]]
    return np.array(borders) @ _rotation.rotation(camera.attitude).T


def _body_axes(thrust_axis: Array, yaw: Array) -> Array:
    """(B, 3, 3) rotation matrices from body to world axes, with body x in the heading's plane."""
    left = np.stack([-np.sin(yaw), np.cos(yaw), np.zeros_like(yaw)], axis=-1)
    z = np.broadcast_to(thrust_axis, left.shape)
    x = np.cross(left, z)
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    return np.stack([x, np.cross(z, x), z], axis=-1)


def _spline(control_points: Array, time: Array) -> BSpline:
    """The uniform cubic B-spline with the knots `time` [s]."""
    from scipy.interpolate import BSpline

    step = time[1] - time[0]
    outside = np.arange(1, 4) * step
    knots = np.concatenate([time[0] - outside[::-1], time, time[-1] + outside])
    return BSpline(knots, control_points, 3)


def _cost(path: Path, views: LandmarkViews, smoothness: float) -> float:
    """The cost (P5) of the yaw of a path."""
    seen = views.visibility(slice(None), path.sample(views.time).yaw)
    acceleration = path.sample(_dense(views.time)).yaw_acceleration
    covisible = np.mean(np.sum(seen[:-1] * seen[1:], axis=1))
    return float(smoothness * np.mean(acceleration**2) - covisible)


def _keeps(path: Path, time: Array, limits: YawLimits) -> bool:
    rows = path.sample(_dense(time))
    return bool(
        (np.abs(rows.yaw_rate) <= limits.rate).all()
        and (np.abs(rows.yaw_acceleration) <= limits.acceleration).all()
    )


def _dense(time: Array) -> Array:
    return np.linspace(time[0], time[-1], _SAMPLES * (len(time) - 1) + 1)
