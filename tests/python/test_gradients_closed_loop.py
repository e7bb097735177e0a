"""Laws of the derivatives of flights in closed loop: propwash.torch.TensorFlight."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from gradient_helpers import (
    COUNT,
    LEVELS,
    OBSERVED,
    STATE,
    STEPS,
    SUBSTEPS,
    TRACKING,
    level_of,
    make_fleet,
    observed,
    slope,
    start_of,
    weights_of,
    with_delay,
)


def closed_loop(fleet: pw.Fleet, level: str, mass: bool = False) -> tuple[Any, dict[str, Any]]:
    """A loss of a flight under a feedback law, and its variables."""
    import torch
    from propwash.torch import TensorFlight

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
        flight = TensorFlight(fleet, parameters=parameters, kind=kind, substeps=SUBSTEPS)
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


@pytest.mark.parametrize("level", OBSERVED)
def test_closed_loop_with_disturbance_observers(level: str) -> None:
    """In wind, with an unknown mass that is a variable."""
    fleet = observed(make_fleet("blackbird", control_vehicle="blackbird"))
    fleet.set_wind([1.0, -0.5, 0.2])
    check_closed_loop(fleet, level, tolerance=1e-5, mass=True)


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
    from propwash.torch import TensorFlight, rollout

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
    steps = flown(TensorFlight(fleet, kind=kind, substeps=SUBSTEPS), commands, start)[1:]
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
    from propwash.torch import TensorFlight

    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
    flight = TensorFlight(fleet, kind=kind, substeps=SUBSTEPS)
    flown(flight, {k: v[:3] for k, v in commands.items()}, {})
    steps = flown(flight, {k: v[3:] for k, v in commands.items()}, None)
    assert fleet.time[0] == pytest.approx(STEPS * SUBSTEPS * fleet.dt)
    gradients = torch.autograd.grad(steps[-1].position.sum(), list(commands.values()))
    assert all(not each[:3].any() and each[3:4].any() for each in gradients)


def test_a_gradient_decay_is_a_factor_for_each_step() -> None:
    """Of commands that do not depend on the states; the flight is the same."""
    torch = pytest.importorskip("torch")
    from propwash.torch import TensorFlight

    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
    start = {k: torch.tensor(v) for k, v in start_of(fleet).items()}

    def slopes(decay: float = 1.0) -> Any:
        flight = TensorFlight(fleet, kind=kind, substeps=SUBSTEPS, gradient_decay=decay)
        last = flown(flight, commands, start)[-1]
        return last, torch.autograd.grad(last.position.sum(), list(commands.values()))

    (last, exact), (again, decayed) = slopes(), slopes(0.8)
    assert torch.equal(last.position, again.position)
    for one, other in zip(exact, decayed, strict=True):
        powers = 0.8 ** torch.arange(STEPS - 1.0, -1.0, -1.0, dtype=torch.float64)
        expected = one * powers.reshape(-1, *[1] * (one.ndim - 1))
        torch.testing.assert_close(other, expected, rtol=1e-9, atol=1e-12)
    for wrong in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"gradient_decay: expected a number in \(0, 1\]"):
            TensorFlight(fleet, kind=kind, gradient_decay=wrong)


def test_a_flight_follows_changes_of_its_fleet() -> None:
    """Parameters, wind and forces that change between windows change the derivatives."""
    torch = pytest.importorskip("torch")
    from propwash.torch import TensorFlight

    def slopes(flight: Any, parts: dict[str, Any]) -> Any:
        commands = {k: torch.tensor(v, requires_grad=True) for k, v in parts.items()}
        last = flown(flight, commands, {})[-1]
        return torch.autograd.grad(last.velocity.square().sum(), commands["thrust"])[0]

    fleet = make_fleet()
    kind, parts = level_of(fleet, "rates")
    flight = TensorFlight(fleet, kind=kind, substeps=SUBSTEPS)
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
        assert torch.equal(after, slopes(TensorFlight(fleet, kind=kind, substeps=SUBSTEPS), parts))
        before = after


def test_replaced_tensors_change_the_gradients_of_a_flight() -> None:
    """A state of the same values passes; gradients of detached parts are zero."""
    torch = pytest.importorskip("torch")
    from propwash.torch import TensorFlight

    fleet = make_fleet()
    flight = TensorFlight(fleet, kind=pw.RateThrust, substeps=SUBSTEPS)
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
    from propwash.torch import TensorFlight

    fleet = make_fleet()
    flight, other = TensorFlight(fleet), TensorFlight(fleet)
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
    from propwash.torch import TensorFlight

    noisy = TensorFlight(pw.Fleet("flightgoggles", 1))
    with pytest.raises(ValueError, match="noise=False"):
        noisy.step(noisy.begin(), {"speeds": torch.ones(1, 4)})
    fleet = make_fleet()
    yaw = torch.zeros(COUNT, dtype=torch.float64)
    flight = TensorFlight(fleet, kind=pw.VelocityCommand)
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
        TensorFlight(fleet, parameters=[1.0])  # type: ignore[arg-type]


@pytest.mark.parametrize("change", ["gains", "observer"])
def test_outer_loops_may_change_between_two_flights(change: str) -> None:
    """Gradients of the second flight are those of a new object, with the new outer loops."""
    torch = pytest.importorskip("torch")
    from propwash.torch import TensorFlight

    def gradient(flight: TensorFlight) -> Any:
        start = {k: torch.tensor(v) for k, v in start_of(flight.fleet).items()}
        start["velocity"].requires_grad_()
        state = flight.begin(start)
        for _ in range(STEPS):
            state = flight.step(state, {name: torch.tensor(v[0]) for name, v in parts.items()})
        return torch.autograd.grad(state.position.sum(), start["velocity"])[0]

    fleet, new = make_fleet(), make_fleet()
    kind, parts = level_of(fleet, "geometric")
    flight = TensorFlight(fleet, kind=kind, substeps=SUBSTEPS)
    before = gradient(flight)
    gradient(TensorFlight(new, kind=kind, substeps=SUBSTEPS))
    for each in (fleet, new):
        if change == "observer":
            observed(each)
        else:
            gain = 3.0 * each.outer_loops.tracking_position
            each.outer_loops = replace(each.outer_loops, tracking_position=gain)
    after = gradient(flight)
    assert not torch.equal(after, before)
    torch.testing.assert_close(after, gradient(TensorFlight(new, kind=kind, substeps=SUBSTEPS)))
