"""Fleets, commands and central differences for tests of gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import propwash as pw
import pytest

COUNT, STEPS, SUBSTEPS = 3, 5, 4
STATE = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")
Numbers = Any
Kind = Callable[..., Any]
LEVELS = ("speeds", "rates", "attitude", "velocity", "free heading", "position")
TRACKING = ("geometric", "backstepping", "indi")
OBSERVED = ("geometric", "backstepping")
"""Controllers with a disturbance observer."""


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


def make_fleet(vehicle: Any = "flightgoggles", n: int = COUNT, **options: Any) -> pw.Fleet:
    options = {"dtype": "float64", "noise": False, "threads": 1, "dt": 1e-3, **options}
    return pw.Fleet(vehicle, n, **options)


def observed(fleet: pw.Fleet) -> pw.Fleet:
    """The fleet with disturbance observers."""
    fleet.outer_loops = replace(fleet.outer_loops, disturbance_bandwidth=20.0)
    return fleet


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


def flown(fleet: pw.Fleet, names: Sequence[str]) -> tuple[float, dict[str, Numbers]]:
    """A weighted sum of the states of a flight, and its derivatives with respect to parameters."""
    kind, parts = level_of(fleet, "rates")
    fleet.reset(seed=0)
    fleet.set_state(**start_of(fleet))
    weights = weights_of(fleet)
    states, pullback = fleet.vjp(kind(**parts), substeps=SUBSTEPS, parameters=names)
    value = sum(float((weights[k] * getattr(states, k)).sum()) for k in STATE)
    return value, pullback(**weights).parameters


def check_parameter_slopes(fleet: pw.Fleet, name: str) -> None:
    """Compares the derivatives of `flown` with central differences."""
    x = np.array(fleet.parameters[name])
    _, slopes = flown(fleet, [name])
    h = 1e-4 * np.abs(x)
    values = []
    for moved in (x + h, x - h):
        fleet.set_parameters({name: moved})
        values.append(flown(fleet, [name])[0])
    assert float((slopes[name] * h).sum()) == pytest.approx(0.5 * (values[0] - values[1]), rel=1e-4)


def slope(f: Callable[[float], float], h: float) -> float:
    """A central difference of fourth order."""
    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def with_delay(vehicle: str, seconds: float) -> Any:
    parameters = pw.vehicles.load(vehicle)
    motor = replace_struct(parameters.motor, command_delay=seconds)
    return replace_struct(parameters, motor=motor)


def replace_struct(value: Any, **changes: Any) -> Any:
    import msgspec

    return msgspec.structs.replace(value, **changes)
