"""Sensors of a scene: range finder, beacons, depth camera, collisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core, _world
from propwash._checks import checked_parameters
from propwash.sampling.sensor import ModelledSensor, Motion, Reading, Sampling, Sensor
from propwash.sensors._camera import Camera
from propwash.sensors._stereo_error import StereoError
from propwash.world import Markers, Scene

Numbers = NDArray[Any]
Array = NDArray[np.float64]


_RANGE_FINDER = _core.sensor_defaults("range_finder")


@dataclass(frozen=True, eq=False)
class RangeReading:
    """Distances along the rays of a range finder."""

    range: Numbers
    """(…) m, or (…, m) for m rays; max_range + 1 for a ray that hits nothing within max_range."""


class _InScene:
    """A sensor of a scene, whose moving items are where they are at the time of a reading."""

    _scene: Scene

    @property
    def scene(self) -> Scene:
        """The scene that is measured."""
        return self._scene

    @property
    def is_joint(self) -> bool:
        """Whether the measured bodies see each other."""
        return self._scene.vehicles is not None

    def _now(self, motion: Motion, sampling: Sampling) -> Scene:
        """The scene at the time of a reading, with the bodies if they see each other."""
        scene = self._scene
        if sampling.time is None and scene.has_motion:
            raise ValueError(
                "time: expected the time of the reading [s], because items of the scene move, got "
                "None; a scene of one time is scene.at(time)"
            )
        time = 0.0 if sampling.time is None else sampling.time
        if scene.vehicles is None:
            return scene.at(time) if scene.has_motion else scene
        position = motion.position
        if sampling.absent is not None:
            position = np.where(sampling.absent[:, None], np.nan, position)
        return scene.at(time, position, motion.attitude)


class RangeFinder(_InScene, ModelledSensor[RangeReading]):
    """Distances along one or several rays that are fixed to the body.

    scene: what the rays hit.
    directions: (3,) or (m, 3), of the rays, body frame, of any non-zero length; down by default.
    max_range: m. variance: m^2, of a reading, as published. position: (3,) m, start of the rays,
        body frame.
    seed: of the noise.

    The defaults are those of FlightGoggles (Guerra et al., arXiv 1905.11377, Table I): a LightWare
    SF11/B. A ray that hits nothing within max_range reads max_range + 1, without noise, as in the
    published renderer. Raises ParameterError for invalid arguments.

    >>> ground = RangeFinder(Scene.load("room"))
    >>> ground.measure(position=[0, 0, 1.5], attitude=[1, 0, 0, 0]).range
    """

    kind: ClassVar[str] = "range_finder"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        directions: ArrayLike = (0.0, 0.0, -1.0),
        max_range: float = _RANGE_FINDER["max_range"],
        variance: float = _RANGE_FINDER["variance"],
        position: ArrayLike = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        rows = _checks.shaped("directions", directions, ("m", 3), (3,))
        self._is_single = rows.ndim == 1
        rows = np.atleast_2d(rows)
        largest = np.abs(rows).max(axis=1, keepdims=True)
        if len(rows) == 0 or not (largest > 0.0).all():
            raise ValueError(f"directions: expected non-zero vectors, got {rows.tolist()!r:.100}")
        rows = rows / largest  # so that squares neither underflow nor overflow
        self._directions: Array = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._max_range = _checks.positive("max_range", max_range, "m")
        self._variance = _checks.not_negative("variance", variance, "m^2")
        self._position = _checks.shaped("position", position, (3,), unit="m")
        self._make()

    def _make(self) -> None:
        self._model = _world.RangeFinderModel(
            self._directions, self._max_range, self._variance, self._position
        )

    @property
    def directions(self) -> Array:
        """(m, 3) unit vectors, body frame."""
        return self._directions.copy()

    @property
    def max_range(self) -> float:
        """m, the largest distance that is measured."""
        return self._max_range

    def measure(
        self, position: ArrayLike, attitude: ArrayLike, time: float | None = None
    ) -> RangeReading:
        """Measures distances from bodies at positions (…, 3) m with attitudes (…, 4).

        time: s, required if items of the scene move. A body whose pose is not finite reads NaN.
        """
        return self._measured(position, attitude, time=time)

    def _read(self, motion: Motion, sampling: Sampling) -> RangeReading:
        rows = _world.measure_range(
            self._now(motion, sampling).core,
            self._model,
            motion.position,
            motion.attitude,
            sampling.noise,
            sampling.pool,
        )
        return RangeReading(rows[:, 0] if self._is_single else rows)


class _CameraSensor(_InScene, Sensor[Reading]):
    """A sensor with a camera, whose mounting is common to all bodies or has a row for each."""

    _camera: Camera

    @property
    def camera(self) -> Camera:
        """The camera. It may be replaced in flight, as for a gimbal: `camera.mounted()`."""
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
    """Image positions of beacons, in the order of `Beacons.ids`."""

    u: Numbers
    """(…, m) pixels from the left edge of the image; NaN where not visible."""
    v: Numbers
    """(…, m) pixels from the upper edge of the image; NaN where not visible."""
    visible: NDArray[np.bool_]
    """(…, m) whether a beacon is in the image and not occluded."""


class Beacons(_CameraSensor[BeaconReading]):
    """Infrared beacons in the image of a camera: those in view, within reach and not occluded.

    scene: may occlude beacons. camera: the camera that sees them.
    markers: names and positions (3,) m, world frame, of no gate; None for the markers of the scene.
    deviation: pixels, standard deviation of white noise on u and v. The papers publish none.
        Visibility is decided without noise, so a reading may lie slightly outside the image.
    reach: m, the distance from the camera beyond which a beacon is not seen.
    miss_rate: probability, from 0 to 1, that a visible beacon is missing from a reading,
        independent of the others and of other readings.
    seed: of the noise and the misses.

    Raises ParameterError for invalid arguments.
    """

    kind: ClassVar[str] = "beacons"

    @checked_parameters()
    def __init__(
        self,
        scene: Scene,
        camera: Camera | None = None,
        markers: Mapping[str, ArrayLike] | None = None,
        deviation: float = 0.0,
        reach: float = np.inf,
        miss_rate: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        self._camera = _camera(camera)
        self._markers = None if markers is None else _free_markers(markers)
        self._deviation = _checks.not_negative("deviation", deviation, "pixels")
        self._reach = _checks.positive("reach", reach, "m", infinite=True)
        self._miss_rate = _checks.probability("miss_rate", miss_rate)

    @property
    def ids(self) -> tuple[str, ...]:
        """The names of the m beacons, in the order of the readings."""
        return self._known.names

    @property
    def positions(self) -> Array:
        """(m, 3) m, world frame; of markers that move, at time 0."""
        return self._known.positions.copy()

    @property
    def gates(self) -> tuple[str, ...]:
        """(m,) name of the gate of each beacon; empty: none."""
        return self._known.gates

    @property
    def corners(self) -> NDArray[np.int32]:
        """(m,) corner of its gate, as `Markers.corners`; -1 without a gate."""
        return self._known.corners.copy()

    @property
    def _known(self) -> Markers:
        """Own markers, or those of the scene."""
        return self._scene.markers if self._markers is None else self._markers

    def measure(
        self, position: ArrayLike, attitude: ArrayLike, time: float | None = None
    ) -> BeaconReading:
        """Measures beacons from bodies at positions (…, 3) m with attitudes (…, 4).

        time: s, required if items of the scene move.
        """
        return self._measured(position, attitude, time=time)

    def _read(self, motion: Motion, sampling: Sampling) -> BeaconReading:
        self._check_size(len(motion))
        now = self._now(motion, sampling)
        return BeaconReading(
            *_world.measure_beacons(
                now.core,
                self._camera.core,
                (now.markers if self._markers is None else self._markers).positions,
                motion.position,
                motion.attitude,
                self._deviation,
                self._reach,
                self._miss_rate,
                sampling.noise,
                sampling.pool,
            )
        )


@dataclass(frozen=True, eq=False)
class DepthReading:
    """Depth images."""

    depth: Numbers
    """(…, height, width) m along the optical axis, first row at the top; max_depth where
    nothing is nearer, 0 where stereo gives no reading."""


class DepthCamera(_CameraSensor[DepthReading]):
    """Small depth images, like those of a time-of-flight or a stereo camera.

    scene: what is seen. camera: width, height, field of view and mounting; 64 x 48 by default. Its
        mounting may be replaced in flight, its image size may not.
    max_depth: m, the reading where nothing is nearer. deviation: m, of white noise.
    seed: of the noise.
    stereo: the errors of depth from stereo, for a camera without distortion; None: no such errors.

    One ray is cast through the centre of each pixel. Memory is used for the images and the rays of
    one image. Raises ParameterError for invalid arguments.
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
        stereo: StereoError | None = None,
    ) -> None:
        super().__init__(seed)
        self._scene = _scene(scene)
        self._camera = Camera(64, 48) if camera is None else _camera(camera)
        if not isinstance(stereo, StereoError | None):
            raise TypeError(f"stereo: expected a StereoError or None, got {stereo!r:.100}")
        self._stereo = stereo
        self._check_lens(self._camera)
        self._max_depth = _checks.positive("max_depth", max_depth, "m")
        self._deviation = _checks.not_negative("deviation", deviation, "m")

    def _accepted(self, camera: Camera) -> Camera:
        new, present = super()._accepted(camera), self._camera
        if (new.width, new.height) != (present.width, present.height):
            raise ValueError(
                f"camera: expected an image of {present.width} x {present.height} pixels as "
                f"before, got {new.width} x {new.height}; create another DepthCamera"
            )
        self._check_lens(new)
        return new

    def _check_lens(self, camera: Camera) -> None:
        if self._stereo is not None and any(camera.distortion):
            raise ValueError(
                "camera: expected no distortion with stereo, whose images are rectified, got "
                f"{camera.distortion}"
            )

    def measure(
        self, position: ArrayLike, attitude: ArrayLike, time: float | None = None
    ) -> DepthReading:
        """Depth images from bodies at positions (…, 3) m with attitudes (…, 4).

        time: s, required if items of the scene move.
        """
        return self._measured(position, attitude, time=time)

    def _read(self, motion: Motion, sampling: Sampling) -> DepthReading:
        self._check_size(len(motion))
        return DepthReading(
            _world.measure_depth(
                self._now(motion, sampling).core,
                self._camera.core,
                self._max_depth,
                self._deviation,
                _world.StereoModel() if self._stereo is None else self._stereo.core,
                motion.position,
                motion.attitude,
                sampling.noise,
                sampling.pool,
            )
        )


@dataclass(frozen=True, eq=False)
class CollisionReading:
    """Whether bodies touch an item of the scene."""

    collision: NDArray[np.bool_]
    """(…)"""
    id: NDArray[np.int32]
    """(…) index of a touched item in `scene.items`; -1: none."""


class CollisionSensor(_InScene, Sensor[CollisionReading]):
    """Whether a sphere about a point of the body touches an item of a scene.

    scene: what may be touched. radius: m; 0.15 is that of the published renderer.
    position: (3,) m, of the sphere's centre, body frame.

    Only the instants of measurement are tested: attach it at a high rate to detect short contacts.
    Raises ParameterError for invalid arguments.
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
        self._radius = _checks.positive("radius", radius, "m")
        # only the mounting of the camera is used
        self._mounting = Camera(1, 1, position=_checks.shaped("position", position, (3,), unit="m"))

    def measure(
        self, position: ArrayLike, attitude: ArrayLike, time: float | None = None
    ) -> CollisionReading:
        """Tests bodies at positions (…, 3) m with attitudes (…, 4) for contact.

        time: s, required if items of the scene move.
        """
        return self._measured(position, attitude, time=time)

    def _read(self, motion: Motion, sampling: Sampling) -> CollisionReading:
        at, _ = self._mounting.pose(motion.position, motion.attitude)
        places = np.ascontiguousarray(at, dtype=np.float64)
        core = self._now(motion, sampling).core
        ids = core.collide(places, None, self._radius, (0.0, 0.0, 0.0), self.is_joint)
        return CollisionReading(ids >= 0, ids)


def _free_markers(markers: Mapping[str, ArrayLike]) -> Markers:
    rows = [_checks.shaped(f"markers[{k!r}]", v, (3,), unit="m") for k, v in markers.items()]
    positions = np.array(rows, dtype=np.float64).reshape(-1, 3)
    count = len(positions)
    return Markers(tuple(markers), positions, ("",) * count, np.full(count, -1, dtype=np.int32))


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
