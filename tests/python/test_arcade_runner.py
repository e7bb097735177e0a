"""The physics thread of the arcade: its pace, and what becomes of flights."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from helpers import WallClock, wait_until
from propwash.arcade import TICK, Game, Runner, Sticks
from propwash.logs import FlightRecord
from propwash.race import Result, courses

UP = Sticks(throttle=0.9)
COURSE = courses()["eight"]


class Flights:
    """Collects the flights that a runner passes on."""

    def __init__(self) -> None:
        self.records: list[FlightRecord] = []
        self.scales: list[float] = []
        self.threads: set[int] = set()

    def __call__(self, record: FlightRecord, result: Result, scale: float) -> None:
        assert len(result.passages) == len(record.info["passed"])
        self.records.append(record)
        self.scales.append(scale)
        self.threads.add(threading.get_ident())

    @property
    def ends(self) -> list[str]:
        return [record.info["phase"] for record in self.records]


@pytest.fixture(name="clock")
def clock_() -> WallClock:
    return WallClock()


@pytest.fixture(name="flights")
def flights_() -> Flights:
    return Flights()


@pytest.fixture(name="runner")
def runner_(clock: WallClock, flights: Flights) -> Iterator[Runner]:
    runner = Runner(Game(COURSE), finished=flights, clock=clock, sleep=clock.sleep)
    yield runner
    runner.stop()


def run(runner: Runner, clock: WallClock, seconds: float) -> float:
    """Steps for a wall time [s]; returns the simulated time that passed."""
    before, end = runner.snapshot.time, clock.now + seconds
    while clock.now < end - 1e-9:
        runner.step()
    return runner.snapshot.time - before


def test_simulated_time_follows_the_clock_times_its_scale(runner: Runner, clock: WallClock) -> None:
    for scale in (1.0, 0.5, 0.25, 1.0):
        runner.set_scale(scale)
        assert run(runner, clock, 1.0) == pytest.approx(scale, abs=2 * TICK)
    assert runner.skipped == 0.0


def test_a_pause_stops_time_and_is_not_made_up_for(runner: Runner, clock: WallClock) -> None:
    run(runner, clock, 0.5)
    runner.pause(True)
    at = runner.snapshot.time
    runner.step()
    assert runner.paused
    clock.now += 60.0
    runner.step()
    assert runner.snapshot.time == at
    runner.pause(False)
    assert run(runner, clock, 1.0) == pytest.approx(1.0, abs=2 * TICK)
    assert runner.skipped == 0.0


def test_after_a_short_delay_it_catches_up_and_after_a_long_one_it_goes_on(
    runner: Runner, clock: WallClock
) -> None:
    run(runner, clock, 0.5)
    clock.now += 0.08
    assert run(runner, clock, 1.0) == pytest.approx(1.08, abs=2 * TICK)
    assert runner.skipped == 0.0
    clock.now += 5.0
    assert run(runner, clock, 1.0) == pytest.approx(1.0, abs=2 * TICK)
    assert runner.skipped == pytest.approx(5.0, abs=2 * TICK)


def test_the_newest_input_acts(runner: Runner) -> None:
    runner.set_input(CENTRED := Sticks(throttle=0.5), "angle", 6)
    runner.set_input(UP, "assisted", 7)
    runner.step()
    assert (runner.snapshot.sticks, runner.snapshot.number) == (UP, 7)
    with pytest.raises(ValueError, match="mode: expected 'acro', 'angle' or 'assisted'"):
        runner.set_input(CENTRED, "manual", 8)  # type: ignore[arg-type]
    runner.step()
    assert runner.snapshot.number == 7


@pytest.mark.parametrize("scale", [0.0, -1.0, 1.5, float("nan"), "fast"])
def test_scales_out_of_range_are_refused(runner: Runner, scale: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="scale: expected a number > 0 and <= 1"):
        runner.set_scale(scale)


def test_each_flight_is_passed_on_once(runner: Runner, clock: WallClock, flights: Flights) -> None:
    runner.reset()  # nothing has flown
    run(runner, clock, 0.5)
    runner.set_input(UP, "assisted")
    run(runner, clock, 1.0)
    runner.set_input(Sticks(), "angle")  # falls
    for _ in range(600):
        runner.step() if not runner.game.has_ended else None
    assert runner.snapshot.phase == "collided"
    runner.reset()
    runner.set_input(UP, "assisted")
    run(runner, clock, 1.0)
    runner.reset()
    run(runner, clock, 1.0)
    game = runner.select(COURSE, "blackbird", 4)
    run(runner, clock, 1.0)
    assert runner.game is game
    runner.stop()
    assert flights.ends == ["collided", "reset", "reset", "stopped"]
    assert [r.info["vehicle"] for r in flights.records] == ["flightgoggles"] * 3 + ["blackbird"]
    assert threading.get_ident() not in flights.threads


def test_the_slowest_scale_of_a_flight_is_passed_on(
    runner: Runner, clock: WallClock, flights: Flights
) -> None:
    runner.set_input(UP, "assisted")
    runner.set_scale(0.5)
    run(runner, clock, 0.2)
    assert runner.snapshot.phase == "ready"  # slow on the ground only
    runner.set_scale(1.0)
    run(runner, clock, 1.0)
    runner.reset()
    run(runner, clock, 0.8)
    runner.set_scale(0.25)
    run(runner, clock, 0.1)
    runner.set_scale(1.0)
    run(runner, clock, 0.1)
    runner.reset()
    run(runner, clock, 0.8)
    runner.stop()
    assert flights.scales == [1.0, 0.25, 1.0]


def test_an_invalid_selection_changes_nothing(runner: Runner, clock: WallClock) -> None:
    run(runner, clock, 0.2)
    game = runner.game
    with pytest.raises(ValueError, match="zeppelin"):
        runner.select(COURSE, "zeppelin", 0)
    assert run(runner, clock, 0.2) > 0.1
    assert runner.game is game


def test_a_slow_or_failing_writer_does_not_stop_time() -> None:
    """In real time, with the thread."""
    release = threading.Event()
    reports: list[str] = []

    def finished(record: FlightRecord, result: Result, scale: float) -> None:
        release.wait(20.0)
        raise OSError(28, "No space left on device")

    runner = Runner(Game(COURSE), finished=finished, report=reports.append)
    runner.start()
    runner.set_input(UP, "assisted", 1)
    wait_until(lambda: runner.snapshot.race_time > 0.1)
    runner.set_input(Sticks(), "assisted")
    runner.reset()
    wait_until(lambda: runner.snapshot.phase == "ready")
    runner.set_input(UP, "assisted", 2)
    wait_until(lambda: runner.snapshot.phase == "flying")
    at = runner.snapshot.time
    wait_until(lambda: runner.snapshot.time > at + 0.3)
    assert reports == []
    release.set()
    runner.stop()
    assert reports == ["[Errno 28] No space left on device"] * 2


def test_stopping_a_paused_flight_passes_it_on(flights: Flights) -> None:
    runner = Runner(Game(COURSE), finished=flights)
    runner.start()
    runner.set_input(UP, "assisted")
    wait_until(lambda: runner.game.has_flown)
    runner.pause(True)
    wait_until(lambda: runner.paused)
    rows = runner.snapshot.time
    runner.stop()
    assert flights.ends == ["stopped"]
    assert flights.records[0].time[-1] == rows
    runner.stop()  # again: nothing happens
    assert flights.ends == ["stopped"]


def test_an_error_of_physics_is_kept_and_the_flight_passed_on(
    flights: Flights, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner(Game(COURSE), finished=flights)
    runner.start()
    runner.set_input(UP, "assisted")
    wait_until(lambda: runner.game.has_flown)
    assert runner.error is None
    monkeypatch.setattr(runner.game, "tick", lambda *arguments: 1 / 0)
    wait_until(lambda: runner.error is not None)
    assert isinstance(runner.error, ZeroDivisionError)
    runner.stop()
    assert flights.ends == ["stopped"]
