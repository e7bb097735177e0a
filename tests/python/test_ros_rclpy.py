"""The shell for ROS 2 with a stand-in for rclpy, and the renderers of the camera bridge."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags")

import ros_helpers as helpers
from propwash import ros
from propwash.ros import _messages
from propwash.ros._bags import from_ros2, ros2_types, to_ros2

INSTALLED = {
    "builtin_interfaces": ["Time"],
    "geometry_msgs": ["TwistStamped"],
    "nav_msgs": ["Odometry"],
    "rosgraph_msgs": ["Clock"],
    "sensor_msgs": ["Imu", "Image", "CameraInfo", "Range", "JointState"],
    "std_msgs": ["Empty", "Float32"],
    "tf2_msgs": ["TFMessage"],
}
"""Packages of the stand-in: those of ROS 2, without mav_msgs and flightgoggles."""


class Publisher:
    """Stores what is published."""

    def __init__(self, kind: Any, name: str, quality: Any) -> None:
        self.kind, self.name, self.quality = kind, name, quality
        self.sent: list[bytes] = []

    def get_subscription_count(self) -> int:
        return 0 if self.name == "/clock" else 1

    def publish(self, data: bytes) -> None:
        self.sent.append(data)


class StandIn:
    """Stands in for rclpy and a node of it, as far as the shell uses them."""

    def __init__(self) -> None:
        self.publishers: dict[str, Publisher] = {}
        self.subscriptions: dict[str, tuple[Any, Any, Any]] = {}
        self.arguments: Any = None
        self.alive = threading.Event()
        self.alive.set()

    def init(self, args: Any = None) -> None:
        self.arguments = args

    def create_node(self, name: str) -> StandIn:
        self.name = name
        return self

    def create_publisher(self, kind: Any, name: str, quality: Any) -> Publisher:
        self.publishers[name] = Publisher(kind, name, quality)
        return self.publishers[name]

    def create_subscription(
        self, kind: Any, name: str, callback: Any, quality: Any, *, raw: bool
    ) -> None:
        assert raw
        self.subscriptions[name] = (kind, callback, quality)

    def spin(self, node: StandIn) -> None:
        assert node is self
        while self.alive.is_set():
            time.sleep(0.01)
        raise RuntimeError("the context is shut down")

    def ok(self) -> bool:
        return self.alive.is_set()

    def try_shutdown(self) -> None:
        self.alive.clear()

    def receive(self, name: str, data: bytes) -> None:
        """Plays another node that publishes."""
        self.subscriptions[name][1](data)

    def messages(self, name: str, kind: str) -> list[Any]:
        """What was published on a topic."""
        return [ros2_types().deserialize_cdr(data, kind) for data in self.publishers[name].sent]


@pytest.fixture(name="ros2")
def _ros2(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    stand_in = StandIn()
    rclpy: Any = ModuleType("rclpy")
    rclpy.__dict__.update(init=stand_in.init, create_node=stand_in.create_node)
    rclpy.__dict__.update(spin=stand_in.spin, ok=stand_in.ok, try_shutdown=stand_in.try_shutdown)
    qos: Any = ModuleType("rclpy.qos")
    qos.DurabilityPolicy = SimpleNamespace(TRANSIENT_LOCAL="transient", VOLATILE="volatile")
    qos.QoSProfile = SimpleNamespace
    modules = {"rclpy": rclpy, "rclpy.qos": qos}
    for package, names in INSTALLED.items():
        module: Any = ModuleType(f"{package}.msg")
        module.__dict__.update({name: type(name, (), {}) for name in names})
        modules |= {package: ModuleType(package), f"{package}.msg": module}
    for package in ("mav_msgs", "flightgoggles"):
        monkeypatch.setitem(sys.modules, f"{package}.msg", None)
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield stand_in
    stand_in.try_shutdown()


def shell_of(ros2: StandIn, *parts: Any, lines: list[str] | None = None) -> ros.RclpyShell:
    """A shell of a multicopter."""
    environment: dict[str, str] = {}
    rclpy, node2 = ros.connect_ros2("propwash", ["a:=b"], None, environment)
    assert ros2.arguments == ["propwash", "--ros-args", "-r", "a:=b"]
    assert environment == {
        "ROS_LOCALHOST_ONLY": "1",
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
    }
    node = ros.Node(parts, vehicle=helpers.uav(), clock_scale=100.0)
    report = [] if lines is None else lines
    return ros.RclpyShell(node, rclpy, node2, real_time=False, report=report.append)


def run(shell: ros.RclpyShell, count: int) -> None:
    """Runs a shell for so many more steps."""
    end = shell.node.steps + count
    shell.run(lambda: shell.node.steps >= end)


def test_messages_are_those_of_ros2(ros2: StandIn) -> None:
    lines: list[str] = []
    shell = shell_of(ros2, lines=lines)
    ros2.receive(helpers.ARM, to_ros2("std_msgs/msg/Empty")(_messages.serialized(helpers.empty())))
    run(shell, 20)
    shell.close()
    imu = ros2.messages(helpers.IMU, "sensor_msgs/msg/Imu")
    odometry = ros2.messages(helpers.ODOMETRY, "nav_msgs/msg/Odometry")
    assert len(imu) == len(odometry) == 20
    assert odometry[-1].header.frame_id == "world"
    assert not hasattr(odometry[-1].header, "seq")
    height = shell.node.parts[0].vehicle.position[2]  # type: ignore[attr-defined]
    assert odometry[-1].pose.pose.position.z == height
    assert ros2.publishers["/tf_static"].quality.durability == "transient"
    assert len(ros2.publishers["/tf_static"].sent) == 1
    assert ros2.publishers["/clock"].sent == []  # no subscriber
    assert any("mav_msgs/msg/RateThrust is not installed" in line for line in lines)


def test_commands_arrive_as_installed_types(ros2: StandIn) -> None:
    shell = shell_of(ros2)
    kind = "geometry_msgs/msg/TwistStamped"
    types = ros2_types().types
    vector = types["geometry_msgs/msg/Vector3"]
    header = types["std_msgs/msg/Header"](types["builtin_interfaces/msg/Time"](0, 0), "")
    twist = types["geometry_msgs/msg/Twist"](vector(0.0, 0.0, 20.0), vector(0.1, 0.2, 0.3))
    data = bytes(ros2_types().serialize_cdr(types[kind](header, twist), kind))
    assert ros2.subscriptions[helpers.RATE_THRUST][0].__name__ == "TwistStamped"
    ros2.receive(helpers.ARM, to_ros2("std_msgs/msg/Empty")(_messages.serialized(helpers.empty())))
    ros2.receive(helpers.RATE_THRUST, data)
    run(shell, 300)
    shell.close()
    uav: Any = shell.node.parts[0]
    assert uav.command.thrust == pytest.approx(20.0)
    assert np.array(uav.command.rates) == pytest.approx([0.1, 0.2, 0.3])
    assert uav.vehicle.velocity[2] > 1.0


def test_cameras_in_ros2(ros2: StandIn) -> None:
    lines: list[str] = []
    settings = ros.BridgeSettings(width=32, height=24)
    bridge = ros.CameraBridge(settings, ros.InProcess, wait=True)
    shell = shell_of(ros2, bridge, lines=lines)
    run(shell, 60)
    shell.close()
    bridge.close()
    images = ros2.messages("/uav/camera/left/image_rect_color", "sensor_msgs/msg/Image")
    infos = ros2.messages("/uav/camera/left/camera_info", "sensor_msgs/msg/CameraInfo")
    assert len(images) == len(infos) == 3
    assert infos[0].k[2] == 16.0
    # the type is not installed
    assert "/uav/camera/left/ir_beacons" not in ros2.publishers
    assert any("ir_beacons is not published" in line for line in lines)
    # ROS 2 does not name the sender: this node would collide twice
    assert "/uav/collision" not in ros2.subscriptions


def test_malformed_bytes_are_counted(ros2: StandIn) -> None:
    shell = shell_of(ros2)
    random = np.random.default_rng(2)
    for _ in range(3000):
        data = b"\x00\x01\x00\x00" + random.bytes(int(random.integers(0, 150)))
        ros2.receive(helpers.RATE_THRUST, data)
        ros2.receive(helpers.ARM, data)
    run(shell, 20)
    shell.close()
    assert sum(shell.node.refused.counts.values()) >= 3000


def test_a_missing_rclpy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rclpy", "rclpy.qos"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(ImportError, match="ROS 2 needs rclpy"):
        ros.connect_ros2("propwash", environment={})


# renderers


def job(stamp: int = 10**9) -> ros.Job:
    """A level camera above the start of the course, and one that looks down."""
    half = np.sqrt(0.5)
    place = (18.5, 6.5, 2.0)
    cameras = {"left": (place, (half, 0.0, 0.0, half)), "down": (place, (half, 0.0, half, 0.0))}
    return ros.Job(
        stamp,
        cameras,
        {"flightgoggles_obstacle/sphere/1": ((18.5, 12.5, 2.0), (1.0, 0.0, 0.0, 0.0))},
    )


CAMERAS = (ros.CameraSettings("left"), ros.CameraSettings("down", shader=3))
SETTINGS = ros.BridgeSettings(cameras=CAMERAS, width=64, height=48)


def test_the_renderer_in_process_shows_the_scene() -> None:
    renderer = ros.InProcess(SETTINGS)
    frame = renderer.request(job())
    assert frame is not None
    assert frame.time_ns == 10**9
    assert frame.range_m == pytest.approx(2.0)
    depth = frame.images["down"] * (100.0 / 65535.0)
    assert depth == pytest.approx(2.0, abs=0.002)  # the flat ground, along the optical axis
    assert frame.landmarks.ids
    without = renderer.request(replace(job(), objects={}))
    assert without is not None
    assert not np.array_equal(without.images["left"], frame.images["left"])
    renderer.close()


def test_the_renderer_in_process_renders_the_newest_pose() -> None:
    renderer = ros.InProcess(SETTINGS)
    for k in range(50):
        renderer.submit(job(10**9 + k))
    stamps, deadline = list[int](), time.monotonic() + 60.0
    while 10**9 + 49 not in stamps and time.monotonic() < deadline:
        frame = renderer.poll()
        if frame is not None:
            stamps.append(frame.time_ns)
        time.sleep(0.001)
    renderer.close()
    assert stamps == sorted(stamps)
    assert stamps[-1] == 10**9 + 49
    assert renderer.faults() == []


def test_a_blurred_camera_moves_during_its_exposure() -> None:
    blurred = replace(CAMERAS[0], motion_blur=1.0)
    renderer = ros.InProcess(replace(SETTINGS, cameras=(blurred,)))
    sharp = ros.InProcess(replace(SETTINGS, cameras=CAMERAS[:1]))
    first, second = job(10**9), job(10**9 + 16_666_667)
    position, attitude = second.cameras["left"]
    second.cameras["left"] = ((position[0] + 0.3, *position[1:]), attitude)
    images = []
    for each in (renderer, sharp):
        each.request(first)
        frame = each.request(second)
        assert frame is not None
        images.append(frame.images["left"].astype(float))
        each.close()
    assert np.abs(images[0] - images[1]).max() > 10.0
    # a mean of images has less contrast
    assert np.abs(np.diff(images[0], axis=1)).sum() < np.abs(np.diff(images[1], axis=1)).sum()


def test_a_renderer_over_zeromq_returns_the_same_frames(ports: tuple[int, int]) -> None:
    pytest.importorskip("zmq")
    from propwash.render import Server

    stopped = threading.Event()
    server = Server(ports=ports)
    thread = threading.Thread(target=server.run, args=(stopped.is_set,), daemon=True)
    thread.start()
    published = ros.Published(SETTINGS, ports=ports, timeout=60.0)
    inside = ros.InProcess(SETTINGS)
    try:
        for stamp in (5 * 10**9, 6 * 10**9, 10**9):  # the last one after a jump of time
            one, two = published.request(job(stamp)), inside.request(job(stamp))
            assert one is not None
            assert two is not None
            assert one.time_ns == two.time_ns == stamp
            assert one.range_m == pytest.approx(two.range_m)
            for name, image in two.images.items():
                assert np.array_equal(one.images[name], image)
        published.submit(job(2 * 10**9))
        deadline, frame = time.monotonic() + 60.0, None
        while frame is None and time.monotonic() < deadline:
            frame = published.poll()
        assert frame is not None
        assert frame.time_ns == 2 * 10**9
        far = job(3 * 10**9)
        far.cameras["left"] = ((np.inf, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
        published.submit(far)
        assert len(published.faults()) == 1
    finally:
        published.close()
        inside.close()
        stopped.set()
        thread.join(10.0)


def test_a_missing_renderer_is_a_fault(ports: tuple[int, int]) -> None:
    pytest.importorskip("zmq")
    published = ros.Published(SETTINGS, ports=ports, timeout=0.2)
    assert published.request(job()) is None
    assert "no renderer is connected" in published.faults()[0]
    assert published.faults() == []
    published.close()


def test_conversions_of_a_type_are_inverse() -> None:
    image = ros.type_of("sensor_msgs/msg/Image")(
        _messages.header(7, "a"), 1, 2, "mono8", 0, 2, np.array([3, 4], dtype=np.uint8)
    )
    data = to_ros2("sensor_msgs/msg/Image")(_messages.serialized(image))
    back = from_ros2("sensor_msgs/msg/Image")(data)
    assert back.header == image.header
    assert np.array_equal(back.data, image.data)
