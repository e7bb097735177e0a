"""ArduPilot: JSON lines and servo packets; no sockets, no clock. See docs/ardupilot.md."""

from __future__ import annotations

import json
import struct

import numpy as np
from numpy.typing import NDArray

from propwash import _rotation, frames
from propwash._bridge import Refused
from propwash.autopilot._loop import Codec
from propwash.autopilot._simulation import Sample

Array = NDArray[np.float64]

CHANNELS = {18458: 16, 29569: 32}
"""Number of channels by the magic number of a servo packet."""

_HEADER = struct.Struct("<HHI")  # magic, frame rate, frame count
_PWM_OFF, _PWM_MIN, _PWM_MAX = 0, 1000.0, 2000.0  # us
_PWM_PLAUSIBLE = (500, 2500)
_RATE_MIN, _RATE_MAX = 10, 10_000  # Hz; ArduPilot ignores steps of 0.1 s and more


class ArduPilot(Codec):
    """Makes the JSON lines of ArduPilot and reads its servo packets.

    motors: number of motors, on the first channels. refused: counts what cannot be used.
    """

    PORT = 9002
    """UDP port on which ArduPilot expects the simulator."""
    RATE = 1000.0
    """Hz, of the steps before ArduPilot asks for its own rate."""

    def __init__(self, motors: int = 4, *, refused: Refused | None = None) -> None:
        self._motors = motors
        self.refused = Refused() if refused is None else refused
        self._count: int | None = None

    @staticmethod
    def is_servo_packet(packet: bytes) -> bool:
        """Whether magic number and length are those of a servo packet."""
        if len(packet) < _HEADER.size:
            return False
        channels = CHANNELS.get(_HEADER.unpack_from(packet)[0])
        return channels is not None and len(packet) == _HEADER.size + 2 * channels

    def sensors(self, sample: Sample) -> bytes:
        """The line of JSON of a sample, without spaces, as ArduPilot's reader requires."""
        attitude = frames.quaternion_enu_flu_to_ned_frd(sample.attitude)
        fields = {
            "timestamp": sample.time,
            "imu": {
                "gyro": frames.flu_to_frd(sample.angular_rate).tolist(),
                "accel_body": frames.flu_to_frd(sample.specific_force).tolist(),
            },
            "position": frames.enu_to_ned(sample.position).tolist(),
            "attitude": _rotation.euler(attitude),
            "quaternion": attitude.tolist(),
            "velocity": frames.enu_to_ned(sample.velocity).tolist(),
        }
        return b"\n" + json.dumps(fields, separators=(",", ":")).encode() + b"\n"

    def motors(self, packet: bytes) -> Array | None:
        """Outputs of a servo packet, 0 to 1 in ArduPilot's order, if its frame is a new one."""
        if not self.is_servo_packet(packet):
            detail = f"{len(packet)} bytes, {packet[:2].hex()}"
            self._refuse("expected 40 bytes with magic 18458 or 72 with 29569", detail)
            return None
        _, rate, count = _HEADER.unpack_from(packet)
        if not _RATE_MIN <= rate <= _RATE_MAX:
            self._refuse("frame_rate: expected 10 to 10000 Hz", f"{rate}")
            return None
        pwm = np.frombuffer(packet, "<u2", self._motors, _HEADER.size).astype(np.float64)
        low, high = _PWM_PLAUSIBLE
        if not np.all((pwm == _PWM_OFF) | ((pwm >= low) & (pwm <= high))):
            self._refuse("pwm limited, expected 0 or 500 to 2500 us on the motors", f"{pwm}")
        if count == self._count:
            self.asks_again = True
            return None
        self._follow(count)
        self.requested_period = 1.0 / rate
        return np.clip((pwm - _PWM_MIN) / (_PWM_MAX - _PWM_MIN), 0.0, 1.0)

    def _follow(self, count: int) -> None:
        if self._count is None or count < self._count:
            self.restarted = True
        elif count > self._count + 1:
            detail = f"{self._count} before {count}"
            self.refused.add("servo packet: frames missing before this one", detail)
        self._count = count

    def _refuse(self, reason: str, detail: str) -> None:
        self.refused.add(f"servo packet: {reason}", detail)
