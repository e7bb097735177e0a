"""`python -m propwash dataset`: writes flights as data sets."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from propwash._files import check_folder
from propwash.cli._shared import add_vehicle, image_size, progress

_KINDS = ("Gray", "RGB", "Depth", "Segmented")


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "dataset", help="write simulated flights as a data set (docs/datasets.md)"
    )
    parser.set_defaults(run=lambda options: parser.error("expected blackbird or euroc"))
    formats = parser.add_subparsers(title="formats")
    blackbird = formats.add_parser("blackbird", help="flights in the Blackbird data set's format")
    _add_flight(blackbird, "star", 4.0, 200.0, "1024x768")
    blackbird.add_argument("--out", type=Path, required=True, help="folder of the data set")
    blackbird.add_argument(
        "--all", action="store_true", help="write all flights that are not yet in the data set"
    )
    blackbird.add_argument("--no-images", action="store_true", help="write flights without images")
    blackbird.add_argument(
        "--cameras",
        help="names such as Camera_Left_Gray, or kinds (Gray, RGB, Depth, Segmented), separated "
        "by commas (default: all nine)",
    )
    blackbird.set_defaults(run=_blackbird)
    euroc = formats.add_parser("euroc", help="one flight as EuRoC folder, with kalibr's files")
    _add_flight(euroc, "oval", 2.0, 60.0, "752x480")
    euroc.add_argument("--out", type=Path, required=True, help="folder, which must not exist")
    euroc.add_argument(
        "--fov", type=float, default=60.0, help="degrees, vertical (default: %(default)s)"
    )
    euroc.add_argument(
        "--baseline", type=float, default=0.11, help="m, of the stereo pair (default: %(default)s)"
    )
    euroc.add_argument(
        "--distortion",
        type=float,
        nargs=4,
        metavar=("K1", "K2", "P1", "P2"),
        default=(0.0, 0.0, 0.0, 0.0),
        help="radial and tangential distortion (default: none)",
    )
    euroc.set_defaults(run=_euroc)


def _add_flight(
    parser: argparse.ArgumentParser, trajectory: str, speed: float, duration: float, size: str
) -> None:
    add = parser.add_argument
    add("--trajectory", default=trajectory, help="one of 18 names (default: %(default)s)")
    add(
        "--yaw",
        default="forward",
        choices=("forward", "constant"),
        help="heading along the path, or constant (default: %(default)s)",
    )
    add("--speed", type=float, default=speed, help="m/s, maximum (default: %(default)s)")
    add(
        "--environment",
        default="room",
        metavar="SCENE",
        help="a scene or its file; with --connect a scene of the renderer (default: %(default)s)",
    )
    add("--duration", type=float, default=duration, help="s, of a flight (default: %(default)s)")
    add(
        "--size",
        type=image_size((16, 16), (8192, 8192)),
        default=size,
        help="WxH of the images (default: %(default)s)",
    )
    add(
        "--motion-blur",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="exposure of colour cameras, of EuRoC's cameras (default: %(default)s)",
    )
    add("--seed", type=int, default=0, help="of noise and scene (default: %(default)s)")
    add(
        "--connect",
        nargs=2,
        type=int,
        metavar=("POSE", "IMAGE"),
        help="images from a renderer that connects to these ports, usually 10253 10254",
    )
    add_vehicle(parser, "blackbird")


def _blackbird(options: argparse.Namespace) -> None:
    from propwash import datasets

    check_folder(options.out)
    cameras = () if options.no_images else _cameras(options.cameras, datasets.BLACKBIRD_CAMERAS)
    dataset = datasets.Blackbird(
        environment=options.environment,
        duration=options.duration,
        size=options.size,
        cameras=cameras,
        seed=options.seed,
        vehicle=options.vehicle,
        motion_blur=options.motion_blur,
        connect=None if options.connect is None else tuple(options.connect),
    )
    flights = [(options.trajectory, options.yaw, options.speed)]
    if options.all:
        flights = datasets.sequences()
        datasets.check_duration(options.duration, max(speed for _, _, speed in flights))
    written = sum(dataset.is_written(options.out, *flight) for flight in flights)
    if options.all:
        print(f"{written} of {len(flights)} flights are in {options.out}", flush=True)
    try:
        for number, flight in enumerate(flights, 1):
            if not dataset.is_written(options.out, *flight):
                show = progress(f"flight {number} of {len(flights)}:")
                folder = dataset.write(options.out, *flight, progress=show)
                written += 1
                print(_summary(folder, number, len(flights)), flush=True)
    except (OSError, KeyboardInterrupt):
        print(
            f"{written} of {len(flights)} flights are complete in {options.out}; the same command "
            "continues",
            file=sys.stderr,
        )
        raise
    if not options.all and written and flights:
        print(f"complete: {options.out}")


def _summary(folder: Path, number: int, total: int) -> str:
    files = [file for file in folder.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files)
    return f"{number} of {total}: {folder}, {len(files)} files, {size / 1e6:.1f} MB"


def _cameras(text: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if text is None:
        return known
    chosen: list[str] = []
    for part in text.split(","):
        name = part.strip()
        chosen += [each for each in known if name in _KINDS and each.endswith(f"_{name}")] or [name]
    return tuple(each for each in known if each in chosen) + tuple(
        each for each in chosen if each not in known
    )


def _euroc(options: argparse.Namespace) -> None:
    from propwash import datasets

    check_folder(options.out)
    dataset = datasets.Euroc(
        environment=options.environment,
        duration=options.duration,
        size=options.size,
        vertical_fov_deg=options.fov,
        baseline=options.baseline,
        distortion=tuple(options.distortion),
        motion_blur=options.motion_blur,
        seed=options.seed,
        vehicle=options.vehicle,
        connect=None if options.connect is None else tuple(options.connect),
    )
    write: Callable[..., Path] = dataset.write
    folder = write(
        options.out, options.trajectory, options.yaw, options.speed, progress=progress("euroc:")
    )
    print(_summary(folder, 1, 1))
