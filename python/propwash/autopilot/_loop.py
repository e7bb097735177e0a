"""The loop between a simulated vehicle and a flight controller: one for all programs."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from propwash._bridge import Pacer, Refused
from propwash.autopilot._links import Link
from propwash.autopilot._simulation import Sample, Simulation

Array = NDArray[np.float64]

_CROSSING = 0.5
"""s after a sample within which a request for it was sent before the sample arrived."""
_IDLE = 0.12
"""Highest motor output of a flight controller that is disarmed or idles."""
_STOPPED = 1.0
"""s at `_IDLE` or less after which motors count as stopped: a descent may reach it for a moment."""

Pilot = Callable[[Sample], bool]
"""Called before each step; False ends the flight."""


class Codec(Protocol):
    """Packets of a flight controller; without sockets and time."""

    refused: Refused

    def sensors(self, sample: Sample) -> bytes:
        """The packets that report a sample."""

    def motors(self, packet: bytes) -> Array | None:
        """Outputs from 0 to 1 in the flight controller's order; None if the packet has none.

        Counts malformed packets in `refused`; never raises.
        """

    restarted: bool = False
    """Set by `motors` when the flight controller starts anew or ends; the loop clears it."""
    asks_again: bool = False
    """Set by `motors` when the flight controller lacks the last sample; the loop clears it."""
    requested_period: float | None = None
    """s, between two samples, if the flight controller determines it."""


@dataclass
class LoopStatistics:
    """Counts of a run of the loop."""

    steps: int = 0
    """Periods simulated."""
    answered: int = 0
    """Periods with motor outputs computed from the sample before."""
    repeated: int = 0
    """Samples sent again in lock step, because no answer came."""
    missed: int = 0
    """Periods in lock step without an answer, with the outputs of the previous one."""
    restarts: int = 0
    """Number of times a flight controller started after another one had answered."""
    extra: int = 0
    """Further motor outputs in one period: the last one counts, or in lock step the first one."""
    lost: int = 0
    """Number of times the flight controller stopped answering."""
    skipped: float = 0.0
    """s of wall time by which the loop was late."""

    def __str__(self) -> str:
        counts = [f"{name} {n}" for name, n in vars(self).items() if name != "skipped"]
        return f"{', '.join(counts)}, skipped {self.skipped:.2f} s"


class Loop:
    """Steps a vehicle with the outputs of a flight controller, paced by the wall clock.

    Each period: send a sample; wait for motor outputs, until the period ends or, in lock step,
    until they arrive; step. Before the first answer, and after the flight controller has not
    answered for `patience`, time runs freely with the motors off.

    rate: simulated seconds per second of wall time; None: as fast as the answers arrive, in lock
        step only.
    lockstep: every step waits for the answer to its sample.
    resend: s after which a sample without answer is sent again in lock step.
    tolerance: s of wall time by which the loop may be late and catch up; after a longer delay
        simulated time continues from where it was.
    patience: s of wall time to wait for an answer.
    unanswered: what follows in lock step. "stop": the flight controller counts as lost. "step": one
        period with the outputs of the previous one. "wait": time stands still.

    When the flight controller starts anew, or its connection ends, the vehicle returns to its
    start, at time 0. If the first answer runs the motors, as that of a flight controller that flew
    before this program started, they stay off until it stops them.
    """

    def __init__(
        self,
        simulation: Simulation,
        codec: Codec,
        link: Link,
        *,
        rate: float | None = 1.0,
        lockstep: bool = False,
        resend: float | None = None,
        patience: float = 0.5,
        tolerance: float = 0.1,
        unanswered: Literal["stop", "step", "wait"] = "stop",
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if rate is None and not lockstep:
            raise ValueError("rate = None: expected a number without lock step; set lockstep")
        if rate is not None and not 0.0 < rate < math.inf:
            raise ValueError(f"rate = {rate}: expected None or a number > 0")
        if not patience >= 0.0:
            raise ValueError(f"patience = {patience}: expected a time >= 0 [s]")
        self.simulation, self.codec, self.link = simulation, codec, link
        self.statistics = LoopStatistics()
        self.connected = False
        self._lockstep, self._resend, self._patience = lockstep, resend, patience
        self._unanswered = unanswered
        self._report, self._clock = report, clock
        self._pacer = None if rate is None else Pacer(rate, tolerance, clock, sleep)
        self._free = Pacer(1.0, tolerance, clock, sleep)  # while no one answers
        self._outputs = np.zeros(len(simulation.motor_map.order))
        self._is_new = True  # the flight controller, until it answers
        self._is_held = False  # the motors, until the flight controller stops them
        self._ran = 0.0  # s, of the last answer that runs held motors
        self._heard = clock()
        self._sent: Sample | None = None
        self._sent_at = clock()

    def run(self, pilot: Pilot) -> None:
        """Runs until the pilot ends the flight."""
        while pilot(self.simulation.sample):
            self.tick()

    def tick(self) -> Sample:
        """Runs one period; returns the sample at its end, or the same one if none was run."""
        begun = self._clock()
        if self._sent is not self.simulation.sample:
            if self._lockstep and self.connected:
                self._drop_late()
            if self.codec.restarted:
                self._restart()
            self._send()
        answer = self._wait(begun)
        if self.codec.restarted:
            self._restart()
            if answer is None:
                return self.simulation.sample
        if answer is not None:
            self._answered(answer)
        elif self.connected and not self._passes(self._clock()):
            return self.simulation.sample
        if self.codec.requested_period is not None:
            self.simulation.period = self.codec.requested_period
        sample = self.simulation.step(self._outputs)
        self.statistics.steps += 1
        pacer = self._pacer or (None if self.connected else self._free)
        if pacer is not None:
            pacer.wait(sample.time)
            self.statistics.skipped = pacer.skipped
        return sample

    def _send(self) -> None:
        self._sent, self._sent_at = self.simulation.sample, self._clock()
        self.link.send(self.codec.sensors(self._sent))

    def _answered(self, answer: Array) -> None:
        self._heard = self._clock()
        now = f"at {self.simulation.sample.time:.3f} s"
        if not self.connected:
            self.connected = True
            self._report(f"flight controller answers {now}")
        time, runs = self.simulation.sample.time, bool(answer.max() > _IDLE)
        if runs:
            self._ran = time
        if self._is_new:
            self.statistics.restarts += self.statistics.answered > 0
            self._is_new, self._is_held = False, runs
            if runs:
                self._report(
                    "its motors run although the vehicle is at its start: they are held off until "
                    "the flight controller stops them; disarm it"
                )
        elif self._is_held and time - self._ran >= _STOPPED:
            self._is_held = False
            self._report(f"flight controller has stopped its motors {now}; they are free again")
        self.statistics.answered += 1
        self._outputs = np.zeros_like(answer) if self._is_held else answer

    def _passes(self, now: float) -> bool:
        """Whether the period without an answer passes."""
        if self._lockstep and self._unanswered != "stop":
            self.statistics.missed += self._unanswered == "step"
            return self._unanswered == "step"
        if now - self._heard > self._patience:
            self.connected = False
            self.statistics.lost += 1
            self._outputs = np.zeros_like(self._outputs)
            self._free.restart(self.simulation.sample.time)
            self._report(
                f"flight controller stopped answering at {self.simulation.sample.time:.3f} s; "
                "motors off, waiting for it"
            )
        return True

    def _restart(self) -> None:
        self.codec.restarted = self.connected = self._is_held = False
        if not self._is_new:
            self._report(
                f"flight controller started anew or ended at {self.simulation.sample.time:.3f} s; "
                "the vehicle is back at its start"
            )
        self._is_new = True
        self.simulation.reset()
        self._outputs = np.zeros_like(self._outputs)
        for pacer in (self._pacer, self._free):
            if pacer is not None:
                pacer.restart()

    def _drop_late(self) -> None:
        """Drops answers that arrived after the step: they belong to an earlier sample."""
        while (packet := self.link.receive(0.0)) is not None:
            self.statistics.extra += self.codec.motors(packet) is not None
        self.codec.asks_again = False

    def _wait(self, begun: float) -> Array | None:
        """Motor outputs of this period; in lock step waits for them up to the patience."""
        is_locked = self._lockstep and self.connected
        end = begun + self._patience
        if not is_locked:
            next_time = self.simulation.sample.time + self.simulation.period
            end = self._clock() + (self._pacer or self._free).left(next_time)
        again = begun + self._resend if is_locked and self._resend else float("inf")
        answer: Array | None = None
        while True:
            now = self._clock()
            if answer is not None and self._lockstep:
                return answer
            left = 0.0 if answer is not None else min(end, again) - now
            packet = self.link.receive(max(left, 0.0))
            if packet is not None:
                outputs = self.codec.motors(packet)
                if outputs is not None:
                    self.statistics.extra += answer is not None
                    answer = outputs
                if self.codec.restarted:
                    return answer
                if self.codec.asks_again:
                    self.codec.asks_again = False
                    if now - self._sent_at > _CROSSING:
                        self.statistics.repeated += 1
                        self._send()
            elif answer is not None or now >= end:
                return answer
            elif now >= again:
                self._send()
                self.statistics.repeated += 1
                again = now + (self._resend or 0.0)
