"""PX4 in its hardware-in-the-loop mode: MAVLink HIL messages without lock step, with latencies."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from propwash.autopilot._latency import Latencies
from propwash.autopilot._px4 import Px4
from propwash.autopilot._simulation import Sample

Array = NDArray[np.float64]

_HIL = 32
"""MAV_MODE_FLAG_HIL_ENABLED of HEARTBEAT.base_mode."""
_TIMESYNC_RATE = 10.0  # Hz
_FORGETTING = 0.05
"""Weight of a new offset between the clocks, unless its round trip is the shortest so far."""
_RESTARTED = 1_000_000
"""us, by which PX4's clock goes back if it starts anew; packets in another order do so by less."""


class Px4Hil(Px4):
    """Makes the sensor messages of a PX4 that runs with `SYS_HITL` 1, and reads its outputs.

    PX4 runs by its own clock and sends outputs at 200 Hz whatever arrives. TIMESYNC messages
    measure the link and the offset between the clocks.

    Arguments are those of Px4. report: is called with a line if PX4 is not in this mode. clock: s.
    """

    def __init__(
        self,
        motors: int = 4,
        *arguments: Any,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        **options: Any,
    ) -> None:
        self.jitter = Latencies()
        """Differences of the intervals between sent samples from the simulated ones."""
        self.round_trip = Latencies()
        """Times from a TIMESYNC message to its answer."""
        self.age = Latencies()
        """Times from the computation of outputs, by PX4's clock, to their arrival."""
        self.interval = Latencies()
        """Times between the arrivals of outputs."""
        self._report, self._clock = report, clock
        self._is_reported = False
        super().__init__(motors, *arguments, **options)

    def reset(self) -> None:
        """Forgets the peer: for a new connection, at time 0."""
        super().reset()
        self._before: tuple[float, float] | None = None
        self._arrived: float | None = None
        self._offset: float | None = None  # s, our clock minus PX4's
        self._shortest = float("inf")

    @staticmethod
    def is_mavlink(packet: bytes) -> bool:
        """Whether a packet begins as one of MAVLink, version 1 or 2."""
        return packet[:1] in (b"\xfe", b"\xfd")

    def statistics(self) -> str:
        """Returns the latencies as text."""
        parts = {
            "interval of HIL_SENSOR, deviation": self.jitter,
            "interval of outputs": self.interval,
            "round trip": self.round_trip,
            "age of outputs": self.age,
        }
        return "\n".join(f"{name}: {latency}" for name, latency in parts.items())

    def sensors(self, sample: Sample) -> bytes:
        """The messages of one step, with TIMESYNC when due."""
        now = self._clock()
        if self._before is not None and sample.time > self._before[1]:
            self.jitter.add(abs((now - self._before[0]) - (sample.time - self._before[1])))
        self._before = now, sample.time
        out = super().sensors(sample)
        if self._due("timesync", _TIMESYNC_RATE, sample.time):
            out += self._pack("timesync", 0, round(1e9 * now))
        return out

    def motors(self, packet: bytes) -> Array | None:
        """As Px4; a clock of PX4 that goes back by a second is one that has started anew."""
        before = self._answered
        outputs = super().motors(packet)
        now = self._answered
        if before is not None and now is not None and now < before - _RESTARTED:
            self.reset()
            self.restarted = True
            return None
        return outputs

    def _outputs(self, message: Any) -> Array:
        now = self._clock()
        if self._arrived is not None:
            self.interval.add(now - self._arrived)
        self._arrived = now
        if self._offset is not None:
            self.age.add(now - self._offset - 1e-6 * message.time_usec)
        return super()._outputs(message)

    def _other(self, message: Any) -> None:
        name = message.get_type()
        if name == "TIMESYNC":
            self._synchronise(message)
        elif name == "HEARTBEAT" and message.autopilot == 12:
            if not message.base_mode & _HIL and not self._is_reported:
                self._is_reported = True
                self._report(
                    "PX4 is not in its HIL mode: set SYS_HITL to 1 and start it anew (docs/px4.md)"
                )
        elif name == "BAD_DATA":
            super()._other(message)
        # all else is for the ground station, at the same port

    def _synchronise(self, message: Any) -> None:
        """Uses the answer to one of our TIMESYNC messages: ts1 is ours, tc1 PX4's time."""
        now = self._clock()
        sent = 1e-9 * message.ts1
        if message.tc1 == 0 or not 0.0 <= now - sent < 10.0:
            return  # a question of PX4, or an answer to another program
        trip = now - sent
        self.round_trip.add(trip)
        offset = 0.5 * (now + sent) - 1e-9 * message.tc1
        if self._offset is None or trip < self._shortest:
            self._offset, self._shortest = offset, trip
        else:
            self._offset += _FORGETTING * (offset - self._offset)
