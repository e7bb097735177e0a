"""Vehicle in the loop: a real vehicle's poses drive the renderer and the synthetic sensors.

Poses come from outside, of motion capture as a rule: from a callback, from a ZeroMQ stream
(`PoseStream`), or from a recorded flight (`recorded`). Each keeps its time stamp: the image, and
every reading, carries that of the pose that it was made from, and the way from the pose's arrival
to the image's is measured.
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

from propwash.render import _pose
from propwash.render._transport import zeromq
from propwash.render.frame import Frame
from propwash.render.statistics import Latency, LatencyRecorder

__all__ = ["LoopStep", "PoseSample", "PoseStream", "Reading", "VehicleInTheLoop", "recorded"]

BINARY = struct.Struct("<q7d")
"""A pose on the stream: time_ns, position x, y, z, attitude w, x, y, z; 64 bytes."""
_REMEMBERED = 1000
_AT_ONCE = 100
"""Poses taken in a step at most: a source may have one at any time."""


@dataclass(frozen=True)
class PoseSample:
    """The vehicle's pose at a time, in propwash's frames; ValueError for one that is none."""

    time_ns: int
    """The time of the measurement, in the clock of whoever measured; it increases."""
    position: _pose.Position
    """m, world frame."""
    attitude: _pose.Attitude
    """Body to world, scalar first."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "time_ns", _pose.time_stamp(self.time_ns))
        object.__setattr__(self, "position", _pose.position("position", self.position))
        object.__setattr__(self, "attitude", _pose.attitude("attitude", self.attitude))

    def packed(self) -> list[bytes]:
        """The frames of a message for `PoseStream`: the word `pose`, and 64 bytes."""
        return [b"pose", BINARY.pack(self.time_ns, *self.position, *self.attitude)]


@dataclass(frozen=True)
class Reading:
    """What the synthetic sensors read at a pose."""

    sample: PoseSample
    values: Mapping[str, Any]
    """Sensor name to what its `measure` returned."""


@dataclass(frozen=True)
class LoopStep:
    """What one step of the loop brought."""

    readings: list[Reading] = field(default_factory=list)
    """One for each pose that came, in order."""
    frames: list[Frame] = field(default_factory=list)
    """Frames that came, in order; `time_ns` is that of their pose."""


class Measures(Protocol):
    """A synthetic sensor: propwash's range finder, beacons, cameras, or one of your own."""

    def measure(self, position: ArrayLike, attitude: ArrayLike) -> Any:
        """A reading at a pose."""


class Eyes(Protocol):
    """What the loop needs of a render client."""

    def submit_vehicle(self, time_ns: int, position: ArrayLike, attitude: ArrayLike) -> None:
        """Sends a pose."""

    def poll(self) -> Frame | None:
        """The next frame that came."""


Source = Callable[[], PoseSample | None]


class VehicleInTheLoop:
    """Takes poses from `source`, measures with `sensors`, asks `client` for images.

    Args:
        source: returns the next pose that came, or None; a function or a `PoseStream`. It may as
            well return the present pose at every call: one with the last time stamp is the same.
        client: a `propwash.render.Client`, or None: sensors alone.
        sensors: name to sensor; each is read once at every pose.
        camera_rate: Hz, of pictures by the poses' time stamps; None: one for every step that
            brought a pose. Of several poses in a step the newest is rendered.
        wall: s, the clock by which latencies are measured.
    """

    def __init__(
        self,
        source: Source,
        client: Eyes | None = None,
        sensors: Mapping[str, Measures] | None = None,
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
        """Poses taken."""
        self.stale = 0
        """Poses dropped, as their time stamps went back."""
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
        """Round trip: from a pose's arrival here to that of its frame."""
        return self._latency.summary()

    def step(self) -> LoopStep:
        """Takes the poses, 100 at most, and the frames that have come; does not wait."""
        done = LoopStep()
        newest: PoseSample | None = None
        for _ in range(_AT_ONCE):
            sample = self._source()
            if sample is None or sample.time_ns == self._newest:
                break  # the same again: it tells the present pose, and has no other
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
        while len(self._arrivals) > _REMEMBERED:
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
        """Steps every `period` [s], for `seconds` of the wall clock.

        `each` is called with what came, where something came.
        """
        end = self._wall() + seconds
        while self._wall() < end:
            done = self.step()
            if done.readings or done.frames:
                each(done)
            sleep(period)

    def _is_due(self, time_ns: int) -> bool:
        """Whether the camera takes a picture of this pose; a grid that is missed starts again."""
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
    """Poses as ZeroMQ messages, for `VehicleInTheLoop(source=…)`.

    A SUB socket that takes messages of two frames, the first of which names the format:

    | first frame | second frame |
    | --- | --- |
    | `pose` | 64 bytes, little-endian: int64 time_ns, 7 doubles: x, y, z [m], w, x, y, z |
    | `json` | {"time_ns": 0, "position": [x, y, z], "attitude": [w, x, y, z]} |

    in propwash's frames (`propwash.frames` converts others). A message that is none of these is
    dropped and counted.

    Args:
        endpoint: of the publisher, or, with `bind`, of this end.
        bind: wait for publishers to connect, instead of connecting to one.
        depth: poses that may wait; those that come when it is full are lost.

    Raises:
        ImportError: without pyzmq.
        OSError: where the endpoint cannot be bound or is none.
    """

    def __init__(
        self, endpoint: str = "tcp://127.0.0.1:10260", *, bind: bool = False, depth: int = 1000
    ) -> None:
        self._zmq = zeromq()
        self.faulty = 0
        """Messages dropped, as they could not be read."""
        self.last_fault = ""
        """What was wrong with the last of them."""
        self._context = self._zmq.Context()
        self._socket = self._context.socket(self._zmq.SUB)
        self._socket.setsockopt(self._zmq.RCVHWM, depth)
        self._socket.setsockopt(self._zmq.LINGER, 0)
        self._socket.setsockopt(self._zmq.SUBSCRIBE, b"")
        try:
            (self._socket.bind if bind else self._socket.connect)(endpoint)
        except self._zmq.ZMQError as error:
            self.close()
            way = "bound" if bind else "connected to"
            raise OSError(
                error.errno,
                f"endpoint {endpoint!r} cannot be {way}: {error.strerror}; expected one like "
                f"'tcp://127.0.0.1:10260'",
            ) from None

    def __call__(self) -> PoseSample | None:
        """The next pose that waits, or None."""
        for _ in range(_AT_ONCE):  # whoever floods the stream must not hold its reader
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
        """Leaves the stream."""
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
    """A source that gives the poses of a recorded flight when they are due.

    Args:
        seconds: (k,) s, increasing.
        positions: (k, 3) m, world frame.
        attitudes: (k, 4), scalar first.
        speed: seconds of the flight in one of the wall clock.
        wall: s, the wall clock; the flight starts with the first call of the source.
    """
    times = np.asarray(seconds, dtype=np.float64)
    if times.ndim != 1 or len(times) == 0 or not np.isfinite(times).all():
        raise ValueError(f"seconds: expected finite numbers of shape (k,), got {times.shape}")
    if np.any(np.diff(times) <= 0.0):
        raise ValueError("seconds: expected increasing numbers")
    if not _pose.is_positive(speed):
        raise ValueError(f"speed: expected a finite number > 0, got {speed!r:.100}")
    places, turns = np.asarray(positions), np.asarray(attitudes)
    if places.shape != (len(times), 3) or turns.shape != (len(times), 4):
        raise ValueError(
            f"positions, attitudes: expected shapes ({len(times)}, 3) and ({len(times)}, 4), got "
            f"{places.shape} and {turns.shape}"
        )
    samples = [
        PoseSample(round(1e9 * float(t - times[0])), tuple(place), tuple(turn))
        for t, place, turn in zip(times, places, turns, strict=True)
    ]
    start: float | None = None
    given = 0

    def source() -> PoseSample | None:
        nonlocal start, given
        now = wall()
        start = now if start is None else start
        if given == len(samples) or 1e-9 * samples[given].time_ns > (now - start) * speed:
            return None
        given += 1
        return samples[given - 1]

    return source


def _unpacked(frames: list[bytes]) -> PoseSample:
    """A message of the stream; ValueError says what is wrong with it."""
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
    time_ns, *numbers = BINARY.unpack(frames[1])
    x, y, z, *attitude = numbers
    return PoseSample(time_ns, (x, y, z), tuple(attitude))
