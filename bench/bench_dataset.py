"""Processor time and size of a data set, for each simulated second of a flight.

    python bench/bench_dataset.py [--trajectory star] [--size 1024x768] [--seconds 0.5]

Flies a trajectory of the Blackbird data set for 30 s and writes its tables and bag, and the images
of a part of the flight, camera by camera. The processor time includes that of the video encoder.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from propwash import datasets, vehicles
from propwash.datasets._flight import STEP_RATE, Recording, fly
from propwash.datasets._topics import Topics

DURATION = 30.0
"""s."""


def measured(work: Callable[[], None]) -> float:
    """Processor time of a function and its children [s]."""
    before = os.times()
    work()
    after = os.times()
    return sum(after[:4]) - sum(before[:4])


def size_of(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def part(recording: Recording, seconds: float) -> Recording:
    """A part in the middle of a flight."""
    first = len(recording.motion) // 2
    rows = slice(first, first + round(seconds * STEP_RATE))
    fields = dataclasses.fields(recording.motion)
    motion = type(recording.motion)(
        **{item.name: getattr(recording.motion, item.name)[rows] for item in fields}
    )
    return Recording(motion, recording.reference[rows], recording.vehicle)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--trajectory", default="star")
    parser.add_argument("--environment", default="room")
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--size", default="1024x768")
    parser.add_argument("--seconds", type=float, default=0.5, help="of images (default: 0.5)")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    vehicle = vehicles.load("blackbird")
    path = datasets.closed_path(options.trajectory, "forward", options.speed)
    flown: list[Recording] = []
    rows = [("flight", measured(lambda: flown.append(fly(path, options.speed, vehicle, DURATION))))]
    recording = flown[0]
    topics = Topics(recording, width, height, 665.1)
    print(f"{options.trajectory}, {width} x {height}, for each simulated second")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows.append(("tables", measured(lambda: topics.write_tables(folder))))
        rows.append(("bag", measured(lambda: topics.write_bag(folder / "rosbag.bag"))))
        megabytes = size_of(folder) / DURATION / 1e6
    for what, seconds in rows:
        print(f"{what:24s}{seconds / DURATION:8.3f} s of processor time")
    print(f"{'tables and bag':24s}{'':8s} {megabytes:8.2f} MB")
    piece = part(recording, options.seconds)
    stamps = Topics(piece, width, height, 665.1)
    cases = [(camera, (camera,)) for camera in datasets.BLACKBIRD_CAMERAS]
    for what, cameras in [*cases, ("all nine together", datasets.BLACKBIRD_CAMERAS)]:
        dataset = datasets.Blackbird(
            environment=options.environment, size=(width, height), cameras=cameras
        )
        with tempfile.TemporaryDirectory() as name:
            write = partial(dataset._write_images, Path(name), piece, stamps, options.trajectory)
            seconds = measured(partial(write, None)) / options.seconds
            size = size_of(Path(name)) / options.seconds / 1e6
        print(f"{what:24s}{seconds:8.2f} s of processor time {size:8.1f} MB", flush=True)


if __name__ == "__main__":
    main()
