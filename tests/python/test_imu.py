"""The IMU as a separate object: readings equal to those of a vehicle, and refused arguments."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import propwash as pw

AT_REST = [0.0, 0.0, 9.81]


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
