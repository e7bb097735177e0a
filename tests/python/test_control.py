"""Filter, PID, allocation and rate controller as separate objects."""

from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array, wrong
from msgspec.structs import replace
from scipy import signal


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


def test_prioritised_allocation_requires_positive_thrust_of_each_rotor() -> None:
    vehicle = pw.vehicles.load("flightgoggles")
    down = tuple(
        replace(rotor, axis=(0.0, 0.0, -1.0), thrust_coefficient=5e-7) for rotor in vehicle.rotors
    )
    reversible = vehicle.replace(rotors=vehicle.rotors + down, motor={"speed_min": -2200.0})
    allocation = pw.Allocation(reversible)
    with pytest.raises(ValueError, match="prioritised"):
        allocation.allocate([0.0, 0.0, 0.0], 9.81, prioritised=True)


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
