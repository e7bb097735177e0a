"""Derivatives of a flight with respect to the coefficients of inflow and ground effect."""

from __future__ import annotations

import numpy as np
import propwash as pw
import pytest
from gradient_helpers import check_parameter_slopes, flown, make_fleet

NAMES = ["inflow.axial", "inflow.translational", "inflow.drag", "inflow.axial_drag"]
NAMES += [
    "inflow.flapping",
    "ground_effect.coefficient",
    "ground_effect.radius",
    "ground_effect.height",
]


def vehicle(factor: float) -> pw.VehicleParameters:
    """Close to the ground; with `factor` 0 only the induced velocity changes."""
    return pw.vehicles.load("flightgoggles").replace(
        inflow={
            "axial": 1e-4 * factor,
            "translational": 2e-3 * factor,
            "radius": 0.06,
            "drag": 2e-5 * factor,
            "axial_drag": 1e-3 * factor,
            "flapping": 1e-6 * factor,
        },
        ground_effect={"radius": 0.15, "coefficient": 1.3 * factor, "height": -0.7},
    )


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_equal_central_differences(name: str) -> None:
    check_parameter_slopes(make_fleet(vehicle(1.0)), name)


def test_coefficients_of_zero_have_derivatives() -> None:
    """There the fleet uses kernels without these terms."""
    still, nearly_still = (flown(make_fleet(vehicle(factor)), NAMES) for factor in (0.0, 1e-9))
    assert still[0] == pytest.approx(nearly_still[0], rel=1e-6)
    for name in NAMES[:6]:
        assert np.abs(still[1][name]).min() > 0.0
        np.testing.assert_allclose(still[1][name], nearly_still[1][name], rtol=1e-5)
