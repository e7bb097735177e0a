"""Gains designed for the rate loops of PX4, ArduPilot and Betaflight, and the predicted steps."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from autopilot_peers import QuadX
from autopilot_rate_loops import ArduPilotLoop, LowPass2, Px4Loop, RateLoop
from numpy.typing import NDArray
from propwash import tune, vehicles
from propwash.autopilot import (
    QUAD_X,
    FirmwareLoop,
    Simulation,
    firmware_parameters,
    settings_file,
)
from propwash.autopilot._firmware import ProgramName
from propwash.cli.main import main

Array = NDArray[np.float64]
PROGRAMS: tuple[ProgramName, ...] = ("betaflight", "px4", "ardupilot")
QUADS = ("flightgoggles", "blackbird", "crazyflie", "penguin")
LOOPS: dict[str, type[RateLoop]] = {"px4": Px4Loop, "ardupilot": ArduPilotLoop}


@cache
def designed(program: ProgramName, vehicle: str) -> FirmwareLoop:
    """The loop of a shipped vehicle."""
    return FirmwareLoop(program, vehicle)


def flown_step(program: ProgramName, loop: FirmwareLoop, axis: int, height: float) -> Array:
    """(T, 2) time since a step of the rate and the rate, flown by the peer's loop."""
    simulation = Simulation(loop.vehicle, QUAD_X[program], own_spins=True, noise=False)
    simulation.period = loop.dt
    rates = LOOPS[program](firmware_parameters(loop))
    hover = loop.vehicle.weight / loop.vehicle.max_thrust
    signs = np.array([1.0, -1.0, -1.0])  # forward-right-down
    rows = []
    for k in range(round(1.5 / loop.dt)):
        since = k * loop.dt - 1.0
        wanted = np.zeros(3)
        wanted[axis] = height if since >= 0.0 else 0.0
        sample = simulation.sample
        rows.append((since, sample.body_rates[axis]))
        changes = rates.outputs(signs * wanted, signs * sample.angular_rate, loop.dt)
        simulation.step((1.3 if since < -0.6 else 1.0) * hover + changes @ QuadX.MIX)
    return np.array([row for row in rows if row[0] >= 0.0])


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["flightgoggles", "crazyflie"])
@pytest.mark.parametrize("program", ["px4", "ardupilot"])
def test_a_step_flown_by_the_program_s_rate_loop_is_as_predicted(
    program: ProgramName, name: str, axis: int
) -> None:
    """The peer's loops are written from the programs' sources, sample by sample."""
    loop = designed(program, name)
    flown = flown_step(program, loop, axis, 0.2)
    time, rate = loop.step(axis, 1.0)
    expected = np.interp(flown[:, 0], time, rate, left=0.0)
    assert (
        np.abs(flown[:, 1] / 0.2 - expected).max() < 0.1
    )  # it still climbs, which the model excludes
    measured, predicted = (
        tune.step_figures(flown[:, 0], values, 1.0) for values in (flown[:, 1] / 0.2, expected)
    )
    assert measured.rise_time == pytest.approx(predicted.rise_time, rel=0.1)


@pytest.mark.parametrize("name", QUADS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_rounded_gains_have_the_margins(program: ProgramName, name: str) -> None:
    loop = designed(program, name)
    margins = [loop.margins(axis) for axis in range(3)]
    for axis, found in enumerate(margins):
        assert found.stable
        assert found.phase > 48.0
        assert found.gain > 5.5
        assert loop.attitude_gain(axis) <= 2.0 * np.pi * found.crossover / 3.0 + 1e-9
    assert margins[2].bandwidth < 1.05 * margins[0].bandwidth
    assert min(found.phase for found in margins) < 60.0  # close to the limit


def test_a_requested_bandwidth_is_reached_or_refused() -> None:
    vehicle = vehicles.load("flightgoggles")
    loop = FirmwareLoop("px4", vehicle, bandwidth=[7.0, 6.0, 1.2])
    for axis, expected in enumerate((7.0, 6.0, 1.2)):
        assert loop.margins(axis).bandwidth == pytest.approx(expected, rel=0.01)
    with pytest.raises(tune.TuneError, match=r"25 Hz.*cannot be reached.*the motors' lag causes"):
        FirmwareLoop("px4", vehicle, bandwidth=25.0)


@pytest.mark.parametrize("name", QUADS)
def test_px4_controls_all_axes(name: str) -> None:
    """PX4 gives up an axis on which no rotor has a coefficient above 0.05."""
    parameters = firmware_parameters(designed("px4", name))
    for k in range(4):
        coefficient = parameters[f"CA_ROTOR{k}_CT"]
        assert coefficient <= 100.0
        for column in ("PX", "PY", "KM"):
            assert abs(coefficient * parameters[f"CA_ROTOR{k}_{column}"]) > 0.06


def test_betaflight_s_range_of_gains() -> None:
    vehicle = vehicles.load("penguin")
    weak = vehicle.replace(
        rotors=tuple(
            r.replace(torque_coefficient=0.1 * r.torque_coefficient, inertia=0.0)
            for r in vehicle.rotors
        )
    )
    with pytest.raises(ValueError, match=r"gains of at most 250, .* got \d+; lower the bandwidth"):
        firmware_parameters(FirmwareLoop("betaflight", weak))


@pytest.mark.parametrize(
    ("program", "suffix", "line"),
    [
        ("px4", ".params", r"^1\t1\t(\S+)\t(\S+)\t[69]$"),
        ("ardupilot", ".parm", r"^(\S+) (\S+)$"),
        ("betaflight", ".txt", r"^set (\S+) = ([\d.]+)$"),
    ],
)
def test_files_have_the_parameters(program: ProgramName, suffix: str, line: str) -> None:
    loop = designed(program, "crazyflie")
    found, text = settings_file(loop)
    assert found == suffix
    pairs = re.findall(line, text, re.MULTILINE)
    assert {name: float(value) for name, value in pairs} == firmware_parameters(loop)


def test_the_command_writes_plots_and_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    assert main(["tune", "crazyflie", "--firmware", "px4", "--out", str(tmp_path)]) == 0
    assert "crazyflie: gains of px4, at 250 Hz" in capsys.readouterr().out
    figures = {"bode_x.png", "bode_y.png", "bode_z.png", "nyquist.png", "filter.png"}
    assert {path.name for path in tmp_path.iterdir()} == figures | {"crazyflie.params"}
    _, text = settings_file(designed("px4", "crazyflie"))
    assert (tmp_path / "crazyflie.params").read_text() == text


def test_the_command_refuses_options_of_propwash_s_controller(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for option in (["--present"], ["--sweep", "10"], ["--rate", "500"]):
        assert main(["tune", "--firmware", "px4", "--no-plots", *option]) == 2
        assert "--firmware: expected without --present" in capsys.readouterr().err
    assert main(["tune", "--own-spins", "--no-plots"]) == 2
    assert "--own-spins: expected with --firmware" in capsys.readouterr().err


def test_a_slow_loop_of_a_program_is_refused_because_of_blow_back() -> None:
    with pytest.raises(
        tune.TuneError,
        match=r"blow_back or inflow.flapping destabilises slow loops: raise the band",
    ):
        FirmwareLoop("betaflight", "crazyflie", bandwidth=0.3)


def test_elements_of_a_controller_are_those_of_its_difference_equations() -> None:
    """Each element against its recursion on random rates; more than 32 states are refused."""
    dt = 0.004
    equations = tune.DifferenceEquations(dt)
    filtered = equations.low_pass_2(equations.rate, 40.0)
    built = equations.controller(
        filtered, equations.integral(equations.command), equations.derivative(filtered)
    )
    inputs = np.random.default_rng(1).normal(size=(50, 2))
    low_pass, state, summed, before = LowPass2(40.0), np.zeros(len(built.A)), 0.0, 0.0
    for command, rate in inputs:
        signals = built.C @ state + built.D @ (command, rate)
        state = built.A @ state + built.B @ (command, rate)
        value = low_pass(np.full(3, rate), dt)[0]
        summed += dt * command
        assert signals == pytest.approx([value, summed, (value - before) / dt])
        before = value
    for _ in range(30):
        equations.before(filtered)
    with pytest.raises(ValueError, match="at most 32 states, got 34"):
        equations.controller(filtered, filtered, filtered)


@pytest.mark.parametrize("option", [("--bandwidth", "70"), ("--phase-margin", "89")])
def test_refusals_do_not_advise_another_rate_of_a_program(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["tune", "flightgoggles", "--no-plots", *option]
    assert main([*command, "--firmware", "px4"]) == 2
    error = capsys.readouterr().err
    assert "lower --" in error
    assert "--rate" not in error
