"""`python -m propwash ros`: the nodes of FlightGoggles in ROS."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from propwash._files import check_file
from propwash.cli import _ros_options
from propwash.cli._options import add_command, check_range
from propwash.cli._ros_options import RosOptions
from propwash.cli._shared import own_address

if TYPE_CHECKING:
    from propwash.ros import BagRecorder, CameraBridge, Node, Reporter, Shell


def add_parser(commands: Any) -> None:
    """Adds the command to the subparsers of `python -m propwash`."""
    about = "fly a vehicle in ROS, in place of the nodes of FlightGoggles (docs/ros.md)"
    add_command(commands, "ros", about, RosOptions, run)


def run(options: RosOptions) -> None:
    """Runs the nodes until Ctrl-C or the end of ROS or of the bag."""
    from propwash import ros

    if options.packages is not None:
        for file in ros.write_packages(options.packages, _ros_options.camera_arguments(options)):
            print(file)
        print(f"export ROS_PACKAGE_PATH={options.packages.resolve()}:$ROS_PACKAGE_PATH")
        return
    check_range("clock-scale", options.clock_scale, *ros.CLOCK_SCALES)
    if options.host is not None:
        options.host = own_address(options.host)
        if options.host == "0.0.0.0":
            raise ValueError("--host 0.0.0.0: expected the address at which others reach this one")
    for text in options.remapping:
        if ":=" not in text:
            raise ValueError(f"expected options and NAME:=VALUE, got {text!r:.100}")
    if options.results is not None:
        check_file(options.results)
    if options.play is not None:
        _run_offline(options, options.play)
    elif options.ros2:
        _run_ros2(options)
    else:
        _run_ros1(options)


def _run_ros1(options: RosOptions) -> None:
    from propwash import ros

    rospy = ros.connect("propwash", options.remapping, options.host)
    try:
        if options.sim_time:
            rospy.set_param("/use_sim_time", True)
        tree = ros.merged(rospy.get_param("/"), options.parameters)
        with Session(options, tree) as session:
            shell = ros.RospyShell(
                session.node,
                rospy,
                real_time=session.real_time,
                recorder=session.record(),
                report=_report,
            )
            session.run(shell, rospy.get_name())
    finally:
        rospy.signal_shutdown("done")


def _run_ros2(options: RosOptions) -> None:
    from propwash import ros

    tree = ros.merged({"use_sim_time": options.sim_time}, options.parameters)
    rclpy, ros2_node = ros.connect_ros2("propwash", options.remapping, options.host)
    with Session(options, tree) as session:
        shell = ros.RclpyShell(
            session.node,
            rclpy,
            ros2_node,
            real_time=session.real_time,
            recorder=session.record(),
            report=_report,
        )
        try:
            session.run(shell, ros2_node.get_fully_qualified_name())
        finally:
            shell.close()


def _run_offline(options: RosOptions, bag_file: Path) -> None:
    from propwash import ros

    tree = ros.merged({"use_sim_time": True}, options.parameters)
    with Session(options, tree) as session:
        node = session.node
        topics = {name: topic for name, topic in node.subscribes.items() if topic.remote}
        with ros.Bag(bag_file, topics) as bag:
            node.stamp = bag.start
            ros.play(node, bag.messages(), session.record())


class Session:
    """The node of the options and parameters, with its cameras, its race and its recording.

    A context manager; its end is reported.
    """

    def __init__(self, options: RosOptions, tree: dict[str, Any]) -> None:
        from propwash import ros

        self.real_time = not ros.flag(tree, "/use_sim_time", False)
        scene = _ros_options.scene_of(options, tree)
        self.parts = _ros_options.make_parts(options, tree, scene, _report)
        start = None if scene is None else scene.start
        known = ros.get(tree, f"/uav/{ros.UAV}/init_pose") is not None
        if options.start is None and start is not None and not known:
            options.start = (*start.position, start.yaw)
        try:
            self.node = make_node(options, tree, self.real_time, self.parts)
        except BaseException:
            self._close_parts()
            raise
        self._what, self._bag = options.node, options.record
        self._recorder: BagRecorder | None = None
        self._skipped, self._start = 0.0, time.monotonic()

    def record(self) -> BagRecorder | None:
        """Creates the bag of --record; None without it."""
        from propwash import ros

        if self._bag is not None:
            self._recorder = ros.BagRecorder(self._bag, self.node.publishes)
        return self._recorder

    def run(self, shell: Shell, name: str) -> None:
        """Runs a shell to its end."""
        _report(f"{name}: {self._what}, time is {'real' if self.real_time else '/clock'}")
        # the published reporter ends with the race
        alone = self.parts[0] if self._what == "none" and len(self.parts) == 1 else None
        try:
            shell.run(lambda: getattr(alone, "finished", False))
        finally:
            self._skipped = shell.pacer.skipped

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._recorder is not None:
            self._recorder.close()
        self._close_parts()
        if kind is not None and issubclass(kind, Exception) and not self.node.steps:
            return  # nothing was simulated: the error alone is printed
        if self._recorder is not None:
            _report(f"{self._recorder.count} messages in {self._recorder.path}")
        _report(summary(self.node, time.monotonic() - self._start, self._skipped))
        for part in self.parts:
            _report(part.report())

    def _close_parts(self) -> None:
        for part in self.parts:
            part.close()


def make_node(
    options: RosOptions,
    tree: dict[str, Any],
    real_time: bool,
    parts: Sequence[CameraBridge | Reporter],
) -> Node:
    """The node of the options and parameters."""
    from propwash import ros

    notes: list[str] = []
    vehicle: ros.Uav | ros.CarDynamics | None = None
    noise: dict[str, Any] = {"seed": options.seed, "noise": not options.no_noise}
    if options.node == "uav":
        uav = ros.uav_settings(tree, options.vehicle, notes)
        vehicle = ros.Uav(ros.started(uav, options.start), **noise)
    elif options.node == "car":
        car = ros.car_settings(tree, options.vehicle, notes)
        vehicle = ros.CarDynamics(ros.started(car, options.start), **noise)
    for note in notes:
        _report(note)
    scale = options.clock_scale
    if real_time:
        if scale is not None:
            raise ValueError("--clock-scale: expected with simulated time; add --sim-time")
        scale = 1.0
    elif scale is None and vehicle is not None:
        scale = vehicle.settings.clock_scale
    return ros.Node(
        parts,
        vehicle=vehicle,
        start=time.time_ns() if real_time or vehicle is None else 0,
        publish_clock=not real_time and vehicle is not None,
        clock_scale=scale,
        lock_step=options.lock_step,
        report=_report,
    )


def summary(node: Node, elapsed: float, skipped: float) -> str:
    """Counts of a run, as text."""
    made = node.steps / 960
    text = f"{node.steps} steps, {made:.1f} s simulated in {elapsed:.1f} s"
    if skipped > 0.0:
        text += f", {skipped:.1f} s behind the wall clock skipped"
    return f"{text}; refused messages: {node.refused}"


def _report(line: str) -> None:
    print(f"propwash ros: {line}", file=sys.stderr, flush=True)
