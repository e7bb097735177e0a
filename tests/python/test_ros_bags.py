"""Bags of the ROS nodes, runs over bags without ROS, and the reporter of a race."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rosbags")

import ros_helpers as helpers
from helpers import code_blocks, run_in_order
from propwash import race, ros
from propwash.cli.main import main
from propwash.ros import _messages
from propwash.ros._bags import from_ros2, to_ros2
from propwash.ros._node import STEP_NS
from propwash.world import Scene
from rosbags.highlevel import AnyReader

BAGS = ["flight.bag", "flight", "flight.mcap"]
SMALL = ros.BridgeSettings(width=32, height=24)


def flight(seconds: float = 0.2) -> tuple[ros.Node, ros.CameraBridge]:
    """A node of a vehicle that hovers, with a camera."""
    uav = helpers.uav({"init_pose": [18.5, 6.5, 1.0, 0.0, 0.0, 0.0, 1.0]})
    cameras = ros.CameraBridge(SMALL, ros.InProcess, wait=True)
    node = ros.Node([cameras], vehicle=uav)
    node.post(helpers.ARM, helpers.empty())
    node.post(helpers.RATE_THRUST, helpers.rate_thrust((0.0, 0.0, 0.0), 9.81))
    return node, cameras


def assert_same(a: Any, b: Any) -> None:
    """Compares messages of ROS 1 and ROS 2 without sequence numbers, capitals, underscores."""
    names = {f.name.lower().replace("_", ""): f.name for f in fields(b)}
    for field in fields(a):
        if field.name in ("seq", "__msgtype__", "structure_needs_at_least_one_member"):
            continue
        one = getattr(a, field.name)
        two = getattr(b, names[field.name.lower().replace("_", "")])
        for x, y in zip(one, two, strict=True) if isinstance(one, list) else [(one, two)]:
            if is_dataclass(x):
                assert_same(x, y)
            elif isinstance(x, float):
                # float32 fields are rounded on the wire
                assert y == pytest.approx(x, rel=1e-6)
            else:
                assert np.array_equal(x, y)


@pytest.mark.parametrize("name", BAGS)
def test_a_bag_has_all_messages(tmp_path: Path, name: str) -> None:
    node, cameras = flight()
    written: list[tuple[int, str, Any]] = []
    path = tmp_path / name
    with ros.BagRecorder(path, node.publishes) as bag:
        for outputs in (node.start(), *(node.step() for _ in range(50))):
            assert outputs is not None
            bag.write(node.stamp, outputs)
            written += [(node.stamp, topic, message) for topic, message in outputs]
    cameras.close()
    assert bag.count == len(written)
    with AnyReader([path]) as reader:
        assert {c.topic for c in reader.connections} == {*node.publishes}
        for topic in node.publishes:
            connections = [c for c in reader.connections if c.topic == topic]
            read = [
                (stamp, reader.deserialize(data, c.msgtype))
                for c, stamp, data in reader.messages(connections=connections)
            ]
            expected = [(stamp, m) for stamp, name_, m in written if name_ == topic]
            assert [stamp for stamp, _ in read] == [stamp for stamp, _ in expected]
            for (_, one), (_, two) in zip(expected, read, strict=True):
                assert_same(one, two)


def test_an_existing_bag_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="does not exist"):
        ros.BagRecorder(tmp_path, {})


def test_rosbag_of_ros_reads_the_bag(tmp_path: Path) -> None:
    if shutil.which("rosbag") is None:
        pytest.skip("rosbag of ROS 1 is not installed")
    node, cameras = flight()
    path = tmp_path / "flight.bag"
    with ros.BagRecorder(path, node.publishes) as bag:
        bag.write(node.stamp, node.start())
        for _ in range(50):
            bag.write(node.stamp, node.step() or [])
    cameras.close()
    info = subprocess.run(
        ["rosbag", "info", str(path)], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    for topic, expected in node.publishes.items():
        kind = expected.kind.replace("/msg/", "/")
        checksum = ros.definition(expected.kind)[1]
        assert f"{kind} " in info
        assert checksum in info
        if bag.count:
            assert topic in info or topic == "/uav/collision"  # which has no message


def test_types_of_ros2_and_back() -> None:
    message = helpers.rate_thrust((0.1, 0.2, 0.3), 4.0)
    data = to_ros2("mav_msgs/msg/RateThrust")(_messages.serialized(message))
    assert from_ros2("mav_msgs/msg/RateThrust")(data) == message


def commands(path: Path, first: int = 10**9) -> list[tuple[int, str, Any]]:
    """Writes a bag that arms a vehicle and commands it 100 times a second."""
    sent: list[tuple[int, str, Any]] = [(first + STEP_NS // 2, helpers.ARM, helpers.empty())]
    for k in range(30):
        rates = (0.3 * math.sin(0.5 * k), -0.2, 0.1)
        message = helpers.rate_thrust(rates, 10.0)
        sent.append((first + 10**7 * (k + 1), helpers.RATE_THRUST, message))
    topics = {name: ros.Topic(message.__msgtype__) for _, name, message in sent}
    with ros.BagRecorder(path, topics) as bag:
        for stamp, name, message in sent:
            bag.write(stamp, [(name, message)])
    return sent


@pytest.mark.parametrize("name", BAGS)
def test_a_played_bag_flies_as_its_commands(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    sent = commands(path)
    played, direct = helpers.uav(), helpers.uav()
    node = ros.Node([], vehicle=played)
    with ros.Bag(path, node.subscribes) as bag:
        node.stamp = bag.start
        ros.play(node, bag.messages())
    other = ros.Node([], vehicle=direct, start=sent[0][0])
    for stamp, topic, message in sent:
        while other.stamp < stamp:
            other.step()
        other.post(topic, message)
    other.step()
    assert node.steps == other.steps > 280
    assert np.array_equal(played.vehicle.position, direct.vehicle.position)
    assert not np.array_equal(played.vehicle.position, helpers.uav().vehicle.position)


def test_malformed_messages_of_a_bag_are_counted(tmp_path: Path) -> None:
    from rosbags.rosbag1 import Writer

    path = tmp_path / "bad.bag"
    text, checksum = ros.definition("mav_msgs/msg/RateThrust")
    random = np.random.default_rng(0)
    with Writer(path) as bag:
        connection = bag.add_connection(
            helpers.RATE_THRUST, "mav_msgs/msg/RateThrust", msgdef=text, md5sum=checksum
        )
        for k in range(500):
            length = int(random.integers(0, 60))
            bag.write(connection, 10**9 + k, random.bytes(length))
    node = ros.Node([], vehicle=helpers.uav())
    with ros.Bag(path, node.subscribes) as bag_:
        node.stamp = bag_.start
        ros.play(node, bag_.messages())
    assert node.refused.counts[f"{helpers.RATE_THRUST}: malformed message"] == 500


@pytest.mark.parametrize("content", [b"", b"no bag", b"#ROSBAG V2.0\n"])
def test_a_file_that_is_no_bag_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "file.bag"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"file\.bag: expected"):
        ros.Bag(path, {helpers.ARM: ros.Topic("std_msgs/msg/Empty")})


def test_the_command_renders_a_bag_without_ros(tmp_path: Path, capsys: Any) -> None:
    source, target = tmp_path / "motion.bag", tmp_path / "images.bag"
    with ros.BagRecorder(source, {"/tf": ros.Topic("tf2_msgs/msg/TFMessage")}) as bag:
        for k in range(1, 60):
            stamp = 10**9 + k * 8_333_333
            place = (18.5, 6.5 + 0.01 * k, 1.5)
            moved = _messages.transform(stamp, "world", "uav/imu", place, (0.0, 0.0, 0.0, 1.0))
            bag.write(stamp, [("/tf", _messages.transforms(moved))])
    arguments = ["ros", "--node", "none", "--play", str(source), "--record", str(target)]
    assert main([*arguments, "--size", "32", "24"]) == 0
    assert "29 frames; faults: none" in capsys.readouterr().err
    with AnyReader([target]) as reader:
        counts = {c.topic: c.msgcount for c in reader.connections}
    assert counts["/uav/camera/left/image_rect_color"] == 29
    assert main([*arguments, "--size", "32", "24"]) == 2
    assert "does not exist" in capsys.readouterr().err
    missing = ["ros", "--play", str(tmp_path / "no.bag"), "--record", str(tmp_path / "new.bag")]
    assert main([*missing, "--renderer", "none"]) == 2
    assert not (tmp_path / "new.bag").exists()


def test_a_folder_that_is_no_bag_is_refused(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ros", "--play=", "--renderer", "none"]) == 2  # the working folder
    expected = ".: expected a bag of ROS 1 or ROS 2, got a folder without metadata.yaml"
    assert expected in capsys.readouterr().err


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).parents[2] / "docs" / "ros-cameras.md"
    blocks = code_blocks(page, "python")
    if not blocks:
        pytest.skip("docs are missing")
    monkeypatch.chdir(tmp_path)
    run_in_order(blocks, page.name)
    assert (tmp_path / "images.bag").stat().st_size > 0


# the reporter

GATES = {
    "A": [[1, -1, 3], [1, 1, 3], [1, 1, 1], [1, -1, 1]],
    "B": [[5, -1, 3], [5, 1, 3], [5, -1, 1], [5, 1, 1]],
    "C": [[9, -1, 3], [9, 1, 3], [9, 1, 1], [9, -1, 1]],
}


def challenge(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    """Parameters of a challenge."""
    gates = {name: {"location": corners} for name, corners in GATES.items()}
    own = {"challenge_name": "test", "timeout": 20.0, "gate_names": [*GATES], "gate_width": 0.3}
    results = {"results_location": str(tmp_path / "results.yaml")}
    return {"uav": gates | own | results | changes}


def imu(stamp: int) -> Any:
    """A message of the inertial sensor, of which only the time counts."""
    return ros.Uav(ros.uav_settings({}))._imu(stamp)


def fly_by(reporter: ros.Reporter, path: Any, speed: float = 2.0) -> tuple[Any, Any]:
    """Moves along straight lines between points, at 960 Hz; returns times [s] and positions [m]."""
    reached = [np.array(path[0], dtype=float)]
    for start, end in pairwise(path):
        a, b = np.array(start, dtype=float), np.array(end, dtype=float)
        count = max(1, round(float(np.linalg.norm(b - a)) / speed * 960))
        reached += [a + (b - a) * (k + 1) / count for k in range(count)]
    stamps = STEP_NS * (1 + np.arange(len(reached)))
    for stamp, place in zip(stamps.tolist(), reached, strict=True):
        pose = tuple(place.tolist())
        moved = _messages.transform(stamp, "world", "uav/imu", pose, (0.0, 0.0, 0.0, 1.0))
        reporter.on_tf(_messages.transforms(moved))
        reporter.step(stamp)
    return 1e-9 * stamps, np.array(reached)


def test_a_completed_challenge_is_written(tmp_path: Path) -> None:
    reporter = ros.Reporter.from_parameters(challenge(tmp_path))
    assert reporter is not None
    reporter.on_imu(imu(0))
    fly_by(reporter, [(0, 0, 2), (10, 0, 2)])
    written = json.loads((tmp_path / "results.yaml").read_text())
    assert written["Result"] == "Challenge Completed"
    assert [written[f"Gate{k}"]["Name"] for k in range(3)] == ["A", "B", "C"]
    # at the edge of the box, 0.1 m before the plane, at 2 m/s
    times = [written[f"Gate{k}"]["Time"] for k in range(3)]
    assert times == pytest.approx([0.45, 2.45, 4.45], abs=0.003)
    assert written["Score"] == pytest.approx(30.0 - times[2])
    assert reporter.finished


def test_a_missed_gate_is_reported_as_published(tmp_path: Path) -> None:
    reporter = ros.Reporter.from_parameters(challenge(tmp_path))
    assert reporter is not None
    reporter.on_imu(imu(0))
    fly_by(reporter, [(0, 0, 2), (3, 0, 2), (5, 3, 2), (8, 0, 2), (10, 0, 2)])
    assert [reporter.events[f"Gate{k}"]["Success"] for k in range(3)] == ["True", "False", "True"]
    assert reporter.result == "Challenge Completed"


def test_a_race_starts_with_the_inertial_sensor(tmp_path: Path) -> None:
    reporter = ros.Reporter.from_parameters(challenge(tmp_path))
    assert reporter is not None
    reporter.on_collision(helpers.empty())
    fly_by(reporter, [(0, 0, 2), (10, 0, 2)])
    assert reporter.events == {}
    assert not reporter.finished


def test_a_collision_and_the_time_limit_end_a_race(tmp_path: Path) -> None:
    for end, result in (("collision", "Collision"), ("time", "Timed out"), ("", "Interrupted")):
        reporter = ros.Reporter.from_parameters(challenge(tmp_path))
        assert reporter is not None
        reporter.on_imu(imu(0))
        fly_by(reporter, [(0, 0, 2), (3, 0, 2)])
        if end == "collision":
            reporter.on_collision(helpers.empty())
        elif end == "time":
            reporter.step(20 * 10**9)
            assert not reporter.finished
            reporter.step(20 * 10**9 + 1)
        reporter.close()
        assert reporter.result == result
        assert json.loads((tmp_path / "results.yaml").read_text())["Result"] == result
        assert (reporter.score == 0.0) is (end == "collision")


def test_the_reporter_of_a_scene_judges_as_propwash_race() -> None:
    gates = race.course_gates(Scene.load("alphapilot"))
    path: list[Any] = [(18.5, 6.5, 1.0)]
    for number in (1, 0, 2, 1, 2):  # the first two passages are out of order
        ahead = np.array([math.cos(gates[number].yaw), math.sin(gates[number].yaw), 0.0])
        centre = np.array(gates[number].position)
        path += [tuple(centre - 2.0 * ahead), tuple(centre + 2.0 * ahead)]
    reporter = ros.Reporter.of_scene(Scene.load("alphapilot"))
    reporter.on_imu(imu(0))
    expected = race.gates_in_order(gates, *fly_by(reporter, path, speed=8.0))
    events = [*reporter.events.values()]
    assert [event["Name"] for event in events] == [passage.gate for passage in expected]
    assert len(events) >= 3
    for event, passage in zip(events, expected, strict=True):
        assert 0.0 <= event["Time"] - passage.time < 0.01
    reporter.close()
    assert reporter.score == pytest.approx(race.score(len(events), events[-1]["Time"]))


@pytest.mark.parametrize(
    "changes",
    [
        {"gate_names": []},
        {"timeout": -1},
        {"A": {"location": [[0, 0, 0]]}},
        {"A": {"location": [[0, 0, 0]] * 4}},
        {"A": {}},
    ],
)
def test_invalid_challenges_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        ros.Reporter.from_parameters(challenge(tmp_path, **changes))


def test_without_a_challenge_there_is_no_reporter() -> None:
    assert ros.Reporter.from_parameters({}) is None


def test_a_run_that_does_not_start_reports_the_error_and_keeps_the_results_of_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "results.yaml"
    file.write_text("Result: Challenge Completed\n")
    command = ["ros", "--report", "--scene", "alphapilot"]
    assert main([*command, "--results", str(file), "--play", str(tmp_path / "missing.bag")]) != 0
    assert file.read_text() == "Result: Challenge Completed\n"
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("propwash: ")
    assert "missing.bag: expected a bag" in error


def test_packages_pass_the_options_of_the_cameras(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text("")
    options = ["--scene", "own.toml", "--render-threads", "3"]
    assert main(["ros", "--packages", "packages", *options]) == 0
    program = Path("packages/flightgoggles_ros_bridge/ROSClient").read_text()
    # roslaunch starts the program in another folder
    assert f"'--scene', '{tmp_path / 'own.toml'}'" in program
    assert "'--render-threads', '3'" in program
