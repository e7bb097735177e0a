"""Fleet(device="cuda") without a GPU: its kernels, compiled for the host, give the bits of the CPU
through the whole path of Python, and refusals say what is missing. tests/python/test_device.py
compiles the kernels for GPUs."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import propwash as pw
import pytest
from helpers import some_residual
from host_device import COMPILER, FakeCuda, HostDriver
from numpy.typing import NDArray
from propwash.__main__ import main
from propwash.cli import bench, bench_device
from propwash.fleet import _cuda, _device, _nvrtc

SIZE = 37
"""Two blocks, the second with five vehicles."""
INCLUDE = Path(__file__).resolve().parents[2] / "include"
GPU = Path("/dev/nvidiactl")
DTYPES = ("float32", "float64")


def slow(value: str) -> Any:
    return pytest.param(value, marks=pytest.mark.slow)


BOTH_DTYPES = pytest.mark.parametrize("dtype", ["float32", slow("float64")])

needs_compiler = pytest.mark.skipif(
    COMPILER is None or not INCLUDE.exists(), reason="a C++ compiler or include/ is missing"
)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> HostDriver:
    """The device "cuda" is the host."""
    made = HostDriver()
    monkeypatch.setattr(_device, "open_driver", lambda device: made)
    return made


def spread(shape: tuple[int, ...], low: float, high: float) -> NDArray[np.float64]:
    """Numbers from `low` to `high` in an order without a pattern."""
    numbers = np.arange(math.prod(shape)) * 7919 % 1009 / 1009
    return low + (high - low) * numbers.reshape(shape)


def ring(rotors: int, tilt: float = 0.0) -> pw.VehicleParameters:
    """A vehicle with rotors on a circle."""
    vehicle = pw.vehicles.load("flightgoggles")
    like = vehicle.rotors[0]
    made = []
    for k in range(rotors):
        angle = 2 * math.pi * (k + 0.5) / rotors
        x, y = math.cos(angle), math.sin(angle)
        axis = np.array([tilt * y, -tilt * x, 1.0])
        made.append(
            like.replace(
                position=(0.15 * x, 0.15 * y, 0.0),
                axis=tuple(axis / np.linalg.norm(axis)),
                spin=1.0 if k % 2 == 0 else -1.0,
            )
        )
    return vehicle.replace(name=f"ring of {rotors}", rotors=tuple(made))


BATTERY = {
    "nominal_voltage": 14.8, "cells": 4.0, "capacity": 1.3, "full_voltage": 4.2,
    "resistance": 0.02, "polarisation_resistance": 0.01, "polarisation_time": 2.0,
    "efficiency": 0.7, "load": 5.0,
}  # fmt: skip


TILTED = (math.cos(0.25), 0.6 * math.sin(0.25), 0.0, 0.8 * math.sin(0.25))


def with_all_terms(vehicle: pw.VehicleParameters) -> pw.VehicleParameters:
    """The vehicle with everything that a step can contain."""
    inertia = np.array(vehicle.body.inertia)
    inertia[0, 1] = inertia[1, 0] = 0.1 * inertia[0, 0]
    return vehicle.replace(
        body={"inertia": tuple(map(tuple, inertia))},
        motor={"time_constant_down": 0.03, "command_delay": 0.0046},
        rotor_drag={"linear": (0.1, 0.1, 0.05)},
        inflow={"axial": 1e-7, "translational": 1e-2, "radius": 0.1, "drag": 1e-5,
                "axial_drag": 1e-4, "flapping": 1e-6},
        ground_effect={"radius": 0.1},
        contact={"frequency": 15.0, "leg": 0.03, "height": -0.2},
        residual=some_residual(),
        battery=BATTERY,
        imu={"position": (0.01, -0.02, 0.005), "attitude": TILTED,
             "accelerometer_resolution": 0.01, "gyroscope_range": 2.5},
    )  # fmt: skip


def surroundings(fleet: pw.Fleet) -> None:
    fleet.set_action_delay(np.arange(SIZE) % 5)
    fleet.set_wind(spread((SIZE, 3), -3.0, 3.0))
    fleet.set_external_wrench(spread((SIZE, 3), -0.5, 0.5), spread((SIZE, 3), -1e-3, 1e-3))


def surroundings_and_voltage(fleet: pw.Fleet) -> None:
    surroundings(fleet)
    fleet.set_battery_voltage(spread((SIZE,), 11.0, 13.0))


def individual(fleet: pw.Fleet) -> None:
    factors = spread((SIZE,), 0.9, 1.2)
    names = ("body.mass", "motor.time_constant_up", "imu.gyroscope_noise_density")
    fleet.set_parameters({name: factors * fleet.parameters[name] for name in names})
    fleet.set_rotor_effectiveness(spread((SIZE, fleet.rotors), 0.9, 1.0))


EVERYTHING: dict[str, Any] = {
    "seed": 5, "first_id": 17, "floor": -0.05, "max_action_delay": 4,
    "turbulence": pw.Dryden(6.0, 15.0, 6.0, heading=1.0),
}  # fmt: skip


class Case(NamedTuple):
    """A fleet, its options, and what is set in it."""

    vehicle: pw.VehicleParameters
    options: dict[str, Any] = {}  # noqa: RUF012
    set_up: Callable[[pw.Fleet], None] = lambda fleet: None

    def fleets(self, dtype: str) -> tuple[pw.Fleet, pw.Fleet]:
        """The same fleet on the CPU and on the device."""
        made = [
            pw.Fleet(self.vehicle, SIZE, dtype, **self.options, device=device)
            for device in ("cpu", "cuda")
        ]
        for fleet in made:
            self.set_up(fleet)
        return made[0], made[1]


QUADCOPTER = pw.vehicles.load("flightgoggles")
NO_WALK = QUADCOPTER.replace(imu={"accelerometer_bias_walk": 0.0, "gyroscope_bias_walk": 0.0})
FULL = QUADCOPTER.replace(motor={"command_delay": 0.0046}, battery={"nominal_voltage": 12.0})
SLOW = FULL.replace(imu={"rate": 130.0, "gyroscope_bias_initial": 0.01})
CASES = {
    "noise": Case(QUADCOPTER),
    "process noise": Case(NO_WALK),
    "physics": Case(NO_WALK, {"noise": False}),
    "euler": Case(QUADCOPTER, {"integrator": "euler"}),
    "every feature": Case(FULL, EVERYTHING, surroundings_and_voltage),
    "slow imu": Case(SLOW, EVERYTHING, surroundings_and_voltage),
    "slow imu, euler": Case(SLOW, {**EVERYTHING, "integrator": "euler"}, surroundings_and_voltage),
    "individual": Case(QUADCOPTER, EVERYTHING, individual),
    "every term": Case(with_all_terms(ring(4, 0.2)), EVERYTHING, surroundings),
    "every term, six rotors": Case(with_all_terms(ring(6, 0.2)), EVERYTHING, surroundings),
    "every term, individual": Case(with_all_terms(ring(4, 0.2)), EVERYTHING, individual),
    "neurobem": Case(pw.vehicles.load("neurobem"), EVERYTHING, surroundings),
    "control vehicle": Case(QUADCOPTER, {"control_vehicle": ring(4)}),
    "three rotors": Case(ring(3)),
    "six rotors": Case(ring(6)),
    "six rotors, euler": Case(ring(6), {"integrator": "euler"}),
    "eight rotors, euler": Case(ring(8), {"integrator": "euler"}),
    "eight rotors": Case(ring(8)),
    "five rotors": Case(ring(5)),
    "twelve rotors": Case(ring(12, 0.1)),
}
QUICK = ("noise", "every feature", "every term, individual")
SPEEDS_ONLY = ("three rotors",)
"""Without yaw control: no allocation of rates."""


def commands(fleet: pw.Fleet, call: int, rates: bool) -> Any:
    phase = 0.1 * call
    if rates:
        turned = spread((SIZE, 3), -1.0, 1.0) * math.cos(phase)
        weight = 9.81 * fleet.parameters["body.mass"]
        return pw.RateThrust(turned, weight * (1.0 + 0.1 * math.sin(phase)))
    hover = 1100.0 if fleet.rotors == 4 else 900.0
    return pw.RotorSpeeds(spread((SIZE, fleet.rotors), 0.97, 1.03) * hover)


def fly(fleets: tuple[pw.Fleet, pw.Fleet], calls: range, substeps: int, rates: bool) -> None:
    for call in calls:
        for fleet in fleets:
            fleet.step(commands(fleet, call, rates), substeps=substeps)


def check_same(fleets: tuple[pw.Fleet, pw.Fleet]) -> None:
    """All bits of two fleets, and the readings of their IMUs."""
    cpu, device = fleets
    assert cpu.snapshot() == device.snapshot()
    for a, b in zip(vars(cpu.imu).values(), vars(device.imu).values(), strict=True):
        assert a.tobytes() == b.tobytes()
    assert not cpu.diverged.any()


def check_flight(case: Case, dtype: str, rates: bool) -> None:
    """1020 steps in long and short calls, with a reset of some vehicles in between."""
    fleets = case.fleets(dtype)
    fly(fleets, range(20), 25, rates)
    check_same(fleets)
    mask = np.zeros(SIZE, bool)
    mask[[3, 35]] = True
    for fleet in fleets:
        fleet.reset(position=[0.0, 0.0, 1.0], mask=mask)
    check_same(fleets)
    fly(fleets, range(20, 540), 1, rates)
    check_same(fleets)
    assert np.array_equal(fleets[0].contact, fleets[1].contact)


@needs_compiler
@pytest.mark.parametrize("name", QUICK)
def test_a_device_gives_the_bits_of_the_cpu(driver: HostDriver, name: str) -> None:
    check_flight(CASES[name], "float32", rates=True)


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rates", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_every_case_gives_the_bits_of_the_cpu(
    driver: HostDriver, name: str, rates: bool, dtype: str
) -> None:
    if rates and name in SPEEDS_ONLY:
        pytest.skip("rates need four independent forces")
    check_flight(CASES[name], dtype, rates)


@pytest.mark.slow
@pytest.mark.skipif(not GPU.exists(), reason="a GPU is missing")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_a_gpu_gives_the_bits_of_the_cpu(name: str, dtype: str) -> None:
    check_flight(CASES[name], dtype, rates=name not in SPEEDS_ONLY)


@needs_compiler
@pytest.mark.parametrize("name", [slow("noise"), "every feature"])
def test_commands_may_change_their_kind(driver: HostDriver, name: str) -> None:
    fleets = CASES[name].fleets("float32")
    target = spread((SIZE, 3), -1.0, 1.0).astype(np.float32)
    for call in range(4):
        fly(fleets, range(call, call + 2), 3, rates=call % 2 == 0)
        for fleet in fleets:
            fleet.step(pw.PositionCommand(target), substeps=23)
            fleet.step(pw.VelocityCommand(target), substeps=7)
            fleet.step(pw.TrajectoryCommand(target), substeps=13)
        fly(fleets, range(call, call + 2), 3, rates=call % 2 == 1)
        check_same(fleets)


@needs_compiler
def test_outer_loops_of_many_vehicles_precede_their_steps(driver: HostDriver) -> None:
    """Of more vehicles than one range of an executor has."""
    fleets = [pw.Fleet(QUADCOPTER, 700, device=device) for device in ("cpu", "cuda")]
    target = np.linspace(-1.0, 1.0, 2100).reshape(700, 3).astype(np.float32)
    for fleet in fleets:
        fleet.step(pw.PositionCommand(target), substeps=12)
    check_same((fleets[0], fleets[1]))


@needs_compiler
def test_a_refused_command_changes_nothing(driver: HostDriver) -> None:
    fleets = CASES["every feature"].fleets("float32")
    fly(fleets, range(3), 3, rates=False)
    for fleet in fleets:
        with pytest.raises(ValueError, match="substeps"):
            fleet.step(commands(fleet, 0, True), substeps=0)
    fly(fleets, range(3), 3, rates=True)
    check_same(fleets)


@needs_compiler
def test_a_rollout_records_what_the_cpu_records(driver: HostDriver) -> None:
    fleets = CASES["slow imu"].fleets("float32")
    fly(fleets, range(2), 3, rates=False)
    names = [name for name in vars(fleets[0].rollout(commands(fleets[0], 0, True), steps=1))]
    command = commands(fleets[0], 1, True)
    fleets[1].rollout(commands(fleets[0], 0, True), steps=1)
    records = [fleet.rollout(command, steps=12, substeps=5, record=names) for fleet in fleets]
    for name in names:
        a, b = getattr(records[0], name), getattr(records[1], name)
        assert name == "readings" or a.tobytes() == b.tobytes(), name
    fly(fleets, range(3), 4, rates=True)
    check_same(fleets)


@needs_compiler
def test_a_flight_moves_between_cpu_and_device(driver: HostDriver) -> None:
    cpu, device = CASES["individual"].fleets("float64")
    fly((cpu, device), range(3), 5, rates=True)
    copy: pw.Fleet = pickle.loads(pickle.dumps(device))
    assert copy.device == "cuda"
    device.step(commands(device, 9, True), substeps=5)
    device.restore(cpu.snapshot())
    check_same((cpu, device))
    fly((cpu, device), range(3, 6), 5, rates=True)
    fly((copy, copy), range(3, 4), 1, rates=True)
    check_same((cpu, device))
    cpu.restore(device.snapshot())
    check_same((cpu, device))
    for fleet in (cpu, device):
        fleet.reset(seed=11)
        fleet.set_state(velocity=[1.0, 0.0, 0.0], mask=np.arange(SIZE) < 5)
    fly((cpu, device), range(5), 2, rates=False)
    check_same((cpu, device))


@needs_compiler
@BOTH_DTYPES
def test_tensors_are_read_and_written_in_place(driver: HostDriver, dtype: str) -> None:
    torch = pytest.importorskip("torch")
    cpu, device = CASES["noise"].fleets(dtype)
    command = commands(cpu, 1, True)
    kind = getattr(torch, dtype)
    tensors = {
        "rates": torch.tensor(np.asarray(command.rates), dtype=kind),
        "thrust": torch.tensor(np.asarray(command.thrust), dtype=kind),
    }
    rows = {"position": (3,), "attitude": (4,), "rotor_speeds": (4,), "diverged": (1,)}
    out = {
        name: torch.full((SIZE, *tail) if name != "diverged" else (SIZE,), math.nan, dtype=kind)
        for name, tail in rows.items()
    }
    device.read_into(**out)  # before the first step
    assert np.array_equal(out["rotor_speeds"].numpy(), cpu.rotor_speeds)
    device.step(tensors)
    cpu.step(command)
    before = dict(driver.copied)
    for _ in range(5):
        device.step(tensors, substeps=10)
        cpu.step(command, substeps=10)
        device.read_into(**out)
    assert driver.copied == before  # neither state nor commands
    for name, tensor in out.items():
        assert np.array_equal(tensor.numpy(), getattr(cpu, name)), name
    speeds = torch.full((SIZE, 4), 1000.0, dtype=kind)
    device.step({"speeds": speeds})
    cpu.step(pw.RotorSpeeds(np.full((SIZE, 4), 1000.0)))
    check_same((cpu, device))


FIELDS = {
    "position": (3,), "velocity": (3,), "attitude": (4,), "body_rates": (3,), "rotor_speeds": (4,),
    "rotor_command": (4,), "accelerometer_bias": (3,), "gyroscope_bias": (3,),
    "battery_voltage": (), "battery_current": (), "state_of_charge": (), "contact": (),
    "diverged": (),
}  # fmt: skip


@needs_compiler
def test_every_field_is_written_to_tensors(driver: HostDriver) -> None:
    cpu, device = CASES["every feature"].fleets("float32")
    fly((cpu, device), range(3), 4, rates=True)
    tensors = {name: np.full((SIZE, *tail), np.nan, np.float32) for name, tail in FIELDS.items()}
    before = driver.copied["download"]
    device.read_into(**tensors)
    assert driver.copied["download"] == before
    for name, tensor in tensors.items():
        assert np.array_equal(tensor, getattr(cpu, name)), name


def test_other_fields_are_refused_and_nothing_is_written(driver: HostDriver) -> None:
    fleet = pw.Fleet("flightgoggles", 4, device="cuda")
    rows = np.full((4, 3), 7.0, np.float32)
    for other in ({"imu": rows}, {"time": rows[:, 0].copy()}, {"velocity": rows.T.copy()}):
        with pytest.raises(ValueError, match="expected"):
            fleet.read_into(position=rows, **other)
    assert (rows == 7.0).all()


def check_resets(fleets: tuple[pw.Fleet, pw.Fleet], driver: HostDriver) -> int:
    """Resets by tensors on the device and by arrays on the CPU; the bytes that were copied."""
    cpu, device = fleets
    dtype = cpu.dtype
    position = spread((SIZE, 3), -1.0, 1.0).astype(dtype)
    attitude = np.tile(np.array([0.5, 0.5, -0.5, 0.5], dtype), (SIZE, 1))
    speeds = spread((SIZE, cpu.rotors), 800.0, 900.0).astype(dtype)
    fly(fleets, range(6), 3, rates=True)
    device.reset_from(np.zeros(SIZE, bool))  # copies what vehicles restart from
    before = sum(driver.copied.values())
    for call in range(4):
        mask = np.arange(SIZE) % 3 == call % 3
        parts: dict[str, Any] = {"position": position, "attitude": attitude} if call % 2 else {}
        if call == 3:
            parts["rotor_speeds"] = speeds
        cpu.reset(mask=mask, **parts)
        device.reset_from(mask, check=False, **parts)
        tensors = {"rates": position, "thrust": position[:, 0].copy()}
        for _ in range(call):
            cpu.step(pw.RateThrust(**tensors), substeps=5)
            device.step(tensors, substeps=5)
    copied = sum(driver.copied.values()) - before
    check_same(fleets)
    assert np.array_equal(cpu.time, device.time)
    return copied


@needs_compiler
@BOTH_DTYPES
@pytest.mark.parametrize(
    "name", ["every feature", *map(slow, ("noise", "individual", "every term"))]
)
def test_resets_by_tensors_copy_nothing(driver: HostDriver, name: str, dtype: str) -> None:
    case = CASES[name]
    vehicle = case.vehicle.replace(imu={"gyroscope_bias_initial": 0.01})
    fleets = case._replace(vehicle=vehicle).fleets(dtype)
    assert check_resets(fleets, driver) == 0
    fleets[1].set_wind([1.0, 0.0, 0.0])
    fleets[0].set_wind([1.0, 0.0, 0.0])
    assert check_resets(fleets, driver) == 0


@needs_compiler
def test_resets_by_tensors_draw_no_bias_without_noise(driver: HostDriver) -> None:
    vehicle = QUADCOPTER.replace(imu={"gyroscope_bias_initial": 0.01})
    fleets = Case(vehicle, {"noise": False}).fleets("float32")
    fly(fleets, range(1), 3, rates=False)
    mask = np.arange(SIZE) < 20
    fleets[0].reset(mask=mask)
    fleets[1].reset_from(mask)
    check_same(fleets)


@needs_compiler
@pytest.mark.parametrize("is_current", [False, True])
def test_a_reset_by_wrong_tensors_changes_nothing(driver: HostDriver, is_current: bool) -> None:
    fleets = CASES["noise"].fleets("float32")
    if is_current:
        fly(fleets, range(2), 3, rates=True)
    mask = np.arange(SIZE) < 34
    for name, wrong in (("position", np.inf), ("attitude", np.nan), ("attitude", 0.0)):
        rows = np.full((SIZE, 4 if name == "attitude" else 3), 0.5, np.float32)
        rows[33:] = wrong
        parts: dict[str, Any] = {name: rows}
        with pytest.raises(ValueError, match=rf"{name}: expected finite .* for vehicle 33"):
            fleets[1].reset_from(mask, **parts)
        check_same(fleets)
        mask[33] = False
        fleets[1].reset_from(mask, **parts)
        fleets[0].reset(mask=mask, **parts)
        check_same(fleets)
        mask[33] = True
    if is_current:
        fleets[1].reset_from(mask, check=False, position=np.full((SIZE, 3), np.nan, np.float32))
        assert np.array_equal(fleets[1].diverged, mask)


@needs_compiler
def test_resets_by_tensors_fall_back_to_the_host(driver: HostDriver) -> None:
    fleets = CASES["slow imu"].fleets("float32")
    assert check_resets(fleets, driver) > 0
    for fleet in fleets:
        fleet.step(pw.PositionCommand([0.0, 0.0, 1.0]), substeps=7)
    mask = np.arange(SIZE) < 20
    fleets[0].reset(mask=mask)
    fleets[1].reset_from(mask)
    for fleet in fleets:
        fleet.step(pw.PositionCommand([0.0, 0.0, 1.0]), substeps=7)
    check_same(fleets)


@needs_compiler
def test_contact_is_that_of_the_last_call(driver: HostDriver) -> None:
    cpu, device = Case(SLOW, {"floor": -0.05}).fleets("float32")
    seen = []
    for call in range(60):
        speeds = 1150.0 if call >= 30 else 900.0
        for fleet in (cpu, device):
            fleet.step(pw.RotorSpeeds([speeds] * 4), substeps=1 + call % 20)
        seen.append(cpu.contact.any())
        assert np.array_equal(cpu.contact, device.contact)
    assert any(seen)
    assert not seen[0]
    assert not seen[-1]


@needs_compiler
def test_steps_copy_no_state(driver: HostDriver) -> None:
    _, device = CASES["every feature"].fleets("float32")
    command = commands(device, 1, True)
    device.step(command)
    before = dict(driver.copied)
    device.step(command, substeps=10)
    assert driver.copied["download"] == before["download"]
    assert driver.copied["upload"] - before["upload"] == 4 * SIZE * 4  # the command
    device.position  # noqa: B018
    copied = driver.copied["upload"]
    device.step(command)
    assert driver.copied["upload"] - copied == 4 * SIZE * 4  # reading changed nothing


@needs_compiler
def test_memory_is_freed_with_the_fleet(driver: HostDriver) -> None:
    _, device = CASES["individual"].fleets("float32")
    device.step(commands(device, 0, False))
    assert driver.memory
    del device
    assert not driver.memory


def test_what_runs_on_the_cpu_only_says_so(driver: HostDriver) -> None:
    fleet = pw.Fleet("flightgoggles", 4, noise=False, device="cuda")
    scene = pw.Scene([])
    with pytest.raises(ValueError, match=r"attach\(\): expected a fleet with device='cpu'"):
        fleet.attach(pw.RangeFinder(scene), rate=20.0)
    with pytest.raises(ValueError, match="gradients: expected a fleet with device='cpu'"):
        fleet.vjp(pw.RotorSpeeds(np.full((3, 4, 4), 1000.0)))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"rates": np.zeros((4, 3), np.float64)}, "rates: expected a tensor .4, 3. of float32"),
        ({"rates": np.zeros((3, 4), np.float32)}, "rates: expected a tensor .4, 3. of float32"),
        ({"rates": np.zeros((3, 4), np.float32).T}, "rates: expected a tensor in C order"),
        ({"thrust": 9.81}, "thrust: expected a tensor with __dlpack__"),
        ({"rates": np.zeros((4, 3), np.int32)}, "float32, got .4, 3. of int32"),
        ({"speeds": np.zeros((4, 4), np.float32)}, "command: expected tensors"),
    ],
)
def test_other_tensors_are_refused(driver: HostDriver, change: dict[str, Any], match: str) -> None:
    fleet = pw.Fleet("flightgoggles", 4, device="cuda")
    before = fleet.snapshot()
    good = {"rates": np.zeros((4, 3), np.float32), "thrust": np.zeros(4, np.float32)}
    with pytest.raises((ValueError, TypeError), match=match):
        fleet.step({**good, **change})
    assert fleet.snapshot() == before


def test_a_tensor_elsewhere_is_refused(driver: HostDriver) -> None:
    fleet = pw.Fleet("flightgoggles", 4, device="cuda")
    driver.device = (2, 0)
    with pytest.raises(ValueError, match="speeds: expected a tensor on cuda:0, got one on cpu:0"):
        fleet.step({"speeds": np.zeros((4, 4), np.float32)})


def test_a_failed_launch_raises(driver: HostDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object) -> None:
        raise RuntimeError("cuLaunchKernel: out of luck")

    monkeypatch.setattr(driver, "functions", refused)
    fleet = pw.Fleet("flightgoggles", 5000, device="cuda")
    with pytest.raises(RuntimeError, match="out of luck"):
        fleet.step(pw.RotorSpeeds([1000.0] * 4))


@needs_compiler
@pytest.mark.slow
def test_the_benchmark_prints_a_table(
    driver: HostDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(bench_device, "QUICK_BATCH", 32)
    monkeypatch.setattr(bench_device, "Timing", lambda: bench.Timing(1, 1e-4))
    out = tmp_path / "table.md"
    assert main(["bench", "--device", "cuda", "--quick", "--out", str(out)]) == 0
    lines = out.read_text(encoding="utf-8").splitlines()
    cells = [float(line.split("|")[3]) for line in lines if line.startswith("| float")]
    assert len(cells) == 3 * 2 * 2
    assert min(cells) > 0.0
    assert main(["bench", "--device", "cuda", "--json"]) == 2


def test_a_fleet_on_the_cpu_refuses_tensors() -> None:
    fleet = pw.Fleet("flightgoggles", 4)
    with pytest.raises(TypeError, match="command: expected a fleet with device='cuda'"):
        fleet.step({"speeds": np.zeros((4, 4), np.float32)})
    with pytest.raises(ValueError, match=r"read_into\(\): expected a fleet with device='cuda'"):
        fleet.read_into(position=np.zeros((4, 3), np.float32))
    with pytest.raises(ValueError, match=r"reset_from\(\): expected a fleet with device='cuda'"):
        fleet.reset_from(np.ones(4, bool))


@pytest.mark.parametrize("device", ["gpu", "cuda:", "cuda:x", 0, None])
def test_other_devices_are_refused(device: Any) -> None:
    with pytest.raises(ValueError, match="device: expected 'cpu', 'cuda'"):
        pw.Fleet("flightgoggles", 4, device=device)


def test_without_the_extra_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_nvrtc, "PACKAGE", "propwash-missing-package")
    with pytest.raises(ImportError, match=r'pip install "propwash\[cuda\]"'):
        pw.Fleet("flightgoggles", 4, device="cuda")


def test_without_a_gpu_an_error_says_what_is_expected() -> None:
    pytest.importorskip("cuda.bindings.driver")
    if GPU.exists():
        pytest.skip("there is a GPU")
    with pytest.raises(OSError, match="expected an NVIDIA GPU"):
        pw.Fleet("flightgoggles", 4, device="cuda")


@needs_compiler
def test_the_driver_calls_cuda_as_its_documentation_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fake of cuda.bindings.driver on memory of the host; the real one runs on a GPU only."""
    bindings = pytest.importorskip("cuda.bindings")
    pytest.importorskip("cuda.bindings.driver")
    fake = FakeCuda(bindings.driver)
    monkeypatch.setattr(bindings, "driver", fake)
    monkeypatch.setattr(_cuda, "cuda_driver", _cuda.CudaDriver)
    monkeypatch.setattr(_cuda, "kernels", lambda nvrtc, isa, names: ({n: n for n in names}, b""))
    fleets = CASES["slow imu"].fleets("float32")
    assert fleets[1].isa == "sm_90"
    fly(fleets, range(4), 9, rates=True)
    check_same(fleets)
    with pytest.raises(ValueError, match="expected a number below 2, the GPUs here, got 2"):
        pw.Fleet("flightgoggles", 4, device="cuda:2")
    del fleets
    assert not fake.host.memory
    assert fake.contexts == ["caller"]  # torch finds its current device there


def test_compiled_kernels_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        nvrtc = _nvrtc.library()
    except ImportError:
        pytest.skip("nvidia-cuda-nvrtc is missing")
    monkeypatch.setenv("PROPWASH_CACHE", str(tmp_path))
    names = ["propwash::fleet_rows<float>"]
    first = _cuda.kernels(nvrtc, "sm_90", names, INCLUDE)
    assert first[0][names[0]].encode() in first[1]
    monkeypatch.setattr(_nvrtc, "compiled", None)  # not called again
    assert _cuda.kernels(nvrtc, "sm_90", names, INCLUDE) == first
    monkeypatch.undo()
    monkeypatch.setenv("PROPWASH_CACHE", str(tmp_path))
    _cuda.kernels(nvrtc, "sm_80", names, INCLUDE)
    assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "file").touch()
    monkeypatch.setenv("PROPWASH_CACHE", str(tmp_path / "file"))  # a folder that cannot be made
    assert _cuda.kernels(nvrtc, "sm_90", names, INCLUDE) == first
