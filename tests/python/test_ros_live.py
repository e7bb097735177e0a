"""The ROS nodes with a real master, rostopic and controllers of rospy."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest
from propwash import race
from propwash.world import Scene

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
START = ["--start", "18.5", "6.5", "1", str(0.5 * np.pi)]


def missing() -> str | None:
    """Why ROS cannot be used, or None."""
    if shutil.which("roscore") is None:
        return "roscore is missing (bash tools/system_packages.sh all)"
    program = "from propwash import ros; ros.import_rospy(); import nav_msgs, sensor_msgs, tf2_msgs"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


REASON = missing()
pytestmark = [pytest.mark.skipif(REASON is not None, reason=str(REASON)), pytest.mark.slow]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of programs that use a master of this test."""
    with master(free_port(), tmp_path_factory.mktemp("ros")) as found:
        yield found


@contextmanager
def master(port: int, logs: Path) -> Iterator[dict[str, str]]:
    """The environment of programs that use a master, which runs in this context."""
    settings = {
        "ROS_MASTER_URI": f"http://localhost:{port}",
        "ROS_HOSTNAME": "localhost",
        "ROS_LOG_DIR": str(logs),
        "ROS_HOME": str(logs),
    }
    found = {key: value for key, value in os.environ.items() if key != "ROS_IP"} | settings
    with started(["roscore", "-p", str(port)], found) as process:
        wait_for(lambda: "/rosout" in output(["rostopic", "list"], found), process)
        yield found


def free_port() -> int:
    """A port that no program uses."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A program that is interrupted at the end."""
    process = subprocess.Popen(
        command,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def output(command: list[str], environment: dict[str, str], timeout: float = 60.0) -> str:
    """What a program prints."""
    done = subprocess.run(
        command, env=environment, text=True, capture_output=True, timeout=timeout, check=False
    )
    return done.stdout + done.stderr


def wait_for(condition: object, process: subprocess.Popen[str]) -> None:
    """Returns when the condition holds."""
    assert callable(condition)
    end = time.monotonic() + 60.0
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.1)


@contextmanager
def node(
    environment: dict[str, str], *options: str, program: Sequence[str] = ("-m", "propwash")
) -> Iterator[subprocess.Popen[str]]:
    """The command `ros`, registered at the master."""
    cameras = [] if "--renderer" in options else ["--renderer", "none"]
    command = [sys.executable, *program, "ros", "--sim-time", *cameras, *options]
    with started(command, environment) as process:
        wait_for(lambda: "/uav/odometry" in output(["rostopic", "list"], environment), process)
        yield process


def summary(process: subprocess.Popen[str]) -> str:
    """The lines that the command prints, up to its end by Ctrl-C."""
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=60)[0]


def test_every_topic_can_be_echoed(environment: dict[str, str]) -> None:
    fields = {
        "/clock": "nsecs",
        "/tf": 'child_frame_id: "uav/imu"',
        "/tf_static": 'child_frame_id: "uav/motor3"',
        "/uav/odometry": 'frame_id: "world"',
        "/uav/sensors/imu": "orientation_covariance: [-1.0, 0.0",
    }
    with node(environment, *START) as process:
        output(["rostopic", "pub", "-1", "/uav/input/arm", "std_msgs/Empty"], environment)
        for topic, field in fields.items():
            assert field in output(["rostopic", "echo", "-n1", topic], environment)
        text = summary(process)
    assert "refused messages: none" in text, text


def test_every_topic_of_the_cameras_can_be_echoed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    fields = {
        "/uav/camera/left/image_rect_color/encoding": "bgr8",
        "/uav/camera/left/camera_info": 'distortion_model: "plumb_bob"',
        "/uav/sensors/downward_laser_rangefinder": "min_range: -20.0",
        "/uav/camera/debug/fps": "data: ",
        "/tf_static": 'child_frame_id: "world/ned"',
    }
    bag = tmp_path / "live.bag"
    options = ["--renderer", "process", "--size", "32", "24", "--record", str(bag)]
    with node(environment, *START, *options) as process:
        for topic, field in fields.items():
            assert field in output(["rostopic", "echo", "-n1", topic], environment)
        assert "flightgoggles/IRMarkerArray" in output(
            ["rostopic", "type", "/uav/camera/left/ir_beacons"], environment
        )
        text = summary(process)
    assert "faults: none" in text, text
    assert "sensor_msgs/Image" in output(["rosbag", "info", str(bag)], environment)


CHECKSUMS = """
from propwash import ros
ros.import_rospy()
import roslib.message
cameras = ros.CameraBridge(ros.BridgeSettings(width=8, height=8), ros.InProcess)
parts, uav = [cameras], ros.Uav(ros.uav_settings({}))
node = ros.Node(parts, vehicle=uav, lock_step=1, clock_scale=None)
cameras.close()
compared = 0
for topic in [*node.publishes.values(), *node.subscribes.values()]:
    name = topic.kind.replace("/msg/", "/")
    installed = roslib.message.get_message_class(name)
    own = ros.message_class(topic.kind)
    assert own._md5sum == ros.definition(topic.kind)[1]
    if installed is not None:
        assert installed._md5sum == own._md5sum, name
        compared += 1
print("compared", compared)
"""


def test_checksums_are_those_of_the_installed_packages(environment: dict[str, str]) -> None:
    text = output([sys.executable, "-c", CHECKSUMS], environment)
    assert "compared" in text, text
    assert int(text.split()[-1]) >= 9


def test_the_example_arms_and_lifts_off(environment: dict[str, str]) -> None:
    if not EXAMPLES.is_dir():
        pytest.skip("examples are missing")
    with node(environment, *START):
        text = output([sys.executable, str(EXAMPLES / "ros_takeoff.py")], environment)
    assert "lifted off: from 1.0 m to 2." in text, text


def test_a_controller_node_flies_through_the_first_gate(environment: dict[str, str]) -> None:
    gate = race.course_gates(Scene.load("alphapilot"))[0]
    x, y, z = gate.position
    waypoints = [(x + 3, y + 2, z), (x + 3, y - 3, z), (x, y - 3, z), (x, y + 2, z)]
    texts = [",".join(f"{value:.3f}" for value in each) for each in waypoints]
    pilot = [sys.executable, str(HERE / "ros_pilot.py")]
    with node(environment, *START, "--lock-step", "16", "--no-noise") as process:
        rows = output([*pilot, *texts[:2]], environment, timeout=120.0).splitlines()
        # another controller continues from the request that the first one left
        rest = output([*pilot, *texts[2:]], environment, timeout=120.0).splitlines()
        text = summary(process)
    assert rows[-1] == rest[0]
    flight = np.array([[float(part) for part in row.split()] for row in rows[:-1] + rest])
    time_, position = flight[:, 0], flight[:, 1:]
    passed = race.passages(gate, time_, position)
    assert [each.gate for each in passed] == [gate.name]
    # each command made 16 steps, none was lost and none counted twice
    assert np.rint(np.diff(time_) * 960.0).tolist() == [16.0] * (len(flight) - 1)
    assert "refused messages: none" in text, text


LAUNCH = """<launch>
  <arg name="ignore_collisions" default="true"/>
  <group ns="/uav">
    <param name="/use_sim_time" value="true"/>
    <rosparam command="load" file="{file}"/>
    <node name="flightgoggles_uav_dynamics" pkg="flightgoggles_uav_dynamics" type="node"
          output="screen">
      <param name="ignore_collisions" type="bool" value="$(arg ignore_collisions)"/>
    </node>
  </group>
</launch>
"""


def test_a_launch_file_of_the_published_form_starts_the_node(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "propwash", "ros", "--packages", str(tmp_path / "packages")]
    path = output(command, environment).rpartition("export ROS_PACKAGE_PATH=")[2].split(":")[0]
    assert Path(path) == tmp_path / "packages"
    (tmp_path / "drone.yaml").write_text(
        "flightgoggles_uav_dynamics:\n  init_pose: [1.5, 0, 7.25, 0, 0, 0, 1]\n"
    )
    launch = tmp_path / "drone.launch"
    launch.write_text(LAUNCH.format(file=tmp_path / "drone.yaml"))
    found = environment | {"ROS_PACKAGE_PATH": f"{path}:/usr/share"}
    with started(["roslaunch", str(launch)], found) as process:
        wait_for(lambda: "/uav/odometry" in output(["rostopic", "list"], found), process)
        assert "/uav/flightgoggles_uav_dynamics" in output(["rosnode", "list"], found)
        output(["rostopic", "pub", "-1", "/uav/input/arm", "std_msgs/Empty"], found)
        output(["rostopic", "pub", "-1", "/uav/collision", "std_msgs/Empty"], found)
        assert "angular_velocity" in output(["rostopic", "echo", "-n1", "/uav/sensors/imu"], found)
        output(["rostopic", "pub", "-1", "/uav/input/reset", "std_msgs/Empty"], found)
        pose = output(["rostopic", "echo", "-n1", "/uav/odometry/pose/pose/position"], found)
        assert pose.split()[:6] == ["x:", "1.5", "y:", "0.0", "z:", "7.25"]


def test_a_missing_master_is_reported(environment: dict[str, str]) -> None:
    alone = environment | {"ROS_MASTER_URI": "http://localhost:9"}
    text = output([sys.executable, "-m", "propwash", "ros"], alone)
    assert "no ROS master at http://localhost:9; start `roscore`" in text
    away = alone | {"ROS_MASTER_URI": "http://192.0.2.1:11311"}
    away.pop("ROS_HOSTNAME")
    text = output([sys.executable, "-m", "propwash", "ros"], away)
    assert "expected --host ADDRESS" in text


def test_a_publisher_of_another_type_is_refused_and_the_node_lives(
    environment: dict[str, str],
) -> None:
    with node(environment, *START) as process:
        command = ["rostopic", "pub", "-1", "/uav/input/arm", "std_msgs/Float64", "1.0"]
        output(command, environment)
        assert "nsecs" in output(["rostopic", "echo", "-n1", "/clock"], environment)
        assert process.poll() is None


LISTENER = """
from propwash import ros
rospy = ros.import_rospy()
connection, received = None, 0
def receive(message):
    global connection, received
    if message._connection_header is not connection:
        connection, received = message._connection_header, 0
    received += 1
    if received == 100:
        print("attached", flush=True)
rospy.init_node("listener")
rospy.Subscriber("/tf", ros.message_class("tf2_msgs/msg/TFMessage"), lambda message: None)
rospy.Subscriber("/uav/odometry", ros.message_class("nav_msgs/msg/Odometry"), receive)
print("ready", flush=True)
rospy.spin()
"""

SIGNAL_IN_ROSPY = """
import signal, sys, threading
notify, calls = threading.Condition.notify, 0
def notified(self, n=1):
    global calls
    is_queue = sys._getframe(1).f_code.co_name == "write_data"  # which holds the lock of the queue
    calls += is_queue and threading.current_thread() is threading.main_thread()
    if calls == 100:
        calls += 1
        signal.raise_signal(signal.{name})
    notify(self, n)
threading.Condition.notify = notified
from propwash.__main__ import run
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_inside_a_call_of_rospy_ends_the_node(
    environment: dict[str, str], name: str
) -> None:
    program = ("-c", SIGNAL_IN_ROSPY.format(name=name))
    with (
        started([sys.executable, "-c", LISTENER], environment),
        node(environment, *START, program=program) as process,
    ):
        text = process.communicate(timeout=60)[0]
    assert process.returncode == 130, text
    assert "refused messages: none" in text
    assert text.endswith("propwash: stopped\n")


def test_fifty_stops_with_subscribers_leave_no_node(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "propwash", "ros", "--sim-time", "--renderer", "none", *START]
    draw = np.random.default_rng(1)
    with started([sys.executable, "-c", LISTENER], environment) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "ready\n"
        for number in range(50):
            # one half publishes without a pause
            pace = ["--clock-scale", "100" if number % 4 < 2 else "1"]
            with started([*command, *pace], environment) as process:
                assert listener.stdout.readline() == "attached\n"
                time.sleep(draw.uniform(0.0, 0.2))
                process.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
                text = process.communicate(timeout=60)[0]
            assert process.returncode == 130, text


def test_a_restarted_master_ends_the_node(tmp_path: Path) -> None:
    port, bag = free_port(), tmp_path / "flight.bag"
    with ExitStack() as rest:
        with master(port, tmp_path) as environment:
            process = rest.enter_context(node(environment, *START, "--record", str(bag)))
        assert process.stdout is not None
        text = ""
        while f"the master at http://localhost:{port} does not answer" not in text:
            line = process.stdout.readline()
            assert line, text
            text += line
        with master(port, tmp_path):
            text += process.communicate(timeout=60)[0]
    assert process.returncode == 2, text
    (last,) = text.splitlines()[-1:]
    assert last.startswith("propwash: the ROS master does not know this node any more")
    assert "start this node again" in last
    assert "messages in " in text
    assert "/uav/odometry" in output(["rosbag", "info", str(bag)], environment)


def test_a_node_that_is_killed_by_rosnode_ends_without_an_error(
    environment: dict[str, str],
) -> None:
    with node(environment, *START) as process:
        output(["rosnode", "kill", "/propwash"], environment)
        text = process.communicate(timeout=60)[0]
    assert process.returncode == 0, text
    assert "refused messages: none" in text


def test_a_program_for_flightgoggles_2_flies_without_arming(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "drone.yaml").write_text(
        "flightgoggles_uav_dynamics: {min_arming_thrust: 9.9, reset_timeout: 0.1}\n"
    )
    program = """
from propwash import ros
rospy = ros.import_rospy()
RateThrust = ros.message_class("mav_msgs/msg/RateThrust")
rospy.init_node("v2")
command = rospy.Publisher("/uav/input/rateThrust", RateThrust, queue_size=1)
Odometry = ros.message_class("nav_msgs/msg/Odometry")
message = RateThrust()
message.thrust.z = 12.0
while rospy.wait_for_message("/uav/odometry", Odometry).pose.pose.position.z < 2.0:
    command.publish(message)
print("flies")
"""
    options = ["--parameters", str(tmp_path / "drone.yaml")]
    with node(environment, *START, *options):
        assert output([sys.executable, "-c", program], environment) == "flies\n"
