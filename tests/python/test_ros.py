"""The logic of the ROS nodes, without ROS."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash import ros
from propwash.ros import _messages
from ros_helpers import (
    ARM,
    COLLISION,
    FPS,
    IMU,
    MOTOR_SPEED,
    ODOMETRY,
    RATE_THRUST,
    RESET,
    empty,
    fps,
    motor_speeds,
    rate_thrust,
    steps,
    uav,
)

DT = 1.0 / 960.0
START = {"init_pose": [1.0, 2.0, 30.0, 0.0, 0.0, 0.6, 0.8]}
WEIGHT = 9.81  # N


def armed(vehicle: ros.Uav, **options: Any) -> ros.Node:
    """A node with an armed vehicle."""
    node = ros.Node([], vehicle=vehicle, **options)
    node.post(ARM, empty())
    return node


@pytest.mark.parametrize(
    ("kind", "checksum"),
    [
        ("mav_msgs/msg/RateThrust", "119c5bf883bef42350d52ce5a7927c7c"),
        ("mav_msgs/msg/Actuators", "25741daf38ed25442e3a66a855ee8d9c"),
        ("sensor_msgs/msg/Imu", "6a62c6daae103f4ff57a132d6f95cec2"),
        ("nav_msgs/msg/Odometry", "cd5e73d190d741a2f92e81eda573aca7"),
        ("tf2_msgs/msg/TFMessage", "94810edda583a504dfda3829e70d7eec"),
        ("rosgraph_msgs/msg/Clock", "a9c97c1d230cfc112e270351a944ee47"),
        ("std_msgs/msg/Empty", "d41d8cd98f00b204e9800998ecf8427e"),
        ("std_msgs/msg/Float32", "73fcbf46b49191e672908e50842a83d4"),
    ],
)
def test_checksums_are_those_of_ros(kind: str, checksum: str) -> None:
    assert ros.definition(kind)[1] == checksum


def test_an_unarmed_vehicle_stays_and_publishes_no_imu() -> None:
    node = ros.Node([], vehicle=uav(START))
    node.post(RATE_THRUST, rate_thrust([1.0, 0.0, 0.0], 20.0))
    made = steps(node, 50)
    assert all({*each} == {"/clock", "/tf", ODOMETRY} for each in made)
    pose = made[-1][ODOMETRY].pose.pose
    assert (pose.position.x, pose.position.y, pose.position.z) == (1.0, 2.0, 30.0)
    assert pose.orientation.w == pytest.approx(0.8)
    assert pose.orientation.z == pytest.approx(0.6)


def test_time_stamps_advance_as_published() -> None:
    # the published node adds 1/960 s, rounded to ns
    node = armed(uav(START))
    (first,) = (m for name, m in node.start() if name == "/clock")
    assert _messages.nanoseconds(first.clock) == 0
    for number, each in enumerate(steps(node, 20), 1):
        stamps = [
            each["/clock"].clock,
            each[IMU].header.stamp,
            each[ODOMETRY].header.stamp,
            each["/tf"].transforms[0].header.stamp,
        ]
        assert {_messages.nanoseconds(stamp) for stamp in stamps} == {number * 1_041_667}


def test_a_flight_is_that_of_a_multicopter() -> None:
    vehicle = uav(START, noise=True)
    settings = vehicle.settings
    node = armed(vehicle)
    node.post(RATE_THRUST, rate_thrust([0.5, -0.2, 0.3], 11.0))
    made = steps(node, 500)
    reference = pw.Multicopter(settings.vehicle, integrator="euler")
    reference.reset(position=settings.position, attitude=settings.attitude)
    reference.step(pw.RateThrust([0.5, -0.2, 0.3], 11.0), DT, substeps=500)
    point = made[-1][ODOMETRY].pose.pose.position
    assert [point.x, point.y, point.z] == reference.position.tolist()
    force = made[-1][IMU].linear_acceleration
    assert [force.x, force.y, force.z] == reference.imu.specific_force.tolist()


def test_odometry_and_transform_agree_and_the_twist_is_in_body_axes() -> None:
    vehicle = uav(START)
    node = armed(vehicle)
    node.post(RATE_THRUST, rate_thrust([1.0, 0.5, -2.0], 15.0))
    each = steps(node, 900)[-1]
    odometry, transform = each[ODOMETRY], each["/tf"].transforms[0]
    assert (odometry.header.frame_id, odometry.child_frame_id) == ("world", "uav/imu")
    assert (transform.header.frame_id, transform.child_frame_id) == ("world", "uav/imu")
    assert vars(odometry.pose.pose.orientation) == vars(transform.transform.rotation)
    state = vehicle.vehicle.state
    w, *axis = state.attitude
    x, y, z = axis
    rotation = np.eye(3) + 2 * w * (k := np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])) + 2 * k @ k
    linear, angular = odometry.twist.twist.linear, odometry.twist.twist.angular
    expected = rotation.T @ state.velocity
    assert np.linalg.norm(expected) > 3.0
    np.testing.assert_allclose([linear.x, linear.y, linear.z], expected, rtol=1e-12, atol=1e-12)
    assert [angular.x, angular.y, angular.z] == state.body_rates.tolist()
    assert odometry.pose.covariance[0] == odometry.twist.covariance[0] == -1.0


def test_the_imu_has_the_published_covariances_and_no_frame() -> None:
    message = steps(armed(uav(START)), 1)[0][IMU]
    assert message.header.frame_id == ""
    assert message.orientation_covariance.tolist() == [-1.0, *[0.0] * 8]
    expected = 0.005 * np.eye(3).reshape(-1)
    np.testing.assert_allclose(message.linear_acceleration_covariance, expected, rtol=1e-14)
    np.testing.assert_allclose(
        message.angular_velocity_covariance, expected * 0.003 / 0.005, rtol=1e-14
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_vehicle_turns_in_the_commanded_sense(axis: int) -> None:
    rates = [0.0, 0.0, 0.0]
    rates[axis] = 0.5
    vehicle = uav(START)
    node = armed(vehicle)
    node.post(RATE_THRUST, rate_thrust(rates, WEIGHT))
    steps(node, 960)
    found = vehicle.vehicle.body_rates
    assert found[axis] == pytest.approx(0.5, abs=0.1)
    assert np.abs(np.delete(found, axis)).max() < 0.05


def test_without_a_command_the_rotors_spin_down_and_it_falls() -> None:
    vehicle = uav(START)
    node = armed(vehicle)
    before = vehicle.vehicle.rotor_speeds
    each = steps(node, 96)
    # explicit Euler of d speed / dt = -speed / 0.02 s
    expected = before * (1.0 - DT / 0.02) ** 96
    np.testing.assert_allclose(vehicle.vehicle.rotor_speeds, expected, rtol=1e-9)
    assert each[-1][ODOMETRY].twist.twist.linear.z < 0.0


def is_armed(node: ros.Node, thrust: float) -> bool:
    """Whether the vehicle moves in the step after a command of this thrust [N]."""
    node.post(RATE_THRUST, rate_thrust([0.0, 0.0, 0.0], thrust))
    return IMU in steps(node, 1)[0]


def test_thrust_arms_as_in_flightgoggles_2_where_its_parameters_are_set() -> None:
    vehicle = uav(START | {"min_arming_thrust": 9.9, "reset_timeout": 0.1}, noise=True)
    node = ros.Node([], vehicle=vehicle)
    assert not is_armed(node, 12.0)  # within 0.1 s after the start
    steps(node, 96)
    assert not is_armed(node, 9.89)
    assert is_armed(node, 9.9)
    assert is_armed(node, 0.0)  # remains armed
    node.post(COLLISION, empty())
    steps(node, 1)
    assert not is_armed(node, 12.0)
    steps(node, 96)
    assert is_armed(node, 12.0)
    steps(node, 900)
    assert vehicle.vehicle.position[2] > START["init_pose"][2] + 0.5


@pytest.mark.parametrize(
    ("parameters", "hint"),
    [
        ({}, "publish a std_msgs/Empty on /uav/input/arm"),
        ({"reset_timeout": 0.2}, "on /uav/input/arm, or a thrust of at least 9.9 N"),
    ],
)
def test_commands_for_a_vehicle_that_is_not_armed_are_reported_once(
    parameters: dict[str, Any], hint: str
) -> None:
    lines: list[str] = []
    node = ros.Node([], vehicle=uav(START | parameters), report=lines.append)
    for _ in range(3 * 960):
        assert not is_armed(node, 9.8)
        assert len(lines) == (node.steps > 960)
    assert lines[0].startswith(f"commands arrive on {RATE_THRUST}, but the vehicle is not armed: ")
    assert lines[0].endswith(hint)


def test_a_command_before_arming_is_not_reported() -> None:
    lines: list[str] = []
    node = ros.Node([], vehicle=uav(START), report=lines.append)
    assert not is_armed(node, 12.0)
    steps(node, 900)
    node.post(ARM, empty())
    steps(node, 960)
    assert lines == []


@pytest.mark.parametrize("topic", [RESET, COLLISION])
def test_a_reset_and_a_collision_return_to_the_start_and_disarm(topic: str) -> None:
    vehicle = uav(START)
    node = armed(vehicle)
    node.post(RATE_THRUST, rate_thrust([0.0, 0.0, 0.0], 20.0))
    assert steps(node, 200)[-1][ODOMETRY].pose.pose.position.z > 30.0
    node.post(topic, empty())
    returned, after = steps(node, 2)
    assert {*returned} == {"/clock"}  # as published
    assert after[ODOMETRY].pose.pose.position.z == 30.0
    assert IMU not in after
    assert _messages.nanoseconds(after["/clock"].clock) == 202 * 1_041_667  # time continues
    # armed again, it has no command
    node.post(ARM, empty())
    assert steps(node, 300)[-1][ODOMETRY].pose.pose.position.z < 30.0


def test_collisions_can_be_ignored_but_not_resets() -> None:
    node = armed(uav(START | {"ignore_collisions": True}))
    node.post(COLLISION, empty())
    assert IMU in steps(node, 1)[0]
    node.post(RESET, empty())
    assert {*steps(node, 1)[0]} == {"/clock"}


def test_rotor_speeds_are_commands_where_the_parameter_says_so() -> None:
    vehicle = uav(START | {"use_ratethrust_controller": False})
    node = armed(vehicle)
    assert RATE_THRUST not in node.subscribes
    hover = vehicle.vehicle.rotor_speeds
    node.post(MOTOR_SPEED, motor_speeds([*hover, 5.0]))  # further values are not used
    state = steps(node, 960)[-1][ODOMETRY]
    assert state.pose.pose.position.z == pytest.approx(30.0, abs=1e-9)
    node.post(MOTOR_SPEED, motor_speeds([1.0, 2.0]))
    steps(node, 1)
    assert node.refused.counts == {f"{MOTOR_SPEED}: expected 4 angular_velocities": 1}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_commands_that_are_not_finite_are_counted_and_not_used(value: float) -> None:
    vehicle = uav(START)
    node = armed(vehicle)
    node.post(RATE_THRUST, rate_thrust([0.0, 0.0, 0.0], WEIGHT))
    for message in (rate_thrust([value, 0.0, 0.0], 1.0), rate_thrust([0.0, 0.0, 0.0], value)):
        node.post(RATE_THRUST, message)
    steps(node, 960)
    assert node.refused.counts == {f"{RATE_THRUST}: a value is not finite": 2}
    assert vehicle.vehicle.position[2] == pytest.approx(30.0, abs=0.02)


@pytest.mark.parametrize("value", [1e308, -1e308, 1e20])
def test_absurd_commands_are_refused_and_large_ones_leave_a_finite_state(value: float) -> None:
    vehicle = uav(START)
    node = armed(vehicle)
    for command in (value, np.sign(value) * 1e6):
        node.post(RATE_THRUST, rate_thrust([command, -command, command], command))
        steps(node, 480)
    assert node.refused.counts == {f"{RATE_THRUST}: a value beyond 1e+06": 1}
    assert np.isfinite(vehicle.vehicle.position).all()


def test_frame_rates_scale_the_clock_as_published() -> None:
    node = ros.Node([], vehicle=uav(), clock_scale=None)
    assert node.clock_scale == 1.0
    for frames, scale in [(110.0, 2.0), (27.5, 0.5), (1e3, 0.5), (-1.0, 0.5), (np.nan, 0.5)]:
        node.post(FPS, fps(frames))
        steps(node, 1)
        assert node.clock_scale == scale
    assert node.refused.counts == {f"{FPS}: frame rate not between 0 and 1000 Hz": 3}


def test_a_fixed_clock_scale_ignores_frame_rates() -> None:
    node = ros.Node([], vehicle=uav(), clock_scale=0.3)
    assert FPS not in node.subscribes
    assert node.clock_scale == 0.3


class Other:
    """A part that publishes a collision and a static transform, and receives transforms."""

    publishes = {COLLISION: ros.Topic("std_msgs/msg/Empty")}  # noqa: RUF012

    def __init__(self) -> None:
        self.received: list[Any] = []
        topic = ros.Topic("tf2_msgs/msg/TFMessage")
        self.subscribes = {
            "/tf": (topic, self.received.append),
            COLLISION: (ros.Topic("std_msgs/msg/Empty"), self.received.append),
        }

    def start(self, stamp: int) -> ros.Outputs:
        pose = _messages.transform(
            stamp, "uav/imu", "camera", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
        )
        return [("/tf_static", _messages.transforms(pose))]

    def step(self, stamp: int) -> ros.Outputs:
        return [(COLLISION, empty())] if stamp > 3 * 1_041_667 else []


def test_parts_receive_messages_of_each_other_but_not_their_own() -> None:
    other, vehicle = Other(), uav(START)
    node = ros.Node([other], vehicle=vehicle)
    node.post(ARM, empty())
    names = [name for name, _ in node.start()]
    assert names == ["/clock", "/tf_static"]
    made = steps(node, 5)
    assert [IMU in each for each in made] == [True, True, True, True, False]
    assert len(other.received) == 4  # transforms of four steps; the fifth resets
    assert not vehicle.armed


def test_static_transforms_are_one_message() -> None:
    node = ros.Node([Other()], vehicle=uav({"moment_arm": 0.2, "pid": {"moment_arm": 0.2}}))
    (static,) = (message for name, message in node.start() if name == "/tf_static")
    children = [each.child_frame_id for each in static.transforms]
    assert children == [*(f"uav/motor{n}" for n in range(4)), "camera"]
    corners = [each.transform.translation for each in static.transforms[:4]]
    assert [(each.x, each.y) for each in corners] == [
        (0.2, 0.2),
        (-0.2, 0.2),
        (-0.2, -0.2),
        (0.2, -0.2),
    ]


def test_in_lock_step_each_request_is_answered_by_a_command_and_so_many_steps() -> None:
    vehicle = uav(START)
    node = ros.Node([], vehicle=vehicle, lock_step=5)
    steps(node, 30)  # it runs freely until it is armed
    node.post(ARM, empty())
    for round_ in range(4):
        ((topic, request),) = node.step() or []
        assert (topic, request.seq) == ("/uav/step", 30 + 5 * round_)
        assert _messages.nanoseconds(request.stamp) == node.stamp == request.seq * 1_041_667
        assert node.step() is None
        for thrust in (1.0, 2.0, WEIGHT):  # of several commands the last counts
            node.post(RATE_THRUST, rate_thrust([0.0, 0.0, 0.0], thrust))
        assert all(IMU in each for each in steps(node, 5))
    assert vehicle.vehicle.time == pytest.approx(20 * DT)
    assert vehicle.vehicle.position[2] == pytest.approx(30.0, abs=1e-9)
    node.step()
    node.post(COLLISION, empty())  # a reset needs no command; disarmed, it runs freely
    assert {*steps(node, 1)[0]} == {"/clock"}
    assert ODOMETRY in steps(node, 30)[-1]


def test_in_lock_step_a_controller_with_a_timer_needs_no_request() -> None:
    vehicle = uav(START)
    node = ros.Node([], vehicle=vehicle, lock_step=16)
    command = rate_thrust([0.0, 0.0, 0.0], WEIGHT)
    for number in range(10_000):
        if node.steps % 16 == 5:  # simulated time, out of phase with the periods
            node.post(RATE_THRUST, command)
        if number == 100:
            node.post(ARM, empty())
        outputs = node.step()
        assert outputs is not None
    assert vehicle.vehicle.time > 9.0


def test_a_flight_in_lock_step_is_reproducible() -> None:
    def flown(free: int) -> list[float]:
        vehicle = uav(START, noise=True)
        node = ros.Node([], vehicle=vehicle, lock_step=4)
        steps(node, free)
        node.post(ARM, empty())
        for _ in range(100):
            assert [name for name, _ in node.step() or []] == ["/uav/step"]
            rate = vehicle.vehicle.imu.angular_rate
            node.post(RATE_THRUST, rate_thrust((-2.0 * rate).tolist(), 10.0))
            steps(node, 4)
        return [float(value) for value in vehicle.vehicle.position]

    assert flown(3) == flown(50)
