"""Selections of the pilot: what is paused, and which ghosts are made."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers import wait_until
from propwash.arcade import TICK, Game, Runner, Sticks
from propwash.arcade import _messages as messages
from propwash.arcade._arcade import Arcade, Choices
from propwash.arcade._ghosts import Ghost, GhostKind
from propwash.arcade._interface import FlightSnapshot
from propwash.race import courses

VEHICLE = "flightgoggles"


class SlowRunner(Runner):
    """A runner whose new games wait until `may_select` is set."""

    def __init__(self, game: Game) -> None:
        super().__init__(game, sleep=lambda seconds: None)
        self.may_select = threading.Event()

    def select(self, *settings: Any) -> Game:
        """Waits."""
        assert self.may_select.wait(20.0)
        return super().select(*settings)


class WatchedGame(Game):
    """A game that calls a function once, after its snapshot has been read."""

    after_read: Callable[[], None] | None = None

    @property
    def snapshot(self) -> FlightSnapshot:
        """The newest snapshot before the call."""
        snapshot, call, self.after_read = super().snapshot, self.after_read, None
        if call is not None:
            call()
        return snapshot


class Parts:
    """An arcade with a slow runner, and the ghosts that it asked for."""

    def __init__(self) -> None:
        self.game = game = WatchedGame(courses()["eight"])
        self.runner = SlowRunner(game)
        self.ghosts: list[tuple[str, int]] = []
        self.may_start = threading.Event()
        self.may_start.set()
        self.fails = False
        self.arcade = Arcade(
            self.runner,
            Choices.of(courses(), game, VEHICLE),
            size=(64, 36),
            board=lambda course, seed: messages.BoardMessage(course, seed, []),
            prepare=self.prepare,
            make_ghost=self.make_ghost,
            send=lambda message: None,
        )

    def prepare(self, game: Game) -> None:
        """Waits until `may_start` is set."""
        assert self.may_start.wait(20.0)
        if self.fails:
            raise OSError("for the test")

    def make_ghost(self, kind: GhostKind, game: Game) -> Ghost | None:
        """Records; another course is selected while the first ghost is made."""
        self.ghosts.append((kind, game.seed))
        if game.seed == 1:
            self.runner.game = game.of(courses()["tower"], VEHICLE, 2)
            assert self.arcade.frame_state.lineup.game is self.runner.game
        return None

    def select(self, seed: int, *ghosts: GhostKind) -> None:
        """Selects the same course with another seed."""
        self.arcade.select(messages.Select("eight", VEHICLE, seed, ghosts))

    def replaced(self, seed: int = 1) -> None:
        """Steps until the game is the selected one."""
        self.runner.may_select.set()
        wait_until(lambda: self.runner.game.seed == seed, lambda _: self.runner.step())

    def close(self) -> None:
        """Waits for the selection, and carries out what it requested."""
        self.runner.may_select.set()
        self.arcade.close()
        self.runner.step()


@pytest.fixture(name="parts")
def parts_() -> Iterator[Parts]:
    parts = Parts()
    yield parts
    parts.close()
    parts.runner.stop()


def test_selection_continues_a_paused_clock(parts: Parts) -> None:
    parts.arcade.pause(True)
    parts.select(1)
    parts.runner.step()
    assert parts.runner.paused
    parts.replaced()
    parts.close()
    assert not parts.runner.paused


def test_pause_during_a_selection_holds(parts: Parts) -> None:
    """As of a pilot who is lost: the vehicle must not take off alone."""
    parts.arcade.set_input(Sticks(throttle=1.0), "assisted", 0)
    parts.select(1)
    parts.arcade.pause(True)
    parts.replaced()
    parts.close()
    assert parts.runner.paused
    assert parts.runner.snapshot.time == 0.0


def test_selected_game_starts_when_its_images_are_prepared(parts: Parts) -> None:
    """Else the vehicle flies unseen while textures are made: for 19 s on a loaded machine."""
    parts.may_start.clear()
    parts.arcade.set_input(Sticks(throttle=1.0), "assisted", 1)
    while not parts.arcade.flying:
        parts.runner.step()
    at = parts.runner.snapshot.time
    parts.select(1)
    assert not parts.arcade.flying  # no reason to pause
    parts.runner.may_select.set()
    for _ in range(3):
        parts.runner.step()
    assert parts.runner.game is parts.game
    assert parts.runner.snapshot.time == at  # nor does the flight before go on
    parts.arcade.pause(False)
    parts.runner.step()
    assert parts.runner.snapshot.time == at
    parts.may_start.set()
    parts.arcade.close()
    assert not parts.arcade.flying  # the flight before is not replaced yet
    parts.replaced()
    assert parts.runner.snapshot.time <= TICK
    assert not parts.arcade.flying
    while not parts.arcade.flying:
        parts.runner.step()


def test_flight_continues_after_a_selection_that_fails(parts: Parts) -> None:
    parts.arcade.set_input(Sticks(throttle=1.0), "assisted", 1)
    while not parts.arcade.flying:
        parts.runner.step()
    parts.fails = True
    parts.select(1)
    parts.close()
    assert parts.arcade.flying
    assert parts.runner.game is parts.game
    assert not parts.runner.paused


def test_clock_continues_after_the_last_of_several_selections(parts: Parts) -> None:
    parts.select(1)
    parts.select(2)
    parts.replaced(2)
    parts.close()
    assert not parts.runner.paused


def test_ghosts_of_a_replaced_game_are_not_made(parts: Parts) -> None:
    parts.select(1, "pilot", "policy")
    parts.replaced()
    parts.arcade.poll()
    wait_until(lambda: bool(parts.ghosts))
    parts.arcade.close()
    assert parts.ghosts == [("pilot", 1)]


def test_an_image_says_paused_only_with_the_last_snapshot(parts: Parts) -> None:
    """Also when a tick and the pause come while it is made."""

    def tick_and_pause() -> None:
        parts.runner.step()
        parts.arcade.pause(True)
        parts.runner.step()

    parts.runner.step()
    parts.game.after_read = tick_and_pause
    assert not parts.arcade.frame_state.paused
    assert parts.runner.paused
    at = parts.runner.snapshot.time
    parts.runner.step()
    frame_state = parts.arcade.frame_state
    assert (frame_state.paused, frame_state.snapshot.time) == (True, at)
