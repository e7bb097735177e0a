"""The loop that steps a node and connects it to a middleware."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol

from propwash._bridge import Interrupt, Pacer
from propwash.ros._messages import Message
from propwash.ros._node import Node, Outputs

_WAIT = 0.1
"""s, between checks whether the middleware ends, while a command is waited for."""
_LONG_WAIT = 5.0
"""s without a command, after which the wait is reported."""


class Recorder(Protocol):
    """Writes published messages, for example to a bag."""

    def write(self, stamp: int, outputs: Outputs) -> None:
        """Writes the messages of a step at time `stamp` [ns]."""
        ...


class Shell(ABC):
    """Steps a node, publishes what it returns, and hands it what arrives.

    real_time: whether time stamps are those of the wall clock.
    """

    def __init__(
        self,
        node: Node,
        *,
        real_time: bool,
        recorder: Recorder | None = None,
        report: Callable[[str], None] = print,
    ) -> None:
        self.node, self.pacer = node, Pacer(node.clock_scale)
        self._real_time, self._recorder, self._report = real_time, recorder, report
        self._arrived = threading.Event()
        self.stopped = False

    @abstractmethod
    def _send(self, name: str, message: Message) -> None:
        """Publishes a message, if its topic has subscribers or is latched."""

    @abstractmethod
    def _is_shutdown(self) -> bool:
        """Whether the middleware ends."""

    def _receive(self, name: str, kind: str, decode: Callable[[], Message]) -> None:
        """Hands over a message that another node published; any thread may call it."""
        try:
            message = decode()
        except Exception:  # rosbags raises many types
            self.node.refused.add(f"{name}: malformed {kind}")
            return
        self.node.post(name, message)
        self._arrived.set()

    def run(self, stop: Callable[[], bool] | None = None) -> None:
        """Steps until the middleware ends or `stop` returns True.

        Raises KeyboardInterrupt after the step in which Ctrl-C or SIGTERM came: a signal that
        interrupted a call of the middleware could leave its locks held.
        """
        with Interrupt(self):
            self._run(lambda: self.stopped or (stop is not None and stop()))
        if self.stopped:
            raise KeyboardInterrupt

    def _run(self, stop: Callable[[], bool]) -> None:
        node, pacer = self.node, self.pacer
        first = node.stamp
        self._publish(node.start())
        skipped = 0.0
        while not (self._is_shutdown() or stop()):
            outputs = self._step()
            if outputs is None:
                break
            self._publish(outputs)
            if node.clock_scale != pacer.rate:
                pacer.rate = node.clock_scale
            elapsed = (node.stamp - first) * 1e-9 - skipped
            if node.is_locked:
                pacer.restart(elapsed)
            else:
                pacer.wait(elapsed)
            if self._real_time and pacer.skipped > skipped:
                node.stamp += round((pacer.skipped - skipped) * 1e9)
                skipped = pacer.skipped

    def _publish(self, outputs: Outputs) -> None:
        for name, message in outputs:
            self._send(name, message)
        if self._recorder is not None:
            self._recorder.write(self.node.stamp, outputs)

    def _step(self) -> Outputs | None:
        """The messages of the next step, once it may be made; None at the end."""
        waited = 0.0
        while True:
            self._arrived.clear()
            outputs = self.node.step()
            if outputs is not None or self.stopped or self._is_shutdown():
                return outputs
            start = time.monotonic()
            self._arrived.wait(_WAIT)
            before, waited = waited, waited + time.monotonic() - start
            if before < _LONG_WAIT <= waited:
                self._report(f"lock step: no command on {self.node.command_topic} for 5 s")
