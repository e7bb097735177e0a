"""Instruction sets: chosen when a fleet is made, the same flight on each; nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import propwash as pw
import pytest

ISAS = pw.build_info()["isas"]


def flown(dtype: str, **options: Any) -> pw.Fleet:
    """A closed loop with noise, for a quarter of a second."""
    n, rng = 19, np.random.default_rng(4)
    fleet = pw.Fleet("flightgoggles", n, dtype, seed=1, threads=1, **options)
    command = pw.RateThrust(rng.uniform(-2.0, 2.0, (n, 3)), rng.uniform(9.0, 11.0, n))
    fleet.step(command, substeps=240)
    return fleet


@pytest.mark.parametrize("isa", ISAS)
# fused sums round once less: some units in the last place over the flight
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 1e-3)])
def test_instruction_sets_fly_alike(
    isa: str, dtype: str, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = flown(dtype, reproducible=True)
    monkeypatch.setenv("PROPWASH_ISA", isa)
    fleet = flown(dtype)
    assert fleet.isa == pw.build_info()["isa"] == isa
    for name in ("position", "velocity", "attitude", "body_rates", "rotor_speeds"):
        ours, theirs = getattr(fleet, name), getattr(expected, name)
        scale = max(1.0, float(np.abs(theirs).max()))
        assert np.abs(ours - theirs).max() < tolerance * scale, name


@pytest.mark.parametrize("isa", ISAS)
def test_reproducible_is_the_same_bits_whatever_the_set(
    isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = flown("float32", reproducible=True)
    monkeypatch.setenv("PROPWASH_ISA", isa)
    fleet = flown("float32", reproducible=True)
    assert fleet.isa == expected.isa
    assert fleet.snapshot() == expected.snapshot()


@pytest.mark.parametrize("isa", ISAS)
def test_a_snapshot_goes_on_with_another_set(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = flown("float32").snapshot()
    monkeypatch.setenv("PROPWASH_ISA", isa)
    fleet = pw.Fleet("flightgoggles", 19, "float32")
    fleet.restore(snapshot)
    assert fleet.snapshot() == snapshot


def test_an_unknown_set_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROPWASH_ISA", "v9")
    with pytest.raises(ValueError, match=r"PROPWASH_ISA = 'v9': expected.*baseline"):
        pw.Fleet("flightgoggles", 3)


def test_subnormal_numbers_stay_alive() -> None:
    flown("float32")
    for dtype in (np.float32, np.float64):
        smallest = np.finfo(dtype).smallest_subnormal
        assert smallest > 0.0
        assert np.array([smallest]) / dtype(1) * dtype(3) > 0.0
