"""How simulation time goes on while a renderer draws: lock-step, real time, scaled.

Each clock makes the same loop:

    clock = LockStep(rate=60.0)  # or RealTime, DynamicClock
    while clock.time < 10.0:
        uav.step(command, dt=1 / 960, substeps=4)
        if clock.advance(4 / 960):  # a picture is due
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

from propwash import _core
from propwash.render import _pose
from propwash.render.frame import Frame

__all__ = ["Clock", "DynamicClock", "LockStep", "RealTime"]


class Renders(Protocol):
    """What a clock needs of a client."""

    def submit_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> None:
        """Sends a pose."""

    def request_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> Frame:
        """Sends a pose and waits for its frame."""

    def poll(self) -> Frame | None:
        """The next frame that came."""


class Clock(ABC):
    """Simulation time, and the instants at which a camera of a given rate takes its pictures.

    rate: Hz, of the camera in simulation time: pictures are due at 1/rate, 2/rate, … s.
    offset_ns: ns, added to the time stamps: those of a client must rise, also where the simulation
    starts again at zero.
    wall: s, a clock that only goes forward. sleep: waits some seconds; a client's `sleep` serves
    its sockets meanwhile, so that answers are taken as they come.
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
        """Pictures that fell due so far."""
        self.received = 0
        """Pictures that came."""
        self.dropped = 0
        """Pictures that were due and will not come."""
        self._wall = wall
        self._sleep = sleep
        self._time = 0.0
        self._offset_ns = _pose.time_stamp(offset_ns)
        self._asked: deque[int] = deque()

    @property
    def time(self) -> float:
        """s, of simulation."""
        return self._time

    @property
    def time_ns(self) -> int:
        """The time stamp of a pose at this moment."""
        return self._offset_ns + round(1e9 * self._time)

    @property
    def scale(self) -> float:
        """Seconds of simulation in one second of the wall clock, as this clock wants it."""
        return 1.0

    def advance(self, dt: float) -> bool:
        """Goes on by `dt` [s] of simulation, waits as this clock waits; is a picture due?

        Where several fell due in one `dt`, one is to be rendered and the others count as dropped.
        """
        if not _pose.is_positive(dt):
            raise ValueError(f"dt: expected a finite number > 0 [s], got {dt!r:.100}")
        dt = float(dt)
        self._time += dt
        self._wait(dt)
        # an instant that is missed by rounding alone is met
        due = math.floor(self._time * self.rate + 1e-6) - self.due
        self.due += due
        self.dropped += max(due - 1, 0)
        return due > 0

    def arrived(self, time_ns: int) -> None:
        """A frame came; those asked for before it and missing are counted as dropped.

        `render` calls it. A stamp that was not asked for is ignored.
        """
        if time_ns not in self._asked:
            return
        while self._asked:
            stamp = self._asked.popleft()
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
        """Asks for the picture of this moment; returns the newest frame that came, if any.

        Args:
            client: a `propwash.render.Client`.
            position: (3,) m, of the vehicle in the world.
            attitude: (4,) body to world, scalar first.
            objects: those that moved: name to (position, attitude).
            render: the names of the cameras that render this frame; None: all.
        """
        client.submit_vehicle(self.time_ns, position, attitude, objects, render=render)
        self._asked.append(self.time_ns)
        newest = None
        while (frame := client.poll()) is not None:
            self.arrived(frame.time_ns)
            newest = frame
        return newest

    @abstractmethod
    def _wait(self, dt: float) -> None:
        """Lets the wall clock catch up."""


class LockStep(Clock):
    """The simulation waits for every picture; nothing is dropped and nothing is late."""

    def render(
        self,
        client: Renders,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> Frame:
        """The frame of this moment; waits for it as long as the client's time-out."""
        self._asked.append(self.time_ns)
        try:
            frame = client.request_vehicle(self.time_ns, position, attitude, objects, render=render)
        except ValueError as error:
            if not isinstance(error, _core.ProtocolError):  # nothing was sent
                self._asked.pop()
            raise
        self.arrived(frame.time_ns)
        return frame

    def _wait(self, dt: float) -> None:
        """The picture is what is waited for."""


class RealTime(Clock):
    """Simulation time is wall time: pictures come late by the latency, or are dropped."""

    def __init__(
        self,
        rate: float = 60.0,
        *,
        offset_ns: int = 0,
        wall: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(rate, offset_ns=offset_ns, wall=wall, sleep=sleep)
        self.lag = 0.0
        """s, by which the simulation was behind the wall clock at the last `advance`."""
        self._start: float | None = None

    def _wait(self, dt: float) -> None:
        now = self._wall()
        if self._start is None:
            self._start = now - (self._time - dt)
        ahead = self._start + self._time - now
        self.lag = max(-ahead, 0.0)
        if ahead > 0.0:
            self._sleep(ahead)


class DynamicClock(Clock):
    """Simulation time slows until a slow renderer reaches the camera's rate in simulation time.

    The published rule is scale = measured frames per second / rate (Guerra et al., section V-A3).
    What is measured cannot exceed what was asked for, so by that rule alone a clock that once
    slowed would stay slow: after a window without a dropped picture the scale is tried a little
    higher, by `headroom`, twice that after the next, and so on until a picture is dropped.

    headroom: the first raise, relative. slowest, fastest: bounds of the scale. window: s of the
    wall clock over which frames are counted.
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
        """Frames in a second of the wall clock, over the last window; NaN before the first."""
        self._bounds = (slowest, fastest)
        self._scale = fastest
        self._headroom = headroom
        self._raise = headroom
        self._window = window
        self._began: float | None = None  # of the window: at an arrival
        self._counted = 0
        self._dropped_before = 0
        self._next: float | None = None  # wall time at which the simulation may go on

    @property
    def scale(self) -> float:
        """Seconds of simulation in one second of the wall clock."""
        return self._scale

    def arrived(self, time_ns: int) -> None:
        """A frame came: counts it, and at the window's end takes a new scale."""
        before = self.received
        super().arrived(time_ns)
        if self.received == before:
            return
        now = self._wall()
        if self._began is None:  # what the renderer took to start is no measure of its speed
            self._restart(now)
            return
        self._counted += 1
        if now - self._began >= self._window:
            self._rescale(now)

    def _wait(self, dt: float) -> None:
        now = self._wall()
        # a renderer that has stopped answering ends no window
        if self._began is not None and now - self._began > 2.0 * self._window:
            self._rescale(now)
        going_on = now if self._next is None else max(self._next, now - dt / self._scale)
        self._next = going_on + dt / self._scale
        if self._next > now:
            self._sleep(self._next - now)

    def _rescale(self, now: float) -> None:
        assert self._began is not None
        self.measured_fps = self._counted / (now - self._began)
        reached = self.measured_fps / self.rate
        if self.dropped > self._dropped_before or self._counted == 0:
            self._raise = self._headroom
        else:
            reached *= 1.0 + self._raise
            self._raise *= 2.0
        self._scale = min(max(reached, self._bounds[0]), self._bounds[1])
        self._restart(now)

    def _restart(self, now: float) -> None:
        self._began = now
        self._counted = 0
        self._dropped_before = self.dropped
