"""`python -m propwash ros`: the nodes of FlightGoggles in ROS."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from propwash.cli._shared import check_range

if TYPE_CHECKING:
    from propwash.ros import Node

STEPS_MAX = 960_000


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    parser = commands.add_parser(
        "ros", help="fly a vehicle in ROS 1, in place of the nodes of FlightGoggles (docs/ros.md)"
    )
    parser.add_argument(
        "--node",
        choices=("uav", "car", "none"),
        default="uav",
        help="the vehicle: multicopter, car, or none (default: %(default)s)",
    )
    parser.add_argument(
        "--vehicle", help="a name or a TOML file (default: that of the parameters in /uav)"
    )
    parser.add_argument(
        "--parameters",
        type=Path,
        action="append",
        default=[],
        metavar="FILE",
        help="a YAML file of sections, such as drone.yaml, over those of the master; repeatable",
    )
    parser.add_argument(
        "--start",
        type=float,
        nargs=4,
        metavar=("X", "Y", "Z", "YAW"),
        help="m and rad (default: /uav/flightgoggles_uav_dynamics/init_pose)",
    )
    _add_time(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise (default: 0)")
    parser.add_argument("--no-noise", action="store_true", help="no noise and no sensor biases")
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        help="by which other machines reach this one (default: this machine alone)",
    )
    parser.add_argument(
        "remapping", nargs="*", metavar="NAME:=VALUE", help="as for any node, such as __name:=sim"
    )
    parser.set_defaults(run=run)


def _add_time(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sim-time",
        action="store_true",
        help="set /use_sim_time: the node publishes /clock, which starts at 0",
    )
    parser.add_argument(
        "--clock-scale",
        type=float,
        metavar="S",
        help="simulated seconds a second, from 0.01 to 100, with simulated time (default: the "
        "parameter clockscale, or that of the renderer's frame rate)",
    )
    parser.add_argument(
        "--lock-step",
        type=int,
        metavar="N",
        help="make N steps of 1/960 s for each command and wait for the next",
    )


def run(options: argparse.Namespace) -> None:
    """Runs the nodes until Ctrl-C or the end of ROS."""
    from propwash import ros

    check_range("clock-scale", options.clock_scale, *ros.CLOCK_SCALES)
    check_range("lock-step", options.lock_step, 1, STEPS_MAX)
    for text in options.remapping:
        if ":=" not in text:
            raise ValueError(f"expected options and NAME:=VALUE, got {text!r:.100}")
    rospy = ros.connect("propwash", options.remapping, options.host)
    if options.sim_time:
        rospy.set_param("/use_sim_time", True)
    tree = ros.merged(rospy.get_param("/"), options.parameters)
    node, real_time = make_node(options, tree)
    shell = ros.RospyShell(node, rospy, real_time=real_time, report=_report)
    start = time.monotonic()
    _report(f"{rospy.get_name()}: {options.node}, time is {'real' if real_time else '/clock'}")
    try:
        shell.run()
    finally:
        rospy.signal_shutdown("done")
        _report(summary(node, time.monotonic() - start, shell.pacer.skipped))


def make_node(options: argparse.Namespace, tree: dict[str, Any]) -> tuple[Node, bool]:
    """The node of the options and parameters, and whether its time stamps are real time."""
    from propwash import ros

    real_time = not ros.flag(tree, "/use_sim_time", False)
    notes: list[str] = []
    vehicle: ros.Uav | ros.Car | None = None
    noise = {"seed": options.seed, "noise": not options.no_noise}
    if options.node == "uav":
        uav = ros.uav_settings(tree, options.vehicle, notes)
        vehicle = ros.Uav(ros.started(uav, options.start), **noise)
    elif options.node == "car":
        car = ros.car_settings(tree, options.vehicle, notes)
        vehicle = ros.Car(ros.started(car, options.start), **noise)
    for note in notes:
        _report(note)
    scale = options.clock_scale
    if real_time:
        if scale is not None:
            raise ValueError("--clock-scale: expected with simulated time; add --sim-time")
        scale = 1.0
    elif scale is None and vehicle is not None:
        scale = vehicle.settings.clock_scale
    node = ros.Node(
        [],
        vehicle=vehicle,
        start=time.time_ns() if real_time else 0,
        publish_clock=not real_time and vehicle is not None,
        clock_scale=scale,
        lock_step=options.lock_step,
        report=_report,
    )
    return node, real_time


def summary(node: Node, elapsed: float, skipped: float) -> str:
    """Counts of a run, as text."""
    made = node.steps / 960
    text = f"{node.steps} steps, {made:.1f} s simulated in {elapsed:.1f} s"
    if skipped > 0.0:
        text += f", {skipped:.1f} s behind the wall clock skipped"
    return f"{text}; refused messages: {node.refused}"


def _report(line: str) -> None:
    print(f"propwash ros: {line}", file=sys.stderr, flush=True)
