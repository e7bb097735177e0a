"""Ctrl-C and the other signals that end a program, as a flag for a loop."""

from __future__ import annotations

import signal
from contextlib import suppress
from types import FrameType
from typing import Any, Protocol

_SIGNALS = [
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP")
    if hasattr(signal, name)  # Windows has no SIGHUP
]


class Loop(Protocol):
    """A loop that ends after the present round if `stopped` is true."""

    stopped: bool


class Interrupt:
    """A context in which Ctrl-C, SIGTERM and the end of the terminal set `stopped` of a loop.

    A second signal raises KeyboardInterrupt at once. SIGTERM and SIGHUP remain ignored where they
    are, as by nohup. Outside the main thread nothing changes.
    """

    def __init__(self, loop: Loop) -> None:
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
