"""Runs a simulation: on a network in real time, in lock step, or offline."""

from __future__ import annotations

import math
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from propwash._bridge import Pacer
from propwash.lcm._events import Event, EventWriter
from propwash.lcm._link import LcmLink
from propwash.lcm._simulation import COMMANDS, LcmVehicle

_WAIT = 0.1
"""s, between checks for Ctrl-C."""
_MAX_BURST = 1000
"""Messages that are received between two steps."""


@dataclass
class Run:
    """A simulation with its connection and its event logs; `run` can be called once.

    clock_scale: simulated seconds per second of wall time; infinite: as fast as possible; not used
    in lock step.
    recorder: records all messages, at the simulated time.
    commands: messages of a recorded log, which are received at the same times; those on `step` are
    left out.
    """

    simulation: LcmVehicle
    link: LcmLink
    clock_scale: float = 1.0
    recorder: EventWriter | None = None
    commands: Iterable[Event] = ()
    published: Counter[str] = field(default_factory=Counter)
    """Number of messages sent, by channel."""
    received: Counter[str] = field(default_factory=Counter)
    """Number of messages received, by channel; those that are refused too."""
    skipped: float = 0.0
    """s of wall time by which the simulation fell behind and did not catch up."""

    def run(self, duration: float = math.inf) -> None:
        """Simulates `duration` [s]."""
        simulation = self.simulation
        self._commands = deque(
            each for each in self.commands if each.channel in COMMANDS and each.channel != "step"
        )
        self._publish(simulation.messages())
        pacer = None
        if math.isfinite(self.clock_scale) and not simulation.lock_step:
            pacer = Pacer(self.clock_scale, sleep=self._receive_for)
        while simulation.utime < 1e6 * duration - 0.5:  # utime is rounded to 1 us
            while self._commands and self._commands[0].utime <= simulation.utime:
                self._take(self._commands.popleft())
            if simulation.lock_step:
                self._await_step()
            else:
                self._receive_for(0.0)
            self._publish(simulation.step())
            self._publish(simulation.answer())
            if pacer is not None:
                pacer.wait(1e-6 * simulation.utime)
                self.skipped = pacer.skipped

    def _await_step(self) -> None:
        """Receives until a step is asked for; answers again if its time is reached already."""
        while self.simulation.asked is None:
            event = self.link.receive(_WAIT)
            if event is not None:
                self._take(event)
                self._publish(self.simulation.answer())

    def _receive_for(self, seconds: float) -> None:
        """Receives for a time [s], at most _MAX_BURST messages."""
        end = time.monotonic() + seconds
        for _ in range(_MAX_BURST):
            event = self.link.receive(max(0.0, end - time.monotonic()))
            if event is not None:
                self._take(event)
            elif time.monotonic() >= end:
                return

    def _take(self, event: Event) -> None:
        self.received[event.channel] += 1
        if self.recorder is not None:
            self.recorder.write(self.simulation.utime, event.channel, event.data)
        self.simulation.receive(event.channel, event.data)

    def _publish(self, messages: list[tuple[str, bytes]]) -> None:
        for channel, data in messages:
            self.link.publish(channel, data)
            self.published[channel] += 1
            if self.recorder is not None:
                self.recorder.write(self.simulation.utime, channel, data)
