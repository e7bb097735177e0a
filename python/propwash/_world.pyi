"""
Extension module of propwash; import its contents from the package.
"""

from collections.abc import Iterable, Sequence
from typing import Any, SupportsFloat, SupportsIndex, SupportsInt, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from propwash import _core

Float: TypeAlias = SupportsFloat | SupportsIndex
Int: TypeAlias = SupportsInt | SupportsIndex

class Waypoints:
    """See propwash.world.Waypoints."""
    def __call__(self, time: Float) -> NDArray[np.float64]: ...
    def __init__(
        self, times: Sequence[Float], poses: NDArray[np.float64], repeat: bool
    ) -> None: ...

class SceneIndex:
    """See propwash.Scene."""
    def __init__(
        self, items: Iterable, markers: Iterable, max_triangles: Int | None = None
    ) -> None: ...
    def at(
        self, bodies: NDArray[np.float64], vehicles: NDArray[np.float64], vehicle: Any
    ) -> SceneIndex: ...
    def collide(
        self,
        positions: ArrayLike,
        attitudes: ArrayLike | None,
        radius: Float,
        size: Sequence[Float],
        of_vehicles: bool = False,
    ) -> NDArray[np.int32]: ...
    def markers(self) -> tuple: ...
    def nearest(
        self, points: NDArray[np.float64], reach: Float, pool: _core.ThreadPool | None
    ) -> tuple: ...
    def placed(self) -> NDArray[np.float64]: ...
    def raycast_float32(
        self,
        origins: NDArray[np.float32],
        directions: NDArray[np.float32],
        max_range: Float,
        normals: bool,
        pool: _core.ThreadPool | None,
    ) -> tuple: ...
    def raycast_float64(
        self,
        origins: NDArray[np.float64],
        directions: NDArray[np.float64],
        max_range: Float,
        normals: bool,
        pool: _core.ThreadPool | None,
    ) -> tuple: ...
    def spherecast(
        self, start: NDArray[np.float64], end: NDArray[np.float64], radius: Float
    ) -> tuple: ...
    def visible_float32(
        self, start: NDArray[np.float32], end: NDArray[np.float32], pool: _core.ThreadPool | None
    ) -> NDArray[np.bool]: ...
    def visible_float64(
        self, start: NDArray[np.float64], end: NDArray[np.float64], pool: _core.ThreadPool | None
    ) -> NDArray[np.bool]: ...

class GnssModel:
    """See propwash.Gnss."""
    def __init__(
        self,
        position_noise_horizontal: Float,
        position_noise_vertical: Float,
        velocity_noise_horizontal: Float,
        velocity_noise_vertical: Float,
        position: Any,
    ) -> None: ...

class BarometerModel:
    """See propwash.Barometer."""
    def __init__(
        self, noise_density: Float, sea_level_pressure: Float, altitude: Float, position: Any
    ) -> None: ...

class MagnetometerModel:
    """See propwash.Magnetometer."""
    def __init__(
        self, field: Any, soft_iron: ArrayLike, hard_iron: Any, noise_density: Float, attitude: Any
    ) -> None: ...

class RangeFinderModel:
    """See propwash.RangeFinder."""
    def __init__(
        self, directions: ArrayLike, max_range: Float, variance: Float, position: Any
    ) -> None: ...

class StereoModel:
    """See propwash.StereoError."""
    def __init__(
        self,
        baseline: Float = 0.0,
        focal: Float = 0.0,
        disparity_deviation: Float = 0.0,
        disparity_step: Float = 0.0,
        dropout_rate: Float = 0.0,
        shadow: bool = True,
    ) -> None: ...

class CameraModel:
    """See propwash.Camera."""
    def __init__(
        self,
        width: Float,
        height: Float,
        focal: Float,
        position: ArrayLike,
        attitude: ArrayLike,
        lens: Sequence[Float],
    ) -> None: ...
    def matrix(self) -> NDArray[np.float64]: ...
    def poses(self, position: ArrayLike, attitude: ArrayLike) -> tuple: ...
    def project(self, position: ArrayLike, attitude: ArrayLike, points: ArrayLike) -> tuple: ...
    def rays(self) -> NDArray[np.float64]: ...
    def unproject(self, pixels: ArrayLike) -> NDArray[np.float64]: ...
    @property
    def count(self) -> int: ...

class ErrorStateFilter:
    """See propwash.estimate.ErrorStateFilter."""
    def __init__(
        self,
        imu: Any,
        start: ArrayLike,
        deviations: ArrayLike,
        gates: ArrayLike,
        gravity: Any,
        time: Float,
        history: Int,
        rejection: Float,
    ) -> None: ...
    def _motion(self) -> tuple: ...
    def _propagate(self, gyroscope: ArrayLike, accelerometer: ArrayLike, dt: Float) -> None: ...
    def _update_beacons(
        self,
        gates: ArrayLike,
        corners: ArrayLike,
        u: ArrayLike,
        v: ArrayLike,
        camera: ArrayLike,
        deviation: Float,
        time: Float,
    ) -> NDArray[np.bool]: ...
    def _update_range(
        self, range: Float, variance: Float, position: Any, direction: Any, time: Float
    ) -> bool: ...
    @property
    def accelerometer_bias(self) -> NDArray[np.float64]:
        """(3,) m/s^2, sensor axes"""
    @property
    def covariance(self) -> NDArray[np.float64]:
        """(e, e) covariance of the errors at `time`; see the class for their order"""
    @property
    def gates(self) -> NDArray[np.float64]:
        """(g, 3) estimated offsets of the gates from their nominal poses: x, y m, yaw rad"""
    @property
    def gyroscope_bias(self) -> NDArray[np.float64]:
        """(3,) rad/s, sensor axes"""
    @property
    def time(self) -> float:
        """s, of the last IMU reading"""
    @property
    def update_time(self) -> float:
        """s, of the last measurement, or of the oldest IMU reading kept if that is later; measurements from before are refused"""

def focal_length(height: Float, vertical_fov: Float) -> float: ...
def isa_altitude(pressure: Float) -> float: ...
def isa_pressure(altitude: Float) -> float: ...
@overload
def measure_barometer(
    barometer: BarometerModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    drift: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> tuple: ...
@overload
def measure_barometer(
    barometer: BarometerModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    drift: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> tuple: ...
@overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: ArrayLike,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    deviation: Float,
    reach: Float,
    miss_rate: Float,
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> tuple: ...
@overload
def measure_beacons(
    scene: SceneIndex,
    cameras: CameraModel,
    markers: ArrayLike,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    deviation: Float,
    reach: Float,
    miss_rate: Float,
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> tuple: ...
@overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: Float,
    deviation: Float,
    stereo: StereoModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_depth(
    scene: SceneIndex,
    cameras: CameraModel,
    max_depth: Float,
    deviation: Float,
    stereo: StereoModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_gnss(
    gnss: GnssModel,
    position: NDArray[np.float32],
    velocity: NDArray[np.float32],
    attitude: NDArray[np.float32],
    body_rates: NDArray[np.float32],
    bias: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> tuple: ...
@overload
def measure_gnss(
    gnss: GnssModel,
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    attitude: NDArray[np.float64],
    body_rates: NDArray[np.float64],
    bias: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> tuple: ...
@overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: NDArray[np.float32],
    bias: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> NDArray[Any]: ...
@overload
def measure_magnetometer(
    magnetometer: MagnetometerModel,
    attitude: NDArray[np.float64],
    bias: NDArray[np.float64],
    rate: Float,
    noise: _core.SampleNoise,
) -> NDArray[Any]: ...
@overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: NDArray[np.float32],
    attitude: NDArray[np.float32],
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> NDArray[Any]: ...
@overload
def measure_range(
    scene: SceneIndex,
    finder: RangeFinderModel,
    position: NDArray[np.float64],
    attitude: NDArray[np.float64],
    noise: _core.SampleNoise,
    pool: _core.ThreadPool | None,
) -> NDArray[Any]: ...
def to_geodetic(origin: Any, x_heading: Float, position: ArrayLike) -> NDArray[np.float64]: ...
def to_local(origin: Any, x_heading: Float, points: ArrayLike) -> NDArray[np.float64]: ...
