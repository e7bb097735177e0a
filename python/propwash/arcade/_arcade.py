"""The arcade: connects physics, images, pages and files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import propwash
from propwash.arcade import _messages as messages
from propwash.arcade._images import Ghost, Scenery, Stage
from propwash.arcade._interface import MODES, Mode, Snapshot, Sticks
from propwash.arcade._pages import Page
from propwash.vehicle import files as vehicles
from propwash.world import Scene


class Course(Protocol):
    """A course of gates."""

    @property
    def name(self) -> str:
        """Identifies it."""

    @property
    def title(self) -> str:
        """One line."""

    def scene(self, seed: int) -> Scene:
        """The scene with its gates moved by the seed."""


class Physics(Protocol):
    """The thread that steps the vehicle."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest."""

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        """Sets the sticks."""

    def reset(self) -> None:
        """Starts a new flight."""

    def pause(self, paused: bool) -> None:
        """Stops the clock, or continues."""

    def set_scale(self, scale: float) -> None:
        """Sets simulated seconds per second."""

    def select(self, course: Any, vehicle: str, seed: int) -> None:
        """Starts a new flight with other settings."""


@dataclass(frozen=True)
class Settings:
    """What a flight is made of."""

    course: str
    vehicle: str = "flightgoggles"
    seed: int = 0
    ghosts: tuple[messages.GhostName, ...] = ()


class Arcade:
    """What the pilot commands, and what the pages show.

    courses: by name. make_ghosts: returns the ghosts of settings; may take long. post: calls a
    function in the thread of the server. tell: sends a message to all pages; called by post.
    """

    def __init__(
        self,
        physics: Physics,
        courses: Mapping[str, Course],
        settings: Settings,
        *,
        size: tuple[int, int] = (640, 360),
        board: Callable[[Settings], messages.BoardMessage],
        make_ghosts: Callable[[Settings, Scene], tuple[Ghost, ...]],
        post: Callable[[Callable[[], None]], None],
        tell: Callable[[str], None],
    ) -> None:
        self._physics, self._courses, self._size = physics, courses, size
        self._board, self._make_ghosts = board, make_ghosts
        self._post, self._tell = post, tell
        self._lock = threading.Lock()
        self._view: messages.ViewName = "chase"
        self._scale, self._paused = 1.0, False
        self._workers = ThreadPoolExecutor(1, "arcade settings")
        self.settings = settings
        scene = courses[settings.course].scene(settings.seed)
        self._stage = _stage(scene, ())
        self._set_out(settings, scene)

    @property
    def scenery(self) -> Scenery:
        """What the next image shows."""
        return Scenery(self._stage, self._physics.snapshot, self._view, self._scale, self._paused)

    @property
    def flying(self) -> bool:
        """Whether a flight is in the air."""
        return self._physics.snapshot.phase == "flying"

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        """Sets the sticks."""
        self._physics.set_input(sticks, mode, number)

    def reset(self) -> None:
        """Starts a new flight."""
        self._physics.reset()

    def pause(self, paused: bool) -> None:
        """Stops the clock, or continues."""
        self._paused = paused
        self._physics.pause(paused)

    def set_scale(self, scale: float) -> None:
        """Sets simulated seconds per second."""
        self._scale = scale
        self._physics.set_scale(scale)

    def set_view(self, view: messages.ViewName) -> None:
        """Selects the camera."""
        self._view = view

    def select(self, message: messages.Select) -> None:
        """Starts a new flight, when its scene is loaded. Raises ValueError for unknown names."""
        for what, name, known in (
            ("course", message.course, list(self._courses)),
            ("vehicle", message.vehicle, vehicles.names()),
        ):
            if name not in known:
                raise ValueError(f"{what} = {name!r}: expected one of {', '.join(known)}")
        chosen = Settings(message.course, message.vehicle, message.seed, message.ghosts)
        self._workers.submit(self._change, chosen).add_done_callback(self._report)

    def greeting(self, page: Page) -> list[str]:
        """The texts for a new page."""
        courses = [{"name": c.name, "title": c.title} for c in self._courses.values()]
        hello = messages.Hello(
            page.role,
            courses,
            vehicles.names(),
            list(MODES),
            ["chase", "onboard"],
            ["best", "pilot", "policy"],
            self._size,
            propwash.__version__,
        )
        return [messages.encode(m) for m in (hello, self._course(), self._board(self.settings))]

    def close(self) -> None:
        """Ends the worker."""
        self._workers.shutdown(cancel_futures=True)

    def _change(self, settings: Settings) -> None:
        course = self._courses[settings.course]
        scene = course.scene(settings.seed)
        self._physics.select(course, settings.vehicle, settings.seed)
        self.settings = settings
        self._set_out(settings, scene)

    def _set_out(self, settings: Settings, scene: Scene) -> None:
        """Shows the scene at once, and the ghosts when they are computed."""
        self._stage = _stage(scene, ())
        self._announce()
        if settings.ghosts:
            self._workers.submit(self._add_ghosts, settings, scene).add_done_callback(self._report)

    def _add_ghosts(self, settings: Settings, scene: Scene) -> None:
        ghosts = self._make_ghosts(settings, scene)
        if self.settings is settings:
            self._stage = _stage(scene, ghosts)
            self._announce()

    def _announce(self) -> None:
        def tell() -> None:
            self._tell(messages.encode(self._course()))
            self._tell(messages.encode(self._board(self.settings)))

        self._post(tell)

    def _report(self, done: Future[None]) -> None:
        error = None if done.cancelled() else done.exception()
        if error is not None:
            text = messages.encode(messages.Notice(f"{error}"[:500]))
            self._post(lambda: self._tell(text))

    def _course(self) -> messages.CourseMessage:
        settings, stage = self.settings, self._stage
        course, start = self._courses[settings.course], stage.scene.start
        x, y, z = (0.0, 0.0, 0.0) if start is None else start.position
        gates = {gate.name: gate for gate in stage.scene.gates}
        return messages.CourseMessage(
            course.name,
            course.title,
            settings.seed,
            settings.vehicle,
            [ghost.name for ghost in stage.ghosts],
            (x, y, z, 0.0 if start is None else start.yaw),
            [
                {
                    "name": name,
                    "position": list(gates[name].position),
                    "attitude": list(gates[name].attitude),
                    "width": gates[name].width,
                    "height": gates[name].height,
                }
                for name in stage.gates
            ],
        )


def _stage(scene: Scene, ghosts: tuple[Ghost, ...]) -> Stage:
    return Stage(scene, tuple(gate.name for gate in scene.gates), ghosts)
