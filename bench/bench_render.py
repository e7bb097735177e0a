"""The time of the render client: the caller's time per frame, round trips, a pose message.

A separate process answers with prepared images, so that only the protocol and the client are
timed; `--renderer` uses the reference renderer instead. Prints medians of the best of several runs,
to exclude other load of the machine.
"""

from __future__ import annotations

import argparse
import multiprocessing
import socket
import statistics
import time
from typing import Any

import numpy as np
from propwash import _render
from propwash.render import Client, RenderCamera, RenderObject
from propwash.render._transport import SocketPair

RUNS = 5
LEVEL = (1.0, 0.0, 0.0, 0.0)
SIZES: dict[str, Any] = {"width": 1024, "height": 768}


def answer_poses(ports: tuple[int, int], cameras: int) -> None:
    """The renderer's process: the same images for every pose."""
    import zmq

    context = zmq.Context()
    poses, images = context.socket(zmq.SUB), context.socket(zmq.PUB)
    poses.setsockopt(zmq.SUBSCRIBE, b"Pose")
    poses.connect(f"tcp://127.0.0.1:{ports[0]}")
    images.connect(f"tcp://127.0.0.1:{ports[1]}")
    contents = [bytes(3 * SIZES["width"] * SIZES["height"])] * cameras
    names = [f"camera{number}" for number in range(cameras)]
    while True:
        pose = _render.decode_pose(poses.recv_multipart()[1])
        head = _render.encode_answer(
            pose.ntime, SIZES["width"], SIZES["height"], names, [3] * cameras, range=21.0
        )
        images.send_multipart([head, *contents], copy=False)


def free_pair() -> tuple[int, int]:
    """Two free ports."""
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        return one.getsockname()[1], two.getsockname()[1]


class Watched:
    """Measures the caller's time in the sockets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        for name in ("receive", "send", "listen"):
            setattr(SocketPair, name, self._timed(getattr(SocketPair, name)))

    def _timed(self, call: Any) -> Any:
        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return call(*arguments)
            finally:
                self.seconds += time.perf_counter() - began

        return timed


def round_trips(client: Client, seconds: float) -> float:
    """Frames per second, one at a time, with a running renderer."""
    client.request_vehicle(0, (0.0, 0.0, 1.0), LEVEL, timeout=30.0)
    stamp, best = 0, 0.0
    for _ in range(RUNS):
        began, first = time.perf_counter(), stamp
        while time.perf_counter() - began < seconds / RUNS:
            stamp += 1
            client.request_vehicle(stamp, (0.0, 0.0, 1.0), LEVEL)
        best = max(best, (stamp - first) / (time.perf_counter() - began))
    return best


def received(client: Client, watched: Watched, first: int, frames: int) -> tuple[float, float]:
    """Milliseconds of `poll` for a waiting frame, without and with the sockets."""
    beyond: list[float] = []
    whole: list[float] = []
    for stamp in range(first, first + frames):
        client.submit_vehicle(stamp, (0.0, 0.0, 1.0), LEVEL)
        time.sleep(0.02)
        spent, began = watched.seconds, time.perf_counter()
        frame = client.poll()
        took = time.perf_counter() - began
        if frame is not None:
            image = next(iter(frame.images.values()))
            assert image.shape == (768, 1024, 3)
            whole.append(1e3 * took)
            beyond.append(1e3 * (took - watched.seconds + spent))
    return statistics.median(beyond), statistics.median(whole)


def message(repetitions: int = 500) -> tuple[float, float]:
    """Microseconds for a pose of 2 cameras and 11 gates: encoding, and the whole submission."""
    gates = [RenderObject(f"Gate{number}", "gate") for number in range(11)]
    cameras = [RenderCamera("left"), RenderCamera("right")]
    encoded, submitted = [], []
    with Client("room", cameras, gates, ports=free_pair(), **SIZES) as client:
        client.submit_vehicle(0, (0.0, 0.0, 1.0), LEVEL)
        pose = client._engine.sides[0]._message
        positions, attitudes = np.zeros((2, 3)), np.array([LEVEL] * 2)
        for run in range(RUNS):
            stamps = range(1 + run * repetitions, 1 + (run + 1) * repetitions)
            began = time.perf_counter()
            for stamp in stamps:
                pose.place(stamp, positions, attitudes)
                pose.encode()
            encoded.append(time.perf_counter() - began)
            began = time.perf_counter()
            for stamp in stamps:
                client.submit_vehicle(stamp, (0.0, 0.0, 1.0), LEVEL)
            submitted.append(time.perf_counter() - began)
    return 1e6 * min(encoded) / repetitions, 1e6 * min(submitted) / repetitions


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0, help="duration of the round trips")
    parser.add_argument("--renderer", action="store_true", help="the reference renderer instead")
    options = parser.parse_args()
    encoded, submitted = message()
    print(f"pose of 2 cameras and 11 gates: {encoded:.1f} us encoded, {submitted:.1f} us submitted")
    ports = free_pair()
    if options.renderer:
        with Client.launch("alphapilot", ports=ports, probe=0.0, **SIZES) as client:
            rate = round_trips(client, options.seconds)
            print(f"reference renderer, 1024 x 768 RGB: {rate:.1f} frames/s")
        return
    for cameras in (1, 2):
        process = multiprocessing.get_context("spawn").Process(
            target=answer_poses, args=(ports, cameras), daemon=True
        )
        process.start()
        render_cameras = [RenderCamera(f"camera{number}") for number in range(cameras)]
        with Client("room", render_cameras, ports=ports, **SIZES) as client:
            rate = round_trips(client, options.seconds)
            print(f"{cameras} x 1024 x 768 RGB: {rate:.0f} round trips/s")
            latency = client.statistics.latency
            if cameras == 1:
                watched = Watched()
                beyond, whole = min(
                    received(client, watched, 10**9 * run, 20) for run in range(1, RUNS + 1)
                )
                print(
                    f"  a frame that waits: {beyond:.3f} ms beyond the sockets, {whole:.3f} in all"
                )
            print(f"  latency {latency}")
        process.terminate()
        process.join()


if __name__ == "__main__":
    main()
