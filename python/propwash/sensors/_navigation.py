"""Sensors of where one is that need no scene: satellites, air pressure, the Earth's field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks as given
from propwash import _core
from propwash import _sensor_checks as sensed
from propwash._checks import checked_parameters
from propwash.fleet.sensor import ModelledSensor, Motion, Sampling

Numbers = NDArray[Any]
Array = NDArray[np.float64]

CAMBRIDGE_FIELD = (-4.994e-6, 19.964e-6, -47.014e-6)
"""T, in a world with x east and y north: the World Magnetic Model 2025 (NOAA) at 42.36 N, 71.09 W
(Cambridge, Massachusetts), sea level, on 2025-01-01."""


@dataclass(frozen=True, eq=False)
class GnssReading:
    """A fix."""

    position: Numbers
    """(…, 3) m, of the antenna, world frame."""
    velocity: Numbers
    """(…, 3) m/s, of the antenna, world frame."""
    latitude_deg: Array
    """(…) degrees north, WGS 84: the position once more."""
    longitude_deg: Array
    """(…) degrees east, WGS 84."""
    altitude: Array
    """(…) m above the ellipsoid of WGS 84."""


class Gnss(ModelledSensor[GnssReading]):
    """A satellite receiver: position and velocity with white noise, and a slowly varying bias.

    position_noise: (horizontal, vertical) m/sqrt(Hz), white. velocity_noise: (horizontal, vertical)
        m/s/sqrt(Hz), white.
    bias: (horizontal, vertical) m, standard deviation of a first-order Gauss-Markov process on each
        axis of the world. bias_time: s, its correlation time; inf: constant.
    latitude_deg, longitude_deg, altitude: degrees, degrees, m above the ellipsoid of WGS 84, of the
        world's origin. x_heading: rad, of world x from east, counter-clockwise: 0 where x is east
        and y north, pi/2 where x is north and y west.
    position: (3,) m, of the antenna, body frame.
    seed: tells the noise of sensors apart.

    Noise and bias are typical of a receiver without corrections: docs/model/gnss.md. The origin is
    Cambridge, Massachusetts. Raises ParameterError for invalid ones.

    >>> gnss = Gnss(latitude_deg=47.3977, longitude_deg=8.5456, altitude=488.0)
    >>> gnss.measure(position=[10, 0, 2]).latitude_deg
    """

    kind: ClassVar[str] = "gnss"

    @checked_parameters()
    def __init__(
        self,
        position_noise: tuple[float, float] = (0.4, 0.7),
        velocity_noise: tuple[float, float] = (0.05, 0.05),
        bias: tuple[float, float] = (4.7, 9.2),
        bias_time: float = 1100.0,
        *,
        latitude_deg: float = 42.36,
        longitude_deg: float = -71.09,
        altitude: float = 0.0,
        x_heading: float = 0.0,
        position: ArrayLike = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._position_noise = _pair("position_noise", position_noise, "m/sqrt(Hz)")
        self._velocity_noise = _pair("velocity_noise", velocity_noise, "m/s/sqrt(Hz)")
        self._bias_deviation = _pair("bias", bias, "m")
        self._bias_time = sensed.duration("bias_time", bias_time)
        latitude = given.number("latitude_deg", latitude_deg, "a number of degrees")
        if abs(latitude) > 90.0:
            raise ValueError(f"latitude_deg: expected degrees from -90 to 90, got {latitude}")
        longitude = given.number("longitude_deg", longitude_deg, "a number of degrees")
        height = given.number("altitude", altitude, "a number [m]")
        self._origin = np.array([np.radians(latitude), np.radians(longitude), height])
        self._x_heading = given.number("x_heading", x_heading, "a number [rad]")
        self._position = sensed.vector("position", position, "m")
        self._make()

    def _make(self) -> None:
        self._model = _core.GnssModel(*self._position_noise, *self._velocity_noise, self._position)

    def measure(
        self,
        position: ArrayLike,
        attitude: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        dt: float = 1.0,
    ) -> GnssReading:
        """A fix for each of the bodies at positions (…, 3) m.

        attitude: (…, 4), level by default. velocity: (…, 3) m/s, world frame, and body_rates:
        (…, 3) rad/s, zero by default. dt: s, since the fix before: biases have moved on by it, and
        the white noise is that of 1/dt fixes a second.
        """
        reading: GnssReading = self._measured(position, attitude, velocity, body_rates, dt)
        return reading

    def geodetic(self, position: ArrayLike) -> Array:
        """(…, 3): degrees north, degrees east, m above the ellipsoid, of points (…, 3) m."""
        points = sensed.triples("position", position)
        return self._geodetic(points.reshape(-1, 3)).reshape(points.shape)

    def local(self, geodetic: ArrayLike) -> Array:
        """The inverse of geodetic(): points (…, 3) m of the world."""
        points = sensed.triples("geodetic", geodetic)
        rows = points.reshape(-1, 3) * np.array([np.pi / 180, np.pi / 180, 1.0])
        return _core.to_local(self._origin, self._x_heading, rows).reshape(points.shape)

    def _geodetic(self, rows: Numbers) -> Array:
        points = _core.to_geodetic(
            self._origin, self._x_heading, np.ascontiguousarray(rows, dtype=np.float64)
        )
        degrees: Array = points * np.array([180 / np.pi, 180 / np.pi, 1.0])
        return degrees

    def _processes(self) -> list[tuple[float, float]]:
        across, up = self._bias_deviation
        return [(across, self._bias_time), (across, self._bias_time), (up, self._bias_time)]

    def _read(self, motion: Motion, sampling: Sampling) -> GnssReading:
        at, moving = _core.measure_gnss(
            self._model,
            motion.position,
            motion.velocity,
            motion.attitude,
            motion.body_rates,
            sampling.bias,
            sampling.rate,
            sampling.noise,
        )
        points = self._geodetic(at)
        return GnssReading(at, moving, *(np.ascontiguousarray(row) for row in points.T))


@dataclass(frozen=True, eq=False)
class BarometerReading:
    """A measurement of the air's pressure."""

    pressure: Array
    """(…) Pa."""
    altitude: Array
    """(…) m, where the standard atmosphere has this pressure."""


class Barometer(ModelledSensor[BarometerReading]):
    """The pressure of the standard atmosphere (ISO 2533) with white noise and drift.

    noise_density: Pa/sqrt(Hz), white. drift: Pa, standard deviation of a first-order Gauss-Markov
        process; drift_time: s, its correlation time; inf: constant.
    sea_level_pressure: Pa, of the day. altitude: m above sea level of the world's z = 0.
    position: (3,) m, of the sensor, body frame.
    seed: tells the noise of sensors apart.

    Noise and drift are those of an MS5611 (data sheet): 1.2 Pa in a conversion of 8.22 ms, accuracy
    150 Pa, taken for three standard deviations; the time of the drift is a guess. From -2000 m to
    11000 m. Raises ParameterError for invalid ones.
    """

    kind: ClassVar[str] = "barometer"

    @checked_parameters()
    def __init__(
        self,
        noise_density: float = 0.11,
        drift: float = 50.0,
        drift_time: float = 3600.0,
        *,
        sea_level_pressure: float = 101325.0,
        altitude: float = 0.0,
        position: ArrayLike = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._noise_density = sensed.at_least("noise_density", noise_density, 0.0, "Pa/sqrt(Hz)")
        self._drift = sensed.at_least("drift", drift, 0.0, "Pa")
        self._drift_time = sensed.duration("drift_time", drift_time)
        self._sea_level_pressure = sensed.at_least(
            "sea_level_pressure", sea_level_pressure, 0.0, "Pa", open_=True
        )
        self._altitude = given.number("altitude", altitude, "a number [m]")
        self._position = sensed.vector("position", position, "m")
        self._make()

    def _make(self) -> None:
        self._model = _core.BarometerModel(
            self._noise_density, self._sea_level_pressure, self._altitude, self._position
        )

    def measure(
        self, position: ArrayLike, attitude: ArrayLike | None = None, dt: float = 0.02
    ) -> BarometerReading:
        """Pressures at bodies at positions (…, 3) m with attitudes (…, 4), level by default.

        dt: s, since the measurement before: the drift has moved on by it, and the white noise is
        that of 1/dt measurements a second.
        """
        reading: BarometerReading = self._measured(position, attitude, dt=dt)
        return reading

    def _processes(self) -> list[tuple[float, float]]:
        return [(self._drift, self._drift_time)]

    def _read(self, motion: Motion, sampling: Sampling) -> BarometerReading:
        return BarometerReading(
            *_core.measure_barometer(
                self._model,
                motion.position,
                motion.attitude,
                sampling.bias,
                sampling.rate,
                sampling.noise,
            )
        )


@dataclass(frozen=True, eq=False)
class MagnetometerReading:
    """A measurement of the magnetic field."""

    field: Numbers
    """(…, 3) T, sensor axes."""


class Magnetometer(ModelledSensor[MagnetometerReading]):
    """The Earth's field in sensor axes, distorted by iron aboard, with bias and white noise.

    field: (3,) T, world frame. The default is that of Cambridge, Massachusetts, in a world with x
        east and y north: 51.3 microtesla, 66.4 degrees downwards (World Magnetic Model 2025).
    hard_iron: (3,) T, added in sensor axes. soft_iron: (3, 3), multiplied in sensor axes.
    noise_density: T/sqrt(Hz), white. bias: T, standard deviation of a first-order Gauss-Markov
        process on each axis; bias_time: s, its correlation time; inf: constant, each body its own.
    attitude: (4,) unit quaternion, turns sensor components into the body frame.
    seed: tells the noise of sensors apart.

    The noise is the resolution of an HMC5883L (data sheet), 0.2 microtesla, taken for a standard
    deviation at 75 measurements a second.
    Raises ParameterError for invalid ones.
    """

    kind: ClassVar[str] = "magnetometer"

    @checked_parameters()
    def __init__(
        self,
        field: ArrayLike = CAMBRIDGE_FIELD,
        hard_iron: ArrayLike = (0.0, 0.0, 0.0),
        soft_iron: ArrayLike | None = None,
        noise_density: float = 2.3e-8,
        *,
        bias: float = 0.0,
        bias_time: float = np.inf,
        attitude: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._field = sensed.vector("field", field, "T")
        self._hard_iron = sensed.vector("hard_iron", hard_iron, "T")
        matrix = np.eye(3) if soft_iron is None else sensed.numbers("soft_iron", soft_iron)
        if matrix.shape != (3, 3):
            raise ValueError(
                f"soft_iron: expected a matrix of shape (3, 3), got {given.described(soft_iron)}"
            )
        self._soft_iron = np.ascontiguousarray(matrix)
        self._noise_density = sensed.at_least("noise_density", noise_density, 0.0, "T/sqrt(Hz)")
        self._bias_deviation = sensed.at_least("bias", bias, 0.0, "T")
        self._bias_time = sensed.duration("bias_time", bias_time)
        self._attitude = sensed.fixed_attitude("attitude", attitude)
        if self._attitude.ndim != 1:
            raise ValueError(f"attitude: expected shape (4,), got {self._attitude.shape}")
        self._make()

    def _make(self) -> None:
        self._model = _core.MagnetometerModel(
            self._field, self._soft_iron, self._hard_iron, self._noise_density, self._attitude
        )

    def measure(self, attitude: ArrayLike, dt: float = 1.0 / 75.0) -> MagnetometerReading:
        """The field at bodies with attitudes (…, 4); it is the same everywhere.

        dt: s, since the measurement before: biases have moved on by it, and the white noise is that
        of 1/dt measurements a second.
        """
        position = sensed.origins(attitude)
        reading: MagnetometerReading = self._measured(position, attitude, dt=dt)
        return reading

    def _processes(self) -> list[tuple[float, float]]:
        return [(self._bias_deviation, self._bias_time)] * 3

    def _read(self, motion: Motion, sampling: Sampling) -> MagnetometerReading:
        return MagnetometerReading(
            _core.measure_magnetometer(
                self._model, motion.attitude, sampling.bias, sampling.rate, sampling.noise
            )
        )


def isa_pressure(altitude: float) -> float:
    """Pa, of the standard atmosphere (ISO 2533) at a height from -2000 m to 11000 m."""
    return _core.isa_pressure(given.number("altitude", altitude, "a number [m]"))


def isa_altitude(pressure: float) -> float:
    """The inverse of isa_pressure(): m."""
    return _core.isa_altitude(given.number("pressure", pressure, "a number [Pa]"))


def _pair(name: str, value: object, unit: str) -> tuple[float, float]:
    array = sensed.numbers(name, value)
    if array.shape != (2,) or (array < 0.0).any():
        raise ValueError(
            f"{name}: expected (horizontal, vertical) numbers >= 0 [{unit}], got "
            f"{given.described(value)}"
        )
    return float(array[0]), float(array[1])
