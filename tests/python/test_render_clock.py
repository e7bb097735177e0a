"""Lock-step, real-time and dynamic clocks with a renderer of known speed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from helpers import WallClock
from numpy.typing import ArrayLike
from propwash.render.clock import Clock, DynamicClock, LockStep, RealTime
from propwash.render.frame import Frame

POSITION, ATTITUDE = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0)
DT = 1.0 / 240.0


class Renderer:
    """Renders each pose in 1/fps seconds; keeps only the newest waiting pose."""

    def __init__(self, wall: WallClock, fps: float) -> None:
        self.fps = fps
        self.wall = wall
        self.rendering: tuple[int, float] | None = None
        self.waiting: int | None = None
        self.done: list[int] = []
        self.requested: list[int] = []

    def submit_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> None:
        self._update()
        self.requested.append(time_ns)
        if self.rendering is None:
            self.rendering = (time_ns, self.wall.now + 1.0 / self.fps)
        else:
            self.waiting = time_ns

    def request_vehicle(
        self,
        time_ns: int,
        position: ArrayLike,
        attitude: ArrayLike,
        objects: Mapping[str, Any] | None = None,
        *,
        render: Iterable[str] | None = None,
    ) -> Frame:
        self.requested.append(time_ns)
        self.wall.sleep(1.0 / self.fps)
        return Frame(time_ns, {})

    def poll(self) -> Frame | None:
        self._update()
        return Frame(self.done.pop(0), {}) if self.done else None

    def _update(self) -> None:
        while self.rendering is not None and self.rendering[1] <= self.wall.now:
            time_ns, end = self.rendering
            self.done.append(time_ns)
            self.rendering = None
            if self.waiting is not None:
                self.rendering = (self.waiting, end + 1.0 / self.fps)
                self.waiting = None


def _simulate(clock: Clock, renderer: Renderer, seconds: float) -> list[int]:
    """Simulates `seconds`; returns the time stamps of the received frames."""
    frames = []
    end = clock.time + seconds
    while clock.time < end - 1e-9:
        if clock.advance(DT):
            frame = clock.render(renderer, POSITION, ATTITUDE)
            if frame is not None:
                frames.append(frame.time_ns)
    return frames


@pytest.mark.parametrize("fps", [7.0, 60.0, 500.0])
def test_in_lock_step_images_have_the_time_of_their_request(fps: float) -> None:
    wall = WallClock()
    clock, renderer = LockStep(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, fps)
    stamps = _simulate(clock, renderer, 2.0)
    assert stamps == [pytest.approx(1e9 * k / 60.0, abs=2.0) for k in range(1, 121)]
    assert (clock.due, clock.received, clock.dropped) == (120, 120, 0)
    # only rendering advances the wall clock
    assert wall.now - 100.0 == pytest.approx(120 / fps)


def test_in_real_time_simulation_and_wall_clock_agree() -> None:
    wall = WallClock()
    clock, renderer = RealTime(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, 1000.0)
    _simulate(clock, renderer, 3.0)
    assert wall.now - 100.0 == pytest.approx(3.0)
    assert clock.lag < 1e-9
    assert clock.dropped == 0


def test_in_real_time_a_slow_renderer_drops_images() -> None:
    wall = WallClock()
    clock, renderer = RealTime(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, 20.0)
    _simulate(clock, renderer, 5.0)
    assert wall.now - 100.0 == pytest.approx(5.0)
    assert clock.received == pytest.approx(20.0 * 5.0, abs=3)
    pending = clock.due - clock.received - clock.dropped
    assert 0 <= pending <= 8


def test_physics_slower_than_real_time_increases_the_lag() -> None:
    wall = WallClock()
    clock = RealTime(60.0, wall=wall, sleep=wall.sleep)
    for _ in range(100):
        clock.advance(0.01)
        wall.now += 0.015
    assert clock.lag == pytest.approx(99 * 0.005)


@pytest.mark.parametrize("fps", [10.0, 30.0, 47.0, 59.0])
def test_the_dynamic_clock_keeps_the_camera_rate_in_simulated_time(fps: float) -> None:
    wall = WallClock()
    clock, renderer = DynamicClock(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, fps)
    _simulate(clock, renderer, 3.0)  # until the clock settles
    received, began, at = clock.received, wall.now, clock.time
    _simulate(clock, renderer, 10.0)
    per_simulated_second = (clock.received - received) / (clock.time - at)
    assert 0.94 * 60.0 < per_simulated_second <= 60.1
    # simulated time per wall-clock time is fps / rate
    assert (clock.time - at) / (wall.now - began) == pytest.approx(fps / 60.0, rel=0.06)
    assert clock.measured_fps == pytest.approx(fps, abs=1.01)  # ± one frame in 1 s


def test_the_dynamic_clock_runs_in_real_time_with_a_fast_renderer() -> None:
    wall = WallClock()
    clock, renderer = DynamicClock(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, 200.0)
    _simulate(clock, renderer, 5.0)
    assert wall.now - 100.0 == pytest.approx(5.0, rel=0.01)
    assert clock.dropped == 0


def test_the_dynamic_clock_recovers_with_the_renderer() -> None:
    wall = WallClock()
    clock, renderer = DynamicClock(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, 15.0)
    _simulate(clock, renderer, 4.0)
    assert clock.scale < 0.3
    renderer.fps = 240.0
    began = wall.now
    while clock.scale < 0.99:
        _simulate(clock, renderer, 0.1)
        assert wall.now - began < 15.0
    assert clock.scale <= 1.0


def test_the_dynamic_clock_tolerates_a_stopped_renderer() -> None:
    wall = WallClock()
    clock, renderer = DynamicClock(60.0, wall=wall, sleep=wall.sleep), Renderer(wall, 60.0)
    _simulate(clock, renderer, 3.0)
    renderer.fps = 1e-9
    _simulate(clock, renderer, 4.0)
    assert clock.scale == 0.05


def test_one_image_is_due_per_period_at_any_time_step() -> None:
    for dt in (1 / 960, 1 / 240, 1 / 60):
        clock = LockStep(60.0)
        steps = round(2.0 / dt)
        assert sum(clock.advance(dt) for _ in range(steps)) == 120
        assert clock.time_ns == pytest.approx(2e9, abs=2)
    clock = LockStep(60.0)
    assert [clock.advance(0.05) for _ in range(4)] == [True] * 4
    assert (clock.due, clock.dropped) == (12, 8)


def test_refused_poses_do_not_count_as_dropped_images() -> None:
    class Refusing(Renderer):
        def request_vehicle(self, *arguments: Any, **options: Any) -> Frame:
            raise ValueError("no pose")

    wall = WallClock()
    clock = LockStep(60.0)
    assert clock.advance(1.0 / 60.0)
    with pytest.raises(ValueError, match="no pose"):
        clock.render(Refusing(wall, 1000.0), POSITION, ATTITUDE)
    clock.advance(1.0 / 60.0)
    clock.render(Renderer(wall, 1000.0), POSITION, ATTITUDE)
    assert (clock.received, clock.dropped) == (1, 0)


@pytest.mark.parametrize("kind", [LockStep, RealTime, DynamicClock])
def test_time_stamps_increase_across_restarts(kind: type[Clock]) -> None:
    wall = WallClock()
    renderer = Renderer(wall, 1000.0)
    last = -1
    for _ in range(3):
        clock = kind(60.0, offset_ns=last + 1, wall=wall, sleep=wall.sleep)
        _simulate(clock, renderer, 0.2)
        assert clock.time == pytest.approx(0.2, abs=DT)
        last = clock.time_ns
    assert renderer.requested == sorted(set(renderer.requested))
    assert len(renderer.requested) == 36


def test_numpy_numbers_are_accepted() -> None:
    clock = LockStep(np.float32(50.0))  # type: ignore[arg-type]
    assert [clock.advance(np.float32(0.01)) for _ in range(4)] == [False, True, False, True]  # type: ignore[arg-type]


def test_unrequested_frames_are_not_counted() -> None:
    clock = LockStep(60.0)
    clock.arrived(12345)
    assert (clock.received, clock.dropped) == (0, 0)


@pytest.mark.parametrize("rate", [0.0, -1.0, math.nan, math.inf, "60"])
def test_invalid_rates_are_refused(rate: Any) -> None:
    with pytest.raises(ValueError, match="rate: expected a finite number > 0"):
        RealTime(rate)
    with pytest.raises(ValueError, match="dt: expected a finite number > 0"):
        LockStep(60.0).advance(rate)
