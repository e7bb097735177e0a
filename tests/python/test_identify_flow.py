"""Identification of inflow and ground effect from simulated flights with known coefficients."""

from __future__ import annotations

from dataclasses import replace

import propwash as pw
import pytest
from identify_flight import NOISE, simulated_flight, true_vehicle
from propwash import identify
from propwash.identify._parameters import FLOW

pytest.importorskip("scipy")

TRUTH = {
    "inflow_axial": 4e-6,
    "inflow_translational": 1.5e-3,
    "inflow_drag": 3e-6,
    "inflow_axial_drag": 2e-3,
    "inflow_flapping": 2e-8,
    "ground_effect": 2.5,
}
ERRORS = {
    "inflow_axial": 0.03,
    "inflow_translational": 0.15,
    "inflow_drag": 0.1,
    "inflow_axial_drag": 0.4,
    "inflow_flapping": 0.1,
    "ground_effect": 0.1,
}
"""Relative, at most."""
RADIUS = 0.023
"""m, of momentum theory; known, as it is measured with a ruler."""


@pytest.fixture(scope="module")
def log() -> identify.FlightLog:
    """20 s within 0.3 m of the ground, with lateral speeds up to 1 m/s."""
    flow = {name.removeprefix("inflow_"): value for name, value in TRUTH.items()}
    ground = {"radius": 0.023, "coefficient": flow.pop("ground_effect"), "height": -0.1}
    vehicle = true_vehicle().replace(
        motor={"speed_offset": 0.0}, inflow={**flow, "radius": RADIUS}, ground_effect=ground
    )
    return simulated_flight(20.0, 2, vehicle)


@pytest.mark.parametrize(
    "synchronous",
    [
        pytest.param(True, id="poses and rates"),
        pytest.param(False, id="poses", marks=pytest.mark.slow),
    ],
)
def test_coefficients_are_recovered_from_poses(log: identify.FlightLog, synchronous: bool) -> None:
    guess = true_vehicle().replace(
        motor={"speed_offset": 0.0},
        inflow={"radius": RADIUS},
        ground_effect={"radius": 0.023, "height": -0.1},
    )
    found = identify.fit_vehicle(
        replace(log, synchronous=synchronous),
        guess,
        noise=NOISE,
        parameters=["thrust", *FLOW],
        threads=1,
    )
    for name, relative in ERRORS.items():
        estimate = found.estimate(name)
        assert estimate.identified
        assert not estimate.at_bound
        assert estimate.value == pytest.approx(TRUTH[name], rel=relative), name
        assert abs(estimate.value - TRUTH[name]) < 4.0 * estimate.standard_error, name
    assert found.vehicle.inflow.axial == found.estimate("inflow_axial").value
    assert found.vehicle.ground_effect.coefficient == found.estimate("ground_effect").value


@pytest.mark.slow
def test_they_are_fitted_on_request_only(log: identify.FlightLog) -> None:
    found = identify.fit_vehicle(log, true_vehicle(), noise=NOISE, threads=1)
    assert not {each.name for each in found.estimates} & set(FLOW)


def test_ground_effect_needs_a_radius(log: identify.FlightLog) -> None:
    with pytest.raises(pw.ParameterError, match=r"ground_effect\.radius > 0"):
        identify.fit_vehicle(log, true_vehicle(), parameters=["ground_effect"], threads=1)
