"""The symbolic dynamics against the C++ derivative and the linear models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import propwash as pw
import pytest
from helpers import Array, code_blocks, run_in_order
from propwash.control import casadi_model, linearize

ca: Any = pytest.importorskip("casadi")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "casadi.md"
WIND, FORCE, TORQUE = [3.0, -2.0, 1.0], [0.3, 0.2, -0.4], [0.01, -0.02, 0.005]


def random_states(vehicle: pw.VehicleParameters, n: int) -> tuple[pw.MulticopterState, Array]:
    """n states and rotor commands, some near the ground, all within the limits of the motors."""
    rng = np.random.default_rng(len(vehicle.name))
    low, high = np.min(vehicle.motor.speed_min), np.min(vehicle.motor.speed_max)
    rotors = len(vehicle.rotors)
    q = rng.normal(size=(n, 4))
    state = pw.MulticopterState(
        rng.normal(size=(n, 3)) * 0.3,
        rng.normal(size=(n, 3)) * 4.0,
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(n, 3)) * 3.0,
        rng.uniform(low, high, (n, rotors)),
    )
    return state, rng.uniform(low, high, (n, rotors))


def row(state: pw.MulticopterState, i: int) -> pw.MulticopterState:
    """State i."""
    return pw.MulticopterState(*(np.asarray(part)[i] for part in vars(state).values()))


def stacked(state: pw.MulticopterState) -> Array:
    """The state in the order of the model."""
    return np.concatenate([np.asarray(part) for part in vars(state).values()], axis=-1)


def with_every_term() -> pw.VehicleParameters:
    """A vehicle with all terms of the general model."""
    return pw.vehicles.load("crazyflie").replace(
        name="every term",
        inflow={
            "axial": 1e-6,
            "translational": 1e-4,
            "radius": 0.023,
            "drag": 1e-6,
            "axial_drag": 1e-4,
            "flapping": 1e-8,
        },
        ground_effect={"radius": 0.03, "height": -1.0},
        contact={"frequency": 8.0, "leg": 0.02},
        rotor_drag={"linear": (0.3, 0.4, 0.1), "blow_back": 1e-5},
    )


VEHICLES = [*map(pw.vehicles.load, pw.vehicles.names()), with_every_term()]


@pytest.mark.parametrize("vehicle", VEHICLES, ids=[vehicle.name for vehicle in VEHICLES])
def test_the_model_has_the_derivative_of_the_simulation(vehicle: pw.VehicleParameters) -> None:
    model = casadi_model(vehicle)
    state, command = random_states(vehicle, 20)
    uav = pw.Multicopter(vehicle, noise=False)
    uav.wind = np.array(WIND)
    uav.set_external_wrench(FORCE, TORQUE)
    found = np.array(model(stacked(state).T, command.T, wind=WIND, force=FORCE, torque=TORQUE)).T
    for i in range(len(command)):
        expected = stacked(uav.derivative(row(state, i), pw.RotorSpeeds(command[i])))
        atol = 1e-12 * np.abs(expected).max()
        np.testing.assert_allclose(found[i], expected, rtol=1e-12, atol=atol)
    assert len(model.states) == model.function.size1_in("x") == 13 + len(vehicle.rotors)
    assert model.p.size == 0


def test_parameters_are_symbols() -> None:
    names = [
        "body.mass",
        "body.inertia",
        "rotors.position",
        "rotors.thrust_coefficient",
        "rotors.torque_coefficient",
        "motor.time_constant_up",
        "motor.time_constant_down",
        "drag.translational",
        "rotor_drag.linear",
        "inflow.axial",
        "inflow.drag",
    ]
    vehicle = pw.vehicles.load("flightgoggles")
    model = casadi_model(vehicle, names)
    assert model.parameters[:2] == ("body.mass", "body.inertia.0")
    assert model.p[0] == vehicle.body.mass
    # each vehicle of a fleet has parameters of its own, and its drift is the time derivative
    n = 8
    rng = np.random.default_rng(5)
    fleet = pw.Fleet(vehicle, n, dtype="float64", noise=False)
    drawn = {
        name: fleet.parameters[name]
        * rng.uniform(0.9, 1.1, (n, *(1,) * (fleet.parameters[name].ndim - 1)))
        for name in names
    }
    drawn["rotor_drag.linear"] = rng.uniform(0.1, 0.5, (n, 3))
    drawn["inflow.axial"] = rng.uniform(1e-6, 1e-5, n)
    drawn["inflow.drag"] = rng.uniform(1e-6, 1e-5, n)
    fleet.set_parameters(drawn)
    state, command = random_states(vehicle, n)
    expected = linearize(fleet, state, pw.RotorSpeeds(command)).drift
    order = [name for name in fleet.parameters if name in names]
    p = np.concatenate([drawn[name].reshape(n, -1) for name in order], axis=1)
    assert p.shape[1] == len(model.parameters)
    found = np.array(model(stacked(state).T, command.T, p=p.T)).T
    rotation = (
        2.0 * quaternion_product(conjugate(np.asarray(state.attitude)), found[:, 6:10])[:, 1:]
    )
    found = np.concatenate([found[:, :6], rotation, found[:, 10:]], axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-11 * np.abs(expected).max())


def conjugate(q: Array) -> Array:
    """The conjugate of quaternions (…, 4)."""
    return q * [1.0, -1.0, -1.0, -1.0]


def quaternion_product(a: Array, b: Array) -> Array:
    """The Hamilton product of quaternions (…, 4)."""
    w = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w, v], axis=-1)


def test_its_jacobian_is_the_linear_model() -> None:
    vehicle = with_every_term()
    model = casadi_model(vehicle)
    rotors = len(vehicle.rotors)
    x, u = ca.SX.sym("x", 13 + rotors), ca.SX.sym("u", rotors)
    xdot = model(x, u)
    jacobian = ca.Function("jacobian", [x, u], [xdot, ca.jacobian(xdot, x), ca.jacobian(xdot, u)])
    state, command = random_states(vehicle, 5)
    for i in range(5):
        point = row(state, i)
        expected = linearize(vehicle, point, pw.RotorSpeeds(command[i]))
        rate, by_x, by_u = (np.array(part) for part in jacobian(stacked(point), command[i]))
        q = np.asarray(point.attitude)
        # the attitude as a rotation vector in body axes, which rotate (docs/linearize.md)
        to_quaternion = np.stack([0.5 * quaternion_product(q, e) for e in np.eye(4)[1:]], axis=1)
        turn = quaternion_product(conjugate(q), rate[6:10, 0])
        transport = np.stack([quaternion_product(turn, e)[1:] for e in np.eye(4)[1:]], axis=1)

        def body(rows: Array, q: Array = q) -> Array:
            return np.stack(
                [2.0 * quaternion_product(conjugate(q), column)[1:] for column in rows.T], axis=1
            )

        columns = np.concatenate([by_x[:, :6], by_x[:, 6:10] @ to_quaternion, by_x[:, 10:]], axis=1)
        a = np.concatenate([columns[:6], body(columns[6:10]), columns[10:]])
        a[6:9, 6:9] -= transport
        b = np.concatenate([by_u[:6], body(by_u[6:10]), by_u[10:]])
        np.testing.assert_allclose(a, expected.A, atol=1e-11 * np.abs(expected.A).max())
        np.testing.assert_allclose(b, expected.B, atol=1e-11 * np.abs(expected.B).max())


def test_derivatives_exist_at_rest() -> None:
    model = casadi_model(with_every_term())
    x = ca.MX.sym("x", 17)
    by_x = ca.Function("by_x", [x], [ca.jacobian(model(x, np.full(4, 1500.0)), x)])
    at_rest = np.zeros(17)
    at_rest[6] = 1.0
    assert np.all(np.isfinite(np.array(by_x(at_rest))))


def test_invalid_arguments() -> None:
    with pytest.raises(ValueError, match=r"parameters: expected some of body\.mass, .* got 'mass'"):
        casadi_model("flightgoggles", ["mass"])
    with pytest.raises(ValueError, match=r"got 'motor\.command_delay'"):
        casadi_model("flightgoggles", "motor.command_delay")
    heavy = pw.vehicles.load("flightgoggles")
    with pytest.raises(pw.ParameterError, match=r"body\.mass = -1"):
        casadi_model(heavy.replace(body={"mass": -1.0}))


@pytest.mark.skipif(not PAGE.exists(), reason="docs are missing")
def test_the_code_of_the_page_runs() -> None:
    run_in_order(code_blocks(PAGE, "python"), "docs/casadi.md")
