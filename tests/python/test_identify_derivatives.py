"""The simulation used by fit_vehicle: equality with a fleet, and exact derivatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, PERIOD, clean_flight, noisy, simulated_flight, true_vehicle
from msgspec import structs
from propwash import _derivatives, identify
from propwash.identify._bias import fit_bias
from propwash.identify._open_loop import Flyer, Windows, commands, fly
from propwash.identify._parameters import FLOW, balance_signs, catalogue
from propwash.identify._problem import (
    FitProblem,
    Scatter,
    battery_of,
    free_names,
    gridded,
    log_model,
)
from propwash.vehicle.multicopter import Array

pytest.importorskip("scipy")

STEP_OF_DIFFERENCES = 1e-4
"""In standard deviations of the priors."""


@pytest.fixture(scope="module")
def log() -> identify.FlightLog:
    return simulated_flight(2.7)


@pytest.fixture(scope="module")
def problem(log: identify.FlightLog) -> FitProblem:
    """Logs without voltage, with it, and with rotor speeds, the second one of another vehicle.

    The guess has nonzero drag and is close to the ground.
    """
    guess = pw.vehicles.load("crazyflie").replace(
        rotor_drag={"linear": (0.4, 0.4, 0.2)},
        inflow={
            "axial": 2e-6,
            "translational": 8e-4,
            "radius": 0.023,
            "drag": 2e-6,
            "axial_drag": 8e-4,
            "flapping": 2e-8,
        },
        ground_effect={"radius": 0.3, "height": -1.0},
    )
    rng = np.random.default_rng(5)
    measured = noisy(clean_flight(2.7, rng, measured=True), rng)
    logs = [replace(log, voltage=None), log, measured]
    grids = [gridded(one, guess) for one in logs]
    bias = fit_bias([(grid.flight, grid.rows) for grid in grids], guess)
    models = [
        log_model(grid, guess, NOISE, bias, battery_of(guess), int(grid is grids[1]))
        for grid in grids
    ]
    names = [*free_names(logs, guess), *FLOW]
    return FitProblem(models, guess, names, Scatter(), 1)


@pytest.fixture(scope="module")
def somewhere(problem: FitProblem) -> Array:
    return np.asarray(0.1 * np.random.default_rng(3).standard_normal(problem.size))


def _name(problem: FitProblem, unknown: int) -> str:
    if unknown < len(problem.free):
        return problem.free[unknown].name
    names_of_logs = [name for names in problem.nuisances for name in names]
    deviations = [p.name for own in problem.deviations for p in own.values()]
    return [*names_of_logs, *deviations, "sag"][unknown - len(problem.free)]


@pytest.mark.slow
def test_derivatives_are_central_differences_of_values(
    problem: FitProblem, somewhere: Array
) -> None:
    """For all parameters, including those of the battery and the balances of the rotors."""
    at = problem.evaluate(somewhere)
    assert {_name(problem, k) for k in range(problem.size)} >= set(catalogue(problem.guess))
    # the rounding error of positions of some metres, in standard deviations
    rounding = 10.0 * np.finfo(float).eps / NOISE.position / STEP_OF_DIFFERENCES
    for k in range(problem.size):
        step = STEP_OF_DIFFERENCES * np.eye(problem.size)[k]
        above, below = problem.evaluate(somewhere + step), problem.evaluate(somewhere - step)
        changes = False
        for (_, slopes), (high, _), (low, _) in zip(at, above, below, strict=True):
            difference = (high - low) / (2.0 * STEP_OF_DIFFERENCES)
            largest = np.abs(difference).max()
            error = np.abs(slopes[..., k] - difference).max()
            assert error < 1e-6 * largest + rounding, _name(problem, k)
            changes = changes or largest > 1e-2
        assert changes, _name(problem, k)


def test_delay_derivatives_at_corners_are_one_sided(log: identify.FlightLog) -> None:
    """At a delay of whole periods the interpolation of the commands has a corner."""

    def delayed(delay: float) -> Flyer:
        vehicle = true_vehicle().replace(motor={"command_delay": delay})
        return Flyer(vehicle, None, 1, {"motor.command_delay": np.array([1.0])})

    for periods in (0, 2):
        at, slopes = commands(log, PERIOD, delayed(periods * PERIOD))
        more, _ = commands(log, PERIOD, delayed((periods + 0.5) * PERIOD))
        difference = (more - at) / (0.5 * PERIOD)
        np.testing.assert_allclose(slopes[0], difference, atol=1e-9 * np.abs(difference).max())


def test_only_requested_quantities_are_recorded(log: identify.FlightLog) -> None:
    windows = Windows(log, PERIOD, np.array([100, 200], dtype=np.intp), samples=5)
    flown = fly(windows, Flyer(true_vehicle(), None), False, 1, record=["velocity"])
    assert flown.velocity.shape == (1, 2, 5, 3)
    assert flown.position.size == flown.body_rates.size == flown.specific_force.size == 0
    with pytest.raises(ValueError, match=r"record: expected position, velocity.*'speed'"):
        fly(windows, Flyer(true_vehicle(), None), False, 1, record=["speed"])
    beyond = replace(windows, starts=np.array([len(log.time) - 5], dtype=np.intp))
    with pytest.raises(ValueError, match="window 0: expected it to end by row"):
        fly(beyond, Flyer(true_vehicle(), None), False, 1)


def test_a_parameter_stays_at_its_lower_bound(log: identify.FlightLog) -> None:
    """The commands are shifted to after the motion, which requires a negative delay."""
    shifted = np.concatenate([np.repeat(log.duty[:1], 5, axis=0), log.duty[:-5]])
    guess = true_vehicle()
    found = identify.fit_vehicle(
        replace(log, duty=shifted), guess, noise=NOISE, parameters=["delay"], threads=1
    )
    delay = found.estimate("delay")
    assert 0.0 <= delay.value < 0.01 * guess.motor.command_delay
    assert delay.at_bound
    assert "at a bound" in found.table()


def test_the_fit_recovers_from_invalid_trial_vehicles(
    log: identify.FlightLog,
) -> None:
    """Such as vehicles whose moments of inertia violate the triangle inequality."""
    inertia = np.diag(np.array(true_vehicle().body.inertia)) * np.array([3.0, 3.0, 1.0])
    guess = true_vehicle().replace(body={"inertia": np.diag(inertia).tolist()})
    names = ["inertia_x", "inertia_y"]
    found = identify.fit_vehicle(log, guess, noise=NOISE, parameters=names, threads=1)
    truth = np.array(true_vehicle().body.inertia)
    for k, name in enumerate(names):
        assert found.estimate(name).value == pytest.approx(truth[k, k], rel=0.1)
    assert found.converged
    with pytest.raises(pw.ParameterError, match=r"guess: expected a valid vehicle.*the weight"):
        identify.fit_vehicle(log, guess.replace(body={"mass": 1.0}), noise=NOISE, threads=1)


def test_invalid_arguments_are_refused(log: identify.FlightLog) -> None:
    with pytest.raises(pw.ParameterError, match="parameters: 'thurst' is none of thrust"):
        identify.fit_vehicle(log, parameters="thurst")
    with pytest.raises(pw.ParameterError, match="expected each name once, got 'thrust' twice"):
        identify.fit_vehicle(log, parameters=["thrust", "delay", "thrust"])
    with pytest.raises(TypeError, match=r"noise: expected identify\.Noise, got 3"):
        identify.fit_vehicle(log, noise=3)  # type: ignore[arg-type]


def test_unidentifiable_balances_are_not_fitted() -> None:
    """All rotors spin in the same direction and produce equal yaw torques."""
    vehicle = pw.vehicles.load("crazyflie")
    same_spin = vehicle.replace(
        rotors=tuple(structs.replace(rotor, spin=1.0) for rotor in vehicle.rotors)
    )
    for axis, has in (("roll", True), ("pitch", True), ("yaw", False)):
        assert bool(balance_signs(same_spin, axis).any()) is has
    assert all(np.isfinite(each.read(same_spin)) for each in catalogue(same_spin).values())


@pytest.mark.parametrize(("name", "value"), [("samples", -1), ("attitude_every", -1)])
def test_negative_numbers_are_refused(name: str, value: int) -> None:
    options: dict[str, Any] = {"samples": 3, "attitude_every": 0, name: value}
    with pytest.raises(ValueError, match=name):
        _derivatives.fly_open_loop(
            pw.vehicles.load("crazyflie"),
            {},
            0,
            {"commands": np.full((29, 4), 900.0)},
            period=0.002,
            substeps=1,
            starts=[1],
            record=[],
            pool=None,
            **options,
        )
