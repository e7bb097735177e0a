"""A peer that speaks the packets of Betaflight's simulator build, and refuses wrong ones.

It knows the published description only: axes, units, order of motors, arming rules and timeouts. It
flies by gains of its own.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

GRAVITY = 9.80665
_MIXER = np.array([[-1, 1, 1], [-1, -1, -1], [1, 1, -1], [1, -1, 1]], dtype=np.float64)
"""Roll (right), pitch (nose down), yaw (counter-clockwise: CW propellers faster) of motors 1 to 4,
RR, FR, RL, FL, as in the default quad-x whose motors 1 and 4 turn clockwise."""
_RX_LOSS = 0.15  # s
_GRACE = 5.0  # s, after its start
_CALIBRATION = 1250  # samples at rest
_NOISE_LIMIT = 48.0 / 16.4  # deg/s


class StrictBetaflight:
    """A flight controller in a link: state packets in, motor packets out, time from outside."""

    def __init__(self, polarity: str = "gazebo", yaw_motors_reversed: bool = False) -> None:
        self.is_gazebo = polarity == "gazebo"
        self.mixer = _MIXER * (1.0, 1.0, -1.0 if yaw_motors_reversed else 1.0)
        self.now, self.port = 0.0, 0
        self.violations: list[str] = []
        self.alive = True
        self.drop_next, self.double_next = 0, 0
        self.received = 0
        self.reset()

    def reset(self) -> None:
        """The state after its start."""
        self.started = self.now
        self.armed = False
        self.disarmed_because = ""
        self._channels: tuple[int, ...] | None = None
        self._last_rc = -math.inf
        self._arm_was_low = False
        self._still: list[Array] = []
        self._zero: Array | None = None
        self._integral = np.zeros(3)
        self._last_rates = np.zeros(3)
        self._runaway = 0.0
        self._out: list[bytes] = []

    # a Link

    def send(self, data: bytes) -> None:
        """Takes a state packet; answers with one motor packet."""
        self.received += 1
        if not self.alive:
            return
        if len(data) != 144:
            self.violations.append(f"{len(data)} bytes")
            return
        motors = self._control(struct.unpack("<18d", data))
        count = 1 - min(self.drop_next, 1) + min(self.double_next, 1)
        self.drop_next, self.double_next = max(0, self.drop_next - 1), max(0, self.double_next - 1)
        self._out += [struct.pack("<4f", *motors)] * count

    def receive(self, timeout: float) -> bytes | None:
        """Returns the oldest motor packet."""
        if not self._out:
            self.now += timeout
            return None
        return self._out.pop(0)

    def close(self) -> None:
        """Nothing is open."""

    def radio(self, data: bytes) -> None:
        """Takes a packet of the radio."""
        seconds, *channels = struct.unpack("<d16H", data)
        if not math.isfinite(seconds) or not all(885 <= c <= 2115 for c in channels):
            self.violations.append(f"channels {channels}")
        self._channels, self._last_rc = tuple(channels), self.now

    # the flight controller

    def _control(self, packet: tuple[float, ...]) -> Array:
        stamp, rates, force = packet[0], np.array(packet[1:4]), np.array(packet[4:7])
        attitude, pressure = np.array(packet[7:11]), packet[17]
        if not all(math.isfinite(value) for value in packet):
            self.violations.append("not finite")
        if abs(np.linalg.norm(attitude) - 1.0) > 1e-6:
            self.violations.append("attitude is not a unit quaternion")
        if not 30000.0 < pressure < 110000.0 or abs(packet[12]) > 180 or abs(packet[11 + 3]) > 180:
            self.violations.append(f"pressure or place {packet[11:]}")
        if stamp != 0.0:
            self.violations.append("the stamp changes: the clock would depend on jitter")
        # forward left up, as the firmware maps it
        gyro = rates * (1.0, -1.0, 1.0 if self.is_gazebo else -1.0)
        up_B = self._up(attitude)
        self._calibrate(gyro, -force)
        if self._zero is None:
            return np.zeros(4)
        return self._motors(gyro - self._zero, up_B)

    def _up(self, q: Array) -> Array:
        """The direction of up in the body frame (forward, left, up)."""
        w, x, y, z = q * (1, 1, -1, -1) if self.is_gazebo else q  # any heading: up is the same
        return np.array([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)])

    def _calibrate(self, gyro: Array, force: Array) -> None:
        if self._zero is not None:
            return
        self._still.append(gyro)
        if len(self._still) == _CALIBRATION:
            samples = np.degrees(np.array(self._still))
            if samples.std(axis=0).max() < _NOISE_LIMIT:
                self._zero = np.radians(samples.mean(axis=0))
                if not abs(force[2] - GRAVITY) < 1.5:
                    self.violations.append(f"at rest the packet's force is {force}")
            self._still = []

    def _motors(self, rates: Array, up_B: Array) -> Array:
        channels = self._channels
        if channels is None or self.now - self._last_rc > _RX_LOSS:
            self._disarm("RXLOSS")
            return np.zeros(4)
        roll, pitch, throttle, yaw, arm, angle = (c / 500.0 - 3.0 for c in channels[:6])
        throttle = 0.5 * (throttle + 1.0)
        if arm < 0.4:
            self.armed, self._arm_was_low = False, True
        elif not self.armed and self._arm_was_low and throttle < 0.05:
            ready = self.now - self.started > _GRACE and up_B[2] > 0.9
            self.armed = ready
            self._arm_was_low = ready
            self._integral[:] = 0.0
        if not self.armed:
            return np.zeros(4)
        target = np.radians(200.0) * np.array([roll, pitch, -yaw])
        if angle > 0.4:
            lean = np.array([math.atan2(up_B[1], up_B[2]), math.atan2(-up_B[0], up_B[2])])
            target[:2] = 5.0 * (np.radians(60.0) * np.array([roll, pitch]) - lean)
        error = target - rates
        self._integral = np.clip(self._integral + 0.0005 * error * (throttle > 0.1), -0.1, 0.1)
        slope = (rates - self._last_rates) / 0.002
        self._last_rates = rates
        output = np.array([0.02, 0.02, 0.03]) * error + self._integral - 0.0002 * slope
        self._watch(error)
        spread = self.mixer @ np.clip(output, -0.3, 0.3)
        return np.asarray(np.clip(0.055 + 0.945 * throttle + spread, 0.055, 1.0))

    def _watch(self, error: Array) -> None:
        """Disarms if the rotation runs away."""
        self._runaway = self._runaway + 1 if np.abs(error).max() > 6.0 else 0
        if self._runaway > 40:
            self._disarm("RUNAWAY")

    def _disarm(self, reason: str) -> None:
        if self.armed:
            self.armed, self._arm_was_low = False, False
            self.disarmed_because = reason
