"""The instants to which readings belong: docs/sensors.md, "When a reading is taken"."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import rotation_matrices
from propwash.world import Plane, Scene

DT = 1.0 / 960.0
GRAVITY = np.array([0.0, 0.0, -9.81])


def command_at(step: int) -> pw.RateThrust:
    """A command that changes quickly."""
    return pw.RateThrust([3.0 * np.sin(0.1 * step), 1.0, -0.5], 9.81 + 4.0 * np.cos(0.2 * step))


def expected_imu(uav: pw.Multicopter) -> tuple[Any, Any]:
    """The reading without noise for the present state and the inputs of the last step."""
    state, rate = uav.state, uav.derivative()
    return (rate.velocity - GRAVITY) @ rotation_matrices(state.attitude), state.body_rates


def test_an_imu_reading_belongs_to_the_end_of_its_step() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    before = expected_imu(uav)
    for step in range(50):
        uav.step(command_at(step), DT)
        reading, (force, rates) = uav.imu, expected_imu(uav)
        assert reading.time == uav.time
        np.testing.assert_allclose(reading.specific_force, force, atol=1e-9)
        np.testing.assert_array_equal(reading.angular_rate, rates)
        if step > 5:  # and not to its start
            assert np.abs(reading.specific_force - before[0]).max() > 1e-4
            assert np.abs(reading.angular_rate - before[1]).max() > 1e-4
        before = (force, rates)


def test_a_fleet_and_a_rollout_have_the_readings_of_the_same_instants() -> None:
    uav = pw.Multicopter("flightgoggles", noise=False)
    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", noise=False, threads=1)
    recorded = pw.Multicopter("flightgoggles", noise=False)
    for step in range(30):
        uav.step(command_at(step), DT)
        fleet.step(command_at(step))
        log = recorded.rollout(command_at(step), DT, steps=1)
        for reading in (fleet.imu.specific_force[1], log.specific_force[0]):
            np.testing.assert_allclose(reading, uav.imu.specific_force, atol=1e-9)
        np.testing.assert_allclose(fleet.imu.angular_rate[1], uav.imu.angular_rate, atol=1e-10)
        assert log.time[0] == uav.imu.time


def test_the_mean_of_two_readings_integrates_to_second_order() -> None:
    """The rotation about an axis over a step: end value or mean of start and end."""
    errors = []
    for parts in (1, 2):
        uav = pw.Multicopter("flightgoggles", noise=False)
        dt, angle = DT / parts, 0.0
        end, mean, previous = 0.0, 0.0, 0.0
        for _ in range(48 * parts):
            uav.step(pw.RateThrust([0.0, 0.0, 2.0], 9.81), dt)
            rate = uav.imu.angular_rate[2]
            end += rate * dt
            mean += 0.5 * (previous + rate) * dt
            previous = rate
        angle = 2.0 * np.arctan2(uav.attitude[3], uav.attitude[0])
        errors.append((abs(end - angle), abs(mean - angle)))
    assert errors[0][0] / errors[1][0] == pytest.approx(2.0, rel=0.1)
    assert errors[0][1] / errors[1][1] > 3.0
    assert errors[0][1] < 0.05 * errors[0][0]


@pytest.mark.parametrize("latency", [0.0, 0.05])
def test_beacons_and_ranges_belong_to_the_time_of_their_handle(latency: float) -> None:
    scene = Scene([Plane(name="ground", position=(0.0, 0.0, -2.0))])
    markers = {"a": [8.0, 1.0, 0.0], "b": [8.0, -1.0, 1.0]}
    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", threads=1)
    beacons = fleet.attach(pw.Beacons(scene, markers=markers), rate=60.0, latency=latency)
    ranges = fleet.attach(pw.RangeFinder(scene, variance=0.0), rate=60.0, latency=latency)
    poses = {0: (fleet.position, fleet.attitude)}
    seen = set()
    for step in range(1, 97):
        fleet.step(command_at(step))
        poses[step] = (fleet.position, fleet.attitude)
        if np.isnan(beacons.time).any():
            assert step * DT < latency
            continue
        sampled = round(float(beacons.time[0]) / DT)
        seen.add(sampled)
        assert -1e-9 < step * DT - beacons.time[0] - latency < 1.0 / 60.0 + DT
        again = pw.Beacons(scene, markers=markers).measure(*poses[sampled])
        np.testing.assert_allclose(beacons.reading.u, again.u, atol=1e-9)
        distance = pw.RangeFinder(scene, variance=0.0).measure(*poses[sampled])
        np.testing.assert_allclose(ranges.reading.range, distance.range, atol=1e-12)
    assert len(seen) >= 3
