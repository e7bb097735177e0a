"""The physics thread: a game paced by the wall clock, which never waits for a page."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from os import PathLike

from propwash import _checks
from propwash._bridge import Pacer
from propwash.arcade._game import Game
from propwash.arcade._interface import MODES, FlightSnapshot, Mode, Sticks
from propwash.logs import FlightRecord
from propwash.race import Course, Result
from propwash.vehicle import VehicleParameters

Finished = Callable[[FlightRecord, Result, float], None]
"""Receives the log of a flight, its score, and the slowest scale of its clock."""

MAX_SCALE = 1.0

_IDLE = 0.2  # s, between two looks at requests while no time passes


class Runner:
    """Flies a game in a thread of its own.

    Any thread may call the methods; they take effect before the next tick, except that `stop`
    returns when the thread has ended and all flights have been passed on. A flight is passed to
    `finished` when it ends, and when it is reset, replaced or stopped after its take-off.

    finished: called in another thread than physics. report: called with the message of an error of
    `finished`, in one line.
    """

    def __init__(
        self,
        game: Game,
        *,
        finished: Finished = lambda record, result, scale: None,
        report: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.game = game
        """The game that is flown; `select` replaces it."""
        self.paused = False
        """Whether time is stopped."""
        self.scale = MAX_SCALE
        """Simulated seconds per second."""
        self.error: Exception | None = None
        """The error that ended the thread."""
        self._input: tuple[Sticks, Mode, int] = (Sticks(), "assisted", 0)
        self._finished, self._report = finished, report
        self._pacer = Pacer(clock=clock, sleep=sleep)
        self._requests: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._writer = ThreadPoolExecutor(1, "arcade flights")
        self._thread = threading.Thread(target=self._run, name="arcade physics", daemon=True)
        self._ends = self._is_idle = self._is_passed_on = False
        self._slowest = MAX_SCALE

    @property
    def snapshot(self) -> FlightSnapshot:
        """The newest snapshot of the game."""
        return self.game.snapshot

    @property
    def skipped(self) -> float:
        """Wall time [s] that was not simulated because ticks were late."""
        return self._pacer.skipped

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def set_input(self, sticks: Sticks, mode: Mode, number: int = 0) -> None:
        """Replaces the input. Raises ValueError for an unknown mode."""
        _checks.choice("mode", mode, MODES)
        self._input = (sticks, mode, number)

    def reset(self) -> None:
        """Returns the vehicle to the ground."""
        self._requests.put(self._restart)

    def pause(self, paused: bool) -> None:
        """Stops time, or lets it continue."""
        self._requests.put(partial(self._set_paused, paused))

    def set_scale(self, scale: float) -> None:
        """Sets the simulated seconds per second, > 0 and at most 1. Raises ValueError."""
        expected = f"a number > 0 and <= {MAX_SCALE:g}"
        scale = _checks.number("scale", scale, expected, lambda x: 0.0 < x <= MAX_SCALE)
        self._requests.put(partial(self._set_scale, scale))

    def select(
        self,
        course: Course,
        vehicle: str | PathLike[str] | VehicleParameters,
        seed: int,
        prepare: Callable[[Game], None] = lambda game: None,
    ) -> Game:
        """Replaces the game by one that it makes first, which takes a while, and returns it.

        prepare: called with the new game before its clock starts. Raises ParameterError or
        ValueError as Game does; the present game then continues.
        """
        game = self.game.of(course, vehicle, seed)
        prepare(game)
        self._requests.put(partial(self._replace, game))
        return game

    def stop(self) -> None:
        """Ends the thread; a flight in the air is passed on. Returns when that is done."""
        self._requests.put(self._end)
        if self._thread.ident is None:
            self._run()
        else:
            self._thread.join()
        self._writer.shutdown()

    def step(self) -> None:
        """Carries out the requests and flies one tick, or waits for requests if time is stopped."""
        self._is_idle = self.paused or self.game.has_ended
        self._carry_out()
        if self._ends or self.paused or self.game.has_ended:
            return
        if self._is_idle:
            self._pacer.restart(self.snapshot.time)
        snapshot = self.game.tick(*self._input)
        if self.game.has_flown:
            self._slowest = min(self._slowest, self.scale)
        if self.game.has_ended:
            self._pass_on(None)
        self._pacer.wait(snapshot.time)

    def _run(self) -> None:
        try:
            try:
                while not self._ends:
                    self.step()
            finally:
                self._pass_on("stopped")
        except Exception as error:
            self.error = error

    def _carry_out(self) -> None:
        """Carries out all requests; without any, waits a while for one if time is stopped."""
        try:
            request = self._requests.get(timeout=_IDLE if self._is_idle else 0.0)
            while True:
                request()
                request = self._requests.get_nowait()
        except queue.Empty:
            pass

    def _end(self) -> None:
        self._ends = True

    def _set_paused(self, paused: bool) -> None:
        self.paused = paused

    def _set_scale(self, scale: float) -> None:
        self.scale = self._pacer.rate = scale

    def _restart(self) -> None:
        self._pass_on("reset")
        self.game.reset()
        self._begin()

    def _replace(self, game: Game) -> None:
        self._pass_on("reset")
        self.game = game
        self._begin()

    def _begin(self) -> None:
        self._is_idle, self._is_passed_on, self._slowest = True, False, MAX_SCALE

    def _pass_on(self, result: str | None) -> None:
        """Passes the flight on, once, if it has left the ground."""
        if self._is_passed_on or not self.game.has_flown:
            return
        self._is_passed_on = True
        record, score = self.game.flown(result)
        passed_on = self._writer.submit(self._finished, record, score, self._slowest)
        passed_on.add_done_callback(self._report_error)

    def _report_error(self, passed_on: Future[None]) -> None:
        error = passed_on.exception()
        if error is not None:
            self._report(str(error) or repr(error))
