"""Clocks that couple simulation time to a renderer: lock-step, real time, or scaled.

The loop is the same for each clock:

    clock = LockStep(rate=60.0)  # or RealTime, DynamicClock
    while clock.time < 10.0:
        uav.step(command, dt=1 / 960, substeps=4)
        if clock.advance(4 / 960):  # an image is due
            frame = clock.render(client, uav.position, uav.attitude)  # None: not yet
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from propwash import _render
from propwash.render import _pose
from propwash.render.frame import Frame

__all__ = ["Clock", "DynamicClock", "LockStep", "RealTime"]


class Renders(Protocol):
    """The interface of a client that clocks use."""

    @property
    def submit_vehicle(self) -> Callable[..., None]:
        """Sends a pose."""

    @property
    def request_vehicle(self) -> Callable[..., Frame]:
        """Sends a pose and waits for its frame."""

    def poll(self) -> Frame | None:
        """The next received frame; None if there is none."""


class Clock(ABC):
    """Simulation time and the times at which a camera of a given rate takes images.

    rate: Hz, of the camera in simulation time: images are due at 1/rate, 2/rate, … s.
    offset_ns: ns, added to the time stamps, which must increase even if the simulation restarts.
    wall: returns a monotonic time [s]. sleep: waits for some seconds; the `sleep` of a client also
        receives answers meanwhile.
    """

    def __init__(
        self,
        rate: float = 60.0,
        *,
        offset_ns: int = 0,
        wall: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        if not _pose.is_positive(rate):
            raise ValueError(f"rate: expected a finite number > 0 [Hz], got {rate!r:.100}")
        self.rate = float(rate)
        self.due = 0
        """Images that were due so far."""
        self.received = 0
        """Images that arrived."""
        self.dropped = 0
        """Images that were due and will not arrive."""
        self._wall = wall
        self._sleep = sleep
        self._time = 0.0
        self._offset_ns = _pose.time_stamp(offset_ns)
        self._requested: deque[int] = deque()

    @property
    def time(self) -> float:
        """s, simulation time."""
        return self._time

    @property
    def time_ns(self) -> int:
        """ns, the time stamp of a pose at the present time."""
        return self._offset_ns + round(1e9 * self._time)

    @property
    def scale(self) -> float:
        """The ratio of simulation time to wall time that the clock aims at."""
        return 1.0

    def advance(self, dt: float) -> bool:
        """Advances simulation time by `dt` [s] and waits; returns whether an image is due.

        If several images are due within one `dt`, all but one count as dropped.
        """
        if not _pose.is_positive(dt):
            raise ValueError(f"dt: expected a finite number > 0 [s], got {dt!r:.100}")
        dt = float(dt)
        self._time += dt
        self._wait(dt)
        # tolerates rounding errors
        due = math.floor(self._time * self.rate + 1e-6) - self.due
        self.due += due
        self.dropped += max(due - 1, 0)
        return due > 0

    def arrived(self, time_ns: int) -> None:
        """Counts an arrived frame; earlier requests without a frame count as dropped.

        `render` calls it. A stamp that was not requested is ignored.
        """
        if time_ns not in self._requested:
            return
        while self._requested:
            stamp = self._requested.popleft()
            if stamp == time_ns:
                break
            self.dropped += 1
        self.received += 1

    def render(
        self,
        client: Renders,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> Frame | None:
        """Requests the image of the present time; returns the newest arrived frame or None.

        Args:
            client: a `propwash.render.Client`.
            position: (3,) m, of the vehicle in the world.
            attitude: (4,) body to world, scalar first.
            objects: objects that moved: name to (position, attitude).
            render: the names of the cameras that render this frame; None: all.
        """
        client.submit_vehicle(self.time_ns, position, attitude, objects, render=render)
        self._requested.append(self.time_ns)
        newest = None
        while (frame := client.poll()) is not None:
            self.arrived(frame.time_ns)
            newest = frame
        return newest

    @abstractmethod
    def _wait(self, dt: float) -> None:
        """Waits for the wall clock."""


class LockStep(Clock):
    """The simulation waits for every image: nothing is dropped or delayed."""

    def render(
        self,
        client: Renders,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> Frame:
        """Returns the frame of the present time; waits at most for the time-out of the client."""
        self._requested.append(self.time_ns)
        try:
            frame = client.request_vehicle(self.time_ns, position, attitude, objects, render=render)
        except ValueError as error:
            if not isinstance(error, _render.ProtocolError):  # nothing was sent
                self._requested.pop()
            raise
        self.arrived(frame.time_ns)
        return frame

    def _wait(self, dt: float) -> None:
        """Does not wait: `render` does."""


class RealTime(Clock):
    """Simulation time is wall time: images arrive with latency or are dropped."""

    lag = 0.0
    """s, by which the simulation was behind the wall clock at the last `advance`."""
    _start: float | None = None

    def _wait(self, dt: float) -> None:
        now = self._wall()
        if self._start is None:
            self._start = now - (self._time - dt)
        ahead = self._start + self._time - now
        self.lag = max(-ahead, 0.0)
        if ahead > 0.0:
            self._sleep(ahead)


class DynamicClock(Clock):
    """Slows simulation time until the renderer reaches the camera rate in simulation time.

    The published rule is scale = measured frames per second / rate (Guerra et al., section V-A3).
    As the measured rate cannot exceed the requested one, that rule would never increase the scale:
    so after a window without dropped images the scale is raised by `headroom`, then by twice that,
    and so on until an image is dropped.

    headroom: the first increase, relative. slowest, fastest: bounds of the scale. window: s of wall
        time over which frames are counted.
    """

    def __init__(
        self,
        rate: float = 60.0,
        *,
        headroom: float = 0.05,
        slowest: float = 0.05,
        fastest: float = 1.0,
        window: float = 1.0,
        offset_ns: int = 0,
        wall: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(rate, offset_ns=offset_ns, wall=wall, sleep=sleep)
        if not (_pose.is_positive(slowest) and _pose.is_positive(fastest) and slowest <= fastest):
            raise ValueError(
                f"slowest, fastest: expected 0 < slowest <= fastest, got {slowest!r}, {fastest!r}"
            )
        if not (headroom == 0 or _pose.is_positive(headroom)) or not _pose.is_positive(window):
            raise ValueError(
                f"headroom, window: expected headroom >= 0 and window > 0 [s], got {headroom!r}, "
                f"{window!r}"
            )
        self.measured_fps = math.nan
        """Frames per second of wall time, over the last window; NaN before the first."""
        self._bounds = (slowest, fastest)
        self._scale = fastest
        self._headroom = headroom
        self._raise = headroom
        self._window = window
        self._began: float | None = None  # start of the window, at an arrival
        self._counted = 0
        self._dropped_before = 0
        self._next: float | None = None  # wall time at which the simulation may continue

    @property
    def scale(self) -> float:
        """The ratio of simulation time to wall time."""
        return self._scale

    def arrived(self, time_ns: int) -> None:
        """Counts an arrived frame and, at the end of the window, updates the scale."""
        before = self.received
        super().arrived(time_ns)
        if self.received == before:
            return
        now = self._wall()
        if self._began is None:  # the start-up time of the renderer does not count
            self._restart(now)
            return
        self._counted += 1
        if now - self._began >= self._window:
            self._rescale(now)

    def _wait(self, dt: float) -> None:
        now = self._wall()
        # a renderer that has stopped answering never ends a window
        if self._began is not None and now - self._began > 2.0 * self._window:
            self._rescale(now)
        resume = now if self._next is None else max(self._next, now - dt / self._scale)
        self._next = resume + dt / self._scale
        if self._next > now:
            self._sleep(self._next - now)

    def _rescale(self, now: float) -> None:
        assert self._began is not None
        self.measured_fps = self._counted / (now - self._began)
        scale = self.measured_fps / self.rate
        if self.dropped > self._dropped_before or self._counted == 0:
            self._raise = self._headroom
        else:
            scale *= 1.0 + self._raise
            self._raise *= 2.0
        self._scale = min(max(scale, self._bounds[0]), self._bounds[1])
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._began = now
        self._counted = 0
        self._dropped_before = self.dropped
