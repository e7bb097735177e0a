"""The communication of a client: sending, receiving, waiting and counting."""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from propwash import _render
from propwash.render._pose import Pose
from propwash.render._side import RendererAnswer, Side
from propwash.render.cameras import RenderObject
from propwash.render.frame import Frame, Image
from propwash.render.statistics import LatencyRecorder, Statistics

T = TypeVar("T")

MAX_WAIT = 0.02
"""s, the maximum time between two checks of what is due."""
QUEUE_SIZE = 8
"""Frames that wait for `poll`; the oldest is discarded."""
_AT_ONCE = 64  # messages received from a renderer before those of the next one

Submission = tuple[int, dict[str, Pose], list[tuple[RenderObject, Pose]], frozenset[str]]


class FrameAssembly:
    """Joins the answers of several renderers to one pose into a frame, by their time stamp.

    renderers: their number. senses: the renderer whose landmarks, range and collision are used.
    """

    def __init__(self, renderers: int, senses: int) -> None:
        self.frames = 0
        self.dropped = 0
        self._renderers = renderers
        self._senses = senses
        self._submitted: deque[tuple[int, frozenset[str]]] = deque()
        self._parts: dict[int, dict[int, RendererAnswer]] = {}

    def submitted(self, time_ns: int, rendered: frozenset[str]) -> None:
        """Adds a submitted pose and the cameras that it renders; time stamps increase."""
        self._submitted.append((time_ns, rendered))

    def add(self, renderer: int, part: RendererAnswer) -> Frame | None:
        """Adds the answer of a renderer; returns the frame if it is complete."""
        parts = self._parts.setdefault(part.time_ns, {})
        parts[renderer] = part
        if len(parts) < self._renderers:
            return None
        # a renderer answers in the order of the stamps: older frames remain incomplete
        self._parts = {stamp: has for stamp, has in self._parts.items() if stamp > part.time_ns}
        rendered: frozenset[str] = frozenset()
        while self._submitted and self._submitted[0][0] <= part.time_ns:
            stamp, rendered = self._submitted.popleft()
            self.dropped += stamp < part.time_ns
        self.frames += 1
        sensed = parts[self._senses]
        images: dict[str, Image] = {}
        for number in sorted(parts):
            # v2 renderers draw every camera in every frame
            images |= {k: image for k, image in parts[number].images.items() if k in rendered}
        return Frame(
            part.time_ns,
            images,
            sensed.landmarks,
            sensed.range_m,
            sensed.collision,
            max(one.latency for one in parts.values()),
            any(one.incomplete for one in parts.values()),
        )

    def clear(self) -> None:
        """Drops all submitted poses."""
        self.dropped += len(self._submitted)
        self._submitted.clear()
        self._parts.clear()


class RenderEngine:
    """Communicates with renderers and joins their answers into frames. Thread-safe.

    It works in calls of `wait_for` or, once started, in a background thread.
    """

    def __init__(self, sides: Sequence[Side], senses: int, raises: bool) -> None:
        self.sides = list(sides)
        self.latest: Frame | None = None
        self.last_fault: Exception | None = None
        self._raises = raises
        self._assembly = FrameAssembly(len(sides), senses)
        self._latency = LatencyRecorder()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._frames: deque[Frame] = deque()
        self._faults: deque[Exception] = deque(maxlen=QUEUE_SIZE)
        self._held: Submission | None = None
        self._newest = -1
        self._submitted = 0
        self._unread = 0
        self._shown: list[list[str]] = [[] for _ in sides]
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._closed = False
        # waits poll these descriptors without the lock, as that does not use the sockets
        self._signals = select.poll()
        for side in self.sides:
            for descriptor in side.link.descriptors():
                self._signals.register(descriptor, select.POLLIN)

    def subscribers(self, ports: tuple[int, int]) -> int:
        """The number of renderers that are connected to a pair of ports."""
        return sum(side.link.subscribers for side in self.sides if side.link.ports == ports)

    def submit(
        self,
        time_ns: int,
        cameras: dict[str, Pose],
        objects: list[tuple[RenderObject, Pose]],
        rendered: frozenset[str],
    ) -> None:
        """Sends a pose when the renderers are ready; a newer pose replaces a waiting one.

        The cameras in `rendered` render an image. Raises ValueError unless the time stamp
        increases.
        """
        with self._lock:
            self._check_open()
            if time_ns <= self._newest:
                raise ValueError(
                    f"time_ns: expected more than that of the last pose, {self._newest}, got "
                    f"{time_ns}; add an offset if the simulation has restarted"
                )
            self._newest = time_ns
            self._submitted += 1
            self._assembly.submitted(time_ns, rendered)
            self._held = (time_ns, cameras, objects, rendered)
            self._release(time.monotonic())

    def take(self) -> Frame | None:
        """The oldest frame in the queue; None if it is empty."""
        with self._lock:
            return self._frames.popleft() if self._frames else None

    def take_stamped(self, time_ns: int) -> Frame | None:
        """The frame with a time stamp; older frames are discarded."""
        with self._lock:
            while self._frames and self._frames[0].time_ns <= time_ns:
                frame = self._frames.popleft()
                if frame.time_ns == time_ns:
                    return frame
                self._unread += 1
            return None

    def wait_for(self, take: Callable[[], T | None], seconds: float) -> T | None:
        """Serves until `take` returns a value, at most for `seconds`; raises pending errors."""
        deadline = time.monotonic() + seconds
        while True:
            with self._lock:
                self._check_open()
                if self._thread is None:
                    self._serve()
                if self._faults:
                    fault = self._faults.popleft()
                    if self._raises or not isinstance(fault, _render.ProtocolError):
                        raise fault
                if (found := take()) is not None:
                    return found
                remaining = deadline - time.monotonic()
                if remaining <= 0.0:
                    return None
                if self._thread is not None:
                    self._changed.wait(min(remaining, MAX_WAIT))
                    continue
            self._wait(remaining)

    def start(self) -> None:
        """Starts the background thread."""
        with self._lock:
            self._check_open()
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(
                    target=self._run, name="propwash-render", daemon=True
                )
                self._thread.start()

    def restart(self) -> None:
        """Ends the sessions by a pause; submitted poses are dropped."""
        with self._lock:
            self._check_open()
            now = time.monotonic()
            for side in self.sides:
                side.session.restart(now)
            self._assembly.clear()
            self._held = None

    def close(self) -> None:
        """Stops the thread and closes the sockets."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            if not self._closed:
                self._closed = True
                for side in self.sides:
                    side.link.close()

    def statistics(self) -> Statistics:
        """Counts, summed over the renderers."""
        with self._lock:
            counts = [side.session.counts for side in self.sides]
            total = {name: sum(one[name] for one in counts) for name in counts[0]}
            misfits = sum(side.misfits for side in self.sides)
            return Statistics(
                submitted=self._submitted,
                sent=total["sent"],
                resent=total["resent"],
                kept_alive=total["kept_alive"],
                received=total["received"] - misfits,
                repeated=total["repeated"],
                outdated=total["outdated"],
                unknown=total["unknown"],
                faulty=total["faulty"] + misfits,
                incomplete=total["incomplete"],
                frames=self._assembly.frames,
                dropped=self._assembly.dropped,
                unread=self._unread,
                starts=total["starts"],
                latency=self._latency.summary(),
            )

    def _run(self) -> None:
        """The background thread; its exception is raised by the next call of `wait_for`."""
        while not self._stop.is_set():
            try:
                with self._lock:
                    self._serve()
                    self._changed.notify_all()
            except Exception as error:
                with self._lock:
                    self._faults.append(error)
                    self._thread = None
                    self._changed.notify_all()
                return
            self._wait(MAX_WAIT)

    def _serve(self) -> None:
        """Receives pending messages and sends what is due. Requires the lock."""
        now = time.monotonic()
        for number, side in enumerate(self.sides):
            side.serve(now)
            for _ in range(_AT_ONCE):
                try:
                    some, part = side.receive()
                except _render.ProtocolError as error:
                    # the traceback would keep the message in memory, which may be large
                    self.last_fault = error.with_traceback(None)
                    self._faults.append(self.last_fault)
                    continue
                if part is not None:
                    self._gather(number, part)
                if not some:
                    break
        self._release(now)
        for side in self.sides:  # after answers, more poses may be sent
            side.serve(now)

    def _gather(self, number: int, part: RendererAnswer) -> None:
        frame = self._assembly.add(number, part)
        if frame is None:
            return
        self.latest = frame
        self._latency.add(frame.latency)
        self._frames.append(frame)
        if len(self._frames) > QUEUE_SIZE:
            self._frames.popleft()
            self._unread += 1

    def _release(self, now: float) -> None:
        """Passes the newest pose on to one renderer, or to several when all are ready.

        So all renderers render the same poses.
        """
        if self._held is None:
            return
        if len(self.sides) > 1 and not all(side.ready for side in self.sides):
            return
        time_ns, cameras, objects, rendered = self._held
        self._held = None
        for number, side in enumerate(self.sides):
            placed = [(item, at) for item, at in objects if item.renderer in (None, number)]
            names = [item.name for item, _ in placed]
            if names != self._shown[number]:
                side.show([item for item, _ in placed])
                self._shown[number] = names
            poses = [cameras[camera.name] for camera in side.cameras]
            side.submit(time_ns, poses, [at for _, at in placed], rendered, now)

    def _wait(self, seconds: float) -> None:
        """Waits for a message or until something is due."""
        due = min(side.session.next_time() for side in self.sides) - time.monotonic()
        self._signals.poll(1e3 * max(min(seconds, MAX_WAIT, due), 0.0))

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the client is closed; create another")


def described_silence(
    sides: Sequence[Side], scene: str, seconds: float, last_fault: Exception | None
) -> str:
    """A message about an image that did not arrive: the probable reason and what to check."""
    lines = [f"no image within {seconds:g} s"]
    for side in sides:
        pose, image = side.link.ports
        address = LOCAL.get(side.link.bind, side.link.bind)
        if side.link.subscribers == 0:
            lines.append(
                f"{side.link}: no renderer is connected. Start one: python -m propwash render "
                f"--scene {scene or 'NAME'} --port {pose} {image} --client-ip {address} "
                f"(or use Client.launch); a published renderer expects -client-ip {address} "
                f"-input-port {pose} -output-port {image}. A renderer on another machine needs the "
                f"address of this one, bind= set to that interface, and both ports open"
            )
        elif side.session.state != "running" or side.session.in_flight > 0:
            lines.append(
                f"{side.link}: a renderer is connected to port {pose}, but does not answer. "
                f"Check that it sends to port {image} (-output-port), that scene {scene!r} exists "
                f"and has been loaded (timeout=), and its log; restart() starts a new session"
            )
        if side.link.subscribers > 1:
            lines.append(
                f"{side.link}: {side.link.subscribers} renderers share these ports; each needs "
                f"separate ones"
            )
    if last_fault is not None:
        lines.append(f"the last invalid answer: {last_fault}")
    return "; ".join(lines) if len(lines) == 2 else "\n  ".join(lines)


LOCAL: Mapping[str, str] = {"*": "127.0.0.1"}
"""The address of a client on this machine that is bound to all interfaces."""
