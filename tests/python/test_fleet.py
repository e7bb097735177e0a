"""Fleets: agreement with single vehicles, bitwise reproducibility, snapshots."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import propwash as pw
import pytest
from numpy.typing import NDArray

Numbers = NDArray[Any]
DT = 1.0 / 960.0
PARTS = ("position", "velocity", "attitude", "body_rates", "rotor_speeds")
RNG = np.random.default_rng(11)


def varied_command(n: int, dtype: str = "float64", seed: int = 5) -> pw.RateThrust:
    """A different command for each vehicle."""
    rng = np.random.default_rng(seed)
    rates = rng.uniform(-3.0, 3.0, (n, 3)).astype(dtype)
    return pw.RateThrust(rates, rng.uniform(8.0, 12.0, n).astype(dtype))


def state(fleet: pw.Fleet) -> dict[str, Numbers]:
    """All readable quantities of a fleet."""
    names = (*PARTS, "rotor_command", "accelerometer_bias", "gyroscope_bias", "wind", "time")
    read: dict[str, Numbers] = {name: getattr(fleet, name) for name in names}
    imu = fleet.imu
    flags = {"contact": fleet.contact, "diverged": fleet.diverged}
    return {**read, "force": imu.specific_force, "rate": imu.angular_rate, **flags}


def same_bits(a: dict[str, Numbers], b: dict[str, Numbers]) -> None:
    """Requires bitwise equality of all parts."""
    assert a.keys() == b.keys()
    for name, values in a.items():
        assert values.dtype == b[name].dtype
        assert values.tobytes() == b[name].tobytes(), name


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
@pytest.mark.parametrize("closed_loop", [False, True])
# in float32, the rounding errors of 96 steps at about 3 rad/s sum to about ten ulps
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 3e-5)])
def test_fleet_matches_single_vehicles(
    dtype: str, tolerance: float, closed_loop: bool, integrator: Any
) -> None:
    n, vehicle = 5, "flightgoggles"
    fleet = pw.Fleet(vehicle, n, dtype, integrator, seed=3, first_id=40, threads=1)
    rng = np.random.default_rng(2)
    speeds = rng.uniform(900.0, 1300.0, (n, 4)).astype(dtype)
    rates = varied_command(n, dtype)
    command: Any = rates if closed_loop else pw.RotorSpeeds(speeds)
    for _ in range(8):
        fleet.step(command, substeps=12)
    reading = fleet.imu
    for i in range(n):
        single = pw.Multicopter(vehicle, integrator, seed=3, id=40 + i)
        row: Any = pw.RateThrust(rates.rates[i], float(rates.thrust[i]))
        single.step(row if closed_loop else pw.RotorSpeeds(speeds[i]), DT, substeps=96)
        for name in PARTS:
            expected = getattr(single.state, name)
            scale = max(1.0, float(np.abs(expected).max()))
            assert np.abs(getattr(fleet, name)[i] - expected).max() < tolerance * scale, name
        imu = single.imu
        assert np.abs(reading.specific_force[i] - imu.specific_force).max() < 100 * tolerance
        assert np.abs(reading.angular_rate[i] - imu.angular_rate).max() < 100 * tolerance
    assert np.allclose(fleet.time, 96 * DT, rtol=0, atol=1e-12)


def test_one_command_applies_to_all_vehicles() -> None:
    fleets = [pw.Fleet("flightgoggles", 6, noise=False, threads=1) for _ in range(4)]
    rates = np.array([0.5, -1.0, 0.2], dtype=np.float32)
    fleets[0].step(pw.RateThrust(rates, 9.5), substeps=40)
    fleets[1].step(pw.RateThrust(np.tile(rates, (6, 1)), np.full(6, 9.5)), substeps=40)
    fleets[2].rollout(pw.RateThrust(np.tile(rates, (4, 1, 1)), 9.5), substeps=10)
    fleets[3].rollout(pw.RateThrust(rates, np.full((2, 1), 9.5)), substeps=20)
    for other in fleets[1:]:
        same_bits(state(fleets[0]), state(other))
    assert np.all(fleets[0].position == fleets[0].position[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_commands_of_either_dtype_and_memory_order_are_accepted(dtype: str) -> None:
    n = 7
    rates = RNG.normal(size=(n, 3)).astype(np.float32)
    speeds = RNG.uniform(900, 1200, (n, 4)).astype(np.float32)
    results = []
    for r, s in (
        (rates, speeds),
        (rates.astype(np.float64), speeds.astype(np.float64)),
        (np.asfortranarray(rates), np.asfortranarray(speeds)),
        (rates.astype(">f4"), speeds.astype(">f8")),
        (np.repeat(rates, 2, axis=0)[::2], speeds.tolist()),
    ):
        fleet = pw.Fleet("flightgoggles", n, dtype, threads=1)
        fleet.step(pw.RateThrust(r, np.full(n, 10, dtype=int)), substeps=3)
        fleet.step(pw.RotorSpeeds(s), substeps=3)
        results.append(state(fleet))
    for other in results[1:]:
        same_bits(results[0], other)
    assert pw.RateThrust(rates, 1.0).rates.dtype == np.float32
    assert pw.RotorSpeeds(speeds).speeds.dtype == np.float32


@pytest.mark.parametrize("vehicle", ["flightgoggles", "crazyflie"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_restored_snapshot_continues_identically(vehicle: str, dtype: str) -> None:
    n = 21
    fleet = pw.Fleet(
        vehicle, n, dtype, seed=8, max_action_delay=3, floor=-1.0,
        turbulence=pw.Dryden(5.0, 10.0, 5.0),
    )  # fmt: skip
    fleet.set_action_delay(np.arange(n) % 4)
    fleet.set_wind([3.0, 0.0, 0.0])
    command = pw.RateThrust(varied_command(n).rates, fleet.vehicle.body.mass * 9.81)
    fleet.step(command, substeps=13)
    fleet.reset(mask=np.arange(n) % 3 == 0)
    fleet.step(command, substeps=6)
    snapshot, parts = fleet.snapshot(), state(fleet)
    fleet.step(command, substeps=30)
    later = state(fleet)
    fleet.restore(snapshot)
    same_bits(parts, state(fleet))
    other = pw.Fleet(
        vehicle, n, dtype, max_action_delay=3, floor=-1.0, turbulence=pw.Dryden(5.0, 10.0, 5.0)
    )
    other.restore(snapshot)
    for continued in (fleet, other, pickle.loads(pickle.dumps(other)), copy.deepcopy(other)):
        assert continued.snapshot() == snapshot
        continued.step(command, substeps=30)
        same_bits(later, state(continued))


def test_copies_keep_parameters_and_options() -> None:
    fleet = pw.Fleet(
        "flightgoggles", 5, "float64", "euler", dt=0.002, seed=3, threads=2, noise=False
    )
    fleet.set_parameters(mass=[0.8, 0.9, 1.0, 1.1, 1.2])
    fleet.step(varied_command(5), substeps=10)
    other = pickle.loads(pickle.dumps(fleet))
    for each in (fleet, other):
        each.step(varied_command(5), substeps=10)
    same_bits(state(fleet), state(other))
    assert repr(other) == repr(fleet)
    assert np.array_equal(other.parameters["mass"], fleet.parameters["mass"])


def test_returned_arrays_are_copies() -> None:
    fleet = pw.Fleet("flightgoggles", 3)
    fleet.position[:] = 7.0
    fleet.imu.specific_force[:] = 7.0
    assert np.all(fleet.position == 0.0)
    assert np.all(fleet.imu.specific_force != 7.0)


def test_rollout_records_the_requested_quantities() -> None:
    fields = pw.FleetTrajectory.__dataclass_fields__
    n, all_fields = 5, [name for name in fields if name != "readings"]
    fleet, other = (pw.Fleet("flightgoggles", n, seed=1, floor=-0.05) for _ in range(2))
    commands = pw.RotorSpeeds(RNG.uniform(0.0, 300.0, (30, n, 4)))
    log = fleet.rollout(commands, substeps=4, record=all_fields)
    for t in range(30):
        other.step(pw.RotorSpeeds(commands.speeds[t]), substeps=4)
        reading = other.imu
        for name in all_fields:
            array = getattr(log, name)
            expected = getattr(reading if hasattr(reading, name) else other, name)
            assert array.dtype == expected.dtype
            assert array[t].tobytes() == expected.tobytes(), name
    assert log.contact is not None
    assert log.contact[-1].all()
    assert not log.contact[0].any()
    held = fleet.rollout(pw.RotorSpeeds(np.full(4, 500.0)), steps=3, record=["time"])
    assert held.time is not None
    assert held.time.shape == (3, n)
    assert held.position is None
    assert len(fleet.rollout(commands, steps=30, record=[])) == 0
    assert len(fleet.rollout(pw.RotorSpeeds(np.zeros((0, n, 4))))) == 0


def test_options_can_be_read() -> None:
    fleet = pw.Fleet("hexacopter", 3, np.float64, "euler", dt=0.001, seed=2**64 - 1)
    assert fleet.dtype == np.float64
    assert (fleet.rotors, fleet.dt, fleet.seed) == (6, 0.001, 2**64 - 1)
    assert fleet.vehicle == pw.vehicles.load("hexacopter")
    assert fleet.isa
    assert fleet.bytes_per_vehicle > 0
    assert isinstance(pw.build_info(), dict)


def test_memory_of_a_vehicle_is_within_its_bound() -> None:
    assert pw.Fleet("flightgoggles", 4096).bytes_per_vehicle <= 450


def test_a_rollout_can_be_copied_and_pickled() -> None:
    fleet = pw.Fleet("flightgoggles", 3, seed=1)
    fleet.attach(pw.Barometer(), 100.0)
    log = fleet.rollout(pw.RateThrust(np.zeros((20, 1, 3)), 9.81))
    for copied in (copy.deepcopy(log), pickle.loads(pickle.dumps(log))):
        assert np.array_equal(np.array(copied.position), np.array(log.position))
        assert np.array_equal(copied.readings["barometer"].time, log.readings["barometer"].time)
