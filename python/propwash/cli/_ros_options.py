"""Options of `python -m propwash ros`, and what those for cameras and the race make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from propwash.cli._options import option
from propwash.cli._shared import VEHICLE

if TYPE_CHECKING:
    from propwash import ros
    from propwash.world import Scene


CAMERAS = "cameras and race"


@dataclass
class CameraOptions:
    """Options of cameras, of the reporter and of bags."""

    renderer: Literal["process", "zeromq", "none"] = option(
        "the built-in renderer in this process, one over ZeroMQ, or none",
        "process",
        group=CAMERAS,
    )
    scene: str | None = option(
        "a shipped scene or a scene file (default: the parameter scene_filename)", group=CAMERAS
    )
    scene_seed: int | None = option("moves the items of the scene", metavar="N", group=CAMERAS)
    render_threads: int = option(
        "of the renderer in process", 1, metavar="N", low=1, high=64, group=CAMERAS
    )
    ports: tuple[int, int] = option(
        "to which a renderer over ZeroMQ connects",
        (10253, 10254),
        metavar=("POSES", "IMAGES"),
        group=CAMERAS,
    )
    fov: float | None = option(
        "vertical field of view (default: 60)", metavar="DEG", low=1.0, high=170.0, group=CAMERAS
    )
    size: tuple[int, int] | None = option(
        "px, of all images (default: the parameters image_width and image_height)",
        metavar=("W", "H"),
        group=CAMERAS,
    )
    world_ned: Literal["tf", "scene", "v3"] = option(
        "the frame world/ned: from /tf_static and else that of the scene, that of the scene, or "
        "that of FlightGoggles 3",
        "tf",
        group=CAMERAS,
    )
    positive_range: bool = option(
        "the range finder publishes the distance, not minus the distance", False, group=CAMERAS
    )
    report: bool = option(
        "report the race through the gates of the parameters, or else of the scene",
        False,
        group=CAMERAS,
    )
    results: Path | None = option(
        "file of --report (default: the parameter results_location, or results.yaml)",
        metavar="FILE",
        group=CAMERAS,
    )
    record: Path | None = option(
        "write all published messages: FILE.bag for ROS 1, a folder for ROS 2, with MCAP if it "
        "ends in .mcap",
        metavar="BAG",
        group="bags",
    )
    play: Path | None = option(
        "run without ROS over the messages of a bag, as fast as possible, and end with it",
        metavar="BAG",
        group="bags",
    )


@dataclass
class RosOptions(CameraOptions):
    """Options of the command."""

    ros2: bool = option("connect to ROS 2 by rclpy, instead of ROS 1", False)
    node: Literal["uav", "car", "none"] = option("the vehicle: multicopter, car, or none", "uav")
    vehicle: str | None = option(f"{VEHICLE} (default: that of the parameters in /uav)")
    parameters: list[Path] = option(
        "a YAML file of sections, such as drone.yaml, over those of the master; repeatable",
        [],
        metavar="FILE",
    )
    start: tuple[float, float, float, float] | None = option(
        "m and rad (default: /uav/flightgoggles_uav_dynamics/init_pose)",
        metavar=("X", "Y", "Z", "YAW"),
    )
    sim_time: bool = option(
        "set /use_sim_time: the node publishes /clock, which starts at 0", False
    )
    clock_scale: float | None = option(
        "simulated seconds a second, from 0.01 to 100, with simulated time (default: the parameter "
        "clockscale, or that of the renderer's frame rate)",
        metavar="S",
    )
    lock_step: int | None = option(
        "make N steps of 1/960 s for each command and wait for the next",
        metavar="N",
        low=1,
        high=960_000,
    )
    seed: int = option("seed of the noise", 0)
    no_noise: bool = option("no noise and no sensor biases", False)
    host: str | None = option(
        "by which other machines reach this one (default: this machine alone)", metavar="ADDRESS"
    )
    packages: Path | None = option(
        "write ROS packages that launch files of FlightGoggles start, and end", metavar="FOLDER"
    )
    remapping: list[str] = option(
        "as for any node, such as __name:=sim",
        [],
        positional=True,
        nargs="*",
        metavar="NAME:=VALUE",
    )


def camera_arguments(options: RosOptions) -> list[str]:
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


def scene_of(options: RosOptions, tree: dict[str, Any]) -> Scene | None:
    """The scene of the options or parameters; None if an external renderer shows another one."""
    from propwash import ros

    if options.renderer == "process" or options.scene is not None:
        name = options.scene or ros.BridgeSettings.from_parameters(tree).scene
        return ros.stage_of(name).load(options.scene_seed)
    return None


def make_parts(
    options: RosOptions,
    tree: dict[str, Any],
    scene: Scene | None,
    report: Callable[[str], None],
) -> list[ros.CameraBridge | ros.Reporter]:
    """The camera bridge and the reporter of the options."""
    from propwash import ros

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
        "zeromq": partial(ros.Published, ports=options.ports, bind=bind),
    }
    wait = options.play is not None or options.lock_step is not None
    bridge = ros.CameraBridge(settings, makers[options.renderer], wait=wait, report=report)
    return [*parts, bridge]


def _reporter(
    options: RosOptions, tree: dict[str, Any], scene: Scene | None, external: bool
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
