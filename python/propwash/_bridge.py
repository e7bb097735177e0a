"""What long-running programs have in common: pacing, signals, refused inputs, types of ROS."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType, SimpleNamespace
from typing import Any, Protocol


class Pacer:
    """Keeps simulated time in step with the wall clock.

    rate: simulated seconds per second of wall time. After a delay of more than `tolerance` [s] of
    wall time, the clock continues from now instead of catching up; `skipped` [s] is the sum.
    """

    def __init__(
        self,
        rate: float = 1.0,
        tolerance: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._tolerance, self._clock, self._sleep = tolerance, clock, sleep
        self.skipped = 0.0
        self._simulated = 0.0
        self.rate = rate

    @property
    def rate(self) -> float:
        """Simulated seconds per second; a change takes effect from the last step on."""
        return self._rate

    @rate.setter
    def rate(self, rate: float) -> None:
        self._rate = rate
        self._start = self._clock() - self._simulated / rate

    def restart(self, simulated: float = 0.0) -> None:
        """Continues from the simulated time [s] and now, whatever passed before."""
        self._simulated = simulated
        self.rate = self._rate

    def left(self, simulated: float) -> float:
        """Wall time [s] until the simulated time [s] is reached; negative if it has passed."""
        return self._start + simulated / self._rate - self._clock()

    def wait(self, simulated: float) -> None:
        """Returns when the wall clock has reached the simulated time [s]."""
        self._simulated = simulated
        left = self.left(simulated)
        if left > 0.0:
            self._sleep(left)
        elif left < -self._tolerance:
            self._start -= left
            self.skipped -= left


class Refused:
    """Counts refused inputs by reason; any thread may add."""

    def __init__(self, report: Callable[[str], None] | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._report = report
        self._lock = threading.Lock()

    def add(self, reason: str, detail: str = "") -> None:
        """Counts an input; reports the first one of each reason."""
        with self._lock:
            self.counts[reason] += 1
            is_first = self.counts[reason] == 1
        if self._report is not None and is_first:
            self._report(f"refused: {reason}" + (f" ({detail})" if detail else ""))

    def __str__(self) -> str:
        return ", ".join(f"{n} {reason}" for reason, n in self.counts.most_common()) or "none"


def ros_types(distribution: str, definitions: Mapping[str, str]) -> Any:
    """The store of rosbags with the types of a distribution, and those of further definitions.

    distribution: "ROS1_NOETIC" or "ROS2_HUMBLE". Raises ImportError without rosbags.
    """
    try:
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    except ImportError as error:
        raise ImportError('messages of ROS need rosbags: pip install "propwash[ros]"') from error
    store = get_typestore(Stores[distribution])
    types: dict[str, Any] = {}
    for kind, text in definitions.items():
        types |= get_types_from_msg(text, kind)
    store.register(types)
    return store


_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has no SIGHUP
]


class Stoppable(Protocol):
    """A loop that ends after the present round if `stopped` is true."""

    stopped: bool


class Interrupt:
    """A context in which Ctrl-C, SIGTERM and the end of the terminal set `stopped` of a loop.

    A second signal raises KeyboardInterrupt at once. SIGTERM and SIGHUP remain ignored where they
    are, as by nohup. Outside the main thread nothing changes.
    """

    def __init__(self, loop: Stoppable) -> None:
        self._loop = loop
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        with suppress(ValueError):  # not in the main thread
            for number in _SIGNALS:
                if number == signal.SIGINT or signal.getsignal(number) != signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._loop.stopped:
            raise KeyboardInterrupt
        self._loop.stopped = True

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            if before is not None:  # not set from Python
                signal.signal(number, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A context in which Ctrl-C and SIGTERM wait: it raises KeyboardInterrupt at its end."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as of a job in the background
        yield
        return
    block = SimpleNamespace(stopped=False)
    try:
        with Interrupt(block):
            yield
    finally:
        if block.stopped:
            raise KeyboardInterrupt
