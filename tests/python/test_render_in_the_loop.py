"""Vehicle in the loop: external poses, their time stamps, readings and frames."""

from __future__ import annotations

import itertools
import json
import math
import struct
import time
from typing import Any

import numpy as np
import pytest
from helpers import WallClock
from numpy.typing import ArrayLike
from propwash.render.frame import Frame
from propwash.render.in_the_loop import (
    LoopStep,
    PoseSample,
    PoseStream,
    Source,
    VehicleInTheLoop,
    recorded,
)

LEVEL = (1.0, 0.0, 0.0, 0.0)


class Delayed:
    """A client whose renderer answers every request after a delay."""

    def __init__(self, wall: WallClock, delay: float) -> None:
        self.wall = wall
        self.delay = delay
        self.requested: list[tuple[int, tuple[float, ...]]] = []
        self._due: list[tuple[float, int]] = []

    def submit_vehicle(self, time_ns: int, position: ArrayLike, attitude: ArrayLike) -> None:
        self.requested.append((time_ns, tuple(np.asarray(position))))
        self._due.append((self.wall.now + self.delay, time_ns))

    def poll(self) -> Frame | None:
        if self._due and self._due[0][0] <= self.wall.now:
            return Frame(self._due.pop(0)[1], {})
        return None


class Altimeter:
    def measure(self, position: ArrayLike, attitude: ArrayLike) -> float:
        return float(np.asarray(position)[2])


def _source(samples: list[PoseSample]) -> Source:
    waiting = iter(samples)
    return lambda: next(waiting, None)


def _sample(stamp: int, height: float = 1.0) -> PoseSample:
    return PoseSample(stamp, (0.0, 0.0, height), LEVEL)


def test_readings_and_frames_have_the_time_stamp_of_their_pose() -> None:
    wall = WallClock()
    client = Delayed(wall, 0.03)
    stamps = [
        10**18 + 2_777_777 * k for k in range(100)
    ]  # 360 Hz, with the offset of another clock
    times = 1e-9 * (np.array(stamps) - stamps[0])
    heights = 1.0 + np.arange(100)
    source = recorded(times, np.stack([heights] * 3, axis=1), [LEVEL] * 100, wall=wall)
    loop = VehicleInTheLoop(source, client, {"height": Altimeter()}, wall=wall)
    readings, frames = [], []
    for _ in range(200):
        step = loop.step()
        readings += step.readings
        frames += step.frames
        wall.sleep(1.0 / 400.0)
    assert [reading.sample.time_ns for reading in readings] == [s - stamps[0] for s in stamps]
    assert [reading.values["height"] for reading in readings] == list(heights)
    assert [frame.time_ns for frame in frames] == [stamp for stamp, _ in client.requested]
    assert all(
        position[2] == heights[round(360e-9 * stamp)] for stamp, position in client.requested
    )
    assert loop.poses == 100


def test_latency_is_measured_from_the_arrival_of_the_pose() -> None:
    wall = WallClock()
    loop = VehicleInTheLoop(_source([_sample(1)]), Delayed(wall, 0.037), wall=wall)
    loop.step()
    assert loop.latency.count == 0
    wall.sleep(0.02)
    assert loop.step().frames == []
    wall.sleep(0.02)
    assert [frame.time_ns for frame in loop.step().frames] == [1]
    assert loop.latency.count == 1
    assert loop.latency.mean == pytest.approx(0.04)


def test_only_the_newest_pose_of_a_step_is_rendered() -> None:
    wall = WallClock()
    client = Delayed(wall, 0.0)
    loop = VehicleInTheLoop(
        _source([_sample(k, float(k)) for k in (1, 2, 3)]), client, {"h": Altimeter()}, wall=wall
    )
    step = loop.step()
    assert [reading.values["h"] for reading in step.readings] == [1.0, 2.0, 3.0]
    assert [stamp for stamp, _ in client.requested] == [3]


def test_poses_with_decreasing_time_stamps_are_dropped_and_counted() -> None:
    loop = VehicleInTheLoop(_source([_sample(k) for k in (5, 3, 4, 6, 6, 7)]))
    steps = [[reading.sample.time_ns for reading in loop.step().readings] for _ in range(3)]
    assert steps == [[5, 6], [7], []]  # a repeated stamp ends the step
    assert loop.stale == 2


@pytest.mark.parametrize("rate", [30.0, 60.0, 100.0])
def test_the_camera_rate_is_kept_in_the_time_of_the_poses(rate: float) -> None:
    wall = WallClock()
    client = Delayed(wall, 0.0)
    waiting: list[PoseSample] = []
    loop = VehicleInTheLoop(
        lambda: waiting.pop() if waiting else None, client, camera_rate=rate, wall=wall
    )
    for k in range(720):  # 2 s at 360 Hz
        waiting.append(_sample(round(k * 1e9 / 360.0)))
        loop.step()
    assert len(client.requested) == pytest.approx(2.0 * rate, abs=1)
    gaps = np.diff([stamp for stamp, _ in client.requested])
    assert np.all(np.abs(gaps - 1e9 / rate) <= 1e9 / 360.0 + 2)


def test_a_step_ends_although_the_source_has_more_poses() -> None:
    present = VehicleInTheLoop(lambda: _sample(5))
    assert [len(present.step().readings) for _ in range(3)] == [1, 0, 0]
    stamps = itertools.count(1)
    endless = VehicleInTheLoop(lambda: _sample(next(stamps)))
    assert 0 < len(endless.step().readings) < 1000
    backwards = VehicleInTheLoop(lambda: _sample(10**6 - next(stamps)))
    assert len(backwards.step().readings) == 1


def test_run_reports_all_readings_and_frames() -> None:
    wall = WallClock()
    source = recorded([0.0, 0.1, 0.2], np.zeros((3, 3)), [LEVEL] * 3, speed=2.0, wall=wall)
    loop = VehicleInTheLoop(source, Delayed(wall, 0.01), wall=wall)
    steps: list[LoopStep] = []
    loop.run(1.0, steps.append, sleep=wall.sleep)
    stamps = [reading.sample.time_ns for step in steps for reading in step.readings]
    assert stamps == [0, 100_000_000, 200_000_000]
    assert sum(len(step.frames) for step in steps) == 3
    assert wall.now == pytest.approx(101.0, abs=0.01)


def test_a_stream_accepts_both_formats_and_counts_invalid_messages() -> None:
    zmq = pytest.importorskip("zmq")
    good = PoseSample(10**18 + 1, (1.0, -2.0, 3.0), (0.5, 0.5, 0.5, 0.5))
    text = {"time_ns": 7, "position": [1, 2, 3], "attitude": [1, 0, 0, 0]}
    wrong: list[list[bytes]] = [
        [b"pose"],
        [b"pose", b"short"],
        [b"pose", struct.pack("<q7d", 1, 0, 0, math.nan, 1, 0, 0, 0)],
        [b"pose", struct.pack("<q7d", 1, 0, 0, 0, 1, 1, 0, 0)],
        [b"pose", struct.pack("<q7d", -1, 0, 0, 0, 1, 0, 0, 0)],
        [b"other", bytes(64)],
        [b"json", b"\xff\xfe"],
        [b"json", b"[" * 5_000],
        [b"json", bytes([255]) * 100_000],
        [b"json", b"{}"],
        [b"json", b"[1]"],
        [b"json", json.dumps(text | {"time_ns": 1.5}).encode()],
        [b"json", json.dumps(text | {"position": "abc"}).encode()],
        [b"json", json.dumps(text | {"attitude": None}).encode()],
    ]
    with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
        publisher.setsockopt(zmq.LINGER, 0)
        port = publisher.bind_to_random_port("tcp://127.0.0.1")
        with PoseStream(f"tcp://127.0.0.1:{port}") as stream:
            assert publisher.poll(5000)  # the subscription
            for message in (*wrong, good.packed(), [b"json", json.dumps(text).encode()]):
                publisher.send_multipart(message)
            samples: list[PoseSample] = []
            deadline = time.monotonic() + 5.0
            while len(samples) < 2 and time.monotonic() < deadline:
                sample = stream()
                samples += [] if sample is None else [sample]
            assert samples == [good, PoseSample(7, (1.0, 2.0, 3.0), LEVEL)]
            assert stream.faulty == len(wrong)
            assert "attitude" in stream.last_fault


def test_errors_name_an_invalid_endpoint() -> None:
    pytest.importorskip("zmq")
    with pytest.raises(OSError, match="endpoint 'nonsense' cannot be connected to"):
        PoseStream("nonsense")
    with (
        PoseStream("tcp://127.0.0.1:*", bind=True),
        pytest.raises(OSError, match="cannot be bound"),
    ):
        PoseStream("tcp://203.0.113.7:1", bind=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (((0.0, 0.0), np.zeros((2, 3)), [LEVEL] * 2), "increasing"),
        (((0.0, math.nan), np.zeros((2, 3)), [LEVEL] * 2), "finite"),
        ((0.0, np.zeros((1, 3)), [LEVEL]), r"shape \(k,\)"),
        (((0.0, 1.0), np.zeros((3, 3)), [LEVEL] * 2), "positions: expected"),
        (((0.0,), [[math.inf, 0, 0]], [LEVEL]), "position"),
    ],
)
def test_invalid_recordings_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        recorded(*arguments)
    with pytest.raises(ValueError, match="speed: expected"):
        recorded([0.0], np.zeros((1, 3)), [LEVEL], speed=0.0)
    with pytest.raises(ValueError, match="camera_rate: expected"):
        VehicleInTheLoop(lambda: None, camera_rate=0.0)
