"""Vehicle in the loop: poses of a real vehicle drive the renderer and synthetic sensors.

Poses usually come from motion capture: through a callback, a ZeroMQ stream (`PoseStream`) or a
recorded flight (`recorded`). Images and readings have the time stamp of their pose, and the latency
from the arrival of a pose to that of its image is measured.
"""

from __future__ import annotations

import json
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from propwash import _checks
from propwash.render import _pose
from propwash.render._transport import require_zeromq
from propwash.render.frame import Frame
from propwash.render.statistics import Latency, LatencyRecorder

__all__ = ["LoopStep", "PoseSample", "PoseStream", "Reading", "VehicleInTheLoop", "recorded"]

BINARY = struct.Struct("<q7d")
"""A pose on the stream: time_ns, position x, y, z, attitude w, x, y, z; 64 bytes."""
_MAX_ARRIVALS = 1000
_AT_ONCE = 100
"""The maximum number of poses per step, as a source may always have another."""


@dataclass(frozen=True)
class PoseSample:
    """The pose of a vehicle at a time. Raises ValueError for an invalid pose."""

    time_ns: int
    """ns, time of the measurement in the clock of the source; it increases."""
    position: _pose.Position
    """m, world frame."""
    attitude: _pose.Attitude
    """Body to world, scalar first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_ns", _pose.time_stamp(self.time_ns))
        object.__setattr__(self, "position", _pose.position("position", self.position))
        object.__setattr__(self, "attitude", _pose.attitude("attitude", self.attitude))

    def packed(self) -> list[bytes]:
        """The frames of a message for `PoseStream`: the word `pose` and 64 bytes."""
        return [b"pose", BINARY.pack(self.time_ns, *self.position, *self.attitude)]


@dataclass(frozen=True)
class Reading:
    """The readings of the synthetic sensors at a pose."""

    sample: PoseSample
    values: Mapping[str, Any]
    """Sensor name to the result of its `measure`."""


@dataclass(frozen=True)
class LoopStep:
    """The results of one step of the loop."""

    readings: list[Reading] = field(default_factory=list)
    """One for each received pose, in order."""
    frames: list[Frame] = field(default_factory=list)
    """Received frames in order; `time_ns` is that of their pose."""


class SyntheticSensor(Protocol):
    """A synthetic sensor: a range finder, beacons or camera of propwash, or a custom one."""

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> Any:
        """Measures at a pose."""


class PoseClient(Protocol):
    """The interface of a render client that the loop uses."""

    def submit_vehicle(self, time_ns: int, position: ArrayLike, attitude: ArrayLike) -> None:
        """Sends a pose."""

    def poll(self) -> Frame | None:
        """The next received frame; None if there is none."""


Source = Callable[[], PoseSample | None]


class VehicleInTheLoop:
    """Receives poses from `source`, reads `sensors` and requests images from `client`.

    Args:
        source: returns the next pose or None; a function or a `PoseStream`. It may also return the
            present pose at every call: a pose with the previous time stamp is ignored.
        client: a `propwash.render.Client`; None: sensors only.
        sensors: name to sensor; each measures once per pose.
        camera_rate: Hz, rate of images by the time stamps of the poses; None: one for every step
            with a pose. The newest pose of a step is rendered.
        wall: returns the time [s] for latencies.
    """

    def __init__(
        self,
        source: Source,
        client: PoseClient | None = None,
        sensors: Mapping[str, SyntheticSensor] | None = None,
        *,
        camera_rate: float | None = None,
        wall: Callable[[], float] = time.monotonic,
    ) -> None:
        if camera_rate is not None and not _pose.is_positive(camera_rate):
            raise ValueError(f"camera_rate: expected a finite number > 0 [Hz], got {camera_rate!r}")
        if not callable(source):
            raise ValueError(
                f"source: expected a function that returns a PoseSample or None, got {source!r:.99}"
            )
        self.poses = 0
        """The number of poses."""
        self.stale = 0
        """The number of poses dropped because their time stamp decreased."""
        self._source = source
        self._client = client
        self._sensors = dict(sensors or {})
        self._period_ns = 0 if camera_rate is None else round(1e9 / camera_rate)
        self._wall = wall
        self._newest = -1
        self._due_ns: int | None = None
        self._arrivals: OrderedDict[int, float] = OrderedDict()
        self._latency = LatencyRecorder()

    @property
    def latency(self) -> Latency:
        """The latency from the arrival of a pose to that of its frame."""
        return self._latency.summary()

    def step(self) -> LoopStep:
        """Processes pending poses, at most 100, and frames, without waiting."""
        done = LoopStep()
        newest: PoseSample | None = None
        for _ in range(_AT_ONCE):
            sample = self._source()
            if sample is None or sample.time_ns == self._newest:
                break  # the source returns its present pose at every call
            if sample.time_ns < self._newest:
                self.stale += 1
                continue
            newest, self._newest = sample, sample.time_ns
            self.poses += 1
            arrived = self._wall()
            values = {
                name: sensor.measure(sample.position, sample.attitude)
                for name, sensor in self._sensors.items()
            }
            done.readings.append(Reading(sample, values))
            if self._client is not None:
                self._arrivals[sample.time_ns] = arrived
        if newest is not None and self._is_due(newest.time_ns) and self._client is not None:
            self._client.submit_vehicle(newest.time_ns, newest.position, newest.attitude)
        while self._client is not None and (frame := self._client.poll()) is not None:
            done.frames.append(frame)
            self._measure_latency(frame.time_ns)
        while len(self._arrivals) > _MAX_ARRIVALS:
            self._arrivals.popitem(last=False)
        return done

    def run(
        self,
        seconds: float,
        each: Callable[[LoopStep], object],
        *,
        sleep: Callable[[float], object] = time.sleep,
        period: float = 0.002,
    ) -> None:
        """Steps every `period` [s], for `seconds` of wall time.

        each: called with every step that received poses or frames.
        """
        end = self._wall() + seconds
        while self._wall() < end:
            done = self.step()
            if done.readings or done.frames:
                each(done)
            sleep(period)

    def _is_due(self, time_ns: int) -> bool:
        """Whether an image of this pose is due; the schedule restarts after a gap."""
        if self._due_ns is not None and time_ns < self._due_ns:
            return False
        last = time_ns if self._due_ns is None else self._due_ns
        on_grid = time_ns - last < self._period_ns
        self._due_ns = (last if on_grid else time_ns) + self._period_ns
        return True

    def _measure_latency(self, time_ns: int) -> None:
        arrived = self._arrivals.pop(time_ns, None)
        if arrived is not None:
            self._latency.add(self._wall() - arrived)


class PoseStream:
    """A source of poses from ZeroMQ messages, for `VehicleInTheLoop(source=…)`.

    A SUB socket that receives messages of two frames; the first one names the format:

    | first frame | second frame |
    | --- | --- |
    | `pose` | 64 bytes, little-endian: int64 time_ns, 7 doubles: x, y, z [m], w, x, y, z |
    | `json` | {"time_ns": 0, "position": [x, y, z], "attitude": [w, x, y, z]} |

    `propwash.frames` converts other frame conventions. Other messages are dropped and counted.

    Args:
        endpoint: of the publisher or, with `bind`, of this socket.
        bind: wait for publishers to connect instead of connecting to one.
        depth: maximum number of queued poses; further ones are lost.

    Raises:
        ImportError: without pyzmq.
        OSError: for an invalid endpoint, or one that cannot be bound.
    """

    def __init__(
        self, endpoint: str = "tcp://127.0.0.1:10260", *, bind: bool = False, depth: int = 1000
    ) -> None:
        self._zmq = require_zeromq()
        self.faulty = 0
        """The number of malformed messages."""
        self.last_fault = ""
        """The error of the last malformed message."""
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.SUB)
        self._socket.setsockopt(self._zmq.RCVHWM, depth)
        self._socket.setsockopt(self._zmq.LINGER, 0)
        self._socket.setsockopt(self._zmq.SUBSCRIBE, b"")
        try:
            (self._socket.bind if bind else self._socket.connect)(endpoint)
        except self._zmq.ZMQError as error:
            self.close()
            action = "bound" if bind else "connected to"
            raise OSError(
                error.errno,
                f"endpoint {endpoint!r} cannot be {action}: {error.strerror}; expected one like "
                f"'tcp://127.0.0.1:10260'",
            ) from None

    def __call__(self) -> PoseSample | None:
        """The next pose; None if there is none."""
        for _ in range(_AT_ONCE):  # bounded, so that a flooded stream cannot block the caller
            try:
                frames = self._socket.recv_multipart(self._zmq.NOBLOCK)
            except self._zmq.Again:
                return None
            try:
                return _unpacked(frames)
            except ValueError as error:
                self.faulty += 1
                self.last_fault = str(error)[:300]
        return None

    def close(self) -> None:
        """Closes the socket."""
        self._socket.close(linger=0)
        self._context.term()

    def __enter__(self) -> PoseStream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def recorded(
    seconds: ArrayLike,
    positions: ArrayLike,
    attitudes: ArrayLike,
    *,
    speed: float = 1.0,
    wall: Callable[[], float] = time.monotonic,
) -> Source:
    """A source that returns the poses of a recorded flight when they are due.

    Args:
        seconds: (k,) s, increasing.
        positions: (k, 3) m, world frame.
        attitudes: (k, 4), scalar first.
        speed: ratio of flight time to wall time.
        wall: returns the wall time [s]; the flight starts with the first call of the source.
    """
    times = _checks.shaped("seconds", seconds, ("k",))
    if len(times) == 0 or np.any(np.diff(times) <= 0.0):
        raise ValueError("seconds: expected increasing numbers, at least one")
    _checks.positive("speed", speed)
    places = _checks.shaped("positions", positions, (len(times), 3))
    rotations = _checks.shaped("attitudes", attitudes, (len(times), 4))
    samples = [
        PoseSample(round(1e9 * float(t - times[0])), tuple(position), tuple(attitude))
        for t, position, attitude in zip(times, places, rotations, strict=True)
    ]
    start: float | None = None
    count = 0

    def source() -> PoseSample | None:
        nonlocal start, count
        now = wall()
        start = now if start is None else start
        if count == len(samples) or 1e-9 * samples[count].time_ns > (now - start) * speed:
            return None
        count += 1
        return samples[count - 1]

    return source


def _unpacked(frames: list[bytes]) -> PoseSample:
    """Decodes a message of the stream. Raises ValueError for a malformed one."""
    if len(frames) != 2 or frames[0] not in (b"pose", b"json"):
        raise ValueError(
            f"expected two frames, the first 'pose' or 'json', got {len(frames)}: "
            f"{frames[:1]!r:.60}"
        )
    if frames[0] == b"json":
        if len(frames[1]) > 10_000:
            raise ValueError(f"json: expected a pose, got {len(frames[1])} bytes")
        try:
            values = json.loads(frames[1])
            return PoseSample(values["time_ns"], values["position"], values["attitude"])
        except (UnicodeDecodeError, RecursionError, TypeError, KeyError) as error:
            raise ValueError(f"json: expected time_ns, position, attitude: {error!r}") from error
    if len(frames[1]) != BINARY.size:
        raise ValueError(f"pose: expected {BINARY.size} bytes, got {len(frames[1])}")
    time_ns, x, y, z, *attitude = BINARY.unpack(frames[1])
    return PoseSample(time_ns, (x, y, z), tuple(attitude))
