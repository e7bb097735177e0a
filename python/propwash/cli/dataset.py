"""`python -m propwash dataset`: writes flights as data sets."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from propwash._files import check_folder
from propwash.cli._options import add_command, option
from propwash.cli._shared import VEHICLE, image_size, progress

_KINDS = ("Gray", "RGB", "Depth", "Segmented")
_TRAJECTORY, _SPEED, _DURATION = "one of 18 names", "m/s, maximum", "s, of a flight"
_SIZE, _image_size = "WxH of the images", image_size((16, 16), (8192, 8192))


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "dataset", help="write simulated flights as a data set (docs/datasets.md)"
    )
    parser.set_defaults(run=lambda options: parser.error("expected blackbird or euroc"))
    formats = parser.add_subparsers(title="formats")
    about = "flights in the Blackbird data set's format"
    add_command(formats, "blackbird", about, BlackbirdOptions, _blackbird)
    about = "one flight as EuRoC folder, with kalibr's files"
    add_command(formats, "euroc", about, EurocOptions, _euroc)


@dataclass
class FlightOptions:
    """Options of both formats; what differs is in the subclasses."""

    yaw: Literal["forward", "constant"] = option("heading along the path, or constant", "forward")
    environment: str = option(
        "a scene or its file; with --connect a scene of the renderer", "room", metavar="SCENE"
    )
    motion_blur: float = option(
        "exposure of colour cameras, of EuRoC's cameras", 0.0, metavar="SECONDS"
    )
    seed: int = option("of noise and scene", 0)
    connect: tuple[int, int] | None = option(
        "images from a renderer that connects to these ports, usually 10253 10254",
        metavar=("POSE", "IMAGE"),
    )
    vehicle: str = option(VEHICLE, "blackbird")


@dataclass
class BlackbirdOptions(FlightOptions):
    """Options of the Blackbird format."""

    trajectory: str = option(_TRAJECTORY, "star")
    speed: float = option(_SPEED, 4.0)
    duration: float = option(_DURATION, 200.0)
    size: Any = option(_SIZE, "1024x768", type=_image_size)
    out: Path = option("folder of the data set", required=True)
    all: bool = option("write all flights that are not yet in the data set", False)
    no_images: bool = option("write flights without images", False)
    cameras: str | None = option(
        "names such as Camera_Left_Gray, or kinds (Gray, RGB, Depth, Segmented), separated by "
        "commas (default: all nine)"
    )


@dataclass
class EurocOptions(FlightOptions):
    """Options of the EuRoC format."""

    trajectory: str = option(_TRAJECTORY, "oval")
    speed: float = option(_SPEED, 2.0)
    duration: float = option(_DURATION, 60.0)
    size: Any = option(_SIZE, "752x480", type=_image_size)
    out: Path = option("folder, which must not exist", required=True)
    fov: float = option("degrees, vertical", 60.0)
    baseline: float = option("m, of the stereo pair", 0.11)
    distortion: tuple[float, float, float, float] = option(
        "radial and tangential distortion (default: none)",
        (0.0, 0.0, 0.0, 0.0),
        metavar=("K1", "K2", "P1", "P2"),
    )


def _blackbird(options: BlackbirdOptions) -> None:
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
        connect=options.connect,
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


def _euroc(options: EurocOptions) -> None:
    from propwash import datasets

    check_folder(options.out)
    dataset = datasets.Euroc(
        environment=options.environment,
        duration=options.duration,
        size=options.size,
        vertical_fov_deg=options.fov,
        baseline=options.baseline,
        distortion=options.distortion,
        motion_blur=options.motion_blur,
        seed=options.seed,
        vehicle=options.vehicle,
        connect=options.connect,
    )
    write: Callable[..., Path] = dataset.write
    folder = write(
        options.out, options.trajectory, options.yaw, options.speed, progress=progress("euroc:")
    )
    print(_summary(folder, 1, 1))
