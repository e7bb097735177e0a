"""PX4: sensors and motors as MAVLink HIL messages. No sockets and no clock; see docs/px4.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash import frames
from propwash._bridge import Refused
from propwash.autopilot._loop import Codec
from propwash.autopilot._simulation import Sample
from propwash.sensors import Barometer, Gnss, Magnetometer

Array = NDArray[np.float64]

# bits of HIL_SENSOR.fields_updated, as PX4 groups them
IMU_FIELDS = 0b0_0000_0011_1111
MAGNETOMETER_FIELDS = 0b0_0001_1100_0000
BAROMETER_FIELDS = 0b1_1010_0000_0000

_SYSTEM, _COMPONENT = 1, 200
_PX4 = 12  # MAV_AUTOPILOT_PX4
_SET_MESSAGE_INTERVAL, _HIL_STATE_QUATERNION = 511, 115
_ARMED = 128
_STATE_RATE = 50.0  # Hz, of HIL_STATE_QUATERNION where PX4 asks for the default
_GAUSS = 1e4  # gauss in a tesla


@dataclass(frozen=True)
class Home:
    """The point of the Earth at the world's origin; the world's x axis points east, y north."""

    latitude_deg: float = 42.36
    """Degrees, north positive."""
    longitude_deg: float = -71.09
    """Degrees, east positive."""
    altitude: float = 0.0
    """m, above the ellipsoid and above sea level: the geoid is ignored."""


class Px4Sensors:
    """The sensors of a PX4 vehicle beside its IMU, and the rates at which they are sent.

    GNSS errors vary slowly, as those of a receiver with a filter: PX4 does not arm while the fixes
    of a vehicle at rest drift. noise: False sends true values.
    """

    barometer_rate = 50.0
    magnetometer_rate = 50.0
    gnss_rate = 10.0

    def __init__(self, home: Home, seed: int, noise: bool) -> None:
        scale = 1.0 if noise else 0.0
        self.gnss = Gnss(
            (0.02 * scale, 0.04 * scale),
            (0.02 * scale, 0.03 * scale),
            (0.5 * scale, 1.0 * scale),
            latitude_deg=home.latitude_deg,
            longitude_deg=home.longitude_deg,
            altitude=home.altitude,
            seed=seed,
        )
        self.barometer = Barometer(0.11 * scale, 50.0 * scale, altitude=home.altitude, seed=seed)
        self.magnetometer = Magnetometer(
            magnetic_field(home), noise_density=2.3e-8 * scale, seed=seed
        )

    def reset(self) -> None:
        """Draws biases again."""
        for sensor in (self.gnss, self.barometer, self.magnetometer):
            sensor.reset()


class Px4(Codec):
    """Makes PX4's sensor messages and reads its motor commands.

    motors: number of motors. home, seed, noise: of the sensors. refused: counts what PX4 sends and
    this class cannot use.
    """

    PORT = 4560
    """TCP port on which a simulator waits for PX4."""
    RATE = 250.0
    """Hz, of HIL_SENSOR: the rate of the simulators that PX4 comes with."""

    def __init__(
        self,
        motors: int = 4,
        home: Home | None = None,
        *,
        seed: int = 0,
        noise: bool = True,
        refused: Refused | None = None,
    ) -> None:
        self._mavlink = _mavlink()
        self._motors = motors
        self._sensors = Px4Sensors(Home() if home is None else home, seed, noise)
        self.refused = Refused() if refused is None else refused
        self.reset()

    def reset(self) -> None:
        """Forgets the peer: for a new connection, at time 0."""
        self._writer = self._mavlink.MAVLink(None, _SYSTEM, _COMPONENT)
        self._reader = self._mavlink.MAVLink(None)
        self._reader.robust_parsing = True
        self._sensors.reset()
        self._sent: dict[str, int] = {}
        self._state_rate = 0.0
        self._answered: int | None = None
        self._command = np.zeros(self._motors)
        self._moved: tuple[float, Array] | None = None
        self._field = np.zeros(3)
        self._air = 0.0, 0.0
        self.armed = False
        """Whether PX4 reports that it is armed."""

    # --- to PX4

    def sensors(self, sample: Sample) -> bytes:
        """The messages of one step.

        GNSS fix and true state, if due, precede HIL_SENSOR: with it PX4 advances its clock,
        computes, and answers.
        """
        usec = max(1, round(sample.time * 1e6))  # 0 is no time to PX4
        out = b""
        if self._due("heartbeat", 1.0, sample.time):
            out += self._pack("heartbeat", 0, 8, 0, 0, 0, 3)  # from a program that is no autopilot
        if self._state_rate > 0.0 and self._due("state", self._state_rate, sample.time):
            out += self._true_state(sample, usec)
        if self._due("gnss", self._sensors.gnss_rate, sample.time):
            out += self._fix(sample, usec)
        return out + self._hil_sensor(sample, usec)

    def _hil_sensor(self, sample: Sample, usec: int) -> bytes:
        fields, sensors = IMU_FIELDS, self._sensors
        if self._due("magnetometer", sensors.magnetometer_rate, sample.time):
            fields |= MAGNETOMETER_FIELDS
            dt = 1.0 / sensors.magnetometer_rate
            self._field = _GAUSS * sensors.magnetometer.measure(sample.attitude, dt).field
        if self._due("barometer", sensors.barometer_rate, sample.time):
            fields |= BAROMETER_FIELDS
            dt = 1.0 / sensors.barometer_rate
            air = sensors.barometer.measure(sample.position, sample.attitude, dt)
            self._air = float(air.pressure) / 100.0, float(air.altitude)  # hPa, m
        pressure, altitude = self._air
        return self._pack(
            "hil_sensor",
            usec,
            *frames.flu_to_frd(sample.specific_force),
            *frames.flu_to_frd(sample.angular_rate),
            *frames.flu_to_frd(self._field),
            pressure,
            0.0,  # of an airspeed sensor, which a multicopter lacks: its bit is not set
            altitude,
            15.0 - 0.0065 * altitude,  # degrees, standard atmosphere
            fields,
        )

    def _fix(self, sample: Sample, usec: int) -> bytes:
        dt = 1.0 / self._sensors.gnss_rate
        fix = self._sensors.gnss.measure(
            sample.position, sample.attitude, sample.velocity, sample.body_rates, dt
        )
        east, north, up = fix.velocity
        speed, course = math.hypot(east, north), math.degrees(math.atan2(east, north))
        return self._pack(
            "hil_gps",
            usec,
            3,  # a fix in three dimensions
            *_geodetic(fix.latitude_deg, fix.longitude_deg, fix.altitude),
            100,  # cm, horizontal deviation
            150,  # cm, vertical deviation
            min(round(100.0 * speed), 65534),
            *(_int16(100.0 * v) for v in (north, east, -up)),
            round(100.0 * course) % 36000 if speed > 0.5 else 65535,  # unknown
            12,  # satellites
        )

    def _true_state(self, sample: Sample, usec: int) -> bytes:
        velocity, acceleration = frames.enu_to_ned(sample.velocity), np.zeros(3)
        if self._moved is not None and sample.time > self._moved[0]:
            acceleration = (velocity - self._moved[1]) / (sample.time - self._moved[0])
        self._moved = sample.time, velocity
        speed = min(round(100.0 * float(np.linalg.norm(velocity))), 65535)
        return self._pack(
            "hil_state_quaternion",
            usec,
            frames.quaternion_enu_flu_to_ned_frd(sample.attitude).tolist(),
            *frames.flu_to_frd(sample.body_rates),
            *_geodetic(*self._sensors.gnss.geodetic(sample.position)),
            *(_int16(100.0 * v) for v in velocity),
            speed,
            speed,
            *(_int16(1000.0 * a) for a in acceleration),  # mm/s^2 NED, as PX4 reads them
        )

    def _due(self, name: str, rate: float, time: float) -> bool:
        """Whether a sample of a rate [Hz] is due, as the first one always is."""
        sample = math.floor(time * rate + 1e-6)
        due = self._sent.get(name) != sample
        self._sent[name] = sample
        return due

    def _pack(self, name: str, *values: Any) -> bytes:
        message = getattr(self._mavlink, f"MAVLink_{name}_message")(*values)
        packed: bytes = message.pack(self._writer)
        self._writer.seq = (self._writer.seq + 1) % 256
        return packed

    # --- from PX4

    def motors(self, packet: bytes) -> Array | None:
        """Reads bytes of the connection, in pieces of any size; b"": a new connection.

        Returns the outputs, 0 to 1 in PX4's order, of the last HIL_ACTUATOR_CONTROLS: zero for a
        disarmed vehicle, and the previous outputs if a number is not finite, so that the lock step
        goes on. None if there is no such message with a new time.
        """
        if not packet:
            self.reset()
            self.restarted = True
            return None
        outputs = None
        for message in self._reader.parse_buffer(packet) or ():
            if message.get_type() != "HIL_ACTUATOR_CONTROLS":
                self._other(message)
            elif message.time_usec == self._answered:
                self.refused.add("HIL_ACTUATOR_CONTROLS: second one with the same time")
            else:
                self._answered = message.time_usec
                outputs = self._outputs(message)
        if self._reader.buf_index > 65536:  # the reader keeps what it has read
            del self._reader.buf[: self._reader.buf_index]
            self._reader.buf_index = 0
        return outputs

    def _outputs(self, message: Any) -> Array:
        self.armed = bool(message.mode & _ARMED)
        controls = np.array(message.controls[: self._motors])
        if not self.armed:
            self._command = np.zeros(self._motors)
        elif np.isfinite(controls).all():
            self._command = np.clip(controls, 0.0, 1.0)
        else:
            self.refused.add("HIL_ACTUATOR_CONTROLS: expected finite numbers", str(controls))
        return self._command

    def _other(self, message: Any) -> None:
        name = message.get_type()
        if name == "BAD_DATA":
            self.refused.add(_reason(message.reason), f"{len(message.data)} bytes")
        elif name.startswith("UNKNOWN"):
            self.refused.add("MAVLink: message of an unknown type", name)
        elif name == "HEARTBEAT":
            if message.autopilot != _PX4:
                self.refused.add("HEARTBEAT: expected PX4 (12)", f"autopilot {message.autopilot}")
        elif name == "COMMAND_LONG":
            self._set_interval(message)
        else:
            self.refused.add("MAVLink: message without a use in a simulator", name)

    def _set_interval(self, message: Any) -> None:
        interval = message.param2  # us; -1: off, 0: default
        if (message.command, message.param1) != (_SET_MESSAGE_INTERVAL, _HIL_STATE_QUATERNION):
            detail = f"command {message.command}, param1 {message.param1}"
            self.refused.add("COMMAND_LONG: expected an interval of HIL_STATE_QUATERNION", detail)
        elif interval in (-1.0, 0.0):
            self._state_rate = 0.0 if interval < 0.0 else _STATE_RATE
        elif 1.0 <= interval < math.inf:
            self._state_rate = 1e6 / interval
        else:
            self.refused.add("COMMAND_LONG: expected an interval >= 1 us, -1 or 0", str(interval))


def magnetic_field(home: Home) -> Array:
    """(3,) T, in a world with x east and y north: the World Magnetic Model 2025, on 2025-01-01."""
    try:
        import pygeomag
    except ImportError:
        raise _missing("pygeomag") from None
    model = pygeomag.GeoMag(coefficients_file="wmm/WMM_2025.COF")
    at = model.calculate(home.latitude_deg, home.longitude_deg, home.altitude / 1000.0, 2025.0)
    return 1e-9 * np.array([at.y, at.x, -at.z])


def _mavlink() -> Any:
    try:
        from pymavlink.dialects.v20 import common
    except ImportError:
        raise _missing("pymavlink") from None
    return common


def _missing(package: str) -> ImportError:
    return ImportError(f"PX4 needs {package}: pip install 'propwash[px4]'")


def _reason(text: str) -> str:
    """The reason of pymavlink without the numbers of one packet."""
    known = {
        "prefix": "bytes before a start marker",
        "length": "wrong length",
        "incompat_flags": "unknown incompatible flags",
        "CRC": "wrong checksum",
    }
    found = [reason for word, reason in known.items() if word in text]
    return f"MAVLink: {found[0] if found else 'malformed packet'}"


def _geodetic(latitude: Any, longitude: Any, altitude: Any) -> tuple[int, int, int]:
    """1e-7 degrees, 1e-7 degrees, mm."""
    return round(1e7 * float(latitude)), round(1e7 * float(longitude)), round(1e3 * float(altitude))


def _int16(value: float) -> int:
    return max(-32768, min(32767, round(value)))
