"""The importer of the published FlightGoggles parameter files."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import propwash as pw
import pytest
from propwash.vehicle.flightgoggles import PUBLISHED_CONTROLLER, import_flightgoggles

DRONE = """
flightgoggles_uav_dynamics:
    init_pose: [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    ignore_collisions: false
    vehicle_mass: 1.0
    vehicle_inertia_xx: 0.0049
    vehicle_inertia_yy: 0.0049
    vehicle_inertia_zz: 0.0069
    max_prop_speed: 2200.0
    moment_arm: 0.08
    motor_time_constant: 0.02
    motor_rotational_inertia: 6.62e-6
    thrust_coefficient: 1.91e-6
    torque_coefficient: 2.6e-7
    drag_coefficient: 0.1
    aeromoment_coefficient_xx: 0.003
    aeromoment_coefficient_yy: 0.003
    aeromoment_coefficient_zz: 0.003
    moment_process_noise: 1.25e-7
    force_process_noise: 0.0005
    use_ratethrust_controller: true

flightgoggles_imu:
    accelerometer_variance: 0.005
    gyroscope_variance: 0.003
    accelerometer_biasprocess: 1e-7
    gyroscope_biasprocess: 1.0e-7
    accelerometer_biasinitvar: 0.0

flightgoggles_lpf:
    gain_p: 35530.5758439217
    gain_q: 266.572976289502

flightgoggles_pid:
    gain_p_roll: 9.0
    gain_i_pitch: 3.0
    gain_d_yaw: 0.3
    int_bound_roll: 1000.0
    vehicle_inertia_xx: 0.0049

flightgoggles_laser:
    rangefinder_variance: 0.009
"""

CAR = """
flightgoggles_car_dynamics:
    init_heading: 0.0
    max_steering_angle: 1.0
    max_speed: 5.0
    min_speed: 0.0
    velocity_process_noise: [0.001, 0.001]
"""


def imported(tmp_path: Path, text: str) -> pw.VehicleParameters | pw.CarParameters:
    path = tmp_path / "drone.yaml"
    path.write_text(text, encoding="utf-8")
    return import_flightgoggles(path, name="flightgoggles")


def test_the_published_file_equals_the_shipped_vehicle(tmp_path: Path) -> None:
    vehicle = imported(tmp_path, DRONE)
    shipped = pw.vehicles.load("flightgoggles")
    assert isinstance(vehicle, pw.VehicleParameters)
    low_pass = vehicle.rate_controller.filter
    assert low_pass.stiffness == pytest.approx(shipped.rate_controller.filter.stiffness, rel=1e-14)
    assert low_pass.damping == pytest.approx(shipped.rate_controller.filter.damping, rel=1e-14)
    assert vehicle.replace(rate_controller={"filter": shipped.rate_controller.filter}) == shipped


def test_omitted_keys_have_the_published_defaults(tmp_path: Path) -> None:
    assert imported(tmp_path, "flightgoggles_laser: {}") == pw.vehicles.load("flightgoggles")


def test_the_published_car_file_equals_the_shipped_car(tmp_path: Path) -> None:
    path = tmp_path / "car.yaml"
    path.write_text(CAR, encoding="utf-8")
    assert import_flightgoggles(path) == pw.vehicles.load("car", pw.CarParameters)


def test_a_variance_per_sample_becomes_a_density(tmp_path: Path) -> None:
    """A white signal of density d, sampled at rate f, has the variance d^2 f."""
    vehicle = imported(tmp_path, "flightgoggles_imu: {gyroscope_variance: 0.25}")
    assert isinstance(vehicle, pw.VehicleParameters)
    assert math.isclose(vehicle.imu.gyroscope_noise_density**2 * 960.0, 0.25)


def test_the_published_controller_can_be_selected_by_replace(tmp_path: Path) -> None:
    vehicle = imported(tmp_path, DRONE).replace(rate_controller=PUBLISHED_CONTROLLER)
    assert isinstance(vehicle, pw.VehicleParameters)
    assert vehicle.rate_controller.discretisation == "backward_euler"
    assert not vehicle.rate_controller.gyroscopic_term


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DRONE.replace("vehicle_mass", "vehicle_mas"), "vehicle_mas = 1.0; did you mean"),
        (DRONE.replace("flightgoggles_imu", "flightgoggles_im"), "section flightgoggles_im;"),
        (DRONE.replace("vehicle_mass: 1.0", "vehicle_mass: heavy"), "vehicle_mass = 'heavy'"),
        (DRONE.replace("variance: 0.003", "variance: -0.003"), "gyroscope_variance = -0.003"),
        ("flightgoggles_imu: 3", "flightgoggles_imu = 3"),
        ("a: [", "expected a YAML file"),
        ("- 1", "expected sections"),
        (CAR.replace("[0.001, 0.001]", "0.001"), "velocity_process_noise = 0.001: expected 2"),
    ],
)
def test_errors_name_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(pw.ParameterError) as error:
        imported(tmp_path, text)
    assert message in str(error.value)
    assert "drone.yaml" in str(error.value)


def test_a_controller_for_another_vehicle_warns(tmp_path: Path) -> None:
    text = DRONE + "\n" + "flightgoggles_ros_bridge: {}\n"
    other = text.replace(
        "    int_bound_roll: 1000.0\n    vehicle_inertia_xx: 0.0049",
        "    int_bound_roll: 1000.0\n    vehicle_inertia_xx: 0.0059",
    )
    with pytest.warns(UserWarning, match=r"flightgoggles_pid\.vehicle_inertia_xx = 0\.0059"):
        vehicle = imported(tmp_path, other)
    assert vehicle == imported(tmp_path, text)


def test_without_pyyaml_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "propwash\[yaml\]"'):
        imported(tmp_path, DRONE)
