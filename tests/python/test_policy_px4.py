"""An exported policy flies the real PX4: PROPWASH_PX4 names its program."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pymavlink")
pytest.importorskip("onnxruntime")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("PROPWASH_PX4" not in os.environ, reason="PROPWASH_PX4 is not set"),
    pytest.mark.skipif(not shutil.which("cc"), reason="a C compiler is missing"),
]


@pytest.mark.parametrize("step", [0.0, 0.7])
def test_a_policy_holds_and_moves_the_vehicle(step: float, tmp_path: Path) -> None:
    from policy_flight import PolicyFlight

    binary = Path(os.environ["PROPWASH_PX4"])
    with PolicyFlight("px4", binary, "flightgoggles", tmp_path) as flight:
        assert flight.arm()
        assert flight.take_off()
        flight.wait(5.0)
        place = flight.samples[-1].position.copy()
        flight.fly_by("hover")
        flight.wait(3.0)
        north, west, up = flight.pilot.goal
        flight.pilot.goal = (north + step, west, up)
        flight.wait(7.0)
        flown = [s for s in list(flight.samples) if s.time >= flight.time - 3.0]
        assert flight.land()
    places = np.array([sample.position for sample in flown])
    # PX4's estimate drifts by some decimetres; world axes are east, north, up
    assert np.abs(places.mean(axis=0) - place - (0.0, step, 0.0)).max() < 0.6
    assert np.ptp(places, axis=0).max() < 0.6
