"""The pages of an arcade: who flies, who watches, and what their messages cause.

No sockets, threads or clocks: times [s] are arguments, and texts to a page wait in `Page.texts`.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from propwash._bridge import Refused
from propwash.arcade import _messages as messages
from propwash.arcade._interface import Mode, Sticks

MAX_UNSHOWN = 2
"""Images sent to a page that it has not acknowledged; a slow page skips others."""
SILENCE = 2.0
"""s without a message of the pilot, after which a watcher may take over."""
STALL = 1.0
"""s in flight without an image that the pilot's page has shown, after which it is paused."""
COUNTDOWN = 3
"""s, before a flight that the arcade has paused continues."""
MESSAGE_RATE = 500.0
"""Messages a second of a page, and messages at once, above which it is disconnected."""

_STALLED = f"no image was shown for {STALL:g} s"


class Controls(Protocol):
    """What the pilot commands."""

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        """Sets the positions of the sticks."""

    def reset(self) -> None:
        """Starts a new flight."""

    def pause(self, paused: bool) -> None:
        """Stops the clock, or continues."""

    def set_scale(self, scale: float) -> None:
        """Sets simulated seconds per second."""

    def select(self, message: messages.Select) -> None:
        """Starts a new flight, not paused. Raises ValueError for unknown names."""

    def set_view(self, view: messages.ViewName) -> None:
        """Selects the camera."""


@dataclass(eq=False)
class Page:
    """A connected page."""

    role: messages.Role
    last_message: float
    """s, time of the last message."""
    last_shown: float
    """s, time of the last acknowledgement of an image; of joining before the first one."""
    allowance: float
    """Messages that it may send at once."""
    texts: deque[str] = field(default_factory=deque)
    """Messages to send."""
    unshown: deque[int] = field(default_factory=deque)
    """Numbers of images sent and not acknowledged."""


class Pages:
    """Assigns roles, carries out messages, and pauses the flight of a pilot who is lost.

    The first page is the pilot's; others watch. When the pilot leaves, the flight is paused, the
    next new page is the pilot's, and a watcher may take over.
    """

    def __init__(
        self, controls: Controls, refused: Refused, message_rate: float = MESSAGE_RATE
    ) -> None:
        self._controls, self.refused, self._rate = controls, refused, message_rate
        self.all: list[Page] = []
        self.paused, self.reason = False, ""
        self.countdown = 0
        """s until a paused flight continues, rounded up; 0: it does not."""
        self._continues_at, self._flying = math.inf, False
        self.scale = 1.0
        self.view: messages.ViewName = "chase"
        self._input = messages.Input(0, (0.0, 0.0, 0.0, 0.0), "assisted")

    @property
    def pilot(self) -> Page | None:
        """The page of the pilot."""
        return next((page for page in self.all if page.role == "pilot"), None)

    def join(self, now: float) -> Page:
        """Adds a page; its first text is left to the caller."""
        role: messages.Role = "watcher" if self.pilot else "pilot"
        page = Page(role, now, now, self._rate)
        self.all.append(page)
        self.send_status()
        return page

    def leave(self, page: Page) -> None:
        """Removes a page; without a pilot the flight is paused."""
        self.all.remove(page)
        if page.role == "pilot":
            self._center()
            self._pause("the connection of the pilot was lost")
        self.send_status()

    def check(self, now: float, flying: bool) -> None:
        """Pauses a flight that its pilot does not see. Call it several times a second.

        The flight continues after a countdown when images are shown again.
        """
        self._flying, pilot = flying, self.pilot
        if pilot is None:
            return
        before = self.paused, self.countdown
        is_stalled = now - pilot.last_shown > STALL
        if not self.paused:
            if flying and is_stalled:
                self._pause(_STALLED)
        elif is_stalled:
            self._set_paused(True, self.reason)  # without the countdown
        elif now >= self._continues_at:
            self._continue()
        elif self.countdown or self.reason == _STALLED:
            self._count_down(now)
        if (self.paused, self.countdown) != before:
            self.send_status()

    def receive(self, page: Page, data: bytes, now: float) -> bool:
        """Carries out a message. Returns False if the page sends too many."""
        waited, page.last_message = now - page.last_message, now
        page.allowance = min(self._rate, page.allowance + waited * self._rate) - 1.0
        if page.allowance < 0.0:
            self.refused.add("too many messages")
            return False
        try:
            message = messages.decode(data)
            self._carry_out(page, message, now)
        except messages.MessageError as error:
            self.refused.add(error.reason, error.detail)
        except ValueError as error:
            self.refused.add("settings that do not exist", ascii(error)[:200])
            page.texts.append(messages.encode(messages.Notice(str(error)[:500])))
        if waited > SILENCE:
            self.send_status()
        return True

    def _carry_out(self, page: Page, message: messages.FromPage, now: float) -> None:
        if isinstance(message, messages.Shown):
            self._acknowledge(page, message.frame, now)
        elif isinstance(message, messages.TakeOver):
            self._take_over(page)
        elif page.role != "pilot":
            self.refused.add("command of a watcher", type(message).__name__)
        elif isinstance(message, messages.Input):
            self._input = message
            self._controls.set_input(Sticks(*message.sticks), message.mode, message.number)
        else:
            self._command(message, now)
            self.send_status()

    def _command(self, message: messages.FromPage, now: float) -> None:
        match message:
            case messages.Reset():
                self._controls.reset()
                self._continue()
            case messages.Pause(paused=True):
                self._pause("")
            case messages.Pause(paused=False):
                if self._flying and self.reason and not self.countdown:
                    self._count_down(now)
                else:
                    self._continue()
            case messages.SetClock(scale=scale):
                self._controls.set_scale(scale)
                self.scale = scale
            case messages.Select():
                self._controls.select(message)
                self._set_paused(False)
            case messages.SetCamera(view=view):
                self._controls.set_view(view)
                self.view = view

    def _acknowledge(self, page: Page, frame: int, now: float) -> None:
        if frame not in page.unshown:
            self.refused.add("acknowledgement of an image that was not sent", str(frame))
            return
        page.last_shown = now
        while page.unshown and page.unshown[0] <= frame:
            page.unshown.popleft()

    def _take_over(self, page: Page) -> None:
        pilot = self.pilot
        if pilot is page:
            return
        if pilot is not None and page.last_message - pilot.last_message <= SILENCE:
            text = "the pilot's page is connected: expected take_over after it left"
            page.texts.append(messages.encode(messages.Notice(text)))
            self.refused.add("take_over beside a pilot")
            return
        if pilot is not None:
            pilot.role = "watcher"
            self._pause("another page took over")
        page.role = "pilot"
        self._center()
        self.send_status()

    def _center(self) -> None:
        """Centres all sticks except the throttle, with number 0, which no input of a pilot has."""
        throttle = self._input.sticks[3]
        self._controls.set_input(Sticks(throttle=throttle), self._input.mode, 0)

    def _pause(self, reason: str) -> None:
        self._set_paused(True, reason)
        self._controls.pause(True)

    def _continue(self) -> None:
        self._set_paused(False)
        self._controls.pause(False)

    def _set_paused(self, paused: bool, reason: str = "") -> None:
        self.paused, self.reason = paused, reason
        self.countdown, self._continues_at = 0, math.inf

    def _count_down(self, now: float) -> None:
        """Continues in `COUNTDOWN` seconds, or earlier if that is under way."""
        self._continues_at = min(self._continues_at, now + COUNTDOWN)
        self.countdown = math.ceil(self._continues_at - now)

    def status(self, page: Page) -> str:
        """The status for a page."""
        return messages.encode(
            messages.Status(
                page.role,
                self.pilot is not None,
                len(self.all),
                self.paused,
                self.reason,
                self.countdown,
                self.scale,
                self.view,
            )
        )

    def send_status(self) -> None:
        """Sends the status to all pages."""
        for page in self.all:
            page.texts.append(self.status(page))

    def send(self, text: str) -> None:
        """Sends a message to all pages."""
        for page in self.all:
            page.texts.append(text)

    def wants_image(self) -> bool:
        """Whether a page can show another image."""
        return any(len(page.unshown) < MAX_UNSHOWN for page in self.all)

    def receivers(self, frame: int) -> list[Page]:
        """The pages to which an image is sent, in increasing order of numbers."""
        chosen = [page for page in self.all if len(page.unshown) < MAX_UNSHOWN]
        for page in chosen:
            page.unshown.append(frame)
        return chosen
