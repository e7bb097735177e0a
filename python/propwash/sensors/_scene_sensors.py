"""Sensors that look at a scene: range finder, beacons, depth camera, collisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _core
from propwash import _sensor_checks as sensed
from propwash._checks import checked_parameters
from propwash.fleet.sensor import ModelledSensor, Motion, Reading, Sampling, Sensor
from propwash.sensors._camera import Camera
from propwash.world import Scene

Numbers = NDArray[Any]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RangeReading:
    """Distances along the rays of a range finder."""

    range: Numbers
    """(…) m, or (…, m) for m rays; max_range + 1 where there is nothing within max_range."""


class RangeFinder(ModelledSensor[RangeReading]):
    """Distances along rays that are fixed to the body: one, or as many as wanted.

    scene: what the rays meet.
    directions: (3,) or (m, 3), of the rays, body frame, of any length but zero; down by default.
    max_range: m. variance: m^2, of a reading, as published. position: (3,) m, from which the rays
        start, body frame.
    seed: tells the noise of sensors apart.

    The defaults are those of FlightGoggles (Guerra et al., arXiv 1905.11377, Table I): a LightWare
    SF11/B. Where there is nothing within max_range it reads max_range + 1, without noise, as the
    published renderer does. Raises ParameterError for invalid ones.

    >>> ground = RangeFinder(Scene.load("room"))
    >>> ground.measure(position=[0, 0, 1.5], attitude=[1, 0, 0, 0]).range
    """

    kind: ClassVar[str] = "range_finder"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        directions: ArrayLike = (0.0, 0.0, -1.0),
        max_range: float = 20.0,
        variance: float = 0.009,
        position: ArrayLike = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        rows = sensed.points("directions", directions)
        self._is_single = rows.ndim == 1
        rows = np.atleast_2d(rows)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        if len(rows) == 0 or not (largest > 0.0).all():
            raise ValueError(
                f"directions: expected vectors that are not zero, got {rows.tolist()!r:.100}"
            )
        rows = rows / largest  # whose squares neither vanish nor overflow
        self._directions: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._max_range = sensed.at_least("max_range", max_range, 0.0, "m", open_=True)
        self._variance = sensed.at_least("variance", variance, 0.0, "m^2")
        self._position = sensed.vector("position", position, "m")
        self._make()

    def _make(self) -> None:
        self._model = _core.RangeFinderModel(
            self._directions, self._max_range, self._variance, self._position
        )

    @property
    def scene(self) -> Scene:
        """What the rays meet."""
        return self._scene

    @property
    def directions(self) -> Array:
        """(m, 3) unit vectors, body frame."""
        return self._directions.copy()

    @property
    def max_range(self) -> float:
        """Of the readings, m."""
        return self._max_range

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> RangeReading:
        """The distances from bodies at positions (…, 3) m with attitudes (…, 4).

        A body of which a number is not finite reads NaN.
        """
        return self._measured(position, attitude)

    def _read(self, motion: Motion, sampling: Sampling) -> RangeReading:
        rows = _core.measure_range(
            self._scene.core,
            self._model,
            motion.position,
            motion.attitude,
            sampling.noise,
            sampling.pool,
        )
        return RangeReading(rows[:, 0] if self._is_single else rows)


class _Seeing(Sensor[Reading]):
    """A sensor with a camera, which has a mounting for all bodies or one for each."""

    _camera: Camera

    @property
    def camera(self) -> Camera:
        """What looks. It may be replaced in flight, as a gimbal turns: `camera.mounted()`."""
        return self._camera

    @camera.setter
    def camera(self, camera: Camera) -> None:
        self._camera = self._accepted(camera)

    def _accepted(self, camera: Camera) -> Camera:
        return _camera(camera)

    def _check_size(self, n: int) -> None:
        self._camera._check_bodies(n)


@dataclass(frozen=True, eq=False)
class BeaconReading:
    """Where a camera sees beacons; `Beacons.ids` tells which is which."""

    u: Numbers
    """(…, m) pixels from the left edge of the picture; NaN where not visible."""
    v: Numbers
    """(…, m) pixels from the upper edge of the picture; NaN where not visible."""
    visible: NDArray[np.bool_]
    """(…, m) whether a beacon is in the picture and nothing hides it."""


class Beacons(_Seeing[BeaconReading]):
    """Infrared beacons in a camera's picture: those in view that nothing hides.

    scene: what may hide them. camera: which sees them.
    markers: names and positions (3,) m in the world; None for the scene's own.
    deviation: pixels, of the white noise on u and v. The papers publish none. What is visible is
        decided without it, so a beacon at the rim may be read a little outside the picture.
    seed: tells the noise of sensors apart.

    Raises ParameterError for invalid ones.
    """

    kind: ClassVar[str] = "beacons"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        camera: Camera | None = None,
        markers: Mapping[str, ArrayLike] | None = None,
        deviation: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        self._camera = _camera(camera)
        if markers is None:
            names, positions = self._scene.markers
        else:
            names = tuple(markers)
            positions = np.array(
                [sensed.vector(f"markers[{k!r}]", v, "m") for k, v in markers.items()]
            )
        self._ids = names
        self._positions = np.ascontiguousarray(positions, dtype=np.float64).reshape(-1, 3)
        self._deviation = sensed.at_least("deviation", deviation, 0.0, "pixels")

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the m beacons, in the order of the readings."""
        return self._ids

    @property
    def positions(self) -> Array:
        """(m, 3) m, world frame."""
        return self._positions.copy()

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> BeaconReading:
        """What the cameras of bodies at positions (…, 3) m with attitudes (…, 4) see."""
        return self._measured(position, attitude)

    def _read(self, motion: Motion, sampling: Sampling) -> BeaconReading:
        self._check_size(len(motion))
        return BeaconReading(
            *_core.measure_beacons(
                self._scene.core,
                self._camera.core,
                self._positions,
                motion.position,
                motion.attitude,
                self._deviation,
                sampling.noise,
                sampling.pool,
            )
        )


@dataclass(frozen=True, eq=False)
class DepthReading:
    """Depth images."""

    depth: Numbers
    """(…, height, width) m along the optical axis, first row at the top; max_depth where there is
    nothing nearer."""


class DepthCamera(_Seeing[DepthReading]):
    """Small depth images, as a time-of-flight camera takes them.

    scene: what is seen. camera: width, height, field of view and mounting; 64 x 48 by default. Its
    mounting may be replaced in flight, its picture may not.
    max_depth: m, what is read where there is nothing nearer. deviation: m, of white noise.
    seed: tells the noise of sensors apart.

    A ray goes through the centre of each pixel. Memory is for the images and one image's rays.
    Raises ParameterError for invalid ones.
    """

    kind: ClassVar[str] = "depth_camera"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        camera: Camera | None = None,
        max_depth: float = 100.0,
        deviation: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        self._camera = Camera(64, 48) if camera is None else _camera(camera)
        self._max_depth = sensed.at_least("max_depth", max_depth, 0.0, "m", open_=True)
        self._deviation = sensed.at_least("deviation", deviation, 0.0, "m")

    def _accepted(self, camera: Camera) -> Camera:
        given, present = super()._accepted(camera), self._camera
        if (given.width, given.height) != (present.width, present.height):
            raise ValueError(
                f"camera: expected a picture of {present.width} x {present.height} pixels as "
                f"before, got {given.width} x {given.height}; make another DepthCamera"
            )
        return given

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> DepthReading:
        """Images of bodies at positions (…, 3) m with attitudes (…, 4)."""
        return self._measured(position, attitude)

    def _read(self, motion: Motion, sampling: Sampling) -> DepthReading:
        self._check_size(len(motion))
        return DepthReading(
            _core.measure_depth(
                self._scene.core,
                self._camera.core,
                self._max_depth,
                self._deviation,
                motion.position,
                motion.attitude,
                sampling.noise,
                sampling.pool,
            )
        )


@dataclass(frozen=True, eq=False)
class CollisionReading:
    """Whether bodies touch something."""

    collision: NDArray[np.bool_]
    """(…)"""
    id: NDArray[np.int32]
    """(…) number of the item that is touched, one of them where there are several; -1: none."""


class CollisionSensor(Sensor[CollisionReading]):
    """Whether a sphere about a point of the body touches anything of a scene.

    scene: what may be touched. radius: m; 0.15 is that of the published renderer.
    position: (3,) m, of the sphere's centre, body frame.

    It tells of the instants at which it measures: attach it at a high rate where touches are short.
    Raises ParameterError for invalid ones.
    """

    kind: ClassVar[str] = "collision_sensor"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        radius: float = 0.15,
        position: ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        super().__init__(0)
        self._scene = _scene(scene)
        self._radius = sensed.at_least("radius", radius, 0.0, "m", open_=True)
        # the mounting of a camera is a place of the body, whatever the picture
        self._mounting = Camera(1, 1, position=sensed.vector("position", position, "m"))

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> CollisionReading:
        """Whether bodies at positions (…, 3) m with attitudes (…, 4) touch anything."""
        return self._measured(position, attitude)

    def _read(self, motion: Motion, sampling: Sampling) -> CollisionReading:
        at, _ = self._mounting.pose(motion.position, motion.attitude)
        return CollisionReading(*self._scene.collides(at, radius=self._radius))


def _scene(value: object) -> Scene:
    if not isinstance(value, Scene):
        raise TypeError(f"scene: expected a Scene, such as Scene.load('room'), got {value!r:.100}")
    return value


def _camera(value: object) -> Camera:
    if value is None:
        return Camera()
    if not isinstance(value, Camera):
        raise TypeError(f"camera: expected a Camera, got {value!r:.100}")
    return value
