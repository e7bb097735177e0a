"""Parameters of the ROS nodes, and the node of the car."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from propwash import ParameterError, ros
from ros_helpers import ARM, COLLISION, ODOMETRY, RATE_THRUST, empty, rate_thrust, steps, uav
from test_flightgoggles import DRONE

DT = 1.0 / 960.0


def test_the_defaults_are_those_of_the_published_node() -> None:
    settings = ros.uav_settings({})
    assert settings.position == (-10.5, -18.5, -1.5)
    assert settings.attitude == (1.0, 0.0, 0.0, 0.0)
    assert (settings.integrator, settings.use_rate_thrust) == ("euler", True)
    assert settings.arming_thrust is None
    imu = settings.vehicle.imu
    assert imu.accelerometer_bias_initial == pytest.approx(np.sqrt(0.005))
    assert imu.gyroscope_bias_initial == pytest.approx(np.sqrt(0.003))
    assert settings.vehicle.rate_controller.discretisation == "backward_euler"
    assert not settings.vehicle.rate_controller.gyroscopic_term


def test_files_are_loaded_under_uav_over_the_server(tmp_path: Path) -> None:
    file = tmp_path / "drone.yaml"
    file.write_text(DRONE, encoding="utf-8")
    server = {"uav": {"flightgoggles_imu": {"gyroscope_biasinitvar": 0.25}, "timeout": 3}}
    tree = ros.merged(server, [file])
    assert ros.get(tree, "/uav/timeout") == 3
    settings = ros.uav_settings(tree)
    assert settings.position == (0.0, 0.0, 1.0)
    assert settings.vehicle.imu.gyroscope_bias_initial == 0.5
    assert settings.vehicle.imu.accelerometer_bias_initial == 0.0


def test_either_parameter_of_flightgoggles_2_lets_thrust_arm() -> None:
    for parameters, expected in [
        ({"min_arming_thrust": 5.0}, (5.0, 0.1)),
        ({"reset_timeout": 2.0}, (9.9, 2.0)),
    ]:
        settings = ros.uav_settings({"uav": {"flightgoggles_uav_dynamics": parameters}})
        assert (settings.arming_thrust, settings.arming_delay) == expected
        parameters["use_ratethrust_controller"] = False  # commands have no thrust
        settings = ros.uav_settings({"uav": {"flightgoggles_uav_dynamics": parameters}})
        assert settings.arming_thrust is None


def test_unknown_parameters_are_noted() -> None:
    notes: list[str] = []
    ros.uav_settings({"uav": {"flightgoggles_uav_dynamics": {"vehicle_mas": 2.0}}}, notes=notes)
    assert len(notes) == 1
    assert notes[0].startswith("/uav/flightgoggles_uav_dynamics/vehicle_mas is ignored")
    assert "vehicle_mass" in notes[0]


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("init_pose", [1.0, 2.0], "7 finite numbers"),
        ("init_pose", [1, 2, 3, 0, 0, 0, 0], "not zero"),
        ("init_pose", [1, 2, float("nan"), 0, 0, 0, 1], "7 finite numbers"),
        ("ignore_collisions", "perhaps", "true or false"),
        ("clockscale", 0.0, "a number from 0.01 to 100"),
        ("clockscale", 1e-300, "a number from 0.01 to 100"),
        ("clockscale", "fast", "a finite number"),
        ("min_arming_thrust", "much", "a finite number"),
        ("vehicle_mass", -1.0, "mass"),
        ("vehicle_mass", [], "number"),
    ],
)
def test_invalid_parameters_are_refused_by_name(key: str, value: Any, expected: str) -> None:
    with pytest.raises(ParameterError, match=expected):
        ros.uav_settings({"uav": {"flightgoggles_uav_dynamics": {key: value}}})


def test_a_section_that_is_no_section_is_refused() -> None:
    with pytest.raises(ParameterError, match="a section with keys"):
        ros.uav_settings({"uav": {"flightgoggles_imu": 3.0}})


def published_rotor_speeds(rates: Any, thrust: float, pid: dict[str, float]) -> Any:
    """Commanded rotor speeds at rest, after one step, of the published controller [rad/s].

    Its filter has not moved, and its integral is one step of the error.
    """
    error = np.array(rates)
    acceleration = 9.0 * error + 3.0 * DT * error
    inertia = np.array([pid[f"vehicle_inertia_{axis}"] for axis in ("xx", "yy", "zz")])
    roll, pitch, yaw = inertia * acceleration
    lever = 4.0 * pid["moment_arm"] * pid["thrust_coefficient"]
    about_z, up = 4.0 * pid["torque_coefficient"], 4.0 * pid["thrust_coefficient"]
    signs = [(1, -1, -1), (1, 1, 1), (-1, 1, -1), (-1, -1, 1)]
    squares = [
        a * roll / lever + b * pitch / lever + c * yaw / about_z + thrust / up for a, b, c in signs
    ]
    return np.sign(squares) * np.sqrt(np.abs(squares))


COPIES = {
    "vehicle_inertia_xx": 0.0049,
    "vehicle_inertia_yy": 0.0049,
    "vehicle_inertia_zz": 0.0069,
    "moment_arm": 0.08,
    "thrust_coefficient": 1.91e-6,
    "torque_coefficient": 2.6e-7,
}


@pytest.mark.parametrize(
    "pid",
    [
        {},
        {"vehicle_inertia_xx": 0.006, "vehicle_inertia_zz": 0.005},
        {"moment_arm": 0.1, "thrust_coefficient": 2.2e-6, "torque_coefficient": 2.0e-7},
    ],
)
def test_the_controller_acts_as_the_published_one_also_with_wrong_parameters(
    pid: dict[str, float],
) -> None:
    vehicle = uav({"pid": pid, "vehicle_inertia_yy": 0.0052})
    node = ros.Node([], vehicle=vehicle)
    node.post(ARM, empty())
    rates, thrust = [0.1, -0.05, 0.02], 10.5
    node.post(RATE_THRUST, rate_thrust(rates, thrust))
    before = vehicle.vehicle.rotor_speeds
    steps(node, 1)
    # explicit Euler of d speed / dt = (command - speed) / 0.02 s
    command = before + (vehicle.vehicle.rotor_speeds - before) * 0.02 / DT
    expected = published_rotor_speeds(rates, thrust, COPIES | pid)
    np.testing.assert_allclose(command, expected, rtol=1e-9)


def test_a_vehicle_file_replaces_the_parameters() -> None:
    settings = ros.uav_settings({}, "blackbird")
    assert settings.vehicle.name == "blackbird"
    moved = ros.started(settings, (1.0, 2.0, 3.0, np.pi))
    assert moved.position == (1.0, 2.0, 3.0)
    assert moved.attitude == pytest.approx((0.0, 0.0, 0.0, 1.0), abs=1e-12)
    with pytest.raises(ParameterError, match="4 finite numbers"):
        ros.started(settings, (1.0, 2.0, float("nan"), 0.0))


def car(**parameters: Any) -> ros.CarDynamics:
    section = {"init_position": [1.0, 2.0], "init_heading": 0.5} | parameters
    return ros.CarDynamics(ros.car_settings({"uav": {"flightgoggles_car_dynamics": section}}))


def test_a_car_drives_on_circles_and_publishes_transforms_only() -> None:
    vehicle = car()
    node = ros.Node([], vehicle=vehicle)
    node.post(ARM, empty())
    assert {*steps(node, 5)[-1]} == {"/clock", "/tf"}  # without a command it stands still
    node.post(RATE_THRUST, rate_thrust([-0.8, 2.0, 0.0], 0.0))
    pose = steps(node, 960)[-1]["/tf"].transforms[0].transform
    # a circle of radius speed / yaw rate, by explicit Euler
    turned, radius = 0.8, 2.0 / 0.8
    expected = np.array([1.0, 2.0]) + radius * np.array(
        [np.sin(0.5 + turned) - np.sin(0.5), np.cos(0.5) - np.cos(0.5 + turned)]
    )
    np.testing.assert_allclose([pose.translation.x, pose.translation.y], expected, atol=2e-3)
    assert pose.translation.z == 0.0
    assert 2.0 * np.arctan2(pose.rotation.z, pose.rotation.w) == pytest.approx(0.5 + turned)
    node.post(COLLISION, empty())
    assert {*steps(node, 1)[0]} == {"/clock"}
    back = steps(node, 1)[0]["/tf"].transforms[0].transform
    assert (back.translation.x, back.translation.y) == (1.0, 2.0)
    assert ODOMETRY not in node.publishes


def test_the_noise_of_a_car_follows_its_seed() -> None:
    ends = []
    for seed in (3, 3, 4):
        vehicle = car(velocity_process_noise=[0.001, 0.001], noise_seed=seed)
        node = ros.Node([], vehicle=vehicle)
        node.post(ARM, empty())
        node.post(RATE_THRUST, rate_thrust([0.0, 2.0, 0.0], 0.0))
        ends.append(steps(node, 50)[-1]["/tf"].transforms[0].transform.translation.x)
    assert ends[0] == ends[1] != ends[2]
