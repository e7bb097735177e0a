"""Nodes that share a clock in one process: routing of messages, lock step, clock scaling."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import isfinite
from typing import Any, Protocol

from propwash._bridge import Refused
from propwash.ros import _messages
from propwash.ros._messages import Message, Topic

Outputs = list[tuple[str, Message]]
"""Topics and messages, in the order in which they are published."""
Callback = Callable[[Message], None]

STEP_NS = 1_041_667
"""ns between time stamps: 1/960 s, as FlightGoggles rounds it."""
FPS_TOPIC = "/uav/camera/debug/fps"
STEP_TOPIC = "/uav/step"
"""Requests of a command in lock step: the time stamp and the number of steps made."""
NOMINAL_FPS = 55.0
"""Hz, frames a second at which automatic clock scaling runs in real time."""
CLOCK_SCALES = (0.01, 100.0)
"""Range of simulated seconds a second."""
UNARMED_STEPS = 960
"""From the first command on, after which it is reported that the vehicle is not armed."""
INBOX = 1000
"""Received messages that wait for a step; further ones are refused."""


class InputError(ValueError):
    """A received message that is not used, with the reason."""


class Part(Protocol):
    """The logic of one node.

    A callback raises InputError for a message that it does not use.
    """

    @property
    def publishes(self) -> Mapping[str, Topic]:
        """The topics that it publishes."""
        ...

    @property
    def subscribes(self) -> Mapping[str, tuple[Topic, Callback]]:
        """The topics that it subscribes to."""
        ...

    def start(self, stamp: int) -> Outputs:
        """Messages at the start, such as static transforms."""
        ...

    def step(self, stamp: int) -> Outputs:
        """Advances by one step to the time `stamp` [ns]."""
        ...


class Driven(Part, Protocol):
    """A vehicle: a part that receives commands."""

    @property
    def command_topic(self) -> str:
        """The topic of its commands."""
        ...

    @property
    def command(self) -> Any:
        """The last command, or None."""
        ...

    @property
    def is_moving(self) -> bool:
        """Whether it moves at the next step."""
        ...

    @property
    def how_to_arm(self) -> str:
        """What its user has to do before it moves."""
        ...


class Node:
    """Runs parts on one clock of 960 Hz.

    A message that a part publishes also reaches the other parts that subscribe to its topic, within
    the step.

    start: ns, time stamp before the first step.
    publish_clock: whether /clock is published.
    clock_scale: simulated seconds a second; None: 1, and from the first message of
        /uav/camera/debug/fps on its value / 55.
    lock_step: steps for each command of an armed vehicle. After them, a request is published on
        /uav/step, and the next step waits for a command; of several the last counts. A vehicle that
        has a command when it is armed begins with steps. None: the wall clock alone paces steps.
    """

    def __init__(
        self,
        parts: Sequence[Part],
        *,
        vehicle: Driven | None = None,
        start: int = 0,
        publish_clock: bool = True,
        clock_scale: float | None = 1.0,
        lock_step: int | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.parts: tuple[Part, ...] = (*parts,) if vehicle is None else (vehicle, *parts)
        self.stamp = start
        self.steps = 0
        self.refused = Refused(report)
        self._report = report
        self._commanded_at: int | None = None  # step; None while armed
        self.clock_scale = 1.0 if clock_scale is None else clock_scale
        self._vehicle = vehicle
        self._publish_clock = publish_clock
        self.lock_step = lock_step
        self._left = 0
        self._was_locked = self._asked = False
        self._inbox: deque[tuple[str, Message]] = deque()
        self._callbacks: dict[str, list[tuple[Part | None, Callback]]] = {}
        self.subscribes: dict[str, Topic] = {}
        self.publishes: dict[str, Topic] = {}
        for part in self.parts:
            self.publishes |= part.publishes
            for name, (topic, callback) in part.subscribes.items():
                self._subscribe(part, name, topic, callback)
        if publish_clock:
            self.publishes["/clock"] = Topic("rosgraph_msgs/msg/Clock", queue=1)
            if clock_scale is None:
                self._subscribe(None, FPS_TOPIC, Topic("std_msgs/msg/Float32"), self.on_fps)
        if lock_step is not None:
            self.publishes[STEP_TOPIC] = Topic("std_msgs/msg/Header")
            # a subscriber that comes while a command is waited for gets the present state
            self.publishes = {
                name: replace(topic, latched=True) for name, topic in self.publishes.items()
            }

    def _subscribe(self, part: Part | None, name: str, topic: Topic, callback: Callback) -> None:
        if name not in self.subscribes or topic.remote:
            self.subscribes[name] = topic
        self._callbacks.setdefault(name, []).append((part, callback))

    def on_fps(self, message: Message) -> None:
        """Scales the clock to the frames a second of the renderer."""
        frames = float(message.data)
        if not (isfinite(frames) and 0.0 < frames < 1e3):
            raise InputError("frame rate not between 0 and 1000 Hz")
        low, high = CLOCK_SCALES
        self.clock_scale = min(max(frames / NOMINAL_FPS, low), high)

    def post(self, name: str, message: Message) -> None:
        """Hands over a received message; the next step uses it. May be called by any thread."""
        if len(self._inbox) >= INBOX:
            self.refused.add("more messages than steps use")
            return
        self._inbox.append((name, message))

    def start(self) -> Outputs:
        """Messages at the start: the clock, and static transforms in one message."""
        found = [
            *self._clock(),
            *chain.from_iterable(part.start(self.stamp) for part in self.parts),
        ]
        static = [m for name, m in found if name == "/tf_static"]
        rest = [(name, m) for name, m in found if name != "/tf_static"]
        if static:
            joined = _messages.transforms(*chain.from_iterable(m.transforms for m in static))
            rest.append(("/tf_static", joined))
        return rest

    def step(self) -> Outputs | None:
        """Makes a step; returns what is published.

        In lock step, returns the request where a command is waited for, then None until it comes.
        """
        if self._left == 0 or not self.is_locked:
            if not self._may_step():
                if self._asked:
                    return None
                self._asked = True
                return [(STEP_TOPIC, _messages.header(self.stamp, "", self.steps))]
            self._asked = False
        self._left = max(self._left - 1, 0)
        self.stamp += STEP_NS
        self.steps += 1
        outputs = self._clock()
        for part in self.parts:
            made = part.step(self.stamp)
            for name, message in made:
                self._deliver(name, message, part)
            outputs += made
        return outputs

    @property
    def is_locked(self) -> bool:
        """Whether steps follow the commands of a vehicle, not the wall clock."""
        vehicle = self._vehicle
        return self.lock_step is not None and vehicle is not None and vehicle.is_moving

    @property
    def command_topic(self) -> str:
        """The topic of the vehicle's commands."""
        return "" if self._vehicle is None else self._vehicle.command_topic

    def _may_step(self) -> bool:
        """Delivers received messages; False where the next step needs a command."""
        was_locked = self._was_locked
        is_answered = False
        while self._inbox:
            name, message = self._inbox.popleft()
            is_answered |= name == self.command_topic
            self._deliver(name, message, None)
        self._was_locked = self.is_locked
        if not self._was_locked:
            self._left = 0
            self._note_unarmed(is_answered)
            return True
        has_command = self._vehicle is not None and self._vehicle.command is not None
        if is_answered or (has_command and not was_locked):
            self._left = self.lock_step or 0
            return True
        return False

    def _note_unarmed(self, is_commanded: bool) -> None:
        """Reports commands that do not move the vehicle because it is not armed."""
        vehicle = self._vehicle
        if vehicle is None or vehicle.is_moving:
            self._commanded_at = None
            return
        if is_commanded and self._commanded_at is None:
            self._commanded_at = self.steps
        is_due = self._commanded_at == self.steps - UNARMED_STEPS
        if is_due and self._report is not None:
            self._report(
                f"commands arrive on {vehicle.command_topic}, but the vehicle is not armed: "
                f"{vehicle.how_to_arm}"
            )

    def _deliver(self, name: str, message: Message, sender: Part | None) -> None:
        for part, callback in self._callbacks.get(name, ()):
            if part is None or part is not sender:
                try:
                    callback(message)
                except InputError as error:
                    self.refused.add(f"{name}: {error}")

    def _clock(self) -> Outputs:
        if not self._publish_clock:
            return []
        kind = _messages.type_of("rosgraph_msgs/msg/Clock")
        return [("/clock", kind(_messages.time(self.stamp)))]
