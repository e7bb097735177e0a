"""Instruction sets: selection at construction of a fleet, and bitwise equal results."""

from __future__ import annotations

from typing import Literal

import numpy as np
import propwash as pw
import pytest
from helpers import tilted_hexacopter

ISAS = pw.build_info()["isas"]
Integrator = Literal["euler", "rk4"]


def flown_fleet(dtype: str) -> pw.Fleet:
    """A fleet after 0.25 s with the rate loop and noise."""
    n, rng = 19, np.random.default_rng(4)
    fleet = pw.Fleet("flightgoggles", n, dtype, seed=1, threads=1)
    command = pw.RateThrust(rng.uniform(-2.0, 2.0, (n, 3)), rng.uniform(9.0, 11.0, n))
    fleet.step(command, substeps=240)
    return fleet


def snapshot_after_two_minutes(
    dtype: str, vehicle: str | pw.VehicleParameters, integrator: Integrator
) -> bytes:
    """The complete state after two minutes with all noise, turbulence and outer loops."""
    n = 19  # does not fill the last register
    fleet = pw.Fleet(
        vehicle,
        n,
        dtype,
        integrator=integrator,
        seed=1,
        threads=1,
        floor=0.0,
        turbulence=pw.Dryden(wind_speed_6m=3.0, altitude=5.0, airspeed=3.0),
        max_action_delay=2,
    )
    fleet.set_action_delay(np.arange(n) % 3)
    fleet.set_state(position=np.column_stack([np.zeros((n, 2)), np.linspace(0.0, 20.0, n)]))
    targets = np.random.default_rng(4).uniform([-3.0, -3.0, 2.0], [3.0, 3.0, 8.0], (n, 3))
    for second in range(120):
        fleet.step(pw.PositionCommand(np.roll(targets, second, axis=0)), substeps=960)
    return fleet.snapshot()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("vehicle", "integrator"),
    [
        ("flightgoggles", "rk4"),
        ("flightgoggles", "euler"),
        ("hexacopter", "rk4"),
        (tilted_hexacopter().replace(body={"gravity": (0.0, 0.0, -9.81)}), "rk4"),
    ],
    ids=["quadcopter", "euler", "hexacopter", "tilted"],
)
def test_instruction_sets_give_the_same_bits(
    vehicle: str | pw.VehicleParameters,
    integrator: Integrator,
    dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    snapshots: dict[str, bytes] = {}
    for isa in ISAS:
        monkeypatch.setenv("PROPWASH_ISA", isa)
        assert pw.Fleet("flightgoggles", 1).isa == pw.build_info()["isa"] == isa
        snapshots[isa] = snapshot_after_two_minutes(dtype, vehicle, integrator)
    assert [isa for isa in ISAS if snapshots[isa] != snapshots[ISAS[0]]] == []


@pytest.mark.parametrize("isa", ISAS)
def test_a_snapshot_continues_with_another_instruction_set(
    isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = flown_fleet("float32").snapshot()
    monkeypatch.setenv("PROPWASH_ISA", isa)
    fleet = pw.Fleet("flightgoggles", 19, "float32")
    fleet.restore(snapshot)
    assert fleet.snapshot() == snapshot


def test_an_unknown_instruction_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPWASH_ISA", "v9")
    with pytest.raises(ValueError, match=rf"PROPWASH_ISA = 'v9': expected.*{ISAS[-1]}"):
        pw.Fleet("flightgoggles", 3)


def test_subnormal_numbers_are_not_flushed_to_zero() -> None:
    flown_fleet("float32")
    for dtype in (np.float32, np.float64):
        smallest = np.finfo(dtype).smallest_subnormal
        assert smallest > 0.0
        assert np.array([smallest]) / dtype(1) * dtype(3) > 0.0
