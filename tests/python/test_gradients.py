"""Laws of the derivatives of a fleet's flight: Fleet.vjp, Fleet.jvp and propwash.torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
import propwash as pw
import pytest

COUNT, STEPS, SUBSTEPS = 3, 5, 4
STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")
Numbers = Any
Kind = Callable[..., Any]


def level_of(fleet: pw.Fleet, name: str) -> tuple[Kind, dict[str, Numbers]]:
    """A class of commands, and commands that reach no limit."""
    rng = np.random.default_rng(2)
    n, t = len(fleet), STEPS
    weight = 9.81 * np.asarray(fleet.parameters["mass"])
    hover = np.sqrt(
        weight[:, None] / np.asarray(fleet.parameters["thrust_coefficient"]).sum(1, keepdims=True)
    )
    triple = partial(rng.normal, size=(t, n, 3))
    if name == "speeds":
        return pw.RotorSpeeds, {
            "speeds": hover * (1 + 0.03 * rng.normal(size=(t, n, fleet.rotors)))
        }
    if name == "rates":
        thrust = weight * (1 + 0.05 * rng.normal(size=(t, n)))
        return pw.RateThrust, {"rates": 0.1 * triple(), "thrust": thrust}
    if name == "attitude":
        q = np.concatenate([np.ones((t, n, 1)), 0.02 * triple()], axis=2)
        q /= np.linalg.norm(q, axis=2, keepdims=True)
        return pw.AttitudeThrust, {"attitude": q, "thrust": np.tile(weight, (t, 1))}
    if name == "velocity":
        return pw.VelocityCommand, {
            "velocity": 0.1 * triple(),
            "yaw": 0.02 * rng.normal(size=(t, n)),
        }
    if name == "free heading":
        parts = {"velocity": 0.1 * triple(), "yaw_rate": 0.1 * rng.normal(size=(t, n))}
        return pw.VelocityCommand, parts
    if name == "position":
        return pw.PositionCommand, {"position": 0.05 * triple()}
    parts = {
        "position": 0.02 * triple(),
        "velocity": 0.05 * triple(),
        "acceleration": 0.1 * triple(),
    }
    parts |= {"jerk": 0.1 * triple(), "yaw": 0.02 * rng.normal(size=(t, n))}
    return partial(pw.TrajectoryCommand, controller=name), parts


LEVELS = ("speeds", "rates", "attitude", "velocity", "free heading", "position")
TRACKING = ("geometric", "backstepping", "indi")


def make_fleet(vehicle: Any = "flightgoggles", n: int = COUNT, **options: Any) -> pw.Fleet:
    options = {"dtype": "float64", "noise": False, "threads": 1, "dt": 1e-3, **options}
    return pw.Fleet(vehicle, n, **options)


def start_of(fleet: pw.Fleet) -> dict[str, Numbers]:
    """A flight near hover in which nothing is at a limit."""
    rng = np.random.default_rng(1)
    n = len(fleet)
    q = np.concatenate([np.ones((n, 1)), 0.05 * rng.normal(size=(n, 3))], axis=1)
    speeds = fleet.rotor_speeds * (1 + 0.02 * rng.normal(size=(n, fleet.rotors)))
    return {
        "position": 0.1 * rng.normal(size=(n, 3)),
        "velocity": 0.3 * rng.normal(size=(n, 3)),
        "attitude": q / np.linalg.norm(q, axis=1, keepdims=True),
        "body_rates": 0.1 * rng.normal(size=(n, 3)),
        "rotor_speeds": speeds,
    }


def weights_of(fleet: pw.Fleet, steps: int = STEPS) -> dict[str, Numbers]:
    rng = np.random.default_rng(3)
    widths = {"attitude": 4, "rotor_speeds": fleet.rotors}
    scale = {"rotor_speeds": 1e-2}
    return {
        k: scale.get(k, 1.0) * rng.normal(size=(steps, len(fleet), widths.get(k, 3))) for k in STATE
    }


def weighted(states: Any, weights: dict[str, Numbers]) -> float:
    return float(sum((weights[k] * getattr(states, k)).sum() for k in STATE))


def slope(f: Callable[[float], float], h: float) -> float:
    """A central difference of fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


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


def with_delay(vehicle: str, seconds: float) -> Any:
    parameters = pw.vehicles.load(vehicle)
    motor = replace_struct(parameters.motor, command_delay=seconds)
    return replace_struct(parameters, motor=motor)


def replace_struct(value: Any, **changes: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(value, **changes)


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


@pytest.mark.parametrize("level", [*LEVELS, *TRACKING])
def test_forward_and_reverse_mode_agree(level: str) -> None:
    fleet = make_fleet()
    kind, parts = level_of(fleet, level)
    start, weights = start_of(fleet), weights_of(fleet)
    rng = np.random.default_rng(5)
    tangents = {k: rng.normal(size=v.shape) for k, v in parts.items()}
    start_tangent = {k: rng.normal(size=v.shape) for k, v in start.items()}
    mass = rng.normal(size=COUNT)

    fleet.reset(**start)
    snapshot = fleet.snapshot()
    states, pullback = fleet.vjp(kind(**parts), substeps=SUBSTEPS, parameters=["mass"])
    gradient = pullback(**weights)
    fleet.restore(snapshot)
    again, found = fleet.jvp(
        kind(**parts), tangents, start=start_tangent, parameters={"mass": mass}, substeps=SUBSTEPS
    )
    np.testing.assert_array_equal(again.position, states.position)
    expected = sum((gradient.commands[k] * tangents[k]).sum() for k in parts)
    expected += sum((getattr(gradient.start, k) * start_tangent[k]).sum() for k in STATE)
    expected += (gradient.parameters["mass"] * mass).sum()
    assert weighted(found, weights) == pytest.approx(expected, rel=1e-11)


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


def closed_loop(fleet: pw.Fleet, level: str, mass: bool = False) -> tuple[Any, dict[str, Any]]:
    """A loss of a flight under a feedback law, and its variables."""
    import torch
    from propwash.torch import Flight

    kind, parts = level_of(fleet, level)
    rng = np.random.default_rng(7)
    weights = {k: torch.tensor(v) for k, v in weights_of(fleet).items()}
    variables = {f"start.{k}": torch.tensor(v) for k, v in start_of(fleet).items()}
    for name, value in parts.items():
        columns = value.shape[2] if value.ndim == 3 else 1
        size = np.abs(value).mean()
        variables[f"gain.{name}"] = torch.tensor(0.01 * size * rng.normal(size=(12, columns)))
    if mass:
        variables["mass"] = torch.tensor(np.array(fleet.parameters["mass"]))

    def loss(variables: dict[str, Any]) -> Any:
        parameters = {"mass": variables["mass"]} if mass else None
        flight = Flight(fleet, parameters=parameters, kind=kind, substeps=SUBSTEPS)
        start = {k: variables[f"start.{k}"] for k in STATE}
        start["attitude"] = torch.nn.functional.normalize(start["attitude"], dim=-1)
        state = flight.begin(start)
        total = torch.zeros((), dtype=torch.float64)
        for t in range(STEPS):
            seen = torch.cat([state.position, state.velocity, state.attitude[:, 1:]], 1)
            seen = torch.tanh(torch.cat([seen, state.body_rates], 1))
            command = {}
            for name, value in parts.items():
                change = seen @ variables[f"gain.{name}"]
                part = torch.tensor(value[t])
                command[name] = part + (change if part.ndim == 2 else change[:, 0])
                if name == "attitude":
                    command[name] = torch.nn.functional.normalize(command[name], dim=-1)
            state = flight.step(state, command)
            for name in STATE:
                total = total + (weights[name][t] * getattr(state, name)).sum()
        return total

    return loss, variables


def check_closed_loop(fleet: pw.Fleet, level: str, tolerance: float = 1e-6, **more: bool) -> None:
    torch = pytest.importorskip("torch")
    loss, variables = closed_loop(fleet, level, **more)
    for value in variables.values():
        value.requires_grad_()
    gradients = torch.autograd.grad(loss(variables), list(variables.values()))
    rng = np.random.default_rng(8)
    for (name, x), gradient in zip(variables.items(), gradients, strict=True):
        d = torch.tensor(rng.normal(size=x.shape) * max(1e-2, float(x.detach().abs().mean())))

        def moved(h: float, name: str = name, x: Any = x, d: Any = d) -> float:
            with torch.no_grad():
                return float(loss({**variables, name: x + h * d}))

        expected = slope(moved, 1e-3)
        assert float((gradient * d).sum()) == pytest.approx(expected, rel=tolerance), name


@pytest.mark.parametrize("level", [*LEVELS, *TRACKING])
def test_closed_loop_equals_central_differences(level: str) -> None:
    check_closed_loop(make_fleet(), level)


@pytest.mark.parametrize("level", ["speeds", "rates", "velocity", "indi"])
def test_closed_loop_with_delays(level: str) -> None:
    fleet = make_fleet(with_delay("flightgoggles", 0.0023), max_action_delay=7)
    fleet.set_action_delay(np.array([0, 3, 7]))
    check_closed_loop(fleet, level)


@pytest.mark.parametrize("level", ["rates", "indi"])
def test_closed_loop_with_parameters(level: str) -> None:
    check_closed_loop(make_fleet("blackbird"), level, tolerance=1e-5, mass=True)


def flown(flight: Any, commands: dict[str, Any], start: dict[str, Any] | None) -> list[Any]:
    states = [flight.begin(start)]
    for t in range(len(next(iter(commands.values())))):
        states.append(flight.step(states[-1], {k: v[t] for k, v in commands.items()}))
    return states


@pytest.mark.parametrize("level", ["speeds", "rates", "indi"])
def test_flights_equal_rollouts(level: str) -> None:
    """With commands known beforehand, states and gradients are those of rollout()."""
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight, rollout

    fleet = make_fleet(with_delay("flightgoggles", 0.0013))
    kind, parts = level_of(fleet, level)
    start = {k: torch.tensor(v, requires_grad=True) for k, v in start_of(fleet).items()}
    commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
    inputs = [*start.values(), *commands.values()]
    weights = {k: torch.tensor(v) for k, v in weights_of(fleet).items()}
    states = rollout(fleet, start, commands, kind=kind, substeps=SUBSTEPS)
    expected = torch.autograd.grad(
        sum((weights[k] * getattr(states, k)).sum() for k in STATE), inputs
    )
    steps = flown(Flight(fleet, kind=kind, substeps=SUBSTEPS), commands, start)[1:]
    for name in STATE:
        together = torch.stack([getattr(each, name) for each in steps])
        np.testing.assert_array_equal(together.detach(), getattr(states, name).detach())
    total = sum((weights[k][t] * getattr(steps[t], k)).sum() for k in STATE for t in range(STEPS))
    found = torch.autograd.grad(total, inputs, retain_graph=True)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12 * float(other.abs().max()))
    again = torch.autograd.grad(total, inputs)  # independent of earlier backward passes
    assert all(torch.equal(one, other) for one, other in zip(found, again, strict=True))


def test_begin_cuts_the_gradients_of_a_flight() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight

    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
    flight = Flight(fleet, kind=kind, substeps=SUBSTEPS)
    flown(flight, {k: v[:3] for k, v in commands.items()}, {})
    steps = flown(flight, {k: v[3:] for k, v in commands.items()}, None)
    assert fleet.time[0] == pytest.approx(STEPS * SUBSTEPS * fleet.dt)
    gradients = torch.autograd.grad(steps[-1].position.sum(), list(commands.values()))
    assert all(not each[:3].any() and each[3:4].any() for each in gradients)


def test_a_flight_follows_changes_of_its_fleet() -> None:
    """Parameters, wind and forces that change between windows change the derivatives."""
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight

    def slopes(flight: Any, parts: dict[str, Any]) -> Any:
        commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
        last = flown(flight, commands, {})[-1]
        return torch.autograd.grad(last.velocity.square().sum(), commands["thrust"])[0]

    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    flight = Flight(fleet, kind=kind, substeps=SUBSTEPS)
    before = slopes(flight, parts)
    assert torch.equal(slopes(flight, parts), before)
    changes: list[Callable[[], None]] = [
        lambda: fleet.set_parameters(mass=1.3),
        lambda: fleet.set_wind([3.0, 0.0, 1.0]),
        lambda: fleet.set_external_wrench([0.0, 0.0, 1.0], [0.0, 0.0, 0.0]),
        lambda: fleet.set_rotor_effectiveness(np.full(4, 0.9)),
    ]
    for change in changes:
        change()
        after = slopes(flight, parts)
        assert not torch.equal(after, before)
        assert torch.equal(after, slopes(Flight(fleet, kind=kind, substeps=SUBSTEPS), parts))
        before = after


def test_replaced_tensors_change_the_gradients_of_a_flight() -> None:
    """A state of the same values passes; gradients of detached parts are zero."""
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight

    fleet = make_fleet()
    flight = Flight(fleet, kind=pw.RateThrust, substeps=SUBSTEPS)
    thrust = torch.full((COUNT,), 9.0, dtype=torch.float64, requires_grad=True)
    rates = torch.zeros(COUNT, 3, dtype=torch.float64)
    first = flight.step(flight.begin({}), {"rates": rates, "thrust": thrust})
    cut = type(first)(*(each.detach().clone() for each in first))
    second = flight.step(cut, {"rates": rates, "thrust": torch.full((COUNT,), 9.0)})
    assert second.position.dtype == torch.float64
    assert not second.position.requires_grad
    with pytest.raises(ValueError, match="state: expected the result of the last step"):
        flight.step(first, {"rates": rates, "thrust": thrust})
    with pytest.raises(ValueError, match="state: expected the result of the last step"):
        flight.step(second._replace(position=second.position + 1), {"rates": rates})


def test_a_flight_refuses_a_fleet_that_something_else_has_stepped() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight

    fleet = make_fleet()
    flight, other = Flight(fleet), Flight(fleet)
    speeds = {"speeds": torch.full((COUNT, 4), 800.0, dtype=torch.float64)}
    state = flight.step(flight.begin({}), speeds)
    other.step(other.begin(), speeds)
    before = fleet.snapshot()
    with pytest.raises(ValueError, match="fleet: expected no other step or reset"):
        flight.step(state, speeds)
    fleet.reset()
    with pytest.raises(ValueError, match="fleet: expected no other step or reset"):
        flight.step(state, speeds)
    fleet.restore(before)
    flight.step(flight.begin(), speeds)


def test_invalid_steps_of_a_flight_change_nothing() -> None:
    torch = pytest.importorskip("torch")
    from propwash.torch import Flight

    noisy = Flight(pw.Fleet("flightgoggles", 1))
    with pytest.raises(ValueError, match="noise=False"):
        noisy.step(noisy.begin(), {"speeds": torch.ones(1, 4)})
    fleet = make_fleet()
    yaw = torch.zeros(COUNT, dtype=torch.float64)
    flight = Flight(fleet, kind=pw.VelocityCommand)
    state = flight.step(flight.begin({}), {"velocity": torch.zeros(COUNT, 3), "yaw": yaw})
    before = fleet.snapshot()
    for commands, message in [
        ({"velocity": torch.zeros(COUNT, 3), "yaw_rate": yaw}, "parts of the first step"),
        ({"velocity": torch.zeros(COUNT, 2), "yaw": yaw}, "expected"),
        ({"velocity": torch.zeros(2, COUNT, 3), "yaw": yaw}, "expected"),
        ({"velocity": torch.zeros(COUNT, 3).long()}, "expected a floating-point tensor"),
        ({}, "expected the parts of a command"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            flight.step(state, commands)
        assert fleet.snapshot() == before
    flight.step(state, {"velocity": torch.zeros(COUNT, 3), "yaw": yaw})
    with pytest.raises(ValueError, match="start: expected some of"):
        flight.begin({"pose": yaw})
    with pytest.raises(TypeError, match="parameters: expected tensors by name"):
        Flight(fleet, parameters=[1.0])  # type: ignore[arg-type]
