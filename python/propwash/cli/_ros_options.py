"""Options of `python -m propwash ros` for cameras, the race and bags."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propwash.cli._shared import check_range

if TYPE_CHECKING:
    from propwash import ros
    from propwash.world import Scene


def add_cameras(parser: argparse.ArgumentParser) -> None:
    """Adds the options of cameras and of the reporter."""
    group = parser.add_argument_group("cameras and race")
    group.add_argument(
        "--renderer",
        choices=("process", "zeromq", "none"),
        default="process",
        help="the built-in renderer in this process, one over ZeroMQ, or none (default: "
        "%(default)s)",
    )
    group.add_argument(
        "--scene", help="a shipped scene or a scene file (default: the parameter scene_filename)"
    )
    group.add_argument("--scene-seed", type=int, metavar="N", help="moves the items of the scene")
    group.add_argument(
        "--render-threads", type=int, default=1, metavar="N", help="of the renderer in process"
    )
    group.add_argument(
        "--ports",
        type=int,
        nargs=2,
        default=(10253, 10254),
        metavar=("POSES", "IMAGES"),
        help="to which a renderer over ZeroMQ connects (default: 10253 10254)",
    )
    group.add_argument(
        "--fov", type=float, metavar="DEG", help="vertical field of view (default: 60)"
    )
    group.add_argument(
        "--size",
        type=int,
        nargs=2,
        metavar=("W", "H"),
        help="px, of all images (default: the parameters image_width and image_height)",
    )
    group.add_argument(
        "--world-ned",
        choices=("tf", "scene", "v3"),
        default="tf",
        help="the frame world/ned: from /tf_static and else that of the scene, that of the scene, "
        "or that of FlightGoggles 3 (default: %(default)s)",
    )
    group.add_argument(
        "--positive-range",
        action="store_true",
        help="the range finder publishes the distance, not minus the distance",
    )
    group.add_argument(
        "--report",
        action="store_true",
        help="report the race through the gates of the parameters, or else of the scene",
    )
    group.add_argument(
        "--results",
        type=Path,
        metavar="FILE",
        help="file of --report (default: the parameter results_location, or results.yaml)",
    )


def camera_arguments(options: argparse.Namespace) -> list[str]:
    """The options of cameras that were chosen, as arguments of a command."""
    found = ["--renderer", options.renderer, "--world-ned", options.world_ned]
    for name in ("scene", "scene_seed", "render_threads", "fov", "size", "ports"):
        value = getattr(options, name)
        if name == "scene" and value is not None and Path(value).is_file():
            value = Path(value).resolve()  # roslaunch starts nodes in another folder
        if value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            found += [f"--{name.replace('_', '-')}", *map(str, values)]
    return [*found, *(["--positive-range"] if options.positive_range else [])]


def add_bags(parser: argparse.ArgumentParser) -> None:
    """Adds `--record` and `--play`."""
    group = parser.add_argument_group("bags")
    group.add_argument(
        "--record",
        type=Path,
        metavar="BAG",
        help="write all published messages: FILE.bag for ROS 1, a folder for ROS 2, with MCAP if "
        "it ends in .mcap",
    )
    group.add_argument(
        "--play",
        type=Path,
        metavar="BAG",
        help="run without ROS over the messages of a bag, as fast as possible, and end with it",
    )


def scene_of(options: argparse.Namespace, tree: dict[str, Any]) -> Scene | None:
    """The scene of the options or parameters; None if an external renderer shows another one."""
    from propwash import ros

    if options.renderer == "process" or options.scene is not None:
        name = options.scene or ros.BridgeSettings.from_parameters(tree).scene
        return ros.stage_of(name).load(options.scene_seed)
    return None


def make_parts(
    options: argparse.Namespace,
    tree: dict[str, Any],
    scene: Scene | None,
    report: Callable[[str], None],
) -> list[ros.CameraBridge | ros.Reporter]:
    """The camera bridge and the reporter of the options."""
    from propwash import ros

    check_range("fov", options.fov, 1.0, 170.0)
    check_range("render-threads", options.render_threads, 1, 64)
    external = options.node == "none"
    parts: list[ros.CameraBridge | ros.Reporter] = []
    reporter = _reporter(options, tree, scene, external)
    if reporter is not None:
        parts.append(reporter)
    if options.renderer == "none":
        return parts
    settings = ros.BridgeSettings.from_parameters(tree)
    width, height = options.size or (settings.width, settings.height)
    settings = replace(
        settings,
        width=width,
        height=height,
        range_positive=options.positive_range,
        world_ned=ros.WORLD_FRAMES.get(options.world_ned),
        vertical_fov_deg=options.fov or settings.vertical_fov_deg,
        scene=options.scene or settings.scene,
        remote_tf=external or bool(settings.obstacles),
        seed=options.seed,
    )
    bind = options.host or "127.0.0.1"
    makers: dict[str, Callable[[ros.BridgeSettings], ros.Renderer]] = {
        "process": partial(
            ros.InProcess, scene_seed=options.scene_seed, threads=options.render_threads
        ),
        "zeromq": partial(ros.Published, ports=tuple(options.ports), bind=bind),
    }
    wait = options.play is not None or options.lock_step is not None
    bridge = ros.CameraBridge(settings, makers[options.renderer], wait=wait, report=report)
    return [*parts, bridge]


def _reporter(
    options: argparse.Namespace, tree: dict[str, Any], scene: Scene | None, external: bool
) -> ros.Reporter | None:
    from propwash import ros

    if not (options.report or options.results):
        return None
    reporter = ros.Reporter.from_parameters(tree, remote=external)
    if reporter is None:
        if scene is None:
            raise ValueError(
                "--report: expected gates, from the parameters /uav/challenge_name and "
                "/uav/gate_names, or of a scene; add --scene alphapilot"
            )
        reporter = ros.Reporter.of_scene(scene, Path("results.yaml"), external)
    if options.results is not None:
        reporter.file = options.results
    return reporter
