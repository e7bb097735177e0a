"""The camera bridge of the ROS nodes: frames, timing, messages and renderers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags")

import ros_helpers as helpers
from propwash import ros
from propwash._checks import ParameterError
from propwash._rotation import rotation
from propwash.render import Frame, Landmarks
from propwash.ros import _messages
from propwash.ros._camera_settings import static_frames
from propwash.ros._node import STEP_NS, InputError
from propwash.ros._transforms import Pose, compose, from_angles
from ros_helpers import TILTED, assert_same

SMALL = ros.BridgeSettings(width=64, height=48)


class FakeRenderer:
    """Answers each job with the same frame."""

    def __init__(self, frame: Frame) -> None:
        self.frame, self.jobs, self.waiting = frame, list[ros.Job](), list[Frame]()
        self.problems: list[str] = []

    def __call__(self, settings: ros.BridgeSettings) -> FakeRenderer:
        return self

    def submit(self, job: ros.Job) -> None:
        self.jobs.append(job)
        self.waiting.append(replace(self.frame, time_ns=job.stamp))

    def request(self, job: ros.Job) -> Frame | None:
        self.submit(job)
        return self.poll()

    def poll(self) -> Frame | None:
        return self.waiting.pop(0) if self.waiting else None

    def faults(self) -> list[str]:
        problems, self.problems = self.problems, []
        return problems

    def close(self) -> None:
        pass


def frame(**changes: Any) -> Frame:
    """A frame of one colour image, with a range of 3 m."""
    image = np.arange(48 * 64 * 3, dtype=np.uint8).reshape(48, 64, 3)
    return replace(Frame(0, {"left": image}, range_m=3.0), **changes)


def motion(stamp: int, pose: Pose = TILTED, child: str = "uav/imu", parent: str = "world") -> Any:
    """A message of /tf with one transform."""
    position, (w, x, y, z) = pose
    return _messages.transforms(_messages.transform(stamp, parent, child, position, (x, y, z, w)))


def flown(bridge: ros.CameraBridge, count: int, first: int = 1) -> list[tuple[str, Any]]:
    """The outputs of so many steps with a body at rest."""
    found = []
    for k in range(first, first + count):
        bridge.on_tf(motion(k * STEP_NS))
        found += bridge.step(k * STEP_NS)
    return found


def one(outputs: list[tuple[str, Any]], topic: str) -> Any:
    """The only message of a topic."""
    (message,) = (m for name, m in outputs if name == topic)
    return message


@pytest.fixture(name="fake")
def _fake() -> tuple[ros.CameraBridge, FakeRenderer]:
    renderer = FakeRenderer(frame())
    return ros.CameraBridge(SMALL, renderer), renderer


def test_the_camera_looks_ahead_from_the_body(fake: Any) -> None:
    bridge, renderer = fake
    flown(bridge, 40)
    # axes of the renderer's cameras are those of the body
    expected = compose(TILTED, ((0.0, 0.05, 0.0), (1.0, 0.0, 0.0, 0.0)))
    assert_same(renderer.jobs[0].cameras["left"], expected)


def test_the_frames_have_optical_axes() -> None:
    frames = {child: pose for _, child, pose in static_frames(SMALL)}
    x, y, z = rotation(frames["uav/camera/left"][1]).T  # in axes of the body
    assert x == pytest.approx([0, -1, 0], abs=1e-12)
    assert y == pytest.approx([0, 0, -1], abs=1e-12)
    assert z == pytest.approx([1, 0, 0], abs=1e-12)
    x, y, z = rotation(frames["uav/camera/down"][1]).T
    assert x == pytest.approx([0, -1, 0], abs=1e-12)
    assert z == pytest.approx([0, 0, -1], abs=1e-12)
    for leaf, axes in (("ned", [[1, 0, 0], [0, -1, 0], [0, 0, -1]]), ("nwu", np.eye(3))):
        pose = compose(frames["uav/camera/left"], frames[f"uav/camera/left/{leaf}"])
        assert rotation(pose[1]) == pytest.approx(np.array(axes), abs=1e-12)


def test_the_published_axes_of_the_world_turn_the_scene() -> None:
    renderer = FakeRenderer(frame())
    bridge = ros.CameraBridge(replace(SMALL, world_ned=ros.WORLD_FRAMES["v3"]), renderer)
    flown(bridge, 40)
    x, y, z = compose(TILTED, ((0.0, 0.05, 0.0), (1.0, 0.0, 0.0, 0.0)))[0]
    # 1.57079 and 3.14159 rad in the launch file
    assert renderer.jobs[0].cameras["left"][0] == pytest.approx((-y, x, z + 0.5), abs=1e-4)


def test_static_transforms_of_a_launch_file_replace_the_default_ones() -> None:
    renderer = FakeRenderer(frame())
    bridge = ros.CameraBridge(SMALL, renderer)
    mounted = compose(
        from_angles((0.2, 0.0, 0.0), -0.5 * math.pi, 0.0, -0.5 * math.pi),
        ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
    )
    bridge.on_tf_static(motion(0, mounted, "uav/camera/left", "uav/imu"))
    flown(bridge, 40)
    expected = compose(TILTED, ((0.2, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)))
    assert_same(renderer.jobs[0].cameras["left"], expected)


def test_images_are_due_as_published(fake: Any) -> None:
    bridge, renderer = fake
    flown(bridge, 960)
    stamps = [job.stamp for job in renderer.jobs]
    # 0.9 / 60 s is 14.4 steps; each is requested when the next one is due
    assert np.diff(stamps).tolist() == [15 * STEP_NS] * (len(stamps) - 1)
    assert stamps[0] == 15 * STEP_NS
    assert len(stamps) == 63


def test_images_of_a_list_of_times(tmp_path: Any) -> None:
    file = tmp_path / "stamps.txt"
    file.write_text(" ".join(str(k * STEP_NS) for k in (10, 11, 30, 50)))
    tree = {"uav": {"flightgoggles_ros_bridge": {"timestampfile_path": str(file)}}}
    settings = ros.BridgeSettings.from_parameters(tree)
    renderer = FakeRenderer(frame())
    flown(ros.CameraBridge(settings, renderer), 100)
    assert [job.stamp // STEP_NS for job in renderer.jobs] == [10, 11, 30]


def test_a_jump_of_time_starts_anew(fake: Any) -> None:
    bridge, renderer = fake
    flown(bridge, 40, first=100_000)
    count = len(renderer.jobs)
    flown(bridge, 60)
    assert len(renderer.jobs) == count + 3
    assert bridge.refused.counts == {}


def test_messages_of_a_frame(fake: Any) -> None:
    bridge, renderer = fake
    marks = Landmarks(("Gate10_1", "Gate10_4"), np.array([1.5, 2.0]), np.array([3.0, 40.0]))
    renderer.frame = frame(landmarks=marks, collision=True)
    outputs = flown(bridge, 31)
    image = one(outputs, "/uav/camera/left/image_rect_color")
    assert (image.encoding, image.height, image.width, image.step) == ("bgr8", 48, 64, 192)
    assert image.header.frame_id == "/uav/camera/left"
    assert _messages.nanoseconds(image.header.stamp) == 15 * STEP_NS
    expected = renderer.frame.images["left"][..., ::-1]
    assert np.array_equal(image.data.reshape(48, 64, 3), expected)
    info = one(outputs, "/uav/camera/left/camera_info")
    f = 24.0 / math.tan(math.radians(30.0))
    assert pytest.approx([f, 0, 32, 0, f, 24, 0, 0, 1]) == info.K
    assert pytest.approx([f, 0, 32, 0, 0, f, 24, 0, 0, 0, 1, 0]) == info.P
    assert (info.distortion_model, info.D.tolist()) == ("plumb_bob", [0.0] * 5)
    assert info.header.stamp == image.header.stamp
    beacons = one(outputs, "/uav/camera/left/ir_beacons").markers
    assert [(b.landmarkID.data, b.markerID.data) for b in beacons] == [
        ("Gate10", "1"),
        ("Gate10", "4"),
    ]
    assert [(b.x, b.y, b.z) for b in beacons] == [(1.5, 3.0, 0.0), (2.0, 40.0, 0.0)]
    one(outputs, "/uav/collision")
    for name, message in outputs:
        assert _messages.serialized(message) or name.endswith(("collision", "trigger"))


def test_every_published_topic_is_declared(fake: Any) -> None:
    bridge, _ = fake
    for name, message in [*bridge.start(0), *flown(bridge, 200)]:
        assert bridge.publishes[name].kind == message.__msgtype__


def test_images_of_one_and_two_bytes() -> None:
    grey = np.arange(48 * 64, dtype=np.uint8).reshape(48, 64)
    deep = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64) * 7
    cameras = (
        ros.CameraSettings("grey", "left", 5),
        ros.CameraSettings("deep", "down", 3, baseline=0.1),
    )
    renderer = FakeRenderer(frame(images={"grey": grey, "deep": deep}))
    bridge = ros.CameraBridge(replace(SMALL, cameras=cameras), renderer)
    outputs = flown(bridge, 31)
    image = one(outputs, "/uav/camera/grey/grayscale")
    assert (image.encoding, image.step) == ("mono8", 64)
    image = one(outputs, "/uav/camera/deep/image_rect_color")
    assert (image.encoding, image.step, image.is_bigendian) == ("mono16", 128, 0)
    assert np.array_equal(image.data.view("<u2").reshape(48, 64), deep)
    info = one(outputs, "/uav/camera/deep/camera_info")
    assert info.P[3] == pytest.approx(-0.1 * info.K[0])


def ranges(settings: ros.BridgeSettings, distance: float) -> list[Any]:
    """Range messages of two seconds."""
    bridge = ros.CameraBridge(settings, FakeRenderer(frame(range_m=distance)))
    topic = "/uav/sensors/downward_laser_rangefinder"
    return [m for name, m in flown(bridge, 1920) if name == topic]


def test_the_range_is_negative_as_published() -> None:
    settings = replace(SMALL, range_variance=0.04)
    found = ranges(settings, 3.0)
    assert (found[0].min_range, found[0].max_range) == (-20.0, 0.0)
    assert found[0].header.frame_id == "/uav/imu"
    values = np.array([m.range for m in found])
    # five standard deviations of the mean of 126 normal numbers
    assert values.mean() == pytest.approx(-3.0, abs=5.0 * 0.2 / math.sqrt(len(values)))
    assert 0.1 < values.std() < 0.3


def test_the_range_can_be_the_distance() -> None:
    settings = replace(SMALL, range_positive=True, range_variance=0.0)
    found = ranges(settings, 3.0)
    assert (found[0].min_range, found[0].max_range, found[0].range) == (0.0, 20.0, 3.0)
    assert found[0].header.frame_id == "uav/rangefinder"
    frames = {child: pose for _, child, pose in static_frames(settings)}
    x = rotation(frames["uav/rangefinder"][1])[:, 0]
    assert x == pytest.approx([0, 0, -1], abs=1e-12)  # the direction of measurement
    assert ranges(settings, 21.0)[0].range == math.inf


def test_the_frame_rate_is_that_of_wall_time() -> None:
    wall = [0.0]
    renderer = FakeRenderer(frame())
    bridge = ros.CameraBridge(SMALL, renderer, clock=lambda: wall[0])
    found = []
    for k in range(1, 4 * 960):
        wall[0] = 2.0 * k / 960.0  # half of real time
        bridge.on_tf(motion(k * STEP_NS))
        found += [m for name, m in bridge.step(k * STEP_NS) if name == helpers.FPS]
    assert len(found) == 7
    assert [m.data for m in found] == pytest.approx([32.0] * 7, rel=0.02)


def test_a_slow_renderer_slows_the_clock_and_a_collision_disarms() -> None:
    wall = [0.0]
    renderer = FakeRenderer(frame(collision=False))
    bridge = ros.CameraBridge(SMALL, renderer, clock=lambda: wall[0])
    uav = helpers.uav()
    node = ros.Node([bridge], vehicle=uav, clock_scale=None)
    node.post(helpers.ARM, helpers.empty())
    for k in range(1200):
        wall[0] = 4.0 * k / 960.0
        node.step()
    assert node.clock_scale == pytest.approx(16.0 / 55.0, rel=0.03)
    assert uav.armed
    renderer.frame = frame(collision=True)
    for _ in range(31):
        node.step()
    assert not uav.armed


def test_obstacles_are_bodies_of_the_scene() -> None:
    bridge_tree = {
        "obstacle_frames": ["flightgoggles_obstacle/gate/1", "uav/imu", "unknown"],
        "scene_scale": 2.0,
    }
    settings = ros.BridgeSettings.from_parameters(
        {"uav": {"flightgoggles_ros_bridge": bridge_tree}}
    )
    renderer = FakeRenderer(frame())
    bridge = ros.CameraBridge(settings, renderer)
    down = compose(TILTED, ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)))  # z of its axes is down
    bridge.on_tf(motion(1, down, "flightgoggles_obstacle/gate/1"))
    flown(bridge, 40)
    (name,) = renderer.jobs[0].objects
    assert name == "flightgoggles_obstacle/gate/1"
    position, attitude = renderer.jobs[0].objects[name]
    assert position == pytest.approx([2.0 * x for x in TILTED[0]])
    assert_same(((0.0, 0.0, 0.0), attitude), ((0.0, 0.0, 0.0), TILTED[1]))
    assert bridge.refused.counts["missing transform"] > 0


def test_refused_transforms_are_counted_and_do_no_harm() -> None:
    renderer = FakeRenderer(frame())
    node = ros.Node([ros.CameraBridge(SMALL, renderer)])
    random = np.random.default_rng(1)
    bad = [math.nan, math.inf, -math.inf, 1e308, 0.0]
    for k in range(2000):
        values = random.choice(bad, 7).tolist()
        values[3:] = [0.0] * 4 if k % 2 else values[3:]
        pose = (tuple(values[:3]), tuple(values[3:]))
        node.post("/tf", motion(k, pose))
        node.post("/tf_static", motion(k, pose, "uav/camera/left", "uav/imu"))
        node.step()
    reasons = node.refused.counts
    assert sum(reasons.values()) == 4000
    assert renderer.jobs == []
    for k in range(2000, 2100):
        node.post("/tf", motion(k * STEP_NS))
        node.step()
    assert renderer.jobs


def test_a_frame_in_itself_is_refused(fake: Any) -> None:
    bridge, renderer = fake
    for child in ("world", "/world", ""):
        with pytest.raises(InputError, match="invalid frame"):
            bridge.on_tf(motion(1, TILTED, child))
    flown(bridge, 40)
    assert renderer.jobs
    flown(ros.CameraBridge(replace(SMALL, world_frame="world"), renderer), 40)
    # the axes of the world are taken as north-east-down
    x, y, z = renderer.jobs[0].cameras["left"][0]
    assert renderer.jobs[-1].cameras["left"][0] == pytest.approx((x, -y, -z))


def test_a_missing_frame_is_counted() -> None:
    renderer = FakeRenderer(frame())
    bridge = ros.CameraBridge(replace(SMALL, body_frame="body"), renderer)
    for k in range(1, 100):
        bridge.on_tf(motion(k * STEP_NS, TILTED, "body", "another world"))
    assert renderer.jobs == []
    assert bridge.refused.counts["missing transform"] == 5


def test_faults_of_the_renderer_are_counted(fake: Any) -> None:
    bridge, renderer = fake
    renderer.problems = ["malformed answer", "malformed answer"]
    bridge.step(0)
    assert bridge.refused.counts["renderer"] == 2


def test_settings_of_the_published_files() -> None:
    cameras = {
        "camera_list": ["left_gray", "down_depth"],
        "left_gray": {"tf": "left", "ID": "Camera_Left_Gray", "outputShaderType": 5},
        "down_depth": {"tf": "down", "outputShaderType": 3, "hasCollisionCheck": True},
    }
    sections = {
        "flightgoggles_ros_bridge": {"image_width": 640, "image_height": 480, "baseline": 0.32},
        "flightgoggles_laser": {"rangefinder_variance": 0.009, "rangefinder_max_range": 20.0},
    }
    settings = ros.BridgeSettings.from_parameters({"uav": sections, "sensors": {"camera": cameras}})
    assert (settings.width, settings.height, settings.range_variance) == (640, 480, 0.009)
    assert [c.image_topic for c in settings.cameras] == [
        "/uav/camera/left_gray/grayscale",
        "/uav/camera/down_depth/image_rect_color",
    ]
    assert [c.kind for c in settings.render_cameras] == ["grey", "depth"]
    assert [c.collision for c in settings.render_cameras] == [False, True]
    assert not settings.publish_frames
    assert "/tf_static" not in ros.CameraBridge(settings, FakeRenderer(frame())).publishes


@pytest.mark.parametrize(
    ("tree", "name"),
    [
        ({"uav": {"flightgoggles_ros_bridge": {"framerate": 0}}}, "framerate"),
        ({"uav": {"flightgoggles_ros_bridge": {"image_width": "wide"}}}, "image_width"),
        ({"sensors": {"camera": {"camera_list": "left"}}}, "camera_list"),
        (
            {"sensors": {"camera": {"camera_list": ["a"], "a": {"outputShaderType": 9}}}},
            "outputShaderType",
        ),
    ],
)
def test_invalid_parameters_are_named(tree: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        ros.BridgeSettings.from_parameters(tree)
