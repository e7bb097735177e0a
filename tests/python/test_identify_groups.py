"""One fit of flights of several vehicles of a type."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import propwash as pw
import pytest
from identify_flight import NOISE, simulated_flight, true_vehicle
from propwash import identify
from propwash.identify._parameters import catalogue
from propwash.vehicle.multicopter import Array

SIGMAS = 4.0
OFFSETS = {"a": 0.13, "b": 0.19}
BLOWN = {"a": 1e-4, "b": 3e-4}
BIASES: dict[str, Array] = {"a": np.array([0.3, 0.0, 0.1]), "b": np.array([-0.2, 0.2, -0.1])}
GROUPS = ["a", "b", "a", "b"]
NAMES = ["thrust", "speed_offset", "blow_back", "time_constant_up", "drag_x", "balance_roll"]


def _vehicle(name: str) -> pw.VehicleParameters:
    return true_vehicle().replace(
        motor={"speed_offset": OFFSETS[name]}, rotor_drag={"blow_back": BLOWN[name]}
    )


@pytest.fixture(scope="module")
def logs() -> list[identify.FlightLog]:
    """Two flights of each of two vehicles."""
    flights = []
    for seed, name in enumerate(GROUPS):
        log = simulated_flight(4.0, seed, _vehicle(name))
        force = log.specific_force + BIASES[name]
        flights.append(replace(log, path=log.path / name, specific_force=force))
    return flights


@pytest.fixture(scope="module")
def found(logs: list[identify.FlightLog]) -> identify.Identified:
    return identify.fit_vehicle(
        logs, true_vehicle(), parameters=NAMES, groups=GROUPS, noise=NOISE, threads=1
    )


def test_each_vehicle_has_its_own_parameters(found: identify.Identified) -> None:
    assert [*found.groups] == ["a", "b"]
    for name, own in found.groups.items():
        truth = _vehicle(name)
        for estimate in own.estimates:
            error = estimate.value - catalogue(truth)[estimate.name].read(truth)
            assert abs(error) < SIGMAS * estimate.standard_error, (name, estimate.name)
        assert own.vehicle.motor.speed_offset == own.estimate("speed_offset").value
        assert own.estimate("speed_offset").standard_error < 0.005
        assert np.all(np.abs(own.bias.value - BIASES[name]) < 3.0 * own.bias.standard_error)
        assert [log.flight.path.name for log in own.logs] == [name, name]
        line = next(text for text in found.table().split("\n") if text.startswith(f"{name}: "))
        assert re.findall(r"[a-z_]+(?= -?\d)", line) == [
            *("speed_offset", "blow_back", "balance_roll", "bias")
        ]
        # what is common is equal, and its error is that of all flights
        for shared in ("thrust", "time_constant_up", "drag_x"):
            assert own.estimate(shared) == found.estimate(shared)
    common = found.estimate("speed_offset")
    assert OFFSETS["a"] < common.value < OFFSETS["b"]
    assert common.standard_error > 0.005, "includes the differences between vehicles"


@pytest.mark.slow
def test_predictions_are_those_of_the_vehicle(
    found: identify.Identified, logs: list[identify.FlightLog]
) -> None:
    pooled = identify.fit_vehicle(logs, true_vehicle(), parameters=NAMES, noise=NOISE, threads=1)
    assert pooled.groups == {}
    assert pooled.cost > 1.5 * found.cost
    for name, log in zip(GROUPS[:2], logs[:2], strict=True):
        mine, common = (
            np.median(identify.predict(vehicle, log, None, [0.25]).error("body rates", 0.25))
            for vehicle in (found.groups[name], pooled)
        )
        assert mine < 0.8 * common


def test_flights_of_one_vehicle_are_fitted_as_without_groups(
    logs: list[identify.FlightLog],
) -> None:
    ours = logs[::2]
    names = ["thrust", "speed_offset"]
    alone, grouped = (
        identify.fit_vehicle(
            ours, true_vehicle(), parameters=names, groups=groups, noise=NOISE, threads=1
        )
        for groups in (None, ["a", "a"])
    )
    assert grouped.estimates == alone.estimates
    assert grouped.groups["a"].estimates == alone.estimates


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (["a"], ValueError, r"groups: expected the name of a vehicle for each of the 4 logs, got"),
        ("abab", ValueError, r"groups: expected the name of a vehicle for each .*, got 'abab'"),
        (["a", "b", "", "b"], TypeError, r"groups: expected names, got ''"),
        (["a", "b", 3, "b"], TypeError, r"groups: expected names, got 3"),
    ],
)
def test_invalid_groups_are_refused(
    logs: list[identify.FlightLog], groups: list[str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        identify.fit_vehicle(logs, "crazyflie", groups=groups)
    with pytest.raises(error, match=message):
        identify.leave_one_out(logs, "crazyflie", groups=groups)


def test_posteriors_have_standard_errors_and_scatter(
    found: identify.Identified, tmp_path: Path
) -> None:
    """Of another flight of a vehicle, and of another vehicle of the type."""
    scatter = identify.Scatter()
    for result in (found, *found.groups.values()):
        posterior = result.posterior
        assert posterior.vehicle == result.vehicle
        deviations = dict(zip(posterior.parameters, posterior.standard_deviations, strict=True))
        drag, lag = result.estimate("drag_x"), result.estimate("time_constant_up")
        assert deviations["drag_x"] == pytest.approx(drag.standard_error)
        assert deviations["time_constant_up"] == pytest.approx(lag.standard_error / lag.value)
        assert deviations["balance_roll"] > result.estimate("balance_roll").standard_error
        assert 0.0 < deviations["balance_pitch"] < 2.0 * scatter.balance  # of flights only
    of_type, of_a = found.posterior, found.groups["a"].posterior
    place = of_type.parameters.index("speed_offset")
    assert of_a.parameters[place] == "speed_offset"
    between = abs(OFFSETS["a"] - OFFSETS["b"])
    assert of_type.standard_deviations[place] > 0.2 * between
    assert of_a.standard_deviations[place] < 0.5 * of_type.standard_deviations[place]
    free = of_a.correlations[: len(NAMES), : len(NAMES)]
    assert np.abs(free[~np.eye(len(NAMES), dtype=bool)]).max() > 0.1
    found.groups["a"].save(tmp_path / "a.toml")
    read = identify.Posterior.load(tmp_path / "a.toml")
    assert (read.correlations == of_a.correlations).all()
