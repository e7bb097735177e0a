"""Packets of Betaflight's simulator build (target SITL), and its radio receiver."""

from __future__ import annotations

import math
import struct
import threading
import time
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from propwash._bridge import Refused
from propwash.autopilot._links import LOOPBACK, UdpLink
from propwash.autopilot._loop import Codec
from propwash.autopilot._simulation import Sample

Array = NDArray[np.float64]
Polarity = Literal["gazebo", "legacy"]

MOTOR_PORT = 9002
"""UDP port to which Betaflight sends motor outputs."""
STATE_PORT = 9003
"""UDP port at which Betaflight receives states."""
RC_PORT = 9004
_STATE, _RC, _MOTORS = struct.Struct("<18d"), struct.Struct("<d16H"), struct.Struct("<4f")
_METRES_PER_DEGREE = 111319.49
_CHANNELS = 16
_SLACK = 0.02  # of outputs around 0 to 1


class Betaflight(Codec):
    """Codec of Betaflight SITL: state packets (UDP 9003), motors (9002), sticks (9004).

    polarity: "gazebo" for the default build; "legacy" for builds with ENABLE_GAZEBO_BRIDGE=0 and
        for releases before it existed: the other sign of the yaw rate, the attitude as it is,
        and the pressure in the packet.
    home: latitude and longitude of the world's origin, degrees.

    The time stamp of all state packets is the same: Betaflight multiplies its clock by the ratio
    of two stamps to the time between the arrivals of the two packets, which jitter makes wrong by
    any factor; with equal stamps it keeps wall time.
    """

    def __init__(
        self, polarity: Polarity = "gazebo", home: tuple[float, float] = (47.397742, 8.545594)
    ) -> None:
        if polarity not in ("gazebo", "legacy"):
            raise ValueError(f"polarity = {polarity!r}: expected 'gazebo' or 'legacy'")
        self.refused = Refused()
        self._is_gazebo = polarity == "gazebo"
        self._home = home

    def sensors(self, sample: Sample) -> bytes:
        """A state packet."""
        is_gazebo = self._is_gazebo
        p, q, r = sample.angular_rate
        w, x, y, z = sample.attitude
        # the default build turns the attitude by 90 degrees about z where 270 are right, like the
        # place, and conjugates it by 180 degrees about x: undone here
        attitude = (z, y, x, w) if is_gazebo else _north_west_up(w, x, y, z)
        east, north, up = sample.position
        mirror = -1.0 if is_gazebo else 1.0
        latitude = self._home[0] + mirror * north / _METRES_PER_DEGREE
        width = _METRES_PER_DEGREE * math.cos(math.radians(self._home[0]))
        longitude = self._home[1] + mirror * east / width
        return _STATE.pack(
            0.0,
            *(p, -q, r if is_gazebo else -r),
            *-sample.specific_force,
            *attitude,
            *sample.velocity,
            *(longitude, latitude, up),
            101325.0 * (1.0 - 2.25577e-5 * up) ** 5.25588,
        )

    def motors(self, packet: bytes) -> Array | None:
        """Outputs of the four motors from 0 to 1; None, counted in `refused`, for other packets."""
        if len(packet) != _MOTORS.size:
            self.refused.add("motor packet of a wrong length", f"{len(packet)} bytes, expected 16")
            return None
        outputs = np.array(_MOTORS.unpack(packet), dtype=np.float64)
        if not np.all(np.isfinite(outputs)):
            self.refused.add("motor output that is not finite", str(outputs))
            return None
        if outputs.min() < -_SLACK or outputs.max() > 1.0 + _SLACK:
            self.refused.add("motor output outside 0 to 1", f"{outputs}: is feature 3D on?")
            return None
        return np.clip(outputs, 0.0, 1.0)

    @staticmethod
    def sticks(seconds: float, channels: Sequence[int]) -> bytes:
        """A packet of the radio: 16 channels in µs, roll, pitch, throttle, yaw, switches."""
        if len(channels) > _CHANNELS or not all(0 <= channel < 2**16 for channel in channels):
            raise ValueError(
                f"channels: expected up to 16 widths from 0 to 65535 us, got {channels}"
            )
        return _RC.pack(seconds, *channels, *(1000 for _ in range(_CHANNELS - len(channels))))


def _north_west_up(w: float, x: float, y: float, z: float) -> tuple[float, float, float, float]:
    """The attitude relative to north, west, up instead of east, north, up."""
    k = math.sqrt(0.5)
    return (k * (w + z), k * (x + y), k * (y - x), k * (z - w))


class Transmitter:
    """Sends the sticks: at a steady rate after `start`, or one by one.

    They are sent by a thread, and by `set`: the thread alone may wait long for a busy interpreter.

    Betaflight loses the radio after 150 ms without a packet. Channels are in µs: roll, pitch,
    throttle, yaw from 1000 to 2000, then switches.
    """

    def __init__(self, host: str = LOOPBACK, port: int = RC_PORT, rate: float = 100.0) -> None:
        self._link = UdpLink(0, (host, port), host)
        self._period = 1.0 / rate
        self._channels: tuple[int, ...] = (1500, 1500, 1000, 1500)
        self._lock = threading.Lock()
        self._begin = self._due = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="transmitter", daemon=True)

    def start(self) -> None:
        """Starts to send at the rate."""
        self._begin = self._due = time.monotonic()
        self._thread.start()

    def set(self, channels: Sequence[int]) -> None:
        """Sets the channels that are sent from now on, and sends them if a packet is due.

        Raises ValueError for invalid channels.
        """
        chosen = tuple(int(c) for c in channels)
        Betaflight.sticks(0.0, chosen)  # raises here, not in the thread
        self._channels = chosen
        if self._thread.is_alive():
            self._send_if_due()

    def send(self, seconds: float) -> None:
        """Sends one packet with a time stamp [s]."""
        self._link.send(Betaflight.sticks(seconds, self._channels))

    def close(self) -> None:
        """Stops."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(1.0)
        self._link.close()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._stop.wait(max(0.0, self._send_if_due() - time.monotonic()))

    def _send_if_due(self) -> float:
        """Sends a packet if it is time; returns the time of the next one."""
        with self._lock:
            now = time.monotonic()
            if now >= self._due:
                self.send(self._due - self._begin)
                self._due = max(self._due + self._period, now)
            return self._due
