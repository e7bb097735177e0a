"""Peers that speak as PX4 and ArduPilot do and check all that a simulator sends them.

They are written from the published descriptions and do not use propwash: the wire formats, frames,
signs and orders of motors are stated here a second time.
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
from autopilot_rate_loops import ArduPilotLoop, Px4Loop, RateLoop
from numpy.typing import NDArray
from pymavlink.dialects.v20 import common as mavlink

Array = NDArray[np.float64]

GRAVITY = 9.81
# yaw gains for ten times the usual torque of propellers; others are the defaults
PX4_FLIGHTGOGGLES = {"MC_YAWRATE_P": 0.012, "MC_YAWRATE_I": 0.006, "MC_YAW_P": 2.2}
ARDUPILOT_FLIGHTGOGGLES = {"ATC_RAT_YAW_P": 0.03, "ATC_RAT_YAW_I": 0.002, "ATC_ANG_YAW_P": 2.8}
EARTH = 6_371_000.0  # m


def rotation(q: Array) -> Array:
    """The matrix of a unit quaternion, scalar first, from body to world."""
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def heading(matrix: Array) -> float:
    """Clockwise from north."""
    return math.atan2(matrix[1, 0], matrix[0, 0])


def turned(matrix: Array, rates: Array, dt: float) -> Array:
    """An attitude after dt of constant body rates."""
    angle = rates * dt
    size = max(float(np.linalg.norm(angle)), 1e-12)
    a, b, c = angle / size
    skew = np.array([[0.0, -c, b], [c, 0.0, -a], [-b, a, 0.0]])
    step = np.eye(3) + math.sin(size) * skew + (1 - math.cos(size)) * skew @ skew
    return np.asarray(matrix @ step)


class QuadX:
    """A flight controller in NED and FRD for the quad-x of both programs.

    Motors: front right, rear left (seen from above counter-clockwise), front left, rear right
    (clockwise). It stands 2 s, arms, climbs to 3 m, goes 2 m north, faces east, then south, and
    lands at `land` s. While it holds the place it judges its yaw rate and its outputs.

    loop: attitude and rate loops of the program. hover: output at which the vehicle hovers.
    """

    HOLD = (6.0, 8.0)  # s

    # a right roll, a nose-up pitch and a clockwise yaw on the motors in their order
    MIX = np.array([[-1, 1, 1, -1], [1, -1, 1, -1], [1, 1, -1, -1]], dtype=np.float64)

    def __init__(self, loop: RateLoop, land: float, hover: float) -> None:
        self.loop, self.land, self.hover = loop, land, hover
        self.armed = False
        self.integral, self.last = 0.0, 0.0
        self.held: list[tuple[float, float]] = []  # yaw rate, fraction of motors at a limit

    def outputs(self, t: float, p: Array, v: Array, matrix: Array, rates: Array) -> Array:
        """Outputs from 0 to 1."""
        dt, self.last = t - self.last, t
        self.armed = 2.0 <= t < self.land + 8.0
        if not self.armed:
            return np.zeros(4)
        goal = np.array([2.0 if t > 8.0 else 0.0, 0.0, -min(3.0, t - 2.0)])
        if t > self.land:
            goal[2] = -3.0 + (t - self.land)
        yaw = math.pi / 2 if t < 10.0 else math.pi
        wish = 1.5 * np.clip(goal - p, -1.0, 1.0) - 2.0 * v
        self.integral += 0.002 * float(np.clip(goal[2] - p[2], -0.2, 0.2))
        c, s = math.cos(heading(matrix)), math.sin(heading(matrix))
        tilt = np.clip(
            np.array([c * wish[0] + s * wish[1], -s * wish[0] + c * wish[1]]) / 10, -0.3, 0.3
        )
        roll, pitch = math.atan2(matrix[2, 1], matrix[2, 2]), -math.asin(matrix[2, 0])
        turn = (yaw - heading(matrix) + math.pi) % (2 * math.pi) - math.pi
        wish_rates = self.loop.attitude * [tilt[1] - roll, -tilt[0] - pitch, turn]
        wish_rates[2] = np.clip(wish_rates[2], -1.0, 1.0)
        lift = self.hover * (1.0 - (wish[2] + self.integral) / GRAVITY) / max(0.7, matrix[2, 2])
        out = np.clip(lift + self.loop.outputs(wish_rates, rates, dt) @ self.MIX, 0.02, 1.0)
        if self.HOLD[0] <= t < self.HOLD[1]:
            self.held.append((float(rates[2]), float(np.mean((out <= 0.02) | (out >= 1.0)))))
        return np.asarray(out)

    def verdicts(self) -> Counter[str]:
        """What is wrong with the flight in place: a rate or outputs that oscillate."""
        rates, at_limit = np.array(self.held or [(0.0, 0.0)]).T
        found: Counter[str] = Counter()
        found["yaw rate oscillates"] += bool(rates.std() > 0.3)
        found["outputs saturate"] += bool(at_limit.mean() > 0.02)
        return +found


class Physics:
    """Checks readings against the motion of the body, in NED and FRD."""

    def __init__(self, errors: Counter[str]) -> None:
        self.errors = errors
        self.window: list[tuple[float, Array, Array, Array, Array]] = []
        self.accelerations: list[float] = []
        self.turns: list[float] = []

    def check(self, t: float, v: Array, matrix: Array, rates: Array, force: Array) -> None:
        """Compares a quarter of a second of gyroscope and accelerometer with the true motion."""
        if self.window and not t > self.window[-1][0]:
            self.errors["time did not advance"] += 1
        self.window.append((t, v, matrix, rates, force))
        if t - self.window[0][0] < 0.25:
            return
        start, old_v, attitude, _, _ = self.window[0]
        gained, before = np.zeros(3), start
        for at, _, _, w, f in self.window[1:]:
            gained += (attitude @ f + [0.0, 0.0, GRAVITY]) * (at - before)
            attitude = turned(attitude, w, at - before)
            before = at
        self.accelerations.append(float(np.linalg.norm(v - old_v - gained)))
        trace = (np.trace(attitude.T @ matrix) - 1) / 2
        self.turns.append(math.acos(float(np.clip(trace, -1, 1))))
        self.window = self.window[-1:]


class Px4Peer:
    """PX4's side of the link, without a socket: bytes in, bytes out."""

    STEP = 4000  # us

    def __init__(
        self,
        land: float = math.inf,
        parameters: Mapping[str, float] = PX4_FLIGHTGOGGLES,
        hover: float = 0.2653,
    ) -> None:
        self.link = mavlink.MAVLink(None, 1, 1)
        self.reader = mavlink.MAVLink(None)
        self.pilot = QuadX(Px4Loop(parameters), land, hover)
        self.errors: Counter[str] = Counter()
        self.seen: Counter[str] = Counter()
        self.physics = Physics(self.errors)
        self.time: int | None = None
        self.first: dict[str, Any] = {}
        self.state: Any = None
        self.mag = self.pressure = None
        self.path: list[tuple[float, Array, Array]] = []
        self.compass: list[float] = []
        self.at_rest: list[list[float]] = []
        self.fixes: list[tuple[float, Array, Array]] = []
        self.heights: list[tuple[float, float]] = []

    def pack(self, message: Any) -> bytes:
        """The bytes of a message."""
        data: bytes = message.pack(self.link)
        self.link.seq = (self.link.seq + 1) % 256
        return data

    def hello(self) -> bytes:
        """What PX4 sends first: a heartbeat, and the wish for the true state at 200 Hz."""
        ask = mavlink.MAVLink_command_long_message(0, 0, 511, 0, 115, 5000, 0, 0, 0, 0, 0)
        beat = mavlink.MAVLink_heartbeat_message(0, 12, 0, 0, 0, 3)
        return self.pack(beat) + self.pack(ask)

    def feed(self, data: bytes) -> bytes:
        """Reads what the simulator sends; returns the answers, one for each HIL_SENSOR."""
        answers = b""
        for message in self.reader.parse_buffer(data) or ():
            name = message.get_type()
            self.seen[name] += 1
            if name == "HIL_SENSOR":
                answers += self.sensor(message)
            elif name == "HIL_GPS":
                self.fix(message)
            elif name == "HIL_STATE_QUATERNION":
                self.state = message
            elif name != "HEARTBEAT":
                self.errors[f"unexpected {name}"] += 1
        return answers

    def metres(self, lat: int, lon: int, alt: int) -> Array:
        """Place in NED from the first one."""
        lat0, lon0, alt0 = self.first.setdefault("place", (lat, lon, alt))
        scale = math.radians(1e-7) * EARTH
        east = (lon - lon0) * scale * math.cos(math.radians(1e-7 * lat0))
        return np.array([(lat - lat0) * scale, east, (alt0 - alt) / 1000])

    def sensor(self, m: Any) -> bytes:
        """One HIL_SENSOR: checks it, flies, answers."""
        if self.time is not None and m.time_usec - self.time != self.STEP and self.time != 1:
            self.errors["HIL_SENSOR: a step lost or doubled"] += 1
        self.time = m.time_usec
        bits, t = m.fields_updated, m.time_usec * 1e-6
        for name, group in {"imu": 0x3F, "mag": 0x1C0, "baro": 0x1A00}.items():
            if bits & group not in (0, group):
                self.errors[f"fields_updated: part of {name}"] += 1
            self.seen[name] += bits & group == group
        if bits & ~0x1BFF:
            self.errors["fields_updated: unknown or absent sensor"] += 1
        if bits & 0x3F != 0x3F:
            self.errors["fields_updated: without IMU"] += 1
        force, rates = np.array([m.xacc, m.yacc, m.zacc]), np.array([m.xgyro, m.ygyro, m.zgyro])
        outputs = np.zeros(4)
        if self.state is not None:
            q = np.array(self.state.attitude_quaternion)
            matrix = rotation(q)
            place = self.metres(self.state.lat, self.state.lon, self.state.alt)
            v = np.array([self.state.vx, self.state.vy, self.state.vz]) / 100
            outputs = self.pilot.outputs(t, place, v, matrix, rates)
            self.path.append((t, place, matrix))
            if self.state.time_usec == m.time_usec:
                self.physics.check(t, v, matrix, rates, force)
            if bits & 0x1C0:
                field = matrix @ [m.xmag, m.ymag, m.zmag]
                self.compass.append(math.degrees(math.atan2(field[1], field[0])))
                if not 0.25 < np.linalg.norm(field) < 0.65:
                    self.errors["magnetometer: not gauss"] += 1
            if bits & 0x1A00:
                isa = 44330.77 * (1 - (m.abs_pressure / 1013.25) ** 0.190263)
                if abs(isa - m.pressure_alt) > 0.5:
                    self.errors["barometer: altitude and pressure differ"] += 1
                self.heights.append((m.pressure_alt, -place[2]))
        if t < 2.0:
            self.at_rest.append([*force, *rates])
        mode = 1 | (128 if self.pilot.armed else 0)
        controls = [*outputs.tolist(), *[0.0] * 12]
        return self.pack(
            mavlink.MAVLink_hil_actuator_controls_message(m.time_usec, controls, mode, 1)
        )

    def fix(self, m: Any) -> None:
        """One HIL_GPS."""
        if m.fix_type != 3 or m.satellites_visible < 6 or m.eph > 300 or m.epv > 500:
            self.errors["HIL_GPS: PX4 would not use this fix"] += 1
        place = np.array([m.lat, m.lon, m.alt], dtype=np.float64)
        self.fixes.append((m.time_usec * 1e-6, place, np.array([m.vn, m.ve, m.vd]) / 100))


class ArduPilotPeer:
    """ArduPilot's side of the link, without a socket: datagrams in, datagrams out."""

    KEYS = (
        ("", "timestamp", 1), ("imu", "gyro", 3), ("imu", "accel_body", 3), ("", "position", 3),
        ("", "attitude", 3), ("", "quaternion", 4), ("", "velocity", 3),
    )  # fmt: skip

    def __init__(
        self,
        rate: int = 1000,
        land: float = math.inf,
        magic: int = 18458,
        parameters: Mapping[str, float] = ARDUPILOT_FLIGHTGOGGLES,
        hover: float = 0.2653,
    ) -> None:
        self.rate, self.magic = rate, magic
        self.pilot = QuadX(ArduPilotLoop(parameters), land, hover)
        self.errors: Counter[str] = Counter()
        self.physics = Physics(self.errors)
        self.count, self.time = 0, 0.0
        self.pwm = [1000] * 4
        self.path: list[tuple[float, Array, Array]] = []
        self.at_rest: list[list[float]] = []

    def frame(self) -> bytes:
        """The servo packet of the present frame."""
        channels = {18458: 16, 29569: 32}[self.magic]
        pwm = [*self.pwm, *[0] * (channels - 4)]
        return struct.pack(f"<HHI{channels}H", self.magic, self.rate, self.count, *pwm)

    def read(self, line: str) -> dict[str, Array]:
        """Finds values as ArduPilot does: by key, with the number right behind the colon."""
        found = {}
        for section, key, size in self.KEYS:
            start = line.find(section) + len(section) + 1
            at = line.find(key, start)
            number = r"-?\d+\.?\d*(?:e[-+]?\d+)?"
            shape = number if size == 1 else r"\[" + ",".join([number] * size) + r"\]"
            match = None if at < 0 else re.match(f'":({shape})', line[at + len(key) :])
            if match is None:
                self.errors[f"cannot read {key}"] += 1
                raise ValueError(line)
            found[key] = np.array([float(x) for x in re.findall(number, match[1])])
        return found

    def feed(self, data: bytes) -> bytes:
        """Reads one datagram; returns the next servo packet."""
        if data[:1] != b"\n" or data[-1:] != b"\n" or data.count(b"\n") != 2:
            self.errors["expected one line between line feeds"] += 1
        values = self.read(data.decode())
        (t,) = values["timestamp"]
        if abs(t - self.time - 1 / self.rate) > 1e-9:
            self.errors["timestamp: a step lost or doubled"] += 1
        self.time = t
        matrix = rotation(values["quaternion"])
        roll, pitch, yaw = values["attitude"]
        euler = math.atan2(matrix[2, 1], matrix[2, 2]), -math.asin(matrix[2, 0]), heading(matrix)
        if max(abs(math.sin(a - b)) for a, b in zip((roll, pitch, yaw), euler, strict=True)) > 1e-6:
            self.errors["attitude and quaternion differ"] += 1
        force, rates = values["accel_body"], values["gyro"]
        self.physics.check(t, values["velocity"], matrix, rates, force)
        place = values["position"]
        out = self.pilot.outputs(t, place, values["velocity"], matrix, rates)
        self.pwm = [int(1000 + 1000 * x) for x in out]
        self.path.append((t, place, matrix))
        if t < 2.0:
            self.at_rest.append([*force, *rates])
        self.count += 1
        return self.frame()


class Wire:
    """A link without a socket: the peer reads and answers at once, after its first packets."""

    port = 0

    def __init__(self, peer: Px4Peer | ArduPilotPeer, *first: bytes) -> None:
        self.peer, self.arriving, self.is_open = peer, list(first), False

    def send(self, data: bytes) -> None:
        if self.is_open and (answer := self.peer.feed(data)):
            self.arriving.append(answer)

    def receive(self, timeout: float) -> bytes | None:
        if not self.arriving:
            return None
        self.is_open = True
        return self.arriving.pop(0)

    def close(self) -> None: ...
