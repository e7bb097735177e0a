"""The arcade: what the pilot commands, and what the pages show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from propwash import _core
from propwash.arcade import _messages as messages
from propwash.arcade._game import Game
from propwash.arcade._ghosts import GHOSTS, Ghost, GhostKind
from propwash.arcade._images import FrameState, Lineup
from propwash.arcade._interface import MODES, Mode, Sticks
from propwash.arcade._pages import Page
from propwash.arcade._runner import Runner
from propwash.race import Course
from propwash.vehicle import files as vehicles

GhostMaker = Callable[[GhostKind, Game], Ghost | None]
"""Returns a ghost of this kind on the course of a game, or None; may take seconds."""


@dataclass(frozen=True)
class Choices:
    """What the pilot can choose."""

    courses: Mapping[str, Course]
    vehicles: Mapping[str, str]
    """By name: a name or a TOML file."""

    @classmethod
    def of(cls, courses: Mapping[str, Course], game: Game, vehicle: str) -> Choices:
        """The courses, and the shipped vehicles, with those of a game."""
        every = {name: name for name in vehicles.names()} | {game.vehicle.name: vehicle}
        return cls({**courses}, every)


class Arcade:
    """Passes commands to the runner; knows the scene, the ghosts and the leader board.

    size: px, of the images. board: returns the leader board of a course and seed. prepare: called
    with a selected game before it starts; may take seconds. make_ghost: called in the same thread
    as prepare. send: sends a message to all pages; any thread may call it.
    """

    def __init__(
        self,
        runner: Runner,
        choices: Choices,
        *,
        size: tuple[int, int],
        board: Callable[[str, int], messages.BoardMessage],
        prepare: Callable[[Game], None],
        make_ghost: GhostMaker,
        send: Callable[[messages.ToPage], None],
    ) -> None:
        self._runner, self._choices, self._size = runner, choices, size
        self._board, self._prepare, self._make_ghost = board, prepare, make_ghost
        self._send = send
        self._lock = threading.Lock()
        self._workers = ThreadPoolExecutor(1, "arcade selections")
        self._view: messages.ViewName = "chase"
        self._ghosts: tuple[GhostKind, ...] = ()
        self._lineup = Lineup(runner.game)
        self._announced = self._lineup
        self._selected: Game | None = runner.game  # None: it is being made
        self._selecting = 0  # selections under way, in which the clock is stopped
        self._continues = False  # whether it continues after them

    @property
    def frame_state(self) -> FrameState:
        """What the next image shows. Any thread may ask."""
        runner, game = self._runner, self._runner.game
        with self._lock:
            if self._lineup.game is not game:
                self._lineup = Lineup(game)
            lineup = self._lineup
        paused = runner.paused  # before the snapshot: no tick follows a pause
        return FrameState(lineup, game.snapshot, self._view, runner.scale, paused)

    @property
    def flying(self) -> bool:
        """Whether a flight is in the air, which no selection is about to replace."""
        game = self._runner.game
        return game is self._selected and game.phase == "flying"

    def set_input(self, sticks: Sticks, mode: Mode, number: int) -> None:
        """Sets the sticks."""
        self._runner.set_input(sticks, mode, number)

    def reset(self) -> None:
        """Starts a new flight."""
        self._runner.reset()

    def pause(self, paused: bool) -> None:
        """Stops the clock, or continues."""
        with self._lock:
            self._continues = not paused
            if paused or not self._selecting:
                self._runner.pause(paused)

    def set_scale(self, scale: float) -> None:
        """Sets simulated seconds per second."""
        self._runner.set_scale(scale)

    def set_view(self, view: messages.ViewName) -> None:
        """Selects the camera."""
        self._view = view

    def select(self, message: messages.Select) -> None:
        """Starts a new flight, not paused unless `pause` follows. Raises ValueError for names.

        The clock is stopped until the new flight is ready, which may take seconds.
        """
        course = _known("course", message.course, self._choices.courses)
        vehicle = _known("vehicle", message.vehicle, self._choices.vehicles)
        self._ghosts = tuple(dict.fromkeys(message.ghosts))
        with self._lock:
            self._selected, self._selecting = None, self._selecting + 1
            self._continues = True
            self._runner.pause(True)
        selecting = self._workers.submit(self._change, course, vehicle, message.seed)
        selecting.add_done_callback(self._report)

    def poll(self) -> None:
        """Announces a new game or new ghosts. The server calls it several times a second."""
        lineup = self.frame_state.lineup
        if lineup is self._announced:
            return
        if lineup.game is not self._announced.game and self._ghosts:
            adding = self._workers.submit(self._add_ghosts, lineup.game, self._ghosts)
            adding.add_done_callback(self._report)
        self._announced = lineup
        self._send(self._course())
        self._send(self._newest_board())

    def greeting(self, page: Page) -> list[str]:
        """The texts for a new page."""
        courses = self._choices.courses.values()
        hello = messages.Hello(
            role=page.role,
            courses=[{"name": course.name, "title": course.title} for course in courses],
            vehicles=list(self._choices.vehicles),
            modes=list(MODES),
            views=list(messages.VIEWS),
            ghosts=list(GHOSTS),
            size=self._size,
            version=_core.__version__,
        )
        return [messages.encode(each) for each in (hello, self._course(), self._newest_board())]

    def close(self) -> None:
        """Ends the thread of selections."""
        self._workers.shutdown(cancel_futures=True)

    def _newest_board(self) -> messages.BoardMessage:
        game = self._announced.game
        return self._board(game.course.name, game.seed)

    def _change(self, course: Course, vehicle: str, seed: int) -> None:
        selected = self._runner.game
        try:
            selected = self._runner.select(course, vehicle, seed, self._prepare)
        finally:
            with self._lock:
                self._selected, self._selecting = selected, self._selecting - 1
                if self._continues and not self._selecting:
                    self._runner.pause(False)

    def _add_ghosts(self, game: Game, kinds: tuple[GhostKind, ...]) -> None:
        """Shows each ghost when it is made."""
        for kind in kinds:
            if self._lineup.game is not game:
                return
            try:
                ghost = self._make_ghost(kind, game)
            except (ImportError, OSError, ValueError) as error:
                self._notice(error)
                continue
            if ghost is None:
                name = f"{game.course.name} with seed {game.seed}"
                self._notice(f"no ghost {kind!r} on {name}")
                continue
            with self._lock:
                if self._lineup.game is not game:
                    return
                self._lineup = Lineup(game, (*self._lineup.ghosts, ghost))

    def _report(self, done: Future[Any]) -> None:
        error = None if done.cancelled() else done.exception()
        if error is not None:
            self._notice(error)

    def _notice(self, text: object) -> None:
        self._send(messages.Notice(f"{text}"[:500]))

    def _course(self) -> messages.CourseMessage:
        lineup, game = self._announced, self._announced.game
        known = self._choices.courses.get(game.course.name)
        start = game.scene.start
        assert start is not None  # a game needs one
        gates: list[dict[str, Any]] = [
            {
                "name": gate.name,
                "position": list(gate.position),
                "attitude": list(gate.attitude),
                "width": gate.width,
                "height": gate.height,
            }
            for gate in game.scene.gates
        ]
        return messages.CourseMessage(
            name=game.course.name,
            title=game.course.name if known is None else known.title,
            seed=game.seed,
            vehicle=game.vehicle.name,
            ghosts=[ghost.name for ghost in lineup.ghosts],
            start=(*start.position, start.yaw),
            gates=gates,
        )


def _known(what: str, name: str, known: Mapping[str, Any]) -> Any:
    if name not in known:
        raise ValueError(f"{what} = {name!r}: expected one of {', '.join(known)}")
    return known[name]
