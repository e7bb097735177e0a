"""Filter, PID, allocation and rate controller as separate objects."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any, Literal

import numpy as np
import propwash as pw
import pytest
from helpers import MULTICOPTERS, Array, published, tilted_hexacopter, wrong
from msgspec.structs import replace
from scipy import signal

DT = 1.0 / 960.0
ALL = {**{name: pw.vehicles.load(name) for name in MULTICOPTERS}, "tilted": tilted_hexacopter()}


def pickled(part: Any) -> Any:
    """A copy made with pickle."""
    return pickle.loads(pickle.dumps(part))


def noise(rows: int, *shape: int) -> Array:
    """A random signal."""
    return np.random.default_rng(3).normal(size=(rows, *shape))


@pytest.mark.parametrize("cutoff", [0.5, 30.0, 300.0, 2000.0])
@pytest.mark.parametrize("rate", [100.0, 960.0, 8000.0])
def test_exact_discretisation_matches_scipy(cutoff: float, rate: float) -> None:
    w = 2.0 * math.pi * cutoff
    system = signal.cont2discrete(([w * w], [1.0, math.sqrt(2.0) * w, w * w]), 1 / rate, "zoh")
    samples = noise(400)
    # the output of the library includes the current sample
    expected = signal.lfilter(system[0][0], system[1], np.append(samples, 0.0))[1:]
    found = pw.LowPass(cutoff, 1.0 / rate).apply(samples)
    assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_backward_euler_matches_the_published_node() -> None:
    p, q = 35530.5758439217, 266.572976289502
    found = pw.LowPass(30.0, DT, discretisation="backward_euler").apply(noise(200))
    value = slope = 0.0
    d = 1.0 + q * DT + p * DT * DT
    for sample, output in zip(noise(200), found, strict=True):
        slope, value = (
            (slope + p * DT * (sample - value)) / d,
            (DT * (slope + p * DT * sample) + (1.0 + q * DT) * value) / d,
        )
        assert output == pytest.approx(value, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("method", ["exact", "backward_euler"])
def test_filter_continues_from_the_last_sample(method: pw.control.Discretisation) -> None:
    samples = noise(50, 3)
    whole = pw.LowPass(30.0, channels=3, discretisation=method).apply(samples)
    parts = pw.LowPass(30.0, channels=3, discretisation=method)
    assert np.array_equal(np.vstack([parts.apply(samples[:20]), parts.apply(samples[20:])]), whole)
    updated = pw.LowPass(30.0, channels=3, discretisation=method)
    assert np.array_equal([updated.update(row) for row in samples], whole)
    single = pw.LowPass(30.0, discretisation=method)
    assert np.array_equal([single.update(float(row[1])) for row in samples], whole[:, 1])


def test_pid_matches_its_equation() -> None:
    pid = pw.Pid(2.0, 3.0, 0.5, integral_bound=0.02, dt=0.01)
    integral = 0.0
    for error, slope in noise(60, 2):
        integral = min(max(integral + error * 0.01, -0.02), 0.02)
        assert pid.update(error, slope) == pytest.approx(
            2.0 * error + 3.0 * integral - 0.5 * slope, rel=1e-14
        )
        assert pid.integral == pytest.approx(integral, rel=1e-14)
    pid.reset()
    assert pid.integral == 0.0


@pytest.mark.parametrize("name", ALL)
def test_allocation_matrix_matches_the_equations(name: str) -> None:
    """(2) to (5) at constant speed, column by column."""
    allocation = pw.Allocation(ALL[name])
    for column, rotor in zip(allocation.matrix.T, ALL[name].rotors, strict=True):
        thrust = rotor.thrust_coefficient * np.array(rotor.axis)
        drag = -rotor.spin * rotor.torque_coefficient * np.array(rotor.axis)
        assert np.allclose(column[:3], np.cross(rotor.position, thrust) + drag, rtol=1e-13, atol=0)
        assert column[3] == pytest.approx(thrust[2], rel=1e-14)
    assert allocation.rank == 4


def test_prioritised_allocation_reduces_yaw_before_tilt_and_thrust() -> None:
    """Equal for attainable wrenches; otherwise clipping loses tilt torque and thrust."""
    allocation = pw.Allocation("flightgoggles")
    within = [0.1, -0.2, 0.02], 9.81
    np.testing.assert_allclose(
        allocation.allocate(*within, prioritised=True), allocation.allocate(*within), rtol=1e-12
    )
    desired = np.array([0.35, -0.25, 0.9])
    prioritised = allocation.attained(allocation.allocate(desired, 12.0, prioritised=True))
    clipped = allocation.attained(allocation.allocate(desired, 12.0))
    np.testing.assert_allclose(prioritised.torque[:2], desired[:2], rtol=1e-9)
    assert prioritised.thrust == pytest.approx(12.0, rel=1e-9)
    assert 0.0 <= prioritised.torque[2] < desired[2]
    assert np.abs(clipped.torque[:2] - desired[:2]).max() > 0.03
    assert abs(clipped.thrust - 12.0) > 0.3


@pytest.mark.parametrize("offset", [0.0, 0.001, 0.01, 0.02])
def test_prioritised_allocation_equals_plain_one_for_attainable_wrenches(offset: float) -> None:
    """With any centre of mass, so that rotors contribute different fractions of the thrust."""
    vehicle = pw.vehicles.load("flightgoggles")
    rotors = tuple(
        replace(rotor, position=tuple(np.add(rotor.position, (offset, offset / 2, 0.0)).tolist()))
        for rotor in vehicle.rotors
    )
    allocation = pw.Allocation(vehicle.replace(rotors=rotors))
    max_square = vehicle.motor_values("speed_max")[0] ** 2
    attainable = 0
    for draw in np.random.default_rng(2).uniform(-1, 1, (400, 4)):
        wrench = draw * (0.8, 0.8, 0.2, 16.0) + (0, 0, 0, 18.0)
        without_yaw = wrench * (1, 1, 0, 1)
        squares = allocation.inverse @ np.stack([wrench, without_yaw], axis=1)
        if not np.all((squares > 0) & (squares < max_square)):
            continue
        attainable += 1
        speeds = allocation.allocate(wrench[:3], wrench[3], prioritised=True)
        np.testing.assert_allclose(speeds, np.sqrt(squares[:, 0]), rtol=1e-9)
    assert attainable > 40


def test_prioritised_allocation_requires_positive_thrust_of_each_rotor() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    down = tuple(
        replace(rotor, axis=(0.0, 0.0, -1.0), thrust_coefficient=5e-7) for rotor in vehicle.rotors
    )
    reversible = vehicle.replace(rotors=vehicle.rotors + down, motor={"speed_min": -2200.0})
    allocation = pw.Allocation(reversible)
    with pytest.raises(ValueError, match="prioritised"):
        allocation.allocate([0.0, 0.0, 0.0], 9.81, prioritised=True)


def test_allocation_clips_each_rotor_and_reports_the_attained_wrench() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    allocation = pw.Allocation(vehicle)
    speeds = allocation.allocate([0.0, 0.0, 0.0], 1e6)
    assert np.array_equal(speeds, np.full(4, vehicle.motor.speed_max))
    assert allocation.attained(speeds).thrust == pytest.approx(vehicle.max_thrust)
    assert np.array_equal(allocation.allocate([0.0, 0.0, 0.0], -5.0), np.zeros(4))
    reversible = pw.Allocation(vehicle.replace(motor={"speed_min": -2200.0}))
    down = reversible.allocate([0.0, 0.0, 0.0], -5.0)
    assert np.all(down < 0.0)
    assert reversible.attained(down).thrust == pytest.approx(-5.0)


@pytest.mark.parametrize("gyroscopic_term", [True, False])
@pytest.mark.parametrize("method", ["exact", "backward_euler"])
def test_rate_controller_matches_its_equations(
    method: Literal["exact", "backward_euler"], gyroscopic_term: bool
) -> None:
    """(19) to (22) in the published order, computed with LowPass and Allocation."""
    vehicle = tilted_hexacopter().replace(
        rate_controller={
            "proportional": (9.0, 8.0, 4.0),
            "integral": (3.0, 2.0, 1.0),
            "derivative": (0.3, 0.2, 0.1),
            "integral_bound": 0.001,
            "discretisation": method,
            "gyroscopic_term": gyroscopic_term,
        }
    )
    gains, inertia = vehicle.rate_controller, np.array(vehicle.body.inertia)
    controller, dt = pw.RateController(vehicle, 0.002), 0.002
    allocation = pw.Allocation(vehicle)
    p, q = gains.filter.stiffness, gains.filter.damping
    lowpass = pw.LowPass(stiffness=p, damping=q, dt=dt, discretisation=method, channels=3)
    step = signal.cont2discrete(
        (np.array([[0, 1], [-p, -q]]), np.array([[0], [p]]), np.eye(2), np.zeros((2, 1))), dt
    )
    state, integral = np.zeros((2, 3)), np.zeros(3)
    for reading in 0.3 * noise(40, 3):
        rates = np.asarray(lowpass.update(reading))
        if method == "exact":
            state = step[0] @ state + step[1] * reading
        else:
            slope = (state[1] + p * dt * (reading - state[0])) / (1 + q * dt + p * dt * dt)
            state = np.stack([rates, slope])
        assert np.allclose(state[0], rates, rtol=1e-9, atol=1e-12)
        command = pw.RateThrust([0.5, -0.4, 0.3], 17.0)
        error = command.rates - rates
        integral = np.clip(integral + error * dt, -0.001, 0.001)
        demand = np.array(gains.proportional) * error + np.array(gains.integral) * integral
        torque = inertia @ (demand - np.array(gains.derivative) * state[1])
        if gyroscopic_term:
            torque += np.cross(rates, inertia @ rates)
        found = controller.update(reading, command)
        assert np.allclose(found.desired.torque, torque, rtol=1e-8, atol=1e-10)
        assert found.desired.thrust == 17.0
        assert np.array_equal(
            found.speeds, allocation.allocate(found.desired.torque, found.desired.thrust)
        )
        assert np.allclose(found.attained.torque, allocation.attained(found.speeds).torque)
        assert np.allclose(controller.filtered_rates, rates, rtol=1e-12, atol=1e-14)
        assert np.allclose(controller.integral, integral, rtol=1e-12, atol=1e-14)
    controller.reset()
    assert np.array_equal(controller.integral, np.zeros(3))
    assert np.array_equal(controller.filtered_rates, np.zeros(3))


def test_step_response_of_the_rate_loop() -> None:
    """Both discretisations settle on the command, quickly and with little overshoot."""
    for vehicle in (
        pw.vehicles.load("flightgoggles"),
        published(pw.vehicles.load("flightgoggles")),
    ):
        vehicle = vehicle.replace(drag=pw.DragParameters())
        uav = pw.Multicopter(vehicle, noise=False)
        flown = uav.rollout(pw.RateThrust([1.0, 0.0, 0.0], 9.81), DT, steps=960 * 4)
        rate = flown.body_rates[:, 0]
        rise_time = flown.time[np.argmax(rate > 0.9)] - flown.time[np.argmax(rate > 0.1)]
        assert rise_time < 0.35
        assert rate.max() < 1.25
        assert rate[-1] == pytest.approx(1.0, abs=0.02)
        assert np.abs(flown.body_rates[:, 1:]).max() < 1e-3


def test_parts_can_be_copied_with_their_state() -> None:
    controller = pw.RateController("flightgoggles")
    lowpass = pw.LowPass(30.0, channels=3)
    pid = pw.Pid(1.0, 2.0)
    command = pw.RateThrust([0.1, 0.2, 0.3], 10.0)
    controller.update([0.3, 0.2, 0.1], command)
    lowpass.update([1.0, 2.0, 3.0])
    pid.update(0.4)
    for copied in wrong(copy.deepcopy, pickled):
        again, other = copy.deepcopy(controller), copied(controller)
        assert np.array_equal(other.integral, controller.integral)
        assert np.array_equal(
            again.update([1.0, 1.0, 1.0], command).speeds,
            other.update([1.0, 1.0, 1.0], command).speeds,
        )
        filters = [copy.deepcopy(lowpass), copied(lowpass)]
        first, second = (each.apply(np.ones((5, 3))) for each in filters)
        assert np.array_equal(first, second)
        assert copied(pid).integral == pid.integral
        allocation = pw.Allocation("penguin")
        assert np.array_equal(copied(allocation).matrix, allocation.matrix)
