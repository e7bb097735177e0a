"""The IMU as a separate object: readings equal to those of a vehicle, and refused arguments."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import propwash as pw
import pytest
from helpers import Array
from scipy.spatial.transform import Rotation

AT_REST = [0.0, 0.0, 9.81]


def to_body(uav: pw.Multicopter, vector_W: Array) -> Array:
    """The body components of a vector given in world components."""
    rotation = Rotation.from_quat(pw.frames.wxyz_to_xyzw(uav.attitude))
    return np.asarray(rotation.inv().apply(vector_W))


@pytest.mark.parametrize("rate", [0.0, 333.0])
def test_readings_equal_those_of_a_vehicle(rate: float) -> None:
    """With equal noise; the specific force comes from the derivative, up to rounding."""
    vehicle = pw.vehicles.load("penguin").replace(
        process_noise=pw.ProcessNoiseParameters(),
        imu={"position": (0.05, -0.02, 0.03), "attitude": (0.6, 0.0, 0.8, 0.0), "rate": rate},
    )
    uav = pw.Multicopter(vehicle, seed=3, id=7)
    imu = pw.Imu(vehicle, seed=3, id=7)
    gravity = np.array(vehicle.body.gravity)
    dt = 1 / 960

    def read(dt: float) -> pw.ImuReading:
        motion = uav.derivative()
        force = to_body(uav, motion.velocity - gravity)
        return imu.read(force, uav.body_rates, motion.body_rates, dt)

    readings = [(read(0.0), uav.imu)]
    for n in range(300):
        uav.step(pw.RateThrust([np.sin(0.1 * n), 0.4, -0.2], thrust=11.0), dt=dt)
        readings.append((read(dt), uav.imu))
    for found, expected in readings:
        assert np.allclose(found.specific_force, expected.specific_force, rtol=0, atol=1e-9)
        assert np.array_equal(found.angular_rate, expected.angular_rate)
        assert found.time == expected.time
    assert np.array_equal(imu.accelerometer_bias, uav.accelerometer_bias)
    assert np.array_equal(imu.gyroscope_bias, uav.gyroscope_bias)
    assert len({found.time for found, _ in readings}) == (301 if rate == 0.0 else 105)


def test_snapshots_copies_and_pickles_give_identical_readings() -> None:
    imu = pw.Imu("flightgoggles", seed=5)
    for _ in range(20):
        imu.read(AT_REST, [0.1, 0.0, 0.0])
    others = [copy.deepcopy(imu), pickle.loads(pickle.dumps(imu)), pw.Imu("flightgoggles", seed=5)]
    others[2].restore(imu.snapshot())
    for _ in range(20):
        expected = imu.read(AT_REST, [0.0, 0.2, 0.0])
        for other in others:
            found = other.read(AT_REST, [0.0, 0.2, 0.0])
            assert np.array_equal(found.specific_force, expected.specific_force)
            assert np.array_equal(found.angular_rate, expected.angular_rate)
    assert others[1].parameters == imu.parameters
    imu.reset()
    assert (imu.time, imu.steps) == (0.0, 40)


def test_parameters_and_vehicles_are_accepted() -> None:
    vehicle = pw.vehicles.load("crazyflie")
    readings = [
        pw.Imu(sensor, seed=2).read(AT_REST, [0.0, 0.0, 0.0])
        for sensor in ("crazyflie", vehicle, vehicle.imu)
    ]
    for reading in readings[1:]:
        assert np.array_equal(reading.specific_force, readings[0].specific_force)
    quiet = pw.Imu(vehicle, noise=False).read(AT_REST, [1.0, 2.0, 3.0])
    assert quiet.angular_rate.tolist() == [1.0, 2.0, 3.0]
