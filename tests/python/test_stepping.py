"""step(), rollout(), state and set_state(), which are alike for all vehicles."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.trajectories import Circle, stack

CIRCLE = Circle(radius=2.0, speed=2.0, centre=(0.0, 0.0, 1.0))
REFERENCE = CIRCLE.sample(period=4 * pw.DEFAULT_DT)[:60]


def makers() -> list[Any]:
    drive, hover = pw.SpeedYawRate(2.0, 0.3), pw.RateThrust([0.1, 0.2, 0.3], 9.81)
    return [
        pytest.param(lambda: pw.Multicopter(seed=1), hover, id="Multicopter"),
        pytest.param(lambda: pw.Car(seed=1), drive, id="Car"),
        pytest.param(lambda: pw.Fleet(n=3, seed=1, threads=1), hover, id="Fleet"),
    ]


@pytest.mark.parametrize(("make", "command"), makers())
def test_steps_and_substeps_are_keywords_with_one_meaning(make: Any, command: Any) -> None:
    held, looped, flown = make(), make(), make()
    held.step(command, substeps=12)
    for _ in range(12):
        looped.step(command)
    rows = flown.rollout(command, steps=3, substeps=4)
    assert len(rows) == 3
    assert held.snapshot() == looped.snapshot() == flown.snapshot()
    before = held.snapshot()
    positional = (1 / 960, 12) if isinstance(held, pw.Multicopter | pw.Car) else (12,)
    with pytest.raises(TypeError):
        held.step(command, *positional)
    with pytest.raises(TypeError):
        held.rollout(command, *positional)
    with pytest.raises(ValueError, match="substeps"):
        held.step(command, substeps=0)
    with pytest.raises(TypeError):
        held.step(command, steps=12)
    assert held.snapshot() == before


@pytest.mark.parametrize(("make", "command"), makers())
def test_set_state_is_the_inverse_of_state(make: Any, command: Any) -> None:
    one, other = make(), make()
    one.step(command, substeps=40)
    other.set_state(one.state)
    for name, value in vars(one.state).items():
        # attitudes are normalised, which may change the last bit
        expected = np.asarray(value)
        error = 4.0 * np.finfo(expected.dtype).eps if name == "attitude" else 0.0
        assert np.allclose(getattr(other.state, name), expected, rtol=0.0, atol=error), name
    assert np.all(other.time == 0.0)
    copy = one.state
    one.step(command)
    assert any(np.any(getattr(copy, name) != value) for name, value in vars(one.state).items())
    before = one.snapshot()
    with pytest.raises(TypeError, match="state: expected a"):
        one.set_state("here")
    with pytest.raises(TypeError, match="state: expected a"):
        one.set_state(None)
    with pytest.raises(TypeError, match="state: expected a"):
        one.reset("here")
    assert one.snapshot() == before


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_state_of_a_fleet(dtype: str) -> None:
    fleet = pw.Fleet("crazyflie", 5, dtype, seed=3, threads=1)
    fleet.step(pw.RateThrust([0.5, 0.0, 0.2], fleet.vehicle.weight), substeps=30)
    state = fleet.state
    assert isinstance(state, pw.FleetState)
    assert len(state) == 5
    shapes = {"position": 3, "velocity": 3, "attitude": 4, "body_rates": 3, "rotor_speeds": 4}
    for name, width in shapes.items():
        array = getattr(state, name)
        assert (array.shape, array.dtype) == ((5, width), np.dtype(dtype))
        assert np.array_equal(array, getattr(fleet, name))
    # parts of the state of some vehicles; the rest is unchanged
    mask = np.array([True, False, False, True, False])
    fleet.set_state(velocity=[1.0, 2.0, 3.0], mask=mask)
    assert np.array_equal(fleet.velocity[mask], np.tile([1.0, 2.0, 3.0], (2, 1)))
    assert np.array_equal(fleet.velocity[~mask], state.velocity[~mask])
    assert np.array_equal(fleet.position, state.position)
    assert np.all(fleet.time > 0.0)
    # a part has priority over the state
    fleet.set_state(state, velocity=np.zeros(3))
    assert not fleet.velocity.any()
    fleet.reset(state, mask=mask)
    assert np.array_equal(fleet.velocity[mask], state.velocity[mask])
    assert np.array_equal(fleet.time == 0.0, mask)
    # the state of one vehicle for all
    start = pw.Multicopter("crazyflie").trim(velocity=2.0)
    fleet.reset(start)
    assert np.allclose(fleet.velocity, np.tile(start.velocity, (5, 1)), rtol=1e-6)


def test_parts_of_the_state_of_one_vehicle() -> None:
    uav = pw.Multicopter("crazyflie", seed=1)
    uav.step(pw.RateThrust([0.5, 0.0, 0.2], uav.parameters.weight), substeps=30)
    before, biases = uav.state, uav.gyroscope_bias
    uav.set_state(velocity=[1.0, 2.0, 3.0])
    assert np.array_equal(uav.velocity, [1.0, 2.0, 3.0])
    assert np.array_equal(uav.position, before.position)
    assert np.array_equal(uav.rotor_speeds, before.rotor_speeds)
    assert np.array_equal(uav.gyroscope_bias, biases)
    uav.set_state(before, position=[0.0, 0.0, 5.0])
    assert np.array_equal(uav.position, [0.0, 0.0, 5.0])
    assert np.array_equal(uav.velocity, before.velocity)


def makers_of_multicopters() -> list[Any]:
    return [
        pytest.param(lambda: pw.Multicopter("crazyflie", seed=2), id="Multicopter"),
        pytest.param(lambda: pw.Fleet("crazyflie", 3, seed=2, threads=1), id="Fleet"),
        pytest.param(lambda: fleet_with_sensor(), id="Fleet with a sensor"),
    ]


def fleet_with_sensor() -> pw.Fleet:
    """A fleet whose steps are split at the samples of a sensor."""
    fleet = pw.Fleet("crazyflie", 3, seed=2, threads=1)
    fleet.attach(pw.Barometer(seed=1), rate=50.0)
    return fleet


@pytest.mark.parametrize("make", makers_of_multicopters())
def test_a_reference_commands_the_geometric_controller(make: Any) -> None:
    direct, explicit, stepped = make(), make(), make()
    for each in (direct, explicit, stepped):
        each.reset(position=REFERENCE.position[0])
    flown = direct.rollout(REFERENCE, substeps=4)
    expected = explicit.rollout(REFERENCE.command("geometric"), substeps=4)
    assert np.array_equal(flown.position, expected.position)
    for row in range(len(REFERENCE)):
        stepped.step(REFERENCE[row], substeps=4)
    assert direct.snapshot() == explicit.snapshot() == stepped.snapshot()
    with pytest.raises(ValueError, match="60 rows"):
        direct.step(REFERENCE)
    assert direct.snapshot() == explicit.snapshot()


def test_a_reference_of_another_number_of_vehicles_is_refused() -> None:
    many = stack([REFERENCE, REFERENCE])
    for each in (pw.Multicopter("crazyflie"), pw.Fleet("crazyflie", 3, threads=1)):
        before = each.snapshot()
        with pytest.raises(ValueError, match="expected"):
            each.rollout(many)
        with pytest.raises(TypeError, match=r"trajectories\.Reference, got"):
            each.step(CIRCLE)  # type: ignore[arg-type]
        assert each.snapshot() == before
    two = pw.Fleet("crazyflie", 2, threads=1)
    assert two.rollout(many).rotor_speeds.shape == (60, 2, 4)  # type: ignore[union-attr]
