"""Contact with the ground, against the equations in NumPy; rest, fleets, derivatives."""

from __future__ import annotations

import numpy as np
import propwash as pw
import pytest
from helpers import tilted_hexacopter
from plain_model import ATTITUDE, PlainModel, packed

DT = 1.0 / 960
RATE = 2.0 * np.pi * 12.0
CONTACT = {"frequency": 12.0, "leg": 0.03}
STANDING = 0.03 - 9.81 / RATE**2


def on_feet(name: str = "flightgoggles") -> pw.VehicleParameters:
    return pw.vehicles.load(name).replace(contact=CONTACT)


def test_forces_are_those_of_the_plain_equations() -> None:
    """One step of Euler and the IMU, in wind, for random states in which some feet touch."""
    vehicle = tilted_hexacopter().replace(contact={"frequency": 9.0, "leg": 0.2, "height": 0.4})
    rng = np.random.default_rng(4)
    wind = np.array([2.0, -1.0, 0.5])
    plain, uav = PlainModel(vehicle, wind), pw.Multicopter(vehicle, integrator="euler", noise=False)
    uav.wind = wind
    touching = 0
    for _ in range(50):
        q = np.array([1.0, *rng.normal(0.0, 0.2, 3)])
        state = pw.MulticopterState(
            rng.normal([0.0, 0.0, 0.6], 0.1),
            rng.normal(0.0, 0.5, 3),
            q / np.linalg.norm(q),
            rng.normal(0.0, 1.0, 3),
            rng.uniform(300.0, 900.0, 6),
        )
        uav.reset(state)
        x, command = packed(uav.state), np.asarray(state.rotor_speeds)
        touching += int(np.any(plain.feet(x)[1]))
        force, _ = plain.imu(x, command)
        np.testing.assert_allclose(uav.imu.specific_force, force, atol=1e-8)
        uav.step(pw.RotorSpeeds(command), dt=1e-5)
        exact = x + 1e-5 * plain.derivative(x, command)
        exact[ATTITUDE] /= np.linalg.norm(exact[ATTITUDE])
        np.testing.assert_allclose(packed(uav.state), exact, atol=1e-9)
    assert touching > 15


def test_contact_may_be_a_parameter_of_each_vehicle() -> None:
    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", noise=False, dt=DT)
    fleet.set_parameters({"contact.frequency": [12.0, 0.0], "contact.leg": [0.03, 0.0]})
    fleet.set_state(position=[[0, 0, 0.1]] * 2, rotor_speeds=np.zeros((2, 4)))
    fleet.step(pw.RotorSpeeds(np.zeros((2, 4))), substeps=1920)
    assert fleet.position[0, 2] == pytest.approx(STANDING, abs=1e-6)
    assert fleet.position[1, 2] < -5.0


@pytest.mark.parametrize("name", ["contact.frequency", "contact.damping", "contact.leg", "start"])
def test_derivatives_through_a_touch_down_equal_central_differences(name: str) -> None:
    """The force is continuous, so the derivatives exist."""

    def landed(change: float, derive: bool) -> tuple[float, float]:
        fleet = pw.Fleet(on_feet(), 1, dtype="float64", noise=False, dt=1e-3)
        fleet.reset(seed=0)
        start = np.array([[0.0, 0.0, 0.032 + (change if name == "start" else 0.0)]])
        if name != "start":
            fleet.set_parameters({name: np.array(fleet.parameters[name]) + change})
        fleet.set_state(position=start, velocity=[[0.2, 0.0, -0.1]], rotor_speeds=np.zeros((1, 4)))
        command = pw.RotorSpeeds(np.full((5, 1, 4), 100.0))
        names = [] if name == "start" else [name]
        states, pullback = fleet.vjp(command, substeps=20, parameters=names)
        weights = np.zeros_like(states.velocity)
        weights[-1, 0] = [1.0, 0.0, 1.0]
        value = float((states.velocity * weights).sum())
        if not derive:
            return value, 0.0
        back = pullback(velocity=weights)
        slope = back.start.position[0, 2] if name == "start" else back.parameters[name].sum()
        return value, float(slope)

    _, slope = landed(0.0, True)
    h = 1e-7 if name in ("start", "contact.leg") else 1e-5
    difference = (landed(h, False)[0] - landed(-h, False)[0]) / (2.0 * h)
    assert slope == pytest.approx(difference, rel=2e-3, abs=1e-6)


def test_height_is_in_the_world_frame() -> None:
    vehicle = on_feet().replace(contact={"height": -5.0})
    uav = pw.Multicopter(vehicle, noise=False)
    uav.reset(position=[1.0, 2.0, -4.9], rotor_speeds=[0.0] * 4)
    uav.step(pw.RotorSpeeds([0.0] * 4), DT, substeps=1920)
    assert uav.position == pytest.approx([1.0, 2.0, STANDING - 5.0], abs=1e-6)
