"""Linear models against simulated flights and closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import propwash as pw
import pytest
from propwash.control import LinearModel, linearize

DT = 1.0 / 500.0


def state_of(fleet: pw.Fleet) -> pw.MulticopterState:
    """The state of a fleet."""
    return pw.MulticopterState(
        fleet.position, fleet.velocity, fleet.attitude, fleet.body_rates, fleet.rotor_speeds
    )


def tumbling(
    n: int, rotors: int = 4, seed: int = 0, speed_max: float = 2200.0
) -> pw.MulticopterState:
    """Random states, with rotor speeds well within their limits."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(n, 4))
    return pw.MulticopterState(
        rng.normal(size=(n, 3)),
        rng.normal(size=(n, 3)) * 4.0,
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(n, 3)) * 2.0,
        rng.uniform(0.3, 0.45, (n, rotors)) * speed_max,
    )


@pytest.mark.parametrize("delay", [0.0, 0.0031])
def test_the_closed_loop_model_predicts_a_flight_with_delay(delay: float) -> None:
    """For a small step of the commanded rates; the error decreases quadratically."""
    vehicle = pw.vehicles.load("flightgoggles").replace(motor={"command_delay": delay})
    model = linearize(vehicle, kind="discrete", dt=DT, command="rate_thrust")
    weight = 9.81 * vehicle.body.mass
    errors = []
    for size in (2e-2, 1e-2):
        uav = pw.Multicopter(vehicle, noise=False)
        u = np.array([size, -size, size, weight * size])
        flown = uav.rollout(pw.RateThrust(u[:3], weight + u[3]), DT, steps=40)
        x = np.zeros(len(model.A))
        for _ in range(40):
            x = model.A @ x + model.B @ u
        errors.append(np.abs(flown.body_rates[-1] - x[9:12]).max() / size)
        assert np.abs(x[9:12]).max() > 0.05 * size
    assert errors[0] < 0.05
    assert errors[1] < 0.65 * errors[0] + 1e-9


def test_stacked_models_equal_single_models() -> None:
    states = tumbling(5)
    rng = np.random.default_rng(1)
    command = pw.RateThrust(rng.normal(size=(5, 3)), rng.uniform(8.0, 11.0, 5))
    many = linearize("flightgoggles", states, command, kind="discrete", outputs=["angular_rate"])
    assert many.A.shape == (5, 25, 25)
    assert many.C.shape == (5, 3, 25)
    assert many.drift.shape == (5, 25)
    for i in range(5):
        one = linearize(
            "flightgoggles",
            pw.MulticopterState(**{k: v[i] for k, v in vars(states).items()}),
            pw.RateThrust(command.rates[i], command.thrust[i]),
            kind="discrete",
            outputs=["angular_rate.x", "angular_rate.y", "angular_rate.z"],
        )
        for name in "ABCD":
            assert np.array_equal(getattr(one, name), getattr(many, name)[i])


def test_a_fleet_is_linearised_at_its_states_with_its_parameters() -> None:
    fleet = pw.Fleet("flightgoggles", 3, dtype="float64", noise=False, threads=1)
    fleet.set_parameters(mass=fleet.parameters["mass"] * np.array([0.9, 1.0, 1.2]))
    fleet.step(pw.RateThrust([1.0, 0.0, 0.5], 10.0), substeps=50)
    models = linearize(fleet)
    masses = fleet.parameters["mass"]
    for i in range(3):
        heavy = pw.vehicles.load("flightgoggles").replace(body={"mass": float(masses[i])})
        state = {k: v[i] for k, v in vars(state_of(fleet)).items()}
        assert np.allclose(models.A[i], linearize(heavy, pw.MulticopterState(**state)).A)


def test_a_fleet_is_linearised_with_its_own_integrator() -> None:
    """And with its time step; each vehicle hovers at its own weight."""
    fleet = pw.Fleet("flightgoggles", 3, dt=DT, integrator="euler", dtype="float64", noise=False)
    fleet.set_parameters(mass=fleet.parameters["mass"] * np.array([0.5, 1.0, 1.5]))
    fleet.reset()
    models = linearize(fleet, kind="discrete", command="rate_thrust")
    assert np.abs(models.drift).max() < 1e-9
    assert models.dt == DT
    plain = linearize(
        "flightgoggles", kind="discrete", command="rate_thrust", integrator="euler", dt=DT
    )
    assert np.allclose(models.A[1], plain.A, atol=1e-12)
    uav = pw.Multicopter("flightgoggles", integrator="euler")
    single = linearize(uav, kind="discrete", command="rate_thrust", dt=DT)
    assert np.array_equal(single.A, plain.A)


def test_one_thrust_can_be_combined_with_many_rates() -> None:
    command = pw.RateThrust(np.zeros((4, 3)), 9.81)
    assert linearize("flightgoggles", input=command, kind="discrete").A.shape == (4, 25, 25)


def test_outputs_equal_imu_readings() -> None:
    """The IMU has a lever arm and a rotation; the rates are perturbed."""
    attitude = (math.cos(0.3), 0.0, math.sin(0.3), 0.0)
    vehicle = pw.vehicles.load("flightgoggles").replace(
        imu={"position": (0.05, -0.02, 0.1), "attitude": attitude}
    )
    model = linearize(vehicle, outputs=["specific_force", "angular_rate"])
    uav = pw.Multicopter(vehicle, noise=False)
    h = 1e-4
    for j, rates in ((9, [h, 0, 0]), (10, [0, h, 0]), (11, [0, 0, h])):
        readings = []
        for sign in (1.0, -1.0):
            uav.reset(body_rates=np.array(rates) * sign)
            imu = uav.imu
            readings.append(np.concatenate([imu.specific_force, imu.angular_rate]))
        assert np.allclose((readings[0] - readings[1]) / (2 * h), model.C[:, j], atol=1e-4)


def test_python_control_accepts_the_model() -> None:
    control = pytest.importorskip("control")
    model = linearize("flightgoggles", kind="discrete", command="rate_thrust", dt=DT)
    system = model.to_control()
    assert isinstance(system, control.StateSpace)
    assert system.dt == DT
    assert system.nstates == 25
    assert system.input_labels[3] == "thrust"
    assert system.state_labels[9] == "body_rates[x]"
    assert np.abs(system.poles()).max() < 1.0 + 1e-3
    fleet = linearize("flightgoggles", tumbling(2))
    assert np.array_equal(fleet.to_control(1).A, fleet.A[1])
    with pytest.raises(ValueError, match="index"):
        fleet.to_control()


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"kind": "exact"}, "kind: expected"),
    ({"command": "rate_thrust"}, "continuous model"),
    ({"command": "thrust"}, "command: expected"),
    ({"input": 3.0}, "input: expected"),
    ({"input": pw.RotorSpeeds([1.0, 2.0])}, r"input: expected finite numbers of shape \(4,\)"),
    ({"input": pw.RotorSpeeds([1.0] * 4), "command": "rate_thrust"}, "the kind of input"),
    ({"state": "hover"}, "state: expected"),
    ({"outputs": ["altitude"]}, "outputs: expected"),
    ({"kind": "discrete", "integrator": "heun"}, "integrator"),
    ({"kind": "discrete", "dt": -1.0}, "dt"),
    ({"kind": "discrete", "controller": [1.0]}, "controller: expected"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSALS)
def test_errors_name_invalid_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        linearize("flightgoggles", **arguments)


def test_a_state_of_a_fleet_can_be_linearised() -> None:
    """As its present state, which is the default."""
    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", noise=False)
    fleet.reset(velocity=[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    assert np.array_equal(linearize(fleet, fleet.state).A, linearize(fleet).A)


def test_invalid_states_are_refused() -> None:
    states = tumbling(2)
    states.attitude[1] = 0.0
    with pytest.raises(ValueError, match=r"state.attitude: expected unit quaternions, row 1"):
        linearize("flightgoggles", states)
    states = tumbling(2)
    states.velocity[0, 2] = np.nan
    with pytest.raises(ValueError, match=r"state.velocity: expected finite numbers"):
        linearize("flightgoggles", states)
    slow = pw.vehicles.load("flightgoggles").replace(imu={"rate": 100.0})
    with pytest.raises(ValueError, match=r"imu.rate"):
        linearize(slow, kind="discrete", command="rate_thrust")


def test_models_are_immutable() -> None:
    model = linearize("flightgoggles")
    assert isinstance(model, LinearModel)
    with pytest.raises(AttributeError):
        model.dt = 1.0  # type: ignore[misc]
