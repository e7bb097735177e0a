"""Laws of the derivatives of a fleet's flight: Fleet.vjp, Fleet.jvp and propwash.torch."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np
import propwash as pw
import pytest
from gradient_helpers import (
    COUNT,
    LEVELS,
    STATE,
    STEPS,
    SUBSTEPS,
    TRACKING,
    Numbers,
    level_of,
    make_fleet,
    slope,
    start_of,
    weights_of,
    with_delay,
)


def weighted(states: Any, weights: dict[str, Numbers]) -> float:
    return float(sum((weights[k] * getattr(states, k)).sum() for k in STATE))


def check_direction(
    fleet: pw.Fleet, level: str, parameters: Iterable[str] = (), tolerance: float = 1e-6
) -> None:
    """Compares the derivatives along random directions of commands, start and parameters with
    central differences of rollouts.
    """
    rng = np.random.default_rng(4)
    kind, parts = level_of(fleet, level)
    fleet.reset(seed=0)
    weights = weights_of(fleet)
    named = {name: np.array(fleet.parameters[name]) for name in parameters}
    variables = {"commands": parts, "start": start_of(fleet), "parameters": named}

    def prepare(at: dict[str, dict[str, Numbers]]) -> Any:
        fleet.set_parameters(at["parameters"])
        fleet.reset(seed=0)  # the outer loops then run at the same steps
        fleet.set_state(**at["start"])
        return kind(**at["commands"])

    command = prepare(variables)
    _, pullback = fleet.vjp(command, substeps=SUBSTEPS, parameters=list(named))
    gradient = pullback(**weights)
    found = {"commands": gradient.commands, "start": vars(gradient.start)}
    found["parameters"] = gradient.parameters
    for group, values in variables.items():
        for name, x in values.items():
            d = rng.normal(size=x.shape) * np.maximum(1e-2, np.abs(x).mean())

            def moved(h: float, group: str = group, name: str = name, d: Numbers = d) -> float:
                x = unit(name, variables[group][name] + h * d)
                command = prepare({**variables, group: {**variables[group], name: x}})
                return weighted(fleet.rollout(command, substeps=SUBSTEPS), weights)

            if name == "attitude":
                d -= x * (d * x).sum(axis=-1, keepdims=True)
            if group == "parameters":
                d = rng.normal(size=x.shape) * np.abs(x)  # structural zeros stay zero
            expected = slope(partial(moved, d=d), 1e-3)
            assert (found[group][name] * d).sum() == pytest.approx(expected, rel=tolerance), name
    prepare(variables)


def unit(name: str, values: Numbers) -> Numbers:
    if name != "attitude":
        return values
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


@pytest.mark.parametrize("level", [*LEVELS, *TRACKING])
def test_derivatives_equal_central_differences(level: str) -> None:
    check_direction(make_fleet(), level)


@pytest.mark.parametrize("level", ["speeds", "rates", "velocity", "indi"])
@pytest.mark.parametrize("vehicle", ["blackbird"])
def test_other_vehicles(vehicle: str, level: str) -> None:
    check_direction(make_fleet(vehicle), level)


@pytest.mark.parametrize("level", ["speeds", "rates", "position"])
@pytest.mark.parametrize("seconds", [0.0004, 0.0023])
def test_command_delay(level: str, seconds: float) -> None:
    check_direction(make_fleet(with_delay("flightgoggles", seconds)), level)


@pytest.mark.parametrize("level", ["speeds", "rates", "attitude", "geometric"])
def test_action_delay(level: str) -> None:
    fleet = make_fleet(max_action_delay=7)
    fleet.set_action_delay(np.array([0, 3, 7]))
    check_direction(fleet, level)


def test_euler_wind_and_wrench() -> None:
    fleet = make_fleet("blackbird", integrator="euler")
    fleet.set_wind([1.0, -2.0, 0.5])
    fleet.set_external_wrench([0.1, 0.2, 0.3], [1e-3, 2e-3, 1e-3])
    fleet.set_rotor_effectiveness(np.linspace(0.9, 1.0, fleet.rotors))
    check_direction(fleet, "rates")


@pytest.mark.parametrize("level", ["speeds", "rates", "velocity"])
@pytest.mark.parametrize("individual", [False, True])
def test_parameters(level: str, individual: bool) -> None:
    fleet = make_fleet()
    names = ["mass", "body.inertia", "thrust_coefficient", "torque_coefficient"]
    names += ["time_constant_up", "time_constant_down", "drag.translational", "drag.rotational"]
    if individual:
        fleet.set_parameters(mass=fleet.parameters["mass"] * np.array([1.0, 1.1, 0.95]))
    check_direction(fleet, level, names, tolerance=1e-5)


@pytest.mark.parametrize("level", ["speeds", "rates", "position", "indi"])
def test_states_are_those_of_a_rollout(level: str) -> None:
    fleet = make_fleet()
    kind, parts = level_of(fleet, level)
    expected = fleet.rollout(kind(**parts), substeps=SUBSTEPS)
    fleet.reset(seed=fleet.seed)
    states, _ = fleet.vjp(kind(**parts), substeps=SUBSTEPS)
    for name in STATE:
        np.testing.assert_array_equal(getattr(states, name), getattr(expected, name))


def test_windows_equal_separate_flights() -> None:
    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    weights, start = weights_of(fleet), start_of(fleet)
    fleet.reset(**start)
    _, pullback = fleet.vjp(kind(**parts), substeps=SUBSTEPS)
    together = pullback(window=2, **weights)
    fleet.reset(**start)
    for first in range(0, STEPS, 2):
        rows = slice(first, first + 2)
        some = {k: v[rows] for k, v in parts.items()}
        _, piece = fleet.vjp(kind(**some), substeps=SUBSTEPS)
        gradient = piece(**{k: v[rows] for k, v in weights.items()})
        for name in parts:
            np.testing.assert_allclose(
                together.commands[name][rows], gradient.commands[name], rtol=1e-12, atol=1e-15
            )
        if first == 0:
            np.testing.assert_allclose(together.start.velocity, gradient.start.velocity, rtol=1e-12)
    whole, longer = pullback(**weights), pullback(window=STEPS, **weights)
    np.testing.assert_array_equal(whole.commands["rates"], longer.commands["rates"])


def test_chained_flights_equal_a_long_one() -> None:
    """The derivative with respect to a start is a cotangent of the previous flight's end."""
    fleet = make_fleet()
    speeds = level_of(fleet, "speeds")[1]["speeds"]
    weights, start = weights_of(fleet), start_of(fleet)
    fleet.reset(**start)
    _, pullback = fleet.vjp(pw.RotorSpeeds(speeds), substeps=SUBSTEPS)
    expected = pullback(**weights)
    fleet.reset(**start)
    _, first = fleet.vjp(pw.RotorSpeeds(speeds[:2]), substeps=SUBSTEPS)
    _, second = fleet.vjp(pw.RotorSpeeds(speeds[2:]), substeps=SUBSTEPS)
    later = second(**{k: v[2:] for k, v in weights.items()})
    carried = {k: v[:2].copy() for k, v in weights.items()}
    for name in STATE:
        carried[name][-1] += getattr(later.start, name)
    earlier = first(**carried)
    np.testing.assert_allclose(
        earlier.commands["speeds"], expected.commands["speeds"][:2], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        later.commands["speeds"], expected.commands["speeds"][2:], rtol=1e-12
    )


def test_permuted_vehicles_have_permuted_gradients() -> None:
    order = np.random.default_rng(6).permutation(37)
    fleet = make_fleet(n=37)
    kind, parts = level_of(fleet, "rates")
    start, weights = start_of(fleet), weights_of(fleet)
    results = []
    for rows in (np.arange(37), order):
        fleet.reset(**{k: v[rows] for k, v in start.items()})
        _, pullback = fleet.vjp(kind(**{k: v[:, rows] for k, v in parts.items()}), substeps=2)
        results.append(pullback(**{k: v[:, rows] for k, v in weights.items()}))
    np.testing.assert_array_equal(
        results[0].commands["rates"][:, order], results[1].commands["rates"]
    )
    np.testing.assert_array_equal(results[0].start.attitude[order], results[1].start.attitude)


def test_threads_and_float32() -> None:
    results = []
    for options in ({"threads": 1}, {"threads": 2}, {"dtype": "float32"}):
        fleet = make_fleet(n=70, **options)
        kind, parts = level_of(fleet, "rates")
        _, pullback = fleet.vjp(kind(**parts), substeps=2)
        results.append(pullback(**weights_of(fleet)).commands["rates"])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(
        results[2], results[0], rtol=1e-2, atol=1e-3 * np.abs(results[0]).max()
    )


def finite(gradient: Any) -> bool:
    arrays = [*gradient.commands.values(), *gradient.parameters.values(), gradient.motor_commands]
    arrays += [getattr(gradient.start, name) for name in STATE]
    return all(np.isfinite(a).all() for a in arrays)


@pytest.mark.parametrize("level", [*LEVELS, *TRACKING])
@pytest.mark.parametrize("case", ["rest", "stopped", "saturated", "floor", "free fall"])
def test_gradients_are_finite(level: str, case: str) -> None:
    """At zero velocity, rates and rotor speeds, at the limits of the motors, and on the floor."""
    fleet = make_fleet("blackbird", floor=0.0 if case == "floor" else None)
    kind, parts = level_of(fleet, level)
    zero = np.zeros((COUNT, fleet.rotors))
    if case in ("stopped", "free fall"):
        fleet.set_state(
            rotor_speeds=np.maximum(zero, fleet.parameters["speed_min"].reshape(COUNT, -1))
        )
    if case == "free fall":
        parts = {k: v if k == "attitude" else 0.0 * v for k, v in parts.items()}
    if case == "saturated":
        parts = {k: v if k == "attitude" else 1e4 * v for k, v in parts.items()}
    if case == "floor":
        fleet.set_state(velocity=[0.0, 0.0, -1.0])
    _, pullback = fleet.vjp(kind(**parts), substeps=SUBSTEPS, parameters=["mass"])
    assert finite(pullback(**weights_of(fleet)))


def test_saturated_commands_and_the_floor_have_zero_derivatives() -> None:
    fleet = make_fleet(floor=0.0)
    speeds = np.full((2, COUNT, 4), 1e5)
    states, pullback = fleet.vjp(pw.RotorSpeeds(speeds), substeps=2)
    assert not pullback(position=1.0).commands["speeds"].any()
    fleet.reset(position=[0, 0, -1.0])
    states, pullback = fleet.vjp(pw.RotorSpeeds(np.full((1, COUNT, 4), 200.0)))
    assert not np.asarray(states.position)[..., 2].any()
    gradient = pullback(position=1.0, velocity=1.0, body_rates=1.0)
    assert not gradient.start.velocity[:, 2].any()
    assert not gradient.commands["speeds"].any()


def test_shapes_of_commands() -> None:
    fleet = make_fleet()
    weights = weights_of(fleet)
    full = np.full((STEPS, COUNT, 4), 900.0)
    shapes = {(4,): (0, 1), (COUNT, 4): (0,), (STEPS, 1, 4): (1,), full.shape: ()}
    fleet.reset(seed=0)
    _, pullback = fleet.vjp(pw.RotorSpeeds(full), substeps=2)
    expected = pullback(**weights).commands["speeds"]
    for shape, axes in shapes.items():
        fleet.reset(seed=0)
        command = pw.RotorSpeeds(np.full(shape, 900.0))
        _, pullback = fleet.vjp(command, substeps=2, steps=STEPS)
        found = pullback(**weights).commands["speeds"]
        assert found.shape == shape
        np.testing.assert_allclose(found.ravel(), expected.sum(axis=axes).ravel(), rtol=1e-12)


def test_invalid_arguments_are_refused() -> None:
    command = pw.RotorSpeeds(np.full((1, 1, 4), 900.0))
    with pytest.raises(ValueError, match="noise=False"):
        pw.Fleet(n=1).vjp(command)
    fleet = make_fleet(n=1)
    with pytest.raises(KeyError, match="unknown parameter"):
        fleet.vjp(command, parameters=["weight"])
    with pytest.raises(pw.ParameterError, match="common to all"):
        fleet.vjp(command, parameters=["command_delay"])
    _, pullback = fleet.vjp(command)
    with pytest.raises(ValueError, match="expected some of position"):
        pullback(speed=1.0)
    with pytest.raises(ValueError, match="broadcast"):
        pullback(position=np.zeros((2, 1, 3)))
    with pytest.raises(TypeError, match=r"by name, .*got dict; write pullback\(\*\*derivatives\)"):
        pullback({"position": np.zeros(3)})
    with pytest.raises(ValueError, match="tangents"):
        fleet.jvp(command, {"rates": 1.0})
    with pytest.raises(TypeError, match="expected a RateThrust"):
        fleet.vjp(pw.SpeedYawRate(1.0, 0.0))  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused_by_name(bad: float) -> None:
    fleet = make_fleet(n=2)
    command = pw.RotorSpeeds(np.full((3, 2, 4), 900.0))
    _, pullback = fleet.vjp(command)
    cotangent = np.zeros((3, 2, 3))
    cotangent[1, 0, 2] = bad
    place = rf"got {bad} at \[1, 0, 2\]"
    with pytest.raises(ValueError, match=f"^cotangent of velocity: expected finite.*{place}"):
        pullback(position=1.0, velocity=cotangent)
    cases: dict[str, dict[str, Any]] = {
        "tangent of speeds": {"tangents": {"speeds": bad}},
        r"start\.position": {"start": {"position": [0, bad, 0]}},
        "mass": {"parameters": {"mass": bad}},
    }
    for name, directions in cases.items():
        with pytest.raises(ValueError, match=f"^{name}: expected finite"):
            fleet.jvp(command, **directions)


@pytest.mark.parametrize("level", [*LEVELS, *TRACKING])
def test_outer_loops_have_no_derivatives_with_respect_to_gravity(level: str) -> None:
    fleet = make_fleet()
    kind, parts = level_of(fleet, level)
    before = fleet.snapshot()
    if level in ("speeds", "rates"):
        fleet.vjp(kind(**parts), parameters=["gravity"])
        return
    with pytest.raises(pw.ParameterError, match=r"body\.gravity: expected no derivatives"):
        fleet.vjp(kind(**parts), parameters=["gravity"])
    assert fleet.snapshot() == before


@pytest.mark.parametrize("level", ["attitude", "velocity", "geometric", "backstepping", "indi"])
def test_gravity_has_derivatives_with_a_control_vehicle(level: str) -> None:
    """The loops keep the gravity of the control vehicle while that of the model changes."""
    fleet = make_fleet("flightgoggles", control_vehicle="flightgoggles")
    check_direction(fleet, level, ["gravity"])


def test_directions_of_parameters_have_the_shapes_of_set_parameters() -> None:
    fleet = make_fleet()
    command = pw.RotorSpeeds(np.full((2, COUNT, 4), 900.0))
    found = []
    for direction in (np.arange(1.0, COUNT + 1), np.tile(np.arange(1.0, COUNT + 1), (4, 1)).T):
        fleet.reset()
        parameters = {"thrust_coefficient": 1e-6 * direction}
        found.append(np.array(fleet.jvp(command, parameters=parameters)[1].velocity))
    np.testing.assert_array_equal(found[0], found[1])
    assert found[0].any()


# ---- torch ----


def test_torch_gradcheck() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import rollout

    fleet = make_fleet(with_delay("flightgoggles", 0.0013), n=2)
    _, parts = level_of(fleet, "rates")
    start = {k: torch.tensor(v, requires_grad=True) for k, v in start_of(fleet).items()}
    commands = {k: torch.tensor(v[:2], requires_grad=True) for k, v in parts.items()}
    mass = torch.tensor(np.array(fleet.parameters["mass"]), requires_grad=True)
    names = [*start, *commands]

    def fly(mass: Any, *tensors: Any) -> Any:
        values = dict(zip(names, tensors, strict=True))
        return rollout(
            fleet,
            {k: values[k] for k in start},
            {k: values[k] for k in commands},
            {"mass": mass},
            kind=pw.RateThrust,
            substeps=3,
        )

    inputs = (mass, *start.values(), *commands.values())
    assert torch.autograd.gradcheck(fly, inputs, eps=1e-5, atol=1e-4, rtol=1e-4)


def test_torch_optimises_commands() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import rollout

    fleet = make_fleet(n=1)
    thrust = torch.full((10, 1), 9.81, dtype=torch.float64, requires_grad=True)
    rates = torch.zeros((10, 1, 3), dtype=torch.float64)
    losses = []
    for _ in range(20):
        states = rollout(
            fleet, {}, {"rates": rates, "thrust": thrust}, kind=pw.RateThrust, substeps=20
        )
        loss = (states.position[-1, :, 2] - 0.1).square().sum()
        (slopes,) = torch.autograd.grad(loss, thrust)
        with torch.no_grad():
            thrust -= loss * slopes / slopes.square().sum()
        losses.append(float(loss.detach()))
    assert losses[-1] < 1e-3 * losses[0]


def test_the_position_of_an_imu_at_the_origin_has_derivatives() -> None:
    fleet = pw.Fleet("flightgoggles", 1, dtype="float64", noise=False)
    command = pw.TrajectoryCommand(np.full((20, 1, 3), 0.1), controller="indi")

    def height(x: float) -> float:
        fleet.set_parameters({"imu.position": [x, 0, 0]})
        fleet.reset(seed=0, body_rates=[0.5, 0.4, 0.3])
        position = fleet.rollout(command, substeps=4).position
        assert position is not None
        return float(position[-1].sum())

    difference = (height(1e-6) - height(-1e-6)) / 2e-6
    height(0.0)
    fleet.reset(seed=0, body_rates=[0.5, 0.4, 0.3])
    _, pullback = fleet.vjp(command, substeps=4, parameters=["imu.position"])
    cotangent = np.zeros((20, 1, 3))
    cotangent[-1] = 1.0
    found = pullback(position=cotangent).parameters["imu.position"]
    assert found[0, 0] == pytest.approx(difference, rel=1e-4)
    assert difference != 0.0


@pytest.mark.parametrize("thrust", [1e-310, 1e-160, 0.0])
def test_derivatives_near_zero_thrust_are_finite(thrust: float) -> None:
    fleet = pw.Fleet("flightgoggles", 1, dtype="float64", noise=False)
    fleet.reset(velocity=[1e-3, 0, 0])
    command = pw.RateThrust(np.full((4, 1, 3), 1e-160), np.full((4, 1), thrust))
    _, pullback = fleet.vjp(command)
    gradient = pullback(position=1.0, velocity=1.0, attitude=1.0, body_rates=1.0, rotor_speeds=1.0)
    assert np.isfinite(gradient.commands["rates"]).all()
    assert np.isfinite(gradient.commands["thrust"]).all()


@pytest.mark.parametrize(
    "arguments",
    [
        {"tangents": {"sped": 1.0}},
        {"tangents": {"speeds": np.ones((2, 7))}},
        {"tangents": np.ones(3)},
        {"start": {"pose": 1.0}},
        {"parameters": ["mass"]},
    ],
)
def test_invalid_directions_change_nothing(arguments: dict[str, Any]) -> None:
    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", noise=False)
    before = fleet.snapshot()
    with pytest.raises((ValueError, TypeError), match="expected"):
        fleet.jvp(pw.RotorSpeeds(np.full((5, 2, 4), 850.0)), **arguments)
    assert fleet.snapshot() == before


def test_invalid_torch_rollouts_change_nothing() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import rollout

    fleet = pw.Fleet("flightgoggles", 2, dtype="float64", noise=False)
    speeds = torch.full((5, 2, 4), 850.0, dtype=torch.float64)
    start = {"rotor_speeds": speeds[0]}
    mass = {"mass": torch.full((2,), 1.5)}
    before = fleet.snapshot(), np.copy(fleet.parameters["mass"])
    for arguments, message in [
        (({}, {"speeds": speeds}, mass), "start: expected rotor_speeds"),
        ((start, {"speeds": speeds[:, :, :2]}, mass), "expected"),
        ((start, {"speeds": speeds}, {"mass": torch.full((3,), 2.0)}), "expected"),
        (({"seed": torch.ones(1)}, {"speeds": speeds}), "start: expected some of"),
        (({}, {"speeds": speeds.long()}), "expected a floating-point tensor"),
        (({}, speeds), "commands: expected tensors by name"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            rollout(fleet, *arguments)
        assert fleet.snapshot() == before[0]
        np.testing.assert_array_equal(fleet.parameters["mass"], before[1])
    with pytest.raises(ValueError, match="window"):
        rollout(fleet, {}, {"speeds": speeds}, window=0)


@pytest.mark.parametrize("parts", [["rates", "thrust"], ["speed"]])
def test_parts_of_another_command_are_refused_in_one_line(parts: list[str]) -> None:
    """The message was the signature of the constructor and all numbers."""
    torch = pytest.importorskip("torch")
    from propwash.torch import TensorFlight, rollout

    fleet = pw.Fleet("flightgoggles", 2, noise=False)
    commands = {name: torch.ones(2, 3) for name in parts}
    message = f"expected the parts of RotorSpeeds, speeds, got {', '.join(parts)}; .*kind="
    with pytest.raises(TypeError, match=message) as refused:
        rollout(fleet, None, commands)
    assert "\n" not in str(refused.value)
    flight = TensorFlight(fleet)
    with pytest.raises(TypeError, match=message):
        flight.step(flight.begin(), commands)


def test_torch_rollouts_of_outer_loops_repeat() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import rollout

    fleet = pw.Fleet("flightgoggles", 1, dtype="float64", noise=False)
    velocity = torch.full((6, 1, 3), 1.0, dtype=torch.float64)
    first, second = (
        rollout(fleet, {}, {"velocity": velocity}, kind=pw.VelocityCommand) for _ in range(2)
    )
    assert torch.equal(first.velocity, second.velocity)


# ---- closed loop ----
