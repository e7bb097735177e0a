"""Navigation sensors that need no scene: GNSS receiver, barometer, magnetometer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from propwash import _checks, _core, _world
from propwash._checks import checked_parameters
from propwash.sampling.sensor import ModelledSensor, Motion, Sampling

Numbers = NDArray[Any]
Array = NDArray[np.float64]

_GNSS = _core.sensor_defaults("gnss")
_BAROMETER = _core.sensor_defaults("barometer")
_MAGNETOMETER = _core.sensor_defaults("magnetometer")


@dataclass(frozen=True, eq=False)
class GnssReading:
    """A GNSS fix."""

    position: Numbers
    """(…, 3) m, of the antenna, world frame."""
    velocity: Numbers
    """(…, 3) m/s, of the antenna, world frame."""
    latitude_deg: Array
    """(…) degrees north, WGS 84, of the antenna."""
    longitude_deg: Array
    """(…) degrees east, WGS 84."""
    altitude: Array
    """(…) m above the WGS 84 ellipsoid."""


class Gnss(ModelledSensor[GnssReading]):
    """A satellite receiver: position and velocity with white noise, and a slowly varying bias.

    position_noise: (horizontal, vertical) m/sqrt(Hz), white. velocity_noise: (horizontal, vertical)
        m/s/sqrt(Hz), white.
    bias: (horizontal, vertical) m, standard deviation of a first-order Gauss-Markov process on each
        axis of the world. bias_time: s, its correlation time; inf: constant bias.
    latitude_deg, longitude_deg, altitude: degrees, degrees, m above the ellipsoid of WGS 84, of the
        world's origin. x_heading: rad, of world x from east, counter-clockwise: 0 where x is east
        and y north, pi/2 where x is north and y west.
    position: (3,) m, of the antenna, body frame.
    seed: of the noise.

    Default noise and bias are typical of a receiver without corrections (docs/model/gnss.md); the
    default origin is Cambridge, Massachusetts. Raises ParameterError for invalid arguments.

    >>> gnss = Gnss(latitude_deg=47.3977, longitude_deg=8.5456, altitude=488.0)
    >>> gnss.measure(position=[10, 0, 2]).latitude_deg
    """

    kind: ClassVar[str] = "gnss"

    @checked_parameters()
    def __init__(
        self,
        position_noise: tuple[float, float] = _GNSS["position_noise"],
        velocity_noise: tuple[float, float] = _GNSS["velocity_noise"],
        bias: tuple[float, float] = _GNSS["bias"],
        bias_time: float = _GNSS["bias_time"],
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
        self._bias_time = _checks.positive("bias_time", bias_time, "s", infinite=True)
        expected = "degrees from -90 to 90"
        latitude = _checks.number("latitude_deg", latitude_deg, expected, lambda x: abs(x) <= 90.0)
        longitude = _checks.number("longitude_deg", longitude_deg, "a number of degrees")
        height = _checks.number("altitude", altitude, "a number [m]")
        self._origin = np.array([np.radians(latitude), np.radians(longitude), height])
        self._x_heading = _checks.number("x_heading", x_heading, "a number [rad]")
        self._position = _checks.shaped("position", position, (3,), unit="m")
        self._make()

    def _make(self) -> None:
        self._model = _world.GnssModel(*self._position_noise, *self._velocity_noise, self._position)

    def measure(
        self,
        position: ArrayLike,
        attitude: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        body_rates: ArrayLike | None = None,
        dt: float = 1.0,
    ) -> GnssReading:
        """Measures a fix for each of the bodies at positions (…, 3) m.

        attitude: (…, 4), level by default. velocity: (…, 3) m/s, world frame, and body_rates:
        (…, 3) rad/s, zero by default. dt: s, since the previous fix: biases advance by dt, and the
        white noise is that of a receiver at the rate 1/dt.
        """
        return self._measured(position, attitude, velocity, body_rates, dt)

    def geodetic(self, position: ArrayLike) -> Array:
        """(…, 3): degrees north, degrees east, m above the ellipsoid, of points (…, 3) m."""
        points = _checks.shaped("position", position, ("…", 3))
        return self._geodetic(points.reshape(-1, 3)).reshape(points.shape)

    def local(self, geodetic: ArrayLike) -> Array:
        """The inverse of geodetic(): points (…, 3) m of the world."""
        points = _checks.shaped("geodetic", geodetic, ("…", 3))
        rows = points.reshape(-1, 3) * np.array([np.pi / 180, np.pi / 180, 1.0])
        return _world.to_local(self._origin, self._x_heading, rows).reshape(points.shape)

    def _geodetic(self, rows: Numbers) -> Array:
        points = _world.to_geodetic(
            self._origin, self._x_heading, np.ascontiguousarray(rows, dtype=np.float64)
        )
        degrees: Array = points * np.array([180 / np.pi, 180 / np.pi, 1.0])
        return degrees

    def _processes(self) -> list[tuple[float, float]]:
        across, up = self._bias_deviation
        return [(across, self._bias_time), (across, self._bias_time), (up, self._bias_time)]

    def _read(self, motion: Motion, sampling: Sampling) -> GnssReading:
        at, moving = _world.measure_gnss(
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
    """A measurement of air pressure."""

    pressure: Array
    """(…) Pa."""
    altitude: Array
    """(…) m, at which the standard atmosphere has this pressure."""


class Barometer(ModelledSensor[BarometerReading]):
    """The pressure of the standard atmosphere (ISO 2533) with white noise and drift.

    noise_density: Pa/sqrt(Hz), white. drift: Pa, standard deviation of a first-order Gauss-Markov
        process; drift_time: s, its correlation time; inf: constant.
    sea_level_pressure: Pa, on the day. altitude: m above sea level of the world's z = 0.
    position: (3,) m, of the sensor, body frame.
    seed: of the noise.

    Noise and drift are those of an MS5611 (data sheet): 1.2 Pa in a conversion of 8.22 ms, accuracy
    150 Pa, assumed to be three standard deviations; the drift time is an assumption. Valid from
    -2000 m to 11000 m. Raises ParameterError for invalid arguments.
    """

    kind: ClassVar[str] = "barometer"

    @checked_parameters()
    def __init__(
        self,
        noise_density: float = _BAROMETER["noise_density"],
        drift: float = _BAROMETER["drift"],
        drift_time: float = _BAROMETER["drift_time"],
        *,
        sea_level_pressure: float = _BAROMETER["sea_level_pressure"],
        altitude: float = 0.0,
        position: ArrayLike = (0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._noise_density = _checks.not_negative("noise_density", noise_density, "Pa/sqrt(Hz)")
        self._drift = _checks.not_negative("drift", drift, "Pa")
        self._drift_time = _checks.positive("drift_time", drift_time, "s", infinite=True)
        self._sea_level_pressure = _checks.positive("sea_level_pressure", sea_level_pressure, "Pa")
        self._altitude = _checks.number("altitude", altitude, "a number [m]")
        self._position = _checks.shaped("position", position, (3,), unit="m")
        self._make()

    def _make(self) -> None:
        self._model = _world.BarometerModel(
            self._noise_density, self._sea_level_pressure, self._altitude, self._position
        )

    def measure(
        self, position: ArrayLike, attitude: ArrayLike | None = None, dt: float = 0.02
    ) -> BarometerReading:
        """Measures pressures for positions (…, 3) m and attitudes (…, 4), level by default.

        dt: s, since the previous measurement: the drift advances by dt, and the white noise is that
        of a sensor at the rate 1/dt.
        """
        return self._measured(position, attitude, dt=dt)

    def _processes(self) -> list[tuple[float, float]]:
        return [(self._drift, self._drift_time)]

    def _read(self, motion: Motion, sampling: Sampling) -> BarometerReading:
        return BarometerReading(
            *_world.measure_barometer(
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
    """The Earth's field in sensor axes, with hard and soft iron, bias and white noise.

    field: (3,) T, world frame. The default is that of Cambridge, Massachusetts, in a world with x
        east and y north: 51.3 microtesla, 66.4 degrees downwards (World Magnetic Model 2025).
    hard_iron: (3,) T, added in sensor axes. soft_iron: (3, 3), multiplied in sensor axes.
    noise_density: T/sqrt(Hz), white. bias: T, standard deviation of a first-order Gauss-Markov
        process on each axis; bias_time: s, its correlation time; inf: constant for each body.
    attitude: (4,) unit quaternion that rotates sensor axes into the body frame.
    seed: of the noise.

    The noise is the resolution of an HMC5883L (data sheet), 0.2 microtesla, assumed to be the
    standard deviation at 75 Hz. Raises ParameterError for invalid arguments.
    """

    kind: ClassVar[str] = "magnetometer"

    @checked_parameters()
    def __init__(
        self,
        field: ArrayLike = _MAGNETOMETER["field"],
        hard_iron: ArrayLike = (0.0, 0.0, 0.0),
        soft_iron: ArrayLike | None = None,
        noise_density: float = _MAGNETOMETER["noise_density"],
        *,
        bias: float = 0.0,
        bias_time: float = np.inf,
        attitude: ArrayLike = (1.0, 0.0, 0.0, 0.0),
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self._field = _checks.shaped("field", field, (3,), unit="T")
        self._hard_iron = _checks.shaped("hard_iron", hard_iron, (3,), unit="T")
        matrix = np.eye(3) if soft_iron is None else soft_iron
        self._soft_iron = np.ascontiguousarray(_checks.shaped("soft_iron", matrix, (3, 3)))
        self._noise_density = _checks.not_negative("noise_density", noise_density, "T/sqrt(Hz)")
        self._bias_deviation = _checks.not_negative("bias", bias, "T")
        self._bias_time = _checks.positive("bias_time", bias_time, "s", infinite=True)
        self._attitude = _checks.attitudes("attitude", attitude)
        if self._attitude.ndim != 1:
            raise ValueError(f"attitude: expected shape (4,), got {self._attitude.shape}")
        self._make()

    def _make(self) -> None:
        self._model = _world.MagnetometerModel(
            self._field, self._soft_iron, self._hard_iron, self._noise_density, self._attitude
        )

    def measure(self, attitude: ArrayLike, dt: float = 1.0 / 75.0) -> MagnetometerReading:
        """Measures the field at bodies with attitudes (…, 4); it does not depend on position.

        dt: s, since the previous measurement: biases advance by dt, and the white noise is that of
        a sensor at the rate 1/dt.
        """
        numbers = _checks.numeric("attitude", attitude, "numbers of shape (…, 4)")
        origins = np.zeros((*numbers.shape[:-1], 3), np.result_type(numbers, np.float32))
        return self._measured(origins, attitude, dt=dt)

    def _processes(self) -> list[tuple[float, float]]:
        return [(self._bias_deviation, self._bias_time)] * 3

    def _read(self, motion: Motion, sampling: Sampling) -> MagnetometerReading:
        return MagnetometerReading(
            _world.measure_magnetometer(
                self._model, motion.attitude, sampling.bias, sampling.rate, sampling.noise
            )
        )


def isa_pressure(altitude: float) -> float:
    """Pressure [Pa] of the standard atmosphere (ISO 2533) at -2000 m to 11000 m."""
    return _world.isa_pressure(_checks.number("altitude", altitude, "a number [m]"))


def isa_altitude(pressure: float) -> float:
    """Altitude [m] at a pressure [Pa]; the inverse of isa_pressure()."""
    return _world.isa_altitude(_checks.number("pressure", pressure, "a number [Pa]"))


def _pair(name: str, value: object, unit: str) -> tuple[float, float]:
    pair = _checks.shaped(name, value, (2,), unit=unit)
    expected = f"(horizontal, vertical) numbers >= 0 [{unit}]"
    _checks.refuse_where(pair < 0.0, name, pair, 1, expected)
    return float(pair[0]), float(pair[1])
