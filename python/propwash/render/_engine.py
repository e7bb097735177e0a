"""What a client does between its caller's calls: sending, receiving, waiting, counting."""

from __future__ import annotations

import select
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from propwash import _core
from propwash.render._gather import Gathering
from propwash.render._pose import Pose
from propwash.render._side import Part, Side
from propwash.render.cameras import RenderObject
from propwash.render.frame import Frame
from propwash.render.statistics import LatencyRecorder, Statistics

T = TypeVar("T")

NAP = 0.02
"""s, the longest wait between two looks at what is due."""
KEPT = 8
"""Frames that wait to be polled for; older ones give way."""
_AT_ONCE = 64  # messages taken from a renderer before the next one has its turn

Submission = tuple[int, dict[str, Pose], list[tuple[RenderObject, Pose]], frozenset[str]]


class Engine:
    """Renderers, and the frames that come of them. Safe to use from several threads.

    Its work is done by whoever calls `wait_for`, or, once started, by a thread of its own.
    """

    def __init__(self, sides: Sequence[Side], senses: int, raises: bool) -> None:
        self.sides = list(sides)
        self.latest: Frame | None = None
        self.last_fault: Exception | None = None
        self._raises = raises
        self._gathering = Gathering(len(sides), senses)
        self._latency = LatencyRecorder()
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._frames: deque[Frame] = deque()
        self._faults: deque[Exception] = deque(maxlen=KEPT)
        self._held: Submission | None = None
        self._newest = -1
        self._submitted = 0
        self._unread = 0
        self._shown: list[list[str]] = [[] for _ in sides]
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._closed = False
        # signals of the sockets that are no use of them, so that no lock is held in a wait
        self._signals = select.poll()
        for side in self.sides:
            for descriptor in side.link.descriptors():
                self._signals.register(descriptor, select.POLLIN)

    def subscribers(self, ports: tuple[int, int]) -> int:
        """How many renderers listen on a pair of ports."""
        return sum(side.link.subscribers for side in self.sides if side.link.ports == ports)

    def submit(
        self,
        time_ns: int,
        cameras: dict[str, Pose],
        objects: list[tuple[RenderObject, Pose]],
        rendered: frozenset[str],
    ) -> None:
        """Sends a pose, now or when there is room; a newer one takes the place of one that waits.

        The cameras in `rendered` give an image. Raises ValueError for a time stamp that is not
        above the last.
        """
        with self._lock:
            self._check_open()
            if time_ns <= self._newest:
                raise ValueError(
                    f"time_ns: expected more than that of the last pose, {self._newest}, got "
                    f"{time_ns}; where a simulation starts again, add an offset"
                )
            self._newest = time_ns
            self._submitted += 1
            self._gathering.asked(time_ns, rendered)
            self._held = (time_ns, cameras, objects, rendered)
            self._release(time.monotonic())

    def take(self) -> Frame | None:
        """The oldest frame that nobody has taken."""
        with self._lock:
            return self._frames.popleft() if self._frames else None

    def take_stamped(self, time_ns: int) -> Frame | None:
        """The frame of a stamp; those before it are given up."""
        with self._lock:
            while self._frames and self._frames[0].time_ns <= time_ns:
                frame = self._frames.popleft()
                if frame.time_ns == time_ns:
                    return frame
                self._unread += 1
            return None

    def wait_for(self, take: Callable[[], T | None], seconds: float) -> T | None:
        """Serves until `take` gives something, or for `seconds`; raises what went wrong."""
        deadline = time.monotonic() + seconds
        while True:
            with self._lock:
                self._check_open()
                if self._thread is None:
                    self._serve()
                if self._faults:
                    fault = self._faults.popleft()
                    if self._raises or not isinstance(fault, _core.ProtocolError):
                        raise fault
                if (taken := take()) is not None:
                    return taken
                remaining = deadline - time.monotonic()
                if remaining <= 0.0:
                    return None
                if self._thread is not None:
                    self._changed.wait(min(remaining, NAP))
                    continue
            self._nap(remaining)

    def start(self) -> None:
        """Has a thread do the work from now on."""
        with self._lock:
            self._check_open()
            if self._thread is None:
                self._stop.clear()
                self._thread = threading.Thread(target=self._run, name="propwash-eyes", daemon=True)
                self._thread.start()

    def restart(self) -> None:
        """Ends the sessions by silence; what was asked for is given up."""
        with self._lock:
            self._check_open()
            now = time.monotonic()
            for side in self.sides:
                side.session.restart(now)
            self._gathering.give_up()
            self._held = None

    def close(self) -> None:
        """Ends the thread and frees the ports."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        with self._lock:
            if not self._closed:
                self._closed = True
                for side in self.sides:
                    side.link.close()

    def statistics(self) -> Statistics:
        """Counts of all renderers together."""
        with self._lock:
            counts = [side.session.counts for side in self.sides]
            total = {name: sum(one[name] for one in counts) for name in counts[0]}
            misfits = sum(side.misfits for side in self.sides)
            return Statistics(
                submitted=self._submitted,
                sent=total["sent"],
                resent=total["resent"],
                kept_alive=total["kept_alive"],
                received=total["taken"] - misfits,
                repeated=total["repeated"],
                late=total["late"],
                unknown=total["unknown"],
                faulty=total["faulty"] + misfits,
                half_done=total["half_done"],
                frames=self._gathering.frames,
                dropped=self._gathering.dropped,
                unread=self._unread,
                starts=total["starts"],
                latency=self._latency.summary(),
            )

    def _run(self) -> None:
        """The thread: what it cannot do is raised by the next call of `wait_for`."""
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
            self._nap(NAP)

    def _serve(self) -> None:
        """Takes what came, sends what is due. The lock is held."""
        now = time.monotonic()
        for number, side in enumerate(self.sides):
            side.serve(now)
            for _ in range(_AT_ONCE):
                try:
                    some, part = side.receive(now)
                except _core.ProtocolError as error:
                    # its traceback would keep the message, which may be large
                    self.last_fault = error.with_traceback(None)
                    self._faults.append(self.last_fault)
                    continue
                if part is not None:
                    self._gather(number, part)
                if not some:
                    break
        self._release(now)
        for side in self.sides:  # answers have made room
            side.serve(now)

    def _gather(self, number: int, part: Part) -> None:
        frame = self._gathering.add(number, part)
        if frame is None:
            return
        self.latest = frame
        self._latency.add(frame.latency)
        self._frames.append(frame)
        if len(self._frames) > KEPT:
            self._frames.popleft()
            self._unread += 1

    def _release(self, now: float) -> None:
        """Hands the newest pose on: to one renderer at once, to several when all have room.

        So several draw the same poses, where each by itself would choose others of those that wait.
        """
        if self._held is None:
            return
        if len(self.sides) > 1 and not all(side.ready for side in self.sides):
            return
        time_ns, cameras, objects, rendered = self._held
        self._held = None
        for number, side in enumerate(self.sides):
            mine = [(item, at) for item, at in objects if item.renderer in (None, number)]
            names = [item.name for item, _ in mine]
            if names != self._shown[number]:
                side.show([item for item, _ in mine])
                self._shown[number] = names
            poses = [cameras[camera.name] for camera in side.cameras]
            side.submit(time_ns, poses, [at for _, at in mine], rendered, now)

    def _nap(self, seconds: float) -> None:
        """Waits for a signal of the sockets or until something is due."""
        due = min(side.session.next_time() for side in self.sides) - time.monotonic()
        self._signals.poll(1e3 * max(min(seconds, NAP, due), 0.0))

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("the client is closed; make another")


def described_silence(
    sides: Sequence[Side], scene: str, seconds: float, last_fault: Exception | None
) -> str:
    """Why no image came within `seconds`, as far as one can tell, and what to check."""
    lines = [f"no image within {seconds:g} s"]
    for side in sides:
        pose, image = side.link.ports
        address = LOCAL.get(side.link.bind, side.link.bind)
        if side.link.subscribers == 0:
            lines.append(
                f"{side.link}: no renderer is connected. Start one: python -m propwash render "
                f"--scene {scene or 'NAME'} --port {pose} {image} --client-ip {address} "
                f"(Client.launch does it by itself); a published one takes -client-ip {address} "
                f"-input-port {pose} -output-port {image}. On another machine it needs this one's "
                f"address, bind= one of its interfaces, and both ports open"
            )
        elif side.session.state != "running" or side.session.in_flight > 0:
            lines.append(
                f"{side.link}: a renderer listens on port {pose}, but its answers do not come. "
                f"Check that it sends to port {image} (-output-port), that it knows scene "
                f"{scene!r}, that it is not still loading it (timeout=), and its log; restart() "
                f"ends a session that has failed"
            )
        if side.link.subscribers > 1:
            lines.append(
                f"{side.link}: {side.link.subscribers} renderers share these ports; each needs a "
                f"pair of its own"
            )
    if last_fault is not None:
        lines.append(f"the last answer that could not be used: {last_fault}")
    return "; ".join(lines) if len(lines) == 2 else "\n  ".join(lines)


LOCAL: Mapping[str, str] = {"*": "127.0.0.1"}
"""Where a renderer on this machine finds a client that listens everywhere."""
